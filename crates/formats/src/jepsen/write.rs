//! Writes a history as operation maps, one per line, in either syntax.
//!
//! A transaction is two lines, its invocation and its completion, in an order that states exactly what is
//! known of real-time order: by events, or else by the clients' times, where a completion and an invocation
//! at the same time count as overlapping. A transaction whose invocation was not recorded is its completion
//! alone, since any position of an invocation would claim that another transaction precedes it.
//!
//! The initial value of every key is nil in these formats. If keys have another initial value, that value is
//! written as nil in reads and writes alike, so that ambiguous reads stay ambiguous. If the history has rows,
//! nil means the absence of a row and cannot represent anything else, and a list that begins with elements cannot
//! be nil. Then an operation of `:f :init` at the beginning contains the initial value of each key ([`Start`]).

use std::io::Write;

use isoscope_history::{
    Datum, History, Key, NO_EVENT, NO_TIME, Op, OpKind, OpView, Outcome, Session, Txn, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{Losses, WriteError};

/// The spelling of a syntax.
pub(crate) trait Script {
    /// The format's name.
    const FORMAT: &'static str;
    /// The separator between a key of a map and its value.
    const COLON: &'static [u8];
    /// The separator between the fields of a map.
    const COMMA: &'static [u8];
    /// The separator between the elements of a sequence.
    const BETWEEN: &'static [u8];
    /// The spelling of nil.
    const NIL: &'static [u8];
    /// Whether the keys of a map can be any scalar.
    const MAPS: bool;

    /// Writes the key of a map, with the separator between it and its value.
    fn push_key(out: &mut Vec<u8>, name: &str) {
        Self::push_name(out, name);
        out.extend_from_slice(Self::COLON);
    }
    /// Writes a keyword, or its substitute.
    fn push_name(out: &mut Vec<u8>, name: &str);
    /// Writes a value that is not a list.
    fn push_scalar(out: &mut Vec<u8>, datum: Datum<'_>, losses: &mut Losses);
}

/// Writes data that both syntaxes spell alike. The caller writes nil and unknown values.
pub(crate) fn push_plain(out: &mut Vec<u8>, datum: Datum<'_>) {
    let text = match datum {
        Datum::Int(n) => n.to_string(),
        Datum::Bool(b) => b.to_string(),
        Datum::Float(x) => format!("{x:?}"),
        _ => return,
    };
    out.extend_from_slice(text.as_bytes());
}

/// Writes a history and returns what is lost.
pub(crate) fn write<S: Script>(history: &History, out: &mut dyn Write) -> Result<Losses, WriteError> {
    let mut losses = Losses::default();
    check_expressible::<S>(history)?;
    check_spelling::<S>(history, &mut losses)?;
    note_losses(history, &mut losses);
    let processes = crate::lower::session_numbers(history, &mut losses);
    let lines = lines(history, &mut losses);
    let start = Start::of(history);
    let mut buffer = Vec::with_capacity(1 << 16);
    if start == Start::Init {
        // A session without transactions has no lines.
        let process = processes.iter().max().map_or(0, |process| process.saturating_add(1));
        push_init::<S>(&mut buffer, history, process);
    }
    let first = usize::from(start == Start::Init);
    note_names(history, &lines, first, &mut losses);
    for (index, line) in (first..).zip(&lines) {
        let process = processes[history.session_of(line.txn).index()];
        push_line::<S>(&mut buffer, history, line, process, index, start);
        if buffer.len() > (1 << 16) - (1 << 12) {
            out.write_all(&buffer)?;
            buffer.clear();
        }
    }
    out.write_all(&buffer)?;
    Ok(losses)
}

/// How initial values are expressed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// Every initial value is written as nil.
    Nil,
    /// The first operation contains the initial values.
    Init,
}

impl Start {
    fn of(history: &History) -> Start {
        let named = history.named_keys();
        let has_elements = named.iter().any(|&(_, value)| !history.table().elements(value).is_empty());
        let begins = named.iter().any(|&(_, value)| value != Value::NIL);
        if has_elements || begins && has_rows(history) { Start::Init } else { Start::Nil }
    }

    /// Whether a value that is written or was read is spelt nil because it is its key's initial value.
    fn renames(self, history: &History, op: &OpView) -> bool {
        self == Start::Nil && history.is_initial(op.key, op.value)
    }
}

/// Whether the history has rows: inserts, deletes or range reads.
fn has_rows(history: &History) -> bool {
    let mut ops = history.txns().flat_map(|txn| history.ops_of(txn));
    ops.any(|op| matches!(op.kind, OpKind::Insert | OpKind::Delete | OpKind::RangeRead))
}

/// Writes the operation with the initial values: only its completion, before all others.
fn push_init<S: Script>(out: &mut Vec<u8>, history: &History, process: u64) {
    let all = history.txns().flat_map(|txn| history.ops_of(txn));
    let lists = all.filter(|op| matches!(op.kind, OpKind::Append | OpKind::ReadList));
    let lists: FxHashSet<Value> = lists.map(|op| history.key_name(op.key)).collect();
    let mut values = history.named_keys();
    // A list without initial elements is empty, whatever the initial value of all keys is.
    let is_empty = |value| history.table().elements(value).is_empty();
    values.retain(|&(key, value)| value != Value::NIL && !(lists.contains(&key) && is_empty(value)));
    out.push(b'{');
    push_head::<S>(out, "ok", "init");
    push_map::<S>(out, history, &values);
    push_tail::<S>(out, process, NO_TIME, 0);
}

fn push_head<S: Script>(out: &mut Vec<u8>, kind: &str, function: &str) {
    S::push_key(out, "type");
    S::push_name(out, kind);
    out.extend_from_slice(S::COMMA);
    S::push_key(out, "f");
    S::push_name(out, function);
    out.extend_from_slice(S::COMMA);
    S::push_key(out, "value");
}

fn push_tail<S: Script>(out: &mut Vec<u8>, process: u64, time: i64, index: usize) {
    out.extend_from_slice(S::COMMA);
    S::push_key(out, "process");
    out.extend_from_slice(process.to_string().as_bytes());
    if time != NO_TIME {
        out.extend_from_slice(S::COMMA);
        S::push_key(out, "time");
        out.extend_from_slice(time.to_string().as_bytes());
    }
    out.extend_from_slice(S::COMMA);
    S::push_key(out, "index");
    out.extend_from_slice(index.to_string().as_bytes());
    out.extend_from_slice(b"}\n");
}

/// Writes keys with their values: a map, or pairs if names can only be strings.
fn push_map<S: Script>(out: &mut Vec<u8>, history: &History, rows: &[(Value, Value)]) {
    let (open, between, close): (_, _, &[u8]) =
        if S::MAPS { (b'{', S::COMMA, b"}") } else { (b'[', S::BETWEEN, b"]") };
    out.push(open);
    for (i, &(key, value)) in rows.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(between);
        }
        out.extend_from_slice(if S::MAPS { b"" } else { b"[" });
        push_value::<S>(out, history, key);
        out.extend_from_slice(S::BETWEEN);
        push_value::<S>(out, history, value);
        out.extend_from_slice(if S::MAPS { b"" } else { b"]" });
    }
    out.extend_from_slice(close);
}

/// One line of the output.
struct Line {
    /// Its place in real-time order; invocations come before completions of the same time.
    place: (i64, bool),
    txn: Txn,
    completion: bool,
}

/// The lines in the order they are written. The lines of a session are generated in session order with
/// non-decreasing places, so a stable sort by place keeps session order.
fn lines(history: &History, losses: &mut Losses) -> Vec<Line> {
    let mut lines = Vec::with_capacity(2 * history.txn_count());
    let mut moved = 0;
    for session in history.sessions() {
        push_session_lines(history, session, &mut lines, &mut moved);
    }
    losses.add("overlapping transactions of one session written one after the other", moved);
    lines.sort_by_key(|line| line.place);
    lines
}

fn push_session_lines(history: &History, session: Session, lines: &mut Vec<Line>, moved: &mut usize) {
    let mut last = (i64::MIN, false);
    let mut txns = history.txns_of(session).peekable();
    while let Some(txn) = txns.next() {
        let (start, end) = interval(history, txn);
        if let Some(start) = start {
            *moved += usize::from((start, false) < last && last.0 > start);
            last = last.max((start, false));
            lines.push(Line { place: last, txn, completion: false });
        }
        let end = match (history.outcome(txn), end) {
            (Outcome::Unknown, _) => last,
            (_, Some(end)) => (end, true),
            // It returned at an unknown time: as late as the session allows.
            (_, None) if start.is_none() => last,
            (_, None) => match txns.peek() {
                Some(&next) => interval(history, next).0.map_or(last, |next| (next, false)),
                None => (i64::MAX, true),
            },
        };
        last = last.max(end);
        lines.push(Line { place: last, txn, completion: true });
    }
}

/// The begin and the end of a transaction, as far as recorded.
fn interval(history: &History, txn: Txn) -> (Option<i64>, Option<i64>) {
    let i = txn.index();
    let event = |event: u32| (event != NO_EVENT).then_some(i64::from(event));
    let time = |time: i64| (time != NO_TIME).then_some(time);
    match (history.events(), history.times()) {
        (Some(events), _) => (event(events.start[i]), event(events.end[i])),
        (None, Some(times)) => (time(times.start[i]), time(times.end[i])),
        (None, None) => (None, None),
    }
}

fn push_line<S: Script>(
    out: &mut Vec<u8>,
    history: &History,
    line: &Line,
    process: u64,
    index: usize,
    start: Start,
) {
    let outcome = history.outcome(line.txn);
    let kind = match (line.completion, outcome) {
        (false, _) => "invoke",
        (true, Outcome::Committed) => "ok",
        (true, Outcome::Aborted) => "fail",
        (true, Outcome::Unknown) => "info",
    };
    out.push(b'{');
    push_head::<S>(out, kind, "txn");
    let happened = line.completion && outcome == Outcome::Committed;
    push_ops::<S>(out, history, line.txn, happened, start);
    let times = history.times();
    let column = times.map(|times| if line.completion { &times.end } else { &times.start });
    let time = column.map_or(NO_TIME, |column| column[line.txn.index()]);
    push_tail::<S>(out, process, time, index);
}

fn push_ops<S: Script>(out: &mut Vec<u8>, history: &History, txn: Txn, happened: bool, start: Start) {
    out.push(b'[');
    let expressible = history.ops_of(txn).filter(|op| is_expressible(history, txn, op));
    for (i, op) in expressible.enumerate() {
        if i > 0 {
            out.extend_from_slice(S::BETWEEN);
        }
        out.push(b'[');
        S::push_name(
            out,
            match op.kind {
                OpKind::Write => "w",
                OpKind::Append => "append",
                OpKind::Insert => "insert",
                OpKind::Delete => "delete",
                OpKind::RangeRead => "rp",
                OpKind::Read | OpKind::ReadList => "r",
            },
        );
        out.extend_from_slice(S::BETWEEN);
        match op.kind {
            OpKind::RangeRead => {
                S::push_name(out, "true");
                out.extend_from_slice(S::BETWEEN);
                match history.range(op.id).filter(|_| happened) {
                    Some(row) => push_map::<S>(out, history, &row.live),
                    None => out.extend_from_slice(S::NIL),
                }
            }
            OpKind::Delete => push_value::<S>(out, history, history.key_name(op.key)),
            _ => {
                push_value::<S>(out, history, history.key_name(op.key));
                out.extend_from_slice(S::BETWEEN);
                let is_list = matches!(history.datum(op.value), Datum::List(_));
                let nil = (op.kind.is_read() && !happened)
                    || (op.kind != OpKind::Append && !is_list && start.renames(history, &op));
                push_value::<S>(out, history, if nil { Value::NIL } else { op.value });
            }
        }
        out.push(b']');
    }
    out.push(b']');
}

fn push_value<S: Script>(out: &mut Vec<u8>, history: &History, value: Value) {
    // `check_spelling` has counted the losses of spelling.
    let mut counted = Losses::default();
    match history.datum(value) {
        Datum::Nil | Datum::Unknown => out.extend_from_slice(S::NIL),
        Datum::List(elements) => {
            out.push(b'[');
            for (i, &element) in elements.iter().enumerate() {
                if i > 0 {
                    out.extend_from_slice(S::BETWEEN);
                }
                match history.datum(element) {
                    Datum::Nil => out.extend_from_slice(S::NIL),
                    datum => S::push_scalar(out, datum, &mut counted),
                }
            }
            out.push(b']');
        }
        datum => S::push_scalar(out, datum, &mut counted),
    }
}

/// Whether an operation can be expressed: nil as the result of a committed read would mean the initial state.
fn is_expressible(history: &History, txn: Txn, op: &OpView) -> bool {
    !op.kind.is_read() || history.outcome(txn) != Outcome::Committed || op.value != Value::UNKNOWN
}

fn check_expressible<S: Script>(history: &History) -> Result<(), WriteError> {
    let inexpressible = |what| Err(WriteError::Inexpressible { format: S::FORMAT, what });
    let has_rows = has_rows(history);
    let named = if has_rows { history.named_keys() } else { Vec::new() };
    let odd = |&v: &Value| matches!(history.datum(v), Datum::List(_) | Datum::Unknown);
    let begins_as_list = |key: Key| !history.table().elements(history.initial(key)).is_empty();
    for op in history.txns().flat_map(|txn| history.ops_of(txn)) {
        let datum = history.datum(op.value);
        match (op.kind, datum) {
            (OpKind::Read | OpKind::Write | OpKind::Insert | OpKind::Delete, _) if begins_as_list(op.key) => {
                return inexpressible("registers that begin as lists");
            }
            (OpKind::RangeRead, _) if !is_whole(history, op.id, &named) => {
                return inexpressible("range reads of some keys");
            }
            (OpKind::RangeRead, _) | (OpKind::Delete, Datum::Nil) => {}
            (OpKind::Delete, _) => return inexpressible("deletes whose tombstones have names"),
            (OpKind::Insert | OpKind::Write | OpKind::Append, Datum::List(_)) => {
                return inexpressible("lists as values that are written");
            }
            (OpKind::Read, Datum::List(_)) => return inexpressible("registers that hold lists"),
            (OpKind::Insert | OpKind::Write | OpKind::Append, Datum::Unknown) => {
                return inexpressible("writes of unknown values");
            }
            (OpKind::Write | OpKind::Read, Datum::Nil)
                if !has_rows && !history.is_initial(op.key, op.value) =>
            {
                return inexpressible("nil as a value that is not the initial one");
            }
            (_, Datum::List(elements)) if elements.iter().any(odd) => {
                return inexpressible("lists inside lists, or with unknown elements");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a range read covers all keys, and its rows can be expressed.
fn is_whole(history: &History, op: Op, named: &[(Value, Value)]) -> bool {
    let Some(row) = history.range(op) else { return false };
    let within = |name: Value| row.covers(history.table(), name);
    let plain = |value: Value| !matches!(history.datum(value), Datum::List(_) | Datum::Unknown);
    row.dead.is_empty()
        && named.iter().all(|&(name, _)| within(name))
        && row.live.iter().all(|&(key, value)| within(key) && plain(value))
}

/// Finds different names or values with the same spelling, which could change a verdict.
fn check_spelling<S: Script>(history: &History, losses: &mut Losses) -> Result<(), WriteError> {
    let mut spelt: FxHashSet<Value> = FxHashSet::default();
    let mut values: FxHashMap<Vec<u8>, Value> = FxHashMap::default();
    let mut check = |value: Value| {
        if value.as_small().is_some() || !spelt.insert(value) {
            return true;
        }
        let mut spelling = Vec::new();
        match history.datum(value) {
            Datum::Nil | Datum::Unknown | Datum::List(_) => return true,
            datum => S::push_scalar(&mut spelling, datum, losses),
        }
        *values.entry(spelling).or_insert(value) == value
    };
    let keys = history.keys().all(|key| check(history.key_name(key)));
    let mut ops = history.txns().flat_map(|txn| history.ops_of(txn));
    let values = ops.all(|op| {
        let rows = history.range(op.id).map_or(&[][..], |row| &row.live);
        check(op.value)
            && history.table().elements(op.value).iter().all(|&e| check(e))
            && rows.iter().all(|&(key, value)| check(key) && check(value))
    });
    if keys && values {
        return Ok(());
    }
    let what = "different names or values that it spells alike";
    Err(WriteError::Inexpressible { format: S::FORMAT, what })
}

fn note_losses(history: &History, losses: &mut Losses) {
    let start = Start::of(history);
    let (mut unlearned, mut dropped, mut initial) = (0, 0, 0);
    for txn in history.txns() {
        let committed = history.outcome(txn) == Outcome::Committed;
        for op in history.ops_of(txn) {
            let known_read = !op.kind.is_write() && op.value != Value::UNKNOWN;
            unlearned += usize::from(!is_expressible(history, txn, &op));
            dropped += usize::from(known_read && !committed);
            let renamed = start == Start::Nil
                && op.kind != OpKind::RangeRead
                && op.value != Value::NIL
                && op.value == history.initial(op.key);
            initial += usize::from(renamed && (committed || !known_read));
        }
    }
    losses.add("reads without a result dropped", unlearned);
    losses.add("results of reads of aborted and unknown transactions dropped", dropped);
    losses.add("initial values written as nil", initial);
    let begins = |key: &Key| !history.table().elements(history.initial(*key)).is_empty();
    losses.add("the initial elements of lists, except to isoscope", history.keys().filter(begins).count());
    losses.note_columns(history, true, true);
}

/// A transaction is named by the index of its first line.
fn note_names(history: &History, lines: &[Line], first: usize, losses: &mut Losses) {
    let mut named = vec![false; history.txn_count()];
    let mut renamed = 0;
    for (index, line) in (first..).zip(lines) {
        if !std::mem::replace(&mut named[line.txn.index()], true) {
            let name = crate::lower::natural(history, history.txn_name(line.txn));
            renamed += usize::from(name != Some(index as u64));
        }
    }
    losses.add("transaction names replaced by numbers", renamed);
}

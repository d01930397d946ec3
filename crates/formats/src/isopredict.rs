//! `IsoPredict`'s traces: the writes of each transaction, and the writer of every read. They contain no
//! values.
//!
//! ```text
//! WRITE KEY[x] Txn(1, 0)                          session 1, transaction 0 writes x
//! READ KEY[x] Txn(2, 0) From(1, 0)                session 2 reads what that transaction wrote
//! INSERT[k] to Set[s] Txn(1, 1)
//! CONTAINS[k] in Set[s] From(1, 1) Txn(2, 1)      `Txn` and `From` may change places
//! DELETE[k] from Set[s] Txn(1, 2)                 also DELETE KEY[k] From Set(s) Txn(1, 2)
//! ```
//!
//! Letter case, spaces, and round or square brackets make no difference. Blank lines, comments (`#`, `//`)
//! and the `REPLAY` reports that the tool prints into its traces are ignored; any other line is an error.
//! Every transaction of a trace committed. Session order is the order of each transaction's first line, as in
//! the tool itself.
//!
//! The conventions that change verdicts:
//!
//! - *Values identify writers.* The first write of a key by `Txn(s, t)` has the value `s.t`, its n-th write
//!   of that key the value `s.t.n`. `From(s, t)` is the *last* such write, independent of the order of lines.
//!   A transaction that names itself reads its latest write before the read. An element of a set is a key
//!   `s[k]`. A delete is a write with such a value too, and `CONTAINS` is a read.
//! - *`Txn(0, 0)` is the initial state.* The paper (section 2) has a transaction `t0` that writes every key's
//!   initial value and precedes every other one. The tool gives it these numbers and adds the writes that the
//!   trace does not show. So the writes of `Txn(0, 0)` are not a transaction of the history, and `From(0, 0)`
//!   reads the initial value, nil. As an ordinary transaction, it would not be ordered before the others, and
//!   a trace that the tool rightly rejects could pass. Only a `Txn(0, 0)` that itself reads from another
//!   transaction cannot be the initial state and stays an ordinary transaction.
//! - A read from a transaction that never writes the key is a thin-air read, with a warning. Its value is the
//!   one that the writer would have written.

use std::io;

use isoscope_history::{Draft, DraftTxn, OpKind, Outcome, Value};
use rustc_hash::FxHashMap;

use crate::Job;
use crate::cursor::{Cursor, Expected};
use crate::input::Stream;
use crate::problem::{Problems, Warning};

/// The size limit.
const LONGEST: u64 = 2 << 30;
/// Far longer than any line of this format.
const LONGEST_LINE: usize = 64 << 20;

/// A transaction's name: session and number.
type Name = (u64, u64);

/// The transaction that represents the initial state.
const INITIAL: Name = (0, 0);

/// Whether a text begins with an operation of this format, after comments.
pub(crate) fn looks_like(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text);
    loop {
        cursor.skip_space();
        if !skip_remark(&mut cursor) {
            break;
        }
    }
    line(&mut cursor).is_ok()
}

/// Reads a stream.
pub(crate) fn read(stream: Stream, job: Job<'_>) -> io::Result<()> {
    let Job { base, draft, problems, progress, .. } = job;
    let Some(bytes) = stream.read_text(LONGEST, LONGEST_LINE, base, progress, problems)? else {
        return Ok(());
    };
    let mut cursor = Cursor::new(&bytes);
    let mut lines = Vec::new();
    while !problems.hopeless() {
        cursor.skip_space();
        if cursor.peek().is_none() {
            break;
        }
        if skip_remark(&mut cursor) {
            continue;
        }
        let at = base + cursor.at as u64;
        match line(&mut cursor) {
            Ok(line) => lines.push((line, at)),
            Err(Expected(what)) => {
                problems.error(Some(base + cursor.at as u64), cursor.found(), what);
                cursor.skip_to_line_end();
            }
        }
    }
    if !problems.failed() {
        Filling::of(&lines, draft).fill(&lines, problems);
    }
    Ok(())
}

/// One operation of the trace.
struct Line<'a> {
    kind: OpKind,
    set: Option<&'a str>,
    key: &'a str,
    txn: Name,
    /// The transaction that a read names.
    from: Name,
}

/// Skips a line that does not belong to the history.
fn skip_remark(cursor: &mut Cursor<'_>) -> bool {
    let remark = [b"#".as_slice(), b"//", b"REPLAY "].iter().any(|&start| cursor.eat(start));
    if remark {
        cursor.skip_to_line_end();
    }
    remark
}

/// Reads a line up to its end.
fn line<'a>(cursor: &mut Cursor<'a>) -> Result<Line<'a>, Expected> {
    const OPERATION: &str = "WRITE KEY[..], READ KEY[..], INSERT[..], CONTAINS[..] or DELETE[..]";
    let start = cursor.at;
    let (kind, in_set) = match cursor.take_while(|b| b.is_ascii_alphabetic()).to_ascii_lowercase().as_slice()
    {
        b"write" => (OpKind::Write, false),
        b"read" => (OpKind::Read, false),
        b"insert" => (OpKind::Insert, true),
        b"delete" => (OpKind::Delete, true),
        b"contains" => (OpKind::Read, true),
        _ => {
            cursor.at = start;
            return Err(Expected(OPERATION));
        }
    };
    if !eat_word(cursor, b"key") && !in_set {
        return Err(Expected("KEY[..]"));
    }
    let key = bracketed(cursor, "the key in brackets")?;
    let set = if in_set { Some(set_name(cursor)?) } else { None };
    let (txn, from) = transactions(cursor, kind)?;
    cursor.line_end()?;
    Ok(Line { kind, set, key, txn, from })
}

fn set_name<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, Expected> {
    let _ = eat_word(cursor, b"to") || eat_word(cursor, b"in") || eat_word(cursor, b"from");
    if !eat_word(cursor, b"set") {
        return Err(Expected("Set[..]"));
    }
    bracketed(cursor, "the set in brackets")
}

/// Reads `Txn(s, t)` and, for a read, `From(s, t)`, in either order.
fn transactions(cursor: &mut Cursor<'_>, kind: OpKind) -> Result<(Name, Name), Expected> {
    let is_read = kind == OpKind::Read;
    let (mut txn, mut from) = (None, None);
    while txn.is_none() || (is_read && from.is_none()) {
        if txn.is_none() && eat_word(cursor, b"txn") {
            txn = Some(pair(cursor)?);
        } else if is_read && from.is_none() && eat_word(cursor, b"from") {
            from = Some(pair(cursor)?);
        } else {
            return Err(Expected(if txn.is_none() {
                "Txn(session, number)"
            } else {
                "From(session, number)"
            }));
        }
    }
    Ok((txn.unwrap_or(INITIAL), from.unwrap_or(INITIAL)))
}

/// Skips spaces and a word in any letter case, which must end there.
fn eat_word(cursor: &mut Cursor<'_>, word: &[u8]) -> bool {
    cursor.skip_blanks();
    let (start, found) = (cursor.at, cursor.take_while(|b| b.is_ascii_alphabetic()));
    let there = found.eq_ignore_ascii_case(word);
    if !there {
        cursor.at = start;
    }
    there
}

/// Reads `[text]` or `(text)`.
fn bracketed<'a>(cursor: &mut Cursor<'a>, what: &'static str) -> Result<&'a str, Expected> {
    cursor.skip_blanks();
    let close = match cursor.peek() {
        Some(b'[') => b']',
        Some(b'(') => b')',
        _ => return Err(Expected(what)),
    };
    cursor.at += 1;
    let start = cursor.at;
    let text = cursor.take_while(|b| b != close && b != b'\n').trim_ascii();
    if cursor.peek() != Some(close) {
        return Err(Expected("the closing bracket"));
    }
    match std::str::from_utf8(text) {
        Ok(text) if !text.is_empty() => {
            cursor.at += 1;
            Ok(text)
        }
        _ => {
            cursor.at = start;
            Err(Expected("a name in UTF-8"))
        }
    }
}

/// Reads `(session, number)`.
fn pair(cursor: &mut Cursor<'_>) -> Result<Name, Expected> {
    cursor.skip_blanks();
    cursor.expect(b"(", "`(` of a transaction such as (1, 0)")?;
    cursor.skip_blanks();
    let session = cursor.number()?;
    cursor.skip_blanks();
    cursor.expect(b",", "`,` between session and number")?;
    cursor.skip_blanks();
    let number = cursor.number()?;
    cursor.skip_blanks();
    cursor.expect(b")", "`)` of a transaction such as (1, 0)")?;
    Ok((session, number))
}

/// Facts about the whole trace, and the draft to fill.
struct Filling<'d> {
    draft: &'d mut Draft,
    /// The name of each line's key.
    keys: Vec<Value>,
    /// The total number of writes of a key by a transaction.
    writes: FxHashMap<(Name, Value), u64>,
    /// Whether `Txn(0, 0)` is the initial state.
    has_initial: bool,
}

impl<'d> Filling<'d> {
    fn of(lines: &[(Line<'_>, u64)], draft: &'d mut Draft) -> Filling<'d> {
        let keys: Vec<Value> = lines.iter().map(|(line, _)| key_name(line, draft)).collect();
        let mut writes = FxHashMap::default();
        for ((line, _), &key) in lines.iter().zip(&keys).filter(|((line, _), _)| line.kind.is_write()) {
            *writes.entry((line.txn, key)).or_default() += 1;
        }
        let mut reads = lines.iter().filter(|(line, _)| line.kind == OpKind::Read);
        let has_initial = reads.all(|(line, _)| line.txn != INITIAL || line.from == INITIAL);
        Filling { draft, keys, writes, has_initial }
    }

    fn fill(mut self, lines: &[(Line<'_>, u64)], problems: &mut Problems) {
        self.draft.set_initial(Value::NIL);
        let mut txns: FxHashMap<Name, DraftTxn> = FxHashMap::default();
        let mut so_far: FxHashMap<(Name, Value), u64> = FxHashMap::default();
        let mut initial_writes = 0;
        for (i, (line, at)) in lines.iter().enumerate() {
            let key = self.keys[i];
            let txn = *txns.entry(line.txn).or_insert_with(|| new_txn(line.txn, *at, self.draft));
            let value = if line.kind.is_write() {
                let count = so_far.entry((line.txn, key)).or_default();
                *count += 1;
                initial_writes += u64::from(line.txn == INITIAL);
                write_value(line.txn, *count, self.draft)
            } else {
                let own = (line.from == line.txn).then(|| so_far.get(&(line.txn, key))).flatten();
                self.read_value(line.from, key, own.copied(), *at, problems)
            };
            self.draft.push(txn, line.kind, key, value, Some(*at));
        }
        if let Some(&txn) = txns.get(&INITIAL).filter(|_| self.has_initial) {
            self.draft.drop_txn(txn);
            problems.warn_many(Warning::ExplicitInitial, initial_writes, None);
        }
    }

    /// The value of a read from a transaction. `own` is the number of earlier writes of the key by the
    /// reader, if it names itself and has any.
    fn read_value(
        &mut self,
        from: Name,
        key: Value,
        own: Option<u64>,
        at: u64,
        problems: &mut Problems,
    ) -> Value {
        match own.or_else(|| self.writes.get(&(from, key)).copied()) {
            _ if from == INITIAL && self.has_initial => Value::NIL,
            Some(count) => write_value(from, count, self.draft),
            None if from == INITIAL => Value::NIL,
            None => {
                problems.warn(Warning::MissingWriter, Some(at));
                write_value(from, 1, self.draft)
            }
        }
    }
}

/// The name of a set's element contains both names. Any other key has its own name, as a number if it is one.
fn key_name(line: &Line<'_>, draft: &mut Draft) -> Value {
    match (line.set, line.key.parse::<u64>()) {
        (Some(set), _) => draft.values.text(&format!("{set}[{}]", line.key)),
        (None, Ok(n)) if n.to_string() == line.key => draft.values.nat(n),
        (None, _) => draft.values.text(line.key),
    }
}

fn new_txn((session, number): Name, at: u64, draft: &mut Draft) -> DraftTxn {
    let name = draft.values.text(&format!("{session}.{number}"));
    let session = draft.values.nat(session);
    let session = draft.session(session);
    draft.txn(session, name, Outcome::Committed, Some(at))
}

fn write_value((session, number): Name, count: u64, draft: &mut Draft) -> Value {
    match count {
        1 => draft.values.text(&format!("{session}.{number}")),
        _ => draft.values.text(&format!("{session}.{number}.{count}")),
    }
}

//! Viper's logs, as written by `ViperBench`: a directory of `J<thread>.log` files, one file per session.
//!
//! ```text
//! {"value": [["r", 7, 0, false], ["w", 7, 41, true], ["d", 8, 42, 40, false, true]]}
//! {"value": [["range", 1, 9, [{"id": 7, "sk": 7, "val": 41}], []]], "isInitial": true, "isFinal": false}
//! ```
//!
//! A line is a transaction. A file that is one list of such objects is read too. Only committed transactions
//! are logged. The format is not documented; this reader follows the programs (`JsonLogger`, `JSONMop1` and
//! `JSONMop2` of `ViperBench`; `wr_range_parse` and `range_utils` of Viper):
//!
//! | operation | |
//! |---|---|
//! | `["r", key, value, dead]` | a read; `dead` means that the row was deleted and `value` is its tombstone |
//! | `["w", key, value, ok]` | a write |
//! | `["i", key, value, read, dead, ok]` | an insert that first read `read`; also without those, `["i", key, value, ok]` |
//! | `["d", key, value, read, dead, ok]` | a delete that leaves the tombstone `value`; likewise |
//! | `["range", low, high, live, dead]` | a range read; rows are `{"id":key,"val":value}` or `[key,value]` |
//!
//! Operations may also be objects with the same fields by name:
//! `{"opType":"r","key":7,"value":0,"isDead":false}`. Decisions:
//!
//! - Rows are never really removed: a tombstone is a value that identifies the delete. So the flag of a read
//!   changes nothing (in either interpretation): the read returned `value`.
//! - The read of an insert or delete is an ordinary read just before it, as in Viper.
//! - Operations whose `ok` is false had no effect and are ignored with a warning.
//! - A row that never existed reads as 0, `null` or `"nil"`, and a range read does not find it. All of these are nil, which is the
//!   initial value: a key's absence. So a write of 0 is a write of nil: it looks like a row that never existed.
//! - `isInitial` marks the initial state: the values it writes, or finds in a range, are the keys' initial
//!   values, and it is not a transaction. Without an initial state, Viper treats values that were never
//!   written as initial values. Here they stay reads of unwritten values.
//! - `isFinal` is kept as an annotation: the transaction is an ordinary one in its session.
//! - A bound of `null` or `"nil"`, and in the object form the least or greatest 64-bit integer, means no bound.
//! - `preBeginTS` and `postCommitTS` are milliseconds, and become times.
//! - A session is named by the number of its file, a transaction by its index in reading order.
//! - An incomplete last line is ignored with a warning.

use std::io;

use isoscope_history::{Datum, Draft, OpKind, Outcome, RangeRow, Session, Value};

use crate::Job;
use crate::input::Stream;
use crate::json::{Fault, Number, Scalar, Scanned, Scanner};
use crate::problem::{Problems, Warning};

/// The size limit of a file.
const LONGEST: u64 = 2 << 30;
const NANOS_IN_MILLI: i64 = 1_000_000;

/// Whether a text begins with a transaction of this format: an object whose `value` is a list of operations,
/// and that is not a Jepsen operation.
pub(crate) fn looks_like(text: &[u8]) -> bool {
    let mut scanner = Scanner::new(text);
    let mut found = false;
    let mut look = || -> Scanned<()> {
        if scanner.peek() == b'[' {
            scanner.open(b'[', "")?;
            scanner.next(b']', "")?;
        }
        scanner.open(b'{', "")?;
        while scanner.more(b'}')? {
            match &*scanner.name()? {
                "type" | "f" | "process" | "isoscope" => {
                    found = false;
                    return Ok(());
                }
                "value" => found = begins_with_op(&mut scanner)?,
                _ => scanner.skip_value()?,
            }
        }
        Ok(())
    };
    // An error is the end of the inspected text, or is reported elsewhere.
    let _ = look();
    found
}

/// Whether a list is empty or begins with an operation. Reads it to the end.
fn begins_with_op(s: &mut Scanner<'_>) -> Scanned<bool> {
    s.open(b'[', "")?;
    let mut found = true;
    let mut first = true;
    while s.more(b']')? {
        found &= !first || matches!(s.peek(), b'[' | b'{');
        first = false;
        s.skip_value()?;
    }
    Ok(found)
}

/// Reads one file; `name` is its name.
pub(crate) fn read(stream: Stream, job: Job<'_>) -> io::Result<()> {
    let Job { base, name, draft, problems, progress } = job;
    let Some(bytes) = stream.read_text(LONGEST, LONGEST as usize, base, progress, problems)? else {
        return Ok(());
    };
    draft.set_initial(Value::NIL);
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let (bytes, base) = (&bytes[mark..], base + mark as u64);
    let mut log = Log { base, name, session: None, steps: Vec::new(), draft, problems };
    if bytes.trim_ascii_start().starts_with(b"[") {
        if let Err(fault) = log.list(&mut Scanner::new(bytes)) {
            fault.report(bytes, base, problems);
        }
    } else {
        log.lines(bytes);
    }
    Ok(())
}

/// One file being read.
struct Log<'a> {
    base: u64,
    name: &'a str,
    session: Option<Session>,
    /// The operations of the current transaction. Only its end shows whether it is a transaction or the
    /// initial state.
    steps: Vec<Step>,
    draft: &'a mut Draft,
    problems: &'a mut Problems,
}

enum Step {
    Op { kind: OpKind, key: Value, value: Value, at: u64 },
    Range { row: RangeRow, at: u64 },
}

/// The fields of a transaction other than its operations.
#[derive(Default)]
struct Marks {
    has_ops: bool,
    initial: bool,
    last: bool,
    begin: Option<i64>,
    commit: Option<i64>,
}

/// An operation, in either form.
struct Micro {
    kind: OpKind,
    key: Value,
    value: Value,
    /// The value that an insert or a delete read.
    read: Option<Value>,
    ok: bool,
    row: Option<RangeRow>,
}

impl Log<'_> {
    fn list(&mut self, s: &mut Scanner<'_>) -> Scanned<()> {
        s.open(b'[', "a list of transactions")?;
        while s.more(b']')? {
            self.txn(s, self.base)?;
        }
        s.end("the end of the file")
    }

    fn lines(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() && !self.problems.hopeless() {
            let end = memchr::memchr(b'\n', &bytes[at..]).map(|n| at + n);
            let line = &bytes[at..end.unwrap_or(bytes.len())];
            let base = self.base + at as u64;
            let mut scanner = Scanner::new(line);
            if scanner.is_at_end() {
                self.problems.warn(Warning::BlankLine, Some(base));
            } else if let Err(fault) = self.line(&mut scanner, base) {
                if end.is_none() && fault.is_end(line) {
                    self.problems.warn(Warning::Truncated, Some(base));
                } else {
                    fault.report(line, base, self.problems);
                }
            }
            at = end.map_or(bytes.len(), |end| end + 1);
        }
    }

    fn line(&mut self, s: &mut Scanner<'_>, base: u64) -> Scanned<()> {
        self.txn(s, base)?;
        s.end("the end of the line")
    }

    fn txn(&mut self, s: &mut Scanner<'_>, base: u64) -> Scanned<()> {
        let start = s.at();
        let mut marks = Marks::default();
        self.steps.clear();
        s.open(b'{', "a transaction such as {\"value\":[[\"r\",1,0,false]]}")?;
        while s.more(b'}')? {
            let at = s.at();
            match &*s.name()? {
                "value" if marks.has_ops => {
                    return Err(Fault::wrong(at, "a second `value`", "one list of operations"));
                }
                "value" => {
                    marks.has_ops = true;
                    s.open(b'[', "a list of operations")?;
                    while s.more(b']')? {
                        self.op(s, base)?;
                    }
                }
                "isInitial" => marks.initial = s.boolean("true or false")?,
                "isFinal" => marks.last = s.boolean("true or false")?,
                "preBeginTS" => marks.begin = time(s)?,
                "postCommitTS" => marks.commit = time(s)?,
                "postBeginTS" | "preCommitTS" => s.skip_value()?,
                _ => self.unknown_field(s, base + at as u64)?,
            }
        }
        if !marks.has_ops {
            return Err(Fault::wrong(start, "a transaction without operations", "a field `value`"));
        }
        if marks.initial {
            self.keep_initial();
        } else {
            self.keep_txn(&marks, base + start as u64);
        }
        Ok(())
    }

    fn unknown_field(&mut self, s: &mut Scanner<'_>, at: u64) -> Scanned<()> {
        self.problems.warn(Warning::UnknownField, Some(at));
        s.skip_value()
    }

    /// Stores the initial state: the values it wrote or found are initial values.
    fn keep_initial(&mut self) {
        for step in self.steps.drain(..) {
            match step {
                Step::Op { kind, key, value, .. } if kind.is_write() => self.draft.set_initial_of(key, value),
                Step::Op { .. } => {}
                Step::Range { row, .. } => {
                    for (key, value) in row.live.into_iter().chain(row.dead) {
                        self.draft.set_initial_of(key, value);
                    }
                }
            }
        }
    }

    fn keep_txn(&mut self, marks: &Marks, position: u64) {
        let draft = &mut *self.draft;
        let session = *self.session.get_or_insert_with(|| {
            let name = session_name(self.name, draft);
            draft.new_session(name)
        });
        let name = draft.txn_count() as u64 + 1;
        let name = draft.values.nat(name);
        let txn = draft.txn(session, name, Outcome::Committed, Some(position));
        if let (Some(begin), Some(commit)) = (marks.begin, marks.commit) {
            draft.set_times(txn, begin, commit);
        }
        if marks.last {
            let (name, yes) = (draft.values.text("isFinal"), draft.values.add(Datum::Bool(true)));
            draft.annotate(txn, name, yes);
        }
        for step in self.steps.drain(..) {
            match step {
                Step::Op { kind, key, value, at } => draft.push(txn, kind, key, value, Some(at)),
                Step::Range { row, at } => draft.push_range(txn, row, Some(at)),
            }
        }
    }

    fn op(&mut self, s: &mut Scanner<'_>, base: u64) -> Scanned<()> {
        let at = base + s.at() as u64;
        let start = s.at();
        let micro = if s.peek() == b'{' { self.named_op(s, base)? } else { self.listed_op(s)? };
        let Some(micro) = micro else {
            self.problems.warn(Warning::SkippedOperation, Some(at));
            return Ok(());
        };
        if !micro.ok {
            self.problems.warn(Warning::FailedOperation, Some(at));
            return Ok(());
        }
        if let Some(row) = micro.row {
            self.check_range(&row).map_err(|(message, expected)| Fault::wrong(start, message, expected))?;
            self.steps.push(Step::Range { row, at });
            return Ok(());
        }
        let key = micro.key;
        if let Some(value) = micro.read {
            self.steps.push(Step::Op { kind: OpKind::Read, key, value, at });
        }
        self.steps.push(Step::Op { kind: micro.kind, key, value: micro.value, at });
        Ok(())
    }

    /// `["w", key, value, ok]`; `None` for an unknown kind.
    fn listed_op(&mut self, s: &mut Scanner<'_>) -> Scanned<Option<Micro>> {
        s.open(b'[', "an operation such as [\"r\",1,0,false]")?;
        s.next(b']', "the kind of the operation")?;
        let Some(kind) = kind_of(&s.string("the kind of the operation, in quotes")?) else {
            while s.more(b']')? {
                s.skip_value()?;
            }
            return Ok(None);
        };
        s.next(b']', "a key")?;
        if kind == OpKind::RangeRead {
            let low = self.bound(s, i64::MIN)?;
            s.next(b']', "the upper bound")?;
            let high = self.bound(s, i64::MAX)?;
            s.next(b']', "the rows found")?;
            let live = self.rows(s)?;
            let dead = if s.more(b']')? {
                self.rows(s)?
            } else {
                return Ok(Some(ranged(low, high, live, Vec::new())));
            };
            while s.more(b']')? {
                s.skip_value()?;
            }
            return Ok(Some(ranged(low, high, live, dead)));
        }
        let key = self.key(s)?;
        s.next(b']', "a value")?;
        let value = self.value(s)?;
        let mut micro = Micro { kind, key, value, read: None, ok: true, row: None };
        self.flags(s, &mut micro)?;
        Ok(Some(micro))
    }

    /// Reads what follows the value. For a read, nothing matters. For a write, the flag is its success.
    /// Inserts and deletes have the value they read before the flag, unless they have only the flag.
    fn flags(&mut self, s: &mut Scanner<'_>, micro: &mut Micro) -> Scanned<()> {
        let mut place = 0;
        while s.more(b']')? {
            let at = s.at();
            let flag = s.scalar("a flag or a value")?;
            let decides = match micro.kind {
                OpKind::Write => place == 0,
                OpKind::Insert | OpKind::Delete => {
                    place == 2 || (place == 0 && matches!(flag, Scalar::Bool(_)))
                }
                _ => false,
            };
            match flag {
                Scalar::Bool(ok) if decides => {
                    micro.ok = ok;
                    place = 2;
                }
                _ if decides => return Err(Fault::unexpected(at, "true or false")),
                value if place == 0 && micro.kind.is_write() => micro.read = Some(self.content(&value)),
                _ => {}
            }
            place += 1;
        }
        Ok(())
    }

    /// `{"opType":"w","key":..,"value":..,"succ":..}`; `None` for an unknown kind.
    fn named_op(&mut self, s: &mut Scanner<'_>, base: u64) -> Scanned<Option<Micro>> {
        let start = s.at();
        let (mut kind, mut known) = (None, true);
        let (mut key, mut high, mut value, mut read) = (None, None, None, None);
        let (mut ok, mut live, mut dead) = (true, Vec::new(), Vec::new());
        s.open(b'{', "an operation")?;
        while s.more(b'}')? {
            let at = s.at();
            match &*s.name()? {
                "opType" => {
                    kind = kind_of(&s.string("the kind of the operation, in quotes")?);
                    known = kind.is_some();
                }
                "key" => key = Some(self.key(s)?),
                "key1" => key = Some(self.bound(s, i64::MIN)?),
                "key2" => high = Some(self.bound(s, i64::MAX)?),
                "value" => value = Some(self.value(s)?),
                "readValue" => read = Some(self.value(s)?),
                "succ" => ok = s.boolean("true or false")?,
                "liveKVs" => live = self.rows(s)?,
                "deadKVs" => dead = self.rows(s)?,
                "isDead" | "reqTS" | "resTS" => s.skip_value()?,
                _ => self.unknown_field(s, base + at as u64)?,
            }
        }
        let missing = |what| Err(Fault::wrong(start, "an operation without all its fields", what));
        match (kind, key, value, high) {
            _ if !known => Ok(None),
            (None, ..) => missing("a field `opType`"),
            (Some(OpKind::RangeRead), Some(low), _, Some(high)) => Ok(Some(ranged(low, high, live, dead))),
            (Some(OpKind::RangeRead), ..) => missing("fields `key1` and `key2`"),
            (Some(kind), Some(key), Some(value), _) => {
                let read = read.filter(|_| kind != OpKind::Write && kind != OpKind::Read);
                Ok(Some(Micro { kind, key, value, read, ok, row: None }))
            }
            _ => missing("fields `key` and `value`"),
        }
    }

    /// What is wrong with a range, if anything is, and what would be right.
    fn check_range(&self, row: &RangeRow) -> Result<(), (&'static str, &'static str)> {
        let (values, RangeRow { low, high, live, dead }) = (&self.draft.values, row);
        let is_outside = |&(key, _): &(Value, Value)| values.is_outside(key, *low, *high);
        if values.is_reversed(*low, *high) {
            Err(("a range whose upper bound is below the lower one", "the lower bound first"))
        } else if live.iter().chain(dead).any(is_outside) {
            Err(("a row outside of its range", "keys inside of the range"))
        } else if row.repeats_a_key() {
            Err(("a key twice in one range read", "each key once"))
        } else {
            Ok(())
        }
    }

    /// The rows found by a range read.
    fn rows(&mut self, s: &mut Scanner<'_>) -> Scanned<Vec<(Value, Value)>> {
        let mut rows = Vec::new();
        s.open(b'[', "a list of rows")?;
        while s.more(b']')? {
            if s.peek() == b'[' {
                s.open(b'[', "")?;
                s.next(b']', "a key")?;
                let key = self.key(s)?;
                s.next(b']', "a value")?;
                rows.push((key, self.value(s)?));
                s.close(b']', "`]` after the value")?;
                continue;
            }
            let start = s.at();
            let (mut key, mut value) = (None, None);
            s.open(b'{', "a row such as {\"id\":1,\"val\":2}")?;
            while s.more(b'}')? {
                match &*s.name()? {
                    "id" => key = Some(self.key(s)?),
                    "val" => value = Some(self.value(s)?),
                    _ => s.skip_value()?,
                }
            }
            match (key, value) {
                (Some(key), Some(value)) => rows.push((key, value)),
                _ => {
                    return Err(Fault::wrong(start, "a row without all its fields", "fields `id` and `val`"));
                }
            }
        }
        Ok(rows)
    }

    fn key(&mut self, s: &mut Scanner<'_>) -> Scanned<Value> {
        let at = s.at();
        match s.scalar("a key: an integer or a text")? {
            Scalar::Text(text) => Ok(self.draft.values.text(&text)),
            number @ Scalar::Number(Number::Int(_) | Number::Nat(_)) => Ok(self.add(&number)),
            _ => Err(Fault::unexpected(at, "a key: an integer or a text")),
        }
    }

    /// A bound; nil where `none` or a null says that there is none.
    fn bound(&mut self, s: &mut Scanner<'_>, none: i64) -> Scanned<Value> {
        match s.scalar("a bound: a key, or null")? {
            Scalar::Null => Ok(Value::NIL),
            Scalar::Text(text) if text == "nil" => Ok(Value::NIL),
            Scalar::Number(Number::Int(n)) if n == none => Ok(Value::NIL),
            key => Ok(self.add(&key)),
        }
    }

    /// A value of a row; nil where it says that there is no row.
    fn value(&mut self, s: &mut Scanner<'_>) -> Scanned<Value> {
        let scalar = s.scalar("a value that is not a list")?;
        Ok(self.content(&scalar))
    }

    fn content(&mut self, scalar: &Scalar<'_>) -> Value {
        match scalar {
            Scalar::Null | Scalar::Number(Number::Int(0)) => Value::NIL,
            Scalar::Text(text) if text == "nil" => Value::NIL,
            scalar => self.add(scalar),
        }
    }

    fn add(&mut self, scalar: &Scalar<'_>) -> Value {
        let datum = match scalar {
            Scalar::Null => Datum::Nil,
            Scalar::Text(text) => Datum::Text(text),
            Scalar::Bool(b) => Datum::Bool(*b),
            Scalar::Number(Number::Int(n)) => Datum::Int(*n),
            Scalar::Number(Number::Nat(n)) => Datum::Nat(*n),
            Scalar::Number(Number::Float(x)) => Datum::Float(*x),
        };
        self.draft.values.add(datum)
    }
}

fn ranged(low: Value, high: Value, live: Vec<(Value, Value)>, dead: Vec<(Value, Value)>) -> Micro {
    let row = Some(RangeRow { low, high, live, dead });
    Micro { kind: OpKind::RangeRead, key: low, value: Value::NIL, read: None, ok: true, row }
}

fn kind_of(word: &str) -> Option<OpKind> {
    Some(match word {
        "r" => OpKind::Read,
        "w" => OpKind::Write,
        "i" => OpKind::Insert,
        "d" => OpKind::Delete,
        "range" => OpKind::RangeRead,
        _ => return None,
    })
}

/// A time in milliseconds, converted to nanoseconds. The logger writes -1 for no time.
fn time(s: &mut Scanner<'_>) -> Scanned<Option<i64>> {
    match s.scalar("a time in milliseconds")? {
        Scalar::Number(Number::Int(n)) if n >= 0 => Ok(n.checked_mul(NANOS_IN_MILLI)),
        _ => Ok(None),
    }
}

/// The number in a name such as `logs/J14.log`, or else the file name.
fn session_name(path: &str, draft: &mut Draft) -> Value {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let number = file.strip_prefix('J').and_then(|rest| rest.split('.').next()?.parse::<u64>().ok());
    match number {
        Some(number) => draft.values.nat(number),
        None => draft.values.text(file),
    }
}

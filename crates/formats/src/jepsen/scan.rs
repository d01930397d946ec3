//! Scans a piece of text into records of transactions.
//!
//! A piece is read as if it began between two maps. The merger checks whether it did. If both the invocation
//! and the completion of a transaction are in the piece, they become one [`Record`] and only the value that
//! counts is read. The values of invocations that are open at the end of the piece are read then. They are
//! kept apart from the certain operations, because a later piece may replace them.
//!
//! Invariants: records are in the order of their first map; [`Scan::runs`] covers [`Scan::ops`] in order,
//! with at most one run per record; [`Record::pending`] ranges are inside [`Scan::pending`].

use std::ops::Range;

use isoscope_history::Value;
use rustc_hash::FxHashMap;

use super::cursor::{Cursor, Stop, Syntax, describe};
use super::micro::{self, MicroOp, MicroOps};
use super::opmap::{self, Function, OpMap, OpType, Process};
use super::skip::Skip;
use crate::problem::{Problems, Warning};

/// How far after an error to search for the end of its form.
const RECOVERY: usize = 64 << 10;

/// The content of a piece of text.
pub(super) struct Scan {
    /// The position of the piece.
    pub(super) base: u64,
    pub(super) records: Vec<Record>,
    pub(super) ops: Vec<MicroOp>,
    /// The records of the operations in `ops`: a record and a number of operations.
    pub(super) runs: Vec<(u32, u32)>,
    /// Operations that count only if no completion replaces them.
    pub(super) pending: Vec<MicroOp>,
    pub(super) notes: Vec<Note>,
    pub(super) micro: MicroOps,
    /// The number of client maps.
    pub(super) events: u32,
    /// The closing bracket expected or found first, and the bracket open at the end; see [`Wrap`].
    pub(super) wrap: Wrap,
    /// The offset of an incomplete form.
    pub(super) tail: Option<usize>,
    pub(super) problems: Problems,
}

/// A transaction, or the half of one that is in this piece.
pub(super) struct Record {
    /// `None` if the map has no process.
    pub(super) process: Option<i64>,
    /// The offset of its first map.
    pub(super) at: u32,
    pub(super) index: Option<u64>,
    /// The index of its completion.
    pub(super) done_index: Option<u64>,
    /// Whether its `:f` is `:init`.
    pub(super) init: bool,
    pub(super) invoke: Option<Mark>,
    pub(super) done: Option<(OpType, Mark)>,
    /// Operations in [`Scan::pending`].
    pub(super) pending: Range<u32>,
    /// Whether it has no operations because its value is not a transaction.
    pub(super) skipped: bool,
}

/// The time of an event: the number of the map among the client maps, and the client's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) event: u32,
    pub(super) time: i64,
}

/// A field that the model has no column for.
pub(super) struct Note {
    pub(super) record: u32,
    pub(super) name: Value,
    pub(super) text: Value,
}

/// The vector or list around the maps, as far as this piece shows it.
#[derive(Default)]
pub(super) struct Wrap {
    /// The first bracket of the piece and its offset.
    pub(super) first: Option<(u8, usize)>,
    /// After the last bracket of the piece: the expected closing bracket and the offset of the opening one.
    pub(super) open: Option<(u8, usize)>,
}

/// An invocation of this piece that has no completion yet.
struct Open {
    record: u32,
    value: Option<usize>,
    function: Function,
}

/// Scans a piece of text.
pub(super) fn scan<S: Syntax>(bytes: &[u8], base: u64) -> Scan {
    let mut scanner = Scanner {
        bytes,
        out: Scan {
            base,
            records: Vec::with_capacity(bytes.len() / 256),
            ops: Vec::with_capacity(bytes.len() / 64),
            runs: Vec::with_capacity(bytes.len() / 256),
            pending: Vec::new(),
            notes: Vec::new(),
            micro: MicroOps::default(),
            events: 0,
            wrap: Wrap::default(),
            tail: None,
            problems: Problems::default(),
        },
        open: FxHashMap::default(),
    };
    let mut at = 0;
    while let Some(next) = scanner.form::<S>(at) {
        at = next;
        if scanner.out.problems.hopeless() {
            break;
        }
    }
    scanner.leave_open::<S>();
    if let Some((count, at)) = scanner.out.micro.partial {
        let at = Some(scanner.out.base + u64::from(at));
        scanner.out.problems.warn_many(Warning::PartialPredicate, count, at);
    }
    scanner.out
}

struct Scanner<'a> {
    bytes: &'a [u8],
    out: Scan,
    open: FxHashMap<Option<i64>, Open>,
}

impl<'a> Scanner<'a> {
    /// Reads the form at or after `at` and returns where to continue; `None` at the end.
    fn form<S: Syntax>(&mut self, mut at: usize) -> Option<usize> {
        while let Some(b' ' | b',' | b'\n' | b'\t' | b'\r' | 0x0b | 0x0c) = self.bytes.get(at) {
            at += 1;
        }
        let start = at;
        let mut cursor = Cursor { bytes: self.bytes, at };
        match self.try_form::<S>(&mut cursor) {
            Ok(more) => more.then_some(cursor.at),
            Err(Stop::Incomplete) => {
                self.out.tail = Some(start);
                None
            }
            Err(Stop::Expected(what)) => {
                self.error(cursor.at, what);
                Some(recover::<S>(self.bytes, start, cursor.at))
            }
        }
    }

    fn try_form<S: Syntax>(&mut self, cursor: &mut Cursor<'a>) -> Result<bool, Stop> {
        S::space(cursor)?;
        match cursor.peek() {
            None => return Ok(false),
            Some(b'{') => {
                let map = opmap::read::<S>(cursor)?;
                let end = cursor.at;
                self.operation::<S>(cursor, &map)?;
                cursor.at = end;
            }
            Some(bracket @ (b'[' | b'(')) if S::open(cursor).is_some() => {
                cursor.at -= 1;
                if self.out.wrap.open.is_some() {
                    return Err(Stop::Expected("an operation map"));
                }
                self.out.wrap.first.get_or_insert((bracket, cursor.at));
                self.out.wrap.open = Some((if bracket == b'[' { b']' } else { b')' }, cursor.at));
                cursor.at += 1;
            }
            Some(bracket @ (b']' | b')')) if self.may_close(bracket) => {
                self.out.wrap.first.get_or_insert((bracket, cursor.at));
                self.out.wrap.open = None;
                cursor.at += 1;
            }
            Some(_) => return Err(Stop::Expected(an_operation::<S>())),
        }
        Ok(true)
    }

    /// Whether a closing bracket may be correct, as far as this piece shows.
    fn may_close(&self, bracket: u8) -> bool {
        match (&self.out.wrap.open, self.out.wrap.first) {
            (Some((due, _)), _) => *due == bracket,
            (None, first) => first.is_none(),
        }
    }

    fn operation<S: Syntax>(&mut self, cursor: &mut Cursor<'a>, map: &OpMap<'a>) -> Result<(), Stop> {
        let process = match map.process {
            Process::Client(process) => Some(process),
            Process::Missing => {
                self.warn(Warning::NoProcess, map.at);
                None
            }
            Process::Other => {
                self.warn(Warning::Nemesis, map.at);
                return Ok(());
            }
        };
        let mark = Mark { event: self.out.events, time: map.time };
        self.out.events += 1;
        let record = match map.kind {
            OpType::Invoke => self.invoke::<S>(map, process, mark),
            _ => self.complete::<S>(cursor, map, process, mark)?,
        };
        self.note(cursor, map, record)
    }

    fn invoke<S: Syntax>(&mut self, map: &OpMap<'_>, process: Option<i64>, mark: Mark) -> u32 {
        let record = self.record(map, process);
        self.out.records[record as usize].invoke = Some(mark);
        let open = Open { record, value: map.value, function: map.function };
        if let Some(before) = self.open.insert(process, open) {
            self.keep_pending::<S>(&before);
        }
        record
    }

    fn complete<S: Syntax>(
        &mut self,
        cursor: &mut Cursor<'_>,
        map: &OpMap<'_>,
        process: Option<i64>,
        mark: Mark,
    ) -> Result<u32, Stop> {
        let open = self.open.remove(&process);
        let record = match &open {
            Some(open) => open.record,
            None => self.record(map, process),
        };
        let entry = &mut self.out.records[record as usize];
        entry.done = Some((map.kind, mark));
        entry.done_index = map.index;
        let happened = map.kind == OpType::Ok;
        let (mut value, mut function) = (map.value, map.function);
        match &open {
            Some(open) if !happened && open.value.is_some() => {
                (value, function) = (open.value, open.function);
            }
            // The invocation may be in an earlier piece. Its operations then replace these.
            None if !happened => {
                let own = Open { record, value, function };
                self.keep_pending::<S>(&own);
                return Ok(record);
            }
            _ => {}
        }
        let mut ops = std::mem::take(&mut self.out.ops);
        let before = ops.len();
        let read = self.value::<S>(cursor, value, function, happened, &mut ops);
        self.out.ops = ops;
        if read? {
            self.out.runs.push((record, (self.out.ops.len() - before) as u32));
        } else {
            self.skip_record(record);
        }
        Ok(record)
    }

    /// Reads a value into `out`. Returns false if it is not the value of a transaction.
    fn value<S: Syntax>(
        &mut self,
        cursor: &mut Cursor<'_>,
        value: Option<usize>,
        function: Function,
        happened: bool,
        out: &mut Vec<MicroOp>,
    ) -> Result<bool, Stop> {
        let Some(start) = value else { return Ok(false) };
        cursor.at = start;
        if function == Function::Init && matches!(cursor.peek(), Some(b'{' | b'[' | b'(')) {
            let read = self.out.micro.init::<S>(cursor, out);
            // An ordinary transaction may have `:f :init` too.
            let bad = std::mem::replace(&mut cursor.at, start);
            if read.is_ok() || !micro::begins_transaction::<S>(cursor) {
                cursor.at = bad;
                return read.map(|()| true);
            }
            cursor.at = start;
        }
        if function != Function::Txn {
            if !micro::begins_transaction::<S>(cursor) {
                return Ok(false);
            }
            cursor.at = start;
        }
        // After an error, no operation of the input is used, so half a transaction does no harm.
        self.out.micro.read::<S>(cursor, happened, out).map(|()| true)
    }

    /// Reads the value of an invocation without a completion in this piece.
    fn keep_pending<S: Syntax>(&mut self, open: &Open) {
        let mut cursor = Cursor { bytes: self.bytes, at: open.value.unwrap_or(0) };
        let mut pending = std::mem::take(&mut self.out.pending);
        let start = pending.len() as u32;
        let read = self.value::<S>(&mut cursor, open.value, open.function, false, &mut pending);
        self.out.records[open.record as usize].pending = start..pending.len() as u32;
        self.out.pending = pending;
        match read {
            Ok(true) => {}
            Ok(false) => self.skip_record(open.record),
            Err(Stop::Expected(what)) => self.error(cursor.at, what),
            // The value was skipped before, so it is complete.
            Err(Stop::Incomplete) => self.error(cursor.at, "a transaction"),
        }
    }

    fn leave_open<S: Syntax>(&mut self) {
        let mut open: Vec<Open> = std::mem::take(&mut self.open).into_values().collect();
        open.sort_unstable_by_key(|open| open.record);
        for open in &open {
            self.keep_pending::<S>(open);
        }
    }

    fn record(&mut self, map: &OpMap<'_>, process: Option<i64>) -> u32 {
        self.out.records.push(Record {
            process,
            at: map.at as u32,
            index: map.index,
            done_index: None,
            init: map.function == Function::Init,
            invoke: None,
            done: None,
            pending: 0..0,
            skipped: false,
        });
        self.out.records.len() as u32 - 1
    }

    fn skip_record(&mut self, record: u32) {
        self.out.records[record as usize].skipped = true;
    }

    /// Stores the unknown fields.
    fn note(&mut self, cursor: &mut Cursor<'a>, map: &OpMap<'a>, record: u32) -> Result<(), Stop> {
        // A completion repeats the `:f` of its invocation.
        let repeats = map.kind != OpType::Invoke && self.out.records[record as usize].invoke.is_some();
        for (name, text) in map.notes.iter().filter(|(name, _)| *name != b"f" || !repeats) {
            cursor.at = map.at;
            let name = cursor.utf8(name)?;
            cursor.at = text.start;
            let text = cursor.utf8(&self.bytes[text.clone()])?;
            let values = &mut self.out.micro.values;
            let (name, text) = (values.text(name), values.text(text));
            self.out.notes.push(Note { record, name, text });
        }
        Ok(())
    }

    fn warn(&mut self, warning: Warning, at: usize) {
        self.out.problems.warn(warning, Some(self.out.base + at as u64));
    }

    fn error(&mut self, at: usize, what: &'static str) {
        self.out.problems.error(Some(self.out.base + at as u64), describe(self.bytes, at), what);
    }
}

fn an_operation<S: Syntax>() -> &'static str {
    if S::JSON {
        "an operation such as {\"type\":\"ok\",\"process\":0,\"value\":[[\"r\",1,null]]}"
    } else {
        "an operation such as {:type :ok, :process 0, :value [[:r 1 nil]]}"
    }
}

/// Where to continue after an error at `at` in the form that begins at `start`: after the form, if it ends
/// nearby, or else at the next line that begins like an operation.
fn recover<S: Syntax>(bytes: &[u8], start: usize, at: usize) -> usize {
    let near = &bytes[..bytes.len().min(at + RECOVERY)];
    let mut cursor = Cursor { bytes: near, at: start };
    let begins = S::space(&mut cursor).is_ok() && cursor.peek() == Some(b'{');
    if begins && matches!(Skip::new().advance::<S>(near, &mut cursor.at), Ok(true)) && cursor.at > at {
        return cursor.at;
    }
    let line = memchr::memrchr(b'\n', &bytes[..at.min(bytes.len())]).map_or(0, |newline| newline + 1);
    if line > start && begins_operation::<S>(&bytes[line..]) {
        return line;
    }
    next_operation::<S>(bytes, at)
}

/// The first line after `at` that begins like an operation, or the end.
pub(super) fn next_operation<S: Syntax>(bytes: &[u8], mut at: usize) -> usize {
    while let Some(newline) = memchr::memchr(b'\n', bytes.get(at..).unwrap_or(&[])) {
        at += newline + 1;
        if begins_operation::<S>(&bytes[at..]) {
            return at;
        }
    }
    bytes.len()
}

/// Whether a line begins like an operation: with a map, a tag, or the vector around all maps.
pub(super) fn begins_operation<S: Syntax>(line: &[u8]) -> bool {
    let blank = line.iter().take_while(|b| matches!(b, b' ' | b'\t' | b',')).count();
    match line[blank..] {
        [b'{', ..] | [b'[' | b'(', b'{', ..] => true,
        [b'#', next, ..] => !S::JSON && next.is_ascii_alphabetic(),
        _ => false,
    }
}

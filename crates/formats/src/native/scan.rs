//! Scans the lines of a block independently of all other blocks.
//!
//! A line is read field by field into columns that refer to the block's own table of values. The merge gives
//! them their meaning in the history: the session of a name, the number of a transaction. A line that fails
//! leaves its operations behind. Then either reading fails, or the line is the incomplete last one and its
//! operations are removed.

use isoscope_history::{Datum, NO_EVENT, NO_TIME, OpKind, Outcome, RangeRow, RawOp, Remap, Value, Values};
use rustc_hash::FxHashSet;

use crate::input::{Block, too_long};
use crate::json::{self, Fault, Number, Scalar, Scanned, Scanner};
use crate::problem::{Problems, Warning};

/// The only supported version.
const VERSION: i64 = 1;

/// The form of rows, for messages.
const ROWS: &str = "a list of [key,value]";

/// The fields of a transaction.
const FIELDS: [&str; 9] =
    ["session", "txn", "outcome", "ops", "events", "times", "timestamps", "mark", "notes"];

/// The content of a block. Transactions are numbered inside the block, in the order of their lines.
#[derive(Default)]
pub(super) struct Scan {
    pub(super) base: u64,
    pub(super) header: Option<Header>,
    pub(super) txns: Vec<ScanTxn>,
    pub(super) ops: Vec<ScanOp>,
    /// The rows of range reads, in the order of the operations.
    pub(super) ranges: Vec<RangeRow>,
    /// The operations again in the form the draft takes, if none of them is a range read.
    pub(super) raw: Vec<RawOp>,
    pub(super) events: Vec<(u32, u32, u32)>,
    pub(super) times: Vec<(u32, i64, i64)>,
    pub(super) timestamps: Vec<(u32, i64, i64)>,
    pub(super) notes: Vec<(u32, Value, Value)>,
    pub(super) values: Values,
    pub(super) problems: Problems,
    /// The last mark and its position.
    pub(super) mark: Option<(Mark, u32)>,
    /// Whether the following lines cannot be interpreted because of an error.
    pub(super) stop: bool,
    elements: Vec<Value>,
    open_lists: Vec<usize>,
}

/// The content of the first line.
#[derive(Default)]
pub(super) struct Header {
    pub(super) initial: Option<Value>,
    pub(super) initials: Vec<(Value, Value)>,
    pub(super) sessions: Option<Vec<Value>>,
    /// Whether marks determine up to where the file is complete.
    pub(super) marks: bool,
}

/// Up to where a recording is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Every transaction invoked before this time is above.
    Time(i64),
    /// Every transaction is above.
    End,
}

/// The content of a line other than the header.
enum Line {
    Txn(ScanTxn),
    Mark(Mark),
}

/// A transaction without its operations.
pub(super) struct ScanTxn {
    pub(super) session: Value,
    pub(super) name: Option<Value>,
    pub(super) outcome: Outcome,
    pub(super) at: u32,
    pub(super) session_at: u32,
    pub(super) count: u32,
}

/// An operation. Its transaction is determined by counting.
pub(super) struct ScanOp {
    pub(super) kind: OpKind,
    pub(super) key: Value,
    pub(super) value: Value,
    pub(super) at: u32,
}

impl Scan {
    /// An empty scan of a block that begins at `base`.
    pub(super) fn at(base: u64) -> Scan {
        Scan { base, ..Scan::default() }
    }

    /// Reads all lines of a block.
    pub(super) fn block(&mut self, block: &Block, longest_line: usize) {
        let bytes = block.bytes.as_slice();
        self.ops.reserve(bytes.len() / 16);
        let mut at = if block.start == 0 && bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut wants_header = block.start == 0;
        while at < bytes.len() && !self.stop {
            let end = memchr::memchr(b'\n', &bytes[at..]).map(|n| at + n);
            let line = &bytes[at..end.unwrap_or(bytes.len())];
            if line.len() > longest_line {
                too_long(self.base + at as u64, longest_line, &mut self.problems);
                self.stop = true;
            } else if line.trim_ascii().is_empty() {
                self.problems.warn(Warning::BlankLine, Some(self.base + at as u64));
            } else if std::mem::take(&mut wants_header) {
                self.stop = self.header(line, at);
            } else {
                self.txn(line, at, end.is_none());
            }
            at = end.map_or(bytes.len(), |end| end + 1);
            self.stop |= self.problems.hopeless();
        }
        if self.ranges.is_empty() {
            self.pack();
        }
    }

    /// Converts the operations to the form the draft takes.
    fn pack(&mut self) {
        let ops = std::mem::take(&mut self.ops).into_iter();
        self.raw = ops.map(|op| RawOp::new(op.kind, op.key, op.value, op.at)).collect();
    }

    /// Reads the header. Returns whether that failed.
    fn header(&mut self, line: &[u8], start: usize) -> bool {
        match self.header_fields(&mut Scanner::new(line), start) {
            Ok(header) => self.header = Some(header),
            Err(fault) => fault.report(line, self.base + start as u64, &mut self.problems),
        }
        self.header.is_none()
    }

    fn header_fields(&mut self, s: &mut Scanner<'_>, start: usize) -> Scanned<Header> {
        const FIRST: &str = r#"a header such as {"isoscope":"history","version":1}"#;
        let mut header = Header::default();
        let (mut known, mut versioned) = (false, false);
        s.open(b'{', FIRST)?;
        while s.more(b'}')? {
            let at = s.at();
            let name = s.name()?;
            let value_at = s.at();
            match &*name {
                "isoscope" => {
                    known = s.string("\"history\"")? == "history";
                    if !known {
                        return Err(Fault::unexpected(value_at, "\"history\""));
                    }
                }
                "version" => {
                    versioned = s.number("the version, a number")? == Number::Int(VERSION);
                    if !versioned {
                        let message = "this version of the format is not supported";
                        return Err(Fault::wrong(value_at, message, "version 1"));
                    }
                }
                "initial" => header.initial = Some(self.initial(s)?),
                "initials" => {
                    let at = s.at();
                    header.initials = self.initials(s)?;
                    let mut keys: Vec<Value> = header.initials.iter().map(|&(key, _)| key).collect();
                    keys.sort_unstable();
                    if keys.windows(2).any(|pair| pair[0] == pair[1]) {
                        return Err(Fault::wrong(at, "a second initial value for this key", "each key once"));
                    }
                }
                "sessions" => header.sessions = Some(self.session_names(s)?),
                "marks" => header.marks = s.boolean("true or false")?,
                "workload" | "recorder" => s.skip_value()?,
                _ => {
                    self.problems.warn(Warning::UnknownField, Some(self.base + (start + at) as u64));
                    s.skip_value()?;
                }
            }
        }
        s.end("the end of the line")?;
        if known && versioned { Ok(header) } else { Err(Fault::wrong(0, "not a valid header", FIRST)) }
    }

    fn session_names(&mut self, s: &mut Scanner<'_>) -> Scanned<Vec<Value>> {
        let mut names = Vec::new();
        s.open(b'[', "a list of the sessions' names")?;
        while s.more(b']')? {
            names.push(self.value(s)?);
        }
        Ok(names)
    }

    /// Reads a transaction or a mark. The last line of the input may be incomplete.
    fn txn(&mut self, line: &[u8], start: usize, last: bool) {
        let ops = self.ops.len();
        let mut scanner = Scanner::new(line);
        match self.txn_fields(&mut scanner, start) {
            Ok(Line::Txn(mut txn)) => {
                txn.count = (self.ops.len() - ops) as u32;
                self.txns.push(txn);
            }
            Ok(Line::Mark(mark)) => {
                if !matches!(self.mark, Some((Mark::End, _))) {
                    self.mark = Some((mark, start as u32));
                }
            }
            Err(fault) if last && fault.is_end(line) => {
                self.problems.warn(Warning::Truncated, Some(self.base + start as u64));
                let local = self.txns.len() as u32;
                self.ops.truncate(ops);
                self.events.retain(|&(txn, ..)| txn < local);
                self.times.retain(|&(txn, ..)| txn < local);
                self.timestamps.retain(|&(txn, ..)| txn < local);
                self.notes.retain(|&(txn, ..)| txn < local);
            }
            Err(fault) => fault.report(line, self.base + start as u64, &mut self.problems),
        }
    }

    fn txn_fields(&mut self, s: &mut Scanner<'_>, start: usize) -> Scanned<Line> {
        let local = self.txns.len() as u32;
        let (mut session, mut session_at, mut name) = (Value::NIL, 0, None);
        let (mut outcome, mut mark) = (Outcome::Committed, None);
        let (mut seen, local_ops) = (0u32, self.ops.len());
        s.open(b'{', "a transaction such as {\"session\":0,\"ops\":[[\"w\",\"x\",1]]}")?;
        while s.more(b'}')? {
            let at = s.at();
            let field = s.name()?;
            let Some(number) = FIELDS.iter().position(|known| *known == field) else {
                self.problems.warn(Warning::UnknownField, Some(self.base + (start + at) as u64));
                s.skip_value()?;
                continue;
            };
            if seen & 1 << number != 0 {
                return Err(Fault::wrong(at, "a duplicate field", "every field once"));
            }
            seen |= 1 << number;
            match FIELDS[number] {
                "session" => {
                    session_at = (start + s.at()) as u32;
                    session = self.plain_value(s, "a session that is not a list")?;
                }
                "txn" => name = Some(self.value(s)?),
                "outcome" => outcome = outcome_of(s)?,
                "ops" => self.ops(s, start)?,
                "events" => self.events.push(events(s, local)?),
                "times" => self.times.push(times(s, local)?),
                "timestamps" => self.timestamps.push(times(s, local)?),
                "mark" => mark = Some(mark_of(s)?),
                _ => self.notes(s, local)?,
            }
        }
        s.end("the end of the line")?;
        let bit = |field| FIELDS.iter().position(|known| *known == field).map_or(0, |n| 1 << n);
        let has = |field| seen & bit(field) != 0;
        if let Some(mark) = mark {
            let allowed = bit("session") | bit("ops") | bit("mark");
            let has_ops = local_ops != self.ops.len();
            if seen & !allowed != 0 || has_ops {
                return Err(Fault::wrong(
                    0,
                    "a mark with fields of a transaction",
                    "a mark on a line of its own",
                ));
            }
            return Ok(Line::Mark(mark));
        }
        if !has("session") {
            return Err(Fault::wrong(0, "a transaction without a session", "a field `session`"));
        }
        if !has("ops") {
            return Err(Fault::wrong(0, "a transaction without operations", "a field `ops`, perhaps []"));
        }
        Ok(Line::Txn(ScanTxn { session, name, outcome, at: start as u32, session_at, count: 0 }))
    }

    fn ops(&mut self, s: &mut Scanner<'_>, start: usize) -> Scanned<()> {
        s.open(b'[', "a list of operations")?;
        while s.more(b']')? {
            let at = (start + s.at()) as u32;
            let (kind, key, value) = self.op(s)?;
            self.ops.push(ScanOp { kind, key, value, at });
        }
        Ok(())
    }

    fn op(&mut self, s: &mut Scanner<'_>) -> Scanned<(OpKind, Value, Value)> {
        const KINDS: &str =
            "one of \"r\", \"w\", \"append\", \"insert\", \"delete\", \"range\", \"read\", \"read-list\"";
        s.open(b'[', "an operation such as [\"r\",\"x\",1]")?;
        s.next(b']', KINDS)?;
        let at = s.at();
        let word = s.string(KINDS)?;
        let kind = match &*word {
            "r" | "read" => OpKind::Read,
            "w" | "write" => OpKind::Write,
            "append" => OpKind::Append,
            "read-list" => OpKind::ReadList,
            "insert" => OpKind::Insert,
            "delete" => OpKind::Delete,
            "range" | "range-read" => OpKind::RangeRead,
            _ => return Err(Fault::wrong(at, "unknown kind of operation", KINDS)),
        };
        s.next(b']', "a key")?;
        let key = self.plain_value(s, "a key that is not a list")?;
        if kind == OpKind::RangeRead {
            self.range(s, key)?;
            return Ok((kind, key, Value::NIL));
        }
        if kind == OpKind::Delete && !s.more(b']')? {
            return Ok((kind, key, Value::NIL));
        }
        if kind != OpKind::Delete {
            s.next(b']', "a value")?;
        }
        let list = s.peek() == b'[' && word == "r";
        let value = match kind {
            OpKind::Append => self.plain_value(s, "an element that is not a list")?,
            OpKind::Delete => self.plain_value(s, "a tombstone that is not a list")?,
            _ => self.content(s)?,
        };
        s.close(b']', "`]` after the value")?;
        Ok((if list { OpKind::ReadList } else { kind }, key, value))
    }

    /// The rest of a range read.
    fn range(&mut self, s: &mut Scanner<'_>, low: Value) -> Scanned<()> {
        s.next(b']', "the upper bound")?;
        let at = s.at();
        let high = self.plain_value(s, "a key that is not a list")?;
        if self.values.is_reversed(low, high) {
            return Err(Fault::wrong(
                at,
                "a range whose upper bound is below the lower one",
                "the lower bound first",
            ));
        }
        s.next(b']', "the rows found")?;
        let live = self.rows(s, (low, high))?;
        let mut dead = Vec::new();
        if s.more(b']')? {
            dead = self.rows(s, (low, high))?;
            s.close(b']', "`]` after the deleted rows")?;
        }
        self.ranges.push(RangeRow { low, high, live, dead });
        Ok(())
    }

    /// The rows of a range read.
    fn rows(&mut self, s: &mut Scanner<'_>, (low, high): (Value, Value)) -> Scanned<Vec<(Value, Value)>> {
        let (mut rows, mut found) = (Vec::new(), FxHashSet::default());
        s.open(b'[', ROWS)?;
        while s.more(b']')? {
            let (at, key) = self.row_key(s)?;
            if self.values.is_outside(key, low, high) {
                return Err(Fault::wrong(at, "a row outside of its range", "a key inside of the range"));
            }
            if !found.insert(key) {
                return Err(Fault::wrong(at, "a key twice in one range read", "each key once"));
            }
            rows.push((key, self.content(s)?));
            s.close(b']', "`]` after the value")?;
        }
        Ok(rows)
    }

    /// Keys with their initial values.
    fn initials(&mut self, s: &mut Scanner<'_>) -> Scanned<Vec<(Value, Value)>> {
        let mut initials = Vec::new();
        s.open(b'[', ROWS)?;
        while s.more(b']')? {
            let (_, key) = self.row_key(s)?;
            initials.push((key, self.initial(s)?));
            s.close(b']', "`]` after the value")?;
        }
        Ok(initials)
    }

    /// The beginning of `[key,value]` up to the value, with the position of the key.
    fn row_key(&mut self, s: &mut Scanner<'_>) -> Scanned<(usize, Value)> {
        s.open(b'[', "[key,value]")?;
        s.next(b']', "a key")?;
        let at = s.at();
        let key = self.plain_value(s, "a key that is not a list")?;
        s.next(b']', "a value")?;
        Ok((at, key))
    }

    /// An initial value. Every read is compared with it, so it must be known.
    fn initial(&mut self, s: &mut Scanner<'_>) -> Scanned<Value> {
        let at = s.at();
        let value = self.content(s)?;
        if self.values.is_unlearned(value) {
            let expected = "the initial value, or null for a key that does not exist yet";
            return Err(Fault::wrong(at, "an initial value that was not learned", expected));
        }
        Ok(value)
    }

    fn notes(&mut self, s: &mut Scanner<'_>, local: u32) -> Scanned<()> {
        if s.peek() == b'{' {
            s.open(b'{', "")?;
            while s.more(b'}')? {
                let name = s.name()?;
                let name = self.values.text(&name);
                let value = self.value(s)?;
                self.notes.push((local, name, value));
            }
            return Ok(());
        }
        s.open(b'[', "an object, or a list of [name,value]")?;
        while s.more(b']')? {
            s.open(b'[', "[name,value]")?;
            s.next(b']', "a name")?;
            let name = self.value(s)?;
            s.next(b']', "a value")?;
            let value = self.value(s)?;
            s.close(b']', "`]` after the value")?;
            self.notes.push((local, name, value));
        }
        Ok(())
    }

    #[inline]
    fn value(&mut self, s: &mut Scanner<'_>) -> Scanned<Value> {
        if s.peek() == b'[' { self.list(s) } else { self.plain_value(s, "a value") }
    }

    /// What a key can hold: a scalar, or a list of scalars.
    #[inline]
    fn content(&mut self, s: &mut Scanner<'_>) -> Scanned<Value> {
        if s.peek() == b'[' { self.flat_list(s) } else { self.plain_value(s, "a value") }
    }

    fn flat_list(&mut self, s: &mut Scanner<'_>) -> Scanned<Value> {
        self.elements.clear();
        s.open(b'[', "a list")?;
        while s.more(b']')? {
            if s.peek() == b'[' {
                return Err(Fault::wrong(s.at(), "a list inside of a list", "elements that are not lists"));
            }
            let element = self.plain_value(s, "a value")?;
            self.elements.push(element);
        }
        Ok(self.values.list(&self.elements))
    }

    /// A list of values. Enclosing lists are kept on an explicit stack.
    fn list(&mut self, s: &mut Scanner<'_>) -> Scanned<Value> {
        self.elements.clear();
        self.open_lists.clear();
        loop {
            if s.peek() == b'[' {
                if self.open_lists.len() == json::DEEPEST {
                    return Err(json::too_deep(s.at()));
                }
                s.open(b'[', "")?;
                self.open_lists.push(self.elements.len());
            } else {
                let element = self.plain_value(s, "a value")?;
                self.elements.push(element);
            }
            while !s.more(b']')? {
                let start = self.open_lists.pop().unwrap_or(0);
                let list = self.values.list(&self.elements[start..]);
                self.elements.truncate(start);
                if self.open_lists.is_empty() {
                    return Ok(list);
                }
                self.elements.push(list);
            }
        }
    }

    /// A value that is not a list.
    #[inline]
    fn plain_value(&mut self, s: &mut Scanner<'_>, expected: &'static str) -> Scanned<Value> {
        if s.peek() == b'{' {
            return self.tagged(s);
        }
        Ok(match s.scalar(expected)? {
            Scalar::Number(Number::Int(n)) => self.values.int(n),
            Scalar::Text(text) => self.values.text(&text),
            Scalar::Null => Value::NIL,
            Scalar::Bool(b) => self.values.add(Datum::Bool(b)),
            Scalar::Number(Number::Nat(n)) => self.values.nat(n),
            Scalar::Number(Number::Float(x)) => self.values.add(Datum::Float(x)),
        })
    }

    /// A value that JSON cannot express.
    fn tagged(&mut self, s: &mut Scanner<'_>) -> Scanned<Value> {
        const TAGS: &str = r#"{"keyword":"x"}, {"unknown":true} or {"float":"7ff0000000000000"}"#;
        s.open(b'{', TAGS)?;
        s.next(b'}', TAGS)?;
        let at = s.at();
        let tag = s.name()?;
        let value_at = s.at();
        let value = match &*tag {
            "keyword" => {
                let name = s.string("the keyword's name")?;
                self.values.keyword(&name)
            }
            "unknown" if s.boolean("true")? => Value::UNKNOWN,
            "float" => {
                let bits = s.string("16 hex digits")?;
                let bits = Some(&*bits).filter(|b| b.len() == 16 && b.bytes().all(|c| c.is_ascii_hexdigit()));
                let bits = bits.and_then(|bits| u64::from_str_radix(bits, 16).ok());
                let bits = bits.ok_or(Fault::unexpected(value_at, "16 hex digits"))?;
                self.values.add(Datum::Float(f64::from_bits(bits)))
            }
            _ => return Err(Fault::wrong(at, "this object is not a value", TAGS)),
        };
        s.close(b'}', "`}` after the only member")?;
        Ok(value)
    }

    /// Maps all values to the draft's table.
    pub(super) fn remap(&mut self, remap: &Remap) {
        let map = |value: &mut Value| *value = remap.apply(*value);
        self.raw.iter_mut().for_each(|op| op.remap(remap));
        for op in &mut self.ops {
            map(&mut op.key);
            map(&mut op.value);
        }
        for row in &mut self.ranges {
            map(&mut row.low);
            map(&mut row.high);
            for (key, value) in row.live.iter_mut().chain(&mut row.dead) {
                map(key);
                map(value);
            }
        }
        for txn in &mut self.txns {
            map(&mut txn.session);
            txn.name.iter_mut().for_each(map);
        }
        for (_, name, value) in &mut self.notes {
            map(name);
            map(value);
        }
        if let Some(header) = &mut self.header {
            header.initial.iter_mut().for_each(map);
            for (key, value) in &mut header.initials {
                map(key);
                map(value);
            }
            header.sessions.iter_mut().flatten().for_each(map);
        }
    }
}

fn outcome_of(s: &mut Scanner<'_>) -> Scanned<Outcome> {
    const OUTCOMES: &str = "\"committed\", \"aborted\" or \"unknown\"";
    let at = s.at();
    match &*s.string(OUTCOMES)? {
        "committed" => Ok(Outcome::Committed),
        "aborted" => Ok(Outcome::Aborted),
        "unknown" => Ok(Outcome::Unknown),
        _ => Err(Fault::wrong(at, "not an outcome", OUTCOMES)),
    }
}

fn mark_of(s: &mut Scanner<'_>) -> Scanned<Mark> {
    const MARK: &str = "a time in nanoseconds, or \"end\"";
    let at = s.at();
    match s.scalar(MARK)? {
        Scalar::Number(Number::Int(time)) => Ok(Mark::Time(time)),
        Scalar::Text(text) if text == "end" => Ok(Mark::End),
        _ => Err(Fault::unexpected(at, MARK)),
    }
}

/// A start and an end, either of which may be missing, with their positions.
fn interval(s: &mut Scanner<'_>) -> Scanned<[(usize, Option<i64>); 2]> {
    let mut both = [(0, None); 2];
    s.open(b'[', "[start,end]")?;
    for (at, end) in &mut both {
        s.next(b']', "[start,end], two integers or null")?;
        *at = s.at();
        *end = match s.scalar("an integer or null")? {
            Scalar::Null => None,
            Scalar::Number(Number::Int(n)) => Some(n),
            _ => return Err(Fault::unexpected(*at, "an integer or null")),
        };
    }
    s.close(b']', "`]` after the end")?;
    Ok(both)
}

fn events(s: &mut Scanner<'_>, local: u32) -> Scanned<(u32, u32, u32)> {
    let event = |(at, n): (usize, Option<i64>)| match n {
        None => Ok(NO_EVENT),
        Some(n) => u32::try_from(n).ok().filter(|&n| n != NO_EVENT).ok_or(Fault::wrong(
            at,
            "not an event number",
            "an integer from 0 to 4294967294",
        )),
    };
    let [start, end] = interval(s)?;
    let (at, invoke, complete) = (end.0, event(start)?, event(end)?);
    if complete < invoke && invoke != NO_EVENT {
        return Err(Fault::wrong(at, "a return before its invocation", "an event that comes later, or null"));
    }
    Ok((local, invoke, complete))
}

fn times(s: &mut Scanner<'_>, local: u32) -> Scanned<(u32, i64, i64)> {
    let [(_, start), (at, end)] = interval(s)?;
    if let (Some(start), Some(end)) = (start, end)
        && end < start
    {
        return Err(Fault::wrong(
            at,
            "an interval that ends before it begins",
            "a time not before the first",
        ));
    }
    Ok((local, start.unwrap_or(NO_TIME), end.unwrap_or(NO_TIME)))
}

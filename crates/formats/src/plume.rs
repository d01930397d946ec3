//! Plume text, also used by `PolySI`, `IsoVista` and `DBCop`'s converters: one event per line.
//!
//! ```text
//! w(1,7,0,3)      session 0, transaction 3 writes 7 to key 1
//! r(1,7,2,-1)     some aborted transaction of session 2 reads 7 from key 1
//! ```
//!
//! Four unsigned decimals of up to 64 bits: key, value, session, transaction. A transaction of `-1` is *some*
//! aborted one. Lines end with LF or CRLF; the last line end is optional. The conventions that change
//! verdicts:
//!
//! - The operations of a transaction are its lines in order. Lines of different transactions may interleave.
//! - Session order is the order of each transaction's *first* line. The transaction numbers do not matter.
//! - The pair (session, transaction) is the identity, since some writers restart numbers in every session.
//! - The initial value of every key is 0. Some files state this explicitly: they begin with a transaction 0
//!   of session 0 that only writes zeros. That transaction is the initial state and not a transaction. A
//!   later write of 0 is a real write.
//! - The format does not record which aborted operations belong together, so all of a session are one
//!   transaction.
//!
//! Reading takes two steps per block of lines: a parallel scan that creates 12-byte operations with
//! transactions numbered inside the block, and a merge in file order that maps these to the transactions of
//! the file.

mod known;

use std::io::{self, Write};
use std::ops::ControlFlow;

use isoscope_history::{Draft, DraftTxn, History, OpKind, Outcome, RawOp, Txn, Values};
use known::Known;
use rustc_hash::FxHashMap;

use crate::input::{Block, Blocks, Stream, too_long};
use crate::lower::{Fate, Losses, Numbered, are_distinct, natural, session_numbers};
use crate::parallel;
use crate::problem::{Problems, Warning};
use crate::spell::push_nat;
use crate::{Job, WriteError};

/// The longest line: four 20-digit numbers and seven other characters fit.
const LONGEST_LINE: usize = 256;
/// The transaction of aborted operations. No file can contain this number.
const ABORTED: u64 = u64::MAX;

/// Whether a text begins like this format.
pub(crate) fn looks_like(line: &[u8]) -> bool {
    matches!(line, [b'r' | b'w', b'(', b'0'..=b'9', ..])
}

/// Reads a stream.
pub(crate) fn read(stream: Stream, job: Job<'_>) -> io::Result<()> {
    let Job { base, draft, problems, progress, .. } = job;
    let mut merger = Merger { draft, problems, known: Known::default(), explicit_initial: None };
    parallel::parse_blocks(
        Blocks::new(stream, LONGEST_LINE),
        |block| {
            progress(block.bytes.len() as u64);
            scan(&block, base)
        },
        &mut |scan| merger.merge(scan),
    )?;
    if let Some(initial) = merger.explicit_initial.filter(|initial| initial.writes > 0) {
        draft.drop_txn(initial.txn);
        problems.warn_many(Warning::ExplicitInitial, initial.writes, None);
    }
    Ok(())
}

/// The content of a block.
struct Scan {
    base: u64,
    ops: Vec<RawOp>,
    /// The transactions of the operations: an index into `txns`, and a count.
    runs: Vec<(u32, u32)>,
    txns: Vec<ScanTxn>,
    /// The index of each transaction in `txns`.
    numbers: FxHashMap<(u64, u64), u32>,
    /// Keys and values of 2^31 and above.
    values: Values,
    problems: Problems,
    /// Whether the rest is a line that is too long.
    stop: bool,
}

struct ScanTxn {
    session: u64,
    txn: u64,
    first_at: u32,
    count: u32,
    only_writes_zero: bool,
}

/// The first half of a line: the operation.
struct Event {
    kind: OpKind,
    key: u64,
    value: u64,
}

/// The second half of a line, from the comma after the value to the line's end. It is nearly always the same
/// as in the previous line, so it is compared in one step before it is parsed.
#[derive(Clone, Copy)]
struct Tail {
    text: u128,
    mask: u128,
    len: usize,
}

impl Tail {
    /// A tail that no line has.
    const NONE: Tail = Tail { text: 1, mask: 0, len: 0 };

    fn of(text: &[u8]) -> Tail {
        let mut bytes = [0; 16];
        let Some(front) = bytes.get_mut(..text.len()) else { return Tail::NONE };
        front.copy_from_slice(text);
        let mask = u128::MAX.checked_shr(128 - 8 * text.len() as u32).unwrap_or(0);
        Tail { text: u128::from_le_bytes(bytes), mask, len: text.len() }
    }
}

fn scan(block: &Block, base: u64) -> Scan {
    let bytes = block.bytes.as_slice();
    let mut out = Scan {
        base: base + block.start,
        ops: Vec::with_capacity(bytes.len() / 20),
        runs: Vec::with_capacity(bytes.len() / 200),
        txns: Vec::with_capacity(bytes.len() / 200),
        numbers: FxHashMap::default(),
        values: Values::default(),
        problems: Problems::default(),
        stop: block.cut,
    };
    let mut tail = Tail::NONE;
    let mut run = Run::default();
    let mut at = if block.start == 0 && bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    while at < bytes.len() {
        if let Some((event, length)) = plain_line(&bytes[at..], tail) {
            out.push(event, at, &mut run);
            at += length;
            continue;
        }
        let mut cursor = Cursor { bytes, at };
        match cursor.line() {
            Ok(Line { event, session, txn, tail: start }) => {
                tail = Tail::of(&bytes[start..cursor.at]);
                out.turn_to(session, txn, at, &mut run);
                out.push(event, at, &mut run);
            }
            Err(Stop::Blank) => out.problems.warn(Warning::BlankLine, Some(out.base + at as u64)),
            Err(Stop::Expected(what)) => {
                out.problems.error(Some(out.base + cursor.at as u64), describe(bytes, cursor.at), what);
                cursor.skip_line();
                if out.problems.hopeless() {
                    break;
                }
            }
        }
        at = cursor.at;
    }
    if block.cut && !out.problems.failed() {
        // The beginning of the line looks blank.
        out.problems = Problems::default();
        too_long(out.base, LONGEST_LINE, &mut out.problems);
    }
    out.end(&run);
    out
}

/// Consecutive operations of one transaction.
struct Run {
    /// The index of the transaction in the block.
    txn: u32,
    /// The index of its first operation in the block.
    first: usize,
    only_writes_zero: bool,
}

impl Default for Run {
    fn default() -> Self {
        Run { txn: u32::MAX, first: 0, only_writes_zero: true }
    }
}

impl Scan {
    #[allow(clippy::needless_bitwise_bool, reason = "a branch here would be mispredicted half the time")]
    #[allow(clippy::inline_always, reason = "runs once per line")]
    #[inline(always)]
    fn push(&mut self, Event { kind, key, value }: Event, at: usize, run: &mut Run) {
        run.only_writes_zero &= (kind == OpKind::Write) & (value == 0);
        let (key, value) = (self.values.nat(key), self.values.nat(value));
        self.ops.push(RawOp::new(kind, key, value, at as u32));
    }

    /// Continues with a transaction, which may differ from the previous one.
    fn turn_to(&mut self, session: u64, txn: u64, at: usize, run: &mut Run) {
        let next = self.txns.len() as u32;
        let number = *self.numbers.entry((session, txn)).or_insert(next);
        if number == next {
            let first_at = at as u32;
            self.txns.push(ScanTxn { session, txn, first_at, count: 0, only_writes_zero: true });
        }
        if number != run.txn {
            self.end(run);
            *run = Run { txn: number, first: self.ops.len(), only_writes_zero: true };
        }
    }

    fn end(&mut self, run: &Run) {
        let count = (self.ops.len() - run.first) as u32;
        if let Some(txn) = self.txns.get_mut(run.txn as usize) {
            txn.count += count;
            txn.only_writes_zero &= run.only_writes_zero;
            self.runs.push((run.txn, count));
        }
    }
}

/// The common form of a line: numbers of at most eight digits, the same second half as the previous line, and
/// more text after it. The whole line is examined before the code branches.
#[allow(clippy::needless_bitwise_bool, reason = "the first character of a line is unpredictable")]
#[allow(clippy::inline_always, reason = "runs once per line")]
#[inline(always)]
fn plain_line(text: &[u8], tail: Tail) -> Option<(Event, usize)> {
    // Two characters, two numbers of up to eight digits with a comma between them, and a second half.
    const LONGEST: usize = 2 + 8 + 1 + 8 + 16;
    let line: &[u8; LONGEST] = text.first_chunk()?;
    let (key, key_digits) = leading_digits(u64::from_le_bytes(*line[2..].first_chunk()?));
    let comma = 2 + key_digits;
    let (value, value_digits) = leading_digits(u64::from_le_bytes(*line[comma + 1..].first_chunk()?));
    let end = comma + 1 + value_digits;
    let rest = u128::from_le_bytes(*line[end..].first_chunk()?);
    let (reads, writes) = (line[0] == b'r', line[0] == b'w');
    let is_plain = (reads | writes)
        & (line[1] == b'(')
        & (1..=8).contains(&key_digits)
        & (line[comma] == b',')
        & (1..=8).contains(&value_digits)
        & (rest & tail.mask == tail.text);
    let kind = if writes { OpKind::Write } else { OpKind::Read };
    is_plain.then_some((Event { kind, key, value }, end + tail.len))
}

/// A line, and the position of its second half.
struct Line {
    event: Event,
    session: u64,
    txn: u64,
    tail: usize,
}

/// The reason why a line is not an event.
enum Stop {
    Blank,
    Expected(&'static str),
}

/// Describes an unexpected byte.
fn describe(bytes: &[u8], at: usize) -> String {
    match bytes.get(at) {
        None => "the input ends inside an event".to_owned(),
        Some(b'\n' | b'\r') => "the line ends inside an event".to_owned(),
        Some(c) if c.is_ascii_graphic() => format!("unexpected `{}`", char::from(*c)),
        Some(b' ' | b'\t') => "unexpected space".to_owned(),
        Some(c) => format!("unexpected byte 0x{c:02x}"),
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    #[inline]
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(b'\n')
    }

    fn line(&mut self) -> Result<Line, Stop> {
        let event = self.event()?;
        let tail = self.at;
        let (session, txn) = self.place()?;
        Ok(Line { event, session, txn, tail })
    }

    /// Reads the first half of a line.
    fn event(&mut self) -> Result<Event, Stop> {
        let kind = match self.peek() {
            b'r' => OpKind::Read,
            b'w' => OpKind::Write,
            _ => return Err(self.not_an_event()),
        };
        self.at += 1;
        self.expect(b'(', "`(` as in r(key,value,session,txn)")?;
        let key = self.number()?;
        self.expect(b',', "`,` after the key")?;
        let value = self.number()?;
        Ok(Event { kind, key, value })
    }

    /// Reads the second half of a line and its end: a session and a transaction.
    fn place(&mut self) -> Result<(u64, u64), Stop> {
        self.expect(b',', "`,` after the value")?;
        let session = self.number()?;
        self.expect(b',', "`,` after the session")?;
        let txn = if self.peek() == b'-' { self.minus_one()? } else { self.txn_number()? };
        self.expect(b')', "`)` after the transaction")?;
        if self.peek() == b'\r' {
            self.at += 1;
        }
        if self.at < self.bytes.len() {
            self.expect(b'\n', "the end of the line")?;
        }
        Ok((session, txn))
    }

    #[cold]
    fn not_an_event(&mut self) -> Stop {
        let rest = &self.bytes[self.at..];
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |n| n + 1);
        if rest[..end].iter().all(u8::is_ascii_whitespace) {
            self.at += end;
            return Stop::Blank;
        }
        Stop::Expected("an event such as r(key,value,session,txn) or w(key,value,session,txn)")
    }

    #[inline]
    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), Stop> {
        if self.bytes.get(self.at) == Some(&byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(Stop::Expected(what))
        }
    }

    fn number(&mut self) -> Result<u64, Stop> {
        let start = self.at;
        let mut n = 0u64;
        if let Some(next) = self.bytes.get(start..).and_then(|rest| rest.first_chunk()) {
            let count;
            (n, count) = leading_digits(u64::from_le_bytes(*next));
            self.at += count;
            if (1..8).contains(&count) {
                return Ok(n);
            }
        }
        loop {
            let digit = self.peek().wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            n = n.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        match self.at - start {
            0 => Err(Stop::Expected("an unsigned number")),
            1..=19 => Ok(n),
            _ => self.long_number(start),
        }
    }

    #[cold]
    fn long_number(&mut self, start: usize) -> Result<u64, Stop> {
        let text = std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or("");
        text.parse().map_err(|_| {
            self.at = start;
            Stop::Expected("a number of at most 64 bits")
        })
    }

    #[inline]
    fn txn_number(&mut self) -> Result<u64, Stop> {
        let start = self.at;
        match self.number()? {
            ABORTED => {
                self.at = start;
                Err(Stop::Expected("a transaction number below 2^64 - 1"))
            }
            n => Ok(n),
        }
    }

    #[cold]
    fn minus_one(&mut self) -> Result<u64, Stop> {
        let start = self.at;
        self.at += 1;
        if self.number()? == 1 {
            return Ok(ABORTED);
        }
        self.at = start;
        Err(Stop::Expected("a transaction number, or -1 for an aborted transaction"))
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        self.at += memchr::memchr(b'\n', rest).map_or(rest.len(), |n| n + 1);
    }
}

/// The number at the start of eight characters (the first in the lowest byte), and its number of digits.
/// Computed without a loop: the length of a number is unpredictable, and a loop over its digits would
/// mispredict its end.
#[inline]
fn leading_digits(text: u64) -> (u64, usize) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let digits = text ^ (EACH * u64::from(b'0'));
    // Sets the highest bit of each byte that is not a digit. Carries into later bytes do not matter.
    let others = (digits.wrapping_add(EACH * (0x80 - 10)) | digits) & (EACH * 0x80);
    let count = others.trailing_zeros() / 8;
    // Shifts in leading zeros, then combines neighbours: two digits, four, eight.
    let n = digits.checked_shl(64 - 8 * count).unwrap_or(0);
    let n = n.wrapping_mul(10).wrapping_add(n >> 8) & 0x00ff_00ff_00ff_00ff;
    let n = n.wrapping_mul(100).wrapping_add(n >> 16) & 0x0000_ffff_0000_ffff;
    let n = n.wrapping_mul(10_000).wrapping_add(n >> 32) & 0xffff_ffff;
    (n, count as usize)
}

/// Merges the blocks in file order.
struct Merger<'a> {
    draft: &'a mut Draft,
    problems: &'a mut Problems,
    known: Known,
    explicit_initial: Option<ExplicitInitial>,
}

/// The file's first transaction, as long as it may be the initial state.
#[derive(Clone, Copy)]
struct ExplicitInitial {
    txn: DraftTxn,
    writes: u64,
}

impl Merger<'_> {
    fn merge(&mut self, mut scan: Scan) -> ControlFlow<()> {
        self.problems.absorb(std::mem::take(&mut scan.problems));
        if self.problems.hopeless() || scan.stop {
            return ControlFlow::Break(());
        }
        if self.problems.failed() {
            return ControlFlow::Continue(());
        }
        if !scan.values.is_empty() {
            let remap = self.draft.values.absorb(&scan.values);
            scan.ops.iter_mut().for_each(|op| op.remap(&remap));
        }
        let mut ids = Vec::with_capacity(scan.txns.len());
        for txn in &scan.txns {
            let id = self.identify(txn, scan.base);
            self.watch_initial(txn, id);
            ids.push(id);
        }
        let runs = scan.runs.iter().map(|&(txn, count)| (ids[txn as usize], count));
        self.draft.absorb(scan.base, scan.ops, runs);
        ControlFlow::Continue(())
    }

    fn identify(&mut self, txn: &ScanTxn, base: u64) -> DraftTxn {
        let draft = &mut *self.draft;
        let session = draft.values.nat(txn.session);
        let session = draft.session(session);
        self.known.find(session, txn.txn, || {
            let (name, outcome) = match txn.txn {
                ABORTED => (draft.values.int(-1), Outcome::Aborted),
                n => (draft.values.nat(n), Outcome::Committed),
            };
            draft.txn(session, name, outcome, Some(base + u64::from(txn.first_at)))
        })
    }

    /// Tracks whether the file begins with `w(k,0,0,0)` lines.
    fn watch_initial(&mut self, txn: &ScanTxn, id: DraftTxn) {
        if id == DraftTxn(0) {
            let so_far = self.explicit_initial.map_or(0, |initial| initial.writes);
            let first_time = self.draft.txn_count() == 1 && self.explicit_initial.is_none();
            let possible = txn.session == 0 && txn.txn == 0 && txn.only_writes_zero;
            let still = possible && (first_time || so_far > 0);
            let writes = if still { so_far + u64::from(txn.count) } else { 0 };
            self.explicit_initial = Some(ExplicitInitial { txn: id, writes });
        }
    }
}

/// Writes a history.
pub(crate) fn write(history: &History, out: &mut dyn Write) -> Result<Losses, WriteError> {
    let mut numbered = Numbered::of(history, "plume")?;
    let mut losses = std::mem::take(&mut numbered.losses);
    let sessions = session_numbers(history, &mut losses);
    let committed = || numbered.written().filter(|&txn| numbered.fate(txn) == Fate::Committed);
    let names = committed().map(|txn| natural(history, history.txn_name(txn)).filter(|&n| n != ABORTED));
    let names: Option<Vec<u64>> = names.collect();
    let names = names.filter(|names| {
        let identities = committed().zip(names).map(|(txn, &name)| (history.session_of(txn).0, name));
        are_distinct(identities.collect()) && !looks_initial(&numbered, &sessions, committed().zip(names))
    });
    if names.is_none() {
        losses.add("transaction names replaced by numbers", committed().count());
    }
    losses.add(
        "aborted transactions whose operations are no longer grouped",
        numbered.written().filter(|&txn| numbered.fate(txn) == Fate::Aborted).count(),
    );
    losses
        .add("empty transactions dropped", committed().filter(|&t| numbered.ops(t).next().is_none()).count());
    let mut next = 0;
    let mut line = Vec::with_capacity(64);
    for txn in numbered.written() {
        let session = sessions[history.session_of(txn).index()];
        let name = match (numbered.fate(txn), &names) {
            (Fate::Aborted, _) => None,
            (_, Some(names)) => Some(names[next]),
            // Numbers start at 1: a transaction 0 might be mistaken for the explicit initial one.
            (_, None) => Some(u64::from(txn.0) + 1),
        };
        next += usize::from(name.is_some());
        for (is_write, key, value) in numbered.ops(txn) {
            line.clear();
            line.extend_from_slice(if is_write { b"w(" } else { b"r(" });
            for number in [key, value, session] {
                push_nat(&mut line, number);
                line.push(b',');
            }
            match name {
                Some(name) => push_nat(&mut line, name),
                None => line.extend_from_slice(b"-1"),
            }
            line.extend_from_slice(b")\n");
            out.write_all(&line)?;
        }
    }
    Ok(losses)
}

/// Whether a reader would read the first transaction that has a line as the initial state.
fn looks_initial<'a>(
    numbered: &Numbered<'_>,
    sessions: &[u64],
    mut named: impl Iterator<Item = (Txn, &'a u64)>,
) -> bool {
    named.find(|(txn, _)| numbered.ops(*txn).next().is_some()).is_some_and(|(txn, &name)| {
        name == 0
            && sessions[numbered.history.session_of(txn).index()] == 0
            && numbered.ops(txn).all(|(is_write, _, value)| is_write && value == 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_up_to_the_first_other_character() {
        for number in [0, 7, 10, 99, 123, 1_000, 98_765, 123_456, 7_654_321, 12_345_678] {
            for end in [0, b'\n', b' ', b',', b'/', b':', b'-', b'a', 0x7f, 0x80, 0xff] {
                let mut text = number.to_string().into_bytes();
                let digits = text.len();
                text.extend([end, b'9', end, 0xff, b'0', end, end, end]);
                let front = text.first_chunk().expect("more than eight characters");
                assert_eq!(leading_digits(u64::from_le_bytes(*front)), (number, digits), "{number} {end}");
            }
        }
        assert_eq!(leading_digits(u64::from_le_bytes(*b",1234567")), (0, 0));
    }

    #[test]
    fn plain_line_agrees_with_the_cursor() {
        let heads = [
            "r(1,2",
            "w(12345678,87654321",
            "w(123456789,1",
            "r(1,123456789",
            "x(1,2",
            "r[1,2",
            "r(,2",
            "r(1,",
            "r(1;2",
        ];
        let tail = b",12,345)\r\n";
        for head in heads {
            let line = [head.as_bytes(), tail, &[b'r'; 32]].concat();
            let mut cursor = Cursor { bytes: &line, at: 0 };
            let plain = plain_line(&line, Tail::of(tail));
            let whole = cursor.line().ok().filter(|_| !head.contains("123456789"));
            assert_eq!(plain.is_some(), whole.is_some(), "{head}");
            if let (Some((event, length)), Some(line)) = (plain, whole) {
                assert_eq!(
                    (event.kind, event.key, event.value),
                    (line.event.kind, line.event.key, line.event.value)
                );
                assert_eq!(length, cursor.at);
            }
        }
    }

    #[test]
    fn a_line_is_plain_only_with_a_complete_second_half() {
        let text = b"r(1,2,12,345)\r\nr(1,2,3,4)\nr(1,2,3,4)\n";
        let second = &text[5..];
        let is_plain = |tail: &[u8], text: &[u8]| plain_line(text, Tail::of(tail)).is_some();
        assert!(is_plain(&second[..10], text));
        assert!(is_plain(&second[..16], text));
        assert!(!is_plain(&second[..17], text), "longer than the text compared in one step");
        assert!(!is_plain(b",12,34)\n", text));
        assert!(plain_line(text, Tail::NONE).is_none());
        assert!(!is_plain(&second[..10], &text[..34]), "too near the end for a comparison in one step");
    }
}

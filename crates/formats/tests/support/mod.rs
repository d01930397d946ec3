//! Helpers of the tests of all formats: reading text, comparing histories, and random histories.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use isoscope_formats::{Format, Input, Losses, ReadOptions, Reading, Target, read, write};
use isoscope_history::notation::{OpText, ValueText};
use isoscope_history::{Builder, Datum, History, OpKind, Outcome, Value};
use proptest::prelude::*;

/// The histories of this repository.
pub fn own_corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// The shared corpus, if it is beside the repository. Otherwise prints that the test is skipped.
#[allow(clippy::print_stderr, reason = "a skipped test prints a note")]
pub fn shared_corpus() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    if !path.is_dir() {
        eprintln!("skipped: the shared corpus is not here");
    }
    path.is_dir().then_some(path)
}

/// Reads bytes in a format; panics with the problems on failure.
pub fn reading(format: Format, bytes: impl AsRef<[u8]>) -> Reading {
    try_reading(format, bytes).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Reads bytes in a format.
pub fn try_reading(format: Format, bytes: impl AsRef<[u8]>) -> Result<Reading, isoscope_formats::Failure> {
    let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    read(&Input::Bytes { name: "t".into(), bytes: bytes.as_ref().into() }, &options)
}

/// The problems of bytes that must be rejected, one per line.
pub fn failure(format: Format, bytes: impl AsRef<[u8]>) -> String {
    match try_reading(format, bytes.as_ref()) {
        Ok(_) => panic!("read without error: {:?}", String::from_utf8_lossy(bytes.as_ref())),
        Err(failure) => failure.to_string(),
    }
}

/// Asserts that every line has exactly one problem, at this column and with a message that starts like this. `first` is the
/// number of the first line.
pub fn assert_line_errors(failure: &str, first: usize, lines: &[(&str, usize, &str)]) {
    for ((i, (line, column, message)), found) in lines.iter().enumerate().zip(failure.lines()) {
        let expected = format!("t:{}:{column}: {message}", first + i);
        assert!(found.starts_with(&expected), "{line}\nfound    {found}\nexpected {expected}");
    }
    assert_eq!(failure.lines().count(), lines.len());
}

/// A history in the notation, as read from bytes in a format.
pub fn notation_of(format: Format, bytes: impl AsRef<[u8]>) -> String {
    isoscope_history::notation::print(&reading(format, bytes).history)
}

/// Writes a history to memory.
pub fn written(history: &History, format: Format) -> (Vec<u8>, Losses) {
    let mut out = Vec::new();
    let losses = write(history, format, Target::Stream(&mut out)).unwrap_or_else(|error| panic!("{error}"));
    (out, losses)
}

/// The content of a history without names of sessions and transactions, times and positions.
pub fn content(history: &History) -> String {
    let mut out = String::new();
    for session in history.sessions() {
        for txn in history.txns_of(session) {
            let _ = write!(out, "{:?}:", history.outcome(txn));
            for op in history.ops_of(txn) {
                let _ = write!(out, " {}", OpText(history, op.id));
            }
            out.push_str(" ; ");
        }
        out.push('\n');
    }
    out
}

/// Like [`content`], with keys and values replaced by numbers in order of appearance and initial values
/// marked, so that histories whose names were changed by a conversion compare equal.
pub fn shape(history: &History) -> String {
    let mut keys: Vec<String> = Vec::new();
    let mut values: Vec<String> = Vec::new();
    let number = |names: &mut Vec<String>, name: String| {
        names.iter().position(|n| *n == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        })
    };
    let mut out = String::new();
    for session in history.sessions() {
        for txn in history.txns_of(session) {
            let _ = write!(out, "{:?}:", history.outcome(txn));
            for op in history.ops_of(txn) {
                let key = number(&mut keys, ValueText(history, history.key_name(op.key)).to_string());
                let _ = write!(out, " {}(k{key},", if op.kind.is_write() { "w" } else { "r" });
                if history.is_initial(op.key, op.value) {
                    out.push_str("initial)");
                } else {
                    let value = number(&mut values, ValueText(history, op.value).to_string());
                    let _ = write!(out, "v{value})");
                }
            }
            out.push_str(" ; ");
        }
        out.push('\n');
    }
    out
}

/// What random histories may contain.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)]
pub struct Flavour {
    /// Appends and list reads instead of register operations.
    pub lists: bool,
    /// Keys and values that are words, negative or large numbers in addition to small integers.
    pub rich_names: bool,
    /// Aborted transactions.
    pub aborted: bool,
    /// Transactions of unknown outcome.
    pub unknown: bool,
    /// Inserts, deletes and range reads.
    pub rows: bool,
    /// Real-time events, in a consistent order.
    pub events: bool,
}

/// Registers with integers, all committed: every format can express this.
pub const PLAIN: Flavour =
    Flavour { lists: false, rich_names: false, aborted: false, unknown: false, rows: false, events: false };

/// Kind, key, value, elements.
type PlannedOp = (OpKind, u8, u8, Vec<u8>);

#[derive(Clone, Debug)]
struct Plan {
    sessions: Vec<Vec<(Outcome, Vec<PlannedOp>)>>,
    order: Vec<u8>,
}

/// Random histories of a flavour. The initial value of keys is 0 (nil for lists); values may repeat;
/// transactions have at least one operation and unique integer names.
pub fn histories(flavour: Flavour) -> impl Strategy<Value = History> {
    let kinds: Vec<OpKind> = match (flavour.lists, flavour.rows) {
        (true, _) => vec![OpKind::Append, OpKind::ReadList],
        (_, true) => vec![OpKind::Read, OpKind::Write, OpKind::Insert, OpKind::Delete, OpKind::RangeRead],
        _ => vec![OpKind::Read, OpKind::Write],
    };
    let mut outcomes = vec![Outcome::Committed];
    outcomes.extend(flavour.aborted.then_some(Outcome::Aborted));
    outcomes.extend(flavour.unknown.then_some(Outcome::Unknown));
    let op = (prop::sample::select(kinds), 0..5u8, 0..8u8, prop::collection::vec(1..9u8, 0..4));
    let txn = (prop::sample::select(outcomes), prop::collection::vec(op, 1..6));
    let sessions = prop::collection::vec(prop::collection::vec(txn, 1..5), 0..5);
    let order = prop::collection::vec(any::<u8>(), 64);
    (sessions, order).prop_map(move |(sessions, order)| build(flavour, &Plan { sessions, order }))
}

fn build(flavour: Flavour, plan: &Plan) -> History {
    let mut b = Builder::new();
    let name = |n: u8| match (flavour.rich_names, n) {
        (true, 1) => Datum::Text("word"),
        (true, 2) => Datum::Int(-5),
        (true, 3) => Datum::Nat(u64::MAX),
        (true, 4) => Datum::Int(1 << 40),
        (true, 5) => Datum::Text("two words\nand \"quotes\" \\ é"),
        _ => Datum::Int(i64::from(n)),
    };
    if flavour.lists {
        b.initial(None);
    }
    let events = interleave(plan);
    for (s, txns) in plan.sessions.iter().enumerate() {
        for (t, (outcome, ops)) in txns.iter().enumerate() {
            let mut txn = b.session(s as u32).txn().outcome(*outcome);
            if flavour.events {
                let (invoke, complete) = events[s][t];
                let complete =
                    if *outcome == Outcome::Unknown { isoscope_history::NO_EVENT } else { complete };
                txn = txn.events(invoke, complete);
            }
            for (kind, key, value, list) in ops {
                let key = name(*key);
                txn = match kind {
                    OpKind::Read => txn.read(key, name(*value)),
                    OpKind::Write => txn.write(key, name(*value)),
                    OpKind::Append => txn.append(key, name(*value)),
                    OpKind::ReadList => txn.read_list(key, list.iter().map(|&n| name(n))),
                    OpKind::Insert => txn.insert(key, name(*value)),
                    OpKind::Delete => txn.delete(key),
                    OpKind::RangeRead => {
                        let is_number = |n: &Datum<'_>| !matches!(n, Datum::Text(_));
                        let keys: std::collections::BTreeSet<_> = list.iter().copied().collect();
                        let rows = keys.into_iter().map(name).filter(is_number);
                        let all = (Datum::Int(i64::MIN), Datum::Nat(u64::MAX));
                        txn.range(all.0, all.1, rows.map(|key| (key, name(*value))))
                    }
                };
            }
        }
    }
    b.finish()
}

/// Event numbers for every transaction: in order within each session, with sessions interleaved by the plan.
fn interleave(plan: &Plan) -> Vec<Vec<(u32, u32)>> {
    let mut events: Vec<Vec<(u32, u32)>> = plan.sessions.iter().map(|s| vec![(0, 0); s.len()]).collect();
    let mut next: Vec<usize> = vec![0; plan.sessions.len()];
    let total: usize = plan.sessions.iter().map(|s| 2 * s.len()).sum();
    for event in 0..total {
        let open: Vec<usize> = (0..next.len()).filter(|&s| next[s] < 2 * plan.sessions[s].len()).collect();
        let s = open[plan.order[event % plan.order.len()] as usize % open.len()];
        let slot = &mut events[s][next[s] / 2];
        if next[s].is_multiple_of(2) {
            slot.0 = event as u32;
        } else {
            slot.1 = event as u32;
        }
        next[s] += 1;
    }
    events
}

/// Reads damaged versions of valid inputs: cut at every position, and with bytes changed. Nothing may panic.
pub fn survives_damage(format: Format, good: &[u8]) {
    let step = (good.len() / 400).max(1);
    for cut in (0..good.len()).step_by(step) {
        let _ = try_reading(format, &good[..cut]);
    }
    for at in (0..good.len()).step_by(step) {
        for byte in [0u8, b'\n', b'"', b'[', b'}', 0xff, good[at].wrapping_add(1)] {
            let mut bad = good.to_vec();
            bad[at] = byte;
            let _ = try_reading(format, &bad);
        }
    }
}

/// The value of a key name that is a number, for short assertions.
pub fn small(value: Value) -> Option<u32> {
    value.as_small()
}

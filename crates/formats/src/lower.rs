//! Histories for formats that know only registers with unsigned numbers.
//!
//! Most research formats have integer keys, integer values and one initial value for all keys. This file
//! decides, once for all of their writers, how a richer history is told in those words so that its verdict
//! does not change, and says what is lost:
//!
//! - keys and values that are not unsigned integers are numbered; a value that is its key's initial value
//!   becomes the format's initial value, and no other value does unless it was that number already;
//! - a transaction of unknown outcome is committed if a committed one read what only it wrote, and is left
//!   out otherwise, which levels.md shows to be without effect on any verdict; where duplicate values leave
//!   open whether it was read, it is left out and the note says that the verdict may change;
//! - inserts and deletes become writes, a delete of nil;
//! - reads whose value nobody learned, and range reads, are left out.

use std::collections::BTreeMap;

use isoscope_history::{Datum, History, Key, OpKind, OpView, Outcome, Txn, Value};
use rustc_hash::FxHashMap;

use crate::WriteError;

/// What a conversion loses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// How often, or `None` for what there is only one of.
    counts: BTreeMap<&'static str, Option<u64>>,
}

impl Losses {
    /// Notes that something of which there are `count` does not survive.
    pub(crate) fn add(&mut self, what: &'static str, count: usize) {
        if count > 0 {
            *self.counts.entry(what).or_default().get_or_insert(0) += count as u64;
        }
    }

    /// Notes that something there is only one of does not survive.
    pub(crate) fn add_whole(&mut self, what: &'static str) {
        self.counts.insert(what, None);
    }

    /// Takes back a loss that a format with more words than numbers does not have.
    pub(crate) fn remove(&mut self, what: &'static str) {
        self.counts.remove(what);
    }

    /// Whether nothing is lost.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// What is lost, in words, and how often where that can be counted: `("annotations dropped", Some(3))`.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Option<u64>)> + '_ {
        self.counts.iter().map(|(&what, &count)| (what, count))
    }

    /// Notes what every format but the native one loses.
    pub(crate) fn note_columns(&mut self, history: &History, events: bool, times: bool) {
        if !events && history.events().is_some() {
            self.add_whole("the real-time order of transactions");
        }
        if !times && history.times().is_some() {
            self.add_whole("the client's times");
        }
        if history.timestamps().is_some() {
            self.add_whole("the database's timestamps");
        }
        self.add("annotations dropped", history.annotations().len());
    }
}

/// The loss that formats with named keys take back.
pub(crate) const KEYS_NUMBERED: &str = "key names replaced by numbers";

/// What becomes of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Committed,
    Aborted,
    LeftOut,
}

/// A history in unsigned numbers; see the module.
pub(crate) struct Numbered<'h> {
    pub(crate) history: &'h History,
    pub(crate) losses: Losses,
    keys: Vec<u64>,
    /// Numbers of values, when they cannot stand for themselves.
    values: Option<FxHashMap<Value, u64>>,
    fates: Vec<Fate>,
}

impl<'h> Numbered<'h> {
    /// The history in numbers. Fails for lists, which no numbering can express.
    pub(crate) fn of(history: &'h History, format: &'static str) -> Result<Numbered<'h>, WriteError> {
        if history.has_lists() {
            return Err(WriteError::Inexpressible { format, what: "lists (append, list reads)" });
        }
        let mut losses = Losses::default();
        let keys = number_keys(history, &mut losses);
        let values = number_values(history, &mut losses);
        let (fates, doubts) = fates(history);
        let left_out = fates.iter().filter(|&&fate| fate == Fate::LeftOut).count();
        let unknown = history.txns().filter(|&txn| history.outcome(txn) == Outcome::Unknown).count();
        losses.add("unread transactions of unknown outcome left out", left_out - doubts);
        losses.add(
            "transactions of unknown outcome that may have been read left out: the verdict may change",
            doubts,
        );
        losses.add("read transactions of unknown outcome written as committed", unknown - left_out);
        let numbered = Numbered { history, losses: Losses::default(), keys, values, fates };
        let dropped = numbered.written().flat_map(|txn| history.ops_of(txn)).filter(|op| !is_told(op));
        let (ranges, unknown): (Vec<OpView>, Vec<OpView>) =
            dropped.partition(|op| op.kind == OpKind::RangeRead);
        losses.add("range reads dropped", ranges.len());
        losses.add("reads without a result dropped", unknown.len());
        for (kind, what) in
            [(OpKind::Insert, "inserts written as writes"), (OpKind::Delete, "deletes written as writes")]
        {
            let all = numbered.written().flat_map(|txn| history.ops_of(txn));
            losses.add(what, all.filter(|op| op.kind == kind).count());
        }
        let own = |value: Value| value != Value::NIL && value.as_small() != Some(0);
        let initial = history.keys().filter(|&key| own(history.initial(key))).count();
        losses.add("initial values replaced by the format's own", initial);
        let empty = history.sessions().filter(|&session| history.txn_range(session).is_empty()).count();
        losses.add("sessions without a transaction dropped", empty);
        losses.note_columns(history, false, false);
        Ok(Numbered { losses, ..numbered })
    }

    /// What becomes of a transaction.
    pub(crate) fn fate(&self, txn: Txn) -> Fate {
        self.fates[txn.index()]
    }

    /// The transactions that are not left out.
    pub(crate) fn written(&self) -> impl Iterator<Item = Txn> + '_ {
        self.history.txns().filter(|&txn| self.fate(txn) != Fate::LeftOut)
    }

    /// The operations of a transaction that the format can tell, as (is a write, key, value); value 0 is the
    /// initial one.
    pub(crate) fn ops(&self, txn: Txn) -> impl Iterator<Item = (bool, u64, u64)> + '_ {
        let told = self.history.ops_of(txn).filter(is_told);
        told.map(|op| (op.kind.is_write(), self.key(op.key), self.value(op.key, op.value)))
    }

    /// The number of a key.
    pub(crate) fn key(&self, key: Key) -> u64 {
        self.keys[key.index()]
    }

    fn value(&self, key: Key, value: Value) -> u64 {
        match &self.values {
            None => natural(self.history, value).unwrap_or(0),
            Some(_) if self.history.is_initial(key, value) => 0,
            Some(numbers) => numbers.get(&value).copied().unwrap_or(0),
        }
    }
}

fn is_told(op: &OpView) -> bool {
    op.kind != OpKind::RangeRead && (op.kind.is_write() || op.value != Value::UNKNOWN)
}

/// A value that is an unsigned integer.
pub(crate) fn natural(history: &History, value: Value) -> Option<u64> {
    match history.datum(value) {
        Datum::Int(n) => u64::try_from(n).ok(),
        Datum::Nat(n) => Some(n),
        _ => None,
    }
}

fn number_keys(history: &History, losses: &mut Losses) -> Vec<u64> {
    let names: Option<Vec<u64>> = history.keys().map(|key| natural(history, history.key_name(key))).collect();
    names.unwrap_or_else(|| {
        losses.add(KEYS_NUMBERED, history.key_count());
        (0..history.key_count() as u64).collect()
    })
}

/// Numbers for values, unless every value can stand for itself: it is an unsigned integer, and it is 0
/// only where 0 is the key's initial value.
fn number_values(history: &History, losses: &mut Losses) -> Option<FxHashMap<Value, u64>> {
    let told = || history.txns().flat_map(|txn| history.ops_of(txn)).filter(is_told);
    let plain = told().all(|op| match natural(history, op.value) {
        Some(0) => history.is_initial(op.key, op.value),
        Some(_) => !history.is_initial(op.key, op.value),
        None => false,
    });
    if plain {
        return None;
    }
    let mut numbers = FxHashMap::default();
    for op in told().filter(|op| !history.is_initial(op.key, op.value)) {
        let next = numbers.len() as u64 + 1;
        numbers.entry(op.value).or_insert(next);
    }
    losses.add("values replaced by numbers", numbers.len());
    Some(numbers)
}

/// What becomes of each transaction, and how many unknown ones may or may not have been read.
///
/// An unknown transaction committed if one that committed read what only it can have written; and then what
/// *it* read counts too. Where a value has several possible writers, nobody can tell: if all of them are
/// unknown the first is taken, otherwise none, and the others are counted.
fn fates(history: &History) -> (Vec<Fate>, usize) {
    let mut fates: Vec<Fate> = history
        .txns()
        .map(|txn| match history.outcome(txn) {
            Outcome::Committed => Fate::Committed,
            Outcome::Aborted => Fate::Aborted,
            Outcome::Unknown => Fate::LeftOut,
        })
        .collect();
    let unknown = |txn: &Txn| history.outcome(*txn) == Outcome::Unknown;
    if !history.txns().any(|txn| unknown(&txn)) {
        return (fates, 0);
    }
    let mut writers: FxHashMap<(Key, Value), Vec<Txn>> = FxHashMap::default();
    for txn in history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted) {
        for op in history.ops_of(txn).filter(|op| op.kind.is_write()) {
            writers.entry((op.key, op.value)).or_default().push(txn);
        }
    }
    let mut doubtful = vec![false; fates.len()];
    let mut work: Vec<Txn> = history.txns().filter(|txn| fates[txn.index()] == Fate::Committed).collect();
    while let Some(reader) = work.pop() {
        for op in history.ops_of(reader).filter(|op| op.external) {
            let candidates = writers.get(&(op.key, op.value)).map_or(&[][..], Vec::as_slice);
            let certain = history.is_initial(op.key, op.value) || candidates.iter().any(|txn| !unknown(txn));
            let chosen = candidates.iter().position(|&txn| txn != reader).filter(|_| !certain);
            for (i, writer) in candidates.iter().enumerate().filter(|(_, txn)| unknown(txn)) {
                if Some(i) != chosen {
                    doubtful[writer.index()] = true;
                } else if fates[writer.index()] == Fate::LeftOut {
                    fates[writer.index()] = Fate::Committed;
                    work.push(*writer);
                }
            }
        }
    }
    let left = |txn: &Txn| doubtful[txn.index()] && fates[txn.index()] == Fate::LeftOut;
    let doubts = history.txns().filter(left).count();
    (fates, doubts)
}

/// Numbers for sessions: their own names if those are distinct unsigned integers of 63 bits.
pub(crate) fn session_numbers(history: &History, losses: &mut Losses) -> Vec<u64> {
    let fits = |n: &u64| i64::try_from(*n).is_ok();
    let names =
        history.sessions().map(|session| natural(history, history.session_name(session)).filter(fits));
    let names: Option<Vec<u64>> = names.collect();
    names.filter(|names| are_distinct(names.clone())).unwrap_or_else(|| {
        losses.add("session names replaced by numbers", history.session_count());
        (0..history.session_count() as u64).collect()
    })
}

/// Whether no two are equal.
pub(crate) fn are_distinct<T: Ord>(mut all: Vec<T>) -> bool {
    all.sort_unstable();
    all.windows(2).all(|pair| pair[0] != pair[1])
}

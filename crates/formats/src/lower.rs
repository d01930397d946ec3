//! Converts histories for formats that have only registers with unsigned numbers.
//!
//! Most research formats have integer keys, integer values and one initial value for all keys. This file
//! defines, once for all their writers, how to express a richer history so that its verdict does not change,
//! and reports what is lost:
//!
//! - Keys and values that are not unsigned integers are numbered. A value that is its key's initial value
//!   becomes the format's initial value. No other value does, unless it was that number already.
//! - A transaction of unknown outcome is written as committed if a committed transaction read a value that
//!   only it wrote. Otherwise it is left out, which does not change any verdict (docs/levels.md, "Unknown
//!   outcomes"). If duplicate values leave open whether it was read, it is left out and the note says that
//!   the verdict may change.
//! - Inserts and deletes become writes, a delete a write of nil.
//! - Reads of unknown results, and range reads, are left out.

use std::collections::BTreeMap;

use isoscope_history::{Datum, History, Key, OpKind, OpView, Outcome, Txn, Value};
use rustc_hash::FxHashMap;

use crate::WriteError;

/// The information that a conversion loses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// The number of occurrences, or `None` if it cannot be counted.
    counts: BTreeMap<&'static str, Option<u64>>,
}

impl Losses {
    /// Records the loss of `count` items.
    pub(crate) fn add(&mut self, what: &'static str, count: usize) {
        if count > 0 {
            *self.counts.entry(what).or_default().get_or_insert(0) += count as u64;
        }
    }

    /// Records a loss that cannot be counted.
    pub(crate) fn add_whole(&mut self, what: &'static str) {
        self.counts.insert(what, None);
    }

    /// Removes a loss that does not apply to a format that can express more than numbers.
    pub(crate) fn remove(&mut self, what: &'static str) {
        self.counts.remove(what);
    }

    /// Whether nothing is lost.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The losses in words, with their counts if they can be counted: `("annotations dropped", Some(3))`.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Option<u64>)> + '_ {
        self.counts.iter().map(|(&what, &count)| (what, count))
    }

    /// Records the losses of every format except the native one.
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

/// The loss that formats with named keys remove.
pub(crate) const KEYS_NUMBERED: &str = "key names replaced by numbers";

/// How a transaction is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Committed,
    Aborted,
    LeftOut,
}

/// A history in unsigned numbers; see the module documentation.
pub(crate) struct Numbered<'h> {
    pub(crate) history: &'h History,
    pub(crate) losses: Losses,
    keys: Vec<u64>,
    /// Numbers of values, if the values themselves cannot be used.
    values: Option<FxHashMap<Value, u64>>,
    fates: Vec<Fate>,
}

impl<'h> Numbered<'h> {
    /// Converts a history to numbers. Fails for lists, which cannot be expressed by numbers.
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
        let dropped = numbered.written().flat_map(|txn| history.ops_of(txn)).filter(|op| !is_expressible(op));
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

    /// How a transaction is written.
    pub(crate) fn fate(&self, txn: Txn) -> Fate {
        self.fates[txn.index()]
    }

    /// The transactions that are not left out.
    pub(crate) fn written(&self) -> impl Iterator<Item = Txn> + '_ {
        self.history.txns().filter(|&txn| self.fate(txn) != Fate::LeftOut)
    }

    /// The operations of a transaction that the format can express, as (is a write, key, value). Value 0 is
    /// the initial value.
    pub(crate) fn ops(&self, txn: Txn) -> impl Iterator<Item = (bool, u64, u64)> + '_ {
        let expressible = self.history.ops_of(txn).filter(is_expressible);
        expressible.map(|op| (op.kind.is_write(), self.key(op.key), self.value(op.key, op.value)))
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

fn is_expressible(op: &OpView) -> bool {
    op.kind != OpKind::RangeRead && (op.kind.is_write() || op.value != Value::UNKNOWN)
}

/// The integer, if the value is an unsigned integer.
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

/// Numbers for values; `None` if every value can be used as it is: it is an unsigned integer, and it is 0
/// only if 0 is the key's initial value.
fn number_values(history: &History, losses: &mut Losses) -> Option<FxHashMap<Value, u64>> {
    let expressible = || history.txns().flat_map(|txn| history.ops_of(txn)).filter(is_expressible);
    let plain = expressible().all(|op| match natural(history, op.value) {
        Some(0) => history.is_initial(op.key, op.value),
        Some(_) => !history.is_initial(op.key, op.value),
        None => false,
    });
    if plain {
        return None;
    }
    let mut numbers = FxHashMap::default();
    for op in expressible().filter(|op| !history.is_initial(op.key, op.value)) {
        let next = numbers.len() as u64 + 1;
        numbers.entry(op.value).or_insert(next);
    }
    losses.add("values replaced by numbers", numbers.len());
    Some(numbers)
}

/// How each transaction is written, and the number of unknown ones that may or may not have been read.
///
/// An unknown transaction committed if a committed transaction read a value that only it can have written.
/// Then its own reads count too. If a value has several possible writers, its writer is not determined: if
/// all of them are unknown, the first is taken; otherwise none is taken, and the others are counted.
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

/// Numbers for sessions: their own names, if those are distinct unsigned integers of 63 bits.
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

/// Whether all elements are distinct.
pub(crate) fn are_distinct<T: Ord>(mut all: Vec<T>) -> bool {
    all.sort_unstable();
    all.windows(2).all(|pair| pair[0] != pair[1])
}

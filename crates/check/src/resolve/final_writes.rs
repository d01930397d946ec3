//! Who wrote this value to this key? A hash table of all final writes of transactions that did not abort.
//!
//! Every key has a region of its own, half as large again as it has writers, so an entry needs only the value
//! and the transaction: eight bytes, found with one probe into a region that the key's place in the table of
//! writers already fixes. Threads fill the table together; where an entry lands in its cluster depends on who
//! came first, what a lookup finds does not.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use isoscope_history::{History, Key, Outcome, Txn, Value};
use rayon::prelude::*;

const EMPTY: u64 = u64::MAX;

/// The final writes of a value to a key by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writers {
    None,
    One(Txn),
    Several,
}

pub(crate) struct FinalWrites<'h> {
    history: &'h History,
    slots: Vec<AtomicU64>,
}

impl<'h> FinalWrites<'h> {
    pub(crate) fn new(history: &'h History) -> Self {
        let size = region_start(history.writer_count(), history.key_count());
        let slots = (0..size).into_par_iter().map(|_| AtomicU64::new(EMPTY)).collect();
        let table = FinalWrites { history, slots };
        batches(history, 0..history.txn_count() as u32).into_par_iter().for_each(|batch| table.fill(batch));
        table
    }

    fn fill(&self, txns: Range<u32>) {
        let last_writes = |txn| self.history.ops_of(txn).filter(|op| op.kind.is_write() && op.last_write);
        let txns = txns.map(Txn).filter(|&txn| self.history.outcome(txn) != Outcome::Aborted);
        txns.clone().for_each(|txn| last_writes(txn).for_each(|op| self.touch(op.key, op.value)));
        txns.for_each(|txn| last_writes(txn).for_each(|op| self.insert(op.key, op.value, txn)));
    }

    /// Brings the place of a value into the cache. The table is far larger than any cache and is visited at
    /// random: asking for many places at once and using them afterwards lets the misses overlap.
    #[inline]
    pub(crate) fn touch(&self, key: Key, value: Value) {
        if let Some(slot) = self.probe(key, value).next() {
            std::hint::black_box(self.slots[slot].load(Ordering::Relaxed));
        }
    }

    fn insert(&self, key: Key, value: Value, txn: Txn) {
        let entry = u64::from(value.bits()) << 32 | u64::from(txn.0);
        for slot in self.probe(key, value) {
            let seen = self.slots[slot].compare_exchange(EMPTY, entry, Ordering::Relaxed, Ordering::Relaxed);
            if seen.is_ok() {
                return;
            }
        }
    }

    /// Who else wrote a value to a key, as its last write.
    #[inline]
    pub(crate) fn find(&self, key: Key, value: Value, reader: Txn) -> Writers {
        let mut found = Writers::None;
        for slot in self.probe(key, value) {
            let entry = self.slots[slot].load(Ordering::Relaxed);
            if entry == EMPTY {
                break;
            }
            let (seen, txn) = ((entry >> 32) as u32, Txn(entry as u32));
            if seen == value.bits() && txn != reader {
                if found != Writers::None {
                    return Writers::Several;
                }
                found = Writers::One(txn);
            }
        }
        found
    }

    /// The slots where a value of a key may be, in the order to look at them.
    #[inline]
    fn probe(&self, key: Key, value: Value) -> impl Iterator<Item = usize> + use<> {
        let Range { start, end } = self.region(key);
        let hash = value.bits().wrapping_mul(0x9E37_79B1);
        let first = start + ((u64::from(hash) * (end - start) as u64) >> 32) as usize;
        (first..end).chain(start..first)
    }

    #[inline]
    fn region(&self, key: Key) -> Range<usize> {
        let writers = self.history.writer_range(key);
        region_start(writers.start, key.index())..region_start(writers.end, key.index() + 1)
    }
}

/// Cuts transactions into batches of about a hundred operations, as many as a cache holds table entries for
/// with room to spare.
pub(crate) fn batches(history: &History, txns: Range<u32>) -> Vec<Range<u32>> {
    let mut batches = Vec::new();
    let mut start = txns.start;
    for txn in txns.clone() {
        let ops = history.op_range(Txn(txn)).end - history.op_range(Txn(start)).start;
        if ops >= 128 || txn + 1 == txns.end {
            batches.push(start..txn + 1);
            start = txn + 1;
        }
    }
    batches
}

/// Where the region of a key begins, given how many writers the keys before it have. One slot of every
/// region stays empty, so every search ends.
#[inline]
fn region_start(writers: usize, keys: usize) -> usize {
    writers + writers / 2 + keys
}

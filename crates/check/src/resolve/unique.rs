//! The writer of each value, where no value is written twice.
//!
//! Recorders number what they write, so that every value identifies its writer. Then one array, from values to final writes,
//! answers every read, and neighbours in a history are neighbours in the array. Whether a value is written twice, by two
//! transactions or to two keys, is not known beforehand. Every final write is stored at the place of its value; a later one replaces
//! an earlier one. If every write is found where it was stored, no value was written twice.
//!
//! Otherwise, and where values are not numbers or are too large, `join` does the work.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use isoscope_history::{History, Key, OpView, Txn, Value};
use rayon::prelude::*;

use super::Link;
use super::join::{is_read, is_write, not_aborted};

/// The final writes by value. One place more than there are values, of which nothing is ever written, stands for all
/// values beyond.
pub(super) struct Writers {
    places: Vec<AtomicU64>,
    /// Whether a value was found to be written twice.
    repeated: AtomicBool,
}

/// No transaction wrote it: none has this number.
const UNWRITTEN: u64 = u64::MAX;

impl Writers {
    /// Puts the final writes in their places, if there are not many more places than operations.
    pub(super) fn of(history: &History, pieces: &[Range<u32>]) -> Option<Writers> {
        let highest = history.highest_written() as usize;
        if highest > history.op_count() {
            return None;
        }
        let places = (0..highest + 2).into_par_iter().map(|_| AtomicU64::new(UNWRITTEN)).collect();
        let writers = Writers { places, repeated: AtomicBool::new(false) };
        pieces.par_iter().for_each(|txns| {
            for txn in not_aborted(history, txns.clone()) {
                for op in history.ops_of(txn).filter(|&op| is_write(op)) {
                    writers.place(op.value).store(pack(op.key, txn), Ordering::Relaxed);
                }
            }
        });
        Some(writers)
    }

    /// Whether all that was handed out is right.
    pub(super) fn are_unique(self) -> bool {
        !self.repeated.into_inner()
    }

    #[inline]
    fn place(&self, value: Value) -> &AtomicU64 {
        &self.places[(value.bits() as usize).min(self.places.len() - 1)]
    }

    /// Gives the operations of a piece their links: external reads get the transaction they read from, if a final write explains
    /// them, and final writes that they are such. False when a value is written twice, here or elsewhere: then all
    /// links are worth nothing.
    pub(super) fn hand_out(&self, history: &History, txns: Range<u32>, links: &mut [Link]) -> bool {
        let first = history.op_range(Txn(txns.start)).start;
        let mut writers = Vec::new();
        for txn in not_aborted(history, txns) {
            // All are asked for before any is looked at: so the misses overlap, whatever branches on the answers.
            writers.clear();
            writers.extend(history.ops_of(txn).map(|op| self.place(op.value).load(Ordering::Relaxed)));
            let mut found = true;
            for (op, &writer) in history.ops_of(txn).zip(&writers) {
                found &= !is_write(op) | (writer == pack(op.key, txn));
                let other = if op.last_write { Link::WRITE } else { Link::NOTHING };
                let read = link(op, txn, writer, history.initial(op.key));
                links[op.id.index() - first] = if is_read(op) { read } else { other };
            }
            if !found || self.repeated.load(Ordering::Relaxed) {
                self.repeated.store(true, Ordering::Relaxed);
                return false;
            }
        }
        true
    }
}

/// The transaction a read reads from, if its value has at most one writer.
#[allow(clippy::needless_bitwise_bool, reason = "whatever branches here is guessed wrong half the time")]
#[inline]
fn link(read: OpView, reader: Txn, writer: u64, initial: Value) -> Link {
    let (key, txn) = ((writer >> 32) as u32, writer as u32);
    let by_another = (key == read.key.0) & (txn != reader.0) & (writer != UNWRITTEN);
    let is_initial = (read.value == initial) & (read.value != Value::UNKNOWN);
    match (by_another, is_initial) {
        (true, false) => Link::from(Txn(txn)),
        (true, true) => Link::AMBIGUOUS,
        (false, true) => Link::INITIAL,
        (false, false) => Link::NOTHING,
    }
}

fn pack(key: Key, txn: Txn) -> u64 {
    u64::from(key.0) << 32 | u64::from(txn.0)
}

#[cfg(test)]
mod tests {
    use isoscope_levels::Level;
    use isoscope_workload::{Duplication, Spec, run};

    use super::*;
    use crate::resolve::{Part, abreast, join, pieces, split};

    /// Where no value is written twice, both ways to find writers agree; where one is, it is noticed.
    #[test]
    fn unique_values_are_found_as_others_are() {
        let some = Some(Duplication { keys: 0.3, domain: 20, theta: 0.5 });
        for (seed, duplication) in (0..40).flat_map(|seed| [(seed, None), (seed, some)]) {
            let level = Level::ReadCommitted;
            let spec = Spec { keys: 9, level, duplication, abort_rate: 0.1, seed, ..Spec::default() };
            let history = run(&spec, &mut |_, _| {}).unwrap();
            let pieces = pieces(&history);
            let writers = Writers::of(&history, &pieces).expect("small numbers");
            let dealt = join::join(&history, &pieces);
            for (txns, dealt) in pieces.into_iter().zip(dealt) {
                let ops = history.op_range(Txn(txns.start)).start..history.op_range(Txn(txns.end - 1)).end;
                let (mut here, mut there) = (vec![Link::NOTHING; ops.len()], vec![Link::NOTHING; ops.len()]);
                dealt.hand_out(&history, txns.clone(), &mut there);
                assert_eq!(writers.hand_out(&history, txns, &mut here), duplication.is_none());
                assert!(duplication.is_some() || here == there, "seed {seed}");
            }
            assert_eq!(writers.are_unique(), duplication.is_none());
        }
    }

    /// Sessions that are long enough are looked at side by side, which changes nothing.
    #[test]
    fn sessions_abreast_get_the_links_they_get_one_by_one() {
        let spec = Spec { sessions: 3, txns_per_session: 1_500, keys: 50, seed: 1, ..Spec::default() };
        let history = run(&spec, &mut |_, _| {}).unwrap();
        let (abreast, pieces) = (abreast(&history), pieces(&history));
        assert!(abreast.len() > 6 && abreast[1].start > abreast[3].start, "{abreast:?}");
        let links = |pieces: &[Range<u32>]| {
            let mut links = vec![Link::NOTHING; history.op_count()];
            let writers = Writers::of(&history, pieces).expect("small numbers");
            for Part { txns, links, .. } in split(&history, pieces, &mut links) {
                assert!(writers.hand_out(&history, txns, links));
            }
            links
        };
        assert!(links(&abreast) == links(&pieces));
    }
}

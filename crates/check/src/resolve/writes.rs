//! The order of writes as PL-1 knows it: from what lists show, be it wrong to stronger levels.
//!
//! The version order of a list is an order of the appends that its lists hold, of which the lists that committed transactions
//! read are beginnings. An append that no list holds may be lost, and is not ordered. To PL-1 it does not matter whether a list
//! ends with its reader's own appends, nor that it holds the appends of two transactions in a mix: that is what PL-1 forbids.
//!
//! An element that no transaction appended, or only aborted ones, is left out of every list: what the others show does not
//! depend on it. A list *counts* if it begins with the initial elements and holds no element more often than it was appended;
//! of any other it is not known which part is right. A key is *readable* when the lists that count are prefixes of each other.
//! The lists of other keys contradict each other; they violate PL-2 and say nothing to PL-1. So one more list never hides what
//! the others show, unless it contradicts them.

use std::cmp::Reverse;

use isoscope_history::{Key, Op, Outcome, Value};
use rustc_hash::FxHashMap;

use super::lists::{ListRead, Listed, Lists, Repeated, VersionEdge};

/// What lists say to PL-1.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes {
    /// Which keys are readable.
    pub(crate) readable: Vec<bool>,
    /// The lists that do not count, in ascending order.
    ignored: Vec<Op>,
    pub(crate) versions: Vec<VersionEdge>,
    pub(crate) repeated: Vec<Repeated>,
}

impl Writes {
    /// Whether a list that a committed transaction read shows the order of writes.
    pub(crate) fn shows(&self, read: Op, key: Key) -> bool {
        self.readable[key.index()] && self.ignored.binary_search(&read).is_err()
    }
}

impl<'h> Lists<'h> {
    /// What lists say to PL-1, unless it is what they say to all levels. In a world, the lists that count and the keys that are
    /// readable are those of the history itself.
    pub(crate) fn writes(
        &self,
        listed: &Listed,
        present: &[bool],
        original: Option<&Writes>,
    ) -> Option<Writes> {
        let by_unknown = |read: &ListRead<'h>| self.history.outcome(read.txn) != Outcome::Committed;
        let is_plain = listed.wrong.is_empty()
            && listed.incompatible.is_empty()
            && listed.repeated.is_empty()
            && !self.reads.iter().any(by_unknown);
        if is_plain && original.is_none() {
            return None;
        }
        let mut by_key: Vec<&ListRead<'h>> = self.reads.iter().filter(|read| !by_unknown(read)).collect();
        by_key.sort_by_key(|read| (read.key, read.op));
        let mut writes = if let Some(Writes { readable, ignored, .. }) = original {
            Writes { readable: readable.clone(), ignored: ignored.clone(), ..Writes::default() }
        } else {
            let ignored = self.reads.iter().filter(|read| !self.counts(read)).map(|read| read.op).collect();
            Writes { readable: vec![false; self.history.key_count()], ignored, ..Writes::default() }
        };
        for reads in by_key.chunk_by(|a, b| a.key == b.key) {
            let key = reads[0].key;
            let count = |read: &&&ListRead<'h>| writes.ignored.binary_search(&read.op).is_err();
            let reads: Vec<(&ListRead<'h>, Vec<Value>)> =
                reads.iter().filter(count).map(|&read| (read, self.appended_in(read))).collect();
            // The first of the longest; one without wrong elements, if there is one.
            let rank = |(read, list): &&(&ListRead<'h>, Vec<Value>)| {
                (list.len(), Reverse(read.whole().len()), Reverse(read.op))
            };
            let Some((longest, whole)) = reads.iter().max_by_key(rank) else { continue };
            if original.is_none() {
                writes.readable[key.index()] = reads.iter().all(|(_, list)| whole.starts_with(list));
            }
            if writes.readable[key.index()] {
                writes.versions.extend(self.versions(longest, present));
                writes.repeated.extend(self.first_repeated(longest));
            }
        }
        Some(writes)
    }

    /// The elements of a list that transactions appended that did not abort.
    fn appended_in(&self, read: &ListRead<'h>) -> Vec<Value> {
        read.whole().iter().copied().filter(|&element| self.times(read.key, element) > 0).collect()
    }

    /// Whether a list begins with the initial elements and holds no element more often than it was appended.
    fn counts(&self, read: &ListRead<'h>) -> bool {
        let mut held: FxHashMap<Value, u32> = FxHashMap::default();
        for element in self.appended_in(read) {
            *held.entry(element).or_default() += 1;
        }
        let too_often = |(&element, &times): (&Value, &u32)| times > self.times(read.key, element);
        read.appended.is_some() && !held.iter().any(too_often)
    }
}

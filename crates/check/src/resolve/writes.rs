//! The order of writes as PL-1 knows it: from what lists show, be it wrong to stronger levels.
//!
//! The version order of a list is an order of the appends that its lists hold, of which the lists that committed transactions
//! read are beginnings. An append that no list holds may be lost, and is not ordered. To PL-1 it does not matter whether a list
//! ends with its reader's own appends, nor that it holds the appends of two transactions in a mix: that is what PL-1 forbids. A
//! key is *readable* when its lists can be such beginnings: they begin with the initial elements, are prefixes of each other, and
//! hold no element more often than it was appended by transactions that did not abort. The lists of other keys contradict each
//! other or the appends; they violate PL-2 and say nothing to PL-1.

use isoscope_history::{Outcome, Value};
use rustc_hash::FxHashMap;

use super::lists::{ListRead, Listed, Lists, Repeated, VersionEdge};

/// What lists say to PL-1.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes {
    /// Which keys are readable.
    pub(crate) readable: Vec<bool>,
    pub(crate) versions: Vec<VersionEdge>,
    pub(crate) repeated: Vec<Repeated>,
}

impl<'h> Lists<'h> {
    /// What lists say to PL-1, unless it is what they say to all levels. In a world, the keys that are readable are those
    /// of the history itself.
    pub(crate) fn writes(
        &self,
        listed: &Listed,
        present: &[bool],
        readable: Option<&[bool]>,
    ) -> Option<Writes> {
        let by_unknown = |read: &ListRead<'h>| self.history.outcome(read.txn) != Outcome::Committed;
        let is_plain = listed.wrong.is_empty()
            && listed.incompatible.is_empty()
            && listed.repeated.is_empty()
            && !self.reads.iter().any(by_unknown);
        if is_plain && readable.is_none() {
            return None;
        }
        let mut by_key: Vec<&ListRead<'h>> = self.reads.iter().filter(|read| !by_unknown(read)).collect();
        by_key.sort_by_key(|read| (read.key, read.op));
        let mut writes = Writes { readable: vec![false; self.history.key_count()], ..Writes::default() };
        for reads in by_key.chunk_by(|a, b| a.key == b.key) {
            let key = reads[0].key;
            let Some(&longest) = reads.iter().rev().max_by_key(|read| read.whole().len()) else { continue };
            let is_readable =
                readable.map_or_else(|| self.is_readable(longest, reads), |readable| readable[key.index()]);
            if is_readable {
                writes.readable[key.index()] = true;
                writes.versions.extend(self.versions(longest, present));
                writes.repeated.extend(self.first_repeated(longest));
            }
        }
        Some(writes)
    }

    /// Whether the lists of a key can be beginnings of one order of appends.
    fn is_readable(&self, longest: &ListRead<'h>, reads: &[&ListRead<'h>]) -> bool {
        let (key, whole) = (longest.key, longest.whole());
        let is_prefix = |read: &&ListRead<'h>| read.appended.is_some_and(|list| whole.starts_with(list));
        let mut held: FxHashMap<Value, u32> = FxHashMap::default();
        for &element in whole {
            *held.entry(element).or_default() += 1;
        }
        reads.iter().all(is_prefix) && held.iter().all(|(&element, &times)| times <= self.times(key, element))
    }
}

//! The versions of all keys.
//!
//! Recent versions are in one queue in commit order. Each links to the previous version of the same key. A
//! version is *folded* when all running and future transactions see it: it leaves the queue and replaces the
//! base of its key. Versions leave in commit order, so the base is always the newest folded version. So
//! memory is bounded by the number of keys and the horizon, not by the length of the run. A read touches one
//! link, the recent end of the queue, and perhaps one base.
//!
//! Invariant: the base of a key is visible to every transaction.

use std::collections::VecDeque;

use isoscope_history::{Key, Value};

use super::visible::Visible;

/// The content of a key after a commit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version {
    /// The commit that created it; 0 for the initial state.
    pub(super) commit: u32,
    /// The register, or the length of the list.
    pub(super) value: Value,
}

#[derive(Debug)]
struct Recent {
    version: Version,
    key: Key,
    /// The number of the key's previous version, counted as in [`Versions::newest`].
    before: u32,
}

/// The versions of all keys; see the module documentation.
#[derive(Debug)]
pub(super) struct Versions {
    base: Vec<Version>,
    recent: VecDeque<Recent>,
    /// The number of folded versions. Version `n`, counting from 1, is folded if `n <= folded`.
    folded: u32,
    /// The number of each key's newest version; 0 if it has only the initial one.
    newest: Vec<u32>,
    /// The length of the queue at which to try folding.
    fold_at: usize,
}

/// The minimal number of versions that makes folding worthwhile.
const FOLD: usize = 1024;

impl Versions {
    /// The initial versions: every register 0, every list empty.
    pub(super) fn new(keys: u32) -> Versions {
        let initial = Version { commit: 0, value: Value::small(0).expect("0 is small") };
        Versions {
            base: vec![initial; keys as usize],
            recent: VecDeque::new(),
            folded: 0,
            newest: vec![0; keys as usize],
            fold_at: FOLD,
        }
    }

    /// Panics unless the key exists.
    #[inline]
    pub(super) fn assert_has(&self, key: Key) {
        assert!(key.index() < self.newest.len(), "{key:?} is none of the store's {} keys", self.newest.len());
    }

    /// The newest visible version of a key.
    #[inline]
    pub(super) fn read(&self, key: Key, visible: Visible) -> Version {
        let mut number = self.newest[key.index()];
        while let Some(recent) = self.recent_at(number) {
            if visible.sees(recent.version.commit) {
                return recent.version;
            }
            number = recent.before;
        }
        let base = self.base[key.index()];
        debug_assert!(visible.sees(base.commit), "version {} of {key:?} was folded too early", base.commit);
        base
    }

    /// The commit that created a key's newest version.
    #[inline]
    pub(super) fn last_commit(&self, key: Key) -> u32 {
        match self.recent_at(self.newest[key.index()]) {
            Some(recent) => recent.version.commit,
            None => self.base[key.index()].commit,
        }
    }

    #[inline]
    fn recent_at(&self, number: u32) -> Option<&Recent> {
        let place = number.checked_sub(self.folded + 1)?;
        Some(&self.recent[place as usize])
    }

    /// Adds a version. Its commit must not be older than any other.
    #[inline]
    pub(super) fn push(&mut self, key: Key, version: Version) {
        debug_assert!(self.recent.back().is_none_or(|last| last.version.commit <= version.commit));
        let number = u64::from(self.folded) + self.recent.len() as u64 + 1;
        assert!(number < u64::from(u32::MAX), "a store takes at most 2^32 - 2 writes");
        let before = std::mem::replace(&mut self.newest[key.index()], number as u32);
        self.recent.push_back(Recent { version, key, before });
    }

    /// Whether [`Versions::fold`] is due.
    #[inline]
    pub(super) fn wants_folding(&self) -> bool {
        self.recent.len() >= self.fold_at
    }

    /// Folds the versions up to a commit that every transaction sees.
    pub(super) fn fold(&mut self, seen_by_all: u32) {
        while let Some(oldest) = self.recent.front()
            && oldest.version.commit <= seen_by_all
        {
            self.base[oldest.key.index()] = oldest.version;
            self.recent.pop_front();
            self.folded += 1;
        }
        self.fold_at = (self.recent.len() * 2).max(FOLD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(commit: u32) -> Version {
        Version { commit, value: Value::small(u64::from(commit) * 10).unwrap() }
    }

    #[test]
    fn folding_does_not_change_reads_that_see_the_folded_versions() {
        let mut versions = Versions::new(3);
        for commit in 1..=20 {
            versions.push(Key(commit % 2), version(commit));
        }
        let read = |versions: &Versions| -> Vec<u32> {
            (10..=22)
                .flat_map(|floor| (0..3).map(move |key| (Key(key), Visible::prefix(floor))))
                .map(|(key, visible)| versions.read(key, visible).commit)
                .collect()
        };
        let before = read(&versions);
        assert_eq!(before[..3], [10, 9, 0]);
        versions.fold(10);
        assert_eq!((versions.folded, versions.recent.len()), (10, 10));
        assert_eq!(read(&versions), before);
        assert_eq!((0..3).map(|key| versions.last_commit(Key(key))).collect::<Vec<_>>(), [20, 19, 0]);
        versions.fold(20);
        assert_eq!((0..3).map(|key| versions.last_commit(Key(key))).collect::<Vec<_>>(), [20, 19, 0]);
    }
}

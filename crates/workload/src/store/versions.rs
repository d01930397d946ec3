//! The versions of all keys.
//!
//! Recent versions stand in one queue in commit order, each linked to the one before it of the same key.
//! A version that every transaction now running or yet to come will see is *folded*: it leaves the queue
//! and becomes the base of its key, in place of the base before. Since versions leave in commit order, the
//! base is always the newest folded version. So memory is bounded by the keys and the horizon, not by the
//! length of the run, and a read touches one link, the warm end of the queue, and perhaps one base.
//!
//! Invariant: the base of a key is visible to everybody.

use std::collections::VecDeque;

use isoscope_history::{Key, Value};

use super::visible::Visible;

/// What a key held after a commit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version {
    /// The commit that made it; 0 for the initial state.
    pub(super) commit: u32,
    /// The register, or the length of the list.
    pub(super) value: Value,
}

#[derive(Debug)]
struct Recent {
    version: Version,
    key: Key,
    /// The place of the key's version before, counted as in [`Versions::newest`].
    before: u32,
}

/// The versions of all keys; see the module.
#[derive(Debug)]
pub(super) struct Versions {
    base: Vec<Version>,
    recent: VecDeque<Recent>,
    /// How many versions were folded. Version number `n`, counting from 1, is folded when `n <= folded`.
    folded: u32,
    /// The number of each key's newest version; 0 when it has only the initial one.
    newest: Vec<u32>,
    /// The length of the queue at which folding is worth trying.
    fold_at: usize,
}

/// Folding fewer versions at once than this would not pay.
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

    /// The newest version of a key that is visible.
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

    /// The commit that made a key's newest version.
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

    /// Adds a version, whose commit is no older than any other's.
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

    /// Folds the versions up to a commit that everybody sees.
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
    fn folding_changes_no_read_that_sees_what_was_folded() {
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

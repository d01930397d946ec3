//! The present writers of every key, session by session.

use std::ops::Range;

use isoscope_history::{Key, Txn};

use super::events::Events;
use super::problem::Problem;

/// See the module.
pub(crate) struct Index {
    writers: Vec<u32>,
    /// The chain of each session's writers of a key, and where they end; they begin where those before end.
    sessions: Vec<(u32, u32)>,
    /// For each key, where its sessions begin.
    keys: Vec<u32>,
}

impl Index {
    pub(crate) fn new(problem: &Problem<'_>, events: &Events) -> Index {
        let history = problem.history;
        let mut index = Index {
            writers: Vec::with_capacity(history.writer_count()),
            sessions: Vec::new(),
            keys: Vec::with_capacity(history.key_count() + 1),
        };
        for key in history.keys() {
            let first = index.sessions.len();
            index.keys.push(first as u32);
            for &Txn(txn) in history.writers(key).iter().filter(|txn| problem.is_present(txn.0)) {
                let chain = events.chain_of(history, events.rules.commit(txn));
                if index.sessions.len() == first || index.sessions[index.sessions.len() - 1].0 != chain {
                    index.sessions.push((chain, 0));
                }
                index.writers.push(txn);
                if let Some(last) = index.sessions.last_mut() {
                    last.1 = index.writers.len() as u32;
                }
            }
        }
        index.keys.push(index.sessions.len() as u32);
        index
    }

    /// The writers of a key.
    #[inline]
    pub(crate) fn writers(&self, key: Key) -> Writers<'_> {
        let sessions = self.keys[key.index()] as usize..self.keys[key.index() + 1] as usize;
        Writers { index: self, sessions: (sessions.start, sessions.end) }
    }
}

/// The writers of one key.
#[derive(Clone, Copy)]
pub(crate) struct Writers<'i> {
    index: &'i Index,
    sessions: (usize, usize),
}

impl<'i> Writers<'i> {
    fn start(self, session: usize) -> usize {
        session.checked_sub(1).map_or(0, |before| self.index.sessions[before].1 as usize)
    }

    /// For each session that writes the key, its chain and its writers in order.
    pub(crate) fn sessions(self) -> impl Iterator<Item = (u32, &'i [u32])> {
        let Writers { index, sessions: (first, end) } = self;
        (first..end).map(move |session| {
            let (chain, to) = index.sessions[session];
            (chain, &index.writers[self.start(session)..to as usize])
        })
    }

    /// All writers.
    pub(crate) fn all(self) -> impl Iterator<Item = u32> + 'i {
        self.index.writers[self.range()].iter().copied()
    }

    fn range(self) -> Range<usize> {
        self.start(self.sessions.0)..self.start(self.sessions.1)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.range().is_empty()
    }

    pub(crate) fn is_single(self) -> bool {
        self.range().len() == 1
    }
}

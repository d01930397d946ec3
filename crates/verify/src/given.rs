//! The premises of evidence: the facts of the history, and in a proof by cases the assumptions above the
//! current case.
//!
//! Assuming the source of a read also assumes that the writer took effect, and with it every transaction that
//! the writer must have read from. Assumptions are taken back to a mark, last first.
//!
//! Cost: constant per fact or assumption, and the operations of each transaction that becomes present.

use isoscope_history::{Key, Op, Txn};
use rustc_hash::{FxHashMap, FxHashSet};

use super::facts::{Facts, Source};
use isoscope_certificate::Node;

/// Facts and assumptions; see the module.
pub(super) struct Given<'a, 'h> {
    pub(super) facts: &'a Facts<'h>,
    present: FxHashSet<Txn>,
    sources: FxHashMap<Op, Node>,
    /// The first transaction wrote the key before the second.
    versions: FxHashSet<(Key, Txn, Txn)>,
    /// The assumptions, latest last.
    assumed: Vec<Assumed>,
}

/// An assumption, with what is needed to undo it.
enum Assumed {
    Present(Txn),
    /// The read, and its previously assumed source.
    Source(Op, Option<Node>),
    Versions(Key, Txn, Txn),
}

impl<'a, 'h> Given<'a, 'h> {
    /// No assumptions.
    pub(super) fn nothing(facts: &'a Facts<'h>) -> Self {
        Given {
            facts,
            present: FxHashSet::default(),
            sources: FxHashMap::default(),
            versions: FxHashSet::default(),
            assumed: Vec::new(),
        }
    }

    pub(super) fn is_present(&self, txn: Txn) -> bool {
        self.facts.is_present(txn) || self.present.contains(&txn)
    }

    /// The source of a read of a present transaction: another transaction or the initial state.
    pub(super) fn source(&self, read: Op) -> Option<Node> {
        match (self.sources.get(&read), self.facts.source(read)) {
            (Some(&node), _) | (None, Source::From(node)) => Some(node),
            _ => None,
        }
    }

    /// Whether the source of a read is assumed.
    pub(super) fn assumes_source(&self, read: Op) -> bool {
        self.sources.contains_key(&read)
    }

    /// Whether one transaction is assumed to have written a key before another.
    pub(super) fn is_overwritten(&self, key: Key, earlier: Txn, later: Txn) -> bool {
        self.versions.contains(&(key, earlier, later))
    }

    /// The current position, for [`Given::forget`].
    pub(super) fn mark(&self) -> usize {
        self.assumed.len()
    }

    pub(super) fn assume_source(&mut self, read: Op, writer: Node) {
        let before = self.sources.insert(read, writer);
        self.assumed.push(Assumed::Source(read, before));
        if let Node::Txn(txn) = writer {
            self.assume_present(txn);
        }
    }

    pub(super) fn assume_versions(&mut self, key: Key, earlier: Txn, later: Txn) {
        if self.versions.insert((key, earlier, later)) {
            self.assumed.push(Assumed::Versions(key, earlier, later));
        }
    }

    fn assume_present(&mut self, txn: Txn) {
        let mut open = vec![txn];
        while let Some(txn) = open.pop() {
            if !self.facts.is_present(txn) && self.present.insert(txn) {
                self.assumed.push(Assumed::Present(txn));
                open.extend(self.facts.known_writers(txn));
            }
        }
    }

    /// Takes back all assumptions since a mark.
    pub(super) fn forget(&mut self, mark: usize) {
        for assumed in self.assumed.drain(mark..).rev() {
            match assumed {
                Assumed::Present(txn) => drop(self.present.remove(&txn)),
                Assumed::Source(read, None) => drop(self.sources.remove(&read)),
                Assumed::Source(read, Some(before)) => drop(self.sources.insert(read, before)),
                Assumed::Versions(key, earlier, later) => drop(self.versions.remove(&(key, earlier, later))),
            }
        }
    }
}

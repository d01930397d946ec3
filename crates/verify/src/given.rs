//! What evidence may lean on: what the history says by itself, and in a proof by cases what is assumed on the
//! way to the case at hand.
//!
//! To assume the source of a read is to assume that the writer took effect, and with it everybody from whom
//! it must have read. Assumptions are taken back in the opposite order, to a mark.
//!
//! Cost: constant for each fact asked for or assumed, and the operations of a transaction that is newly
//! present.

use isoscope_history::{Key, Op, Txn};
use rustc_hash::{FxHashMap, FxHashSet};

use super::facts::{Facts, Source};
use isoscope_certificate::Node;

/// Facts and assumptions; see the module.
pub(super) struct Given<'a, 'h> {
    pub(super) facts: &'a Facts<'h>,
    present: FxHashSet<Txn>,
    sources: FxHashMap<Op, Node>,
    /// The first wrote the key before the second.
    versions: FxHashSet<(Key, Txn, Txn)>,
    /// What was assumed, the last at the end.
    assumed: Vec<Assumed>,
}

/// An assumption, with what it takes to forget it.
enum Assumed {
    Present(Txn),
    /// The read, and what was assumed of it before.
    Source(Op, Option<Node>),
    Versions(Key, Txn, Txn),
}

impl<'a, 'h> Given<'a, 'h> {
    /// The facts alone.
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

    /// Whom a read of a present transaction is from: another one, or the initial state.
    pub(super) fn source(&self, read: Op) -> Option<Node> {
        match (self.sources.get(&read), self.facts.source(read)) {
            (Some(&node), _) | (None, Source::From(node)) => Some(node),
            _ => None,
        }
    }

    /// Whether it is assumed that one transaction wrote a key before another.
    pub(super) fn is_overwritten(&self, key: Key, earlier: Txn, later: Txn) -> bool {
        self.versions.contains(&(key, earlier, later))
    }

    /// A place to return to.
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

    /// Forgets what was assumed since a mark.
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

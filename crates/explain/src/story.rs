//! A story: one sentence that says what happened, and the clauses that prove it.

use std::collections::BTreeSet;

use isoscope_certificate::{Case, Edge, Evidence, Instance, Node, Seen, Why};
use isoscope_history::{History, Key, Op, Txn};
use isoscope_levels::Anomaly;

use crate::words::Words;

/// An anomaly in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// What happened, in a sentence or two.
    pub headline: String,
    /// The steps of the proof. Those of a cycle follow its edges.
    pub clauses: Vec<Clause>,
    /// The wrong read, if there is one.
    pub focus: Option<Op>,
}

/// One step of a proof, and the operations in the history that prove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The step in words: a sentence.
    pub text: String,
    /// The operations it mentions.
    pub ops: Vec<Op>,
    /// 0 for a step of the proof. A greater depth explains the preceding step of a smaller one: the path by which something was
    /// seen, or why an alternative fails.
    pub depth: u8,
}

impl Clause {
    pub(crate) fn new(text: impl Into<String>, ops: Vec<Op>) -> Self {
        Clause { text: text.into(), ops, depth: 0 }
    }

    pub(crate) fn deeper(mut self, by: u8) -> Self {
        self.depth += by;
        self
    }
}

/// An operation to point at, and what to write beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The operation.
    pub op: Op,
    /// A few words: `T7 reads x=2`.
    pub label: String,
}

/// Writes the stories of one history.
pub struct Teller<'h> {
    pub(crate) words: Words<'h>,
}

impl<'h> Teller<'h> {
    /// Chooses the names of the transactions of a history, in linear time plus a sort.
    pub fn new(history: &'h History) -> Self {
        Teller { words: Words::new(history) }
    }

    /// Calls the transactions of a history by the given names, one for each: those that they have in another history.
    pub fn with_names(history: &'h History, names: Vec<String>) -> Self {
        Teller { words: Words::with_names(history, names) }
    }

    /// The story of one occurrence of an anomaly.
    pub fn story(&self, anomaly: Anomaly, instance: &Instance) -> Story {
        let clauses = match &instance.evidence {
            Evidence::Cycle(edges) => self.cycle_clauses(edges),
            Evidence::Cases(proof) => self.case_clauses(proof),
            Evidence::Worlds(worlds) => self.world_clauses(worlds),
            Evidence::Read { read, write } => self.read_clauses(anomaly, *read, *write),
            Evidence::Pair { first, second } => self.pair_clauses(*first, *second),
        };
        let headline = self.headline(anomaly, &instance.evidence);
        Story { headline, clauses, focus: focus(&instance.evidence) }
    }

    /// The operations to point at, each once, in the order in which the story mentions them.
    pub fn pointers(&self, story: &Story) -> Vec<Pointer> {
        let ops = once(story.clauses.iter().flat_map(|clause| clause.ops.iter().copied()));
        ops.into_iter().map(|op| Pointer { op, label: self.label(op) }).collect()
    }

    /// All operations of the evidence of an anomaly, each once; nothing is left out.
    pub fn operations(&self, anomaly: Anomaly, evidence: &Evidence) -> Vec<Op> {
        let clauses: Vec<Clause> = match evidence {
            Evidence::Worlds(worlds) => return once(self.world_operations(worlds).into_iter()),
            Evidence::Cycle(edges) => self.all_steps(edges).collect(),
            Evidence::Cases(proof) => {
                let main = proof.main_cycle();
                let others = proof.cycles().map(|(_, cycle)| cycle);
                let steps = std::iter::once(main).chain(others).flat_map(|edges| self.all_steps(edges));
                steps.chain(proof.cases.iter().flat_map(|case| self.alternatives(case))).collect()
            }
            Evidence::Read { read, write } => self.read_clauses(anomaly, *read, *write),
            Evidence::Pair { first, second } => self.pair_clauses(*first, *second),
        };
        once(clauses.into_iter().flat_map(|clause| clause.ops))
    }

    /// The steps of a cycle and of the paths inside them.
    fn all_steps<'e>(&'e self, edges: &'e [Edge]) -> impl Iterator<Item = Clause> + 'e {
        let unfolded = edges.iter().flat_map(|edge| match &edge.why {
            Why::Forced { seen: Seen::Causal(path), .. } => path.as_slice(),
            _ => &[],
        });
        edges.iter().chain(unfolded).map(|edge| self.step(edge))
    }

    /// The edges that the alternatives of a split add, as clauses.
    fn alternatives(&self, case: &Case) -> Vec<Clause> {
        let Case::Split { choice, cases } = case else { return Vec::new() };
        (0..cases.len()).filter_map(|i| self.assumed(choice, i)).map(|edge| self.step(&edge)).collect()
    }

    /// The name of a transaction.
    pub fn txn(&self, txn: Txn) -> String {
        self.words.txn(txn)
    }

    /// The name of a transaction, never shortened.
    pub fn full_txn(&self, txn: Txn) -> String {
        self.words.txn_by(txn, str::to_owned)
    }

    /// The name of a transaction, or of the initial state.
    pub fn node(&self, node: Node) -> String {
        self.words.node(node)
    }

    /// The name of a key.
    pub fn key(&self, key: Key) -> String {
        self.words.key(key)
    }

    /// What an operation does, without its transaction: `reads x=2`.
    pub fn act(&self, op: Op) -> String {
        self.words.present(self.words.of(op).1)
    }

    /// An operation in a few words: `T7 reads x=2`.
    pub fn label(&self, op: Op) -> String {
        let (txn, view) = self.words.of(op);
        format!("{} {}", self.words.txn(txn), self.words.present(view))
    }
}

/// The wrong read: the one that no order explains, the one that forces the first edge of the cycle, or the
/// first that missed a write.
fn focus(evidence: &Evidence) -> Option<Op> {
    let edges: &[Edge] = match evidence.main() {
        Evidence::Read { read, .. } => return Some(*read),
        Evidence::Pair { second, .. } => return Some(*second),
        Evidence::Cycle(edges) => edges,
        Evidence::Cases(proof) => proof.main_cycle(),
        Evidence::Worlds(_) => return None,
    };
    if let Why::Forced { read, .. } = edges.first()?.why {
        return Some(read);
    }
    edges.iter().find_map(|edge| if let Why::Misses { read } = edge.why { Some(read) } else { None })
}

/// Each operation once, at its first occurrence.
fn once(all: impl Iterator<Item = Op>) -> Vec<Op> {
    let mut seen = BTreeSet::new();
    all.filter(|&op| seen.insert(op)).collect()
}

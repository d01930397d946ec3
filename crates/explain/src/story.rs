//! A story: one sentence that says what happened, and the clauses that prove it.

use isoscope_check::{Evidence, Instance};
use isoscope_history::{History, Op, Session, Txn, Value};
use isoscope_levels::Anomaly;

use crate::words::Words;

/// An anomaly as told to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// What happened, in a sentence or two.
    pub headline: String,
    /// The steps of the proof. Those of a cycle follow its edges.
    pub clauses: Vec<Clause>,
}

/// One step of a proof, and the operations in the history that bear it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The step in words: a sentence.
    pub text: String,
    /// The operations it speaks of.
    pub ops: Vec<Op>,
    /// 0 for a step of the proof, 1 for a step of the path that unfolds the step before.
    pub depth: u8,
}

impl Clause {
    pub(crate) fn new(text: impl Into<String>, ops: Vec<Op>) -> Self {
        Clause { text: text.into(), ops, depth: 0 }
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

/// Tells the findings about one history.
pub struct Teller<'h> {
    pub(crate) words: Words<'h>,
}

impl<'h> Teller<'h> {
    /// Learns how the transactions of a history are called, in time linear in their number but for a sort.
    pub fn new(history: &'h History) -> Self {
        Teller { words: Words::new(history) }
    }

    /// One occurrence of an anomaly.
    pub fn story(&self, anomaly: Anomaly, instance: &Instance) -> Story {
        let clauses = match &instance.evidence {
            Evidence::Cycle(edges) => self.cycle_clauses(edges),
            Evidence::Read { read, write } => self.read_clauses(anomaly, *read, *write),
            Evidence::Pair { first, second } => self.pair_clauses(*first, *second),
        };
        Story { headline: self.headline(anomaly, &instance.evidence), clauses }
    }

    /// The operations of a story, each once, in the order in which it speaks of them.
    pub fn pointers(&self, story: &Story) -> Vec<Pointer> {
        let mut ops: Vec<Op> = Vec::new();
        for &op in story.clauses.iter().flat_map(|clause| &clause.ops) {
            if !ops.contains(&op) {
                ops.push(op);
            }
        }
        ops.into_iter().map(|op| Pointer { op, label: self.label(op) }).collect()
    }

    /// What a transaction is called.
    pub fn txn(&self, txn: Txn) -> String {
        self.words.txn(txn)
    }

    /// What a session is called: `session 2`.
    pub fn session(&self, session: Session) -> String {
        self.words.session(session)
    }

    /// A value, shortened.
    pub fn value(&self, value: Value) -> String {
        self.words.value(value)
    }

    /// An operation in a few words: `T7 reads x=2`.
    pub fn label(&self, op: Op) -> String {
        let (txn, view) = self.words.of(op);
        format!("{} {}", self.words.txn(txn), self.words.present(view))
    }
}

//! The proof that a verdict carries, so that it can be checked without trusting the engine.
//!
//! *Holds* carries a [`Witness`]: a commit order, the snapshots, and the chosen writers of ambiguous reads.
//! *Violated* carries anomalies, each with its [`Evidence`]: a read that is wrong in every order, two reads
//! that contradict each other, a cycle of edges, or a [`Proof`] by cases in which every case ends in a cycle.
//! Every edge has a reason ([`Why`]) that can be looked up in the history. The crate `isoscope-verify` checks
//! all this, and shares no code with the engines.

mod file;
mod shape;

pub use file::{Certificate, CertificateError, Conditions, Subject, UnknownOrder, Word};
pub use shape::Dependency;

use std::sync::Arc;

use isoscope_history::{Key, Op, Txn};
use isoscope_levels::{Anomaly, Level};
use serde::{Deserialize, Serialize};

/// A transaction, or the initial state, which counts as a transaction before all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// The transaction that wrote every key's initial value.
    Initial,
    /// A transaction of the history.
    Txn(Txn),
}

impl Node {
    /// The transaction, unless it is the initial state.
    pub fn txn(self) -> Option<Txn> {
        match self {
            Node::Initial => None,
            Node::Txn(txn) => Some(txn),
        }
    }
}

/// One transaction precedes another in every commit order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// The earlier transaction.
    pub from: Node,
    /// The later transaction.
    pub to: Node,
    /// The reason.
    pub why: Why,
}

/// The reason of an edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Why {
    /// `from` is earlier in the same session, or it is the initial state.
    Session,
    /// `to` reads from `from`.
    ReadFrom {
        /// The read, an operation of `to`.
        read: Op,
    },
    /// Two elements of a list that a transaction read: one of `to`'s appends, and before it one of `from`'s.
    Versions {
        /// The read that returned the list.
        read: Op,
        /// The index of `to`'s element in the list.
        index: u32,
    },
    /// A list that a transaction read holds an append of `from` and lacks one of `to`. So `to` appended it
    /// later.
    Missing {
        /// The read that returned the list.
        read: Op,
        /// The append that the list lacks.
        append: Op,
    },
    /// `from` had returned to its client before `to` was invoked.
    RealTime,
    /// `from` and `to` both write the key, `from` first. This is the assumed alternative of a [`Choice`].
    Overwritten {
        /// The key.
        key: Key,
    },
    /// An anti-dependency: `from` read a version of a key that `to` overwrote, immediately or later. The
    /// overwrite is known in three cases: the version is the initial one, it is a list that lacks an append
    /// of `to`, or the writer of the version is known or assumed to precede `to`.
    Misses {
        /// The read, an operation of `from`.
        read: Op,
    },
    /// A third transaction reads a key from `to`, although it must have seen `from`, which writes the same
    /// key. So `to` must have overwritten `from`.
    Forced {
        /// The read, an operation of the third transaction; it reads from `to`.
        read: Op,
        /// Why the third transaction must have seen `from`.
        seen: Seen,
    },
}

/// Why a reader must have seen a transaction: the premise of the level's axiom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Seen {
    /// The reader reads from it, by this operation.
    Read(Op),
    /// It precedes the reader in the same session.
    Session,
    /// A path of session and read-from edges leads from it to the reader.
    Causal(Vec<Edge>),
}

/// The evidence for an anomaly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Evidence {
    /// A read that is wrong in every order.
    Read {
        /// The read.
        read: Op,
        /// The write whose value it returned, if there is one.
        write: Option<Op>,
    },
    /// Two reads of one key that cannot both be right.
    Pair {
        /// The first read.
        first: Op,
        /// The second read.
        second: Op,
    },
    /// A cycle: each edge ends where the next begins, and the last ends where the first begins. If an edge is
    /// forced, the first one is.
    Cycle(Vec<Edge>),
    /// Every way to choose writers and version orders leads to a cycle.
    Cases(Proof),
    /// The level is violated for every possible append behind a list element and every possible outcome.
    Worlds(Worlds),
}

impl Evidence {
    /// The evidence in the world that the anomaly is named after; the evidence itself if there is only one
    /// world.
    pub fn main(&self) -> &Evidence {
        match self {
            Evidence::Worlds(worlds) => {
                let instance = worlds.main().and_then(|finding| finding.instances.first());
                instance.map_or(self, |instance| &instance.evidence)
            }
            _ => self,
        }
    }
}

/// A proof that a level is violated in every world: for every possible append behind a list element, and
/// every possible outcome of a transaction.
///
/// A tree, like a [`Proof`]. An inner node has one child per answer to a [`Question`], and each answer
/// produces another history in which less is open. A leaf shows why the level is violated in the history that
/// the answers above it produce.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worlds {
    /// The nodes. The first is the root, and children follow their parents.
    pub cases: Vec<World>,
}

impl Worlds {
    /// The violation that the proof is named after.
    pub fn main(&self) -> Option<&Finding> {
        self.main_leaf().map(|(_, finding)| finding)
    }

    /// The leaf that the proof is named after, with its number: the last one.
    pub fn main_leaf(&self) -> Option<(usize, &Finding)> {
        self.leaves().next_back()
    }

    /// The leaves with their numbers: the violations in the worlds.
    pub fn leaves(&self) -> impl DoubleEndedIterator<Item = (usize, &Finding)> {
        self.cases.iter().enumerate().filter_map(|(node, case)| match case {
            World::Violated(finding) => Some((node, finding)),
            World::Open { .. } => None,
        })
    }
}

/// A node of [`Worlds`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum World {
    /// The level is violated here; the finding has one instance.
    Violated(Finding),
    /// Every answer to an open question leads to a violation.
    Open {
        /// The question.
        question: Question,
        /// For each answer, in order, the node that refutes it.
        cases: Vec<u32>,
    },
}

/// A question that a history leaves open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// Which append an element of a list is. An answer gives a value of its own to the append, and to the
    /// element in every list of the key with the same prefix.
    Element {
        /// A read that returned the list.
        read: Op,
        /// The index of the element in the list.
        index: u32,
        /// All appends that it may be, the first of each transaction.
        appends: Vec<Op>,
    },
    /// Whether a transaction of unknown outcome took effect. The first answer is that it did.
    Outcome {
        /// The transaction.
        txn: Txn,
    },
}

/// A proof by cases that no choice of writers and version orders satisfies a level.
///
/// A tree. An inner node has one child per alternative of a [`Choice`], one of which must be true. A leaf is
/// a cycle that the level forbids. Its edges may use the assumptions above it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The nodes. The first is the root, and children follow their parents.
    pub cases: Vec<Case>,
}

/// A node of a [`Proof`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Case {
    /// A cycle that the level forbids.
    Cycle(Vec<Edge>),
    /// One of the alternatives of a choice must be true, and every one is refuted.
    Split {
        /// The choice.
        choice: Choice,
        /// For each alternative, in order, the node that refutes it.
        cases: Vec<u32>,
    },
}

/// A case split: every explanation of the history takes one of several alternatives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Choice {
    /// Which write a read returned. An alternative gives the read this source, and the edge
    /// [`Why::ReadFrom`]. If the outcome of the writer is unknown, the alternative also assumes that it
    /// committed.
    Source {
        /// The read.
        read: Op,
        /// All its possible writers, the initial state first.
        writers: Vec<Node>,
    },
    /// Which of two writers of a key was first. The first alternative gives the edge [`Why::Overwritten`]
    /// from `first` to `second`, the second alternative the reverse edge.
    Versions {
        /// The key.
        key: Key,
        /// One writer.
        first: Txn,
        /// The other.
        second: Txn,
    },
}

/// The order that an anomaly contradicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Against {
    /// The causal order: session order and read-from alone.
    Causal,
    /// The commit order: it also takes edges forced by an axiom or by version order.
    Commit,
}

/// One occurrence of an anomaly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// The evidence.
    pub evidence: Evidence,
    /// The strongly connected component that it lies in, numbered from 0 per level. `None` for anomalies
    /// inside a transaction.
    pub component: Option<u32>,
}

/// What a cycle needs besides reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Through {
    /// Nothing.
    #[default]
    Dependencies,
    /// Session order.
    Sessions,
    /// Real-time order.
    RealTime,
}

/// All occurrences of one anomaly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The anomaly.
    pub anomaly: Anomaly,
    /// The order it contradicts, for anomalies that exist in both forms.
    pub against: Option<Against>,
    /// What its cycles need besides reads and writes.
    pub through: Through,
    /// The number of occurrences.
    pub count: u64,
    /// Whether there may be more, because the search stopped early.
    pub at_least: bool,
    /// The number of strongly connected components they lie in.
    pub components: u64,
    /// Some occurrences: the shortest evidence first, and one of each component before a second of any.
    pub instances: Vec<Instance>,
}

/// The proof that a level holds.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// The commit order of exactly the transactions that took effect, if the level needs one.
    pub order: Option<Arc<[Txn]>>,
    /// For prefix and snapshot isolation: for each transaction of the order, how many of the first
    /// transactions its snapshot contains. It contains no other.
    pub snapshots: Option<Arc<[u32]>>,
    /// The chosen writer of each read that has several possible writers, by operation. Empty if the order
    /// determines the writers: at levels where a transaction sees all transactions before it, or a snapshot.
    pub sources: Arc<[(Op, Node)]>,
}

impl Witness {
    /// A witness that needs only a commit order.
    pub fn order(order: Arc<[Txn]>) -> Witness {
        Witness { order: Some(order), ..Witness::default() }
    }
}

/// The verdict on one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The history satisfies the level.
    Holds(Witness),
    /// The history violates the level.
    Violated(Vec<Finding>),
    /// The level could not be decided.
    Unknown(Unknown),
}

/// The reason why a level could not be decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No read of a transaction that took effect can be related to a write: there are no reads, or no write
    /// took effect and every read returned the initial value.
    NothingToCheck,
    /// Reads have several possible writers, with more combinations than the checker tries. The combinations
    /// are of appends behind list elements, or for some histories at cut isolation of unknown outcomes
    /// (`cut.rs`).
    Ambiguous {
        /// The number of such reads.
        reads: u64,
        /// The first such read.
        first: Op,
    },
    /// The engines do not support some operations: range reads, and keys used both as a register and as a
    /// list.
    Unsupported {
        /// The number of such operations.
        operations: u64,
        /// The first such operation.
        first: Op,
    },
    /// A limit was reached.
    Limit(Limit),
    /// The verifier refuted the verdict, for this reason. This is a bug of isoscope.
    Refuted(String),
}

/// A limit that ended a search without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The time limit.
    Time,
    /// The memory limit.
    Memory,
    /// The check was interrupted.
    Interrupt,
    /// The search found that no order exists, but the proof has too many cases to write down.
    Proof,
}

/// A level and its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The level.
    pub level: Level,
    /// The verdict.
    pub verdict: Verdict,
    /// The weaker level whose violation implies this one, if this level was not checked itself.
    pub implied_by: Option<Level>,
}

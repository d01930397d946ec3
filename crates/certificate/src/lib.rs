//! What a verdict carries so that nobody has to believe it.
//!
//! *Holds* comes with a [`Witness`]: a commit order, the snapshots, and the writers chosen for reads that have
//! several. *Violated* comes with anomalies, and each of those with its [`Evidence`]: a read that no order can
//! mend, two reads that contradict each other, a cycle of edges of which every one has a reason ([`Why`]) that can
//! be looked up in the history, or a [`Proof`] by cases, every one of which ends in such a cycle. `verify` looks
//! them up, and shares no code with the engines.

mod file;
mod shape;

pub use file::{Certificate, CertificateError, Conditions, Subject, UnknownOrder, Word};
pub use shape::Dependency;

use std::sync::Arc;

use isoscope_history::{Key, Op, Txn};
use isoscope_levels::{Anomaly, Level};
use serde::{Deserialize, Serialize};

/// A transaction, or the initial state, which is the transaction before all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// The transaction that wrote every key's initial value.
    Initial,
    /// A transaction of the history.
    Txn(Txn),
}

/// One transaction comes before another in every commit order.
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
    /// `to` reads from `from`: the read, an operation of `to`.
    ReadFrom {
        /// The read.
        read: Op,
    },
    /// Two neighbours in a list that somebody read: the last element of `from`'s appends and the first of
    /// `to`'s.
    Versions {
        /// The read that returned the list.
        read: Op,
        /// Where in the list `to`'s element is.
        index: u32,
    },
    /// A list that somebody read ends with an element of `from` and does not hold one that `to` appended: so
    /// it was appended later.
    Missing {
        /// The read that returned the list.
        read: Op,
        /// The append that is not in it.
        append: Op,
    },
    /// `from` had returned to its client before `to` was invoked.
    RealTime,
    /// `from` and `to` both write the key, `from` first: the alternative of a [`Choice`] that is assumed here.
    Overwritten {
        /// The key.
        key: Key,
    },
    /// `from` read a version of a key that `to` overwrote, at once or later (an anti-dependency). That it did is
    /// known when the version is the initial one, when a list that was read does not hold what `to` appended, and
    /// where it is assumed that the writer of the version comes before `to`.
    Misses {
        /// The read, an operation of `from`.
        read: Op,
    },
    /// Forced: a third transaction reads a key from `to` although it must have seen `from`, which writes the
    /// same key. It can only be right if `to` overwrote `from`.
    Forced {
        /// The read, an operation of the third transaction; it reads from `to`.
        read: Op,
        /// Why the third transaction must have seen `from`.
        seen: Seen,
    },
}

/// Why a reader must have seen a transaction: the left-hand side of the level's axiom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Seen {
    /// It reads from it: the read, an operation of the reader.
    Read(Op),
    /// It is earlier in the reader's session.
    Session,
    /// A path of session and read-from edges leads from it to the reader.
    Causal(Vec<Edge>),
}

/// What shows that an anomaly is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Evidence {
    /// A read that is wrong whatever the order, and the write it returned, if anybody wrote it.
    Read {
        /// The read.
        read: Op,
        /// The write whose value it returned.
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
    /// Whoever appended what lists hold, and whoever took effect, the level is violated.
    Worlds(Worlds),
}

impl Evidence {
    /// What shows an anomaly in the world that it is named after; this itself where there is one world.
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

/// A proof that a level is violated whatever is true of what only lists and outcomes leave open.
///
/// A tree, like a [`Proof`]: inner nodes go through the answers to a [`Question`], and each answer makes another history of
/// the one at hand, in which less is open. Leaves say why the level is violated in the history that the answers on the
/// way from the root have made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worlds {
    /// The nodes; the first is the root, and children stand after their parents.
    pub cases: Vec<World>,
}

impl Worlds {
    /// The violation that the whole is named after.
    pub fn main(&self) -> Option<&Finding> {
        self.main_leaf().map(|(_, finding)| finding)
    }

    /// The leaf that the whole is named after, with its number: the last that shows a cycle, or where none does the last. A read
    /// that is wrong in one world often says no more than that this world is not the real one.
    pub fn main_leaf(&self) -> Option<(usize, &Finding)> {
        let is_cycle =
            |instance: &Instance| matches!(instance.evidence, Evidence::Cycle(_) | Evidence::Cases(_));
        let leaves = || {
            self.cases.iter().enumerate().rev().filter_map(|(node, case)| match case {
                World::Violated(finding) => Some((node, finding)),
                World::Open { .. } => None,
            })
        };
        leaves().find(|(_, finding)| finding.instances.iter().any(is_cycle)).or_else(|| leaves().next())
    }

    /// How many leaves there are.
    pub fn leaves(&self) -> usize {
        self.cases.iter().filter(|case| !matches!(case, World::Open { .. })).count()
    }
}

/// A node of [`Worlds`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum World {
    /// The level is violated here, with one instance to show it.
    Violated(Finding),
    /// A question is open, and no answer helps.
    Open {
        /// The question.
        question: Question,
        /// For each of its answers, in their order, the node that says why it is none.
        cases: Vec<u32>,
    },
}

/// Something that a history leaves open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// Which append an element of a list is. With an answer, the append and the element, wherever it is at this place of a list
    /// of this key, are set apart from all others of the same value.
    Element {
        /// A read that returned the list.
        read: Op,
        /// Where in the list the element is.
        index: u32,
        /// All appends that it may be.
        appends: Vec<Op>,
    },
    /// Whether a transaction of unknown outcome took effect: it did, or it did not.
    Outcome {
        /// The transaction.
        txn: Txn,
    },
}

/// A proof by cases that no choice of writers and version orders satisfies a level.
///
/// A tree: inner nodes distinguish the alternatives of a [`Choice`], one of which must be true, and leaves are cycles
/// that the level forbids. The edges of a cycle may use what was assumed on the way from the root to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The nodes; the first is the root, and children stand after their parents.
    pub cases: Vec<Case>,
}

/// A node of a [`Proof`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Case {
    /// A cycle that the level forbids.
    Cycle(Vec<Edge>),
    /// One of the alternatives of a choice must be true, and none can be.
    Split {
        /// The choice.
        choice: Choice,
        /// For each of its alternatives, in their order, the node that refutes it.
        cases: Vec<u32>,
    },
}

/// A question that every explanation of a history answers in one of several ways.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Choice {
    /// Which write a read returned. To assume an alternative gives the read this source, and the edge
    /// [`Why::ReadFrom`]; if the writer's outcome is unknown, it is assumed to have committed.
    Source {
        /// The read.
        read: Op,
        /// All its possible writers, the initial state first.
        writers: Vec<Node>,
    },
    /// Which of two writers of a key was first. To assume the first alternative gives the edge
    /// [`Why::Overwritten`] from `first` to `second`, and to assume the second, the one from `second` to `first`.
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
    /// The causal order: sessions and reads-from alone.
    Causal,
    /// The commit order: other forced edges are needed to show it.
    Commit,
}

/// One occurrence of an anomaly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// What shows it.
    pub evidence: Evidence,
    /// Which strongly connected component it lies in, numbered from 0 for each level. Anomalies inside
    /// transactions have none.
    pub component: Option<u32>,
}

/// What a cycle needs besides reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Through {
    /// Nothing.
    #[default]
    Dependencies,
    /// The order of a session.
    Sessions,
    /// Real time.
    RealTime,
}

/// All occurrences of one anomaly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// What it is.
    pub anomaly: Anomaly,
    /// The order it contradicts, for the anomalies that come in both forms.
    pub against: Option<Against>,
    /// What its cycles need besides reads and writes.
    pub through: Through,
    /// How many there are.
    pub count: u64,
    /// Whether there may be more: the search for others ended early.
    pub at_least: bool,
    /// In how many strongly connected components they lie.
    pub components: u64,
    /// Some of them, the shortest evidence first and one of each component before the second of any.
    pub instances: Vec<Instance>,
}

/// What shows that a level holds.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// The commit order, of exactly the transactions that took effect, where the level's definition asks for one.
    pub order: Option<Arc<[Txn]>>,
    /// For prefix and snapshot isolation: for each transaction of the order, how many transactions at the beginning
    /// of the order its snapshot holds. It holds no other.
    pub snapshots: Option<Arc<[u32]>>,
    /// For reads with several possible writers, by operation, the one chosen. Left out where the order says it:
    /// where a transaction sees all before it or a snapshot.
    pub sources: Arc<[(Op, Node)]>,
}

impl Witness {
    /// A commit order that says everything.
    pub fn order(order: Arc<[Txn]>) -> Witness {
        Witness { order: Some(order), ..Witness::default() }
    }
}

/// The answer for one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The history satisfies the level.
    Holds(Witness),
    /// It does not.
    Violated(Vec<Finding>),
    /// It could not be decided.
    Unknown(Unknown),
}

/// Why a level could not be decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No read of a transaction that took effect can be related to a write: nothing was read, or no write took effect and
    /// every read returned the initial value.
    NothingToCheck,
    /// So many reads have several possible writers, and there are more choices than are gone through: of who appended the
    /// elements of lists, or in one corner of cut isolation of who took effect (`cut.rs`). The first such read.
    Ambiguous {
        /// How many.
        reads: u64,
        /// The first.
        first: Op,
    },
    /// So many operations are of a kind the engines cannot judge (range reads, keys that are a register to
    /// some and a list to others). The first such operation.
    Unsupported {
        /// How many.
        operations: u64,
        /// The first.
        first: Op,
    },
    /// A limit was reached.
    Limit(Limit),
}

/// A limit that ends a search without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Time is up.
    Time,
    /// Too much memory is in use.
    Memory,
    /// No order exists, says the search, but the proof has too many cases to be written down.
    Proof,
}

/// A level and its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The level.
    pub level: Level,
    /// The verdict.
    pub verdict: Verdict,
    /// The weaker level whose violation decided this one, when it was not decided by itself.
    pub implied_by: Option<Level>,
}

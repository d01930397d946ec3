//! The isolation levels.

mod table;

use crate::{Anomaly, Called, Citation, Example};

/// An isolation level. Each comes after the levels it implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// A transaction that reads a key twice reads the same version.
    CutIsolation,
    /// Writes of transactions are not interleaved (Adya's PL-1).
    AdyaPl1,
    /// As PL-1, and the order of writes agrees with session order.
    StrongSessionPl1,
    /// As PL-1, and the order of writes agrees with session order and real-time order.
    StrongPl1,
    /// Only final writes of committed transactions are read, without circular flow (Adya's PL-2).
    AdyaPl2,
    /// As PL-2, and the order of dependencies agrees with session order.
    StrongSessionPl2,
    /// As PL-2, and the order of dependencies agrees with session order and real-time order.
    StrongPl2,
    /// As PL-2, and no other transaction writes a key between a transaction's read and write of it (Adya's
    /// PL-CS).
    CursorStability,
    /// As PL-2, and reads are monotonic: none misses a transaction that an earlier read of its transaction
    /// saw (Bailis et al.).
    MonotonicAtomicView,
    /// As monotonic atomic view, and no read misses what an earlier operation of its transaction depends on
    /// (Adya's PL-2L).
    MonotonicView,
    /// As PL-2, and no anti-dependency cycle on items (Adya's PL-2.99, repeatable read).
    AdyaPl299,
    /// As PL-2, and no cycle with one anti-dependency (Adya's PL-2+).
    ConsistentView,
    /// The transactions that write are serializable, and so is each read-only transaction with them (Adya's
    /// PL-3U).
    UpdateSerializable,
    /// Only committed, final writes are read, and reads are monotonic within a transaction.
    ReadCommitted,
    /// A transaction sees all of another or nothing of it, and everything that its session did before.
    ReadAtomic,
    /// As read atomic, and of two concurrent writers of one key only one commits.
    UpdateAtomic,
    /// A transaction that sees another sees everything which that one saw.
    Causal,
    /// A transaction sees a prefix of the commit order.
    Prefix,
    /// As causal, and of two concurrent writers of one key only one commits.
    ParallelSnapshot,
    /// Snapshot isolation without session order (Adya's PL-SI).
    AdyaPlSi,
    /// As prefix, and of two concurrent writers of one key only one commits.
    Snapshot,
    /// Serializable without session order (Adya's PL-3).
    AdyaPl3,
    /// A transaction sees everything before it in the commit order.
    Serializable,
    /// Snapshot isolation in an order that agrees with real-time order.
    StrictSnapshot,
    /// Serializable in an order that agrees with real-time order.
    StrictSerializable,
}

/// The technique that decides a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Checks every transaction by itself.
    Direct,
    /// Searches for cycles in the dependency graph (Adya).
    Graph,
    /// Saturates the commit order with the edges that the axiom forces; polynomial time.
    CommitOrder,
    /// Searches for a version order; NP-hard.
    Solver,
}

impl Engine {
    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Engine::Direct => "direct",
            Engine::Graph => "graph",
            Engine::CommitOrder => "commit-order",
            Engine::Solver => "solver",
        }
    }

    /// What it does.
    pub const fn about(self) -> &'static str {
        match self {
            Engine::Direct => "checks every transaction by itself",
            Engine::Graph => "searches for cycles in the dependency graph",
            Engine::CommitOrder => "derives the commit order step by step, in polynomial time",
            Engine::Solver => "searches for a version order; the problem is NP-hard",
        }
    }
}

/// A framework in which levels are defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framework {
    /// One transaction alone.
    Transaction,
    /// A total order `co` with `so` and `wr` inside it (Biswas and Enea).
    CommitOrder,
    /// Visibility `vis` inside a total order `ar` (Cerone, Bernardi and Gotsman).
    Visibility,
    /// Dependencies `wr`, `ww`, `rw` (Adya; Cerone and Gotsman).
    Dependencies,
    /// The states between transactions, in a total order `ex` (Crooks et al.).
    States,
}

impl Framework {
    /// The frameworks of the level language.
    pub const LANGUAGE: [Framework; 4] =
        [Framework::CommitOrder, Framework::Visibility, Framework::Dependencies, Framework::States];

    /// The name in the level language.
    pub const fn keyword(self) -> &'static str {
        match self {
            Framework::Transaction => "transaction",
            Framework::CommitOrder => "commit-order",
            Framework::Visibility => "visibility",
            Framework::Dependencies => "dependency-graph",
            Framework::States => "states",
        }
    }

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Framework::Transaction => "transaction",
            Framework::CommitOrder => "commit order",
            Framework::Visibility => "visibility",
            Framework::Dependencies => "dependencies",
            Framework::States => "states",
        }
    }

    /// The setting in which its axioms are stated; may be empty.
    pub const fn setting(self) -> &'static str {
        match self {
            Framework::Transaction => "",
            Framework::CommitOrder => {
                "there is a total order co of the committed transactions with so and wr inside it such that, \
                 when t3 reads x from t1 and t2 also writes x, PHI(t2, t3) implies co(t2, t1)"
            }
            Framework::Visibility => {
                "there is a total order ar and vis inside it; INT: a transaction reads its own last access; \
                 EXT: any other read returns what the ar-last visible writer of the key wrote"
            }
            Framework::Dependencies => {
                "there is a total order ww of the writers of each key; rw leads from a reader of a version \
                 to the writers of later ones"
            }
            Framework::States => {
                "there is a total order ex of the committed transactions; the state after each of them \
                 holds the last write of every key"
            }
        }
    }
}

/// The condition of a level in one framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axiom {
    /// The framework.
    pub framework: Framework,
    /// The condition.
    pub text: &'static str,
}

/// A database and the setting under which it promises a level, whatever the setting is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// The database.
    pub name: &'static str,
    /// The name of the level in that database.
    pub setting: &'static str,
    /// A remark for users; may be empty.
    pub note: &'static str,
}

columns!(Level, level, {
    /// The canonical name.
    name: &'static str,
    /// A short description.
    about: &'static str,
    /// Other names with the same meaning, the short one first.
    aliases: &'static [&'static str],
    /// Names that other projects or papers use for it or for nearly the same level.
    called: &'static [Called],
    /// The definition in one or a few sentences.
    definition: &'static str,
    /// The technique that decides it.
    engine: Engine,
    /// The formal conditions. All axioms of a level are equivalent.
    axioms: &'static [Axiom],
    /// Histories that this level forbids and the levels directly below it allow, the simplest first.
    examples: &'static [Example],
    /// The databases that promise it, and the names they use.
    products: &'static [Product],
    /// The papers that define it.
    sources: &'static [Citation],
});

impl Level {
    /// All levels, each after those it implies.
    pub const ALL: [Level; 25] = [
        Level::CutIsolation,
        Level::AdyaPl1,
        Level::StrongSessionPl1,
        Level::StrongPl1,
        Level::AdyaPl2,
        Level::StrongSessionPl2,
        Level::StrongPl2,
        Level::CursorStability,
        Level::MonotonicAtomicView,
        Level::MonotonicView,
        Level::AdyaPl299,
        Level::ConsistentView,
        Level::UpdateSerializable,
        Level::ReadCommitted,
        Level::ReadAtomic,
        Level::UpdateAtomic,
        Level::Causal,
        Level::Prefix,
        Level::ParallelSnapshot,
        Level::AdyaPlSi,
        Level::Snapshot,
        Level::AdyaPl3,
        Level::Serializable,
        Level::StrictSnapshot,
        Level::StrictSerializable,
    ];

    /// The levels that databases promise and users ask for, each after the levels it implies. A check without
    /// a level decides these. The others are the finer steps of the literature, mostly Adya's levels without
    /// sessions.
    pub const COMMON: [Level; 13] = [
        Level::CutIsolation,
        Level::AdyaPl1,
        Level::AdyaPl2,
        Level::AdyaPl299,
        Level::ReadCommitted,
        Level::ReadAtomic,
        Level::Causal,
        Level::Prefix,
        Level::ParallelSnapshot,
        Level::Snapshot,
        Level::Serializable,
        Level::StrictSnapshot,
        Level::StrictSerializable,
    ];

    /// The short name.
    pub const fn short(self) -> &'static str {
        self.row().aliases[0]
    }

    /// Whether it is one of [`Level::COMMON`].
    pub fn is_common(self) -> bool {
        Level::COMMON.contains(&self)
    }

    /// Whether the level requires an order that agrees with session order.
    pub const fn has_sessions(self) -> bool {
        self.implies(Level::StrongSessionPl1)
    }

    /// Whether the level requires an order that agrees with real-time order.
    pub const fn has_real_time(self) -> bool {
        self.implies(Level::StrongPl1)
    }

    /// Whether the level is one of Adya's portability levels, which have his names and ignore sessions.
    pub const fn is_portability_level(self) -> bool {
        matches!(self, Level::AdyaPl1 | Level::AdyaPl2 | Level::AdyaPl299 | Level::AdyaPlSi | Level::AdyaPl3)
    }

    /// The level that requires the same plus session order, if that is the only difference. A history
    /// satisfies this level exactly when it satisfies the returned level with every transaction in a session
    /// of its own.
    pub const fn with_sessions(self) -> Option<Level> {
        match self {
            Level::MonotonicAtomicView => Some(Level::ReadCommitted),
            Level::ConsistentView => Some(Level::ParallelSnapshot),
            Level::AdyaPlSi => Some(Level::Snapshot),
            Level::AdyaPl3 => Some(Level::Serializable),
            _ => None,
        }
    }

    /// Whether the level lets ranges change: what a range read missed does not violate it.
    pub const fn lets_ranges_change(self) -> bool {
        matches!(self, Level::CutIsolation | Level::CursorStability | Level::AdyaPl299)
    }

    /// Whether no history that satisfies the level shows the anomaly. Adya's levels ignore session order: if
    /// an anomaly has forms that come from session order, they forbid only the other forms. Some levels
    /// forbid only some forms: see [`Level::forbids_all`].
    pub fn forbids(self, anomaly: Anomaly) -> bool {
        anomaly.forbidden_from().iter().any(|&weakest| self.implies(weakest))
    }

    /// Whether the level forbids all forms of an anomaly, apart from those that need session order or
    /// real-time order, and from those of range reads if the level [lets ranges
    /// change](Level::lets_ranges_change). Four levels forbid only some forms. Update serializability forbids
    /// a write skew with at most one read-only transaction. Update atomic forbids a read skew of two
    /// transactions. Monotonic view forbids a read skew in which the reader saw the other transaction before
    /// it missed its write. Prefix forbids a read skew in which the reader did not merely overwrite the
    /// transaction before it in the cycle.
    pub fn forbids_all(self, anomaly: Anomaly) -> bool {
        let all_from = |weakest: Level| match (weakest, anomaly) {
            (Level::UpdateSerializable, Anomaly::WriteSkew) => Level::AdyaPl3,
            (Level::UpdateAtomic | Level::MonotonicView | Level::Prefix, Anomaly::ReadSkew) => {
                Level::ConsistentView
            }
            _ => weakest,
        };
        anomaly.forbidden_from().iter().any(|&weakest| self.implies(all_from(weakest)))
    }
}

//! The levels.

mod table;

use std::fmt;

use crate::{Anomaly, Called, Citation, Example};

/// An isolation level; each stands after those it implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// A transaction that reads a key twice finds one value.
    CutIsolation,
    /// Writes of transactions are not interleaved (Adya's PL-1).
    AdyaPl1,
    /// As PL-1, and the order of writes agrees with sessions.
    StrongSessionPl1,
    /// As PL-1, and the order of writes agrees with sessions and real time.
    StrongPl1,
    /// Only final writes of committed transactions are read, without circular flow (Adya's PL-2).
    AdyaPl2,
    /// As PL-2, and the order of dependencies agrees with sessions.
    StrongSessionPl2,
    /// As PL-2, and the order of dependencies agrees with sessions and real time.
    StrongPl2,
    /// As PL-2, and nobody writes a key between another's read and write of it (Adya's PL-CS).
    CursorStability,
    /// As PL-2, and no read goes back behind an earlier one of its transaction (Bailis et al.).
    MonotonicAtomicView,
    /// As monotonic atomic view, and neither behind what an earlier one depends on (Adya's PL-2L).
    MonotonicView,
    /// As PL-2, and no anti-dependency cycle on items (Adya's PL-2.99, repeatable read).
    AdyaPl299,
    /// As PL-2, and no cycle with one anti-dependency (Adya's PL-2+).
    ConsistentView,
    /// Transactions that write are serializable, and so is each of the others with them (Adya's PL-3U).
    UpdateSerializable,
    /// Committed, final writes only, and no read goes back behind an earlier one of its transaction.
    ReadCommitted,
    /// A transaction sees all of another or nothing of it, and everything earlier of its own session.
    ReadAtomic,
    /// As read atomic, and of two concurrent writers of one key only one commits.
    UpdateAtomic,
    /// Who sees a transaction sees all that transaction saw.
    Causal,
    /// A transaction sees a prefix of the commit order.
    Prefix,
    /// As causal, and of two concurrent writers of one key only one commits.
    ParallelSnapshot,
    /// Snapshot isolation without the order of sessions (Adya's PL-SI).
    AdyaPlSi,
    /// As prefix, and of two concurrent writers of one key only one commits.
    Snapshot,
    /// Serializable without the order of sessions (Adya's PL-3).
    AdyaPl3,
    /// A transaction sees everything before it in the commit order.
    Serializable,
    /// Snapshot isolation in an order that agrees with real time.
    StrictSnapshot,
    /// Serializable in an order that agrees with real time.
    StrictSerializable,
}

/// What decides a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Every transaction is looked at by itself.
    Direct,
    /// Cycles of the dependency graph, Adya's way.
    Graph,
    /// The commit order is saturated with what the axiom forces; polynomial time.
    CommitOrder,
    /// A search over version orders; NP-hard.
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
            Engine::Direct => "looks at every transaction by itself",
            Engine::Graph => "looks for cycles in the dependency graph",
            Engine::CommitOrder => "derives the commit order step by step, in polynomial time",
            Engine::Solver => "searches for a version order; the problem is NP-hard",
        }
    }
}

/// A way to define levels.
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
}

impl Framework {
    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Framework::Transaction => "transaction",
            Framework::CommitOrder => "commit order",
            Framework::Visibility => "visibility",
            Framework::Dependencies => "dependencies",
        }
    }

    /// What its axioms take for granted; may be empty.
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
    /// What it calls the level.
    pub setting: &'static str,
    /// What one should know; may be empty.
    pub note: &'static str,
}

/// What the catalogue knows about a level.
struct Row {
    level: Level,
    name: &'static str,
    about: &'static str,
    /// The short name first.
    aliases: &'static [&'static str],
    called: &'static [Called],
    definition: &'static str,
    engine: Engine,
    axioms: &'static [Axiom],
    examples: &'static [Example],
    products: &'static [Product],
    sources: &'static [Citation],
}

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

    /// The levels that databases promise and people ask for, each after those it implies: what is decided when no
    /// level is named. The others are the finer steps of the literature, mostly Adya's levels without sessions.
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

    const fn row(self) -> &'static Row {
        &table::ROWS[self as usize]
    }

    /// The canonical name.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The short name.
    pub const fn short(self) -> &'static str {
        self.row().aliases[0]
    }

    /// What it is, in a few words.
    pub const fn about(self) -> &'static str {
        self.row().about
    }

    /// Other names with the same meaning, the short one first.
    pub const fn aliases(self) -> &'static [&'static str] {
        self.row().aliases
    }

    /// What others call it, or call nearly the same.
    pub const fn called(self) -> &'static [Called] {
        self.row().called
    }

    /// What it promises, in a sentence or two.
    pub const fn definition(self) -> &'static str {
        self.row().definition
    }

    /// What decides it.
    pub const fn engine(self) -> Engine {
        self.row().engine
    }

    /// What it asks of a history. All axioms of a level are equivalent.
    pub const fn axioms(self) -> &'static [Axiom] {
        self.row().axioms
    }

    /// Histories it forbids and the levels directly below allow, the simplest first.
    pub const fn examples(self) -> &'static [Example] {
        self.row().examples
    }

    /// Who promises it, under which name.
    pub const fn products(self) -> &'static [Product] {
        self.row().products
    }

    /// Where it was defined.
    pub const fn sources(self) -> &'static [Citation] {
        self.row().sources
    }

    /// Whether it is one of [`Level::COMMON`].
    pub fn is_common(self) -> bool {
        Level::COMMON.contains(&self)
    }

    /// Whether the level asks for an order that agrees with that of every session.
    pub const fn has_sessions(self) -> bool {
        self.implies(Level::StrongSessionPl1)
    }

    /// Whether the level asks for an order that agrees with real time.
    pub const fn has_real_time(self) -> bool {
        self.implies(Level::StrongPl1)
    }

    /// The level that asks for the same and for the order of sessions besides, if that is the whole difference. A
    /// history satisfies this level exactly when it satisfies the other with every transaction in a session of
    /// its own.
    pub const fn with_sessions(self) -> Option<Level> {
        match self {
            Level::MonotonicAtomicView => Some(Level::ReadCommitted),
            Level::ConsistentView => Some(Level::ParallelSnapshot),
            Level::AdyaPlSi => Some(Level::Snapshot),
            Level::AdyaPl3 => Some(Level::Serializable),
            _ => None,
        }
    }

    /// Whether no history that satisfies the level shows the anomaly. Adya's levels leave out the order of
    /// sessions: of an anomaly that can come from it, they forbid the forms that do not. Some levels forbid only
    /// some forms: see [`Level::forbids_all`].
    pub fn forbids(self, anomaly: Anomaly) -> bool {
        anomaly.forbidden_from().iter().any(|&weakest| self.implies(weakest))
    }

    /// Whether the level forbids an anomaly in all its forms, sessions and real time apart. Update serializability
    /// forbids a write skew with at most one transaction that only reads, update atomic a read skew of
    /// two transactions, and monotonic view a read skew in which the reader met the other before it missed it.
    pub fn forbids_all(self, anomaly: Anomaly) -> bool {
        let all_from = |weakest: Level| match (weakest, anomaly) {
            (Level::UpdateSerializable, Anomaly::WriteSkew) => Level::AdyaPl3,
            (Level::UpdateAtomic | Level::MonotonicView, Anomaly::ReadSkew) => Level::ConsistentView,
            _ => weakest,
        };
        anomaly.forbidden_from().iter().any(|&weakest| self.implies(all_from(weakest)))
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

const _: () = {
    let mut i = 0;
    while i < Level::ALL.len() {
        assert!(Level::ALL[i] as usize == i && table::ROWS[i].level as usize == i, "a row for each level");
        i += 1;
    }
};

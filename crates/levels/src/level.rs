//! The levels.

use std::fmt;

/// An isolation level, weaker ones before stronger ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// A transaction that reads a key twice finds one value.
    CutIsolation,
    /// Writes of transactions are not interleaved (Adya's PL-1).
    AdyaPl1,
    /// Only final writes of committed transactions are read, without circular flow (Adya's PL-2).
    AdyaPl2,
    /// As PL-2, and no anti-dependency cycle on items (Adya's PL-2.99, repeatable read).
    AdyaPl299,
    /// Committed, final writes only, and no read goes back behind an earlier one of its transaction.
    ReadCommitted,
    /// A transaction sees all of another or nothing of it, and everything earlier of its own session.
    ReadAtomic,
    /// Who sees a transaction sees all that transaction saw.
    Causal,
    /// A transaction sees a prefix of the commit order.
    Prefix,
    /// As causal, and of two concurrent writers of one key only one commits.
    ParallelSnapshot,
    /// As prefix, and of two concurrent writers of one key only one commits.
    Snapshot,
    /// A transaction sees everything before it in the commit order.
    Serializable,
    /// Snapshot isolation in an order that agrees with real time.
    StrictSnapshot,
    /// Serializable in an order that agrees with real time.
    StrictSerializable,
}

impl Level {
    /// All levels, each after those it implies.
    pub const ALL: [Level; 13] = [
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

    /// The canonical name.
    pub const fn name(self) -> &'static str {
        match self {
            Level::CutIsolation => "cut-isolation",
            Level::AdyaPl1 => "adya-pl-1",
            Level::AdyaPl2 => "adya-pl-2",
            Level::AdyaPl299 => "adya-pl-2.99",
            Level::ReadCommitted => "read-committed",
            Level::ReadAtomic => "read-atomic",
            Level::Causal => "causal",
            Level::Prefix => "prefix",
            Level::ParallelSnapshot => "parallel-snapshot-isolation",
            Level::Snapshot => "snapshot-isolation",
            Level::Serializable => "serializable",
            Level::StrictSnapshot => "strict-snapshot-isolation",
            Level::StrictSerializable => "strict-serializable",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

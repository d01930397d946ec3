//! The levels the store can run at. Their definitions are levels.md, Framework 1; how the store meets each
//! is told in `store`.

use std::fmt;

/// An isolation level, from the weakest to the strongest: each implies those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Committed, final writes only, and no read goes back behind an earlier one of its transaction.
    ReadCommitted,
    /// A transaction sees all of another or nothing of it, and everything earlier of its own session.
    ReadAtomic,
    /// Who sees a transaction sees all that transaction saw.
    Causal,
    /// A transaction sees a prefix of the commit order.
    Prefix,
    /// As prefix, and of two concurrent writers of one key only one commits.
    Snapshot,
    /// A transaction sees everything before it in the commit order.
    Serializable,
}

impl Level {
    /// All levels, weakest first.
    pub const ALL: [Level; 6] = [
        Level::ReadCommitted,
        Level::ReadAtomic,
        Level::Causal,
        Level::Prefix,
        Level::Snapshot,
        Level::Serializable,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Level::ReadCommitted => "read-committed",
            Level::ReadAtomic => "read-atomic",
            Level::Causal => "causal",
            Level::Prefix => "prefix",
            Level::Snapshot => "snapshot-isolation",
            Level::Serializable => "serializable",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

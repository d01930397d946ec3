//! The anomalies.

use std::fmt;

/// A known violation of isolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anomaly {
    /// A transaction reads a value nobody wrote.
    ThinAirRead,
    /// A transaction reads what an aborted one wrote.
    AbortedRead,
    /// A transaction reads what it writes only later.
    FutureRead,
    /// A transaction reads a key it has written, and finds somebody else's value.
    NotMyOwnWrite,
    /// A transaction reads a key it has written more than once, and finds an earlier write of its own.
    NotMyLastWrite,
    /// A transaction reads what another one later overwrote itself.
    IntermediateRead,
    /// Transactions read from each other in a circle.
    CyclicCausality,
    /// A transaction sees another, and then reads what that one had overwritten.
    NonMonotonicRead,
    /// A transaction reads one key twice and finds two values.
    NonRepeatableRead,
    /// A transaction sees one write of another and misses a second one.
    FracturedRead,
    /// A transaction misses a write of its own session.
    StaleSessionRead,
    /// A transaction sees an effect and misses its cause.
    CausalityViolation,
    /// Readers saw concurrent writes in orders that contradict each other.
    ConflictingCommitOrder,
    /// Two reads of a list, neither of which is a prefix of the other.
    IncompatibleOrder,
    /// A list that holds an element more often than it was appended.
    DuplicateElements,
    /// A committed append that a later list does not hold.
    LostAppend,
    /// G0: transactions overwrite each other in a circle.
    DirtyWrite,
    /// G1c with at least one overwrite: information flows in a circle.
    CircularInformationFlow,
    /// Two transactions read the same version of a key and both overwrite it.
    LostUpdate,
    /// G-single: a transaction sees a part of another's effects.
    ReadSkew,
    /// Two readers see two writes in opposite order.
    LongFork,
    /// G2-item: two transactions read both of two keys, and each overwrites another one.
    WriteSkew,
}

impl Anomaly {
    /// All anomalies, those of weaker levels first.
    pub const ALL: [Anomaly; 22] = [
        Anomaly::ThinAirRead,
        Anomaly::AbortedRead,
        Anomaly::FutureRead,
        Anomaly::NotMyOwnWrite,
        Anomaly::NotMyLastWrite,
        Anomaly::IntermediateRead,
        Anomaly::CyclicCausality,
        Anomaly::NonMonotonicRead,
        Anomaly::NonRepeatableRead,
        Anomaly::FracturedRead,
        Anomaly::StaleSessionRead,
        Anomaly::CausalityViolation,
        Anomaly::ConflictingCommitOrder,
        Anomaly::IncompatibleOrder,
        Anomaly::DuplicateElements,
        Anomaly::LostAppend,
        Anomaly::DirtyWrite,
        Anomaly::CircularInformationFlow,
        Anomaly::LostUpdate,
        Anomaly::ReadSkew,
        Anomaly::LongFork,
        Anomaly::WriteSkew,
    ];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Anomaly::ThinAirRead => "thin-air-read",
            Anomaly::AbortedRead => "aborted-read",
            Anomaly::FutureRead => "future-read",
            Anomaly::NotMyOwnWrite => "not-my-own-write",
            Anomaly::NotMyLastWrite => "not-my-last-write",
            Anomaly::IntermediateRead => "intermediate-read",
            Anomaly::CyclicCausality => "cyclic-causality",
            Anomaly::NonMonotonicRead => "non-monotonic-read",
            Anomaly::NonRepeatableRead => "non-repeatable-read",
            Anomaly::FracturedRead => "fractured-read",
            Anomaly::StaleSessionRead => "stale-session-read",
            Anomaly::CausalityViolation => "causality-violation",
            Anomaly::ConflictingCommitOrder => "conflicting-commit-order",
            Anomaly::IncompatibleOrder => "incompatible-order",
            Anomaly::DuplicateElements => "duplicate-elements",
            Anomaly::LostAppend => "lost-append",
            Anomaly::DirtyWrite => "dirty-write",
            Anomaly::CircularInformationFlow => "circular-information-flow",
            Anomaly::LostUpdate => "lost-update",
            Anomaly::ReadSkew => "read-skew",
            Anomaly::LongFork => "long-fork",
            Anomaly::WriteSkew => "write-skew",
        }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

//! The anomalies.

mod table;

use crate::{Called, Citation, Example, Level};

/// A known violation of isolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anomaly {
    /// A transaction reads a value that was never written.
    ThinAirRead,
    /// A transaction reads a write of an aborted one.
    AbortedRead,
    /// A transaction reads a value that it writes only later.
    FutureRead,
    /// A transaction reads a key it has written, and finds the value of another transaction.
    NotMyOwnWrite,
    /// A transaction reads a key it has written more than once, and finds an earlier write of its own.
    NotMyLastWrite,
    /// A transaction reads a value that its writer overwrote in the same transaction.
    IntermediateRead,
    /// Transactions read from each other in a circle.
    CyclicCausality,
    /// A transaction sees another, and then reads a version which that one had overwritten.
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
    /// A committed append that is missing from a later list.
    LostAppend,
    /// G0: transactions overwrite each other in a circle.
    DirtyWrite,
    /// G1c with at least one overwrite: information flows in a circle.
    CircularInformationFlow,
    /// Two transactions read the same version of a key and both overwrite it.
    LostUpdate,
    /// G-single: a transaction sees only part of what it depends on.
    ReadSkew,
    /// Two readers see two writes in opposite order.
    LongFork,
    /// G-nonadjacent: two snapshots contradict each other, and an overwrite is needed to show it.
    SnapshotSkew,
    /// G2-item: each transaction overwrites a key that another one has read.
    WriteSkew,
    /// A transaction reads a version that was overwritten before it began.
    StaleRead,
    /// G2: transactions read ranges that others change, so that each would have to precede another.
    Phantom,
}

/// Elle's suffix for a cycle that includes session order.
pub const ELLE_PROCESS: &str = "-process";
/// Elle's suffix for a cycle that includes real-time order.
pub const ELLE_REALTIME: &str = "-realtime";

columns!(Anomaly, anomaly, {
    /// The name.
    name: &'static str,
    /// A short description.
    about: &'static str,
    /// Other names with the same meaning, or for one form of it.
    aliases: &'static [&'static str],
    /// Names that other projects or papers use for it or for nearly the same anomaly.
    called: &'static [Called],
    /// The keyword under which Elle reports it, without the colon, if Elle defines it the same way.
    elle: Option<&'static str>,
    /// The definition in one or a few sentences.
    definition: &'static str,
    /// Typical causes in real systems.
    cause: &'static str,
    /// The weakest levels that forbid it; none of them implies another. Every level that implies one forbids it too.
    forbidden_from: &'static [Level],
    /// Histories that show it, the simplest first. If an anomaly has two forms, the first example contradicts
    /// the causal order and the second contradicts the commit order.
    examples: &'static [Example],
    /// The papers that define it.
    sources: &'static [Citation],
    /// Related anomalies.
    see_also: &'static [Anomaly],
});

impl Anomaly {
    /// All anomalies, those of weaker levels first.
    pub const ALL: [Anomaly; 25] = [
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
        Anomaly::SnapshotSkew,
        Anomaly::WriteSkew,
        Anomaly::StaleRead,
        Anomaly::Phantom,
    ];

    /// Whether Elle marks the forms of it that need session order or real-time order, with [`ELLE_PROCESS`]
    /// and [`ELLE_REALTIME`]. It does so for cycles of dependencies.
    pub fn elle_has_variants(self) -> bool {
        matches!(self.elle(), Some("G0" | "G1c" | "G-single-item" | "G-nonadjacent-item" | "G2-item" | "G2"))
    }
}

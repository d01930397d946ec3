//! The anomalies.

mod table;

use std::fmt;

use crate::{Called, Citation, Example, Level};

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
    /// G-nonadjacent: two snapshots contradict each other, and it takes an overwrite to see it.
    SnapshotSkew,
    /// G2-item: two transactions read both of two keys, and each overwrites another one.
    WriteSkew,
    /// A transaction reads a version that was overwritten before it began.
    StaleRead,
    /// G2: transactions read ranges that others change, so that each would have to come before another.
    Phantom,
}

/// What Elle appends to the keyword of a cycle that goes along a session.
pub const ELLE_PROCESS: &str = "-process";
/// What Elle appends to the keyword of a cycle that goes along real time.
pub const ELLE_REALTIME: &str = "-realtime";

/// What the catalogue knows about an anomaly.
struct Row {
    anomaly: Anomaly,
    name: &'static str,
    about: &'static str,
    aliases: &'static [&'static str],
    called: &'static [Called],
    /// The keyword of Elle's for it, where Elle means the same.
    elle: Option<&'static str>,
    definition: &'static str,
    cause: &'static str,
    /// The weakest levels that forbid it, none of which implies another.
    forbidden_from: &'static [Level],
    examples: &'static [Example],
    sources: &'static [Citation],
    see_also: &'static [Anomaly],
}

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

    const fn row(self) -> &'static Row {
        &table::ROWS[self as usize]
    }

    /// The name.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// What it is, in a few words.
    pub const fn about(self) -> &'static str {
        self.row().about
    }

    /// Other names with the same meaning, or for a part of it.
    pub const fn aliases(self) -> &'static [&'static str] {
        self.row().aliases
    }

    /// What others call it, or call nearly the same.
    pub const fn called(self) -> &'static [Called] {
        self.row().called
    }

    /// The keyword under which Elle reports it, where Elle means the same by one; without its colon.
    pub const fn elle(self) -> Option<&'static str> {
        self.row().elle
    }

    /// Whether Elle marks the forms of it that need the order of sessions or of the clock, with
    /// [`ELLE_PROCESS`] and [`ELLE_REALTIME`]: those that are cycles of dependencies.
    pub fn elle_has_variants(self) -> bool {
        matches!(self.elle(), Some("G0" | "G1c" | "G-single-item" | "G-nonadjacent-item" | "G2-item"))
    }

    /// What it is, in a sentence or two.
    pub const fn definition(self) -> &'static str {
        self.row().definition
    }

    /// How real systems come to show it.
    pub const fn cause(self) -> &'static str {
        self.row().cause
    }

    /// The weakest levels that forbid it; all that imply one of them do too.
    pub const fn forbidden_from(self) -> &'static [Level] {
        self.row().forbidden_from
    }

    /// Histories that show it, the simplest first. Of an anomaly that comes in two forms, the first is
    /// against the causal order and the second against the commit order.
    pub const fn examples(self) -> &'static [Example] {
        self.row().examples
    }

    /// Where it was defined.
    pub const fn sources(self) -> &'static [Citation] {
        self.row().sources
    }

    /// Its relatives.
    pub const fn see_also(self) -> &'static [Anomaly] {
        self.row().see_also
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

const _: () = {
    let mut i = 0;
    while i < Anomaly::ALL.len() {
        assert!(
            Anomaly::ALL[i] as usize == i && table::ROWS[i].anomaly as usize == i,
            "a row for each anomaly"
        );
        i += 1;
    }
};

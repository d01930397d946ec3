//! Which level implies which, and the weakest levels that forbid an anomaly.
//!
//! The verifier has its own copy of these facts on purpose: it is to notice when the catalogue that the
//! engines follow is wrong. Definitions: levels.md; Adya's levels leave sessions out, so those of Framework 1
//! imply them and not the other way round.

use isoscope_levels::{Anomaly, Level};

/// The levels directly below a level.
fn below(level: Level) -> &'static [Level] {
    match level {
        Level::CutIsolation | Level::AdyaPl1 => &[],
        Level::AdyaPl2 => &[Level::AdyaPl1],
        Level::AdyaPl299 => &[Level::AdyaPl2, Level::CutIsolation],
        Level::ReadCommitted => &[Level::AdyaPl2],
        Level::ReadAtomic => &[Level::ReadCommitted, Level::CutIsolation],
        Level::Causal => &[Level::ReadAtomic],
        Level::Prefix | Level::ParallelSnapshot => &[Level::Causal],
        Level::Snapshot => &[Level::Prefix, Level::ParallelSnapshot],
        Level::Serializable => &[Level::Snapshot, Level::AdyaPl299],
        Level::StrictSnapshot => &[Level::Snapshot],
        Level::StrictSerializable => &[Level::Serializable, Level::StrictSnapshot],
    }
}

/// Whether every history at `level` is at `weaker`.
pub(super) fn implies(level: Level, weaker: Level) -> bool {
    level == weaker || below(level).iter().any(|&next| implies(next, weaker))
}

/// The weakest levels that forbid an anomaly.
fn forbidding(anomaly: Anomaly) -> &'static [Level] {
    match anomaly {
        Anomaly::NonRepeatableRead => &[Level::CutIsolation],
        Anomaly::DirtyWrite => &[Level::AdyaPl1],
        Anomaly::ThinAirRead
        | Anomaly::AbortedRead
        | Anomaly::FutureRead
        | Anomaly::NotMyOwnWrite
        | Anomaly::NotMyLastWrite
        | Anomaly::IntermediateRead
        | Anomaly::IncompatibleOrder
        | Anomaly::DuplicateElements
        | Anomaly::LostAppend
        | Anomaly::CyclicCausality
        | Anomaly::CircularInformationFlow => &[Level::AdyaPl2],
        Anomaly::NonMonotonicRead => &[Level::ReadCommitted],
        Anomaly::FracturedRead | Anomaly::StaleSessionRead => &[Level::ReadAtomic],
        Anomaly::CausalityViolation | Anomaly::ConflictingCommitOrder => &[Level::Causal],
        Anomaly::LostUpdate => &[Level::ParallelSnapshot, Level::AdyaPl299],
        Anomaly::ReadSkew | Anomaly::LongFork => &[Level::Prefix, Level::AdyaPl299],
        Anomaly::WriteSkew => &[Level::Serializable, Level::AdyaPl299],
    }
}

/// Whether a level forbids an anomaly.
pub(super) fn forbids(level: Level, anomaly: Anomaly) -> bool {
    forbidding(anomaly).iter().any(|&weakest| implies(level, weakest))
}

//! What a cycle of dependencies is called.

use isoscope_levels::{Anomaly, Level};

use crate::certificate::{Case, Edge, Proof, Through, Why};

/// The sort of an edge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// Session, real time or read-from: what the later transaction has seen.
    Seen,
    Overwritten,
    Missed,
}

fn sort(edge: &Edge) -> Sort {
    match edge.why {
        Why::Session | Why::RealTime | Why::ReadFrom { .. } => Sort::Seen,
        Why::Overwritten { .. } | Why::Versions { .. } | Why::Missing { .. } | Why::Forced { .. } => {
            Sort::Overwritten
        }
        Why::Misses { .. } => Sort::Missed,
    }
}

/// The cycle a proof is named after: the one it ends with.
pub(crate) fn main_cycle(proof: &Proof) -> &[Edge] {
    let mut cycles = proof.cases.iter().rev().filter_map(|case| match case {
        Case::Cycle(edges) => Some(edges.as_slice()),
        Case::Split { .. } => None,
    });
    cycles.next().unwrap_or(&[])
}

/// What a cycle needs besides reads and writes.
pub(crate) fn through(cycle: &[Edge]) -> Through {
    let of = |edge: &Edge| match edge.why {
        Why::RealTime => Through::RealTime,
        Why::Session => Through::Sessions,
        _ => Through::Dependencies,
    };
    cycle.iter().map(of).max().unwrap_or_default()
}

/// What a cycle is called where a level forbids it.
pub(crate) fn name(level: Level, cycle: &[Edge]) -> Anomaly {
    let sorts: Vec<Sort> = cycle.iter().map(sort).collect();
    let count = |wanted: Sort| sorts.iter().filter(|&&sort| sort == wanted).count();
    let missed = count(Sort::Missed);
    let before = |i: usize| sorts[(i + sorts.len() - 1) % sorts.len()];
    let missing = || (0..sorts.len()).filter(|&i| sorts[i] == Sort::Missed);
    match missed {
        0 if count(Sort::Overwritten) == 0 => Anomaly::CyclicCausality,
        0 if count(Sort::Seen) == 0 => Anomaly::DirtyWrite,
        0 => Anomaly::CircularInformationFlow,
        1 if !level.forbids(Anomaly::ReadSkew) => Anomaly::LongFork,
        1 if sorts.len() == 2 && count(Sort::Overwritten) == 1 => Anomaly::LostUpdate,
        1 => Anomaly::ReadSkew,
        _ if missing().any(|i| before(i) == Sort::Missed) => Anomaly::WriteSkew,
        _ if missing().all(|i| before(i) == Sort::Seen) => Anomaly::LongFork,
        _ => Anomaly::LongFork,
    }
}

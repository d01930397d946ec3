//! What a cycle of dependencies is called.

use isoscope_history::{History, Key, OpKind, Txn};
use isoscope_levels::{Anomaly, Level};

use crate::certificate::{Case, Edge, Node, Proof, Through, Why};
use crate::resolve::{Link, Resolved};

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

/// The cycle a proof is named after: the one it ends with. A proof without any has none.
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
pub(crate) fn name(history: &History, resolved: &Resolved, level: Level, cycle: &[Edge]) -> Anomaly {
    let sorts: Vec<Sort> = cycle.iter().map(sort).collect();
    let count = |wanted: Sort| sorts.iter().filter(|&&sort| sort == wanted).count();
    let before = |i: usize| sorts[(i + sorts.len() - 1) % sorts.len()];
    let missed: Vec<usize> = (0..sorts.len()).filter(|&i| sorts[i] == Sort::Missed).collect();
    match missed.len() {
        0 if count(Sort::Overwritten) == 0 => Anomaly::CyclicCausality,
        0 if count(Sort::Seen) == 0 => Anomaly::DirtyWrite,
        0 => Anomaly::CircularInformationFlow,
        _ if level.forbids(Anomaly::LostUpdate) && is_lost_update(history, resolved, cycle) => {
            Anomaly::LostUpdate
        }
        1 if level.forbids(Anomaly::ReadSkew) => Anomaly::ReadSkew,
        1 if count(Sort::Overwritten) == 0 => Anomaly::CausalityViolation,
        _ if missed.iter().any(|&i| before(i) == Sort::Missed) => Anomaly::WriteSkew,
        _ if missed.iter().all(|&i| before(i) == Sort::Seen) => Anomaly::LongFork,
        _ => Anomaly::SnapshotSkew,
    }
}

/// Whether two transactions read the same version of a key and both overwrite it.
fn is_lost_update(history: &History, resolved: &Resolved, cycle: &[Edge]) -> bool {
    let [one, other] = cycle else { return false };
    let (Node::Txn(a), Node::Txn(b)) = (one.from, one.to) else { return false };
    let keys = [one, other].map(|edge| match edge.why {
        Why::Overwritten { key } => Some(key),
        Why::Versions { read, .. } | Why::Missing { read, .. } | Why::Misses { read } => {
            Some(history.key_of(read))
        }
        _ => None,
    });
    let [Some(key), Some(same)] = keys else { return false };
    let version = |txn: Txn| version_read(history, resolved, txn, key);
    key == same
        && history.writes(a, key)
        && history.writes(b, key)
        && version(a).is_some()
        && version(a) == version(b)
}

/// The version of a key that a transaction read, if its writer is known.
fn version_read(history: &History, resolved: &Resolved, txn: Txn, key: Key) -> Option<Link> {
    let is_read = |kind: OpKind| matches!(kind, OpKind::Read | OpKind::ReadList);
    let mut links = history
        .ops_of(txn)
        .filter(|op| is_read(op.kind) && op.key == key)
        .map(|op| resolved.links[op.id.index()]);
    links.find(|link| link.is_read())
}

//! The shape of a cycle: whether a level forbids it, and what it is called.
//!
//! Every edge is of one of four kinds. `so`: the order of a session, or real time, which counts like it.
//! `wr`: a read. `ww`: one version after another, be it seen in a list, assumed, or forced by an axiom (which
//! forces nothing but the order of two writers of a key). `rw`: a read of what was overwritten. The first
//! three are in every commit order, so without an `rw` a cycle is one at every level that knows its edges.
//! With some, a level forbids (Framework 3 of levels.md, read along the cycle):
//!
//! | level | cycles |
//! |---|---|
//! | read committed | one `rw` and one `wr`, of an earlier read |
//! | read atomic | one `rw` and one `so` or `wr` |
//! | causal | one `rw`, and no `ww` |
//! | prefix | every `rw` follows a `so` or `wr` |
//! | parallel snapshot isolation | one `rw` |
//! | snapshot isolation | no two `rw` are neighbours |
//! | PL-2.99, serializable | all |

use isoscope_history::{Key, Op, Txn};
use isoscope_levels::{Anomaly, Level};

use super::given::Given;
use crate::certificate::{Against, Edge, Node, Seen, Through, Why};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    So,
    Wr,
    Ww,
    Rw,
}

fn kind(edge: &Edge) -> Kind {
    match edge.why {
        Why::Session | Why::RealTime => Kind::So,
        Why::ReadFrom { .. } => Kind::Wr,
        Why::Versions { .. } | Why::Missing { .. } | Why::Overwritten { .. } | Why::Forced { .. } => Kind::Ww,
        Why::Misses { .. } => Kind::Rw,
    }
}

fn count(edges: &[Edge], of: Kind) -> usize {
    edges.iter().filter(|edge| kind(edge) == of).count()
}

/// For each `rw` of a cycle, the kind of the edge before it.
fn before_rw(edges: &[Edge]) -> impl Iterator<Item = Kind> {
    let before = edges.iter().cycle().skip(edges.len() - 1);
    edges.iter().zip(before).filter(|(edge, _)| kind(edge) == Kind::Rw).map(|(_, before)| kind(before))
}

/// Whether a level forbids a cycle all of whose edges it knows.
pub(super) fn is_forbidden(level: Level, edges: &[Edge]) -> bool {
    let single = count(edges, Kind::Rw) == 1;
    match level {
        Level::CutIsolation => false,
        _ if count(edges, Kind::Rw) == 0 => true,
        Level::AdyaPl1 | Level::AdyaPl2 => false,
        Level::ReadCommitted => {
            matches!(skewed_pair(edges), Some((Why::ReadFrom { read: seen }, read)) if *seen < read)
        }
        Level::ReadAtomic => single && edges.len() == 2 && count(edges, Kind::Ww) == 0,
        Level::Causal => single && count(edges, Kind::Ww) == 0,
        Level::Prefix => before_rw(edges).all(|kind| matches!(kind, Kind::So | Kind::Wr)),
        Level::ParallelSnapshot => single,
        Level::Snapshot | Level::StrictSnapshot => !before_rw(edges).any(|kind| kind == Kind::Rw),
        Level::AdyaPl299 | Level::Serializable | Level::StrictSerializable => true,
    }
}

/// A session or a read: what makes the causal order.
pub(super) fn is_causal(edge: &Edge) -> bool {
    matches!(edge.why, Why::Session | Why::ReadFrom { .. })
}

fn is_forced(edge: &Edge) -> bool {
    matches!(edge.why, Why::Forced { .. })
}

/// Whether a cycle is what it is called. The most special name is asked for of nobody: a lost update is a
/// read skew.
pub(super) fn fits(given: &Given<'_, '_>, anomaly: Anomaly, edges: &[Edge]) -> bool {
    let (ww, rw) = (count(edges, Kind::Ww), count(edges, Kind::Rw));
    let adjacent = before_rw(edges).any(|kind| kind == Kind::Rw);
    let follows_reads = before_rw(edges).all(|kind| matches!(kind, Kind::So | Kind::Wr));
    let forced = match &edges[0].why {
        Why::Forced { read, seen } => Some((*read, seen)),
        _ => None,
    };
    match anomaly {
        Anomaly::CyclicCausality => ww + rw == 0,
        Anomaly::DirtyWrite => ww == edges.len() && forced.is_none(),
        Anomaly::CircularInformationFlow => {
            rw == 0 && 0 < ww && forced.is_none() && (ww < edges.len() || !all_show_writes(given, edges))
        }
        Anomaly::LostAppend => rw == 0 && edges.iter().any(|edge| matches!(edge.why, Why::Missing { .. })),
        Anomaly::NonMonotonicRead => match (forced, skewed_pair(edges)) {
            (Some((read, Seen::Read(seen))), _) | (_, Some((Why::ReadFrom { read: seen }, read))) => {
                *seen < read
            }
            _ => false,
        },
        Anomaly::FracturedRead => {
            matches!(forced, Some((_, Seen::Read(_))))
                || matches!(skewed_pair(edges), Some((Why::ReadFrom { .. }, _)))
        }
        Anomaly::StaleSessionRead => {
            matches!(forced, Some((_, Seen::Session)))
                || matches!(skewed_pair(edges), Some((Why::Session, _)))
        }
        Anomaly::CausalityViolation => (forced.is_some() || rw == 1) && rest_is_causal(edges),
        Anomaly::ConflictingCommitOrder => forced.is_some() && rw == 0 && !rest_is_causal(edges),
        Anomaly::StaleRead => matches!(skewed_pair(edges), Some((Why::RealTime, _))),
        Anomaly::LostUpdate => is_lost_update(given, edges),
        Anomaly::ReadSkew => rw == 1,
        // With one anti-dependency, the other observer is whoever saw the versions in their order.
        Anomaly::LongFork => follows_reads && (rw >= 2 || rw == 1 && ww > 0),
        Anomaly::SnapshotSkew => rw >= 2 && !adjacent && !follows_reads,
        Anomaly::WriteSkew => rw >= 2 && adjacent,
        Anomaly::Phantom => edges
            .iter()
            .any(|edge| matches!(edge.why, Why::Misses { read } if given.facts.history.op(read).in_range)),
        _ => false,
    }
}

/// Whether all lists that a cycle stands on show the order of writes to PL-1.
fn all_show_writes(given: &Given<'_, '_>, edges: &[Edge]) -> bool {
    edges.iter().all(|edge| match edge.why {
        Why::Versions { read, .. } | Why::Missing { read, .. } => given.facts.shows_writes(read),
        _ => true,
    })
}

/// Of a cycle of two edges of which one is an `rw`: why the other one is there, and the read of the `rw`.
fn skewed_pair(edges: &[Edge]) -> Option<(&Why, Op)> {
    match edges {
        [one, Edge { why: Why::Misses { read }, .. }] | [Edge { why: Why::Misses { read }, .. }, one] => {
            Some((&one.why, *read))
        }
        _ => None,
    }
}

/// Whether nothing but sessions and reads is needed besides what is forced or missed.
fn rest_is_causal(edges: &[Edge]) -> bool {
    let rest = if is_forced(&edges[0]) { &edges[1..] } else { edges };
    rest.iter().all(|edge| is_causal(edge) || kind(edge) == Kind::Rw)
}

/// Two transactions read the same version of a key, both overwrite it, and at least one misses the other's
/// write.
fn is_lost_update(given: &Given<'_, '_>, edges: &[Edge]) -> bool {
    let Some((other, read)) = skewed_pair(edges) else { return false };
    let history = given.facts.history;
    let key = history.key_of(read);
    let txns = [edges[0].from, edges[1].from].map(|node| match node {
        Node::Txn(txn) => Some(txn),
        Node::Initial => None,
    });
    let [Some(one), Some(two)] = txns else { return false };
    let same_key = match *other {
        Why::Overwritten { key: overwritten } => overwritten == key,
        Why::Versions { read, .. } | Why::Missing { read, .. } | Why::Misses { read } => {
            history.key_of(read) == key
        }
        _ => false,
    };
    let both = |holds: &dyn Fn(Txn) -> bool| holds(one) && holds(two);
    same_key
        && both(&|txn| given.facts.writes(txn, key))
        && both(&|txn| reads_version_of(given, txn, key, read))
}

/// Whether a transaction reads a key in the version that a read returned.
fn reads_version_of(given: &Given<'_, '_>, txn: Txn, key: Key, read: Op) -> bool {
    let facts = given.facts;
    let part = |op: Op| facts.external_part(facts.history.op(op), facts.history.txn_of(op));
    let mut reads = facts.history.ops_of(txn).filter(|op| op.kind.is_read() && op.key == key);
    reads.any(|op| match given.source(read) {
        Some(version) => given.source(op.id) == Some(version),
        None => facts.is_list(key) && part(op.id) == part(read),
    })
}

/// The order that a cycle contradicts.
pub(super) fn against(edges: &[Edge]) -> Against {
    if rest_is_causal(edges) { Against::Causal } else { Against::Commit }
}

/// What a cycle needs besides reads and writes. The initial state is before all others in every session.
pub(super) fn through(edges: &[Edge]) -> Through {
    let in_session = |edge: &Edge| edge.why == Why::Session && edge.from != Node::Initial;
    if edges.iter().any(|edge| edge.why == Why::RealTime) {
        Through::RealTime
    } else if edges.iter().any(in_session) {
        Through::Sessions
    } else {
        Through::Dependencies
    }
}

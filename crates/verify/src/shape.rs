//! The shape of a cycle: whether a level forbids it, and what it is called.
//!
//! Every edge is of one of four kinds. `so`: the order of a session, or real time, which counts like it.
//! `wr`: a read. `ww`: one version after another, be it seen in a list, assumed, or forced by an axiom (which
//! forces nothing but the order of two writers of a key). `rw`: a read of what was overwritten. The first
//! three are in every commit order, so without an `rw` a cycle is one at every level that knows its edges.
//! With some, a level forbids (docs/levels.md, "Dependency graphs", read along the cycle):
//!
//! | level | cycles |
//! |---|---|
//! | read committed, monotonic atomic view | one `rw` and one `wr`, of an earlier read |
//! | cursor stability | one `rw` and otherwise `ww`, all on one key |
//! | monotonic view | one `rw`, after a `wr` or `ww` that the reader has by an earlier operation |
//! | read atomic | one `rw` and one `so` or `wr` |
//! | update atomic | one `rw` and one other, or as cursor stability |
//! | causal | one `rw`, and no `ww` |
//! | prefix | every `rw` follows a `so` or `wr` |
//! | consistent view, parallel snapshot isolation | one `rw` |
//! | PL-SI, snapshot isolation | no two `rw` are neighbours |
//! | update serializability | at most one transaction only reads |
//! | PL-2.99, PL-3, serializable | all |

use isoscope_history::{Key, Op, Txn};
use isoscope_levels::{Anomaly, Level};

use super::given::Given;
use isoscope_certificate::{Against, Edge, Node, Seen, Through, Why};

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
pub(super) fn is_forbidden(given: &Given<'_, '_>, level: Level, edges: &[Edge]) -> bool {
    let single = count(edges, Kind::Rw) == 1;
    match level {
        Level::CutIsolation => false,
        _ if count(edges, Kind::Rw) == 0 => true,
        Level::AdyaPl1
        | Level::StrongSessionPl1
        | Level::StrongPl1
        | Level::AdyaPl2
        | Level::StrongSessionPl2
        | Level::StrongPl2 => false,
        Level::MonotonicAtomicView | Level::ReadCommitted => {
            matches!(skewed_pair(edges), Some((Why::ReadFrom { read: seen }, read)) if *seen < read)
        }
        Level::CursorStability => single && is_on_one_key(given, edges),
        Level::MonotonicView => is_monotonic(given, edges),
        // Overwrites of one key are one.
        Level::UpdateAtomic => single && (edges.len() == 2 || is_on_one_key(given, edges)),
        Level::UpdateSerializable => readers(given, edges) <= 1,
        Level::ReadAtomic => single && edges.len() == 2 && count(edges, Kind::Ww) == 0,
        Level::Causal => single && count(edges, Kind::Ww) == 0,
        Level::Prefix => before_rw(edges).all(|kind| matches!(kind, Kind::So | Kind::Wr)),
        Level::ConsistentView | Level::ParallelSnapshot => single,
        Level::AdyaPlSi | Level::Snapshot | Level::StrictSnapshot => {
            !before_rw(edges).any(|kind| kind == Kind::Rw)
        }
        Level::AdyaPl299 | Level::AdyaPl3 | Level::Serializable | Level::StrictSerializable => true,
    }
}

/// The key on which an edge is, if it is a `ww` or an `rw`. A forced edge is on the key that was read.
fn key(given: &Given<'_, '_>, edge: &Edge) -> Option<Key> {
    match edge.why {
        Why::Overwritten { key } => Some(key),
        Why::Versions { read, .. }
        | Why::Missing { read, .. }
        | Why::Misses { read }
        | Why::Forced { read, .. } => Some(given.facts.history.key_of(read)),
        Why::Session | Why::RealTime | Why::ReadFrom { .. } => None,
    }
}

fn is_on_one_key(given: &Given<'_, '_>, edges: &[Edge]) -> bool {
    let on = key(given, &edges[0]);
    on.is_some() && edges.iter().all(|edge| key(given, edge) == on)
}

/// One `rw`, and the edge before it is one that the reader has by an operation before the read: it read from another, or made
/// its version of a key.
fn is_monotonic(given: &Given<'_, '_>, edges: &[Edge]) -> bool {
    let history = given.facts.history;
    let Some(place) = edges.iter().position(|edge| kind(edge) == Kind::Rw) else { return false };
    let before = &edges[(place + edges.len() - 1) % edges.len()];
    let (Why::Misses { read }, Node::Txn(reader)) = (&edges[place].why, edges[place].from) else {
        return false;
    };
    let wrote = |key: Option<Key>| {
        history.ops_of(reader).any(|op| op.id < *read && op.last_write && Some(op.key) == key)
    };
    let is_earlier = match before.why {
        Why::ReadFrom { read: earlier } => earlier < *read,
        _ => wrote(key(given, before)),
    };
    count(edges, Kind::Rw) == 1 && is_earlier
}

/// How many transactions of a cycle only read.
fn readers(given: &Given<'_, '_>, edges: &[Edge]) -> usize {
    let only_reads = |txn: &Txn| !given.facts.history.ops_of(*txn).any(|op| op.kind.is_write());
    let nodes = edges.iter().filter_map(|edge| match edge.from {
        Node::Txn(txn) => Some(txn),
        Node::Initial => None,
    });
    let mut readers: Vec<Txn> = nodes.filter(only_reads).collect();
    readers.sort_unstable();
    readers.dedup();
    readers.len()
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
        Anomaly::DirtyWrite => ww + count(edges, Kind::So) == edges.len() && forced.is_none(),
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
        // Where at most one only reads, it is not the snapshots of two readers that contradict each other.
        Anomaly::WriteSkew => rw >= 2 && (adjacent || readers(given, edges) <= 1),
        Anomaly::Phantom => edges
            .iter()
            .any(|edge| matches!(edge.why, Why::Misses { read } if given.facts.history.op(read).in_range)),
        _ => false,
    }
}

/// Whether all lists that a cycle stands on show the order of writes to PL-1, to which what they lack says nothing.
fn all_show_writes(given: &Given<'_, '_>, edges: &[Edge]) -> bool {
    edges.iter().all(|edge| match edge.why {
        Why::Versions { read, .. } => given.facts.shows_writes(read),
        Why::Missing { .. } => false,
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

/// Two transactions write a key, and one overwrites the other there although it missed the other's write, or each
/// missed the other's.
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
    same_key && given.facts.writes(one, key) && given.facts.writes(two, key)
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

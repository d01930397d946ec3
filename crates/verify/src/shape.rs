//! The shape of a cycle: which levels forbid it, and which anomaly it is.
//!
//! Every edge has one of four kinds. `so`: session order, or real-time order, which counts the same. `wr`: a
//! read. `ww`: one version after another, seen in a list, assumed, or forced by an axiom (an axiom only
//! orders two writers of a key). `rw`: a read of a version that was overwritten. Every commit order contains
//! the first three, so a cycle without `rw` violates every level that has its edges. Cycles with `rw` are
//! forbidden as follows (docs/levels.md, "Dependency graphs"):
//!
//! | level | forbidden cycles |
//! |---|---|
//! | read committed, monotonic atomic view | one `rw` and one `wr`, of an earlier read |
//! | cursor stability | one `rw` and otherwise `ww`, all on one key |
//! | monotonic view | one `rw`, after a `wr` or `ww` that comes from an earlier operation of the reader |
//! | read atomic | one `rw` and one `so` or `wr` |
//! | update atomic | one `rw` and one other, or as cursor stability |
//! | causal | one `rw`, and no `ww` |
//! | prefix | every `rw` follows a `so` or `wr` |
//! | consistent view, parallel snapshot isolation | one `rw` |
//! | PL-SI, snapshot isolation | no two `rw` are adjacent |
//! | update serializability | at most one transaction is read-only |
//! | PL-2.99, PL-3, serializable | all |

use isoscope_history::{Key, Op, Txn};
use isoscope_levels::{Anomaly, Level};

use super::facts::Facts;
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

/// Whether a level forbids a cycle, given that it has all its edges.
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
            matches!(skewed_pair(edges), Some((Why::ReadFrom { read: seen }, read)) if given.facts.history.is_before(*seen, read))
        }
        Level::CursorStability => single && is_on_one_key(given, edges),
        Level::MonotonicView => is_monotonic(given, edges),
        // Several `ww` of one key in a row are one `ww`.
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

/// The key of a `ww` or an `rw`. The key of a forced edge is the one that was read.
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

/// Whether the cycle has one `rw`, and an operation of the reader before the read gives the edge before it:
/// the reader read from another transaction, or wrote its version of a key.
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
        Why::ReadFrom { read: earlier } => history.is_before(earlier, *read),
        _ => wrote(key(given, before)),
    };
    count(edges, Kind::Rw) == 1 && is_earlier
}

/// How many transactions of a cycle are read-only.
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

/// Whether an edge belongs to the causal order: session order or read-from.
pub(super) fn is_causal(edge: &Edge) -> bool {
    matches!(edge.why, Why::Session | Why::ReadFrom { .. })
}

fn is_forced(edge: &Edge) -> bool {
    matches!(edge.why, Why::Forced { .. })
}

/// Whether a cycle shows the anomaly. A more general name is accepted, too: a lost update is also a read
/// skew.
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
                given.facts.history.is_before(*seen, read)
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
        Anomaly::LongFork => rw >= 2 && follows_reads,
        Anomaly::SnapshotSkew => rw >= 2 && !adjacent,
        // If at most one transaction is read-only, the anomaly is not a contradiction between two readers'
        // snapshots.
        Anomaly::WriteSkew => rw >= 2 && (adjacent || readers(given, edges) <= 1),
        Anomaly::Phantom => misses_range(given.facts, edges),
        _ => false,
    }
}

/// Whether PL-1 accepts every list read of the cycle as an order of writes. At PL-1 a list shows nothing by
/// what it lacks.
fn all_show_writes(given: &Given<'_, '_>, edges: &[Edge]) -> bool {
    edges.iter().all(|edge| match edge.why {
        Why::Versions { read, .. } => given.facts.shows_writes(read),
        Why::Missing { .. } => false,
        _ => true,
    })
}

/// For a cycle of two edges, one of them an `rw`: the reason of the other edge, and the read of the `rw`.
fn skewed_pair(edges: &[Edge]) -> Option<(&Why, Op)> {
    match edges {
        [one, Edge { why: Why::Misses { read }, .. }] | [Edge { why: Why::Misses { read }, .. }, one] => {
            Some((&one.why, *read))
        }
        _ => None,
    }
}

/// Whether the cycle needs only session order and reads, besides its forced edge and its `rw`.
fn rest_is_causal(edges: &[Edge]) -> bool {
    let rest = if is_forced(&edges[0]) { &edges[1..] } else { edges };
    rest.iter().all(|edge| is_causal(edge) || kind(edge) == Kind::Rw)
}

/// Two transactions write a key. One of them overwrites the other although it missed the other's write, or
/// each missed the other's write.
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

/// Whether a cycle needs a range read that missed a write.
pub(super) fn misses_range(facts: &Facts<'_>, edges: &[Edge]) -> bool {
    let in_range = |read: Op| read.index() < facts.history.op_count() && facts.history.op(read).in_range;
    edges.iter().any(|edge| matches!(edge.why, Why::Misses { read } if in_range(read)))
}

/// What a cycle needs besides reads and writes. The initial state precedes all transactions without any
/// session.
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

//! The name of a violation.
//!
//! A cycle has a name by the dependencies along it. A proof by cases has many cycles, each under assumptions of its own, and
//! the last of them alone says little: that two writers are each before the other is what every contradiction about their
//! order ends with. So a name is *right* if the proof refutes every level that forbids the anomaly in all its forms: all of its
//! cycles are forbidden there. The proof is named after a cycle that has a right name, and reordered so that this cycle is the
//! last: one with the fewest anti-dependencies, then one that needs the orders that the proof needs, then a shortest.
//!
//! There is a right name. Of the cycles of a proof, take those with the most anti-dependencies, or with adjacent ones, or of
//! ranges: what they are called, or may be called by a wider name, no level forbids that allows another cycle of the proof.

use isoscope_history::{History, Key, OpKind, Txn};
use isoscope_levels::{Anomaly, Level};
use rustc_hash::FxHashSet;

use super::events::Rules;
use crate::certificate::{Case, Dependency, Edge, Node, Proof, Through, Why};
use crate::resolve::{Link, Resolved};
use crate::semantics::{Method, Semantics, Sight};

/// What a proof needs besides reads and writes.
pub(crate) fn needs(proof: &Proof) -> Through {
    proof.cycles().map(|(_, cycle)| Through::of(cycle)).max().unwrap_or_default()
}

/// What a proof shows.
pub(crate) struct Name {
    pub(crate) anomaly: Anomaly,
    pub(crate) through: Through,
    /// The node of the cycle that it is named after.
    main: usize,
}

/// Names a proof, and reorders it so that the cycle that it is named after is the last. A proof without a cycle has no name.
pub(crate) fn named(
    history: &History,
    resolved: &Resolved,
    level: Level,
    proof: Proof,
) -> (Option<Name>, Proof) {
    let through = needs(&proof);
    let candidates = || {
        proof.cycles().rev().flat_map(|(main, cycle)| {
            let special = special(history, resolved, level, cycle);
            let anomalies = special.into_iter().chain(by_shape(history, level, cycle));
            anomalies.map(move |anomaly| (cycle, Name { anomaly, through, main }))
        })
    };
    let unrefuted = unrefuted(history, resolved, level, &proof, through);
    let is_right = |name: &Name| !unrefuted.iter().any(|other| other.forbids_all(name.anomaly));
    // The last cycle if several are as simple.
    let found = candidates()
        .filter(|(_, name)| is_right(name))
        .min_by_key(|(cycle, _)| (missed(cycle), Through::of(cycle) != through, cycle.len()))
        .map(|(_, name)| name);
    let found = found.or_else(|| candidates().next().map(|(_, last)| last));
    let proof = match &found {
        Some(name) => with_last(proof, name.main),
        None => proof,
    };
    (found, proof)
}

/// The levels that a proof of a level may leave satisfied, of those that know the orders that the proof needs. A level that
/// lets ranges change says nothing about a proof that needs ranges, unless the level of the proof implies it.
fn unrefuted(
    history: &History,
    resolved: &Resolved,
    level: Level,
    proof: &Proof,
    through: Through,
) -> Vec<Level> {
    let in_range = |edge: &Edge| matches!(edge.why, Why::Misses { read } if history.op(read).in_range);
    let on_ranges = proof.cycles().any(|(_, cycle)| cycle.iter().any(in_range));
    let asked = |other: &Level| {
        let spares = on_ranges && other.lets_ranges_change() && !level.implies(*other);
        !other.implies(level) && through <= farthest(*other) && !spares
    };
    let is_open = |other: &Level| !refutes(history, resolved, *other, proof);
    Level::ALL.into_iter().filter(asked).filter(is_open).collect()
}

/// The most that a level knows besides reads and writes.
pub(crate) fn farthest(level: Level) -> Through {
    if level.has_real_time() {
        Through::RealTime
    } else if level.has_sessions() {
        Through::Sessions
    } else {
        Through::Dependencies
    }
}

/// Whether a proof shows that a level is violated: all its cycles are ones that the level forbids.
pub(crate) fn refutes(history: &History, resolved: &Resolved, level: Level, proof: &Proof) -> bool {
    let Semantics { knows_reads, spares_ranges, sight, .. } = Semantics::of(level);
    let counts = |edge: &Edge| match edge.why {
        // PL-1 knows no lists but those that show it the order of writes.
        Why::Versions { read, .. } if !knows_reads => resolved.shows_writes(history, read),
        Why::Missing { .. } => knows_reads,
        // Cursors are on single keys.
        Why::Misses { read } if spares_ranges || sight == Sight::Cursor => !history.op(read).in_range,
        _ => true,
    };
    let forbidden = |cycle: &[Edge]| cycle.iter().all(counts) && forbids(history, level, cycle);
    proof.cycles().next().is_some() && proof.cycles().all(|(_, cycle)| forbidden(cycle))
}

/// Whether a proof is one of weak levels: some order in it is forced by what a reader must have seen.
pub(crate) fn is_forced(proof: &Proof) -> bool {
    let forced = |edge: &Edge| matches!(edge.why, Why::Forced { .. });
    proof.cycles().any(|(_, cycle)| cycle.iter().any(forced))
}

/// The number of anti-dependencies.
fn missed(cycle: &[Edge]) -> usize {
    cycle.iter().filter(|edge| edge.dependency() == Dependency::Missed).count()
}

/// Whether a level forbids a cycle.
fn forbids(history: &History, level: Level, cycle: &[Edge]) -> bool {
    if Through::of(cycle) > farthest(level) {
        return false;
    }
    let missed = missed(cycle);
    let forced = |edge: &Edge| matches!(edge.why, Why::Forced { .. });
    match Rules::of(level, false) {
        _ if cycle.iter().any(forced) => false,
        Some(_) if missed == 0 => true,
        Some(Rules { sight: Sight::Cursor, .. }) => missed == 1 && is_on_one_key(history, cycle),
        Some(Rules { sight: Sight::Update, .. }) => {
            missed == 1 && (cycle.len() == 2 || is_on_one_key(history, cycle))
        }
        Some(Rules { sight: Sight::Monotonic, .. }) => missed == 1 && is_met_earlier(history, cycle),
        Some(Rules { sight: Sight::Updates, .. }) => readers(history, cycle) <= 1,
        Some(rules) if !rules.misses => missed == 1,
        Some(rules) => !rules.split || is_walk(rules, cycle),
        None => {
            let only = |wanted: &[Dependency]| cycle.iter().all(|edge| wanted.contains(&edge.dependency()));
            let row = Semantics::of(level);
            match row.sight {
                _ if row.method == Method::Alone => false,
                _ if !row.knows_reads => {
                    let is_read = |edge: &Edge| matches!(edge.why, Why::ReadFrom { .. });
                    missed == 0 && !cycle.iter().any(is_read)
                }
                _ if missed == 0 => true,
                Sight::Earlier => is_non_monotonic(history, cycle),
                Sight::Direct => {
                    missed == 1 && cycle.len() == 2 && only(&[Dependency::Seen, Dependency::Missed])
                }
                Sight::Causal => missed == 1 && only(&[Dependency::Seen, Dependency::Missed]),
                _ => false,
            }
        }
    }
}

/// Whether a cycle of transactions is one of events: a transaction that is entered at its commit is not left at its begin.
fn is_walk(rules: Rules, cycle: &[Edge]) -> bool {
    let enters_at_commit = |edge: &Edge| match edge.dependency() {
        Dependency::Seen => false,
        Dependency::Overwritten => !rules.conflicts,
        Dependency::Missed => true,
    };
    let after = cycle.iter().cycle().skip(1);
    cycle
        .iter()
        .zip(after)
        .all(|(edge, next)| !(enters_at_commit(edge) && next.dependency() == Dependency::Missed))
}

/// The key of an overwrite or an anti-dependency.
fn key_of(history: &History, edge: &Edge) -> Option<Key> {
    match edge.why {
        Why::Overwritten { key } => Some(key),
        Why::Versions { read, .. } | Why::Missing { read, .. } | Why::Misses { read } => {
            Some(history.key_of(read))
        }
        Why::Session | Why::RealTime | Why::ReadFrom { .. } | Why::Forced { .. } => None,
    }
}

/// G-cursor: overwrites and anti-dependencies on one key.
fn is_on_one_key(history: &History, cycle: &[Edge]) -> bool {
    let key = cycle.first().and_then(|edge| key_of(history, edge));
    key.is_some() && cycle.iter().all(|edge| key_of(history, edge) == key)
}

/// G-monotonic: before its read, the reader read from the one before it in the cycle, or wrote its version over it.
fn is_met_earlier(history: &History, cycle: &[Edge]) -> bool {
    let before = cycle.iter().cycle().skip(cycle.len() - 1);
    before.zip(cycle).any(|(before, edge)| match (&before.why, &edge.why) {
        (Why::ReadFrom { read: earlier }, Why::Misses { read }) => history.is_before(*earlier, *read),
        (_, Why::Misses { read }) => key_of(history, before).is_some_and(|key| {
            let mut ops = history.ops_of(history.txn_of(*read)).take_while(|op| op.id < *read);
            ops.any(|op| op.key == key && op.kind.is_write() && op.last_write)
        }),
        _ => false,
    })
}

/// Whether a transaction reads from another, and later misses it.
fn is_non_monotonic(history: &History, cycle: &[Edge]) -> bool {
    let [one, other] = cycle else { return false };
    let is_later = |seen: &Edge, missed: &Edge| match (&seen.why, &missed.why) {
        (Why::ReadFrom { read: earlier }, Why::Misses { read }) => history.is_before(*earlier, *read),
        _ => false,
    };
    is_later(one, other) || is_later(other, one)
}

/// How many transactions of a cycle only read.
fn readers(history: &History, cycle: &[Edge]) -> usize {
    let txns = cycle.iter().filter_map(|edge| edge.from.txn());
    let readers: FxHashSet<Txn> =
        txns.filter(|&txn| !history.ops_of(txn).any(|op| op.kind.is_write())).collect();
    readers.len()
}

/// The same proof, reordered so that one of its cycles, by its number among them, is the last.
pub(crate) fn with_last_cycle(proof: Proof, number: usize) -> Proof {
    let node = proof.cycles().nth(number).map(|(node, _)| node);
    match node {
        Some(node) => with_last(proof, node),
        None => proof,
    }
}

/// The same proof, in which some node is the last.
fn with_last(proof: Proof, last: usize) -> Proof {
    let children = |case: &Case| match case {
        Case::Split { cases, .. } => cases.clone(),
        Case::Cycle(_) => Vec::new(),
    };
    let renumbered = |case: Case, number: &[u32]| match case {
        Case::Split { choice, cases } => {
            Case::Split { choice, cases: cases.iter().map(|&child| number[child as usize]).collect() }
        }
        cycle @ Case::Cycle(_) => cycle,
    };
    Proof { cases: reordered(proof.cases, last, children, renumbered) }
}

/// The nodes of a tree in another order, in which some node is the last and each is before its children.
pub(crate) fn reordered<T>(
    nodes: Vec<T>,
    last: usize,
    children: impl Fn(&T) -> Vec<u32>,
    renumbered: impl Fn(T, &[u32]) -> T,
) -> Vec<T> {
    let children: Vec<Vec<u32>> = nodes.iter().map(children).collect();
    let mut parents = vec![None; nodes.len()];
    for (node, children) in children.iter().enumerate() {
        for &child in children {
            parents[child as usize] = Some(node);
        }
    }
    let mut way = vec![false; nodes.len()];
    let mut node = Some(last);
    while let Some(here) = node {
        way[here] = true;
        node = parents[here];
    }
    // Nodes that lead to it come after those that do not, each before its children.
    let mut order: Vec<usize> = Vec::with_capacity(nodes.len());
    let (mut now, mut later) = (vec![0], None);
    while let Some(node) = now.pop().or_else(|| later.take()) {
        order.push(node);
        for &child in children[node].iter().rev() {
            if way[child as usize] { later = Some(child as usize) } else { now.push(child as usize) }
        }
    }
    let mut number = vec![0; nodes.len()];
    for (&node, i) in order.iter().zip(0..) {
        number[node] = i;
    }
    let mut nodes: Vec<Option<T>> = nodes.into_iter().map(Some).collect();
    order.iter().filter_map(|&node| nodes[node].take()).map(|node| renumbered(node, &number)).collect()
}

/// What a cycle is called besides its shape.
fn special(history: &History, resolved: &Resolved, level: Level, cycle: &[Edge]) -> Option<Anomaly> {
    let lacks = |edge: &Edge| matches!(edge.why, Why::Missing { .. });
    if cycle.iter().any(lacks) && !cycle.iter().any(|edge| edge.dependency() == Dependency::Missed) {
        // That an append came later than a list that lacks it is what the circle refutes: it was lost.
        Some(Anomaly::LostAppend)
    } else if level.forbids(Anomaly::LostUpdate) && is_lost_update(history, resolved, cycle) {
        Some(Anomaly::LostUpdate)
    } else if Semantics::of(level).sight == Sight::Monotonic && is_non_monotonic(history, cycle) {
        Some(Anomaly::NonMonotonicRead)
    } else {
        is_stale_read(cycle).then_some(Anomaly::StaleRead)
    }
}

/// What a cycle may be called where a level forbids it, the simplest first.
fn by_shape(history: &History, level: Level, cycle: &[Edge]) -> Vec<Anomaly> {
    let main = main_shape(level, cycle);
    let wider = match main {
        // Overwrites in a circle are information in a circle, where the writes themselves do not show it.
        Anomaly::DirtyWrite => Some(Anomaly::CircularInformationFlow),
        // Other cycles of the proof may need the rule on write conflicts.
        Anomaly::LongFork => Some(Anomaly::SnapshotSkew),
        _ => None,
    };
    let wider = wider.filter(|&wider| level.forbids(wider));
    let in_range = |edge: &Edge| matches!(edge.why, Why::Misses { read } if history.op(read).in_range);
    let phantom = level.forbids(Anomaly::Phantom) && cycle.iter().any(in_range);
    [Some(main), wider, phantom.then_some(Anomaly::Phantom)].into_iter().flatten().collect()
}

fn main_shape(level: Level, cycle: &[Edge]) -> Anomaly {
    let Semantics { knows_reads, sight, .. } = Semantics::of(level);
    let sorts: Vec<Dependency> = cycle.iter().map(Edge::dependency).collect();
    let count = |wanted: Dependency| sorts.iter().filter(|&&sort| sort == wanted).count();
    let before = |i: usize| sorts[(i + sorts.len() - 1) % sorts.len()];
    let missed: Vec<usize> = (0..sorts.len()).filter(|&i| sorts[i] == Dependency::Missed).collect();
    match missed.len() {
        // PL-1 does not look at reads.
        0 if !knows_reads => Anomaly::DirtyWrite,
        0 if count(Dependency::Overwritten) == 0 => Anomaly::CyclicCausality,
        0 if count(Dependency::Seen) == 0 => Anomaly::DirtyWrite,
        0 => Anomaly::CircularInformationFlow,
        1 if sight == Sight::Cursor => Anomaly::LostUpdate,
        // The levels from causal on that allow some read skews.
        1 if count(Dependency::Overwritten) == 0 && sees_causes(level) => Anomaly::CausalityViolation,
        1 => Anomaly::ReadSkew,
        // Two read-only transactions may contradict each other here.
        _ if sight == Sight::Updates => Anomaly::WriteSkew,
        _ if missed.iter().any(|&i| before(i) == Dependency::Missed) => Anomaly::WriteSkew,
        _ if missed.iter().all(|&i| before(i) == Dependency::Seen) => Anomaly::LongFork,
        _ => Anomaly::SnapshotSkew,
    }
}

/// Whether a level forbids read skews as far as they are causality violations, and not all others.
fn sees_causes(level: Level) -> bool {
    level.implies(Level::Causal) && !level.forbids_all(Anomaly::ReadSkew)
}

/// Whether a transaction missed one that had returned before it began.
fn is_stale_read(cycle: &[Edge]) -> bool {
    let [one, other] = cycle else { return false };
    let missed = |edge: &Edge| edge.dependency() == Dependency::Missed;
    missed(one) && other.why == Why::RealTime || missed(other) && one.why == Why::RealTime
}

/// Whether two transactions read the same version of a key and both overwrite it, so that one misses the other.
fn is_lost_update(history: &History, resolved: &Resolved, cycle: &[Edge]) -> bool {
    let [one, other] = cycle else { return false };
    if one.dependency() != Dependency::Missed && other.dependency() != Dependency::Missed {
        return false;
    }
    let (Node::Txn(a), Node::Txn(b)) = (one.from, one.to) else { return false };
    let [Some(key), Some(same)] = [one, other].map(|edge| key_of(history, edge)) else { return false };
    let version = |txn: Txn| version_read(history, resolved, txn, key);
    key == same
        && cycle.iter().any(|edge| edge.dependency() == Dependency::Missed)
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

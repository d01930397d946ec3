//! A cycle of edges, checked: is every edge in every commit order, and do they form what the anomaly is
//! called?
//!
//! An edge `from -> to` is justified by operations of the history (see [`Why`]). Which reasons count depends
//! on the level: Adya's levels know no sessions, and an edge is forced only by what the level's axiom says a
//! reader must have seen (PHI of Framework 1). The name of the anomaly follows from the reasons along the
//! cycle ([`fits`]).

use isoscope_history::{Key, Op, OpKind, Txn, Value};
use isoscope_levels::{Anomaly, Level};

use super::facts::{Facts, Source};
use super::findings::read_of;
use super::{Refutation, ensure};
use crate::certificate::{Against, Edge, Node, Seen, Why};

/// Checks a cycle and its name.
pub(super) fn check(
    facts: &Facts<'_>,
    level: Level,
    anomaly: Anomaly,
    against: Option<Against>,
    edges: &[Edge],
) -> Result<(), Refutation> {
    let (Some(first), Some(last)) = (edges.first(), edges.last()) else {
        return Err(Refutation::new("an empty cycle"));
    };
    check_path(facts, level, edges)?;
    ensure(last.to == first.from, || "the cycle is not closed".to_owned())?;
    let forced = edges.iter().any(|edge| matches!(edge.why, Why::Forced { .. }));
    ensure(!forced || matches!(first.why, Why::Forced { .. }), || {
        "the first edge is not the forced one".to_owned()
    })?;
    ensure(fits(anomaly, edges), || "the cycle has another shape".to_owned())?;
    let rest_is_causal = edges[1..].iter().all(is_causal);
    ensure(against.is_none_or(|against| (against == Against::Causal) == rest_is_causal), || {
        "the order it contradicts is the other one".to_owned()
    })
}

fn check_path(facts: &Facts<'_>, level: Level, edges: &[Edge]) -> Result<(), Refutation> {
    for edge in edges {
        check_edge(facts, level, edge).map_err(|refutation| {
            refutation.about(format!("{} -> {}", name(facts, edge.from), name(facts, edge.to)))
        })?;
    }
    ensure(edges.windows(2).all(|pair| pair[0].to == pair[1].from), || {
        "an edge does not begin where the one before ends".to_owned()
    })
}

fn name(facts: &Facts<'_>, node: Node) -> String {
    match node {
        Node::Initial => "the initial state".to_owned(),
        Node::Txn(txn) if txn.index() < facts.history.txn_count() => facts.name(txn),
        Node::Txn(txn) => format!("{txn:?}"),
    }
}

fn is_causal(edge: &Edge) -> bool {
    matches!(edge.why, Why::Session | Why::ReadFrom { .. })
}

/// Whether the reasons along a cycle are those of an anomaly.
fn fits(anomaly: Anomaly, edges: &[Edge]) -> bool {
    let of_versions = |edge: &Edge| matches!(edge.why, Why::Versions { .. } | Why::Missing { .. });
    let rest = &edges[1..];
    let forced = match &edges[0].why {
        Why::Forced { read, seen } => Some((*read, seen)),
        _ => None,
    };
    match anomaly {
        Anomaly::CyclicCausality => edges.iter().all(is_causal),
        Anomaly::DirtyWrite => edges.iter().all(of_versions),
        Anomaly::CircularInformationFlow => {
            let flow = |edge: &Edge| is_causal(edge) || of_versions(edge);
            edges.iter().all(flow) && edges.iter().any(is_causal) && edges.iter().any(of_versions)
        }
        Anomaly::LostAppend => edges.iter().any(|edge| matches!(edge.why, Why::Missing { .. })),
        Anomaly::NonMonotonicRead => matches!(forced, Some((read, Seen::Read(seen))) if *seen < read),
        Anomaly::FracturedRead => matches!(forced, Some((_, Seen::Read(_)))),
        Anomaly::StaleSessionRead => matches!(forced, Some((_, Seen::Session))),
        Anomaly::CausalityViolation => forced.is_some() && rest.iter().all(is_causal),
        Anomaly::ConflictingCommitOrder => forced.is_some() && !rest.iter().all(is_causal),
        _ => false,
    }
}

fn check_edge(facts: &Facts<'_>, level: Level, edge: &Edge) -> Result<(), Refutation> {
    for node in [edge.from, edge.to] {
        if let Node::Txn(txn) = node {
            let present = txn.index() < facts.history.txn_count() && facts.is_present(txn);
            ensure(present, || format!("{} is absent", name(facts, node)))?;
        }
    }
    // Framework 1's levels, the weakest of which is read committed, have sessions and forced edges.
    let has_axiom = level.implies(Level::ReadCommitted);
    match &edge.why {
        Why::Session => {
            ensure(has_axiom, || format!("{level} knows no sessions"))?;
            check_session(facts, edge.from, edge.to)
        }
        Why::ReadFrom { read } => {
            ensure(level != Level::AdyaPl1, || format!("{level} knows no reads"))?;
            check_read_from(facts, edge.from, edge.to, *read)
        }
        Why::Versions { read, index } => check_versions(facts, edge, *read, *index as usize),
        Why::Missing { read, append } => check_missing(facts, edge, *read, *append),
        Why::Forced { read, seen } => {
            ensure(has_axiom, || format!("{level} forces no edges"))?;
            check_forced(facts, level, edge, *read, seen)
        }
        Why::RealTime | Why::Overwritten { .. } | Why::Misses { .. } => {
            Err(Refutation::new("no verifier yet for such an edge"))
        }
    }
}

fn check_session(facts: &Facts<'_>, from: Node, to: Node) -> Result<(), Refutation> {
    let earlier = match (from, to) {
        (Node::Initial, Node::Txn(_)) => true,
        (Node::Txn(t), Node::Txn(s)) => t < s && facts.history.session_of(t) == facts.history.session_of(s),
        (_, Node::Initial) => false,
    };
    ensure(earlier, || "not earlier in the same session".to_owned())
}

/// The read must be an operation of `to` and be determined.
fn check_read_from(facts: &Facts<'_>, from: Node, to: Node, read: Op) -> Result<(), Refutation> {
    let (_, reader) = read_of(facts, read)?;
    ensure(to == Node::Txn(reader) && facts.source(read) == Source::From(from), || {
        format!("{} is not from there", facts.text(read))
    })
}

/// The external part of a list read from which versions may be learned. A list that is wrong by itself still
/// tells in which order it holds what was appended once.
fn external_part<'h>(facts: &Facts<'h>, read: Op) -> Result<(Key, &'h [Value]), Refutation> {
    let (view, reader) = read_of(facts, read)?;
    let tells = view.kind == OpKind::ReadList && facts.is_list(view.key) && !facts.is_repeated(view.key);
    match facts.external_part(view, reader) {
        Some(part) if tells && view.value != Value::UNKNOWN => Ok((view.key, part)),
        _ => Err(Refutation::new(format!("{} shows no versions", facts.text(read)))),
    }
}

/// Who appended an element that a list holds once.
fn appender(facts: &Facts<'_>, key: Key, part: &[Value], element: Value) -> Option<Node> {
    let entry = facts.appends.get(&(key, element))?;
    let once = part.iter().filter(|&&other| other == element).count() == 1;
    match entry.live {
        Some(append) => once.then(|| Node::Txn(facts.history.txn_of(append))),
        None => (once && entry.initial).then_some(Node::Initial),
    }
}

fn check_versions(facts: &Facts<'_>, edge: &Edge, read: Op, index: usize) -> Result<(), Refutation> {
    let (key, part) = external_part(facts, read)?;
    let neighbours = index.checked_sub(1).and_then(|before| part.get(before).zip(part.get(index)));
    let fits = neighbours.is_some_and(|(&before, &after)| {
        appender(facts, key, part, before) == Some(edge.from)
            && appender(facts, key, part, after) == Some(edge.to)
    });
    ensure(fits && edge.from != edge.to, || {
        format!("{} does not show one after the other at {index}", facts.text(read))
    })
}

fn check_missing(facts: &Facts<'_>, edge: &Edge, read: Op, append: Op) -> Result<(), Refutation> {
    let (key, part) = external_part(facts, read)?;
    let last = match part.last() {
        Some(&element) => appender(facts, key, part, element),
        None => Some(Node::Initial),
    };
    ensure(last == Some(edge.from), || format!("{} ends with another's append", facts.text(read)))?;
    ensure(append.index() < facts.history.op_count(), || format!("{append:?} is no operation"))?;
    let view = facts.history.op(append);
    let fits = view.kind == OpKind::Append
        && view.key == key
        && Node::Txn(facts.history.txn_of(append)) == edge.to
        && !part.contains(&view.value);
    ensure(fits, || format!("{} misses no such append", facts.text(read)))
}

/// t3 reads x from `to`; `from` writes x too, and t3 must have seen it.
fn check_forced(
    facts: &Facts<'_>,
    level: Level,
    edge: &Edge,
    read: Op,
    seen: &Seen,
) -> Result<(), Refutation> {
    let (view, reader) = read_of(facts, read)?;
    ensure(facts.source(read) == Source::From(edge.to), || {
        format!("{} is not from there", facts.text(read))
    })?;
    let Node::Txn(overwritten) = edge.from else {
        return Err(Refutation::new("nothing forces the initial state"));
    };
    ensure(edge.from != edge.to && overwritten != reader, || "three transactions are needed".to_owned())?;
    ensure(facts.writes(overwritten, view.key), || {
        format!("{} does not write the key of {}", facts.name(overwritten), facts.text(read))
    })?;
    check_seen(facts, level, overwritten, reader, read, seen)
}

/// PHI(t2, t3) of the level.
fn check_seen(
    facts: &Facts<'_>,
    level: Level,
    seen_txn: Txn,
    reader: Txn,
    read: Op,
    seen: &Seen,
) -> Result<(), Refutation> {
    let (from, to) = (Node::Txn(seen_txn), Node::Txn(reader));
    match seen {
        Seen::Read(earlier) => {
            let in_order = *earlier < read || level.implies(Level::ReadAtomic);
            ensure(in_order, || format!("at {level} only earlier reads count"))?;
            check_read_from(facts, from, to, *earlier)
        }
        Seen::Session => {
            ensure(level.implies(Level::ReadAtomic), || format!("{level} has no such axiom"))?;
            check_session(facts, from, to)
        }
        Seen::Causal(path) => {
            ensure(level.implies(Level::Causal), || format!("{level} has no such axiom"))?;
            ensure(path.iter().all(is_causal), || "a path of other than causal edges".to_owned())?;
            check_path(facts, level, path)?;
            let ends = path.first().zip(path.last()).map(|(first, last)| (first.from, last.to));
            ensure(ends == Some((from, to)), || "a path between other transactions".to_owned())
        }
    }
}

//! Checks a cycle: every edge must be justified, and the level must forbid the cycle.
//!
//! Operations of the history justify an edge `from -> to` (see [`Why`]), or an assumption of the case it
//! belongs to ([`Given`]). The level determines which reasons count: Adya's levels ignore sessions, only
//! strict levels use real-time order, and an edge is forced only by what the level's axiom says a reader must
//! have seen (PHI in docs/levels.md, "Commit orders"). The reasons along the cycle determine which levels
//! forbid it and which anomaly it is (`shape.rs`).

use isoscope_history::{Key, Op, OpKind, OpView, Txn, Value};
use isoscope_levels::Level;
use rustc_hash::FxHashSet;

use super::facts::Facts;
use super::findings::read_of;
use super::given::Given;
use super::{Refutation, ensure, realtime, shape};
use isoscope_certificate::{Edge, Node, Seen, Why};

/// Checks that every edge of a cycle is justified, and that the level forbids its shape.
pub(super) fn check(given: &Given<'_, '_>, level: Level, edges: &[Edge]) -> Result<(), Refutation> {
    let (Some(first), Some(last)) = (edges.first(), edges.last()) else {
        return Err(Refutation::new("an empty cycle"));
    };
    check_path(given, level, edges)?;
    ensure(last.to == first.from, || "the cycle is not closed".to_owned())?;
    let is_forced = |edge: &Edge| matches!(edge.why, Why::Forced { .. });
    ensure(is_forced(first) || !edges.iter().any(is_forced), || {
        "the first edge is not the forced one".to_owned()
    })?;
    ensure(shape::is_forbidden(given, level, edges), || format!("{level} does not forbid such a cycle"))
}

fn check_path(given: &Given<'_, '_>, level: Level, edges: &[Edge]) -> Result<(), Refutation> {
    for edge in edges {
        check_edge(given, level, edge).map_err(|refutation| {
            refutation.about(format!("{} -> {}", name(given.facts, edge.from), name(given.facts, edge.to)))
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

fn check_edge(given: &Given<'_, '_>, level: Level, edge: &Edge) -> Result<(), Refutation> {
    let facts = given.facts;
    for node in [edge.from, edge.to] {
        if let Node::Txn(txn) = node {
            let present = txn.index() < facts.history.txn_count() && given.is_present(txn);
            ensure(present, || format!("{} is absent", name(facts, node)))?;
        }
    }
    match &edge.why {
        Why::Session => {
            // A cycle with forced edges may pass through the initial state, which precedes every transaction.
            let is_initial = edge.from == Node::Initial && level.implies(Level::MonotonicAtomicView);
            ensure(level.has_sessions() || is_initial, || format!("{level} knows no sessions"))?;
            check_session(facts, edge.from, edge.to)
        }
        Why::RealTime => {
            ensure(level.has_real_time(), || format!("{level} knows no real time"))?;
            check_real_time(facts, edge.from, edge.to)
        }
        Why::ReadFrom { read } => {
            ensure(level.implies(Level::AdyaPl2), || format!("{level} knows no reads"))?;
            check_read_from(given, edge.from, edge.to, *read)
        }
        Why::Versions { read, index } => check_versions(given, level, edge, *read, *index as usize),
        Why::Missing { read, append } => check_missing(given, level, edge, *read, *append),
        Why::Overwritten { key } => match (edge.from, edge.to) {
            (Node::Txn(earlier), Node::Txn(later)) if given.is_overwritten(*key, earlier, later) => Ok(()),
            _ => Err(Refutation::new("that one overwrote the other is not assumed here")),
        },
        Why::Misses { read } => {
            let (view, _) = read_of(given, *read)?;
            let on_items = matches!(level, Level::AdyaPl299 | Level::CursorStability);
            ensure(!(view.in_range && on_items), || format!("{level} lets ranges change"))?;
            check_misses(given, level, edge, *read)
        }
        Why::Forced { read, seen } => {
            // Monotonic atomic view is the weakest level with such an axiom: it is read committed without
            // sessions.
            let has_axiom = level.implies(Level::MonotonicAtomicView);
            ensure(has_axiom, || format!("{level} forces no edges"))?;
            check_forced(given, level, edge, *read, seen)
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

fn check_real_time(facts: &Facts<'_>, from: Node, to: Node) -> Result<(), Refutation> {
    let earlier = match (from, to) {
        (Node::Txn(t), Node::Txn(s)) => realtime::precedes(facts, t, s),
        _ => false,
    };
    ensure(earlier, || "the first had not returned before the second was invoked".to_owned())
}

/// The read must be an operation of `to`, and its source known or assumed.
fn check_read_from(given: &Given<'_, '_>, from: Node, to: Node, read: Op) -> Result<(), Refutation> {
    let (_, reader) = read_of(given, read)?;
    ensure(to == Node::Txn(reader) && given.source(read) == Some(from), || {
        format!("{} is not from there", given.facts.text(read))
    })
}

/// The list that a read returned, if it shows version order. Even a wrong list shows the order of elements
/// that were appended once. At PL-1 it does so only if committed transactions can have produced it.
fn list_of<'h>(given: &Given<'_, 'h>, level: Level, read: Op) -> Result<(Key, &'h [Value]), Refutation> {
    let (facts, (view, _)) = (given.facts, read_of(given, read)?);
    let is_list = view.kind == OpKind::ReadList && facts.is_list(view.key) && view.value != Value::UNKNOWN;
    ensure(is_list && (level.implies(Level::AdyaPl2) || facts.shows_writes(read)), || {
        format!("{} shows no versions", facts.text(read))
    })?;
    Ok((view.key, facts.history.table().elements(view.value)))
}

/// The transaction that appended an element, if the element was appended once and the list holds it once.
fn appender(facts: &Facts<'_>, key: Key, part: &[Value], index: usize) -> Option<Node> {
    let initial = facts.initial_elements(key);
    if index < initial.len() {
        return part.starts_with(initial).then_some(Node::Initial);
    }
    let element = *part.get(index)?;
    let append = facts.only_append(key, element)?;
    let from = if part.starts_with(initial) { initial.len() } else { 0 };
    let once = part[from..].iter().filter(|&&other| other == element).count() == 1;
    once.then(|| Node::Txn(facts.history.txn_of(append)))
}

fn check_versions(
    given: &Given<'_, '_>,
    level: Level,
    edge: &Edge,
    read: Op,
    index: usize,
) -> Result<(), Refutation> {
    let (facts, (key, list)) = (given.facts, list_of(given, level, read)?);
    let earlier = |place: usize| appender(facts, key, list, place) == Some(edge.from);
    let fits = (0..index.min(list.len())).any(earlier) && appender(facts, key, list, index) == Some(edge.to);
    ensure(fits && edge.from != edge.to, || {
        format!("{} does not show one after the other at {index}", facts.text(read))
    })
}

fn check_missing(
    given: &Given<'_, '_>,
    level: Level,
    edge: &Edge,
    read: Op,
    append: Op,
) -> Result<(), Refutation> {
    let (facts, (key, list)) = (given.facts, list_of(given, level, read)?);
    ensure(level.implies(Level::AdyaPl2), || format!("what a list lacks may be lost at {level}"))?;
    let holds = |place: usize| appender(facts, key, list, place) == Some(edge.from);
    let is_shown = list.is_empty() && edge.from == Node::Initial || (0..list.len()).any(holds);
    ensure(is_shown, || format!("{} holds nothing of the first", facts.text(read)))?;
    ensure(append.index() < facts.history.op_count(), || format!("{append:?} is no operation"))?;
    let view = facts.history.op(append);
    let appended = facts.after_initial(key, list).unwrap_or(list);
    let fits = view.kind == OpKind::Append
        && view.key == key
        && Node::Txn(facts.history.txn_of(append)) == edge.to
        && !appended.contains(&view.value);
    ensure(fits, || format!("{} misses no such append", facts.text(read)))
}

/// Checks an anti-dependency: `from` read a version of a key that `to` overwrote. Either the writer of the
/// version precedes `to`, or the version is a list without an append of `to`.
fn check_misses(given: &Given<'_, '_>, level: Level, edge: &Edge, read: Op) -> Result<(), Refutation> {
    let (facts, (view, reader)) = (given.facts, read_of(given, read)?);
    ensure(edge.from == Node::Txn(reader), || format!("{} is another's read", facts.text(read)))?;
    let Node::Txn(writer) = edge.to else {
        return Err(Refutation::new("the initial state overwrites nothing"));
    };
    ensure(writer != reader && facts.writes(writer, view.key), || {
        format!("{} does not overwrite what {} returned", facts.name(writer), facts.text(read))
    })?;
    let overwritten = match given.source(read) {
        Some(Node::Initial) => true,
        Some(Node::Txn(version)) => {
            given.is_overwritten(view.key, version, writer)
                || level.implies(Level::StrictSnapshot) && realtime::precedes(facts, version, writer)
                || lacks_append(facts, view, reader, writer)
                || follows(given, view.key, version, writer)
        }
        None => lacks_append(facts, view, reader, writer),
    };
    ensure(overwritten, || {
        format!("{} is not known to miss a write of {}", facts.text(read), facts.name(writer))
    })
}

/// Whether one version of a key certainly follows another. At every level that knows reads, a transaction that reads a version and
/// writes the key comes after the writer of that version, and a list shows the order of its appends.
fn follows(given: &Given<'_, '_>, key: Key, version: Txn, writer: Txn) -> bool {
    let history = given.facts.history;
    let (mut open, mut met) = (vec![writer], FxHashSet::from_iter([writer]));
    while let Some(writer) = open.pop() {
        let reads = history.ops_of(writer).filter(|op| op.kind.is_read() && op.key == key);
        let sources = reads.filter_map(|read| given.source(read.id)).filter_map(|source| match source {
            Node::Txn(before) => Some(before).filter(|&before| given.facts.writes(before, key)),
            Node::Initial => None,
        });
        for before in sources.chain(given.facts.before_in_lists(key, writer).iter().copied()) {
            if before == version {
                return true;
            }
            if met.insert(before) {
                open.push(before);
            }
        }
    }
    false
}

/// Whether a list read lacks an append of a transaction. A version holds either all of a transaction's
/// appends or none.
fn lacks_append(facts: &Facts<'_>, read: OpView, reader: Txn, writer: Txn) -> bool {
    let is_list = read.kind == OpKind::ReadList && facts.is_list(read.key) && read.value != Value::UNKNOWN;
    let Some(part) = facts.external_part(read, reader).filter(|_| is_list) else { return false };
    let part = facts.after_initial(read.key, part).unwrap_or(part);
    let mut appends =
        facts.history.ops_of(writer).filter(|op| op.key == read.key && op.kind == OpKind::Append);
    appends.any(|append| !part.contains(&append.value))
}

/// A third transaction t3 reads x from `to`; `from` also writes x, and t3 must have seen `from`.
fn check_forced(
    given: &Given<'_, '_>,
    level: Level,
    edge: &Edge,
    read: Op,
    seen: &Seen,
) -> Result<(), Refutation> {
    let (facts, (view, reader)) = (given.facts, read_of(given, read)?);
    ensure(given.source(read) == Some(edge.to), || format!("{} is not from there", facts.text(read)))?;
    let Node::Txn(overwritten) = edge.from else {
        return Err(Refutation::new("nothing forces the initial state"));
    };
    ensure(edge.from != edge.to && overwritten != reader, || "three transactions are needed".to_owned())?;
    ensure(facts.writes(overwritten, view.key), || {
        format!("{} does not write the key of {}", facts.name(overwritten), facts.text(read))
    })?;
    check_seen(given, level, overwritten, reader, read, seen)
}

/// PHI(t2, t3) of the level.
fn check_seen(
    given: &Given<'_, '_>,
    level: Level,
    seen_txn: Txn,
    reader: Txn,
    read: Op,
    seen: &Seen,
) -> Result<(), Refutation> {
    let (from, to) = (Node::Txn(seen_txn), Node::Txn(reader));
    // From consistent view on, a reader must have seen its causal past, even at levels without sessions.
    let is_consistent = level.implies(Level::ConsistentView);
    match seen {
        Seen::Read(earlier) => {
            let in_order = given.facts.history.is_before(*earlier, read)
                || level.implies(Level::ReadAtomic)
                || is_consistent;
            ensure(in_order, || format!("at {level} only earlier reads count"))?;
            check_read_from(given, from, to, *earlier)
        }
        Seen::Session => {
            ensure(level.implies(Level::ReadAtomic), || format!("{level} has no such axiom"))?;
            check_session(given.facts, from, to)
        }
        Seen::Causal(path) => {
            ensure(level.implies(Level::Causal) || is_consistent, || format!("{level} has no such axiom"))?;
            ensure(path.iter().all(shape::is_causal), || {
                "a path with edges other than causal ones".to_owned()
            })?;
            check_path(given, level, path)?;
            let ends = path.first().zip(path.last()).map(|(first, last)| (first.from, last.to));
            ensure(ends == Some((from, to)), || "a path between other transactions".to_owned())
        }
    }
}

//! Cycles that need no axiom: of sessions, reads and the order of versions alone.
//!
//! One cycle is reported for each strongly connected component, a short one: it leads through one edge of the
//! kind in question, of which a few are tried.

use isoscope_history::{History, Op, Txn};
use isoscope_levels::Anomaly;
use isoscope_order::{Components, Graph};

use crate::certificate::{Edge, Evidence, Instance, Limit, Node, Through, Why};
use crate::resolve::{Resolved, VersionEdge};
use crate::trace::{self, Relations, Tracer, Trail};
use crate::watch::{Watch, go_on};

/// How many edges of a component are tried for a short cycle.
const TRIES: usize = 64;

/// A cycle and what it is called.
pub(crate) struct Cycle {
    pub(crate) anomaly: Anomaly,
    pub(crate) through: Through,
    pub(crate) instance: Instance,
}

/// The edges of some relations.
pub(crate) fn edges(history: &History, resolved: &Resolved, relations: Relations) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    for session in history.sessions().filter(|_| relations.sessions()) {
        let mut before: Option<Txn> = None;
        for txn in history.txns_of(session).filter(|txn| resolved.present[txn.index()]) {
            edges.extend(before.map(|before| (before.0, txn.0)));
            before = Some(txn);
        }
    }
    for txn in history.txns().filter(|_| relations.reads()) {
        let links = &resolved.links[history.op_range(txn)];
        edges.extend(links.iter().filter_map(|link| Some((link.txn()?.0, txn.0))));
    }
    if relations.versions() {
        edges.extend(versions(resolved, relations).map(|edge| (edge.from.0, edge.to.0)));
    }
    edges
}

/// What lists say about the order of versions, as far as the other relations do not.
pub(crate) fn versions(resolved: &Resolved, relations: Relations) -> impl Iterator<Item = &VersionEdge> {
    let all: Box<dyn Iterator<Item = &VersionEdge>> = match relations {
        Relations::Versions => Box::new(resolved.writes()),
        _ => Box::new(resolved.versions.iter()),
    };
    all.filter(move |edge| !(relations.reads() && edge.is_a_read()))
}

/// The components of sessions and reads, if they have a cycle.
pub(crate) fn causal_cycles(history: &History, resolved: &Resolved) -> Option<Components> {
    let graph = Graph::from_edges(history.txn_count(), &edges(history, resolved, Relations::Causal));
    let components = Components::find(&graph);
    components.sizes.iter().any(|&size| size > 1).then_some(components)
}

/// A cycle for each component of some relations: through a read where there are no versions, through a pair of
/// versions where there are.
pub(crate) fn find(
    history: &History,
    resolved: &Resolved,
    relations: Relations,
    watch: &dyn Watch,
) -> Result<Vec<Cycle>, Limit> {
    go_on(watch)?;
    let graph = Graph::from_edges(history.txn_count(), &edges(history, resolved, relations));
    let components = Components::find(&graph);
    if components.sizes.iter().all(|&size| size == 1) {
        return Ok(Vec::new());
    }
    let tracer = match relations {
        Relations::Versions => Tracer::of_writes(history, resolved),
        _ => Tracer::new(history, resolved, &[], None),
    };
    let mut trail = Trail::default();
    let mut closing: Vec<(u32, Edge)> = closing_edges(history, resolved, relations)
        .filter_map(|edge| {
            let (Node::Txn(from), Node::Txn(to)) = (edge.from, edge.to) else { return None };
            let component = components.of[from.index()];
            (component == components.of[to.index()]).then_some((component, edge))
        })
        .collect();
    closing.sort_by_key(|(component, _)| *component);
    let mut found = Vec::new();
    for (edges, number) in closing.chunk_by(|a, b| a.0 == b.0).zip(0..) {
        go_on(watch)?;
        let within = |txn: Txn| components.of[txn.index()] == edges[0].0;
        let cycles = edges
            .iter()
            .take(TRIES)
            .filter_map(|(_, edge)| close(&tracer, edge, relations, within, &mut trail));
        let Some(cycle) = cycles.min_by_key(|cycle| (Through::of(cycle), cycle.len())) else { continue };
        let (anomaly, through) = (name(history, resolved, &cycle), Through::of(&cycle));
        let instance = Instance { evidence: Evidence::Cycle(cycle), component: Some(number) };
        found.push(Cycle { anomaly, through, instance });
    }
    Ok(found)
}

/// A topological order of some relations that have no cycle.
pub(crate) fn order(history: &History, resolved: &Resolved, relations: Relations) -> Vec<Txn> {
    let graph = Graph::from_edges(history.txn_count(), &edges(history, resolved, relations));
    let components = Components::find(&graph);
    let mut order: Vec<Txn> = history.txns().filter(|txn| resolved.present[txn.index()]).collect();
    order.sort_by_key(|txn| components.of[txn.index()]);
    order
}

/// The edges of the kind that a cycle in question must have.
fn closing_edges<'a>(
    history: &'a History,
    resolved: &'a Resolved,
    relations: Relations,
) -> Box<dyn Iterator<Item = Edge> + 'a> {
    if relations.versions() {
        Box::new(versions(resolved, relations).map(|edge| Edge {
            from: Node::Txn(edge.from),
            to: Node::Txn(edge.to),
            why: edge.why.clone(),
        }))
    } else {
        Box::new(history.txns().flat_map(move |txn| {
            history.op_range(txn).filter_map(move |op| {
                let from = Node::Txn(resolved.links[op].txn()?);
                Some(Edge { from, to: Node::Txn(txn), why: Why::ReadFrom { read: Op::at(op) } })
            })
        }))
    }
}

fn close(
    tracer: &Tracer<'_>,
    edge: &Edge,
    relations: Relations,
    within: impl Fn(Txn) -> bool,
    trail: &mut Trail,
) -> Option<Vec<Edge>> {
    let (Node::Txn(from), Node::Txn(to)) = (edge.from, edge.to) else { return None };
    let mut cycle = vec![edge.clone()];
    for next in tracer.path(to, from, relations, within, trail)? {
        trace::join(&mut cycle, next);
    }
    trace::join_ends(&mut cycle);
    Some(cycle)
}

/// What a cycle without forced edges is called.
fn name(history: &History, resolved: &Resolved, cycle: &[Edge]) -> Anomaly {
    let shows_writes = |edge: &Edge| match edge.why {
        Why::Versions { read, .. } => resolved.shows_writes(history, read),
        _ => true,
    };
    let causal = |edge: &Edge| matches!(edge.why, Why::Session | Why::ReadFrom { .. });
    let missing = |edge: &Edge| matches!(edge.why, Why::Missing { .. });
    if cycle.iter().all(causal) {
        Anomaly::CyclicCausality
    } else if cycle.iter().any(missing) {
        // That an append came later than a list that lacks it is what the circle refutes: it was lost.
        Anomaly::LostAppend
    } else if !cycle.iter().any(causal) && cycle.iter().all(shows_writes) {
        Anomaly::DirtyWrite
    } else {
        Anomaly::CircularInformationFlow
    }
}

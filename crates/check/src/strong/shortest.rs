//! The simplest cycle of every component of the certain dependencies (`facts.rs`) that a level forbids.
//!
//! Simplest is: with the fewest anti-dependencies; then without real time, and without sessions, if that can be; then with the
//! fewest steps. A cycle with fewer anti-dependencies is forbidden by weaker levels, so the name that it
//! gives to a violation is the weakest that is true.
//!
//! For each class of cycles, those with none, one and more anti-dependencies, the strongly connected components show which nodes can be on
//! such a cycle, and a search from each of them finds the simplest: breadth first, or by the number of anti-dependencies and then of
//! steps. A search never goes deeper than the best cycle so far. All searches of a level together take
//! at most [`MOST_STEPS`]; what was found by then is the answer, which in large components may not be the shortest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use isoscope_order::{Components, Graph};

use super::events::Events;
use super::facts::{Arc, By, Facts};
use crate::certificate::{Edge, Through};
use crate::semantics::Sight;
use crate::watch::{Turnstile, Watch};

/// The most nodes that all searches of a level visit together.
const MOST_STEPS: u64 = 1 << 25;

/// The simplest cycle of a component.
pub(super) struct Simplest {
    pub(super) cycle: Vec<Edge>,
    /// How many anti-dependencies it has.
    pub(super) missed: u32,
    /// Which component it lies in.
    pub(super) component: u32,
}

/// All components with a forbidden cycle.
#[derive(Default)]
pub(super) struct Found {
    pub(super) cycles: Vec<Simplest>,
    /// The component of each node.
    pub(super) of: Vec<u32>,
    /// Whether a limit was reached, so that some cycles may be missing.
    pub(super) stopped: bool,
}

/// The part of the facts that lies on cycles. Its nodes and components are numbered anew, in their order.
struct Cyclic<'f> {
    facts: &'f Facts<'f>,
    /// Of each node, its number among the facts.
    node: Vec<u32>,
    /// The component of each node.
    of: Vec<u32>,
    /// Of each component, its number among all of the facts.
    component: Vec<u32>,
    /// By the node they lead from.
    arcs: Vec<Arc>,
}

impl<'f> Cyclic<'f> {
    fn new(facts: &'f Facts<'f>, all: &Components) -> Self {
        let is_cyclic = |component: u32| all.sizes[component as usize] > 1;
        let component: Vec<u32> = (0..all.sizes.len() as u32).filter(|&one| is_cyclic(one)).collect();
        let mut number = vec![0u32; facts.nodes as usize];
        let mut node = Vec::new();
        for one in (0..facts.nodes).filter(|&one| is_cyclic(all.of[one as usize])) {
            number[one as usize] = node.len() as u32;
            node.push(one);
        }
        let place = |one: &u32| component.partition_point(|other| *other < all.of[*one as usize]) as u32;
        let of = node.iter().map(place).collect();
        let inside = facts.arcs.iter().filter(|arc| {
            let component = all.of[arc.from as usize];
            component == all.of[arc.to as usize] && is_cyclic(component)
        });
        let renumbered =
            |arc: &Arc| Arc { from: number[arc.from as usize], to: number[arc.to as usize], by: arc.by };
        let arcs = inside.map(renumbered).collect();
        Cyclic { facts, node, of, component, arcs }
    }

    /// A path with the numbers of the facts.
    fn renumbered(&self, path: &[Arc]) -> Vec<Arc> {
        let node = |one: u32| self.node[one as usize];
        path.iter().map(|arc| Arc { from: node(arc.from), to: node(arc.to), by: arc.by }).collect()
    }

    fn is_commit(&self, node: u32) -> bool {
        let Events { rules, first_tick, .. } = *self.facts.events;
        let event = self.node[node as usize];
        event < first_tick && event == rules.commit(rules.txn(event))
    }
}

/// Some of these arcs, and their components.
struct Layer {
    arcs: Vec<Arc>,
    starts: Vec<u32>,
    components: Components,
}

impl Layer {
    fn new(nodes: usize, arcs: Vec<Arc>) -> Self {
        let edges: Vec<(u32, u32)> = arcs.iter().map(|arc| (arc.from, arc.to)).collect();
        let components = Components::find(&Graph::from_edges(nodes, &edges));
        let mut starts = vec![0; nodes + 1];
        for arc in &arcs {
            starts[arc.from as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        Layer { arcs, starts, components }
    }

    fn arcs_of(&self, node: u32) -> std::ops::Range<usize> {
        self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize
    }
}

/// Finds them. Where a limit is reached, some may be missing.
pub(super) fn find(facts: &Facts<'_>, watch: &dyn Watch) -> Found {
    let rules = facts.events.rules;
    let edges: Vec<(u32, u32)> = facts.arcs.iter().map(|arc| (arc.from, arc.to)).collect();
    let all = Components::find(&Graph::from_edges(facts.nodes as usize, &edges));
    if all.sizes.iter().all(|&size| size == 1) {
        return Found { of: all.of, ..Found::default() };
    }
    let cyclic = Cyclic::new(facts, &all);
    let nodes = cyclic.node.len();
    let mut best: Vec<Option<Simplest>> = Vec::new();
    best.resize_with(cyclic.component.len(), || None);
    let mut search = Search::new(nodes, watch);
    let mut kinds = vec![Through::Dependencies];
    kinds.extend(rules.sessions.then_some(Through::Sessions));
    kinds.extend(rules.real_time.then_some(Through::RealTime));
    // Where a level forbids only some cycles with anti-dependencies, these are for the search.
    let most = match rules.sight {
        Sight::Parallel if rules.misses => 2,
        Sight::Parallel | Sight::Updates => 1,
        _ => 0,
    };
    for missed in 0..=most {
        for &through in &kinds {
            let counts = |arc: &&Arc| {
                is_open(best[cyclic.of[arc.from as usize] as usize].as_ref(), missed)
                    && arc.by.through() <= through
                    && (missed == 2 || !arc.by.is_missed())
            };
            let arcs: Vec<Arc> = cyclic.arcs.iter().filter(counts).copied().collect();
            if arcs.is_empty() {
                continue;
            }
            let layer = Layer::new(nodes, arcs);
            for (component, path) in layer_cycles(&layer, missed, &cyclic, &best, &mut search) {
                let cycle = facts.edges(&cyclic.renumbered(&path));
                let missed = path.iter().filter(|arc| arc.by.is_missed()).count() as u32;
                let all = cyclic.component[component as usize];
                best[component as usize] = Some(Simplest { cycle, missed, component: all });
            }
        }
    }
    let stopped = search.turnstile.reached().is_some();
    Found { cycles: best.into_iter().flatten().collect(), of: all.of, stopped }
}

/// Whether a component may have a cycle of a class that is simpler than its simplest so far. Of cycles with several anti-dependencies,
/// one that needs sessions or real time is simpler only if it has fewer of them.
fn is_open(best: Option<&Simplest>, class: u32) -> bool {
    best.is_none_or(|best| class == 2 && best.missed > 2)
}

/// The simplest cycle of a class in every component that has no simpler one.
fn layer_cycles(
    layer: &Layer,
    class: u32,
    cyclic: &Cyclic<'_>,
    best: &[Option<Simplest>],
    search: &mut Search<'_>,
) -> Vec<(u32, Vec<Arc>)> {
    let mut found: Vec<Option<Vec<Arc>>> = vec![None; best.len()];
    let best_of = |node: u32| best[cyclic.of[node as usize] as usize].as_ref();
    let open = |node: u32| is_open(best_of(node), class);
    let mut keep = |target: u32, starts: &[Arc], within: Within, search: &mut Search<'_>| {
        let place = &mut found[cyclic.of[target as usize] as usize];
        // Less than the best of this class so far, and with fewer anti-dependencies than the best of another.
        let most = match (place.as_ref(), best_of(target)) {
            (Some(path), _) => cost(path) - 1,
            (None, Some(best)) => (u64::from(best.missed) * MISSED) - 1,
            (None, None) => u64::MAX,
        };
        if let Some(path) = search.path(layer, starts, target, within, most) {
            *place = Some(path);
        }
    };
    if class == 0 {
        let commits = (0..cyclic.node.len() as u32).filter(|&node| cyclic.is_commit(node));
        for node in commits.filter(|&node| open(node) && layer.components.cyclic(node)) {
            let starts: Vec<Arc> = layer.arcs[layer.arcs_of(node)].to_vec();
            keep(node, &starts, Within::Component, search);
        }
    } else {
        let misses: Vec<Arc> = cyclic.arcs.iter().copied().filter(|arc| arc.by.is_missed()).collect();
        for starts in misses.chunk_by(|a, b| a.from == b.from) {
            let node = starts[0].from;
            let within = if class == 1 { Within::Before } else { Within::Component };
            if open(node) && (class == 1 || layer.components.cyclic(node)) {
                keep(node, starts, within, search);
            }
        }
    }
    let numbered = found.into_iter().zip(0..);
    numbered.filter_map(|(path, component)| Some((component, path?))).collect()
}

/// What an anti-dependency costs: more than any number of steps.
const MISSED: u64 = 1 << 32;

/// What an arc adds to the cost of a path.
fn cost_of(arc: &Arc) -> u64 {
    u64::from(arc.by.length()) + if arc.by.is_missed() { MISSED } else { 0 }
}

fn cost(path: &[Arc]) -> u64 {
    path.iter().map(cost_of).sum()
}

/// Where a search may go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Inside the component of the target.
    Component,
    /// Inside components that are not after that of the target.
    Before,
}

/// A search for the cheapest path, from which each search costs only what it visits.
struct Search<'w> {
    /// The cost of each node, and the arc by which it was met.
    met: Vec<(u64, Arc)>,
    touched: Vec<u32>,
    queue: Queue,
    steps: u64,
    turnstile: Turnstile<'w>,
}

const FAR: u64 = u64::MAX;

/// The nodes to go on from. Almost all are at the cost at hand or one step further; those behind an anti-dependency wait in a heap.
#[derive(Default)]
struct Queue {
    cost: u64,
    now: Vec<u32>,
    next: Vec<u32>,
    later: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Queue {
    fn clear(&mut self) {
        self.cost = 0;
        self.now.clear();
        self.next.clear();
        self.later.clear();
    }

    fn push(&mut self, cost: u64, node: u32) {
        match cost - self.cost {
            0 => self.now.push(node),
            1 => self.next.push(node),
            _ => self.later.push(Reverse((cost, node))),
        }
    }

    /// A node of the lowest cost that is left.
    fn pop(&mut self) -> Option<(u64, u32)> {
        if let Some(node) = self.now.pop() {
            return Some((self.cost, node));
        }
        let waiting = self.later.peek().map(|&Reverse((cost, _))| cost);
        self.cost = if self.next.is_empty() { waiting? } else { self.cost + 1 };
        std::mem::swap(&mut self.now, &mut self.next);
        while let Some(&Reverse((cost, node))) = self.later.peek()
            && cost == self.cost
        {
            self.later.pop();
            self.now.push(node);
        }
        self.now.pop().map(|node| (self.cost, node))
    }
}

impl<'w> Search<'w> {
    fn new(nodes: usize, watch: &'w dyn Watch) -> Self {
        let nothing = (FAR, Arc { from: 0, to: 0, by: By::Free });
        let (queue, turnstile) = (Queue::default(), Turnstile::new(watch));
        Search { met: vec![nothing; nodes], touched: Vec::new(), queue, steps: 0, turnstile }
    }

    /// A cheapest path of at least two steps and of at most this cost from the target back to it, along one of some arcs first.
    fn path(
        &mut self,
        layer: &Layer,
        starts: &[Arc],
        target: u32,
        within: Within,
        most: u64,
    ) -> Option<Vec<Arc>> {
        for node in self.touched.drain(..) {
            self.met[node as usize].0 = FAR;
        }
        self.queue.clear();
        let of = &layer.components.of;
        let home = of[target as usize];
        let inside = |node: u32| match within {
            Within::Component => of[node as usize] == home,
            Within::Before => of[node as usize] <= home,
        };
        for &arc in starts {
            self.meet(arc, 0, target, most, &inside);
        }
        while let Some((cost, node)) = self.queue.pop() {
            if self.met[node as usize].0 != cost {
                continue;
            }
            if node == target {
                return Some(self.trace(target));
            }
            self.steps += 1;
            if self.steps > MOST_STEPS || !self.turnstile.step() {
                return None;
            }
            for arc in &layer.arcs[layer.arcs_of(node)] {
                self.meet(*arc, cost, target, most, &inside);
            }
        }
        None
    }

    /// Goes along an arc from a node of some cost.
    fn meet(&mut self, arc: Arc, cost: u64, target: u32, most: u64, inside: &impl Fn(u32) -> bool) {
        let cost = cost + cost_of(&arc);
        // One step that leads back is a transaction that reads what it overwrites itself.
        let back = arc.to == target && cost % MISSED < 2;
        if back || cost > most || cost >= self.met[arc.to as usize].0 || !inside(arc.to) {
            return;
        }
        self.met[arc.to as usize] = (cost, arc);
        self.touched.push(arc.to);
        self.queue.push(cost, arc.to);
    }

    /// Follows the arcs back from the target to the target.
    fn trace(&self, target: u32) -> Vec<Arc> {
        let mut path = vec![self.met[target as usize].1];
        while let Some(&arc) = path.last().filter(|arc| arc.from != target) {
            path.push(self.met[arc.from as usize].1);
        }
        path.reverse();
        path
    }
}

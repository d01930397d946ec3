//! The simplest cycle of every component of the certain dependencies (`facts.rs`) that a level forbids.
//!
//! Simplest is: with the fewest anti-dependencies, where two count like more; then without real time, and without sessions, if
//! that can be; then with the fewest steps. A cycle with fewer anti-dependencies is forbidden by weaker levels, so the name that it
//! gives to a violation is the weakest that is true.
//!
//! For each of these classes the strongly connected components show which nodes can be on such a cycle, and a breadth-first search from
//! each of them finds the shortest. A search never goes deeper than the best cycle so far. All searches of a level together take
//! at most [`MOST_STEPS`]; what was found by then is the answer, which in large components may not be the shortest.

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
    /// How many anti-dependencies it has; 2 stands for more, too.
    pub(super) missed: u8,
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
                best[cyclic.of[arc.from as usize] as usize].is_none()
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
                let all = cyclic.component[component as usize];
                best[component as usize] = Some(Simplest { cycle, missed, component: all });
            }
        }
    }
    let stopped = search.turnstile.reached().is_some();
    Found { cycles: best.into_iter().flatten().collect(), of: all.of, stopped }
}

/// The shortest cycle of a class in every component that has no simpler one.
fn layer_cycles(
    layer: &Layer,
    missed: u8,
    cyclic: &Cyclic<'_>,
    best: &[Option<Simplest>],
    search: &mut Search<'_>,
) -> Vec<(u32, Vec<Arc>)> {
    let mut found: Vec<Option<Vec<Arc>>> = vec![None; best.len()];
    let open = |node: u32| best[cyclic.of[node as usize] as usize].is_none();
    let mut keep = |target: u32, starts: &[Arc], within: Within, search: &mut Search<'_>| {
        let place = &mut found[cyclic.of[target as usize] as usize];
        let most = place.as_ref().map_or(u32::MAX, |path| length(path) - 1);
        if let Some(path) = search.path(layer, starts, target, within, most) {
            *place = Some(path);
        }
    };
    if missed == 0 {
        let commits = (0..cyclic.node.len() as u32).filter(|&node| cyclic.is_commit(node));
        for node in commits.filter(|&node| open(node) && layer.components.cyclic(node)) {
            let starts: Vec<Arc> = layer.arcs[layer.arcs_of(node)].to_vec();
            keep(node, &starts, Within::Component, search);
        }
    } else {
        let misses: Vec<Arc> = cyclic.arcs.iter().copied().filter(|arc| arc.by.is_missed()).collect();
        for starts in misses.chunk_by(|a, b| a.from == b.from) {
            let node = starts[0].from;
            let within = if missed == 1 { Within::Before } else { Within::Component };
            if open(node) && (missed == 1 || layer.components.cyclic(node)) {
                keep(node, starts, within, search);
            }
        }
    }
    let numbered = found.into_iter().zip(0..);
    numbered.filter_map(|(path, component)| Some((component, path?))).collect()
}

fn length(path: &[Arc]) -> u32 {
    path.iter().map(|arc| arc.by.length()).sum()
}

/// Where a search may go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Inside the component of the target.
    Component,
    /// Inside components that are not after that of the target.
    Before,
}

/// A breadth-first search over arcs of lengths 0 and 1, from which each search costs only what it visits.
struct Search<'w> {
    /// The distance of each node, and the arc by which it was met.
    met: Vec<(u32, Arc)>,
    touched: Vec<u32>,
    steps: u64,
    turnstile: Turnstile<'w>,
}

const FAR: u32 = u32::MAX;

impl<'w> Search<'w> {
    fn new(nodes: usize, watch: &'w dyn Watch) -> Self {
        let nothing = (FAR, Arc { from: 0, to: 0, by: By::Free });
        Search { met: vec![nothing; nodes], touched: Vec::new(), steps: 0, turnstile: Turnstile::new(watch) }
    }

    /// A shortest path of at least 2 and at most `most` steps from the target back to it, along one of some arcs first.
    fn path(
        &mut self,
        layer: &Layer,
        starts: &[Arc],
        target: u32,
        within: Within,
        most: u32,
    ) -> Option<Vec<Arc>> {
        for node in self.touched.drain(..) {
            self.met[node as usize].0 = FAR;
        }
        let of = &layer.components.of;
        let home = of[target as usize];
        let inside = |node: u32| match within {
            Within::Component => of[node as usize] == home,
            Within::Before => of[node as usize] <= home,
        };
        let mut level = 0;
        let (mut now, mut next): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        for &arc in starts {
            self.meet(arc, 0, target, &inside, &mut now, &mut next);
        }
        loop {
            while let Some(node) = now.pop() {
                if self.met[node as usize].0 != level || node == target {
                    continue;
                }
                self.steps += 1;
                if self.steps > MOST_STEPS || !self.turnstile.step() {
                    return None;
                }
                for arc in &layer.arcs[layer.arcs_of(node)] {
                    self.meet(*arc, level, target, &inside, &mut now, &mut next);
                }
            }
            if self.met[target as usize].0 == level {
                return Some(self.trace(target));
            }
            if next.is_empty() || level == most {
                return None;
            }
            level += 1;
            std::mem::swap(&mut now, &mut next);
        }
    }

    /// Goes along an arc from a node at a distance.
    fn meet(
        &mut self,
        arc: Arc,
        level: u32,
        target: u32,
        inside: &impl Fn(u32) -> bool,
        now: &mut Vec<u32>,
        next: &mut Vec<u32>,
    ) {
        let far = level + arc.by.length();
        // One step that leads back is a transaction that reads what it overwrites itself.
        let back = arc.to == target && far < 2;
        if back || far >= self.met[arc.to as usize].0 || !inside(arc.to) {
            return;
        }
        self.met[arc.to as usize] = (far, arc);
        self.touched.push(arc.to);
        if far == level { now.push(arc.to) } else { next.push(arc.to) }
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

//! A topological order that is maintained while edges are inserted and removed (Pearce and Kelly 2006, "A
//! dynamic topological sort algorithm for directed acyclic graphs").
//!
//! The order is an array of nodes and its inverse. An edge that leads forwards costs nothing. An edge from
//! `x` to an earlier `y` affects only the places between the two: all nodes there that `y` reaches must come
//! after all nodes there that reach `x`. The algorithm searches both sets and redistributes the places they
//! already hold: first the nodes that reach `x`, then the nodes that `y` reaches, each set in its previous
//! order. If `y` reaches `x`, the edge would close a cycle and is refused.
//!
//! Removing an edge leaves a topological order topological, so nothing moves. This makes backtracking free.
//! Edges are removed in the reverse order of insertion.
//!
//! The base edges are fixed and stored in flat arrays. Inserted edges form a stack. Each node has two linked
//! lists through this stack: its outgoing and its incoming edges. The edge inserted last is the head of both
//! its lists, so removing it takes two writes. A node without inserted edges takes no memory except the two
//! list heads.
//!
//! For the cycle that refuses an edge, only the inserted edges are reported, on a path with the fewest of
//! them: the search follows base edges first, and takes one more inserted edge only when no base edge leads
//! further. Callers use the report to find the inserted edges that cause the cycle; fewer edges are more useful.

use crate::graph::Graph;

/// The edge would have closed a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The numbers of the inserted edges on a path from the edge's target back to its source, in the order of
    /// the path. Between them the path follows base edges. No other path has fewer inserted edges.
    pub edges: Vec<u32>,
}

/// A topological order under insertion and removal of edges; see the module documentation.
///
/// Invariant: every edge leads from an earlier to a later place, and `places` is the inverse of `order`.
#[derive(Clone, Debug)]
pub struct DynamicOrder {
    base: Graph,
    base_reversed: Graph,
    inserted: Vec<Inserted>,
    /// The last inserted edge out of each node, and into each node; `NONE` ends a list.
    last_out: Vec<u32>,
    last_in: Vec<u32>,
    order: Vec<u32>,
    places: Vec<u32>,
    search: Search,
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Inserted {
    from: u32,
    to: u32,
    /// The previous inserted edge with the same source, and the one with the same target.
    next_out: u32,
    next_in: u32,
}

/// Scratch memory of the searches, kept for reuse.
#[derive(Clone, Debug)]
struct Search {
    /// The mark of the search that last met a node. Marks are compared with `now`, so they need no clearing.
    met: Vec<u32>,
    now: u32,
    /// How the forward search reached a node: from which node, and by which inserted edge, if any.
    origins: Vec<(u32, u32)>,
    /// The nodes found by the forward and by the backward search.
    forwards: Vec<u32>,
    backwards: Vec<u32>,
    /// Nodes to visit when the current layer is complete.
    later: Vec<u32>,
    places: Vec<u32>,
}

/// The marks of a search are `now + SEEN` and `now + REACHED`; the next search starts `STAMPS` later.
const SEEN: u32 = 1;
const REACHED: u32 = 2;
const STAMPS: u32 = 2;

impl DynamicOrder {
    /// Starts with a graph of base edges and a topological order of it.
    ///
    /// # Panics
    ///
    /// Panics if `order` does not contain every node once, or if a base edge leads backwards in it.
    pub fn new(base: Graph, order: Vec<u32>) -> DynamicOrder {
        let nodes = base.len();
        assert_eq!(order.len(), nodes, "an order contains every node once");
        let mut places = vec![NONE; nodes];
        for (&node, place) in order.iter().zip(0..) {
            assert_eq!(places[node as usize], NONE, "an order contains every node once");
            places[node as usize] = place;
        }
        for &node in &order {
            let forwards = |&to: &u32| places[node as usize] < places[to as usize];
            assert!(base.successors(node).iter().all(forwards), "base edges lead forwards");
        }
        let search = Search {
            met: vec![0; nodes],
            now: 0,
            origins: vec![(NONE, NONE); nodes],
            forwards: Vec::new(),
            backwards: Vec::new(),
            later: Vec::new(),
            places: Vec::new(),
        };
        DynamicOrder {
            base_reversed: base.reversed(),
            base,
            inserted: Vec::new(),
            last_out: vec![NONE; nodes],
            last_in: vec![NONE; nodes],
            order,
            places,
            search,
        }
    }

    /// The number of inserted edges. They are numbered from 0 in the order of insertion.
    pub fn inserted(&self) -> usize {
        self.inserted.len()
    }

    /// An inserted edge as (source, target).
    pub fn edge(&self, number: u32) -> (u32, u32) {
        let edge = self.inserted[number as usize];
        (edge.from, edge.to)
    }

    /// The nodes in order.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The place of a node in the order.
    #[inline]
    pub fn position(&self, node: u32) -> u32 {
        self.places[node as usize]
    }

    /// Inserts an edge. If it would close a cycle, returns the cycle and changes nothing.
    pub fn insert(&mut self, from: u32, to: u32) -> Result<(), Cycle> {
        if self.position(from) >= self.position(to) {
            self.search_forwards(to, from)?;
            self.search_backwards(from, to);
            self.reorder();
        }
        let number = self.inserted.len() as u32;
        let next_out = std::mem::replace(&mut self.last_out[from as usize], number);
        let next_in = std::mem::replace(&mut self.last_in[to as usize], number);
        self.inserted.push(Inserted { from, to, next_out, next_in });
        Ok(())
    }

    /// Removes the edges inserted last, so that `count` remain. The order does not change.
    pub fn truncate(&mut self, count: usize) {
        while self.inserted.len() > count {
            if let Some(edge) = self.inserted.pop() {
                self.last_out[edge.from as usize] = edge.next_out;
                self.last_in[edge.to as usize] = edge.next_in;
            }
        }
    }

    /// Finds the nodes that `start` reaches before the place of `goal`, layer by layer. A layer holds the
    /// nodes that take the same number of inserted edges. Fails when `goal` is reached.
    fn search_forwards(&mut self, start: u32, goal: u32) -> Result<(), Cycle> {
        let DynamicOrder { base, inserted, last_out, places, search, .. } = self;
        let (seen, reached) = search.begin();
        let limit = places[goal as usize];
        search.forwards.clear();
        search.later.clear();
        search.forwards.push(start);
        search.met[start as usize] = reached;
        search.origins[start as usize] = (NONE, NONE);
        let mut next = 0;
        loop {
            // `forwards` is the queue and finally the result.
            while let Some(&node) = search.forwards.get(next) {
                if node == goal {
                    return Err(search.path_to(goal));
                }
                next += 1;
                for &to in base.successors(node) {
                    if places[to as usize] <= limit && search.met[to as usize] != reached {
                        search.met[to as usize] = reached;
                        search.origins[to as usize] = (node, NONE);
                        search.forwards.push(to);
                    }
                }
                let mut edge = last_out[node as usize];
                while edge != NONE {
                    let Inserted { to, next_out, .. } = inserted[edge as usize];
                    if places[to as usize] <= limit && search.met[to as usize] < seen {
                        search.met[to as usize] = seen;
                        search.origins[to as usize] = (node, edge);
                        search.later.push(to);
                    }
                    edge = next_out;
                }
            }
            // The layer is complete. The next layer is what was seen across inserted edges and not reached
            // otherwise.
            let Search { met, forwards, later, .. } = &mut *search;
            for node in later.drain(..) {
                if std::mem::replace(&mut met[node as usize], reached) != reached {
                    forwards.push(node);
                }
            }
            if next == forwards.len() {
                return Ok(());
            }
        }
    }

    /// Finds the nodes that reach `start` after the place of `goal`.
    fn search_backwards(&mut self, start: u32, goal: u32) {
        let DynamicOrder { base_reversed, inserted, last_in, places, search, .. } = self;
        let (_, reached) = search.begin();
        let limit = places[goal as usize];
        search.backwards.clear();
        search.backwards.push(start);
        search.met[start as usize] = reached;
        let mut next = 0;
        while let Some(&node) = search.backwards.get(next) {
            next += 1;
            for &from in base_reversed.successors(node) {
                search.meet_backwards(from, places[from as usize] > limit, reached);
            }
            let mut edge = last_in[node as usize];
            while edge != NONE {
                let Inserted { from, next_in, .. } = inserted[edge as usize];
                search.meet_backwards(from, places[from as usize] > limit, reached);
                edge = next_in;
            }
        }
    }

    /// Redistributes the places of the nodes found: first the backward set, then the forward set.
    fn reorder(&mut self) {
        let DynamicOrder { order, places, search, .. } = self;
        let Search { forwards, backwards, places: shared, .. } = search;
        backwards.sort_unstable_by_key(|&node| places[node as usize]);
        forwards.sort_unstable_by_key(|&node| places[node as usize]);
        shared.clear();
        shared.extend(backwards.iter().chain(&*forwards).map(|&node| places[node as usize]));
        shared.sort_unstable();
        for (&node, &place) in backwards.iter().chain(&*forwards).zip(&*shared) {
            order[place as usize] = node;
            places[node as usize] = place;
        }
    }
}

impl Search {
    /// Returns two marks that no node has.
    fn begin(&mut self) -> (u32, u32) {
        if self.now > u32::MAX - 2 * STAMPS {
            self.met.fill(0);
            self.now = 0;
        }
        let marks = (self.now + SEEN, self.now + REACHED);
        self.now += STAMPS;
        marks
    }

    fn meet_backwards(&mut self, node: u32, concerned: bool, reached: u32) {
        if concerned && self.met[node as usize] != reached {
            self.met[node as usize] = reached;
            self.backwards.push(node);
        }
    }

    /// The inserted edges on the path by which the forward search reached a node.
    fn path_to(&self, mut node: u32) -> Cycle {
        let mut edges = Vec::new();
        loop {
            let (from, edge) = self.origins[node as usize];
            if edge != NONE {
                edges.push(edge);
            }
            if from == NONE {
                break;
            }
            node = from;
        }
        edges.reverse();
        Cycle { edges }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Insert(u32, u32),
        Truncate(prop::sample::Index),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0u32..12, 0u32..12).prop_map(|(a, b)| Step::Insert(a, b)),
            1 => any::<prop::sample::Index>().prop_map(Step::Truncate),
        ]
    }

    /// The fewest inserted edges on a path, by relaxing all edges until nothing changes.
    fn fewest(nodes: u32, base: &[(u32, u32)], inserted: &[(u32, u32)], from: u32, to: u32) -> Option<u32> {
        let mut cost = vec![NONE; nodes as usize];
        cost[from as usize] = 0;
        let all = base.iter().map(|&e| (e, 0)).chain(inserted.iter().map(|&e| (e, 1)));
        for _ in 0..nodes {
            for ((a, b), weight) in all.clone() {
                if cost[a as usize] != NONE {
                    cost[b as usize] = cost[b as usize].min(cost[a as usize] + weight);
                }
            }
        }
        (cost[to as usize] != NONE).then_some(cost[to as usize])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        /// An edge is refused exactly if a path leads back. The reported path exists and has the fewest
        /// inserted edges. The order is topological after every step.
        #[test]
        fn the_order_is_topological_and_refusals_are_right(
            nodes in 1u32..12,
            raw in prop::collection::vec((0u32..12, 0u32..12), 0..14),
            names in Just((0u32..12).collect::<Vec<u32>>()).prop_shuffle(),
            steps in prop::collection::vec(step(), 0..60),
        ) {
            // Random names, so that nodes are not numbered in topological order.
            let names: Vec<u32> = names.into_iter().filter(|&name| name < nodes).collect();
            let base: Vec<(u32, u32)> = raw.into_iter()
                .map(|(a, b)| (a % nodes, b % nodes)).filter(|(a, b)| a < b)
                .map(|(a, b)| (names[a as usize], names[b as usize])).collect();
            let mut order = DynamicOrder::new(Graph::from_edges(nodes as usize, &base), names);
            let mut inserted: Vec<(u32, u32)> = Vec::new();
            for step in steps {
                match step {
                    Step::Insert(a, b) => {
                        let (a, b) = (a % nodes, b % nodes);
                        let before = order.order().to_vec();
                        let back = fewest(nodes, &base, &inserted, b, a);
                        match order.insert(a, b) {
                            Ok(()) => {
                                prop_assert_eq!(back, None);
                                inserted.push((a, b));
                            }
                            Err(cycle) => {
                                prop_assert_eq!(back, Some(cycle.edges.len() as u32));
                                prop_assert_eq!(&before, order.order());
                                let mut place = b;
                                for (from, to) in cycle.edges.iter().map(|&e| order.edge(e)) {
                                    prop_assert!(fewest(nodes, &base, &[], place, from).is_some());
                                    place = to;
                                }
                                prop_assert!(fewest(nodes, &base, &[], place, a).is_some());
                            }
                        }
                    }
                    Step::Truncate(index) => {
                        let count = index.index(inserted.len() + 1);
                        inserted.truncate(count);
                        order.truncate(count);
                    }
                }
                prop_assert_eq!(order.inserted(), inserted.len());
                for (place, &node) in order.order().iter().enumerate() {
                    prop_assert_eq!(order.position(node) as usize, place);
                }
                for &(a, b) in base.iter().chain(&inserted) {
                    prop_assert!(order.position(a) < order.position(b));
                }
            }
        }
    }

    #[test]
    fn marks_restart_before_they_overflow() {
        let mut order = DynamicOrder::new(Graph::from_edges(4, &[(0, 1)]), vec![0, 1, 2, 3]);
        order.search.now = u32::MAX - 3 * STAMPS;
        for _ in 0..6 {
            assert_eq!(order.insert(1, 0), Err(Cycle { edges: vec![] }));
            order.insert(3, 2).expect("no path from 2 to 3");
            assert_eq!(order.insert(2, 3), Err(Cycle { edges: vec![0] }));
            order.truncate(0);
            order.insert(2, 3).expect("no path from 3 to 2");
            order.truncate(0);
        }
        assert!(order.search.now < 100);
    }

    #[test]
    fn millions_of_nodes_and_of_steps() {
        let nodes = 3_000_000u32;
        let chains: Vec<(u32, u32)> = (0..nodes - 10).map(|node| (node, node + 10)).collect();
        let mut order = DynamicOrder::new(Graph::from_edges(nodes as usize, &chains), (0..nodes).collect());
        for round in 0..1_000_000u32 {
            let node = round.wrapping_mul(2_654_435_761) % (nodes - 40) / 10 * 10;
            // From a later place of one chain to an earlier place of another, and back.
            order.insert(node + 30, node + 1).expect("chains are not connected yet");
            assert_eq!(order.insert(node + 11, node + 20), Err(Cycle { edges: vec![0] }));
            order.truncate(0);
        }
    }
}

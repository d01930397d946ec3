//! Strongly connected components (Tarjan 1972), and a topological order of them.
//!
//! The search keeps its stack in an array, so its depth is bounded only by memory. Tarjan's algorithm emits
//! sinks first. [`Components::of`] reverses the numbers, so that every edge leads to the same or a higher
//! number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::graph::Graph;

/// The strongly connected components of a graph.
#[derive(Clone, Debug)]
pub struct Components {
    /// The component of each node.
    pub of: Vec<u32>,
    /// The size of each component.
    pub sizes: Vec<u32>,
}

const NEW: u32 = u32::MAX;

impl Components {
    /// Finds the components.
    pub fn find(graph: &Graph) -> Components {
        let nodes = graph.len();
        let mut search = Search {
            graph,
            index: vec![NEW; nodes],
            low: vec![0; nodes],
            of: vec![NEW; nodes],
            open: Vec::new(),
            calls: Vec::new(),
            sizes: Vec::new(),
            visited: 0,
        };
        for root in 0..nodes as u32 {
            if search.index[root as usize] == NEW {
                search.run(root);
            }
        }
        let Search { mut of, mut sizes, .. } = search;
        let last = sizes.len().saturating_sub(1) as u32;
        for component in &mut of {
            *component = last - *component;
        }
        sizes.reverse();
        Components { of, sizes }
    }

    /// Whether a node lies on a cycle, given that no edge leads from a node to itself.
    pub fn cyclic(&self, node: u32) -> bool {
        self.sizes[self.of[node as usize] as usize] > 1
    }

    /// Renumbers the components in another topological order: among the components that may come next, the
    /// one that holds the node of least priority comes next.
    pub fn sort_by(&mut self, graph: &Graph, priority: &[u32]) {
        let count = self.sizes.len();
        let mut urgency = vec![u32::MAX; count];
        let mut waiting = vec![0u32; count];
        for (node, (&component, &priority)) in self.of.iter().zip(priority).enumerate() {
            let urgency = &mut urgency[component as usize];
            *urgency = priority.min(*urgency);
            for &to in graph.successors(node as u32) {
                let other = self.of[to as usize];
                waiting[other as usize] += u32::from(other != component);
            }
        }
        let members = self.members();
        let mut ready: BinaryHeap<_> =
            (0..count).filter(|&c| waiting[c] == 0).map(|c| Reverse((urgency[c], c as u32))).collect();
        let mut rank = vec![0u32; count];
        let mut next = 0;
        while let Some(Reverse((_, component))) = ready.pop() {
            rank[component as usize] = next;
            next += 1;
            for &node in members.successors(component) {
                for &to in graph.successors(node) {
                    let other = self.of[to as usize];
                    if other != component {
                        waiting[other as usize] -= 1;
                        if waiting[other as usize] == 0 {
                            ready.push(Reverse((urgency[other as usize], other)));
                        }
                    }
                }
            }
        }
        debug_assert_eq!(next as usize, count);
        let mut sizes = vec![0; count];
        for (&size, &rank) in self.sizes.iter().zip(&rank) {
            sizes[rank as usize] = size;
        }
        self.sizes = sizes;
        for component in &mut self.of {
            *component = rank[*component as usize];
        }
    }

    /// The nodes of each component, in ascending order, as a graph from components to nodes.
    pub fn members(&self) -> Graph {
        let edges: Vec<(u32, u32)> =
            self.of.iter().zip(0..).map(|(&component, node)| (component, node)).collect();
        Graph::from_edges(self.sizes.len(), &edges)
    }
}

struct Search<'g> {
    graph: &'g Graph,
    index: Vec<u32>,
    low: Vec<u32>,
    of: Vec<u32>,
    /// Nodes whose component is not complete yet.
    open: Vec<u32>,
    /// The path of the search: a node and the index of its next edge.
    calls: Vec<(u32, u32)>,
    sizes: Vec<u32>,
    visited: u32,
}

impl Search<'_> {
    fn run(&mut self, root: u32) {
        self.enter(root);
        while let Some(top) = self.calls.last_mut() {
            let node = top.0;
            let next = self.graph.successors(node).get(top.1 as usize).copied();
            top.1 += 1;
            match next {
                Some(to) if self.index[to as usize] == NEW => self.enter(to),
                Some(to) if self.of[to as usize] == NEW => {
                    self.low[node as usize] = self.low[node as usize].min(self.index[to as usize]);
                }
                Some(_) => {}
                None => self.leave(node),
            }
        }
    }

    fn enter(&mut self, node: u32) {
        self.index[node as usize] = self.visited;
        self.low[node as usize] = self.visited;
        self.visited += 1;
        self.open.push(node);
        self.calls.push((node, 0));
    }

    fn leave(&mut self, node: u32) {
        self.calls.pop();
        let low = self.low[node as usize];
        if let Some(&(parent, _)) = self.calls.last() {
            self.low[parent as usize] = self.low[parent as usize].min(low);
        }
        if low == self.index[node as usize] {
            let component = self.sizes.len() as u32;
            let from = self.open.iter().rposition(|&member| member == node).unwrap_or(0);
            self.sizes.push((self.open.len() - from) as u32);
            for member in self.open.drain(from..) {
                self.of[member as usize] = component;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reaches(graph: &Graph) -> Vec<Vec<bool>> {
        let n = graph.len();
        let mut reach = vec![vec![false; n]; n];
        for (node, row) in reach.iter_mut().enumerate() {
            graph.successors(node as u32).iter().for_each(|&to| row[to as usize] = true);
        }
        for k in 0..n {
            let after = reach[k].clone();
            for row in reach.iter_mut().filter(|row| row[k]) {
                row.iter_mut().zip(&after).for_each(|(r, &also)| *r |= also);
            }
        }
        reach
    }

    proptest! {
        /// Two nodes share a component exactly when they reach each other, and edges lead upwards, before and
        /// after sorting by a priority.
        #[test]
        fn components_are_mutual_reachability(
            nodes in 1usize..12,
            raw in prop::collection::vec((0u32..12, 0u32..12), 0..30),
            priority in prop::collection::vec(0u32..5, 12),
        ) {
            let n = nodes as u32;
            let edges: Vec<(u32, u32)> =
                raw.into_iter().map(|(a, b)| (a % n, b % n)).filter(|(a, b)| a != b).collect();
            let graph = Graph::from_edges(nodes, &edges);
            let reach = reaches(&graph);
            let mut components = Components::find(&graph);
            for _ in 0..2 {
                let pairs = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b)));
                for (a, b) in pairs {
                    let together = components.of[a] == components.of[b];
                    prop_assert_eq!(together, a == b || (reach[a][b] && reach[b][a]));
                }
                prop_assert!(edges.iter().all(|&(a, b)| components.of[a as usize] <= components.of[b as usize]));
                prop_assert_eq!(components.sizes.iter().sum::<u32>(), n);
                for (component, &size) in components.sizes.iter().enumerate() {
                    prop_assert_eq!(size as usize, components.of.iter().filter(|&&c| c as usize == component).count());
                }
                components.sort_by(&graph, &priority[..nodes]);
            }
        }
    }

    #[test]
    fn a_long_path_does_not_overflow_the_stack() {
        let edges: Vec<(u32, u32)> = (0..1_000_000).map(|i| (i, i + 1)).collect();
        let components = Components::find(&Graph::from_edges(1_000_001, &edges));
        assert_eq!(components.sizes.len(), 1_000_001);
        assert!(edges.iter().all(|&(a, b)| components.of[a as usize] < components.of[b as usize]));
    }
}

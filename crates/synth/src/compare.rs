//! Which of two levels is stronger, and how all levels lie to each other.

use isoscope_levels::language::Definition;

use crate::history::SmallHistory;
use crate::search::{Answer, Problem, Search, allows};
use crate::smallest::{Smallest, Watch, smallest};
use crate::space::Scope;

/// How two levels lie to each other within a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// They allow the same histories.
    Equivalent,
    /// The first allows fewer histories.
    Stronger,
    /// The first allows more histories.
    Weaker,
    /// Each allows a history that the other forbids.
    Incomparable,
}

/// Two levels and the smallest histories that only one of them allows.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Allowed by the first, forbidden by the second.
    pub only_first: Smallest,
    /// Allowed by the second, forbidden by the first.
    pub only_second: Smallest,
}

impl Comparison {
    /// How the levels lie to each other. None if a search was stopped before it found a history.
    pub fn order(&self) -> Option<Order> {
        let is_found = |side: &Smallest| {
            let is_open = side.stopped && side.histories.is_empty();
            (!is_open).then_some(!side.histories.is_empty())
        };
        Some(match (is_found(&self.only_first)?, is_found(&self.only_second)?) {
            (false, false) => Order::Equivalent,
            (false, true) => Order::Stronger,
            (true, false) => Order::Weaker,
            (true, true) => Order::Incomparable,
        })
    }
}

/// Compares two levels.
pub fn compare(first: &Definition, second: &Definition, scope: Scope, watch: &mut dyn Watch) -> Comparison {
    let mut only = |allow, forbid| {
        let problem = Problem { allow: vec![allow], forbid: vec![forbid], conditions: Vec::new() };
        smallest(&problem, scope, 1, watch)
    };
    Comparison { only_first: only(first, second), only_second: only(second, first) }
}

/// All levels of a collection in their order: equivalent ones are one node.
#[derive(Clone, Debug)]
pub struct Lattice {
    /// The definitions of each node, by their places; stronger nodes come before weaker ones.
    pub nodes: Vec<Vec<usize>>,
    /// From each node to those directly below it, with a smallest history that only the weaker one allows.
    pub edges: Vec<LatticeEdge>,
    /// Whether the search was stopped. Then nodes and edges are those that were known by then.
    pub stopped: bool,
}

/// A step from a node down to a weaker one.
#[derive(Clone, Debug)]
pub struct LatticeEdge {
    /// The stronger node.
    pub stronger: usize,
    /// The weaker node.
    pub weaker: usize,
    /// Allowed by the weaker, forbidden by the stronger.
    pub example: Option<SmallHistory>,
}

impl Lattice {
    /// Compares all pairs of some levels within a scope.
    pub fn new(definitions: &[&Definition], scope: Scope, watch: &mut dyn Watch) -> Lattice {
        let count = definitions.len();
        // `implies[a][b]`: no history was found that a allows and b forbids.
        let mut implies = vec![vec![true; count]; count];
        let mut stopped = false;
        for first in 0..count {
            for second in 0..count {
                if stopped || !implies[first][second] || first == second {
                    continue;
                }
                let problem = Problem {
                    allow: vec![definitions[first]],
                    forbid: vec![definitions[second]],
                    conditions: Vec::new(),
                };
                match first_of(&problem, scope, watch) {
                    Answer::Nothing => {}
                    Answer::Stopped => stopped = true,
                    Answer::Found(history) => {
                        // The history may tell other pairs apart, too.
                        let allowed: Vec<bool> = definitions
                            .iter()
                            .map(|one| {
                                allows(one, &history, &mut || false).is_some_and(|found| found.is_some())
                            })
                            .collect();
                        for (_, row) in implies.iter_mut().enumerate().filter(|(a, _)| allowed[*a]) {
                            row.iter_mut().zip(&allowed).for_each(|(cell, &allowed)| *cell &= allowed);
                        }
                    }
                }
            }
        }
        let mut lattice = Lattice::of(&implies, stopped);
        for edge in &mut lattice.edges {
            let [stronger, weaker] =
                [edge.stronger, edge.weaker].map(|node| definitions[lattice.nodes[node][0]]);
            let problem = Problem { allow: vec![weaker], forbid: vec![stronger], conditions: Vec::new() };
            edge.example = smallest(&problem, scope, 1, watch).histories.pop();
        }
        lattice
    }

    /// Nodes and edges of a table of implications.
    fn of(implies: &[Vec<bool>], stopped: bool) -> Lattice {
        let mut nodes: Vec<Vec<usize>> = Vec::new();
        for (one, implied) in implies.iter().enumerate() {
            match nodes.iter_mut().find(|node| implied[node[0]] && implies[node[0]][one]) {
                Some(node) => node.push(one),
                None => nodes.push(vec![one]),
            }
        }
        let below = |node: &Vec<usize>| implies[node[0]].iter().filter(|&&implied| implied).count();
        nodes.sort_by_key(|node| std::cmp::Reverse(below(node)));
        let is_above = |a: usize, b: usize| a != b && implies[nodes[a][0]][nodes[b][0]];
        let mut edges = Vec::new();
        for stronger in 0..nodes.len() {
            for weaker in (0..nodes.len()).filter(|&weaker| is_above(stronger, weaker)) {
                let is_direct =
                    !(0..nodes.len()).any(|between| is_above(stronger, between) && is_above(between, weaker));
                if is_direct {
                    edges.push(LatticeEdge { stronger, weaker, example: None });
                }
            }
        }
        Lattice { nodes, edges, stopped }
    }
}

/// Some history of a scope with fewer transactions first.
fn first_of(problem: &Problem<'_>, scope: Scope, watch: &mut dyn Watch) -> Answer {
    for txns in 1..=scope.txns {
        let answer = Search::new(problem, Scope { txns, ..scope }).next(&mut || watch.stops());
        if !matches!(answer, Answer::Nothing) {
            return answer;
        }
    }
    Answer::Nothing
}

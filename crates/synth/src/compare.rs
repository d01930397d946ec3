//! Which of two levels is stronger, and how all levels lie to each other.

use std::time::Instant;

use isoscope_levels::language::Definition;

use crate::evidence::allows;
use crate::history::SmallHistory;
use crate::plan::uses_real_time;
use crate::search::{Answer, Figures, Problem, Search};
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
            let is_open = side.stopped.is_some() && side.histories.is_empty();
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
    /// Pairs of nodes of which it is not known whether the first implies the second, because the search was stopped.
    pub open: Vec<(usize, usize)>,
    /// Whether the search was stopped. Then nodes may be equivalent, and examples may not be the smallest.
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

/// What is known of a pair of levels.
#[derive(Clone)]
enum Implies {
    /// No history of the sizes so far is allowed by the first and forbidden by the second.
    SoFar,
    Yes,
    /// Such a history.
    No(SmallHistory),
}

impl Lattice {
    /// Compares all pairs of some levels within a scope. Small histories are looked for first, for all pairs: most pairs are told
    /// apart by them, also if the time does not suffice for the larger ones.
    pub fn new(definitions: &[&Definition], scope: Scope, watch: &mut dyn Watch) -> Lattice {
        let count = definitions.len();
        let mut table = Table {
            definitions,
            uses_times: definitions.iter().map(|one| uses_real_time(one)).collect(),
            pairs: vec![vec![Implies::SoFar; count]; count],
        };
        let stopped = !table.fill(scope, watch);
        let mut lattice = Lattice::of(&table.pairs, stopped);
        for edge in &mut lattice.edges {
            let [stronger, weaker] = [edge.stronger, edge.weaker].map(|node| lattice.nodes[node][0]);
            let problem = Problem {
                allow: vec![definitions[weaker]],
                forbid: vec![definitions[stronger]],
                conditions: Vec::new(),
            };
            edge.example = smallest(&problem, scope, 1, watch).histories.pop();
            if let (None, Implies::No(history)) = (&edge.example, &table.pairs[weaker][stronger]) {
                edge.example = Some(history.clone());
            }
        }
        lattice
    }

    /// Nodes and edges of a table of implications.
    fn of(pairs: &[Vec<Implies>], stopped: bool) -> Lattice {
        let implies = |a: usize, b: usize| a == b || matches!(pairs[a][b], Implies::Yes);
        let mut nodes: Vec<Vec<usize>> = Vec::new();
        for one in 0..pairs.len() {
            match nodes.iter_mut().find(|node| implies(one, node[0]) && implies(node[0], one)) {
                Some(node) => node.push(one),
                None => nodes.push(vec![one]),
            }
        }
        let below = |node: &Vec<usize>| (0..pairs.len()).filter(|&other| implies(node[0], other)).count();
        nodes.sort_by_key(|node| std::cmp::Reverse(below(node)));
        let is_above = |a: usize, b: usize| a != b && implies(nodes[a][0], nodes[b][0]);
        let is_open =
            |a: usize, b: usize| a != b && matches!(pairs[nodes[a][0]][nodes[b][0]], Implies::SoFar);
        let mut edges = Vec::new();
        let mut open = Vec::new();
        for stronger in 0..nodes.len() {
            open.extend(
                (0..nodes.len()).filter(|&other| is_open(stronger, other)).map(|other| (stronger, other)),
            );
            for weaker in (0..nodes.len()).filter(|&weaker| is_above(stronger, weaker)) {
                let is_direct =
                    !(0..nodes.len()).any(|between| is_above(stronger, between) && is_above(between, weaker));
                if is_direct {
                    edges.push(LatticeEdge { stronger, weaker, example: None });
                }
            }
        }
        Lattice { nodes, edges, open, stopped }
    }
}

/// All pairs of some levels.
struct Table<'d> {
    definitions: &'d [&'d Definition],
    /// Which of them speak of real time.
    uses_times: Vec<bool>,
    pairs: Vec<Vec<Implies>>,
}

impl Table<'_> {
    /// Compares all pairs, for one size of histories after the other. False if it was stopped; then some pairs may be left.
    fn fill(&mut self, scope: Scope, watch: &mut dyn Watch) -> bool {
        let count = self.definitions.len();
        for txns in 1..=scope.txns {
            for keys in 1..=scope.keys {
                let is_last = txns == scope.txns && keys == scope.keys;
                for (first, second) in
                    (0..count).flat_map(|first| (0..count).map(move |second| (first, second)))
                {
                    if first == second || !matches!(self.pairs[first][second], Implies::SoFar) {
                        continue;
                    }
                    let problem = Problem {
                        allow: vec![self.definitions[first]],
                        forbid: vec![self.definitions[second]],
                        conditions: Vec::new(),
                    };
                    match one_of(&problem, Scope { txns, keys, ..scope }, watch) {
                        Answer::Nothing if is_last => self.pairs[first][second] = Implies::Yes,
                        Answer::Nothing => {}
                        Answer::Stopped | Answer::Large => return false,
                        Answer::Found(history) => {
                            self.pairs[first][second] = Implies::No(history.clone());
                            self.learn(&history, watch);
                        }
                    }
                }
            }
        }
        true
    }

    /// A history that tells two levels apart may do so for others. Without times, it says nothing about levels that need them.
    fn learn(&mut self, history: &SmallHistory, watch: &mut dyn Watch) {
        let judged = self.definitions.iter().zip(&self.uses_times).map(|(one, &uses_times)| {
            if uses_times && history.rt.is_none() {
                return None;
            }
            allows(one, history, &mut || watch.stops()).map(|found| found.is_some())
        });
        let judged: Vec<Option<bool>> = judged.collect();
        for (first, row) in self.pairs.iter_mut().enumerate() {
            for (second, pair) in row.iter_mut().enumerate() {
                let is_told_apart = judged[first] == Some(true) && judged[second] == Some(false);
                if is_told_apart && matches!(pair, Implies::SoFar) {
                    *pair = Implies::No(history.clone());
                }
            }
        }
    }
}

/// Some history of a scope.
fn one_of(problem: &Problem<'_>, scope: Scope, watch: &mut dyn Watch) -> Answer {
    let start = Instant::now();
    let mut search = Search::new(problem, scope, &mut || watch.stops());
    let answer = search.next(&mut || watch.stops());
    watch.searched(scope, Figures { time: start.elapsed(), ..search.figures() });
    answer
}

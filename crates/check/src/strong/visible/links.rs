//! How transactions lead to a reader: sessions, reads, overwrites and anti-dependencies as a graph, and paths through it.

use std::collections::VecDeque;

use isoscope_history::Key;
use isoscope_order::Graph;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::problem::Problem;
use super::super::sources::Source;
use super::Search;
use crate::semantics::Sight;

/// Why one transaction leads to another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Session,
    Read(u32),
    /// The one wrote a key before the other.
    Overwritten(Key),
    /// The one read what the other overwrote.
    Missed(u32),
}

/// A step of a path: from, to, and the reason.
pub(super) type Step = (u32, u32, Reason);

impl Search<'_> {
    /// Everything along which a reader must have seen.
    pub(super) fn links(&self) -> Links {
        let (problem, history) = (self.problem, self.problem.history);
        let mut links = Links::default();
        for session in history.sessions().filter(|_| self.events.rules.sessions) {
            let txns: Vec<u32> = history.txn_range(session).collect();
            for pair in txns.windows(2) {
                links.add(pair[0], pair[1], Reason::Session);
            }
        }
        for (i, read) in problem.reads.iter().enumerate() {
            if let Some(source) = self.chosen[i].txn().filter(|_| self.encoder.is_there(read.txn)) {
                links.add(source, read.txn, Reason::Read(i as u32));
            }
        }
        if matches!(self.sight, Sight::Parallel | Sight::Monotonic | Sight::Updates) {
            for key in history.keys() {
                let mut writers: Vec<u32> = history
                    .writers(key)
                    .iter()
                    .map(|txn| txn.0)
                    .filter(|&txn| self.encoder.is_there(txn))
                    .collect();
                writers.sort_unstable_by_key(|&txn| self.place[txn as usize]);
                for pair in writers.windows(2) {
                    links.add(pair[0], pair[1], Reason::Overwritten(key));
                }
            }
        }
        if self.sight == Sight::Updates {
            self.link_missed(&mut links);
        }
        links
    }

    /// The anti-dependencies of transactions that write: to the next writer, which later writers overwrite.
    fn link_missed(&self, links: &mut Links) {
        let problem = self.problem;
        for (read, i) in problem.reads.iter().zip(0..).filter(|(read, _)| self.encoder.is_there(read.txn)) {
            if !problem.is_update(read.txn) || self.chosen[i as usize] == Source::OPEN {
                continue;
            }
            let writers = problem.history.writers(read.key).iter().map(|writer| writer.0);
            let after = writers.filter(|&writer| self.encoder.is_there(writer) && self.is_after(i, writer));
            let next = after.min_by_key(|&writer| self.place[writer as usize]);
            // A reader that overwrites what it read leads to later writers by overwriting.
            if let Some(next) = next.filter(|&next| next != read.txn) {
                links.add(read.txn, next, Reason::Missed(i));
            }
        }
    }
}

/// A graph of reasons.
#[derive(Default)]
pub(super) struct Links {
    pub(super) edges: Vec<(u32, u32)>,
    reasons: Vec<Reason>,
}

impl Links {
    fn add(&mut self, from: u32, to: u32, link: Reason) {
        self.edges.push((from, to));
        self.reasons.push(link);
    }
}

/// Paths along links.
pub(super) struct Paths<'l> {
    problem: &'l Problem<'l>,
    links: &'l Links,
    /// Reversed, by the edges in this order.
    graph: Graph,
    sorted: Vec<u32>,
}

impl<'l> Paths<'l> {
    pub(super) fn new(problem: &'l Problem<'l>, links: &'l Links) -> Self {
        let mut sorted: Vec<u32> = (0..links.edges.len() as u32).collect();
        sorted.sort_by_key(|&i| links.edges[i as usize].1);
        let reversed: Vec<(u32, u32)> =
            sorted.iter().map(|&i| (links.edges[i as usize].1, links.edges[i as usize].0)).collect();
        let graph = Graph::from_edges(problem.history.txn_count(), &reversed);
        Paths { problem, links, graph, sorted }
    }

    /// Adds a node and all that leads to it through nodes that count.
    pub(super) fn walk_back(&self, from: u32, counts: &dyn Fn(u32) -> bool, seen: &mut FxHashSet<u32>) {
        let mut todo = vec![from];
        while let Some(node) = todo.pop() {
            if seen.insert(node) {
                todo.extend(self.graph.successors(node).iter().copied().filter(|&before| counts(before)));
            }
        }
    }

    /// A path with as few choices as there can be. Links lead along the order, so nothing before its beginning is on it.
    pub(super) fn path(&self, from: u32, to: u32, order: &[u32]) -> Vec<Step> {
        let Paths { problem, links, graph, sorted } = self;
        let is_free = |i: u32| match links.reasons[i as usize] {
            Reason::Session => true,
            Reason::Read(read) => problem.reads[read as usize].source != Source::OPEN,
            Reason::Overwritten(_) | Reason::Missed(_) => false,
        };
        let mut after: FxHashMap<u32, u32> = FxHashMap::default();
        let mut queue = VecDeque::from([(0u32, to)]);
        let mut far: FxHashMap<u32, u32> = FxHashMap::default();
        far.insert(to, 0);
        while let Some((distance, node)) = queue.pop_front() {
            if node == from {
                break;
            }
            if far.get(&node).is_some_and(|&known| known < distance) {
                continue;
            }
            for (place, &before) in graph.edge_range(node).zip(graph.successors(node)) {
                let edge = sorted[place];
                let free = is_free(edge);
                let next = distance + u32::from(!free);
                let counts = order[before as usize] >= order[from as usize];
                if counts && far.get(&before).is_none_or(|&known| next < known) {
                    far.insert(before, next);
                    after.insert(before, edge);
                    if free {
                        queue.push_front((next, before));
                    } else {
                        queue.push_back((next, before));
                    }
                }
            }
        }
        let mut path = Vec::new();
        let mut node = from;
        while node != to {
            let Some(&edge) = after.get(&node) else { return path };
            let (from, next) = links.edges[edge as usize];
            path.push((from, next, links.reasons[edge as usize]));
            node = next;
        }
        path
    }
}

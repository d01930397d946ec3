//! Evidence: paths through the relations of a history, as edges with reasons.
//!
//! The relations are never stored as a graph of reasons. A search walks backwards from a transaction: its
//! session, its links, what lists say and what axioms force tell which transactions come before it and why.
//! Breadth first, so a path has as few steps as there can be; steps along one session are joined into one.

use std::collections::VecDeque;

use isoscope_history::{History, Op, Txn};
use rustc_hash::FxHashMap;

use crate::axiom::Forced;
use crate::certificate::{Edge, Node, Seen, Why};
use crate::resolve::{Resolved, VersionEdge};

/// Which relations a path may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relations {
    pub(crate) sessions: bool,
    pub(crate) reads: bool,
    pub(crate) versions: bool,
    pub(crate) forced: bool,
}

impl Relations {
    /// Sessions and reads.
    pub(crate) const CAUSAL: Relations =
        Relations { sessions: true, reads: true, versions: false, forced: false };
    /// Everything a commit order must respect.
    pub(crate) const COMMIT: Relations =
        Relations { sessions: true, reads: true, versions: true, forced: true };
}

/// A step to a transaction from one before it.
#[derive(Clone, Copy)]
enum Step {
    Session,
    Read(Op),
    Version(u32),
    Forced(u32),
}

/// Finds paths; see the module.
pub(crate) struct Tracer<'a> {
    history: &'a History,
    resolved: &'a Resolved,
    /// By the later transaction.
    versions: Vec<&'a VersionEdge>,
    /// By the transaction they lead to; none lead to the initial state.
    forced: Vec<Forced>,
}

impl<'a> Tracer<'a> {
    pub(crate) fn new(history: &'a History, resolved: &'a Resolved, forced: &[Forced]) -> Self {
        let mut versions: Vec<&VersionEdge> = resolved.versions.iter().collect();
        versions.sort_by_key(|edge| edge.to);
        let mut forced: Vec<Forced> =
            forced.iter().copied().filter(|forced| forced.target(resolved).is_some()).collect();
        forced.sort_unstable_by_key(|forced| (forced.target(resolved), *forced));
        Tracer { history, resolved, versions, forced }
    }

    /// A shortest path between two different transactions, through transactions for which `within` holds.
    pub(crate) fn path(
        &self,
        from: Txn,
        to: Txn,
        relations: Relations,
        within: impl Fn(Txn) -> bool,
    ) -> Option<Vec<Edge>> {
        let mut after: FxHashMap<Txn, (Txn, Step)> = FxHashMap::default();
        let mut queue = VecDeque::from([to]);
        while let Some(txn) = queue.pop_front() {
            let mut visit = |before: Txn, step: Step| {
                if before != to && within(before) && !after.contains_key(&before) {
                    after.insert(before, (txn, step));
                    queue.push_back(before);
                }
            };
            self.each_step(txn, relations, &mut visit);
            if after.contains_key(&from) {
                return Some(self.edges(from, to, &after));
            }
        }
        None
    }

    fn each_step(&self, txn: Txn, relations: Relations, visit: &mut impl FnMut(Txn, Step)) {
        if relations.sessions
            && let Some(before) = self.before_in_session(txn)
        {
            visit(before, Step::Session);
        }
        if relations.reads {
            for op in self.history.op_range(txn) {
                if let Some(writer) = self.resolved.links[op].txn() {
                    visit(writer, Step::Read(Op::at(op)));
                }
            }
        }
        if relations.versions {
            let start = self.versions.partition_point(|edge| edge.to < txn);
            for (i, edge) in self.versions.iter().enumerate().skip(start).take_while(|(_, e)| e.to == txn) {
                visit(edge.from, Step::Version(i as u32));
            }
        }
        if relations.forced {
            let target = |forced: &Forced| forced.target(self.resolved);
            let start = self.forced.partition_point(|forced| target(forced) < Some(txn));
            let forced = self.forced.iter().enumerate().skip(start);
            for (i, forced) in forced.take_while(|(_, forced)| target(forced) == Some(txn)) {
                visit(forced.seen, Step::Forced(i as u32));
            }
        }
    }

    fn before_in_session(&self, txn: Txn) -> Option<Txn> {
        let session = self.history.txn_range(self.history.session_of(txn));
        (session.start..txn.0).rev().map(Txn).find(|earlier| self.resolved.present[earlier.index()])
    }

    /// Follows the steps of a search from where it arrived.
    fn edges(&self, from: Txn, to: Txn, after: &FxHashMap<Txn, (Txn, Step)>) -> Vec<Edge> {
        let mut edges: Vec<Edge> = Vec::new();
        let mut txn = from;
        while txn != to {
            let (next, step) = after[&txn];
            let why = match step {
                Step::Session => Why::Session,
                Step::Read(read) => Why::ReadFrom { read },
                Step::Version(i) => self.versions[i as usize].why.clone(),
                Step::Forced(i) => self.forced_edge(self.forced[i as usize]).why,
            };
            match edges.last_mut() {
                Some(last) if last.why == Why::Session && why == Why::Session => last.to = Node::Txn(next),
                _ => edges.push(Edge { from: Node::Txn(txn), to: Node::Txn(next), why }),
            }
            txn = next;
        }
        edges
    }

    /// A forced edge with its reason.
    pub(crate) fn forced_edge(&self, forced: Forced) -> Edge {
        let to = forced.target(self.resolved).map_or(Node::Initial, Node::Txn);
        let why = Why::Forced { read: forced.read, seen: self.seen(forced) };
        Edge { from: Node::Txn(forced.seen), to, why }
    }

    /// Why the reader of a forced edge must have seen its source, as simply as can be said.
    pub(crate) fn seen(&self, forced: Forced) -> Seen {
        let Forced { reader, seen, .. } = forced;
        let mut reads = self.history.op_range(reader);
        if let Some(read) = reads.find(|&op| self.resolved.links[op].txn() == Some(seen)) {
            return Seen::Read(Op::at(read));
        }
        if self.history.session_of(seen) == self.history.session_of(reader) && seen < reader {
            return Seen::Session;
        }
        Seen::Causal(self.path(seen, reader, Relations::CAUSAL, |_| true).unwrap_or_default())
    }
}

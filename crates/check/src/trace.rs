//! Evidence: paths through the relations of a history, as edges with reasons.
//!
//! The relations are never stored as a graph of reasons. A search walks backwards from a transaction: its
//! session, its links, what lists say and what axioms force show which transactions precede it and why.
//! Breadth first, so a path has as few steps as there can be; steps along one session or list are joined into one.

use std::collections::VecDeque;

use isoscope_history::{History, Op, Txn};

use crate::axiom::Forced;
use crate::certificate::{Edge, Node, Seen, Why};
use crate::resolve::{Resolved, VersionEdge};

/// Which relations a path may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relations {
    /// The order of versions that lists show.
    Versions,
    /// Reads from others.
    Reads,
    /// Reads and versions.
    Dependencies,
    /// Sessions and reads.
    Causal,
    /// Sessions, reads and versions: what every commit order respects.
    Given,
    /// These, and what an axiom forces.
    Commit,
}

impl Relations {
    pub(crate) fn sessions(self) -> bool {
        matches!(self, Relations::Causal | Relations::Given | Relations::Commit)
    }

    pub(crate) fn reads(self) -> bool {
        self != Relations::Versions
    }

    pub(crate) fn versions(self) -> bool {
        !matches!(self, Relations::Reads | Relations::Causal)
    }

    fn forced(self) -> bool {
        self == Relations::Commit
    }
}

/// A step to a transaction from one before it.
#[derive(Clone, Copy, Debug)]
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
    /// Places in a topological order of sessions and reads, if there is one.
    causal_place: Option<&'a [u32]>,
}

/// What a search remembers: for each transaction it met, which one follows on the path, by which step. Kept
/// from one search to the next, so that each costs only what it visits.
#[derive(Default)]
pub(crate) struct Trail {
    after: Vec<(u32, Step)>,
    met: Vec<u32>,
    queue: VecDeque<Txn>,
}

impl Trail {
    fn begin(&mut self, txns: usize) {
        for txn in self.met.drain(..) {
            self.after[txn as usize].0 = u32::MAX;
        }
        self.after.resize(txns, (u32::MAX, Step::Session));
        self.queue.clear();
    }

    fn has_met(&self, txn: Txn) -> bool {
        self.after[txn.index()].0 != u32::MAX
    }

    fn meet(&mut self, txn: Txn, next: Txn, step: Step) {
        self.after[txn.index()] = (next.0, step);
        self.met.push(txn.0);
        self.queue.push_back(txn);
    }
}

fn sorted<'a>(versions: impl Iterator<Item = &'a VersionEdge>) -> Vec<&'a VersionEdge> {
    let mut versions: Vec<&VersionEdge> = versions.collect();
    versions.sort_by_key(|edge| edge.to);
    versions
}

impl<'a> Tracer<'a> {
    pub(crate) fn new(
        history: &'a History,
        resolved: &'a Resolved,
        forced: &[Forced],
        causal_place: Option<&'a [u32]>,
    ) -> Self {
        let versions = sorted(resolved.versions.iter());
        let mut forced: Vec<Forced> =
            forced.iter().copied().filter(|forced| forced.target(resolved) != Node::Initial).collect();
        forced.sort_unstable_by_key(|forced| (forced.target(resolved), *forced));
        Tracer { history, resolved, versions, forced, causal_place }
    }

    /// One for the order of writes that PL-1 knows.
    pub(crate) fn of_writes(history: &'a History, resolved: &'a Resolved) -> Self {
        let versions = sorted(resolved.writes());
        Tracer { history, resolved, versions, forced: Vec::new(), causal_place: None }
    }

    /// A shortest path between two different transactions, through transactions for which `within` holds.
    pub(crate) fn path(
        &self,
        from: Txn,
        to: Txn,
        relations: Relations,
        within: impl Fn(Txn) -> bool,
        trail: &mut Trail,
    ) -> Option<Vec<Edge>> {
        trail.begin(self.history.txn_count());
        trail.queue.push_back(to);
        while let Some(txn) = trail.queue.pop_front() {
            self.each_step(txn, relations, &mut |before, step| {
                if before != to && within(before) && !trail.has_met(before) {
                    trail.meet(before, txn, step);
                }
            });
            if trail.has_met(from) {
                return Some(self.edges(from, to, trail));
            }
        }
        None
    }

    /// A shortest path of sessions and reads.
    pub(crate) fn causal_path(&self, from: Txn, to: Txn, trail: &mut Trail) -> Option<Vec<Edge>> {
        // Nothing before `from` leads from it to anywhere.
        let within =
            |txn: Txn| self.causal_place.is_none_or(|place| place[txn.index()] >= place[from.index()]);
        self.path(from, to, Relations::Causal, within, trail)
    }

    fn each_step(&self, txn: Txn, relations: Relations, visit: &mut impl FnMut(Txn, Step)) {
        if relations.sessions()
            && let Some(before) = self.resolved.before(self.history, txn)
        {
            visit(before, Step::Session);
        }
        if relations.reads() {
            for op in self.history.op_range(txn) {
                if let Some(writer) = self.resolved.links[op].txn() {
                    visit(writer, Step::Read(Op::at(op)));
                }
            }
        }
        if relations.versions() {
            let start = self.versions.partition_point(|edge| edge.to < txn);
            for (i, edge) in self.versions.iter().enumerate().skip(start).take_while(|(_, e)| e.to == txn) {
                if !(relations.reads() && edge.is_a_read()) {
                    visit(edge.from, Step::Version(i as u32));
                }
            }
        }
        if relations.forced() {
            let target = |forced: &Forced| forced.target(self.resolved);
            let start = self.forced.partition_point(|forced| target(forced) < Node::Txn(txn));
            let forced = self.forced.iter().enumerate().skip(start);
            for (i, forced) in forced.take_while(|(_, forced)| target(forced) == Node::Txn(txn)) {
                visit(forced.seen, Step::Forced(i as u32));
            }
        }
    }

    /// Follows the steps of a search from where it arrived.
    fn edges(&self, from: Txn, to: Txn, trail: &mut Trail) -> Vec<Edge> {
        let mut steps: Vec<(Txn, Txn, Step)> = Vec::new();
        let mut txn = from;
        while txn != to {
            let (next, step) = trail.after[txn.index()];
            steps.push((txn, Txn(next), step));
            txn = Txn(next);
        }
        let mut edges: Vec<Edge> = Vec::new();
        for (txn, next, step) in steps {
            let why = match step {
                Step::Session => Why::Session,
                Step::Read(read) => Why::ReadFrom { read },
                Step::Version(i) => self.versions[i as usize].why.clone(),
                Step::Forced(i) => self.forced_edge(self.forced[i as usize], trail).why,
            };
            join(&mut edges, Edge { from: Node::Txn(txn), to: Node::Txn(next), why });
        }
        edges
    }

    /// A forced edge with its reason.
    pub(crate) fn forced_edge(&self, forced: Forced, trail: &mut Trail) -> Edge {
        let why = Why::Forced { read: forced.read, seen: self.seen(forced, trail) };
        Edge { from: Node::Txn(forced.seen), to: forced.target(self.resolved), why }
    }

    /// Why the reader of a forced edge must have seen its source, as simply as can be said.
    fn seen(&self, forced: Forced, trail: &mut Trail) -> Seen {
        let Forced { reader, seen, .. } = forced;
        let mut reads = self.history.op_range(reader);
        if let Some(read) = reads.find(|&op| self.resolved.links[op].txn() == Some(seen)) {
            return Seen::Read(Op::at(read));
        }
        if self.history.session_of(seen) == self.history.session_of(reader) && seen < reader {
            return Seen::Session;
        }
        Seen::Causal(self.causal_path(seen, reader, trail).unwrap_or_default())
    }
}

/// Adds an edge to a path: to the last edge, if one reason covers both.
pub(crate) fn join(path: &mut Vec<Edge>, next: Edge) {
    match path.last_mut().and_then(|last| Some((joined(last, &next)?, last))) {
        Some((why, last)) => (last.to, last.why) = (next.to, why),
        None => path.push(next),
    }
}

/// Joins the last edge of a cycle and the first, if one reason covers both.
pub(crate) fn join_ends(cycle: &mut Vec<Edge>) {
    let [first, .., last] = cycle.as_slice() else { return };
    if cycle.len() > 2
        && let Some(why) = joined(last, first)
        && let Some(last) = cycle.pop()
    {
        (cycle[0].from, cycle[0].why) = (last.from, why);
    }
}

/// The reason of two edges in one: steps along a session, or along a list that was read.
fn joined(one: &Edge, next: &Edge) -> Option<Why> {
    if one.from == next.to {
        return None;
    }
    match (&one.why, &next.why) {
        (Why::Session, Why::Session) => Some(Why::Session),
        (Why::Versions { read, index }, Why::Versions { read: same, index: later })
            if read == same && index < later =>
        {
            Some(next.why.clone())
        }
        (Why::Versions { read, .. }, Why::Missing { read: same, .. }) if read == same => {
            Some(next.why.clone())
        }
        _ => None,
    }
}

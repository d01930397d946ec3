//! The dependency graph as far as it takes no choice: sessions, real time, reads with a known writer, versions that lists show,
//! and anti-dependencies between a reader and those that certainly overwrote what it read.
//!
//! Which version follows which is known in two ways. A list shows the versions of its key in their order, and what it does not
//! hold was appended later. A transaction that reads a register and writes it is after the version it read. So the versions of a
//! key form a tree below the initial one: the *parent* of a version is the one that it certainly follows. A reader of a
//! version missed all versions below it, except its own.
//!
//! Sessions, real time, the versions of a list and anti-dependencies are transitive, so they have more edges than can be stored.
//! Each is entered by an arc of length 1 and leads on along arcs of length 0: a session, the clock and a list along a chain, an
//! anti-dependency down the tree. All other dependencies are arcs of length 1. The length of a path is then the number of its
//! dependencies. A list that holds the appends of a transaction in several places is no chain: only neighbours count in it.

use isoscope_history::{Key, Op, Txn};
use isoscope_order::Graph;
use rustc_hash::FxHashSet;

use super::events::Events;
use super::problem::Problem;
use super::sources::Source;
use crate::certificate::{Edge, Limit, Node, Through, Why};
use crate::resolve::VersionEdge;
use crate::watch::{Turnstile, Watch};

/// What an arc stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// It goes on with the dependency before it, or from a begin to its own commit. Its length is 0.
    Free,
    Session,
    RealTime,
    /// A read is from a transaction.
    Read(u32),
    /// What a list shows of two writers, beginning with two neighbours.
    Version(u32),
    /// A read misses a writer: an anti-dependency.
    Missed(u32),
}

impl By {
    pub(super) fn length(self) -> u32 {
        u32::from(self != By::Free)
    }

    pub(super) fn through(self) -> Through {
        match self {
            By::Session => Through::Sessions,
            By::RealTime => Through::RealTime,
            _ => Through::Dependencies,
        }
    }

    pub(super) fn is_missed(self) -> bool {
        matches!(self, By::Missed(_))
    }
}

/// An arc.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) by: By,
}

/// The versions of all keys as trees; see the module.
pub(super) struct Versions {
    /// By place among the writers of all keys, then the initial ones by key: the version that it certainly follows.
    pub(super) parent: Vec<u32>,
    /// From each version to those that follow it, in ascending order.
    pub(super) children: Graph,
    /// The writer of each version; none of the initial ones.
    pub(super) writer: Vec<Source>,
}

const NOTHING: u32 = u32::MAX;

impl Versions {
    fn new(problem: &Problem<'_>, turnstile: &Turnstile<'_>) -> Result<Versions, Limit> {
        let history = problem.history;
        let first_initial = history.writer_count();
        let mut parent = vec![NOTHING; first_initial + history.key_count()];
        let mut writer = vec![Source::INITIAL; parent.len()];
        for key in history.keys() {
            let range = history.writer_range(key);
            for (slot, &Txn(txn)) in range.zip(history.writers(key)) {
                turnstile.pass()?;
                writer[slot] = Source::of(txn);
                if problem.is_present(txn) {
                    parent[slot] = (first_initial + key.index()) as u32;
                }
            }
        }
        for (i, read) in problem.reads.iter().enumerate() {
            turnstile.pass()?;
            if is_known(problem, i as u32)
                && let Some(own) = slot_of(problem, read.key, Source::of(read.txn))
                && let Some(source) = slot_of(problem, read.key, read.source)
            {
                parent[own as usize] = source;
            }
        }
        for version in &problem.resolved.versions {
            turnstile.pass()?;
            let (Why::Versions { read, .. } | Why::Missing { read, .. }) = version.why else { continue };
            let key = history.key_of(read);
            if let Some(later) = slot_of(problem, key, Source::of(version.to.0))
                && let Some(earlier) = slot_of(problem, key, Source::of(version.from.0))
            {
                parent[later as usize] = earlier;
            }
        }
        let follows = |(slot, &parent): (usize, &u32)| (parent != NOTHING).then_some((parent, slot as u32));
        let edges: Vec<(u32, u32)> = parent.iter().enumerate().filter_map(follows).collect();
        let children = Graph::from_edges(parent.len(), &edges);
        Ok(Versions { parent, children, writer })
    }

    /// Whether the order of all versions of all keys is known.
    fn is_total(&self) -> bool {
        (0..self.children.len() as u32).all(|version| self.children.successors(version).len() <= 1)
    }
}

/// The place of a version, if the transaction writes the key.
pub(super) fn slot_of(problem: &Problem<'_>, key: Key, writer: Source) -> Option<u32> {
    let history = problem.history;
    let Some(txn) = writer.txn() else {
        return Some((history.writer_count() + key.index()) as u32);
    };
    let place = history.writers(key).binary_search(&Txn(txn)).ok()?;
    Some((history.writer_range(key).start + place) as u32)
}

/// Whether the history alone determines the writer of what a read returned.
pub(super) fn is_known(problem: &Problem<'_>, read: u32) -> bool {
    let read = problem.reads[read as usize];
    problem.is_present(read.txn) && problem.resolved.links[read.op.index()].is_read()
}

/// See the module.
pub(super) struct Facts<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) events: &'a Events,
    pub(super) versions: Versions,
    /// By the node they lead from.
    pub(super) arcs: Vec<Arc>,
    pub(super) nodes: u32,
    /// The node of the first of the pairs of neighbours that lists show.
    first_pair: u32,
}

impl<'a> Facts<'a> {
    /// `edges` are those of an event graph, of which the ones from and to ticks are used.
    pub(super) fn new(
        problem: &'a Problem<'a>,
        events: &'a Events,
        edges: &[(u32, u32)],
        watch: &dyn Watch,
    ) -> Result<Self, Limit> {
        let mut facts = Facts::of_versions(problem, events, watch)?;
        let turnstile = Turnstile::new(watch);
        facts.add_order(edges, &turnstile)?;
        facts.add_reads(&turnstile)?;
        facts.add_lists(&turnstile)?;
        facts.add_misses(&turnstile)?;
        facts.sort(&turnstile)?;
        Ok(facts)
    }

    /// The versions alone, without any arcs.
    pub(super) fn of_versions(
        problem: &'a Problem<'a>,
        events: &'a Events,
        watch: &dyn Watch,
    ) -> Result<Self, Limit> {
        let versions = Versions::new(problem, &Turnstile::new(watch))?;
        Ok(Facts { problem, events, versions, arcs: Vec::new(), nodes: 0, first_pair: 0 })
    }

    /// Whether everything that a level asks for is decided by these facts.
    pub(super) fn is_complete(&self) -> bool {
        let optional = (0..self.problem.history.txn_count() as u32).any(|txn| self.problem.is_optional(txn));
        self.problem.open.is_empty() && !optional && self.versions.is_total()
    }

    /// Puts the arcs in the order of the nodes they lead from. Those of one node stay as they are.
    fn sort(&mut self, turnstile: &Turnstile<'_>) -> Result<(), Limit> {
        let mut next = vec![0u32; self.nodes as usize + 1];
        for arc in &self.arcs {
            next[arc.from as usize + 1] += 1;
        }
        for node in 0..self.nodes as usize {
            next[node + 1] += next[node];
        }
        let mut sorted = vec![Arc { from: 0, to: 0, by: By::Free }; self.arcs.len()];
        for &arc in &self.arcs {
            turnstile.pass()?;
            let place = &mut next[arc.from as usize];
            sorted[*place as usize] = arc;
            *place += 1;
        }
        self.arcs = sorted;
        Ok(())
    }

    fn add(&mut self, from: u32, to: u32, by: By) {
        self.arcs.push(Arc { from, to, by });
    }

    /// Begins to commits, sessions and real time.
    fn add_order(&mut self, edges: &[(u32, u32)], turnstile: &Turnstile<'_>) -> Result<(), Limit> {
        let Events { rules, first_tick, nodes, .. } = *self.events;
        let history = self.problem.history;
        let txns = history.txn_count() as u32;
        if rules.split {
            (0..txns).for_each(|txn| self.add(rules.begin(txn), rules.commit(txn), By::Free));
        }
        if rules.sessions {
            for session in history.sessions() {
                for txn in history.txn_range(session) {
                    turnstile.pass()?;
                    self.add(rules.commit(txn), nodes + txn, By::Session);
                    if history.txn_range(session).contains(&(txn + 1)) {
                        self.add(nodes + txn, rules.begin(txn + 1), By::Free);
                        self.add(nodes + txn, nodes + txn + 1, By::Free);
                    }
                }
            }
        }
        for &(from, to) in edges.iter().filter(|&&(from, to)| from.max(to) >= first_tick) {
            turnstile.pass()?;
            let by = if from < first_tick { By::RealTime } else { By::Free };
            self.add(from, to, by);
        }
        self.nodes = nodes + txns;
        Ok(())
    }

    /// Reads.
    fn add_reads(&mut self, turnstile: &Turnstile<'_>) -> Result<(), Limit> {
        let rules = self.events.rules;
        for (i, read) in self.problem.reads.iter().enumerate() {
            turnstile.pass()?;
            if let Some(source) = read.source.txn()
                && is_known(self.problem, i as u32)
            {
                self.add(rules.commit(source), rules.begin(read.txn), By::Read(i as u32));
            }
        }
        Ok(())
    }

    /// What lists show of versions. Each pair of neighbours has a node that leads to the later writer and to the next pair.
    fn add_lists(&mut self, turnstile: &Turnstile<'_>) -> Result<(), Limit> {
        let (rules, problem) = (self.events.rules, self.problem);
        let pairs = &problem.resolved.versions;
        self.first_pair = self.nodes;
        self.nodes += pairs.len() as u32;
        let mut number = 0;
        for list in pairs.chunk_by(|one, other| list_of(one) == list_of(other)) {
            let is_chain = is_chain(list);
            // What the list lacks comes after its last element.
            let shown = list.partition_point(|pair| matches!(pair.why, Why::Versions { .. }));
            for (i, pair) in list.iter().enumerate() {
                turnstile.pass()?;
                let (node, by) = (self.first_pair + number + i as u32, By::Version(number + i as u32));
                let (from, to) = (rules.commit(pair.from.0), rules.overwrite(pair.to.0));
                if !is_chain {
                    self.add(from, to, by);
                    continue;
                }
                self.add(from, node, by);
                self.add(node, to, By::Free);
                let next = if i + 1 < shown { i + 1..i + 2 } else { shown..list.len() };
                for next in next.filter(|&next| i < shown && list[next].from == pair.to) {
                    self.add(node, self.first_pair + number + next as u32, By::Free);
                }
            }
            number += list.len() as u32;
        }
        Ok(())
    }

    /// Anti-dependencies. Each version has a node that leads to it and all below it. One that has siblings has two more: one leads
    /// there and to the siblings before it, and one there and to the siblings after it.
    fn add_misses(&mut self, turnstile: &Turnstile<'_>) -> Result<(), Limit> {
        let (problem, rules, first) = (self.problem, self.events.rules, self.nodes);
        let below = |version: u32| first + version;
        self.nodes += self.versions.parent.len() as u32;
        // The first of the two nodes for siblings. It is never asked of a version that has none.
        let mut beside: Vec<u32> = (0..self.versions.parent.len() as u32).map(below).collect();
        for version in 0..self.versions.parent.len() as u32 {
            let children = self.versions.children.successors(version);
            for &child in children.iter().filter(|_| children.len() > 1) {
                beside[child as usize] = self.nodes;
                self.nodes += 2;
            }
        }
        let before = |version: u32| beside[version as usize];
        let after = |version: u32| match beside[version as usize] {
            only if only == below(version) => only,
            beside => beside + 1,
        };
        for version in 0..self.versions.parent.len() as u32 {
            turnstile.pass()?;
            if let Some(writer) = self.versions.writer[version as usize].txn()
                && self.versions.parent[version as usize] != NOTHING
            {
                self.add(below(version), rules.commit(writer), By::Free);
            }
            let children = self.versions.children.successors(version).to_vec();
            if let Some(&first) = children.first() {
                self.add(below(version), after(first), By::Free);
            }
            for &child in children.iter().filter(|_| children.len() > 1) {
                self.add(before(child), below(child), By::Free);
                self.add(after(child), below(child), By::Free);
            }
            for pair in children.windows(2) {
                self.add(before(pair[1]), before(pair[0]), By::Free);
                self.add(after(pair[0]), after(pair[1]), By::Free);
            }
        }
        for (i, read) in problem.reads.iter().enumerate().filter(|(i, _)| is_known(problem, *i as u32)) {
            turnstile.pass()?;
            let Some(version) = slot_of(problem, read.key, read.source) else { continue };
            let children = self.versions.children.successors(version);
            let own = slot_of(problem, read.key, Source::of(read.txn))
                .and_then(|own| children.binary_search(&own).ok());
            let entries = match own {
                None => [children.first().map(|&child| after(child)), None],
                Some(own) => [
                    own.checked_sub(1).map(|sibling| before(children[sibling])),
                    children.get(own + 1).map(|&sibling| after(sibling)),
                ],
            };
            for entry in entries.into_iter().flatten() {
                self.add(rules.begin(read.txn), entry, By::Missed(i as u32));
            }
        }
        Ok(())
    }

    /// A closed path as a cycle of transactions. It begins with an arc from an event.
    pub(super) fn edges(&self, path: &[Arc]) -> Vec<Edge> {
        let Events { rules, first_tick, .. } = *self.events;
        let problem = self.problem;
        let mut edges: Vec<Edge> = Vec::new();
        let mut begun: Option<(u32, By)> = None;
        for arc in path {
            if arc.by != By::Free {
                begun = Some((rules.txn(arc.from), arc.by));
            }
            if arc.to >= first_tick {
                continue;
            }
            let Some((from, by)) = begun.take() else { continue };
            let why = match by {
                By::Free => continue,
                By::Session => Why::Session,
                By::RealTime => Why::RealTime,
                By::Read(read) => Why::ReadFrom { read: problem.reads[read as usize].op },
                By::Version(first) => {
                    let last = arc.from.checked_sub(self.first_pair).filter(|_| arc.from >= first_tick);
                    problem.resolved.versions[last.unwrap_or(first) as usize].why.clone()
                }
                By::Missed(read) => Why::Misses { read: problem.reads[read as usize].op },
            };
            edges.push(Edge { from: Node::Txn(Txn(from)), to: Node::Txn(Txn(rules.txn(arc.to))), why });
        }
        edges
    }
}

/// The read whose list shows a pair of neighbours.
fn list_of(pair: &VersionEdge) -> Option<Op> {
    match pair.why {
        Why::Versions { read, .. } | Why::Missing { read, .. } => Some(read),
        _ => None,
    }
}

/// Whether a list holds the appends of each transaction in one place. The pairs are in the order of the list.
fn is_chain(list: &[VersionEdge]) -> bool {
    let mut met: FxHashSet<Txn> = FxHashSet::default();
    let mut last: Option<Txn> = None;
    list.iter().filter(|pair| matches!(pair.why, Why::Versions { .. })).all(|pair| {
        let begins = last == Some(pair.from) || met.insert(pair.from);
        last = Some(pair.to);
        begins && met.insert(pair.to)
    })
}

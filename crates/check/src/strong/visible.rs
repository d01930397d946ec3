//! Search for the levels that ask what a reader must have seen: parallel snapshot isolation, and, where reads are open, causal
//! consistency, read atomic and read committed.
//!
//! One axiom for all (levels.md, Frameworks 1 and 3): when t3 reads x from t1, and t2 also writes x, and t3 must have
//! seen t2, then t2 is before t1. They differ in what must have been seen: what t3 read from earlier, what it reads from and
//! its session, all that leads to it along sessions and reads, or along sessions, reads and overwrites (which for parallel
//! snapshot isolation says that no cycle has fewer than two anti-dependencies).
//!
//! As in `search.rs` an order is looked at, and where it breaks the axiom, the axiom becomes a clause: that the path by which t3
//! must have seen t2 is not there, or that t2 is before t1. A step of the path that depends on a choice, of a source or of who
//! overwrote whom, is a literal of the clause.

use isoscope_history::{Key, Op, Session, Txn};
use isoscope_order::Graph;
use isoscope_solve::{Answer, Lit, OrderSolver};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

use super::events::Events;
use super::problem::{INITIAL, OPEN, Problem};
use super::reach::Reach;
use super::search::{Axiom, figures};
use crate::certificate::Limit;
use crate::watch::Watch;

/// What a reader must have seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Nothing.
    Nothing,
    /// Whom it read from earlier in its program.
    Earlier,
    /// Whom it reads from, and what is earlier in its session.
    Direct,
    /// All that leads to it along sessions and reads.
    Causal,
    /// All that leads to it along sessions, reads and overwrites.
    Parallel,
}

/// What a search came to.
pub(crate) enum Found {
    /// A commit order of the transactions that are there, and a source for each open read of theirs.
    Order {
        order: Vec<Txn>,
        sources: Vec<(Op, u32)>,
    },
    /// There is none, because of these axioms.
    Nothing(Vec<Axiom>),
    Stopped(Limit),
}

/// Searches for an order and for sources. `edges` are those of sessions, of known reads and whatever else is certain about the
/// order; `order` is one of theirs.
pub(crate) fn search(
    problem: &Problem<'_>,
    events: &Events,
    sight: Sight,
    edges: &[(u32, u32)],
    order: Vec<u32>,
    watch: &dyn Watch,
) -> (Found, Vec<(&'static str, u64)>) {
    let mut search = Search {
        problem,
        events,
        sight,
        watch,
        solver: OrderSolver::new(events.nodes as usize, edges, &order),
        place: vec![0; events.nodes as usize],
        lits: FxHashMap::default(),
        there: FxHashMap::default(),
        chosen: problem.reads.iter().map(|read| read.source).collect(),
        axioms: Vec::new(),
        seen: FxHashSet::default(),
    };
    search.begin(&order);
    let mut rounds = 0;
    let mut order = order;
    let found = loop {
        rounds += 1;
        if rounds > 1 && !search.look(&order) {
            // What was not looked at to the end is not known to be right.
            break watch.limit().map_or_else(|| search.answer(&order), Found::Stopped);
        }
        let mut limit = None;
        let answer = search.solver.solve(&[], &mut || {
            limit = watch.limit();
            limit.is_some()
        });
        match answer {
            Answer::Order => order = search.solver.order(),
            Answer::Contradiction => break Found::Nothing(std::mem::take(&mut search.axioms)),
            Answer::Stopped => break Found::Stopped(limit.unwrap_or(Limit::Time)),
        }
    };
    (found, figures(rounds, &search.solver))
}

/// Why one transaction leads to another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Session,
    Read(u32),
    /// The one wrote a key before the other.
    Overwritten(Key),
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    events: &'a Events,
    sight: Sight,
    watch: &'a dyn Watch,
    solver: OrderSolver,
    place: Vec<u32>,
    /// By open read and source.
    lits: FxHashMap<(u32, u32), Lit>,
    /// By optional transaction.
    there: FxHashMap<u32, Lit>,
    /// The source of each read, as chosen now.
    chosen: Vec<u32>,
    axioms: Vec<Axiom>,
    seen: FxHashSet<(u32, u32, u32)>,
}

impl Search<'_> {
    /// Makes variables for all sources of open reads and for optional transactions.
    fn begin(&mut self, order: &[u32]) {
        for (&node, i) in order.iter().zip(0..) {
            self.place[node as usize] = i;
        }
        for txn in (0..self.problem.history.txn_count() as u32).filter(|&txn| self.problem.is_optional(txn)) {
            let lit = self.solver.variable(false);
            self.there.insert(txn, lit);
        }
        for i in 0..self.problem.reads.len() {
            let read = self.problem.reads[i];
            if read.source >= OPEN {
                continue;
            }
            let mut clause: Vec<Lit> = self.absent(read.txn).into_iter().collect();
            if !clause.is_empty() {
                clause.push(self.solver.before(read.source, read.txn));
                self.solver.add_clause(&clause);
            }
        }
        for open in &self.problem.open {
            let reader = self.problem.reads[open.read as usize].txn;
            let until = self.place[reader as usize];
            let when = |source: u32| match source {
                INITIAL => Some(0),
                source => Some(1 + self.place[source as usize]).filter(|&place| place <= until),
            };
            let best = open.sources.iter().copied().max_by_key(|&source| when(source));
            let mut any: Vec<Lit> = self.absent(reader).into_iter().collect();
            for &source in &open.sources {
                let lit = self.solver.variable(Some(source) == best);
                self.lits.insert((open.read, source), lit);
                any.push(lit);
                if source != INITIAL {
                    let before = self.solver.before(source, reader);
                    self.solver.add_clause(&[!lit, before]);
                    if let Some(&there) = self.there.get(&source) {
                        self.solver.add_clause(&[!lit, there]);
                    }
                }
            }
            self.solver.add_clause(&any);
            self.axioms.push(Axiom::Sources { read: open.read });
        }
    }

    fn absent(&self, txn: u32) -> Option<Lit> {
        self.there.get(&txn).map(|&lit| !lit)
    }

    fn is_there(&self, txn: u32) -> bool {
        self.problem.is_present(txn) || self.there.get(&txn).is_some_and(|&lit| self.solver.holds(lit))
    }

    fn answer(&self, order: &[u32]) -> Found {
        let first_tick = self.events.first_tick;
        let there = |&&txn: &&u32| txn < first_tick && self.is_there(txn);
        let order = order.iter().filter(there).map(|&txn| Txn(txn)).collect();
        let reads = self.problem.open.iter().map(|open| open.read as usize);
        let counts = |read: &usize| self.is_there(self.problem.reads[*read].txn);
        let sources = reads.filter(counts).map(|i| (self.problem.reads[i].op, self.chosen[i])).collect();
        Found::Order { order, sources }
    }

    /// Adds a clause for everything an order breaks; whether there was anything.
    fn look(&mut self, order: &[u32]) -> bool {
        for (&node, i) in order.iter().zip(0..) {
            self.place[node as usize] = i;
        }
        for open in &self.problem.open {
            let chosen =
                open.sources.iter().find(|&&source| self.solver.holds(self.lits[&(open.read, source)]));
            self.chosen[open.read as usize] = chosen.copied().unwrap_or(OPEN);
        }
        let before = self.axioms.len();
        let links = self.links();
        let mut broken: Vec<(u32, u32)> = match self.sight {
            Sight::Nothing => Vec::new(),
            Sight::Earlier | Sight::Direct => self.broken_directly(),
            Sight::Causal | Sight::Parallel => self.broken_far(&links),
        };
        broken.sort_unstable();
        broken.dedup();
        let paths = Paths::new(self.problem, &links);
        for (read, writer) in broken {
            self.forbid(&paths, read, writer);
        }
        self.axioms.len() > before
    }

    /// Whether a writer is after the source of a read.
    fn is_after(&self, read: u32, writer: u32) -> bool {
        match self.chosen[read as usize] {
            INITIAL => true,
            source => writer != source && self.place[writer as usize] > self.place[source as usize],
        }
    }

    /// Reads that miss a writer they must have seen, where that is whom the reader reads from or its session.
    fn broken_directly(&self) -> Vec<(u32, u32)> {
        let (problem, history) = (self.problem, self.problem.history);
        let mut broken = Vec::new();
        for txn in (0..history.txn_count() as u32).filter(|&txn| self.is_there(txn)) {
            let reads = problem.reads_of(txn);
            for i in reads.clone() {
                let key = problem.reads[i].key;
                let seen = match self.sight {
                    Sight::Earlier => reads.start..i,
                    _ => reads.clone(),
                };
                for writer in seen.map(|j| self.chosen[j]).filter(|&source| source < OPEN) {
                    if history.writes(Txn(writer), key) && self.is_after(i as u32, writer) {
                        broken.push((i as u32, writer));
                    }
                }
                if self.sight == Sight::Direct
                    && let Some(writer) = self.last_in_session(key, history.session_of(Txn(txn)), txn)
                    && self.is_after(i as u32, writer)
                {
                    broken.push((i as u32, writer));
                }
            }
        }
        broken
    }

    fn last_in_session(&self, key: Key, session: Session, before: u32) -> Option<u32> {
        let writers = self.problem.history.writers_in(key, session);
        let mut earlier = writers.iter().rev().map(|txn| txn.0).filter(|&txn| txn < before);
        earlier.find(|&txn| self.is_there(txn))
    }

    /// The same where it is all that leads to the reader.
    fn broken_far(&self, links: &Links) -> Vec<(u32, u32)> {
        let (problem, history) = (self.problem, self.problem.history);
        let Some(reach) = Reach::new(history, self.events, &links.edges, self.watch) else {
            return Vec::new();
        };
        let mut broken = Vec::new();
        for (i, read) in problem.reads.iter().enumerate().filter(|(_, read)| self.is_there(read.txn)) {
            let writers = history.writers(read.key);
            for writers in writers.chunk_by(|a, b| history.session_of(*a) == history.session_of(*b)) {
                let chain = self.events.chain_of(history, writers[0].0);
                let bound = reach.bound(read.txn, chain);
                let until = writers.partition_point(|writer| writer.0 < bound);
                let last = writers[..until].iter().rev().find(|writer| self.is_there(writer.0));
                if let Some(&Txn(writer)) = last
                    && self.is_after(i as u32, writer)
                {
                    broken.push((i as u32, writer));
                }
            }
        }
        broken
    }

    /// Everything along which a reader must have seen.
    fn links(&self) -> Links {
        let (problem, history) = (self.problem, self.problem.history);
        let mut links = Links::default();
        for session in history.sessions() {
            let txns: Vec<u32> = history.txn_range(session).collect();
            for pair in txns.windows(2) {
                links.add(pair[0], pair[1], Link::Session);
            }
        }
        for (i, read) in problem.reads.iter().enumerate() {
            if self.is_there(read.txn) && self.chosen[i] < OPEN {
                links.add(self.chosen[i], read.txn, Link::Read(i as u32));
            }
        }
        if self.sight == Sight::Parallel {
            for key in history.keys() {
                let mut writers: Vec<u32> =
                    history.writers(key).iter().map(|txn| txn.0).filter(|&txn| self.is_there(txn)).collect();
                writers.sort_unstable_by_key(|&txn| self.place[txn as usize]);
                for pair in writers.windows(2) {
                    links.add(pair[0], pair[1], Link::Overwritten(key));
                }
            }
        }
        links
    }

    /// A read that must have seen a writer must have a source that is not before it.
    fn forbid(&mut self, paths: &Paths<'_>, read: u32, writer: u32) {
        let (txn, source) = (self.problem.reads[read as usize].txn, self.chosen[read as usize]);
        let path = match self.sight {
            Sight::Nothing | Sight::Earlier | Sight::Direct => {
                let mut reads = self.problem.reads_of(txn);
                if self.sight == Sight::Earlier {
                    reads.end = read as usize;
                }
                let known = |j: &usize| self.chosen[*j] == writer;
                let history = self.problem.history;
                let session = history.session_of(Txn(writer)) == history.session_of(Txn(txn)) && writer < txn;
                match reads.clone().filter(known).min_by_key(|&j| self.problem.reads[j].source == OPEN) {
                    _ if self.sight == Sight::Direct && session => vec![],
                    Some(j) => vec![(writer, txn, Link::Read(j as u32))],
                    None => vec![],
                }
            }
            Sight::Causal | Sight::Parallel => paths.path(writer, txn),
        };
        let mut clause: Vec<Lit> = [txn, writer].iter().filter_map(|&txn| self.absent(txn)).collect();
        for (from, to, link) in path {
            match link {
                // The order of a session holds across those that are absent.
                Link::Session => continue,
                Link::Read(i) => {
                    if let Some(&lit) = self.lits.get(&(i, self.chosen[i as usize])) {
                        clause.push(!lit);
                        self.axioms.push(Axiom::Sources { read: i });
                    }
                }
                Link::Overwritten(key) => {
                    clause.push(self.solver.before(to, from));
                    self.note(Axiom::Conflict { key, first: from, second: to });
                }
            }
            clause.extend([from, to].iter().filter_map(|&txn| self.absent(txn)));
        }
        clause.extend(self.lits.get(&(read, source)).map(|&lit| !lit));
        if source != INITIAL {
            clause.push(self.solver.before(writer, source));
        }
        self.solver.add_clause(&clause);
        self.axioms.push(Axiom::Between { read, source, writer });
    }

    fn note(&mut self, axiom: Axiom) {
        if let Axiom::Conflict { key, first, second } = axiom
            && self.seen.insert((key.0, first.min(second), first.max(second)))
        {
            self.axioms.push(axiom);
        }
    }
}

/// A graph of reasons.
#[derive(Default)]
struct Links {
    edges: Vec<(u32, u32)>,
    reasons: Vec<Link>,
}

impl Links {
    fn add(&mut self, from: u32, to: u32, link: Link) {
        self.edges.push((from, to));
        self.reasons.push(link);
    }
}

/// Paths along links.
struct Paths<'l> {
    problem: &'l Problem<'l>,
    links: &'l Links,
    /// Reversed, by the edges in this order.
    graph: Graph,
    sorted: Vec<u32>,
}

impl<'l> Paths<'l> {
    fn new(problem: &'l Problem<'l>, links: &'l Links) -> Self {
        let mut sorted: Vec<u32> = (0..links.edges.len() as u32).collect();
        sorted.sort_by_key(|&i| links.edges[i as usize].1);
        let reversed: Vec<(u32, u32)> =
            sorted.iter().map(|&i| (links.edges[i as usize].1, links.edges[i as usize].0)).collect();
        let graph = Graph::from_edges(problem.history.txn_count(), &reversed);
        Paths { problem, links, graph, sorted }
    }

    /// A path with as few choices as there can be.
    fn path(&self, from: u32, to: u32) -> Vec<(u32, u32, Link)> {
        let Paths { problem, links, graph, sorted } = self;
        let is_free = |i: u32| match links.reasons[i as usize] {
            Link::Session => true,
            Link::Read(read) => problem.reads[read as usize].source != OPEN,
            Link::Overwritten(_) => false,
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
                if far.get(&before).is_none_or(|&known| next < known) {
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

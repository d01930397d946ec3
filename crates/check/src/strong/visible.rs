//! Search for the levels that ask what a reader must have seen: parallel snapshot isolation, cursor stability, monotonic view,
//! update atomic, update serializability, and, where reads are open, causal consistency, read atomic and read committed.
//!
//! One axiom for all (docs/levels.md, "Commit orders" and "Dependency graphs"): when t3 reads x from t1, and t2 also writes x, and t3 must have
//! seen t2, then t2 is before t1. They differ in what must have been seen: what t3 read from earlier, what it reads from and
//! its session, all that leads to it along sessions and reads, or along sessions, reads and overwrites (which for parallel
//! snapshot isolation says that no cycle has fewer than two anti-dependencies). Cursor stability: whom it overwrites on x. Update
//! atomic: as read atomic, and whom it overwrites. Monotonic view: whom it read from or overwrote earlier, and what leads there
//! along reads and overwrites. Update serializability: for one that only reads, all that leads to it along reads, overwrites and
//! the anti-dependencies of those that write; these are serializable among themselves.
//!
//! As in `search.rs` an order is looked at, and where it breaks the axiom, the axiom becomes a clause: that the path by which t3
//! must have seen t2 is not there, or that t2 is before t1. A step of the path that depends on a choice, of a source or of who
//! overwrote whom, is a literal of the clause.

use isoscope_history::{Key, Op, Session, Txn};
use isoscope_order::Graph;
use isoscope_solve::{Budget, Lit, OrderSolver, Outcome};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

use super::events::Events;
use super::problem::{INITIAL, OPEN, Problem};
use super::reach::Reach;
use super::search::{Axiom, figures};
use crate::certificate::Limit;
use crate::semantics::Sight;
use crate::watch::Watch;

/// How many of the writers that a read misses and must have seen become clauses in one round.
const AT_A_TIME: usize = 4;

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
        chosen_clauses: Vec::new(),
    };
    search.begin(&order);
    let always = search.axioms.len();
    let mut rounds = 0;
    let mut order = order;
    let found = loop {
        rounds += 1;
        if rounds > 1 && !search.look(&order) {
            // What was not looked at to the end is not known to be right.
            break watch.limit().map_or_else(|| search.answer(&order), Found::Stopped);
        }
        let mut limit = None;
        let chosen: Vec<Lit> = search.chosen_clauses.iter().map(|(lit, _)| *lit).collect();
        let mut stop = || {
            limit = watch.limit();
            limit.is_some()
        };
        let outcome = search.solver.solve_within(&chosen, Budget::stopped_by(&mut stop));
        match outcome {
            Outcome::Sat => order = search.solver.order(),
            Outcome::Unsat => break Found::Nothing(search.core(always)),
            Outcome::Stopped => break Found::Stopped(limit.unwrap_or(Limit::Time)),
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
    /// The one read what the other overwrote.
    Missed(u32),
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
    /// Where saturation has not thinned out what has to be proved: for each clause the literal that it holds, which is assumed,
    /// and its axioms. Of clauses that cannot hold together the solver tells which it needed.
    chosen_clauses: Vec<(Lit, Vec<Axiom>)>,
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
            let Problem { history, resolved, .. } = *self.problem;
            if let Some(tick) = self.events.tick_before(history, resolved, txn) {
                let after = self.solver.before(tick, txn);
                self.solver.add_clause(&[!lit, after]);
            }
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
            let best = open.sources.iter().max_by_key(|&source| when(source));
            let mut any: Vec<Lit> = self.absent(reader).into_iter().collect();
            for source in open.sources.iter() {
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
                open.sources.iter().find(|&source| self.solver.holds(self.lits[&(open.read, source)]));
            self.chosen[open.read as usize] = chosen.unwrap_or(OPEN);
        }
        let before = self.axioms.len();
        let links = self.links();
        let paths = Paths::new(self.problem, &links);
        let mut broken: Vec<(u32, u32)> = match self.sight {
            Sight::Nothing => Vec::new(),
            Sight::Earlier | Sight::Direct => self.broken_directly(),
            Sight::Causal | Sight::Parallel if Reach::fits(self.events) => self.broken_far(&links),
            Sight::Causal | Sight::Parallel => self.broken_by_walk(&paths),
            Sight::Cursor => self.broken_at_once(|_, _, key| Some(key)),
            Sight::Update => {
                let mut broken = self.broken_directly();
                broken.extend(self.broken_at_once(|writer, reader, _| self.conflict(writer, reader)));
                broken
            }
            Sight::Monotonic => self.broken_earlier(&paths),
            Sight::Updates => match self.broken_updates() {
                // Links lead along the order only where those that write are serializable in it.
                broken if broken.is_empty() => self.broken_by_walk(&paths),
                broken => broken,
            },
        };
        broken.sort_unstable();
        broken.dedup();
        for (read, writer) in broken {
            if self.watch.limit().is_some() {
                break;
            }
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
                if matches!(self.sight, Sight::Direct | Sight::Update)
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
        let reach = Reach::new(history, self.events, &links.edges, self.watch);
        let reach = reach.expect("links lead along the order, so they have no cycle");
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

    /// The writers of what a transaction read that are after the source and before the transaction: what the read misses. The
    /// latest are enough.
    fn missed(&self, read: u32) -> Vec<u32> {
        let txn = self.problem.reads[read as usize].txn;
        let between = |writer: &u32| {
            *writer != txn
                && self.place[*writer as usize] < self.place[txn as usize]
                && self.is_there(*writer)
        };
        let writers = self.problem.history.writers(self.problem.reads[read as usize].key).iter();
        let mut missed: Vec<u32> = writers
            .map(|writer| writer.0)
            .filter(|&writer| self.is_after(read, writer))
            .filter(between)
            .collect();
        missed.sort_unstable_by_key(|&writer| std::cmp::Reverse(self.place[writer as usize]));
        missed
    }

    /// What the reads of a transaction miss, by read, and the first of those missed.
    fn missed_by(&self, txn: u32) -> (Vec<(u32, Vec<u32>)>, u32) {
        let reads = self.problem.reads_of(txn).map(|i| i as u32).filter(|&i| self.chosen[i as usize] != OPEN);
        let missed: Vec<(u32, Vec<u32>)> =
            reads.map(|i| (i, self.missed(i))).filter(|(_, missed)| !missed.is_empty()).collect();
        let places = missed.iter().flat_map(|(_, missed)| missed).map(|&writer| self.place[writer as usize]);
        let first = places.min().unwrap_or(0);
        (missed, first)
    }

    /// A key that two transactions write.
    fn conflict(&self, one: u32, other: u32) -> Option<Key> {
        let mut keys = self.problem.writes_of(one).map(|(key, _)| key);
        keys.find(|&key| self.problem.history.writes(Txn(other), key))
    }

    /// Reads that miss a writer which the reader overwrites, on a key that counts.
    fn broken_at_once(&self, counts: impl Fn(u32, u32, Key) -> Option<Key>) -> Vec<(u32, u32)> {
        let (problem, history) = (self.problem, self.problem.history);
        let mut broken = Vec::new();
        for (read, i) in problem.reads.iter().zip(0..).filter(|(read, _)| self.is_there(read.txn)) {
            let is_cursor = || history.writes(Txn(read.txn), read.key) && !history.op(read.op).in_range;
            if self.sight == Sight::Cursor && !is_cursor()
                || !problem.is_update(read.txn)
                || self.chosen[i as usize] == OPEN
            {
                continue;
            }
            let missed = self.missed(i).into_iter();
            let seen = missed.filter(|&writer| counts(writer, read.txn, read.key).is_some());
            broken.extend(seen.take(AT_A_TIME).map(|writer| (i, writer)));
        }
        broken
    }

    /// Reads that miss a writer that leads to their transaction, looked for by a walk back from each transaction that
    /// misses anybody. Those that write are left out where they are serializable already.
    fn broken_by_walk(&self, paths: &Paths<'_>) -> Vec<(u32, u32)> {
        let counts = |txn: u32| self.sight != Sight::Updates || !self.problem.is_update(txn);
        let txns = 0..self.problem.history.txn_count() as u32;
        let mut broken = Vec::new();
        for txn in txns.filter(|&txn| self.is_there(txn) && counts(txn)) {
            let (missed, first) = self.missed_by(txn);
            if missed.is_empty() {
                continue;
            }
            if self.watch.limit().is_some() {
                break;
            }
            let mut seen = FxHashSet::default();
            paths.walk_back(txn, &|node| self.place[node as usize] >= first, &mut seen);
            for (read, missed) in missed {
                let missed = missed.into_iter().filter(|writer| seen.contains(writer));
                broken.extend(missed.take(AT_A_TIME).map(|writer| (read, writer)));
            }
        }
        broken
    }

    /// Reads that miss a writer that leads to an earlier operation of their transaction.
    fn broken_earlier(&self, paths: &Paths<'_>) -> Vec<(u32, u32)> {
        let problem = self.problem;
        let mut broken = Vec::new();
        for txn in (0..problem.history.txn_count() as u32).filter(|&txn| self.is_there(txn)) {
            let (missed, first) = self.missed_by(txn);
            if missed.is_empty() {
                continue;
            }
            if self.watch.limit().is_some() {
                break;
            }
            let within = |node: u32| self.place[node as usize] >= first;
            let mut seen = FxHashSet::default();
            let mut earlier = self.earlier(txn).into_iter().peekable();
            for (read, missed) in missed {
                let op = problem.reads[read as usize].op;
                while let Some((_, before, _)) = earlier.next_if(|earlier| earlier.0 < op) {
                    if within(before) {
                        paths.walk_back(before, &within, &mut seen);
                    }
                }
                let missed = missed.into_iter().filter(|writer| seen.contains(writer));
                broken.extend(missed.take(AT_A_TIME).map(|writer| (read, writer)));
            }
        }
        broken
    }

    /// Whom each operation of a transaction reads from or overwrites, in program order.
    fn earlier(&self, txn: u32) -> Vec<(Op, u32, Link)> {
        let problem = self.problem;
        let reads = problem.reads_of(txn).filter(|&i| self.chosen[i] < OPEN);
        let mut earlier: Vec<(Op, u32, Link)> =
            reads.map(|i| (problem.reads[i].op, self.chosen[i], Link::Read(i as u32))).collect();
        let writes = problem.history.ops_of(Txn(txn)).filter(|op| op.kind.is_write() && op.last_write);
        let place = |txn: u32| self.place[txn as usize];
        earlier.extend(writes.filter_map(|op| {
            let writers = problem.history.writers(op.key).iter().map(|writer| writer.0);
            let before = writers.filter(|&writer| place(writer) < place(txn) && self.is_there(writer));
            Some((op.id, before.max_by_key(|&writer| place(writer))?, Link::Overwritten(op.key)))
        }));
        earlier.sort_unstable_by_key(|earlier| earlier.0);
        earlier
    }

    /// Reads of transactions that write which miss anybody before them.
    fn broken_updates(&self) -> Vec<(u32, u32)> {
        let mut broken = Vec::new();
        for (read, i) in self.problem.reads.iter().zip(0..).filter(|(read, _)| self.is_there(read.txn)) {
            if self.problem.is_update(read.txn) && self.chosen[i as usize] != OPEN {
                broken.extend(self.missed(i).into_iter().take(AT_A_TIME).map(|writer| (i, writer)));
            }
        }
        broken
    }

    /// Everything along which a reader must have seen.
    fn links(&self) -> Links {
        let (problem, history) = (self.problem, self.problem.history);
        let mut links = Links::default();
        for session in history.sessions().filter(|_| self.events.rules.sessions) {
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
        if matches!(self.sight, Sight::Parallel | Sight::Monotonic | Sight::Updates) {
            for key in history.keys() {
                let mut writers: Vec<u32> =
                    history.writers(key).iter().map(|txn| txn.0).filter(|&txn| self.is_there(txn)).collect();
                writers.sort_unstable_by_key(|&txn| self.place[txn as usize]);
                for pair in writers.windows(2) {
                    links.add(pair[0], pair[1], Link::Overwritten(key));
                }
            }
        }
        if self.sight == Sight::Updates {
            self.link_missed(&mut links);
        }
        links
    }

    /// The anti-dependencies of those that write: on the next writer, whom the others overwrite.
    fn link_missed(&self, links: &mut Links) {
        let problem = self.problem;
        for (read, i) in problem.reads.iter().zip(0..).filter(|(read, _)| self.is_there(read.txn)) {
            if !problem.is_update(read.txn) || self.chosen[i as usize] == OPEN {
                continue;
            }
            let writers = problem.history.writers(read.key).iter().map(|writer| writer.0);
            let after = writers.filter(|&writer| self.is_there(writer) && self.is_after(i, writer));
            let next = after.min_by_key(|&writer| self.place[writer as usize]);
            // Who overwrites what it read is followed by whoever follows it.
            if let Some(next) = next.filter(|&next| next != read.txn) {
                links.add(read.txn, next, Link::Missed(i));
            }
        }
    }

    /// The axioms that no order satisfies; so many of them hold in any case.
    fn core(&mut self, always: usize) -> Vec<Axiom> {
        let axioms = std::mem::take(&mut self.axioms);
        if self.chosen_clauses.is_empty() {
            return axioms;
        }
        let failed: FxHashSet<Lit> = self.solver.failed().iter().copied().collect();
        let needed = self.chosen_clauses.iter().filter(|(lit, _)| failed.contains(lit));
        let mut core: Vec<Axiom> = axioms[..always].to_vec();
        for &axiom in needed.flat_map(|(_, axioms)| axioms) {
            if !core.contains(&axiom) {
                core.push(axiom);
            }
        }
        core
    }

    /// A read that must have seen a writer must have a source that is not before it.
    fn forbid(&mut self, paths: &Paths<'_>, read: u32, writer: u32) {
        let first = self.axioms.len();
        let (txn, source) = (self.problem.reads[read as usize].txn, self.chosen[read as usize]);
        let path = match self.sight {
            Sight::Nothing | Sight::Earlier | Sight::Direct | Sight::Update => {
                let mut reads = self.problem.reads_of(txn);
                if self.sight == Sight::Earlier {
                    reads.end = read as usize;
                }
                let known = |j: &usize| self.chosen[*j] == writer;
                let history = self.problem.history;
                let session = history.session_of(Txn(writer)) == history.session_of(Txn(txn)) && writer < txn;
                match reads.clone().filter(known).min_by_key(|&j| self.problem.reads[j].source == OPEN) {
                    _ if matches!(self.sight, Sight::Direct | Sight::Update) && session => vec![],
                    Some(j) => vec![(writer, txn, Link::Read(j as u32))],
                    None => match self.conflict(writer, txn).filter(|_| self.sight == Sight::Update) {
                        Some(key) => vec![(writer, txn, Link::Overwritten(key))],
                        None => vec![],
                    },
                }
            }
            Sight::Cursor => {
                vec![(writer, txn, Link::Overwritten(self.problem.reads[read as usize].key))]
            }
            Sight::Updates if self.problem.is_update(txn) => vec![],
            Sight::Monotonic => self.path_earlier(paths, read, writer),
            Sight::Causal | Sight::Parallel | Sight::Updates => paths.path(writer, txn, &self.place),
        };
        let mut clause: Vec<Lit> = [txn, writer].iter().filter_map(|&txn| self.absent(txn)).collect();
        if self.sight == Sight::Updates && self.problem.is_update(txn) {
            clause.push(self.solver.before(txn, writer));
        }
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
                Link::Missed(i) => {
                    let source = self.chosen[i as usize];
                    clause.extend(self.lits.get(&(i, source)).map(|&lit| !lit));
                    if source != INITIAL {
                        clause.push(self.solver.before(to, source));
                    }
                    self.axioms.push(Axiom::Between { read: i, source, writer: to });
                }
            }
            clause.extend([from, to].iter().filter_map(|&txn| self.absent(txn)));
        }
        clause.extend(self.lits.get(&(read, source)).map(|&lit| !lit));
        if source != INITIAL {
            clause.push(self.solver.before(writer, source));
        }
        self.axioms.push(Axiom::Between { read, source, writer });
        if self.has_core() {
            let lit = self.solver.variable(true);
            clause.push(!lit);
            self.chosen_clauses.push((lit, self.axioms[first..].to_vec()));
        }
        self.solver.add_clause(&clause);
    }

    /// Whether the solver is to tell which clauses it needed.
    fn has_core(&self) -> bool {
        !self.events.rules.saturates()
    }

    /// How a writer leads to an operation of a read's transaction before the read.
    fn path_earlier(&self, paths: &Paths<'_>, read: u32, writer: u32) -> Vec<(u32, u32, Link)> {
        let (op, txn) = (self.problem.reads[read as usize].op, self.problem.reads[read as usize].txn);
        let earlier = self.earlier(txn).into_iter().take_while(|earlier| earlier.0 < op);
        let through = earlier.filter_map(|(_, before, link)| {
            let mut path = paths.path(writer, before, &self.place);
            (writer == before || !path.is_empty()).then(|| {
                path.push((before, txn, link));
                path
            })
        });
        through.min_by_key(Vec::len).unwrap_or_default()
    }

    fn note(&mut self, axiom: Axiom) {
        let Axiom::Conflict { key, first, second } = axiom else { return };
        let is_new = self.seen.insert((key.0, first.min(second), first.max(second)));
        if is_new || self.has_core() {
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

    /// Adds a node and all that leads to it through nodes that count.
    fn walk_back(&self, from: u32, counts: &dyn Fn(u32) -> bool, seen: &mut FxHashSet<u32>) {
        let mut todo = vec![from];
        while let Some(node) = todo.pop() {
            if seen.insert(node) {
                todo.extend(self.graph.successors(node).iter().copied().filter(|&before| counts(before)));
            }
        }
    }

    /// A path with as few choices as there can be. Links lead along the order, so nothing before its beginning is on it.
    fn path(&self, from: u32, to: u32, order: &[u32]) -> Vec<(u32, u32, Link)> {
        let Paths { problem, links, graph, sorted } = self;
        let is_free = |i: u32| match links.reasons[i as usize] {
            Link::Session => true,
            Link::Read(read) => problem.reads[read as usize].source != OPEN,
            Link::Overwritten(_) | Link::Missed(_) => false,
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

//! A proof by cases, for what saturation alone does not refute.
//!
//! The search ended with a set of axioms that no order satisfies. A solver of the plainest kind goes through them once more: an
//! axiom of which one alternative closes a cycle decides for the other; one of which both do is a contradiction; and when no
//! axiom decides anything, one is split and both alternatives are gone through. What it did is the proof.
//!
//! Before that, the axioms that are not needed are left out: the search is repeated with each of them as an assumption, and the
//! solver tells which of those fail together.

use isoscope_history::{Key, Txn};
use isoscope_solve::{Budget, Lit, OrderSolver};
use rustc_hash::{FxHashMap, FxHashSet};

use super::problem::{INITIAL, OPEN};
use super::refute::{By, Hop, Prover, Tree};
use super::search::Axiom;
use crate::semantics::Sight;

/// More cases than this are not gone through.
const MOST_CASES: usize = 200_000;

/// What is assumed in a case.
#[derive(Clone, Default)]
struct Assumed {
    edges: FxHashMap<u32, Vec<Hop>>,
    /// By open read.
    sources: FxHashMap<u32, u32>,
    /// One writer of a key before another.
    orders: FxHashSet<(Key, u32, u32)>,
    /// Reads that miss a writer, and edges are there for it.
    missed: FxHashSet<(u32, u32)>,
    /// Optional transactions that are there.
    there: FxHashSet<u32>,
}

/// A split whose other alternatives are refuted.
enum Settled {
    Versions { key: Key, first: u32, second: u32, refuted: Tree },
    Source { read: u32, source: u32, refuted: Vec<(u32, Tree)> },
}

/// What an axiom comes to in a case.
enum Outcome {
    /// Nothing, for now; whether it could be split.
    Open(bool),
    /// Something was settled.
    Settled(Option<Settled>),
    /// It cannot be true.
    Contradiction(Tree),
}

pub(super) struct Cases<'p, 'a> {
    prover: &'p Prover<'a>,
    /// The sources that reads have without assumption, as far as saturation knows.
    known: &'p dyn Fn(u32) -> u32,
    axioms: Vec<Axiom>,
    /// How many were gone through.
    count: usize,
}

impl<'p, 'a> Cases<'p, 'a> {
    /// `known` tells the source of a read, which may be open; `edges` are all known ones, and `order` one of their orders.
    pub(super) fn new(
        prover: &'p Prover<'a>,
        known: &'p dyn Fn(u32) -> u32,
        axioms: &[Axiom],
        edges: &[(u32, u32)],
        order: &[u32],
    ) -> Self {
        let mut cases = Cases { prover, known, axioms: axioms.to_vec(), count: 0 };
        let mut before = usize::MAX;
        while prover.events.rules.says_sources() && cases.axioms.len() < before {
            before = cases.axioms.len();
            cases.axioms = cases.core(edges, order);
        }
        cases
    }

    /// The axioms without those that are not needed.
    fn core(&self, edges: &[(u32, u32)], order: &[u32]) -> Vec<Axiom> {
        let rules = self.prover.events.rules;
        let mut solver = OrderSolver::new(self.prover.events.nodes as usize, edges, order);
        let mut sources: FxHashMap<(u32, u32), Lit> = FxHashMap::default();
        let mut there: FxHashMap<u32, Lit> = FxHashMap::default();
        let problem = self.prover.problem;
        let mut needed: Vec<Lit> = Vec::new();
        for axiom in &self.axioms {
            let chosen = solver.variable(true);
            needed.push(chosen);
            let mut absent = |solver: &mut OrderSolver, txn: u32| {
                problem.is_optional(txn).then(|| !*there.entry(txn).or_insert_with(|| solver.variable(false)))
            };
            let mut source_is = |solver: &mut OrderSolver, read: u32, source: u32| {
                *sources.entry((read, source)).or_insert_with(|| solver.variable(false))
            };
            let mut clause = vec![!chosen];
            match *axiom {
                Axiom::Between { read, source, writer } => {
                    let txn = problem.reads[read as usize].txn;
                    if (self.known)(read) == OPEN {
                        clause.push(!source_is(&mut solver, read, source));
                    }
                    clause.extend([txn, writer].iter().filter_map(|&txn| absent(&mut solver, txn)));
                    clause.push(solver.before(rules.begin(txn), rules.commit(writer)));
                    if source != INITIAL {
                        clause.push(solver.before(rules.commit(writer), rules.overwrite(source)));
                    }
                }
                Axiom::Conflict { first, second, .. } => {
                    clause.extend([first, second].iter().filter_map(|&txn| absent(&mut solver, txn)));
                    clause.push(solver.before(rules.commit(first), rules.overwrite(second)));
                    clause.push(solver.before(rules.commit(second), rules.overwrite(first)));
                }
                Axiom::Sources { read } => {
                    let txn = problem.reads[read as usize].txn;
                    let reader_absent = absent(&mut solver, txn);
                    clause.extend(reader_absent);
                    for source in self.sources_of(read) {
                        let lit = source_is(&mut solver, read, source);
                        clause.push(lit);
                        if source != INITIAL {
                            let before = solver.before(rules.commit(source), rules.begin(txn));
                            let mut implied = vec![!chosen, !lit, before];
                            implied.extend(reader_absent);
                            solver.add_clause(&implied);
                            if let Some(absent) = absent(&mut solver, source) {
                                let mut implied = vec![!chosen, !lit, !absent];
                                implied.extend(reader_absent);
                                solver.add_clause(&implied);
                            }
                        }
                    }
                }
            }
            solver.add_clause(&clause);
        }
        let turnstile = &self.prover.turnstile;
        let mut stop = || turnstile.ask().is_some();
        if solver.solve_within(&needed, Budget::stopped_by(&mut stop)) != isoscope_solve::Outcome::Unsat {
            return self.axioms.clone();
        }
        let failed: FxHashSet<Lit> = solver.failed().iter().copied().collect();
        let kept = self.axioms.iter().zip(&needed).filter(|(_, lit)| failed.contains(lit));
        kept.map(|(axiom, _)| *axiom).collect()
    }

    /// All sources of a read in the original problem.
    fn sources_of(&self, read: u32) -> Vec<u32> {
        let problem = self.prover.problem;
        match problem.open.binary_search_by_key(&read, |open| open.read) {
            Ok(place) => problem.open[place].sources.iter().collect(),
            Err(_) => vec![problem.reads[read as usize].source],
        }
    }

    /// The proof, unless it has too many cases.
    pub(super) fn prove(&mut self) -> Option<Tree> {
        self.refute(Assumed::default())
    }

    fn refute(&mut self, mut assumed: Assumed) -> Option<Tree> {
        self.count += 1;
        if self.count > MOST_CASES || self.prover.turnstile.ask().is_some() {
            return None;
        }
        let mut settled: Vec<Settled> = Vec::new();
        let tree = loop {
            let mut progress = false;
            let mut open: Option<Axiom> = None;
            let mut contradiction = None;
            for axiom in self.axioms.clone() {
                match self.look(&axiom, &mut assumed) {
                    Outcome::Open(splits) => {
                        if splits && open.is_none() {
                            open = Some(axiom);
                        }
                    }
                    Outcome::Settled(what) => {
                        progress = true;
                        settled.extend(what);
                    }
                    Outcome::Contradiction(tree) => {
                        contradiction = Some(tree);
                        break;
                    }
                }
            }
            if let Some(tree) = contradiction {
                break tree;
            }
            if !progress {
                break self.split(open?, &assumed)?;
            }
        };
        Some(settled.into_iter().rev().fold(tree, |tree, settled| match settled {
            Settled::Versions { key, first, second, refuted } => {
                Tree::Versions { key, first, second, cases: Box::new([refuted, tree]) }
            }
            Settled::Source { read, source, mut refuted } => {
                refuted.push((source, tree));
                Tree::Source { read, cases: refuted }
            }
        }))
    }

    fn split(&mut self, axiom: Axiom, assumed: &Assumed) -> Option<Tree> {
        let (key, first, second) = match axiom {
            Axiom::Sources { read } => {
                let mut cases = Vec::new();
                for source in self.sources_of(read) {
                    let mut case = assumed.clone();
                    let refuted = self.exclude(&mut case, read, source);
                    cases.push((source, refuted.or_else(|| self.refute(case))?));
                }
                return Some(Tree::Source { read, cases });
            }
            Axiom::Between { read, source, writer } => {
                (self.prover.problem.reads[read as usize].key, source, writer)
            }
            Axiom::Conflict { key, first, second } => (key, first, second),
        };
        let mut cases = Vec::new();
        for (first, second) in [(first, second), (second, first)] {
            let mut case = assumed.clone();
            self.assume_order(&mut case, key, first, second);
            cases.push(self.refute(case)?);
        }
        let cases: Box<[Tree; 2]> = cases.try_into().ok().map(Box::new)?;
        Some(Tree::Versions { key, first, second, cases })
    }

    fn assume_order(&self, assumed: &mut Assumed, key: Key, first: u32, second: u32) {
        let rules = self.prover.events.rules;
        if assumed.orders.insert((key, first, second)) {
            let (from, to) = (rules.commit(first), rules.overwrite(second));
            assumed.edges.entry(from).or_default().push(Hop { from, to, by: By::Order(key) });
        }
    }

    /// Assumes a source of a read; why it cannot be, if that is seen at once.
    fn exclude(&self, assumed: &mut Assumed, read: u32, source: u32) -> Option<Tree> {
        let rules = self.prover.events.rules;
        if let Some(tree) = self.prover.exclusion_of(read, source) {
            return Some(tree);
        }
        assumed.sources.insert(read, source);
        if source == INITIAL {
            return None;
        }
        let begin = rules.begin(self.prover.problem.reads[read as usize].txn);
        let mut hops = vec![Hop { from: rules.commit(source), to: begin, by: By::Read(read) }];
        if self.prover.problem.is_optional(source) && assumed.there.insert(source) {
            self.hops_of(source, &mut hops);
        }
        for hop in hops {
            if let Some(cycle) = self.closed(assumed, hop) {
                return Some(cycle);
            }
            assumed.edges.entry(hop.from).or_default().push(hop);
        }
        None
    }

    /// What holds of an optional transaction that is there: when it was invoked, and whom it can only have read from.
    fn hops_of(&self, txn: u32, hops: &mut Vec<Hop>) {
        let Prover { problem, events, .. } = *self.prover;
        let to = events.rules.begin(txn);
        let tick = events.tick_before(problem.history, problem.resolved, txn);
        hops.extend(tick.map(|from| Hop { from, to, by: By::Given }));
        let reads = problem.reads_of(txn).filter(|&i| problem.reads[i].source < OPEN);
        hops.extend(reads.map(|i| {
            let from = events.rules.commit(problem.reads[i].source);
            Hop { from, to, by: By::Read(i as u32) }
        }));
    }

    fn is_there(&self, assumed: &Assumed, txn: u32) -> bool {
        self.prover.problem.is_present(txn) || assumed.there.contains(&txn)
    }

    /// A path in a case, closed by one more edge. Only some paths count where the edge is that a read misses a writer which its
    /// transaction must have seen, and the level says how.
    fn closed(&self, assumed: &Assumed, closing: Hop) -> Option<Tree> {
        if let By::Missed(read) = closing.by {
            let mut seen = match self.prover.events.rules.sight {
                Sight::Cursor => self.overwritten_by_cursor(assumed, read, closing.to)?,
                Sight::Update => vec![self.seen_at_once(assumed, closing.from, closing.to)?],
                Sight::Monotonic => self.seen_earlier(assumed, read, closing.to)?,
                _ => return self.closed_path(assumed, closing),
            };
            seen.push(closing);
            return Some(Tree::Cycle(seen));
        }
        self.closed_path(assumed, closing)
    }

    /// The reader of a key overwrites a writer of it.
    fn overwritten_by_cursor(&self, assumed: &Assumed, read: u32, writer: u32) -> Option<Vec<Hop>> {
        let read = self.prover.problem.reads[read as usize];
        let by = By::Order(read.key);
        let is_later = assumed.orders.contains(&(read.key, writer, read.txn));
        is_later.then(|| vec![Hop { from: writer, to: read.txn, by }])
    }

    /// A transaction follows another in its session, reads from it, or overwrites it.
    fn seen_at_once(&self, assumed: &Assumed, reader: u32, writer: u32) -> Option<Hop> {
        let problem = self.prover.problem;
        let session = |txn: u32| problem.history.session_of(Txn(txn));
        let by_session = (writer < reader && session(writer) == session(reader)).then_some(By::Given);
        let by_read = || {
            let mut reads = problem.reads_of(reader).map(|i| i as u32);
            reads.find(|&i| self.source_of(assumed, i) == writer).map(By::Read)
        };
        let by_order = || {
            let mut orders = assumed.orders.iter().filter(|order| (order.1, order.2) == (writer, reader));
            orders.by_ref().map(|order| order.0).min().map(By::Order)
        };
        let by = by_session.or_else(by_read).or_else(by_order)?;
        Some(Hop { from: writer, to: reader, by })
    }

    /// A path to what a transaction read or overwrote before a read, and the step to it.
    fn seen_earlier(&self, assumed: &Assumed, read: u32, writer: u32) -> Option<Vec<Hop>> {
        let problem = self.prover.problem;
        let txn = problem.reads[read as usize].txn;
        let earlier = problem.reads_of(txn).start as u32..read;
        let mut last: Vec<Hop> = earlier
            .map(|i| Hop { from: self.source_of(assumed, i), to: txn, by: By::Read(i) })
            .filter(|hop| hop.from < OPEN)
            .collect();
        let mut orders: Vec<&(Key, u32, u32)> = assumed
            .orders
            .iter()
            .filter(|&&(key, _, later)| later == txn && problem.writes_before(read, key))
            .collect();
        orders.sort_unstable();
        last.extend(orders.into_iter().map(|&(key, from, to)| Hop { from, to, by: By::Order(key) }));
        last.into_iter().find_map(|hop| {
            let mut path = self.prover.path_with(writer, hop.from, u32::MAX, &|_| true, &assumed.edges)?;
            path.push(hop);
            Some(path)
        })
    }

    /// The source of a read in a case, which may be open.
    fn source_of(&self, assumed: &Assumed, read: u32) -> u32 {
        assumed.sources.get(&read).copied().unwrap_or_else(|| (self.known)(read))
    }

    /// A path in a case, closed by one more edge, whatever the path.
    fn closed_path(&self, assumed: &Assumed, closing: Hop) -> Option<Tree> {
        let path = self.prover.path_with(closing.to, closing.from, u32::MAX, &|_| true, &assumed.edges);
        path.map(|mut path| {
            path.push(closing);
            Tree::Cycle(path)
        })
    }

    fn look(&self, axiom: &Axiom, assumed: &mut Assumed) -> Outcome {
        match *axiom {
            Axiom::Between { read, source, writer } => self.look_between(assumed, read, source, writer),
            Axiom::Conflict { key, first, second } => {
                if !(self.is_there(assumed, first) && self.is_there(assumed, second)) {
                    return Outcome::Open(false);
                }
                self.look_order(assumed, key, first, second, None)
            }
            Axiom::Sources { read } => self.look_sources(assumed, read),
        }
    }

    fn look_between(&self, assumed: &mut Assumed, read: u32, source: u32, writer: u32) -> Outcome {
        let rules = self.prover.events.rules;
        let problem = self.prover.problem;
        let (key, txn) = (problem.reads[read as usize].key, problem.reads[read as usize].txn);
        let known = self.source_of(assumed, read);
        if known != source || !self.is_there(assumed, txn) || !self.is_there(assumed, writer) {
            return Outcome::Open(false);
        }
        let (from, to) = (rules.begin(txn), rules.commit(writer));
        let missed = Hop { from, to, by: By::Missed(read) };
        let plain = source == INITIAL || self.prover.lacks(problem.reads[read as usize].op, writer);
        if plain || assumed.orders.contains(&(key, source, writer)) {
            if assumed.missed.contains(&(read, writer)) {
                return Outcome::Open(false);
            }
            if let Some(cycle) = self.closed(assumed, missed) {
                return Outcome::Contradiction(cycle);
            }
            if !rules.misses_of(problem, txn) {
                return Outcome::Open(false);
            }
            assumed.missed.insert((read, writer));
            assumed.edges.entry(from).or_default().push(missed);
            return Outcome::Settled(None);
        }
        self.look_order(assumed, key, source, writer, Some(missed))
    }

    /// `first` before `second`, which implies one more edge, or the other way round.
    fn look_order(
        &self,
        assumed: &mut Assumed,
        key: Key,
        first: u32,
        second: u32,
        implied: Option<Hop>,
    ) -> Outcome {
        if assumed.orders.contains(&(key, first, second)) || assumed.orders.contains(&(key, second, first)) {
            return Outcome::Open(false);
        }
        let rules = self.prover.events.rules;
        let order = |first: u32, second: u32| Hop {
            from: rules.commit(first),
            to: rules.overwrite(second),
            by: By::Order(key),
        };
        let one = self
            .closed(assumed, order(first, second))
            .or_else(|| implied.and_then(|implied| self.closed(assumed, implied)));
        let other = self.closed(assumed, order(second, first));
        match (one, other) {
            (None, None) => Outcome::Open(true),
            (Some(one), Some(other)) => {
                Outcome::Contradiction(Tree::Versions { key, first, second, cases: Box::new([one, other]) })
            }
            (Some(refuted), None) => {
                self.assume_order(assumed, key, second, first);
                Outcome::Settled(Some(Settled::Versions { key, first, second, refuted }))
            }
            (None, Some(refuted)) => {
                self.assume_order(assumed, key, first, second);
                Outcome::Settled(Some(Settled::Versions { key, first: second, second: first, refuted }))
            }
        }
    }

    fn look_sources(&self, assumed: &mut Assumed, read: u32) -> Outcome {
        let txn = self.prover.problem.reads[read as usize].txn;
        if !self.is_there(assumed, txn) || assumed.sources.contains_key(&read) {
            return Outcome::Open(false);
        }
        let mut refuted: Vec<(u32, Tree)> = Vec::new();
        let mut left: Option<(u32, Assumed)> = None;
        for source in self.sources_of(read) {
            let mut case = assumed.clone();
            match (self.exclude(&mut case, read, source), &left) {
                (Some(tree), _) => refuted.push((source, tree)),
                (None, None) => left = Some((source, case)),
                (None, Some(_)) => return Outcome::Open(true),
            }
        }
        let Some((source, case)) = left else {
            return Outcome::Contradiction(Tree::Source { read, cases: refuted });
        };
        *assumed = case;
        Outcome::Settled(Some(Settled::Source { read, source, refuted }))
    }
}

//! A proof by cases, for what saturation alone does not refute.
//!
//! The search ended with constraints that no order satisfies. A simple solver works through them again: a constraint of
//! which one alternative closes a cycle decides for the other; one of which both do is a contradiction; and when no constraint
//! decides anything, one is split and each alternative becomes a case. The steps of this solver are the proof.
//!
//! Before that, constraints that are not needed are left out: the search is repeated with each of them as an assumption, and the
//! solver returns an UNSAT core.

use isoscope_history::{Key, Txn};
use isoscope_solve::{Budget, Lit};
use rustc_hash::{FxHashMap, FxHashSet};

use super::constraint::Constraint;
use super::encode::Encoder;
use super::refute::{By, Hop, Prover, Tree};
use super::sources::Source;
use crate::semantics::Sight;

/// The most cases that are tried.
const MOST_CASES: usize = 200_000;

/// What is assumed in a case.
#[derive(Clone, Default)]
struct Assumed {
    edges: FxHashMap<u32, Vec<Hop>>,
    /// By open read.
    sources: FxHashMap<u32, Source>,
    /// One writer of a key before another.
    orders: FxHashSet<(Key, u32, u32)>,
    /// Reads that miss a writer, by an edge of the case.
    missed: FxHashSet<(u32, u32)>,
    /// Optional transactions that took effect.
    there: FxHashSet<u32>,
}

/// A case after everything in it is settled.
enum Case {
    Refuted(Tree),
    Split(Box<Split>),
}

/// What a split distinguishes.
#[derive(Clone, Copy)]
enum Choice {
    Source {
        read: u32,
    },
    /// Which of two writers of a key is first.
    Versions {
        key: Key,
        first: u32,
        second: u32,
    },
}

/// A split some of whose cases are not refuted yet.
struct Split {
    choice: Choice,
    /// The alternatives that were not tried yet, the next one last: sources, or the first of two writers.
    left: Vec<Source>,
    /// The sources that were tried.
    sources: Vec<Source>,
    /// For each alternative that was tried, why it cannot be.
    refuted: Vec<Tree>,
    /// What is assumed in all cases.
    assumed: Assumed,
    /// What was settled before the split.
    settled: Vec<Settled>,
}

impl Split {
    /// The whole once all cases are refuted.
    fn into_tree(self) -> Option<Tree> {
        let tree = match self.choice {
            Choice::Source { read } => {
                Tree::Source { read, cases: self.sources.into_iter().zip(self.refuted).collect() }
            }
            Choice::Versions { key, first, second } => {
                let cases: [Tree; 2] = self.refuted.try_into().ok()?;
                Tree::Versions { key, first, second, cases: Box::new(cases) }
            }
        };
        Some(with_settled(self.settled, tree))
    }
}

/// A split whose other alternatives are refuted.
enum Settled {
    Versions { key: Key, first: u32, second: u32, refuted: Tree },
    Source { read: u32, source: Source, refuted: Vec<(Source, Tree)> },
}

/// What a constraint decides in a case.
enum Outcome {
    /// Nothing, for now; whether it could be split.
    Open(bool),
    /// Something was settled.
    Settled(Option<Settled>),
    /// It cannot be true.
    Contradiction(Tree),
}

/// Puts what was settled before a tree, each with its refuted alternatives.
fn with_settled(settled: Vec<Settled>, tree: Tree) -> Tree {
    settled.into_iter().rev().fold(tree, |tree, settled| match settled {
        Settled::Versions { key, first, second, refuted } => {
            Tree::Versions { key, first, second, cases: Box::new([refuted, tree]) }
        }
        Settled::Source { read, source, mut refuted } => {
            refuted.push((source, tree));
            Tree::Source { read, cases: refuted }
        }
    })
}

pub(super) struct Cases<'p, 'a> {
    prover: &'p Prover<'a>,
    /// The sources that reads have without assumption, as far as saturation knows.
    known: &'p dyn Fn(u32) -> Source,
    constraints: Vec<Constraint>,
    /// How many were tried.
    count: usize,
}

impl<'p, 'a> Cases<'p, 'a> {
    /// `known` is the source of a read, which may be open; `edges` are all known ones, and `order` one of their orders.
    pub(super) fn new(
        prover: &'p Prover<'a>,
        known: &'p dyn Fn(u32) -> Source,
        constraints: &[Constraint],
        edges: &[(u32, u32)],
        order: &[u32],
    ) -> Self {
        let mut cases = Cases { prover, known, constraints: constraints.to_vec(), count: 0 };
        let mut before = usize::MAX;
        while prover.events.rules.says_sources() && cases.constraints.len() < before {
            before = cases.constraints.len();
            cases.constraints = cases.core(edges, order);
        }
        cases
    }

    /// The constraints without those that the solver does not need.
    fn core(&self, edges: &[(u32, u32)], order: &[u32]) -> Vec<Constraint> {
        let mut encoder = Encoder::new(self.prover.problem, self.prover.events, edges, order);
        let mut needed: Vec<Lit> = Vec::new();
        for constraint in &self.constraints {
            let chosen = encoder.solver.variable(true);
            needed.push(chosen);
            let mut clause = match *constraint {
                Constraint::Between { read, source, writer } => {
                    encoder.between(read, source, writer, (self.known)(read) == Source::OPEN)
                }
                Constraint::Conflict { first, second, .. } => encoder.conflict(first, second),
                Constraint::Sources { read } => {
                    encoder.sources(read, self.sources_of(read).into_iter(), None, Some(!chosen))
                }
            };
            clause.push(!chosen);
            encoder.solver.add_clause(&clause);
        }
        let turnstile = &self.prover.turnstile;
        let mut stop = || turnstile.ask().is_some();
        let outcome = encoder.solver.solve_within(&needed, Budget::stopped_by(&mut stop));
        if outcome != isoscope_solve::Outcome::Unsat {
            return self.constraints.clone();
        }
        let failed: FxHashSet<Lit> = encoder.solver.failed().iter().copied().collect();
        let kept = self.constraints.iter().zip(&needed).filter(|(_, lit)| failed.contains(lit));
        kept.map(|(constraint, _)| *constraint).collect()
    }

    /// All sources of a read in the original problem.
    fn sources_of(&self, read: u32) -> Vec<Source> {
        let problem = self.prover.problem;
        match problem.open.binary_search_by_key(&read, |open| open.read) {
            Ok(place) => problem.open[place].sources.iter().collect(),
            Err(_) => vec![problem.reads[read as usize].source],
        }
    }

    /// The proof, unless it has too many cases or a limit is reached. Depth first, with a stack of splits.
    pub(super) fn prove(&mut self) -> Option<Tree> {
        let mut splits: Vec<Box<Split>> = Vec::new();
        let mut case = Assumed::default();
        loop {
            self.count += 1;
            if self.count > MOST_CASES || self.prover.turnstile.ask().is_some() {
                return None;
            }
            match self.settle(case)? {
                Case::Refuted(tree) => match splits.last_mut() {
                    Some(split) => split.refuted.push(tree),
                    None => return Some(tree),
                },
                Case::Split(split) => splits.push(split),
            }
            // The next case is one of the innermost split that has any left. Splits whose cases are all refuted are refuted.
            case = loop {
                let split = splits.last_mut()?;
                if let Some(case) = self.next_case(split) {
                    break case;
                }
                let tree = splits.pop()?.into_tree()?;
                match splits.last_mut() {
                    Some(outer) => outer.refuted.push(tree),
                    None => return Some(tree),
                }
            };
        }
    }

    /// Settles what a case decides: it ends in a contradiction, or with a constraint to split.
    fn settle(&self, mut assumed: Assumed) -> Option<Case> {
        let mut settled: Vec<Settled> = Vec::new();
        loop {
            let mut progress = false;
            let mut open: Option<Constraint> = None;
            for constraint in &self.constraints {
                match self.look(constraint, &mut assumed) {
                    Outcome::Open(splits) => {
                        if splits && open.is_none() {
                            open = Some(*constraint);
                        }
                    }
                    Outcome::Settled(what) => {
                        progress = true;
                        settled.extend(what);
                    }
                    Outcome::Contradiction(tree) => return Some(Case::Refuted(with_settled(settled, tree))),
                }
            }
            if !progress {
                return Some(Case::Split(Box::new(self.split(open?, assumed, settled)?)));
            }
        }
    }

    /// The alternatives of a constraint.
    fn split(&self, constraint: Constraint, assumed: Assumed, settled: Vec<Settled>) -> Option<Split> {
        let of_order = |key: Key, first: u32, second: u32| {
            (Choice::Versions { key, first, second }, vec![Source::of(second), Source::of(first)])
        };
        // The last one is taken first.
        let (choice, left) = match constraint {
            Constraint::Sources { read } => {
                (Choice::Source { read }, self.sources_of(read).into_iter().rev().collect())
            }
            Constraint::Between { read, source, writer } => {
                // That the initial state is first is no choice.
                of_order(self.prover.problem.reads[read as usize].key, source.txn()?, writer)
            }
            Constraint::Conflict { key, first, second } => of_order(key, first, second),
        };
        Some(Split { choice, left, sources: Vec::new(), refuted: Vec::new(), assumed, settled })
    }

    /// The next case of a split that is not refuted at once.
    fn next_case(&self, split: &mut Split) -> Option<Assumed> {
        while let Some(alternative) = split.left.pop() {
            let mut case = split.assumed.clone();
            match split.choice {
                Choice::Source { read } => {
                    split.sources.push(alternative);
                    match self.exclude(&mut case, read, alternative) {
                        Some(refuted) => split.refuted.push(refuted),
                        None => return Some(case),
                    }
                }
                Choice::Versions { key, first, second } => {
                    let (first, second) =
                        if alternative.is(first) { (first, second) } else { (second, first) };
                    self.assume_order(&mut case, key, first, second);
                    return Some(case);
                }
            }
        }
        None
    }

    fn assume_order(&self, assumed: &mut Assumed, key: Key, first: u32, second: u32) {
        let rules = self.prover.events.rules;
        if assumed.orders.insert((key, first, second)) {
            let (from, to) = (rules.commit(first), rules.overwrite(second));
            assumed.edges.entry(from).or_default().push(Hop { from, to, by: By::Order(key) });
        }
    }

    /// Assumes a source of a read; why it cannot be, if that is seen at once.
    fn exclude(&self, assumed: &mut Assumed, read: u32, source: Source) -> Option<Tree> {
        let rules = self.prover.events.rules;
        if let Some(tree) = self.prover.exclusion_of(read, source) {
            return Some(tree);
        }
        assumed.sources.insert(read, source);
        let source = source.txn()?;
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

    /// What holds of an optional transaction that took effect: when it was invoked, and its reads with one possible source.
    fn hops_of(&self, txn: u32, hops: &mut Vec<Hop>) {
        let Prover { problem, events, .. } = *self.prover;
        let to = events.rules.begin(txn);
        let tick = events.tick_before(problem.history, problem.resolved, txn);
        hops.extend(tick.map(|from| Hop { from, to, by: By::Given }));
        hops.extend(problem.reads_of(txn).filter_map(|i| {
            let from = events.rules.commit(problem.reads[i].source.txn()?);
            Some(Hop { from, to, by: By::Read(i as u32) })
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
            reads.find(|&i| self.source_of(assumed, i).is(writer)).map(By::Read)
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
        let earlier = problem.reads_before(read);
        let read_from =
            |i: u32| Some(Hop { from: self.source_of(assumed, i).txn()?, to: txn, by: By::Read(i) });
        let mut last: Vec<Hop> = earlier.filter_map(|i| read_from(i as u32)).collect();
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
    fn source_of(&self, assumed: &Assumed, read: u32) -> Source {
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

    fn look(&self, constraint: &Constraint, assumed: &mut Assumed) -> Outcome {
        match *constraint {
            Constraint::Between { read, source, writer } => self.look_between(assumed, read, source, writer),
            Constraint::Conflict { key, first, second } => {
                if !(self.is_there(assumed, first) && self.is_there(assumed, second)) {
                    return Outcome::Open(false);
                }
                self.look_order(assumed, key, first, second, None)
            }
            Constraint::Sources { read } => self.look_sources(assumed, read),
        }
    }

    fn look_between(&self, assumed: &mut Assumed, read: u32, source: Source, writer: u32) -> Outcome {
        let rules = self.prover.events.rules;
        let problem = self.prover.problem;
        let (key, txn) = (problem.reads[read as usize].key, problem.reads[read as usize].txn);
        let known = self.source_of(assumed, read);
        if known != source || !self.is_there(assumed, txn) || !self.is_there(assumed, writer) {
            return Outcome::Open(false);
        }
        let (from, to) = (rules.begin(txn), rules.commit(writer));
        let missed = Hop { from, to, by: By::Missed(read) };
        let order = source.txn().filter(|_| !self.prover.lacks(problem.reads[read as usize].op, writer));
        let order = order.filter(|&source| !assumed.orders.contains(&(key, source, writer)));
        // Without a choice of the order left, the read misses the writer.
        let Some(source) = order else {
            if assumed.missed.contains(&(read, writer)) {
                return Outcome::Open(false);
            }
            if let Some(cycle) = self.closed(assumed, missed) {
                return Outcome::Contradiction(cycle);
            }
            if !rules.misses_of(problem.history, txn) {
                return Outcome::Open(false);
            }
            assumed.missed.insert((read, writer));
            assumed.edges.entry(from).or_default().push(missed);
            return Outcome::Settled(None);
        };
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
        let mut refuted: Vec<(Source, Tree)> = Vec::new();
        let mut left: Option<(Source, Assumed)> = None;
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

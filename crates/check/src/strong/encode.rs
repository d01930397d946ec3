//! Constraints as clauses over *event a is before event b*.
//!
//! An open read has a variable for each of its sources. An optional transaction has a variable that is true if it took effect; it
//! did if a read is from it, and clauses about it hold only then.

use isoscope_solve::{Lit, OrderSolver};
use rustc_hash::FxHashMap;

use super::events::{Events, Rules};
use super::problem::Problem;
use super::sources::Source;

/// A solver, and what its variables mean.
pub(super) struct Encoder<'a> {
    problem: &'a Problem<'a>,
    rules: Rules,
    pub(super) solver: OrderSolver,
    /// By open read and source: the read is from the source.
    sources: FxHashMap<(u32, Source), Lit>,
    /// By optional transaction: it took effect.
    there: FxHashMap<u32, Lit>,
    /// Whether the solver has found values yet.
    pub(super) solved: bool,
}

impl<'a> Encoder<'a> {
    /// A solver for orders of the events that contain all `edges`; `order` is one of them.
    pub(super) fn new(
        problem: &'a Problem<'a>,
        events: &Events,
        edges: &[(u32, u32)],
        order: &[u32],
    ) -> Encoder<'a> {
        Encoder {
            problem,
            rules: events.rules,
            solver: OrderSolver::new(events.nodes as usize, edges, order),
            sources: FxHashMap::default(),
            there: FxHashMap::default(),
            solved: false,
        }
    }

    /// Adds what holds of optional transactions if they took effect: real time, and reads with a known source.
    pub(super) fn add_optional(&mut self, events: &Events) {
        let (problem, rules) = (self.problem, self.rules);
        for txn in (0..problem.history.txn_count() as u32).filter(|&txn| problem.is_optional(txn)) {
            // The phase of a fresh variable is tried first: absence.
            let lit = self.solver.variable(false);
            self.there.insert(txn, lit);
            if let Some(tick) = events.tick_before(problem.history, problem.resolved, txn) {
                let after = self.solver.before(tick, rules.begin(txn));
                self.solver.add_clause(&[!lit, after]);
            }
        }
        for read in &problem.reads {
            if let Some(source) = read.source.txn()
                && let Some(absent) = self.absent(read.txn)
            {
                let before = self.solver.before(rules.commit(source), rules.begin(read.txn));
                self.solver.add_clause(&[absent, before]);
            }
        }
    }

    /// Whether no transaction is optional.
    pub(super) fn is_certain(&self) -> bool {
        self.there.is_empty()
    }

    /// The literal that an optional transaction did not take effect.
    pub(super) fn absent(&mut self, txn: u32) -> Option<Lit> {
        let Encoder { problem, solver, there, .. } = self;
        problem.is_optional(txn).then(|| !*there.entry(txn).or_insert_with(|| solver.variable(false)))
    }

    /// Whether a transaction took effect, according to the last search.
    pub(super) fn is_there(&self, txn: u32) -> bool {
        self.problem.is_present(txn)
            || self.there.get(&txn).is_some_and(|&lit| self.solved && self.solver.holds(lit))
    }

    /// Whether the sources of an open read have variables.
    pub(super) fn has_sources(&self, read: u32, first: Source) -> bool {
        self.sources.contains_key(&(read, first))
    }

    /// Whether a read is from a source, according to the last search.
    pub(super) fn is_from(&self, read: u32, source: Source) -> bool {
        self.solver.holds(self.sources[&(read, source)])
    }

    /// The literal that a read is not from a source, if the source has a variable.
    pub(super) fn not_from(&self, read: u32, source: Source) -> Option<Lit> {
        self.sources.get(&(read, source)).map(|&lit| !lit)
    }

    fn from(&mut self, read: u32, source: Source, phase: bool) -> Lit {
        let Encoder { solver, sources, .. } = self;
        *sources.entry((read, source)).or_insert_with(|| solver.variable(phase))
    }

    /// The source of an open read that is the latest before the reader in an order, given by the place of each event; otherwise
    /// any.
    pub(super) fn best(
        &self,
        read: u32,
        sources: impl Iterator<Item = Source>,
        place: &[u32],
    ) -> Option<(Source, bool)> {
        let until = place[self.rules.begin(self.problem.reads[read as usize].txn) as usize];
        let when = |source: Source| match source.txn() {
            None => Some(0),
            Some(txn) => Some(1 + place[self.rules.commit(txn) as usize]).filter(|&place| place <= until),
        };
        let best = sources.max_by_key(|&source| when(source))?;
        Some((best, when(best).is_some()))
    }

    /// The clause of [`Constraint::Sources`], unless `guard` holds: the read is from one of its sources. Adds what follows from each of them.
    ///
    /// [`Constraint::Sources`]: super::constraint::Constraint::Sources
    pub(super) fn sources(
        &mut self,
        read: u32,
        sources: impl Iterator<Item = Source>,
        best: Option<Source>,
        guard: Option<Lit>,
    ) -> Vec<Lit> {
        let reader = self.problem.reads[read as usize].txn;
        let mut any: Vec<Lit> = guard.into_iter().chain(self.absent(reader)).collect();
        for source in sources {
            let lit = self.from(read, source, Some(source) == best);
            any.push(lit);
            if let Some(writer) = source.txn() {
                let before = self.solver.before(self.rules.commit(writer), self.rules.begin(reader));
                let implied = |then: Lit| -> Vec<Lit> { guard.into_iter().chain([!lit, then]).collect() };
                self.solver.add_clause(&implied(before));
                if let Some(absent) = self.absent(writer) {
                    self.solver.add_clause(&implied(!absent));
                }
            }
        }
        any
    }

    /// The clause of [`Constraint::Between`]; `open` says whether the read has other possible sources.
    ///
    /// [`Constraint::Between`]: super::constraint::Constraint::Between
    pub(super) fn between(&mut self, read: u32, source: Source, writer: u32, open: bool) -> Vec<Lit> {
        let (rules, txn) = (self.rules, self.problem.reads[read as usize].txn);
        let mut clause: Vec<Lit> = Vec::new();
        if open {
            clause.push(!self.from(read, source, false));
        }
        clause.extend([txn, writer].into_iter().filter_map(|txn| self.absent(txn)));
        clause.push(self.solver.before(rules.begin(txn), rules.commit(writer)));
        clause.extend(self.overwritten(writer, source));
        clause
    }

    /// The literal that a writer is before the source of a read, which the initial state never is.
    pub(super) fn overwritten(&mut self, writer: u32, source: Source) -> Option<Lit> {
        let rules = self.rules;
        source.txn().map(|source| self.solver.before(rules.commit(writer), rules.overwrite(source)))
    }

    /// The clause of [`Constraint::Conflict`].
    ///
    /// [`Constraint::Conflict`]: super::constraint::Constraint::Conflict
    pub(super) fn conflict(&mut self, first: u32, second: u32) -> Vec<Lit> {
        let rules = self.rules;
        let mut clause: Vec<Lit> = [first, second].into_iter().filter_map(|txn| self.absent(txn)).collect();
        clause.push(self.solver.before(rules.commit(first), rules.overwrite(second)));
        clause.push(self.solver.before(rules.commit(second), rules.overwrite(first)));
        clause
    }
}

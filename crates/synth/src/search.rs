//! The search: a history of a scope that some levels allow and others forbid.
//!
//! A level allows a history if *some* witness satisfies its axioms, and forbids it if *none* does. One solver looks for a history
//! together with witnesses for the levels that must allow it. For each level that must forbid it, a second solver then looks for a
//! witness of this history. If there is one, the first solver learns that this witness must not satisfy the level, and looks for
//! another history (counterexample-guided inductive synthesis, as in Isolde).
//!
//! The transactions are numbered in the order of the first witness, which is therefore a constant. It is also the first witness
//! that must not satisfy the forbidden levels.

use std::time::Duration;

use isoscope_levels::language::{Definition, Formula as Text, Relation};
use isoscope_solve::{Formula, Outcome};

use crate::compiled::Compiled;
use crate::evaluate::{Evaluator, Witness};
use crate::history::SmallHistory;
use crate::logic::{Ended, Limited};
use crate::plan::{Plan, any_atom, mentions};
use crate::space::{Given, Numbering, Prover, Scope, Space, constant_order, lifted};
use crate::witness::find_witness;

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct Problem<'d> {
    /// The levels that allow the history.
    pub allow: Vec<&'d Definition>,
    /// The levels that forbid it.
    pub forbid: Vec<&'d Definition>,
    /// Conditions on the history alone.
    pub conditions: Vec<Text>,
}

/// The end of a search.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A history.
    Found(SmallHistory),
    /// No history of the scope is as asked.
    Nothing,
    /// The search was stopped.
    Stopped,
    /// The search needs too much memory.
    Large,
}

impl From<Ended> for Answer {
    fn from(ended: Ended) -> Answer {
        match ended {
            Ended::Stopped => Answer::Stopped,
            Ended::Large => Answer::Large,
        }
    }
}

/// What a search took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The histories that were proposed.
    pub candidates: u64,
    /// The witnesses that were learnt.
    pub learnt: u64,
    /// The variables of the solver.
    pub variables: u64,
    /// The clauses that the solver was given.
    pub clauses: u64,
    /// The conflicts that the solver met.
    pub conflicts: u64,
    /// The different formulas.
    pub formulas: u64,
    /// The time.
    pub time: Duration,
}

/// A search in one scope.
pub struct Search {
    prover: Prover,
    space: Space,
    forbidden: Vec<Plan>,
    candidates: u64,
    learnt: u64,
    /// Why the search cannot go on.
    ended: Option<Ended>,
}

impl Search {
    /// Prepares a search. `stop` is asked from time to time.
    pub fn new(problem: &Problem<'_>, scope: Scope, stop: &mut dyn FnMut() -> bool) -> Search {
        Search::with(problem, scope, Prover::new(), stop)
    }

    /// Prepares a search that keeps what its solver is given: see [`Search::given`].
    pub fn logged(problem: &Problem<'_>, scope: Scope) -> Search {
        let mut prover = Prover::new();
        prover.solver.log = Some(Vec::new());
        Search::with(problem, scope, prover, &mut || false)
    }

    fn with(
        problem: &Problem<'_>,
        scope: Scope,
        mut prover: Prover,
        stop: &mut dyn FnMut() -> bool,
    ) -> Search {
        let allowed: Vec<Plan> = problem.allow.iter().map(|definition| Plan::new(definition)).collect();
        let forbidden: Vec<Plan> = problem.forbid.iter().map(|definition| Plan::new(definition)).collect();
        let plans = || allowed.iter().chain(&forbidden);
        // The witness whose order numbers the transactions: one that says most about them.
        let numbering = |plan: &Plan| u8::from(plan.orders_reads) + u8::from(plan.orders_sessions);
        let first = (0..allowed.len())
            .filter(|&i| !allowed[i].order_per_key)
            .max_by_key(|&i| (numbering(&allowed[i]), usize::MAX - i));
        let (sessions, reads) = first
            .map_or((true, false), |first| (allowed[first].orders_sessions, allowed[first].orders_reads));
        let real_time = plans().any(|plan| plan.uses_real_time)
            || problem.conditions.iter().any(|text| mentions(text, &|relation| *relation == Relation::Rt));
        let read_order = plans().any(|plan| plan.uses_read_order)
            || problem.conditions.iter().any(|text| {
                any_atom(text, &|atom| matches!(atom, isoscope_levels::language::Atom::ReadsBefore(..)))
            });
        let space = Space::new(&mut prover, scope, Numbering { sessions, reads }, real_time, read_order);
        let mut search = Search { prover, space, forbidden, candidates: 0, learnt: 0, ended: None };
        search.ended = search.prepare(problem, &allowed, first, stop).err();
        search
    }

    fn prepare(
        &mut self,
        problem: &Problem<'_>,
        allowed: &[Plan],
        numbering: Option<usize>,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<(), Ended> {
        self.require_conditions(&problem.conditions, stop)?;
        for (i, plan) in allowed.iter().enumerate() {
            self.allow(plan, numbering == Some(i), stop)?;
        }
        let Scope { txns, keys, .. } = self.space.scope;
        for i in 0..self.forbidden.len() {
            let places: Vec<usize> = (0..=txns).collect();
            let order = constant_order(&places, |value| value);
            let orders = if self.forbidden[i].order_per_key { vec![order; keys.max(1)] } else { vec![order] };
            if !self.forbidden[i].has_free_visibility() {
                self.forbid(i, &Witness { orders, vis: None }, stop)?;
            }
        }
        Ok(())
    }

    fn require_conditions(
        &mut self,
        conditions: &[Text],
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<(), Ended> {
        let witness = Witness { orders: Vec::new(), vis: None };
        for condition in conditions {
            let (compiled, root) = Compiled::formula(condition);
            let Search { prover, space, .. } = self;
            let mut limited = Limited::new(&mut prover.formulas, stop);
            let truth = Evaluator::new(&mut limited, &space.view, &witness, &compiled).truth(root);
            limited.ended.map_or(Ok(()), Err)?;
            prover.require_within(truth, stop)?;
        }
        Ok(())
    }

    /// Requires that some witness satisfies a level: the one that numbers the transactions, or any.
    fn allow(
        &mut self,
        plan: &Plan,
        is_numbering: bool,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<(), Ended> {
        let Search { prover, space, .. } = self;
        let txns = space.view.txns;
        let mut witness = if is_numbering {
            let places: Vec<usize> = (0..txns).collect();
            let vis = plan.has_free_visibility().then(|| prover.relation(txns));
            Witness { orders: vec![constant_order(&places, Formula::constant)], vis }
        } else {
            any_witness(plan, prover, txns, space.view.keys)
        };
        let mut limited = Limited::new(&mut prover.formulas, stop);
        let truth = plan.allows(&mut limited, &space.view, &mut witness);
        limited.ended.map_or(Ok(()), Err)?;
        prover.require_within(truth, stop)
    }

    /// Requires that a witness does not satisfy a level.
    fn forbid(
        &mut self,
        level: usize,
        witness: &Witness<bool>,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<(), Ended> {
        let Search { prover, space, forbidden, .. } = self;
        let mut witness = lifted(witness);
        let mut limited = Limited::new(&mut prover.formulas, stop);
        let truth = forbidden[level].allows(&mut limited, &space.view, &mut witness);
        limited.ended.map_or(Ok(()), Err)?;
        prover.require_within(!truth, stop)
    }

    /// Looks for the next history. `stop` is asked from time to time.
    pub fn next(&mut self, stop: &mut dyn FnMut() -> bool) -> Answer {
        loop {
            if let Some(ended) = self.ended {
                return ended.into();
            }
            match self.prover.solve(stop) {
                Outcome::Unsat => return Answer::Nothing,
                Outcome::Stopped => return Answer::Stopped,
                Outcome::Sat => {}
            }
            self.candidates += 1;
            let history = self.space.history(&self.prover);
            let view = history.view();
            let mut is_forbidden = true;
            for level in 0..self.forbidden.len() {
                match find_witness(&self.forbidden[level], &view, stop) {
                    Ok(None) => {}
                    Ok(Some(witness)) => {
                        is_forbidden = false;
                        self.learnt += 1;
                        // A clause that is only half there would exclude too much or too little.
                        self.ended = self.forbid(level, &witness, stop).err();
                    }
                    Err(ended) => return ended.into(),
                }
            }
            if is_forbidden {
                return Answer::Found(history);
            }
        }
    }

    /// What the solver of a [logged](Search::logged) search was given so far.
    pub fn given(&self) -> &[Given] {
        self.prover.solver.log.as_deref().unwrap_or_default()
    }

    /// From now on, histories have at most this many operations.
    pub fn at_most_operations(&mut self, most: usize) {
        let operations = self.space.operations(&mut self.prover);
        let few = self.prover.at_most(&operations, most);
        self.prover.require(few);
    }

    /// From now on, this history is not found again.
    pub fn exclude(&mut self, history: &SmallHistory) {
        let same = self.space.is(&mut self.prover, history);
        self.prover.require(!same);
    }

    /// What the search took so far. The time is for the caller to add.
    pub fn figures(&self) -> Figures {
        Figures {
            candidates: self.candidates,
            learnt: self.learnt,
            variables: self.prover.solver.solver.vars() as u64,
            clauses: self.prover.solver.clauses,
            conflicts: self.prover.solver.solver.conflicts(),
            formulas: self.prover.formulas.nodes() as u64,
            time: Duration::ZERO,
        }
    }
}

/// A witness whose parts are all open.
fn any_witness(plan: &Plan, prover: &mut Prover, txns: usize, keys: usize) -> Witness<Formula> {
    let orders = if plan.order_per_key { keys.max(1) } else { 1 };
    let orders = (0..orders).map(|_| prover.order(txns)).collect();
    let vis = plan.has_free_visibility().then(|| prover.relation(txns));
    Witness { orders, vis }
}

//! The search: a history of a scope that some levels allow and others forbid.
//!
//! A level allows a history if *some* witness satisfies its axioms, and forbids it if *none* does. One solver looks for a history
//! together with witnesses for the levels that must allow it. For each level that must forbid it, a second solver then looks for a
//! witness of this history. If there is one, the first solver learns that this witness must not satisfy the level, and looks for
//! another history (counterexample-guided inductive synthesis, as in Isolde).
//!
//! The transactions are numbered in the order of the first witness, which is therefore a constant. It is also the first witness
//! that must not satisfy the forbidden levels.

use std::rc::Rc;
use std::time::Duration;

use isoscope_levels::Framework;
use isoscope_levels::language::{Definition, Formula as Text};
use isoscope_solve::{Formula, Outcome};

use crate::compiled::Compiled;
use crate::evaluate::{Evaluator, View, Witness};
use crate::history::{SmallHistory, key_name};
use crate::logic::Plain;
use crate::matrix::{Matrix, pairs};
use crate::plan::{Plan, any_atom};
use crate::space::{Numbering, Prover, Scope, Space, constant_order, lifted};

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
}

impl Search {
    /// Prepares a search.
    pub fn new(problem: &Problem<'_>, scope: Scope) -> Search {
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
        let real_time = plans().any(|plan| plan.uses_real_time);
        let read_order = plans().any(|plan| plan.uses_read_order)
            || problem.conditions.iter().any(|text| {
                any_atom(text, &|atom| matches!(atom, isoscope_levels::language::Atom::ReadsBefore(..)))
            });
        let mut prover = Prover::new();
        let space = Space::new(&mut prover, scope, Numbering { sessions, reads }, real_time, read_order);
        let mut search = Search { prover, space, forbidden, candidates: 0, learnt: 0 };
        search.require_conditions(&problem.conditions);
        for (i, plan) in allowed.iter().enumerate() {
            search.allow(plan, first == Some(i));
        }
        for i in 0..search.forbidden.len() {
            let places: Vec<usize> = (0..=scope.txns).collect();
            let order = constant_order(&places, |value| value);
            let orders =
                if search.forbidden[i].order_per_key { vec![order; scope.keys.max(1)] } else { vec![order] };
            if !search.forbidden[i].has_free_visibility() {
                search.forbid(i, &Witness { orders, vis: None });
            }
        }
        search
    }

    fn require_conditions(&mut self, conditions: &[Text]) {
        let witness = Witness { orders: Vec::new(), vis: None };
        for condition in conditions {
            let (compiled, root) = Compiled::formula(condition);
            let Search { prover, space, .. } = self;
            let truth = Evaluator::new(&mut prover.formulas, &space.view, &witness, &compiled).truth(root);
            prover.require(truth);
        }
    }

    /// Requires that some witness satisfies a level: the one that numbers the transactions, or any.
    fn allow(&mut self, plan: &Plan, is_numbering: bool) {
        let Search { prover, space, .. } = self;
        let txns = space.view.txns;
        let mut witness = if is_numbering {
            let places: Vec<usize> = (0..txns).collect();
            let vis = plan.has_free_visibility().then(|| prover.relation(txns));
            Witness { orders: vec![constant_order(&places, Formula::constant)], vis }
        } else {
            any_witness(plan, prover, txns, space.view.keys)
        };
        let truth = plan.allows(&mut prover.formulas, &space.view, &mut witness);
        prover.require(truth);
    }

    /// Requires that a witness does not satisfy a level.
    fn forbid(&mut self, level: usize, witness: &Witness<bool>) {
        let Search { prover, space, forbidden, .. } = self;
        let mut witness = lifted(witness);
        let truth = forbidden[level].allows(&mut prover.formulas, &space.view, &mut witness);
        prover.require(!truth);
    }

    /// Looks for the next history. `stop` is asked from time to time.
    pub fn next(&mut self, stop: &mut dyn FnMut() -> bool) -> Answer {
        loop {
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
                        self.forbid(level, &witness);
                    }
                    Err(Stopped) => return Answer::Stopped,
                }
            }
            if is_forbidden {
                return Answer::Found(history);
            }
        }
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
            variables: self.prover.solver.vars() as u64,
            conflicts: self.prover.solver.conflicts(),
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

/// The search was stopped.
struct Stopped;

/// A witness that a level allows a history.
fn find_witness(
    plan: &Plan,
    view: &View<bool>,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Option<Witness<bool>>, Stopped> {
    let mut prover = Prover::new();
    let mut witness = any_witness(plan, &mut prover, view.txns, view.keys);
    let free = witness.clone();
    let lift = |matrix: &Rc<Matrix<bool>>| Rc::new(matrix.map(Formula::constant));
    let symbolic = View {
        txns: view.txns,
        keys: view.keys,
        writes: view.writes.iter().map(|&writes| Formula::constant(writes)).collect(),
        wr: view.wr.iter().map(lift).collect(),
        so: lift(&view.so),
        rt: lift(&view.rt),
        po: view.po.iter().map(lift).collect(),
    };
    let truth = plan.allows(&mut prover.formulas, &symbolic, &mut witness);
    prover.require(truth);
    match prover.solve(stop) {
        Outcome::Unsat => Ok(None),
        Outcome::Stopped => Err(Stopped),
        Outcome::Sat => {
            let lower = |matrix: &Rc<Matrix<Formula>>| Rc::new(matrix.map(|cell| prover.holds(cell)));
            let orders = free.orders.iter().map(lower).collect();
            Ok(Some(Witness { orders, vis: free.vis.as_ref().map(lower) }))
        }
    }
}

/// Whether a level allows a history, and what shows it. None if the search was stopped.
pub fn allows(
    definition: &Definition,
    history: &SmallHistory,
    stop: &mut dyn FnMut() -> bool,
) -> Option<Option<Evidence>> {
    let plan = Plan::new(definition);
    let view = history.view();
    let witness = find_witness(&plan, &view, stop).ok()?;
    Some(witness.map(|mut witness| {
        plan.complete(&mut Plain, &view, &mut witness);
        Evidence::new(&plan, history, &witness)
    }))
}

/// What shows that a level allows a history, in words of its framework. Transactions have the numbers of the one-line notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The framework.
    pub framework: Framework,
    /// The order of all transactions; empty for dependency graphs.
    pub order: Vec<usize>,
    /// The pairs of visibility, without the initial transaction.
    pub visible: Vec<(usize, usize)>,
    /// For dependency graphs: each key that is written more than once, and its writers in their order.
    pub versions: Vec<(String, Vec<usize>)>,
}

impl Evidence {
    fn new(plan: &Plan, history: &SmallHistory, witness: &Witness<bool>) -> Evidence {
        let numbers = history.numbers();
        let sorted = |order: &Matrix<bool>| {
            let mut txns: Vec<usize> = (1..order.size()).collect();
            txns.sort_by_key(|&txn| (0..order.size()).filter(|&other| order[(other, txn)]).count());
            txns
        };
        let named = |txns: Vec<usize>| -> Vec<usize> { txns.into_iter().map(|txn| numbers[txn]).collect() };
        let is_graph = plan.framework == Framework::Dependencies;
        let versions = (0..history.keys).filter(|_| is_graph).map(|key| {
            let writers = sorted(witness.order_of(key)).into_iter().filter(|&txn| history.writes[txn][key]);
            (key_name(key), named(writers.collect()))
        });
        let visible = witness.vis.iter().flat_map(|vis| pairs(vis)).filter(|&(from, _)| from > 0);
        let mut visible: Vec<(usize, usize)> =
            visible.map(|(from, to)| (numbers[from], numbers[to])).collect();
        visible.sort_unstable();
        Evidence {
            framework: plan.framework,
            order: if is_graph { Vec::new() } else { named(sorted(&witness.orders[0])) },
            visible,
            versions: versions.filter(|(_, writers)| writers.len() > 1).collect(),
        }
    }
}

//! The histories of a scope, as variables of a solver.
//!
//! Written values are unique, so what a read returned is known by its writer: `wr[x](s, t)` are the variables, and there are no
//! values whose renaming would have to be excluded.

use std::rc::Rc;

use isoscope_solve::{ClauseSink, Formula, Formulas, Lit, Outcome, Solver, Tseitin, Var};

use crate::evaluate::{View, Witness};
use crate::history::SmallHistory;
use crate::logic::{Ended, Patience};
use crate::matrix::Matrix;

/// How large histories may be. All are exact numbers or upper bounds as stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The number of transactions, without the initial one. Each reads or writes something.
    pub txns: usize,
    /// The number of keys.
    pub keys: usize,
    /// Whether some transaction reads or writes each of the keys. If not, formulas speak of keys that do not occur, too.
    pub uses_all_keys: bool,
    /// The most versions of a key, the initial one included.
    pub values: Option<usize>,
    /// The most sessions.
    pub sessions: Option<usize>,
    /// Whether session order is a set of chains, as for real clients. Otherwise it is any partial order, as in Isolde.
    pub chains: bool,
    /// Whether a transaction reads every key that it writes.
    pub reads_before_writes: bool,
}

impl Scope {
    /// A scope without limits but the number of transactions and keys.
    pub fn new(txns: usize, keys: usize) -> Scope {
        Scope {
            txns,
            keys,
            uses_all_keys: true,
            values: None,
            sessions: None,
            chains: true,
            reads_before_writes: false,
        }
    }
}

/// What a solver was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// A clause.
    Clause(Vec<Lit>),
    /// A question, and whether the answer was that there is a model.
    Question(bool),
}

/// A solver that counts its clauses.
pub(crate) struct Counting {
    pub(crate) solver: Solver,
    pub(crate) clauses: u64,
    /// What it was given, if that is kept.
    pub(crate) log: Option<Vec<Given>>,
}

impl ClauseSink for Counting {
    fn new_var(&mut self) -> Var {
        self.solver.new_var()
    }

    fn add_clause(&mut self, lits: &[Lit]) {
        self.clauses += 1;
        if let Some(log) = &mut self.log {
            log.push(Given::Clause(lits.to_vec()));
        }
        self.solver.add_clause(lits);
    }
}

/// Takes clauses until it is stopped.
pub(crate) struct Patient<'p, 's, S> {
    pub(crate) inner: &'p mut S,
    pub(crate) patience: &'p mut Patience<'s>,
}

impl<S: ClauseSink> ClauseSink for Patient<'_, '_, S> {
    fn new_var(&mut self) -> Var {
        self.inner.new_var()
    }

    fn add_clause(&mut self, lits: &[Lit]) {
        self.inner.add_clause(lits);
    }

    fn is_stopped(&mut self) -> bool {
        self.patience.is_over()
    }
}

/// A solver and its formulas.
pub(crate) struct Prover {
    pub(crate) solver: Counting,
    pub(crate) formulas: Formulas,
    tseitin: Tseitin,
}

impl Prover {
    pub(crate) fn new() -> Prover {
        let mut solver = Solver::new();
        // Sparse histories, of which each excludes many.
        solver.set_default_phase(false);
        let solver = Counting { solver, clauses: 0, log: None };
        Prover { solver, formulas: Formulas::new(), tseitin: Tseitin::new() }
    }

    pub(crate) fn fresh(&mut self) -> Formula {
        let var = self.solver.new_var();
        self.formulas.lit(var.positive())
    }

    pub(crate) fn require(&mut self, formula: Formula) {
        self.tseitin.require(&self.formulas, formula, &mut self.solver);
    }

    /// Requires a formula to hold, unless it is stopped. Clauses are then missing, and the prover is of no use any more.
    pub(crate) fn require_within(
        &mut self,
        formula: Formula,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<(), Ended> {
        let mut patience = Patience::new(stop);
        let mut sink = Patient { inner: &mut self.solver, patience: &mut patience };
        self.tseitin.require(&self.formulas, formula, &mut sink);
        if patience.is_stopped { Err(Ended::Stopped) } else { Ok(()) }
    }

    /// At least one of some formulas is not true.
    fn exclude(&mut self, together: &[Formula]) {
        if together.contains(&Formula::FALSE) {
            return;
        }
        let all = self.formulas.and(together);
        self.require(!all);
    }

    fn implies(&mut self, a: Formula, b: Formula) {
        let implied = self.formulas.implies(a, b);
        self.require(implied);
    }

    /// Whether a formula over variables is true in the model.
    pub(crate) fn holds(&self, formula: Formula) -> bool {
        self.formulas.evaluate(formula, |var| self.solver.solver.value(var.positive()))
    }

    pub(crate) fn solve(&mut self, stop: &mut dyn FnMut() -> bool) -> Outcome {
        let outcome = self.solver.solver.solve_within(&[], isoscope_solve::Budget::stopped_by(stop));
        if let (Some(log), true) = (&mut self.solver.log, outcome != Outcome::Stopped) {
            log.push(Given::Question(outcome == Outcome::Sat));
        }
        outcome
    }

    /// A total order of all transactions with the initial one first.
    pub(crate) fn order(&mut self, txns: usize) -> Rc<Matrix<Formula>> {
        self.order_containing(&Matrix::new(txns, |from, to| from == 0 && to > 0))
    }

    /// A total order of some transactions, which the initial one is before. No others are in it.
    pub(crate) fn order_of_some(&mut self, txns: usize, some: &[usize]) -> Rc<Matrix<Formula>> {
        let order = self.order(some.len() + 1);
        let place = |txn: usize| if txn == 0 { Some(0) } else { Some(some.binary_search(&txn).ok()? + 1) };
        Rc::new(Matrix::new(txns, |from, to| match (place(from), place(to)) {
            (Some(from), Some(to)) => order[(from, to)],
            _ => Formula::FALSE,
        }))
    }

    /// A total order of all transactions that contains a strict partial order.
    pub(crate) fn order_containing(&mut self, known: &Matrix<bool>) -> Rc<Matrix<Formula>> {
        let txns = known.size();
        let mut order = known.map(Formula::constant);
        for from in 0..txns {
            for to in from + 1..txns {
                if known[(from, to)] || known[(to, from)] {
                    continue;
                }
                order[(from, to)] = self.fresh();
                order[(to, from)] = !order[(from, to)];
            }
        }
        for a in 0..txns {
            for b in a + 1..txns {
                for c in b + 1..txns {
                    self.exclude(&[order[(a, b)], order[(b, c)], order[(c, a)]]);
                    self.exclude(&[order[(b, a)], order[(c, b)], order[(a, c)]]);
                }
            }
        }
        Rc::new(order)
    }

    /// Any relation.
    pub(crate) fn relation(&mut self, txns: usize) -> Rc<Matrix<Formula>> {
        Rc::new(Matrix::new(txns, |from, to| if from == to { Formula::FALSE } else { self.fresh() }))
    }

    /// At most this many of some formulas are true.
    pub(crate) fn at_most(&mut self, formulas: &[Formula], most: usize) -> Formula {
        // `counts[i]`: more than i of those so far.
        let mut counts = vec![Formula::FALSE; most + 1];
        for &formula in formulas {
            for i in (0..=most).rev() {
                let fewer = if i == 0 { Formula::TRUE } else { counts[i - 1] };
                let one_more = self.formulas.and(&[fewer, formula]);
                counts[i] = self.formulas.or(&[counts[i], one_more]);
            }
        }
        !counts[most]
    }
}

/// What is known of the numbers of the transactions: which relations lead only from smaller to larger ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    pub(crate) sessions: bool,
    pub(crate) reads: bool,
}

/// The histories of a scope.
pub(crate) struct Space {
    pub(crate) scope: Scope,
    pub(crate) view: View<Formula>,
    has_real_time: bool,
    has_read_order: bool,
}

impl Space {
    pub(crate) fn new(
        prover: &mut Prover,
        scope: Scope,
        numbering: Numbering,
        has_real_time: bool,
        has_read_order: bool,
    ) -> Space {
        let (txns, keys) = (scope.txns + 1, scope.keys);
        let initial = |_: usize, from: usize, to: usize| Formula::constant(from == 0 && to > 0);
        let mut writes = vec![Formula::TRUE; keys];
        writes.extend((keys..txns * keys).map(|_| prover.fresh()));
        let wr = (0..keys).map(|_| {
            Rc::new(Matrix::new(txns, |from, to| match (from, to) {
                (_, 0) => Formula::FALSE,
                (from, to) if from == to || numbering.reads && from > to => Formula::FALSE,
                _ => prover.fresh(),
            }))
        });
        let wr = wr.collect();
        let so = Rc::new(Matrix::new(txns, |from, to| {
            let is_excluded = from == to || to == 0 || numbering.sessions && from > to;
            if is_excluded || from == 0 { initial(0, from, to) } else { prover.fresh() }
        }));
        let rt = Rc::new(Matrix::new(txns, |from, to| {
            let is_free = has_real_time && from > 0 && to > 0 && from != to;
            if is_free { prover.fresh() } else { initial(0, from, to) }
        }));
        let po = (0..txns).map(|txn| {
            let mut po = Matrix::new(keys.max(1), |_, _| Formula::FALSE);
            for first in (0..keys).filter(|_| has_read_order && txn > 0) {
                for second in first + 1..keys {
                    po[(first, second)] = prover.fresh();
                    po[(second, first)] = !po[(first, second)];
                }
            }
            Rc::new(po)
        });
        let po = po.collect();
        let mut space = Space {
            scope,
            view: View { txns, keys, is_known: false, writes, wr, so, rt, po },
            has_real_time,
            has_read_order,
        };
        space.constrain(prover);
        space
    }

    fn writes(&self, txn: usize, key: usize) -> Formula {
        self.view.writes[txn * self.view.keys + key]
    }

    /// By key, whether a transaction reads it.
    fn reads(&self, prover: &mut Prover, txn: usize, key: usize) -> Formula {
        let writers: Vec<Formula> =
            (0..self.view.txns).map(|writer| self.view.wr[key][(writer, txn)]).collect();
        prover.formulas.or(&writers)
    }

    fn constrain(&mut self, prover: &mut Prover) {
        let View { txns, keys, .. } = self.view;
        let mut accesses_of_keys = vec![Vec::new(); keys];
        for txn in 1..txns {
            let mut accesses = Vec::new();
            for (key, accesses_of_key) in accesses_of_keys.iter_mut().enumerate() {
                let writers: Vec<Formula> =
                    (0..txns).map(|writer| self.view.wr[key][(writer, txn)]).collect();
                for (writer, &source) in writers.iter().enumerate() {
                    prover.implies(source, self.writes(writer, key));
                }
                let one = prover.formulas.at_most_one(&writers);
                prover.require(one);
                let reads = prover.formulas.or(&writers);
                if self.scope.reads_before_writes {
                    prover.implies(self.writes(txn, key), reads);
                }
                accesses.extend([reads, self.writes(txn, key)]);
                accesses_of_key.extend([reads, self.writes(txn, key)]);
            }
            let some = prover.formulas.or(&accesses);
            prover.require(some);
        }
        for accesses in accesses_of_keys.iter().filter(|_| self.scope.uses_all_keys) {
            let some = prover.formulas.or(accesses);
            prover.require(some);
        }
        self.constrain_sessions(prover);
        if let Some(values) = self.scope.values.filter(|&values| values <= self.scope.txns) {
            for key in 0..keys {
                let writers: Vec<Formula> = (1..txns).map(|txn| self.writes(txn, key)).collect();
                let few = prover.at_most(&writers, values.saturating_sub(1));
                prover.require(few);
            }
        }
        if self.has_real_time {
            self.constrain_real_time(prover);
        }
        if self.has_read_order {
            self.constrain_read_order(prover);
        }
        // Keys are interchangeable: their writers are in descending order.
        for key in 1..keys {
            let mut equal = Formula::TRUE;
            for txn in 1..txns {
                let (before, this) = (self.writes(txn, key - 1), self.writes(txn, key));
                let later = prover.formulas.and(&[equal, this]);
                prover.implies(later, before);
                let same = prover.formulas.iff(before, this);
                equal = prover.formulas.and(&[equal, same]);
            }
        }
    }

    fn constrain_sessions(&self, prover: &mut Prover) {
        let (so, txns) = (&self.view.so, self.view.txns);
        for a in 1..txns {
            for b in (1..txns).filter(|&b| b != a) {
                prover.exclude(&[so[(a, b)], so[(b, a)]]);
                for c in (1..txns).filter(|&c| c != a && c != b) {
                    let path = prover.formulas.and(&[so[(a, b)], so[(b, c)]]);
                    prover.implies(path, so[(a, c)]);
                    if self.scope.chains && a < b {
                        let related = prover.formulas.or(&[so[(a, b)], so[(b, a)]]);
                        let joined = prover.formulas.and(&[so[(a, c)], so[(b, c)]]);
                        let forked = prover.formulas.and(&[so[(c, a)], so[(c, b)]]);
                        prover.implies(joined, related);
                        prover.implies(forked, related);
                    }
                }
            }
        }
        if let Some(most) = self.scope.sessions.filter(|&sessions| sessions < self.scope.txns) {
            let first: Vec<Formula> = (1..txns)
                .map(|txn| {
                    let before: Vec<Formula> = (1..txns).map(|other| so[(other, txn)]).collect();
                    !prover.formulas.or(&before)
                })
                .collect();
            let few = prover.at_most(&first, most);
            prover.require(few);
        }
    }

    /// Real time is an interval order that contains session order.
    fn constrain_real_time(&self, prover: &mut Prover) {
        let (so, rt, txns) = (&self.view.so, &self.view.rt, self.view.txns);
        for a in 1..txns {
            for b in (1..txns).filter(|&b| b != a) {
                prover.implies(so[(a, b)], rt[(a, b)]);
                prover.exclude(&[rt[(a, b)], rt[(b, a)]]);
                for c in 1..txns {
                    for d in (1..txns).filter(|&d| d != c) {
                        // a is before b, and c before d: then a is before d, or c before b.
                        let both = prover.formulas.and(&[rt[(a, b)], rt[(c, d)]]);
                        let crossed = prover.formulas.or(&[rt[(a, d)], rt[(c, b)]]);
                        prover.implies(both, crossed);
                    }
                }
            }
        }
    }

    fn constrain_read_order(&self, prover: &mut Prover) {
        let keys = self.view.keys;
        for po in &self.view.po[1..] {
            for a in 0..keys {
                for b in a + 1..keys {
                    for c in b + 1..keys {
                        prover.exclude(&[po[(a, b)], po[(b, c)], po[(c, a)]]);
                        prover.exclude(&[po[(b, a)], po[(c, b)], po[(a, c)]]);
                    }
                }
            }
        }
    }

    /// The history of the model.
    pub(crate) fn history(&self, prover: &Prover) -> SmallHistory {
        let View { txns, keys, .. } = self.view;
        let writes = (0..txns).map(|txn| (0..keys).map(|key| prover.holds(self.writes(txn, key))).collect());
        let source =
            |txn: usize, key: usize| (0..txns).find(|&writer| prover.holds(self.view.wr[key][(writer, txn)]));
        let sources: Vec<Vec<Option<usize>>> =
            (0..txns).map(|txn| (0..keys).map(|key| source(txn, key)).collect()).collect();
        let read_order = (0..txns).map(|txn| {
            let mut read: Vec<usize> = (0..keys).filter(|&key| sources[txn][key].is_some()).collect();
            let before =
                |key: usize| (0..keys).filter(|&other| prover.holds(self.view.po[txn][(other, key)])).count();
            read.sort_by_key(|&key| before(key));
            read
        });
        let read_order = read_order.collect();
        SmallHistory {
            keys,
            writes: writes.collect(),
            sources,
            so: self.view.so.map(|cell| prover.holds(cell)),
            rt: self.has_real_time.then(|| self.view.rt.map(|cell| prover.holds(cell))),
            read_order,
        }
    }

    /// Whether each operation happens.
    pub(crate) fn operations(&self, prover: &mut Prover) -> Vec<Formula> {
        let mut operations = Vec::new();
        for txn in 1..self.view.txns {
            for key in 0..self.view.keys {
                operations.push(self.reads(prover, txn, key));
                operations.push(self.writes(txn, key));
            }
        }
        operations
    }

    /// That the history is this one.
    pub(crate) fn is(&self, prover: &mut Prover, history: &SmallHistory) -> Formula {
        let concrete = history.view();
        let mut parts = Vec::new();
        let mut equal = |formula: Formula, value: bool| parts.push(if value { formula } else { !formula });
        for (&formula, &value) in self.view.writes.iter().zip(&concrete.writes) {
            equal(formula, value);
        }
        for (formulas, values) in self.view.wr.iter().zip(&concrete.wr) {
            formulas.cells().iter().zip(values.cells()).for_each(|(&formula, &value)| equal(formula, value));
        }
        let mut orders = vec![(&self.view.so, &concrete.so)];
        orders.extend(self.has_real_time.then_some((&self.view.rt, &concrete.rt)));
        for (formulas, values) in orders {
            formulas.cells().iter().zip(values.cells()).for_each(|(&formula, &value)| equal(formula, value));
        }
        if self.has_read_order {
            for (formulas, values) in self.view.po.iter().zip(&concrete.po) {
                // The order of keys that are not both read says nothing.
                for first in 0..self.view.keys {
                    for second in (0..self.view.keys).filter(|&second| values[(first, second)]) {
                        equal(formulas[(first, second)], true);
                    }
                }
            }
        }
        prover.formulas.and(&parts)
    }
}

/// A constant order: the transactions at their places.
pub(crate) fn constant_order<T: Copy + Eq>(places: &[usize], constant: impl Fn(bool) -> T) -> Rc<Matrix<T>> {
    Rc::new(Matrix::new(places.len(), |from, to| constant(places[from] < places[to])))
}

/// The constants of a witness.
pub(crate) fn lifted(witness: &Witness<bool>) -> Witness<Formula> {
    let lift = |matrix: &Rc<Matrix<bool>>| Rc::new(matrix.map(Formula::constant));
    Witness { orders: witness.orders.iter().map(lift).collect(), vis: witness.vis.as_ref().map(lift) }
}

//! Formulas about a known history of up to 200 transactions, and a witness that is searched for.
//!
//! Clauses for the transitivity of one order of n transactions are n³/3, and those of the paths of a relation are as many. Three
//! observations keep formulas small.
//!
//! **Orders.** The theory of the solver (`isoscope_solve::OrderSolver`) keeps total orders without any clause. The orders of the
//! versions of all keys are orders of disjoint nodes.
//!
//! **Acyclic relations.** A relation is acyclic exactly if a total order contains it. Where this is a condition that must hold, it is
//! a clause for each pair of the relation.
//!
//! **Paths.** Where `R+` stands on the negative side of a formula that must hold, a larger relation only makes the formula harder
//! to satisfy. So some relation P with R in P and P ; R in P satisfies the formula exactly if `R+` does. P gets a variable for each
//! pair, and a clause for each pair of P and each pair of R behind it. What follows from known pairs of R alone is known, and of
//! these only those that do not follow from others are needed. P may be larger than `R+` in a model: it is not part of the witness.

use std::rc::Rc;

use isoscope_solve::{Budget, Formula, Formulas, Lit, OrderSolver, Outcome, Tseitin};

use crate::logic::{Ended, Logic, MOST_FORMULAS, Patience};
use crate::matrix::{Matrix, Paths};
use crate::space::Patient;

/// The most clauses about one history.
const MOST_CLAUSES: u64 = 2 * MOST_FORMULAS as u64;

/// An order that is searched for: of all transactions, or of the writers of a key.
pub(crate) struct Place {
    /// The transactions in it, in an order that has the known pairs. The search starts from this order.
    txns: Vec<usize>,
    /// The pairs that are known.
    known: Matrix<bool>,
}

impl Place {
    /// An order of all transactions with known pairs, which are a strict partial order.
    pub(crate) fn containing(known: Matrix<bool>) -> Place {
        let mut txns: Vec<usize> = (0..known.size()).collect();
        sort(&mut txns, &known);
        Place { txns, known }
    }

    /// An order of some transactions, with the initial one before them. `likely` is a guess: pairs that may be in it.
    pub(crate) fn of_some(mut txns: Vec<usize>, likely: &Matrix<bool>) -> Place {
        sort(&mut txns, likely);
        txns.insert(0, 0);
        let known = Matrix::new(likely.size(), |from, to| from == 0 && to > 0 && txns.contains(&to));
        Place { txns, known }
    }
}

/// Sorts transactions by the number of those before them: this agrees with every strict partial order.
fn sort(txns: &mut [usize], order: &Matrix<bool>) {
    txns.sort_by_key(|&txn| ((0..order.size()).filter(|&other| order[(other, txn)]).count(), txn));
}

/// Formulas with orders and limits; see the module.
pub(crate) struct Ordered<'s> {
    formulas: Formulas,
    tseitin: Tseitin,
    solver: OrderSolver,
    places: Vec<Place>,
    /// By place and transaction: its node.
    nodes: Vec<Vec<u32>>,
    /// The first nodes of orders that no acyclic relation has yet.
    spare: Vec<u32>,
    txns: usize,
    clauses: u64,
    patience: Patience<'s>,
    ended: Option<Ended>,
}

impl<'s> Ordered<'s> {
    /// Formulas with these orders, and orders for a number of acyclic relations. `stop` is asked from time to time.
    pub(crate) fn new(
        places: Vec<Place>,
        txns: usize,
        acyclic: usize,
        stop: &'s mut dyn FnMut() -> bool,
    ) -> Self {
        let (mut nodes, mut edges, mut order) = (Vec::new(), Vec::new(), Vec::new());
        for place in &places {
            let mut of_txn = vec![0; txns];
            for &txn in &place.txns {
                of_txn[txn] = order.len() as u32;
                order.push(of_txn[txn]);
            }
            edges.extend(covering(&place.known).map(|(from, to)| (of_txn[from], of_txn[to])));
            nodes.push(of_txn);
        }
        let spare: Vec<u32> = (0..acyclic).map(|place| (order.len() + place * txns) as u32).collect();
        order.extend(order.len() as u32..(order.len() + acyclic * txns) as u32);
        Ordered {
            formulas: Formulas::new(),
            tseitin: Tseitin::new(),
            solver: OrderSolver::new(order.len(), &edges, &order),
            places,
            nodes,
            spare,
            txns,
            clauses: 0,
            patience: Patience::new(stop),
            ended: None,
        }
    }

    /// An order as formulas.
    pub(crate) fn order(&mut self, place: usize) -> Rc<Matrix<Formula>> {
        let mut order = self.places[place].known.map(Formula::constant);
        let txns = &self.places[place].txns;
        for (i, &from) in txns.iter().enumerate() {
            for &to in &txns[i + 1..] {
                if order[(from, to)] == Formula::FALSE {
                    let before = self.solver.before(self.nodes[place][from], self.nodes[place][to]);
                    order[(from, to)] = self.formulas.lit(before);
                    order[(to, from)] = !order[(from, to)];
                }
            }
        }
        Rc::new(order)
    }

    /// Any relation of different transactions.
    pub(crate) fn relation(&mut self) -> Rc<Matrix<Formula>> {
        Rc::new(Matrix::new(self.txns, |from, to| {
            if from == to { Formula::FALSE } else { self.formulas.lit(self.solver.variable(false)) }
        }))
    }

    /// Whether a formula can hold.
    pub(crate) fn solve(&mut self, formula: Formula) -> Result<bool, Ended> {
        self.ended.map_or(Ok(()), Err)?;
        let mut sink = Patient { inner: &mut self.solver, patience: &mut self.patience };
        self.tseitin.require(&self.formulas, formula, &mut sink);
        if self.patience.is_stopped {
            return Err(Ended::Stopped);
        }
        match self.solver.solve_within(&[], Budget::stopped_by(self.patience.stop())) {
            Outcome::Sat => Ok(true),
            Outcome::Unsat => Ok(false),
            Outcome::Stopped => Err(Ended::Stopped),
        }
    }

    /// An order of the model.
    pub(crate) fn found_order(&self, place: usize) -> Rc<Matrix<bool>> {
        let mut positions = vec![0; self.solver.order().len()];
        for (position, &node) in self.solver.order().iter().enumerate() {
            positions[node as usize] = position;
        }
        let mut order = Matrix::new(self.txns, |_, _| false);
        let (nodes, txns) = (&self.nodes[place], &self.places[place].txns);
        let position = |txn: usize| positions[nodes[txn] as usize];
        for &from in txns {
            for &to in txns {
                order[(from, to)] = position(from) < position(to);
            }
        }
        Rc::new(order)
    }

    /// Whether a formula over variables holds in the model.
    pub(crate) fn holds(&self, formula: Formula) -> bool {
        self.formulas.evaluate(formula, |var| self.solver.holds(var.positive()))
    }

    fn add_clause(&mut self, lits: &[Lit]) {
        self.clauses += 1;
        self.solver.add_clause(lits);
    }

    /// A literal that implies a formula.
    fn assumption(&mut self, formula: Formula) -> Lit {
        let mut sink = Patient { inner: &mut self.solver, patience: &mut self.patience };
        self.tseitin.assumption(&self.formulas, formula, &mut sink)
    }
}

/// The pairs of a strict partial order that do not follow from others.
fn covering(known: &Matrix<bool>) -> impl Iterator<Item = (usize, usize)> {
    let paths = Paths::of(known, |cell| cell);
    let size = known.size();
    (0..size * size)
        .map(move |cell| (cell / size, cell % size))
        .filter(move |&(from, to)| paths.has(from, to) && !paths.is_indirect(from, to))
}

/// A cell of the paths above a relation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    Never,
    Always,
    Perhaps(Lit),
}

impl Ordered<'_> {
    /// The pairs of a relation from which its paths follow, each with the literal of *it does not hold*; none if it always does.
    fn steps(&mut self, relation: &Matrix<Formula>, certain: &Paths) -> Vec<(usize, usize, Option<Lit>)> {
        let size = relation.size();
        let is_cyclic = certain.is_cyclic();
        let mut steps = Vec::new();
        for from in 0..size {
            for to in 0..size {
                match relation[(from, to)] {
                    Formula::FALSE => {}
                    Formula::TRUE => {
                        if is_cyclic || !certain.is_indirect(from, to) {
                            steps.push((from, to, None));
                        }
                    }
                    _ if certain.has(from, to) => {}
                    cell => {
                        let not = self.assumption(!cell);
                        steps.push((from, to, Some(not)));
                    }
                }
            }
        }
        steps
    }
}

impl Logic for Ordered<'_> {
    type Truth = Formula;
    const TRUE: Formula = Formula::TRUE;
    const FALSE: Formula = Formula::FALSE;

    fn not(&mut self, a: Formula) -> Formula {
        !a
    }

    fn all(&mut self, parts: &[Formula]) -> Formula {
        self.formulas.and(parts)
    }

    fn any(&mut self, parts: &[Formula]) -> Formula {
        self.formulas.or(parts)
    }

    fn is_stopped(&mut self) -> bool {
        if self.ended.is_none() {
            if self.formulas.nodes() > MOST_FORMULAS || self.clauses > MOST_CLAUSES {
                self.ended = Some(Ended::Large);
            } else if self.patience.is_over() {
                self.ended = Some(Ended::Stopped);
            }
        }
        self.ended.is_some()
    }

    fn paths_above(&mut self, relation: &Matrix<Formula>) -> Option<Matrix<Formula>> {
        let size = relation.size();
        let certain = Paths::of(relation, |cell| cell == Formula::TRUE);
        let possible = Paths::of(relation, |cell| cell != Formula::FALSE);
        let steps = self.steps(relation, &certain);
        let paths = Matrix::new(size, |from, to| match (certain.has(from, to), possible.has(from, to)) {
            (true, _) => Path::Always,
            (false, true) => Path::Perhaps(self.solver.variable(false)),
            (false, false) => Path::Never,
        });
        for (middle, to, not) in steps {
            for from in 0..size {
                if self.is_stopped() {
                    return Some(Matrix::new(size, |_, _| Formula::FALSE));
                }
                let Path::Perhaps(path) = paths[(from, to)] else { continue };
                let before = if from == middle { Path::Always } else { paths[(from, middle)] };
                match (before, not) {
                    (Path::Never, _) => {}
                    (Path::Always, None) => self.add_clause(&[path]),
                    (Path::Always, Some(not)) => self.add_clause(&[not, path]),
                    (Path::Perhaps(before), None) => self.add_clause(&[!before, path]),
                    (Path::Perhaps(before), Some(not)) => self.add_clause(&[not, !before, path]),
                }
            }
        }
        Some(paths.map(|path| match path {
            Path::Never => Formula::FALSE,
            Path::Always => Formula::TRUE,
            Path::Perhaps(lit) => self.formulas.lit(lit),
        }))
    }

    fn ordered(&mut self, relation: &Matrix<Formula>) -> Option<Formula> {
        let first = self.spare.pop()?;
        let mut parts = Vec::new();
        for from in 0..self.txns {
            for to in 0..self.txns {
                let cell = relation[(from, to)];
                if cell == Formula::FALSE {
                    continue;
                }
                if self.is_stopped() {
                    return Some(Formula::FALSE);
                }
                let before = if from == to {
                    Formula::FALSE
                } else {
                    let before = self.solver.before(first + from as u32, first + to as u32);
                    self.formulas.lit(before)
                };
                parts.push(self.formulas.implies(cell, before));
            }
        }
        Some(self.formulas.and(&parts))
    }
}

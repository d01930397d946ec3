//! Total orders that satisfy clauses: the solver with the acyclicity theory, and pairs found by their nodes.

use rustc_hash::FxHashMap;

use crate::acyclicity::Acyclicity;
#[cfg(feature = "cadical")]
use crate::cadical::Cadical as Core;
use crate::encode::ClauseSink;
use crate::lit::{Lit, Var};
use crate::outcome::{Budget, Outcome};
#[cfg(not(feature = "cadical"))]
use crate::solver::Solver as Core;

/// Looks for a total order of nodes that contains given edges and satisfies clauses over *a is before b* and plain
/// variables.
///
/// ```
/// use isoscope_solve::{OrderSolver, Outcome};
///
/// // 0 before 1 before 2, and 3 outside of it: before 0 or after 2.
/// let mut solver = OrderSolver::new(4, &[(0, 1), (1, 2)], &[0, 1, 3, 2]);
/// let (first, last) = (solver.before(3, 0), solver.before(2, 3));
/// solver.add_clause(&[first, last]);
/// assert_eq!(solver.solve(&[!first]), Outcome::Sat);
/// assert_eq!(solver.order(), [0, 1, 2, 3]);
/// assert_eq!(solver.solve(&[!first, !last]), Outcome::Unsat);
/// ```
pub struct OrderSolver {
    nodes: u32,
    core: Core<Acyclicity>,
    /// The variable of each pair: it is true if the lesser node is before the greater.
    pairs: FxHashMap<(u32, u32), Var>,
    clauses: u64,
    outcome: Option<Outcome>,
}

/// The size of a solver and the work it has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Variables, of pairs and plain.
    pub variables: usize,
    /// Variables of pairs.
    pub pairs: usize,
    /// Clauses added by the user.
    pub clauses: u64,
    /// Conflicts of all searches.
    pub conflicts: u64,
    /// Cycles met by all searches, each of them a clause.
    pub lemmas: u64,
}

impl OrderSolver {
    /// A solver for orders of nodes that contain all `edges`. `order` is one of them; the search starts from it and
    /// tries its directions first.
    ///
    /// # Panics
    ///
    /// If `order` does not have every node once, or an edge leads backwards in it.
    pub fn new(nodes: usize, edges: &[(u32, u32)], order: &[u32]) -> Self {
        OrderSolver {
            nodes: nodes as u32,
            core: Core::with_theory(Acyclicity::new(nodes, edges, order)),
            pairs: FxHashMap::default(),
            clauses: 0,
            outcome: None,
        }
    }

    /// A new plain variable, as its positive literal; `phase` is the value to try first.
    pub fn variable(&mut self, phase: bool) -> Lit {
        let var = self.core.new_var();
        self.core.set_phase(var, phase);
        var.positive()
    }

    /// The literal *a is before b*. Orders are total: its negation is *b is before a*.
    ///
    /// # Panics
    ///
    /// If `a` is `b`, or one of them is no node.
    pub fn before(&mut self, a: u32, b: u32) -> Lit {
        assert!(a != b && a < self.nodes && b < self.nodes, "a pair consists of two different nodes");
        let (lesser, greater) = (a.min(b), a.max(b));
        let var = *self.pairs.entry((lesser, greater)).or_insert_with(|| {
            let var = self.core.new_theory_var();
            let phase = self.core.theory().precedes(lesser, greater);
            self.core.set_phase(var, phase);
            self.core.theory_mut().set_pair(var, lesser, greater);
            var
        });
        var.is(a < b)
    }

    /// Adds a clause: at least one of the literals must hold.
    pub fn add_clause(&mut self, lits: &[Lit]) {
        self.clauses += 1;
        self.core.add_clause(lits);
    }

    /// Searches for an order under assumptions, which hold for this search only.
    pub fn solve(&mut self, assumptions: &[Lit]) -> Outcome {
        self.solve_within(assumptions, Budget::default())
    }

    /// Searches for an order under assumptions until the budget is used up.
    pub fn solve_within(&mut self, assumptions: &[Lit], budget: Budget<'_>) -> Outcome {
        let outcome = self.core.solve_within(assumptions, budget);
        self.outcome = Some(outcome);
        if outcome == Outcome::Sat {
            self.check_order();
        }
        outcome
    }

    /// Panics if the order does not have every pair in the direction that the assignment gives it.
    fn check_order(&self) {
        let theory = self.core.theory();
        for var in (0..self.core.vars()).map(Var::new) {
            let agrees = theory.agrees(var.positive());
            let value = self.core.value(var.positive());
            assert!(agrees.is_none_or(|agrees| agrees == value), "the order and the assignment agree");
        }
    }

    /// After [`Outcome::Sat`]: an order that contains all edges and agrees with every literal that holds; every node
    /// once. It stays until the next search.
    ///
    /// # Panics
    ///
    /// If the last search did not find an order.
    pub fn order(&self) -> Vec<u32> {
        assert_eq!(self.outcome, Some(Outcome::Sat), "the last search found an order");
        self.core.theory().order().to_vec()
    }

    /// After [`Outcome::Sat`]: whether a literal holds. A pair created since has its direction in the order; a plain
    /// variable created since has its phase.
    ///
    /// # Panics
    ///
    /// If the last search did not find an order.
    pub fn holds(&self, lit: Lit) -> bool {
        assert_eq!(self.outcome, Some(Outcome::Sat), "the last search found an order");
        self.core.value(lit)
    }

    /// After [`Outcome::Unsat`]: assumptions that cannot hold together. The list is empty if no order exists even
    /// without assumptions.
    pub fn failed(&self) -> &[Lit] {
        self.core.failed()
    }

    /// The size of the solver and the work it has done.
    pub fn figures(&self) -> Figures {
        Figures {
            variables: self.core.vars(),
            pairs: self.pairs.len(),
            clauses: self.clauses,
            conflicts: self.core.conflicts(),
            lemmas: self.core.theory().lemmas(),
        }
    }
}

impl ClauseSink for OrderSolver {
    fn new_var(&mut self) -> Var {
        self.core.new_var()
    }

    fn add_clause(&mut self, lits: &[Lit]) {
        OrderSolver::add_clause(self, lits);
    }
}

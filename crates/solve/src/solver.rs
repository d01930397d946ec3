//! The solver as its users see it: pairs found again by their nodes, and answers that outlast the next clause.

use isoscope_order::{DynamicOrder, Graph};
use rustc_hash::FxHashMap;

use crate::acyclic::Acyclic;
#[cfg(feature = "cadical")]
use crate::cadical::Cadical as Core;
#[cfg(not(feature = "cadical"))]
use crate::cdcl::Cdcl as Core;
use crate::lit::Lit;
use crate::sat::{Answer, Sat};

/// Looks for a total order of nodes that contains given edges and satisfies clauses over *a is before b* and plain
/// variables.
///
/// ```
/// use isoscope_solve::{Answer, OrderSolver};
///
/// // 0 before 1 before 2, and 3 outside of it: before 0 or after 2.
/// let mut solver = OrderSolver::new(4, &[(0, 1), (1, 2)], &[0, 1, 3, 2]);
/// let (first, last) = (solver.before(3, 0), solver.before(2, 3));
/// solver.add_clause(&[first, last]);
/// assert_eq!(solver.solve(&[!first], &mut || false), Answer::Order);
/// assert_eq!(solver.order(), [0, 1, 2, 3]);
/// assert_eq!(solver.solve(&[!first, !last], &mut || false), Answer::Contradiction);
/// ```
pub struct OrderSolver {
    nodes: u32,
    core: Core<Acyclic>,
    /// The variable of each pair, by its nodes, the lesser first.
    pairs: FxHashMap<(u32, u32), Lit>,
    variables: u32,
    clauses: u64,
    answer: Option<Answer>,
    /// After an order was found: the values of the variables, as far as there were any.
    values: Vec<bool>,
    failed: Vec<Lit>,
}

/// What a solver has and has done.
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
    /// A solver for orders of nodes that contain all `edges`; `order` is one, from which the search starts: what is
    /// tried first for *a is before b* is what it says.
    ///
    /// # Panics
    ///
    /// If `order` does not have every node once, or an edge leads backwards in it.
    pub fn new(nodes: usize, edges: &[(u32, u32)], order: &[u32]) -> Self {
        let order = DynamicOrder::new(Graph::from_edges(nodes, edges), order.to_vec());
        OrderSolver {
            nodes: nodes as u32,
            core: Core::new(Acyclic::new(order)),
            pairs: FxHashMap::default(),
            variables: 0,
            clauses: 0,
            answer: None,
            values: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// A fresh plain variable; `phase` is what to try first.
    pub fn variable(&mut self, phase: bool) -> Lit {
        self.make_variable(None).negated_if(!phase)
    }

    /// The literal *a is before b*. Orders are total: its negation is *b is before a*.
    ///
    /// # Panics
    ///
    /// If `a` is `b`, or one of them is no node.
    pub fn before(&mut self, a: u32, b: u32) -> Lit {
        assert!(a != b && a < self.nodes && b < self.nodes, "a pair is of two different nodes");
        let (lesser, greater) = (a.min(b), a.max(b));
        let lit = if let Some(&lit) = self.pairs.get(&(lesser, greater)) {
            lit
        } else {
            // The positive literal is tried first: it follows the order of the moment.
            let agrees = self.core.theory().precedes(lesser, greater);
            let edge = if agrees { (lesser, greater) } else { (greater, lesser) };
            let lit = self.make_variable(Some(edge)).negated_if(!agrees);
            self.pairs.insert((lesser, greater), lit);
            lit
        };
        lit.negated_if(a > b)
    }

    fn make_variable(&mut self, pair: Option<(u32, u32)>) -> Lit {
        self.core.theory_mut().add_variable(pair);
        self.variables += 1;
        self.core.variable(pair.is_some())
    }

    /// Adds a clause: one of these literals must hold.
    pub fn add_clause(&mut self, lits: &[Lit]) {
        self.clauses += 1;
        self.core.add_clause(lits);
    }

    /// Solves under assumptions, which hold for this call only; `stop` is asked every now and then.
    pub fn solve(&mut self, assumptions: &[Lit], stop: &mut dyn FnMut() -> bool) -> Answer {
        let answer = self.core.solve(assumptions, stop);
        self.answer = Some(answer);
        self.failed.clear();
        match answer {
            Answer::Order => self.keep_values(),
            Answer::Contradiction => {
                let core = &mut self.core;
                self.failed.extend(assumptions.iter().copied().filter(|&lit| core.failed(lit)));
            }
            Answer::Stopped => {}
        }
        answer
    }

    /// Keeps the values of all variables, and makes sure that the order found says of each pair what its variable
    /// says: everything that is told of an answer rests on this.
    fn keep_values(&mut self) {
        self.values.clear();
        for variable in 0..self.variables {
            let lit = Lit::positive(variable);
            let value = self.core.value(lit);
            let agrees = self.core.theory().agrees(lit);
            assert!(agrees.is_none_or(|agrees| agrees == value), "the order and the assignment are one");
            self.values.push(value);
        }
    }

    /// After [`Answer::Order`]: an order that contains all edges and agrees with every literal that holds; every node
    /// once. It stays until the next search.
    ///
    /// # Panics
    ///
    /// If the last search did not find an order.
    pub fn order(&self) -> Vec<u32> {
        assert_eq!(self.answer, Some(Answer::Order), "an order was found");
        self.core.theory().order().to_vec()
    }

    /// After [`Answer::Order`]: whether a literal holds. Of a pair made since, the order decides; of a plain variable
    /// made since, its phase.
    ///
    /// # Panics
    ///
    /// If the last search did not find an order.
    pub fn holds(&self, lit: Lit) -> bool {
        assert_eq!(self.answer, Some(Answer::Order), "an order was found");
        let value = self.values.get(lit.variable() as usize).copied().unwrap_or(true);
        value == lit.is_positive()
    }

    /// After [`Answer::Contradiction`]: assumptions that cannot hold together. None, if nothing can hold even
    /// without assumptions.
    pub fn failed(&self) -> Vec<Lit> {
        self.failed.clone()
    }

    /// What the solver has and has done.
    pub fn figures(&self) -> Figures {
        Figures {
            variables: self.variables as usize,
            pairs: self.pairs.len(),
            clauses: self.clauses,
            conflicts: self.core.conflicts(),
            lemmas: self.core.theory().lemmas(),
        }
    }
}

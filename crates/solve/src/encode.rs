//! Boolean formulas and their clauses.
//!
//! `formulas.rs` builds formulas: each is stored once, and constants and simple redundancies disappear while it is built.
//! `tseitin.rs` turns formulas into clauses.

mod formulas;
mod tseitin;

pub use formulas::{Formula, Formulas};
pub use tseitin::Tseitin;

use crate::lit::{Lit, Var};
use crate::solver::Solver;
use crate::theory::Theory;

/// Where clauses go: a solver, or clauses in memory.
pub trait ClauseSink {
    /// A new variable.
    fn new_var(&mut self) -> Var;
    /// Adds a clause: at least one of the literals must be true.
    fn add_clause(&mut self, lits: &[Lit]);
    /// Whether to give up. Clauses of a formula may then be missing, and the sink must not be searched any more.
    fn is_stopped(&mut self) -> bool {
        false
    }
}

impl<T: Theory> ClauseSink for Solver<T> {
    fn new_var(&mut self) -> Var {
        Solver::new_var(self)
    }

    fn add_clause(&mut self, lits: &[Lit]) {
        Solver::add_clause(self, lits);
    }
}

//! The second solver: `batsat`, a descendant of `MiniSat`.

// Each test and benchmark uses a part of this.
#![allow(dead_code)]

use batsat::{BasicSolver, SolverInterface, lbool};
use isoscope_solve::{ClauseSink, Lit, Var};

pub(crate) struct Second(BasicSolver);

impl Second {
    pub(crate) fn new() -> Second {
        Second(BasicSolver::default())
    }

    pub(crate) fn solve(&mut self, assumptions: &[Lit]) -> bool {
        let assumptions: Vec<batsat::Lit> = assumptions.iter().map(|&lit| self.lit(lit)).collect();
        self.0.solve_limited(&assumptions) == lbool::TRUE
    }

    pub(crate) fn value(&mut self, lit: Lit) -> bool {
        let lit = self.lit(lit);
        self.0.value_lit(lit) == lbool::TRUE
    }

    fn lit(&mut self, lit: Lit) -> batsat::Lit {
        batsat::Lit::new(self.0.var_of_int(lit.var().index() as u32), lit.is_positive())
    }
}

impl ClauseSink for Second {
    fn new_var(&mut self) -> Var {
        // The first value to try is false.
        let var = self.0.new_var(lbool::TRUE, true);
        Var::new(var.idx() as usize)
    }

    fn add_clause(&mut self, lits: &[Lit]) {
        let mut clause = lits.iter().map(|&lit| self.lit(lit)).collect();
        self.0.add_clause_reuse(&mut clause);
    }
}

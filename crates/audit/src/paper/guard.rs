//! Guards, and the clauses that define them.
//!
//! A guard is *true* or a literal. Literals are one-sided: a guard implies what it stands for, and nothing more. New literals are false
//! where nobody asks for them.

use isoscope_solve::{Budget, ClauseSink, Lit, Outcome, Solver, Var, at_most_one};

/// A condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Guard {
    True,
    Lit(Lit),
}

/// The clauses of an execution.
pub(crate) struct Clauses {
    solver: Solver,
    /// The literal under which new clauses hold, if they can be taken back.
    active: Option<Lit>,
}

impl Clauses {
    pub(crate) fn new() -> Clauses {
        Clauses { solver: Solver::new(), active: None }
    }

    /// Whether no literal was made.
    pub(crate) fn is_empty(&self) -> bool {
        self.solver.vars() == 0
    }

    /// From now on, clauses hold only under this literal.
    pub(crate) fn set_active(&mut self, active: Option<Lit>) {
        self.active = active;
    }

    /// A new literal; `phase` is the value to try first.
    pub(crate) fn fresh(&mut self, phase: bool) -> Lit {
        let var = self.solver.new_var();
        self.solver.set_phase(var, phase);
        var.positive()
    }

    pub(crate) fn add(&mut self, lits: &[Lit]) {
        match self.active {
            None => self.solver.add_clause(lits),
            Some(active) => {
                let mut lits = lits.to_vec();
                lits.push(!active);
                self.solver.add_clause(&lits);
            }
        }
    }

    /// If all of the first hold, then one of the others does.
    pub(crate) fn imply(&mut self, all: &[Guard], any: &[Guard]) {
        let mut lits = Vec::with_capacity(all.len() + any.len());
        for guard in all {
            if let Guard::Lit(lit) = guard {
                lits.push(!*lit);
            }
        }
        for guard in any {
            match guard {
                Guard::True => return,
                Guard::Lit(lit) => lits.push(*lit),
            }
        }
        self.add(&lits);
    }

    /// A guard that implies one of these.
    pub(crate) fn or(&mut self, guards: &[Guard]) -> Guard {
        if guards.contains(&Guard::True) {
            return Guard::True;
        }
        if let [one] = guards {
            return *one;
        }
        let guard = Guard::Lit(self.fresh(false));
        self.imply(&[guard], guards);
        guard
    }

    /// A guard that implies both.
    pub(crate) fn and(&mut self, a: Guard, b: Guard) -> Guard {
        match (a, b) {
            (Guard::True, other) | (other, Guard::True) => other,
            _ if a == b => a,
            _ => {
                let guard = Guard::Lit(self.fresh(false));
                self.imply(&[guard], &[a]);
                self.imply(&[guard], &[b]);
                guard
            }
        }
    }

    /// Under a condition, exactly one of these literals holds, and otherwise none.
    pub(crate) fn exactly_one_if(&mut self, condition: Guard, lits: &[Lit]) {
        let guards: Vec<Guard> = lits.iter().copied().map(Guard::Lit).collect();
        self.imply(&[condition], &guards);
        if condition != Guard::True {
            for &guard in &guards {
                self.imply(&[guard], &[condition]);
            }
        }
        if lits.len() > 1 {
            at_most_one(self, lits);
        }
    }

    /// Whether a literal holds in the assignment that was found last.
    pub(crate) fn holds(&self, lit: Lit) -> bool {
        self.solver.value(lit)
    }

    pub(crate) fn solve(&mut self, assumptions: &[Lit], budget: Budget<'_>) -> Outcome {
        self.solver.solve_within(assumptions, budget)
    }
}

impl ClauseSink for Clauses {
    fn new_var(&mut self) -> Var {
        let var = self.solver.new_var();
        self.solver.set_phase(var, false);
        var
    }

    fn add_clause(&mut self, lits: &[Lit]) {
        self.add(lits);
    }
}

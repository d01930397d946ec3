//! `CaDiCaL` as the SAT core, with the theory as its external propagator (IPASIR-UP: Fazekas and others, SAT 2023).
//!
//! Variable `v` has the number `v + 1` in CaDiCaL. Theory variables are observed from their creation, so that CaDiCaL
//! never eliminates them. It may eliminate plain variables, and restores them when a clause mentions them again. Lemmas
//! are clauses that CaDiCaL must not forget: cycles recur, and a search that forgets them meets the same ones again.
//!
//! CaDiCaL calls the theory during a search and at no other time, so the theory can be shared in a cell.
//! The callback that stops a search lives only as long as the call, while CaDiCaL wants a callback that lives as long as
//! itself; `Stop` is the bridge.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::ptr::NonNull;
use std::rc::Rc;

use cadical_sys::{CaDiCal, ExternalPropagator, Status, Terminator};

use crate::encode::ClauseSink;
use crate::lit::{Lit, Var};
use crate::outcome::{Budget, Outcome};
use crate::theory::{NoTheory, Theory};

/// `CaDiCaL` with the interface of [`Solver`](crate::Solver).
pub struct Cadical<T = NoTheory> {
    solver: CaDiCal,
    theory: Rc<RefCell<T>>,
    stop: Stop,
    /// The value to try first of each variable.
    phases: Vec<bool>,
    default_phase: bool,
    model: Vec<bool>,
    failed: Vec<Lit>,
    /// A clause on its way to `CaDiCaL`; kept to be used again.
    clause: Vec<i32>,
}

/// Options that differ from CaDiCaL's defaults.
const OPTIONS: [(&str, i32); 2] = [
    // Levels end in the reverse order of their opening, as the theory expects.
    ("chrono", 0),
    // Trying all variables at one value produces extreme models, which do not help a search that refines them.
    ("lucky", 0),
];

impl Cadical {
    /// A solver without a theory.
    pub fn new() -> Cadical {
        let mut cadical = Cadical::unconnected(NoTheory);
        // Without a propagator to keep in step, CaDiCaL's own choice is better.
        cadical.solver.set("chrono", 1);
        cadical
    }
}

impl Default for Cadical {
    fn default() -> Cadical {
        Cadical::new()
    }
}

impl<T: Theory + 'static> Cadical<T> {
    /// A solver with a theory.
    pub fn with_theory(theory: T) -> Cadical<T> {
        let mut cadical = Cadical::unconnected(theory);
        let theory = Rc::clone(&cadical.theory);
        cadical.solver.connect_external_propagator(Propagator { theory, lemma: Vec::new() });
        cadical
    }

    fn unconnected(theory: T) -> Cadical<T> {
        let mut solver = CaDiCal::new();
        for (name, value) in OPTIONS {
            let known = solver.set(name, value);
            debug_assert!(known, "{name} is an option");
        }
        let stop = Stop::default();
        solver.connect_terminator(stop.clone());
        Cadical {
            solver,
            theory: Rc::new(RefCell::new(theory)),
            stop,
            phases: Vec::new(),
            default_phase: false,
            model: Vec::new(),
            failed: Vec::new(),
            clause: Vec::new(),
        }
    }

    /// The theory.
    pub fn theory(&self) -> Ref<'_, T> {
        self.theory.borrow()
    }

    /// The theory, to give meaning to variables between searches.
    pub fn theory_mut(&mut self) -> RefMut<'_, T> {
        self.theory.borrow_mut()
    }

    /// A new variable without a meaning in the theory.
    pub fn new_var(&mut self) -> Var {
        let var = Var::new(self.phases.len());
        let number = self.solver.declare_one_more_variable();
        assert_eq!(number, var.positive().to_dimacs(), "variables are declared one after another");
        self.phases.push(self.default_phase);
        self.set_phase(var, self.default_phase);
        var
    }

    /// A new variable that the theory is informed of.
    pub fn new_theory_var(&mut self) -> Var {
        let var = self.new_var();
        self.solver.add_observed_var(var.positive().to_dimacs());
        var
    }

    /// The number of variables.
    pub fn vars(&self) -> usize {
        self.phases.len()
    }

    /// Sets the value to try first for a variable.
    pub fn set_phase(&mut self, var: Var, phase: bool) {
        self.phases[var.index()] = phase;
        self.solver.phase(var.is(phase).to_dimacs());
    }

    /// Sets the phase of all variables, those of now and those created later. At first it is `false`.
    pub fn set_default_phase(&mut self, phase: bool) {
        self.default_phase = phase;
        (0..self.phases.len()).for_each(|var| self.set_phase(Var::new(var), phase));
    }

    /// Adds a clause.
    pub fn add_clause(&mut self, lits: &[Lit]) {
        self.clause.clear();
        self.clause.extend(lits.iter().map(|&lit| lit.to_dimacs()));
        if self.clause.is_empty() {
            self.solver.add(0);
        } else {
            self.solver.clause6(&self.clause);
        }
    }

    /// Searches for a model under assumptions.
    pub fn solve(&mut self, assumptions: &[Lit]) -> Outcome {
        self.solve_within(assumptions, Budget::default())
    }

    /// Searches for a model under assumptions until the budget is used up.
    pub fn solve_within(&mut self, assumptions: &[Lit], mut budget: Budget<'_>) -> Outcome {
        self.failed.clear();
        self.model.clear();
        if budget.is_stopped() {
            return Outcome::Stopped;
        }
        if let Some(conflicts) = budget.conflicts {
            self.solver.limit("conflicts", i32::try_from(conflicts).unwrap_or(i32::MAX));
        }
        for &lit in assumptions {
            self.solver.assume(lit.to_dimacs());
        }
        let solver = &mut self.solver;
        match self.stop.during(&mut || budget.is_stopped(), || solver.solve()) {
            Status::SATISFIABLE => {
                let vars = 0..self.phases.len();
                self.model = vars.map(|var| solver.val(Var::new(var).positive().to_dimacs()) > 0).collect();
                Outcome::Sat
            }
            Status::UNSATISFIABLE => {
                let failed = assumptions.iter().copied().filter(|lit| solver.failed(lit.to_dimacs()));
                self.failed.extend(failed);
                Outcome::Unsat
            }
            Status::UNKNOWN => Outcome::Stopped,
        }
    }

    /// After [`Outcome::Sat`]: whether a literal is true in the model; variables created since have their phase.
    pub fn value(&self, lit: Lit) -> bool {
        let var = lit.var().index();
        self.model.get(var).copied().unwrap_or(self.phases[var]) == lit.is_positive()
    }

    /// After [`Outcome::Unsat`]: assumptions that cannot hold together.
    pub fn failed(&self) -> &[Lit] {
        &self.failed
    }

    /// The number of conflicts in all searches so far.
    pub fn conflicts(&self) -> u64 {
        self.solver.get_statistic_value("conflicts").try_into().unwrap_or(0)
    }
}

impl<T: Theory + 'static> ClauseSink for Cadical<T> {
    fn new_var(&mut self) -> Var {
        Cadical::new_var(self)
    }

    fn add_clause(&mut self, lits: &[Lit]) {
        Cadical::add_clause(self, lits);
    }
}

/// Connects the theory with `CaDiCaL`'s callbacks.
struct Propagator<T> {
    theory: Rc<RefCell<T>>,
    /// The rest of the current lemma, last literal first.
    lemma: Vec<i32>,
}

impl<T: Theory> Propagator<T> {
    /// Whether a lemma is ready; asks the theory if not.
    fn find_lemma(&mut self) -> bool {
        if self.lemma.is_empty()
            && let Some(lemma) = self.theory.borrow_mut().lemma()
        {
            self.lemma.extend(lemma.iter().map(|&lit| lit.to_dimacs()));
        }
        !self.lemma.is_empty()
    }
}

impl<T: Theory> ExternalPropagator for Propagator<T> {
    fn notify_assignment(&mut self, lits: &[i32]) {
        let mut theory = self.theory.borrow_mut();
        for &number in lits {
            theory.assign(Lit::from_dimacs(number));
        }
    }

    fn notify_new_decision_level(&mut self) {
        self.theory.borrow_mut().open_level();
    }

    fn notify_backtrack(&mut self, new_level: usize) {
        self.theory.borrow_mut().backtrack(new_level);
    }

    fn cb_check_found_model(&mut self, _model: &[i32]) -> bool {
        !self.find_lemma()
    }

    fn cb_has_external_clause(&mut self, is_forgettable: &mut bool) -> bool {
        *is_forgettable = false;
        self.find_lemma()
    }

    fn cb_add_external_clause_lit(&mut self) -> i32 {
        // Zero ends the clause.
        self.lemma.pop().unwrap_or(0)
    }
}

/// The callback that asks whether to stop; set only during a search.
#[derive(Clone, Default)]
struct Stop(Rc<Cell<Option<Callback>>>);

type Callback = NonNull<dyn FnMut() -> bool>;

impl Stop {
    /// Sets the callback during a call, and clears it afterwards.
    fn during<R>(&self, callback: &mut dyn FnMut() -> bool, call: impl FnOnce() -> R) -> R {
        /// Clears the callback even if the call panics.
        struct Clear<'a>(&'a Cell<Option<Callback>>);
        impl Drop for Clear<'_> {
            fn drop(&mut self) {
                self.0.set(None);
            }
        }
        let callback: NonNull<dyn FnMut() -> bool + '_> = NonNull::from(callback);
        // SAFETY: The two types differ only in the lifetime of what is pointed to. The pointer is gone from the
        // cell before this function returns, and so before that lifetime ends.
        let callback =
            unsafe { std::mem::transmute::<NonNull<dyn FnMut() -> bool + '_>, Callback>(callback) };
        let _clear = Clear(&self.0);
        self.0.set(Some(callback));
        call()
    }
}

impl Terminator for Stop {
    fn terminated(&mut self) -> bool {
        let Some(mut callback) = self.0.take() else { return false };
        // SAFETY: A callback in the cell is borrowed mutably by the call of `during` that put it there and that
        // uses it for nothing but this. It is taken out while it is asked, so it is never asked within itself.
        let stop = unsafe { callback.as_mut()() };
        self.0.set(Some(callback));
        stop
    }
}

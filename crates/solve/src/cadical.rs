//! `CaDiCaL` as the SAT core, with the theory as its external propagator (IPASIR-UP: Fazekas and others, SAT 2023).
//!
//! Variable `v` is number `v + 1` over there. Watched variables are observed from the moment they are made, so that
//! they are never eliminated; plain variables may be, and are restored when a clause brings them back. Lemmas
//! are given as clauses that are not to be forgotten: cycles come back, and a search that forgets them meets
//! the same ones again.
//!
//! The solver calls the theory while it solves and at no other time hands out its callbacks, so the theory can be
//! shared in a cell. The caller's question whether to stop lives only as long as a call of `solve`, while the
//! solver wants a callback that lives as long as itself; `Stop` is the bridge.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::rc::Rc;

use cadical_sys::{CaDiCal, ExternalPropagator, Status, Terminator};

use crate::lit::Lit;
use crate::sat::{Answer, Sat, Theory};

pub(crate) struct Cadical<T> {
    solver: CaDiCal,
    theory: Rc<RefCell<T>>,
    stop: Stop,
    variables: u32,
    /// A clause on its way to the solver; kept to be used again.
    clause: Vec<i32>,
}

/// Options that differ from the solver's own choice.
const OPTIONS: [(&str, i32); 3] = [
    // Levels end in the reverse order of their beginning, as the theory expects.
    ("chrono", 0),
    // Assignments of all variables to one value are not lucky guesses here: they are orders tried in vain.
    ("lucky", 0),
    // The positive literal first.
    ("phase", 1),
];

impl<T: Theory + 'static> Sat<T> for Cadical<T> {
    fn new(theory: T) -> Self {
        let mut solver = CaDiCal::new();
        for (name, value) in OPTIONS {
            let known = solver.set(name, value);
            debug_assert!(known, "{name} is an option");
        }
        let theory = Rc::new(RefCell::new(theory));
        let stop = Stop::default();
        solver.connect_external_propagator(Propagator { theory: Rc::clone(&theory), lemma: Vec::new() });
        solver.connect_terminator(stop.clone());
        Cadical { solver, theory, stop, variables: 0, clause: Vec::new() }
    }

    fn theory(&self) -> impl Deref<Target = T> {
        let theory: Ref<'_, T> = self.theory.borrow();
        theory
    }

    fn theory_mut(&mut self) -> impl DerefMut<Target = T> {
        let theory: RefMut<'_, T> = self.theory.borrow_mut();
        theory
    }

    fn variable(&mut self, watched: bool) -> Lit {
        let lit = Lit::positive(self.variables);
        self.variables += 1;
        let number = self.solver.declare_one_more_variable();
        assert_eq!(number, number_of(lit), "variables are declared one after another");
        if watched {
            self.solver.add_observed_var(number);
        }
        lit
    }

    fn add_clause(&mut self, lits: &[Lit]) {
        self.clause.clear();
        self.clause.extend(lits.iter().map(|&lit| number_of(lit)));
        if self.clause.is_empty() {
            self.solver.add(0);
        } else {
            self.solver.clause6(&self.clause);
        }
    }

    fn solve(&mut self, assumptions: &[Lit], stop: &mut dyn FnMut() -> bool) -> Answer {
        if stop() {
            return Answer::Stopped;
        }
        for &lit in assumptions {
            self.solver.assume(number_of(lit));
        }
        let solver = &mut self.solver;
        match self.stop.during(stop, || solver.solve()) {
            Status::SATISFIABLE => Answer::Order,
            Status::UNSATISFIABLE => Answer::Contradiction,
            Status::UNKNOWN => Answer::Stopped,
        }
    }

    fn value(&mut self, lit: Lit) -> bool {
        self.solver.val(number_of(lit)) > 0
    }

    fn failed(&mut self, assumption: Lit) -> bool {
        self.solver.failed(number_of(assumption))
    }

    fn conflicts(&self) -> u64 {
        self.solver.get_statistic_value("conflicts").try_into().unwrap_or(0)
    }
}

/// The solver's number of a literal.
fn number_of(lit: Lit) -> i32 {
    let number = lit.variable().cast_signed() + 1;
    if lit.is_positive() { number } else { -number }
}

/// The literal of a solver's number.
fn literal_of(number: i32) -> Lit {
    Lit::positive(number.unsigned_abs() - 1).negated_if(number < 0)
}

/// Passes on what the solver tells and asks.
struct Propagator<T> {
    theory: Rc<RefCell<T>>,
    /// What is still to be handed over of a lemma, last literal first.
    lemma: Vec<i32>,
}

impl<T: Theory> Propagator<T> {
    /// Whether a lemma is ready; asks the theory if not.
    fn find_lemma(&mut self) -> bool {
        if self.lemma.is_empty()
            && let Some(lemma) = self.theory.borrow_mut().conflict()
        {
            self.lemma.extend(lemma.iter().map(|&lit| number_of(lit)));
        }
        !self.lemma.is_empty()
    }
}

impl<T: Theory> ExternalPropagator for Propagator<T> {
    fn notify_assignment(&mut self, lits: &[i32]) {
        let mut theory = self.theory.borrow_mut();
        for &number in lits {
            theory.assign(literal_of(number));
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

/// The question whether to stop, while there is one.
#[derive(Clone, Default)]
struct Stop(Rc<Cell<Option<Question>>>);

type Question = NonNull<dyn FnMut() -> bool>;

impl Stop {
    /// Asks this question during a call, and none afterwards.
    fn during<R>(&self, question: &mut dyn FnMut() -> bool, call: impl FnOnce() -> R) -> R {
        /// Forgets the question however the call ends.
        struct Forget<'a>(&'a Cell<Option<Question>>);
        impl Drop for Forget<'_> {
            fn drop(&mut self) {
                self.0.set(None);
            }
        }
        let question: NonNull<dyn FnMut() -> bool + '_> = NonNull::from(question);
        // SAFETY: The two types differ only in the lifetime of what is pointed to. The pointer is gone from the
        // cell before this function returns, and so before that lifetime ends.
        let question =
            unsafe { std::mem::transmute::<NonNull<dyn FnMut() -> bool + '_>, Question>(question) };
        let _forget = Forget(&self.0);
        self.0.set(Some(question));
        call()
    }
}

impl Terminator for Stop {
    fn terminated(&mut self) -> bool {
        let Some(mut question) = self.0.take() else { return false };
        // SAFETY: A question in the cell is borrowed mutably by the call of `during` that put it there and that
        // uses it for nothing but this. It is taken out while it is asked, so it is never asked within itself.
        let stop = unsafe { question.as_mut()() };
        self.0.set(Some(question));
        stop
    }
}

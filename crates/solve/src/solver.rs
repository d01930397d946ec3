//! A SAT solver with a theory inside: conflict-driven clause learning, CDCL(T) (Marques-Silva and Sakallah 1996; Eén and
//! Sörensson 2003).
//!
//! The search assigns literals on a *trail*, which is divided into *levels*: one for each assumption and each decision.
//! `propagate.rs` draws the conclusions of an assignment. A conflict becomes a learned clause (`analyse.rs`, `minimise.rs`), and the search
//! goes back to the level where this clause implies a literal. Decisions follow the activity of variables
//! (`vsids.rs`) or repair what the theory prefers (`repair.rs`). The search restarts now and then (`restart.rs`), and forgets
//! the learned clauses that linked the most levels (`arena.rs`).
//!
//! A literal that was learned to hold always (a *fact*) does not send the search back to level 0. It is put back
//! on the trail whenever it was undone, until the search reaches level 0.
//!
//! Invariants. The level of a variable is that of the part of the trail it stands in, or 0 for a fact. The variables of
//! a reason stand before the literal it implies. The first two literals of a clause are watched, and no clause
//! is false when all conclusions are drawn. Between searches the level is 0.

use crate::lit::{Lit, Var};
use crate::outcome::{Budget, Outcome};
use crate::theory::{NoTheory, Theory};
use arena::{Arena, Clause, Kind};
use propagate::Watch;
use restart::Restarts;
use vsids::Vsids;

mod analyse;
mod arena;
mod minimise;
mod propagate;
mod repair;
mod restart;
mod vsids;

/// An incremental SAT solver with assumptions, generic over a theory.
///
/// ```
/// use isoscope_solve::{Outcome, Solver};
///
/// let mut solver = Solver::new();
/// let [tea, coffee, milk] = [(); 3].map(|()| solver.new_var().positive());
/// solver.add_clause(&[tea, coffee]);
/// solver.add_clause(&[!coffee, milk]);
/// assert_eq!(solver.solve(&[!tea]), Outcome::Sat);
/// assert!(solver.value(milk));
///
/// // Clauses and variables can be added between searches. Assumptions hold for one search.
/// let sugar = solver.new_var().positive();
/// solver.add_clause(&[!milk, sugar]);
/// assert_eq!(solver.solve(&[!sugar, milk, !tea]), Outcome::Unsat);
/// // A core: assumptions that cannot hold together.
/// assert!(solver.failed().len() == 2 && solver.failed().contains(&!sugar));
/// assert_eq!(solver.solve(&[!sugar]), Outcome::Sat);
/// assert!(solver.value(tea));
/// ```
pub struct Solver<T = NoTheory> {
    theory: T,
    arena: Arena,
    /// For each literal: the clauses to visit when it becomes false.
    watches: Vec<Vec<Watch>>,
    /// For each literal.
    values: Vec<Value>,
    /// For each variable: where it was assigned and why.
    places: Vec<Place>,
    variables: Vec<Variable>,
    default_phase: bool,
    theory_variables: usize,
    vsids: Vsids,
    trail: Vec<Lit>,
    /// The length of the trail when each level above 0 was opened.
    levels: Vec<u32>,
    /// How much of the trail was propagated, and reported to the theory.
    propagated: usize,
    reported: usize,
    /// Facts that were found above level 0.
    facts: Vec<Lit>,
    /// No assignment satisfies the clauses.
    contradiction: bool,
    /// The value of each variable, if the last search found a model.
    model: Option<Vec<bool>>,
    failed: Vec<Lit>,
    conflicts: u64,
    restarts: Restarts,
    /// How many removable clauses there may be before half of them are removed.
    room: usize,
    /// The clause where the last decision was made, if decisions are repairs.
    cursor: Option<Clause>,
    /// The conflict, and then the clause learned from it.
    learned: Vec<Lit>,
    /// For each variable: what the current analysis knows about it.
    marks: Vec<minimise::Mark>,
    minimise: minimise::Search,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Open,
    True,
    False,
}

#[derive(Clone, Copy)]
struct Variable {
    /// The value to try first, which becomes the last value it had.
    phase: bool,
    /// Whether the theory is informed of it.
    in_theory: bool,
}

#[derive(Clone, Copy)]
struct Place {
    level: u32,
    reason: Option<Clause>,
}

/// A clause that is false.
#[derive(Clone, Copy)]
enum Conflict {
    Clause(Clause),
    /// A lemma of the theory, in `learned`.
    Lemma,
}

/// The budget is asked whether to stop once in this number of decisions and conflicts.
const PATIENCE: u32 = 32;
/// How many removable clauses there may be at first.
const ROOM: usize = 4_000;

impl Solver {
    /// A solver without a theory.
    pub fn new() -> Solver {
        Solver::with_theory(NoTheory)
    }
}

impl Default for Solver {
    fn default() -> Solver {
        Solver::new()
    }
}

impl<T: Theory> Solver<T> {
    /// A solver with a theory.
    pub fn with_theory(theory: T) -> Solver<T> {
        Solver {
            theory,
            arena: Arena::default(),
            watches: Vec::new(),
            values: Vec::new(),
            places: Vec::new(),
            variables: Vec::new(),
            default_phase: false,
            theory_variables: 0,
            vsids: Vsids::default(),
            trail: Vec::new(),
            levels: Vec::new(),
            propagated: 0,
            reported: 0,
            facts: Vec::new(),
            contradiction: false,
            model: None,
            failed: Vec::new(),
            conflicts: 0,
            restarts: Restarts::default(),
            room: ROOM,
            cursor: None,
            learned: Vec::new(),
            marks: Vec::new(),
            minimise: minimise::Search::default(),
        }
    }

    /// The theory.
    pub fn theory(&self) -> &T {
        &self.theory
    }

    /// The theory, to give meaning to variables between searches.
    pub fn theory_mut(&mut self) -> &mut T {
        &mut self.theory
    }

    /// A new variable without a meaning in the theory.
    pub fn new_var(&mut self) -> Var {
        let var = Var::new(self.places.len());
        self.places.push(Place { level: 0, reason: None });
        self.variables.push(Variable { phase: self.default_phase, in_theory: false });
        self.values.extend([Value::Open; 2]);
        self.watches.extend([Vec::new(), Vec::new()]);
        self.marks.push(minimise::Mark::None);
        self.vsids.add_variable();
        if !T::COMPLETES {
            self.vsids.insert(var);
        }
        var
    }

    /// A new variable that the theory is informed of. Give it a meaning in the theory before the next search.
    pub fn new_theory_var(&mut self) -> Var {
        let var = self.new_var();
        self.variables[var.index()].in_theory = true;
        self.theory_variables += 1;
        var
    }

    /// The number of variables.
    pub fn vars(&self) -> usize {
        self.places.len()
    }

    /// The value that a search tries first for a variable. Searches replace it by the last value they tried.
    pub fn phase(&self, var: Var) -> bool {
        self.variables[var.index()].phase
    }

    /// Sets the value that the next search tries first for a variable.
    pub fn set_phase(&mut self, var: Var, phase: bool) {
        self.variables[var.index()].phase = phase;
    }

    /// Sets the phase of all variables, those of now and those created later. At first it is `false`.
    pub fn set_default_phase(&mut self, phase: bool) {
        self.default_phase = phase;
        self.variables.iter_mut().for_each(|variable| variable.phase = phase);
    }

    /// Adds a clause: at least one of the literals must be true.
    pub fn add_clause(&mut self, lits: &[Lit]) {
        debug_assert!(self.levels.is_empty(), "clauses are added between searches");
        let mut clause: Vec<Lit> = lits.to_vec();
        clause.sort_unstable();
        clause.dedup();
        let tautology = clause.windows(2).any(|two| two[0] == !two[1]);
        if tautology || clause.iter().any(|&lit| self.value_of(lit) == Value::True) {
            return;
        }
        clause.retain(|&lit| self.value_of(lit) == Value::Open);
        match clause[..] {
            [] => self.contradiction = true,
            [lit] => self.assign(lit, None),
            _ => {
                self.attach(&clause, Kind::Problem);
            }
        }
    }

    /// Searches for a model under assumptions, which hold for this search only.
    pub fn solve(&mut self, assumptions: &[Lit]) -> Outcome {
        self.solve_within(assumptions, Budget::default())
    }

    /// Searches for a model under assumptions until the budget is used up.
    pub fn solve_within(&mut self, assumptions: &[Lit], mut budget: Budget<'_>) -> Outcome {
        self.failed.clear();
        self.model = None;
        if budget.is_stopped() {
            return Outcome::Stopped;
        }
        let outcome = self.search(assumptions, budget);
        if outcome == Outcome::Sat {
            let vars = 0..self.places.len();
            self.model = Some(vars.map(|var| self.is_likely(Var::new(var).positive())).collect());
        }
        self.backtrack(0);
        outcome
    }

    /// After [`Outcome::Sat`]: whether a literal is true in the model. The model stays until the next search; variables
    /// created since have their phase.
    ///
    /// # Panics
    ///
    /// If the last search did not find a model.
    pub fn value(&self, lit: Lit) -> bool {
        let var = lit.var();
        let model = self.model.as_ref().expect("the last search found a model");
        model.get(var.index()).copied().unwrap_or_else(|| self.phase(var)) == lit.is_positive()
    }

    /// After [`Outcome::Unsat`]: assumptions that cannot hold together with the clauses. The list is empty if the
    /// clauses are unsatisfiable without assumptions.
    pub fn failed(&self) -> &[Lit] {
        &self.failed
    }

    /// The number of conflicts in all searches so far. Lemmas that imply a literal directly do not count.
    pub fn conflicts(&self) -> u64 {
        self.conflicts
    }

    /// The clauses that the user added, without those that always hold, and the facts found so far as unit clauses.
    pub fn clauses(&self) -> impl Iterator<Item = &[Lit]> {
        let facts = self.trail.chunks(1);
        let problem = self.arena.clauses().filter(|&clause| self.arena.is_problem(clause));
        let open = problem.map(|clause| self.arena.lits(clause));
        let open = open.filter(|lits| !lits.iter().any(|&lit| self.value_of(lit) == Value::True));
        let contradiction = self.contradiction.then_some(&[][..]);
        contradiction.into_iter().chain(facts).chain(open)
    }

    #[inline]
    fn value_of(&self, lit: Lit) -> Value {
        self.values[lit.index()]
    }

    #[inline]
    fn level_of(&self, lit: Lit) -> u32 {
        self.places[lit.var().index()].level
    }

    fn search(&mut self, assumptions: &[Lit], mut budget: Budget<'_>) -> Outcome {
        let mut patience = PATIENCE;
        while !self.contradiction {
            patience -= 1;
            if patience == 0 {
                if budget.is_stopped() {
                    return Outcome::Stopped;
                }
                patience = PATIENCE;
            }
            if let Some(conflict) = self.draw_conclusions() {
                self.learn_from(conflict);
                if let Some(conflicts) = &mut budget.conflicts
                    && !self.contradiction
                {
                    let Some(fewer) = conflicts.checked_sub(1) else { return Outcome::Stopped };
                    *conflicts = fewer;
                }
            } else if self.restarts.is_due() || self.arena.removable() > self.room {
                self.restarts.restarted();
                self.backtrack(0);
                if self.arena.removable() > self.room {
                    self.reduce();
                }
            } else if let Some(&assumption) = assumptions.get(self.levels.len()) {
                if self.value_of(assumption) == Value::False {
                    self.blame(assumption);
                    return Outcome::Unsat;
                }
                self.open_level();
                if self.value_of(assumption) == Value::Open {
                    self.assign(assumption, None);
                }
            } else if let Some(decision) = self.decide() {
                self.open_level();
                self.assign(decision, None);
            } else {
                return Outcome::Sat;
            }
        }
        Outcome::Unsat
    }

    /// The next literal to try; `None` if the assignment, completed by the likely values, is a model.
    fn decide(&mut self) -> Option<Lit> {
        if T::COMPLETES {
            return self.repair();
        }
        loop {
            let lit = self.vsids.pop()?.positive();
            if self.value_of(lit) == Value::Open {
                return Some(lit.negated_if(!self.is_likely(lit)));
            }
        }
    }

    /// Whether a literal is true if every open variable has the value that would be tried first.
    #[inline]
    fn is_likely(&self, lit: Lit) -> bool {
        match self.value_of(lit) {
            Value::True => true,
            Value::False => false,
            Value::Open => {
                let Variable { phase, in_theory } = self.variables[lit.var().index()];
                if in_theory { self.theory.prefers(lit) } else { phase == lit.is_positive() }
            }
        }
    }

    fn open_level(&mut self) {
        self.levels.push(self.trail.len() as u32);
        self.theory.open_level();
    }

    #[inline]
    fn assign(&mut self, lit: Lit, reason: Option<Clause>) {
        self.values[lit.index()] = Value::True;
        self.values[(!lit).index()] = Value::False;
        self.places[lit.var().index()] = Place { level: self.levels.len() as u32, reason };
        self.trail.push(lit);
    }

    /// Undoes everything above a level, and puts the facts back.
    fn backtrack(&mut self, level: u32) {
        let Some(&start) = self.levels.get(level as usize) else { return };
        self.levels.truncate(level as usize);
        for place in (start as usize..self.trail.len()).rev() {
            let lit = self.trail[place];
            self.values[lit.index()] = Value::Open;
            self.values[(!lit).index()] = Value::Open;
            self.variables[lit.var().index()].phase = lit.is_positive();
            if !T::COMPLETES {
                self.vsids.insert(lit.var());
            }
        }
        self.trail.truncate(start as usize);
        self.propagated = self.trail.len();
        self.reported = self.trail.len();
        self.theory.backtrack(level as usize);
        let facts = std::mem::take(&mut self.facts);
        for &fact in &facts {
            if self.value_of(fact) == Value::Open {
                self.assign(fact, None);
                self.places[fact.var().index()].level = 0;
            }
        }
        if level > 0 {
            self.facts = facts;
        }
    }

    /// Propagates, and asks the theory when nothing is left to propagate.
    fn draw_conclusions(&mut self) -> Option<Conflict> {
        if let Some(clause) = self.propagate() {
            return Some(Conflict::Clause(clause));
        }
        if self.theory_variables == 0 {
            return None;
        }
        for &lit in &self.trail[self.reported..] {
            if self.variables[lit.var().index()].in_theory {
                self.theory.assign(lit);
            }
        }
        self.reported = self.trail.len();
        let lemma = self.theory.lemma()?;
        self.learned.clear();
        self.learned.extend_from_slice(lemma);
        Some(Conflict::Lemma)
    }

    /// Removes the worse half of the removable clauses, and all clauses that always hold. On level 0, where no
    /// reason is needed again.
    fn reduce(&mut self) {
        let values = &self.values;
        self.arena.reduce(|lits| lits.iter().any(|lit| values[lit.index()] == Value::True));
        self.watch_all();
        self.trail.iter().for_each(|lit| self.places[lit.var().index()].reason = None);
        self.cursor = None;
        self.room += ROOM / 8;
    }
}

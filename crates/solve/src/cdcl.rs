//! A SAT core of our own: conflict-driven clause learning (Marques-Silva and Sakallah 1996; Eén and Sörensson 2003)
//! with a theory inside.
//!
//! What is usual: two watched literals a clause, learning to the first unique implication point, activities that
//! decay, Luby restarts, and forgetting the learned clauses that link the most levels.
//!
//! What is not: *only what is wrong is decided.* The theory prefers, at every moment, one value of each of its variables:
//! a theory of orders keeps an order, and prefers what it says. Taking every open variable as preferred gives an
//! assignment the theory agrees with, so when all clauses hold in it the search is over, however many variables are
//! open. A clause that does not hold is where the next decision is made: the literal of it that asks the least change
//! of the theory, and of equals the one that was most active in conflicts. (The other way round, one question of
//! 1,000 nodes took more than 12 seconds instead of 0.1.) So the search repairs an order,
//! and learns where repairs fail; most pairs are never decided. The order also remembers, across restarts and
//! searches, what saved phases would.
//!
//! Only clauses that were asked for have to be looked at: the others follow from them and from the theory.
//!
//! A literal that turns out to hold always does not send the search back to level 0, to do all over again; it is put
//! back on the trail every time it was undone, until level 0 is reached and it is there to stay.
//!
//! Invariants. A variable's level is that of the part of the trail it stands in, or 0 if its value always
//! holds. The variables of a reason stand before what it implies. The first two literals of a clause are watched,
//! and when all conclusions are drawn no clause is false. Outside of a search the level is 0.

use std::cmp::Reverse;
use std::ops::{Deref, DerefMut};

use crate::cdcl::activity::Activity;
use crate::cdcl::arena::{Arena, Clause, Kind};
use crate::lit::Lit;
use crate::sat::{Answer, Sat, Theory};

mod activity;
mod arena;

pub(crate) struct Cdcl<T> {
    theory: T,
    arena: Arena,
    /// For each literal: the clauses that watch it, to be looked at when it becomes false.
    watches: Vec<Vec<Watch>>,
    /// For each literal.
    values: Vec<Value>,
    variables: Vec<Variable>,
    activity: Activity,
    trail: Vec<Lit>,
    /// How long the trail was when each level above 0 was opened.
    levels: Vec<u32>,
    /// How much of the trail was propagated, and told to the theory.
    propagated: usize,
    told: usize,
    /// Literals that always hold and were found above level 0.
    facts: Vec<Lit>,
    /// No assignment satisfies the clauses.
    contradiction: bool,
    model: Vec<bool>,
    failed: Vec<Lit>,
    conflicts: u64,
    /// How many learned clauses there may be before some are forgotten.
    room: usize,
    /// Where to look for the next clause that does not hold.
    cursor: usize,
    learned: Vec<Lit>,
    seen: Vec<bool>,
}

#[derive(Clone, Copy)]
struct Watch {
    clause: Clause,
    /// Another literal of the clause: if it holds, there is nothing to do.
    other: Lit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Open,
    True,
    False,
}

#[derive(Clone, Copy)]
struct Variable {
    watched: bool,
    /// What to try first, if the theory does not know better.
    phase: bool,
    level: u32,
    reason: Option<Clause>,
}

/// Conflicts in the shortest run of a search.
const RUN: u64 = 128;
/// The caller is asked whether to stop once in so many decisions and conflicts.
const PATIENCE: u32 = 32;
/// How many learned clauses there may be at first.
const ROOM: usize = 4_000;

impl<T: Theory> Sat<T> for Cdcl<T> {
    fn new(theory: T) -> Self {
        Cdcl {
            theory,
            arena: Arena::default(),
            watches: Vec::new(),
            values: Vec::new(),
            variables: Vec::new(),
            activity: Activity::default(),
            trail: Vec::new(),
            levels: Vec::new(),
            propagated: 0,
            told: 0,
            facts: Vec::new(),
            contradiction: false,
            model: Vec::new(),
            failed: Vec::new(),
            conflicts: 0,
            room: ROOM,
            cursor: 0,
            learned: Vec::new(),
            seen: Vec::new(),
        }
    }

    fn theory(&self) -> impl Deref<Target = T> {
        &self.theory
    }

    fn theory_mut(&mut self) -> impl DerefMut<Target = T> {
        &mut self.theory
    }

    fn variable(&mut self, watched: bool) -> Lit {
        let lit = Lit::positive(self.variables.len() as u32);
        self.variables.push(Variable { watched, phase: true, level: 0, reason: None });
        self.values.extend([Value::Open; 2]);
        self.watches.extend([Vec::new(), Vec::new()]);
        self.seen.push(false);
        self.activity.add_variable();
        lit
    }

    fn add_clause(&mut self, lits: &[Lit]) {
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
                self.attach(&clause, Kind::Question);
            }
        }
    }

    fn solve(&mut self, assumptions: &[Lit], stop: &mut dyn FnMut() -> bool) -> Answer {
        self.failed.clear();
        if stop() {
            return Answer::Stopped;
        }
        let answer = self.search(assumptions, stop);
        if answer == Answer::Order {
            let variables = 0..self.variables.len() as u32;
            self.model = variables.map(|variable| self.is_likely(Lit::positive(variable))).collect();
        }
        self.backtrack(0);
        answer
    }

    fn value(&mut self, lit: Lit) -> bool {
        self.model[lit.variable() as usize] == lit.is_positive()
    }

    fn failed(&mut self, assumption: Lit) -> bool {
        self.failed.contains(&assumption)
    }

    fn conflicts(&self) -> u64 {
        self.conflicts
    }
}

impl<T: Theory> Cdcl<T> {
    #[inline]
    fn value_of(&self, lit: Lit) -> Value {
        self.values[lit.index()]
    }

    fn level_of(&self, lit: Lit) -> u32 {
        self.variables[lit.variable() as usize].level
    }

    fn level(&self) -> u32 {
        self.levels.len() as u32
    }

    fn search(&mut self, assumptions: &[Lit], stop: &mut dyn FnMut() -> bool) -> Answer {
        let mut runs = 0;
        let mut left = RUN;
        let mut patience = PATIENCE;
        while !self.contradiction {
            patience -= 1;
            if patience == 0 {
                if stop() {
                    return Answer::Stopped;
                }
                patience = PATIENCE;
            }
            if let Some(conflict) = self.draw_conclusions() {
                let before = self.conflicts;
                self.learn_from(conflict);
                left = left.saturating_sub(self.conflicts - before);
            } else if left == 0 {
                runs += 1;
                left = RUN * luby(runs);
                self.backtrack(0);
                if self.arena.learned() > self.room {
                    self.forget();
                }
            } else if let Some(&assumption) = assumptions.get(self.levels.len()) {
                if self.value_of(assumption) == Value::False {
                    self.blame(assumption);
                    return Answer::Contradiction;
                }
                self.open_level();
                if self.value_of(assumption) == Value::Open {
                    self.assign(assumption, None);
                }
            } else if let Some(decision) = self.decide() {
                self.open_level();
                self.assign(decision, None);
            } else {
                return Answer::Order;
            }
        }
        Answer::Contradiction
    }

    /// A literal of a clause that does not hold, if what is open is taken as preferred; `None` if all clauses hold.
    fn decide(&mut self) -> Option<Lit> {
        for _ in 0..self.arena.len() {
            self.cursor = (self.cursor + 1) % self.arena.len();
            let Some(lits) = self.arena.question(self.cursor) else { continue };
            if !lits.iter().any(|&lit| self.is_likely(lit)) {
                let open = lits.iter().copied().filter(|&lit| self.value_of(lit) == Value::Open);
                return open.max_by(|&a, &b| {
                    let near = self.distance(b).cmp(&self.distance(a));
                    near.then_with(|| self.activity.compare(a.variable(), b.variable()))
                });
            }
        }
        None
    }

    /// Whether a literal holds, if what is open is taken as preferred.
    fn is_likely(&self, lit: Lit) -> bool {
        match self.value_of(lit) {
            Value::True => true,
            Value::False => false,
            Value::Open => {
                let variable = self.variables[lit.variable() as usize];
                if variable.watched { self.theory.prefers(lit) } else { variable.phase == lit.is_positive() }
            }
        }
    }

    fn distance(&self, lit: Lit) -> u32 {
        if self.variables[lit.variable() as usize].watched { self.theory.distance(lit) } else { 0 }
    }

    fn open_level(&mut self) {
        self.levels.push(self.trail.len() as u32);
        self.theory.open_level();
    }

    fn assign(&mut self, lit: Lit, reason: Option<Clause>) {
        self.values[lit.index()] = Value::True;
        self.values[(!lit).index()] = Value::False;
        let level = self.level();
        let variable = &mut self.variables[lit.variable() as usize];
        variable.level = level;
        variable.reason = reason;
        self.trail.push(lit);
    }

    /// Undoes all above a level, and puts back what always holds.
    fn backtrack(&mut self, level: u32) {
        let Some(&start) = self.levels.get(level as usize) else { return };
        self.levels.truncate(level as usize);
        while self.trail.len() > start as usize {
            let Some(lit) = self.trail.pop() else { break };
            self.values[lit.index()] = Value::Open;
            self.values[(!lit).index()] = Value::Open;
            self.variables[lit.variable() as usize].phase = lit.is_positive();
        }
        self.propagated = self.trail.len();
        self.told = self.trail.len();
        self.theory.backtrack(level as usize);
        let facts = std::mem::take(&mut self.facts);
        for &fact in &facts {
            if self.value_of(fact) == Value::Open {
                self.assign(fact, None);
                self.variables[fact.variable() as usize].level = 0;
            }
        }
        if level > 0 {
            self.facts = facts;
        }
    }

    /// Propagates, and asks the theory when there is nothing to propagate. The conflict is a clause that is false.
    fn draw_conclusions(&mut self) -> Option<Conflict> {
        if let Some(clause) = self.propagate() {
            return Some(Conflict::Clause(clause));
        }
        for &lit in &self.trail[self.told..] {
            if self.variables[lit.variable() as usize].watched {
                self.theory.assign(lit);
            }
        }
        self.told = self.trail.len();
        let lemma = self.theory.conflict()?;
        self.learned.clear();
        self.learned.extend_from_slice(lemma);
        Some(Conflict::Lemma)
    }

    fn propagate(&mut self) -> Option<Clause> {
        while let Some(&lit) = self.trail.get(self.propagated) {
            self.propagated += 1;
            let mut watches = std::mem::take(&mut self.watches[(!lit).index()]);
            let conflict = self.visit(!lit, &mut watches);
            self.watches[(!lit).index()] = watches;
            if conflict.is_some() {
                return conflict;
            }
        }
        None
    }

    /// Looks at the clauses that watch a literal, now false. Those that find another to watch leave the list.
    fn visit(&mut self, falsified: Lit, watches: &mut Vec<Watch>) -> Option<Clause> {
        let mut conflict = None;
        let (mut next, mut kept) = (0, 0);
        'clauses: while let Some(&watch) = watches.get(next) {
            next += 1;
            watches[kept] = watch;
            kept += 1;
            if self.values[watch.other.index()] == Value::True {
                continue;
            }
            let lits = self.arena.lits_mut(watch.clause);
            if lits[0] == falsified {
                lits.swap(0, 1);
            }
            let other = lits[0];
            let watch = Watch { clause: watch.clause, other };
            watches[kept - 1] = watch;
            match self.values[other.index()] {
                Value::True => continue,
                value => {
                    let values = &self.values;
                    let free = lits[2..].iter().position(|lit| values[lit.index()] != Value::False);
                    if let Some(free) = free {
                        lits.swap(1, free + 2);
                        self.watches[lits[1].index()].push(watch);
                        kept -= 1;
                        continue 'clauses;
                    }
                    if value == Value::False {
                        conflict = Some(watch.clause);
                        break;
                    }
                }
            }
            self.assign(other, Some(watch.clause));
        }
        watches.drain(kept..next);
        conflict
    }

    /// Adds a clause of at least two literals, of which the first two are watched.
    fn attach(&mut self, lits: &[Lit], kind: Kind) -> Clause {
        let clause = self.arena.add(lits, kind);
        self.watches[lits[0].index()].push(Watch { clause, other: lits[1] });
        self.watches[lits[1].index()].push(Watch { clause, other: lits[0] });
        clause
    }

    /// Makes a conflict impossible to happen again, and goes back to where it is not one.
    fn learn_from(&mut self, conflict: Conflict) {
        if let Conflict::Clause(clause) = conflict {
            self.learned.clear();
            self.learned.extend_from_slice(self.arena.lits(clause));
        }
        let variables = &self.variables;
        let level_of = |lit: &Lit| variables[lit.variable() as usize].level;
        self.learned.retain(|lit| level_of(lit) > 0);
        let Some(level) = self.learned.iter().map(level_of).max() else {
            self.contradiction = true;
            return;
        };
        self.learned.sort_unstable_by_key(|lit| Reverse(level_of(lit)));
        let known = match conflict {
            Conflict::Clause(clause) => Some(clause),
            Conflict::Lemma => None,
        };
        // Something that always holds, put back late, can show a conflict of an earlier level.
        self.backtrack(level);
        let single = self.learned.get(1).is_none_or(|&lit| self.level_of(lit) < level);
        if single {
            self.conclude(known, Kind::Lemma);
        } else {
            if known.is_none() {
                let lemma = std::mem::take(&mut self.learned);
                self.attach(&lemma, Kind::Lemma);
                self.learned = lemma;
            }
            let glue = self.analyse(level);
            self.conclude(None, Kind::Learned(glue));
        }
    }

    /// Replaces the conflict in `learned` by a clause that follows from the clauses and has one literal of the
    /// conflict's level, the first; the second is of the next highest level. Returns how many levels there are.
    fn analyse(&mut self, level: u32) -> u32 {
        self.conflicts += 1;
        let conflict = std::mem::take(&mut self.learned);
        let mut open = 0;
        let mut clause = Vec::new();
        for &lit in &conflict {
            self.resolve(lit, level, &mut open, &mut clause);
        }
        let mut end = self.trail.len();
        let asserted = loop {
            end -= 1;
            let lit = self.trail[end];
            if !std::mem::replace(&mut self.seen[lit.variable() as usize], false) {
                continue;
            }
            open -= 1;
            if open == 0 {
                break !lit;
            }
            let reason = self.variables[lit.variable() as usize].reason;
            let reason = reason.expect("of two literals of a level one is no decision");
            for place in 0..self.arena.lits(reason).len() {
                let other = self.arena.lits(reason)[place];
                if other != lit {
                    self.resolve(other, level, &mut open, &mut clause);
                }
            }
        };
        self.activity.decay();
        let needed: Vec<bool> = clause.iter().map(|&lit| !self.follows(lit)).collect();
        for lit in &clause {
            self.seen[lit.variable() as usize] = false;
        }
        self.learned.push(asserted);
        self.learned.extend(clause.iter().zip(needed).filter(|&(_, needed)| needed).map(|(&lit, _)| lit));
        let variables = &self.variables;
        let level_of = |lit: &Lit| variables[lit.variable() as usize].level;
        self.learned.sort_unstable_by_key(|lit| Reverse(level_of(lit)));
        self.learned.chunk_by(|a, b| level_of(a) == level_of(b)).count() as u32
    }

    /// Takes a false literal into the analysis: one of the level is to be resolved, one below stays.
    fn resolve(&mut self, lit: Lit, level: u32, open: &mut u32, clause: &mut Vec<Lit>) {
        let of = self.level_of(lit);
        if of > 0 && !std::mem::replace(&mut self.seen[lit.variable() as usize], true) {
            self.activity.bump(lit.variable());
            if of == level {
                *open += 1;
            } else {
                clause.push(lit);
            }
        }
    }

    /// Whether a false literal follows from others that are seen.
    fn follows(&self, lit: Lit) -> bool {
        self.variables[lit.variable() as usize].reason.is_some_and(|reason| {
            let settled = |&other: &Lit| self.seen[other.variable() as usize] || self.level_of(other) == 0;
            self.arena.lits(reason).iter().filter(|&&other| other != !lit).all(settled)
        })
    }

    /// Goes back so that the first literal of the clause in `learned` is open and the others are false, and assigns it.
    /// The clause may be one that exists.
    fn conclude(&mut self, existing: Option<Clause>, kind: Kind) {
        let learned = std::mem::take(&mut self.learned);
        let below = self.level_of(learned[0]) - 1;
        if let Some(&second) = learned.get(1) {
            self.backtrack(self.level_of(second));
            let reason = existing.unwrap_or_else(|| self.attach(&learned, kind));
            self.assign(learned[0], Some(reason));
        } else {
            self.backtrack(below);
            self.assign(learned[0], None);
            self.variables[learned[0].variable() as usize].level = 0;
            if below > 0 {
                self.facts.push(learned[0]);
            }
        }
        self.learned = learned;
    }

    /// Finds the assumptions that make one of them false. All decisions so far are assumptions.
    fn blame(&mut self, assumption: Lit) {
        self.failed.push(assumption);
        let mut open = u32::from(self.level_of(assumption) > 0);
        if open > 0 {
            self.seen[assumption.variable() as usize] = true;
        }
        let mut end = self.trail.len();
        while open > 0 {
            end -= 1;
            let lit = self.trail[end];
            if !std::mem::replace(&mut self.seen[lit.variable() as usize], false) {
                continue;
            }
            open -= 1;
            let Some(reason) = self.variables[lit.variable() as usize].reason else {
                self.failed.push(lit);
                continue;
            };
            for &other in self.arena.lits(reason) {
                let variable = other.variable() as usize;
                if other != lit && self.variables[variable].level > 0 {
                    open += u32::from(!std::mem::replace(&mut self.seen[variable], true));
                }
            }
        }
    }

    /// Forgets the worse half of the learned clauses, and all that always hold. On level 0, where no reason matters.
    fn forget(&mut self) {
        let values = &self.values;
        self.arena.forget(|lits| lits.iter().any(|lit| values[lit.index()] == Value::True));
        self.watches.iter_mut().for_each(Vec::clear);
        for clause in self.arena.clauses() {
            if let [first, second, ..] = *self.arena.lits(clause) {
                self.watches[first.index()].push(Watch { clause, other: second });
                self.watches[second.index()].push(Watch { clause, other: first });
            }
        }
        self.trail.iter().for_each(|lit| self.variables[lit.variable() as usize].reason = None);
        self.room += ROOM / 8;
    }
}

/// What cannot be.
#[derive(Clone, Copy)]
enum Conflict {
    /// A clause that is false.
    Clause(Clause),
    /// A clause of the theory that is false, in `learned`.
    Lemma,
}

/// The sequence 1, 1, 2, 1, 1, 2, 4, and so on (Luby, Sinclair and Zuckerman 1993), counted from 1.
fn luby(mut index: u64) -> u64 {
    loop {
        let power = (index + 1).next_power_of_two();
        if power == index + 1 {
            return power / 2;
        }
        index -= power / 2 - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::luby;

    #[test]
    fn runs_are_those_of_luby() {
        let runs: Vec<u64> = (1..=15).map(luby).collect();
        assert_eq!(runs, [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
    }
}

//! Learns from a conflict a clause with one literal of the conflict's level (first unique implication point).
//!
//! The conflict is a false clause. Its literals of the highest level are resolved with their reasons, last
//! assigned first, until one is left. The resulting clause is false now and implies that literal once the
//! search has gone back to the second highest level in it. `minimise.rs` then removes the literals that
//! follow from the others.
//!
//! A lemma with a single literal of the highest level already is such a clause. It does not change the
//! activity of variables: counting such lemmas as conflicts slowed another solver down by a factor of a
//! hundred.
//!
//! The same walk back along the reasons finds the assumptions that make another assumption false: the UNSAT
//! core.
//!
//! Invariant: between analyses no variable has a mark.

use std::cmp::Reverse;

use super::arena::{Clause, Kind};
use super::minimise::Mark;
use super::{Conflict, Solver};
use crate::lit::Lit;
use crate::theory::Theory;

impl<T: Theory> Solver<T> {
    /// Learns a clause that excludes a conflict, and backtracks to the level where the clause implies a
    /// literal.
    pub(super) fn learn_from(&mut self, conflict: Conflict) {
        if let Conflict::Clause(clause) = conflict {
            self.learned.clear();
            self.learned.extend_from_slice(self.arena.lits(clause));
        }
        let places = &self.places;
        let level_of = |lit: &Lit| places[lit.var().index()].level;
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
        // A fact that was put back late can show a conflict of an earlier level.
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
            let levels = self.analyse(level);
            self.restarts.learned(levels);
            self.conclude(None, Kind::Learned(levels));
        }
    }

    /// Replaces the conflict in `learned` by a clause that follows from the clauses and has one literal of the
    /// conflict's level, the first; the second is of the next highest level. Returns the number of its levels.
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
            if std::mem::replace(&mut self.marks[lit.var().index()], Mark::None) == Mark::None {
                continue;
            }
            open -= 1;
            if open == 0 {
                break !lit;
            }
            let reason = self.places[lit.var().index()].reason;
            let reason = reason.expect("of two literals of a level one is no decision");
            for place in 0..self.arena.lits(reason).len() {
                let other = self.arena.lits(reason)[place];
                if other != lit {
                    self.resolve(other, level, &mut open, &mut clause);
                }
            }
        };
        self.vsids.decay();
        self.learned = conflict;
        self.learned.clear();
        self.learned.push(asserted);
        self.minimise(&clause);
        let places = &self.places;
        let level_of = |lit: &Lit| places[lit.var().index()].level;
        self.learned.sort_unstable_by_key(|lit| Reverse(level_of(lit)));
        self.learned.chunk_by(|a, b| level_of(a) == level_of(b)).count() as u32
    }

    /// Takes a false literal into the analysis: one of the level is to be resolved, one below stays.
    fn resolve(&mut self, lit: Lit, level: u32, open: &mut u32, clause: &mut Vec<Lit>) {
        let of = self.level_of(lit);
        let mark = &mut self.marks[lit.var().index()];
        if of > 0 && *mark == Mark::None {
            *mark = Mark::Seen;
            self.vsids.bump(lit.var());
            if of == level {
                *open += 1;
            } else {
                clause.push(lit);
            }
        }
    }

    /// Goes back so that the first literal of the clause in `learned` is open and the others are false, and assigns it.
    /// The clause may exist already.
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
            self.places[learned[0].var().index()].level = 0;
            if below > 0 {
                self.facts.push(learned[0]);
            }
        }
        self.learned = learned;
    }

    /// Finds the assumptions that make one of them false. All decisions so far are assumptions.
    pub(super) fn blame(&mut self, assumption: Lit) {
        self.failed.push(assumption);
        let mut open = u32::from(self.level_of(assumption) > 0);
        if open > 0 {
            self.marks[assumption.var().index()] = Mark::Seen;
        }
        let mut end = self.trail.len();
        while open > 0 {
            end -= 1;
            let lit = self.trail[end];
            if std::mem::replace(&mut self.marks[lit.var().index()], Mark::None) == Mark::None {
                continue;
            }
            open -= 1;
            let Some(reason) = self.places[lit.var().index()].reason else {
                self.failed.push(lit);
                continue;
            };
            for &other in self.arena.lits(reason) {
                let var = other.var().index();
                if other != lit && self.places[var].level > 0 {
                    let mark = std::mem::replace(&mut self.marks[var], Mark::Seen);
                    open += u32::from(mark == Mark::None);
                }
            }
        }
    }
}

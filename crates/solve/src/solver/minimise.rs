//! Shorter learned clauses: a literal that follows from the other literals is removed (Sörensson and Biere 2009,
//! "Minimizing learned clauses").
//!
//! A false literal follows from the others if every other literal of its reason is false on level 0, is in the clause, or
//! follows itself. The search along the reasons ends at decisions, and at levels that no literal of the clause
//! has: nothing there can follow. What was found out about a variable is marked, so that each is examined once.
//!
//! Invariant: outside of an analysis no variable has a mark. `marked` lists those marked by this search.

use super::Solver;
use super::arena::Clause;
use crate::lit::Lit;
use crate::theory::Theory;

/// What an analysis knows about a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    None,
    /// It is in the clause, or is to be resolved.
    Seen,
    /// Its literal follows from the clause.
    Follows,
    /// Its literal does not.
    Needed,
}

/// A literal under examination: its reason, and how much of it was examined.
struct Step {
    lit: Lit,
    reason: Clause,
    next: usize,
}

/// The memory of the search, kept to be used again.
#[derive(Default)]
pub(super) struct Search {
    steps: Vec<Step>,
    marked: Vec<Lit>,
}

impl<T: Theory> Solver<T> {
    /// Appends to `learned` the literals of a clause that do not follow from the others. All of them are marked as
    /// seen, and lose their mark.
    pub(super) fn minimise(&mut self, clause: &[Lit]) {
        let mut search = std::mem::take(&mut self.minimise);
        let bit = |level: u32| 1u64 << (level % 64);
        let levels = clause.iter().fold(0, |bits, &lit| bits | bit(self.level_of(lit)));
        for &lit in clause {
            if !self.follows(lit, |level| levels & bit(level) != 0, &mut search) {
                self.learned.push(lit);
            }
        }
        for lit in clause.iter().copied().chain(search.marked.drain(..)) {
            self.marks[lit.var().index()] = Mark::None;
        }
        self.minimise = search;
    }

    /// Whether a false literal follows from those that are seen, which are on the given levels.
    fn follows(&mut self, lit: Lit, on_level: impl Fn(u32) -> bool, search: &mut Search) -> bool {
        let Some(reason) = self.places[lit.var().index()].reason else { return false };
        let mut step = Step { lit, reason, next: 0 };
        loop {
            let Some(&lit) = self.arena.lits(step.reason).get(step.next) else {
                // All literals of the reason follow.
                self.mark(step.lit, Mark::Follows, search);
                let Some(last) = search.steps.pop() else { return true };
                step = last;
                continue;
            };
            step.next += 1;
            let place = self.places[lit.var().index()];
            let mark = self.marks[lit.var().index()];
            if lit == !step.lit || place.level == 0 || matches!(mark, Mark::Seen | Mark::Follows) {
                continue;
            }
            match place.reason {
                Some(reason) if mark == Mark::None && on_level(place.level) => {
                    search.steps.push(std::mem::replace(&mut step, Step { lit, reason, next: 0 }));
                }
                _ => {
                    self.mark(step.lit, Mark::Needed, search);
                    while let Some(step) = search.steps.pop() {
                        self.mark(step.lit, Mark::Needed, search);
                    }
                    return false;
                }
            }
        }
    }

    fn mark(&mut self, lit: Lit, mark: Mark, search: &mut Search) {
        let old = &mut self.marks[lit.var().index()];
        if *old == Mark::None {
            *old = mark;
            search.marked.push(lit);
        }
    }
}

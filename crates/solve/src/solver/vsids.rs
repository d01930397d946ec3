//! Which variable to decide: the one that took part in the most recent conflicts (VSIDS, Moskewicz and others 2001).
//!
//! Every variable has a score. A conflict adds a step to the score of each variable it involves, and the step grows
//! with every conflict, which has the effect of letting older scores decay. A binary heap keeps the variables that may be
//! open, the greatest score on top; of equal scores, the variable created first.
//!
//! Invariant: while variables are decided from the heap, every open variable is in it. Assigned variables leave the heap
//! when they reach the top, and return when they become open.

use std::cmp::Ordering;

use crate::lit::Var;

pub(super) struct Vsids {
    scores: Vec<f64>,
    step: f64,
    heap: Vec<u32>,
    /// The place of each variable in the heap, or `NONE`.
    places: Vec<u32>,
}

const NONE: u32 = u32::MAX;
const GROWTH: f64 = 1.0 / 0.95;
const LIMIT: f64 = 1e100;

impl Default for Vsids {
    fn default() -> Vsids {
        Vsids { scores: Vec::new(), step: 1.0, heap: Vec::new(), places: Vec::new() }
    }
}

impl Vsids {
    /// Adds a variable, which is not in the heap.
    pub(super) fn add_variable(&mut self) {
        self.scores.push(0.0);
        self.places.push(NONE);
    }

    pub(super) fn bump(&mut self, var: Var) {
        let score = &mut self.scores[var.index()];
        *score += self.step;
        if *score > LIMIT {
            self.scores.iter_mut().for_each(|score| *score /= LIMIT);
            self.step /= LIMIT;
        }
        let place = self.places[var.index()];
        if place != NONE {
            self.sift_up(place as usize);
        }
    }

    pub(super) fn decay(&mut self) {
        self.step *= GROWTH;
    }

    /// Compares the scores of two variables.
    pub(super) fn compare(&self, a: Var, b: Var) -> Ordering {
        self.scores[a.index()].total_cmp(&self.scores[b.index()])
    }

    /// Puts a variable into the heap if it is not there.
    #[inline]
    pub(super) fn insert(&mut self, var: Var) {
        if self.places[var.index()] == NONE {
            self.heap.push(var.index() as u32);
            self.sift_up(self.heap.len() - 1);
        }
    }

    /// Takes the variable with the greatest score out of the heap.
    pub(super) fn pop(&mut self) -> Option<Var> {
        let last = self.heap.pop()?;
        let top = self.heap.first().copied().unwrap_or(last);
        self.places[top as usize] = NONE;
        if top != last {
            self.sift_down(last);
        }
        Some(Var::new(top as usize))
    }

    fn is_above(&self, a: u32, b: u32) -> bool {
        let (score_a, score_b) = (self.scores[a as usize], self.scores[b as usize]);
        score_a > score_b || (score_a >= score_b && a < b)
    }

    fn sift_up(&mut self, mut place: usize) {
        let var = self.heap[place];
        while place > 0 {
            let parent = self.heap[(place - 1) / 2];
            if !self.is_above(var, parent) {
                break;
            }
            self.put(parent, place);
            place = (place - 1) / 2;
        }
        self.put(var, place);
    }

    /// Lets a variable sink from the free place at the top.
    fn sift_down(&mut self, var: u32) {
        let mut place = 0;
        while let Some(&left) = self.heap.get(2 * place + 1) {
            let right = self.heap.get(2 * place + 2).copied();
            let (child, next) = match right {
                Some(right) if self.is_above(right, left) => (right, 2 * place + 2),
                _ => (left, 2 * place + 1),
            };
            if !self.is_above(child, var) {
                break;
            }
            self.put(child, place);
            place = next;
        }
        self.put(var, place);
    }

    #[inline]
    fn put(&mut self, var: u32, place: usize) {
        self.heap[place] = var;
        self.places[var as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_leave_the_heap_by_score_and_then_by_number() {
        let mut vsids = Vsids::default();
        let vars: Vec<Var> = (0..40).map(Var::new).collect();
        for &var in &vars {
            vsids.add_variable();
            vsids.insert(var);
        }
        let bumps = |var: Var| (var.index() * 7) % 5;
        for &var in &vars {
            (0..bumps(var)).for_each(|_| vsids.bump(var));
        }
        let mut expected = vars.clone();
        expected.sort_by_key(|&var| (usize::MAX - bumps(var), var));
        let first: Vec<Var> = (0..10).filter_map(|_| vsids.pop()).collect();
        first.iter().rev().for_each(|&var| vsids.insert(var));
        vsids.insert(first[0]);
        let popped: Vec<Var> = std::iter::from_fn(|| vsids.pop()).collect();
        assert_eq!(popped, expected);
    }
}

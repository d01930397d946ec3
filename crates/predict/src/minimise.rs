//! Smaller candidates that still violate the target.
//!
//! Leaving out a transaction that is last in its session and that nobody reads from keeps every level. So such transactions are left
//! out as long as the target stays violated: many at once at first, then fewer. Then changed reads get their observed writers back where
//! the level still holds and the target stays violated; a boundary transaction without changed reads is full.

use std::cell::RefCell;

use isoscope_certificate::{Limit, Verdict};
use isoscope_check::{Checker, Options};
use isoscope_levels::Level;
use rustc_hash::FxHashSet;

use crate::candidate::Candidate;
use crate::engine::{self, Model};
use crate::feasible::infeasible;
use crate::oracle::{Answer, Oracle};
use crate::predicted::predicted;
use crate::problem::{INITIAL, Problem};
use crate::watch::Watch;

/// See the module.
pub(crate) struct Minimiser<'a, 'p> {
    pub(crate) problem: &'p Problem<'p>,
    pub(crate) oracle: &'a Oracle<'p>,
    pub(crate) level: Level,
    pub(crate) watch: &'a dyn Watch,
    /// The engine that the candidate must be feasible on. Leaving out transactions keeps that.
    pub(crate) model: Option<&'a RefCell<Model<'p>>>,
}

impl Minimiser<'_, '_> {
    /// A candidate of which nothing can be left out.
    pub(crate) fn minimise(&self, candidate: Candidate) -> Result<Candidate, Limit> {
        let mut candidate = self.leave_out(candidate)?;
        while let Some(fewer) = self.restore_one(&candidate)? {
            candidate = self.leave_out(fewer)?;
        }
        Ok(candidate)
    }

    fn violates(&self, candidate: &Candidate) -> Result<bool, Limit> {
        match self.oracle.ask(candidate, self.watch) {
            Answer::Violates => Ok(true),
            Answer::Serial(_) | Answer::Holds => Ok(false),
            Answer::Stopped(limit) => Err(limit),
        }
    }

    fn leave_out(&self, mut candidate: Candidate) -> Result<Candidate, Limit> {
        let mut needed = FxHashSet::default();
        let (mut step, mut changed) = (candidate.len(), false);
        loop {
            let (smaller, removed) = self.without(&candidate, step, &needed);
            if removed.is_empty() {
                if !changed {
                    return Ok(candidate);
                }
                // What was needed before may no longer be.
                (changed, step) = (false, 1);
                needed.clear();
                continue;
            }
            if self.violates(&smaller)? {
                (candidate, changed) = (smaller, true);
                step *= 2;
            } else if let [one] = removed[..] {
                needed.insert(one);
                step = 1;
            } else {
                step = removed.len() / 2;
            }
        }
    }

    /// A candidate without up to `most` transactions, the last full ones first, then boundary transactions.
    fn without(&self, candidate: &Candidate, most: usize, needed: &FxHashSet<u32>) -> (Candidate, Vec<u32>) {
        let problem = self.problem;
        let mut smaller = candidate.clone();
        let mut removed = Vec::new();
        let mut uses = vec![0u32; problem.len()];
        let forms = candidate.forms(problem);
        for form in &forms {
            let sources = form.reads.iter().map(|&(_, source)| source).filter(|&source| source != INITIAL);
            sources.chain(problem.before(form.txn)).for_each(|used| uses[used as usize] += 1);
        }
        let full = forms.iter().rev().filter(|form| !form.is_boundary);
        for form in full.chain(forms.iter().filter(|form| form.is_boundary)) {
            if removed.len() == most {
                break;
            }
            if uses[form.txn as usize] > 0 || needed.contains(&form.txn) {
                continue;
            }
            let sources = form.reads.iter().map(|&(_, source)| source).filter(|&source| source != INITIAL);
            sources.chain(problem.before(form.txn)).for_each(|used| uses[used as usize] -= 1);
            if form.is_boundary {
                smaller.boundary.retain(|boundary| boundary.txn != form.txn);
            } else {
                smaller.prefix[problem.txn(form.txn).session as usize] -= 1;
            }
            removed.push(form.txn);
        }
        (smaller, removed)
    }

    /// The candidate with one changed read fewer, if there is one that still violates the target at the level.
    fn restore_one(&self, candidate: &Candidate) -> Result<Option<Candidate>, Limit> {
        let problem = self.problem;
        if problem.strict {
            return Ok(None);
        }
        for (number, read) in candidate.changes(problem) {
            let source = problem.txn(number).reads[read].source;
            if source != INITIAL && !candidate.is_full(problem, source) {
                continue;
            }
            let mut fewer = candidate.clone();
            let boundary = fewer.boundary.iter_mut().find(|boundary| boundary.txn == number);
            let Some(boundary) = boundary else { continue };
            boundary.sources[read] = source;
            if fewer.changes(problem).iter().all(|&(other, _)| other != number) {
                if problem.txn(number).is_variant {
                    // On the values of the run, the program has another form.
                    continue;
                }
                fewer.boundary.retain(|boundary| boundary.txn != number);
                fewer.prefix[problem.txn(number).session as usize] += 1;
            }
            let is_feasible = matches!(infeasible(problem, &fewer), Ok(None));
            if is_feasible && self.violates(&fewer)? && self.holds(&fewer)? && self.is_feasible(&fewer)? {
                return Ok(Some(fewer));
            }
        }
        Ok(None)
    }

    fn is_feasible(&self, candidate: &Candidate) -> Result<bool, Limit> {
        let Some(model) = self.model else { return Ok(true) };
        match model.borrow_mut().ask(candidate, self.watch) {
            engine::Answer::Feasible(_) => Ok(true),
            engine::Answer::Infeasible(_) => Ok(false),
            engine::Answer::Stopped(limit) => Err(limit),
        }
    }

    /// Whether a candidate satisfies the level.
    fn holds(&self, candidate: &Candidate) -> Result<bool, Limit> {
        let predicted = predicted(self.problem, candidate);
        match Checker::watched(&predicted.history, Options::default(), self.watch).check(self.level).verdict {
            Verdict::Holds(_) => Ok(true),
            Verdict::Violated(_) => Ok(false),
            Verdict::Unknown(_) => self.watch.limit().map_or(Ok(false), Err),
        }
    }
}

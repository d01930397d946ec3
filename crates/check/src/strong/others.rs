//! The other scenarios of a violation that only the search finds.
//!
//! Saturation stops with all contradictions of a round, each in a component of its own. A search stops with one, and what else is
//! wrong with the history is not looked at. So what the proof speaks of is left out, and the rest is decided again, until it holds.
//!
//! Two proofs are *independent* when what is needed of them (`needed.rs`) names no transaction in common: neither in a cycle nor in a
//! choice. (Those of unknown outcome that cannot have committed do not count.) All proofs of one answer are independent of
//! each other.
//!
//! What is left out takes with it all reads that are or may be from it. So everything that is still asked of an order is asked by
//! the whole history too: whoever explains the whole explains the rest, and a proof about the rest is one about the whole, as it
//! stands. The order of sessions and of time holds across what is left out.
//!
//! The verdict is known before this begins and stays what it is. There are at most [`MOST_ROUNDS`] rounds. Looking
//! for the next one may take as long as the first took, or [`FEWEST_QUESTIONS`], and no longer: counted in questions whether to stop,
//! so that no clock decides. When a limit is reached, what was found until then is the answer. It is all there is only when the
//! rest holds in the end; else there may be more.

use std::sync::atomic::{AtomicU64, Ordering};

use isoscope_levels::Level;
use rustc_hash::FxHashSet;

use super::attempt;
use super::events::Rules;
use super::needed::needed;
use super::problem::Problem;
use super::{Answer, Scenario, Violation};
use crate::certificate::{Case, Choice, Limit, Node, Proof};
use crate::resolve::Resolved;
use crate::watch::{Stage, Watch};

/// So often the rest is decided again.
pub(super) const MOST_ROUNDS: usize = 15;
/// So many questions may be asked in any case before the search for another proof is given up.
const FEWEST_QUESTIONS: u64 = 1_000;

/// Adds to a violation the proofs that are independent of those it has, in at most `rounds` rounds. `questions` is the number of
/// questions whether to stop that the first proofs took.
pub(super) fn add(
    problem: &Problem<'_>,
    level: Level,
    rules: Rules,
    violation: &mut Violation,
    rounds: usize,
    questions: u64,
    watch: &dyn Watch,
) {
    let mut named: FxHashSet<u32> = FxHashSet::default();
    for scenario in &violation.scenarios {
        name(problem, &needed(problem, &scenario.proof), &mut named);
    }
    for _ in 0..rounds {
        let resolved = without(problem.resolved, &named);
        let patience = Patience::of(watch, questions.max(FEWEST_QUESTIONS));
        let more = match attempt::decide(&problem.without(&resolved, &named), level, rules, &patience) {
            Answer::Violated(more) if !more.scenarios.is_empty() => more,
            answer => {
                violation.complete = matches!(answer, Answer::Holds(_));
                return;
            }
        };
        let first = violation.next_component();
        for Scenario { proof, component } in more.scenarios {
            let proof = needed(problem, &proof);
            name(problem, &proof, &mut named);
            violation.scenarios.push(Scenario { proof, component: first + component });
        }
    }
}

/// Adds the transactions that a proof speaks of.
fn name(problem: &Problem<'_>, proof: &Proof, named: &mut FxHashSet<u32>) {
    let mut add = |node: Node| {
        if let Node::Txn(txn) = node
            && !problem.broken.contains_key(&txn.0)
        {
            named.insert(txn.0);
        }
    };
    for case in &proof.cases {
        match case {
            Case::Cycle(edges) => edges.iter().for_each(|edge| add(edge.from)),
            Case::Split { choice: Choice::Versions { first, second, .. }, .. } => {
                [*first, *second].map(Node::Txn).into_iter().for_each(&mut add);
            }
            Case::Split { choice: Choice::Source { read, writers }, .. } => {
                add(Node::Txn(problem.history.txn_of(*read)));
                writers.iter().copied().for_each(&mut add);
            }
        }
    }
}

/// What is known of a history without what it says about some transactions.
fn without(resolved: &Resolved, named: &FxHashSet<u32>) -> Resolved {
    let mut resolved = resolved.clone();
    for &txn in named {
        resolved.present[txn as usize] = false;
    }
    resolved.versions.retain(|version| !named.contains(&version.from.0) && !named.contains(&version.to.0));
    resolved
}

/// Counts questions, and says after so many that it is enough.
pub(crate) struct Patience<'w> {
    watch: &'w dyn Watch,
    most: u64,
    asked: AtomicU64,
    /// Whether stages are told on: they are those of the first proof.
    tells: bool,
}

impl<'w> Patience<'w> {
    /// One that never ends by itself.
    pub(super) fn endless(watch: &'w dyn Watch) -> Self {
        Patience { watch, most: u64::MAX, asked: AtomicU64::new(0), tells: true }
    }

    /// One that ends after so many questions, and tells no stages.
    pub(crate) fn of(watch: &'w dyn Watch, most: u64) -> Self {
        Patience { watch, most, asked: AtomicU64::new(0), tells: false }
    }

    /// The same, which tells stages.
    pub(crate) fn telling(watch: &'w dyn Watch, most: u64) -> Self {
        Patience { tells: true, ..Patience::of(watch, most) }
    }

    /// How many questions there were.
    pub(super) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Watch for Patience<'_> {
    fn limit(&self) -> Option<Limit> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        if asked >= self.most { Some(Limit::Time) } else { self.watch.limit() }
    }

    fn fits(&self, bytes: u64) -> bool {
        self.watch.fits(bytes)
    }

    fn stage(&self, level: Level, stage: &Stage) {
        if self.tells {
            self.watch.stage(level, stage);
        }
    }
}

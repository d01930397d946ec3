//! The other scenarios of a violation that only the search finds.
//!
//! Saturation stops with all contradictions of a round, each in a component of its own. A search stops with one contradiction. So
//! the transactions of its proof are removed and the rest is decided again, until the rest holds.
//!
//! Two proofs are *independent* if what they need (`needed.rs`) has no transaction in common, neither in a cycle nor in a choice.
//! (Transactions of unknown outcome that cannot have committed do not count.) All proofs of one answer are independent of each
//! other.
//!
//! Removing a transaction removes all reads that are or may be from it. So the rest requires nothing that the whole history
//! does not require: an explanation of the whole explains the rest, and a proof about the rest is a proof about the whole. Session
//! order and real-time order hold across removed transactions.
//!
//! The verdict is known before this begins and does not change. After a search there are at most [`MOST_ROUNDS`] rounds. After
//! saturation there is one, and none for a history of more than [`MOST_TXNS`] transactions: deciding the rest would double the time
//! to the verdict. Each round may take as long as the first proof took, or [`FEWEST_QUESTIONS`]. This is counted in questions whether to stop, so that it does not depend on a
//! clock. If a limit is reached, the answer is what was found until then. It is complete only if the rest holds at the end.

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

/// The most rounds in which the rest is decided again.
pub(super) const MOST_ROUNDS: usize = 15;
/// The most transactions of a history whose rest is decided again although no search was needed.
pub(super) const MOST_TXNS: usize = 1 << 11;
/// The questions whether to stop that every round may ask.
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

/// Adds the transactions of a proof.
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

/// A budget of questions whether to stop, within the limits of another watch.
pub(crate) struct Patience<'w> {
    watch: &'w dyn Watch,
    most: u64,
    asked: AtomicU64,
    /// Whether to forward stages. Only those of the first proof are.
    forwards: bool,
}

impl<'w> Patience<'w> {
    /// An unlimited budget, which counts the questions.
    pub(super) fn endless(watch: &'w dyn Watch) -> Self {
        Patience { watch, most: u64::MAX, asked: AtomicU64::new(0), forwards: true }
    }

    /// A budget of `most` questions that forwards no stages.
    pub(crate) fn of(watch: &'w dyn Watch, most: u64) -> Self {
        Patience { watch, most, asked: AtomicU64::new(0), forwards: false }
    }

    /// The same, and it forwards stages.
    pub(crate) fn forwarding(watch: &'w dyn Watch, most: u64) -> Self {
        Patience { forwards: true, ..Patience::of(watch, most) }
    }

    /// How many questions were asked.
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
        if self.forwards {
            self.watch.stage(level, stage);
        }
    }
}

//! The answers given so far, and what they imply for other levels.
//!
//! A level that holds shows that all weaker levels hold. A level that is violated shows that all stronger levels are.

use std::sync::Arc;

use isoscope_history::Txn;
use isoscope_levels::Level;
use rustc_hash::FxHashMap;

use super::{Checker, judged};
use crate::certificate::{Evidence, Finding, Judgement, Verdict, Witness};
use crate::semantics::Semantics;
use crate::strong;

/// The final answers, by level.
#[derive(Default)]
pub(super) struct Answers(FxHashMap<Level, Judgement>);

impl Answers {
    pub(super) fn get(&self, level: Level) -> Option<&Judgement> {
        self.0.get(&level)
    }

    pub(super) fn verdict(&self, level: Level) -> Option<&Verdict> {
        self.get(level).map(|judgement| &judgement.verdict)
    }

    pub(super) fn keep(&mut self, judgement: Judgement) {
        self.0.insert(judgement.level, judgement);
    }

    /// The commit order of a stronger weak level that is known to hold.
    pub(super) fn order_for(&self, level: Level) -> Option<Arc<[Txn]>> {
        let stronger = [Level::ReadCommitted, Level::ReadAtomic, Level::Causal];
        let mut stronger = stronger.into_iter().filter(|&other| other != level && other.implies(level));
        stronger.find_map(|other| match self.verdict(other)? {
            Verdict::Holds(witness) => witness.order.clone(),
            _ => None,
        })
    }
}

impl Checker<'_> {
    /// What the answers for other levels imply for one. While there is time, a strong level asks weak ones itself, so that the
    /// anomalies that it shows do not depend on what was asked before; `is_last` takes any answer instead.
    pub(super) fn implied(&self, level: Level, is_last: bool) -> Option<Judgement> {
        for other in Level::ALL.into_iter().filter(|&other| other != level) {
            let Some(judgement) = self.answers.get(other) else { continue };
            match &judgement.verdict {
                Verdict::Holds(witness)
                    if other.implies(level) && !self.hides_sources(other, witness, level) =>
                {
                    return Some(judged(level, Verdict::Holds(self.weakened(witness, level))));
                }
                Verdict::Violated(findings)
                    if level.implies(other)
                        && !claims_more(level, other, findings)
                        && (is_last || !asks_itself(level, other)) =>
                {
                    // Weak levels have anomalies of their own to show.
                    let weakest = judgement.implied_by.unwrap_or(other);
                    let strong = Semantics::of(level).is_strong();
                    return strong.then(|| self.with_listed(level, judgement.verdict.clone(), weakest));
                }
                _ => {}
            }
        }
        None
    }

    /// A witness for a weaker level.
    pub(super) fn weakened(&self, witness: &Witness, level: Level) -> Witness {
        strong::weaken(self.history, &self.resolved, witness, level)
    }

    /// Whether the witness of a level does not name the writers of reads that another level asks for: at PL-2.99 other writers
    /// may come between a range read and its writer. Writers are asked for where a read is ambiguous, or where a transaction of
    /// unknown outcome is in the order.
    fn hides_sources(&self, holds: Level, witness: &Witness, level: Level) -> bool {
        let is_unknown = |txn: &Txn| !self.resolved.present[txn.index()];
        let any_unknown = || witness.order.iter().flat_map(|order| order.iter()).any(is_unknown);
        let any_range = || self.history.txns().flat_map(|txn| self.history.ops_of(txn)).any(|op| op.in_range);
        Semantics::of(holds).spares_ranges
            && strong::names_sources(level)
            && (self.resolved.ambiguous.or(self.resolved.open_lists).is_some() || any_unknown())
            && any_range()
    }
}

/// Whether a strong level asks for this weaker level, or for one that shows more of its anomalies, before it searches.
fn asks_itself(level: Level, weaker: Level) -> bool {
    Semantics::of(level).is_strong() && !Semantics::of(weaker).is_strong()
}

/// Whether the name of a violation in all worlds claims too much for a stronger level: a level between the two forbids the
/// anomaly, and such a violation cannot be named anew.
fn claims_more(level: Level, weaker: Level, findings: &[Finding]) -> bool {
    let in_worlds = |finding: &&Finding| {
        finding.instances.iter().any(|instance| matches!(instance.evidence, Evidence::Worlds(_)))
    };
    let between = |other: &Level| *other != level && level.implies(*other) && !weaker.implies(*other);
    findings
        .iter()
        .filter(in_worlds)
        .any(|finding| Level::ALL.into_iter().filter(between).any(|other| other.forbids(finding.anomaly)))
}

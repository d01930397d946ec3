//! Proofs of one level that serve another: a proof violates every level that forbids all its cycles, weaker ones included.

use isoscope_levels::Level;

use super::Checker;
use crate::certificate::{Judgement, Verdict};
use crate::findings::scenario;
use crate::strong::{self, Scenario, Violation};

impl Checker<'_> {
    /// Proofs that a stronger level is violated, as far as they violate this level too.
    pub(super) fn borrowed(&self, level: Level) -> Option<Violation> {
        let stronger = Level::ALL.into_iter().filter(|&other| other != level && other.implies(level));
        let mut violated = stronger.filter_map(|other| match self.answers.get(other)? {
            Judgement { verdict: Verdict::Violated(findings), implied_by: None, .. } => Some(findings),
            _ => None,
        });
        violated.find_map(|findings| {
            let instances = findings.iter().flat_map(|finding| &finding.instances);
            self.served(level, Violation::partial(instances.filter_map(scenario).collect()))
        })
    }

    /// What a violation of another level shows of this one.
    pub(super) fn served(&self, level: Level, violation: Violation) -> Option<Violation> {
        let serves = |scenario: &Scenario| {
            strong::refutes(self.history, &self.resolved, level, &scenario.proof) && {
                let (name, _) = strong::named(self.history, &self.resolved, level, scenario.proof.clone());
                name.is_some_and(|name| level.forbids(name.anomaly))
            }
        };
        let scenarios: Vec<Scenario> = violation.scenarios.into_iter().filter(serves).collect();
        (!scenarios.is_empty()).then(|| Violation::partial(scenarios))
    }
}

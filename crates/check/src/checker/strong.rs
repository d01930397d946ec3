//! How a strong level is decided: a violation of a weaker level, a stronger level that holds, or the event graph.

use isoscope_levels::Level;

use super::{Checker, judged, stopped};
use crate::certificate::{Finding, Judgement, Verdict, Witness};
use crate::findings::components;
use crate::semantics::Semantics;
use crate::strong::{self, Violation};

impl Checker<'_> {
    /// Decides a strong level.
    pub(super) fn strong(&mut self, level: Level) -> Judgement {
        for weaker in [Level::Causal, Level::ReadAtomic, Level::AdyaPl2, Level::CutIsolation] {
            // Causal consistency implies read atomic.
            let implied = weaker == Level::ReadAtomic && level.implies(Level::Causal);
            if level.implies(weaker)
                && !implied
                && let Some(violated) = self.plain_violation(weaker)
            {
                return self.with_listed(level, violated, weaker);
            }
        }
        if let Some(limit) = self.watch.limit() {
            return judged(level, stopped(limit));
        }
        if let Some(unsupported) = self.unsupported() {
            return judged(level, unsupported);
        }
        if let Some(witness) = self.settled(level) {
            return judged(level, Verdict::Holds(witness));
        }
        let answer = self.in_turns(level);
        judged(level, self.answered(level, answer))
    }

    /// A violation of a weak level that holds for every possible writer of the open reads.
    fn plain_violation(&mut self, level: Level) -> Option<Verdict> {
        match self.answers.verdict(level) {
            Some(violated @ Verdict::Violated(_)) => return Some(violated.clone()),
            Some(Verdict::Holds(_)) => return None,
            _ => {}
        }
        let verdict = self.plain(level);
        if matches!(verdict, Verdict::Violated(_)) {
            self.answers.keep(judged(level, verdict.clone()));
            return Some(verdict);
        }
        // Without open reads and unsupported operations the level is decided.
        if matches!(verdict, Verdict::Holds(_))
            && self.resolved.ambiguous.is_none()
            && self.unsupported().is_none()
        {
            self.answers.keep(judged(level, verdict));
        }
        None
    }

    /// The witness of a stronger level that saturation decides, where saturation says little about this one.
    fn settled(&mut self, level: Level) -> Option<Witness> {
        match self.check(Semantics::of(level).settled_by?).verdict {
            Verdict::Holds(witness) => Some(self.weakened(&witness, level)),
            _ => None,
        }
    }

    /// The violation of a weaker level, and the lost updates and stale reads beside it. Of all that only stronger levels
    /// forbid users look for these first, and they need no search.
    pub(super) fn with_listed(&self, level: Level, violated: Verdict, weaker: Level) -> Judgement {
        let trust = self.options.trust_timestamps;
        // If a limit is reached, the violation of the weaker level is the answer.
        let scenarios = strong::listed(self.history, &self.resolved, level, trust, self.watch);
        let scenarios = scenarios.unwrap_or_default();
        let listed = self.findings().of_violation(level, Violation::complete(scenarios));
        let Verdict::Violated(findings) = violated else { return judged(level, self.ambiguous()) };
        let mut findings: Vec<Finding> =
            findings.into_iter().flat_map(|finding| self.findings().renamed(level, finding)).collect();
        let known = |other: &Finding| findings.iter().any(|finding| finding.anomaly == other.anomaly);
        let mut new: Vec<Finding> = listed.into_iter().filter(|finding| !known(finding)).collect();
        if new.is_empty() {
            return Judgement { level, verdict: Verdict::Violated(findings), implied_by: Some(weaker) };
        }
        let first = components(&findings);
        for instance in new.iter_mut().flat_map(|finding| &mut finding.instances) {
            instance.component = instance.component.map(|component| first + component);
        }
        findings.extend(new);
        judged(level, Verdict::Violated(findings))
    }
}

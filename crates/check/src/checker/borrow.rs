//! What one level's answer says about another, and how a level and a stronger one are decided side by side.
//!
//! A level that holds shows that all weaker ones do. A proof that a level is violated shows the same of every level that forbids
//! all its cycles, weaker ones included. And where a stronger level is often decided sooner, both are searched in turns, each
//! with more work than the turn before, so that neither waits for the other for long.

use std::collections::BTreeMap;

use isoscope_levels::{Anomaly, Level};

use super::Checker;
use crate::certificate::{Case, Evidence, Finding, Instance, Limit, Proof, Through, Verdict, Witness};
use crate::semantics::Semantics;
use crate::strong::{self, Answer, Patience, Scenario, Violation};
use crate::watch::Watch;

/// So many questions whether to stop may be asked in the first turn, and so many more for each operation, so that a few passes over
/// the history fit into it; then so many times more in each turn after it.
const FIRST_TURN: u64 = 1_000;
const PER_OPERATION: u64 = 20;
const NEXT_TURN: u64 = 4;

/// Decides a level, given what a violation of a stronger one shows of it.
type Decide<'d> = dyn FnMut(&Checker<'_>, &dyn Watch, Option<Violation>) -> Option<Answer> + 'd;

/// What came of trying a stronger level.
enum Tried {
    Holds(Witness),
    Violated(Violation),
    Stopped,
}

impl Checker<'_> {
    /// Decides a level, and in turns with it one that is stronger. `decide` is given what a violation of the stronger level shows
    /// of this one, if there is one.
    pub(super) fn in_turns(&mut self, level: Level, decide: &mut Decide<'_>) -> Option<Answer> {
        let Semantics { stronger, .. } = Semantics::of(level);
        let (watch, mut served) = (self.watch, None);
        let mut patience = FIRST_TURN + PER_OPERATION * self.history.op_count() as u64;
        while let Some(stronger) = stronger {
            match self.tried(stronger, patience) {
                Tried::Holds(witness) => return Some(Answer::Holds(self.weakened(&witness, level))),
                Tried::Violated(violation) => {
                    served = self.served(level, violation);
                    break;
                }
                Tried::Stopped => {}
            }
            let answer = decide(self, &Patience::telling(watch, patience), None);
            if !matches!(answer, Some(Answer::Stopped(Limit::Time))) || watch.limit().is_some() {
                return answer;
            }
            patience = patience.saturating_mul(NEXT_TURN);
        }
        decide(self, watch, served)
    }

    /// Tries a level with little work.
    fn tried(&mut self, level: Level, patience: u64) -> Tried {
        match self.answers.get(&level) {
            Some((Verdict::Holds(witness), _)) => return Tried::Holds(witness.clone()),
            Some(_) => return Tried::Violated(Violation { scenarios: Vec::new(), complete: false }),
            None => {}
        }
        let (patience, trust) = (Patience::of(self.watch, patience), self.options.trust_timestamps);
        match strong::decide(self.history, &self.resolved, level, trust, false, &patience, &|| None) {
            Some(Answer::Holds(witness)) => {
                self.answers.insert(level, (Verdict::Holds(witness.clone()), None));
                Tried::Holds(witness)
            }
            Some(Answer::Violated(violation)) => Tried::Violated(violation),
            Some(Answer::Stopped(_)) | None => Tried::Stopped,
        }
    }

    /// Proofs that stronger levels are violated, as far as they show that a level is, too.
    pub(super) fn borrowed(&self, level: Level) -> Option<Violation> {
        let stronger = Level::ALL.into_iter().filter(|&other| other != level && other.implies(level));
        let mut violated = stronger.filter_map(|other| match self.answers.get(&other)? {
            (Verdict::Violated(findings), None) => Some(findings),
            _ => None,
        });
        violated.find_map(|findings: &Vec<Finding>| {
            let instances = findings.iter().flat_map(|finding| &finding.instances);
            let scenarios = instances.filter_map(scenario).collect();
            self.served(level, Violation { scenarios, complete: false })
        })
    }

    /// A finding of a weaker level by the names that it has at this one: other levels are below this one, and may allow what the
    /// weaker level calls by a simpler name. Instances may get different names.
    pub(super) fn renamed(&self, level: Level, finding: Finding) -> Vec<Finding> {
        let base = level.with_sessions().unwrap_or(level);
        let mut by_name: BTreeMap<(Anomaly, Through), Vec<Instance>> = BTreeMap::default();
        for instance in &finding.instances {
            let Some(scenario) = scenario(instance).filter(|scenario| !strong::is_forced(&scenario.proof))
            else {
                return vec![finding];
            };
            let (name, proof) = strong::named(self.history, &self.resolved, base, scenario.proof);
            let Some(name) = name else { return vec![finding] };
            let instance = Instance { evidence: evidence(proof), ..*instance };
            by_name.entry((name.anomaly, name.through)).or_default().push(instance);
        }
        if by_name.len() == 1 {
            let one = |((anomaly, through), instances)| Finding { anomaly, through, instances, ..finding };
            return by_name.into_iter().map(one).collect();
        }
        // What those are called that are not kept is not known.
        let at_least = finding.at_least || finding.count > finding.instances.len() as u64;
        let each = |((anomaly, through), instances)| {
            let against = finding.against;
            Finding { against, through, at_least, ..self.finding(anomaly, instances) }
        };
        by_name.into_iter().map(each).collect()
    }

    /// What a violation of another level shows of this one.
    fn served(&self, level: Level, violation: Violation) -> Option<Violation> {
        let serves = |scenario: &Scenario| {
            strong::refutes(self.history, &self.resolved, level, &scenario.proof) && {
                let (name, _) = strong::named(self.history, &self.resolved, level, scenario.proof.clone());
                name.is_some_and(|name| level.forbids(name.anomaly))
            }
        };
        let scenarios: Vec<Scenario> = violation.scenarios.into_iter().filter(serves).collect();
        (!scenarios.is_empty()).then_some(Violation { scenarios, complete: false })
    }
}

/// A proof as evidence: a cycle where there is one case.
pub(super) fn evidence(proof: Proof) -> Evidence {
    match <[Case; 1]>::try_from(proof.cases) {
        Ok([Case::Cycle(edges)]) => Evidence::Cycle(edges),
        Ok(cases) => Evidence::Cases(Proof { cases: cases.into() }),
        Err(cases) => Evidence::Cases(Proof { cases }),
    }
}

/// The proof of an instance.
fn scenario(instance: &Instance) -> Option<Scenario> {
    let proof = match &instance.evidence {
        Evidence::Cycle(cycle) => Proof { cases: vec![Case::Cycle(cycle.clone())] },
        Evidence::Cases(proof) => proof.clone(),
        Evidence::Read { .. } | Evidence::Pair { .. } | Evidence::Worlds(_) => return None,
    };
    Some(Scenario { proof, component: instance.component.unwrap_or(0) })
}

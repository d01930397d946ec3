//! From proofs, cycles and wrong reads to the findings of a verdict: names, counts, and the instances that are kept.

use std::collections::BTreeMap;

use isoscope_history::{History, Op};
use isoscope_levels::{Anomaly, Level};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::turns;
use crate::axiom::Axiom;
use crate::certificate::{
    Case, Choice, Evidence, Finding, Instance, Limit, Proof, Through, Verdict, World, Worlds,
};
use crate::cycles::{self, Cycle};
use crate::resolve::{self, Resolved};
use crate::semantics::{Repeats, Semantics};
use crate::strong::{self, LeafName, Scenario, Violation};
use crate::trace::Relations;
use crate::watch::Watch;

/// Makes findings about a history.
#[derive(Clone, Copy)]
pub(crate) struct Findings<'a> {
    pub(crate) history: &'a History,
    pub(crate) resolved: &'a Resolved,
    /// How many instances of each anomaly are kept.
    pub(crate) keep: usize,
}

impl Findings<'_> {
    /// All instances of an anomaly as one finding. If there are several components, one instance of each comes first.
    fn of(&self, anomaly: Anomaly, mut instances: Vec<Instance>) -> Finding {
        let count = instances.len() as u64;
        let components: FxHashSet<u32> = instances.iter().filter_map(|instance| instance.component).collect();
        let components = components.len() as u64;
        if components > 0 && components < count {
            instances = turns(instances.into_iter(), |instance| instance.component.unwrap_or(0)).collect();
        }
        instances.truncate(self.keep);
        let through = Through::default();
        Finding { anomaly, against: None, through, count, at_least: false, components, instances }
    }

    /// The anomalies that the proofs of a violation show.
    pub(crate) fn of_violation(&self, level: Level, violation: Violation) -> Vec<Finding> {
        let mut by_name: FxHashMap<(Anomaly, Through), Vec<Instance>> = FxHashMap::default();
        let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
        for Scenario { proof, component } in violation.scenarios {
            let (name, proof) = strong::named(self.history, self.resolved, level, proof);
            let name = match name {
                Some(name) => (name.anomaly, name.through),
                None => (self.unexplained(&proof), Through::default()),
            };
            let next = numbers.len() as u32;
            let component = Some(*numbers.entry(component).or_insert(next));
            by_name.entry(name).or_default().push(Instance { evidence: evidence(proof), component });
        }
        let named = by_name.into_iter().map(|((anomaly, through), mut instances)| {
            instances.sort_by_key(|instance| size(&instance.evidence));
            let at_least = !violation.complete;
            Finding { through, at_least, ..self.of(anomaly, instances) }
        });
        sorted(named.collect())
    }

    /// What a proof without a cycle shows: a read that no writer explains.
    fn unexplained(&self, proof: &Proof) -> Anomaly {
        let wrong = proof.cases.iter().rev().find_map(|case| match case {
            Case::Split { choice: Choice::Source { read, .. }, cases } if cases.is_empty() => Some(*read),
            _ => None,
        });
        wrong.map_or(Anomaly::ThinAirRead, |read| resolve::what_is_wrong(self.history, read))
    }

    /// The anomaly that a proof by cases of a weak level shows, named after one of its cycles.
    pub(crate) fn of_leaves(&self, level: Level, violation: Violation) -> Finding {
        let orders = violation.scenarios.iter().flat_map(|scenario| scenario.proof.cycles());
        let orders = orders.map(|(_, cycle)| Through::behind(cycle)).max().unwrap_or_default();
        let names: Vec<Anomaly> = violation.leaves.iter().map(|leaf| leaf.anomaly).collect();
        let main = right(level, orders, &names).iter().rposition(|&right| right).unwrap_or(names.len() - 1);
        let LeafName { anomaly, against } = violation.leaves[main];
        let instance = |scenario: Scenario| Instance {
            evidence: Evidence::Cases(strong::with_last_cycle(scenario.proof, main)),
            component: Some(scenario.component),
        };
        let plain = |scenario: &&Scenario| !strong::is_forced(&scenario.proof);
        let plain = violation.scenarios.iter().filter(plain);
        let through = plain.map(|scenario| strong::needs(&scenario.proof)).max().unwrap_or_default();
        let instances = violation.scenarios.into_iter().map(instance).collect();
        Finding { against, through, at_least: true, ..self.of(anomaly, instances) }
    }

    /// A violation in all worlds, by a name that it has in one of them, which comes last.
    pub(crate) fn of_worlds(&self, level: Level, worlds: Worlds) -> Option<Finding> {
        let worlds = with_main(level, worlds);
        let &Finding { anomaly, against, through, .. } = worlds.main()?;
        let instance = Instance { evidence: Evidence::Worlds(worlds), component: Some(0) };
        Some(Finding { against, through, at_least: true, ..self.of(anomaly, vec![instance]) })
    }

    /// A finding of a weaker level by the names that it has at this one: other levels are below this one, and may allow what
    /// the weaker level calls by a simpler name. Instances may get different names.
    pub(crate) fn renamed(&self, level: Level, finding: Finding) -> Vec<Finding> {
        let base = level.with_sessions().unwrap_or(level);
        let mut by_name: BTreeMap<(Anomaly, Through), Vec<Instance>> = BTreeMap::default();
        for instance in &finding.instances {
            let Some(scenario) = scenario(instance).filter(|scenario| !strong::is_forced(&scenario.proof))
            else {
                return vec![finding];
            };
            let (name, proof) = strong::named(self.history, self.resolved, base, scenario.proof);
            let Some(name) = name else { return vec![finding] };
            let instance = Instance { evidence: evidence(proof), ..*instance };
            by_name.entry((name.anomaly, name.through)).or_default().push(instance);
        }
        if by_name.len() == 1 {
            let one = |((anomaly, through), instances)| Finding { anomaly, through, instances, ..finding };
            return by_name.into_iter().map(one).collect();
        }
        // The names of instances that were not kept are not known.
        let at_least = finding.at_least || finding.count > finding.instances.len() as u64;
        let each = |((anomaly, through), instances)| {
            let against = finding.against;
            Finding { against, through, at_least, ..self.of(anomaly, instances) }
        };
        by_name.into_iter().map(each).collect()
    }

    /// The anomalies that a level forbids and that no commit order matters to: wrong reads, and reads of one transaction that
    /// contradict each other.
    pub(crate) fn inside_transactions(&self, level: Level) -> Vec<Finding> {
        let mut findings = Vec::new();
        let Semantics { knows_reads, repeats, .. } = Semantics::of(level);
        if knows_reads {
            findings.extend(self.of_wrong_reads());
            findings.extend(self.of_pairs(Anomaly::IncompatibleOrder, &self.resolved.incompatible));
        }
        if repeats >= Repeats::Keys {
            let Resolved { unrepeatable, changed_ranges, .. } = self.resolved;
            let ranges = if repeats == Repeats::Ranges { &changed_ranges[..] } else { &[] };
            findings.extend(self.of_pairs(Anomaly::NonRepeatableRead, &[unrepeatable, ranges].concat()));
        }
        findings
    }

    fn of_wrong_reads(&self) -> Vec<Finding> {
        let mut by_name: FxHashMap<Anomaly, Vec<Instance>> = FxHashMap::default();
        for wrong in &self.resolved.wrong {
            let evidence = Evidence::Read { read: wrong.read, write: wrong.write };
            by_name.entry(wrong.anomaly).or_default().push(Instance { evidence, component: None });
        }
        sorted(by_name.into_iter().map(|(anomaly, instances)| self.of(anomaly, instances)).collect())
    }

    /// Pairs of reads that contradict each other.
    pub(crate) fn of_pairs(&self, anomaly: Anomaly, pairs: &[(Op, Op)]) -> Option<Finding> {
        let instance =
            |&(first, second)| Instance { evidence: Evidence::Pair { first, second }, component: None };
        let instances: Vec<Instance> = pairs.iter().map(instance).collect();
        (!instances.is_empty()).then(|| self.of(anomaly, instances))
    }

    /// The cycles of some relations.
    pub(crate) fn of_cycles(&self, relations: Relations, watch: &dyn Watch) -> Result<Vec<Finding>, Limit> {
        let mut by_name: FxHashMap<(Anomaly, Through), Vec<Instance>> = FxHashMap::default();
        let mut all: Vec<Cycle> = Vec::new();
        if relations.reads() {
            let reads = if relations.sessions() { Relations::Causal } else { Relations::Reads };
            all.extend(cycles::find(self.history, self.resolved, reads, watch)?);
        }
        if cycles::versions(self.resolved, relations).next().is_some() {
            let first = all.len() as u32;
            let mut more = cycles::find(self.history, self.resolved, relations, watch)?;
            for component in more.iter_mut().filter_map(|cycle| cycle.instance.component.as_mut()) {
                *component += first;
            }
            all.extend(more);
        }
        for Cycle { anomaly, through, instance } in all {
            by_name.entry((anomaly, through)).or_default().push(instance);
        }
        let named = by_name
            .into_iter()
            .map(|((anomaly, through), instances)| Finding { through, ..self.of(anomaly, instances) });
        Ok(sorted(named.collect()))
    }
}

/// Findings in a fixed order, whatever the order of the hash table that they come from.
fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| (finding.anomaly, finding.through));
    findings
}

/// Of the cases of a proof, which have a name that the whole may have: every level that forbids the anomaly in all its forms,
/// and knows the orders that the proof needs, forbids the anomalies of all other cases too.
fn right(level: Level, orders: Through, names: &[Anomaly]) -> Vec<bool> {
    let asked = |other: &Level| !other.implies(level) && orders <= strong::farthest(*other);
    let open = Level::ALL.into_iter().filter(asked);
    let open: Vec<Level> = open.filter(|other| !names.iter().all(|&name| other.forbids_all(name))).collect();
    names.iter().map(|&name| !open.iter().any(|other| other.forbids_all(name))).collect()
}

/// The same worlds, in which the leaf that they are named after is the last: one with a cycle, if that can be. A wrong read in one
/// world often only means that this world is not the real one.
fn with_main(level: Level, mut worlds: Worlds) -> Worlds {
    let is_cycle = |instance: &Instance| matches!(instance.evidence, Evidence::Cycle(_) | Evidence::Cases(_));
    let leaves: Vec<(usize, &Finding)> = worlds.leaves().collect();
    let names: Vec<Anomaly> = leaves.iter().map(|(_, finding)| finding.anomaly).collect();
    let orders = leaves.iter().map(|(_, finding)| orders(finding)).max().unwrap_or_default();
    let cycles: Vec<usize> = leaves
        .iter()
        .filter(|(_, finding)| finding.instances.iter().any(is_cycle))
        .map(|&(node, _)| node)
        .collect();
    let right = right(level, orders, &names);
    let right = || leaves.iter().zip(&right).rev().filter(|(_, right)| **right).map(|(&(node, _), _)| node);
    let found = right().find(|node| cycles.contains(node)).or_else(|| right().next());
    let Some(main) = found.or_else(|| cycles.last().copied()) else { return worlds };
    // Some worlds have a long fork and others a read skew: only the rules against both forbid all.
    let fork = (found.is_none() && level.forbids(Anomaly::SnapshotSkew))
        .then(|| leaves.iter().find(|(_, finding)| finding.anomaly == Anomaly::LongFork))
        .flatten()
        .map(|&(node, _)| node);
    if let Some(World::Violated(finding)) = fork.and_then(|fork| worlds.cases.get_mut(fork)) {
        finding.anomaly = Anomaly::SnapshotSkew;
    }
    let children = |world: &World| match world {
        World::Open { cases, .. } => cases.clone(),
        World::Violated(_) => Vec::new(),
    };
    let renumbered = |world: World, number: &[u32]| match world {
        World::Open { question, cases } => {
            let cases = cases.iter().map(|&child| number[child as usize]).collect();
            World::Open { question, cases }
        }
        leaf @ World::Violated(_) => leaf,
    };
    Worlds { cases: strong::reordered(worlds.cases, fork.unwrap_or(main), children, renumbered) }
}

/// What the evidence of a finding needs besides reads and writes.
fn orders(finding: &Finding) -> Through {
    finding.instances.iter().map(|instance| instance.evidence.orders()).max().unwrap_or(finding.through)
}

/// The length of evidence, by which instances are sorted.
fn size(evidence: &Evidence) -> usize {
    match evidence {
        Evidence::Cycle(edges) => edges.len(),
        Evidence::Cases(proof) => proof.size(),
        Evidence::Read { .. } | Evidence::Pair { .. } | Evidence::Worlds(_) => 1,
    }
}

/// A proof as evidence: a cycle where there is one case.
fn evidence(proof: Proof) -> Evidence {
    match <[Case; 1]>::try_from(proof.cases) {
        Ok([Case::Cycle(edges)]) => Evidence::Cycle(edges),
        Ok(cases) => Evidence::Cases(Proof { cases: cases.into() }),
        Err(cases) => Evidence::Cases(Proof { cases }),
    }
}

/// The proof of an instance, if a proof is its evidence.
pub(crate) fn scenario(instance: &Instance) -> Option<Scenario> {
    let proof = match &instance.evidence {
        Evidence::Cycle(cycle) => Proof { cases: vec![Case::Cycle(cycle.clone())] },
        Evidence::Cases(proof) => proof.clone(),
        Evidence::Read { .. } | Evidence::Pair { .. } | Evidence::Worlds(_) => return None,
    };
    Some(Scenario { proof, component: instance.component.unwrap_or(0) })
}

/// The number of the first component that no finding uses.
pub(crate) fn components(findings: &[Finding]) -> u32 {
    let instances = findings.iter().flat_map(|finding| &finding.instances);
    instances.filter_map(|instance| instance.component).max().map_or(0, |last| last + 1)
}

/// The verdict for findings of a weak level, whose components are numbered together.
pub(crate) fn violated(mut findings: Vec<Finding>) -> Verdict {
    let mut numbers: FxHashMap<(bool, u32), u32> = FxHashMap::default();
    for finding in &mut findings {
        let by_axiom = Axiom::ALL.iter().any(|axiom| axiom.names(finding.anomaly));
        for component in finding.instances.iter_mut().filter_map(|instance| instance.component.as_mut()) {
            let next = numbers.len() as u32;
            *component = *numbers.entry((by_axiom, *component)).or_insert(next);
        }
    }
    Verdict::Violated(findings)
}

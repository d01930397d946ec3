//! The entry point: a history whose reads are resolved, and one question for each level.

mod borrow;

use std::sync::Arc;

use borrow::evidence;
use isoscope_history::{History, Op, OpView, Outcome, Txn, Value};
use isoscope_levels::{Anomaly, Level};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::{Analysis, turns};
use crate::axiom::Axiom;
use crate::certificate::{
    Against, Case, Choice, Edge, Evidence, Finding, Instance, Judgement, Limit, Node, Proof, Seen, Through,
    Unknown, Verdict, Why, Witness, Worlds,
};
use crate::cut::{self, Cut};
use crate::cycles::{self, Cycle};
use crate::decide::decide;
use crate::resolve::{self, Resolved, Tally};
use crate::semantics::{Method, Repeats, Semantics};
use crate::strong::{self, Answer, Scenario, Violation};
use crate::trace::Relations;
use crate::watch::{Nobody, Stage, Watch};
use crate::worlds;

/// How much to report.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many instances of each anomaly to keep, at least one. Counts and verdicts do not depend on it.
    pub max_anomalies: usize,
    /// Whether the database's own timestamps, not what clients saw, are the real time of strict levels. They are hints for
    /// the search in any case.
    pub trust_timestamps: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { max_anomalies: 10, trust_timestamps: false }
    }
}

/// A history whose reads are resolved, ready to be asked about levels.
///
/// What one question learns, the next one uses: when a stronger level holds, a weaker one needs no work.
pub struct Checker<'h> {
    history: &'h History,
    watch: &'h dyn Watch,
    options: Options,
    keep: usize,
    resolved: Resolved,
    /// The limit that was reached while reads were resolved. Then nothing can be decided.
    stopped: Option<Limit>,
    /// Whether what lists leave open is ignored, so that only a violation says something.
    ignores_open: bool,
    /// Whether a violation is told with all its scenarios, as far as they are independent.
    every_scenario: bool,
    answers: FxHashMap<Level, (Verdict, Option<Level>)>,
    analysis: Option<Analysis>,
}

impl<'h> Checker<'h> {
    /// Resolves the reads of a history.
    pub fn new(history: &'h History, options: Options) -> Self {
        Checker::watched(history, options, &Nobody)
    }

    /// Resolves the reads of a history, with somebody looking on.
    pub fn watched(history: &'h History, options: Options, watch: &'h dyn Watch) -> Self {
        let (resolved, stopped) = match Resolved::watched(history, watch) {
            Ok(resolved) => (resolved, None),
            Err(limit) => (Resolved::default(), Some(limit)),
        };
        Checker { stopped, ignores_open: false, ..Checker::ignoring(history, resolved, options, watch) }
    }

    /// Decides a level.
    pub fn check(&mut self, level: Level) -> Judgement {
        if !self.answers.contains_key(&level) {
            let (verdict, implied_by) = self.decide(level);
            // With more time or memory the answer may be another.
            if let Verdict::Unknown(Unknown::Limit(Limit::Time | Limit::Memory)) = verdict {
                return Judgement { level, verdict, implied_by };
            }
            self.answers.insert(level, (verdict, implied_by));
        }
        let (verdict, implied_by) = self.answers[&level].clone();
        Judgement { level, verdict, implied_by }
    }

    /// The verdict for a level, and the weaker level whose violation it is if it is one.
    fn decide(&mut self, level: Level) -> (Verdict, Option<Level>) {
        if let Some(limit) = self.stopped {
            return (Verdict::Unknown(Unknown::Limit(limit)), None);
        }
        if self.nothing_to_judge() {
            return (Verdict::Unknown(Unknown::NothingToCheck), None);
        }
        if let Some(answer) = self.known(level) {
            return answer;
        }
        // Once a limit is reached no level is begun: each would build its graph in vain.
        if let Some(limit) = self.watch.limit() {
            return (Verdict::Unknown(Unknown::Limit(limit)), None);
        }
        if let Some(base) = level.with_sessions() {
            return (self.without_sessions(level, base), None);
        }
        if let Some(answer) = self.by_worlds(level) {
            return answer;
        }
        if !Semantics::of(level).is_strong() {
            return (self.weak(level), None);
        }
        for weaker in [Level::Causal, Level::ReadAtomic, Level::AdyaPl2, Level::CutIsolation] {
            // What is causal is read atomic.
            let implied = weaker == Level::ReadAtomic && level.implies(Level::Causal);
            if level.implies(weaker)
                && !implied
                && let Some(violated) = self.plain_violation(weaker)
            {
                return self.with_listed(level, violated, weaker);
            }
        }
        if let Some(limit) = self.watch.limit() {
            return (Verdict::Unknown(Unknown::Limit(limit)), None);
        }
        if let Some(unknown) = self.unjudged() {
            return (unknown, None);
        }
        if let Some(witness) = self.easier(level) {
            return (Verdict::Holds(witness), None);
        }
        let answer = self.in_turns(level, &mut |checker, watch, served| {
            let Checker { history, resolved, options, every_scenario, .. } = checker;
            let borrow = || served.clone().or_else(|| checker.borrowed(level));
            strong::decide(
                history,
                resolved,
                level,
                options.trust_timestamps,
                *every_scenario,
                watch,
                &borrow,
            )
        });
        (self.answered(level, answer), None)
    }

    /// What shows that a level holds which little can be concluded about, if a stronger one does that saturation decides.
    fn easier(&mut self, level: Level) -> Option<Witness> {
        match self.check(Semantics::of(level).settled_by?).verdict {
            Verdict::Holds(witness) => Some(self.weakened(&witness, level)),
            _ => None,
        }
    }

    /// The verdict for a level that is another one without sessions.
    fn without_sessions(&mut self, level: Level, base: Level) -> Verdict {
        if let Verdict::Holds(witness) = self.check(base).verdict {
            return Verdict::Holds(self.weakened(&witness, level));
        }
        let apart = self.history.apart();
        let watch = Renamed { watch: self.watch, level };
        let Checker { options, ignores_open, every_scenario, .. } = *self;
        let checker = Checker::ignoring(&apart, self.resolved.clone(), options, &watch);
        Checker { ignores_open, every_scenario, ..checker }.check(base).verdict
    }

    /// The violation of a weaker level, and the lost updates and stale reads beside it: of all that only stronger levels
    /// forbid people look for these first, and they need no search.
    fn with_listed(&self, level: Level, violated: Verdict, weaker: Level) -> (Verdict, Option<Level>) {
        let trust = self.options.trust_timestamps;
        let scenarios = strong::listed(self.history, &self.resolved, level, trust, self.watch);
        let listed = self.by_proofs(level, Violation { scenarios, complete: true });
        let (Verdict::Violated(findings), Verdict::Violated(listed)) = (violated, listed) else {
            return (self.ambiguous(), None);
        };
        let mut findings: Vec<Finding> =
            findings.into_iter().flat_map(|finding| self.renamed(level, finding)).collect();
        let known = |other: &Finding| findings.iter().any(|finding| finding.anomaly == other.anomaly);
        let mut new: Vec<Finding> = listed.into_iter().filter(|finding| !known(finding)).collect();
        if new.is_empty() {
            return (Verdict::Violated(findings), Some(weaker));
        }
        let components = |findings: &[Finding]| {
            let instances = findings.iter().flat_map(|finding| &finding.instances);
            instances.filter_map(|instance| instance.component).max().map_or(0, |last| last + 1)
        };
        let first = components(&findings);
        for instance in new.iter_mut().flat_map(|finding| &mut finding.instances) {
            instance.component = instance.component.map(|component| first + component);
        }
        findings.extend(new);
        (Verdict::Violated(findings), None)
    }

    /// The verdict where lists leave something open: whatever that is.
    fn by_worlds(&self, level: Level) -> Option<(Verdict, Option<Level>)> {
        if self.ignores_open || worlds::questions(self.history, &self.resolved, level).is_empty() {
            return None;
        }
        let Checker { history, options, watch, .. } = *self;
        // Of each world, one violation is shown.
        let judge = |history: &History, resolved: &Resolved| {
            let checker = Checker::ignoring(history, resolved.clone(), options, watch);
            Checker { every_scenario: false, ..checker }.check(level).verdict
        };
        let Judgement { verdict, implied_by, .. } =
            Checker::ignoring(history, self.resolved.clone(), options, watch).check(level);
        if !matches!(verdict, Verdict::Holds(_)) {
            return Some((verdict, implied_by));
        }
        let verdict = match worlds::search(history, &self.resolved, level, watch, &judge) {
            worlds::Found::Holds(witness) => Verdict::Holds(witness),
            worlds::Found::Violated(worlds) => self.whoever(worlds),
            worlds::Found::Stopped(limit) => Verdict::Unknown(Unknown::Limit(limit)),
            worlds::Found::Open => self.ambiguous(),
        };
        Some((verdict, None))
    }

    /// A violation in all worlds, by the name that it has in one of them.
    fn whoever(&self, worlds: Worlds) -> Verdict {
        let Some(&Finding { anomaly, against, through, .. }) = worlds.main() else { return self.ambiguous() };
        let instance = Instance { evidence: Evidence::Worlds(worlds), component: Some(0) };
        let finding = Finding { against, through, at_least: true, ..self.finding(anomaly, vec![instance]) };
        Verdict::Violated(vec![finding])
    }

    /// What the answers for other levels say about one.
    fn known(&self, level: Level) -> Option<(Verdict, Option<Level>)> {
        for other in Level::ALL.into_iter().filter(|&other| other != level) {
            match self.answers.get(&other) {
                Some((Verdict::Holds(witness), _))
                    if other.implies(level) && !self.hides_sources(other, level) =>
                {
                    return Some((Verdict::Holds(self.weakened(witness, level)), None));
                }
                Some((Verdict::Violated(findings), _))
                    if level.implies(other) && claims_more(level, other, findings) => {}
                Some((violated @ Verdict::Violated(_), implied_by)) if level.implies(other) => {
                    let weak = !Semantics::of(level).is_strong();
                    // Weak levels have anomalies of their own to show.
                    let weakest = implied_by.unwrap_or(other);
                    return (!weak).then(|| self.with_listed(level, violated.clone(), weakest));
                }
                _ => {}
            }
        }
        None
    }

    /// Whether what shows that one level holds does not say whom the reads are from that another asks about: at PL-2.99 others
    /// may come between a range read and its writer.
    fn hides_sources(&self, holds: Level, level: Level) -> bool {
        let any_range = || self.history.txns().flat_map(|txn| self.history.ops_of(txn)).any(|op| op.in_range);
        Semantics::of(holds).spares_ranges
            && strong::names_sources(level)
            && self.resolved.ambiguous.is_some()
            && any_range()
    }

    fn weakened(&self, witness: &Witness, level: Level) -> Witness {
        strong::weaken(self.history, &self.resolved, witness, level)
    }

    /// What an engine's answer comes to.
    fn answered(&self, level: Level, answer: Option<Answer>) -> Verdict {
        match answer {
            Some(Answer::Holds(witness)) => Verdict::Holds(witness),
            Some(Answer::Violated(violation)) => self.by_proofs(level, violation),
            Some(Answer::Stopped(limit)) => Verdict::Unknown(Unknown::Limit(limit)),
            None => self.ambiguous(),
        }
    }

    fn ambiguous(&self) -> Verdict {
        let Resolved { ambiguous, open_lists, .. } = self.resolved;
        let Tally { count, first } = open_lists.or(ambiguous).unwrap_or(Tally { count: 0, first: Op(0) });
        Verdict::Unknown(Unknown::Ambiguous { reads: count, first })
    }

    /// Why no engine can judge a history.
    fn unjudged(&self) -> Option<Verdict> {
        let Tally { count, first } = self.resolved.unsupported?;
        Some(Verdict::Unknown(Unknown::Unsupported { operations: count, first }))
    }

    /// The anomalies that proofs show.
    fn by_proofs(&self, level: Level, violation: Violation) -> Verdict {
        let mut by_name: FxHashMap<(Anomaly, Through), Vec<Instance>> = FxHashMap::default();
        let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
        for Scenario { proof, component } in violation.scenarios {
            let (name, proof) = strong::named(self.history, &self.resolved, level, proof);
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
            Finding { through, at_least, ..self.finding(anomaly, instances) }
        });
        let mut findings: Vec<Finding> = named.collect();
        findings.sort_by_key(|finding| (finding.anomaly, finding.through));
        Verdict::Violated(findings)
    }

    /// What a proof without a cycle shows: a read that no writer explains.
    fn unexplained(&self, proof: &Proof) -> Anomaly {
        let wrong = proof.cases.iter().rev().find_map(|case| match case {
            Case::Split { choice: Choice::Source { read, .. }, cases } if cases.is_empty() => Some(*read),
            _ => None,
        });
        wrong.map_or(Anomaly::ThinAirRead, |read| resolve::what_is_wrong(self.history, read))
    }

    /// The verdict for a level that needs no search, unless values repeat.
    fn weak(&mut self, level: Level) -> Verdict {
        match self.plain(level) {
            Verdict::Holds(witness) => self.unless_open(level, witness),
            violated => violated,
        }
    }

    /// A violation of a weak level whoever wrote what is open.
    fn plain_violation(&mut self, level: Level) -> Option<Verdict> {
        match self.answers.get(&level) {
            Some((violated @ Verdict::Violated(_), _)) => return Some(violated.clone()),
            Some((Verdict::Holds(_), _)) => return None,
            _ => {}
        }
        let verdict = self.plain(level);
        if matches!(verdict, Verdict::Violated(_)) {
            self.answers.insert(level, (verdict.clone(), None));
            return Some(verdict);
        }
        // What is not open is decided.
        if matches!(verdict, Verdict::Holds(_))
            && self.resolved.ambiguous.is_none()
            && self.unjudged().is_none()
        {
            self.answers.insert(level, (verdict, None));
        }
        None
    }

    /// The verdict for a weak level when what is open is left out; unknown only when a limit is reached.
    fn plain(&mut self, level: Level) -> Verdict {
        match Semantics::of(level).method {
            Method::Alone => self.alone(level),
            Method::Cycles(relations) => self.by_cycles(level, relations),
            Method::Axiom(axiom) => self.by_axiom(level, axiom),
            Method::Certain => self.ordered(level),
            Method::Events(_) => unreachable!("{level} is no weak level"),
        }
    }

    /// Whether no level could be violated: no read of a transaction that took effect can be related to a write. Either
    /// nothing was read, or no write took effect and every read returned the initial value. A verdict would say nothing
    /// about the database. In the worlds of what lists leave open this is not asked: there it is one case of several.
    fn nothing_to_judge(&self) -> bool {
        let (history, present) = (self.history, &self.resolved.present);
        let ops = || history.txns().filter(|txn| present[txn.index()]).flat_map(|txn| history.ops_of(txn));
        if self.ignores_open {
            return ops().next().is_none();
        }
        let mut reads = ops().filter(|op| !op.kind.is_write() && op.value != Value::UNKNOWN);
        let Some(first) = reads.next() else { return true };
        let is_initial = |op: &OpView| op.kind.is_read() && history.is_initial(op.key, op.value);
        !ops().any(|op| op.kind.is_write()) && is_initial(&first) && reads.all(|op| is_initial(&op))
    }

    fn by_axiom(&mut self, level: Level, axiom: Axiom) -> Verdict {
        let mut findings = self.inside_transactions(level);
        if findings.is_empty() {
            let mut stronger =
                [Level::ReadAtomic, Level::Causal].into_iter().filter(|&stronger| stronger > level);
            let known = stronger.find_map(|stronger| self.order_of(stronger));
            let order = known.map_or_else(
                || decide(self.history, &self.resolved, axiom, self.watch),
                |order| Ok(Some(order)),
            );
            match order {
                Ok(Some(order)) => return Verdict::Holds(Witness::order(order)),
                Ok(None) => {}
                Err(limit) => return Verdict::Unknown(Unknown::Limit(limit)),
            }
        }
        if self.analysis.as_ref().is_none_or(|analysis| !analysis.reaches(axiom)) {
            match Analysis::new(self.history, &self.resolved, axiom, self.keep, self.watch) {
                Ok(analysis) => self.analysis = Some(analysis),
                Err(limit) if findings.is_empty() => return Verdict::Unknown(Unknown::Limit(limit)),
                // What was found so far is a violation, whatever else there is.
                Err(_) => return violated(findings),
            }
        }
        findings.extend(self.cycles(Relations::Given));
        if let Some(analysis) = &self.analysis {
            findings.extend(analysis.findings(&self.resolved, axiom, self.keep));
        }
        violated(findings)
    }

    /// A level that is decided by looking at every transaction alone.
    fn alone(&self, level: Level) -> Verdict {
        let findings = self.inside_transactions(level);
        if findings.is_empty() { Verdict::Holds(Witness::default()) } else { violated(findings) }
    }

    /// A level that is decided by cycles of some relations.
    fn by_cycles(&self, level: Level, relations: Relations) -> Verdict {
        let mut findings = self.inside_transactions(level);
        let stronger = [Level::ReadCommitted, Level::ReadAtomic, Level::Causal];
        if findings.is_empty()
            && let Some(order) = stronger.into_iter().find_map(|stronger| self.order_of(stronger))
        {
            return Verdict::Holds(Witness::order(order));
        }
        findings.extend(self.cycles(relations));
        if findings.is_empty() {
            let order = cycles::order(self.history, &self.resolved, relations);
            return Verdict::Holds(Witness::order(order.into()));
        }
        violated(findings)
    }

    /// PL-1 and PL-2 in an order that agrees with sessions or real time.
    fn ordered(&self, level: Level) -> Verdict {
        let mut findings = self.inside_transactions(level);
        let trust = self.options.trust_timestamps;
        let answer = strong::ordered(self.history, &self.resolved, level, trust, self.watch);
        match self.answered(level, Some(answer)) {
            Verdict::Violated(cycles) => findings.extend(cycles),
            verdict if findings.is_empty() => return verdict,
            _ => {}
        }
        violated(findings)
    }

    /// The commit order of a level that is known to hold.
    fn order_of(&self, level: Level) -> Option<Arc<[Txn]>> {
        match self.answers.get(&level)? {
            (Verdict::Holds(witness), _) => witness.order.clone(),
            _ => None,
        }
    }

    /// A level that holds as far as can be seen may still fail because of what cannot be seen.
    fn unless_open(&mut self, level: Level, witness: Witness) -> Verdict {
        let Resolved { ambiguous, open_lists, uncertain, .. } = self.resolved;
        if let Some(unsupported) = self.unjudged() {
            return unsupported;
        }
        let Semantics { method, knows_reads, .. } = Semantics::of(level);
        if method == Method::Alone {
            // Whether a transaction of unknown outcome is there at all may depend on who wrote what.
            let open = ambiguous.or(open_lists).is_some() || !self.resolved.wrong.is_empty();
            let depends = open && self.any_left_out();
            return if depends || uncertain.is_some() { self.cut() } else { Verdict::Holds(witness) };
        }
        // Who wrote what was read does not matter to the order of writes, unless lists show it.
        if !knows_reads || ambiguous.is_none() {
            return Verdict::Holds(witness);
        }
        if let Some(violation) = self.borrowed(level) {
            return self.by_proofs(level, violation);
        }
        let mut leaves: Vec<(Anomaly, Option<Against>)> = Vec::new();
        let answer = self.in_turns(level, &mut |checker, watch, served| {
            if let Some(violation) = served {
                return Some(Answer::Violated(violation));
            }
            let Checker { history, options, .. } = *checker;
            let mut leaf = |resolved: &Resolved| {
                let leaf = Checker::ignoring(history, resolved.clone(), options, watch).leaf(level)?;
                leaves.push((leaf.anomaly, leaf.against));
                Some(leaf)
            };
            let trust = options.trust_timestamps;
            let answer = strong::decide_weak(history, &checker.resolved, level, trust, watch, &mut leaf);
            if !matches!(answer, Answer::Violated(_)) {
                leaves.clear();
            }
            Some(answer)
        });
        match answer {
            Some(Answer::Violated(violation)) if !leaves.is_empty() => {
                let main = main_leaf(level, &leaves);
                let (anomaly, against) = leaves[main];
                let told = |scenario: Scenario| Instance {
                    evidence: Evidence::Cases(strong::with_last_cycle(scenario.proof, main)),
                    component: Some(scenario.component),
                };
                let plain = |scenario: &&Scenario| !strong::is_forced(&scenario.proof);
                let plain = violation.scenarios.iter().filter(plain);
                let through = plain.map(|scenario| strong::needs(&scenario.proof)).max().unwrap_or_default();
                let instances = violation.scenarios.into_iter().map(told).collect();
                let finding =
                    Finding { against, through, at_least: true, ..self.finding(anomaly, instances) };
                Verdict::Violated(vec![finding])
            }
            answer => self.answered(level, answer),
        }
    }

    /// Cut isolation where it depends on who took effect.
    fn cut(&self) -> Verdict {
        match cut::decide(self.history, &self.resolved) {
            Cut::Holds => Verdict::Holds(Witness::default()),
            Cut::Violated(first, second) => {
                violated(self.pairs(Anomaly::NonRepeatableRead, &[(first, second)]).into_iter().collect())
            }
            Cut::Open(first) => Verdict::Unknown(Unknown::Ambiguous { reads: 1, first }),
        }
    }

    /// A checker of a history whose reads are resolved, which ignores what lists leave open.
    fn ignoring(
        history: &'h History,
        resolved: Resolved,
        options: Options,
        watch: &'h dyn Watch,
    ) -> Checker<'h> {
        let (keep, answers) = (options.max_anomalies.max(1), FxHashMap::default());
        Checker {
            history,
            watch,
            options,
            keep,
            resolved,
            stopped: None,
            ignores_open: true,
            every_scenario: true,
            answers,
            analysis: None,
        }
    }

    /// The simplest cycle that violates a weak level, whoever wrote what is open.
    fn leaf(&mut self, level: Level) -> Option<strong::Leaf> {
        let Verdict::Violated(findings) = self.plain(level) else { return None };
        let leaves = findings.into_iter().flat_map(|finding| {
            let Finding { anomaly, against, .. } = finding;
            finding.instances.into_iter().filter_map(move |instance| match instance.evidence {
                Evidence::Cycle(cycle) => Some(strong::Leaf { cycle, anomaly, against }),
                _ => None,
            })
        });
        leaves.min_by_key(|leaf| leaf.cycle.len()).or_else(|| self.unrepeatable(level))
    }

    /// Two reads of one key by one transaction that are of two others: each of them has seen what the other misses.
    fn unrepeatable(&self, level: Level) -> Option<strong::Leaf> {
        let links = |op: Op| self.resolved.links[op.index()];
        let present = self.history.txns().filter(|txn| self.resolved.present[txn.index()]);
        for txn in present.filter(|_| Semantics::of(level).repeats == Repeats::Ranges) {
            let reads: Vec<Op> =
                self.history.op_range(txn).map(Op::at).filter(|&op| links(op).is_read()).collect();
            for (i, &first) in reads.iter().enumerate() {
                let differs = |op: &&Op| {
                    self.history.key_of(**op) == self.history.key_of(first) && links(**op) != links(first)
                };
                if let Some(&second) = reads[i + 1..].iter().find(differs) {
                    return Some(fractured(
                        self.resolved.links[first.index()].txn(),
                        first,
                        links(second).txn(),
                        second,
                    ));
                }
            }
        }
        None
    }

    /// Whether a transaction of unknown outcome is taken as absent.
    fn any_left_out(&self) -> bool {
        let left_out =
            |txn: Txn| self.history.outcome(txn) == Outcome::Unknown && !self.resolved.present[txn.index()];
        self.history.txns().any(left_out)
    }

    /// The anomalies a level forbids that no order has to do with.
    fn inside_transactions(&self, level: Level) -> Vec<Finding> {
        let mut findings = Vec::new();
        let Semantics { knows_reads, repeats, .. } = Semantics::of(level);
        if knows_reads {
            findings.extend(self.wrong_reads());
            findings.extend(self.pairs(Anomaly::IncompatibleOrder, &self.resolved.incompatible));
        }
        if repeats >= Repeats::Keys {
            let Resolved { unrepeatable, changed_ranges, .. } = &self.resolved;
            let ranges = if repeats == Repeats::Ranges { &changed_ranges[..] } else { &[] };
            findings.extend(self.pairs(Anomaly::NonRepeatableRead, &[unrepeatable, ranges].concat()));
        }
        findings
    }

    fn wrong_reads(&self) -> Vec<Finding> {
        let mut by_name: FxHashMap<Anomaly, Vec<Instance>> = FxHashMap::default();
        for wrong in &self.resolved.wrong {
            let evidence = Evidence::Read { read: wrong.read, write: wrong.write };
            by_name.entry(wrong.anomaly).or_default().push(Instance { evidence, component: None });
        }
        let mut findings: Vec<Finding> =
            by_name.into_iter().map(|(anomaly, instances)| self.finding(anomaly, instances)).collect();
        findings.sort_by_key(|finding| finding.anomaly);
        findings
    }

    fn pairs(&self, anomaly: Anomaly, pairs: &[(Op, Op)]) -> Option<Finding> {
        let instance =
            |&(first, second)| Instance { evidence: Evidence::Pair { first, second }, component: None };
        let instances: Vec<Instance> = pairs.iter().map(instance).collect();
        (!instances.is_empty()).then(|| self.finding(anomaly, instances))
    }

    fn cycles(&self, relations: Relations) -> Vec<Finding> {
        let mut by_name: FxHashMap<(Anomaly, Through), Vec<Instance>> = FxHashMap::default();
        let mut all: Vec<Cycle> = Vec::new();
        if relations.reads() {
            let reads = if relations.sessions() { Relations::Causal } else { Relations::Reads };
            all.extend(cycles::find(self.history, &self.resolved, reads));
        }
        if cycles::versions(&self.resolved, relations).next().is_some() {
            let first = all.len() as u32;
            let mut more = cycles::find(self.history, &self.resolved, relations);
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
            .map(|((anomaly, through), instances)| Finding { through, ..self.finding(anomaly, instances) });
        let mut findings: Vec<Finding> = named.collect();
        findings.sort_by_key(|finding| (finding.anomaly, finding.through));
        findings
    }

    fn finding(&self, anomaly: Anomaly, mut instances: Vec<Instance>) -> Finding {
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
}

/// Of the cycles of a proof, the one whose name no weaker level explains away: each level that is weaker and forbids it forbids
/// all others, too.
fn main_leaf(level: Level, leaves: &[(Anomaly, Option<Against>)]) -> usize {
    let weaker = || Level::ALL.into_iter().filter(|&weaker| level.implies(weaker));
    let is_right = |&(anomaly, _): &(Anomaly, Option<Against>)| {
        let forbidding = || weaker().filter(|weaker| weaker.forbids(anomaly));
        forbidding().all(|weaker| leaves.iter().all(|&(other, _)| weaker.forbids(other)))
    };
    leaves.iter().rposition(is_right).unwrap_or(leaves.len() - 1)
}

/// How long it takes to tell.
fn size(evidence: &Evidence) -> usize {
    let edges = |case: &Case| match case {
        Case::Cycle(edges) => edges.len(),
        Case::Split { .. } => 1,
    };
    match evidence {
        Evidence::Cycle(edges) => edges.len(),
        Evidence::Cases(proof) => proof.cases.iter().map(edges).sum(),
        Evidence::Read { .. } | Evidence::Pair { .. } | Evidence::Worlds(_) => 1,
    }
}

/// Puts the stages of another level to the one that was asked for.
struct Renamed<'w> {
    watch: &'w dyn Watch,
    level: Level,
}

impl Watch for Renamed<'_> {
    fn limit(&self) -> Option<Limit> {
        self.watch.limit()
    }

    fn fits(&self, bytes: u64) -> bool {
        self.watch.fits(bytes)
    }

    fn stage(&self, _: Level, stage: &Stage) {
        self.watch.stage(self.level, stage);
    }
}

/// Whether what violates a level in all worlds, and cannot be named anew, has a name that claims more about another level: a level
/// between the two forbids it.
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

/// A read of one transaction, and a read of the same key from another one.
fn fractured(one: Option<Txn>, first: Op, other: Option<Txn>, second: Op) -> strong::Leaf {
    let node = |txn: Option<Txn>| txn.map_or(Node::Initial, Node::Txn);
    let edge = |from: Option<Txn>, to: Option<Txn>, read: Op, seen: Op| {
        let why = match from {
            Some(_) => Why::Forced { read, seen: Seen::Read(seen) },
            None => Why::Session,
        };
        Edge { from: node(from), to: node(to), why }
    };
    let mut cycle = vec![edge(other, one, first, second), edge(one, other, second, first)];
    if other.is_none() {
        cycle.reverse();
    }
    let against = if one.is_none() || other.is_none() { Against::Causal } else { Against::Commit };
    strong::Leaf { cycle, anomaly: Anomaly::FracturedRead, against: Some(against) }
}

/// Numbers the components of all findings of a level.
fn violated(mut findings: Vec<Finding>) -> Verdict {
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

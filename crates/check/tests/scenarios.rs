//! A violation that only the search finds is reported with every scenario that is independent of the others.
//!
//! Each history here is made of disjoint copies of a small one that saturation does not refute; so it has as many scenarios as
//! copies, and every one of them has a certificate that stands against the whole history.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use isoscope_check::{
    Case, Checker, Choice, Evidence, Finding, Instance, Judgement, Limit, Node, Options, Stage, Verdict,
    Watch,
};
use isoscope_history::{History, Txn, notation};
use isoscope_levels::{Anomaly, Level};
use isoscope_verify::Verifier;

/// Histories that violate a level, and no saturation says so.
const CORES: [(Level, &str); 4] = [
    (
        Level::Serializable,
        "T1: w(x,5)  T2: r(x,5) w(x,1) ; T3: r(x,2) ; T4: r(x,1)  T5: w(x,1) w(x,2)  T6: w(x,2)",
    ),
    (Level::Snapshot, "T1: w(x,0) w(y,1)  T2: r(x,0) w(x,1) ; T3: r(x,0) ; T4: r(x,1)  T5: w(x,0)"),
    (Level::Prefix, "T1: w(x,1) ; T2: r(x,0) ; T3: r(x,1)  T4: w(x,2) w(x,0) ; T5: w(x,0) r(x,0)"),
    (Level::StrictSerializable, "T1: w(x,1)  T2: w(x,2) ; T3: r(x,1) ; T4: r(x,2) w(x,0)  T5: w(x,0) w(x,1)"),
];

/// Disjoint copies of a history: with keys, transactions and sessions of their own.
fn copies(text: &str, count: usize) -> History {
    let copy = |i: usize| {
        let keys = text.replace("(x,", &format!("(x{i},")).replace("(y,", &format!("(y{i},"));
        keys.replace('T', &format!("T{i}000"))
    };
    notation::parse(&(1..=count).map(copy).collect::<Vec<_>>().join("  ")).unwrap()
}

/// Notes the stages of all levels, and says after that many questions that time is up.
struct Onlooker {
    stages: Mutex<Vec<(Level, &'static str)>>,
    patience: u64,
    asked: AtomicU64,
}

impl Onlooker {
    fn new(patience: u64) -> Onlooker {
        Onlooker { stages: Mutex::default(), patience, asked: AtomicU64::new(0) }
    }
}

impl Watch for Onlooker {
    fn limit(&self) -> Option<Limit> {
        (self.asked.fetch_add(1, Ordering::Relaxed) >= self.patience).then_some(Limit::Time)
    }

    fn stage(&self, level: Level, stage: &Stage) {
        self.stages.lock().unwrap().push((level, stage.name));
    }
}

fn judge(history: &History, level: Level, watch: &Onlooker) -> Judgement {
    let judgement = Checker::watched(history, Options::default(), watch).check(level);
    let verified = Verifier::new(history).verify(&judgement);
    assert!(verified.is_ok(), "{verified:?}\n{judgement:?}\n{history:?}");
    judgement
}

/// The findings of a violation that the search found.
#[track_caller]
fn searched(history: &History, level: Level) -> Vec<Finding> {
    let watch = Onlooker::new(u64::MAX);
    let judgement = judge(history, level, &watch);
    let stages = watch.stages.into_inner().unwrap();
    assert!(stages.contains(&(level, "search")), "{level}: {stages:?}\n{history:?}");
    let Verdict::Violated(findings) = judgement.verdict else {
        panic!("{level}: {judgement:?}\n{history:?}")
    };
    assert_eq!(judgement.implied_by, None);
    findings
}

fn instances(findings: &[Finding]) -> Vec<&Instance> {
    findings.iter().flat_map(|finding| &finding.instances).collect()
}

fn count(findings: &[Finding]) -> u64 {
    findings.iter().map(|finding| finding.count).sum()
}

/// The transactions that an instance names.
fn named(history: &History, instance: &Instance) -> BTreeSet<Txn> {
    let mut nodes: Vec<Node> = Vec::new();
    let cases = match &instance.evidence {
        Evidence::Cases(proof) => proof.cases.clone(),
        Evidence::Cycle(edges) => vec![Case::Cycle(edges.clone())],
        other => panic!("{other:?}"),
    };
    for case in cases {
        match case {
            Case::Cycle(edges) => nodes.extend(edges.iter().map(|edge| edge.from)),
            Case::Split { choice: Choice::Versions { first, second, .. }, .. } => {
                nodes.extend([Node::Txn(first), Node::Txn(second)]);
            }
            Case::Split { choice: Choice::Source { read, writers }, .. } => {
                nodes.push(Node::Txn(history.txn_of(read)));
                nodes.extend(writers);
            }
        }
    }
    let txn = |node: Node| match node {
        Node::Initial => None,
        Node::Txn(txn) => Some(txn),
    };
    nodes.into_iter().filter_map(txn).collect()
}

#[test]
fn every_copy_of_a_violation_is_a_scenario() {
    for (level, text) in CORES {
        for copied in 1..=3 {
            let history = copies(text, copied);
            let findings = searched(&history, level);
            assert_eq!(count(&findings), copied as u64, "{level}: {findings:?}\n{history:?}");
            let mut seen: BTreeSet<Txn> = BTreeSet::new();
            for instance in instances(&findings) {
                for txn in named(&history, instance) {
                    assert!(seen.insert(txn), "{level}: {txn:?} is named twice: {findings:?}\n{history:?}");
                }
            }
            let numbers: BTreeSet<_> =
                instances(&findings).iter().map(|instance| instance.component).collect();
            assert_eq!(numbers.len(), copied, "{level}: {findings:?}");
        }
    }
}

/// Lost updates need no search, and each is counted: of those that overwrote one version, all but one.
#[test]
fn lost_updates_are_counted_by_version() {
    for (text, lost, components) in [
        ("T1: r(x,0) w(x,1) ; T2: w(x,2)  T3: r(x,0) w(x,1)", 1, 1),
        (
            "T1: r(x,3) w(x,2) ; T4: r(y,3) w(y,2)  T2: w(x,3) ; T5: w(y,3)  T3: r(x,3) w(x,6) ; T6: r(y,3) w(y,6)",
            2,
            2,
        ),
        ("T1: r(x,3) w(x,2)  T2: w(x,3)  T3: r(x,3) w(x,6)  T4: r(x,3) w(x,7)", 2, 1),
    ] {
        let history = notation::parse(text).unwrap();
        let judgement = judge(&history, Level::ParallelSnapshot, &Onlooker::new(u64::MAX));
        let Verdict::Violated(findings) = judgement.verdict else { panic!("{text}") };
        let [Finding { anomaly: Anomaly::LostUpdate, count, at_least: false, components: found, .. }] =
            findings[..]
        else {
            panic!("{findings:?}")
        };
        assert_eq!((count, found), (lost, components), "{text}");
    }
}

/// There is a bound, and how many are shown is another matter.
#[test]
fn scenarios_are_bounded() {
    let (level, text) = CORES[1];
    let history = copies(text, 18);
    let findings = searched(&history, level);
    assert_eq!(count(&findings), 16);
    assert!(findings.iter().all(|finding| finding.at_least), "the count is not said to be a lower bound");
    assert!(searched(&copies(text, 3), level).iter().all(|finding| !finding.at_least));
    let options = Options { max_anomalies: 2, ..Options::default() };
    let Verdict::Violated(findings) = Checker::new(&history, options).check(level).verdict else { panic!() };
    assert_eq!(count(&findings), 16);
    assert!(findings.iter().all(|finding| finding.instances.len() <= 2));
}

/// A limit that is reached once a violation is proved takes nothing back, and what is added is in order.
#[test]
fn a_limit_leaves_the_scenarios_that_were_found() {
    for (level, text) in [CORES[0], CORES[1]] {
        let history = copies(text, 3);
        let all = Onlooker::new(u64::MAX);
        judge(&history, level, &all);
        let mut before = 0;
        for patience in 0..=all.asked.into_inner() {
            let found = match judge(&history, level, &Onlooker::new(patience)).verdict {
                Verdict::Violated(findings) => count(&findings),
                _ => 0,
            };
            assert!(found >= before, "{level} after {patience}: {found} of {before}");
            before = found;
        }
        assert_eq!(before, 3, "{level}");
    }
}

/// Random small histories of repeated values and all outcomes, and two copies of each: what is found of both is verified, and
/// there is a scenario in either copy.
#[test]
fn random_violations_are_scenarios_in_every_copy() {
    let mut state = 7_u64;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let levels =
        [Level::Serializable, Level::AdyaPl299, Level::Snapshot, Level::Prefix, Level::StrictSerializable];
    let mut met = BTreeMap::new();
    for _ in 0..6_000 {
        let (keys, mut text) = (1 + below(2) as usize, String::new());
        for i in 1..=3 + below(4) {
            let session = if i > 1 && below(2) == 0 { ";" } else { "" };
            let outcome = ["", "", "", "?"][below(4) as usize];
            text += &format!(" {session} T{i}{outcome}:");
            for _ in 0..=below(3) {
                let (kind, key) =
                    (["r", "w"][below(2) as usize], ["x", "y"][..keys][below(keys as u64) as usize]);
                text += &format!(" {kind}({key},{})", below(3));
            }
        }
        for level in levels {
            let watch = Onlooker::new(u64::MAX);
            let judgement = judge(&copies(&text, 1), level, &watch);
            let is_searched = watch.stages.into_inner().unwrap().contains(&(level, "search"));
            let is_own = is_searched && judgement.implied_by.is_none();
            if !(is_own && matches!(judgement.verdict, Verdict::Violated(_))) {
                continue;
            }
            let findings = searched(&copies(&text, 2), level);
            assert!(count(&findings) >= 2, "{level}: {findings:?}\n{text}");
            *met.entry(level).or_insert(0) += 1;
        }
    }
    assert!(met.len() == levels.len(), "{met:?}");
}

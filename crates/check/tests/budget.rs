//! A budget that is used up after any number of questions stops the check there. The answer is *unknown* or the same as without a
//! limit, and a certificate of a limited check is as valid as any other.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::collections::BTreeSet;
use std::mem::discriminant;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use isoscope_check::{Checker, Limit, Options, Stage, Unknown, Verdict, Watch};
use isoscope_history::{History, notation};
use isoscope_levels::Level;
use isoscope_verify::verify;
use isoscope_workload::{Duplication, Shape, Spec, run};

/// A budget of questions. It notes the last stage that ended before the budget was used up.
struct Budget {
    questions: u64,
    asked: AtomicU64,
    last_stage: Mutex<&'static str>,
}

impl Budget {
    fn of(questions: u64) -> Budget {
        Budget { questions, asked: AtomicU64::new(0), last_stage: Mutex::new("resolve") }
    }
}

impl Watch for Budget {
    fn limit(&self) -> Option<Limit> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        (asked >= self.questions).then_some(Limit::Time)
    }

    fn stage(&self, _: Level, stage: &Stage) {
        if self.asked.load(Ordering::Relaxed) < self.questions {
            *self.last_stage.lock().unwrap() = stage.name;
        }
    }
}

/// Checks a level with every budget up to the number of questions of an unlimited check; returns that number, and the stages
/// after which a check was stopped.
fn stops_everywhere(history: &History, level: Level) -> (u64, BTreeSet<&'static str>) {
    let unlimited = Budget::of(u64::MAX);
    let full = Checker::watched(history, Options::default(), &unlimited).check(level);
    let all = unlimited.asked.into_inner();
    let mut stopped = BTreeSet::new();
    // Long checks are sampled; the first and the last questions are always among the budgets.
    let step = (all / 60).max(1);
    for questions in (0..=all).filter(|n| n % step == 0 || *n < 40 || n + 40 > all) {
        let budget = Budget::of(questions);
        let judgement = Checker::watched(history, Options::default(), &budget).check(level);
        if judgement.verdict == Verdict::Unknown(Unknown::Limit(Limit::Time)) {
            stopped.insert(*budget.last_stage.lock().unwrap());
            continue;
        }
        let same = discriminant(&judgement.verdict) == discriminant(&full.verdict);
        assert!(same, "{level} after {questions} of {all}: {:?}, not {:?}", judgement.verdict, full.verdict);
        assert!(verify(history, &judgement).is_ok(), "{level} after {questions} of {all}");
    }
    (all, stopped)
}

fn generated(level: Level, shape: Shape, duplicates: bool, unknowns: f64, seed: u64) -> History {
    let duplication = duplicates.then_some(Duplication { keys: 1.0, domain: 2, theta: 0.5 });
    let (sessions, txns_per_session, ops_per_txn, keys) = (3, 5, 4, 3);
    let spec = Spec {
        sessions,
        txns_per_session,
        ops_per_txn,
        keys,
        level,
        shape,
        duplication,
        unknown_rate: unknowns,
        seed,
        ..Spec::default()
    };
    run(&spec, &mut |_, _| {}).unwrap()
}

fn all_levels(histories: &[History]) -> BTreeSet<&'static str> {
    let mut stopped = BTreeSet::new();
    for history in histories {
        for level in Level::ALL {
            let (all, stages) = stops_everywhere(history, level);
            assert!(all > 1, "{level}: {all}");
            stopped.extend(stages);
        }
    }
    stopped
}

#[test]
fn a_budget_stops_checks_of_registers_at_any_question() {
    let histories: Vec<History> = [Level::ReadCommitted, Level::Causal, Level::Snapshot, Level::Serializable]
        .into_iter()
        .zip(1..)
        .map(|(level, seed)| generated(level, Shape::Register, false, 0.0, seed))
        .collect();
    let stopped = all_levels(&histories);
    for stage in ["resolve", "graph", "schedule", "facts", "saturate", "prove", "others"] {
        assert!(stopped.contains(stage), "{stage}: {stopped:?}");
    }
}

#[test]
fn a_budget_stops_checks_of_repeated_values_at_any_question() {
    let stores = [Level::Serializable, Level::ReadCommitted, Level::Snapshot, Level::Causal];
    let histories: Vec<History> = (0..8)
        .map(|seed| generated(stores[seed % 4], Shape::Register, true, [0.0, 0.3][seed / 4], seed as u64))
        .collect();
    let stopped = all_levels(&histories);
    for stage in ["resolve", "graph", "schedule", "facts", "saturate", "linearise", "search"] {
        assert!(stopped.contains(stage), "{stage}: {stopped:?}");
    }
}

#[test]
fn a_budget_stops_checks_of_lists_at_any_question() {
    let mut histories: Vec<History> = [Level::Serializable, Level::ReadCommitted]
        .into_iter()
        .zip(1..)
        .map(|(level, seed)| generated(level, Shape::ListAppend, false, 0.2, seed))
        .collect();
    // An element that two transactions appended: the check goes through the possible worlds.
    for text in [
        "T1: a(x,1) a(y,1)  T2: a(x,1)  T3: r(x,[1,1]) a(y,2)  T4: r(y,[1,2]) r(x,[1])",
        "T1: a(x,1) a(y,1)  T2: a(x,1) a(y,2)  T3: r(x,[1]) r(y,[2])  T4: r(x,[1,1]) r(y,[2,1])",
    ] {
        histories.push(notation::parse(text).unwrap());
    }
    let stopped = all_levels(&histories);
    assert!(stopped.contains("resolve") && stopped.contains("graph"), "{stopped:?}");
}

/// Violations of every kind of weak level: wrong reads, cycles, axioms, and what they show.
#[test]
fn a_budget_stops_the_search_for_anomalies_at_any_question() {
    let texts = [
        "T1: w(x,1) w(y,1)  T2: r(x,1) r(y,0)",
        "T1: r(x,2) w(x,1)  T2: r(x,1) w(x,2)",
        "T1: w(x,1)  T2: r(x,1) w(y,1)  T3: r(y,1) r(x,0)",
        "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)  T3: r(x,7)",
        "T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)",
    ];
    let histories: Vec<History> = texts.into_iter().map(|text| notation::parse(text).unwrap()).collect();
    assert!(all_levels(&histories).contains("resolve"));
}

/// The stages of a check.
#[derive(Default)]
struct Stages(Mutex<BTreeSet<&'static str>>);

impl Watch for Stages {
    fn stage(&self, _: Level, stage: &Stage) {
        self.0.lock().unwrap().insert(stage.name);
    }
}

#[test]
fn only_levels_that_may_search_do() {
    let mut histories = Vec::new();
    for seed in 0..6 {
        for (shape, duplicates) in
            [(Shape::Register, false), (Shape::Register, true), (Shape::ListAppend, false)]
        {
            histories.push(generated(Level::Causal, shape, duplicates, [0.0, 0.3][seed % 2], seed as u64));
        }
    }
    let (mut easy, mut searched) = (BTreeSet::new(), BTreeSet::new());
    for (history, level) in histories.iter().flat_map(|h| Level::ALL.map(|level| (h, level))) {
        let stages = Stages::default();
        let mut checker = Checker::watched(history, Options::default(), &stages);
        let may_search = checker.may_search(level);
        checker.check(level);
        let stages = stages.0.into_inner().unwrap();
        let searches = stages.contains("linearise") || stages.contains("search");
        assert!(may_search || !searches, "{level}: {stages:?}");
        if searches {
            searched.insert(level);
        } else if !may_search {
            easy.insert(level);
        }
    }
    assert!(searched.contains(&Level::Serializable) && searched.contains(&Level::StrongPl2), "{searched:?}");
    assert!(easy.contains(&Level::Causal) && easy.contains(&Level::StrongPl2), "{easy:?}");
}

/// A write skew, and reads with two possible writers: weak levels follow from prefix, which needs no search, and have no stage
/// of their own.
#[test]
fn weak_levels_follow_from_prefix_where_serializability_is_violated() {
    let text = "T1: r(x,0) r(y,0) w(x,1)  T2: r(x,0) r(y,0) w(y,1)  T3: w(z,5)  T4: w(z,5)  T5: r(z,5)";
    let history = notation::parse(text).unwrap();
    for level in [Level::AdyaPl2, Level::ReadCommitted, Level::ReadAtomic, Level::Causal] {
        let stages = Stages::default();
        let judgement = Checker::watched(&history, Options::default(), &stages).check(level);
        assert!(matches!(judgement.verdict, Verdict::Holds(_)), "{level}: {:?}", judgement.verdict);
        assert!(verify(&history, &judgement).is_ok(), "{level}");
        assert!(stages.0.lock().unwrap().is_empty(), "{level}");
    }
}

/// Counts questions, and notes how many were asked when each stage ended.
#[derive(Default)]
struct Counted {
    asked: AtomicU64,
    ended: Mutex<Vec<(&'static str, u64)>>,
}

impl Watch for Counted {
    fn limit(&self) -> Option<Limit> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        None
    }

    fn stage(&self, _: Level, stage: &Stage) {
        self.ended.lock().unwrap().push((stage.name, self.asked.load(Ordering::Relaxed)));
    }
}

/// A long run in which every other write repeats a value, and a lost update at its end. The proof names all writers of the value and
/// says why the read is not from them; a search of the whole run for each of them would ask more than a thousand times.
#[test]
fn a_proof_about_many_writers_takes_little_work_for_each() {
    let (txns, sessions) = (6_400, 4);
    let mut lines = vec![String::new(); sessions];
    let mut last = 0;
    for txn in 0..txns {
        let value = if txn % 2 == 0 { txn + 1 } else { 1_000_000 };
        let (start, end) = (2 * txn + 1, 2 * txn + 2);
        lines[txn % sessions] += &format!("T{txn}@{start}-{end}: r(x,{last}) w(x,{value}) ; ");
        last = value;
    }
    for (lost, line) in lines.iter_mut().enumerate() {
        let (start, end) = (2 * txns + 1 + lost, 2 * txns + 9 + lost);
        *line += &format!("E{lost}@{start}-{end}: r(x,{last}) w(x,{})", 2_000_000 + lost);
    }
    let history = notation::parse(&lines.join("\n")).unwrap();
    for level in [Level::StrictSerializable, Level::StrictSnapshot] {
        let watch = Counted::default();
        let judgement = Checker::watched(&history, Options::default(), &watch).check(level);
        assert!(matches!(judgement.verdict, Verdict::Violated(_)), "{level}");
        let ended = watch.ended.into_inner().unwrap();
        let prove = ended.iter().position(|stage| stage.0 == "prove").unwrap();
        let questions = ended[prove].1 - ended[prove - 1].1;
        assert!(questions < txns as u64 / 20, "{level}: {questions} of {ended:?}");
    }
}

//! The judge of the engine models agrees with the generator, and with examples by hand.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on should not; figures are for reading"
)]

use std::collections::BTreeMap;
use std::time::Instant;

use isoscope_audit_oracle::generate::{Size, any, blur, correct};
use isoscope_audit_oracle::{
    Given, Model, Order, Random, Statement, TinyEntry, TinyLog, Verdict, judge, mutate,
};
use isoscope_history::Outcome;
use isoscope_log::Class;

#[test]
fn correct_logs_are_explained() {
    for model in Model::ENGINES {
        for seed in 0..1_500 {
            let mut random = Random::new(seed);
            let mut log = correct(model, Size::TINY, &mut random);
            if seed % 2 == 0 {
                blur(&mut log, &mut random);
            }
            let verdict = judge(&log, model, Order::Solve);
            assert_eq!(verdict, Verdict::Explained, "{} seed {seed}\n{}", model.name(), log.to_text(model));
        }
    }
}

#[test]
fn explained_and_violated_are_frequent() {
    for model in Model::ENGINES {
        let start = Instant::now();
        let (mut explained, mut violated, mut slowest) = (0, 0, 0);
        let mut kinds: BTreeMap<_, [u32; 2]> = BTreeMap::new();
        for seed in 0..1_500 {
            let mut random = Random::new(1_000_000 + seed);
            let mut log = correct(model, Size::TINY, &mut random);
            blur(&mut log, &mut random);
            let (log, kind) = mutate::any(&log, &mut random);
            let began = Instant::now();
            let is_violated = judge(&log, model, Order::Solve) != Verdict::Explained;
            slowest = slowest.max(began.elapsed().as_micros());
            *(if is_violated { &mut violated } else { &mut explained }) += 1;
            kinds.entry(kind).or_default()[usize::from(is_violated)] += 1;
        }
        println!(
            "{}: {explained} explained, {violated} violated, {:?}, slowest {slowest} us\n  {kinds:?}",
            model.name(),
            start.elapsed()
        );
        assert!(explained > 300 && violated > 300, "{}: {explained} {violated}", model.name());
    }
}

#[test]
fn random_logs_are_varied() {
    for model in Model::ENGINES {
        let start = Instant::now();
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        let mut verdicts = [0; 2];
        for seed in 0..3_000 {
            let log = any(model, Size::TINY, &mut Random::new(2_000_000 + seed));
            verdicts[usize::from(judge(&log, model, Order::Solve) != Verdict::Explained)] += 1;
            for (name, is_so) in features(&log) {
                *counts.entry(name).or_default() += u32::from(is_so);
            }
        }
        println!("{}: {verdicts:?} {counts:?} {:?}", model.name(), start.elapsed());
        assert!(verdicts.iter().all(|&n| n > 600), "{}: {verdicts:?}", model.name());
        let rare = counts.iter().find(|&(_, &n)| n < 40);
        assert_eq!(rare, None, "{}", model.name());
    }
}

/// What a log has.
fn features(log: &TinyLog) -> Vec<(&'static str, bool)> {
    let has = |wanted: &dyn Fn(&TinyEntry) -> bool| log.entries.iter().any(wanted);
    let is_cut = |txn| log.entries.iter().rfind(|e| e.txn == txn).is_some_and(|e| e.outcome.is_none());
    vec![
        ("unknown", has(&|e| e.outcome == Some(Outcome::Unknown))),
        ("aborted", has(&|e| e.outcome == Some(Outcome::Aborted))),
        ("no outcome", (0..log.txns()).any(is_cut)),
        ("constraint", has(&|e| e.given == Given::Error(Class::Constraint))),
        ("retry", has(&|e| matches!(e.given, Given::Error(class) if class.is_ordinary()))),
        ("autocommit", has(&|e| e.statement.writes() && e.outcome == Some(Outcome::Committed))),
        ("four transactions", log.txns() >= 4),
        ("several rows", has(&|e| e.statement.writes() && matches!(e.given, Given::Count(2..)))),
        ("insert", has(&|e| matches!(e.statement, Statement::Insert(_)) && e.given == Given::Count(1))),
        ("delete", has(&|e| matches!(e.statement, Statement::Delete(_)) && e.given == Given::Count(1))),
    ]
}

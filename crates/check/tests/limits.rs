//! Limits are respected wherever time goes: inside a round of saturation, a schedule, a search, a proof.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use isoscope_check::{Checker, Limit, Options, Stage, Unknown, Verdict, Watch};
use isoscope_history::{History, notation};
use isoscope_levels::{Anomaly, Level};
use isoscope_verify::{Verifier, verify};
use isoscope_workload::{Duplication, Shape, Spec, run};

/// Says after that many questions that time is up, and counts how often it is asked again.
struct Counting {
    patience: u64,
    asked: AtomicU64,
}

impl Counting {
    fn new(patience: u64) -> Counting {
        Counting { patience, asked: AtomicU64::new(0) }
    }
}

impl Watch for Counting {
    fn limit(&self) -> Option<Limit> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        (asked >= self.patience).then_some(Limit::Time)
    }

    fn stage(&self, _: Level, _: &Stage) {}
}

/// How often a check asks if it is never stopped.
fn questions(history: &History, level: Level) -> u64 {
    let watch = Counting::new(u64::MAX);
    Checker::watched(history, Options::default(), &watch).check(level);
    watch.asked.into_inner()
}

/// A history that takes saturation and a search.
fn hard() -> History {
    let duplication = Some(Duplication { keys: 1.0, domain: 3, theta: 0.5 });
    let spec = Spec {
        sessions: 6,
        txns_per_session: 20,
        ops_per_txn: 6,
        keys: 12,
        duplication,
        seed: 3,
        ..Spec::default()
    };
    run(&spec, &mut |_, _| {}).unwrap()
}

/// The verifier asks for every transaction, and one that is stopped has refuted nothing.
#[test]
fn the_verifier_stops_at_a_limit() {
    let lost =
        notation::parse("T1: w(x,1)  T2: r(x,1) w(x,2)  T3: r(x,1) w(x,3)  T4: r(x,2)  T5: r(x,3)").unwrap();
    for (history, level, least) in [(hard(), Level::Serializable, 120), (lost, Level::Snapshot, 3)] {
        let judgement = Checker::new(&history, Options::default()).check(level);
        for patience in 0.. {
            let watch = Counting::new(patience);
            let Err(refutation) = Verifier::new(&history).within(&|| watch.limit()).verify(&judgement) else {
                assert!(patience >= least, "{level}: {patience}");
                break;
            };
            assert_eq!(refutation.stopped, Some(Limit::Time), "{refutation}");
        }
    }
}

/// Memory that would not fit is not asked for.
#[test]
fn clocks_that_do_not_fit_are_not_made() {
    struct Full;
    impl Watch for Full {
        fn fits(&self, _: u64) -> bool {
            false
        }
    }
    let history = hard();
    let verdict = Checker::watched(&history, Options::default(), &Full).check(Level::Serializable).verdict;
    assert_eq!(verdict, Verdict::Unknown(Unknown::Limit(Limit::Memory)));
}

#[test]
fn limits_are_asked_for_more_often_than_rounds_there_are() {
    let history = hard();
    for level in [Level::Serializable, Level::Snapshot] {
        let asked = questions(&history, level);
        assert!(asked > 60, "{level}: {asked}");
    }
}

/// Whenever the limit is reached the check ends soon, without many more questions, and its answer is sound.
#[test]
fn a_check_ends_soon_after_the_limit_whenever_that_is() {
    let history = hard();
    for level in [Level::Serializable, Level::Snapshot] {
        assert_ends_soon(&history, level, 64);
    }
}

/// After the limit, at most `more` questions are asked.
fn assert_ends_soon(history: &History, level: Level, more: u64) {
    let all = questions(history, level);
    for patience in (0..all).step_by((all as usize / 10).max(1)) {
        let watch = Counting::new(patience);
        let judgement = Checker::watched(history, Options::default(), &watch).check(level);
        let asked = watch.asked.into_inner();
        let stopped = matches!(judgement.verdict, Verdict::Unknown(Unknown::Limit(Limit::Time)));
        assert!(stopped || verify(history, &judgement).is_ok(), "{level} after {patience}");
        assert!(asked <= patience + more, "{level} after {patience}: {asked}");
    }
}

/// A history of registers that causal consistency takes several rounds to decide, or to explain.
fn broad(level: Level, shape: Shape) -> History {
    let spec =
        Spec { sessions: 40, txns_per_session: 30, keys: 20, level, shape, seed: 5, ..Spec::default() };
    run(&spec, &mut |_, _| {}).unwrap()
}

/// Weak levels ask too: while reads are resolved, while an order is made and mended, while anomalies are looked for.
#[test]
fn weak_levels_keep_limits() {
    for shape in [Shape::Register, Shape::ListAppend] {
        for store in [Level::ReadCommitted, Level::Serializable] {
            let history = broad(store, shape);
            for level in [Level::AdyaPl2, Level::ReadCommitted, Level::ReadAtomic, Level::Causal] {
                assert!(questions(&history, level) > 2, "{level} of {store}");
                // A parallel pass asks for each transaction that is left, once for each block of sessions.
                assert_ends_soon(&history, level, 64 + 4 * history.txn_count() as u64);
            }
        }
    }
}

/// Once the limit is reached, no level is begun: each costs one question.
#[test]
fn no_level_begins_after_the_limit() {
    let history = broad(Level::Serializable, Shape::Register);
    let watch = Counting::new(questions(&history, Level::Causal) / 2);
    let mut checker = Checker::watched(&history, Options::default(), &watch);
    checker.check(Level::Causal);
    for level in Level::ALL {
        let before = watch.asked.load(Ordering::Relaxed);
        let verdict = checker.check(level).verdict;
        assert_eq!(verdict, Verdict::Unknown(Unknown::Limit(Limit::Time)), "{level}");
        assert!(watch.asked.load(Ordering::Relaxed) <= before + 1, "{level}");
    }
}

/// A violation that a limit interrupts in the middle of its proof is no violation with half a proof.
#[test]
fn a_proof_that_is_interrupted_is_none() {
    let lost = (0..10).map(|i| format!("A{i}: r(x{i},0) w(x{i},1) r(y,{i}) w(y,{})  ", i + 1));
    let text: String = lost.chain(["B: r(x7,0) w(x7,2)  C: w(y,4)  D: r(y,4) r(x3,0)".to_owned()]).collect();
    let history = notation::parse(&text).unwrap();
    for level in [Level::Serializable, Level::Snapshot] {
        for patience in 0..questions(&history, level) {
            let watch = Counting::new(patience);
            let judgement = Checker::watched(&history, Options::default(), &watch).check(level);
            assert!(verify(&history, &judgement).is_ok(), "{level} after {patience}: {judgement:?}");
        }
    }
}

/// Says that time is up until it is set otherwise.
struct Impatient(AtomicBool);

impl Watch for Impatient {
    fn limit(&self) -> Option<Limit> {
        self.0.load(Ordering::Relaxed).then_some(Limit::Time)
    }
}

/// What ran out of time is asked again, and not remembered as unknown.
#[test]
fn a_level_that_ran_out_of_time_is_decided_with_more_of_it() {
    let history = hard();
    for level in Level::ALL {
        let watch = Impatient(AtomicBool::new(false));
        let mut checker = Checker::watched(&history, Options::default(), &watch);
        watch.0.store(true, Ordering::Relaxed);
        let first = checker.check(level).verdict;
        watch.0.store(false, Ordering::Relaxed);
        let second = checker.check(level).verdict;
        assert!(!matches!(second, Verdict::Unknown(Unknown::Limit(Limit::Time))), "{level}: {first:?}");
    }
}

/// Where values repeat, a lost update that refutes snapshot isolation refutes parallel snapshot isolation, too, and no search
/// is needed for either.
#[test]
fn lost_updates_serve_every_level_that_forbids_them() {
    let text = "T1: r(x,1) w(x,2)  T2: r(x,1) w(x,3)  T3: w(x,1)  T4: w(y,1)  T5: w(y,1)  T6: r(y,1) w(y,2)";
    let history = notation::parse(text).unwrap();
    let mut checker = Checker::new(&history, Options::default());
    for level in [Level::Snapshot, Level::ParallelSnapshot, Level::AdyaPl299, Level::Serializable] {
        let judgement = checker.check(level);
        assert!(verify(&history, &judgement).is_ok(), "{level}: {judgement:?}");
        let Verdict::Violated(findings) = &judgement.verdict else { panic!("{level}: {judgement:?}") };
        assert!(
            findings.iter().any(|finding| finding.anomaly == Anomaly::LostUpdate),
            "{level}: {findings:?}"
        );
    }
    assert!(matches!(checker.check(Level::Prefix).verdict, Verdict::Holds(_)));
}

/// Few values say little about who read from whom. Nothing else is known of these histories, no times either.
#[test]
fn histories_of_few_values_are_decided() {
    for (level, seed) in [(Level::Serializable, 1), (Level::Snapshot, 2), (Level::Prefix, 3)] {
        let duplication = Some(Duplication { keys: 1.0, domain: 2, theta: 0.0 });
        let spec = Spec {
            sessions: 5,
            txns_per_session: 20,
            ops_per_txn: 4,
            keys: 3,
            level,
            duplication,
            seed,
            ..Spec::default()
        };
        let clocked = notation::print(&run(&spec, &mut |_, _| {}).unwrap());
        let words = clocked.split(' ').map(|word| match word.split_once('@') {
            Some((name, _)) => format!("{name}:"),
            None => word.to_owned(),
        });
        let history = notation::parse(&words.collect::<Vec<_>>().join(" ")).unwrap();
        assert!(history.events().is_none() && history.txn_count() == 100);
        let watch = Counting::new(10_000);
        let judgement = Checker::watched(&history, Options::default(), &watch).check(level);
        assert!(matches!(judgement.verdict, Verdict::Holds(_)), "{level}: {:?}", judgement.verdict);
        verify(&history, &judgement).unwrap();
    }
}

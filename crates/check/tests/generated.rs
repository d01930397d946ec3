//! Histories of known origin: the store that ran them says which levels hold, and what was injected, which do not.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use isoscope_check::{Checker, Options, Verdict};
use isoscope_history::{Builder, History};
use isoscope_levels::Level;
use isoscope_verify::Verifier;
use isoscope_workload::{Duplication, Injection, Shape, Spec, Store, run};

/// The verdict of a level, verified; `None` when it is unknown.
fn holds(history: &History, level: Level) -> Option<bool> {
    let judgement = Checker::new(history, Options::default()).check(level);
    let verified = Verifier::new(history).verify(&judgement);
    assert!(verified.is_ok(), "{level}: {verified:?}");
    match judgement.verdict {
        Verdict::Holds(_) => Some(true),
        Verdict::Violated(_) => Some(false),
        Verdict::Unknown(_) => None,
    }
}

fn specs() -> Vec<Spec> {
    let base = Spec { sessions: 6, txns_per_session: 40, ops_per_txn: 5, keys: 20, ..Spec::default() };
    let repeated = Some(Duplication { keys: 0.7, domain: 4, theta: 0.5 });
    let mut specs = vec![
        base.clone(),
        Spec { duplication: repeated, ..base.clone() },
        Spec { abort_rate: 0.1, unknown_rate: 0.1, ..base.clone() },
        Spec { shape: Shape::ListAppend, unknown_rate: 0.1, ..base.clone() },
        Spec { sessions: 25, txns_per_session: 10, keys: 5, ..base },
    ];
    for (spec, seed) in specs.iter_mut().zip(1..) {
        spec.seed = seed;
    }
    specs
}

#[test]
fn a_generated_history_is_accepted_at_the_level_its_store_ran_at() {
    for spec in specs() {
        for level in Store::LEVELS {
            let history = run(&Spec { level, ..spec.clone() }, &mut |_, _| {}).unwrap();
            for weaker in Level::ALL.into_iter().filter(|&weaker| level.implies(weaker)) {
                let verdict = holds(&history, weaker);
                assert_eq!(verdict, Some(true), "{weaker} of a {level} run: {spec:?}");
            }
        }
    }
}

/// Sessions that are long enough to be looked at side by side, in all the variety of what they may do.
#[test]
fn long_sessions_are_accepted_too() {
    let base =
        Spec { sessions: 4, txns_per_session: 1_000, ops_per_txn: 8, keys: 60, seed: 1, ..Spec::default() };
    let lists = Spec { shape: Shape::ListAppend, keys: 200, unknown_rate: 0.1, ..base.clone() };
    for spec in [Spec { abort_rate: 0.1, unknown_rate: 0.1, ..base }, lists] {
        let history = run(&spec, &mut |_, _| {}).unwrap();
        for level in [Level::CutIsolation, Level::ReadCommitted, Level::ReadAtomic, Level::Causal] {
            assert_eq!(holds(&history, level), Some(true), "{level} {spec:?}");
        }
    }
}

#[test]
fn an_injected_anomaly_is_found_at_the_levels_that_forbid_it_and_no_other() {
    for anomaly in Injection::ANOMALIES {
        for shape in [Shape::Register, Shape::ListAppend] {
            let injections = vec![Injection { kind: anomaly, count: 1 }];
            let spec = Spec {
                sessions: 4,
                txns_per_session: 25,
                keys: 10,
                shape,
                injections,
                seed: 3,
                ..Spec::default()
            };
            let history = run(&spec, &mut |_, _| {}).unwrap();
            for level in Level::ALL.into_iter().filter(|&level| level != Level::AdyaPl1) {
                let verdict = holds(&history, level);
                // The finer levels forbid some forms of an anomaly and not others.
                let open = !level.is_common() && !level.forbids(anomaly);
                assert!(
                    verdict.is_some() && open || verdict == Some(!level.forbids(anomaly)),
                    "{anomaly} at {level}, {shape:?}: {verdict:?}"
                );
            }
        }
    }
}

/// Times of the client say one thing and timestamps of the database another; who trusts the latter gets their answer.
#[test]
fn timestamps_count_only_when_trusted() {
    let mut builder = Builder::new();
    builder.session("a").txn().write("x", 1).events(0, 5).timestamps(10, 20);
    builder.session("b").txn().read("x", 0).events(1, 6).timestamps(30, 40);
    let history = builder.finish();
    let judge = |trust_timestamps| {
        let options = Options { trust_timestamps, ..Options::default() };
        let judgement = Checker::new(&history, options).check(Level::StrictSerializable);
        let verifier = Verifier::new(&history);
        let verifier = if trust_timestamps { verifier.trusting_timestamps() } else { verifier };
        assert!(verifier.verify(&judgement).is_ok(), "{judgement:?}");
        matches!(judgement.verdict, Verdict::Holds(_))
    };
    assert!(judge(false));
    assert!(!judge(true));
}

//! Predictions of real applications: what a strict boundary predicts happens, and the classes add up.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use isoscope_application::{
    Application, SmallBank, SmallBankSpec, Tpcc, TpccSpec, Voter, VoterSpec, Wikipedia, WikipediaSpec,
};
use isoscope_levels::Level;
use isoscope_predict::{Boundary, Observed, Settings, Unwatched, predict};
use isoscope_validate::{Counts, Difference, Recorded, Tally, interleaved, validate};

fn applications() -> Vec<Box<dyn Application>> {
    let small_bank = SmallBankSpec { customers: 4, ..SmallBankSpec::default() };
    // More writers than the usual mix has.
    let wikipedia = WikipediaSpec { mix: [2, 2, 4, 4, 2], ..WikipediaSpec::paper() };
    vec![
        Box::new(SmallBank::new(small_bank).unwrap()),
        Box::new(Voter::new(VoterSpec::paper()).unwrap()),
        Box::new(Tpcc::new(TpccSpec::paper()).unwrap()),
        Box::new(Wikipedia::new(wikipedia).unwrap()),
    ]
}

/// The classes of all predictions of some runs.
fn classes(application: &dyn Application, level: Level, boundary: Boundary) -> Counts {
    let mut sum = Counts::default();
    for seed in 1..=4 {
        let recorded = Recorded::new(application, seed, interleaved(3, 4, seed)).unwrap();
        let run = recorded.run(application, seed);
        let observed = Observed::new(&recorded.history, &Unwatched).unwrap();
        assert_eq!(observed.ambiguous(), 0);
        let settings = Settings { boundary, most: 3, ..Settings::new(level) };
        // A run in which nobody writes has no predictions.
        let Ok(predictions) = predict(&observed, &settings, &Unwatched) else { continue };
        let mut tally = Tally::new(predictions.found.len());
        for (place, prediction) in predictions.found.iter().enumerate() {
            let validation = validate(prediction, &run, &settings, &Unwatched);
            tally.note(place, &validation.class);
            let what = format!("{} at {level}, {boundary:?}, seed {seed}", application.name());
            assert_eq!(validation.evidence.is_some(), validation.class.name() != "failed", "{what}");
            if boundary == Boundary::Strict {
                // Only because of what follows the cut.
                let is_end = |difference: &Difference| matches!(difference, Difference::End { .. });
                assert!(validation.differences.iter().all(is_end), "{what}: {:?}", validation.differences);
            }
        }
        let counts = tally.counts().unwrap();
        assert_eq!(counts.sum(), predictions.found.len());
        sum.validated += counts.validated;
        sum.still_violating += counts.still_violating;
        sum.harmless += counts.harmless;
        sum.failed += counts.failed;
    }
    sum
}

#[test]
fn what_a_strict_boundary_predicts_happens() {
    let mut validated = 0;
    for application in applications() {
        for level in [Level::ReadCommitted, Level::Causal, Level::Snapshot] {
            let counts = classes(&*application, level, Boundary::Strict);
            println!("{} at {level}: {counts:?}", application.name());
            assert_eq!(counts.failed, 0, "{} at {level}", application.name());
            validated += counts.validated;
        }
    }
    assert!(validated > 20, "{validated}");
}

#[test]
fn what_a_relaxed_boundary_predicts_has_a_class() {
    let mut sum = Counts::default();
    for application in applications() {
        for level in [Level::ReadCommitted, Level::Causal] {
            let counts = classes(&*application, level, Boundary::Relaxed);
            println!("{} at {level}: {counts:?}", application.name());
            sum.validated += counts.validated;
            sum.still_violating += counts.still_violating;
            sum.failed += counts.failed;
        }
    }
    assert!(sum.validated > 10 && sum.still_violating > 0, "{sum:?}");
    assert_eq!(sum.failed, 0);
}

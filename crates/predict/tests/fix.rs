//! Fixes are tried: with the fix, no prediction of the same statements remains, and without it there is one.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use isoscope_history::notation::parse;
use isoscope_levels::Level;
use isoscope_predict::{Fix, Observed, Settings, Unwatched, fix, predict};

/// The first prediction, as its name and its fix.
fn first(run: &str, level: Level) -> (String, Fix) {
    let history = parse(run).unwrap();
    let observed = Observed::new(&history, &Unwatched).unwrap();
    let settings = Settings::new(level);
    let predictions = predict(&observed, &settings, &Unwatched).unwrap();
    let one = &predictions.found[0];
    let fix = fix(&observed, &settings, one, &Unwatched).unwrap().unwrap();
    (one.anomaly.name().to_owned(), fix)
}

#[test]
fn a_lost_update_needs_a_level_with_write_conflicts() {
    for level in [Level::ReadCommitted, Level::Causal, Level::Prefix] {
        let (anomaly, fix) = first("T1: r(x,0) w(x,1)  T2: r(x,1) w(x,2)", level);
        let parallel = level.implies(Level::Prefix);
        let expected = if parallel { Level::Snapshot } else { Level::ParallelSnapshot };
        assert_eq!((anomaly.as_str(), fix), ("lost-update", Fix::Level(expected)), "{level}");
    }
}

#[test]
fn write_skew_needs_a_promoted_read() {
    let run = "T1: r(x,0) r(y,0) w(x,1)  T2: r(x,1) r(y,0) w(y,1)";
    let (anomaly, fix) = first(run, Level::Snapshot);
    let Fix::Promote(statement) = fix else { panic!("{fix:?}") };
    assert_eq!(anomaly, "write-skew");
    // Each of the transactions has its own shape; the changed read is that of x in T2.
    assert_eq!((statement.keys.as_str(), statement.program.as_str()), ("x", "r(x) r(y) w(y)"));
    assert_eq!(statement.to_string(), "the read of x in transactions like r(x) r(y) w(y)");
}

#[test]
fn what_only_serializability_prevents() {
    // Three transactions with a read-only one: T3 saw T1 but not T2.
    let run = "T1: r(y,0) w(x,1)  T2: r(x,1) w(y,1)  T3: r(x,1) r(y,1)";
    let (_, fix) = first(run, Level::Prefix);
    assert_eq!(fix, Fix::Level(Level::Serializable));
}

/// A row that may be absent cannot be changed to make a read conflict with its insertion.
#[test]
fn rows_that_may_be_absent_are_not_promoted() {
    let run = "init=nil  init(x)=0  init(y)=0  T1: r(x,0) r(y,0) w(x,1)  T2: r(x,1) r(y,0) w(y,1)";
    assert!(matches!(first(run, Level::Snapshot).1, Fix::Promote(_)));
    let run = "init=nil  T1: r(x,nil) r(y,nil) w(x,1)  T2: r(x,1) r(y,nil) w(y,1)";
    assert_eq!(first(run, Level::Snapshot).1, Fix::Level(Level::Serializable));
}

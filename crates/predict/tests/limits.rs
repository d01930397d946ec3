//! Limits end a prediction at every question, and then nothing is said to be proved; bad input is refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::sync::atomic::{AtomicU64, Ordering};

use isoscope_certificate::Limit;
use isoscope_history::notation;
use isoscope_levels::Level;
use isoscope_predict::{Boundary, Observed, Refusal, Settings, Unwatched, Watch, predict};

/// Reaches the time limit at the given question.
struct Questions {
    left: AtomicU64,
    asked: AtomicU64,
}

impl Questions {
    fn new(left: u64) -> Questions {
        Questions { left: AtomicU64::new(left), asked: AtomicU64::new(0) }
    }
}

impl isoscope_check::Watch for Questions {
    fn limit(&self) -> Option<Limit> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.is_err().then_some(Limit::Time)
    }
}

impl Watch for Questions {}

#[test]
fn a_limit_never_leads_to_a_proof_of_none() {
    let text = "T1: r(x,0) r(y,0) w(x,1)  T2: r(x,1) r(y,0) w(y,2)  T3: r(x,1) r(y,2) w(x,3)";
    let history = notation::parse(text).unwrap();
    for level in [Level::ReadCommitted, Level::Causal, Level::ParallelSnapshot, Level::Snapshot] {
        let settings = Settings::new(level);
        let all = Questions::new(u64::MAX);
        let complete = predict(&Observed::new(&history, &Unwatched).unwrap(), &settings, &all).unwrap();
        assert!(!complete.found.is_empty() && complete.limit.is_none());
        let questions = all.asked.load(Ordering::Relaxed);
        assert!(questions > 3);
        for left in 0..questions {
            let observed = Observed::new(&history, &Unwatched).unwrap();
            let stopped = predict(&observed, &settings, &Questions::new(left)).unwrap();
            assert_eq!(stopped.limit, Some(Limit::Time), "{level}: after {left} of {questions}");
            assert!(stopped.found.len() <= complete.found.len());
        }
    }
    let refused = Observed::new(&history, &Questions::new(0)).err();
    assert!(matches!(refused, Some(Refusal::Limit(Limit::Time))));
}

fn refusal(text: &str, settings: &Settings) -> String {
    let history = notation::parse(text).unwrap();
    let predictions =
        Observed::new(&history, &Unwatched).and_then(|observed| predict(&observed, settings, &Unwatched));
    predictions.err().unwrap().to_string()
}

#[test]
fn bad_input_is_refused_with_its_reason() {
    let causal = Settings::new(Level::Causal);
    let lost = "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)";
    assert!(refusal(lost, &causal).starts_with("the run is not serializable"));
    assert!(refusal("T1: w(x,1) ; T2: r(x,1)", &causal).contains("one session"));
    assert!(refusal("T1: r(x,0)  T2: r(x,0)", &causal).contains("no read can be related"));
    assert!(refusal("T1: a(x,1)  T2: r(x,[1])", &causal).contains("lists"));
    let fine = "T1: w(x,1)  T2: r(x,1)";
    assert!(refusal(fine, &Settings::new(Level::Serializable)).contains("nothing to predict"));
    assert!(refusal(fine, &Settings::new(Level::AdyaPl1)).contains("not for adya-pl-1"));
    let target = Settings { target: Level::Causal, ..Settings::new(Level::ReadCommitted) };
    assert!(refusal(fine, &target).contains("not causal"));
    let implied = Settings { target: Level::Prefix, ..Settings::new(Level::Snapshot) };
    assert!(refusal(fine, &implied).contains("guarantees"));
}

#[test]
fn unknown_outcomes_that_nobody_read_are_left_out_and_repeated_values_are_reported() {
    let history = notation::parse("T1: r(x,0) w(x,1)  T2?: r(x,1) w(x,2)  T3: r(x,1) w(x,1)").unwrap();
    let observed = Observed::new(&history, &Unwatched).unwrap();
    assert_eq!((observed.left_out(), observed.ambiguous()), (1, 1));
    let predictions = predict(&observed, &Settings::new(Level::Causal), &Unwatched).unwrap();
    // The predicted history tells the two writers of 1 apart.
    assert_eq!(predictions.found[0].anomaly.name(), "lost-update");
}

#[test]
fn distinct_anomalies_are_found_once() {
    // Two programs on two rows each: the same lost update twice, and another program.
    let text = "A1: r(a/1,0) w(a/1,1)  A2: r(a/1,1) w(a/1,2)  B1: r(a/2,0) w(a/2,3)  B2: r(a/2,3) w(a/2,4) \
                C1: r(b/1,0) w(b/1,5)  C2: r(b/1,5) w(b/1,6)";
    let history = notation::parse(text).unwrap();
    let observed = Observed::new(&history, &Unwatched).unwrap();
    let predictions = predict(&observed, &Settings::new(Level::Causal), &Unwatched).unwrap();
    assert_eq!(predictions.found.len(), 2);
    assert!(predictions.found.iter().all(|one| one.txns.len() == 2 && one.changes.len() == 1));
    assert!(!predictions.more);
    let one = predict(&observed, &Settings { most: 1, ..Settings::new(Level::Causal) }, &Unwatched).unwrap();
    assert!(one.found.len() == 1 && one.more);
}

/// The predictions of a run: the keys of their changed reads.
fn changed_keys(text: &str, settings: &Settings) -> Vec<Vec<String>> {
    let history = notation::parse(text).unwrap();
    let observed = Observed::new(&history, &Unwatched).unwrap();
    let predictions = predict(&observed, settings, &Unwatched).unwrap();
    let name = |change: &isoscope_predict::Change| {
        notation::ValueText(&history, history.key_name(history.key_of(change.read))).to_string()
    };
    predictions.found.iter().map(|one| one.changes.iter().map(name).collect()).collect()
}

/// From read atomic up, keys with the same writers are one key inside the engine, and so are several reads of a key.
#[test]
fn all_changed_reads_are_listed() {
    let run = "T3: r(x,1) r(y,2) w(x,3) w(y,4)  T2: r(x,0) w(x,1) w(y,2)";
    assert_eq!(changed_keys(run, &Settings::new(Level::Causal)), [["x", "y"]]);
    let run = "T1: r(y,0) r(y,0) r(x,0) ; T2: w(y,1)  T3: r(x,0) w(x,2) ; T4: r(x,2) w(y,3)";
    for keys in changed_keys(run, &Settings::new(Level::ReadAtomic)) {
        assert_ne!(keys.iter().filter(|key| *key == "y").count(), 1, "both reads of y change: {keys:?}");
    }
}

/// What was written before the cut has been written, even if the transaction would write the key again. The strict strategies of `IsoPredict`
/// know only the last write of a key.
#[test]
fn a_write_before_the_cut_counts() {
    let run = "T3: r(y,0) w(x,1)  T4: w(y,2) r(x,1) w(y,3)";
    let strict = Settings { boundary: Boundary::Strict, ..Settings::new(Level::Causal) };
    assert_eq!(changed_keys(run, &strict), [["x"]]);
    assert!(changed_keys(run, &Settings { final_writes: true, ..strict }).is_empty());
    let history = notation::parse(run).unwrap();
    let observed = Observed::new(&history, &Unwatched).unwrap();
    let predictions = predict(&observed, &strict, &Unwatched).unwrap();
    assert_eq!(notation::print(&predictions.found[0].history), "T3: r(y,0) w(x,1)  T4: w(y,2) r(x,0)");
}

/// What is learnt about one transaction that only reads serves its combinations with all others: their number must not be a product.
#[test]
fn many_readers_of_many_versions_are_no_product() {
    let session = |name: &str, access: &str| {
        let txns: Vec<String> = (1..=6).map(|i| format!("{name}{i}: {access}(x,{i})")).collect();
        txns.join(" ; ")
    };
    let readers = ["A", "B", "C"].map(|name| session(name, "r"));
    let history = notation::parse(&format!("{}  {}", session("W", "w"), readers.join("  "))).unwrap();
    let observed = Observed::new(&history, &Unwatched).unwrap();
    let predictions = predict(&observed, &Settings::new(Level::Causal), &Unwatched).unwrap();
    assert!(predictions.found.is_empty() && predictions.limit.is_none());
    // At most one for each of 18 readers and 7 versions.
    assert!(predictions.figures.candidates <= 126, "{:?}", predictions.figures);
}

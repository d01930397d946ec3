//! A property test of a custom store: its histories satisfy snapshot isolation, whatever the schedule.
//!
//! In your project, the function `property` is the body of a `proptest!` test.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeMap;

use isoscope::{Builder, Check, History, Level, Outcome, Plain, Word, report};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

/// The store under test: transactions read a snapshot. Of two that write the same key, the first to commit
/// wins.
#[derive(Default)]
struct Store {
    values: BTreeMap<u8, i64>,
    /// The keys that each commit wrote.
    commits: Vec<Vec<u8>>,
}

struct Txn {
    snapshot: BTreeMap<u8, i64>,
    began: usize,
    written: BTreeMap<u8, i64>,
}

impl Store {
    fn begin(&self) -> Txn {
        Txn { snapshot: self.values.clone(), began: self.commits.len(), written: BTreeMap::new() }
    }

    fn commit(&mut self, txn: Txn, checks_conflicts: bool) -> bool {
        let mut later = self.commits[txn.began..].iter().flatten();
        if checks_conflicts && later.any(|key| txn.written.contains_key(key)) {
            return false;
        }
        self.commits.push(txn.written.keys().copied().collect());
        self.values.extend(txn.written);
        true
    }
}

/// What a session does next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Read(u8),
    Write(u8),
    Commit,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step =
        prop_oneof![(0..3_u8).prop_map(Step::Read), (0..3_u8).prop_map(Step::Write), Just(Step::Commit)];
    prop::collection::vec((0..3_usize, step), 1..40)
}

/// Runs a schedule against the store and records what the sessions read.
fn run(schedule: &[(usize, Step)], checks_conflicts: bool) -> History {
    type Noted = Vec<(u8, i64, bool)>;
    let mut store = Store::default();
    let mut open: [Option<(Txn, Noted)>; 3] = [None, None, None];
    let mut ended: Vec<(usize, Noted, bool)> = Vec::new();
    let ends = (0..3).map(|session| (session, Step::Commit));
    for (value, (session, step)) in (1_i64..).zip(schedule.iter().copied().chain(ends)) {
        let (txn, noted) = open[session].get_or_insert_with(|| (store.begin(), Vec::new()));
        match step {
            Step::Read(key) => {
                let seen = txn.written.get(&key).or(txn.snapshot.get(&key)).copied().unwrap_or(0);
                noted.push((key, seen, false));
            }
            Step::Write(key) => {
                txn.written.insert(key, value);
                noted.push((key, value, true));
            }
            Step::Commit => {
                if let Some((txn, noted)) = open[session].take() {
                    ended.push((session, noted, store.commit(txn, checks_conflicts)));
                }
            }
        }
    }
    let mut builder = Builder::new();
    for (session, noted, committed) in ended {
        let mut txn = builder.session(session as u64).txn();
        for (key, value, is_write) in noted {
            txn = if is_write { txn.write(u64::from(key), value) } else { txn.read(u64::from(key), value) };
        }
        txn.outcome(if committed { Outcome::Committed } else { Outcome::Aborted });
    }
    builder.finish()
}

/// The property. Its failure message is the report.
pub(crate) fn property(schedule: &[(usize, Step)], checks_conflicts: bool) -> Result<(), TestCaseError> {
    let history = run(schedule, checks_conflicts);
    let report = Check::new(&history).level(Level::Snapshot).run();
    // A schedule without reads is unknown, which is not a failure.
    prop_assert!(report.verdict != Word::Violated, "{}", report::full::render(&report, &Plain));
    Ok(())
}

pub(crate) fn main() {
    let mut runner =
        TestRunner::new_with_rng(Config::with_cases(64), TestRunner::deterministic().rng().clone());
    let kept = runner.run(&steps(), |schedule| property(&schedule, true));
    assert!(kept.is_ok(), "{kept:?}");
    // Without the conflict check, the store loses updates and the property fails.
    let mut runner = TestRunner::deterministic();
    let broken = runner.run(&steps(), |schedule| property(&schedule, false));
    match broken {
        Err(error) => println!("{error}"),
        Ok(()) => panic!("a store that loses updates passed"),
    }
}

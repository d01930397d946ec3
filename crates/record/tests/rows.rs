//! The workload `scan` in one session: every recorded operation is what its statement did to a plain map.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

#[path = "support/page.rs"]
mod page;

use std::collections::BTreeMap;
use std::sync::Arc;

use isoscope_check::{Checker, Options as CheckOptions, Verdict};
use isoscope_history::{Datum, History, OpKind, Outcome, Value};
use isoscope_levels::Level;
use isoscope_record::{
    Kind, Limits, Monitor, Options, Plan, PlanSpec, Recording, Server, ServerKind, Subject, Target, Workload,
};
use page::Page;

/// The history of a session, and how many statements of its log deleted nothing.
fn record(subject: Subject) -> (History, usize) {
    let spec = PlanSpec { kind: Kind::Scan, sessions: 1, keys: 12, seed: 3, ..PlanSpec::default() };
    let mut recording = Recording {
        subject,
        workload: Workload::KeyValue(Plan::new(spec).unwrap()),
        sessions: 1,
        seed: 3,
        limits: Limits { txns: Some(150), ..Limits::default() },
        faults: Vec::new(),
        server: None,
        keep_tables: false,
    };
    let (history, log) = (Page::default(), Page::default());
    let summary = recording.run(Box::new(history.clone()), Some(Box::new(log.clone())), &Monitor::new(1));
    assert!(summary.trouble.is_empty(), "{:?}", summary.trouble);
    let log = log.text();
    let missed = log.lines().filter(|line| line.contains("DELETE FROM") && line.contains("\"count\":0"));
    (history.history(), missed.count())
}

fn open(url: &str, isolation: &str) -> Subject {
    let database = Target::parse(url).unwrap().open(Some(isolation), &Options::default()).unwrap();
    Subject::Database(Arc::from(database))
}

/// Replays a serial history. Returns how many single reads found nothing.
fn replay(history: &History, inserts_overwrite: bool) -> usize {
    let int = |value: Value| match history.datum(value) {
        Datum::Int(n) => Some(n),
        Datum::Nil => None,
        other => panic!("{other:?}"),
    };
    assert_eq!(int(history.default_initial()), None, "tables begin empty");
    let mut rows: BTreeMap<i64, i64> = BTreeMap::new();
    let mut absent = 0;
    for txn in history.txns() {
        let mut mine = rows.clone();
        let is_committed = history.outcome(txn) == Outcome::Committed;
        for op in history.ops_of(txn) {
            let key = int(history.key_name(op.key)).unwrap();
            match op.kind {
                OpKind::Read => {
                    absent += usize::from(int(op.value).is_none());
                    assert_eq!(int(op.value), mine.get(&key).copied(), "{txn:?} reads {key}");
                }
                OpKind::Insert => {
                    let before = mine.insert(key, int(op.value).unwrap());
                    assert!(before.is_none() || inserts_overwrite || !is_committed, "{txn:?} inserts {key}");
                }
                OpKind::Delete => {
                    assert!(mine.remove(&key).is_some(), "{txn:?} deletes {key}, which is not there");
                }
                OpKind::RangeRead => {
                    let row = history.range(op.id).unwrap();
                    let (low, high) = (int(row.low).unwrap(), int(row.high).unwrap());
                    let found: Vec<(i64, i64)> =
                        row.live.iter().map(|&(k, v)| (int(k).unwrap(), int(v).unwrap())).collect();
                    let there: Vec<(i64, i64)> = mine.range(low..=high).map(|(&k, &v)| (k, v)).collect();
                    assert_eq!((key, found), (low, there), "{txn:?} reads a range");
                }
                other => panic!("{other:?}"),
            }
        }
        if is_committed {
            rows = mine;
        }
    }
    absent
}

/// A DELETE that found nothing is recorded as a read if it used the snapshot of reads, and not recorded
/// otherwise.
fn assert_recorded(url: &str, isolation: &str, misses_are_reads: bool) {
    let (history, missed) = record(open(url, isolation));
    let absent = replay(&history, false);
    assert!(missed > 10, "{missed} deletes found nothing");
    let log_reads = history.txns().flat_map(|txn| history.ops_of(txn)).filter(|op| op.kind == OpKind::Read);
    let (reads, plain) = (log_reads.count(), plain_reads(&history, missed, misses_are_reads));
    assert_eq!(reads, plain, "{url} {isolation}: {absent} reads of absent keys");
}

/// The expected number of single reads: those of the plan, and the deletes that found nothing if these are
/// reads.
fn plain_reads(history: &History, missed: usize, misses_are_reads: bool) -> usize {
    let spec = PlanSpec { kind: Kind::Scan, sessions: 1, keys: 12, seed: 3, ..PlanSpec::default() };
    let plan = Plan::new(spec).unwrap();
    let mut steps = Vec::new();
    let mut planned = 0;
    for (number, txn) in history.txns().enumerate() {
        plan.steps(0, number as u64, 0, &mut steps);
        // A failed transaction stops at the INSERT that failed, which is its last operation.
        let end = match history.ops_of(txn).last() {
            Some(op) if history.outcome(txn) != Outcome::Committed => {
                let Datum::Int(value) = history.datum(op.value) else { panic!("not an insert") };
                steps
                    .iter()
                    .position(|step| matches!(step, isoscope_record::Step::Insert(_, v) if *v == value))
                    .unwrap()
            }
            _ => steps.len(),
        };
        planned += steps[..end].iter().filter(|step| matches!(step, isoscope_record::Step::Read(_))).count();
    }
    planned + if misses_are_reads { missed } else { 0 }
}

#[test]
fn sqlite_rows() {
    assert_recorded("sqlite:", "serializable", true);
    assert_promise_kept("sqlite:", "serializable");
}

#[test]
fn postgres_rows() {
    let server = Server::start::<&str>(ServerKind::Postgres, &[]).unwrap_or_else(|error| panic!("{error}"));
    for (isolation, misses_are_reads) in
        [("read-committed", false), ("repeatable-read", true), ("serializable", true)]
    {
        assert_recorded(&server.url(), isolation, misses_are_reads);
        assert_promise_kept(&server.url(), isolation);
    }
}

#[test]
fn mariadb_rows() {
    let server = Server::start::<&str>(ServerKind::MariaDb, &[]).unwrap_or_else(|error| panic!("{error}"));
    for isolation in ["read-committed", "repeatable-read", "serializable"] {
        assert_recorded(&server.url(), isolation, false);
        assert_promise_kept(&server.url(), isolation);
    }
}

#[test]
fn memory_rows() {
    let (history, _) = record(Subject::Memory(Level::Serializable, Vec::new()));
    assert!(replay(&history, true) > 10);
}

/// Several concurrent sessions: the promise for rows holds, range reads included.
fn assert_promise_kept(url: &str, isolation: &str) {
    for seed in 0..4 {
        let spec = PlanSpec { kind: Kind::Scan, sessions: 6, keys: 8, seed, ..PlanSpec::default() };
        let mut recording = Recording {
            subject: open(url, isolation),
            workload: Workload::KeyValue(Plan::new(spec).unwrap()),
            sessions: 6,
            seed,
            limits: Limits { txns: Some(100), ..Limits::default() },
            faults: Vec::new(),
            server: None,
            keep_tables: false,
        };
        let promise = recording.promise().unwrap();
        let page = Page::default();
        let summary = recording.run(Box::new(page.clone()), None, &Monitor::new(6));
        assert!(summary.trouble.is_empty(), "{:?}", summary.trouble);
        let history = page.history();
        let expanded = history.expand_ranges().unwrap().unwrap_or(history);
        let judgement = Checker::new(&expanded, CheckOptions::default()).check(promise.level);
        let is_kept = matches!(judgement.verdict, Verdict::Holds(_));
        assert!(is_kept, "{url} {isolation} seed {seed}: {:?}\n{}", judgement.verdict, page.text());
    }
}

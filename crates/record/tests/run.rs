//! Runs against the in-memory store and against clients that fail on purpose: the recorded history.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

#[path = "support/page.rs"]
mod page;

use std::time::Duration;

use isoscope_check::{Checker, Options, Verdict};
use isoscope_history::{History, Outcome, Session};
use isoscope_levels::Level;
use isoscope_record::{
    Bug, Class, Client, ConnectionId, Failure, Header, KeyValueClient, Kind, Limits, MemoryStore, Monitor,
    Plan, PlanSpec, Record, Scalar, Seen, Sink, Stamps, Step, run,
};
use isoscope_workload::Store;
use page::Page;
use serde_json::Value;

/// A sink with its header, and with frequent marks.
fn begun(page: &Page, initial: Option<i64>) -> Sink {
    let header = Header { initial, initials: Vec::new(), workload: Value::Null, recorder: Value::Null };
    page.sink(&header, Duration::from_millis(1))
}

fn plan(kind: Kind, seed: u64) -> Plan {
    Plan::new(PlanSpec { kind, sessions: 4, ops: 6, keys: 8, retries: 3, seed, ..PlanSpec::default() })
        .unwrap()
}

fn record(plan: &Plan, level: Level, bugs: Vec<Bug>) -> History {
    let memory = MemoryStore::new(level, bugs, plan);
    let client = |session| -> Box<dyn Client + '_> {
        Box::new(KeyValueClient::new(plan, session, Box::new(memory.session(session))))
    };
    let page = Page::default();
    let sink = begun(&page, plan.spec.kind.initial());
    let limits = Limits { txns: Some(200), retries: 3, ..Limits::default() };
    run((0..plan.spec.sessions).map(client).collect(), &limits, &sink, &Monitor::new(4)).unwrap();
    sink.finish().unwrap();
    page.history()
}

fn holds(history: &History, level: Level) -> bool {
    let judgement = Checker::new(history, Options::default()).check(level);
    matches!(judgement.verdict, Verdict::Holds(_))
}

#[test]
fn a_store_keeps_its_level() {
    for level in Store::LEVELS {
        for kind in [Kind::Register, Kind::ListAppend, Kind::ReadModifyWrite, Kind::BlindWrite] {
            let history = record(&plan(kind, 1), level, Vec::new());
            assert!(holds(&history, level), "{level} {kind:?}");
            assert!(history.txn_count() >= 800);
        }
    }
}

#[test]
fn every_bug_is_found() {
    for (bug, level) in [
        ("skip-validation:0.2", Level::Snapshot),
        ("skip-validation:0.2", Level::Serializable),
        ("torn-commit:0.3", Level::ReadAtomic),
        ("aborted-read:0.5", Level::Serializable),
        ("stale-read:0.1", Level::Serializable),
    ] {
        let found = (0..5).any(|seed| {
            let plan = plan(Kind::ReadModifyWrite, seed);
            !holds(&record(&plan, level, vec![bug.parse().unwrap()]), level)
        });
        assert!(found, "{bug} at {level}");
    }
}

#[test]
fn scans_inserts_and_deletes_are_kept() {
    let history = record(&plan(Kind::Scan, 1), Level::Serializable, Vec::new());
    let kinds: std::collections::HashSet<_> =
        history.txns().flat_map(|txn| history.ops_of(txn)).map(|op| op.kind.name()).collect();
    for kind in ["read", "insert", "delete", "range-read"] {
        assert!(kinds.contains(kind), "{kinds:?}");
    }
}

/// A client whose transactions end in a given way.
struct Fickle {
    ends: Vec<End>,
    next: usize,
    reconnects: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Commit,
    RollBack,
    FailEarly(Class),
    FailAtCommit(Class),
}

impl Fickle {
    fn now(&self) -> End {
        self.ends[self.next]
    }
}

fn failure(class: Class) -> Failure {
    Failure { class, code: Some("X".to_owned()), message: "on \"purpose\"\n".to_owned() }
}

impl Client for Fickle {
    fn connection(&self) -> Option<ConnectionId> {
        None
    }

    fn execute(&mut self, number: u64, attempt: u32, record: &mut Record) -> Result<bool, Failure> {
        self.next = (number + u64::from(attempt)) as usize;
        record.step(Step::Write(Scalar::from("x"), i64::try_from(self.next).unwrap()), Seen::Done);
        match self.now() {
            End::FailEarly(class) => Err(failure(class)),
            end => Ok(end != End::RollBack),
        }
    }

    fn commit(&mut self) -> Result<Stamps, Failure> {
        match self.now() {
            End::FailAtCommit(class) => Err(failure(class)),
            _ => Ok(Stamps { begin: None, commit: Some(5) }),
        }
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn reconnect(&mut self) -> Result<(), Failure> {
        self.reconnects += 1;
        if self.reconnects.is_multiple_of(2) { Ok(()) } else { Err(failure(Class::Connection)) }
    }
}

fn outcomes(ends: &[End], retries: u32) -> (Vec<(u32, Outcome)>, Monitor, Result<(), Failure>) {
    let page = Page::default();
    let sink = begun(&page, Some(0));
    let monitor = Monitor::new(1);
    let limits = Limits { txns: Some(ends.len() as u64), retries, ..Limits::default() };
    let client = Fickle { ends: ends.to_vec(), next: 0, reconnects: 0 };
    let result = run(vec![Box::new(client)], &limits, &sink, &monitor);
    sink.finish().unwrap();
    let history = page.history();
    let txns = history.txns().map(|txn| (history.session_of(txn).0, history.outcome(txn))).collect();
    (txns, monitor, result)
}

/// Only a commit that lost its connection is unknown, and what follows it is another session.
#[test]
fn outcomes_are_what_the_client_knows() {
    use Outcome::{Aborted, Committed, Unknown};
    let ends = [
        End::Commit,
        End::RollBack,
        End::FailEarly(Class::Connection),
        End::FailAtCommit(Class::Serialization),
        End::FailAtCommit(Class::Connection),
        End::Commit,
    ];
    let (txns, monitor, result) = outcomes(&ends, 0);
    assert_eq!(result, Ok(()));
    let expected = [Committed, Aborted, Aborted, Aborted, Unknown, Committed];
    assert_eq!(txns.iter().map(|txn| txn.1).collect::<Vec<_>>(), expected);
    assert_eq!(txns.iter().map(|txn| txn.0).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 1]);
    let figures = monitor.figures();
    assert_eq!((figures.committed, figures.aborted(), figures.unknown, figures.reconnects), (2, 3, 1, 2));
}

#[test]
fn a_retryable_failure_is_retried() {
    let ends = [End::FailEarly(Class::Deadlock), End::Commit];
    let (txns, monitor, _) = outcomes(&ends, 1);
    assert_eq!(txns.len(), 3);
    assert_eq!(monitor.figures().retried, 1);
}

#[test]
fn a_persistent_failure_ends_the_run() {
    let (txns, _, result) = outcomes(&[End::FailEarly(Class::Denied); 5], 3);
    assert_eq!((txns.len(), result.unwrap_err().class), (1, Class::Denied));
    let (txns, _, result) = outcomes(&[End::FailEarly(Class::Other); 100], 0);
    assert_eq!(result.unwrap_err().class, Class::Other);
    assert!(txns.len() < 100);
}

#[test]
fn a_stopped_run_keeps_what_it_has() {
    let page = Page::default();
    let sink = begun(&page, Some(0));
    let plan = plan(Kind::Register, 1);
    let memory = MemoryStore::new(Level::Serializable, Vec::new(), &plan);
    let monitor = Monitor::new(1);
    let limits = Limits { txns: None, duration: None, ..Limits::default() };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while monitor.figures().committed < 50 {
                std::thread::yield_now();
            }
            monitor.stop();
        });
        let client = KeyValueClient::new(&plan, 0, Box::new(memory.session(0)));
        run(vec![Box::new(client)], &limits, &sink, &monitor).unwrap();
    });
    sink.finish().unwrap();
    let history = page.history();
    assert!(history.txn_count() >= 50);
    assert_eq!(history.session_name(Session(0)).as_small(), Some(0));
}

#[test]
fn a_duration_ends_a_run() {
    let sink = Sink::new(None, None);
    let plan = plan(Kind::Register, 1);
    let memory = MemoryStore::new(Level::Serializable, Vec::new(), &plan);
    let limits = Limits { txns: None, duration: Some(Duration::from_millis(50)), ..Limits::default() };
    let client = KeyValueClient::new(&plan, 0, Box::new(memory.session(0)));
    run(vec![Box::new(client)], &limits, &sink, &Monitor::new(1)).unwrap();
}

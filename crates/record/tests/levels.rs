//! Key-value workloads against real databases at all their isolation levels: documented promises hold, and
//! anomalies beyond the promise are found.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

#[path = "support/page.rs"]
mod page;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use isoscope_check::{Checker, Options as CheckOptions, Verdict};
use isoscope_history::{History, Outcome};
use isoscope_levels::{Anomaly, Level};
use isoscope_record::{
    Fault, Figures, Kind, Limits, Monitor, Options, Plan, PlanSpec, Recording, Server, ServerKind, Subject,
    Target, Workload, isolations, log,
};
use isoscope_verify::Verifier;
use page::Page;

fn start(kind: ServerKind, settings: &[&str]) -> Server {
    Server::start(kind, settings).unwrap_or_else(|error| panic!("{error}"))
}

const SESSIONS: u32 = 6;

fn recording(url: &str, isolation: &str, kind: Kind, keys: u32, seed: u64) -> Recording {
    let database = Target::parse(url).unwrap().open(Some(isolation), &Options::default()).unwrap();
    let plan =
        Plan::new(PlanSpec { kind, sessions: SESSIONS, keys, retries: 2, seed, ..PlanSpec::default() })
            .unwrap();
    Recording {
        subject: Subject::Database(Arc::from(database)),
        workload: Workload::KeyValue(plan),
        sessions: SESSIONS,
        seed,
        limits: Limits { txns: Some(100), retries: 2, ..Limits::default() },
        faults: Vec::new(),
        server: None,
        keep_tables: false,
    }
}

/// Records, and returns the history and the log.
fn record(recording: &mut Recording) -> (History, Vec<u8>) {
    record_watched(recording, &Monitor::new(SESSIONS as usize))
}

fn record_watched(recording: &mut Recording, monitor: &Monitor) -> (History, Vec<u8>) {
    let (history, log) = (Page::default(), Page::default());
    let summary = recording.run(Box::new(history.clone()), Some(Box::new(log.clone())), monitor);
    assert!(summary.trouble.is_empty(), "{:?}", summary.trouble);
    (history.history(), log.bytes())
}

/// The verdict on a level, which the verifier has confirmed.
fn verdict(history: &History, level: Level) -> Verdict {
    let judgement = Checker::new(history, CheckOptions::default()).check(level);
    Verifier::new(history).verify(&judgement).unwrap();
    judgement.verdict
}

fn assert_promises_kept(url: &str) {
    let vendor = Target::parse(url).unwrap().open(None, &Options::default()).unwrap().vendor();
    for row in isolations(vendor).iter().filter(|row| row.setting.is_none()) {
        for kind in [Kind::Register, Kind::ListAppend, Kind::ReadModifyWrite, Kind::BlindWrite] {
            let mut recording = recording(url, row.name, kind, 12, 1);
            let promise = recording.promise().unwrap();
            assert_eq!(promise.level, if kind.is_list() { row.computed } else { row.registers });
            let (history, _) = record(&mut recording);
            let verdict = verdict(&history, promise.level);
            assert!(matches!(verdict, Verdict::Holds(_)), "{vendor} {} {kind:?}: {verdict:?}", row.name);
        }
    }
}

/// Whether a level is violated by an anomaly in some run. The first few runs are enough unless the machine is very busy.
fn finds(url: &str, isolation: &str, kind: Kind, level: Level, wanted: &[Anomaly]) -> bool {
    (0..200).any(|seed| {
        let (history, _) = record(&mut recording(url, isolation, kind, 8, seed));
        match verdict(&history, level) {
            Verdict::Violated(findings) => findings.iter().any(|finding| wanted.contains(&finding.anomaly)),
            _ => false,
        }
    })
}

#[test]
fn sqlite_keeps_its_promise() {
    for url in ["sqlite:", "sqlite:?journal=delete", "sqlite:?transactions=immediate"] {
        assert_promises_kept(url);
    }
}

#[test]
fn postgres_keeps_its_promises_and_write_skew_is_found() {
    let server = start(ServerKind::Postgres, &[]);
    assert_promises_kept(&server.url());
    let find = |isolation, kind, level, wanted| finds(&server.url(), isolation, kind, level, wanted);
    let unrepeatable = [Anomaly::NonRepeatableRead];
    assert!(find("read-committed", Kind::ReadModifyWrite, Level::ReadAtomic, &unrepeatable));
    assert!(find("repeatable-read", Kind::ReadModifyWrite, Level::Serializable, &[Anomaly::WriteSkew]));
    assert!(find("repeatable-read", Kind::ListAppend, Level::Serializable, &[Anomaly::WriteSkew]));
}

#[test]
fn mariadb_keeps_its_promises_and_other_anomalies_are_found() {
    let server = start(ServerKind::MariaDb, &[]);
    assert_promises_kept(&server.url());
    let find = |isolation, kind, level, wanted| finds(&server.url(), isolation, kind, level, wanted);
    assert!(find("repeatable-read", Kind::ReadModifyWrite, Level::AdyaPl299, &[Anomaly::LostUpdate]));
    // The transaction's own UPDATE appended to another version than the one it had read.
    let exposed = [Anomaly::NonRepeatableRead, Anomaly::NotMyOwnWrite, Anomaly::FracturedRead];
    assert!(find("repeatable-read", Kind::ListAppend, Level::ReadAtomic, &exposed));
}

#[test]
fn mariadb_keeps_its_promise_of_snapshot_isolation() {
    let server = start(ServerKind::MariaDb, &["innodb_snapshot_isolation=ON"]);
    for kind in [Kind::ReadModifyWrite, Kind::ListAppend] {
        let mut recording = recording(&server.url(), "repeatable-read", kind, 8, 1);
        assert_eq!(recording.promise().unwrap().level, Level::Snapshot);
        let (history, _) = record(&mut recording);
        assert!(matches!(verdict(&history, Level::Snapshot), Verdict::Holds(_)), "{kind:?}");
    }
}

/// Connections are killed and the server crashes. No confirmed commit is lost, and no failed one takes
/// effect.
#[test]
fn outcomes_are_correct_in_spite_of_faults() {
    for kind in [ServerKind::Postgres, ServerKind::MariaDb] {
        let server = start(kind, &[]);
        let mut recording = recording(&server.url(), "serializable", Kind::ReadModifyWrite, 20, 1);
        recording.server = Some(server);
        recording.limits = Limits { txns: None, ..Limits::default() };
        recording.faults = [("kill", 20), ("pause", 1500), ("restart", 2500)]
            .map(|(name, ms)| Fault::parse(name, Duration::from_millis(ms)).unwrap())
            .to_vec();
        // Long enough for every fault, and on a slow machine longer.
        let monitor = Monitor::new(SESSIONS as usize);
        let (history, _) = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_secs(6));
                let is_short = |figures: Figures| figures.committed <= 100 || figures.aborted() <= 10;
                while is_short(monitor.figures()) && !monitor.stopped() {
                    thread::sleep(Duration::from_millis(10));
                }
                monitor.stop();
            });
            record_watched(&mut recording, &monitor)
        });
        let outcomes = |outcome| history.txns().filter(|&txn| history.outcome(txn) == outcome).count();
        assert!(outcomes(Outcome::Committed) > 100);
        assert!(outcomes(Outcome::Aborted) > 10);
        assert!(matches!(verdict(&history, Level::StrictSerializable), Verdict::Holds(_)), "{kind:?}");
    }
}

/// Every statement of the first attempts, by transaction.
fn statements(log: &[u8]) -> Vec<String> {
    let log = log::read(log).unwrap();
    let mut lines: Vec<String> = log
        .entries
        .iter()
        .map(|entry| {
            format!(
                "{:?} {:?} {:05} {} {:?}",
                entry.session, entry.txn, entry.number, entry.sql, entry.params
            )
        })
        .collect();
    lines.sort();
    lines
}

/// A single session has no failures and no limits, so the seed determines every statement.
#[test]
fn the_seed_reproduces_the_statements() {
    for kind in Kind::ALL {
        let run = |seed| {
            let database = Target::parse("sqlite:").unwrap().open(None, &Options::default()).unwrap();
            let plan =
                Plan::new(PlanSpec { kind, sessions: 1, keys: 12, seed, ..PlanSpec::default() }).unwrap();
            let mut recording = Recording {
                subject: Subject::Database(Arc::from(database)),
                workload: Workload::KeyValue(plan),
                sessions: 1,
                ..recording("sqlite:", "serializable", kind, 12, seed)
            };
            statements(&record(&mut recording).1)
        };
        assert_eq!(run(1), run(1), "{kind:?}");
        assert_ne!(run(1), run(2), "{kind:?}");
    }
}

/// PostgreSQL reports a commit timestamp for transactions that write, and none for read-only ones.
#[test]
fn timestamps_are_recorded() {
    let server = start(ServerKind::Postgres, &["track_commit_timestamp=on"]);
    let (history, _) = record(&mut recording(&server.url(), "serializable", Kind::BlindWrite, 12, 1));
    let stamps = history.timestamps().unwrap();
    for txn in history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed) {
        let writes = history.ops_of(txn).any(|op| op.kind.is_write());
        assert_eq!(writes, stamps.end[txn.index()] > 0, "{txn:?}");
    }
}

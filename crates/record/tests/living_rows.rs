//! Applications whose rows appear and vanish, on real databases: every promise is kept, rules hold in serializable runs, and
//! SQL gives the history that the store in memory gives.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::sync::Arc;

use isoscope_application::{self as core, Call, TpccSpec, VoterSpec, WikipediaSpec};
use isoscope_check::{Checker, Options as CheckOptions, Verdict};
use isoscope_history::{History, OpKind};
use isoscope_levels::Level;
use isoscope_record::workload::{Application, Hosted, Tpcc, Voter, Wikipedia};
use isoscope_record::{
    Class, Database, Isolation, Limits, Monitor, Options, Output, Recording, Server, ServerKind, Subject,
    Target, Workload, isolations,
};
use isoscope_replay::{Latest, Store};
use isoscope_verify::Verifier;

#[path = "support/page.rs"]
mod page;

use page::Page;

const SESSIONS: u32 = 4;
const TXNS: u64 = 30;

fn open(url: &str, isolation: &str) -> Arc<dyn Database> {
    Arc::from(Target::parse(url).unwrap().open(Some(isolation), &Options::default()).unwrap())
}

/// A few rows, and many transactions that change them.
fn applications() -> Vec<Arc<dyn Application>> {
    let voter = VoterSpec { phones: 6, ..VoterSpec::default() };
    let tpcc = TpccSpec {
        districts: 2,
        customers: 6,
        items: 8,
        sessions: SESSIONS,
        mix: [40, 30, 10, 10, 10],
        ..TpccSpec::default()
    };
    let wikipedia = WikipediaSpec {
        pages: 3,
        users: 3,
        active_pages: 3,
        active_users: 3,
        mix: [15, 15, 20, 30, 10],
        ..WikipediaSpec::default()
    };
    vec![
        Arc::new(Hosted::of(Voter::new(voter).unwrap())),
        Arc::new(Hosted::of(Tpcc::new(tpcc).unwrap())),
        Arc::new(Hosted::of(Wikipedia::new(wikipedia).unwrap())),
    ]
}

/// Records a run, as `isoscope record` does. Returns the history and the broken rules.
fn record(
    application: &Arc<dyn Application>,
    database: &Arc<dyn Database>,
    sessions: u32,
    seed: u64,
) -> (History, Vec<String>) {
    let page = Page::default();
    let mut recording = Recording {
        subject: Subject::Database(Arc::clone(database)),
        workload: Workload::Application(Arc::clone(application)),
        sessions,
        seed,
        limits: Limits { txns: Some(TXNS), retries: 3, ..Limits::default() },
        faults: Vec::new(),
        server: None,
        keep_tables: false,
    };
    let output: Output = Box::new(page.clone());
    let monitor = Monitor::new(sessions as usize);
    let summary = recording.run(output, None, &monitor);
    assert!(summary.trouble.is_empty(), "{:?}", summary.trouble);
    (page.history(), summary.broken)
}

/// The verdict, verified.
fn verdict(history: &History, level: Level) -> Verdict {
    let judgement = Checker::new(history, CheckOptions::default()).check(level);
    let verified = Verifier::new(history).verify(&judgement);
    assert!(verified.is_ok(), "{level}: {verified:?}");
    judgement.verdict
}

fn expanded(history: History) -> History {
    history.expand_ranges().unwrap().unwrap_or(history)
}

fn every_level_keeps_its_promise(url: &str) {
    let vendor = Target::parse(url).unwrap().open(None, &Options::default()).unwrap().vendor();
    for row in isolations(vendor).iter().filter(|row| row.setting.is_none()) {
        for application in applications() {
            keeps_its_promise(url, row, &application);
        }
    }
}

fn keeps_its_promise(url: &str, row: &Isolation, application: &Arc<dyn Application>) {
    let database = open(url, row.name);
    let what = format!("{} on {} at {}", application.name(), row.vendor, row.name);
    let (history, broken) = record(application, &database, SESSIONS, 1);
    let history = expanded(history);
    assert!(history.txn_count() as u64 >= u64::from(SESSIONS) * TXNS, "{what}");
    let verdict = verdict(&history, row.rows);
    assert!(matches!(verdict, Verdict::Holds(_)), "{what}: {} is {verdict:?}", row.rows);
    if row.rows.implies(Level::Serializable) {
        assert_eq!(broken, [""; 0], "{what}");
    }
    let kinds: Vec<OpKind> = history.txns().flat_map(|txn| history.ops_of(txn)).map(|op| op.kind).collect();
    assert!(kinds.contains(&OpKind::Insert), "{what}");
}

/// A history as text, by the names of keys.
fn lines(history: &History) -> Vec<String> {
    let name = |value| format!("{:?}", history.table().datum(value));
    let txns = history.txns().map(|txn| {
        let ops = history.ops_of(txn).map(|op| {
            let kind = if op.kind.is_write() { "writes" } else { "reads" };
            format!("{kind} {} {}", name(history.key_name(op.key)), name(op.value))
        });
        format!("{:?} {:?}", history.outcome(txn), ops.collect::<Vec<_>>())
    });
    txns.collect()
}

/// One session on SQLite, and the same transactions on the store with the newest versions: the same history.
#[test]
fn sql_and_the_store_do_the_same() {
    for application in applications() {
        for seed in 0..3 {
            let (recorded, broken) = record(&application, &open("sqlite:", "serializable"), 1, seed);
            let core: &dyn core::Application = application.itself();
            let mut store = Store::new(core, Level::Serializable, seed).unwrap();
            store.run_all((0..TXNS).map(|number| Call { session: 0, number }), &mut Latest).unwrap();
            let replayed = store.history_by_values(&core.tables()).unwrap();
            let (recorded, replayed) = (lines(&expanded(recorded)), lines(&expanded(replayed)));
            for (number, (one, other)) in recorded.iter().zip(&replayed).enumerate() {
                assert_eq!(one, other, "{} seed {seed}: transaction {number}", application.name());
            }
            assert_eq!(recorded.len(), replayed.len());
            assert_eq!(broken, store.broken_rules());
        }
    }
}

#[test]
fn sqlite() {
    every_level_keeps_its_promise("sqlite:");
    every_level_keeps_its_promise("sqlite:?journal=wal");
}

fn start(kind: ServerKind) -> Server {
    match Server::start::<&str>(kind, &[]) {
        Ok(server) => server,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn postgres() {
    let server = start(ServerKind::Postgres);
    every_level_keeps_its_promise(&server.url());
    rules_are_broken(&server.url(), "read-committed");
}

#[test]
fn mariadb() {
    let server = start(ServerKind::MariaDb);
    every_level_keeps_its_promise(&server.url());
    rules_are_broken(&server.url(), "repeatable-read");
}

/// Below serializable, TPC-C loses updates, and the rules show it.
fn rules_are_broken(url: &str, isolation: &str) {
    let application = &applications()[1];
    let database = open(url, isolation);
    for seed in 0..20 {
        let (history, broken) = record(application, &database, SESSIONS, seed);
        if !broken.is_empty() {
            assert!(matches!(verdict(&expanded(history), Level::Serializable), Verdict::Violated(_)));
            return;
        }
    }
    panic!("no rule was broken");
}

/// A failure that is no conflict is reported as what it is.
#[test]
fn a_row_that_exists_is_a_constraint() {
    let application = &applications()[0];
    let database = open("sqlite:", "serializable");
    let mut record = isoscope_record::Record::new(true);
    let mut connection = database.connect().unwrap();
    application.load(database.vendor(), &mut *connection, &mut record).unwrap();
    let mut client = isoscope_record::workload::client(application, 0, 1, &database).unwrap();
    assert_eq!(client.execute(0, 0, &mut record), Ok(true));
    client.commit().unwrap();
    // The same transaction again inserts the same row; the number has more than one vote.
    let again = client.execute(0, 0, &mut record).unwrap_err();
    assert_eq!(again.class, Class::Constraint);
    client.rollback().unwrap();
    application.drop_tables(&mut *connection).unwrap();
}

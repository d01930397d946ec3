//! Applications against real databases: each level keeps its promise, and anomalies that it allows are found.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::collections::BTreeMap;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use isoscope_formats::{Input, ReadOptions};
use isoscope_levels::{Anomaly, Level};
use isoscope_record::log::{self, Entry, LOADER};
use isoscope_record::workload::{Application, Bank, BankSpec, Hotspot, SmallBank, SmallBankSpec, client};
use isoscope_record::{
    Address, Answer, Class, Database, Header, Limits, Monitor, Options, Output, Record, Recording, Scalar,
    Server, ServerKind, Statement, Subject, Target, Workload, isolations, run as recorded,
};
use serde_json::{Value, json};

#[path = "support/page.rs"]
mod page;
mod support;

use page::Page;
use support::{Ended, anomalies, history, holds, load, overlapped, run, run_session};

const SESSIONS: u32 = 6;
const TXNS: u64 = 60;

fn open(url: &str, isolation: &str) -> Arc<dyn Database> {
    Arc::from(Target::parse(url).unwrap().open(Some(isolation), &Options::default()).unwrap())
}

fn bank() -> Arc<dyn Application> {
    Arc::new(Bank::new(BankSpec::default()).unwrap())
}

fn small_bank() -> Arc<dyn Application> {
    Arc::new(SmallBank::new(SmallBankSpec::default()).unwrap())
}

/// A few accounts with much contention, most of them with overdraft.
fn crowded_bank() -> Arc<dyn Application> {
    let hotspot = Hotspot { part: 0.5, draws: 0.8 };
    Arc::new(
        Bank::new(BankSpec { accounts: 8, mix: [1, 3, 1, 6, 1], hotspot, ..BankSpec::default() }).unwrap(),
    )
}

fn broken(application: &Arc<dyn Application>, database: &Arc<dyn Database>) -> Vec<String> {
    application.invariant(&mut *database.connect().unwrap()).unwrap()
}

/// Both applications at every level of a database: the promise holds, every failure has an ordinary reason,
/// and serializable runs break no invariant.
fn every_level_keeps_its_promise(url: &str) {
    let vendor = Target::parse(url).unwrap().open(None, &Options::default()).unwrap().vendor();
    for row in isolations(vendor).iter().filter(|row| row.setting.is_none()) {
        for application in [bank(), small_bank(), crowded_bank()] {
            let database = open(url, row.name);
            let run = run(&application, &database, SESSIONS, TXNS, 1);
            let what = format!("{} on {vendor} at {}", application.name(), row.name);
            let failures = run.iter().filter_map(|txn| txn.failure.as_ref());
            assert!(
                failures.clone().all(|f| f.class.is_ordinary()),
                "{what}: {:?}",
                failures.collect::<Vec<_>>()
            );
            let history = history(&*application, &run);
            assert_eq!(holds(&history, row.registers), Some(true), "{what}: {}", row.registers);
            if row.registers.implies(Level::Serializable) {
                assert_eq!(broken(&application, &database), [""; 0], "{what}");
            }
            application.drop_tables(&mut *database.connect().unwrap()).unwrap();
        }
    }
}

/// The first statement of each transaction. The seed determines it, independent of any result.
fn beginnings(run: &[Ended]) -> Vec<(u32, u64, String, Vec<Scalar>)> {
    let first = |txn: &Ended| {
        let event = txn.record.events.iter().find(|event| event.sql != "BEGIN").unwrap();
        (txn.session, txn.number, event.sql.clone(), event.params.clone())
    };
    run.iter().map(first).collect()
}

fn the_seed_determines_how_transactions_begin(url: &str, isolation: &str) {
    for application in [bank(), small_bank()] {
        let database = open(url, isolation);
        let begin = |seed| beginnings(&run(&application, &database, SESSIONS, 20, seed));
        assert_eq!(begin(1), begin(1));
        assert_ne!(begin(1), begin(2));
    }
}

/// The operations of an answered statement, in the spelling of the history.
fn operations(entry: &Entry) -> Vec<Value> {
    let tables = ["account", "savings", "checking"];
    let Some(table) = tables.into_iter().find(|table| entry.sql.contains(&format!("isoscope_{table} ")))
    else {
        return Vec::new();
    };
    let int = |scalar: &Scalar| if let Scalar::Int(n) = scalar { *n } else { panic!("{scalar:?}") };
    let key = |row: &Scalar| format!("{table}/{}", int(row));
    match &entry.answer {
        Err(_) => Vec::new(),
        Ok(Answer::Count(_)) => vec![json!(["w", key(&entry.params[1]), int(&entry.params[0])])],
        Ok(Answer::Rows(rows)) => rows
            .iter()
            .map(|row| match &row[..] {
                [value] => json!(["read", key(&entry.params[0]), int(value)]),
                [id, value] => json!(["read", key(id), int(value)]),
                other => panic!("{other:?}"),
            })
            .collect(),
    }
}

/// Files as `isoscope record` writes them: the history follows from the log, transaction by transaction.
fn the_history_follows_from_the_log(url: &str, isolation: &str) {
    for application in [bank(), small_bank()] {
        let (history, log) = (Page::default(), Page::default());
        let mut recording = Recording {
            subject: Subject::Database(open(url, isolation)),
            workload: Workload::Application(application),
            sessions: 4,
            seed: 1,
            limits: Limits { txns: Some(50), retries: 1, ..Limits::default() },
            faults: Vec::new(),
            server: None,
            keep_tables: false,
        };
        let outputs: [Output; 2] = [Box::new(history.clone()), Box::new(log.clone())];
        let [history_file, log_file] = outputs;
        let summary = recording.run(history_file, Some(log_file), &Monitor::new(4));
        assert!(summary.trouble.is_empty(), "{:?}", summary.trouble);
        let log = log::read(log.text().as_bytes()).unwrap();
        assert_eq!(log.warnings, []);
        let mut statements: BTreeMap<(String, String), Vec<Entry>> = BTreeMap::new();
        for entry in log.entries.into_iter().filter(|entry| entry.session != Scalar::from(LOADER)) {
            let name = (format!("{:?}", entry.session), format!("{:?}", entry.txn));
            statements.entry(name).or_default().push(entry);
        }
        let name = |value: &Value| match value {
            Value::String(text) => format!("{:?}", Scalar::Text(text.clone())),
            other => format!("{:?}", Scalar::Int(other.as_i64().unwrap())),
        };
        for line in history.text().lines().skip(1) {
            let txn: Value = serde_json::from_str(line).unwrap();
            if txn.get("mark").is_some() {
                continue;
            }
            let entries = statements.remove(&(name(&txn["session"]), name(&txn["txn"]))).unwrap();
            assert!((0..).zip(&entries).all(|(number, entry)| entry.number == number));
            let derived: Vec<Value> = entries.iter().flat_map(operations).collect();
            assert_eq!(txn["ops"], Value::from(derived));
            let outcome = txn.get("outcome").map_or("committed", |outcome| outcome.as_str().unwrap());
            assert_eq!(entries.last().unwrap().ending.map(|ending| ending.outcome.name()), Some(outcome));
            let times = [entries[0].sent, entries.last().unwrap().answered].map(u64::cast_signed);
            let [invoked, returned] = [0, 1].map(|end| txn["times"][end].as_i64().unwrap());
            assert!(invoked <= times[0] && times[1] <= returned, "{invoked} {times:?} {returned}");
        }
        assert!(statements.is_empty(), "in the log alone: {:?}", statements.keys());
    }
}

#[test]
fn sqlite_is_serializable() {
    every_level_keeps_its_promise("sqlite:");
    every_level_keeps_its_promise("sqlite:?journal=wal");
    the_seed_determines_how_transactions_begin("sqlite:?transactions=immediate", "serializable");
    the_history_follows_from_the_log("sqlite:?transactions=immediate", "serializable");
}

/// A single session on a database has no failures, and the log is complete.
#[test]
fn a_log_of_sqlite_is_complete() {
    for application in [bank(), small_bank()] {
        let database = open("sqlite:", "serializable");
        let loaded = load(&application, &database);
        let mut client = client(&application, 0, 1, &database).unwrap();
        let run = run_session(&mut *client, 0, 40);
        let log = log::read(&support::log(&*application, &*database, 1, &loaded, &run)[..]).unwrap();
        let (load, rest): (Vec<_>, Vec<_>) =
            log.entries.iter().partition(|entry| entry.session == Scalar::from(LOADER));
        let rows: usize = load.iter().map(|entry| entry.params.len() / 2).sum();
        assert_eq!(rows, application.tables().iter().map(|table| table.rows.len()).sum::<usize>());
        assert!(rest.iter().all(|entry| entry.answer.is_ok() && entry.sent < entry.answered));
        assert_eq!(rest.iter().filter(|entry| entry.ending.is_some()).count(), 40);
        assert_eq!(broken(&application, &database), [""; 0]);
    }
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
    let url = server.url();
    every_level_keeps_its_promise(&url);
    the_seed_determines_how_transactions_begin(&url, "read-committed");
    the_history_follows_from_the_log(&url, "repeatable-read");
    write_skew_is_found(&url);
    killed_connections_break_nothing(&url);
    a_missing_privilege_is_reported(&url);
}

/// Two overdrafts of one pair, each relying on the balance that the other withdraws. The history and the
/// accounts show it.
fn write_skew_is_found(url: &str) {
    let application = crowded_bank();
    let database = open(url, "repeatable-read");
    let (mut skewed, mut below_zero) = (false, false);
    // In short runs no later deposit covers the overdraft.
    let txns = 8;
    for seed in 0..500 {
        let history = history(&*application, &overlapped(&application, &database, txns, seed));
        assert_eq!(holds(&history, Level::Snapshot), Some(true));
        skewed |= anomalies(&history, Level::Serializable).contains(&Anomaly::WriteSkew);
        below_zero |= broken(&application, &database).iter().any(|rule| rule.contains("went below zero"));
        if skewed && below_zero {
            return;
        }
    }
    panic!("write skew: {skewed}; overdrawn: {below_zero}");
}

fn a_missing_privilege_is_reported(url: &str) {
    let database = open(url, "read-committed");
    let mut owner = database.connect().unwrap();
    for sql in ["REVOKE CREATE ON SCHEMA public FROM PUBLIC", "CREATE ROLE guest LOGIN PASSWORD 'guest'"] {
        owner.execute(Statement::plain(sql)).unwrap();
    }
    let Target::Postgres(address) = Target::parse(url).unwrap() else { panic!("{url}") };
    let (user, password) = (Some("guest".to_owned()), Some("guest".to_owned()));
    let guest = Target::Postgres(Address { user, password, ..address });
    let guest = guest.open(None, &Options::default()).unwrap();
    let application = bank();
    application.drop_tables(&mut *owner).unwrap();
    let mut connection = guest.connect().unwrap();
    let failure = application.load(guest.vendor(), &mut *connection, &mut Record::new(false)).unwrap_err();
    assert_eq!(failure.class, Class::Denied);
    let message = "cannot create the table isoscope_account: the user lacks a privilege: ";
    assert!(failure.message.starts_with(message), "{failure}");
    // Another user's tables are not dropped either.
    load(&application, &database);
    let failure = application.drop_tables(&mut *connection).unwrap_err();
    assert_eq!(failure.class, Class::Denied);
    assert!(failure.message.starts_with("cannot drop the table isoscope_account"), "{failure}");
}

#[test]
fn mariadb() {
    let server = start(ServerKind::MariaDb);
    let url = server.url();
    every_level_keeps_its_promise(&url);
    the_seed_determines_how_transactions_begin(&url, "read-committed");
    the_history_follows_from_the_log(&url, "repeatable-read");
    lost_updates_are_found(&url);
    killed_connections_break_nothing(&url);
}

/// A deposit that another one overwrites. The history and the accounts show it.
fn lost_updates_are_found(url: &str) {
    let application = crowded_bank();
    let database = open(url, "repeatable-read");
    for seed in 0..100 {
        let history = history(&*application, &overlapped(&application, &database, TXNS, seed));
        let is_lost = anomalies(&history, Level::Snapshot).contains(&Anomaly::LostUpdate);
        let money = broken(&application, &database).iter().any(|rule| rule.starts_with("the accounts hold "));
        if is_lost && money {
            return;
        }
    }
    panic!("no update was lost");
}

/// Connections are killed at any time, also during a commit. The history is still correct, and the ledger
/// allows for unknown outcomes only.
fn killed_connections_break_nothing(url: &str) {
    for application in [bank(), small_bank()] {
        let database = open(url, "serializable");
        load(&application, &database);
        let client = |session| client(&application, session, 1, &database).unwrap();
        let page = Page::default();
        let (workload, recorder) = (Value::Null, Value::Null);
        let header = Header { initial: None, initials: application.initials(), workload, recorder };
        let sink = page.sink(&header, Duration::from_millis(50));
        let monitor = Monitor::new(SESSIONS as usize);
        let limits = Limits { txns: None, retries: 2, ..Limits::default() };
        thread::scope(|scope| {
            scope.spawn(|| kill_many(&*database, &monitor));
            recorded((0..SESSIONS).map(client).collect(), &limits, &sink, &monitor).unwrap();
        });
        sink.finish().unwrap();
        let text = page.text();
        let history =
            isoscope_formats::read(&Input::text("recorded", &text), &ReadOptions::default()).unwrap().history;
        assert_eq!(holds(&history, Level::Serializable), Some(true));
        assert_eq!(broken(&application, &database), [""; 0]);
        application.drop_tables(&mut *database.connect().unwrap()).unwrap();
    }
}

/// Kills one session after the other, and then stops the run. Between two kills at least one transaction commits, however slow
/// the machine is.
fn kill_many(database: &dyn Database, monitor: &Monitor) {
    const KILLS: u32 = 100;
    let mut control = database.control().unwrap().unwrap();
    let (mut killed, mut committed) = (0, 0);
    for session in (0..monitor.sessions()).cycle() {
        while monitor.figures().committed <= committed && !monitor.stopped() {
            thread::sleep(Duration::from_millis(1));
        }
        if killed == KILLS || monitor.stopped() {
            break;
        }
        // A connection that is already closed cannot be killed.
        let connection = monitor.connection(session);
        if connection.is_some_and(|connection| control.kill(connection).is_ok()) {
            (killed, committed) = (killed + 1, monitor.figures().committed);
        }
    }
    monitor.stop();
}

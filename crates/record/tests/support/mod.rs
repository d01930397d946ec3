//! Shared by the tests of applications: running an application without files, and its history.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "not every test uses everything; a test that cannot go on should not"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use isoscope_check::{Checker, Options, Verdict};
use isoscope_history::{Builder, History, Outcome};
use isoscope_levels::{Anomaly, Level};
use isoscope_record::log::{Ending, LogHeader, write_header, write_load, write_txn};
use isoscope_record::workload::{Application, client};
use isoscope_record::{Answer, Client, Database, Failure, Record, Scalar, Seen, Stamps, Statement, Step};
use isoscope_verify::Verifier;

/// A transaction that ended.
pub(crate) struct Ended {
    pub(crate) session: u32,
    pub(crate) number: u64,
    pub(crate) ending: Ending,
    pub(crate) record: Record,
    pub(crate) failure: Option<Failure>,
}

/// Runs the transactions of one session without retries.
pub(crate) fn run_session(client: &mut dyn Client, session: u32, txns: u64) -> Vec<Ended> {
    (0..txns)
        .map(|number| {
            let mut record = Record::new(true);
            let (ending, failure) = attempt(client, number, &mut record);
            Ended { session, number, ending, record, failure }
        })
        .collect()
}

fn attempt(client: &mut dyn Client, number: u64, record: &mut Record) -> (Ending, Option<Failure>) {
    let executed = client.execute(number, 0, record);
    end(client, executed, record)
}

/// Commits a transaction that was executed, or rolls it back.
fn end(
    client: &mut dyn Client,
    executed: Result<bool, Failure>,
    record: &mut Record,
) -> (Ending, Option<Failure>) {
    let ended = |outcome, stamps| Ending { outcome, stamps };
    let mut stamps = Stamps::default();
    let failure = match executed {
        Ok(true) => {
            let commit = record.statement(Statement::plain("COMMIT"), |_| {
                stamps = client.commit()?;
                Ok(Answer::Count(0))
            });
            match commit {
                Ok(_) => return (ended(Outcome::Committed, stamps), None),
                Err(failure) if !failure.class.promises_rollback() => {
                    return (ended(Outcome::Unknown, stamps), Some(failure));
                }
                Err(failure) => Some(failure),
            }
        }
        Ok(false) => None,
        Err(failure) => Some(failure),
    };
    let rollback = |_: Statement<'_>| client.rollback().map(|()| Answer::Count(0));
    record.statement(Statement::plain("ROLLBACK"), rollback).unwrap();
    (ended(Outcome::Aborted, stamps), failure)
}

/// Loads an application and runs its sessions concurrently.
pub(crate) fn run(
    application: &Arc<dyn Application>,
    database: &Arc<dyn Database>,
    sessions: u32,
    txns: u64,
    seed: u64,
) -> Vec<Ended> {
    load(application, database);
    let clients: Vec<_> = (0..sessions).map(|s| client(application, s, seed, database).unwrap()).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..sessions)
            .zip(clients)
            .map(|(session, mut client)| scope.spawn(move || run_session(&mut *client, session, txns)))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Loads an application and runs two sessions that overlap in the same way on every machine: the transaction of the second runs
/// while that of the first has not committed yet. If the second waits for a lock, the first commits then, else afterwards.
pub(crate) fn overlapped(
    application: &Arc<dyn Application>,
    database: &Arc<dyn Database>,
    txns: u64,
    seed: u64,
) -> Vec<Ended> {
    load(application, database);
    let connect = |session| client(application, session, seed, database).unwrap();
    let (mut first, mut second) = (connect(0), connect(1));
    let mut control = database.control().unwrap().unwrap();
    let mut run = Vec::new();
    for number in 0..txns {
        let (mut record, mut other_record) = (Record::new(true), Record::new(true));
        let executed = first.execute(number, 0, &mut record);
        let id = second.connection().unwrap();
        let ((ending, failure), other) = std::thread::scope(|scope| {
            let other = scope.spawn(|| second.execute(number, 0, &mut other_record));
            while !other.is_finished() && !control.is_waiting(id).unwrap() {
                std::thread::sleep(Duration::from_millis(1));
            }
            (end(&mut *first, executed, &mut record), other.join().unwrap())
        });
        run.push(Ended { session: 0, number, ending, record, failure });
        let (ending, failure) = end(&mut *second, other, &mut other_record);
        run.push(Ended { session: 1, number, ending, record: other_record, failure });
    }
    run
}

/// Creates the tables, and returns what was recorded of it.
pub(crate) fn load(application: &Arc<dyn Application>, database: &Arc<dyn Database>) -> Record {
    let mut record = Record::new(true);
    let mut connection = database.connect().unwrap();
    application.load(database.vendor(), &mut *connection, &mut record).unwrap();
    record
}

/// The history of a run.
pub(crate) fn history(application: &dyn Application, run: &[Ended]) -> History {
    let mut builder = Builder::new();
    for (key, value) in application.initials() {
        builder.initial_of(text(&key), value);
    }
    for txn in run {
        let mut built = builder.session(txn.session).txn();
        for (step, seen) in &txn.record.steps {
            built = match (step, seen) {
                (Step::Read(key), Seen::Value(Some(value))) => built.read(text(key), *value),
                (Step::Write(key, value), Seen::Done) => built.write(text(key), *value),
                other => panic!("{other:?}"),
            };
        }
        built.outcome(txn.ending.outcome);
    }
    builder.finish()
}

fn text(key: &Scalar) -> &str {
    match key {
        Scalar::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

/// The verdict of a level, verified; `None` if it is unknown.
pub(crate) fn holds(history: &History, level: Level) -> Option<bool> {
    match check(history, level) {
        Verdict::Holds(_) => Some(true),
        Verdict::Violated(_) => Some(false),
        Verdict::Unknown(_) => None,
    }
}

/// The anomalies that violate a level.
pub(crate) fn anomalies(history: &History, level: Level) -> Vec<Anomaly> {
    match check(history, level) {
        Verdict::Violated(findings) => findings.iter().map(|finding| finding.anomaly).collect(),
        Verdict::Holds(_) | Verdict::Unknown(_) => Vec::new(),
    }
}

fn check(history: &History, level: Level) -> Verdict {
    let judgement = Checker::new(history, Options::default()).check(level);
    let verified = Verifier::new(history).verify(&judgement);
    assert!(verified.is_ok(), "{level}: {verified:?}");
    judgement.verdict
}

/// The log of a run, session after session.
pub(crate) fn log(
    application: &dyn Application,
    database: &dyn Database,
    seed: u64,
    load: &Record,
    run: &[Ended],
) -> Vec<u8> {
    let header = LogHeader {
        database: database.version().to_owned(),
        vendor: database.vendor(),
        isolation: database.isolation().map_or("none", |isolation| isolation.name).to_owned(),
        workload: application.name().to_owned(),
        parameters: Some(application.itself().parameters()),
        sessions: None,
        seed: Some(seed),
        schema: application.schema(database.vendor()),
    };
    let epoch = load.events.first().map_or_else(Instant::now, |event| event.sent);
    let mut out = Vec::new();
    write_header(&mut out, &header);
    write_load(&mut out, epoch, &load.events);
    for txn in run {
        let name = format!("{}.{}", txn.session, txn.number);
        let (session, name) = (Scalar::Int(txn.session.into()), Scalar::Text(name));
        write_txn(&mut out, &session, &name, epoch, &txn.record.events, txn.ending);
    }
    out
}

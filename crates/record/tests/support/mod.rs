//! What the tests of applications share: running one without files, and what the history of it is.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "not every test uses everything; a test that cannot go on should not"
)]

use std::sync::Arc;
use std::time::Instant;

use isoscope_check::{Checker, Options, Verdict, Verifier};
use isoscope_history::{Builder, History, Outcome};
use isoscope_levels::Level;
use isoscope_record::log::{Ending, LogHeader, write_header, write_load, write_txn};
use isoscope_record::workload::{Application, client};
use isoscope_record::{Class, Client, Database, Failure, Record, Scalar, Seen, Stamps, Step, Vendor};

/// A transaction that ended.
pub(crate) struct Ended {
    pub(crate) session: u32,
    pub(crate) number: u64,
    pub(crate) outcome: Outcome,
    pub(crate) steps: Vec<(Step, Seen)>,
    pub(crate) record: Record,
    pub(crate) failure: Option<Failure>,
}

/// Runs the transactions of one session; what fails is not tried again.
pub(crate) fn run_session(client: &mut dyn Client, session: u32, txns: u64) -> Vec<Ended> {
    (0..txns)
        .map(|number| {
            let mut record = Record::new(true);
            let (outcome, failure) = attempt(client, number, &mut record);
            Ended { session, number, outcome, steps: record.steps.clone(), record, failure }
        })
        .collect()
}

fn attempt(client: &mut dyn Client, number: u64, record: &mut Record) -> (Outcome, Option<Failure>) {
    match client.execute(number, 0, record) {
        Ok(true) => match client.commit() {
            Ok(_) => (Outcome::Committed, None),
            Err(failure) if failure.class == Class::Connection => (Outcome::Unknown, Some(failure)),
            Err(failure) => {
                let _ = client.rollback();
                (Outcome::Aborted, Some(failure))
            }
        },
        ended => {
            client.rollback().unwrap();
            (Outcome::Aborted, ended.err())
        }
    }
}

/// Loads an application and runs its sessions side by side.
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

/// Makes the tables; what was noted about it.
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
        for (step, seen) in &txn.steps {
            built = match (step, seen) {
                (Step::Read(key), Seen::Value(Some(value))) => built.read(text(key), *value),
                (Step::Write(key, value), Seen::Done) => built.write(text(key), *value),
                other => panic!("{other:?}"),
            };
        }
        built.outcome(txn.outcome);
    }
    builder.finish()
}

fn text(key: &Scalar) -> &str {
    match key {
        Scalar::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

/// The verdict of a level, verified; `None` when it is unknown.
pub(crate) fn holds(history: &History, level: Level) -> Option<bool> {
    let judgement = Checker::new(history, Options::default()).check(level);
    let verified = Verifier::new(history).verify(&judgement);
    assert!(verified.is_ok(), "{level}: {verified:?}");
    match judgement.verdict {
        Verdict::Holds(_) => Some(true),
        Verdict::Violated(_) => Some(false),
        Verdict::Unknown(_) => None,
    }
}

/// The log of a run, session after session.
pub(crate) fn log(application: &dyn Application, vendor: Vendor, load: &Record, run: &[Ended]) -> Vec<u8> {
    let header = LogHeader {
        database: vendor.to_string(),
        vendor,
        isolation: "serializable".to_owned(),
        workload: application.name().to_owned(),
        seed: Some(1),
        schema: application.schema(vendor),
    };
    let epoch = load.events.first().map_or_else(Instant::now, |event| event.sent);
    let mut out = Vec::new();
    write_header(&mut out, &header);
    write_load(&mut out, epoch, &load.events);
    for txn in run {
        let ending = Ending { outcome: txn.outcome, stamps: Stamps::default() };
        let name = format!("{}.{}", txn.session, txn.number);
        let (session, name) = (Scalar::Int(txn.session.into()), Scalar::Text(name));
        write_txn(&mut out, &session, &name, epoch, &txn.record.events, ending);
    }
    out
}

//! Logs that real databases wrote: they are explained at the level that the database keeps.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should not")]

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use isoscope_audit::{Blame, Model, Options, Rung, Verdict, audit, verify};
use isoscope_log::Log;
use isoscope_record::workload::{Bank, BankSpec};
use isoscope_record::{
    Limits, Monitor, Options as Connecting, Recording, Server, ServerKind, Subject, Target, Workload,
};

/// A file in memory.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The log of a bank with few accounts.
fn bank(url: &str, isolation: &str, sessions: u32, txns: u64, seed: u64) -> Log {
    let database = Target::parse(url).unwrap().open(Some(isolation), &Connecting::default()).unwrap();
    let bank = Bank::new(BankSpec { accounts: 8, ..BankSpec::default() }).unwrap();
    let mut recording = Recording {
        subject: Subject::Database(Arc::from(database)),
        workload: Workload::Application(Arc::new(bank)),
        sessions,
        seed,
        limits: Limits { txns: Some(txns), retries: 3, ..Limits::default() },
        faults: Vec::new(),
        server: None,
        keep_tables: false,
    };
    let (history, log) = (Page::default(), Page::default());
    let summary =
        recording.run(Box::new(history), Some(Box::new(log.clone())), &Monitor::new(sessions as usize));
    assert!(summary.trouble.is_empty(), "{:?}", summary.trouble);
    let log = log.0.lock().unwrap().clone();
    isoscope_log::read(log.as_slice()).unwrap()
}

fn assert_explained(log: &Log, model: Model) {
    let found = audit(log, &Options::new(model), &()).unwrap();
    match found.verdict {
        Verdict::Explained(explanation) => verify(log, &explanation).unwrap(),
        other => panic!("{model}: {other:?}"),
    }
    assert_eq!(found.gaps, [], "{model}");
}

#[test]
fn a_bank_on_sqlite() {
    let log = bank("sqlite:", "serializable", 2, 150, 1);
    assert!(log.entries.len() > 300);
    assert_eq!(Model::of(&log.header), Ok(Model::Sqlite));
    assert_explained(&log, Model::Sqlite);
}

#[test]
fn a_bank_on_postgresql() {
    let server =
        Server::start(ServerKind::Postgres, &[] as &[&str]).unwrap_or_else(|error| panic!("{error}"));
    let levels =
        [("read committed", Model::PgRc), ("repeatable read", Model::PgRr), ("serializable", Model::PgSer)];
    for (isolation, model) in levels {
        let log = bank(&server.url(), isolation, 4, 60, 1);
        assert_eq!(Model::of(&log.header), Ok(model));
        assert_explained(&log, model);
    }
}

/// Sessions that read a balance and then write it lose updates at read committed, sooner or later.
#[test]
fn read_committed_does_not_pass_for_repeatable_read() {
    let server =
        Server::start(ServerKind::Postgres, &[] as &[&str]).unwrap_or_else(|error| panic!("{error}"));
    let is_convicted = (0..40).any(|seed| {
        let log = bank(&server.url(), "read committed", 6, 50, seed);
        assert_explained(&log, Model::PgRc);
        let found = audit(&log, &Options::new(Model::PgRr), &()).unwrap().verdict;
        let Verdict::Violated(violation) = found else { return false };
        assert_eq!(violation.blame, Blame::Isolation(Rung::Model(Model::PgRc)));
        true
    });
    assert!(is_convicted);
}

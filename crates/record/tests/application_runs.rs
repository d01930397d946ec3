//! Applications against real databases: what each level promises holds, and what it does not promise goes wrong.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::sync::Arc;

use isoscope_levels::Level;
use isoscope_record::log::{self, LOADER};
use isoscope_record::workload::{Application, Bank, BankSpec, Hotspot, SmallBank, SmallBankSpec};
use isoscope_record::{Database, Options, Scalar, Target, isolations};

mod support;

use support::{Ended, history, holds, load, run, run_session};

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

/// Few accounts in great demand, most of them with overdraft.
fn crowded_bank() -> Arc<dyn Application> {
    let hotspot = Hotspot { part: 0.5, draws: 0.8 };
    Arc::new(
        Bank::new(BankSpec { accounts: 8, mix: [1, 3, 1, 6, 1], hotspot, ..BankSpec::default() }).unwrap(),
    )
}

fn broken(application: &Arc<dyn Application>, database: &Arc<dyn Database>) -> Vec<String> {
    application.invariant(&mut *database.connect().unwrap()).unwrap()
}

/// Both applications at every level of a database: the promise holds, whatever failed failed for an ordinary reason,
/// and serializable runs break no rule.
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

/// What a seed fixes whatever the answers are: how each transaction begins.
fn beginnings(run: &[Ended]) -> Vec<(u32, u64, String, Vec<Scalar>)> {
    let first = |txn: &Ended| {
        let event = txn.record.events.iter().find(|event| event.sql != "BEGIN").unwrap();
        (txn.session, txn.number, event.sql.clone(), event.params.clone())
    };
    run.iter().map(first).collect()
}

fn the_seed_says_how_transactions_begin(url: &str, isolation: &str) {
    for application in [bank(), small_bank()] {
        let database = open(url, isolation);
        let begin = |seed| beginnings(&run(&application, &database, SESSIONS, 20, seed));
        assert_eq!(begin(1), begin(1));
        assert_ne!(begin(1), begin(2));
    }
}

#[test]
fn sqlite_is_serializable() {
    every_level_keeps_its_promise("sqlite:");
    every_level_keeps_its_promise("sqlite:?journal=wal");
    the_seed_says_how_transactions_begin("sqlite:?transactions=immediate", "serializable");
}

/// Alone on a database nothing fails, and the log has everything.
#[test]
fn a_log_of_sqlite_has_everything() {
    for application in [bank(), small_bank()] {
        let database = open("sqlite:", "serializable");
        let loaded = load(&application, &database);
        let mut client = isoscope_record::workload::client(&application, 0, 1, &database).unwrap();
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

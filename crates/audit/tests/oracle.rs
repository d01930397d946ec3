//! The engine agrees with the brute-force judge: verdict and prefix, for random tiny logs.
//!
//! `ISOSCOPE_AUDIT_LOGS` is the number of logs for each model, `ISOSCOPE_AUDIT_SEED` the first seed.
#![allow(clippy::print_stdout, reason = "figures are for reading")]

use isoscope_audit::{Options, Verdict, audit, verify};
use isoscope_audit_oracle as oracle;
use isoscope_audit_oracle::generate::{Size, any, blur, correct};
use isoscope_audit_oracle::{Order, Random, TinyLog, judge, mutate};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn log_of(model: oracle::Model, seed: u64) -> TinyLog {
    let mut random = Random::new(seed);
    match seed % 3 {
        0 => any(model, Size::TINY, &mut random),
        1 => {
            let mut log = correct(model, Size::TINY, &mut random);
            blur(&mut log, &mut random);
            log
        }
        _ => {
            let mut log = correct(model, Size::TINY, &mut random);
            blur(&mut log, &mut random);
            mutate::any(&log, &mut random).0
        }
    }
}

/// The verdict of the engine: the entry where the smallest failing prefix ends, if there is one.
fn engine(log: &TinyLog, model: oracle::Model) -> Result<Option<usize>, String> {
    let log = log.to_log(model);
    let mut options = Options::default();
    options.model = isoscope_audit::Model::named(model.name()).expect("both have the same models");
    match audit(&log, &options, &()).map_err(|error| error.to_string())?.verdict {
        Verdict::Explained(explanation) => verify(&log, &explanation).map(|()| None),
        Verdict::Violated(violation) => Ok(Some(violation.entry - 3)),
        Verdict::Undecided(undecided) => Err(undecided.why),
    }
}

/// Whether a statement succeeds after an error of its transaction. PostgreSQL refuses it, so the engine convicts; the judge
/// takes it for a new transaction.
fn succeeds_after_error(log: &TinyLog) -> bool {
    let is_error = |entry: &oracle::TinyEntry| matches!(entry.given, oracle::Given::Error(_));
    let is_sql = |entry: &oracle::TinyEntry| {
        !matches!(entry.statement, oracle::Statement::Commit | oracle::Statement::Rollback)
    };
    log.entries.iter().enumerate().any(|(place, entry)| {
        let mut rest = log.entries[place + 1..].iter().filter(|other| other.txn == entry.txn);
        let goes_on = |other: &oracle::TinyEntry| {
            (is_sql(other) && !is_error(other)) || other.outcome == Some(isoscope_history::Outcome::Committed)
        };
        is_error(entry) && rest.any(goes_on)
    })
}

fn agree(model: oracle::Model, logs: u64) {
    let (count, first) = (number("ISOSCOPE_AUDIT_LOGS", logs), number("ISOSCOPE_AUDIT_SEED", 0));
    let mut wrong = Vec::new();
    for seed in first..first + count {
        let log = log_of(model, seed);
        if model != oracle::Model::Sqlite && succeeds_after_error(&log) {
            continue;
        }
        let began = std::time::Instant::now();
        let expected = match judge(&log, model, Order::Solve) {
            oracle::Verdict::Explained => None,
            oracle::Verdict::Violated(entry) => Some(entry),
        };
        let judged = began.elapsed();
        let found = engine(&log, model);
        if began.elapsed().as_millis() > 500 {
            println!(
                "{} seed {seed}: judge {judged:?}, then engine until {:?}",
                model.name(),
                began.elapsed()
            );
        }
        if found != Ok(expected) {
            if wrong.len() < number("ISOSCOPE_AUDIT_SHOW", 2) as usize {
                println!(
                    "{} seed {seed}: expected {expected:?}, found {found:?}\n{}",
                    model.name(),
                    log.to_text(model)
                );
            }
            wrong.push(seed);
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ: {:?}", wrong.len(), &wrong[..wrong.len().min(20)]);
}

#[test]
fn pg_rc() {
    agree(oracle::Model::PgRc, 2_000);
}

#[test]
fn pg_rr() {
    agree(oracle::Model::PgRr, 2_000);
}

#[test]
fn sqlite() {
    agree(oracle::Model::Sqlite, 2_000);
}

#[test]
fn pg_ser() {
    agree(oracle::Model::PgSer, 20_000);
}

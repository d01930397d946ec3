//! Check which transaction isolation levels a history satisfies.
//!
//! A *history* is what clients saw of a database: sessions, their transactions, and what each read returned. isoscope decides
//! for each isolation level whether the history satisfies it. A violation comes with the anomalies, each with the
//! operations that show it. Every verdict comes with a proof that an independent verifier can check.
//!
//! # Check a file
//!
//! [`read`] recognises the format: Jepsen and Elle (EDN, JSON), Plume, dbcop, Cobra, Viper and others, plain, gzip or zstd.
//!
//! ```no_run
//! use isoscope::{Check, Level};
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let history = isoscope::read("history.edn")?;
//! let report = Check::new(&history).level(Level::Serializable).timeout(Duration::from_secs(30)).run();
//! for anomaly in report.anomalies() {
//!     println!("{anomaly}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Build a history in code
//!
//! A [`Builder`] takes sessions, transactions and operations. [`parse`] takes the notation that this manual uses.
//!
//! ```
//! use isoscope::{Builder, Check, Level, Word};
//!
//! let mut builder = Builder::new();
//! builder.session("alice").txn().read("x", 0).write("x", 1);
//! builder.session("bob").txn().read("x", 0).write("x", 2);
//! let history = builder.finish();
//!
//! let report = Check::new(&history).run();
//! assert_eq!(report.verdict_of(Level::ReadAtomic), Word::Holds);
//! assert_eq!(report.verdict_of(Level::Snapshot), Word::Violated);
//! ```
//!
//! # Read the report
//!
//! A [`Report`] has a [`LevelResult`] for each level, with its [`Finding`]s, and these have [`Occurrence`]s: a headline, the
//! proof in words, the operations with their places in the input, and the edges of the cycle with their reasons. It is
//! plain data and [`serde::Serialize`](https://docs.rs/serde). [`report::full`] renders it as text, [`report::json`],
//! [`report::elle`] and [`report::junit`] for machines.
//!
//! ```
//! use isoscope::{Check, Level, Plain, report};
//!
//! let history = isoscope::read_text("h", "T1!: w(x,1)  T2: r(x,1)").unwrap();
//! let report = Check::new(&history).level(Level::ReadCommitted).run();
//! let first = report.anomalies().next().unwrap();
//! assert_eq!(first.occurrences[0].headline, "T2 read x=1 from T1, which aborted.");
//! assert_eq!(first.to_string(), "aborted-read, once: T2 read x=1 from T1, which aborted.");
//! assert!(report::full::render(&report, &Plain).contains("✗ read-committed is violated"));
//! ```
//!
//! # Unknown verdicts and limits
//!
//! Levels above causal are NP-hard to decide. [`Check::timeout`] bounds the check of a history and [`Check::memory`] the
//! memory of the process. A level that is not decided by then is [`Word::Unknown`], and [`LevelResult::reason`] says why. A
//! history without anything to check is *unknown* too, never *holds*. [`Progress`] reports what happens meanwhile.
//!
//! ```
//! use isoscope::{Check, Level, Word};
//! use std::time::Duration;
//!
//! let history = isoscope::parse("T1: w(x,1)  T2: r(x,1)").unwrap();
//! let report = Check::new(&history).level(Level::Serializable).timeout(Duration::ZERO).run();
//! let result = report.level(Level::Serializable).unwrap();
//! assert_eq!(result.to_string(), "serializable: unknown (the time limit of 0 ms was reached)");
//! ```
//!
//! # Certify
//!
//! [`Check::judge`] returns the verdicts with their proofs. [`Judgements::certify`] has them confirmed by a verifier that
//! shares no code with the engines. [`Judgements::certificates`] can be verified later by another process:
//!
//! ```
//! use isoscope::{Certificate, Check, Level};
//!
//! let history = isoscope::parse("T1: w(x,1)  T2: r(x,1)").unwrap();
//! let mut judged = Check::new(&history).level(Level::Serializable).judge().unwrap();
//! judged.certify().unwrap();
//!
//! let mut file = Vec::new();
//! judged.certificates().next().unwrap().write(&mut file).unwrap();
//! let certificate = Certificate::read(&file[..]).unwrap();
//! isoscope::verify_certificate(&history, &certificate).unwrap();
//!
//! let other = isoscope::parse("T1: w(x,2)  T2: r(x,2)").unwrap();
//! assert!(isoscope::verify_certificate(&other, &certificate).is_err());
//! ```
//!
//! # Record from a database
//!
//! With the feature `record`, which is on by default, [`record`] runs workloads against PostgreSQL, MySQL, MariaDB, SQLite and
//! any database that implements two small traits, [`record::Database`] and [`record::Connection`]. Without the feature no
//! database driver is compiled. The example `own_connection` shows the traits.

mod check;
mod rounds;
mod verify;
mod watch;

use std::path::Path;

pub use check::{Check, Judgements, Refuted, Subject};
pub use isoscope_certificate::{
    Certificate, CertificateError, Conditions, Evidence, Judgement, Limit, Unknown, UnknownOrder, Verdict,
    Witness,
};
pub use isoscope_explain::visible;
pub use isoscope_formats::{
    self as formats, Failure, Format, Input, Place, Problem, ReadOptions, Reading, Severity, write,
};
pub use isoscope_history::{self as history, Builder, History, Outcome, notation};
pub use isoscope_levels::{self as levels, Anomaly, Level};
#[cfg(feature = "record")]
pub use isoscope_record as record;
pub use isoscope_report::{
    self as report, Certified, Detail, Finding, Judged, LevelResult, Limits, Occurrence, Plain, Reason,
    Report, Role, Settings, Staged, Style, TimeLimit, Word,
};
pub use isoscope_verify::{Refutation, Verifier};
pub use notation::parse;
pub use verify::{VerifyError, verify_certificate};
pub use watch::{Progress, can_measure_memory, room};

/// Reads a history from a file or directory; `-` is standard input.
pub fn read(path: impl AsRef<Path>) -> Result<Reading, Failure> {
    read_with(path, &ReadOptions::default())
}

/// Reads a history from a file or directory, with options.
pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Reading, Failure> {
    isoscope_formats::read(&Input::from_arg(path.as_ref()), options)
}

/// Reads a history from a text; messages call it `name`.
pub fn read_text(name: &str, text: &str) -> Result<Reading, Failure> {
    isoscope_formats::read(&Input::text(name, text), &ReadOptions::default())
}

//! The log: SQL statements with their answers, as JSON Lines.
//!
//! ```text
//! {"isoscope":"log","version":1,"database":"SQLite 3.51.3","vendor":"sqlite","isolation":"serializable","workload":"bank","seed":7,"schema":["CREATE TABLE ..."]}
//! {"session":"loader","txn":"load","number":0,"sql":"BEGIN","count":0,"times":[1200,1900]}
//! {"session":3,"txn":17,"number":1,"sql":"SELECT balance FROM isoscope_account WHERE id = ?","params":[4],"rows":[[100]],"times":[81000,93000]}
//! {"session":3,"txn":17,"number":2,"sql":"COMMIT","count":0,"times":[95000,99000],"outcome":"committed"}
//! ```
//!
//! ```
//! let text = r#"{"isoscope":"log","version":1,"database":"SQLite 3.51.3","vendor":"sqlite","isolation":"serializable","workload":"bank","seed":7,"schema":[]}
//! {"session":3,"txn":17,"number":0,"sql":"SELECT 1","rows":[[1]],"times":[81000,93000]}
//! "#;
//! let log = isoscope_log::read(text.as_bytes())?;
//! assert_eq!(log.entries[0].sql, "SELECT 1");
//! # Ok::<(), isoscope_log::LogError>(())
//! ```
//!
//! A history contains the values that were read and written. A log contains the SQL statements and their answers, so
//! that an auditor can check the answers against the semantics of SQL. Both use the same names for sessions and
//! transactions. `schema/log.schema.json` is the JSON schema, `docs/log.md` the manual.
//!
//! **The header** is the first line: what was recorded and how, and the statements that created the tables. `seed` is
//! `null` if no seed was used.
//!
//! **Every other line is a statement.** Lines of different sessions may interleave, because the recorder streams them. The
//! lines of one session are in the order in which it sent the statements.
//!
//! | field | |
//! |---|---|
//! | `session`, `txn` | the names in the history; the session `"loader"` inserted the initial rows |
//! | `number` | the position of the statement in its transaction, from 0 |
//! | `sql` | the text, with a `?` for each parameter |
//! | `params` | the parameters; omitted if there are none |
//! | `rows` | the rows of the answer, each a list of columns, or |
//! | `count` | the number of rows that the statement matched (0 if it does not concern rows), or |
//! | `error` | why it failed: `class` (a name of [`Class`]), `code`, `message` |
//! | `times` | when it was sent and answered, in nanoseconds since the recording began |
//! | `outcome` | on the statement that ends a transaction: `"committed"`, `"aborted"` or `"unknown"` |
//! | `timestamps` | with the outcome: begin and commit of the transaction by the database's clock; each may be `null` |
//!
//! `BEGIN`, `COMMIT` and `ROLLBACK` are statements like any other. A transaction without an outcome did not commit: its
//! connection was lost before `COMMIT` was sent, or the recording ended.
//!
//! **Values** are JSON scalars. Integers have 64 bits. A number with a point or an exponent is a floating-point number; if
//! it is not finite, it is written as its bits, `{"float":"7ff0000000000000"}`. Exact decimals, dates and bytes are texts,
//! as in [`Scalar`].
//!
//! **Damage.** If the last line is truncated, for example by a crash of the recorder, the reader skips it with a warning.
//! It ignores unknown fields with a warning, so that version 1 can be extended. Everything else that is invalid is an
//! error, and so is another version.

mod answer;
mod read;
mod write;

pub use answer::{Answer, Class, Failure, Scalar, Vendor};
pub use read::{LogError, Reader, Warning, read};
pub use write::{Place, write_ending, write_event, write_header, write_load, write_txn};

use std::time::Instant;

use isoscope_history::Outcome;

/// The version of the format.
pub const VERSION: u64 = 1;

/// The name of the session that inserts the initial rows.
pub const LOADER: &str = "loader";

/// What was recorded, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHeader {
    /// Product and version of the database, such as `PostgreSQL 15.18`.
    pub database: String,
    /// The vendor.
    pub vendor: Vendor,
    /// The isolation level, by the database's own name.
    pub isolation: String,
    /// The name of the workload.
    pub workload: String,
    /// The parameters of the workload, if it is an application of isoscope: an object.
    pub parameters: Option<serde_json::Value>,
    /// The number of sessions, if it was fixed. With it, the number in the name of a transaction says which one of its session it
    /// is: see [`call_of`].
    pub sessions: Option<u32>,
    /// The seed, if there was one.
    pub seed: Option<u64>,
    /// The statements that created the tables.
    pub schema: Vec<String>,
}

/// The session and the number in it, both from 0, of a transaction with this name in a recording with this many sessions; `None` if it has
/// none. Attempts at one transaction differ only in what follows the slash: `17`, `17/2`.
pub fn call_of(name: &str, sessions: u32) -> Option<(u32, u64)> {
    let number: u64 = name.split('/').next()?.parse().ok()?;
    let number = number.checked_sub(1)?;
    let sessions = u64::from(sessions);
    (sessions > 0).then(|| ((number % sessions) as u32, number / sessions))
}

/// A statement with its answer, and when it was sent and answered.
#[derive(Clone, Debug)]
pub struct Event {
    /// The text.
    pub sql: String,
    /// Its parameters.
    pub params: Vec<Scalar>,
    /// The answer.
    pub answer: Result<Answer, Failure>,
    /// When it was sent.
    pub sent: Instant,
    /// When the answer arrived.
    pub answered: Instant,
}

/// A line of a log: a statement with its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The session's name.
    pub session: Scalar,
    /// The transaction's name.
    pub txn: Scalar,
    /// The position of the statement in its transaction, from 0.
    pub number: u32,
    /// The text.
    pub sql: String,
    /// Its parameters.
    pub params: Vec<Scalar>,
    /// The answer.
    pub answer: Result<Answer, Failure>,
    /// When it was sent, in nanoseconds since the recording began.
    pub sent: u64,
    /// When the answer arrived.
    pub answered: u64,
    /// How the transaction ended, if this statement ended it.
    pub ending: Option<Ending>,
}

/// When a transaction began and committed by the database's own clock, in nanoseconds, if the database reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// When it began.
    pub begin: Option<i64>,
    /// When it committed.
    pub commit: Option<i64>,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Committed, aborted or unknown.
    pub outcome: Outcome,
    /// The database's own timestamps.
    pub stamps: Stamps,
}

/// A whole log.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// What was recorded.
    pub header: LogHeader,
    /// The statements, in the order of the lines.
    pub entries: Vec<Entry>,
    /// What the reader ignored.
    pub warnings: Vec<Warning>,
}

const VENDORS: [Vendor; 5] =
    [Vendor::Postgres, Vendor::MySql, Vendor::MariaDb, Vendor::Sqlite, Vendor::Memory];

/// The name of a vendor in a header.
const fn vendor_word(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Postgres => "postgres",
        Vendor::MySql => "mysql",
        Vendor::MariaDb => "mariadb",
        Vendor::Sqlite => "sqlite",
        Vendor::Memory => "memory",
    }
}

const OUTCOMES: [Outcome; 3] = [Outcome::Committed, Outcome::Aborted, Outcome::Unknown];

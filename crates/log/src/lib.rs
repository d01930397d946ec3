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
//! A history says which values were read and written; a log says what was asked of the database and what it answered,
//! so that an auditor who knows SQL can tell whether the answers were right. Both name sessions and transactions
//! alike. `schema/log.schema.json` says the same to machines, `docs/log.md` to people.
//!
//! **The header** is the first line: what was recorded and how, and the statements that made the tables. `seed` is `null`
//! where no seed was used.
//!
//! **A statement** is every other line. Lines of sessions may interleave, as a recorder streams them; the lines of a
//! session are in the order in which it sent them.
//!
//! | field | |
//! |---|---|
//! | `session`, `txn` | the names that the history uses; the rows at the beginning come from the session `"loader"` |
//! | `number` | the statement's place in its transaction, from 0 |
//! | `sql` | the text, with a `?` for each parameter |
//! | `params` | what stands for the question marks; none when it is left out |
//! | `rows` | the rows that were answered, each a list of columns, or |
//! | `count` | how many rows the statement found to change (0 for one that is not about rows), or |
//! | `error` | why it failed: `class` (a word of [`Class`](crate::Class)), `code`, `message` |
//! | `times` | when it was sent and answered, in nanoseconds since the recording began |
//! | `outcome` | on the statement that ends a transaction: `"committed"`, `"aborted"` or `"unknown"` |
//! | `timestamps` | beside the outcome: when it began and committed by the database's clock, each perhaps `null` |
//!
//! `BEGIN`, `COMMIT` and `ROLLBACK` are statements like any other. A transaction without an outcome did not commit: its
//! connection died before it was told to, or the recording ended.
//!
//! **Values** are JSON's scalars. Integers are those of 64 bits; a number with a point or an exponent is a
//! floating-point number, and one that is not finite is `{"float":"7ff0000000000000"}`, its bits. Exact decimals, dates
//! and bytes are texts, as in [`Scalar`].
//!
//! **Damage.** A last line that is cut off, as by a crash of the recorder, is left out with a warning; all else that is
//! wrong is an error. Fields that are not understood are ignored with a warning, so that version 1 can grow; another
//! version is an error.

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

/// The name of the session that makes the rows everything begins with.
pub const LOADER: &str = "loader";

/// What was recorded, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHeader {
    /// What the database says of itself, such as `PostgreSQL 15.18`.
    pub database: String,
    /// Whose it is.
    pub vendor: Vendor,
    /// The isolation level, by the database's own name.
    pub isolation: String,
    /// The name of the workload.
    pub workload: String,
    /// The seed, if there was one.
    pub seed: Option<u64>,
    /// The statements that made the tables.
    pub schema: Vec<String>,
}

/// A statement with its answer, and when it was sent and answered.
#[derive(Clone, Debug)]
pub struct Event {
    /// The text.
    pub sql: String,
    /// Its parameters.
    pub params: Vec<Scalar>,
    /// What came back.
    pub answer: Result<Answer, Failure>,
    /// When it was sent.
    pub sent: Instant,
    /// When the answer was there.
    pub answered: Instant,
}

/// A statement with its answer, as a log has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The session's name.
    pub session: Scalar,
    /// The transaction's name.
    pub txn: Scalar,
    /// The statement's place in its transaction, from 0.
    pub number: u32,
    /// The text.
    pub sql: String,
    /// Its parameters.
    pub params: Vec<Scalar>,
    /// What came back.
    pub answer: Result<Answer, Failure>,
    /// When it was sent, in nanoseconds since the recording began.
    pub sent: u64,
    /// When the answer was there.
    pub answered: u64,
    /// How the transaction ended, if it ended here.
    pub ending: Option<Ending>,
}

/// When a transaction began and committed by the database's own clock, in nanoseconds, where it tells.
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
    /// Whether it happened.
    pub outcome: Outcome,
    /// The database's own times.
    pub stamps: Stamps,
}

/// A whole log.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// What was recorded.
    pub header: LogHeader,
    /// The statements, in the order of the lines.
    pub entries: Vec<Entry>,
    /// What the reader assumed or left out.
    pub warnings: Vec<Warning>,
}

const VENDORS: [Vendor; 5] =
    [Vendor::Postgres, Vendor::MySql, Vendor::MariaDb, Vendor::Sqlite, Vendor::Memory];

/// The word for a vendor in a header.
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

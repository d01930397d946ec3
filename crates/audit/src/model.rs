//! The models: what a database engine promises at an isolation level, as rules for an execution.
//!
//! An execution is a total order of *points*. A statement has up to three, and a transaction has one more:
//!
//! - the **snapshot**: the statement, and at snapshot levels every later statement of its transaction, sees the transactions
//!   that ended with a commit before it, and its own transaction's earlier writes;
//! - the **write**: a statement that writes locks its rows and keys, and makes their new versions;
//! - the **end**: the transaction commits or aborts, and releases its locks.
//!
//! Each point lies between the sending and the answer of its statement. The rules:
//!
//! | model | snapshots | a write fails, so it cannot be here, if |
//! |---|---|---|
//! | `pg-rc` | one for each statement | another transaction holds a row or key |
//! | `pg-rr` | one for each transaction, in its first statement | as above, or a newer version than the snapshot's is committed |
//! | `pg-ser` | as `pg-rr` | as above; also, some serial order explains all committed transactions |
//! | `sqlite` | as `pg-rr` | another transaction has written, or one with writes committed since the snapshot |
//!
//! In `pg-rc`, a row that matches at the snapshot and has a newer committed version at the write is evaluated again on that
//! version (`EvalPlanQual`). Constraints are checked against the newest committed rows at the write.

use std::fmt;

use isoscope_log::{LogHeader, Vendor};

/// A model; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Model {
    /// PostgreSQL at read committed.
    PgRc,
    /// PostgreSQL at repeatable read.
    PgRr,
    /// PostgreSQL at serializable.
    PgSer,
    /// SQLite.
    Sqlite,
    /// Serializability of the Troubadour paper.
    PaperS,
    /// Strict serializability of the paper.
    PaperSs,
    /// Snapshot isolation of the paper.
    PaperSi,
    /// Strict snapshot isolation of the paper.
    PaperSsi,
    /// Read committed of the paper.
    PaperRc,
}

impl Model {
    /// All models.
    pub const ALL: [Model; 9] = [
        Model::PgRc,
        Model::PgRr,
        Model::PgSer,
        Model::Sqlite,
        Model::PaperS,
        Model::PaperSs,
        Model::PaperSi,
        Model::PaperSsi,
        Model::PaperRc,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Model::PgRc => "pg-rc",
            Model::PgRr => "pg-rr",
            Model::PgSer => "pg-ser",
            Model::Sqlite => "sqlite",
            Model::PaperS => "paper-s",
            Model::PaperSs => "paper-ss",
            Model::PaperSi => "paper-si",
            Model::PaperSsi => "paper-ssi",
            Model::PaperRc => "paper-rc",
        }
    }

    /// The model with a name.
    pub fn named(name: &str) -> Option<Model> {
        Model::ALL.into_iter().find(|model| model.name() == name)
    }

    /// What the database of a log promises.
    ///
    /// # Errors
    ///
    /// If no model describes this database at this level.
    pub fn of(header: &LogHeader) -> Result<Model, UnknownModel> {
        match (header.vendor, header.isolation.to_lowercase().replace(' ', "-").as_str()) {
            // PostgreSQL treats read uncommitted as read committed.
            (Vendor::Postgres, "read-committed" | "read-uncommitted") => Ok(Model::PgRc),
            (Vendor::Postgres, "repeatable-read") => Ok(Model::PgRr),
            (Vendor::Postgres, "serializable") => Ok(Model::PgSer),
            (Vendor::Sqlite, _) => Ok(Model::Sqlite),
            (vendor, _) => Err(UnknownModel { vendor, isolation: header.isolation.clone() }),
        }
    }

    /// Whether it is one of the paper's models.
    pub const fn is_paper(self) -> bool {
        matches!(self, Model::PaperS | Model::PaperSs | Model::PaperSi | Model::PaperSsi | Model::PaperRc)
    }

    /// The models of lower isolation levels of the same engine, the highest first. They permit other anomalies, not always
    /// more: at `pg-rc` a transaction must see what was committed since its first statement.
    pub(crate) const fn weaker(self) -> &'static [Model] {
        match self {
            Model::PgSer => &[Model::PgRr, Model::PgRc],
            Model::PgRr => &[Model::PgRc],
            _ => &[],
        }
    }

    /// Whether each statement has its own snapshot.
    pub(crate) const fn snapshots_statements(self) -> bool {
        matches!(self, Model::PgRc)
    }

    /// Whether a write fails if a newer version than the snapshot's is committed.
    pub(crate) const fn first_updater_wins(self) -> bool {
        !self.snapshots_statements()
    }

    /// Whether writers exclude each other whatever they write.
    pub(crate) const fn locks_everything(self) -> bool {
        matches!(self, Model::Sqlite)
    }

    /// Whether an error ends the transaction, so that its locks are free.
    pub(crate) const fn aborts_on_error(self) -> bool {
        matches!(self, Model::PgRc | Model::PgRr | Model::PgSer)
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No model describes the database of a log at its isolation level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownModel {
    /// The vendor.
    pub vendor: Vendor,
    /// The isolation level.
    pub isolation: String,
}

impl fmt::Display for UnknownModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no model of {} at {}", self.vendor, self.isolation)
    }
}

impl std::error::Error for UnknownModel {}

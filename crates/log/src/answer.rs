//! What databases answer: values, rows, counts and failures, with the same names for every vendor.

use std::fmt;

/// The vendor of a database. It determines the names of the isolation levels and what they promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Vendor {
    /// PostgreSQL.
    Postgres,
    /// MySQL.
    MySql,
    /// MariaDB.
    MariaDb,
    /// SQLite.
    Sqlite,
    /// The versioned store of `isoscope generate`.
    Memory,
}

impl Vendor {
    /// The product name.
    pub const fn name(self) -> &'static str {
        match self {
            Vendor::Postgres => "PostgreSQL",
            Vendor::MySql => "MySQL",
            Vendor::MariaDb => "MariaDB",
            Vendor::Sqlite => "SQLite",
            Vendor::Memory => "the in-memory store",
        }
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An SQL value.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// NULL.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A text. Exact decimals, dates and all other types are represented by their text form.
    Text(String),
}

impl From<i64> for Scalar {
    fn from(n: i64) -> Scalar {
        Scalar::Int(n)
    }
}

impl From<&str> for Scalar {
    fn from(text: &str) -> Scalar {
        Scalar::Text(text.to_owned())
    }
}

/// The result of a statement that succeeded.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The rows of a query, possibly none.
    Rows(Vec<Vec<Scalar>>),
    /// The number of rows that a statement matched, whether or not their values changed.
    Count(u64),
}

/// The failure of a statement, of a commit, or of a connection attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What it means for the transaction.
    pub class: Class,
    /// The database's error code: an SQLSTATE, or an error number.
    pub code: Option<String>,
    /// The database's error message.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.code {
            Some(code) => write!(f, "{} ({code})", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Failure {}

/// What a failure means for the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// The database refused the statement or commit to preserve its isolation level. Retryable.
    Serialization,
    /// The transaction was the victim of a deadlock. Retryable.
    Deadlock,
    /// The wait for a lock exceeded its limit. Retryable.
    LockTimeout,
    /// Another transaction holds a lock and the database did not wait for it, as SQLite does where waiting could be a
    /// deadlock. Retryable. The statement had no effect; a transaction whose commit fails like this is rolled back.
    Busy,
    /// The database had already rolled back the transaction.
    RolledBack,
    /// The statement violated a constraint, such as a unique key.
    Constraint,
    /// The connection is lost.
    Connection,
    /// Access is denied: a wrong password, a missing privilege.
    Denied,
    /// Anything else: invalid SQL, a full disk, a limit.
    Other,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 9] = [
        Class::Serialization,
        Class::Deadlock,
        Class::LockTimeout,
        Class::Busy,
        Class::RolledBack,
        Class::Constraint,
        Class::Connection,
        Class::Denied,
        Class::Other,
    ];

    /// The name of the class in histories and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Serialization => "serialization",
            Class::Deadlock => "deadlock",
            Class::LockTimeout => "lock-timeout",
            Class::Busy => "busy",
            Class::RolledBack => "rolled-back",
            Class::Constraint => "constraint",
            Class::Connection => "connection",
            Class::Denied => "denied",
            Class::Other => "other",
        }
    }

    /// Whether the same transaction may succeed when it is retried.
    pub const fn is_ordinary(self) -> bool {
        matches!(self, Class::Serialization | Class::Deadlock | Class::LockTimeout | Class::Busy)
    }

    /// Whether a commit that fails with this class certainly did not happen, because the database promises to roll back.
    /// After any other failure the transaction may have committed, or may commit later: a Galera node that lost its
    /// cluster answers COMMIT with an error, and the other nodes apply the transaction anyway.
    pub const fn promises_rollback(self) -> bool {
        match self {
            Class::Serialization | Class::Deadlock | Class::Constraint | Class::Busy | Class::RolledBack => {
                true
            }
            Class::LockTimeout | Class::Connection | Class::Denied | Class::Other => false,
        }
    }
}

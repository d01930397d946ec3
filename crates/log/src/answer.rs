//! What databases answer: values, rows, counts and failures, in the same words for every vendor.

use std::fmt;

/// Whose database it is. What its isolation levels are called and what they promise depends on this.
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
    /// The name people know it by.
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

/// A value in SQL.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// No value.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A text; also a number that is exact and no integer, a date, and whatever else has a spelling.
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

/// What a database answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Rows of columns. A query that finds nothing answers with no rows.
    Rows(Vec<Vec<Scalar>>),
    /// How many rows a statement found to change, changed or not.
    Count(u64),
}

/// Why a database did not do what it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What it means for the transaction.
    pub class: Class,
    /// The database's code for it: an SQLSTATE, or an error number.
    pub code: Option<String>,
    /// The database's words.
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
    /// The database could not keep its isolation level otherwise; an ordinary thing, worth another try.
    Serialization,
    /// Transactions waited for each other, and this one was chosen to end it; as ordinary.
    Deadlock,
    /// It waited too long for a lock; as ordinary.
    LockTimeout,
    /// A lock was taken and the database did not wait for it, as SQLite does where waiting could be a deadlock; as
    /// ordinary. Nothing was done, and a transaction that was to commit is rolled back.
    Busy,
    /// The database had rolled the transaction back before it was told this.
    RolledBack,
    /// The statement broke a rule of the schema, such as a key that must be unique.
    Constraint,
    /// The connection is gone.
    Connection,
    /// Access is denied: a wrong password, a missing privilege.
    Denied,
    /// Anything else: bad SQL, a full disk, a limit.
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

    /// The word for it, in histories and logs.
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

    /// Whether the same transaction may well succeed when it is tried again.
    pub const fn is_ordinary(self) -> bool {
        matches!(self, Class::Serialization | Class::Deadlock | Class::LockTimeout | Class::Busy)
    }

    /// Whether a commit that fails like this has certainly not happened, because the database promises to roll back. After
    /// any other failure the transaction may have committed, or may still: a Galera node that lost its cluster answers
    /// COMMIT with an error, and the other nodes apply it all the same.
    pub const fn promises_rollback(self) -> bool {
        match self {
            Class::Serialization | Class::Deadlock | Class::Constraint | Class::Busy | Class::RolledBack => {
                true
            }
            Class::LockTimeout | Class::Connection | Class::Denied | Class::Other => false,
        }
    }
}

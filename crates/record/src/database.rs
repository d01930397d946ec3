//! Databases: what isoscope asks of one, and what it may answer.
//!
//! Statements are SQL with `?` for parameters, whatever the database's own notation; the text is the same for all
//! databases unless their SQL differs. A failure carries its [`Class`], which is all that a run needs to know to go
//! on; the database's own code and words are kept for people.
//!
//! One file a database. None of them retries, interprets or caches anything: what a connection is told goes to the
//! database, what the database answers comes back.

pub(crate) mod mysql;
pub(crate) mod postgres;
pub(crate) mod sqlite;

use std::fmt;

use crate::client::Stamps;
use crate::isolation::Isolation;

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

/// A statement, with a `?` in its text for each parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statement<'a> {
    /// The text.
    pub sql: &'a str,
    /// What stands for its question marks, in order.
    pub params: &'a [Scalar],
}

impl<'a> Statement<'a> {
    /// A statement without parameters.
    pub fn plain(sql: &'a str) -> Statement<'a> {
        Statement { sql, params: &[] }
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

/// The server's number for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub i64);

/// A database that can be recorded from, at one isolation level.
pub trait Database: Send + Sync {
    /// Whose it is.
    fn vendor(&self) -> Vendor;

    /// What it says of itself, such as `PostgreSQL 15.18`.
    fn version(&self) -> &str;

    /// The isolation level that its transactions run at, as the vendor documents it under the server's settings;
    /// `None` where the vendor is ourselves.
    fn isolation(&self) -> Option<&'static Isolation> {
        None
    }

    /// Opens a connection for a session, whose transactions run at the isolation level.
    fn connect(&self) -> Result<Box<dyn Connection>, Failure>;

    /// Opens a connection to look at and end others; `None` when the database has no such thing.
    fn control(&self) -> Result<Option<Box<dyn Control>>, Failure>;
}

/// One connection. It runs one transaction at a time.
pub trait Connection: Send {
    /// The server's number for it; `None` when there is no server.
    fn id(&self) -> Option<ConnectionId>;

    /// Begins a transaction.
    fn begin(&mut self) -> Result<(), Failure>;

    /// Runs a statement, inside the transaction that was begun or on its own.
    fn execute(&mut self, statement: Statement<'_>) -> Result<Answer, Failure>;

    /// Commits. When this fails, [`Class::promises_rollback`] tells whether the transaction certainly did not happen;
    /// otherwise its outcome is unknown.
    fn commit(&mut self) -> Result<Stamps, Failure>;

    /// Ends the transaction without effect.
    fn rollback(&mut self) -> Result<(), Failure>;
}

/// A look at connections from outside.
pub trait Control: Send {
    /// Whether a connection waits for a lock that another one has.
    fn is_waiting(&mut self, connection: ConnectionId) -> Result<bool, Failure>;

    /// Ends a connection, wherever its transaction is.
    fn kill(&mut self, connection: ConnectionId) -> Result<(), Failure>;
}

/// A message on one line, as reports want it.
pub(crate) fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Bytes as text; those that are none, in hexadecimal digits.
pub(crate) fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| format!("\\x{}", hex(bytes)), str::to_owned)
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

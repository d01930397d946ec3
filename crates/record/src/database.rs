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

pub use isoscope_log::{Answer, Class, Failure, Scalar, Stamps, Vendor};

use crate::isolation::Isolation;

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
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

//! The interface to databases.
//!
//! Statements are SQL with `?` for parameters, whatever the database's own notation is. The text is the same for all
//! databases unless their SQL differs. A failure has a [`Class`], which is all that a run needs to decide how to continue.
//! The database's own error code and message are for people.
//!
//! There is one file per driver. A driver does not retry or interpret statements, and does not cache answers.

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
    /// The parameters, in order.
    pub params: &'a [Scalar],
}

impl<'a> Statement<'a> {
    /// A statement without parameters.
    pub fn plain(sql: &'a str) -> Statement<'a> {
        Statement { sql, params: &[] }
    }
}

/// The server's id for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub i64);

/// A database that can be recorded from, at one isolation level.
pub trait Database: Send + Sync {
    /// The vendor.
    fn vendor(&self) -> Vendor;

    /// Product and version, such as `PostgreSQL 15.18`.
    fn version(&self) -> &str;

    /// The isolation level of its transactions, as the vendor documents it for the server's settings; `None` for databases
    /// that are not in the table of [`isolations`](crate::isolations).
    fn isolation(&self) -> Option<&'static Isolation> {
        None
    }

    /// Opens a connection for a session. Its transactions run at the isolation level.
    fn connect(&self) -> Result<Box<dyn Connection>, Failure>;

    /// Opens a connection to observe and kill others; `None` if the database does not support that.
    fn control(&self) -> Result<Option<Box<dyn Control>>, Failure>;
}

/// One connection. It runs one transaction at a time.
pub trait Connection: Send {
    /// The server's id for it; `None` if there is no server.
    fn id(&self) -> Option<ConnectionId>;

    /// Begins a transaction.
    fn begin(&mut self) -> Result<(), Failure>;

    /// Runs a statement, inside the open transaction or else as a transaction of its own.
    fn execute(&mut self, statement: Statement<'_>) -> Result<Answer, Failure>;

    /// Begins a transaction and runs its first statement, in one round trip if the driver can send both at once. Then the statement runs
    /// even if the transaction cannot begin, but as a transaction of its own.
    fn begin_with(&mut self, statement: Statement<'_>) -> Result<Answer, Failure> {
        self.begin()?;
        self.execute(statement)
    }

    /// Commits. If this fails, the transaction is aborted if [`Class::promises_rollback`], and otherwise its outcome is
    /// unknown.
    fn commit(&mut self) -> Result<Stamps, Failure>;

    /// Rolls back the transaction.
    fn rollback(&mut self) -> Result<(), Failure>;
}

/// Observes and kills other connections.
pub trait Control: Send {
    /// Whether a connection waits for a lock that another one holds.
    fn is_waiting(&mut self, connection: ConnectionId) -> Result<bool, Failure>;

    /// Kills a connection, whatever the state of its transaction. It is not an error if the connection is already closed.
    fn kill(&mut self, connection: ConnectionId) -> Result<(), Failure>;
}

/// The message on one line.
pub(crate) fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Bytes as text; bytes that are not UTF-8, in hexadecimal digits.
pub(crate) fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| format!("\\x{}", hex(bytes)), str::to_owned)
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

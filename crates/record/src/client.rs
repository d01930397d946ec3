//! A client: one session, which runs its transactions one after the other.

use crate::database::{ConnectionId, Failure, Stamps};
use crate::record::Record;

/// One session of a workload.
///
/// Invariant: its statements depend only on the number and the attempt of the transaction and on the answers inside it,
/// never on earlier transactions, other sessions or the clock.
pub trait Client: Send {
    /// The server's id for its connection, if there is a server.
    fn connection(&self) -> Option<ConnectionId>;

    /// Begins transaction `number` of the session and runs all its statements except the commit. `attempt` counts from 0.
    /// The record contains what was done, even after a failure. `Ok(false)` means that the transaction asks to be rolled
    /// back, for example because of a low balance.
    fn execute(&mut self, number: u64, attempt: u32, record: &mut Record) -> Result<bool, Failure>;

    /// Commits the transaction. Failures have the same meaning as in [`Connection::commit`](crate::Connection::commit).
    fn commit(&mut self) -> Result<Stamps, Failure>;

    /// Rolls back the transaction.
    fn rollback(&mut self) -> Result<(), Failure>;

    /// Replaces a lost connection.
    fn reconnect(&mut self) -> Result<(), Failure>;
}

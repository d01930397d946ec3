//! A client: one session, which runs its transactions one after the other.

use crate::database::{ConnectionId, Failure, Stamps};
use crate::record::Record;

/// One session of a workload. What it asks for depends on the number and the attempt alone, and on what it was answered
/// inside the same transaction; never on earlier transactions, other sessions or the clock.
pub trait Client: Send {
    /// The server's number for its connection, if there is a server.
    fn connection(&self) -> Option<ConnectionId>;

    /// Begins transaction `number` of the session, for the `attempt`th time counted from 0, and runs all its statements
    /// but the commit. Whatever it did is noted in the record, also when it fails. `Ok(false)` means that the
    /// transaction itself wants to be rolled back, as an overdraft does.
    fn execute(&mut self, number: u64, attempt: u32, record: &mut Record) -> Result<bool, Failure>;

    /// Commits the transaction. Failures mean what they mean for a [`Connection`](crate::Connection::commit).
    fn commit(&mut self) -> Result<Stamps, Failure>;

    /// Ends the transaction without effect.
    fn rollback(&mut self) -> Result<(), Failure>;

    /// Replaces a connection that is gone.
    fn reconnect(&mut self) -> Result<(), Failure>;
}

//! Key-value workloads: transactions of single operations on registers or lists, on any database.
//!
//! A [`Plan`] determines the operations of every transaction of every session; a [`KeyValue`] executes them. [`Tables`]
//! executes them as SQL statements on a table, [`MemoryStore`] directly.

mod memory;
mod plan;
mod tables;

pub use memory::{Bug, BugKind, MemoryStore};
pub use plan::{Kind, Plan, PlanError, PlanSpec};
pub use tables::Tables;
pub(crate) use tables::missed;

use crate::client::Client;
use crate::database::Stamps;
use crate::database::{ConnectionId, Failure};
use crate::record::{Record, Seen, Step};

/// A connection to a key-value store.
pub trait KeyValue: Send {
    /// The server's id for the connection, if there is a server.
    fn connection(&self) -> Option<ConnectionId>;

    /// Begins a transaction that will run these steps.
    fn begin(&mut self, steps: &[Step], record: &mut Record) -> Result<(), Failure>;

    /// Runs a step.
    fn run(&mut self, step: &Step, record: &mut Record) -> Result<Seen, Failure>;

    /// Commits.
    fn commit(&mut self) -> Result<Stamps, Failure>;

    /// Rolls back the transaction.
    fn rollback(&mut self) -> Result<(), Failure>;

    /// Replaces a lost connection.
    fn reconnect(&mut self) -> Result<(), Failure>;
}

/// A session of a key-value workload.
pub struct KeyValueClient<'p> {
    plan: &'p Plan,
    session: u32,
    store: Box<dyn KeyValue + 'p>,
    steps: Vec<Step>,
}

impl<'p> KeyValueClient<'p> {
    /// A session that executes its part of a plan.
    pub fn new(plan: &'p Plan, session: u32, store: Box<dyn KeyValue + 'p>) -> KeyValueClient<'p> {
        KeyValueClient { plan, session, store, steps: Vec::new() }
    }
}

impl Client for KeyValueClient<'_> {
    fn connection(&self) -> Option<ConnectionId> {
        self.store.connection()
    }

    fn execute(&mut self, number: u64, attempt: u32, record: &mut Record) -> Result<bool, Failure> {
        let commits = self.plan.steps(self.session, number, attempt, &mut self.steps);
        self.store.begin(&self.steps, record)?;
        for step in self.steps.drain(..) {
            match self.store.run(&step, record) {
                Ok(seen) => record.step(step, seen),
                Err(failure) => {
                    // Another session may still read the value of a failed write, so the history must have it.
                    let is_read = matches!(step, Step::Read(_) | Step::ReadList(_) | Step::Range(..));
                    if !is_read {
                        record.step(step, Seen::Done);
                    }
                    return Err(failure);
                }
            }
        }
        Ok(commits)
    }

    fn commit(&mut self) -> Result<Stamps, Failure> {
        self.store.commit()
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.store.rollback()
    }

    fn reconnect(&mut self) -> Result<(), Failure> {
        self.store.reconnect()
    }
}

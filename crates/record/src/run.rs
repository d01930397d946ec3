//! Running: every session in a thread of its own, transaction after transaction, until all is done or time is up.
//!
//! How a transaction ended, from what its client was told:
//!
//! - a failure before the commit was sent: it did not happen;
//! - the commit answered: it committed;
//! - the commit failed and the connection is alive: it did not happen;
//! - the commit failed and the connection is gone: nobody knows. The server may still be at it, so what the client
//!   does next is not after it in any sense; the client goes on as a new session, as a crashed process does in Jepsen.
//!
//! A transaction that fails for an ordinary reason (serialization, deadlock, a lock timeout) is recorded as aborted and
//! tried again as often as asked. A connection that is gone is replaced, for a while. Failures that another try will
//! not mend end the session, and the run.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use isoscope_history::Outcome;

use crate::client::{Client, Stamps};
use crate::database::{Answer, Class, Failure, Scalar, Statement};
use crate::line::{Ended, write_txn};
use crate::log::{self, Ending};
use crate::monitor::Monitor;
use crate::record::Record;
use crate::sink::{Lane, Sink};

/// How long and how persistently to run.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Transactions of each session, attempts that repeat one not counted; `None` is no limit.
    pub txns: Option<u64>,
    /// How long to run; `None` is no limit.
    pub duration: Option<Duration>,
    /// How often a transaction is tried again.
    pub retries: u32,
    /// How long a client tries to replace a connection that is gone.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { txns: Some(100), duration: None, retries: 0, patience: Duration::from_secs(30) }
    }
}

/// Failures in a row that no try mended, after which a session gives up.
const HOPELESS: u32 = 20;

/// Lets clients run side by side until they are done, time is up, or the monitor says stop. Returns the failure that
/// ended the run early, if one did; whatever was recorded is in the sink in any case.
pub fn run(
    clients: Vec<Box<dyn Client + '_>>,
    limits: &Limits,
    sink: &Sink,
    monitor: &Monitor,
) -> Result<(), Failure> {
    let began = Instant::now();
    let fatal: Mutex<Option<Failure>> = Mutex::new(None);
    let sessions = clients.len() as u64;
    thread::scope(|scope| {
        for (number, client) in clients.into_iter().enumerate() {
            let lane = sink.lane();
            let mut session = Session {
                number: number as u64,
                sessions,
                lives: 0,
                client,
                record: Record::new(lane.has_log()),
                lane,
                limits,
                monitor,
                epoch: sink.epoch(),
                began,
                hopeless: 0,
                unlucky: 0,
            };
            let fatal = &fatal;
            scope.spawn(move || {
                if let Err(failure) = session.run(sink) {
                    monitor.stop();
                    fatal.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(failure);
                }
            });
        }
    });
    fatal.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).map_or(Ok(()), Err)
}

struct Session<'a> {
    number: u64,
    sessions: u64,
    /// How often it became a new session.
    lives: u64,
    client: Box<dyn Client + 'a>,
    record: Record,
    lane: Lane,
    limits: &'a Limits,
    monitor: &'a Monitor,
    epoch: Instant,
    began: Instant,
    /// Failures in a row that no try mended.
    hopeless: u32,
    /// Ordinary failures in a row.
    unlucky: u32,
}

impl Session<'_> {
    fn run(&mut self, sink: &Sink) -> Result<(), Failure> {
        self.monitor.connected(self.number as usize, self.client.connection());
        for number in 0..self.limits.txns.unwrap_or(u64::MAX) {
            for attempt in 0..=self.limits.retries {
                if self.is_over() || sink.failed() {
                    return Ok(());
                }
                if attempt > 0 {
                    self.monitor.retrying();
                }
                let Some(failure) = self.attempt(number, attempt) else {
                    (self.hopeless, self.unlucky) = (0, 0);
                    break;
                };
                self.recover(&failure)?;
                if !failure.class.is_ordinary() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.monitor.stopped() || self.limits.duration.is_some_and(|limit| self.began.elapsed() >= limit)
    }

    /// Runs a transaction once and records it. Returns why it failed, if it did.
    fn attempt(&mut self, number: u64, attempt: u32) -> Option<Failure> {
        self.record.clear();
        let invoked = Instant::now();
        let (outcome, stamps, failure) = self.perform(number, attempt);
        let returned = Instant::now();
        let since = |moment: Instant| (moment - self.epoch).as_nanos() as u64;
        let name = name(number * self.sessions + self.number + 1, attempt);
        let session = Scalar::Int((self.number + self.lives * self.sessions).cast_signed());
        let ended = Ended {
            session: &session,
            name: &name,
            outcome,
            steps: &self.record.steps,
            times: (since(invoked), since(returned)),
            stamps,
            failure: failure.as_ref(),
        };
        self.lane.push(|lines| {
            write_txn(&mut lines.history, &ended);
            if self.record.wants_events {
                let ending = Ending { outcome, stamps };
                log::write_txn(&mut lines.log, &session, &name, self.epoch, &self.record.events, ending);
            }
        });
        self.monitor.ended(outcome, failure.as_ref(), self.record.steps.len(), returned - invoked);
        if outcome == Outcome::Unknown {
            self.lives += 1;
        }
        failure
    }

    /// Runs a transaction to its end.
    fn perform(&mut self, number: u64, attempt: u32) -> (Outcome, Stamps, Option<Failure>) {
        let (client, record) = (&mut self.client, &mut self.record);
        match client.execute(number, attempt, record) {
            Err(failure) => {
                // A connection that cannot even roll back is replaced.
                let rolled_back = end(record, "ROLLBACK", || client.rollback());
                let failure = if rolled_back.is_err() { lost(failure) } else { failure };
                return (Outcome::Aborted, Stamps::default(), Some(failure));
            }
            Ok(false) => {
                let rolled_back = end(record, "ROLLBACK", || client.rollback());
                return (Outcome::Aborted, Stamps::default(), rolled_back.err());
            }
            Ok(true) => {}
        }
        match end(record, "COMMIT", || client.commit()) {
            Ok(stamps) => (Outcome::Committed, stamps, None),
            Err(failure) if failure.class == Class::Connection => {
                (Outcome::Unknown, Stamps::default(), Some(failure))
            }
            Err(failure) => {
                let rolled_back = end(record, "ROLLBACK", || client.rollback());
                let failure = if rolled_back.is_err() { lost(failure) } else { failure };
                (Outcome::Aborted, Stamps::default(), Some(failure))
            }
        }
    }

    /// Makes the client ready for its next transaction, or says why it never will be.
    fn recover(&mut self, failure: &Failure) -> Result<(), Failure> {
        match failure.class {
            Class::Serialization | Class::Deadlock | Class::LockTimeout => {
                self.hopeless = 0;
                self.give_way();
                Ok(())
            }
            Class::Constraint => Ok(()),
            Class::Connection => self.reconnect(),
            Class::Denied => Err(failure.clone()),
            Class::Other => {
                self.hopeless += 1;
                if self.hopeless < HOPELESS { Ok(()) } else { Err(failure.clone()) }
            }
        }
    }

    /// Gives whoever was in the way time to finish, more of it each time: some databases refuse at once, and a client
    /// that only tries again would be done with all its transactions before the other is with one.
    fn give_way(&mut self) {
        const LEAST: Duration = Duration::from_micros(50);
        const DOUBLINGS: u32 = 8;
        thread::sleep(LEAST * 2u32.pow(self.unlucky.min(DOUBLINGS)));
        self.unlucky += 1;
    }

    fn reconnect(&mut self) -> Result<(), Failure> {
        /// Between two tries.
        const PAUSE: Duration = Duration::from_millis(50);
        /// A server that is away this long when time is up is not just coming back.
        const GONE: Duration = Duration::from_secs(5);
        self.monitor.connected(self.number as usize, None);
        let since = Instant::now();
        loop {
            match self.client.reconnect() {
                Ok(()) => {
                    self.monitor.reconnected();
                    self.monitor.connected(self.number as usize, self.client.connection());
                    return Ok(());
                }
                Err(failure) if since.elapsed() > self.limits.patience => return Err(failure),
                Err(failure) if self.is_over() => {
                    let gone = since.elapsed() > GONE && !self.monitor.stopped();
                    return if gone { Err(failure) } else { Ok(()) };
                }
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }
}

/// What a transaction is called: by its number, and by its attempt if it is not the first.
fn name(number: u64, attempt: u32) -> Scalar {
    match attempt {
        0 => Scalar::Int(number.cast_signed()),
        _ => Scalar::Text(format!("{number}/{}", attempt + 1)),
    }
}

/// Ends a transaction, and notes that in the record.
fn end<T>(record: &mut Record, sql: &str, end: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    record.timed(Statement::plain(sql), |_| end(), |_| Answer::Count(0))
}

/// A failure after which the connection is of no use.
fn lost(failure: Failure) -> Failure {
    Failure { class: Class::Connection, ..failure }
}

//! Runs the sessions, each in its own thread, until all transactions are done or the time is up.
//!
//! The answers to the client determine the outcome of a transaction:
//!
//! - A failure before the commit was sent: aborted.
//! - The commit succeeded: committed.
//! - The commit failed, and the database promises a rollback for that failure ([`Class::promises_rollback`]): aborted.
//! - The commit failed otherwise: unknown. The server may still be executing it, so session order must not place the
//!   client's next transaction after it. The client continues as a new session, as a crashed process does in Jepsen. A
//!   ROLLBACK that succeeds afterwards frees the connection but proves nothing, because databases accept it without a
//!   transaction.
//!
//! A transaction that aborted with a retryable failure (serialization, deadlock, locks) is retried, up to the limit. A
//! connection that is lost or cannot roll back is replaced: on MySQL, the next BEGIN would commit the open transaction.
//! A failure that a retry cannot resolve ends the session and the run.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use isoscope_history::Outcome;

use crate::client::Client;
use crate::database::Stamps;
use crate::database::{Answer, Class, Failure, Scalar, Statement};
use crate::line::{Ended, write_txn};
use crate::log::{self, Ending};
use crate::monitor::Monitor;
use crate::record::Record;
use crate::sink::{Lane, Sink};

/// The limits of a run.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Transactions per session, not counting retries; `None` is no limit.
    pub txns: Option<u64>,
    /// How long to run; `None` is no limit.
    pub duration: Option<Duration>,
    /// How often a transaction is retried.
    pub retries: u32,
    /// How long a client tries to replace a lost connection.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { txns: Some(100), duration: None, retries: 0, patience: Duration::from_secs(30) }
    }
}

/// The number of consecutive non-retryable failures after which a session gives up.
const HOPELESS: u32 = 20;

/// Runs clients concurrently until they are done, the time is up, or the monitor stops them. Returns the failure that ended
/// the run early, if any. The sink has everything that was recorded in any case.
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
                let result = session.run(sink);
                session.lane.finish();
                if let Err(failure) = result {
                    monitor.stop();
                    fatal.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(failure);
                }
            });
        }
    });
    fatal.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).map_or(Ok(()), Err)
}

/// How an attempt ended.
struct End {
    outcome: Outcome,
    stamps: Stamps,
    /// Why it did not commit, unless it rolled itself back.
    failure: Option<Failure>,
    /// Whether the transaction may still be open on the connection, which must then be replaced.
    is_stuck: bool,
}

struct Session<'a> {
    number: u64,
    sessions: u64,
    /// How often the client continued as a new session.
    lives: u64,
    client: Box<dyn Client + 'a>,
    record: Record,
    lane: Lane,
    limits: &'a Limits,
    monitor: &'a Monitor,
    epoch: Instant,
    began: Instant,
    /// Consecutive non-retryable failures.
    hopeless: u32,
    /// Consecutive retryable failures.
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
                let end = self.attempt(number, attempt);
                let Some(failure) = &end.failure else {
                    (self.hopeless, self.unlucky) = (0, 0);
                    break;
                };
                if end.is_stuck {
                    self.give_way();
                    self.reconnect()?;
                } else {
                    self.recover(failure)?;
                }
                // A transaction that may have committed must not be retried.
                if !failure.class.is_ordinary() || end.outcome == Outcome::Unknown {
                    break;
                }
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.monitor.stopped() || self.limits.duration.is_some_and(|limit| self.began.elapsed() >= limit)
    }

    /// Runs a transaction once and records it.
    fn attempt(&mut self, number: u64, attempt: u32) -> End {
        self.record.clear();
        let invoked = Instant::now();
        self.lane.reach(invoked);
        let end = self.perform(number, attempt);
        let End { outcome, stamps, .. } = end;
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
            failure: end.failure.as_ref(),
        };
        self.lane.push(|lines| {
            write_txn(&mut lines.history, &ended);
            if self.record.wants_events {
                let ending = Ending { outcome, stamps };
                log::write_txn(&mut lines.log, &session, &name, self.epoch, &self.record.events, ending);
            }
        });
        self.lane.reach(returned);
        self.monitor.ended(outcome, end.failure.as_ref(), self.record.steps.len(), returned - invoked);
        if outcome == Outcome::Unknown {
            self.lives += 1;
        }
        end
    }

    /// Runs a transaction to its end.
    fn perform(&mut self, number: u64, attempt: u32) -> End {
        let (client, record) = (&mut self.client, &mut self.record);
        let (outcome, failure) = match client.execute(number, attempt, record) {
            Err(failure) => (Outcome::Aborted, Some(failure)),
            Ok(false) => (Outcome::Aborted, None),
            Ok(true) => match end(record, "COMMIT", || client.commit()) {
                Ok(stamps) => {
                    return End { outcome: Outcome::Committed, stamps, failure: None, is_stuck: false };
                }
                Err(failure) if failure.class.promises_rollback() => (Outcome::Aborted, Some(failure)),
                Err(failure) => (Outcome::Unknown, Some(failure)),
            },
        };
        let stamps = Stamps::default();
        if outcome == Outcome::Unknown && failure.as_ref().is_some_and(|it| it.class == Class::Connection) {
            return End { outcome, stamps, failure, is_stuck: true };
        }
        match end(record, "ROLLBACK", || client.rollback()) {
            Ok(()) => End { outcome, stamps, failure, is_stuck: false },
            Err(second) => End { outcome, stamps, failure: failure.or(Some(second)), is_stuck: true },
        }
    }

    /// Prepares the client for its next transaction. Fails if the session cannot continue.
    fn recover(&mut self, failure: &Failure) -> Result<(), Failure> {
        match failure.class {
            Class::Serialization | Class::Deadlock | Class::LockTimeout | Class::Busy => {
                self.hopeless = 0;
                self.give_way();
                Ok(())
            }
            Class::Constraint => Ok(()),
            Class::Connection => self.reconnect(),
            Class::Denied => Err(failure.clone()),
            Class::RolledBack | Class::Other => {
                self.hopeless += 1;
                if self.hopeless < HOPELESS { Ok(()) } else { Err(failure.clone()) }
            }
        }
    }

    /// Waits for conflicting transactions to finish, longer each time. Some databases refuse immediately, and without a
    /// pause a client would use up all its transactions before the conflicting one ends.
    fn give_way(&mut self) {
        const LEAST: Duration = Duration::from_micros(50);
        const DOUBLINGS: u32 = 8;
        thread::sleep(LEAST * 2u32.pow(self.unlucky.min(DOUBLINGS)));
        self.unlucky += 1;
    }

    fn reconnect(&mut self) -> Result<(), Failure> {
        /// The pause between two attempts.
        const PAUSE: Duration = Duration::from_millis(50);
        /// A server unreachable for this long when the time is up is an error, not a restart in progress.
        const GONE: Duration = Duration::from_secs(5);
        self.monitor.connected(self.number as usize, None);
        let since = Instant::now();
        loop {
            self.lane.reach(Instant::now());
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

/// The name of a transaction: its number, with the attempt if that is not the first.
fn name(number: u64, attempt: u32) -> Scalar {
    match attempt {
        0 => Scalar::Int(number.cast_signed()),
        _ => Scalar::Text(format!("{number}/{}", attempt + 1)),
    }
}

/// Ends a transaction, and adds the statement to the record.
fn end<T>(record: &mut Record, sql: &str, end: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    record.timed(Statement::plain(sql), |_| end(), |_| Answer::Count(0))
}

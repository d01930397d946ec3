//! The state of a run that other threads can see: counters that all sessions update, and the request to stop.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use isoscope_history::Outcome;

use crate::database::{Class, ConnectionId, Failure};

/// Latencies are counted in buckets of powers of two of a microsecond.
const BUCKETS: usize = 40;
/// Not a valid connection id.
const NO_CONNECTION: i64 = -1;

/// The counters of a run, and how to stop it.
#[derive(Debug)]
pub struct Monitor {
    stop: AtomicBool,
    committed: AtomicU64,
    rolled_back: AtomicU64,
    unknown: AtomicU64,
    retried: AtomicU64,
    failed: [AtomicU64; Class::ALL.len()],
    operations: AtomicU64,
    reconnects: AtomicU64,
    latencies: [AtomicU64; BUCKETS],
    /// For each session, the server's id for its connection.
    connections: Vec<AtomicI64>,
    /// The first failure that is neither retryable nor a lost connection.
    odd: OnceLock<Failure>,
}

impl Monitor {
    /// A monitor for this number of sessions.
    pub fn new(sessions: usize) -> Monitor {
        Monitor {
            stop: AtomicBool::new(false),
            committed: AtomicU64::new(0),
            rolled_back: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
            retried: AtomicU64::new(0),
            failed: std::array::from_fn(|_| AtomicU64::new(0)),
            operations: AtomicU64::new(0),
            reconnects: AtomicU64::new(0),
            latencies: std::array::from_fn(|_| AtomicU64::new(0)),
            connections: (0..sessions).map(|_| AtomicI64::new(NO_CONNECTION)).collect(),
            odd: OnceLock::new(),
        }
    }

    /// Asks all sessions to stop after their current transaction.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether sessions were asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The current connection of a session.
    pub fn connection(&self, session: usize) -> Option<ConnectionId> {
        let id = self.connections.get(session)?.load(Ordering::Relaxed);
        (id != NO_CONNECTION).then_some(ConnectionId(id))
    }

    /// The number of sessions.
    pub fn sessions(&self) -> usize {
        self.connections.len()
    }

    pub(crate) fn connected(&self, session: usize, connection: Option<ConnectionId>) {
        self.connections[session].store(connection.map_or(NO_CONNECTION, |id| id.0), Ordering::Relaxed);
    }

    pub(crate) fn reconnected(&self) {
        add(&self.reconnects, 1);
    }

    pub(crate) fn retrying(&self) {
        add(&self.retried, 1);
    }

    /// The first failure that is neither retryable nor a lost connection.
    pub fn odd(&self) -> Option<&Failure> {
        self.odd.get()
    }

    /// Counts a transaction that ended, with its failure if it failed.
    pub(crate) fn ended(
        &self,
        outcome: Outcome,
        failure: Option<&Failure>,
        operations: usize,
        took: Duration,
    ) {
        add(&self.operations, operations as u64);
        add(&self.latencies[bucket(took)], 1);
        match (outcome, failure) {
            (Outcome::Committed, _) => add(&self.committed, 1),
            (Outcome::Unknown, _) => add(&self.unknown, 1),
            (Outcome::Aborted, None) => add(&self.rolled_back, 1),
            (Outcome::Aborted, Some(failure)) => add(&self.failed[failure.class as usize], 1),
        }
        if let Some(failure) = failure
            && !failure.class.is_ordinary()
            && failure.class != Class::Connection
        {
            self.odd.get_or_init(|| failure.clone());
        }
    }

    /// The current figures.
    pub fn figures(&self) -> Figures {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut latencies = [0; BUCKETS];
        for (all, bucket) in latencies.iter_mut().zip(&self.latencies) {
            *all = get(bucket);
        }
        Figures {
            committed: get(&self.committed),
            rolled_back: get(&self.rolled_back),
            unknown: get(&self.unknown),
            retried: get(&self.retried),
            failed: Class::ALL.map(|class| (class, get(&self.failed[class as usize]))),
            operations: get(&self.operations),
            reconnects: get(&self.reconnects),
            latencies,
        }
    }
}

/// The figures of a run so far.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions that rolled themselves back.
    pub rolled_back: u64,
    /// Transactions with an unknown outcome.
    pub unknown: u64,
    /// Retries.
    pub retried: u64,
    /// Transactions that failed, by the class of the failure.
    pub failed: [(Class, u64); Class::ALL.len()],
    /// Operations of all transactions.
    pub operations: u64,
    /// Connections that were replaced.
    pub reconnects: u64,
    latencies: [u64; BUCKETS],
}

impl Figures {
    /// All transactions that ended.
    pub fn transactions(&self) -> u64 {
        self.committed + self.aborted() + self.unknown
    }

    /// Transactions that aborted.
    pub fn aborted(&self) -> u64 {
        self.rolled_back + self.failed.iter().map(|(_, count)| count).sum::<u64>()
    }

    /// The latency that this fraction of all transactions did not exceed, accurate to a factor of two.
    pub fn latency(&self, share: f64) -> Duration {
        let all: u64 = self.latencies.iter().sum();
        let mut seen = 0;
        for (bucket, count) in self.latencies.iter().enumerate() {
            seen += count;
            if seen as f64 >= share * all as f64 && seen > 0 {
                return Duration::from_micros(1 << bucket);
            }
        }
        Duration::ZERO
    }
}

fn bucket(took: Duration) -> usize {
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
    ((micros - 1).checked_ilog2().map_or(0, |log| log as usize + 1)).min(BUCKETS - 1)
}

fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_known_up_to_a_factor_of_two() {
        let monitor = Monitor::new(1);
        for micros in [1, 3, 3, 900] {
            monitor.ended(Outcome::Committed, None, 2, Duration::from_micros(micros));
        }
        let figures = monitor.figures();
        assert_eq!((figures.committed, figures.operations), (4, 8));
        assert_eq!(figures.latency(0.5), Duration::from_micros(4));
        assert_eq!(figures.latency(1.0), Duration::from_micros(1024));
    }
}

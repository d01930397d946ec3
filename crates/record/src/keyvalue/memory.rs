//! The in-memory versioned store of `isoscope generate` as a database. It supports several levels, and can inject bugs to
//! test checkers.
//!
//! Sessions share the store behind a lock that they hold for one operation at a time. They yield after `begin`, so that
//! their transactions overlap.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isoscope_history::{Key, Session, Value};
use isoscope_levels::Level;
use isoscope_workload::{Dice, Store, Transaction};

use super::{KeyValue, Plan};
use crate::database::Stamps;
use crate::database::{Class, ConnectionId, Failure, Scalar};
use crate::record::{Record, Seen, Step};

/// A bug to inject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bug {
    /// The kind.
    pub kind: BugKind,
    /// The fraction of transactions or reads that it affects.
    pub rate: f64,
}

/// The kinds of bugs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BugKind {
    /// A transaction commits despite a conflict: lost updates, write skew.
    SkipValidation,
    /// The writes of a transaction become visible in two steps: fractured reads.
    TornCommit,
    /// A read returns a value written by a transaction that did not commit.
    AbortedRead,
    /// A read returns the initial value.
    StaleRead,
}

impl BugKind {
    /// All bugs.
    pub const ALL: [BugKind; 4] =
        [BugKind::SkipValidation, BugKind::TornCommit, BugKind::AbortedRead, BugKind::StaleRead];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            BugKind::SkipValidation => "skip-validation",
            BugKind::TornCommit => "torn-commit",
            BugKind::AbortedRead => "aborted-read",
            BugKind::StaleRead => "stale-read",
        }
    }
}

impl std::str::FromStr for Bug {
    type Err = String;

    /// `NAME` or `NAME:RATE`.
    fn from_str(text: &str) -> Result<Bug, String> {
        let (name, rate) = text.split_once(':').map_or((text, None), |(name, rate)| (name, Some(rate)));
        let kind = BugKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            format!("unknown bug `{name}`; the bugs are {}", BugKind::ALL.map(BugKind::name).join(", "))
        })?;
        let rate = match rate.map(str::parse) {
            None => 0.05,
            Some(Ok(rate)) if (0.0..=1.0).contains(&rate) => rate,
            Some(_) => return Err(format!("the rate of {name} must be a number between 0 and 1")),
        };
        Ok(Bug { kind, rate })
    }
}

impl fmt::Display for Bug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.rate)
    }
}

/// A store that sessions share.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    store: Store,
    bugs: Vec<Bug>,
    dice: Dice,
    /// For each key, the last value written by a transaction that aborted.
    vain: Vec<Option<Value>>,
    /// The initial value of registers.
    initial: Value,
}

impl Shared {
    fn strikes(&mut self, kind: BugKind) -> bool {
        let rate: f64 = self.bugs.iter().filter(|bug| bug.kind == kind).map(|bug| bug.rate).sum();
        rate > 0.0 && self.dice.chance(rate)
    }
}

impl MemoryStore {
    /// A store for a plan, at one of [`Store::LEVELS`].
    pub fn new(level: Level, bugs: Vec<Bug>, plan: &Plan) -> MemoryStore {
        let shared = Shared {
            store: Store::new(level, plan.spec.sessions, plan.spec.keys, plan.spec.seed),
            bugs,
            dice: Dice::new(plan.spec.seed, "bugs"),
            vain: vec![None; plan.spec.keys as usize],
            initial: plan.spec.kind.initial().and_then(|n| small(n).ok()).unwrap_or(Value::NIL),
        };
        MemoryStore { shared: Arc::new(Mutex::new(shared)) }
    }

    /// The connection of a session.
    pub fn session(&self, session: u32) -> impl KeyValue + use<> {
        Connected {
            shared: Arc::clone(&self.shared),
            session: Session(session),
            running: None,
            writes: Vec::new(),
        }
    }
}

const ZERO: Value = Value::small(0).expect("0 is small");

struct Connected {
    shared: Arc<Mutex<Shared>>,
    session: Session,
    running: Option<Transaction>,
    /// The register writes of the transaction so far.
    writes: Vec<(Key, Value)>,
}

impl Connected {
    fn locked(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&mut self, key: Key) -> Result<Value, Failure> {
        let mut txn = self.running.take().ok_or_else(idle)?;
        let own = self.writes.iter().any(|write| write.0 == key);
        let mut shared = self.locked();
        let mut value = shared.store.read(&mut txn, key);
        // The registers of `Store` are initially 0, a value that is never written.
        if value == ZERO || (!own && shared.strikes(BugKind::StaleRead)) {
            value = shared.initial;
        }
        if !own && shared.strikes(BugKind::AbortedRead) {
            value = shared.vain[key.index()].unwrap_or(value);
        }
        drop(shared);
        self.running = Some(txn);
        Ok(value)
    }

    fn write(&mut self, key: Key, value: Value) -> Result<Seen, Failure> {
        let mut txn = self.running.take().ok_or_else(idle)?;
        self.locked().store.write(&mut txn, key, value);
        self.running = Some(txn);
        self.writes.push((key, value));
        Ok(Seen::Done)
    }

    /// Commits the first half of the writes, and the second half later.
    fn tear(&mut self, txn: Transaction) {
        let (first, second) = self.writes.split_at(self.writes.len() / 2);
        self.locked().store.abort(txn);
        for half in [first, second] {
            let mut shared = self.locked();
            let mut txn = shared.store.begin(self.session, &[]);
            for &(key, value) in half {
                shared.store.write(&mut txn, key, value);
            }
            shared.store.commit_unchecked(txn);
            drop(shared);
            std::thread::yield_now();
        }
    }
}

impl KeyValue for Connected {
    fn connection(&self) -> Option<ConnectionId> {
        None
    }

    fn begin(&mut self, steps: &[Step], _record: &mut Record) -> Result<(), Failure> {
        self.writes.clear();
        let written = steps.iter().filter_map(|step| match step {
            Step::Write(key, _) | Step::Append(key, _) | Step::Insert(key, _) | Step::Delete(key) => {
                number(key).ok()
            }
            _ => None,
        });
        let intent: Vec<Key> = written.collect();
        let txn = self.locked().store.begin(self.session, &intent);
        self.running = Some(txn);
        // A transaction takes less than a scheduler time slice. Without yielding, transactions would rarely overlap.
        std::thread::yield_now();
        Ok(())
    }

    fn run(&mut self, step: &Step, _record: &mut Record) -> Result<Seen, Failure> {
        match step {
            Step::Read(key) => Ok(Seen::Value(present(self.read(number(key)?)?))),
            Step::Write(key, value) | Step::Insert(key, value) => self.write(number(key)?, small(*value)?),
            Step::Set(_, value) => {
                Err(other(format!("the in-memory store has no value {value:?}: its values are integers")))
            }
            Step::Delete(key) => {
                let key = number(key)?;
                match present(self.read(key)?) {
                    None => Ok(Seen::Value(None)),
                    Some(_) => self.write(key, Value::NIL),
                }
            }
            Step::ReadList(key) => {
                let mut txn = self.running.take().ok_or_else(idle)?;
                let mut shared = self.locked();
                let list = shared.store.read_list(&mut txn, number(key)?).to_vec();
                drop(shared);
                self.running = Some(txn);
                Ok(Seen::List(list.into_iter().filter_map(present).collect()))
            }
            Step::Append(key, value) => {
                let mut txn = self.running.take().ok_or_else(idle)?;
                self.locked().store.append(&mut txn, number(key)?, small(*value)?);
                self.running = Some(txn);
                Ok(Seen::Done)
            }
            Step::Range(low, high) => {
                let mut rows = Vec::new();
                for key in number(low)?.0..=number(high)?.0 {
                    if let Some(value) = present(self.read(Key(key))?) {
                        rows.push((Scalar::Int(key.into()), value));
                    }
                }
                Ok(Seen::Rows(rows))
            }
        }
    }

    fn commit(&mut self) -> Result<Stamps, Failure> {
        let txn = self.running.take().ok_or_else(idle)?;
        let mut shared = self.locked();
        if self.writes.len() > 1 && shared.strikes(BugKind::TornCommit) {
            drop(shared);
            self.tear(txn);
            return Ok(Stamps::default());
        }
        if shared.strikes(BugKind::SkipValidation) {
            shared.store.commit_unchecked(txn);
            return Ok(Stamps::default());
        }
        let committed = shared.store.commit(txn);
        committed.map(|()| Stamps::default()).map_err(|conflict| {
            for &(key, value) in &self.writes {
                shared.vain[key.index()] = Some(value);
            }
            Failure { class: Class::Serialization, code: None, message: conflict.to_string() }
        })
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        if let Some(txn) = self.running.take() {
            let mut shared = self.locked();
            shared.store.abort(txn);
            for &(key, value) in &self.writes {
                shared.vain[key.index()] = Some(value);
            }
        }
        Ok(())
    }

    fn reconnect(&mut self) -> Result<(), Failure> {
        self.rollback()
    }
}

fn present(value: Value) -> Option<i64> {
    value.as_small().map(i64::from)
}

fn number(key: &Scalar) -> Result<Key, Failure> {
    match key {
        Scalar::Int(n) => u32::try_from(*n).map(Key).map_err(|_| beyond("key", *n)),
        _ => Err(other("keys of the in-memory store must be integers".to_owned())),
    }
}

fn small(value: i64) -> Result<Value, Failure> {
    u64::try_from(value).ok().and_then(Value::small).ok_or_else(|| beyond("value", value))
}

fn beyond(what: &str, n: i64) -> Failure {
    other(format!("the {what} {n} is out of range; the in-memory store takes 0 to 2147483647"))
}

fn idle() -> Failure {
    other("no transaction is open".to_owned())
}

fn other(message: String) -> Failure {
    Failure { class: Class::Other, code: None, message }
}

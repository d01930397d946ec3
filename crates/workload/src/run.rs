//! Runs a workload: sessions interleave, the store executes, a draft records.
//!
//! At each step a random session moves. An idle session invokes its next transaction. A session that has
//! invoked one executes the whole transaction against the store and returns. So a transaction takes effect
//! atomically, at a moment between its two events, and transactions of different sessions overlap in time as
//! those of real clients do. The store decides what they see of each other. Each transaction announces its
//! writes to the store in advance, so no transaction ever conflicts.

use isoscope_history::{Draft, DraftTxn, History, Key, NO_EVENT, OpKind, Outcome, Session, Value};
use isoscope_levels::Level;
use rustc_hash::FxHashSet;

use crate::inject::Injector;
use crate::sample::Dice;
use crate::source::{KeySource, ValueSource};
use crate::spec::{Shape, Spec, SpecError};
use crate::store::{Store, Transaction};

/// Runs a workload and returns the recorded history. `progress` is called from time to time with the number
/// of finished transactions and their total number.
///
/// Sessions and keys are named 0, 1, 2, ..., transactions 1, 2, 3, ... in the order of their invocation. A
/// transaction of unknown outcome has no return event.
pub fn run(spec: &Spec, progress: &mut dyn FnMut(u64, u64)) -> Result<History, SpecError> {
    spec.validate()?;
    let mut runner = Runner::new(spec);
    runner.run_all(progress);
    let mut recorder = runner.recorder;
    let mut injector = Injector {
        recorder: &mut recorder,
        shape: spec.shape,
        sessions: spec.sessions,
        next_key: spec.keys,
        next_session: 0,
    };
    for &injection in &spec.injections {
        injector.inject(injection);
    }
    Ok(recorder.draft.finish()?)
}

/// The value of a number below 2^31. All numbers of a valid spec are below.
#[inline]
pub(crate) fn small(n: u32) -> Value {
    Value::small(n.into()).expect("a valid spec has no number this large")
}

/// The history recorded so far, and the counters for new events, transactions and values.
pub(crate) struct Recorder {
    pub(crate) draft: Draft,
    next_txn: u32,
    next_event: u32,
    /// The next unused value.
    pub(crate) next_value: u32,
}

/// A transaction that was invoked and has not returned.
#[derive(Clone, Copy)]
pub(crate) struct Invoked {
    pub(crate) txn: DraftTxn,
    event: u32,
}

impl Recorder {
    fn new(spec: &Spec) -> Recorder {
        let mut recorder = Recorder { draft: Draft::new(), next_txn: 1, next_event: 0, next_value: 1 };
        for session in 0..spec.sessions {
            let name = small(session);
            recorder.draft.session(name);
        }
        let initial = match spec.shape {
            Shape::Register => small(0),
            Shape::ListAppend => Value::NIL,
        };
        recorder.draft.set_initial(initial);
        recorder
    }

    /// Records the invocation of the session's next transaction.
    pub(crate) fn invoke(&mut self, session: Session) -> Invoked {
        let session = self.draft.session(small(session.0));
        let txn = self.draft.txn(session, small(self.next_txn), Outcome::Committed, None);
        self.next_txn += 1;
        Invoked { txn, event: self.next_event() }
    }

    #[inline]
    pub(crate) fn push(&mut self, txn: DraftTxn, kind: OpKind, key: Key, value: Value) {
        let key = small(key.0);
        self.draft.push(txn, kind, key, value, None);
    }

    /// Records the return of a transaction, unless its outcome stays unknown.
    pub(crate) fn complete(&mut self, invoked: Invoked, outcome: Outcome) {
        let event = if outcome == Outcome::Unknown { NO_EVENT } else { self.next_event() };
        self.draft.set_outcome(invoked.txn, outcome);
        self.draft.set_events(invoked.txn, invoked.event, event);
    }

    fn next_event(&mut self) -> u32 {
        self.next_event += 1;
        self.next_event - 1
    }
}

/// The state of a session.
#[derive(Clone, Copy)]
struct Progress {
    /// Transactions that have not returned yet.
    left: u32,
    invoked: Option<Invoked>,
}

#[derive(Clone, Copy)]
struct PlannedOp {
    key: Key,
    reads: bool,
}

struct Runner<'a> {
    spec: &'a Spec,
    dice: Dice,
    keys: KeySource,
    values: ValueSource,
    store: Store,
    recorder: Recorder,
    /// The operations of the transaction about to run.
    plan: Vec<PlannedOp>,
    /// The keys announced to the store.
    intent: Vec<Key>,
    appended: FxHashSet<Key>,
    /// The keys that a read-modify-write transaction has read or written.
    met: FxHashSet<Key>,
}

/// The number of transactions between two progress reports.
const REPORT: u64 = 8192;

impl<'a> Runner<'a> {
    fn new(spec: &'a Spec) -> Runner<'a> {
        Runner {
            spec,
            dice: Dice::new(spec.seed, "workload"),
            keys: KeySource::of(spec.keys, spec.distribution),
            values: ValueSource::of(spec.duplication),
            store: Store::new(spec.level, spec.sessions, spec.keys, spec.seed),
            recorder: Recorder::new(spec),
            plan: Vec::new(),
            intent: Vec::new(),
            appended: FxHashSet::default(),
            met: FxHashSet::default(),
        }
    }

    fn run_all(&mut self, progress: &mut dyn FnMut(u64, u64)) {
        let total = self.spec.base_txns();
        let unstarted = Progress { left: self.spec.txns_per_session, invoked: None };
        let mut states = vec![unstarted; self.spec.sessions as usize];
        let mut live: Vec<u32> = if total == 0 { Vec::new() } else { (0..self.spec.sessions).collect() };
        let mut done = 0;
        while !live.is_empty() {
            let pick = self.dice.below(live.len() as u32) as usize;
            let session = Session(live[pick]);
            let state = &mut states[session.index()];
            let Some(invoked) = state.invoked.take() else {
                state.invoked = Some(self.recorder.invoke(session));
                continue;
            };
            self.execute(session, invoked);
            state.left -= 1;
            if state.left == 0 {
                live.swap_remove(pick);
            }
            done += 1;
            if done % REPORT == 0 {
                progress(done, total);
            }
        }
        progress(done, total);
    }

    /// Runs one transaction from begin to end.
    fn execute(&mut self, session: Session, invoked: Invoked) {
        self.make_plan();
        let mut txn = self.store.begin(session, &self.intent);
        for place in 0..self.plan.len() {
            let op = self.plan[place];
            let (kind, value) = self.apply(&mut txn, op);
            self.recorder.push(invoked.txn, kind, op.key, value);
        }
        let outcome = self.end(txn);
        self.recorder.complete(invoked, outcome);
    }

    /// Draws the operations of a transaction, and collects the keys whose newest version it must see: the
    /// lists it reads after appending to them and, if the level forbids overwriting an unseen version, all
    /// keys it writes.
    fn make_plan(&mut self) {
        self.plan.clear();
        self.intent.clear();
        self.appended.clear();
        self.met.clear();
        // If the share is 0, no random number is drawn for it, so that old seeds still give the same history.
        let share = self.spec.read_modify_write;
        let reads_first = share > 0.0 && self.dice.chance(share);
        let ops = self.spec.ops_per_txn as usize;
        while self.plan.len() < ops {
            let reads = self.dice.chance(self.spec.read_ratio);
            let key = self.keys.draw(&mut self.dice);
            let is_new = reads_first && self.met.insert(key);
            if is_new && !reads {
                self.plan_op(key, true);
            }
            // The last operation may be a read without room for its write.
            if self.plan.len() < ops {
                self.plan_op(key, reads);
            }
        }
    }

    fn plan_op(&mut self, key: Key, reads: bool) {
        self.plan.push(PlannedOp { key, reads });
        if self.spec.level.implies(Level::Snapshot) {
            if !reads {
                self.intent.push(key);
            }
        } else if self.spec.shape == Shape::ListAppend {
            if !reads {
                self.appended.insert(key);
            } else if self.appended.contains(&key) {
                self.intent.push(key);
            }
        }
    }

    /// Executes an operation and returns what to record.
    #[inline]
    fn apply(&mut self, txn: &mut Transaction, op: PlannedOp) -> (OpKind, Value) {
        match (self.spec.shape, op.reads) {
            (Shape::Register, true) => (OpKind::Read, self.store.read(txn, op.key)),
            (Shape::Register, false) => {
                let value = self.value(op.key);
                self.store.write(txn, op.key, value);
                (OpKind::Write, value)
            }
            (Shape::ListAppend, true) => {
                let elements = self.store.read_list(txn, op.key);
                (OpKind::ReadList, self.recorder.draft.values.list(elements))
            }
            (Shape::ListAppend, false) => {
                let value = self.value(op.key);
                self.store.append(txn, op.key, value);
                (OpKind::Append, value)
            }
        }
    }

    /// The next value to write to a key.
    #[inline]
    fn value(&mut self, key: Key) -> Value {
        let recorder = &mut self.recorder;
        let fresh = || {
            recorder.next_value += 1;
            recorder.next_value - 1
        };
        small(self.values.draw(key, &mut self.dice).unwrap_or_else(fresh))
    }

    /// Ends a transaction according to the abort and unknown rates.
    fn end(&mut self, txn: Transaction) -> Outcome {
        let lot = self.dice.unit();
        if lot < self.spec.abort_rate {
            self.store.abort(txn);
            return Outcome::Aborted;
        }
        let unknown = lot < self.spec.abort_rate + self.spec.unknown_rate;
        if unknown && self.dice.chance(0.5) {
            self.store.abort(txn);
        } else {
            let committed = self.store.commit(txn);
            debug_assert_eq!(
                committed,
                Ok(()),
                "a transaction that runs alone and announced its writes cannot conflict"
            );
        }
        if unknown { Outcome::Unknown } else { Outcome::Committed }
    }
}

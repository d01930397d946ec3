//! Running a workload: sessions interleave, the store answers, a draft records.
//!
//! At each step a random session moves. An idle one invokes its next transaction; one that has invoked runs
//! the whole transaction against the store and returns. So a transaction takes effect at once, at a moment
//! between its two events, and transactions of different sessions overlap in time as those of real clients
//! do; what they see of one another is the store's choice. Since the store is told what a transaction is
//! going to write, none ever conflicts.

use isoscope_history::{Draft, DraftTxn, History, Key, NO_EVENT, OpKind, Outcome, Session, Value};
use isoscope_levels::Level;
use rustc_hash::FxHashSet;

use crate::inject::Injector;
use crate::sample::Dice;
use crate::source::{KeySource, ValueSource};
use crate::spec::{Shape, Spec, SpecError};
use crate::store::{Store, Transaction};

/// Runs a workload and returns what was recorded. `progress` is told from time to time how many
/// transactions are done, of how many.
///
/// Sessions and keys are named 0, 1, 2, ..., transactions 1, 2, 3, ... in the order of their invocation. A
/// transaction of unknown outcome never returned.
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

/// The value of a number below 2^31, which all numbers of a valid spec are.
#[inline]
pub(crate) fn small(n: u32) -> Value {
    Value::small(n.into()).expect("a valid spec has no number this large")
}

/// What was recorded so far, and the next number of everything.
pub(crate) struct Recorder {
    pub(crate) draft: Draft,
    next_txn: u32,
    next_event: u32,
    /// The next value nobody wrote.
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

    /// The next transaction of a session begins.
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

    /// A transaction returns, unless its outcome stays unknown.
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

/// How a session stands.
#[derive(Clone, Copy)]
struct Progress {
    /// Transactions not yet returned.
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
    /// What the store is told about them.
    intent: Vec<Key>,
    appended: FxHashSet<Key>,
    /// The keys that a transaction of read-modify-writes has read or written.
    met: FxHashSet<Key>,
}

/// Transactions between two reports of progress.
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

    /// Draws the operations of a transaction, and gathers the keys whose newest version it must see: those
    /// it writes, where the level forbids to overwrite what one has not seen, and in any case the lists it
    /// reads after appending to them.
    fn make_plan(&mut self) {
        self.plan.clear();
        self.intent.clear();
        self.appended.clear();
        self.met.clear();
        // Where no transaction is of read-modify-writes, nothing is drawn for it: a seed means what it always meant.
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
            // The last operation may be a read for which there is no write any more.
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

    /// Performs an operation and says what to record.
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

    /// A value to write to a key.
    #[inline]
    fn value(&mut self, key: Key) -> Value {
        let recorder = &mut self.recorder;
        let fresh = || {
            recorder.next_value += 1;
            recorder.next_value - 1
        };
        small(self.values.draw(key, &mut self.dice).unwrap_or_else(fresh))
    }

    /// Ends a transaction as the rates want it.
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
            debug_assert_eq!(committed, Ok(()), "a transaction that runs alone and told its intent");
        }
        if unknown { Outcome::Unknown } else { Outcome::Committed }
    }
}

//! Direct tests of the store: overlapping transactions, conflicts, own writes.

use isoscope_history::{Builder, History, Key, Outcome, Session, Value, notation};
use isoscope_levels::Level;
use isoscope_workload::{Conflict, Shape, Store, Transaction};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::axioms::satisfies;

const X: Key = Key(0);
const Y: Key = Key(1);

fn value(n: u32) -> Value {
    Value::small(n.into()).expect("small")
}

/// An executed operation.
enum Done {
    Read(Key, Value),
    Write(Key, Value),
    ReadList(Key, Vec<Value>),
    Append(Key, Value),
}

/// A session whose transactions interleave step by step with those of others.
#[derive(Default)]
struct Client {
    running: Option<Transaction>,
    ops: Vec<Done>,
    ended: Vec<(Vec<Done>, Outcome)>,
}

/// Random clients that execute one operation per step, so that transactions overlap in every way.
struct Drive {
    store: Store,
    shape: Shape,
    clients: Vec<Client>,
    dice: ChaCha8Rng,
    next_value: u32,
}

impl Drive {
    fn new(level: Level, shape: Shape, sessions: u32, seed: u64) -> Drive {
        Drive {
            store: Store::new(level, sessions, 2, seed),
            shape,
            clients: (0..sessions).map(|_| Client::default()).collect(),
            dice: ChaCha8Rng::seed_from_u64(seed),
            next_value: 1,
        }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.dice.next_u64() % n
    }

    fn step(&mut self) {
        let session = self.below(self.clients.len() as u64) as usize;
        let Some(txn) = self.clients[session].running.take() else {
            let intent = [X, Y];
            let named = self.below(3) as usize % 2;
            let txn = self.store.begin(Session::at(session), &intent[..named]);
            self.clients[session].running = Some(txn);
            return;
        };
        match self.below(8) {
            0 => {
                self.store.abort(txn);
                self.finish(session, Outcome::Aborted);
            }
            1 | 2 => {
                let outcome = match self.store.commit(txn) {
                    Ok(()) => Outcome::Committed,
                    Err(Conflict { .. }) => Outcome::Aborted,
                };
                self.finish(session, outcome);
            }
            _ => self.operate(session, txn),
        }
    }

    fn operate(&mut self, session: usize, mut txn: Transaction) {
        let key = Key(self.below(2) as u32);
        let done = match (self.shape, self.below(2) == 0) {
            (Shape::Register, true) => Done::Read(key, self.store.read(&mut txn, key)),
            (Shape::ListAppend, true) => Done::ReadList(key, self.store.read_list(&mut txn, key).to_vec()),
            (shape, false) => {
                let fresh = value(self.next_value);
                self.next_value += 1;
                if shape == Shape::Register {
                    self.store.write(&mut txn, key, fresh);
                    Done::Write(key, fresh)
                } else {
                    self.store.append(&mut txn, key, fresh);
                    Done::Append(key, fresh)
                }
            }
        };
        self.clients[session].ops.push(done);
        self.clients[session].running = Some(txn);
    }

    fn finish(&mut self, session: usize, outcome: Outcome) {
        let ops = std::mem::take(&mut self.clients[session].ops);
        self.clients[session].ended.push((ops, outcome));
    }

    fn committed(&self) -> usize {
        let ended = self.clients.iter().flat_map(|client| &client.ended);
        ended.filter(|(_, outcome)| *outcome == Outcome::Committed).count()
    }

    fn history(self) -> History {
        let mut builder = Builder::new();
        if self.shape == Shape::ListAppend {
            builder.initial(Value::NIL);
        }
        for (session, client) in self.clients.into_iter().enumerate() {
            for (ops, outcome) in client.ended {
                let mut txn = builder.session(session as u32).txn().outcome(outcome);
                for op in ops {
                    txn = match op {
                        Done::Read(key, value) => txn.read(key.0, value),
                        Done::Write(key, value) => txn.write(key.0, value),
                        Done::ReadList(key, values) => txn.read_list(key.0, values),
                        Done::Append(key, value) => txn.append(key.0, value),
                    };
                }
            }
        }
        builder.finish()
    }
}

/// Transactions that commit satisfy the level, however they overlap.
#[test]
fn overlapping_transactions_satisfy_the_level() {
    for level in Store::LEVELS {
        for shape in [Shape::Register, Shape::ListAppend] {
            for seed in 0..1000 {
                let mut drive = Drive::new(level, shape, 2 + (seed % 3) as u32, seed);
                while drive.committed() < 6 {
                    drive.step();
                }
                let history = drive.history();
                assert!(satisfies(&history, level), "{level}, seed {seed}: {}", notation::print(&history));
            }
        }
    }
}

/// Many commits happen while one transaction runs. Its versions are kept, and it still reads one state.
#[test]
fn a_long_transaction_keeps_its_versions() {
    for level in [Level::ReadAtomic, Level::Causal, Level::Prefix, Level::Snapshot, Level::Serializable] {
        let mut store = Store::new(level, 2, 2, 1);
        let write_both = |store: &mut Store, n: u32| {
            let mut txn = store.begin(Session(1), &[X, Y]);
            store.write(&mut txn, X, value(n));
            store.write(&mut txn, Y, value(n));
            store.commit(txn)
        };
        for n in 1..=300 {
            assert_eq!(write_both(&mut store, n), Ok(()));
        }
        let mut long = store.begin(Session(0), &[]);
        let first = store.read(&mut long, X);
        assert!(first > value(100), "{level} lags by more than its horizon: {first:?}");
        for n in 301..=10_000 {
            assert_eq!(write_both(&mut store, n), Ok(()));
        }
        assert_eq!((store.read(&mut long, X), store.read(&mut long, Y)), (first, first), "{level}");
        assert_eq!(store.commit(long), Ok(()));
    }
}

#[test]
fn the_first_committer_wins_under_snapshot() {
    for (level, expected) in [
        (Level::Snapshot, Err(Conflict { key: X })),
        (Level::Serializable, Err(Conflict { key: X })),
        (Level::Prefix, Ok(())),
        (Level::Causal, Ok(())),
    ] {
        let mut store = Store::new(level, 2, 2, 1);
        let mut increment = |session| {
            let mut txn = store.begin(Session(session), &[X]);
            assert_eq!(store.read(&mut txn, X), value(0));
            store.write(&mut txn, X, value(session + 1));
            txn
        };
        let (first, second) = (increment(0), increment(1));
        assert_eq!(store.commit(first), Ok(()), "{level}");
        assert_eq!(store.commit(second), expected, "{level}");
    }
}

#[test]
fn write_skew_commits_under_snapshot_only() {
    for (level, expected) in [(Level::Snapshot, Ok(())), (Level::Serializable, Err(Conflict { key: Y }))] {
        let mut store = Store::new(level, 2, 2, 1);
        let (mut one, mut two) = (store.begin(Session(0), &[X]), store.begin(Session(1), &[Y]));
        store.read(&mut one, Y);
        store.read(&mut two, X);
        store.write(&mut one, X, value(1));
        store.write(&mut two, Y, value(2));
        assert_eq!(store.commit(two), Ok(()));
        assert_eq!(store.commit(one), expected, "{level}");
    }
}

#[test]
fn a_list_read_after_an_append_must_match_the_committed_list() {
    for level in Store::LEVELS {
        let mut store = Store::new(level, 2, 2, 1);
        let mut one = store.begin(Session(0), &[X]);
        store.append(&mut one, X, value(1));
        assert_eq!(store.read_list(&mut one, X), [value(1)]);
        let mut two = store.begin(Session(1), &[X]);
        store.append(&mut two, X, value(2));
        store.append(&mut two, X, value(3));
        assert_eq!(store.commit(two), Ok(()));
        assert_eq!(store.commit(one), Err(Conflict { key: X }), "{level}");
        let mut three = store.begin(Session(0), &[X]);
        assert_eq!(store.read_list(&mut three, X), [value(2), value(3)], "{level}");
        store.append(&mut three, X, value(4));
        assert_eq!(store.read_list(&mut three, X), [value(2), value(3), value(4)]);
        store.abort(three);
    }
}

#[test]
fn a_transaction_of_many_writes_reads_them_back() {
    let mut store = Store::new(Level::Causal, 1, 1000, 1);
    let mut txn = store.begin(Session(0), &[]);
    for round in 1..=2 {
        for key in 0..100 {
            store.write(&mut txn, Key(key), value(key * 10 + round));
            assert_eq!(store.read(&mut txn, Key(key)), value(key * 10 + round));
        }
    }
    assert_eq!(store.read(&mut txn, Key(100)), value(0));
    store.commit(txn).unwrap();
    let mut next = store.begin(Session(0), &[]);
    for key in 0..100 {
        assert_eq!(store.read(&mut next, Key(key)), value(key * 10 + 2));
    }
    store.abort(next);
}

#[test]
#[should_panic(expected = "S0 already runs a transaction")]
fn a_session_runs_one_transaction_at_a_time() {
    let mut store = Store::new(Level::Causal, 1, 1, 1);
    let _one = store.begin(Session(0), &[]);
    let _two = store.begin(Session(0), &[]);
}

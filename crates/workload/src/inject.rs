//! Injected anomalies: a few transactions that violate exactly the levels that forbid the anomaly.
//!
//! Each anomaly is a small history: the first example of its entry in the catalogue. Injecting it appends its
//! transactions to the ends of sessions, one transaction per session. They use keys and values that occur
//! nowhere else, and all overlap in time. So no dependency leads from the anomaly back to an earlier
//! transaction, and every cycle lies inside it: the whole history satisfies a level exactly when the workload
//! and each anomaly alone satisfy it.
//!
//! In a workload of lists, a write of 1 becomes an append of 1, and a read of 1 becomes a read of the list
//! `[1]`.

use isoscope_history::{DraftTxn, History, Key, OpKind, Session, Txn, notation};
use isoscope_levels::Anomaly;

use crate::run::{Recorder, small};
use crate::spec::Shape;

/// An anomaly and the number of times to inject it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Injection {
    /// The anomaly, one of [`Injection::ANOMALIES`].
    pub kind: Anomaly,
    /// The number of times.
    pub count: u32,
}

impl Injection {
    /// The anomalies that can be injected: those whose first example in the catalogue only reads and writes
    /// registers, with one session per transaction, so that it can also be expressed with lists.
    pub const ANOMALIES: [Anomaly; 8] = [
        Anomaly::LostUpdate,
        Anomaly::WriteSkew,
        Anomaly::LongFork,
        Anomaly::FracturedRead,
        Anomaly::AbortedRead,
        Anomaly::IntermediateRead,
        Anomaly::NonRepeatableRead,
        Anomaly::CausalityViolation,
    ];

    fn history(self) -> History {
        let example = &self.kind.examples()[0];
        notation::parse(example.notation).expect("the notation of every example is tested")
    }

    /// The number of keys it adds.
    pub(crate) fn keys(self) -> u64 {
        u64::from(self.count) * self.history().key_count() as u64
    }

    /// The number of transactions it adds.
    pub(crate) fn txns(self) -> u64 {
        u64::from(self.count) * self.history().txn_count() as u64
    }

    /// The number of operations it adds.
    pub(crate) fn ops(self) -> u64 {
        u64::from(self.count) * self.history().op_count() as u64
    }
}

/// Appends anomalies to a recording.
pub(crate) struct Injector<'a> {
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) shape: Shape,
    /// The number of sessions of the workload.
    pub(crate) sessions: u32,
    /// The first unused key.
    pub(crate) next_key: u32,
    /// The session that gets the next transaction. Sessions take turns.
    pub(crate) next_session: u32,
}

impl Injector<'_> {
    /// Appends an anomaly the given number of times.
    pub(crate) fn inject(&mut self, injection: Injection) {
        let gadget = injection.history();
        for _ in 0..injection.count {
            self.append(&gadget);
        }
    }

    fn append(&mut self, gadget: &History) {
        let sessions = self.sessions.max(gadget.txn_count() as u32);
        let mut open = Vec::with_capacity(gadget.txn_count());
        for _ in gadget.txns() {
            let session = Session(self.next_session % sessions);
            self.next_session = (session.0 + 1) % sessions;
            open.push(self.recorder.invoke(session));
        }
        for (txn, &recorded) in gadget.txns().zip(&open) {
            self.copy(gadget, txn, recorded.txn);
        }
        for (txn, recorded) in gadget.txns().zip(open) {
            self.recorder.complete(recorded, gadget.outcome(txn));
        }
        self.next_key += gadget.key_count() as u32;
        self.recorder.next_value += values(gadget);
    }

    fn copy(&mut self, gadget: &History, from: Txn, to: DraftTxn) {
        for op in gadget.ops_of(from) {
            let key = Key(self.next_key + op.key.0);
            let number = op.value.as_small().unwrap_or(0);
            let fresh = if number == 0 { None } else { Some(small(self.recorder.next_value + number - 1)) };
            let (kind, value) = match (self.shape, op.kind) {
                (Shape::Register, kind) => (kind, fresh.unwrap_or(small(0))),
                (Shape::ListAppend, OpKind::Read) => {
                    (OpKind::ReadList, self.recorder.draft.values.list(fresh.as_slice()))
                }
                (Shape::ListAppend, _) => (OpKind::Append, fresh.unwrap_or(small(0))),
            };
            self.recorder.push(to, kind, key, value);
        }
    }
}

/// The number of values an anomaly writes: its notation numbers them 1, 2, 3, ...
fn values(gadget: &History) -> u32 {
    let all = gadget.txns().flat_map(|txn| gadget.ops_of(txn)).filter_map(|op| op.value.as_small());
    all.max().unwrap_or(0)
}

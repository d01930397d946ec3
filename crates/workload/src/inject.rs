//! Anomalies on order: a few transactions that violate exactly the levels meant to forbid them.
//!
//! Each anomaly is a small history in the one-line notation. Injecting it appends its transactions to the
//! ends of sessions, one a session, on keys and with values nobody else uses, all of them overlapping in
//! time. So no dependency leads from it back to an earlier transaction, and every cycle lies inside it: the
//! whole history satisfies a level exactly when the workload and each anomaly alone do.
//!
//! In a workload of lists, a write of 1 is an append of 1, and a read of 1 the read of the list `[1]`.

use isoscope_history::{DraftTxn, History, Key, OpKind, Session, Txn, notation};

use crate::level::Level;
use crate::run::{Recorder, small};
use crate::spec::Shape;

/// A known violation of isolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anomaly {
    /// Two transactions read the same version of a key and both overwrite it.
    LostUpdate,
    /// Two transactions read both of two keys, and each overwrites another one.
    WriteSkew,
    /// Two readers see two writes in opposite order.
    LongFork,
    /// A transaction sees one write of another and misses a second one.
    FracturedRead,
    /// A transaction reads what an aborted one wrote.
    AbortedRead,
    /// A transaction reads what another one later overwrote itself.
    IntermediateRead,
    /// A transaction reads one key twice and finds two values.
    NonRepeatableRead,
    /// A transaction sees an effect and misses its cause.
    CausalityViolation,
}

impl Anomaly {
    /// All anomalies.
    pub const ALL: [Anomaly; 8] = [
        Anomaly::LostUpdate,
        Anomaly::WriteSkew,
        Anomaly::LongFork,
        Anomaly::FracturedRead,
        Anomaly::AbortedRead,
        Anomaly::IntermediateRead,
        Anomaly::NonRepeatableRead,
        Anomaly::CausalityViolation,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Anomaly::LostUpdate => "lost-update",
            Anomaly::WriteSkew => "write-skew",
            Anomaly::LongFork => "long-fork",
            Anomaly::FracturedRead => "fractured-read",
            Anomaly::AbortedRead => "aborted-read",
            Anomaly::IntermediateRead => "intermediate-read",
            Anomaly::NonRepeatableRead => "non-repeatable-read",
            Anomaly::CausalityViolation => "causality-violation",
        }
    }

    /// The weakest level that forbids it; all stronger ones do too.
    pub const fn forbidden_from(self) -> Level {
        match self {
            Anomaly::AbortedRead | Anomaly::IntermediateRead => Level::ReadCommitted,
            Anomaly::FracturedRead | Anomaly::NonRepeatableRead => Level::ReadAtomic,
            Anomaly::CausalityViolation => Level::Causal,
            Anomaly::LongFork => Level::Prefix,
            Anomaly::LostUpdate => Level::Snapshot,
            Anomaly::WriteSkew => Level::Serializable,
        }
    }

    /// The anomaly in the notation of [`isoscope_history::notation`]. Where read committed is to hold, the
    /// old value is read before the new one.
    pub const fn notation(self) -> &'static str {
        match self {
            Anomaly::LostUpdate => "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)",
            Anomaly::WriteSkew => "T1: r(x,0) r(y,0) w(x,1)  T2: r(x,0) r(y,0) w(y,2)",
            Anomaly::LongFork => "T1: w(x,1)  T2: w(y,2)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,2)",
            Anomaly::FracturedRead => "T1: w(x,1) w(y,2)  T2: r(x,0) r(y,2)",
            Anomaly::AbortedRead => "T1!: w(x,1)  T2: r(x,1)",
            Anomaly::IntermediateRead => "T1: w(x,1) w(x,2)  T2: r(x,1)",
            Anomaly::NonRepeatableRead => "T1: w(x,1)  T2: r(x,0) r(x,1)",
            Anomaly::CausalityViolation => "T1: w(x,1)  T2: r(x,1) w(y,2)  T3: r(y,2) r(x,0)",
        }
    }

    fn history(self) -> History {
        notation::parse(self.notation()).expect("the notation of every anomaly is tested")
    }
}

/// An anomaly, so many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Injection {
    /// What to add.
    pub kind: Anomaly,
    /// How often.
    pub count: u32,
}

impl Injection {
    /// How many keys it adds.
    pub(crate) fn keys(self) -> u64 {
        u64::from(self.count) * self.kind.history().key_count() as u64
    }

    /// How many transactions it adds.
    pub(crate) fn txns(self) -> u64 {
        u64::from(self.count) * self.kind.history().txn_count() as u64
    }

    /// How many operations it adds.
    pub(crate) fn ops(self) -> u64 {
        u64::from(self.count) * self.kind.history().op_count() as u64
    }
}

/// Appends anomalies to a recording.
pub(crate) struct Injector<'a> {
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) shape: Shape,
    /// How many sessions the workload has.
    pub(crate) sessions: u32,
    /// The first key that nobody uses.
    pub(crate) next_key: u32,
    /// The session that takes the next transaction, so that all get their share.
    pub(crate) next_session: u32,
}

impl Injector<'_> {
    /// Appends an anomaly as often as asked.
    pub(crate) fn inject(&mut self, injection: Injection) {
        let gadget = injection.kind.history();
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

/// How many values an anomaly writes: its notation numbers them 1, 2, 3, ...
fn values(gadget: &History) -> u32 {
    let all = gadget.txns().flat_map(|txn| gadget.ops_of(txn)).filter_map(|op| op.value.as_small());
    all.max().unwrap_or(0)
}

//! Stale reads: reads that do not return the latest version in an order of transactions.
//!
//! A read of the current version satisfies every axiom of the form "what the reader must have seen is before what it reads from",
//! because no transaction wrote the key in between. So only stale reads are left to the axiom of a level. Comparing a read with the
//! current writer of its key shows whether it is stale.
//!
//! One thread runs the sessions (`schedule.rs`), and another follows it and collects the stale reads.

use std::ops::ControlFlow;
use std::sync::mpsc;

use isoscope_history::{History, Op, Txn};
use isoscope_order::Graph;

use crate::resolve::{Link, Resolved};
use crate::schedule::{Schedule, schedule};
use crate::watch::Watch;

/// A read that is not of the latest version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stale {
    pub(crate) reader: Txn,
    pub(crate) read: Op,
}

/// Transactions that are brought into the cache together.
pub(crate) const BATCH: usize = 16;

/// A schedule, and the reads that are stale in it, in its order. `None` when no schedule exists or a limit is reached.
pub(crate) fn schedule_with_stale(
    history: &History,
    resolved: &Resolved,
    forced: &Graph,
    watch: &dyn Watch,
) -> Option<(Schedule, Vec<Stale>)> {
    let (sender, parts) = mpsc::channel::<Box<[u32]>>();
    // The first of the two never waits for the second, so one thread can do both, one after the other.
    let (schedule, stale) = rayon::join(
        move || schedule(history, resolved, forced, |part| sent(&sender, part, watch)),
        || {
            let mut follower = Follower::new(history, resolved);
            for part in parts {
                follower.take(&part);
            }
            follower.stale
        },
    );
    Some((schedule?, stale))
}

/// Hands over a part of an order; breaks when a limit has been reached.
fn sent(sender: &mpsc::Sender<Box<[u32]>>, part: &[u32], watch: &dyn Watch) -> ControlFlow<()> {
    drop(sender.send(part.into()));
    if watch.limit().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Follows an order of transactions.
struct Follower<'a> {
    history: &'a History,
    resolved: &'a Resolved,
    /// The current writer of each key.
    current: Vec<Link>,
    stale: Vec<Stale>,
}

impl<'a> Follower<'a> {
    fn new(history: &'a History, resolved: &'a Resolved) -> Self {
        Follower { history, resolved, current: vec![Link::INITIAL; history.key_count()], stale: Vec::new() }
    }

    fn take(&mut self, part: &[u32]) {
        for batch in part.chunks(BATCH) {
            touch(self.history, self.resolved, batch);
            for &txn in batch {
                self.run(Txn(txn));
            }
        }
    }

    #[allow(clippy::needless_bitwise_bool, reason = "whatever branches here is guessed wrong half the time")]
    fn run(&mut self, txn: Txn) {
        let ops = self.history.op_range(txn);
        for (&link, op) in self.resolved.links[ops.clone()].iter().zip(ops.map(Op::at)) {
            let current = &mut self.current[self.history.key_of(op).index()];
            let stale = link.is_read() & (link != *current);
            // Whether it reads or writes is as good as random, so nothing branches on it.
            *current = if link.is_write() { Link::from(txn) } else { *current };
            if stale {
                self.stale.push(Stale { reader: txn, read: op });
            }
        }
    }
}

/// Brings transactions into the cache. Those of one session are far from those of the next: asking for several at
/// once lets the misses overlap.
pub(crate) fn touch(history: &History, resolved: &Resolved, batch: &[u32]) {
    for &txn in batch {
        for op in history.op_range(Txn(txn)).step_by(16).take(4) {
            std::hint::black_box((resolved.links[op], history.key_of(Op::at(op))));
        }
    }
}

//! Read committed and read atomic over a commit order: what a transaction sees directly.
//!
//! The axiom of docs/levels.md, "Commit orders": when t3 reads x from t1 and t2 writes x, PHI(t2, t3) implies that t2
//! is not after t1. Written as one number: *the latest t2 that t3 saw and that writes x is not after t1*. So
//! it is enough to keep, for each key, the latest position seen ([`Latest`]); the initial state has position
//! 0.
//!
//! Cost, with n operations: the smaller of two transactions for every pair that reads from one another, which
//! is O(n^1.5) at worst and O(n) where transactions are short.

use isoscope_history::{History, Key, Op, OpView, Txn};

use super::Refutation;
use super::facts::Facts;
use super::sources::Sources;
use isoscope_certificate::Node;

/// For each key, the latest position in the commit order of a writer that was seen.
///
/// Whose eyes are meant is a *mark*, a number that grows: entries under an older mark are smaller than any
/// under the present one, so nothing is ever cleared.
pub(super) struct Latest {
    mark: u64,
    seen: Vec<u64>,
}

impl Latest {
    pub(super) fn new(facts: &Facts<'_>) -> Latest {
        Latest { mark: 0, seen: vec![0; facts.history.key_count()] }
    }

    /// Forgets everything.
    pub(super) fn reset(&mut self) {
        self.mark += 1 << 32;
    }

    #[inline]
    pub(super) fn see(&mut self, key: Key, position: u32) {
        let entry = &mut self.seen[key.index()];
        *entry = (*entry).max(self.mark | u64::from(position));
    }

    /// Sees all that a transaction writes.
    pub(super) fn see_all(&mut self, history: &History, txn: Txn, position: u32) {
        for op in history.ops_of(txn).filter(|op| op.last_write) {
            self.see(op.key, position);
        }
    }

    /// Whether a writer of the key was seen that is later than a position.
    #[inline]
    pub(super) fn is_later(&self, key: Key, position: u32) -> bool {
        self.seen[key.index()] > self.mark | u64::from(position)
    }

    /// The axiom: t3 must not have seen a later writer than the one it reads from.
    pub(super) fn check(&self, sources: &Sources<'_, '_>, read: OpView) -> Result<(), Refutation> {
        match sources.of(read.id) {
            Some(from) if self.is_later(read.key, sources.order.position(from)) => {
                Err(Refutation::new(format!(
                    "{} misses a write that is later in the order and that its transaction must have seen",
                    sources.facts.text(read.id)
                )))
            }
            _ => Ok(()),
        }
    }
}

/// The transactions that the one at hand reads from, entered in [`Latest`] once each.
struct Reader {
    latest: Latest,
    /// By which reader each transaction was last seen.
    seen_by: Vec<u32>,
}

impl Reader {
    fn new(facts: &Facts<'_>) -> Reader {
        Reader { latest: Latest::new(facts), seen_by: vec![u32::MAX; facts.history.txn_count()] }
    }

    /// Sees the transaction that a read is from: by its writes or by the reader's keys, whichever are fewer.
    fn see(&mut self, sources: &Sources<'_, '_>, reader: Txn, read: Op) {
        let Some(Node::Txn(writer)) = sources.of(read) else { return };
        if std::mem::replace(&mut self.seen_by[writer.index()], reader.0) == reader.0 {
            return;
        }
        let (facts, position) = (sources.facts, sources.order.position(Node::Txn(writer)));
        if facts.history.op_range(writer).len() <= facts.history.op_range(reader).len() {
            self.latest.see_all(facts.history, writer, position);
        } else {
            for op in facts.history.ops_of(reader).filter(|op| op.kind.is_read()) {
                if facts.writes(writer, op.key) {
                    self.latest.see(op.key, position);
                }
            }
        }
    }
}

/// PHI: t3 reads from t2, of any key, before it reads x.
pub(super) fn check_read_committed(sources: &Sources<'_, '_>) -> Result<(), Refutation> {
    let mut reader = Reader::new(sources.facts);
    for &txn in sources.order.txns {
        reader.latest.reset();
        for op in sources.facts.history.ops_of(txn) {
            reader.latest.check(sources, op)?;
            reader.see(sources, txn, op.id);
        }
    }
    Ok(())
}

/// PHI: t3 reads from t2, or t2 is earlier in the session of t3.
pub(super) fn check_read_atomic(sources: &Sources<'_, '_>) -> Result<(), Refutation> {
    let (history, order) = (sources.facts.history, sources.order);
    let mut reader = Reader::new(sources.facts);
    let mut session_latest = Latest::new(sources.facts);
    for session in history.sessions() {
        session_latest.reset();
        for txn in order.members(history.txns_of(session)) {
            reader.latest.reset();
            history.op_range(txn).for_each(|op| reader.see(sources, txn, Op::at(op)));
            for op in history.ops_of(txn) {
                reader.latest.check(sources, op)?;
                session_latest.check(sources, op)?;
            }
            session_latest.see_all(history, txn, order.position(Node::Txn(txn)));
        }
    }
    Ok(())
}

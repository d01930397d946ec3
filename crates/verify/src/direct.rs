//! Read committed and read atomic over a commit order: what a transaction sees directly.
//!
//! The axiom (docs/levels.md, "Commit orders"): if t3 reads x from t1 and t2 writes x, then PHI(t2, t3)
//! implies that t2 is not after t1. As one number: the latest writer of x that t3 has seen is not after t1.
//! So it is enough to keep, for each key, the latest position seen ([`Latest`]). The initial state has
//! position 0.
//!
//! Cost, with n operations: for every pair of transactions that reads from one another, the length of the
//! shorter one. That is O(n^1.5) at worst, and O(n) if transactions are short.

use isoscope_history::{History, Key, Op, OpView, Txn};

use super::Refutation;
use super::facts::Facts;
use super::sources::Sources;
use isoscope_certificate::Node;

/// For each key, the latest position in the commit order of a writer that the current reader has seen.
///
/// A growing *mark* identifies the current reader. Entries under an older mark are smaller than any under the
/// current one, so nothing needs to be cleared.
pub(super) struct Latest {
    mark: u64,
    seen: Vec<u64>,
}

impl Latest {
    pub(super) fn new(facts: &Facts<'_>) -> Latest {
        Latest { mark: 0, seen: vec![0; facts.history.key_count()] }
    }

    /// Starts a new reader, which has seen nothing.
    pub(super) fn reset(&mut self) {
        self.mark += 1 << 32;
    }

    #[inline]
    pub(super) fn see(&mut self, key: Key, position: u32) {
        let entry = &mut self.seen[key.index()];
        *entry = (*entry).max(self.mark | u64::from(position));
    }

    /// Records that the reader has seen everything a transaction writes.
    pub(super) fn see_all(&mut self, history: &History, txn: Txn, position: u32) {
        for op in history.ops_of(txn).filter(|op| op.last_write) {
            self.see(op.key, position);
        }
    }

    /// Whether the reader has seen a writer of the key after a position.
    #[inline]
    pub(super) fn is_later(&self, key: Key, position: u32) -> bool {
        self.seen[key.index()] > self.mark | u64::from(position)
    }

    /// The axiom: the reader has not seen a later writer than the one it reads from.
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

/// Enters each transaction that the current one reads from into [`Latest`] once.
struct Reader {
    latest: Latest,
    /// For each transaction, the last reader that has seen it.
    seen_by: Vec<u32>,
}

impl Reader {
    fn new(facts: &Facts<'_>) -> Reader {
        Reader { latest: Latest::new(facts), seen_by: vec![u32::MAX; facts.history.txn_count()] }
    }

    /// Records that the reader has seen the writer of a read. It scans the shorter of the two transactions.
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

/// PHI: t3 reads from t2, of any key, before it reads x. The reads of one range read happen at once.
pub(super) fn check_read_committed(sources: &Sources<'_, '_>) -> Result<(), Refutation> {
    let mut reader = Reader::new(sources.facts);
    for &txn in sources.order.txns {
        reader.latest.reset();
        let mut at_once: Vec<Op> = Vec::new();
        for op in sources.facts.history.ops_of(txn) {
            if !op.continues {
                at_once.drain(..).for_each(|read| reader.see(sources, txn, read));
            }
            reader.latest.check(sources, op)?;
            at_once.push(op.id);
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

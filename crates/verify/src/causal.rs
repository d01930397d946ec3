//! Causal consistency and parallel snapshot isolation over a commit order: what happens before a transaction.
//!
//! Causal (docs/levels.md, "Commit orders"): PHI(t2, t3) is `(so | wr)+(t2, t3)`. If t3 reads x from t1 and
//! t2 writes x, then PHI(t2, t3) implies that t2 is not after t1.
//!
//! Parallel snapshot isolation (docs/levels.md, "Dependency graphs"): `irreflexive((so | wr | ww)+ ; rw?)`,
//! where the commit order determines `ww`. The order contains `so`, `wr` and `ww`, so a cycle needs an `rw`
//! from t3 to a t2 that overwrote the version t3 read, and a path back. This is the causal axiom with `(so |
//! wr | ww)+` instead of `(so | wr)+`. Consecutive writers of a key need an edge; the other `ww` edges follow
//! by transitivity.
//!
//! The transactions of a session that happen before a given one form a prefix of that session, and a vector
//! clock stores where the prefix ends. Clocks are computed in commit order, which contains `so` and `wr`.
//! They only grow along a session, so one walk over a session meets every transaction of every other session
//! once. The walk enters what it meets in [`Latest`]; each read is then one comparison.
//!
//! Cost, with n operations and k sessions: O(n k) steps. Memory is bounded: the walk handles as many sessions
//! at a time as fit into [`CLOCK_BYTES`], and is repeated for the next block of sessions.

use std::ops::Range;

use isoscope_history::{History, Session, Txn};

use super::Refutation;
use super::direct::Latest;
use super::sources::Sources;
use isoscope_certificate::Node;

/// The relation that orders a transaction after its past.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Past {
    /// `(so | wr)+`.
    Causal,
    /// `(so | wr | ww)+`.
    WithVersions,
}

/// The memory limit of the clocks of one block of sessions, in bytes.
const CLOCK_BYTES: usize = 256 << 20;

/// Checks the axiom for every read.
pub(super) fn check(sources: &Sources<'_, '_>, past: Past) -> Result<(), Refutation> {
    let history = sources.facts.history;
    let rows = history.txn_count().max(1);
    let width = (CLOCK_BYTES / size_of::<u32>() / rows).clamp(1, history.session_count().max(1));
    check_in_blocks(sources, past, width)
}

/// Checks the axiom with the clocks of `width` sessions at a time.
fn check_in_blocks(sources: &Sources<'_, '_>, past: Past, width: usize) -> Result<(), Refutation> {
    let sessions = sources.facts.history.session_count();
    let mut latest = Latest::new(sources.facts);
    for first in (0..sessions).step_by(width) {
        let clocks = Clocks::new(sources, past, first..sessions.min(first + width));
        for session in sources.facts.history.sessions() {
            latest.reset();
            clocks.walk(sources, session, &mut latest)?;
        }
    }
    Ok(())
}

/// For each transaction and each session of a block: one more than the last transaction of that session that
/// is the transaction itself or happens before it; 0 if there is no such transaction.
struct Clocks {
    block: Range<usize>,
    times: Vec<u32>,
}

impl Clocks {
    fn new(sources: &Sources<'_, '_>, past: Past, block: Range<usize>) -> Clocks {
        let history = sources.facts.history;
        let mut clocks = Clocks { times: vec![0; block.len() * history.txn_count()], block };
        let mut ends: Vec<Option<Txn>> = vec![None; history.session_count()];
        let mut writers: Vec<Option<Txn>> = vec![None; history.key_count()];
        for &txn in sources.order.txns {
            let session = history.session_of(txn).index();
            if let Some(before) = ends[session].replace(txn) {
                clocks.join(txn, before);
            }
            for op in history.ops_of(txn) {
                if let Some(Node::Txn(writer)) = sources.of(op.id) {
                    clocks.join(txn, writer);
                }
                if op.last_write
                    && past == Past::WithVersions
                    && let Some(before) = writers[op.key.index()].replace(txn)
                {
                    clocks.join(txn, before);
                }
            }
            if clocks.block.contains(&session) {
                let own = clocks.row(txn).start + session - clocks.block.start;
                clocks.times[own] = txn.0 + 1;
            }
        }
        clocks
    }

    fn row(&self, txn: Txn) -> Range<usize> {
        txn.index() * self.block.len()..(txn.index() + 1) * self.block.len()
    }

    fn join(&mut self, into: Txn, from: Txn) {
        let (into, from) = (self.row(into), self.row(from));
        let (low, high) = self.times.split_at_mut(into.start.max(from.start));
        let (into, from) = if into.start < from.start {
            (&mut low[into], &high[..self.block.len()])
        } else {
            (&mut high[..self.block.len()], &low[from])
        };
        into.iter_mut().zip(from).for_each(|(a, &b)| *a = (*a).max(b));
    }

    /// Walks along a session and checks each read against what happens before its transaction.
    fn walk(
        &self,
        sources: &Sources<'_, '_>,
        session: Session,
        latest: &mut Latest,
    ) -> Result<(), Refutation> {
        let (history, order) = (sources.facts.history, sources.order);
        let mut met: Vec<u32> = self.block.clone().map(|s| first_txn(history, s)).collect();
        for txn in order.members(history.txns_of(session)) {
            sources.facts.go_on()?;
            for (column, met) in met.iter_mut().enumerate() {
                // A transaction does not happen before itself.
                let itself = self.block.start + column == session.index();
                let end = self.times[self.row(txn).start + column].saturating_sub(u32::from(itself));
                for other in order.members((*met..end).map(Txn)) {
                    latest.see_all(history, other, order.position(Node::Txn(other)));
                }
                *met = end.max(*met);
            }
            for op in history.ops_of(txn) {
                latest.check(sources, op)?;
            }
        }
        Ok(())
    }
}

fn first_txn(history: &History, session: usize) -> u32 {
    history.txn_range(Session::at(session)).start
}

#[cfg(test)]
mod tests {
    use isoscope_history::notation;

    use super::super::facts::Facts;
    use super::super::order::Order;
    use super::*;

    /// The block width does not change the answer: the write that T5 misses is found in the block of its
    /// session.
    #[test]
    fn blocks_of_sessions_do_not_matter() {
        use Past::{Causal, WithVersions};
        for (text, past, holds) in [
            ("T1: w(x,1)  T2: r(x,1) w(y,1)  T3: w(z,1)  T4: r(z,1)  T5: r(y,1) r(x,1)", Causal, true),
            ("T1: w(x,1)  T2: r(x,1) w(y,1)  T3: w(z,1)  T4: r(z,1)  T5: r(y,1) r(x,0)", Causal, false),
            ("T1: w(z,1)  T2: r(z,1)  T3: w(x,1)  T4: r(x,1) w(y,1)  T5: r(y,1) r(x,0)", Causal, false),
            ("T1: w(x,1) ; T2: w(y,1)  T3: r(y,1) w(z,1)  T4: w(u,1)  T5: r(z,1) r(x,0)", Causal, false),
            ("T1: w(x,1) w(z,1)  T2: w(z,2) w(y,1)  T3: w(u,1)  T5: r(y,1) r(x,0)", Causal, true),
            ("T1: w(x,1) w(z,1)  T2: w(z,2) w(y,1)  T3: w(u,1)  T5: r(y,1) r(x,0)", WithVersions, false),
        ] {
            let history = notation::parse(text).unwrap();
            let facts = Facts::new(&history);
            let txns: Vec<Txn> = history.txns().collect();
            let order = Order::new(&facts, &txns).unwrap();
            let sources = Sources::new(&facts, &order, &[]).unwrap();
            for width in 1..=6 {
                assert_eq!(check_in_blocks(&sources, past, width).is_ok(), holds, "{width} of {text}");
            }
        }
    }
}

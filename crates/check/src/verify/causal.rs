//! The causal axiom over a commit order: PHI(t2, t3) is `(so | wr)+(t2, t3)`.
//!
//! What happens before a transaction is, in every session, a beginning of that session; a vector clock holds
//! where it ends. Clocks are computed in commit order, since that contains `so` and `wr`. Along a session the
//! clocks only grow, so one walk over a session's transactions meets, in every other session, every
//! transaction once: what it meets is entered in [`Latest`], and each read is then one comparison.
//!
//! Cost, with n operations and k sessions: O(n k) steps. Memory is bounded: the columns of the clocks are
//! made for as many sessions at a time as fit in [`CLOCK_BYTES`], and the walks repeated for the next.

use std::ops::Range;

use isoscope_history::{History, Op, Session, Txn};

use super::Refutation;
use super::facts::{Facts, Source};
use super::witness::{Latest, Order};
use crate::certificate::Node;

/// How much memory the clocks may take at a time.
const CLOCK_BYTES: usize = 256 << 20;

/// Checks the axiom for every read.
pub(super) fn check(facts: &Facts<'_>, order: &Order<'_>) -> Result<(), Refutation> {
    let rows = facts.history.txn_count().max(1);
    let width = (CLOCK_BYTES / size_of::<u32>() / rows).clamp(1, facts.history.session_count().max(1));
    check_in_blocks(facts, order, width)
}

/// Checks the axiom with the clocks of so many sessions at a time.
fn check_in_blocks(facts: &Facts<'_>, order: &Order<'_>, width: usize) -> Result<(), Refutation> {
    let sessions = facts.history.session_count();
    let mut latest = Latest::new(facts);
    for first in (0..sessions).step_by(width) {
        let clocks = Clocks::new(facts, order, first..sessions.min(first + width));
        for session in facts.history.sessions() {
            latest.reset();
            clocks.walk(facts, order, session, &mut latest)?;
        }
    }
    Ok(())
}

/// For each transaction and each session of a block: one more than the last transaction of that session that
/// happens before it or is it; 0 when none does.
struct Clocks {
    block: Range<usize>,
    times: Vec<u32>,
}

impl Clocks {
    fn new(facts: &Facts<'_>, order: &Order<'_>, block: Range<usize>) -> Clocks {
        let history = facts.history;
        let mut clocks = Clocks { times: vec![0; block.len() * history.txn_count()], block };
        let mut ends: Vec<Option<Txn>> = vec![None; history.session_count()];
        for &txn in order.txns {
            let session = history.session_of(txn).index();
            if let Some(before) = ends[session].replace(txn) {
                clocks.join(txn, before);
            }
            for op in history.op_range(txn) {
                if let Source::From(Node::Txn(writer)) = facts.source(Op::at(op)) {
                    clocks.join(txn, writer);
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
        facts: &Facts<'_>,
        order: &Order<'_>,
        session: Session,
        latest: &mut Latest,
    ) -> Result<(), Refutation> {
        let mut met: Vec<u32> = self.block.clone().map(|s| first_txn(facts.history, s)).collect();
        for txn in facts.history.txns_of(session).filter(|&txn| facts.is_present(txn)) {
            for (column, met) in met.iter_mut().enumerate() {
                // A transaction does not happen before itself.
                let itself = self.block.start + column == session.index();
                let end = self.times[self.row(txn).start + column].saturating_sub(u32::from(itself));
                for other in (*met..end).map(Txn).filter(|&other| facts.is_present(other)) {
                    latest.see_all(facts.history, other, order.position(Node::Txn(other)));
                }
                *met = end.max(*met);
            }
            for op in facts.history.ops_of(txn) {
                latest.check(facts, order, op)?;
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

    use super::*;

    /// However many sessions are taken at a time, the answer is the same: the write that T5 misses is found
    /// in the block of its session, wherever that is.
    #[test]
    fn blocks_of_sessions_do_not_matter() {
        for (text, holds) in [
            ("T1: w(x,1)  T2: r(x,1) w(y,1)  T3: w(z,1)  T4: r(z,1)  T5: r(y,1) r(x,1)", true),
            ("T1: w(x,1)  T2: r(x,1) w(y,1)  T3: w(z,1)  T4: r(z,1)  T5: r(y,1) r(x,0)", false),
            ("T1: w(z,1)  T2: r(z,1)  T3: w(x,1)  T4: r(x,1) w(y,1)  T5: r(y,1) r(x,0)", false),
            ("T1: w(x,1) ; T2: w(y,1)  T3: r(y,1) w(z,1)  T4: w(u,1)  T5: r(z,1) r(x,0)", false),
        ] {
            let history = notation::parse(text).unwrap();
            let facts = Facts::new(&history);
            let txns: Vec<Txn> = history.txns().collect();
            let order = Order::new(&facts, &txns).unwrap();
            for width in 1..=6 {
                assert_eq!(check_in_blocks(&facts, &order, width).is_ok(), holds, "{width} of {text}");
            }
        }
    }
}

//! Transactions of unknown outcome that may take effect after later transactions of their session.
//!
//! A client that does not learn the outcome of a commit may continue on another connection while the commit
//! is still in flight. Then session order does not determine when that transaction took effect. The copy of
//! the history puts such a transaction into a session of its own. This drops its order after earlier
//! transactions of its session, which only makes a level easier to satisfy; docs/levels.md states which
//! violations are missed. Sessions are chains; the exact order would be a tree. The order of all others is kept.
//! The last transaction of a session stays in its session.

use crate::history::{History, Intervals, Outcome};
use crate::ids::{Session, Txn};
use crate::index;

impl History {
    /// A copy in which every transaction of unknown outcome is in a session of its own, unless it is the last
    /// of its session; `None` if the history has no such transaction.
    pub fn with_late_unknown(&self) -> Option<History> {
        let is_late = |txn: Txn| {
            let last = self.txn_range(self.session_of(txn)).end == txn.0 + 1;
            self.outcome(txn) == Outcome::Unknown && !last
        };
        let late: Vec<Txn> = self.txns().filter(|&txn| is_late(txn)).collect();
        if late.is_empty() {
            return None;
        }
        let order: Vec<Txn> = self.txns().filter(|&txn| !is_late(txn)).chain(late.iter().copied()).collect();
        let mut history = self.in_order(&order);
        let mut kept = vec![0u32; self.session_count()];
        for &txn in &order[..order.len() - late.len()] {
            kept[self.session_of(txn).index()] += 1;
        }
        let alone = late.iter().map(|_| 1);
        let mut sum = 0;
        history.session_txns = std::iter::once(0)
            .chain(kept.into_iter().chain(alone).map(|size| {
                sum += size;
                sum
            }))
            .collect();
        let names = late.iter().map(|&txn| self.session_name[self.session_of(txn).index()]);
        history.session_name.extend(names);
        for (i, session) in
            (history.txn_count() - late.len()..history.txn_count()).zip(self.session_count()..)
        {
            history.txn_session[i] = Session::at(session);
        }
        index::build(&mut history);
        Some(history)
    }

    /// A copy with the transactions in another order. Its index is not built, and its sessions are unchanged.
    fn in_order(&self, order: &[Txn]) -> History {
        fn by<T: Clone>(column: &[T], order: &[Txn]) -> Vec<T> {
            order.iter().map(|txn| column[txn.index()].clone()).collect()
        }
        fn both<T: Clone>(given: Option<&Intervals<T>>, order: &[Txn]) -> Option<Intervals<T>> {
            given.map(|given| Intervals { start: by(&given.start, order), end: by(&given.end, order) })
        }
        let mut history = self.clone();
        let mut place = vec![Txn(0); order.len()];
        (history.txn_ops, history.tags) = (vec![0], Vec::with_capacity(self.op_count()));
        history.at.clear();
        history.keys.clear();
        history.values.clear();
        for (&txn, i) in order.iter().zip(0..) {
            place[txn.index()] = Txn(i);
            let ops = self.op_range(txn);
            history.tags.extend(self.tags[ops.clone()].iter().map(|tag| tag.unmarked()));
            history.keys.extend_from_slice(&self.keys[ops.clone()]);
            history.values.extend_from_slice(&self.values[ops.clone()]);
            history.at.extend_from_slice(&self.at[ops]);
            history.txn_ops.push(history.tags.len() as u32);
        }
        history.txn_session = by(&self.txn_session, order);
        history.txn_outcome = by(&self.txn_outcome, order);
        history.txn_name = by(&self.txn_name, order);
        history.txn_position = by(&self.txn_position, order);
        history.events = both(self.events.as_ref(), order);
        history.times = both(self.times.as_ref(), order);
        history.timestamps = both(self.timestamps.as_ref(), order);
        for annotation in &mut history.annotations {
            annotation.txn = place[annotation.txn.index()];
        }
        history.annotations.sort_by_key(|annotation| annotation.txn);
        history.writers.take();
        history
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic fails the test")]
mod tests {
    use crate::notation::{parse, print};

    #[test]
    fn an_unknown_transaction_gets_its_own_session_unless_it_is_the_last() {
        let history =
            parse("T1@0-1: w(x,1) ; T2?@2-3: w(y,1) ; T3@4-5: r(x,1)  T4@0-9: r(y,1) ; T5?: w(x,5)").unwrap();
        let late = history.with_late_unknown().unwrap();
        assert_eq!(
            print(&late),
            "T1@0-1: w(x,1) ; T3@4-5: r(x,1)  T4@0-9: r(y,1) ; T5?: w(x,5)  T2?@2-3: w(y,1)"
        );
        assert_eq!(late.session_count(), 3);
        assert_eq!(late.writers(late.key_of(late.ops_of(crate::Txn(0)).next().unwrap().id)).len(), 2);
        assert!(late.with_late_unknown().is_none());
    }
}

//! A copy of a history in which something that was left open is settled, or something that was recorded is ignored.
//!
//! Where an element was appended to a list twice, or nobody learned how a transaction ended, a history stands for several,
//! and a checker may want to look at one of them. Ids stay what they are: whatever is said about the operations and
//! transactions of the copy can be said about those of the original. The original never changes.

use crate::history::{History, NO_EVENT, NO_TIME, OpKind, Outcome};
use crate::ids::{Op, Session, Txn};
use crate::value::Value;

/// A copy in the making; see the module.
pub struct Edit(History);

impl History {
    /// Begins a copy.
    pub fn edit(&self) -> Edit {
        Edit(self.clone())
    }
}

impl History {
    /// A copy in which every transaction is in a session of its own, so that no session orders anything. Sessions have
    /// the names of their transactions.
    pub fn apart(&self) -> History {
        let txns = self.txn_count() as u32;
        History {
            txn_session: (0..txns).map(Session).collect(),
            session_txns: (0..=txns).collect(),
            session_name: self.txn_name.clone(),
            ..self.clone()
        }
    }
}

impl Edit {
    /// The copy as it is now.
    pub fn history(&self) -> &History {
        &self.0
    }

    /// A value that looks like another and is equal to none.
    pub fn twin(&mut self, value: Value) -> Value {
        self.0.table.twin(value)
    }

    /// Says what an append appended.
    pub fn set_appended(&mut self, append: Op, value: Value) {
        assert_eq!(self.0.op(append).kind, OpKind::Append, "what was appended is said of appends");
        self.0.values[append.index()] = value;
    }

    /// Says what a list held.
    pub fn set_list(&mut self, read: Op, elements: &[Value]) {
        assert_eq!(self.0.op(read).kind, OpKind::ReadList, "elements are said of lists");
        self.0.values[read.index()] = self.0.table.list(elements);
    }

    /// Says whether a transaction took effect. One that did may have done so long after its client gave up: it never
    /// returned, as far as is known.
    pub fn set_outcome(&mut self, txn: Txn, took_effect: bool) {
        let history = &mut self.0;
        history.txn_outcome[txn.index()] = if took_effect { Outcome::Committed } else { Outcome::Aborted };
        if let Some(events) = &mut history.events {
            events.end[txn.index()] = NO_EVENT;
        }
        for clock in [&mut history.times, &mut history.timestamps].into_iter().flatten() {
            clock.end[txn.index()] = NO_TIME;
        }
    }

    /// The copy.
    pub fn finish(self) -> History {
        self.0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]
mod tests {
    use super::*;
    use crate::notation;

    #[test]
    fn apart_every_transaction_is_a_session() {
        let history = notation::parse("T1: w(x,1) ; T2@0-5: r(x,1)  T3!: w(x,2) w(y,2)").unwrap();
        let apart = history.apart();
        assert_eq!(notation::print(&apart), "T1: w(x,1)  T2@0-5: r(x,1)  T3!: w(x,2) w(y,2)");
        let sessions: Vec<Vec<Txn>> =
            apart.sessions().map(|session| apart.txns_of(session).collect()).collect();
        assert_eq!(sessions, [[Txn(0)], [Txn(1)], [Txn(2)]]);
        for txn in history.txns() {
            assert_eq!(apart.txns_of(apart.session_of(txn)).collect::<Vec<_>>(), [txn]);
            assert_eq!(apart.op_range(txn), history.op_range(txn));
        }
        assert_eq!(apart.writers(history.key_of(Op(0))), history.writers(history.key_of(Op(0))));
        assert_eq!(apart.writers_in(history.key_of(Op(0)), apart.session_of(Txn(2))), [Txn(2)]);
    }

    #[test]
    fn a_copy_differs_in_what_was_settled_and_in_nothing_else() {
        let history = notation::parse("T1: a(x,1)  T2?@0-5: a(x,1)  T3: r(x,[1 1])").unwrap();
        let mut edit = history.edit();
        let one = history.op(Op(0)).value;
        let twin = edit.twin(one);
        assert_ne!(twin, one);
        assert_ne!(edit.twin(one), twin);
        edit.set_appended(Op(0), twin);
        edit.set_list(Op(2), &[twin, one]);
        edit.set_outcome(Txn(1), true);
        let copy = edit.finish();
        // It looks the same but for what is known of the second transaction.
        let text = notation::print(&history).replace("T2?@0-5", "T2@0-");
        assert_eq!(notation::print(&copy), text);
        assert_eq!(copy.table().elements(copy.op(Op(2)).value), [copy.op(Op(0)).value, copy.op(Op(1)).value]);
        assert_eq!(history.op(Op(0)).value, history.op(Op(1)).value);
    }
}

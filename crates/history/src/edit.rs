//! A copy of a history in which an open choice is decided, or a recorded fact is ignored.
//!
//! If an element was appended to a list twice, or the outcome of a transaction is unknown, a history
//! represents several possible histories, and a checker may examine one of them. Ids do not change: a
//! statement about the operations and transactions of the copy applies to those of the original. The original
//! never changes.

use crate::history::{History, NO_EVENT, NO_TIME, OpKind, Outcome};
use crate::ids::{Op, Session, Txn};
use crate::value::Value;

/// A copy under construction; see the module documentation.
pub struct Edit(History);

impl History {
    /// Starts a copy.
    pub fn edit(&self) -> Edit {
        Edit(self.clone())
    }
}

impl History {
    /// A copy in which every transaction is in a session of its own, so that session order is empty. Sessions
    /// have the names of their transactions.
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
    /// The current state of the copy.
    pub fn history(&self) -> &History {
        &self.0
    }

    /// A new value that prints like the given one and differs from all others.
    pub fn twin(&mut self, value: Value) -> Value {
        self.0.table.twin(value)
    }

    /// Sets the value of an append.
    pub fn set_appended(&mut self, append: Op, value: Value) {
        assert_eq!(self.0.op(append).kind, OpKind::Append, "`set_appended` takes an append");
        self.0.values[append.index()] = value;
    }

    /// Sets the elements that a list read returned.
    pub fn set_list(&mut self, read: Op, elements: &[Value]) {
        assert_eq!(self.0.op(read).kind, OpKind::ReadList, "`set_list` takes a list read");
        self.0.values[read.index()] = self.0.table.list(elements);
    }

    /// Sets whether a transaction took effect. If it did, it may have done so long after its client gave up,
    /// so its return is unknown.
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

    /// Finishes the copy.
    pub fn finish(self) -> History {
        self.0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic fails the test")]
mod tests {
    use super::*;
    use crate::notation;

    #[test]
    fn apart_gives_every_transaction_its_own_session() {
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
    fn a_copy_differs_only_in_the_edited_parts() {
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
        // The print differs only in the outcome and the return of the second transaction.
        let text = notation::print(&history).replace("T2?@0-5", "T2@0-");
        assert_eq!(notation::print(&copy), text);
        assert_eq!(copy.table().elements(copy.op(Op(2)).value), [copy.op(Op(0)).value, copy.op(Op(1)).value]);
        assert_eq!(history.op(Op(0)).value, history.op(Op(1)).value);
    }
}

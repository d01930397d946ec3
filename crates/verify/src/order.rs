//! A commit order, and the position of every transaction in it.
//!
//! The transactions in the order are those that took effect. The order must contain every present
//! transaction, and no aborted one. It may contain any other transaction of unknown outcome: the order then
//! claims that it took effect, and its reads are checked like all others.

use isoscope_history::{Outcome, Txn};

use super::facts::Facts;
use super::{Refutation, ensure};
use isoscope_certificate::Node;

/// A commit order; see the module.
pub(super) struct Order<'a> {
    pub(super) txns: &'a [Txn],
    /// Counted from 1; 0 for the initial state and for transactions that are not in the order.
    position: Vec<u32>,
}

impl<'a> Order<'a> {
    /// Checks which transactions are in the order.
    pub(super) fn new(facts: &Facts<'_>, txns: &'a [Txn]) -> Result<Order<'a>, Refutation> {
        let mut position = vec![0; facts.history.txn_count()];
        for (&txn, place) in txns.iter().zip(1..) {
            ensure(txn.index() < position.len(), || format!("{txn:?} is no transaction"))?;
            ensure(facts.history.outcome(txn) != Outcome::Aborted, || {
                format!("{} is absent", facts.name(txn))
            })?;
            ensure(position[txn.index()] == 0, || format!("{} is in the order twice", facts.name(txn)))?;
            position[txn.index()] = place;
        }
        let missing = facts.present().find(|txn| position[txn.index()] == 0);
        match missing {
            None => Ok(Order { txns, position }),
            Some(txn) => Err(Refutation::new(format!("{} is not in the order", facts.name(txn)))),
        }
    }

    /// Whether the node is the initial state or a transaction of the order.
    pub(super) fn holds(&self, node: Node) -> bool {
        match node {
            Node::Initial => true,
            Node::Txn(txn) => self.position.get(txn.index()).is_some_and(|&place| place > 0),
        }
    }

    /// The position of a transaction, counted from 1; 0 for the initial state.
    pub(super) fn position(&self, node: Node) -> u32 {
        match node {
            Node::Initial => 0,
            Node::Txn(txn) => self.position[txn.index()],
        }
    }

    /// The given transactions that are in the order.
    pub(super) fn members(&self, txns: impl Iterator<Item = Txn>) -> impl Iterator<Item = Txn> {
        txns.filter(|&txn| self.holds(Node::Txn(txn)))
    }

    /// Checks that the order contains the order of every session.
    pub(super) fn check_sessions(&self, facts: &Facts<'_>) -> Result<(), Refutation> {
        for session in facts.history.sessions() {
            let mut before = 0;
            for txn in self.members(facts.history.txns_of(session)) {
                let place = self.position[txn.index()];
                ensure(before < place, || {
                    format!("{} is before an earlier transaction of its session", facts.name(txn))
                })?;
                before = place;
            }
        }
        Ok(())
    }
}

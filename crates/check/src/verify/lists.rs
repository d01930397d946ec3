//! The lists that a commit order makes.
//!
//! Lists need no axiom of their own. Replaying all appends in commit order gives for each key one list, and
//! the version that a transaction makes of it is a beginning that ends with its appends. So a list read says
//! by its length whose version it is, even where one element was appended twice.
//!
//! Cost: one step for each append, and for each read one comparison of every element.

use isoscope_history::{Key, Op, OpKind, Txn, Value};

use super::facts::{Facts, Source};
use super::order::Order;
use super::{Refutation, ensure};
use crate::certificate::Node;

/// For each key, the elements of its list in the end. With the last one that a transaction appended stands
/// who it was.
pub(super) struct Lists(Vec<Vec<(Value, Option<Txn>)>>);

impl Lists {
    /// Replays the appends of an order.
    pub(super) fn new(facts: &Facts<'_>, order: &Order<'_>) -> Lists {
        let history = facts.history;
        if !history.has_lists() {
            return Lists(Vec::new());
        }
        let initial = |key| facts.initial_elements(key).iter().map(|&element| (element, None)).collect();
        let mut lists: Vec<Vec<_>> = history.keys().map(initial).collect();
        for &txn in order.txns {
            for op in history.ops_of(txn).filter(|op| op.kind == OpKind::Append) {
                lists[op.key.index()].push((op.value, op.last_write.then_some(txn)));
            }
        }
        Lists(lists)
    }

    /// Whose version a list is.
    fn writer(&self, facts: &Facts<'_>, key: Key, part: &[Value]) -> Option<Node> {
        let list = &self.0[key.index()];
        let agrees = part.len() <= list.len() && part.iter().zip(list).all(|(&e, &(f, _))| e == f);
        if !agrees {
            return None;
        }
        if part.len() == facts.initial_elements(key).len() {
            return Some(Node::Initial);
        }
        list[part.len().checked_sub(1)?].1.map(Node::Txn)
    }

    /// Whether the version that a list read returned holds nothing that the reader appended.
    fn is_without(&self, facts: &Facts<'_>, reader: Txn, read: Op) -> bool {
        let view = facts.history.op(read);
        let length = facts.external_part(view, reader).map_or(0, <[Value]>::len);
        self.0[view.key.index()][..length].iter().all(|&(_, txn)| txn != Some(reader))
    }

    /// Whose version a list read returned, without what its own transaction appended.
    pub(super) fn source(&self, facts: &Facts<'_>, read: Op) -> Result<Node, Refutation> {
        let view = facts.history.op(read);
        let part = facts.external_part(view, facts.history.txn_of(read));
        part.and_then(|part| self.writer(facts, view.key, part)).ok_or_else(|| {
            Refutation::new(format!("{} is not what the order makes of the list", facts.text(read)))
        })
    }
}

/// Whether somebody who is present read a list wrongly, or two of its key in contradiction.
pub(super) fn contradict(facts: &Facts<'_>, key: Key) -> bool {
    let reads = facts.present().flat_map(|txn| facts.history.ops_of(txn).map(move |op| (txn, op)));
    let mut longest: &[Value] = &[];
    for (txn, read) in reads.filter(|(_, op)| op.kind == OpKind::ReadList && op.key == key) {
        let part = match facts.source(read.id) {
            Source::Nothing => continue,
            Source::Wrong => return true,
            _ => facts.external_part(read, txn).unwrap_or_default(),
        };
        if !longest.starts_with(part) && !part.starts_with(longest) {
            return true;
        }
        if part.len() > longest.len() {
            longest = part;
        }
    }
    false
}

/// PL-1: the order agrees with what lists show of the order of versions, unless they contradict each other.
pub(super) fn check_versions(facts: &Facts<'_>, order: &Order<'_>) -> Result<(), Refutation> {
    let lists = Lists::new(facts, order);
    let contradicted: Vec<bool> =
        facts.history.keys().map(|key| facts.is_list(key) && contradict(facts, key)).collect();
    for &reader in order.txns.iter().filter(|&&txn| facts.is_present(txn)) {
        for read in facts.history.ops_of(reader).filter(|op| op.kind == OpKind::ReadList) {
            if facts.source(read.id) == Source::Nothing || contradicted[read.key.index()] {
                continue;
            }
            let writer = lists.source(facts, read.id)?;
            let fits = match facts.source(read.id) {
                Source::From(from) => writer == from,
                _ => lists.is_without(facts, reader, read.id),
            };
            ensure(fits, || format!("{} is not what the order makes of the list", facts.text(read.id)))?;
        }
    }
    Ok(())
}

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

    /// Whose version a list read returned, without what its own transaction appended.
    pub(super) fn source(&self, facts: &Facts<'_>, read: Op) -> Result<Node, Refutation> {
        let view = facts.history.op(read);
        let part = facts.external_part(view, facts.history.txn_of(read));
        part.and_then(|part| self.writer(facts, view.key, part)).ok_or_else(|| {
            Refutation::new(format!("{} is not what the order makes of the list", facts.text(read)))
        })
    }
}

/// PL-1: the order agrees with what lists show of the order of versions.
pub(super) fn check_versions(facts: &Facts<'_>, order: &Order<'_>) -> Result<(), Refutation> {
    let lists = Lists::new(facts, order);
    for read in longest(facts) {
        let Source::From(from) = facts.source(read) else { continue };
        let writer = lists.source(facts, read)?;
        ensure(writer == from, || format!("{} is not what the order makes of the list", facts.text(read)))?;
    }
    Ok(())
}

/// For each list that nobody read wrongly, and no two in contradiction, the read with the longest external
/// part: it shows all that is known of the order of versions.
fn longest(facts: &Facts<'_>) -> impl Iterator<Item = Op> {
    let mut longest: Vec<Option<(&[Value], Op)>> = vec![None; facts.history.key_count()];
    let mut contradicted = vec![false; facts.history.key_count()];
    for txn in facts.present() {
        for read in facts.history.ops_of(txn).filter(|op| op.kind == OpKind::ReadList) {
            let key = read.key.index();
            let part = match (facts.source(read.id), facts.external_part(read, txn)) {
                (Source::Nothing, _) => continue,
                (Source::From(_), Some(part)) => part,
                _ => {
                    contradicted[key] = true;
                    continue;
                }
            };
            let (known, _) = *longest[key].get_or_insert((part, read.id));
            contradicted[key] |= !known.starts_with(part) && !part.starts_with(known);
            if part.len() > known.len() {
                longest[key] = Some((part, read.id));
            }
        }
    }
    longest
        .into_iter()
        .zip(contradicted)
        .filter(|&(_, bad)| !bad)
        .filter_map(|(l, _)| l.map(|(_, read)| read))
}

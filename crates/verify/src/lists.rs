//! The lists that a commit order produces.
//!
//! Lists need no axiom of their own. Replaying all appends in commit order gives one list per key, and the
//! version of a transaction is the prefix that ends with its appends. So the length of a list read determines
//! whose version it is, even if an element was appended twice. A read after own appends returns the version
//! just before its transaction, followed by its own appends so far.
//!
//! PL-1 has no such versions, only an order of writes. Elements that no transaction appended, or only aborted
//! ones, are left out of every list. A list that lacks initial elements, or holds an element more often than
//! it was appended, is ignored. A key is *readable* if the other lists that committed transactions read are
//! prefixes of each other. In these lists the elements of each transaction must be contiguous, in any order.
//! An append that no list holds may be lost, and needs no place in the order.
//!
//! Cost: one step per append, and one comparison per element of every list read.

use isoscope_history::{History, Key, Op, OpKind, OpView, Outcome, Txn, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::facts::Facts;
use super::order::Order;
use super::{Refutation, ensure};
use isoscope_certificate::Node;

/// An element of a list that an order produces: its transaction, and whether it is the last that this
/// transaction appended.
struct Element {
    value: Value,
    from: Node,
    is_last: bool,
}

/// For each key, its final list.
pub(super) struct Lists(Vec<Vec<Element>>);

impl Lists {
    /// Replays the appends of an order.
    pub(super) fn new(facts: &Facts<'_>, order: &Order<'_>) -> Lists {
        let history = facts.history;
        if !history.has_lists() {
            return Lists(Vec::new());
        }
        let initial_element = |&value: &Value| Element { value, from: Node::Initial, is_last: true };
        let initial = |key| facts.initial_elements(key).iter().map(initial_element).collect();
        let mut lists: Vec<Vec<_>> = history.keys().map(initial).collect();
        for &txn in order.txns {
            for op in history.ops_of(txn).filter(|op| op.kind == OpKind::Append) {
                let element = Element { value: op.value, from: Node::Txn(txn), is_last: op.last_write };
                lists[op.key.index()].push(element);
            }
        }
        Lists(lists)
    }

    /// The transaction whose version a list is.
    fn writer(&self, facts: &Facts<'_>, key: Key, part: &[Value]) -> Option<Node> {
        let list = &self.0[key.index()];
        let agrees = part.len() <= list.len() && part.iter().zip(list).all(|(&e, f)| e == f.value);
        if !agrees {
            return None;
        }
        if part.len() == facts.initial_elements(key).len() {
            return Some(Node::Initial);
        }
        let last = &list[part.len().checked_sub(1)?];
        last.is_last.then_some(last.from)
    }

    /// Whether a list read after own appends returned the version just before its transaction.
    pub(super) fn extends(&self, facts: &Facts<'_>, read: OpView, reader: Txn) -> bool {
        let length = facts.external_part(read, reader).map_or(usize::MAX, <[Value]>::len);
        let next = self.0[read.key.index()].get(length);
        read.external || next.is_some_and(|element| element.from == Node::Txn(reader))
    }

    /// The transaction whose version a list read returned, not counting its own appends.
    pub(super) fn source(&self, facts: &Facts<'_>, read: Op) -> Result<Node, Refutation> {
        let (view, reader) = (facts.history.op(read), facts.history.txn_of(read));
        let part = facts.external_part(view, reader).filter(|_| self.extends(facts, view, reader));
        part.and_then(|part| self.writer(facts, view.key, part)).ok_or_else(|| {
            Refutation::new(format!("{} is not what the order makes of the list", facts.text(read)))
        })
    }
}

/// By key and transaction, the transactions whose appends stand just before its own in a list that a present transaction read,
/// among the elements that were appended once and that the list holds once.
pub(super) fn neighbours(facts: &Facts<'_>) -> FxHashMap<(Key, Txn), Vec<Txn>> {
    let history = facts.history;
    let mut before: FxHashMap<(Key, Txn), Vec<Txn>> = FxHashMap::default();
    let is_list =
        |op: &OpView| op.kind == OpKind::ReadList && op.value != Value::UNKNOWN && facts.is_list(op.key);
    for read in facts.present().flat_map(|txn| history.ops_of(txn)).filter(is_list) {
        let appended = facts.appended(read);
        let held = counted(appended);
        let appends = appended.iter().filter(|element| held[element] == 1);
        let txns = appends.filter_map(|&element| facts.only_append(read.key, element));
        let txns: Vec<Txn> = txns.map(|append| history.txn_of(append)).collect();
        for pair in txns.windows(2).filter(|pair| pair[0] != pair[1]) {
            let known = before.entry((read.key, pair[1])).or_default();
            if !known.contains(&pair[0]) {
                known.push(pair[0]);
            }
        }
    }
    before
}

/// For each key, the lists that committed transactions read.
fn lists_of_keys(history: &History) -> FxHashMap<Key, Vec<(Op, &[Value])>> {
    let mut lists: FxHashMap<Key, Vec<(Op, &[Value])>> = FxHashMap::default();
    let is_list = |op: &OpView| op.kind == OpKind::ReadList && op.value != Value::UNKNOWN;
    let committed = history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed);
    for op in committed.flat_map(|txn| history.ops_of(txn)).filter(is_list) {
        lists.entry(op.key).or_default().push((op.id, history.table().elements(op.value)));
    }
    lists
}

/// Which lists show PL-1 an order of writes; see the module.
#[derive(Clone, Default)]
pub(super) struct Readable {
    pub(super) keys: Vec<bool>,
    ignored: FxHashSet<Op>,
}

impl Readable {
    pub(super) fn new(facts: &Facts<'_>) -> Readable {
        let (keys, ignored) = (vec![false; facts.history.key_count()], FxHashSet::default());
        let mut readable = Readable { keys, ignored };
        for (key, lists) in lists_of_keys(facts.history) {
            let mut shown: Vec<Vec<Value>> = Vec::new();
            for (read, list) in lists {
                match facts.after_initial(key, list).map(|list| appended_in(facts, key, list)) {
                    Some(list) if holds_none_too_often(facts, key, &list) => shown.push(list),
                    _ => drop(readable.ignored.insert(read)),
                }
            }
            shown.sort_by_key(Vec::len);
            let in_turn = shown.windows(2).all(|pair| pair[1].starts_with(&pair[0]));
            readable.keys[key.index()] = facts.is_list(key) && in_turn;
        }
        readable
    }

    /// Whether a list that a committed transaction read shows an order of writes.
    pub(super) fn shows(&self, read: Op, key: Key) -> bool {
        self.keys[key.index()] && !self.ignored.contains(&read)
    }
}

/// The elements of a list that transactions appended that did not abort.
pub(super) fn appended_in(facts: &Facts<'_>, key: Key, list: &[Value]) -> Vec<Value> {
    list.iter().copied().filter(|&element| facts.times(key, element) > 0).collect()
}

/// How often a list holds each of its elements.
fn counted(elements: &[Value]) -> FxHashMap<Value, u32> {
    let mut held: FxHashMap<Value, u32> = FxHashMap::default();
    for &element in elements {
        *held.entry(element).or_default() += 1;
    }
    held
}

/// Whether a list holds no element more often than it was appended.
fn holds_none_too_often(facts: &Facts<'_>, key: Key, appended: &[Value]) -> bool {
    counted(appended).iter().all(|(&element, &times)| times <= facts.times(key, element))
}

/// PL-1: in every readable list, the elements of each transaction are contiguous and follow the given order.
pub(super) fn check_writes(facts: &Facts<'_>, order: &Order<'_>) -> Result<(), Refutation> {
    let history = facts.history;
    let mut writers: FxHashMap<Key, Vec<Vec<Value>>> = FxHashMap::default();
    for &txn in order.txns {
        let mut by_key: FxHashMap<Key, Vec<Value>> = FxHashMap::default();
        for op in history.ops_of(txn).filter(|op| op.kind == OpKind::Append) {
            by_key.entry(op.key).or_default().push(op.value);
        }
        for (key, appends) in by_key {
            writers.entry(key).or_default().push(appends);
        }
    }
    for (key, lists) in lists_of_keys(history) {
        let blocks = writers.get(&key).map_or(&[][..], Vec::as_slice);
        let shown =
            lists.into_iter().filter(|&(read, _)| facts.readable.shows(read, key)).map(|(read, list)| {
                (read, appended_in(facts, key, facts.after_initial(key, list).unwrap_or(list)))
            });
        // The other lists are prefixes of the longest.
        let Some((read, list)) = shown.max_by_key(|(_, list)| list.len()) else { continue };
        ensure(consists_of_blocks(&list, blocks), || {
            format!("{} is not what the order makes of the list", facts.text(read))
        })?;
    }
    Ok(())
}

/// Whether a list consists of some elements of each block, one block after the other. Taking as many elements
/// of a block as possible leaves the fewest for the later blocks.
fn consists_of_blocks(mut list: &[Value], blocks: &[Vec<Value>]) -> bool {
    for block in blocks {
        let mut left = block.clone();
        while let Some((element, rest)) = list.split_first()
            && let Some(place) = left.iter().position(|other| other == element)
        {
            left.swap_remove(place);
            list = rest;
        }
    }
    list.is_empty()
}

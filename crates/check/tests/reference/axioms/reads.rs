//! What single reads say: the writers that a read may be from, and the part of a list that other transactions appended.
//!
//! docs/levels.md, Histories (external reads, final writes) and Lists.
//!
//! Limits: range reads must have been expanded to reads of single keys. A key is a register or a list, never both.

use isoscope_history::{History, Key, Op, OpKind, OpView, Txn, Value};

use super::presence::live;

/// A read of a key from a transaction, and for a list the external part.
#[derive(Clone)]
pub(super) struct Read {
    pub(super) op: Op,
    pub(super) key: Key,
    pub(super) from: usize,
    pub(super) list: Option<Vec<Value>>,
}

/// All that a read may be from, given who is present: empty when it is wrong in every order, `None` when it
/// reads its own transaction's last write.
pub(super) fn possible_reads(history: &History, txns: &[Txn], txn: Txn, read: OpView) -> Option<Vec<Read>> {
    let own = own_before(history, txn, read);
    if read.kind == OpKind::Read && !own.is_empty() {
        return if own.last() == Some(&read.value) { None } else { Some(Vec::new()) };
    }
    let list = match read.kind {
        OpKind::ReadList => match external_part(history, txn, read) {
            Some(part) => Some(part),
            None => return Some(Vec::new()),
        },
        _ => None,
    };
    let value = list.as_ref().map_or(Some(read.value), |part| part.last().copied());
    let mut possible = Vec::new();
    let is_initial = match &list {
        Some(part) => part == history.table().elements(history.initial(read.key)),
        None => history.is_initial(read.key, read.value),
    };
    if is_initial {
        possible.push(Read { op: read.id, key: read.key, from: 0, list: list.clone() });
    }
    for (i, &writer) in txns.iter().enumerate().filter(|&(_, &writer)| writer != txn) {
        if value.is_some() && final_write(history, writer, read.key) == value {
            possible.push(Read { op: read.id, key: read.key, from: i + 1, list: list.clone() });
        }
    }
    Some(possible)
}

/// The reads of some present transactions that could be of several writers, each with those that are present.
pub(crate) fn open_reads(history: &History, txns: &[Txn]) -> Vec<(Op, Vec<Option<Txn>>)> {
    let live = live(history);
    let mut open = Vec::new();
    for &txn in txns {
        for read in reads_of(history, txn) {
            if possible_reads(history, &live, txn, read).is_some_and(|all| all.len() > 1) {
                let possible = possible_reads(history, txns, txn, read).unwrap_or_default();
                let writers = possible.iter().map(|read| read.from.checked_sub(1).map(|i| txns[i])).collect();
                open.push((read.id, writers));
            }
        }
    }
    open
}

/// The reads of a transaction that say what they returned.
pub(super) fn reads_of(history: &History, txn: Txn) -> impl Iterator<Item = OpView> {
    history.ops_of(txn).filter(|op| op.kind.is_read() && op.value != Value::UNKNOWN)
}

/// What the transaction wrote to the key of a read before it.
pub(super) fn own_before(history: &History, txn: Txn, read: OpView) -> Vec<Value> {
    history.ops_of(txn).filter(|op| op.id < read.id && is_write_of(op, read.key)).map(|op| op.value).collect()
}

/// The part of a list that others appended; `None` when it does not end with what the reader appended.
pub(super) fn external_part(history: &History, txn: Txn, read: OpView) -> Option<Vec<Value>> {
    let list = history.table().elements(read.value);
    list.strip_suffix(&own_before(history, txn, read)[..]).map(<[Value]>::to_vec)
}

/// What a list shows of the appends of others; all of it where the parts cannot be separated.
pub(super) fn shown(history: &History, txn: Txn, read: OpView) -> Vec<Value> {
    let list = history.table().elements(read.value).to_vec();
    let part = external_part(history, txn, read).unwrap_or(list);
    let initial = history.table().elements(history.initial(read.key));
    part.strip_prefix(initial).unwrap_or(&part).to_vec()
}

/// A transaction's last write of a key.
pub(super) fn final_write(history: &History, txn: Txn, key: Key) -> Option<Value> {
    history.ops_of(txn).rfind(|op| is_write_of(op, key)).map(|op| op.value)
}

pub(super) fn is_write_of(op: &OpView, key: Key) -> bool {
    op.kind.is_write() && op.key == key
}

//! What is left to say about registers when external reads have their links: transaction by transaction, reads of
//! own writes, reads that have no link, reads that contradict each other.

use std::ops::Range;

use isoscope_history::{Datum, History, Key, Op, OpKind, OpView, Outcome, Txn, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Link;

/// What a pass over some transactions found, besides links.
#[derive(Default)]
pub(crate) struct Found {
    /// Reads that are wrong; why is asked later.
    pub(crate) open: Vec<Op>,
    pub(crate) unrepeatable: Vec<(Op, Op)>,
    /// The same where one of the two is of a range.
    pub(crate) changed_ranges: Vec<(Op, Op)>,
    pub(crate) ambiguous: Vec<Op>,
    pub(crate) unsupported: Vec<Op>,
    /// Reads of lists, left to `lists`.
    pub(crate) list_reads: Vec<Op>,
}

impl Found {
    pub(crate) fn join(mut self, mut other: Found) -> Found {
        self.open.append(&mut other.open);
        self.unrepeatable.append(&mut other.unrepeatable);
        self.changed_ranges.append(&mut other.changed_ranges);
        self.ambiguous.append(&mut other.ambiguous);
        self.unsupported.append(&mut other.unsupported);
        self.list_reads.append(&mut other.list_reads);
        self
    }

    /// Drops what happened in transactions that did not take effect.
    pub(crate) fn retain(&mut self, keep: impl Fn(Op) -> bool) {
        self.open.retain(|&op| keep(op));
        self.unrepeatable.retain(|&(op, _)| keep(op));
        self.changed_ranges.retain(|&(op, _)| keep(op));
        self.ambiguous.retain(|&op| keep(op));
        self.unsupported.retain(|&op| keep(op));
    }
}

/// Looks at some transactions.
pub(crate) fn resolve(
    history: &History,
    unsupported: &[bool],
    txns: Range<u32>,
    links: &mut [Link],
    memory: &mut Memory,
) -> Found {
    let first = history.op_range(Txn(txns.start)).start;
    let mut pass = Pass { history, unsupported, first, links, found: Found::default(), memory };
    let took_effect = |txn: &Txn| history.outcome(*txn) != Outcome::Aborted;
    txns.map(Txn).filter(took_effect).for_each(|txn| pass.transaction(txn));
    pass.found
}

struct Pass<'a> {
    history: &'a History,
    /// Keys that cannot be judged; empty when there are none.
    unsupported: &'a [bool],
    /// The operation of the first link.
    first: usize,
    links: &'a mut [Link],
    found: Found,
    memory: &'a mut Memory,
}

impl Pass<'_> {
    /// Nearly always nothing is wrong with any operation of a transaction. Whether it reads or writes is as good as
    /// random, so nothing branches on it.
    #[allow(clippy::needless_bitwise_bool, reason = "whatever branches here is guessed wrong half the time")]
    fn transaction(&mut self, txn: Txn) {
        let history = self.history;
        let ops = history.op_range(txn);
        let links = &self.links[ops.start - self.first..ops.end - self.first];
        let is_plain = |op: OpView, link: Link| {
            let plain_read = op.consistent & (!op.external | link.is_read()) & op.value.row().is_none();
            plain_read | op.kind.is_write()
        };
        let plain = history.ops_of(txn).zip(links).fold(true, |all, (op, &link)| all & is_plain(op, link));
        if plain && self.unsupported.is_empty() {
            return;
        }
        self.memory.forget(ops);
        let mut any_in_range = false;
        for op in history.ops_of(txn) {
            any_in_range |= op.in_range;
            self.look(op);
        }
        if any_in_range {
            self.compare_ranges(txn);
        }
    }

    /// Two reads of a key from two others, of which one is of a range.
    fn compare_ranges(&mut self, txn: Txn) {
        let linked = |op: &OpView| {
            let link = self.links[op.id.index() - self.first];
            op.kind == OpKind::Read && op.external && (link.is_read() || link == Link::AMBIGUOUS)
        };
        let mut first: FxHashMap<Key, OpView> = FxHashMap::default();
        for op in self.history.ops_of(txn).filter(linked) {
            let before = *first.entry(op.key).or_insert(op);
            if before.value != op.value && self.memory.differed.insert(op.key) {
                self.found.changed_ranges.push((before.id, op.id));
            }
        }
    }

    fn look(&mut self, op: OpView) {
        if op.kind == OpKind::RangeRead || self.unsupported.get(op.key.index()) == Some(&true) {
            self.found.unsupported.push(op.id);
            self.links[op.id.index() - self.first] = Link::NOTHING;
            return;
        }
        match op.kind {
            OpKind::Read => self.read(op),
            OpKind::ReadList => self.found.list_reads.push(op.id),
            _ => self.memory.write(op),
        }
    }

    fn read(&mut self, op: OpView) {
        if op.value == Value::UNKNOWN {
            return;
        }
        if op.value.row().is_some() && matches!(self.history.datum(op.value), Datum::List(_)) {
            self.found.unsupported.push(op.id);
            self.links[op.id.index() - self.first] = Link::NOTHING;
            return;
        }
        if !op.external {
            if self.memory.last_write(op).map(|write| self.history.op(write).value) != Some(op.value) {
                self.found.open.push(op.id);
            }
            return;
        }
        match self.links[op.id.index() - self.first] {
            Link::NOTHING => {
                self.found.open.push(op.id);
                return;
            }
            Link::AMBIGUOUS => self.found.ambiguous.push(op.id),
            _ => {}
        }
        // Cut isolation is about reads of single keys.
        if !op.in_range
            && let Some(first) = self.memory.read(op)
            && self.history.op(first).value != op.value
            && self.memory.differed.insert(op.key)
        {
            self.found.unrepeatable.push((first, op.id));
        }
    }
}

/// What a transaction did so far, by key.
///
/// Operations are numbered transaction by transaction, so what was noted of other transactions is not among those
/// of this one up to now, and nothing needs to be cleared between two.
pub(crate) struct Memory {
    /// The operations of the transaction.
    ops: Range<usize>,
    noted: Vec<Noted>,
    /// Keys of which two reads are known to contradict each other.
    differed: FxHashSet<Key>,
}

/// What was last noted of a key.
#[derive(Clone, Copy)]
struct Noted {
    /// The first external read of a transaction that has a link.
    read: Op,
    /// The last write.
    write: Op,
}

/// Before anything is noted: no history has this many operations.
const NONE: Op = Op(u32::MAX);

impl Memory {
    pub(crate) fn new(history: &History) -> Memory {
        let noted = vec![Noted { read: NONE, write: NONE }; history.key_count()];
        Memory { ops: 0..0, noted, differed: FxHashSet::default() }
    }

    fn forget(&mut self, ops: Range<usize>) {
        self.ops = ops;
        if !self.differed.is_empty() {
            self.differed.clear();
        }
    }

    fn write(&mut self, op: OpView) {
        self.noted[op.key.index()].write = op.id;
    }

    /// The last write of the transaction to the key of a read.
    fn last_write(&self, read: OpView) -> Option<Op> {
        let write = self.noted[read.key.index()].write;
        (self.ops.start..read.id.index()).contains(&write.index()).then_some(write)
    }

    /// Notes an external read, and returns the first one of the same key if this is not it.
    fn read(&mut self, read: OpView) -> Option<Op> {
        let first = &mut self.noted[read.key.index()].read;
        if (self.ops.start..read.id.index()).contains(&first.index()) {
            return Some(*first);
        }
        *first = read.id;
        None
    }
}

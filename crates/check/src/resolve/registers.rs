//! What is left to say about registers when external reads have their links: transaction by transaction, reads of
//! own writes, reads that have no link, reads that contradict each other.

use std::ops::Range;

use isoscope_history::{Datum, History, Key, Op, OpKind, OpView, Outcome, Txn, Value};
use rustc_hash::FxHashMap;

use super::Link;

/// What a pass over some transactions found, besides links.
#[derive(Default)]
pub(crate) struct Found {
    /// Reads that are wrong; why is asked later.
    pub(crate) open: Vec<Op>,
    pub(crate) unrepeatable: Vec<(Op, Op)>,
    pub(crate) ambiguous: Vec<Op>,
    pub(crate) unsupported: Vec<Op>,
    /// Reads of lists, left to `lists`.
    pub(crate) list_reads: Vec<Op>,
}

impl Found {
    pub(crate) fn join(mut self, mut other: Found) -> Found {
        self.open.append(&mut other.open);
        self.unrepeatable.append(&mut other.unrepeatable);
        self.ambiguous.append(&mut other.ambiguous);
        self.unsupported.append(&mut other.unsupported);
        self.list_reads.append(&mut other.list_reads);
        self
    }

    /// Drops what happened in transactions that did not take effect.
    pub(crate) fn retain(&mut self, keep: impl Fn(Op) -> bool) {
        self.open.retain(|&op| keep(op));
        self.unrepeatable.retain(|&(op, _)| keep(op));
        self.ambiguous.retain(|&op| keep(op));
        self.unsupported.retain(|&op| keep(op));
    }
}

/// Looks at some transactions and marks their final writes.
pub(crate) fn resolve(
    history: &History,
    unsupported: &[bool],
    txns: Range<u32>,
    links: &mut [Link],
) -> Found {
    let first = history.op_range(Txn(txns.start)).start;
    let mut pass =
        Pass { history, unsupported, first, links, found: Found::default(), memory: Memory::default() };
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
    memory: Memory,
}

impl Pass<'_> {
    fn transaction(&mut self, txn: Txn) {
        let history = self.history;
        self.memory.forget(history.op_range(txn));
        for op in history.ops_of(txn) {
            if op.kind == OpKind::RangeRead || self.unsupported.get(op.key.index()) == Some(&true) {
                self.found.unsupported.push(op.id);
                self.links[op.id.index() - self.first] = Link::NOTHING;
                continue;
            }
            match op.kind {
                OpKind::Read => self.read(op),
                OpKind::ReadList => self.found.list_reads.push(op.id),
                _ => {
                    self.memory.write(op);
                    if op.last_write {
                        self.links[op.id.index() - self.first] = Link::WRITE;
                    }
                }
            }
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
            if self.memory.last_write(self.history, op) != Some(op.value) {
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
        let resolved = |earlier: Op| self.links[earlier.index() - self.first] != Link::NOTHING;
        if let Some(earlier) = self.memory.other_value(self.history, op, resolved) {
            self.found.unrepeatable.push((earlier, op.id));
        }
    }
}

/// Transactions up to this length are searched; for longer ones a table is kept.
const SHORT: usize = 64;

/// What a transaction did so far, by key.
#[derive(Default)]
struct Memory {
    ops: Range<usize>,
    /// A bit for each key read, by its hash: most transactions read no key twice.
    read: u64,
    first_reads: FxHashMap<Key, (OpView, bool)>,
    last_writes: FxHashMap<Key, Value>,
}

impl Memory {
    fn forget(&mut self, ops: Range<usize>) {
        self.ops = ops;
        self.read = 0;
        self.first_reads.clear();
        self.last_writes.clear();
    }

    fn is_short(&self) -> bool {
        self.ops.len() <= SHORT
    }

    fn write(&mut self, op: OpView) {
        if !self.is_short() {
            self.last_writes.insert(op.key, op.value);
        }
    }

    /// What the transaction last wrote to the key of a read.
    fn last_write(&self, history: &History, read: OpView) -> Option<Value> {
        if !self.is_short() {
            return self.last_writes.get(&read.key).copied();
        }
        let earlier = (self.ops.start..read.id.index()).rev().map(|i| history.op(Op::at(i)));
        earlier.filter(|op| op.key == read.key).find(|op| op.kind.is_write()).map(|op| op.value)
    }

    /// The first external read of the same key, if this one is the first to return another value. Wrong reads
    /// do not count.
    fn other_value(&mut self, history: &History, read: OpView, resolved: impl Fn(Op) -> bool) -> Option<Op> {
        let bit = 1u64 << (read.key.0.wrapping_mul(0x9E37_79B1) >> 26);
        let new = self.read & bit == 0;
        self.read |= bit;
        if !self.is_short() {
            let (first, differed) = self.first_reads.entry(read.key).or_insert((read, false));
            let differs = first.value != read.value && !*differed;
            *differed |= differs;
            return differs.then_some(first.id);
        }
        if new {
            return None;
        }
        let mut earlier = (self.ops.start..read.id.index())
            .map(|i| history.op(Op::at(i)))
            .filter(|op| op.kind == OpKind::Read && op.key == read.key && resolved(op.id));
        let first = earlier.next()?;
        let differs = first.value != read.value && earlier.all(|op| op.value == first.value);
        differs.then_some(first.id)
    }
}

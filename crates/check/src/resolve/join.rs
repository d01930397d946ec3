//! Who wrote this value to this key? Matches all external reads of registers with the final writes of
//! transactions that did not abort.
//!
//! A hash table of all writes would be far larger than any cache, and every read a miss. So reads and writes are
//! first dealt out by key into so many hands that the writes of one fit into a cache, and then matched hand by
//! hand: everything that is written is written in order, and everything that is looked up at random is near.
//! Hands do not share keys, so they are played in parallel, and what is found does not depend on who plays
//! which.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use isoscope_history::{History, Key, Op, OpKind, OpView, Outcome, Txn, Value};
use rayon::prelude::*;

use super::Link;

/// Writes that fit into a cache together, with room for the reads that pass by.
const HAND: usize = 1 << 15;
/// Hands that a thread can deal to without losing its own cache.
const MOST_HANDS: usize = 256;

/// A final write.
#[derive(Clone, Copy)]
struct Write {
    key: Key,
    value: Value,
    txn: Txn,
}

/// An external read.
#[derive(Clone, Copy)]
struct Read {
    key: Key,
    value: Value,
    txn: Txn,
    op: Op,
}

/// The reads and writes of some transactions, dealt out.
struct Dealt {
    writes: Hands<Write>,
    reads: Hands<Read>,
}

/// Hands in one array, one after the other. It is made for as many cards as there will be: fresh memory is dear,
/// and arrays that grow take it twice.
struct Hands<T> {
    /// Where each hand ends, as far as it is dealt.
    ends: Vec<u32>,
    cards: Vec<T>,
}

impl<T: Copy> Hands<T> {
    /// Room for so many cards in each hand.
    fn of(mut counts: Vec<u32>, blank: T) -> Hands<T> {
        let mut total = 0;
        for count in &mut counts {
            (*count, total) = (total, total + *count);
        }
        Hands { ends: counts, cards: vec![blank; total as usize] }
    }

    #[inline]
    fn deal(&mut self, hand: usize, card: T) {
        let end = &mut self.ends[hand];
        self.cards[*end as usize] = card;
        *end += 1;
    }

    /// A hand, when all are dealt.
    fn hand(&self, hand: usize) -> &[T] {
        let start = if hand == 0 { 0 } else { self.ends[hand - 1] };
        &self.cards[start as usize..self.ends[hand] as usize]
    }
}

/// The links of all external reads of registers. Those that no final write explains have none.
pub(crate) fn join(history: &History, pieces: &[Range<u32>]) -> Vec<Link> {
    let hands = (history.writer_count() / HAND).next_power_of_two().min(MOST_HANDS);
    let dealt: Vec<Dealt> = pieces.par_iter().map(|txns| deal(history, txns.clone(), hands)).collect();
    let links: Vec<AtomicU32> =
        (0..history.op_count()).into_par_iter().map(|_| AtomicU32::new(Link::NOTHING.0)).collect();
    (0..hands).into_par_iter().for_each(|hand| {
        let table = Table::new(dealt.iter().flat_map(|piece| piece.writes.hand(hand)).copied());
        for read in dealt.iter().flat_map(|piece| piece.reads.hand(hand)) {
            let link = table.find(read, history.initial(read.key));
            links[read.op.index()].store(link.0, Ordering::Relaxed);
        }
    });
    links.into_iter().map(|link| Link(link.into_inner())).collect()
}

/// Deals out the operations of some transactions.
fn deal(history: &History, txns: Range<u32>, hands: usize) -> Dealt {
    let shift = 32 - hands.trailing_zeros();
    let hand_of = |key: Key| (u64::from(key.0.wrapping_mul(0x9E37_79B1)) >> shift) as usize;
    let is_read = |op: &OpView| op.kind == OpKind::Read && op.external;
    let is_write = |op: &OpView| op.last_write && op.kind != OpKind::Append;
    let txns = txns.map(Txn).filter(|&txn| history.outcome(txn) != Outcome::Aborted);

    let (mut writes, mut reads) = (vec![0; hands], vec![0; hands]);
    for op in txns.clone().flat_map(|txn| history.ops_of(txn)) {
        writes[hand_of(op.key)] += u32::from(is_write(&op));
        reads[hand_of(op.key)] += u32::from(is_read(&op));
    }
    let no_write = Write { key: Key(0), value: Value::NIL, txn: EMPTY };
    let no_read = Read { key: Key(0), value: Value::NIL, txn: EMPTY, op: Op(0) };
    let mut dealt = Dealt { writes: Hands::of(writes, no_write), reads: Hands::of(reads, no_read) };
    for txn in txns {
        for op in history.ops_of(txn) {
            let OpView { id, key, value, .. } = op;
            if is_read(&op) {
                dealt.reads.deal(hand_of(key), Read { key, value, txn, op: id });
            } else if is_write(&op) {
                dealt.writes.deal(hand_of(key), Write { key, value, txn });
            }
        }
    }
    dealt
}

/// The final writes of some keys, by key and value: open addressing, at most half full.
struct Table {
    slots: Vec<Write>,
    shift: u32,
}

const EMPTY: Txn = Txn(u32::MAX);
/// So many writes of one value to one key say as much as more would: even without the reader there are several.
const ENOUGH: usize = 3;

impl Table {
    fn new(writes: impl Iterator<Item = Write> + Clone) -> Table {
        let size = (2 * writes.clone().count()).next_power_of_two().max(2);
        let empty = Write { key: Key(0), value: Value::NIL, txn: EMPTY };
        let mut table = Table { slots: vec![empty; size], shift: 64 - size.trailing_zeros() };
        for write in writes {
            let mut slot = table.first(write.key, write.value);
            let mut same = 0;
            while table.slots[slot].txn != EMPTY && same < ENOUGH {
                same +=
                    usize::from((table.slots[slot].key, table.slots[slot].value) == (write.key, write.value));
                slot = (slot + 1) & (size - 1);
            }
            if same < ENOUGH {
                table.slots[slot] = write;
            }
        }
        table
    }

    #[inline]
    fn first(&self, key: Key, value: Value) -> usize {
        let both = u64::from(key.0) << 32 | u64::from(value.bits());
        (both.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    /// Whom a read reads from.
    #[inline]
    fn find(&self, read: &Read, initial: Value) -> Link {
        if read.value == Value::UNKNOWN {
            return Link::NOTHING;
        }
        let mut link = if read.value == initial { Link::INITIAL } else { Link::NOTHING };
        let mut slot = self.first(read.key, read.value);
        loop {
            let write = self.slots[slot];
            if write.txn == EMPTY {
                return link;
            }
            if (write.key, write.value) == (read.key, read.value) && write.txn != read.txn {
                if link != Link::NOTHING {
                    return Link::AMBIGUOUS;
                }
                link = Link::from(write.txn);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }
}

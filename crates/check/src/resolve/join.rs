//! The writers of each value of a key, for arbitrary values. Matches all external reads of registers with the final writes of
//! transactions that did not abort.
//!
//! A hash table of all writes would be far larger than any cache, and every lookup a miss. So reads and writes are first
//! partitioned by key into as many *hands* as it takes for the writes of one to fit into a cache, and then matched hand by hand.
//! All stores are sequential, and all random accesses are near. Hands do not share keys, so they are matched in parallel, and the
//! result does not depend on the threads.
//!
//! A hand keeps the order of its operations. So a second pass over the operations that takes the next read from the hand of each key
//! finds its answer there.

use std::ops::Range;

use isoscope_history::{History, Key, OpKind, OpView, Outcome, Txn, Value};
use rayon::prelude::*;

use super::Link;

/// Writes that fit into a cache together, with room for the reads that pass by.
const HAND: usize = 1 << 15;
/// Hands that a thread can deal to without losing its own cache.
const MOST_HANDS: usize = 256;

/// A final write or an external read.
#[derive(Clone, Copy)]
struct Card {
    key: Key,
    value: Value,
    /// Of a write, and of a read before it is matched: its own transaction. Of a matched read: the transaction it reads from.
    link: Link,
}

/// The reads and writes of some transactions, dealt out: in one array, the writes of the first hand, its reads, the
/// writes of the second, and so on. It is made for as many cards as there will be: fresh memory is dear, and arrays
/// that grow take it twice.
pub(super) struct Dealt {
    cards: Vec<Card>,
    /// Where each of these stacks begins, and where the last ends.
    starts: Vec<u32>,
    hands: Hands,
}

/// How cards are dealt.
#[derive(Clone, Copy)]
struct Hands {
    count: usize,
}

impl Hands {
    fn of(history: &History) -> Hands {
        Hands { count: (history.writer_count() / HAND).next_power_of_two().min(MOST_HANDS) }
    }

    /// The stack of the writes to a key; that of its reads follows.
    #[inline]
    fn writes(self, key: Key) -> usize {
        let shift = 32 - self.count.trailing_zeros();
        2 * (u64::from(key.0.wrapping_mul(0x9E37_79B1)) >> shift) as usize
    }

    /// The stack of an operation. What is no card at all has one of its own, the last.
    #[inline]
    fn stack(self, op: OpView) -> usize {
        let writes = self.writes(op.key);
        let write = if is_write(op) { writes } else { 2 * self.count };
        if is_read(op) { writes + 1 } else { write }
    }
}

/// Whether an operation is an external read of a register.
pub(super) fn is_read(op: OpView) -> bool {
    (op.kind == OpKind::Read) & op.external
}

/// Whether an operation is a final write of a register.
#[allow(clippy::needless_bitwise_bool, reason = "whatever branches here is guessed wrong half the time")]
pub(super) fn is_write(op: OpView) -> bool {
    op.last_write & (op.kind != OpKind::Append)
}

/// Matches the external reads of registers with final writes. For each piece, what [`Dealt::hand_out`] needs.
pub(super) fn join(history: &History, pieces: &[Range<u32>]) -> Vec<Dealt> {
    let hands = Hands::of(history);
    let mut dealt: Vec<Dealt> = pieces.par_iter().map(|txns| deal(history, txns.clone(), hands)).collect();
    let mut shares: Vec<Vec<Share<'_>>> = (0..hands.count).map(|_| Vec::new()).collect();
    for piece in &mut dealt {
        piece.shares().zip(&mut shares).for_each(|(share, shares)| shares.push(share));
    }
    shares.into_par_iter().for_each(|mut hand| {
        let table = Table::new(hand.iter().flat_map(|share| share.writes.iter()).copied());
        for read in hand.iter_mut().flat_map(|share| share.reads.iter_mut()) {
            read.link = table.find(read, history.initial(read.key));
        }
    });
    dealt
}

/// Those of some transactions that did not abort.
pub(super) fn not_aborted(history: &History, txns: Range<u32>) -> impl Iterator<Item = Txn> + Clone {
    txns.map(Txn).filter(|&txn| history.outcome(txn) != Outcome::Aborted)
}

/// Deals out the operations of some transactions. What sort an operation is of is as good as random, so nothing
/// branches on it.
fn deal(history: &History, txns: Range<u32>, hands: Hands) -> Dealt {
    let blank = 2 * hands.count;
    let mut next = vec![0; blank + 1];
    for op in not_aborted(history, txns.clone()).flat_map(|txn| history.ops_of(txn)) {
        next[hands.stack(op)] += 1;
    }
    let mut total = 0;
    for count in &mut next {
        (*count, total) = (total, total + *count);
    }
    let starts = next.clone();
    // What is no card is put on one place, again and again.
    let nothing = Card { key: Key(0), value: Value::NIL, link: Link::NOTHING };
    let mut cards = vec![nothing; starts[blank] as usize + 1];
    for txn in not_aborted(history, txns) {
        for op in history.ops_of(txn) {
            let stack = hands.stack(op);
            cards[next[stack] as usize] = Card { key: op.key, value: op.value, link: Link::from(txn) };
            next[stack] += u32::from(stack != blank);
        }
    }
    Dealt { cards, starts, hands }
}

/// What one piece gives to a hand.
struct Share<'d> {
    writes: &'d [Card],
    reads: &'d mut [Card],
}

impl Dealt {
    /// Its share in each hand.
    fn shares(&mut self) -> impl Iterator<Item = Share<'_>> {
        let mut rest = self.cards.as_mut_slice();
        self.starts.windows(3).step_by(2).map(move |starts| {
            let (writes, others) = std::mem::take(&mut rest).split_at_mut((starts[1] - starts[0]) as usize);
            let (reads, others) = others.split_at_mut((starts[2] - starts[1]) as usize);
            rest = others;
            Share { writes, reads }
        })
    }

    /// Gives the operations of the piece their links: external reads get the transaction they read from, if a final write
    /// explains them, and final writes that they are such.
    pub(super) fn hand_out(&self, history: &History, txns: Range<u32>, links: &mut [Link]) {
        let mut next = self.starts.clone();
        let first = history.op_range(Txn(txns.start)).start;
        for txn in not_aborted(history, txns) {
            for op in history.ops_of(txn) {
                let next = &mut next[self.hands.writes(op.key) + 1];
                let other = if op.last_write { Link::WRITE } else { Link::NOTHING };
                // There is a card behind the last read.
                let read = self.cards[*next as usize].link;
                links[op.id.index() - first] = if is_read(op) { read } else { other };
                *next += u32::from(is_read(op));
            }
        }
    }
}

/// The final writes of some keys, by key and value: open addressing, at most half full.
struct Table {
    slots: Vec<Card>,
    shift: u32,
}

/// More writes of one value to one key than this make no difference: even without the reader there are several.
const ENOUGH: usize = 3;

impl Table {
    fn new(writes: impl Iterator<Item = Card> + Clone) -> Table {
        let size = (2 * writes.clone().count()).next_power_of_two().max(2);
        let empty = Card { key: Key(0), value: Value::NIL, link: Link::NOTHING };
        let mut table = Table { slots: vec![empty; size], shift: 64 - size.trailing_zeros() };
        for write in writes {
            let mut slot = table.first(write.key, write.value);
            let mut same = 0;
            while table.slots[slot].link != Link::NOTHING && same < ENOUGH {
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

    /// The transaction a read reads from.
    #[inline]
    fn find(&self, read: &Card, initial: Value) -> Link {
        if read.value == Value::UNKNOWN {
            return Link::NOTHING;
        }
        let mut link = if read.value == initial { Link::INITIAL } else { Link::NOTHING };
        let mut slot = self.first(read.key, read.value);
        loop {
            let write = self.slots[slot];
            if write.link == Link::NOTHING {
                return link;
            }
            if (write.key, write.value) == (read.key, read.value) && write.link != read.link {
                if link != Link::NOTHING {
                    return Link::AMBIGUOUS;
                }
                link = write.link;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }
}

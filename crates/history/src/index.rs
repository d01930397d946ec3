//! Facts that every checker needs, computed once: which reads are external, which writes are final, and which
//! transactions write a key.
//!
//! An *external read* reads a key the transaction has not written before. A *final write* is the
//! transaction's last write of its key, the only one that others may see (docs/levels.md, "Histories"). A
//! read is *consistent* with the earlier operations of its transaction if it returns its last write of the
//! key; without a write, its first read of the key; or if it is the first operation on the key. Each of these
//! is a bit on the operation.
//!
//! The writers of a key are a slice of one flat array, ordered by transaction id, that is, session by session
//! and in session order. Aborted and unknown writers are included. They are counted at once and listed on
//! first use, since not every caller needs them. A filter of 64 bits per transaction answers most queries
//! whether a transaction writes a key.

use std::ops::Range;

use rayon::prelude::*;

use crate::draft::scatter::Scatter;
use crate::history::{History, OpTag, key_bit};
use crate::ids::{Key, Txn};
use crate::value::Value;

/// The maximal number of pieces of work. Each piece counts writes in a table of all keys. More pieces, or
/// tables larger than the number of operations, would cost more than they save.
const MOST_PIECES: usize = 16;

fn pieces(history: &History) -> Vec<Range<usize>> {
    let affordable = (history.op_count() / history.key_count().max(1)).clamp(1, MOST_PIECES);
    split(&history.txn_ops, rayon::current_num_threads().clamp(1, affordable))
}

/// Marks external and consistent reads and final writes, and counts the writers of every key.
pub(crate) fn build(history: &mut History) {
    let key_count = history.key_count();
    history.txn_writes = vec![0; history.txn_count()];
    let pieces = pieces(history);
    let mut tags: &mut [OpTag] = &mut history.tags;
    let mut writes: &mut [u64] = &mut history.txn_writes;
    let mut work = Vec::new();
    for txns in &pieces {
        let txn_ops = &history.txn_ops[txns.start..=txns.end];
        let ops = txn_ops[0] as usize..txn_ops[txns.len()] as usize;
        let (my_tags, my_writes);
        (my_tags, tags) = tags.split_at_mut(ops.len());
        (my_writes, writes) = writes.split_at_mut(txns.len());
        let (keys, values) = (&history.keys[ops.clone()], &history.values[ops]);
        work.push(Piece { txn_ops, keys, values, tags: my_tags, writes: my_writes });
    }
    let marked: (Vec<Vec<u32>>, Vec<u32>) = work.into_par_iter().map(|piece| mark(piece, key_count)).unzip();
    history.key_writers = lay_out(&marked.0, key_count).0;
    history.highest_written = marked.1.into_iter().max().unwrap_or(0);
}

/// Lists the writers of all keys, key by key.
pub(crate) fn list_writers(history: &History) -> Vec<Txn> {
    let pieces = pieces(history);
    let is_final = |op: usize| history.tags[op].is_final();
    let count = |txns: &Range<usize>| {
        let mut counts = vec![0; history.key_count()];
        for op in history.txn_ops[txns.start] as usize..history.txn_ops[txns.end] as usize {
            counts[history.keys[op].index()] += u32::from(is_final(op));
        }
        counts
    };
    let counts: Vec<Vec<u32>> = pieces.par_iter().map(count).collect();
    let (offsets, starts) = lay_out(&counts, history.key_count());
    let writers = Scatter::new(offsets[history.key_count()] as usize);
    pieces.into_par_iter().zip(starts).for_each(|(txns, mut next)| {
        for txn in txns {
            for op in
                (history.txn_ops[txn] as usize..history.txn_ops[txn + 1] as usize).filter(|&op| is_final(op))
            {
                let place = &mut next[history.keys[op].index()];
                // SAFETY: `lay_out` gives every piece its own part of every key's slice, as long as
                // the number of final writes counted there.
                unsafe { writers.set(*place as usize, Txn::at(txn)) };
                *place += 1;
            }
        }
    });
    // SAFETY: every final write that was counted was placed.
    unsafe { writers.finish() }
}

/// The same as [`list_writers`], on one thread.
pub(crate) fn list_writers_alone(history: &History) -> Vec<Txn> {
    let mut next = history.key_writers.clone();
    let mut writers = vec![Txn(0); history.writer_count()];
    for txn in history.txns() {
        for op in history.op_range(txn).filter(|&op| history.tags[op].is_final()) {
            let place = &mut next[history.keys[op].index()];
            writers[*place as usize] = txn;
            *place += 1;
        }
    }
    writers
}

/// Cuts the transactions into contiguous pieces with about the same number of operations.
fn split(txn_ops: &[u32], pieces: usize) -> Vec<Range<usize>> {
    let txns = txn_ops.len() - 1;
    let ops = u64::from(txn_ops[txns]);
    let cut = |i: usize| match i {
        0 => 0,
        i if i == pieces => txns,
        i => txn_ops.partition_point(|&first| u64::from(first) < ops * i as u64 / pieces as u64).min(txns),
    };
    (0..pieces).map(|i| cut(i)..cut(i + 1)).collect()
}

/// A contiguous range of transactions.
struct Piece<'h> {
    /// The index of the first operation of each transaction, followed by the end of the last.
    txn_ops: &'h [u32],
    keys: &'h [Key],
    values: &'h [Value],
    tags: &'h mut [OpTag],
    /// For each transaction, the bits of the keys that it writes.
    writes: &'h mut [u64],
}

/// The state of a key while a piece is scanned. Places are counted from one within the piece. A place at or
/// below the start of the current transaction belongs to an earlier transaction.
#[derive(Clone, Copy, Default)]
struct Noted {
    /// The place of the last write.
    written: u32,
    /// The place that reads must be consistent with: the transaction's last write or, without a write, its
    /// first read.
    settled: u32,
    /// The number of transactions that write the key.
    writers: u32,
}

/// Marks one piece, counts its final writes by key, and returns the largest of the bits of written values.
///
/// A write is final until its transaction writes the key again, which is rare. Whether an operation reads or
/// writes, and whether its key was read before, is unpredictable, so the code does not branch on it.
#[allow(clippy::needless_bitwise_bool, reason = "a branch here would be mispredicted half the time")]
fn mark(piece: Piece<'_>, key_count: usize) -> (Vec<u32>, u32) {
    let Piece { txn_ops, keys, values, tags, writes: txn_writes } = piece;
    let mut noted = vec![Noted::default(); key_count];
    let mut highest = 0;
    for (bounds, txn_writes) in txn_ops.windows(2).zip(txn_writes) {
        let start = bounds[0] - txn_ops[0];
        let ops = start as usize..(bounds[1] - txn_ops[0]) as usize;
        let (keys, values, tags) = (&keys[ops.clone()], &values[ops.clone()], &mut tags[ops]);
        let mut bits = 0;
        for (i, (&key, &value)) in keys.iter().zip(values).enumerate() {
            let Noted { written, settled, writers } = &mut noted[key.index()];
            let (place, tag) = (start + i as u32 + 1, tags[i]);
            let (reads, writes) = (tag.is_read(), tag.is_write());
            let (again, any) = (*written > start, *settled > start);
            let earlier = if any { (*settled - start) as usize - 1 } else { i };
            let consistent = tag.is_register_read() & (value == values[earlier]);
            let flag = |bit: u8, is_so: bool| bit * u8::from(is_so);
            tags[i].0 = tag.0
                | flag(OpTag::EXTERNAL, reads & !again)
                | flag(OpTag::FINAL, writes)
                | flag(OpTag::CONSISTENT, consistent);
            if writes & again {
                tags[(*written - start) as usize - 1].0 &= !OpTag::FINAL;
            }
            *writers += u32::from(writes & !again);
            *written = if writes { place } else { *written };
            *settled = if writes | (reads & !any) { place } else { *settled };
            bits |= key_bit(key) * u64::from(writes);
            highest = highest.max(if writes { value.bits() } else { 0 });
        }
        *txn_writes = bits;
    }
    (noted.into_iter().map(|noted| noted.writers).collect(), highest)
}

/// Computes where each key's writers begin from the counts of the pieces, and where each piece places its
/// own.
fn lay_out(counts: &[Vec<u32>], key_count: usize) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut offsets = Vec::with_capacity(key_count + 1);
    let mut starts: Vec<Vec<u32>> = counts.iter().map(|_| Vec::with_capacity(key_count)).collect();
    let mut total = 0;
    for key in 0..key_count {
        offsets.push(total);
        for (starts, counts) in starts.iter_mut().zip(counts) {
            starts.push(total);
            total += counts[key];
        }
    }
    offsets.push(total);
    (offsets, starts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::OpKind;

    /// All sequences of five operations over two keys, cut into two transactions at every place.
    #[test]
    fn marks_agree_with_their_definitions() {
        let kinds = [0u8, 1, 2, 6];
        for (code, cut) in (0..8usize.pow(5)).flat_map(|code| (0..=5).map(move |cut| (code, cut))) {
            let digits: Vec<usize> = (0..5).map(|i| code / 8usize.pow(i) % 8).collect();
            let keys: Vec<Key> = digits.iter().map(|d| Key(*d as u32 % 2)).collect();
            let mut tags: Vec<OpTag> = digits.iter().map(|d| OpTag(kinds[d / 2])).collect();
            // Any values, as long as some are equal.
            let scrambled = (code * 6 + cut).wrapping_mul(0x9E37_79B1);
            let values: Vec<Value> = (10..15).map(|bit| Value::from_row(scrambled >> bit & 1)).collect();
            let (txn_ops, mut writes) = ([0, cut as u32, 5], [0; 2]);
            let piece = Piece {
                txn_ops: &txn_ops,
                keys: &keys,
                values: &values,
                tags: &mut tags,
                writes: &mut writes,
            };
            let (writers, highest) = mark(piece, 2);
            let written = tags.iter().zip(&values).filter(|(tag, _)| tag.kind().is_write());
            assert_eq!(highest, written.map(|(_, value)| value.bits()).max().unwrap_or(0));
            for i in 0..5 {
                let (start, end) = if i < cut { (0, cut) } else { (cut, 5) };
                let written = |mut ops: Range<usize>| {
                    ops.any(|other| keys[other] == keys[i] && tags[other].kind().is_write())
                };
                let external = tags[i].kind().is_read() && !written(start..i);
                let last = tags[i].kind().is_write() && !written(i + 1..end);
                let mut before = (start..i).filter(|&op| keys[op] == keys[i]);
                let own_write = before.clone().rfind(|&op| tags[op].kind().is_write());
                let settled = own_write.or(before.find(|&op| tags[op].kind().is_read())).unwrap_or(i);
                let consistent = tags[i].kind() == OpKind::Read && values[settled] == values[i];
                let expected = (OpTag::EXTERNAL * u8::from(external))
                    | (OpTag::FINAL * u8::from(last))
                    | (OpTag::CONSISTENT * u8::from(consistent));
                assert!(tags[i].0 == kinds[digits[i] / 2] | expected, "{digits:?} cut at {cut}: {i}");
            }
            for key in [Key(0), Key(1)] {
                let last = |i: &usize| keys[*i] == key && tags[*i].0 & OpTag::FINAL != 0;
                assert_eq!(writers[key.index()] as usize, (0..5).filter(last).count(), "{digits:?}");
                for (txn, ops) in [0..cut, cut..5].into_iter().enumerate() {
                    let writes_it = ops.into_iter().any(|op| keys[op] == key && tags[op].is_write());
                    assert_eq!(writes[txn] & key_bit(key) != 0, writes_it, "{digits:?} cut at {cut}");
                }
            }
        }
    }

    #[test]
    fn splitting_covers_all_transactions_once() {
        for txn_ops in [vec![0], vec![0, 0, 0], vec![0, 5, 5, 9], (0..=100).map(|i| i * 3).collect()] {
            for pieces in 1..6 {
                let ranges = split(&txn_ops, pieces);
                assert_eq!(ranges[0].start, 0);
                assert!(ranges.windows(2).all(|w| w[0].end == w[1].start));
                assert_eq!(ranges[pieces - 1].end, txn_ops.len() - 1);
            }
        }
    }
}

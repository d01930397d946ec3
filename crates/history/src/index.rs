//! What every checker asks, computed once: which reads are external, which writes are final, and who
//! writes a key.
//!
//! An *external read* reads a key the transaction has not written before; a *final write* is the
//! transaction's last write of its key, the only one others may see (levels.md, "Histories"). Both are a
//! bit on the operation. The writers of a key are a slice of one flat array, ordered by transaction id,
//! which is session by session and in session order; aborted and unknown writers are listed too.

use std::ops::Range;

use rayon::prelude::*;

use crate::draft::scatter::Scatter;
use crate::history::{History, OpTag};
use crate::ids::{Key, Txn};

/// Up to this many operations, searching a transaction now and then beats a table of keys.
const SHORT_TXN: usize = 64;
/// Each piece of work counts writes in a table of all keys; more pieces, or more than there are operations for
/// each key, would cost more than they save.
const MOST_PIECES: usize = 16;

/// Marks external reads and final writes, and lists the writers of every key.
pub(crate) fn build(history: &mut History) {
    let key_count = history.key_name.len();
    let affordable = (history.tags.len() / key_count.max(1)).clamp(1, MOST_PIECES);
    let pieces = split(&history.txn_ops, rayon::current_num_threads().clamp(1, affordable));
    let counts: Vec<Vec<u32>> = {
        let mut tags: &mut [OpTag] = &mut history.tags;
        let mut work = Vec::new();
        for txns in &pieces {
            let len = (history.txn_ops[txns.end] - history.txn_ops[txns.start]) as usize;
            let (mine, rest) = tags.split_at_mut(len);
            tags = rest;
            work.push((txns.clone(), mine));
        }
        let (keys, txn_ops) = (&history.keys, &history.txn_ops);
        work.into_par_iter().map(|(txns, tags)| mark(txns, txn_ops, keys, tags, key_count)).collect()
    };
    let (offsets, starts) = lay_out(&counts, key_count);
    let writers = Scatter::new(offsets[key_count] as usize);
    pieces.into_par_iter().zip(starts).for_each(|(txns, mut next)| {
        for txn in txns {
            for op in history.txn_ops[txn] as usize..history.txn_ops[txn + 1] as usize {
                if history.tags[op].0 & OpTag::FINAL != 0 {
                    let place = &mut next[history.keys[op].index()];
                    // SAFETY: `lay_out` gives every piece its own part of every key's slice, as long as
                    // the number of final writes `mark` counted there.
                    unsafe { writers.set(*place as usize, Txn::at(txn)) };
                    *place += 1;
                }
            }
        }
    });
    history.key_writers = offsets;
    // SAFETY: every final write that `mark` counted was placed.
    history.writers = unsafe { writers.finish() };
}

/// Cuts the transactions into contiguous pieces of about equally many operations.
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

/// Marks one piece and counts its final writes by key. `tags` begins at the piece's first operation.
fn mark(txns: Range<usize>, txn_ops: &[u32], keys: &[Key], tags: &mut [OpTag], key_count: usize) -> Vec<u32> {
    let mut counts = vec![0u32; key_count];
    let mut stamps = Vec::new();
    let first = txn_ops[txns.start] as usize;
    for txn in txns {
        let ops = txn_ops[txn] as usize..txn_ops[txn + 1] as usize;
        let (keys, tags) = (&keys[ops.clone()], &mut tags[ops.start - first..ops.end - first]);
        if keys.len() <= SHORT_TXN {
            mark_short(keys, tags);
        } else {
            stamps.resize(key_count, (0, 0));
            mark_long(keys, tags, txn as u32 + 1, &mut stamps);
        }
        for (key, tag) in keys.iter().zip(tags.iter()) {
            counts[key.index()] += u32::from(tag.0 & OpTag::FINAL != 0);
        }
    }
    counts
}

/// Only where two keys of a transaction share a bit, which is seldom, is the transaction searched. Whether an
/// operation reads or writes is as good as random, so nothing branches on it.
fn mark_short(keys: &[Key], tags: &mut [OpTag]) {
    let bit = |key: Key| 1u64 << (key.0.wrapping_mul(0x9E37_79B1) >> 26);
    let writes = |tag: OpTag| tag.kind().is_write();
    let mut written = 0;
    for i in 0..keys.len() {
        let seen = written & bit(keys[i]) != 0
            && keys[..i].iter().zip(&tags[..i]).any(|(&key, &tag)| key == keys[i] && writes(tag));
        tags[i].0 |= OpTag::EXTERNAL * u8::from(tags[i].kind().is_read() && !seen);
        written |= bit(keys[i]) * u64::from(writes(tags[i]));
    }
    written = 0;
    for i in (0..keys.len()).rev() {
        let later = i + 1..keys.len();
        let again = written & bit(keys[i]) != 0
            && keys[later.clone()].iter().zip(&tags[later]).any(|(&key, &tag)| key == keys[i] && writes(tag));
        tags[i].0 |= OpTag::FINAL * u8::from(writes(tags[i]) && !again);
        written |= bit(keys[i]) * u64::from(writes(tags[i]));
    }
}

/// `stamps[key]` holds the last transaction seen writing the key going forward, and going backward.
fn mark_long(keys: &[Key], tags: &mut [OpTag], stamp: u32, stamps: &mut [(u32, u32)]) {
    for (key, tag) in keys.iter().zip(tags.iter_mut()) {
        let written = &mut stamps[key.index()].0;
        if tag.kind().is_write() {
            *written = stamp;
        } else if tag.kind().is_read() && *written != stamp {
            tag.0 |= OpTag::EXTERNAL;
        }
    }
    for (key, tag) in keys.iter().zip(tags.iter_mut()).rev() {
        let written = &mut stamps[key.index()].1;
        if tag.kind().is_write() && *written != stamp {
            *written = stamp;
            tag.0 |= OpTag::FINAL;
        }
    }
}

/// Where each key's writers begin, and where each piece puts its own.
fn lay_out(counts: &[Vec<u32>], key_count: usize) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut offsets = Vec::with_capacity(key_count + 1);
    let mut starts: Vec<Vec<u32>> = counts.iter().map(|_| Vec::with_capacity(key_count)).collect();
    let mut total = 0;
    for key in 0..key_count {
        offsets.push(total);
        for (piece, counts) in counts.iter().enumerate() {
            starts[piece].push(total);
            total += counts[key];
        }
    }
    offsets.push(total);
    (offsets, starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two ways to mark a transaction agree on every sequence of five operations over three keys, two of
    /// which share a bit.
    #[test]
    fn marking_short_and_long_transactions_agrees() {
        let kinds = [0u8, 1, 2, 6];
        let names = [0, 1, 56];
        for code in 0..12usize.pow(5) {
            let digits: Vec<usize> = (0..5).map(|i| code / 12usize.pow(i) % 12).collect();
            let keys: Vec<Key> = digits.iter().map(|d| Key(names[d % 3])).collect();
            let tags: Vec<OpTag> = digits.iter().map(|d| OpTag(kinds[d / 3])).collect();
            let (mut short, mut long) = (tags.clone(), tags);
            mark_short(&keys, &mut short);
            mark_long(&keys, &mut long, 1, &mut [(0, 0); 57]);
            assert!(short == long, "{digits:?}");
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

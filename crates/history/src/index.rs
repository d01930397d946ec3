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

/// Each piece of work counts writes in a table of all keys; more pieces, or more than there are operations for
/// each key, would cost more than they save.
const MOST_PIECES: usize = 16;

/// Marks external reads and final writes, and lists the writers of every key.
pub(crate) fn build(history: &mut History) {
    let key_count = history.key_name.len();
    let affordable = (history.tags.len() / key_count.max(1)).clamp(1, MOST_PIECES);
    let pieces = split(&history.txn_ops, rayon::current_num_threads().clamp(1, affordable));
    let noted: Vec<Vec<Noted>> = {
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
    let (offsets, starts) = lay_out(&noted, key_count);
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

/// What a piece has seen of a key.
#[derive(Clone, Copy, Default)]
struct Noted {
    /// One more than the place in the piece of the last write.
    written: u32,
    /// How many transactions write it.
    writers: u32,
}

/// Marks one piece and counts its final writes by key. `tags` begins at the piece's first operation.
///
/// A write is final until its transaction writes the key again. Whether an operation reads or writes, and whether
/// its key was written before, is as good as random, so nothing branches on it.
#[allow(clippy::needless_bitwise_bool, reason = "whatever branches here is guessed wrong half the time")]
fn mark(
    txns: Range<usize>,
    txn_ops: &[u32],
    keys: &[Key],
    tags: &mut [OpTag],
    key_count: usize,
) -> Vec<Noted> {
    let mut noted = vec![Noted::default(); key_count];
    let first = txn_ops[txns.start];
    let keys = &keys[first as usize..];
    for txn in txns {
        let (start, end) = (txn_ops[txn] - first, txn_ops[txn + 1] - first);
        for op in start..end {
            let key = &mut noted[keys[op as usize].index()];
            let tag = &mut tags[op as usize];
            let (reads, writes) = (tag.is_read(), tag.is_write());
            let again = key.written > start;
            tag.0 |= OpTag::EXTERNAL * u8::from(reads & !again);
            tag.0 |= OpTag::FINAL * u8::from(writes);
            let overwritten = if writes & again { key.written - 1 } else { op };
            tags[overwritten as usize].0 &= !(OpTag::FINAL * u8::from(writes & again));
            key.writers += u32::from(writes & !again);
            key.written = if writes { op + 1 } else { key.written };
        }
    }
    noted
}

/// Where each key's writers begin, and where each piece puts its own.
fn lay_out(noted: &[Vec<Noted>], key_count: usize) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut offsets = Vec::with_capacity(key_count + 1);
    let mut starts: Vec<Vec<u32>> = noted.iter().map(|_| Vec::with_capacity(key_count)).collect();
    let mut total = 0;
    for key in 0..key_count {
        offsets.push(total);
        for (starts, noted) in starts.iter_mut().zip(noted) {
            starts.push(total);
            total += noted[key].writers;
        }
    }
    offsets.push(total);
    (offsets, starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two transactions, of every sequence of five operations over two keys, however the five are shared out.
    #[test]
    fn marks_are_what_their_definitions_say() {
        let kinds = [0u8, 1, 2, 6];
        for (code, cut) in (0..8usize.pow(5)).flat_map(|code| (0..=5).map(move |cut| (code, cut))) {
            let digits: Vec<usize> = (0..5).map(|i| code / 8usize.pow(i) % 8).collect();
            let keys: Vec<Key> = digits.iter().map(|d| Key(*d as u32 % 2)).collect();
            let mut tags: Vec<OpTag> = digits.iter().map(|d| OpTag(kinds[d / 2])).collect();
            let noted = mark(0..2, &[0, cut as u32, 5], &keys, &mut tags, 2);
            for i in 0..5 {
                let (start, end) = if i < cut { (0, cut) } else { (cut, 5) };
                let written = |mut ops: Range<usize>| {
                    ops.any(|other| keys[other] == keys[i] && tags[other].kind().is_write())
                };
                let external = tags[i].kind().is_read() && !written(start..i);
                let last = tags[i].kind().is_write() && !written(i + 1..end);
                let expected = (OpTag::EXTERNAL * u8::from(external)) | (OpTag::FINAL * u8::from(last));
                assert!(tags[i].0 == kinds[digits[i] / 2] | expected, "{digits:?} cut at {cut}: {i}");
            }
            for key in [Key(0), Key(1)] {
                let last = |i: &usize| keys[*i] == key && tags[*i].0 & OpTag::FINAL != 0;
                assert_eq!(noted[key.index()].writers as usize, (0..5).filter(last).count(), "{digits:?}");
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

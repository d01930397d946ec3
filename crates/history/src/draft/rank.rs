//! Dense key ids without a hash table.
//!
//! Key names are values: mostly small integers, otherwise rows of the value table, which are already dense.
//! So a bitmap over each of the two spaces, with running counts, maps a name to its rank. This costs one load
//! and one population count per operation, and 3/16 of a byte per possible name. If there are fewer possible
//! names than operations, a table of their ranks avoids the counting. Integers that are large for the number
//! of operations (see [`bitmap_limit`]) would waste the bitmap and are kept in a hash map.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Chunk;
use crate::ids::Key;
use crate::value::Value;

/// Names from this limit on are kept in the hash map. The bitmap takes at most 12 bytes per operation, and at
/// most 50 MB.
fn bitmap_limit(ops: usize) -> u32 {
    (64 * ops as u64).clamp(1 << 16, 1 << 28) as u32
}

/// A set of small numbers with the rank of each.
struct RankedBits {
    words: Vec<u64>,
    before: Vec<u32>,
}

impl RankedBits {
    fn of(words: Vec<AtomicU64>, first: u32) -> (RankedBits, u32) {
        let words: Vec<u64> = words.into_iter().map(AtomicU64::into_inner).collect();
        let mut count = first;
        let before = words
            .iter()
            .map(|word| {
                let before = count;
                count += word.count_ones();
                before
            })
            .collect();
        (RankedBits { words, before }, count)
    }

    #[inline]
    fn rank(&self, n: usize) -> u32 {
        let below = self.words[n / 64] & ((1 << (n % 64)) - 1);
        self.before[n / 64] + below.count_ones()
    }

    /// The rank of every member, indexed by the member.
    fn table(&self) -> Vec<u32> {
        let mut table = vec![0; 64 * self.words.len()];
        self.members().for_each(|n| table[n] = self.rank(n));
        table
    }

    fn members(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| i * 64 + bit)
        })
    }
}

/// The dense ids of all keys.
pub(super) struct KeyRanks {
    /// The ids of small integers, indexed by the integer; empty if there are more possible integers than
    /// operations.
    table: Vec<u32>,
    small: RankedBits,
    large: FxHashMap<u32, u32>,
    rows: RankedBits,
    /// Integers from here on are in `large`.
    limit: u32,
    len: u32,
}

impl KeyRanks {
    /// Numbers the keys of all chunks and of the initial state; `None` if there are too many.
    pub(super) fn of(chunks: &[Chunk], initial: &[(Value, Value)], table_len: usize) -> Option<KeyRanks> {
        let ops = chunks.iter().map(|chunk| chunk.ops.len()).sum();
        let limit = bitmap_limit(ops);
        let initial_keys = || initial.iter().map(|&(key, _)| key);
        let top = |keys: &mut dyn Iterator<Item = Value>| {
            keys.filter_map(Value::as_small).filter(|&n| n < limit).map(|n| n + 1).max().unwrap_or(0)
        };
        let in_chunks = chunks.par_iter().map(|c| top(&mut c.ops.iter().map(|op| op.key))).max().unwrap_or(0);
        let bound = in_chunks.max(top(&mut initial_keys())) as usize;
        let small = bits(bound);
        let rows = bits(table_len);
        let note = |key: Value, large: &mut FxHashSet<u32>| match (key.as_small(), key.row()) {
            (Some(n), _) if n < limit => set(&small, n as usize),
            (Some(n), _) => {
                large.insert(n);
            }
            (None, row) => set(&rows, row.unwrap_or(0)),
        };
        let mut large: FxHashSet<u32> = chunks
            .par_iter()
            .fold(FxHashSet::default, |mut large, chunk| {
                chunk.ops.iter().for_each(|op| note(op.key, &mut large));
                large
            })
            .reduce(FxHashSet::default, |mut a, b| {
                a.extend(b);
                a
            });
        initial_keys().for_each(|key| note(key, &mut large));
        let mut large: Vec<u32> = large.into_iter().collect();
        large.sort_unstable();

        let (small, next) = RankedBits::of(small, 0);
        let total = u64::from(next) + large.len() as u64 + table_len as u64;
        if total > u64::from(u32::MAX) {
            return None;
        }
        let large: FxHashMap<u32, u32> = large.into_iter().zip(next..).collect();
        let (rows, len) = RankedBits::of(rows, next + large.len() as u32);
        let table = if bound <= ops { small.table() } else { Vec::new() };
        Some(KeyRanks { table, small, large, rows, limit, len })
    }

    /// The id of the key with this name. The name must be one that was numbered.
    #[inline]
    pub(super) fn key(&self, name: Value) -> Key {
        if let Some(&id) = name.as_small().and_then(|n| self.table.get(n as usize)) {
            return Key(id);
        }
        Key(match (name.as_small(), name.row()) {
            (Some(n), _) if n < self.limit => self.small.rank(n as usize),
            (Some(n), _) => self.large[&n],
            (None, row) => self.rows.rank(row.unwrap_or(0)),
        })
    }

    /// The names in the order of the ids.
    pub(super) fn names(&self) -> Vec<Value> {
        let mut large: Vec<u32> = self.large.keys().copied().collect();
        large.sort_unstable();
        let mut names = Vec::with_capacity(self.len());
        names.extend(self.small.members().filter_map(|n| Value::small(n as u64)));
        names.extend(large.into_iter().filter_map(|n| Value::small(u64::from(n))));
        names.extend(self.rows.members().map(Value::from_row));
        debug_assert_eq!(names.len(), self.len());
        names
    }

    /// The number of keys.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }
}

fn bits(len: usize) -> Vec<AtomicU64> {
    (0..len.div_ceil(64)).map(|_| AtomicU64::new(0)).collect()
}

/// Sets a bit, and writes to memory only if it is new: most keys occur many times.
#[inline]
fn set(bits: &[AtomicU64], n: usize) {
    let mask = 1 << (n % 64);
    if bits[n / 64].load(Ordering::Relaxed) & mask == 0 {
        bits[n / 64].fetch_or(mask, Ordering::Relaxed);
    }
}

//! Dense key ids without a hash table.
//!
//! Key names are values: mostly small integers, else rows of the value table, which are dense already. So
//! a bitmap over each of the two spaces, with running counts, turns a name into its rank: a load and a
//! population count per operation, and 3/16 of a byte a possible name. Where possible names are fewer than operations,
//! a table of the ranks saves the counting. Integers that are large for the number of operations (see
//! [`bitmap_limit`]) would waste the bitmap and are kept in a hash map.

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Chunk;
use crate::ids::Key;
use crate::value::Value;

/// Names from here on are counted one by one. The bitmap takes at most 12 bytes an operation, and 50 MB.
fn bitmap_limit(ops: usize) -> u32 {
    (64 * ops as u64).clamp(1 << 16, 1 << 28) as u32
}

/// The names that occur.
#[derive(Default)]
struct Names {
    /// Small integers, as bits.
    small: Vec<u64>,
    large: FxHashSet<u32>,
    /// Rows of the value table, as bits.
    rows: Vec<u64>,
}

impl Names {
    fn add(mut self, names: impl Iterator<Item = Value> + Clone, limit: u32) -> Names {
        // Room for all of them is made first, which leaves little to do for each.
        let small = names.clone().filter_map(Value::as_small).filter(|&n| n < limit).max();
        grow(&mut self.small, small.map(|n| n as usize));
        grow(&mut self.rows, names.clone().filter_map(Value::row).max());
        let Names { small, large, rows } = &mut self;
        let (small, rows) = (small.as_mut_slice(), rows.as_mut_slice());
        for name in names {
            match (name.as_small(), name.row()) {
                (Some(n), _) if n < limit => set(small, n as usize),
                (Some(n), _) => {
                    large.insert(n);
                }
                (None, row) => set(rows, row.unwrap_or(0)),
            }
        }
        self
    }

    fn join(mut self, other: Names) -> Names {
        self.large.extend(other.large);
        Names { small: union(self.small, other.small), rows: union(self.rows, other.rows), large: self.large }
    }
}

/// Makes room for a number.
fn grow(bits: &mut Vec<u64>, n: Option<usize>) {
    let words = n.map_or(0, |n| n / 64 + 1);
    bits.resize(bits.len().max(words), 0);
}

/// Sets a bit, touching memory only when it is new: most keys are seen again and again.
#[inline]
fn set(bits: &mut [u64], n: usize) {
    let word = &mut bits[n / 64];
    if *word >> (n % 64) & 1 == 0 {
        *word |= 1 << (n % 64);
    }
}

fn union(a: Vec<u64>, b: Vec<u64>) -> Vec<u64> {
    let (mut longer, shorter) = if a.len() < b.len() { (b, a) } else { (a, b) };
    longer.iter_mut().zip(shorter).for_each(|(word, other)| *word |= other);
    longer
}

/// A set of small numbers with the rank of each.
struct RankedBits {
    words: Vec<u64>,
    before: Vec<u32>,
}

impl RankedBits {
    fn of(words: Vec<u64>, first: u32) -> (RankedBits, u32) {
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

    /// The rank of every member, by itself.
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
    /// The ids of small integers by themselves; empty where it would be larger than the operations are many.
    table: Vec<u32>,
    small: RankedBits,
    large: FxHashMap<u32, u32>,
    rows: RankedBits,
    /// Integers from here on are in `large`.
    limit: u32,
    len: u32,
}

impl KeyRanks {
    /// Numbers the keys of all chunks and of the initial state. `None` when there are too many.
    pub(super) fn of(chunks: &[Chunk], initial: &[(Value, Value)]) -> Option<KeyRanks> {
        let ops = chunks.iter().map(|chunk| chunk.ops.len()).sum();
        let limit = bitmap_limit(ops);
        let names = chunks
            .par_iter()
            .fold(Names::default, |names, chunk| names.add(chunk.ops.iter().map(|op| op.key), limit))
            .reduce(Names::default, Names::join)
            .add(initial.iter().map(|&(key, _)| key), limit);
        let mut large: Vec<u32> = names.large.into_iter().collect();
        large.sort_unstable();

        let (small, next) = RankedBits::of(names.small, 0);
        let total = u64::from(next) + large.len() as u64 + 64 * names.rows.len() as u64;
        if total > u64::from(u32::MAX) {
            return None;
        }
        let large: FxHashMap<u32, u32> = large.into_iter().zip(next..).collect();
        let (rows, len) = RankedBits::of(names.rows, next + large.len() as u32);
        let table = if 64 * small.words.len() <= ops { small.table() } else { Vec::new() };
        Some(KeyRanks { table, small, large, rows, limit, len })
    }

    /// The id of a key by its name, which must be one of those numbered.
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

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }
}

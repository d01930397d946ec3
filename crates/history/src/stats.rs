//! Statistics of a history: counts, and properties that affect checking.

use rayon::prelude::*;

use crate::history::{History, Intervals, NO_EVENT, NO_TIME, OpKind, Outcome};
use crate::ids::Key;
use crate::value::Value;

/// Statistics of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct Stats {
    /// Sessions.
    pub sessions: usize,
    /// Transactions of any outcome.
    pub transactions: usize,
    /// Operations.
    pub operations: usize,
    /// Keys.
    pub keys: usize,
    /// Transactions that committed.
    pub committed: usize,
    /// Transactions that aborted.
    pub aborted: usize,
    /// Transactions of unknown outcome.
    pub unknown: usize,
    /// Operations by kind, in the order of [`OpKind::ALL`].
    pub by_kind: [usize; 7],
    /// Reads of a key the transaction had not written before.
    pub external_reads: usize,
    /// Reads that returned the initial value of their key.
    pub initial_reads: usize,
    /// Reads whose result was not recorded.
    pub unknown_reads: usize,
    /// (key, value) pairs that more than one write produced.
    pub duplicate_values: usize,
    /// Keys with at least one such pair.
    pub keys_with_duplicates: usize,
    /// Keys that are read but that no transaction writes.
    pub keys_never_written: usize,
    /// Operations of the smallest and the largest transaction.
    pub txn_size: (usize, usize),
    /// The keys with the most operations, in descending order, with their number of operations.
    pub hot_keys: Vec<(Key, usize)>,
    /// The number of transactions that ran concurrently, if times are known.
    pub concurrency: Option<Concurrency>,
}

/// The number of transactions that ran concurrently.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Concurrency {
    /// The maximum.
    pub most: usize,
    /// The mean over the duration of the history.
    pub mean: f64,
    /// Nanoseconds from the first invocation to the last return, if times were recorded and not only an order
    /// of events.
    pub nanoseconds: Option<i64>,
}

/// The number of hot keys listed.
const HOT_KEYS: usize = 5;

impl Stats {
    /// Computes the statistics of a history.
    pub fn of(history: &History) -> Stats {
        let outcomes = |wanted| history.txns().filter(|&txn| history.outcome(txn) == wanted).count();
        let ops = OpCounts::of(history);
        let (duplicate_values, keys_with_duplicates) = duplicates(history);
        let sizes = || history.txns().map(|txn| history.op_range(txn).len());
        Stats {
            sessions: history.session_count(),
            transactions: history.txn_count(),
            operations: history.op_count(),
            keys: if history.ranges.is_empty() { history.key_count() } else { history.named_keys().len() },
            committed: outcomes(Outcome::Committed),
            aborted: outcomes(Outcome::Aborted),
            unknown: outcomes(Outcome::Unknown),
            by_kind: ops.by_kind,
            external_reads: ops.external,
            initial_reads: ops.initial,
            unknown_reads: ops.unknown,
            duplicate_values,
            keys_with_duplicates,
            keys_never_written: history
                .keys()
                .filter(|&key| ops.reads[key.index()] > 0 && history.writer_range(key).is_empty())
                .count(),
            txn_size: (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0)),
            hot_keys: hot_keys(&ops.touched),
            concurrency: concurrency(history),
        }
    }

    /// The fraction of operations that read, between 0 and 1.
    pub fn read_ratio(&self) -> f64 {
        let of = |kind: OpKind| self.by_kind[kind as usize];
        let reads = of(OpKind::Read) + of(OpKind::ReadList) + of(OpKind::RangeRead);
        if self.operations == 0 { 0.0 } else { reads as f64 / self.operations as f64 }
    }
}

#[derive(Default)]
struct OpCounts {
    by_kind: [usize; 7],
    external: usize,
    initial: usize,
    unknown: usize,
    touched: Vec<u32>,
    reads: Vec<u32>,
}

impl OpCounts {
    fn of(history: &History) -> OpCounts {
        // Each piece has two tables of all keys, so the number of pieces is limited by the number of
        // operations.
        let affordable = history.op_count() / history.key_count().max(1);
        let pieces = rayon::current_num_threads().min(affordable).max(1);
        let step = history.op_count().div_ceil(pieces).max(1);
        (0..pieces)
            .into_par_iter()
            .map(|piece| {
                let from = (piece * step).min(history.op_count());
                OpCounts::of_piece(history, from..(from + step).min(history.op_count()))
            })
            .reduce(OpCounts::default, OpCounts::add)
    }

    fn of_piece(history: &History, ops: std::ops::Range<usize>) -> OpCounts {
        let keys = history.key_count();
        let mut counts = OpCounts { touched: vec![0; keys], reads: vec![0; keys], ..OpCounts::default() };
        for op in ops.map(|i| history.op(crate::Op::at(i))) {
            counts.by_kind[op.kind as usize] += 1;
            // The key of a range read is its lower bound.
            counts.touched[op.key.index()] += u32::from(op.kind != OpKind::RangeRead);
            if op.kind.is_read() {
                counts.reads[op.key.index()] += 1;
                counts.external += usize::from(op.external);
                counts.unknown += usize::from(op.value == Value::UNKNOWN);
                counts.initial += usize::from(op.external && history.is_initial(op.key, op.value));
            }
        }
        counts
    }

    fn add(mut self, other: OpCounts) -> OpCounts {
        if self.touched.is_empty() {
            return other;
        }
        if other.touched.is_empty() {
            return self;
        }
        let sum = |a: &mut [u32], b: &[u32]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        sum(&mut self.touched, &other.touched);
        sum(&mut self.reads, &other.reads);
        self.by_kind.iter_mut().zip(other.by_kind).for_each(|(a, b)| *a += b);
        self.external += other.external;
        self.initial += other.initial;
        self.unknown += other.unknown;
        self
    }
}

/// The number of (key, value) pairs that several writes produced, and the number of keys with such a pair.
/// Two writes of the same value in one transaction count too, since a reader cannot distinguish them.
fn duplicates(history: &History) -> (usize, usize) {
    let mut writes: Vec<u64> = history
        .tags
        .par_iter()
        .zip(&history.keys)
        .zip(&history.values)
        .filter(|((tag, _), value)| {
            // Deletes without a tombstone write no distinguishable value.
            tag.kind().is_write() && !(tag.kind() == OpKind::Delete && **value == Value::NIL)
        })
        .map(|((_, key), value)| u64::from(key.0) << 32 | u64::from(value.bits()))
        .collect();
    writes.par_sort_unstable();
    let mut pairs: Vec<u64> = writes.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]).collect();
    pairs.dedup();
    let mut keys: Vec<u64> = pairs.iter().map(|pair| pair >> 32).collect();
    keys.dedup();
    (pairs.len(), keys.len())
}

fn hot_keys(touched: &[u32]) -> Vec<(Key, usize)> {
    let mut top: Vec<(Key, usize)> = Vec::new();
    for (key, &count) in touched.iter().enumerate() {
        let count = count as usize;
        if count > 0 && top.len() < HOT_KEYS || top.last().is_some_and(|&(_, least)| count > least) {
            let place = top.partition_point(|&(_, other)| other >= count);
            top.insert(place, (Key::at(key), count));
            top.truncate(HOT_KEYS);
        }
    }
    top
}

fn concurrency(history: &History) -> Option<Concurrency> {
    let timed = history.times().map(|times| sweep(times, NO_TIME));
    let ordered = history.events().map(|events| sweep(&widen(events), i64::from(NO_EVENT)));
    let (most, ..) = ordered.or(timed).filter(|&(most, ..)| most > 0)?;
    let (_, mean, _) = timed.filter(|&(_, _, span)| span > 0).or(ordered)?;
    let nanoseconds = timed.map(|(_, _, span)| span).filter(|&span| span > 0);
    Some(Concurrency { most, mean, nanoseconds })
}

fn widen(events: &Intervals<u32>) -> Intervals<i64> {
    let column = |c: &[u32]| c.iter().map(|&n| i64::from(n)).collect();
    Intervals { start: column(&events.start), end: column(&events.end) }
}

/// The maximal number of intervals open at once, their mean number over the whole span, and the span.
/// Intervals are closed: two that touch overlap. Intervals without an end are ignored.
fn sweep(intervals: &Intervals<i64>, none: i64) -> (usize, f64, i64) {
    let both = intervals.start.iter().zip(&intervals.end);
    let known: Vec<(i64, i64)> =
        both.filter(|(s, e)| **s != none && **e != none && s <= e).map(|(s, e)| (*s, *e)).collect();
    let mut points: Vec<(i64, bool)> = known.iter().flat_map(|&(s, e)| [(s, false), (e, true)]).collect();
    points.par_sort_unstable();
    let (mut open, mut most) = (0usize, 0);
    for &(_, ends) in &points {
        open = if ends { open - 1 } else { open + 1 };
        most = most.max(open);
    }
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return (0, 0.0, 0) };
    let span = last.0.saturating_sub(first.0);
    let busy: f64 = known.iter().map(|&(s, e)| e.saturating_sub(s) as f64).sum();
    (most, if span > 0 { busy / span as f64 } else { 0.0 }, span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::parse;

    #[test]
    fn statistics_of_a_small_history() {
        let text = "T1@0-3: w(x,1) r(x,1) r(y,0)  T2@1-2: w(x,1) w(y,2)  T3!: r(z,0)  T4?: r(x,?)";
        let stats = Stats::of(&parse(text).unwrap());
        assert_eq!((stats.sessions, stats.transactions, stats.operations, stats.keys), (4, 4, 7, 3));
        assert_eq!((stats.committed, stats.aborted, stats.unknown), (2, 1, 1));
        assert_eq!((stats.duplicate_values, stats.keys_with_duplicates), (1, 1));
        assert_eq!((stats.external_reads, stats.initial_reads, stats.unknown_reads), (3, 2, 1));
        assert_eq!(stats.keys_never_written, 1);
        assert_eq!(stats.txn_size, (1, 3));
        assert_eq!(stats.hot_keys.iter().map(|h| h.1).collect::<Vec<_>>(), [4, 2, 1]);
        assert_eq!(stats.concurrency, Some(Concurrency { most: 2, mean: 4.0 / 3.0, nanoseconds: None }));
    }

    #[test]
    fn a_bound_of_a_range_is_no_key() {
        let stats = Stats::of(&parse("init=nil  T1: i(3,1) range(1,9,{3=1})  T2: range(2,9,{5=1})").unwrap());
        assert_eq!((stats.operations, stats.keys, stats.keys_never_written), (3, 2, 0));
        assert_eq!(stats.hot_keys.iter().map(|h| h.1).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn statistics_of_an_empty_history() {
        let stats = Stats::of(&parse("").unwrap());
        assert_eq!((stats.operations, stats.txn_size, stats.read_ratio()), (0, (0, 0), 0.0));
        assert_eq!(stats.concurrency, None);
    }
}

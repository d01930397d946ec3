//! Repairing a commit order: when more edges become known, transactions that are too early move back, and all others keep their
//! order.
//!
//! An edge that the order does not respect leads from a place to an earlier one. The places from one to the other are a
//! *stretch*, and stretches that overlap are merged. Stretches are repaired in parallel, each from its front: a transaction with a
//! predecessor that was not placed yet is held back until right after that predecessor, and so is every transaction that depends on
//! it. At the end of a stretch no transaction is held back, because all its edges end inside the stretch, unless some transactions
//! wait for each other in a cycle. Then no order exists.
//!
//! The axiom was evaluated for all reads in the old order, and what it forced there is known. In the new order it can force
//! something new only where two writers of a key have changed places: one was held back past the other, t1, and a reader of t1 must
//! have seen it. So the axiom is evaluated again only for reads of versions that were written while a writer of the same key was
//! held back.

use std::ops::Range;

use isoscope_history::{History, Key, Op, Txn};
use isoscope_order::Graph;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::resolve::{Link, Resolved};
use crate::schedule::{Schedule, UNPLACED};
use crate::stale::{BATCH, Stale, touch};
use crate::watch::{Turnstile, Watch};

/// Makes an order respect more edges (reversed: from a transaction to those that must come before it), and
/// returns the reads an axiom must be asked about again. `None` when no order does, or when a limit is reached.
pub(crate) fn repair(
    history: &History,
    resolved: &Resolved,
    forced: &Graph,
    schedule: &mut Schedule,
    watch: &dyn Watch,
) -> Option<Vec<Stale>> {
    if watch.limit().is_some() {
        return None;
    }
    let Schedule { order, place } = schedule;
    let stretches = stretches(forced, place)?;
    let old: Vec<u32> = place.iter().copied().chain([UNPLACED]).collect();
    let overtaken: Option<Vec<Vec<(Txn, Key)>>> = split(order, &stretches)
        .into_par_iter()
        .map_init(
            || Mender::new(history, resolved, forced, &old, watch),
            |mender, (first, stretch)| mender.mend(first, stretch),
        )
        .collect();
    let overtaken = overtaken?.concat();
    for at in stretches.into_iter().flatten() {
        place[order[at as usize] as usize] = at;
    }
    Some(readers(history, resolved, &Versions::new(history.txn_count(), overtaken)))
}

/// Where an order has to be repaired: places, in order. `None` when something that is not in it should come before
/// something that is.
fn stretches(forced: &Graph, place: &[u32]) -> Option<Vec<Range<u32>>> {
    let mut found: Vec<Range<u32>> = Vec::new();
    for (txn, &at) in (0..).zip(place) {
        let last = forced.successors(txn).iter().map(|&before| place[before as usize]).max();
        if let Some(last) = last.filter(|&last| last > at) {
            if last == UNPLACED {
                return None;
            }
            found.push(at..last + 1);
        }
    }
    found.sort_unstable_by_key(|stretch| stretch.start);
    found.dedup_by(|next, stretch| {
        let overlaps = next.start < stretch.end;
        stretch.end = if overlaps { stretch.end.max(next.end) } else { stretch.end };
        overlaps
    });
    Some(found)
}

/// The transactions of each stretch of an order, and the place of the first.
fn split<'o>(mut order: &'o mut [u32], stretches: &[Range<u32>]) -> Vec<(u32, &'o mut [u32])> {
    let mut parts = Vec::with_capacity(stretches.len());
    let mut start = 0;
    for stretch in stretches {
        let (_, rest) = order.split_at_mut((stretch.start - start) as usize);
        let (part, rest) = rest.split_at_mut(stretch.len());
        parts.push((stretch.start, part));
        (order, start) = (rest, stretch.end);
    }
    parts
}

/// Mends stretches, one after the other.
struct Mender<'a> {
    history: &'a History,
    resolved: &'a Resolved,
    forced: &'a Graph,
    /// The place of each transaction in the old order, and one row more, for links that lead to no transaction.
    old: &'a [u32],
    /// Where the stretch begins.
    first: u32,
    /// By the place in the stretch as it was: whether that transaction was placed.
    come: Vec<bool>,
    /// The placed transactions, in the new order.
    order: Vec<u32>,
    /// By the transaction they wait for: those held back, but for those to be taken next.
    held: FxHashMap<u32, Vec<u32>>,
    /// For each key, how many of those held back write it.
    late: Vec<u32>,
    /// Versions written while a writer of the same key was held back, those of one transaction together.
    overtaken: Vec<(Txn, Key)>,
    /// Those to be taken next, the last first.
    todo: Vec<u32>,
    turnstile: Turnstile<'a>,
}

impl<'a> Mender<'a> {
    fn new(
        history: &'a History,
        resolved: &'a Resolved,
        forced: &'a Graph,
        old: &'a [u32],
        watch: &'a dyn Watch,
    ) -> Self {
        Mender {
            history,
            resolved,
            forced,
            old,
            first: 0,
            come: Vec::new(),
            order: Vec::new(),
            held: FxHashMap::default(),
            late: vec![0; history.key_count()],
            overtaken: Vec::new(),
            todo: Vec::new(),
            turnstile: Turnstile::new(watch),
        }
    }

    /// Mends a stretch that begins at a place, and returns the versions that were overtaken in it. `None` when some
    /// are still held back at its end.
    fn mend(&mut self, first: u32, stretch: &mut [u32]) -> Option<Vec<(Txn, Key)>> {
        self.first = first;
        self.come.clear();
        self.come.resize(stretch.len(), false);
        self.order.clear();
        for batch in stretch.chunks(BATCH) {
            if !self.turnstile.step() {
                return None;
            }
            touch(self.history, self.resolved, batch);
            for &txn in batch {
                self.take(txn);
            }
        }
        if self.order.len() < stretch.len() {
            return None;
        }
        stretch.copy_from_slice(&self.order);
        Some(std::mem::take(&mut self.overtaken))
    }

    /// Takes the next transaction of the old order, and those that were waiting for it.
    fn take(&mut self, txn: u32) {
        self.todo.push(txn);
        while let Some(next) = self.todo.pop() {
            if let Some(missing) = self.missing(Txn(next)) {
                self.held.entry(missing.0).or_default().push(next);
                if next == txn {
                    self.for_each_written(Txn(next), |late| *late += 1);
                }
                continue;
            }
            if next != txn {
                self.for_each_written(Txn(next), |late| *late -= 1);
            }
            self.come[(self.old[next as usize] - self.first) as usize] = true;
            self.order.push(next);
            if self.held.is_empty() && self.todo.is_empty() {
                continue;
            }
            self.note_overtaken(Txn(next));
            if let Some(mut freed) = self.held.remove(&next) {
                // The one that was earliest in the old order is taken first.
                freed.sort_unstable_by_key(|&txn| std::cmp::Reverse(self.old[txn as usize]));
                self.todo.extend(freed);
            }
        }
    }

    /// A predecessor that was not placed yet.
    fn missing(&self, txn: Txn) -> Option<Txn> {
        // What is outside of the stretch was placed.
        let absent = |before: &Txn| {
            let place = self.old[before.index()].wrapping_sub(self.first);
            self.come.get(place as usize) == Some(&false)
        };
        let before = self.resolved.before(self.history, txn).filter(absent);
        let links = &self.resolved.links[self.history.op_range(txn)];
        let none = self.old.len() - 1;
        let mut sources = links.iter().map(|link| Txn::at(link.index_or(none)));
        let mut forced = self.forced.successors(txn.0).iter().copied().map(Txn);
        before.or_else(|| sources.find(absent)).or_else(|| forced.find(absent))
    }

    /// Changes, for every key that a transaction writes, how many of those held back do.
    fn for_each_written(&mut self, txn: Txn, change: impl Fn(&mut u32)) {
        let Mender { history, resolved, ref mut late, .. } = *self;
        for op in history.op_range(txn).filter(|&op| resolved.links[op].is_write()) {
            change(&mut late[history.key_of(Op::at(op)).index()]);
        }
    }

    /// Notes the versions of a transaction of whose keys a writer is held back.
    fn note_overtaken(&mut self, txn: Txn) {
        let Mender { history, resolved, ref late, ref mut overtaken, .. } = *self;
        let keys = history.op_range(txn).map(|op| (op, history.key_of(Op::at(op))));
        // Whether an operation writes is as good as random, but hardly a key is late: that is asked first.
        let late = keys.filter(|&(op, key)| late[key.index()] > 0 && resolved.links[op].is_write());
        overtaken.extend(late.map(|(_, key)| (txn, key)));
    }
}

/// Versions of keys, by their writers.
struct Versions {
    /// For each transaction, where its keys begin; [`NONE`] when it has none. One row more than there are
    /// transactions, for reads that are not from any.
    first: Vec<u32>,
    keys: Vec<(Txn, Key)>,
}

const NONE: u32 = u32::MAX;

impl Versions {
    /// Versions of `txns` transactions, those of one together.
    fn new(txns: usize, keys: Vec<(Txn, Key)>) -> Versions {
        let mut first = vec![NONE; txns + 1];
        for (at, &(writer, _)) in keys.iter().enumerate().rev() {
            first[writer.index()] = at as u32;
        }
        Versions { first, keys }
    }

    /// Whether a read through a link returns one of the versions. Nearly all do not, which costs one look.
    #[inline]
    fn contain(&self, link: Link, key: impl Fn() -> Key) -> bool {
        let first = self.first[link.index_or(self.first.len() - 1)];
        first != NONE && self.written_by(first).any(|written| written == key())
    }

    fn written_by(&self, first: u32) -> impl Iterator<Item = Key> + use<'_> {
        let keys = &self.keys[first as usize..];
        keys.iter().take_while(|(writer, _)| *writer == keys[0].0).map(|&(_, key)| key)
    }
}

/// The reads that return one of some versions.
fn readers(history: &History, resolved: &Resolved, versions: &Versions) -> Vec<Stale> {
    if versions.keys.is_empty() {
        return Vec::new();
    }
    let found: Vec<Vec<Stale>> = (0..history.txn_count() as u32)
        .into_par_iter()
        .with_min_len(256)
        .map(Txn)
        .fold(Vec::new, |mut found, reader| {
            let ops = history.op_range(reader);
            for (&link, op) in resolved.links[ops.clone()].iter().zip(ops.map(Op::at)) {
                if versions.contain(link, || history.key_of(op)) {
                    found.push(Stale { reader, read: op });
                }
            }
            found
        })
        .collect();
    found.concat()
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use isoscope_levels::Level;
    use isoscope_order::Components;
    use isoscope_workload::{Spec, run};

    use super::*;
    use crate::schedule::schedule;
    use crate::watch::NoLimits;

    /// What must come before what: sessions, reads, and edges beyond.
    fn predecessors(history: &History, resolved: &Resolved, forced: &[(u32, u32)]) -> Graph {
        let mut edges = forced.to_vec();
        for txn in history.txns() {
            edges.extend(resolved.before(history, txn).map(|before| (txn.0, before.0)));
            let sources = history.op_range(txn).filter_map(|op| resolved.links[op].txn());
            edges.extend(sources.map(|source| (txn.0, source.0)));
        }
        Graph::from_edges(history.txn_count(), &edges)
    }

    /// Some random edges that an order does not respect, few or many, short or long.
    fn round(order: &[u32], seed: u64, number: u64) -> Vec<(u32, u32)> {
        let random = |i: u64| {
            let mixed = (seed * 1_000 + number * 100 + i).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (mixed >> 20) as usize
        };
        let edge = |i: u64| {
            let at = random(2 * i) % order.len();
            let distance = 1 + random(2 * i + 1) % (3 << (seed % 4));
            Some((order[at], *order.get(at + distance)?))
        };
        (0..=seed % 10).filter_map(edge).collect()
    }

    #[test]
    fn an_order_is_mended_exactly_when_there_is_one() {
        let (mut mended, mut refused, mut several) = (0, 0, 0);
        for seed in 0..1_000 {
            let level = Level::ReadCommitted;
            let spec = Spec { sessions: 9, txns_per_session: 8, keys: 4, level, seed, ..Spec::default() };
            let history = run(&spec, &mut |_, _| {}).unwrap();
            let resolved = Resolved::new(&history);
            let none = Graph::from_edges(history.txn_count(), &[]);
            let mut order = schedule(&history, &resolved, &none, |_| ControlFlow::Continue(())).unwrap();
            let mut known = Vec::new();
            for number in 0..4 {
                known.extend(round(&order.order, seed, number));
                let all = predecessors(&history, &resolved, &known);
                let cyclic = Components::find(&all).sizes.iter().any(|&size| size > 1);
                let forced = Graph::from_edges(history.txn_count(), &known);
                let before = order.place.clone();
                several += usize::from(stretches(&forced, &before).unwrap().len() > 1);
                let Some(asked) = repair(&history, &resolved, &forced, &mut order, &NoLimits) else {
                    assert!(cyclic, "seed {seed}");
                    refused += 1;
                    break;
                };
                assert!(!cyclic, "seed {seed}");
                mended += 1;
                let Schedule { order, place } = &order;
                assert!((0..).zip(order).all(|(at, &txn)| place[txn as usize] == at), "seed {seed}");
                for txn in history.txns() {
                    let earlier = |&before: &u32| place[before as usize] < place[txn.index()];
                    assert!(all.successors(txn.0).iter().all(earlier), "seed {seed}: {txn:?}");
                }
                assert_asked(&history, &resolved, (&before, place), &asked);
            }
        }
        assert!(mended > 300 && refused > 300 && several > 300, "{mended} {refused} {several}");
    }

    /// Reads are asked about again if a writer of the key was before the one they read from and is now after it.
    fn assert_asked(history: &History, resolved: &Resolved, places: (&[u32], &[u32]), asked: &[Stale]) {
        for reader in history.txns() {
            for read in history.op_range(reader).map(Op::at) {
                let Some(source) = resolved.links[read.index()].txn() else { continue };
                let is_before = |place: &[u32], writer: Txn| place[writer.index()] < place[source.index()];
                let mut writers = history.writers(history.key_of(read)).iter();
                let overtaken = writers.any(|&writer| {
                    is_before(places.0, writer) && !is_before(places.1, writer) && writer != source
                });
                assert!(!overtaken || asked.contains(&Stale { reader, read }), "{read:?}");
            }
        }
    }
}

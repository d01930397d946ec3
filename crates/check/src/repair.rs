//! Mending a commit order: when more edges become known, transactions that came too early are moved back, and
//! everything else stays where it is.
//!
//! The order is gone through from the front. A transaction of which a predecessor has not come yet is held
//! back, and follows right after the predecessor; whoever depends on it is held back as well. While nothing is
//! held back and a transaction has no new predecessors, nothing needs to be looked at.
//!
//! An axiom was asked about all reads in the old order, and what it forced there is known. In the new order it
//! can force something new only where two writers of a key have changed places: one was held back past the
//! other, t1, and a reader of t1 must have seen it. So the reads to ask about again are those of versions that a
//! writer of the same key was held back past. Going through the writers of a key in the old order, these are the
//! ones that come earlier in the new order than somebody before them.

use isoscope_history::{History, Key, Op, Txn};
use isoscope_order::Graph;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::resolve::Resolved;
use crate::schedule::{Schedule, Stale, UNPLACED};

/// Makes an order respect more edges (reversed: from a transaction to those that must come before it), and
/// returns the reads an axiom must be asked about again. `None` when no order does.
pub(crate) fn repair(
    history: &History,
    resolved: &Resolved,
    forced: &Graph,
    schedule: &mut Schedule,
) -> Option<Vec<Stale>> {
    let mut pass = Pass {
        history,
        resolved,
        forced,
        old: &schedule.place,
        order: Vec::with_capacity(schedule.order.len()),
        place: vec![UNPLACED; history.txn_count()],
        held: FxHashMap::default(),
        delayed: Vec::new(),
    };
    for &txn in &schedule.order {
        pass.take(txn);
    }
    let Pass { order, place, delayed, .. } = pass;
    if order.len() < schedule.order.len() {
        return None;
    }
    let overtaken = overtaken(history, resolved, &schedule.place, &place, &delayed);
    (schedule.order, schedule.place) = (order, place);
    Some(readers(history, resolved, &overtaken))
}

struct Pass<'a> {
    history: &'a History,
    resolved: &'a Resolved,
    forced: &'a Graph,
    /// The place of each transaction in the old order.
    old: &'a [u32],
    order: Vec<u32>,
    place: Vec<u32>,
    /// By the transaction they wait for: those held back.
    held: FxHashMap<u32, Vec<u32>>,
    /// Those that were held back, once they have come.
    delayed: Vec<Txn>,
}

impl Pass<'_> {
    /// Takes the next transaction of the old order.
    fn take(&mut self, txn: u32) {
        if self.held.is_empty() && self.forced.successors(txn).is_empty() {
            self.append(txn);
            return;
        }
        let mut todo = vec![txn];
        while let Some(next) = todo.pop() {
            if let Some(missing) = self.missing(Txn(next)) {
                self.held.entry(missing.0).or_default().push(next);
                continue;
            }
            if next != txn {
                self.delayed.push(Txn(next));
            }
            self.append(next);
            if let Some(mut freed) = self.held.remove(&next) {
                // The one that was earliest in the old order is taken first.
                freed.sort_unstable_by_key(|&txn| std::cmp::Reverse(self.old[txn as usize]));
                todo.extend(freed);
            }
        }
    }

    fn append(&mut self, txn: u32) {
        self.place[txn as usize] = self.order.len() as u32;
        self.order.push(txn);
    }

    /// A predecessor that has not come yet.
    fn missing(&self, txn: Txn) -> Option<Txn> {
        let absent = |before: &Txn| self.place[before.index()] == UNPLACED;
        let before = self.resolved.before(self.history, txn);
        let sources = self.resolved.links[self.history.op_range(txn)].iter().filter_map(|link| link.txn());
        let forced = self.forced.successors(txn.0).iter().copied().map(Txn);
        before.into_iter().chain(sources).chain(forced).find(absent)
    }
}

/// The versions that a writer of the same key was held back past.
fn overtaken(
    history: &History,
    resolved: &Resolved,
    old: &[u32],
    new: &[u32],
    delayed: &[Txn],
) -> Vec<(Txn, Key)> {
    let writes = |txn: Txn| {
        let ops = history.op_range(txn).filter(|&op| resolved.links[op].is_write());
        ops.map(move |op| (history.key_of(Op::at(op)), txn))
    };
    let mut delayed: Vec<(Key, Txn)> = delayed.iter().flat_map(|&txn| writes(txn)).collect();
    delayed.par_sort_unstable();
    let by_key: Vec<&[(Key, Txn)]> = delayed.chunk_by(|a, b| a.0 == b.0).collect();
    let of_key = |mut found: Vec<(Txn, Key)>, delayed: &&[(Key, Txn)]| {
        let key = delayed[0].0;
        let places = |writer: Txn| (old[writer.index()], new[writer.index()], writer);
        let present = history.writers(key).iter().filter(|writer| resolved.present[writer.index()]);
        let mut writers: Vec<(u32, u32, Txn)> = present.map(|&writer| places(writer)).collect();
        if delayed.len() <= FEW {
            let delayed: Vec<(u32, u32, Txn)> = delayed.iter().map(|&(_, txn)| places(txn)).collect();
            writers.retain(|writer| delayed.iter().any(|late| late.0 < writer.0 && writer.1 < late.1));
        } else {
            writers.sort_unstable();
            let mut latest = 0;
            writers.retain(|writer| {
                let passed = writer.1 < latest;
                latest = latest.max(writer.1);
                passed
            });
        }
        found.extend(writers.iter().map(|&(_, _, writer)| (writer, key)));
        found
    };
    let mut found: Vec<(Txn, Key)> =
        by_key.par_iter().with_min_len(16).fold(Vec::new, of_key).flatten().collect();
    found.par_sort_unstable();
    found
}

/// Up to so many held back, comparing each writer of a key with each of them costs less than sorting.
const FEW: usize = 8;

/// The reads that return one of some versions, which are sorted.
fn readers(history: &History, resolved: &Resolved, versions: &[(Txn, Key)]) -> Vec<Stale> {
    if versions.is_empty() {
        return Vec::new();
    }
    let mut overtaken = vec![false; history.txn_count()];
    for (txn, _) in versions {
        overtaken[txn.index()] = true;
    }
    let is_one = |writer: Txn, op: Op| {
        overtaken[writer.index()] && versions.binary_search(&(writer, history.key_of(op))).is_ok()
    };
    let found: Vec<Vec<Stale>> = (0..history.txn_count() as u32)
        .into_par_iter()
        .with_min_len(256)
        .map(Txn)
        .fold(Vec::new, |mut found, reader| {
            let ops = history.op_range(reader);
            for (link, op) in resolved.links[ops.clone()].iter().zip(ops) {
                if link.txn().is_some_and(|writer| is_one(writer, Op::at(op))) {
                    found.push(Stale { reader, read: Op::at(op) });
                }
            }
            found
        })
        .collect();
    found.concat()
}

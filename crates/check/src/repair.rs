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
//! writer of the same key was held back past.

use isoscope_history::{History, Key, Op, Txn};
use isoscope_order::Graph;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

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
        overtaken: FxHashSet::default(),
    };
    for &txn in &schedule.order {
        pass.take(txn);
    }
    let Pass { order, place, overtaken, .. } = pass;
    if order.len() < schedule.order.len() {
        return None;
    }
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
    /// By the transaction they wait for: those held back, and where they would have been.
    held: FxHashMap<u32, Vec<(u32, u32)>>,
    /// Versions that a writer of the same key was held back past.
    overtaken: FxHashSet<(Txn, Key)>,
}

impl Pass<'_> {
    /// Takes the next transaction of the old order.
    fn take(&mut self, txn: u32) {
        if self.held.is_empty() && self.forced.successors(txn).is_empty() {
            self.append(txn);
            return;
        }
        let mut todo = vec![(txn, self.order.len() as u32)];
        while let Some((txn, turn)) = todo.pop() {
            if let Some(missing) = self.missing(Txn(txn)) {
                self.held.entry(missing.0).or_default().push((txn, turn));
                continue;
            }
            self.note_overtaken(Txn(txn), turn);
            self.append(txn);
            if let Some(mut freed) = self.held.remove(&txn) {
                // The one that was earliest in the old order is taken first.
                freed.sort_unstable_by_key(|&(txn, _)| std::cmp::Reverse(self.old[txn as usize]));
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
        let session = self.history.txn_range(self.history.session_of(txn));
        let mut earlier = (session.start..txn.0).rev().map(Txn);
        let before = earlier.find(|before| self.resolved.present[before.index()]);
        let sources = self.resolved.links[self.history.op_range(txn)].iter().filter_map(|link| link.txn());
        let forced = self.forced.successors(txn.0).iter().copied().map(Txn);
        before.into_iter().chain(sources).chain(forced).find(absent)
    }

    /// Notes the versions that a transaction was held back past, of keys that it writes too.
    fn note_overtaken(&mut self, txn: Txn, turn: u32) {
        let passed = &self.order[turn as usize..];
        if passed.is_empty() {
            return;
        }
        let writes = |txn: Txn| {
            let ops = self.history.op_range(txn).filter(|&op| self.resolved.links[op].is_write());
            ops.map(|op| self.history.key_of(Op::at(op)))
        };
        let later = |other: &Txn| self.old[other.index()] > self.old[txn.index()];
        let own: Vec<Key> = writes(txn).collect();
        let rivals: usize = own.iter().map(|&key| self.history.writers(key).len()).sum();
        if rivals < 4 * passed.len() {
            for &key in &own {
                let rivals = self.history.writers(key).iter().copied();
                let overtaken = rivals
                    .filter(|rival| (turn..UNPLACED).contains(&self.place[rival.index()]) && later(rival));
                self.overtaken.extend(overtaken.map(|rival| (rival, key)));
            }
        } else {
            for other in passed.iter().copied().map(Txn).filter(later) {
                let both = writes(other).filter(|key| own.contains(key));
                self.overtaken.extend(both.map(|key| (other, key)));
            }
        }
    }
}

/// The reads that return one of some versions.
fn readers(history: &History, resolved: &Resolved, versions: &FxHashSet<(Txn, Key)>) -> Vec<Stale> {
    if versions.is_empty() {
        return Vec::new();
    }
    let mut versions: Vec<(Txn, Key)> = versions.iter().copied().collect();
    versions.sort_unstable();
    let mut first = vec![u32::MAX; history.txn_count()];
    for (i, (txn, _)) in versions.iter().enumerate().rev() {
        first[txn.index()] = i as u32;
    }
    let is_one = |writer: Txn, op: Op| {
        let of_writer = versions.get(first[writer.index()] as usize..).unwrap_or_default();
        let mut keys = of_writer.iter().take_while(|(txn, _)| *txn == writer);
        keys.any(|&(_, key)| key == history.key_of(op))
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

//! Mending a commit order: when more edges become known, transactions that came too early are moved back, and
//! everything else stays where it is.
//!
//! The order is gone through from the front. A transaction of which a predecessor has not come yet is held
//! back, and follows right after the predecessor; whoever depends on it is held back as well. While nothing is
//! held back and a transaction has no new predecessors, nothing needs to be looked at.
//!
//! An axiom was asked about all reads in the old order, and what it forced there is known. In the new order it
//! can force something new only where two writers of a key have changed places: one was held back past the
//! other, t1, and a reader of t1 must have seen it. So the reads to ask about again are those of versions that
//! were written while a writer of the same key was held back.

use isoscope_history::{History, Key, Op, Txn};
use isoscope_order::Graph;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::resolve::{Link, Resolved};
use crate::schedule::{Schedule, UNPLACED};
use crate::stale::Stale;

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
        place: vec![UNPLACED; history.txn_count() + 1],
        held: FxHashMap::default(),
        late: vec![0; history.key_count()],
        overtaken: Versions { first: vec![NONE; history.txn_count() + 1], keys: Vec::new() },
    };
    pass.place[history.txn_count()] = 0;
    for &txn in &schedule.order {
        pass.take(txn);
    }
    let Pass { order, mut place, overtaken, .. } = pass;
    place.truncate(history.txn_count());
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
    /// The place of each in the new order, and one row more, of something that is there, for links that lead to no
    /// transaction.
    place: Vec<u32>,
    /// By the transaction they wait for: those held back.
    held: FxHashMap<u32, Vec<u32>>,
    /// For each key, how many of those held back write it.
    late: Vec<u32>,
    /// Versions written while a writer of the same key was held back.
    overtaken: Versions,
}

impl Pass<'_> {
    /// Takes the next transaction of the old order.
    fn take(&mut self, txn: u32) {
        if self.held.is_empty() && self.forced.successors(txn).is_empty() {
            self.append(txn);
            return;
        }
        let Pass { history, resolved, .. } = *self;
        let ops = |txn: Txn| {
            let ops = history.op_range(txn);
            resolved.links[ops.clone()].iter().zip(ops.map(|op| history.key_of(Op::at(op))))
        };
        let written = |txn: Txn| ops(txn).filter(|(link, _)| link.is_write()).map(|(_, key)| key);
        let mut todo = vec![txn];
        while let Some(next) = todo.pop() {
            if let Some(missing) = self.missing(Txn(next)) {
                self.held.entry(missing.0).or_default().push(next);
                if next == txn {
                    written(Txn(next)).for_each(|key| self.late[key.index()] += 1);
                }
                continue;
            }
            if next != txn {
                written(Txn(next)).for_each(|key| self.late[key.index()] -= 1);
            }
            self.append(next);
            // Whether an operation writes is as good as random, but hardly a key is late: that is asked first.
            let late = ops(Txn(next)).filter(|(link, key)| self.late[key.index()] > 0 && link.is_write());
            self.overtaken.add(Txn(next), late.map(|(_, key)| key));
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
        if let Some(before) = self.resolved.before(self.history, txn).filter(absent) {
            return Some(before);
        }
        let links = &self.resolved.links[self.history.op_range(txn)];
        let nothing = Txn::at(self.place.len() - 1);
        let mut sources = links.iter().map(|link| link.txn().unwrap_or(nothing));
        let mut forced = self.forced.successors(txn.0).iter().copied().map(Txn);
        sources.find(absent).or_else(|| forced.find(absent))
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
    /// Adds the versions of a transaction, all at once.
    fn add(&mut self, writer: Txn, keys: impl Iterator<Item = Key>) {
        let first = self.keys.len();
        self.keys.extend(keys.map(|key| (writer, key)));
        if self.keys.len() > first {
            self.first[writer.index()] = first as u32;
        }
    }

    /// Whether a read through a link returns one of the versions. Nearly all do not, which costs one look.
    #[inline]
    fn contain(&self, link: Link, key: impl Fn() -> Key) -> bool {
        let first = self.first[link.txn().map_or(self.first.len() - 1, Txn::index)];
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

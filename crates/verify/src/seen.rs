//! Cursor stability, update atomic, monotonic view and update serializability over a commit order. The order
//! determines `ww`, the order of the writers of each key.
//!
//! A read *misses* the transactions that overwrote the version it returned.
//!
//! - Cursor stability: a transaction that reads and writes a key is the next writer after the one it read
//!   from.
//! - Update atomic: read atomic, and a transaction that writes a key misses no write of an earlier writer of
//!   that key.
//! - Monotonic view: a read misses no transaction that an earlier operation of its transaction read from or
//!   overwrote, and none from which `wr` and `ww` lead there.
//! - Update serializability: `wr`, `ww` and `rw` have no cycle over the transactions that write, and none
//!   with one read-only transaction. So a read-only transaction misses none from which these edges lead to a
//!   transaction it reads from.
//!
//! The search goes backwards along the edges, only for transactions that miss something, and no further than
//! the first transaction they miss. Cost: the writers of the key for every read, and one search for each
//! transaction that misses something.

use isoscope_history::{Key, OpView, Txn};
use rustc_hash::{FxHashMap, FxHashSet};

use super::sources::Sources;
use super::{Refutation, ensure};
use isoscope_certificate::Node;

/// Cursor stability; see the module.
pub(super) fn check_cursors(sources: &Sources<'_, '_>) -> Result<(), Refutation> {
    let (facts, history) = (sources.facts, sources.facts.history);
    let mut last = vec![0; history.key_count()];
    for (&txn, place) in sources.order.txns.iter().zip(1..) {
        for read in history.ops_of(txn).filter(|op| !op.in_range && facts.writes(txn, op.key)) {
            if let Some(from) = sources.of(read.id) {
                ensure(sources.order.position(from) == last[read.key.index()], || {
                    format!(
                        "another transaction wrote the key between {} and its own write",
                        facts.text(read.id)
                    )
                })?;
            }
        }
        history.ops_of(txn).filter(|op| op.last_write).for_each(|op| last[op.key.index()] = place);
    }
    Ok(())
}

/// What update atomic adds to read atomic; see the module.
pub(super) fn check_conflicts(sources: &Sources<'_, '_>) -> Result<(), Refutation> {
    let (facts, history) = (sources.facts, sources.facts.history);
    for &txn in sources.order.txns {
        facts.go_on()?;
        let written: Vec<Key> = history.ops_of(txn).filter(|op| op.last_write).map(|op| op.key).collect();
        for read in history.ops_of(txn) {
            let missed =
                missed(sources, txn, read).into_iter().filter(|&other| is_before(sources, other, txn));
            for other in missed {
                ensure(!written.iter().any(|&key| facts.writes(other, key)), || {
                    let (read, other) = (facts.text(read.id), facts.name(other));
                    format!("{read} misses a write of {other}, which its transaction overwrites")
                })?;
            }
        }
    }
    Ok(())
}

fn is_before(sources: &Sources<'_, '_>, one: Txn, other: Txn) -> bool {
    sources.order.position(Node::Txn(one)) < sources.order.position(Node::Txn(other))
}

/// The other transactions that overwrote the version a read returned.
fn missed(sources: &Sources<'_, '_>, reader: Txn, read: OpView) -> Vec<Txn> {
    let Some(from) = sources.of(read.id) else { return Vec::new() };
    let after =
        |txn: &Txn| *txn != reader && sources.order.position(Node::Txn(*txn)) > sources.order.position(from);
    sources.facts.history.writers(read.key).iter().copied().filter(after).collect()
}

/// For each transaction, its direct predecessors.
struct Before(Vec<Vec<Txn>>);

impl Before {
    /// The predecessors by `wr` and `ww`.
    fn new(sources: &Sources<'_, '_>) -> Before {
        let history = sources.facts.history;
        let mut before = vec![Vec::new(); history.txn_count()];
        let mut last: Vec<Option<Txn>> = vec![None; history.key_count()];
        for &txn in sources.order.txns {
            for op in history.ops_of(txn) {
                if let Some(Node::Txn(writer)) = sources.of(op.id) {
                    before[txn.index()].push(writer);
                }
                if op.last_write {
                    before[txn.index()].extend(last[op.key.index()].replace(txn));
                }
            }
        }
        Before(before)
    }

    /// Adds the `rw` edges of the transactions that write: to the next writer after the version they read.
    fn add_missed(&mut self, sources: &Sources<'_, '_>) {
        let history = sources.facts.history;
        let mut next: FxHashMap<(Key, Node), Txn> = FxHashMap::default();
        let mut last: Vec<Node> = vec![Node::Initial; history.key_count()];
        for &txn in sources.order.txns {
            for write in history.ops_of(txn).filter(|op| op.last_write) {
                let version = std::mem::replace(&mut last[write.key.index()], Node::Txn(txn));
                next.insert((write.key, version), txn);
            }
        }
        for &txn in sources.order.txns.iter().filter(|&&txn| writes(sources, txn)) {
            for read in history.ops_of(txn) {
                let from = sources.of(read.id);
                let over = from.and_then(|from| next.get(&(read.key, from)).copied());
                // A transaction that overwrites what it read precedes the same transactions by `ww`.
                if let Some(over) = over.filter(|&over| over != txn) {
                    self.0[over.index()].push(txn);
                }
            }
        }
    }

    /// The position of each transaction in a topological order, if the edges have no cycle.
    fn places(&self, txns: &[Txn]) -> Option<Vec<u32>> {
        let mut open: Vec<usize> = self.0.iter().map(Vec::len).collect();
        let mut after: Vec<Vec<Txn>> = vec![Vec::new(); self.0.len()];
        for &txn in txns {
            self.0[txn.index()].iter().for_each(|before| after[before.index()].push(txn));
        }
        let mut places = vec![0; self.0.len()];
        let mut ready: Vec<Txn> = txns.iter().copied().filter(|txn| open[txn.index()] == 0).collect();
        let mut placed = 0;
        while let Some(txn) = ready.pop() {
            placed += 1;
            places[txn.index()] = placed;
            for &next in &after[txn.index()] {
                open[next.index()] -= 1;
                if open[next.index()] == 0 {
                    ready.push(next);
                }
            }
        }
        (placed as usize == txns.len()).then_some(places)
    }

    /// Adds to `seen` a transaction and all its predecessors for which `counts` is true.
    fn walk(&self, from: Txn, counts: &dyn Fn(Txn) -> bool, seen: &mut FxHashSet<Txn>) {
        let mut todo = vec![from];
        while let Some(txn) = todo.pop() {
            if counts(txn) && seen.insert(txn) {
                todo.extend(&self.0[txn.index()]);
            }
        }
    }
}

fn writes(sources: &Sources<'_, '_>, txn: Txn) -> bool {
    sources.facts.history.ops_of(txn).any(|op| op.kind.is_write())
}

/// Monotonic view; see the module.
pub(super) fn check_monotonic(sources: &Sources<'_, '_>) -> Result<(), Refutation> {
    let history = sources.facts.history;
    let before = Before::new(sources);
    let mut last: Vec<Option<Txn>> = vec![None; history.key_count()];
    for &txn in sources.order.txns {
        sources.facts.go_on()?;
        let missed: Vec<(OpView, Vec<Txn>)> =
            history.ops_of(txn).map(|op| (op, missed(sources, txn, op))).collect();
        let place = |txn: &Txn| sources.order.position(Node::Txn(*txn));
        let first = missed.iter().flat_map(|(_, missed)| missed).map(place).min();
        let counts = |txn: Txn| first.is_some_and(|first| place(&txn) >= first);
        let mut seen = FxHashSet::default();
        // What the operation at hand reads from or overwrites. The reads of one range read happen at once.
        let mut at_once: Vec<Txn> = Vec::new();
        for (op, missed) in missed {
            if !op.continues {
                at_once.drain(..).for_each(|writer| before.walk(writer, &counts, &mut seen));
            }
            refuse_seen(sources, op, &missed, &seen)?;
            if let Some(Node::Txn(writer)) = sources.of(op.id) {
                at_once.push(writer);
            }
            if op.last_write {
                at_once.extend(last[op.key.index()].replace(txn));
            }
        }
    }
    Ok(())
}

fn refuse_seen(
    sources: &Sources<'_, '_>,
    read: OpView,
    missed: &[Txn],
    seen: &FxHashSet<Txn>,
) -> Result<(), Refutation> {
    match missed.iter().find(|txn| seen.contains(txn)) {
        None => Ok(()),
        Some(&txn) => Err(Refutation::new(format!(
            "{} misses a write of {}, on which its transaction depends",
            sources.facts.text(read.id),
            sources.facts.name(txn)
        ))),
    }
}

/// Update serializability; see the module.
pub(super) fn check_updates(sources: &Sources<'_, '_>) -> Result<(), Refutation> {
    let history = sources.facts.history;
    let mut before = Before::new(sources);
    before.add_missed(sources);
    let Some(places) = before.places(sources.order.txns) else {
        return Err(Refutation::new("the transactions that write have no serial order with these versions"));
    };
    let place = |txn: &Txn| places[txn.index()];
    for &txn in sources.order.txns.iter().filter(|&&txn| !writes(sources, txn)) {
        sources.facts.go_on()?;
        let missed: Vec<(OpView, Vec<Txn>)> =
            history.ops_of(txn).map(|op| (op, missed(sources, txn, op))).collect();
        let Some(first) = missed.iter().flat_map(|(_, missed)| missed).map(place).min() else { continue };
        let mut seen = FxHashSet::default();
        for &writer in &before.0[txn.index()] {
            before.walk(writer, &|txn| place(&txn) >= first, &mut seen);
        }
        missed.iter().try_for_each(|(read, missed)| refuse_seen(sources, *read, missed, &seen))?;
    }
    Ok(())
}

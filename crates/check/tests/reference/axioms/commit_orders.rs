//! The axioms of levels that ask for a commit order.
//!
//! docs/levels.md, Commit orders: `co` contains `so` and `wr`, and for all `t1 != t2` that write `x` and `t3` that reads `x` from `t1`:
//! PHI(t2, t3) implies co(t2, t1).
//!
//! Adya's levels (Dependency graphs): version orders whose union with `wr` has no cycle exist exactly if a total order contains them, and
//! the order gives them. So these levels also ask for a total order, one that need not contain `so`, and the `rw` of PL-2.99 is the axiom
//! of serializable. Parallel snapshot isolation is irreflexive((so | wr | ww)+ ; rw?) with the `ww` of a total order, that is
//! PHI(t2, t3) = (so | wr | ww)+(t2, t3). Update atomic is in the words of Visibility and arbitration: `so`, `wr` and every earlier
//! writer of a key are visible. Strict levels: `co` contains `rt`, and `rt` is among what a snapshot holds.
//!
//! A read of a key in a range is a read like any other, except that PL-2.99 lets ranges change.
//!
//! Limits: those of `world.rs`. A world with a read that no present transaction explains satisfies none of these levels.

use isoscope_history::{Op, Txn};
use isoscope_levels::Level;

use super::Explanation;
use super::reads::Read;
use super::world::{Co, Rules, World, bit};

impl Rules {
    /// What a level asks for that has a commit order.
    pub(super) fn of(level: Level) -> Option<Rules> {
        match level {
            Level::CutIsolation | Level::AdyaPl1 | Level::StrongSessionPl1 | Level::StrongPl1 => None,
            Level::AdyaPl2
            | Level::AdyaPl299
            | Level::AdyaPl3
            | Level::AdyaPlSi
            | Level::ConsistentView
            | Level::CursorStability
            | Level::MonotonicAtomicView
            | Level::MonotonicView
            | Level::UpdateSerializable => Some(Rules::Dependencies),
            Level::StrongPl2 | Level::StrictSnapshot | Level::StrictSerializable => Some(Rules::RealTime),
            _ => Some(Rules::Sessions),
        }
    }
}

/// Levels at which an order says from whom every read is, because a transaction sees all before it.
pub(crate) fn sees_all_before(level: Level) -> bool {
    matches!(level, Level::AdyaPl299 | Level::AdyaPl3 | Level::Serializable | Level::StrictSerializable)
}

/// Levels at which a transaction sees a beginning of the order.
pub(crate) fn sees_snapshot(level: Level) -> bool {
    matches!(level, Level::Prefix | Level::AdyaPlSi | Level::Snapshot | Level::StrictSnapshot)
}

impl World<'_> {
    /// Whether an order that respects the level's rules, and makes the lists, satisfies the level's axiom.
    pub(super) fn satisfies(&self, level: Level, co: &Co) -> bool {
        let each = |holds: &dyn Fn(usize) -> bool| (1..self.reads.len()).all(holds);
        match level {
            _ if self.broken => false,
            Level::AdyaPl2 | Level::StrongSessionPl2 | Level::StrongPl2 => true,
            Level::ReadCommitted => each(&|t3| self.is_read_committed(co, t3)),
            Level::CursorStability => each(&|t| !self.has_g_cursor(co, t)),
            Level::MonotonicAtomicView => each(&|t| !self.has_otv(co, t)),
            Level::MonotonicView => each(&|t| !self.has_g_monotonic(co, t)),
            Level::UpdateSerializable => each(&|t| !self.has_g_update(co, t)),
            Level::AdyaPl299 => {
                (1..self.reads.len()).all(|t3| self.satisfies_on_items(co, t3, self.phi(level, co, t3)))
            }
            _ => (1..self.reads.len()).all(|t3| self.satisfies_axiom(co, t3, self.phi(level, co, t3))),
        }
    }

    /// The set of all `t2` with PHI(t2, t3).
    pub(super) fn phi(&self, level: Level, co: &Co, t3: usize) -> u32 {
        match level {
            Level::ReadAtomic => self.direct[t3],
            Level::Causal => self.causal[t3],
            Level::Prefix => co.up_to(self.direct[t3]),
            Level::ParallelSnapshot => self.before_by(co, t3, &|s| self.direct[s]),
            Level::ConsistentView => self.before_by(co, t3, &|s| self.wr[s]),
            Level::UpdateAtomic => self.direct[t3] | self.conflicting(t3) & co.before[t3],
            Level::AdyaPlSi => co.up_to(bit(0) | self.wr[t3] | self.conflicting(t3) & co.before[t3]),
            Level::Snapshot => co.up_to(self.direct[t3] | self.conflicting(t3) & co.before[t3]),
            Level::StrictSnapshot => {
                co.up_to(self.direct[t3] | self.rt[t3] | self.conflicting(t3) & co.before[t3])
            }
            Level::Serializable | Level::StrictSerializable | Level::AdyaPl299 | Level::AdyaPl3 => {
                co.before[t3]
            }
            _ => panic!("{level} has no axiom here"),
        }
    }

    /// Of every read of `t3`, of `x` from `t1`: all `t2 != t1` that write `x`, and of which PHI(t2, t3) holds, are
    /// before `t1`.
    pub(super) fn satisfies_axiom(&self, co: &Co, t3: usize, phi: u32) -> bool {
        self.reads[t3].iter().all(|read| self.is_newest(co, read, phi))
    }

    /// The same, but for reads in ranges.
    pub(super) fn satisfies_on_items(&self, co: &Co, t3: usize, phi: u32) -> bool {
        let in_range = |read: &&Read| self.history.op(read.op).in_range;
        self.reads[t3].iter().filter(|read| !in_range(read)).all(|read| self.is_newest(co, read, phi))
    }

    pub(super) fn is_newest(&self, co: &Co, read: &Read, phi: u32) -> bool {
        let t1 = read.from;
        phi & self.writers[read.key.index()] & !bit(t1) & !co.before[t1] == 0
    }

    /// The axiom of read committed: PHI is about each read, `t3` reads from `t2` before it.
    pub(super) fn is_read_committed(&self, co: &Co, t3: usize) -> bool {
        let reads = &self.reads[t3];
        (0..reads.len()).all(|place| {
            let earlier = self.before(reads, place).fold(0, |set, earlier| set | bit(earlier.from));
            self.is_newest(co, &reads[place], earlier)
        })
    }

    /// The reads of a transaction that come before one of them. The reads of one range read happen at once.
    pub(super) fn before<'r>(&self, reads: &'r [Read], place: usize) -> impl Iterator<Item = &'r Read> {
        let mut start = reads[place].op;
        while self.history.op(start).continues {
            start = Op::at(start.index() - 1);
        }
        reads.iter().filter(move |earlier| earlier.op < start)
    }

    /// Those that write a key which `t` writes.
    pub(super) fn conflicting(&self, t: usize) -> u32 {
        (0..self.reads.len()).filter(|&s| self.writes[t] & self.writes[s] != 0).fold(0, |set, s| set | bit(s))
    }

    /// Those from which a path of some relation inside `co` and of `ww` leads to `t`, where `ww` is the order `co` of
    /// two that write one key.
    pub(super) fn before_by(&self, co: &Co, t: usize, relation: &dyn Fn(usize) -> u32) -> u32 {
        let mut found = bit(t);
        let mut before = 0;
        // Both are inside `co`, so going back along it finds everything once.
        for &s in co.order.iter().rev().filter(|&&s| s == t || co.before[t] & bit(s) != 0) {
            if found & bit(s) != 0 {
                before |= relation(s) | self.conflicting(s) & co.before[s];
                found |= before;
            }
        }
        before
    }

    pub(super) fn explain(&self, level: Level, co: &Co) -> Explanation {
        let order: Vec<Txn> = co.order[1..].iter().map(|&t| self.txns[t - 1]).collect();
        let sees_snapshot = sees_snapshot(level);
        // The initial transaction is in every snapshot and is not counted.
        let held = |&t: &usize| self.phi(level, co, t).count_ones() - 1;
        let snapshots = sees_snapshot.then(|| co.order[1..].iter().map(held).collect());
        let sources = if sees_snapshot || sees_all_before(level) { Vec::new() } else { self.sources() };
        Explanation { order, snapshots, sources }
    }
}

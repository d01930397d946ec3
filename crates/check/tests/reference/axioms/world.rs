//! Worlds: a history of which nothing is left open, and the total orders of its transactions.
//!
//! A world says which transactions are present and from which of several possible writers each read is. All worlds and all orders are
//! tried. An order is dropped early only where it breaks `so`, `wr` or `rt`.
//!
//! Lists (docs/levels.md): the version that `t1` makes of a list is all appends by transactions up to `t1` in `co`, and a read of that
//! version returns exactly this. A read after appends of its own transaction returns the version that these make: all appends before
//! its transaction in `co`, followed by its own so far.
//!
//! Number 0 is the initial transaction; sets of transactions are bit masks.
//!
//! Limits: up to 31 transactions and 64 keys; in practice seven transactions, because all orders are tried.

use isoscope_history::{History, Key, Op, Txn};

use super::clock::is_before_in_real_time;
use super::presence::{live, presences};
use super::reads::{Read, is_write_of, own_before, possible_reads, reads_of};

/// A history of which nothing is left open.
pub(super) struct World<'h> {
    pub(super) history: &'h History,
    /// The present transactions; the one numbered `t` is `txns[t - 1]`.
    pub(super) txns: Vec<Txn>,
    /// For each number, its reads from others in program order.
    pub(super) reads: Vec<Vec<Read>>,
    /// For each number, the keys it writes; and for each key, those that write it.
    pub(super) writes: Vec<u64>,
    pub(super) writers: Vec<u32>,
    /// For each number, those before it by `so`, `rt`, `wr`, by `so | wr`, and by `(so | wr)+`.
    pub(super) so: Vec<u32>,
    pub(super) rt: Vec<u32>,
    pub(super) wr: Vec<u32>,
    pub(super) direct: Vec<u32>,
    pub(super) causal: Vec<u32>,
    /// A read is wrong in every order: nothing but cut isolation and PL-1 can hold.
    pub(super) broken: bool,
}

/// A total order, and for each transaction those before it.
pub(super) struct Co {
    pub(super) order: Vec<usize>,
    pub(super) before: Vec<u32>,
}

impl Co {
    /// All of a set, and all that are before one of them.
    pub(super) fn up_to(&self, set: u32) -> u32 {
        self.order.iter().filter(|&&t| set & bit(t) != 0).fold(set, |all, &t| all | self.before[t])
    }
}

/// What an order must contain from the start.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    /// `wr`.
    Dependencies,
    /// `so` and `wr`.
    Sessions,
    /// `so`, `wr` and `rt`.
    RealTime,
}

pub(super) fn bit(t: usize) -> u32 {
    1 << t
}

impl<'h> World<'h> {
    /// All worlds of a history.
    pub(super) fn all(history: &'h History) -> Vec<World<'h>> {
        let mut worlds = Vec::new();
        for txns in presences(history) {
            World::with_present(history, &txns, &mut worlds);
        }
        worlds
    }

    /// All worlds with the given transactions: every choice of writers.
    pub(super) fn with_present(history: &'h History, txns: &[Txn], worlds: &mut Vec<World<'h>>) {
        let n = txns.len() + 1;
        let mut so = vec![0; n];
        let mut rt = vec![0; n];
        let mut writes = vec![u64::MAX; n];
        for (i, &txn) in txns.iter().enumerate() {
            let earlier = |&(_, &other): &(usize, &Txn)| {
                other < txn && history.session_of(other) == history.session_of(txn)
            };
            so[i + 1] = txns.iter().enumerate().filter(earlier).fold(1, |set, (j, _)| set | bit(j + 1));
            let returned = |&(_, &other): &(usize, &Txn)| is_before_in_real_time(history, other, txn);
            rt[i + 1] = txns.iter().enumerate().filter(returned).fold(1, |set, (j, _)| set | bit(j + 1));
            writes[i + 1] =
                history.ops_of(txn).filter(|op| op.kind.is_write()).fold(0, |set, op| set | 1 << op.key.0);
        }
        let writers_of =
            |key: Key| (0..n).filter(|&t| writes[t] & 1 << key.0 != 0).fold(0, |set, t| set | bit(t));
        let writers: Vec<u32> = history.keys().map(writers_of).collect();
        let mut broken = false;
        let mut choices = vec![vec![Vec::new(); n]];
        for (i, &txn) in txns.iter().enumerate() {
            for op in reads_of(history, txn) {
                let Some(possible) = possible_reads(history, txns, txn, op) else { continue };
                broken |= possible.is_empty();
                if !possible.is_empty() {
                    choices = choices
                        .iter()
                        .flat_map(|so_far| possible.iter().map(move |read| (so_far, read)))
                        .map(|(so_far, read)| {
                            let mut reads = so_far.clone();
                            reads[i + 1].push(read.clone());
                            reads
                        })
                        .collect();
                }
            }
        }
        for reads in choices {
            let (txns, writes, writers) = (txns.to_vec(), writes.clone(), writers.clone());
            let (so, rt) = (so.clone(), rt.clone());
            let (wr, direct, causal) = (Vec::new(), Vec::new(), Vec::new());
            let mut world =
                World { history, txns, reads, writes, writers, so, rt, wr, direct, causal, broken };
            world.relate();
            worlds.push(world);
        }
    }

    pub(super) fn relate(&mut self) {
        let n = self.reads.len();
        let from = |t: usize| self.reads[t].iter().fold(0, |set, read| set | bit(read.from));
        self.wr = (0..n).map(from).collect();
        self.direct = (0..n).map(|t| self.so[t] | self.wr[t]).collect();
        self.causal.clone_from(&self.direct);
        for k in 0..n {
            for t in 0..n {
                if self.causal[t] & bit(k) != 0 {
                    self.causal[t] |= self.causal[k];
                }
            }
        }
    }

    /// The transaction of that number; none is the initial one.
    pub(super) fn txn(&self, t: usize) -> Option<Txn> {
        t.checked_sub(1).map(|i| self.txns[i])
    }

    /// Calls `visit` with every total order that respects the rules, until it says no.
    pub(super) fn for_each_order(&self, rules: Rules, visit: &mut dyn FnMut(&Co) -> bool) {
        let needed: Vec<u32> = (0..self.reads.len())
            .map(|t| match rules {
                Rules::Dependencies => self.wr[t],
                Rules::Sessions => self.direct[t],
                Rules::RealTime => self.direct[t] | self.rt[t],
            })
            .collect();
        extend(&needed, &mut Co { order: vec![0], before: vec![0; self.reads.len()] }, bit(0), visit);
    }

    /// Every list is what its version in this order is. After appends of its own transaction, that is the version its
    /// transaction found when it appended.
    pub(super) fn makes_the_lists(&self, co: &Co) -> bool {
        let appends = |t: usize, key: Key| {
            let ops = self.txn(t).into_iter().flat_map(|txn| self.history.ops_of(txn));
            ops.filter(move |op| is_write_of(op, key)).map(|op| op.value)
        };
        self.reads.iter().enumerate().flat_map(|(t3, reads)| reads.iter().map(move |read| (t3, read))).all(
            |(t3, read)| {
                let Some(list) = &read.list else { return true };
                let own = !own_before(self.history, self.txns[t3 - 1], self.history.op(read.op)).is_empty();
                let seen = if own { co.before[t3] } else { co.before[read.from] | bit(read.from) };
                let mut version = self.history.table().elements(self.history.initial(read.key)).to_vec();
                let in_order = || co.order.iter().filter(|&&t| seen & bit(t) != 0);
                version.extend(in_order().flat_map(|&t| appends(t, read.key)));
                let last = in_order().rfind(|&&t| self.writers[read.key.index()] & bit(t) != 0);
                *list == version && last == Some(&read.from)
            },
        )
    }

    /// Where the reads are from that could be from several.
    pub(super) fn sources(&self) -> Vec<(Op, Option<Txn>)> {
        let open = self.reads.iter().flatten().filter(|read| self.is_open(read.op));
        let mut sources: Vec<_> = open.map(|read| (read.op, self.txn(read.from))).collect();
        sources.sort_unstable_by_key(|&(op, _)| op);
        sources
    }

    /// Whether a read could be from several of those who may have committed.
    pub(super) fn is_open(&self, read: Op) -> bool {
        let (history, live) = (self.history, live(self.history));
        possible_reads(history, &live, history.txn_of(read), history.op(read))
            .is_some_and(|all| all.len() > 1)
    }
}

/// Extends an order in all ways in which each transaction comes after those that it needs; stops when `visit` of a
/// full one says no.
fn extend(needed: &[u32], co: &mut Co, placed: u32, visit: &mut dyn FnMut(&Co) -> bool) -> bool {
    if co.order.len() == needed.len() {
        return visit(co);
    }
    (1..needed.len()).filter(|&t| placed & bit(t) == 0).all(|t| {
        if needed[t] & !placed != 0 {
            return true;
        }
        co.order.push(t);
        co.before[t] = placed;
        let go_on = extend(needed, co, placed | bit(t), visit);
        co.order.pop();
        go_on
    })
}

/// How many worlds there are to try.
pub(crate) fn world_count(history: &History) -> usize {
    let choices = |txns: &[Txn]| -> usize {
        let reads = txns.iter().flat_map(|&txn| reads_of(history, txn).map(move |read| (txn, read)));
        reads
            .filter_map(|(txn, read)| possible_reads(history, txns, txn, read))
            .fold(1, |product, possible| product.saturating_mul(possible.len().max(1)))
    };
    presences(history).fold(0, |sum: usize, txns| sum.saturating_add(choices(&txns)))
}

//! Levels that forbid a phenomenon, each in its author's own words, with the `ww` of a total order and the `rw` that follows from it.
//!
//! docs/finer-levels.md: cursor stability (G-cursor), monotonic atomic view (OTV), monotonic view (G-monotonic, with the operations of
//! one transaction as nodes), update serializability (G-update, one graph a transaction).
//!
//! Limits: those of `world.rs`. Histories record no cursors, so every read of a single key counts as one; a range read does not.

use isoscope_history::{Op, OpView};

use super::reads::Read;
use super::world::{Co, World, bit};

impl World<'_> {
    /// Those that overwrite what a read returned, other than the reader.
    pub(super) fn overwriting(&self, co: &Co, reader: usize, read: &Read) -> Vec<usize> {
        let later = |&t: &usize| co.before[t] & bit(read.from) != 0 && t != reader;
        (1..self.reads.len())
            .filter(later)
            .filter(|&t| self.writers[read.key.index()] & bit(t) != 0)
            .collect()
    }

    /// G-cursor(x), with `t` the reader: `t` overwrites, on x, a transaction that overwrote what `t` read of x.
    pub(super) fn has_g_cursor(&self, co: &Co, t: usize) -> bool {
        self.reads[t].iter().filter(|read| !self.history.op(read.op).in_range).any(|read| {
            self.writers[read.key.index()] & bit(t) != 0
                && self.overwriting(co, t, read).iter().any(|&other| co.before[t] & bit(other) != 0)
        })
    }

    /// OTV: `t` reads from `s`, and later reads what `s` had overwritten.
    pub(super) fn has_otv(&self, co: &Co, t: usize) -> bool {
        let reads = &self.reads[t];
        (0..reads.len()).any(|later| {
            let missed = self.overwriting(co, t, &reads[later]);
            self.before(reads, later).any(|earlier| missed.contains(&earlier.from))
        })
    }

    /// G-monotonic for `t`: a graph whose nodes are the other transactions and the operations of `t`, with edges of
    /// `wr`, `ww` and program order, in which one `rw` from a read of `t` closes a cycle.
    pub(super) fn has_g_monotonic(&self, co: &Co, t: usize) -> bool {
        let n = self.reads.len();
        let ops: Vec<OpView> = self.history.ops_of(self.txns[t - 1]).collect();
        let node = |op: Op| n + ops.iter().position(|other| other.id == op).expect("an operation of it");
        // The reads of one range read happen at once: no edge leads from one to another.
        let same = |i: usize, j: usize| ops[i + 1..=j].iter().all(|op| op.continues);
        let mut edges: Vec<(usize, usize)> = (0..ops.len())
            .flat_map(|j| (0..j).filter(move |&i| !same(i, j)).map(move |i| (n + i, n + j)))
            .collect();
        let others = || (1..n).filter(|&s| s != t);
        for s in others() {
            edges.extend(self.reads[s].iter().filter(|read| read.from != t).map(|read| (read.from, s)));
            edges.extend(
                others().filter(|&r| self.conflicting(s) & co.before[s] & bit(r) != 0).map(|r| (r, s)),
            );
        }
        edges.extend(self.reads[t].iter().map(|read| (read.from, node(read.op))));
        // The version that `t` makes of a key is that of its last write.
        for (i, op) in ops.iter().enumerate().filter(|(_, op)| op.kind.is_write() && op.last_write) {
            let writer = |&s: &usize| self.writers[op.key.index()] & bit(s) != 0;
            for s in others().filter(writer) {
                edges.push(if co.before[t] & bit(s) != 0 { (s, n + i) } else { (n + i, s) });
            }
        }
        self.reads[t].iter().any(|read| {
            let missed = self.overwriting(co, t, read);
            missed.iter().any(|&other| leads(&edges, other, node(read.op)))
        })
    }

    /// G-update for `t`: a cycle of `wr`, `ww` and `rw` over `t` and all who write.
    pub(super) fn has_g_update(&self, co: &Co, t: usize) -> bool {
        let counts = |s: &usize| *s == t || self.writes[*s] != 0;
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for s in (1..self.reads.len()).filter(counts) {
            edges.extend(self.reads[s].iter().filter(|read| counts(&read.from)).map(|read| (read.from, s)));
            let over = self.conflicting(s) & co.before[s];
            edges.extend((1..self.reads.len()).filter(|&r| over & bit(r) != 0).map(|r| (r, s)));
            for read in &self.reads[s] {
                edges.extend(self.overwriting(co, s, read).into_iter().map(|other| (s, other)));
            }
        }
        (1..self.reads.len()).any(|s| edges.iter().any(|&(from, to)| from == s && leads(&edges, to, s)))
    }
}

/// Whether some edges lead from one node to another, or the two are one.
fn leads(edges: &[(usize, usize)], from: usize, to: usize) -> bool {
    let mut met = vec![from];
    let mut next = 0;
    while next < met.len() {
        let node = met[next];
        for &(_, after) in edges.iter().filter(|edge| edge.0 == node) {
            if !met.contains(&after) {
                met.push(after);
            }
        }
        next += 1;
    }
    met.contains(&to)
}

//! A commit order by guessing: the sessions run side by side, each transaction as soon as everything that it depends on has run.
//!
//! This is a topological order of `so`, `wr` and the forced edges found so far, without building that graph: sessions are
//! chains already, and the links of a transaction hold what it reads from. A session whose next transaction lacks a predecessor
//! waits for it, and is woken by it. If all sessions wait, there is a cycle. Every link is visited once, in storage order.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use isoscope_history::{History, Session, Txn};
use isoscope_order::Graph;

use crate::resolve::Resolved;

/// A commit order.
pub(crate) struct Schedule {
    pub(crate) order: Vec<u32>,
    /// The place of each transaction in the order; [`UNPLACED`] for absent ones.
    pub(crate) place: Vec<u32>,
}

/// The place of a transaction that is not in an order.
pub(crate) const UNPLACED: u32 = u32::MAX;
const NO_SESSION: u32 = u32::MAX;

/// Sessions whose next transactions are brought into the cache together.
const BATCH: usize = 16;
/// Transactions of a part of the order, about.
const PART: usize = 1 << 10;

/// Runs the sessions. `forced` has the edges beyond `so` and `wr`, reversed: from a transaction to those that
/// must come before it. `None` when these relations have a cycle. `follow` gets every part of the order, one after the
/// other, and may break it off; there is no order then.
pub(crate) fn schedule(
    history: &History,
    resolved: &Resolved,
    forced: &Graph,
    mut follow: impl FnMut(&[u32]) -> ControlFlow<()>,
) -> Option<Schedule> {
    let mut run = Run {
        history,
        resolved,
        forced,
        sessions: history.sessions().map(|session| Progress::start(history, session)).collect(),
        waiting_for: vec![NO_SESSION; history.txn_count()],
        order: Vec::with_capacity(history.txn_count()),
        place: vec![UNPLACED; history.txn_count() + 1],
    };
    run.place[history.txn_count()] = 0;
    let mut ready: VecDeque<u32> = (0..history.session_count() as u32).collect();
    let mut batch = Vec::with_capacity(BATCH);
    let mut handed_over = 0;
    while !ready.is_empty() {
        batch.extend(ready.drain(..ready.len().min(BATCH)));
        for &session in &batch {
            run.touch(session);
        }
        for session in batch.drain(..) {
            run.advance(session, &mut ready);
        }
        if run.order.len() - handed_over >= PART || ready.is_empty() {
            if follow(&run.order[handed_over..]).is_break() {
                return None;
            }
            handed_over = run.order.len();
        }
    }
    let expected = resolved.present.iter().filter(|&&present| present).count();
    let Run { order, mut place, .. } = run;
    place.truncate(history.txn_count());
    (order.len() == expected).then_some(Schedule { order, place })
}

/// How far a session is.
struct Progress {
    next: u32,
    end: u32,
    /// The operation whose link is to be looked at next, if it is one of the next transaction's.
    op: usize,
    /// The forced predecessor of the next transaction to be looked at next.
    forced: usize,
    /// The session that waits for the same transaction as this one.
    fellow: u32,
}

impl Progress {
    fn start(history: &History, session: Session) -> Progress {
        let txns = history.txn_range(session);
        Progress { next: txns.start, end: txns.end, op: 0, forced: 0, fellow: NO_SESSION }
    }
}

struct Run<'a> {
    history: &'a History,
    resolved: &'a Resolved,
    forced: &'a Graph,
    sessions: Vec<Progress>,
    /// For each transaction, one session that waits for it.
    waiting_for: Vec<u32>,
    order: Vec<u32>,
    /// As in a [`Schedule`], and one more row, which counts as placed, for links that lead to no transaction.
    place: Vec<u32>,
}

impl Run<'_> {
    /// Brings the next transaction of a session into the cache. Sessions take turns, so each finds what it needs
    /// gone from the cache: asking for several at once lets the misses overlap.
    fn touch(&self, session: u32) {
        let progress = &self.sessions[session as usize];
        if progress.next < progress.end {
            let ops = self.history.op_range(Txn(progress.next));
            for op in (ops.start.max(progress.op)..ops.end).step_by(16).take(4) {
                std::hint::black_box(self.resolved.links[op]);
            }
        }
    }

    /// Lets a session run its next transaction, or wait.
    fn advance(&mut self, session: u32, ready: &mut VecDeque<u32>) {
        let progress = &mut self.sessions[session as usize];
        while progress.next < progress.end && !self.resolved.present[progress.next as usize] {
            progress.next += 1;
        }
        if progress.next == progress.end {
            return;
        }
        let txn = Txn(progress.next);
        progress.op = progress.op.max(self.history.op_range(txn).start);
        if let Some(missing) = self.missing(session, txn) {
            self.sessions[session as usize].fellow = self.waiting_for[missing.index()];
            self.waiting_for[missing.index()] = session;
            return;
        }
        self.place[txn.index()] = self.order.len() as u32;
        self.order.push(txn.0);
        let progress = &mut self.sessions[session as usize];
        (progress.next, progress.op, progress.forced) = (txn.0 + 1, 0, 0);
        ready.push_back(session);
        let mut waiting = std::mem::replace(&mut self.waiting_for[txn.index()], NO_SESSION);
        while waiting != NO_SESSION {
            ready.push_back(waiting);
            waiting = std::mem::replace(&mut self.sessions[waiting as usize].fellow, NO_SESSION);
        }
    }

    /// A predecessor of the next transaction of a session that has not run.
    fn missing(&mut self, session: u32, txn: Txn) -> Option<Txn> {
        let progress = &mut self.sessions[session as usize];
        let links = &self.resolved.links[progress.op..self.history.op_range(txn).end];
        let place = &self.place;
        let none = place.len() - 1;
        if let Some(missing) = links.iter().position(|link| place[link.index_or(none)] == UNPLACED) {
            progress.op += missing;
            return links[missing].txn();
        }
        progress.op += links.len();
        if self.forced.is_empty() {
            return None;
        }
        let forced = &self.forced.successors(txn.0)[progress.forced..];
        let missing = forced.iter().position(|&before| self.place[before as usize] == UNPLACED);
        progress.forced += missing.unwrap_or(0);
        missing.map(|i| Txn(forced[i]))
    }
}

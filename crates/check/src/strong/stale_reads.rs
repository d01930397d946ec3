//! Stale reads: a transaction reads a version that was overwritten by one that had returned before it began.
//!
//! They need no search. That a version was overwritten is known from the tree of versions (`facts.rs`), and from real time: a
//! transaction that was invoked after the writer had returned wrote later. Of all transactions that certainly overwrote a
//! version, the report shows the one that returned first: it determines the age of the read.
//!
//! Cost: a sort of the writers of every key.

use std::cmp::Reverse;

use isoscope_history::{History, OpKind, Txn};

use super::events::{Clocked, is_certain};
use super::facts::{Facts, is_known, slot_of};
use super::problem::Problem;
use super::sources::Source;
use crate::certificate::{Edge, Limit, Node, Why};
use crate::watch::{Turnstile, Watch};

/// A stale read as a cycle of two steps.
pub(super) struct StaleRead {
    pub(super) cycle: Vec<Edge>,
    pub(super) reader: u32,
    /// The transaction that overwrote what it read.
    pub(super) by: u32,
}

/// When a transaction returned, and the transaction.
type Return = (i64, u32);

const NEVER: Return = (i64::MAX, u32::MAX);

/// Finds all of them, one for each read, the oldest first.
pub(super) fn find(facts: &Facts<'_>, watch: &dyn Watch) -> Result<Vec<StaleRead>, Limit> {
    let (problem, rules) = (facts.problem, facts.events.rules);
    if !rules.real_time {
        return Ok(Vec::new());
    }
    let turnstile = Turnstile::new(watch);
    let clock = rules.clock(problem.history);
    let below = Below::new(facts, &clock, &turnstile)?;
    let later = Later::new(problem, &clock, &turnstile)?;
    let mut found = Vec::new();
    for (i, read) in problem.reads.iter().enumerate().filter(|(i, _)| is_known(problem, *i as u32)) {
        turnstile.pass()?;
        let Some(start) = clock.start(Txn(read.txn)) else { continue };
        let Some(version) = slot_of(problem, read.key, read.source) else { continue };
        // Lists show the order of versions themselves.
        let is_list = problem.history.op(read.op).kind == OpKind::ReadList;
        let timed = if is_list { NEVER } else { later.first(problem, &clock, read.key.index(), read.source) };
        let (end, by) = below.0[version as usize].min(timed);
        if end >= start || by == read.txn || is_list && !problem.lacks(read.op, by) {
            continue;
        }
        let (reader, writer) = (Node::Txn(Txn(read.txn)), Node::Txn(Txn(by)));
        let cycle = vec![
            Edge { from: writer, to: reader, why: Why::RealTime },
            Edge { from: reader, to: writer, why: Why::Misses { read: problem.reads[i].op } },
        ];
        found.push((start.saturating_sub(end), StaleRead { cycle, reader: read.txn, by }));
    }
    // The oldest first.
    found.sort_by_key(|&(age, _)| Reverse(age));
    Ok(found.into_iter().map(|(_, stale)| stale).collect())
}

/// When a transaction that is known to have taken effect by then returned.
fn returned(problem: &Problem<'_>, clock: &Clocked<'_>, txn: u32) -> Return {
    let certain = is_certain(problem.history, problem.resolved, Txn(txn));
    let end = if certain { clock.end(Txn(txn)) } else { None };
    end.map_or(NEVER, |end| (end, txn))
}

/// For each version, the first to return of the transactions that certainly overwrote it.
struct Below(Vec<Return>);

impl Below {
    fn new(facts: &Facts<'_>, clock: &Clocked<'_>, turnstile: &Turnstile<'_>) -> Result<Below, Limit> {
        let versions = &facts.versions;
        let count = versions.parent.len();
        // Parents are before their children in this order.
        let mut order: Vec<u32> = (facts.problem.history.writer_count() as u32..count as u32).collect();
        let mut next = 0;
        while let Some(&version) = order.get(next) {
            turnstile.pass()?;
            order.extend(versions.children.successors(version));
            next += 1;
        }
        let mut first = vec![NEVER; count];
        for &version in order.iter().rev() {
            turnstile.pass()?;
            let (writer, parent) = (versions.writer[version as usize], versions.parent[version as usize]);
            if let Some(&above) = first.get(parent as usize) {
                let own = writer.txn().map_or(NEVER, |txn| returned(facts.problem, clock, txn));
                first[parent as usize] = above.min(own).min(first[version as usize]);
            }
        }
        Ok(Below(first))
    }
}

/// Of each key, its writers by when they were invoked, each with the one that returned first of it and those after it.
struct Later(Vec<Vec<(i64, Return)>>);

impl Later {
    fn new(problem: &Problem<'_>, clock: &Clocked<'_>, turnstile: &Turnstile<'_>) -> Result<Later, Limit> {
        let history: &History = problem.history;
        let of_key = |key| {
            let mut writers: Vec<(i64, Return)> = Vec::new();
            for &txn in history.writers(key).iter().filter(|txn| problem.is_present(txn.0)) {
                turnstile.pass()?;
                writers.extend(clock.start(txn).map(|start| (start, returned(problem, clock, txn.0))));
            }
            writers.sort_unstable();
            let mut first = NEVER;
            for (_, end) in writers.iter_mut().rev() {
                first = first.min(*end);
                *end = first;
            }
            Ok(writers)
        };
        Ok(Later(history.keys().map(of_key).collect::<Result<_, _>>()?))
    }

    /// The first to return of the transactions that were invoked after a writer had returned.
    fn first(&self, problem: &Problem<'_>, clock: &Clocked<'_>, key: usize, source: Source) -> Return {
        let Some(source) = source.txn() else { return NEVER };
        let (end, _) = returned(problem, clock, source);
        let after = self.0[key].partition_point(|&(start, _)| start <= end);
        self.0[key].get(after).map_or(NEVER, |&(_, first)| first)
    }
}

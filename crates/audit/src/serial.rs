//! `pg-ser`: dependencies between committed transactions, and cycles of them.
//!
//! If the dependencies of an execution have no cycle, executing the transactions one after another in a topological order gives
//! every statement the same rows (Adya 1999), so this order explains all answers. PostgreSQL promises that there is none.
//!
//! - *from writes what to reads*, and *from writes before to*;
//! - *to overwrites what from reads*: the version after the one that `from` sees, or a row that `from` does not see; only if the
//!   scan could tell the difference: one of both images meets its conditions, and they differ;
//! - the transactions of a session are in their order.

use isoscope_order::{Components, Graph};
use isoscope_sql::{Sarg, Value};
use rustc_hash::FxHashMap;

use crate::model::Model;
use crate::problem::{Event, Reply, StatementId, TxnId};
use crate::replay::Replay;
use crate::store::{INITIAL, Row};

/// Executed points between two looks for cycles.
pub(crate) const STEP: usize = 8_000;

/// Why one transaction must be before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `to` reads what `from` wrote.
    Reads,
    /// `to` writes after `from`, or is the next in its session.
    Follows,
    /// `to` overwrites what `from` reads.
    Overwrites,
}

/// A dependency.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) from: TxnId,
    pub(crate) to: TxnId,
    pub(crate) kind: Kind,
    /// The statements of both; `None` for the order of a session.
    pub(crate) statements: Option<(StatementId, StatementId)>,
}

/// A shortest cycle of dependencies between transactions that committed after a position.
pub(crate) fn cycle(replay: &Replay<'_, '_>, start: usize) -> Option<Vec<Edge>> {
    if replay.problem.model != Model::PgSer {
        return None;
    }
    let mut nodes: FxHashMap<TxnId, u32> = FxHashMap::default();
    let mut txns = Vec::new();
    for point in &replay.executed[start..] {
        let txn = replay.problem.txn_of(point.statement());
        if point.event() == Event::End && replay.states[txn as usize].committed {
            nodes.insert(txn, txns.len() as u32);
            txns.push(txn);
        }
    }
    let mut edges = Vec::new();
    for &txn in &txns {
        dependencies(replay, txn, &mut edges);
    }
    follow_sessions(replay, &nodes, &mut edges);
    edges.retain(|edge| {
        edge.from != edge.to && nodes.contains_key(&edge.from) && nodes.contains_key(&edge.to)
    });
    let pairs: Vec<(u32, u32)> = edges.iter().map(|edge| (nodes[&edge.from], nodes[&edge.to])).collect();
    let graph = Graph::from_edges(txns.len(), &pairs);
    let components = Components::find(&graph);
    let component = |txn: TxnId| components.of[nodes[&txn] as usize];
    let inside: Vec<&Edge> = edges.iter().filter(|edge| component(edge.from) == component(edge.to)).collect();
    shortest(&inside)
}

fn follow_sessions(replay: &Replay<'_, '_>, nodes: &FxHashMap<TxnId, u32>, edges: &mut Vec<Edge>) {
    let mut by_session: FxHashMap<u32, Vec<TxnId>> = FxHashMap::default();
    for &txn in nodes.keys() {
        by_session.entry(replay.problem.txn(txn).session).or_default().push(txn);
    }
    for of_session in by_session.values_mut() {
        of_session.sort_unstable_by_key(|&txn| replay.problem.txn(txn).statements[0]);
        for pair in of_session.windows(2) {
            // A transaction whose outcome was not confirmed may commit later.
            if replay.interval(replay.problem.end_point(pair[0])).1 != u64::MAX {
                edges.push(Edge { from: pair[0], to: pair[1], kind: Kind::Follows, statements: None });
            }
        }
    }
    edges.sort_by_key(|edge| (edge.from, edge.to));
}

/// The dependencies that one transaction's statements show.
fn dependencies(replay: &Replay<'_, '_>, txn: TxnId, edges: &mut Vec<Edge>) {
    let problem = replay.problem;
    for &id in &problem.txn(txn).statements {
        let line = problem.statement(id);
        let is_query = problem.facts(id).is_query;
        // A query whose answer is not known may read any rows.
        let is_free = is_query && (!replay.knows(id) || replay.ignored.contains(&id));
        if !line.kind.is_sql() || is_free || (line.reply != Reply::Success && replay.knows(id)) {
            continue;
        }
        let seen = replay.seen(id).noting();
        let _ = replay.plans.evaluate(line.text, problem.entry(id), is_query, &seen, &seen);
        for (table, sarg) in seen.touched() {
            replay.store.table(table).candidates(&sarg, &mut |_, row| {
                read_row(replay, txn, id, seen.position(), row, &sarg, edges);
                true
            });
        }
    }
    for &(id, table, row) in &replay.states[txn as usize].writes {
        let Some(row) = replay.store.row(table, isoscope_sql::RowId(u64::from(row))) else { continue };
        let committed =
            row.versions.iter().filter(|version| version.is_committed() && version.writer != INITIAL);
        let before = committed.take_while(|version| version.writer != txn).last();
        if let Some(before) = before {
            let statements = Some((before.statement, id));
            edges.push(Edge { from: before.writer, to: txn, kind: Kind::Follows, statements });
        }
    }
}

/// The dependencies of a scan that visits a row.
fn read_row(
    replay: &Replay<'_, '_>,
    txn: TxnId,
    id: StatementId,
    at: u32,
    row: &Row,
    sarg: &Sarg,
    edges: &mut Vec<Edge>,
) {
    let _ = replay;
    let mut seen: Option<&[Value]> = None;
    let committed: Vec<_> = row.versions.iter().filter(|version| version.is_committed()).collect();
    for (place, version) in committed.iter().enumerate() {
        // Of several versions of one transaction, others see the last.
        if committed.get(place + 1).is_some_and(|next| next.writer == version.writer) {
            continue;
        }
        let values = version.values.as_deref();
        if version.commit < at {
            seen = values;
            if version.writer != INITIAL && version.writer != txn {
                let statements = Some((version.statement, id));
                edges.push(Edge { from: version.writer, to: txn, kind: Kind::Reads, statements });
            }
            continue;
        }
        if version.writer == txn {
            return;
        }
        let admits = |values: Option<&[Value]>| values.is_some_and(|values| sarg.admits(values));
        if (admits(seen) || admits(values)) && seen != values {
            let statements = Some((id, version.statement));
            edges.push(Edge { from: txn, to: version.writer, kind: Kind::Overwrites, statements });
            return;
        }
    }
}

/// A shortest cycle, by a breadth-first search from each transaction.
fn shortest(edges: &[&Edge]) -> Option<Vec<Edge>> {
    const MOST: usize = 64;
    let mut out: FxHashMap<TxnId, Vec<usize>> = FxHashMap::default();
    for (number, edge) in edges.iter().enumerate() {
        out.entry(edge.from).or_default().push(number);
    }
    let mut starts: Vec<TxnId> = out.keys().copied().collect();
    starts.sort_unstable();
    let mut best: Option<Vec<Edge>> = None;
    for &start in starts.iter().take(MOST) {
        let mut reached: FxHashMap<TxnId, usize> = FxHashMap::default();
        let mut queue = std::collections::VecDeque::from([start]);
        'search: while let Some(txn) = queue.pop_front() {
            for &number in out.get(&txn).map_or(&[][..], Vec::as_slice) {
                let to = edges[number].to;
                if reached.contains_key(&to) {
                    continue;
                }
                reached.insert(to, number);
                if to == start {
                    break 'search;
                }
                queue.push_back(to);
            }
        }
        if !reached.contains_key(&start) {
            continue;
        }
        let mut path = Vec::new();
        let mut at = start;
        loop {
            let edge = edges[reached[&at]];
            path.push(edge.clone());
            at = edge.from;
            if at == start {
                break;
            }
        }
        if best.as_ref().is_none_or(|best| path.len() < best.len()) {
            best = Some(path);
        }
    }
    best
}

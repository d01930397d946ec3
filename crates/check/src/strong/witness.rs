//! What shows that a level holds: from an order of events, from a commit order and chosen sources, or from the witness of a
//! stronger level.

use std::sync::Arc;

use isoscope_history::{History, Key, Op, OpKind, Txn, Value};
use isoscope_levels::Level;
use rustc_hash::FxHashMap;

use super::broken::node;
use super::events::{Events, Rules};
use super::problem::{Problem, Read};
use super::sources::Source;
use crate::certificate::{Node, Witness};
use crate::resolve::Resolved;
use crate::semantics::Semantics;

/// The commit order and the snapshots of an order of events.
pub(super) fn of_events(
    problem: &Problem<'_>,
    events: &Events,
    order: &[u32],
    chosen: impl Fn(u32) -> bool,
) -> Witness {
    let rules = events.rules;
    let history = problem.history;
    let mut commits: Vec<Txn> = Vec::new();
    let mut seen = vec![0u32; history.txn_count()];
    let mut current = vec![Source::INITIAL; history.key_count()];
    let mut sources: Vec<(Op, Node)> = Vec::new();
    for &event in order.iter().filter(|&&event| event < events.first_tick) {
        let txn = rules.txn(event);
        if !(problem.is_present(txn) || problem.is_optional(txn) && chosen(txn)) {
            continue;
        }
        if rules.is_begin(event) {
            seen[txn as usize] = commits.len() as u32;
            if !rules.says_sources() {
                let reads = ambiguous_reads(history, Txn(txn));
                sources.extend(reads.map(|(op, key)| (op, node(current[key.index()]))));
            }
        }
        if !rules.split || !rules.is_begin(event) {
            commits.push(Txn(txn));
            if !rules.says_sources() {
                problem.writes_of(txn).for_each(|(key, _)| current[key.index()] = Source::of(txn));
            }
        }
    }
    let snapshots: Option<Arc<[u32]>> =
        rules.split.then(|| commits.iter().map(|txn| seen[txn.index()]).collect());
    sources.sort_unstable();
    Witness { order: Some(commits.into()), snapshots, sources: sources.into() }
}

/// The external reads of a transaction, some of which may have several possible writers.
fn ambiguous_reads(history: &History, txn: Txn) -> impl Iterator<Item = (Op, Key)> + '_ {
    let reads = history.ops_of(txn).filter(|op| op.kind == OpKind::Read && op.external);
    reads.filter(|op| op.value != Value::UNKNOWN).map(|op| (op.id, op.key))
}

/// A commit order and the sources of all reads.
pub(super) fn of_sources(problem: &Problem<'_>, order: Vec<Txn>, chosen: &[(Op, Source)]) -> Witness {
    let chosen: FxHashMap<Op, Source> = chosen.iter().copied().collect();
    let mut sources: Vec<(Op, Node)> = Vec::new();
    for &txn in &order {
        let reads = &problem.reads[problem.reads_of(txn.0)];
        for (op, key) in ambiguous_reads(problem.history, txn) {
            let value = problem.history.op(op).value;
            let same = |read: &&Read| read.key == key && problem.history.op(read.op).value == value;
            let read = reads.iter().find(|read| read.op == op).or_else(|| reads.iter().find(same));
            if let Some(read) = read {
                let from = if read.source == Source::OPEN {
                    chosen.get(&read.op).copied()
                } else {
                    Some(read.source)
                };
                sources.extend(from.map(|from| (op, node(from))));
            }
        }
    }
    sources.sort_unstable();
    Witness { order: Some(order.into()), snapshots: None, sources: sources.into() }
}

/// Whether a witness of a level names the writers of reads.
pub(crate) fn names_sources(level: Level) -> bool {
    Semantics::of(level).knows_reads && Rules::of(level, false).is_none_or(|rules| !rules.says_sources())
}

/// What a witness of a stronger level says about a weaker one.
pub(crate) fn weaken(history: &History, resolved: &Resolved, witness: &Witness, level: Level) -> Witness {
    let Some(order) = &witness.order else { return Witness::default() };
    let snapshots =
        || -> Arc<[u32]> { witness.snapshots.clone().unwrap_or_else(|| (0..order.len() as u32).collect()) };
    match Rules::of(level, false) {
        Some(rules) if rules.split => {
            Witness { order: Some(order.clone()), snapshots: Some(snapshots()), ..Witness::default() }
        }
        Some(rules) if rules.says_sources() => Witness::order(order.clone()),
        // What is known of ambiguous reads is known of the transactions that certainly took effect.
        _ if resolved.ambiguous.is_none() && order.iter().all(|txn| resolved.present[txn.index()]) => {
            Witness::order(order.clone())
        }
        _ if witness.snapshots.is_none() && !witness.sources.is_empty() => {
            Witness { snapshots: None, ..witness.clone() }
        }
        _ => Witness { snapshots: None, sources: replay(history, order, &snapshots()), ..witness.clone() },
    }
}

/// The sources of all reads, when each transaction reads from a beginning of an order.
fn replay(history: &History, order: &[Txn], snapshots: &[u32]) -> Arc<[(Op, Node)]> {
    let mut begins: Vec<(u32, Txn)> = snapshots.iter().copied().zip(order.iter().copied()).collect();
    begins.sort_unstable();
    let mut begins = begins.into_iter().peekable();
    let mut current = vec![Node::Initial; history.key_count()];
    let mut sources: Vec<(Op, Node)> = Vec::new();
    for (&commit, held) in order.iter().zip(0..) {
        while let Some((_, txn)) = begins.next_if(|&(seen, _)| seen <= held) {
            sources.extend(ambiguous_reads(history, txn).map(|(op, key)| (op, current[key.index()])));
        }
        for op in history.ops_of(commit).filter(|op| op.last_write && op.kind.is_write()) {
            current[op.key.index()] = Node::Txn(commit);
        }
    }
    sources.sort_unstable();
    sources.into()
}

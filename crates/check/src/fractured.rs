//! Two reads of one key by one transaction that are from two others, as a fractured read.
//!
//! Cut isolation forbids that a read is not repeatable, and needs no order. Where other cases of the same violation show something that
//! cut isolation allows, the pair is shown by what levels from read atomic on forbid, too: the reader has seen the writer of one read,
//! which the other read misses. If neither read is of the initial state, either of the two writers was the first.

use isoscope_history::{History, Op, Txn};
use isoscope_levels::{Anomaly, Level};

use crate::certificate::{Case, Choice, Edge, Evidence, Finding, Instance, Node, Proof, Why};
use crate::resolve::{Link, Resolved};
use crate::strong;
use crate::watch::Watch;

/// The same finding, which shows a pair of reads, as a fractured read. None if the writers are not known as far as this needs.
pub(crate) fn of_pair(
    history: &History,
    resolved: &Resolved,
    level: Level,
    finding: &Finding,
    watch: &dyn Watch,
) -> Option<Finding> {
    let Evidence::Pair { first, second } = finding.instances.first()?.evidence else { return None };
    let evidence = evidence(history, resolved, first, second, watch)?;
    // What a range read missed is no fractured read to a level that lets ranges change.
    let on_ranges = evidence.misses(&|read| history.op(read).in_range);
    let anomaly =
        if on_ranges && level.implies(Level::AdyaPl299) { Anomaly::Phantom } else { Anomaly::FracturedRead };
    let instances = vec![Instance { evidence, component: Some(0) }];
    let is_forbidden = level.forbids(anomaly);
    is_forbidden.then(|| Finding { anomaly, count: 1, components: 1, instances, ..finding.clone() })
}

fn evidence(
    history: &History,
    resolved: &Resolved,
    first: Op,
    second: Op,
    watch: &dyn Watch,
) -> Option<Evidence> {
    let link = |read: Op| resolved.links[read.index()];
    let (one, other) = (link(first), link(second));
    if let (Some(one), Some(other)) = (one.txn(), other.txn()) {
        let choice = Choice::Versions { key: history.key_of(first), first: one, second: other };
        // Whichever comes later is missed by the read of the other.
        let later = [(first, other, second), (second, one, first)];
        let cycles = later.map(|(misses, by, seen)| Case::Cycle(cycle(history, misses, by, seen)));
        let split = Case::Split { choice, cases: vec![1, 2] };
        let proof = Proof { cases: std::iter::once(split).chain(cycles).collect() };
        // The proof is named after its last cycle: if one of the reads is of a range, after the one in which that read misses a write.
        let main = usize::from(!history.op(first).in_range);
        return Some(Evidence::Cases(strong::with_last_cycle(proof, main)));
    }
    let (initial, read) = match (one, other) {
        (Link::INITIAL, _) => (first, second),
        (_, Link::INITIAL) => (second, first),
        _ => return None,
    };
    if let Some(writer) = link(read).txn() {
        return Some(Evidence::Cycle(cycle(history, initial, writer, read)));
    }
    let possible = strong::possible_writers(history, resolved, watch).ok()?;
    let (_, writers) = possible.into_iter().find(|&(op, _)| op == read)?;
    let txns: Option<Vec<Txn>> = writers.iter().map(|writer| writer.txn()).collect();
    let cycles = txns?.into_iter().map(|writer| Case::Cycle(cycle(history, initial, writer, read)));
    let cycles: Vec<Case> = cycles.collect();
    let split =
        Case::Split { choice: Choice::Source { read, writers }, cases: (1..=cycles.len() as u32).collect() };
    Some(Evidence::Cases(Proof { cases: std::iter::once(split).chain(cycles).collect() }))
}

/// A reader has seen a transaction by one read, and misses it by another.
fn cycle(history: &History, misses: Op, by: Txn, seen: Op) -> Vec<Edge> {
    let (reader, by) = (Node::Txn(history.txn_of(misses)), Node::Txn(by));
    vec![
        Edge { from: by, to: reader, why: Why::ReadFrom { read: seen } },
        Edge { from: reader, to: by, why: Why::Misses { read: misses } },
    ]
}

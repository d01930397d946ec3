//! PL-1 and PL-2 in an order that agrees with sessions, and perhaps with real time.
//!
//! Nothing is forced at these levels: what is certain, that is sessions, real time, what lists show of versions and, for PL-2,
//! reads with a known writer, has a cycle or it has an order. Versions that no list shows follow the order.

use isoscope_history::{History, Txn};
use isoscope_levels::Level;

use super::events::{Events, Rules};
use super::problem::Problem;
use super::reach::{reversed, topological_order};
use super::refute::Prover;
use super::saturate::{self, Known};
use super::{Answer, Scenario, Violation};
use crate::certificate::{Limit, Witness};
use crate::resolve::Resolved;
use crate::semantics::Semantics;
use crate::watch::Watch;

/// An order of the transactions that took effect, or a cycle for each part of what is certain that has one. Reads with several
/// possible writers are left out; PL-1 knows no reads, and of lists what shows it the order of writes.
pub(crate) fn ordered(
    history: &History,
    resolved: &Resolved,
    level: Level,
    trust_timestamps: bool,
    watch: &dyn Watch,
) -> Answer {
    let rules = Rules::of_order(level, trust_timestamps);
    let Semantics { knows_reads, .. } = Semantics::of(level);
    let of_writes = (!knows_reads).then(|| resolved.of_writes());
    let resolved = of_writes.as_ref().unwrap_or(resolved);
    let problem = match Problem::new(history, resolved, false, watch) {
        Ok(problem) if knows_reads => problem,
        Ok(problem) => problem.without_reads(),
        Err(limit) => return Answer::Stopped(limit),
    };
    let mut edges = Vec::new();
    let events = match Events::new(history, resolved, rules, &mut edges, watch) {
        Ok(events) => events,
        Err(limit) => return Answer::Stopped(limit),
    };
    saturate::given(&problem, &events, &mut edges);
    let Some(order) = topological_order(&reversed(events.nodes as usize, &edges)) else {
        let known = Known::new(edges);
        let prover = Prover::new(&problem, &events, &known, watch);
        let proofs = prover.contradictions(&|_| false);
        let scenarios = proofs.into_iter().zip(0..);
        let scenarios: Vec<Scenario> =
            scenarios.map(|(proof, component)| Scenario { proof, component }).collect();
        return match prover.turnstile.reached() {
            Some(limit) => Answer::Stopped(limit),
            None if scenarios.is_empty() => Answer::Stopped(Limit::Proof),
            None => Answer::Violated(Violation::complete(scenarios)),
        };
    };
    let there = |&txn: &u32| txn < events.first_tick && problem.is_present(txn);
    let order: Vec<Txn> = order.into_iter().filter(there).map(Txn).collect();
    Answer::Holds(Witness::order(order.into()))
}

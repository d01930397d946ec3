//! Prefix consistency, snapshot isolation, serializability, their strict forms and Adya's PL-2.99: saturate, linearise, and
//! only then search.

mod cases;
mod events;
mod index;
mod linearise;
mod name;
mod problem;
mod reach;
mod refute;
mod saturate;
mod search;

use std::sync::Arc;

use isoscope_history::{History, Txn};
use isoscope_levels::Level;

use crate::certificate::{Limit, Proof, Witness};
use crate::resolve::Resolved;
use crate::watch::{Stage, Watch};
use cases::Cases;
use events::{Events, Rules};
pub(crate) use name::{main_cycle, name, through};
use problem::Problem;
use refute::Prover;
use saturate::{Known, Outcome};
use search::Found;

/// What the event graph says about a level.
pub(crate) enum Answer {
    Holds(Witness),
    /// Proofs that are independent of each other.
    Violated(Vec<Proof>),
    Stopped(Limit),
}

/// Decides a level.
pub(crate) fn decide(history: &History, resolved: &Resolved, level: Level, watch: &dyn Watch) -> Option<Answer> {
    let rules = Rules::of(level)?;
    let original = Problem::new(history, resolved);
    let mut edges = Vec::new();
    let events = Events::new(history, resolved, rules, &mut edges);
    saturate::given(&original, &events, &mut edges);
    let figures = vec![
        ("events", events.nodes.into()),
        ("edges", edges.len() as u64),
        ("reads", original.reads.len() as u64),
        ("open", original.open.len() as u64),
    ];
    watch.stage(level, &Stage { name: "graph", figures });
    let mut known = Known::new(edges);
    let mut problem = original.clone();
    let outcome = saturate::saturate(&mut problem, &events, &mut known, watch);
    let figures = vec![
        ("rounds", known.rounds.into()),
        ("forced", known.steps.len() as u64),
        ("excluded", known.exclusions.len() as u64),
        ("open", problem.open.len() as u64),
    ];
    watch.stage(level, &Stage { name: "saturate", figures });
    match outcome {
        Outcome::Fixpoint => {}
        Outcome::Contradiction => {
            let proofs = Prover::new(&original, &events, &known).contradictions();
            watch.stage(level, &Stage { name: "prove", figures: vec![("proofs", proofs.len() as u64)] });
            return Some(Answer::Violated(proofs));
        }
        Outcome::Stopped(limit) => return Some(Answer::Stopped(limit)),
    }
    let (order, good) = linearise::linearise(&problem, &events, &known.edges);
    let figures = vec![("ran", good as u64), ("of", events.nodes.into())];
    watch.stage(level, &Stage { name: "linearise", figures });
    if good == order.len() {
        return Some(Answer::Holds(witness(&problem, &events, &order, |_| false)));
    }
    let (found, figures) = search::search(&problem, &events, &known.edges, order.clone(), watch);
    watch.stage(level, &Stage { name: "search", figures });
    Some(match found {
        Found::Order(order, chosen) => {
            Answer::Holds(witness(&problem, &events, &order, |txn| chosen[txn as usize]))
        }
        Found::Stopped(limit) => Answer::Stopped(limit),
        Found::Nothing(axioms) => {
            let prover = Prover::new(&original, &events, &known);
            let source = |read: u32| problem.reads[read as usize].source;
            let mut cases = Cases::new(&prover, &source, &axioms, &known.edges, &order);
            let proofs = cases.prove().map(|tree| prover.tell(&[], tree));
            watch.stage(level, &Stage { name: "prove", figures: vec![("axioms", cases.len() as u64)] });
            Answer::Violated(proofs.into_iter().collect())
        }
    })
}

/// The commit order and the snapshots of an order of events.
fn witness(problem: &Problem<'_>, events: &Events, order: &[u32], chosen: impl Fn(u32) -> bool) -> Witness {
    let rules = events.rules;
    let mut commits: Vec<Txn> = Vec::new();
    let mut seen = vec![0u32; problem.history.txn_count()];
    for &node in order.iter().filter(|&&node| node < events.first_tick) {
        let txn = rules.txn(node);
        if !(problem.is_present(txn) || problem.is_optional(txn) && chosen(txn)) {
            continue;
        }
        if rules.is_begin(node) {
            seen[txn as usize] = commits.len() as u32;
        }
        if !rules.split || !rules.is_begin(node) {
            commits.push(Txn(txn));
        }
    }
    let snapshots: Option<Arc<[u32]>> =
        rules.split.then(|| commits.iter().map(|txn| seen[txn.index()]).collect());
    Witness { order: Some(commits.into()), snapshots, ..Witness::default() }
}

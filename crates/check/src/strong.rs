//! Strong levels, and weak ones where values repeat: saturate, linearise, and only then search.
//!
//! ```text
//! problem ──> saturate ──> linearise ──> search ──> holds: an order of events, or of commits and sources
//!             │ cycle      on values     │ nothing
//!             └────────> refute <────────┘        ──> violated: a proof by cases, every one a cycle
//! ```
//!
//! `problem.rs`: the external reads and who may have written what they returned. `events.rs`: which level puts which edges
//! between begins and commits. `saturate.rs`: what reachability (`reach.rs`) forces. `linearise.rs`: a schedule by greed.
//! `search.rs`, `visible.rs`: a SAT solver for what is left, told only of what an order gets wrong. `refute.rs`, `cases.rs`:
//! the proof when there is no order. `name.rs`: what its cycle is called.

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
mod visible;

use std::sync::Arc;

use isoscope_history::{History, Op, Txn};
use isoscope_levels::Level;

use crate::certificate::{Limit, Node, Proof, Witness};
use crate::resolve::Resolved;
use crate::watch::{Stage, Watch};
use cases::Cases;
use events::{Events, Rules};
pub(crate) use name::{main_cycle, name, through};
use problem::{INITIAL, Problem};
use refute::Prover;
use saturate::{Known, Outcome};
use search::Axiom;
use visible::Sight;

/// What is known about a level in the end.
pub(crate) enum Answer {
    Holds(Witness),
    /// Proofs that are independent of each other.
    Violated(Vec<Proof>),
    Stopped(Limit),
}

/// Decides a strong level.
pub(crate) fn decide(history: &History, resolved: &Resolved, level: Level, watch: &dyn Watch) -> Option<Answer> {
    let rules = Rules::of(level)?;
    let stage = |name, figures| watch.stage(level, &Stage { name, figures });
    let original = Problem::new(history, resolved);
    let mut edges = Vec::new();
    let events = Events::new(history, resolved, rules, &mut edges);
    saturate::given(&original, &events, &mut edges);
    stage(
        "graph",
        vec![
            ("events", events.nodes.into()),
            ("edges", edges.len() as u64),
            ("reads", original.reads.len() as u64),
            ("open", original.open.len() as u64),
        ],
    );
    let mut known = Known::new(edges);
    let mut problem = original.clone();
    let outcome = saturate::saturate(&mut problem, &events, &mut known, watch);
    stage(
        "saturate",
        vec![
            ("rounds", known.rounds.into()),
            ("forced", known.steps.len() as u64),
            ("excluded", known.exclusions.len() as u64),
            ("open", problem.open.len() as u64),
        ],
    );
    match outcome {
        Outcome::Fixpoint => {}
        Outcome::Contradiction => {
            let proofs = Prover::new(&original, &events, &known).contradictions();
            stage("prove", vec![("proofs", proofs.len() as u64)]);
            return Some(Answer::Violated(proofs));
        }
        Outcome::Stopped(limit) => return Some(Answer::Stopped(limit)),
    }
    let (order, good) = linearise::linearise(&problem, &events, &known.edges);
    stage("linearise", vec![("ran", good as u64), ("of", events.nodes.into())]);
    if good == order.len() {
        return Some(Answer::Holds(witness(&problem, &events, &order, |_| false)));
    }
    let start = order.clone();
    let axioms = if rules.misses {
        let (found, figures) = search::search(&problem, &events, &known.edges, order, watch);
        stage("search", figures);
        match found {
            search::Found::Order(order, chosen) => {
                return Some(Answer::Holds(witness(&problem, &events, &order, |txn| chosen[txn as usize])));
            }
            search::Found::Stopped(limit) => return Some(Answer::Stopped(limit)),
            search::Found::Nothing(axioms) => axioms,
        }
    } else {
        let found = visible::search(&problem, &events, Sight::Parallel, &known.edges, order, watch);
        stage("search", found.1);
        match found.0 {
            visible::Found::Order { order, sources } => {
                return Some(Answer::Holds(with_sources(&original, &problem, order, &sources)));
            }
            visible::Found::Stopped(limit) => return Some(Answer::Stopped(limit)),
            visible::Found::Nothing(axioms) => axioms,
        }
    };
    let answer = by_cases(&original, &problem, &events, &known, &axioms, &start);
    stage("prove", vec![("axioms", axioms.len() as u64)]);
    Some(answer)
}

/// The proof that no order satisfies some axioms.
fn by_cases(
    original: &Problem<'_>,
    problem: &Problem<'_>,
    events: &Events,
    known: &Known,
    axioms: &[Axiom],
    order: &[u32],
) -> Answer {
    let prover = Prover::new(original, events, known);
    let source = |read: u32| problem.reads[read as usize].source;
    let tree = Cases::new(&prover, &source, axioms, &known.edges, order).prove();
    match tree {
        Some(tree) => Answer::Violated(vec![prover.tell(tree)]),
        None => Answer::Stopped(Limit::Proof),
    }
}

/// The commit order and the snapshots of an order of events.
fn witness(problem: &Problem<'_>, events: &Events, order: &[u32], chosen: impl Fn(u32) -> bool) -> Witness {
    let rules = events.rules;
    let history = problem.history;
    let mut commits: Vec<Txn> = Vec::new();
    let mut seen = vec![0u32; history.txn_count()];
    let mut current = vec![INITIAL; history.key_count()];
    let mut sources: Vec<(Op, Node)> = Vec::new();
    for &node in order.iter().filter(|&&node| node < events.first_tick) {
        let txn = rules.txn(node);
        if !(problem.is_present(txn) || problem.is_optional(txn) && chosen(txn)) {
            continue;
        }
        if rules.is_begin(node) {
            seen[txn as usize] = commits.len() as u32;
            if !rules.misses {
                let reads = problem.reads_of(txn).map(|i| &problem.reads[i]);
                let ambiguous = reads.filter(|read| is_ambiguous(problem, read.op));
                sources.extend(ambiguous.map(|read| (read.op, source(current[read.key.index()]))));
            }
        }
        if !rules.split || !rules.is_begin(node) {
            commits.push(Txn(txn));
            if !rules.misses {
                problem.writes_of(txn).for_each(|(key, _)| current[key.index()] = txn);
            }
        }
    }
    let snapshots: Option<Arc<[u32]>> =
        rules.split.then(|| commits.iter().map(|txn| seen[txn.index()]).collect());
    sources.sort_unstable();
    Witness { order: Some(commits.into()), snapshots, sources: sources.into() }
}

fn is_ambiguous(problem: &Problem<'_>, read: Op) -> bool {
    problem.resolved.links[read.index()] == crate::resolve::Link::AMBIGUOUS
}

fn source(txn: u32) -> Node {
    if txn == INITIAL { Node::Initial } else { Node::Txn(Txn(txn)) }
}

/// A commit order and the sources of all reads that had several to begin with.
fn with_sources(
    original: &Problem<'_>,
    problem: &Problem<'_>,
    order: Vec<Txn>,
    chosen: &[(Op, u32)],
) -> Witness {
    let settled = original.open.iter().map(|open| &problem.reads[open.read as usize]);
    let settled = settled.filter(|read| read.source != problem::OPEN).map(|read| (read.op, read.source));
    let mut sources: Vec<(Op, Node)> =
        settled.chain(chosen.iter().copied()).map(|(op, txn)| (op, source(txn))).collect();
    sources.sort_unstable();
    Witness { order: Some(order.into()), snapshots: None, sources: sources.into() }
}

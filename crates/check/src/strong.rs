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

mod broken;
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
mod weak;

use std::sync::Arc;

use isoscope_history::{History, Key, Op, OpKind, Txn, Value};
use isoscope_levels::Level;
use rustc_hash::FxHashMap;

use crate::certificate::{Limit, Node, Proof, Witness};
use crate::resolve::Resolved;
use crate::watch::{Stage, Watch};
use cases::Cases;
use events::{Events, Rules};
pub(crate) use name::{main_cycle, name, through};
use problem::{INITIAL, OPEN, Problem};
use refute::Prover;
use saturate::{Known, Outcome};
use search::Axiom;
use visible::Sight;
pub(crate) use weak::Leaf;

/// What is known about a level in the end.
pub(crate) enum Answer {
    Holds(Witness),
    /// Proofs that are independent of each other.
    Violated(Vec<Proof>),
    Stopped(Limit),
}

/// Decides a strong level.
pub(crate) fn decide(
    history: &History,
    resolved: &Resolved,
    level: Level,
    trust_timestamps: bool,
    watch: &dyn Watch,
) -> Option<Answer> {
    let rules = Rules::of(level, trust_timestamps)?;
    let stage = |name, figures| watch.stage(level, &Stage { name, figures });
    let original = Problem::new(history, resolved, false);
    if original.has_optional_lists {
        return None;
    }
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
    if let Some(proof) = Prover::new(&original, &events, &known).orphans() {
        return Some(Answer::Violated(vec![proof]));
    }
    // Histories of read-modify-writes leave no choice: running them is all it takes.
    let (order, good) = linearise::linearise(&original, &events, &known.edges);
    stage("schedule", vec![("ran", good as u64), ("of", events.nodes.into())]);
    if good == events.nodes as usize {
        return Some(Answer::Holds(witness(&original, &events, &order, |_| false)));
    }
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
    if good == events.nodes as usize {
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
                return Some(Answer::Holds(with_sources(&problem, order, &sources)));
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
                let reads = ambiguous_reads(history, Txn(txn));
                sources.extend(reads.map(|(op, key)| (op, broken::node(current[key.index()]))));
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

/// The external reads of a transaction, some of which may have several possible writers.
fn ambiguous_reads(history: &History, txn: Txn) -> impl Iterator<Item = (Op, Key)> + '_ {
    let reads = history.ops_of(txn).filter(|op| op.kind == OpKind::Read && op.external);
    reads.filter(|op| op.value != Value::UNKNOWN).map(|op| (op.id, op.key))
}

/// A commit order and the sources of all reads.
fn with_sources(problem: &Problem<'_>, order: Vec<Txn>, chosen: &[(Op, u32)]) -> Witness {
    let chosen: FxHashMap<Op, u32> = chosen.iter().copied().collect();
    let mut sources: Vec<(Op, Node)> = Vec::new();
    for &txn in &order {
        let reads = &problem.reads[problem.reads_of(txn.0)];
        for (op, key) in ambiguous_reads(problem.history, txn) {
            let value = problem.history.op(op).value;
            let same = |read: &&problem::Read| read.key == key && problem.history.op(read.op).value == value;
            let read = reads.iter().find(|read| read.op == op).or_else(|| reads.iter().find(same));
            if let Some(read) = read {
                let from =
                    if read.source == OPEN { chosen.get(&read.op).copied() } else { Some(read.source) };
                sources.extend(from.map(|from| (op, broken::node(from))));
            }
        }
    }
    sources.sort_unstable();
    Witness { order: Some(order.into()), snapshots: None, sources: sources.into() }
}

/// Decides a weak level where reads have several possible writers. `leaf` says why the level is violated whoever wrote what is
/// still open.
pub(crate) fn decide_weak(
    history: &History,
    resolved: &Resolved,
    level: Level,
    watch: &dyn Watch,
    leaf: &mut dyn FnMut(&Resolved) -> Option<weak::Leaf>,
) -> Option<Answer> {
    let stage = |name, figures| watch.stage(level, &Stage { name, figures });
    let (sight, sessions) = match level {
        Level::AdyaPl2 => (Sight::Nothing, false),
        Level::ReadCommitted => (Sight::Earlier, true),
        Level::ReadAtomic => (Sight::Direct, true),
        _ => (Sight::Causal, true),
    };
    let rules = Rules { sessions, misses: false, ..Rules::of(Level::ParallelSnapshot, false)? };
    let problem = Problem::new(history, resolved, matches!(sight, Sight::Nothing | Sight::Earlier));
    if problem.has_optional_lists {
        return None;
    }
    let mut edges = Vec::new();
    let events = Events::new(history, resolved, rules, &mut edges);
    saturate::given(&problem, &events, &mut edges);
    let known = Known::new(edges);
    if let Some(proof) = Prover::new(&problem, &events, &known).orphans() {
        return Some(Answer::Violated(vec![proof]));
    }
    let (order, good) = linearise::linearise(&problem, &events, &known.edges);
    stage("linearise", vec![("ran", good as u64), ("of", events.nodes.into())]);
    if good == events.nodes as usize {
        return Some(Answer::Holds(witness(&problem, &events, &order, |_| false)));
    }
    let (found, figures) = visible::search(&problem, &events, sight, &known.edges, order, watch);
    stage("search", figures);
    Some(match found {
        visible::Found::Order { order, sources } => Answer::Holds(with_sources(&problem, order, &sources)),
        visible::Found::Stopped(limit) => Answer::Stopped(limit),
        visible::Found::Nothing(axioms) => match weak::prove(&problem, &axioms, leaf) {
            Some(proof) => Answer::Violated(vec![proof]),
            None => Answer::Stopped(Limit::Proof),
        },
    })
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
        Some(rules) if rules.misses => Witness::order(order.clone()),
        _ if resolved.ambiguous.is_none() => Witness::order(order.clone()),
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

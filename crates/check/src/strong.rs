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
//! the proof when there is no order (`weak.rs` for weak levels; `lost.rs` for lost updates; `others.rs`, `needed.rs`: the
//! scenarios that are independent of the first). `name.rs`: what its cycle is called. `witness.rs`: what shows that a level holds.

mod broken;
mod cases;
mod events;
mod index;
mod linearise;
mod lost;
mod name;
mod needed;
mod others;
mod problem;
mod reach;
mod refute;
mod saturate;
mod search;
mod visible;
mod weak;
mod witness;

use isoscope_history::History;
use isoscope_levels::Level;

use crate::certificate::{Limit, Proof, Witness};
use crate::resolve::Resolved;
use crate::watch::{Stage, Watch};
use cases::Cases;
use events::{Events, Rules};
use lost::Lost;
pub(crate) use name::{main_cycle, name, through};
use others::Patience;
use problem::Problem;
pub(crate) use problem::optional_lists;
use refute::Prover;
use saturate::{Known, Outcome};
use search::Axiom;
use visible::Sight;
pub(crate) use weak::Leaf;
pub(crate) use witness::{names_sources, weaken};

/// What is known about a level in the end.
pub(crate) enum Answer {
    Holds(Witness),
    /// Proofs that are independent of each other.
    Violated(Vec<Proof>),
    Stopped(Limit),
}

/// Decides a strong level, or leaves it open for what ranges leave open; `every` asks for the scenarios that are independent of the first one, too.
pub(crate) fn decide(
    history: &History,
    resolved: &Resolved,
    level: Level,
    trust_timestamps: bool,
    every: bool,
    watch: &dyn Watch,
) -> Option<Answer> {
    let rules = Rules::of(level, trust_timestamps)?;
    let problem = match problem_of(history, resolved, level, watch) {
        Ok(problem) => problem,
        Err(limit) => return Some(Answer::Stopped(limit)),
    };
    let patience = Patience::endless(watch);
    let mut answer = attempt(&problem, level, rules, &patience);
    if let Answer::Holds(Witness { order: Some(order), .. }) = &answer.0
        && !problem.reads_past(order)
    {
        return None;
    }
    if let (Answer::Violated(proofs), Ended::Searched) = (&mut answer.0, answer.1)
        && every
        && let [first] = &proofs[..]
    {
        let decide = |rest: &Problem<'_>, watch: &dyn Watch| attempt(rest, level, rules, watch).0;
        let others = others::find(&problem, first, patience.asked(), watch, &decide);
        watch.stage(level, &Stage { name: "others", figures: vec![("proofs", others.len() as u64)] });
        proofs.extend(others);
    }
    Some(answer.0)
}

/// The reads that count at a level. PL-2.99 forbids cycles over single keys: what a range read missed is none of them.
fn problem_of<'a>(
    history: &'a History,
    resolved: &'a Resolved,
    level: Level,
    watch: &dyn Watch,
) -> Result<Problem<'a>, Limit> {
    let problem = Problem::new(history, resolved, false, watch)?;
    Ok(if level == Level::AdyaPl299 { problem.sparing_ranges() } else { problem })
}

/// How an answer was come by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// By running, or by saturation.
    Early,
    Searched,
}

/// Decides a strong level for what a problem says.
fn attempt(original: &Problem<'_>, level: Level, rules: Rules, watch: &dyn Watch) -> (Answer, Ended) {
    let stage = |name, figures| watch.stage(level, &Stage { name, figures });
    let early = |answer: Answer| (answer, Ended::Early);
    let mut edges = Vec::new();
    let events = Events::new(original.history, original.resolved, rules, &mut edges);
    saturate::given(original, &events, &mut edges);
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
    if let Some(read) = original.orphan() {
        let prover = Prover::new(original, &events, &known, watch);
        return early(proved(&prover, vec![prover.orphan(read)]));
    }
    // Histories of read-modify-writes leave no choice: running them is all it takes.
    let (order, good) = match linearise::linearise(original, &events, &known.edges, watch) {
        Ok(run) => run,
        Err(limit) => return early(Answer::Stopped(limit)),
    };
    stage("schedule", vec![("ran", good as u64), ("events", events.nodes.into())]);
    if good == events.nodes as usize {
        return early(Answer::Holds(witness::of_events(original, &events, &order, |_| false)));
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
            let prover = Prover::new(original, &events, &known, watch);
            let lost = Lost::find(original, rules);
            let mut proofs = lost.proofs(&prover);
            proofs.extend(prover.contradictions().into_iter().filter(|proof| !lost.explain(proof)));
            stage("prove", vec![("proofs", proofs.len() as u64)]);
            return early(proved(&prover, proofs));
        }
        Outcome::Stopped(limit) => return early(Answer::Stopped(limit)),
    }
    let (order, good) = match linearise::linearise(&problem, &events, &known.edges, watch) {
        Ok(run) => run,
        Err(limit) => return early(Answer::Stopped(limit)),
    };
    stage("linearise", vec![("ran", good as u64), ("events", events.nodes.into())]);
    if good == events.nodes as usize {
        return early(Answer::Holds(witness::of_events(&problem, &events, &order, |_| false)));
    }
    let search = Search { original, problem: &problem, events: &events, known: &known, watch };
    (search.run(level, order), Ended::Searched)
}

/// The updates that were lost, each with its proof, where a level forbids that.
pub(crate) fn lost_updates(
    history: &History,
    resolved: &Resolved,
    level: Level,
    watch: &dyn Watch,
) -> Vec<Proof> {
    let Some(rules) = Rules::of(level, false) else { return Vec::new() };
    let Ok(problem) = problem_of(history, resolved, level, watch) else { return Vec::new() };
    let lost = Lost::find(&problem, rules);
    if lost.is_empty() {
        return Vec::new();
    }
    let mut edges = Vec::new();
    let events = Events::new(history, resolved, rules, &mut edges);
    saturate::given(&problem, &events, &mut edges);
    let known = Known::new(edges);
    let prover = Prover::new(&problem, &events, &known, watch);
    let proofs = lost.proofs(&prover);
    if prover.turnstile.reached().is_some() { Vec::new() } else { proofs }
}

/// A violation, unless a limit was reached while it was proved.
fn proved(prover: &Prover<'_>, proofs: Vec<Proof>) -> Answer {
    prover.turnstile.reached().map_or(Answer::Violated(proofs), Answer::Stopped)
}

/// What is left when neither running nor saturating has settled a level.
struct Search<'a> {
    original: &'a Problem<'a>,
    problem: &'a Problem<'a>,
    events: &'a Events,
    known: &'a Known,
    watch: &'a dyn Watch,
}

impl Search<'_> {
    fn run(&self, level: Level, order: Vec<u32>) -> Answer {
        let Search { problem, events, known, watch, .. } = *self;
        let stage = |name, figures| watch.stage(level, &Stage { name, figures });
        let start = order.clone();
        let axioms = if events.rules.misses {
            let (found, figures) = search::search(problem, events, &known.edges, order, watch);
            stage("search", figures);
            match found {
                search::Found::Order(order, chosen) => {
                    let witness = witness::of_events(problem, events, &order, |txn| chosen[txn as usize]);
                    return Answer::Holds(witness);
                }
                search::Found::Stopped(limit) => return Answer::Stopped(limit),
                search::Found::Nothing(axioms) => axioms,
            }
        } else {
            let (found, figures) =
                visible::search(problem, events, Sight::Parallel, &known.edges, order, watch);
            stage("search", figures);
            match found {
                visible::Found::Order { order, sources } => {
                    return Answer::Holds(witness::of_sources(problem, order, &sources));
                }
                visible::Found::Stopped(limit) => return Answer::Stopped(limit),
                visible::Found::Nothing(axioms) => axioms,
            }
        };
        let answer = self.prove(&axioms, &start);
        stage("prove", vec![("axioms", axioms.len() as u64)]);
        answer
    }

    /// The proof that no order satisfies some axioms.
    fn prove(&self, axioms: &[Axiom], order: &[u32]) -> Answer {
        let prover = Prover::new(self.original, self.events, self.known, self.watch);
        let source = |read: u32| self.problem.reads[read as usize].source;
        let tree = Cases::new(&prover, &source, axioms, &self.known.edges, order).prove();
        match tree {
            Some(tree) => proved(&prover, vec![prover.tell(tree)]),
            None => Answer::Stopped(prover.turnstile.reached().unwrap_or(Limit::Proof)),
        }
    }
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
    let every = matches!(sight, Sight::Nothing | Sight::Earlier);
    let problem = match Problem::new(history, resolved, every, watch) {
        Ok(problem) => problem,
        Err(limit) => return Some(Answer::Stopped(limit)),
    };
    let mut edges = Vec::new();
    let events = Events::new(history, resolved, rules, &mut edges);
    saturate::given(&problem, &events, &mut edges);
    let known = Known::new(edges);
    if let Some(read) = problem.orphan() {
        let prover = Prover::new(&problem, &events, &known, watch);
        return Some(proved(&prover, vec![prover.orphan(read)]));
    }
    let (order, good) = match linearise::linearise(&problem, &events, &known.edges, watch) {
        Ok(run) => run,
        Err(limit) => return Some(Answer::Stopped(limit)),
    };
    stage("linearise", vec![("ran", good as u64), ("events", events.nodes.into())]);
    if good == events.nodes as usize {
        return Some(Answer::Holds(witness::of_events(&problem, &events, &order, |_| false)));
    }
    let mut prove = |axioms: &[Axiom]| match weak::prove(&problem, axioms, watch, leaf) {
        Ok(proof) => Answer::Violated(vec![proof]),
        Err(limit) => Answer::Stopped(limit),
    };
    if order.len() < events.nodes as usize {
        // What is certain has a cycle already.
        return Some(prove(&[]));
    }
    let (found, figures) = visible::search(&problem, &events, sight, &known.edges, order, watch);
    stage("search", figures);
    Some(match found {
        visible::Found::Order { order, sources } => {
            Answer::Holds(witness::of_sources(&problem, order, &sources))
        }
        visible::Found::Stopped(limit) => Answer::Stopped(limit),
        visible::Found::Nothing(axioms) => prove(&axioms),
    })
}

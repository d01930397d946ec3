//! Strong levels, and weak ones where values repeat: saturate, linearise, and only then search.
//!
//! ```text
//! problem ──> saturate ──> linearise, memo ──> search ──> holds: an order of events, or of commits and sources
//!             │ cycle      on values           │ nothing
//!             └────────> refute <──────────────┘        ──> violated: a proof by cases, every one a cycle
//! ```
//!
//! `facts.rs`, `shortest.rs`, `stale_reads.rs`, `direct.rs`: violations that need no choice, each as simple as it can be told.
//! `problem.rs`: the external reads and who may have written what they returned. `events.rs`: which level puts which edges
//! between begins and commits. `saturate.rs`: what reachability (`reach.rs`) forces. `linearise.rs`: a schedule by greed.
//! `memo.rs`: a schedule where few values are written, each state once. `search.rs`, `visible.rs`: a SAT solver for what is left, told only of what an order gets wrong. `refute.rs`, `cases.rs`:
//! the proof when there is no order (`weak.rs` for weak levels; `lost.rs` for lost updates; `others.rs`, `needed.rs`: the
//! scenarios that are independent of the first). `name.rs`: what its cycle is called. `witness.rs`: what shows that a level holds.

mod broken;
mod cases;
mod direct;
mod events;
mod facts;
mod index;
mod linearise;
mod lost;
mod memo;
mod name;
mod needed;
mod ordered;
mod others;
mod problem;
mod ranges;
mod reach;
mod refute;
mod saturate;
mod search;
mod shortest;
mod sources;
mod stale_reads;
mod visible;
mod weak;
mod witness;

use isoscope_history::History;
use isoscope_levels::Level;

use crate::certificate::{Limit, Proof, Witness};
use crate::resolve::Resolved;
use crate::semantics::Semantics;
use crate::watch::{Stage, Watch};
use cases::Cases;
use direct::Direct;
use events::{Events, Rules};
use lost::Lost;
pub(crate) use name::{is_forced, named, needs, refutes, with_last_cycle};
pub(crate) use ordered::ordered;
pub(crate) use others::Patience;
use problem::Problem;
pub(crate) use problem::optional_lists;
use refute::Prover;
use saturate::{Known, Outcome};
use search::Axiom;
pub(crate) use weak::Leaf;
pub(crate) use witness::{names_sources, weaken};

/// What is known about a level in the end.
pub(crate) enum Answer {
    Holds(Witness),
    Violated(Violation),
    Stopped(Limit),
}

/// What shows that a level is violated.
#[derive(Clone)]
pub(crate) struct Violation {
    pub(crate) scenarios: Vec<Scenario>,
    /// Whether these are all that are independent of each other; else there may be more.
    pub(crate) complete: bool,
}

/// A proof, and the number of the component that it is about.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) proof: Proof,
    pub(crate) component: u32,
}

impl Violation {
    /// A single proof, beside which there may be others.
    fn one(proof: Proof) -> Violation {
        Violation { scenarios: vec![Scenario { proof, component: 0 }], complete: false }
    }
}

/// Decides a strong level, if it is one; `every` asks for the scenarios that are independent of the first one, too.
/// `borrow` gives proofs about another level that serve this one, and is asked before a search begins.
pub(crate) fn decide(
    history: &History,
    resolved: &Resolved,
    level: Level,
    trust_timestamps: bool,
    every: bool,
    watch: &dyn Watch,
    borrow: &dyn Fn() -> Option<Violation>,
) -> Option<Answer> {
    let rules = Rules::of(level, trust_timestamps)?;
    let problem = match problem_of(history, resolved, level, watch) {
        Ok(problem) => problem,
        Err(limit) => return Some(Answer::Stopped(limit)),
    };
    let patience = Patience::endless(watch);
    let mut answer = attempt(&problem, level, rules, &patience, borrow);
    if let Answer::Holds(Witness { order: Some(order), .. }) = &answer.0
        && problem.unexplained(order).is_some()
    {
        let all = Problem::new(history, resolved, false, watch);
        return Some(all.map_or_else(Answer::Stopped, |all| ranges::decide(&all, rules, watch)));
    }
    if let (Answer::Violated(violation), ended) = &mut answer
        && every
        && !violation.complete
    {
        let decide = |rest: &Problem<'_>, watch: &dyn Watch| attempt(rest, level, rules, watch, &|| None).0;
        // Saturation shows all contradictions of a round together, so that one more is likely to show what is left.
        let rounds = if *ended == Ended::Searched { others::MOST_ROUNDS } else { 1 };
        let before = violation.scenarios.len();
        others::add(&problem, violation, rounds, patience.asked(), watch, &decide);
        let more = (violation.scenarios.len() - before) as u64;
        watch.stage(level, &Stage { name: "others", figures: vec![("proofs", more)] });
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
    let Semantics { sight, spares_ranges, .. } = Semantics::of(level);
    let problem = Problem::new(history, resolved, sight.needs_every_read(), watch)?;
    Ok(if spares_ranges { problem.sparing_ranges() } else { problem })
}

/// How an answer was come by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// By running, or by saturation.
    Early,
    Searched,
}

/// Decides a strong level for what a problem says.
fn attempt(
    original: &Problem<'_>,
    level: Level,
    rules: Rules,
    watch: &dyn Watch,
    borrow: &dyn Fn() -> Option<Violation>,
) -> (Answer, Ended) {
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
        return early(proved(&prover, Violation::one(prover.orphan(read))));
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
    let direct = Direct::find(original, &events, &known, watch);
    stage("facts", vec![("violations", direct.scenarios.len() as u64)]);
    if !rules.saturates() {
        let search = Search { original, problem: original, events: &events, known: &known, watch };
        return search.unsaturated(level, direct, order, borrow);
    }
    let mut problem = original.clone();
    let outcome = saturate::saturate(&mut problem, &events, &mut known, watch);
    stage(
        "saturate",
        vec![
            ("rounds", known.rounds.into()),
            ("forced", known.steps.len() as u64),
            ("excluded", known.exclusions.iter().map(|exclusion| exclusion.part.len() as u64).sum()),
            ("open", problem.open.len() as u64),
        ],
    );
    match outcome {
        Outcome::Contradiction => {
            let prover = Prover::new(original, &events, &known, watch);
            let more = prover.contradictions(&|event| direct.explains(event));
            let more: Vec<Proof> = more.into_iter().filter(|proof| !direct.lost.explain(proof)).collect();
            stage("prove", vec![("proofs", more.len() as u64)]);
            return early(with_contradictions(direct, &prover, more));
        }
        _ if !direct.scenarios.is_empty() => return early(Answer::Violated(direct.into())),
        Outcome::Fixpoint => {}
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
    if let Some(violation) = borrow() {
        return early(Answer::Violated(violation));
    }
    let (schedule, states) = memo::search(&problem, &events, &known.edges, watch);
    if states > 0 {
        stage("memo", vec![("states", states as u64), ("found", schedule.is_some().into())]);
    }
    if let Some(order) = schedule {
        return early(Answer::Holds(witness::of_events(&problem, &events, &order, |_| false)));
    }
    let search = Search { original, problem: &problem, events: &events, known: &known, watch };
    (search.run(level, order), Ended::Searched)
}

/// What needs no search, and the contradictions that saturation met beside it.
fn with_contradictions(direct: Direct, prover: &Prover<'_>, more: Vec<Proof>) -> Answer {
    let mut violation = Violation::from(direct);
    if let Some(limit) = prover.turnstile.reached() {
        // Proofs that were interrupted are none.
        violation.complete = false;
        return if violation.scenarios.is_empty() {
            Answer::Stopped(limit)
        } else {
            Answer::Violated(violation)
        };
    }
    let first = violation.scenarios.iter().map(|scenario| scenario.component + 1).max().unwrap_or(0);
    violation
        .scenarios
        .extend(more.into_iter().zip(first..).map(|(proof, component)| Scenario { proof, component }));
    Answer::Violated(violation)
}

impl From<Direct> for Violation {
    fn from(direct: Direct) -> Violation {
        Violation { scenarios: direct.scenarios, complete: direct.complete }
    }
}

/// The violations that need no search, where a weaker level is known to be violated: lost updates, and stale reads.
pub(crate) fn listed(
    history: &History,
    resolved: &Resolved,
    level: Level,
    trust_timestamps: bool,
    watch: &dyn Watch,
) -> Vec<Scenario> {
    let Some(rules) = Rules::of(level, trust_timestamps) else { return Vec::new() };
    if !rules.conflicts && !rules.real_time {
        return Vec::new();
    }
    let Ok(problem) = problem_of(history, resolved, level, watch) else { return Vec::new() };
    let lost = Lost::find(&problem, rules);
    if lost.pairs().next().is_none() && !rules.real_time {
        return Vec::new();
    }
    let mut edges = Vec::new();
    let events = Events::new(history, resolved, rules, &mut edges);
    saturate::given(&problem, &events, &mut edges);
    Direct::listed(&problem, &events, lost, &Known::new(edges), watch).scenarios
}

/// A violation, unless a limit was reached while it was proved.
fn proved(prover: &Prover<'_>, violation: Violation) -> Answer {
    prover.turnstile.reached().map_or(Answer::Violated(violation), Answer::Stopped)
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
    /// Where reachability says little about a level: a cycle of what is certain, or a search.
    fn unsaturated(
        &self,
        level: Level,
        direct: Direct,
        order: Vec<u32>,
        borrow: &dyn Fn() -> Option<Violation>,
    ) -> (Answer, Ended) {
        if order.len() < self.events.nodes as usize {
            let prover = Prover::new(self.original, self.events, self.known, self.watch);
            let more = prover.contradictions(&|event| direct.explains(event));
            let more: Vec<Proof> = more.into_iter().filter(|proof| !direct.lost.explain(proof)).collect();
            return (with_contradictions(direct, &prover, more), Ended::Early);
        }
        if !direct.scenarios.is_empty() {
            return (Answer::Violated(direct.into()), Ended::Early);
        }
        if let Some(violation) = borrow() {
            return (Answer::Violated(violation), Ended::Early);
        }
        (self.run(level, order), Ended::Searched)
    }

    fn run(&self, level: Level, order: Vec<u32>) -> Answer {
        let Search { problem, events, known, watch, .. } = *self;
        let stage = |name, figures| watch.stage(level, &Stage { name, figures });
        let start = order.clone();
        let axioms = if events.rules.says_sources() {
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
                visible::search(problem, events, events.rules.sight, &known.edges, order, watch);
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
            Some(tree) => proved(&prover, Violation::one(prover.tell(tree))),
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
    trust_timestamps: bool,
    watch: &dyn Watch,
    leaf: &mut dyn FnMut(&Resolved) -> Option<weak::Leaf>,
) -> Answer {
    let stage = |name, figures| watch.stage(level, &Stage { name, figures });
    let Semantics { sight, .. } = Semantics::of(level);
    let rules = Rules::of_order(level, trust_timestamps);
    let problem = match Problem::new(history, resolved, sight.needs_every_read(), watch) {
        Ok(problem) => problem,
        Err(limit) => return Answer::Stopped(limit),
    };
    let mut edges = Vec::new();
    let events = Events::new(history, resolved, rules, &mut edges);
    saturate::given(&problem, &events, &mut edges);
    let known = Known::new(edges);
    if let Some(read) = problem.orphan() {
        let prover = Prover::new(&problem, &events, &known, watch);
        return proved(&prover, Violation::one(prover.orphan(read)));
    }
    let (order, good) = match linearise::linearise(&problem, &events, &known.edges, watch) {
        Ok(run) => run,
        Err(limit) => return Answer::Stopped(limit),
    };
    stage("linearise", vec![("ran", good as u64), ("events", events.nodes.into())]);
    if good == events.nodes as usize {
        return Answer::Holds(witness::of_events(&problem, &events, &order, |_| false));
    }
    let mut prove = |axioms: &[Axiom]| match weak::prove(&problem, axioms, watch, leaf) {
        Ok(proof) => Answer::Violated(Violation::one(proof)),
        Err(limit) => Answer::Stopped(limit),
    };
    if order.len() < events.nodes as usize {
        // What is certain has a cycle already.
        return prove(&[]);
    }
    let (found, figures) = visible::search(&problem, &events, sight, &known.edges, order, watch);
    stage("search", figures);
    match found {
        visible::Found::Order { order, sources } => {
            Answer::Holds(witness::of_sources(&problem, order, &sources))
        }
        visible::Found::Stopped(limit) => Answer::Stopped(limit),
        visible::Found::Nothing(axioms) => prove(&axioms),
    }
}

//! The way of a strong level through the engine.
//!
//! [`Attempt::begin`] runs everything that needs no search: a schedule, the violations that need no choice, saturation, and a
//! schedule again. If the level is still open, the caller may have a proof from another level; otherwise
//! [`Attempt::finish`] searches. At the end, `finish` looks for further proofs that are independent of the first.

use isoscope_history::History;
use isoscope_levels::Level;

use super::cases::Cases;
use super::constraint::Constraint;
use super::direct::Direct;
use super::events::{Events, Rules};
use super::lost::Lost;
use super::others::{self, Patience};
use super::problem::Problem;
use super::refute::Prover;
use super::saturate::{self, Known, Outcome};
use super::{Answer, Scenario, Violation, linearise, ranges, search, visible, witness};
use crate::certificate::{Limit, Proof, Witness};
use crate::resolve::Resolved;
use crate::semantics::{Semantics, Sight};
use crate::watch::{NoLimits, Stage, Watch};

/// A strong level that is being decided; see the module.
pub(crate) struct Attempt<'a> {
    problem: Problem<'a>,
    level: Level,
    rules: Rules,
    watch: &'a dyn Watch,
    /// Counts the questions whether to stop.
    patience: Patience<'a>,
    early: Early<'a>,
}

/// The result of everything that needs no search.
enum Early<'a> {
    Answered(Answer),
    /// Only a search can decide.
    Open(Box<Search<'a>>),
}

impl<'a> Attempt<'a> {
    /// Runs everything that needs no search. `level` must be a level that the event graph decides.
    pub(crate) fn begin(
        history: &'a History,
        resolved: &'a Resolved,
        level: Level,
        trust_timestamps: bool,
        watch: &'a dyn Watch,
    ) -> Result<Attempt<'a>, Limit> {
        let rules = Rules::of(level, trust_timestamps).expect("the event graph decides strong levels");
        let problem = problem_of(history, resolved, level, watch)?;
        let patience = Patience::endless(watch);
        let early = early(&problem, level, rules, &patience);
        Ok(Attempt { problem, level, rules, watch, patience, early })
    }

    /// Whether only a search can decide the level.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.early, Early::Open(_))
    }

    /// The answer: what is known by now, `borrowed` proofs of another level, or what a search finds. `every` asks for the proofs
    /// that are independent of the first one, too.
    pub(crate) fn finish(self, borrowed: Option<Violation>, every: bool) -> Answer {
        let Attempt { problem, level, rules, watch, patience, early } = self;
        let (mut answer, searched) = match (early, borrowed) {
            (Early::Answered(answer), _) => (answer, false),
            (Early::Open(_), Some(violation)) => (Answer::Violated(violation), false),
            (Early::Open(search), None) => (search.run(&problem, level, &patience), true),
        };
        if let Answer::Holds(Witness { order: Some(order), .. }) = &answer
            && problem.unexplained(order).is_some()
        {
            let all = Problem::new(problem.history, problem.resolved, false, watch);
            return all.map_or_else(Answer::Stopped, |all| ranges::decide(&all, rules, watch));
        }
        if let Answer::Violated(violation) = &mut answer
            && every
            && !violation.complete
        {
            // Saturation shows all contradictions of a round together, so that one more is likely to show what is left.
            let is_small = problem.history.txn_count() <= others::MOST_TXNS;
            let rounds = if searched { others::MOST_ROUNDS } else { usize::from(is_small) };
            if rounds == 0 {
                return answer;
            }
            let before = violation.scenarios.len();
            others::add(&problem, level, rules, violation, rounds, patience.asked(), watch);
            let more = (violation.scenarios.len() - before) as u64;
            watch.stage(level, &Stage { name: "others", figures: vec![("proofs", more)] });
        }
        answer
    }
}

/// The reads that count at a level. PL-2.99 forbids cycles over single keys: what a range read missed is not part of them.
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

/// Adds the edges that hold from the start besides those of sessions and time: reads with a known source, and what lists show of
/// versions.
pub(crate) fn given_edges(
    history: &History,
    resolved: &Resolved,
    level: Level,
    events: &Events,
    edges: &mut Vec<(u32, u32)>,
    watch: &dyn Watch,
) -> Result<(), Limit> {
    let problem = problem_of(history, resolved, level, watch)?;
    saturate::given(&problem, events, edges);
    Ok(())
}

/// Decides a strong level for a problem, with a search if it needs one.
pub(super) fn decide(problem: &Problem<'_>, level: Level, rules: Rules, watch: &dyn Watch) -> Answer {
    match early(problem, level, rules, watch) {
        Early::Answered(answer) => answer,
        Early::Open(search) => search.run(problem, level, watch),
    }
}

/// The most events of a history that is saturated before the violations that need no search are looked for: only violated histories
/// have these.
const FEW_EVENTS: u32 = 1 << 18;

/// Everything that needs no search.
fn early<'a>(original: &Problem<'a>, level: Level, rules: Rules, watch: &dyn Watch) -> Early<'a> {
    let stage = |name, figures| watch.stage(level, &Stage { name, figures });
    let mut edges = Vec::new();
    let events = match Events::new(original.history, original.resolved, rules, &mut edges, watch) {
        Ok(events) => events,
        Err(limit) => return Early::Answered(Answer::Stopped(limit)),
    };
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
        return Early::Answered(proved(&prover, Violation::one(prover.orphan(read))));
    }
    // Histories of read-modify-writes leave no choice: one schedule decides them.
    let (order, good) = match linearise::linearise(original, &events, &known.edges, rules.saturates(), watch)
    {
        Ok(run) => run,
        Err(limit) => return Early::Answered(Answer::Stopped(limit)),
    };
    stage("schedule", vec![("ran", good as u64), ("events", events.nodes.into())]);
    if good == events.nodes as usize {
        return Early::Answered(Answer::Holds(witness::of_events(original, &events, &order, |_| false)));
    }
    let find_direct = |known: &Known| {
        let direct = Direct::find(original, &events, known, watch);
        stage("facts", vec![("violations", direct.scenarios.len() as u64)]);
        direct
    };
    if !rules.saturates() {
        let direct = find_direct(&known);
        // Reachability says little about such a level: it has a cycle of what is certain, or needs a search.
        if order.len() < events.nodes as usize {
            return Early::Answered(with_contradictions(original, &events, &known, direct, watch).0);
        }
        if !direct.scenarios.is_empty() {
            return Early::Answered(Answer::Violated(direct.into()));
        }
        return Early::Open(Box::new(Search { problem: original.clone(), events, known, order }));
    }
    // Saturation of a large history may reach a limit. What needs no search is found before it, so that the limit does not hide it.
    let early_direct = (events.nodes > FEW_EVENTS).then(|| find_direct(&known));
    let given = known.edges.len();
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
    if let Outcome::Stopped(limit) = outcome {
        let found = early_direct.filter(|direct| !direct.scenarios.is_empty());
        return Early::Answered(
            found.map_or(Answer::Stopped(limit), |direct| Answer::Violated(direct.into())),
        );
    }
    let late_direct = || find_direct(&Known::new(known.edges[..given].to_vec()));
    if matches!(outcome, Outcome::Contradiction) {
        let direct = early_direct.unwrap_or_else(late_direct);
        let (answer, proofs) = with_contradictions(original, &events, &known, direct, watch);
        stage("prove", vec![("proofs", proofs as u64)]);
        return Early::Answered(answer);
    }
    let (order, good) = match linearise::linearise(&problem, &events, &known.edges, false, watch) {
        Ok(run) => run,
        Err(limit) => return Early::Answered(Answer::Stopped(limit)),
    };
    stage("linearise", vec![("ran", good as u64), ("events", events.nodes.into())]);
    if good == events.nodes as usize {
        return Early::Answered(Answer::Holds(witness::of_events(&problem, &events, &order, |_| false)));
    }
    // Where anti-dependencies are edges, saturation has followed every certain dependency and found no cycle, unless the history has
    // too many sessions for it.
    let is_followed = known.rounds > 0 && rules.misses && rules.sight == Sight::Parallel;
    debug_assert!(
        !is_followed || {
            let given = Known::new(known.edges[..given].to_vec());
            Direct::find(original, &events, &given, &NoLimits).scenarios.is_empty()
        },
        "saturation overlooked a cycle of certain dependencies at {level}"
    );
    let direct = early_direct.or_else(|| (rules.sight == Sight::Parallel && !is_followed).then(late_direct));
    match direct.filter(|direct| !direct.scenarios.is_empty()) {
        Some(direct) => Early::Answered(Answer::Violated(direct.into())),
        None => Early::Open(Box::new(Search { problem, events, known, order })),
    }
}

/// What needs no search, and the contradictions of the known edges beside it; and the number of their proofs.
fn with_contradictions(
    problem: &Problem<'_>,
    events: &Events,
    known: &Known,
    direct: Direct,
    watch: &dyn Watch,
) -> (Answer, usize) {
    let prover = Prover::new(problem, events, known, watch);
    let more = prover.contradictions(&|event| direct.explains(event));
    let more: Vec<Proof> = more.into_iter().filter(|proof| !direct.lost.explain(proof)).collect();
    let proofs = more.len();
    let mut violation = Violation::from(direct);
    if let Some(limit) = prover.turnstile.reached() {
        // An interrupted proof proves nothing.
        violation.complete = false;
        let none = violation.scenarios.is_empty();
        return (if none { Answer::Stopped(limit) } else { Answer::Violated(violation) }, proofs);
    }
    let first = violation.next_component();
    let more = more.into_iter().zip(first..).map(|(proof, component)| Scenario { proof, component });
    violation.scenarios.extend(more);
    (Answer::Violated(violation), proofs)
}

impl From<Direct> for Violation {
    fn from(direct: Direct) -> Violation {
        let Direct { scenarios, complete, .. } = direct;
        Violation { complete, ..Violation::complete(scenarios) }
    }
}

/// A violation, unless a limit was reached while it was proved.
pub(super) fn proved(prover: &Prover<'_>, violation: Violation) -> Answer {
    prover.turnstile.reached().map_or(Answer::Violated(violation), Answer::Stopped)
}

/// What is left when neither a schedule nor saturation has decided a level.
struct Search<'a> {
    /// After saturation.
    problem: Problem<'a>,
    events: Events,
    known: Known,
    /// An order of the events that contains all known edges.
    order: Vec<u32>,
}

impl Search<'_> {
    /// Decides the level; `original` is the problem before saturation.
    fn run(self, original: &Problem<'_>, level: Level, watch: &dyn Watch) -> Answer {
        let Search { problem, events, known, order } = &self;
        let stage = |name, figures| watch.stage(level, &Stage { name, figures });
        let axioms = if events.rules.says_sources() {
            let (found, figures) = search::search(problem, events, &known.edges, order.clone(), watch);
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
                visible::search(problem, events, events.rules.sight, &known.edges, order.clone(), watch);
            stage("search", figures);
            match found {
                visible::Found::Order { order, sources } => {
                    return Answer::Holds(witness::of_sources(problem, order, &sources));
                }
                visible::Found::Stopped(limit) => return Answer::Stopped(limit),
                visible::Found::Nothing(axioms) => axioms,
            }
        };
        let answer = self.prove(original, &axioms, watch);
        stage("prove", vec![("axioms", axioms.len() as u64)]);
        answer
    }

    /// The proof that no order satisfies some axioms.
    fn prove(&self, original: &Problem<'_>, axioms: &[Constraint], watch: &dyn Watch) -> Answer {
        let prover = Prover::new(original, &self.events, &self.known, watch);
        let source = |read: u32| self.problem.reads[read as usize].source;
        let tree = Cases::new(&prover, &source, axioms, &self.known.edges, &self.order).prove();
        match tree {
            Some(tree) => proved(&prover, Violation::one(prover.proof(tree))),
            None => Answer::Stopped(prover.turnstile.reached().unwrap_or(Limit::Proof)),
        }
    }
}

/// The violations that need no search, where a weaker level is known to be violated: lost updates, and stale reads. An error if
/// a limit was reached before all were found.
pub(crate) fn listed(
    history: &History,
    resolved: &Resolved,
    level: Level,
    trust_timestamps: bool,
    watch: &dyn Watch,
) -> Result<Vec<Scenario>, Limit> {
    let Some(rules) = Rules::of(level, trust_timestamps) else { return Ok(Vec::new()) };
    if !rules.conflicts && !rules.real_time {
        return Ok(Vec::new());
    }
    let problem = problem_of(history, resolved, level, watch)?;
    let lost = Lost::find(&problem, rules, watch)?;
    if lost.pairs().next().is_none() && !rules.real_time {
        return Ok(Vec::new());
    }
    let mut edges = Vec::new();
    let events = Events::new(history, resolved, rules, &mut edges, watch)?;
    saturate::given(&problem, &events, &mut edges);
    Ok(Direct::listed(&problem, &events, lost, &Known::new(edges), watch)?.scenarios)
}

//! A weak level where reads have several possible writers.
//!
//! A schedule or the search of `visible.rs` decides it. With the writers of all reads known, the level is decided in polynomial
//! time (`plain.rs`) and a violation shows a cycle. A violation found by ignoring some reads holds for every choice of their
//! writers. So the proof assumes the writers of one read after the other, first of those that occur most often in the axioms that the search used,
//! until every case has a cycle.

use isoscope_history::{History, Op, Txn};
use isoscope_levels::{Anomaly, Level};
use rustc_hash::FxHashMap;

use super::attempt::proved;
use super::constraint::Constraint;
use super::events::{Events, Rules};
use super::problem::Problem;
use super::refute::Prover;
use super::saturate::{self, Known};
use super::sources::Source;
use super::{Answer, Violation, broken, linearise, visible, witness};
use crate::certificate::{Against, Case, Edge, Limit, Proof};
use crate::options::Options;
use crate::plain::Plain;
use crate::resolve::{Link, Resolved};
use crate::semantics::Semantics;
use crate::watch::{Stage, Watch, go_on};

/// A cycle that a level forbids, and its name.
pub(crate) struct Leaf {
    pub(crate) cycle: Vec<Edge>,
    pub(crate) name: LeafName,
}

/// The name of a cycle in the proof of a weak level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafName {
    pub(crate) anomaly: Anomaly,
    pub(crate) against: Option<Against>,
}

/// Decides a weak level where reads have several possible writers.
pub(crate) fn decide_weak(
    history: &History,
    resolved: &Resolved,
    level: Level,
    options: Options,
    watch: &dyn Watch,
) -> Answer {
    let stage = |name, figures| watch.stage(level, &Stage { name, figures });
    let Semantics { sight, .. } = Semantics::of(level);
    let rules = Rules::of_order(level, options.trust_timestamps);
    let problem = match Problem::new(history, resolved, sight.needs_every_read(), watch) {
        Ok(problem) => problem,
        Err(limit) => return Answer::Stopped(limit),
    };
    let mut edges = Vec::new();
    let events = match Events::new(history, resolved, rules, &mut edges, watch) {
        Ok(events) => events,
        Err(limit) => return Answer::Stopped(limit),
    };
    saturate::given(&problem, &events, &mut edges);
    let known = Known::new(edges);
    if let Some(read) = problem.orphan() {
        let prover = Prover::new(&problem, &events, &known, watch);
        return proved(&prover, Violation::one(prover.orphan(read)));
    }
    let (order, good) = match linearise::linearise(&problem, &events, &known.edges, false, watch) {
        Ok(run) => run,
        Err(limit) => return Answer::Stopped(limit),
    };
    stage("linearise", vec![("ran", good as u64), ("events", events.nodes.into())]);
    if good == events.nodes as usize {
        return Answer::Holds(witness::of_events(&problem, &events, &order, |_| false));
    }
    if order.len() < events.nodes as usize {
        // What is certain has a cycle already.
        return prove(&problem, level, options, &[], watch);
    }
    let (found, figures) = visible::search(&problem, &events, sight, &known.edges, order, watch);
    stage("search", figures);
    match found {
        visible::Found::Order { order, sources } => {
            Answer::Holds(witness::of_sources(&problem, order, &sources))
        }
        visible::Found::Stopped(limit) => Answer::Stopped(limit),
        visible::Found::Nothing(axioms) => prove(&problem, level, options, &axioms, watch),
    }
}

/// The most cases that are tried.
const MOST_CASES: usize = 20_000;

/// A case to be proved: what is known in it, and where its number is to be entered.
struct Todo {
    resolved: Resolved,
    place: Option<(usize, usize)>,
}

/// A violation with its proof, unless that has too many cases or a limit is reached.
fn prove(
    problem: &Problem<'_>,
    level: Level,
    options: Options,
    axioms: &[Constraint],
    watch: &dyn Watch,
) -> Answer {
    match proof(problem, level, options, axioms, watch) {
        Ok((proof, leaves)) => Answer::Violated(Violation { leaves, ..Violation::one(proof) }),
        Err(limit) => Answer::Stopped(limit),
    }
}

/// The proof, and the names of its cycles.
fn proof(
    problem: &Problem<'_>,
    level: Level,
    options: Options,
    axioms: &[Constraint],
    watch: &dyn Watch,
) -> Result<(Proof, Vec<LeafName>), Limit> {
    let mut leaves = Vec::new();
    let mut often: FxHashMap<u32, usize> = FxHashMap::default();
    for axiom in axioms {
        if let Constraint::Sources { read } | Constraint::Between { read, .. } = axiom {
            *often.entry(*read).or_default() += 1;
        }
    }
    let mut cases: Vec<Case> = Vec::new();
    let mut todo = vec![Todo { resolved: problem.resolved.clone(), place: None }];
    while let Some(Todo { resolved, place }) = todo.pop() {
        let number = cases.len();
        go_on(watch)?;
        if number > MOST_CASES {
            return Err(Limit::Proof);
        }
        if let Some(place) = place {
            broken::enter(&mut cases, place, number);
        }
        let plain = Plain { history: problem.history, resolved: &resolved, options, watch };
        if let Some(leaf) = plain.leaf(level) {
            cases.push(Case::Cycle(leaf.cycle));
            leaves.push(leaf.name);
            continue;
        }
        go_on(watch)?;
        let is_open =
            |read: &u32| resolved.links[problem.reads[*read as usize].op.index()] == Link::AMBIGUOUS;
        let open = (0..problem.reads.len() as u32).filter(is_open);
        let next = open.max_by_key(|read| (often.get(read).copied(), std::cmp::Reverse(*read)));
        let next = next.ok_or(Limit::Proof)?;
        let read = &problem.reads[next as usize];
        let sources: Vec<Source> = match problem.open.binary_search_by_key(&next, |open| open.read) {
            Ok(place) => problem.open[place].sources.iter().collect(),
            Err(_) => vec![read.source],
        };
        let split = broken::split(problem, read.op, &sources, &mut cases);
        for (which, &source) in sources.iter().enumerate().rev() {
            let resolved = assume(problem, &resolved, read.op, source);
            todo.push(Todo { resolved, place: Some((split, which)) });
        }
    }
    Ok((Proof { cases }, leaves))
}

/// The same history where one read has a source, which then took effect.
pub(super) fn assume(problem: &Problem<'_>, resolved: &Resolved, read: Op, source: Source) -> Resolved {
    let mut resolved = resolved.clone();
    let Some(source) = source.txn() else {
        resolved.links[read.index()] = Link::INITIAL;
        return resolved;
    };
    resolved.links[read.index()] = Link::from(Txn(source));
    let mut todo = vec![source];
    while let Some(txn) = todo.pop() {
        if std::mem::replace(&mut resolved.present[txn as usize], true) {
            continue;
        }
        for op in problem.history.ops_of(Txn(txn)).filter(|op| op.kind.is_write() && op.last_write) {
            resolved.links[op.id.index()] = Link::WRITE;
        }
        for i in problem.reads_of(txn) {
            let read = problem.reads[i];
            todo.extend(read.source.txn());
            // The proof has to show why the read is not from transactions that cannot have committed.
            let is_open = read.source == Source::OPEN || !broken::writers(problem, read.op).is_empty();
            resolved.links[read.op.index()] = match read.source.txn() {
                _ if is_open => Link::AMBIGUOUS,
                None => Link::INITIAL,
                Some(source) => Link::from(Txn(source)),
            };
        }
    }
    resolved
}

//! Prefix consistency, snapshot isolation, serializability, their strict forms and Adya's PL-2.99: saturate, linearise, and
//! only then search.

mod events;
mod index;
mod linearise;
mod problem;
mod reach;
mod saturate;
mod search;

use std::sync::Arc;

use isoscope_history::{History, Txn};
use isoscope_levels::Level;

use crate::certificate::{Limit, Witness};
use crate::resolve::Resolved;
use crate::watch::{Stage, Watch};
use events::{Events, Rules};
use problem::Problem;
use saturate::{Known, Outcome};

/// What the event graph says about a level.
pub(crate) enum Answer {
    Holds(Witness),
    Violated,
    Stopped(Limit),
}

pub(crate) fn decide(history: &History, resolved: &Resolved, level: Level, watch: &dyn Watch) -> Option<Answer> {
    let rules = Rules::of(level)?;
    let mut problem = Problem::new(history, resolved);
    let mut edges = Vec::new();
    let events = Events::new(history, resolved, rules, &mut edges);
    saturate::given(&problem, &events, &mut edges);
    let given = edges.len();
    watch.stage(level, &Stage { name: "graph", figures: vec![("events", events.nodes.into()), ("edges", given as u64), ("reads", problem.reads.len() as u64), ("open", problem.open.len() as u64)] });
    let mut known = Known { edges, given, steps: Vec::new(), exclusions: Vec::new(), orphan: None, rounds: 0 };
    match saturate::saturate(&mut problem, &events, &mut known, watch) {
        Outcome::Fixpoint(_) => {}
        Outcome::Contradiction => {
            watch.stage(level, &Stage { name: "saturate", figures: vec![("rounds", known.rounds.into()), ("forced", known.steps.len() as u64)] });
            return Some(Answer::Violated);
        }
        Outcome::Stopped(limit) => return Some(Answer::Stopped(limit)),
    }
    watch.stage(level, &Stage { name: "saturate", figures: vec![("rounds", known.rounds.into()), ("forced", known.steps.len() as u64), ("open", problem.open.len() as u64)] });
    let (order, good) = linearise::linearise(&problem, &events, &known.edges);
    watch.stage(level, &Stage { name: "linearise", figures: vec![("ran", good as u64), ("of", events.nodes.into())] });
    if good == order.len() {
        return Some(Answer::Holds(witness(&problem, &events, &order, |_| false)));
    }
    let (found, figures) = search::search(&problem, &events, &known.edges, order, watch);
    watch.stage(level, &Stage { name: "search", figures });
    Some(match found {
        search::Found::Order(order, chosen) => {
            Answer::Holds(witness(&problem, &events, &order, |txn| chosen[txn as usize]))
        }
        search::Found::Nothing => Answer::Violated,
        search::Found::Stopped(limit) => Answer::Stopped(limit),
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

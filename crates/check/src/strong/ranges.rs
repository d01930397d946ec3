//! PL-2.99 where range reads have several possible writers.
//!
//! Of a range read, that level knows that its writer came before its reader, and nothing else. So a range read whose writer is
//! open is left out at first. Where the order that all else allows has none of its writers before the reader, each of them is
//! assumed in turn. The level holds when it does in one case. It is violated when it is in all cases, and these make one proof.

use isoscope_history::{Op, Txn};
use isoscope_levels::Level;

use super::events::Rules;
use super::problem::Problem;
use super::sources::Source;
use super::weak::assume;
use super::{Answer, Violation, attempt, broken};
use crate::certificate::{Case, Limit, Proof};
use crate::resolve::Resolved;
use crate::watch::Watch;

/// More assumptions than this are not tried.
const MOST_ASSUMED: usize = 4_000;

/// A case to be decided: what is known in it, and where its number is to be entered.
struct Todo {
    resolved: Resolved,
    place: Option<(usize, usize)>,
}

/// Decides PL-2.99. `all` has all reads, those in ranges included.
pub(super) fn decide(all: &Problem<'_>, rules: Rules, watch: &dyn Watch) -> Answer {
    let mut cases: Vec<Case> = Vec::new();
    let mut todo = vec![Todo { resolved: all.resolved.clone(), place: None }];
    let mut assumed = 0;
    while let Some(Todo { resolved, place }) = todo.pop() {
        let all = match Problem::new(all.history, &resolved, false, watch) {
            Ok(all) => all,
            Err(limit) => return Answer::Stopped(limit),
        };
        let spared = all.clone().sparing_ranges();
        let answer = attempt::decide(&spared, Level::AdyaPl299, rules, watch);
        if let Some(place) = place {
            let number = cases.len();
            broken::enter(&mut cases, place, number);
        }
        match answer {
            Answer::Stopped(limit) => return Answer::Stopped(limit),
            Answer::Violated(violation) => match violation.scenarios.into_iter().next() {
                Some(scenario) => append(&mut cases, scenario.proof),
                None => return Answer::Stopped(Limit::Proof),
            },
            Answer::Holds(witness) => {
                let order = witness.order.as_deref().unwrap_or_default();
                let Some((read, sources)) = spared.unexplained(order) else {
                    return Answer::Holds(witness);
                };
                let Some((read, sources)) = to_assume(&all, read, sources) else {
                    return Answer::Stopped(Limit::Proof);
                };
                assumed += sources.len();
                if assumed > MOST_ASSUMED {
                    return Answer::Stopped(Limit::Proof);
                }
                let split = broken::split(&all, read, &sources, &mut cases);
                todo.extend(sources.iter().enumerate().rev().map(|(which, &source)| Todo {
                    resolved: assume(&all, &resolved, read, source),
                    place: Some((split, which)),
                }));
            }
        }
    }
    Answer::Violated(Violation::one(Proof { cases }))
}

/// The read whose writer is to be assumed for a read that has none before it. What an optional transaction read counts where
/// that one took effect, so this is settled first: by a read that may be from such a transaction.
fn to_assume(all: &Problem<'_>, read: Op, sources: Vec<Source>) -> Option<(Op, Vec<Source>)> {
    if all.is_present(all.history.txn_of(read).0) {
        return Some((read, sources));
    }
    let read_of = |place: u32| all.reads[place as usize];
    let mut open = all.open.iter().filter(|open| all.is_present(read_of(open.read).txn));
    let open = open.find(|open| all.is_uncertain(open))?;
    Some((read_of(open.read).op, open.sources.iter().collect()))
}

/// Appends a proof, the nodes of which get other numbers by this.
fn append(cases: &mut Vec<Case>, proof: Proof) {
    let first = cases.len() as u32;
    cases.extend(proof.cases.into_iter().map(|case| match case {
        Case::Split { choice, cases } => {
            Case::Split { choice, cases: cases.into_iter().map(|case| first + case).collect() }
        }
        cycle @ Case::Cycle(_) => cycle,
    }));
}

impl Problem<'_> {
    /// In a commit order, a read in a range whose source is open and that has no possible source before it, if there is one,
    /// with its possible sources.
    pub(super) fn unexplained(&self, order: &[Txn]) -> Option<(Op, Vec<Source>)> {
        let mut place = vec![u32::MAX; self.history.txn_count()];
        for (txn, i) in order.iter().zip(0..) {
            place[txn.index()] = i;
        }
        let unexplained = self.open_ranged.iter().find(|(read, sources)| {
            let reader = place[self.history.txn_of(*read).index()];
            let is_before = |source: Source| source.txn().is_none_or(|txn| place[txn as usize] < reader);
            reader != u32::MAX && !sources.iter().any(is_before)
        });
        unexplained.map(|(read, sources)| (*read, sources.iter().collect()))
    }
}

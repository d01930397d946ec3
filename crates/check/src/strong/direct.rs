//! Violations that need no search: lost updates, stale reads, and the simplest cycle of certain dependencies in every component.
//!
//! All lost updates and all stale reads are found, because users look for these by their names, and count them. Of everything else a
//! component shows one cycle, its simplest; none where a lost update or a stale read of the same component is as simple.
//!
//! The *component* of a violation is a strongly connected component of the certain dependencies that a level forbids. Two
//! transactions that lost updates to each other belong to one component, and so do the two of a stale read.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Scenario;
use super::events::Events;
use super::facts::Facts;
use super::lost::Lost;
use super::problem::Problem;
use super::refute::Prover;
use super::saturate::Known;
use super::shortest::{self, Found};
use super::stale_reads::{self, StaleRead};
use crate::certificate::{Limit, Proof, Through};
use crate::semantics::Sight;
use crate::watch::Watch;

/// See the module.
pub(super) struct Direct {
    pub(super) scenarios: Vec<Scenario>,
    pub(super) lost: Lost,
    /// Whether nothing else can be wrong.
    pub(super) complete: bool,
    /// By event, whether it lies in a component of these violations.
    explained: Vec<bool>,
}

impl Direct {
    /// `known` holds the edges of the event graph, from before saturation. If a limit is reached, some violations or all are
    /// missing, and the result is not complete.
    pub(super) fn find(problem: &Problem<'_>, events: &Events, known: &Known, watch: &dyn Watch) -> Direct {
        Direct::found(problem, events, known, watch).unwrap_or_else(|_| Direct::nothing(events))
    }

    fn found(
        problem: &Problem<'_>,
        events: &Events,
        known: &Known,
        watch: &dyn Watch,
    ) -> Result<Direct, Limit> {
        let facts = Facts::new(problem, events, &known.edges, watch)?;
        let lost = Lost::find(problem, events.rules, watch)?;
        let stale = stale_reads::find(&facts, watch)?;
        let found = shortest::find(&facts, watch);
        Ok(Direct::new(&facts, lost, stale, found, known, watch))
    }

    /// No violation, and nothing is known of others.
    fn nothing(events: &Events) -> Direct {
        let explained = vec![false; events.first_tick as usize];
        Direct { scenarios: Vec::new(), lost: Lost::default(), complete: false, explained }
    }

    /// Lost updates and stale reads alone.
    pub(super) fn listed(
        problem: &Problem<'_>,
        events: &Events,
        lost: Lost,
        known: &Known,
        watch: &dyn Watch,
    ) -> Result<Direct, Limit> {
        let facts = Facts::of_versions(problem, events, watch)?;
        let stale = stale_reads::find(&facts, watch)?;
        Ok(Direct::new(&facts, lost, stale, Found::default(), known, watch))
    }

    fn new(
        facts: &Facts<'_>,
        lost: Lost,
        stale: Vec<StaleRead>,
        found: Found,
        known: &Known,
        watch: &dyn Watch,
    ) -> Direct {
        let Facts { problem, events, .. } = *facts;
        let rules = events.rules;
        let txn_of = |read: u32| problem.reads[read as usize].txn;
        let mut sets = Sets::new(events.first_tick as usize);
        let forbidden: FxHashSet<u32> = found.cycles.iter().map(|cycle| cycle.component).collect();
        let mut first: FxHashMap<u32, u32> = FxHashMap::default();
        for (&component, event) in found.of.iter().zip(0..events.first_tick) {
            if forbidden.contains(&component) {
                sets.join(*first.entry(component).or_insert(event), event);
            }
        }
        for stale in &stale {
            sets.join(rules.begin(stale.reader), rules.commit(stale.by));
        }
        for (one, other) in lost.pairs().map(|(one, other)| (txn_of(one), txn_of(other))) {
            // Either was the first: its commit, and the begin of the other.
            let ways = [[rules.commit(one), rules.begin(other)], [rules.commit(other), rules.begin(one)]];
            if !ways.iter().any(|[commit, begin]| sets.of(*commit) == sets.of(*begin)) {
                ways.into_iter().flatten().for_each(|event| sets.join(rules.commit(one), event));
            }
        }

        // Other levels forbid cycles that are not looked for here.
        let complete = !found.stopped && facts.is_complete() && rules.sight == Sight::Parallel;
        let mut direct = Direct { scenarios: Vec::new(), complete, lost, explained: Vec::new() };
        // By component, the simplest of what is listed by name.
        let mut listed: FxHashMap<u32, Rank> = FxHashMap::default();
        let any_lost = direct.lost.pairs().next().is_some();
        let prover = any_lost.then(|| Prover::new(problem, events, known, watch));
        for (pair, prover) in
            prover.iter().flat_map(|prover| direct.lost.pairs().zip(std::iter::repeat(prover)))
        {
            let (one, other) = (txn_of(pair.0), txn_of(pair.1));
            let [one_first, other_first] =
                [rules.commit(one), rules.commit(other)].map(|event| sets.of(event));
            let component = if one_first == sets.of(rules.begin(other)) { one_first } else { other_first };
            listed.insert(component, (1, Through::Dependencies, 2));
            direct.scenarios.push(Scenario { proof: Lost::proof(prover, pair), component });
        }
        if prover.is_some_and(|prover| prover.turnstile.reached().is_some()) {
            // An interrupted proof proves nothing.
            direct.scenarios.clear();
            listed.clear();
            direct.complete = false;
        }
        for StaleRead { cycle, reader, .. } in stale {
            let component = sets.of(rules.begin(reader));
            listed.entry(component).or_insert((1, Through::RealTime, 2));
            direct.scenarios.push(Scenario { proof: Proof::of_cycle(cycle), component });
        }
        for simplest in found.cycles {
            let component = sets.of(first[&simplest.component]);
            let rank = (simplest.missed, Through::of(&simplest.cycle), simplest.cycle.len());
            if listed.get(&component).is_none_or(|&other| rank < other) {
                direct.scenarios.push(Scenario { proof: Proof::of_cycle(simplest.cycle), component });
            }
        }
        direct.explain(events, &mut sets);
        direct
    }

    fn explain(&mut self, events: &Events, sets: &mut Sets) {
        let mut named = vec![false; sets.0.len()];
        for scenario in &self.scenarios {
            named[scenario.component as usize] = true;
        }
        self.explained = (0..events.first_tick).map(|event| named[sets.of(event) as usize]).collect();
    }

    /// Whether an event lies in a component of these violations.
    pub(super) fn explains(&self, event: u32) -> bool {
        self.explained[event as usize]
    }
}

/// How simple a cycle is: its anti-dependencies, what it needs, and its length.
type Rank = (u32, Through, usize);

/// Disjoint sets of events, each known by one of its members.
struct Sets(Vec<u32>);

impl Sets {
    fn new(events: usize) -> Sets {
        Sets((0..events as u32).collect())
    }

    fn of(&mut self, event: u32) -> u32 {
        let mut here = event;
        while self.0[here as usize] != here {
            let above = self.0[self.0[here as usize] as usize];
            self.0[here as usize] = above;
            here = above;
        }
        here
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.of(one), self.of(other));
        self.0[one.max(other) as usize] = one.min(other);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]
mod tests {
    use std::fmt::Write;
    use std::sync::atomic::{AtomicU32, Ordering};

    use isoscope_history::{History, notation};
    use isoscope_levels::Level;

    use super::*;
    use crate::events::Rules;
    use crate::resolve::Resolved;
    use crate::strong::saturate;
    use crate::watch::NoLimits;

    /// A budget of questions.
    struct Budget(AtomicU32);

    impl Watch for Budget {
        fn limit(&self) -> Option<Limit> {
            let left = self.0.load(Ordering::Relaxed);
            self.0.store(left.saturating_sub(1), Ordering::Relaxed);
            (left == 0).then_some(Limit::Time)
        }
    }

    /// More transactions than steps between two questions. Each overwrites what it reads, and the last two read what the one
    /// before them overwrote.
    fn history() -> History {
        let mut text = String::new();
        for txn in 1..5_000 {
            write!(text, "T{txn}@{}-{}: r(x,{}) w(x,{txn}) ", 2 * txn, 2 * txn + 1, txn - 1).unwrap();
        }
        text.push_str("T5000@10000-10001: r(x,4998) w(x,5000) T5001@10002-10003: r(x,4998) w(x,5001)");
        notation::parse(&text).unwrap()
    }

    /// A stage stops when the budget is used up before it begins, and when that happens on its way.
    fn stops<T>(name: &str, stage: impl Fn(&dyn Watch) -> Result<T, Limit>) {
        for questions in [0, 1] {
            let found = stage(&Budget(AtomicU32::new(questions)));
            assert_eq!(found.err(), Some(Limit::Time), "{name} after {questions}");
        }
        assert!(stage(&NoLimits).is_ok(), "{name}");
    }

    #[test]
    fn every_linear_pass_stops() {
        let history = history();
        let resolved = Resolved::new(&history);
        let rules = Rules::of(Level::StrictSnapshot, false).unwrap();
        let problem = Problem::new(&history, &resolved, false, &NoLimits).unwrap();
        stops("events", |watch| Events::new(&history, &resolved, rules, &mut Vec::new(), watch));
        let mut edges = Vec::new();
        let events = Events::new(&history, &resolved, rules, &mut edges, &NoLimits).unwrap();
        saturate::given(&problem, &events, &mut edges);
        stops("facts", |watch| Facts::new(&problem, &events, &edges, watch));
        stops("lost updates", |watch| Lost::find(&problem, rules, watch));
        let facts = Facts::new(&problem, &events, &edges, &NoLimits).unwrap();
        stops("stale reads", |watch| stale_reads::find(&facts, watch));

        let known = Known::new(edges);
        for questions in 0..8 {
            let found = Direct::find(&problem, &events, &known, &Budget(AtomicU32::new(questions)));
            assert!(!found.complete && found.scenarios.is_empty(), "{questions}");
        }
        let found = Direct::find(&problem, &events, &known, &NoLimits);
        assert!(found.scenarios.len() > 2, "{}", found.scenarios.len());
    }
}

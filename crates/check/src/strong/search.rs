//! Search for the levels at which an order of events determines from which writer every read is: the last one before it.
//!
//! An order is replayed (`refine.rs`). Where a read does not find what it returned, or two writers of one key overlap, the
//! constraint that is broken there becomes a clause.

use isoscope_history::{Key, Txn};
use isoscope_solve::Lit;
use rustc_hash::FxHashMap;

use super::constraint::Constraint;
use super::encode::Encoder;
use super::events::{Events, Rules};
use super::lookahead;
use super::memo;
use super::problem::Problem;
use super::refine::{Refined, Replay, refine};
use super::sources::{Source, Sources};
use crate::certificate::Limit;
use crate::watch::Watch;

/// The result of a search.
pub(crate) enum Found {
    /// An order of events that explains every read, and for each transaction whether it took effect, if it is optional.
    Order(Vec<u32>, Vec<bool>),
    /// No order satisfies these constraints.
    Nothing(Vec<Constraint>),
    Stopped(Limit),
}

/// How many of the writers between a read and its source become clauses in one round.
const AT_A_TIME: usize = 16;

/// Searches for an order, starting from one.
pub(crate) fn search(
    problem: &Problem<'_>,
    events: &Events,
    edges: &[(u32, u32)],
    order: Vec<u32>,
    watch: &dyn Watch,
) -> (Found, Vec<(&'static str, u64)>) {
    let mut search = Search {
        problem,
        rules: events.rules,
        encoder: Encoder::new(problem, events, edges, &order),
        open: problem.open.iter().map(|open| (open.read, &open.sources)).collect(),
        place: vec![0; events.nodes as usize],
        events,
        broken: Vec::new(),
        edges,
        states: 0,
    };
    search.encoder.add_optional(events);
    if search.encoder.is_certain() {
        search.look_ahead(watch);
    }
    let (refined, mut figures) = refine(&mut search, order, watch);
    figures.extend((search.states > 0).then_some(("states", search.states as u64)));
    let found = match refined {
        Refined::Order(order) => {
            let txns = 0..problem.history.txn_count() as u32;
            Found::Order(order, txns.map(|txn| search.encoder.is_there(txn)).collect())
        }
        Refined::Unsat => Found::Nothing(search.broken),
        Refined::Stopped(limit) => Found::Stopped(limit),
    };
    (found, figures)
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    rules: Rules,
    encoder: Encoder<'a>,
    open: FxHashMap<u32, &'a Sources>,
    place: Vec<u32>,
    events: &'a Events,
    /// All constraints that became clauses.
    broken: Vec<Constraint>,
    /// What is known of the order from the start.
    edges: &'a [(u32, u32)],
    /// How many states the memoised search entered.
    states: usize,
}

impl<'a> Replay<'a> for Search<'a> {
    fn encoder(&mut self) -> &mut Encoder<'a> {
        &mut self.encoder
    }

    /// The solver must say first which optional transactions took effect, and whether what was found by looking ahead decides all.
    fn replays_first(&self) -> bool {
        self.encoder.is_certain() && self.broken.is_empty()
    }

    fn alternative(&mut self, watch: &dyn Watch) -> Option<Vec<u32>> {
        if !memo::applies(self.problem, self.events) {
            return None;
        }
        let (order, states) = memo::search(self.problem, self.events, self.edges, watch);
        self.states = states;
        order
    }

    fn replay(&mut self, order: &[u32]) -> Result<bool, Limit> {
        let before = self.broken.len();
        for (&node, i) in order.iter().zip(0..) {
            self.place[node as usize] = i;
        }
        let mut current = vec![Source::INITIAL; self.problem.history.key_count()];
        let first_tick = self.events.first_tick;
        for &node in order.iter().filter(|&&node| node < first_tick) {
            let txn = self.rules.txn(node);
            if !self.encoder.is_there(txn) {
                continue;
            }
            if self.rules.is_begin(node) {
                for i in self.problem.reads_of(txn) {
                    let key = self.problem.reads[i].key;
                    self.check_read(i as u32, current[key.index()]);
                }
            }
            if !self.rules.split || !self.rules.is_begin(node) {
                for (key, _) in self.problem.writes_of(txn) {
                    let before = std::mem::replace(&mut current[key.index()], Source::of(txn)).txn();
                    if let Some(before) = before.filter(|_| self.rules.split && self.rules.conflicts) {
                        self.check_conflict(key, before, txn);
                    }
                }
            }
        }
        Ok(self.broken.len() > before)
    }
}

impl Search<'_> {
    fn add(&mut self, constraint: Constraint, clause: &[Lit]) {
        self.encoder.solver.add_clause(clause);
        self.broken.push(constraint);
    }

    /// Begins with axioms that contradict each other, if looking ahead finds some.
    fn look_ahead(&mut self, watch: &dyn Watch) {
        for constraint in lookahead::contradiction(self.problem, self.events, self.edges, watch) {
            match constraint {
                Constraint::Sources { read } => {
                    self.begin_open(read, self.open[&read]);
                }
                Constraint::Between { read, source, writer } => {
                    let open = self.open.contains_key(&read);
                    let clause = self.encoder.between(read, source, writer, open);
                    self.add(constraint, &clause);
                }
                Constraint::Conflict { .. } => {}
            }
        }
    }

    /// Two writers of a key must not overlap.
    fn check_conflict(&mut self, key: Key, first: u32, second: u32) {
        let rules = self.rules;
        if self.place[rules.commit(first) as usize] > self.place[rules.begin(second) as usize] {
            let clause = self.encoder.conflict(first, second);
            self.add(Constraint::Conflict { key, first, second }, &clause);
        }
    }

    fn check_read(&mut self, i: u32, current: Source) {
        let read = self.problem.reads[i as usize];
        if read.source != Source::OPEN {
            if current != read.source {
                self.forbid_between(i, read.source, false);
            }
            return;
        }
        let sources = self.open[&i];
        if sources.contains(current) && current.txn().is_none_or(|txn| self.encoder.is_there(txn)) {
            return;
        }
        let begun = sources.iter().next().is_some_and(|first| self.encoder.has_sources(i, first));
        let chosen: Vec<Source> = if begun {
            sources.iter().filter(|&source| self.encoder.is_from(i, source)).collect()
        } else {
            self.begin_open(i, sources).into_iter().collect()
        };
        for source in chosen {
            self.forbid_between(i, source, true);
        }
    }

    /// Makes variables for the sources of an open read; returns the source that is tried first, if it is before the read.
    fn begin_open(&mut self, i: u32, sources: &Sources) -> Option<Source> {
        let best = self.encoder.best(i, sources.iter(), &self.place);
        let any = self.encoder.sources(i, sources.iter(), best.map(|(best, _)| best), None);
        self.add(Constraint::Sources { read: i }, &any);
        best.filter(|&(_, is_before)| is_before).map(|(best, _)| best)
    }

    /// No transaction may write the key between a source and a read of it: forbids those that do so now.
    fn forbid_between(&mut self, i: u32, source: Source, open: bool) {
        let read = self.problem.reads[i as usize];
        let (rules, begin) = (self.rules, self.rules.begin(read.txn));
        let until = self.place[begin as usize];
        let from = source.txn().map_or(0, |source| self.place[rules.commit(source) as usize] + 1);
        let mut between: Vec<(u32, u32)> = Vec::new();
        for &Txn(writer) in self.problem.history.writers(read.key) {
            let place = self.place[rules.commit(writer) as usize];
            if (from..until).contains(&place) && writer != read.txn && self.encoder.is_there(writer) {
                between.push((place, writer));
            }
        }
        between.sort_unstable();
        for &(_, writer) in between.iter().rev().take(AT_A_TIME) {
            let clause = self.encoder.between(i, source, writer, open);
            self.add(Constraint::Between { read: i, source, writer }, &clause);
        }
    }
}

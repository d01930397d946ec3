//! Refutation: a proof that a person can read and `verify` can check, from the steps that led to a contradiction.
//!
//! Saturation ends with a cycle of edges, or with a read that has no source left. Each of its steps rests on a path of edges of
//! earlier rounds: the alternative would have closed a cycle with it. So the proof is read backwards: the last cycle, the steps
//! it uses, the paths they rest on, and so on. It is written forwards, with a split for each step: a cycle refutes one
//! alternative, and the proof continues with the other. Steps that are not needed do not appear.
//!
//! Where saturation was not enough and the search returned UNSAT, the same is done under assumptions: one choice after the other
//! is split until every branch ends in a cycle (`cases.rs`).
//!
//! Paths run through events, and a proof shows transactions: the step from a begin to its own commit is left out, steps
//! along a session are joined, and so are ticks of the clock.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use isoscope_history::{Key, Op, Txn};
use isoscope_order::{Components, Graph};
use rustc_hash::{FxHashMap, FxHashSet};

use super::events::Events;
use super::index::Index;
use super::problem::Problem;
use super::reach::Reach;
use super::saturate::{Exclusion, Known, Round, Rule, Step};
use super::shortcut::shortened;
use super::sources::Source;
use super::{broken, repeats};
use crate::certificate::{Case, Choice, Dependency, Edge, Node, Proof, Why};
use crate::trace;
use crate::watch::{Turnstile, Watch};

/// An edge on a path of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) by: By,
}

/// What an edge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// It holds from the start.
    Given,
    /// A step of saturation.
    Step(u32),
    /// `from` is before `to` among the writers of a key, by assumption.
    Order(Key),
    /// A read misses a writer.
    Missed(u32),
    /// A read is from a writer: by assumption, or because no other writer can have committed.
    Read(u32),
}

/// Finds proofs.
pub(super) struct Prover<'a> {
    /// The problem as it was before saturation.
    pub(super) problem: &'a Problem<'a>,
    pub(super) events: &'a Events,
    known: &'a Known,
    /// All edges, with their numbers.
    graph: Graph,
    numbers: Graph,
    /// By read, which of its sources were excluded, in the order of rounds and sources.
    exclusions: FxHashMap<u32, Vec<&'a Exclusion>>,
    /// What reached what in rounds that exclusions were asked about.
    rounds: RefCell<Rounds>,
    paths: RefCell<Paths>,
    watch: &'a dyn Watch,
    /// Once a limit is reached, no path is found any more, and the proof is not valid.
    pub(super) turnstile: Turnstile<'a>,
}

/// What reached what, by round: see [`Prover::reach_in`].
#[derive(Default)]
struct Rounds {
    index: Option<Index>,
    reaches: FxHashMap<u32, Option<Rc<Reach>>>,
}

/// The most bytes of reachability that are kept.
const MOST_BYTES: u64 = 1 << 28;

/// The state of a search for a lightest path, from which each search costs only what it visits.
#[derive(Default)]
struct Paths {
    /// By node, how far it is.
    far: Vec<u32>,
    /// How it was met.
    by: Vec<Hop>,
    met: Vec<u32>,
    /// The nodes to look at, by their distance; none is further than the largest weight from the one at hand.
    queue: [Vec<u32>; STEP_WEIGHT as usize + 1],
}

impl Paths {
    fn begin(&mut self, nodes: usize) {
        self.queue.iter_mut().for_each(Vec::clear);
        for node in self.met.drain(..) {
            self.far[node as usize] = u32::MAX;
        }
        self.far.resize(nodes, u32::MAX);
        self.by.resize(nodes, Hop { from: 0, to: 0, by: By::Given });
    }

    fn meet(&mut self, far: u32, hop: Hop) {
        let node = hop.to as usize;
        if self.far[node] == u32::MAX {
            self.met.push(hop.to);
        }
        (self.far[node], self.by[node]) = (far, hop);
        let place = far as usize % self.queue.len();
        self.queue[place].push(hop.to);
    }

    /// The nodes at the next distance that has some, in ascending order; the first time, those at `far`.
    fn next(&mut self, far: &mut u32) -> Option<Vec<u32>> {
        let length = self.queue.len() as u32;
        let next = (*far..*far + length).find(|far| !self.queue[(far % length) as usize].is_empty())?;
        *far = next;
        let mut nodes = std::mem::take(&mut self.queue[(next % length) as usize]);
        nodes.sort_unstable();
        Some(nodes)
    }

    fn trace(&self, from: u32, to: u32) -> Option<Vec<Hop>> {
        let mut path = Vec::new();
        let mut node = to;
        while node != from {
            if self.far[node as usize] == u32::MAX {
                return None;
            }
            let hop = self.by[node as usize];
            path.push(hop);
            node = hop.from;
        }
        path.reverse();
        Some(path)
    }
}

/// How much a step counts on a path, compared with a given edge: it has to be explained in turn.
const STEP_WEIGHT: u32 = 6;
/// How many cycles of a component are tried for a short proof.
const TRIES: usize = 24;

impl<'a> Prover<'a> {
    pub(super) fn new(
        problem: &'a Problem<'a>,
        events: &'a Events,
        known: &'a Known,
        watch: &'a dyn Watch,
    ) -> Prover<'a> {
        let nodes = events.nodes as usize;
        let numbered: Vec<(u32, u32)> =
            known.edges.iter().zip(0..).map(|(&(from, _), i)| (from, i)).collect();
        let mut exclusions: FxHashMap<u32, Vec<&Exclusion>> = FxHashMap::default();
        for exclusion in &known.exclusions {
            exclusions.entry(exclusion.read).or_default().push(exclusion);
        }
        let (graph, numbers) = (Graph::from_edges(nodes, &known.edges), Graph::from_edges(nodes, &numbered));
        let (rounds, paths) = (RefCell::default(), RefCell::default());
        let turnstile = Turnstile::new(watch);
        Prover { problem, events, known, graph, numbers, exclusions, rounds, paths, watch, turnstile }
    }

    /// A proof for every part of a contradiction that saturation found and that holds no event that is explained already;
    /// the shortest first.
    pub(super) fn contradictions(&self, is_explained: &dyn Fn(u32) -> bool) -> Vec<Proof> {
        if let Some(read) = self.known.orphan {
            return vec![self.orphan(read)];
        }
        let last = self.known.rounds;
        let components = Components::find(&self.graph);
        let explained = (0..self.events.first_tick).filter(|&event| is_explained(event));
        let explained: FxHashSet<u32> = explained.map(|event| components.of[event as usize]).collect();
        let mut closing: FxHashMap<u32, Vec<Hop>> = FxHashMap::default();
        for (i, &(from, to)) in self.known.edges.iter().enumerate() {
            let step = i.checked_sub(self.known.given);
            let new = step.map_or(last == 0, |step| self.known.steps[step].round == last);
            let component = components.of[from as usize];
            if new && component == components.of[to as usize] && !explained.contains(&component) {
                let by = step.map_or(By::Given, |step| By::Step(step as u32));
                closing.entry(component).or_default().push(Hop { from, to, by });
            }
        }
        let mut closing: Vec<(u32, Vec<Hop>)> = closing.into_iter().collect();
        closing.sort_unstable_by_key(|(component, _)| *component);
        let mut proofs: Vec<Proof> = closing
            .into_iter()
            .filter_map(|(component, hops)| {
                let within = |node: u32| components.of[node as usize] == component;
                let proofs = hops.iter().take(TRIES).filter_map(|&hop| {
                    let mut cycle = self.path(hop.to, hop.from, last + 1, &within)?;
                    cycle.push(hop);
                    Some(self.proof(Tree::Cycle(cycle)))
                });
                proofs.min_by_key(|proof| (!misses(proof), proof.size()))
            })
            .collect();
        proofs.sort_by_key(Proof::size);
        proofs
    }

    /// Why a read has no source.
    pub(super) fn orphan(&self, read: u32) -> Proof {
        self.proof(Tree::Source { read, cases: self.refuted_sources(read) })
    }

    /// Why a read cannot have the sources that saturation excluded.
    fn refuted_sources(&self, read: u32) -> Vec<(Source, Tree)> {
        let excluded = self.excluded(read);
        excluded.map(|(source, round)| (source, self.exclusion(read, source, round))).collect()
    }

    /// The sources of a read that saturation excluded, and in which round.
    fn excluded(&self, read: u32) -> impl Iterator<Item = (Source, u32)> + '_ {
        let open = self.problem.open.binary_search_by_key(&read, |open| open.read);
        let sources = open.ok().map(|place| &self.problem.open[place].sources);
        let exclusions = self.exclusions.get(&read).into_iter().flatten();
        exclusions.zip(std::iter::repeat(sources)).flat_map(|(exclusion, sources)| {
            let part = sources.map_or(&[][..], |sources| sources.listed(&exclusion.part));
            part.iter().map(|&source| (source, exclusion.round))
        })
    }

    /// Why saturation excluded a source of a read, if it did.
    pub(super) fn exclusion_of(&self, read: u32, source: Source) -> Option<Tree> {
        let (_, round) = self.excluded(read).find(|&(excluded, _)| excluded == source)?;
        Some(self.exclusion(read, source, round))
    }

    /// Why a read cannot have a source.
    fn exclusion(&self, read: u32, source: Source, round: u32) -> Tree {
        let by = self.excluded_by(read, source, round);
        let rules = self.events.rules;
        let Problem { reads, .. } = self.problem;
        let (key, reader) = (reads[read as usize].key, reads[read as usize].txn);
        let begin = rules.begin(reader);
        let path = |from, to| self.far_path(from, to, round);
        let (writer, source) = match (by, source.txn()) {
            (Some(writer), source) => (writer, source),
            (None, Some(source)) => {
                let mut cycle = path(begin, rules.commit(source));
                cycle.push(Hop { from: rules.commit(source), to: begin, by: By::Read(read) });
                return Tree::Cycle(cycle);
            }
            // Only an interrupted search finds no transaction that overwrote the initial state.
            (None, None) => return Tree::Cycle(Vec::new()),
        };
        let mut missed = path(rules.commit(writer), begin);
        missed.push(Hop { from: begin, to: rules.commit(writer), by: By::Missed(read) });
        let Some(source) = source else { return Tree::Cycle(missed) };
        let mut overwritten = path(rules.overwrite(source), rules.commit(writer));
        let (from, to) = (rules.commit(writer), rules.overwrite(source));
        overwritten.push(Hop { from, to, by: By::Order(key) });
        let (first, second) = (source, writer);
        let cases = [Tree::Cycle(missed), Tree::Cycle(overwritten)];
        Tree::Versions { key, first, second, cases: Box::new(cases) }
    }

    /// The lightest path between two events along edges of earlier rounds, through some nodes.
    pub(super) fn path(
        &self,
        from: u32,
        to: u32,
        before_round: u32,
        within: &dyn Fn(u32) -> bool,
    ) -> Option<Vec<Hop>> {
        let reach = self.guide(before_round);
        let leads_there = |node: u32| {
            let chain = || self.events.chain_of(self.problem.history, node);
            node == to || reach.as_ref().is_none_or(|reach| reach.precedes(node, chain(), to))
        };
        let within = |node: u32| within(node) && leads_there(node);
        self.path_with(from, to, before_round, &within, &FxHashMap::default())
    }

    /// A path between two events that may lie far apart: along the session of the first one as far as it leads there, and
    /// lightest from then on.
    fn far_path(&self, from: u32, to: u32, before_round: u32) -> Vec<Hop> {
        let chain = self.events.chain_of(self.problem.history, from);
        let last = self.reach_in(before_round).map_or(from, |reach| reach.bound(to, chain).saturating_sub(1));
        let last = if last > from && self.events.rules.sessions { last } else { from };
        let along = (last > from).then_some(Hop { from, to: last, by: By::Given });
        let rest = self.path(last, to, before_round, &|_| true).unwrap_or_default();
        along.into_iter().chain(rest).collect()
    }

    /// Reachability along edges of earlier rounds, to look only at events that lead to the end of a path. It costs as much as a
    /// pass over the graph, so it is made once paths have cost more than that, and only if that of all rounds can be kept.
    fn guide(&self, before_round: u32) -> Option<Rc<Reach>> {
        let known = self.known;
        let rounds = u64::from(known.rounds) + 1;
        let fits = Reach::fits(self.events) && rounds * Reach::bytes(self.events) <= MOST_BYTES;
        let pays = self.turnstile.steps() as usize > known.edges.len();
        if fits && pays && before_round <= known.rounds { self.reach_in(before_round) } else { None }
    }

    /// Reachability along edges of earlier rounds, if these have no cycle.
    fn reach_in(&self, before_round: u32) -> Option<Rc<Reach>> {
        let Prover { problem, events, known, watch, .. } = *self;
        let reaches = &mut self.rounds.borrow_mut().reaches;
        if reaches.len() as u64 * Reach::bytes(events) > MOST_BYTES {
            reaches.clear();
        }
        let reach = reaches.entry(before_round).or_insert_with(|| {
            let given = known.edges[..known.given].iter().copied();
            let steps = known.steps.iter().filter(|step| step.round < before_round);
            let edges: Vec<(u32, u32)> = given.chain(steps.map(|step| (step.from, step.to))).collect();
            let reach = Reach::new(problem.history, events, &edges, watch).map(Rc::new);
            // It may have been interrupted.
            self.turnstile.ask();
            reach
        });
        reach.clone()
    }

    /// The same, with more edges.
    pub(super) fn path_with(
        &self,
        from: u32,
        to: u32,
        before_round: u32,
        within: &dyn Fn(u32) -> bool,
        more: &FxHashMap<u32, Vec<Hop>>,
    ) -> Option<Vec<Hop>> {
        if from == to {
            return Some(Vec::new());
        }
        let paths = &mut *self.paths.borrow_mut();
        paths.begin(self.graph.len());
        paths.meet(0, Hop { from, to: from, by: By::Given });
        let mut far = 0;
        // Those that are as far are looked at in ascending order.
        'search: while let Some(nodes) = paths.next(&mut far) {
            for node in nodes {
                if node == to {
                    break 'search;
                }
                if !self.turnstile.step() {
                    return None;
                }
                if paths.far[node as usize] < far {
                    continue;
                }
                let numbers = self.numbers.successors(node);
                let edges = numbers.iter().zip(self.graph.successors(node)).filter_map(|(&number, &next)| {
                    match (number as usize).checked_sub(self.known.given) {
                        None => Some((Hop { from: node, to: next, by: By::Given }, 1)),
                        Some(step) if self.known.steps[step].round < before_round && self.is_edge(step) => {
                            Some((Hop { from: node, to: next, by: By::Step(step as u32) }, STEP_WEIGHT))
                        }
                        Some(_) => None,
                    }
                });
                let more = more.get(&node).into_iter().flatten().map(|&hop| (hop, 1));
                for (hop, weight) in edges.chain(more) {
                    if far + weight < paths.far[hop.to as usize] && within(hop.to) {
                        paths.meet(far + weight, hop);
                    }
                }
            }
        }
        paths.trace(from, to)
    }

    /// Why a source of a read was excluded in a round; see [`Round::excluded_by`].
    fn excluded_by(&self, read: u32, source: Source, round: u32) -> Option<u32> {
        let Prover { problem, events, watch, .. } = *self;
        let reach = self.reach_in(round)?;
        let mut rounds = self.rounds.borrow_mut();
        let index = rounds.index.get_or_insert_with(|| Index::new(problem, events));
        Round::new(problem, events, index, &reach, round, watch).excluded_by(read, source)
    }

    /// Whether a step can be on a path.
    fn is_edge(&self, step: usize) -> bool {
        match self.known.steps[step].rule {
            Rule::Misses { read, .. } => {
                self.events.rules.misses_of(self.problem.history, self.problem.reads[read as usize].txn)
            }
            _ => true,
        }
    }

    /// What a step rests on: paths, and reads whose source must be known.
    fn ground(&self, step: &Step) -> (Vec<Hop>, Option<u32>) {
        let rules = self.events.rules;
        let path = |from, to| self.path(from, to, step.round, &|_| true).unwrap_or_default();
        match step.rule {
            Rule::Before { read, writer } => {
                let begin = rules.begin(self.problem.reads[read as usize].txn);
                (path(rules.commit(writer), begin), Some(read))
            }
            Rule::Misses { read, writer } => match self.overwritten_source(read, writer) {
                Some(source) => (path(rules.overwrite(source), rules.commit(writer)), Some(read)),
                None => (Vec::new(), Some(read)),
            },
            Rule::Conflict { first, second, .. } => {
                (path(rules.overwrite(first), rules.commit(second)), None)
            }
            Rule::Source { read } => (Vec::new(), Some(read)),
        }
    }

    /// The source of a read that saturation knows.
    fn source(&self, read: u32) -> Source {
        let original = self.problem.reads[read as usize].source;
        let Ok(open) = self.problem.open.binary_search_by_key(&read, |open| open.read) else {
            return original;
        };
        let mut sources = self.problem.open[open].sources.clone();
        for exclusion in self.exclusions.get(&read).into_iter().flatten() {
            sources.remove(std::slice::from_ref(&exclusion.part));
        }
        sources.iter().next().unwrap_or(original)
    }

    /// Whether it needs no choice to see that a read misses a writer: it read the initial state, or a list without what the
    /// writer appended.
    pub(super) fn is_plainly_missed(&self, read: u32, writer: u32) -> bool {
        self.overwritten_source(read, writer).is_none()
    }

    /// The source of a read that must be before a writer for the read to miss it; none where it is plainly missed.
    fn overwritten_source(&self, read: u32, writer: u32) -> Option<u32> {
        let op = self.problem.reads[read as usize].op;
        self.source(read).txn().filter(|_| !self.lacks(op, writer))
    }

    /// Whether a list that was read lacks what a writer appended.
    pub(super) fn lacks(&self, read: Op, writer: u32) -> bool {
        self.problem.lacks(read, writer)
    }

    /// Puts what a tree rests on before it, and writes the whole in terms of transactions.
    pub(super) fn proof(&self, tree: Tree) -> Proof {
        let mut grounds: FxHashMap<u32, Vec<Hop>> = FxHashMap::default();
        let mut reads: FxHashSet<u32> = FxHashSet::default();
        let mut todo: Vec<u32> = Vec::new();
        tree.each_hop(&mut |hop| {
            todo.extend(hop.step());
            reads.extend(self.read_of(hop));
        });
        let mut excluding: FxHashMap<u32, Vec<(Source, Tree)>> = FxHashMap::default();
        let assumed = tree.assumed();
        let mut known: Vec<u32> = reads.into_iter().collect();
        loop {
            if let Some(step) = todo.pop() {
                if grounds.contains_key(&step) {
                    continue;
                }
                let (path, read) = self.ground(&self.known.steps[step as usize]);
                todo.extend(path.iter().filter_map(Hop::step));
                known.extend(path.iter().filter_map(|hop| self.read_of(hop)));
                known.extend(read);
                grounds.insert(step, path);
            } else if let Some(read) = known.pop() {
                let is_settled =
                    excluding.contains_key(&read) || assumed.contains(&read) || !self.is_open(read);
                // A read of an optional transaction counts only where that one took effect: see `Writer::settle_optional`.
                if is_settled || !self.is_present_reader(read) {
                    continue;
                }
                let cases = self.refuted_sources(read);
                for (_, tree) in &cases {
                    tree.each_hop(&mut |hop| {
                        todo.extend(hop.step());
                        known.extend(self.read_of(hop).filter(|&other| other != read));
                    });
                }
                excluding.insert(read, cases);
            } else {
                break;
            }
        }
        let mut lemmas: Vec<Lemma> = Vec::new();
        for (read, cases) in excluding {
            let exclusions = self.exclusions.get(&read).into_iter().flatten();
            let round = exclusions.map(|exclusion| exclusion.round).max().unwrap_or(0);
            lemmas.push(Lemma { round, after: false, what: What::Source { read, cases } });
        }
        for (step, path) in grounds {
            let Step { round, rule, .. } = self.known.steps[step as usize];
            if !matches!(rule, Rule::Source { .. }) {
                lemmas.push(Lemma { round, after: true, what: What::Step { step, path } });
            }
        }
        lemmas.sort_by_key(|lemma| (lemma.round, lemma.after, lemma.what.number()));
        let mut writer = Writer { prover: self, cases: Vec::new(), orders: FxHashSet::default() };
        let is_settled = lemmas.into_iter().any(|lemma| writer.lemma(lemma.what));
        if !is_settled {
            writer.tree(tree);
        }
        repeats::left_out(Proof { cases: writer.cases })
    }

    /// Whether several transactions wrote what a read returned, be it that some of them cannot have committed.
    fn is_open(&self, read: u32) -> bool {
        self.is_choice(read)
            || !broken::writers(self.problem, self.problem.reads[read as usize].op).is_empty()
    }

    /// Whether several transactions that can have committed wrote what a read returned.
    fn is_choice(&self, read: u32) -> bool {
        self.problem.open.binary_search_by_key(&read, |open| open.read).is_ok()
    }

    fn is_present_reader(&self, read: u32) -> bool {
        self.problem.is_present(self.problem.reads[read as usize].txn)
    }

    /// The read whose source an edge takes for granted.
    fn read_of(&self, hop: &Hop) -> Option<u32> {
        match hop.by {
            By::Missed(read) | By::Read(read) => Some(read),
            By::Given if !self.problem.broken.is_empty() => self.given_read(hop),
            _ => None,
        }
    }

    /// The read that an edge that holds from the start stands for.
    fn given_read(&self, hop: &Hop) -> Option<u32> {
        let Events { rules, first_tick, .. } = *self.events;
        if hop.to >= first_tick || hop.from >= first_tick || !rules.is_begin(hop.to) {
            return None;
        }
        let (from, to) = (rules.txn(hop.from), rules.txn(hop.to));
        let mut reads = self.problem.reads_of(to);
        reads.find(|&i| from != to && self.problem.reads[i].source.is(from)).map(|i| i as u32)
    }
}

/// Whether the main cycle of a proof has an anti-dependency. A cycle of forced orders alone is harder to follow.
fn misses(proof: &Proof) -> bool {
    proof.main_cycle().iter().any(|edge| edge.dependency() == Dependency::Missed)
}

impl Hop {
    fn step(&self) -> Option<u32> {
        match self.by {
            By::Step(step) => Some(step),
            _ => None,
        }
    }
}

/// A proof in terms of events.
pub(super) enum Tree {
    Cycle(Vec<Hop>),
    /// `first` before `second`, then the other way round.
    Versions {
        key: Key,
        first: u32,
        second: u32,
        cases: Box<[Tree; 2]>,
    },
    /// By source.
    Source {
        read: u32,
        cases: Vec<(Source, Tree)>,
    },
}

impl Tree {
    fn each(&self, visit: &mut dyn FnMut(&Tree)) {
        let mut todo = vec![self];
        while let Some(tree) = todo.pop() {
            visit(tree);
            match tree {
                Tree::Cycle(_) => {}
                Tree::Versions { cases, .. } => todo.extend(cases.iter()),
                Tree::Source { cases, .. } => todo.extend(cases.iter().map(|(_, tree)| tree)),
            }
        }
    }

    fn each_hop(&self, visit: &mut dyn FnMut(&Hop)) {
        self.each(&mut |tree| {
            if let Tree::Cycle(hops) = tree {
                hops.iter().for_each(&mut *visit);
            }
        });
    }

    /// The reads whose source the tree itself distinguishes.
    fn assumed(&self) -> FxHashSet<u32> {
        let mut reads = FxHashSet::default();
        self.each(&mut |tree| {
            if let Tree::Source { read, .. } = tree {
                reads.insert(*read);
            }
        });
        reads
    }
}

struct Lemma {
    round: u32,
    after: bool,
    what: What,
}

enum What {
    Source { read: u32, cases: Vec<(Source, Tree)> },
    Step { step: u32, path: Vec<Hop> },
}

impl What {
    fn number(&self) -> u32 {
        match self {
            What::Source { read, .. } => *read,
            What::Step { step, .. } => *step,
        }
    }
}

struct Writer<'p, 'a> {
    prover: &'p Prover<'a>,
    cases: Vec<Case>,
    /// The orders of writers settled so far.
    orders: FxHashSet<(Key, u32, u32)>,
}

impl Writer<'_, '_> {
    /// Writes a lemma; whether it is a contradiction by itself.
    fn lemma(&mut self, what: What) -> bool {
        match what {
            What::Source { read, cases } => {
                let source = self.prover.source(read);
                let place = self.split_source(read);
                for (excluded, tree) in cases {
                    let number = self.cases.len();
                    self.set_source(place, read, excluded, number);
                    self.tree(tree);
                }
                let number = self.cases.len();
                self.set_source(place, read, source, number);
                false
            }
            What::Step { step, path } => self.step(self.prover.known.steps[step as usize].rule, path),
        }
    }

    /// Begins a split of the sources of a read, in the order of the original problem.
    fn split_source(&mut self, read: u32) -> usize {
        let problem = self.prover.problem;
        let op = problem.reads[read as usize].op;
        let sources = self.sources(read);
        broken::split(problem, op, &sources, &mut self.cases)
    }

    fn sources(&self, read: u32) -> Vec<Source> {
        let problem = self.prover.problem;
        match problem.open.binary_search_by_key(&read, |open| open.read) {
            Ok(place) => problem.open[place].sources.iter().collect(),
            Err(_) => vec![problem.reads[read as usize].source],
        }
    }

    fn set_source(&mut self, place: usize, read: u32, source: Source, number: usize) {
        if let Some(which) = self.sources(read).iter().position(|&s| s == source) {
            broken::enter(&mut self.cases, (place, which), number);
        }
    }

    /// Writes a step: the alternative closes a cycle with its path, and the step itself is assumed from then on.
    fn step(&mut self, rule: Rule, mut path: Vec<Hop>) -> bool {
        let rules = self.prover.events.rules;
        let problem = self.prover.problem;
        match rule {
            Rule::Source { .. } => false,
            Rule::Misses { read, writer } => {
                let key = problem.reads[read as usize].key;
                if let Some(source) = self.prover.overwritten_source(read, writer) {
                    self.order(key, source, writer, path);
                }
                false
            }
            Rule::Conflict { key, first, second } => {
                self.order(key, first, second, path);
                false
            }
            Rule::Before { read, writer } => {
                let (key, reader) = (problem.reads[read as usize].key, problem.reads[read as usize].txn);
                path.push(Hop { from: rules.begin(reader), to: rules.commit(writer), by: By::Missed(read) });
                let Some(source) = self.prover.overwritten_source(read, writer) else {
                    let cycle = self.edges(&path);
                    self.cases.push(Case::Cycle(cycle));
                    return true;
                };
                if self.orders.insert((key, writer, source)) {
                    let first = self.cases.len() as u32 + 1;
                    let choice = Choice::Versions { key, first: Txn(source), second: Txn(writer) };
                    self.cases.push(Case::Split { choice, cases: vec![first, first + 1] });
                    let cycle = self.edges(&path);
                    self.cases.push(Case::Cycle(cycle));
                }
                false
            }
        }
    }

    /// `first` is before `second`, since a path leads from it there.
    fn order(&mut self, key: Key, first: u32, second: u32, mut path: Vec<Hop>) {
        if !self.orders.insert((key, first, second)) {
            return;
        }
        let rules = self.prover.events.rules;
        let number = self.cases.len() as u32 + 1;
        let choice = Choice::Versions { key, first: Txn(second), second: Txn(first) };
        self.cases.push(Case::Split { choice, cases: vec![number, number + 1] });
        path.push(Hop { from: rules.commit(second), to: rules.overwrite(first), by: By::Order(key) });
        let cycle = self.edges(&path);
        self.cases.push(Case::Cycle(cycle));
    }

    /// Writes a tree.
    fn tree(&mut self, tree: Tree) {
        // A place to enter the number of the next node at: of a split, which of its cases.
        let mut todo: Vec<(Tree, Option<(usize, usize)>)> = vec![(tree, None)];
        while let Some((tree, place)) = todo.pop() {
            let number = self.cases.len();
            if let Some(place) = place {
                broken::enter(&mut self.cases, place, number);
            }
            match tree {
                Tree::Cycle(hops) => {
                    self.settle_optional(&hops);
                    let cycle = self.edges(&hops);
                    self.cases.push(Case::Cycle(cycle));
                }
                Tree::Versions { key, first, second, cases } => {
                    let choice = Choice::Versions { key, first: Txn(first), second: Txn(second) };
                    self.cases.push(Case::Split { choice, cases: vec![0; 2] });
                    let [one, other] = *cases;
                    todo.push((other, Some((number, 1))));
                    todo.push((one, Some((number, 0))));
                }
                Tree::Source { read, cases } => {
                    let place = self.split_source(read);
                    let sources = self.sources(read);
                    for (source, tree) in cases.into_iter().rev() {
                        let which = sources.iter().position(|&s| s == source);
                        todo.push((tree, which.map(|which| (place, which))));
                    }
                }
            }
        }
    }

    /// Writes, before a cycle, the splits for the reads of optional transactions that have one possible source because no other
    /// writer can have committed. The cases above the cycle assume that these transactions took effect.
    fn settle_optional(&mut self, hops: &[Hop]) {
        let prover = self.prover;
        let is_optional =
            |&read: &u32| !prover.is_present_reader(read) && !prover.is_choice(read) && prover.is_open(read);
        let reads = hops.iter().filter_map(|hop| prover.read_of(hop)).filter(is_optional);
        for read in reads.collect::<BTreeSet<u32>>() {
            let place = self.split_source(read);
            let number = self.cases.len();
            broken::enter(&mut self.cases, (place, 0), number);
        }
    }

    /// A closed path of events as a cycle of transactions.
    fn edges(&self, hops: &[Hop]) -> Vec<Edge> {
        let mut edges: Vec<Edge> = Vec::new();
        // Where a way through the ticks of the clock began.
        let mut ticking: Option<u32> = None;
        let hops = self.unticked(hops);
        for hop in &hops {
            let (rules, first_tick) = (self.prover.events.rules, self.prover.events.first_tick);
            if hop.to >= first_tick {
                ticking.get_or_insert(rules.txn(hop.from));
                continue;
            }
            let to = rules.txn(hop.to);
            let (from, why) = match ticking.take() {
                Some(from) => (from, Why::RealTime),
                None if rules.txn(hop.from) == to => continue,
                None => (rules.txn(hop.from), self.why(hop)),
            };
            trace::join(&mut edges, Edge { from: Node::Txn(Txn(from)), to: Node::Txn(Txn(to)), why });
        }
        trace::join_ends(&mut edges);
        shortened(self.prover.problem, self.prover.events.rules, edges)
    }

    /// The same closed path, beginning with an event of a transaction.
    fn unticked(&self, hops: &[Hop]) -> Vec<Hop> {
        let first_tick = self.prover.events.first_tick;
        let start = hops.iter().position(|hop| hop.from < first_tick).unwrap_or(0);
        hops[start..].iter().chain(&hops[..start]).copied().collect()
    }

    fn why(&self, hop: &Hop) -> Why {
        let problem = self.prover.problem;
        let op = |read: u32| problem.reads[read as usize].op;
        let rule = match hop.by {
            By::Given => return self.given(hop),
            By::Order(key) => return Why::Overwritten { key },
            By::Missed(read) => return Why::Misses { read: op(read) },
            By::Read(read) => return Why::ReadFrom { read: op(read) },
            By::Step(step) => self.prover.known.steps[step as usize].rule,
        };
        match rule {
            Rule::Before { read, .. } => Why::Overwritten { key: problem.reads[read as usize].key },
            Rule::Misses { read, .. } => Why::Misses { read: op(read) },
            Rule::Conflict { key, .. } => Why::Overwritten { key },
            Rule::Source { read } => Why::ReadFrom { read: op(read) },
        }
    }

    /// What an edge that holds from the start is.
    fn given(&self, hop: &Hop) -> Why {
        let (problem, rules) = (self.prover.problem, self.prover.events.rules);
        let (from, to) = (rules.txn(hop.from), rules.txn(hop.to));
        let history = problem.history;
        if rules.sessions && from < to && history.session_of(Txn(from)) == history.session_of(Txn(to)) {
            return Why::Session;
        }
        if let Some(read) = self.prover.given_read(hop) {
            return Why::ReadFrom { read: problem.reads[read as usize].op };
        }
        let mut ranged = problem.ranged.iter();
        if let Some(read) = ranged.find(|read| read.source.is(from) && read.txn == to) {
            return Why::ReadFrom { read: read.op };
        }
        let mut versions = problem.resolved.versions.iter();
        let version = versions.find(|version| version.from.0 == from && version.to.0 == to);
        version.map_or(Why::Session, |version| version.why.clone())
    }
}

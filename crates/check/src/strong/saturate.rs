//! Saturation: what follows from reachability alone, to a fixpoint.
//!
//! t reads x from w, and b also writes x. Either b is overwritten by w, or t misses b; and where one of the two would
//! close a cycle, the other is *forced*:
//!
//! - b reaches t: then b is before w.
//! - w is before b: then t misses b.
//! - Of two writers of a key one is before the other; where begins and commits are two events and one of the two orders
//!   would close a cycle, the other is forced.
//! - An open read drops a source that it precedes, or that a transaction certainly overwrote before the read. The last source
//!   left is known.
//!
//! Writers of a session are in order, so of those that reach t only the last of each session matters, and of those that
//! w reaches only the first. Where sessions do not count, it is those that reach no other of them. All keys are looked at in parallel against the clocks of the round before; then the clocks
//! are made anew, until nothing is forced any more.
//!
//! Limits are asked for inside a round too; one that was not finished is not used.
//!
//! Every step is kept with its round: the reachability it rests on is that of edges of earlier rounds, so that a proof can
//! be read off later (`refute.rs`).

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use isoscope_history::Key;
use rayon::prelude::*;

use super::events::Events;
use super::index::{Index, Writers};
use super::problem::{Open, Problem, Read};
use super::reach::{Reach, reversed, topological_order};
use super::sources::Source;
use crate::certificate::Limit;
use crate::watch::Watch;

/// Why an edge or an exclusion follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// `writer` is before the source of the read, since it reaches the reader.
    Before { read: u32, writer: u32 },
    /// The read misses `writer`, since its source is before it.
    Misses { read: u32, writer: u32 },
    /// `first` is before `second`, since the other way round would close a cycle.
    Conflict { key: Key, first: u32, second: u32 },
    /// All other sources of the read are excluded.
    Source { read: u32 },
}

/// A step of saturation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) rule: Rule,
    pub(crate) round: u32,
}

/// Sources that a read cannot have, as a part of the list of those that wrote what it returned. Why each of them cannot be the
/// source is found again when a proof needs it ([`Round::excluded_by`]).
#[derive(Clone, Debug)]
pub(crate) struct Exclusion {
    pub(crate) read: u32,
    pub(crate) part: Range<u32>,
    pub(crate) round: u32,
}

/// The result of saturation.
pub(crate) enum Outcome {
    /// Nothing more is forced.
    Fixpoint,
    /// The edges have a cycle, or a read has no source left.
    Contradiction,
    /// A limit was reached.
    Stopped(Limit),
}

/// Everything known for certain about an event graph.
pub(crate) struct Known {
    /// Edges that hold from the start, and those of steps.
    pub(crate) edges: Vec<(u32, u32)>,
    /// How many of the edges hold from the start.
    pub(crate) given: usize,
    /// For each edge beyond those, how it follows.
    pub(crate) steps: Vec<Step>,
    pub(crate) exclusions: Vec<Exclusion>,
    /// The read without a source, if there is one.
    pub(crate) orphan: Option<u32>,
    pub(crate) rounds: u32,
}

impl Known {
    /// Edges that hold from the start.
    pub(crate) fn new(edges: Vec<(u32, u32)>) -> Known {
        let given = edges.len();
        Known { edges, given, steps: Vec::new(), exclusions: Vec::new(), orphan: None, rounds: 0 }
    }
}

/// The edges that hold from the start, besides those of sessions and time: reads with a known source, and what lists show of
/// versions.
pub(crate) fn given(problem: &Problem<'_>, events: &Events, edges: &mut Vec<(u32, u32)>) {
    let rules = events.rules;
    let read_from = |read: &Read| Some((rules.commit(read.source.txn()?), rules.begin(read.txn)));
    let mut last = None;
    for read in problem.reads.iter().filter(|read| problem.is_present(read.txn)) {
        if let Some(edge) = read_from(read) {
            edges.extend((last != Some(edge)).then_some(edge));
            last = Some(edge);
        }
    }
    edges.extend(problem.ranged.iter().filter_map(read_from));
    for version in &problem.resolved.versions {
        edges.push((rules.commit(version.from.0), rules.overwrite(version.to.0)));
    }
}

/// Saturates.
pub(crate) fn saturate(
    problem: &mut Problem<'_>,
    events: &Events,
    known: &mut Known,
    watch: &dyn Watch,
) -> Outcome {
    if !Reach::fits(events) {
        let order = topological_order(&reversed(events.nodes as usize, &known.edges));
        return order.map_or(Outcome::Contradiction, |_| Outcome::Fixpoint);
    }
    // Later rounds use the memory of the first.
    if !watch.fits(Reach::bytes(events)) {
        return Outcome::Stopped(Limit::Memory);
    }
    let index = Index::new(problem, events);
    let mut by_version = by_version(problem);
    loop {
        if let Some(limit) = watch.limit() {
            return Outcome::Stopped(limit);
        }
        let Some(reach) = Reach::new(problem.history, events, &known.edges, watch) else {
            return Outcome::Contradiction;
        };
        known.rounds += 1;
        let round = Round::new(problem, events, &index, &reach, known.rounds, watch);
        let exclusions = round.exclude();
        let mut steps = round.force(&by_version);
        if let Some(limit) = watch.limit() {
            return Outcome::Stopped(limit);
        }
        if steps.is_empty() && exclusions.is_empty() {
            return Outcome::Fixpoint;
        }
        if !exclusions.is_empty() {
            if let Err(orphan) = settle(problem, events, &exclusions, known.rounds, &mut steps) {
                known.exclusions.extend(exclusions);
                known.orphan = Some(orphan);
                return Outcome::Contradiction;
            }
            known.exclusions.extend(exclusions);
            by_version = self::by_version(problem);
        }
        known.edges.extend(steps.iter().map(|step| (step.from, step.to)));
        known.steps.extend(steps);
    }
}

/// The reads with a known source, by key and source, one of each reader.
fn by_version(problem: &Problem<'_>) -> Vec<u32> {
    let version = |i: u32| {
        let read = problem.reads[i as usize];
        (read.key, read.source, read.txn)
    };
    let counts = |i: &u32| {
        let read = problem.reads[*i as usize];
        read.source != Source::OPEN && problem.is_present(read.txn)
    };
    let mut reads: Vec<u32> = (0..problem.reads.len() as u32).filter(counts).collect();
    reads.par_sort_unstable_by_key(|&i| version(i));
    reads.dedup_by_key(|i| version(*i));
    reads
}

/// Takes excluded sources from open reads. Those with one source left are known; one with none is returned.
fn settle(
    problem: &mut Problem<'_>,
    events: &Events,
    exclusions: &[Exclusion],
    round: u32,
    steps: &mut Vec<Step>,
) -> Result<(), u32> {
    for exclusions in exclusions.chunk_by(|a, b| a.read == b.read) {
        let read = exclusions[0].read;
        let Ok(place) = problem.open.binary_search_by_key(&read, |open| open.read) else { continue };
        let parts: Vec<Range<u32>> = exclusions.iter().map(|exclusion| exclusion.part.clone()).collect();
        let sources = &mut problem.open[place].sources;
        sources.remove(&parts);
        match sources.iter().next() {
            None => return Err(read),
            Some(source) if sources.len() == 1 => {
                problem.reads[read as usize].source = source;
                if let Some(source) = source.txn() {
                    let reader = problem.reads[read as usize].txn;
                    let (from, to) = (events.rules.commit(source), events.rules.begin(reader));
                    steps.push(Step { from, to, rule: Rule::Source { read }, round });
                }
            }
            Some(_) => {}
        }
    }
    let reads = &problem.reads;
    problem.open.retain(|open| reads[open.read as usize].source == Source::OPEN);
    Ok(())
}

/// A round, and the reachability that it rests on.
pub(super) struct Round<'a> {
    problem: &'a Problem<'a>,
    events: &'a Events,
    index: &'a Index,
    reach: &'a Reach,
    number: u32,
    watch: &'a dyn Watch,
    /// Whether a limit was reached: then the rest of the round is not looked at, and the whole is not used.
    stopped: AtomicBool,
}

impl<'a> Round<'a> {
    pub(super) fn new(
        problem: &'a Problem<'a>,
        events: &'a Events,
        index: &'a Index,
        reach: &'a Reach,
        number: u32,
        watch: &'a dyn Watch,
    ) -> Self {
        Round { problem, events, index, reach, number, watch, stopped: AtomicBool::new(false) }
    }

    /// Whether to go on; asked for every open read and every key.
    fn goes_on(&self) -> bool {
        if !self.stopped.load(Ordering::Relaxed) && self.watch.limit().is_some() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        !self.stopped.load(Ordering::Relaxed)
    }

    /// Whether an event leads to another.
    #[inline]
    fn precedes(&self, from: u32, to: u32) -> bool {
        self.reach.precedes(from, self.events.chain_of(self.problem.history, from), to)
    }

    /// Whether that `second` is before `first` would close a cycle.
    #[inline]
    fn is_before(&self, first: u32, second: u32) -> bool {
        let rules = self.events.rules;
        self.precedes(rules.overwrite(first), rules.commit(second))
    }

    /// For each session, the first writer that is certainly after a version.
    fn after<'w>(&'w self, writers: Writers<'w>, version: Source) -> impl Iterator<Item = (usize, u32)> + 'w {
        writers.sessions().enumerate().filter_map(move |(session, (_, txns))| {
            let after = |version: u32| match txns.binary_search(&version) {
                // In its own session, the next one.
                Ok(place) => place + 1,
                Err(_) => txns.partition_point(|&txn| !self.is_before(version, txn)),
            };
            let first = version.txn().map_or(0, after);
            Some((session, *txns.get(first)?))
        })
    }

    /// The last writer of a session that reaches a begin.
    #[inline]
    fn last_before(&self, (chain, txns): (u32, &[u32]), begin: u32) -> Option<u32> {
        let bound = self.reach.bound(begin, chain);
        let until = txns.partition_point(|&txn| self.events.rules.commit(txn) < bound);
        until.checked_sub(1).map(|last| txns[last])
    }

    /// The sources that open reads cannot have.
    fn exclude(&self) -> Vec<Exclusion> {
        let present = |read: u32| self.problem.is_present(self.problem.reads[read as usize].txn);
        let counts = |open: &Open| present(open.read) && !self.problem.is_uncertain(open);
        let found: Vec<Vec<Exclusion>> = self
            .problem
            .open
            .par_iter()
            .with_min_len(16)
            .fold(Vec::new, |mut found, open| {
                if counts(open) && self.goes_on() {
                    if self.events.rules.sessions {
                        self.exclude_of(open, &mut found);
                    } else {
                        self.exclude_apart(open, &mut found);
                    }
                }
                found
            })
            .collect();
        found.concat()
    }

    /// The sources that one open read cannot have where every transaction is a session of its own: those that the reader precedes,
    /// and those that were overwritten before it.
    fn exclude_apart(&self, open: &Open, found: &mut Vec<Exclusion>) {
        let (rules, round) = (self.events.rules, self.number);
        let Read { key, txn, .. } = self.problem.reads[open.read as usize];
        let begin = rules.begin(txn);
        let (last, overwritten) = self.reach.latest(self.before(self.index.writers(key), begin));
        let is_excluded = |source: Source| match source.txn() {
            None => !last.is_empty(),
            Some(txn) => overwritten.has(rules.overwrite(txn)) || self.precedes(begin, rules.commit(txn)),
        };
        for part in open.sources.parts() {
            let mut sources = part.clone().zip(open.sources.listed(part));
            while let Some((from, _)) = sources.find(|&(_, &source)| is_excluded(source)) {
                let kept = sources.find(|&(_, &source)| !is_excluded(source));
                let part = from..kept.map_or(part.end, |(kept, _)| kept);
                found.push(Exclusion { read: open.read, part, round });
            }
        }
    }

    /// The commits of writers that reach a begin, the last of each session.
    fn before(&self, writers: Writers<'_>, begin: u32) -> Vec<u32> {
        let last = writers.sessions().filter_map(|session| self.last_before(session, begin));
        last.map(|writer| self.events.rules.commit(writer)).collect()
    }

    /// The sources that one open read cannot have. Of the sources in a session, those that the reader precedes are the last, and those
    /// that were overwritten before it are the first.
    fn exclude_of(&self, open: &Open, found: &mut Vec<Exclusion>) {
        let rules = self.events.rules;
        let Read { key, txn, .. } = self.problem.reads[open.read as usize];
        let begin = rules.begin(txn);
        let sessions: Vec<(u32, &[u32])> = self.index.writers(key).sessions().collect();
        let last: Vec<Option<u32>> =
            sessions.iter().map(|&session| self.last_before(session, begin)).collect();
        let mut exclude = |part: Range<u32>| {
            if !part.is_empty() {
                found.push(Exclusion { read: open.read, part, round: self.number });
            }
        };
        for part in open.sources.parts() {
            let mut from = part.start;
            let mut rest = open.sources.listed(part);
            if let Some((&Source::INITIAL, others)) = rest.split_first() {
                exclude(from..from + u32::from(last.iter().any(Option::is_some)));
                (from, rest) = (from + 1, others);
            }
            while let Some(&first) = rest.first() {
                let session = sessions
                    .partition_point(|(_, txns)| txns.last().is_some_and(|&txn| Source::of(txn) < first));
                let Some(&(chain, txns)) = sessions.get(session) else { break };
                let own = rest
                    .partition_point(|&source| txns.last().is_some_and(|&last| source <= Source::of(last)));
                let (sources, others) = rest.split_at(own);
                let bounds = last.iter().enumerate().filter_map(|(other, last)| {
                    let last = (*last)?;
                    let own = other == session;
                    Some(if own {
                        rules.overwrite(last)
                    } else {
                        self.reach.bound(rules.commit(last), chain)
                    })
                });
                let bound = bounds.max().unwrap_or(0);
                let is_overwritten =
                    |source: &Source| source.txn().is_some_and(|txn| rules.overwrite(txn) < bound);
                let overwritten = sources.partition_point(is_overwritten);
                let (_, left) = sources.split_at(overwritten);
                let is_possible = |source: &Source| {
                    source.txn().is_some_and(|txn| !self.precedes(begin, rules.commit(txn)))
                };
                let possible = left.partition_point(is_possible);
                let kept = from + overwritten as u32;
                let end = from + sources.len() as u32;
                exclude(from..kept);
                exclude(kept + possible as u32..end);
                (from, rest) = (end, others);
            }
        }
    }

    /// Why a read cannot have a source that this round excludes: because of a transaction that overwrote it before the read, or else because the
    /// reader precedes it.
    pub(super) fn excluded_by(&self, read: u32, source: Source) -> Option<u32> {
        let rules = self.events.rules;
        let Read { key, txn, .. } = self.problem.reads[read as usize];
        let begin = rules.begin(txn);
        if source.txn().is_some_and(|source| self.precedes(begin, rules.commit(source))) {
            return None;
        }
        let writers = self.index.writers(key);
        let mut after = self.after(writers, source);
        let in_between = |&(session, first): &(usize, u32)| {
            if !rules.sessions {
                return self.precedes(rules.commit(first), begin);
            }
            let last = writers.sessions().nth(session).and_then(|session| self.last_before(session, begin));
            last.is_some_and(|last| first <= last)
        };
        after.find(in_between).map(|(_, by)| by)
    }

    /// The edges that are forced, given all reads with a known source by key and source.
    fn force(&self, by_version: &[u32]) -> Vec<Step> {
        let key = |read: u32| self.problem.reads[read as usize].key;
        let mut keys: Vec<(Key, &[u32])> =
            by_version.chunk_by(|&a, &b| key(a) == key(b)).map(|reads| (key(reads[0]), reads)).collect();
        if self.has_conflicts() {
            let mut unread = vec![true; self.problem.history.key_count()];
            for (key, _) in &keys {
                unread[key.index()] = false;
            }
            keys.extend(
                self.problem.history.keys().filter(|key| unread[key.index()]).map(|key| (key, &[][..])),
            );
        }
        let found: Vec<Vec<Step>> = keys
            .par_iter()
            .with_min_len(4)
            .fold(Vec::new, |mut found, &(key, reads)| {
                if self.goes_on() {
                    self.force_key(key, reads, &mut found);
                }
                found
            })
            .collect();
        let mut found = found.concat();
        found.par_sort_unstable_by_key(|step| (step.from, step.to, step.rule));
        found.dedup_by_key(|step| (step.from, step.to));
        found
    }

    /// Whether that two writers of a key are ordered says more than the order of their commits.
    fn has_conflicts(&self) -> bool {
        self.events.rules.split && self.events.rules.conflicts
    }

    /// The edges that are forced at one key, given its reads by source.
    fn force_key(&self, key: Key, reads: &[u32], found: &mut Vec<Step>) {
        let writers = self.index.writers(key);
        if writers.is_empty() {
            return;
        }
        let source = |read: &u32| self.problem.reads[*read as usize].source;
        let mut versions = reads.chunk_by(|a, b| source(a) == source(b)).peekable();
        if self.has_conflicts() && !writers.is_single() {
            for first in writers.all() {
                let version = Source::of(first);
                let after = self.first_after(writers, version);
                self.force_conflicts(key, first, &after, found);
                if let Some(reads) = versions.next_if(|reads| source(&reads[0]) == version) {
                    self.force_version(writers, version, &after, reads, found);
                }
            }
        }
        for reads in versions {
            let version = source(&reads[0]);
            self.force_version(writers, version, &self.first_after(writers, version), reads, found);
        }
    }

    /// The edges that are forced because a writer is certainly before others.
    fn force_conflicts(&self, key: Key, first: u32, after: &[u32], found: &mut Vec<Step>) {
        let (rules, round) = (self.events.rules, self.number);
        for &second in after {
            let (from, to) = (rules.commit(first), rules.begin(second));
            if !self.precedes(from, to) {
                found.push(Step { from, to, rule: Rule::Conflict { key, first, second }, round });
            }
        }
    }

    /// The writers that are certainly after a version, as far as no other of them commits before.
    fn first_after(&self, writers: Writers<'_>, version: Source) -> Vec<u32> {
        let commit = |txn: u32| self.events.rules.commit(txn);
        let mut after: Vec<u32> = self.after(writers, version).map(|(_, txn)| txn).collect();
        after.sort_unstable_by_key(|&txn| self.reach.place[commit(txn) as usize]);
        let mut first: Vec<u32> = Vec::new();
        for writer in after {
            if !first.iter().any(|&earlier| self.precedes(commit(earlier), commit(writer))) {
                first.push(writer);
            }
        }
        first
    }

    /// The edges that are forced by the reads of a version, given those that are certainly after it.
    fn force_version(
        &self,
        writers: Writers<'_>,
        source: Source,
        after: &[u32],
        reads: &[u32],
        found: &mut Vec<Step>,
    ) {
        let (rules, round) = (self.events.rules, self.number);
        for &read in reads {
            let reader = self.problem.reads[read as usize].txn;
            let begin = rules.begin(reader);
            // A reader that overwrites what it read is one of those after it; the order of the others does not matter then.
            for &writer in after.iter().filter(|&&writer| writer != reader) {
                let (from, to) = (begin, rules.commit(writer));
                // Where this is no edge, it still closes a cycle if the reader has seen what it cannot have missed.
                let is_edge = rules.misses_of(self.problem.history, reader);
                let counts = is_edge || source == Source::INITIAL && self.precedes(to, from);
                if counts && !self.precedes(from, to) {
                    found.push(Step { from, to, rule: Rule::Misses { read, writer }, round });
                }
            }
            let Some(source) = source.txn() else { continue };
            let mut before = self.before(writers, begin);
            if !rules.sessions {
                // What leads to another of them is before the source if that one is.
                (before, _) = self.reach.latest(before);
            }
            for from in before {
                let (writer, to) = (rules.txn(from), rules.overwrite(source));
                if writer != source && !self.precedes(from, to) {
                    found.push(Step { from, to, rule: Rule::Before { read, writer }, round });
                }
            }
        }
    }
}

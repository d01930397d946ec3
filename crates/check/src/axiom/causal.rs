//! Causal consistency: a path of sessions and reads leads from t2 to t3.
//!
//! At a stale read, the candidates are the writers of the key that rank between the version read and the reader,
//! and of each session only the last that precedes the reader counts. Sessions are chains, so a vector clock of
//! one number a session says what precedes t3. If candidates are few, each is asked; if there are many more than
//! sessions, the last writer of each session is searched for instead.
//!
//! Clocks cost transactions × sessions. Where nearly every transaction is a session of its own that is too much,
//! and the past of a reader is walked instead, as far back as the version it read.

use isoscope_history::{History, Key, Session, Txn};
use isoscope_order::{Clock, Clocks, Precedence};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::{Forced, Ranking};
use crate::resolve::{Link, Resolved};
use crate::schedule::UNPLACED;
use crate::stale::Stale;

/// What causally precedes what: sessions, and reads from.
pub(crate) struct Causality<'a> {
    pub(crate) history: &'a History,
    pub(crate) resolved: &'a Resolved,
}

impl Precedence for Causality<'_> {
    fn chains(&self) -> u32 {
        self.history.session_count() as u32
    }

    fn nodes(&self) -> usize {
        self.history.txn_count()
    }

    #[inline]
    fn chain_of(&self, node: u32) -> u32 {
        self.history.session_of(Txn(node)).0
    }

    #[inline]
    fn predecessors(&self, node: u32, mut each: impl FnMut(u32)) {
        if let Some(before) = self.resolved.before(self.history, Txn(node)) {
            each(before.0);
        }
        let mut last = Link::NOTHING;
        for &link in &self.resolved.links[self.history.op_range(Txn(node))] {
            if let Some(writer) = link.txn()
                && link != last
            {
                last = link;
                each(writer.0);
            }
        }
    }
}

/// Clocks of more numbers than this are not made.
const MOST_NUMBERS: usize = 1 << 31;

/// Answers what causally precedes what.
pub(crate) enum Past<'a> {
    /// By vector clocks.
    Clocks(Clocks<'a, Causality<'a>>),
    /// By walking; the place of each transaction in a topological order shows where to stop.
    Walk { causality: &'a Causality<'a>, place: Vec<u32> },
}

impl<'a> Past<'a> {
    /// Whether clocks can be had at all.
    pub(crate) fn clocks_fit(causality: &Causality<'_>) -> bool {
        causality.nodes().saturating_mul(causality.chains() as usize) <= MOST_NUMBERS
    }

    pub(crate) fn clocks(causality: &'a Causality<'a>, order: &[u32]) -> Self {
        Past::Clocks(Clocks::new(causality, order.to_vec()))
    }

    pub(crate) fn walk(causality: &'a Causality<'a>, order: &[u32]) -> Self {
        let mut place = vec![UNPLACED; causality.nodes()];
        for (&txn, i) in order.iter().zip(0..) {
            place[txn as usize] = i;
        }
        Past::Walk { causality, place }
    }

    /// For pairs of transactions: whether the first causally precedes the second.
    pub(crate) fn precede(&self, pairs: &[(Txn, Txn)]) -> Vec<bool> {
        match self {
            Past::Clocks(clocks) => precede_by_clocks(clocks, pairs),
            Past::Walk { causality, place } => pairs
                .par_iter()
                .map_init(Walk::default, |walk, &(first, second)| {
                    walk.go(causality, place, second, place[first.index()]);
                    walk.has_met(first)
                })
                .collect(),
        }
    }
}

fn precede_by_clocks(clocks: &Clocks<'_, Causality<'_>>, pairs: &[(Txn, Txn)]) -> Vec<bool> {
    let mut by_second: Vec<u32> = (0..pairs.len() as u32).collect();
    let second = |i: u32| pairs[i as usize].1;
    by_second.sort_unstable_by_key(|&i| second(i));
    let mut asked: Vec<u32> = by_second.iter().map(|&i| second(i).0).collect();
    asked.dedup();
    let before = clocks.visit(&asked, |node, clock, found| {
        let from = by_second.partition_point(|&i| second(i).0 < node);
        let same = by_second[from..].iter().take_while(|&&i| second(i).0 == node);
        found.extend(same.copied().filter(|&i: &u32| {
            let first = pairs[i as usize].0;
            clock.follows(clocks.precedence().chain_of(first.0), first.0)
        }));
    });
    let mut answers = vec![false; pairs.len()];
    for i in before {
        answers[i as usize] = true;
    }
    answers
}

/// A walk through the past of one transaction after the other.
#[derive(Default)]
struct Walk {
    /// For each transaction, the last walk that met it.
    met: Vec<u32>,
    number: u32,
    todo: Vec<u32>,
}

impl Walk {
    /// Meets all that causally precedes a transaction and does not rank below a bound.
    fn go(&mut self, causality: &Causality<'_>, rank: &[u32], from: Txn, lowest: u32) {
        if self.met.is_empty() || self.number == u32::MAX {
            (self.met, self.number) = (vec![0; rank.len()], 0);
        }
        self.number += 1;
        self.todo.push(from.0);
        while let Some(txn) = self.todo.pop() {
            causality.predecessors(txn, |before| {
                let met = &mut self.met[before as usize];
                if *met != self.number && rank[before as usize] >= lowest {
                    *met = self.number;
                    self.todo.push(before);
                }
            });
        }
    }

    fn has_met(&self, txn: Txn) -> bool {
        self.met[txn.index()] == self.number
    }
}

/// The forced edges; `aside` says what to leave out for a reader, and nothing once a limit is reached.
pub(crate) fn opposing(
    history: &History,
    resolved: &Resolved,
    past: &Past<'_>,
    ranking: Ranking<'_>,
    reads: &[Stale],
    aside: impl Fn(Txn) -> Option<FxHashSet<(Txn, Key)>> + Sync,
) -> Vec<Forced> {
    let versions = Versions::new(history, resolved, ranking, reads);
    let groups: Vec<&[Stale]> = reads.chunk_by(|a, b| a.reader == b.reader).collect();
    let mut found = match past {
        Past::Clocks(clocks) => {
            let readers: Vec<u32> = groups.iter().map(|group| group[0].reader.0).collect();
            let mut starts = vec![0; history.txn_count()];
            for (i, reader) in readers.iter().enumerate() {
                starts[*reader as usize] = i;
            }
            clocks.visit(&readers, |reader, clock, found| {
                let Some(aside) = aside(Txn(reader)) else { return };
                for &stale in groups[starts[reader as usize]] {
                    versions.search_by_clock(stale, clock, &aside, found);
                }
            })
        }
        Past::Walk { causality, .. } => {
            let walk_group = |walk: &mut Walk, group: &&[Stale]| {
                let mut found = Vec::new();
                let Some(aside) = aside(group[0].reader) else { return found };
                // Ranks do not fall along the way, so what ranks below the version read is not on it.
                let rank = |stale: &Stale| {
                    resolved.links[stale.read.index()].txn().map_or(0, |writer| ranking.rank[writer.index()])
                };
                let lowest = group.iter().map(rank).min().unwrap_or(0);
                walk.go(causality, ranking.rank, group[0].reader, lowest);
                for &stale in *group {
                    versions.search(stale, |seen| walk.has_met(seen), &aside, &mut found);
                }
                found
            };
            groups.par_iter().map_init(Walk::default, walk_group).flatten_iter().collect()
        }
    };
    found.sort_unstable();
    found
}

/// The present writers of keys, by rank. Only keys of the reads in question are filled in.
struct Versions<'a> {
    history: &'a History,
    resolved: &'a Resolved,
    ranking: Ranking<'a>,
    writers: Vec<Txn>,
}

impl<'a> Versions<'a> {
    fn new(history: &'a History, resolved: &'a Resolved, ranking: Ranking<'a>, reads: &[Stale]) -> Self {
        let mut wanted = vec![false; history.key_count()];
        for stale in reads {
            wanted[history.key_of(stale.read).index()] = true;
        }
        let mut writers = vec![Txn(u32::MAX); history.writer_count()];
        let mut rest = writers.as_mut_slice();
        let mut parts = Vec::new();
        for key in history.keys() {
            let (part, others) = rest.split_at_mut(history.writers(key).len());
            rest = others;
            if wanted[key.index()] {
                parts.push((key, part));
            }
        }
        parts.into_par_iter().with_min_len(64).for_each(|(key, part)| {
            let present = history.writers(key).iter().filter(|writer| resolved.present[writer.index()]);
            part.iter_mut().zip(present).for_each(|(place, &writer)| *place = writer);
            let count = part.partition_point(|writer| writer.0 != u32::MAX);
            part[..count].sort_unstable_by_key(|writer| (ranking.rank[writer.index()], writer.0));
        });
        Versions { history, resolved, ranking, writers }
    }

    /// The writers of a key that rank at least as high as what a link reads from and at most as high as a reader.
    fn between(&self, key: Key, link: Link, reader: Txn) -> &[Txn] {
        let writers = &self.writers[self.history.writer_range(key)];
        let rank = |txn: Txn| self.ranking.rank[txn.index()];
        let present = |writer: &Txn| writer.0 != u32::MAX;
        let from = link.txn().map_or(0, |first| {
            writers.partition_point(|writer| present(writer) && rank(*writer) < rank(first))
        });
        let to = writers.partition_point(|writer| present(writer) && rank(*writer) <= rank(reader));
        &writers[from..to.max(from)]
    }

    /// The last writer of each session of a block that precedes the reader and opposes the ranking.
    fn search_by_clock(
        &self,
        stale: Stale,
        clock: Clock<'_>,
        aside: &FxHashSet<(Txn, Key)>,
        found: &mut Vec<Forced>,
    ) {
        let (link, key) = (self.resolved.links[stale.read.index()], self.history.key_of(stale.read));
        if self.between(key, link, stale.reader).len() > 4 * self.history.session_count() {
            self.search_sessions(stale, key, clock, aside, found);
        } else {
            let follows = |seen: Txn| clock.follows(self.history.session_of(seen).0, seen.0);
            self.search(stale, follows, aside, found);
        }
    }

    /// The last writer of each session that precedes the reader and opposes the ranking.
    fn search(
        &self,
        stale: Stale,
        precedes: impl Fn(Txn) -> bool,
        aside: &FxHashSet<(Txn, Key)>,
        found: &mut Vec<Forced>,
    ) {
        let Stale { reader, read } = stale;
        let (link, key) = (self.resolved.links[read.index()], self.history.key_of(read));
        // What comes before the version read in its own session is no rival.
        let is_rival = |seen: Txn| {
            let same_session = |writer| self.history.session_of(writer) == self.history.session_of(seen);
            link.txn().is_none_or(|writer| seen > writer || !same_session(writer))
        };
        let candidates = self.between(key, link, reader).iter().copied();
        let mut last: Vec<(Session, Txn)> = candidates
            .filter(|&seen| precedes(seen) && is_rival(seen) && self.ranking.opposes(seen, link))
            .map(|seen| (self.history.session_of(seen), seen))
            .collect();
        last.sort_unstable();
        let of_session = last.chunk_by(|a, b| a.0 == b.0).filter_map(|seen| seen.last());
        let kept = of_session.filter(|(_, seen)| !aside.contains(&(*seen, key)));
        found.extend(kept.map(|&(_, seen)| Forced { reader, read, seen }));
    }

    fn search_sessions(
        &self,
        stale: Stale,
        key: Key,
        clock: Clock<'_>,
        aside: &FxHashSet<(Txn, Key)>,
        found: &mut Vec<Forced>,
    ) {
        let Stale { reader, read } = stale;
        let link = self.resolved.links[read.index()];
        for session in clock.block() {
            let bound = Txn(clock.bound(session));
            if let Some(seen) = self.resolved.last_writer(self.history, key, Session(session), bound)
                && self.ranking.opposes(seen, link)
                && !aside.contains(&(seen, key))
            {
                found.push(Forced { reader, read, seen });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use isoscope_levels::Level;
    use isoscope_order::Graph;
    use isoscope_workload::{Spec, run};

    use super::*;
    use crate::axiom::all_reads;
    use crate::schedule::schedule;

    /// Walking finds what clocks say, on histories that satisfy little and on such that satisfy much.
    #[test]
    fn walks_and_clocks_agree() {
        for (seed, level) in (0..20).flat_map(|seed| [(seed, Level::ReadCommitted), (seed, Level::Causal)]) {
            let spec = Spec { sessions: 6, txns_per_session: 15, keys: 6, level, seed, ..Spec::default() };
            let history = run(&spec, &mut |_, _| {}).unwrap();
            let resolved = Resolved::new(&history);
            let causal =
                schedule(&history, &resolved, &Graph::default(), |_| ControlFlow::Continue(())).unwrap();
            let causality = Causality { history: &history, resolved: &resolved };
            let (clocks, walk) =
                (Past::clocks(&causality, &causal.order), Past::walk(&causality, &causal.order));
            let reads = all_reads(&history, &resolved, &causal.order);
            for rank in [vec![0; history.txn_count()], causal.place.clone()] {
                let ask = |past: &Past<'_>| {
                    opposing(&history, &resolved, past, Ranking { rank: &rank }, &reads, |_| {
                        Some(FxHashSet::default())
                    })
                };
                assert!(ask(&clocks) == ask(&walk), "seed {seed} of {level}");
            }
            let all: Vec<(Txn, Txn)> =
                history.txns().flat_map(|a| history.txns().map(move |b| (a, b))).collect();
            assert!(clocks.precede(&all) == walk.precede(&all), "seed {seed} of {level}");
        }
    }
}

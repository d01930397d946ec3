//! Causal consistency: a path of sessions and reads leads from t2 to t3.
//!
//! Sessions are chains, so a vector clock of one number a session says what precedes t3. At a stale read, the
//! candidates are the writers of the key that rank between the version read and the reader. If they are few,
//! each is asked; if they are more than there are sessions, the last writer of each session that precedes t3 is
//! searched for instead.

use isoscope_history::{History, Key, Session, Txn};
use isoscope_order::{Clock, Clocks, Precedence};
use rayon::prelude::*;

use super::{Forced, Ranking};
use crate::resolve::{Link, Resolved};
use crate::schedule::Stale;

/// What causally precedes what: sessions, and reads from.
pub(crate) struct Causality<'a> {
    pub(crate) history: &'a History,
    pub(crate) resolved: &'a Resolved,
}

/// The clocks of a history's causal order.
pub(crate) type CausalClocks<'a> = Clocks<'a, Causality<'a>>;

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
        let session = self.history.txn_range(self.history.session_of(Txn(node)));
        let mut earlier = (session.start..node).rev();
        if let Some(before) = earlier.find(|&earlier| self.resolved.present[earlier as usize]) {
            each(before);
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

pub(crate) fn opposing(
    history: &History,
    resolved: &Resolved,
    clocks: &CausalClocks<'_>,
    ranking: Ranking<'_>,
    reads: &[Stale],
) -> Vec<Forced> {
    let versions = Versions::new(history, resolved, ranking, reads);
    let groups: Vec<&[Stale]> = reads.chunk_by(|a, b| a.reader == b.reader).collect();
    let readers: Vec<u32> = groups.iter().map(|group| group[0].reader.0).collect();
    let mut starts = vec![0; history.txn_count()];
    groups.iter().zip(0..).for_each(|(group, i)| starts[group[0].reader.index()] = i);
    let mut found = clocks.visit(&readers, |reader, clock, found| {
        groups[starts[reader as usize]].iter().for_each(|&stale| versions.search(stale, clock, found));
    });
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

    /// The last writer of each session that precedes the reader and opposes the ranking.
    fn search(&self, stale: Stale, clock: Clock<'_>, found: &mut Vec<Forced>) {
        let Stale { reader, read } = stale;
        let (link, key) = (self.resolved.links[read.index()], self.history.key_of(read));
        let candidates = self.between(key, link, reader);
        if candidates.len() > 4 * clock.block().len() {
            self.search_sessions(stale, key, clock, found);
            return;
        }
        let before = found.len();
        let precede =
            candidates.iter().rev().filter(|seen| clock.follows(self.history.session_of(**seen).0, seen.0));
        for &seen in precede.filter(|&&seen| self.ranking.opposes(seen, link)) {
            let session = self.history.session_of(seen);
            let known = found[before..].iter_mut().find(|f| self.history.session_of(f.seen) == session);
            match known {
                // Ranks may be shared, so the order of candidates need not be that of the session.
                Some(forced) => forced.seen = forced.seen.max(seen),
                None => found.push(Forced { reader, read, seen }),
            }
        }
    }

    fn search_sessions(&self, stale: Stale, key: Key, clock: Clock<'_>, found: &mut Vec<Forced>) {
        let Stale { reader, read } = stale;
        let (link, writers) = (self.resolved.links[read.index()], self.history.writers(key));
        for session in clock.block() {
            let start = self.history.txn_range(Session(session)).start;
            let before = &writers[..writers.partition_point(|writer| writer.0 < clock.bound(session))];
            let mut earlier = before.iter().rev().take_while(|writer| writer.0 >= start);
            let last = earlier.find(|writer| self.resolved.present[writer.index()]);
            if let Some(&seen) = last
                && self.ranking.opposes(seen, link)
            {
                found.push(Forced { reader, read, seen });
            }
        }
    }
}

/// For pairs of transactions: whether the first causally precedes the second.
pub(crate) fn precedes(history: &History, clocks: &CausalClocks<'_>, pairs: &[(Txn, Txn)]) -> Vec<bool> {
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
            clock.follows(history.session_of(first).0, first.0)
        }));
    });
    let mut answers = vec![false; pairs.len()];
    for i in before {
        answers[i as usize] = true;
    }
    answers
}

//! Read committed and read atomic: t3 itself reads from t2, or t2 is earlier in its session.
//!
//! At a read of x, either the transactions that t3 reads from are tried for whether they write x, or the
//! writers of x for whether t3 reads from them, whichever are fewer; so a history of n operations costs at most
//! about n√n steps (the bound of AWDIT, 2025), and usually a handful for each stale read.

use isoscope_history::{History, Key, Op, Txn};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Axiom, Forced, Ranking};
use crate::resolve::Resolved;
use crate::stale::Stale;

/// The forced edges; `aside` says what to leave out for a reader, and nothing once a limit is reached.
pub(crate) fn opposing(
    history: &History,
    resolved: &Resolved,
    axiom: Axiom,
    ranking: Ranking<'_>,
    reads: &[Stale],
    aside: impl Fn(Txn) -> Option<FxHashSet<(Txn, Key)>> + Sync,
) -> Vec<Forced> {
    let groups: Vec<&[Stale]> = reads.chunk_by(|a, b| a.reader == b.reader).collect();
    let found: Vec<Vec<Forced>> = groups
        .par_iter()
        .with_min_len(64)
        .fold(Vec::new, |mut found, group| {
            let before = found.len();
            let reader = Reader { history, resolved, axiom, ranking, txn: group[0].reader };
            let Some(aside) = aside(reader.txn) else { return found };
            reader.search(group, &aside, &mut found);
            found[before..].sort_unstable();
            found
        })
        .collect();
    let mut found = found.concat();
    // A reader that reads twice from one transaction has seen it once.
    found.dedup();
    found
}

/// Transactions up to this length are searched once more for every read in question.
const SHORT: usize = 64;

/// The writers that a long transaction reads from.
#[derive(Default)]
struct Sources {
    /// Each transaction it reads from, with the first such read.
    by_txn: Vec<(Txn, Op)>,
    /// The same for each key.
    by_key: FxHashMap<(Txn, Key), Op>,
    /// For each read, the writer of the previous read of the same key.
    before: FxHashMap<Op, Txn>,
}

struct Reader<'a> {
    history: &'a History,
    resolved: &'a Resolved,
    axiom: Axiom,
    ranking: Ranking<'a>,
    txn: Txn,
}

impl Reader<'_> {
    /// Looks at reads, and leaves out what is set aside.
    fn search(&self, reads: &[Stale], aside: &FxHashSet<(Txn, Key)>, found: &mut Vec<Forced>) {
        let long = self.history.op_range(self.txn).len() > SHORT;
        let sources = if long { self.sources() } else { Sources::default() };
        for &Stale { reader, read } in reads {
            let key = self.history.key_of(read);
            let mut add = |seen| {
                if !aside.contains(&(seen, key)) {
                    found.push(Forced { reader, read, seen });
                }
            };
            if long {
                self.among_sources(&sources, read, &mut add);
            } else {
                self.among_links(read, &mut add);
            }
            if self.axiom == Axiom::ReadAtomic {
                self.in_session(read, &mut add);
            }
        }
    }

    /// Tries everything the reader reads from, in program order.
    #[allow(clippy::needless_bitwise_bool, reason = "whatever branches here is guessed wrong half the time")]
    fn among_links(&self, read: Op, add: &mut impl FnMut(Txn)) {
        let mut ops = self.history.op_range(self.txn);
        if self.axiom == Axiom::ReadCommitted {
            ops.end = self.history.start_of(read).index();
        }
        let key = self.history.key_of(read);
        // What is a source, and what is above the writer, is as good as random: those that are both are noted first,
        // without a branch. A link that leads nowhere is taken for one that counts for nothing.
        let writer = self.resolved.links[read.index()].txn();
        let bar = writer.map_or(0, |writer| self.ranking.rank[writer.index()]);
        let none = writer.unwrap_or(self.txn);
        let mut noted = [none; SHORT];
        let mut count = 0;
        for link in &self.resolved.links[ops] {
            let source = link.txn().unwrap_or(none);
            noted[count] = source;
            count += usize::from((source != none) & (self.ranking.rank[source.index()] >= bar));
        }
        noted[..count].iter().copied().filter(|&seen| self.history.writes(seen, key)).for_each(add);
    }

    fn sources(&self) -> Sources {
        let mut sources = Sources::default();
        let mut latest: FxHashMap<Key, Txn> = FxHashMap::default();
        for op in self.history.op_range(self.txn).map(Op::at) {
            let Some(source) = self.resolved.links[op.index()].txn() else { continue };
            let key = self.history.key_of(op);
            sources.by_txn.push((source, op));
            sources.by_key.entry((source, key)).or_insert(op);
            if let Some(before) = latest.insert(key, source) {
                sources.before.insert(op, before);
            }
        }
        sources.by_txn.sort_unstable();
        sources.by_txn.dedup_by_key(|source| source.0);
        sources
    }

    /// Tries what the reader reads from or the writers of the key, whichever are fewer.
    fn among_sources(&self, sources: &Sources, read: Op, add: &mut impl FnMut(Txn)) {
        let link = self.resolved.links[read.index()];
        let key = self.history.key_of(read);
        let writers = self.history.writers(key);
        let committed = self.axiom == Axiom::ReadCommitted;
        // Of the versions of the key that were read before, each is before the next: the last one says it all.
        let implied = |seen: Txn| {
            let earlier = sources.by_key.get(&(seen, key)).is_some_and(|&first| first < read);
            committed && earlier && sources.before.get(&read) != Some(&seen)
        };
        let start = if committed { self.history.start_of(read) } else { read };
        let counts = |seen: Txn, first: Op| (!committed || first < start) && !implied(seen);
        if sources.by_txn.len() <= writers.len() {
            for &(seen, first) in &sources.by_txn {
                if self.ranking.opposes(seen, link) && counts(seen, first) && self.history.writes(seen, key) {
                    add(seen);
                }
            }
        } else {
            for &seen in writers.iter().filter(|&&seen| self.ranking.opposes(seen, link)) {
                let place = sources.by_txn.binary_search_by_key(&seen, |source| source.0);
                if place.is_ok_and(|i| counts(seen, sources.by_txn[i].1)) {
                    add(seen);
                }
            }
        }
    }

    /// The last writer of the key that is earlier in the session.
    fn in_session(&self, read: Op, add: &mut impl FnMut(Txn)) {
        let (link, key) = (self.resolved.links[read.index()], self.history.key_of(read));
        let session = self.history.session_of(self.txn);
        if let Some(seen) = self.resolved.last_writer(self.history, key, session, self.txn)
            && self.ranking.opposes(seen, link)
        {
            add(seen);
        }
    }
}

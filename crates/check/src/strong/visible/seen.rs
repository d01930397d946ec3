//! What a reader must have seen, and which reads miss it in an order.

use isoscope_history::{Key, Op, Session, Txn};
use rustc_hash::FxHashSet;

use super::super::reach::Reach;
use super::super::sources::Source;
use super::links::{Links, Paths, Reason};
use super::{AT_A_TIME, Search};
use crate::semantics::Sight;

impl Search<'_> {
    /// Reads that miss a writer which their transaction must have seen. If a limit is reached, some are missing.
    pub(super) fn broken(&self, links: &Links, paths: &Paths<'_>) -> Vec<(u32, u32)> {
        let mut broken: Vec<(u32, u32)> = match self.sight {
            Sight::Nothing => Vec::new(),
            Sight::Earlier | Sight::Direct => self.broken_directly(),
            Sight::Causal | Sight::Parallel if Reach::fits(self.events) => self.broken_far(links),
            Sight::Causal | Sight::Parallel => self.broken_by_walk(paths),
            Sight::Cursor => self.broken_at_once(|_, _, key| Some(key)),
            Sight::Update => {
                let mut broken = self.broken_directly();
                broken.extend(self.broken_at_once(|writer, reader, _| self.conflict(writer, reader)));
                broken
            }
            Sight::Monotonic => self.broken_earlier(paths),
            Sight::Updates => match self.broken_updates() {
                // Links lead along the order only where those that write are serializable in it.
                broken if broken.is_empty() => self.broken_by_walk(paths),
                broken => broken,
            },
        };
        broken.sort_unstable();
        broken.dedup();
        broken
    }

    /// Whether a writer is after the source of a read.
    pub(super) fn is_after(&self, read: u32, writer: u32) -> bool {
        self.chosen[read as usize].txn().is_none_or(|source| {
            writer != source && self.place[writer as usize] > self.place[source as usize]
        })
    }

    /// Reads that miss a writer they must have seen, where those are the writers of the reader's reads and its session.
    fn broken_directly(&self) -> Vec<(u32, u32)> {
        let (problem, history) = (self.problem, self.problem.history);
        let mut broken = Vec::new();
        for txn in (0..history.txn_count() as u32).filter(|&txn| self.encoder.is_there(txn)) {
            let reads = problem.reads_of(txn);
            for i in reads.clone() {
                let key = problem.reads[i].key;
                let seen = match self.sight {
                    Sight::Earlier => problem.reads_before(i as u32),
                    _ => reads.clone(),
                };
                for writer in seen.filter_map(|j| self.chosen[j].txn()) {
                    if history.writes(Txn(writer), key) && self.is_after(i as u32, writer) {
                        broken.push((i as u32, writer));
                    }
                }
                if matches!(self.sight, Sight::Direct | Sight::Update)
                    && let Some(writer) = self.last_in_session(key, history.session_of(Txn(txn)), txn)
                    && self.is_after(i as u32, writer)
                {
                    broken.push((i as u32, writer));
                }
            }
        }
        broken
    }

    fn last_in_session(&self, key: Key, session: Session, before: u32) -> Option<u32> {
        let writers = self.problem.history.writers_in(key, session);
        let mut earlier = writers.iter().rev().map(|txn| txn.0).filter(|&txn| txn < before);
        earlier.find(|&txn| self.encoder.is_there(txn))
    }

    /// The same where it is all that leads to the reader.
    fn broken_far(&self, links: &Links) -> Vec<(u32, u32)> {
        let (problem, history) = (self.problem, self.problem.history);
        let reach = Reach::new(history, self.events, &links.edges, self.watch);
        let reach = reach.expect("links lead along the order, so they have no cycle");
        let mut broken = Vec::new();
        for (i, read) in problem.reads.iter().enumerate().filter(|(_, read)| self.encoder.is_there(read.txn))
        {
            let writers = history.writers(read.key);
            for writers in writers.chunk_by(|a, b| history.session_of(*a) == history.session_of(*b)) {
                let chain = self.events.chain_of(history, writers[0].0);
                let bound = reach.bound(read.txn, chain);
                let until = writers.partition_point(|writer| writer.0 < bound);
                let last = writers[..until].iter().rev().find(|writer| self.encoder.is_there(writer.0));
                if let Some(&Txn(writer)) = last
                    && self.is_after(i as u32, writer)
                {
                    broken.push((i as u32, writer));
                }
            }
        }
        broken
    }

    /// The writers of what a transaction read that are after the source and before the transaction: what the read misses. The
    /// latest are enough.
    fn missed(&self, read: u32) -> Vec<u32> {
        let txn = self.problem.reads[read as usize].txn;
        let between = |writer: &u32| {
            *writer != txn
                && self.place[*writer as usize] < self.place[txn as usize]
                && self.encoder.is_there(*writer)
        };
        let writers = self.problem.history.writers(self.problem.reads[read as usize].key).iter();
        let mut missed: Vec<u32> = writers
            .map(|writer| writer.0)
            .filter(|&writer| self.is_after(read, writer))
            .filter(between)
            .collect();
        missed.sort_unstable_by_key(|&writer| std::cmp::Reverse(self.place[writer as usize]));
        missed
    }

    /// What the reads of a transaction miss, by read, and the first of those missed.
    fn missed_by(&self, txn: u32) -> (Vec<(u32, Vec<u32>)>, u32) {
        let reads =
            self.problem.reads_of(txn).map(|i| i as u32).filter(|&i| self.chosen[i as usize] != Source::OPEN);
        let missed: Vec<(u32, Vec<u32>)> =
            reads.map(|i| (i, self.missed(i))).filter(|(_, missed)| !missed.is_empty()).collect();
        let places = missed.iter().flat_map(|(_, missed)| missed).map(|&writer| self.place[writer as usize]);
        let first = places.min().unwrap_or(0);
        (missed, first)
    }

    /// A key that two transactions write.
    pub(super) fn conflict(&self, one: u32, other: u32) -> Option<Key> {
        let mut keys = self.problem.writes_of(one).map(|(key, _)| key);
        keys.find(|&key| self.problem.history.writes(Txn(other), key))
    }

    /// Reads that miss a writer which the reader overwrites, on a key that counts.
    fn broken_at_once(&self, counts: impl Fn(u32, u32, Key) -> Option<Key>) -> Vec<(u32, u32)> {
        let (problem, history) = (self.problem, self.problem.history);
        let mut broken = Vec::new();
        for (read, i) in problem.reads.iter().zip(0..).filter(|(read, _)| self.encoder.is_there(read.txn)) {
            let is_cursor = || history.writes(Txn(read.txn), read.key) && !history.op(read.op).in_range;
            if self.sight == Sight::Cursor && !is_cursor()
                || !problem.is_update(read.txn)
                || self.chosen[i as usize] == Source::OPEN
            {
                continue;
            }
            let missed = self.missed(i).into_iter();
            let seen = missed.filter(|&writer| counts(writer, read.txn, read.key).is_some());
            broken.extend(seen.take(AT_A_TIME).map(|writer| (i, writer)));
        }
        broken
    }

    /// Reads that miss a writer that leads to their transaction, looked for by a walk back from each transaction that
    /// misses a writer. Transactions that write are left out where they are serializable already.
    fn broken_by_walk(&self, paths: &Paths<'_>) -> Vec<(u32, u32)> {
        let counts = |txn: u32| self.sight != Sight::Updates || !self.problem.is_update(txn);
        let txns = 0..self.problem.history.txn_count() as u32;
        let mut broken = Vec::new();
        for txn in txns.filter(|&txn| self.encoder.is_there(txn) && counts(txn)) {
            let (missed, first) = self.missed_by(txn);
            if missed.is_empty() {
                continue;
            }
            if self.watch.limit().is_some() {
                break;
            }
            let mut seen = FxHashSet::default();
            paths.walk_back(txn, &|node| self.place[node as usize] >= first, &mut seen);
            for (read, missed) in missed {
                let missed = missed.into_iter().filter(|writer| seen.contains(writer));
                broken.extend(missed.take(AT_A_TIME).map(|writer| (read, writer)));
            }
        }
        broken
    }

    /// Reads that miss a writer that leads to an earlier operation of their transaction.
    fn broken_earlier(&self, paths: &Paths<'_>) -> Vec<(u32, u32)> {
        let problem = self.problem;
        let mut broken = Vec::new();
        for txn in (0..problem.history.txn_count() as u32).filter(|&txn| self.encoder.is_there(txn)) {
            let (missed, first) = self.missed_by(txn);
            if missed.is_empty() {
                continue;
            }
            if self.watch.limit().is_some() {
                break;
            }
            let within = |node: u32| self.place[node as usize] >= first;
            let mut seen = FxHashSet::default();
            let mut earlier = self.earlier(txn).into_iter().peekable();
            for (read, missed) in missed {
                let start = problem.history.start_of(problem.reads[read as usize].op);
                while let Some((_, before, _)) = earlier.next_if(|earlier| earlier.0 < start) {
                    if within(before) {
                        paths.walk_back(before, &within, &mut seen);
                    }
                }
                let missed = missed.into_iter().filter(|writer| seen.contains(writer));
                broken.extend(missed.take(AT_A_TIME).map(|writer| (read, writer)));
            }
        }
        broken
    }

    /// The transaction that each operation of a transaction reads from or overwrites, in program order.
    pub(super) fn earlier(&self, txn: u32) -> Vec<(Op, u32, Reason)> {
        let problem = self.problem;
        let read_from = |i: usize| Some((problem.reads[i].op, self.chosen[i].txn()?, Reason::Read(i as u32)));
        let mut earlier: Vec<(Op, u32, Reason)> = problem.reads_of(txn).filter_map(read_from).collect();
        let writes = problem.history.ops_of(Txn(txn)).filter(|op| op.kind.is_write() && op.last_write);
        let place = |txn: u32| self.place[txn as usize];
        earlier.extend(writes.filter_map(|op| {
            let writers = problem.history.writers(op.key).iter().map(|writer| writer.0);
            let before =
                writers.filter(|&writer| place(writer) < place(txn) && self.encoder.is_there(writer));
            Some((op.id, before.max_by_key(|&writer| place(writer))?, Reason::Overwritten(op.key)))
        }));
        earlier.sort_unstable_by_key(|earlier| earlier.0);
        earlier
    }

    /// Reads of transactions that write and miss a writer before them.
    fn broken_updates(&self) -> Vec<(u32, u32)> {
        let mut broken = Vec::new();
        for (read, i) in
            self.problem.reads.iter().zip(0..).filter(|(read, _)| self.encoder.is_there(read.txn))
        {
            if self.problem.is_update(read.txn) && self.chosen[i as usize] != Source::OPEN {
                broken.extend(self.missed(i).into_iter().take(AT_A_TIME).map(|writer| (i, writer)));
            }
        }
        broken
    }
}

//! Whether a history stays legal at a level when the transaction that runs reads a key from a writer.
//!
//! **Read committed, read atomic, causal.** The writers of all reads are known, and what must have been seen (PHI of
//! docs/levels.md, "Commit orders") depends on sessions and reads alone. So the edges that the axiom forces are known, and
//! the level holds exactly if they have no cycle together with `so` and `wr`. The transaction that runs is the last: nothing
//! follows it, so all new edges are between committed transactions. They are added to a closed order.
//!
//! **Prefix, parallel snapshot, snapshot, serializable.** First, in a few steps: do all transactions so far, with this read,
//! satisfy the axiom if they committed in the order in which they ran? Then the read is legal. Otherwise, is it illegal at
//! causal? Then it is illegal here too. Otherwise the engine of `isoscope check` decides the history so far. A read that is
//! legal before the transaction writes may exclude its commit: at snapshot isolation, a transaction that missed a version of
//! a key can no longer overwrite the key. [`Judge::commit`] asks again.
//!
//! Writers are numbers: 0 is the initial state, others count committed transactions from 1.

use isoscope_check::{Checker, Options, Unknown, Verdict};
use isoscope_history::{Builder, History};
use isoscope_levels::Level;
use rustc_hash::FxHashMap;

use crate::order::{Bits, Order};

/// The number of a key.
pub(crate) type KeyId = u32;
/// The number of a writer; see the module.
pub(crate) type Writer = u32;

/// The initial state.
pub(crate) const INITIAL: Writer = 0;

/// A committed transaction.
#[derive(Debug)]
struct Done {
    session: u32,
    /// External reads, in program order.
    reads: Vec<(KeyId, Writer)>,
    /// The keys written.
    writes: Vec<KeyId>,
}

/// The transaction that runs.
#[derive(Debug, Default)]
struct Open {
    session: u32,
    reads: Vec<(KeyId, Writer)>,
    /// The transactions whose writes it must have seen, as far as the level looks: at read committed and read atomic those of
    /// its session and those it read from, at the other levels also what precedes these.
    past: Bits,
    /// The forced order with what its reads force, if that changes it. It lasts only if the transaction commits.
    forced: Option<Order>,
}

/// The level cannot be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undecided;

/// The committed transactions, and the one that runs.
#[derive(Debug)]
pub(crate) struct Judge {
    level: Level,
    done: Vec<Done>,
    /// The writers of each key, in the order of their commits, without the initial state.
    writers: FxHashMap<KeyId, Vec<Writer>>,
    /// The last transaction of each session.
    last: FxHashMap<u32, Writer>,
    /// What so and wr say, closed.
    happened: Order,
    /// What the axiom of the weak level says, closed. The strong levels use causal.
    forced: Order,
    /// Whether the order of commits satisfies the axiom of the strong level.
    in_order: bool,
    open: Open,
}

impl Judge {
    /// The levels that can be judged.
    pub(crate) const LEVELS: [Level; 7] = [
        Level::ReadCommitted,
        Level::ReadAtomic,
        Level::Causal,
        Level::Prefix,
        Level::ParallelSnapshot,
        Level::Snapshot,
        Level::Serializable,
    ];

    pub(crate) fn new(level: Level) -> Judge {
        let mut initial = Order::default();
        initial.push(Bits::default());
        Judge {
            level,
            done: vec![Done { session: u32::MAX, reads: Vec::new(), writes: Vec::new() }],
            writers: FxHashMap::default(),
            last: FxHashMap::default(),
            happened: initial.clone(),
            forced: initial,
            in_order: true,
            open: Open::default(),
        }
    }

    /// Begins a transaction.
    pub(crate) fn begin(&mut self, session: u32) {
        let mut past = Bits::default();
        if let Some(&last) = self.last.get(&session) {
            if self.looks_far() {
                past = self.happened.before(last).clone();
            } else {
                let earlier = (1..last).filter(|&txn| self.done[txn as usize].session == session);
                earlier.for_each(|txn| past.add(txn));
            }
            past.add(last);
        }
        self.open = Open { session, reads: Vec::new(), past, forced: None };
    }

    /// Whether the transaction that runs may read a key from a writer.
    pub(crate) fn is_legal(&self, key: KeyId, writer: Writer) -> Result<bool, Undecided> {
        // Where the initial state is the only version, nothing can be missed.
        if self.writers(key).is_empty() {
            return Ok(true);
        }
        if !self.is_weak() && self.in_order && self.is_legal_in_order(Some((key, writer)), &[]) {
            return Ok(true);
        }
        if self.with_read(key, writer).is_err() {
            return Ok(false);
        }
        if self.is_weak() {
            return Ok(true);
        }
        self.check(Some((key, writer)), &[], &[])
    }

    /// Reads a key from a writer, which must be legal.
    pub(crate) fn read(&mut self, key: KeyId, writer: Writer) {
        if let Ok(Some(forced)) = self.with_read(key, writer) {
            self.open.forced = Some(forced);
        }
        self.see(writer);
        self.open.reads.push((key, writer));
    }

    fn see(&mut self, writer: Writer) {
        if writer == INITIAL {
            return;
        }
        if self.looks_far() {
            let before = self.happened.before(writer).clone();
            self.open.past.join(&before);
        }
        self.open.past.add(writer);
    }

    /// Commits the transaction that runs, unless the level forbids it. `missed` are keys that are new with this commit, and
    /// that earlier transactions have read as absent: they read a range.
    pub(crate) fn commit(
        &mut self,
        writes: Vec<KeyId>,
        missed: &[(Writer, KeyId)],
    ) -> Result<Option<Writer>, Undecided> {
        if !self.is_weak() {
            let in_order = self.in_order && self.is_legal_in_order(None, &writes);
            if !in_order && !self.check(None, &writes, missed)? {
                return Ok(None);
            }
            self.in_order = in_order;
        }
        let number = self.done.len() as Writer;
        let Open { session, reads, forced, .. } = std::mem::take(&mut self.open);
        self.forced = forced.unwrap_or_else(|| std::mem::take(&mut self.forced));
        let sources = reads.iter().map(|&(_, writer)| writer).chain(self.last.get(&session).copied());
        let (mut happened, mut forced) = (Bits::default(), Bits::default());
        happened.add(INITIAL);
        forced.add(INITIAL);
        for source in sources {
            happened.join(self.happened.before(source));
            happened.add(source);
            forced.join(self.forced.before(source));
            forced.add(source);
        }
        self.happened.push(happened);
        self.forced.push(forced);
        for &key in &writes {
            self.writers.entry(key).or_default().push(number);
        }
        self.last.insert(session, number);
        self.done.push(Done { session, reads, writes });
        for &(reader, key) in missed {
            self.done[reader as usize].reads.push((key, INITIAL));
        }
        Ok(Some(number))
    }

    /// Ends the transaction that runs without effect. Returns what it read.
    pub(crate) fn abort(&mut self) -> Vec<(KeyId, Writer)> {
        std::mem::take(&mut self.open).reads
    }

    /// The external reads of a committed transaction, in program order; what it missed in ranges comes last.
    #[cfg(test)]
    pub(crate) fn reads(&self, writer: Writer) -> &[(KeyId, Writer)] {
        &self.done[writer as usize].reads
    }

    /// The keys that a committed transaction wrote.
    #[cfg(test)]
    pub(crate) fn writes(&self, writer: Writer) -> &[KeyId] {
        &self.done[writer as usize].writes
    }

    fn is_weak(&self) -> bool {
        matches!(self.level, Level::ReadCommitted | Level::ReadAtomic | Level::Causal)
    }

    /// Whether a transaction must have seen what those saw that it saw.
    fn looks_far(&self) -> bool {
        !matches!(self.level, Level::ReadCommitted | Level::ReadAtomic)
    }

    fn writers(&self, key: KeyId) -> &[Writer] {
        self.writers.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The forced order after this read, if it changes.
    fn with_read(&self, key: KeyId, writer: Writer) -> Result<Option<Order>, Cycle> {
        let mut forced = Edges { order: self.open.forced.as_ref().unwrap_or(&self.forced), changed: None };
        if self.level == Level::ReadCommitted {
            // Only what was read before this read counts.
            let earlier = |other| self.open.reads.iter().any(|&(_, source)| source == other);
            self.force(&mut forced, key, writer, &earlier)?;
            return Ok(forced.changed);
        }
        let mut past = Bits::default();
        if writer != INITIAL {
            if self.looks_far() {
                past = self.happened.before(writer).clone();
            }
            past.add(writer);
        }
        let is_new = |other| past.has(other) && !self.open.past.has(other);
        let is_seen = |other| past.has(other) || self.open.past.has(other);
        self.force(&mut forced, key, writer, &is_seen)?;
        for &(key, source) in &self.open.reads {
            self.force(&mut forced, key, source, &is_new)?;
        }
        Ok(forced.changed)
    }

    /// Orders all other writers of a key that were seen before the one that was read.
    fn force(
        &self,
        forced: &mut Edges<'_>,
        key: KeyId,
        source: Writer,
        seen: &dyn Fn(Writer) -> bool,
    ) -> Result<(), Cycle> {
        let others = self.writers(key).iter().copied().filter(|&other| other != source && seen(other));
        for other in others {
            forced.add(other, source)?;
        }
        Ok(())
    }

    /// Whether the transaction that runs, with one more read and these writes, satisfies the axiom of the strong level if all
    /// transactions committed in the order in which they ran.
    fn is_legal_in_order(&self, read: Option<(KeyId, Writer)>, writes: &[KeyId]) -> bool {
        let reads = || self.open.reads.iter().copied().chain(read);
        let seen = reads().map(|(_, writer)| writer).chain(self.last.get(&self.open.session).copied());
        let mut low = seen.max().unwrap_or(INITIAL);
        if matches!(self.level, Level::Snapshot | Level::ParallelSnapshot) {
            let overwritten = writes.iter().filter_map(|&key| self.writers(key).last().copied());
            low = overwritten.fold(low, Writer::max);
        }
        if self.level == Level::Serializable {
            low = self.done.len() as Writer;
        }
        reads().all(|(key, source)| {
            let next = self.writers(key).iter().find(|&&other| other > source);
            next.is_none_or(|&next| next > low)
        })
    }

    /// Asks the engine.
    fn check(
        &self,
        read: Option<(KeyId, Writer)>,
        writes: &[KeyId],
        missed: &[(Writer, KeyId)],
    ) -> Result<bool, Undecided> {
        let history = self.history_so_far(read, writes, missed);
        match Checker::new(&history, Options { max_anomalies: 1, ..Options::default() })
            .check(self.level)
            .verdict
        {
            Verdict::Holds(_) | Verdict::Unknown(Unknown::NothingToCheck) => Ok(true),
            Verdict::Violated(_) => Ok(false),
            Verdict::Unknown(_) => Err(Undecided),
        }
    }

    /// The history so far, with one more read and these writes of the transaction that runs. Values are the numbers of
    /// writers, so that the writer of every read is known.
    fn history_so_far(
        &self,
        read: Option<(KeyId, Writer)>,
        writes: &[KeyId],
        missed: &[(Writer, KeyId)],
    ) -> History {
        let mut builder = Builder::new();
        let open_reads: Vec<(KeyId, Writer)> = self.open.reads.iter().copied().chain(read).collect();
        let number = self.done.len() as Writer;
        let open = (number, self.open.session, &open_reads[..], writes);
        let done = (1..).zip(&self.done[1..]).map(|(n, it)| (n, it.session, &it.reads[..], &it.writes[..]));
        // A key that is written for the first time now may have been read before.
        let is_written = |key: KeyId| !self.writers(key).is_empty() || writes.contains(&key);
        for (number, session, reads, writes) in done.chain([open]) {
            let mut txn = builder.session(session).txn();
            let missed =
                missed.iter().filter(|(reader, _)| *reader == number).map(|&(_, key)| (key, INITIAL));
            for (key, writer) in reads.iter().copied().chain(missed).filter(|&(key, _)| is_written(key)) {
                txn = txn.read(key, writer);
            }
            for &key in writes {
                txn = txn.write(key, number);
            }
        }
        builder.finish()
    }
}

/// The axiom forces a cycle.
struct Cycle;

/// An order to which edges are added. It is copied at the first edge that is new.
struct Edges<'a> {
    order: &'a Order,
    changed: Option<Order>,
}

impl Edges<'_> {
    fn add(&mut self, a: Writer, b: Writer) -> Result<(), Cycle> {
        let current = self.changed.as_ref().unwrap_or(self.order);
        if current.precedes(a, b) {
            return Ok(());
        }
        let holds = self.changed.get_or_insert_with(|| self.order.clone()).add(a, b);
        if holds { Ok(()) } else { Err(Cycle) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic fails the test")]
mod tests {
    use isoscope_workload::Dice;

    use super::*;

    const KEYS: u32 = 4;

    /// Runs random transactions at a level. The engine of `isoscope check` confirms every answer, yes or no.
    fn compare(level: Level, seed: u64) -> [u32; 2] {
        let mut dice = Dice::new(seed, "judge");
        let (mut judge, mut answers) = (Judge::new(level), [0; 2]);
        for _ in 0..9 {
            judge.begin(dice.below(3));
            for _ in 0..dice.between(1, 3) {
                let key = dice.below(KEYS);
                let writers: Vec<Writer> = judge.writers(key).iter().copied().chain([INITIAL]).collect();
                let mut legal = Vec::new();
                for writer in writers {
                    let answer = judge.is_legal(key, writer).unwrap();
                    assert_eq!(
                        answer,
                        judge.check(Some((key, writer)), &[], &[]).unwrap(),
                        "{level} {judge:?} {key} {writer}"
                    );
                    answers[usize::from(answer)] += 1;
                    legal.extend(answer.then_some(writer));
                }
                assert!(!legal.is_empty(), "{level} {judge:?} {key}");
                judge.read(key, legal[dice.below(legal.len() as u32) as usize]);
            }
            // The reads of a transaction that rolls back restrict no other transaction.
            if dice.chance(0.2) {
                judge.abort();
                continue;
            }
            let writes: Vec<KeyId> = (0..KEYS).filter(|_| dice.chance(0.4)).collect();
            let expected = judge.check(None, &writes, &[]).unwrap();
            let committed = judge.commit(writes, &[]).unwrap();
            assert_eq!(committed.is_some(), expected, "{level} {judge:?}");
            judge.abort();
            // All that has committed, with no look at keys: the level holds.
            let mut whole = Builder::new();
            for (number, done) in (1..).zip(&judge.done[1..]) {
                let mut txn = whole.session(done.session).txn();
                for &(key, writer) in &done.reads {
                    txn = txn.read(key, writer);
                }
                for &key in &done.writes {
                    txn = txn.write(key, number);
                }
            }
            let verdict = Checker::new(&whole.finish(), Options::default()).check(level).verdict;
            assert!(!matches!(verdict, Verdict::Violated(_)), "{level} {judge:?}");
        }
        answers
    }

    #[test]
    fn the_engine_agrees() {
        for level in Judge::LEVELS {
            let mut answers = [0; 2];
            for seed in 0..60 {
                let [no, yes] = compare(level, seed);
                answers = [answers[0] + no, answers[1] + yes];
            }
            assert!(answers[0] > 20 && answers[1] > 100, "{level}: {answers:?}");
        }
    }

    /// A range that was read before a key existed is a read of the key as absent.
    #[test]
    fn a_missed_key_counts() {
        let mut judge = Judge::new(Level::Prefix);
        judge.begin(0);
        assert_eq!(judge.commit(vec![1], &[]), Ok(Some(1)));
        judge.begin(1);
        assert_eq!(judge.commit(vec![2], &[(1, 2)]), Ok(Some(2)));
        assert_eq!(judge.reads(1), [(2, INITIAL)]);
        assert_eq!(judge.writes(2), [2]);
    }
}

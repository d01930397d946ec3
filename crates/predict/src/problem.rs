//! The problem: the recorded run, reduced to what a prediction can change.
//!
//! Transactions are numbered in the observed order, so `a < b` says that `a` is before `b` in it. Reads of keys that nobody writes
//! are dropped. From read atomic up, a second read of a key cannot differ from the first and is dropped, and keys with the same writers
//! are one key: reads of two such keys from different writers would be fractured. With a strict boundary this holds only if no
//! read stands between the first writes of the keys, in any writer.
//!
//! `hb`, the transitive closure of session order and reads-from in the observed run, is a vector clock for each transaction. It holds
//! between full transactions in every prediction, because a full transaction reads what it read.

use isoscope_history::{OpView, Txn};
use rustc_hash::FxHashMap;

pub(crate) use crate::observed::INITIAL;
use crate::observed::{Observed, is_external_read};

/// A key that no remaining read is of.
const NO_CLASS: u32 = u32::MAX;

/// An external read that a prediction may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    /// The class of its key.
    pub(crate) key: u32,
    /// The writer in the observed run, or [`INITIAL`].
    pub(crate) source: u32,
    /// The place of the operation in its transaction.
    pub(crate) at: u32,
}

/// The writes of a key by a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    /// The class of its key.
    pub(crate) key: u32,
    /// How many remaining reads of the transaction are before its first write of the key; with [`Cut::Final`], before its last one. A
    /// transaction that is cut has written the key if the cut is behind that.
    pub(crate) after: u32,
}

/// What is left of a transaction that is cut at a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Everything before the read.
    Before,
    /// Of the writes before the read, only those that are the last one of their key in the whole transaction. In `IsoPredict`, a
    /// transaction has no other writes (section 2.1 of the paper).
    Final,
}

/// A transaction of the run.
#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    pub(crate) txn: Txn,
    pub(crate) session: u32,
    /// Its place among the transactions of its session that took effect.
    pub(crate) place: u32,
    pub(crate) reads: Vec<Read>,
    pub(crate) writes: Vec<Write>,
    /// The keys of promoted reads, which conflict with writes.
    pub(crate) locks: Vec<u32>,
    /// Whether it is not of the run: another form of a transaction of its session, with the same place. It can only be a boundary
    /// transaction.
    pub(crate) is_variant: bool,
}

impl Transaction {
    pub(crate) fn writes_key(&self, key: u32) -> bool {
        self.writes.iter().any(|write| write.key == key)
    }

    /// The keys that conflict with writes of other transactions: those that it may write, or locks.
    pub(crate) fn conflicts(&self) -> impl Iterator<Item = u32> + '_ {
        let locks = self.locks.iter().copied().filter(|&key| !self.writes_key(key));
        self.writes.iter().map(|write| write.key).chain(locks)
    }
}

/// See the module.
pub(crate) struct Problem<'o> {
    pub(crate) observed: &'o Observed<'o>,
    /// In observed order.
    pub(crate) txns: Vec<Transaction>,
    /// The transactions of each session, without variants.
    pub(crate) sessions: Vec<Vec<u32>>,
    /// The writers of each class of keys, ascending.
    pub(crate) writers: Vec<Vec<u32>>,
    /// The same without variants, session by session.
    by_session: Vec<Vec<u32>>,
    /// The class of each key of the history.
    classes: Vec<u32>,
    /// Whether a transaction reads a class once.
    pub(crate) reads_once: bool,
    /// Whether the boundary is strict.
    pub(crate) strict: bool,
    /// What a strict boundary leaves.
    pub(crate) cut: Cut,
    /// Whether some transaction is a variant.
    pub(crate) has_variants: bool,
    clocks: Vec<u32>,
}

impl<'o> Problem<'o> {
    /// Reduces a run. `merges` says whether the level is read atomic or stronger; `strict` is what a strict boundary leaves.
    pub(crate) fn new(observed: &'o Observed<'o>, merges: bool, strict: Option<Cut>) -> Problem<'o> {
        let (strict, cut) = (strict.is_some(), strict.unwrap_or(Cut::Before));
        let history = observed.history;
        let keys = history.key_count();
        let mut writers: Vec<Vec<u32>> = vec![Vec::new(); keys];
        for (&txn, number) in observed.order.iter().zip(0..) {
            for op in history.ops_of(txn).filter(|op| op.last_write) {
                writers[op.key.index()].push(number);
            }
        }
        let single: Vec<u32> = (0..keys as u32)
            .map(|key| if writers[key as usize].is_empty() { NO_CLASS } else { key })
            .collect();
        let raw = transactions(observed, &single, merges, cut);
        let classes = if merges { merge(&raw, &writers, strict) } else { single };
        let mut txns = if merges { transactions(observed, &classes, true, cut) } else { raw };
        let count =
            classes.iter().filter(|&&class| class != NO_CLASS).max().map_or(0, |&most| most as usize + 1);
        let mut class_writers: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (key, &class) in classes.iter().enumerate().filter(|&(_, &class)| class != NO_CLASS) {
            class_writers[class as usize].clone_from(&writers[key]);
        }
        let sessions = number_sessions(observed, &mut txns);
        let clocks = clocks(&txns, &sessions);
        let mut by_session = class_writers.clone();
        for writers in &mut by_session {
            writers.retain(|&writer| !txns[writer as usize].is_variant);
            writers.sort_unstable_by_key(|&writer| (txns[writer as usize].session, writer));
        }
        let reads_once = merges;
        let has_variants = txns.iter().any(|txn| txn.is_variant);
        Problem {
            observed,
            txns,
            sessions,
            writers: class_writers,
            by_session,
            classes,
            reads_once,
            strict,
            cut,
            has_variants,
            clocks,
        }
    }

    /// Makes reads conflict with writes.
    pub(crate) fn promote(&mut self, is_promoted: impl Fn(u32, usize) -> bool) {
        for (txn, number) in self.txns.iter_mut().zip(0..) {
            let reads = txn.reads.iter().enumerate().filter(|&(read, _)| is_promoted(number, read));
            let mut locks: Vec<u32> = reads.map(|(_, read)| read.key).collect();
            locks.sort_unstable();
            locks.dedup();
            txn.locks = locks;
        }
    }

    /// The number of transactions.
    pub(crate) fn len(&self) -> usize {
        self.txns.len()
    }

    pub(crate) fn txn(&self, number: u32) -> &Transaction {
        &self.txns[number as usize]
    }

    /// The class of an operation's key, unless nobody writes it.
    pub(crate) fn class(&self, op: &OpView) -> Option<u32> {
        Some(self.classes[op.key.index()]).filter(|&class| class != NO_CLASS)
    }

    /// The external reads of a transaction, by their place in it, each with the read of [`Transaction::reads`] whose writer it has if that
    /// changes. With [`Problem::reads_once`], all reads of a class have one writer.
    pub(crate) fn merged(&self, number: u32) -> Vec<(u32, usize)> {
        let txn = self.txn(number);
        // A transaction that is cut ends with its only changed read.
        let by_class = self.reads_once && !self.strict;
        let name = |key: u32, at: u32| if by_class { key } else { at };
        let reads = txn.reads.iter().enumerate();
        let reads: FxHashMap<u32, usize> = reads.map(|(i, read)| (name(read.key, read.at), i)).collect();
        let ops = self.observed.history.ops_of(txn.txn).zip(0..).filter(|(op, _)| is_external_read(op));
        let read = |(op, at): (OpView, u32)| Some((at, *reads.get(&name(self.class(&op)?, at))?));
        ops.filter_map(read).collect()
    }

    /// The writers of a class of keys in a session, in session order.
    pub(crate) fn writers_in(&self, key: u32, session: u32) -> &[u32] {
        let writers = &self.by_session[key as usize];
        let first = writers.partition_point(|&writer| self.txn(writer).session < session);
        let end = writers.partition_point(|&writer| self.txn(writer).session <= session);
        &writers[first..end]
    }

    /// How many transactions of a session are a transaction or before it in hb.
    #[inline]
    pub(crate) fn clock(&self, number: u32, session: u32) -> u32 {
        self.clocks[number as usize * self.sessions.len() + session as usize]
    }

    /// Whether hb leads from one transaction to another. The initial state is before all others.
    #[inline]
    pub(crate) fn hb(&self, from: u32, to: u32) -> bool {
        if from == INITIAL || to == INITIAL {
            return from != to && from == INITIAL;
        }
        let Transaction { session, place, .. } = self.txns[from as usize];
        from != to && self.clock(to, session) > place
    }

    /// The transaction of the run at a place of a session.
    pub(crate) fn at(&self, session: u32, place: u32) -> Option<u32> {
        self.sessions[session as usize].get(place as usize).copied()
    }

    /// The transaction before another in its session.
    pub(crate) fn before(&self, number: u32) -> Option<u32> {
        let Transaction { session, place, .. } = *self.txn(number);
        place.checked_sub(1).map(|place| self.sessions[session as usize][place as usize])
    }
}

/// The transactions in observed order, with the reads and writes of keys that have a class. Sessions are numbered later.
fn transactions(observed: &Observed<'_>, classes: &[u32], reads_once: bool, cut: Cut) -> Vec<Transaction> {
    let history = observed.history;
    let transaction = |(number, &txn): (usize, &Txn)| {
        let (mut reads, mut writes): (Vec<Read>, Vec<Write>) = (Vec::new(), Vec::new());
        for (op, at) in history.ops_of(txn).zip(0..) {
            let key = classes[op.key.index()];
            if key == NO_CLASS {
                continue;
            }
            if is_external_read(&op) && !(reads_once && reads.iter().any(|read| read.key == key)) {
                reads.push(Read { key, source: observed.sources[&op.id], at });
            }
            let counts = if cut == Cut::Final { op.last_write } else { op.kind.is_write() };
            if counts && writes.iter().all(|write| write.key != key) {
                writes.push(Write { key, after: reads.len() as u32 });
            }
        }
        let (locks, is_variant) = (Vec::new(), observed.is_variant(number));
        Transaction { txn, session: 0, place: 0, reads, writes, locks, is_variant }
    };
    observed.order.iter().enumerate().map(transaction).collect()
}

/// The class of each key: keys with the same writers are one class.
fn merge(txns: &[Transaction], writers: &[Vec<u32>], strict: bool) -> Vec<u32> {
    let mut known: FxHashMap<Vec<(u32, u32)>, u32> = FxHashMap::default();
    let mut class = |(key, writers): (usize, &Vec<u32>)| {
        if writers.is_empty() {
            return NO_CLASS;
        }
        // With a strict boundary, a cut between the writes would tell the keys apart.
        let after = |&writer: &u32| {
            let writes = &txns[writer as usize].writes;
            let write = writes.iter().find(|write| write.key as usize == key);
            write.filter(|_| strict).map_or(0, |write| write.after)
        };
        let shape = writers.iter().map(|writer| (*writer, after(writer))).collect();
        let next = known.len() as u32;
        *known.entry(shape).or_insert(next)
    };
    writers.iter().enumerate().map(&mut class).collect()
}

/// Numbers the sessions with transactions that took effect.
fn number_sessions(observed: &Observed<'_>, txns: &mut [Transaction]) -> Vec<Vec<u32>> {
    let of_run = |number: &usize| !observed.is_variant(*number);
    let mut used: Vec<u32> = (0..txns.len()).map(|number| observed.session_of(number).0).collect();
    used.sort_unstable();
    used.dedup();
    let numbers: FxHashMap<u32, u32> = used.iter().copied().zip(0..).collect();
    let mut sessions = vec![Vec::new(); used.len()];
    let mut places: FxHashMap<Txn, u32> = FxHashMap::default();
    for number in 0..txns.len() {
        let session = numbers[&observed.session_of(number).0];
        txns[number].session = session;
        if of_run(&number) {
            txns[number].place = sessions[session as usize].len() as u32;
            places.insert(txns[number].txn, txns[number].place);
            sessions[session as usize].push(number as u32);
        } else {
            // A form of an attempt that was rolled back follows what its session had committed.
            let place = places.get(&observed.of[number]).copied();
            txns[number].place = place.unwrap_or(sessions[session as usize].len() as u32);
        }
    }
    sessions
}

/// The vector clocks, row by row: the maximum over the transactions that lead to each one, which have smaller numbers.
fn clocks(txns: &[Transaction], sessions: &[Vec<u32>]) -> Vec<u32> {
    let width = sessions.len();
    let mut clocks = vec![0; txns.len() * width];
    for (number, txn) in txns.iter().enumerate() {
        let (done, rest) = clocks.split_at_mut(number * width);
        let own = &mut rest[..width];
        let before = txn.place.checked_sub(1).map(|place| sessions[txn.session as usize][place as usize]);
        let sources = txn.reads.iter().map(|read| read.source).filter(|&source| source != INITIAL);
        for from in sources.chain(before) {
            let from = &done[from as usize * width..][..width];
            own.iter_mut().zip(from).for_each(|(own, &from)| *own = (*own).max(from));
        }
        own[txn.session as usize] = txn.place + 1;
    }
    clocks
}

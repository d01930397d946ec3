//! What an explanation of a history has to decide: for every external read, which write it returned, so that no other writer of
//! the key is between the two.
//!
//! Most reads have one possible writer. Those of a value that several transactions wrote have more, and are *open*. A transaction of
//! unknown outcome that no read must be from, but some read may be from, is *optional*: it took effect exactly if a read is from it,
//! and then its own reads count.

use std::sync::Arc;

use isoscope_history::{History, Key, Op, OpKind, OpView, Outcome, Txn, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::broken;
use super::sources::{Source, Sources};
use crate::certificate::{Limit, Node};
use crate::resolve::{Link, Resolved, appended_of};
use crate::watch::{Watch, go_on};

/// The most earlier reads that are compared to find one that returned the same.
const MOST_COMPARED: usize = 64;

/// An external read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub(crate) op: Op,
    pub(crate) key: Key,
    pub(crate) txn: u32,
    pub(crate) source: Source,
}

/// An open read, and its possible sources.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) read: u32,
    pub(crate) sources: Sources,
}

/// By key and value, its writers.
type Shared = FxHashMap<(Key, Value), Arc<[Source]>>;

/// By transaction, a read of it that has no explanation, and the writers of what it returned.
type Broken = FxHashMap<u32, (Op, Vec<Source>)>;

/// See the module.
#[derive(Clone)]
pub(crate) struct Problem<'a> {
    pub(crate) history: &'a History,
    pub(crate) resolved: &'a Resolved,
    /// By transaction; those of absent transactions are left out.
    pub(crate) reads: Vec<Read>,
    /// Where the reads of each transaction begin.
    starts: Vec<u32>,
    pub(crate) open: Vec<Open>,
    /// Reads in ranges with a known source, where other writers may be between: they order reader and writer, and nothing else.
    pub(crate) ranged: Vec<Read>,
    /// Reads in ranges with several possible sources, one of which must be before the reader, and those of optional transactions.
    pub(super) open_ranged: Vec<(Op, Sources)>,
    /// One for each transaction, or empty when there are none.
    optional: Vec<bool>,
    /// Transactions of unknown outcome that cannot have taken effect, although they wrote what a read returned: a read of theirs
    /// has no possible writer, or only such transactions.
    pub(crate) broken: Broken,
}

/// The optional transactions that work on lists, whose versions change with them. What is said about such a history is true of
/// all else; whether they took effect is settled elsewhere (`worlds.rs`).
pub(crate) fn optional_lists(history: &History, resolved: &Resolved) -> Vec<Txn> {
    if resolved.ambiguous.is_none() || !history.has_lists() {
        return Vec::new();
    }
    let (optional, _) = Writes::new(history, resolved).optional(history, resolved);
    let lists = |txn: Txn| history.ops_of(txn).any(|op| matches!(op.kind, OpKind::Append | OpKind::ReadList));
    history.txns().filter(|&txn| optional.get(txn.index()) == Some(&true) && lists(txn)).collect()
}

/// For each external read of a transaction that certainly took effect, its possible writers.
pub(crate) fn possible_writers(
    history: &History,
    resolved: &Resolved,
    watch: &dyn Watch,
) -> Result<Vec<(Op, Vec<Node>)>, Limit> {
    let problem = Problem::new(history, resolved, true, watch)?;
    let open: FxHashMap<u32, &Sources> = problem.open.iter().map(|open| (open.read, &open.sources)).collect();
    let reads = problem.reads.iter().zip(0..).filter(|(read, _)| problem.is_present(read.txn));
    let writers = |(read, i): (&Read, u32)| {
        let writers = match open.get(&i) {
            Some(sources) => sources.iter().map(broken::node).collect(),
            None => vec![broken::node(read.source)],
        };
        (read.op, writers)
    };
    Ok(reads.map(writers).collect())
}

impl<'a> Problem<'a> {
    /// The reads of a history; of reads of a key that return the same only the first, unless `every` one counts.
    pub(crate) fn new(
        history: &'a History,
        resolved: &'a Resolved,
        every: bool,
        watch: &dyn Watch,
    ) -> Result<Problem<'a>, Limit> {
        go_on(watch)?;
        let writes = Writes::new(history, resolved);
        let (optional, broken) = writes.optional(history, resolved);
        let is_optional = |txn: Txn| optional.get(txn.index()) == Some(&true);
        let mut shared = Shared::default();
        let mut sources_of = |txn: Txn, op: Op| {
            let OpView { key, value, .. } = history.op(op);
            let all = shared.entry((key, value)).or_insert_with(|| {
                writes.of(history, key, value, &|t| resolved.present[t.index()] || is_optional(t)).into()
            });
            Sources::new(Arc::clone(all), txn.0)
        };
        let mut problem = Problem {
            history,
            resolved,
            reads: Vec::new(),
            starts: Vec::with_capacity(history.txn_count() + 1),
            open: Vec::new(),
            ranged: Vec::new(),
            open_ranged: Vec::new(),
            optional: Vec::new(),
            broken,
        };
        for txn in history.txns() {
            problem.starts.push(problem.reads.len() as u32);
            if resolved.present[txn.index()] {
                for i in history.op_range(txn) {
                    let (op, link) = (Op::at(i), resolved.links[i]);
                    // The writer of a list whose last element was appended more than once is settled elsewhere (`worlds.rs`).
                    let is_list = || history.op(op).kind == OpKind::ReadList;
                    let counts = link.is_read() || link == Link::AMBIGUOUS && !is_list();
                    if !counts || !every && problem.has_read(op) {
                        continue;
                    }
                    if link == Link::AMBIGUOUS {
                        go_on(watch)?;
                        problem.push(txn, op, sources_of(txn, op));
                    } else {
                        let source = link.txn().map_or(Source::INITIAL, |writer| Source::of(writer.0));
                        problem.reads.push(Read { op, key: history.key_of(op), txn: txn.0, source });
                    }
                }
            } else if is_optional(txn) {
                for op in external_reads(history, txn) {
                    if !every && problem.has_read(op) {
                        continue;
                    }
                    problem.push(txn, op, sources_of(txn, op));
                }
            }
        }
        problem.starts.push(problem.reads.len() as u32);
        problem.optional = optional;
        Ok(problem)
    }

    /// The same for a level that lets other writers be between a range read and its source: of reads in ranges only the order
    /// of reader and writer counts, and where the writer is open nothing, until there is an order (`ranges.rs`).
    pub(crate) fn sparing_ranges(mut self) -> Problem<'a> {
        let in_range = |read: &Read| self.history.op(read.op).in_range;
        if !self.reads.iter().any(in_range) {
            return self;
        }
        // A proof has to say why a read is not from transactions that wrote its value and cannot have committed.
        let is_plain = |read: &Read| self.broken.is_empty() || self.resolved.links[read.op.index()].is_read();
        let is_known = |read: &&Read| {
            in_range(read) && read.source.txn().is_some() && self.is_present(read.txn) && is_plain(read)
        };
        self.ranged = self.reads.iter().filter(is_known).copied().collect();
        let mut place = vec![u32::MAX; self.reads.len()];
        let mut kept: Vec<Read> = Vec::new();
        let mut starts = Vec::with_capacity(self.starts.len());
        for txn in 0..self.history.txn_count() as u32 {
            starts.push(kept.len() as u32);
            for i in self.reads_of(txn).filter(|&i| !in_range(&self.reads[i])) {
                place[i] = kept.len() as u32;
                kept.push(self.reads[i]);
            }
        }
        starts.push(kept.len() as u32);
        let op = |open: &Open| self.reads[open.read as usize].op;
        let ranged = self.open.iter().filter(|open| place[open.read as usize] == u32::MAX);
        let is_optional = |read: &&Read| {
            in_range(read) && read.source != Source::OPEN && !(self.is_present(read.txn) && is_plain(read))
        };
        let alone = |read: &Read| (read.op, Sources::new([read.source].into(), read.txn));
        let optional = self.reads.iter().filter(is_optional).map(alone);
        self.open_ranged = ranged.map(|open| (op(open), open.sources.clone())).chain(optional).collect();
        self.open.retain_mut(|open| {
            open.read = place[open.read as usize];
            open.read != u32::MAX
        });
        (self.reads, self.starts) = (kept, starts);
        self
    }

    /// The same without some transactions, and without the reads that are or may be from them; `resolved` knows that they are
    /// absent. Nothing is said here that the whole does not say.
    pub(crate) fn without<'b>(&self, resolved: &'b Resolved, left_out: &FxHashSet<u32>) -> Problem<'b>
    where
        'a: 'b,
    {
        let mut open: FxHashMap<u32, &Open> = self.open.iter().map(|open| (open.read, open)).collect();
        let mut rest = Problem {
            history: self.history,
            resolved,
            reads: Vec::with_capacity(self.reads.len()),
            starts: Vec::with_capacity(self.starts.len()),
            open: Vec::new(),
            ranged: self.ranged.clone(),
            open_ranged: self.open_ranged.clone(),
            optional: self.optional.clone(),
            broken: self.broken.clone(),
        };
        let names = |source: Source| source.txn().is_some_and(|txn| left_out.contains(&txn));
        let is_left_out = |read: &Read| left_out.contains(&read.txn) || names(read.source);
        rest.ranged.retain(|read| !is_left_out(read));
        for txn in 0..self.history.txn_count() as u32 {
            rest.starts.push(rest.reads.len() as u32);
            if left_out.contains(&txn) {
                if let Some(optional) = rest.optional.get_mut(txn as usize) {
                    *optional = false;
                }
                continue;
            }
            for i in self.reads_of(txn) {
                let open = open.remove(&(i as u32));
                let loses = match open {
                    Some(Open { sources, .. }) if sources.len() > left_out.len() => {
                        left_out.iter().any(|&txn| sources.contains(Source::of(txn)))
                    }
                    Some(Open { sources, .. }) => sources.iter().any(names),
                    None => names(self.reads[i].source),
                };
                if loses {
                    continue;
                }
                if let Some(Open { sources, .. }) = open {
                    rest.open.push(Open { read: rest.reads.len() as u32, sources: sources.clone() });
                }
                rest.reads.push(self.reads[i]);
            }
        }
        rest.starts.push(rest.reads.len() as u32);
        rest
    }

    /// Whether the transaction at hand has read the same value of a key already.
    fn has_read(&self, op: Op) -> bool {
        let from = self.starts.last().map_or(0, |&start| start as usize);
        // In a long transaction, to keep a read twice costs less than to look.
        let from = from.max(self.reads.len().saturating_sub(MOST_COMPARED));
        let (key, value) = (self.history.key_of(op), self.history.op(op).value);
        let in_range = self.history.op(op).in_range;
        self.reads[from..].iter().any(|read| {
            let earlier = self.history.op(read.op);
            // A read in a range may say less than one of a single key.
            read.key == key && earlier.value == value && (in_range || !earlier.in_range)
        })
    }

    fn push(&mut self, txn: Txn, op: Op, sources: Sources) {
        let key = self.history.key_of(op);
        // Whether an optional transaction took effect is for the search to decide.
        let single = sources.iter().next().filter(|_| sources.len() == 1);
        let source = single
            .filter(|source| source.txn().is_none_or(|txn| self.is_present(txn)))
            .unwrap_or(Source::OPEN);
        if source == Source::OPEN {
            self.open.push(Open { read: self.reads.len() as u32, sources });
        }
        self.reads.push(Read { op, key, txn: txn.0, source });
    }

    /// The places of the reads of a transaction.
    pub(crate) fn reads_of(&self, txn: u32) -> std::ops::Range<usize> {
        self.starts[txn as usize] as usize..self.starts[txn as usize + 1] as usize
    }

    /// The places of the reads of the same transaction that come before a read.
    pub(crate) fn reads_before(&self, read: u32) -> std::ops::Range<usize> {
        let Read { op, txn, .. } = self.reads[read as usize];
        let (reads, start) = (self.reads_of(txn), self.history.start_of(op));
        let end =
            reads.start + self.reads[reads.start..read as usize].partition_point(|read| read.op < start);
        reads.start..end
    }

    pub(crate) fn is_present(&self, txn: u32) -> bool {
        self.resolved.present[txn as usize]
    }

    /// Whether the transaction of a read makes its version of a key before the read.
    pub(crate) fn writes_before(&self, read: u32, key: Key) -> bool {
        let Read { op, txn, .. } = self.reads[read as usize];
        let mut earlier = self.history.ops_of(Txn(txn)).take_while(|other| other.id < op);
        earlier.any(|other| other.key == key && other.kind.is_write() && other.last_write)
    }

    /// Whether a transaction writes anything.
    pub(crate) fn is_update(&self, txn: u32) -> bool {
        self.history.ops_of(Txn(txn)).any(|op| op.kind.is_write())
    }

    /// The same without any reads.
    pub(crate) fn without_reads(mut self) -> Self {
        self.reads.clear();
        self.open.clear();
        self.starts.fill(0);
        self
    }

    pub(crate) fn is_optional(&self, txn: u32) -> bool {
        self.optional.get(txn as usize) == Some(&true)
    }

    /// Whether an open read may be from an optional transaction.
    pub(crate) fn is_uncertain(&self, open: &Open) -> bool {
        !self.optional.is_empty()
            && open.sources.iter().any(|source| source.txn().is_some_and(|txn| !self.is_present(txn)))
    }

    /// The keys a transaction writes, each with its final value.
    pub(crate) fn writes_of(&self, txn: u32) -> impl Iterator<Item = (Key, Value)> + '_ {
        let last = |op: &isoscope_history::OpView| op.kind.is_write() && op.last_write;
        self.history.ops_of(Txn(txn)).filter(last).map(|op| (op.key, op.value))
    }

    /// Whether a list that was read lacks what a writer appended.
    pub(crate) fn lacks(&self, read: Op, writer: u32) -> bool {
        let history = self.history;
        let read = history.op(read);
        if read.kind != OpKind::ReadList {
            return false;
        }
        let elements = appended_of(history, read);
        let mut appends =
            history.ops_of(Txn(writer)).filter(|op| op.key == read.key && op.kind == OpKind::Append);
        appends.any(|append| !elements.contains(&append.value))
    }

    /// A read of a present transaction that had no source to begin with, if there is one.
    pub(crate) fn orphan(&self) -> Option<u32> {
        let orphan =
            |open: &&Open| open.sources.is_empty() && self.is_present(self.reads[open.read as usize].txn);
        self.open.iter().find(orphan).map(|open| open.read)
    }
}

fn external_reads(history: &History, txn: Txn) -> impl Iterator<Item = Op> + '_ {
    let reads = history.ops_of(txn).filter(|op| op.kind == OpKind::Read && op.external);
    reads.filter(|op| op.value != Value::UNKNOWN).map(|op| op.id)
}

/// The writers of a value of a key, for the values that open reads returned.
struct Writes {
    by_value: FxHashMap<(Key, Value), Vec<u32>>,
}

impl Writes {
    fn new(history: &History, resolved: &Resolved) -> Writes {
        let mut by_value: FxHashMap<(Key, Value), Vec<u32>> = FxHashMap::default();
        if resolved.ambiguous.is_none() {
            return Writes { by_value };
        }
        let maybe = |txn: &Txn| !resolved.present[txn.index()] && history.outcome(*txn) == Outcome::Unknown;
        let ambiguous = resolved.links.iter().enumerate().filter(|(_, link)| **link == Link::AMBIGUOUS);
        let ambiguous = ambiguous.filter(|&(i, _)| history.op(Op::at(i)).kind == OpKind::Read);
        let unknown = history.txns().filter(maybe).flat_map(|txn| external_reads(history, txn));
        let mut keys = vec![false; history.key_count()];
        for op in ambiguous.map(|(i, _)| Op::at(i)).chain(unknown) {
            let op = history.op(op);
            keys[op.key.index()] = true;
            by_value.entry((op.key, op.value)).or_default();
        }
        for txn in history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted) {
            for op in history.ops_of(txn).filter(|op| op.last_write && op.kind.is_write()) {
                if keys[op.key.index()]
                    && let Some(writers) = by_value.get_mut(&(op.key, op.value))
                {
                    writers.push(txn.0);
                }
            }
        }
        Writes { by_value }
    }

    /// The possible sources of a read, among transactions that count.
    fn sources(&self, history: &History, reader: Txn, read: Op, counts: &dyn Fn(Txn) -> bool) -> Vec<Source> {
        let OpView { key, value, .. } = history.op(read);
        self.of(history, key, value, &|txn| txn != reader && counts(txn))
    }

    /// The writers of a value of a key among the transactions that count, and the initial state.
    fn of(&self, history: &History, key: Key, value: Value, counts: &dyn Fn(Txn) -> bool) -> Vec<Source> {
        let initial = history.is_initial(key, value).then_some(Source::INITIAL);
        let writers = self.by_value.get(&(key, value)).into_iter().flatten().copied();
        initial.into_iter().chain(writers.filter(|&txn| counts(Txn(txn))).map(Source::of)).collect()
    }

    /// The transactions of unknown outcome that a read may be from, and those that cannot have taken effect.
    fn optional(&self, history: &History, resolved: &Resolved) -> (Vec<bool>, Broken) {
        let maybe = |txn: Txn| !resolved.present[txn.index()] && history.outcome(txn) == Outcome::Unknown;
        let mut candidates: Vec<bool> = vec![false; history.txn_count()];
        let mut all_broken = FxHashMap::default();
        for txn in self.by_value.values().flatten().map(|&txn| Txn(txn)).filter(|&txn| maybe(txn)) {
            match wrong_read(history, txn) {
                None => candidates[txn.index()] = true,
                Some(read) => drop(all_broken.insert(txn.0, (read, Vec::new()))),
            }
        }
        if !candidates.contains(&true) {
            return (Vec::new(), all_broken);
        }
        // A transaction with a read that has no explanation did not take effect, so no read is from it.
        loop {
            let counts = |t: Txn| resolved.present[t.index()] || candidates[t.index()];
            let unexplained = |txn: Txn| {
                external_reads(history, txn).find(|&op| self.sources(history, txn, op, &counts).is_empty())
            };
            let broken: Vec<(Txn, Op)> = history
                .txns()
                .filter(|txn| candidates[txn.index()])
                .filter_map(|txn| Some((txn, unexplained(txn)?)))
                .collect();
            if broken.is_empty() {
                return (candidates, all_broken);
            }
            for (txn, read) in broken {
                candidates[txn.index()] = false;
                all_broken.insert(txn.0, (read, self.sources(history, txn, read, &|_| true)));
            }
        }
    }
}

/// A read of a key that the transaction had written that did not return its last write.
fn wrong_read(history: &History, txn: Txn) -> Option<Op> {
    let mut written: FxHashMap<Key, Value> = FxHashMap::default();
    history.ops_of(txn).find_map(|op| match op.kind {
        OpKind::Read if op.value == Value::UNKNOWN => None,
        OpKind::Read => written.get(&op.key).is_some_and(|&value| value != op.value).then_some(op.id),
        kind => {
            if kind.is_write() {
                written.insert(op.key, op.value);
            }
            None
        }
    })
}

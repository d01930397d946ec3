//! Cut isolation where it depends on which transactions took effect, or on which append an element is: all reads of a key by one
//! transaction that do not return its own writes are from one other transaction.
//!
//! The *origins* of a read are its possible writers: the transactions that finally wrote its value, or if there are none, those that wrote
//! it at all; of a list, those that appended the last element that is not the reader's. Two lists of different lengths end with
//! two appends if the element was appended twice, so one transaction is the origin of both only if it made both appends. A read that
//! has an explanation must be explained: one of its origins took effect, and a list needs as many appends of an element as it holds.
//!
//! The transactions that may have taken effect are the greatest set in which each has its reads explained, and its reads of each
//! key from one other. The algorithm starts with all transactions and removes those that fail, and with them what only they
//! explained. Fewer transactions never explain more, so a transaction that is removed cannot have taken effect.
//!
//! One case differs: a wrong read that need not be explained (of a key that its transaction had written, or of a value that its
//! writer overwrote) counts only if its writer took effect. So each set of such writers of unknown outcome is tried as absent. The
//! others count as long as they are not refuted; if they are, that is the case in which they are absent too. If there are more than
//! [`MOST_FREE`] of them, the answer stays open.

use isoscope_history::{History, Key, Op, OpKind, OpView, Outcome, Txn, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::certificate::{Limit, Node};
use crate::resolve::{Resolved, after_initial};
use crate::watch::{Turnstile, Watch, go_on};

/// What is known of cut isolation.
pub(crate) enum Cut {
    Holds,
    /// Two reads of a transaction that must have taken effect, or of one that can have explained what such a one read.
    Violated(Op, Op),
    /// Whether reads such as this one count depends on too many outcomes.
    Open(Op),
}

/// The most writers of unknown outcome on which it may depend whether a read counts.
const MOST_FREE: usize = 10;

/// A read of another transaction's write.
struct Read {
    op: Op,
    origins: Vec<Node>,
    /// One of the origins took effect, for certain.
    explained: bool,
    /// Of a list, its length and what it ends with.
    list: Option<(usize, Value)>,
}

/// The writers of a value of a key.
#[derive(Default)]
struct Writers {
    finally: Vec<Txn>,
    at_all: Vec<Txn>,
}

struct Search<'a> {
    history: &'a History,
    resolved: &'a Resolved,
    writers: FxHashMap<(Key, Value), Writers>,
    /// Those that may have taken effect.
    live: Vec<bool>,
    /// Those assumed to be absent, among the writers of reads that need not be explained.
    absent: FxHashSet<Txn>,
    /// Why the others cannot, and how many were left out before.
    failed: FxHashMap<Txn, (usize, Failure)>,
}

#[derive(Clone, Copy)]
enum Failure {
    Pair(Op, Op),
    /// This read of a key and value has no explanation.
    Unexplained(Key, Value),
}

/// Decides cut isolation.
pub(crate) fn decide(history: &History, resolved: &Resolved, watch: &dyn Watch) -> Result<Cut, Limit> {
    go_on(watch)?;
    let writers = writers(history);
    let mut search = Search {
        history,
        resolved,
        writers,
        live: history.txns().map(|txn| history.outcome(txn) != Outcome::Aborted).collect(),
        absent: FxHashSet::default(),
        failed: FxHashMap::default(),
    };
    let (free, first) = search.free_writers();
    if let Some(first) = first.filter(|_| free.len() > MOST_FREE) {
        return Ok(Cut::Open(first));
    }
    for absent in 1..1u32 << free.len() {
        let is_absent = |i: &usize| absent & (1 << i) != 0;
        search.absent = (0..free.len()).filter(is_absent).map(|i| free[i]).collect();
        if search.refute(watch)?.is_none() {
            return Ok(Cut::Holds);
        }
    }
    // Where none is absent, every failure leads to two reads that differ.
    search.absent.clear();
    let failure = search.refute(watch)?;
    Ok(failure.map_or(Cut::Holds, |failure| search.violated(failure)))
}

fn writers(history: &History) -> FxHashMap<(Key, Value), Writers> {
    let mut writers: FxHashMap<(Key, Value), Writers> = FxHashMap::default();
    for txn in history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted) {
        for op in history.ops_of(txn).filter(|op| op.kind.is_write()) {
            let writers = writers.entry((op.key, op.value)).or_default();
            if op.last_write {
                writers.finally.push(txn);
            }
            writers.at_all.push(txn);
        }
    }
    writers
}

impl Search<'_> {
    /// Why a committed transaction cannot have taken effect, if there is one.
    fn refute(&mut self, watch: &dyn Watch) -> Result<Option<Failure>, Limit> {
        let history = self.history;
        let turnstile = Turnstile::new(watch);
        let may_be = |txn: Txn| history.outcome(txn) != Outcome::Aborted && !self.absent.contains(&txn);
        self.live = history.txns().map(may_be).collect();
        self.failed.clear();
        let mut changed = true;
        while std::mem::take(&mut changed) {
            go_on(watch)?;
            for txn in history.txns() {
                if !turnstile.step() {
                    go_on(watch)?;
                }
                match self.failure(txn).filter(|_| self.live[txn.index()]) {
                    None => {}
                    Some(failure) if history.outcome(txn) == Outcome::Unknown => {
                        self.live[txn.index()] = false;
                        self.failed.insert(txn, (self.failed.len(), failure));
                        changed = true;
                    }
                    failure => return Ok(failure),
                }
            }
        }
        Ok(None)
    }

    /// The writers of reads that count only if they took effect, and the first such read.
    fn free_writers(&self) -> (Vec<Txn>, Option<Op>) {
        let live = self.history.txns().filter(|&txn| self.history.outcome(txn) != Outcome::Aborted);
        let reads = live.flat_map(|txn| self.reads(txn).1).flat_map(|(_, reads)| reads);
        let counts = |read: &Read| self.is_free(read) && !self.history.op(read.op).in_range;
        let free: Vec<Read> = reads.filter(counts).collect();
        let origins = free.iter().flat_map(|read| &read.origins);
        let mut writers: Vec<Txn> = origins.filter_map(|origin| origin.txn()).collect();
        writers.sort_unstable();
        writers.dedup();
        (writers, free.first().map(|read| read.op))
    }

    /// The reads of a transaction from others, by key; and what a list holds that cannot be explained.
    fn reads(&self, txn: Txn) -> (Option<Failure>, Vec<(Key, Vec<Read>)>) {
        let mut unexplained = None;
        let mut by_key: FxHashMap<Key, Vec<Read>> = FxHashMap::default();
        let mut own: FxHashMap<Key, Vec<Value>> = FxHashMap::default();
        for op in self.history.ops_of(txn) {
            let before = own.get(&op.key).map_or(&[][..], Vec::as_slice);
            match op.kind {
                OpKind::Read if op.value != Value::UNKNOWN => {
                    by_key.entry(op.key).or_default().extend(self.register(txn, op, before));
                }
                OpKind::ReadList if op.value != Value::UNKNOWN => {
                    let list = self.history.table().elements(op.value);
                    let part = list.strip_suffix(before);
                    let lacks = self.lacks(txn, op.key, part.unwrap_or(list));
                    unexplained = unexplained.or(lacks.map(|element| Failure::Unexplained(op.key, element)));
                    let Some(part) = part else { continue };
                    by_key.entry(op.key).or_default().extend(self.list(txn, op, part));
                }
                kind if kind.is_write() => own.entry(op.key).or_default().push(op.value),
                _ => {}
            }
        }
        let mut by_key: Vec<(Key, Vec<Read>)> = by_key.into_iter().collect();
        by_key.sort_unstable_by_key(|(key, _)| *key);
        (unexplained, by_key)
    }

    /// Why a transaction cannot have taken effect, if it cannot.
    fn failure(&self, txn: Txn) -> Option<Failure> {
        let (mut failure, by_key) = self.reads(txn);
        for (key, mut reads) in by_key {
            reads.retain(|read| {
                !self.is_free(read) || read.origins.iter().any(|&node| self.is_supposed(node))
            });
            let in_range = |read: &Read| self.history.op(read.op).in_range;
            let unexplained = |read: &&Read| read.explained && !read.origins.iter().any(|&o| self.is_live(o));
            if let Some(read) = reads.iter().find(unexplained) {
                failure = failure.or(Some(Failure::Unexplained(key, self.history.op(read.op).value)));
                continue;
            }
            // What a range read finds may change.
            reads.retain(|read| !in_range(read));
            if reads.len() > 1 {
                failure = failure.or(self.two_origins(key, txn, &reads));
            }
        }
        failure
    }

    /// Whether a writer of unknown outcome is supposed to have taken effect.
    fn is_supposed(&self, node: Node) -> bool {
        matches!(node, Node::Txn(txn) if !self.absent.contains(&txn))
    }

    fn is_live(&self, node: Node) -> bool {
        matches!(node, Node::Txn(txn) if self.live[txn.index()]) || node == Node::Initial
    }

    /// Whether it depends on outcomes if a read counts.
    fn is_free(&self, read: &Read) -> bool {
        let certain = |node: &Node| match *node {
            Node::Initial => true,
            Node::Txn(txn) => self.resolved.present[txn.index()],
        };
        !read.explained && !read.origins.iter().any(certain)
    }

    /// An element of a list that others appended often enough, but too few of them can have taken effect.
    fn lacks(&self, reader: Txn, key: Key, part: &[Value]) -> Option<Value> {
        let part = after_initial(self.history, key, part).unwrap_or(part);
        part.iter().copied().find(|&element| {
            let held = part.iter().filter(|&&other| other == element).count();
            let appends = || self.others(reader, key, element, |writers| &writers.at_all);
            appends().filter(|&node| self.is_live(node)).count() < held.min(appends().count())
        })
    }

    fn others<'s>(
        &'s self,
        reader: Txn,
        key: Key,
        value: Value,
        which: impl Fn(&'s Writers) -> &'s Vec<Txn>,
    ) -> impl Iterator<Item = Node> + 's {
        let writers = self.writers.get(&(key, value)).map_or(&[][..], |writers| which(writers).as_slice());
        writers.iter().filter(move |&&txn| txn != reader).map(|&txn| Node::Txn(txn))
    }

    fn register(&self, reader: Txn, op: OpView, own: &[Value]) -> Option<Read> {
        if own.last() == Some(&op.value) {
            return None;
        }
        let initial = self.history.is_initial(op.key, op.value).then_some(Node::Initial);
        let mut origins: Vec<Node> = initial.into_iter().collect();
        origins.extend(self.others(reader, op.key, op.value, |writers| &writers.finally));
        let is_own = |write: OpView| write.kind.is_write() && (write.key, write.value) == (op.key, op.value);
        let wrong = !own.is_empty() || origins.is_empty();
        if wrong && self.history.ops_of(reader).any(is_own) {
            return None;
        }
        let explained = !wrong && initial.is_none();
        if origins.is_empty() {
            origins.extend(self.others(reader, op.key, op.value, |writers| &writers.at_all));
        }
        (!origins.is_empty()).then_some(Read { op: op.id, origins, explained, list: None })
    }

    fn list(&self, reader: Txn, op: OpView, part: &[Value]) -> Option<Read> {
        let is_initial = after_initial(self.history, op.key, part).is_some_and(<[Value]>::is_empty);
        let list = part.last().map(|&last| (part.len(), last)).filter(|_| !is_initial);
        let origins: Vec<Node> = match list {
            None if is_initial => vec![Node::Initial],
            // It lacks the initial elements, and ends with no append.
            None => Vec::new(),
            Some((_, last)) => self.others(reader, op.key, last, |writers| &writers.at_all).collect(),
        };
        (!origins.is_empty()).then_some(Read { op: op.id, origins, explained: true, list })
    }

    /// Two of several reads of one key that are not all of one other.
    fn two_origins(&self, key: Key, reader: Txn, reads: &[Read]) -> Option<Failure> {
        let common =
            |origin: Node| self.is_live(origin) && reads.iter().all(|read| read.origins.contains(&origin));
        let first = &reads[0];
        let mut origins = first.origins.iter().copied();
        if origins.any(|origin| common(origin) && self.made_all(key, reader, reads, origin)) {
            return None;
        }
        let apart = |read: &&Read| !first.origins.iter().any(|origin| read.origins.contains(origin));
        let value = |read: &Read| self.history.op(read.op).value;
        let differs =
            |read: &&Read| read.list != first.list || read.list.is_none() && value(read) != value(first);
        let second = reads[1..].iter().find(apart).or_else(|| reads[1..].iter().find(differs));
        Some(Failure::Pair(first.op, second.map_or(reads[reads.len() - 1].op, |read| read.op)))
    }

    /// Whether a transaction made as many of the appends that lists end with as there are lists and appends.
    fn made_all(&self, key: Key, reader: Txn, reads: &[Read], origin: Node) -> bool {
        let ends: FxHashSet<(usize, Value)> = reads.iter().filter_map(|read| read.list).collect();
        ends.iter().all(|&(_, last)| {
            let lengths = ends.iter().filter(|end| end.1 == last).count();
            let appends = || self.others(reader, key, last, |writers| &writers.at_all);
            appends().filter(|&node| node == origin).count() >= lengths.min(appends().count())
        })
    }

    /// What to show: two reads of a transaction that cannot have taken effect. None is assumed to be absent, so each step leads to a
    /// transaction that was left out earlier.
    fn violated(&self, mut failure: Failure) -> Cut {
        loop {
            let (key, value) = match failure {
                Failure::Pair(first, second) => return Cut::Violated(first, second),
                Failure::Unexplained(key, value) => (key, value),
            };
            let last = self.history.table().elements(value).last();
            let places = [Some(value), last.copied()].into_iter().flatten();
            let writers = places.filter_map(|value| self.writers.get(&(key, value))).flat_map(|w| &w.at_all);
            // Those that would have explained the read were left out before its reader.
            match writers.filter_map(|txn| self.failed.get(txn)).min_by_key(|(number, _)| *number) {
                Some(&(_, next)) => failure = next,
                None => return Cut::Open(Op(0)),
            }
        }
    }
}

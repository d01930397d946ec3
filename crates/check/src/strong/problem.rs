//! What an explanation of a history has to decide: for every external read, whose write it returned, and so that no
//! other writer of the key comes between.
//!
//! Most reads have one possible writer. Those of a value that several transactions wrote have more, and are *open*. A
//! transaction of unknown outcome that nobody must have read from, but somebody may have, is *optional*: it is there
//! exactly when it is read from, and then its own reads count.

use isoscope_history::{History, Key, Op, OpKind, Outcome, Txn, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::resolve::{Link, Resolved};

/// The initial state as the source of a read.
pub(crate) const INITIAL: u32 = u32::MAX;
/// A read whose source is not known yet.
pub(crate) const OPEN: u32 = u32::MAX - 1;

/// An external read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub(crate) op: Op,
    pub(crate) key: Key,
    pub(crate) txn: u32,
    /// The transaction it reads from, [`INITIAL`] or [`OPEN`].
    pub(crate) source: u32,
}

/// An open read, and its possible sources.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) read: u32,
    pub(crate) sources: Vec<u32>,
}

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
    /// One for each transaction, or empty when there are none.
    optional: Vec<bool>,
}

impl<'a> Problem<'a> {
    pub(crate) fn new(history: &'a History, resolved: &'a Resolved) -> Problem<'a> {
        let writes = Writes::new(history, resolved);
        let optional = writes.optional(history, resolved);
        let is_optional = |txn: Txn| optional.get(txn.index()) == Some(&true);
        let mut problem = Problem {
            history,
            resolved,
            reads: Vec::new(),
            starts: Vec::with_capacity(history.txn_count() + 1),
            open: Vec::new(),
            optional: Vec::new(),
        };
        for txn in history.txns() {
            problem.starts.push(problem.reads.len() as u32);
            if resolved.present[txn.index()] {
                for i in history.op_range(txn) {
                    let (op, link) = (Op::at(i), resolved.links[i]);
                    if !(link.is_read() || link == Link::AMBIGUOUS) || problem.has_read(history.key_of(op)) {
                        continue;
                    }
                    if link == Link::AMBIGUOUS {
                        let sources = writes.sources(history, txn, op, &|t| {
                            resolved.present[t.index()] || is_optional(t)
                        });
                        problem.push(txn, op, sources);
                    } else {
                        let source = link.txn().map_or(INITIAL, |writer| writer.0);
                        problem.reads.push(Read { op, key: history.key_of(op), txn: txn.0, source });
                    }
                }
            } else if is_optional(txn) {
                for op in external_reads(history, txn) {
                    if problem.has_read(history.key_of(op)) {
                        continue;
                    }
                    let sources = writes.sources(history, txn, op, &|t| {
                        resolved.present[t.index()] || is_optional(t)
                    });
                    problem.push(txn, op, sources);
                }
            }
        }
        problem.starts.push(problem.reads.len() as u32);
        problem.optional = optional;
        problem
    }

    /// Whether the transaction at hand has read a key already. All its reads of a key return the same.
    fn has_read(&self, key: Key) -> bool {
        let from = self.starts.last().map_or(0, |&start| start as usize);
        self.reads[from..].iter().any(|read| read.key == key)
    }

    fn push(&mut self, txn: Txn, op: Op, sources: Vec<u32>) {
        let key = self.history.key_of(op);
        let source = if let [source] = sources[..] { source } else { OPEN };
        if source == OPEN {
            self.open.push(Open { read: self.reads.len() as u32, sources });
        }
        self.reads.push(Read { op, key, txn: txn.0, source });
    }

    /// Where the reads of a transaction stand.
    pub(crate) fn reads_of(&self, txn: u32) -> std::ops::Range<usize> {
        self.starts[txn as usize] as usize..self.starts[txn as usize + 1] as usize
    }

    pub(crate) fn is_present(&self, txn: u32) -> bool {
        self.resolved.present[txn as usize]
    }

    pub(crate) fn is_optional(&self, txn: u32) -> bool {
        self.optional.get(txn as usize) == Some(&true)
    }

    pub(crate) fn has_optional(&self) -> bool {
        self.optional.contains(&true)
    }

    /// The keys a transaction writes, each with its final value.
    pub(crate) fn writes_of(&self, txn: u32) -> impl Iterator<Item = (Key, Value)> + '_ {
        let last = |op: &isoscope_history::OpView| op.kind.is_write() && op.last_write;
        self.history.ops_of(Txn(txn)).filter(last).map(|op| (op.key, op.value))
    }

    /// Whether a transaction writes a key.
    pub(crate) fn writes(&self, txn: u32, key: Key) -> bool {
        self.history.writers(key).binary_search(&Txn(txn)).is_ok()
    }
}

fn external_reads(history: &History, txn: Txn) -> impl Iterator<Item = Op> + '_ {
    let reads = history.ops_of(txn).filter(|op| op.kind == OpKind::Read && op.external);
    reads.filter(|op| op.value != Value::UNKNOWN).map(|op| op.id)
}

/// Who wrote a value to a key, for the values that open reads returned.
struct Writes {
    by_value: FxHashMap<(Key, Value), Vec<u32>>,
}

impl Writes {
    fn new(history: &History, resolved: &Resolved) -> Writes {
        let mut by_value: FxHashMap<(Key, Value), Vec<u32>> = FxHashMap::default();
        if resolved.ambiguous.is_none() {
            return Writes { by_value };
        }
        let maybe = |txn: &Txn| {
            !resolved.present[txn.index()] && history.outcome(*txn) == Outcome::Unknown
        };
        let ambiguous = resolved.links.iter().enumerate().filter(|(_, link)| **link == Link::AMBIGUOUS);
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
    fn sources(&self, history: &History, reader: Txn, read: Op, counts: &dyn Fn(Txn) -> bool) -> Vec<u32> {
        let read = history.op(read);
        let initial = history.is_initial(read.key, read.value).then_some(INITIAL);
        let writers = self.by_value.get(&(read.key, read.value)).into_iter().flatten().copied();
        initial.into_iter().chain(writers.filter(|&txn| txn != reader.0 && counts(Txn(txn)))).collect()
    }

    /// The transactions of unknown outcome that somebody may have read from.
    fn optional(&self, history: &History, resolved: &Resolved) -> Vec<bool> {
        let sound = |txn: Txn| {
            !resolved.present[txn.index()]
                && history.outcome(txn) == Outcome::Unknown
                && reads_own_writes(history, txn)
        };
        let mut candidates: Vec<bool> = vec![false; history.txn_count()];
        let mut any = false;
        for txn in self.by_value.values().flatten().map(|&txn| Txn(txn)).filter(|&txn| sound(txn)) {
            candidates[txn.index()] = true;
            any = true;
        }
        if !any {
            return Vec::new();
        }
        // One that has a read nobody can explain was never there, and so nobody read from it.
        loop {
            let counts = |t: Txn| resolved.present[t.index()] || candidates[t.index()];
            let explained =
                |txn: Txn| external_reads(history, txn).all(|op| !self.sources(history, txn, op, &counts).is_empty());
            let broken: Vec<Txn> =
                history.txns().filter(|&txn| candidates[txn.index()] && !explained(txn)).collect();
            if broken.is_empty() {
                return candidates;
            }
            for txn in broken {
                candidates[txn.index()] = false;
            }
        }
    }
}

/// Whether every read of a key that the transaction had written returned its last write, and all others of a key one
/// value.
fn reads_own_writes(history: &History, txn: Txn) -> bool {
    let mut known: FxHashMap<Key, Value> = FxHashMap::default();
    let lists = history.ops_of(txn).any(|op| matches!(op.kind, OpKind::Append | OpKind::ReadList));
    let mut unlearned: FxHashSet<Key> = FxHashSet::default();
    !lists
        && history.ops_of(txn).all(|op| match op.kind {
            OpKind::Read if op.value == Value::UNKNOWN => true,
            OpKind::Read if unlearned.contains(&op.key) => true,
            OpKind::Read => *known.entry(op.key).or_insert(op.value) == op.value,
            _ => {
                if op.value == Value::UNKNOWN {
                    unlearned.insert(op.key);
                } else {
                    unlearned.remove(&op.key);
                }
                known.insert(op.key, op.value);
                true
            }
        })
}

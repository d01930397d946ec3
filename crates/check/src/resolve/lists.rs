//! Reads of lists: what they return names every version before it.
//!
//! A list that a transaction reads must end with what the transaction itself appended before; what stands in
//! front of that is the *external part*, the version it read. The last element of the external part names the
//! transaction it was read from, and the order of the elements is the order of versions. So the external parts
//! of a key must be prefixes of each other, and the longest of them says everything: its neighbours are ordered
//! as they stand, and whoever appended an element it does not hold did so later.
//!
//! A key to which one element is appended twice is ambiguous as a whole: its elements do not name their
//! transactions.

use isoscope_history::{Datum, History, Key, Op, OpKind, Outcome, Txn, Value};
use isoscope_levels::Anomaly;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Link, WrongRead};
use crate::certificate::Why;

/// Two transactions whose versions of a key are ordered, and what says so.
#[derive(Clone, Debug)]
pub(crate) struct VersionEdge {
    pub(crate) from: Txn,
    pub(crate) to: Txn,
    pub(crate) why: Why,
}

/// Keys that are a register to some operations and a list to others; empty when there are no lists.
pub(crate) fn mixed_keys(history: &History) -> Vec<bool> {
    if !history.has_lists() {
        return Vec::new();
    }
    let mut uses = vec![0u8; history.key_count()];
    for op in history.txns().flat_map(|txn| history.ops_of(txn)) {
        uses[op.key.index()] |= match op.kind {
            OpKind::Append | OpKind::ReadList => 1,
            _ => 2,
        };
    }
    uses.into_iter().map(|uses| uses == 3).collect()
}

/// An append, and how often transactions that did not abort append the same element to the same key.
#[derive(Clone, Copy)]
struct Append {
    op: Op,
    txn: Txn,
    times: u32,
}

/// A list read, taken apart.
struct ListRead<'h> {
    op: Op,
    txn: Txn,
    key: Key,
    /// `None` when the list does not end with the transaction's own appends.
    external: Option<&'h [Value]>,
}

/// All list reads of a history.
pub(crate) struct Lists<'h> {
    history: &'h History,
    reads: Vec<ListRead<'h>>,
    /// Reads that are not of lists.
    strange: Vec<Op>,
    appends: FxHashMap<(Key, Value), Append>,
    aborted: FxHashMap<(Key, Value), Op>,
    ambiguous: FxHashSet<Key>,
}

/// What the lists of a history say.
#[derive(Default)]
pub(crate) struct Listed {
    pub(crate) wrong: Vec<WrongRead>,
    pub(crate) unrepeatable: Vec<(Op, Op)>,
    pub(crate) incompatible: Vec<(Op, Op)>,
    pub(crate) versions: Vec<VersionEdge>,
    pub(crate) ambiguous: Vec<Op>,
    pub(crate) unsupported: Vec<Op>,
}

impl<'h> Lists<'h> {
    pub(crate) fn new(history: &'h History, reads: &[Op]) -> Self {
        let mut lists = Lists {
            history,
            reads: Vec::new(),
            strange: Vec::new(),
            appends: FxHashMap::default(),
            aborted: FxHashMap::default(),
            ambiguous: FxHashSet::default(),
        };
        if !reads.is_empty() {
            lists.index_appends();
            reads.iter().for_each(|&op| lists.take_apart(op));
        }
        lists
    }

    fn index_appends(&mut self) {
        for txn in self.history.txns() {
            for op in self.history.ops_of(txn).filter(|op| op.kind == OpKind::Append) {
                if self.history.outcome(txn) == Outcome::Aborted {
                    self.aborted.entry((op.key, op.value)).or_insert(op.id);
                    continue;
                }
                let entry = self.appends.entry((op.key, op.value));
                let append = entry.or_insert(Append { op: op.id, txn, times: 0 });
                append.times += 1;
                if append.times > 1 {
                    self.ambiguous.insert(op.key);
                }
            }
        }
    }

    fn take_apart(&mut self, op: Op) {
        let history = self.history;
        let (read, txn) = (history.op(op), history.txn_of(op));
        let list = match history.datum(read.value) {
            Datum::List(elements) => elements,
            Datum::Nil => &[],
            Datum::Unknown => return,
            _ => {
                self.strange.push(op);
                return;
            }
        };
        let own = self.own_appends(op, txn, read.key);
        let external = list.strip_suffix(own.as_slice()).and_then(|rest| {
            match history.datum(history.initial(read.key)) {
                Datum::List(initial) => rest.strip_prefix(initial),
                _ => Some(rest),
            }
        });
        self.reads.push(ListRead { op, txn, key: read.key, external });
    }

    /// What a transaction appended to a key before an operation of its own.
    fn own_appends(&self, before: Op, txn: Txn, key: Key) -> Vec<Value> {
        let ops = self.history.ops_of(txn).take_while(|op| op.id < before);
        ops.filter(|op| op.kind == OpKind::Append && op.key == key).map(|op| op.value).collect()
    }

    /// The transactions whose elements a transaction saw.
    pub(crate) fn writers_read_by(&self, reader: Txn) -> impl Iterator<Item = Txn> + '_ {
        let from = self.reads.partition_point(|read| read.txn < reader);
        let reads = self.reads[from..].iter().take_while(move |read| read.txn == reader);
        reads.filter(|read| !self.ambiguous.contains(&read.key)).flat_map(|read| {
            let external = read.external.unwrap_or_default();
            external.iter().filter_map(|&element| self.appends.get(&(read.key, element))).map(|a| a.txn)
        })
    }

    /// Drops the reads of transactions that did not take effect.
    pub(crate) fn retain(&mut self, keep: impl Fn(Txn) -> bool) {
        self.reads.retain(|read| keep(read.txn));
        self.strange.retain(|&op| keep(self.history.txn_of(op)));
    }

    /// Sets the links of list reads and says what else they tell.
    pub(crate) fn resolve(&self, links: &mut [Link], present: &[bool]) -> Listed {
        let mut listed = Listed { unsupported: self.strange.clone(), ..Listed::default() };
        let longest = self.longest();
        for read in &self.reads {
            links[read.op.index()] = self.resolve_read(read, &longest, &mut listed);
        }
        self.repeated(links, &mut listed);
        let mut keys: Vec<Key> =
            longest.keys().copied().filter(|key| !self.ambiguous.contains(key)).collect();
        keys.sort_unstable();
        for key in keys {
            self.versions(longest[&key].0, present, &mut listed);
        }
        listed
    }

    /// The longest external part of each key, the first of them where several are longest, and whether all of
    /// its elements are right.
    fn longest(&self) -> FxHashMap<Key, (&ListRead<'h>, bool)> {
        let mut longest: FxHashMap<Key, (&ListRead<'h>, bool)> = FxHashMap::default();
        for read in self.reads.iter().filter(|read| read.external.is_some()) {
            let best = longest.entry(read.key).or_insert((read, false));
            if read.len() > best.0.len() {
                best.0 = read;
            }
        }
        longest.values_mut().for_each(|(read, sound)| *sound = self.first_wrong(read).is_none());
        longest
    }

    fn resolve_read(
        &self,
        read: &ListRead<'h>,
        longest: &FxHashMap<Key, (&ListRead<'h>, bool)>,
        listed: &mut Listed,
    ) -> Link {
        let (Some(external), Some(&(best, sound))) = (read.external, longest.get(&read.key)) else {
            listed.wrong.push(WrongRead { anomaly: Anomaly::NotMyOwnWrite, read: read.op, write: None });
            return Link::NOTHING;
        };
        let is_prefix = best.external.is_some_and(|longest| longest.starts_with(external));
        // A prefix of a list whose elements are all right can only hold what its reader appends later.
        let plain = is_prefix && sound && !self.appends_any(read);
        let wrong = if plain { None } else { self.first_wrong(read) };
        listed.wrong.extend(wrong);
        if self.ambiguous.contains(&read.key) {
            listed.ambiguous.push(read.op);
            return Link::AMBIGUOUS;
        }
        if !is_prefix {
            listed.incompatible.push((best.op.min(read.op), best.op.max(read.op)));
        }
        if wrong.is_some() {
            return Link::NOTHING;
        }
        let Some(append) = external.last().and_then(|&last| self.appends.get(&(read.key, last))) else {
            return Link::INITIAL;
        };
        if !self.history.op(append.op).last_write {
            let anomaly = Anomaly::IntermediateRead;
            listed.wrong.push(WrongRead { anomaly, read: read.op, write: Some(append.op) });
            return Link::NOTHING;
        }
        Link::from(append.txn)
    }

    /// Whether the reader appends to the key it reads.
    fn appends_any(&self, read: &ListRead<'h>) -> bool {
        self.history.writers(read.key).binary_search(&read.txn).is_ok()
    }

    /// The first element of a list that cannot be there.
    fn first_wrong(&self, read: &ListRead<'h>) -> Option<WrongRead> {
        let history = self.history;
        let Datum::List(list) = history.datum(history.op(read.op).value) else { return None };
        let mut times: FxHashMap<Value, u32> = FxHashMap::default();
        for &element in list {
            *times.entry(element).or_default() += 1;
        }
        read.external?.iter().find_map(|&element| {
            let (anomaly, write) = match self.appends.get(&(read.key, element)) {
                Some(append) if times[&element] > append.times => {
                    (Anomaly::DuplicateElements, Some(append.op))
                }
                Some(append) if append.txn == read.txn && append.times == 1 => {
                    (Anomaly::FutureRead, Some(append.op))
                }
                Some(_) => return None,
                None => match self.aborted.get(&(read.key, element)) {
                    Some(&append) => (Anomaly::AbortedRead, Some(append)),
                    None => (Anomaly::ThinAirRead, None),
                },
            };
            Some(WrongRead { anomaly, read: read.op, write })
        })
    }

    /// Reads of one key in one transaction that return the versions of two others.
    fn repeated(&self, links: &[Link], listed: &mut Listed) {
        let mut first: FxHashMap<(Txn, Key), (Op, Link, bool)> = FxHashMap::default();
        for read in &self.reads {
            let link = links[read.op.index()];
            if link.is_read() {
                let (op, seen, differed) =
                    first.entry((read.txn, read.key)).or_insert((read.op, link, false));
                if *seen != link && !*differed {
                    *differed = true;
                    listed.unrepeatable.push((*op, read.op));
                }
            }
        }
    }

    /// The order of versions that the longest list of a key shows.
    fn versions(&self, longest: &ListRead<'h>, present: &[bool], listed: &mut Listed) {
        let (read, key) = (longest.op, longest.key);
        let Some(external) = longest.external else { return };
        let initial = match self.history.datum(self.history.initial(key)) {
            Datum::List(initial) => initial.len(),
            _ => 0,
        };
        let appends: Vec<Option<Append>> =
            external.iter().map(|&element| self.appends.get(&(key, element)).copied()).collect();
        for (i, pair) in appends.windows(2).enumerate() {
            let [Some(a), Some(b)] = pair else { continue };
            if a.txn != b.txn {
                let index = (initial + i + 1) as u32;
                listed.versions.push(VersionEdge {
                    from: a.txn,
                    to: b.txn,
                    why: Why::Versions { read, index },
                });
            } else if a.op > b.op {
                let anomaly = Anomaly::IncompatibleOrder;
                listed.wrong.push(WrongRead { anomaly, read, write: Some(b.op) });
            }
        }
        let Some(Some(last)) = appends.last() else { return };
        let seen: FxHashSet<Op> = appends.iter().flatten().map(|append| append.op).collect();
        for &txn in self.history.writers(key).iter().filter(|&&txn| present[txn.index()] && txn != last.txn) {
            let mut missing = self
                .history
                .ops_of(txn)
                .filter(|op| op.kind == OpKind::Append && op.key == key && !seen.contains(&op.id));
            if let Some(append) = missing.next() {
                let why = Why::Missing { read, append: append.id };
                listed.versions.push(VersionEdge { from: last.txn, to: txn, why });
            }
        }
    }
}

impl ListRead<'_> {
    fn len(&self) -> usize {
        self.external.map_or(0, <[Value]>::len)
    }
}

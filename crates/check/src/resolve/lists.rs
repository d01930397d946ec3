//! Reads of lists: what they return names every version before it.
//!
//! A list that a transaction reads must end with what the transaction itself appended before; what stands in
//! front of that is the *external part*, the version it read. The last element of the external part names the
//! transaction it was read from, and the order of the elements is the order of versions. A list that ends with its
//! reader's own appends is a version as well: the one that these appends made. So the lists
//! of a key must be prefixes of each other, own appends included, and the longest that is not wrong in itself shows the version
//! order: its elements were appended in this order, and every append it does not hold came later. A list is
//! wrong in itself when it holds an element that was not appended, or holds it too often, or holds the appends of one
//! transaction in another order or with a gap.
//!
//! An element that was appended twice does not name its transaction. What the other elements say holds in any case,
//! and nothing more is said here: lists that hold one are *open*, and what may be at the first such place is a
//! [`Repeated`], which `worlds.rs` resolves. PL-1 takes lists as evidence that stronger levels refuse: `writes.rs`.

use std::cmp::Reverse;

use isoscope_history::{Datum, History, Key, Op, OpKind, OpView, Outcome, Txn, Value};
use isoscope_levels::Anomaly;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Link, WrongRead};
use crate::certificate::{Limit, Why};
use crate::watch::{Watch, go_on};

/// Two transactions whose versions of a key are ordered, and what says so.
#[derive(Clone, Debug)]
pub(crate) struct VersionEdge {
    pub(crate) from: Txn,
    pub(crate) to: Txn,
    pub(crate) why: Why,
    pub(super) reader: Txn,
}

impl VersionEdge {
    /// Whether it says that what the reader of a list appended itself comes after what it read: where reads
    /// count, the read says so already.
    pub(crate) fn is_a_read(&self) -> bool {
        self.to == self.reader
    }
}

/// Keys that the engines cannot judge: those that are a register to some operations and a list to others, those of
/// which a written value or an element was not learned, and those that hold lists as elements, since lists are not
/// compared by what they hold. Empty when there are none.
pub(crate) fn unsupported_keys(history: &History) -> Vec<bool> {
    let unlearned = |op: &OpView| op.value == Value::UNKNOWN && op.kind.is_write();
    if !history.has_lists() && !history.has_unlearned_writes() {
        return Vec::new();
    }
    let is_list = |element: &Value| matches!(history.datum(*element), Datum::List(_));
    let mut uses = vec![0u8; history.key_count()];
    for op in history.txns().flat_map(|txn| history.ops_of(txn)) {
        uses[op.key.index()] |= match op.kind {
            _ if unlearned(&op) => 3,
            OpKind::ReadList => match history.datum(op.value) {
                Datum::List(list) if list.contains(&Value::UNKNOWN) || list.iter().any(is_list) => 3,
                _ => 1,
            },
            OpKind::Append if is_list(&op.value) => 3,
            OpKind::Append => 1,
            OpKind::RangeRead => 0,
            _ => 2,
        };
    }
    uses.into_iter().map(|uses| uses == 3).collect()
}

/// What a list holds after the initial elements of its key; none where it does not begin with these.
pub(crate) fn after_initial<'l>(history: &History, key: Key, list: &'l [Value]) -> Option<&'l [Value]> {
    list.strip_prefix(history.table().elements(history.initial(key)))
}

/// What transactions appended of a list that was read; all of it where it lacks initial elements.
pub(crate) fn appended_of(history: &History, read: OpView) -> &[Value] {
    let list = history.table().elements(read.value);
    after_initial(history, read.key, list).unwrap_or(list)
}

/// An append, and how often transactions that did not abort append the same element to the same key.
#[derive(Clone, Copy)]
pub(super) struct Append {
    pub(super) op: Op,
    pub(super) txn: Txn,
    pub(super) times: u32,
    /// No other transaction appends it.
    by_one: bool,
    /// What the transaction appended to the key just before.
    after: Option<Op>,
}

/// A list read, taken apart.
pub(super) struct ListRead<'h> {
    pub(super) op: Op,
    pub(super) txn: Txn,
    pub(super) key: Key,
    /// What stands after the initial elements; none where these are not there.
    pub(super) appended: Option<&'h [Value]>,
    /// What it shows of the appends of others: without the initial elements and the reader's own appends, where it begins and
    /// ends with these.
    shown: &'h [Value],
    /// What stands between the initial elements and the transaction's own appends; what is missing where these
    /// are not there.
    external: Result<&'h [Value], Anomaly>,
}

/// All list reads of a history.
pub(crate) struct Lists<'h> {
    pub(super) history: &'h History,
    pub(super) reads: Vec<ListRead<'h>>,
    /// Reads that are not of lists.
    strange: Vec<Op>,
    appends: FxHashMap<(Key, Value), Append>,
    /// All appends that did not abort, by key.
    by_key: Vec<(Key, Txn, Op)>,
    aborted: FxHashMap<(Key, Value), Op>,
}

/// The first element of the longest list of a key that was appended more than once.
#[derive(Clone, Debug)]
pub(crate) struct Repeated {
    /// The read that returned the list.
    pub(crate) read: Op,
    /// Where the element is.
    pub(crate) index: u32,
    /// The appends that it may be: of each transaction the first of this element.
    pub(crate) appends: Vec<Op>,
}

/// What the lists of a history say.
#[derive(Default)]
pub(crate) struct Listed {
    pub(crate) wrong: Vec<WrongRead>,
    pub(crate) unrepeatable: Vec<(Op, Op)>,
    /// The same, where one of the two reads is in a range.
    pub(crate) changed_ranges: Vec<(Op, Op)>,
    pub(crate) incompatible: Vec<(Op, Op)>,
    pub(crate) versions: Vec<VersionEdge>,
    /// Lists that hold an element that was appended more than once.
    pub(crate) ambiguous: Vec<Op>,
    /// By key.
    pub(crate) repeated: Vec<Repeated>,
    /// Reads that may or may not be of the same transaction as an earlier one of the same key.
    pub(crate) uncertain: Vec<Op>,
    pub(crate) unsupported: Vec<Op>,
}

/// Pairs of list reads of one key by one transaction that are from two others.
#[derive(Default)]
struct Pairs {
    certain: Vec<(Op, Op)>,
    /// Reads that may or may not be from the same as an earlier one.
    open: Vec<Op>,
    /// The readers and keys that have a certain pair.
    differ: FxHashSet<(Txn, Key)>,
}

impl<'h> Lists<'h> {
    pub(crate) fn new(history: &'h History, reads: &[Op]) -> Self {
        let mut lists = Lists {
            history,
            reads: Vec::new(),
            strange: Vec::new(),
            appends: FxHashMap::default(),
            by_key: Vec::new(),
            aborted: FxHashMap::default(),
        };
        if !reads.is_empty() {
            lists.index_appends();
            for &op in reads {
                lists.take_apart(op);
            }
        }
        lists
    }

    /// How often transactions that did not abort appended an element.
    pub(super) fn times(&self, key: Key, element: Value) -> u32 {
        self.appends.get(&(key, element)).map_or(0, |append| append.times)
    }

    fn index_appends(&mut self) {
        for txn in self.history.txns() {
            let mut before: FxHashMap<Key, Op> = FxHashMap::default();
            for op in self.history.ops_of(txn).filter(|op| op.kind == OpKind::Append) {
                let after = before.insert(op.key, op.id);
                if self.history.outcome(txn) == Outcome::Aborted {
                    self.aborted.entry((op.key, op.value)).or_insert(op.id);
                    continue;
                }
                self.by_key.push((op.key, txn, op.id));
                let entry = self.appends.entry((op.key, op.value));
                let append = entry.or_insert(Append { op: op.id, txn, times: 0, by_one: true, after });
                append.times += 1;
                append.by_one &= append.txn == txn;
            }
        }
        self.by_key.sort_unstable();
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
        let own = if read.external { Vec::new() } else { self.own_appends(op, txn, read.key) };
        let rest = list.strip_suffix(own.as_slice()).ok_or(Anomaly::NotMyOwnWrite);
        let stripped = |list| after_initial(history, read.key, list);
        let shown = rest.unwrap_or(list);
        let external = rest.and_then(|rest| stripped(rest).ok_or(Anomaly::LostAppend));
        let (appended, shown) = (stripped(list), stripped(shown).unwrap_or(shown));
        self.reads.push(ListRead { op, txn, key: read.key, appended, shown, external });
    }

    /// What a list holds before any transaction.
    pub(super) fn initial(&self, key: Key) -> &'h [Value] {
        match self.history.datum(self.history.initial(key)) {
            Datum::List(initial) => initial,
            _ => &[],
        }
    }

    /// What a transaction appended to a key before an operation of its own.
    fn own_appends(&self, before: Op, txn: Txn, key: Key) -> Vec<Value> {
        let ops = self.history.ops_of(txn).take_while(|op| op.id < before);
        ops.filter(|op| op.kind == OpKind::Append && op.key == key).map(|op| op.value).collect()
    }

    /// The transactions whose elements a transaction certainly saw.
    pub(crate) fn writers_read_by(&self, reader: Txn) -> impl Iterator<Item = Txn> + '_ {
        let from = self.reads.partition_point(|read| read.txn < reader);
        let reads = self.reads[from..].iter().take_while(move |read| read.txn == reader);
        reads.flat_map(|read| {
            let only = read.shown.iter().filter_map(|&element| self.only_append(read.key, element));
            only.map(|append| append.txn).chain(self.needed_for(read))
        })
    }

    /// Of those that appended repeated elements of a list, the transactions without which the others, and the reader itself, did
    /// not append them often enough.
    fn needed_for(&self, read: &ListRead<'h>) -> Vec<Txn> {
        let mut held: FxHashMap<Value, u32> = FxHashMap::default();
        for &element in read.shown.iter().filter(|&&element| self.is_repeated(read.key, element)) {
            *held.entry(element).or_default() += 1;
        }
        if held.is_empty() {
            return Vec::new();
        }
        let mut by_txn: FxHashMap<(Value, Txn), u32> = FxHashMap::default();
        let mut by_all: FxHashMap<Value, u32> = FxHashMap::default();
        for &(_, txn, op) in self.appends_to(read.key) {
            let element = self.history.op(op).value;
            if held.contains_key(&element) {
                *by_txn.entry((element, txn)).or_default() += 1;
                *by_all.entry(element).or_default() += 1;
            }
        }
        let is_needed = |(element, times): (Value, u32)| by_all[&element] - times < held[&element];
        let needed = by_txn.into_iter().filter(|&((element, _), times)| is_needed((element, times)));
        needed.map(|((_, txn), _)| txn).collect()
    }

    /// The append of an element that was appended once.
    pub(super) fn only_append(&self, key: Key, element: Value) -> Option<&Append> {
        self.appends.get(&(key, element)).filter(|append| append.times == 1)
    }

    /// Whether an element was appended more than once.
    fn is_repeated(&self, key: Key, element: Value) -> bool {
        self.appends.get(&(key, element)).is_some_and(|append| append.times > 1)
    }

    /// Elements that were appended more than once.
    pub(crate) fn repeated_elements(&self) -> FxHashSet<(Key, Value)> {
        self.appends.iter().filter(|(_, append)| append.times > 1).map(|(&place, _)| place).collect()
    }

    /// Drops the reads of transactions that did not take effect.
    pub(crate) fn retain(&mut self, keep: impl Fn(Txn) -> bool) {
        self.reads.retain(|read| keep(read.txn));
        self.strange.retain(|&op| keep(self.history.txn_of(op)));
    }

    /// Sets the links of list reads and returns what else they show.
    pub(crate) fn resolve(
        &self,
        links: &mut [Link],
        present: &[bool],
        watch: &dyn Watch,
    ) -> Result<Listed, Limit> {
        let mut listed = Listed { unsupported: self.strange.clone(), ..Listed::default() };
        let longest = self.longest();
        for read in &self.reads {
            // Long lists take long.
            go_on(watch)?;
            links[read.op.index()] = self.resolve_read(read, &longest, &mut listed);
        }
        self.compare(links, present, &mut listed);
        let mut keys: Vec<Key> = longest.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            listed.versions.extend(self.versions(longest[&key], present));
            listed.repeated.extend(self.first_repeated(longest[&key]));
        }
        Ok(listed)
    }

    /// The first element of a list that was appended more than once.
    pub(super) fn first_repeated(&self, longest: &ListRead<'h>) -> Option<Repeated> {
        let key = longest.key;
        let place = longest.whole().iter().position(|&element| self.is_repeated(key, element))?;
        let element = longest.whole()[place];
        // Of equal elements that one transaction appended, the first comes first.
        let by_txn = self.appends_to(key).chunk_by(|a, b| a.1 == b.1);
        let first = |appends: &[(Key, Txn, Op)]| {
            appends.iter().map(|&(_, _, op)| op).find(|&op| self.history.op(op).value == element)
        };
        Some(Repeated {
            read: longest.op,
            index: (self.initial(key).len() + place) as u32,
            appends: by_txn.filter_map(first).collect(),
        })
    }

    /// All appends to a key that did not abort, by transaction.
    pub(super) fn appends_to(&self, key: Key) -> &[(Key, Txn, Op)] {
        let of_key = &self.by_key[self.by_key.partition_point(|append| append.0 < key)..];
        &of_key[..of_key.partition_point(|append| append.0 == key)]
    }

    /// For each key the longest list that is not wrong in itself, the first where several are longest.
    fn longest(&self) -> FxHashMap<Key, &ListRead<'h>> {
        let mut by_length: Vec<&ListRead<'h>> =
            self.reads.iter().filter(|read| read.external.is_ok()).collect();
        by_length.sort_by_key(|read| (read.key, Reverse(read.whole().len()), read.op));
        let of_one_key = by_length.chunk_by(|a, b| a.key == b.key);
        let longest =
            of_one_key.filter_map(|reads| reads.iter().find(|read| self.first_wrong(read).is_none()));
        longest.map(|read| (read.key, *read)).collect()
    }

    fn resolve_read(
        &self,
        read: &ListRead<'h>,
        longest: &FxHashMap<Key, &ListRead<'h>>,
        listed: &mut Listed,
    ) -> Link {
        let external = match read.external {
            Ok(external) => external,
            Err(anomaly) => {
                listed.wrong.push(WrongRead { anomaly, read: read.op, write: None });
                return Link::NOTHING;
            }
        };
        let best = longest.get(&read.key);
        let is_prefix = best.is_some_and(|best| best.whole().starts_with(read.whole()));
        // A prefix of a list that is not wrong in itself can only hold what its reader appends later.
        let plain = is_prefix && !self.appends_any(read);
        let wrong = if plain { None } else { self.first_wrong(read) };
        listed.wrong.extend(wrong);
        if wrong.is_some() {
            return Link::NOTHING;
        }
        if let Some(best) = best.filter(|_| !is_prefix) {
            listed.incompatible.push((best.op.min(read.op), best.op.max(read.op)));
        }
        let is_open = external.iter().any(|&element| self.is_repeated(read.key, element));
        if is_open {
            listed.ambiguous.push(read.op);
        }
        let Some(append) = external.last().and_then(|&last| self.appends.get(&(read.key, last))) else {
            return Link::INITIAL;
        };
        if append.times > 1 {
            return Link::AMBIGUOUS;
        }
        if !self.history.op(append.op).last_write {
            let anomaly = Anomaly::IntermediateRead;
            listed.wrong.push(WrongRead { anomaly, read: read.op, write: Some(append.op) });
            return Link::NOTHING;
        }
        if is_open && self.is_mixed(read.key, external, append.txn) {
            // No version. The elements in the list show it where all of their appends are known.
            return Link::NOTHING;
        }
        Link::from(append.txn)
    }

    /// Whether a list that ends with an append of a transaction holds one of another between its appends.
    fn is_mixed(&self, key: Key, list: &[Value], txn: Txn) -> bool {
        let is_own = |element: &Value| self.only_append(key, *element).map(|append| append.txn == txn);
        let first = list.iter().position(|element| is_own(element) == Some(true));
        first.is_some_and(|first| list[first..].iter().any(|element| is_own(element) == Some(false)))
    }

    /// Whether the reader appends to the key it reads.
    fn appends_any(&self, read: &ListRead<'h>) -> bool {
        self.history.writers(read.key).binary_search(&read.txn).is_ok()
    }

    /// The first append of an element that the reader of a list makes after the read.
    fn next_append(&self, read: &ListRead<'h>, element: Value) -> Option<Op> {
        let mut later = self.history.ops_of(read.txn).skip_while(|op| op.id < read.op);
        let append = later.find(|op| op.kind == OpKind::Append && op.key == read.key && op.value == element);
        append.map(|op| op.id)
    }

    /// The first element of a list that cannot be where it is.
    fn first_wrong(&self, read: &ListRead<'h>) -> Option<WrongRead> {
        let history = self.history;
        let mut times: FxHashMap<Value, u32> = FxHashMap::default();
        for &element in read.whole() {
            *times.entry(element).or_default() += 1;
        }
        let mut passed: FxHashSet<Value> = FxHashSet::default();
        read.part().iter().find_map(|&element| {
            let (anomaly, write) = match self.appends.get(&(read.key, element)) {
                Some(append) if times[&element] > append.times => {
                    (Anomaly::DuplicateElements, Some(append.op))
                }
                // The reader's earlier appends are not in this part of the list.
                Some(append) if append.txn == read.txn && append.by_one => {
                    (Anomaly::FutureRead, self.next_append(read, element))
                }
                Some(append) => {
                    passed.insert(element);
                    let after = append.after.filter(|_| append.times == 1);
                    let skipped = after.filter(|&before| !passed.contains(&history.op(before).value))?;
                    let later = read.part().contains(&history.op(skipped).value);
                    let anomaly = if later { Anomaly::IncompatibleOrder } else { Anomaly::LostAppend };
                    (anomaly, Some(skipped))
                }
                None => match self.aborted.get(&(read.key, element)) {
                    Some(&append) => (Anomaly::AbortedRead, Some(append)),
                    None => (Anomaly::ThinAirRead, None),
                },
            };
            Some(WrongRead { anomaly, read: read.op, write })
        })
    }

    /// Reads of one key in one transaction that return the versions of two others: first those that are certain, then, where
    /// there are none, those that may be. Cut isolation is about reads of single keys, so reads in ranges are compared after
    /// all others.
    fn compare(&self, links: &[Link], present: &[bool], listed: &mut Listed) {
        let in_range = |read: &ListRead<'h>| self.history.op(read.op).in_range;
        let items = || self.reads.iter().filter(|read| !in_range(read));
        let origin = |read: &ListRead<'h>| self.origin(read, links[read.op.index()], present);
        let mut pairs = Pairs::default();
        self.find_pairs(&mut pairs, items, origin);
        listed.unrepeatable.append(&mut pairs.certain);
        listed.uncertain.append(&mut pairs.open);
        if self.reads.iter().any(in_range) {
            // Who wrote a wrong list does not matter to the levels that know ranges.
            self.find_pairs(&mut pairs, || self.reads.iter(), |read| links[read.op.index()]);
            listed.changed_ranges.append(&mut pairs.certain);
        }
    }

    /// Compares each of some reads with the first of its transaction and key, unless two of them are known to differ.
    fn find_pairs<'s, I>(
        &'s self,
        pairs: &mut Pairs,
        reads: impl Fn() -> I,
        origin: impl Fn(&ListRead<'h>) -> Link,
    ) where
        I: Iterator<Item = &'s ListRead<'h>>,
    {
        let mut open: FxHashSet<(Txn, Key)> = FxHashSet::default();
        for only_known in [true, false] {
            let mut first: FxHashMap<(Txn, Key), (&ListRead<'h>, Link)> = FxHashMap::default();
            for read in reads() {
                let (link, place) = (origin(read), (read.txn, read.key));
                let counts = link != Link::NOTHING && !(only_known && link == Link::AMBIGUOUS);
                if !counts || pairs.differ.contains(&place) || open.contains(&place) {
                    continue;
                }
                let &mut (before, seen) = first.entry(place).or_insert((read, link));
                let ambiguous = seen == Link::AMBIGUOUS || link == Link::AMBIGUOUS;
                let agree = if ambiguous { before.ends_like(read) } else { seen == link };
                if agree {
                    continue;
                }
                if !ambiguous || self.one_is_initial(before, read) {
                    pairs.differ.insert(place);
                    pairs.certain.push((before.op, read.op));
                } else {
                    open.insert(place);
                    pairs.open.push(read.op);
                }
            }
        }
    }

    /// Whether one of two lists is the initial one and the other is not, and not of the reader either. Whichever transaction appended
    /// something is not the initial state, but may be the reader or be one with another.
    fn one_is_initial(&self, one: &ListRead<'h>, other: &ListRead<'h>) -> bool {
        let (a, b) = (one.ending(), other.ending());
        let certain =
            |part: &[Value]| part.last().is_none_or(|&last| self.appends.contains_key(&(one.key, last)));
        (a.is_empty() || b.is_empty()) && certain(a) && certain(b) && !self.appends_any(one)
    }

    /// The transaction that a list is from, whether the read is wrong or not, as far as that is certain.
    fn origin(&self, read: &ListRead<'h>, link: Link, present: &[bool]) -> Link {
        if link != Link::NOTHING {
            return link;
        }
        let append = read.ending().last().and_then(|&last| self.appends.get(&(read.key, last)));
        if append.is_some_and(|append| append.times > 1) {
            return Link::AMBIGUOUS;
        }
        let other = append.filter(|append| append.txn != read.txn && present[append.txn.index()]);
        other.map_or(Link::NOTHING, |append| Link::from(append.txn))
    }

    /// The order of versions that a list shows. Elements that nobody appended are left out.
    pub(super) fn versions(&self, list: &ListRead<'h>, present: &[bool]) -> Vec<VersionEdge> {
        let (read, key, reader) = (list.op, list.key, list.txn);
        let mut versions = Vec::new();
        let right = list.whole().iter().enumerate().filter(|&(_, &element)| self.times(key, element) > 0);
        let (places, appends): (Vec<usize>, Vec<Option<&Append>>) =
            right.map(|(i, &element)| (i, self.only_append(key, element))).unzip();
        for (pair, &i) in appends.windows(2).zip(places.get(1..).unwrap_or_default()) {
            let &[Some(one), Some(other)] = pair else { continue };
            if one.txn != other.txn {
                let index = (self.initial(key).len() + i) as u32;
                let why = Why::Versions { read, index };
                versions.push(VersionEdge { from: one.txn, to: other.txn, why, reader });
            }
        }
        let Some(&Some(last)) = appends.last() else { return versions };
        let seen: FxHashSet<Value> = list.whole().iter().copied().collect();
        for appends in self.appends_to(key).chunk_by(|a, b| a.1 == b.1) {
            let to = appends[0].1;
            let missing = appends.iter().find(|(_, _, op)| !seen.contains(&self.history.op(*op).value));
            if let Some(&(_, _, append)) = missing.filter(|_| present[to.index()] && to != last.txn) {
                versions.push(VersionEdge { from: last.txn, to, why: Why::Missing { read, append }, reader });
            }
        }
        versions
    }
}

impl<'h> ListRead<'h> {
    /// The external part, empty when it cannot be determined.
    fn part(&self) -> &'h [Value] {
        self.external.unwrap_or_default()
    }

    /// What stands before the reader's own appends, without the initial elements if it begins with these; empty when it cannot
    /// be determined. A list that lacks initial elements still ends with the append of a transaction.
    fn ending(&self) -> &'h [Value] {
        match self.external {
            Ok(external) => external,
            Err(Anomaly::LostAppend) => self.shown,
            Err(_) => &[],
        }
    }

    /// Whether two lists are the same but for their readers' own appends.
    fn ends_like(&self, other: &ListRead<'h>) -> bool {
        self.ending() == other.ending() && self.external.is_ok() == other.external.is_ok()
    }

    /// All that was appended, the reader's own appends included; empty when it cannot be determined.
    pub(super) fn whole(&self) -> &'h [Value] {
        self.appended.unwrap_or_default()
    }
}

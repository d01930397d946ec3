//! What a history determines without an order: the present transactions, and the source of every read.
//!
//! Definitions (docs/levels.md, "Histories"). A *candidate* of an external read is another transaction that
//! did not abort and whose final write of the key has the value read, or the initial state if it has that
//! value. With one candidate the source is known. With several the read is ambiguous, and nothing follows
//! from it. With none the read is wrong.
//!
//! A list read ends with what its own transaction appended before; the rest is its *external part*. It reads
//! from the transaction that appended the last element of that part, and is ambiguous if that element was
//! appended several times. A list is wrong in every order in three cases: it holds an element that only the
//! reader or an aborted transaction appended; it holds an element more often than it was appended; or it
//! holds an append of a transaction without the earlier ones, or out of order, as far as these were appended
//! once.
//!
//! *Present* are the committed transactions, and those of unknown outcome that must have committed. A
//! transaction of unknown outcome must have committed if a present one reads from it, or if a list that a
//! present one read would otherwise hold an element more often than it was appended. The other transactions
//! of unknown outcome may have taken effect or not, and their reads count only where they are assumed to have
//! done so.
//!
//! Invariant: if a source is a transaction, it is not the reader, did not abort, and is present if the reader
//! is.
//!
//! Cost: a few passes over the operations and over the elements of every list. Memory: 8 bytes per operation
//! and about 25 per write.

use std::sync::OnceLock;

use isoscope_history::notation::{OpText, ValueText};
use isoscope_history::{Datum, History, Key, Op, OpKind, OpView, Outcome, Txn, Value};
use rustc_hash::FxHashMap;

use super::lists::Readable;
use super::{Budget, Refutation, ensure, lists};
use isoscope_certificate::Node;

/// The source of a read's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// No source: not a read, a read of an aborted transaction, a read without a value, or an unsupported
    /// key.
    Nothing,
    /// The last write of its own transaction.
    Own,
    /// Another transaction or the initial state.
    From(Node),
    /// Several writers are possible.
    Ambiguous,
    /// No writer is possible, or the reader's own write is not what it returned.
    Wrong,
}

/// The transactions that wrote a value. It names two, since one may be the reader, and records whether there
/// are more.
#[derive(Clone, Copy)]
pub(super) struct Writers {
    first: u32,
    second: u32,
}

const NO_TXN: u32 = u32::MAX;
const MANY: u32 = u32::MAX - 1;

impl Writers {
    pub(super) const NONE: Writers = Writers { first: NO_TXN, second: NO_TXN };

    fn add(&mut self, txn: Txn) {
        if self.first == NO_TXN {
            self.first = txn.0;
        } else if self.second == NO_TXN && self.first != txn.0 {
            self.second = txn.0;
        } else if self.first != txn.0 && self.second != txn.0 {
            // At most one of the three is the reader, so at least two others remain.
            self.second = MANY;
        }
    }

    /// The writers other than the reader: none, one, or several.
    pub(super) fn besides(self, reader: Txn) -> Candidates {
        match (self.first, self.second) {
            (NO_TXN, _) => Candidates::None,
            (_, MANY) => Candidates::Several,
            (a, NO_TXN) if a == reader.0 => Candidates::None,
            (a, b) if b == NO_TXN || b == reader.0 => Candidates::One(Node::Txn(Txn(a))),
            (a, b) if a == reader.0 => Candidates::One(Node::Txn(Txn(b))),
            _ => Candidates::Several,
        }
    }

    pub(super) fn is_empty(self) -> bool {
        self.first == NO_TXN
    }
}

/// The candidates of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Candidates {
    None,
    One(Node),
    Several,
}

impl Candidates {
    pub(super) fn or(self, other: Candidates) -> Candidates {
        match (self, other) {
            (Candidates::None, c) | (c, Candidates::None) => c,
            (a, b) if a == b => a,
            _ => Candidates::Several,
        }
    }
}

/// Writes of a value that no other transaction may read: overwritten by their own transaction, or aborted.
#[derive(Clone, Copy)]
pub(super) struct Unreadable {
    pub(super) overwritten: Writers,
    pub(super) aborted: bool,
}

/// The appends of an element to a list.
#[derive(Clone, Copy)]
pub(super) struct Appended {
    /// The first append of a transaction that did not abort.
    pub(super) live: Option<Op>,
    /// How many appends did not abort.
    pub(super) times: u32,
    /// They are all of one transaction.
    pub(super) by_one: bool,
    /// What the transaction of `live` appended to the list just before.
    pub(super) after: Option<Value>,
    pub(super) aborted: bool,
    /// The last list read that was found to hold the element. It detects a repeated element in one list.
    met: u32,
}

impl Appended {
    const NONE: Appended =
        Appended { live: None, times: 0, by_one: true, after: None, aborted: false, met: NO_TXN };

    /// The append, if exactly one did not abort.
    pub(super) fn only(self) -> Option<Op> {
        self.live.filter(|_| self.times == 1)
    }
}

/// The facts of a history; see the module.
pub(super) struct Facts<'h> {
    pub(super) history: &'h History,
    /// Whether the database's timestamps define real-time order.
    pub(super) trusts_timestamps: bool,
    /// Reports the limit that has been reached, if any.
    pub(super) budget: Budget<'h>,
    /// How each key is used: [`REGISTER`], [`LIST`] or both.
    uses: Vec<u8>,
    pub(super) finals: FxHashMap<(Key, Value), Writers>,
    pub(super) unreadable: FxHashMap<(Key, Value), Unreadable>,
    pub(super) appends: FxHashMap<(Key, Value), Appended>,
    sources: Vec<Source>,
    present: Vec<bool>,
    /// The lists from which PL-1 knows the order of writes (`lists.rs`).
    pub(super) readable: Readable,
    /// See [`Facts::before_in_lists`].
    before_in_lists: OnceLock<FxHashMap<(Key, Txn), Vec<Txn>>>,
}

const REGISTER: u8 = 1;
const LIST: u8 = 2;

impl<'h> Facts<'h> {
    /// The facts of another history, with the same settings.
    pub(super) fn of_same<'o>(&self, history: &'o History) -> Facts<'o>
    where
        'h: 'o,
    {
        let Facts { trusts_timestamps, budget, .. } = *self;
        Facts { trusts_timestamps, budget, ..Facts::new(history) }
    }

    /// Fails when a limit has been reached.
    pub(super) fn go_on(&self) -> Result<(), Refutation> {
        let stopped = (self.budget)();
        ensure(stopped.is_none(), || "a limit was reached".to_owned())
            .map_err(|refutation| Refutation { stopped, ..refutation })
    }

    pub(super) fn new(history: &'h History) -> Facts<'h> {
        let mut facts = Facts {
            history,
            trusts_timestamps: false,
            budget: &|| None,
            uses: vec![0; history.key_count()],
            finals: FxHashMap::default(),
            unreadable: FxHashMap::default(),
            appends: FxHashMap::default(),
            sources: vec![Source::Nothing; history.op_count()],
            present: history.txns().map(|txn| history.outcome(txn) == Outcome::Committed).collect(),
            readable: Readable::default(),
            before_in_lists: OnceLock::new(),
        };
        facts.collect_uses();
        facts.collect_writes();
        facts.resolve();
        facts.find_present();
        facts.readable = Readable::new(&facts);
        facts
    }

    /// Whether a read shows PL-1 an order of writes: a committed transaction read it, it is not ignored, and
    /// the key is readable.
    pub(super) fn shows_writes(&self, read: Op) -> bool {
        let (view, reader) = (self.history.op(read), self.history.txn_of(read));
        view.kind == OpKind::ReadList
            && view.value != Value::UNKNOWN
            && self.history.outcome(reader) == Outcome::Committed
            && self.readable.shows(read, view.key)
    }

    pub(super) fn is_present(&self, txn: Txn) -> bool {
        self.present[txn.index()]
    }

    pub(super) fn present(&self) -> impl Iterator<Item = Txn> + '_ {
        self.history.txns().filter(|&txn| self.is_present(txn))
    }

    pub(super) fn source(&self, op: Op) -> Source {
        self.sources[op.index()]
    }

    pub(super) fn is_register(&self, key: Key) -> bool {
        self.uses[key.index()] == REGISTER
    }

    pub(super) fn is_list(&self, key: Key) -> bool {
        self.uses[key.index()] == LIST
    }

    /// How often transactions that did not abort appended an element.
    pub(super) fn times(&self, key: Key, element: Value) -> u32 {
        self.appends.get(&(key, element)).map_or(0, |entry| entry.times)
    }

    /// The append of an element, if exactly one did not abort.
    pub(super) fn only_append(&self, key: Key, element: Value) -> Option<Op> {
        self.appends.get(&(key, element))?.only()
    }

    /// The transactions whose appends to a key come just before those of a transaction in a list that was read, leaving out
    /// elements that were appended more than once.
    pub(super) fn before_in_lists(&self, key: Key, writer: Txn) -> &[Txn] {
        let pairs = self.before_in_lists.get_or_init(|| lists::neighbours(self));
        pairs.get(&(key, writer)).map_or(&[], Vec::as_slice)
    }

    /// Whether no axiom covers an operation. A register that holds a list is not supported.
    pub(super) fn is_unsupported(&self, op: OpView) -> bool {
        let returned = match (op.kind, self.history.datum(op.value)) {
            (OpKind::Read, datum) => matches!(datum, Datum::List(_)),
            (OpKind::ReadList, datum) => !matches!(datum, Datum::List(_) | Datum::Nil | Datum::Unknown),
            (kind, _) => kind == OpKind::RangeRead,
        };
        returned || self.uses[op.key.index()] == REGISTER | LIST
    }

    /// The name of a transaction in a message, as in the one-line notation.
    pub(super) fn name(&self, txn: Txn) -> String {
        let name = self.history.txn_name(txn);
        match self.history.datum(name) {
            Datum::Int(n) => format!("T{n}"),
            _ => ValueText(self.history, name).to_string(),
        }
    }

    /// The text of an operation in a message.
    pub(super) fn text(&self, op: Op) -> String {
        format!("{} of {}", OpText(self.history, op), self.name(self.history.txn_of(op)))
    }

    pub(super) fn writes(&self, txn: Txn, key: Key) -> bool {
        self.history.writers(key).binary_search(&txn).is_ok()
    }

    /// The elements of a list in the initial state.
    pub(super) fn initial_elements(&self, key: Key) -> &'h [Value] {
        self.history.table().elements(self.history.initial(key))
    }

    /// A list without the initial elements of its key. `None` if the list does not begin with these.
    pub(super) fn after_initial<'l>(&self, key: Key, list: &'l [Value]) -> Option<&'l [Value]> {
        list.strip_prefix(self.initial_elements(key))
    }

    /// The elements of a list read that transactions appended; the whole list if it lacks initial elements.
    pub(super) fn appended(&self, read: OpView) -> &'h [Value] {
        let list = self.history.table().elements(read.value);
        self.after_initial(read.key, list).unwrap_or(list)
    }

    /// The candidates of a register read.
    pub(super) fn candidates(&self, key: Key, value: Value, reader: Txn) -> Candidates {
        let initial = match value {
            value if self.history.is_initial(key, value) => Candidates::One(Node::Initial),
            _ => Candidates::None,
        };
        let writers = self.finals.get(&(key, value)).copied().unwrap_or(Writers::NONE);
        initial.or(writers.besides(reader))
    }

    /// A list without the elements that its own transaction appended before the read. `None` if the list does
    /// not end with these.
    pub(super) fn external_part(&self, read: OpView, reader: Txn) -> Option<&'h [Value]> {
        let mut list = self.history.table().elements(read.value);
        if read.external {
            return Some(list);
        }
        let before = self.history.op_range(reader).start..read.id.index();
        for op in before.rev().map(|i| self.history.op(Op::at(i))) {
            if op.kind == OpKind::Append && op.key == read.key {
                list = list.strip_suffix(&[op.value])?;
            }
        }
        Some(list)
    }

    /// The elements of a list that other transactions appended; the whole list if its end is wrong.
    pub(super) fn shown(&self, read: OpView, reader: Txn) -> &'h [Value] {
        let list = self.history.table().elements(read.value);
        let part = self.external_part(read, reader).unwrap_or(list);
        self.after_initial(read.key, part).unwrap_or(part)
    }

    fn ops(&self) -> impl Iterator<Item = OpView> + use<'h> {
        let history = self.history;
        (0..history.op_count()).map(|i| history.op(Op::at(i)))
    }

    fn collect_uses(&mut self) {
        let history = self.history;
        let is_odd = |&v: &Value| matches!(history.datum(v), Datum::List(_) | Datum::Unknown);
        for op in self.ops() {
            self.uses[op.key.index()] |= match op.kind {
                // An unknown written value makes the key unsupported.
                _ if op.kind.is_write() && op.value == Value::UNKNOWN => REGISTER | LIST,
                OpKind::ReadList if self.history.table().elements(op.value).iter().any(is_odd) => {
                    REGISTER | LIST
                }
                // Lists are not compared by their elements, so no list is an element.
                OpKind::Append if is_odd(&op.value) => REGISTER | LIST,
                OpKind::Read | OpKind::Write | OpKind::Insert | OpKind::Delete => REGISTER,
                OpKind::Append | OpKind::ReadList => LIST,
                OpKind::RangeRead => 0,
            };
        }
    }

    fn collect_writes(&mut self) {
        let readable = self.ops().filter(|op| op.last_write && self.is_register(op.key)).count();
        self.finals.reserve(readable);
        let mut own = OwnWrites::new(self.history.key_count());
        for txn in self.history.txns() {
            let aborted = self.history.outcome(txn) == Outcome::Aborted;
            own.begin(txn);
            for op in self.history.ops_of(txn).filter(|op| op.kind.is_write()) {
                let place = (op.key, op.value);
                if self.is_list(op.key) && aborted {
                    self.appends.entry(place).or_insert(Appended::NONE).aborted = true;
                } else if self.is_list(op.key) {
                    self.append(op, own.latest(op.key));
                    own.add(op);
                } else if op.last_write && !aborted {
                    self.finals.entry(place).or_insert(Writers::NONE).add(txn);
                } else {
                    let none = Unreadable { overwritten: Writers::NONE, aborted: false };
                    let unreadable = self.unreadable.entry(place).or_insert(none);
                    unreadable.aborted |= aborted;
                    if !aborted {
                        unreadable.overwritten.add(txn);
                    }
                }
            }
        }
    }

    /// Records an append of a transaction that did not abort.
    fn append(&mut self, append: OpView, after: Option<Value>) {
        let history = self.history;
        let entry = self.appends.entry((append.key, append.value)).or_insert(Appended::NONE);
        entry.times += 1;
        match entry.live {
            None => (entry.live, entry.after) = (Some(append.id), after),
            Some(first) => entry.by_one &= history.txn_of(first) == history.txn_of(append.id),
        }
    }

    /// Finds the source of every read of every transaction that did not abort.
    fn resolve(&mut self) {
        let mut own = OwnWrites::new(self.history.key_count());
        for txn in self.history.txns().filter(|&txn| self.history.outcome(txn) != Outcome::Aborted) {
            own.begin(txn);
            for op in self.history.ops_of(txn) {
                if self.is_unsupported(op) {
                    continue;
                }
                self.sources[op.id.index()] = match op.kind {
                    OpKind::Read | OpKind::ReadList if op.value == Value::UNKNOWN => Source::Nothing,
                    OpKind::Read => self.resolve_register(op, txn, &own),
                    OpKind::ReadList => self.resolve_list(op, txn, &own),
                    _ => Source::Nothing,
                };
                if op.kind.is_write() {
                    own.add(op);
                }
            }
        }
    }

    fn resolve_register(&self, read: OpView, reader: Txn, own: &OwnWrites) -> Source {
        match own.latest(read.key) {
            Some(value) if value == read.value => Source::Own,
            Some(_) => Source::Wrong,
            None => match self.candidates(read.key, read.value, reader) {
                Candidates::None => Source::Wrong,
                Candidates::One(node) => Source::From(node),
                Candidates::Several => Source::Ambiguous,
            },
        }
    }

    fn resolve_list(&mut self, read: OpView, reader: Txn, own: &OwnWrites) -> Source {
        let mut list = self.history.table().elements(read.value);
        for element in own.backwards(read.key) {
            match list.strip_suffix(&[element]) {
                Some(rest) => list = rest,
                None => return Source::Wrong,
            }
        }
        let Some(appended) = self.after_initial(read.key, list) else {
            return Source::Wrong;
        };
        let mine = self.history.op_range(reader);
        let mut repeated = false;
        for &element in appended {
            let Some(entry) = self.appends.get_mut(&(read.key, element)) else { return Source::Wrong };
            let again = std::mem::replace(&mut entry.met, read.id.0) == read.id.0;
            let after = entry.after;
            match entry.live {
                Some(append) if entry.times > 1 && !(entry.by_one && mine.contains(&append.index())) => {
                    repeated = true;
                    continue;
                }
                Some(append) if !again && !mine.contains(&append.index()) => {}
                _ => return Source::Wrong,
            }
            // A list holds the appends of one transaction in order, and holds none without the earlier ones.
            if after.is_some_and(|after| self.appends[&(read.key, after)].met != read.id.0) {
                return Source::Wrong;
            }
        }
        if repeated && self.holds_too_often(read) {
            return Source::Wrong;
        }
        let Some(&last) = appended.last() else { return Source::From(Node::Initial) };
        match self.only_append(read.key, last) {
            None => Source::Ambiguous,
            Some(append) if self.history.op(append).last_write => {
                Source::From(Node::Txn(self.history.txn_of(append)))
            }
            Some(_) => Source::Wrong,
        }
    }

    /// Whether a list holds an element more often than transactions that did not abort appended it.
    pub(super) fn holds_too_often(&self, read: OpView) -> bool {
        let mut balance: FxHashMap<Value, i64> = FxHashMap::default();
        for &element in self.appended(read) {
            *balance.entry(element).or_default() += 1;
        }
        let appended = |(&element, &n): (&Value, &i64)| {
            let times = self.appends.get(&(read.key, element)).map_or(0, |entry| entry.times);
            times > 0 && n > i64::from(times)
        };
        balance.iter().any(appended)
    }

    /// The transactions that a reader must have read from: the only candidates of its reads, and those
    /// without whose appends its lists, right or wrong, would hold an element more often than it was
    /// appended.
    pub(super) fn known_writers(&self, reader: Txn) -> Vec<Txn> {
        let mut writers = Vec::new();
        for read in self.history.ops_of(reader) {
            match self.source(read.id) {
                Source::Nothing => continue,
                Source::From(Node::Txn(writer)) => writers.push(writer),
                _ => {}
            }
            if read.kind == OpKind::ReadList {
                let appends = self
                    .shown(read, reader)
                    .iter()
                    .filter_map(|&element| self.only_append(read.key, element));
                writers.extend(appends.map(|append| self.history.txn_of(append)));
                writers.extend(self.indispensable(read, reader));
            }
        }
        writers
    }

    /// The transactions without whose appends a list would hold a repeated element more often than all
    /// others, the reader included, appended it.
    fn indispensable(&self, read: OpView, reader: Txn) -> Vec<Txn> {
        let shown = self.shown(read, reader);
        let mut elements = shown.to_vec();
        elements.retain(|&element| self.times(read.key, element) > 1);
        elements.sort_unstable();
        elements.dedup();
        let mut found = Vec::new();
        for element in elements {
            let is_it = |op: &OpView| op.kind == OpKind::Append && op.key == read.key && op.value == element;
            let appends = |txn: Txn| self.history.ops_of(txn).filter(is_it).count();
            let writers = self.history.writers(read.key).iter().copied();
            let live = writers.filter(|&txn| self.history.outcome(txn) != Outcome::Aborted);
            let counted: Vec<(Txn, usize)> = live.map(|txn| (txn, appends(txn))).collect();
            let all: usize = counted.iter().map(|(_, times)| times).sum();
            let held = shown.iter().filter(|&&other| other == element).count();
            let needed = counted.iter().filter(|(_, times)| *times > 0 && all - times < held);
            found.extend(needed.map(|&(txn, _)| txn));
        }
        found
    }

    /// Follows reads from present transactions to those of unknown outcome.
    fn find_present(&mut self) {
        let mut open: Vec<Txn> = self.present().collect();
        let all_known = self.history.txns().all(|txn| self.history.outcome(txn) != Outcome::Unknown);
        while let Some(reader) = open.pop().filter(|_| !all_known) {
            for writer in self.known_writers(reader) {
                if !std::mem::replace(&mut self.present[writer.index()], true) {
                    open.push(writer);
                }
            }
        }
    }
}

/// What the current transaction has written so far. The table covers all keys. An entry counts only if it
/// carries the number of the current transaction, so nothing needs to be cleared.
struct OwnWrites {
    txn: u32,
    /// For each key: the transaction, and the index of its latest write in `writes`.
    latest: Vec<(u32, u32)>,
    /// Each value written, and the index of the previous write of the same key.
    writes: Vec<(Value, u32)>,
}

impl OwnWrites {
    fn new(keys: usize) -> OwnWrites {
        OwnWrites { txn: NO_TXN, latest: vec![(NO_TXN, NO_TXN); keys], writes: Vec::new() }
    }

    fn begin(&mut self, txn: Txn) {
        self.txn = txn.0;
        self.writes.clear();
    }

    fn place(&self, key: Key) -> u32 {
        match self.latest[key.index()] {
            (txn, place) if txn == self.txn => place,
            _ => NO_TXN,
        }
    }

    fn add(&mut self, write: OpView) {
        let before = self.place(write.key);
        self.latest[write.key.index()] = (self.txn, self.writes.len() as u32);
        self.writes.push((write.value, before));
    }

    fn latest(&self, key: Key) -> Option<Value> {
        self.backwards(key).next()
    }

    /// The values written to a key, latest first.
    fn backwards(&self, key: Key) -> impl Iterator<Item = Value> + '_ {
        let mut place = self.place(key);
        std::iter::from_fn(move || {
            let &(value, before) = self.writes.get(place as usize)?;
            place = before;
            Some(value)
        })
    }
}

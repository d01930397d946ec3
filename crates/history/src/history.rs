//! The history: sessions of transactions of operations, as columns.
//!
//! Definitions (levels.md, "Histories"): `po` is the order of operations inside a transaction, `so` the
//! order of transactions inside a session. Both are the order of ids here: operations are numbered
//! transaction by transaction, transactions session by session.
//!
//! Memory per operation: 4 bytes key, 4 bytes value, 4 bytes source position, 1 byte kind and flags, that
//! is 13; and 4 bytes for every (transaction, key) pair written, once the writers of a key are asked for. Per transaction:
//! 29 bytes, and 8, 16 and 16 more where events, times and database timestamps are recorded, and 4 where completions have
//! names.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;

use crate::ids::{Key, Op, Session, Txn};
use crate::index;
use crate::source::{Position, Sources};
use crate::value::{Datum, Value, Values};

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum OpKind {
    /// Reads the register of a key.
    Read = 0,
    /// Overwrites the register of a key.
    Write = 1,
    /// Appends an element to the list of a key.
    Append = 2,
    /// Reads the whole list of a key.
    ReadList = 3,
    /// Creates a key with a value.
    Insert = 4,
    /// Removes a key. The value, if any, is the identity of the tombstone.
    Delete = 5,
    /// Reads all keys in a range; the value names a row of [`History::range`].
    RangeRead = 6,
}

impl OpKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [OpKind; 7] = [
        OpKind::Read,
        OpKind::Write,
        OpKind::Append,
        OpKind::ReadList,
        OpKind::Insert,
        OpKind::Delete,
        OpKind::RangeRead,
    ];

    /// Whether the operation makes a new version of its key.
    #[inline]
    pub const fn is_write(self) -> bool {
        matches!(self, OpKind::Write | OpKind::Append | OpKind::Insert | OpKind::Delete)
    }

    /// Whether the operation reads one key.
    #[inline]
    pub const fn is_read(self) -> bool {
        matches!(self, OpKind::Read | OpKind::ReadList)
    }

    /// The word for it, as in the native format.
    pub const fn name(self) -> &'static str {
        match self {
            OpKind::Read => "read",
            OpKind::Write => "write",
            OpKind::Append => "append",
            OpKind::ReadList => "read-list",
            OpKind::Insert => "insert",
            OpKind::Delete => "delete",
            OpKind::RangeRead => "range-read",
        }
    }
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum Outcome {
    /// It committed, and the client was told so.
    #[default]
    Committed = 0,
    /// It did not happen.
    Aborted = 1,
    /// The client never learned; it may have committed.
    Unknown = 2,
}

impl Outcome {
    /// The word for it, as in the native format.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Committed => "committed",
            Outcome::Aborted => "aborted",
            Outcome::Unknown => "unknown",
        }
    }
}

/// The kind of an operation and what the index found about it, in one byte.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct OpTag(pub(crate) u8);

impl OpTag {
    pub(crate) const EXTERNAL: u8 = 0x10;
    pub(crate) const FINAL: u8 = 0x20;
    pub(crate) const CONSISTENT: u8 = 0x40;
    pub(crate) const IN_RANGE: u8 = 0x80;

    /// The same without what the index found.
    pub(crate) fn unmarked(self) -> OpTag {
        OpTag(self.kind() as u8 | self.0 & OpTag::IN_RANGE)
    }

    /// Whether the operation makes a new version of its key: a bit for each kind, so that nothing branches on it.
    #[inline]
    pub(crate) fn is_write(self) -> bool {
        const WRITES: u8 = {
            let (mut writes, mut i) = (0, 0);
            while i < OpKind::ALL.len() {
                writes |= (OpKind::ALL[i].is_write() as u8) << i;
                i += 1;
            }
            writes
        };
        WRITES >> (self.0 & 7) & 1 == 1
    }

    /// Whether the operation reads one key.
    #[inline]
    pub(crate) fn is_read(self) -> bool {
        const READS: u8 = {
            let (mut reads, mut i) = (0, 0);
            while i < OpKind::ALL.len() {
                reads |= (OpKind::ALL[i].is_read() as u8) << i;
                i += 1;
            }
            reads
        };
        READS >> (self.0 & 7) & 1 == 1
    }

    /// Whether the operation is the last write of its key in its transaction.
    #[inline]
    pub(crate) fn is_final(self) -> bool {
        self.0 & OpTag::FINAL != 0
    }

    /// Whether the operation reads a register.
    #[inline]
    pub(crate) fn is_register_read(self) -> bool {
        self.0 & 7 == OpKind::Read as u8
    }

    #[inline]
    pub(crate) fn kind(self) -> OpKind {
        // One row more than there are kinds, so that no number of three bits is out of bounds.
        const KINDS: [OpKind; 8] = {
            let mut kinds = [OpKind::Read; 8];
            let mut i = 0;
            while i < OpKind::ALL.len() {
                kinds[i] = OpKind::ALL[i];
                i += 1;
            }
            kinds
        };
        KINDS[(self.0 & 7) as usize]
    }
}

/// A range read: the bounds asked for and the rows that came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeRow {
    /// The lowest key name asked for.
    pub low: Value,
    /// The highest key name asked for.
    pub high: Value,
    /// The keys found, with their values, in the order they were returned.
    pub live: Vec<(Value, Value)>,
    /// Keys reported as deleted, with the identity of their tombstones.
    pub dead: Vec<(Value, Value)>,
}

impl RangeRow {
    /// Whether a name of the table lies in the range. One that cannot be compared with the bounds does not.
    pub fn covers(&self, table: &Values, name: Value) -> bool {
        table.compare(self.low, name).is_some_and(Ordering::is_le)
            && table.compare(name, self.high).is_some_and(Ordering::is_le)
    }
}

/// A start and an end for each transaction, for example when the client invoked and returned.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Intervals<T> {
    /// When each transaction began.
    pub start: Vec<T>,
    /// When each transaction ended.
    pub end: Vec<T>,
}

impl<T: Copy + PartialOrd> Intervals<T> {
    /// The transactions that ended before they began. `none` stands for an unknown start or end.
    pub fn reversed(&self, none: T) -> impl Iterator<Item = Txn> {
        let both = self.start.iter().zip(&self.end).zip(0..);
        let known = move |start: T, end: T| start != none && end != none;
        let reversed = both.filter(move |&((&start, &end), _)| end < start && known(start, end));
        reversed.map(|(_, txn)| Txn(txn))
    }
}

/// A note on a transaction: a field of the input that the model has no column for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The transaction.
    pub txn: Txn,
    /// The name of the field.
    pub name: Value,
    /// Its content.
    pub value: Value,
}

/// One operation, gathered from the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own about the operation")]
pub struct OpView {
    /// Its id.
    pub id: Op,
    /// What it does.
    pub kind: OpKind,
    /// The key it touches; for a range read, the key of the lower bound.
    pub key: Key,
    /// What it wrote or saw.
    pub value: Value,
    /// For a read: the transaction had not written the key before.
    pub external: bool,
    /// For a write: the transaction does not write the key again.
    pub last_write: bool,
    /// For a read of a register: it returns what the transaction itself last wrote to the key, or if it had not
    /// written it what it first read of it; or it is the first operation on it.
    pub consistent: bool,
    /// For a read: it is what a range read says of one key ([`History::expand_ranges`]).
    pub in_range: bool,
}

impl OpView {
    #[inline]
    fn gather(id: Op, tag: OpTag, key: Key, value: Value) -> OpView {
        let flag = |bit| tag.0 & bit != 0;
        let (external, last_write) = (flag(OpTag::EXTERNAL), flag(OpTag::FINAL));
        let (consistent, in_range) = (flag(OpTag::CONSISTENT), flag(OpTag::IN_RANGE));
        OpView { id, kind: tag.kind(), key, value, external, last_write, consistent, in_range }
    }
}

/// A recorded history; see the module.
#[derive(Clone)]
pub struct History {
    // Operations.
    pub(crate) tags: Vec<OpTag>,
    pub(crate) keys: Vec<Key>,
    pub(crate) values: Vec<Value>,
    /// Distance from the transaction's position; `u32::MAX` when unknown.
    pub(crate) at: Vec<u32>,
    // Transactions.
    pub(crate) txn_ops: Vec<u32>,
    pub(crate) txn_session: Vec<Session>,
    pub(crate) txn_outcome: Vec<Outcome>,
    pub(crate) txn_name: Vec<Value>,
    /// By transaction, what the input called its completion; empty when it named none.
    pub(crate) txn_completion: Vec<Value>,
    /// `u64::MAX` when unknown.
    pub(crate) txn_position: Vec<u64>,
    /// Which keys a transaction writes, roughly: the bits of [`key_bit`] of all of them.
    pub(crate) txn_writes: Vec<u64>,
    pub(crate) events: Option<Intervals<u32>>,
    pub(crate) times: Option<Intervals<i64>>,
    pub(crate) timestamps: Option<Intervals<i64>>,
    // Sessions.
    pub(crate) session_txns: Vec<u32>,
    pub(crate) session_name: Vec<Value>,
    // Keys.
    pub(crate) key_name: Vec<Value>,
    /// The largest of the written values, by [`Value::bits`]; 0 when there are none.
    pub(crate) highest_written: u32,
    pub(crate) key_writers: Vec<u32>,
    /// Made when first asked for.
    pub(crate) writers: OnceLock<Vec<Txn>>,
    pub(crate) initial: Value,
    /// One value a key, or empty when all keys begin with `initial`.
    pub(crate) initial_of: Vec<Value>,
    // The rest.
    pub(crate) ranges: Vec<RangeRow>,
    pub(crate) table: Values,
    pub(crate) annotations: Vec<Annotation>,
    pub(crate) sources: Sources,
}

/// No event or time was recorded: the transaction never began or never ended, as far as is known.
pub const NO_EVENT: u32 = u32::MAX;
/// No time was recorded.
pub const NO_TIME: i64 = i64::MIN;

/// One of 64 bits for a key.
#[inline]
pub(crate) fn key_bit(key: Key) -> u64 {
    1 << (key.0.wrapping_mul(0x9E37_79B1) >> 26)
}

/// Operations that are looked at one after the other, without asking in between whether that is needed.
const CHUNK: usize = 1 << 14;

/// Up to this many operations, a transaction is looked through faster than a search jumps to its place.
const SHORT_TXN: usize = 64;

impl History {
    /// How many sessions there are.
    pub fn session_count(&self) -> usize {
        self.session_name.len()
    }

    /// How many transactions there are, whatever their outcome.
    pub fn txn_count(&self) -> usize {
        self.txn_session.len()
    }

    /// How many operations there are.
    pub fn op_count(&self) -> usize {
        self.tags.len()
    }

    /// How many keys there are.
    pub fn key_count(&self) -> usize {
        self.key_name.len()
    }

    /// All sessions.
    pub fn sessions(&self) -> impl ExactSizeIterator<Item = Session> + use<> {
        (0..self.session_count() as u32).map(Session)
    }

    /// All transactions.
    pub fn txns(&self) -> impl ExactSizeIterator<Item = Txn> + use<> {
        (0..self.txn_count() as u32).map(Txn)
    }

    /// All keys.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = Key> + use<> {
        (0..self.key_count() as u32).map(Key)
    }

    /// The transactions of a session, in session order.
    pub fn txns_of(&self, session: Session) -> impl ExactSizeIterator<Item = Txn> + use<> {
        self.txn_range(session).map(Txn)
    }

    /// The ids of a session's transactions, as a range.
    pub fn txn_range(&self, session: Session) -> Range<u32> {
        self.session_txns[session.index()]..self.session_txns[session.index() + 1]
    }

    /// The ids of a transaction's operations, as a range.
    #[inline]
    pub fn op_range(&self, txn: Txn) -> Range<usize> {
        self.txn_ops[txn.index()] as usize..self.txn_ops[txn.index() + 1] as usize
    }

    /// The operations of a transaction, in program order.
    #[inline]
    pub fn ops_of(&self, txn: Txn) -> impl ExactSizeIterator<Item = OpView> + DoubleEndedIterator + '_ {
        let ops = self.op_range(txn);
        let columns =
            self.tags[ops.clone()].iter().zip(&self.keys[ops.clone()]).zip(&self.values[ops.clone()]);
        columns.zip(ops).map(|(((&tag, &key), &value), id)| OpView::gather(Op::at(id), tag, key, value))
    }

    /// One operation.
    #[inline]
    pub fn op(&self, op: Op) -> OpView {
        let i = op.index();
        OpView::gather(op, self.tags[i], self.keys[i], self.values[i])
    }

    /// The key an operation touches.
    #[inline]
    pub fn key_of(&self, op: Op) -> Key {
        self.keys[op.index()]
    }

    /// The transaction an operation belongs to, by binary search.
    pub fn txn_of(&self, op: Op) -> Txn {
        Txn::at(self.txn_ops.partition_point(|&first| first <= op.0) - 1)
    }

    /// The session of a transaction.
    #[inline]
    pub fn session_of(&self, txn: Txn) -> Session {
        self.txn_session[txn.index()]
    }

    /// How a transaction ended.
    #[inline]
    pub fn outcome(&self, txn: Txn) -> Outcome {
        self.txn_outcome[txn.index()]
    }

    /// What the input called a transaction.
    pub fn txn_name(&self, txn: Txn) -> Value {
        self.txn_name[txn.index()]
    }

    /// What the input called the completion of a transaction, where it names that apart from the invocation: Jepsen
    /// numbers both.
    pub fn completion_name(&self, txn: Txn) -> Option<Value> {
        self.txn_completion.get(txn.index()).copied().filter(|&name| name != Value::NIL)
    }

    /// What the input called a session.
    pub fn session_name(&self, session: Session) -> Value {
        self.session_name[session.index()]
    }

    /// What the input called a key.
    pub fn key_name(&self, key: Key) -> Value {
        self.key_name[key.index()]
    }

    /// The transactions that write a key, of any outcome, each once, in the order of their ids: session by
    /// session, and inside a session in session order.
    #[inline]
    pub fn writers(&self, key: Key) -> &[Txn] {
        &self.all_writers()[self.writer_range(key)]
    }

    /// Lists the writers of all keys on all cores, so that nobody has to wait for them later.
    pub fn list_writers(&self) {
        if self.writers.get().is_none() {
            // Should another thread have been faster, its list is the same.
            let _ = self.writers.set(index::list_writers(self));
        }
    }

    /// A thread that waits for others takes up other work meanwhile, which may ask for the same: whoever holds the lock
    /// must not wait, so it makes the list alone.
    #[inline]
    fn all_writers(&self) -> &[Txn] {
        self.writers.get_or_init(|| index::list_writers_alone(self))
    }

    /// Where the writers of a key stand among the writers of all keys.
    pub fn writer_range(&self, key: Key) -> Range<usize> {
        self.key_writers[key.index()] as usize..self.key_writers[key.index() + 1] as usize
    }

    /// How many pairs of a key and a transaction that writes it there are.
    pub fn writer_count(&self) -> usize {
        self.key_writers[self.key_count()] as usize
    }

    /// The largest of the bits of all values that were written; 0 when there are none.
    pub fn highest_written(&self) -> u32 {
        self.highest_written
    }

    /// Whether a transaction writes a key. A short transaction is looked through, since its operations stand
    /// together; the writers of a key are a long way of jumps.
    #[inline]
    pub fn writes(&self, txn: Txn, key: Key) -> bool {
        if self.txn_writes[txn.index()] & key_bit(key) == 0 {
            return false;
        }
        let ops = self.op_range(txn);
        if ops.len() > SHORT_TXN {
            return self.writers(key).binary_search(&txn).is_ok();
        }
        let mut columns = self.keys[ops.clone()].iter().zip(&self.tags[ops]);
        columns.any(|(&other, tag)| other == key && tag.is_write())
    }

    /// The transactions of one session that write a key, in session order.
    pub fn writers_in(&self, key: Key, session: Session) -> &[Txn] {
        let all = self.writers(key);
        let txns = self.txn_range(session);
        let from = all.partition_point(|txn| txn.0 < txns.start);
        let to = all.partition_point(|txn| txn.0 < txns.end);
        &all[from..to]
    }

    /// The value a key has before any transaction.
    #[inline]
    pub fn initial(&self, key: Key) -> Value {
        self.initial_of.get(key.index()).copied().unwrap_or(self.initial)
    }

    /// The value keys have before any transaction, unless they have one of their own.
    pub fn default_initial(&self) -> Value {
        self.initial
    }

    /// Whether a value is what its key holds before any transaction. An empty list is, unless the key begins
    /// with a list that is not empty.
    pub fn is_initial(&self, key: Key, value: Value) -> bool {
        // Lists are equal when their elements are.
        let is_same = |list: &[Value]| self.table.elements(self.initial(key)) == list;
        value == self.initial(key) || matches!(self.table.datum(value), Datum::List(list) if is_same(list))
    }

    /// When each transaction was invoked and returned, as places in the order of all such events of the
    /// recording; [`NO_EVENT`] where one was not recorded. Real-time order is decided by these alone when
    /// they are there.
    pub fn events(&self) -> Option<&Intervals<u32>> {
        self.events.as_ref()
    }

    /// When each transaction was invoked and returned by the client's clock, in nanoseconds;
    /// [`NO_TIME`] where it was not recorded.
    pub fn times(&self) -> Option<&Intervals<i64>> {
        self.times.as_ref()
    }

    /// The database's own begin and commit timestamps; [`NO_TIME`] where there is none. Hints, not facts.
    pub fn timestamps(&self) -> Option<&Intervals<i64>> {
        self.timestamps.as_ref()
    }

    /// What a range read asked for and found. `None` when the operation is no range read.
    pub fn range(&self, op: Op) -> Option<&RangeRow> {
        let view = self.op(op);
        match view.kind {
            OpKind::RangeRead => self.ranges.get(view.value.as_small()? as usize),
            _ => None,
        }
    }

    /// The table that holds every value that is not a small integer.
    pub fn table(&self) -> &Values {
        &self.table
    }

    /// What a value is.
    pub fn datum(&self, value: Value) -> Datum<'_> {
        self.table.datum(value)
    }

    /// All annotations, ordered by transaction.
    pub fn annotations(&self) -> &[Annotation] {
        &self.annotations
    }

    /// The annotations of one transaction.
    pub fn annotations_of(&self, txn: Txn) -> &[Annotation] {
        let from = self.annotations.partition_point(|a| a.txn < txn);
        let to = self.annotations.partition_point(|a| a.txn <= txn);
        &self.annotations[from..to]
    }

    /// The files the history was read from.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Where a transaction stands in the input.
    pub fn txn_position(&self, txn: Txn) -> Option<Position> {
        match self.txn_position[txn.index()] {
            u64::MAX => None,
            at => Some(Position(at)),
        }
    }

    /// Where an operation stands in the input.
    pub fn op_position(&self, op: Op) -> Option<Position> {
        let base = self.txn_position(self.txn_of(op))?;
        match self.at[op.index()] {
            u32::MAX => None,
            distance => Some(Position(base.0 + u64::from(distance))),
        }
    }

    /// Whether any operation works on lists.
    pub fn has_lists(&self) -> bool {
        let works_on_list = |tag: &OpTag| matches!(tag.kind(), OpKind::Append | OpKind::ReadList);
        self.tags.par_chunks(CHUNK).any(|tags| tags.iter().fold(false, |any, tag| any | works_on_list(tag)))
    }

    /// Whether it was not learned what some write wrote.
    pub fn has_unlearned_writes(&self) -> bool {
        let unlearned = |(tag, value): (&OpTag, &Value)| (*value == Value::UNKNOWN) && tag.is_write();
        let columns = self.tags.par_chunks(CHUNK).zip(self.values.par_chunks(CHUNK));
        columns.any(|(tags, values)| tags.iter().zip(values).fold(false, |any, op| any | unlearned(op)))
    }

    /// Bytes of memory held by the columns and indexes, and by the table of values.
    pub fn bytes(&self) -> (usize, usize) {
        fn of<T>(column: &[T]) -> usize {
            size_of_val(column)
        }
        fn pair<T>(columns: Option<&Intervals<T>>) -> usize {
            columns.map_or(0, |c| of(&c.start) + of(&c.end))
        }
        let columns = of(&self.tags) + of(&self.keys) + of(&self.values) + of(&self.at);
        let txns = of(&self.txn_ops)
            + of(&self.txn_session)
            + of(&self.txn_outcome)
            + of(&self.txn_name)
            + of(&self.txn_completion)
            + of(&self.txn_position)
            + of(&self.txn_writes)
            + pair(self.events.as_ref())
            + pair(self.times.as_ref())
            + pair(self.timestamps.as_ref());
        let writers = self.writers.get().map_or(0, |writers| of(writers));
        let keys = of(&self.key_name) + of(&self.key_writers) + writers + of(&self.initial_of);
        (columns + txns + keys + of(&self.annotations), self.table.bytes())
    }
}

/// The history in the one-line notation.
impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::notation::print(self))
    }
}

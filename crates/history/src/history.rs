//! The history: sessions of transactions of operations, as columns.
//!
//! Definitions (docs/levels.md, "Histories"): `po` is the order of operations inside a transaction, `so` the
//! order of transactions inside a session. Both are the order of ids here: operations are numbered
//! transaction by transaction, transactions session by session.
//!
//! Memory per operation: 13 bytes, which are 4 for the key, 4 for the value, 4 for the source position and 1
//! for kind and flags. Another 4 bytes for every (transaction, key) pair written, once the writers of a key
//! are requested. Per transaction: 29 bytes, plus 8, 16 and 16 if events, times and database timestamps are
//! recorded, plus 4 if completions have names.

use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::ids::{Key, Op, Session, Txn};
use crate::index;
use crate::source::{Position, Sources};
use crate::value::{Datum, Value, Values};

/// The kind of an operation.
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
    /// Reads all keys in a range; the value is the index of a row of [`History::range`].
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

    /// Whether the operation creates a new version of its key.
    #[inline]
    pub const fn is_write(self) -> bool {
        matches!(self, OpKind::Write | OpKind::Append | OpKind::Insert | OpKind::Delete)
    }

    /// Whether the operation reads one key.
    #[inline]
    pub const fn is_read(self) -> bool {
        matches!(self, OpKind::Read | OpKind::ReadList)
    }

    /// The name used in the native format.
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

/// The outcome of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum Outcome {
    /// It committed, and the client received the confirmation.
    #[default]
    Committed = 0,
    /// It rolled back: it had no effect.
    Aborted = 1,
    /// The client did not learn the outcome; it may have committed.
    Unknown = 2,
}

impl Outcome {
    /// The name used in the native format.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Committed => "committed",
            Outcome::Aborted => "aborted",
            Outcome::Unknown => "unknown",
        }
    }
}

/// The kind of an operation and the marks set by the index, in one byte.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct OpTag(pub(crate) u8);

impl OpTag {
    /// A read of the same range read as the operation before.
    pub(crate) const CONTINUES: u8 = 0x08;
    pub(crate) const EXTERNAL: u8 = 0x10;
    pub(crate) const FINAL: u8 = 0x20;
    pub(crate) const CONSISTENT: u8 = 0x40;
    pub(crate) const IN_RANGE: u8 = 0x80;

    /// The same tag without the marks of the index.
    pub(crate) fn unmarked(self) -> OpTag {
        OpTag(self.kind() as u8 | self.0 & (OpTag::IN_RANGE | OpTag::CONTINUES))
    }

    /// Whether the operation creates a new version of its key. Tests one bit per kind, so it does not branch.
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
        // One row more than there are kinds, so that every three-bit number is in bounds.
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

/// A range read: the requested bounds and the returned rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeRow {
    /// The lowest key name requested; nil if the range has no lower bound.
    pub low: Value,
    /// The highest key name requested; nil if the range has no upper bound.
    pub high: Value,
    /// The keys found, with their values, in the order they were returned.
    pub live: Vec<(Value, Value)>,
    /// Keys reported as deleted, with the identity of their tombstones.
    pub dead: Vec<(Value, Value)>,
}

impl RangeRow {
    /// Whether a name of the table lies in the range. A name that cannot be compared with the bounds does
    /// not.
    pub fn covers(&self, table: &Values, name: Value) -> bool {
        table.is_between(name, self.low, self.high)
    }

    /// Whether a key was found twice, or reported as deleted twice.
    pub fn repeats_a_key(&self) -> bool {
        [&self.live, &self.dead].into_iter().any(|rows| {
            let mut met = FxHashSet::default();
            rows.iter().any(|(key, _)| !met.insert(key))
        })
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
    /// The transactions that ended before they began. `none` is the marker of an unknown start or end.
    pub fn reversed(&self, none: T) -> impl Iterator<Item = Txn> {
        let both = self.start.iter().zip(&self.end).zip(0..);
        let known = move |start: T, end: T| start != none && end != none;
        let reversed = both.filter(move |&((&start, &end), _)| end < start && known(start, end));
        reversed.map(|(_, txn)| Txn(txn))
    }
}

/// An annotation of a transaction: a field of the input that the model has no column for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The transaction.
    pub txn: Txn,
    /// The name of the field.
    pub name: Value,
    /// Its content.
    pub value: Value,
}

/// One operation, collected from the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "the flags are independent")]
pub struct OpView {
    /// Its id.
    pub id: Op,
    /// Its kind.
    pub kind: OpKind,
    /// The key it touches; for a range read, the key of the lower bound.
    pub key: Key,
    /// The value it wrote or read.
    pub value: Value,
    /// For a read: the transaction had not written the key before.
    pub external: bool,
    /// For a write: the transaction does not write the key again.
    pub last_write: bool,
    /// For a read of a register: it is consistent with the earlier operations of its transaction on the key.
    /// It returns the transaction's last write of the key; without a write, its first read of the key; or it
    /// is the first operation on the key.
    pub consistent: bool,
    /// For a read: it was derived from a range read ([`History::expand_ranges`]).
    pub in_range: bool,
    /// For a read in a range: it comes from the same range read as the operation before it.
    pub continues: bool,
}

impl OpView {
    #[inline]
    fn gather(id: Op, tag: OpTag, key: Key, value: Value) -> OpView {
        let flag = |bit| tag.0 & bit != 0;
        let (external, last_write) = (flag(OpTag::EXTERNAL), flag(OpTag::FINAL));
        let (consistent, in_range) = (flag(OpTag::CONSISTENT), flag(OpTag::IN_RANGE));
        let continues = flag(OpTag::CONTINUES);
        OpView { id, kind: tag.kind(), key, value, external, last_write, consistent, in_range, continues }
    }
}

/// A recorded history; see the module documentation.
#[derive(Clone)]
pub struct History {
    // Operations.
    pub(crate) tags: Vec<OpTag>,
    pub(crate) keys: Vec<Key>,
    pub(crate) values: Vec<Value>,
    /// Distance from the transaction's position; `u32::MAX` if unknown.
    pub(crate) at: Vec<u32>,
    // Transactions.
    pub(crate) txn_ops: Vec<u32>,
    pub(crate) txn_session: Vec<Session>,
    pub(crate) txn_outcome: Vec<Outcome>,
    pub(crate) txn_name: Vec<Value>,
    /// For each transaction, the name of its completion in the input; empty if the input names none.
    pub(crate) txn_completion: Vec<Value>,
    /// `u64::MAX` if unknown.
    pub(crate) txn_position: Vec<u64>,
    /// A filter for the keys that a transaction writes: the union of their [`key_bit`]s.
    pub(crate) txn_writes: Vec<u64>,
    pub(crate) events: Option<Intervals<u32>>,
    pub(crate) times: Option<Intervals<i64>>,
    pub(crate) timestamps: Option<Intervals<i64>>,
    // Sessions.
    pub(crate) session_txns: Vec<u32>,
    pub(crate) session_name: Vec<Value>,
    // Keys.
    pub(crate) key_name: Vec<Value>,
    /// The largest of the written values, by [`Value::bits`]; 0 if no value was written.
    pub(crate) highest_written: u32,
    pub(crate) key_writers: Vec<u32>,
    /// Computed on first use.
    pub(crate) writers: OnceLock<Vec<Txn>>,
    pub(crate) initial: Value,
    /// One value per key, or empty if the initial value of all keys is `initial`.
    pub(crate) initial_of: Vec<Value>,
    // The rest.
    pub(crate) ranges: Vec<RangeRow>,
    pub(crate) table: Values,
    pub(crate) annotations: Vec<Annotation>,
    pub(crate) sources: Sources,
}

/// The event was not recorded: the transaction has no known invocation or no known return.
pub const NO_EVENT: u32 = u32::MAX;
/// No time was recorded.
pub const NO_TIME: i64 = i64::MIN;

/// Maps a key to one of 64 bits.
#[inline]
pub(crate) fn key_bit(key: Key) -> u64 {
    1 << (key.0.wrapping_mul(0x9E37_79B1) >> 26)
}

/// The number of operations scanned before checking whether to continue.
const CHUNK: usize = 1 << 14;

/// Up to this many operations, scanning a transaction is faster than a binary search among the writers of a
/// key.
const SHORT_TXN: usize = 64;

impl History {
    /// The number of sessions.
    pub fn session_count(&self) -> usize {
        self.session_name.len()
    }

    /// The number of transactions of any outcome.
    pub fn txn_count(&self) -> usize {
        self.txn_session.len()
    }

    /// The number of operations.
    pub fn op_count(&self) -> usize {
        self.tags.len()
    }

    /// The number of keys.
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

    /// The outcome of a transaction.
    #[inline]
    pub fn outcome(&self, txn: Txn) -> Outcome {
        self.txn_outcome[txn.index()]
    }

    /// The name of a transaction in the input.
    pub fn txn_name(&self, txn: Txn) -> Value {
        self.txn_name[txn.index()]
    }

    /// The name of a transaction's completion in the input, if it differs from the name of the invocation:
    /// Jepsen numbers both.
    pub fn completion_name(&self, txn: Txn) -> Option<Value> {
        self.txn_completion.get(txn.index()).copied().filter(|&name| name != Value::NIL)
    }

    /// The name of a session in the input.
    pub fn session_name(&self, session: Session) -> Value {
        self.session_name[session.index()]
    }

    /// The name of a key in the input.
    pub fn key_name(&self, key: Key) -> Value {
        self.key_name[key.index()]
    }

    /// The transactions that write a key, of any outcome, each once, in the order of their ids: session by
    /// session, and inside a session in session order.
    #[inline]
    pub fn writers(&self, key: Key) -> &[Txn] {
        &self.all_writers()[self.writer_range(key)]
    }

    /// Lists the writers of all keys on all cores, so that later calls do not wait.
    pub fn list_writers(&self) {
        if self.writers.get().is_none() {
            // If another thread was faster, its list is the same.
            let _ = self.writers.set(index::list_writers(self));
        }
    }

    /// A thread that waits for others takes up other work, which may request this list too. So the thread
    /// that holds the lock must not wait, and computes the list alone.
    #[inline]
    fn all_writers(&self) -> &[Txn] {
        self.writers.get_or_init(|| index::list_writers_alone(self))
    }

    /// The index range of a key's writers among the writers of all keys.
    pub fn writer_range(&self, key: Key) -> Range<usize> {
        self.key_writers[key.index()] as usize..self.key_writers[key.index() + 1] as usize
    }

    /// The number of (key, transaction) pairs such that the transaction writes the key.
    pub fn writer_count(&self) -> usize {
        self.key_writers[self.key_count()] as usize
    }

    /// The largest of the bits of all written values; 0 if no value was written.
    pub fn highest_written(&self) -> u32 {
        self.highest_written
    }

    /// Whether a transaction writes a key. A short transaction is scanned, since its operations are adjacent
    /// in memory; a search among the writers of the key would jump through memory.
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

    /// The initial value of a key.
    #[inline]
    pub fn initial(&self, key: Key) -> Value {
        self.initial_of.get(key.index()).copied().unwrap_or(self.initial)
    }

    /// The initial value of keys that have no initial value of their own.
    pub fn default_initial(&self) -> Value {
        self.initial
    }

    /// Whether a value is the initial value of its key. An empty list counts as initial, unless the initial
    /// value is a non-empty list.
    pub fn is_initial(&self, key: Key, value: Value) -> bool {
        // Lists are compared by their elements.
        let is_same = |list: &[Value]| self.table.elements(self.initial(key)) == list;
        value == self.initial(key) || matches!(self.table.datum(value), Datum::List(list) if is_same(list))
    }

    /// Whether a read returned the initial value of its key. A read of a list may return nil for an empty list.
    pub fn reads_initial(&self, read: &OpView) -> bool {
        let is_empty = read.kind == OpKind::ReadList && read.value == Value::NIL;
        self.is_initial(read.key, read.value)
            || is_empty && self.table.elements(self.initial(read.key)).is_empty()
    }

    /// When each transaction was invoked and returned, as positions in the order of all such events of the
    /// recording; [`NO_EVENT`] if an event was not recorded. If events are recorded, they alone decide
    /// real-time order.
    pub fn events(&self) -> Option<&Intervals<u32>> {
        self.events.as_ref()
    }

    /// When each transaction was invoked and returned by the client's clock, in nanoseconds; [`NO_TIME`] if
    /// it was not recorded.
    pub fn times(&self) -> Option<&Intervals<i64>> {
        self.times.as_ref()
    }

    /// The database's own begin and commit timestamps; [`NO_TIME`] if not recorded. These are hints and
    /// decide nothing.
    pub fn timestamps(&self) -> Option<&Intervals<i64>> {
        self.timestamps.as_ref()
    }

    /// The bounds and rows of a range read; `None` for other operations.
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

    /// The content of a value.
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

    /// The position of a transaction in the input.
    pub fn txn_position(&self, txn: Txn) -> Option<Position> {
        match self.txn_position[txn.index()] {
            u64::MAX => None,
            at => Some(Position(at)),
        }
    }

    /// The position of an operation in the input.
    pub fn op_position(&self, op: Op) -> Option<Position> {
        let base = self.txn_position(self.txn_of(op))?;
        match self.at[op.index()] {
            u32::MAX => None,
            distance => Some(Position(base.0 + u64::from(distance))),
        }
    }

    /// Whether any operation is on a list.
    pub fn has_lists(&self) -> bool {
        let works_on_list = |tag: &OpTag| matches!(tag.kind(), OpKind::Append | OpKind::ReadList);
        self.tags.par_chunks(CHUNK).any(|tags| tags.iter().fold(false, |any, tag| any | works_on_list(tag)))
    }

    /// Whether the value of some write was not learned.
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

//! A history under construction, and how it becomes columns.
//!
//! A reader gives a [`Draft`] operations in the order it meets them; transactions may interleave. The
//! finished [`History`] has them grouped by session and transaction under dense ids. In between lie
//! chunks: runs of operations of 16 bytes each, which a parallel reader fills independently and hands
//! over in input order. [`Draft::finish`] then
//!
//! 1. numbers transactions session by session, in the order they first appeared,
//! 2. numbers keys: small integers by size, all others by first appearance,
//! 3. moves every operation to its place, chunk by chunk in parallel, and
//! 4. builds the index (see `index`).
//!
//! The result depends only on the order of the input, never on threads or hashing.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::history::{Annotation, History, Intervals, NO_EVENT, NO_TIME, OpKind, OpTag, Outcome, RangeRow};
use crate::ids::{Session, Txn};
use crate::index;
use crate::source::Sources;
use crate::value::{Remap, Value, Values};

mod rank;
pub(crate) mod scatter;

use rank::KeyRanks;
use scatter::Scatter;

/// A transaction of a draft, numbered in order of first appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DraftTxn(pub u32);

/// The input is larger than the model can number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What there is too much of.
    pub what: &'static str,
    /// The most there can be.
    pub most: u64,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "too many {}: at most {} fit in one history", self.what, self.most)
    }
}

impl std::error::Error for Limit {}

/// One operation on its way into the columns.
#[derive(Clone, Copy, Debug)]
pub struct RawOp {
    /// The transaction's place in its chunk's list in the low 28 bits, the kind above.
    tag: u32,
    key: Value,
    value: Value,
    /// Distance from the chunk's base; `u32::MAX` when unknown.
    at: u32,
}

const LOCAL_BITS: u32 = 28;
const LOCAL_MASK: u32 = (1 << LOCAL_BITS) - 1;

impl RawOp {
    /// An operation of the chunk's transaction number `local`.
    #[inline]
    pub fn new(local: u32, kind: OpKind, key: Value, value: Value, at: u32) -> RawOp {
        assert!(local <= LOCAL_MASK, "a chunk has at most 2^28 transactions");
        RawOp { tag: local | (kind as u32) << LOCAL_BITS, key, value, at }
    }

    /// Moves the operation's key and value to another table.
    #[inline]
    pub fn remap(&mut self, remap: &Remap) {
        self.key = remap.apply(self.key);
        self.value = remap.apply(self.value);
    }
}

/// A transaction as one chunk sees it.
#[derive(Clone, Copy, Debug)]
struct Local {
    txn: DraftTxn,
    count: u32,
    /// Where its first operation of this chunk goes; set by `finish`.
    start: u32,
}

/// A run of operations, in input order; see the module.
#[derive(Debug, Default)]
struct Chunk {
    base: u64,
    ops: Vec<RawOp>,
    locals: Vec<Local>,
}

/// The most operations a chunk of a sequential reader takes: enough to amortise, few enough to spread.
const CHUNK_OPS: usize = 1 << 18;
/// The start of a transaction that is not to appear in the history.
const DROPPED: u32 = u32::MAX;

struct TxnEntry {
    session: u32,
    name: Value,
    outcome: Outcome,
    position: u64,
    dropped: bool,
    /// The chunk that last took an operation of it, and its place in that chunk's locals.
    chunk: u32,
    local: u32,
}

/// A history under construction; see the module.
#[derive(Default)]
pub struct Draft {
    /// The table all keys, values and names of the draft refer to.
    pub values: Values,
    /// The files read so far.
    pub sources: Sources,
    session_names: Vec<Value>,
    session_by_name: FxHashMap<Value, u32>,
    txns: Vec<TxnEntry>,
    chunks: Vec<Chunk>,
    open: Chunk,
    initial: Option<Value>,
    initial_of: Vec<(Value, Value)>,
    ranges: Vec<RangeRow>,
    annotations: Vec<(DraftTxn, Value, Value)>,
    events: Vec<(DraftTxn, u32, u32)>,
    times: Vec<(DraftTxn, i64, i64)>,
    timestamps: Vec<(DraftTxn, i64, i64)>,
}

impl Draft {
    /// An empty draft.
    pub fn new() -> Draft {
        Draft::default()
    }

    /// The session of that name, made when it is new.
    pub fn session(&mut self, name: Value) -> Session {
        let next = self.session_names.len() as u32;
        let id = *self.session_by_name.entry(name).or_insert(next);
        if id == next {
            self.session_names.push(name);
        }
        Session(id)
    }

    /// A new session, even if one of that name exists.
    pub fn new_session(&mut self, name: Value) -> Session {
        self.session_names.push(name);
        Session(self.session_names.len() as u32 - 1)
    }

    /// A new transaction at the end of a session. `position` is where it begins in the input, if known.
    pub fn txn(
        &mut self,
        session: Session,
        name: Value,
        outcome: Outcome,
        position: Option<u64>,
    ) -> DraftTxn {
        let id = DraftTxn(self.txns.len() as u32);
        self.txns.push(TxnEntry {
            session: session.0,
            name,
            outcome,
            position: position.unwrap_or(u64::MAX),
            dropped: false,
            chunk: u32::MAX,
            local: 0,
        });
        id
    }

    /// How many transactions the draft has.
    pub fn txn_count(&self) -> usize {
        self.txns.len()
    }

    /// Whether no transaction was added yet.
    pub fn is_empty(&self) -> bool {
        self.txns.is_empty()
    }

    /// Changes how a transaction ended.
    pub fn set_outcome(&mut self, txn: DraftTxn, outcome: Outcome) {
        self.txns[txn.0 as usize].outcome = outcome;
    }

    /// Leaves a transaction out of the history. Its keys stay.
    pub fn drop_txn(&mut self, txn: DraftTxn) {
        self.txns[txn.0 as usize].dropped = true;
    }

    /// Records when a transaction was invoked and returned, as places in the order of such events.
    pub fn set_events(&mut self, txn: DraftTxn, invoke: u32, complete: u32) {
        self.events.push((txn, invoke, complete));
    }

    /// Records when a transaction was invoked and returned, in nanoseconds of the client's clock.
    pub fn set_times(&mut self, txn: DraftTxn, invoke: i64, complete: i64) {
        self.times.push((txn, invoke, complete));
    }

    /// Records the database's begin and commit timestamps.
    pub fn set_timestamps(&mut self, txn: DraftTxn, begin: i64, commit: i64) {
        self.timestamps.push((txn, begin, commit));
    }

    /// Records a field the model has no column for.
    pub fn annotate(&mut self, txn: DraftTxn, name: Value, value: Value) {
        self.annotations.push((txn, name, value));
    }

    /// The value every key has before any transaction; 0 unless set.
    pub fn set_initial(&mut self, value: Value) {
        self.initial = Some(value);
    }

    /// The value one key has before any transaction.
    pub fn set_initial_of(&mut self, key: Value, value: Value) {
        self.initial_of.push((key, value));
    }

    /// Adds an operation at the end of a transaction. `position` is where it stands in the input.
    pub fn push(&mut self, txn: DraftTxn, kind: OpKind, key: Value, value: Value, position: Option<u64>) {
        let at = self.open_chunk(position);
        let chunk_number = self.chunks.len() as u32;
        let entry = &mut self.txns[txn.0 as usize];
        if entry.chunk != chunk_number {
            entry.chunk = chunk_number;
            entry.local = self.open.locals.len() as u32;
            self.open.locals.push(Local { txn, count: 0, start: 0 });
        }
        if entry.position == u64::MAX
            && let Some(position) = position
        {
            entry.position = position;
        }
        self.open.locals[entry.local as usize].count += 1;
        self.open.ops.push(RawOp::new(entry.local, kind, key, value, at));
    }

    /// Adds a range read at the end of a transaction.
    pub fn push_range(&mut self, txn: DraftTxn, row: RangeRow, position: Option<u64>) {
        let low = row.low;
        let number = Value::small(self.ranges.len() as u64).unwrap_or(Value::UNKNOWN);
        self.ranges.push(row);
        self.push(txn, OpKind::RangeRead, low, number, position);
    }

    /// Makes room in the open chunk and says where `position` lies in it.
    fn open_chunk(&mut self, position: Option<u64>) -> u32 {
        let fits = |base: u64| position.is_none_or(|p| p >= base && p - base < u64::from(u32::MAX));
        if self.open.ops.len() >= CHUNK_OPS || !fits(self.open.base) {
            self.seal();
        }
        if self.open.ops.is_empty()
            && let Some(position) = position
        {
            self.open.base = position;
        }
        match position {
            Some(p) if fits(self.open.base) => (p - self.open.base) as u32,
            _ => u32::MAX,
        }
    }

    fn seal(&mut self) {
        if !self.open.ops.is_empty() {
            self.chunks.push(std::mem::take(&mut self.open));
        }
    }

    /// Hands over a run of operations that was read apart. `txns` gives, for each of its transactions in
    /// the order the operations number them, the draft's transaction and how many operations it has.
    /// `base` is where in the input the operations' distances begin. Keys and values must be of this
    /// draft's table. Panics, here or in [`Draft::finish`], where the counts are wrong.
    pub fn absorb(&mut self, base: u64, ops: Vec<RawOp>, txns: impl Iterator<Item = (DraftTxn, u32)>) {
        self.seal();
        let locals: Vec<Local> = txns.map(|(txn, count)| Local { txn, count, start: 0 }).collect();
        let counted: usize = locals.iter().map(|local| local.count as usize).sum();
        assert_eq!(counted, ops.len(), "`absorb` must be told of every operation");
        self.chunks.push(Chunk { base, ops, locals });
    }

    /// Turns the draft into a history.
    pub fn finish(mut self) -> Result<History, Limit> {
        self.seal();
        let order = TxnOrder::of(&self.txns, self.session_names.len())?;
        let (txn_ops, op_count) = place_ops(&mut self.chunks, &order)?;
        let ranks = KeyRanks::of(&self.chunks, &self.initial_of, self.values.len());
        let ranks = ranks.ok_or(Limit { what: "keys", most: u64::from(u32::MAX) })?;
        let initial = self.initial.unwrap_or(Value::small(0).unwrap_or(Value::NIL));

        let mut history = History {
            tags: Vec::new(),
            keys: Vec::new(),
            values: Vec::new(),
            at: Vec::new(),
            txn_ops,
            txn_session: gather(&order.drafts, |d| Session(order.sessions[self.txns[d].session as usize])),
            txn_outcome: gather(&order.drafts, |d| self.txns[d].outcome),
            txn_name: gather(&order.drafts, |d| self.txns[d].name),
            txn_position: gather(&order.drafts, |d| self.txns[d].position),
            events: intervals(&self.events, &order, NO_EVENT),
            times: intervals(&self.times, &order, NO_TIME),
            timestamps: intervals(&self.timestamps, &order, NO_TIME),
            session_name: order.session_names(&self.session_names),
            session_txns: order.session_txns,
            key_name: ranks.names(),
            key_writers: Vec::new(),
            writers: Vec::new(),
            initial,
            initial_of: initial_column(&self.initial_of, initial, &ranks),
            ranges: self.ranges,
            annotations: annotations(&self.annotations, &order.dense),
            table: self.values,
            sources: self.sources,
        };
        fill_columns(&mut history, op_count, self.chunks, &ranks, &order.dense);
        history.table.freeze();
        index::build(&mut history);
        Ok(history)
    }
}

/// The dense numbering of transactions.
struct TxnOrder {
    /// Dense id by draft id; [`DROPPED`] for those left out.
    dense: Vec<u32>,
    /// Draft id by dense id.
    drafts: Vec<u32>,
    /// Dense session id by draft session id. Sessions all of whose transactions were dropped vanish.
    sessions: Vec<u32>,
    session_txns: Vec<u32>,
}

impl TxnOrder {
    fn of(txns: &[TxnEntry], session_count: usize) -> Result<TxnOrder, Limit> {
        if txns.len() >= DROPPED as usize {
            return Err(Limit { what: "transactions", most: u64::from(DROPPED) - 1 });
        }
        let mut sizes = vec![0u32; session_count];
        let mut only_dropped = vec![false; session_count];
        for txn in txns {
            if txn.dropped {
                only_dropped[txn.session as usize] = true;
            } else {
                sizes[txn.session as usize] += 1;
            }
        }
        let mut sessions = vec![u32::MAX; session_count];
        let mut session_txns = vec![0u32];
        let mut next = vec![0u32; session_count];
        let mut total = 0;
        for (session, &size) in sizes.iter().enumerate() {
            if size == 0 && only_dropped[session] {
                continue;
            }
            sessions[session] = session_txns.len() as u32 - 1;
            next[session] = total;
            total += size;
            session_txns.push(total);
        }
        let mut dense = vec![DROPPED; txns.len()];
        let mut drafts = vec![0u32; total as usize];
        for (draft, txn) in txns.iter().enumerate().filter(|(_, txn)| !txn.dropped) {
            let id = next[txn.session as usize];
            next[txn.session as usize] += 1;
            dense[draft] = id;
            drafts[id as usize] = draft as u32;
        }
        Ok(TxnOrder { dense, drafts, sessions, session_txns })
    }

    fn session_names(&self, draft_names: &[Value]) -> Vec<Value> {
        let kept = draft_names.iter().zip(&self.sessions).filter(|(_, id)| **id != u32::MAX);
        kept.map(|(name, _)| *name).collect()
    }
}

/// Gives every transaction its range of operations, and every chunk the places its operations go to.
fn place_ops(chunks: &mut [Chunk], order: &TxnOrder) -> Result<(Vec<u32>, usize), Limit> {
    let mut sizes = vec![0u64; order.drafts.len()];
    for local in chunks.iter().flat_map(|chunk| &chunk.locals) {
        let id = order.dense[local.txn.0 as usize];
        if id != DROPPED {
            sizes[id as usize] += u64::from(local.count);
        }
    }
    let total: u64 = sizes.iter().sum();
    if total >= u64::from(DROPPED) {
        return Err(Limit { what: "operations", most: u64::from(DROPPED) - 1 });
    }
    let mut txn_ops = Vec::with_capacity(sizes.len() + 1);
    let mut sum = 0u32;
    for &size in &sizes {
        txn_ops.push(sum);
        sum += size as u32;
    }
    txn_ops.push(sum);
    let mut next = txn_ops.clone();
    for local in chunks.iter_mut().flat_map(|chunk| &mut chunk.locals) {
        let id = order.dense[local.txn.0 as usize];
        if id == DROPPED {
            local.start = DROPPED;
        } else {
            local.start = next[id as usize];
            next[id as usize] += local.count;
        }
    }
    Ok((txn_ops, total as usize))
}

/// Moves every operation to its place. Consumes the chunks, so that their memory goes as they are used.
fn fill_columns(history: &mut History, len: usize, chunks: Vec<Chunk>, ranks: &KeyRanks, dense: &[u32]) {
    let txn_position = &history.txn_position;
    let (tags, keys) = (Scatter::new(len), Scatter::new(len));
    let (values, at) = (Scatter::new(len), Scatter::new(len));
    chunks.into_par_iter().for_each(|chunk| {
        let mut done = vec![0u32; chunk.locals.len()];
        for op in &chunk.ops {
            let local = (op.tag & LOCAL_MASK) as usize;
            let Local { txn, count, start } = chunk.locals[local];
            assert!(done[local] < count, "more operations than `absorb` was told of");
            let place = start.wrapping_add(done[local]);
            done[local] += 1;
            if start == DROPPED {
                continue;
            }
            let base = txn_position[dense[txn.0 as usize] as usize];
            let distance = (chunk.base + u64::from(op.at)).checked_sub(base);
            let distance = match distance {
                Some(d) if op.at != u32::MAX && base != u64::MAX => u32::try_from(d).unwrap_or(u32::MAX),
                _ => u32::MAX,
            };
            let place = place as usize;
            // SAFETY: `place_ops` gives every transaction of every chunk a range of its own, and the assertion
            // above keeps each operation in its range, whatever the counts that the reader claimed.
            unsafe {
                tags.set(place, OpTag((op.tag >> LOCAL_BITS) as u8));
                keys.set(place, ranks.key(op.key));
                values.set(place, op.value);
                at.set(place, distance);
            }
        }
    });
    // SAFETY: the ranges of `place_ops` cover all places, and each is filled: a chunk has as many operations as
    // its transactions count (`absorb` asserts it, `push` counts), and none has more than its count.
    unsafe {
        history.tags = tags.finish();
        history.keys = keys.finish();
        history.values = values.finish();
        history.at = at.finish();
    }
}

fn gather<T: Send>(drafts: &[u32], get: impl Fn(usize) -> T + Sync) -> Vec<T> {
    drafts.par_iter().map(|&draft| get(draft as usize)).collect()
}

fn intervals<T: Copy>(given: &[(DraftTxn, T, T)], order: &TxnOrder, none: T) -> Option<Intervals<T>> {
    if given.is_empty() {
        return None;
    }
    let mut columns =
        Intervals { start: vec![none; order.drafts.len()], end: vec![none; order.drafts.len()] };
    for &(txn, start, end) in given {
        let id = order.dense[txn.0 as usize];
        if id != DROPPED {
            columns.start[id as usize] = start;
            columns.end[id as usize] = end;
        }
    }
    Some(columns)
}

fn initial_column(given: &[(Value, Value)], default: Value, ranks: &KeyRanks) -> Vec<Value> {
    if given.iter().all(|&(_, value)| value == default) {
        return Vec::new();
    }
    let mut column = vec![default; ranks.len()];
    for &(key, value) in given {
        column[ranks.key(key).index()] = value;
    }
    column
}

fn annotations(given: &[(DraftTxn, Value, Value)], dense: &[u32]) -> Vec<Annotation> {
    let kept = given.iter().filter(|(txn, ..)| dense[txn.0 as usize] != DROPPED);
    let mut all: Vec<Annotation> =
        kept.map(|&(txn, name, value)| Annotation { txn: Txn(dense[txn.0 as usize]), name, value }).collect();
    all.sort_by_key(|a| a.txn);
    all
}

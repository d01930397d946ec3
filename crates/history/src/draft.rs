//! A history under construction, and its conversion to columns.
//!
//! A reader adds operations to a [`Draft`] in the order it meets them; transactions may interleave. The
//! finished [`History`] has them grouped by session and transaction under dense ids. The draft stores chunks:
//! operations of 12 bytes each, and run by run the transaction they belong to. A parallel reader fills chunks
//! independently and adds them in input order. [`Draft::finish`] then
//!
//! 1. numbers transactions session by session, in the order they first appeared,
//! 2. numbers keys: small integers by size, all others by first appearance,
//! 3. moves every operation to its place, chunk by chunk in parallel, and
//! 4. builds the index (see `index`).
//!
//! The result depends only on the order of the input, never on threads or hashing.

use std::sync::OnceLock;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::history::{Annotation, History, Intervals, NO_EVENT, NO_TIME, OpKind, OpTag, Outcome, RangeRow};
use crate::ids::{Session, Txn};
use crate::index;
use crate::source::Sources;
use crate::value::{Remap, Value, Values};

mod rank;
pub(crate) mod scatter;
mod unlearned;

use rank::KeyRanks;
use scatter::Scatter;

/// A transaction of a draft, numbered in order of first appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DraftTxn(pub u32);

/// The input exceeds a limit of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What exceeds the limit.
    pub what: &'static str,
    /// The limit.
    pub most: u64,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "too many {}: at most {} fit in one history", self.what, self.most)
    }
}

impl std::error::Error for Limit {}

/// One operation before it is moved to the columns.
#[derive(Clone, Copy, Debug)]
pub struct RawOp {
    /// The distance from the chunk's base in the low bits, the kind above.
    tag: u32,
    key: Value,
    value: Value,
}

const AT_BITS: u32 = 29;
/// The distance of an operation whose position is unknown.
const UNKNOWN_AT: u32 = (1 << AT_BITS) - 1;

impl RawOp {
    /// An operation at distance `at` from the chunk's base. A distance of half a gigabyte or more is stored
    /// as unknown.
    #[inline]
    pub fn new(kind: OpKind, key: Value, value: Value, at: u32) -> RawOp {
        RawOp { tag: at.min(UNKNOWN_AT) | (kind as u32) << AT_BITS, key, value }
    }

    #[inline]
    fn kind_bits(&self) -> u8 {
        (self.tag >> AT_BITS) as u8
    }

    #[inline]
    fn at(&self) -> Option<u32> {
        Some(self.tag & UNKNOWN_AT).filter(|&at| at != UNKNOWN_AT)
    }

    /// Maps the operation's key and value to another table.
    #[inline]
    pub fn remap(&mut self, remap: &Remap) {
        self.key = remap.apply(self.key);
        self.value = remap.apply(self.value);
    }
}

/// Consecutive operations of one transaction.
#[derive(Clone, Copy, Debug)]
struct Run {
    txn: DraftTxn,
    count: u32,
    /// The place of the first operation; set by `finish`.
    start: u32,
}

/// Operations in input order; see the module documentation.
#[derive(Debug, Default)]
struct Chunk {
    base: u64,
    ops: Vec<RawOp>,
    /// The transactions of the operations. The counts of the runs add up to the number of operations.
    runs: Vec<Run>,
}

/// The maximal number of operations in a chunk of a sequential reader: large enough to amortise its cost,
/// small enough to share among threads.
const CHUNK_OPS: usize = 1 << 18;
/// The size of the columns of a history per operation, and per transaction.
const OP_BYTES: u64 = 13;
const TXN_BYTES: u64 = 29;
/// The start of a transaction that is dropped from the history.
const DROPPED: u32 = u32::MAX;

struct TxnEntry {
    session: u32,
    name: Value,
    outcome: Outcome,
    position: u64,
    dropped: bool,
}

/// A history under construction; see the module documentation.
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
    completions: Vec<(DraftTxn, Value)>,
    events: Vec<(DraftTxn, u32, u32)>,
    times: Vec<(DraftTxn, i64, i64)>,
    timestamps: Vec<(DraftTxn, i64, i64)>,
}

impl Draft {
    /// An empty draft.
    pub fn new() -> Draft {
        Draft::default()
    }

    /// The session with this name; it is created if it is new.
    pub fn session(&mut self, name: Value) -> Session {
        let next = self.session_names.len() as u32;
        let id = *self.session_by_name.entry(name).or_insert(next);
        if id == next {
            self.session_names.push(name);
        }
        Session(id)
    }

    /// A new session, even if another has the same name.
    pub fn new_session(&mut self, name: Value) -> Session {
        self.session_names.push(name);
        Session(self.session_names.len() as u32 - 1)
    }

    /// Adds a transaction at the end of a session. `position` is where it begins in the input, if known.
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
        });
        id
    }

    /// The number of transactions of the draft.
    pub fn txn_count(&self) -> usize {
        self.txns.len()
    }

    /// Whether the draft has no transaction yet.
    pub fn is_empty(&self) -> bool {
        self.txns.is_empty()
    }

    /// Changes the outcome of a transaction.
    pub fn set_outcome(&mut self, txn: DraftTxn, outcome: Outcome) {
        self.txns[txn.0 as usize].outcome = outcome;
    }

    /// Drops a transaction from the history. Its keys remain.
    pub fn drop_txn(&mut self, txn: DraftTxn) {
        self.txns[txn.0 as usize].dropped = true;
    }

    /// Records the name of a transaction's completion in the input.
    pub fn name_completion(&mut self, txn: DraftTxn, name: Value) {
        self.completions.push((txn, name));
    }

    /// Records when a transaction was invoked and returned, as positions in the order of such events.
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

    /// Records a field that the model has no column for.
    pub fn annotate(&mut self, txn: DraftTxn, name: Value, value: Value) {
        self.annotations.push((txn, name, value));
    }

    /// Sets the initial value of all keys; 0 by default.
    pub fn set_initial(&mut self, value: Value) {
        self.initial = Some(value);
    }

    /// Sets the initial value of one key.
    pub fn set_initial_of(&mut self, key: Value, value: Value) {
        self.initial_of.push((key, value));
    }

    /// Adds an operation at the end of a transaction. `position` is its position in the input.
    pub fn push(&mut self, txn: DraftTxn, kind: OpKind, key: Value, value: Value, position: Option<u64>) {
        let at = self.open_chunk(position);
        let entry = &mut self.txns[txn.0 as usize];
        if entry.position == u64::MAX
            && let Some(position) = position
        {
            entry.position = position;
        }
        match self.open.runs.last_mut() {
            Some(run) if run.txn == txn => run.count += 1,
            _ => self.open.runs.push(Run { txn, count: 1, start: 0 }),
        }
        self.open.ops.push(RawOp::new(kind, key, value, at));
    }

    /// Adds a range read at the end of a transaction.
    pub fn push_range(&mut self, txn: DraftTxn, row: RangeRow, position: Option<u64>) {
        let low = row.low;
        let number = Value::small(self.ranges.len() as u64).unwrap_or(Value::UNKNOWN);
        self.ranges.push(row);
        self.push(txn, OpKind::RangeRead, low, number, position);
    }

    /// Makes room in the open chunk and returns the distance of `position` from its base.
    fn open_chunk(&mut self, position: Option<u64>) -> u32 {
        let fits = |base: u64| position.is_none_or(|p| p >= base && p - base < u64::from(UNKNOWN_AT));
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
            _ => UNKNOWN_AT,
        }
    }

    fn seal(&mut self) {
        if !self.open.ops.is_empty() {
            self.chunks.push(std::mem::take(&mut self.open));
        }
    }

    /// Adds operations that were read separately. `runs` lists the transactions they belong to, each with its
    /// number of consecutive operations. `base` is the input position that the operations' distances refer
    /// to. Keys and values must be from this draft's table. Panics if the counts do not add up to the number
    /// of operations.
    pub fn absorb(&mut self, base: u64, ops: Vec<RawOp>, runs: impl Iterator<Item = (DraftTxn, u32)>) {
        self.seal();
        let runs: Vec<Run> = runs.map(|(txn, count)| Run { txn, count, start: 0 }).collect();
        let counted: usize = runs.iter().map(|run| run.count as usize).sum();
        assert_eq!(counted, ops.len(), "the runs passed to `absorb` must cover every operation");
        self.chunks.push(Chunk { base, ops, runs });
    }

    /// Drops the reads of some transactions from the history.
    pub fn forget_reads(&mut self, is_one: impl Fn(DraftTxn) -> bool) {
        self.seal();
        let reads = [OpKind::Read, OpKind::ReadList, OpKind::RangeRead].map(|kind| kind as u8);
        for Chunk { ops, runs, .. } in &mut self.chunks {
            let mut rest = ops.drain(..);
            let mut kept = Vec::new();
            for run in runs {
                let before = kept.len();
                let of_run = rest.by_ref().take(run.count as usize);
                if is_one(run.txn) {
                    kept.extend(of_run.filter(|op| !reads.contains(&op.kind_bits())));
                } else {
                    kept.extend(of_run);
                }
                run.count = (kept.len() - before) as u32;
            }
            drop(rest);
            *ops = kept;
        }
    }

    /// The approximate number of bytes that [`Draft::finish`] needs in addition to the draft: the columns of
    /// the history.
    pub fn columns_bytes(&self) -> u64 {
        let chunks = self.chunks.iter().chain([&self.open]);
        let ops: u64 = chunks.map(|chunk| chunk.ops.len() as u64).sum();
        OP_BYTES * ops + TXN_BYTES * self.txns.len() as u64
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
            txn_completion: completions(&self.completions, &order),
            txn_position: gather(&order.drafts, |d| self.txns[d].position),
            txn_writes: Vec::new(),
            events: intervals(&self.events, &order, NO_EVENT),
            times: intervals(&self.times, &order, NO_TIME),
            timestamps: intervals(&self.timestamps, &order, NO_TIME),
            session_name: order.session_names(&self.session_names),
            session_txns: order.session_txns,
            key_name: ranks.names(),
            highest_written: 0,
            key_writers: Vec::new(),
            writers: OnceLock::new(),
            initial,
            initial_of: initial_column(&self.initial_of, initial, &ranks),
            ranges: self.ranges,
            annotations: annotations(&self.annotations, &order.dense),
            table: self.values,
            sources: self.sources,
        };
        fill_columns(&mut history, op_count, self.chunks, &ranks, &order.dense);
        unlearned::settle(&mut history);
        history.table.freeze();
        index::build(&mut history);
        Ok(history)
    }
}

/// The dense numbering of transactions.
struct TxnOrder {
    /// Dense id by draft id; [`DROPPED`] for dropped transactions.
    dense: Vec<u32>,
    /// Draft id by dense id.
    drafts: Vec<u32>,
    /// Dense session id by draft session id. Sessions whose transactions were all dropped have none.
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

/// Assigns every transaction its range of operations, and every run the places of its operations.
fn place_ops(chunks: &mut [Chunk], order: &TxnOrder) -> Result<(Vec<u32>, usize), Limit> {
    let mut sizes = vec![0u64; order.drafts.len()];
    for run in chunks.iter().flat_map(|chunk| &chunk.runs) {
        let id = order.dense[run.txn.0 as usize];
        if id != DROPPED {
            sizes[id as usize] += u64::from(run.count);
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
    for run in chunks.iter_mut().flat_map(|chunk| &mut chunk.runs) {
        let id = order.dense[run.txn.0 as usize];
        if id == DROPPED {
            run.start = DROPPED;
        } else {
            run.start = next[id as usize];
            next[id as usize] += run.count;
        }
    }
    Ok((txn_ops, total as usize))
}

/// Moves every operation to its place. Consumes the chunks, so that each is freed after use.
fn fill_columns(history: &mut History, len: usize, chunks: Vec<Chunk>, ranks: &KeyRanks, dense: &[u32]) {
    let txn_position = &history.txn_position;
    let (tags, keys) = (Scatter::new(len), Scatter::new(len));
    let (values, at) = (Scatter::new(len), Scatter::new(len));
    chunks.into_par_iter().for_each(|chunk| {
        let mut rest = chunk.ops.as_slice();
        for &Run { txn, count, start } in &chunk.runs {
            let (ops, others) = rest.split_at(count as usize);
            rest = others;
            if start == DROPPED {
                continue;
            }
            let base = txn_position[dense[txn.0 as usize] as usize];
            let distance = |op: &RawOp| {
                let distance = (chunk.base + u64::from(op.at()?)).checked_sub(base)?;
                u32::try_from(distance).ok()
            };
            for (op, place) in ops.iter().zip(start as usize..) {
                // SAFETY: `place_ops` assigns every run a disjoint range whose length is the run's count, and
                // exactly that number of operations is taken here.
                unsafe {
                    tags.set(place, OpTag(op.kind_bits()));
                    keys.set(place, ranks.key(op.key));
                    values.set(place, op.value);
                    at.set(place, distance(op).unwrap_or(u32::MAX));
                }
            }
        }
    });
    // SAFETY: the ranges of `place_ops` cover all places, and each place is written: a chunk has as many
    // operations as its runs count, or `split_at` would have panicked.
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

fn completions(given: &[(DraftTxn, Value)], order: &TxnOrder) -> Vec<Value> {
    if given.is_empty() {
        return Vec::new();
    }
    let mut column = vec![Value::NIL; order.drafts.len()];
    for &(txn, name) in given {
        if let Some(place) = column.get_mut(order.dense[txn.0 as usize] as usize) {
            *place = name;
        }
    }
    column
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

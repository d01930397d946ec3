//! From a recorded history to a small one.

use std::fmt;

use isoscope_history::{History, Intervals, Key, NO_EVENT, NO_TIME, OpKind, Outcome, Txn, Value};
use rustc_hash::FxHashMap;

use crate::history::SmallHistory;
use crate::matrix::Matrix;

/// The most transactions and keys of a history that is judged by a definition. The search for a witness takes time that grows
/// quickly.
pub const LARGEST: usize = 200;

/// Why a history cannot be judged by a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// It has more transactions or keys than [`LARGEST`].
    Large {
        /// What there are too many of.
        what: &'static str,
        /// How many there are.
        count: usize,
    },
    /// A transaction has an operation or an outcome that definitions do not speak of.
    Txn {
        /// The transaction.
        txn: Txn,
        /// What it does.
        why: &'static str,
    },
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsupported::Large { what, count } => {
                write!(f, "the history has {count} {what}; a definition is checked on at most {LARGEST}")
            }
            Unsupported::Txn { why, .. } => write!(f, "a transaction {why}"),
        }
    }
}

impl SmallHistory {
    /// The committed transactions of a history of registers with unique values.
    pub fn of(history: &History) -> Result<SmallHistory, Unsupported> {
        let committed: Vec<Txn> =
            history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted).collect();
        let (txns, keys) = (committed.len() + 1, history.key_count());
        for (what, count) in [("transactions", committed.len()), ("keys", keys)] {
            if count > LARGEST {
                return Err(Unsupported::Large { what, count });
            }
        }
        let mut writers: FxHashMap<(Key, Value), usize> = FxHashMap::default();
        let mut writes = vec![vec![false; keys]; txns];
        writes[0] = vec![true; keys];
        for (txn, place) in committed.iter().copied().zip(1..) {
            for (key, value) in final_writes(history, txn)? {
                writes[place][key.index()] = true;
                if history.is_initial(key, value) || writers.insert((key, value), place).is_some() {
                    return Err(Unsupported::Txn { txn, why: "writes a value that is written twice" });
                }
            }
        }
        let mut sources = vec![vec![None; keys]; txns];
        let mut read_order = vec![Vec::new(); txns];
        for (txn, place) in committed.iter().copied().zip(1..) {
            for (key, value) in external_reads(history, txn)? {
                let writer =
                    if history.is_initial(key, value) { Some(&0) } else { writers.get(&(key, value)) };
                let why = "reads a value that is no final write of another committed transaction";
                let writer =
                    writer.filter(|&&writer| writer != place).ok_or(Unsupported::Txn { txn, why })?;
                sources[place][key.index()] = Some(*writer);
                read_order[place].push(key.index());
            }
        }
        let is_before = |from: usize, to: usize, before: &dyn Fn(Txn, Txn) -> bool| match (from, to) {
            (_, 0) => false,
            (0, _) => true,
            (from, to) => before(committed[from - 1], committed[to - 1]),
        };
        let in_session = |from: Txn, to: Txn| history.session_of(from) == history.session_of(to) && from < to;
        let so = Matrix::new(txns, |from, to| is_before(from, to, &in_session));
        let has_times = history.events().is_some() || history.times().is_some();
        let in_time = |from: Txn, to: Txn| in_session(from, to) || returned_before(history, from, to);
        let rt = has_times.then(|| Matrix::new(txns, |from, to| is_before(from, to, &in_time)));
        Ok(SmallHistory { keys, writes, sources, so, rt, read_order })
    }
}

/// Whether a transaction returned before another was invoked. The order of events decides where it is recorded.
fn returned_before(history: &History, from: Txn, to: Txn) -> bool {
    fn is_before<T: Copy + PartialOrd>(clock: &Intervals<T>, none: T, from: Txn, to: Txn) -> bool {
        let (end, start) = (clock.end[from.index()], clock.start[to.index()]);
        end != none && start != none && end < start
    }
    match (history.events(), history.times()) {
        (Some(events), _) => is_before(events, NO_EVENT, from, to),
        (None, Some(times)) => is_before(times, NO_TIME, from, to),
        (None, None) => false,
    }
}

/// The last write of each key of a transaction.
fn final_writes(history: &History, txn: Txn) -> Result<Vec<(Key, Value)>, Unsupported> {
    if history.outcome(txn) != Outcome::Committed {
        return Err(Unsupported::Txn { txn, why: "has an unknown outcome" });
    }
    let mut writes = Vec::new();
    for op in history.ops_of(txn) {
        match op.kind {
            OpKind::Write if op.last_write => writes.push((op.key, op.value)),
            OpKind::Read | OpKind::Write => {}
            _ => {
                let why = "has operations other than reads and writes of registers";
                return Err(Unsupported::Txn { txn, why });
            }
        }
    }
    Ok(writes)
}

/// The reads of a transaction from others, one of each key.
fn external_reads(history: &History, txn: Txn) -> Result<Vec<(Key, Value)>, Unsupported> {
    let mut external: Vec<(Key, Value)> = Vec::new();
    for op in history.ops_of(txn).filter(|op| op.kind == OpKind::Read) {
        if !op.consistent {
            let why = "contradicts its own earlier reads and writes of a key";
            return Err(Unsupported::Txn { txn, why });
        }
        if op.external && external.iter().all(|&(key, _)| key != op.key) {
            external.push((op.key, op.value));
        }
    }
    Ok(external)
}

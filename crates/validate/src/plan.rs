//! What a prediction demands: which transactions run, in which order, and the accesses of each one.
//!
//! Values of a predicted history identify writers, so the writer of each read follows from the history alone.
//!
//! Full transactions run in the serial order of the run: each reads what it read then. Boundary transactions follow, in the
//! order of the witness of the level. Nobody reads from them, so whatever they write is missing nowhere. At every level, what
//! has run is then a part of the predicted history that is closed under session order and reads-from. A level that holds for a
//! history holds for such a part, so no predicted choice is illegal unless a transaction does something that was not predicted.

use std::collections::BTreeSet;

use isoscope_application::Call;
use isoscope_certificate::Verdict;
use isoscope_history::notation::ValueText;
use isoscope_history::{Datum, History, Key, Txn, Value};
use isoscope_predict::Prediction;
use isoscope_replay::{Source, Told};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::failure::Failure;
use crate::run::Run;

/// A transaction that was predicted.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) call: Call,
    /// External reads, in program order.
    pub(crate) reads: Vec<(String, Source)>,
    pub(crate) writes: BTreeSet<String>,
    /// Whether it was cut at its last read: what follows is not predicted.
    pub(crate) is_cut: bool,
}

/// The transactions of a prediction, in the order in which they run. `strict` says that boundary transactions are cut.
pub(crate) fn plan(prediction: &Prediction, run: &Run<'_>, strict: bool) -> Result<Vec<Planned>, Failure> {
    let history = &prediction.history;
    let calls: FxHashMap<Txn, (usize, Call)> =
        run.calls.iter().enumerate().map(|(place, &(txn, call))| (txn, (place, call))).collect();
    let boundary: FxHashSet<Txn> = prediction.boundary.iter().copied().collect();
    let witness = witness_places(prediction);
    let call_of = |txn: Txn| {
        let observed = prediction.txns.get(txn.index()).and_then(|observed| calls.get(observed));
        observed.copied().ok_or_else(|| Failure::Missing { txn: name(history, txn) })
    };
    let mut writers: FxHashMap<(Key, Value), Call> = FxHashMap::default();
    for txn in history.txns() {
        let (_, call) = call_of(txn)?;
        for op in history.ops_of(txn).filter(|op| op.last_write) {
            writers.insert((op.key, op.value), call);
        }
    }
    let mut planned = Vec::new();
    for txn in history.txns() {
        let (place, call) = call_of(txn)?;
        let is_boundary = boundary.contains(&prediction.txns[txn.index()]);
        let (mut reads, mut writes) = (Vec::new(), BTreeSet::new());
        for op in history.ops_of(txn) {
            let key = key_name(history, op.key);
            if op.kind.is_write() {
                writes.insert(key);
                continue;
            }
            let source = match writers.get(&(op.key, op.value)) {
                Some(&writer) => Source::Txn(writer),
                None if history.is_initial(op.key, op.value) => Source::Initial,
                None => return Err(Failure::Value { key }),
            };
            reads.push((key, source));
        }
        let place =
            if is_boundary { (true, witness.get(&txn).copied().unwrap_or(place)) } else { (false, place) };
        planned.push((place, Planned { call, reads, writes, is_cut: strict && is_boundary }));
    }
    planned.sort_by_key(|&(place, _)| place);
    Ok(planned.into_iter().map(|(_, planned)| planned).collect())
}

/// The policy that follows a plan.
pub(crate) fn told(plan: &[Planned]) -> Told {
    let mut told = Told::default();
    for planned in plan {
        planned.reads.iter().for_each(|(key, source)| told.tell(planned.call, key, *source));
    }
    told
}

/// The place of each transaction in the witness of the level.
fn witness_places(prediction: &Prediction) -> FxHashMap<Txn, usize> {
    match &prediction.holds.verdict {
        Verdict::Holds(witness) => witness
            .order
            .iter()
            .flat_map(|order| order.iter())
            .enumerate()
            .map(|(place, &txn)| (txn, place))
            .collect(),
        Verdict::Violated(_) | Verdict::Unknown(_) => FxHashMap::default(),
    }
}

fn key_name(history: &History, key: Key) -> String {
    let name = history.key_name(key);
    match history.datum(name) {
        Datum::Text(text) => text.to_owned(),
        _ => ValueText(history, name).to_string(),
    }
}

fn name(history: &History, txn: Txn) -> String {
    let session = history.session_of(txn);
    let number = txn.0 - history.txn_range(session).start;
    format!("{number} of session {}", ValueText(history, history.session_name(session)))
}

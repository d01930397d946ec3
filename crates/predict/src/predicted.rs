//! A candidate as a history.
//!
//! Values identify writers: where two included transactions wrote the same value to a key, or wrote its initial value, the values of
//! the predicted history have the name of the writer behind them. Only external reads and last writes are in it: the others change
//! nothing. Reads of keys that nobody writes stay.

use isoscope_history::notation::ValueText;
use isoscope_history::{
    Datum, Draft, DraftTxn, History, Key, Op, OpKind, OpView, Outcome, Remap, Session, Txn, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::candidate::{Boundary, Candidate};
use crate::executions::key_text;
use crate::observed::is_external_read;
use crate::problem::{Cut, INITIAL, Problem};

/// A predicted history, and what its transactions and operations are in the observed one.
pub(crate) struct Predicted {
    pub(crate) history: History,
    /// For each transaction of the predicted history, its number.
    pub(crate) numbers: Vec<u32>,
    /// For each operation of the predicted history, the observed operation.
    pub(crate) ops: Vec<Op>,
}

/// What boundary transactions write on the values that they read, by number and name of the key.
pub(crate) type Written = FxHashMap<u32, Vec<(String, String)>>;

/// Writes a candidate as a history.
pub(crate) fn predicted(problem: &Problem<'_>, candidate: &Candidate) -> Predicted {
    predicted_with(problem, candidate, &Written::default())
}

/// Writes a candidate as a history in which some contents are known.
pub(crate) fn predicted_with(problem: &Problem<'_>, candidate: &Candidate, written: &Written) -> Predicted {
    let observed = problem.observed.history;
    let mut writing = Writing::new(problem, candidate, written);
    let (mut numbers, mut ops) = (Vec::new(), Vec::new());
    for (session, txns) in (0..).zip(&problem.sessions) {
        let mut place = None;
        let full = txns.iter().copied().filter(|&number| candidate.is_full(problem, number));
        let boundary = candidate.boundary.iter().map(|boundary| boundary.txn);
        let boundary = boundary.filter(|&number| problem.txn(number).session == session);
        for number in full.chain(boundary) {
            let boundary = candidate.boundary_of(number);
            numbers.push(number);
            let txn = writing.begin(number, &mut place);
            for op in included(problem, number, boundary) {
                let value = if op.kind.is_write() {
                    writing.written(op.key, number, op.value)
                } else {
                    writing.read(op.key, source(problem, &op, number, boundary))
                };
                let kind = if op.kind.is_write() { OpKind::Write } else { OpKind::Read };
                let at = observed.op_position(op.id).map(|position| position.0);
                let key = writing.names.apply(observed.key_name(op.key));
                writing.draft.push(txn, kind, key, value, at);
                ops.push(op.id);
            }
        }
    }
    let history = writing.draft.finish().expect("a part of a history fits the model");
    Predicted { history, numbers, ops }
}

/// The operations of an included transaction.
fn included(problem: &Problem<'_>, number: u32, boundary: Option<&Boundary>) -> Vec<OpView> {
    let txn = problem.txn(number);
    let cut = boundary.filter(|_| problem.strict).and_then(|boundary| boundary.sources.len().checked_sub(1));
    let last = cut.map(|cut| txn.reads[cut].at as usize);
    let ops = problem.observed.history.ops_of(txn.txn).enumerate();
    let ops = ops.take_while(|&(at, _)| last.is_none_or(|last| at <= last)).map(|(_, op)| op);
    if last.is_none() || problem.cut == Cut::Final {
        return ops.filter(|op| is_external_read(op) || op.last_write).collect();
    }
    // The last write of a key before the cut, whether or not others were to follow.
    let mut written = FxHashSet::default();
    let mut kept: Vec<OpView> = ops.collect();
    kept.reverse();
    kept.retain(|op| is_external_read(op) || (op.kind.is_write() && written.insert(op.key)));
    kept.reverse();
    kept
}

/// The number of the writer that an included read is from.
fn source(problem: &Problem<'_>, op: &OpView, number: u32, boundary: Option<&Boundary>) -> u32 {
    let observed = problem.observed.sources[&op.id];
    let (Some(boundary), Some(key)) = (boundary, problem.class(op)) else { return observed };
    let txn = problem.txn(number);
    let at = (op.id.0 as usize - problem.observed.history.op_range(txn.txn).start) as u32;
    let is_it = |read: &crate::problem::Read| read.key == key && (problem.reads_once || read.at == at);
    let read = txn.reads.iter().position(is_it);
    read.and_then(|read| boundary.sources.get(read)).copied().unwrap_or(observed)
}

/// A predicted history under construction.
struct Writing<'p> {
    problem: &'p Problem<'p>,
    draft: Draft,
    names: Remap,
    /// By key and value of the draft, how many included transactions wrote it, and one more if it is the initial value.
    shared: FxHashMap<(Key, Value), u32>,
    /// What a transaction writes instead of what is recorded, as a value of the draft.
    instead: FxHashMap<(u32, Key), Value>,
}

impl<'p> Writing<'p> {
    fn new(problem: &'p Problem<'p>, candidate: &Candidate, written: &Written) -> Writing<'p> {
        let history = problem.observed.history;
        let mut draft = Draft::new();
        let names = draft.values.absorb(history.table());
        draft.sources = history.sources().clone();
        draft.set_initial(names.apply(history.default_initial()));
        let mut shared = FxHashMap::default();
        for key in history.keys() {
            if history.initial(key) != history.default_initial() {
                draft.set_initial_of(names.apply(history.key_name(key)), names.apply(history.initial(key)));
            }
            shared.insert((key, names.apply(history.initial(key))), 1);
        }
        let mut instead = FxHashMap::default();
        for number in 0..problem.len() as u32 {
            let boundary = candidate.boundary_of(number);
            if boundary.is_some() || candidate.is_full(problem, number) {
                for op in included(problem, number, boundary).iter().filter(|op| op.kind.is_write()) {
                    let known = written.get(&number).filter(|known| !known.is_empty());
                    let known = known.and_then(|known| {
                        let name = key_text(history, op);
                        known.iter().find(|(key, _)| *key == name).map(|(_, content)| content)
                    });
                    let value = match known {
                        Some(content) => {
                            let value = draft.values.add(datum(content));
                            instead.insert((number, op.key), value);
                            value
                        }
                        None => names.apply(op.value),
                    };
                    *shared.entry((op.key, value)).or_default() += 1;
                }
            }
        }
        Writing { problem, draft, names, shared, instead }
    }

    /// Begins a transaction, and its session if it is the first. Sessions of one name stay apart.
    fn begin(&mut self, number: u32, place: &mut Option<Session>) -> DraftTxn {
        let history = self.problem.observed.history;
        let txn: Txn = self.problem.txn(number).txn;
        let session = self.problem.observed.session_of(number as usize);
        let name = self.names.apply(history.session_name(session));
        let session = *place.get_or_insert_with(|| self.draft.new_session(name));
        let position = history.txn_position(txn).map(|position| position.0);
        self.draft.txn(session, self.names.apply(history.txn_name(txn)), Outcome::Committed, position)
    }

    /// The value that a read has from its source: a full transaction, or the initial state.
    fn read(&mut self, key: Key, source: u32) -> Value {
        let history = self.problem.observed.history;
        if source == INITIAL {
            return self.names.apply(history.initial(key));
        }
        let txn = self.problem.txn(source).txn;
        let write = history.ops_of(txn).find(|op| op.key == key && op.last_write);
        self.written(key, source, write.expect("a source writes the key").value)
    }

    /// The value that a transaction writes to a key, of which one is recorded.
    fn written(&mut self, key: Key, writer: u32, recorded: Value) -> Value {
        let history = self.problem.observed.history;
        let known = self.instead.get(&(writer, key)).copied();
        let value = known.unwrap_or_else(|| self.names.apply(recorded));
        let is_shared = self.shared.get(&(key, value)).is_some_and(|&count| count > 1);
        if !is_shared && (known.is_some() || recorded != Value::UNKNOWN) {
            return value;
        }
        let session = self.problem.observed.session_of(writer as usize);
        let place = self.problem.txn(writer).place;
        let content = known.map_or_else(
            || ValueText(history, recorded).to_string(),
            |value| match self.draft.values.datum(value) {
                Datum::Int(n) => n.to_string(),
                Datum::Text(text) => text.to_owned(),
                other => format!("{other:?}"),
            },
        );
        let name = format!("{content} of {}/{place}", ValueText(history, history.session_name(session)));
        self.draft.values.add(Datum::Text(&name))
    }
}

/// A content as a value: a number if it is one.
fn datum(content: &str) -> Datum<'_> {
    content.parse().map_or(Datum::Text(content), Datum::Int)
}

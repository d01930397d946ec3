//! The predicted transactions, run again by their programs on the versions that the prediction gives them.
//!
//! Transactions run in the order of their predicted commits. This order contains session order and reads-from, so the versions that
//! a transaction reads are there. The full ones run in the store and leave versions; boundary ones, which nobody reads from, run beside it.

use std::collections::VecDeque;

use isoscope_application::Call;
use isoscope_history::notation::ValueText;
use isoscope_history::{Datum, History, Key, Txn, Value};
use isoscope_levels::Level;
use isoscope_predict::{Action, Prediction, Step};
use isoscope_replay::{End, Source, Store, Told};
use isoscope_validate::Run;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::tape::{Sent, Spy};
use crate::trouble::Trouble;

/// A predicted transaction with its statements.
pub(crate) struct Part {
    /// What it is called in the script.
    pub(crate) name: String,
    /// Its session in the predicted history.
    pub(crate) session: u32,
    pub(crate) statements: Vec<Sent>,
}

/// The predicted transactions, by their numbers in the predicted history.
pub(crate) fn rerun(
    prediction: &Prediction,
    interleaving: &[Step],
    run: &Run<'_>,
) -> Result<Vec<Part>, Trouble> {
    let history = &prediction.history;
    let spy = Spy::new(run.application);
    let mut store = Store::new(&spy, Level::ReadCommitted, run.seed)?;
    let known: FxHashMap<Txn, Call> = run.calls.iter().copied().collect();
    let call = |(txn, observed): (Txn, &Txn)| {
        let name = || ValueText(history, history.txn_name(txn)).to_string();
        known.get(observed).copied().ok_or_else(|| Trouble::UnknownTransaction(name()))
    };
    let calls = history.txns().zip(&prediction.txns).map(call).collect::<Result<Vec<Call>, Trouble>>()?;
    let boundary: FxHashSet<Txn> = prediction.boundary.iter().copied().collect();
    let sources = sources(history, &calls);
    let mut parts: Vec<Option<Part>> = calls.iter().map(|_| None).collect();
    let commits = interleaving.iter().filter(|step| step.action == Action::Commit);
    for Step { txn, .. } in commits {
        let call = calls[txn.index()];
        let reads = sources.iter().filter(|(reader, ..)| reader == txn);
        let _ = spy.take();
        let ran = if boundary.contains(&prediction.txns[txn.index()]) {
            let mut told: FxHashMap<&str, VecDeque<Source>> = FxHashMap::default();
            for (_, key, source) in reads {
                told.entry(key).or_default().push_back(*source);
            }
            // A key that the prediction does not mention has only its initial version.
            store.rerun(call, &mut |key| {
                let known = told.get_mut(key).and_then(|sources| {
                    if sources.len() > 1 { sources.pop_front() } else { sources.front().copied() }
                });
                known.unwrap_or(Source::Initial)
            })?
        } else {
            let mut told = Told::default();
            reads.for_each(|(_, key, source)| told.tell(call, key, *source));
            store.run(call, &mut told)?.clone()
        };
        let name = title(history, *txn, ran.program);
        if ran.end != End::Committed {
            return Err(Trouble::NoCommit { txn: name, end: ran.end });
        }
        let tape = spy.take();
        let statements = tape.iter().map(|taped| Sent::new(&taped.asked, &taped.answer));
        let statements = statements.collect::<Result<Vec<Sent>, String>>();
        let failed = |message: String| Trouble::NoCommit { txn: name.clone(), end: End::Failed(message) };
        let statements = statements.map_err(failed)?;
        parts[txn.index()] = Some(Part { name, session: history.session_of(*txn).0, statements });
    }
    parts.into_iter().collect::<Option<Vec<Part>>>().ok_or(Trouble::NoInterleaving)
}

/// The reads of a predicted history, each with its reader, the name of its key and its source.
fn sources(history: &History, calls: &[Call]) -> Vec<(Txn, String, Source)> {
    let mut writers: FxHashMap<(Key, Value), Txn> = FxHashMap::default();
    for txn in history.txns() {
        let written = history.ops_of(txn).filter(|op| op.kind.is_write());
        writers.extend(written.map(|op| ((op.key, op.value), txn)));
    }
    let mut sources = Vec::new();
    for txn in history.txns() {
        for op in history.ops_of(txn).filter(|op| op.kind.is_read()) {
            let writer = writers.get(&(op.key, op.value)).filter(|&&writer| writer != txn);
            let source = writer.map_or(Source::Initial, |writer| Source::Txn(calls[writer.index()]));
            sources.push((txn, key_text(history, op.key), source));
        }
    }
    sources
}

/// The name of a key as text.
fn key_text(history: &History, key: Key) -> String {
    match history.datum(history.key_name(key)) {
        Datum::Text(text) => text.to_owned(),
        _ => ValueText(history, history.key_name(key)).to_string(),
    }
}

/// What a transaction is called in messages and scripts: its program and its name.
fn title(history: &History, txn: Txn, program: &str) -> String {
    let name = ValueText(history, history.txn_name(txn)).to_string();
    let is_plain = |c: char| c.is_alphanumeric() || c == '_';
    let name: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    format!("{program}{}", name.trim_matches('_'))
}

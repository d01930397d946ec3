//! The history of the answers that came.
//!
//! The transaction `End` read the final state. It follows every other transaction, because each of them writes a key of its own that `End`
//! reads.

use std::collections::BTreeMap;

use isoscope_history::{Builder, Datum, History, TxnBuilder};
use isoscope_record::{Answer, Scalar, Seen, Step};

use crate::tape::Sent;
use crate::text::{END, Reproduction};

/// The history of a run in which all transactions committed. `answers` are those of the steps of the script. Fails with a sentence if an
/// answer is missing, or is none that the recorder would accept.
pub(crate) fn history(
    reproduction: &Reproduction,
    answers: &BTreeMap<usize, Answer>,
) -> Result<History, String> {
    let mut came: BTreeMap<(usize, usize), &Answer> = BTreeMap::new();
    for (step, statement) in reproduction.statements.iter().enumerate() {
        if let Some(statement) = statement {
            let answer = answers.get(&step).ok_or_else(|| format!("step {} has no answer", step + 1))?;
            came.insert(*statement, answer);
        }
    }
    let mut builder = Builder::new();
    builder.initial(None);
    for (key, value) in &reproduction.initial {
        builder.initial_of(key.as_str(), datum(value));
    }
    for &txn in &reproduction.shown {
        let part = &reproduction.parts[txn];
        let mut built = builder.session(part.session).named(part.name.as_str());
        for (place, sent) in part.statements.iter().enumerate() {
            let answer = came.get(&(txn, place)).copied().unwrap_or(&sent.answer);
            for (step, seen) in Sent::new(&sent.asked, answer)?.steps {
                built = push(built, &step, &seen);
            }
        }
        built.write(committed(&part.name).as_str(), 1);
    }
    let session = reproduction.parts.iter().map(|part| part.session + 1).max().unwrap_or(0);
    let mut end = builder.session(session).named(END);
    for &txn in &reproduction.shown {
        end = end.read(committed(&reproduction.parts[txn].name).as_str(), 1);
    }
    for (step, asked) in &reproduction.end {
        let answer = answers.get(step).ok_or_else(|| format!("step {} has no answer", step + 1))?;
        for (step, seen) in Sent::new(asked, answer)?.steps {
            end = push(end, &step, &seen);
        }
    }
    let history = builder.finish();
    let expanded = history.expand_ranges().map_err(|_| "the ranges have too many keys".to_owned())?;
    Ok(expanded.unwrap_or(history))
}

/// The key that a transaction writes and `End` reads.
fn committed(name: &str) -> String {
    format!("committed/{name}")
}

fn push<'b>(txn: TxnBuilder<'b>, step: &Step, seen: &Seen) -> TxnBuilder<'b> {
    match (step, seen) {
        (Step::Read(key), Seen::Value(Some(value))) => txn.read(datum(key), *value),
        (Step::Read(key), Seen::Value(None)) => txn.read(datum(key), None),
        (Step::Read(key), Seen::Scalar(value)) => txn.read(datum(key), datum(value)),
        (Step::Write(key, value), _) => txn.write(datum(key), *value),
        (Step::Set(key, value), _) => txn.write(datum(key), datum(value)),
        (Step::Insert(key, value), _) => txn.insert(datum(key), *value),
        (Step::Delete(key), _) => txn.delete(datum(key)),
        (Step::Range(low, high), Seen::Rows(rows)) => {
            let rows = rows.iter().map(|(key, value)| (datum(key), *value));
            txn.range(datum(low), datum(high), rows)
        }
        // Applications have no lists, and every read was answered.
        _ => txn,
    }
}

fn datum(scalar: &Scalar) -> Datum<'_> {
    match scalar {
        Scalar::Null => Datum::Nil,
        Scalar::Bool(yes) => Datum::Bool(*yes),
        Scalar::Int(n) => Datum::Int(*n),
        Scalar::Float(_) => Datum::Unknown,
        Scalar::Text(text) => Datum::Text(text),
    }
}

//! Operations, micro-operations and values as EDN, in the form Jepsen uses.
//!
//! A transaction is written as the map of its completion: `:index`, `:time`, `:type`, `:process`, `:f` and
//! `:value`, as far as the input has them. `:txn` is an addition of isoscope: the name of the transaction, if
//! it is not the index.

use isoscope_history::{Datum, History, NO_TIME, Op, OpKind, OpView, Outcome, Txn, Value};

/// The completion of a transaction.
pub(super) fn completion(history: &History, txn: Txn) -> String {
    let kind = match history.outcome(txn) {
        Outcome::Committed => ":ok",
        Outcome::Aborted => ":fail",
        Outcome::Unknown => ":info",
    };
    let index = history.completion_name(txn).unwrap_or(history.txn_name(txn));
    let mops = join(history.ops_of(txn).map(|op| mop(history, op)));
    map(history, txn, index, history.times().map(|times| times.end[txn.index()]), kind, &mops)
}

/// The invocation of a transaction, in which reads have no value yet.
pub(super) fn invocation(history: &History, txn: Txn) -> String {
    let mops = history.ops_of(txn).map(|op| match op.kind {
        OpKind::Read | OpKind::ReadList => format!("[:r {} nil]", value(history, history.key_name(op.key))),
        OpKind::RangeRead => format!("[:rp {} nil]", predicate(history, op.id)),
        _ => mop(history, op),
    });
    let time = history.times().map(|times| times.start[txn.index()]);
    map(history, txn, history.txn_name(txn), time, ":invoke", &join(mops))
}

fn map(history: &History, txn: Txn, index: Value, time: Option<i64>, kind: &str, mops: &str) -> String {
    let mut fields = Vec::new();
    let is_number = matches!(history.datum(index), Datum::Int(_) | Datum::Nat(_));
    if is_number {
        fields.push(format!(":index {}", value(history, index)));
    }
    if let Some(time) = time.filter(|&time| time != NO_TIME) {
        fields.push(format!(":time {time}"));
    }
    fields.push(format!(":type {kind}"));
    fields.push(format!(":process {}", value(history, history.session_name(history.session_of(txn)))));
    fields.push(format!(":f {}", function(history, txn)));
    fields.push(format!(":value [{mops}]"));
    let name = history.txn_name(txn);
    if !is_number || name != index {
        fields.push(format!(":txn {}", value(history, name)));
    }
    format!("{{{}}}", fields.join(", "))
}

/// The `:f`. Readers keep one that is not `:txn` as a note, spelt as in the input.
fn function(history: &History, txn: Txn) -> &str {
    let notes = history.annotations();
    let first = notes.partition_point(|note| note.txn < txn);
    let mut own = notes[first..].iter().take_while(|note| note.txn == txn);
    let function = own.find(|note| history.datum(note.name) == Datum::Text("f"));
    match function.map(|note| history.datum(note.value)) {
        Some(Datum::Text(text)) => text,
        _ => ":txn",
    }
}

/// A micro-operation.
pub(super) fn mop(history: &History, op: OpView) -> String {
    let key = value(history, history.key_name(op.key));
    let function = match op.kind {
        OpKind::Read | OpKind::ReadList => ":r",
        OpKind::Write => ":w",
        OpKind::Append => ":append",
        OpKind::Insert => ":insert",
        OpKind::Delete => return format!("[:delete {key}]"),
        OpKind::RangeRead => {
            let rows = history.range(op.id).map_or(&[][..], |row| &row.live);
            let rows = rows.iter().map(|&(key, found)| {
                let (key, found) = (value(history, key), value(history, found));
                format!("{key} {found}")
            });
            let rows: Vec<String> = rows.collect();
            return format!("[:rp {} {{{}}}]", predicate(history, op.id), rows.join(", "));
        }
    };
    format!("[{function} {key} {}]", value(history, op.value))
}

/// The range of a range read. `:true` means every key.
fn predicate(history: &History, op: Op) -> String {
    let Some(row) = history.range(op) else { return ":true".to_owned() };
    if history.keys().all(|key| row.covers(history.table(), history.key_name(key))) {
        return ":true".to_owned();
    }
    format!("[:range {} {}]", value(history, row.low), value(history, row.high))
}

/// The index of an operation in its transaction.
pub(super) fn mop_index(history: &History, op: Op) -> usize {
    op.index() - history.op_range(history.txn_of(op)).start
}

/// A value or a name.
pub(super) fn value(history: &History, value: Value) -> String {
    match history.datum(value) {
        Datum::Nil | Datum::Unknown => "nil".to_owned(),
        Datum::Bool(b) => b.to_string(),
        Datum::Int(n) => n.to_string(),
        Datum::Nat(n) => format!("{n}N"),
        Datum::Float(x) if x.is_nan() => "##NaN".to_owned(),
        Datum::Float(x) if x.is_infinite() => if x > 0.0 { "##Inf" } else { "##-Inf" }.to_owned(),
        Datum::Float(x) => format!("{x:?}"),
        Datum::Text(string) => text(string),
        Datum::Keyword(name) => isoscope_formats::edn_keyword(name).unwrap_or_else(|| text(name)),
        Datum::List(elements) => list(history, elements),
    }
}

/// A list of values.
pub(super) fn list(history: &History, elements: &[Value]) -> String {
    format!("[{}]", join(elements.iter().map(|&element| value(history, element))))
}

/// A string.
pub(super) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

pub(super) fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" ")
}

//! Writes the native format, session by session and line by line.

use std::io::Write;

use isoscope_history::{
    Datum, History, Intervals, Key, NO_EVENT, NO_TIME, OpKind, OpView, Outcome, Txn, Value,
};

use crate::spell;
use crate::{Losses, WriteError};

/// Writes a history. Nothing is lost.
pub(crate) fn write(history: &History, out: &mut dyn Write) -> Result<Losses, WriteError> {
    let is_list = |value| matches!(history.datum(value), Datum::List(_));
    if history.keys().any(|key| is_list(history.key_name(key))) {
        return Err(WriteError::Inexpressible { format: "native", what: "keys that are lists" });
    }
    if has_lists_of_lists(history) {
        return Err(WriteError::Inexpressible { format: "native", what: "lists inside of lists" });
    }
    let by_place = needs_session_list(history);
    let mut line = Vec::with_capacity(1 << 12);
    push_header(&mut line, history, by_place);
    out.write_all(&line)?;
    for session in history.sessions() {
        for txn in history.txns_of(session) {
            line.clear();
            line.extend_from_slice(b"{\"session\":");
            if by_place {
                spell::push_nat(&mut line, u64::from(session.0));
            } else {
                push_value(&mut line, history, history.session_name(session));
            }
            push_txn(&mut line, history, txn);
            line.extend_from_slice(b"}\n");
            out.write_all(&line)?;
        }
    }
    Ok(Losses::default())
}

/// Whether a list that an operation uses, or an initial one, has an element that is a list.
fn has_lists_of_lists(history: &History) -> bool {
    let is_list = |value: Value| matches!(history.datum(value), Datum::List(_));
    let is_nested = |value: Value| history.table().elements(value).iter().any(|&element| is_list(element));
    let op_is_nested = |op: OpView| {
        let rows = history.range(op.id).into_iter().flat_map(|row| row.live.iter().chain(&row.dead));
        let is_element = matches!(op.kind, OpKind::Append | OpKind::Delete);
        is_nested(op.value) || is_element && is_list(op.value) || rows.into_iter().any(|row| is_nested(row.1))
    };
    is_nested(history.default_initial())
        || history.keys().any(|key| is_nested(history.initial(key)))
        || history.txns().flat_map(|txn| history.ops_of(txn)).any(op_is_nested)
}

/// Whether the names alone would not restore all sessions.
fn needs_session_list(history: &History) -> bool {
    let mut names: Vec<Value> = history.sessions().map(|s| history.session_name(s)).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
        || names.iter().any(|&name| matches!(history.datum(name), Datum::List(_)))
        || history.sessions().any(|session| history.txn_range(session).is_empty())
}

fn push_header(line: &mut Vec<u8>, history: &History, by_place: bool) {
    line.extend_from_slice(b"{\"isoscope\":\"history\",\"version\":1,\"initial\":");
    push_value(line, history, history.default_initial());
    // Keys without operations are listed too; otherwise they would be lost.
    let mut touched = vec![false; history.key_count()];
    for op in history.txns().flat_map(|txn| history.ops_of(txn)) {
        touched[op.key.index()] = true;
    }
    let special = |key: &Key| !touched[key.index()] || history.initial(*key) != history.default_initial();
    let initials = history.keys().filter(special);
    let rows = initials.map(|key| (history.key_name(key), history.initial(key)));
    push_list(line, ",\"initials\":[", rows, |line, row| push_row(line, history, row));
    if by_place {
        line.extend_from_slice(b",\"sessions\":[");
        for (i, session) in history.sessions().enumerate() {
            separate(line, i);
            push_value(line, history, history.session_name(session));
        }
        line.push(b']');
    }
    line.extend_from_slice(b"}\n");
}

/// Writes the fields after the session.
fn push_txn(line: &mut Vec<u8>, history: &History, txn: Txn) {
    line.extend_from_slice(b",\"txn\":");
    push_value(line, history, history.txn_name(txn));
    if history.outcome(txn) != Outcome::Committed {
        line.extend_from_slice(b",\"outcome\":");
        spell::push_text(line, history.outcome(txn).name());
    }
    line.extend_from_slice(b",\"ops\":[");
    for (i, op) in history.ops_of(txn).enumerate() {
        separate(line, i);
        push_op(line, history, op);
    }
    line.push(b']');
    let events = |n: u32| (n != NO_EVENT).then_some(i64::from(n));
    let times = |n: i64| (n != NO_TIME).then_some(n);
    push_interval(line, "events", history.events(), txn, events);
    push_interval(line, "times", history.times(), txn, times);
    push_interval(line, "timestamps", history.timestamps(), txn, times);
    push_notes(line, history, txn);
}

fn push_op(line: &mut Vec<u8>, history: &History, op: OpView) {
    let list = matches!(history.datum(op.value), Datum::List(_));
    let word = match op.kind {
        OpKind::Read if !list => "[\"r\",",
        OpKind::ReadList if list => "[\"r\",",
        OpKind::Read => "[\"read\",",
        OpKind::ReadList => "[\"read-list\",",
        OpKind::Write => "[\"w\",",
        OpKind::Append => "[\"append\",",
        OpKind::Insert => "[\"insert\",",
        OpKind::Delete => "[\"delete\",",
        OpKind::RangeRead => "[\"range\",",
    };
    line.extend_from_slice(word.as_bytes());
    push_value(line, history, history.key_name(op.key));
    if let Some(row) = history.range(op.id) {
        line.push(b',');
        push_value(line, history, row.high);
        line.extend_from_slice(b",[");
        for (i, &found) in row.live.iter().enumerate() {
            separate(line, i);
            push_row(line, history, found);
        }
        line.push(b']');
        push_list(line, ",[", row.dead.iter().copied(), |line, row| push_row(line, history, row));
    } else if op.kind != OpKind::Delete || op.value != Value::NIL {
        line.push(b',');
        push_value(line, history, op.value);
    }
    line.push(b']');
}

fn push_row(line: &mut Vec<u8>, history: &History, (key, value): (Value, Value)) {
    line.push(b'[');
    push_value(line, history, key);
    line.push(b',');
    push_value(line, history, value);
    line.push(b']');
}

/// Writes a list after `open`, unless it is empty.
fn push_list<T>(
    line: &mut Vec<u8>,
    open: &str,
    items: impl Iterator<Item = T>,
    mut push: impl FnMut(&mut Vec<u8>, T),
) {
    let mut any = false;
    for (i, item) in items.enumerate() {
        line.extend_from_slice(if i == 0 { open.as_bytes() } else { b"," });
        push(line, item);
        any = true;
    }
    if any {
        line.push(b']');
    }
}

fn push_interval<T: Copy>(
    line: &mut Vec<u8>,
    name: &str,
    column: Option<&Intervals<T>>,
    txn: Txn,
    number: impl Fn(T) -> Option<i64>,
) {
    let Some(column) = column else { return };
    line.extend_from_slice(b",\"");
    line.extend_from_slice(name.as_bytes());
    line.extend_from_slice(b"\":[");
    for (i, n) in [column.start[txn.index()], column.end[txn.index()]].into_iter().enumerate() {
        separate(line, i);
        match number(n) {
            Some(n) => spell::push_int(line, n),
            None => line.extend_from_slice(b"null"),
        }
    }
    line.push(b']');
}

/// Writes annotations, as an object if their names allow it.
fn push_notes(line: &mut Vec<u8>, history: &History, txn: Txn) {
    let notes = history.annotations_of(txn);
    let is_text = |name| matches!(history.datum(name), Datum::Text(_));
    let is_new = |i: usize| notes[..i].iter().all(|earlier| earlier.name != notes[i].name);
    // The search for repeated names is quadratic, so only a few annotations are written as an object.
    let object = notes.len() <= 64 && (0..notes.len()).all(|i| is_text(notes[i].name) && is_new(i));
    if notes.is_empty() {
        return;
    }
    line.extend_from_slice(if object { b",\"notes\":{" } else { b",\"notes\":[" });
    for (i, note) in notes.iter().enumerate() {
        separate(line, i);
        if object {
            push_value(line, history, note.name);
            line.push(b':');
            push_value(line, history, note.value);
        } else {
            push_row(line, history, (note.name, note.value));
        }
    }
    line.push(if object { b'}' } else { b']' });
}

fn separate(line: &mut Vec<u8>, i: usize) {
    if i > 0 {
        line.push(b',');
    }
}

/// Writes a value. Nested lists are kept on a stack, which a list of scalars does not need.
fn push_value(line: &mut Vec<u8>, history: &History, value: Value) {
    let Datum::List(elements) = history.datum(value) else { return push_scalar(line, history, value) };
    let mut outer = Vec::new();
    let mut inner = elements.iter();
    let mut first = true;
    line.push(b'[');
    loop {
        if let Some(&element) = inner.next() {
            separate(line, usize::from(!first));
            first = false;
            if let Datum::List(elements) = history.datum(element) {
                line.push(b'[');
                outer.push(std::mem::replace(&mut inner, elements.iter()));
                first = true;
            } else {
                push_scalar(line, history, element);
            }
        } else {
            line.push(b']');
            first = false;
            let Some(rest) = outer.pop() else { return };
            inner = rest;
        }
    }
}

fn push_scalar(line: &mut Vec<u8>, history: &History, value: Value) {
    match history.datum(value) {
        Datum::Nil => line.extend_from_slice(b"null"),
        Datum::Unknown => line.extend_from_slice(b"{\"unknown\":true}"),
        Datum::Bool(b) => line.extend_from_slice(if b { b"true" } else { b"false" }),
        Datum::Int(n) => spell::push_int(line, n),
        Datum::Nat(n) => spell::push_nat(line, n),
        // Writing to memory cannot fail.
        Datum::Float(x) if x.is_finite() => drop(write!(line, "{x:?}")),
        Datum::Float(x) => drop(write!(line, "{{\"float\":\"{:016x}\"}}", x.to_bits())),
        Datum::Text(text) => spell::push_text(line, text),
        Datum::Keyword(name) => {
            line.extend_from_slice(b"{\"keyword\":");
            spell::push_text(line, name);
            line.push(b'}');
        }
        Datum::List(_) => debug_assert!(false, "a list is not a scalar"),
    }
}

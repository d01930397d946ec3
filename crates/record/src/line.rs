//! The lines of the native history format (`isoscope-formats`, `native.rs`), written directly as bytes.

use std::io::Write as _;

use isoscope_history::Outcome;

use crate::database::Stamps;
use crate::database::{Failure, Scalar};
use crate::record::{Seen, Step};

/// The header of a history.
#[derive(Clone, Debug)]
pub struct Header {
    /// The initial value of keys; `None` if they are absent.
    pub initial: Option<i64>,
    /// Keys with another initial value.
    pub initials: Vec<(Scalar, i64)>,
    /// A description of the workload, for people.
    pub workload: serde_json::Value,
    /// A description of the database, for people.
    pub recorder: serde_json::Value,
}

/// Appends the header's line. It announces that marks follow.
pub fn write_header(out: &mut Vec<u8>, header: &Header) {
    write_header_with(out, header, &[]);
}

/// Appends the header's line, with the keys whose initial value is not an integer.
pub(crate) fn write_header_with(out: &mut Vec<u8>, header: &Header, others: &[(Scalar, Scalar)]) {
    out.extend_from_slice(b"{\"isoscope\":\"history\",\"version\":1,\"marks\":true,\"initial\":");
    write_optional(out, header.initial);
    if !header.initials.is_empty() || !others.is_empty() {
        out.extend_from_slice(b",\"initials\":[");
        let ints = header.initials.iter().map(|(key, value)| (key, Scalar::Int(*value)));
        let others = others.iter().map(|(key, value)| (key, value.clone()));
        for (i, (key, value)) in ints.chain(others).enumerate() {
            separate(out, i);
            out.push(b'[');
            write_scalar(out, key);
            out.push(b',');
            write_scalar(out, &value);
            out.push(b']');
        }
        out.push(b']');
    }
    let _ = write!(out, ",\"workload\":{},\"recorder\":{}}}", header.workload, header.recorder);
    out.push(b'\n');
}

/// How far a history is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Every transaction invoked before this time, in nanoseconds of the recording, is above this line.
    Time(u64),
    /// Every transaction is above this line.
    End,
}

/// Appends a mark's line. A reader that does not know marks takes it for an empty transaction.
pub(crate) fn write_mark(out: &mut Vec<u8>, mark: Mark) {
    out.extend_from_slice(b"{\"session\":null,\"ops\":[],\"mark\":");
    // Writing to a vector cannot fail.
    let _ = match mark {
        Mark::Time(time) => write!(out, "{time}"),
        Mark::End => write!(out, "\"end\""),
    };
    out.extend_from_slice(b"}\n");
}

/// A transaction that ended.
pub(crate) struct Ended<'a> {
    pub(crate) session: &'a Scalar,
    pub(crate) name: &'a Scalar,
    pub(crate) outcome: Outcome,
    pub(crate) steps: &'a [(Step, Seen)],
    /// When it was invoked and returned, in nanoseconds since the recording began.
    pub(crate) times: (u64, u64),
    pub(crate) stamps: Stamps,
    pub(crate) failure: Option<&'a Failure>,
}

/// Appends a transaction's line. If the outcome is unknown, the line has no return time, because the transaction may still
/// take effect.
pub(crate) fn write_txn(out: &mut Vec<u8>, txn: &Ended<'_>) {
    out.extend_from_slice(b"{\"session\":");
    write_scalar(out, txn.session);
    out.extend_from_slice(b",\"txn\":");
    write_scalar(out, txn.name);
    if txn.outcome != Outcome::Committed {
        let _ = write!(out, ",\"outcome\":\"{}\"", txn.outcome.name());
    }
    out.extend_from_slice(b",\"ops\":[");
    for (i, (step, seen)) in txn.steps.iter().enumerate() {
        separate(out, i);
        write_step(out, step, seen);
    }
    let (invoked, returned) = txn.times;
    let _ = write!(out, "],\"times\":[{invoked},");
    write_optional(out, (txn.outcome != Outcome::Unknown).then_some(returned.cast_signed()));
    out.push(b']');
    if txn.stamps != Stamps::default() {
        out.extend_from_slice(b",\"timestamps\":[");
        write_optional(out, txn.stamps.begin);
        out.push(b',');
        write_optional(out, txn.stamps.commit);
        out.push(b']');
    }
    if let Some(failure) = txn.failure {
        let _ = write!(out, ",\"notes\":{{\"error\":\"{}\"", failure.class.name());
        if let Some(code) = &failure.code {
            out.extend_from_slice(b",\"code\":");
            write_text(out, code);
        }
        out.extend_from_slice(b",\"message\":");
        write_text(out, &failure.message);
        out.push(b'}');
    }
    out.extend_from_slice(b"}\n");
}

fn write_step(out: &mut Vec<u8>, step: &Step, seen: &Seen) {
    let (word, key) = match step {
        Step::Read(key) => ("[\"read\",", key),
        Step::Write(key, _) | Step::Set(key, _) => ("[\"w\",", key),
        Step::ReadList(key) => ("[\"read-list\",", key),
        Step::Append(key, _) => ("[\"append\",", key),
        Step::Insert(key, _) => ("[\"insert\",", key),
        Step::Delete(key) => ("[\"delete\",", key),
        Step::Range(low, _) => ("[\"range\",", low),
    };
    out.extend_from_slice(word.as_bytes());
    write_scalar(out, key);
    match (step, seen) {
        (Step::Write(_, value) | Step::Append(_, value) | Step::Insert(_, value), _) => {
            out.push(b',');
            write_int(out, *value);
        }
        (Step::Set(_, value), _) => {
            out.push(b',');
            write_scalar(out, value);
        }
        (Step::Delete(_), _) => {}
        (Step::Range(_, high), seen) => {
            out.push(b',');
            write_scalar(out, high);
            out.push(b',');
            write_seen(out, seen);
        }
        (Step::Read(_) | Step::ReadList(_), seen) => {
            out.push(b',');
            write_seen(out, seen);
        }
    }
    out.push(b']');
}

fn write_seen(out: &mut Vec<u8>, seen: &Seen) {
    match seen {
        Seen::Done | Seen::Missed => out.extend_from_slice(b"{\"unknown\":true}"),
        Seen::Value(value) => write_optional(out, *value),
        Seen::Scalar(value) => write_scalar(out, value),
        Seen::List(elements) => {
            out.push(b'[');
            for (i, element) in elements.iter().enumerate() {
                separate(out, i);
                write_int(out, *element);
            }
            out.push(b']');
        }
        Seen::Rows(rows) => write_rows(out, rows),
    }
}

fn write_rows(out: &mut Vec<u8>, rows: &[(Scalar, i64)]) {
    out.push(b'[');
    for (i, (key, value)) in rows.iter().enumerate() {
        separate(out, i);
        out.push(b'[');
        write_scalar(out, key);
        out.push(b',');
        write_int(out, *value);
        out.push(b']');
    }
    out.push(b']');
}

fn separate(out: &mut Vec<u8>, place: usize) {
    if place > 0 {
        out.push(b',');
    }
}

fn write_optional(out: &mut Vec<u8>, n: Option<i64>) {
    match n {
        Some(n) => write_int(out, n),
        None => out.extend_from_slice(b"null"),
    }
}

fn write_int(out: &mut Vec<u8>, n: i64) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{n}");
}

fn write_scalar(out: &mut Vec<u8>, scalar: &Scalar) {
    match scalar {
        Scalar::Int(n) => write_int(out, *n),
        Scalar::Text(text) => write_text(out, text),
        Scalar::Null => out.extend_from_slice(b"null"),
        Scalar::Bool(b) => out.extend_from_slice(if *b { b"true" } else { b"false" }),
        Scalar::Float(x) => write_text(out, &x.to_string()),
    }
}

/// Appends a text as a JSON string.
fn write_text(out: &mut Vec<u8>, text: &str) {
    // Serializing a string to a vector cannot fail.
    let _ = serde_json::to_writer(out, text);
}

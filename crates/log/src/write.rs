//! The writer: appends lines to a buffer that the caller owns and reuses.
//!
//! Session threads write lines while they record, so writing allocates nothing but the growth of that buffer. A line
//! contains exactly one `\n`, at its end.

use std::io::Write as _;
use std::time::Instant;

use isoscope_history::Outcome;

use crate::{Answer, Ending, Event, Failure, LOADER, LogHeader, Scalar, Stamps, VERSION, vendor_word};

/// The position of a statement in the recording.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The session's name, as in the history.
    pub session: &'a Scalar,
    /// The transaction's name, as in the history.
    pub txn: &'a Scalar,
    /// The position of the statement in its transaction, from 0.
    pub number: u32,
    /// When the recording began.
    pub epoch: Instant,
}

/// Writes the first line.
pub fn write_header(out: &mut Vec<u8>, header: &LogHeader) {
    out.extend_from_slice(b"{\"isoscope\":\"log\",\"version\":");
    display(out, VERSION);
    out.extend_from_slice(b",\"database\":");
    text(out, &header.database);
    out.extend_from_slice(b",\"vendor\":");
    text(out, vendor_word(header.vendor));
    out.extend_from_slice(b",\"isolation\":");
    text(out, &header.isolation);
    out.extend_from_slice(b",\"workload\":");
    text(out, &header.workload);
    if let Some(parameters) = &header.parameters {
        out.extend_from_slice(b",\"parameters\":");
        display(out, parameters);
    }
    if let Some(sessions) = header.sessions {
        out.extend_from_slice(b",\"sessions\":");
        display(out, sessions);
    }
    out.extend_from_slice(b",\"seed\":");
    or_null(out, header.seed);
    out.extend_from_slice(b",\"schema\":");
    list(out, &header.schema, |out, statement| text(out, statement));
    out.extend_from_slice(b"}\n");
}

/// Writes a statement that does not end its transaction.
pub fn write_event(out: &mut Vec<u8>, place: &Place<'_>, event: &Event) {
    line(out, place, event, None);
}

/// Writes the statement that ends its transaction: a commit, a rollback, or the one during which the connection was lost.
pub fn write_ending(out: &mut Vec<u8>, place: &Place<'_>, event: &Event, ending: Ending) {
    line(out, place, event, Some(ending));
}

/// Writes all statements of a transaction. The last one ended it.
pub fn write_txn(
    out: &mut Vec<u8>,
    session: &Scalar,
    txn: &Scalar,
    epoch: Instant,
    events: &[Event],
    ending: Ending,
) {
    for (number, event) in (0..).zip(events) {
        let is_last = number as usize + 1 == events.len();
        line(out, &Place { session, txn, number, epoch }, event, is_last.then_some(ending));
    }
}

/// Writes the statements that loaded a workload, as the only transaction of the loader. The last one is its commit.
pub fn write_load(out: &mut Vec<u8>, epoch: Instant, events: &[Event]) {
    let committed = Ending { outcome: Outcome::Committed, stamps: Stamps::default() };
    write_txn(out, &Scalar::from(LOADER), &Scalar::from("load"), epoch, events, committed);
}

fn line(out: &mut Vec<u8>, place: &Place<'_>, event: &Event, ending: Option<Ending>) {
    out.extend_from_slice(b"{\"session\":");
    scalar(out, place.session);
    out.extend_from_slice(b",\"txn\":");
    scalar(out, place.txn);
    out.extend_from_slice(b",\"number\":");
    display(out, place.number);
    out.extend_from_slice(b",\"sql\":");
    text(out, &event.sql);
    if !event.params.is_empty() {
        out.extend_from_slice(b",\"params\":");
        list(out, &event.params, scalar);
    }
    match &event.answer {
        Ok(Answer::Rows(rows)) => {
            out.extend_from_slice(b",\"rows\":");
            list(out, rows, |out, row| list(out, row, scalar));
        }
        Ok(Answer::Count(count)) => {
            out.extend_from_slice(b",\"count\":");
            display(out, count);
        }
        Err(failure) => error(out, failure),
    }
    out.extend_from_slice(b",\"times\":");
    let since = |moment: Instant| moment.saturating_duration_since(place.epoch).as_nanos() as u64;
    list(out, &[since(event.sent), since(event.answered)], |out, nanoseconds| display(out, nanoseconds));
    if let Some(Ending { outcome, stamps }) = ending {
        out.extend_from_slice(b",\"outcome\":");
        text(out, outcome.name());
        if stamps != Stamps::default() {
            out.extend_from_slice(b",\"timestamps\":");
            list(out, &[stamps.begin, stamps.commit], |out, stamp| or_null(out, *stamp));
        }
    }
    out.extend_from_slice(b"}\n");
}

fn error(out: &mut Vec<u8>, failure: &Failure) {
    out.extend_from_slice(b",\"error\":{\"class\":");
    text(out, failure.class.name());
    if let Some(code) = &failure.code {
        out.extend_from_slice(b",\"code\":");
        text(out, code);
    }
    out.extend_from_slice(b",\"message\":");
    text(out, &failure.message);
    out.push(b'}');
}

fn scalar(out: &mut Vec<u8>, scalar: &Scalar) {
    match scalar {
        Scalar::Null => out.extend_from_slice(b"null"),
        Scalar::Bool(truth) => display(out, truth),
        Scalar::Int(n) => display(out, n),
        // `Debug` gives the shortest form that reads back as the same number, always with a point or an exponent.
        Scalar::Float(x) if x.is_finite() => display(out, format_args!("{x:?}")),
        Scalar::Float(x) => display(out, format_args!("{{\"float\":\"{:016x}\"}}", x.to_bits())),
        Scalar::Text(words) => text(out, words),
    }
}

fn list<T>(out: &mut Vec<u8>, items: &[T], each: impl Fn(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        each(out, item);
    }
    out.push(b']');
}

fn or_null(out: &mut Vec<u8>, number: Option<impl std::fmt::Display>) {
    match number {
        Some(number) => display(out, number),
        None => out.extend_from_slice(b"null"),
    }
}

fn display(out: &mut Vec<u8>, what: impl std::fmt::Display) {
    // Writing to a vector never fails.
    let _ = write!(out, "{what}");
}

/// Writes a text in quotes. Runs of bytes without escapes are copied at once.
fn text(out: &mut Vec<u8>, words: &str) {
    out.push(b'"');
    let bytes = words.as_bytes();
    let mut copied = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[copied..i]);
        copied = i + 1;
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => display(out, format_args!("\\u{byte:04x}")),
        }
    }
    out.extend_from_slice(&bytes[copied..]);
    out.push(b'"');
}

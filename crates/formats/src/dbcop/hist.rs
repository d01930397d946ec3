//! dbcop's `.hist` text: transactions in brackets.
//!
//! ```text
//! // the first session
//! [x:=1 y:=2] [y==2 x:=3]        two transactions: x := 1 writes, y == 2 reads
//! [z==?]!                        a read of the initial state, by a transaction that did not commit
//! ---
//! [x==3]                         the second session
//! ```
//!
//! Variables are words of letters, digits and `_`; a word that is a plain number is that number. Values are
//! unsigned numbers of 64 bits. A line of dashes begins the next session, which may be empty. A comment
//! extends from `//` to the end of the line. This reader accepts more than dbcop does: transactions need no
//! space between them, may be empty, and may be followed by a comment; the last line needs no line end.
//!
//! The conventions that change verdicts, both from dbcop (its grammar and its tests of version 0):
//!
//! - `x==?` is a read of the *uninitialised* variable, that is, of its initial state. It is not a read of an
//!   unknown result.
//! - `x==0` is a read of the initial state too, unless a committed transaction writes `x:=0`: then it is a
//!   read of that write, and only `x==?` reads the initial state.
//!
//! So the initial value of a variable is 0 and `x==?` reads 0, except for variables to which 0 is written:
//! their initial value is nil. These variables are known only at the end, so the whole text is read before
//! the draft is filled.

use std::fmt::{Display, Write as _};
use std::io::{self, Write};

use isoscope_history::{Datum, Draft, History, Key, OpKind, Outcome, Value, notation};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cursor::{Cursor, Expected};
use crate::input::Stream;
use crate::lower::{Fate, KEYS_NUMBERED, Losses, Numbered};
use crate::{Job, WriteError};

/// The size limit.
const LONGEST: u64 = 2 << 30;

/// Whether a text begins with a transaction, after comments and separators.
pub(crate) fn looks_like(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text);
    loop {
        cursor.skip_space();
        if cursor.eat(b"//") {
            cursor.skip_to_line_end();
        } else if cursor.take_while(|b| b == b'-').is_empty() {
            break;
        }
    }
    if !cursor.eat(b"[") {
        return false;
    }
    cursor.skip_blanks();
    let word = !variable(&mut cursor).is_empty();
    word && (cursor.eat(b":=") || cursor.eat(b"=="))
}

/// Reads a stream.
pub(crate) fn read(stream: Stream, job: Job<'_>) -> io::Result<()> {
    let Job { base, draft, problems, progress, .. } = job;
    let Some(bytes) = stream.read_text(LONGEST, LONGEST as usize, base, progress, problems)? else {
        return Ok(());
    };
    let mut parsed = Parsed { draft, sessions: 1, txns: Vec::new(), events: Vec::new() };
    let mut cursor = Cursor::new(&bytes);
    let mut line_start = true;
    while !problems.hopeless() {
        let before = cursor.at;
        cursor.skip_space();
        line_start |= bytes[before..cursor.at].contains(&b'\n');
        if cursor.peek().is_none() {
            break;
        }
        if let Err(Expected(what)) = parsed.item(&mut cursor, line_start) {
            problems.error(Some(base + cursor.at as u64), cursor.found(), what);
            recover(&mut cursor);
        }
        line_start = false;
    }
    if !problems.failed() {
        parsed.finish(base);
    }
    Ok(())
}

/// Continues after the transaction, or at the end of the line, that could not be read.
fn recover(cursor: &mut Cursor<'_>) {
    if cursor.peek() == Some(b'[') {
        cursor.at += 1;
    }
    cursor.take_while(|b| !matches!(b, b'[' | b']' | b'\n'));
    if cursor.eat(b"]") {
        cursor.eat(b"!");
    }
}

/// Reads a variable's name.
fn variable<'a>(cursor: &mut Cursor<'a>) -> &'a [u8] {
    cursor.take_while(|b| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80)
}

struct ParsedTxn {
    session: u64,
    at: u64,
    committed: bool,
    /// The number of events up to and including this transaction.
    end: usize,
}

struct Event {
    kind: OpKind,
    variable: Value,
    /// `None` for `==?`.
    value: Option<u64>,
    at: u64,
}

/// The parsed text. Only names are in the draft yet.
struct Parsed<'a> {
    draft: &'a mut Draft,
    sessions: u64,
    txns: Vec<ParsedTxn>,
    events: Vec<Event>,
}

impl Parsed<'_> {
    fn item(&mut self, cursor: &mut Cursor<'_>, line_start: bool) -> Result<(), Expected> {
        match cursor.peek() {
            Some(b'[') => self.txn(cursor),
            Some(b'-') if line_start => {
                cursor.take_while(|b| b == b'-');
                self.sessions += 1;
                cursor.line_end()
            }
            _ if cursor.eat(b"//") => {
                cursor.skip_to_line_end();
                Ok(())
            }
            _ if line_start => Err(Expected("`[` of a transaction, `---` or `//`")),
            _ => Err(Expected("`[` of a transaction, `//` or the end of the line")),
        }
    }

    fn txn(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Expected> {
        let at = cursor.at as u64;
        cursor.expect(b"[", "`[`")?;
        cursor.skip_blanks();
        while !cursor.eat(b"]") {
            self.event(cursor)?;
            let end = cursor.at;
            cursor.skip_blanks();
            if end == cursor.at && cursor.peek() != Some(b']') {
                return Err(Expected("a space or `]` after the event"));
            }
        }
        let committed = !cursor.eat(b"!");
        self.txns.push(ParsedTxn { session: self.sessions - 1, at, committed, end: self.events.len() });
        Ok(())
    }

    fn event(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Expected> {
        const EVENT: Expected = Expected("an event such as x:=1, x==1 or x==?, or `]`");
        let start = cursor.at;
        let name = std::str::from_utf8(variable(cursor)).ok().filter(|name| is_name(name));
        let Some(name) = name else {
            cursor.at = start;
            return Err(EVENT);
        };
        let kind = if cursor.eat(b":=") { OpKind::Write } else { OpKind::Read };
        if kind == OpKind::Read {
            cursor.expect(b"==", "`:=` or `==` after the variable")?;
        }
        let unread = kind == OpKind::Read && cursor.eat(b"?");
        let value = if unread { None } else { Some(cursor.number()?) };
        let variable = match notation::canonical_number(name) {
            Some(n) => self.draft.values.nat(n),
            None => self.draft.values.text(name),
        };
        self.events.push(Event { kind, variable, value, at: start as u64 });
        Ok(())
    }

    /// Fills the draft.
    fn finish(self, base: u64) {
        let Parsed { draft, sessions, txns, events } = self;
        let starts = std::iter::once(0).chain(txns.iter().map(|txn| txn.end));
        let ranges: Vec<&[Event]> =
            txns.iter().zip(starts).map(|(txn, from)| &events[from..txn.end]).collect();
        let mut zeroed: FxHashSet<Value> = FxHashSet::default();
        for (txn, events) in txns.iter().zip(&ranges).filter(|(txn, _)| txn.committed) {
            debug_assert!(txn.session < sessions);
            let zeros = events.iter().filter(|event| event.kind.is_write() && event.value == Some(0));
            zeroed.extend(zeros.map(|event| event.variable));
        }
        // A text without transactions and separators has no session.
        let none = txns.is_empty() && sessions == 1;
        let ids: Vec<_> = (0..if none { 0 } else { sessions })
            .map(|number| {
                let name = draft.values.nat(number);
                draft.new_session(name)
            })
            .collect();
        for (txn, events) in txns.iter().zip(ranges) {
            let outcome = if txn.committed { Outcome::Committed } else { Outcome::Aborted };
            let name = draft.values.nat(draft.txn_count() as u64);
            let id = draft.txn(ids[txn.session as usize], name, outcome, Some(base + txn.at));
            for event in events {
                let value = match event.value {
                    None if zeroed.contains(&event.variable) => Value::NIL,
                    value => draft.values.nat(value.unwrap_or(0)),
                };
                draft.push(id, event.kind, event.variable, value, Some(base + event.at));
            }
        }
        for event in events.iter().filter(|event| event.kind.is_write() && event.value == Some(0)) {
            if zeroed.remove(&event.variable) {
                draft.set_initial_of(event.variable, Value::NIL);
            }
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Writes a history, one transaction per line.
pub(crate) fn write(history: &History, out: &mut dyn Write) -> Result<Losses, WriteError> {
    let numbered = Numbered::of(history, "hist")?;
    let names = names(&numbered);
    let mut losses = numbered.losses.clone();
    if names.is_some() {
        losses.remove(KEYS_NUMBERED);
    }
    super::bincode::note_names(history, &mut losses);
    let empty = numbered.written().filter(|&txn| numbered.ops(txn).next().is_none()).count();
    losses.add("empty transactions dropped", empty);
    note_ambiguity(&numbered, &mut losses);
    for session in history.sessions() {
        if session.0 > 0 {
            out.write_all(b"---\n")?;
        }
        for txn in history.txns_of(session).filter(|&txn| numbered.fate(txn) != Fate::LeftOut) {
            let mut line = String::from("[");
            for (is_write, key, value) in numbered.ops(txn) {
                let gap = if line.len() > 1 { " " } else { "" };
                let sign = if is_write { ":=" } else { "==" };
                let name: &dyn Display = names.as_ref().and_then(|names| names.get(&key)).map_or(&key, |n| n);
                // Writing to a string cannot fail.
                let _ = write!(line, "{gap}{name}{sign}{value}");
            }
            if line.len() > 1 {
                line.push_str(if numbered.fate(txn) == Fate::Committed { "]\n" } else { "]!\n" });
                out.write_all(line.as_bytes())?;
            }
        }
    }
    Ok(losses)
}

/// The keys' own names by their numbers, if all are valid names of this format. They are distinct, since a
/// text that looks like a number is not a valid name.
fn names(numbered: &Numbered<'_>) -> Option<FxHashMap<u64, String>> {
    let history = numbered.history;
    let name = |key: Key| match history.datum(history.key_name(key)) {
        Datum::Int(n) if n >= 0 => Some(n.to_string()),
        Datum::Nat(n) => Some(n.to_string()),
        Datum::Text(name) if is_name(name) && notation::canonical_number(name).is_none() => {
            Some(name.to_owned())
        }
        _ => None,
    };
    history.keys().map(|key| Some((numbered.key(key), name(key)?))).collect()
}

/// Records reads of either the initial state or a write of the same value. In this format they read the
/// write.
fn note_ambiguity(numbered: &Numbered<'_>, losses: &mut Losses) {
    let zeros = |txn| numbered.ops(txn).filter(|&(.., value)| value == 0);
    let committed = numbered.written().filter(|&txn| numbered.fate(txn) == Fate::Committed);
    let writes = committed.flat_map(zeros).filter(|&(is_write, ..)| is_write);
    let zeroed: FxHashSet<u64> = writes.map(|(_, key, _)| key).collect();
    let reads = numbered.written().flat_map(zeros).filter(|(is_write, ..)| !is_write);
    let reads = reads.filter(|(_, key, _)| zeroed.contains(key)).count();
    losses.add("reads of an initial value that is also written, now reads of the write", reads);
}

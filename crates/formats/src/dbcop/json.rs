//! dbcop's JSON of 2026: a recording as one document, or only its sessions.
//!
//! ```text
//! {"params":{..},"info":"..","start":"..","end":"..","data":[[
//!   {"events":[{"Read":{"variable":0,"version":null}},{"Write":{"variable":0,"version":1}}],"committed":true}
//! ]]}
//! ```
//!
//! A session is a list of transactions, a transaction a list of events with its outcome. The conventions that
//! change verdicts:
//!
//! - A `version` that is `null` or missing is the initial value. So is a read of 0 from a variable to which
//!   no committed transaction writes 0, as in dbcop's `.hist`. For other variables 0 is an ordinary value.
//! - `"committed": false` means aborted. The field is required: neither outcome can be assumed.
//! - Events may be in dbcop's compact form, `["r",0,null]` and `["w",0,1]`, which dbcop reads too.
//! - A session is named by its index, and a transaction by its number in the whole file, from 1.
//!
//! `params`, `info`, `start` and `end` describe the recording. The model has no place for them and they are
//! dropped. Variables are numbers in dbcop; names in quotes are accepted. The document is one value, so it is
//! read as a whole, and the first error ends the reading.
//!
//! The writer writes the initial value as `null` also if a transaction writes it, which this reader accepts.
//! dbcop itself cannot express such a write, so it is recorded as a loss.

use std::io::{self, Write};

use isoscope_history::{Draft, DraftTxn, History, OpKind, Outcome, Value};
use rustc_hash::FxHashSet;

use crate::input::Stream;
use crate::json::{Fault, Number, Scalar, Scanned, Scanner};
use crate::lower::{Fate, Losses, Numbered};
use crate::problem::{Problems, Warning};
use crate::{Job, WriteError, spell};

/// The size limit of a document.
const LONGEST: u64 = 2 << 30;

/// Whether a text begins like a recording or like a list of sessions.
pub(crate) fn looks_like(text: &[u8]) -> bool {
    let mut scanner = Scanner::new(text);
    let found = match scanner.peek() {
        b'{' => looks_like_recording(&mut scanner),
        _ => looks_like_sessions(&mut scanner),
    };
    found.unwrap_or(false)
}

fn looks_like_recording(s: &mut Scanner<'_>) -> Scanned<bool> {
    s.open(b'{', "")?;
    while s.more(b'}')? {
        if s.name()? == "data" {
            return Ok(s.peek() == b'[');
        }
        s.skip_value()?;
    }
    Ok(false)
}

/// Decides by the first transaction; sessions without transactions are skipped.
fn looks_like_sessions(s: &mut Scanner<'_>) -> Scanned<bool> {
    s.open(b'[', "")?;
    let mut sessions = 0;
    while s.more(b']')? {
        sessions += 1;
        s.open(b'[', "")?;
        if !s.more(b']')? {
            continue;
        }
        s.open(b'{', "")?;
        while s.more(b'}')? {
            if matches!(&*s.name()?, "events" | "committed") {
                return Ok(true);
            }
            s.skip_value()?;
        }
        return Ok(false);
    }
    Ok(sessions > 0)
}

/// Reads a stream.
pub(crate) fn read(stream: Stream, job: Job<'_>) -> io::Result<()> {
    let Job { base, draft, problems, progress, .. } = job;
    let Some(bytes) = stream.read_text(LONGEST, LONGEST as usize, base, progress, problems)? else {
        return Ok(());
    };
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let (bytes, base) = (&bytes[mark..], base + mark as u64);
    draft.set_initial(Value::NIL);
    if bytes.trim_ascii().is_empty() {
        return Ok(());
    }
    let mut reader = Reader { scanner: Scanner::new(bytes), base, draft, problems, events: Vec::new() };
    match reader.document() {
        Ok(()) => reader.finish(),
        Err(fault) => fault.report(bytes, base, problems),
    }
    Ok(())
}

struct Reader<'a, 'd> {
    scanner: Scanner<'a>,
    base: u64,
    draft: &'d mut Draft,
    problems: &'d mut Problems,
    /// All events. The meaning of a version of 0 is known only at the end.
    events: Vec<Event>,
}

struct Event {
    txn: DraftTxn,
    committed: bool,
    kind: OpKind,
    variable: Value,
    version: Value,
    position: u64,
}

impl Reader<'_, '_> {
    fn document(&mut self) -> Scanned<()> {
        if self.scanner.peek() == b'[' {
            self.sessions()?;
            return self.scanner.end("the end of the input");
        }
        let start = self.scanner.at();
        let mut found = false;
        self.scanner.open(b'{', "an object with `data`, or a list of sessions")?;
        while self.scanner.more(b'}')? {
            let at = self.scanner.at();
            match &*self.scanner.name()? {
                "data" if found => {
                    return Err(Fault::wrong(at, "a second `data`", "one list of sessions"));
                }
                "data" => {
                    self.sessions()?;
                    found = true;
                }
                "params" | "info" | "start" | "end" => self.scanner.skip_value()?,
                _ => self.unknown_field(at)?,
            }
        }
        if !found {
            return Err(Fault::wrong(start, "no sessions", "a field `data`, a list of sessions"));
        }
        self.scanner.end("the end of the input")
    }

    fn unknown_field(&mut self, at: usize) -> Scanned<()> {
        self.problems.warn(Warning::UnknownField, Some(self.base + at as u64));
        self.scanner.skip_value()
    }

    fn sessions(&mut self) -> Scanned<()> {
        let mut count = 0;
        self.scanner.open(b'[', "a list of sessions")?;
        while self.scanner.more(b']')? {
            let name = self.draft.values.nat(count);
            let session = self.draft.new_session(name);
            count += 1;
            self.scanner.open(b'[', "a session: a list of transactions")?;
            while self.scanner.more(b']')? {
                let at = self.scanner.at();
                let name = self.draft.txn_count() as u64 + 1;
                let name = self.draft.values.nat(name);
                let position = Some(self.base + at as u64);
                let txn = self.draft.txn(session, name, Outcome::Committed, position);
                self.txn(txn, at)?;
            }
        }
        Ok(())
    }

    fn txn(&mut self, txn: DraftTxn, start: usize) -> Scanned<()> {
        let (mut events, mut committed) = (false, None);
        let first = self.events.len();
        self.scanner.open(b'{', "a transaction such as {\"events\":[..],\"committed\":true}")?;
        while self.scanner.more(b'}')? {
            let at = self.scanner.at();
            match &*self.scanner.name()? {
                "events" if events => {
                    return Err(Fault::wrong(at, "a second `events`", "one list of events"));
                }
                "events" => {
                    events = true;
                    self.scanner.open(b'[', "a list of events")?;
                    while self.scanner.more(b']')? {
                        self.event(txn)?;
                    }
                }
                "committed" => committed = Some(self.scanner.boolean("true or false")?),
                _ => self.unknown_field(at)?,
            }
        }
        match committed {
            _ if !events => Err(Fault::wrong(start, "a transaction without events", "a field `events`")),
            None => Err(Fault::wrong(
                start,
                "a transaction without an outcome",
                "a field `committed`: true or false",
            )),
            Some(true) => Ok(()),
            Some(false) => {
                self.draft.set_outcome(txn, Outcome::Aborted);
                self.events[first..].iter_mut().for_each(|event| event.committed = false);
                Ok(())
            }
        }
    }

    /// Adds the operations to the draft.
    fn finish(self) {
        let zero = Value::small(0);
        let is_zero = |event: &&Event| Some(event.version) == zero;
        let zeroed: FxHashSet<Value> = self
            .events
            .iter()
            .filter(|event| event.committed && event.kind.is_write())
            .filter(is_zero)
            .map(|event| event.variable)
            .collect();
        for event in &self.events {
            let initial = event.kind.is_read() && is_zero(&event) && !zeroed.contains(&event.variable);
            let version = if initial { Value::NIL } else { event.version };
            self.draft.push(event.txn, event.kind, event.variable, version, Some(event.position));
        }
    }

    fn event(&mut self, txn: DraftTxn) -> Scanned<()> {
        let at = self.scanner.at();
        let (kind, variable, version) =
            if self.scanner.peek() == b'[' { self.compact_event()? } else { self.tagged_event()? };
        let position = self.base + at as u64;
        self.events.push(Event { txn, committed: true, kind, variable, version, position });
        Ok(())
    }

    /// `["r",variable,version]`
    fn compact_event(&mut self) -> Scanned<(OpKind, Value, Value)> {
        const KINDS: &str = "\"r\" or \"w\"";
        self.scanner.open(b'[', "")?;
        self.scanner.next(b']', KINDS)?;
        let at = self.scanner.at();
        let kind = match &*self.scanner.string(KINDS)? {
            "r" => OpKind::Read,
            "w" => OpKind::Write,
            _ => return Err(Fault::wrong(at, "unknown kind of event", KINDS)),
        };
        self.scanner.next(b']', "a variable")?;
        let variable = self.variable()?;
        self.scanner.next(b']', "a version")?;
        let version = self.version()?;
        self.scanner.close(b']', "`]` after the version")?;
        Ok((kind, variable, version))
    }

    /// `{"Read":{"variable":0,"version":1}}`
    fn tagged_event(&mut self) -> Scanned<(OpKind, Value, Value)> {
        const KINDS: &str = "\"Read\" or \"Write\"";
        self.scanner.open(b'{', "an event such as {\"Read\":{\"variable\":0,\"version\":1}}")?;
        self.scanner.next(b'}', KINDS)?;
        let at = self.scanner.at();
        let kind = match &*self.scanner.name()? {
            "Read" => OpKind::Read,
            "Write" => OpKind::Write,
            _ => return Err(Fault::wrong(at, "unknown kind of event", KINDS)),
        };
        let (mut variable, mut version) = (None, None);
        let start = self.scanner.at();
        self.scanner.open(b'{', "{\"variable\":..,\"version\":..}")?;
        while self.scanner.more(b'}')? {
            let at = self.scanner.at();
            match &*self.scanner.name()? {
                "variable" => variable = Some(self.variable()?),
                "version" => version = Some(self.version()?),
                _ => self.unknown_field(at)?,
            }
        }
        self.scanner.close(b'}', "`}` after the event")?;
        match (kind, variable, version) {
            (_, None, _) => Err(Fault::wrong(start, "an event without a variable", "a field `variable`")),
            (OpKind::Write, _, None) => {
                Err(Fault::wrong(start, "a write without a version", "a field `version`"))
            }
            (_, Some(variable), version) => Ok((kind, variable, version.unwrap_or(Value::NIL))),
        }
    }

    fn variable(&mut self) -> Scanned<Value> {
        const EXPECTED: &str = "a variable: an unsigned integer";
        let at = self.scanner.at();
        match self.scanner.scalar(EXPECTED)? {
            Scalar::Text(name) => Ok(self.draft.values.text(&name)),
            Scalar::Number(number) => self.natural(number).ok_or(Fault::unexpected(at, EXPECTED)),
            _ => Err(Fault::unexpected(at, EXPECTED)),
        }
    }

    fn version(&mut self) -> Scanned<Value> {
        const EXPECTED: &str = "a version: an unsigned integer, or null for the initial one";
        let at = self.scanner.at();
        match self.scanner.scalar(EXPECTED)? {
            Scalar::Null => Ok(Value::NIL),
            Scalar::Number(number) => self.natural(number).ok_or(Fault::unexpected(at, EXPECTED)),
            _ => Err(Fault::unexpected(at, EXPECTED)),
        }
    }

    fn natural(&mut self, number: Number) -> Option<Value> {
        match number {
            Number::Int(n) => u64::try_from(n).ok().map(|n| self.draft.values.nat(n)),
            Number::Nat(n) => Some(self.draft.values.nat(n)),
            Number::Float(_) => None,
        }
    }
}

/// Writes a history: only the sessions, one transaction per line.
pub(crate) fn write(history: &History, out: &mut dyn Write) -> Result<Losses, WriteError> {
    let mut numbered = Numbered::of(history, "dbcop-json")?;
    let mut losses = std::mem::take(&mut numbered.losses);
    let renamed = history.sessions().filter(|&s| history.session_name(s).as_small() != Some(s.0));
    losses.add("session names replaced by places", renamed.count());
    let renamed = numbered.written().zip(1..).filter(|&(txn, n)| history.txn_name(txn).as_small() != Some(n));
    losses.add("transaction names replaced by places", renamed.count());
    let mut initial_writes = 0;
    let mut line = Vec::with_capacity(1 << 12);
    out.write_all(b"{\"data\":[")?;
    for session in history.sessions() {
        out.write_all(if session.0 == 0 { b"[" } else { b",[" })?;
        let txns = history.txns_of(session).filter(|&txn| numbered.fate(txn) != Fate::LeftOut);
        for (i, txn) in txns.enumerate() {
            line.clear();
            line.extend_from_slice(if i == 0 { b"\n" } else { b",\n" });
            line.extend_from_slice(b"{\"events\":[");
            for (i, (is_write, key, value)) in numbered.ops(txn).enumerate() {
                initial_writes += usize::from(is_write && value == 0);
                line.extend_from_slice(if i == 0 { b"" } else { b"," });
                push_event(&mut line, is_write, key, value);
            }
            line.extend_from_slice(b"],\"committed\":");
            line.extend_from_slice(if numbered.fate(txn) == Fate::Committed { b"true}" } else { b"false}" });
            out.write_all(&line)?;
        }
        out.write_all(b"]")?;
    }
    out.write_all(b"]}\n")?;
    losses.add("writes of the initial value, which dbcop itself does not read", initial_writes);
    Ok(losses)
}

fn push_event(line: &mut Vec<u8>, is_write: bool, key: u64, value: u64) {
    let kind: &[u8] = if is_write { b"{\"Write\":{\"variable\":" } else { b"{\"Read\":{\"variable\":" };
    line.extend_from_slice(kind);
    spell::push_nat(line, key);
    line.extend_from_slice(b",\"version\":");
    if value == 0 {
        line.extend_from_slice(b"null");
    } else {
        spell::push_nat(line, value);
    }
    line.extend_from_slice(b"}}");
}

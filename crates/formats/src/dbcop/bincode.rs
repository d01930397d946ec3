//! dbcop's `history.bincode` of 2019: a Rust structure in the layout of the `bincode` crate of that time.
//!
//! Everything is little-endian and nothing is aligned:
//!
//! ```text
//! id n_node n_variable n_transaction n_event: u64     info start end: u64 length, then UTF-8
//! sessions: u64, each  transactions: u64, each  events: u64, each
//!     write: u8 (0 or 1)  variable: u64  value: u64  success: u8 (0 or 1)
//!   then  success: u8  of the transaction, after its events
//! ```
//!
//! The conventions that change verdicts:
//!
//! - The initial value of every variable is 0.
//! - A failed event had no effect and is ignored.
//! - A transaction whose own flag is 0 aborted, independent of the flags of its events. In 152 runs of
//!   dbcop's paper all events of the 4 479 aborted transactions are marked as successful, and all 20 019
//!   failed events belong to transactions that committed. So a tool that looks only at events gets both
//!   wrong. With this rule, every read of these runs returns the initial state or a committed write.
//!
//! The numbers of the header describe the setup of the run (per session and per transaction), not the content
//! of the file, and are not used. No count of the file reserves memory: each element must be present before
//! it is stored, so a corrupt count leads to an error at the end of the input. The stream is read through a
//! buffer; memory use is that of the history.

use std::io::{self, BufReader, Read, Write};

use isoscope_history::{Draft, DraftTxn, History, OpKind, Outcome, Value};

use crate::input::Stream;
use crate::lower::{Fate, Losses, Numbered, natural};
use crate::problem::{Problems, Warning};
use crate::{Job, Progress, WriteError};

/// The longest plausible text of a header.
const LONGEST_TEXT: u64 = 4096;
/// The largest plausible number of a header.
const LARGEST_NUMBER: u64 = 1 << 40;
/// The number of bytes between progress reports.
const REPORT: u64 = 1 << 20;
/// The value for an unknown time of a run.
const NO_DATE: &str = "1970-01-01T00:00:00+00:00";

/// Whether the first bytes of a file are a header of this format.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let mut rest = head;
    for _ in 0..5 {
        if take_u64(&mut rest).is_none_or(|n| n > LARGEST_NUMBER) {
            return false;
        }
    }
    for _ in 0..3 {
        let Some(length) = take_u64(&mut rest).filter(|&n| n <= LONGEST_TEXT) else { return false };
        let Some((text, after)) = rest.split_at_checked(length as usize) else { return false };
        if !std::str::from_utf8(text).is_ok_and(|text| !text.chars().any(char::is_control)) {
            return false;
        }
        rest = after;
    }
    // A history without sessions ends here.
    take_u64(&mut rest).is_some_and(|n| if n == 0 { rest.is_empty() } else { n <= LARGEST_NUMBER })
}

fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*first))
}

/// Reads a stream.
pub(crate) fn read(stream: Stream, job: Job<'_>) -> io::Result<()> {
    let Job { base, draft, problems, progress, .. } = job;
    let mut reader =
        Reader { input: BufReader::with_capacity(1 << 16, stream), at: 0, reported: 0, progress };
    let read = Filling { base, draft, problems }.read(&mut reader);
    reader.report();
    match read {
        Ok(()) => Ok(()),
        Err(Stop::Io(error)) => Err(error),
        Err(Stop::Expected { at, found, what }) => {
            problems.error(Some(base + at), found, what);
            Ok(())
        }
    }
}

/// The reason why reading stopped.
enum Stop {
    Io(io::Error),
    Expected { at: u64, found: String, what: &'static str },
}

/// The bytes with their position.
struct Reader<'a> {
    input: BufReader<Stream>,
    at: u64,
    /// The position of the last progress report.
    reported: u64,
    progress: Progress<'a>,
}

impl Reader<'_> {
    /// Reads the next bytes, all of them, or fails.
    fn take<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Stop> {
        let mut bytes = [0; N];
        let mut got = 0;
        while got < N {
            match self.input.read(&mut bytes[got..]) {
                Ok(0) => return Err(self.ended(what)),
                Ok(n) => {
                    got += n;
                    self.at += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Stop::Io(error)),
            }
        }
        if self.at - self.reported >= REPORT {
            self.report();
        }
        Ok(bytes)
    }

    fn ended(&self, what: &'static str) -> Stop {
        Stop::Expected { at: self.at, found: "the input ends too soon".to_owned(), what }
    }

    fn number(&mut self, what: &'static str) -> Result<u64, Stop> {
        Ok(u64::from_le_bytes(self.take(what)?))
    }

    /// Skips a text. No verdict depends on its content.
    fn text(&mut self, what: &'static str) -> Result<(), Stop> {
        let at = self.at;
        let length = self.number(what)?;
        if length > LONGEST_TEXT {
            let found = format!("a text of {length} bytes");
            return Err(Stop::Expected { at, found, what: "a text of at most 4096 bytes in the header" });
        }
        let start = self.at;
        let mut text = Vec::new();
        for _ in 0..length {
            text.extend(self.take::<1>(what)?);
        }
        match std::str::from_utf8(&text) {
            Ok(_) => Ok(()),
            Err(error) => {
                let at = start + error.valid_up_to() as u64;
                Err(Stop::Expected { at, found: "text that is not UTF-8".to_owned(), what })
            }
        }
    }

    fn at_end(&mut self) -> Result<bool, Stop> {
        io::BufRead::fill_buf(&mut self.input).map(<[u8]>::is_empty).map_err(Stop::Io)
    }

    fn report(&mut self) {
        (self.progress)(self.at - self.reported);
        self.reported = self.at;
    }
}

/// The state of the reader, and the draft to fill.
struct Filling<'a> {
    base: u64,
    draft: &'a mut Draft,
    problems: &'a mut Problems,
}

impl Filling<'_> {
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), Stop> {
        for what in [
            "the history's id",
            "the number of nodes",
            "the number of variables",
            "the number of transactions",
            "the number of events",
        ] {
            reader.number(what)?;
        }
        for what in ["the text `info`", "the text `start`", "the text `end`"] {
            reader.text(what)?;
        }
        let sessions = reader.number("the number of sessions")?;
        for number in 0..sessions {
            let txns = reader.number("the number of transactions of a session")?;
            let name = self.draft.values.nat(number);
            let session = self.draft.new_session(name);
            for _ in 0..txns {
                let at = Some(self.base + reader.at);
                let events = reader.number("the number of events of a transaction")?;
                let name = self.draft.values.nat(self.draft.txn_count() as u64);
                let txn = self.draft.txn(session, name, Outcome::Committed, at);
                self.read_txn(reader, txn, events)?;
            }
        }
        if reader.at_end()? {
            return Ok(());
        }
        let found = "bytes after the last session".to_owned();
        Err(Stop::Expected { at: reader.at, found, what: "the end of the input" })
    }

    fn read_txn(&mut self, reader: &mut Reader<'_>, txn: DraftTxn, events: u64) -> Result<(), Stop> {
        let mut failed = 0;
        let start = self.base + reader.at;
        for _ in 0..events {
            let at = reader.at;
            let event: [u8; 18] = reader.take("an event of 18 bytes")?;
            let is_write = self.flag(event[0], at, "0 for a read or 1 for a write")?;
            let success = self.flag(event[17], at + 17, "0 or 1 for the success of an event")?;
            let [key, value] = [1, 9].map(|from| {
                let mut number = [0; 8];
                number.copy_from_slice(&event[from..from + 8]);
                self.draft.values.nat(u64::from_le_bytes(number))
            });
            let kind = if is_write { OpKind::Write } else { OpKind::Read };
            if success {
                self.draft.push(txn, kind, key, value, Some(self.base + at));
            } else {
                failed += 1;
            }
        }
        let at = reader.at;
        let [flag] = reader.take("the success of a transaction")?;
        if self.flag(flag, at, "0 or 1 for the success of a transaction")? {
            self.problems.warn_many(Warning::FailedOperation, failed, Some(start));
        } else {
            self.draft.set_outcome(txn, Outcome::Aborted);
        }
        Ok(())
    }

    /// Reads a flag. An invalid one is reported and reading continues, since the following data is still
    /// aligned.
    fn flag(&mut self, byte: u8, at: u64, what: &'static str) -> Result<bool, Stop> {
        if byte > 1 {
            let found = format!("a flag of {byte}");
            if self.problems.hopeless() {
                return Err(Stop::Expected { at, found, what });
            }
            self.problems.error(Some(self.base + at), found, what);
        }
        Ok(byte == 1)
    }
}

/// Writes a history. The header contains what dbcop's own contain: the number of sessions and variables, and
/// the maximal number of transactions of a session and of events of a transaction.
pub(crate) fn write(history: &History, out: &mut dyn Write) -> Result<Losses, WriteError> {
    let mut numbered = Numbered::of(history, "dbcop-bincode")?;
    let mut losses = std::mem::take(&mut numbered.losses);
    note_names(history, &mut losses);
    let txns_of = |session| history.txns_of(session).filter(|&txn| numbered.fate(txn) != Fate::LeftOut);
    let most_txns = history.sessions().map(|session| txns_of(session).count()).max();
    let most_events = numbered.written().map(|txn| numbered.ops(txn).count()).max();
    let sessions = history.session_count() as u64;
    let variables = history.key_count() as u64;
    let [txns, events] = [most_txns, most_events].map(|most| most.unwrap_or(0) as u64);
    for number in [0, sessions, variables, txns, events] {
        out.write_all(&number.to_le_bytes())?;
    }
    for text in ["isoscope", NO_DATE, NO_DATE] {
        out.write_all(&(text.len() as u64).to_le_bytes())?;
        out.write_all(text.as_bytes())?;
    }
    out.write_all(&sessions.to_le_bytes())?;
    for session in history.sessions() {
        out.write_all(&(txns_of(session).count() as u64).to_le_bytes())?;
        for txn in txns_of(session) {
            out.write_all(&(numbered.ops(txn).count() as u64).to_le_bytes())?;
            for (is_write, key, value) in numbered.ops(txn) {
                let mut event = [0; 18];
                event[0] = u8::from(is_write);
                event[1..9].copy_from_slice(&key.to_le_bytes());
                event[9..17].copy_from_slice(&value.to_le_bytes());
                event[17] = 1;
                out.write_all(&event)?;
            }
            out.write_all(&[u8::from(numbered.fate(txn) == Fate::Committed)])?;
        }
    }
    Ok(losses)
}

/// Records the loss of names, for a format without names: of all names that differ from the numbers a reader
/// assigns.
pub(super) fn note_names(history: &History, losses: &mut Losses) {
    let other = |names: &mut dyn Iterator<Item = Value>| {
        names.enumerate().filter(|&(i, name)| natural(history, name) != Some(i as u64)).count()
    };
    let sessions = other(&mut history.sessions().map(|session| history.session_name(session)));
    losses.add("session names dropped", sessions);
    losses.add("transaction names dropped", other(&mut history.txns().map(|txn| history.txn_name(txn))));
}

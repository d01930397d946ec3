//! dbcop's `history.bincode` of 2019: a Rust structure as the `bincode` crate of that time laid it out.
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
//! - every variable begins with 0;
//! - a failed event did nothing and is left out;
//! - a transaction whose own flag is 0 aborted, whatever its events say. In 152 runs of dbcop's paper all
//!   events of the 4 479 aborted transactions are marked as successful, and all 20 019 failed events belong
//!   to transactions that committed, so a tool that looks only at events gets both wrong. Read as here,
//!   every read of these runs is of the initial state or of something that was committed.
//!
//! The numbers of the header describe how the run was set up (per session and per transaction), not what
//! is in the file, and are not used. No count of the file reserves memory: what follows has to be there,
//! byte by byte, before anything is kept of it, so a corrupt count ends as an error at the end of the
//! input. The stream is read through a buffer; memory is that of the history.

use std::io::{self, BufReader, Read, Write};

use isoscope_history::{Draft, DraftTxn, History, OpKind, Outcome, Value};

use crate::input::Stream;
use crate::lower::{Fate, Losses, Numbered, natural};
use crate::problem::{Problems, Warning};
use crate::{Job, Progress, WriteError};

/// The longest text of a header that is believed.
const LONGEST_TEXT: u64 = 4096;
/// No number of a header that is believed is larger.
const LARGEST_NUMBER: u64 = 1 << 40;
/// How often progress is told.
const REPORT: u64 = 1 << 20;
/// What stands for the time of a run that is not known.
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
    // A history without sessions ends here; anything else goes on.
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
    let mut reader = Reader { input: BufReader::with_capacity(1 << 16, stream), at: 0, told: 0, progress };
    let read = Filling { base, draft, problems }.read(&mut reader);
    reader.tell();
    match read {
        Ok(()) => Ok(()),
        Err(Stop::Io(error)) => Err(error),
        Err(Stop::Expected { at, found, what }) => {
            problems.error(Some(base + at), found, what);
            Ok(())
        }
    }
}

/// Why reading stopped.
enum Stop {
    Io(io::Error),
    Expected { at: u64, found: String, what: &'static str },
}

/// The bytes, with their position.
struct Reader<'a> {
    input: BufReader<Stream>,
    at: u64,
    /// The position that progress was last told.
    told: u64,
    progress: Progress<'a>,
}

impl Reader<'_> {
    /// The next bytes, all of them or a reason why not.
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
        if self.at - self.told >= REPORT {
            self.tell();
        }
        Ok(bytes)
    }

    fn ended(&self, what: &'static str) -> Stop {
        Stop::Expected { at: self.at, found: "the input ends too soon".to_owned(), what }
    }

    fn number(&mut self, what: &'static str) -> Result<u64, Stop> {
        Ok(u64::from_le_bytes(self.take(what)?))
    }

    /// Steps over a text, whose content no verdict depends on.
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

    fn tell(&mut self) {
        (self.progress)(self.at - self.told);
        self.told = self.at;
    }
}

/// What is being read, and where it goes.
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

    /// A truth value. A wrong one is noted and reading goes on, since what follows stands where it should.
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

/// Writes a history. The header says what dbcop's own do: how many sessions and variables there are, and
/// the most transactions of a session and events of a transaction.
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

/// Notes the names that a format without names loses: those that are not the numbers a reader gives.
pub(super) fn note_names(history: &History, losses: &mut Losses) {
    let other = |names: &mut dyn Iterator<Item = Value>| {
        names.enumerate().filter(|&(i, name)| natural(history, name) != Some(i as u64)).count()
    };
    let sessions = other(&mut history.sessions().map(|session| history.session_name(session)));
    losses.add("session names dropped", sessions);
    losses.add("transaction names dropped", other(&mut history.txns().map(|txn| history.txn_name(txn))));
}

//! The native format of isoscope: JSON Lines that keep everything a history has.
//!
//! ```text
//! {"isoscope":"history","version":1,"initial":0}
//! {"session":"alice","txn":1,"ops":[["w","x",1],["r","y",0]]}
//! {"session":"bob","txn":2,"outcome":"aborted","ops":[["append","log",7],["r","log",[3,7]]]}
//! ```
//!
//! `schema/native.schema.json` is the machine-readable definition. Each line is one JSON object; lines end
//! with LF or CRLF.
//!
//! **The header** is the first line. `isoscope` is `"history"` and `version` is 1. `initial` is the initial
//! value of all keys (0 by default), `initials` a list of `[key, value]` for the keys with another initial
//! value. `sessions` is optional and lists the names of all sessions: lines then refer to their session by
//! its index in that list, counted from 0. This keeps sessions with equal names apart and keeps sessions
//! without transactions. Without it, lines contain the name itself, equal names mean one session, and
//! sessions are numbered in the order they first appear. `workload` and `recorder` may contain anything, for
//! information; they are not kept. `marks` means that the file has marks.
//!
//! **A transaction** is every other line. Lines of different sessions may interleave, as a recorder writes
//! them. The order of a session's lines is its session order.
//!
//! | field | |
//! |---|---|
//! | `session` | the session: a name, or its index in the header's list |
//! | `txn` | the name; by default the line's number among the transactions, from 1 |
//! | `outcome` | `"committed"` (the default), `"aborted"` or `"unknown"` |
//! | `ops` | the operations, in order |
//! | `events` | `[invoked, returned]` as positions in the order of all such events; `null` if not recorded |
//! | `times` | the same in nanoseconds of the client's clock |
//! | `timestamps` | `[begin, commit]` of the database |
//! | `notes` | other fields: an object, or a list of `[name, value]` if names are not text or repeat |
//!
//! **Operations.** `["r",key,value]`, `["w",key,value]`, `["append",key,element]`, `["r",key,[elements]]`,
//! `["insert",key,value]`, `["delete",key]` or `["delete",key,tombstone]`, and
//! `["range",low,high,[[key,value],..],[[deleted,tombstone],..]]`, whose last list is optional. An `r` reads
//! a list exactly if its value is a list. `read` and `read-list` are explicit, for a list that does not exist
//! (`["read-list","x",null]`) or a register that holds a list. `write` and `range-read` are long forms of `w`
//! and `range`. A bound of null is no bound. Either no read names tombstones, or every read of a deleted key
//! does (docs/formats.md).
//!
//! **Values** and names are JSON scalars and lists of values. Integers are exact up to 64 bits; `1.0` is a
//! floating-point number and not the integer 1. What JSON lacks is an object with one member:
//! `{"keyword":"x"}`, `{"unknown":true}` for a value that was not learned, and
//! `{"float":"7ff0000000000000"}`, the bits of a number that is not finite. Keys, the names of sessions,
//! elements of lists and tombstones must not be lists; names of transactions and notes may hold any. Initial
//! values must be known.
//!
//! **Marks.** A recorder writes the sessions at different times, so a recording that was cut off (`kill -9`,
//! a full disk) may contain a transaction without one that it read from. If the header has `"marks":true`, a
//! line `{"session":null,"ops":[],"mark":C}` means that every transaction invoked before time C, by `times`,
//! is above this line, and `"mark":"end"` on the last line means that every transaction is above it. A file
//! with its end mark is complete. From a file without it, the reader keeps, with warnings:
//!
//! - the transactions that returned by C, the time of the last mark: everything they can have read was
//!   invoked before C;
//! - of the transactions invoked before C that had not returned by then, only the writes: others may have
//!   read them, but what they read themselves may be missing;
//! - no other transactions.
//!
//! For every read that is kept, its writer is kept. Removing reads, or transactions that no read returned,
//! never makes a history worse: a history that satisfied a level still does. Without a mark nothing is kept.
//! A file whose header has no `marks`, such as one written by hand, is used as it is. (A reader that does not
//! know marks reads one as an empty transaction in its own session.)
//!
//! **Damage.** A last line that is incomplete, as after a crash of the recorder, is ignored with a warning.
//! Everything else that is wrong is an error. Unknown fields are ignored with a warning, so that version 1
//! can be extended. Another version is an error.
//!
//! Blocks of lines are scanned in parallel and merged in file order. The writer writes session by session,
//! which preserves the numbering.

use std::io;
use std::ops::ControlFlow;

use isoscope_history::{Draft, DraftTxn, OpKind, Session};

use crate::Job;
use crate::input::{Blocks, Stream};
use crate::json::{Scanned, Scanner};
use crate::parallel;
use crate::problem::Problems;

mod cut;
mod scan;
mod write;

use cut::Cut;
use scan::{Header, Scan, ScanTxn};
pub(crate) use write::write;

/// The longest line. Transactions are far smaller. A line is held in memory as a whole.
const LONGEST_LINE: usize = 64 << 20;

/// Whether a text begins with the header.
pub(crate) fn looks_like(text: &[u8]) -> bool {
    let mut scanner = Scanner::new(text);
    let mut find = || -> Scanned<bool> {
        scanner.open(b'{', "")?;
        while scanner.more(b'}')? {
            if scanner.name()? == "isoscope" {
                return Ok(scanner.string("")? == "history");
            }
            scanner.skip_value()?;
        }
        Ok(false)
    };
    find().unwrap_or(false)
}

/// Reads a stream.
pub(crate) fn read(stream: Stream, job: Job<'_>) -> io::Result<()> {
    read_lines(stream, LONGEST_LINE, job)
}

fn read_lines(stream: Stream, longest_line: usize, job: Job<'_>) -> io::Result<()> {
    let Job { base, draft, problems, progress, .. } = job;
    let mut merger = Merger { draft, problems, sessions: None, cut: None };
    let read = parallel::parse_blocks(
        Blocks::new(stream, longest_line),
        |block| {
            progress(block.bytes.len() as u64);
            let mut scan = Scan::at(base + block.start);
            scan.block(&block, longest_line);
            scan
        },
        &mut |scan| merger.merge(scan),
    );
    if let Some(cut) = merger.cut {
        cut.make(merger.draft, merger.problems);
    }
    read
}

/// Merges the blocks in file order.
struct Merger<'a> {
    draft: &'a mut Draft,
    problems: &'a mut Problems,
    /// The sessions of the header's list.
    sessions: Option<Vec<Session>>,
    /// The cut, if the file has marks.
    cut: Option<Cut>,
}

impl Merger<'_> {
    fn merge(&mut self, mut scan: Scan) -> ControlFlow<()> {
        self.problems.absorb(std::mem::take(&mut scan.problems));
        if self.problems.hopeless() || scan.stop {
            return ControlFlow::Break(());
        }
        if self.problems.failed() {
            return ControlFlow::Continue(());
        }
        if !scan.values.is_empty() {
            let remap = self.draft.values.absorb(&scan.values);
            scan.remap(&remap);
        }
        if let Some(header) = scan.header.take() {
            self.header(header);
        }
        let first = self.draft.txn_count() as u32;
        for txn in &scan.txns {
            let Some(session) = self.session(txn, scan.base) else { continue };
            let name = txn.name.unwrap_or_else(|| {
                let number = self.draft.txn_count() as u64 + 1;
                self.draft.values.nat(number)
            });
            self.draft.txn(session, name, txn.outcome, Some(scan.base + u64::from(txn.at)));
        }
        if !self.problems.failed() {
            if let Some(cut) = &mut self.cut {
                cut.follow(first, &scan, self.problems);
            }
            self.columns(first, &scan);
            self.operations(first, scan);
        }
        ControlFlow::Continue(())
    }

    fn header(&mut self, header: Header) {
        let draft = &mut *self.draft;
        if let Some(initial) = header.initial {
            draft.set_initial(initial);
        }
        for (key, value) in header.initials {
            draft.set_initial_of(key, value);
        }
        self.cut = header.marks.then(Cut::default);
        self.sessions =
            header.sessions.map(|names| names.into_iter().map(|name| draft.new_session(name)).collect());
    }

    fn session(&mut self, txn: &ScanTxn, base: u64) -> Option<Session> {
        let Some(sessions) = &self.sessions else { return Some(self.draft.session(txn.session)) };
        let place = txn.session.as_small().and_then(|n| sessions.get(n as usize)).copied();
        if place.is_none() {
            let at = Some(base + u64::from(txn.session_at));
            let help = format!("an index into the header's list, from 0 and below {}", sessions.len());
            self.problems.error(at, "no such session", help);
        }
        place
    }

    fn columns(&mut self, first: u32, scan: &Scan) {
        for &(local, start, end) in &scan.events {
            self.draft.set_events(DraftTxn(first + local), start, end);
        }
        for &(local, start, end) in &scan.times {
            self.draft.set_times(DraftTxn(first + local), start, end);
        }
        for &(local, start, end) in &scan.timestamps {
            self.draft.set_timestamps(DraftTxn(first + local), start, end);
        }
        for &(local, name, value) in &scan.notes {
            self.draft.annotate(DraftTxn(first + local), name, value);
        }
    }

    fn operations(&mut self, first: u32, scan: Scan) {
        if scan.ranges.is_empty() {
            let counts = scan.txns.iter().zip(first..).map(|(txn, id)| (DraftTxn(id), txn.count));
            self.draft.absorb(scan.base, scan.raw, counts);
            return;
        }
        let mut ops = scan.ops.into_iter();
        let mut ranges = scan.ranges.into_iter();
        for (txn, id) in scan.txns.iter().zip(first..) {
            for op in ops.by_ref().take(txn.count as usize) {
                let at = Some(scan.base + u64::from(op.at));
                match op.kind {
                    OpKind::RangeRead => {
                        let Some(row) = ranges.next() else { continue };
                        self.draft.push_range(DraftTxn(id), row, at);
                    }
                    kind => self.draft.push(DraftTxn(id), kind, op.key, op.value, at),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Source;

    /// With a small limit: the line is the only error, reported where it begins.
    #[test]
    fn a_line_beyond_the_limit_is_an_error() {
        let text = format!(
            "{{\"isoscope\":\"history\",\"version\":1}}\n{{\"session\":\"{}\"}}\n",
            "x".repeat(5 << 20)
        );
        let stream = Source::bytes("t", text.as_bytes().into()).open().unwrap();
        let (mut draft, mut problems) = (Draft::new(), Problems::default());
        let job = Job { base: 7, name: "t", draft: &mut draft, problems: &mut problems, progress: &|_| {} };
        read_lines(stream, 1 << 20, job).unwrap();
        let list = problems.into_list(|_| None);
        assert_eq!(list.len(), 1, "{list:?}");
        assert_eq!(list[0].message, "this line is too long");
    }
}

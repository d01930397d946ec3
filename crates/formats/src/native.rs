//! isoscope's own format: JSON Lines that keep everything a history has.
//!
//! ```text
//! {"isoscope":"history","version":1,"initial":0}
//! {"session":"alice","txn":1,"ops":[["w","x",1],["r","y",0]]}
//! {"session":"bob","txn":2,"outcome":"aborted","ops":[["append","log",7],["r","log",[3,7]]]}
//! ```
//!
//! `schema/native.schema.json` says the same to machines. Each line is one JSON object; LF or CRLF.
//!
//! **The header** is the first line. `isoscope` is `"history"` and `version` is 1. `initial` is the value
//! every key has before any transaction (0 when it is left out), `initials` a list of `[key, value]` for the
//! keys that begin otherwise. `sessions`, if it is there, lists the names of all sessions: lines then
//! name their session by its place in that list, counted from 0. That is how sessions of equal names stay
//! apart and how sessions without a transaction survive. Without it, lines hold the name itself, equal names
//! mean one session, and sessions are numbered in the order they first appear. `workload` and `recorder`
//! may hold anything, for people; they are not kept. `marks` says that the file has marks.
//!
//! **A transaction** is every other line. Lines of sessions may interleave, as a recorder streams them; the
//! order of a session's lines is its session order.
//!
//! | field | |
//! |---|---|
//! | `session` | the session: a name, or its place in the header's list |
//! | `txn` | the name; the line's number among the transactions, from 1, when it is left out |
//! | `outcome` | `"committed"` (also when it is left out), `"aborted"` or `"unknown"` |
//! | `ops` | the operations, in order |
//! | `events` | `[invoked, returned]` as places in the order of all such events; `null` if never |
//! | `times` | the same in nanoseconds of the client's clock |
//! | `timestamps` | `[begin, commit]` of the database |
//! | `notes` | anything else: an object, or a list of `[name, value]` where names are not text or repeat |
//!
//! **Operations.** `["r",key,value]`, `["w",key,value]`, `["append",key,element]`, `["r",key,[elements]]`,
//! `["insert",key,value]`, `["delete",key]` or `["delete",key,tombstone]`, and
//! `["range",low,high,[[key,value],..],[[deleted,tombstone],..]]`, whose last list may be left out. An `r`
//! reads a list exactly when its value is one; `read` and `read-list` say which, for a list that was not
//! there (`["read-list","x",null]`) or a register that holds one. `write` and `range-read` are long for `w`
//! and `range`.
//!
//! **Values** and names are JSON's scalars and lists of values. Integers are exact up to 64 bits; `1.0` is a
//! floating-point number and not the integer 1. What JSON lacks is an object of one member:
//! `{"keyword":"x"}`, `{"unknown":true}` for what nobody learned, and `{"float":"7ff0000000000000"}`, the
//! bits of a number that is not finite. Keys and the names of sessions are no lists.
//!
//! **Marks.** A recorder writes the sessions at different times, so a recording that was cut off (`kill -9`, a full disk) may
//! hold a transaction without one that it read from. Where the header has `"marks":true`, a line
//! `{"session":null,"ops":[],"mark":C}` says that every transaction invoked before time C stands above it, by `times`, and
//! `"mark":"end"` on the last line that every transaction does. A file with its end mark is complete. Of a file without it, this
//! is kept, with warnings:
//!
//! - transactions that returned by C, the time of the last mark: whatever they can have read was invoked before C;
//! - of those invoked before C and not returned by then, the writes: others may have read them, but what they read themselves may
//!   be missing;
//! - no others.
//!
//! Every read that is kept has its writer in what is kept, and a history does not get worse by losing reads, nor by losing
//! transactions that no read returned: a history that satisfied a level still does. Without a mark nothing is
//! kept. A file whose header does not say `marks`, as one written by hand, is taken as it is. (To a reader that does not know marks,
//! one is an empty transaction of a session of its own.)
//!
//! **Damage.** A last line that is cut off, as by a crash of the recorder, is left out with a warning; all
//! else that is wrong is an error. Fields that are not understood are ignored with a warning, so that
//! version 1 can grow; another version is an error.
//!
//! Reading is a scan per block of lines, in parallel, and a merge in file order. The writer goes session by
//! session, which restores the numbering.

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

/// The longest line. A transaction takes far less, and a line is held in memory as a whole.
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

/// Puts the blocks together, in file order.
struct Merger<'a> {
    draft: &'a mut Draft,
    problems: &'a mut Problems,
    /// The sessions of the header's list.
    sessions: Option<Vec<Session>>,
    /// Where to cut, if the file has marks.
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
            let help = format!("a place in the header's list, from 0 and below {}", sessions.len());
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

    /// With a limit that a test can reach: the line is an error, where it begins, and the only one.
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

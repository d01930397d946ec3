//! AWDIT's test format: one operation per line, separated by lines of dashes and of equals signs.
//!
//! ```text
//! w 0 1          writes 1 to key 0
//! -----          the next transaction of the session
//! r 0 1          reads 1 from key 0
//! =====          the next session
//! ```
//!
//! Three or more dashes or equals signs make a separator. Blank lines, and comments that begin with `#` or
//! `//`, are ignored. A separator without operations before it creates no transaction.
//!
//! The convention that changes verdicts: the format has no initial transaction, and its files begin by
//! writing the first values themselves, often 0. So a read of 0 reads the initial state only if *no
//! transaction writes 0* to the key. If one does, the read returns that write (`none/hb-cycle.txt` in AWDIT's
//! own tests contains a cycle only under this rule), and the key's initial value is nil, which cannot be
//! read. A read of any other value that was never written is a thin-air read.

use std::io;

use isoscope_history::{Draft, DraftTxn, OpKind, Outcome, Session, Value};

use crate::Job;
use crate::cursor::{Cursor, Expected};
use crate::input::Stream;

/// The size limit: test files are small.
const LONGEST: u64 = 2 << 30;
/// Far longer than any line of this format.
const LONGEST_LINE: usize = 64 << 20;

/// Whether a text begins with an operation, after comments and separators.
pub(crate) fn looks_like(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text);
    while cursor.peek().is_some() {
        match line(&mut cursor) {
            Ok(Line::Op(..)) => return true,
            Ok(_) => cursor.skip_space(),
            Err(_) => return false,
        }
    }
    false
}

/// Reads a stream.
pub(crate) fn read(stream: Stream, job: Job<'_>) -> io::Result<()> {
    let Job { base, draft, problems, progress, .. } = job;
    let Some(bytes) = stream.read_text(LONGEST, LONGEST_LINE, base, progress, problems)? else {
        return Ok(());
    };
    let mut filling = Filling { base, draft, number: 0, session: None, txn: None };
    let mut cursor = Cursor::new(&bytes);
    cursor.skip_space();
    while cursor.peek().is_some() && !problems.hopeless() {
        let at = cursor.at as u64;
        match line(&mut cursor) {
            Ok(line) => filling.take(&line, at),
            Err(Expected(what)) => {
                problems.error(Some(base + cursor.at as u64), cursor.found(), what);
                cursor.skip_to_line_end();
            }
        }
        cursor.skip_space();
    }
    Ok(())
}

/// The content of a line.
enum Line {
    Op(OpKind, u64, u64),
    NextTxn,
    NextSession,
    Comment,
}

/// Reads a non-blank line up to its end.
fn line(cursor: &mut Cursor<'_>) -> Result<Line, Expected> {
    let line = match cursor.peek() {
        Some(b'r') => operation(cursor, OpKind::Read)?,
        Some(b'w') => operation(cursor, OpKind::Write)?,
        Some(b'-') => separator(cursor, b'-', Line::NextTxn)?,
        Some(b'=') => separator(cursor, b'=', Line::NextSession)?,
        _ if cursor.eat(b"#") || cursor.eat(b"//") => {
            cursor.skip_to_line_end();
            Line::Comment
        }
        _ => return Err(Expected("`r key value`, `w key value`, `-----` or `=====`")),
    };
    cursor.line_end()?;
    Ok(line)
}

fn operation(cursor: &mut Cursor<'_>, kind: OpKind) -> Result<Line, Expected> {
    cursor.at += 1;
    let mut field = |what| {
        if !matches!(cursor.peek(), Some(b' ' | b'\t')) {
            return Err(Expected(what));
        }
        cursor.skip_blanks();
        cursor.number()
    };
    Ok(Line::Op(kind, field("a space and a key")?, field("a space and a value")?))
}

fn separator(cursor: &mut Cursor<'_>, byte: u8, line: Line) -> Result<Line, Expected> {
    let length = cursor.take_while(|b| b == byte).len();
    if length < 3 { Err(Expected("a separator of at least three signs")) } else { Ok(line) }
}

/// The history so far. Sessions and transactions are created by their first operation.
struct Filling<'a> {
    base: u64,
    draft: &'a mut Draft,
    number: u64,
    session: Option<Session>,
    txn: Option<DraftTxn>,
}

impl Filling<'_> {
    fn take(&mut self, line: &Line, at: u64) {
        match *line {
            Line::Op(kind, key, value) => self.push(kind, key, value, Some(self.base + at)),
            Line::NextTxn => self.txn = None,
            Line::NextSession => {
                self.number += 1;
                (self.session, self.txn) = (None, None);
            }
            Line::Comment => {}
        }
    }

    fn push(&mut self, kind: OpKind, key: u64, value: u64, at: Option<u64>) {
        let draft = &mut *self.draft;
        let session = *self.session.get_or_insert_with(|| {
            let name = draft.values.nat(self.number);
            draft.new_session(name)
        });
        let txn = *self.txn.get_or_insert_with(|| {
            let name = draft.values.nat(draft.txn_count() as u64);
            draft.txn(session, name, Outcome::Committed, at)
        });
        let key = draft.values.nat(key);
        if kind.is_write() && value == 0 {
            draft.set_initial_of(key, Value::NIL);
        }
        let value = draft.values.nat(value);
        draft.push(txn, kind, key, value, at);
    }
}

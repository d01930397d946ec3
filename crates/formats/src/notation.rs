//! The one-line notation as a file format; [`isoscope_history::notation`] defines the language.

use std::io::{self, Write};

use isoscope_history::{History, notation};

use crate::input::Stream;
use crate::lower::Losses;
use crate::{Job, WriteError};

/// The size limit. The notation is for small histories; larger ones have other formats.
const LONGEST: u64 = 64 << 20;

/// Whether a text begins with a transaction's name and a colon, or sets initial values.
pub(crate) fn looks_like(text: &[u8]) -> bool {
    let text = skip_comments(text);
    let name = text.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    text.starts_with(b"init=")
        || text.starts_with(b"init(")
        || (name > 0 && matches!(text.get(name), Some(b':' | b'!' | b'?' | b'@')))
}

fn skip_comments(mut text: &[u8]) -> &[u8] {
    while text.starts_with(b"#") || text.starts_with(b"//") {
        let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
        text = text[end..].trim_ascii_start();
    }
    text
}

/// Reads a stream.
pub(crate) fn read(stream: Stream, job: Job<'_>) -> io::Result<()> {
    let Job { base, draft, problems, progress, .. } = job;
    let Some(bytes) = stream.read_text(LONGEST, LONGEST as usize, base, progress, problems)? else {
        return Ok(());
    };
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) => {
            problems.error(Some(base + error.valid_up_to() as u64), "not UTF-8", "text in UTF-8");
            return Ok(());
        }
    };
    let mark = usize::from(text.starts_with('\u{feff}')) * '\u{feff}'.len_utf8();
    match notation::parse_into(&text[mark..], base + mark as u64, draft) {
        Ok(None) => {}
        Ok(Some(rest)) => {
            let at = base + (bytes.len() - rest.len() - "=>".len()) as u64;
            problems.error(Some(at), "unexpected `=>`", "a transaction or the end of the history");
        }
        Err(error) => {
            let at = base + (mark + error.at) as u64;
            problems.error(Some(at), "invalid notation", error.expected);
        }
    }
    Ok(())
}

/// Writes a history, one session per line.
pub(crate) fn write(history: &History, out: &mut dyn Write) -> Result<Losses, WriteError> {
    let mut losses = Losses::default();
    losses.add_whole("the names of sessions");
    if !notation::names_are_unique_words(history) {
        losses.add("transaction names replaced by numbers", history.txn_count());
    }
    losses.note_columns(history, true, false);
    let text = notation::print_lines(history);
    out.write_all(text.as_bytes())?;
    if !text.is_empty() {
        out.write_all(b"\n")?;
    }
    Ok(losses)
}

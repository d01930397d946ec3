//! Errors that point at the text.

use std::fmt;
use std::ops::Range;

/// Why a text is not a definition, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong, in one line.
    pub message: String,
    /// The bytes of the text that it is about.
    pub span: Range<usize>,
    /// What may help; may be empty.
    pub help: String,
}

impl Error {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Error {
        Error { message: message.into(), span, help: String::new() }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Error {
        self.help = help.into();
        self
    }

    /// The line and the column of the error, both counted from 1. Columns are characters.
    pub fn position(&self, text: &str) -> (usize, usize) {
        let before = &text[..self.span.start.min(text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

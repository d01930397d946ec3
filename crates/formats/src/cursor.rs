//! A cursor into a text, for the parsers of small text formats.
//!
//! Parsing stops at the first unexpected byte and returns what was expected. The cursor is then at that byte,
//! so an error needs only the cursor. The format decides how to continue.

/// What was expected at the cursor.
pub(crate) struct Expected(pub(crate) &'static str);

/// A position in a text.
pub(crate) struct Cursor<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Cursor<'a> {
    /// The beginning of a text, after its byte order mark, if any.
    pub(crate) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 } }
    }

    /// The rest of the text.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// The next byte; `None` at the end.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips the given text, if it is next.
    pub(crate) fn eat(&mut self, text: &[u8]) -> bool {
        let there = self.rest().starts_with(text);
        if there {
            self.at += text.len();
        }
        there
    }

    /// Skips the given text, or returns what was expected.
    pub(crate) fn expect(&mut self, text: &[u8], what: &'static str) -> Result<(), Expected> {
        if self.eat(text) { Ok(()) } else { Err(Expected(what)) }
    }

    /// Skips bytes while `fits` holds, and returns them.
    pub(crate) fn take_while(&mut self, fits: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.rest();
        let length = rest.iter().position(|&b| !fits(b)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Skips spaces inside a line.
    pub(crate) fn skip_blanks(&mut self) {
        self.take_while(|b| matches!(b, b' ' | b'\t' | b'\r'));
    }

    /// Skips spaces and line ends.
    pub(crate) fn skip_space(&mut self) {
        self.take_while(|b| b.is_ascii_whitespace());
    }

    /// Skips to the end of the line.
    pub(crate) fn skip_to_line_end(&mut self) {
        self.take_while(|b| b != b'\n');
    }

    /// Skips spaces up to the end of the line, which must follow.
    pub(crate) fn line_end(&mut self) -> Result<(), Expected> {
        self.skip_blanks();
        match self.peek() {
            None | Some(b'\n') => Ok(()),
            Some(_) => Err(Expected("the end of the line")),
        }
    }

    /// Reads an unsigned number of at most 64 bits.
    pub(crate) fn number(&mut self) -> Result<u64, Expected> {
        let start = self.at;
        let digits = self.take_while(|b| b.is_ascii_digit());
        if digits.is_empty() {
            return Err(Expected("an unsigned number"));
        }
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        number.ok_or_else(|| {
            self.at = start;
            Expected("a number of at most 64 bits")
        })
    }

    /// Describes the byte at the cursor, for an error.
    pub(crate) fn found(&self) -> String {
        let next = self.rest();
        let shown = &next[..next.len().min(4)];
        match next.first() {
            None => "the input ends too soon".to_owned(),
            Some(b'\n' | b'\r') => "the line ends too soon".to_owned(),
            Some(b' ' | b'\t') => "unexpected space".to_owned(),
            Some(byte) => match String::from_utf8_lossy(shown).chars().next() {
                Some(c) if !c.is_control() && c != '\u{fffd}' => format!("unexpected `{c}`"),
                _ => format!("unexpected byte 0x{byte:02x}"),
            },
        }
    }
}

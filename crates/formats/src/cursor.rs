//! A place in a text that is being parsed by hand, for the small text formats.
//!
//! Parsing stops at the first byte that does not fit and says what would have: the cursor then stands on
//! that byte, so an error needs nothing but the cursor. How to go on is for the format to know.

/// What would have fitted at the cursor.
pub(crate) struct Expected(pub(crate) &'static str);

/// A place in a text.
pub(crate) struct Cursor<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Cursor<'a> {
    /// The beginning of a text, after its byte order mark if it has one.
    pub(crate) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 } }
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// The next byte; `None` at the end.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Steps over some text if it is there.
    pub(crate) fn eat(&mut self, text: &[u8]) -> bool {
        let there = self.rest().starts_with(text);
        if there {
            self.at += text.len();
        }
        there
    }

    /// Steps over some text, or says what was expected.
    pub(crate) fn expect(&mut self, text: &[u8], what: &'static str) -> Result<(), Expected> {
        if self.eat(text) { Ok(()) } else { Err(Expected(what)) }
    }

    /// Steps over bytes as long as they fit, and gives them.
    pub(crate) fn take_while(&mut self, fits: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.rest();
        let length = rest.iter().position(|&b| !fits(b)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Steps over spaces inside a line.
    pub(crate) fn skip_blanks(&mut self) {
        self.take_while(|b| matches!(b, b' ' | b'\t' | b'\r'));
    }

    /// Steps over spaces and line ends.
    pub(crate) fn skip_space(&mut self) {
        self.take_while(|b| b.is_ascii_whitespace());
    }

    /// Goes to the end of the line.
    pub(crate) fn skip_to_line_end(&mut self) {
        self.take_while(|b| b != b'\n');
    }

    /// Steps over spaces, which must lead to the end of the line.
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

    /// What stands at the cursor, for an error.
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

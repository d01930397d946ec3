//! A cursor into the text, and the tokens that both syntaxes share.
//!
//! [`Syntax`] covers the differences between EDN and JSON: white space, separators, the spelling of names and
//! scalars. Everything above it (operation maps, micro-operations, histories) is written once.
//!
//! The text is a piece of the input that may end anywhere. [`Stop::Incomplete`] means that it ended inside a
//! form and that more text may complete it. [`Stop::Expected`] means that more text will not help.

use isoscope_history::{Datum, Value, Values};

use super::skip::Skip;
use super::write::Script;

/// The reason why a form was not read. The cursor is left at the byte in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The text ends inside the form.
    Incomplete,
    /// Something else was expected.
    Expected(&'static str),
}

/// The lexical part of a format; see the module documentation.
pub(crate) trait Syntax: Script + 'static {
    /// Whether this is JSON: no comments, no characters, strings for keywords.
    const JSON: bool;

    /// Skips white space and, in EDN, commas, comments, discarded forms and tags.
    fn space(cursor: &mut Cursor<'_>) -> Result<(), Stop>;

    /// Moves to the next element before `close` and returns true, or past `close` and returns false. `first`
    /// is true until an element was read; this function updates it.
    fn more(cursor: &mut Cursor<'_>, close: u8, first: &mut bool) -> Result<bool, Stop>;

    /// Moves from a key to its value.
    fn after_key(cursor: &mut Cursor<'_>) -> Result<(), Stop>;

    /// Reads an opening bracket of a sequence and returns its closing one; `None`, without moving, if there
    /// is no such bracket.
    fn open(cursor: &mut Cursor<'_>) -> Option<u8>;

    /// Reads a name: a keyword, or a string in JSON. `None`, without moving, if there is none.
    fn name<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, Stop>;

    /// Reads a scalar.
    fn scalar(cursor: &mut Cursor<'_>, values: &mut Values) -> Result<Value, Stop>;
}

/// The possible values, for messages.
pub(crate) const A_SCALAR: &str = "a number, string, keyword, true, false or nil";

/// A position in a text.
pub(crate) struct Cursor<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

/// Bytes that end a number, keyword or symbol.
const ENDS_TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let ends = b" \t\n\r\x0b\x0c,{}[]()\";";
    let mut i = 0;
    while i < ends.len() {
        table[ends[i] as usize] = true;
        i += 1;
    }
    table
};

impl<'a> Cursor<'a> {
    /// The current byte.
    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Reads the given byte.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), Stop> {
        match self.peek() {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(Stop::Expected(what)),
            None => Err(Stop::Incomplete),
        }
    }

    /// Reads the bytes up to the end of the token. More text must follow the token.
    #[inline]
    pub(crate) fn token(&mut self) -> Result<&'a [u8], Stop> {
        let rest = &self.bytes[self.at..];
        let Some(len) = rest.iter().position(|&b| ENDS_TOKEN[usize::from(b)]) else {
            self.at = self.bytes.len();
            return Err(Stop::Incomplete);
        };
        self.at += len;
        Ok(&rest[..len])
    }

    /// Reads a string: the bytes between its quotes, and whether they contain escapes.
    pub(crate) fn quoted(&mut self) -> Result<(&'a [u8], bool), Stop> {
        let start = self.at + 1;
        let mut at = start;
        let mut escapes = false;
        loop {
            let rest = self.bytes.get(at..).unwrap_or(&[]);
            let Some(n) = memchr::memchr2(b'"', b'\\', rest) else { return Err(Stop::Incomplete) };
            if rest[n] == b'"' {
                self.at = at + n + 1;
                return Ok((&self.bytes[start..at + n], escapes));
            }
            escapes = true;
            at += n + 2;
        }
    }

    /// Reads a string as a value.
    pub(crate) fn text(&mut self, values: &mut Values) -> Result<Value, Stop> {
        let start = self.at;
        let (raw, escapes) = self.quoted()?;
        let end = std::mem::replace(&mut self.at, start + 1);
        let text = self.utf8(raw)?;
        let value = if escapes { values.text(&self.unescape(text)?) } else { values.text(text) };
        self.at = end;
        Ok(value)
    }

    /// Converts bytes to text. `raw` must begin at the cursor, which is left at the first invalid byte.
    pub(crate) fn utf8(&mut self, raw: &'a [u8]) -> Result<&'a str, Stop> {
        std::str::from_utf8(raw).map_err(|error| {
            self.at += error.valid_up_to();
            Stop::Expected("text in UTF-8")
        })
    }

    /// Resolves the escapes of a string that begins at the cursor.
    fn unescape(&mut self, raw: &str) -> Result<String, Stop> {
        let start = self.at;
        let mut out = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(n) = rest.find('\\') {
            out.push_str(&rest[..n]);
            rest = &rest[n..];
            self.at = start + raw.len() - rest.len();
            let (c, len) = escape(rest).ok_or(Stop::Expected("an escape such as \\n or \\u00e9"))?;
            out.push(c);
            rest = &rest[len..];
        }
        out.push_str(rest);
        Ok(out)
    }

    /// Reads a number: an integer of up to 64 bits, or a floating-point number. `suffixes` allows EDN's `N`
    /// and `M`.
    #[inline]
    pub(crate) fn number(&mut self, values: &mut Values, suffixes: bool) -> Result<Value, Stop> {
        let rest = &self.bytes[self.at..];
        let mut n = 0u32;
        // Nine digits always fit. All other tokens take the slow path.
        for (len, &byte) in rest.iter().take(10).enumerate() {
            let digit = byte.wrapping_sub(b'0');
            if digit <= 9 {
                n = n.wrapping_mul(10).wrapping_add(u32::from(digit));
            } else if ENDS_TOKEN[usize::from(byte)] && len > 0 {
                self.at += len;
                return Ok(values.nat(u64::from(n)));
            } else {
                break;
            }
        }
        self.long_number(values, suffixes)
    }

    #[cold]
    fn long_number(&mut self, values: &mut Values, suffixes: bool) -> Result<Value, Stop> {
        let start = self.at;
        let token = self.token()?;
        let end = std::mem::replace(&mut self.at, start);
        let datum = number(token, suffixes)?;
        self.at = end;
        Ok(values.add(datum))
    }

    /// Reads an integer of 64 bits; `None`, without moving, if there is none.
    #[inline]
    pub(crate) fn integer(&mut self) -> Result<Option<i64>, Stop> {
        let mut n = 0i64;
        // Eighteen digits always fit. All other tokens take the slow path.
        for (len, &byte) in self.bytes[self.at..].iter().take(19).enumerate() {
            let digit = byte.wrapping_sub(b'0');
            if digit <= 9 {
                n = n.wrapping_mul(10).wrapping_add(i64::from(digit));
            } else if ENDS_TOKEN[usize::from(byte)] && len > 0 {
                self.at += len;
                return Ok(Some(n));
            } else {
                break;
            }
        }
        self.long_integer()
    }

    #[cold]
    fn long_integer(&mut self) -> Result<Option<i64>, Stop> {
        let start = self.at;
        if !matches!(self.peek(), Some(b'0'..=b'9' | b'-' | b'+')) {
            return Ok(None);
        }
        if let Ok(Datum::Int(n)) = number(self.token()?, true) {
            return Ok(Some(n));
        }
        self.at = start;
        Ok(None)
    }

    /// Skips the form that begins here.
    #[inline]
    pub(crate) fn skip<S: Syntax>(&mut self) -> Result<(), Stop> {
        match self.peek() {
            None => Err(Stop::Incomplete),
            Some(b'{' | b'[' | b'(' | b'"') => self.skip_brackets::<S>(),
            Some(b'#') if !S::JSON && self.bytes.get(self.at + 1) == Some(&b'{') => {
                self.at += 1;
                self.skip_brackets::<S>()
            }
            Some(b'\\') if !S::JSON => {
                self.at = (self.at + 2).min(self.bytes.len());
                self.token().map(|_| ())
            }
            Some(byte) if ENDS_TOKEN[usize::from(byte)] => Err(Stop::Expected("a value")),
            Some(_) => self.token().map(|_| ()),
        }
    }

    fn skip_brackets<S: Syntax>(&mut self) -> Result<(), Stop> {
        if Skip::new().advance::<S>(self.bytes, &mut self.at)? { Ok(()) } else { Err(Stop::Incomplete) }
    }
}

/// The character of an escape, and the length of the escape.
fn escape(text: &str) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then_some(())?;
        u32::from_str_radix(digits, 16).ok()
    };
    let c = match text.as_bytes().get(1)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        &c @ (b'"' | b'\\' | b'/') => char::from(c),
        b'u' => {
            let first = unit(0)?;
            if (0xd800..0xdc00).contains(&first) {
                let second = unit(6).filter(|second| (0xdc00..0xe000).contains(second))?;
                let c = char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))?;
                return Some((c, 12));
            }
            return Some((char::from_u32(first)?, 6));
        }
        _ => return None,
    };
    Some((c, 2))
}

/// The value of a token that begins like a number.
fn number(token: &[u8], suffixes: bool) -> Result<Datum<'static>, Stop> {
    const A_NUMBER: Stop = Stop::Expected("a number");
    let text = std::str::from_utf8(token).map_err(|_| A_NUMBER)?;
    let plain = if suffixes { text.strip_suffix('N').unwrap_or(text) } else { text };
    let digits = plain.strip_prefix(['-', '+']).unwrap_or(plain);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        let too_long = Stop::Expected("an integer of at most 64 bits");
        return match plain.parse::<i64>() {
            Ok(n) => Ok(Datum::Int(n)),
            Err(_) => plain.parse().map(Datum::Nat).map_err(|_| too_long),
        };
    }
    let plain = if suffixes { text.strip_suffix('M').unwrap_or(text) } else { text };
    let digits = plain.strip_prefix(['-', '+']).unwrap_or(plain);
    let is_float = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if is_float { plain.parse().map(Datum::Float).map_err(|_| A_NUMBER) } else { Err(A_NUMBER) }
}

/// Describes an unexpected byte, for messages.
pub(crate) fn describe(bytes: &[u8], at: usize) -> String {
    let Some(&first) = bytes.get(at) else { return "the input ends too soon".to_owned() };
    if !ENDS_TOKEN[usize::from(first)] && first != b'\\' {
        let rest = &bytes[at..bytes.len().min(at + 32)];
        let end = rest.iter().position(|&b| ENDS_TOKEN[usize::from(b)]).unwrap_or(rest.len());
        if let Ok(token) = std::str::from_utf8(&rest[..end])
            && !token.chars().any(char::is_control)
        {
            let more = if end == 32 { "..." } else { "" };
            return format!("unexpected `{token}{more}`");
        }
    }
    match first {
        b'\n' | b'\r' => "the line ends too soon".to_owned(),
        b' ' | b'\t' => "unexpected space".to_owned(),
        c if c.is_ascii_graphic() => format!("unexpected `{}`", char::from(c)),
        c => format!("unexpected byte 0x{c:02x}"),
    }
}

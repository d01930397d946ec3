//! A place in the text, and the words both syntaxes share.
//!
//! [`Syntax`] is what EDN and JSON disagree on: white space, separators, how a name is spelt and what a
//! scalar looks like. Everything above it (operation maps, micro-operations, histories) is written once.
//!
//! The text is a piece of the input that may end anywhere. [`Stop::Incomplete`] says that it ended inside
//! something and that more text may make it right; [`Stop::Expected`] that no further text will.

use isoscope_history::{Datum, Value, Values};

use super::skip::Skip;
use super::write::Script;

/// Why a form was not read. The cursor is left at the byte in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The text ends too soon.
    Incomplete,
    /// Something else was expected.
    Expected(&'static str),
}

/// The lexical half of a format; see the module.
pub(crate) trait Syntax: Script + 'static {
    /// Whether this is JSON: no comments, no characters, strings for keywords.
    const JSON: bool;

    /// Goes over everything that means nothing: white space, and in EDN commas, comments, discarded forms
    /// and tags.
    fn space(cursor: &mut Cursor<'_>) -> Result<(), Stop>;

    /// Goes to the next element before `close`, or over `close`, and says which. `first` tells whether an
    /// element came before, and is kept up to date.
    fn more(cursor: &mut Cursor<'_>, close: u8, first: &mut bool) -> Result<bool, Stop>;

    /// Goes from a key to its value.
    fn after_key(cursor: &mut Cursor<'_>) -> Result<(), Stop>;

    /// Goes over an opening bracket of a sequence and gives its closing one; `None`, without moving, when
    /// there is no such bracket.
    fn open(cursor: &mut Cursor<'_>) -> Option<u8>;

    /// A name: a keyword, or in JSON a string. `None`, without moving, when there is none.
    fn name<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, Stop>;

    /// A scalar.
    fn scalar(cursor: &mut Cursor<'_>, values: &mut Values) -> Result<Value, Stop>;
}

/// What a value may be, for messages.
pub(crate) const A_SCALAR: &str = "a number, string, keyword, true, false or nil";

/// A place in a text.
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
    /// The byte here.
    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Goes over one certain byte.
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

    /// The run of bytes up to something that ends a token. The text must go on after it.
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

    /// A string: what stands between its quotes, and whether there are escapes in it.
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

    /// A string as a value.
    pub(crate) fn text(&mut self, values: &mut Values) -> Result<Value, Stop> {
        let start = self.at;
        let (raw, escapes) = self.quoted()?;
        let end = std::mem::replace(&mut self.at, start + 1);
        let text = self.utf8(raw)?;
        let value = if escapes { values.text(&self.unescape(text)?) } else { values.text(text) };
        self.at = end;
        Ok(value)
    }

    /// Bytes as text. `raw` must begin at the cursor, which is left at the first bad byte.
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

    /// A number: an integer of up to 64 bits, or a floating-point one. `suffixes` allows EDN's `N` and `M`.
    #[inline]
    pub(crate) fn number(&mut self, values: &mut Values, suffixes: bool) -> Result<Value, Stop> {
        let rest = &self.bytes[self.at..];
        let mut n = 0u32;
        // Nine digits always fit; whatever else is in the token goes the slow way.
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

    /// An integer of 64 bits, if that is what stands here; `None`, without moving, otherwise.
    #[inline]
    pub(crate) fn integer(&mut self) -> Result<Option<i64>, Stop> {
        let mut n = 0i64;
        // Eighteen digits always fit; whatever else is in the token goes the slow way.
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

    /// Goes over the form that begins here, whatever it is.
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

/// The character an escape stands for, and how long the escape is.
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

/// What a token that begins like a number is.
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

/// What stands where something else was expected, for messages.
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

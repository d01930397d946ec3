//! A pull parser for JSON.
//!
//! The readers of JSON formats know what comes next, so no document tree is built. A [`Scanner`] is at a byte
//! and is asked for the expected element. If it finds something else, it returns a [`Fault`] with the
//! position and the expectation. Containers are read with [`Scanner::open`] and [`Scanner::more`]:
//!
//! ```text
//! scanner.open(b'[', "a list")?;
//! while scanner.more(b']')? { scanner.scalar("an element")?; }
//! ```
//!
//! Invariants: a scanner never recurses, so nesting costs no stack, and skipping fails below the nesting
//! depth [`DEEPEST`]. Integers are exact up to 64 bits; larger ones are an error. Text that is not UTF-8 is
//! an error. Input that is cut off faults exactly at its end. This is how a reader distinguishes the
//! recording of a crashed recorder from garbage ([`Fault::is_end`]).

use std::borrow::Cow;

use crate::problem::Problems;

/// The maximal nesting depth of containers.
pub(crate) const DEEPEST: usize = 128;

/// The reason why the requested element was not read.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The offset of the offending byte.
    pub(crate) at: usize,
    /// What is wrong, if "unexpected" is not enough.
    message: Option<&'static str>,
    /// What was expected, or how to fix it.
    expected: &'static str,
}

/// The requested element, or a fault.
pub(crate) type Scanned<T> = Result<T, Fault>;

impl Fault {
    /// An unexpected byte at an offset.
    #[cold]
    pub(crate) fn unexpected(at: usize, expected: &'static str) -> Fault {
        Fault { at, message: None, expected }
    }

    /// An element that is syntactically correct and has an invalid meaning.
    #[cold]
    pub(crate) fn wrong(at: usize, message: &'static str, expected: &'static str) -> Fault {
        Fault { at, message: Some(message), expected }
    }

    /// Whether the input is correct up to its end.
    pub(crate) fn is_end(&self, bytes: &[u8]) -> bool {
        self.at >= bytes.len()
    }

    /// Reports the fault; the scanned bytes begin at position `base`.
    pub(crate) fn report(&self, bytes: &[u8], base: u64, problems: &mut Problems) {
        let message = match self.message {
            Some(message) => message.to_owned(),
            None => describe(bytes, self.at),
        };
        problems.error(Some(base + self.at as u64), message, self.expected);
    }
}

/// Describes an unexpected byte.
fn describe(bytes: &[u8], at: usize) -> String {
    match bytes.get(at) {
        None => "the input ends here".to_owned(),
        Some(b'\n' | b'\r') => "the line ends here".to_owned(),
        Some(c) if c.is_ascii_graphic() => format!("unexpected `{}`", char::from(*c)),
        Some(b' ' | b'\t') => "unexpected space".to_owned(),
        Some(c) => format!("unexpected byte 0x{c:02x}"),
    }
}

/// A number, exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// An integer that fits.
    Int(i64),
    /// An integer above `i64::MAX`.
    Nat(u64),
    /// A number with a fraction or an exponent.
    Float(f64),
}

/// A value that is not a container.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
}

/// A position in a JSON text; see the module documentation.
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether a container was just opened, so that no comma may follow.
    first: bool,
}

impl<'a> Scanner<'a> {
    /// A scanner at the first byte.
    pub(crate) fn new(bytes: &'a [u8]) -> Scanner<'a> {
        Scanner { bytes, at: 0, first: false }
    }

    /// The offset of the next byte that is not white space.
    #[inline]
    pub(crate) fn at(&mut self) -> usize {
        self.space();
        self.at
    }

    /// The next byte that is not white space; 0 at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> u8 {
        self.space();
        self.byte()
    }

    #[inline]
    fn byte(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    #[inline]
    fn space(&mut self) {
        while matches!(self.byte(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    /// A fault at the current position.
    #[cold]
    pub(crate) fn fail<T>(&mut self, expected: &'static str) -> Scanned<T> {
        let at = self.at();
        Err(Fault::unexpected(at, expected))
    }

    /// Whether the whole input was read.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.at() == self.bytes.len()
    }

    /// Checks that nothing follows.
    pub(crate) fn end(&mut self, expected: &'static str) -> Scanned<()> {
        if self.is_at_end() { Ok(()) } else { self.fail(expected) }
    }

    /// Reads one byte, which must be next.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, expected: &'static str) -> Scanned<()> {
        if self.peek() == byte {
            self.at += 1;
            Ok(())
        } else {
            self.fail(expected)
        }
    }

    /// Enters a container.
    #[inline]
    pub(crate) fn open(&mut self, bracket: u8, expected: &'static str) -> Scanned<()> {
        self.expect(bracket, expected)?;
        self.first = true;
        Ok(())
    }

    /// Moves to the next element of the container that `close` ends. At its end, reads `close` and returns
    /// false.
    #[inline]
    pub(crate) fn more(&mut self, close: u8) -> Scanned<bool> {
        let first = std::mem::replace(&mut self.first, false);
        let next = self.peek();
        if next == close {
            self.at += 1;
            return Ok(false);
        }
        if first {
            return Ok(true);
        }
        if next != b',' {
            return self.fail(if close == b']' { "`,` or `]`" } else { "`,` or `}`" });
        }
        self.at += 1;
        if self.peek() == close {
            return self.fail("another element after `,`");
        }
        Ok(true)
    }

    /// Moves to an element, which must exist.
    #[inline]
    pub(crate) fn next(&mut self, close: u8, expected: &'static str) -> Scanned<()> {
        let at = self.at();
        if self.more(close)? { Ok(()) } else { Err(Fault::unexpected(at, expected)) }
    }

    /// Reads the end of a container, which must be next.
    #[inline]
    pub(crate) fn close(&mut self, close: u8, expected: &'static str) -> Scanned<()> {
        let at = self.at();
        if self.more(close)? { Err(Fault::unexpected(at, expected)) } else { Ok(()) }
    }

    /// Reads the name of an object's member, and its colon.
    #[inline]
    pub(crate) fn name(&mut self) -> Scanned<Cow<'a, str>> {
        let name = self.string("a name in quotes")?;
        self.expect(b':', "`:` after the name")?;
        Ok(name)
    }

    /// Reads a string.
    #[inline]
    pub(crate) fn string(&mut self, expected: &'static str) -> Scanned<Cow<'a, str>> {
        self.expect(b'"', expected)?;
        let start = self.at;
        loop {
            match self.byte() {
                b'"' => break,
                b'\\' => return self.escaped_string(start).map(Cow::Owned),
                0..0x20 => return self.bad_string_byte(),
                _ => self.at += 1,
            }
        }
        let content = &self.bytes[start..self.at];
        self.at += 1;
        utf8(content, start).map(Cow::Borrowed)
    }

    #[cold]
    fn bad_string_byte<T>(&mut self) -> Scanned<T> {
        if self.at == self.bytes.len() {
            return Err(Fault::unexpected(self.at, "`\"` at the end of the text"));
        }
        Err(Fault::wrong(self.at, "a control character inside a text", "an escape such as \\n or \\u0000"))
    }

    /// Reads the rest of a string after its first escape.
    #[cold]
    fn escaped_string(&mut self, start: usize) -> Scanned<String> {
        let mut text = String::new();
        let mut from = start;
        loop {
            let run = memchr::memchr2(b'"', b'\\', &self.bytes[self.at..]);
            let end = self.at + run.unwrap_or(self.bytes.len() - self.at);
            if let Some(bad) = self.bytes[self.at..end].iter().position(|&c| c < 0x20) {
                self.at += bad;
                return self.bad_string_byte();
            }
            self.at = end;
            if run.is_none() {
                return self.bad_string_byte();
            }
            text.push_str(utf8(&self.bytes[from..end], from)?);
            self.at += 1;
            if self.bytes[end] == b'"' {
                return Ok(text);
            }
            text.push(self.escape()?);
            from = self.at;
        }
    }

    /// Reads an escape after its backslash.
    fn escape(&mut self) -> Scanned<char> {
        let c = match self.byte() {
            c @ (b'"' | b'\\' | b'/') => char::from(c),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(Fault::unexpected(self.at, "one of \" \\ / b f n r t u after `\\`")),
        };
        self.at += 1;
        Ok(c)
    }

    /// Reads the character of `\uXXXX`, or of a surrogate pair.
    fn unicode(&mut self) -> Scanned<char> {
        let start = self.at.saturating_sub(2);
        let alone = || Fault::wrong(start, "half of a surrogate pair", "both halves, as in \\ud83d\\ude00");
        let first = self.hex4()?;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        // A pair split by the end of the input is cut off, not wrong.
        for byte in *b"\\u" {
            match self.bytes.get(self.at) {
                Some(&found) if found == byte => self.at += 1,
                None => return Err(Fault::unexpected(self.at, "the other half of a surrogate pair")),
                Some(_) => return Err(alone()),
            }
        }
        let second = self.hex4()?;
        if !(0xd800..0xdc00).contains(&first) || !(0xdc00..0xe000).contains(&second) {
            return Err(alone());
        }
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or_else(alone)
    }

    fn hex4(&mut self) -> Scanned<u32> {
        let mut n = 0;
        for _ in 0..4 {
            let digit = char::from(self.byte()).to_digit(16);
            let Some(digit) = digit else { return Err(Fault::unexpected(self.at, "four hex digits")) };
            n = n << 4 | digit;
            self.at += 1;
        }
        Ok(n)
    }

    /// Reads a number.
    #[inline]
    pub(crate) fn number(&mut self, expected: &'static str) -> Scanned<Number> {
        self.space();
        let start = self.at;
        let negative = self.byte() == b'-';
        self.at += usize::from(negative);
        let digits = self.at;
        let mut n = 0u64;
        loop {
            let digit = self.byte().wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            n = n.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        let count = self.at - digits;
        let odd = matches!(self.byte(), b'.' | b'e' | b'E');
        if count == 0 || count > 18 || odd || (self.bytes[digits] == b'0' && count > 1) {
            return self.odd_number(start, digits, expected);
        }
        let n = n.cast_signed(); // At most 18 digits.
        Ok(Number::Int(if negative { -n } else { n }))
    }

    /// Reads a number that is not a short integer, or fails.
    #[cold]
    fn odd_number(&mut self, start: usize, digits: usize, expected: &'static str) -> Scanned<Number> {
        if self.at == digits {
            let what = if digits > start { "a digit after `-`" } else { expected };
            return Err(Fault::unexpected(self.at, what));
        }
        if self.bytes[digits] == b'0' && self.at > digits + 1 {
            return Err(Fault::unexpected(digits + 1, "a number without leading zeros"));
        }
        let mut float = false;
        if self.byte() == b'.' {
            float = true;
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), b'e' | b'E') {
            float = true;
            self.at += 1;
            if matches!(self.byte(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = utf8(&self.bytes[start..self.at], start)?;
        if float {
            let parsed = text.parse().ok().filter(|x: &f64| x.is_finite());
            return parsed.map(Number::Float).ok_or(Fault::wrong(
                start,
                "a number that is too large",
                "a 64-bit floating-point number",
            ));
        }
        let int = text.parse().map(Number::Int).or_else(|_| text.parse().map(Number::Nat));
        int.map_err(|_| Fault::wrong(start, "a number that is too large", "an integer of at most 64 bits"))
    }

    fn digits(&mut self) -> Scanned<()> {
        let start = self.at;
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(Fault::unexpected(self.at, "a digit")) }
    }

    /// Reads a value that is not a container.
    #[inline]
    pub(crate) fn scalar(&mut self, expected: &'static str) -> Scanned<Scalar<'a>> {
        match self.peek() {
            b'"' => Ok(Scalar::Text(self.string(expected)?)),
            b'-' | b'0'..=b'9' => Ok(Scalar::Number(self.number(expected)?)),
            b't' => self.literal("true").map(|()| Scalar::Bool(true)),
            b'f' => self.literal("false").map(|()| Scalar::Bool(false)),
            b'n' => self.literal("null").map(|()| Scalar::Null),
            _ => self.fail(expected),
        }
    }

    /// Reads `true` or `false`.
    pub(crate) fn boolean(&mut self, expected: &'static str) -> Scanned<bool> {
        let at = self.at();
        match self.scalar(expected)? {
            Scalar::Bool(b) => Ok(b),
            _ => Err(Fault::unexpected(at, expected)),
        }
    }

    /// Reads a word without quotes. If it is cut off, the fault is at the end of the input.
    fn literal(&mut self, word: &'static str) -> Scanned<()> {
        for &byte in word.as_bytes() {
            if self.bytes.get(self.at) != Some(&byte) {
                return Err(Fault::unexpected(self.at, word));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Reads and discards a value of any kind. The open containers are the bits of a number.
    pub(crate) fn skip_value(&mut self) -> Scanned<()> {
        let (mut objects, mut depth) = (0u128, 0);
        loop {
            match self.peek() {
                open @ (b'[' | b'{') => {
                    if depth == DEEPEST {
                        return Err(too_deep(self.at));
                    }
                    objects = objects << 1 | u128::from(open == b'{');
                    depth += 1;
                    self.open(open, "")?;
                }
                _ => {
                    self.scalar("a value")?;
                }
            }
            loop {
                if depth == 0 {
                    return Ok(());
                }
                let object = objects & 1 == 1;
                if self.more(if object { b'}' } else { b']' })? {
                    if object {
                        self.name()?;
                    }
                    break;
                }
                objects >>= 1;
                depth -= 1;
            }
        }
    }
}

/// The fault of containers that are nested too deep.
#[cold]
pub(crate) fn too_deep(at: usize) -> Fault {
    Fault::wrong(at, "nested too deep", "at most 128 lists and objects inside each other")
}

#[inline]
fn utf8(bytes: &[u8], at: usize) -> Scanned<&str> {
    std::str::from_utf8(bytes)
        .map_err(|error| Fault::wrong(at + error.valid_up_to(), "not UTF-8", "text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spell::{push_int, push_text};

    fn scalar(text: &str) -> Result<Scalar<'_>, (usize, &'static str)> {
        let mut scanner = Scanner::new(text.as_bytes());
        let found = scanner.scalar("a value").map_err(|fault| (fault.at, fault.expected));
        found.and_then(|scalar| scanner.end("the end").map(|()| scalar).map_err(|f| (f.at, f.expected)))
    }

    #[test]
    fn numbers_are_exact() {
        let number = |text| match scalar(text) {
            Ok(Scalar::Number(n)) => n,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(number("0"), Number::Int(0));
        assert_eq!(number(" -0 "), Number::Int(0));
        assert_eq!(number("-9223372036854775808"), Number::Int(i64::MIN));
        assert_eq!(number("9223372036854775807"), Number::Int(i64::MAX));
        assert_eq!(number("9223372036854775808"), Number::Nat(1 << 63));
        assert_eq!(number("18446744073709551615"), Number::Nat(u64::MAX));
        assert_eq!(number("1.0"), Number::Float(1.0));
        assert_eq!(number("-2.5e-3"), Number::Float(-0.0025));
        assert_eq!(number("1E+2"), Number::Float(100.0));
        for (text, at) in [
            ("18446744073709551616", 0),
            ("-9223372036854775809", 0),
            ("1e999", 0),
            ("01", 1),
            ("-", 1),
            ("1.", 2),
            ("1e", 2),
            (".5", 0),
            ("+1", 0),
            ("1x", 1),
        ] {
            assert_eq!(scalar(text).map_err(|(at, _)| at), Err(at), "{text}");
        }
    }

    #[test]
    fn text_is_unescaped() {
        let text = |t: &str| match scalar(t) {
            Ok(Scalar::Text(text)) => text.into_owned(),
            other => panic!("{t}: {other:?}"),
        };
        assert_eq!(text(r#""""#), "");
        assert_eq!(text(r#""a\"\\\/\b\f\n\r\t\u0041é""#), "a\"\\/\u{8}\u{c}\n\r\tAé");
        assert_eq!(text(r#""\ud83d\ude00!""#), "😀!");
        for (bad, at) in [
            (r#""\x""#, 2),
            (r#""\u12g4""#, 5),
            (r#""\ud83d""#, 1),
            (r#""\ud83dx""#, 1),
            (r#""\ud83d\u0041""#, 1),
            (r#""\ude00\ud83d""#, 1),
            ("\"a\nb\"", 2),
            ("\"a\\n\nb\"", 4),
            ("\"\u{0}\"", 1),
        ] {
            assert_eq!(scalar(bad).map_err(|(at, _)| at), Err(at), "{bad}");
        }
    }

    #[test]
    fn text_is_utf8() {
        for (bytes, at) in
            [(&b"\"ab\xff\""[..], 3), (b"\"\\n\xc3\"", 3), (b"\"0123456789abcdef\xe2\x82 \"", 17)]
        {
            let fault = Scanner::new(bytes).string("a text").unwrap_err();
            assert_eq!((fault.at, fault.message), (at, Some("not UTF-8")));
        }
    }

    /// Every proper prefix of a value faults at its end. This distinguishes cut-off input from garbage.
    #[test]
    fn cut_off_input_faults_at_its_end() {
        let text = "{\"a\\u00e9\\ud83d\\ude00é\": [true, false, null, -1.5e-7, \"x\\n\", {}, []], \"b\": {\"c\": 1}}";
        for cut in 0..text.len() {
            let bytes = &text.as_bytes()[..cut];
            let fault = Scanner::new(bytes).skip_value().unwrap_err();
            assert!(fault.is_end(bytes), "{:?} faults at {}", String::from_utf8_lossy(bytes), fault.at);
        }
        let mut scanner = Scanner::new(text.as_bytes());
        scanner.skip_value().unwrap();
        assert!(scanner.is_at_end());
    }

    #[test]
    fn containers_are_strict() {
        for (text, at) in [
            ("[1,]", 3),
            ("[,1]", 1),
            ("[1 2]", 3),
            ("{\"a\" 1}", 5),
            ("{\"a\":1,}", 7),
            ("{a:1}", 1),
            ("[1}", 2),
            ("]", 0),
            ("tru]", 3),
        ] {
            let fault = Scanner::new(text.as_bytes()).skip_value().unwrap_err();
            assert_eq!(fault.at, at, "{text}");
        }
    }

    #[test]
    fn nesting_is_limited_and_uses_no_stack() {
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(Scanner::new(nested(DEEPEST).as_bytes()).skip_value().is_ok());
        for text in [nested(DEEPEST + 1), "[".repeat(100_000), "{\"a\":".repeat(100_000)] {
            let fault = Scanner::new(text.as_bytes()).skip_value().unwrap_err();
            assert_eq!(fault.message, Some("nested too deep"));
        }
        // The bits of containers that were closed are cleared.
        assert!(Scanner::new(b"[[{},[]],{\"a\":[{}]},[]]").skip_value().is_ok());
    }

    #[test]
    fn pushed_text_reads_back() {
        let text: String = (0..0x250u32).filter_map(char::from_u32).chain("\"\\/😀".chars()).collect();
        let mut out = Vec::new();
        push_text(&mut out, &text);
        assert_eq!(Scanner::new(&out).string("").unwrap(), text);
        assert!(!out.contains(&b'\n'));
        for n in [0, 1, -1, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            push_int(&mut out, n);
            assert_eq!(Scanner::new(&out).number("").unwrap(), Number::Int(n));
        }
    }
}

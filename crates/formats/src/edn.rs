//! Jepsen and Elle histories in EDN: the lexical part. [`crate::jepsen`] interprets the maps.
//!
//! ```text
//! {:index 0, :type :invoke, :process 0, :f :txn, :value [[:append 1 7] [:r 2 nil]]}
//! {:index 1, :type :ok,     :process 0, :f :txn, :value [[:append 1 7] [:r 2 [3 4]]]}
//! ```
//!
//! Commas are white space, `;` begins a comment, and `#_` discards the next form. A tag such as
//! `#jepsen.history.Op` has no meaning here and is skipped. Symbols are read as keywords, since the model has
//! one kind for both.

use isoscope_history::{Datum, Value, Values};

use crate::Losses;
use crate::jepsen::composite::is_canonical;
use crate::jepsen::cursor::{A_SCALAR, Cursor, Stop, Syntax};
use crate::jepsen::write::{Script, push_plain};
use crate::spell::push_text;

/// The syntax of EDN.
pub(crate) struct Edn;

impl Syntax for Edn {
    const JSON: bool = false;

    #[inline]
    fn space(cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        loop {
            match cursor.peek() {
                Some(b' ' | b',' | b'\n' | b'\t' | b'\r' | 0x0b | 0x0c) => cursor.at += 1,
                Some(b';' | b'#') => return rare_space(cursor),
                _ => return Ok(()),
            }
        }
    }

    #[inline]
    fn more(cursor: &mut Cursor<'_>, close: u8, first: &mut bool) -> Result<bool, Stop> {
        *first = false;
        Edn::space(cursor)?;
        match cursor.peek() {
            None => Err(Stop::Incomplete),
            Some(byte) if byte == close => {
                cursor.at += 1;
                Ok(false)
            }
            Some(_) => Ok(true),
        }
    }

    #[inline]
    fn after_key(cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        Edn::space(cursor)
    }

    #[inline]
    fn open(cursor: &mut Cursor<'_>) -> Option<u8> {
        let close = match cursor.peek()? {
            b'[' => b']',
            b'(' => b')',
            _ => return None,
        };
        cursor.at += 1;
        Some(close)
    }

    #[inline]
    fn name<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, Stop> {
        match cursor.peek() {
            None => Err(Stop::Incomplete),
            Some(b':') => {
                cursor.at += 1;
                cursor.token().map(Some)
            }
            Some(_) => Ok(None),
        }
    }

    #[inline]
    fn scalar(cursor: &mut Cursor<'_>, values: &mut Values) -> Result<Value, Stop> {
        match cursor.peek() {
            None => Err(Stop::Incomplete),
            Some(b'0'..=b'9') => cursor.number(values, true),
            Some(_) => other_scalar(cursor, values),
        }
    }
}

/// Rare kinds of white space: comments, discarded forms, tags. `#_ #_ a b` discards both.
#[cold]
fn rare_space(cursor: &mut Cursor<'_>) -> Result<(), Stop> {
    let mut discards = 0u32;
    loop {
        match (cursor.peek(), cursor.bytes.get(cursor.at + 1)) {
            (Some(b' ' | b',' | b'\n' | b'\t' | b'\r' | 0x0b | 0x0c), _) => cursor.at += 1,
            (Some(b';'), _) => {
                let comment = memchr::memchr(b'\n', &cursor.bytes[cursor.at..]);
                cursor.at += comment.ok_or(Stop::Incomplete)? + 1;
            }
            (Some(b'#'), None) => return Err(Stop::Incomplete),
            (Some(b'#'), Some(b'_')) => {
                cursor.at += 2;
                discards += 1;
            }
            (Some(b'#'), Some(next)) if next.is_ascii_alphabetic() => {
                cursor.token()?;
                // A tag belongs to the following form.
                if cursor.at == cursor.bytes.len() {
                    return Err(Stop::Incomplete);
                }
            }
            (None, _) if discards > 0 => return Err(Stop::Incomplete),
            _ if discards == 0 => return Ok(()),
            _ => {
                cursor.skip::<Edn>()?;
                discards -= 1;
            }
        }
    }
}

fn other_scalar(cursor: &mut Cursor<'_>, values: &mut Values) -> Result<Value, Stop> {
    let start = cursor.at;
    match cursor.bytes[start] {
        b'"' => return cursor.text(values),
        b'-' | b'+' if matches!(cursor.bytes.get(start + 1), Some(b'0'..=b'9')) => {
            return cursor.number(values, true);
        }
        b'{' | b'[' | b'(' | b'}' | b']' | b')' | b'\\' => return Err(Stop::Expected(A_SCALAR)),
        b'#' if cursor.bytes.get(start + 1) != Some(&b'#') => return Err(Stop::Expected(A_SCALAR)),
        _ => {}
    }
    let token = cursor.token()?;
    let end = std::mem::replace(&mut cursor.at, start);
    let value = match token {
        b"nil" => Value::NIL,
        b"true" => values.add(Datum::Bool(true)),
        b"false" => values.add(Datum::Bool(false)),
        b"##Inf" => values.add(Datum::Float(f64::INFINITY)),
        b"##-Inf" => values.add(Datum::Float(f64::NEG_INFINITY)),
        b"##NaN" => values.add(Datum::Float(f64::NAN)),
        [b'#', ..] | b":" | b"" => return Err(Stop::Expected(A_SCALAR)),
        _ => {
            let name = cursor.utf8(token)?;
            values.keyword(name.strip_prefix(':').unwrap_or(name))
        }
    };
    cursor.at = end;
    Ok(value)
}

/// Whether a text begins like this format: with an operation map, alone or in a vector or list.
pub(crate) fn looks_like(text: &[u8]) -> bool {
    let mut cursor = Cursor { bytes: text, at: 0 };
    // If the head ends inside a comment or a discarded form, nothing else is known about the text.
    let begins_rarely = text.starts_with(b";") || text.starts_with(b"#_") || text.starts_with(b"#jepsen");
    if text.starts_with(b"#") && !begins_rarely && !is_tagged_map(text) {
        return false;
    }
    match Edn::space(&mut cursor) {
        Ok(()) if cursor.at == text.len() => return begins_rarely,
        Ok(()) => {}
        Err(_) => return begins_rarely,
    }
    if Edn::open(&mut cursor).is_some() && Edn::space(&mut cursor).is_err() {
        return false;
    }
    cursor.peek() == Some(b'{') && {
        cursor.at += 1;
        Edn::space(&mut cursor).is_ok() && cursor.peek() == Some(b':')
    }
}

/// Whether the text is `#some.tag{`, which is not a comment of another format.
fn is_tagged_map(text: &[u8]) -> bool {
    let name = text[1..].iter().take_while(|b| b.is_ascii_alphanumeric() || b".-_/".contains(b)).count();
    name > 0 && text[1 + name..].starts_with(b"{")
}

impl Script for Edn {
    const FORMAT: &'static str = "edn";
    const COLON: &'static [u8] = b" ";
    const COMMA: &'static [u8] = b", ";
    const BETWEEN: &'static [u8] = b" ";
    const NIL: &'static [u8] = b"nil";
    const MAPS: bool = true;

    fn push_name(out: &mut Vec<u8>, name: &str) {
        out.push(b':');
        out.extend_from_slice(name.as_bytes());
    }

    fn push_scalar(out: &mut Vec<u8>, datum: Datum<'_>, losses: &mut Losses) {
        match datum {
            Datum::Keyword(name) => {
                if let Some(spelling) = keyword(name) {
                    out.extend_from_slice(spelling.as_bytes());
                } else {
                    losses.add("keywords that EDN cannot express written as strings", 1);
                    push_text(out, name);
                }
            }
            Datum::Text(text) => push_text(out, text),
            // Clojure reads integers above 63 bits only with this suffix.
            Datum::Nat(n) => out.extend_from_slice(format!("{n}N").as_bytes()),
            Datum::Float(x) if x.is_nan() => out.extend_from_slice(b"##NaN"),
            Datum::Float(x) if x.is_infinite() => {
                out.extend_from_slice(if x > 0.0 { b"##Inf".as_slice() } else { b"##-Inf" });
            }
            other => push_plain(out, other),
        }
    }
}

/// A keyword in EDN that reads back as the same keyword. The name of a composite key is returned as that key.
/// `None` if the name cannot be expressed.
pub fn keyword(name: &str) -> Option<String> {
    let odd = |c: char| c.is_whitespace() || c.is_control() || " ,;()[]{}\"\\@^`~".contains(c);
    if !name.is_empty() && !name.contains(odd) {
        return Some(format!(":{name}"));
    }
    is_canonical::<Edn>(name).then(|| name.to_owned())
}

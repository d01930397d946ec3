//! elle-cli histories in JSON and JSON Lines: the lexical part. [`crate::jepsen`] interprets the maps.
//!
//! ```text
//! {"index":0,"type":"invoke","process":0,"f":"txn","value":[["append",1,7],["r",2,null]]}
//! {"index":1,"type":"ok","process":0,"f":"txn","value":[["append",1,7],["r",2,[3,4]]]}
//! ```
//!
//! The maps follow each other or are in one array. Strings take the place of keywords.

use isoscope_history::{Datum, Value, Values};

use crate::Losses;
use crate::jepsen::composite::is_canonical;
use crate::jepsen::cursor::{Cursor, Stop, Syntax};
use crate::jepsen::write::{Script, push_plain};
use crate::spell::push_text;

/// The syntax of JSON.
pub(crate) struct Json;

const A_SCALAR: &str = "a number, string, true, false or null";

impl Syntax for Json {
    const JSON: bool = true;

    #[inline]
    fn space(cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = cursor.peek() {
            cursor.at += 1;
        }
        Ok(())
    }

    #[inline]
    fn more(cursor: &mut Cursor<'_>, close: u8, first: &mut bool) -> Result<bool, Stop> {
        Json::space(cursor)?;
        let before = std::mem::replace(first, false);
        match cursor.peek() {
            None => Err(Stop::Incomplete),
            Some(byte) if byte == close => {
                cursor.at += 1;
                Ok(false)
            }
            Some(_) if before => Ok(true),
            Some(b',') => {
                cursor.at += 1;
                Json::space(cursor)?;
                if cursor.peek().is_none() { Err(Stop::Incomplete) } else { Ok(true) }
            }
            Some(_) if close == b'}' => Err(Stop::Expected("`,` or `}`")),
            Some(_) => Err(Stop::Expected("`,` or `]`")),
        }
    }

    #[inline]
    fn after_key(cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        Json::space(cursor)?;
        cursor.expect(b':', "`:` after the key")?;
        Json::space(cursor)
    }

    #[inline]
    fn open(cursor: &mut Cursor<'_>) -> Option<u8> {
        (cursor.peek()? == b'[').then(|| {
            cursor.at += 1;
            b']'
        })
    }

    /// Names with escapes are returned as spelt: no known name needs an escape.
    #[inline]
    fn name<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, Stop> {
        match cursor.peek() {
            None => Err(Stop::Incomplete),
            Some(b'"') => cursor.quoted().map(|(name, _)| Some(name)),
            Some(_) => Ok(None),
        }
    }

    #[inline]
    fn scalar(cursor: &mut Cursor<'_>, values: &mut Values) -> Result<Value, Stop> {
        match cursor.peek() {
            None => Err(Stop::Incomplete),
            Some(b'0'..=b'9' | b'-') => cursor.number(values, false),
            Some(b'"') => cursor.text(values),
            Some(_) => word(cursor, values),
        }
    }
}

fn word(cursor: &mut Cursor<'_>, values: &mut Values) -> Result<Value, Stop> {
    let start = cursor.at;
    let token = cursor.token()?;
    match token {
        b"null" => Ok(Value::NIL),
        b"true" => Ok(values.add(Datum::Bool(true))),
        b"false" => Ok(values.add(Datum::Bool(false))),
        _ => {
            cursor.at = start;
            Err(Stop::Expected(A_SCALAR))
        }
    }
}

/// Whether a text begins like this format: with an object whose `type` is one of Jepsen's.
pub(crate) fn looks_like(text: &[u8]) -> bool {
    let mut cursor = Cursor { bytes: text, at: 0 };
    Json::open(&mut cursor);
    has_type(&mut cursor).unwrap_or(false)
}

fn has_type(cursor: &mut Cursor<'_>) -> Result<bool, Stop> {
    Json::space(cursor)?;
    cursor.expect(b'{', "an object")?;
    let mut first = true;
    while Json::more(cursor, b'}', &mut first)? {
        let name = Json::name(cursor)?;
        Json::after_key(cursor)?;
        if name == Some(b"type") {
            return Ok(matches!(Json::name(cursor)?, Some(b"invoke" | b"ok" | b"fail" | b"info")));
        }
        cursor.skip::<Json>()?;
    }
    Ok(false)
}

impl Script for Json {
    const FORMAT: &'static str = "elle-json";
    const COLON: &'static [u8] = b":";
    const COMMA: &'static [u8] = b",";
    const BETWEEN: &'static [u8] = b",";
    const NIL: &'static [u8] = b"null";
    const MAPS: bool = false;

    fn push_name(out: &mut Vec<u8>, name: &str) {
        push_text(out, name);
    }

    fn push_scalar(out: &mut Vec<u8>, datum: Datum<'_>, losses: &mut Losses) {
        match datum {
            Datum::Keyword(name) if is_canonical::<Json>(name) => out.extend_from_slice(name.as_bytes()),
            Datum::Keyword(name) => {
                losses.add("keywords written as strings", 1);
                push_text(out, name);
            }
            Datum::Text(text) => push_text(out, text),
            Datum::Nat(n) => out.extend_from_slice(n.to_string().as_bytes()),
            Datum::Float(x) if !x.is_finite() => {
                losses.add("numbers that JSON cannot express written as strings", 1);
                push_text(out, &x.to_string());
            }
            other => push_plain(out, other),
        }
    }
}

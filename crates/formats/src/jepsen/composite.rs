//! Composite keys: vectors, lists, maps and sets.
//!
//! A key in Jepsen is any datum. A key in the model is a scalar, so a composite key is represented by its
//! canonical text, as a keyword: no keyword of the input is spelt like that. Equal data have equal texts:
//! entries of maps and sets are sorted by their spelling, a list is spelt as the equal vector, and numbers
//! are normalised.
//!
//! There is no recursion: open brackets are on a stack no deeper than [`NESTING`].

use isoscope_history::{Value, Values};

use super::cursor::{Cursor, Stop, Syntax};
use super::skip::NESTING;
use crate::Losses;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Vector,
    Map,
    Set,
}

/// An open bracket and its content so far.
struct Open {
    shape: Shape,
    close: u8,
    first: bool,
    parts: Vec<Vec<u8>>,
}

impl Open {
    /// Reads an opening bracket of any kind; `None`, without moving, if there is none.
    fn at<S: Syntax>(cursor: &mut Cursor<'_>) -> Option<Open> {
        let open = |shape, close| Open { shape, close, first: true, parts: Vec::new() };
        if let Some(close) = S::open(cursor) {
            return Some(open(Shape::Vector, close));
        }
        let (shape, len) = match (cursor.peek()?, cursor.bytes.get(cursor.at + 1)) {
            (b'{', _) => (Shape::Map, 1),
            (b'#', Some(b'{')) if !S::JSON => (Shape::Set, 2),
            _ => return None,
        };
        cursor.at += len;
        Some(open(shape, b'}'))
    }

    /// Whether the next element is the value of a map entry.
    fn is_at_value(&self) -> bool {
        self.shape == Shape::Map && self.parts.len() % 2 == 1
    }

    fn spell<S: Syntax>(self) -> Vec<u8> {
        let (begin, between, end): (&[u8], &[u8], u8) = match self.shape {
            Shape::Vector => (b"[", S::BETWEEN, b']'),
            Shape::Map => (b"{", S::COMMA, b'}'),
            Shape::Set => (b"#{", S::BETWEEN, b'}'),
        };
        let mut entries = match self.shape {
            Shape::Map => {
                let colon: &[u8] = if S::JSON { b":" } else { b" " };
                self.parts.chunks(2).map(|entry| entry.join(colon)).collect()
            }
            Shape::Vector | Shape::Set => self.parts,
        };
        if self.shape != Shape::Vector {
            entries.sort_unstable();
        }
        let mut text = begin.to_vec();
        text.extend(entries.join(between));
        text.push(end);
        text
    }
}

/// Reads a key that begins with a bracket; `None` if there is no bracket here.
pub(super) fn key<S: Syntax>(cursor: &mut Cursor<'_>, values: &mut Values) -> Result<Option<Value>, Stop> {
    let Some(text) = canonical::<S>(cursor)? else { return Ok(None) };
    // The text consists of valid text and numbers, so it is UTF-8.
    Ok(std::str::from_utf8(&text).ok().map(|text| values.keyword(text)))
}

/// Whether a name is the canonical text of a composite key in this syntax.
pub(crate) fn is_canonical<S: Syntax>(name: &str) -> bool {
    let mut cursor = Cursor { bytes: name.as_bytes(), at: 0 };
    let text = canonical::<S>(&mut cursor);
    matches!(text, Ok(Some(text)) if cursor.at == name.len() && text == name.as_bytes())
}

fn canonical<S: Syntax>(cursor: &mut Cursor<'_>) -> Result<Option<Vec<u8>>, Stop> {
    let Some(outermost) = Open::at::<S>(cursor) else { return Ok(None) };
    let mut values = Values::default();
    let mut stack = vec![outermost];
    while let Some(open) = stack.last_mut() {
        if open.is_at_value() {
            S::after_key(cursor)?;
        } else if !S::more(cursor, open.close, &mut open.first)? {
            let text = stack.pop().map(Open::spell::<S>);
            match stack.last_mut() {
                Some(open) => open.parts.extend(text),
                None => return Ok(text),
            }
            continue;
        }
        if let Some(inner) = Open::at::<S>(cursor) {
            if stack.len() == NESTING {
                return Err(Stop::Expected("brackets nested at most 128 deep"));
            }
            stack.push(inner);
        } else {
            let value = S::scalar(cursor, &mut values)?;
            let mut text = Vec::new();
            match value {
                Value::NIL => text.extend_from_slice(S::NIL),
                value => S::push_scalar(&mut text, values.datum(value), &mut Losses::default()),
            }
            open.parts.push(text);
        }
    }
    Ok(None)
}

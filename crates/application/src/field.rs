//! The content of a column: an integer, a text, or NULL.

use std::fmt;

/// The content of a column of a row. Amounts of money are integers, in cents.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// NULL.
    Null,
    /// An integer.
    Int(i64),
    /// A text.
    Text(String),
}

impl Field {
    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Field::Int(n) => Some(*n),
            Field::Null | Field::Text(_) => None,
        }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Field::Text(text) => Some(text),
            Field::Null | Field::Int(_) => None,
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Null => f.write_str("NULL"),
            Field::Int(n) => write!(f, "{n}"),
            Field::Text(text) => f.write_str(text),
        }
    }
}

impl From<i64> for Field {
    fn from(n: i64) -> Field {
        Field::Int(n)
    }
}

impl From<u32> for Field {
    fn from(n: u32) -> Field {
        Field::Int(n.into())
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Field {
        Field::Text(text.to_owned())
    }
}

impl From<String> for Field {
    fn from(text: String) -> Field {
        Field::Text(text)
    }
}

impl From<&Field> for Field {
    fn from(field: &Field) -> Field {
        field.clone()
    }
}

/// A number of rows or letters as an integer.
pub(crate) fn size(n: usize) -> i64 {
    (n as u64).cast_signed()
}

/// A row of an answer: the columns that were asked for, in that order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row(pub Vec<Field>);

impl Row {
    /// An integer column. The operations have compared the answer with the types of the columns.
    ///
    /// # Panics
    /// Panics if the column is not an integer: the application asked for another column.
    pub fn int(&self, place: usize) -> i64 {
        match &self.0[place] {
            Field::Int(n) => *n,
            other => panic!("column {place} of {self:?} is {other:?}, not an integer"),
        }
    }

    /// A text column.
    ///
    /// # Panics
    /// Panics if the column is not a text: the application asked for another column.
    pub fn text(&self, place: usize) -> &str {
        match &self.0[place] {
            Field::Text(text) => text,
            other => panic!("column {place} of {self:?} is {other:?}, not a text"),
        }
    }

    /// Whether a column is NULL.
    pub fn is_null(&self, place: usize) -> bool {
        self.0[place] == Field::Null
    }
}

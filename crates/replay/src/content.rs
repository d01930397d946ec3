//! Versions of keys: who wrote them, and what they contain; and the operations of a transaction on keys.

use std::fmt;
use std::sync::Arc;

use isoscope_application::{Call, Field};

/// Who wrote a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The initial state.
    Initial,
    /// A transaction.
    Txn(Call),
}

impl Source {
    /// The source, with the caller's names of transactions.
    pub fn describe(&self, name: &dyn Fn(Call) -> String) -> String {
        match self {
            Source::Initial => "the initial state".to_owned(),
            Source::Txn(call) => name(*call),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Initial => f.write_str("the initial state"),
            Source::Txn(call) => write!(f, "transaction {} of session {}", call.number, call.session),
        }
    }
}

/// The content of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing: the row does not exist, or the cell is NULL.
    Absent,
    /// A row exists, with these columns. Those that change have the content of the INSERT.
    Row(Arc<[Field]>),
    /// The content of a cell; not NULL.
    Cell(Field),
}

impl Content {
    pub(crate) fn cell(field: &Field) -> Content {
        match field {
            Field::Null => Content::Absent,
            other => Content::Cell(other.clone()),
        }
    }

    /// The content as a field of a cell.
    pub(crate) fn field(&self) -> Field {
        match self {
            Content::Absent => Field::Null,
            Content::Row(_) => Field::Int(1),
            Content::Cell(field) => field.clone(),
        }
    }
}

/// Where a read found its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// In the store.
    Store(Source),
    /// In the transaction itself.
    Own,
}

/// An operation of a transaction on keys, as a history has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A read of a key.
    Read {
        /// The key.
        key: Arc<str>,
        /// The writer of the version.
        from: Origin,
        /// What it contains.
        content: Content,
    },
    /// A read of all keys between two names, of which these had a version.
    Range {
        /// The lowest name.
        low: String,
        /// The highest name.
        high: String,
        /// The keys, with the writer of the version and whether the row exists.
        keys: Vec<(Arc<str>, Origin, bool)>,
    },
    /// A write.
    Write {
        /// The key.
        key: Arc<str>,
        /// What it contains.
        content: Content,
    },
}

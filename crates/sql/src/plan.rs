//! Plans: bound statements, ready to run for one catalogue.

use std::sync::Arc;

use crate::catalog::{CatalogChange, Table};
use crate::ir::{Expr, From, Query, Slot, SortKey};
use crate::value::Type;

/// A bound statement.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) action: Action,
    /// The types that the parameters are converted to.
    pub(crate) params: Vec<Type>,
    /// Parts without columns that may fail. PostgreSQL may evaluate them even if no row needs them.
    pub(crate) constants: Vec<Expr>,
    /// Whether several tables are joined under conditions that may fail: a database may test rows that the evaluator
    /// does not.
    pub(crate) has_fallible_join: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Query {
        query: Box<Query>,
        columns: Vec<String>,
    },
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Catalog(Vec<CatalogChange>),
    /// Builds a unique index, which fails if rows are equal.
    UniqueIndex(Arc<Table>),
    /// Removes all rows of a table.
    Truncate(Vec<Arc<Table>>),
    Call {
        name: String,
        args: Vec<Expr>,
    },
    /// Nothing that concerns tables: SET, ANALYZE and the like.
    Nothing,
}

#[derive(Clone, Debug)]
pub(crate) struct Insert {
    pub(crate) table: Arc<Table>,
    /// The slot of the table's row in RETURNING and in an upsert.
    pub(crate) slot: Slot,
    pub(crate) source: Source,
    pub(crate) conflict: Conflict,
    pub(crate) returning: Option<Returning>,
}

#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// For each row and each column of the table its value; `None` is the default.
    Rows(Vec<Vec<Option<Expr>>>),
    /// The columns of a query go to these columns of the table, after a conversion of the query's row (slot, expressions).
    Query { query: Box<Query>, columns: Vec<usize>, slot: Slot, values: Vec<Expr> },
}

/// What an INSERT does about a row with the same key.
#[derive(Clone, Debug)]
pub(crate) enum Conflict {
    Fail,
    /// The row is skipped: for all keys or the one with these columns.
    Skip(Option<Vec<usize>>),
    /// MySQL's IGNORE.
    Ignore,
    /// SQLite's OR IGNORE.
    IgnoreAll,
    /// The other rows are deleted.
    Replace,
    /// The other row is updated.
    Update {
        target: Option<Vec<usize>>,
        sets: Vec<(usize, Expr)>,
        filter: Option<Expr>,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Returning {
    pub(crate) columns: Vec<String>,
    pub(crate) outputs: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub(crate) struct Update {
    pub(crate) table: Arc<Table>,
    pub(crate) slot: Slot,
    pub(crate) from: From,
    pub(crate) filter: Option<Expr>,
    pub(crate) sets: Vec<Set>,
    pub(crate) window: Window,
    pub(crate) returning: Option<Returning>,
}

/// An assignment.
#[derive(Clone, Debug)]
pub(crate) enum Set {
    One(usize, Expr),
    /// Columns from the row of a query, with a conversion of that row.
    Row {
        columns: Vec<usize>,
        query: Box<Query>,
        slot: Slot,
        values: Vec<Expr>,
    },
}

/// ORDER BY and LIMIT of UPDATE and DELETE.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    pub(crate) keys: Vec<Expr>,
    pub(crate) order: Vec<SortKey>,
    pub(crate) limit: Option<Expr>,
}

#[derive(Clone, Debug)]
pub(crate) struct Delete {
    pub(crate) table: Arc<Table>,
    pub(crate) slot: Slot,
    pub(crate) from: From,
    pub(crate) filter: Option<Expr>,
    pub(crate) window: Window,
    pub(crate) returning: Option<Returning>,
}

//! A SELECT from one table: which columns of which rows.

use crate::field::Field;
use crate::schema::{Entries, Table};

/// The order of the rows of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Lowest first.
    Ascending,
    /// Highest first.
    Descending,
}

/// A SELECT. Its conditions are on constant columns. In a table that is not fixed, the columns with `equal`, followed by the
/// one with `between`, must be the first columns of the primary key or of an index, in that order.
#[derive(Clone, Debug)]
pub struct Select {
    /// The table.
    pub table: &'static Table,
    /// The columns of the answer.
    pub columns: Vec<&'static str>,
    /// The conditions `column = value`.
    pub equal: Vec<(&'static str, Field)>,
    /// The condition `column BETWEEN low AND high`.
    pub between: Option<(&'static str, Field, Field)>,
    /// The order of the answer: by the columns of the index that `equal` leaves open.
    pub order: Option<Direction>,
    /// The most rows of the answer; needs an order.
    pub limit: Option<u32>,
}

impl Select {
    /// Selects columns of all rows; conditions follow.
    pub fn from(table: &'static Table, columns: &[&'static str]) -> Select {
        let columns = columns.to_vec();
        Select { table, columns, equal: Vec::new(), between: None, order: None, limit: None }
    }

    /// Selects columns of the row with this primary key.
    pub fn row(table: &'static Table, columns: &[&'static str], key: &[Field]) -> Select {
        let equal = table.key.iter().copied().zip(key.iter().cloned()).collect();
        Select { equal, ..Select::from(table, columns) }
    }

    /// Only rows with this content of a column.
    pub fn equal(mut self, column: &'static str, field: impl Into<Field>) -> Select {
        self.equal.push((column, field.into()));
        self
    }

    /// Only rows whose column is in this range.
    pub fn between(self, column: &'static str, low: impl Into<Field>, high: impl Into<Field>) -> Select {
        Select { between: Some((column, low.into(), high.into())), ..self }
    }

    /// Lowest first.
    pub fn ascending(self) -> Select {
        Select { order: Some(Direction::Ascending), ..self }
    }

    /// Highest first.
    pub fn descending(self) -> Select {
        Select { order: Some(Direction::Descending), ..self }
    }

    /// At most this many rows.
    pub fn limit(self, most: u32) -> Select {
        Select { limit: Some(most), ..self }
    }

    /// The primary key, if the conditions are exactly `key = ..`.
    pub fn key(&self) -> Option<Vec<Field>> {
        let names = self.equal.iter().map(|(column, _)| column);
        let is_key = self.between.is_none() && names.eq(self.table.key);
        is_key.then(|| self.fields())
    }

    /// The columns of ORDER BY: those of the index that `equal` leaves open.
    pub fn ordered_by(&self) -> Vec<&'static str> {
        self.entries().columns[self.equal.len()..].to_vec()
    }

    /// The columns that identify the entry and the row of an answer, unless a condition says them.
    pub fn identifying(&self) -> Vec<&'static str> {
        let known = |column: &&str| self.equal.iter().any(|(equal, _)| equal == column);
        if self.key().is_some() {
            return Vec::new();
        }
        if self.table.is_fixed {
            // Only cells have keys.
            let reads_cells = self.changing().next().is_some();
            let key = self.table.key.iter().filter(|column| reads_cells && !known(column));
            return key.copied().collect();
        }
        self.entries().columns.into_iter().filter(|column| !known(column)).collect()
    }

    /// The columns of the answer that change.
    pub fn changing(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.columns.iter().copied().filter(|column| !self.table.column(column).is_constant)
    }

    /// The content of a column, from the conditions or from an answer with these columns.
    fn known<'a>(&'a self, column: &str, columns: &[&str], fields: &'a [Field]) -> &'a Field {
        let equal = self.equal.iter().find(|(equal, _)| *equal == column).map(|(_, field)| field);
        let answered = || columns.iter().position(|answered| *answered == column).map(|at| &fields[at]);
        let known = equal.or_else(answered);
        known.unwrap_or_else(|| panic!("the answer lacks {column} of {}", self.table.name))
    }

    /// The primary key of a row of an answer with these columns.
    pub fn key_of(&self, columns: &[&str], fields: &[Field]) -> Vec<Field> {
        self.table.key.iter().map(|column| self.known(column, columns, fields).clone()).collect()
    }

    /// The key of the history that the row of an answer with these columns was found by.
    pub fn entry_of(&self, columns: &[&str], fields: &[Field]) -> String {
        let entries = self.entries();
        let named: Vec<Field> =
            entries.columns.iter().map(|column| self.known(column, columns, fields).clone()).collect();
        entries.name(self.table, &named)
    }

    /// The names between which all entries of the answer lie, and no others.
    pub fn bounds(&self) -> (String, String) {
        let between = self.between.as_ref().map(|(_, low, high)| (low, high));
        self.entries().bounds(self.table, &self.fields(), between)
    }

    /// The names between which all entries lie that the answer speaks of: of more rows than the limit, it leaves the rest open.
    pub fn answered(&self, found: &[String]) -> (String, String) {
        match (found.last(), self.limit, self.order) {
            (Some(last), Some(limit), Some(order)) if found.len() as u64 >= u64::from(limit) => {
                Entries::cut(self.bounds(), last.clone(), order)
            }
            _ => self.bounds(),
        }
    }

    fn fields(&self) -> Vec<Field> {
        self.equal.iter().map(|(_, field)| field.clone()).collect()
    }

    /// The index that serves the conditions.
    ///
    /// # Panics
    /// Panics if no index does: the history could not say which rows the answer speaks of.
    fn entries(&self) -> Entries {
        let equal: Vec<&str> = self.equal.iter().map(|(column, _)| *column).collect();
        let then = self.between.as_ref().map(|(column, ..)| *column);
        let serving = self.table.serving(&equal, then);
        serving.unwrap_or_else(|| panic!("no index of {} serves {equal:?} {then:?}", self.table.name))
    }
}

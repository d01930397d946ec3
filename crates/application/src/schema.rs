//! Tables, and the keys of the history that stand for them.
//!
//! A history consists of reads and writes of keys. The parts of a table that can change are keys:
//!
//! | key | for example | value |
//! |---|---|---|
//! | the existence of a row | `orders/1.2.0007` | 1, or absent |
//! | an entry of an index | `orders@customer/1.2.3.0007` | 1, or absent |
//! | a cell | `orders.carrier/1.2.0007` | the content of the column; NULL is absent |
//!
//! A row is named by its primary key. An entry of an index is named by the columns of the index, followed by the rest of the
//! primary key. All columns of existence keys and entries are constant: only INSERT and DELETE change these keys. A
//! *constant* column is never updated, so it is no key: a transaction that knows that a row exists, and who inserted it, knows
//! its constant columns.
//!
//! In a *fixed* table no row is ever inserted or deleted. Its rows have no existence keys. If it has only one column that
//! changes, the cell is named like a row: `savings/17`.
//!
//! A SELECT by the first columns of an index is a range read: the entries of the rows that match lie between two names, and no
//! other key does. This is why tables, columns and indexes are in front of the slash. Names are compared letter by letter, so
//! a range over numbers needs columns whose numbers are padded with zeros ([`Column::digits`]).

use crate::field::Field;
use crate::select::Direction;

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Its name in SQL, which begins with `isoscope_`.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
    /// The columns of the primary key.
    pub key: &'static [&'static str],
    /// Other indexes, over constant columns.
    pub indexes: &'static [Index],
    /// Whether no row is ever inserted or deleted.
    pub is_fixed: bool,
}

/// A column.
#[derive(Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type in SQL, with constraints. All databases must support it.
    pub definition: &'static str,
    /// Whether it is never updated.
    pub is_constant: bool,
    /// The width to which its numbers are padded in the names of keys; 0 for no padding.
    pub width: usize,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Integers.
    Int,
    /// Texts.
    Text,
}

/// The columns of an index.
#[derive(Debug)]
pub struct Index {
    /// Its name, for the keys of the history.
    pub name: &'static str,
    /// Its columns, all of them constant.
    pub columns: &'static [&'static str],
}

impl Column {
    /// A column that is never updated.
    pub const fn constant(name: &'static str, definition: &'static str) -> Column {
        Column { name, definition, is_constant: true, width: 0 }
    }

    /// A column that is updated.
    pub const fn changing(name: &'static str, definition: &'static str) -> Column {
        Column { name, definition, is_constant: false, width: 0 }
    }

    /// The column, with its numbers padded to this width in the names of keys, so that they are in the order of the numbers.
    pub const fn digits(self, width: usize) -> Column {
        Column { width, ..self }
    }

    /// Its type.
    pub fn kind(&self) -> Kind {
        if self.definition.starts_with("BIGINT") { Kind::Int } else { Kind::Text }
    }

    /// Whether the column may hold this content.
    pub fn accepts(&self, field: &Field) -> bool {
        match field {
            Field::Null => !self.definition.contains("NOT NULL"),
            Field::Int(_) => self.kind() == Kind::Int,
            Field::Text(text) => self.kind() == Kind::Text && text.chars().count() <= self.longest(),
        }
    }

    /// The most letters of a text.
    fn longest(&self) -> usize {
        let rest = self.definition.strip_prefix("VARCHAR(");
        let digits = rest.and_then(|rest| rest.split(')').next());
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(usize::MAX)
    }
}

/// The prefix of all names of tables, so that no table of the user is touched.
const PREFIX: &str = "isoscope_";
/// A letter after all letters of names.
const AFTER_ALL: char = '~';

impl Table {
    /// Its name without the prefix.
    pub fn label(&self) -> &'static str {
        self.name.strip_prefix(PREFIX).unwrap_or(self.name)
    }

    /// The position of a column.
    ///
    /// # Panics
    /// Panics if the table lacks the column: the application's statement is wrong.
    pub fn place(&self, column: &str) -> usize {
        let place = self.columns.iter().position(|known| known.name == column);
        place.unwrap_or_else(|| panic!("{} has no column {column}", self.name))
    }

    /// A column by its name.
    pub fn column(&self, name: &str) -> &'static Column {
        &self.columns[self.place(name)]
    }

    /// The columns that change.
    pub fn changing(&self) -> impl Iterator<Item = &'static Column> + use<> {
        self.columns.iter().filter(|column| !column.is_constant)
    }

    /// The primary key of a full row.
    pub fn key_of(&self, row: &[Field]) -> Vec<Field> {
        self.key.iter().map(|column| row[self.place(column)].clone()).collect()
    }

    /// The key of a row's existence.
    pub fn row_name(&self, key: &[Field]) -> String {
        format!("{}/{}", self.label(), self.joined(self.key, key))
    }

    /// The key of a cell.
    pub fn cell_name(&self, column: &str, key: &[Field]) -> String {
        if self.is_fixed && self.changing().count() == 1 {
            return self.row_name(key);
        }
        format!("{}.{column}/{}", self.label(), self.joined(self.key, key))
    }

    /// The keys of the history that an INSERT of a full row creates, other than its cells: its existence and its entries.
    pub fn entry_names(&self, row: &[Field]) -> Vec<String> {
        let mut names = vec![self.row_name(&self.key_of(row))];
        names.extend(self.indexes.iter().map(|index| self.entry_name(index, row)));
        names
    }

    /// The keys that a DELETE removes, other than the row's cells.
    ///
    /// # Panics
    /// Panics if an index has a column outside of the primary key: its entry cannot be named from the primary key alone, and
    /// rows of such a table are never deleted.
    pub fn entry_names_of(&self, key: &[Field]) -> Vec<String> {
        let mut row = vec![Field::Null; self.columns.len()];
        for (column, field) in self.key.iter().zip(key) {
            row[self.place(column)] = field.clone();
        }
        let is_named = |index: &Index| index.columns.iter().all(|column| self.key.contains(column));
        assert!(self.indexes.iter().all(is_named), "rows of {} cannot be deleted", self.name);
        self.entry_names(&row)
    }

    fn entry_name(&self, index: &Index, row: &[Field]) -> String {
        let columns = self.entry_columns(index);
        let fields: Vec<Field> = columns.iter().map(|column| row[self.place(column)].clone()).collect();
        format!("{}@{}/{}", self.label(), index.name, self.joined(&columns, &fields))
    }

    /// The columns of an index, and the columns of the primary key that it lacks.
    fn entry_columns(&self, index: &Index) -> Vec<&'static str> {
        let rest = self.key.iter().filter(|column| !index.columns.contains(column));
        index.columns.iter().chain(rest).copied().collect()
    }

    /// The index whose first columns are `equal`, followed by the column `then` if there is one.
    pub(crate) fn serving(&self, equal: &[&str], then: Option<&str>) -> Option<Entries> {
        let serves = |columns: &[&str]| {
            let next = columns.get(equal.len()).copied();
            columns.starts_with(equal) && then.is_none_or(|then| next == Some(then))
        };
        if serves(self.key) {
            return Some(Entries { prefix: format!("{}/", self.label()), columns: self.key.to_vec() });
        }
        self.indexes.iter().find_map(|index| {
            let columns = self.entry_columns(index);
            let prefix = format!("{}@{}/", self.label(), index.name);
            serves(&columns).then_some(Entries { prefix, columns })
        })
    }

    fn joined(&self, columns: &[&'static str], fields: &[Field]) -> String {
        let parts: Vec<String> =
            columns.iter().zip(fields).map(|(name, field)| part(self.column(name), field)).collect();
        parts.join(".")
    }
}

/// The entries of an index, or the rows of a table by primary key: where the names of their keys begin, and the columns
/// that follow.
pub(crate) struct Entries {
    prefix: String,
    pub(crate) columns: Vec<&'static str>,
}

impl Entries {
    /// The name of an entry. `fields` are those of the columns, in order.
    pub(crate) fn name(&self, table: &Table, fields: &[Field]) -> String {
        format!("{}{}", self.prefix, table.joined(&self.columns, fields))
    }

    /// The names between which the entries lie that begin with some fields, and whose next column is between two numbers.
    pub(crate) fn bounds(
        &self,
        table: &Table,
        equal: &[Field],
        between: Option<(&Field, &Field)>,
    ) -> (String, String) {
        let mut start = self.prefix.clone();
        for (name, field) in self.columns.iter().zip(equal) {
            start.push_str(&part(table.column(name), field));
            start.push('.');
        }
        match between {
            None => (start.clone(), format!("{start}{AFTER_ALL}")),
            Some((low, high)) => {
                let column = table.column(self.columns[equal.len()]);
                assert!(column.width > 0, "a range over {}.{} needs digits", table.name, column.name);
                let end = format!("{start}{}{AFTER_ALL}", part(column, high));
                (format!("{start}{}", part(column, low)), end)
            }
        }
    }

    /// Cuts the range at the last row of an answer that may be shorter than the range.
    pub(crate) fn cut(bounds: (String, String), last: String, direction: Direction) -> (String, String) {
        match direction {
            Direction::Ascending => (bounds.0, last),
            Direction::Descending => (last, bounds.1),
        }
    }
}

/// A column of a row as a part of a name. Different fields have different parts, and no part has a dot or a letter that comes
/// after [`AFTER_ALL`].
fn part(column: &Column, field: &Field) -> String {
    match field {
        Field::Null => "-".to_owned(),
        Field::Int(n) => format!("{n:0width$}", width = column.width),
        Field::Text(text) => {
            let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b' ' || b == b'_';
            text.bytes().fold(String::new(), |mut out, b| {
                if is_plain(b) {
                    out.push(char::from(b));
                } else {
                    out.push_str(&format!("%{b:02x}"));
                }
                out
            })
        }
    }
}

/// A table with its initial rows.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The table.
    pub table: &'static Table,
    /// The rows, with all columns.
    pub rows: Vec<Vec<Field>>,
}

impl std::ops::Deref for Contents {
    type Target = Table;

    fn deref(&self) -> &Table {
        self.table
    }
}

impl Contents {
    /// The initial value of every key of the history that is not absent.
    pub fn initials(&self) -> impl Iterator<Item = (String, Field)> + '_ {
        let table = self.table;
        self.rows.iter().flat_map(move |row| {
            let key = table.key_of(row);
            let entries = if table.is_fixed { Vec::new() } else { table.entry_names(row) };
            let cells = table.changing().map(move |column| {
                (table.cell_name(column.name, &key), row[table.place(column.name)].clone())
            });
            let cells = cells.filter(|(_, field)| *field != Field::Null);
            entries.into_iter().map(|name| (name, Field::Int(1))).chain(cells)
        })
    }
}

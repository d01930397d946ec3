//! The catalogue: tables with their columns and constraints, views, procedures and functions.
//!
//! A [`Catalog`] is a value: cloning it is cheap, changing it copies the maps and shares the tables. Two catalogues are *the
//! same* if one is a clone of the other without a change; prepared plans are valid for the same catalogue only.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dialect::Settings;
use crate::ir::Expr;
use crate::procedure::Routine;
use crate::value::{Collation, Type};
use crate::view::TableId;

/// All that statements can name.
#[derive(Clone, Debug)]
pub struct Catalog(Arc<Content>);

#[derive(Clone, Debug)]
struct Content {
    settings: Settings,
    /// By the name as it is compared.
    tables: BTreeMap<String, Arc<Table>>,
    views: BTreeMap<String, Arc<Definition>>,
    routines: BTreeMap<String, Arc<Routine>>,
    next: u32,
}

/// A view: its query is bound where it is used.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The name.
    pub name: String,
    /// The names of the columns, if they are given.
    pub columns: Vec<String>,
    pub(crate) query: Box<sqlparser::ast::Query>,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its number.
    pub id: TableId,
    /// Its name.
    pub name: String,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Its primary and unique keys.
    pub keys: Vec<Key>,
    /// Its CHECK constraints.
    pub(crate) checks: Vec<Check>,
    /// Its foreign keys.
    pub foreign_keys: Vec<ForeignKey>,
    /// The column that is SQLite's rowid: an `INTEGER PRIMARY KEY`.
    pub rowid: Option<usize>,
}

impl Table {
    /// The position of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// The primary key.
    pub fn primary_key(&self) -> Option<&Key> {
        self.keys.iter().find(|key| key.is_primary)
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// How its texts are compared.
    pub collation: Collation,
    /// Whether NULL is not allowed.
    pub not_null: bool,
    /// Whether the database makes a number for a missing value: SERIAL, `AUTO_INCREMENT`, IDENTITY, the rowid of SQLite.
    pub is_made: bool,
    /// The default; `None` is NULL, or an error in MySQL if NULL is not allowed.
    pub(crate) default: Option<Expr>,
}

/// A primary or unique key.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The name of the constraint or index.
    pub name: String,
    /// The positions of its columns.
    pub columns: Vec<usize>,
    /// Whether it is the primary key.
    pub is_primary: bool,
    /// Whether NULLs are equal to each other.
    pub nulls_equal: bool,
}

/// A CHECK constraint. The slot of the table's row is 0.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) condition: Expr,
}

/// A foreign key.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    /// The name of the constraint.
    pub name: String,
    /// The positions of the referring columns.
    pub columns: Vec<usize>,
    /// The name of the parent table.
    pub parent: String,
    /// The names of the referred columns; empty for the primary key.
    pub referred: Vec<String>,
    /// What a deletion of the parent does.
    pub on_delete: Action,
    /// What a change of the parent's key does.
    pub on_update: Action,
    /// Checked at COMMIT: DEFERRABLE INITIALLY DEFERRED.
    pub is_deferred: bool,
}

/// What a change of a parent does to its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The statement fails.
    Refuse,
    /// The children are changed too.
    Cascade,
    /// The children's columns become NULL.
    SetNull,
    /// The children's columns get their defaults.
    SetDefault,
}

/// A change of the catalogue.
#[derive(Clone, Debug, PartialEq)]
pub enum CatalogChange {
    /// A table is created; its number is replaced by a new one.
    CreateTable(Arc<Table>),
    /// A table is replaced by one with the same number and rows: a unique index was added or dropped.
    AlterTable(Arc<Table>),
    /// A table is dropped.
    DropTable(String),
    /// A view is created or replaced.
    CreateView(Arc<Definition>),
    /// A view is dropped.
    DropView(String),
    /// A procedure or function is created or replaced.
    CreateRoutine(Arc<Routine>),
    /// A procedure or function is dropped.
    DropRoutine(String),
}

impl Catalog {
    /// An empty catalogue.
    pub fn new(settings: Settings) -> Catalog {
        Catalog(Arc::new(Content {
            settings,
            tables: BTreeMap::new(),
            views: BTreeMap::new(),
            routines: BTreeMap::new(),
            next: 0,
        }))
    }

    /// The settings of the server.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Whether both are the same, so that plans for one are valid for the other.
    pub fn is_same(&self, other: &Catalog) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn key(name: &str) -> String {
        name.to_lowercase()
    }

    /// A table by its name.
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.0.tables.get(&Catalog::key(name))
    }

    /// A table by its number.
    pub fn table_of(&self, id: TableId) -> Option<&Arc<Table>> {
        self.0.tables.values().find(|table| table.id == id)
    }

    /// All tables, by name.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.0.tables.values()
    }

    /// A view by its name.
    pub fn view(&self, name: &str) -> Option<&Arc<Definition>> {
        self.0.views.get(&Catalog::key(name))
    }

    /// A procedure or function by its name.
    pub fn routine(&self, name: &str) -> Option<&Arc<Routine>> {
        self.0.routines.get(&Catalog::key(name))
    }

    /// Makes a change.
    pub fn apply(&mut self, change: &CatalogChange) {
        let content = Arc::make_mut(&mut self.0);
        match change {
            CatalogChange::CreateTable(table) => {
                let id = TableId(content.next);
                content.next += 1;
                let table = Table { id, ..(**table).clone() };
                content.tables.insert(Catalog::key(&table.name), Arc::new(table));
            }
            CatalogChange::AlterTable(table) => {
                content.tables.insert(Catalog::key(&table.name), table.clone());
            }
            CatalogChange::DropTable(name) => {
                content.tables.remove(&Catalog::key(name));
            }
            CatalogChange::CreateView(view) => {
                content.views.insert(Catalog::key(&view.name), view.clone());
            }
            CatalogChange::DropView(name) => {
                content.views.remove(&Catalog::key(name));
            }
            CatalogChange::CreateRoutine(routine) => {
                content.routines.insert(Catalog::key(&routine.name), routine.clone());
            }
            CatalogChange::DropRoutine(name) => {
                content.routines.remove(&Catalog::key(name));
            }
        }
    }
}

//! A database in memory, with one version of each row and one session.
//!
//! It runs statements one after another, with transactions and savepoints, as a correct database would for a single
//! client: the reference of the differential tests, and a serial replay for an auditor.

use std::collections::BTreeMap;
use std::ops::Bound;

use isoscope_log::Scalar;
use rustc_hash::FxHashMap;

use crate::answer::Reply;
use crate::catalog::{Catalog, CatalogChange};
use crate::change::{Change, Effect};
use crate::dialect::{Dialect, Settings};
use crate::error::{ErrorClass, SqlError};
use crate::execute::execute;
use crate::parse::{Kind, Statement};
use crate::value::{Hole, Value};
use crate::view::{RowId, Sarg, TableId, View, Visit};
use crate::work::Row;

/// The tables and the open transaction.
#[derive(Clone, Debug)]
pub struct Database {
    state: State,
    /// The state at BEGIN, then at each savepoint.
    open: Vec<(Option<String>, State)>,
    /// Whether a statement of the open transaction failed in PostgreSQL.
    has_failed: bool,
    next_hole: u32,
}

#[derive(Clone, Debug)]
struct State {
    catalog: Catalog,
    tables: FxHashMap<TableId, Rows>,
}

#[derive(Clone, Debug, Default)]
struct Rows {
    by_id: BTreeMap<RowId, Row>,
    /// The rows with a value in the first column of the primary key.
    index: Option<(usize, BTreeMap<Value, Vec<RowId>>)>,
    next: u64,
}

impl Rows {
    fn insert(&mut self, id: RowId, row: Row) {
        if let Some((column, index)) = &mut self.index
            && let Some(value) = row.get(*column)
        {
            index.entry(value.clone()).or_default().push(id);
        }
        self.by_id.insert(id, row);
    }

    fn remove(&mut self, id: RowId) {
        let Some(row) = self.by_id.remove(&id) else { return };
        if let Some((column, index)) = &mut self.index
            && let Some(ids) = row.get(*column).and_then(|value| index.get_mut(value))
        {
            ids.retain(|other| *other != id);
        }
    }
}

impl Database {
    /// A database without tables.
    pub fn new(settings: Settings) -> Database {
        let state = State { catalog: Catalog::new(settings), tables: FxHashMap::default() };
        Database { state, open: Vec::new(), has_failed: false, next_hole: 0 }
    }

    /// Whether a transaction is open.
    pub fn is_in_transaction(&self) -> bool {
        !self.open.is_empty()
    }

    /// Parses and runs a statement.
    pub fn run(&mut self, text: &str, params: &[Scalar]) -> Result<Effect, SqlError> {
        let dialect = self.state.catalog.settings().dialect;
        let statement = Statement::parse(dialect, text).map_err(|error| {
            SqlError::new(ErrorClass::Unsupported, format!("the statement is not understood: {error}"))
        })?;
        self.execute(&statement, params)
    }

    /// Runs a statement, and applies its changes.
    pub fn execute(&mut self, statement: &Statement, params: &[Scalar]) -> Result<Effect, SqlError> {
        if let Some(effect) = self.control(statement.kind())? {
            return Ok(effect);
        }
        if self.has_failed {
            return Err(SqlError::new(ErrorClass::Invalid, "the transaction has failed"));
        }
        match execute(statement, params, self, self.next_hole) {
            Ok(effect) => {
                self.next_hole = effect.next_hole;
                let is_definition = effect.changes.iter().any(|change| matches!(change, Change::Catalog(_)));
                if is_definition && self.state.catalog.settings().dialect == Dialect::MySql {
                    // A definition commits.
                    self.open.clear();
                }
                self.apply(&effect.changes);
                Ok(effect)
            }
            Err(error) => {
                let is_postgres = self.state.catalog.settings().dialect == Dialect::Postgres;
                self.has_failed = is_postgres && self.is_in_transaction() && error.class.is_answer();
                Err(error)
            }
        }
    }

    fn control(&mut self, kind: &Kind) -> Result<Option<Effect>, SqlError> {
        let dialect = self.state.catalog.settings().dialect;
        match kind {
            Kind::Begin => {
                if self.open.is_empty() {
                    self.open.push((None, self.state.clone()));
                } else if dialect == Dialect::Sqlite {
                    return Err(SqlError::new(ErrorClass::Invalid, "a transaction is open already"));
                } else if dialect == Dialect::MySql {
                    self.open = vec![(None, self.state.clone())];
                }
            }
            Kind::Commit | Kind::Rollback => {
                if self.open.is_empty() && dialect == Dialect::Sqlite {
                    return Err(SqlError::new(ErrorClass::Invalid, "no transaction is open"));
                }
                // COMMIT of a failed transaction is a rollback.
                let undoes = *kind == Kind::Rollback || self.has_failed;
                if let Some((_, first)) = self.open.drain(..).next().filter(|_| undoes) {
                    self.state = first;
                }
                self.has_failed = false;
            }
            Kind::Savepoint(name) => self.savepoint(name, dialect)?,
            Kind::RollbackTo(name) => {
                let at = self.find(name)?;
                self.open.truncate(at + 1);
                self.state = self.open[at].1.clone();
                self.has_failed = false;
            }
            Kind::Release(name) => {
                if self.has_failed {
                    return Err(SqlError::new(ErrorClass::Invalid, "the transaction has failed"));
                }
                let at = self.find(name)?;
                self.open.truncate(at);
            }
            Kind::Set => {}
            _ => return Ok(None),
        }
        Ok(Some(Effect {
            reply: Reply::Count(0),
            changes: Vec::new(),
            doubts: Vec::new(),
            next_hole: self.next_hole,
        }))
    }

    fn savepoint(&mut self, name: &str, dialect: Dialect) -> Result<(), SqlError> {
        if self.has_failed {
            return Err(SqlError::new(ErrorClass::Invalid, "the transaction has failed"));
        }
        match (self.open.is_empty(), dialect) {
            (true, Dialect::Postgres) => {
                return Err(SqlError::new(ErrorClass::Invalid, "no transaction is open"));
            }
            // Without a transaction MySQL's savepoint ends at once; SQLite's begins a transaction.
            (true, Dialect::MySql) => return Ok(()),
            _ => {}
        }
        if dialect == Dialect::MySql {
            self.open.retain(|(other, _)| other.as_deref() != Some(name));
        }
        self.open.push((Some(name.to_owned()), self.state.clone()));
        Ok(())
    }

    fn find(&self, name: &str) -> Result<usize, SqlError> {
        let at = self.open.iter().rposition(|(other, _)| other.as_deref() == Some(name));
        at.ok_or_else(|| SqlError::new(ErrorClass::Name, format!("savepoint {name} does not exist")))
    }

    /// Applies changes.
    pub fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Insert(table, row) => {
                    let rows = self.state.tables.entry(*table).or_default();
                    let id = RowId(rows.next);
                    rows.next += 1;
                    rows.insert(id, row.clone());
                }
                Change::Update(table, id, row) => {
                    let rows = self.state.tables.entry(*table).or_default();
                    rows.remove(*id);
                    rows.insert(*id, row.clone());
                }
                Change::Delete(table, id) => self.state.tables.entry(*table).or_default().remove(*id),
                Change::Catalog(change) => self.define(change),
            }
        }
    }

    fn define(&mut self, change: &CatalogChange) {
        if let CatalogChange::DropTable(name) = change {
            let id = self.state.catalog.table(name).map(|table| table.id);
            id.map(|id| self.state.tables.remove(&id));
        }
        self.state.catalog.apply(change);
        if let CatalogChange::CreateTable(table) = change
            && let Some(table) = self.state.catalog.table(&table.name)
        {
            let column = table.primary_key().and_then(|key| key.columns.first().copied());
            let index = column.map(|column| (column, BTreeMap::new()));
            self.state.tables.insert(table.id, Rows { index, ..Rows::default() });
        }
    }

    /// Replaces holes by values that are now known.
    pub fn bind(&mut self, known: &[(Hole, Value)]) {
        for rows in self.state.tables.values_mut() {
            let with_holes: Vec<RowId> = rows
                .by_id
                .iter()
                .filter(|(_, row)| row.iter().any(|value| matches!(value, Value::Hole(_))))
                .map(|(id, _)| *id)
                .collect();
            for id in with_holes {
                let Some(row) = rows.by_id.get(&id).cloned() else { continue };
                let bound = row.iter().map(|value| match value {
                    Value::Hole(hole) => known
                        .iter()
                        .find(|(other, _)| other == hole)
                        .map_or_else(|| value.clone(), |(_, value)| value.clone()),
                    other => other.clone(),
                });
                let bound: Row = bound.collect();
                rows.remove(id);
                rows.insert(id, bound);
            }
        }
    }
}

impl View for Database {
    fn catalog(&self) -> &Catalog {
        &self.state.catalog
    }

    fn scan(&self, table: TableId, sarg: &Sarg, visit: &mut Visit<'_>) {
        let Some(rows) = self.state.tables.get(&table) else { return };
        let wanted = rows.index.as_ref().and_then(|(column, index)| {
            let (_, value) = sarg.equal.iter().find(|(at, _)| at == column)?;
            Some((index, value))
        });
        if let Some((index, value)) = wanted {
            let hole = (Bound::Included(Value::Hole(Hole(0))), Bound::Unbounded);
            let equal = index.get(value).into_iter();
            for id in equal.chain(index.range(hole).map(|(_, ids)| ids)).flatten() {
                if let Some(row) = rows.by_id.get(id)
                    && !visit(*id, row)
                {
                    return;
                }
            }
            return;
        }
        for (id, row) in &rows.by_id {
            if sarg.admits(row) && !visit(*id, row) {
                return;
            }
        }
    }

    fn row(&self, table: TableId, row: RowId) -> Option<Vec<Value>> {
        self.state.tables.get(&table)?.by_id.get(&row).map(|row| row.to_vec())
    }
}

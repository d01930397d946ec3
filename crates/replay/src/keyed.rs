//! The operations of an application as reads and writes of keys.
//!
//! The keys are those that SQL gives (`isoscope_application`, `schema.rs`; `isoscope_record`, `workload/sql.rs`): a SELECT by
//! primary key reads the row's existence, one by an index reads every entry in its range, and then follow the cells. Reads of
//! what the transaction wrote itself are answered here; all others by [`Versions`].

use std::collections::BTreeMap;
use std::sync::Arc;

use isoscope_application::{Direction, Field, Operations, Row, Select, Stopped, Table};
use rustc_hash::FxHashSet;

use crate::content::{Content, Operation, Origin, Source};
use crate::tables::FixedTables;
use crate::trouble::Trouble;

/// The versions that other transactions wrote.
pub(crate) trait Versions {
    /// Reads a key.
    fn read(&mut self, key: &Arc<str>) -> Result<(Source, Content), Trouble>;

    /// The keys between two names that have been written, in the order of their names.
    fn between(&self, low: &str, high: &str) -> Vec<Arc<str>>;
}

/// A transaction that runs.
pub(crate) struct Keyed<'a, V> {
    fixed: &'a FixedTables,
    versions: V,
    own: BTreeMap<Arc<str>, Content>,
    /// The rows that the transaction knows to exist.
    present: FxHashSet<String>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) brought: i64,
    /// Why the run failed.
    pub(crate) trouble: Option<Trouble>,
    /// Why the application gave up.
    pub(crate) failure: Option<String>,
}

impl<'a, V: Versions> Keyed<'a, V> {
    pub(crate) fn new(fixed: &'a FixedTables, versions: V) -> Keyed<'a, V> {
        Keyed {
            fixed,
            versions,
            own: BTreeMap::new(),
            present: FxHashSet::default(),
            operations: Vec::new(),
            brought: 0,
            trouble: None,
            failure: None,
        }
    }

    /// The final writes.
    pub(crate) fn into_writes(self) -> BTreeMap<Arc<str>, Content> {
        self.own
    }

    fn look(&mut self, key: &Arc<str>) -> Result<(Origin, Content), Stopped> {
        if let Some(content) = self.own.get(key) {
            return Ok((Origin::Own, content.clone()));
        }
        match self.versions.read(key) {
            Ok((source, content)) => Ok((Origin::Store(source), content)),
            Err(trouble) => {
                self.trouble = Some(trouble);
                Err(Stopped)
            }
        }
    }

    fn read(&mut self, name: String) -> Result<Content, Stopped> {
        let key: Arc<str> = name.into();
        let (from, content) = self.look(&key)?;
        self.operations.push(Operation::Read { key, from, content: content.clone() });
        Ok(content)
    }

    fn write(&mut self, name: String, content: Content) {
        let key: Arc<str> = name.into();
        self.own.insert(Arc::clone(&key), content.clone());
        self.operations.push(Operation::Write { key, content });
    }

    /// The rows of a table that is not fixed.
    fn living(&mut self, select: &Select) -> Result<Vec<Arc<[Field]>>, Stopped> {
        let rows = match select.key() {
            Some(key) => match self.read(select.table.row_name(&key))? {
                Content::Row(row) => vec![row],
                Content::Absent | Content::Cell(_) => Vec::new(),
            },
            None => self.range(select)?,
        };
        for row in &rows {
            self.present.insert(select.table.row_name(&select.table.key_of(row)));
        }
        Ok(rows)
    }

    fn range(&mut self, select: &Select) -> Result<Vec<Arc<[Field]>>, Stopped> {
        let (low, high) = select.bounds();
        let mut names = self.versions.between(&low, &high);
        if low <= high {
            let own = self.own.range::<str, _>((
                std::ops::Bound::Included(low.as_str()),
                std::ops::Bound::Included(high.as_str()),
            ));
            names.extend(own.map(|(key, _)| Arc::clone(key)));
        }
        names.sort_unstable();
        names.dedup();
        if select.order == Some(Direction::Descending) {
            names.reverse();
        }
        let most = select.limit.map_or(usize::MAX, |limit| limit as usize);
        let (mut rows, mut found, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for key in names {
            if rows.len() == most {
                break;
            }
            let (origin, content) = self.look(&key)?;
            let exists = content != Content::Absent;
            if let Content::Row(row) = content {
                rows.push(row);
                found.push(key.to_string());
            }
            keys.push((key, origin, exists));
        }
        let (low, high) = select.answered(&found);
        self.operations.push(Operation::Range { low, high, keys });
        Ok(rows)
    }

    /// The columns of a row that were asked for.
    fn columns(&mut self, select: &Select, row: &[Field]) -> Result<Row, Stopped> {
        let (table, mut fields) = (select.table, Vec::with_capacity(select.columns.len()));
        for name in &select.columns {
            let place = table.place(name);
            if table.columns[place].is_constant {
                fields.push(row[place].clone());
                continue;
            }
            let field = self.read(table.cell_name(name, &table.key_of(row)))?.field();
            if !table.columns[place].accepts(&field) {
                return Err(self.fail(format!("{} is {field}", table.cell_name(name, &table.key_of(row)))));
            }
            fields.push(field);
        }
        Ok(Row(fields))
    }
}

impl<V: Versions> Operations for Keyed<'_, V> {
    fn select(&mut self, select: &Select) -> Result<Vec<Row>, Stopped> {
        let mut answer = Vec::new();
        if select.table.is_fixed {
            let fixed = self.fixed;
            for row in fixed.matching(select) {
                answer.push(self.columns(select, row)?);
            }
        } else {
            for row in self.living(select)? {
                answer.push(self.columns(select, &row)?);
            }
        }
        Ok(answer)
    }

    fn update(
        &mut self,
        table: &'static Table,
        key: &[Field],
        set: &[(&'static str, Field)],
    ) -> Result<bool, Stopped> {
        if !table.is_fixed && !self.present.contains(&table.row_name(key)) {
            return Err(self.fail(format!("{} is updated but was not read", table.row_name(key))));
        }
        for (column, field) in set {
            self.write(table.cell_name(column, key), Content::cell(field));
        }
        Ok(true)
    }

    fn insert(&mut self, table: &'static Table, row: &[Field]) -> Result<(), Stopped> {
        let key = table.key_of(row);
        if !self.present.insert(table.row_name(&key)) {
            return Err(self.fail(format!("{} exists already", table.row_name(&key))));
        }
        let content = Content::Row(row.into());
        for name in table.entry_names(row) {
            self.write(name, content.clone());
        }
        for column in table.changing() {
            let field = &row[table.place(column.name)];
            if *field != Field::Null {
                self.write(table.cell_name(column.name, &key), Content::cell(field));
            }
        }
        Ok(())
    }

    fn delete(&mut self, table: &'static Table, key: &[Field]) -> Result<bool, Stopped> {
        if !self.present.remove(&table.row_name(key)) {
            return Err(self.fail(format!("{} is deleted but was not read", table.row_name(key))));
        }
        let cells = table.changing().map(|column| table.cell_name(column.name, key));
        for name in table.entry_names_of(key).into_iter().chain(cells) {
            self.write(name, Content::Absent);
        }
        Ok(true)
    }

    fn brings(&mut self, amount: i64) {
        self.brought = self.brought.saturating_add(amount);
    }

    fn fail(&mut self, message: String) -> Stopped {
        self.failure = Some(message);
        Stopped
    }
}

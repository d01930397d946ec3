//! The multi-version store.
//!
//! A row is its INSERT: an UPDATE or DELETE adds a version to it, and a row with the same key that is inserted later is another
//! row. A version belongs to a statement. It is *pending* until its transaction ends; then it has the position of the commit in
//! the execution, or is *aborted*. The versions of a row that committed are in the order of their commits, because writers hold
//! locks.
//!
//! What a statement sees of a row is the last version that its own transaction wrote before, or else the last one that was
//! committed before the snapshot's position.
//!
//! Indexes hold the values of all versions, so that a scan visits every row of which any version matches. They are built when
//! a scan asks for them.
//!
//! Versions that no retained position can see are dropped: those before the last one committed before the *horizon*.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use isoscope_sql::{Catalog, RowId, Sarg, TableId, Value};
use rustc_hash::FxHashMap;

use crate::problem::{NONE, StatementId, TxnId};

/// The writer of the initial rows.
pub(crate) const INITIAL: TxnId = NONE;
/// The positions of versions that did not commit.
pub(crate) const PENDING: u32 = u32::MAX;
pub(crate) const ABORTED: u32 = u32::MAX - 1;

/// How many indexes of a kind a table may have.
const INDEXES: usize = 8;
/// Tables with fewer rows are scanned.
const SMALL: usize = 12;
/// A row with this many versions is pruned when it gets another.
const MANY: usize = 6;

/// A version of a row.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) writer: TxnId,
    pub(crate) statement: StatementId,
    /// `None` if the row was deleted.
    pub(crate) values: Option<Arc<[Value]>>,
    /// The position of the commit.
    pub(crate) commit: u32,
    /// The ROLLBACK TO that removed it.
    pub(crate) undone: StatementId,
    /// Whether it is the same in every correct execution.
    pub(crate) forced: bool,
}

/// Who reads: the transaction, the statement, and the position of the snapshot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    pub(crate) txn: TxnId,
    pub(crate) statement: StatementId,
    pub(crate) at: u32,
}

impl Version {
    /// Whether it is a version of another transaction that holds the row.
    pub(crate) fn is_held_from(&self, txn: TxnId) -> bool {
        self.commit == PENDING && self.undone == NONE && self.writer != txn
    }

    fn is_seen_by(&self, reader: &Reader) -> bool {
        if self.writer == reader.txn {
            self.statement < reader.statement && self.undone >= reader.statement
        } else {
            self.commit < reader.at
        }
    }

    pub(crate) fn is_committed(&self) -> bool {
        self.commit < ABORTED
    }
}

/// The versions of a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) versions: Vec<Version>,
}

impl Row {
    /// What a reader sees; a version without values is a deleted row.
    pub(crate) fn seen_by(&self, reader: &Reader) -> Option<&Version> {
        self.versions.iter().rev().find(|version| version.is_seen_by(reader))
    }

    /// Whether a version has these values in these columns.
    fn has_key(&self, columns: &[usize], key: &[Value]) -> bool {
        self.versions.iter().any(|version| has_key(version, columns, key))
    }
}

fn has_key(version: &Version, columns: &[usize], key: &[Value]) -> bool {
    version.values.as_ref().is_some_and(|values| {
        columns.iter().zip(key).all(|(&column, value)| values.get(column) == Some(value))
    })
}

fn key_of(values: &[Value], columns: &[usize]) -> Vec<Value> {
    columns.iter().map(|&column| values.get(column).cloned().unwrap_or(Value::Null)).collect()
}

#[derive(Debug, Default)]
struct Equal {
    columns: Vec<usize>,
    rows: FxHashMap<Vec<Value>, Vec<u32>>,
}

#[derive(Debug, Default)]
struct Ranges {
    column: usize,
    rows: BTreeMap<Value, Vec<u32>>,
}

/// A table.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    equal: RefCell<Vec<Equal>>,
    ranges: RefCell<Vec<Ranges>>,
    /// The position from which what statements wrote here is not certain; see `replay.rs`.
    pub(crate) wild: Option<u32>,
    /// The position from which the contents are unknown: an unsupported statement wrote.
    pub(crate) havoc: Option<u32>,
}

impl Table {
    /// Calls `visit` with each row of which a version may meet the conditions, until it returns `false`.
    pub(crate) fn candidates(&self, sarg: &Sarg, visit: &mut dyn FnMut(u32, &Row) -> bool) {
        if self.rows.len() > SMALL {
            if !sarg.equal.is_empty() && self.by_equality(sarg, visit) {
                return;
            }
            if !sarg.ranges.is_empty() && self.by_range(sarg, visit) {
                return;
            }
        }
        for (id, row) in self.rows.iter().enumerate() {
            if !row.versions.is_empty() && !visit(id as u32, row) {
                return;
            }
        }
    }

    fn by_equality(&self, sarg: &Sarg, visit: &mut dyn FnMut(u32, &Row) -> bool) -> bool {
        let mut pairs: Vec<(usize, &Value)> =
            sarg.equal.iter().map(|(column, value)| (*column, value)).collect();
        pairs.sort_by_key(|pair| pair.0);
        pairs.dedup_by_key(|pair| pair.0);
        let columns: Vec<usize> = pairs.iter().map(|pair| pair.0).collect();
        let mut indexes = self.equal.borrow_mut();
        let place = match indexes.iter().position(|index| index.columns == columns) {
            Some(place) => place,
            None if indexes.len() < INDEXES => {
                indexes.push(Equal::of(&self.rows, columns));
                indexes.len() - 1
            }
            None => return false,
        };
        drop(indexes);
        let key: Vec<Value> = pairs.into_iter().map(|pair| pair.1.clone()).collect();
        // A copy, because a visitor may scan the table again and add an index.
        let rows = self.equal.borrow()[place].rows.get(&key).cloned().unwrap_or_default();
        rows.iter().all(|&id| visit(id, &self.rows[id as usize]));
        true
    }

    fn by_range(&self, sarg: &Sarg, visit: &mut dyn FnMut(u32, &Row) -> bool) -> bool {
        let (column, low, high) = &sarg.ranges[0];
        let mut indexes = self.ranges.borrow_mut();
        let place = match indexes.iter().position(|index| index.column == *column) {
            Some(place) => place,
            None if indexes.len() < INDEXES => {
                indexes.push(Ranges::of(&self.rows, *column));
                indexes.len() - 1
            }
            None => return false,
        };
        drop(indexes);
        if is_empty(low, high) {
            return true;
        }
        let range = (low.clone(), high.clone());
        let mut rows: Vec<u32> =
            self.ranges.borrow()[place].rows.range(range).flat_map(|(_, rows)| rows).copied().collect();
        rows.sort_unstable();
        rows.dedup();
        rows.iter().all(|&id| visit(id, &self.rows[id as usize]));
        true
    }

    fn push(&mut self, id: u32, version: Version) {
        let row = &mut self.rows[id as usize];
        if let Some(values) = &version.values {
            for index in self.equal.get_mut() {
                let key = key_of(values, &index.columns);
                if !row.has_key(&index.columns, &key) {
                    index.rows.entry(key).or_default().push(id);
                }
            }
            for index in self.ranges.get_mut() {
                let key = key_of(values, &[index.column]);
                if !row.has_key(&[index.column], &key) {
                    let key = key.into_iter().next().unwrap_or(Value::Null);
                    index.rows.entry(key).or_default().push(id);
                }
            }
        }
        row.versions.push(version);
    }

    /// Removes versions that were taken from a row from the indexes.
    fn forget(&mut self, id: u32, taken: &[Version]) {
        let row = &self.rows[id as usize];
        for values in taken.iter().filter_map(|version| version.values.as_ref()) {
            for index in self.equal.get_mut() {
                let key = key_of(values, &index.columns);
                if !row.has_key(&index.columns, &key)
                    && let Some(rows) = index.rows.get_mut(&key)
                {
                    rows.retain(|&other| other != id);
                    if rows.is_empty() {
                        index.rows.remove(&key);
                    }
                }
            }
            for index in self.ranges.get_mut() {
                let key = key_of(values, &[index.column]);
                if !row.has_key(&[index.column], &key)
                    && let Some(rows) = index.rows.get_mut(&key[0])
                {
                    rows.retain(|&other| other != id);
                    if rows.is_empty() {
                        index.rows.remove(&key[0]);
                    }
                }
            }
        }
    }

    fn prune(&mut self, id: u32, horizon: u32) {
        let row = &mut self.rows[id as usize];
        let last =
            row.versions.iter().rposition(|version| version.is_committed() && version.commit < horizon);
        let Some(mut last) = last else { return };
        // Versions of transactions that did not end stay: their transactions know them.
        if let Some(open) = row.versions[..last].iter().position(|version| version.commit == PENDING) {
            last = open;
        }
        if last > 0 {
            let taken: Vec<Version> = row.versions.drain(..last).collect();
            self.forget(id, &taken);
        }
    }
}

/// Whether a range has no value at all, or bounds that `BTreeMap` refuses.
fn is_empty(low: &Bound<Value>, high: &Bound<Value>) -> bool {
    match (low, high) {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
            low >= high
        }
        _ => false,
    }
}

impl Equal {
    fn of(rows: &[Row], columns: Vec<usize>) -> Equal {
        let mut index = Equal { columns, rows: FxHashMap::default() };
        for (id, row) in rows.iter().enumerate() {
            for values in row.versions.iter().filter_map(|version| version.values.as_ref()) {
                let entry = index.rows.entry(key_of(values, &index.columns)).or_default();
                if entry.last() != Some(&(id as u32)) {
                    entry.push(id as u32);
                }
            }
        }
        index
    }
}

impl Ranges {
    fn of(rows: &[Row], column: usize) -> Ranges {
        let mut index = Ranges { column, rows: BTreeMap::new() };
        for (id, row) in rows.iter().enumerate() {
            for values in row.versions.iter().filter_map(|version| version.values.as_ref()) {
                let key = values.get(column).cloned().unwrap_or(Value::Null);
                let entry = index.rows.entry(key).or_default();
                if entry.last() != Some(&(id as u32)) {
                    entry.push(id as u32);
                }
            }
        }
        index
    }
}

/// A version of the catalogue.
#[derive(Debug)]
struct Names {
    writer: TxnId,
    statement: StatementId,
    commit: u32,
    catalog: Catalog,
}

/// The store; see the module.
pub(crate) struct Store {
    tables: FxHashMap<TableId, Table>,
    names: Vec<Names>,
    horizon: u32,
    empty: Table,
}

impl Store {
    pub(crate) fn new(catalog: Catalog) -> Store {
        let first = Names { writer: INITIAL, statement: 0, commit: 0, catalog };
        Store { tables: FxHashMap::default(), names: vec![first], horizon: 0, empty: Table::default() }
    }

    pub(crate) fn table(&self, id: TableId) -> &Table {
        self.tables.get(&id).unwrap_or(&self.empty)
    }

    pub(crate) fn table_mut(&mut self, id: TableId) -> &mut Table {
        self.tables.entry(id).or_default()
    }

    pub(crate) fn row(&self, table: TableId, row: RowId) -> Option<&Row> {
        self.tables.get(&table)?.rows.get(usize::try_from(row.0).ok()?)
    }

    /// The catalogue that a transaction sees, and its number.
    pub(crate) fn catalog(&self, txn: TxnId) -> (usize, &Catalog) {
        let seen = |names: &Names| names.commit < ABORTED || names.writer == txn;
        let at = self.names.iter().rposition(seen).unwrap_or(0);
        (at, &self.names[at].catalog)
    }

    /// The newest catalogue, of any transaction.
    pub(crate) fn newest_catalog(&self) -> &Catalog {
        &self.names[self.names.len() - 1].catalog
    }

    /// Whether only the schema and the loader made catalogues.
    pub(crate) fn has_one_catalog(&self) -> bool {
        self.names.iter().all(|names| names.writer == INITIAL)
    }

    /// Makes a catalogue the newest.
    pub(crate) fn push_catalog(
        &mut self,
        writer: TxnId,
        statement: StatementId,
        commit: u32,
        catalog: Catalog,
    ) {
        self.names.push(Names { writer, statement, commit, catalog });
    }

    /// Takes back the catalogues that a statement made.
    pub(crate) fn pop_catalogs(&mut self, statement: StatementId) {
        while self.names.len() > 1 && self.names.last().is_some_and(|names| names.statement == statement) {
            self.names.pop();
        }
    }

    /// Whether a transaction changed the catalogue.
    pub(crate) fn end_catalogs(&mut self, txn: TxnId, commit: u32) {
        for names in self.names.iter_mut().filter(|names| names.writer == txn) {
            names.commit = commit;
        }
    }

    /// A new row without versions.
    pub(crate) fn new_row(&mut self, table: TableId) -> u32 {
        let rows = &mut self.table_mut(table).rows;
        rows.push(Row::default());
        rows.len() as u32 - 1
    }

    pub(crate) fn push(&mut self, table: TableId, row: u32, version: Version) {
        self.table_mut(table).push(row, version);
    }

    /// Takes back the last version of a row.
    pub(crate) fn pop(&mut self, table: TableId, row: u32) {
        let table = self.table_mut(table);
        if let Some(taken) = table.rows[row as usize].versions.pop() {
            table.forget(row, &[taken]);
        }
        if row as usize + 1 == table.rows.len() && table.rows[row as usize].versions.is_empty() {
            table.rows.pop();
        }
    }

    /// Sets the position of the versions that a transaction wrote to a row.
    pub(crate) fn end(&mut self, table: TableId, row: u32, txn: TxnId, commit: u32) {
        let horizon = self.horizon;
        let table = self.table_mut(table);
        let versions = &mut table.rows[row as usize].versions;
        for version in versions.iter_mut().filter(|version| version.writer == txn) {
            version.commit = commit;
        }
        if versions.len() >= MANY && commit != PENDING {
            table.prune(row, horizon);
        }
    }

    /// Marks or unmarks the versions of a row that a ROLLBACK TO removes.
    pub(crate) fn undo(&mut self, table: TableId, row: u32, txn: TxnId, change: impl Fn(&mut Version)) {
        let versions = &mut self.table_mut(table).rows[row as usize].versions;
        versions.iter_mut().filter(|version| version.writer == txn).for_each(change);
    }

    /// No position before this one is asked for again.
    pub(crate) fn advance(&mut self, horizon: u32) {
        self.horizon = self.horizon.max(horizon);
    }

    /// Forgets uncertainty that began at or after a position.
    pub(crate) fn calm(&mut self, position: u32) {
        for table in self.tables.values_mut() {
            table.wild = table.wild.filter(|&since| since < position);
            table.havoc = table.havoc.filter(|&since| since < position);
        }
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = (TableId, &Table)> {
        self.tables.iter().map(|(&id, table)| (id, table))
    }
}

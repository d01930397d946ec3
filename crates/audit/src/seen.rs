//! What a statement sees: the rows that a reader's snapshot and its transaction's own writes select.
//!
//! While it is read, a view notes whether everything in it is *certain*: the same in every correct execution. A row is not if a
//! version of it is not *forced*, or if the order of a version's commit and the snapshot, or of two commits, is open.
//! A view can also note which parts of which tables were read.

use std::cell::{Cell, RefCell};

use isoscope_sql::{Catalog, RowId, Sarg, TableId, View, Visit};

use crate::problem::{Fate, Problem, StatementId};
use crate::store::{ABORTED, INITIAL, Reader, Row, Store, Version};

/// The rows that a statement sees; see the module.
pub(crate) struct Seen<'a, 'l> {
    problem: &'a Problem<'l>,
    store: &'a Store,
    reader: Reader,
    /// When the snapshot may have been taken.
    interval: (u64, u64),
    /// Statements after this one are not known.
    known: StatementId,
    certain: Cell<bool>,
    havoc: Cell<bool>,
    touched: Option<RefCell<Vec<(TableId, Sarg)>>>,
}

impl<'a, 'l> Seen<'a, 'l> {
    pub(crate) fn new(
        problem: &'a Problem<'l>,
        store: &'a Store,
        reader: Reader,
        interval: (u64, u64),
        known: StatementId,
    ) -> Seen<'a, 'l> {
        let (certain, havoc) = (Cell::new(true), Cell::new(false));
        Seen { problem, store, reader, interval, known, certain, havoc, touched: None }
    }

    /// The same view, which notes what is read.
    pub(crate) fn noting(self) -> Seen<'a, 'l> {
        Seen { touched: Some(RefCell::default()), ..self }
    }

    pub(crate) fn is_certain(&self) -> bool {
        self.certain.get()
    }

    /// Whether a table was read whose contents are not known.
    pub(crate) fn met_havoc(&self) -> bool {
        self.havoc.get()
    }

    /// What was read.
    pub(crate) fn touched(&self) -> Vec<(TableId, Sarg)> {
        self.touched.as_ref().map(|touched| touched.borrow().clone()).unwrap_or_default()
    }

    /// Whether both views have the same version of a row.
    pub(crate) fn sees_the_same(&self, other: &Seen<'_, '_>, table: TableId, row: RowId) -> bool {
        let Some(row) = self.store.row(table, row) else { return true };
        other.note_row(table, row);
        match (row.seen_by(&self.reader), row.seen_by(&other.reader)) {
            (Some(a), Some(b)) => std::ptr::eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }

    pub(crate) fn position(&self) -> u32 {
        self.reader.at
    }

    fn note(&self, table: TableId, sarg: &Sarg) {
        if let Some(touched) = &self.touched {
            touched.borrow_mut().push((table, sarg.clone()));
        }
    }

    /// Notes that one row is read: everything with its key.
    fn note_row(&self, table: TableId, row: &Row) {
        if self.touched.is_none() {
            return;
        }
        let values = row.versions.iter().rev().find_map(|version| version.values.as_ref());
        let key = self.catalog().table_of(table).and_then(|table| table.primary_key());
        let equal = key.zip(values).map(|(key, values)| {
            key.columns.iter().filter_map(|&column| Some((column, values.get(column)?.clone()))).collect()
        });
        self.note(table, &Sarg { equal: equal.unwrap_or_default(), ranges: Vec::new() });
    }

    fn inspect(&self, row: &Row) {
        if self.certain.get() && !self.row_is_certain(row) {
            self.certain.set(false);
        }
    }

    /// Whether the reader sees the same version of the row in every correct execution.
    fn row_is_certain(&self, row: &Row) -> bool {
        let Some(seen) = row.seen_by(&self.reader) else {
            return row.versions.iter().all(|version| !self.is_open(version));
        };
        let after = |version: &Version| {
            version.writer == seen.writer
                || !version.is_committed()
                || version.commit > seen.commit
                || self.is_replaced(version, seen)
        };
        seen.forced && row.versions.iter().all(|version| !self.is_open(version) && after(version))
    }

    /// Whether a version is certainly older than another one of its row: their holds of the row cannot be exchanged.
    fn is_replaced(&self, old: &Version, new: &Version) -> bool {
        old.writer == INITIAL
            || new.writer == self.reader.txn
            || self.problem.statement(old.statement).answered < self.problem.txn(new.writer).ends.0
    }

    /// Whether the reader could see the version in one correct execution and not in another.
    fn is_open(&self, version: &Version) -> bool {
        if version.writer == INITIAL || version.writer == self.reader.txn {
            return false;
        }
        let txn = self.problem.txn(version.writer);
        if txn.end > self.known {
            return true;
        }
        if txn.fate == Fate::Aborted {
            return false;
        }
        if txn.fate == Fate::Unknown || version.commit == ABORTED {
            return txn.ends.0 <= self.interval.1;
        }
        txn.ends.1 >= self.interval.0 && txn.ends.0 <= self.interval.1
    }
}

impl View for Seen<'_, '_> {
    fn catalog(&self) -> &Catalog {
        self.store.catalog(self.reader.txn).1
    }

    fn scan(&self, table: TableId, sarg: &Sarg, visit: &mut Visit<'_>) {
        self.note(table, sarg);
        let table = self.store.table(table);
        if table.wild.is_some() {
            self.certain.set(false);
        }
        if table.havoc.is_some() {
            self.havoc.set(true);
        }
        table.candidates(sarg, &mut |id, row| {
            self.inspect(row);
            match row.seen_by(&self.reader).and_then(|version| version.values.as_ref()) {
                Some(values) => visit(RowId(u64::from(id)), values),
                None => true,
            }
        });
    }

    fn row(&self, table: TableId, row: RowId) -> Option<Vec<isoscope_sql::Value>> {
        let found = self.store.row(table, row)?;
        self.inspect(found);
        self.note_row(table, found);
        let seen = found.seen_by(&self.reader)?;
        seen.values.as_ref().map(|values| values.to_vec())
    }
}

//! The tables as a statement changes them: a view with changes on top.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::change::Change;
use crate::expression::Context;
use crate::value::Value;
use crate::view::{RowId, Sarg, TableId, View, Visit};

/// A row.
pub type Row = Arc<[Value]>;

/// A view with changes on top. Rows that are inserted have numbers from [`RowId::PENDING`].
pub(crate) struct Work<'v> {
    base: &'v dyn View,
    rows: BTreeMap<(TableId, RowId), Option<Row>>,
    /// The rows in the order of their first change.
    order: Vec<(TableId, RowId)>,
    next: u64,
}

impl<'v> Work<'v> {
    pub(crate) fn new(cx: &Context<'v>) -> Work<'v> {
        Work { base: cx.constrained(), rows: BTreeMap::new(), order: Vec::new(), next: cx.pending }
    }

    /// The next number of a row that is not inserted yet.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn base(&self) -> &'v dyn View {
        self.base
    }

    pub(crate) fn insert(&mut self, table: TableId, row: Row) -> RowId {
        let id = RowId(self.next);
        self.next += 1;
        self.set(table, id, Some(row));
        id
    }

    /// Changes a row, or deletes it.
    pub(crate) fn set(&mut self, table: TableId, id: RowId, row: Option<Row>) {
        if self.rows.insert((table, id), row).is_none() {
            self.order.push((table, id));
        }
    }

    /// The changes, at most one for each row. Changes that end where they began are left out only for inserted rows.
    pub(crate) fn changes(self) -> Vec<Change> {
        let mut changes = Vec::with_capacity(self.order.len());
        for (table, id) in self.order {
            match (self.rows.get(&(table, id)), id.0 >= RowId::PENDING) {
                (Some(Some(row)), true) => changes.push(Change::Insert(table, row.clone())),
                (Some(Some(row)), false) => changes.push(Change::Update(table, id, row.clone())),
                (Some(None), false) => changes.push(Change::Delete(table, id)),
                (Some(None), true) | (None, _) => {}
            }
        }
        changes
    }

    /// The rows that were changed, with their new values.
    pub(crate) fn touched(&self) -> Vec<(TableId, RowId, Option<Row>)> {
        self.order
            .iter()
            .map(|(table, id)| (*table, *id, self.rows.get(&(*table, *id)).cloned().flatten()))
            .collect()
    }
}

impl View for Work<'_> {
    fn catalog(&self) -> &Catalog {
        self.base.catalog()
    }

    fn scan(&self, table: TableId, sarg: &Sarg, visit: &mut Visit<'_>) {
        let mut goes_on = true;
        let has_changes = !self.rows.is_empty();
        self.base.scan(table, sarg, &mut |id, row| {
            if !has_changes || !self.rows.contains_key(&(table, id)) {
                goes_on = visit(id, row);
            }
            goes_on
        });
        let own = (table, RowId(0))..=(table, RowId(u64::MAX));
        for ((_, id), row) in self.rows.range(own) {
            let Some(row) = row else { continue };
            if goes_on && sarg.admits(row) {
                goes_on = visit(*id, row);
            }
        }
    }

    fn row(&self, table: TableId, row: RowId) -> Option<Vec<Value>> {
        match self.rows.get(&(table, row)) {
            Some(own) => own.as_ref().map(|row| row.to_vec()),
            None => self.base.row(table, row),
        }
    }
}

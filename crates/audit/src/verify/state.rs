//! Plain tables, and a view of them with a transaction's changes on top.

use std::collections::BTreeMap;
use std::sync::Arc;

use isoscope_sql::{Catalog, Change, Row, RowId, Sarg, Settings, TableId, Value, View, Visit};

type Rows = BTreeMap<(TableId, RowId), Row>;

/// The committed rows.
#[derive(Clone)]
pub(super) struct State {
    catalog: Catalog,
    rows: Arc<Rows>,
    next: u64,
}

/// A transaction.
#[derive(Clone, Default)]
pub(super) struct Txn {
    pub(super) snapshot: Option<State>,
    pub(super) own: BTreeMap<(TableId, RowId), Option<Row>>,
    pub(super) is_over: bool,
    pub(super) is_writing: bool,
}

impl State {
    pub(super) fn new(settings: Settings) -> State {
        State { catalog: Catalog::new(settings), rows: Arc::default(), next: 0 }
    }

    pub(super) fn commit(&mut self, txn: &Txn) {
        if txn.own.is_empty() {
            return;
        }
        let mut rows = (*self.rows).clone();
        for (key, row) in &txn.own {
            match row {
                Some(row) => rows.insert(*key, row.clone()),
                None => rows.remove(key),
            };
        }
        self.rows = Arc::new(rows);
    }

    /// Whether both have the same version of a row.
    pub(super) fn has_same(&self, other: &State, table: TableId, row: RowId) -> bool {
        match (self.rows.get(&(table, row)), other.rows.get(&(table, row))) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }
}

impl Txn {
    /// Applies changes. Rows get their numbers, and the catalogue changes, at once.
    pub(super) fn change(&mut self, changes: &[Change], committed: &mut State) {
        for change in changes {
            match change {
                Change::Insert(table, row) => {
                    self.own.insert((*table, RowId(committed.next)), Some(row.clone()));
                    committed.next += 1;
                }
                Change::Update(table, id, row) => {
                    self.own.insert((*table, *id), Some(row.clone()));
                }
                Change::Delete(table, id) => {
                    self.own.insert((*table, *id), None);
                }
                Change::Catalog(change) => committed.catalog.apply(change),
            }
        }
    }
}

/// What a transaction sees.
pub(super) struct Plain<'a> {
    pub(super) state: &'a State,
    pub(super) own: &'a Txn,
}

impl View for Plain<'_> {
    fn catalog(&self) -> &Catalog {
        &self.state.catalog
    }

    fn scan(&self, table: TableId, _: &Sarg, visit: &mut Visit<'_>) {
        let all = (table, RowId(0))..=(table, RowId(u64::MAX));
        for (key, row) in self.state.rows.range(all.clone()) {
            if !self.own.own.contains_key(key) && !visit(key.1, row) {
                return;
            }
        }
        for (key, row) in self.own.own.range(all) {
            if let Some(row) = row
                && !visit(key.1, row)
            {
                return;
            }
        }
    }

    fn row(&self, table: TableId, row: RowId) -> Option<Vec<Value>> {
        let own = self.own.own.get(&(table, row));
        let row = own.map_or_else(|| self.state.rows.get(&(table, row)), Option::as_ref);
        row.map(|row| row.to_vec())
    }
}

//! A database engine that executes statements step by step. The caller decides which step comes next.
//!
//! Invariant: no two transactions in progress have changed the same row, or inserted or deleted the same key.

use std::collections::{BTreeMap, BTreeSet};

use isoscope_log::Class;

use crate::model::Model;
use crate::statement::{Image, RowId, Statement, Table, row_with_key};
use crate::tiny::Given;

/// What a transaction did to rows; `None` is a row that is gone.
pub type Changes = BTreeMap<RowId, Option<Image>>;

/// The database and its transactions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The table at the beginning.
    pub initial: Table,
    /// The commits that changed something, in order.
    pub commits: Vec<(usize, Changes)>,
    /// The transactions that committed.
    pub committed: BTreeSet<usize>,
    /// The transactions.
    pub txns: Vec<TxnState>,
}

/// A transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TxnState {
    /// How many commits it sees, if it has one snapshot.
    pub snapshot: Option<usize>,
    /// Its changes so far. It has locked these rows.
    pub own: Changes,
    /// The keys that it inserted or deleted. It has locked them.
    pub keys: BTreeSet<i64>,
    /// Whether it has SQLite's write lock.
    pub is_writing: bool,
    /// The statement that it is executing.
    pub doing: Option<Doing>,
    /// Whether it has ended.
    pub is_over: bool,
}

/// A statement in execution.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Doing {
    /// Its entry.
    pub entry: usize,
    /// How many commits it sees.
    pub snapshot: usize,
    /// The rows that it has yet to lock.
    pub todo: BTreeSet<RowId>,
    /// The rows that it changed.
    pub count: u64,
    /// Whether it is over, except for the commit of an autocommit statement.
    pub is_done: bool,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The step is impossible now: another transaction has the lock.
    Blocked,
    /// The statement needs more steps.
    Going,
    /// The statement is over.
    Done(Given),
}

impl World {
    /// A world before any transaction.
    pub fn new(initial: Table, txns: usize) -> World {
        World {
            initial,
            commits: Vec::new(),
            committed: BTreeSet::new(),
            txns: vec![TxnState::default(); txns],
        }
    }

    /// The table after this number of commits, with the transaction's own changes.
    pub fn table(&self, commits: usize, txn: usize) -> Table {
        let mut table = self.initial.clone();
        for (_, changes) in &self.commits[..commits] {
            apply(&mut table, changes);
        }
        apply(&mut table, &self.txns[txn].own);
        table
    }

    /// Takes the first step of a statement: its snapshot.
    pub fn start(&mut self, model: Model, txn: usize, entry: usize, statement: &Statement) -> Step {
        let now = self.commits.len();
        let snapshot = match model {
            Model::PgRc => now,
            _ => *self.txns[txn].snapshot.get_or_insert(now),
        };
        let table = self.table(snapshot, txn);
        if let Statement::Select(..) = statement {
            return Step::Done(Given::Rows(statement.select(&table)));
        }
        if model == Model::Sqlite {
            if self.others(txn).any(|other| other.is_writing) {
                return Step::Blocked;
            }
            if snapshot != now {
                return Step::Done(Given::Error(Class::Busy));
            }
            self.txns[txn].is_writing = true;
        }
        let todo: BTreeSet<RowId> =
            table.iter().filter(|&(_, &row)| statement.matches(row)).map(|(&id, _)| id).collect();
        let is_insert = matches!(statement, Statement::Insert(_));
        if todo.is_empty() && !is_insert {
            return Step::Done(Given::Count(0));
        }
        self.txns[txn].doing = Some(Doing { entry, snapshot, todo, count: 0, is_done: false });
        Step::Going
    }

    /// Locks a row that an UPDATE or DELETE matched, and changes it.
    pub fn change_row(&mut self, model: Model, txn: usize, statement: &Statement, row: RowId) -> Step {
        if self.others(txn).any(|other| other.own.contains_key(&row)) {
            return Step::Blocked;
        }
        let now = self.commits.len();
        let newest = self.table(now, txn).get(&row).copied();
        let Some(doing) = self.txns[txn].doing.clone() else { return Step::Blocked };
        let changed_since =
            self.commits[doing.snapshot..].iter().any(|(_, changes)| changes.contains_key(&row));
        if changed_since && model != Model::PgRc {
            self.txns[txn].doing = None;
            return Step::Done(Given::Error(Class::Serialization));
        }
        let state = &mut self.txns[txn];
        let matching = newest.filter(|&newest| statement.matches(newest));
        if let Some(old) = matching {
            let new = statement.change(old);
            state.own.insert(row, new);
            if new.is_none() {
                state.keys.insert(old.k);
            }
        }
        let Some(doing) = &mut state.doing else { return Step::Blocked };
        doing.count += u64::from(matching.is_some());
        doing.todo.remove(&row);
        if !doing.todo.is_empty() {
            return Step::Going;
        }
        let count = doing.count;
        state.doing = None;
        Step::Done(Given::Count(count))
    }

    /// Locks the key of an INSERT, and inserts the row.
    pub fn insert_row(&mut self, txn: usize, entry: usize, row: Image) -> Step {
        if self.others(txn).any(|other| other.keys.contains(&row.k)) {
            return Step::Blocked;
        }
        let newest = self.table(self.commits.len(), txn);
        let state = &mut self.txns[txn];
        state.doing = None;
        if row_with_key(&newest, row.k).is_some() {
            return Step::Done(Given::Error(Class::Constraint));
        }
        state.own.insert(born(entry), Some(row));
        state.keys.insert(row.k);
        Step::Done(Given::Count(1))
    }

    /// Commits a transaction.
    pub fn commit(&mut self, txn: usize) {
        let own = std::mem::take(&mut self.txns[txn].own);
        if !own.is_empty() {
            self.commits.push((txn, own));
        }
        self.committed.insert(txn);
        self.abort(txn);
    }

    /// Ends a transaction without its changes.
    pub fn abort(&mut self, txn: usize) {
        self.txns[txn] = TxnState { is_over: true, ..TxnState::default() };
    }

    fn others(&self, txn: usize) -> impl Iterator<Item = &TxnState> {
        self.txns.iter().enumerate().filter(move |&(other, _)| other != txn).map(|(_, state)| state)
    }
}

/// The id of the row that an entry inserts.
pub const fn born(entry: usize) -> RowId {
    1000 + entry as RowId
}

/// Applies changes to a table.
pub fn apply(table: &mut Table, changes: &Changes) {
    for (&row, image) in changes {
        match image {
            Some(image) => table.insert(row, *image),
            None => table.remove(&row),
        };
    }
}

//! `pg-ser`: a serial order by values.
//!
//! An execution whose dependencies form a cycle can still have a serial order that gives the same answers, because two
//! versions have the same values or a query does not show the difference. For few transactions all orders are tried.
//!
//! **Definition.** A serial order of the committed transactions *explains* an execution if the transactions of each session are in
//! their order, and executing them one after another from the initial state gives every known answer, and leaves in each row that a
//! transaction writes the same values as in the execution.
//!
//! **Invariant.** [`ByValues::Refuted`] means that all orders were tried. It depends only on who committed and on the values
//! that they wrote.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use isoscope_sql::{Catalog, Change, RowId, Sarg, TableId, Value, View, Visit};
use rustc_hash::FxHashMap;

use crate::problem::{Event, NONE, Point, Reply, StatementId, TxnId};
use crate::replay::Replay;
use crate::store::INITIAL;
use crate::text::Kind;

/// More committed transactions than this are not ordered by values.
pub(crate) const MOST: usize = 8;
/// How many transactions are executed at most, in all orders together.
const WORK: u32 = 50_000;

/// Whether a serial order by values exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByValues {
    Explains,
    Refuted,
    /// There are too many transactions, or something in them is not executed here.
    Unknown,
}

type Key = (TableId, RowId);
type Row = Arc<[Value]>;

/// Rows, and the changes of a transaction on top.
struct Plain<'a> {
    catalog: &'a Catalog,
    rows: &'a BTreeMap<Key, Row>,
    own: BTreeMap<Key, Option<Row>>,
}

/// The orders of the transactions that committed in an execution.
struct Orders<'a, 'p, 'l> {
    replay: &'a Replay<'p, 'l>,
    txns: Vec<TxnId>,
    /// What each transaction left in the rows that it wrote.
    left: Vec<BTreeMap<Key, Option<Row>>>,
    work: Cell<u32>,
    is_unknown: Cell<bool>,
}

/// Looks for a serial order that explains an execution.
pub(crate) fn order(replay: &Replay<'_, '_>) -> ByValues {
    let committed = |txn: &TxnId| replay.states[*txn as usize].committed;
    let txns: Vec<TxnId> = (0..replay.problem.txns.len() as TxnId).filter(committed).take(MOST + 1).collect();
    let is_plain = txns.len() <= MOST && replay.base == 0 && replay.store.has_one_catalog();
    if !is_plain || replay.store.tables().any(|(_, table)| table.havoc.is_some()) {
        return ByValues::Unknown;
    }
    let mut rows: BTreeMap<Key, Row> = BTreeMap::new();
    for (id, table) in replay.store.tables() {
        for (number, row) in table.rows.iter().enumerate() {
            let first = row.versions.iter().rev().find(|version| version.writer == INITIAL);
            if let Some(values) = first.and_then(|version| version.values.clone()) {
                rows.insert((id, RowId(number as u64)), values);
            }
        }
    }
    let left: Vec<_> = txns.iter().map(|&txn| left_by(replay, txn)).collect();
    let has_hole = |row: &Row| row.iter().any(|value| matches!(value, Value::Hole(_)));
    if rows.values().chain(left.iter().flat_map(|rows| rows.values().flatten())).any(has_hole) {
        return ByValues::Unknown;
    }
    let orders = Orders { replay, txns, left, work: Cell::new(WORK), is_unknown: Cell::new(false) };
    let mut waiting: Vec<usize> = (0..orders.txns.len()).collect();
    match orders.search(&mut waiting, &rows) {
        true => ByValues::Explains,
        false if orders.is_unknown.get() => ByValues::Unknown,
        false => ByValues::Refuted,
    }
}

/// What a transaction left in the rows that it wrote.
fn left_by(replay: &Replay<'_, '_>, txn: TxnId) -> BTreeMap<Key, Option<Row>> {
    let mut left = BTreeMap::new();
    for &(_, table, row) in &replay.states[txn as usize].writes {
        let key = (table, RowId(u64::from(row)));
        let Some(row) = replay.store.row(table, key.1) else { continue };
        let last = row.versions.iter().rev().find(|version| version.writer == txn && version.undone == NONE);
        if let Some(last) = last {
            left.insert(key, last.values.clone());
        }
    }
    left
}

impl Orders<'_, '_, '_> {
    /// Whether the waiting transactions can follow in some order. The depth is their number.
    fn search(&self, waiting: &mut Vec<usize>, rows: &BTreeMap<Key, Row>) -> bool {
        if waiting.is_empty() {
            return true;
        }
        for place in 0..waiting.len() {
            let next = waiting[place];
            if waiting.iter().any(|&other| self.must_precede(self.txns[other], self.txns[next])) {
                continue;
            }
            if self.work.get() == 0 {
                self.is_unknown.set(true);
            }
            if self.is_unknown.get() {
                return false;
            }
            self.work.set(self.work.get() - 1);
            if !self.fits(next, rows) {
                continue;
            }
            let mut after = rows.clone();
            for (key, row) in &self.left[next] {
                match row {
                    Some(row) => after.insert(*key, row.clone()),
                    None => after.remove(key),
                };
            }
            waiting.remove(place);
            if self.search(waiting, &after) {
                return true;
            }
            waiting.insert(place, next);
        }
        false
    }

    /// Whether a transaction was confirmed before a later one of its session began.
    fn must_precede(&self, a: TxnId, b: TxnId) -> bool {
        let problem = self.replay.problem;
        let (first, second) = (problem.txn(a), problem.txn(b));
        first.session == second.session
            && first.statements[0] < second.statements[0]
            && self.replay.interval(problem.end_point(a)).1 != u64::MAX
    }

    /// Whether a transaction that is executed alone gives its answers and leaves what it left.
    fn fits(&self, place: usize, rows: &BTreeMap<Key, Row>) -> bool {
        let problem = self.replay.problem;
        let catalog = self.replay.store.newest_catalog();
        let mut view = Plain { catalog, rows, own: BTreeMap::new() };
        for &id in &problem.txn(self.txns[place]).statements {
            let line = problem.statement(id);
            if line.kind == Kind::RollbackTo {
                self.is_unknown.set(true);
                return false;
            }
            let was_executed = self.replay.position(Point::new(id, Event::Write)) != NONE;
            let counts = self.replay.knows(id) && !self.replay.ignored.contains(&id);
            let is_query = problem.facts(id).is_query;
            if !line.kind.is_sql() || (is_query && !counts) || (line.kind.writes() && !was_executed) {
                continue;
            }
            if !self.run(self.txns[place], id, counts, &mut view) {
                return false;
            }
        }
        view.own == self.left[place]
    }

    /// Executes a statement; whether it gives its answer.
    fn run(&self, txn: TxnId, id: StatementId, counts: bool, view: &mut Plain<'_>) -> bool {
        let (problem, plans) = (self.replay.problem, &self.replay.plans);
        let line = problem.statement(id);
        let entry = problem.entry(id);
        let is_query = problem.facts(id).is_query;
        let effect = plans.execute(line.text, entry, is_query, view);
        let reply = match &effect.reply {
            Ok(reply) => reply,
            Err(error) if !error.class.is_answer() => {
                // A query that is not supported is not checked anywhere.
                self.is_unknown.set(self.is_unknown.get() || !is_query);
                return is_query;
            }
            Err(_) => return !(counts && line.reply == Reply::Success),
        };
        if effect.is_free() {
            self.is_unknown.set(true);
            return false;
        }
        if counts
            && let Ok(logged) = &entry.answer
            && plans.difference(&effect, reply, logged).is_some()
        {
            return false;
        }
        self.apply(txn, id, effect.changes, view);
        true
    }

    /// Applies changes. A row that is inserted is the one that the statement inserted in the execution.
    fn apply(&self, txn: TxnId, id: StatementId, changes: Vec<Change>, view: &mut Plain<'_>) {
        let mut born: FxHashMap<TableId, Vec<u32>> = FxHashMap::default();
        for &(by, table, row) in self.replay.states[txn as usize].writes.iter().rev() {
            let first = self.replay.store.row(table, RowId(u64::from(row)));
            if by == id && first.is_some_and(|row| row.versions.first().is_some_and(|v| v.statement == id)) {
                born.entry(table).or_default().push(row);
            }
        }
        for (number, change) in changes.into_iter().enumerate() {
            match change {
                Change::Insert(table, values) => {
                    let row = born
                        .get_mut(&table)
                        .and_then(Vec::pop)
                        .map_or_else(|| (1 << 62) + (u64::from(id) << 24) + number as u64, u64::from);
                    view.own.insert((table, RowId(row)), Some(values));
                }
                Change::Update(table, row, values) => {
                    view.own.insert((table, row), Some(values));
                }
                Change::Delete(table, row) => {
                    view.own.insert((table, row), None);
                }
                Change::Catalog(_) => self.is_unknown.set(true),
            }
        }
    }
}

impl View for Plain<'_> {
    fn catalog(&self) -> &Catalog {
        self.catalog
    }

    fn scan(&self, table: TableId, sarg: &Sarg, visit: &mut Visit<'_>) {
        let all = (table, RowId(0))..=(table, RowId(u64::MAX));
        for (key, row) in self.rows.range(all.clone()) {
            if !self.own.contains_key(key) && sarg.admits(row) && !visit(key.1, row) {
                return;
            }
        }
        for (key, row) in self.own.range(all) {
            if let Some(row) = row
                && sarg.admits(row)
                && !visit(key.1, row)
            {
                return;
            }
        }
    }

    fn row(&self, table: TableId, row: RowId) -> Option<Vec<Value>> {
        let found = match self.own.get(&(table, row)) {
            Some(own) => own.as_ref(),
            None => self.rows.get(&(table, row)),
        };
        found.map(|row| row.to_vec())
    }
}

//! The evaluator of statements that write.
//!
//! A statement reads the view as it was when the statement began; its changes are collected on top and seen only by
//! constraints. The result has at most one change for each row.

use crate::answer::{Doubt, Reply, Rows};
use crate::catalog::{CatalogChange, Table};
use crate::constraint::{check_foreign, check_row, check_unique, check_updated, conflicts};
use crate::error::{ErrorClass, Result, SqlError, unsupported, wrong_type};
use crate::expression::{Context, Env};
use crate::ir::{Expr, From};
use crate::plan::{Action, Conflict, Delete, Insert, Returning, Set, Source, Update, Window};
use crate::select;
use crate::value::Value;
use crate::view::{RowId, TableId};
use crate::work::{Row, Work};

/// A change of a table or of the catalogue.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A new row.
    Insert(TableId, Row),
    /// The new values of a row.
    Update(TableId, RowId, Row),
    /// A row is deleted.
    Delete(TableId, RowId),
    /// A table, view or routine is created or dropped. The rows of a dropped table go with it.
    Catalog(CatalogChange),
}

/// What a statement does in a correct database.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Its answer.
    pub reply: Reply,
    /// Its changes, in order.
    pub changes: Vec<Change>,
    /// Why another answer may be correct too.
    pub doubts: Vec<Doubt>,
    /// The number after the last hole of the statement.
    pub next_hole: u32,
}

/// Runs a bound statement.
pub(crate) fn run(cx: &Context<'_>, action: &Action) -> Result<(Reply, Vec<Change>)> {
    match action {
        Action::Query { query, columns } => {
            Ok((Reply::Rows(select::answer(cx, query, columns, None)?), Vec::new()))
        }
        Action::Insert(insert) => run_insert(cx, insert),
        Action::Update(update) => run_update(cx, update),
        Action::Delete(delete) => run_delete(cx, delete),
        Action::Catalog(changes) => {
            Ok((Reply::Count(0), changes.iter().cloned().map(Change::Catalog).collect()))
        }
        Action::UniqueIndex(table) => {
            let mut failure = None;
            cx.view.scan(table.id, &crate::view::Sarg::default(), &mut |id, row| {
                failure = check_unique(cx, cx.view, table, row, Some(id)).err();
                failure.is_none()
            });
            match failure {
                Some(error) => Err(error),
                None => {
                    Ok((Reply::Count(0), vec![Change::Catalog(CatalogChange::AlterTable(table.clone()))]))
                }
            }
        }
        Action::Truncate(tables) => {
            let mut work = Work::new(cx);
            for table in tables {
                let mut rows = Vec::new();
                cx.view.scan(table.id, &crate::view::Sarg::default(), &mut |id, _| {
                    rows.push(id);
                    true
                });
                for id in rows {
                    work.set(table.id, id, None);
                }
            }
            check_foreign(cx, &mut work)?;
            Ok((Reply::Count(0), work.changes()))
        }
        Action::Call { name, args } => crate::procedure::call(cx, name, args),
        Action::Nothing => Ok((Reply::Count(0), Vec::new())),
    }
}

/// The answer of a statement that writes: its RETURNING, or a count.
fn reply(returning: Option<&Returning>, rows: Vec<Vec<Value>>, count: u64) -> Reply {
    match returning {
        Some(returning) => Reply::Rows(Rows::unordered(returning.columns.clone(), rows)),
        None => Reply::Count(count),
    }
}

fn returned(cx: &Context<'_>, returning: Option<&Returning>, env: Option<&Env<'_>>) -> Result<Vec<Value>> {
    match returning {
        Some(returning) => returning.outputs.iter().map(|expr| cx.eval(expr, env)).collect(),
        None => Ok(Vec::new()),
    }
}

// INSERT

/// The default of a column.
fn default(cx: &Context<'_>, table: &Table, at: usize) -> Result<Value> {
    let column = &table.columns[at];
    if column.is_made {
        return Ok(cx.hole());
    }
    match &column.default {
        Some(default) => cx.eval(default, None),
        None if column.not_null && cx.settings.is_mysql() => {
            if !cx.settings.is_strict {
                return unsupported("MySQL's implied default");
            }
            Err(SqlError::new(ErrorClass::Invalid, format!("column {} has no default", column.name)))
        }
        None => Ok(Value::Null),
    }
}

/// Completes a row: values that the database makes, and the rowid of SQLite.
fn complete(cx: &Context<'_>, table: &Table, row: &mut [Value]) -> Result<()> {
    for (at, column) in table.columns.iter().enumerate() {
        let is_missing = match &row[at] {
            Value::Null => !cx.settings.is_postgres(),
            Value::Int(0) | Value::UInt(0) => cx.settings.is_mysql(),
            _ => false,
        };
        if column.is_made && is_missing {
            row[at] = cx.hole();
        }
    }
    if let Some(at) = table.rowid
        && !matches!(row[at], Value::Int(_) | Value::Hole(_))
    {
        return wrong_type("datatype mismatch");
    }
    Ok(())
}

/// The value of each column of a new row. MySQL refuses NULL before it looks at the next column.
fn new_row(
    cx: &Context<'_>,
    table: &Table,
    value: &mut dyn FnMut(usize) -> Option<Result<Value>>,
) -> Result<Vec<Value>> {
    let mut row = Vec::with_capacity(table.columns.len());
    for (at, column) in table.columns.iter().enumerate() {
        let value = match value(at) {
            Some(value) => value?,
            None => default(cx, table, at)?,
        };
        if cx.settings.is_mysql() && value.is_null() && column.not_null && !column.is_made {
            return Err(SqlError::new(ErrorClass::NotNull, format!("{} must not be NULL", column.name)));
        }
        row.push(value);
    }
    complete(cx, table, &mut row)?;
    Ok(row)
}

/// MySQL refuses a statement that leaves out a column without a default, whether or not there are rows.
fn check_defaults(cx: &Context<'_>, insert: &Insert) -> Result<()> {
    for (at, column) in insert.table.columns.iter().enumerate() {
        let is_given = match &insert.source {
            Source::Rows(rows) => rows.iter().all(|row| row[at].is_some()),
            Source::Query { columns, .. } => columns.contains(&at),
        };
        if is_given || !column.not_null || column.is_made || column.default.is_some() {
            continue;
        }
        if matches!(insert.conflict, Conflict::Update { .. }) {
            return unsupported("an upsert without a value for a column without a default");
        }
        default(cx, &insert.table, at)?;
    }
    Ok(())
}

fn run_insert(cx: &Context<'_>, insert: &Insert) -> Result<(Reply, Vec<Change>)> {
    let table = &insert.table;
    if cx.settings.is_mysql() {
        check_defaults(cx, insert)?;
    }
    let mut work = Work::new(cx);
    let mut count = 0;
    let mut outputs = Vec::new();
    let mut store = |row: Result<Vec<Value>>| -> Result<()> {
        let row = match row {
            Err(error) if matches!(insert.conflict, Conflict::Ignore) && error.class.is_answer() => {
                return unsupported("INSERT IGNORE of a value that does not fit");
            }
            other => other?,
        };
        let (stored, counted) = insert_row(cx, insert, &mut work, row)?;
        count += counted;
        if let Some(row) = stored {
            let link = Env { slot: insert.slot, row: &row, id: None, outer: None };
            outputs.push(returned(cx, insert.returning.as_ref(), Some(&link))?);
        }
        Ok(())
    };
    match &insert.source {
        Source::Rows(list) => {
            if cx.settings.is_mysql()
                && list.len() > 1
                && list.iter().flatten().flatten().any(crate::walk::has_query)
            {
                // A subquery may see the rows before.
                cx.doubt(Doubt::Choice);
            }
            for exprs in list {
                store(new_row(cx, table, &mut |at| exprs[at].as_ref().map(|expr| cx.eval(expr, None))))?;
            }
        }
        Source::Query { query, columns, slot, values } => {
            for found in select::rows(cx, query, None)? {
                let link = Env { slot: *slot, row: &found, id: None, outer: None };
                store(new_row(cx, table, &mut |at| {
                    let n = columns.iter().position(|column| *column == at)?;
                    Some(cx.eval(&values[n], Some(&link)))
                }))?;
            }
        }
    }
    check_foreign(cx, &mut work)?;
    Ok((reply(insert.returning.as_ref(), outputs, count), work.changes()))
}

/// Inserts one row. Returns the row that is stored or updated, and how much it counts.
fn insert_row(
    cx: &Context<'_>,
    insert: &Insert,
    work: &mut Work<'_>,
    row: Vec<Value>,
) -> Result<(Option<Row>, u64)> {
    let table = &insert.table;
    let is_skipped = |error: &SqlError| {
        matches!(error.class, ErrorClass::NotNull | ErrorClass::Check | ErrorClass::Unique)
    };
    match (check_row(cx, table, &row), &insert.conflict) {
        (Ok(()), _) => {}
        (Err(error), Conflict::IgnoreAll) if is_skipped(&error) => return Ok((None, 0)),
        (Err(error), Conflict::Ignore) if is_skipped(&error) => {
            return unsupported("INSERT IGNORE of a value that does not fit");
        }
        (Err(error), Conflict::Replace) if error.class == ErrorClass::NotNull && cx.settings.is_sqlite() => {
            return unsupported("REPLACE with NULL");
        }
        (Err(error), _) => return Err(error),
    }
    match &insert.conflict {
        Conflict::Fail => check_unique(cx, work, table, &row, None)?,
        Conflict::Skip(target) => {
            for key in &table.keys {
                let is_target = target.as_ref().is_none_or(|target| same_columns(target, &key.columns));
                let found = conflicts(cx, work, table, key, &row, None)?;
                if !found.is_empty() {
                    note_order(cx, insert, &found);
                    if is_target {
                        return Ok((None, 0));
                    }
                    return Err(SqlError::new(
                        ErrorClass::Unique,
                        format!("the key {} has the value already", key.name),
                    ));
                }
            }
        }
        Conflict::Ignore | Conflict::IgnoreAll => {
            if check_unique(cx, work, table, &row, None).is_err_and(|error| error.class == ErrorClass::Unique)
            {
                return Ok((None, 0));
            }
        }
        Conflict::Replace => return replace_row(cx, insert, work, row),
        Conflict::Update { target, sets, filter } => {
            if let Some(result) = upsert(cx, insert, work, target.as_deref(), sets, filter.as_ref(), &row)? {
                return Ok(result);
            }
        }
    }
    let row: Row = row.into();
    work.insert(table.id, row.clone());
    Ok((Some(row), 1))
}

fn same_columns(left: &[usize], right: &[usize]) -> bool {
    left.len() == right.len() && left.iter().all(|column| right.contains(column))
}

/// The rows of a query are inserted in any order: which of them meets the other is free.
fn note_order(cx: &Context<'_>, insert: &Insert, found: &[RowId]) {
    if matches!(insert.source, Source::Query { .. }) && found.iter().any(|id| id.0 >= RowId::PENDING) {
        cx.doubt(Doubt::Choice);
    }
}

fn replace_row(
    cx: &Context<'_>,
    insert: &Insert,
    work: &mut Work<'_>,
    row: Vec<Value>,
) -> Result<(Option<Row>, u64)> {
    let table = &insert.table;
    let mut deleted = std::collections::BTreeSet::new();
    for key in &table.keys {
        deleted.extend(conflicts(cx, work, table, key, &row, None)?);
    }
    // MySQL does not count a row that is replaced by the same row.
    let differs = |id: &&RowId| crate::view::View::row(work, table.id, **id).is_none_or(|old| old != row);
    let count = if cx.settings.is_mysql() { 1 + deleted.iter().filter(differs).count() as u64 } else { 1 };
    note_order(cx, insert, &deleted.iter().copied().collect::<Vec<_>>());
    for id in deleted {
        work.set(table.id, id, None);
    }
    let row: Row = row.into();
    work.insert(table.id, row.clone());
    Ok((Some(row), count))
}

/// The row whose key an upsert meets. Rows that another key meets are an error.
fn row_with_key(
    cx: &Context<'_>,
    table: &Table,
    work: &Work<'_>,
    target: Option<&[usize]>,
    row: &[Value],
) -> Result<Option<RowId>> {
    let mut hit = None;
    for key in &table.keys {
        let is_target = target.is_none_or(|target| same_columns(target, &key.columns));
        let found = conflicts(cx, work, table, key, row, None)?;
        match found.first() {
            Some(id) if is_target && hit.is_none() => hit = Some(*id),
            Some(id) if hit.is_some_and(|hit| hit != *id) => cx.doubt(Doubt::Choice),
            Some(_) if !is_target && hit.is_none() => {
                return Err(SqlError::new(
                    ErrorClass::Unique,
                    format!("the key {} has the value already", key.name),
                ));
            }
            _ => {}
        }
    }
    Ok(hit)
}

/// Updates the row that has the key already; `None` if there is none.
fn upsert(
    cx: &Context<'_>,
    insert: &Insert,
    work: &mut Work<'_>,
    target: Option<&[usize]>,
    sets: &[(usize, Expr)],
    filter: Option<&Expr>,
    row: &[Value],
) -> Result<Option<(Option<Row>, u64)>> {
    let table = &insert.table;
    let Some(id) = row_with_key(cx, table, work, target, row)? else { return Ok(None) };
    note_order(cx, insert, &[id]);
    let is_own =
        id.0 >= RowId::PENDING || work.touched().iter().any(|(of, other, _)| *of == table.id && *other == id);
    if is_own && cx.settings.is_postgres() {
        return Err(SqlError::new(
            ErrorClass::Cardinality,
            "ON CONFLICT DO UPDATE cannot affect a row twice",
        ));
    }
    let Some(old) = crate::view::View::row(work, table.id, id) else { return Ok(None) };
    *cx.proposed.borrow_mut() = row.to_vec();
    if let Some(filter) = filter {
        let link = Env { slot: insert.slot, row: &old, id: Some(id), outer: None };
        if cx.test(filter, Some(&link))? != Some(true) {
            return Ok(Some((None, 0)));
        }
    }
    let mut new = old.clone();
    for (column, expr) in sets {
        // MySQL sees the values that were set before.
        let seen = if cx.settings.is_mysql() { new.clone() } else { old.clone() };
        let link = Env { slot: insert.slot, row: &seen, id: Some(id), outer: None };
        new[*column] = cx.eval(expr, Some(&link))?;
    }
    check_row(cx, table, &new)?;
    check_unique(cx, work, table, &new, Some(id))?;
    let is_changed = new != old;
    let new: Row = new.into();
    work.set(table.id, id, Some(new.clone()));
    let count = match (cx.settings.is_mysql(), is_changed) {
        (false, _) => 1,
        (true, true) => 2,
        (true, false) => u64::from(cx.settings.counts_found),
    };
    Ok(Some((Some(new), count)))
}

// UPDATE and DELETE

/// A row that an UPDATE or DELETE found, with what it needs later.
struct Found {
    id: RowId,
    keys: Vec<Value>,
    payload: Vec<Value>,
    /// The row after an update.
    new: Vec<Value>,
    outputs: Vec<Value>,
}

/// Computes the new row and the outputs of a joined row and the target's part of it.
type Make<'a> = dyn FnMut(&Context<'_>, &Env<'_>, &Env<'_>) -> Result<(Vec<Value>, Vec<Value>)> + 'a;

/// Visits the rows of the target once each.
fn targets(
    cx: &Context<'_>,
    from: &From,
    filter: Option<&Expr>,
    slot: u16,
    window: &Window,
    make: &mut Make<'_>,
) -> Result<Vec<Found>> {
    let mut found: Vec<Found> = Vec::new();
    let mut at: rustc_hash::FxHashMap<RowId, usize> = rustc_hash::FxHashMap::default();
    select::filtered(cx, from, filter, None, &mut |cx, env| {
        let Some(env) = env else { return unsupported("a statement without a table") };
        let Some(link) = env.find(slot) else { return unsupported("a statement without a table") };
        // The row is NULL where an outer join found none.
        let Some(id) = link.id else { return Ok(true) };
        let (new, outputs) = make(cx, env, link)?;
        let keys = window.keys.iter().map(|key| cx.eval(key, Some(env))).collect::<Result<Vec<_>>>()?;
        if let Some(n) = at.get(&id) {
            if found[*n].new != new || found[*n].outputs != outputs {
                cx.doubt(Doubt::Choice);
            }
        } else {
            at.insert(id, found.len());
            found.push(Found { id, keys, payload: link.row.to_vec(), new, outputs });
        }
        Ok(true)
    })?;
    limited(cx, found, window)
}

/// Applies ORDER BY and LIMIT.
fn limited(cx: &Context<'_>, mut found: Vec<Found>, window: &Window) -> Result<Vec<Found>> {
    let limit = match &window.limit {
        Some(limit) => match cx.eval(limit, None)? {
            Value::Int(n) => Some(usize::try_from(n).unwrap_or(usize::MAX)),
            Value::UInt(n) => Some(usize::try_from(n).unwrap_or(usize::MAX)),
            _ => return unsupported("this LIMIT"),
        },
        None => None,
    };
    let mut failure = None;
    let mut order = |a: &Found, b: &Found| {
        select::ordered(cx, &a.keys, &b.keys, &window.order).unwrap_or_else(|error| {
            failure = Some(error);
            std::cmp::Ordering::Equal
        })
    };
    found.sort_by(&mut order);
    if let Some(limit) = limit.filter(|limit| *limit < found.len()) {
        let is_tie = limit > 0 && order(&found[limit - 1], &found[limit]).is_eq();
        // Which of equal rows are taken does not matter if they are the same.
        if is_tie && found[limit - 1].payload != found[limit].payload {
            cx.doubt(Doubt::Choice);
        }
        found.truncate(limit);
    }
    failure.map_or(Ok(found), Err)
}

/// The row after SET.
fn assigned(cx: &Context<'_>, update: &Update, env: &Env<'_>, old: &[Value]) -> Result<Vec<Value>> {
    let mut new = old.to_vec();
    for set in &update.sets {
        // MySQL sees the values that were set before.
        let seen = if cx.settings.is_mysql() { new.clone() } else { Vec::new() };
        let shadow = Env { slot: update.slot, row: &seen, id: None, outer: Some(env) };
        let env = if cx.settings.is_mysql() { &shadow } else { env };
        match set {
            Set::One(column, expr) => new[*column] = cx.eval(expr, Some(env))?,
            Set::Row { columns, query, slot, values } => {
                let row = select::one_row(cx, query, Some(env))?;
                let link = Env { slot: *slot, row: &row, id: None, outer: Some(env) };
                for (column, value) in columns.iter().zip(values) {
                    new[*column] = cx.eval(value, Some(&link))?;
                }
            }
        }
    }
    Ok(new)
}

fn run_update(cx: &Context<'_>, update: &Update) -> Result<(Reply, Vec<Change>)> {
    let table = &update.table;
    let found = targets(
        cx,
        &update.from,
        update.filter.as_ref(),
        update.slot,
        &update.window,
        &mut |cx, env, link| {
            let new = assigned(cx, update, env, link.row)?;
            let shadow = Env { slot: update.slot, row: &new, id: None, outer: Some(env) };
            let outputs = returned(cx, update.returning.as_ref(), Some(&shadow))?;
            Ok((new, outputs))
        },
    )?;
    let mut work = Work::new(cx);
    let mut outputs = Vec::new();
    let mut count = 0;
    for row in found {
        let is_changed = row.new != row.payload || cx.settings.counts_found;
        count += u64::from(is_changed);
        if let Some(at) = table.rowid
            && !matches!(row.new[at], Value::Int(_))
        {
            return wrong_type("datatype mismatch");
        }
        check_row(cx, table, &row.new)?;
        work.set(table.id, row.id, Some(row.new.into()));
        outputs.push(row.outputs);
    }
    check_updated(cx, &work, table)?;
    check_foreign(cx, &mut work)?;
    Ok((reply(update.returning.as_ref(), outputs, count), work.changes()))
}

fn run_delete(cx: &Context<'_>, delete: &Delete) -> Result<(Reply, Vec<Change>)> {
    let found =
        targets(cx, &delete.from, delete.filter.as_ref(), delete.slot, &delete.window, &mut |cx, env, _| {
            Ok((Vec::new(), returned(cx, delete.returning.as_ref(), Some(env))?))
        })?;
    let mut work = Work::new(cx);
    let count = found.len() as u64;
    let mut outputs = Vec::new();
    for row in found {
        work.set(delete.table.id, row.id, None);
        outputs.push(row.outputs);
    }
    check_foreign(cx, &mut work)?;
    Ok((reply(delete.returning.as_ref(), outputs, count), work.changes()))
}

/// The tables whose rows a statement locks or writes: the target of UPDATE and DELETE, the table of SELECT FOR UPDATE.
pub(crate) fn target(action: &Action) -> Option<(u16, TableId)> {
    match action {
        Action::Update(update) => Some((update.slot, update.table.id)),
        Action::Delete(delete) => Some((delete.slot, delete.table.id)),
        Action::Query { query, .. } if query.locks => match &query.body {
            crate::ir::Body::Select(select) => match (&select.from, &select.group, &select.distinct) {
                (From::Scan(scan), None, None) => Some((scan.slot, scan.table)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// The rows that a statement would lock or write.
pub(crate) fn target_rows(cx: &Context<'_>, action: &Action) -> Result<Vec<RowId>> {
    let Some((slot, _)) = target(action) else { return unsupported("this statement has no target") };
    let (from, filter) = match action {
        Action::Update(update) => (&update.from, update.filter.as_ref()),
        Action::Delete(delete) => (&delete.from, delete.filter.as_ref()),
        Action::Query { query, .. } => match &query.body {
            crate::ir::Body::Select(select) => (&select.from, select.filter.as_ref()),
            _ => return unsupported("this statement has no target"),
        },
        _ => return unsupported("this statement has no target"),
    };
    let none = Window::default();
    let window = match action {
        Action::Update(update) => &update.window,
        Action::Delete(delete) => &delete.window,
        _ => &none,
    };
    let found = targets(cx, from, filter, slot, window, &mut |_, _, _| Ok((Vec::new(), Vec::new())))?;
    Ok(found.into_iter().map(|row| row.id).collect())
}

//! Constraints: NOT NULL, CHECK, unique keys, foreign keys.

use crate::answer::Doubt;
use crate::catalog::{Action, ForeignKey, Key, Table};
use crate::compare::compare;
use crate::error::{ErrorClass, Result, SqlError, unsupported};
use crate::expression::{Context, Env};
use crate::ir::{Comparison, Rules};
use crate::value::{Collation, Value};
use crate::view::{RowId, Sarg, TableId, View};
use crate::work::Work;

/// Most rows that cascades of one statement may change.
const MOST_CASCADES: usize = 1_000_000;

fn violated<T>(class: ErrorClass, message: String) -> Result<T> {
    Err(SqlError::new(class, message))
}

/// NOT NULL and CHECK.
pub(crate) fn check_row(cx: &Context<'_>, table: &Table, row: &[Value]) -> Result<()> {
    for (column, value) in table.columns.iter().zip(row) {
        if column.not_null && value.is_null() {
            return violated(ErrorClass::NotNull, format!("{}.{} must not be NULL", table.name, column.name));
        }
    }
    for check in &table.checks {
        let link = Env { slot: 0, row, id: None, outer: None };
        if cx.test(&check.condition, Some(&link))? == Some(false) {
            return violated(ErrorClass::Check, format!("the constraint {} is violated", check.name));
        }
    }
    Ok(())
}

fn comparison(table: &Table, column: usize) -> Comparison {
    Comparison { collation: table.columns[column].collation, rules: Rules::Same }
}

/// The other rows with the same key as a row.
pub(crate) fn conflicts(
    cx: &Context<'_>,
    view: &dyn View,
    table: &Table,
    key: &Key,
    row: &[Value],
    own: Option<RowId>,
) -> Result<Vec<RowId>> {
    let values: Vec<(usize, &Value)> = key.columns.iter().map(|at| (*at, &row[*at])).collect();
    // NULL is not equal to NULL, and a value that the database makes is new.
    if values
        .iter()
        .any(|(_, value)| matches!(value, Value::Hole(_)) || (value.is_null() && !key.nulls_equal))
    {
        return Ok(Vec::new());
    }
    let is_plain = |at: usize, value: &Value| {
        !value.is_null()
            && (table.columns[at].collation == Collation::Binary || !matches!(value, Value::Text(_)))
    };
    let equal = values
        .iter()
        .filter(|(at, value)| is_plain(*at, value))
        .map(|(at, value)| (*at, (*value).clone()))
        .collect();
    let sarg = Sarg { equal, ranges: Vec::new() };
    let mut found = Vec::new();
    let mut failure = None;
    view.scan(table.id, &sarg, &mut |id, other| {
        if Some(id) == own {
            return true;
        }
        match same_key(cx, table, &values, other) {
            Ok(true) => found.push(id),
            Ok(false) => {}
            Err(error) => failure = Some(error),
        }
        failure.is_none()
    });
    failure.map_or(Ok(found), Err)
}

fn same_key(cx: &Context<'_>, table: &Table, values: &[(usize, &Value)], other: &[Value]) -> Result<bool> {
    for (at, value) in values {
        let other = &other[*at];
        let is_same = match (value.is_null(), other.is_null()) {
            (true, true) => true,
            (false, false) => {
                !matches!(other, Value::Hole(_))
                    && compare(value, other, comparison(table, *at), cx.mode())?.is_eq()
            }
            _ => false,
        };
        if !is_same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// All unique keys of a row.
pub(crate) fn check_unique(
    cx: &Context<'_>,
    view: &dyn View,
    table: &Table,
    row: &[Value],
    own: Option<RowId>,
) -> Result<()> {
    for key in &table.keys {
        if !conflicts(cx, view, table, key, row, own)?.is_empty() {
            return violated(ErrorClass::Unique, format!("the key {} has the value already", key.name));
        }
    }
    Ok(())
}

/// The unique keys of updated rows, after all were updated. If a new key was an old key of another updated row, the
/// statement may fail, depending on the order in which the database updates the rows.
pub(crate) fn check_updated(cx: &Context<'_>, work: &Work<'_>, table: &Table) -> Result<()> {
    for (of, id, row) in work.touched() {
        let Some(row) = row.filter(|_| of == table.id) else { continue };
        let old = work.base().row(table.id, id);
        for key in &table.keys {
            let is_unchanged =
                old.as_ref().is_some_and(|old| key.columns.iter().all(|at| old[*at] == row[*at]));
            if is_unchanged {
                continue;
            }
            if !conflicts(cx, work, table, key, &row, Some(id))?.is_empty() {
                return violated(ErrorClass::Unique, format!("the key {} has the value already", key.name));
            }
            if !conflicts(cx, work.base(), table, key, &row, Some(id))?.is_empty() {
                cx.doubt(Doubt::MayFail);
            }
        }
    }
    Ok(())
}

/// Foreign keys, after all other changes of a statement: actions on children, then missing parents.
pub(crate) fn check_foreign(cx: &Context<'_>, work: &mut Work<'_>) -> Result<()> {
    if cx.settings.is_sqlite() && !cx.settings.foreign_keys {
        return Ok(());
    }
    let catalog = cx.view.catalog();
    if catalog.tables().all(|table| table.foreign_keys.is_empty()) {
        return Ok(());
    }
    act_on_children(cx, work)?;
    for (table, _, row) in work.touched() {
        let (Some(table), Some(row)) = (catalog.table_of(table), row) else { continue };
        for key in &table.foreign_keys {
            if key.is_deferred {
                return unsupported("deferred foreign keys");
            }
            if !has_parent(cx, work, table, key, &row)? {
                return violated(ErrorClass::ForeignKey, format!("{} has no parent", key.name));
            }
        }
    }
    Ok(())
}

/// The positions of the columns that a foreign key refers to.
fn referred(parent: &Table, key: &ForeignKey) -> Result<Vec<usize>> {
    if key.referred.is_empty() {
        return match parent.primary_key() {
            Some(primary) => Ok(primary.columns.clone()),
            None => unsupported("a foreign key to a table without a primary key"),
        };
    }
    match key.referred.iter().map(|name| parent.column(name)).collect() {
        Some(columns) => Ok(columns),
        None => unsupported("a foreign key to columns that do not exist"),
    }
}

fn has_parent(
    cx: &Context<'_>,
    work: &Work<'_>,
    table: &Table,
    key: &ForeignKey,
    row: &[Value],
) -> Result<bool> {
    let values: Vec<Value> = key.columns.iter().map(|at| row[*at].clone()).collect();
    if values.iter().any(Value::is_null) {
        return Ok(true);
    }
    if values.iter().any(|value| matches!(value, Value::Hole(_))) {
        return crate::error::indeterminate("a foreign key is a value that the database makes");
    }
    let Some(parent) = cx.view.catalog().table(&key.parent) else {
        return if cx.settings.is_sqlite() {
            crate::error::unknown_name(format!("table {} does not exist", key.parent))
        } else {
            unsupported(format!("the parent of {} does not exist", table.name))
        };
    };
    let columns = referred(parent, key)?;
    Ok(!matching(cx, work, parent, &columns, &values)?.is_empty())
}

/// The rows of a table with values in some columns.
fn matching(
    cx: &Context<'_>,
    view: &dyn View,
    table: &Table,
    columns: &[usize],
    values: &[Value],
) -> Result<Vec<RowId>> {
    let plain = |(at, value): &(&usize, &Value)| {
        table.columns[**at].collation == Collation::Binary || !matches!(value, Value::Text(_))
    };
    let equal = columns.iter().zip(values).filter(plain).map(|(at, value)| (*at, value.clone())).collect();
    let pairs: Vec<(usize, &Value)> = columns.iter().copied().zip(values).collect();
    let mut found = Vec::new();
    let mut failure = None;
    view.scan(table.id, &Sarg { equal, ranges: Vec::new() }, &mut |id, other| {
        match same_key(cx, table, &pairs, other) {
            Ok(true) => found.push(id),
            Ok(false) => {}
            Err(error) => failure = Some(error),
        }
        failure.is_none()
    });
    failure.map_or(Ok(found), Err)
}

/// Applies ON DELETE and ON UPDATE until nothing changes.
fn act_on_children(cx: &Context<'_>, work: &mut Work<'_>) -> Result<()> {
    let catalog = cx.view.catalog();
    // The parents of which keys may have vanished, as they were before the statement.
    let mut open: Vec<(TableId, RowId)> =
        work.touched().into_iter().map(|(table, id, _)| (table, id)).collect();
    let mut count = 0;
    let mut at = 0;
    while at < open.len() {
        let (table, id) = open[at];
        at += 1;
        count += 1;
        if count > MOST_CASCADES {
            return unsupported("too many cascades");
        }
        let (Some(parent), Some(old)) = (catalog.table_of(table), work.base().row(table, id)) else {
            continue;
        };
        let new = work.row(table, id);
        for child in catalog.tables() {
            for key in child.foreign_keys.iter().filter(|key| key.parent.eq_ignore_ascii_case(&parent.name)) {
                let columns = referred(parent, key)?;
                let values: Vec<Value> = columns.iter().map(|at| old[*at].clone()).collect();
                let unchanged = new.as_ref().is_some_and(|new| columns.iter().all(|at| new[*at] == old[*at]));
                if unchanged || values.iter().any(|value| value.is_null() || matches!(value, Value::Hole(_)))
                {
                    continue;
                }
                // Another row may have the key now.
                if !matching(cx, work, parent, &columns, &values)?.is_empty() {
                    continue;
                }
                let children = matching(cx, work, child, &key.columns, &values)?;
                let moved =
                    new.as_ref().map(|new| columns.iter().map(|at| new[*at].clone()).collect::<Vec<_>>());
                for row in children {
                    act(cx, work, child, key, row, moved.as_deref())?;
                    open.push((child.id, row));
                }
            }
        }
    }
    Ok(())
}

/// Changes one child. `moved` is the parent's new key, or `None` if it was deleted.
fn act(
    cx: &Context<'_>,
    work: &mut Work<'_>,
    child: &Table,
    key: &ForeignKey,
    id: RowId,
    moved: Option<&[Value]>,
) -> Result<()> {
    let action = if moved.is_some() { key.on_update } else { key.on_delete };
    let Some(mut row) = work.row(child.id, id) else { return Ok(()) };
    match (action, moved) {
        (Action::Refuse, _) => {
            return violated(ErrorClass::ForeignKey, format!("{} still refers to the row", key.name));
        }
        (Action::Cascade, None) => {
            work.set(child.id, id, None);
            return Ok(());
        }
        (Action::Cascade, Some(values)) => {
            for (at, value) in key.columns.iter().zip(values) {
                row[*at] = value.clone();
            }
        }
        (Action::SetNull, _) => key.columns.iter().for_each(|at| row[*at] = Value::Null),
        (Action::SetDefault, _) => {
            for at in &key.columns {
                row[*at] = match &child.columns[*at].default {
                    Some(default) => cx.eval(default, None)?,
                    None => Value::Null,
                };
            }
        }
    }
    check_row(cx, child, &row)?;
    check_unique(cx, work, child, &row, Some(id))?;
    work.set(child.id, id, Some(row.into()));
    Ok(())
}

//! The evaluator of queries.
//!
//! FROM items are nested loops: each row of an item extends the environment, and the rest of the query runs inside the
//! callback of the scan, so that no row is copied before it is part of a result. Conditions on a scanned table with values
//! known before the scan are given to the view as a [`Sarg`].

use std::cmp::Ordering;
use std::ops::Bound;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::aggregate::State;
use crate::answer::{Doubt, Rows};
use crate::cast::cast;
use crate::compare::compare;
use crate::error::{ErrorClass, Result, SqlError, wrong_cast};
use crate::expression::{Context, Env, folded};
use crate::ir::{
    AggregateKind, Body, Comparator, Comparison, Expr, From, Group, Join, JoinKind, Query, Scan, Select,
    SetOperator, Slot, SortKey,
};
use crate::value::Value;
use crate::view::Sarg;

/// Called with each environment of a FROM clause; `false` ends it.
type Visit<'v> = &'v mut dyn FnMut(&Context<'_>, Option<&Env<'_>>) -> Result<bool>;

/// Called with each row; `false` ends the query.
type VisitRow<'v> = &'v mut dyn FnMut(Vec<Value>) -> Result<bool>;

/// The rows of a query in order, with rows that are equal in all sort keys in the same rank.
struct Sorted {
    rows: Vec<Vec<Value>>,
    ranks: Vec<u32>,
}

/// The rows of a subquery. A free choice of LIMIT is noted.
pub(crate) fn rows(cx: &Context<'_>, query: &Query, env: Option<&Env<'_>>) -> Result<Vec<Vec<Value>>> {
    let (skip, take) = window(cx, query, env)?;
    let is_limited = skip > 0 || take.is_some();
    let Sorted { mut rows, ranks } =
        sorted(cx, query, env).map_err(|error| if is_limited { error.avoidable() } else { error })?;
    for row in &mut rows {
        row.truncate(query.width);
    }
    if is_limited {
        let end = take.map_or(rows.len(), |take| skip.saturating_add(take)).min(rows.len());
        note_choice(cx, &rows, &ranks, skip.min(rows.len()), end);
        rows = rows.drain(skip.min(end)..end).collect();
    }
    Ok(rows)
}

/// Notes a doubt if a window takes a part of rows of the same rank that differ.
fn note_choice(cx: &Context<'_>, rows: &[Vec<Value>], ranks: &[u32], start: usize, end: usize) {
    for edge in [start, end] {
        let is_inside = edge > 0 && edge < rows.len() && ranks[edge - 1] == ranks[edge];
        let rank = if is_inside { ranks[edge] } else { continue };
        let mut of_rank = rows.iter().zip(ranks).filter(|(_, other)| **other == rank).map(|(row, _)| row);
        let first = of_rank.next();
        if start < end && of_rank.any(|row| Some(row) != first) {
            cx.doubt(Doubt::Choice);
        }
    }
}

/// The answer of a query.
pub(crate) fn answer(
    cx: &Context<'_>,
    query: &Query,
    columns: &[String],
    env: Option<&Env<'_>>,
) -> Result<Rows> {
    let (skip, take) = window(cx, query, env)?;
    let is_limited = skip > 0 || take.is_some();
    let Sorted { mut rows, ranks } =
        sorted(cx, query, env).map_err(|error| if is_limited { error.avoidable() } else { error })?;
    for row in &mut rows {
        row.truncate(query.width);
    }
    let ranks = if query.order.is_empty() { None } else { Some(ranks) };
    Ok(Rows { columns: columns.to_vec(), rows, ranks, skip, take })
}

/// OFFSET and LIMIT.
pub(crate) fn window(
    cx: &Context<'_>,
    query: &Query,
    env: Option<&Env<'_>>,
) -> Result<(usize, Option<usize>)> {
    let number = |expr: &Option<Expr>| -> Result<Option<i64>> {
        let Some(expr) = expr else { return Ok(None) };
        match cx.eval(expr, env)? {
            Value::Null => Ok(None),
            Value::Int(n) if n < 0 && !cx.settings.is_sqlite() => wrong_cast("LIMIT must not be negative"),
            Value::Int(n) => Ok(Some(n)),
            Value::UInt(n) => Ok(Some(i64::try_from(n).unwrap_or(i64::MAX))),
            _ => wrong_cast("LIMIT must be an integer"),
        }
    };
    let skip = number(&query.offset)?.unwrap_or(0).max(0);
    let take = number(&query.limit)?.and_then(|take| usize::try_from(take).ok());
    Ok((usize::try_from(skip).unwrap_or(usize::MAX), take))
}

/// Whether a query has rows.
pub(crate) fn has_rows(cx: &Context<'_>, query: &Query, env: Option<&Env<'_>>) -> Result<bool> {
    if query.limit.is_some() || query.offset.is_some() {
        return Ok(!rows(cx, query, env)?.is_empty());
    }
    let mut found = false;
    each(cx, &query.body, env, false, &mut |_| {
        found = true;
        Ok(false)
    })?;
    Ok(found)
}

fn sorted(cx: &Context<'_>, query: &Query, env: Option<&Env<'_>>) -> Result<Sorted> {
    let mut rows = Vec::new();
    each(cx, &query.body, env, true, &mut |row| {
        rows.push(row);
        Ok(true)
    })?;
    if query.order.is_empty() {
        let ranks = vec![0; rows.len()];
        return Ok(Sorted { rows, ranks });
    }
    sort(cx, rows, &query.order)
}

/// Sorts rows, and finds the ranks.
fn sort(cx: &Context<'_>, mut rows: Vec<Vec<Value>>, keys: &[SortKey]) -> Result<Sorted> {
    let mut failure = None;
    let mut order = |left: &Vec<Value>, right: &Vec<Value>| {
        ordered(cx, left, right, keys).unwrap_or_else(|error| {
            failure = Some(error);
            Ordering::Equal
        })
    };
    rows.sort_by(&mut order);
    let mut ranks = Vec::with_capacity(rows.len());
    let mut rank = 0;
    for n in 0..rows.len() {
        if n > 0 && order(&rows[n - 1], &rows[n]).is_ne() {
            rank += 1;
        }
        ranks.push(rank);
    }
    failure.map_or(Ok(Sorted { rows, ranks }), Err)
}

/// The order of two rows.
pub(crate) fn ordered(
    cx: &Context<'_>,
    left: &[Value],
    right: &[Value],
    keys: &[SortKey],
) -> Result<Ordering> {
    for key in keys {
        let (left, right) = (&left[key.column], &right[key.column]);
        let order = match (left.is_null(), right.is_null()) {
            (true, true) => continue,
            (true, false) => {
                if key.nulls_first {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (false, true) => {
                if key.nulls_first {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (false, false) => {
                let order = compare(left, right, key.comparison, cx.mode())?;
                if key.descending { order.reverse() } else { order }
            }
        };
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}

/// Visits the rows of a body. `whole` is whether all rows are wanted.
fn each(
    cx: &Context<'_>,
    body: &Body,
    env: Option<&Env<'_>>,
    whole: bool,
    visit: VisitRow<'_>,
) -> Result<()> {
    match body {
        Body::Values(rows) => {
            for row in rows {
                let values = row.iter().map(|expr| cx.eval(expr, env)).collect::<Result<_>>()?;
                if !visit(values)? {
                    break;
                }
            }
            Ok(())
        }
        Body::Set { operator, all, sides, casts, comparisons } => {
            let side = |n: usize| -> Result<Vec<Vec<Value>>> {
                let mut rows = rows(cx, &sides[n], env)?;
                for row in &mut rows {
                    for (value, to) in row.iter_mut().zip(&casts[n]) {
                        if let Some(to) = to {
                            *value = cast(value, *to, cx.mode())?;
                        }
                    }
                }
                Ok(rows)
            };
            for row in combined(cx, *operator, *all, side(0)?, side(1)?, comparisons)? {
                if !visit(row)? {
                    break;
                }
            }
            Ok(())
        }
        Body::Select(select) => each_selected(cx, select, env, whole, visit),
    }
}

fn key_of(row: &[Value], comparisons: &[Comparison]) -> Result<Vec<Value>> {
    row.iter().zip(comparisons).map(|(value, how)| folded(value, *how)).collect()
}

fn combined(
    cx: &Context<'_>,
    operator: SetOperator,
    all: bool,
    left: Vec<Vec<Value>>,
    right: Vec<Vec<Value>>,
    comparisons: &[Comparison],
) -> Result<Vec<Vec<Value>>> {
    if operator == SetOperator::Union && all {
        return Ok(left.into_iter().chain(right).collect());
    }
    let mut counts: FxHashMap<Vec<Value>, usize> = FxHashMap::default();
    if operator == SetOperator::Union {
        return distinct(cx, left.into_iter().chain(right).collect(), comparisons);
    }
    for row in &right {
        *counts.entry(key_of(row, comparisons)?).or_default() += 1;
    }
    let mut result = Vec::new();
    for row in left {
        let count = counts.entry(key_of(&row, comparisons)?).or_default();
        let is_there = *count > 0;
        if all {
            *count = count.saturating_sub(1);
        }
        if is_there == (operator == SetOperator::Intersect) {
            result.push(row);
        }
    }
    if all { Ok(result) } else { distinct(cx, result, comparisons) }
}

/// The first row of each set of equal rows.
fn distinct(cx: &Context<'_>, rows: Vec<Vec<Value>>, comparisons: &[Comparison]) -> Result<Vec<Vec<Value>>> {
    let mut seen: FxHashMap<Vec<Value>, usize> = FxHashMap::default();
    let mut result: Vec<Vec<Value>> = Vec::new();
    for row in rows {
        let at = result.len();
        match seen.entry(key_of(&row, comparisons)?) {
            std::collections::hash_map::Entry::Occupied(entry) => {
                // Equal rows may look different: 1.0 and 1.00, a and A.
                if spelled_differently(&result[*entry.get()], &row) {
                    cx.doubt(Doubt::Choice);
                }
            }
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(at);
                result.push(row);
            }
        }
    }
    Ok(result)
}

/// Whether equal rows are not the same.
fn spelled_differently(left: &[Value], right: &[Value]) -> bool {
    left.iter().zip(right).any(|(left, right)| match (left, right) {
        (Value::Text(a), Value::Text(b)) => a != b,
        (Value::Decimal(a), Value::Decimal(b)) => a.scale() != b.scale(),
        (Value::Float(a), Value::Float(b)) => a.to_bits() != b.to_bits(),
        (a, b) => std::mem::discriminant(a) != std::mem::discriminant(b),
    })
}

fn each_selected(
    cx: &Context<'_>,
    select: &Select,
    env: Option<&Env<'_>>,
    whole: bool,
    visit: VisitRow<'_>,
) -> Result<()> {
    let outputs = |env: Option<&Env<'_>>| -> Result<Vec<Value>> {
        select.outputs.iter().map(|expr| cx.eval(expr, env)).collect()
    };
    let mut seen: FxHashMap<Vec<Value>, Vec<Value>> = FxHashMap::default();
    let mut emit = |env: Option<&Env<'_>>| -> Result<bool> {
        // EXISTS does not need the outputs.
        if !whole {
            return visit(Vec::new());
        }
        let row = outputs(env)?;
        if let Some(comparisons) = &select.distinct {
            let key = key_of(&row, comparisons)?;
            if let Some(first) = seen.get(&key) {
                // Equal rows may look different: 1.0 and 1.00, a and A.
                if spelled_differently(first, &row) {
                    cx.doubt(Doubt::Choice);
                }
                return Ok(true);
            }
            seen.insert(key, row.clone());
        }
        visit(row)
    };
    match &select.group {
        Some(group) => {
            for row in grouped(cx, select, group, env)? {
                let link = Env { slot: group.slot, row: &row, id: None, outer: env };
                let is_wanted = match &select.having {
                    Some(having) => cx.test(having, Some(&link))? == Some(true),
                    None => true,
                };
                if is_wanted && !emit(Some(&link))? {
                    break;
                }
            }
            Ok(())
        }
        None => filtered(cx, &select.from, select.filter.as_ref(), env, &mut |_, env| emit(env)),
    }
}

/// Visits the environments of a FROM clause that meet a condition.
pub(crate) fn filtered(
    cx: &Context<'_>,
    from: &From,
    filter: Option<&Expr>,
    env: Option<&Env<'_>>,
    visit: Visit<'_>,
) -> Result<()> {
    let is_join = matches!(from, From::Join(_));
    from_rows(cx, from, env, &mut |cx, env| {
        let is_wanted = match filter {
            Some(filter) => cx.test(filter, env)? == Some(true),
            None => true,
        };
        if is_wanted { visit(cx, env) } else { Ok(true) }
    })
    .map(|_| ())
    .map_err(|error| if is_join { error.avoidable() } else { error })
}

/// The rows of all groups: keys, then aggregates.
fn grouped(
    cx: &Context<'_>,
    select: &Select,
    group: &Group,
    env: Option<&Env<'_>>,
) -> Result<Vec<Vec<Value>>> {
    let mut at: FxHashMap<Vec<Value>, usize> = FxHashMap::default();
    let mut groups: Vec<(Vec<Value>, Vec<State<'_>>)> = Vec::new();
    let states = || group.aggregates.iter().map(State::new).collect::<Vec<_>>();
    if group.keys.is_empty() {
        groups.push((Vec::new(), states()));
        at.insert(Vec::new(), 0);
    }
    let follower = followed(cx, group);
    filtered(cx, &select.from, select.filter.as_ref(), env, &mut |cx, env| {
        let keys = group.keys.iter().map(|(key, _)| cx.eval(key, env)).collect::<Result<Vec<_>>>()?;
        let comparisons = group.keys.iter().map(|(_, how)| *how);
        let folded =
            keys.iter().zip(comparisons).map(|(key, how)| folded(key, how)).collect::<Result<Vec<_>>>()?;
        let n = *at.entry(folded).or_insert_with(|| {
            groups.push((keys.clone(), states()));
            groups.len() - 1
        });
        if spelled_differently(&groups[n].0, &keys) {
            cx.doubt(Doubt::Choice);
        }
        let states = &mut groups[n].1;
        if let Some(leader) = follower {
            if states[leader].add(cx, env)? {
                for state in states.iter_mut() {
                    state.replace_first(cx, env)?;
                }
            }
            return Ok(true);
        }
        for state in states {
            state.add(cx, env)?;
        }
        Ok(true)
    })?;
    let result = |(mut keys, states): (Vec<Value>, Vec<State<'_>>)| -> Result<Vec<Value>> {
        for state in &states {
            keys.push(state.result(cx)?);
        }
        Ok(keys)
    };
    groups.into_iter().map(result).collect()
}

/// In SQLite, columns that are not grouped come from the row with the MIN or MAX, if that is the only aggregate.
fn followed(cx: &Context<'_>, group: &Group) -> Option<usize> {
    let is_first = |kind: AggregateKind| kind == AggregateKind::First;
    let mut others = group.aggregates.iter().enumerate().filter(|(_, one)| !is_first(one.kind));
    let (leader, only) = others.next()?;
    let leads = matches!(only.kind, AggregateKind::Max | AggregateKind::Min);
    let has_followers = group.aggregates.len() > 1;
    (cx.settings.is_sqlite() && leads && has_followers && others.next().is_none()).then_some(leader)
}

/// Visits the environments of a FROM clause. Returns whether to continue.
fn from_rows(cx: &Context<'_>, from: &From, env: Option<&Env<'_>>, visit: Visit<'_>) -> Result<bool> {
    match from {
        From::Nothing => visit(cx, env),
        From::Scan(scan) => scan_rows(cx, scan, env, visit),
        From::Derived(slot, _, query) => {
            for row in rows(cx, query, env)? {
                cx.step()?;
                let link = Env { slot: *slot, row: &row, id: None, outer: env };
                if !visit(cx, Some(&link))? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        From::Join(join) => join_rows(cx, join, env, visit),
    }
}

/// The conditions of a scan with their current values; `None` if no row can meet them.
fn sarg(cx: &Context<'_>, scan: &Scan, env: Option<&Env<'_>>) -> Option<Sarg> {
    let mut sarg = Sarg::default();
    for (column, comparator, expr) in &scan.sargs {
        // If the value cannot be computed, the condition will tell.
        let Ok(value) = cx.eval(expr, env) else { continue };
        let column = usize::from(*column);
        match value {
            Value::Null => return None,
            Value::Hole(_) => continue,
            _ => {}
        }
        match comparator {
            Comparator::Equal => sarg.equal.push((column, value)),
            Comparator::Less => sarg.ranges.push((column, Bound::Unbounded, Bound::Excluded(value))),
            Comparator::LessEqual => sarg.ranges.push((column, Bound::Unbounded, Bound::Included(value))),
            Comparator::Greater => sarg.ranges.push((column, Bound::Excluded(value), Bound::Unbounded)),
            Comparator::GreaterEqual => sarg.ranges.push((column, Bound::Included(value), Bound::Unbounded)),
            Comparator::Unequal => {}
        }
    }
    Some(sarg)
}

fn scan_rows(cx: &Context<'_>, scan: &Scan, env: Option<&Env<'_>>, visit: Visit<'_>) -> Result<bool> {
    if let Some((_, id, row)) = cx.pinned.filter(|(slot, ..)| *slot == scan.slot) {
        return visit(cx, Some(&Env { slot: scan.slot, row, id: Some(id), outer: env }));
    }
    let Some(sarg) = sarg(cx, scan, env) else { return Ok(true) };
    let mut outcome = Ok(true);
    cx.view.scan(scan.table, &sarg, &mut |id, row| {
        let link = Env { slot: scan.slot, row, id: Some(id), outer: env };
        outcome = cx.step().and_then(|()| visit(cx, Some(&link)));
        matches!(outcome, Ok(true))
    });
    outcome
}

/// The slots of a FROM clause with their widths.
fn slots(from: &From, found: &mut Vec<(Slot, usize)>) {
    match from {
        From::Nothing => {}
        From::Scan(scan) => found.push((scan.slot, scan.width)),
        From::Derived(slot, width, _) => found.push((*slot, *width)),
        From::Join(join) => {
            slots(&join.left, found);
            slots(&join.right, found);
        }
    }
}

/// Visits an environment in which all columns of a FROM clause are NULL.
fn with_nulls(
    cx: &Context<'_>,
    slots: &[(Slot, usize)],
    env: Option<&Env<'_>>,
    visit: Visit<'_>,
) -> Result<bool> {
    let Some(((slot, width), rest)) = slots.split_first() else { return visit(cx, env) };
    let row = vec![Value::Null; *width];
    let link = Env { slot: *slot, row: &row, id: None, outer: env };
    with_nulls(cx, rest, Some(&link), visit)
}

fn join_rows(cx: &Context<'_>, join: &Join, env: Option<&Env<'_>>, visit: Visit<'_>) -> Result<bool> {
    let mut right_slots = Vec::new();
    slots(&join.right, &mut right_slots);
    // The right rows that met a left one, for FULL JOIN: the row numbers of the pass over the right side.
    let mut met: FxHashSet<usize> = FxHashSet::default();
    let goes_on = from_rows(cx, &join.left, env, &mut |cx, left| {
        let mut has_match = false;
        let mut number = 0;
        let goes_on = from_rows(cx, &join.right, left, &mut |cx, both| {
            number += 1;
            let holds = match &join.on {
                Some(on) => cx.test(on, both)? == Some(true),
                None => true,
            };
            if !holds {
                return Ok(true);
            }
            has_match = true;
            met.insert(number);
            visit(cx, both)
        })?;
        if goes_on && !has_match && join.kind != JoinKind::Inner {
            return with_nulls(cx, &right_slots, left, visit);
        }
        Ok(goes_on)
    })?;
    if !goes_on || join.kind != JoinKind::Full {
        return Ok(goes_on);
    }
    let mut left_slots = Vec::new();
    slots(&join.left, &mut left_slots);
    let mut number = 0;
    from_rows(cx, &join.right, env, &mut |cx, right| {
        number += 1;
        if met.contains(&number) { Ok(true) } else { with_nulls(cx, &left_slots, right, visit) }
    })
}

/// The only row of a query that must have at most one; NULLs if it has none.
pub(crate) fn one_row(cx: &Context<'_>, query: &Query, env: Option<&Env<'_>>) -> Result<Vec<Value>> {
    let mut rows = rows(cx, query, env)?;
    if rows.len() > 1 && !cx.settings.is_sqlite() {
        return Err(SqlError::new(ErrorClass::Cardinality, "the subquery has more than one row"));
    }
    if rows.is_empty() { Ok(vec![Value::Null; query.width]) } else { Ok(rows.swap_remove(0)) }
}

//! Running statements: the interface to the evaluator.

use std::sync::Arc;

use isoscope_log::Scalar;

use crate::answer::{Doubt, Reply};
use crate::bind::Binder;
use crate::cast::{Mode, cast, to_text};
use crate::catalog::{Catalog, CatalogChange};
use crate::change::{self, Change, Effect};
use crate::dialect::Dialect;
use crate::error::{Result, SqlError, invalid, unknown_name, unsupported};
use crate::expression::Context;
use crate::ir::{Cast, CastMode};
use crate::parse::{Content, Kind, Statement};
use crate::plan::Plan;
use crate::value::{Affinity, Type, Value};
use crate::view::{RowId, TableId, View};

/// Runs a statement on what it can see. Holes of the statement are numbered from `first_hole`.
///
/// Transaction control has no effect here: the caller keeps transactions.
pub fn execute(
    statement: &Statement,
    params: &[Scalar],
    view: &dyn View,
    first_hole: u32,
) -> std::result::Result<Effect, SqlError> {
    run(statement, params, view, None, None, first_hole)
}

/// As [`execute`], with constraints and upserts checked against other tables: PostgreSQL reads a snapshot and checks keys
/// against what is committed by now.
pub fn execute_at(
    statement: &Statement,
    params: &[Scalar],
    view: &dyn View,
    newest: &dyn View,
    first_hole: u32,
) -> std::result::Result<Effect, SqlError> {
    run(statement, params, view, Some(newest), None, first_hole)
}

/// The rows that an UPDATE, a DELETE or a SELECT FOR UPDATE of one table finds at its snapshot, with their table.
///
/// PostgreSQL at *read committed* locks these rows; rows that match only now are missed. If the newest version of a row
/// differs from that of the snapshot, [`recheck`] decides what happens to it.
pub fn targets(
    statement: &Statement,
    params: &[Scalar],
    view: &dyn View,
) -> std::result::Result<(TableId, Vec<RowId>), SqlError> {
    let plan = plan(statement, params, view.catalog())?;
    let values = values(&plan, params, view.catalog())?;
    let cx = Context::new(view, &values, writes(statement), 0);
    let Some((_, table)) = change::target(&plan.action) else {
        return unsupported("this statement has no target");
    };
    Ok((table, change::target_rows(&cx, &plan.action)?))
}

/// Runs a statement for one row of its target only, with the values of the row's newest version: WHERE and SET see these
/// values, all other tables are those of `view`. The effect has no change, and counts no row, if WHERE does not hold.
pub fn recheck(
    statement: &Statement,
    params: &[Scalar],
    view: &dyn View,
    row: RowId,
    newest: &[Value],
    first_hole: u32,
) -> std::result::Result<Effect, SqlError> {
    run(statement, params, view, None, Some((row, newest)), first_hole)
}

/// As [`recheck`], with constraints checked against other tables.
pub fn recheck_at(
    statement: &Statement,
    params: &[Scalar],
    views: [&dyn View; 2],
    row: RowId,
    newest: &[Value],
    first_hole: u32,
) -> std::result::Result<Effect, SqlError> {
    run(statement, params, views[0], Some(views[1]), Some((row, newest)), first_hole)
}

fn run(
    statement: &Statement,
    params: &[Scalar],
    view: &dyn View,
    constrained: Option<&dyn View>,
    pinned: Option<(RowId, &[Value])>,
    first_hole: u32,
) -> Result<Effect> {
    let nothing = |changes: Vec<Change>| Effect {
        reply: Reply::Count(0),
        changes,
        doubts: Vec::new(),
        next_hole: first_hole,
    };
    match (&statement.content, statement.kind()) {
        (_, Kind::Unsupported { why, .. }) => return unsupported(why.clone()),
        (Content::None, _) => return Ok(nothing(Vec::new())),
        (Content::Routine(routine), _) => {
            if view.catalog().routine(&routine.name).is_some() && !routine.is_replacement {
                return unknown_name(format!("{} exists already", routine.name));
            }
            return Ok(nothing(vec![Change::Catalog(CatalogChange::CreateRoutine(routine.clone()))]));
        }
        (Content::DropRoutine { name, if_exists }, _) => {
            if view.catalog().routine(name).is_none() {
                return if *if_exists {
                    Ok(nothing(Vec::new()))
                } else {
                    unknown_name(format!("{name} does not exist"))
                };
            }
            return Ok(nothing(vec![Change::Catalog(CatalogChange::DropRoutine(name.clone()))]));
        }
        (Content::Parsed(_), _) => {}
    }
    let plan = plan(statement, params, view.catalog())?;
    let values = values(&plan, params, view.catalog())?;
    let mut cx = Context::new(view, &values, writes(statement), first_hole);
    cx.newest = constrained;
    cx.stores = matches!(statement.kind(), Kind::Insert | Kind::Update);
    if let Some((row, newest)) = pinned {
        let Some((slot, _)) = change::target(&plan.action) else {
            return unsupported("this statement has no target");
        };
        cx.pinned = Some((slot, row, newest));
    }
    let failing = |cx: &Context<'_>| plan.constants.iter().any(|expr| cx.eval(expr, None).is_err());
    let (reply, changes) = change::run(&cx, &plan.action)
        .map_err(|error| if failing(&cx) { error.avoidable() } else { error })?;
    if plan.has_fallible_join || failing(&cx) {
        cx.doubt(Doubt::MayFail);
    }
    Ok(Effect { reply, changes, doubts: cx.doubts.take(), next_hole: cx.holes.get() })
}

fn writes(statement: &Statement) -> bool {
    matches!(statement.kind(), Kind::Insert | Kind::Update | Kind::Delete | Kind::Call)
}

/// The plan of a statement for a catalogue.
fn plan(statement: &Statement, params: &[Scalar], catalog: &Catalog) -> Result<Arc<Plan>> {
    if params.len() != statement.parameters() {
        return invalid(format!(
            "the statement has {} parameters, not {}",
            statement.parameters(),
            params.len()
        ));
    }
    let types: Vec<Type> = params.iter().map(|param| type_of(param, catalog.settings().dialect)).collect();
    if let Some(plan) = statement.remembered(catalog, &types) {
        return Ok(plan);
    }
    let Content::Parsed(parsed) = &statement.content else {
        return unsupported("this statement has no plan");
    };
    let plan = Arc::new(Binder::new(catalog, types.clone()).plan(parsed)?);
    statement.remember(catalog, &types, &plan);
    Ok(plan)
}

/// The type of a parameter before the statement is bound.
pub(crate) fn type_of(param: &Scalar, dialect: Dialect) -> Type {
    match (dialect, param) {
        (Dialect::Sqlite, _) => Type::Any(Affinity::Blob),
        (Dialect::Postgres, _) | (_, Scalar::Null) => Type::Unknown,
        (Dialect::MySql, Scalar::Int(_) | Scalar::Bool(_)) => Type::INT8,
        (Dialect::MySql, Scalar::Float(_)) => Type::Double,
        (Dialect::MySql, Scalar::Text(_)) => Type::Text(None),
    }
}

/// The values of the parameters, converted to the types that the plan gives to them.
fn values(plan: &Plan, params: &[Scalar], catalog: &Catalog) -> Result<Vec<Value>> {
    let settings = catalog.settings();
    let convert = |(param, ty): (&Scalar, &Type)| -> Result<Value> {
        let value = match Value::from(param) {
            Value::Bool(is) if !settings.is_postgres() => Value::Int(i64::from(is)),
            other => other,
        };
        if !settings.is_postgres() || value.is_null() {
            return Ok(value);
        }
        let to = if *ty == Type::Unknown { Type::Text(None) } else { *ty };
        // The server reads the text of the value as that type.
        let text = Value::text(to_text(&value, settings));
        cast(&text, Cast { to, mode: CastMode::Implicit }, Mode { settings, writes: false, stores: false })
    };
    params.iter().zip(&plan.params).map(convert).collect()
}

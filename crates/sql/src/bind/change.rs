//! Statements that write.

use std::sync::Arc;

use sqlparser::ast;

use crate::bind::{Binder, Bound, Item, Scope, create_table, ident, object, sarg};
use crate::catalog::{CatalogChange, Definition, Key, Table};
use crate::error::{Result, invalid, unknown_name, unsupported, wrong_type};
use crate::ir::{CastMode, Expr, From, Query, Slot};
use crate::plan::{Action, Conflict, Delete, Insert, Plan, Returning, Set, Source, Update, Window};
use crate::value::{Type, Value};

impl Binder<'_> {
    /// Binds a statement.
    pub(crate) fn plan(mut self, statement: &ast::Statement) -> Result<Plan> {
        let action = self.action(statement)?;
        let params = std::mem::take(&mut self.params);
        let constants = std::mem::take(&mut self.constants);
        let mut plan = Plan { action, params, constants, has_fallible_join: false };
        if !self.settings.is_sqlite() {
            crate::walk::note_failures(&mut plan);
        }
        Ok(plan)
    }

    fn action(&mut self, statement: &ast::Statement) -> Result<Action> {
        match statement {
            ast::Statement::Query(query) => {
                let (query, outputs) = self.query(query)?;
                Ok(Action::Query {
                    query: Box::new(query),
                    columns: outputs.into_iter().map(|output| output.name).collect(),
                })
            }
            ast::Statement::Insert(insert) => Ok(Action::Insert(Box::new(self.insert(insert)?))),
            ast::Statement::Update(update) => Ok(Action::Update(Box::new(self.update(update)?))),
            ast::Statement::Delete(delete) => Ok(Action::Delete(Box::new(self.delete(delete)?))),
            ast::Statement::CreateTable(create) => {
                let table = create_table(self.catalog, create)?;
                let exists =
                    self.catalog.table(&table.name).is_some() || self.catalog.view(&table.name).is_some();
                if exists && create.if_not_exists {
                    return Ok(Action::Nothing);
                }
                if exists {
                    return unknown_name(format!("table {} exists already", table.name));
                }
                Ok(Action::Catalog(vec![CatalogChange::CreateTable(Arc::new(table))]))
            }
            ast::Statement::CreateView(create) => self.create_view(create),
            ast::Statement::CreateIndex(create) => self.create_index(create),
            ast::Statement::Drop { object_type, if_exists, names, .. } => {
                self.drop(*object_type, *if_exists, names)
            }
            ast::Statement::Truncate(truncate) => {
                let tables = truncate
                    .table_names
                    .iter()
                    .map(|target| self.table(&target.name))
                    .collect::<Result<_>>()?;
                Ok(Action::Truncate(tables))
            }
            ast::Statement::Call(function) => {
                let name = object(&function.name, self.settings)?;
                let args = crate::bind::function::arguments(function)?;
                let args = args.into_iter().map(|arg| self.expr(arg).and_then(|arg| self.settled(arg)));
                let args = args.map(|arg| arg.map(|arg| arg.expr)).collect::<Result<_>>()?;
                Ok(Action::Call { name, args })
            }
            ast::Statement::Analyze(_) | ast::Statement::Set(_) => Ok(Action::Nothing),
            _ => unsupported("this statement"),
        }
    }

    fn table(&self, name: &ast::ObjectName) -> Result<Arc<Table>> {
        let name = object(name, self.settings)?;
        match self.catalog.table(&name) {
            Some(table) => Ok(table.clone()),
            None if self.catalog.view(&name).is_some() => unsupported("writing to a view"),
            None => unknown_name(format!("table {name} does not exist")),
        }
    }

    fn create_view(&mut self, create: &ast::CreateView) -> Result<Action> {
        if create.materialized {
            return unsupported("materialized views");
        }
        let name = object(&create.name, self.settings)?;
        let exists = self.catalog.view(&name).is_some();
        if exists && create.if_not_exists {
            return Ok(Action::Nothing);
        }
        if (exists && !create.or_replace) || self.catalog.table(&name).is_some() {
            return unknown_name(format!("{name} exists already"));
        }
        let columns = create.columns.iter().map(|column| ident(&column.name, self.settings)).collect();
        // Its names must exist now, except in SQLite.
        if !self.settings.is_sqlite() {
            self.query(&create.query)?;
        }
        let definition = Definition { name, columns, query: create.query.clone() };
        Ok(Action::Catalog(vec![CatalogChange::CreateView(Arc::new(definition))]))
    }

    fn create_index(&mut self, create: &ast::CreateIndex) -> Result<Action> {
        let table = self.table(&create.table_name)?;
        if !create.unique {
            return Ok(Action::Nothing);
        }
        if create.predicate.is_some() {
            return unsupported("a unique index on some rows");
        }
        let name = match &create.name {
            Some(name) => object(name, self.settings)?,
            None => format!("{}_key", table.name),
        };
        if table.keys.iter().any(|key| key.name.eq_ignore_ascii_case(&name)) {
            return if create.if_not_exists {
                Ok(Action::Nothing)
            } else {
                unknown_name(format!("index {name} exists already"))
            };
        }
        let columns = self.key_columns(&table, &create.columns)?;
        let nulls_equal = create.nulls_distinct == Some(false);
        let mut table = (*table).clone();
        table.keys.push(Key { name, columns, is_primary: false, nulls_equal });
        Ok(Action::UniqueIndex(Arc::new(table)))
    }

    fn drop(&mut self, kind: ast::ObjectType, if_exists: bool, names: &[ast::ObjectName]) -> Result<Action> {
        let mut changes = Vec::new();
        for name in names {
            let name = object(name, self.settings)?;
            let change = match kind {
                ast::ObjectType::Table => {
                    let refers = |table: &&Arc<Table>| {
                        !table.name.eq_ignore_ascii_case(&name)
                            && table.foreign_keys.iter().any(|key| key.parent.eq_ignore_ascii_case(&name))
                    };
                    if self.catalog.tables().any(|table| refers(&table)) && !self.settings.is_sqlite() {
                        return unsupported("dropping a table that others refer to");
                    }
                    self.catalog.table(&name).map(|_| CatalogChange::DropTable(name.clone()))
                }
                ast::ObjectType::View => {
                    self.catalog.view(&name).map(|_| CatalogChange::DropView(name.clone()))
                }
                ast::ObjectType::Index => {
                    let table = self
                        .catalog
                        .tables()
                        .find(|table| table.keys.iter().any(|key| key.name.eq_ignore_ascii_case(&name)));
                    let Some(table) = table else { continue };
                    let mut table = (**table).clone();
                    table.keys.retain(|key| !key.name.eq_ignore_ascii_case(&name));
                    Some(CatalogChange::AlterTable(Arc::new(table)))
                }
                _ => return unsupported("this DROP"),
            };
            match change {
                Some(change) => changes.push(change),
                None if if_exists => {}
                None => return unknown_name(format!("{name} does not exist")),
            }
        }
        Ok(Action::Catalog(changes))
    }

    /// A value to be stored in a column.
    fn assigned(&mut self, bound: Bound, table: &Table, column: usize) -> Result<Expr> {
        let to = table.columns[column].ty;
        if self.settings.is_postgres() && !is_assignable(bound.ty, to) {
            return wrong_type(format!("column {} cannot store {:?}", table.columns[column].name, bound.ty));
        }
        if self.settings.is_postgres() {
            return self.converted(bound, to, CastMode::Assign);
        }
        // Types of expressions are not exact here: always convert.
        let cast = crate::ir::Cast { to, mode: CastMode::Assign };
        Ok(Expr::Cast(Box::new(bound.expr), cast))
    }

    fn column_position(&self, table: &Table, name: &ast::ObjectName) -> Result<usize> {
        let name = object(name, self.settings)?;
        match table.column(&name) {
            Some(at) => Ok(at),
            None => unknown_name(format!("column {name} does not exist")),
        }
    }

    fn insert(&mut self, insert: &ast::Insert) -> Result<Insert> {
        let ast::TableObject::TableName(name) = &insert.table else { return unsupported("this INSERT") };
        let table = self.table(name)?;
        let alias = insert.table_alias.as_ref().map(|alias| ident(&alias.alias, self.settings));
        let columns: Vec<usize> = if !insert.assignments.is_empty() {
            insert.assignments.iter().map(|one| self.target(&table, &one.target)).collect::<Result<_>>()?
        } else if insert.columns.is_empty() {
            (0..table.columns.len()).collect()
        } else {
            insert.columns.iter().map(|name| self.column_position(&table, name)).collect::<Result<_>>()?
        };
        let mut seen = std::collections::BTreeSet::new();
        if !columns.iter().all(|column| seen.insert(*column)) {
            return invalid("a column is given twice");
        }
        let is_partial = insert.columns.is_empty() && self.settings.is_postgres();
        let source = self.source(insert, &table, columns, is_partial)?;
        let item = self.table_item(&table, alias.as_deref())?;
        let slot = item.slot;
        self.scopes.push(Scope { items: vec![item], ..Scope::default() });
        let conflict = self.conflict(insert, &table)?;
        let returning = self.returning(insert.returning.as_ref())?;
        self.scopes.pop();
        Ok(Insert { table, slot, source, conflict, returning })
    }

    fn target(&self, table: &Table, target: &ast::AssignmentTarget) -> Result<usize> {
        match target {
            ast::AssignmentTarget::ColumnName(name) => self.column_position(table, name),
            ast::AssignmentTarget::Tuple(_) => unsupported("a list of columns here"),
        }
    }

    fn source(
        &mut self,
        insert: &ast::Insert,
        table: &Arc<Table>,
        columns: Vec<usize>,
        is_partial: bool,
    ) -> Result<Source> {
        let assigned: Vec<ast::Expr> = insert.assignments.iter().map(|one| one.value.clone()).collect();
        let rows: Vec<&Vec<ast::Expr>> = match &insert.source {
            None if !assigned.is_empty() => vec![&assigned],
            None => return Ok(Source::Rows(vec![vec![None; table.columns.len()]])),
            Some(query) => match &*query.body {
                ast::SetExpr::Values(values)
                    if query.order_by.is_none() && query.with.is_none() && query.limit_clause.is_none() =>
                {
                    values.rows.iter().map(|row| &row.content).collect()
                }
                _ => return self.source_query(query, table, columns, is_partial),
            },
        };
        let mut bound_rows = Vec::with_capacity(rows.len());
        for row in rows {
            // PostgreSQL fills the last columns with defaults, MySQL all columns if there are no values.
            let is_empty = row.is_empty() && self.settings.is_mysql();
            let fits = row.len() == columns.len() || (is_partial && row.len() < columns.len()) || is_empty;
            if !fits {
                return invalid("INSERT has a wrong number of values");
            }
            let mut values = vec![None; table.columns.len()];
            for (expr, column) in row.iter().zip(&columns) {
                let is_default = matches!(expr, ast::Expr::Identifier(name)
                    if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default"));
                if !is_default {
                    let bound = self.expr(expr)?;
                    values[*column] = Some(self.assigned(bound, table, *column)?);
                }
            }
            bound_rows.push(values);
        }
        Ok(Source::Rows(bound_rows))
    }

    /// The source of INSERT .. SELECT.
    fn source_query(
        &mut self,
        query: &ast::Query,
        table: &Arc<Table>,
        mut columns: Vec<usize>,
        is_partial: bool,
    ) -> Result<Source> {
        let (query, outputs) = self.query(query)?;
        if is_partial && outputs.len() < columns.len() {
            columns.truncate(outputs.len());
        }
        if outputs.len() != columns.len() {
            return invalid("INSERT has a wrong number of values");
        }
        let slot = self.slot()?;
        let mut values = Vec::new();
        for (n, (output, column)) in outputs.into_iter().zip(&columns).enumerate() {
            // A constant stays one: it is converted even if there are no rows.
            if !output.was_unknown
                && crate::walk::is_constant(&output.bound.expr)
                && self.settings.is_postgres()
            {
                let constant = Bound { ..output.bound.clone() };
                let constant = self.assigned(constant, table, *column)?;
                self.constants.push(constant);
            }
            let is_constant = crate::walk::is_literal(&output.bound.expr);
            let read = Expr::Column(slot, n as u16);
            let expr = if is_constant { output.bound.expr.clone() } else { read };
            let bound = Bound { expr, ..output.bound };
            values.push(if output.was_unknown && self.settings.is_postgres() {
                let to = table.columns[*column].ty;
                Expr::Cast(Box::new(bound.expr), crate::ir::Cast { to, mode: CastMode::Assign })
            } else {
                self.assigned(bound, table, *column)?
            });
        }
        Ok(Source::Query { query: Box::new(query), columns, slot, values })
    }

    fn conflict(&mut self, insert: &ast::Insert, table: &Arc<Table>) -> Result<Conflict> {
        use ast::SqliteOnConflict as Or;
        match insert.or {
            None | Some(Or::Abort) => {}
            Some(Or::Replace) => return Ok(Conflict::Replace),
            Some(Or::Ignore) => return Ok(Conflict::IgnoreAll),
            Some(_) => return unsupported("INSERT OR ROLLBACK, INSERT OR FAIL"),
        }
        if insert.replace_into {
            return Ok(Conflict::Replace);
        }
        match &insert.on {
            None if insert.ignore => Ok(Conflict::Ignore),
            None => Ok(Conflict::Fail),
            Some(ast::OnInsert::DuplicateKeyUpdate(assignments)) => {
                let is_query = insert
                    .source
                    .as_ref()
                    .is_some_and(|query| !matches!(&*query.body, ast::SetExpr::Values(_)));
                if insert.ignore || insert.insert_alias.is_some() || is_query {
                    return unsupported("this upsert");
                }
                let sets = self.upsert_sets(table, assignments)?;
                Ok(Conflict::Update { target: None, sets, filter: None })
            }
            Some(ast::OnInsert::OnConflict(on)) => {
                let target = match &on.conflict_target {
                    None => None,
                    Some(ast::ConflictTarget::Columns(names)) => Some(self.conflict_target(table, names)?),
                    Some(ast::ConflictTarget::OnConstraint(name)) => {
                        let name = object(name, self.settings)?;
                        match table.keys.iter().find(|key| key.name == name) {
                            Some(key) => Some(key.columns.clone()),
                            None => return unknown_name(format!("constraint {name} does not exist")),
                        }
                    }
                };
                match &on.action {
                    ast::OnConflictAction::DoNothing => Ok(Conflict::Skip(target)),
                    ast::OnConflictAction::DoUpdate(update) => {
                        if target.is_none() && self.settings.is_postgres() {
                            return invalid("ON CONFLICT DO UPDATE needs a target");
                        }
                        let sets = self.upsert_sets(table, &update.assignments)?;
                        self.proposed = Some((**table).clone());
                        let filter = match &update.selection {
                            Some(expr) => {
                                let bound = self.expr(expr)?;
                                Some(self.condition(bound)?)
                            }
                            None => None,
                        };
                        self.proposed = None;
                        Ok(Conflict::Update { target, sets, filter })
                    }
                }
            }
            Some(_) => unsupported("this ON clause"),
        }
    }

    fn conflict_target(&self, table: &Table, names: &[ast::Ident]) -> Result<Vec<usize>> {
        let mut columns = Vec::new();
        for name in names {
            match table.column(&ident(name, self.settings)) {
                Some(at) => columns.push(at),
                None => return unknown_name(format!("column {name} does not exist")),
            }
        }
        let is_key = table.keys.iter().any(|key| {
            key.columns.len() == columns.len() && key.columns.iter().all(|column| columns.contains(column))
        });
        if is_key { Ok(columns) } else { invalid("ON CONFLICT names no unique key") }
    }

    fn upsert_sets(
        &mut self,
        table: &Arc<Table>,
        assignments: &[ast::Assignment],
    ) -> Result<Vec<(usize, Expr)>> {
        self.proposed = Some((**table).clone());
        let mut sets = Vec::new();
        for assignment in assignments {
            let column = self.target(table, &assignment.target)?;
            let bound = self.expr(&assignment.value)?;
            sets.push((column, self.assigned(bound, table, column)?));
        }
        self.proposed = None;
        Ok(sets)
    }

    fn returning(&mut self, items: Option<&Vec<ast::SelectItem>>) -> Result<Option<Returning>> {
        let Some(items) = items else { return Ok(None) };
        let mut outputs = Vec::new();
        for item in items {
            self.output(item, &mut outputs)?;
        }
        let mut columns = Vec::new();
        let mut exprs = Vec::new();
        for output in outputs {
            columns.push(output.name);
            exprs.push(self.settled(output.bound)?.expr);
        }
        Ok(Some(Returning { columns, outputs: exprs }))
    }

    fn update(&mut self, update: &ast::Update) -> Result<Update> {
        if update.or.is_some() {
            return unsupported("UPDATE OR");
        }
        self.scopes.push(Scope::default());
        let mut from = self.joins(&update.table)?;
        let count = self.items().len();
        if let Some(
            ast::UpdateTableFromKind::AfterSet(tables) | ast::UpdateTableFromKind::BeforeSet(tables),
        ) = &update.from
        {
            let others = self.sources(tables)?;
            from = From::Join(Box::new(crate::ir::Join {
                kind: crate::ir::JoinKind::Inner,
                left: from,
                right: others,
                on: None,
            }));
        }
        let (slot, table) = self.updated(update, count)?;
        let mut filter = None;
        if let Some(expr) = &update.selection {
            let bound = self.expr(expr)?;
            filter = Some(self.condition(bound)?);
        }
        sarg::push(&mut from, filter.as_ref());
        let mut sets = Vec::new();
        for assignment in &update.assignments {
            sets.push(self.set(&table, assignment)?);
        }
        let window = self.window(&update.order_by, update.limit.as_ref())?;
        let returning = self.returning(update.returning.as_ref())?;
        self.scopes.pop();
        Ok(Update { table, slot, from, filter, sets, window, returning })
    }

    fn items(&self) -> &[Item] {
        self.scopes.last().map_or(&[], |scope| &scope.items)
    }

    /// The table that an UPDATE changes: the first, or in MySQL the one whose columns are set.
    fn updated(&mut self, update: &ast::Update, count: usize) -> Result<(Slot, Arc<Table>)> {
        let items: Vec<Item> = self.items().iter().take(count).cloned().collect();
        let mut found: Option<usize> = None;
        for assignment in &update.assignments {
            let at = match &assignment.target {
                ast::AssignmentTarget::ColumnName(name) if count > 1 => {
                    let column = object(name, self.settings)?;
                    let qualifier =
                        name.0.len().checked_sub(2).and_then(|at| name.0.get(at)).map(ToString::to_string);
                    let has = |item: &Item| {
                        qualifier.as_ref().is_none_or(|it| it.eq_ignore_ascii_case(&item.name))
                            && item.columns.iter().any(|it| it.name.eq_ignore_ascii_case(&column))
                    };
                    match items.iter().position(has) {
                        Some(at) => at,
                        None => return unknown_name(format!("column {column} does not exist")),
                    }
                }
                _ => 0,
            };
            if found.is_some_and(|found| found != at) {
                return unsupported("UPDATE of several tables");
            }
            found = Some(at);
        }
        let Some(item) = items.get(found.unwrap_or(0)) else { return invalid("UPDATE of nothing") };
        match item.table.as_ref().and_then(|name| self.catalog.table(name)) {
            Some(table) => Ok((item.slot, table.clone())),
            None => unsupported("UPDATE of a view"),
        }
    }

    fn set(&mut self, table: &Arc<Table>, assignment: &ast::Assignment) -> Result<Set> {
        match &assignment.target {
            ast::AssignmentTarget::ColumnName(name) => {
                let column = self.column_position(table, name)?;
                let is_default = matches!(&assignment.value, ast::Expr::Identifier(name)
                    if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default"));
                if is_default {
                    let default = table.columns[column].default.clone();
                    return Ok(Set::One(column, default.unwrap_or(Expr::Const(Value::Null))));
                }
                let bound = self.expr(&assignment.value)?;
                Ok(Set::One(column, self.assigned(bound, table, column)?))
            }
            ast::AssignmentTarget::Tuple(names) => {
                let columns =
                    names.iter().map(|name| self.column_position(table, name)).collect::<Result<Vec<_>>>()?;
                let ast::Expr::Subquery(query) = &assignment.value else {
                    return unsupported("SET of a list of columns");
                };
                let (query, outputs) = self.query(query)?;
                if outputs.len() != columns.len() {
                    return invalid("SET has a wrong number of values");
                }
                let slot = self.slot()?;
                let mut values = Vec::new();
                for (n, (output, column)) in outputs.into_iter().zip(&columns).enumerate() {
                    let bound = Bound { expr: Expr::Column(slot, n as u16), ..output.bound };
                    values.push(self.assigned(bound, table, *column)?);
                }
                Ok(Set::Row { columns, query: Box::new(query), slot, values })
            }
        }
    }

    fn window(&mut self, order: &[ast::OrderByExpr], limit: Option<&ast::Expr>) -> Result<Window> {
        let mut window = Window::default();
        for key in order {
            let bound = self.expr(&key.expr)?;
            window.order.push(self.sort_key_of(window.keys.len(), &bound, &key.options));
            window.keys.push(bound.expr);
        }
        if let Some(limit) = limit {
            window.limit = Some(self.expr(limit)?.expr);
        }
        Ok(window)
    }

    fn delete(&mut self, delete: &ast::Delete) -> Result<Delete> {
        let (ast::FromTable::WithFromKeyword(tables) | ast::FromTable::WithoutKeyword(tables)) = &delete.from;
        self.scopes.push(Scope::default());
        let mut from = self.sources(tables)?;
        let mut at = 0;
        if !delete.tables.is_empty() {
            let [name] = &delete.tables[..] else { return unsupported("DELETE from several tables") };
            let name = object(name, self.settings)?;
            match self.items().iter().position(|item| item.name.eq_ignore_ascii_case(&name)) {
                Some(found) => at = found,
                None => return unknown_name(format!("table {name} does not exist")),
            }
        } else if self.items().len() > 1 {
            return unsupported("DELETE from several tables");
        }
        if let Some(using) = &delete.using {
            let others = self.sources(using)?;
            from = From::Join(Box::new(crate::ir::Join {
                kind: crate::ir::JoinKind::Inner,
                left: from,
                right: others,
                on: None,
            }));
        }
        let Some(item) = self.items().get(at).cloned() else { return invalid("DELETE from nothing") };
        let Some(table) = item.table.as_ref().and_then(|name| self.catalog.table(name)).cloned() else {
            return unsupported("DELETE from a view");
        };
        let mut filter = None;
        if let Some(expr) = &delete.selection {
            let bound = self.expr(expr)?;
            filter = Some(self.condition(bound)?);
        }
        sarg::push(&mut from, filter.as_ref());
        let window = self.window(&delete.order_by, delete.limit.as_ref())?;
        let returning = self.returning(delete.returning.as_ref())?;
        self.scopes.pop();
        Ok(Delete { table, slot: item.slot, from, filter, window, returning })
    }

    /// A query whose rows a procedure reads, and its columns.
    pub(crate) fn cursor(&mut self, query: &ast::Query) -> Result<(Query, Vec<(String, Type)>)> {
        let (query, outputs) = self.query(query)?;
        Ok((query, outputs.into_iter().map(|output| (output.name, output.bound.ty)).collect()))
    }

    /// An expression of a procedure. `found` is PL/pgSQL's variable of that name.
    pub(crate) fn value(&mut self, expr: &ast::Expr, found: bool) -> Result<Expr> {
        let bound = self.expr(expr)?;
        let mut expr = self.settled(bound)?.expr;
        let at = self.variables.len() - 1;
        replace_variable(&mut expr, at, &Value::Bool(found));
        Ok(expr)
    }
}

/// Replaces a variable by its value, in the operators of conditions.
fn replace_variable(expr: &mut Expr, at: usize, value: &Value) {
    match expr {
        Expr::Variable(n) if *n == at => *expr = Expr::Const(value.clone()),
        Expr::Not(inner) => replace_variable(inner, at, value),
        Expr::And(parts) | Expr::Or(parts) => {
            for part in parts {
                replace_variable(part, at, value);
            }
        }
        _ => {}
    }
}

/// Whether PostgreSQL stores a type in a column of another.
fn is_assignable(from: Type, to: Type) -> bool {
    match (from, to) {
        (Type::Unknown, _) => true,
        (a, b) if a.unlimited() == b.unlimited() => true,
        (_, b) if b.is_text() => true,
        (a, b) if a.is_number() && b.is_number() => true,
        (a, b) if a.is_moment() && b.is_moment() => {
            !matches!((a, b), (Type::Date, Type::Time) | (Type::Time, _))
        }
        _ => false,
    }
}

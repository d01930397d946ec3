//! Queries.

use sqlparser::ast;

use crate::bind::function::{arguments, is_aggregate};
use crate::bind::{Binder, Bound, GroupKey, Grouping, Item, Scope, ScopeColumn, ident, object, sarg};
use crate::error::{Result, invalid, unknown_name, unsupported};
use crate::ir::{
    Body, Cast, CastMode, Comparison, Expr, From, Group, Join, JoinKind, Query, Scan, Select, SetOperator,
    SortKey,
};
use crate::value::{Affinity, Type};

/// An output column.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) bound: Bound,
    /// Whether it is a literal or parameter without a type: INSERT gives it the type of the column.
    pub(crate) was_unknown: bool,
    /// The expression it comes from, to recognise it in HAVING.
    ast: Option<ast::Expr>,
}

impl Output {
    fn new(name: String, bound: Bound) -> Output {
        Output { name, bound, was_unknown: false, ast: None }
    }
}

impl Binder<'_> {
    /// Binds a query.
    pub(crate) fn query(&mut self, query: &ast::Query) -> Result<(Query, Vec<Output>)> {
        if query.fetch.is_some() || query.for_clause.is_some() || !query.pipe_operators.is_empty() {
            return unsupported("this query");
        }
        let mut with = Vec::new();
        if let Some(clause) = &query.with {
            if clause.recursive {
                return unsupported("WITH RECURSIVE");
            }
            for table in &clause.cte_tables {
                let name = ident(&table.alias.name, self.settings);
                let columns =
                    table.alias.columns.iter().map(|column| ident(&column.name, self.settings)).collect();
                with.push((name, columns, (*table.query).clone()));
            }
        }
        self.enter(Scope { with, ..Scope::default() })?;
        let result = self.query_inside(query);
        let scope = self.scopes.pop().unwrap_or_default();
        let (mut bound, outputs) = result?;
        // The scope of WITH is around the query: what is correlated inside is correlated here.
        bound.is_correlated |= scope.is_correlated;
        Ok((bound, outputs))
    }

    fn query_inside(&mut self, query: &ast::Query) -> Result<(Query, Vec<Output>)> {
        let order: Vec<&ast::OrderByExpr> = match &query.order_by {
            None => Vec::new(),
            Some(ast::OrderBy { kind: ast::OrderByKind::Expressions(exprs), .. }) => exprs.iter().collect(),
            Some(_) => return unsupported("ORDER BY ALL"),
        };
        let (body, outputs, keys, is_correlated) = self.body(&query.body, &order)?;
        let (limit, offset) = self.limits(query.limit_clause.as_ref())?;
        let width = outputs.len();
        let locks = !query.locks.is_empty();
        Ok((Query { body, order: keys, width, limit, offset, is_correlated, locks }, outputs))
    }

    fn limits(&mut self, clause: Option<&ast::LimitClause>) -> Result<(Option<Expr>, Option<Expr>)> {
        let (limit, offset) = match clause {
            None => (None, None),
            Some(ast::LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            Some(ast::LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
            Some(_) => return unsupported("LIMIT BY"),
        };
        let mut bind = |expr: Option<&ast::Expr>| -> Result<Option<Expr>> {
            let Some(expr) = expr else { return Ok(None) };
            if matches!(expr, ast::Expr::Identifier(name) if name.value.eq_ignore_ascii_case("all")) {
                return Ok(None);
            }
            let bound = self.expr(expr)?;
            Ok(Some(if self.settings.is_postgres() {
                self.converted(bound, Type::INT8, CastMode::Implicit)?
            } else {
                bound.expr
            }))
        };
        Ok((bind(limit)?, bind(offset)?))
    }

    fn body(
        &mut self,
        body: &ast::SetExpr,
        order: &[&ast::OrderByExpr],
    ) -> Result<(Body, Vec<Output>, Vec<SortKey>, bool)> {
        match body {
            ast::SetExpr::Select(select) => self.select(select, order),
            ast::SetExpr::Query(query) => {
                let (inner, outputs) = self.query(query)?;
                let is_correlated = inner.is_correlated;
                let keys = self.output_keys(&outputs, order)?;
                let slot = self.slot()?;
                let columns = (0..outputs.len()).map(|at| Expr::Column(slot, at as u16)).collect();
                let select = Select {
                    from: From::Derived(slot, outputs.len(), Box::new(inner)),
                    filter: None,
                    group: None,
                    having: None,
                    outputs: columns,
                    distinct: None,
                };
                Ok((Body::Select(Box::new(select)), outputs, keys, is_correlated))
            }
            ast::SetExpr::SetOperation { left, op, set_quantifier, right } => {
                self.set_operation(left, *op, *set_quantifier, right, order)
            }
            ast::SetExpr::Values(values) => {
                let rows: Vec<&Vec<ast::Expr>> = values.rows.iter().map(|row| &row.content).collect();
                let (rows, outputs) = self.values(&rows)?;
                let keys = self.output_keys(&outputs, order)?;
                Ok((Body::Values(rows), outputs, keys, true))
            }
            _ => unsupported("this query"),
        }
    }

    /// Rows of VALUES.
    fn values(&mut self, rows: &[&Vec<ast::Expr>]) -> Result<(Vec<Vec<Expr>>, Vec<Output>)> {
        let width = rows.first().map_or(0, |row| row.len());
        let mut columns: Vec<Vec<Bound>> = vec![Vec::new(); width];
        for row in rows {
            if row.len() != width {
                return invalid("VALUES lists must have the same length");
            }
            for (column, expr) in columns.iter_mut().zip(row.iter()) {
                column.push(self.expr(expr)?);
            }
        }
        let mut exprs: Vec<Vec<Expr>> = vec![Vec::with_capacity(width); rows.len()];
        let mut outputs = Vec::new();
        for (n, column) in columns.into_iter().enumerate() {
            let (values, like) = self.unified(column)?;
            for (row, value) in exprs.iter_mut().zip(values) {
                row.push(value);
            }
            outputs.push(Output::new(format!("column{}", n + 1), like));
        }
        Ok((exprs, outputs))
    }

    fn set_operation(
        &mut self,
        left: &ast::SetExpr,
        op: ast::SetOperator,
        quantifier: ast::SetQuantifier,
        right: &ast::SetExpr,
        order: &[&ast::OrderByExpr],
    ) -> Result<(Body, Vec<Output>, Vec<SortKey>, bool)> {
        let operator = match op {
            ast::SetOperator::Union => SetOperator::Union,
            ast::SetOperator::Except | ast::SetOperator::Minus => SetOperator::Except,
            ast::SetOperator::Intersect => SetOperator::Intersect,
        };
        let all = match quantifier {
            ast::SetQuantifier::All => true,
            ast::SetQuantifier::None | ast::SetQuantifier::Distinct => false,
            _ => return unsupported("BY NAME"),
        };
        let mut side = |body: &ast::SetExpr| -> Result<(Query, Vec<Output>)> {
            let (body, outputs, order, is_correlated) = self.body(body, &[])?;
            let width = outputs.len();
            Ok((
                Query { body, order, width, limit: None, offset: None, is_correlated, locks: false },
                outputs,
            ))
        };
        let ((left, lefts), (right, rights)) = (side(left)?, side(right)?);
        if lefts.len() != rights.len() {
            return invalid("the sides of a set operation have different numbers of columns");
        }
        let mut casts = [Vec::new(), Vec::new()];
        let mut outputs = Vec::new();
        let mut comparisons = Vec::new();
        for (left, right) in lefts.iter().zip(&rights) {
            let of = |side: &Output| if side.was_unknown { Type::Unknown } else { side.bound.ty };
            let common = self.common_type(&[of(left), of(right)])?;
            for (casts, side) in casts.iter_mut().zip([left, right]) {
                let cast = common.filter(|to| *to != side.bound.ty);
                let is_padded = self.settings.is_postgres() && matches!(side.bound.ty, Type::Char(_));
                let mode = if is_padded { CastMode::Unpad } else { CastMode::Implicit };
                casts.push(cast.map(|to| Cast { to, mode }));
            }
            let mut bound = left.bound.clone();
            if right.bound.ty.is_text() && !left.bound.ty.is_text() {
                bound.collation = right.bound.collation;
            }
            bound.ty = common.unwrap_or(left.bound.ty);
            bound.affinity = None;
            let mut how = self.own_comparison(&bound);
            if self.settings.is_sqlite() {
                how.collation = left.bound.collation;
            }
            comparisons.push(how);
            outputs.push(Output::new(left.name.clone(), bound));
        }
        let keys = self.output_keys(&outputs, order)?;
        let is_correlated = left.is_correlated || right.is_correlated;
        let (sides, casts) = (Box::new([left, right]), Box::new(casts));
        Ok((Body::Set { operator, all, sides, casts, comparisons }, outputs, keys, is_correlated))
    }

    /// ORDER BY by names and positions of outputs.
    fn output_keys(&mut self, outputs: &[Output], order: &[&ast::OrderByExpr]) -> Result<Vec<SortKey>> {
        let mut keys = Vec::new();
        for key in order {
            let Some(column) = self.output_of(&key.expr, outputs)? else {
                return unsupported("ORDER BY an expression here");
            };
            keys.push(self.sort_key(column, &outputs[column].bound.clone(), &key.options));
        }
        Ok(keys)
    }

    /// The output that a position or a name means.
    fn output_of(&self, expr: &ast::Expr, outputs: &[Output]) -> Result<Option<usize>> {
        if let ast::Expr::Value(value) = expr
            && let ast::Value::Number(digits, _) = &value.value
        {
            return match digits.parse::<usize>() {
                Ok(n) if (1..=outputs.len()).contains(&n) => Ok(Some(n - 1)),
                _ => invalid("a position is not in the select list"),
            };
        }
        let ast::Expr::Identifier(name) = expr else { return Ok(None) };
        let name = ident(name, self.settings);
        Ok(outputs.iter().position(|output| output.name.eq_ignore_ascii_case(&name)))
    }

    pub(crate) fn sort_key_of(&self, column: usize, bound: &Bound, options: &ast::OrderByOptions) -> SortKey {
        self.sort_key(column, bound, options)
    }

    fn sort_key(&self, column: usize, bound: &Bound, options: &ast::OrderByOptions) -> SortKey {
        let descending = matches!(options.sort, Some(ast::OrderBySort::Desc));
        // NULL is the largest value in PostgreSQL and the smallest elsewhere.
        let default = descending == self.settings.is_postgres();
        let mut comparison = self.own_comparison(bound);
        if self.settings.is_sqlite() {
            comparison =
                Comparison { collation: bound.collation, rules: crate::ir::Rules::Sqlite(None, None) };
        }
        SortKey { column, descending, nulls_first: options.nulls_first.unwrap_or(default), comparison }
    }

    fn select(
        &mut self,
        select: &ast::Select,
        order: &[&ast::OrderByExpr],
    ) -> Result<(Body, Vec<Output>, Vec<SortKey>, bool)> {
        if select.top.is_some()
            || select.into.is_some()
            || select.qualify.is_some()
            || !select.lateral_views.is_empty()
        {
            return unsupported("this SELECT");
        }
        self.enter(Scope::default())?;
        let result = self.select_inside(select, order);
        let scope = self.scopes.pop().unwrap_or_default();
        let (body, outputs, keys) = result?;
        Ok((Body::Select(Box::new(body)), outputs, keys, scope.is_correlated))
    }

    fn select_inside(
        &mut self,
        select: &ast::Select,
        order: &[&ast::OrderByExpr],
    ) -> Result<(Select, Vec<Output>, Vec<SortKey>)> {
        let mut from = self.sources(&select.from)?;
        let filter = match &select.selection {
            Some(expr) => {
                let bound = self.expr(expr)?;
                Some(self.condition(bound)?)
            }
            None => None,
        };
        sarg::push(&mut from, filter.as_ref());
        self.begin_groups(select, order)?;
        let mut outputs = Vec::new();
        for item in &select.projection {
            self.output(item, &mut outputs)?;
        }
        let having = match &select.having {
            Some(expr) => {
                let expr = self.aliased(expr, &outputs);
                let bound = self.expr(&expr)?;
                Some(self.condition(bound)?)
            }
            None => None,
        };
        let mut exprs = Vec::new();
        for output in &mut outputs {
            output.was_unknown = output.bound.ty == Type::Unknown;
            output.bound = self.settled(output.bound.clone())?;
            exprs.push(output.bound.expr.clone());
        }
        let is_distinct = match &select.distinct {
            None | Some(ast::Distinct::All) => false,
            Some(ast::Distinct::Distinct) => true,
            Some(ast::Distinct::On(_)) => return unsupported("DISTINCT ON"),
        };
        let keys = self.select_keys(order, &outputs, &mut exprs, is_distinct)?;
        let distinct = is_distinct
            .then(|| outputs.iter().map(|output| self.distinct_comparison(&output.bound)).collect());
        let scope = self.scopes.last_mut();
        let grouping = scope.and_then(|scope| scope.grouping.take());
        let group = grouping.map(|grouping| Group {
            slot: grouping.slot,
            keys: grouping.keys.into_iter().map(|key| (key.bound.expr, key.comparison)).collect(),
            aggregates: grouping.aggregates,
        });
        Ok((Select { from, filter, group, having, outputs: exprs, distinct }, outputs, keys))
    }

    fn distinct_comparison(&self, bound: &Bound) -> Comparison {
        let how = self.own_comparison(bound);
        if self.settings.is_sqlite() { Comparison { collation: bound.collation, ..how } } else { how }
    }

    /// HAVING may name outputs in MySQL and SQLite.
    fn aliased(&self, expr: &ast::Expr, outputs: &[Output]) -> ast::Expr {
        if self.settings.is_postgres() {
            return expr.clone();
        }
        let replacement = |name: &ast::Ident| {
            let output = outputs.iter().find(|output| output.name.eq_ignore_ascii_case(&name.value))?;
            output.ast.clone()
        };
        match expr {
            ast::Expr::BinaryOp { left, op, right } => {
                let side = |side: &ast::Expr| match side {
                    ast::Expr::Identifier(name) => replacement(name).unwrap_or_else(|| side.clone()),
                    other => self.aliased(other, outputs),
                };
                ast::Expr::BinaryOp {
                    left: Box::new(side(left)),
                    op: op.clone(),
                    right: Box::new(side(right)),
                }
            }
            other => other.clone(),
        }
    }

    /// ORDER BY of a SELECT: positions, names of outputs, or expressions, which become hidden outputs.
    fn select_keys(
        &mut self,
        order: &[&ast::OrderByExpr],
        outputs: &[Output],
        exprs: &mut Vec<Expr>,
        is_distinct: bool,
    ) -> Result<Vec<SortKey>> {
        let mut keys = Vec::new();
        for key in order {
            if let Some(column) = self.output_of(&key.expr, outputs)? {
                keys.push(self.sort_key(column, &outputs[column].bound.clone(), &key.options));
                continue;
            }
            let bound = self.expr(&key.expr)?;
            let bound = self.settled(bound)?;
            let column = match exprs.iter().position(|expr| *expr == bound.expr) {
                Some(column) => column,
                None if is_distinct && self.settings.is_postgres() => {
                    return invalid("ORDER BY must name an output of SELECT DISTINCT");
                }
                None if is_distinct => return unsupported("ORDER BY something that DISTINCT does not keep"),
                None => {
                    exprs.push(bound.expr.clone());
                    exprs.len() - 1
                }
            };
            keys.push(self.sort_key(column, &bound, &key.options));
        }
        Ok(keys)
    }

    /// Binds GROUP BY, if the query has groups.
    fn begin_groups(&mut self, select: &ast::Select, order: &[&ast::OrderByExpr]) -> Result<()> {
        let exprs: &[ast::Expr] = match &select.group_by {
            ast::GroupByExpr::Expressions(exprs, modifiers) if modifiers.is_empty() => exprs,
            _ => return unsupported("this GROUP BY"),
        };
        let in_outputs = select.projection.iter().any(|item| match item {
            ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } => {
                self.has_aggregate(expr)
            }
            _ => false,
        });
        let in_order = order.iter().any(|key| self.has_aggregate(&key.expr));
        let in_having = select.having.as_ref().is_some_and(|having| self.has_aggregate(having));
        if exprs.is_empty() && !in_outputs && !in_order && !in_having {
            if select.having.is_some() && !self.settings.is_postgres() {
                return unsupported("HAVING without groups");
            }
            if select.having.is_none() {
                return Ok(());
            }
        }
        let mut keys = Vec::new();
        for expr in exprs {
            let expr = self.key_meant(expr, select)?;
            let bound = self.expr(&expr)?;
            let bound = self.settled(bound)?;
            let comparison = self.distinct_comparison(&bound);
            keys.push(GroupKey { ast: expr, bound, comparison });
        }
        let slot = self.slot()?;
        if let Some(scope) = self.scopes.last_mut() {
            scope.grouping = Some(Grouping { slot, keys, aggregates: Vec::new(), is_inside: false });
        }
        Ok(())
    }

    /// The expression of a key of GROUP BY: a position or a name may mean an output.
    fn key_meant(&mut self, expr: &ast::Expr, select: &ast::Select) -> Result<ast::Expr> {
        let output = |item: &ast::SelectItem| match item {
            ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } => {
                Some(expr.clone())
            }
            _ => None,
        };
        if let ast::Expr::Value(value) = expr
            && let ast::Value::Number(digits, _) = &value.value
        {
            let item = digits.parse::<usize>().ok().and_then(|n| select.projection.get(n.checked_sub(1)?));
            return match item.and_then(output) {
                Some(expr) => Ok(expr),
                None => invalid("a position is not in the select list"),
            };
        }
        let ast::Expr::Identifier(name) = expr else { return Ok(expr.clone()) };
        if self.column(None, &ident(name, self.settings)).is_ok() {
            return Ok(expr.clone());
        }
        let aliased = select.projection.iter().find_map(|item| match item {
            ast::SelectItem::ExprWithAlias { expr, alias }
                if alias.value.eq_ignore_ascii_case(&name.value) =>
            {
                Some(expr.clone())
            }
            _ => None,
        });
        Ok(aliased.unwrap_or_else(|| expr.clone()))
    }

    /// Whether an expression has an aggregate, outside of subqueries.
    fn has_aggregate(&self, expr: &ast::Expr) -> bool {
        let mut open = vec![expr];
        while let Some(expr) = open.pop() {
            match expr {
                ast::Expr::Function(function) => {
                    let name = object(&function.name, self.settings).unwrap_or_default().to_ascii_lowercase();
                    let args = arguments(function).unwrap_or_default();
                    if function.over.is_none() && is_aggregate(&name, args.len(), self) {
                        return true;
                    }
                    open.extend(args);
                }
                ast::Expr::Nested(inner)
                | ast::Expr::IsNull(inner)
                | ast::Expr::IsNotNull(inner)
                | ast::Expr::IsTrue(inner)
                | ast::Expr::IsNotTrue(inner)
                | ast::Expr::IsFalse(inner)
                | ast::Expr::IsNotFalse(inner)
                | ast::Expr::UnaryOp { expr: inner, .. }
                | ast::Expr::Cast { expr: inner, .. }
                | ast::Expr::Convert { expr: inner, .. }
                | ast::Expr::Collate { expr: inner, .. }
                | ast::Expr::Ceil { expr: inner, .. }
                | ast::Expr::Floor { expr: inner, .. }
                | ast::Expr::Substring { expr: inner, .. }
                | ast::Expr::Trim { expr: inner, .. }
                | ast::Expr::InSubquery { expr: inner, .. } => open.push(inner),
                ast::Expr::BinaryOp { left, right, .. }
                | ast::Expr::IsDistinctFrom(left, right)
                | ast::Expr::IsNotDistinctFrom(left, right) => open.extend([&**left, &**right]),
                ast::Expr::Like { expr, pattern, .. } | ast::Expr::ILike { expr, pattern, .. } => {
                    open.extend([&**expr, &**pattern]);
                }
                ast::Expr::Between { expr, low, high, .. } => open.extend([&**expr, &**low, &**high]),
                ast::Expr::InList { expr, list, .. } => {
                    open.push(expr);
                    open.extend(list);
                }
                ast::Expr::Tuple(items) => open.extend(items),
                ast::Expr::Case { operand, conditions, else_result, .. } => {
                    open.extend(operand.as_deref());
                    open.extend(else_result.as_deref());
                    open.extend(conditions.iter().flat_map(|when| [&when.condition, &when.result]));
                }
                _ => {}
            }
        }
        false
    }

    /// The outputs of an item of a select list.
    pub(crate) fn output(&mut self, item: &ast::SelectItem, outputs: &mut Vec<Output>) -> Result<()> {
        match item {
            ast::SelectItem::UnnamedExpr(expr) => {
                let bound = self.expr(expr)?;
                let name = match expr {
                    ast::Expr::Identifier(name) => ident(name, self.settings),
                    ast::Expr::CompoundIdentifier(parts) => {
                        parts.last().map(|last| ident(last, self.settings)).unwrap_or_default()
                    }
                    ast::Expr::Function(function) if self.settings.is_postgres() => {
                        object(&function.name, self.settings)?
                    }
                    other => other.to_string(),
                };
                outputs.push(Output { name, bound, was_unknown: false, ast: Some(expr.clone()) });
            }
            ast::SelectItem::ExprWithAlias { expr, alias } => {
                let bound = self.expr(expr)?;
                outputs.push(Output {
                    name: ident(alias, self.settings),
                    bound,
                    was_unknown: false,
                    ast: Some(expr.clone()),
                });
            }
            ast::SelectItem::Wildcard(_) => self.wildcard(None, outputs)?,
            ast::SelectItem::QualifiedWildcard(ast::SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let name = object(name, self.settings)?;
                self.wildcard(Some(&name), outputs)?;
            }
            _ => return unsupported("this output"),
        }
        Ok(())
    }

    fn wildcard(&mut self, qualifier: Option<&str>, outputs: &mut Vec<Output>) -> Result<()> {
        let items: Vec<Item> = self.scopes.last().map(|scope| scope.items.clone()).unwrap_or_default();
        let before = outputs.len();
        for item in &items {
            if qualifier.is_some_and(|qualifier| !item.name.eq_ignore_ascii_case(qualifier)) {
                continue;
            }
            for column in &item.columns {
                if qualifier.is_none() && column.is_hidden {
                    continue;
                }
                let bound = self.column(Some(&item.name), &column.name)?;
                outputs.push(Output::new(column.name.clone(), bound));
            }
        }
        if outputs.len() == before {
            return unknown_name("* means no columns");
        }
        Ok(())
    }

    /// FROM, with its items added to the scope.
    pub(crate) fn sources(&mut self, from: &[ast::TableWithJoins]) -> Result<From> {
        let mut result: Option<From> = None;
        for tables in from {
            let one = self.joins(tables)?;
            result = Some(match result {
                None => one,
                Some(left) => joined(JoinKind::Inner, left, one, None),
            });
        }
        Ok(result.unwrap_or(From::Nothing))
    }

    pub(crate) fn joins(&mut self, tables: &ast::TableWithJoins) -> Result<From> {
        use ast::JoinOperator as J;
        let first = self.scopes.last().map_or(0, |scope| scope.items.len());
        let mut result = self.factor(&tables.relation)?;
        for join in &tables.joins {
            let middle = self.scopes.last().map_or(0, |scope| scope.items.len());
            let right = self.factor(&join.relation)?;
            let (kind, constraint) = match &join.join_operator {
                J::Join(it) | J::Inner(it) | J::CrossJoin(it) | J::StraightJoin(it) => {
                    (Some(JoinKind::Inner), it)
                }
                J::Left(it) | J::LeftOuter(it) => (Some(JoinKind::Left), it),
                J::Right(it) | J::RightOuter(it) => (None, it),
                J::FullOuter(it) => (Some(JoinKind::Full), it),
                _ => return unsupported("this JOIN"),
            };
            let on = self.join_condition(constraint, first, middle, kind)?;
            result = match kind {
                Some(kind) => joined(kind, result, right, on),
                // A right join is a left join from the other side.
                None => joined(JoinKind::Left, right, result, on),
            };
        }
        Ok(result)
    }

    fn join_condition(
        &mut self,
        constraint: &ast::JoinConstraint,
        first: usize,
        middle: usize,
        kind: Option<JoinKind>,
    ) -> Result<Option<Expr>> {
        let names: Vec<String> = match constraint {
            ast::JoinConstraint::None => return Ok(None),
            ast::JoinConstraint::On(expr) => {
                let bound = self.expr(expr)?;
                return Ok(Some(self.condition(bound)?));
            }
            ast::JoinConstraint::Using(names) => {
                names.iter().map(|name| object(name, self.settings)).collect::<Result<_>>()?
            }
            ast::JoinConstraint::Natural => return unsupported("NATURAL JOIN"),
        };
        if kind == Some(JoinKind::Full) {
            return unsupported("FULL JOIN with USING");
        }
        let mut parts = Vec::new();
        for name in names {
            let Some(scope) = self.scopes.last() else { return invalid("no FROM clause") };
            let find = |items: &[Item]| {
                let columns =
                    items.iter().flat_map(|item| item.columns.iter().map(move |column| (item, column)));
                columns
                    .filter(|(_, column)| column.name.eq_ignore_ascii_case(&name) && !column.is_hidden)
                    .map(|(item, _)| item.name.clone())
                    .collect::<Vec<_>>()
            };
            let (lefts, rights) = (find(&scope.items[first..middle]), find(&scope.items[middle..]));
            let ([left], [right]) = (&lefts[..], &rights[..]) else {
                return unknown_name(format!("column {name} of USING is missing or ambiguous"));
            };
            let (a, b) = (self.column(Some(left), &name)?, self.column(Some(right), &name)?);
            parts.push(self.compare(crate::ir::Comparator::Equal, a, b)?.expr);
            // The column of the side that has all rows is the visible one.
            let hidden = if kind.is_none() { first..middle } else { middle..usize::MAX };
            if let Some(scope) = self.scopes.last_mut() {
                for (at, item) in scope.items.iter_mut().enumerate() {
                    for column in &mut item.columns {
                        column.is_hidden |= hidden.contains(&at) && column.name.eq_ignore_ascii_case(&name);
                    }
                }
            }
        }
        if kind.is_none() {
            return unsupported("RIGHT JOIN with USING");
        }
        Ok(Some(Expr::And(parts)))
    }

    fn factor(&mut self, factor: &ast::TableFactor) -> Result<From> {
        match factor {
            ast::TableFactor::Table { name, alias, args: None, .. } => self.named_table(name, alias.as_ref()),
            ast::TableFactor::Derived { lateral: false, subquery, alias, .. } => {
                let name = alias.as_ref().map(|alias| ident(&alias.name, self.settings)).unwrap_or_default();
                let columns = alias_columns(alias.as_ref(), self);
                // The query does not see the other items of this FROM clause.
                let hidden =
                    self.scopes.last_mut().map(|scope| std::mem::take(&mut scope.items)).unwrap_or_default();
                let bound = self.query(subquery);
                if let Some(scope) = self.scopes.last_mut() {
                    scope.items = hidden;
                }
                self.derived(bound?, name, &columns)
            }
            ast::TableFactor::NestedJoin { table_with_joins, alias: None } => self.joins(table_with_joins),
            _ => unsupported("this FROM item"),
        }
    }

    fn derived(&mut self, bound: (Query, Vec<Output>), name: String, names: &[String]) -> Result<From> {
        let (query, outputs) = bound;
        let slot = self.slot()?;
        let width = outputs.len();
        let columns = outputs.into_iter().enumerate().map(|(at, output)| ScopeColumn {
            name: names.get(at).cloned().unwrap_or(output.name),
            ty: match output.bound.ty {
                Type::Any(_) => Type::Any(output.bound.affinity.unwrap_or(Affinity::Blob)),
                other => other,
            },
            collation: output.bound.collation,
            is_hidden: false,
        });
        let item = Item { slot, name, columns: columns.collect(), table: None };
        self.add_item(item)?;
        Ok(From::Derived(slot, width, Box::new(query)))
    }

    fn add_item(&mut self, item: Item) -> Result<()> {
        let Some(scope) = self.scopes.last_mut() else { return invalid("no FROM clause") };
        if !item.name.is_empty()
            && scope.items.iter().any(|other| other.name.eq_ignore_ascii_case(&item.name))
        {
            return unknown_name(format!("table name {} is not unique", item.name));
        }
        scope.items.push(item);
        Ok(())
    }

    fn named_table(&mut self, name: &ast::ObjectName, alias: Option<&ast::TableAlias>) -> Result<From> {
        let shown = object(name, self.settings)?;
        let alias_name = alias.map(|alias| ident(&alias.name, self.settings));
        let columns = alias_columns(alias, self);
        if let Some((query, names)) = self.with_table(&shown) {
            // A table of WITH does not see itself.
            let hidden: Vec<Vec<Item>> =
                self.scopes.iter_mut().map(|scope| std::mem::take(&mut scope.items)).collect();
            let bound = self.without(&shown, &query);
            for (scope, items) in self.scopes.iter_mut().zip(hidden) {
                scope.items = items;
            }
            let names = if columns.is_empty() { names } else { columns };
            return self.derived(bound?, alias_name.unwrap_or(shown), &names);
        }
        if let Some(view) = self.catalog.view(&shown).cloned() {
            let scopes = std::mem::take(&mut self.scopes);
            if scopes.len() >= super::MOST_SCOPES || self.depth >= super::MOST_SCOPES {
                return unsupported("views are nested too deeply");
            }
            self.depth += 1;
            let bound = self.query(&view.query);
            self.depth -= 1;
            self.scopes = scopes;
            let names = if columns.is_empty() { view.columns.clone() } else { columns };
            return self.derived(bound?, alias_name.unwrap_or(shown), &names);
        }
        let Some(table) = self.catalog.table(&shown).cloned() else {
            return unknown_name(format!("table {shown} does not exist"));
        };
        let mut item = self.table_item(&table, alias_name.as_deref())?;
        for (column, name) in item.columns.iter_mut().zip(columns) {
            column.name = name;
        }
        let scan = Scan { slot: item.slot, table: table.id, width: table.columns.len(), sargs: Vec::new() };
        self.add_item(item)?;
        Ok(From::Scan(scan))
    }

    /// The query of a name of WITH.
    fn with_table(&self, name: &str) -> Option<(ast::Query, Vec<String>)> {
        let tables = self.scopes.iter().rev().flat_map(|scope| scope.with.iter().rev());
        tables
            .into_iter()
            .find(|(table, ..)| table.eq_ignore_ascii_case(name))
            .map(|(_, columns, query)| (query.clone(), columns.clone()))
    }

    /// Binds the query of a name of WITH, which sees only the names before it.
    fn without(&mut self, name: &str, query: &ast::Query) -> Result<(Query, Vec<Output>)> {
        let mut cut = Vec::new();
        for scope in self.scopes.iter_mut().rev() {
            if let Some(at) = scope.with.iter().rposition(|(table, ..)| table.eq_ignore_ascii_case(name)) {
                cut = scope.with.split_off(at);
                let bound = self.query(query);
                let scope = self.scopes.iter_mut().rev().find(|scope| scope.with.len() == at);
                if let Some(scope) = scope {
                    scope.with.append(&mut cut);
                }
                return bound;
            }
        }
        drop(cut);
        unknown_name(format!("table {name} does not exist"))
    }
}

fn alias_columns(alias: Option<&ast::TableAlias>, binder: &Binder<'_>) -> Vec<String> {
    alias.map_or(Vec::new(), |alias| {
        alias.columns.iter().map(|column| ident(&column.name, binder.settings)).collect()
    })
}

fn joined(kind: JoinKind, left: From, right: From, on: Option<Expr>) -> From {
    From::Join(Box::new(Join { kind, left, right, on }))
}

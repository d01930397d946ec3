//! Walking through bound statements, to find what may fail without being needed.

use crate::expression::is_fallible;
use crate::ir::{Body, Expr, From, Query};
use crate::plan::{Action, Conflict, Plan, Returning, Set, Source};

/// Notes in a plan what may fail although no row needs it.
pub(crate) fn note_failures(plan: &mut Plan) {
    let mut walk = Walk { constants: Vec::new(), has_fallible_join: false };
    walk.action(&plan.action);
    plan.constants.append(&mut walk.constants);
    plan.has_fallible_join = walk.has_fallible_join;
}

struct Walk {
    constants: Vec<Expr>,
    has_fallible_join: bool,
}

impl Walk {
    fn action(&mut self, action: &Action) {
        match action {
            Action::Query { query, .. } => self.query(query),
            Action::Insert(insert) => {
                match &insert.source {
                    Source::Rows(rows) => rows.iter().flatten().flatten().for_each(|expr| self.expr(expr)),
                    Source::Query { query, values, .. } => {
                        self.query(query);
                        for expr in values {
                            self.expr(expr);
                        }
                    }
                }
                if let Conflict::Update { sets, filter, .. } = &insert.conflict {
                    for (_, expr) in sets {
                        self.expr(expr);
                    }
                    if let Some(expr) = filter {
                        self.expr(expr);
                    }
                }
                self.returning(insert.returning.as_ref());
            }
            Action::Update(update) => {
                self.from(&update.from, update.filter.as_ref());
                for set in &update.sets {
                    match set {
                        Set::One(_, expr) => self.expr(expr),
                        Set::Row { query, values, .. } => {
                            self.query(query);
                            for expr in values {
                                self.expr(expr);
                            }
                        }
                    }
                }
                self.returning(update.returning.as_ref());
            }
            Action::Delete(delete) => {
                self.from(&delete.from, delete.filter.as_ref());
                self.returning(delete.returning.as_ref());
            }
            _ => {}
        }
    }

    fn returning(&mut self, returning: Option<&Returning>) {
        for expr in returning.iter().flat_map(|it| &it.outputs) {
            self.expr(expr);
        }
    }

    fn query(&mut self, query: &Query) {
        match &query.body {
            Body::Values(rows) => rows.iter().flatten().for_each(|expr| self.expr(expr)),
            Body::Set { sides, .. } => sides.iter().for_each(|side| self.query(side)),
            Body::Select(select) => {
                self.from(&select.from, select.filter.as_ref());
                for expr in select.having.iter().chain(&select.outputs) {
                    self.expr(expr);
                }
                if let Some(group) = &select.group {
                    for (expr, _) in &group.keys {
                        self.expr(expr);
                    }
                    for expr in group.aggregates.iter().flat_map(|one| &one.args) {
                        self.expr(expr);
                    }
                }
            }
        }
    }

    fn from(&mut self, from: &From, filter: Option<&Expr>) {
        if matches!(from, From::Join(_) | From::Derived(..)) && filter.is_some_and(is_fallible) {
            self.has_fallible_join = true;
        }
        if let Some(expr) = filter {
            self.expr(expr);
        }
        match from {
            From::Nothing | From::Scan(_) => {}
            From::Derived(_, _, query) => self.query(query),
            From::Join(join) => {
                if join.on.as_ref().is_some_and(is_fallible) {
                    self.has_fallible_join = true;
                }
                if let Some(expr) = &join.on {
                    self.expr(expr);
                }
                self.from(&join.left, None);
                self.from(&join.right, None);
            }
        }
    }

    /// Notes an expression if it is constant and may fail, or else looks into its parts. Returns whether it is constant.
    fn expr(&mut self, expr: &Expr) {
        if !is_fallible(expr) {
            return;
        }
        if is_constant(expr) {
            self.constants.push(expr.clone());
        }
        // A part may fail although the whole does not, as in CASE.
        for part in parts(expr) {
            self.expr(part);
        }
        for query in queries(expr) {
            self.query(query);
        }
    }
}

/// Whether an expression has no columns, subqueries or values that the database makes.
pub(crate) fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Param(_) => true,
        Expr::Column(..) | Expr::Variable(_) | Expr::Made(_) | Expr::Proposed(_) | Expr::Routine(..) => false,
        // Databases may compute such a subquery before they know that no row needs it.
        Expr::Scalar(query) => !query.is_correlated,
        // These are simplified to the first result that is constant.
        Expr::Coalesce(args) => args.first().is_some_and(is_constant),
        Expr::Case(arms, _) => arms.iter().all(|(condition, _)| is_constant(condition)),
        other => queries(other).is_empty() && parts(other).into_iter().all(is_constant),
    }
}

/// Whether an expression has the same value for all rows.
pub(crate) fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Param(_) => true,
        Expr::Column(..) | Expr::Variable(_) | Expr::Made(_) | Expr::Proposed(_) | Expr::Routine(..) => false,
        other => queries(other).is_empty() && parts(other).into_iter().all(is_literal),
    }
}

/// Whether an expression has a subquery.
pub(crate) fn has_query(expr: &Expr) -> bool {
    !queries(expr).is_empty() || parts(expr).into_iter().any(has_query)
}

/// The expressions directly inside an expression.
fn parts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Const(_)
        | Expr::Param(_)
        | Expr::Variable(_)
        | Expr::Column(..)
        | Expr::Made(_)
        | Expr::Proposed(_)
        | Expr::Exists(_)
        | Expr::Scalar(_) => Vec::new(),
        Expr::Cast(inner, _)
        | Expr::Negate(_, inner)
        | Expr::BitNot(inner)
        | Expr::Not(inner)
        | Expr::IsNull(inner)
        | Expr::Is(_, inner)
        | Expr::Quantified(_, _, _, inner, _) => vec![inner],
        Expr::Arith(_, _, sides)
        | Expr::Compare(_, _, sides)
        | Expr::Same(_, sides)
        | Expr::Xor(sides)
        | Expr::NullIf(_, sides) => sides.iter().collect(),
        Expr::CompareRows(_, _, left, right) => left.iter().chain(right).collect(),
        Expr::And(parts) | Expr::Or(parts) | Expr::Coalesce(parts) | Expr::Extreme(_, _, parts) => {
            parts.iter().collect()
        }
        Expr::Call(_, args) | Expr::Routine(_, args) => args.iter().collect(),
        Expr::In(left, list) => std::iter::once(&**left).chain(list.iter().map(|(item, _)| item)).collect(),
        Expr::InRows(left, rows, _) => left.iter().chain(rows.iter().flatten()).collect(),
        Expr::InQuery(left, ..) => left.iter().collect(),
        Expr::Case(arms, otherwise) => arms
            .iter()
            .flat_map(|(condition, result)| [condition, result])
            .chain(std::iter::once(&**otherwise))
            .collect(),
        Expr::Like(like) => {
            [Some(&like.text), Some(&like.pattern), like.escape.as_ref()].into_iter().flatten().collect()
        }
    }
}

/// The queries directly inside an expression.
fn queries(expr: &Expr) -> Vec<&Query> {
    match expr {
        Expr::InQuery(_, query, _)
        | Expr::Exists(query)
        | Expr::Scalar(query)
        | Expr::Quantified(_, _, _, _, query) => vec![query],
        _ => Vec::new(),
    }
}

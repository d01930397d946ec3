//! The evaluator of expressions.
//!
//! **Errors are poison.** Databases may evaluate the parts of AND and OR in any order, so `FALSE AND 1/0` is false or fails.
//! The evaluator prefers the value: if one part decides, errors of the others are noted as [`Doubt::MayFail`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::answer::Doubt;
use crate::arithmetic::{arithmetic, bit_not, negate};
use crate::cast::{Mode, cast, to_text};
use crate::compare::{compare, of_truth, texts, truth};
use crate::dialect::Settings;
use crate::error::{ErrorClass, Result, SqlError, indeterminate, unsupported};
use crate::function;
use crate::ir::{Comparator, Comparison, Expr, Like, LikeKind, Made, Query, Rules, Slot};
use crate::select;
use crate::value::{Collation, Hole, Value};
use crate::view::{RowId, View};

/// The most rows that a statement may visit.
const MOST_STEPS: u64 = 200_000_000;

/// The current rows of FROM items, innermost first.
#[derive(Clone, Copy)]
pub(crate) struct Env<'a> {
    pub(crate) slot: Slot,
    pub(crate) row: &'a [Value],
    pub(crate) id: Option<RowId>,
    pub(crate) outer: Option<&'a Env<'a>>,
}

impl<'a> Env<'a> {
    /// The link of a slot.
    pub(crate) fn find(mut self: &'a Env<'a>, slot: Slot) -> Option<&'a Env<'a>> {
        loop {
            if self.slot == slot {
                return Some(self);
            }
            self = self.outer?;
        }
    }
}

/// The rows of a query that does not depend on outer rows. They are computed once a statement.
type Cached = Rc<Vec<Vec<Value>>>;

/// What an evaluation depends on, and what it has noted.
pub(crate) struct Context<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) view: &'a dyn View,
    /// Where constraints are checked, if that is not `view`.
    pub(crate) newest: Option<&'a dyn View>,
    pub(crate) params: &'a [Value],
    pub(crate) variables: &'a [Value],
    /// Whether the statement writes.
    pub(crate) writes: bool,
    /// Whether it stores values.
    pub(crate) stores: bool,
    /// The only row of a slot: the newest version of a row that is tested again.
    pub(crate) pinned: Option<(Slot, RowId, &'a [Value])>,
    /// The row that an upsert wanted to insert.
    pub(crate) proposed: RefCell<Vec<Value>>,
    pub(crate) doubts: RefCell<Vec<Doubt>>,
    /// The first number of rows that the statement inserts.
    pub(crate) pending: u64,
    /// The next hole.
    pub(crate) holes: Cell<u32>,
    now: RefCell<FxHashMap<u8, Hole>>,
    steps: Cell<u64>,
    cache: RefCell<FxHashMap<usize, Cached>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(view: &'a dyn View, params: &'a [Value], writes: bool, first_hole: u32) -> Context<'a> {
        Context {
            settings: view.catalog().settings(),
            view,
            newest: None,
            params,
            variables: &[],
            writes,
            stores: writes,
            pinned: None,
            proposed: RefCell::default(),
            doubts: RefCell::default(),
            pending: RowId::PENDING,
            holes: Cell::new(first_hole),
            now: RefCell::default(),
            steps: Cell::new(0),
            cache: RefCell::default(),
        }
    }

    /// The tables that constraints are checked against.
    pub(crate) fn constrained(&self) -> &'a dyn View {
        self.newest.unwrap_or(self.view)
    }

    pub(crate) fn mode(&self) -> Mode<'a> {
        Mode { settings: self.settings, writes: self.writes, stores: self.stores }
    }

    pub(crate) fn doubt(&self, doubt: Doubt) {
        let mut doubts = self.doubts.borrow_mut();
        if !doubts.contains(&doubt) {
            doubts.push(doubt);
        }
    }

    /// A new value that the database makes.
    pub(crate) fn hole(&self) -> Value {
        let hole = Hole(self.holes.get());
        self.holes.set(hole.0.saturating_add(1));
        Value::Hole(hole)
    }

    /// Counts a visited row.
    pub(crate) fn step(&self) -> Result<()> {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MOST_STEPS { unsupported("the statement visits too many rows") } else { Ok(()) }
    }

    fn truth(&self, value: Option<bool>) -> Value {
        of_truth(value, self.settings.dialect)
    }

    /// The value of an expression.
    pub(crate) fn eval(&self, expr: &Expr, env: Option<&Env<'_>>) -> Result<Value> {
        Ok(match expr {
            Expr::Const(value) => value.clone(),
            Expr::Param(n) => self.params.get(*n).cloned().unwrap_or(Value::Null),
            Expr::Variable(n) => self.variables.get(*n).cloned().unwrap_or(Value::Null),
            Expr::Column(slot, at) => {
                let link = env.and_then(|env| env.find(*slot));
                link.and_then(|link| link.row.get(usize::from(*at))).cloned().unwrap_or(Value::Null)
            }
            Expr::Cast(inner, to) => cast(&self.eval(inner, env)?, *to, self.mode())?,
            Expr::Arith(op, rules, sides) => {
                let (left, right) = (self.eval(&sides[0], env)?, self.eval(&sides[1], env)?);
                arithmetic(*op, *rules, &left, &right, self.mode())?
            }
            Expr::Negate(rules, inner) => negate(*rules, &self.eval(inner, env)?, self.mode())?,
            Expr::BitNot(inner) => bit_not(&self.eval(inner, env)?, self.mode())?,
            Expr::Coalesce(args) => {
                for arg in args {
                    let value = self.eval(arg, env)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Value::Null
            }
            Expr::NullIf(how, sides) => {
                let (left, right) = (self.eval(&sides[0], env)?, self.eval(&sides[1], env)?);
                let is_same = self.compared(Comparator::Equal, *how, &left, &right)? == Some(true);
                if is_same { Value::Null } else { left }
            }
            Expr::Extreme(largest, how, args) => self.extreme(*largest, *how, args, env)?,
            Expr::Case(arms, otherwise) => {
                for (condition, result) in arms {
                    if self.test(condition, env)? == Some(true) {
                        return self.eval(result, env);
                    }
                }
                self.eval(otherwise, env)?
            }
            Expr::Scalar(query) => self.scalar(query, env)?,
            Expr::Call(name, args) => {
                let args = args.iter().map(|arg| self.eval(arg, env)).collect::<Result<Vec<_>>>()?;
                function::call(*name, &args, self.mode())?
            }
            Expr::Made(made) => self.made(*made),
            Expr::Proposed(at) => {
                self.proposed.borrow().get(usize::from(*at)).cloned().unwrap_or(Value::Null)
            }
            Expr::Routine(name, args) => {
                let args = args.iter().map(|arg| self.eval(arg, env)).collect::<Result<Vec<_>>>()?;
                crate::procedure::call_function(self, name, args)?
            }
            condition => self.truth(self.test(condition, env)?),
        })
    }

    fn made(&self, made: Made) -> Value {
        match made {
            Made::Random => self.hole(),
            Made::Now(kind) => {
                let known = self.now.borrow().get(&kind).copied();
                let hole = known.unwrap_or_else(|| match self.hole() {
                    Value::Hole(hole) => hole,
                    _ => Hole(0),
                });
                self.now.borrow_mut().insert(kind, hole);
                Value::Hole(hole)
            }
        }
    }

    fn extreme(&self, largest: bool, how: Comparison, args: &[Expr], env: Option<&Env<'_>>) -> Result<Value> {
        let mut best = Value::Null;
        for arg in args {
            let value = self.eval(arg, env)?;
            if value.is_null() {
                // PostgreSQL ignores NULL.
                if self.settings.is_postgres() {
                    continue;
                }
                return Ok(Value::Null);
            }
            let is_better = best.is_null() || {
                let order = compare(&value, &best, how, self.mode())?;
                if largest { order.is_gt() } else { order.is_lt() }
            };
            if is_better {
                best = value;
            }
        }
        Ok(best)
    }

    /// The truth value of a condition; `None` is unknown.
    pub(crate) fn test(&self, expr: &Expr, env: Option<&Env<'_>>) -> Result<Option<bool>> {
        Ok(match expr {
            Expr::And(parts) => self.all(parts, false, env)?,
            Expr::Or(parts) => self.all(parts, true, env)?,
            Expr::Xor(sides) => match (self.test(&sides[0], env)?, self.test(&sides[1], env)?) {
                (Some(a), Some(b)) => Some(a != b),
                _ => None,
            },
            Expr::Not(inner) => self.test(inner, env)?.map(|is| !is),
            Expr::IsNull(inner) => match self.eval(inner, env)? {
                Value::Hole(_) => Some(false),
                value => Some(value.is_null()),
            },
            Expr::Is(wanted, inner) => Some(self.test(inner, env)? == Some(*wanted)),
            Expr::Compare(comparator, how, sides) => {
                let (left, right) = (self.eval(&sides[0], env)?, self.eval(&sides[1], env)?);
                self.compared(*comparator, *how, &left, &right)?
            }
            Expr::CompareRows(comparator, how, left, right) => {
                let left = self.values(left, env)?;
                let right = self.values(right, env)?;
                self.rows_compared(*comparator, how, &left, &right)?
            }
            Expr::Same(how, sides) => {
                let (left, right) = (self.eval(&sides[0], env)?, self.eval(&sides[1], env)?);
                if left.is_null() || right.is_null() {
                    Some(left.is_null() && right.is_null())
                } else {
                    Some(compare(&left, &right, *how, self.mode())?.is_eq())
                }
            }
            Expr::In(left, list) => self.in_list(left, list, env)?,
            Expr::InRows(left, rows, how) => self.in_rows(left, rows, how, env)?,
            Expr::InQuery(left, query, how) => {
                let left = self.values(left, env)?;
                let rows = self.rows(query, env).map_err(SqlError::avoidable)?;
                self.any_row(Comparator::Equal, how, &left, &rows)?
            }
            Expr::Exists(query) => Some(self.exists(query, env)?),
            Expr::Quantified(any, comparator, how, left, query) => {
                let left = [self.eval(left, env)?];
                let rows = self.rows(query, env).map_err(SqlError::avoidable)?;
                if *any {
                    self.any_row(*comparator, &[*how], &left, &rows)?
                } else {
                    // All rows compare so: no row compares otherwise.
                    self.any_row(opposite(*comparator), &[*how], &left, &rows)?.map(|is| !is)
                }
            }
            Expr::Like(like) => self.like(like, env)?,
            value => truth(&self.eval(value, env)?, self.mode())?,
        })
    }

    /// A row IN a list of rows.
    fn in_rows(
        &self,
        left: &[Expr],
        rows: &[Vec<Expr>],
        how: &[Comparison],
        env: Option<&Env<'_>>,
    ) -> Result<Option<bool>> {
        let left = self.values(left, env)?;
        let mut result = Some(false);
        for row in rows {
            let row = self.values(row, env)?;
            match self.rows_compared(Comparator::Equal, how, &left, &row)? {
                Some(true) => return Ok(Some(true)),
                None => result = None,
                Some(false) => {}
            }
        }
        Ok(result)
    }

    /// AND (`decisive` is false) or OR (true) of parts.
    fn all(&self, parts: &[Expr], decisive: bool, env: Option<&Env<'_>>) -> Result<Option<bool>> {
        let mut result = Some(!decisive);
        let mut failure: Option<SqlError> = None;
        for (n, part) in parts.iter().enumerate() {
            match self.test(part, env) {
                Ok(Some(is)) if is == decisive => {
                    let failed = failure.is_some_and(|error| error.class.is_answer());
                    if failed || self.would_fail(&parts[n + 1..], env) {
                        self.doubt(Doubt::MayFail);
                    }
                    return Ok(Some(decisive));
                }
                Ok(Some(_)) => {}
                Ok(None) => result = None,
                Err(error) => failure = Some(failure.unwrap_or(error)),
            }
        }
        failure.map_or(Ok(result), Err)
    }

    /// Whether one of the parts that were not needed fails.
    fn would_fail(&self, parts: &[Expr], env: Option<&Env<'_>>) -> bool {
        let fails = |part: &Expr| self.test(part, env).is_err_and(|error| error.class.is_answer());
        !self.settings.is_sqlite() && parts.iter().any(|part| is_fallible(part) && fails(part))
    }

    fn values(&self, exprs: &[Expr], env: Option<&Env<'_>>) -> Result<Vec<Value>> {
        exprs.iter().map(|expr| self.eval(expr, env)).collect()
    }

    /// The result of a comparison; `None` if a side is NULL.
    pub(crate) fn compared(
        &self,
        comparator: Comparator,
        how: Comparison,
        left: &Value,
        right: &Value,
    ) -> Result<Option<bool>> {
        if left.is_null() || right.is_null() {
            return Ok(None);
        }
        // NaN is a number like any other in PostgreSQL, and cannot be stored elsewhere.
        Ok(Some(comparator.holds(compare(left, right, how, self.mode())?)))
    }

    fn rows_compared(
        &self,
        comparator: Comparator,
        how: &[Comparison],
        left: &[Value],
        right: &[Value],
    ) -> Result<Option<bool>> {
        let mut is_unknown = false;
        for ((left, right), how) in left.iter().zip(right).zip(how) {
            match self.compared(Comparator::Equal, *how, left, right)? {
                Some(true) => {}
                Some(false) if matches!(comparator, Comparator::Equal | Comparator::Unequal) => {
                    return Ok(Some(comparator == Comparator::Unequal));
                }
                Some(false) if is_unknown => return Ok(None),
                Some(false) => return self.compared(comparator, *how, left, right),
                None => is_unknown = true,
            }
        }
        let holds = comparator.holds(std::cmp::Ordering::Equal);
        Ok(if is_unknown { None } else { Some(holds) })
    }

    fn in_list(
        &self,
        left: &Expr,
        list: &[(Expr, Comparison)],
        env: Option<&Env<'_>>,
    ) -> Result<Option<bool>> {
        let left = self.eval(left, env)?;
        let mut result = Some(false);
        for (expr, how) in list {
            let value = self.eval(expr, env)?;
            match self.compared(Comparator::Equal, *how, &left, &value)? {
                Some(true) => return Ok(Some(true)),
                None => result = None,
                Some(false) => {}
            }
        }
        Ok(result)
    }

    fn any_row(
        &self,
        comparator: Comparator,
        how: &[Comparison],
        left: &[Value],
        rows: &[Vec<Value>],
    ) -> Result<Option<bool>> {
        let mut result = Some(false);
        for row in rows {
            match self.rows_compared(comparator, how, left, row)? {
                Some(true) => return Ok(Some(true)),
                None => result = None,
                Some(false) => {}
            }
        }
        Ok(result)
    }

    fn exists(&self, query: &Query, env: Option<&Env<'_>>) -> Result<bool> {
        if !query.is_correlated {
            let rows = self.rows(query, env).map_err(SqlError::avoidable)?;
            return Ok(!rows.is_empty());
        }
        select::has_rows(self, query, env).map_err(SqlError::avoidable)
    }

    fn scalar(&self, query: &Query, env: Option<&Env<'_>>) -> Result<Value> {
        let rows = self.rows(query, env)?;
        if rows.len() > 1 && !self.settings.is_sqlite() {
            return Err(SqlError::new(ErrorClass::Cardinality, "the subquery has more than one row"));
        }
        if rows.len() > 1 && rows.iter().any(|row| row.first() != rows[0].first()) {
            self.doubt(Doubt::Choice);
        }
        Ok(rows.first().and_then(|row| row.first()).cloned().unwrap_or(Value::Null))
    }

    /// The rows of a subquery.
    fn rows(&self, query: &Query, env: Option<&Env<'_>>) -> Result<Cached> {
        if query.is_correlated {
            return Ok(Rc::new(select::rows(self, query, env)?));
        }
        // The plan is not moved while a statement runs, so its address names the query.
        let address = std::ptr::from_ref(query) as usize;
        if let Some(rows) = self.cache.borrow().get(&address) {
            return Ok(rows.clone());
        }
        let rows = Rc::new(select::rows(self, query, env)?);
        self.cache.borrow_mut().insert(address, rows.clone());
        Ok(rows)
    }

    fn like(&self, like: &Like, env: Option<&Env<'_>>) -> Result<Option<bool>> {
        let (text, pattern) = (self.eval(&like.text, env)?, self.eval(&like.pattern, env)?);
        let escape = match &like.escape {
            Some(expr) => self.eval(expr, env)?,
            None if self.settings.is_sqlite() => Value::text(""),
            None => Value::text("\\"),
        };
        if text.is_null() || pattern.is_null() || escape.is_null() {
            return Ok(None);
        }
        if [&text, &pattern, &escape].iter().any(|value| matches!(value, Value::Hole(_))) {
            return indeterminate("a value that the database makes is matched");
        }
        let spelled = |value: &Value| to_text(value, self.settings);
        let (text, pattern) = (spelled(&text), spelled(&pattern));
        let fold = like.kind == LikeKind::NoCase;
        if fold && !(text.is_ascii() && pattern.is_ascii()) && !self.settings.is_sqlite() {
            return indeterminate("the case of texts that are not ASCII");
        }
        if like.kind == LikeKind::Glob {
            return unsupported("GLOB");
        }
        Ok(Some(function::like(&text, &pattern, spelled(&escape).chars().next(), fold)))
    }
}

fn opposite(comparator: Comparator) -> Comparator {
    match comparator {
        Comparator::Equal => Comparator::Unequal,
        Comparator::Unequal => Comparator::Equal,
        Comparator::Less => Comparator::GreaterEqual,
        Comparator::LessEqual => Comparator::Greater,
        Comparator::Greater => Comparator::LessEqual,
        Comparator::GreaterEqual => Comparator::Less,
    }
}

/// Whether an expression may fail for some rows.
pub(crate) fn is_fallible(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_)
        | Expr::Param(_)
        | Expr::Variable(_)
        | Expr::Column(..)
        | Expr::Made(_)
        | Expr::Proposed(_) => false,
        Expr::IsNull(inner) | Expr::Not(inner) | Expr::Is(_, inner) => is_fallible(inner),
        Expr::Compare(_, how, sides) | Expr::Same(how, sides) | Expr::NullIf(how, sides) => {
            // MySQL fails to compare a text with a number when it writes.
            how.rules == Rules::MySql || sides.iter().any(is_fallible)
        }
        Expr::And(parts) | Expr::Or(parts) | Expr::Coalesce(parts) => parts.iter().any(is_fallible),
        Expr::In(left, list) => is_fallible(left) || list.iter().any(|(expr, _)| is_fallible(expr)),
        Expr::Like(like) => is_fallible(&like.text) || is_fallible(&like.pattern),
        _ => true,
    }
}

/// A value that is equal for all values that compare as equal, for grouping.
pub(crate) fn folded(value: &Value, how: Comparison) -> Result<Value> {
    Ok(match value {
        Value::Hole(_) => return indeterminate("a value that the database makes is grouped"),
        Value::Text(text) => match how.collation {
            Collation::Binary => value.clone(),
            Collation::Padded => Value::text(text.trim_end_matches(' ')),
            Collation::NoCase => Value::text(text.to_ascii_lowercase()),
            Collation::PaddedNoCase => {
                texts("", text, how.collation)?;
                Value::text(text.trim_end_matches(' ').to_ascii_uppercase())
            }
        },
        other => other.clone(),
    })
}

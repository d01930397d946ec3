//! Expressions.

use sqlparser::ast::{self, BinaryOperator as B, UnaryOperator as U};

use crate::bind::{Binder, Bound, ident, object};
use crate::cast::unhex;
use crate::decimal::Decimal;
use crate::error::{Result, invalid, unsupported};
use crate::ir::{
    Arith, Body, Cast, CastMode, Comparator, Comparison, Expr, From, Function, Like, LikeKind, Made, Query,
    Select, Slot,
};
use crate::value::{Affinity, Collation, Type, Value};

impl Binder<'_> {
    /// Binds an expression. The depth is that of the parser's tree, which the parser limits.
    pub(crate) fn expr(&mut self, expr: &ast::Expr) -> Result<Bound> {
        if let Some(key) = self.group_key(expr) {
            return Ok(key);
        }
        match expr {
            ast::Expr::Identifier(name) => self.identifier(name),
            ast::Expr::CompoundIdentifier(parts) => self.qualified(parts),
            ast::Expr::Nested(inner) => self.expr(inner),
            ast::Expr::Value(value) => self.literal(&value.value),
            ast::Expr::TypedString(typed) => {
                let to = self.data_type(&typed.data_type)?;
                let text = self.literal(&typed.value.value)?;
                let expr = self.converted(text, to, CastMode::Explicit)?;
                Ok(Bound::new(expr, to))
            }
            ast::Expr::UnaryOp { op, expr } => self.unary(*op, expr),
            ast::Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            ast::Expr::IsTrue(inner) => self.is(inner, true, false),
            ast::Expr::IsNotTrue(inner) => self.is(inner, true, true),
            ast::Expr::IsFalse(inner) => self.is(inner, false, false),
            ast::Expr::IsNotFalse(inner) => self.is(inner, false, true),
            ast::Expr::IsNull(inner) | ast::Expr::IsUnknown(inner) => self.is_null(inner, false),
            ast::Expr::IsNotNull(inner) | ast::Expr::IsNotUnknown(inner) => self.is_null(inner, true),
            ast::Expr::IsDistinctFrom(left, right) => self.same(left, right, true),
            ast::Expr::IsNotDistinctFrom(left, right) => self.same(left, right, false),
            ast::Expr::Between { expr, negated, low, high } => self.between(expr, low, high, *negated),
            ast::Expr::InList { expr, list, negated } => self.in_list(expr, list, *negated),
            ast::Expr::InSubquery { expr, subquery, negated } => {
                let bound = self.in_query(expr, subquery)?;
                Ok(self.maybe_not(bound, *negated))
            }
            ast::Expr::Exists { subquery, negated } => {
                let (query, _) = self.query(subquery)?;
                let bound = self.boolean(Expr::Exists(Box::new(query)));
                Ok(self.maybe_not(bound, *negated))
            }
            ast::Expr::Subquery(query) => self.scalar(query),
            ast::Expr::AnyOp { left, compare_op, right, .. } => {
                self.quantified(left, compare_op, right, true)
            }
            ast::Expr::AllOp { left, compare_op, right } => self.quantified(left, compare_op, right, false),
            ast::Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_deref(), *negated, false)
            }
            ast::Expr::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_deref(), *negated, true)
            }
            ast::Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            ast::Expr::Cast { expr, data_type, kind, .. } => match kind {
                ast::CastKind::Cast | ast::CastKind::DoubleColon => self.cast(expr, data_type),
                _ => unsupported("TRY_CAST"),
            },
            ast::Expr::Convert { expr, data_type: Some(data_type), .. } => self.cast(expr, data_type),
            ast::Expr::Collate { expr, collation } => self.collate(expr, collation),
            ast::Expr::Function(function) => self.function(function),
            special => self.special_function(special),
        }
    }

    /// The column of a key that is spelled like an expression.
    fn group_key(&self, expr: &ast::Expr) -> Option<Bound> {
        let grouping = self.scopes.last()?.grouping.as_ref().filter(|grouping| !grouping.is_inside)?;
        let at = grouping.keys.iter().position(|key| key.ast == *expr)?;
        let key = &grouping.keys[at].bound;
        Some(Bound { expr: Expr::Column(grouping.slot, at as u16), ..key.clone() })
    }

    fn identifier(&mut self, name: &ast::Ident) -> Result<Bound> {
        if name.value.starts_with('@') {
            return unsupported("user variables");
        }
        let is_quoted = name.quote_style == Some('"');
        let shown = ident(name, self.settings);
        let known = self.column(None, &shown);
        match known {
            Ok(bound) => Ok(bound),
            // In SQLite a quoted name that means no column is a text.
            Err(error) if is_quoted && self.settings.is_sqlite() && !error.message.contains("ambiguous") => {
                Ok(Bound::new(Expr::Const(Value::text(name.value.as_str())), Type::Any(Affinity::Blob)))
            }
            Err(error) => match shown.to_ascii_lowercase().as_str() {
                "current_timestamp" | "current_date" | "current_time" | "localtimestamp" | "localtime"
                    if name.quote_style.is_none() =>
                {
                    Ok(self.made_now(&shown))
                }
                "default" => unsupported("DEFAULT here"),
                _ => Err(error),
            },
        }
    }

    pub(super) fn made_now(&self, name: &str) -> Bound {
        let (kind, ty) = match name.to_ascii_lowercase().as_str() {
            "current_date" | "curdate" => (1, Type::Date),
            "current_time" | "curtime" | "localtime" => (2, Type::Time),
            _ => (0, Type::Timestamp),
        };
        Bound::new(
            Expr::Made(Made::Now(kind)),
            if self.settings.is_sqlite() { Type::Any(Affinity::Blob) } else { ty },
        )
    }

    fn qualified(&mut self, parts: &[ast::Ident]) -> Result<Bound> {
        let names: Vec<String> = parts.iter().map(|part| ident(part, self.settings)).collect();
        match &names[..] {
            [.., table, column] => {
                if let Some(proposed) =
                    self.proposed.as_ref().filter(|_| table.eq_ignore_ascii_case("excluded"))
                {
                    return Self::proposed_column(proposed, column);
                }
                self.column(Some(table), column)
            }
            _ => unsupported("this name"),
        }
    }

    /// A column of the row that an upsert wanted to insert.
    pub(super) fn proposed_column(table: &crate::catalog::Table, name: &str) -> Result<Bound> {
        let Some(at) = table.column(name) else {
            return crate::error::unknown_name(format!("column {name} does not exist"));
        };
        let column = &table.columns[at];
        let affinity = if let Type::Any(affinity) = column.ty { Some(affinity) } else { None };
        Ok(Bound { expr: Expr::Proposed(at as u16), ty: column.ty, collation: column.collation, affinity })
    }

    pub(super) fn literal(&mut self, value: &ast::Value) -> Result<Bound> {
        let text = |binder: &Self, text: &str| {
            let ty = if binder.settings.is_postgres() {
                Type::Unknown
            } else if binder.settings.is_mysql() {
                Type::Text(None)
            } else {
                Type::Any(Affinity::Blob)
            };
            Bound { collation: binder.default_collation(), ..Bound::new(Expr::Const(Value::text(text)), ty) }
        };
        Ok(match value {
            ast::Value::Number(digits, _) => self.number(digits)?,
            ast::Value::SingleQuotedString(it)
            | ast::Value::EscapedStringLiteral(it)
            | ast::Value::NationalStringLiteral(it)
            | ast::Value::DoubleQuotedString(it) => text(self, it),
            ast::Value::DollarQuotedString(it) => text(self, &it.value),
            ast::Value::HexStringLiteral(digits) => {
                if self.settings.is_postgres() {
                    return unsupported("bit strings");
                }
                match unhex(digits) {
                    Some(bytes) => Bound::new(Expr::Const(Value::Bytes(bytes.into())), self.own(Type::Bytes)),
                    None => return invalid("invalid hexadecimal digits"),
                }
            }
            ast::Value::Boolean(is) if self.settings.is_postgres() => {
                Bound::new(Expr::Const(Value::Bool(*is)), Type::Bool)
            }
            ast::Value::Boolean(is) => {
                Bound::new(Expr::Const(Value::Int(i64::from(*is))), self.own(Type::INT8))
            }
            ast::Value::Null => Bound {
                collation: self.default_collation(),
                ..Bound::new(Expr::Const(Value::Null), Type::Unknown)
            },
            ast::Value::Placeholder(name) => {
                let Some(n) =
                    name.trim_start_matches(['?', '$']).parse::<usize>().ok().and_then(|n| n.checked_sub(1))
                else {
                    return unsupported("named parameters");
                };
                let ty = match self.params.get(n) {
                    Some(ty) => *ty,
                    None => return invalid("a parameter has no value"),
                };
                Bound { collation: self.default_collation(), ..Bound::new(Expr::Param(n), self.own(ty)) }
            }
            _ => return unsupported("this literal"),
        })
    }

    /// A type, or that of all expressions of SQLite.
    pub(super) fn own(&self, ty: Type) -> Type {
        if self.settings.is_sqlite() { Type::Any(Affinity::Blob) } else { ty }
    }

    fn number(&self, digits: &str) -> Result<Bound> {
        if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            return match u64::from_str_radix(hex, 16) {
                Ok(n) if self.settings.is_sqlite() => {
                    Ok(Bound::new(Expr::Const(Value::Int(n.cast_signed())), self.own(Type::INT8)))
                }
                _ => unsupported("hexadecimal numbers"),
            };
        }
        let float = || digits.parse::<f64>().unwrap_or(f64::INFINITY);
        if !digits.contains(['.', 'e', 'E']) {
            if let Ok(n) = digits.parse::<i64>() {
                let ty = if self.settings.is_postgres() && i32::try_from(n).is_ok() {
                    Type::INT4
                } else {
                    Type::INT8
                };
                return Ok(Bound::new(Expr::Const(Value::Int(n)), self.own(ty)));
            }
            if let (true, Ok(n)) = (self.settings.is_mysql(), digits.parse::<u64>()) {
                return Ok(Bound::new(Expr::Const(Value::UInt(n)), Type::UINT8));
            }
        }
        let is_float = self.settings.is_sqlite() || (self.settings.is_mysql() && digits.contains(['e', 'E']));
        if is_float {
            return Ok(Bound::new(Expr::Const(Value::Float(float())), self.own(Type::Double)));
        }
        let Some(number) = Decimal::parse(digits) else { return unsupported("this number") };
        let scale = number.scale();
        let precision = number.whole_digits() as u32 + scale;
        let ty = if self.settings.is_postgres() {
            Type::Decimal(None)
        } else {
            Type::Decimal(Some((precision.max(1), scale)))
        };
        Ok(Bound::new(Expr::Const(Value::decimal(number)), ty))
    }

    fn unary(&mut self, op: U, inner: &ast::Expr) -> Result<Bound> {
        match op {
            U::Plus => {
                let mut bound = self.expr(inner)?;
                // A sign removes the affinity of a column.
                bound.affinity = None;
                if self.settings.is_postgres() && bound.ty == Type::Unknown {
                    bound =
                        Bound::new(self.converted(bound, Type::Double, CastMode::Implicit)?, Type::Double);
                }
                Ok(bound)
            }
            U::Minus => self.minus(inner),
            U::Not | U::BangNot => {
                let bound = self.expr(inner)?;
                let condition = self.condition(bound)?;
                Ok(self.boolean(Expr::Not(Box::new(condition))))
            }
            U::BitwiseNot => {
                let bound = self.expr(inner)?;
                let ty = if self.settings.is_mysql() { Type::UINT8 } else { bound.ty };
                if self.settings.is_postgres() && !ty.is_integer() {
                    return crate::error::wrong_type("~ needs an integer");
                }
                Ok(Bound::new(Expr::BitNot(Box::new(bound.expr)), self.own(ty)))
            }
            _ => unsupported(format!("the operator {op}")),
        }
    }

    /// A minus sign; the smallest integer is a literal.
    fn minus(&mut self, inner: &ast::Expr) -> Result<Bound> {
        if let ast::Expr::Value(value) = inner
            && let ast::Value::Number(digits, _) = &value.value
        {
            let negative = format!("-{digits}").parse::<i64>();
            if let (Ok(n), false) = (negative, digits.contains(['.', 'e'])) {
                let is_wide = self.settings.is_postgres() && digits.parse::<i64>().is_err();
                if !is_wide {
                    let ty = if self.settings.is_postgres() && digits.parse::<i32>().is_ok() {
                        Type::INT4
                    } else {
                        Type::INT8
                    };
                    return Ok(Bound::new(Expr::Const(Value::Int(n)), self.own(ty)));
                }
            }
        }
        let bound = self.expr(inner)?;
        self.negated(bound)
    }

    fn binary(&mut self, left: &ast::Expr, op: &B, right: &ast::Expr) -> Result<Bound> {
        if let Some(bound) = self.logic(left, op, right)? {
            return Ok(bound);
        }
        if let Some(comparator) = comparator(op) {
            return self.compared(comparator, left, right);
        }
        if matches!(op, B::Spaceship) {
            return self.same(left, right, false);
        }
        let arith = match op {
            B::Plus => Arith::Plus,
            B::Minus => Arith::Minus,
            B::Multiply => Arith::Times,
            B::Divide => Arith::Over,
            B::Modulo => Arith::Modulo,
            B::MyIntegerDivide => Arith::Whole,
            B::BitwiseAnd => Arith::BitAnd,
            B::BitwiseOr => Arith::BitOr,
            B::BitwiseXor | B::PGBitwiseXor if !self.settings.is_sqlite() => Arith::BitXor,
            B::PGBitwiseShiftLeft => Arith::ShiftLeft,
            B::PGBitwiseShiftRight => Arith::ShiftRight,
            B::StringConcat => Arith::Concat,
            _ => return unsupported(format!("the operator {op}")),
        };
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        self.arithmetic(arith, left, right)
    }

    /// AND, OR, XOR. Long chains are flattened.
    fn logic(&mut self, left: &ast::Expr, op: &B, right: &ast::Expr) -> Result<Option<Bound>> {
        let is_or = matches!(op, B::Or)
            || (matches!(op, B::StringConcat) && self.settings.is_mysql() && !self.settings.pipes_concat);
        if matches!(op, B::Xor) && self.settings.is_mysql() {
            let sides = [self.expr(left)?.expr, self.expr(right)?.expr];
            return Ok(Some(self.boolean(Expr::Xor(Box::new(sides)))));
        }
        if !is_or && !matches!(op, B::And) {
            return Ok(None);
        }
        let mut parts = Vec::new();
        for side in [left, right] {
            let bound = self.expr(side)?;
            match (self.condition(bound)?, is_or) {
                (Expr::And(inner), false) | (Expr::Or(inner), true) => parts.extend(inner),
                (other, _) => parts.push(other),
            }
        }
        Ok(Some(self.boolean(if is_or { Expr::Or(parts) } else { Expr::And(parts) })))
    }

    fn compared(&mut self, comparator: Comparator, left: &ast::Expr, right: &ast::Expr) -> Result<Bound> {
        let (ast::Expr::Tuple(lefts), ast::Expr::Tuple(rights)) = (left, right) else {
            let (left, right) = (self.expr(left)?, self.expr(right)?);
            return self.compare(comparator, left, right);
        };
        if lefts.len() != rights.len() {
            return invalid("rows of different lengths are compared");
        }
        let (mut hows, mut a, mut b) = (Vec::new(), Vec::new(), Vec::new());
        for (left, right) in lefts.iter().zip(rights) {
            let (left, right) = (self.expr(left)?, self.expr(right)?);
            let (left, right, how) = self.comparison(left, right)?;
            hows.push(how);
            a.push(left);
            b.push(right);
        }
        if comparator == Comparator::Equal {
            let pairs = hows.into_iter().zip(a.into_iter().zip(b));
            let parts = pairs.map(|(how, (a, b))| Expr::Compare(Comparator::Equal, how, Box::new([a, b])));
            return Ok(self.boolean(Expr::And(parts.collect())));
        }
        Ok(self.boolean(Expr::CompareRows(comparator, hows, a, b)))
    }

    fn is_null(&mut self, inner: &ast::Expr, negated: bool) -> Result<Bound> {
        let bound = self.expr(inner)?;
        let bound = self.settled(bound)?;
        let is_null = self.boolean(Expr::IsNull(Box::new(bound.expr)));
        Ok(self.maybe_not(is_null, negated))
    }

    fn is(&mut self, inner: &ast::Expr, wanted: bool, negated: bool) -> Result<Bound> {
        let bound = self.expr(inner)?;
        let condition = self.condition(bound)?;
        let is = self.boolean(Expr::Is(wanted, Box::new(condition)));
        Ok(self.maybe_not(is, negated))
    }

    fn maybe_not(&self, bound: Bound, negated: bool) -> Bound {
        if negated { self.boolean(Expr::Not(Box::new(bound.expr))) } else { bound }
    }

    fn same(&mut self, left: &ast::Expr, right: &ast::Expr, negated: bool) -> Result<Bound> {
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        let (left, right, how) = self.comparison(left, right)?;
        let same = self.boolean(Expr::Same(how, Box::new([left, right])));
        Ok(self.maybe_not(same, negated))
    }

    /// Binds an expression of which the plan gets several copies: their number is exponential where they are nested.
    fn copied<T>(&mut self, count: usize, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outside = self.copies;
        self.copies = outside.saturating_mul(count);
        if self.copies > super::MOST_COPIES {
            return unsupported("an expression that is evaluated too often");
        }
        let result = bind(self);
        self.copies = outside;
        result
    }

    fn between(
        &mut self,
        expr: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        negated: bool,
    ) -> Result<Bound> {
        let value = self.copied(2, |binder| binder.expr(expr))?;
        let (low, high) = (self.expr(low)?, self.expr(high)?);
        if self.settings.is_mysql() {
            // MySQL compares all three in one type.
            let is_text = |bound: &Bound| bound.ty.is_text();
            let is_mixed = [&value, &low, &high].iter().any(|bound| is_text(bound))
                && ![&value, &low, &high].iter().all(|bound| is_text(bound) || bound.ty == Type::Unknown);
            if is_mixed {
                return unsupported("BETWEEN with texts and numbers");
            }
        }
        let from = self.compare(Comparator::GreaterEqual, value.clone(), low)?;
        let to = self.compare(Comparator::LessEqual, value, high)?;
        let both = self.boolean(Expr::And(vec![from.expr, to.expr]));
        Ok(self.maybe_not(both, negated))
    }

    fn in_list(&mut self, expr: &ast::Expr, list: &[ast::Expr], negated: bool) -> Result<Bound> {
        if let ast::Expr::Tuple(lefts) = expr {
            return self.in_rows(lefts, list, negated);
        }
        let mut left = self.expr(expr)?;
        let mut bounds = list.iter().map(|expr| self.expr(expr)).collect::<Result<Vec<_>>>()?;
        if self.settings.is_postgres() {
            // All are converted to one type.
            let is_literal = |bound: &Bound| bound.ty == Type::Unknown;
            if is_literal(&left) {
                if let Some(typed) = bounds.iter().find(|bound| !is_literal(bound)) {
                    let ty = typed.ty;
                    left = Bound::new(self.converted(left, ty.unlimited(), CastMode::Implicit)?, ty);
                } else {
                    left = self.settled(left)?;
                }
            }
        }
        if self.settings.is_mysql() {
            let kinds = |bound: &Bound| -> u32 {
                match bound.ty {
                    Type::Unknown => 0,
                    ty if ty.is_text() => 1,
                    ty if ty.is_number() => 2,
                    _ => 4,
                }
            };
            let all = bounds.iter().map(kinds).fold(kinds(&left), |all, kind| all | kind);
            if all.count_ones() > 1 && bounds.len() > 1 {
                return unsupported("IN with values of several types");
            }
        }
        let mut items = Vec::with_capacity(bounds.len());
        let mut left_expr = left.expr.clone();
        for mut bound in bounds.drain(..) {
            if self.settings.is_sqlite() {
                bound.affinity = None;
            }
            let (converted, right, mut how) = self.comparison(left.clone(), bound)?;
            if self.settings.is_sqlite() {
                how = Comparison { collation: left.collation, ..how };
            }
            if converted != left.expr && left_expr == left.expr && items.is_empty() {
                left_expr = converted;
            } else if converted != left_expr {
                // The sides have different types: compare one by one.
                return self.in_chain(expr, list, negated);
            }
            items.push((right, how));
        }
        let is_in = self.boolean(Expr::In(Box::new(left_expr), items));
        Ok(self.maybe_not(is_in, negated))
    }

    /// IN as a chain of OR.
    fn in_chain(&mut self, expr: &ast::Expr, list: &[ast::Expr], negated: bool) -> Result<Bound> {
        let mut parts = Vec::with_capacity(list.len());
        for item in list {
            parts.push(self.compared(Comparator::Equal, expr, item)?.expr);
        }
        let any = self.boolean(Expr::Or(parts));
        Ok(self.maybe_not(any, negated))
    }

    fn in_rows(&mut self, lefts: &[ast::Expr], list: &[ast::Expr], negated: bool) -> Result<Bound> {
        let left = lefts.iter().map(|expr| self.expr(expr)).collect::<Result<Vec<_>>>()?;
        let mut hows = Vec::new();
        let mut rows = Vec::new();
        for row in list {
            let ast::Expr::Tuple(items) = row else { return invalid("a row was expected") };
            if items.len() != lefts.len() {
                return invalid("rows of different lengths are compared");
            }
            hows.clear();
            let mut values = Vec::new();
            for (left, item) in left.iter().zip(items) {
                let right = self.expr(item)?;
                let (_, right, how) = self.comparison(left.clone(), right)?;
                values.push(right);
                hows.push(how);
            }
            rows.push(values);
        }
        let left = left.into_iter().map(|bound| bound.expr).collect();
        let is_in = self.boolean(Expr::InRows(left, rows, hows));
        Ok(self.maybe_not(is_in, negated))
    }

    fn in_query(&mut self, expr: &ast::Expr, subquery: &ast::Query) -> Result<Bound> {
        let lefts = match expr {
            ast::Expr::Tuple(items) => {
                items.iter().map(|expr| self.expr(expr)).collect::<Result<Vec<_>>>()?
            }
            other => vec![self.expr(other)?],
        };
        let (query, columns) = self.query(subquery)?;
        if columns.len() != lefts.len() {
            return invalid("the subquery has a wrong number of columns");
        }
        let slot = self.slot()?;
        let (mut exprs, mut rights, mut hows) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (left, column)) in lefts.into_iter().zip(&columns).enumerate() {
            let right = Bound { expr: Expr::Column(slot, at as u16), ..column.bound.clone() };
            let (left, right, how) = self.comparison(left, right)?;
            exprs.push(left);
            rights.push(right);
            hows.push(how);
        }
        let query = converted_query(query, slot, rights);
        Ok(self.boolean(Expr::InQuery(exprs, Box::new(query), hows)))
    }

    fn scalar(&mut self, subquery: &ast::Query) -> Result<Bound> {
        let (query, columns) = self.query(subquery)?;
        match &columns[..] {
            [column] => Ok(Bound { expr: Expr::Scalar(Box::new(query)), ..column.bound.clone() }),
            _ => invalid("a scalar subquery must have one column"),
        }
    }

    fn quantified(&mut self, left: &ast::Expr, op: &B, right: &ast::Expr, any: bool) -> Result<Bound> {
        let Some(comparator) = comparator(op) else { return unsupported(format!("the operator {op}")) };
        let ast::Expr::Subquery(subquery) = right else { return unsupported("ANY or ALL of an array") };
        let left = self.expr(left)?;
        let (query, columns) = self.query(subquery)?;
        let [column] = &columns[..] else { return invalid("the subquery must have one column") };
        let slot = self.slot()?;
        let right = Bound { expr: Expr::Column(slot, 0), ..column.bound.clone() };
        let (left, right, how) = self.comparison(left, right)?;
        let query = converted_query(query, slot, vec![right]);
        Ok(self.boolean(Expr::Quantified(any, comparator, how, Box::new(left), Box::new(query))))
    }

    fn like(
        &mut self,
        expr: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
        no_case: bool,
    ) -> Result<Bound> {
        let text = self.expr(expr)?;
        let fold = no_case
            || self.settings.is_sqlite()
            || (self.settings.is_mysql()
                && matches!(text.collation, Collation::NoCase | Collation::PaddedNoCase));
        let pattern = self.expr(pattern)?;
        let escape = match escape {
            Some(escape) => {
                let bound = self.expr(escape)?;
                Some(self.as_text(bound)?)
            }
            None => None,
        };
        let like = Like {
            // The blanks of char(n) count.
            text: if matches!(text.ty, Type::Char(_)) { text.expr } else { self.as_text(text)? },
            pattern: self.as_text(pattern)?,
            escape,
            kind: if fold { LikeKind::NoCase } else { LikeKind::Exact },
        };
        let bound = self.boolean(Expr::Like(Box::new(like)));
        Ok(self.maybe_not(bound, negated))
    }

    /// An operand that must be a text.
    pub(super) fn as_text(&mut self, bound: Bound) -> Result<Expr> {
        if !self.settings.is_postgres() {
            return Ok(bound.expr);
        }
        match bound.ty {
            Type::Char(_) => {
                // Trailing blanks are not part of it.
                Ok(Expr::Call(Function::TrimEnd, vec![bound.expr]))
            }
            Type::Text(_) | Type::Unknown => self.converted(bound, Type::Text(None), CastMode::Implicit),
            other => crate::error::wrong_type(format!("a text was expected, not {other:?}")),
        }
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&ast::Expr>,
    ) -> Result<Bound> {
        let mut tests = Vec::with_capacity(conditions.len());
        let mut results = Vec::with_capacity(conditions.len() + 1);
        for when in conditions {
            tests.push(if let Some(operand) = operand {
                let compared =
                    |binder: &mut Self| binder.compared(Comparator::Equal, operand, &when.condition);
                self.copied(conditions.len(), compared)?.expr
            } else {
                let bound = self.expr(&when.condition)?;
                self.condition(bound)?
            });
            results.push(self.expr(&when.result)?);
        }
        results.push(match otherwise {
            Some(otherwise) => self.expr(otherwise)?,
            None => Bound::new(Expr::Const(Value::Null), Type::Unknown),
        });
        // PostgreSQL looks at ELSE first to find the common type.
        results.rotate_right(1);
        let (mut exprs, like) = self.unified(results)?;
        let otherwise = exprs.remove(0);
        let arms = tests.into_iter().zip(exprs).collect();
        Ok(Bound { expr: Expr::Case(arms, Box::new(otherwise)), ..like })
    }

    fn cast(&mut self, expr: &ast::Expr, data_type: &ast::DataType) -> Result<Bound> {
        let mut to = self.data_type(data_type)?;
        if self.settings.is_mysql() {
            to = match (data_type, to) {
                // CAST AS CHAR is a text, and CAST AS DECIMAL has ten digits.
                (_, Type::Char(length)) => {
                    Type::Text(if has_length(data_type) { Some(length) } else { None })
                }
                (_, Type::Int { unsigned, .. }) => Type::Int { bits: 64, unsigned },
                (_, other) => other,
            };
        }
        let bound = self.expr(expr)?;
        let collation = if bound.ty.is_text() { bound.collation } else { self.default_collation() };
        if self.settings.is_postgres() {
            Self::check_cast(bound.ty, to)?;
        }
        let bound = self.unpadded(bound, to);
        let expr = if self.settings.is_postgres() && bound.ty == Type::Unknown {
            // A cast of a literal reads it as that type.
            self.converted(bound, to, CastMode::Explicit)?
        } else if self.settings.is_postgres() && bound.ty == to {
            bound.expr
        } else {
            Expr::Cast(Box::new(bound.expr), Cast { to, mode: CastMode::Explicit })
        };
        let affinity = if let Type::Any(affinity) = to { Some(affinity) } else { None };
        Ok(Bound { expr, ty: to, collation, affinity })
    }

    /// Whether PostgreSQL has a cast.
    fn check_cast(from: Type, to: Type) -> Result<()> {
        let is_allowed = match (from, to) {
            (Type::Unknown, _) => true,
            (a, b) if a.unlimited() == b.unlimited() => true,
            (a, b) if a.is_text() || b.is_text() => true,
            (a, b) if a.is_number() && b.is_number() => true,
            (Type::Bool, Type::Int { bits: 32, .. }) | (Type::Int { bits: 32, .. }, Type::Bool) => true,
            (a, b) if a.is_moment() && b.is_moment() => {
                !matches!((a, b), (Type::Date, Type::Time) | (Type::Time, _))
            }
            _ => false,
        };
        if is_allowed { Ok(()) } else { crate::error::wrong_type(format!("cannot cast {from:?} to {to:?}")) }
    }

    fn collate(&mut self, expr: &ast::Expr, collation: &ast::ObjectName) -> Result<Bound> {
        let bound = self.expr(expr)?;
        let name = object(collation, self.settings)?;
        let Some(collation) = self.collation(&name) else {
            return unsupported(format!("the collation {name}"));
        };
        Ok(Bound { expr: Expr::Call(Function::Collate, vec![bound.expr]), collation, ..bound })
    }

    /// A collation by its name.
    pub(super) fn collation(&self, name: &str) -> Option<Collation> {
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "binary" | "c" | "posix" | "ucs_basic" => Some(Collation::Binary),
            "nocase" if self.settings.is_sqlite() => Some(Collation::NoCase),
            "rtrim" if self.settings.is_sqlite() => Some(Collation::Padded),
            name if self.settings.is_mysql() && name.ends_with("_bin") => {
                Some(if name.contains("nopad") { Collation::Binary } else { Collation::Padded })
            }
            name if self.settings.is_mysql() && name.ends_with("_ci") => Some(Collation::PaddedNoCase),
            _ => None,
        }
    }
}

/// A query whose outputs are converted for a comparison. Its columns are those of the slot.
fn converted_query(query: Query, slot: Slot, outputs: Vec<Expr>) -> Query {
    let is_same = |(at, expr): (usize, &Expr)| *expr == Expr::Column(slot, at as u16);
    if outputs.iter().enumerate().all(is_same) {
        return query;
    }
    let (width, is_correlated) = (query.width, query.is_correlated);
    let select = Select {
        from: From::Derived(slot, width, Box::new(query)),
        filter: None,
        group: None,
        having: None,
        outputs,
        distinct: None,
    };
    let body = Body::Select(Box::new(select));
    Query { body, order: Vec::new(), width, limit: None, offset: None, is_correlated, locks: false }
}

/// Whether a type has a length in parentheses.
fn has_length(data_type: &ast::DataType) -> bool {
    data_type.to_string().contains('(')
}

fn comparator(op: &B) -> Option<Comparator> {
    Some(match op {
        B::Eq => Comparator::Equal,
        B::NotEq => Comparator::Unequal,
        B::Lt => Comparator::Less,
        B::LtEq => Comparator::LessEqual,
        B::Gt => Comparator::Greater,
        B::GtEq => Comparator::GreaterEqual,
        _ => return None,
    })
}

//! Types of operators and conversions of operands, by dialect.

use crate::bind::{Binder, Bound};
use crate::error::{Result, wrong_type};
use crate::ir::{Arith, Arithmetic, Cast, CastMode, Comparator, Comparison, Expr, Rules};
use crate::value::{Affinity, Collation, Type, Value};

impl Binder<'_> {
    /// An expression converted to a type. A literal or parameter of PostgreSQL without a type takes it.
    pub(crate) fn converted(&mut self, bound: Bound, to: Type, mode: CastMode) -> Result<Expr> {
        if self.settings.is_postgres() && bound.ty == Type::Unknown {
            return self.typed(bound.expr, to, mode);
        }
        if bound.ty == to && !matches!(to, Type::Any(_)) {
            return Ok(bound.expr);
        }
        let bound = self.unpadded(bound, to);
        let widens = |from: Type| match (from, to) {
            (Type::Int { bits, unsigned: false }, Type::Int { bits: wider, unsigned: false }) => {
                bits <= wider
            }
            (Type::Text(_), Type::Text(None)) | (Type::Decimal(_), Type::Decimal(None)) => true,
            _ => false,
        };
        if widens(bound.ty) && !self.settings.is_sqlite() {
            return Ok(bound.expr);
        }
        Ok(Expr::Cast(Box::new(bound.expr), Cast { to, mode }))
    }

    /// PostgreSQL's `char(n)` loses its trailing blanks when it becomes another type of text.
    pub(crate) fn unpadded(&self, bound: Bound, to: Type) -> Bound {
        let is_char = |ty: Type| matches!(ty, Type::Char(_));
        if !self.settings.is_postgres() || !is_char(bound.ty) || is_char(to) {
            return bound;
        }
        let expr = Expr::Call(crate::ir::Function::TrimEnd, vec![bound.expr]);
        Bound { expr, ty: Type::Text(None), collation: Collation::Binary, ..bound }
    }

    /// Gives a type to a literal or parameter of PostgreSQL.
    fn typed(&mut self, expr: Expr, to: Type, mode: CastMode) -> Result<Expr> {
        let to = if to == Type::Unknown { Type::Text(None) } else { to };
        match expr {
            Expr::Const(Value::Null) => Ok(Expr::Const(Value::Null)),
            Expr::Const(value) => {
                let rules = crate::cast::Mode { settings: self.settings, writes: false, stores: false };
                // An explicit cast truncates, a literal in an assignment does not.
                Ok(Expr::Const(crate::cast::cast(&value, Cast { to, mode }, rules)?))
            }
            Expr::Param(n) => {
                // Precision and length are applied after the parameter was read.
                let base = match to {
                    Type::Char(_) => Type::Text(None),
                    other => other.unlimited(),
                };
                let to = if to == Type::Char(0) { base } else { to };
                if let Some(known) = self.params.get_mut(n) {
                    if *known == Type::Unknown {
                        *known = base;
                    }
                    let known = *known;
                    if known != base {
                        return self.converted(Bound::new(Expr::Param(n), known), to, mode);
                    }
                }
                let param = Expr::Param(n);
                Ok(if base == to { param } else { Expr::Cast(Box::new(param), Cast { to, mode }) })
            }
            other => Ok(Expr::Cast(Box::new(other), Cast { to, mode })),
        }
    }

    /// Gives the type text to a literal or parameter that nothing else gives a type to.
    pub(crate) fn settled(&mut self, bound: Bound) -> Result<Bound> {
        if !self.settings.is_postgres() || bound.ty != Type::Unknown {
            return Ok(bound);
        }
        let expr = self.typed(bound.expr.clone(), Type::Text(None), CastMode::Implicit)?;
        Ok(Bound { expr, ty: Type::Text(None), ..bound })
    }

    /// A condition.
    pub(crate) fn condition(&mut self, bound: Bound) -> Result<Expr> {
        if !self.settings.is_postgres() {
            return Ok(bound.expr);
        }
        match bound.ty {
            Type::Bool => Ok(bound.expr),
            Type::Unknown => self.converted(bound, Type::Bool, CastMode::Implicit),
            _ => wrong_type("a condition must be a boolean"),
        }
    }

    /// A comparison of two operands.
    pub(crate) fn comparison(&mut self, left: Bound, right: Bound) -> Result<(Expr, Expr, Comparison)> {
        let comparison = self.comparison_of(&left, &right);
        if !self.settings.is_postgres() {
            return Ok((left.expr, right.expr, comparison));
        }
        let to = Self::postgres_comparison(left.ty, right.ty)?;
        // Exact numbers are compared by their values, whatever their types.
        let convert = |binder: &mut Self, bound: Bound| {
            if bound.ty.is_exact() && to.is_exact() {
                Ok(bound.expr)
            } else {
                binder.converted(bound, to, CastMode::Implicit)
            }
        };
        let left = convert(self, left)?;
        let right = convert(self, right)?;
        Ok((left, right, comparison))
    }

    /// How two operands are compared.
    pub(crate) fn comparison_of(&self, left: &Bound, right: &Bound) -> Comparison {
        if self.settings.is_postgres() {
            let padded = compares_as_char(left.ty, right.ty);
            let collation = if padded { Collation::Padded } else { Collation::Binary };
            return Comparison { collation, rules: Rules::Same };
        }
        if self.settings.is_sqlite() {
            let collation = if left.collation == Collation::Binary && !matches!(left.expr, Expr::Column(..)) {
                right.collation
            } else {
                left.collation
            };
            return Comparison { collation, rules: sqlite_rules(left.affinity, right.affinity) };
        }
        let is_literal = |bound: &Bound| matches!(bound.expr, Expr::Const(_) | Expr::Param(_));
        let collation = match (left.ty.is_text(), right.ty.is_text()) {
            (true, true) if is_literal(left) => right.collation,
            (false, true) => right.collation,
            _ => left.collation,
        };
        let is_plain =
            (left.ty.is_exact() && right.ty.is_exact()) || (left.ty.is_text() && right.ty.is_text());
        Comparison { collation, rules: if is_plain { Rules::Same } else { Rules::MySql } }
    }

    /// The type in which PostgreSQL compares two operands.
    pub(crate) fn postgres_comparison(left: Type, right: Type) -> Result<Type> {
        if compares_as_char(left, right) {
            return Ok(Type::Char(0));
        }
        let (left, right) = (left.unlimited(), right.unlimited());
        Ok(match (left, right) {
            (Type::Unknown, Type::Unknown) => Type::Text(None),
            (Type::Unknown, other) | (other, Type::Unknown) => other,
            (a, b) if a == b => a,
            (a, b) if a.is_number() && b.is_number() => wider(a, b),
            (a, b) if a.is_text() && b.is_text() => Type::Text(None),
            (Type::Date, Type::Timestamp) | (Type::Timestamp, Type::Date) => Type::Timestamp,
            (a, b) if a.is_moment() && b.is_moment() && a != Type::Time && b != Type::Time => {
                Type::TimestampTz
            }
            (a, b) => {
                return wrong_type(format!("operator does not exist: {a:?} and {b:?} cannot be compared"));
            }
        })
    }

    /// A comparison as an expression.
    pub(crate) fn compare(&mut self, comparator: Comparator, left: Bound, right: Bound) -> Result<Bound> {
        let (left, right, how) = self.comparison(left, right)?;
        Ok(self.boolean(Expr::Compare(comparator, how, Box::new([left, right]))))
    }

    /// The result of a condition.
    pub(crate) fn boolean(&self, expr: Expr) -> Bound {
        let ty = if self.settings.is_postgres() { Type::Bool } else { Type::INT8 };
        Bound::new(expr, ty)
    }

    /// How values of one column are compared with each other.
    pub(crate) fn own_comparison(&self, bound: &Bound) -> Comparison {
        let rules = if self.settings.is_mysql() { Rules::MySql } else { Rules::Same };
        let collation = match bound.ty {
            Type::Char(_) if self.settings.is_postgres() => Collation::Padded,
            _ => bound.collation,
        };
        Comparison {
            collation,
            rules: if bound.ty.is_text() || bound.ty.is_exact() { Rules::Same } else { rules },
        }
    }

    /// The type to which the branches of CASE, the arguments of COALESCE, or the sides of UNION are converted; `None` if
    /// they stay as they are.
    pub(crate) fn common_type(&self, types: &[Type]) -> Result<Option<Type>> {
        if self.settings.is_sqlite() {
            return Ok(None);
        }
        let known: Vec<Type> = types.iter().copied().filter(|ty| *ty != Type::Unknown).collect();
        let Some(first) = known.first().copied() else {
            return Ok(if self.settings.is_postgres() { Some(Type::Text(None)) } else { None });
        };
        if self.settings.is_mysql() {
            return Ok(Some(known.iter().skip(1).fold(first, |common, ty| mysql_common(common, *ty))));
        }
        let mut common = first;
        for ty in known.iter().skip(1) {
            common = match (common, *ty) {
                (a, b) if a == b => a,
                (a, b) if a.is_number() && b.is_number() => preferred(a, b),
                // Texts are converted to each other, so the first decides.
                (a, b) if a.is_text() && b.is_text() => a.unlimited(),
                (Type::Date, Type::Timestamp) | (Type::Timestamp, Type::Date) => Type::Timestamp,
                (Type::TimestampTz, Type::Date | Type::Timestamp)
                | (Type::Date | Type::Timestamp, Type::TimestampTz) => Type::TimestampTz,
                (a, b) => return wrong_type(format!("types {a:?} and {b:?} cannot be matched")),
            };
        }
        let has_literal = known.len() < types.len();
        Ok(Some(if has_literal { common.unlimited() } else { common }))
    }

    /// Converts expressions to their common type.
    pub(crate) fn unified(&mut self, bounds: Vec<Bound>) -> Result<(Vec<Expr>, Bound)> {
        let types: Vec<Type> = bounds.iter().map(|bound| bound.ty).collect();
        let common = self.common_type(&types)?;
        let text = bounds.iter().find(|bound| bound.ty.is_text());
        let collation = text.map_or(self.default_collation(), |bound| bound.collation);
        let ty = common.unwrap_or(Type::Unknown);
        let mut exprs = Vec::with_capacity(bounds.len());
        for bound in bounds {
            exprs.push(match common {
                Some(common) => self.converted(bound, common, CastMode::Implicit)?,
                None => bound.expr,
            });
        }
        Ok((exprs, Bound { collation, ..Bound::new(Expr::Const(Value::Null), ty) }))
    }

    /// An arithmetic operator.
    pub(crate) fn arithmetic(&mut self, op: Arith, left: Bound, right: Bound) -> Result<Bound> {
        if self.settings.is_sqlite() {
            let expr = Expr::Arith(op, Arithmetic::Sqlite, Box::new([left.expr, right.expr]));
            return Ok(Bound::new(expr, Type::Any(Affinity::Blob)));
        }
        if self.settings.is_mysql() {
            let ty = self.mysql_result(op, left.ty, right.ty);
            let expr = Expr::Arith(op, Arithmetic::MySql, Box::new([left.expr, right.expr]));
            return Ok(Bound { collation: self.default_collation(), ..Bound::new(expr, ty) });
        }
        let (rules, operand, result) = postgres_arithmetic(op, left.ty, right.ty)?;
        let (left_to, right_to) = if let Some(ty) = operand {
            (ty, ty)
        } else {
            // A date and days: a literal is the days.
            let to = |own: Type, partner: Type| match (own, partner) {
                (Type::Unknown, Type::Date) if rules == Arithmetic::Dates => Type::Date,
                (Type::Unknown, Type::Date) => Type::INT4,
                (own, _) => own,
            };
            (to(left.ty, right.ty), to(right.ty, left.ty))
        };
        let left = self.converted(left, left_to, CastMode::Implicit)?;
        let right = self.converted(right, right_to, CastMode::Implicit)?;
        // PostgreSQL does not evaluate the other side.
        let is_null = |expr: &Expr| *expr == Expr::Const(Value::Null);
        let fails = |expr: &Expr| crate::walk::is_literal(expr) && crate::expression::is_fallible(expr);
        if (is_null(&left) && !fails(&right)) || (is_null(&right) && !fails(&left)) {
            return Ok(Bound::new(Expr::Const(Value::Null), result));
        }
        Ok(Bound::new(Expr::Arith(op, rules, Box::new([left, right])), result))
    }

    fn mysql_result(&self, op: Arith, left: Type, right: Type) -> Type {
        if op == Arith::Concat {
            return Type::Text(None);
        }
        if matches!(op, Arith::BitAnd | Arith::BitOr | Arith::BitXor | Arith::ShiftLeft | Arith::ShiftRight) {
            return Type::UINT8;
        }
        let exact = |ty: Type| match ty {
            Type::Decimal(Some((precision, scale))) => Some((precision, scale)),
            Type::Int { .. } | Type::Bool | Type::Date | Type::Time | Type::Timestamp | Type::TimestampTz => {
                Some((20, 0))
            }
            // NULL.
            Type::Unknown => Some((1, 0)),
            _ => None,
        };
        let unsigned = |ty: Type| matches!(ty, Type::Int { unsigned: true, .. });
        let is_unsigned = unsigned(left) || (op != Arith::Modulo && unsigned(right));
        if op == Arith::Whole {
            return Type::Int { bits: 64, unsigned: is_unsigned };
        }
        let (Some((p1, s1)), Some((p2, s2))) = (exact(left), exact(right)) else { return Type::Double };
        let is_decimal = |ty: Type| matches!(ty, Type::Decimal(_));
        if op != Arith::Over && !is_decimal(left) && !is_decimal(right) {
            return Type::Int { bits: 64, unsigned: is_unsigned };
        }
        let most = if self.settings.is_mariadb { 38 } else { 30 };
        let whole = p1.saturating_sub(s1).max(p2.saturating_sub(s2));
        let (precision, scale) = match op {
            Arith::Times => (p1 + p2, s1 + s2),
            Arith::Over => {
                (p1 + s2 + self.settings.div_precision_increment, s1 + self.settings.div_precision_increment)
            }
            _ => (whole + s1.max(s2) + 1, s1.max(s2)),
        };
        let scale = scale.min(most);
        Type::Decimal(Some((precision.min(65).max(scale), scale)))
    }

    /// The opposite of a number.
    pub(crate) fn negated(&mut self, bound: Bound) -> Result<Bound> {
        if self.settings.is_sqlite() {
            return Ok(Bound::new(
                Expr::Negate(Arithmetic::Sqlite, Box::new(bound.expr)),
                Type::Any(Affinity::Blob),
            ));
        }
        if self.settings.is_mysql() {
            let ty = match bound.ty {
                Type::Int { .. } | Type::Unknown | Type::Bool => Type::INT8,
                Type::Decimal(_) => bound.ty,
                _ => Type::Double,
            };
            return Ok(Bound::new(Expr::Negate(Arithmetic::MySql, Box::new(bound.expr)), ty));
        }
        let (rules, ty) = match bound.ty {
            Type::Int { bits, .. } => (Arithmetic::Int(bits), bound.ty),
            Type::Decimal(_) => (Arithmetic::Numeric, Type::Decimal(None)),
            Type::Real => (Arithmetic::Real, Type::Real),
            Type::Double => (Arithmetic::Double, Type::Double),
            other => return wrong_type(format!("operator does not exist: - {other:?}")),
        };
        let expr = self.converted(bound, ty, CastMode::Implicit)?;
        Ok(Bound::new(Expr::Negate(rules, Box::new(expr)), ty))
    }
}

/// Whether PostgreSQL compares two operands as `char(n)`, without trailing blanks: a text is a better match only for `text`
/// itself.
fn compares_as_char(left: Type, right: Type) -> bool {
    let fits = |one: Type, other: Type| {
        matches!(one, Type::Char(_)) && matches!(other, Type::Char(_) | Type::Unknown | Type::Text(Some(_)))
    };
    fits(left, right) || fits(right, left)
}

/// The affinities that SQLite applies to the sides of a comparison.
pub(crate) fn sqlite_rules(left: Option<Affinity>, right: Option<Affinity>) -> Rules {
    let is_number = |affinity: Option<Affinity>| {
        matches!(affinity, Some(Affinity::Integer | Affinity::Real | Affinity::Numeric))
    };
    match (left, right) {
        (l, r) if is_number(l) && !is_number(r) => Rules::Sqlite(None, Some(Affinity::Numeric)),
        (l, r) if is_number(r) && !is_number(l) => Rules::Sqlite(Some(Affinity::Numeric), None),
        (Some(Affinity::Text), None) => Rules::Sqlite(None, Some(Affinity::Text)),
        (None, Some(Affinity::Text)) => Rules::Sqlite(Some(Affinity::Text), None),
        _ => Rules::Sqlite(None, None),
    }
}

fn rank(ty: Type) -> u8 {
    match ty {
        Type::Int { bits, .. } => bits / 16,
        Type::Decimal(_) => 5,
        Type::Real => 6,
        _ => 7,
    }
}

/// The type in which PostgreSQL computes with two numbers.
fn wider(left: Type, right: Type) -> Type {
    let widest = if rank(left) >= rank(right) { left } else { right };
    // A real with another number is computed in double precision.
    if widest == Type::Real && left != right { Type::Double } else { widest.unlimited() }
}

/// The type of CASE, COALESCE and UNION with two numbers.
fn preferred(left: Type, right: Type) -> Type {
    if rank(left) >= rank(right) { left.unlimited() } else { right.unlimited() }
}

fn postgres_arithmetic(op: Arith, left: Type, right: Type) -> Result<(Arithmetic, Option<Type>, Type)> {
    let (left, right) = (left.unlimited(), right.unlimited());
    let wrong = || wrong_type(format!("operator does not exist: {left:?} {op:?} {right:?}"));
    if op == Arith::Concat {
        let is_text = |ty: Type| ty.is_text() || ty == Type::Unknown;
        if !is_text(left) && !is_text(right) {
            return wrong();
        }
        return Ok((Arithmetic::Text, Some(Type::Text(None)), Type::Text(None)));
    }
    match (left, right, op) {
        (Type::Date, Type::Int { bits: 16 | 32, .. }, Arith::Plus | Arith::Minus)
        | (Type::Int { bits: 16 | 32, .. }, Type::Date, Arith::Plus) => {
            return Ok((Arithmetic::Days, None, Type::Date));
        }
        (Type::Date | Type::Unknown, Type::Date, Arith::Minus)
        | (Type::Date, Type::Unknown, Arith::Minus) => {
            return Ok((Arithmetic::Dates, None, Type::INT4));
        }
        _ => {}
    }
    let ty = match (left, right) {
        (Type::Unknown, Type::Unknown) => return wrong(),
        (Type::Unknown, other) | (other, Type::Unknown) if other.is_number() => other,
        (a, b) if a.is_number() && b.is_number() => wider(a, b),
        _ => return wrong(),
    };
    let is_shift = matches!(op, Arith::ShiftLeft | Arith::ShiftRight);
    let is_bits = is_shift || matches!(op, Arith::BitAnd | Arith::BitOr | Arith::BitXor);
    let ty = if is_shift && left.is_integer() { left } else { ty };
    let rules = match ty {
        Type::Int { bits, .. } => Arithmetic::Int(bits),
        Type::Decimal(_) if !is_bits => Arithmetic::Numeric,
        Type::Real if !is_bits && op != Arith::Modulo => Arithmetic::Real,
        Type::Double if !is_bits && op != Arith::Modulo => Arithmetic::Double,
        _ => return wrong(),
    };
    Ok((rules, Some(ty), ty))
}

/// The common type of two types in MySQL.
fn mysql_common(left: Type, right: Type) -> Type {
    let digits = |ty: Type| match ty {
        Type::Decimal(Some((precision, scale))) => (precision - scale.min(precision), scale),
        _ => (20, 0),
    };
    let is_text = |ty: Type| ty.is_text() || ty == Type::Bytes;
    match (left, right) {
        (a, b) if a == b => a,
        (a, b) if is_text(a) || is_text(b) => Type::Text(None),
        (a, b) if a.is_moment() && b.is_moment() => Type::Timestamp,
        (a, b) if a.is_moment() || b.is_moment() => Type::Text(None),
        (Type::Double | Type::Real, _) | (_, Type::Double | Type::Real) => Type::Double,
        (Type::Decimal(_), _) | (_, Type::Decimal(_)) => {
            let ((w1, s1), (w2, s2)) = (digits(left), digits(right));
            Type::Decimal(Some(((w1.max(w2) + s1.max(s2)).min(65), s1.max(s2))))
        }
        (Type::Int { unsigned: true, .. }, Type::Int { unsigned: true, .. }) => Type::UINT8,
        (Type::Int { unsigned: true, .. }, _) | (_, Type::Int { unsigned: true, .. }) => {
            Type::Decimal(Some((20, 0)))
        }
        _ => Type::INT8,
    }
}

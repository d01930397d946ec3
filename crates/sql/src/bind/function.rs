//! Calls of functions and aggregates.

use sqlparser::ast;

use crate::bind::{Binder, Bound, object};
use crate::error::{Result, invalid, unsupported, wrong_type};
use crate::ir::{Aggregate, AggregateKind, CastMode, Comparison, Expr, Function as F, Made, SumKind};
use crate::value::{Affinity, Type, Value};

/// Whether a name is that of an aggregate.
pub(super) fn is_aggregate(name: &str, arguments: usize, binder: &Binder<'_>) -> bool {
    match name {
        "min" | "max" => arguments == 1 || !binder.settings.is_sqlite(),
        "count" | "sum" | "avg" | "bool_and" | "bool_or" | "every" | "string_agg" | "group_concat"
        | "total" | "bit_and" | "bit_or" | "bit_xor" | "any_value" => true,
        _ => false,
    }
}

/// The arguments of a call.
pub(super) fn arguments(function: &ast::Function) -> Result<Vec<&ast::Expr>> {
    let ast::FunctionArguments::List(list) = &function.args else { return Ok(Vec::new()) };
    let argument = |arg: &'_ ast::FunctionArg| match arg {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(_) | ast::FunctionArgExpr::Wildcard) => Ok(()),
        _ => unsupported("this argument"),
    };
    let mut exprs = Vec::new();
    for arg in &list.args {
        argument(arg)?;
        if let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) = arg {
            exprs.push(expr);
        }
    }
    Ok(exprs)
}

impl Binder<'_> {
    /// Binds a call.
    pub(super) fn function(&mut self, function: &ast::Function) -> Result<Bound> {
        if function.over.is_some() || !function.within_group.is_empty() || function.null_treatment.is_some() {
            return unsupported("window functions");
        }
        let name = object(&function.name, self.settings)?.to_ascii_lowercase();
        let args = arguments(function)?;
        if is_aggregate(&name, args.len(), self) {
            return self.aggregate(&name, function, &args);
        }
        if name == "values"
            && self.settings.is_mysql()
            && let (Some(proposed), [ast::Expr::Identifier(column)]) = (self.proposed.clone(), &args[..])
        {
            return Self::proposed_column(&proposed, &column.value);
        }
        if let Some(made) = self.made(&name) {
            return Ok(made);
        }
        let bounds = args.into_iter().map(|arg| self.expr(arg)).collect::<Result<Vec<_>>>()?;
        self.call(&name, bounds)
    }

    /// Values that the database makes.
    fn made(&self, name: &str) -> Option<Bound> {
        Some(match name {
            "now"
            | "current_timestamp"
            | "localtimestamp"
            | "transaction_timestamp"
            | "sysdate"
            | "curdate"
            | "current_date"
            | "curtime"
            | "current_time"
            | "unix_timestamp"
            | "utc_timestamp"
            | "statement_timestamp" => self.made_now(name),
            "datetime" | "julianday" | "strftime" | "unixepoch" if self.settings.is_sqlite() => return None,
            "random" | "rand" | "gen_random_uuid" | "uuid" | "clock_timestamp" | "nextval" | "lastval"
            | "currval" | "last_insert_id" | "last_insert_rowid" | "uuid_generate_v4" | "connection_id"
            | "pg_backend_pid" | "txid_current" | "version" | "changes" | "row_count" | "found_rows" => {
                let ty = match name {
                    "random" | "rand" => Type::Double,
                    "gen_random_uuid" => Type::Uuid,
                    "nextval" | "lastval" | "currval" => Type::INT8,
                    _ => Type::Text(None),
                };
                Bound::new(Expr::Made(Made::Random), self.own(ty))
            }
            _ => return None,
        })
    }

    fn call(&mut self, name: &str, args: Vec<Bound>) -> Result<Bound> {
        match (name, args.len()) {
            ("coalesce" | "ifnull", 1..) => {
                let (exprs, like) = self.unified(args)?;
                Ok(Bound { expr: Expr::Coalesce(exprs), ..like })
            }
            ("nullif", 2) => self.null_if(args),
            ("greatest" | "least", 1..) if !self.settings.is_sqlite() => {
                self.extreme(name == "greatest", args)
            }
            ("max" | "min", 2..) => self.extreme(name == "max", args),
            ("if" | "iif", 3) => {
                let mut args = args.into_iter();
                let condition = args
                    .next()
                    .map(|bound| self.condition(bound))
                    .transpose()?
                    .unwrap_or(Expr::Const(Value::Null));
                let (mut exprs, like) = self.unified(args.collect())?;
                let otherwise = exprs.pop().unwrap_or(Expr::Const(Value::Null));
                let then = exprs.pop().unwrap_or(Expr::Const(Value::Null));
                Ok(Bound { expr: Expr::Case(vec![(condition, then)], Box::new(otherwise)), ..like })
            }
            ("isnull", 1) if self.settings.is_mysql() => {
                let arg = args.into_iter().next().map_or(Expr::Const(Value::Null), |bound| bound.expr);
                Ok(self.boolean(Expr::IsNull(Box::new(arg))))
            }
            ("mod", 2) => {
                let mut args = args.into_iter();
                match (args.next(), args.next()) {
                    (Some(left), Some(right)) if !self.settings.is_sqlite() => {
                        self.arithmetic(crate::ir::Arith::Modulo, left, right)
                    }
                    _ => unsupported("mod of SQLite"),
                }
            }
            _ => match self.catalog.routine(name).filter(|routine| routine.is_function) {
                Some(routine) => {
                    let ty = routine.returns.unwrap_or(Type::Unknown);
                    Ok(Bound::new(
                        Expr::Routine(name.to_owned(), args.into_iter().map(|arg| arg.expr).collect()),
                        ty,
                    ))
                }
                None => self.plain_call(name, args),
            },
        }
    }

    fn null_if(&mut self, args: Vec<Bound>) -> Result<Bound> {
        let Ok([left, right]) = <[Bound; 2]>::try_from(args) else {
            return invalid("NULLIF needs two arguments");
        };
        let (mut left, right) = (left, right);
        if left.ty == Type::Unknown && self.settings.is_postgres() {
            let to = if right.ty == Type::Unknown { Type::Text(None) } else { right.ty.unlimited() };
            left = Bound::new(self.converted(left, to, CastMode::Implicit)?, to);
        }
        if self.settings.is_postgres() {
            // The result has the type in which the operands are compared.
            let to = Self::postgres_comparison(left.ty, right.ty)?;
            if !(left.ty.is_integer() && to.is_integer()) && to != Type::Char(0) {
                left = Bound::new(self.converted(left, to, CastMode::Implicit)?, to);
            }
        }
        let (ty, collation) = (left.ty, left.collation);
        let original = left.expr.clone();
        let (converted, right, mut how) = self.comparison(left, right)?;
        if self.settings.is_sqlite() {
            // Arguments of functions are compared as they are.
            how.rules = crate::ir::Rules::Sqlite(None, None);
        }
        if converted == original {
            let expr = Expr::NullIf(how, Box::new([converted, right]));
            return Ok(Bound { collation, ..Bound::new(expr, ty) });
        }
        let same = Expr::Compare(crate::ir::Comparator::Equal, how, Box::new([converted, right]));
        let expr = Expr::Case(vec![(same, Expr::Const(Value::Null))], Box::new(original));
        Ok(Bound { collation, ..Bound::new(expr, ty) })
    }

    fn extreme(&mut self, largest: bool, args: Vec<Bound>) -> Result<Bound> {
        if self.settings.is_mysql() {
            let kinds = |bound: &Bound| bound.ty.is_text();
            let is_mixed =
                args.iter().any(kinds) && !args.iter().all(|bound| kinds(bound) || bound.ty == Type::Unknown);
            if is_mixed {
                return unsupported("GREATEST or LEAST of texts and numbers");
            }
        }
        let first_collation = args.first().map_or(self.default_collation(), |bound| bound.collation);
        let (exprs, like) = self.unified(args)?;
        let mut how = self.own_comparison(&like);
        if self.settings.is_sqlite() {
            how = Comparison { collation: first_collation, rules: crate::ir::Rules::Sqlite(None, None) };
        }
        let like =
            if self.settings.is_sqlite() { Bound { ty: Type::Any(Affinity::Blob), ..like } } else { like };
        Ok(Bound { expr: Expr::Extreme(largest, how, exprs), ..like })
    }

    /// Functions with an entry in [`known`].
    fn plain_call(&mut self, name: &str, args: Vec<Bound>) -> Result<Bound> {
        let Some((function, least, most)) = known(name, self) else {
            return unsupported(format!("the function {name}"));
        };
        if args.len() < least || args.len() > most {
            return invalid(format!("wrong number of arguments of {name}"));
        }
        if self.settings.is_postgres() {
            return self.postgres_call(name, function, args);
        }
        let ty =
            if self.settings.is_mysql() { mysql_result(function, &args) } else { Type::Any(Affinity::Blob) };
        let collation =
            args.iter().find(|arg| arg.ty.is_text()).map_or(self.default_collation(), |arg| arg.collation);
        let exprs = args.into_iter().map(|arg| arg.expr).collect();
        Ok(Bound { collation, ..Bound::new(Expr::Call(function, exprs), ty) })
    }

    /// A call with PostgreSQL's conversions of arguments.
    fn postgres_call(&mut self, name: &str, function: F, args: Vec<Bound>) -> Result<Bound> {
        let first = args.first().map_or(Type::Unknown, |arg| arg.ty);
        let text = Type::Text(None);
        let int = Type::INT4;
        let wrong = || wrong_type(format!("function {name} does not exist for these types"));
        let (types, result): (Vec<Type>, Type) = match function {
            F::Abs => match first.unlimited() {
                Type::Unknown => (vec![Type::Double], Type::Double),
                number if number.is_number() => (vec![number], number),
                _ => return wrong(),
            },
            F::Round | F::Truncate if args.len() == 2 => {
                if !(first.is_exact() || first == Type::Unknown) {
                    return wrong();
                }
                (vec![Type::Decimal(None), int], Type::Decimal(None))
            }
            F::Round | F::Truncate | F::Ceil | F::Floor | F::Sign | F::Sqrt | F::Exp | F::Ln | F::Power => {
                let is_numeric = args.iter().any(|arg| matches!(arg.ty, Type::Decimal(_)))
                    && args.iter().all(|arg| arg.ty.is_exact() || arg.ty == Type::Unknown);
                if !args.iter().all(|arg| arg.ty.is_number() || arg.ty == Type::Unknown) {
                    return wrong();
                }
                let ty = if is_numeric { Type::Decimal(None) } else { Type::Double };
                (vec![ty; args.len()], ty)
            }
            F::CharLength | F::OctetLength | F::BitLength | F::Ascii => (
                vec![if first == Type::Bytes { return unsupported("the length of bytes") } else { text }],
                int,
            ),
            F::Position => (vec![text, text], int),
            F::Substring
                if args.iter().any(|arg| arg.ty.is_text() && !std::ptr::eq(arg, &raw const args[0])) =>
            {
                return unsupported("substring with a pattern");
            }
            F::Substring => (vec![text, int, int], text),
            F::Left | F::Right | F::Repeat => (vec![text, int], text),
            F::PadStart | F::PadEnd => (vec![text, int, text], text),
            F::SplitPart => (vec![text, text, int], text),
            F::Chr => (vec![int], text),
            F::StartsWith => (vec![text, text], Type::Bool),
            F::ConcatAll | F::ConcatWith => {
                let exprs = args
                    .into_iter()
                    .map(|arg| self.settled(arg).map(|arg| arg.expr))
                    .collect::<Result<_>>()?;
                return Ok(Bound::new(Expr::Call(function, exprs), text));
            }
            _ => (vec![text; args.len()], text),
        };
        let mut exprs = Vec::with_capacity(args.len());
        for (arg, ty) in args.into_iter().zip(types) {
            let fits = arg.ty == Type::Unknown
                || (ty.is_text() && arg.ty.is_text())
                || (ty.is_integer() && matches!(arg.ty, Type::Int { bits: 16 | 32, .. }))
                || (!ty.is_integer() && ty.is_number() && arg.ty.is_number())
                || arg.ty.unlimited() == ty;
            if !fits {
                return wrong();
            }
            exprs.push(if matches!(arg.ty, Type::Char(_)) {
                self.as_text(arg)?
            } else {
                self.converted(arg, ty, CastMode::Implicit)?
            });
        }
        Ok(Bound::new(Expr::Call(function, exprs), result))
    }

    /// Expressions with a syntax of their own that are calls.
    pub(super) fn special_function(&mut self, expr: &ast::Expr) -> Result<Bound> {
        let is_postgres = self.settings.is_postgres();
        let mut call = |name: &str, args: &[&ast::Expr]| {
            let args = args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<_>>>()?;
            self.call(name, args)
        };
        match expr {
            ast::Expr::Substring {
                expr, substring_from: Some(from), substring_for: Some(length), ..
            } => call("substring", &[expr, from, length]),
            ast::Expr::Substring { expr, substring_from: Some(from), substring_for: None, .. } => {
                call("substring", &[expr, from])
            }
            ast::Expr::Trim { trim_where, trim_what, expr, trim_characters: None } => {
                let name = match trim_where {
                    None | Some(ast::TrimWhereField::Both) => "btrim",
                    Some(ast::TrimWhereField::Leading) => "ltrim",
                    Some(ast::TrimWhereField::Trailing) => "rtrim",
                };
                match trim_what {
                    Some(what) => call(name, &[expr, what]),
                    None => call(name, &[expr]),
                }
            }
            ast::Expr::Trim {
                trim_what: None,
                trim_where: None,
                expr,
                trim_characters: Some(characters),
            } => match &characters[..] {
                [what] => call("btrim", &[expr, what]),
                _ => unsupported("this TRIM"),
            },
            ast::Expr::Ceil {
                expr,
                field: ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime),
            } => call("ceil", &[expr]),
            ast::Expr::Floor {
                expr,
                field: ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime),
            } => call("floor", &[expr]),
            ast::Expr::Position { expr, r#in } => call("strpos", &[r#in, expr]),
            ast::Expr::Extract { field, expr, .. } => {
                let name = match field {
                    ast::DateTimeField::Year => "year",
                    ast::DateTimeField::Month => "month",
                    ast::DateTimeField::Day => "day",
                    _ => return unsupported("this part of a date"),
                };
                if is_postgres {
                    return unsupported("EXTRACT");
                }
                call(name, &[expr])
            }
            other => unsupported(format!("the expression {other}")),
        }
    }

    fn aggregate(&mut self, name: &str, function: &ast::Function, args: &[&ast::Expr]) -> Result<Bound> {
        let Some(level) = self.scopes.len().checked_sub(1) else {
            return invalid(format!("{name} is not allowed here"));
        };
        match &mut self.scopes[level].grouping {
            None => return invalid(format!("{name} is not allowed here")),
            Some(grouping) if grouping.is_inside => return invalid("aggregates cannot be nested"),
            Some(grouping) => grouping.is_inside = true,
        }
        let bound = self.aggregate_inside(name, function, args);
        if let Some(grouping) = &mut self.scopes[level].grouping {
            grouping.is_inside = false;
        }
        let (aggregate, like) = bound?;
        let Some(grouping) = &mut self.scopes[level].grouping else { return invalid("no group") };
        Ok(Bound { expr: grouping.add(aggregate), ..like })
    }

    /// An aggregate, and its type.
    fn aggregate_inside(
        &mut self,
        name: &str,
        function: &ast::Function,
        args: &[&ast::Expr],
    ) -> Result<(Aggregate, Bound)> {
        let mut distinct = false;
        let mut separator = None;
        if let ast::FunctionArguments::List(list) = &function.args {
            distinct = list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct);
            for clause in &list.clauses {
                match clause {
                    ast::FunctionArgumentClause::Separator(value) => {
                        separator = Some(self.literal(&value.value)?.expr);
                    }
                    ast::FunctionArgumentClause::OrderBy(_) => {
                        return unsupported("ORDER BY in an aggregate");
                    }
                    _ => return unsupported("this clause of an aggregate"),
                }
            }
        }
        let mut bounds = Vec::new();
        for arg in args {
            let bound = self.expr(arg)?;
            bounds.push(self.settled(bound)?);
        }
        let like =
            bounds.first().cloned().unwrap_or_else(|| Bound::new(Expr::Const(Value::Null), Type::INT8));
        let (kind, ty) = self.aggregate_kind(name, &bounds, like.ty)?;
        let comparison = self.own_comparison(&like);
        let comparison = if self.settings.is_sqlite() {
            Comparison { collation: like.collation, rules: crate::ir::Rules::Sqlite(None, None) }
        } else {
            comparison
        };
        let filter = match &function.filter {
            Some(filter) => {
                let bound = self.expr(filter)?;
                Some(self.condition(bound)?)
            }
            None => None,
        };
        let mut args: Vec<Expr> = bounds.into_iter().map(|bound| bound.expr).collect();
        args.extend(separator);
        let like = Bound { ty, affinity: None, ..like };
        Ok((Aggregate { kind, args, distinct, filter, comparison }, like))
    }

    fn aggregate_kind(&self, name: &str, args: &[Bound], ty: Type) -> Result<(AggregateKind, Type)> {
        let wrong = || wrong_type(format!("function {name} does not exist for {ty:?}"));
        if args.is_empty() && name != "count" {
            return invalid(format!("{name} needs an argument"));
        }
        Ok(match name {
            "count" if args.is_empty() => (AggregateKind::CountRows, self.own(Type::INT8)),
            "count" => (AggregateKind::Count, self.own(Type::INT8)),
            "min" | "any_value" | "max" => {
                if ty == Type::Bool {
                    return wrong();
                }
                let ty = match ty {
                    Type::Text(_) => Type::Text(None),
                    other if self.settings.is_postgres() => other.unlimited(),
                    other => other,
                };
                (
                    if name == "min" {
                        AggregateKind::Min
                    } else if name == "max" {
                        AggregateKind::Max
                    } else {
                        AggregateKind::First
                    },
                    ty,
                )
            }
            "sum" | "avg" => {
                let (kind, sum, average) = self.sum_kind(ty)?;
                if name == "sum" {
                    (AggregateKind::Sum(kind), sum)
                } else {
                    (AggregateKind::Average(kind), average)
                }
            }
            "total" if self.settings.is_sqlite() => (AggregateKind::Total, ty),
            "bool_and" | "every" if ty == Type::Bool => (AggregateKind::All, Type::Bool),
            "bool_or" if ty == Type::Bool => (AggregateKind::Any, Type::Bool),
            "bit_and" | "bit_or" | "bit_xor" if self.settings.is_mysql() => (
                match name {
                    "bit_and" => AggregateKind::BitAnd,
                    "bit_or" => AggregateKind::BitOr,
                    _ => AggregateKind::BitXor,
                },
                Type::UINT8,
            ),
            "string_agg" if args.len() == 2 => (AggregateKind::Join, Type::Text(None)),
            "group_concat" if !self.settings.is_postgres() => {
                (AggregateKind::Join, self.own(Type::Text(None)))
            }
            _ => return unsupported(format!("the aggregate {name}")),
        })
    }

    /// How a type is summed, and the types of the sum and the average.
    fn sum_kind(&self, ty: Type) -> Result<(SumKind, Type, Type)> {
        if self.settings.is_sqlite() {
            return Ok((SumKind::Sqlite, Type::Any(Affinity::Blob), Type::Any(Affinity::Blob)));
        }
        if self.settings.is_mysql() {
            let increment = self.settings.div_precision_increment;
            let decimal =
                |precision: u32, scale: u32| Type::Decimal(Some((precision.min(65), scale.min(38))));
            return Ok(match ty {
                Type::Int { .. } | Type::Bool => (SumKind::MySql, decimal(42, 0), decimal(42, increment)),
                Type::Decimal(limits) => {
                    let (precision, scale) = limits.unwrap_or((65, 0));
                    (
                        SumKind::MySql,
                        decimal(precision + 22, scale),
                        decimal(precision + 22, scale + increment),
                    )
                }
                _ => (SumKind::MySql, Type::Double, Type::Double),
            });
        }
        Ok(match ty {
            Type::Int { bits: 64, .. } | Type::Decimal(_) => {
                (SumKind::Numeric, Type::Decimal(None), Type::Decimal(None))
            }
            Type::Int { .. } => (SumKind::Int, Type::INT8, Type::Decimal(None)),
            Type::Real => (SumKind::Real, Type::Real, Type::Double),
            Type::Double => (SumKind::Double, Type::Double, Type::Double),
            other => return wrong_type(format!("there is no sum of {other:?}")),
        })
    }
}

fn mysql_result(function: F, args: &[Bound]) -> Type {
    let first = args.first().map_or(Type::Unknown, |arg| arg.ty);
    match function {
        F::Abs => match first {
            Type::Int { .. } | Type::Decimal(_) => first,
            _ => Type::Double,
        },
        F::Round | F::Truncate => match first {
            Type::Int { .. } => first,
            Type::Decimal(Some((precision, scale))) => match args.get(1).map(|arg| &arg.expr) {
                None => Type::Decimal(Some((precision + 1, 0))),
                Some(Expr::Const(Value::Int(places))) => {
                    let places = u32::try_from(*places).unwrap_or(0).min(scale);
                    Type::Decimal(Some((precision + 1, places)))
                }
                Some(_) => Type::Decimal(Some((precision + 1, scale))),
            },
            _ => Type::Double,
        },
        F::Ceil | F::Floor => {
            if first.is_exact() {
                Type::INT8
            } else {
                Type::Double
            }
        }
        F::Power | F::Sqrt | F::Exp | F::Ln => Type::Double,
        F::Sign
        | F::CharLength
        | F::OctetLength
        | F::BitLength
        | F::Position
        | F::Ascii
        | F::Field
        | F::Year
        | F::Month
        | F::Day
        | F::Hour
        | F::Minute
        | F::Second
        | F::DateDiff => Type::INT8,
        F::ToDate => Type::Date,
        F::DateAdd | F::DateSub => first,
        _ => Type::Text(None),
    }
}

/// The function of a name, with its least and largest number of arguments.
fn known(name: &str, binder: &Binder<'_>) -> Option<(F, usize, usize)> {
    let (is_postgres, is_mysql, is_sqlite) =
        (binder.settings.is_postgres(), binder.settings.is_mysql(), binder.settings.is_sqlite());
    let many = usize::MAX;
    Some(match name {
        "abs" => (F::Abs, 1, 1),
        "sign" => (F::Sign, 1, 1),
        "ceil" | "ceiling" => (F::Ceil, 1, 1),
        "floor" => (F::Floor, 1, 1),
        "round" => (F::Round, 1, 2),
        "trunc" if is_postgres => (F::Truncate, 1, 2),
        "truncate" if is_mysql => (F::Truncate, 2, 2),
        "power" | "pow" if !is_sqlite => (F::Power, 2, 2),
        "sqrt" if !is_sqlite => (F::Sqrt, 1, 1),
        "exp" if !is_sqlite => (F::Exp, 1, 1),
        "ln" if !is_sqlite => (F::Ln, 1, 1),
        "length" if is_mysql => (F::OctetLength, 1, 1),
        "length" => (F::CharLength, 1, 1),
        "char_length" | "character_length" if !is_sqlite => (F::CharLength, 1, 1),
        "octet_length" => (F::OctetLength, 1, 1),
        "bit_length" if !is_sqlite => (F::BitLength, 1, 1),
        "upper" => (F::Upper, 1, 1),
        "ucase" if is_mysql => (F::Upper, 1, 1),
        "lower" => (F::Lower, 1, 1),
        "lcase" if is_mysql => (F::Lower, 1, 1),
        "substr" | "substring" | "mid" => (F::Substring, 2, 3),
        "left" if !is_sqlite => (F::Left, 2, 2),
        "right" if !is_sqlite => (F::Right, 2, 2),
        "trim" | "btrim" => (F::Trim, 1, 2),
        "ltrim" => (F::TrimStart, 1, 2),
        "rtrim" => (F::TrimEnd, 1, 2),
        "replace" => (F::Replace, 3, 3),
        "strpos" if is_postgres => (F::Position, 2, 2),
        "strpos" | "instr" if !is_postgres => (F::Position, 2, 2),
        "repeat" if !is_sqlite => (F::Repeat, 2, 2),
        "reverse" if !is_sqlite => (F::Reverse, 1, 1),
        "lpad" if !is_sqlite => (F::PadStart, 2, 3),
        "rpad" if !is_sqlite => (F::PadEnd, 2, 3),
        "concat" if is_mysql => (F::ConcatStrict, 1, many),
        "concat" => (F::ConcatAll, 1, many),
        "concat_ws" => (F::ConcatWith, 2, many),
        "typeof" if is_sqlite => (F::Typeof, 1, 1),
        "quote" if is_sqlite => (F::Quote, 1, 1),
        "hex" if !is_postgres => (F::Hex, 1, 1),
        "ascii" if !is_sqlite => (F::Ascii, 1, 1),
        "chr" if is_postgres => (F::Chr, 1, 1),
        "field" if is_mysql => (F::Field, 2, many),
        "year" if is_mysql => (F::Year, 1, 1),
        "month" if is_mysql => (F::Month, 1, 1),
        "day" | "dayofmonth" if is_mysql => (F::Day, 1, 1),
        "hour" if is_mysql => (F::Hour, 1, 1),
        "minute" if is_mysql => (F::Minute, 1, 1),
        "second" if is_mysql => (F::Second, 1, 1),
        "datediff" if is_mysql => (F::DateDiff, 2, 2),
        "adddate" if is_mysql => (F::DateAdd, 2, 2),
        "subdate" if is_mysql => (F::DateSub, 2, 2),
        "date" if is_mysql => (F::ToDate, 1, 1),
        "split_part" if is_postgres => (F::SplitPart, 3, 3),
        "starts_with" if is_postgres => (F::StartsWith, 2, 2),
        _ => return None,
    })
}

//! Arithmetic, by the rules of each dialect.
//!
//! | | integers | division | by zero | overflow |
//! |---|---|---|---|---|
//! | PostgreSQL | of the wider type | truncates | error | error |
//! | MySQL | 64 bits, unsigned if one is | decimal | NULL, or error when writing | error |
//! | SQLite | 64 bits | truncates | NULL | becomes a float |

use crate::cast::{
    Mode, loose_float, mysql_decimal, mysql_float, range, sqlite_integer, sqlite_operand, sqlite_text,
    to_text,
};
use crate::decimal::Decimal;
use crate::error::{Result, SqlError, by_zero, indeterminate, overflow, unsupported, wrong_type};
use crate::ir::{Arith, Arithmetic};
use crate::value::Value;

/// The result of an operator. NULL if an operand is.
pub(crate) fn arithmetic(
    op: Arith,
    rules: Arithmetic,
    left: &Value,
    right: &Value,
    mode: Mode<'_>,
) -> Result<Value> {
    if left.is_null() || right.is_null() {
        return Ok(Value::Null);
    }
    if matches!(left, Value::Hole(_)) || matches!(right, Value::Hole(_)) {
        return indeterminate("a value that the database makes is used in an expression");
    }
    match rules {
        Arithmetic::Int(bits) => integers(op, left, right, bits),
        Arithmetic::Numeric => numerics(op, left, right),
        Arithmetic::Real => doubles(op, left, right, true),
        Arithmetic::Double => doubles(op, left, right, false),
        Arithmetic::Days => days(op, left, right),
        Arithmetic::Dates => match (left, right) {
            (Value::Date(a), Value::Date(b)) => Ok(Value::Int(i64::from(*a) - i64::from(*b))),
            _ => wrong_type("dates were expected"),
        },
        Arithmetic::Text => Ok(concat(&to_text(left, mode.settings), &to_text(right, mode.settings))),
        Arithmetic::MySql => mysql(op, left, right, mode),
        Arithmetic::Sqlite => Ok(sqlite(op, left, right)),
    }
}

fn concat(left: &str, right: &str) -> Value {
    Value::text(format!("{left}{right}"))
}

/// The opposite of a number.
pub(crate) fn negate(rules: Arithmetic, value: &Value, mode: Mode<'_>) -> Result<Value> {
    Ok(match (rules, value) {
        (_, Value::Null) => Value::Null,
        (_, Value::Hole(_)) => return indeterminate("a value that the database makes is negated"),
        (Arithmetic::Int(bits), Value::Int(n)) => in_range(-i128::from(*n), bits)?,
        (_, Value::Decimal(n)) => Value::decimal(-&**n),
        (_, Value::Float(n)) => Value::Float(-n),
        (Arithmetic::Sqlite, other) => match sqlite_operand(other) {
            Value::Int(n) => n.checked_neg().map_or_else(|| Value::Float(-(n as f64)), Value::Int),
            number => Value::Float(-loose_float(&number)),
        },
        (_, Value::Int(n)) => match n.checked_neg() {
            Some(n) => Value::Int(n),
            None if mode.settings.is_mysql() => return overflow("the negative of the smallest integer"),
            None => return overflow("integer out of range"),
        },
        (_, Value::UInt(n)) => match i64::try_from(-i128::from(*n)) {
            Ok(n) => Value::Int(n),
            Err(_) => return overflow("the negative of an unsigned integer"),
        },
        (_, other) => Value::Float(-mysql_float(other, mode)?),
    })
}

/// The complement of an integer's bits.
pub(crate) fn bit_not(value: &Value, mode: Mode<'_>) -> Result<Value> {
    Ok(match value {
        Value::Null => Value::Null,
        _ if mode.settings.is_mysql() => Value::UInt(!mysql_bits(value, mode)?),
        _ if mode.settings.is_sqlite() => Value::Int(!sqlite_integer(value)),
        Value::Int(n) => Value::Int(!n),
        _ => return wrong_type("~ needs an integer"),
    })
}

// PostgreSQL

fn in_range(n: i128, bits: u8) -> Result<Value> {
    let (least, most) = range(bits, false);
    if (least..=most).contains(&n) { Ok(Value::Int(n as i64)) } else { overflow("integer out of range") }
}

fn integers(op: Arith, left: &Value, right: &Value, bits: u8) -> Result<Value> {
    let (Value::Int(a), Value::Int(b)) = (left, right) else { return wrong_type("integers were expected") };
    let (a, b) = (i128::from(*a), i128::from(*b));
    let shift = b & i128::from(bits.max(32) - 1);
    let narrow = |n: i128| match bits {
        16 => i128::from(n as i16),
        32 => i128::from(n as i32),
        _ => i128::from(n as i64),
    };
    match op {
        Arith::Plus => in_range(a + b, bits),
        Arith::Minus => in_range(a - b, bits),
        Arith::Times => in_range(a * b, bits),
        Arith::Over | Arith::Modulo if b == 0 => by_zero(),
        Arith::Over => in_range(a / b, bits),
        Arith::Modulo => in_range(a % b, bits),
        Arith::BitAnd => in_range(a & b, bits),
        Arith::BitOr => in_range(a | b, bits),
        Arith::BitXor => in_range(a ^ b, bits),
        Arith::ShiftLeft => in_range(narrow(a << shift), bits),
        Arith::ShiftRight => in_range(a >> shift, bits),
        Arith::Whole | Arith::Concat => wrong_type("not an operator of integers"),
    }
}

/// The scale of a quotient in PostgreSQL: 16 significant digits, and at least the scales of the operands.
pub(crate) fn postgres_scale(left: &Decimal, right: &Decimal) -> u32 {
    let ((left_weight, left_first), (right_weight, right_first)) =
        (left.leading_group(), right.leading_group());
    let weight = left_weight - right_weight - i64::from(left_first <= right_first);
    let scale = 16 - weight * 4;
    let least = i64::from(left.scale().max(right.scale()));
    scale.max(least).clamp(0, 1000).unsigned_abs() as u32
}

fn numerics(op: Arith, left: &Value, right: &Value) -> Result<Value> {
    let (Some(a), Some(b)) = (left.exact(), right.exact()) else {
        return wrong_type("numbers were expected");
    };
    let result = match op {
        Arith::Plus => a.plus(&b),
        Arith::Minus => a.minus(&b),
        Arith::Times => a.times(&b),
        Arith::Over => match a.over(&b, postgres_scale(&a, &b), false) {
            Some(quotient) => quotient,
            None => return by_zero(),
        },
        Arith::Modulo => match a.modulo(&b) {
            Some(rest) => rest,
            None => return by_zero(),
        },
        _ => return wrong_type("not an operator of numerics"),
    };
    if result.whole_digits() > 131_072 { overflow("numeric overflow") } else { Ok(Value::decimal(result)) }
}

fn doubles(op: Arith, left: &Value, right: &Value, is_single: bool) -> Result<Value> {
    let (a, b) = (loose_float(left), loose_float(right));
    let result = match op {
        Arith::Plus => a + b,
        Arith::Minus => a - b,
        Arith::Times => a * b,
        Arith::Over if b == 0.0 && !a.is_nan() => return by_zero(),
        Arith::Over => a / b,
        _ => return wrong_type("not an operator of floats"),
    };
    let result = if is_single { f64::from(result as f32) } else { result };
    let is_lost = result == 0.0
        && match op {
            Arith::Times => a != 0.0 && b != 0.0,
            Arith::Over => a != 0.0 && b.is_finite(),
            _ => false,
        };
    if result.is_infinite() && a.is_finite() && b.is_finite() || is_lost {
        return overflow("a float is out of range");
    }
    Ok(Value::Float(result))
}

fn days(op: Arith, left: &Value, right: &Value) -> Result<Value> {
    let sum = match (op, left, right) {
        (Arith::Plus, Value::Date(day), Value::Int(n)) | (Arith::Plus, Value::Int(n), Value::Date(day)) => {
            i64::from(*day).checked_add(*n)
        }
        (Arith::Minus, Value::Date(day), Value::Int(n)) => i64::from(*day).checked_sub(*n),
        _ => return wrong_type("a date and an integer were expected"),
    };
    match sum.and_then(|day| i32::try_from(day).ok()) {
        Some(day) => Ok(Value::Date(day)),
        None => overflow("date out of range"),
    }
}

// MySQL

/// The bits of a value, as an unsigned integer.
fn mysql_bits(value: &Value, mode: Mode<'_>) -> Result<u64> {
    Ok(match value {
        Value::Int(n) => n.cast_unsigned(),
        Value::UInt(n) => *n,
        Value::Float(_) | Value::Decimal(_) => {
            let number = mysql_decimal(value, mode)?.rounded_to(0);
            match (number.to_u64(), number.to_i64()) {
                (Some(n), _) => n,
                (None, Some(n)) => n.cast_unsigned(),
                _ if number.is_negative() => i64::MIN.cast_unsigned(),
                _ => i64::MAX.cast_unsigned(),
            }
        }
        other => {
            // Of a text, the digits at its start.
            let text = to_text(other, mode.settings);
            mysql_float(other, mode)?;
            sqlite_integer(&Value::text(text)).cast_unsigned()
        }
    })
}

/// Whether an operator of MySQL works on exact numbers.
fn is_exact(value: &Value) -> bool {
    !matches!(value, Value::Text(_) | Value::Bytes(_) | Value::Float(_))
}

/// The largest scale of a decimal.
fn most_scale(mode: Mode<'_>) -> u32 {
    if mode.settings.is_mariadb { 38 } else { 30 }
}

fn mysql(op: Arith, left: &Value, right: &Value, mode: Mode<'_>) -> Result<Value> {
    match op {
        Arith::Concat => return Ok(concat(&to_text(left, mode.settings), &to_text(right, mode.settings))),
        Arith::BitAnd | Arith::BitOr | Arith::BitXor | Arith::ShiftLeft | Arith::ShiftRight => {
            let (a, b) = (mysql_bits(left, mode)?, mysql_bits(right, mode)?);
            let shift = u32::try_from(b).unwrap_or(64);
            return Ok(Value::UInt(match op {
                Arith::BitAnd => a & b,
                Arith::BitOr => a | b,
                Arith::BitXor => a ^ b,
                Arith::ShiftLeft => a.checked_shl(shift).unwrap_or(0),
                _ => a.checked_shr(shift).unwrap_or(0),
            }));
        }
        _ => {}
    }
    if !is_exact(left) || !is_exact(right) {
        return mysql_doubles(op, left, right, mode);
    }
    let is_integer = |value: &Value| matches!(value, Value::Int(_) | Value::UInt(_) | Value::Bool(_));
    if op != Arith::Over && is_integer(left) && is_integer(right) {
        return mysql_integers(op, left, right, mode);
    }
    let (a, b) = (mysql_decimal(left, mode)?, mysql_decimal(right, mode)?);
    let most = most_scale(mode);
    let result = match op {
        Arith::Plus => Some(a.plus(&b)),
        Arith::Minus => Some(a.minus(&b)),
        Arith::Times => Some(a.times(&b)),
        Arith::Over => a.over(&b, (a.scale() + mode.settings.div_precision_increment).min(most), false),
        Arith::Modulo => a.modulo(&b),
        Arith::Whole => match a.over(&b, 0, true) {
            None => None,
            Some(quotient) => match quotient.to_i64() {
                Some(n) => return Ok(Value::Int(n)),
                None => return overflow("integer out of range"),
            },
        },
        _ => return unsupported("an operator of decimals"),
    };
    let Some(result) = result else { return mysql_by_zero(mode) };
    let result = if result.scale() > most { result.rounded_to(most) } else { result };
    if result.whole_digits() + result.scale() as usize > 65 {
        return unsupported("a decimal of more than 65 digits");
    }
    Ok(Value::decimal(result))
}

fn mysql_by_zero(mode: Mode<'_>) -> Result<Value> {
    let fails = mode.stores && mode.settings.is_strict && mode.settings.divides_by_zero_fail;
    if fails { by_zero().map_err(SqlError::avoidable) } else { Ok(Value::Null) }
}

fn mysql_doubles(op: Arith, left: &Value, right: &Value, mode: Mode<'_>) -> Result<Value> {
    let (a, b) = (mysql_float(left, mode)?, mysql_float(right, mode)?);
    let result = match op {
        Arith::Plus => a + b,
        Arith::Minus => a - b,
        Arith::Times => a * b,
        Arith::Over | Arith::Modulo | Arith::Whole if b == 0.0 => return mysql_by_zero(mode),
        Arith::Over => a / b,
        Arith::Modulo => a % b,
        Arith::Whole => {
            let quotient = (a / b).trunc();
            if quotient.abs() >= 9.2e18 {
                return overflow("integer out of range");
            }
            return Ok(Value::Int(quotient as i64));
        }
        _ => return unsupported("an operator of floats"),
    };
    if result.is_finite() { Ok(Value::Float(result)) } else { overflow("a float is out of range") }
}

fn mysql_integers(op: Arith, left: &Value, right: &Value, mode: Mode<'_>) -> Result<Value> {
    let wide = |value: &Value| match value {
        Value::UInt(n) => i128::from(*n),
        Value::Int(n) => i128::from(*n),
        other => i128::from(other == &Value::Bool(true)),
    };
    let unsigned = |value: &Value| matches!(value, Value::UInt(_));
    let (a, b) = (wide(left), wide(right));
    let mut is_unsigned = unsigned(left) || unsigned(right);
    let result = match op {
        Arith::Plus => a + b,
        Arith::Minus => a - b,
        Arith::Times => a.saturating_mul(b),
        _ if b == 0 => return mysql_by_zero(mode),
        Arith::Modulo => {
            is_unsigned = unsigned(left);
            a % b
        }
        _ => a / b,
    };
    if is_unsigned {
        u64::try_from(result)
            .map_or_else(|_| overflow("unsigned integer out of range"), |n| Ok(Value::UInt(n)))
    } else {
        i64::try_from(result).map_or_else(|_| overflow("integer out of range"), |n| Ok(Value::Int(n)))
    }
}

// SQLite

fn sqlite(op: Arith, left: &Value, right: &Value) -> Value {
    if op == Arith::Concat {
        return concat(&sqlite_text(left), &sqlite_text(right));
    }
    let (left, right) = (sqlite_operand(left), sqlite_operand(right));
    let result = match op {
        Arith::BitAnd => Value::Int(sqlite_integer(&left) & sqlite_integer(&right)),
        Arith::BitOr => Value::Int(sqlite_integer(&left) | sqlite_integer(&right)),
        Arith::ShiftLeft => Value::Int(shifted(sqlite_integer(&left), sqlite_integer(&right))),
        Arith::ShiftRight => {
            Value::Int(shifted(sqlite_integer(&left), sqlite_integer(&right).saturating_neg()))
        }
        Arith::Modulo => sqlite_modulo(&left, &right),
        _ => match (&left, &right) {
            (Value::Int(a), Value::Int(b)) => match sqlite_integers(op, *a, *b) {
                Some(value) => value,
                None => sqlite_floats(op, *a as f64, *b as f64),
            },
            _ => sqlite_floats(op, loose_float(&left), loose_float(&right)),
        },
    };
    match result {
        Value::Float(n) if n.is_nan() => Value::Null,
        other => other,
    }
}

fn shifted(n: i64, by: i64) -> i64 {
    match by {
        0..64 => n << by,
        64.. => 0,
        -63..0 => n >> -by,
        _ if n < 0 => -1,
        _ => 0,
    }
}

fn sqlite_modulo(left: &Value, right: &Value) -> Value {
    let (a, b) = (sqlite_integer(left), sqlite_integer(right));
    if b == 0 {
        return Value::Null;
    }
    let rest = a.checked_rem(b).unwrap_or(0);
    let is_float = matches!(left, Value::Float(_)) || matches!(right, Value::Float(_));
    if is_float { Value::Float(rest as f64) } else { Value::Int(rest) }
}

/// `None` if the result does not fit.
fn sqlite_integers(op: Arith, a: i64, b: i64) -> Option<Value> {
    match op {
        Arith::Plus => a.checked_add(b).map(Value::Int),
        Arith::Minus => a.checked_sub(b).map(Value::Int),
        Arith::Times => a.checked_mul(b).map(Value::Int),
        _ if b == 0 => Some(Value::Null),
        _ => a.checked_div(b).map(Value::Int),
    }
}

fn sqlite_floats(op: Arith, a: f64, b: f64) -> Value {
    Value::Float(match op {
        Arith::Plus => a + b,
        Arith::Minus => a - b,
        Arith::Times => a * b,
        _ if b == 0.0 => return Value::Null,
        _ => a / b,
    })
}

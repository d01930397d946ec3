//! Comparisons of values that are not NULL, and truth values.

use std::cmp::Ordering;

use crate::cast::{Mode, apply_affinity, loose_float, mysql_float, number_prefix, to_moment};
use crate::dialect::Dialect;
use crate::error::{Result, indeterminate, wrong_type};
use crate::ir::{Comparison, Rules};
use crate::value::{Affinity, Collation, Type, Value, floats, numbers};

/// Compares two values that are not NULL.
pub(crate) fn compare(left: &Value, right: &Value, how: Comparison, mode: Mode<'_>) -> Result<Ordering> {
    if matches!(left, Value::Hole(_)) || matches!(right, Value::Hole(_)) {
        return indeterminate("a value that the database makes is compared");
    }
    match how.rules {
        Rules::Same => same(left, right, how.collation),
        Rules::MySql => mysql(left, right, how.collation, mode),
        Rules::Sqlite(on_left, on_right) => {
            let left = on_left.map_or_else(|| left.clone(), |affinity| numeric(left, affinity));
            let right = on_right.map_or_else(|| right.clone(), |affinity| numeric(right, affinity));
            sqlite(&left, &right, how.collation)
        }
    }
}

/// Applies an affinity before a comparison: an integer column compares with 1.5 as it is.
fn numeric(value: &Value, affinity: Affinity) -> Value {
    match (affinity, value) {
        (Affinity::Text | Affinity::Blob, _) | (_, Value::Text(_)) => {
            let affinity = if affinity == Affinity::Real { Affinity::Numeric } else { affinity };
            apply_affinity(value, affinity)
        }
        _ => value.clone(),
    }
}

fn same(left: &Value, right: &Value, collation: Collation) -> Result<Ordering> {
    match (left, right) {
        (Value::Text(a), Value::Text(b)) => texts(a, b, collation),
        _ => Ok(left.total(right)),
    }
}

/// Compares two texts.
pub(crate) fn texts(left: &str, right: &str, collation: Collation) -> Result<Ordering> {
    let trim = |text: &'_ str| text.trim_end_matches(' ').len();
    Ok(match collation {
        Collation::Binary => left.as_bytes().cmp(right.as_bytes()),
        Collation::Padded => padded(left.as_bytes(), right.as_bytes()),
        Collation::NoCase => {
            let fold = |text: &str| text.to_ascii_lowercase();
            fold(left).as_bytes().cmp(fold(right).as_bytes())
        }
        Collation::PaddedNoCase => {
            if left == right {
                return Ok(Ordering::Equal);
            }
            if !left.is_ascii() || !right.is_ascii() {
                return indeterminate("the collation of texts that are not ASCII");
            }
            let fold = |text: &str| text[..trim(text)].to_ascii_uppercase();
            padded(fold(left).as_bytes(), fold(right).as_bytes())
        }
    })
}

/// Compares as if the shorter were filled with blanks.
fn padded(left: &[u8], right: &[u8]) -> Ordering {
    let most = left.len().max(right.len());
    let filled = |bytes: &[u8], at: usize| bytes.get(at).copied().unwrap_or(b' ');
    (0..most)
        .map(|at| filled(left, at).cmp(&filled(right, at)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

fn mysql(left: &Value, right: &Value, collation: Collation, mode: Mode<'_>) -> Result<Ordering> {
    let is_moment = |value: &Value| matches!(value, Value::Date(_) | Value::Time(_) | Value::Timestamp(_));
    Ok(match (left, right) {
        (Value::Text(a), Value::Text(b)) => texts(a, b, collation)?,
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (a, b) if is_moment(a) || is_moment(b) => return moments(a, b),
        (Value::Text(_) | Value::Bytes(_), _) | (_, Value::Text(_) | Value::Bytes(_)) => {
            floats(mysql_float(left, mode)?, mysql_float(right, mode)?)
        }
        (Value::Float(_), _) | (_, Value::Float(_)) => floats(loose_float(left), loose_float(right)),
        _ => numbers(left, right),
    })
}

/// Compares a date or time with a value that is converted to one.
fn moments(left: &Value, right: &Value) -> Result<Ordering> {
    let kind = |value: &Value| match value {
        Value::Date(_) => Some(Type::Date),
        Value::Time(_) => Some(Type::Time),
        Value::Timestamp(_) => Some(Type::Timestamp),
        _ => None,
    };
    let to = match (kind(left), kind(right)) {
        (Some(a), Some(b)) if a == b => a,
        (Some(Type::Time), None) | (None, Some(Type::Time)) => Type::Time,
        _ => Type::Timestamp,
    };
    match (to_moment(left, to), to_moment(right, to)) {
        (Some(a), Some(b)) => Ok(a.total(&b)),
        _ => crate::error::unsupported("a comparison of a date with something else"),
    }
}

fn sqlite(left: &Value, right: &Value, collation: Collation) -> Result<Ordering> {
    match (left, right) {
        (Value::Text(a), Value::Text(b)) => texts(a, b, collation),
        _ => Ok(left.total(right)),
    }
}

/// The truth value of a value; `None` is unknown.
pub(crate) fn truth(value: &Value, mode: Mode<'_>) -> Result<Option<bool>> {
    Ok(match (mode.settings.dialect, value) {
        (_, Value::Null) => None,
        (_, Value::Bool(is)) => Some(*is),
        (_, Value::Hole(_)) => return indeterminate("a value that the database makes is a condition"),
        (Dialect::Postgres, other) => return wrong_type(format!("{other} is not a boolean")),
        (_, Value::Int(n)) => Some(*n != 0),
        (_, Value::UInt(n)) => Some(*n != 0),
        (_, Value::Decimal(n)) => Some(!n.is_zero()),
        (Dialect::MySql, other) => Some(mysql_float(other, mode)? != 0.0),
        (Dialect::Sqlite, Value::Text(text)) => {
            Some(number_prefix(text).0.trim_end_matches('.').parse::<f64>().unwrap_or(0.0) != 0.0)
        }
        (Dialect::Sqlite, other) => Some(loose_float(other) != 0.0),
    })
}

/// A truth value as a value.
pub(crate) fn of_truth(truth: Option<bool>, dialect: Dialect) -> Value {
    match (truth, dialect) {
        (None, _) => Value::Null,
        (Some(is), Dialect::Postgres) => Value::Bool(is),
        (Some(is), _) => Value::Int(i64::from(is)),
    }
}

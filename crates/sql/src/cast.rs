//! Conversions of values: CAST, implied conversions and storing into a column, by dialect.
//!
//! PostgreSQL's conversions fail or succeed. MySQL's read the number at the start of a text, and clamp values that do not
//! fit; storing fails instead if the mode is strict. SQLite's never fail.

use num_traits::ToPrimitive;

use crate::decimal::Decimal;
use crate::dialect::{Dialect, Settings};
use crate::error::{Result, SqlError, indeterminate, overflow, wrong_cast};
use crate::ir::{Cast, CastMode};
use crate::moment::{self, DAY};
use crate::value::{Affinity, Type, Value, hex};

/// What conversions depend on beside the values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode<'a> {
    pub(crate) settings: &'a Settings,
    /// Whether the statement writes: MySQL's strict mode turns its warnings into errors.
    pub(crate) writes: bool,
    /// Whether it stores values: a division by zero then fails in MySQL.
    pub(crate) stores: bool,
}

impl Mode<'_> {
    fn is_strict(&self) -> bool {
        self.writes && self.settings.is_strict
    }
}

/// Converts a value. NULL stays NULL.
pub(crate) fn cast(value: &Value, cast: Cast, mode: Mode<'_>) -> Result<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    if let Value::Hole(_) = value {
        if cast.mode == CastMode::Assign {
            return Ok(value.clone());
        }
        return indeterminate("a value that the database makes is converted");
    }
    match mode.settings.dialect {
        Dialect::Postgres => postgres(value, cast, mode),
        Dialect::MySql => mysql(value, cast, mode),
        Dialect::Sqlite => Ok(sqlite(value, cast)),
    }
}

/// The range of an integer type.
pub(crate) fn range(bits: u8, unsigned: bool) -> (i128, i128) {
    if unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
}

// PostgreSQL

fn postgres(value: &Value, cast: Cast, mode: Mode<'_>) -> Result<Value> {
    let wrong = || wrong_cast(format!("{value} cannot be converted to {:?}", cast.to));
    Ok(match (cast.to, value) {
        (Type::Unknown | Type::Any(_), _)
        | (Type::Bool, Value::Bool(_))
        | (Type::Char(0), Value::Text(_))
        | (Type::Bytes, Value::Bytes(_)) => value.clone(),
        (Type::Bool, Value::Int(n)) => Value::Bool(*n != 0),
        (Type::Bool, Value::Text(text)) => match boolean(text) {
            Some(is) => Value::Bool(is),
            None => return wrong(),
        },
        (Type::Int { bits, .. }, _) => Value::Int(postgres_integer(value, bits)?),
        (Type::Decimal(limits), _) => {
            let number = match value {
                Value::Text(text) => Decimal::parse(text.trim()).map_or_else(wrong_number, Ok)?,
                Value::Float(n) => postgres_numeric(*n)?,
                exact => exact.exact().map_or_else(wrong_number, Ok)?,
            };
            Value::decimal(limited(number, limits)?)
        }
        (Type::Real, _) => Value::Float(single(float(value)?, value)?),
        (Type::Double, _) => Value::Float(float(value)?),
        (Type::Text(limit), _) => {
            let text = match value {
                Value::Text(text) if cast.mode == CastMode::Unpad => text.trim_end_matches(' ').to_owned(),
                Value::Text(text) => text.to_string(),
                other => to_text(other, mode.settings),
            };
            Value::text(postgres_text(text, limit, cast.mode)?)
        }
        (Type::Char(length), _) => {
            let text = match value {
                Value::Text(text) => text.to_string(),
                other => to_text(other, mode.settings),
            };
            let text = postgres_text(text, Some(length), cast.mode)?;
            Value::text(padded(text, length))
        }
        (Type::Bytes, Value::Text(text)) => match bytes_of(text) {
            Some(bytes) => Value::Bytes(bytes.into()),
            None => return wrong(),
        },
        (Type::Uuid, Value::Text(text)) => match uuid(text) {
            Some(uuid) => Value::text(uuid),
            None => return wrong(),
        },
        (to, _) if to.is_moment() => match to_moment(value, to) {
            Some(moment) => moment,
            None => return wrong(),
        },
        _ => return wrong(),
    })
}

fn wrong_number() -> Result<Decimal> {
    wrong_cast("invalid number")
}

fn boolean(text: &str) -> Option<bool> {
    let text = text.trim().to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    if text.is_empty() {
        None
    } else if begins("true", 1) || begins("yes", 1) || text == "on" || text == "1" {
        Some(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || text == "0" {
        Some(false)
    } else {
        None
    }
}

fn postgres_integer(value: &Value, bits: u8) -> Result<i64> {
    let (least, most) = range(bits, false);
    let exact = match value {
        Value::Int(n) => Some(i128::from(*n)),
        Value::Bool(is) => Some(i128::from(*is)),
        Value::Decimal(n) => n.rounded_to(0).to_i64().map(i128::from),
        // 2^63 is a float and does not fit.
        Value::Float(n) if n.is_finite() && n.abs() < 1e20 => n.round_ties_even().to_i128(),
        Value::Text(text) => {
            let text = text.trim();
            let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return wrong_cast(format!("invalid integer '{text}'"));
            }
            text.parse::<i128>().ok()
        }
        _ => None,
    };
    match exact.filter(|n| (least..=most).contains(n)) {
        Some(n) => Ok(n as i64),
        None => overflow(format!("{value} is out of range for an integer of {bits} bits")),
    }
}

/// A float as a numeric: with 15 digits, as PostgreSQL does.
fn postgres_numeric(float: f64) -> Result<Decimal> {
    if !float.is_finite() {
        return crate::error::unsupported("a numeric that is not finite");
    }
    let shortened = format!("{float:.14e}");
    Ok(Decimal::parse(&shortened).map_or_else(|| Decimal::from(0_i64), |n| n.normalized()))
}

/// Applies precision and scale.
fn limited(number: Decimal, limits: Option<(u32, u32)>) -> Result<Decimal> {
    let Some((precision, scale)) = limits else { return Ok(number) };
    let number = number.rounded_to(scale);
    if number.whole_digits() > (precision.saturating_sub(scale)) as usize {
        return overflow(format!("{number} has too many digits for numeric({precision}, {scale})"));
    }
    Ok(number)
}

fn float(value: &Value) -> Result<f64> {
    Ok(match value {
        Value::Int(n) => *n as f64,
        Value::UInt(n) => *n as f64,
        Value::Float(n) => *n,
        Value::Decimal(n) => n.to_f64(),
        Value::Text(text) => match float_text(text.trim()) {
            Some(n) => n,
            None => return wrong_cast(format!("invalid number {value}")),
        },
        other => return wrong_cast(format!("{other} is not a number")),
    })
}

fn float_text(text: &str) -> Option<f64> {
    match text.to_ascii_lowercase().as_str() {
        "nan" => Some(f64::NAN),
        "infinity" | "inf" | "+infinity" | "+inf" => Some(f64::INFINITY),
        "-infinity" | "-inf" => Some(f64::NEG_INFINITY),
        plain => {
            let is_plain =
                plain.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'+' | b'-'));
            plain.parse::<f64>().ok().filter(|n| is_plain && n.is_finite())
        }
    }
}

fn single(float: f64, value: &Value) -> Result<f64> {
    let single = float as f32;
    if single.is_infinite() && float.is_finite() || (single == 0.0 && float != 0.0) {
        return overflow(format!("{value} is out of range for a real"));
    }
    Ok(f64::from(single))
}

fn postgres_text(text: String, limit: Option<u32>, mode: CastMode) -> Result<String> {
    let Some(limit) = limit else { return Ok(text) };
    let Some((at, _)) = text.char_indices().nth(limit as usize) else { return Ok(text) };
    let (kept, rest) = text.split_at(at);
    if mode == CastMode::Assign && rest.bytes().any(|byte| byte != b' ') {
        return wrong_cast(format!("value too long for {limit} characters"));
    }
    Ok(kept.to_owned())
}

fn padded(text: String, length: u32) -> String {
    let missing = (length as usize).saturating_sub(text.chars().count());
    text + &" ".repeat(missing.min(10_000_000))
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(digits) => unhex(digits),
        None => (!text.contains('\\')).then(|| text.as_bytes().to_vec()),
    }
}

/// Bytes of hexadecimal digits.
pub(crate) fn unhex(digits: &str) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return None;
    }
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect()
}

fn uuid(text: &str) -> Option<String> {
    let digits: String =
        text.chars().filter(|c| !matches!(c, '-' | '{' | '}')).map(|c| c.to_ascii_lowercase()).collect();
    if digits.len() != 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let part = |from: usize, to: usize| &digits[from..to];
    Some([part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-"))
}

/// A date, time or timestamp of a value.
pub(crate) fn to_moment(value: &Value, to: Type) -> Option<Value> {
    Some(match (to, value) {
        (Type::Date, Value::Date(_))
        | (Type::Time, Value::Time(_))
        | (Type::Timestamp | Type::TimestampTz, Value::Timestamp(_)) => value.clone(),
        (Type::Date, Value::Timestamp(micros)) => Value::Date(i32::try_from(micros.div_euclid(DAY)).ok()?),
        (Type::Time, Value::Timestamp(micros)) => Value::Time(micros.rem_euclid(DAY)),
        (Type::Timestamp | Type::TimestampTz, Value::Date(days)) => Value::Timestamp(i64::from(*days) * DAY),
        (Type::Date, Value::Text(text)) => {
            Value::Date(i32::try_from(moment::timestamp(text)?.div_euclid(DAY)).ok()?)
        }
        (Type::Time, Value::Text(text)) => Value::Time(moment::time(text)?),
        (Type::Timestamp, Value::Text(text)) => Value::Timestamp(moment::timestamp(text)?),
        (Type::TimestampTz, Value::Text(text)) => Value::Timestamp(moment::timestamp_tz(text)?),
        _ => return None,
    })
}

// MySQL

/// The number at the start of a text, and whether the whole text is a number.
pub(crate) fn number_prefix(text: &str) -> (&str, bool) {
    let trimmed = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let bytes = trimmed.as_bytes();
    let mut at = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let whole = digits(at);
    let mut count = whole - at;
    at = whole;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        count += fraction - at - 1;
        at = fraction;
    }
    if count == 0 {
        return ("", false);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + sign);
        if exponent > at + 1 + sign {
            at = exponent;
        }
    }
    (&trimmed[..at], trimmed[at..].trim_end().is_empty())
}

/// A float of a value, as MySQL and SQLite read it.
pub(crate) fn loose_float(value: &Value) -> f64 {
    match value {
        Value::Null | Value::Hole(_) => 0.0,
        Value::Bool(is) => f64::from(u8::from(*is)),
        Value::Int(n) => *n as f64,
        Value::UInt(n) => *n as f64,
        Value::Decimal(n) => n.to_f64(),
        Value::Float(n) => *n,
        Value::Text(text) => number_prefix(text).0.trim_end_matches('.').parse().unwrap_or(0.0),
        Value::Bytes(bytes) => {
            std::str::from_utf8(bytes).map_or(0.0, |text| number_prefix(text).0.parse().unwrap_or(0.0))
        }
        moment => moment_number(moment).to_f64(),
    }
}

/// A date as MySQL's number, such as 20240229.
pub(crate) fn moment_number(value: &Value) -> Decimal {
    let date = |days: i32| {
        let (year, month, day) = moment::civil(days);
        year * 10_000 + i64::from(month) * 100 + i64::from(day)
    };
    let time = |micros: i64| {
        let seconds = micros / 1_000_000;
        seconds / 3600 * 10_000 + seconds / 60 % 60 * 100 + seconds % 60
    };
    Decimal::from(match value {
        Value::Date(days) => date(*days),
        Value::Time(micros) => time(*micros),
        Value::Timestamp(micros) => {
            date(i32::try_from(micros.div_euclid(DAY)).unwrap_or(0)) * 1_000_000
                + time(micros.rem_euclid(DAY))
        }
        _ => 0,
    })
}

/// MySQL's float of a value; in strict statements that write, a text must be a number.
pub(crate) fn mysql_float(value: &Value, mode: Mode<'_>) -> Result<f64> {
    if let Value::Hole(_) = value {
        return indeterminate("a value that the database makes is used as a number");
    }
    if let Value::Text(text) = value
        && mode.is_strict()
        && !number_prefix(text).1
    {
        // Constants are converted without an error, at a time that the server chooses.
        return wrong_cast(format!("{value} is not a number")).map_err(SqlError::avoidable);
    }
    Ok(loose_float(value))
}

/// The decimal of a value, as MySQL reads it.
pub(crate) fn mysql_decimal(value: &Value, mode: Mode<'_>) -> Result<Decimal> {
    Ok(match value {
        Value::Text(text) => {
            let (prefix, is_whole) = number_prefix(text);
            if mode.is_strict() && !is_whole {
                return wrong_cast(format!("{value} is not a number"));
            }
            Decimal::parse(prefix).unwrap_or_else(|| Decimal::from(0_i64))
        }
        Value::Float(n) => Decimal::from_f64(*n).unwrap_or_else(|| Decimal::from(0_i64)),
        Value::Hole(_) => return indeterminate("a value that the database makes is used as a number"),
        Value::Date(_) | Value::Time(_) | Value::Timestamp(_) => moment_number(value),
        other => other.exact().unwrap_or_else(|| Decimal::from(0_i64)),
    })
}

fn mysql(value: &Value, cast: Cast, mode: Mode<'_>) -> Result<Value> {
    // Storing is strict only in statements that write; CAST reports nothing but warnings, which such statements refuse.
    let is_strict = mode.is_strict() && cast.mode == CastMode::Assign;
    Ok(match cast.to {
        Type::Unknown | Type::Any(_) | Type::Bytes | Type::Uuid => value.clone(),
        Type::Bool => Value::Int(i64::from(loose_float(value) != 0.0)),
        Type::Int { bits, unsigned } => mysql_integer(value, bits, unsigned, cast.mode, mode)?,
        Type::Decimal(limits) => {
            let number = mysql_decimal(value, mode)?;
            let Some((precision, scale)) = limits else { return Ok(Value::decimal(number)) };
            let number = number.rounded_to(scale);
            if number.whole_digits() <= precision.saturating_sub(scale) as usize {
                return Ok(Value::decimal(number));
            }
            if is_strict {
                return overflow(format!("{number} is out of range for decimal({precision}, {scale})"));
            }
            let most =
                Decimal::parse(&"9".repeat(precision as usize)).unwrap_or_else(|| Decimal::from(0_i64));
            let unit = Decimal::new(1, scale);
            let most = most.times(&unit).rounded_to(scale);
            Value::decimal(if number.is_negative() { -&most } else { most })
        }
        Type::Real => {
            let float = mysql_float(value, mode)?;
            let single = float as f32;
            if single.is_infinite() && is_strict {
                return overflow(format!("{value} is out of range for a float"));
            }
            Value::Float(f64::from(single.clamp(f32::MIN, f32::MAX)))
        }
        Type::Double => Value::Float(mysql_float(value, mode)?),
        Type::Text(limit) => mysql_text(value, limit, is_strict, mode)?,
        Type::Char(length) => {
            let text = mysql_text(value, Some(length), is_strict, mode)?;
            match &text {
                Value::Text(text) => Value::text(text.trim_end_matches(' ')),
                _ => text,
            }
        }
        Type::Date | Type::Time | Type::Timestamp | Type::TimestampTz => match mysql_moment(value, cast.to) {
            Some(moment) => moment,
            None if is_strict => return wrong_cast(format!("{value} is not a date or time")),
            None if cast.mode == CastMode::Assign => {
                return crate::error::unsupported("a date of zeros");
            }
            None => Value::Null,
        },
    })
}

fn mysql_moment(value: &Value, to: Type) -> Option<Value> {
    if let Some(moment) = to_moment(value, to) {
        return Some(moment);
    }
    let number = value.exact()?.exact_i64()?;
    let (day, time) =
        if number > 99_999_999 { (number / 1_000_000, number % 1_000_000) } else { (number, 0) };
    let part = |n: i64| u32::try_from(n % 100).ok();
    let days = moment::days(day / 10_000, part(day / 100)?, part(day)?)?;
    let seconds = (time / 10_000 * 60 + time / 100 % 100) * 60 + time % 100;
    to_moment(&Value::Timestamp(i64::from(days) * DAY + seconds * 1_000_000), to)
}

fn mysql_text(value: &Value, limit: Option<u32>, is_strict: bool, mode: Mode<'_>) -> Result<Value> {
    let text = match value {
        Value::Text(text) => text.to_string(),
        other => to_text(other, mode.settings),
    };
    let Some(limit) = limit else { return Ok(Value::text(text)) };
    let Some((at, _)) = text.char_indices().nth(limit as usize) else { return Ok(Value::text(text)) };
    if is_strict && text[at..].bytes().any(|byte| byte != b' ') {
        return wrong_cast(format!("value too long for {limit} characters"));
    }
    Ok(Value::text(&text[..at]))
}

fn mysql_integer(value: &Value, bits: u8, unsigned: bool, how: CastMode, mode: Mode<'_>) -> Result<Value> {
    let is_strict = mode.is_strict();
    let (least, most) = range(bits, unsigned);
    let wide = |n: &Decimal| {
        n.rounded_to(0).to_string().parse::<i128>().unwrap_or(if n.is_negative() {
            i128::MIN
        } else {
            i128::MAX
        })
    };
    let number: i128 = match value {
        Value::Int(n) => i128::from(*n),
        Value::UInt(n) => i128::from(*n),
        Value::Decimal(n) => wide(n),
        Value::Float(n) => {
            n.round_ties_even().to_i128().unwrap_or(if *n < 0.0 { i128::MIN } else { i128::MAX })
        }
        Value::Text(text) => {
            let (prefix, is_whole) = number_prefix(text);
            if is_strict && !is_whole {
                return wrong_cast(format!("{value} is not an integer"));
            }
            if how == CastMode::Assign {
                Decimal::parse(prefix).map_or(0, |n| wide(&n))
            } else {
                // CAST reads digits only, and not their fraction.
                let end = prefix.find(['.', 'e', 'E']).unwrap_or(prefix.len());
                if is_strict && end < prefix.len() {
                    return wrong_cast(format!("{value} is not an integer"));
                }
                prefix[..end].parse::<i128>().unwrap_or(0)
            }
        }
        Value::Date(_) | Value::Time(_) | Value::Timestamp(_) => wide(&moment_number(value)),
        other => i128::from(loose_float(other) as i64),
    };
    // CAST(-1 AS UNSIGNED) is 2^64 - 1, and CAST(2^64 - 1 AS SIGNED) is -1.
    let is_cast = how != CastMode::Assign;
    let wraps = is_cast && matches!(value, Value::Int(_) | Value::UInt(_) | Value::Text(_));
    let fits = (least..=most).contains(&number);
    let number = if fits {
        number
    } else if let (Ok(n), true, true) = (i64::try_from(number), wraps, unsigned) {
        i128::from(n.cast_unsigned())
    } else if let (Ok(n), true, false) = (u64::try_from(number), wraps, unsigned) {
        i128::from(n.cast_signed())
    } else if is_strict && !is_cast {
        return overflow(format!("{value} is out of range for an integer of {bits} bits"));
    } else {
        number.clamp(least, most)
    };
    Ok(if unsigned { Value::UInt(number.unsigned_abs() as u64) } else { Value::Int(number as i64) })
}

// SQLite

fn sqlite(value: &Value, cast: Cast) -> Value {
    let Type::Any(affinity) = cast.to else { return value.clone() };
    match cast.mode {
        CastMode::Explicit => sqlite_cast(value, affinity),
        _ => apply_affinity(value, affinity),
    }
}

fn sqlite_cast(value: &Value, affinity: Affinity) -> Value {
    match affinity {
        Affinity::Text => match value {
            Value::Bytes(bytes) => Value::text(String::from_utf8_lossy(bytes).into_owned()),
            other => Value::text(sqlite_text(other)),
        },
        Affinity::Blob => match value {
            Value::Bytes(_) => value.clone(),
            other => Value::Bytes(sqlite_text(other).into_bytes().into()),
        },
        Affinity::Real => Value::Float(loose_float(value)),
        Affinity::Integer => Value::Int(sqlite_integer(value)),
        Affinity::Numeric => match value {
            Value::Int(_) | Value::Float(_) => value.clone(),
            other => {
                let text = sqlite_text(other);
                let prefix = number_prefix(&text).0;
                sqlite_number(prefix).map_or(Value::Int(0), |number| whole(&number))
            }
        },
    }
}

/// An integer of a value: the digits at its start, clamped.
pub(crate) fn sqlite_integer(value: &Value) -> i64 {
    match value {
        Value::Int(n) => *n,
        Value::Float(n) => *n as i64,
        Value::Text(_) | Value::Bytes(_) => {
            let text = sqlite_text(value);
            let prefix = number_prefix(&text).0;
            let end = prefix.find(['.', 'e', 'E']).unwrap_or(prefix.len());
            let digits = &prefix[..end];
            digits.parse::<i64>().unwrap_or_else(|_| match digits.parse::<i128>() {
                Ok(n) if n < 0 => i64::MIN,
                Ok(_) => i64::MAX,
                Err(_) if digits.len() > 20 && digits.starts_with('-') => i64::MIN,
                Err(_) if digits.len() > 20 => i64::MAX,
                Err(_) => 0,
            })
        }
        other => loose_float(other) as i64,
    }
}

/// The number that a text spells: an integer if it is one and fits.
fn sqlite_number(text: &str) -> Option<Value> {
    let text = text.trim();
    if let Ok(n) = text.parse::<i64>() {
        return Some(Value::Int(n));
    }
    text.trim_end_matches('.').parse::<f64>().ok().map(Value::Float)
}

/// An integer if a float is one and not too large.
fn whole(value: &Value) -> Value {
    match value {
        Value::Float(n) if n.fract() == 0.0 && n.abs() < 9.0e15 => Value::Int(*n as i64),
        other => other.clone(),
    }
}

/// The number of a value in arithmetic.
pub(crate) fn sqlite_operand(value: &Value) -> Value {
    match value {
        Value::Text(_) | Value::Bytes(_) => {
            let text = sqlite_text(value);
            sqlite_number(number_prefix(&text).0).unwrap_or(Value::Int(0))
        }
        other => other.clone(),
    }
}

/// Stores a value in a column of an affinity, or prepares it for a comparison.
pub(crate) fn apply_affinity(value: &Value, affinity: Affinity) -> Value {
    match (affinity, value) {
        (Affinity::Text, Value::Int(_) | Value::Float(_)) => Value::text(sqlite_text(value)),
        (Affinity::Integer | Affinity::Numeric | Affinity::Real, Value::Text(text)) => {
            let (prefix, is_whole) = number_prefix(text);
            if !is_whole {
                return value.clone();
            }
            match sqlite_number(prefix) {
                Some(number) if affinity == Affinity::Real => Value::Float(loose_float(&number)),
                Some(number) => lossless(&number),
                None => value.clone(),
            }
        }
        (Affinity::Real, Value::Int(n)) => Value::Float(*n as f64),
        (Affinity::Integer | Affinity::Numeric, Value::Float(_)) => lossless(value),
        _ => value.clone(),
    }
}

/// A float as an integer, if nothing is lost.
fn lossless(value: &Value) -> Value {
    match value {
        Value::Float(n)
            if n.fract() == 0.0 && *n >= -9_223_372_036_854_775_808.0 && *n < 9_223_372_036_854_775_808.0 =>
        {
            Value::Int(*n as i64)
        }
        other => other.clone(),
    }
}

pub(crate) fn sqlite_text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(n) => sqlite_float(*n),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.to_string(),
    }
}

/// A float as SQLite spells it in recent versions: the shortest digits that read the same, always with a point. Older versions
/// spell 15 digits.
fn sqlite_float(float: f64) -> String {
    if float.is_infinite() {
        return if float > 0.0 { "Inf" } else { "-Inf" }.to_owned();
    }
    spelled(&format!("{float:e}"), -4, 15, true, 2, true)
}

/// Spells `1.25e3` with or without exponent: without if it is at least `least` and less than `most`.
fn spelled(scientific: &str, least: i32, most: i32, point: bool, width: usize, plus: bool) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_end_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    if digits == "0" {
        return format!("{sign}{}", if point { "0.0" } else { "0" });
    }
    if exponent < least || exponent >= most {
        let fraction = if digits.len() > 1 {
            format!(".{}", &digits[1..])
        } else if point {
            ".0".to_owned()
        } else {
            String::new()
        };
        let mark = if exponent < 0 {
            "-"
        } else if plus {
            "+"
        } else {
            ""
        };
        return format!("{sign}{}{fraction}e{mark}{:0width$}", &digits[..1], exponent.abs());
    }
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1));
    }
    let whole = exponent.unsigned_abs() as usize + 1;
    if digits.len() <= whole {
        let zeros = "0".repeat(whole - digits.len());
        return format!("{sign}{digits}{zeros}{}", if point { ".0" } else { "" });
    }
    format!("{sign}{}.{}", &digits[..whole], &digits[whole..])
}

/// The text of a value that is not NULL.
pub(crate) fn to_text(value: &Value, settings: &Settings) -> String {
    match (settings.dialect, value) {
        (Dialect::Sqlite, _) => sqlite_text(value),
        (_, Value::Text(text)) => text.to_string(),
        (Dialect::Postgres, Value::Float(n)) => postgres_float(*n, false),
        (Dialect::MySql, Value::Float(n)) => spelled(&format!("{n:e}"), -15, 15, false, 1, false),
        (Dialect::MySql, Value::Bool(is)) => u8::from(*is).to_string(),
        (Dialect::Postgres, Value::Bytes(bytes)) => format!("\\x{}", hex(bytes)),
        (_, Value::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        (_, other) => other.to_string(),
    }
}

/// A float as PostgreSQL spells it: the shortest digits that read the same.
pub(crate) fn postgres_float(float: f64, is_single: bool) -> String {
    if float.is_nan() {
        return "NaN".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let scientific = if is_single { format!("{:e}", float as f32) } else { format!("{float:e}") };
    spelled(&scientific, -4, if is_single { 6 } else { 15 }, false, 2, true)
}

#[cfg(test)]
mod tests {
    use super::{number_prefix, postgres_float, sqlite_float};

    #[test]
    fn floats_are_spelled_as_the_databases_do() {
        for (float, postgres, sqlite) in [
            (1.0, "1", "1.0"),
            (0.1, "0.1", "0.1"),
            (1e15, "1e+15", "1.0e+15"),
            (123_456.75, "123456.75", "123456.75"),
            (1e-5, "1e-05", "1.0e-05"),
            (-1.5e300, "-1.5e+300", "-1.5e+300"),
            (0.1 + 0.2, "0.30000000000000004", "0.30000000000000004"),
        ] {
            assert_eq!(
                (postgres_float(float, false).as_str(), sqlite_float(float).as_str()),
                (postgres, sqlite)
            );
        }
    }

    #[test]
    fn numbers_are_read_from_the_start_of_texts() {
        for (text, prefix, is_whole) in [
            ("12", "12", true),
            (" -1.5e3x", "-1.5e3", false),
            ("1e", "1", false),
            (".5 ", ".5", true),
            ("abc", "", false),
            ("", "", false),
            ("\n1", "1", true),
        ] {
            assert_eq!(number_prefix(text), (prefix, is_whole));
        }
    }
}

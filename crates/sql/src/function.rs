//! Functions of values.
//!
//! Arguments of PostgreSQL's functions have been converted when the statement was bound; those of MySQL and SQLite are
//! converted here. All functions are NULL if an argument is, unless stated.

use crate::cast::{
    Mode, cast, loose_float, mysql_float, postgres_float, sqlite_operand, sqlite_text, to_moment, to_text,
};
use crate::decimal::Decimal;
use crate::error::{Result, indeterminate, overflow, unsupported, wrong_cast, wrong_type};
use crate::ir::{Cast, CastMode, Function};
use crate::moment::{self, DAY};
use crate::value::{Type, Value, hex};

/// The longest text that a function makes.
const LONGEST: usize = 16 << 20;

/// The result of a function.
pub(crate) fn call(function: Function, args: &[Value], mode: Mode<'_>) -> Result<Value> {
    if let Some(value) = with_nulls(function, args, mode)? {
        return Ok(value);
    }
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    if args.iter().any(|arg| matches!(arg, Value::Hole(_))) {
        return indeterminate("a value that the database makes is an argument");
    }
    let at = |n: usize| args.get(n).unwrap_or(&Value::Null);
    use Function as F;
    match function {
        F::Abs | F::Sign | F::Ceil | F::Floor | F::Round | F::Truncate => number(function, args, mode),
        F::Power | F::Sqrt | F::Exp | F::Ln => float(function, args, mode),
        F::Year | F::Month | F::Day | F::Hour | F::Minute | F::Second => part(function, at(0)),
        F::ToDate => Ok(to_moment(at(0), Type::Date).unwrap_or(Value::Null)),
        F::DateAdd | F::DateSub => add_days(function, at(0), at(1), mode),
        F::DateDiff => match (to_moment(at(0), Type::Date), to_moment(at(1), Type::Date)) {
            (Some(Value::Date(a)), Some(Value::Date(b))) => Ok(Value::Int(i64::from(a) - i64::from(b))),
            _ => Ok(Value::Null),
        },
        _ => text(function, args, mode),
    }
}

/// Functions that accept NULL.
fn with_nulls(function: Function, args: &[Value], mode: Mode<'_>) -> Result<Option<Value>> {
    let has_hole = args.iter().any(|arg| matches!(arg, Value::Hole(_)));
    let is_one = matches!(
        function,
        Function::ConcatAll | Function::ConcatWith | Function::Typeof | Function::Quote | Function::Field
    );
    if has_hole && is_one {
        return indeterminate("a value that the database makes is an argument");
    }
    if function == Function::Replace && mode.settings.is_mysql() {
        // MariaDB does not look at the replacement if nothing is replaced.
        if let [text, what, Value::Null] = args {
            if !text.is_null() && !what.is_null() {
                return unsupported("REPLACE with NULL");
            }
        }
    }
    Ok(Some(match function {
        Function::ConcatAll => {
            let texts = args.iter().filter(|arg| !arg.is_null()).map(|arg| concat_text(arg, mode));
            Value::text(texts.collect::<String>())
        }
        Function::ConcatWith => match args.split_first() {
            None | Some((Value::Null, _)) => Value::Null,
            Some((separator, rest)) => {
                let texts: Vec<String> =
                    rest.iter().filter(|arg| !arg.is_null()).map(|arg| concat_text(arg, mode)).collect();
                Value::text(texts.join(&to_text(separator, mode.settings)))
            }
        },
        Function::Typeof => Value::text(match args.first() {
            None | Some(Value::Null) => "null",
            Some(Value::Int(_) | Value::UInt(_) | Value::Bool(_)) => "integer",
            Some(Value::Float(_) | Value::Decimal(_)) => "real",
            Some(Value::Bytes(_)) => "blob",
            Some(_) => "text",
        }),
        Function::Quote => match args.first() {
            None | Some(Value::Null) => Value::text("NULL"),
            Some(Value::Text(text)) => Value::text(format!("'{}'", text.replace('\'', "''"))),
            Some(Value::Bytes(bytes)) => Value::text(format!("X'{}'", hex(bytes).to_uppercase())),
            Some(other) => Value::text(sqlite_text(other)),
        },
        Function::Field => {
            let Some((wanted, rest)) = args.split_first() else { return Ok(Some(Value::Int(0))) };
            let is_same = |arg: &Value| {
                let order = crate::compare::compare(wanted, arg, mysql_comparison(mode), mode)?;
                Ok::<bool, crate::error::SqlError>(order.is_eq())
            };
            let mut found = 0;
            for (n, arg) in rest.iter().enumerate() {
                if !wanted.is_null() && !arg.is_null() && found == 0 && is_same(arg)? {
                    found = n as i64 + 1;
                }
            }
            Value::Int(found)
        }
        _ => return Ok(None),
    }))
}

fn mysql_comparison(mode: Mode<'_>) -> crate::ir::Comparison {
    let collation = if mode.settings.ignores_case {
        crate::value::Collation::PaddedNoCase
    } else {
        crate::value::Collation::Padded
    };
    crate::ir::Comparison { collation, rules: crate::ir::Rules::MySql }
}

/// The text of a value in `concat`: PostgreSQL's output form, where true is `t`.
fn concat_text(value: &Value, mode: Mode<'_>) -> String {
    match value {
        Value::Bool(is) if mode.settings.is_postgres() => if *is { "t" } else { "f" }.to_owned(),
        other => to_text(other, mode.settings),
    }
}

fn integer(value: &Value, mode: Mode<'_>) -> Result<i64> {
    match value {
        Value::Int(n) => Ok(*n),
        Value::Decimal(n) if mode.settings.is_mysql() => Ok(n.to_i64().unwrap_or(i64::MAX)),
        _ if mode.settings.is_sqlite() => Ok(crate::cast::sqlite_integer(value)),
        _ => match cast(value, Cast { to: Type::INT8, mode: CastMode::Implicit }, mode)? {
            Value::Int(n) => Ok(n),
            _ => wrong_type("an integer was expected"),
        },
    }
}

/// The number of an argument, in the kind that the dialect computes with.
fn operand(value: &Value, mode: Mode<'_>) -> Result<Value> {
    Ok(match value {
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) => value.clone(),
        _ if mode.settings.is_sqlite() => sqlite_operand(value),
        other => Value::Float(mysql_float(other, mode)?),
    })
}

fn number(function: Function, args: &[Value], mode: Mode<'_>) -> Result<Value> {
    let value = operand(args.first().unwrap_or(&Value::Null), mode)?;
    if matches!(function, Function::Round | Function::Truncate) {
        return round(function, &value, args.get(1), mode);
    }
    if mode.settings.is_sqlite() && matches!(function, Function::Ceil | Function::Floor | Function::Sign) {
        // A text that is not a number is NULL here.
        if let Some(Value::Text(text)) = args.first() {
            if !crate::cast::number_prefix(text).1 {
                return Ok(Value::Null);
            }
        }
    }
    Ok(match (function, value) {
        (Function::Abs, Value::Int(n)) => match n.checked_abs() {
            Some(n) => Value::Int(n),
            None => return overflow("integer out of range"),
        },
        (Function::Abs, Value::Decimal(n)) => Value::decimal(n.abs()),
        (Function::Abs, Value::Float(n)) => Value::Float(n.abs()),
        (Function::Sign, Value::Int(n)) => Value::Int(n.signum()),
        (Function::Sign, Value::UInt(n)) => Value::Int(i64::from(n > 0)),
        (Function::Sign, Value::Decimal(n)) => {
            let sign = if n.is_zero() {
                0
            } else if n.is_negative() {
                -1
            } else {
                1
            };
            if mode.settings.is_postgres() { Value::decimal(Decimal::from(sign)) } else { Value::Int(sign) }
        }
        (Function::Sign, Value::Float(n)) => {
            let sign = if n == 0.0 || n.is_nan() { 0.0 } else { n.signum() };
            if mode.settings.is_postgres() { Value::Float(sign) } else { Value::Int(sign as i64) }
        }
        (Function::Ceil, Value::Decimal(n)) => whole(n.ceil(), mode),
        (Function::Floor, Value::Decimal(n)) => whole(n.floor(), mode),
        (Function::Ceil, Value::Float(n)) => Value::Float(n.ceil()),
        (Function::Floor, Value::Float(n)) => Value::Float(n.floor()),
        (_, other) => other,
    })
}

/// The result of CEIL and FLOOR: in MySQL an integer if it fits.
fn whole(number: Decimal, mode: Mode<'_>) -> Value {
    match number.exact_i64() {
        Some(n) if mode.settings.is_mysql() => Value::Int(n),
        _ => Value::decimal(number),
    }
}

fn round(function: Function, value: &Value, places: Option<&Value>, mode: Mode<'_>) -> Result<Value> {
    let truncate = function == Function::Truncate;
    let places = match places {
        Some(places) => integer(places, mode)?.clamp(-1000, 1000) as i32,
        None => 0,
    };
    if mode.settings.is_sqlite() {
        return Ok(sqlite_round(value, places, truncate));
    }
    let exact = |number: &Decimal, places: i32| match u32::try_from(places) {
        Err(_) => number.rounded_before(places.unsigned_abs(), truncate),
        Ok(places) if truncate => number.truncated_to(places),
        Ok(places) => number.rounded_to(places),
    };
    Ok(match value {
        Value::Int(_) | Value::UInt(_) if places >= 0 => value.clone(),
        Value::Int(n) => match exact(&Decimal::from(*n), places).exact_i64() {
            Some(n) => Value::Int(n),
            None => return overflow("integer out of range"),
        },
        Value::UInt(n) => match exact(&Decimal::from(*n), places).to_u64() {
            Some(n) => Value::UInt(n),
            None => return overflow("integer out of range"),
        },
        Value::Decimal(n) => {
            // MySQL never adds digits.
            let places = if mode.settings.is_mysql() { places.min(n.scale().cast_signed()) } else { places };
            Value::decimal(exact(n, places))
        }
        Value::Float(n) if places == 0 => {
            Value::Float(if truncate { n.trunc() } else { n.round_ties_even() })
        }
        Value::Float(n) => Value::Float(float_places(*n, places, truncate)),
        _ => return wrong_type("a number was expected"),
    })
}

/// MySQL's rounding of floats at a place.
fn float_places(n: f64, places: i32, truncate: bool) -> f64 {
    let unit = 10_f64.powi(places.abs());
    let scaled = if places < 0 { n / unit } else { n * unit };
    if !scaled.is_finite() || !unit.is_finite() {
        return if places < 0 { 0.0 } else { n };
    }
    let whole = if truncate { scaled.trunc() } else { scaled.round_ties_even() };
    if places < 0 { whole * unit } else { whole / unit }
}

fn sqlite_round(value: &Value, places: i32, truncate: bool) -> Value {
    let n = loose_float(value);
    if truncate {
        return if let Value::Int(_) = value { value.clone() } else { Value::Float(n.trunc()) };
    }
    let places = places.clamp(0, 30);
    // Beyond 52 bits there is no fraction.
    if !(-4_503_599_627_370_496.0..=4_503_599_627_370_496.0).contains(&n) {
        return Value::Float(n);
    }
    if places == 0 {
        return Value::Float((n + if n < 0.0 { -0.5 } else { 0.5 }).trunc());
    }
    // SQLite prints with 15 significant digits more than that and reads the text.
    let rounded = Decimal::from_f64(n).map(|n| n.rounded_to(places.cast_unsigned()));
    Value::Float(rounded.map_or(n, |n| n.to_f64()))
}

fn float(function: Function, args: &[Value], mode: Mode<'_>) -> Result<Value> {
    let mut numbers = Vec::with_capacity(2);
    for arg in args {
        if mode.settings.is_postgres() && matches!(arg, Value::Decimal(_)) {
            return unsupported("this function of numeric");
        }
        numbers.push(if mode.settings.is_mysql() { mysql_float(arg, mode)? } else { loose_float(arg) });
    }
    let first = numbers.first().copied().unwrap_or(0.0);
    let result = match function {
        Function::Power => first.powf(numbers.get(1).copied().unwrap_or(0.0)),
        Function::Sqrt => first.sqrt(),
        Function::Exp => first.exp(),
        _ => first.ln(),
    };
    if result.is_finite() {
        return Ok(Value::Float(result));
    }
    if mode.settings.is_postgres() || (mode.settings.is_mysql() && function == Function::Power) {
        return overflow("a float is out of range");
    }
    if mode.settings.is_sqlite() && result.is_infinite() { Ok(Value::Float(result)) } else { Ok(Value::Null) }
}

fn part(function: Function, value: &Value) -> Result<Value> {
    let Some(Value::Timestamp(micros)) = to_moment(value, Type::Timestamp) else { return Ok(Value::Null) };
    let (year, month, day) = moment::civil(i32::try_from(micros.div_euclid(DAY)).unwrap_or(0));
    let seconds = micros.rem_euclid(DAY) / 1_000_000;
    Ok(Value::Int(match function {
        Function::Year => year,
        Function::Month => i64::from(month),
        Function::Day => i64::from(day),
        Function::Hour => seconds / 3600,
        Function::Minute => seconds / 60 % 60,
        _ => seconds % 60,
    }))
}

fn add_days(function: Function, date: &Value, days: &Value, mode: Mode<'_>) -> Result<Value> {
    let sign = if function == Function::DateAdd { 1 } else { -1 };
    let days = integer(days, mode)?.saturating_mul(sign);
    let moved = match to_moment(date, Type::Timestamp) {
        Some(Value::Timestamp(micros)) => days.checked_mul(DAY).and_then(|days| micros.checked_add(days)),
        _ => None,
    };
    Ok(match (moved, date) {
        (Some(micros), Value::Date(_)) => {
            Value::Date(i32::try_from(micros.div_euclid(DAY)).unwrap_or(i32::MAX))
        }
        (Some(micros), _) => Value::Timestamp(micros),
        (None, _) => Value::Null,
    })
}

fn text(function: Function, args: &[Value], mode: Mode<'_>) -> Result<Value> {
    let texts: Vec<String> = args.iter().map(|arg| to_text(arg, mode.settings)).collect();
    let at = |n: usize| texts.get(n).map_or("", String::as_str);
    let int = |n: usize| args.get(n).map_or(Ok(0), |arg| integer(arg, mode));
    let chars = |text: &str| Value::Int(text.chars().count() as i64);
    use Function as F;
    Ok(match function {
        F::CharLength => match args.first() {
            Some(Value::Bytes(bytes)) => Value::Int(bytes.len() as i64),
            _ => chars(at(0)),
        },
        F::OctetLength => Value::Int(at(0).len() as i64),
        F::BitLength => Value::Int(at(0).len() as i64 * 8),
        F::Upper if mode.settings.is_sqlite() => Value::text(at(0).to_ascii_uppercase()),
        F::Lower if mode.settings.is_sqlite() => Value::text(at(0).to_ascii_lowercase()),
        F::Upper => Value::text(at(0).to_uppercase()),
        F::Lower => Value::text(at(0).to_lowercase()),
        F::Substring => {
            let length = if args.len() > 2 { Some(int(2)?) } else { None };
            substring(at(0), int(1)?, length, mode)?
        }
        F::Left => Value::text(side(at(0), int(1)?, true, mode)),
        F::Right => Value::text(side(at(0), int(1)?, false, mode)),
        F::Trim | F::TrimStart | F::TrimEnd => {
            Value::text(trim(function, at(0), args.get(1).map(|_| at(1)), mode))
        }
        F::Replace if at(1).is_empty() => Value::text(at(0)),
        F::Replace => Value::text(limited(at(0).replace(at(1), at(2)))?),
        F::Position => Value::Int(position(at(0), at(1), mode)?),
        F::Repeat => {
            let count = usize::try_from(int(1)?).unwrap_or(0);
            if at(0).len().saturating_mul(count) > LONGEST {
                return unsupported("a text of more than 16 MiB");
            }
            Value::text(at(0).repeat(count))
        }
        F::Reverse => Value::text(at(0).chars().rev().collect::<String>()),
        F::PadStart | F::PadEnd => {
            pad(function, at(0), int(1)?, if args.len() > 2 { at(2) } else { " " }, mode)?
        }
        F::ConcatStrict => Value::text(limited(texts.concat())?),
        F::Hex => match args.first() {
            Some(Value::Int(n)) if mode.settings.is_mysql() => Value::text(format!("{n:X}")),
            Some(Value::Bytes(bytes)) => Value::text(hex(bytes).to_uppercase()),
            _ => Value::text(hex(at(0).as_bytes()).to_uppercase()),
        },
        F::Ascii => Value::Int(match at(0).chars().next() {
            Some(first) if mode.settings.is_mysql() => {
                i64::from(at(0).as_bytes().first().copied().unwrap_or(first as u8))
            }
            Some(first) => i64::from(u32::from(first)),
            None => 0,
        }),
        F::Chr => match u32::try_from(int(0)?).ok().and_then(char::from_u32).filter(|c| *c != '\0') {
            Some(c) => Value::text(c.to_string()),
            None => return wrong_cast("not a character"),
        },
        F::SplitPart => match int(2)? {
            0 => return wrong_cast("the part must not be 0"),
            n => {
                let parts: Vec<&str> =
                    if at(1).is_empty() { vec![at(0)] } else { at(0).split(at(1)).collect() };
                let place = if n > 0 {
                    usize::try_from(n - 1).ok()
                } else {
                    (parts.len() as i64 + n).try_into().ok()
                };
                Value::text(place.and_then(|place: usize| parts.get(place).copied()).unwrap_or(""))
            }
        },
        F::StartsWith => Value::Bool(at(0).starts_with(at(1))),
        F::Collate => args.first().cloned().unwrap_or(Value::Null),
        _ => return unsupported("this function"),
    })
}

fn limited(text: String) -> Result<String> {
    if text.len() > LONGEST { unsupported("a text of more than 16 MiB") } else { Ok(text) }
}

fn substring(text: &str, from: i64, length: Option<i64>, mode: Mode<'_>) -> Result<Value> {
    let count = text.chars().count() as i64;
    let (mut start, mut end) = match length {
        None => (from, i64::MAX),
        Some(length) => (from, from.saturating_add(length)),
    };
    if mode.settings.is_postgres() {
        if length.is_some_and(|length| length < 0) {
            return wrong_cast("negative substring length");
        }
    } else {
        // A negative start counts from the end.
        if from < 0 {
            start = count + from + 1;
            if mode.settings.is_mysql() && start < 1 {
                return Ok(Value::text(""));
            }
            end = length.map_or(i64::MAX, |length| start.saturating_add(length));
        } else if from == 0 && mode.settings.is_mysql() {
            return Ok(Value::text(""));
        }
        if let Some(length) = length.filter(|length| *length < 0) {
            if mode.settings.is_mysql() {
                return Ok(Value::text(""));
            }
            // SQLite takes the characters before the start.
            (start, end) = (start.saturating_add(length), start);
        }
    }
    let skip = (start - 1).max(0);
    let take = (end.min(count + 1) - 1 - skip).max(0);
    Ok(Value::text(text.chars().skip(skip as usize).take(take as usize).collect::<String>()))
}

fn side(text: &str, count: i64, is_left: bool, mode: Mode<'_>) -> String {
    let length = text.chars().count() as i64;
    // PostgreSQL: all but the last so many.
    let count = if count < 0 && mode.settings.is_postgres() { length.saturating_add(count) } else { count };
    let count = count.clamp(0, length) as usize;
    if is_left {
        text.chars().take(count).collect()
    } else {
        text.chars().skip(length as usize - count).collect()
    }
}

fn trim(function: Function, text: &str, what: Option<&str>, mode: Mode<'_>) -> String {
    let mut text = text;
    let (at_start, at_end) = (function != Function::TrimEnd, function != Function::TrimStart);
    match what {
        // MySQL removes a text, the others a set of characters.
        Some("") => {}
        Some(what) if mode.settings.is_mysql() => {
            while let Some(rest) = text.strip_prefix(what).filter(|_| at_start) {
                text = rest;
            }
            while let Some(rest) = text.strip_suffix(what).filter(|_| at_end) {
                text = rest;
            }
        }
        what => {
            let is_removed = |c: char| what.unwrap_or(" ").contains(c);
            text = if at_start { text.trim_start_matches(is_removed) } else { text };
            text = if at_end { text.trim_end_matches(is_removed) } else { text };
        }
    }
    text.to_owned()
}

/// The position of the second text in the first, from 1, or 0.
fn position(text: &str, part: &str, mode: Mode<'_>) -> Result<i64> {
    let (text, part) = if mode.settings.is_mysql() && mode.settings.ignores_case {
        if !(text.is_ascii() && part.is_ascii()) {
            return indeterminate("the collation of texts that are not ASCII");
        }
        (text.to_ascii_lowercase(), part.to_ascii_lowercase())
    } else {
        (text.to_owned(), part.to_owned())
    };
    Ok(text.find(&part).map_or(0, |at| text[..at].chars().count() as i64 + 1))
}

fn pad(function: Function, text: &str, length: i64, with: &str, mode: Mode<'_>) -> Result<Value> {
    if length < 0 && mode.settings.is_mysql() {
        return Ok(Value::Null);
    }
    let length = length.max(0) as usize;
    if length > LONGEST / 4 {
        return unsupported("a text of more than 16 MiB");
    }
    let count = text.chars().count();
    if count >= length {
        return Ok(Value::text(text.chars().take(length).collect::<String>()));
    }
    if with.is_empty() {
        return Ok(if mode.settings.is_mysql() { Value::text("") } else { Value::text(text) });
    }
    let padding: String = with.chars().cycle().take(length - count).collect();
    Ok(Value::text(if function == Function::PadStart { padding + text } else { text.to_owned() + &padding }))
}

/// Whether a text matches a LIKE pattern. `fold` ignores the case of ASCII letters. The work is bounded by the product of
/// the lengths.
pub(crate) fn like(text: &str, pattern: &str, escape: Option<char>, fold: bool) -> bool {
    #[derive(Clone, Copy, PartialEq)]
    enum Token {
        Many,
        One,
        Char(char),
    }
    let case = |c: char| if fold { c.to_ascii_lowercase() } else { c };
    let mut tokens = Vec::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            c if Some(c) == escape => Token::Char(case(chars.next().unwrap_or(c))),
            '%' => Token::Many,
            '_' => Token::One,
            c => Token::Char(case(c)),
        });
    }
    let text: Vec<char> = text.chars().map(case).collect();
    let (mut at, mut token) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while at < text.len() {
        match tokens.get(token) {
            Some(Token::Many) => {
                retry = Some((token, at));
                token += 1;
                continue;
            }
            Some(Token::One) => {}
            Some(Token::Char(c)) if text[at] == *c => {}
            _ => match retry {
                Some((many, from)) => {
                    retry = Some((many, from + 1));
                    (token, at) = (many + 1, from + 1);
                    continue;
                }
                None => return false,
            },
        }
        at += 1;
        token += 1;
    }
    tokens[token..].iter().all(|token| *token == Token::Many)
}

#[cfg(test)]
mod tests {
    use super::like;

    #[test]
    fn patterns_match() {
        for (text, pattern, matches) in [
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "_b_", true),
            ("abc", "a", false),
            ("", "%", true),
            ("", "_", false),
            ("a%c", "a\\%c", true),
            ("abc", "a\\%c", false),
            ("aaab", "%a%ab", true),
            ("ABC", "abc", false),
        ] {
            assert_eq!(like(text, pattern, Some('\\'), false), matches, "{text} {pattern}");
        }
        assert!(like("ABC", "a%C", None, true));
    }
}

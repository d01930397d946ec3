//! Functions of values.
//!
//! Arguments of PostgreSQL's functions have been converted when the statement was bound; those of MySQL and SQLite are
//! converted here. All functions are NULL if an argument is, unless stated.

use crate::cast::{Mode, cast, loose_float, mysql_float, sqlite_operand, sqlite_text, to_moment, to_text};
use crate::decimal::Decimal;
use crate::error::{Result, indeterminate, overflow, unsupported, wrong_cast, wrong_type};
use crate::ir::{Cast, CastMode, Function, Function as F};
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
    match function {
        F::Abs | F::Sign | F::Ceil | F::Floor | F::Round | F::Truncate => number(function, args, mode),
        F::Power | F::Sqrt | F::Exp | F::Ln => float(function, args, mode),
        F::Year | F::Month | F::Day | F::Hour | F::Minute | F::Second => Ok(part(function, at(0))),
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
        if let [text, what, Value::Null] = args
            && !text.is_null()
            && !what.is_null()
        {
            return unsupported("REPLACE with NULL");
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
                    found = signed(n) + 1;
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
        if let Some(Value::Text(text)) = args.first()
            && !crate::cast::number_prefix(text).1
        {
            return Ok(Value::Null);
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

/// A length or a position.
fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn part(function: Function, value: &Value) -> Value {
    let Some(Value::Timestamp(micros)) = to_moment(value, Type::Timestamp) else { return Value::Null };
    let (year, month, day) = moment::civil(i32::try_from(micros.div_euclid(DAY)).unwrap_or(0));
    let seconds = micros.rem_euclid(DAY) / 1_000_000;
    Value::Int(match function {
        Function::Year => year,
        Function::Month => i64::from(month),
        Function::Day => i64::from(day),
        Function::Hour => seconds / 3600,
        Function::Minute => seconds / 60 % 60,
        _ => seconds % 60,
    })
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

/// The arguments of a function of texts.
struct Texts<'a> {
    args: &'a [Value],
    of_args: Vec<String>,
    mode: Mode<'a>,
}

impl Texts<'_> {
    fn at(&self, n: usize) -> &str {
        self.of_args.get(n).map_or("", String::as_str)
    }

    fn int(&self, n: usize) -> Result<i64> {
        self.args.get(n).map_or(Ok(0), |arg| integer(arg, self.mode))
    }
}

fn text(function: Function, args: &[Value], mode: Mode<'_>) -> Result<Value> {
    let of_args = args.iter().map(|arg| to_text(arg, mode.settings)).collect();
    let texts = Texts { args, of_args, mode };
    match function {
        F::CharLength | F::OctetLength | F::BitLength | F::Position | F::Ascii => measured(function, &texts),
        F::Upper | F::Lower | F::Trim | F::TrimStart | F::TrimEnd | F::Replace | F::Reverse | F::Hex => {
            changed(function, &texts)
        }
        F::Substring | F::Left | F::Right | F::SplitPart => taken(function, &texts),
        F::Repeat => {
            let count = usize::try_from(texts.int(1)?).unwrap_or(0);
            if texts.at(0).len().saturating_mul(count) > LONGEST {
                return unsupported("a text of more than 16 MiB");
            }
            Ok(Value::text(texts.at(0).repeat(count)))
        }
        F::PadStart | F::PadEnd => {
            let with = if args.len() > 2 { texts.at(2) } else { " " };
            pad(function, texts.at(0), texts.int(1)?, with, mode)
        }
        F::ConcatStrict => Ok(Value::text(limited(texts.of_args.concat())?)),
        F::Chr => match u32::try_from(texts.int(0)?).ok().and_then(char::from_u32).filter(|c| *c != '\0') {
            Some(c) => Ok(Value::text(c.to_string())),
            None => wrong_cast("not a character"),
        },
        F::StartsWith => Ok(Value::Bool(texts.at(0).starts_with(texts.at(1)))),
        F::Collate => Ok(args.first().cloned().unwrap_or(Value::Null)),
        _ => unsupported("this function"),
    }
}

/// A number that describes a text.
fn measured(function: Function, texts: &Texts<'_>) -> Result<Value> {
    let text = texts.at(0);
    Ok(Value::Int(match function {
        F::CharLength => match texts.args.first() {
            Some(Value::Bytes(bytes)) => signed(bytes.len()),
            _ => signed(text.chars().count()),
        },
        F::OctetLength => signed(text.len()),
        F::BitLength => signed(text.len()) * 8,
        F::Position => position(text, texts.at(1), texts.mode)?,
        // MySQL's ASCII is the first byte.
        _ if texts.mode.settings.is_mysql() => text.bytes().next().map_or(0, i64::from),
        _ => text.chars().next().map_or(0, |first| i64::from(u32::from(first))),
    }))
}

/// A text with other characters.
fn changed(function: Function, texts: &Texts<'_>) -> Result<Value> {
    let (text, settings) = (texts.at(0), texts.mode.settings);
    Ok(Value::text(match function {
        F::Upper if settings.is_sqlite() => text.to_ascii_uppercase(),
        F::Lower if settings.is_sqlite() => text.to_ascii_lowercase(),
        F::Upper => text.to_uppercase(),
        F::Lower => text.to_lowercase(),
        F::Replace if texts.at(1).is_empty() => text.to_owned(),
        F::Replace => limited(text.replace(texts.at(1), texts.at(2)))?,
        F::Reverse => text.chars().rev().collect(),
        F::Hex => match texts.args.first() {
            Some(Value::Int(n)) if settings.is_mysql() => format!("{n:X}"),
            Some(Value::Bytes(bytes)) => hex(bytes).to_uppercase(),
            _ => hex(text.as_bytes()).to_uppercase(),
        },
        _ => trim(function, text, texts.args.get(1).map(|_| texts.at(1)), texts.mode),
    }))
}

/// A part of a text.
fn taken(function: Function, texts: &Texts<'_>) -> Result<Value> {
    let (text, n) = (texts.at(0), texts.int(if function == F::SplitPart { 2 } else { 1 })?);
    match function {
        F::Substring => {
            let length = if texts.args.len() > 2 { Some(texts.int(2)?) } else { None };
            substring(text, n, length, texts.mode)
        }
        F::SplitPart if n == 0 => wrong_cast("the part must not be 0"),
        F::SplitPart => {
            let parts: Vec<&str> =
                if texts.at(1).is_empty() { vec![text] } else { text.split(texts.at(1)).collect() };
            // A negative number counts from the end.
            let place = if n > 0 { n - 1 } else { signed(parts.len()).saturating_add(n) };
            let part = usize::try_from(place).ok().and_then(|place| parts.get(place).copied());
            Ok(Value::text(part.unwrap_or("")))
        }
        _ => Ok(Value::text(side(text, n, function == F::Left, texts.mode))),
    }
}

fn limited(text: String) -> Result<String> {
    if text.len() > LONGEST { unsupported("a text of more than 16 MiB") } else { Ok(text) }
}

fn substring(text: &str, from: i64, length: Option<i64>, mode: Mode<'_>) -> Result<Value> {
    let count = signed(text.chars().count());
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
    let size = |n: i64| usize::try_from(n).unwrap_or(0);
    Ok(Value::text(text.chars().skip(size(skip)).take(size(take)).collect::<String>()))
}

fn side(text: &str, count: i64, is_left: bool, mode: Mode<'_>) -> String {
    let length = text.chars().count();
    // PostgreSQL: all but the last n.
    let count =
        if count < 0 && mode.settings.is_postgres() { signed(length).saturating_add(count) } else { count };
    let count = usize::try_from(count.max(0)).unwrap_or(length).min(length);
    if is_left { text.chars().take(count).collect() } else { text.chars().skip(length - count).collect() }
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
    Ok(text.find(&part).map_or(0, |at| signed(text[..at].chars().count()) + 1))
}

fn pad(function: Function, text: &str, length: i64, with: &str, mode: Mode<'_>) -> Result<Value> {
    if length < 0 && mode.settings.is_mysql() {
        return Ok(Value::Null);
    }
    let length = usize::try_from(length.max(0)).unwrap_or(usize::MAX);
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

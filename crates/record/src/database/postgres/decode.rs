//! Decodes PostgreSQL's binary values. Integers, floats and booleans keep their type; all other values become PostgreSQL's
//! text form.

use std::error::Error;

use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Kind, Type};

use crate::Scalar;
use crate::database::hex;

/// Whether values of the type can be decoded.
pub(super) fn is_known(kind: &Type) -> bool {
    match kind.kind() {
        Kind::Array(element) => is_known(element) && !matches!(element.kind(), Kind::Array(_)),
        Kind::Enum(_) => true,
        Kind::Domain(base) => is_known(base),
        _ => {
            is_text(kind)
                || matches!(
                    *kind,
                    Type::BOOL
                        | Type::INT2
                        | Type::INT4
                        | Type::INT8
                        | Type::OID
                        | Type::XID
                        | Type::CID
                        | Type::XID8
                        | Type::FLOAT4
                        | Type::FLOAT8
                        | Type::NUMERIC
                        | Type::DATE
                        | Type::TIME
                        | Type::TIMESTAMP
                        | Type::TIMESTAMPTZ
                        | Type::UUID
                        | Type::BYTEA
                        | Type::JSONB
                        | Type::VOID
                )
        }
    }
}

fn is_text(kind: &Type) -> bool {
    matches!(
        *kind,
        Type::TEXT
            | Type::VARCHAR
            | Type::BPCHAR
            | Type::NAME
            | Type::UNKNOWN
            | Type::JSON
            | Type::XML
            | Type::CHAR
    )
}

/// The values of a row.
pub(super) fn row(row: &Row) -> Result<Vec<Scalar>, tokio_postgres::Error> {
    (0..row.len())
        .map(|at| row.try_get::<_, Option<Column>>(at).map(|cell| cell.map_or(Scalar::Null, |c| c.0)))
        .collect()
}

struct Column(Scalar);

impl<'a> FromSql<'a> for Column {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Column, Box<dyn Error + Sync + Send>> {
        scalar(kind, raw)
            .map(Column)
            .ok_or_else(|| format!("a value of type {kind} is not as expected").into())
    }

    fn accepts(kind: &Type) -> bool {
        is_known(kind)
    }
}

fn scalar(kind: &Type, raw: &[u8]) -> Option<Scalar> {
    match kind.kind() {
        Kind::Domain(base) => return scalar(base, raw),
        Kind::Array(element) => return array(element, raw).map(Scalar::Text),
        _ => {}
    }
    Some(match *kind {
        Type::BOOL => Scalar::Bool(raw.first() == Some(&1)),
        Type::INT2 => Scalar::Int(i16::from_be_bytes(raw.try_into().ok()?).into()),
        Type::INT4 => Scalar::Int(i32::from_be_bytes(raw.try_into().ok()?).into()),
        Type::INT8 | Type::XID8 => Scalar::Int(i64::from_be_bytes(raw.try_into().ok()?)),
        Type::OID | Type::XID | Type::CID => Scalar::Int(u32::from_be_bytes(raw.try_into().ok()?).into()),
        Type::FLOAT4 => Scalar::Float(f32::from_be_bytes(raw.try_into().ok()?).into()),
        Type::FLOAT8 => Scalar::Float(f64::from_be_bytes(raw.try_into().ok()?)),
        Type::NUMERIC => Scalar::Text(numeric(raw)?),
        Type::DATE => Scalar::Text(date(i32::from_be_bytes(raw.try_into().ok()?).into())),
        Type::TIME => Scalar::Text(time(i64::from_be_bytes(raw.try_into().ok()?))),
        Type::TIMESTAMP => Scalar::Text(timestamp(i64::from_be_bytes(raw.try_into().ok()?), "")),
        Type::TIMESTAMPTZ => Scalar::Text(timestamp(i64::from_be_bytes(raw.try_into().ok()?), "+00")),
        Type::UUID => Scalar::Text(uuid(raw)),
        Type::BYTEA => Scalar::Text(format!("\\x{}", hex(raw))),
        Type::JSONB => Scalar::Text(crate::database::text(raw.get(1..)?)),
        _ => Scalar::Text(crate::database::text(raw)),
    })
}

fn uuid(raw: &[u8]) -> String {
    let mut text = hex(raw);
    for at in [20, 16, 12, 8] {
        if at < text.len() {
            text.insert(at, '-');
        }
    }
    text
}

/// Splits `N` bytes off the front.
fn take<const N: usize>(raw: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = raw.split_first_chunk::<N>()?;
    *raw = tail;
    Some(*head)
}

/// A number in groups of four decimal digits: `weight` is the power of 10,000 of the first group, `scale` the number of
/// decimals to show.
fn numeric(mut raw: &[u8]) -> Option<String> {
    let count = i16::from_be_bytes(take(&mut raw)?);
    let weight = i16::from_be_bytes(take(&mut raw)?);
    let sign = u16::from_be_bytes(take(&mut raw)?);
    let scale = usize::try_from(i16::from_be_bytes(take(&mut raw)?)).ok()?;
    match sign {
        0xC000 => return Some("NaN".to_owned()),
        0xD000 => return Some("Infinity".to_owned()),
        0xF000 => return Some("-Infinity".to_owned()),
        _ => {}
    }
    let mut digits = Vec::new();
    for _ in 0..count {
        digits.push(i16::from_be_bytes(take(&mut raw)?));
    }
    let digit = |power: i16| {
        let at = i32::from(weight) - i32::from(power);
        usize::try_from(at).ok().and_then(|at| digits.get(at)).copied().unwrap_or(0)
    };
    let mut whole = String::new();
    for power in (0..=weight.max(0)).rev() {
        whole.push_str(&format!("{:04}", digit(power)));
    }
    let whole = whole.trim_start_matches('0');
    let mut text =
        format!("{}{}", if sign == 0x4000 { "-" } else { "" }, if whole.is_empty() { "0" } else { whole });
    if scale > 0 {
        let groups = i16::try_from(scale.div_ceil(4)).ok()?;
        let decimals = (1..=groups).fold(String::new(), |text, group| format!("{text}{:04}", digit(-group)));
        text.push('.');
        text.push_str(&decimals[..scale]);
    }
    Some(text)
}

const DAY: i64 = 86_400_000_000;

/// A date from days since 2000-01-01, in the proleptic Gregorian calendar. The largest and smallest values are infinite.
fn date(days: i64) -> String {
    match days {
        i64::MAX => return "infinity".to_owned(),
        i64::MIN => return "-infinity".to_owned(),
        _ if days == i64::from(i32::MAX) => return "infinity".to_owned(),
        _ if days == i64::from(i32::MIN) => return "-infinity".to_owned(),
        _ => {}
    }
    // Count from 1 March of the year 0. The leap day is then the last day of its year and of its era of 400 years.
    let since = days + 730_425;
    let era = since.div_euclid(146_097);
    let day = since.rem_euclid(146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let year = year + era * 400 + i64::from(month <= 2);
    if year > 0 {
        format!("{year:04}-{month:02}-{day:02}")
    } else {
        format!("{:04}-{month:02}-{day:02} BC", 1 - year)
    }
}

fn time(micros: i64) -> String {
    let seconds = micros / 1_000_000;
    let text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    match micros % 1_000_000 {
        0 => text,
        rest => format!("{text}.{rest:06}").trim_end_matches('0').to_owned(),
    }
}

fn timestamp(micros: i64, zone: &str) -> String {
    if micros == i64::MAX || micros == i64::MIN {
        return date(micros);
    }
    let day = date(micros.div_euclid(DAY));
    let (day, era) = day.strip_suffix(" BC").map_or((day.as_str(), ""), |day| (day, " BC"));
    format!("{day} {}{zone}{era}", time(micros.rem_euclid(DAY)))
}

/// An array of one dimension or none. More dimensions are flattened.
fn array(element: &Type, mut raw: &[u8]) -> Option<String> {
    let dimensions = i32::from_be_bytes(take(&mut raw)?);
    let _flags: [u8; 4] = take(&mut raw)?;
    let _type: [u8; 4] = take(&mut raw)?;
    for _ in 0..dimensions {
        let _length_and_bound: [u8; 8] = take(&mut raw)?;
    }
    let mut cells = Vec::new();
    while !raw.is_empty() {
        let length = i32::from_be_bytes(take(&mut raw)?);
        let Ok(length) = usize::try_from(length) else {
            cells.push("NULL".to_owned());
            continue;
        };
        let (cell, tail) = raw.split_at_checked(length)?;
        raw = tail;
        cells.push(match scalar(element, cell)? {
            Scalar::Null => "NULL".to_owned(),
            Scalar::Bool(is) => (if is { "t" } else { "f" }).to_owned(),
            Scalar::Int(n) => n.to_string(),
            Scalar::Float(n) => n.to_string(),
            Scalar::Text(text) => quoted(text),
        });
    }
    Some(format!("{{{}}}", cells.join(",")))
}

/// An element of an array, in quotes if it would be ambiguous without them.
fn quoted(text: String) -> String {
    let is_plain = !text.is_empty()
        && !text.eq_ignore_ascii_case("null")
        && !text.contains(|c: char| c.is_whitespace() || "{},\"\\".contains(c));
    if is_plain { text } else { format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")) }
}

#[cfg(test)]
mod tests {
    use super::{date, time, timestamp};

    #[test]
    fn days_have_their_dates() {
        for (days, text) in [
            (0, "2000-01-01"),
            (59, "2000-02-29"),
            (366, "2001-01-01"),
            (-1, "1999-12-31"),
            (9_817, "2026-11-17"),
            (-730_119, "0001-01-01"),
            (-730_120, "0001-12-31 BC"),
            (36_584, "2100-03-01"),
        ] {
            assert_eq!(date(days), text, "{days}");
        }
    }

    #[test]
    fn times_have_as_many_decimals_as_they_need() {
        assert_eq!(time(0), "00:00:00");
        assert_eq!(time(86_399_500_000), "23:59:59.5");
        assert_eq!(timestamp(-1, ""), "1999-12-31 23:59:59.999999");
        assert_eq!(timestamp(i64::MAX, ""), "infinity");
    }
}

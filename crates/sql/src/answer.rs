//! Answers, and whether a logged answer is one that a correct database may give.

use std::fmt;

use isoscope_log::{Answer, Scalar};
use rustc_hash::FxHashMap;

use crate::cast::to_moment;
use crate::decimal::Decimal;
use crate::dialect::{Dialect, Settings};
use crate::value::{Hole, Type, Value, hex};

/// Why a correct database may give another answer than the one that was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// It may fail with an error instead: parts of a condition may be evaluated in any order, and rows updated in any
    /// order.
    MayFail,
    /// It may choose other rows or values: LIMIT without a total order, columns that are not grouped, equal values that
    /// are spelled differently. Neither the answer nor the changes are certain.
    Choice,
    /// A sum of floats depends on the order of the rows in its last digits.
    FloatSum,
}

/// The rows of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// All rows before OFFSET and LIMIT, in order.
    pub rows: Vec<Vec<Value>>,
    /// The rank of each row in the order, never decreasing; rows of the same rank may be in any order. `None` if there is no
    /// ORDER BY.
    pub ranks: Option<Vec<u32>>,
    /// OFFSET.
    pub skip: usize,
    /// LIMIT.
    pub take: Option<usize>,
}

impl Rows {
    /// Rows in any order.
    pub fn unordered(columns: Vec<String>, rows: Vec<Vec<Value>>) -> Rows {
        Rows { columns, rows, ..Rows::default() }
    }

    /// The positions of the rows that the answer has.
    fn window(&self) -> (usize, usize) {
        let start = self.skip.min(self.rows.len());
        let end =
            self.take.map_or(self.rows.len(), |take| self.skip.saturating_add(take)).min(self.rows.len());
        (start, end.max(start))
    }

    /// The rows of one correct answer.
    pub fn chosen(&self) -> &[Vec<Value>] {
        let (start, end) = self.window();
        &self.rows[start..end]
    }

    /// Positions of rows of the same rank.
    fn groups(&self) -> Vec<(usize, usize)> {
        let Some(ranks) = &self.ranks else { return vec![(0, self.rows.len())] };
        let mut groups: Vec<(usize, usize)> = Vec::new();
        for at in 0..self.rows.len() {
            match groups.last_mut() {
                Some(last) if ranks[last.0] == ranks[at] => last.1 = at + 1,
                _ => groups.push((at, at + 1)),
            }
        }
        groups
    }

    /// Whether the answer is the same whatever the database chooses, up to the order of rows of the same rank.
    pub fn is_determined(&self) -> bool {
        let (start, end) = self.window();
        self.groups().into_iter().all(|(from, to)| {
            let is_whole = (from >= start && to <= end) || to <= start || from >= end;
            is_whole || self.rows[from..to].iter().all(|row| *row == self.rows[from])
        })
    }
}

/// What a statement answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Rows.
    Rows(Rows),
    /// A count of rows.
    Count(u64),
}

/// Whether a logged answer is correct.
#[derive(Clone, Debug, PartialEq)]
pub enum Match {
    /// It is.
    Yes,
    /// The values are equal but spelled differently than expected, such as `1.0` for `1.00`.
    YesButSpelling(String),
    /// It is not.
    No(String),
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Match::Yes => f.write_str("it matches"),
            Match::YesButSpelling(why) | Match::No(why) => f.write_str(why),
        }
    }
}

/// How one value fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Exact,
    Spelled,
    No,
}

/// Compares an expected answer with a logged one. `doubts` are those of the effect.
pub fn answers_match(expected: &Reply, logged: &Answer, doubts: &[Doubt], settings: &Settings) -> Match {
    match (expected, logged) {
        (Reply::Count(expected), Answer::Count(logged)) if expected == logged => Match::Yes,
        (Reply::Count(expected), Answer::Count(logged)) => {
            Match::No(format!("expected the count {expected}, found {logged}"))
        }
        (Reply::Rows(expected), Answer::Rows(logged)) => rows_match(expected, logged, doubts, settings),
        (Reply::Count(_), Answer::Rows(_)) => Match::No("expected a count, found rows".to_owned()),
        (Reply::Rows(_), Answer::Count(_)) => Match::No("expected rows, found a count".to_owned()),
    }
}

/// Compares the rows of an answer: positions of each rank are compared as multisets.
pub fn rows_match(expected: &Rows, logged: &[Vec<Scalar>], doubts: &[Doubt], settings: &Settings) -> Match {
    let (start, end) = expected.window();
    if logged.len() != end - start {
        return Match::No(format!("expected {} rows, found {}", end - start, logged.len()));
    }
    let is_loose = doubts.contains(&Doubt::FloatSum);
    let mut worst = Fit::Exact;
    for (from, to) in expected.groups() {
        let (low, high) = (from.max(start), to.min(end));
        if low >= high {
            continue;
        }
        let part = &logged[low - start..high - start];
        match part_fits(&expected.rows[from..to], part, is_loose, settings) {
            Ok(fit) => worst = worst.max(fit),
            Err(row) => {
                let found = shown(row.iter().map(Value::from));
                return Match::No(match &expected.rows[from..to] {
                    [only] => format!("expected the row {}, found {found}", shown(only.iter().cloned())),
                    _ => format!("the row {found} is not expected at its place"),
                });
            }
        }
    }
    match worst {
        Fit::Exact => Match::Yes,
        _ => Match::YesButSpelling("equal values are spelled differently".to_owned()),
    }
}

/// A row in words.
fn shown(row: impl Iterator<Item = Value>) -> String {
    let values: Vec<String> = row.map(|value| value.to_string()).collect();
    format!("({})", values.join(", "))
}

/// Whether logged rows are a part of the expected ones, as multisets; else a logged row that is not.
fn part_fits<'a>(
    expected: &[Vec<Value>],
    logged: &'a [Vec<Scalar>],
    is_loose: bool,
    settings: &Settings,
) -> Result<Fit, &'a [Scalar]> {
    // Most answers are in the order that was computed, or have few rows.
    let in_order = expected.len() == logged.len()
        && expected
            .iter()
            .zip(logged)
            .all(|(row, logged)| row_fit(row, logged, is_loose, settings) == Fit::Exact);
    if in_order {
        return Ok(Fit::Exact);
    }
    // Rows of equal spelling are interchangeable, so that taking any of them is right.
    let mut left: FxHashMap<String, Vec<usize>> = FxHashMap::default();
    let spelling = |row: &[Value]| row.iter().map(coarse).collect::<Vec<_>>().join("\u{1}");
    for (at, row) in expected.iter().enumerate() {
        left.entry(spelling(row)).or_default().push(at);
    }
    let mut taken = vec![false; expected.len()];
    let mut unmatched = Vec::new();
    let mut worst = Fit::Exact;
    for row in logged {
        let as_values: Vec<Value> = row.iter().map(Value::from).collect();
        let found = left.get_mut(&spelling(&as_values)).and_then(|rows| {
            let place =
                rows.iter().position(|at| row_fit(&expected[*at], row, is_loose, settings) == Fit::Exact)?;
            Some(rows.swap_remove(place))
        });
        match found {
            Some(at) => taken[at] = true,
            None => unmatched.push(row),
        }
    }
    // The rest by pairs: those that fit exactly have been taken.
    for row in unmatched {
        let fits = |at: &usize| !taken[*at] && row_fit(&expected[*at], row, is_loose, settings) != Fit::No;
        let Some(at) = (0..expected.len()).find(fits) else { return Err(row) };
        taken[at] = true;
        worst = worst.max(row_fit(&expected[at], row, is_loose, settings));
    }
    Ok(worst)
}

/// A text that is the same for values that fit exactly, whatever their kind.
fn coarse(value: &Value) -> String {
    match value {
        Value::Null => "\u{2}".to_owned(),
        Value::Text(text) => text.to_string(),
        Value::Bytes(bytes) => {
            std::str::from_utf8(bytes).map_or_else(|_| format!("\\x{}", hex(bytes)), str::to_owned)
        }
        other => other.to_string(),
    }
}

fn row_fit(expected: &[Value], logged: &[Scalar], is_loose: bool, settings: &Settings) -> Fit {
    if expected.len() != logged.len() {
        return Fit::No;
    }
    expected
        .iter()
        .zip(logged)
        .map(|(expected, logged)| fit(expected, logged, is_loose, settings))
        .max()
        .unwrap_or(Fit::Exact)
}

fn fit(expected: &Value, logged: &Scalar, is_loose: bool, settings: &Settings) -> Fit {
    let exact = |holds: bool| if holds { Fit::Exact } else { Fit::No };
    match (expected, logged) {
        (Value::Hole(_), _) | (Value::Null, Scalar::Null) => Fit::Exact,
        (Value::Null, _) | (_, Scalar::Null) => Fit::No,
        (Value::Bool(a), Scalar::Bool(b)) => exact(a == b),
        (Value::Int(a), Scalar::Int(b)) => exact(a == b),
        (Value::Text(a), Scalar::Text(b)) => exact(**a == **b),
        (Value::Float(a), Scalar::Float(b)) => floats_fit(*a, *b, is_loose),
        (Value::Bytes(_), Scalar::Text(b)) => exact(coarse(expected) == *b || to_postgres(expected) == *b),
        (Value::Date(_) | Value::Time(_) | Value::Timestamp(_), Scalar::Text(text)) => {
            moment_fit(expected, text)
        }
        (Value::Decimal(a), Scalar::Text(text)) => match Decimal::parse(text) {
            Some(b) if **a == b && a.scale() == b.scale() => Fit::Exact,
            Some(b) if **a == b => Fit::Spelled,
            _ => Fit::No,
        },
        (Value::UInt(a), Scalar::Text(text)) => exact(text.parse() == Ok(*a)),
        (Value::UInt(a), Scalar::Int(b)) => exact(i64::try_from(*a) == Ok(*b)),
        (expected, logged) => other_fit(expected, logged, is_loose, settings),
    }
}

/// Values of different kinds: the log may know less than the evaluator.
fn other_fit(expected: &Value, logged: &Scalar, is_loose: bool, settings: &Settings) -> Fit {
    let is_number = |value: &Value| value.exact().is_some() || matches!(value, Value::Float(_));
    let value = match (Value::from(logged), settings.dialect) {
        (Value::Bool(is), Dialect::MySql | Dialect::Sqlite) => Value::Int(i64::from(is)),
        (Value::Text(text), _) if is_number(expected) && settings.dialect != Dialect::Sqlite => {
            match Decimal::parse(&text) {
                Some(number) => Value::decimal(number),
                None => return Fit::No,
            }
        }
        (value, _) => value,
    };
    match (expected, &value) {
        (Value::Float(a), b) if is_number(b) => {
            let b = crate::cast::loose_float(b);
            if floats_fit(*a, b, is_loose) == Fit::No { Fit::No } else { Fit::Spelled }
        }
        (a, b) if is_number(a) && is_number(b) && a == b => Fit::Spelled,
        _ => Fit::No,
    }
}

fn to_postgres(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => format!("\\x{}", hex(bytes)),
        other => other.to_string(),
    }
}

fn moment_fit(expected: &Value, text: &str) -> Fit {
    let to = match expected {
        Value::Date(_) => Type::Date,
        Value::Time(_) => Type::Time,
        _ if text.contains('+') => Type::TimestampTz,
        _ => Type::Timestamp,
    };
    if to_moment(&Value::text(text), to).as_ref() == Some(expected) { Fit::Exact } else { Fit::No }
}

fn floats_fit(expected: f64, logged: f64, is_loose: bool) -> Fit {
    if expected.to_bits() == logged.to_bits() || (expected.is_nan() && logged.is_nan()) {
        return Fit::Exact;
    }
    if crate::value::floats(expected, logged).is_eq() {
        // The sign of zero.
        return Fit::Spelled;
    }
    let tolerance = if is_loose { 1e-9 } else { 4.0 * f64::EPSILON };
    let is_near = (expected - logged).abs() <= tolerance * expected.abs().max(logged.abs())
        || (is_loose && (expected - logged).abs() <= 1e-9);
    if is_near { Fit::Spelled } else { Fit::No }
}

/// Binds the holes of an expected answer to the values of a logged one, if the rows are in the same order.
pub fn bind_holes(expected: &Rows, logged: &[Vec<Scalar>]) -> Vec<(Hole, Value)> {
    let rows = expected.chosen().iter().zip(logged);
    rows.flat_map(|(row, logged)| row.iter().zip(logged))
        .filter_map(|(value, logged)| match value {
            Value::Hole(hole) => Some((*hole, Value::from(logged))),
            _ => None,
        })
        .collect()
}

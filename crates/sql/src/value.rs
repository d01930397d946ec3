//! Values and types.
//!
//! A value carries its kind, so that SQLite and MySQL, which convert while they run, need nothing else. PostgreSQL's
//! conversions are decided when a statement is bound, by [`Type`]s.
//!
//! Two orders exist. [`Value::total`] is an arbitrary order over all values, the same for numbers that are equal; the
//! comparison of SQL is in `compare.rs`.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use isoscope_log::Scalar;

use crate::decimal::Decimal;
use crate::moment;

/// A value that the database makes and that is not known here: `now()`, `random()`, a generated key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hole(pub u32);

/// An SQL value.
#[derive(Clone, Debug)]
pub enum Value {
    /// NULL.
    Null,
    /// A boolean. Only PostgreSQL has them.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer of MySQL, whatever its size.
    UInt(u64),
    /// An exact decimal.
    Decimal(Box<Decimal>),
    /// A floating-point number.
    Float(f64),
    /// A text.
    Text(Arc<str>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A date, in days since 1970.
    Date(i32),
    /// A time of the day, in microseconds.
    Time(i64),
    /// A date with a time, in microseconds since 1970. Times with a zone are in UTC.
    Timestamp(i64),
    /// A value that is not known. It can be stored and returned; every operation on it is indeterminate.
    Hole(Hole),
}

impl Value {
    /// A text.
    pub fn text(text: impl Into<Arc<str>>) -> Value {
        Value::Text(text.into())
    }

    /// A decimal.
    pub fn decimal(decimal: Decimal) -> Value {
        Value::Decimal(Box::new(decimal))
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The exact number, if it is one.
    pub fn exact(&self) -> Option<Decimal> {
        match self {
            Value::Int(n) => Some(Decimal::from(*n)),
            Value::UInt(n) => Some(Decimal::from(*n)),
            Value::Decimal(n) => Some((**n).clone()),
            Value::Bool(is) => Some(Decimal::from(i64::from(*is))),
            _ => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Value::Null => 0,
            Value::Bool(_) => 1,
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) => 2,
            Value::Text(_) => 3,
            Value::Bytes(_) => 4,
            Value::Date(_) => 5,
            Value::Time(_) => 6,
            Value::Timestamp(_) => 7,
            Value::Hole(_) => 8,
        }
    }

    /// An order over all values. Numbers are ordered by their value, whatever their kind; NaN is the largest. Texts are
    /// ordered by their bytes.
    pub fn total(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
            (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            (Value::Date(a), Value::Date(b)) => a.cmp(b),
            (Value::Time(a), Value::Time(b)) | (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
            (Value::Hole(a), Value::Hole(b)) => a.cmp(b),
            _ if self.rank() == 2 && other.rank() == 2 => numbers(self, other),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

/// Compares two numbers by their exact values.
pub(crate) fn numbers(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Int(a), Value::UInt(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Value::UInt(a), Value::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => floats(*a, *b),
        (Value::Float(a), b) => float_to_exact(*a, b),
        (a, Value::Float(b)) => float_to_exact(*b, a).reverse(),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
        (a, b) => a.exact().cmp(&b.exact()),
    }
}

/// Compares floats; NaN equals itself and is larger than all others, and both zeros are equal.
pub(crate) fn floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// The exact value of a float, as a fraction of a power of two.
fn binary(float: f64) -> Option<Decimal> {
    // {:.1074} spells every finite float exactly, but most need few digits.
    if float.fract() == 0.0 {
        Decimal::parse(&format!("{float:.0}"))
    } else {
        Decimal::parse(&format!("{float:.1074}"))
    }
}

fn float_to_exact(float: f64, exact: &Value) -> Ordering {
    match binary(float) {
        Some(float) => Some(float).cmp(&exact.exact()),
        None if float == f64::NEG_INFINITY => Ordering::Less,
        None => Ordering::Greater,
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.total(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        self.total(other)
    }
}

impl std::hash::Hash for Value {
    /// Equal values have equal hashes: numbers of all kinds are hashed as integers if they are, and else as floats.
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u8(self.rank());
        match self {
            Value::Null => {}
            Value::Bool(is) => is.hash(state),
            Value::Int(n) => (*n as f64).to_bits().hash(state),
            Value::UInt(n) => (*n as f64).to_bits().hash(state),
            Value::Decimal(n) => (n.to_f64() + 0.0).to_bits().hash(state),
            Value::Float(n) => (if *n == 0.0 { 0.0 } else { *n }).to_bits().hash(state),
            Value::Text(text) => text.hash(state),
            Value::Bytes(bytes) => bytes.hash(state),
            Value::Date(n) => n.hash(state),
            Value::Time(n) | Value::Timestamp(n) => n.hash(state),
            Value::Hole(hole) => hole.hash(state),
        }
    }
}

impl From<&Scalar> for Value {
    fn from(scalar: &Scalar) -> Value {
        match scalar {
            Scalar::Null => Value::Null,
            Scalar::Bool(is) => Value::Bool(*is),
            Scalar::Int(n) => Value::Int(*n),
            Scalar::Float(n) => Value::Float(*n),
            Scalar::Text(text) => Value::text(text.as_str()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Bool(is) => write!(f, "{is}"),
            Value::Int(n) => write!(f, "{n}"),
            Value::UInt(n) => write!(f, "{n}"),
            Value::Decimal(n) => write!(f, "{n}"),
            Value::Float(n) => write!(f, "{n:?}"),
            Value::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Value::Bytes(bytes) => write!(f, "\\x{}", hex(bytes)),
            Value::Date(days) => f.write_str(&moment::date_text(*days)),
            Value::Time(micros) => f.write_str(&moment::time_text(*micros)),
            Value::Timestamp(micros) => f.write_str(&moment::timestamp_text(*micros)),
            Value::Hole(Hole(n)) => write!(f, "<made {n}>"),
        }
    }
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// How texts are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Collation {
    /// Byte by byte.
    #[default]
    Binary,
    /// Byte by byte; trailing blanks do not count. MySQL's `_bin` collations, PostgreSQL's `char(n)`, SQLite's RTRIM.
    Padded,
    /// Without the case of ASCII letters. SQLite's NOCASE.
    NoCase,
    /// Without case and trailing blanks. MySQL's `_ci` collations; texts that are not ASCII are indeterminate.
    PaddedNoCase,
}

/// The kinds of SQLite's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Affinity {
    /// INTEGER.
    Integer,
    /// REAL.
    Real,
    /// NUMERIC.
    Numeric,
    /// TEXT.
    Text,
    /// BLOB, or none.
    Blob,
}

/// The type of a column or an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A literal text, parameter or NULL of PostgreSQL, whose type is found from its context; in MySQL the type of NULL.
    Unknown,
    /// A boolean.
    Bool,
    /// An integer of 8, 16, 24, 32 or 64 bits.
    Int {
        /// Its size in bits.
        bits: u8,
        /// Whether it has no sign.
        unsigned: bool,
    },
    /// An exact decimal, with precision and scale if they are limited.
    Decimal(Option<(u32, u32)>),
    /// A float of 32 bits.
    Real,
    /// A float of 64 bits.
    Double,
    /// A text, with a limit on its characters.
    Text(Option<u32>),
    /// A text that is padded with blanks to its length: `char(n)`. 0 is any length, without padding.
    Char(u32),
    /// Bytes.
    Bytes,
    /// A date.
    Date,
    /// A time of the day.
    Time,
    /// A date with a time.
    Timestamp,
    /// A date with a time and a zone.
    TimestampTz,
    /// A UUID, kept as a text.
    Uuid,
    /// A value of any kind, in a SQLite column of an affinity.
    Any(Affinity),
}

impl Type {
    /// A signed integer of 32 bits.
    pub const INT4: Type = Type::Int { bits: 32, unsigned: false };
    /// A signed integer of 64 bits.
    pub const INT8: Type = Type::Int { bits: 64, unsigned: false };
    /// An unsigned integer of 64 bits.
    pub const UINT8: Type = Type::Int { bits: 64, unsigned: true };

    pub(crate) fn is_integer(self) -> bool {
        matches!(self, Type::Int { .. })
    }

    pub(crate) fn is_number(self) -> bool {
        matches!(self, Type::Int { .. } | Type::Decimal(_) | Type::Real | Type::Double)
    }

    pub(crate) fn is_exact(self) -> bool {
        matches!(self, Type::Int { .. } | Type::Decimal(_))
    }

    pub(crate) fn is_text(self) -> bool {
        matches!(self, Type::Text(_) | Type::Char(_))
    }

    pub(crate) fn is_moment(self) -> bool {
        matches!(self, Type::Date | Type::Time | Type::Timestamp | Type::TimestampTz)
    }

    /// The type without limits of length, precision and scale.
    pub(crate) fn unlimited(self) -> Type {
        match self {
            Type::Decimal(_) => Type::Decimal(None),
            Type::Text(_) => Type::Text(None),
            Type::Char(_) => Type::Char(0),
            other => other,
        }
    }
}

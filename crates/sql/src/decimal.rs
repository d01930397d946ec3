//! Exact decimals: an integer of any size and a scale, the number of digits after the point.
//!
//! The scale is part of the value, because databases show it: `1.50` and `1.5` are equal and spelled differently. The rules
//! for the scale of a result differ by dialect and are the caller's; the functions here are exact, or round half away from
//! zero, as all these databases round decimals.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_traits::{Signed, ToPrimitive, Zero};

/// The largest scale of a value. PostgreSQL's limit is 16,383.
const MOST_SCALE: u32 = 16_383;

/// The largest number of digits that a text may have.
const MOST_DIGITS: usize = 140_000;

/// An exact decimal.
#[derive(Clone, Debug)]
pub struct Decimal {
    digits: BigInt,
    scale: u32,
}

/// Ten to a power.
fn ten(power: u32) -> BigInt {
    match 10_i128.checked_pow(power) {
        Some(small) => BigInt::from(small),
        None => BigInt::from(10).pow(power),
    }
}

/// The quotient, rounded half away from zero.
fn rounded(numerator: &BigInt, denominator: &BigInt) -> BigInt {
    let (quotient, rest) = numerator.div_rem(denominator);
    if (rest.abs() << 1_u32) < denominator.abs() {
        return quotient;
    }
    if numerator.is_negative() == denominator.is_negative() { quotient + 1 } else { quotient - 1 }
}

impl Decimal {
    /// `digits` divided by ten to the `scale`.
    pub fn new(digits: impl Into<BigInt>, scale: u32) -> Decimal {
        Decimal { digits: digits.into(), scale }
    }

    /// The number of digits after the point.
    pub fn scale(&self) -> u32 {
        self.scale
    }

    /// Reads `-12.50` or `1.25e-3`; `None` if the text is not a number or has too many digits.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let (sign, whole) = match whole.strip_prefix('-') {
            Some(rest) => (Sign::Minus, rest),
            None => (Sign::Plus, whole.strip_prefix('+').unwrap_or(whole)),
        };
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0
            || whole.len() + fraction.len() > MOST_DIGITS
            || !is_digits(whole)
            || !is_digits(fraction)
        {
            return None;
        }
        let digits = BigInt::parse_bytes(format!("{whole}{fraction}").as_bytes(), 10)?;
        let digits = if sign == Sign::Minus { -digits } else { digits };
        let scale = i64::try_from(fraction.len()).ok()? - i64::from(exponent);
        if scale < 0 {
            let up = u32::try_from(-scale).ok().filter(|up| *up <= MOST_SCALE * 9)?;
            return Some(Decimal { digits: digits * ten(up), scale: 0 });
        }
        let scale = u32::try_from(scale).ok()?;
        let full = Decimal { digits, scale };
        Some(if scale > MOST_SCALE { full.rounded_to(MOST_SCALE) } else { full })
    }

    /// The shortest decimal that reads as the same float, as `{:e}` prints it; `None` if it is not finite.
    pub fn from_f64(float: f64) -> Option<Decimal> {
        if float.is_finite() { Decimal::parse(&format!("{float:e}")) } else { None }
    }

    /// The float nearest to it.
    pub fn to_f64(&self) -> f64 {
        if let Some(small) = self.digits.to_i64().filter(|n| n.unsigned_abs() < 1 << 53)
            && self.scale <= 22
        {
            return small as f64 / 10_f64.powi(self.scale.cast_signed());
        }
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// The integer, rounded half away from zero; `None` if it does not fit.
    pub fn to_i64(&self) -> Option<i64> {
        self.rounded_to(0).digits.to_i64()
    }

    /// The integer, rounded half away from zero; `None` if it does not fit.
    pub fn to_u64(&self) -> Option<u64> {
        self.rounded_to(0).digits.to_u64()
    }

    /// The integer if there is no fraction and it fits.
    pub fn exact_i64(&self) -> Option<i64> {
        let whole = self.truncated_to(0);
        if whole == *self { whole.digits.to_i64() } else { None }
    }

    /// The value with another scale, rounded half away from zero.
    pub fn rounded_to(&self, scale: u32) -> Decimal {
        if scale >= self.scale {
            return Decimal { digits: &self.digits * ten(scale - self.scale), scale };
        }
        Decimal { digits: rounded(&self.digits, &ten(self.scale - scale)), scale }
    }

    /// The value with a smaller scale, rounded towards zero, or with a larger one.
    pub fn truncated_to(&self, scale: u32) -> Decimal {
        if scale >= self.scale {
            return self.rounded_to(scale);
        }
        Decimal { digits: &self.digits / ten(self.scale - scale), scale }
    }

    /// Rounded to tens, hundreds and so on: `places` digits before the point become zero.
    pub fn rounded_before(&self, places: u32, truncate: bool) -> Decimal {
        let unit = ten(places.min(MOST_SCALE * 9).saturating_add(self.scale));
        let units = if truncate { &self.digits / &unit } else { rounded(&self.digits, &unit) };
        Decimal { digits: units * ten(places.min(MOST_SCALE * 9)), scale: 0 }
    }

    /// The largest integer that is not larger.
    pub fn floor(&self) -> Decimal {
        Decimal { digits: self.digits.div_floor(&ten(self.scale)), scale: 0 }
    }

    /// The smallest integer that is not smaller.
    pub fn ceil(&self) -> Decimal {
        -&(-self).floor()
    }

    /// The absolute value.
    pub fn abs(&self) -> Decimal {
        Decimal { digits: self.digits.abs(), scale: self.scale }
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.digits.is_zero()
    }

    /// Whether it is less than zero.
    pub fn is_negative(&self) -> bool {
        self.digits.is_negative()
    }

    /// The number of digits before the point, without leading zeros.
    pub fn whole_digits(&self) -> usize {
        let whole = self.digits.abs() / ten(self.scale);
        if whole.is_zero() { 0 } else { whole.to_string().len() }
    }

    /// The digits, and those of another at the same scale.
    fn aligned(&self, other: &Decimal) -> (BigInt, BigInt, u32) {
        let scale = self.scale.max(other.scale);
        (self.rounded_to(scale).digits, other.rounded_to(scale).digits, scale)
    }

    /// The sum, with the larger scale.
    pub fn plus(&self, other: &Decimal) -> Decimal {
        let (left, right, scale) = self.aligned(other);
        Decimal { digits: left + right, scale }
    }

    /// The difference, with the larger scale.
    pub fn minus(&self, other: &Decimal) -> Decimal {
        self.plus(&-other)
    }

    /// The product, with the sum of the scales.
    pub fn times(&self, other: &Decimal) -> Decimal {
        Decimal { digits: &self.digits * &other.digits, scale: self.scale + other.scale }
    }

    /// The quotient with a scale, rounded half away from zero or truncated; `None` for a division by zero.
    pub fn over(&self, other: &Decimal, scale: u32, truncate: bool) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        // digits / 10^s1 / (others / 10^s2) = digits * 10^(scale + s2 - s1) / others / 10^scale
        let (up, down) = (scale + other.scale, self.scale);
        let numerator = &self.digits * ten(up.saturating_sub(down));
        let denominator = &other.digits * ten(down.saturating_sub(up));
        let digits = if truncate { numerator / denominator } else { rounded(&numerator, &denominator) };
        Some(Decimal { digits, scale })
    }

    /// The rest of the division towards zero, with the larger scale; `None` for a division by zero.
    pub fn modulo(&self, other: &Decimal) -> Option<Decimal> {
        let (left, right, scale) = self.aligned(other);
        if right.is_zero() { None } else { Some(Decimal { digits: left % right, scale }) }
    }

    /// The weight of the first group of four digits and that group, as PostgreSQL stores a numeric.
    pub fn leading_group(&self) -> (i64, u32) {
        if self.digits.is_zero() {
            return (0, 0);
        }
        // Groups are aligned at the point.
        let padded = self.scale.div_ceil(4) * 4;
        let text = self.rounded_to(padded).digits.abs().to_string();
        let groups = text.len().div_ceil(4);
        let first = text.get(..text.len() - (groups - 1) * 4).and_then(|group| group.parse().ok());
        (groups.cast_signed() as i64 - 1 - i64::from(padded / 4), first.unwrap_or(0))
    }

    /// The same number without trailing zeros after the point: equal numbers have equal results.
    pub fn normalized(&self) -> Decimal {
        let mut result = self.clone();
        while result.scale > 0 {
            let (quotient, rest) = result.digits.div_rem(&BigInt::from(10));
            if !rest.is_zero() {
                break;
            }
            result = Decimal { digits: quotient, scale: result.scale - 1 };
        }
        result
    }
}

impl std::ops::Neg for &Decimal {
    type Output = Decimal;

    fn neg(self) -> Decimal {
        Decimal { digits: -&self.digits, scale: self.scale }
    }
}

impl From<i64> for Decimal {
    fn from(n: i64) -> Decimal {
        Decimal::new(n, 0)
    }
}

impl From<u64> for Decimal {
    fn from(n: u64) -> Decimal {
        Decimal::new(n, 0)
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        if self.scale == other.scale {
            return self.digits.cmp(&other.digits);
        }
        let (left, right, _) = self.aligned(other);
        left.cmp(&right)
    }
}

impl std::hash::Hash for Decimal {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let normal = self.normalized();
        normal.digits.hash(state);
        normal.scale.hash(state);
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative() { "-" } else { "" };
        let digits = self.digits.abs().to_string();
        if self.scale == 0 {
            return write!(f, "{sign}{digits}");
        }
        let scale = self.scale as usize;
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        write!(f, "{sign}{whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    fn of(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn decimals_keep_their_scale() {
        for text in ["0", "1.50", "-0.05", "12345678901234567890123456789012345678901234567890.5"] {
            assert_eq!(of(text).to_string(), text);
        }
        assert_eq!(of("1.25e-3").to_string(), "0.00125");
        assert_eq!(of("1e3").to_string(), "1000");
        assert_eq!(of(".5").to_string(), "0.5");
        assert_eq!((Decimal::parse(""), Decimal::parse("."), Decimal::parse("1x")), (None, None, None));
    }

    #[test]
    fn decimals_round_half_away_from_zero() {
        for (text, rounded) in [("0.5", "1"), ("-0.5", "-1"), ("1.49", "1"), ("2.5", "3"), ("-2.4", "-2")] {
            assert_eq!(of(text).rounded_to(0).to_string(), rounded);
        }
        assert_eq!(of("155").rounded_before(1, false).to_string(), "160");
        assert_eq!(of("155.9").rounded_before(1, true).to_string(), "150");
        assert_eq!(
            (of("-1.5").floor().to_string(), of("-1.5").ceil().to_string()),
            ("-2".into(), "-1".into())
        );
    }

    #[test]
    fn divisions_are_exact_up_to_the_scale() {
        assert_eq!(of("10").over(&of("3"), 4, false).unwrap().to_string(), "3.3333");
        assert_eq!(of("-2").over(&of("3"), 4, false).unwrap().to_string(), "-0.6667");
        assert_eq!(of("2").over(&of("0.0"), 4, false), None);
        assert_eq!(of("7.5").modulo(&of("-2")).unwrap().to_string(), "1.5");
    }

    #[test]
    fn equal_numbers_are_equal_whatever_their_scale() {
        assert_eq!(of("1.50"), of("1.5"));
        assert!(of("-1.5") < of("0") && of("10") > of("9.99"));
        assert_eq!(of("12345.678").leading_group(), (1, 1));
        assert_eq!(of("0.00001234").leading_group(), (-2, 1234));
    }
}

//! Aggregates: the state of a group while its rows are read, and its result.

use rustc_hash::FxHashSet;

use crate::answer::Doubt;
use crate::arithmetic::postgres_scale;
use crate::cast::{Mode, loose_float, mysql_decimal, mysql_float, sqlite_operand, to_text};
use crate::compare::compare;
use crate::decimal::Decimal;
use crate::error::{Result, overflow, unsupported};
use crate::expression::{Context, Env, folded};
use crate::ir::{Aggregate, AggregateKind, SumKind};
use crate::value::Value;

/// The state of one aggregate of a group.
pub(crate) struct State<'p> {
    of: &'p Aggregate,
    seen: FxHashSet<Vec<Value>>,
    count: u64,
    total: Total,
    best: Option<Value>,
    separator: String,
    text: String,
}

/// A sum of numbers of any kind.
#[derive(Default)]
struct Total {
    /// The integers.
    whole: i128,
    exact: Option<Decimal>,
    float: f64,
    floats: u64,
    /// Whether the integers alone do not fit 64 bits at some point.
    is_over: bool,
}

impl<'p> State<'p> {
    pub(crate) fn new(of: &'p Aggregate) -> State<'p> {
        let bits = match of.kind {
            AggregateKind::BitAnd => Some(Value::UInt(u64::MAX)),
            AggregateKind::BitOr | AggregateKind::BitXor => Some(Value::UInt(0)),
            _ => None,
        };
        State {
            of,
            seen: FxHashSet::default(),
            count: 0,
            total: Total::default(),
            best: bits,
            separator: String::new(),
            text: String::new(),
        }
    }

    /// Adds a row. Returns whether the row is a new extreme.
    pub(crate) fn add(&mut self, cx: &Context<'_>, env: Option<&Env<'_>>) -> Result<bool> {
        let of = self.of;
        if let Some(filter) = &of.filter
            && cx.test(filter, env)? != Some(true)
        {
            return Ok(false);
        }
        if of.kind == AggregateKind::CountRows {
            self.count += 1;
            return Ok(false);
        }
        let values = of.args.iter().map(|arg| cx.eval(arg, env)).collect::<Result<Vec<_>>>()?;
        let Some(value) = values.first() else { return unsupported("an aggregate without arguments") };
        if of.kind == AggregateKind::First {
            self.first(cx, value);
            return Ok(false);
        }
        let compared = if of.kind == AggregateKind::Join { &values[..1] } else { &values[..] };
        if compared.iter().any(Value::is_null) {
            return Ok(false);
        }
        if of.distinct {
            let key = compared.iter().map(|value| folded(value, of.comparison)).collect::<Result<_>>()?;
            if !self.seen.insert(key) {
                return Ok(false);
            }
        }
        self.count += 1;
        self.added(cx, value, values.get(1))
    }

    fn first(&mut self, cx: &Context<'_>, value: &Value) {
        self.count += 1;
        match &self.best {
            None => self.best = Some(value.clone()),
            Some(first) if first != value => cx.doubt(Doubt::Choice),
            Some(_) => {}
        }
    }

    /// Takes another row as the representative of the group.
    pub(crate) fn replace_first(&mut self, cx: &Context<'_>, env: Option<&Env<'_>>) -> Result<()> {
        if self.of.kind == AggregateKind::First {
            self.best = self.of.args.first().map(|arg| cx.eval(arg, env)).transpose()?;
        }
        Ok(())
    }

    fn added(&mut self, cx: &Context<'_>, value: &Value, second: Option<&Value>) -> Result<bool> {
        let mode = cx.mode();
        match self.of.kind {
            AggregateKind::Sum(kind) | AggregateKind::Average(kind) => self.total.add(value, kind, mode)?,
            AggregateKind::Total => self.total.add(value, SumKind::Sqlite, mode)?,
            AggregateKind::Max | AggregateKind::Min => {
                let is_better = match &self.best {
                    None => true,
                    Some(best) => {
                        let order = compare(value, best, self.of.comparison, mode)?;
                        if self.of.kind == AggregateKind::Max { order.is_gt() } else { order.is_lt() }
                    }
                };
                if is_better {
                    self.best = Some(value.clone());
                    return Ok(true);
                }
            }
            AggregateKind::All | AggregateKind::Any => {
                let is = crate::compare::truth(value, mode)? == Some(true);
                let so_far = self.best.as_ref().map(|best| *best == Value::Bool(true));
                let all = self.of.kind == AggregateKind::All;
                let both = so_far.map_or(is, |so_far| if all { so_far && is } else { so_far || is });
                self.best = Some(Value::Bool(both));
            }
            AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor => {
                let op = match self.of.kind {
                    AggregateKind::BitAnd => crate::ir::Arith::BitAnd,
                    AggregateKind::BitOr => crate::ir::Arith::BitOr,
                    _ => crate::ir::Arith::BitXor,
                };
                let best = self.best.take().unwrap_or(Value::UInt(0));
                let rules = crate::ir::Arithmetic::MySql;
                self.best = Some(crate::arithmetic::arithmetic(op, rules, &best, value, mode)?);
            }
            AggregateKind::Join => {
                let text = to_text(value, cx.settings);
                if self.count > 1 {
                    if self.best.as_ref() != Some(value) {
                        cx.doubt(Doubt::Choice);
                    }
                    self.separator = second.map_or(",".to_owned(), |value| {
                        if value.is_null() { String::new() } else { to_text(value, cx.settings) }
                    });
                    self.text.push_str(&self.separator);
                } else {
                    self.best = Some(value.clone());
                }
                self.text.push_str(&text);
            }
            AggregateKind::Count | AggregateKind::CountRows | AggregateKind::First => {}
        }
        Ok(false)
    }

    /// The result.
    pub(crate) fn result(&self, cx: &Context<'_>) -> Result<Value> {
        Ok(match self.of.kind {
            AggregateKind::CountRows | AggregateKind::Count => Value::Int(self.count.cast_signed()),
            AggregateKind::Total => Value::Float(self.total.as_float(cx)),
            AggregateKind::Join if self.count > 0 => Value::text(self.text.as_str()),
            AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor => {
                self.best.clone().unwrap_or(Value::Null)
            }
            _ if self.count == 0 => Value::Null,
            AggregateKind::Sum(kind) => self.total.sum(kind, cx)?,
            AggregateKind::Average(kind) => self.total.average(kind, self.count, cx),
            _ => self.best.clone().unwrap_or(Value::Null),
        })
    }
}

impl Total {
    fn add(&mut self, value: &Value, kind: SumKind, mode: Mode<'_>) -> Result<()> {
        if matches!(value, Value::Hole(_)) {
            return crate::error::indeterminate("a value that the database makes is added");
        }
        let value = match kind {
            SumKind::Sqlite => match value {
                Value::Text(_) | Value::Bytes(_) => match sqlite_operand(value) {
                    // Only a text that is an integer counts as one.
                    Value::Int(n) if is_integer(value) => Value::Int(n),
                    number => Value::Float(loose_float(&number)),
                },
                other => other.clone(),
            },
            SumKind::MySql if matches!(value, Value::Text(_) | Value::Bytes(_)) => {
                Value::Float(mysql_float(value, mode)?)
            }
            SumKind::MySql if value.exact().is_none() && !matches!(value, Value::Float(_)) => {
                Value::decimal(mysql_decimal(value, mode)?)
            }
            _ => value.clone(),
        };
        match value {
            Value::Int(n) if !matches!(kind, SumKind::Double | SumKind::Real) => {
                self.whole += i128::from(n);
                self.is_over |= i64::try_from(self.whole).is_err();
                self.float += n as f64;
            }
            Value::Float(n) => {
                self.floats += 1;
                self.float += n;
            }
            Value::Int(n) => self.float += n as f64,
            other => {
                let number = other.exact().unwrap_or_else(|| Decimal::from(0_i64));
                self.float += number.to_f64();
                self.exact = Some(self.exact.take().map_or_else(|| number.clone(), |sum| sum.plus(&number)));
            }
        }
        Ok(())
    }

    /// The exact sum.
    fn exact(&self) -> Decimal {
        let whole = Decimal::new(self.whole, 0);
        self.exact.as_ref().map_or(whole.clone(), |exact| exact.plus(&whole))
    }

    fn as_float(&self, cx: &Context<'_>) -> f64 {
        if self.floats > 1 {
            cx.doubt(Doubt::FloatSum);
        }
        if self.floats == 0 { self.exact().to_f64() } else { self.float }
    }

    fn sum(&self, kind: SumKind, cx: &Context<'_>) -> Result<Value> {
        Ok(match kind {
            SumKind::Int => match i64::try_from(self.whole) {
                Ok(n) => Value::Int(n),
                Err(_) => return overflow("bigint out of range"),
            },
            SumKind::Real => Value::Float(f64::from(self.as_float(cx) as f32)),
            SumKind::Double => {
                let sum = self.as_float(cx);
                if sum.is_infinite() && cx.settings.is_postgres() {
                    return overflow("a float is out of range");
                }
                Value::Float(sum)
            }
            SumKind::MySql | SumKind::Sqlite if self.floats > 0 => Value::Float(self.as_float(cx)),
            SumKind::Numeric | SumKind::MySql => Value::decimal(self.exact()),
            SumKind::Sqlite if self.is_over => {
                if i64::try_from(self.whole).is_ok() {
                    // Some order of the rows does not overflow.
                    cx.doubt(Doubt::MayFail);
                }
                return overflow("integer overflow");
            }
            SumKind::Sqlite => Value::Int(i64::try_from(self.whole).unwrap_or(i64::MAX)),
        })
    }

    fn average(&self, kind: SumKind, count: u64, cx: &Context<'_>) -> Value {
        let divisor = Decimal::from(count);
        let over_count = |sum: f64| Value::Float(sum / count as f64);
        match kind {
            SumKind::Int | SumKind::Numeric => {
                let sum = self.exact();
                match sum.over(&divisor, postgres_scale(&sum, &divisor), false) {
                    Some(average) => Value::decimal(average),
                    None => Value::Null,
                }
            }
            SumKind::Real | SumKind::Double | SumKind::Sqlite => over_count(self.as_float(cx)),
            SumKind::MySql if self.floats > 0 => over_count(self.as_float(cx)),
            SumKind::MySql => {
                let sum = self.exact();
                let scale = sum.scale() + cx.settings.div_precision_increment;
                sum.over(&divisor, scale.min(38), false).map_or(Value::Null, Value::decimal)
            }
        }
    }
}

fn is_integer(value: &Value) -> bool {
    match value {
        Value::Text(text) => text.trim().parse::<i64>().is_ok(),
        _ => false,
    }
}

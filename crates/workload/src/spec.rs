//! What workload to run, and why one cannot be run.
//!
//! Everything that bounds a run is checked here, once: after [`Spec::validate`] no count overflows, no
//! table is empty and no ratio is off its scale.

use std::fmt;

use isoscope_history::Limit;
use isoscope_levels::{Anomaly, Level};

use crate::inject::Injection;
use crate::sample::zipf_weights;
use crate::store::Store;

/// A workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Sessions, which run at the same time.
    pub sessions: u32,
    /// Transactions of each session, one after the other.
    pub txns_per_session: u32,
    /// Operations of each transaction.
    pub ops_per_txn: u32,
    /// The share of operations that read, between 0 and 1.
    pub read_ratio: f64,
    /// The share of transactions in which every key is read before it is written, as in TPC-C. The reads count among the
    /// operations. The others write blindly.
    pub read_modify_write: f64,
    /// Keys to choose from.
    pub keys: u32,
    /// How often each key is chosen.
    pub distribution: Distribution,
    /// Which writes repeat values, if any; otherwise all values are different.
    pub duplication: Option<Duplication>,
    /// Registers or lists.
    pub shape: Shape,
    /// The level the store runs at, one of [`Store::LEVELS`].
    pub level: Level,
    /// The share of transactions that abort.
    pub abort_rate: f64,
    /// The share of transactions whose outcome is recorded as unknown; half of them committed.
    pub unknown_rate: f64,
    /// Anomalies to add at the end, of [`Injection::ANOMALIES`].
    pub injections: Vec<Injection>,
    /// What all chance depends on.
    pub seed: u64,
}

impl Default for Spec {
    /// Ten sessions of a hundred transactions of eight operations, half of them reads, on a hundred keys
    /// of equal weight, at serializable.
    fn default() -> Spec {
        Spec {
            sessions: 10,
            txns_per_session: 100,
            ops_per_txn: 8,
            read_ratio: 0.5,
            read_modify_write: 0.0,
            keys: 100,
            distribution: Distribution::Uniform,
            duplication: None,
            shape: Shape::Register,
            level: Level::Serializable,
            abort_rate: 0.0,
            unknown_rate: 0.0,
            injections: Vec::new(),
            seed: 0,
        }
    }
}

/// How often each key is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// All keys equally often.
    Uniform,
    /// Key `i`, counting from 0, in proportion to `1 / (i + 1)^theta`.
    Zipfian {
        /// 0 is uniform, 0.99 what YCSB uses; at most [`Distribution::MOST_THETA`].
        theta: f64,
    },
    /// The first keys take more than their share.
    Hotspot {
        /// The share of keys that are hot; at least one is.
        keys: f64,
        /// The share of operations that go to them.
        ops: f64,
    },
}

impl Distribution {
    /// The steepest Zipfian distribution.
    pub const MOST_THETA: f64 = 16.0;

    /// Says why keys cannot be chosen like this, if they cannot.
    pub fn validate(&self) -> Result<(), SpecError> {
        match *self {
            Distribution::Uniform => Ok(()),
            Distribution::Zipfian { theta } => exponent("theta of the keys", theta),
            Distribution::Hotspot { keys, ops } => {
                ratio("hot keys", keys)?;
                ratio("hot operations", ops)
            }
        }
    }
}

/// Writes that repeat values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duplication {
    /// The share of keys whose writes do.
    pub keys: f64,
    /// They write values from 1 to this,
    pub domain: u32,
    /// drawn by Zipf's law with this parameter.
    pub theta: f64,
}

impl Duplication {
    /// Says why values cannot repeat like this, if they cannot.
    pub fn validate(&self) -> Result<(), SpecError> {
        ratio("duplicated keys", self.keys)?;
        exponent("theta of the values", self.theta)?;
        if self.domain == 0 {
            return Err(SpecError::Zero { field: "domain of the values" });
        }
        at_most("values in the domain", self.domain.into(), MOST_KEYS)
    }
}

/// What the keys hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Registers, read and overwritten. They begin with 0.
    Register,
    /// Lists, read whole and appended to. They begin empty.
    ListAppend,
}

/// Why a workload cannot be run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SpecError {
    /// The store has no way to run at this level and not at a stronger one.
    Level {
        /// The level.
        level: Level,
    },
    /// The anomaly cannot be injected.
    Anomaly {
        /// The anomaly.
        anomaly: Anomaly,
    },
    /// There must be at least one of these.
    Zero {
        /// The field.
        field: &'static str,
    },
    /// A number is outside its scale, or none at all.
    OutOfRange {
        /// The field.
        field: &'static str,
        /// What it was given.
        value: f64,
        /// The most it can be; the least is 0.
        most: f64,
    },
    /// More transactions are to abort or be unknown than there are.
    RatesAboveOne {
        /// The two rates together.
        sum: f64,
    },
    /// Elements of lists must be different from one another.
    DuplicateElements,
    /// There is more of something than a run can number.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there would be.
        count: u64,
        /// How many there can be.
        most: u64,
    },
    /// The lists read would not fit in memory.
    ListsTooLong {
        /// The elements expected in all lists read.
        elements: f64,
        /// How many there can be.
        most: f64,
    },
    /// The history is larger than its model can number.
    History(Limit),
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecError::Level { level } => {
                write!(
                    f,
                    "the store cannot run {level}; it runs {}",
                    Store::LEVELS.map(Level::name).join(", ")
                )
            }
            SpecError::Anomaly { anomaly } => {
                let names = Injection::ANOMALIES.map(Anomaly::name).join(", ");
                write!(f, "{anomaly} cannot be injected; these can: {names}")
            }
            SpecError::Zero { field } => write!(f, "{field} must be at least 1"),
            SpecError::OutOfRange { field, value, most } => {
                write!(f, "{field} must be between 0 and {most}, not {value}")
            }
            SpecError::RatesAboveOne { sum } => {
                write!(f, "abort rate and unknown rate together must be at most 1, not {sum}")
            }
            SpecError::DuplicateElements => {
                f.write_str("list elements must be unique: value duplication works on registers only")
            }
            SpecError::TooMany { what, count, most } => {
                write!(f, "{count} {what} are too many: at most {most}")
            }
            SpecError::ListsTooLong { elements, most } => write!(
                f,
                "the lists read would hold about {elements:.1e} elements, more than {most:.0e}: \
                 use more keys, fewer operations or a flatter distribution"
            ),
            SpecError::History(limit) => limit.fmt(f),
        }
    }
}

impl std::error::Error for SpecError {}

impl From<Limit> for SpecError {
    fn from(limit: Limit) -> SpecError {
        SpecError::History(limit)
    }
}

/// Every written value is a small integer of the history, below 2^31; so are keys and names.
const MOST_OPS: u64 = (1 << 31) - 1;
/// Each transaction is two events, numbered with 32 bits, of which one means none.
const MOST_TXNS: u64 = (1 << 31) - 1;
/// Every key has 12 bytes in the store, and 24 more while a Zipfian table is made.
const MOST_KEYS: u64 = 1 << 28;
const MOST_SESSIONS: u64 = 1 << 24;
/// Four bytes each.
const MOST_ELEMENTS: f64 = 4e9;

impl Spec {
    /// Says why the workload cannot be run, if it cannot.
    pub fn validate(&self) -> Result<(), SpecError> {
        if !Store::LEVELS.contains(&self.level) {
            return Err(SpecError::Level { level: self.level });
        }
        let known = |injection: &&Injection| Injection::ANOMALIES.contains(&injection.kind);
        if let Some(unknown) = self.injections.iter().find(|injection| !known(injection)) {
            return Err(SpecError::Anomaly { anomaly: unknown.kind });
        }
        for (field, count) in
            [("sessions", self.sessions), ("ops per txn", self.ops_per_txn), ("keys", self.keys)]
        {
            if count == 0 {
                return Err(SpecError::Zero { field });
            }
        }
        self.validate_numbers()?;
        if self.duplication.is_some() && self.shape == Shape::ListAppend {
            return Err(SpecError::DuplicateElements);
        }
        self.validate_size()
    }

    fn validate_numbers(&self) -> Result<(), SpecError> {
        ratio("read ratio", self.read_ratio)?;
        ratio("read-modify-write share", self.read_modify_write)?;
        ratio("abort rate", self.abort_rate)?;
        ratio("unknown rate", self.unknown_rate)?;
        let sum = self.abort_rate + self.unknown_rate;
        if sum > 1.0 {
            return Err(SpecError::RatesAboveOne { sum });
        }
        self.distribution.validate()?;
        self.duplication.map_or(Ok(()), |duplication| duplication.validate())
    }

    fn validate_size(&self) -> Result<(), SpecError> {
        let injected = |size: fn(Injection) -> u64| {
            self.injections.iter().map(|&injection| size(injection)).fold(0, u64::saturating_add)
        };
        at_most("sessions", self.sessions.into(), MOST_SESSIONS)?;
        at_most("keys", injected(Injection::keys).saturating_add(self.keys.into()), MOST_KEYS)?;
        let txns = injected(Injection::txns).saturating_add(self.base_txns());
        at_most("transactions", txns, MOST_TXNS)?;
        let ops = self.base_txns().saturating_mul(self.ops_per_txn.into());
        at_most("operations", injected(Injection::ops).saturating_add(ops), MOST_OPS)?;
        let elements = self.expected_elements(ops as f64);
        if elements > MOST_ELEMENTS {
            return Err(SpecError::ListsTooLong { elements, most: MOST_ELEMENTS });
        }
        Ok(())
    }

    /// How many transactions there are before injection.
    pub(crate) fn base_txns(&self) -> u64 {
        u64::from(self.sessions) * u64::from(self.txns_per_session)
    }

    /// How many elements all list reads of `ops` operations return together, about: a read of a key that
    /// is chosen with probability `p` finds half of the key's appends, on average over the run.
    fn expected_elements(&self, ops: f64) -> f64 {
        if self.shape == Shape::Register {
            return 0.0;
        }
        let keys = f64::from(self.keys);
        let sum_of_squares = match self.distribution {
            Distribution::Uniform => 1.0 / keys,
            Distribution::Zipfian { theta } => {
                let weights = zipf_weights(self.keys, theta);
                let sum: f64 = weights.iter().sum();
                weights.iter().map(|w| (w / sum) * (w / sum)).sum()
            }
            Distribution::Hotspot { keys: share, ops } => {
                let hot = f64::from(hot_keys(self.keys, share));
                ops * ops / hot + (1.0 - ops) * (1.0 - ops) / (keys - hot).max(1.0)
            }
        };
        (ops * self.read_ratio) * (ops * (1.0 - self.read_ratio)) * sum_of_squares / 2.0
    }
}

/// How many of the keys are hot.
#[allow(clippy::cast_sign_loss)]
pub(crate) fn hot_keys(keys: u32, share: f64) -> u32 {
    ((f64::from(keys) * share).round() as u32).clamp(1, keys)
}

fn ratio(field: &'static str, value: f64) -> Result<(), SpecError> {
    in_range(field, value, 1.0)
}

fn exponent(field: &'static str, value: f64) -> Result<(), SpecError> {
    in_range(field, value, Distribution::MOST_THETA)
}

fn in_range(field: &'static str, value: f64, most: f64) -> Result<(), SpecError> {
    // Not a number is in no range.
    if (0.0..=most).contains(&value) { Ok(()) } else { Err(SpecError::OutOfRange { field, value, most }) }
}

fn at_most(what: &'static str, count: u64, most: u64) -> Result<(), SpecError> {
    if count <= most { Ok(()) } else { Err(SpecError::TooMany { what, count, most }) }
}

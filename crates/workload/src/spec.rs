//! The parameters of a workload, and their validation.
//!
//! All limits of a run are checked here, once: after [`Spec::validate`] no count overflows, no table is empty
//! and every ratio is in range.

use std::fmt;

use isoscope_history::Limit;
use isoscope_levels::{Anomaly, Level};

use crate::inject::Injection;
use crate::sample::zipf_weights;
use crate::store::Store;

/// A workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The number of sessions, which run concurrently.
    pub sessions: u32,
    /// The number of transactions of each session, which run one after the other.
    pub txns_per_session: u32,
    /// The number of operations of each transaction.
    pub ops_per_txn: u32,
    /// The fraction of operations that read, between 0 and 1.
    pub read_ratio: f64,
    /// The fraction of transactions that read every key before they write it, as in TPC-C. These reads count
    /// as operations. The other transactions write blindly.
    pub read_modify_write: f64,
    /// The number of keys.
    pub keys: u32,
    /// The distribution of the keys.
    pub distribution: Distribution,
    /// The keys whose writes repeat values, if any. Otherwise all values are unique.
    pub duplication: Option<Duplication>,
    /// Registers or lists.
    pub shape: Shape,
    /// The level the store runs at, one of [`Store::LEVELS`].
    pub level: Level,
    /// The fraction of transactions that abort.
    pub abort_rate: f64,
    /// The fraction of transactions whose outcome is recorded as unknown; half of them committed.
    pub unknown_rate: f64,
    /// Anomalies to add at the end, from [`Injection::ANOMALIES`].
    pub injections: Vec<Injection>,
    /// The seed of all random choices.
    pub seed: u64,
}

impl Default for Spec {
    /// Ten sessions of a hundred transactions of eight operations, half of them reads, on a hundred keys of
    /// equal weight, at serializable.
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

/// The distribution of the keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// All keys with equal probability.
    Uniform,
    /// Key `i`, counting from 0, with probability proportional to `1 / (i + 1)^theta`.
    Zipfian {
        /// 0 is uniform, YCSB uses 0.99; at most [`Distribution::MOST_THETA`].
        theta: f64,
    },
    /// The first keys are chosen more often than the others.
    Hotspot {
        /// The fraction of keys that are hot; at least one key is.
        keys: f64,
        /// The fraction of operations on hot keys.
        ops: f64,
    },
}

impl Distribution {
    /// The maximal exponent of a Zipfian distribution.
    pub const MOST_THETA: f64 = 16.0;

    /// Checks the parameters.
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
    /// The fraction of keys with repeated values.
    pub keys: f64,
    /// Their values are from 1 to this number.
    pub domain: u32,
    /// The values are drawn by Zipf's law with this exponent.
    pub theta: f64,
}

impl Duplication {
    /// Checks the parameters.
    pub fn validate(&self) -> Result<(), SpecError> {
        ratio("duplicated keys", self.keys)?;
        exponent("theta of the values", self.theta)?;
        if self.domain == 0 {
            return Err(SpecError::Zero { field: "domain of the values" });
        }
        at_most("values in the domain", self.domain.into(), MOST_KEYS)
    }
}

/// The data type of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Registers, read and overwritten. The initial value is 0.
    Register,
    /// Lists, read as a whole and appended to. They are initially empty.
    ListAppend,
}

/// The reason why a workload cannot run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SpecError {
    /// The store does not implement this level.
    Level {
        /// The level.
        level: Level,
    },
    /// The anomaly cannot be injected.
    Anomaly {
        /// The anomaly.
        anomaly: Anomaly,
    },
    /// The value must be at least 1.
    Zero {
        /// The field.
        field: &'static str,
    },
    /// A number is out of range, or not a number.
    OutOfRange {
        /// The field.
        field: &'static str,
        /// The given value.
        value: f64,
        /// The maximum; the minimum is 0.
        most: f64,
    },
    /// The abort rate and the unknown rate add up to more than 1.
    RatesAboveOne {
        /// The sum of the two rates.
        sum: f64,
    },
    /// The elements of lists must be unique.
    DuplicateElements,
    /// A count exceeds a limit.
    TooMany {
        /// What is counted.
        what: &'static str,
        /// The count.
        count: u64,
        /// The limit.
        most: u64,
    },
    /// The lists read would not fit in memory.
    ListsTooLong {
        /// The expected number of elements in all lists read.
        elements: f64,
        /// The limit.
        most: f64,
    },
    /// The history exceeds a limit of the data model.
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

/// Written values, keys and names are small integers of the history, below 2^31.
const MOST_OPS: u64 = (1 << 31) - 1;
/// Each transaction has two events, numbered with 32 bits. One of these numbers is reserved for "no event".
const MOST_TXNS: u64 = (1 << 31) - 1;
/// The store needs 12 bytes per key, and 24 more while it builds a Zipfian table.
const MOST_KEYS: u64 = 1 << 28;
const MOST_SESSIONS: u64 = 1 << 24;
/// An element takes four bytes.
const MOST_ELEMENTS: f64 = 4e9;

impl Spec {
    /// Checks the whole spec.
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

    /// The number of transactions before injection.
    pub(crate) fn base_txns(&self) -> u64 {
        u64::from(self.sessions) * u64::from(self.txns_per_session)
    }

    /// The approximate total number of elements that all list reads of `ops` operations return: a read of a
    /// key that is chosen with probability `p` finds half of the key's appends, on average over the run.
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

/// The number of hot keys.
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
    // NaN is in no range.
    if (0.0..=most).contains(&value) { Ok(()) } else { Err(SpecError::OutOfRange { field, value, most }) }
}

fn at_most(what: &'static str, count: u64, most: u64) -> Result<(), SpecError> {
    if count <= most { Ok(()) } else { Err(SpecError::TooMany { what, count, most }) }
}

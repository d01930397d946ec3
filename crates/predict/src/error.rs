//! Why nothing can be predicted from a history.

use std::fmt;

use isoscope_certificate::{Judgement, Limit};
use isoscope_levels::Level;

/// The reason why a prediction cannot begin, or could not be completed.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// The run itself is not serializable: the violation needs no prediction.
    NotSerializable(Box<Judgement>),
    /// Some keys are lists.
    Lists,
    /// All transactions that took effect are in one session.
    SingleSession,
    /// No transaction that took effect writes anything.
    NoWrites,
    /// No read can be related to a write.
    NothingRead,
    /// Whether the run is serializable could not be decided.
    Undecided,
    /// A limit was reached before the serial order of the run was known.
    Limit(Limit),
    /// The level is not one that predictions are made for.
    Level(Level),
    /// The target is not one that predictions can violate.
    Target(Level),
    /// The level already guarantees the target.
    Implied {
        /// The level.
        level: Level,
        /// The target.
        target: Level,
    },
    /// The boundary needs the programs of the run, which are not known.
    NoPrograms,
    /// A transaction is not a run of the program that it is said to be.
    Mismatch {
        /// The name of the transaction.
        txn: String,
        /// What differs.
        message: String,
    },
    /// The history is too large.
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The most of it.
        most: u64,
    },
    /// An engine contradicts itself. This is a bug.
    Internal(String),
}

impl Refusal {
    pub(crate) fn internal(message: impl Into<String>) -> Refusal {
        Refusal::Internal(message.into())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotSerializable(_) => f.write_str("the run is not serializable: the anomaly needs no prediction"),
            Refusal::Lists => f.write_str("the history has lists; only registers are supported"),
            Refusal::SingleSession => {
                f.write_str("all committed transactions are in one session, and the level respects sessions: no read can change")
            }
            Refusal::NoWrites => f.write_str("no committed transaction writes anything"),
            Refusal::NothingRead => f.write_str("no read can be related to a write"),
            Refusal::Undecided => f.write_str("it could not be decided whether the run is serializable"),
            Refusal::Limit(Limit::Memory) => {
                f.write_str("the memory limit was reached before the serial order of the run was known")
            }
            Refusal::Limit(_) => {
                f.write_str("the time limit was reached before the serial order of the run was known")
            }
            Refusal::Level(level) => write!(
                f,
                "predictions are made for read-committed, read-atomic, causal, prefix, parallel-snapshot-isolation and snapshot-isolation, not for {level}"
            ),
            Refusal::Target(level) => write!(
                f,
                "a prediction can violate prefix, snapshot-isolation or serializable, not {level}"
            ),
            Refusal::Implied { level, target } => {
                write!(f, "{level} guarantees {target}: there is nothing to predict")
            }
            Refusal::NoPrograms => {
                f.write_str("the value-aware boundary needs the programs of the run")
            }
            Refusal::Mismatch { txn, message } => {
                write!(f, "transaction {txn} is not a run of its program: {message}")
            }
            Refusal::TooLarge { what, most } => write!(f, "the history has more than {most} {what}"),
            Refusal::Internal(message) => write!(f, "internal error: {message}"),
        }
    }
}

impl std::error::Error for Refusal {}

//! Why an execution is no evidence of anything.

use std::fmt;

use isoscope_application::Call;
use isoscope_certificate::{Limit, Unknown};
use isoscope_levels::Level;
use isoscope_replay::Trouble;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The run has no call for a transaction of the prediction.
    Missing {
        /// The name of the transaction in the history.
        txn: String,
    },
    /// The predicted history has a read whose value no transaction wrote.
    Value {
        /// The key.
        key: String,
    },
    /// The store could not go on: an illegal choice, a writer that did not write, a panic, no commit.
    Trouble(Trouble),
    /// A limit was reached.
    Limit(Limit),
    /// A level could not be decided on what happened.
    Unknown {
        /// The level.
        level: Level,
        /// Why.
        why: Unknown,
    },
    /// What happened violates the level of the store. This is a bug.
    Broken(Level),
    /// The verifier does not confirm a verdict. This is a bug.
    Unverified {
        /// The level.
        level: Level,
        /// What is wrong.
        message: String,
    },
    /// Everything happened as predicted, and the target holds. This is a bug.
    Holds(Level),
    /// What happened has other transactions than those that ran. This is a bug.
    Transactions {
        /// How many were predicted.
        predicted: usize,
        /// How many are in the history.
        recorded: usize,
    },
}

impl Failure {
    /// Whether a limit stopped the execution, or came before it.
    pub fn is_limit(&self) -> bool {
        matches!(self, Failure::Limit(_) | Failure::Unknown { why: Unknown::Limit(_), .. })
    }

    /// The sentence, with the caller's names of transactions.
    pub fn describe(&self, name: &dyn Fn(Call) -> String) -> String {
        match self {
            Failure::Trouble(trouble) => trouble.describe(name),
            other => other.to_string(),
        }
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Failure {
        Failure::Trouble(trouble)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Missing { txn } => {
                write!(f, "the log does not say what transaction {txn} ran, so it cannot run again")
            }
            Failure::Value { key } => {
                write!(f, "internal error: the prediction reads a value of {key} that nobody wrote")
            }
            Failure::Trouble(trouble) => trouble.fmt(f),
            Failure::Limit(Limit::Memory) => f.write_str("the memory limit was reached; use --memory"),
            Failure::Limit(Limit::Interrupt) => f.write_str("interrupted"),
            Failure::Limit(_) => f.write_str("the time limit was reached; use --timeout"),
            Failure::Unknown { level, why } => {
                let why = match why {
                    Unknown::NothingToCheck => "no read can be related to a write",
                    Unknown::Limit(_) => "a limit was reached",
                    Unknown::Refuted(_) => "the verifier refuted its verdict, which is a bug",
                    Unknown::Ambiguous { .. } | Unknown::Unsupported { .. } => {
                        "the checker does not support it"
                    }
                };
                write!(f, "{level} could not be decided on what happened: {why}")
            }
            Failure::Broken(level) => {
                write!(f, "internal error: the store ran at {level}, and what happened violates it")
            }
            Failure::Unverified { level, message } => {
                write!(f, "internal error: the verdict for {level} was not verified: {message}")
            }
            Failure::Holds(level) => {
                write!(f, "internal error: everything happened as predicted, and {level} holds")
            }
            Failure::Transactions { predicted, recorded } => write!(
                f,
                "internal error: {predicted} transactions were predicted, and {recorded} were recorded"
            ),
        }
    }
}

impl std::error::Error for Failure {}

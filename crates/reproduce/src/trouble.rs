//! Why a prediction cannot be written as a script.

use std::fmt;

use isoscope_record::script::ScriptError;
use isoscope_replay::End;

/// Why a prediction cannot be written as a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The prediction was made without an engine.
    NoInterleaving,
    /// It is not known which call of the application a transaction is.
    UnknownTransaction(String),
    /// The programs cannot run again as predicted.
    Rerun(isoscope_replay::Trouble),
    /// A program would not commit on the predicted values.
    NoCommit {
        /// The transaction.
        txn: String,
        /// How it would end.
        end: End,
    },
    /// A program would access other keys on the predicted values.
    OtherAccesses {
        /// The transaction.
        txn: String,
        /// The key that it does not access.
        key: String,
    },
    /// More transactions are concurrent or later than a script can have sessions.
    TooManySessions(usize),
    /// A value cannot be written into a statement of a script.
    Value(String),
    /// The script is not valid. This is a bug, or the script is too long.
    Script(ScriptError),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::NoInterleaving => f.write_str(
                "the prediction has no interleaving; make it for an engine, such as `--engine pg-rr`",
            ),
            Trouble::UnknownTransaction(txn) => write!(
                f,
                "it is not known which call of the application transaction {txn} is; give the log of the recording"
            ),
            Trouble::Rerun(trouble) => {
                write!(
                    f,
                    "the programs do not run as in the history: {trouble}; give the parameters and the seed of the recording"
                )
            }
            Trouble::NoCommit { txn, end } => {
                write!(
                    f,
                    "on the predicted values, {txn} would not commit: {end:?}; use the value-aware boundary"
                )
            }
            Trouble::OtherAccesses { txn, key } => {
                write!(
                    f,
                    "on the predicted values, {txn} would not access {key}; use the value-aware boundary"
                )
            }
            Trouble::TooManySessions(count) => {
                write!(
                    f,
                    "{count} transactions are concurrent with others or after them; a script has at most 64 sessions"
                )
            }
            Trouble::Value(value) => write!(f, "the text {value:?} cannot be written into a script"),
            Trouble::Script(error) => write!(f, "the script is not valid: {error}"),
        }
    }
}

impl std::error::Error for Trouble {}

impl From<isoscope_replay::Trouble> for Trouble {
    fn from(trouble: isoscope_replay::Trouble) -> Trouble {
        Trouble::Rerun(trouble)
    }
}

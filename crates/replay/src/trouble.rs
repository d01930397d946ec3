//! Why a run failed.

use std::fmt;

use isoscope_application::Call;
use isoscope_levels::Level;

use crate::content::Source;

/// Why a run failed. What happened is then no evidence of anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The store does not implement the level.
    Unsupported(Level),
    /// The transaction has run before.
    Again(Call),
    /// The chosen writer has not run, has not committed, or did not write the key.
    NotWritten {
        /// The reader.
        call: Call,
        /// The key.
        key: String,
        /// The chosen writer.
        from: Source,
    },
    /// The level forbids the choice.
    Illegal {
        /// The reader.
        call: Call,
        /// The key.
        key: String,
        /// The chosen writer.
        from: Source,
    },
    /// It is not known whether the level permits the choice.
    Undecided(Call),
    /// The application panicked.
    Crashed {
        /// The transaction.
        call: Call,
        /// The message of the panic.
        message: String,
    },
    /// No transaction committed.
    Empty,
}

impl Trouble {
    /// The sentence, with the caller's names of transactions.
    pub fn describe(&self, name: &dyn Fn(Call) -> String) -> String {
        match self {
            Trouble::Unsupported(level) => format!("the store does not support {level}"),
            Trouble::Again(call) => format!("{} has run before", name(*call)),
            Trouble::NotWritten { call, key, from } => {
                let from = from.describe(name);
                format!("{} cannot read {key} from {from}, which has not written it", name(*call))
            }
            Trouble::Illegal { call, key, from } => {
                let from = from.describe(name);
                format!("{} cannot read {key} from {from}: the level forbids it", name(*call))
            }
            Trouble::Undecided(call) => {
                format!("it is unknown whether the level permits what {} reads", name(*call))
            }
            Trouble::Crashed { call, message } => format!("{} crashed: {message}", name(*call)),
            Trouble::Empty => "no transaction committed".to_owned(),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(&|call| Source::Txn(call).to_string()))
    }
}

impl std::error::Error for Trouble {}

//! The programs of a run, which can run again on other values.

use isoscope_history::Txn;

/// An access of a transaction to keys, by name. Reads of what the transaction wrote itself are none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// A read of a key.
    Read(String),
    /// A read of all keys between two names.
    Range(String, String),
    /// A write of a key.
    Write(String),
}

/// What a transaction did when it ran again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rerun {
    /// Whether it committed.
    pub commits: bool,
    /// Its accesses, in program order.
    pub accesses: Vec<Access>,
    /// The final content of each key that it wrote, as text.
    pub written: Vec<(String, String)>,
}

/// The programs behind the transactions of a run. `None` as a writer is the initial state.
pub trait Programs {
    /// The name of the program that a transaction is a run of; `None` if it must not run again.
    fn program(&self, txn: Txn) -> Option<&str>;

    /// Runs a transaction again. `choose` names the writer of each key that it reads.
    ///
    /// # Errors
    ///
    /// Why it cannot run: a sentence.
    fn rerun(&self, txn: Txn, choose: &mut dyn FnMut(&str) -> Option<Txn>) -> Result<Rerun, String>;

    /// Whether two writers wrote the same content to a key.
    fn is_same(&self, key: &str, one: Option<Txn>, other: Option<Txn>) -> bool;
}

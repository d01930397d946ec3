//! What an audit answers.

use std::collections::BTreeMap;

use isoscope_log::Class;

use crate::model::Model;

/// The result of an audit.
#[derive(Clone, Debug)]
pub struct Audit {
    /// The model.
    pub model: Model,
    /// The verdict.
    pub verdict: Verdict,
    /// Counts.
    pub figures: Figures,
    /// Statements whose answers were not checked.
    pub gaps: Vec<Gap>,
}

/// Whether a correct execution gives every answer.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// One does.
    Explained(Explanation),
    /// None does.
    Violated(Violation),
    /// A limit was reached.
    Undecided(Undecided),
}

/// A point of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A statement, by its entry in the log: its snapshot is taken.
    Snapshot(usize),
    /// A statement writes.
    Write(usize),
    /// The transaction of this entry commits.
    Commit(usize),
    /// The transaction of this entry aborts.
    Abort(usize),
}

/// An execution that gives every answer: the certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The model.
    pub model: Model,
    /// The points, in their order. Statements that read at the snapshot of an earlier statement are not listed. A transaction of
    /// unknown outcome that is not listed had no effect.
    pub places: Vec<Place>,
    /// At `pg-ser`: an entry of each committed transaction, in a serial order that gives the same answers. Empty if the order is
    /// not written down, as it is for now: nothing verifies that it exists.
    pub serial: Vec<usize>,
}

/// No correct execution gives the answers.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The entry where the smallest failing prefix ends, in the order of answers.
    pub entry: usize,
    /// What is wrong with that entry in the execution that was tried last.
    pub why: String,
    /// Entries that contradict each other.
    pub core: Core,
    /// What kind of wrong it is.
    pub blame: Blame,
}

/// Answers that no execution explains together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Core {
    /// The entries whose answers contradict each other, in the order of their answers.
    pub answers: Vec<usize>,
    /// Whether no answer can be left out.
    pub is_minimal: bool,
}

/// What kind of wrong an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Blame {
    /// The statements are evaluated correctly, but on rows that the isolation level does not permit.
    Isolation(Rung),
    /// No combination of rows that were ever written gives the answer.
    Semantic,
    /// Neither was found within the limits.
    Undetermined,
}

/// The strongest promise that was found to explain the answers up to the violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rung {
    /// Another model.
    Model(Model),
    /// Each row is some version that is committed in an execution that explains the answers before.
    AnyCommitted,
    /// Each row is some version that is written in such an execution.
    AnyWritten,
}

/// Why an audit was not decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// The entry up to which the log is explained.
    pub entry: usize,
    /// The limit.
    pub why: String,
}

/// A statement whose answer was not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The entry.
    pub entry: usize,
    /// Why.
    pub why: String,
}

/// Counts of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Transactions, without the loader's.
    pub transactions: usize,
    /// Statements whose answers are explained.
    pub answers: usize,
    /// Answers that did not fit at first and were explained by a search.
    pub by_search: usize,
    /// Points of the largest region of a search.
    pub largest_region: usize,
    /// Orders that searches proposed.
    pub proposals: u64,
    /// Errors that a correct database may always give, by class.
    pub refused: BTreeMap<&'static str, u64>,
}

impl Figures {
    pub(crate) fn count_refusal(&mut self, class: Class) {
        *self.refused.entry(class.name()).or_insert(0) += 1;
    }
}

/// Receives progress, and says when to stop.
pub trait Watch {
    /// Whether a limit was reached. Asked often; must be cheap, and once true stay true.
    fn is_over(&self) -> bool {
        false
    }

    /// This many of all answers are explained.
    fn progress(&self, explained: usize, all: usize) {
        let _ = (explained, all);
    }
}

/// No limit.
impl Watch for () {}

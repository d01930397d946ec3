//! Scripts: a few sessions interleaved step by step, and the condition under which an anomaly happened.
//!
//! A recorded run finds anomalies by chance. A script provokes one: it sends the statements in a fixed order, each in its
//! session, and asks the database whether a statement waits for a lock. The same script therefore has the same result
//! every time, on every database that understands its SQL.
//!
//! ```text
//! name: lost update
//! about: Both transactions read 10 and write a value computed from it. The second overwrites the first without having seen it.
//!
//! setup:
//!   CREATE TABLE item (id INTEGER PRIMARY KEY, value INTEGER NOT NULL)
//!   INSERT INTO item VALUES (1, 10)
//!
//! steps:
//!   T1: BEGIN
//!   T2: BEGIN
//!   T1.read: SELECT value FROM item WHERE id = 1            => 10
//!   T2.read: SELECT value FROM item WHERE id = 1            => 10
//!   T1: UPDATE item SET value = 11 WHERE id = 1
//!   T2.write: UPDATE item SET value = 12 WHERE id = 1       => waits
//!   T1: COMMIT
//!   T2: COMMIT
//!
//! anomaly when:
//!   T1.read = 10 and T2.read = 10 and T1 committed and T2 committed
//! ```
//!
//! # Format
//!
//! A line without indentation starts a section; the indented lines below belong to it. A line that is indented deeper than
//! the first line of its section continues the line above. Blank lines, and lines whose first character is `#`, are ignored.
//!
//! | section | content |
//! |---|---|
//! | `name:` | the name of the script |
//! | `about:` | a description |
//! | `setup:` | statements that run before the steps, each in its own transaction |
//! | `steps:` | `session: statement` or `session.label: statement`, each optionally followed by `=> expectation` |
//! | `anomaly when:` | a condition |
//! | `teardown:` | statements that run at the end, even if not all steps could be run |
//!
//! The tables that `setup` creates are dropped at the end, and no others. If a table of that name already exists, the
//! script fails and does not touch the table.
//!
//! `BEGIN`, `COMMIT` and `ROLLBACK` delimit the transactions of a session; a statement outside them is a transaction of its
//! own. The isolation level is that of the [`Database`] and is not part of the script.
//!
//! **An expectation** is `waits`, `fails`, `fails with deadlock` (or another [class](crate::Class::name)), an answer, or
//! `waits, then` one of the last three. An answer is a list of rows: `10` is one row of one column, `10, 20` are two
//! rows, `(1, 10), (2, 20)` are two rows of two columns, `none` is no row. The answer of a statement that changes rows is
//! their number. Values are integers, decimal numbers, `'texts'`, `null`, `true` and `false`. The transcript marks
//! expectations that were not met; the run continues.
//!
//! **A condition** combines these with `and`, `or`, `not` and parentheses:
//!
//! - `T1.read = 10`, also with `!=`, `<`, `<=`, `>`, `>=`, `contains`. Each side is an answer, by its label, or rows. Rows
//!   are equal if they are the same in any order. `<` and the like apply to single numbers only. If a step has no answer,
//!   every comparison with it is false.
//! - `T1.read answered`, `waited`, `failed`, `failed with deadlock`, `skipped`.
//! - `T1 committed`, `T1 rolled back`, `T1 failed`, `T1 failed with serialization`: how the session's last transaction
//!   ended. *Rolled back* means by the session's own `ROLLBACK`.
//!
//! # Execution
//!
//! Each session has a connection and a thread. A step is sent when the previous step has been answered or waits for a
//! lock. While a session waits, its later steps are held back; they run as soon as it is answered, before the script
//! continues. If every open transaction waits, only the database can release them, and the runner waits for it. If a step
//! fails, its transaction is rolled back and its remaining steps are skipped. Transactions still open at the end are
//! rolled back.

mod condition;
mod parse;
mod run;
mod transcript;
mod words;

use std::fmt;
use std::time::Duration;

use crate::database::{Class, Database, Failure, Scalar, Vendor};

pub use condition::Condition;
pub use parse::{MAX_BYTES, parse};
pub use run::Options;
pub use transcript::{Ending, Prevention, StepDone, StepResult, Transcript, Verdict};
pub use words::Place;

/// A script, ready to run. [`parse`] creates it and checks that every reference to a session or label is valid.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Script {
    /// The name; may be empty.
    pub name: String,
    /// The description; may be empty.
    pub about: String,
    /// Statements before the steps.
    pub setup: Vec<Sql>,
    /// The names of the sessions, in the order in which they first appear.
    pub sessions: Vec<String>,
    /// The steps, in the order in which they are sent.
    pub steps: Vec<Step>,
    /// The condition under which the anomaly happened, if the script has one.
    pub anomaly: Option<Condition>,
    /// Statements after the steps.
    pub teardown: Vec<Sql>,
}

/// A statement of `setup:` or `teardown:`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sql {
    /// The statement.
    pub text: String,
    /// Where it begins in the script.
    pub place: Place,
}

impl Script {
    /// Runs the script. `on_step` is called for every step when it is answered, begins to wait, fails or is skipped.
    ///
    /// It fails if the script could not be executed: no connection, a failed setup, an exceeded limit. The failure of a step
    /// is not an error; it is part of the transcript. In all cases the tables that the script created are dropped, as far as
    /// the database allows it.
    pub fn run(
        &self,
        database: &dyn Database,
        options: &Options,
        on_step: &mut dyn FnMut(&StepDone),
    ) -> Result<Transcript, RunError> {
        run::run(self, database, options, on_step)
    }
}

/// The limits to open a database with for scripts. Scripts provoke waits, so the lock limit is long. In SQLite it is zero:
/// the runner cannot see that a session waits there, and no other session would run until the wait ends.
pub fn connection_limits(vendor: Vendor) -> crate::Options {
    let lock_limit = if vendor == Vendor::Sqlite { Duration::ZERO } else { Duration::from_secs(20) };
    crate::Options { lock_limit, ..crate::Options::default() }
}

/// One step of a script.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// The index of the session in [`Script::sessions`].
    pub session: usize,
    /// The label of its answer.
    pub label: Option<String>,
    /// What the session does.
    pub action: Action,
    /// The expected result.
    pub expected: Option<Expected>,
    /// Where its statement begins in the script.
    pub place: Place,
}

/// What a session does in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Begins a transaction.
    Begin,
    /// Commits it.
    Commit,
    /// Rolls it back.
    Rollback,
    /// Runs a statement.
    Statement(String),
}

impl Action {
    /// Whether the action ends a transaction.
    pub const fn is_end(&self) -> bool {
        matches!(self, Action::Commit | Action::Rollback)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Action::Begin => "BEGIN",
            Action::Commit => "COMMIT",
            Action::Rollback => "ROLLBACK",
            Action::Statement(sql) => sql,
        })
    }
}

/// The expectation of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Whether the step has to wait.
    pub waits: bool,
    /// The expected result; `None` if any result will do.
    pub then: Option<ExpectedResult>,
}

/// The expected result of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedResult {
    /// An answer.
    Rows(Vec<Vec<Scalar>>),
    /// A failure, of the given class if there is one.
    Fails(Option<Class>),
}

/// Why a script could not be executed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunError {
    /// The failure of the database or of a limit.
    pub failure: Failure,
    /// The statement that failed, if it is one of the script.
    pub place: Option<Place>,
}

impl From<Failure> for RunError {
    fn from(failure: Failure) -> RunError {
        RunError { failure, place: None }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)
    }
}

impl std::error::Error for RunError {}

/// A syntax error in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is wrong, or what was expected and what was found.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}

impl std::error::Error for ScriptError {}

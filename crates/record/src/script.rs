//! Scripts: a few sessions, interleaved step by step, and what it means that an anomaly happened.
//!
//! A recorded run finds what chance brings about. A script brings it about: every statement is sent at its turn, by the
//! session it belongs to, and whether one waits for another is seen rather than guessed. So the same script has the same
//! result every time, on every database that speaks its SQL.
//!
//! ```text
//! name: lost update
//! about: Both read 10 and write back what they made of it; the second never saw the first.
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
//! # The format
//!
//! A line that begins at the margin opens a section; indented lines belong to it. A line that is indented deeper than the
//! first of its section continues the line above. Lines whose first character is `#`, and blank lines, are left out.
//!
//! | section | what it holds |
//! |---|---|
//! | `name:` | what the script is called |
//! | `about:` | what it shows |
//! | `setup:` | statements, run before the steps, each on its own |
//! | `steps:` | `session: statement`, or `session.label: statement`, each perhaps with `=> what is expected` |
//! | `anomaly when:` | a condition |
//! | `teardown:` | statements, run at the end, however that came about |
//!
//! Tables that `setup` creates are dropped at the end without being asked, and no others: a script that finds a table of
//! that name already there fails and leaves it alone.
//!
//! `BEGIN`, `COMMIT` and `ROLLBACK` are the session's transaction; a statement outside is a transaction by itself. The
//! isolation level is the database's affair and stands in no script.
//!
//! **What is expected** of a step is `waits`, `fails`, `fails with deadlock` (or another [class](crate::Class::name)), an
//! answer, or `waits, then` one of the last three. An answer is rows: `10` is one row of one column, `10, 20` are two,
//! `(1, 10), (2, 20)` are two of two columns, `none` is no row. The answer of a statement that changes rows is their
//! number. Values are integers, numbers, `'texts'`, `null`, `true` and `false`. What was expected and did not come is
//! noted in the transcript and stops nothing.
//!
//! **A condition** is made of `and`, `or`, `not` and parentheses from
//!
//! - `T1.read = 10`, and with `!=`, `<`, `<=`, `>`, `>=`, `contains`; on either side an answer, by its label, or rows. Rows
//!   are equal when they are the same in any order. The order of values is for single numbers. About a step that has
//!   no answer every comparison is false.
//! - `T1.read answered`, `waited`, `failed`, `failed with deadlock`, `skipped`.
//! - `T1 committed`, `T1 rolled back`, `T1 failed`, `T1 failed with serialization`: how the session's last transaction
//!   ended. *Rolled back* is by its own will.
//!
//! # How it runs
//!
//! Each session has a connection and a thread. A step is sent when the one before is answered, or is seen to wait for a
//! lock. The later steps of a session that waits are kept back until it is answered; they follow at once then, before
//! the script goes on. When every open transaction waits, nobody but the database can end it, and so it is awaited.
//! When a step fails, its transaction is rolled back, and what is left of it is skipped. Transactions still open at the
//! end are rolled back.

mod condition;
mod parse;
mod run;
mod session;
mod transcript;
mod words;

use std::fmt;
use std::time::Duration;

use crate::database::{Class, Database, Failure, Scalar, Vendor};

pub use condition::Condition;
pub use parse::{MAX_BYTES, parse};
pub use run::Options;
pub use transcript::{Ending, Prevention, StepDone, StepResult, Transcript, Verdict};

/// A script, ready to run. [`parse`] makes it, and sees to it that what refers to something finds it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Script {
    /// What it is called; empty if it has no name.
    pub name: String,
    /// What it shows; empty if it does not say.
    pub about: String,
    /// Statements before the steps.
    pub setup: Vec<String>,
    /// The names of the sessions, in the order in which they first appear.
    pub sessions: Vec<String>,
    /// The steps, in the order in which they are sent. Steps refer to sessions by their place.
    pub steps: Vec<Step>,
    /// What it means that the anomaly happened, if the script says.
    pub anomaly: Option<Condition>,
    /// Statements after the steps.
    pub teardown: Vec<String>,
}

impl Script {
    /// Runs the script. `on_step` hears of every step when it is answered, begins to wait, fails or is skipped.
    ///
    /// It fails when the script could not be carried out: no connection, a bad setup, a limit. That a step fails is none
    /// of this; it stands in the transcript. What the script made in the database is gone afterwards in any case, as far
    /// as the database lets it.
    pub fn run(
        &self,
        database: &dyn Database,
        options: &Options,
        on_step: &mut dyn FnMut(&StepDone),
    ) -> Result<Transcript, Failure> {
        run::run(self, database, options, on_step)
    }
}

/// The limits to open a database with for scripts. Waits are the scripts' affair, so locks are given time; but who
/// waits in SQLite waits in vain, since nobody can see it and nobody else moves.
pub fn connection_limits(vendor: Vendor) -> crate::Options {
    let lock_limit = if vendor == Vendor::Sqlite { Duration::ZERO } else { Duration::from_secs(20) };
    crate::Options { lock_limit, ..crate::Options::default() }
}

/// One step of a script.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// Which session, by its place in [`Script::sessions`].
    pub session: usize,
    /// What its answer is called, if it has a name.
    pub label: Option<String>,
    /// What the session does.
    pub action: Action,
    /// What is expected to come of it, if anything.
    pub expected: Option<Expected>,
    /// The line it stands on, counted from 1.
    pub line: u32,
}

/// What a session does in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Begins a transaction.
    Begin,
    /// Commits it.
    Commit,
    /// Ends it without effect.
    Rollback,
    /// Runs a statement.
    Statement(String),
}

impl Action {
    /// Whether the transaction ends here.
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

/// What is expected to come of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Whether it has to wait.
    pub waits: bool,
    /// What comes then; `None` if that does not matter.
    pub then: Option<ExpectedResult>,
}

/// The end that a step is expected to come to.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedResult {
    /// An answer.
    Rows(Vec<Vec<Scalar>>),
    /// A failure, perhaps of a certain class.
    Fails(Option<Class>),
}

/// What is wrong with a script, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1, in characters.
    pub column: u32,
    /// What is wrong, or what was expected and what was found.
    pub message: String,
    /// What to do about it, if there is something to say.
    pub help: Option<String>,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}

impl std::error::Error for ScriptError {}

//! The record of one running transaction: its statements with their answers, for the log, and the operations on keys that
//! follow from them, for the history.

use std::time::Instant;

pub use isoscope_log::Event;

use crate::database::{Answer, Failure, Scalar, Statement};

/// An operation on a key, before it is answered. Keys are texts or integers, values integers.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Reads a register.
    Read(Scalar),
    /// Overwrites a register.
    Write(Scalar, i64),
    /// Overwrites a register with a value that is not an integer: a text, or NULL, which is absence.
    Set(Scalar, Scalar),
    /// Reads a list.
    ReadList(Scalar),
    /// Appends to a list.
    Append(Scalar, i64),
    /// Creates a key.
    Insert(Scalar, i64),
    /// Removes a key that exists. If a DELETE finds that the key is absent, it is not a write; see [`Record::step`].
    Delete(Scalar),
    /// Reads all keys from the first to the second.
    Range(Scalar, Scalar),
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// It wrote.
    Done,
    /// It did not write, because it matched no row, and it does not see the same rows as plain reads. So it is not a read
    /// either.
    Missed,
    /// The value of a register; `None` if the key is absent.
    Value(Option<i64>),
    /// The value of a register that is not an integer.
    Scalar(Scalar),
    /// The elements of a list.
    List(Vec<i64>),
    /// The keys found, with their values.
    Rows(Vec<(Scalar, i64)>),
}

/// The operations and statements of one transaction so far.
#[derive(Debug, Default)]
pub struct Record {
    /// The operations that were answered, in order.
    pub steps: Vec<(Step, Seen)>,
    /// The statements, in order, if `wants_events`.
    pub events: Vec<Event>,
    /// Whether to keep statements.
    pub wants_events: bool,
}

impl Record {
    /// A record that keeps statements if `wants_events`.
    pub fn new(wants_events: bool) -> Record {
        Record { wants_events, ..Record::default() }
    }

    /// Clears the record for the next transaction.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.events.clear();
    }

    /// Adds an operation and its result. A statement that should have written but matched no row is not a write: it is a read
    /// of an absent key if it sees the same rows as plain reads, and otherwise no operation.
    pub fn step(&mut self, step: Step, seen: Seen) {
        match (step, seen) {
            (_, Seen::Missed) => {}
            (Step::Delete(key), Seen::Value(found)) => self.steps.push((Step::Read(key), Seen::Value(found))),
            noted => self.steps.push(noted),
        }
    }

    /// Runs a statement with `execute` and, if statements are kept, adds it with its answer.
    pub fn statement(
        &mut self,
        statement: Statement<'_>,
        execute: impl FnOnce(Statement<'_>) -> Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        self.timed(statement, execute, Answer::clone)
    }

    /// Like [`Record::statement`], for results that are not an [`Answer`].
    pub(crate) fn timed<T>(
        &mut self,
        statement: Statement<'_>,
        execute: impl FnOnce(Statement<'_>) -> Result<T, Failure>,
        answer: impl FnOnce(&T) -> Answer,
    ) -> Result<T, Failure> {
        if !self.wants_events {
            return execute(statement);
        }
        let sent = Instant::now();
        let result = execute(statement);
        let answered = Instant::now();
        let answer = result.as_ref().map(answer).map_err(Failure::clone);
        let (sql, params) = (statement.sql.to_owned(), statement.params.to_vec());
        self.events.push(Event { sql, params, answer, sent, answered });
        result
    }
}

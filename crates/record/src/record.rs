//! What one transaction did, while it is being done: the statements with their answers, for the log, and the operations
//! on keys that follow from them, for the history.

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
    /// Reads a list.
    ReadList(Scalar),
    /// Appends to a list.
    Append(Scalar, i64),
    /// Creates a key.
    Insert(Scalar, i64),
    /// Removes a key that is there. One that was not there is not written: what a DELETE found instead is [`Seen`].
    Delete(Scalar),
    /// Reads all keys from the first to the second.
    Range(Scalar, Scalar),
}

/// What an operation was answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// Nothing: it wrote.
    Done,
    /// Nothing, and it did not write: it found no row, by a look that other reads need not agree with.
    Missed,
    /// The value of a register; `None` if the key is not there.
    Value(Option<i64>),
    /// The elements of a list.
    List(Vec<i64>),
    /// The keys found, with their values.
    Rows(Vec<(Scalar, i64)>),
}

/// What one transaction did so far.
#[derive(Debug, Default)]
pub struct Record {
    /// The operations that were answered, in order.
    pub steps: Vec<(Step, Seen)>,
    /// The statements, in order, if they are wanted.
    pub events: Vec<Event>,
    /// Whether statements are wanted.
    pub wants_events: bool,
}

impl Record {
    /// A record that keeps statements only when they are wanted.
    pub fn new(wants_events: bool) -> Record {
        Record { wants_events, ..Record::default() }
    }

    /// Forgets everything, for the next transaction.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.events.clear();
    }

    /// Notes an operation and its answer. A statement that was to write and found no row is no write: it is a read of an absent
    /// key if it looked where reads look, else nothing.
    pub fn step(&mut self, step: Step, seen: Seen) {
        match (step, seen) {
            (_, Seen::Missed) => {}
            (Step::Delete(key), Seen::Value(found)) => self.steps.push((Step::Read(key), Seen::Value(found))),
            noted => self.steps.push(noted),
        }
    }

    /// Runs a statement by `execute` and, if statements are wanted, notes it with its answer.
    pub fn statement(
        &mut self,
        statement: Statement<'_>,
        execute: impl FnOnce(Statement<'_>) -> Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        self.timed(statement, execute, Answer::clone)
    }

    /// The same for statements that are not answered with rows or a count.
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

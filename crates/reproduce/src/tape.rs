//! What a program asks for, and the statements that this is in SQL.
//!
//! A [`Spy`] is an application that notes every operation and its answer. An operation becomes a statement by running it as the recorder
//! does, on a connection that knows the answer. So the text of the statement and the operations of the history are those of a recording.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use isoscope_application::{
    Application, Books, Call, Contents, Field, Operations, Row, Select, Stopped, Table, Tables,
};
use isoscope_record::workload::Transaction;
use isoscope_record::{
    Answer, Class, Connection, ConnectionId, Failure, Record, Scalar, Seen, Stamps, Statement, Step,
};
use isoscope_workload::Dice;
use serde_json::Value;

/// An operation of a program.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    Select(Select),
    Update(&'static Table, Vec<Field>, Vec<(&'static str, Field)>),
    Insert(&'static Table, Vec<Field>),
    Delete(&'static Table, Vec<Field>),
}

impl Asked {
    /// The row that it writes: its table and primary key.
    pub(crate) fn written(&self) -> Option<(&'static Table, Vec<Field>)> {
        match self {
            Asked::Select(_) => None,
            Asked::Update(table, key, _) | Asked::Delete(table, key) => Some((table, key.clone())),
            Asked::Insert(table, row) => Some((table, table.key_of(row))),
        }
    }
}

/// An operation with its answer.
#[derive(Clone, Debug)]
pub(crate) struct Taped {
    pub(crate) asked: Asked,
    pub(crate) answer: Answer,
}

/// An application that notes what it asks for.
pub(crate) struct Spy<'a> {
    application: &'a dyn Application,
    tape: Mutex<Vec<Taped>>,
}

impl<'a> Spy<'a> {
    pub(crate) fn new(application: &'a dyn Application) -> Spy<'a> {
        Spy { application, tape: Mutex::new(Vec::new()) }
    }

    /// What was asked for since the last call.
    pub(crate) fn take(&self) -> Vec<Taped> {
        std::mem::take(&mut self.tape.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Application for Spy<'_> {
    fn name(&self) -> &'static str {
        self.application.name()
    }

    fn about(&self) -> &'static str {
        self.application.about()
    }

    fn tables(&self) -> Vec<Contents> {
        self.application.tables()
    }

    fn parameters(&self) -> Value {
        self.application.parameters()
    }

    fn programs(&self) -> &'static [&'static str] {
        self.application.programs()
    }

    fn draw(&self, call: Call, dice: &mut Dice) -> usize {
        self.application.draw(call, dice)
    }

    fn transact(
        &self,
        program: usize,
        call: Call,
        dice: &mut Dice,
        ops: &mut dyn Operations,
    ) -> Result<bool, Stopped> {
        let mut noting = Noting { ops, tape: &self.tape };
        self.application.transact(program, call, dice, &mut noting)
    }

    fn rules(&self, tables: &mut dyn Tables, books: Books) -> Result<Vec<String>, Stopped> {
        self.application.rules(tables, books)
    }
}

struct Noting<'a> {
    ops: &'a mut dyn Operations,
    tape: &'a Mutex<Vec<Taped>>,
}

impl Noting<'_> {
    fn note(&self, asked: Asked, answer: Answer) {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner).push(Taped { asked, answer });
    }
}

impl Operations for Noting<'_> {
    fn select(&mut self, select: &Select) -> Result<Vec<Row>, Stopped> {
        // The statement also selects the columns that identify a row.
        let mut whole = select.clone();
        let missing = select.identifying().into_iter().filter(|column| !select.columns.contains(column));
        whole.columns.extend(missing);
        let mut rows = self.ops.select(&whole)?;
        let answer = rows.iter().map(|row| row.0.iter().map(scalar).collect()).collect();
        self.note(Asked::Select(whole), Answer::Rows(answer));
        for row in &mut rows {
            row.0.truncate(select.columns.len());
        }
        Ok(rows)
    }

    fn update(
        &mut self,
        table: &'static Table,
        key: &[Field],
        set: &[(&'static str, Field)],
    ) -> Result<bool, Stopped> {
        let found = self.ops.update(table, key, set)?;
        self.note(Asked::Update(table, key.to_vec(), set.to_vec()), Answer::Count(found.into()));
        Ok(found)
    }

    fn insert(&mut self, table: &'static Table, row: &[Field]) -> Result<(), Stopped> {
        self.ops.insert(table, row)?;
        self.note(Asked::Insert(table, row.to_vec()), Answer::Count(1));
        Ok(())
    }

    fn delete(&mut self, table: &'static Table, key: &[Field]) -> Result<bool, Stopped> {
        let found = self.ops.delete(table, key)?;
        self.note(Asked::Delete(table, key.to_vec()), Answer::Count(found.into()));
        Ok(found)
    }

    fn brings(&mut self, amount: i64) {
        self.ops.brings(amount);
    }

    fn fail(&mut self, message: String) -> Stopped {
        self.ops.fail(message)
    }
}

/// A statement, and the operations of the history that follow from its answer.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) sql: String,
    pub(crate) params: Vec<Scalar>,
    pub(crate) asked: Asked,
    pub(crate) answer: Answer,
    pub(crate) steps: Vec<(Step, Seen)>,
}

impl Sent {
    /// The statement of an operation that got this answer. Fails with a sentence if the answer makes no sense to the recorder.
    pub(crate) fn new(asked: &Asked, answer: &Answer) -> Result<Sent, String> {
        let mut connection = Canned { answers: VecDeque::from([answer.clone()]), sent: None };
        let mut record = Record::new(false);
        // A write that matched no row shows nothing: databases differ in what it has seen.
        let mut txn = Transaction::new(&mut connection, &mut record, Seen::Missed);
        let done = match asked {
            Asked::Select(select) => txn.select(select).map(|_| ()),
            Asked::Update(table, key, set) => txn.update(table, key, set).map(|_| ()),
            Asked::Insert(table, row) => txn.insert(table, row),
            Asked::Delete(table, key) => txn.delete(table, key).map(|_| ()),
        };
        if done.is_err() {
            let failure = txn.failure.take();
            return Err(failure.map_or("the statement has no answer".to_owned(), |it| it.to_string()));
        }
        let (sql, params) = connection.sent.unwrap_or_default();
        Ok(Sent { sql, params, asked: asked.clone(), answer: answer.clone(), steps: record.steps })
    }

    pub(crate) fn is_select(&self) -> bool {
        matches!(self.asked, Asked::Select(_))
    }
}

/// A connection that knows the answers.
struct Canned {
    answers: VecDeque<Answer>,
    sent: Option<(String, Vec<Scalar>)>,
}

impl Connection for Canned {
    fn id(&self) -> Option<ConnectionId> {
        None
    }

    fn begin(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn execute(&mut self, statement: Statement<'_>) -> Result<Answer, Failure> {
        self.sent = Some((statement.sql.to_owned(), statement.params.to_vec()));
        let unanswered = || Failure {
            class: Class::Other,
            code: None,
            message: format!("no answer to {}", statement.sql),
        };
        self.answers.pop_front().ok_or_else(unanswered)
    }

    fn commit(&mut self) -> Result<Stamps, Failure> {
        Ok(Stamps::default())
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// A field as a parameter of a statement.
pub(crate) fn scalar(field: &Field) -> Scalar {
    match field {
        Field::Null => Scalar::Null,
        Field::Int(n) => Scalar::Int(*n),
        Field::Text(text) => Scalar::Text(text.clone()),
    }
}

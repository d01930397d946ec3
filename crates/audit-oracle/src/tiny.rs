//! Tiny logs.

use std::time::{Duration, Instant};

use isoscope_history::Outcome;
use isoscope_log::{
    Answer, Class, Ending, Entry, Event, Failure, LOADER, Log, LogHeader, Place, Scalar, Stamps, Vendor,
    write_ending, write_event, write_header,
};

use crate::model::Model;
use crate::statement::{Image, Statement, Table};

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Given {
    /// The rows of a SELECT.
    Rows(Vec<Vec<Option<i64>>>),
    /// The count of any other statement.
    Count(u64),
    /// An error.
    Error(Class),
}

/// A statement with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TinyEntry {
    /// The session.
    pub session: usize,
    /// The transaction. Its entries are in the order of the log, and belong to one session.
    pub txn: usize,
    /// The statement.
    pub statement: Statement,
    /// Whether its text has parameters.
    pub has_params: bool,
    /// The answer.
    pub given: Given,
    /// When it was sent.
    pub sent: u64,
    /// When it was answered.
    pub answered: u64,
    /// The outcome of the transaction, if the statement ended it.
    pub outcome: Option<Outcome>,
}

/// A tiny log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TinyLog {
    /// The rows at the beginning.
    pub initial: Vec<Image>,
    /// The statements with their answers.
    pub entries: Vec<TinyEntry>,
}

impl TinyLog {
    /// How many entries of the converted log come before the first statement of the tiny log: those of the loader.
    pub const LOADED: usize = 3;

    /// The table at the beginning.
    pub fn table(&self) -> Table {
        (0..).zip(self.initial.iter().copied()).collect()
    }

    /// The number of sessions.
    pub fn sessions(&self) -> usize {
        self.entries.iter().map(|entry| entry.session + 1).max().unwrap_or(0)
    }

    /// The number of transactions.
    pub fn txns(&self) -> usize {
        self.entries.iter().map(|entry| entry.txn + 1).max().unwrap_or(0)
    }

    /// The entries in the order of their answers: by time, then by line.
    pub fn by_answer(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by_key(|&e| (self.entries[e].answered, e));
        order
    }

    /// The log with its loader: entry `e` of the tiny log is entry `LOADED + e`.
    pub fn to_log(&self, model: Model) -> Log {
        let (vendor, database, isolation) = match model {
            Model::PgRc | Model::PaperRc => (Vendor::Postgres, "PostgreSQL 15", "read-committed"),
            Model::PgRr | Model::PaperSi | Model::PaperSsi => {
                (Vendor::Postgres, "PostgreSQL 15", "repeatable-read")
            }
            Model::PgSer | Model::PaperS | Model::PaperSs => {
                (Vendor::Postgres, "PostgreSQL 15", "serializable")
            }
            Model::Sqlite => (Vendor::Sqlite, "SQLite 3", "serializable"),
        };
        let header = LogHeader {
            database: database.to_owned(),
            vendor,
            isolation: isolation.to_owned(),
            workload: "tiny".to_owned(),
            parameters: None,
            sessions: None,
            seed: None,
            schema: vec!["CREATE TABLE t (k INT PRIMARY KEY, v INT)".to_owned()],
        };
        let mut entries = self.loader();
        let mut numbers = vec![0; self.txns()];
        for entry in &self.entries {
            let (sql, params) = entry.statement.text(entry.has_params);
            entries.push(Entry {
                session: Scalar::Int(entry.session as i64),
                txn: Scalar::Int(entry.txn as i64 + 1),
                number: numbers[entry.txn],
                sql,
                params,
                answer: entry.given.to_answer(),
                sent: entry.sent + BEGINNING,
                answered: entry.answered + BEGINNING,
                ending: entry.outcome.map(|outcome| Ending { outcome, stamps: Stamps::default() }),
            });
            numbers[entry.txn] += 1;
        }
        Log { header, entries, warnings: Vec::new() }
    }

    fn loader(&self) -> Vec<Entry> {
        let values: Vec<String> =
            self.initial.iter().map(|row| format!("({}, {})", row.k, spell(row.v))).collect();
        let (insert, inserted) = if values.is_empty() {
            ("SELECT 1".to_owned(), Answer::Rows(vec![vec![Scalar::Int(1)]]))
        } else {
            let insert = format!("INSERT INTO t (k, v) VALUES {}", values.join(", "));
            (insert, Answer::Count(values.len() as u64))
        };
        let committed = Ending { outcome: Outcome::Committed, stamps: Stamps::default() };
        let line = |number: u32, sql: &str, answer: Answer| Entry {
            session: Scalar::from(LOADER),
            txn: Scalar::from("load"),
            number,
            sql: sql.to_owned(),
            params: Vec::new(),
            answer: Ok(answer),
            sent: u64::from(number) * 10,
            answered: u64::from(number) * 10 + 5,
            ending: (number == 2).then_some(committed),
        };
        vec![
            line(0, "BEGIN", Answer::Count(0)),
            line(1, &insert, inserted),
            line(2, "COMMIT", Answer::Count(0)),
        ]
    }

    /// The log as a file.
    pub fn to_text(&self, model: Model) -> String {
        text_of(&self.to_log(model))
    }
}

/// The text of a log file.
pub fn text_of(log: &Log) -> String {
    let mut out = Vec::new();
    write_header(&mut out, &log.header);
    let epoch = Instant::now();
    for entry in &log.entries {
        let place = Place { session: &entry.session, txn: &entry.txn, number: entry.number, epoch };
        let event = Event {
            sql: entry.sql.clone(),
            params: entry.params.clone(),
            answer: entry.answer.clone(),
            sent: epoch + Duration::from_nanos(entry.sent),
            answered: epoch + Duration::from_nanos(entry.answered),
        };
        match entry.ending {
            Some(ending) => write_ending(&mut out, &place, &event, ending),
            None => write_event(&mut out, &place, &event),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The first moment after the loader.
const BEGINNING: u64 = 100;

fn spell(value: Option<i64>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |n| n.to_string())
}

impl Given {
    fn to_answer(&self) -> Result<Answer, Failure> {
        match self {
            Given::Rows(rows) => {
                let scalar = |value: &Option<i64>| value.map_or(Scalar::Null, Scalar::Int);
                Ok(Answer::Rows(rows.iter().map(|row| row.iter().map(scalar).collect()).collect()))
            }
            Given::Count(n) => Ok(Answer::Count(*n)),
            Given::Error(class) => {
                let code = (*class == Class::Serialization).then(|| "40001".to_owned());
                Err(Failure { class: *class, code, message: class.name().to_owned() })
            }
        }
    }
}

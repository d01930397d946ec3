//! Keys and values in the table `isoscope_kv` of an SQL database. No other table is touched.
//!
//! Registers and rows are `(k, v)` with an integer value. Lists are `(k, v)` with a text in which a comma precedes each
//! element. An append is one UPDATE that extends the text, so the database, not the client, reads the old list. Every other
//! operation is one plain statement.
//!
//! A DELETE that matches no row is not a write. It is a read of an absent key if statements that write see the same rows as
//! plain reads. They do in SQLite, and in PostgreSQL if the whole transaction has one snapshot (a row changed since then
//! is an error). They do not in MySQL and MariaDB, nor in PostgreSQL's `read committed`: there, a statement that waited
//! for another transaction matches neither the row that the other deleted nor the row that it inserted in its place. In
//! these cases the DELETE is not an operation of the history.
//!
//! PostgreSQL's `repeatable read` may show a primary key twice: an INSERT succeeds if another transaction deleted the row
//! after the snapshot was taken, and then both rows are visible. The history gets the transaction's own row.

use super::{KeyValue, Kind, Plan};
use crate::database::Stamps;
use crate::database::{
    Answer, Class, Connection, ConnectionId, Database, Failure, Scalar, Statement, Vendor,
};
use crate::record::{Record, Seen, Step};

const BEGIN: Statement<'static> = Statement { sql: "BEGIN", params: &[] };
const READ: &str = "SELECT v FROM isoscope_kv WHERE k = ?";
const WRITE: &str = "UPDATE isoscope_kv SET v = ? WHERE k = ?";
const INSERT: &str = "INSERT INTO isoscope_kv (k, v) VALUES (?, ?)";
const DELETE: &str = "DELETE FROM isoscope_kv WHERE k = ?";
const RANGE: &str = "SELECT k, v FROM isoscope_kv WHERE k BETWEEN ? AND ? ORDER BY k";

/// A connection to a database with the table.
pub struct Tables<'d> {
    database: &'d dyn Database,
    connection: Box<dyn Connection>,
    append: &'static str,
    /// The result of a DELETE that matches no row.
    missed: Seen,
    /// The rows that the transaction inserted.
    inserted: Vec<(Scalar, i64)>,
}

impl<'d> Tables<'d> {
    /// Opens a connection.
    pub fn connect(database: &'d dyn Database) -> Result<Tables<'d>, Failure> {
        let append = match database.vendor() {
            Vendor::MySql | Vendor::MariaDb => "UPDATE isoscope_kv SET v = CONCAT(v, ?) WHERE k = ?",
            _ => "UPDATE isoscope_kv SET v = v || ? WHERE k = ?",
        };
        let (connection, missed) = (database.connect()?, missed(database));
        Ok(Tables { connection, database, append, missed, inserted: Vec::new() })
    }

    /// The statement that creates the table.
    pub fn schema(vendor: Vendor, kind: Kind) -> String {
        let (text, engine) = match vendor {
            Vendor::MySql | Vendor::MariaDb => ("LONGTEXT", " ENGINE=InnoDB"),
            Vendor::Postgres | Vendor::Sqlite | Vendor::Memory => ("TEXT", ""),
        };
        let column = if kind.is_list() { text } else { "BIGINT" };
        format!("CREATE TABLE isoscope_kv (k BIGINT PRIMARY KEY, v {column} NOT NULL){engine}")
    }

    /// Creates the table anew with the initial values of a plan. The statements that insert them are added to the record.
    pub fn create(database: &dyn Database, plan: &Plan, record: &mut Record) -> Result<(), Failure> {
        /// Rows per INSERT.
        const ROWS: u32 = 500;
        let mut connection = database.connect()?;
        connection.execute(Statement::plain("DROP TABLE IF EXISTS isoscope_kv"))?;
        connection.execute(Statement::plain(&Tables::schema(database.vendor(), plan.spec.kind)))?;
        if plan.spec.kind == Kind::Scan {
            return Ok(());
        }
        let initial = if plan.spec.kind.is_list() { "''" } else { "0" };
        record.timed(BEGIN, |_| connection.begin(), |()| Answer::Count(0))?;
        for first in (0..plan.spec.keys).step_by(ROWS as usize) {
            let last = plan.spec.keys.min(first + ROWS);
            let rows: Vec<String> = (first..last).map(|k| format!("({k}, {initial})")).collect();
            let sql = format!("INSERT INTO isoscope_kv (k, v) VALUES {}", rows.join(", "));
            record.statement(Statement::plain(&sql), |statement| connection.execute(statement))?;
        }
        record.timed(Statement::plain("COMMIT"), |_| connection.commit(), |_| Answer::Count(0))?;
        Ok(())
    }

    /// Removes the table.
    pub fn remove(database: &dyn Database) -> Result<(), Failure> {
        database.connect()?.execute(Statement::plain("DROP TABLE IF EXISTS isoscope_kv")).map(drop)
    }

    fn execute(&mut self, sql: &str, params: &[Scalar], record: &mut Record) -> Result<Answer, Failure> {
        record.statement(Statement { sql, params }, |statement| self.connection.execute(statement))
    }

    /// Runs a statement that must match exactly one row.
    fn change(&mut self, sql: &str, params: &[Scalar], record: &mut Record) -> Result<Seen, Failure> {
        match self.execute(sql, params, record)? {
            Answer::Count(1) => Ok(Seen::Done),
            answer => Err(odd(sql, &answer)),
        }
    }

    fn read(&mut self, key: &Scalar, record: &mut Record) -> Result<Option<Scalar>, Failure> {
        match self.execute(READ, std::slice::from_ref(key), record)? {
            Answer::Rows(rows) if rows.is_empty() => Ok(None),
            Answer::Rows(mut rows) if rows.len() == 1 && rows[0].len() == 1 => Ok(rows.remove(0).pop()),
            answer => match self.own(key) {
                Some(own) if is_beside(&answer, own) => Ok(Some(Scalar::Int(own))),
                _ => Err(odd(READ, &answer)),
            },
        }
    }

    fn delete(&mut self, key: &Scalar, record: &mut Record) -> Result<Seen, Failure> {
        match self.execute(DELETE, std::slice::from_ref(key), record)? {
            Answer::Count(0) => Ok(self.missed.clone()),
            Answer::Count(1) => Ok(Seen::Done),
            answer => Err(odd(DELETE, &answer)),
        }
    }

    /// The last value that the transaction itself inserted for a key.
    fn own(&self, key: &Scalar) -> Option<i64> {
        self.inserted.iter().rev().find(|(other, _)| other == key).map(|(_, value)| *value)
    }

    fn insert(&mut self, key: &Scalar, value: i64, record: &mut Record) -> Result<Seen, Failure> {
        self.inserted.push((key.clone(), value));
        self.change(INSERT, &[key.clone(), Scalar::Int(value)], record)
    }

    fn range(&mut self, low: &Scalar, high: &Scalar, record: &mut Record) -> Result<Seen, Failure> {
        let answer = self.execute(RANGE, &[low.clone(), high.clone()], record)?;
        let row = |row: &Vec<Scalar>| match row.as_slice() {
            [key, Scalar::Int(value)] => Some((key.clone(), *value)),
            _ => None,
        };
        let rows: Option<Vec<(Scalar, i64)>> = match &answer {
            Answer::Rows(rows) => rows.iter().map(row).collect(),
            Answer::Count(_) => None,
        };
        let mut rows = rows.ok_or_else(|| odd(RANGE, &answer))?;
        let keys: Vec<Scalar> =
            rows.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0.clone()).collect();
        for key in keys {
            let own = self.own(&key).ok_or_else(|| odd(RANGE, &answer))?;
            rows.retain(|(other, value)| *other != key || *value == own);
        }
        Ok(Seen::Rows(rows))
    }
}

impl KeyValue for Tables<'_> {
    fn connection(&self) -> Option<ConnectionId> {
        self.connection.id()
    }

    fn begin(&mut self, _steps: &[Step], record: &mut Record) -> Result<(), Failure> {
        self.inserted.clear();
        record.timed(BEGIN, |_| self.connection.begin(), |()| Answer::Count(0))
    }

    fn run(&mut self, step: &Step, record: &mut Record) -> Result<Seen, Failure> {
        match step {
            Step::Read(key) => match self.read(key, record)? {
                None => Ok(Seen::Value(None)),
                Some(Scalar::Int(value)) => Ok(Seen::Value(Some(value))),
                Some(other) => Err(odd(READ, &Answer::Rows(vec![vec![other]]))),
            },
            Step::ReadList(key) => {
                let list = self.read(key, record)?;
                let elements = list.as_ref().and_then(elements);
                elements
                    .map(Seen::List)
                    .ok_or_else(|| odd(READ, &Answer::Rows(vec![list.into_iter().collect()])))
            }
            Step::Write(key, value) => self.change(WRITE, &[Scalar::Int(*value), key.clone()], record),
            Step::Set(key, value) => self.change(WRITE, &[value.clone(), key.clone()], record),
            Step::Append(key, value) => {
                self.change(self.append, &[Scalar::Text(format!(",{value}")), key.clone()], record)
            }
            Step::Insert(key, value) => self.insert(key, *value, record),
            Step::Delete(key) => self.delete(key, record),
            Step::Range(low, high) => self.range(low, high, record),
        }
    }

    fn commit(&mut self) -> Result<Stamps, Failure> {
        self.connection.commit()
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.connection.rollback()
    }

    fn reconnect(&mut self) -> Result<(), Failure> {
        self.connection = self.database.connect()?;
        Ok(())
    }
}

/// Whether an answer has two rows, one of them the transaction's own.
fn is_beside(answer: &Answer, own: i64) -> bool {
    matches!(answer, Answer::Rows(rows) if rows.len() == 2 && rows.contains(&vec![Scalar::Int(own)]))
}

/// What a statement that should have written has seen if it matches no row; see the module.
pub(crate) fn missed(database: &dyn Database) -> Seen {
    if writes_see_what_reads_see(database) { Seen::Value(None) } else { Seen::Missed }
}

/// Whether statements that write see the same rows as plain reads of the same transaction; see the module.
fn writes_see_what_reads_see(database: &dyn Database) -> bool {
    match database.vendor() {
        Vendor::Sqlite | Vendor::Memory => true,
        Vendor::Postgres => {
            let name = database.isolation().map(|isolation| isolation.name);
            matches!(name, Some("repeatable-read" | "serializable"))
        }
        Vendor::MySql | Vendor::MariaDb => false,
    }
}

/// The elements of a list: integers, each preceded by a comma.
fn elements(list: &Scalar) -> Option<Vec<i64>> {
    let Scalar::Text(text) = list else { return None };
    text.split(',').skip(1).map(|element| element.parse().ok()).collect()
}

/// An answer that is impossible unless another client changes the table.
fn odd(sql: &str, answer: &Answer) -> Failure {
    let message = format!(
        "unexpected answer {answer:?} to `{sql}`; make sure that no other client uses the table isoscope_kv"
    );
    Failure { class: Class::Other, code: None, message }
}

//! What an application is: tables, their rows at the beginning, transactions, and what must be true at the end.
//!
//! An application reads balances (or whatever it keeps) by SELECT, computes in the client, and writes absolute values by
//! UPDATE. So the history of keys and values follows from the statements alone, on every database: a row's column is a
//! key such as `savings/17`, and each statement is an operation or several on such keys. [`Transaction`] does both at once,
//! the statement for the log and the operation for the history, so that the two cannot disagree.
//!
//! Invariants: what transaction `n` of a session does is drawn from (seed, session, n) and depends otherwise only on
//! what it was answered inside the same transaction, so another attempt asks for the same; statements that failed are in the log and
//! leave no operation; the names of all tables begin with `isoscope_`, so nothing of the user's is touched.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use isoscope_workload::Dice;

use crate::client::Client;
use crate::database::Stamps;
use crate::database::{
    Answer, Class, Connection, ConnectionId, Database, Failure, Scalar, Statement, Vendor,
};
use crate::record::{Record, Seen, Step};

/// Rows that one statement inserts when tables are loaded.
const ROWS_PER_INSERT: usize = 100;

/// A workload in SQL. It is shared by all its clients.
pub trait Application: Send + Sync {
    /// Its name, as on the command line.
    fn name(&self) -> &'static str;

    /// What it is, in a sentence.
    fn about(&self) -> &'static str;

    /// The tables with their rows at the beginning.
    fn tables(&self) -> Vec<Table>;

    /// What every key of the history holds at the beginning.
    fn initials(&self) -> Vec<(Scalar, i64)>;

    /// Runs all statements of one transaction but the first and the last. All random choices are drawn from `dice`.
    /// `Ok(false)` means that it wants to be rolled back.
    fn transact(&self, dice: &mut Dice, txn: &mut Transaction<'_>) -> Result<bool, Failure>;

    /// The book of what entered and left, since the tables were loaded.
    fn ledger(&self) -> &Ledger;

    /// Looks at the tables after a run: which rules, kept by every serializable execution, are broken? One sentence
    /// for each.
    fn invariant(&self, connection: &mut dyn Connection) -> Result<Vec<String>, Failure>;

    /// The statements that make the tables.
    fn schema(&self, vendor: Vendor) -> Vec<String> {
        self.tables().iter().map(|table| table.definition(vendor)).collect()
    }

    /// Makes the tables anew, with their rows. The rows are inserted by one transaction, whose statements are noted in
    /// the record.
    fn load(
        &self,
        vendor: Vendor,
        connection: &mut dyn Connection,
        record: &mut Record,
    ) -> Result<(), Failure> {
        if vendor == Vendor::Memory {
            return Err(other(format!("{vendor} knows no SQL, which the workload {} needs", self.name())));
        }
        self.drop_tables(connection)?;
        let tables = self.tables();
        for table in &tables {
            connection
                .execute(Statement::plain(&table.definition(vendor)))
                .map_err(|failure| cannot("create", table.name, failure))?;
        }
        if let Err(failure) = insert(&tables, connection, record) {
            // What the failed load left behind is dropped by the next one.
            let _ = connection.rollback();
            return Err(failure);
        }
        self.ledger().reset();
        Ok(())
    }

    /// Removes the tables, if they are there.
    fn drop_tables(&self, connection: &mut dyn Connection) -> Result<(), Failure> {
        for table in self.tables().iter().rev() {
            connection
                .execute(Statement::plain(&format!("DROP TABLE IF EXISTS {}", table.name)))
                .map_err(|failure| cannot("drop", table.name, failure))?;
        }
        Ok(())
    }
}

/// A table with its rows at the beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name, which begins with `isoscope_`.
    pub name: &'static str,
    /// The names of its columns and their types, which all databases know.
    pub columns: &'static [(&'static str, &'static str)],
    /// The rows.
    pub rows: Vec<Vec<Scalar>>,
}

impl Table {
    fn definition(&self, vendor: Vendor) -> String {
        let columns: Vec<String> = self.columns.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
        // Other engines of these two have no transactions.
        let engine = match vendor {
            Vendor::MySql | Vendor::MariaDb => " ENGINE=InnoDB",
            Vendor::Postgres | Vendor::Sqlite | Vendor::Memory => "",
        };
        format!("CREATE TABLE {} ({}){engine}", self.name, columns.join(", "))
    }
}

fn insert(tables: &[Table], connection: &mut dyn Connection, record: &mut Record) -> Result<(), Failure> {
    begin(connection, record)?;
    for table in tables {
        let columns: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
        let row = format!("({})", vec!["?"; columns.len()].join(", "));
        for rows in table.rows.chunks(ROWS_PER_INSERT) {
            let values = vec![row.as_str(); rows.len()].join(", ");
            let sql = format!("INSERT INTO {} ({}) VALUES {values}", table.name, columns.join(", "));
            let statement = Statement { sql: &sql, params: &rows.concat() };
            record
                .statement(statement, |statement| connection.execute(statement))
                .map_err(|failure| cannot("fill", table.name, failure))?;
        }
    }
    record.statement(Statement::plain("COMMIT"), |_| connection.commit().map(|_| Answer::Count(0)))?;
    Ok(())
}

fn begin(connection: &mut dyn Connection, record: &mut Record) -> Result<(), Failure> {
    record.statement(Statement::plain("BEGIN"), |_| connection.begin().map(|()| Answer::Count(0)))?;
    Ok(())
}

/// Says what could not be done; the database's words often leave that out.
fn cannot(verb: &str, table: &str, failure: Failure) -> Failure {
    let reason = match failure.class {
        Class::Denied => format!("the user lacks a privilege: {}", failure.message),
        _ => failure.message,
    };
    Failure { message: format!("cannot {verb} the table {table}: {reason}"), ..failure }
}

/// A failure that is nobody's answer.
pub(super) fn other(message: String) -> Failure {
    Failure { class: Class::Other, code: None, message }
}

/// A column of whole numbers in a table that is looked up by a whole number: each cell is a key of the history.
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    /// What the keys begin with: `savings` for `savings/17`.
    pub prefix: &'static str,
    /// Reads a cell: its one parameter is the row.
    pub select: &'static str,
    /// Overwrites a cell: its parameters are the value and the row.
    pub update: &'static str,
}

impl Cells {
    /// The key of a row's cell.
    pub fn key(&self, row: u32) -> Scalar {
        Scalar::Text(format!("{}/{row}", self.prefix))
    }
}

/// A transaction that was begun.
pub struct Transaction<'a> {
    connection: &'a mut dyn Connection,
    record: &'a mut Record,
    brought: i64,
}

impl Transaction<'_> {
    /// Reads a cell.
    pub fn read(&mut self, cells: &Cells, row: u32) -> Result<i64, Failure> {
        let rows = self.query(cells.select, &[Scalar::Int(row.into())])?;
        let first = rows.first().map(Vec::as_slice);
        match first {
            Some(&[Scalar::Int(value)]) if rows.len() == 1 => {
                self.saw(cells, row, value);
                Ok(value)
            }
            None => {
                self.record.step(Step::Read(cells.key(row)), Seen::Value(None));
                Err(other(format!("there is no {}/{row}: somebody else changes the tables", cells.prefix)))
            }
            Some(_) => Err(other(format!("not one whole number for {}/{row}: {rows:?}", cells.prefix))),
        }
    }

    /// Overwrites a cell.
    pub fn write(&mut self, cells: &Cells, row: u32, value: i64) -> Result<(), Failure> {
        let params = [Scalar::Int(value), Scalar::Int(row.into())];
        match self.execute(cells.update, &params)? {
            Answer::Count(1) => {
                self.record.step(Step::Write(cells.key(row), value), Seen::Done);
                Ok(())
            }
            answer => Err(other(format!("not one row for {}/{row}: {answer:?}", cells.prefix))),
        }
    }

    /// Runs a query whose answer the application itself takes apart; [`Transaction::saw`] tells the history.
    pub fn query(&mut self, sql: &str, params: &[Scalar]) -> Result<Vec<Vec<Scalar>>, Failure> {
        match self.execute(sql, params)? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Count(_) => Err(other(format!("a query without rows: {sql}"))),
        }
    }

    /// Notes that a cell was read.
    pub fn saw(&mut self, cells: &Cells, row: u32, value: i64) {
        self.record.step(Step::Read(cells.key(row)), Seen::Value(Some(value)));
    }

    /// Says that the transaction changes what all rows hold together, once it commits.
    pub fn brings(&mut self, amount: i64) {
        self.brought = self.brought.saturating_add(amount);
    }

    fn execute(&mut self, sql: &str, params: &[Scalar]) -> Result<Answer, Failure> {
        let connection = &mut *self.connection;
        self.record.statement(Statement { sql, params }, |statement| connection.execute(statement))
    }
}

/// What committed transactions brought in and took out: by how much the sum over all rows must have changed. A commit
/// of unknown outcome counts on the side that excuses more.
#[derive(Debug, Default)]
pub struct Ledger {
    known: AtomicI64,
    perhaps_in: AtomicI64,
    perhaps_out: AtomicI64,
}

impl Ledger {
    fn reset(&self) {
        for book in [&self.known, &self.perhaps_in, &self.perhaps_out] {
            book.store(0, Ordering::SeqCst);
        }
    }

    fn note(&self, amount: i64, commit: &Result<Stamps, Failure>) {
        match commit {
            Ok(_) => &self.known,
            Err(failure) if failure.class.promises_rollback() => return,
            Err(_) if amount > 0 => &self.perhaps_in,
            Err(_) => &self.perhaps_out,
        }
        .fetch_add(amount, Ordering::SeqCst);
    }

    /// Compares the sum over all rows with what it was at the beginning; `whose` is the plural for the rows.
    pub fn compare(&self, whose: &str, began: i64, now: i64) -> Option<String> {
        let book = |book: &AtomicI64| book.load(Ordering::SeqCst);
        let expected = began.saturating_add(book(&self.known));
        let least = expected.saturating_add(book(&self.perhaps_out));
        let most = expected.saturating_add(book(&self.perhaps_in));
        let (bound, how) = match now {
            _ if now < least => (least, "are missing"),
            _ if now > most => (most, "too much"),
            _ => return None,
        };
        let difference = now.abs_diff(bound);
        Some(format!("the {whose} hold {now} together and should hold {bound}: {difference} {how}"))
    }
}

/// How many draws go to how few: `draws` of them to the first `part` of all, and the others to any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hotspot {
    /// The part of all that is hot, from 0 to 1.
    pub part: f64,
    /// The part of all draws that go there, from 0 to 1.
    pub draws: f64,
}

impl Hotspot {
    /// No hot spot.
    pub const NONE: Hotspot = Hotspot { part: 1.0, draws: 0.0 };

    pub(super) fn check(&self) -> Result<(), SpecError> {
        let is_part = |x: f64| (0.0..=1.0).contains(&x);
        if is_part(self.part) && is_part(self.draws) {
            return Ok(());
        }
        Err(SpecError("the parts of a hot spot are from 0 to 1".to_owned()))
    }

    /// A number below `n`, which is not 0.
    #[allow(clippy::cast_sign_loss)]
    pub(super) fn draw(&self, n: u32, dice: &mut Dice) -> u32 {
        let hot = ((f64::from(n) * self.part) as u32).clamp(1, n);
        let n = if dice.chance(self.draws) { hot } else { n };
        dice.below(n)
    }

    /// Two different numbers below `n`, which is at least 2.
    pub(super) fn draw_two(&self, n: u32, dice: &mut Dice) -> (u32, u32) {
        let (first, second) = (self.draw(n, dice), self.draw(n, dice));
        (first, if first == second { (second + 1) % n } else { second })
    }
}

/// Draws the place of a weight, by weight.
pub(super) fn draw_weighted(weights: &[u32], dice: &mut Dice) -> usize {
    let mut lot = dice.below(weights.iter().sum());
    for (place, &weight) in weights.iter().enumerate() {
        if lot < weight {
            return place;
        }
        lot -= weight;
    }
    0
}

/// Refuses weights that nothing can be drawn from.
pub(super) fn check_weights(weights: &[u32]) -> Result<(), SpecError> {
    let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    if sum == 0 || u32::try_from(sum).is_err() {
        return Err(SpecError("the weights of a mix add up to at least 1 and less than 2^32".to_owned()));
    }
    Ok(())
}

/// Why an application cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(pub(super) String);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}

/// A client of an application: a session with a number, on a connection of its own.
pub fn client(
    application: &Arc<dyn Application>,
    session: u32,
    seed: u64,
    database: &Arc<dyn Database>,
) -> Result<Box<dyn Client>, Failure> {
    Ok(Box::new(ApplicationClient {
        application: Arc::clone(application),
        connection: database.connect()?,
        database: Arc::clone(database),
        key: Dice::new(seed, &format!("session {session}")).bits(),
        brought: 0,
    }))
}

struct ApplicationClient {
    application: Arc<dyn Application>,
    database: Arc<dyn Database>,
    connection: Box<dyn Connection>,
    /// The seed of the session. Transaction `n` has the seed `key + n`, so that any can be repeated by itself.
    key: u64,
    /// What the open transaction brings in, if it commits.
    brought: i64,
}

impl Client for ApplicationClient {
    fn connection(&self) -> Option<ConnectionId> {
        self.connection.id()
    }

    fn execute(&mut self, number: u64, _attempt: u32, record: &mut Record) -> Result<bool, Failure> {
        self.brought = 0;
        begin(&mut *self.connection, record)?;
        let mut dice = Dice::new(self.key.wrapping_add(number), "transaction");
        let mut txn = Transaction { connection: &mut *self.connection, record, brought: 0 };
        let wants_commit = self.application.transact(&mut dice, &mut txn)?;
        self.brought = txn.brought;
        Ok(wants_commit)
    }

    fn commit(&mut self) -> Result<Stamps, Failure> {
        let commit = self.connection.commit();
        self.application.ledger().note(self.brought, &commit);
        commit
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.connection.rollback()
    }

    fn reconnect(&mut self) -> Result<(), Failure> {
        self.connection = self.database.connect()?;
        Ok(())
    }
}

/// All rows of two columns of whole numbers, for a look at the tables.
pub(super) fn pairs(connection: &mut dyn Connection, sql: &str) -> Result<Vec<(i64, i64)>, Failure> {
    let Answer::Rows(rows) = connection.execute(Statement::plain(sql))? else {
        return Err(other(format!("a query without rows: {sql}")));
    };
    rows.iter()
        .map(|row| match row[..] {
            [Scalar::Int(key), Scalar::Int(value)] => Ok((key, value)),
            _ => Err(other(format!("not two whole numbers: {row:?}"))),
        })
        .collect()
}

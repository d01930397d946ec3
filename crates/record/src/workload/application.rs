//! The interface of applications: tables with initial rows, transactions, and invariants.
//!
//! An application reads values with SELECT, computes in the client, and writes absolute values with UPDATE. The history of
//! keys and values therefore follows from the statements alone, on every database: a column of a row is a key such as
//! `savings/17`, and each statement is one or more operations on such keys. [`Transaction`] records both, the statement for
//! the log and the operation for the history, so that the two cannot disagree.
//!
//! Invariants:
//! - The statements of transaction `n` of a session are drawn from (seed, session, n), and otherwise depend only on the
//!   answers inside the transaction. A retry makes the same choices.
//! - Failed statements are in the log and add no operation to the history.
//! - The names of all tables begin with `isoscope_`, so that no table of the user is touched.

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

/// Rows per INSERT when tables are loaded.
const ROWS_PER_INSERT: usize = 100;

/// A workload in SQL, shared by all its clients.
pub trait Application: Send + Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// A one-line description.
    fn about(&self) -> &'static str;

    /// The tables with their initial rows.
    fn tables(&self) -> Vec<Table>;

    /// The initial value of every key of the history.
    fn initials(&self) -> Vec<(Scalar, i64)>;

    /// Runs the statements of one transaction, without BEGIN and COMMIT. All random choices are drawn from `dice`.
    /// `Ok(false)` asks for a rollback.
    fn transact(&self, dice: &mut Dice, txn: &mut Transaction<'_>) -> Result<bool, Failure>;

    /// The ledger of all changes since the tables were loaded.
    fn ledger(&self) -> &Ledger;

    /// Checks the tables after a run. Returns the violated invariants, one sentence each. Every serializable execution
    /// preserves all of them.
    fn invariant(&self, connection: &mut dyn Connection) -> Result<Vec<String>, Failure>;

    /// The statements that create the tables.
    fn schema(&self, vendor: Vendor) -> Vec<String> {
        self.tables().iter().map(|table| table.definition(vendor)).collect()
    }

    /// Creates the tables anew, with their rows. One transaction inserts the rows; its statements are added to the record.
    fn load(
        &self,
        vendor: Vendor,
        connection: &mut dyn Connection,
        record: &mut Record,
    ) -> Result<(), Failure> {
        if vendor == Vendor::Memory {
            return Err(other(format!(
                "{vendor} does not support SQL, which the workload {} needs",
                self.name()
            )));
        }
        self.drop_tables(connection)?;
        let tables = self.tables();
        for table in &tables {
            connection
                .execute(Statement::plain(&table.definition(vendor)))
                .map_err(|failure| cannot("create", table.name, failure))?;
        }
        if let Err(failure) = insert(&tables, connection, record) {
            // The next load drops the tables of this one.
            let _ = connection.rollback();
            return Err(failure);
        }
        self.ledger().reset();
        Ok(())
    }

    /// Drops the tables if they exist.
    fn drop_tables(&self, connection: &mut dyn Connection) -> Result<(), Failure> {
        for table in self.tables().iter().rev() {
            connection
                .execute(Statement::plain(&format!("DROP TABLE IF EXISTS {}", table.name)))
                .map_err(|failure| cannot("drop", table.name, failure))?;
        }
        Ok(())
    }
}

/// A table with its initial rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name, which begins with `isoscope_`.
    pub name: &'static str,
    /// The names and types of its columns. All databases must support the types.
    pub columns: &'static [(&'static str, &'static str)],
    /// The rows.
    pub rows: Vec<Vec<Scalar>>,
}

impl Table {
    fn definition(&self, vendor: Vendor) -> String {
        let columns: Vec<String> = self.columns.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
        // Other storage engines may not support transactions.
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

/// Adds the action that failed to the message, which the database's message often lacks.
fn cannot(verb: &str, table: &str, failure: Failure) -> Failure {
    let reason = match failure.class {
        Class::Denied => format!("the user lacks a privilege: {}", failure.message),
        _ => failure.message,
    };
    Failure { message: format!("cannot {verb} the table {table}: {reason}"), ..failure }
}

/// A failure that does not come from the database.
pub(super) fn other(message: String) -> Failure {
    Failure { class: Class::Other, code: None, message }
}

/// An integer column of a table with an integer primary key. Each cell is a key of the history.
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    /// The prefix of the keys: `savings` for `savings/17`.
    pub prefix: &'static str,
    /// Reads a cell. The parameter is the row.
    pub select: &'static str,
    /// Overwrites a cell. The parameters are the value and the row.
    pub update: &'static str,
}

impl Cells {
    /// The key of a row's cell.
    pub fn key(&self, row: u32) -> Scalar {
        Scalar::Text(format!("{}/{row}", self.prefix))
    }
}

/// An open transaction.
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
                Err(other(format!(
                    "{}/{row} does not exist; make sure that no other client changes the tables",
                    cells.prefix
                )))
            }
            Some(_) => Err(other(format!("expected one integer for {}/{row}, found {rows:?}", cells.prefix))),
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
            answer => Err(other(format!("expected one row for {}/{row}, found {answer:?}", cells.prefix))),
        }
    }

    /// Runs a query without adding operations to the history. The application must add them with [`Transaction::saw`].
    pub fn query(&mut self, sql: &str, params: &[Scalar]) -> Result<Vec<Vec<Scalar>>, Failure> {
        match self.execute(sql, params)? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Count(_) => Err(other(format!("expected rows, found a count: {sql}"))),
        }
    }

    /// Adds a read of a cell to the history.
    pub fn saw(&mut self, cells: &Cells, row: u32, value: i64) {
        self.record.step(Step::Read(cells.key(row)), Seen::Value(Some(value)));
    }

    /// Declares that the transaction changes the sum of all cells by this amount if it commits.
    pub fn brings(&mut self, amount: i64) {
        self.brought = self.brought.saturating_add(amount);
    }

    fn execute(&mut self, sql: &str, params: &[Scalar]) -> Result<Answer, Failure> {
        let connection = &mut *self.connection;
        self.record.statement(Statement { sql, params }, |statement| connection.execute(statement))
    }
}

/// The expected change of the sum of all cells. Committed transactions are certain; a transaction with an unknown outcome
/// widens the range of allowed sums.
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

    /// Compares the current sum with the initial one. `whose` is the plural of the rows, for the message.
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
        Some(format!("the {whose} hold {now} in total but should hold {bound}: {difference} {how}"))
    }
}

/// A skewed distribution: a fraction `draws` of the accesses goes to the first fraction `part` of the rows, and the rest
/// to any row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hotspot {
    /// The fraction of rows that are hot, from 0 to 1.
    pub part: f64,
    /// The fraction of accesses that go there, from 0 to 1.
    pub draws: f64,
}

impl Default for Hotspot {
    /// Half of the accesses go to a fifth of the rows.
    fn default() -> Hotspot {
        Hotspot { part: 0.2, draws: 0.5 }
    }
}

impl Hotspot {
    /// No hot spot.
    pub const NONE: Hotspot = Hotspot { part: 1.0, draws: 0.0 };

    pub(super) fn check(&self) -> Result<(), SpecError> {
        let is_part = |x: f64| (0.0..=1.0).contains(&x);
        if is_part(self.part) && is_part(self.draws) {
            return Ok(());
        }
        Err(SpecError("the fractions of a hot spot must be from 0 to 1".to_owned()))
    }

    /// A number below `n`. `n` must not be 0.
    #[allow(clippy::cast_sign_loss)]
    pub(super) fn draw(&self, n: u32, dice: &mut Dice) -> u32 {
        let hot = ((f64::from(n) * self.part) as u32).clamp(1, n);
        let n = if dice.chance(self.draws) { hot } else { n };
        dice.below(n)
    }

    /// Two different numbers below `n`. `n` must be at least 2.
    pub(super) fn draw_two(&self, n: u32, dice: &mut Dice) -> (u32, u32) {
        let (first, second) = (self.draw(n, dice), self.draw(n, dice));
        (first, if first == second { (second + 1) % n } else { second })
    }
}

/// Draws an index with a probability proportional to its weight.
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

/// The maximum initial balance and the maximum amount. With these, no run overflows 64 bits.
const MOST_MONEY: i64 = 1_000_000_000;

/// Refuses an initial balance or a maximum amount that is out of bounds.
pub(super) fn check_money(initial: i64, most: u32) -> Result<(), SpecError> {
    if (0..=MOST_MONEY).contains(&initial) && (1..=MOST_MONEY).contains(&i64::from(most)) {
        return Ok(());
    }
    Err(SpecError(format!("amounts must be at least 0 and at most {MOST_MONEY}")))
}

/// Refuses weights whose sum is 0 or too large.
pub(super) fn check_weights(weights: &[u32]) -> Result<(), SpecError> {
    let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    if sum == 0 || u32::try_from(sum).is_err() {
        return Err(SpecError(
            "the sum of the weights of a mix must be at least 1 and less than 2^32".to_owned(),
        ));
    }
    Ok(())
}

/// An invalid parameter of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(pub(super) String);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}

/// A client of an application: one session, with its own connection.
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
    /// The seed of the session. Transaction `n` has the seed `key + n`, so that each can be reproduced on its own.
    key: u64,
    /// The change of the sum if the open transaction commits.
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

/// All rows of a query with two integer columns.
pub(super) fn pairs(connection: &mut dyn Connection, sql: &str) -> Result<Vec<(i64, i64)>, Failure> {
    let Answer::Rows(rows) = connection.execute(Statement::plain(sql))? else {
        return Err(other(format!("expected rows, found a count: {sql}")));
    };
    rows.iter()
        .map(|row| match row[..] {
            [Scalar::Int(key), Scalar::Int(value)] => Ok((key, value)),
            _ => Err(other(format!("expected two integers, found {row:?}"))),
        })
        .collect()
}

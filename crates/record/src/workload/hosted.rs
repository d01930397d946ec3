//! Applications as the recorder runs them: creating and dropping tables, sessions, and the ledger.
//!
//! Invariants:
//! - The statements of transaction `n` of a session are drawn from (seed, session, n), and otherwise depend only on the
//!   answers inside the transaction. A retry makes the same choices.
//! - The names of all tables begin with `isoscope_`, so that no table of the user is touched.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use isoscope_application::{self as application, Books, Call, Contents, Stopped};

use super::sql::{After, Transaction, definition, other, scalar};
use crate::client::Client;
use crate::database::Stamps;
use crate::database::{
    Answer, Class, Connection, ConnectionId, Database, Failure, Scalar, Statement, Vendor,
};
use crate::keyvalue::missed;
use crate::record::{Record, Seen};

/// Rows per INSERT when tables are loaded.
const ROWS_PER_INSERT: usize = 100;

/// An application in SQL, shared by all its clients.
pub trait Application: Send + Sync {
    /// The application itself, which does not know SQL.
    fn itself(&self) -> &dyn application::Application;

    /// The ledger of all changes since the tables were loaded.
    fn ledger(&self) -> &Ledger;

    /// Its name on the command line.
    fn name(&self) -> &'static str {
        self.itself().name()
    }

    /// The tables with their initial rows.
    fn tables(&self) -> Vec<Contents> {
        self.itself().tables()
    }

    /// The initial value of every key of the history that has an integer.
    fn initials(&self) -> Vec<(Scalar, i64)> {
        let tables = self.tables();
        let initials = tables.iter().flat_map(Contents::initials);
        initials.filter_map(|(name, field)| Some((Scalar::Text(name), field.as_int()?))).collect()
    }

    /// The initial value of every other key of the history that is not absent.
    fn other_initials(&self) -> Vec<(Scalar, Scalar)> {
        let tables = self.tables();
        let initials = tables.iter().flat_map(Contents::initials);
        let others = initials.filter(|(_, field)| field.as_int().is_none());
        others.map(|(name, field)| (Scalar::Text(name), scalar(&field))).collect()
    }

    /// Checks the tables after a run. Returns the violated rules, one sentence each. Every serializable execution preserves
    /// all of them.
    fn invariant(&self, connection: &mut dyn Connection) -> Result<Vec<String>, Failure> {
        let mut after = After { connection, failure: None };
        let broken = self.itself().rules(&mut after, self.ledger().books());
        broken.map_err(|Stopped| after.failure.unwrap_or_else(unexplained))
    }

    /// The statements that create the tables.
    fn schema(&self, vendor: Vendor) -> Vec<String> {
        self.tables().iter().flat_map(|contents| definition(contents.table, vendor)).collect()
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
        for contents in &tables {
            for statement in definition(contents.table, vendor) {
                connection
                    .execute(Statement::plain(&statement))
                    .map_err(|failure| cannot("create", contents.name, failure))?;
            }
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
        for contents in self.tables().iter().rev() {
            connection
                .execute(Statement::plain(&format!("DROP TABLE IF EXISTS {}", contents.name)))
                .map_err(|failure| cannot("drop", contents.name, failure))?;
        }
        Ok(())
    }
}

/// An application with its ledger.
#[derive(Debug)]
pub struct Hosted<A> {
    application: A,
    ledger: Ledger,
}

impl<A> Hosted<A> {
    /// Hosts an application.
    pub fn of(application: A) -> Hosted<A> {
        Hosted { application, ledger: Ledger::default() }
    }
}

impl<A: application::Application> Application for Hosted<A> {
    fn itself(&self) -> &dyn application::Application {
        &self.application
    }

    fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

fn insert(tables: &[Contents], connection: &mut dyn Connection, record: &mut Record) -> Result<(), Failure> {
    begin(connection, record)?;
    for contents in tables {
        let columns: Vec<&str> = contents.columns.iter().map(|column| column.name).collect();
        let row = format!("({})", vec!["?"; columns.len()].join(", "));
        for rows in contents.rows.chunks(ROWS_PER_INSERT) {
            let values = vec![row.as_str(); rows.len()].join(", ");
            let sql = format!("INSERT INTO {} ({}) VALUES {values}", contents.name, columns.join(", "));
            let params: Vec<Scalar> = rows.iter().flatten().map(scalar).collect();
            record
                .statement(Statement { sql: &sql, params: &params }, |it| connection.execute(it))
                .map_err(|failure| cannot("fill", contents.name, failure))?;
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

fn unexplained() -> Failure {
    other("the application stopped without a reason".to_owned())
}

/// The expected change of the sum that an application keeps. Committed transactions are certain; a transaction with an unknown
/// outcome widens the range of allowed sums.
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

    fn books(&self) -> Books {
        let book = |book: &AtomicI64| book.load(Ordering::SeqCst);
        let known = book(&self.known);
        let (least, most) = (known + book(&self.perhaps_out), known + book(&self.perhaps_in));
        Books { least, most }
    }
}

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
        missed: missed(database.as_ref()),
        session,
        seed,
        brought: 0,
    }))
}

struct ApplicationClient {
    application: Arc<dyn Application>,
    database: Arc<dyn Database>,
    connection: Box<dyn Connection>,
    /// What an UPDATE or DELETE that matches no row has seen.
    missed: Seen,
    session: u32,
    seed: u64,
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
        let call = Call { session: self.session, number };
        let mut txn = Transaction::new(&mut *self.connection, record, self.missed.clone());
        let ran = self.application.itself().run(call, self.seed, &mut txn);
        self.brought = txn.brought;
        ran.map_err(|Stopped| txn.failure.unwrap_or_else(unexplained))
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

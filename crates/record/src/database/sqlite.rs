//! The driver for SQLite.
//!
//! Every session has its own connection to one file; SQLite's file locks isolate them. There is no server process, so
//! lock waits cannot be observed and connections cannot be killed. If an error ends a transaction inside the database, the
//! driver refuses statements until the client has rolled back. Otherwise they would run, and commit, as transactions of
//! their own.
//!
//! `SQLITE_BUSY` is a lock timeout if the limit has passed. SQLite also returns it immediately, if waiting could be a
//! deadlock or the limit is 0: that is class *busy*. A commit that fails with it leaves the transaction open. The driver
//! then rolls it back and always returns *busy*, which promises a rollback.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{ErrorCode, OpenFlags, ToSql, ffi};

use crate::database::one_line;
use crate::isolation::Isolation;
use crate::scratch::Scratch;
use crate::target::{File, Options};
use crate::{
    Answer, Class, Connection, ConnectionId, Control, Database, Failure, Scalar, Stamps, Statement, Vendor,
};

/// The maximum number of prepared statements per connection.
const STATEMENTS: usize = 256;

/// An SQLite file.
pub(crate) struct Sqlite {
    path: PathBuf,
    begin: &'static str,
    lock_limit: Duration,
    version: String,
    isolation: &'static Isolation,
    /// The directory of a temporary file, deleted when this is dropped.
    _directory: Option<Scratch>,
}

impl Sqlite {
    pub(crate) fn open(
        file: &File,
        isolation: &'static Isolation,
        options: &Options,
    ) -> Result<Sqlite, Failure> {
        let directory = match &file.path {
            Some(_) => None,
            None => Some(
                Scratch::new()
                    .map_err(|error| other(format!("cannot create a temporary directory: {error}")))?,
            ),
        };
        let temporary = directory.as_ref().map(|directory| directory.path().join("isoscope.db"));
        let path = temporary.or_else(|| file.path.clone()).unwrap_or_default();
        let begin = match file.params.get("transactions") {
            Some("immediate") => "BEGIN IMMEDIATE",
            Some("exclusive") => "BEGIN EXCLUSIVE",
            _ => "BEGIN DEFERRED",
        };
        let version = format!("SQLite {}", rusqlite::version());
        let database =
            Sqlite { path, begin, lock_limit: options.lock_limit, version, isolation, _directory: directory };
        database.set_journal(file.params.get("journal").unwrap_or("wal"))?;
        Ok(database)
    }

    /// Sets the journal mode. The file keeps it, so this is done once.
    fn set_journal(&self, journal: &str) -> Result<(), Failure> {
        let connection = self.opened()?;
        let mode: String = connection
            .query_row(&format!("PRAGMA journal_mode = {journal}"), [], |row| row.get(0))
            .map_err(|error| opening(&self.path, &error))?;
        if mode != journal {
            return Err(other(format!(
                "{}: cannot set the journal mode to `{journal}`; it is `{mode}`",
                self.path.display()
            )));
        }
        Ok(())
    }

    fn opened(&self) -> Result<rusqlite::Connection, Failure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = rusqlite::Connection::open_with_flags(&self.path, flags)
            .and_then(|connection| connection.busy_timeout(self.lock_limit).map(|()| connection))
            .map_err(|error| opening(&self.path, &error))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(connection)
    }
}

impl Database for Sqlite {
    fn vendor(&self) -> Vendor {
        Vendor::Sqlite
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn isolation(&self) -> Option<&'static Isolation> {
        Some(self.isolation)
    }

    fn connect(&self) -> Result<Box<dyn Connection>, Failure> {
        let lock_limit = self.lock_limit;
        Ok(Box::new(Session { connection: self.opened()?, begin: self.begin, lock_limit, is_open: false }))
    }

    fn control(&self) -> Result<Option<Box<dyn Control>>, Failure> {
        Ok(None)
    }
}

struct Session {
    connection: rusqlite::Connection,
    begin: &'static str,
    lock_limit: Duration,
    /// Whether the client has begun a transaction and not ended it.
    is_open: bool,
}

impl Session {
    /// Whether the database has ended the open transaction by itself.
    fn is_lost(&self) -> bool {
        self.is_open && self.connection.is_autocommit()
    }

    fn run(&self, sql: &str) -> Result<(), Failure> {
        self.timed(|connection| {
            connection.prepare_cached(sql).and_then(|mut statement| statement.raw_execute()).map(|_| ())
        })
    }

    /// Runs `work`, and turns *busy* into a lock timeout if it waited for the whole limit.
    fn timed<T>(
        &self,
        work: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Failure> {
        let began = Instant::now();
        work(&self.connection).map_err(|error| {
            let failure = failure(&error);
            let waited = self.lock_limit > Duration::ZERO && began.elapsed() >= self.lock_limit;
            let class =
                if failure.class == Class::Busy && waited { Class::LockTimeout } else { failure.class };
            Failure { class, ..failure }
        })
    }
}

impl Connection for Session {
    fn id(&self) -> Option<ConnectionId> {
        None
    }

    fn begin(&mut self) -> Result<(), Failure> {
        self.run(self.begin)?;
        self.is_open = true;
        Ok(())
    }

    fn execute(&mut self, statement: Statement<'_>) -> Result<Answer, Failure> {
        if self.is_lost() {
            return Err(rolled_back());
        }
        self.timed(|connection| answer(connection, statement))
    }

    fn commit(&mut self) -> Result<Stamps, Failure> {
        let is_lost = self.is_lost();
        self.is_open = false;
        if is_lost {
            return Err(rolled_back());
        }
        let result = self.run("COMMIT");
        if result.is_err() && !self.connection.is_autocommit() {
            // The transaction is still open, so it has not committed, and after the rollback it cannot.
            self.run("ROLLBACK")?;
            return result.map(|()| Stamps::default()).map_err(|failure| match failure.class {
                Class::LockTimeout => Failure { class: Class::Busy, ..failure },
                class if class.promises_rollback() => failure,
                _ => Failure { class: Class::RolledBack, ..failure },
            });
        }
        result.map(|()| Stamps::default())
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        let is_over = self.connection.is_autocommit();
        self.is_open = false;
        if is_over { Ok(()) } else { self.run("ROLLBACK") }
    }
}

fn answer(connection: &rusqlite::Connection, statement: Statement<'_>) -> rusqlite::Result<Answer> {
    let mut prepared = connection.prepare_cached(statement.sql)?;
    let params = rusqlite::params_from_iter(statement.params.iter().map(Param));
    let columns = prepared.column_count();
    if columns == 0 {
        let before = connection.total_changes();
        let count = prepared.execute(params)? as u64;
        // SQLite returns the count of the last statement that changed rows, which may be an earlier one.
        let is_this = connection.total_changes() != before;
        return Ok(Answer::Count(if is_this { count } else { 0 }));
    }
    let mut rows = prepared.query(params)?;
    let mut answer = Vec::new();
    while let Some(row) = rows.next()? {
        answer.push((0..columns).map(|at| row.get_ref(at).map(scalar)).collect::<rusqlite::Result<_>>()?);
    }
    Ok(Answer::Rows(answer))
}

struct Param<'a>(&'a Scalar);

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Scalar::Null => ToSqlOutput::Owned(Value::Null),
            Scalar::Bool(is) => ToSqlOutput::Owned(Value::Integer(i64::from(*is))),
            Scalar::Int(n) => ToSqlOutput::Owned(Value::Integer(*n)),
            Scalar::Float(n) => ToSqlOutput::Owned(Value::Real(*n)),
            Scalar::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

fn scalar(value: ValueRef<'_>) -> Scalar {
    match value {
        ValueRef::Null => Scalar::Null,
        ValueRef::Integer(n) => Scalar::Int(n),
        ValueRef::Real(n) => Scalar::Float(n),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Scalar::Text(super::text(bytes)),
    }
}

fn opening(path: &Path, error: &rusqlite::Error) -> Failure {
    let failure = failure(error);
    Failure { message: format!("cannot open SQLite file {}: {}", path.display(), failure.message), ..failure }
}

fn rolled_back() -> Failure {
    let message = "the transaction was rolled back by the database".to_owned();
    Failure { class: Class::RolledBack, code: None, message }
}

fn other(message: String) -> Failure {
    Failure { class: Class::Other, code: None, message }
}

fn failure(error: &rusqlite::Error) -> Failure {
    let Some(inner) = error.sqlite_error() else { return other(one_line(&error.to_string())) };
    let class = match (inner.code, inner.extended_code) {
        (ErrorCode::DatabaseBusy, ffi::SQLITE_BUSY_SNAPSHOT) => Class::Serialization,
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed, _) => {
            Class::Busy
        }
        (ErrorCode::ConstraintViolation, _) => Class::Constraint,
        (
            ErrorCode::PermissionDenied | ErrorCode::ReadOnly | ErrorCode::AuthorizationForStatementDenied,
            _,
        ) => Class::Denied,
        _ => Class::Other,
    };
    Failure { class, code: Some(inner.extended_code.to_string()), message: one_line(&error.to_string()) }
}

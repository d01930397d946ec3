//! The driver for PostgreSQL.
//!
//! Parameters are sent as text, and the server reads each as the type that it inferred. Answers arrive in binary form and
//! are decoded by the types of their columns. These types are known before a statement runs; a statement with an
//! unsupported type is refused before it runs.
//!
//! PostgreSQL answers the COMMIT of a failed transaction with success and the tag `ROLLBACK`. The driver therefore tracks
//! whether the last statement failed, and returns an error that promises a rollback. If the server keeps commit timestamps,
//! the driver reads them in the same round trip as the commit.
//!
//! If an answer does not arrive in time, the driver closes the connection, because the state of the transaction is unknown.

mod decode;
mod placeholders;
mod tls;

use std::collections::HashMap;
use std::error::Error as _;
use std::future::Future;
use std::pin::pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::TryStreamExt;
use futures_util::future::{join, join3, try_join3};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::Severity;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, Error, Row, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::database::one_line;
use crate::isolation::Isolation;
use crate::target::{Address, Host, OpenError, Options};
use crate::{
    Answer, Class, Connection, ConnectionId, Control, Database, Failure, Scalar, Stamps, Statement, Vendor,
};

/// The maximum number of prepared statements per connection.
const STATEMENTS: usize = 256;

/// A PostgreSQL server.
pub(crate) struct Postgres {
    address: Address,
    config: Config,
    tls: MakeRustlsConnect,
    options: Options,
    isolation: &'static Isolation,
    version: String,
    keeps_timestamps: bool,
}

impl Postgres {
    pub(crate) fn open(
        address: &Address,
        isolation: &'static Isolation,
        options: &Options,
    ) -> Result<Postgres, OpenError> {
        let mut database = Postgres {
            address: address.clone(),
            config: config(address, options),
            tls: MakeRustlsConnect::new(tls::client_config(&address.params)?),
            options: *options,
            isolation,
            version: String::new(),
            keeps_timestamps: false,
        };
        let link = database.link()?;
        let facts = link.wait(link.client.simple_query(FACTS))?;
        for message in &facts {
            if let SimpleQueryMessage::Row(row) = message {
                let version = row.get(0).unwrap_or_default();
                let number = version.split_whitespace().next().unwrap_or_default();
                database.version = format!("PostgreSQL {number}");
                database.keeps_timestamps = row.get(1) == Some("t");
            }
        }
        Ok(database)
    }

    fn link(&self) -> Result<Link, Failure> {
        let refused = |what: &Failure| Failure {
            message: one_line(&format!("cannot connect to PostgreSQL at {}: {}", self.address, what.message)),
            ..what.clone()
        };
        Link::connect(&self.config, self.tls.clone(), &self.options).map_err(|failure| refused(&failure))
    }

    /// Opens a connection with the limits and the isolation level set. Returns it with its id.
    fn session(&self) -> Result<(Link, i64), Failure> {
        let link = self.link()?;
        let setup = format!(
            "SET lock_timeout = {}; SET statement_timeout = {}; {}; SELECT pg_backend_pid()",
            millis(self.options.lock_limit),
            millis(self.options.statement_limit),
            self.isolation.set_session().unwrap_or_default(),
        );
        let mut id = 0;
        for message in link.wait(link.client.simple_query(&setup))? {
            if let SimpleQueryMessage::Row(row) = message {
                id = row.get(0).and_then(|pid| pid.parse().ok()).unwrap_or(id);
            }
        }
        Ok((link, id))
    }
}

/// The version, and whether commit timestamps are available. The functions to read them exist since PostgreSQL 13.
const FACTS: &str = "SELECT current_setting('server_version'), \
     current_setting('track_commit_timestamp') = 'on' AND current_setting('server_version_num')::int >= 130000";

/// A limit in milliseconds, at least 1, because 0 would mean no limit.
fn millis(limit: Duration) -> u128 {
    limit.as_millis().max(1)
}

fn config(address: &Address, options: &Options) -> Config {
    let mut config = Config::new();
    match &address.host {
        Host::Name(name) => config.host(name),
        Host::Socket(path) => config.host_path(path),
    };
    config
        .port(address.port)
        .application_name(address.params.get("application_name").unwrap_or("isoscope"))
        .connect_timeout(options.connect_limit)
        .ssl_mode(match address.params.get("sslmode") {
            Some("disable") => SslMode::Disable,
            None | Some("prefer") => SslMode::Prefer,
            Some(_) => SslMode::Require,
        });
    // The default is the name of the system user, as with libpq.
    if let Some(user) = &address.user {
        config.user(user);
    }
    if let Some(password) = &address.password {
        config.password(password);
    }
    if let Some(database) = &address.database {
        config.dbname(database);
    }
    if let Some(settings) = address.params.get("options") {
        config.options(settings);
    }
    config
}

impl Database for Postgres {
    fn vendor(&self) -> Vendor {
        Vendor::Postgres
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn isolation(&self) -> Option<&'static Isolation> {
        Some(self.isolation)
    }

    fn connect(&self) -> Result<Box<dyn Connection>, Failure> {
        let (link, id) = self.session()?;
        let stamped_commit = if self.keeps_timestamps && self.options.timestamps {
            Some(StampedCommit::prepare(&link)?)
        } else {
            None
        };
        Ok(Box::new(Session {
            link,
            id: ConnectionId(id),
            // Set the level here as well, because a connection pooler may not preserve session settings.
            begin: format!("BEGIN ISOLATION LEVEL {}", self.isolation.sql),
            stamped_commit,
            statements: HashMap::new(),
            has_failed: false,
        }))
    }

    fn control(&self) -> Result<Option<Box<dyn Control>>, Failure> {
        Ok(Some(Box::new(Watcher(self.session()?.0))))
    }
}

/// A connection and its event loop, which runs only while the driver waits for an answer.
struct Link {
    client: Client,
    runtime: Runtime,
    limit: Duration,
    is_gone: std::cell::Cell<bool>,
}

impl Link {
    fn connect(config: &Config, tls: MakeRustlsConnect, options: &Options) -> Result<Link, Failure> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| other(format!("cannot create an event loop: {error}")))?;
        let connecting = async { tokio::time::timeout(options.connect_limit, config.connect(tls)).await };
        let connected = match runtime.block_on(connecting) {
            Ok(result) => result.map_err(|error| failure(&error, false)),
            Err(_) => Err(silence(options.connect_limit)),
        };
        let (client, connection) = match connected {
            Ok(pair) => pair,
            Err(failure) => {
                // A DNS lookup may still be running. Do not wait for it.
                runtime.shutdown_background();
                return Err(failure);
            }
        };
        runtime.spawn(async move {
            // An error here is also returned to the pending request.
            let _ = connection.await;
        });
        let limit = options.answer_limit();
        Ok(Link { client, runtime, limit, is_gone: false.into() })
    }

    /// Waits for an answer, up to the limit.
    fn wait<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
        if self.is_gone.get() {
            return Err(lost("the connection was already lost".to_owned()));
        }
        let timed = async { tokio::time::timeout(self.limit, work).await };
        let Ok(result) = self.runtime.block_on(timed) else {
            self.is_gone.set(true);
            return Err(silence(self.limit));
        };
        self.settle(result)
    }

    /// Converts an error, and marks the connection as lost if the error means that.
    fn settle<T>(&self, result: Result<T, Error>) -> Result<T, Failure> {
        result.map_err(|error| {
            let failure = failure(&error, true);
            if failure.class == Class::Connection {
                self.is_gone.set(true);
            }
            failure
        })
    }
}

struct Session {
    link: Link,
    id: ConnectionId,
    begin: String,
    /// The statements of a commit with timestamps, if the server keeps them.
    stamped_commit: Option<StampedCommit>,
    /// Prepared statements by their text.
    statements: HashMap<String, tokio_postgres::Statement>,
    /// Whether the last statement failed in the server. A statement that succeeds proves that the transaction has not
    /// failed, or has recovered by rolling back to a savepoint.
    has_failed: bool,
}

impl Session {
    fn prepared(&mut self, sql: &str) -> Result<tokio_postgres::Statement, Failure> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let text = placeholders::numbered(sql);
        let statement = self.noting(|link| link.wait(link.client.prepare(&text)))?;
        if let Some(column) = statement.columns().iter().find(|column| !decode::is_known(column.type_())) {
            let message = format!(
                "column \"{}\" is of type {}, which isoscope does not support; cast it to text",
                column.name(),
                column.type_()
            );
            return Err(other(message));
        }
        if self.statements.len() >= STATEMENTS {
            self.statements.clear();
        }
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Forgets a prepared statement if a table has changed since. It is prepared anew next time.
    fn forget_if_changed(&mut self, sql: &str, result: &Result<Answer, Failure>) {
        if result.as_ref().is_err_and(|failure| failure.code.as_deref() == Some("0A000")) {
            self.statements.remove(sql);
        }
    }

    /// Runs `work` and updates `has_failed`. A failure without an SQLSTATE did not reach the server, or ended the connection.
    fn noting<T>(&mut self, work: impl FnOnce(&Link) -> Result<T, Failure>) -> Result<T, Failure> {
        let result = work(&self.link);
        match &result {
            Ok(_) => self.has_failed = false,
            Err(failure) if failure.code.is_some() => self.has_failed = true,
            Err(_) => {}
        }
        result
    }
}

/// Runs a prepared statement.
async fn answer(
    client: &Client,
    prepared: &tokio_postgres::Statement,
    statement: Statement<'_>,
) -> Result<Answer, Error> {
    let params = statement.params.iter().map(Param);
    if prepared.columns().is_empty() {
        return client.execute_raw(prepared, params).await.map(Answer::Count);
    }
    let mut stream = pin!(client.query_raw(prepared, params).await?);
    let mut rows = Vec::new();
    while let Some(row) = stream.try_next().await? {
        rows.push(decode::row(&row)?);
    }
    Ok(Answer::Rows(rows))
}

/// Three statements that commit and read the timestamps. They are sent together, in one round trip. The transaction id is
/// kept in a session setting, because that survives the commit.
struct StampedCommit {
    before: tokio_postgres::Statement,
    commit: tokio_postgres::Statement,
    after: tokio_postgres::Statement,
}

impl StampedCommit {
    fn prepare(link: &Link) -> Result<StampedCommit, Failure> {
        let (before, commit, after) = link.wait(try_join3(
            link.client.prepare(
                "SELECT transaction_timestamp(), \
                 set_config('isoscope.xid', coalesce(pg_current_xact_id_if_assigned()::xid::text, ''), false)",
            ),
            link.client.prepare("COMMIT"),
            link.client.prepare(
                "SELECT pg_xact_commit_timestamp(nullif(current_setting('isoscope.xid'), '')::xid)",
            ),
        ))?;
        Ok(StampedCommit { before, commit, after })
    }

    /// Commits. In a failed transaction, the first statement fails and the second rolls back. Once the server has confirmed
    /// the commit, a failure to read the timestamp does not make the commit fail.
    fn run(&self, link: &Link) -> Result<Stamps, Failure> {
        let client = &link.client;
        let (before, commit, after) = link.wait(async {
            let all = join3(
                client.query_one(&self.before, &[]),
                client.execute(&self.commit, &[]),
                client.query_one(&self.after, &[]),
            );
            Ok(all.await)
        })?;
        link.settle(commit)?;
        let begin = match link.settle(before) {
            Ok(row) => nanos(&row),
            Err(failure) if failure.code.is_some() => return Err(rolled_back(failure)),
            Err(_) => None,
        };
        let commit = link.settle(after).ok().and_then(|row| nanos(&row));
        Ok(Stamps { begin, commit })
    }
}

/// The time in the first column, in nanoseconds since 1970.
fn nanos(row: &Row) -> Option<i64> {
    let time: Option<SystemTime> = row.try_get(0).ok()?;
    i64::try_from(time?.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
}

impl Connection for Session {
    fn id(&self) -> Option<ConnectionId> {
        Some(self.id)
    }

    fn begin(&mut self) -> Result<(), Failure> {
        let begin = std::mem::take(&mut self.begin);
        let result = self.noting(|link| link.wait(link.client.batch_execute(&begin)));
        self.begin = begin;
        result
    }

    fn execute(&mut self, statement: Statement<'_>) -> Result<Answer, Failure> {
        let prepared = self.prepared(statement.sql)?;
        let result = self.noting(|link| link.wait(answer(&link.client, &prepared, statement)));
        self.forget_if_changed(statement.sql, &result);
        result
    }

    fn begin_with(&mut self, statement: Statement<'_>) -> Result<Answer, Failure> {
        let prepared = self.prepared(statement.sql)?;
        let begin = std::mem::take(&mut self.begin);
        let result = self.noting(|link| {
            link.wait(async {
                let (begun, answered) =
                    join(link.client.batch_execute(&begin), answer(&link.client, &prepared, statement)).await;
                begun.and(answered)
            })
        });
        self.begin = begin;
        self.forget_if_changed(statement.sql, &result);
        result
    }

    fn commit(&mut self) -> Result<Stamps, Failure> {
        if self.has_failed {
            self.rollback()?;
            return Err(rolled_back(other("the transaction had failed and was rolled back".to_owned())));
        }
        if let Some(commit) = &self.stamped_commit {
            return commit.run(&self.link);
        }
        self.link.wait(self.link.client.batch_execute("COMMIT")).map(|()| Stamps::default())
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.noting(|link| link.wait(link.client.batch_execute("ROLLBACK")))
    }
}

struct Watcher(Link);

impl Watcher {
    /// Whether a query returns true.
    fn is_true(&self, sql: &str) -> Result<bool, Failure> {
        let messages = self.0.wait(self.0.client.simple_query(sql))?;
        Ok(messages
            .iter()
            .any(|message| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("t"))))
    }
}

impl Control for Watcher {
    fn is_waiting(&mut self, connection: ConnectionId) -> Result<bool, Failure> {
        self.is_true(&format!("SELECT cardinality(pg_blocking_pids({})) > 0", connection.0))
    }

    fn kill(&mut self, connection: ConnectionId) -> Result<(), Failure> {
        // False means that the connection is already closed, which is fine.
        self.is_true(&format!("SELECT pg_terminate_backend({})", connection.0)).map(|_| ())
    }
}

/// A parameter in the text form of the type that the server expects.
#[derive(Debug)]
struct Param<'a>(&'a Scalar);

impl ToSql for Param<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let text = match self.0 {
            Scalar::Null => return Ok(IsNull::Yes),
            Scalar::Bool(is) if *kind == Type::BOOL => (if *is { "t" } else { "f" }).to_owned(),
            Scalar::Bool(is) => i64::from(*is).to_string(),
            Scalar::Int(n) => n.to_string(),
            Scalar::Float(n) if n.is_infinite() => {
                (if *n > 0.0 { "Infinity" } else { "-Infinity" }).to_owned()
            }
            Scalar::Float(n) => n.to_string(),
            Scalar::Text(text) => {
                out.extend_from_slice(text.as_bytes());
                return Ok(IsNull::No);
            }
        };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

fn other(message: String) -> Failure {
    Failure { class: Class::Other, code: None, message }
}

/// A failure whose transaction is known to be rolled back.
fn rolled_back(failure: Failure) -> Failure {
    let class = if failure.class.promises_rollback() { failure.class } else { Class::RolledBack };
    Failure { class, ..failure }
}

fn lost(message: String) -> Failure {
    Failure { class: Class::Connection, code: None, message }
}

fn silence(limit: Duration) -> Failure {
    lost(format!("no answer within {} s", limit.as_secs_f64()))
}

fn failure(error: &Error, is_connected: bool) -> Failure {
    if let Some(db) = error.as_db_error() {
        let code = db.code().code();
        let is_fatal = matches!(db.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
        let class = if is_fatal && is_connected { Class::Connection } else { class(code) };
        return Failure { class, code: Some(code.to_owned()), message: one_line(db.message()) };
    }
    let mut message = error.to_string();
    let mut source = error.source();
    let mut is_io = error.is_closed();
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        is_io |= cause.is::<std::io::Error>();
        source = cause.source();
    }
    let is_denied = message.contains("password missing") || message.starts_with("authentication error");
    let class = match (is_connected, is_denied) {
        (false, true) => Class::Denied,
        // Every other failure to connect.
        (false, false) => Class::Connection,
        (true, _) if is_io => Class::Connection,
        (true, _) => Class::Other,
    };
    Failure { class, code: None, message: one_line(&message.replace("invalid configuration: ", "")) }
}

fn class(code: &str) -> Class {
    match code {
        "40001" => Class::Serialization,
        "40002" => Class::Constraint,
        // Not 40003 (statement completion unknown), which does not promise a rollback.
        "40000" | "25P02" => Class::RolledBack,
        "40P01" => Class::Deadlock,
        "55P03" => Class::LockTimeout,
        "57P01" | "57P02" | "57P03" | "57P05" => Class::Connection,
        "42501" => Class::Denied,
        _ if code.starts_with("23") => Class::Constraint,
        _ if code.starts_with("08") => Class::Connection,
        _ if code.starts_with("28") => Class::Denied,
        _ => Class::Other,
    }
}

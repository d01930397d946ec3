//! The driver for MySQL and MariaDB. The server's version string decides which of the two it is, not the URL.
//!
//! Row counts are rows *matched*, not rows changed. A deadlock, and MariaDB's error "record has changed", roll back the
//! whole transaction in the server. Later statements would then run, and commit, as transactions of their own. The driver
//! therefore refuses statements until the client has rolled back too. A lock timeout undoes only its statement; the
//! transaction stays open.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mysql::consts::{CapabilityFlags, ColumnType};
use mysql::prelude::Queryable;
use mysql::{Column, Conn, DriverError, Error, OptsBuilder, Params, SslOpts, Value};

use crate::database::one_line;
use crate::isolation::{self, Isolation, SNAPSHOT_ISOLATION};
use crate::target::{self, Address, Host, OpenError, Options};
use crate::{
    Answer, Class, Connection, ConnectionId, Control, Database, Failure, Scalar, Stamps, Statement, Vendor,
};

/// The maximum number of prepared statements per connection.
const STATEMENTS: usize = 256;

/// A MySQL or MariaDB server.
pub(crate) struct MySql {
    address: Address,
    options: Options,
    vendor: Vendor,
    version: String,
    isolation: &'static Isolation,
}

impl MySql {
    pub(crate) fn open(
        address: &Address,
        isolation: Option<&str>,
        options: &Options,
    ) -> Result<MySql, OpenError> {
        let mut conn = connect(address, options, Vec::new())?;
        let classified = |error: Error| failure(&error);
        let version: String = conn.query_first("SELECT VERSION()").map_err(classified)?.unwrap_or_default();
        let vendor = if version.contains("MariaDB") { Vendor::MariaDb } else { Vendor::MySql };
        let mut isolation = target::chosen(vendor, isolation)?;
        let snapshot: Option<(String, String)> =
            conn.query_first("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'").map_err(classified)?;
        if snapshot.is_some_and(|(_, value)| value.eq_ignore_ascii_case("on")) {
            isolation = isolation::under_setting(isolation, SNAPSHOT_ISOLATION);
        }
        let number = version.split('-').next().unwrap_or_default();
        let version = format!("{vendor} {number}");
        Ok(MySql { address: address.clone(), options: *options, vendor, version, isolation })
    }

    /// The first statements of every session.
    fn setup(&self) -> Vec<String> {
        // Lock timeouts are whole seconds, and some servers do not allow 0.
        let lock = self.options.lock_limit.as_secs_f64().ceil().max(1.0);
        let statement = match self.vendor {
            Vendor::MariaDb => format!("max_statement_time = {}", self.options.statement_limit.as_secs_f64()),
            _ => format!("max_execution_time = {}", self.options.statement_limit.as_millis()),
        };
        let limits = format!(
            "SET SESSION autocommit = 1, innodb_lock_wait_timeout = {lock}, lock_wait_timeout = {lock}, {statement}"
        );
        std::iter::once(limits).chain(self.isolation.set_session()).collect()
    }

    fn session(&self) -> Result<Session, Failure> {
        let conn = connect(&self.address, &self.options, self.setup())?;
        Ok(Session { id: conn.connection_id(), conn: Some(conn), is_over: false })
    }
}

impl Database for MySql {
    fn vendor(&self) -> Vendor {
        self.vendor
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn isolation(&self) -> Option<&'static Isolation> {
        Some(self.isolation)
    }

    fn connect(&self) -> Result<Box<dyn Connection>, Failure> {
        Ok(Box::new(self.session()?))
    }

    fn control(&self) -> Result<Option<Box<dyn Control>>, Failure> {
        Ok(Some(Box::new(Watcher { session: self.session()?, vendor: self.vendor, looked: Instant::now() })))
    }
}

struct Session {
    id: u32,
    /// `None` if the connection is lost, or out of sync after an answer that did not arrive in time.
    conn: Option<Conn>,
    /// Whether the server has rolled back the transaction and the client has not yet done so.
    is_over: bool,
}

impl Session {
    /// Runs `work` on the connection, and drops the connection if it fails.
    fn run<T>(&mut self, work: impl FnOnce(&mut Conn) -> mysql::Result<T>) -> Result<T, Failure> {
        let Some(conn) = &mut self.conn else {
            let message = "the connection was already lost".to_owned();
            return Err(Failure { class: Class::Connection, code: None, message });
        };
        work(conn).map_err(|error| {
            let failure = failure(&error);
            if failure.class == Class::Connection {
                self.conn = None;
            }
            failure
        })
    }

    fn refuse_if_over(&self) -> Result<(), Failure> {
        let message = "the transaction was rolled back by the server".to_owned();
        if self.is_over { Err(Failure { class: Class::RolledBack, code: None, message }) } else { Ok(()) }
    }
}

impl Connection for Session {
    fn id(&self) -> Option<ConnectionId> {
        Some(ConnectionId(i64::from(self.id)))
    }

    fn begin(&mut self) -> Result<(), Failure> {
        self.is_over = false;
        self.run(|conn| conn.query_drop("START TRANSACTION"))
    }

    fn execute(&mut self, statement: Statement<'_>) -> Result<Answer, Failure> {
        self.refuse_if_over()?;
        let result = self.run(|conn| answer(conn, statement));
        self.is_over = result
            .as_ref()
            .is_err_and(|failure| matches!(failure.class, Class::Deadlock | Class::Serialization));
        result
    }

    fn commit(&mut self) -> Result<Stamps, Failure> {
        self.refuse_if_over()?;
        self.run(|conn| conn.query_drop("COMMIT")).map(|()| Stamps::default())
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.is_over = false;
        self.run(|conn| conn.query_drop("ROLLBACK"))
    }
}

/// The server refreshes its list of transactions only if it has not been read for 100 ms.
const STALE: Duration = Duration::from_millis(120);

struct Watcher {
    session: Session,
    vendor: Vendor,
    /// When the list of transactions was last read; initially the time of connecting, since others may have read it.
    looked: Instant,
}

impl Watcher {
    fn any(&mut self, sql: String) -> Result<bool, Failure> {
        let found: Option<u64> = self.session.run(|conn| conn.query_first(sql))?;
        Ok(found.is_some_and(|count| count > 0))
    }

    /// Whether the connection waits for a row lock, by the status report of the storage engine, which is always current. `None` if the
    /// report is cut off before the connection, or may not be read.
    fn waits_by_status(&mut self, id: i64) -> Result<Option<bool>, Failure> {
        let report = self
            .session
            .run(|conn| conn.query_first::<(String, String, String), _>("SHOW ENGINE INNODB STATUS"));
        match report {
            Ok(report) => Ok(report.and_then(|(_, _, text)| waits_in_status(&text, id))),
            Err(failure) if failure.class == Class::Connection => Err(failure),
            Err(_) => Ok(None),
        }
    }

    /// The same by the list of transactions. The storage engine serves it from a copy that it refreshes only
    /// if the copy has not been read for 100 ms. A client that reads more often sees a stale copy forever, and so do two
    /// clients that alternate. The count of waits is always current and mostly zero. So the copy is read only if there are
    /// waits, and not before it is due for a refresh.
    fn waits_for_row(&mut self, id: i64) -> Result<bool, Failure> {
        let waits: Option<(String, u64)> = self
            .session
            .run(|conn| conn.query_first("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'"))?;
        if waits.is_some_and(|(_, count)| count == 0) {
            return Ok(false);
        }
        thread::sleep(STALE.saturating_sub(self.looked.elapsed()));
        let found = self.any(format!(
            "SELECT COUNT(*) FROM information_schema.innodb_trx \
             WHERE trx_mysql_thread_id = {id} AND trx_state = 'LOCK WAIT'"
        ));
        self.looked = Instant::now();
        found
    }

    /// MySQL 8 has a table that is always current. Older servers lack it, and reading it needs a privilege.
    fn waits_by_performance_schema(&mut self, id: i64) -> Result<bool, Failure> {
        self.any(format!(
            "SELECT COUNT(*) FROM performance_schema.data_lock_waits \
             JOIN performance_schema.threads ON thread_id = requesting_thread_id WHERE processlist_id = {id}"
        ))
    }
}

impl Control for Watcher {
    fn is_waiting(&mut self, connection: ConnectionId) -> Result<bool, Failure> {
        let ConnectionId(id) = connection;
        let waits_for_row = match self.vendor {
            Vendor::MySql => match self.waits_by_performance_schema(id) {
                Err(failure) if failure.class == Class::Connection => return Err(failure),
                answer => answer.ok(),
            },
            _ => self.waits_by_status(id)?,
        };
        if waits_for_row == Some(true) {
            return Ok(true);
        }
        // Metadata locks on tables, as ALTER TABLE takes, are not known to InnoDB.
        let waits_for_table = self.any(format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND state LIKE 'Waiting for %lock%'"
        ))?;
        if waits_for_table || waits_for_row.is_some() {
            return Ok(waits_for_table);
        }
        self.waits_for_row(id)
    }

    fn kill(&mut self, connection: ConnectionId) -> Result<(), Failure> {
        match self.session.run(|conn| conn.query_drop(format!("KILL CONNECTION {}", connection.0))) {
            Err(failure) if failure.code.as_deref() == Some("1094") => Ok(()),
            answer => answer,
        }
    }
}

/// Whether a connection waits for a row lock, in a status report of the storage engine. `None` if the report is cut off and the connection is
/// not in it.
fn waits_in_status(report: &str, id: i64) -> Option<bool> {
    let of_connection = format!(" thread id {id},");
    for transaction in report.split("\n---TRANSACTION ").skip(1) {
        let mut waits = false;
        for line in transaction.lines() {
            waits |= line.starts_with("LOCK WAIT ");
            // The text of the statement follows; it may look like anything.
            if line.contains(" thread id ") {
                if line.contains(&of_connection) {
                    return Some(waits);
                }
                break;
            }
        }
    }
    let is_cut_off = report.contains("\n... truncated...\n");
    (!is_cut_off).then_some(false)
}

fn answer(conn: &mut Conn, statement: Statement<'_>) -> mysql::Result<Answer> {
    let params: Vec<Value> = statement.params.iter().map(value).collect();
    let params = if params.is_empty() { Params::Empty } else { Params::Positional(params) };
    match conn.prep(statement.sql) {
        Ok(prepared) => collect(conn.exec_iter(prepared, params)?),
        // Error 1295: this statement cannot be prepared. Send it as text.
        Err(Error::MySqlError(error)) if error.code == 1295 && statement.params.is_empty() => {
            collect(conn.query_iter(statement.sql)?)
        }
        Err(error) => Err(error),
    }
}

fn collect<T: mysql::prelude::Protocol>(
    mut result: mysql::QueryResult<'_, '_, '_, T>,
) -> mysql::Result<Answer> {
    if result.columns().as_ref().is_empty() {
        return Ok(Answer::Count(result.affected_rows()));
    }
    let mut rows = Vec::new();
    for row in result.by_ref() {
        let row = row?;
        let columns = row.columns();
        let values = row.unwrap_raw().into_iter().map(|value| value.unwrap_or(Value::NULL));
        rows.push(values.zip(columns.iter()).map(|(value, column)| scalar(value, column)).collect());
    }
    Ok(Answer::Rows(rows))
}

fn value(scalar: &Scalar) -> Value {
    match scalar {
        Scalar::Null => Value::NULL,
        Scalar::Bool(is) => Value::Int(i64::from(*is)),
        Scalar::Int(n) => Value::Int(*n),
        Scalar::Float(n) => Value::Double(*n),
        Scalar::Text(text) => Value::Bytes(text.as_bytes().to_vec()),
    }
}

fn scalar(value: Value, column: &Column) -> Scalar {
    match value {
        Value::NULL => Scalar::Null,
        Value::Int(n) => Scalar::Int(n),
        Value::UInt(n) => i64::try_from(n).map_or_else(|_| Scalar::Text(n.to_string()), Scalar::Int),
        Value::Float(n) => Scalar::Float(f64::from(n)),
        Value::Double(n) => Scalar::Float(n),
        Value::Bytes(bytes) => spelled(&bytes, column.column_type()),
        Value::Date(year, month, day, hour, minute, second, micros) => {
            let date = format!("{year:04}-{month:02}-{day:02}");
            if column.column_type() == ColumnType::MYSQL_TYPE_DATE {
                return Scalar::Text(date);
            }
            Scalar::Text(format!("{date} {hour:02}:{minute:02}:{second:02}{}", fraction(micros)))
        }
        Value::Time(is_negative, days, hours, minutes, seconds, micros) => {
            let sign = if is_negative { "-" } else { "" };
            let hours = u64::from(days) * 24 + u64::from(hours);
            Scalar::Text(format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{}", fraction(micros)))
        }
    }
}

fn fraction(micros: u32) -> String {
    if micros == 0 { String::new() } else { format!(".{micros:06}") }
}

/// Decodes a value in text form. All values have it if the statement was not prepared.
fn spelled(bytes: &[u8], kind: ColumnType) -> Scalar {
    let text = super::text(bytes);
    match kind {
        ColumnType::MYSQL_TYPE_TINY
        | ColumnType::MYSQL_TYPE_SHORT
        | ColumnType::MYSQL_TYPE_INT24
        | ColumnType::MYSQL_TYPE_LONG
        | ColumnType::MYSQL_TYPE_LONGLONG
        | ColumnType::MYSQL_TYPE_YEAR => text.parse().map_or(Scalar::Text(text), Scalar::Int),
        ColumnType::MYSQL_TYPE_FLOAT | ColumnType::MYSQL_TYPE_DOUBLE => {
            text.parse().map_or(Scalar::Text(text), Scalar::Float)
        }
        ColumnType::MYSQL_TYPE_BIT if bytes.len() < 8 => {
            Scalar::Int(bytes.iter().fold(0, |n, byte| n << 8 | i64::from(*byte)))
        }
        _ => Scalar::Text(text),
    }
}

fn connect(address: &Address, options: &Options, setup: Vec<String>) -> Result<Conn, Failure> {
    // By default, try an encrypted connection first and accept a server without encryption.
    match address.params.get("ssl-mode").unwrap_or("preferred") {
        "disabled" => connect_by(address, options, setup, None),
        "preferred" => {
            let first = connect_by(address, options, setup.clone(), Some(ssl(address, "required")));
            match first {
                Err(Refusal { has_no_tls: true, .. }) => connect_by(address, options, setup, None),
                first => first,
            }
        }
        mode => connect_by(address, options, setup, Some(ssl(address, mode))),
    }
    .map_err(|refusal| refusal.failure)
}

fn ssl(address: &Address, mode: &str) -> SslOpts {
    let opts = SslOpts::default()
        .with_danger_accept_invalid_certs(mode == "required")
        .with_danger_skip_domain_validation(mode != "verify-identity");
    match address.params.get("ssl-ca") {
        Some(path) => opts.with_root_cert_path(Some(std::path::PathBuf::from(path))),
        None => opts,
    }
}

struct Refusal {
    has_no_tls: bool,
    failure: Failure,
}

/// Connects in a separate thread, because the client library applies the long limit for answers to the server's greeting,
/// not the limit for connecting.
fn connect_by(
    address: &Address,
    options: &Options,
    setup: Vec<String>,
    ssl: Option<SslOpts>,
) -> Result<Conn, Refusal> {
    // The client library uses the process-wide cryptography provider. It is fine if one is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let opts = opts(address, options, setup, ssl);
    let (sender, receiver) = mpsc::channel();
    let thread = thread::Builder::new().name("isoscope-connect".to_owned());
    let spawned = thread.spawn(move || {
        // The receiver is gone if connecting took too long.
        let _ = sender.send(Conn::new(opts));
    });
    let refused = |class, code, what: String, has_no_tls| Refusal {
        has_no_tls,
        failure: Failure {
            class,
            code,
            message: one_line(&format!("cannot connect to MySQL at {address}: {what}")),
        },
    };
    if let Err(error) = spawned {
        return Err(refused(Class::Other, None, error.to_string(), false));
    }
    match receiver.recv_timeout(options.connect_limit) {
        Ok(Ok(conn)) => Ok(conn),
        Ok(Err(error)) => {
            let has_no_tls = matches!(error, Error::DriverError(DriverError::TlsNotSupported));
            let failure = failure(&error);
            Err(refused(failure.class, failure.code, failure.message, has_no_tls))
        }
        Err(_) => {
            let limit = options.connect_limit.as_secs_f64();
            Err(refused(Class::Connection, None, format!("no answer within {limit} s"), false))
        }
    }
}

fn opts(address: &Address, options: &Options, setup: Vec<String>, ssl: Option<SslOpts>) -> OptsBuilder {
    let opts = OptsBuilder::new()
        .user(Some(address.user.as_deref().unwrap_or("root")))
        .pass(address.password.as_deref())
        .db_name(address.database.as_deref())
        .prefer_socket(false)
        .tcp_connect_timeout(Some(options.connect_limit))
        .read_timeout(Some(options.answer_limit()))
        .write_timeout(Some(options.answer_limit()))
        .stmt_cache_size(STATEMENTS)
        .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
        .init(setup)
        .ssl_opts(ssl);
    match &address.host {
        Host::Name(name) => opts.ip_or_hostname(Some(name)).tcp_port(address.port),
        Host::Socket(path) => opts.socket(Some(path.to_string_lossy())),
    }
}

fn failure(error: &Error) -> Failure {
    let (class, code, message) = match error {
        Error::MySqlError(error) => (class(error.code), Some(error.code.to_string()), error.message.clone()),
        Error::IoError(error) => (Class::Connection, None, format!("the connection was lost: {error}")),
        Error::CodecError(error) => (Class::Connection, None, format!("the connection was lost: {error}")),
        Error::DriverError(DriverError::CouldNotConnect(Some((_, reason, _)))) => {
            (Class::Connection, None, reason.clone())
        }
        Error::DriverError(
            error @ (DriverError::ConnectTimeout
            | DriverError::CouldNotConnect(_)
            | DriverError::PacketOutOfSync
            | DriverError::UnexpectedPacket
            | DriverError::Timeout),
        ) => (Class::Connection, None, error.to_string()),
        Error::DriverError(error) => (Class::Other, None, error.to_string()),
        Error::TlsError(error) => (Class::Connection, None, format!("TLS: {error}")),
        error => (Class::Other, None, error.to_string()),
    };
    Failure { class, code, message: one_line(&message) }
}

fn class(code: u16) -> Class {
    match code {
        // 3101: a plugin, such as group replication, rolled back the transaction at its commit.
        1020 | 3101 => Class::Serialization,
        1213 => Class::Deadlock,
        1205 => Class::LockTimeout,
        1022 | 1048 | 1062 | 1169 | 1216 | 1217 | 1451 | 1452 | 1557 | 1586 | 1761 | 1762 | 3819 | 4025 => {
            Class::Constraint
        }
        // Shut down, killed, aborted while connecting or later, or lost.
        1053 | 1077 | 1079 | 1152 | 1158..=1161 | 1184 | 1317 | 1927 | 2002 | 2003 | 2006 | 2013 | 2055 => {
            Class::Connection
        }
        1044 | 1045 | 1142 | 1143 | 1227 | 1370 | 1698 => Class::Denied,
        _ => Class::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::waits_in_status;

    #[test]
    fn waits_are_found_in_the_status_report() {
        let report = "LIST OF TRANSACTIONS FOR EACH SESSION:\n\
            ---TRANSACTION 22, ACTIVE 1 sec starting index read\n\
            mysql tables in use 1, locked 1\n\
            LOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)\n\
            MariaDB thread id 6, OS thread handle 140690716776128, query id 11 localhost root Updating\n\
            update t set v=3 -- MariaDB thread id 5, LOCK WAIT\n\
            ---TRANSACTION 21, ACTIVE 2 sec\n\
            2 lock struct(s), heap size 1128, 1 row lock(s), undo log entries 1\n\
            MariaDB thread id 5, OS thread handle 140690717083328, query id 9 localhost root\n\
            --------\nFILE I/O\n";
        assert_eq!(waits_in_status(report, 6), Some(true));
        assert_eq!(waits_in_status(report, 5), Some(false));
        // It has no transaction.
        assert_eq!(waits_in_status(report, 60), Some(false));
        let cut = format!("{report}\n... truncated...\n");
        assert_eq!((waits_in_status(&cut, 6), waits_in_status(&cut, 7)), (Some(true), None));
    }
}

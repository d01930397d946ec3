//! Shared by the tests of all databases.

use std::thread;
use std::time::{Duration, Instant};

use isoscope_record::{
    Answer, Class, Connection, ConnectionId, Control, Database, Failure, Options, Scalar, Server, ServerKind,
    Statement, Target,
};

pub(crate) type Conn = Box<dyn Connection>;

pub(crate) fn start<S: AsRef<str>>(kind: ServerKind, settings: &[S]) -> Server {
    match Server::start(kind, settings) {
        Ok(server) => server,
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn open(url: &str, isolation: Option<&str>) -> Box<dyn Database> {
    open_with(url, isolation, &Options::default())
}

pub(crate) fn open_with(url: &str, isolation: Option<&str>, options: &Options) -> Box<dyn Database> {
    match Target::parse(url).expect("a good URL").open(isolation, options) {
        Ok(database) => database,
        Err(error) => panic!("{error}"),
    }
}

/// The failure of opening a database that cannot be opened.
pub(crate) fn refusal(url: &str, options: &Options) -> Failure {
    match Target::parse(url).expect("a good URL").open(None, options) {
        Err(isoscope_record::OpenError::Failure(failure)) => failure,
        Err(error) => panic!("not a failure: {error}"),
        Ok(_) => panic!("this opens"),
    }
}

/// The URL of a database that does not exist, on the same server.
pub(crate) fn elsewhere(url: &str) -> String {
    let (server, _) = url.rsplit_once('/').expect("a database");
    format!("{server}/nowhere")
}

/// Limits that a test can wait for.
pub(crate) fn impatient() -> Options {
    Options { lock_limit: Duration::from_millis(300), ..Options::default() }
}

/// Limits that even a busy machine does not reach.
pub(crate) fn patient() -> Options {
    Options { lock_limit: Duration::from_secs(25), ..Options::default() }
}

pub(crate) fn connect(database: &dyn Database) -> Conn {
    database.connect().expect("a connection")
}

pub(crate) fn control(database: &dyn Database) -> Box<dyn Control> {
    database.control().expect("a control").expect("a server")
}

pub(crate) fn text(text: &str) -> Scalar {
    Scalar::from(text)
}

pub(crate) fn try_run(conn: &mut Conn, sql: &str, params: &[Scalar]) -> Result<Answer, Failure> {
    conn.execute(Statement { sql, params })
}

/// Runs a statement and returns its row count.
pub(crate) fn run(conn: &mut Conn, sql: &str, params: &[Scalar]) -> u64 {
    match try_run(conn, sql, params) {
        Ok(Answer::Count(count)) => count,
        answer => panic!("{sql}: {answer:?}"),
    }
}

pub(crate) fn rows(conn: &mut Conn, sql: &str, params: &[Scalar]) -> Vec<Vec<Scalar>> {
    match try_run(conn, sql, params) {
        Ok(Answer::Rows(rows)) => rows,
        answer => panic!("{sql}: {answer:?}"),
    }
}

/// The only value of the only row.
pub(crate) fn one(conn: &mut Conn, sql: &str) -> Scalar {
    let mut rows = rows(conn, sql, &[]);
    assert_eq!(rows.len(), 1, "{sql}");
    assert_eq!(rows[0].len(), 1, "{sql}");
    rows.remove(0).remove(0)
}

/// Expects a failure of the class, with a message of one line.
#[track_caller]
pub(crate) fn fails<T: std::fmt::Debug>(result: Result<T, Failure>, class: Class) -> Failure {
    let failure = result.expect_err("this must fail");
    assert_eq!(failure.class, class, "{failure}");
    assert!(!failure.message.contains('\n') && !failure.message.is_empty(), "{failure:?}");
    failure
}

/// A table of two rows, both 0.
pub(crate) fn two_rows(conn: &mut Conn) {
    run(conn, "DROP TABLE IF EXISTS t", &[]);
    run(conn, "CREATE TABLE t (k INT PRIMARY KEY, v INT NOT NULL)", &[]);
    run(conn, "INSERT INTO t (k, v) VALUES (1, 0), (2, 0)", &[]);
}

pub(crate) const READ: &str = "SELECT v FROM t WHERE k = ?";
pub(crate) const WRITE: &str = "UPDATE t SET v = ? WHERE k = ?";

pub(crate) fn read(conn: &mut Conn, key: i64) -> Scalar {
    rows(conn, READ, &[Scalar::Int(key)]).remove(0).remove(0)
}

pub(crate) fn write(conn: &mut Conn, key: i64, value: i64) -> Result<Answer, Failure> {
    try_run(conn, WRITE, &[Scalar::Int(value), Scalar::Int(key)])
}

/// Runs `elsewhere` with the connection on another thread, and `here` at the same time. Returns both results.
pub(crate) fn meanwhile<T: Send, U>(
    conn: &mut Conn,
    elsewhere: impl FnOnce(&mut Conn) -> T + Send,
    here: impl FnOnce() -> U,
) -> (T, U) {
    thread::scope(|scope| {
        let handle = scope.spawn(|| elsewhere(conn));
        let here = here();
        (handle.join().expect("no panic elsewhere"), here)
    })
}

/// Polls until the connection waits for a lock, or no longer does.
pub(crate) fn until_waiting(control: &mut Box<dyn Control>, id: ConnectionId, expected: bool) {
    let start = Instant::now();
    while control.is_waiting(id).expect("an answer") != expected {
        assert!(start.elapsed() < Duration::from_secs(20), "waiting never becomes {expected}");
        thread::sleep(Duration::from_millis(3));
    }
}

/// Two transactions that each need the lock of the other: exactly one must fail, and neither may hang. Returns the index
/// of the one that failed, and its failure.
pub(crate) fn deadlock(a: &mut Conn, b: &mut Conn) -> (usize, Failure) {
    a.begin().expect("begin");
    b.begin().expect("begin");
    write(a, 1, 10).expect("write");
    write(b, 2, 20).expect("write");
    let (first, second) = meanwhile(
        a,
        |a| write(a, 2, 11),
        || {
            thread::sleep(Duration::from_millis(150));
            write(b, 1, 21)
        },
    );
    match (first, second) {
        (Err(failure), Ok(_)) => (0, failure),
        (Ok(_), Err(failure)) => (1, failure),
        other => panic!("not exactly one failed: {other:?}"),
    }
}

//! PostgreSQL.

use std::io::Write as _;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use isoscope_record::{Class, Options, Scalar, ServerKind, Vendor};

use crate::certificates::Certificates;
use crate::conformance::{
    Driver, Encryption, Remote, Values, failed_transactions_do_not_commit, stale_snapshots_cannot_write,
};
use crate::support::{
    Conn, connect, control, fails, meanwhile, one, open, open_with, patient, read, rows, run, start, text,
    try_run, two_rows, write,
};

#[test]
fn postgres() {
    let certificates = Certificates::make("postgres");
    let server = start(ServerKind::Postgres, &certificates.postgres_settings());
    let url = server.url();
    let (root, stranger) = (certificates.root(), certificates.stranger());
    Driver {
        url: &url,
        vendor: Vendor::Postgres,
        version: "PostgreSQL 1",
        values: values(),
        default_isolation: "read-committed",
        isolation: Some(|c| match one(c, "SHOW transaction_isolation") {
            Scalar::Text(name) => name.replace(' ', "-"),
            other => panic!("{other:?}"),
        }),
        duplicate_key: "23505",
        lock_timeout: "55P03",
        server: Some(Remote {
            scheme: "postgres",
            user: "postgres",
            create_guest: &["CREATE ROLE guest LOGIN PASSWORD 'g'"],
            deadlock: "40P01",
            wrong_password: "28P01",
            unknown_database: "3D000",
            count_connections: "SELECT COUNT(*) FROM pg_stat_activity WHERE pid =",
            sleep: "SELECT pg_sleep(20)",
            slow: ("SELECT pg_sleep(20)", "57014"),
            encryption: Encryption {
                is_encrypted: |c| {
                    one(c, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()") == Scalar::Bool(true)
                },
                plain: &["sslmode=disable"],
                encrypted: &[
                    "sslmode=prefer",
                    "sslmode=require",
                    &format!("sslmode=require&sslrootcert={root}"),
                    &format!("sslmode=verify-ca&sslrootcert={root}"),
                ],
                verify_name: &format!("sslmode=verify-full&sslrootcert={root}"),
                refused: &[
                    &format!("sslmode=verify-ca&sslrootcert={stranger}"),
                    &format!("sslmode=require&sslrootcert={stranger}"),
                ],
            },
        }),
    }
    .conform();

    stale_snapshots_cannot_write(&url, "rr", "40001");
    failed_transactions_do_not_commit(&url, "SELECT 1/0", Class::Other);
    parameters(&url);
    returned_rows(&url);
    serialization_failures_at_commit(&url);
    deferred_constraints(&url);
    inserts_ignore_the_snapshot(&url);
    savepoints(&url);
    changed_tables(&url);
    timestamps(&url);
    a_commit_without_a_timestamp_is_a_commit(&url);
    killed_during_commit(&url);
    let directory = certificates.directory().display();
    let mut c = connect(&*open(&format!("{url}?host={directory}"), None));
    assert_eq!(one(&mut c, "SELECT inet_server_addr() IS NULL"), Scalar::Bool(true), "by a socket");
}

fn values() -> Values {
    Values {
        create: &[
            "CREATE TYPE mood AS ENUM ('sad', 'ok')",
            "CREATE TABLE v (a int2, b int4, c int8, d text, e varchar(9), f bool, g float4, h float8, i numeric(20,5), \
         j date, k timestamp, l timestamptz, m uuid, n json, o jsonb, p bytea, q int4[], r text[], s mood, t char(3))",
        ],
        given: vec![
            Scalar::Int(-7),
            Scalar::Int(2_000_000_000),
            Scalar::Int(i64::MIN),
            text("it's ? \"ü\""),
            Scalar::Int(12),
            Scalar::Bool(true),
            Scalar::Float(0.5),
            Scalar::Float(-1.0e300),
            text("-123456789012.3456"),
            text("2024-02-29"),
            text("2024-02-29 12:34:56.789"),
            text("2024-02-29 12:34:56+02"),
            text("00112233-4455-6677-8899-aabbccddeeff"),
            text("{\"a\": 1}"),
            text("{\"a\": 1}"),
            text("\\x00ff"),
            text("{1,NULL,-3}"),
            text("{a,\"b c\",NULL,\"null\"}"),
            text("ok"),
            text("ab"),
        ],
        changed: vec![
            (4, text("12")),
            (8, text("-123456789012.34560")),
            (11, text("2024-02-29 10:34:56+00")),
            (19, text("ab ")),
        ],
    }
}

/// `cargo nextest run -p isoscope-record --release --run-ignored all cost --no-capture`.
#[test]
#[ignore = "a measurement"]
fn the_cost_of_timestamps() {
    let server = start::<&str>(ServerKind::Postgres, &[]);
    let without = Options { timestamps: false, ..Options::default() };
    let mut pair =
        [connect(&*open_with(&server.url(), None, &without)), connect(&*open(&server.url(), None))];
    two_rows(&mut pair[0]);
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..40 {
        for (c, times) in pair.iter_mut().zip(&mut times) {
            let start = Instant::now();
            for value in 0..250 {
                c.begin().expect("begin");
                read(c, 2);
                write(c, 1, round * 1000 + value).expect("write");
                c.commit().expect("commit");
            }
            times.push(start.elapsed() / 250);
        }
    }
    for (name, mut times) in ["without", "with"].into_iter().zip(times) {
        times.sort();
        writeln!(
            std::io::stderr(),
            "{name} timestamps: {:?} a transaction, {:?} at best",
            times[20],
            times[0]
        )
        .expect("a terminal");
    }
}

/// The server decides the type of a parameter.
fn parameters(url: &str) {
    let mut c = connect(&*open(url, None));
    for (sql, param, expected) in [
        ("SELECT ?::int4", Scalar::Int(5), Scalar::Int(5)),
        ("SELECT ?::text", Scalar::Int(5), text("5")),
        ("SELECT ?::numeric", Scalar::Int(5), text("5")),
        ("SELECT ?::float8", Scalar::Int(5), Scalar::Float(5.0)),
        ("SELECT ?::int8", text("5"), Scalar::Int(5)),
        ("SELECT ?::int8", Scalar::Bool(true), Scalar::Int(1)),
        ("SELECT ?::float8", Scalar::Float(f64::INFINITY), Scalar::Float(f64::INFINITY)),
        ("SELECT ?::numeric", text("0.000100"), text("0.000100")),
        ("SELECT ?::numeric", text("10000000.0001"), text("10000000.0001")),
        ("SELECT ?::numeric", text("NaN"), text("NaN")),
        ("SELECT ?::date", text("0044-03-15 BC"), text("0044-03-15 BC")),
        ("SELECT ?::timestamp", text("infinity"), text("infinity")),
        ("SELECT ?::time", text("23:59:59.000001"), text("23:59:59.000001")),
        ("SELECT ?", text("unknown"), text("unknown")),
        ("SELECT '?' || ?::text", text("!"), text("?!")),
    ] {
        assert_eq!(rows(&mut c, sql, &[param]), [[expected]], "{sql}");
    }
    fails(try_run(&mut c, "SELECT ?::int4", &[Scalar::Int(1 << 40)]), Class::Other);
    fails(try_run(&mut c, "SELECT ?::int4", &[]), Class::Other);
}

/// A statement with a result of an unsupported type is refused before it runs, and the transaction continues.
fn returned_rows(url: &str) {
    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    assert_eq!(rows(&mut c, "UPDATE t SET v = 5 WHERE k = 1 RETURNING k", &[]), [[Scalar::Int(1)]]);
    c.begin().expect("begin");
    let failure =
        fails(try_run(&mut c, "INSERT INTO v (a) VALUES (99) RETURNING point(1, 2)", &[]), Class::Other);
    assert!(failure.message.contains("point"), "{failure}");
    assert_eq!(rows(&mut c, "SELECT 1 FROM v WHERE a = 99", &[]).len(), 0);
    c.commit().expect("commit");
}

/// Each transaction reads what the other writes: the second commit fails.
fn serialization_failures_at_commit(url: &str) {
    let database = open(url, Some("serializable"));
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    two_rows(&mut a);
    a.begin().expect("begin");
    b.begin().expect("begin");
    read(&mut a, 1);
    read(&mut b, 2);
    write(&mut a, 2, 1).expect("write");
    write(&mut b, 1, 1).expect("write");
    a.commit().expect("commit");
    assert_eq!(fails(b.commit(), Class::Serialization).code.as_deref(), Some("40001"));
    b.rollback().expect("a rollback after the end is not an error");
    assert_eq!((read(&mut b, 1), read(&mut b, 2)), (Scalar::Int(0), Scalar::Int(1)));
    b.begin().expect("begin");
    b.commit().expect("the connection is usable");
}

/// Why repeatable read promises less for inserted and deleted rows: INSERT does not use the snapshot, so one key can
/// appear twice.
fn inserts_ignore_the_snapshot(url: &str) {
    let database = open(url, Some("repeatable-read"));
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    two_rows(&mut a);
    a.begin().expect("begin");
    assert_eq!(read(&mut a, 1), Scalar::Int(0));
    assert_eq!(run(&mut b, "DELETE FROM t WHERE k = 1", &[]), 1);
    assert_eq!(run(&mut a, "INSERT INTO t VALUES (1, 5)", &[]), 1);
    let both = rows(&mut a, "SELECT v FROM t WHERE k = 1 ORDER BY v", &[]);
    assert_eq!(both, [[Scalar::Int(0)], [Scalar::Int(5)]]);
    a.commit().expect("commit");
    assert_eq!(read(&mut b, 1), Scalar::Int(5));
}

fn deferred_constraints(url: &str) {
    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    run(&mut c, "CREATE TABLE late (k INT REFERENCES t DEFERRABLE INITIALLY DEFERRED)", &[]);
    c.begin().expect("begin");
    run(&mut c, "INSERT INTO late VALUES (77)", &[]);
    fails(c.commit(), Class::Constraint);
    assert_eq!(rows(&mut c, "SELECT * FROM late", &[]).len(), 0);
    run(&mut c, "DROP TABLE late", &[]);
}

fn savepoints(url: &str) {
    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    c.begin().expect("begin");
    write(&mut c, 1, 1).expect("write");
    run(&mut c, "SAVEPOINT s", &[]);
    fails(try_run(&mut c, "SELECT 1/0", &[]), Class::Other);
    run(&mut c, "ROLLBACK TO SAVEPOINT s", &[]);
    c.commit().expect("commit");
    assert_eq!(read(&mut c, 1), Scalar::Int(1));
}

fn changed_tables(url: &str) {
    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    rows(&mut c, "SELECT * FROM t", &[]);
    run(&mut c, "ALTER TABLE t ADD COLUMN w INT", &[]);
    fails(try_run(&mut c, "SELECT * FROM t", &[]), Class::Other);
    assert_eq!(rows(&mut c, "SELECT * FROM t", &[])[0].len(), 3);
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_nanos()).expect("before 2262")
}

fn timestamps(url: &str) {
    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    let mut last = now() - 1000;
    for value in 1..4 {
        c.begin().expect("begin");
        write(&mut c, 1, value).expect("write");
        let stamps = c.commit().expect("commit");
        let (begin, commit) = (stamps.begin.expect("a begin"), stamps.commit.expect("a commit"));
        assert!(last <= begin && begin <= commit && commit <= now(), "{last} {stamps:?}");
        last = commit;
    }
    c.begin().expect("begin");
    read(&mut c, 1);
    let stamps = c.commit().expect("commit");
    assert!(stamps.begin.is_some() && stamps.commit.is_none(), "nothing was written: {stamps:?}");
}

/// `guest` is the user that the conformance suite created.
fn a_commit_without_a_timestamp_is_a_commit(url: &str) {
    let place = url.rsplit_once('@').expect("a place").1;
    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    run(&mut c, "GRANT ALL ON t TO guest", &[]);
    run(&mut c, "REVOKE EXECUTE ON FUNCTION pg_xact_commit_timestamp(xid) FROM PUBLIC", &[]);
    let mut guest = connect(&*open(&format!("postgres://guest:g@{place}"), None));
    guest.begin().expect("begin");
    write(&mut guest, 1, 9).expect("write");
    let stamps = guest.commit().expect("committed, although its timestamp cannot be read");
    assert_eq!(stamps.commit, None);
    assert_eq!(read(&mut c, 1), Scalar::Int(9));
    guest.begin().expect("begin");
    assert_eq!(read(&mut guest, 1), Scalar::Int(9), "the connection is usable");
    guest.rollback().expect("rollback");
    run(&mut c, "GRANT EXECUTE ON FUNCTION pg_xact_commit_timestamp(xid) TO PUBLIC", &[]);
}

fn sleeps_in_commit(c: &mut Conn) {
    run(c, "DROP TABLE IF EXISTS slow", &[]);
    run(c, "CREATE TABLE slow (k INT)", &[]);
    run(
        c,
        "CREATE OR REPLACE FUNCTION doze() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN PERFORM pg_sleep(20); RETURN NULL; END $$",
        &[],
    );
    run(
        c,
        "CREATE CONSTRAINT TRIGGER dozes AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED \
         FOR EACH ROW EXECUTE FUNCTION doze()",
        &[],
    );
}

fn killed_during_commit(url: &str) {
    let database = open_with(url, None, &patient());
    let mut control = control(&*database);
    let mut c = connect(&*database);
    sleeps_in_commit(&mut c);
    let id = c.id().expect("an id");
    c.begin().expect("begin");
    run(&mut c, "INSERT INTO slow VALUES (1)", &[]);
    let (result, ()) = meanwhile(
        &mut c,
        |c| c.commit(),
        || {
            thread::sleep(Duration::from_millis(200));
            control.kill(id).expect("killed");
        },
    );
    fails(result, Class::Connection);
    let mut c = connect(&*database);
    assert_eq!(rows(&mut c, "SELECT * FROM slow", &[]).len(), 0);
}

//! PostgreSQL.

use std::io::Write as _;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use isoscope_record::{Class, Options, Scalar, ServerKind, Vendor, isolations};

use crate::certificates::Certificates;
use crate::support::{
    Conn, connect, control, deadlock, elsewhere, fails, impatient, meanwhile, one, open, open_with, patient,
    read, refusal, rows, run, start, try_run, two_rows, waiting, write,
};

#[test]
fn postgres() {
    let certificates = Certificates::make("postgres");
    let server = start(ServerKind::Postgres, &certificates.postgres_settings());
    let url = server.url();
    let database = open(&url, None);
    assert_eq!(database.vendor(), Vendor::Postgres);
    assert!(database.version().starts_with("PostgreSQL 1"), "{}", database.version());

    values(&url);
    counts(&url);
    levels(&url);
    serialization(&url);
    deadlocks_and_lock_timeouts(&url);
    constraints(&url);
    failed_transactions_do_not_commit(&url);
    inserts_look_past_the_snapshot(&url);
    savepoints(&url);
    changed_tables(&url);
    limits(&url);
    refusals(&url);
    timestamps(&url);
    a_commit_is_one_whatever_comes_after(&url);
    waiting(&url);
    killed(&url);
    encryption(&url, &certificates);
    let directory = certificates.directory().display();
    let mut c = connect(&*open(&format!("{url}?host={directory}"), None));
    assert_eq!(one(&mut c, "SELECT inet_server_addr() IS NULL"), Scalar::Bool(true), "by a socket");
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

fn text(text: &str) -> Scalar {
    Scalar::from(text)
}

fn values(url: &str) {
    let mut c = connect(&*open(url, None));
    run(&mut c, "CREATE TYPE mood AS ENUM ('sad', 'ok')", &[]);
    run(
        &mut c,
        "CREATE TABLE v (a int2, b int4, c int8, d text, e varchar(9), f bool, g float4, h float8, i numeric(20,5), \
         j date, k timestamp, l timestamptz, m uuid, n json, o jsonb, p bytea, q int4[], r text[], s mood, t char(3))",
        &[],
    );
    let given = [
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
    ];
    let marks = vec!["?"; given.len()].join(", ");
    assert_eq!(run(&mut c, &format!("INSERT INTO v VALUES ({marks})"), &given), 1);
    let mut expected = given.to_vec();
    expected[4] = text("12");
    expected[8] = text("-123456789012.34560");
    expected[11] = text("2024-02-29 10:34:56+00");
    expected[19] = text("ab ");
    assert_eq!(rows(&mut c, "SELECT * FROM v", &[]), [expected]);

    let nulls = vec![Scalar::Null; given.len()];
    run(&mut c, &format!("INSERT INTO v VALUES ({marks})"), &nulls);
    assert_eq!(rows(&mut c, "SELECT * FROM v WHERE a IS NULL", &[]), [nulls]);

    // A parameter is of the type the server wants it to be.
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
    assert_eq!(rows(&mut c, "SELECT 1 WHERE false", &[]).len(), 0);
    fails(try_run(&mut c, "SELECT ?::int4", &[Scalar::Int(1 << 40)]), Class::Other);
    fails(try_run(&mut c, "SELECT ?::int4", &[]), Class::Other);
    fails(try_run(&mut c, "SELEKT", &[]), Class::Other);

    // What cannot be read is refused before it does anything, and the transaction goes on.
    c.begin().expect("begin");
    let failure =
        fails(try_run(&mut c, "INSERT INTO v (a) VALUES (99) RETURNING point(1, 2)", &[]), Class::Other);
    assert!(failure.message.contains("point"), "{failure}");
    assert_eq!(rows(&mut c, "SELECT 1 FROM v WHERE a = 99", &[]).len(), 0);
    c.commit().expect("commit");
}

fn counts(url: &str) {
    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    assert_eq!(run(&mut c, "UPDATE t SET v = 0", &[]), 2, "rows found, changed or not");
    assert_eq!(run(&mut c, "UPDATE t SET v = 1 WHERE k = ?", &[Scalar::Int(3)]), 0);
    assert_eq!(run(&mut c, "DELETE FROM t WHERE k = 2", &[]), 1);
    assert_eq!(rows(&mut c, "UPDATE t SET v = 5 RETURNING k", &[]), [[Scalar::Int(1)]]);
}

fn levels(url: &str) {
    for row in isolations(Vendor::Postgres) {
        let database = open(url, Some(row.sql));
        assert_eq!(database.isolation(), Some(row));
        let mut c = connect(&*database);
        let expected = text(&row.sql.to_lowercase());
        assert_eq!(one(&mut c, "SHOW transaction_isolation"), expected, "outside a transaction");
        c.begin().expect("begin");
        assert_eq!(one(&mut c, "SHOW transaction_isolation"), expected);
        c.rollback().expect("rollback");
    }
    assert_eq!(open(url, None).isolation().map(|row| row.name), Some("read-committed"));
}

fn serialization(url: &str) {
    let database = open(url, Some("rr"));
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    two_rows(&mut a);
    a.begin().expect("begin");
    b.begin().expect("begin");
    assert_eq!(read(&mut a, 1), read(&mut b, 1));
    write(&mut a, 1, 1).expect("write");
    a.commit().expect("commit");
    assert_eq!(fails(write(&mut b, 1, 2), Class::Serialization).code.as_deref(), Some("40001"));
    b.rollback().expect("rollback");

    // At the commit: each reads what the other writes, and whoever commits second fails.
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
    b.rollback().expect("a rollback of what is over");
    assert_eq!((read(&mut b, 1), read(&mut b, 2)), (Scalar::Int(0), Scalar::Int(1)));
    b.begin().expect("begin");
    b.commit().expect("the connection is as good as new");
}

fn deadlocks_and_lock_timeouts(url: &str) {
    let database = open_with(url, None, &patient());
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    two_rows(&mut a);
    let (_, failure) = deadlock(&mut a, &mut b);
    assert_eq!((failure.class, failure.code.as_deref()), (Class::Deadlock, Some("40P01")));
    a.rollback().expect("rollback");
    b.rollback().expect("rollback");

    let mut b = connect(&*open_with(url, None, &impatient()));
    a.begin().expect("begin");
    write(&mut a, 1, 1).expect("write");
    b.begin().expect("begin");
    assert_eq!(fails(write(&mut b, 1, 2), Class::LockTimeout).code.as_deref(), Some("55P03"));
    b.rollback().expect("rollback");
    a.commit().expect("commit");
}

fn constraints(url: &str) {
    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    fails(try_run(&mut c, "INSERT INTO t VALUES (1, 1)", &[]), Class::Constraint);
    fails(try_run(&mut c, "INSERT INTO t VALUES (3, NULL)", &[]), Class::Constraint);
    // Looked at only when the transaction commits.
    run(&mut c, "CREATE TABLE late (k INT REFERENCES t DEFERRABLE INITIALLY DEFERRED)", &[]);
    c.begin().expect("begin");
    run(&mut c, "INSERT INTO late VALUES (77)", &[]);
    fails(c.commit(), Class::Constraint);
    assert_eq!(rows(&mut c, "SELECT * FROM late", &[]).len(), 0);
    run(&mut c, "DROP TABLE late", &[]);
}

pub(crate) fn failed_transactions_do_not_commit(url: &str) {
    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    c.begin().expect("begin");
    write(&mut c, 1, 1).expect("write");
    fails(try_run(&mut c, "SELECT 1/0", &[]), Class::Other);
    fails(try_run(&mut c, "SELECT 1", &[]), Class::RolledBack);
    fails(c.commit(), Class::RolledBack);
    assert_eq!(read(&mut c, 1), Scalar::Int(0), "nothing happened");
    c.begin().expect("begin");
    write(&mut c, 1, 2).expect("write");
    c.commit().expect("commit");
    assert_eq!(read(&mut c, 1), Scalar::Int(2));
}

/// Why repeatable read promises less of rows that come and go: INSERT does not look at the snapshot, and then one key is
/// there twice.
fn inserts_look_past_the_snapshot(url: &str) {
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

fn limits(url: &str) {
    let options = Options { statement_limit: Duration::from_millis(500), ..Options::default() };
    let mut c = connect(&*open_with(url, None, &options));
    let failure = fails(try_run(&mut c, "SELECT pg_sleep(20)", &[]), Class::Other);
    assert_eq!(failure.code.as_deref(), Some("57014"));
    assert_eq!(one(&mut c, "SELECT 1"), Scalar::Int(1));
}

fn refusals(url: &str) {
    let place = url.rsplit_once('@').expect("a place").1;
    let options = Options::default();
    let failure = refusal(&format!("postgres://postgres:secret@{place}"), &options);
    assert_eq!((failure.class, failure.code.as_deref()), (Class::Denied, Some("28P01")));
    assert!(!failure.message.contains("secret"), "{failure}");
    let failure = refusal(&elsewhere(url), &options);
    assert_eq!((failure.class, failure.code.as_deref()), (Class::Other, Some("3D000")));
    assert!(failure.message.contains("nowhere") && failure.message.contains("127.0.0.1"), "{failure}");
    // Port 1 is for a service that has not been seen for decades.
    let failure = refusal("postgres://postgres@127.0.0.1:1/x", &options);
    assert_eq!(failure.class, Class::Connection);
    assert!(failure.message.contains("127.0.0.1:1") && failure.message.contains("refused"), "{failure}");
    let failure = refusal("postgres://postgres@no-such-host.invalid/x", &options);
    assert_eq!(failure.class, Class::Connection);
    let failure = refusal(&format!("postgres://postgres@{place}"), &options);
    assert_eq!(failure.class, Class::Denied, "{failure}");

    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    run(&mut c, "CREATE ROLE guest LOGIN PASSWORD 'g'", &[]);
    let mut guest = connect(&*open(&format!("postgres://guest:g@{place}"), None));
    fails(try_run(&mut guest, "SELECT * FROM t", &[]), Class::Denied);
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

fn a_commit_is_one_whatever_comes_after(url: &str) {
    let place = url.rsplit_once('@').expect("a place").1;
    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    run(&mut c, "GRANT ALL ON t TO guest", &[]);
    run(&mut c, "REVOKE EXECUTE ON FUNCTION pg_xact_commit_timestamp(xid) FROM PUBLIC", &[]);
    let mut guest = connect(&*open(&format!("postgres://guest:g@{place}"), None));
    guest.begin().expect("begin");
    write(&mut guest, 1, 9).expect("write");
    let stamps = guest.commit().expect("committed, although its time cannot be had");
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

fn killed(url: &str) {
    let database = open_with(url, None, &patient());
    let mut control = control(&*database);
    let soon = Duration::from_millis(200);

    // During a statement.
    let mut c = connect(&*database);
    let id = c.id().expect("an id");
    c.begin().expect("begin");
    let (result, ()) = meanwhile(
        &mut c,
        |c| try_run(c, "SELECT pg_sleep(20)", &[]),
        || {
            thread::sleep(soon);
            control.kill(id).expect("killed");
        },
    );
    fails(result, Class::Connection);
    fails(c.rollback(), Class::Connection);
    fails(c.begin(), Class::Connection);

    // Between statements: the next one finds out, also when it is a commit.
    let mut c = connect(&*database);
    c.begin().expect("begin");
    run(&mut c, "CREATE TABLE ghost (k INT)", &[]);
    control.kill(c.id().expect("an id")).expect("killed");
    thread::sleep(soon);
    fails(c.commit(), Class::Connection);

    // During a commit.
    let mut c = connect(&*database);
    sleeps_in_commit(&mut c);
    let id = c.id().expect("an id");
    c.begin().expect("begin");
    run(&mut c, "INSERT INTO slow VALUES (1)", &[]);
    let (result, ()) = meanwhile(
        &mut c,
        |c| c.commit(),
        || {
            thread::sleep(soon);
            control.kill(id).expect("killed");
        },
    );
    fails(result, Class::Connection);
    control.kill(id).expect("that it is gone already is no error");
    let mut c = connect(&*database);
    assert_eq!(rows(&mut c, "SELECT * FROM slow", &[]).len(), 0);
}

fn encryption(url: &str, certificates: &Certificates) {
    let is_encrypted = |params: &str| {
        let mut c = connect(&*open(&format!("{url}?{params}"), None));
        one(&mut c, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()") == Scalar::Bool(true)
    };
    let (root, stranger) = (certificates.root(), certificates.stranger());
    assert!(!is_encrypted("sslmode=disable"));
    assert!(is_encrypted("sslmode=prefer"));
    assert!(is_encrypted("sslmode=require"));
    assert!(is_encrypted(&format!("sslmode=require&sslrootcert={root}")));
    assert!(is_encrypted(&format!("sslmode=verify-ca&sslrootcert={root}")));
    let named = url.replace("127.0.0.1", "localhost");
    let mut c = connect(&*open(&format!("{named}?sslmode=verify-full&sslrootcert={root}"), None));
    assert_eq!(one(&mut c, "SELECT 1"), Scalar::Int(1));
    // The certificate is for localhost and not for the address, and another root did not sign it.
    let options = Options::default();
    for params in [
        format!("sslmode=verify-full&sslrootcert={root}"),
        format!("sslmode=verify-ca&sslrootcert={stranger}"),
        format!("sslmode=require&sslrootcert={stranger}"),
    ] {
        let failure = refusal(&format!("{url}?{params}"), &options);
        assert_eq!(failure.class, Class::Connection, "{params}: {failure}");
        assert!(failure.message.contains("certificate"), "{params}: {failure}");
    }
}

//! MariaDB.

use isoscope_record::{Class, Scalar, ServerKind, Vendor};

use crate::certificates::Certificates;
use crate::conformance::{Driver, Encryption, Remote, Values, stale_snapshots_cannot_write};
use crate::support::{
    connect, control, fails, impatient, meanwhile, one, open, open_with, patient, read, rows, run, start,
    text, try_run, two_rows, until_waiting, write,
};

#[test]
fn mariadb() {
    let certificates = Certificates::make("root");
    let server = start(ServerKind::MariaDb, &certificates.mariadb_settings());
    let url = server.url();
    // The vendor is the server's answer, not the scheme of the URL.
    assert_eq!(open(&url.replace("mariadb:", "mysql:"), None).vendor(), Vendor::MariaDb);
    let (root, stranger) = (certificates.root(), certificates.stranger());
    Driver {
        url: &url,
        vendor: Vendor::MariaDb,
        version: "MariaDB 1",
        values: values(),
        default_isolation: "repeatable-read",
        isolation: Some(|c| match one(c, "SELECT @@tx_isolation") {
            Scalar::Text(name) => name.to_lowercase(),
            other => panic!("{other:?}"),
        }),
        duplicate_key: "1062",
        lock_timeout: "1205",
        server: Some(Remote {
            scheme: "mysql",
            user: "isoscope",
            create_guest: &[
                "CREATE USER guest@'%' IDENTIFIED BY 'g'",
                "GRANT CREATE ON isoscope.* TO guest@'%'",
            ],
            deadlock: "1213",
            wrong_password: "1045",
            unknown_database: "1049",
            count_connections: "SELECT COUNT(*) FROM information_schema.processlist WHERE id =",
            sleep: "SELECT SLEEP(20)",
            slow: ("SELECT COUNT(*) FROM seq_1_to_1000000000 WHERE SLEEP(1)", "1969"),
            encryption: Encryption {
                is_encrypted: |c| rows(c, "SHOW STATUS LIKE 'Ssl_cipher'", &[])[0][1] != text(""),
                plain: &["ssl-mode=disabled"],
                encrypted: &[
                    "ssl-mode=preferred",
                    "ssl-mode=required",
                    &format!("ssl-mode=verify-ca&ssl-ca={root}"),
                ],
                verify_name: &format!("ssl-mode=verify-identity&ssl-ca={root}"),
                refused: &[&format!("ssl-mode=verify-ca&ssl-ca={stranger}"), "ssl-mode=verify-ca"],
            },
        }),
    }
    .conform();

    spellings(&url);
    foreign_keys(&url);
    computed_writes_bypass_the_snapshot(&url);
    client_side_writes_keep_the_snapshot(&url);
    a_lock_timeout_undoes_only_its_statement(&url);
    waiting_is_current(&url);
    waiting_for_a_table(&url);
    snapshot_isolation(&url);
    let socket = server.directory().join("s");
    let mut c = connect(&*open(&format!("{url}?socket={}", socket.display()), None));
    let host = one(&mut c, "SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()");
    assert_eq!(host, text("localhost"), "by a socket");
}

fn values() -> Values {
    Values {
        create: &[
            "CREATE TABLE v (a TINYINT, b SMALLINT, c INT, d BIGINT, e BIGINT UNSIGNED, f BOOL, g FLOAT, h DOUBLE, \
         i DECIMAL(20,5), j VARCHAR(20), k TEXT, l DATE, m DATETIME(6), n TIME, o BLOB, p BIT(9), q CHAR(3), r YEAR)",
        ],
        given: vec![
            Scalar::Int(-7),
            Scalar::Int(-300),
            Scalar::Int(2_000_000_000),
            Scalar::Int(i64::MIN),
            text("18446744073709551615"),
            Scalar::Bool(true),
            Scalar::Float(0.5),
            Scalar::Float(-1.0e300),
            text("-123456789012.3456"),
            Scalar::Int(12),
            text("it's ? \"ü\" :name"),
            text("2024-02-29"),
            text("2024-02-29 12:34:56.789"),
            text("-100:00:01"),
            text("plain"),
            Scalar::Int(257),
            text("ab"),
            Scalar::Int(1999),
        ],
        changed: vec![
            (5, Scalar::Int(1)),
            (8, text("-123456789012.34560")),
            (9, text("12")),
            (12, text("2024-02-29 12:34:56.789000")),
        ],
    }
}

fn foreign_keys(url: &str) {
    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    run(&mut c, "CREATE TABLE late (k INT, FOREIGN KEY (k) REFERENCES t (k))", &[]);
    fails(try_run(&mut c, "INSERT INTO late VALUES (7)", &[]), Class::Constraint);
    run(&mut c, "DROP TABLE late", &[]);
}

/// Values and statements with more than one spelling. The conformance suite created the table.
fn spellings(url: &str) {
    let mut c = connect(&*open(url, None));
    run(&mut c, "INSERT INTO v (o) VALUES (x'00ff')", &[]);
    assert_eq!(one(&mut c, "SELECT o FROM v WHERE o = x'00ff'"), text("\\x00ff"));
    assert_eq!(rows(&mut c, "SELECT ? || '?'", &[text("!")]).len(), 1);
    assert_eq!(rows(&mut c, "SELECT c FROM v WHERE c = ?", &[text("2000000000")]).len(), 1);
    // MariaDB cannot prepare these statements; the driver sends them as text.
    run(&mut c, "LOCK TABLES v READ", &[]);
    run(&mut c, "UNLOCK TABLES", &[]);
}

/// Why repeatable read promises computed writes only adya-pl-2: a read can return an older state than an earlier read.
fn computed_writes_bypass_the_snapshot(url: &str) {
    let database = open(url, Some("repeatable-read"));
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    two_rows(&mut a);
    a.begin().expect("begin");
    assert_eq!(read(&mut a, 1), Scalar::Int(0));
    b.begin().expect("begin");
    write(&mut b, 1, 10).expect("write");
    write(&mut b, 2, 10).expect("write");
    b.commit().expect("commit");
    run(&mut a, "UPDATE t SET v = v + 1 WHERE k = 2", &[]);
    assert_eq!(read(&mut a, 2), Scalar::Int(11), "the other transaction is visible");
    assert_eq!(read(&mut a, 1), Scalar::Int(0), "and here it is not");
    a.commit().expect("commit");
}

/// Why repeatable read promises registers more than that, but not snapshot isolation.
fn client_side_writes_keep_the_snapshot(url: &str) {
    let database = open(url, Some("repeatable-read"));
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    two_rows(&mut a);
    a.begin().expect("begin");
    assert_eq!(read(&mut a, 2), Scalar::Int(0));
    b.begin().expect("begin");
    write(&mut b, 1, 10).expect("write");
    write(&mut b, 2, 10).expect("write");
    b.commit().expect("commit");
    write(&mut a, 2, 5).expect("accepted: the other update is lost");
    assert_eq!((read(&mut a, 1), read(&mut a, 2)), (Scalar::Int(0), Scalar::Int(5)));
    a.commit().expect("commit");
    assert_eq!((read(&mut a, 1), read(&mut a, 2)), (Scalar::Int(10), Scalar::Int(5)));
}

fn a_lock_timeout_undoes_only_its_statement(url: &str) {
    let database = open_with(url, None, &impatient());
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    two_rows(&mut a);
    a.begin().expect("begin");
    write(&mut a, 1, 1).expect("write");
    b.begin().expect("begin");
    write(&mut b, 2, 2).expect("write");
    fails(write(&mut b, 1, 2), Class::LockTimeout);
    assert_eq!(read(&mut b, 2), Scalar::Int(2), "the earlier write is still there");
    b.rollback().expect("rollback");
    a.commit().expect("commit");
    assert_eq!((read(&mut b, 1), read(&mut b, 2)), (Scalar::Int(1), Scalar::Int(0)));
}

/// The server caches its list of lock waits. Every answer must be current, also when the driver asks in quick succession.
fn waiting_is_current(url: &str) {
    let database = open_with(url, None, &patient());
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    let mut control = control(&*database);
    two_rows(&mut a);
    let id = b.id().expect("an id");
    for round in 0..8 {
        a.begin().expect("begin");
        write(&mut a, 1, round).expect("write");
        let (result, ()) = meanwhile(
            &mut b,
            |b| write(b, 1, round),
            || {
                until_waiting(&mut control, id, true);
                a.commit().expect("commit");
            },
        );
        result.expect("it got the lock");
        assert!(
            !control.is_waiting(id).expect("an answer"),
            "its statement has returned, so it does not wait"
        );
    }
}

fn waiting_for_a_table(url: &str) {
    let database = open_with(url, None, &patient());
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    let mut control = control(&*database);
    two_rows(&mut a);
    let id = b.id().expect("an id");
    a.begin().expect("begin");
    read(&mut a, 1);
    let (result, ()) = meanwhile(
        &mut b,
        |b| try_run(b, "ALTER TABLE t ADD COLUMN w INT", &[]),
        || {
            until_waiting(&mut control, id, true);
            a.commit().expect("commit");
        },
    );
    result.expect("it got the lock");
}

fn snapshot_isolation(url: &str) {
    let mut c = connect(&*open(url, None));
    run(&mut c, "SET GLOBAL innodb_snapshot_isolation = ON", &[]);
    let database = open(url, Some("repeatable-read"));
    assert_eq!(database.isolation().and_then(|row| row.setting), Some("innodb_snapshot_isolation=ON"));
    stale_snapshots_cannot_write(url, "repeatable-read", "1020");

    // The failure rolls back the whole transaction.
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    two_rows(&mut a);
    a.begin().expect("begin");
    b.begin().expect("begin");
    assert_eq!(read(&mut a, 1), read(&mut b, 1));
    write(&mut b, 2, 5).expect("write");
    write(&mut a, 1, 1).expect("write");
    a.commit().expect("commit");
    fails(write(&mut b, 1, 2), Class::Serialization);
    fails(b.commit(), Class::RolledBack);
    b.rollback().expect("rollback");
    assert_eq!((read(&mut a, 1), read(&mut a, 2)), (Scalar::Int(1), Scalar::Int(0)));
}

//! MariaDB.

use std::thread;
use std::time::Duration;

use isoscope_record::{Class, Options, Scalar, ServerKind, Vendor, isolations};

use crate::certificates::Certificates;
use crate::support::{
    connect, control, deadlock, elsewhere, fails, impatient, meanwhile, one, open, open_with, patient, read,
    refusal, rows, run, start, try_run, two_rows, until_waiting, waiting, write,
};

#[test]
fn mariadb() {
    let certificates = Certificates::make("root");
    let server = start(ServerKind::MariaDb, &certificates.mariadb_settings());
    let url = server.url();
    // Whatever the URL calls it.
    let database = open(&url.replace("mariadb:", "mysql:"), None);
    assert_eq!(database.vendor(), Vendor::MariaDb);
    assert!(database.version().starts_with("MariaDB 1"), "{}", database.version());

    values(&url);
    counts(&url);
    levels(&url);
    computed_writes_show_through(&url);
    client_side_writes_keep_the_snapshot(&url);
    deadlocks(&url);
    lock_timeouts(&url);
    constraints(&url);
    limits(&url);
    refusals(&url);
    waiting(&url);
    waiting_again_and_again(&url);
    waiting_for_a_table(&url);
    killed(&url);
    encryption(&url, &certificates);
    snapshot_isolation(&url);
    let socket = server.directory().join("s");
    let mut c = connect(&*open(&format!("{url}?socket={}", socket.display()), None));
    let host = one(&mut c, "SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()");
    assert_eq!(host, text("localhost"), "by a socket");
}

fn text(text: &str) -> Scalar {
    Scalar::from(text)
}

fn values(url: &str) {
    let mut c = connect(&*open(url, None));
    run(
        &mut c,
        "CREATE TABLE v (a TINYINT, b SMALLINT, c INT, d BIGINT, e BIGINT UNSIGNED, f BOOL, g FLOAT, h DOUBLE, \
         i DECIMAL(20,5), j VARCHAR(20), k TEXT, l DATE, m DATETIME(6), n TIME, o BLOB, p BIT(9), q CHAR(3), r YEAR)",
        &[],
    );
    let given = [
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
    ];
    let marks = vec!["?"; given.len()].join(", ");
    assert_eq!(run(&mut c, &format!("INSERT INTO v VALUES ({marks})"), &given), 1);
    let mut expected = given.to_vec();
    expected[5] = Scalar::Int(1);
    expected[8] = text("-123456789012.34560");
    expected[9] = text("12");
    expected[12] = text("2024-02-29 12:34:56.789000");
    assert_eq!(rows(&mut c, "SELECT * FROM v", &[]), [expected]);
    let nulls = vec![Scalar::Null; given.len()];
    run(&mut c, &format!("INSERT INTO v VALUES ({marks})"), &nulls);
    assert_eq!(rows(&mut c, "SELECT * FROM v WHERE a IS NULL", &[]), [nulls]);
    run(&mut c, "INSERT INTO v (o) VALUES (x'00ff')", &[]);
    assert_eq!(one(&mut c, "SELECT o FROM v WHERE o = x'00ff'"), text("\\x00ff"));
    assert_eq!(rows(&mut c, "SELECT ? || '?'", &[text("!")]).len(), 1);
    assert_eq!(rows(&mut c, "SELECT c FROM v WHERE c = ?", &[text("2000000000")]).len(), 1);
    assert_eq!(rows(&mut c, "SELECT 1 FROM v WHERE FALSE", &[]).len(), 0);
    fails(try_run(&mut c, "SELEKT", &[]), Class::Other);
    fails(try_run(&mut c, "SELECT ?", &[]), Class::Other);
    // Not every statement can be prepared; the others are run all the same.
    run(&mut c, "LOCK TABLES v READ", &[]);
    run(&mut c, "UNLOCK TABLES", &[]);
}

fn counts(url: &str) {
    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    assert_eq!(run(&mut c, "UPDATE t SET v = 0", &[]), 2, "rows found, changed or not");
    assert_eq!(run(&mut c, "UPDATE t SET v = 1 WHERE k = ?", &[Scalar::Int(3)]), 0);
    assert_eq!(run(&mut c, "DELETE FROM t WHERE k = 2", &[]), 1);
}

fn levels(url: &str) {
    for row in isolations(Vendor::MariaDb).iter().filter(|row| row.setting.is_none()) {
        let database = open(url, Some(row.name));
        assert_eq!(database.isolation(), Some(row));
        let mut c = connect(&*database);
        c.begin().expect("begin");
        assert_eq!(one(&mut c, "SELECT @@tx_isolation"), text(&row.sql.replace(' ', "-")));
        c.rollback().expect("rollback");
    }
    assert_eq!(open(url, None).isolation().map(|row| row.name), Some("repeatable-read"));
}

/// Why repeatable read promises computed writes no more than adya-pl-2: a read goes back behind an earlier one.
fn computed_writes_show_through(url: &str) {
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
    assert_eq!(read(&mut a, 2), Scalar::Int(11), "what the other wrote");
    assert_eq!(read(&mut a, 1), Scalar::Int(0), "and what it had not written yet");
    a.commit().expect("commit");
}

/// And why it promises more to registers, and yet no snapshot isolation.
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
    write(&mut a, 2, 5).expect("an update is lost");
    assert_eq!((read(&mut a, 1), read(&mut a, 2)), (Scalar::Int(0), Scalar::Int(5)));
    a.commit().expect("commit");
    assert_eq!((read(&mut a, 1), read(&mut a, 2)), (Scalar::Int(10), Scalar::Int(5)));
}

fn deadlocks(url: &str) {
    let database = open_with(url, None, &patient());
    let mut pair = [connect(&*database), connect(&*database)];
    two_rows(&mut pair[0]);
    let [a, b] = &mut pair;
    let (victim, failure) = deadlock(a, b);
    assert_eq!((failure.class, failure.code.as_deref()), (Class::Deadlock, Some("1213")));
    let c = &mut pair[victim];
    // It is over in the server, and a statement would commit on its own.
    fails(write(c, 1, 99), Class::RolledBack);
    fails(c.commit(), Class::RolledBack);
    c.rollback().expect("rollback");
    let other = &mut pair[1 - victim];
    other.commit().expect("commit");
    let (first, second) = (read(other, 1), read(other, 2));
    let expected = if victim == 0 { (21, 20) } else { (10, 11) };
    assert_eq!((first, second), (Scalar::Int(expected.0), Scalar::Int(expected.1)));
}

fn lock_timeouts(url: &str) {
    let database = open_with(url, None, &impatient());
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    two_rows(&mut a);
    a.begin().expect("begin");
    write(&mut a, 1, 1).expect("write");
    b.begin().expect("begin");
    write(&mut b, 2, 2).expect("write");
    assert_eq!(fails(write(&mut b, 1, 2), Class::LockTimeout).code.as_deref(), Some("1205"));
    assert_eq!(read(&mut b, 2), Scalar::Int(2), "only the statement was taken back");
    b.rollback().expect("rollback");
    a.commit().expect("commit");
    assert_eq!((read(&mut b, 1), read(&mut b, 2)), (Scalar::Int(1), Scalar::Int(0)));
}

fn constraints(url: &str) {
    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    assert_eq!(
        fails(try_run(&mut c, "INSERT INTO t VALUES (1, 1)", &[]), Class::Constraint).code.as_deref(),
        Some("1062")
    );
    fails(try_run(&mut c, "INSERT INTO t VALUES (3, NULL)", &[]), Class::Constraint);
    run(&mut c, "CREATE TABLE late (k INT, FOREIGN KEY (k) REFERENCES t (k), CHECK (k < 9))", &[]);
    fails(try_run(&mut c, "INSERT INTO late VALUES (7)", &[]), Class::Constraint);
    fails(try_run(&mut c, "INSERT INTO late VALUES (11)", &[]), Class::Constraint);
    run(&mut c, "DROP TABLE late", &[]);
}

fn limits(url: &str) {
    let options = Options { statement_limit: Duration::from_millis(500), ..Options::default() };
    let mut c = connect(&*open_with(url, None, &options));
    fails(try_run(&mut c, "SELECT COUNT(*) FROM seq_1_to_1000000000 WHERE SLEEP(1)", &[]), Class::Other);
    assert_eq!(one(&mut c, "SELECT 1"), Scalar::Int(1));
}

fn refusals(url: &str) {
    let place = url.rsplit_once('@').expect("a place").1;
    let options = Options::default();
    let failure = refusal(&format!("mysql://isoscope:secret@{place}"), &options);
    assert_eq!((failure.class, failure.code.as_deref()), (Class::Denied, Some("1045")));
    assert!(!failure.message.contains("secret") && failure.message.contains("\"isoscope\""), "{failure}");
    for user in ["root@", "", ":x@", "nobody:x@"] {
        assert_eq!(refusal(&format!("mysql://{user}{place}"), &options).class, Class::Denied, "{user}");
    }
    let failure = refusal(&elsewhere(url), &options);
    assert!(failure.class == Class::Other && failure.message.contains("nowhere"), "{failure}");
    let failure = refusal("mysql://root@127.0.0.1:1/x", &options);
    assert!(failure.class == Class::Connection && failure.message.contains("127.0.0.1:1"), "{failure}");
    assert_eq!(refusal("mysql://root@no-such-host.invalid/x", &options).class, Class::Connection);

    let mut c = connect(&*open(url, None));
    two_rows(&mut c);
    run(&mut c, "CREATE USER guest@'%' IDENTIFIED BY 'g'", &[]);
    run(&mut c, "GRANT CREATE ON isoscope.* TO guest@'%'", &[]);
    let mut guest = connect(&*open(&format!("mysql://guest:g@{place}"), None));
    fails(try_run(&mut guest, "SELECT * FROM t", &[]), Class::Denied);
}

/// Who looks often must not see the past: an answer is right at once, again and again.
fn waiting_again_and_again(url: &str) {
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
        assert!(!control.is_waiting(id).expect("an answer"), "it has been answered, so it does not wait");
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

fn killed(url: &str) {
    let database = open_with(url, None, &patient());
    let mut control = control(&*database);
    let soon = Duration::from_millis(200);

    let mut c = connect(&*database);
    let id = c.id().expect("an id");
    c.begin().expect("begin");
    let (result, ()) = meanwhile(
        &mut c,
        |c| try_run(c, "SELECT SLEEP(20)", &[]),
        || {
            thread::sleep(soon);
            control.kill(id).expect("killed");
        },
    );
    fails(result, Class::Connection);
    fails(c.rollback(), Class::Connection);
    fails(c.begin(), Class::Connection);

    // While it waits for a lock.
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    two_rows(&mut a);
    a.begin().expect("begin");
    write(&mut a, 1, 1).expect("write");
    let id = b.id().expect("an id");
    let (result, ()) = meanwhile(
        &mut b,
        |b| write(b, 1, 2),
        || {
            until_waiting(&mut control, id, true);
            control.kill(id).expect("killed");
        },
    );
    fails(result, Class::Connection);
    a.rollback().expect("rollback");

    // Between statements: the next one finds out, also when it is a commit.
    let mut c = connect(&*database);
    c.begin().expect("begin");
    write(&mut c, 1, 77).expect("write");
    let id = c.id().expect("an id");
    control.kill(id).expect("killed");
    thread::sleep(soon);
    fails(c.commit(), Class::Connection);
    control.kill(id).expect("that it is gone already is no error");
    assert_eq!(read(&mut a, 1), Scalar::Int(0));
}

fn encryption(url: &str, certificates: &Certificates) {
    let is_encrypted = |url: &str, params: &str| {
        let mut c = connect(&*open(&format!("{url}?{params}"), None));
        rows(&mut c, "SHOW STATUS LIKE 'Ssl_cipher'", &[])[0][1] != text("")
    };
    let (root, stranger) = (certificates.root(), certificates.stranger());
    let named = url.replace("127.0.0.1", "localhost");
    assert!(!is_encrypted(url, "ssl-mode=disabled"));
    assert!(is_encrypted(url, "ssl-mode=preferred"));
    assert!(is_encrypted(url, "ssl-mode=required"));
    assert!(is_encrypted(url, &format!("ssl-mode=verify-ca&ssl-ca={root}")));
    assert!(is_encrypted(&named, &format!("ssl-mode=verify-identity&ssl-ca={root}")));
    let options = Options::default();
    for params in [
        format!("ssl-mode=verify-identity&ssl-ca={root}"),
        format!("ssl-mode=verify-ca&ssl-ca={stranger}"),
        "ssl-mode=verify-ca".to_owned(),
    ] {
        let failure = refusal(&format!("{url}?{params}"), &options);
        assert_eq!(failure.class, Class::Connection, "{params}: {failure}");
    }
}

fn snapshot_isolation(url: &str) {
    let mut c = connect(&*open(url, None));
    run(&mut c, "SET GLOBAL innodb_snapshot_isolation = ON", &[]);
    let database = open(url, Some("repeatable-read"));
    assert_eq!(database.isolation().and_then(|row| row.setting), Some("innodb_snapshot_isolation=ON"));
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    two_rows(&mut a);
    a.begin().expect("begin");
    b.begin().expect("begin");
    assert_eq!(read(&mut a, 1), read(&mut b, 1));
    write(&mut b, 2, 5).expect("write");
    write(&mut a, 1, 1).expect("write");
    a.commit().expect("commit");
    assert_eq!(fails(write(&mut b, 1, 2), Class::Serialization).code.as_deref(), Some("1020"));
    fails(b.commit(), Class::RolledBack);
    b.rollback().expect("rollback");
    assert_eq!(
        (read(&mut a, 1), read(&mut a, 2)),
        (Scalar::Int(1), Scalar::Int(0)),
        "all of it was rolled back"
    );
}

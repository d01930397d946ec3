//! SQLite.

use std::fs;
use std::time::Duration;

use isoscope_record::{Class, Options, Scalar, Vendor};
use tempfile::TempDir;

use crate::support::{
    connect, fails, impatient, one, open, open_with, read, refusal, rows, run, try_run, two_rows, write,
};

fn impatient_url(params: &str) -> (TempDir, String) {
    let directory = TempDir::new().expect("a directory");
    let url = format!("sqlite:{}?{params}", directory.path().join("test.db").display());
    (directory, url)
}

#[test]
fn values_round_trip() {
    let database = open("sqlite:", None);
    assert_eq!(database.vendor(), Vendor::Sqlite);
    assert!(database.version().starts_with("SQLite 3."));
    assert!(database.control().expect("an answer").is_none());
    let mut c = connect(&*database);
    assert_eq!(c.id(), None);
    run(&mut c, "CREATE TABLE v (a INTEGER, b REAL, c TEXT, d BLOB, e, f NUMERIC)", &[]);
    let given = [
        Scalar::Int(i64::MIN),
        Scalar::Float(0.25),
        Scalar::from("it's ? ü"),
        Scalar::from("x"),
        Scalar::Bool(true),
        Scalar::from("12"),
    ];
    assert_eq!(run(&mut c, "INSERT INTO v VALUES (?, ?, ?, ?, ?, ?)", &given), 1);
    let mut expected = given.to_vec();
    expected[4] = Scalar::Int(1);
    expected[5] = Scalar::Int(12);
    assert_eq!(rows(&mut c, "SELECT * FROM v", &[]), [expected]);
    run(&mut c, "INSERT INTO v VALUES (?, ?, ?, ?, ?, ?)", &[const { Scalar::Null }; 6]);
    assert_eq!(rows(&mut c, "SELECT * FROM v WHERE a IS NULL", &[]), [[const { Scalar::Null }; 6]]);
    assert_eq!(one(&mut c, "SELECT x'00ff'"), Scalar::from("\\x00ff"));
    fails(try_run(&mut c, "SELEKT", &[]), Class::Other);
    fails(try_run(&mut c, "SELECT ?", &[]), Class::Other);
}

#[test]
fn rows_found_are_counted() {
    let database = open("sqlite:", None);
    let mut c = connect(&*database);
    two_rows(&mut c);
    assert_eq!(run(&mut c, "UPDATE t SET v = 0", &[]), 2, "rows found, changed or not");
    assert_eq!(run(&mut c, "CREATE TABLE u (k INT)", &[]), 0, "and not those of the statement before");
    assert_eq!(run(&mut c, "UPDATE t SET v = 1 WHERE k = ?", &[Scalar::Int(3)]), 0);
    assert_eq!(run(&mut c, "DELETE FROM t", &[]), 2);
}

#[test]
fn the_journal_and_the_lock_are_as_asked_for() {
    for (params, journal) in [("", "wal"), ("journal=wal", "wal"), ("journal=delete", "delete")] {
        let (_directory, url) = impatient_url(params);
        let mut c = connect(&*open(&url, None));
        assert_eq!(one(&mut c, "PRAGMA journal_mode"), Scalar::from(journal));
    }
    let (_directory, url) = impatient_url("transactions=immediate");
    let database = open_with(&url, None, &impatient());
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    a.begin().expect("begin");
    fails(b.begin(), Class::LockTimeout);
    a.commit().expect("commit");
    b.begin().expect("begin");
}

#[test]
fn an_old_snapshot_cannot_write() {
    let database = open_with("sqlite:", None, &impatient());
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    two_rows(&mut a);
    a.begin().expect("begin");
    b.begin().expect("begin");
    assert_eq!(read(&mut a, 1), read(&mut b, 1));
    write(&mut a, 1, 1).expect("write");
    fails(write(&mut b, 2, 2), Class::Busy);
    a.commit().expect("commit");
    fails(write(&mut b, 2, 2), Class::Serialization);
    assert_eq!(read(&mut b, 1), Scalar::Int(0), "it still reads from its snapshot");
    b.rollback().expect("rollback");
    assert_eq!(read(&mut b, 1), Scalar::Int(1));
}

#[test]
fn a_commit_that_finds_readers_did_not_happen() {
    let (_directory, url) = impatient_url("journal=delete");
    let options = Options { lock_limit: Duration::ZERO, ..Options::default() };
    let database = open_with(&url, Some("SERIALIZABLE"), &options);
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    two_rows(&mut a);
    b.begin().expect("begin");
    read(&mut b, 1);
    a.begin().expect("begin");
    write(&mut a, 1, 1).expect("write");
    fails(a.commit(), Class::Busy);
    b.commit().expect("commit");
    assert_eq!(read(&mut a, 1), Scalar::Int(0));
    a.rollback().expect("a rollback of what is over");
    a.begin().expect("begin");
    write(&mut a, 1, 2).expect("write");
    a.commit().expect("commit");
    assert_eq!(read(&mut b, 1), Scalar::Int(2));
}

#[test]
fn a_transaction_that_the_database_ended_goes_no_further() {
    let database = open("sqlite:", None);
    let mut c = connect(&*database);
    two_rows(&mut c);
    c.begin().expect("begin");
    write(&mut c, 1, 1).expect("write");
    // This conflict clause ends the whole transaction, as a full disk does.
    fails(try_run(&mut c, "INSERT OR ROLLBACK INTO t VALUES (1, 1)", &[]), Class::Constraint);
    fails(write(&mut c, 2, 2), Class::RolledBack);
    fails(c.commit(), Class::RolledBack);
    c.rollback().expect("rollback");
    assert_eq!((read(&mut c, 1), read(&mut c, 2)), (Scalar::Int(0), Scalar::Int(0)));
}

#[test]
fn files_that_cannot_be_opened() {
    let directory = TempDir::new().expect("a directory");
    let options = Options::default();
    let failure = refusal(&format!("sqlite:{}/no/such.db", directory.path().display()), &options);
    assert!(failure.message.contains("no/such.db"), "{failure}");
    let path = directory.path().join("text.db");
    fs::write(&path, "this is no database, however long one looks at it".repeat(100)).expect("a file");
    let failure = refusal(&path.display().to_string(), &options);
    assert!(failure.message.contains("not a database"), "{failure}");
    fails(
        try_run(&mut connect(&*open("sqlite:", None)), "INSERT INTO nothing VALUES (1)", &[]),
        Class::Other,
    );
}

#[test]
fn a_temporary_file_is_gone_afterwards() {
    let database = open("sqlite:", None);
    let mut c = connect(&*database);
    let list = rows(&mut c, "PRAGMA database_list", &[]);
    let Scalar::Text(path) = &list[0][2] else { panic!("no path: {list:?}") };
    assert!(fs::exists(path).expect("an answer"));
    drop(c);
    drop(database);
    assert!(!fs::exists(path).expect("an answer"));
}

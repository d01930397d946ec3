//! SQLite.

use std::fs;
use std::time::Duration;

use isoscope_record::{Class, Options, Scalar, Vendor};
use tempfile::TempDir;

use crate::conformance::{Driver, Values, failed_transactions_do_not_commit, stale_snapshots_cannot_write};
use crate::support::{
    connect, fails, impatient, one, open, open_with, read, refusal, rows, run, text, two_rows, write,
};

fn file_url(params: &str) -> (TempDir, String) {
    let directory = TempDir::new().expect("a directory");
    let url = format!("sqlite:{}?{params}", directory.path().join("test.db").display());
    (directory, url)
}

#[test]
fn sqlite() {
    let (_directory, url) = file_url("");
    let given = vec![
        Scalar::Int(i64::MIN),
        Scalar::Float(0.25),
        text("it's ? ü"),
        text("x"),
        Scalar::Bool(true),
        text("12"),
    ];
    Driver {
        url: &url,
        vendor: Vendor::Sqlite,
        version: "SQLite 3.",
        values: Values {
            create: &["CREATE TABLE v (a INTEGER, b REAL, c TEXT, d BLOB, e, f NUMERIC)"],
            given,
            changed: vec![(4, Scalar::Int(1)), (5, Scalar::Int(12))],
        },
        default_isolation: "serializable",
        isolation: None,
        duplicate_key: "1555",
        lock_timeout: "5",
        server: None,
    }
    .conform();
    stale_snapshots_cannot_write(&url, "serializable", "517");
    // This conflict clause ends the whole transaction, as a full disk does.
    failed_transactions_do_not_commit(&url, "INSERT OR ROLLBACK INTO t VALUES (1, 1)", Class::Constraint);
}

#[test]
fn blobs_are_hexadecimal() {
    let database = open("sqlite:", None);
    let mut c = connect(&*database);
    assert_eq!(one(&mut c, "SELECT x'00ff'"), text("\\x00ff"));
}

#[test]
fn an_unconditional_delete_counts_its_rows() {
    let database = open("sqlite:", None);
    let mut c = connect(&*database);
    two_rows(&mut c);
    assert_eq!(run(&mut c, "DELETE FROM t", &[]), 2);
}

#[test]
fn url_parameters_select_journal_and_lock() {
    for (params, journal) in [("", "wal"), ("journal=wal", "wal"), ("journal=delete", "delete")] {
        let (_directory, url) = file_url(params);
        let mut c = connect(&*open(&url, None));
        assert_eq!(one(&mut c, "PRAGMA journal_mode"), text(journal));
    }
    let (_directory, url) = file_url("transactions=immediate");
    let database = open_with(&url, None, &impatient());
    let (mut a, mut b) = (connect(&*database), connect(&*database));
    a.begin().expect("begin");
    fails(b.begin(), Class::LockTimeout);
    a.commit().expect("commit");
    b.begin().expect("begin");
}

#[test]
fn a_writer_makes_a_reader_busy() {
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
    assert_eq!(read(&mut b, 1), Scalar::Int(0), "it still reads its snapshot");
    b.rollback().expect("rollback");
    assert_eq!(read(&mut b, 1), Scalar::Int(1));
}

#[test]
fn a_commit_blocked_by_readers_is_rolled_back() {
    let (_directory, url) = file_url("journal=delete");
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
    a.rollback().expect("a rollback after the end is not an error");
    a.begin().expect("begin");
    write(&mut a, 1, 2).expect("write");
    a.commit().expect("commit");
    assert_eq!(read(&mut b, 1), Scalar::Int(2));
}

#[test]
fn files_that_cannot_be_opened() {
    let directory = TempDir::new().expect("a directory");
    let options = Options::default();
    let failure = refusal(&format!("sqlite:{}/no/such.db", directory.path().display()), &options);
    assert!(failure.message.contains("no/such.db"), "{failure}");
    let path = directory.path().join("text.db");
    fs::write(&path, "this is not a database".repeat(100)).expect("a file");
    let failure = refusal(&path.display().to_string(), &options);
    assert!(failure.message.contains("not a database"), "{failure}");
}

#[test]
fn a_temporary_file_is_deleted() {
    let database = open("sqlite:", None);
    let mut c = connect(&*database);
    let list = rows(&mut c, "PRAGMA database_list", &[]);
    let Scalar::Text(path) = &list[0][2] else { panic!("no path: {list:?}") };
    assert!(fs::exists(path).expect("an answer"));
    drop(c);
    drop(database);
    assert!(!fs::exists(path).expect("an answer"));
}

//! The examples run and give the documented results.
#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "a test that cannot go on should not; examples have a main of their own"
)]

use std::path::Path;

use isoscope::{Level, Word};

#[path = "../examples/build_history.rs"]
mod build_history;
#[path = "../examples/check_file.rs"]
mod check_file;
#[cfg(feature = "record")]
#[path = "../examples/own_connection.rs"]
mod own_connection;
#[path = "../examples/property_test.rs"]
mod property_test;
#[path = "../examples/write_report.rs"]
mod write_report;

#[test]
fn a_file_is_checked() {
    let bank = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/bank.edn");
    let report = check_file::check(Path::new(bank)).unwrap();
    assert_eq!(report.verdict_of(Level::Snapshot), Word::Holds);
    assert_eq!(report.verdict_of(Level::Serializable), Word::Violated);
    let anomalies: Vec<String> = report.anomalies().map(ToString::to_string).collect();
    assert_eq!(anomalies.len(), 1, "{anomalies:?}");
    assert!(anomalies[0].starts_with("write-skew, once: "), "{anomalies:?}");
    assert!(check_file::check(Path::new("no such file")).is_err());
}

#[test]
fn a_history_is_built_and_checked() {
    build_history::main();
    let report = build_history::check();
    assert_eq!(report.file, "stock");
    assert!(report.anomalies().any(|finding| finding.anomaly.name() == "lost-update"));
}

/// The example itself fails unless it detects the store that loses updates.
#[test]
fn a_store_is_tested_with_proptest() {
    property_test::main();
}

#[cfg(feature = "record")]
#[test]
fn a_custom_connection_is_recorded() {
    let report = own_connection::check().unwrap();
    assert_eq!(report.transactions, 200);
    assert_ne!(report.verdict, Word::Unknown);
}

#[test]
fn a_report_is_written() {
    let directory = tempfile::tempdir().unwrap();
    write_report::write(directory.path()).unwrap();
    let read = |name| std::fs::read_to_string(directory.path().join(name)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read("isoscope-report.json")).unwrap();
    assert_eq!((&json["file"], &json["verdict"]), (&"bank.edn".into(), &"violated".into()));
    assert_eq!(json["involved"].as_array().map(Vec::len), Some(2));
    assert!(read("isoscope-report.txt").contains("✗ serializable "));
}

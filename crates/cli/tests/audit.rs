//! `isoscope audit`: logs with known verdicts, recorded logs, and logs that cannot be audited.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::isoscope;
use tempfile::TempDir;

const HEADER: &str = r#"{"isoscope":"log","version":1,"database":"PostgreSQL 15.18","vendor":"postgres","isolation":"repeatable-read","workload":"example","schema":["CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)"]}
{"session":"loader","txn":"load","number":0,"sql":"INSERT INTO account VALUES (1, 100), (2, 300)","count":2,"times":[10,20],"outcome":"committed"}
{"session":0,"txn":1,"number":0,"sql":"UPDATE account SET balance = balance + 10 WHERE id = ?","params":[2],"count":1,"times":[50,60],"outcome":"committed"}
"#;

/// A log in which a later transaction reads account 2.
fn log(balance: &str) -> String {
    format!(
        "{HEADER}{}\n",
        r#"{"session":1,"txn":2,"number":0,"sql":"SELECT balance FROM account WHERE id = 2","rows":[[BALANCE]],"times":[90,100],"outcome":"committed"}"#
            .replace("BALANCE", balance)
    )
}

#[test]
fn a_right_answer_is_explained_and_a_stale_one_is_not() {
    let d = TempDir::new().unwrap();
    for (balance, code, word) in [("310", 0, "explained"), ("300", 1, "violated"), ("311", 1, "violated")] {
        fs::write(d.path().join("run.log"), log(balance)).unwrap();
        let run = isoscope(d.path(), "audit run.log");
        assert_eq!(run.code, code, "{balance}: {}{}", run.out, run.err);
        assert!(run.out.contains(word) && run.out.contains("audited as pg-rr"), "{}", run.out);
        assert_eq!(run.out.contains("line 4 (transaction 2, session 1)"), code == 1, "{}", run.out);
        let run = isoscope(d.path(), "audit run.log --format json");
        let value: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(value["verdict"], word);
        assert_eq!(value["violation"]["at"]["line"].as_u64(), (code == 1).then_some(4));
        let run = isoscope(d.path(), "audit run.log --format concise");
        assert!(run.out.starts_with(&format!("run.log: {word} at pg-rr")), "{}", run.out);
        let run = isoscope(d.path(), "audit run.log --format junit");
        assert_eq!(run.out.contains("failures=\"1\""), code == 1, "{}", run.out);
    }
}

/// Figure 1 of the Troubadour paper, at its strict snapshot isolation.
#[test]
fn the_first_figure_of_the_paper_is_a_violation() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/audit");
    let run = isoscope(&corpus, "audit figure-1.jsonl --level paper-ssi");
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("violated: isolation"), "{}", run.out);
    assert_eq!(isoscope(&corpus, "audit figure-1.jsonl --level paper-rc").code, 0);
}

#[test]
fn a_recorded_run_is_explained() {
    let d = TempDir::new().unwrap();
    let record = "record sqlite: --workload bank --sessions 2 --txns 60 --seed 1 -o run.jsonl --log run.log";
    let run = isoscope(d.path(), record);
    assert_eq!(run.code, 0, "{}", run.err);
    let run = isoscope(d.path(), "audit run.log");
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("audited as sqlite"), "{}", run.out);
}

#[test]
fn what_cannot_be_audited_is_refused_with_its_place() {
    let d = TempDir::new().unwrap();
    let right = log("310");
    let mysql = right.replace("\"postgres\"", "\"mysql\"");
    for (text, args, code, message) in [
        (String::new(), "", 255, "the file is empty"),
        ("nothing\n".to_owned(), "", 255, "writes a log"),
        (right.replace("account SET", "nowhere SET"), "", 255, "line 3"),
        (right.replace("\"params\":[2]", "\"params\":[2,3]"), "", 255, "line 3"),
        (mysql, "", 254, "select one with --level"),
        (right.clone(), "--order timestamps", 254, "paper's models"),
        (right.clone(), "--level pg", 254, "invalid value"),
    ] {
        fs::write(d.path().join("run.log"), &text).unwrap();
        let run = isoscope(d.path(), &format!("audit run.log {args}"));
        assert_eq!(run.code, code, "{args}: {}{}", run.out, run.err);
        assert!(run.err.contains(message), "{args}: {}", run.err);
    }
    assert_eq!(isoscope(d.path(), "audit missing.log").code, 255);
    // A truncated last line is skipped with a warning.
    fs::write(d.path().join("run.log"), &right[..right.len() - 20]).unwrap();
    let run = isoscope(d.path(), "audit run.log");
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.err.contains("truncated"), "{}", run.err);
}

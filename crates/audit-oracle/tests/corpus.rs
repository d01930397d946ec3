//! The corpus in `corpus/audit/` is what [`fixtures`](isoscope_audit_oracle::fixtures) makes, and its verdicts are the paper's.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on should not; figures are for reading"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use isoscope_audit_oracle::fixtures::{all, anomalies, figure_1, figure_8, one_operation};
use isoscope_audit_oracle::{Model, Order, TinyLog, Verdict, judge};

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/audit")
}

/// All files, with their contents.
fn files() -> Vec<(String, String)> {
    let mut table = "file\tmodel\torder\tverdict\tentry\tblame\n".to_owned();
    let mut files = Vec::new();
    for fixture in all() {
        for expected in &fixture.expected {
            writeln!(table, "{}.jsonl\t{}", fixture.name, expected.line()).unwrap();
        }
        files.push((format!("{}.jsonl", fixture.name), fixture.text));
    }
    for seed in 0..100 {
        let name = format!("one-operation/{seed:02}.jsonl");
        for order in ["solve", "timestamps"] {
            writeln!(table, "{name}\tpaper-rc\t{order}\texplained\t-\t-").unwrap();
        }
        files.push((name, one_operation(seed).to_text(Model::PaperRc)));
    }
    files.push(("expected.tsv".to_owned(), table));
    files
}

/// Writes the corpus: `cargo test -p isoscope-audit-oracle --test corpus -- --ignored`.
#[test]
#[ignore = "writes files"]
fn write_corpus() {
    fs::create_dir_all(corpus().join("one-operation")).unwrap();
    for (name, text) in files() {
        fs::write(corpus().join(name), text).unwrap();
    }
}

#[test]
fn corpus_is_current() {
    for (name, text) in files() {
        let found = fs::read_to_string(corpus().join(&name)).unwrap_or_default();
        assert_eq!(found, text, "{name}: run the ignored test write_corpus");
    }
}

#[test]
fn logs_can_be_read() {
    for (name, text) in files() {
        if name != "expected.tsv" {
            let log = isoscope_log::read(text.as_bytes());
            assert!(log.is_ok_and(|log| log.warnings.is_empty()), "{name}");
        }
    }
}

fn is_explained(log: &TinyLog, model: Model) -> bool {
    let verdicts = [Order::Solve, Order::Timestamps].map(|order| judge(log, model, order));
    verdicts[0] == Verdict::Explained && verdicts[1] == Verdict::Explained
}

/// Section 2: violated at transaction 3 under strict snapshot isolation.
#[test]
fn figure_1_is_violated_at_transaction_3() {
    let log = figure_1();
    for order in [Order::Solve, Order::Timestamps] {
        let Verdict::Violated(entry) = judge(&log, Model::PaperSsi, order) else { panic!("explained") };
        assert_eq!(log.entries[entry].txn, 2);
    }
    assert!(is_explained(&log, Model::PaperRc));
}

/// Section 8.1, for k that the judge can do.
#[test]
fn figure_8_is_right() {
    for (k, read, wanted) in [(3, 66, false), (3, 320, true), (3, 310, true), (3, 330, false), (2, 300, true)]
    {
        assert_eq!(is_explained(&figure_8(k, read), Model::PaperRc), wanted, "{k} {read}");
    }
}

/// Section 8.2: which levels allow the anomalies.
#[test]
fn anomalies_are_where_the_paper_says() {
    let allowed_by_rc = [
        "phantom",
        "lost-update",
        "read-skew",
        "internal-inconsistency",
        "write-skew",
        "dirty-write-crossed",
    ];
    for (name, log) in anomalies() {
        assert_eq!(is_explained(&log, Model::PaperRc), allowed_by_rc.contains(&name), "paper-rc {name}");
        for (si, engine) in [(Model::PaperSi, Model::PgRr), (Model::PaperSsi, Model::PgRr)] {
            assert_eq!(is_explained(&log, si), name == "write-skew", "{} {name}", si.name());
            assert_eq!(is_explained(&log, engine), name == "write-skew", "{} {name}", engine.name());
        }
        for strong in [Model::PaperS, Model::PaperSs, Model::PgSer, Model::Sqlite] {
            assert!(!is_explained(&log, strong), "{} {name}", strong.name());
        }
        // PostgreSQL locks rows, so that there are no dirty writes.
        let allowed = allowed_by_rc.contains(&name) && name != "dirty-write-crossed";
        assert_eq!(is_explained(&log, Model::PgRc), allowed, "pg-rc {name}");
    }
}

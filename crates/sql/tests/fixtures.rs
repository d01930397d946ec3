//! Fixtures: statements with the answers that the databases gave.
//!
//! A file in `tests/fixtures` has blocks that are separated by empty lines. Lines that begin with `--` are comments.
//!
//! ```text
//! == name of the fixture
//! > SELECT 1 / 2
//! postgres: 0
//! mysql: 0.5000
//! sqlite: 0
//! ```
//!
//! A line with `>` is a statement, for all dialects or for those named before it (`mysql,sqlite> ...`). Answers follow it:
//! `all:` or the names of dialects. `-` is not checked. Rows are separated by ` | `, columns by `, `; texts are quoted, NULL
//! is `NULL`. `ordered` before the rows makes their order count. `count N` is a count, `error CLASS` an error, `unsupported`
//! one that says that the answer is not known. `(doubt)` at the end: the effect has doubts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::fmt::Write as _;
use std::path::Path;

use isoscope_sql::{Database, Dialect, Effect, Reply, Settings, SqlError, Value};

const DIALECTS: [(&str, Dialect); 3] =
    [("postgres", Dialect::Postgres), ("mysql", Dialect::MySql), ("sqlite", Dialect::Sqlite)];

fn spelled(value: &Value) -> String {
    match value {
        Value::Bool(is) => is.to_string(),
        Value::Float(n) if n.fract() == 0.0 && n.abs() < 1e15 => format!("{n:.1}"),
        Value::Date(_) | Value::Time(_) | Value::Timestamp(_) => format!("'{value}'"),
        Value::Hole(_) => "?".to_owned(),
        other => other.to_string(),
    }
}

fn shown(result: &Result<Effect, SqlError>) -> String {
    let effect = match result {
        Ok(effect) => effect,
        Err(error) if !error.class.is_answer() => return format!("unsupported ({error})"),
        Err(error) => return format!("error {:?}", error.class),
    };
    let mut text = match &effect.reply {
        Reply::Count(count) => format!("count {count}"),
        Reply::Rows(rows) => {
            let mut lines: Vec<String> = rows
                .chosen()
                .iter()
                .map(|row| row.iter().map(spelled).collect::<Vec<_>>().join(", "))
                .collect();
            if rows.ranks.is_none() {
                lines.sort();
            }
            let ordered = if rows.ranks.is_some() { "ordered " } else { "" };
            let mut text =
                format!("{ordered}{}", if lines.is_empty() { "none".to_owned() } else { lines.join(" | ") });
            if !rows.is_determined() {
                text.push_str(" (choice)");
            }
            text
        }
    };
    if !effect.doubts.is_empty() {
        let _ = write!(text, " (doubt)");
    }
    text
}

fn sorted(text: &str) -> String {
    if text.starts_with("ordered") || !text.contains(" | ") {
        return text.to_owned();
    }
    let (rows, end) = text.find(" (").map_or((text, ""), |at| text.split_at(at));
    let mut rows: Vec<&str> = rows.split(" | ").collect();
    rows.sort_unstable();
    rows.join(" | ") + end
}

/// Runs a block. Returns the differences.
fn run(block: &[(usize, &str)], differences: &mut String) {
    let settings = |dialect| Settings { is_mariadb: dialect == Dialect::MySql, ..Settings::new(dialect) };
    let mut databases: Vec<(&str, Database, String)> = DIALECTS
        .iter()
        .map(|(name, dialect)| (*name, Database::new(settings(*dialect)), String::new()))
        .collect();
    for (number, line) in block {
        if line.starts_with("--") || line.starts_with("==") {
            continue;
        }
        let (names, rest) =
            line.split_once('>').filter(|(names, _)| !names.contains(':')).map_or(("", ""), |it| it);
        if line.contains('>') && !names.contains(':') && !rest.is_empty() {
            for (name, database, result) in &mut databases {
                if names.is_empty() || names.split(',').any(|it| it.trim() == *name) {
                    *result = shown(&database.run(rest.trim(), &[]));
                }
            }
            continue;
        }
        let Some((names, expected)) = line.split_once(':') else { panic!("line {number}: {line}") };
        let expected = expected.trim();
        for (name, _, result) in &databases {
            let is_meant = names == "all" || names.split(',').any(|it| it.trim() == *name);
            let result =
                if expected == "unsupported" { result.split(' ').next().unwrap_or_default() } else { result };
            if is_meant && expected != "-" && sorted(expected) != sorted(result) {
                let _ =
                    writeln!(differences, "line {number}, {name}: expected {expected}\n    found {result}");
            }
        }
    }
}

#[test]
fn fixtures_hold() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut report = String::new();
    let mut count = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<(usize, &str)> = text.lines().enumerate().map(|(n, line)| (n + 1, line)).collect();
        for block in lines.split(|(_, line)| line.trim().is_empty()).filter(|block| !block.is_empty()) {
            count += 1;
            let mut differences = String::new();
            run(block, &mut differences);
            if !differences.is_empty() {
                let _ = write!(report, "{}\n{differences}", path.display());
            }
        }
    }
    assert!(count > 0);
    assert!(report.is_empty(), "{report}");
}

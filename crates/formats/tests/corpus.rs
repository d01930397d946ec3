//! Reads every history of `corpus/`, and of the shared corpus if it is beside the repository, and converts it
//! to every format and back.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod support;

use std::path::{Path, PathBuf};

use isoscope_formats::{Format, Input, ReadOptions, Reading, Target, WriteError, read, write};
use isoscope_history::notation::{OpText, ValueText};
use isoscope_history::{History, OpView, Outcome, Stats};

/// The files and directories below a directory that are one history each.
fn histories(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut work = vec![directory.to_owned()];
    while let Some(directory) = work.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_owned();
            if path.is_dir() {
                let logs = std::fs::read_dir(&path)
                    .unwrap()
                    .any(|e| e.unwrap().path().extension().is_some_and(|e| e == "log"));
                if logs { found.push(path) } else { work.push(path) }
            } else if ["txt", "edn", "json", "jsonl", "bincode", "hist", "awdit", "notation"]
                .contains(&extension.as_str())
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn open(path: &Path) -> Reading {
    read(&Input::Path(path.to_owned()), &ReadOptions::default())
        .unwrap_or_else(|failure| panic!("{}: {failure}", path.display()))
}

fn committed(history: &History) -> usize {
    let ops = |txn| history.ops_of(txn).filter(|op| op.kind.is_write()).count();
    history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed).map(ops).sum()
}

/// A conversion keeps every write of a committed transaction.
fn convert(history: &History, format: Format, path: &Path) {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("converted");
    let result = if format.is_directory() {
        write(history, format, Target::Directory(&place))
    } else {
        let mut bytes = Vec::new();
        let result = write(history, format, Target::Stream(&mut bytes));
        std::fs::write(&place, bytes).unwrap();
        result
    };
    match result {
        Ok(_) => {
            let again = open(&place);
            assert_eq!(again.format, format, "{}", path.display());
            let (was, is) = (committed(history), committed(&again.history));
            // A format without unknown outcomes writes those that were read from as committed.
            let unknown = history.txns().any(|txn| history.outcome(txn) == Outcome::Unknown);
            assert!(is == was || unknown && is > was, "{} to {format}: {was}, {is}", path.display());
        }
        Err(WriteError::Inexpressible { .. }) if history.has_lists() => {}
        Err(error) => panic!("{} to {format}: {error}", path.display()),
    }
}

fn read_and_convert(histories: Vec<PathBuf>) {
    for path in histories {
        let reading = open(&path);
        let stats = Stats::of(&reading.history);
        assert!(stats.operations > 0, "{}", path.display());
        // The large histories take long to print and add no coverage.
        if stats.operations < 50_000 {
            for format in Format::ALL.into_iter().filter(|format| format.is_writable()) {
                convert(&reading.history, format, &path);
            }
        }
    }
}

#[test]
fn every_history_of_our_own_corpus_is_read_and_converted() {
    let mut histories = histories(&support::own_corpus());
    // These are logs of statements.
    histories.retain(|path| !path.starts_with(support::own_corpus().join("audit")));
    assert!(histories.len() >= 43, "{} histories", histories.len());
    read_and_convert(histories);
}

/// A session has the same operations in every format.
#[test]
fn one_history_is_the_same_in_every_format() {
    let operations = |path: PathBuf| -> Vec<Vec<String>> {
        let history = open(&path).history;
        // Formats spell the initial value differently.
        let is_initial = |op: &OpView| op.kind.is_read() && history.is_initial(op.key, op.value);
        let text = |txn| {
            history.ops_of(txn).map(|op| {
                if is_initial(&op) {
                    format!("r({}, initial)", ValueText(&history, history.key_name(op.key)))
                } else {
                    OpText(&history, op.id).to_string()
                }
            })
        };
        let session = |session| history.txns_of(session).flat_map(text).collect();
        history.sessions().map(session).collect()
    };
    let formats = support::own_corpus().join("formats");
    let expected = operations(formats.join("history.notation"));
    assert_eq!(expected.iter().flatten().count(), 11);
    for name in ["bincode", "dbcop.json", "edn", "hist", "json", "jsonl", "txt"] {
        assert_eq!(operations(formats.join(format!("history.{name}"))), expected, "{name}");
    }
    assert_eq!(operations(formats.join("cobra")).iter().flatten().count(), 11);
    let lists = operations(formats.join("lists.notation"));
    for name in ["edn", "json"] {
        assert_eq!(operations(formats.join(format!("lists.{name}"))), lists, "{name}");
    }
}

#[test]
fn every_history_of_the_shared_corpus_is_read_and_converted() {
    let Some(corpus) = support::shared_corpus() else { return };
    let histories = histories(&corpus);
    assert!(histories.len() > 180, "{} histories", histories.len());
    read_and_convert(histories);
}

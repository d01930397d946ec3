//! Every history of the shared corpus is read, told about, and converted to every format and back.
//! Skipped where the corpus is not beside the repository.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod support;

use std::path::{Path, PathBuf};

use isoscope_formats::{Format, Input, ReadOptions, Reading, Target, WriteError, read, write};
use isoscope_history::{History, Outcome, Stats};

fn corpus() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    path.is_dir().then_some(path)
}

/// The files and directories below a directory that are a history each.
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
            } else if ["txt", "edn", "json", "bincode"].contains(&extension.as_str()) {
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

/// A conversion keeps every write of a committed transaction; readers and writers agree on what those are.
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
            assert_eq!(committed(&again.history), committed(history), "{} to {format}", path.display());
        }
        Err(WriteError::Inexpressible { .. }) if history.has_lists() => {}
        Err(error) => panic!("{} to {format}: {error}", path.display()),
    }
}

#[test]
fn every_history_of_the_corpus_is_read_and_converted() {
    let Some(corpus) = corpus() else { return };
    let histories = histories(&corpus);
    assert!(histories.len() > 180, "{} histories", histories.len());
    for path in histories {
        let reading = open(&path);
        let stats = Stats::of(&reading.history);
        assert!(stats.operations > 0, "{}", path.display());
        // The large ones take long to print and say nothing new.
        if stats.operations < 50_000 {
            for format in Format::ALL.into_iter().filter(|format| format.is_writable()) {
                convert(&reading.history, format, &path);
            }
        }
    }
}

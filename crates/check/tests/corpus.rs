//! The labelled histories of the shared corpus get the verdicts that their labels say, and every certificate is
//! verified. Skipped where the corpus is not beside the repository.
//!
//! One label is not followed: `jepsen/rw-register.*` is called valid by Elle's authors, but it reads x=3, which
//! nobody wrote: a thin-air read, at odds with every level from PL-2 up.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::path::{Path, PathBuf};

use isoscope_check::{Checker, Options, Verdict, Verifier};
use isoscope_formats::{Input, ReadOptions, read};
use isoscope_levels::Level::{self, AdyaPl1, AdyaPl2, Causal, CutIsolation, ReadAtomic, ReadCommitted};

const DECIDED: [Level; 6] = [CutIsolation, AdyaPl1, AdyaPl2, ReadCommitted, ReadAtomic, Causal];

fn corpus() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    path.is_dir().then_some(path)
}

/// The verdict of each level: holds, violated, or unknown because values are not unique.
fn verdicts(path: &Path) -> Vec<(Level, &'static str)> {
    let reading = read(&Input::Path(path.to_owned()), &ReadOptions::default())
        .unwrap_or_else(|failure| panic!("{}: {failure}", path.display()));
    let mut checker = Checker::new(&reading.history, Options::default());
    let verifier = Verifier::new(&reading.history);
    let judge = |level| {
        let judgement = checker.check(level);
        let verified = verifier.verify(&judgement);
        assert!(verified.is_ok(), "{} at {level}: {verified:?}", path.display());
        let word = match judgement.verdict {
            Verdict::Holds(_) => "holds",
            Verdict::Violated(_) => "violated",
            Verdict::Unknown(_) => "needs-solver",
        };
        (level, word)
    };
    DECIDED.into_iter().rev().map(judge).collect()
}

fn expect(path: &Path, level: Level, expected: &str) {
    let found = verdicts(path).into_iter().find(|(l, _)| *l == level).unwrap().1;
    assert_eq!(found, expected, "{} at {level}", path.display());
}

/// The rows of a table of expectations, with its columns' names.
fn table(path: &Path) -> (Vec<String>, Vec<Vec<String>>) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut rows = text.lines().map(|line| line.split('\t').map(str::to_owned).collect());
    (rows.next().unwrap(), rows.collect())
}

#[test]
fn published_checkers_disagree_on_the_traps_and_we_follow_the_axioms() {
    let Some(corpus) = corpus() else { return };
    let traps = corpus.join("traps");
    let (columns, rows) = table(&traps.join("expected.tsv"));
    assert!(rows.len() >= 23);
    for row in rows {
        for (column, expected) in columns.iter().zip(&row).skip(1) {
            expect(&traps.join(&row[0]), Level::parse(column).unwrap(), expected);
        }
    }
}

#[test]
fn weak_histories_are_at_the_level_of_their_folder_and_not_above() {
    let Some(corpus) = corpus() else { return };
    for (folder, strongest) in [
        ("none", None),
        ("read-committed", Some(ReadCommitted)),
        ("read-atomic", Some(ReadAtomic)),
        ("causal", Some(Causal)),
    ] {
        let folder = corpus.join("weak/awdit").join(folder);
        let generated = folder.join("generated");
        let files =
            [folder, generated].into_iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
        for file in files.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            for level in [ReadCommitted, ReadAtomic, Causal] {
                let holds = strongest.is_some_and(|strongest| strongest.implies(level));
                expect(&file, level, if holds { "holds" } else { "violated" });
            }
        }
    }
}

#[test]
fn violations_are_found_where_a_weak_level_shows_them() {
    let Some(corpus) = corpus() else { return };
    let violations = corpus.join("violations");
    let (_, rows) = table(&violations.join("expected.tsv"));
    for row in rows {
        let (path, level) = (violations.join(&row[0]), Level::parse(&row[1]).unwrap());
        for (weaker, verdict) in verdicts(&path) {
            if level == weaker {
                assert_eq!(verdict, row[2], "{} at {level}", row[0]);
            } else if row[2] == "holds" && level.implies(weaker) {
                assert_ne!(verdict, "violated", "{} at {weaker}", row[0]);
            }
        }
    }
    expect(&corpus.join("jepsen/paper-example.edn"), ReadAtomic, "violated");
    expect(&corpus.join("jepsen/paper-example.json"), ReadAtomic, "violated");
    expect(&corpus.join("jepsen/rw-register.edn"), AdyaPl2, "violated");
}

#[test]
fn serializable_histories_violate_no_weak_level() {
    let Some(corpus) = corpus() else { return };
    for folder in ["small", "general"] {
        for entry in std::fs::read_dir(corpus.join("strong").join(folder)).unwrap() {
            for (level, verdict) in verdicts(&history_below(&entry.unwrap().path())) {
                assert_ne!(verdict, "violated", "{folder} at {level}");
            }
        }
    }
    for folder in ["blindw-rw-1000", "tpcc-10k", "twitter-10k", "rubis-10k", "BL-10k"] {
        for (level, verdict) in verdicts(&history_below(&corpus.join("strong").join(folder))) {
            assert_ne!(verdict, "violated", "{folder} at {level}");
        }
    }
}

/// The history in a folder, or in the only folder in it.
fn history_below(folder: &Path) -> PathBuf {
    let mut inside: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    inside.sort();
    match inside.iter().find(|path| path.is_dir()) {
        Some(only) => history_below(only),
        None => folder.to_owned(),
    }
}

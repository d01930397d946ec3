//! Runs with known predictions: those of `corpus/predict` always, those of the shared corpus where it lies beside the repository.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::path::{Path, PathBuf};

use isoscope_formats::{Input, ReadOptions, Reading, read};
use isoscope_levels::Level::{self, Causal, ParallelSnapshot, Prefix, ReadAtomic, ReadCommitted, Snapshot};
use isoscope_predict::{Boundary, Observed, Refusal, Settings, Unwatched, predict};

const LEVELS: [Level; 6] = [ReadCommitted, ReadAtomic, Causal, Prefix, ParallelSnapshot, Snapshot];

fn open(path: &Path) -> Reading {
    read(&Input::from_arg(path), &ReadOptions::default())
        .unwrap_or_else(|failure| panic!("{}: {failure}", path.display()))
}

/// The names of the predicted anomalies.
fn anomalies(path: &Path, settings: &Settings) -> Vec<&'static str> {
    let reading = open(path);
    let observed = Observed::new(&reading.history, &Unwatched).unwrap();
    let predictions = predict(&observed, settings, &Unwatched).unwrap();
    assert!(predictions.limit.is_none());
    predictions.found.iter().map(|one| one.anomaly.name()).collect()
}

fn is_predicted(path: &Path, level: Level, boundary: Boundary) -> bool {
    !anomalies(path, &Settings { boundary, most: 1, ..Settings::new(level) }).is_empty()
}

/// The shared corpus; says so where there is none.
#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
fn shared() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/predict");
    if !path.is_dir() {
        eprintln!("skipped: the shared corpus is not here");
    }
    path.is_dir().then_some(path)
}

/// The levels at which an anomaly is predicted with a relaxed boundary. With a strict one it is nowhere.
fn expect_textbook(path: &Path, levels: &[Level]) {
    for level in LEVELS {
        let name = path.display();
        assert_eq!(is_predicted(path, level, Boundary::Relaxed), levels.contains(&level), "{name}, {level}");
        assert!(!is_predicted(path, level, Boundary::Strict), "{name}, {level}, strict");
    }
}

const LONG_FORK: &[Level] = &[ReadCommitted, ReadAtomic, Causal, ParallelSnapshot];
const LOST_UPDATE: &[Level] = &[ReadCommitted, ReadAtomic, Causal, Prefix];

#[test]
fn textbook_anomalies_are_predicted_where_they_are_possible() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/predict");
    for (name, levels) in [
        ("long-fork", LONG_FORK),
        ("lost-update", LOST_UPDATE),
        ("write-skew", &LEVELS),
        ("read-only-anomaly", &LEVELS),
    ] {
        expect_textbook(&corpus.join(format!("{name}.notation")), levels);
    }
    let names = |name: &str, level| anomalies(&corpus.join(name), &Settings::new(level));
    assert_eq!(names("lost-update.notation", Causal), ["lost-update"]);
    assert_eq!(names("write-skew.notation", Snapshot), ["write-skew"]);
    assert_eq!(names("long-fork.notation", ParallelSnapshot), ["long-fork"]);
}

#[test]
fn textbook_traces_of_the_shared_corpus() {
    let Some(corpus) = shared() else { return };
    for (name, levels) in [
        ("long_fork", LONG_FORK),
        ("lost_update", LOST_UPDATE),
        ("write_skew", &LEVELS),
        ("readonly_anomaly", &LEVELS),
    ] {
        expect_textbook(&corpus.join(format!("micro/{name}.txt")), levels);
    }
}

#[test]
fn the_micro_traces_of_isopredict() {
    let Some(corpus) = shared() else { return };
    let corpus = corpus.join("isopredict-micro");
    for boundary in [Boundary::Strict, Boundary::Relaxed] {
        let is_predicted = |name: &str, level| is_predicted(&corpus.join(name), level, boundary);
        for level in [ReadCommitted, Causal] {
            assert!(is_predicted("simple_serial_2s3t.txt", level));
            assert!(!is_predicted("always_serial_3s3t.txt", level));
            assert!(!is_predicted("always_serial_3s4t.txt", level));
        }
        assert!(is_predicted("always_serial_2s4t.txt", ReadCommitted));
        assert!(!is_predicted("always_serial_2s4t.txt", Causal));
    }
    // The strategies of IsoPredict give the same verdicts.
    for boundary in [Boundary::Strict, Boundary::Relaxed] {
        for (level, expected) in [(ReadCommitted, true), (Causal, true)] {
            let settings = Settings { boundary, approximate: true, ..Settings::new(level) };
            let found = anomalies(&corpus.join("simple_serial_2s3t.txt"), &settings);
            assert_eq!(!found.is_empty(), expected);
        }
    }
    // These are not serializable themselves.
    for name in ["not_readcommitted.txt", "simple_causal_2s3t.txt", "simple_noncausal_2s3t.txt"] {
        let reading = open(&corpus.join(name));
        let refused = Observed::new(&reading.history, &Unwatched).err();
        assert!(matches!(refused, Some(Refusal::NotSerializable(_))), "{name}");
    }
}

/// Which of the traces 1 to 10 are predicted.
fn predicted_of(folder: &Path, stem: &str, level: Level, boundary: Boundary) -> Vec<u32> {
    let trace = |seed: &u32| folder.join(format!("{stem}_s{seed:02}.txt"));
    (1..=10).filter(|seed| is_predicted(&trace(seed), level, boundary)).collect()
}

#[test]
fn smallbank_of_twelve_transactions() {
    let Some(corpus) = shared() else { return };
    let folder = corpus.join("smallbank_lean_3x4");
    let all: Vec<u32> = (1..=10).collect();
    let predicted = |level, boundary| predicted_of(&folder, "sb_lean_3x4", level, boundary);
    assert_eq!(predicted(Causal, Boundary::Strict), [1, 3, 7, 10]);
    assert_eq!(predicted(Causal, Boundary::Relaxed), all);
    for boundary in [Boundary::Strict, Boundary::Relaxed] {
        assert_eq!(predicted(ReadCommitted, boundary), all);
        for level in [ParallelSnapshot, Snapshot] {
            assert!(predicted(level, boundary).is_empty());
        }
    }
}

#[test]
fn smallbank_of_up_to_82_transactions() {
    let Some(corpus) = shared() else { return };
    for size in ["3x16_a5", "3x32_a5"] {
        for seed in 1..=5 {
            let trace = corpus.join(format!("smallbank_lean_{size}/sb_lean_{size}_s{seed:02}.txt"));
            for boundary in [Boundary::Strict, Boundary::Relaxed] {
                for level in [ReadCommitted, Causal] {
                    assert!(is_predicted(&trace, level, boundary), "{}, {level}", trace.display());
                }
            }
            assert!(!is_predicted(&trace, Snapshot, Boundary::Relaxed), "{}", trace.display());
        }
    }
}

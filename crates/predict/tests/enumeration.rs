//! The engine agrees with the enumeration of `reference` on every level, strict and relaxed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod reference;

use isoscope_history::{History, Txn};
use isoscope_levels::Level;
use isoscope_predict::{Boundary, Observed, Predictions, Refusal, Settings, Unwatched, predict};
use reference::{Access, Changed, KEYS, Kept, LEVELS, Run};

/// A small generator of numbers: splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }
}

/// A run of two to six transactions with at most `most` candidates.
fn run(seed: u64, most: usize) -> Run {
    let mut random = Random(seed);
    loop {
        let keys = 1 + random.below(3);
        let count = [2, 3, 3, 4, 4, 4, 5, 5, 6][random.below(9)];
        let sessions = 2 + random.below(count.min(4) - 1);
        let mut txns = Vec::new();
        for _ in 0..count {
            let session = random.below(sessions);
            let accesses = (0..=random.below(4)).map(|_| (random.below(2) == 0, random.below(keys)));
            txns.push((session, accesses.collect()));
        }
        let run = Run { keys, txns };
        if run.candidates() <= most {
            return run;
        }
    }
}

fn level(name: &str) -> Level {
    Level::ALL.into_iter().find(|level| level.name() == name).unwrap()
}

fn predictions(history: &History, settings: &Settings) -> Option<Predictions> {
    let trivial = |refusal: &Refusal| {
        matches!(refusal, Refusal::SingleSession | Refusal::NoWrites | Refusal::NothingRead)
    };
    let observed = match Observed::new(history, &Unwatched) {
        Err(refusal) if trivial(&refusal) => return None,
        observed => observed.unwrap_or_else(|refusal| panic!("{refusal}: {history:?}")),
    };
    match predict(&observed, settings, &Unwatched) {
        Err(refusal) if trivial(&refusal) => None,
        predictions => Some(predictions.unwrap_or_else(|refusal| panic!("{refusal}: {history:?}"))),
    }
}

/// The verdicts of the engine, by level.
fn verdicts(history: &History, settings: &Settings) -> [bool; 6] {
    LEVELS.map(|name| {
        let settings = Settings { level: level(name), most: 1, ..*settings };
        if settings.level.implies(settings.target) {
            return false;
        }
        let Some(predictions) = predictions(history, &settings) else { return false };
        assert!(predictions.limit.is_none());
        predictions.found.iter().for_each(|one| check(history, one, settings.boundary));
        !predictions.found.is_empty()
    })
}

/// The settings of a boundary.
fn with(boundary: Boundary) -> Settings {
    Settings { boundary, ..Settings::new(Level::ReadCommitted) }
}

/// The settings for what is kept.
fn keeping(kept: Kept) -> Settings {
    let boundary = if kept == Kept::All { Boundary::Relaxed } else { Boundary::Strict };
    Settings { final_writes: kept == Kept::Final, ..with(boundary) }
}

/// A prediction is a prefix of the run: full transactions are as they were, and only boundary transactions differ.
fn check(history: &History, one: &isoscope_predict::Prediction, boundary: Boundary) {
    assert!(!one.changes.is_empty());
    let at = |txn: Txn| one.txns.iter().position(|&other| other == txn).map(|at| Txn(at as u32)).unwrap();
    for (place, &txn) in one.txns.iter().enumerate() {
        let first = history.txn_range(history.session_of(txn)).start;
        assert!((first..txn.0).all(|before| one.txns.contains(&Txn(before))), "sessions are prefixes");
        let is_last =
            one.txns.get(place + 1).is_none_or(|&next| history.session_of(next) != history.session_of(txn));
        let ops: Vec<_> = one.history.ops_of(Txn(place as u32)).collect();
        let original = |op: isoscope_history::Op| history.op(one.ops[op.index()]);
        if one.boundary.contains(&txn) {
            assert!(is_last, "a boundary transaction is the last of its session");
        } else {
            assert!(
                ops.iter().all(|op| op.value == original(op.id).value),
                "full transactions are as observed"
            );
        }
        if boundary == Boundary::Relaxed || !one.boundary.contains(&txn) {
            let kept = history.ops_of(txn).filter(|op| op.last_write || (op.kind.is_read() && op.external));
            assert_eq!(kept.count(), ops.len());
        }
    }
    for change in &one.changes {
        assert_ne!(change.from, change.to);
        let reader = one.history.ops_of(at(history.txn_of(change.read)));
        let read = reader.into_iter().find(|op| one.ops[op.id.index()] == change.read).unwrap();
        match change.to {
            None => assert!(one.history.is_initial(read.key, read.value)),
            Some(writer) => {
                assert!(!one.boundary.contains(&writer), "nobody reads from a boundary transaction");
                let mut writes = one.history.ops_of(at(writer));
                assert!(writes.any(|op| op.last_write && op.key == read.key && op.value == read.value));
            }
        }
    }
}

/// Compares the verdicts on runs; returns how many there were, and how many of them were predictions.
fn compare(seeds: std::ops::Range<u64>, most: usize) -> (usize, usize) {
    let (mut count, mut predicted) = (0, 0);
    for seed in seeds {
        let run = run(seed, most);
        let history = run.history(false);
        for kept in [Kept::Before, Kept::Final, Kept::All] {
            let expected = run.verdicts(kept, 6);
            let found = verdicts(&history, &keeping(kept));
            assert_eq!(found, expected, "seed {seed}, {kept:?}: {history:?}");
            count += found.len();
            predicted += found.iter().filter(|&&found| found).count();
        }
    }
    (count, predicted)
}

#[test]
fn the_engine_agrees_with_the_enumeration() {
    let (count, predicted) = compare(0..700, 2_000);
    assert_eq!(count, 12_600);
    assert!(predicted > 800 && count - predicted > 800, "{predicted} of {count}");
}

#[test]
fn other_targets_agree_with_the_enumeration() {
    for (target, place) in [(Level::Prefix, 3), (Level::Snapshot, 5)] {
        let mut predicted = 0;
        for seed in 20_000..20_150 {
            let run = run(seed, 500);
            let history = run.history(false);
            for kept in [Kept::Before, Kept::All] {
                let found = verdicts(&history, &Settings { target, ..keeping(kept) });
                let expected = run.verdicts(kept, place);
                for (level, name) in LEVELS.iter().enumerate() {
                    if !self::level(name).implies(target) {
                        assert_eq!(
                            found[level], expected[level],
                            "seed {seed}, {name}, {target}, {kept:?}: {history:?}"
                        );
                    }
                }
                predicted += found.iter().filter(|&&found| found).count();
            }
        }
        assert!(predicted > 50, "{predicted}");
    }
}

/// The list of predictions has every set of changed reads of which no part is one, and nothing else.
#[test]
fn the_list_of_predictions_agrees_with_the_enumeration() {
    let (mut count, mut larger) = (0, 0);
    for seed in 70_000..70_800 {
        let run = run(seed, 500);
        let history = run.history(false);
        for kept in [Kept::Before, Kept::All] {
            let expected = run.minimal_changes(kept);
            for (name, expected) in LEVELS.iter().zip(expected) {
                let settings = Settings { level: level(name), most: 1000, ..keeping(kept) };
                let Some(predictions) = predictions(&history, &settings) else { continue };
                assert!(predictions.limit.is_none() && !predictions.more);
                let found: Vec<Changed> =
                    predictions.found.iter().map(|one| changed(&history, one)).collect();
                for one in &found {
                    assert!(expected.contains(one), "seed {seed}, {name}, {kept:?}: {one:?} {history:?}");
                }
                assert_eq!(found.len(), expected.len(), "seed {seed}, {name}, {kept:?}: {history:?}");
                count += found.len();
                larger += found.iter().filter(|one| one.len() > 1).count();
                // With a limit, as many are listed, and each of them is minimal.
                let some = self::predictions(&history, &Settings { most: 2, ..settings }).unwrap();
                assert_eq!(
                    (some.found.len(), some.more),
                    (found.len().min(2), found.len() >= 2),
                    "seed {seed}"
                );
                for one in &some.found {
                    assert!(expected.contains(&changed(&history, one)), "seed {seed}, {name}, {kept:?}");
                }
            }
        }
    }
    assert!(count > 1_000 && larger > 100, "{count} predictions, {larger} with several changed reads");
}

/// The changed reads of a prediction, as the reference writes them. They are those whose value differs from the run.
fn changed(history: &History, one: &isoscope_predict::Prediction) -> Changed {
    let access = |op: isoscope_history::OpView| -> Access {
        let key = isoscope_history::notation::ValueText(history, history.key_name(op.key)).to_string();
        (op.kind.is_write(), KEYS.iter().position(|&name| name == key).unwrap())
    };
    let changed = one.changes.iter().map(|change| {
        let txn = history.txn_of(change.read);
        (history.ops_of(txn).map(access).collect(), change.read.index() - history.op_range(txn).start)
    });
    let changed: Changed = changed.collect();
    let statements = one.statements.iter().map(|statement| (statement.program.clone(), statement.place));
    assert_eq!(statements.collect::<std::collections::BTreeSet<_>>().len(), changed.len());
    for op in one.history.txns().flat_map(|txn| one.history.ops_of(txn)).filter(|op| op.kind.is_read()) {
        let observed = history.op(one.ops[op.id.index()]);
        let is_listed = one.changes.iter().any(|change| change.read == observed.id);
        assert_eq!(op.value != observed.value, is_listed, "{:?}", one.history);
    }
    changed
}

/// `cargo nextest run -p isoscope-predict --release --run-ignored all --no-capture`
#[test]
#[ignore = "takes minutes"]
#[allow(clippy::print_stderr, reason = "the figure is the result")]
fn the_engine_agrees_with_the_enumeration_on_many_runs() {
    let (count, predicted) = compare(1_000..10_000, 60_000);
    eprintln!("{count} verdicts, {predicted} of them predictions: no difference");
    assert!(count >= 100_000);
}

#[test]
fn stronger_levels_stricter_boundaries_and_names() {
    for seed in 50_000..50_150 {
        let run = run(seed, 1_000_000);
        let (history, renamed) = (run.history(false), run.history(true));
        let [strict, relaxed] =
            [Boundary::Strict, Boundary::Relaxed].map(|boundary| verdicts(&history, &with(boundary)));
        for (name, (strict, relaxed)) in LEVELS.iter().zip(strict.iter().zip(&relaxed)) {
            assert!(!strict || *relaxed, "seed {seed}, {name}: strict within relaxed");
        }
        for verdicts in [strict, relaxed] {
            for (stronger, weaker) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (5, 4)] {
                assert!(!verdicts[stronger] || verdicts[weaker], "seed {seed}: {}", LEVELS[stronger]);
            }
        }
        assert_eq!(verdicts(&renamed, &with(Boundary::Relaxed)), relaxed, "seed {seed}: renaming");
        assert_eq!(verdicts(&renamed, &with(Boundary::Strict)), strict, "seed {seed}: renaming");
        // The sufficient condition of IsoPredict finds no more.
        let approximate = verdicts(&history, &Settings { approximate: true, ..with(Boundary::Relaxed) });
        for (exact, approximate) in relaxed.iter().zip(approximate) {
            assert!(*exact || !approximate, "seed {seed}");
        }
        // Windows find no more.
        let windows = verdicts(&history, &Settings { window: 2, ..with(Boundary::Relaxed) });
        for (all, windows) in relaxed.iter().zip(windows) {
            assert!(*all || !windows, "seed {seed}");
        }
    }
}

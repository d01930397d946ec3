//! The shipped definitions against the engines of `check`, which are tested against a brute-force reference of their own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use isoscope_check::{Checker, Options, Unknown, Verdict};
use isoscope_history::notation;
use isoscope_levels::language::Library;
use isoscope_levels::{Framework, Level};
use isoscope_synth::{SmallHistory, allows};

/// All ways to choose one of each.
fn product(choices: &[Vec<String>]) -> Vec<Vec<String>> {
    choices.iter().fold(vec![Vec::new()], |prefixes, options| {
        let extended = |prefix: &Vec<String>| -> Vec<Vec<String>> {
            options.iter().map(|option| [prefix.as_slice(), std::slice::from_ref(option)].concat()).collect()
        };
        prefixes.iter().flat_map(extended).collect()
    })
}

/// All histories of some transactions over some keys, each transaction with one read at most and one write at most of each key;
/// `together` says which transactions are in the session of the one before.
fn histories(txns: usize, keys: &[&str], together: &[bool]) -> Vec<String> {
    let writes: Vec<Vec<String>> =
        (0..txns * keys.len()).map(|_| vec![String::new(), "w".to_owned()]).collect();
    let mut histories = Vec::new();
    for writes in product(&writes) {
        let does_write = |txn: usize, key: usize| !writes[txn * keys.len() + key].is_empty();
        let choices: Vec<Vec<String>> = (0..txns * keys.len())
            .map(|i| {
                let (txn, key) = (i / keys.len(), i % keys.len());
                let values =
                    (0..txns).filter(|&other| other != txn && does_write(other, key)).map(|other| other + 1);
                let reads =
                    std::iter::once(0).chain(values).map(|value| format!("r({},{value}) ", keys[key]));
                std::iter::once(String::new()).chain(reads).collect()
            })
            .collect();
        for reads in product(&choices) {
            let mut text = String::new();
            let mut is_empty = false;
            for txn in 0..txns {
                let mut ops = reads[txn * keys.len()..(txn + 1) * keys.len()].concat();
                for (_, name) in keys.iter().enumerate().filter(|(key, _)| does_write(txn, *key)) {
                    ops += &format!("w({name},{}) ", txn + 1);
                }
                is_empty |= ops.is_empty();
                let joined = if txn == 0 {
                    ""
                } else if together[txn] {
                    "; "
                } else {
                    "  "
                };
                text += &format!("{joined}T{}: {ops}", txn + 1);
            }
            if !is_empty {
                histories.push(text);
            }
        }
    }
    histories
}

/// The definitions that the engines decide, too.
fn known() -> Vec<(Level, &'static isoscope_levels::language::Definition)> {
    let definitions = Library::shipped().definitions().iter();
    let level = |name: &str| Level::ALL.into_iter().find(|level| level.name() == name);
    let mut known: Vec<_> = definitions
        .filter_map(|definition| {
            // Crooks's read committed is Adya's PL-2.
            let is_crooks = definition.framework == Framework::States && definition.name == "read-committed";
            Some((if is_crooks { Level::AdyaPl2 } else { level(&definition.name)? }, definition))
        })
        .collect();
    let patterns = [
        ("plume-read-committed", Level::ReadCommitted),
        ("plume-read-atomic", Level::ReadAtomic),
        ("plume-causal", Level::Causal),
    ];
    known.extend(patterns.map(|(name, level)| (level, Library::shipped().find(name).unwrap())));
    known
}

fn compare(texts: &[String]) {
    let known = known();
    for text in texts {
        let history = notation::parse(text).unwrap();
        let small = SmallHistory::of(&history).unwrap();
        let mut checker = Checker::new(&history, Options::default());
        let mut verdicts: Vec<(Level, bool)> = Vec::new();
        for &(level, definition) in &known {
            if level.has_real_time() && history.events().is_none() {
                continue;
            }
            let known = verdicts.iter().find(|(other, _)| *other == level).map(|(_, holds)| *holds);
            let holds = known.unwrap_or_else(|| match checker.check(level).verdict {
                // If no read is related to a write, every level allows the history.
                Verdict::Holds(_) | Verdict::Unknown(Unknown::NothingToCheck) => true,
                Verdict::Violated(_) => false,
                verdict @ Verdict::Unknown(_) => panic!("{text}: {level}: {verdict:?}"),
            });
            verdicts.push((level, holds));
            let allowed = allows(definition, &small, &mut || false).unwrap().is_some();
            assert_eq!(allowed, holds, "{text}: {level} in {}", definition.framework.keyword());
        }
    }
}

#[test]
fn all_histories_of_two_transactions() {
    for together in [[false, false], [false, true]] {
        compare(&histories(2, &["x", "y"], &together));
    }
}

#[test]
fn all_histories_of_three_transactions_over_one_key() {
    for together in [[false, false, false], [false, true, false], [false, true, true]] {
        compare(&histories(3, &["x"], &together));
    }
}

/// Every thousandth; the ignored test below has all of them.
#[test]
fn histories_of_three_transactions() {
    for together in [[false, false, false], [false, true, false]] {
        let sample: Vec<String> = histories(3, &["x", "y"], &together).into_iter().step_by(97).collect();
        compare(&sample);
    }
}

#[test]
#[ignore = "takes minutes"]
fn all_histories_of_three_transactions() {
    for together in [[false, false, false], [false, true, false], [false, true, true]] {
        compare(&histories(3, &["x", "y"], &together));
    }
}

#[test]
fn histories_with_times() {
    let mut texts = Vec::new();
    for (i, text) in histories(3, &["x"], &[false; 3]).into_iter().enumerate() {
        let times = [["@0-1", "@2-3", "@4-5"], ["@0-3", "@1-2", "@4-5"], ["@0-1", "@2-5", "@3-4"]][i % 3];
        texts.push(
            (1..=3)
                .zip(times)
                .fold(text, |text, (txn, time)| text.replace(&format!("T{txn}:"), &format!("T{txn}{time}:"))),
        );
    }
    compare(&texts);
}

//! Stories of what the engines really find, in the examples of the catalogue.
#![allow(clippy::needless_raw_string_hashes, reason = "snapshots are renewed by a program")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use expect_test::expect;
use isoscope_check::{Checker, Options, Verdict};
use isoscope_explain::Teller;
use isoscope_history::{History, notation};
use isoscope_levels::{Anomaly, Level};

/// The headlines of all anomalies that a level finds in a history, each with its name.
fn headlines(history: &History, level: Level) -> Vec<(Anomaly, String)> {
    let teller = Teller::new(history);
    let verdict = Checker::new(history, Options::default()).check(level).verdict;
    let Verdict::Violated(findings) = verdict else { return Vec::new() };
    let all = findings.iter().flat_map(|f| f.instances.iter().map(|instance| (f.anomaly, instance)));
    all.map(|(anomaly, instance)| (anomaly, teller.story(anomaly, instance).headline)).collect()
}

/// Engines find every anomaly of the catalogue, and each story has words of its own.
#[test]
fn every_example_of_the_catalogue_has_a_story_of_its_own() {
    let mut told = Vec::new();
    for anomaly in Anomaly::ALL {
        for example in anomaly.examples() {
            let history = notation::parse(example.notation).unwrap();
            let history = history.expand_ranges().unwrap().unwrap_or(history);
            // A level may call it by another name than one that forbids it in all its forms.
            let levels = example.violated.iter().chain(anomaly.forbidden_from());
            for (found, headline) in levels.flat_map(|&level| headlines(&history, level)) {
                assert!(!headline.contains("no order explains"), "{anomaly}: {headline}");
                assert!(!headline.contains("explains what was read"), "{anomaly}: {headline}");
                told.push(found);
            }
        }
    }
    for expected in Anomaly::ALL {
        assert!(told.contains(&expected), "no example shows a {expected}");
    }
}

#[test]
fn the_engines_evidence_becomes_a_story() {
    for (text, level, expected) in [
        (
            "T1: w(x,1) w(y,2)  T2: r(x,0) r(y,2)",
            Level::ReadAtomic,
            expect!["T2 read x=0, the initial value, and then read y=2 from T1, which also wrote x=1."],
        ),
        (
            "T1: w(x,1)  T2: r(x,1) w(y,2)  T3: r(y,2) r(x,0)",
            Level::Causal,
            expect!["T3 had seen T1, which wrote x=1, by way of T2, and yet it read x=0, the initial value."],
        ),
        (
            "T1: r(x,0) w(x,1) ; T2: r(x,0)",
            Level::ReadAtomic,
            expect!["T1 wrote x=1, and yet T2, after it in session 1, read x=0, the initial value."],
        ),
        (
            "T1: w(x,1)  T2: r(x,0) r(x,1)",
            Level::CutIsolation,
            expect!["T2 read x=0, and when it read x again it found 1."],
        ),
    ] {
        let told = headlines(&notation::parse(text).unwrap(), level);
        let headlines: Vec<&str> = told.iter().map(|(_, headline)| headline.as_str()).collect();
        expected.assert_eq(&headlines.join("\n"));
    }
}

/// A version is called older only where nothing but the order of sessions and reads shows it.
#[test]
fn a_version_that_other_reads_make_older_is_not_called_so() {
    let text = "T1: w(5,1) w(1,9) ; T2: w(7,8) r(1,2) ; T3: r(7,3)  T4: w(1,2)  T5: w(7,3) w(5,4)  T6: r(5,1) r(7,3)";
    let told = headlines(&notation::parse(text).unwrap(), Level::ReadAtomic);
    let stale: Vec<&str> = told
        .iter()
        .filter(|(anomaly, _)| *anomaly == Anomaly::StaleSessionRead)
        .map(|(_, headline)| headline.as_str())
        .collect();
    expect![[r#"
        T2 wrote key 7=8, and yet T3, after it in session 1, read key 7=3 from T5; other reads put T5 before T2.
        T1 wrote key 1=9, and yet T2, after it in session 1, read key 1=2 from T4; other reads put T4 before T1."#]].assert_eq(&stale.join("\n"));
}

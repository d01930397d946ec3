//! Properties of the catalogue: names are unique, the lattice has exactly the right edges, every example
//! parses, and its claims agree with the rest of the catalogue.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::HashMap;

use isoscope_history::notation;
use isoscope_levels::{Anomaly, DRAWING, EDGES, Edge, Example, Level, Topic};

fn pairs() -> impl Iterator<Item = (Level, Level)> {
    Level::ALL.into_iter().flat_map(|a| Level::ALL.into_iter().map(move |b| (a, b)))
}

fn examples() -> impl Iterator<Item = &'static Example> {
    let of_levels = Level::ALL.into_iter().flat_map(Level::examples);
    of_levels.chain(Anomaly::ALL.into_iter().flat_map(Anomaly::examples))
}

#[test]
fn every_name_is_taken_once_and_finds_its_entry() {
    let mut taken: HashMap<String, Topic> = HashMap::new();
    for topic in Topic::all() {
        for name in std::iter::once(&topic.name()).chain(topic.aliases()) {
            assert_eq!(taken.insert(name.to_lowercase(), topic), None, "{name}");
            for spelling in
                [(*name).to_owned(), name.to_uppercase(), name.replace('-', "_"), format!(":{name}")]
            {
                assert_eq!(Topic::parse(&spelling), Ok(topic), "{spelling}");
                match topic {
                    Topic::Level(level) => assert_eq!(Level::parse(&spelling), Ok(level), "{spelling}"),
                    Topic::Anomaly(anomaly) => {
                        assert_eq!(Anomaly::parse(&spelling), Ok(anomaly), "{spelling}");
                    }
                }
            }
        }
    }
    let short = "ci rc ra cc pc psi si ser sser ssi pl-1 pl-2 pl-2.99 ss-pl-1 s-pl-1 ss-pl-2 s-pl-2 pl-cs mav \
                 pl-2l pl-2+ pl-3u ua pl-si pl-3";
    assert!(short.split(' ').all(|short| Level::parse(short).unwrap().short() == short));
    assert_eq!(Level::parse("Read Uncommitted"), Ok(Level::AdyaPl1));
    assert_eq!(Level::parse(":forward-consistent-view"), Ok(Level::ConsistentView));
    assert_eq!(Level::parse(":strong-session-serializable"), Ok(Level::Serializable));
    assert_eq!(Level::parse("PL-2+"), Ok(Level::ConsistentView));
}

#[test]
fn elle_variants_parse_as_their_base_anomaly() {
    for (name, anomaly) in [
        ("G0-realtime", Anomaly::DirtyWrite),
        ("G1c-process", Anomaly::CircularInformationFlow),
        (":G-single-process", Anomaly::ReadSkew),
        ("G-single-item-realtime", Anomaly::ReadSkew),
        ("G-nonadjacent-item", Anomaly::SnapshotSkew),
        ("G-nonadjacent-realtime", Anomaly::SnapshotSkew),
        ("g2-item-process", Anomaly::WriteSkew),
    ] {
        assert_eq!(Anomaly::parse(name), Ok(anomaly), "{name}");
        assert!(anomaly.elle_has_variants(), "{name}");
    }
    for name in ["G1a-processes", "write-skew-process", "causal-process", "G2-item-process-realtime"] {
        assert!(Anomaly::parse(name).is_err(), "{name}");
    }
    assert!(!Anomaly::AbortedRead.elle_has_variants() && !Anomaly::LostUpdate.elle_has_variants());
}

/// Every Elle keyword of the catalogue is also listed among the names that others use.
#[test]
fn elle_keywords_are_listed_among_other_names() {
    for anomaly in Anomaly::ALL {
        let Some(keyword) = anomaly.elle() else { continue };
        let listed =
            anomaly.called().iter().any(|c| c.by == "Elle" && c.name.contains(&format!(":{keyword}")));
        assert!(listed, "{anomaly}: {keyword}");
    }
}

#[test]
fn an_unknown_name_gets_the_nearest_one() {
    for (name, nearest) in [
        ("serialisable", Some("serializable")),
        ("snapshot-isolatoin", Some("snapshot-isolation")),
        ("Read Comitted", Some("read-committed")),
        ("wombat", None),
        ("", None),
    ] {
        assert_eq!(Level::parse(name).unwrap_err().nearest, nearest, "{name}");
    }
    let error = Level::parse("serialisable").unwrap_err().to_string();
    assert_eq!(error, "no isolation level is called `serialisable`; did you mean `serializable`?");
    assert_eq!(Anomaly::parse("write-skwe").unwrap_err().nearest, Some("write-skew"));
    assert_eq!(Level::parse("write-skew").unwrap_err().nearest, None, "an anomaly is no level");
}

#[test]
fn implication_is_an_order_generated_by_the_edges() {
    for (a, b) in pairs() {
        assert!(a != b || a.implies(b), "{a} implies itself");
        assert!(a == b || !a.implies(b) || !b.implies(a), "{a} and {b} are the same");
        assert!(!a.implies(b) || b <= a, "{b} comes before {a}");
        for c in Level::ALL {
            assert!(!a.implies(b) || !b.implies(c) || a.implies(c), "{a}, {b}, {c}");
        }
        let between = Level::ALL.into_iter().any(|c| c != a && c != b && a.implies(c) && c.implies(b));
        let covers = a != b && a.implies(b) && !between;
        assert_eq!(a.covers().any(|weaker| weaker == b), covers, "{a} and {b}");
        assert_eq!(b.covered_by().any(|stronger| stronger == a), covers, "{a} and {b}");
    }
}

/// Whether only a predicate read separates two levels: adya-pl-2.99 is adya-pl-3 without the
/// anti-dependencies of predicates. The only example with a range does not separate it from all of them.
fn differ_in_predicates(a: Level, b: Level) -> bool {
    a == Level::AdyaPl299 && Level::AdyaPl3.implies(b) && !a.implies(b)
}

/// The lattice has no edge too many and none too few: for each pair without implication some history
/// separates the levels, and no history contradicts an implication.
#[test]
fn examples_separate_all_levels_that_do_not_imply_each_other() {
    let mut wrong = Vec::new();
    for (a, b) in pairs().filter(|&(a, b)| !differ_in_predicates(a, b)) {
        let separated = examples().any(|e| e.satisfies(a) == Some(true) && e.satisfies(b) == Some(false));
        if separated == a.implies(b) {
            wrong.push(format!("{a} and {b}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_first_example_of_a_level_is_forbidden_and_some_example_is_allowed_below() {
    for level in Level::ALL {
        assert!(level.examples().iter().all(|e| e.satisfies(level) == Some(false)), "{level}");
        for weaker in level.covers().filter(|&weaker| !differ_in_predicates(weaker, level)) {
            assert!(level.examples().iter().any(|e| e.satisfies(weaker) == Some(true)), "{level}, {weaker}");
        }
    }
}

#[test]
fn claims_do_not_contradict_themselves() {
    for example in examples() {
        let text = example.notation;
        for (a, b) in pairs().filter(|(a, b)| a.implies(*b)) {
            assert!(!(example.holds.contains(&a) && example.violated.contains(&b)), "{text}: {a}, {b}");
        }
        for side in [example.holds, example.violated] {
            let minimal = side.iter().all(|a| side.iter().all(|b| a == b || !a.implies(*b)));
            assert!(minimal && !side.is_empty(), "{text}: {side:?}");
        }
    }
}

/// Several entries may use the same history, but its verdicts are the same everywhere.
#[test]
fn a_history_has_one_set_of_verdicts() {
    for (a, b) in examples().flat_map(|a| examples().map(move |b| (a, b))) {
        if a.notation == b.notation {
            let differ = Level::ALL.into_iter().find(
                |&level| matches!((a.satisfies(level), b.satisfies(level)), (Some(a), Some(b)) if a != b),
            );
            assert_eq!(differ, None, "{}", a.notation);
        }
    }
}

#[test]
fn every_example_can_be_read() {
    for example in examples() {
        let history = notation::parse(example.notation);
        assert!(history.is_ok_and(|history| history.txn_count() > 0), "{}", example.notation);
    }
}

#[test]
fn stronger_levels_forbid_more() {
    for (a, b) in pairs().filter(|(a, b)| a.implies(*b)) {
        for anomaly in Anomaly::ALL {
            assert!(!b.forbids(anomaly) || a.forbids(anomaly), "{a}, {b}, {anomaly}");
        }
    }
}

/// If a level forbids an anomaly, an example of the anomaly violates it; if the level has session order, the
/// first example does.
#[test]
fn anomalies_are_forbidden_where_their_examples_are_violated() {
    for anomaly in Anomaly::ALL {
        assert!(Level::ALL.into_iter().any(|level| level.forbids(anomaly)), "{anomaly}");
        assert!(Level::StrictSerializable.forbids(anomaly), "{anomaly}");
        let weakest = anomaly.forbidden_from();
        assert!(weakest.iter().all(|a| weakest.iter().all(|b| a == b || !a.implies(*b))), "{anomaly}");
        for level in Level::ALL {
            let violated = |example: &Example| example.satisfies(level) == Some(false);
            let shown = match level {
                _ if !level.has_sessions() => anomaly.examples().iter().any(violated),
                _ => violated(&anomaly.examples()[0]),
            };
            assert!(!level.forbids(anomaly) || shown, "{anomaly} at {level}");
        }
    }
    assert!(!Level::ReadCommitted.forbids(Anomaly::NonRepeatableRead));
    let only = |anomaly| anomaly == Anomaly::NonRepeatableRead;
    assert!(Anomaly::ALL.into_iter().all(|anomaly| Level::CutIsolation.forbids(anomaly) == only(anomaly)));
}

#[test]
fn the_drawing_shows_every_common_level_once_and_the_stronger_above() {
    let rows = |level: Level| -> Vec<usize> {
        let words = |line: &str| line.split([' ', '─']).any(|word| word == level.name());
        DRAWING.lines().enumerate().filter(|(_, line)| words(line)).map(|(row, _)| row).collect()
    };
    assert!(
        Level::ALL.into_iter().all(|level| rows(level).len() == usize::from(level.is_common())),
        "{DRAWING}"
    );
    let common = |edge: &&Edge| edge.stronger.is_common() && edge.weaker.is_common();
    assert!(EDGES.iter().filter(common).all(|edge| rows(edge.stronger) < rows(edge.weaker)));
}

#[test]
fn entries_are_complete() {
    for level in Level::ALL {
        assert!(!level.sources().is_empty() && !level.axioms().is_empty() && !level.examples().is_empty());
    }
    for anomaly in Anomaly::ALL {
        assert!(!anomaly.sources().is_empty() && !anomaly.see_also().contains(&anomaly), "{anomaly}");
    }
}

/// The definitions in `docs/` and the catalogue have the same entries.
#[test]
fn the_documents_name_every_level_and_anomaly() {
    let text =
        [include_str!("../../../docs/levels.md"), include_str!("../../../docs/finer-levels.md")].concat();
    let named = |name: &str| {
        let part_of_a_word = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
        text.match_indices(name).any(|(at, _)| {
            !text[..at].ends_with(part_of_a_word)
                && !text[at + name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-')
        })
    };
    for name in Level::ALL.map(Level::name).into_iter().chain(Anomaly::ALL.map(Anomaly::name)) {
        assert!(named(name), "{name} is not in docs/levels.md");
    }
}

#[test]
fn portability_levels_are_those_with_adyas_names() {
    for level in Level::ALL {
        assert_eq!(level.is_portability_level(), level.name().starts_with("adya-"), "{level}");
        assert!(!(level.is_portability_level() && level.has_sessions()), "{level}");
    }
}

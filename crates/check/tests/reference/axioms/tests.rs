//! The reference on histories whose verdicts are known: the literature's, the catalogue's, and some on the clock.

use isoscope_history::{NO_EVENT, NO_TIME};
use isoscope_levels::Level;

use super::{LEVELS, holds};

/// The classics of docs/levels.md and of the literature, each with the weakest levels that it violates: it violates those
/// that imply one of them and no others.
#[test]
fn the_reference_knows_the_classics() {
    use isoscope_history::notation::parse;
    let unrepeatable = "cut-isolation";
    for (text, weakest) in [
        ("T1: w(x,1)  T2: r(x,1)", ""),
        ("T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)", "adya-pl-2.99 pl-3u"),
        ("T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)", "pl-cs"),
        ("T1: w(x,1)  T2: w(y,1)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,1)", "prefix pl-si adya-pl-2.99"),
        ("T1: w(x,1)  T2: r(x,1) w(y,1)  T3: r(y,1) r(x,0)", "causal pl-2l adya-pl-2.99"),
        ("T1: w(x,1) w(y,1)  T2: r(x,0) r(y,1)", "read-atomic pl-2+ adya-pl-2.99"),
        ("T1: r(x,0) w(x,1) ; T2: r(x,0)", "read-atomic"),
        ("T1: w(x,1) w(y,1)  T2: r(y,1) r(x,0)", "mav adya-pl-2.99"),
        ("T1: r(x,1) ; T2: w(x,1)", "ss-pl-2"),
        ("T1: w(x,1)  T2: w(x,2)  T3: r(x,1) r(x,2)", unrepeatable),
        ("T1: w(x,1)  T2: r(x,0) r(x,1) w(x,2) r(x,2)", "cut-isolation pl-cs"),
        ("T1: w(x,1) w(x,2)  T3: r(x,1) r(x,2)", "adya-pl-2"),
        ("T1: w(x,1) r(x,0)", "adya-pl-2"),
        ("T1!: w(x,1)  T2: r(x,1)", "adya-pl-2"),
        ("T1: r(x,1) w(y,1)  T2: r(y,1) w(x,1)", "adya-pl-2"),
        // Sessions are nothing to Adya's levels.
        ("T1: w(y,1) ; T2: r(x,0)  T3: r(y,0) w(x,2)", "serializable"),
        ("T1: w(x,1) ; T2: r(x,0)", "read-atomic"),
        // Prefix and parallel snapshot isolation together are less than snapshot isolation.
        ("T1: r(x,0) w(x,1)  T2: r(y,0) w(x,2)  T3: w(y,3)  T4: r(y,3) r(x,0)", "pl-si pl-3u adya-pl-2.99"),
        // Unknown outcomes: who is read is present, who is not need not be.
        ("T1?: w(x,1)  T2: r(x,1) ; T3: r(x,0)", "causal"),
        ("T1?: w(x,1) r(y,7)  T2: r(x,0)", ""),
        ("T1?: w(x,1) r(y,7)  T2: r(x,1)", "adya-pl-2"),
        ("T1?: w(x,1)  T2: r(x,0) r(x,1)", unrepeatable),
        ("T1: r(x,0) w(x,1)  T2?: r(x,0) w(x,2)", ""),
        ("T1: r(x,0) w(x,1)  T2?: r(x,0) w(x,2) w(y,1)  T3: r(y,1)", "pl-cs"),
        // Repeated values: one choice of writers is enough.
        ("T1: w(x,1) w(y,1)  T2: w(x,1) w(y,2)  T3: r(x,1) r(y,2)", ""),
        ("T1: w(x,1) w(y,1)  T2: w(x,1) w(y,2)  T3: r(y,1) r(y,2) r(x,1)", unrepeatable),
        ("T1: r(x,0) w(x,1)  T2: w(x,0)  T3: r(x,0) w(x,2)", ""),
        ("T1: r(x,0) w(x,1)  T2: w(x,0)  T3: r(x,0) w(x,2)  T4: r(x,0) w(x,3)", "pl-cs"),
        (
            "T1: w(x,1)  T2: w(x,1)  T3: w(y,1)  T4: r(x,1) r(y,0)  T5: r(x,0) r(y,1)",
            "prefix pl-si adya-pl-2.99",
        ),
        ("T1?: w(x,1)  T2?: w(x,1) r(y,7)  T3: r(x,1)", ""),
        // Real time.
        ("T1@0-1: w(x,1)  T2@2-3: r(x,0)", "ssi"),
        ("T1@0-5: r(x,0) w(y,1)  T2@1-2: w(x,2)  T3@3-4: r(y,0)", "sser"),
        ("T1@0-2: w(x,1)  T2@2-3: r(x,0)", ""),
        ("T1@0-: w(x,1)  T2@2-3: r(x,0)", ""),
        ("T1@0-1: w(x,1)  T2: r(x,0)", ""),
        ("T1?@0-1: w(x,1)  T2@2-3: r(x,0)  T3@4-5: r(x,1)", ""),
        ("T1@0-1: w(x,1)  T2?@2-3: r(x,0) w(y,1)  T3: r(y,1)", "ssi"),
        ("T1@2-3: w(x,1) ; T2@0-1: w(x,2)", "s-pl-1"),
        ("T1@0-1: w(x,1)  T2@2-3: w(x,1)  T3@4-5: r(x,1)", ""),
        ("T1@0-1: w(x,1)  T2@2-3: w(x,2)  T3@4-5: r(x,1)", "ssi"),
        // Lists.
        ("T1: a(x,1)  T2: r(x,[1])  T3: a(x,2) r(x,[2])", "adya-pl-2"),
        ("T1: a(x,1)  T3: a(x,2) r(x,[2])", ""),
        ("T1: a(x,1) ; T3: a(x,2) r(x,[2])", "ss-pl-2"),
        ("T1: a(x,1) r(x,[1])  T2: a(x,2) r(x,[2])", "adya-pl-2"),
        ("T1: a(x,1) a(x,3)  T2: a(x,2) r(x,[1 2 3])", "adya-pl-1"),
        ("T1: a(x,1)  T2: a(x,2) r(x,[1 2 3])  T3: a(x,3)", "adya-pl-2"),
        ("T1: a(x,1) a(x,2) r(x,[2 1])", "adya-pl-2"),
        ("T1: a(x,1) a(x,2) r(x,[2 3 1])  T2: a(x,3)", "adya-pl-1"),
        ("T1: a(x,1) a(x,2)  T2: a(x,3)  T3: r(x,[1 3])", "adya-pl-2"),
        ("T1: a(x,1) a(x,3) a(x,4)  T2: a(x,2)  T3: r(x,[3 2 4])", "adya-pl-1"),
        ("T1: a(x,1) a(y,1)  T2: a(x,2) a(y,2)  T3: r(x,[2]) r(y,[1 2])", "adya-pl-2"),
        ("T1: a(x,1) a(x,2)  T2: a(x,3)  T3: r(x,[2 3])", "adya-pl-2"),
        ("T1: a(x,1)  T2: a(x,2) r(x,[1 2])  T3: r(x,[]) r(x,[1])", unrepeatable),
        ("T1: a(x,1) ; T2: a(x,2)  T3: r(x,[2 1])", "ss-pl-1"),
        ("T1: a(x,1) a(y,1)  T2: a(x,2) a(y,2)  T3: r(x,[1 2])  T4: r(y,[2 1])", "adya-pl-1"),
        ("T1: a(x,1) r(y,1)  T2: a(x,2)  T3: r(x,[2]) w(y,1)", ""),
        ("T1: a(x,1) a(x,2)  T2: r(x,[1])", "adya-pl-2"),
        ("T1: a(x,1)  T2: r(x,[1 1])", "adya-pl-2"),
        ("T1?: a(x,1)  T2: a(x,2)  T3: r(x,[1 2])", ""),
        ("T1?: a(x,1)  T2: a(x,2)  T3: r(x,[2])", ""),
        ("T1: a(x,1)  T2: a(x,2)  T3: r(x,[2]) ; T4: r(x,[1 2])", "adya-pl-2"),
        ("T1: r(x,[]) a(x,1)  T2: r(x,[]) a(x,2)  T3: r(x,[1 2])", "pl-cs"),
        // Adya's and Bailis et al.'s finer levels.
        ("T1: a(x,1)  T2: r(x,[]) a(x,2)  T3: r(x,[1 2])", "pl-cs"),
        ("T1: a(x,1) a(y,1)  T2: r(x,[]) a(y,2)  T3: r(y,[1 2])", "ua pl-2+ adya-pl-2.99"),
        ("T1: a(x,1) a(y,1)  T2: a(y,2) r(x,[])  T3: r(y,[1 2])", "ua pl-2l adya-pl-2.99"),
        ("T1: a(x,1) a(y,1)  T2: a(y,2) r(x,[]) a(y,3)  T3: r(y,[1 2 3])", "ua pl-2+ adya-pl-2.99"),
        (
            "T1: w(x,1)  T2: w(y,1)  T3: r(x,1) r(y,0) w(z,1)  T4: r(x,0) r(y,1)",
            "prefix pl-si pl-3u adya-pl-2.99",
        ),
        ("T1@0-1: r(x,1)  T2@2-3: w(x,1)", "s-pl-2"),
        ("T1@0-1: a(x,1)  T2@2-3: a(x,2)  T3@4-5: r(x,[2 1])", "s-pl-1"),
    ] {
        let history = parse(text).unwrap();
        let weakest: Vec<Level> =
            weakest.split_whitespace().map(|name| Level::parse(name).unwrap()).collect();
        for level in LEVELS {
            let expected = !weakest.iter().any(|&weaker| level.implies(weaker));
            assert_eq!(holds(&history, level), expected, "{level} of {text}");
        }
    }
}

/// The examples of the catalogue, at the levels that they name and at those that follow.
#[test]
fn the_reference_agrees_with_the_catalogue() {
    for example in Level::ALL.into_iter().flat_map(Level::examples) {
        let history = isoscope_history::notation::parse(example.notation).unwrap();
        let history = history.expand_ranges().unwrap().unwrap_or(history);
        for level in LEVELS {
            if example.holds.iter().any(|stronger| stronger.implies(level)) {
                assert!(holds(&history, level), "{level} of {}", example.notation);
            }
            if example.violated.iter().any(|&weaker| level.implies(weaker)) {
                assert!(!holds(&history, level), "{level} of {}", example.notation);
            }
        }
    }
}

/// The clock is what was recorded: events if there are any, else times.
#[test]
fn real_time_is_that_of_events_and_else_that_of_times() {
    use isoscope_history::Builder;
    let strict = |events: [Option<(u32, u32)>; 2], times: [Option<(i64, i64)>; 2]| {
        let mut b = Builder::new();
        for i in 0..2 {
            let txn = b.session(i as u32).txn();
            let txn = if i == 0 { txn.write("x", 1) } else { txn.read("x", 0) };
            let txn = match events[i] {
                Some((invoke, complete)) => txn.events(invoke, complete),
                None => txn,
            };
            if let Some((invoke, complete)) = times[i] {
                txn.times(invoke, complete);
            }
        }
        holds(&b.finish(), Level::StrictSnapshot)
    };
    let none = [None, None];
    assert!(!strict(none, [Some((0, 1)), Some((2, 3))]));
    assert!(strict(none, [Some((0, 1)), Some((1, 3))]));
    assert!(strict(none, [Some((0, 1)), None]));
    assert!(strict(none, [Some((0, 1)), Some((NO_TIME, 3))]));
    assert!(strict(none, [Some((0, NO_TIME)), Some((2, 3))]));
    assert!(!strict([None, None], [Some((-5, -4)), Some((-3, NO_TIME))]));
    assert!(strict([Some((0, 2)), Some((1, 3))], [Some((0, 1)), Some((2, 3))]));
    assert!(strict([Some((0, 1)), None], [Some((0, 1)), Some((2, 3))]));
    assert!(!strict([Some((0, 1)), Some((2, NO_EVENT))], [Some((2, 3)), Some((0, 1))]));
    assert!(strict([Some((0, 1)), Some((NO_EVENT, 3))], [None, None]));
}

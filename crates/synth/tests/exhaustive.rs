//! Four answers to one question, on all small histories: does a level allow this history? The evaluator of the level language
//! and the brute-force reference judge every single witness; the SAT search finds one or none; and the engines of `check` decide.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod brute;

use brute::{Tiny, Witness};
use isoscope_check::{Checker, Options, Unknown, Verdict};
use isoscope_history::notation;
use isoscope_levels::language::{Definition, Library};
use isoscope_levels::{Framework, Level};
use isoscope_synth::{Evidence, SmallHistory, allows, satisfies};

/// The level of the catalogue that a definition defines, if any.
fn level(definition: &Definition) -> Option<Level> {
    match (definition.name.as_str(), definition.framework) {
        ("read-committed", Framework::States) => Some(Level::AdyaPl2),
        ("plume-read-committed", _) => Some(Level::ReadCommitted),
        ("plume-read-atomic", _) => Some(Level::ReadAtomic),
        ("plume-causal", _) => Some(Level::Causal),
        (name, _) => Level::ALL.into_iter().find(|level| level.name() == name),
    }
}

fn is_about(definition: &Definition, word: &str) -> bool {
    definition.axioms.iter().any(|axiom| format!("{:?}", axiom.formula).contains(word))
}

/// The definitions, sorted by what they are about.
struct Definitions {
    /// Neither real time nor the order of reads.
    plain: Vec<&'static Definition>,
    read_order: Vec<&'static Definition>,
    real_time: Vec<&'static Definition>,
}

impl Definitions {
    fn new() -> Definitions {
        let all = Library::shipped().definitions().iter();
        let (real_time, others): (Vec<_>, Vec<_>) = all.partition(|one| is_about(one, "Rt"));
        let (read_order, plain) = others.into_iter().partition(|one| is_about(one, "ReadsBefore"));
        Definitions { plain, read_order, real_time }
    }
}

/// A witness in the form that the evaluator takes. It calls the key x that the text of the history mentions first.
fn evidence(framework: Framework, tiny: &Tiny, witness: &Witness, text: &str) -> Evidence {
    let has_vis = framework == Framework::Visibility;
    let txns = 1..=tiny.txns;
    let pairs = txns.clone().flat_map(|from| txns.clone().map(move |to| (from, to)));
    let is_swapped = text.find("(y,").is_some_and(|y| text.find("(x,").is_none_or(|x| y < x));
    let names = if is_swapped { ["y", "x"] } else { ["x", "y"] }.map(str::to_owned);
    Evidence {
        framework,
        order: witness.order.clone(),
        visible: pairs.filter(|&(from, to)| has_vis && brute::has(witness.vis, from, to)).collect(),
        sees_initial: if has_vis { txns.collect() } else { Vec::new() },
        versions: names.into_iter().zip(witness.versions.iter().cloned()).collect(),
    }
}

/// Compares the four answers for one history.
fn compare(tiny: &Tiny, sessions: &[&[usize]], definitions: &[&'static Definition]) {
    let text = tiny.notation(sessions);
    let history = notation::parse(&text).unwrap();
    let small = SmallHistory::of(&history).unwrap();
    let mut checker = Checker::new(&history, Options::default());
    let witnesses = |framework| match framework {
        Framework::Visibility => Witness::visibilities(tiny),
        Framework::Dependencies => Witness::versions(tiny),
        _ => Witness::orders(tiny),
    };
    for framework in Framework::LANGUAGE {
        let all = witnesses(framework);
        let converted: Vec<Evidence> = all.iter().map(|one| evidence(framework, tiny, one, &text)).collect();
        for definition in definitions.iter().filter(|one| one.framework == framework) {
            let name = format!("{text}: {}@{}", definition.name, framework.keyword());
            let mut is_allowed = false;
            for (witness, evidence) in all.iter().zip(&converted) {
                let by_hand = brute::allows(&definition.name, framework, tiny, witness);
                let by_hand = by_hand.unwrap_or_else(|| panic!("{name} is not in the reference"));
                assert_eq!(satisfies(definition, &small, evidence), by_hand, "{name}: {witness:?}");
                is_allowed |= by_hand;
            }
            let found = allows(definition, &small, &mut || false).unwrap();
            assert_eq!(found.is_some(), is_allowed, "{name}: the search");
            if let Some(evidence) = found {
                assert!(satisfies(definition, &small, &evidence), "{name}: {evidence:?}");
            }
            let Some(level) = level(definition) else { continue };
            let holds = match checker.check(level).verdict {
                // If no read is related to a write, every level allows the history.
                Verdict::Holds(_) | Verdict::Unknown(Unknown::NothingToCheck) => true,
                Verdict::Violated(_) => false,
                verdict @ Verdict::Unknown(_) => panic!("{name}: {verdict:?}"),
            };
            assert_eq!(holds, is_allowed, "{name}: the engine");
        }
    }
}

/// All histories of some sessions over two keys, or every one in so many.
fn compare_all(sessions: &[&[usize]], step: usize) -> usize {
    let definitions = Definitions::new();
    let mut count = 0;
    for tiny in Tiny::all(sessions, 2).iter().step_by(step) {
        compare(tiny, sessions, &definitions.plain);
        for tiny in tiny.read_orders() {
            compare(&tiny, sessions, &definitions.read_order);
        }
        count += 1;
    }
    count
}

#[test]
fn histories_of_two_transactions() {
    assert!(compare_all(&[&[1]], 1) > 5);
    assert!(compare_all(&[&[1], &[2]], 1) > 100);
    assert!(compare_all(&[&[1, 2]], 1) > 100);
}

/// Some of the next test's.
#[test]
fn histories_of_three_transactions() {
    for sessions in [[&[1, 2][..], &[3]], [&[1, 2, 3][..], &[]]] {
        let sessions: Vec<&[usize]> = sessions.into_iter().filter(|session| !session.is_empty()).collect();
        assert!(compare_all(&sessions, 211) > 100);
    }
}

#[test]
#[ignore = "takes minutes"]
fn all_histories_of_three_transactions_in_two_sessions() {
    for sessions in [[&[1, 2][..], &[3]], [&[1, 2, 3][..], &[]]] {
        let sessions: Vec<&[usize]> = sessions.into_iter().filter(|session| !session.is_empty()).collect();
        assert!(compare_all(&sessions, 1) > 20_000);
    }
}

/// When each transaction is invoked and returns.
type Times = [(u8, u8); 4];

/// All orders in real time of some transactions, each by one choice of times.
fn all_times(txns: usize) -> Vec<Times> {
    let intervals = || (0..6).flat_map(|begin| (begin + 1..6).map(move |end| (begin, end)));
    let mut found: Vec<(Times, Vec<bool>)> = Vec::new();
    for first in intervals() {
        for second in intervals() {
            for third in intervals() {
                let times = [(0, 0), first, second, third];
                let pairs = (1..=txns).flat_map(|from| (1..=txns).map(move |to| (from, to)));
                let order: Vec<bool> = pairs.map(|(from, to)| times[from].1 < times[to].0).collect();
                if found.iter().all(|(_, other)| *other != order) {
                    found.push((times, order));
                }
            }
        }
    }
    found.into_iter().map(|(times, _)| times).collect()
}

#[test]
fn histories_with_times() {
    let definitions = Definitions::new();
    let cases: [(&[&[usize]], usize, usize, usize); 4] = [
        (&[&[1], &[2]], 2, 1, 3),
        (&[&[1, 2]], 2, 1, 3),
        (&[&[1], &[2], &[3]], 1, 3, 19),
        (&[&[1, 2], &[3]], 1, 3, 19),
    ];
    for (sessions, keys, step, orders) in cases {
        let times = all_times(sessions.concat().len());
        assert_eq!(times.len(), orders);
        for (i, tiny) in Tiny::all(sessions, keys).into_iter().enumerate().step_by(step) {
            for (j, &times) in times.iter().enumerate() {
                let is_session = |pair: &[usize]| times[pair[0]].1 <= times[pair[1]].0;
                // A session runs one transaction after the other.
                if (i + j) % step == 0 && sessions.iter().all(|one| one.windows(2).all(is_session)) {
                    compare(&Tiny { times: Some(times), ..tiny.clone() }, sessions, &definitions.real_time);
                }
            }
        }
    }
}

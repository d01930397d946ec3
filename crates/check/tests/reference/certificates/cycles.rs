//! Cycles of the weak levels: every edge has a reason that is looked up, and the cycle has the shape of its name.
//!
//! Good cycles are broken in every way there is, one at a time, and must be refused for that reason.

use isoscope_check::{Against, Finding, Judgement, Limit, Unknown, Verdict};
use isoscope_history::notation;
use isoscope_levels::{Anomaly, Level};
use isoscope_verify::verify;

use super::{E, Y, accept, cycle, finding, read, refuse, violated};

/// A history, the weakest level it violates, and the cycle that shows it: its name, the order it contradicts,
/// and its edges.
type Shown = (&'static str, Level, Anomaly, Option<Against>, Vec<E>);

/// Cycles that show what they are called.
fn cycles() -> Vec<Shown> {
    use Y::{Missing, SeenByRead, SeenCausally, SeenInSession, So, Versions, Wr};
    let (causal, commit) = (Some(Against::Causal), Some(Against::Commit));
    vec![
        (
            "T1: r(x,1) w(y,1)  T2: r(y,1) w(x,1)",
            Level::AdyaPl2,
            Anomaly::CyclicCausality,
            None,
            vec![E(1, 2, Wr((2, 0))), E(2, 1, Wr((1, 0)))],
        ),
        (
            "T1: r(x,1) ; T2: w(x,1)",
            Level::ReadCommitted,
            Anomaly::CyclicCausality,
            None,
            vec![E(1, 2, So), E(2, 1, Wr((1, 0)))],
        ),
        (
            "T1: a(x,1) a(y,1)  T2: a(x,2) a(y,2)  T3: r(x,[1 2])  T4: r(y,[2 1])",
            Level::AdyaPl1,
            Anomaly::DirtyWrite,
            None,
            vec![E(1, 2, Versions((3, 0), 1)), E(2, 1, Versions((4, 0), 1))],
        ),
        (
            "T1: a(x,1) r(y,1)  T2: a(x,2) w(y,1)  T3: r(x,[1 2])",
            Level::AdyaPl2,
            Anomaly::CircularInformationFlow,
            None,
            vec![E(1, 2, Versions((3, 0), 1)), E(2, 1, Wr((1, 1)))],
        ),
        (
            "T1: a(x,1) ; T2: a(x,2)  T3: r(x,[2])",
            Level::ReadCommitted,
            Anomaly::LostAppend,
            None,
            vec![E(2, 1, Missing((3, 0), (1, 0))), E(1, 2, So)],
        ),
        (
            "T1: w(x,1) w(y,1)  T2: r(y,1) r(x,0)",
            Level::ReadCommitted,
            Anomaly::NonMonotonicRead,
            causal,
            vec![E(1, 0, SeenByRead((2, 1), (2, 0))), E(0, 1, So)],
        ),
        (
            "T1: w(x,1) w(y,1)  T2: w(x,2) w(y,2)  T3: r(x,1) r(y,2)  T4: r(y,2) r(x,1)",
            Level::ReadCommitted,
            Anomaly::NonMonotonicRead,
            commit,
            vec![E(2, 1, SeenByRead((4, 1), (4, 0))), E(1, 2, SeenByRead((3, 1), (3, 0)))],
        ),
        (
            "T1: w(x,1) w(y,1)  T2: r(x,0) r(y,1)",
            Level::ReadAtomic,
            Anomaly::FracturedRead,
            causal,
            vec![E(1, 0, SeenByRead((2, 0), (2, 1))), E(0, 1, So)],
        ),
        (
            "T1: r(x,0) w(x,1) ; T2: r(x,0)",
            Level::ReadAtomic,
            Anomaly::StaleSessionRead,
            causal,
            vec![E(1, 0, SeenInSession((2, 0))), E(0, 1, So)],
        ),
        (
            "T1: w(x,1)  T2: r(x,1) w(y,1)  T3: r(y,1) r(x,0)",
            Level::Causal,
            Anomaly::CausalityViolation,
            causal,
            vec![E(1, 0, SeenCausally((3, 1), vec![E(1, 2, Wr((2, 0))), E(2, 3, Wr((3, 0)))])), E(0, 1, So)],
        ),
        (
            "T1: w(x,1) ; T3: r(x,1) r(x,2)  T2: w(x,2) ; T4: r(x,2) r(x,1)",
            Level::Causal,
            Anomaly::ConflictingCommitOrder,
            commit,
            vec![E(2, 1, SeenCausally((4, 1), vec![E(2, 4, So)])), E(1, 2, SeenInSession((3, 1)))],
        ),
    ]
}

#[test]
fn cycles_are_what_they_are_called() {
    for (text, weakest, anomaly, against, short) in cycles() {
        let history = notation::parse(text).unwrap();
        for level in Level::ALL {
            let mut judgement = cycle(&history, level, anomaly, &short);
            let weakest: &[Level] = match (weakest, anomaly) {
                // Without sessions.
                (Level::ReadCommitted, Anomaly::NonMonotonicRead) => &[Level::MonotonicAtomicView],
                (Level::ReadAtomic, Anomaly::FracturedRead) => &[Level::ReadAtomic, Level::ConsistentView],
                (Level::Causal, Anomaly::CausalityViolation) => &[Level::Causal, Level::ConsistentView],
                // Without an axiom.
                (Level::ReadCommitted, _) => &[Level::StrongSessionPl2],
                _ => &[weakest],
            };
            let implied = weakest.iter().any(|&weakest| level.implies(weakest));
            let Verdict::Violated(findings) = &mut judgement.verdict else { unreachable!() };
            findings[0].against = against;
            if implied {
                accept(&history, &judgement);
            } else {
                assert!(verify(&history, &judgement).is_err(), "{level} {judgement:?}");
            }
        }
    }
}

#[test]
fn a_broken_cycle_is_refused() {
    for (text, level, anomaly, _, short) in cycles() {
        let history = notation::parse(text).unwrap();
        let refused = |short: &[E]| {
            let judgement = cycle(&history, level, anomaly, short);
            assert!(verify(&history, &judgement).is_err(), "accepted: {judgement:?}\n{history:?}");
        };
        for i in 0..short.len() {
            let mut dropped = short.clone();
            dropped.remove(i);
            refused(&dropped);
            for to in (0..4).filter(|&n| n != short[i].1 && (n as usize) <= history.txn_count()) {
                let mut redirected = short.clone();
                redirected[i].1 = to;
                refused(&redirected);
            }
            let mut turned = short.clone();
            (turned[i].0, turned[i].1) = (short[i].1, short[i].0);
            refused(&turned);
        }
        for other in Anomaly::ALL.into_iter().filter(|&other| other != anomaly) {
            let judgement = cycle(&history, Level::Causal, other, &short);
            let also = matches!(
                (anomaly, other),
                (Anomaly::NonMonotonicRead, Anomaly::FracturedRead)
                    | (Anomaly::LostAppend, Anomaly::CircularInformationFlow)
                    | (_, Anomaly::CausalityViolation | Anomaly::ConflictingCommitOrder)
            );
            assert!(
                also || verify(&history, &judgement).is_err(),
                "{anomaly} passes as {other}\n{history:?}"
            );
        }
    }
}

#[test]
fn every_reason_is_looked_up() {
    use Y::{Missing, SeenByRead, SeenCausally, SeenInSession, So, Versions, Wr};
    let history = notation::parse(
        "T1: w(x,1) w(y,1) ; T2: r(x,0) r(y,1) w(z,1)  T3: r(z,1) r(x,0) w(x,3)  T4!: w(x,9) w(y,9)
         T5: a(l,1)  T6: a(l,2) ; T7: r(l,[1]) r(l,[1 2]) a(l,3)  T8: r(l,[1 8])",
    )
    .unwrap();
    let refuse_edge = |level, edge: E, because| {
        refuse(&history, &cycle(&history, level, Anomaly::LostAppend, &[edge]), because);
    };
    let causal = |edge, because| refuse_edge(Level::Causal, edge, because);
    causal(E(1, 3, So), "not earlier in the same session");
    causal(E(2, 1, So), "not earlier in the same session");
    causal(E(1, 0, So), "not earlier in the same session");
    causal(E(4, 1, So), "T4 is absent");
    causal(E(1, 2, Wr((2, 0))), "is not from there");
    causal(E(1, 3, Wr((2, 1))), "is not from there");
    causal(E(1, 2, Wr((2, 2))), "is no read");
    refuse_edge(Level::AdyaPl2, E(1, 2, So), "knows no sessions");
    refuse_edge(Level::AdyaPl2, E(1, 0, SeenByRead((2, 0), (2, 1))), "forces no edges");
    let dirty = cycle(&history, Level::AdyaPl1, Anomaly::DirtyWrite, &[E(1, 2, Wr((2, 1)))]);
    refuse(&history, &dirty, "knows no reads");

    causal(E(5, 6, Versions((7, 1), 0)), "does not show one after the other");
    causal(E(5, 6, Versions((7, 1), 2)), "does not show one after the other");
    causal(E(6, 5, Versions((7, 1), 1)), "does not show one after the other");
    causal(E(5, 6, Versions((8, 0), 1)), "does not show one after the other");
    causal(E(5, 6, Versions((2, 0), 1)), "shows no versions");
    causal(E(7, 6, Missing((7, 0), (6, 0))), "holds nothing of the first");
    causal(E(5, 6, Missing((7, 1), (6, 0))), "misses no such append");
    causal(E(6, 5, Missing((7, 1), (5, 0))), "misses no such append");
    causal(E(5, 7, Missing((7, 0), (6, 0))), "misses no such append");
    causal(E(6, 3, Missing((7, 1), (3, 2))), "misses no such append");

    causal(E(1, 0, SeenByRead((2, 1), (2, 1))), "is not from there");
    causal(E(0, 1, SeenByRead((2, 1), (2, 0))), "nothing forces the initial state");
    causal(E(1, 1, SeenByRead((2, 1), (2, 1))), "three transactions are needed");
    causal(E(3, 0, SeenByRead((3, 1), (3, 0))), "three transactions are needed");
    causal(E(2, 0, SeenByRead((3, 1), (3, 0))), "does not write the key");
    causal(E(3, 0, SeenByRead((2, 0), (2, 1))), "is not from there");
    causal(E(3, 0, SeenInSession((2, 0))), "not earlier in the same session");
    let stale = E(1, 0, SeenByRead((2, 0), (2, 1)));
    refuse_edge(Level::ReadCommitted, stale, "only earlier reads count");
    refuse_edge(Level::ReadCommitted, E(1, 0, SeenInSession((2, 0))), "has no such axiom");
    let path = vec![E(1, 2, So), E(2, 3, Wr((3, 0)))];
    refuse_edge(Level::ReadAtomic, E(1, 0, SeenCausally((3, 1), path.clone())), "has no such axiom");
    causal(E(1, 0, SeenCausally((3, 1), path[..1].to_vec())), "between other transactions");
    causal(E(1, 0, SeenCausally((3, 1), path[1..].to_vec())), "between other transactions");
    causal(E(1, 0, SeenCausally((3, 1), Vec::new())), "between other transactions");
    let crooked = vec![E(1, 2, SeenInSession((2, 0))), path[1].clone()];
    causal(E(1, 0, SeenCausally((3, 1), crooked)), "other than causal");
    let jump = vec![path[0].clone(), E(0, 3, So)];
    causal(E(1, 0, SeenCausally((3, 1), jump)), "does not begin where the one before ends");
}

#[test]
fn a_cycle_is_closed_and_begins_with_what_is_forced() {
    use Y::{SeenByRead, So};
    let history = notation::parse("T1: w(x,1) w(y,1)  T2: r(y,1) r(x,0)").unwrap();
    let (forced, back) = (E(1, 0, SeenByRead((2, 1), (2, 0))), E(0, 1, So));
    let check = |short: &[E], against| {
        let mut judgement = cycle(&history, Level::ReadCommitted, Anomaly::NonMonotonicRead, short);
        let Verdict::Violated(findings) = &mut judgement.verdict else { unreachable!() };
        findings[0].against = against;
        judgement
    };
    accept(&history, &check(&[forced.clone(), back.clone()], Some(Against::Causal)));
    refuse(&history, &check(&[forced.clone(), back.clone()], Some(Against::Commit)), "the other one");
    refuse(&history, &check(&[back.clone(), forced.clone()], None), "first edge is not the forced one");
    refuse(&history, &check(std::slice::from_ref(&forced), None), "not closed");
    refuse(&history, &check(&[], None), "empty cycle");
    refuse(
        &history,
        &check(&[forced.clone(), forced, back], None),
        "does not begin where the one before ends",
    );
}

#[test]
fn a_violation_has_counted_instances_and_a_level_that_forbids_them() {
    let history = notation::parse("T1: r(x,7)  T2: r(x,0)").unwrap();
    let good = finding(Anomaly::ThinAirRead, read(&history, (1, 0), None));
    accept(&history, &violated(Level::Causal, vec![good.clone()]));
    accept(&history, &violated(Level::Causal, vec![Finding { count: 5, ..good.clone() }]));
    refuse(&history, &violated(Level::Causal, Vec::new()), "without an anomaly");
    refuse(&history, &violated(Level::Causal, vec![Finding { count: 0, ..good.clone() }]), "than counted");
    let none = Finding { instances: Vec::new(), ..good.clone() };
    refuse(&history, &violated(Level::Causal, vec![none]), "no instance");
    let against = Finding { against: Some(Against::Causal), ..good.clone() };
    refuse(&history, &violated(Level::Causal, vec![against]), "no order is contradicted");
    let second = finding(Anomaly::ThinAirRead, read(&history, (2, 0), None));
    refuse(&history, &violated(Level::Causal, vec![good.clone(), second]), "is right by itself");

    let implied = |level, by| Judgement { implied_by: Some(by), ..violated(level, vec![good.clone()]) };
    accept(&history, &implied(Level::Causal, Level::AdyaPl2));
    accept(&history, &implied(Level::StrictSerializable, Level::ReadCommitted));
    refuse(&history, &implied(Level::AdyaPl2, Level::Causal), "does not imply");
    refuse(&history, &implied(Level::Causal, Level::Causal), "does not imply");
    refuse(&history, &implied(Level::ReadCommitted, Level::CutIsolation), "does not imply");
    let inherited = Judgement {
        implied_by: Some(Level::AdyaPl2),
        ..Judgement {
            level: Level::Causal,
            verdict: Verdict::Unknown(Unknown::Limit(Limit::Time)),
            implied_by: None,
        }
    };
    refuse(&history, &inherited, "only a violation is inherited");
}

//! The verifier by itself: certificates written by hand that it must accept, broken ones that it must refuse,
//! and ones made for another history, of which it may accept only those that prove a violation.

use std::collections::BTreeSet;
use std::sync::Arc;

use isoscope_check::{
    Against, Checker, Edge, Evidence, Finding, Instance, Judgement, Node, Options, Seen, Through, Unknown,
    Verdict, Why, Witness, verify,
};
use isoscope_history::{History, Op, Txn, notation};
use isoscope_levels::{Anomaly, Level};

use crate::axioms;
use crate::axioms::WEAK;
use crate::plan::{Plan, Step, build};
use crate::random::{Dice, draw_small};

/// The transaction called `Tn`; 0 is the initial state.
fn node(history: &History, n: u32) -> Node {
    match n {
        0 => Node::Initial,
        n => Node::Txn(txn(history, n)),
    }
}

fn txn(history: &History, n: u32) -> Txn {
    history.txns().find(|&txn| history.txn_name(txn).as_small() == Some(n)).expect("the history has it")
}

/// A place in the notation: the operation `.1` of `Tn`, counted from 0.
type Place = (u32, usize);

fn op(history: &History, (n, index): Place) -> Op {
    Op::at(history.op_range(txn(history, n)).start + index)
}

/// An edge in short: from, to, and the reason.
#[derive(Clone)]
struct E(u32, u32, Y);

/// A reason in short.
#[derive(Clone)]
enum Y {
    So,
    Wr(Place),
    Versions(Place, u32),
    Missing(Place, Place),
    SeenByRead(Place, Place),
    SeenInSession(Place),
    SeenCausally(Place, Vec<E>),
}

fn edges(history: &History, short: &[E]) -> Vec<Edge> {
    let edge = |E(from, to, why): &E| {
        let why = match why {
            Y::So => Why::Session,
            Y::Wr(read) => Why::ReadFrom { read: op(history, *read) },
            Y::Versions(read, index) => Why::Versions { read: op(history, *read), index: *index },
            Y::Missing(read, append) => {
                Why::Missing { read: op(history, *read), append: op(history, *append) }
            }
            Y::SeenByRead(read, seen) => forced(history, *read, Seen::Read(op(history, *seen))),
            Y::SeenInSession(read) => forced(history, *read, Seen::Session),
            Y::SeenCausally(read, path) => forced(history, *read, Seen::Causal(edges(history, path))),
        };
        Edge { from: node(history, *from), to: node(history, *to), why }
    };
    short.iter().map(edge).collect()
}

fn forced(history: &History, read: Place, seen: Seen) -> Why {
    Why::Forced { read: op(history, read), seen }
}

fn finding(anomaly: Anomaly, evidence: Evidence) -> Finding {
    let instances = vec![Instance { evidence, component: None }];
    Finding { anomaly, against: None, through: Through::default(), count: 1, components: 0, instances }
}

fn violated(level: Level, findings: Vec<Finding>) -> Judgement {
    Judgement { level, verdict: Verdict::Violated(findings), implied_by: None }
}

fn read(history: &History, read: Place, write: Option<Place>) -> Evidence {
    Evidence::Read { read: op(history, read), write: write.map(|write| op(history, write)) }
}

fn pair(history: &History, first: Place, second: Place) -> Evidence {
    Evidence::Pair { first: op(history, first), second: op(history, second) }
}

fn holds(level: Level, order: &[Txn]) -> Judgement {
    Judgement { level, verdict: Verdict::Holds(Witness::order(Arc::from(order))), implied_by: None }
}

/// A certificate of one cycle.
fn cycle(history: &History, level: Level, anomaly: Anomaly, short: &[E]) -> Judgement {
    violated(level, vec![finding(anomaly, Evidence::Cycle(edges(history, short)))])
}

#[track_caller]
fn accept(history: &History, judgement: &Judgement) {
    if let Err(refutation) = verify(history, judgement) {
        panic!("{refutation}\n{judgement:?}\n{history:?}");
    }
}

/// The certificate must be refused, for the reason given.
#[track_caller]
fn refuse(history: &History, judgement: &Judgement, because: &str) {
    match verify(history, judgement) {
        Ok(()) => panic!("accepted: {judgement:?}\n{history:?}"),
        Err(refutation) => {
            assert!(refutation.message.contains(because), "{refutation}, not {because}\n{judgement:?}");
        }
    }
}

#[test]
fn wrong_reads_are_what_they_are_called() {
    use Anomaly::{
        AbortedRead, DuplicateElements, FutureRead, IntermediateRead, NotMyLastWrite, NotMyOwnWrite,
        ThinAirRead,
    };
    let cases: [(&str, Anomaly, Place, Option<Place>); 17] = [
        ("T1: r(x,7)", ThinAirRead, (1, 0), None),
        ("T1: w(x,1) r(x,7)", ThinAirRead, (1, 1), None),
        ("T1!: w(x,1)  T2: r(x,1)", AbortedRead, (2, 0), Some((1, 0))),
        ("T1: r(x,1) w(x,1)", FutureRead, (1, 0), Some((1, 1))),
        ("T1: w(x,2) r(x,1) w(x,1)", FutureRead, (1, 1), Some((1, 2))),
        ("T1: w(x,1) w(x,2)  T2: r(x,1)", IntermediateRead, (2, 0), Some((1, 0))),
        ("T1: w(x,1) w(x,2) r(x,1)", NotMyLastWrite, (1, 2), Some((1, 0))),
        ("T1: w(x,1)  T2: w(x,2) r(x,1)", NotMyOwnWrite, (2, 1), Some((1, 0))),
        ("T1: w(x,1) r(x,0)", NotMyOwnWrite, (1, 1), None),
        // An overwritten value that an aborted transaction wrote too is called intermediate.
        ("T1: w(x,1) w(x,2)  T2!: w(x,1)  T3: r(x,1)", IntermediateRead, (3, 0), Some((1, 0))),
        ("T1: a(x,1) r(x,[])", NotMyOwnWrite, (1, 1), None),
        ("T1!: a(x,1)  T2: a(x,2)  T3: r(x,[1 2])", AbortedRead, (3, 0), Some((1, 0))),
        ("T1: r(x,[1]) a(x,1)", FutureRead, (1, 0), Some((1, 1))),
        ("T1: a(x,1) a(x,2)  T2: r(x,[1])", IntermediateRead, (2, 0), Some((1, 0))),
        ("T1: a(x,1)  T2: r(x,[1 1])", DuplicateElements, (2, 0), Some((1, 0))),
        ("T1: a(x,1) r(x,[1 1])", DuplicateElements, (1, 1), Some((1, 0))),
        ("T1: a(x,1)  T2: r(x,[1 7])", ThinAirRead, (2, 0), None),
    ];
    for (text, anomaly, place, write) in cases {
        let history = notation::parse(text).unwrap();
        let evidence = read(&history, place, write);
        for level in [Level::AdyaPl2, Level::ReadCommitted, Level::Causal, Level::StrictSerializable] {
            accept(&history, &violated(level, vec![finding(anomaly, evidence.clone())]));
        }
        for level in [Level::AdyaPl1, Level::CutIsolation] {
            refuse(
                &history,
                &violated(level, vec![finding(anomaly, evidence.clone())]),
                "does not forbid it",
            );
        }
        for other in [ThinAirRead, AbortedRead, FutureRead, IntermediateRead, NotMyLastWrite, NotMyOwnWrite] {
            if other != anomaly {
                let judgement = violated(Level::Causal, vec![finding(other, evidence.clone())]);
                refuse(&history, &judgement, "is rather a");
            }
        }
        let nowhere = Evidence::Read { read: op(&history, place), write: Some(Op(u32::MAX)) };
        refuse(&history, &violated(Level::Causal, vec![finding(anomaly, nowhere)]), "write that is named");
    }
}

#[test]
fn the_write_named_must_be_the_one_returned() {
    let history = notation::parse("T1!: w(x,1) w(y,1)  T2: w(x,2)  T3: r(x,1) r(x,2)").unwrap();
    let named =
        |write| violated(Level::Causal, vec![finding(Anomaly::AbortedRead, read(&history, (3, 0), write))]);
    accept(&history, &named(Some((1, 0))));
    for wrong in [None, Some((1, 1)), Some((2, 0)), Some((3, 0))] {
        refuse(&history, &named(wrong), "write that is named");
    }
    let right = finding(Anomaly::AbortedRead, read(&history, (3, 1), Some((1, 0))));
    refuse(&history, &violated(Level::Causal, vec![right]), "is right by itself");
}

#[test]
fn pairs_of_reads_must_contradict_each_other() {
    let history = notation::parse(
        "T1: w(x,1) w(x,2)  T2: w(x,3) w(y,1)  T3: r(x,2) r(x,3) r(y,1) r(x,3)  T4: r(x,1) r(x,2)  T5: r(x,2)
         T6: a(l,1)  T7: a(l,2)  T8: r(l,[1])  T9: r(l,[2 1])  T10: a(l,3) r(l,[3])  T11: a(l,4) r(l,[])
         T12!: r(x,2) r(x,3)",
    )
    .unwrap();
    let pair = |first, second| pair(&history, first, second);
    let repeated = |first, second, level| {
        violated(level, vec![finding(Anomaly::NonRepeatableRead, pair(first, second))])
    };
    for level in [Level::CutIsolation, Level::ReadAtomic, Level::Causal, Level::Serializable] {
        accept(&history, &repeated((3, 0), (3, 1), level));
    }
    for level in [Level::ReadCommitted, Level::AdyaPl2, Level::AdyaPl1] {
        refuse(&history, &repeated((3, 0), (3, 1), level), "does not forbid it");
    }
    let cut = |first, second| repeated(first, second, Level::CutIsolation);
    refuse(&history, &cut((3, 1), (3, 0)), "not an earlier and a later read");
    refuse(&history, &cut((3, 1), (3, 3)), "not certainly of two");
    refuse(&history, &cut((4, 0), (4, 1)), "not certainly of two");
    refuse(&history, &cut((3, 1), (5, 0)), "not an earlier and a later read");
    refuse(&history, &cut((3, 1), (3, 2)), "different keys");
    refuse(&history, &cut((12, 0), (12, 1)), "T12 is absent");
    refuse(&history, &cut((1, 0), (3, 0)), "is no read");
    let past_the_end = Evidence::Pair { first: Op(0), second: Op(1000) };
    let judgement = violated(Level::CutIsolation, vec![finding(Anomaly::NonRepeatableRead, past_the_end)]);
    refuse(&history, &judgement, "is no read");

    let order = |first, second| {
        violated(Level::AdyaPl2, vec![finding(Anomaly::IncompatibleOrder, pair(first, second))])
    };
    accept(&history, &order((8, 0), (9, 0)));
    refuse(&history, &order((8, 0), (10, 1)), "one of the lists begins with the other");
    refuse(&history, &order((8, 0), (11, 1)), "reader's own appends");
    refuse(&history, &order((3, 0), (3, 1)), "not two reads of a list");
    let other = violated(Level::Causal, vec![finding(Anomaly::FracturedRead, pair((3, 0), (3, 1)))]);
    refuse(&history, &other, "two reads do not show it");
}

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
            let implied = level >= weakest && !(weakest >= Level::ReadCommitted && level == Level::AdyaPl299);
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
    causal(E(5, 6, Missing((7, 1), (6, 0))), "ends with another's append");
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
        ..Judgement { level: Level::Causal, verdict: Verdict::Unknown(Unknown::NoEngine), implied_by: None }
    };
    refuse(&history, &inherited, "only a violation is inherited");
}

#[test]
fn an_order_holds_every_present_transaction_once() {
    let history =
        notation::parse("T1: w(x,1) ; T2: r(x,1)  T3!: w(x,2)  T4?: w(y,1)  T5?: w(y,2)  T6: r(y,1)")
            .unwrap();
    let [t1, t2, t3, t4, t5, t6] = [1, 2, 3, 4, 5, 6].map(|n| txn(&history, n));
    for level in [Level::AdyaPl1, Level::AdyaPl2, Level::ReadCommitted, Level::ReadAtomic, Level::Causal] {
        accept(&history, &holds(level, &[t1, t2, t4, t6]));
        accept(&history, &holds(level, &[t4, t6, t1, t2]));
        refuse(&history, &holds(level, &[t1, t2, t4]), "T6 is not in the order");
        refuse(&history, &holds(level, &[t1, t2, t6]), "T4 is not in the order");
        refuse(&history, &holds(level, &[t1, t2, t4, t6, t1]), "T1 is in the order twice");
        refuse(&history, &holds(level, &[t1, t3, t2, t4, t6]), "T3 is absent");
        refuse(&history, &holds(level, &[t1, t5, t2, t4, t6]), "T5 is absent");
        refuse(&history, &holds(level, &[t1, t2, t4, t6, Txn(99)]), "no transaction");
    }
    let without = Judgement { verdict: Verdict::Holds(Witness::default()), ..holds(Level::Causal, &[]) };
    refuse(&history, &without, "needs a commit order");
    for level in [Level::Prefix, Level::Snapshot, Level::Serializable, Level::AdyaPl299] {
        refuse(&history, &holds(level, &[t1, t2, t4, t6]), "no verifier yet");
    }
    refuse(&history, &holds(Level::AdyaPl2, &[t2, t1, t4, t6]), "comes before what it reads");
    let sessions = notation::parse("T1: w(x,1) ; T2: w(y,1)").unwrap();
    accept(&sessions, &holds(Level::AdyaPl2, &[Txn(1), Txn(0)]));
    refuse(&sessions, &holds(Level::ReadCommitted, &[Txn(1), Txn(0)]), "earlier transaction of its session");
}

/// Orders that contain `so` and `wr` and fail the axiom of a level, and of none below.
#[test]
fn an_order_satisfies_the_axiom() {
    let misses = "misses a write";
    for (text, order, level, because) in [
        ("T1: w(x,1)  T2: w(x,2)  T3: r(x,2) r(x,1)", [1, 2, 3], Level::ReadCommitted, misses),
        ("T1: w(x,1)  T2: w(x,2) w(y,2)  T3: r(x,1) r(y,2)", [1, 2, 3], Level::ReadAtomic, misses),
        ("T1: w(x,1)  T2: w(x,2) ; T3: r(x,1)", [1, 2, 3], Level::ReadAtomic, misses),
        ("T1: w(x,1) ; T3: r(y,1) r(x,0)  T2: r(x,1) w(y,1)", [1, 2, 3], Level::ReadAtomic, misses),
        ("T1: w(x,1)  T2: r(x,1) w(y,1)  T3: r(y,1) r(x,0)", [1, 2, 3], Level::Causal, misses),
        ("T1: a(x,1)  T2: a(x,2)  T3: r(x,[2])", [1, 2, 3], Level::AdyaPl1, "makes of the list"),
        ("T1: a(x,1)  T2: a(x,2)  T3: r(x,[1 2])", [2, 1, 3], Level::AdyaPl1, "makes of the list"),
        ("T1: w(x,7)  T2: w(x,7)  T3: r(x,7)", [1, 2, 3], Level::AdyaPl2, "several possible writers"),
        ("T1: a(x,7)  T2: a(x,7)  T3: r(x,[7])", [1, 2, 3], Level::AdyaPl2, "several possible writers"),
        ("T1: w(x,1)  T2: w(x,2)  T3: r(x,3)", [1, 2, 3], Level::AdyaPl2, "wrong in every order"),
        ("T1: w(x,1)  T2: range(x,z,{})  T3: r(x,1)", [1, 2, 3], Level::AdyaPl2, "no axiom covers"),
        ("T1: a(x,1)  T2: r(x,1)  T3: w(y,1)", [1, 2, 3], Level::AdyaPl2, "no axiom covers"),
    ] {
        let history = notation::parse(text).unwrap();
        let order = order.map(|n| txn(&history, n));
        let levels = [Level::AdyaPl1, Level::AdyaPl2, Level::ReadCommitted, Level::ReadAtomic, Level::Causal];
        for weaker in levels {
            if weaker < level {
                accept(&history, &holds(weaker, &order));
            } else {
                refuse(&history, &holds(weaker, &order), because);
            }
        }
    }
}

#[test]
fn cut_isolation_is_checked_again() {
    let check = |text: &str| {
        let history = notation::parse(text).unwrap();
        let verdict = Verdict::Holds(Witness::default());
        verify(&history, &Judgement { level: Level::CutIsolation, verdict, implied_by: None })
    };
    for text in [
        "T1: w(x,1) w(x,2)  T2: r(x,1) r(x,2)",
        "T1: w(x,1)  T2: r(x,1) w(x,2) r(x,2) r(x,1)",
        "T1: w(x,1)  T2: w(x,1)  T3: r(x,1) r(x,1)",
        "T1!: w(x,1)  T2: r(x,1) r(x,0)",
        "T1: r(x,?) r(x,0)",
        "T1: r(x,7) r(x,0) r(x,8)",
        "T1: a(x,1)  T2: r(x,[1]) a(x,2) r(x,[1 2])",
    ] {
        assert_eq!(check(text), Ok(()), "{text}");
    }
    for text in [
        "T1: w(x,1)  T2: r(x,1) r(x,0)",
        "T1: w(x,1)  T2: r(x,0) w(x,2) r(x,1)",
        "T1?: w(x,1)  T2: r(x,1) r(x,0)",
        "T1: w(x,1)  T2: w(x,1) w(x,2)  T3: r(x,1) r(x,2)",
        "T1: a(x,1)  T2: r(x,[]) a(x,2) r(x,[1 2])",
        "T1: r(x,0) range(x,z,{})",
    ] {
        assert!(check(text).is_err(), "{text}");
    }
}

#[test]
fn unknown_gives_a_reason_that_exists() {
    let history =
        notation::parse("T1: w(x,1) w(u,1)  T2: w(x,1)  T3: r(x,1) r(u,1) range(a,b,{})  T4: a(u,2) a(v,1)")
            .unwrap();
    let unknown =
        |unknown| Judgement { level: Level::Causal, verdict: Verdict::Unknown(unknown), implied_by: None };
    let ambiguous = |reads, place| unknown(Unknown::Ambiguous { reads, first: op(&history, place) });
    let unsupported =
        |operations, place| unknown(Unknown::Unsupported { operations, first: op(&history, place) });
    accept(&history, &ambiguous(1, (3, 0)));
    refuse(&history, &ambiguous(0, (3, 0)), "is not ambiguous");
    refuse(&history, &ambiguous(1, (1, 0)), "is not ambiguous");
    refuse(&history, &unknown(Unknown::Ambiguous { reads: 1, first: Op(99) }), "no operation");
    accept(&history, &unsupported(1, (3, 2)));
    accept(&history, &unsupported(3, (1, 1)));
    refuse(&history, &unsupported(0, (3, 2)), "is supported");
    refuse(&history, &unsupported(1, (4, 1)), "is supported");
    refuse(&history, &unknown(Unknown::Unsupported { operations: 1, first: Op(99) }), "no operation");
    accept(&history, &unknown(Unknown::NoEngine));
    refuse(&history, &unknown(Unknown::NothingToCheck), "is there to be checked");
    let nothing = notation::parse("T1!: w(x,1)  T2?: r(x,1)").unwrap();
    accept(&nothing, &unknown(Unknown::NothingToCheck));
}

/// The evidence of one history is accepted for another, or for another level, only where that is violated.
#[test]
fn no_borrowed_evidence_is_accepted_where_the_level_holds() {
    let (mut accepted, mut refused) = (BTreeSet::new(), 0);
    for seed in 0..4_000 {
        let mut dice = Dice::new(seed);
        let plan = draw_small(&mut dice);
        let lender = build(&plan);
        let borrower = build(&change_a_read(&plan, &mut dice));
        if borrower.has_lists() && axioms::lists_contradict(&borrower) {
            continue;
        }
        let verdicts = axioms::judge(&borrower, WEAK);
        let mut checker = Checker::new(&lender, Options::default());
        for &level in WEAK {
            let Verdict::Violated(findings) = checker.check(level).verdict else { continue };
            for finding in findings {
                for (&level, verdict) in WEAK.iter().zip(&verdicts) {
                    let judgement = violated(level, vec![finding.clone()]);
                    if verify(&borrower, &judgement).is_ok() {
                        assert!(verdict.is_none(), "seed {seed}: {judgement:?}\n{borrower:?}");
                        accepted.insert(finding.anomaly);
                    } else {
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(accepted.len() >= 12 && refused > 1_000, "{accepted:?}, {refused} refused");
}

/// The same plan with another value in one read.
fn change_a_read(plan: &[Plan], dice: &mut Dice) -> Vec<Plan> {
    let mut plan = plan.to_vec();
    let mut reads: Vec<&mut Step> = plan
        .iter_mut()
        .flat_map(|txn| &mut txn.steps)
        .filter(|step| matches!(step, Step::Read(..) | Step::ReadList(..)))
        .collect();
    if !reads.is_empty() {
        let chosen = dice.below(reads.len());
        match &mut *reads[chosen] {
            Step::Read(_, value) => *value = Some(dice.below(4) as u32),
            Step::ReadList(_, list) if list.len() > 1 => list.swap(0, 1),
            Step::ReadList(_, list) => list.push(1 + dice.below(3) as u32),
            _ => {}
        }
    }
    plan
}

//! Violations in all worlds of what lists and outcomes leave open, written by hand.
//!
//! A good tree of questions and answers is accepted; with one thing wrong it is refused for that reason, since a world that nobody
//! looked at may be the one in which the level holds.

use isoscope_check::{Against, Evidence, Finding, Judgement, Question, World, Worlds};
use isoscope_history::{History, Op, Txn, notation};
use isoscope_levels::{Anomaly, Level};

use super::{E, Place, Y, accept, edges, finding, op, refuse, txn, violated};

/// Each possible writer of what T3 read also wrote something that T3 missed.
const EITHER: &str = "T1: a(x,1) w(y,1)  T2: a(x,1) w(z,1)  T3: r(x,[1]) r(y,0) r(z,0)";
/// The same, and perhaps there was only one.
const PERHAPS: &str = "T1?: a(x,1) w(y,1)  T2: a(x,1) w(z,1)  T3: r(x,[1]) r(y,0) r(z,0)";

/// The leaf in which T3 read x from `Tn` and missed its other write.
fn missed(history: &History, n: u32) -> World {
    let other = (3, n as usize);
    let cycle = edges(history, &[E(n, 0, Y::SeenByRead(other, (3, 0))), E(0, n, Y::So)]);
    let finding = finding(Anomaly::FracturedRead, Evidence::Cycle(cycle));
    World::Violated(Finding { against: Some(Against::Causal), ..finding })
}

/// Which append the element of T3's list at a place is.
fn element(history: &History, index: u32, appends: &[Place], cases: &[u32]) -> World {
    let appends: Vec<Op> = appends.iter().map(|&place| op(history, place)).collect();
    let question = Question::Element { read: op(history, (3, 0)), index, appends };
    World::Open { question, cases: cases.to_vec() }
}

fn outcome(txn: Txn, cases: &[u32]) -> World {
    World::Open { question: Question::Outcome { txn }, cases: cases.to_vec() }
}

/// A certificate of a tree that is named after a fractured read.
fn violated_in(level: Level, cases: Vec<World>) -> Judgement {
    let evidence = Evidence::Worlds(Worlds { cases });
    let finding = finding(Anomaly::FracturedRead, evidence);
    violated(level, vec![Finding { against: Some(Against::Causal), ..finding }])
}

const BOTH: [Place; 2] = [(1, 0), (2, 0)];

#[test]
fn a_violation_in_every_world_is_one() {
    let history = notation::parse(EITHER).unwrap();
    let [one, other] = [1, 2].map(|n| missed(&history, n));
    for level in [Level::ReadAtomic, Level::Causal, Level::Serializable] {
        let cases = vec![element(&history, 0, &BOTH, &[1, 2]), one.clone(), other.clone()];
        accept(&history, &violated_in(level, cases));
        // In any order, as long as each answer has its own.
        let cases = vec![element(&history, 0, &BOTH, &[2, 1]), other.clone(), one.clone()];
        accept(&history, &violated_in(level, cases));
        let turned = element(&history, 0, &[(2, 0), (1, 0)], &[1, 2]);
        accept(&history, &violated_in(level, vec![turned, other.clone(), one.clone()]));
    }
    let history = notation::parse(PERHAPS).unwrap();
    let [one, other] = [1, 2].map(|n| missed(&history, n));
    let perhaps = outcome(txn(&history, 1), &[1, 4]);
    let cases = vec![perhaps, element(&history, 0, &BOTH, &[2, 3]), one, other.clone(), other];
    accept(&history, &violated_in(Level::Causal, cases));
}

#[test]
fn every_answer_has_its_own_world() {
    let history = notation::parse(EITHER).unwrap();
    let [one, other] = [1, 2].map(|n| missed(&history, n));
    let tree = |cases: &[u32], leaves: &[&World]| {
        let root = element(&history, 0, &BOTH, cases);
        let leaves = leaves.iter().map(|&leaf| leaf.clone());
        violated_in(Level::Causal, [root].into_iter().chain(leaves).collect())
    };
    accept(&history, &tree(&[1, 2], &[&one, &other]));
    refuse(&history, &tree(&[1], &[&one]), "1 worlds for 2 answers");
    refuse(&history, &tree(&[2], &[&one, &other]), "1 worlds for 2 answers");
    refuse(&history, &tree(&[1, 2, 3], &[&one, &other, &other]), "3 worlds for 2 answers");
    refuse(&history, &tree(&[1, 1], &[&one, &other]), "world 1 does not follow 0");
    refuse(&history, &tree(&[1, 0], &[&one, &other]), "world 0 does not follow 0");
    refuse(&history, &tree(&[1, 3], &[&one, &other]), "world 3 does not follow 0");
    refuse(&history, &tree(&[1, 2], &[&one, &other, &other]), "world 3 is not reached");
    // What the one answer refutes does not refute the other.
    refuse(
        &history,
        &tree(&[2, 1], &[&one, &other]),
        "world 1: fractured-read: T1 -> the initial state: r(x,[1]) of T3 is not from there",
    );
    refuse(&history, &tree(&[1, 2], &[&one, &one]), "r(x,[1]) of T3 is not from there");
    refuse(&history, &tree(&[1, 2], &[&other, &other]), "r(x,[1]) of T3 is not from there");
}

#[test]
fn every_append_is_an_answer() {
    let history = notation::parse(EITHER).unwrap();
    let [one, other] = [1, 2].map(|n| missed(&history, n));
    let named = |appends: &[Place], cases: &[u32]| {
        let mut all = vec![element(&history, 0, appends, cases), one.clone(), other.clone()];
        all.truncate(1 + cases.len());
        violated_in(Level::Causal, all)
    };
    let because = "not all appends of what is at 0 are named";
    refuse(&history, &named(&[(1, 0)], &[1]), because);
    refuse(&history, &named(&[(1, 0), (1, 0)], &[1, 2]), because);
    // Of the right transaction, but another write; and a read.
    refuse(&history, &named(&[(1, 0), (2, 1)], &[1, 2]), because);
    refuse(&history, &named(&[(1, 0), (3, 0)], &[1, 2]), because);
    // An append of another element, or by a transaction that aborted, is no answer.
    let more = notation::parse(&format!("{EITHER}  T4: a(x,2)  T5!: a(x,1)")).unwrap();
    let [one, other] = [1, 2].map(|n| missed(&more, n));
    let tree = |appends: &[Place]| {
        let cases: Vec<u32> = (1..=appends.len() as u32).collect();
        let mut all = vec![element(&more, 0, appends, &cases), one.clone(), other.clone(), other.clone()];
        all.truncate(1 + cases.len());
        violated_in(Level::Causal, all)
    };
    accept(&more, &tree(&BOTH));
    refuse(&more, &tree(&[(1, 0), (4, 0)]), because);
    refuse(&more, &tree(&[(1, 0), (2, 0), (4, 0)]), because);
    refuse(&more, &tree(&[(1, 0), (2, 0), (5, 0)]), because);
}

#[test]
fn a_leaf_is_a_violation_in_its_world() {
    let history = notation::parse(EITHER).unwrap();
    let other = missed(&history, 2);
    let tree = |leaf: World| {
        violated_in(Level::Causal, vec![element(&history, 0, &BOTH, &[1, 2]), leaf, other.clone()])
    };
    // T1 is not what T3 missed z of.
    let cycle = edges(&history, &[E(1, 0, Y::SeenByRead((3, 2), (3, 0))), E(0, 1, Y::So)]);
    let wrong = finding(Anomaly::FracturedRead, Evidence::Cycle(cycle));
    refuse(
        &history,
        &tree(World::Violated(wrong)),
        "world 1: fractured-read: T1 -> the initial state: T1 does not write the key",
    );
    let nothing =
        Finding { instances: Vec::new(), ..finding(Anomaly::FracturedRead, Evidence::Cycle(vec![])) };
    refuse(&history, &tree(World::Violated(nothing)), "no instance is shown");
    // Where one of the answers is no violation, there is no leaf for it.
    let harmless = notation::parse(&EITHER.replace(" r(z,0)", "")).unwrap();
    let root = element(&harmless, 0, &BOTH, &[1, 2]);
    let one = missed(&harmless, 1);
    refuse(&harmless, &violated_in(Level::Causal, vec![root, one.clone(), one]), "world 2: fractured-read");
    // It is named after its main leaf, which the level must forbid.
    let cases = vec![element(&history, 0, &BOTH, &[1, 2]), missed(&history, 1), other.clone()];
    let evidence = || Evidence::Worlds(Worlds { cases: cases.clone() });
    let named = violated(Level::Causal, vec![finding(Anomaly::FracturedRead, evidence())]);
    refuse(&history, &named, "another name in its main world");
    let named = violated(Level::Causal, vec![finding(Anomaly::CausalityViolation, evidence())]);
    refuse(&history, &named, "another name in its main world");
    refuse(&history, &violated_in(Level::ReadCommitted, cases.clone()), "does not forbid it");
    refuse(&history, &violated_in(Level::Causal, Vec::new()), "another name in its main world");
}

#[test]
fn a_question_is_open_when_it_is_asked() {
    let history = notation::parse(PERHAPS).unwrap();
    let [one, other] = [1, 2].map(|n| missed(&history, n));
    let tree = |cases: Vec<World>| violated_in(Level::Causal, cases);
    let (first, second) = (txn(&history, 1), txn(&history, 2));
    for known in [second, Txn(99)] {
        refuse(&history, &tree(vec![outcome(known, &[1, 2]), one.clone(), other.clone()]), "is known");
    }
    // Asked twice.
    let again =
        vec![outcome(first, &[1, 2]), outcome(first, &[3, 4]), other.clone(), one.clone(), other.clone()];
    refuse(&history, &tree(again), "world 1: the outcome of");
    let again = vec![
        element(&history, 0, &BOTH, &[1, 2]),
        element(&history, 0, &BOTH, &[3, 4]),
        other.clone(),
        one.clone(),
        other.clone(),
    ];
    refuse(&history, &tree(again), "world 1: not all appends");
    // Half of an outcome.
    refuse(&history, &tree(vec![outcome(first, &[1]), other.clone()]), "1 worlds for 2 answers");
    // That it took effect is the first answer: where it did not, its append is none.
    let turned = vec![
        outcome(first, &[4, 1]),
        element(&history, 0, &BOTH, &[2, 3]),
        one.clone(),
        other.clone(),
        other.clone(),
    ];
    refuse(&history, &tree(turned), "world 1: not all appends");
    // Nothing is at that place, or the read is of no list, or none at all.
    let both = || [one.clone(), other.clone()];
    let asked = |question: Question| {
        let root = World::Open { question, cases: vec![1, 2] };
        tree([root].into_iter().chain(both()).collect())
    };
    let appends = || BOTH.map(|place| op(&history, place)).to_vec();
    let question = |read: Op, index: u32| Question::Element { read, index, appends: appends() };
    refuse(&history, &asked(question(op(&history, (3, 0)), 1)), "has no appended element at 1");
    refuse(&history, &asked(question(op(&history, (3, 1)), 0)), "shows no list");
    refuse(&history, &asked(question(op(&history, (1, 0)), 0)), "shows no list");
    refuse(&history, &asked(question(Op(99), 0)), "is no operation");
    // An element that its reader appended may be another's too, and what a transaction read that may be absent is no question.
    let own = notation::parse(&EITHER.replace("r(x,[1])", "a(x,1) r(x,[1 1])")).unwrap();
    let read = op(&own, (3, 1));
    let question = Question::Element { read, index: 1, appends: vec![op(&own, (3, 0))] };
    let root = World::Open { question, cases: vec![1] };
    refuse(&own, &violated_in(Level::Causal, vec![root, missed(&own, 1)]), "stands there earlier, too");
    let absent = notation::parse(&EITHER.replace("T3:", "T3?:")).unwrap();
    let root = element(&absent, 0, &BOTH, &[1, 2]);
    let [one, other] = [1, 2].map(|n| missed(&absent, n));
    refuse(&absent, &violated_in(Level::Causal, vec![root, one, other]), "shows no list");
}

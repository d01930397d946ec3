//! Each injected anomaly violates the levels that forbid it and no other.

use isoscope_history::{History, OpKind, Stats, Txn, notation};
use isoscope_levels::Anomaly;
use isoscope_workload::{Injection, Shape, Spec, Store, run};

use crate::axioms::satisfies;

fn injected(base: &Spec, injections: &[(Anomaly, u32)]) -> History {
    let injections = injections.iter().map(|&(kind, count)| Injection { kind, count }).collect();
    run(&Spec { injections, ..base.clone() }, &mut |_, _| {}).expect("the spec is valid")
}

fn base(shape: Shape, sessions: u32, txns_per_session: u32) -> Spec {
    Spec { sessions, txns_per_session, ops_per_txn: 3, keys: 2, shape, ..Spec::default() }
}

fn assert_verdicts(history: &History, anomalies: &[Anomaly]) {
    for level in Store::LEVELS {
        let expected = !anomalies.iter().any(|&anomaly| level.forbids(anomaly));
        let text = notation::print(history);
        assert_eq!(satisfies(history, level), expected, "{level} with {anomalies:?}: {text}");
    }
}

#[test]
fn each_anomaly_alone_and_after_a_serializable_run() {
    for anomaly in Injection::ANOMALIES {
        for shape in [Shape::Register, Shape::ListAppend] {
            for sessions in 1..=3 {
                assert_verdicts(&injected(&base(shape, sessions, 0), &[(anomaly, 1)]), &[anomaly]);
            }
            for (sessions, txns_per_session) in [(1, 2), (2, 1), (3, 1)] {
                let spec = base(shape, sessions, txns_per_session);
                assert_verdicts(&injected(&spec, &[(anomaly, 1)]), &[anomaly]);
            }
        }
    }
}

/// Two anomalies on the same sessions: a level holds exactly if it forbids neither, in either order.
#[test]
fn anomalies_do_not_interfere() {
    for first in Injection::ANOMALIES {
        for second in Injection::ANOMALIES {
            let history = injected(&base(Shape::Register, 2, 0), &[(first, 1), (second, 1)]);
            assert_verdicts(&history, &[first, second]);
        }
    }
}

#[test]
fn an_anomaly_prints_as_its_notation() {
    let history = injected(&base(Shape::Register, 2, 0), &[(Anomaly::LostUpdate, 2)]);
    assert_eq!(
        notation::print(&history),
        "T1@0-2: r(2,0) w(2,1) ; T3@4-6: r(3,0) w(3,3)  T2@1-3: r(2,0) w(2,2) ; T4@5-7: r(3,0) w(3,4)"
    );
    let history = injected(&base(Shape::ListAppend, 1, 0), &[(Anomaly::IntermediateRead, 1)]);
    assert_eq!(notation::print(&history), "init=nil  T1@0-2: a(2,1) a(2,2)  T2@1-3: r(2,[1])");
}

/// The injected transactions use their own keys and values, one session each, and overlap.
#[test]
fn anomalies_are_at_the_end_of_their_sessions() {
    let spec = Spec { sessions: 2, txns_per_session: 50, ..Spec::default() };
    let history = injected(&spec, &[(Anomaly::LongFork, 3), (Anomaly::AbortedRead, 2)]);
    let stats = Stats::of(&history);
    assert_eq!((stats.sessions, stats.transactions, stats.aborted), (4, 100 + 3 * 4 + 2 * 2, 2));
    assert_eq!((stats.keys, stats.duplicate_values), (100 + 3 * 2 + 2, 0));
    for session in history.sessions() {
        let names: Vec<u32> =
            history.txns_of(session).filter_map(|txn| history.txn_name(txn).as_small()).collect();
        assert!(names.is_sorted());
        let touches_fresh =
            |txn| history.ops_of(txn).any(|op| history.key_name(op.key).as_small() >= Some(100));
        assert!(history.txns_of(session).map(touches_fresh).is_sorted());
    }
    let events = history.events().unwrap();
    let last: Vec<usize> =
        history.txns().filter(|&txn| history.txn_name(txn).as_small() > Some(114)).map(Txn::index).collect();
    assert_eq!(last.len(), 2);
    assert!(last.iter().all(|&t| last.iter().all(|&s| events.start[t] < events.end[s])));
}

#[test]
fn every_injectable_example_has_the_required_form() {
    for anomaly in Injection::ANOMALIES {
        let history = notation::parse(anomaly.examples()[0].notation).unwrap();
        assert_eq!(history.session_count(), history.txn_count(), "{}: one session each", anomaly.name());
        let mut written: Vec<u32> = history
            .txns()
            .flat_map(|txn| history.ops_of(txn))
            .filter(|op| op.kind == OpKind::Write)
            .filter_map(|op| op.value.as_small())
            .collect();
        written.sort_unstable();
        assert!(
            written.iter().zip(1..).all(|(&value, n)| value == n),
            "{}: values 1, 2, ...",
            anomaly.name()
        );
    }
}

//! Evidence inside transactions: reads that are wrong by themselves, and pairs of reads that contradict each other.
//!
//! Each is accepted under its own name and refused under every other, so that a report never names an anomaly that did not happen.

use isoscope_check::Evidence;
use isoscope_history::{Op, notation};
use isoscope_levels::{Anomaly, Level};

use super::{Place, accept, finding, op, pair, read, refuse, violated};

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
    accept(&history, &order((8, 0), (10, 1)));
    refuse(&history, &order((8, 0), (11, 1)), "one of the lists begins with the other");
    refuse(&history, &order((3, 0), (3, 1)), "not two reads of a list");
    let other = violated(Level::Causal, vec![finding(Anomaly::FracturedRead, pair((3, 0), (3, 1)))]);
    refuse(&history, &other, "two reads do not show it");
}

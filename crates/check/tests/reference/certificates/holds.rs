//! Witnesses that a level holds: orders, snapshots, named writers, real time; and cut isolation, which needs none.
//!
//! Written by hand, each bad one is refused for one reason, at the levels that ask for what it lacks and at no other.

use std::sync::Arc;

use isoscope_check::{Judgement, Node, Verdict, Witness};
use isoscope_history::{History, Op, Txn, notation};
use isoscope_levels::Level;
use isoscope_verify::verify;

use super::{Place, accept, holds, node, op, refuse, txn};

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
        // No transaction read from T5, so it may have taken effect or not.
        accept(&history, &holds(level, &[t1, t5, t2, t4, t6]));
        refuse(&history, &holds(level, &[t1, t2, t4, t6, Txn(99)]), "no transaction");
    }
    let without = Judgement { verdict: Verdict::Holds(Witness::default()), ..holds(Level::Causal, &[]) };
    refuse(&history, &without, "needs a commit order");
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
        ("T1: a(x,1)  T2: a(x,2)  T3: r(x,[2])", [1, 2, 3], Level::AdyaPl2, "makes of the list"),
        ("T1: a(x,1)  T2: a(x,2)  T3: r(x,[1 2])", [2, 1, 3], Level::AdyaPl1, "makes of the list"),
        ("T1: w(x,7)  T2: w(x,7)  T3: r(x,7)", [1, 2, 3], Level::AdyaPl2, "several possible writers"),
        ("T1: a(x,7)  T2: a(x,7)  T3: r(x,[7])", [3, 1, 2], Level::AdyaPl2, "comes before what it reads"),
        ("T1: a(x,7)  T2: a(x,8)  T3: r(x,[7 7])", [1, 2, 3], Level::AdyaPl2, "wrong in every order"),
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

/// A witness in full: names of transactions, snapshots, and writers of reads.
fn witness(
    history: &History,
    level: Level,
    order: &[u32],
    sees: &[u32],
    sources: &[(Place, u32)],
) -> Judgement {
    let named = sources.iter().map(|&(read, writer)| (op(history, read), node(history, writer)));
    let witness = Witness {
        order: Some(order.iter().map(|&n| txn(history, n)).collect()),
        snapshots: (!sees.is_empty()).then(|| Arc::from(sees)),
        sources: named.collect(),
    };
    Judgement { level, verdict: Verdict::Holds(witness), implied_by: None }
}

/// Where values repeat, an order names the writers that it takes reads to be from.
#[test]
fn writers_that_are_named_are_possible() {
    let text =
        "T1: w(x,1) w(y,2) ; T2: w(x,1) w(y,1)  T3: r(y,1) r(x,1) r(z,0) w(z,1) r(z,1)  T4!: w(x,1) r(x,1)
                T5?: w(x,1) w(u,1) r(v,1)  T6?: w(v,1)  T7: a(l,1)  T8: a(l,1)  T9: r(l,[1])";
    let history = notation::parse(text).unwrap();
    let order = [7, 8, 9, 1, 2, 3];
    let check = |level, sources: &[(Place, u32)]| witness(&history, level, &order, &[], sources);
    let levels =
        [Level::AdyaPl2, Level::ReadCommitted, Level::ReadAtomic, Level::Causal, Level::ParallelSnapshot];
    for level in levels {
        accept(&history, &check(level, &[((3, 1), 2)]));
        accept(&history, &check(level, &[((3, 1), 2), ((3, 2), 0), ((9, 0), 7)]));
        refuse(&history, &check(level, &[]), "r(x,1) of T3 has several possible writers");
        for (because, read, writer) in [
            ("r(x,1) of T3 is not from the writer named", (3, 1), 0),
            ("r(x,1) of T3 is not from the writer named", (3, 1), 3),
            ("r(y,1) of T3 is not from the writer named", (3, 0), 1),
            ("the writer named for r(x,1) of T3 is not in the order", (3, 1), 4),
            ("the writer named for r(x,1) of T3 is not in the order", (3, 1), 5),
            ("T4 is not in the order", (4, 1), 1),
            ("r(z,1) of T3 has no writer to name", (3, 4), 3),
            ("w(z,1) of T3 has no writer to name", (3, 3), 0),
            ("r(l,[1]) of T9 is not from the writer named", (9, 0), 8),
        ] {
            refuse(&history, &check(level, &[((3, 1), 2), (read, writer)]), because);
        }
        let mut nowhere = check(level, &[((3, 1), 2)]);
        let Verdict::Holds(claim) = &mut nowhere.verdict else { unreachable!() };
        claim.sources = Arc::from([(Op(99), Node::Initial)]);
        refuse(&history, &nowhere, "is no operation");
    }
    // T3 has read from T2, and then goes back to T1.
    accept(&history, &check(Level::AdyaPl2, &[((3, 1), 1)]));
    for level in &levels[1..] {
        refuse(&history, &check(*level, &[((3, 1), 1)]), "misses a write");
    }
    // Who is in the order by choice must be explained, too, and explains others.
    let chosen = |order, writer| witness(&history, Level::AdyaPl2, order, &[], &[((3, 1), writer)]);
    accept(&history, &chosen(&[7, 8, 9, 1, 2, 6, 5, 3], 5));
    refuse(&history, &chosen(&[7, 8, 9, 1, 2, 5, 3], 5), "the writer of r(v,1) of T5 is not in the order");
    refuse(&history, &chosen(&[7, 8, 9, 1, 2, 3, 6, 5], 5), "comes before what it reads");
}

/// What each of the levels with snapshots asks of them.
#[test]
fn snapshots_are_of_the_past_and_explain_what_was_read() {
    let history = notation::parse(
        "T1@0-1: r(x,0) w(x,1) ; T2@2-5: r(x,1) w(y,1)  T3@6-8: r(x,0) r(y,0) w(z,1)  T4@9-9: w(x,2)",
    )
    .unwrap();
    let si = |level, order: [u32; 4], sees: &[u32]| witness(&history, level, &order, sees, &[]);
    let (pc, snapshot, strict) = (Level::Prefix, Level::Snapshot, Level::StrictSnapshot);
    for level in [pc, snapshot] {
        accept(&history, &si(level, [1, 2, 3, 4], &[0, 1, 0, 3]));
        accept(&history, &si(level, [3, 1, 2, 4], &[0, 1, 2, 2]));
        for (because, order, sees) in [
            ("needs snapshots", [1, 2, 3, 4], &[][..]),
            ("not one snapshot for each transaction", [1, 2, 3, 4], &[0, 1, 0]),
            ("not one snapshot for each transaction", [1, 2, 3, 4], &[0, 1, 0, 3, 4]),
            ("the snapshot of T2 holds more than comes before it", [1, 2, 3, 4], &[0, 2, 0, 3]),
            ("T2 does not see an earlier transaction of its session", [1, 2, 3, 4], &[0, 0, 0, 3]),
            ("T2 does not see an earlier transaction of its session", [2, 1, 3, 4], &[0, 0, 0, 3]),
            ("r(x,0) of T3 is not what its transaction sees", [1, 2, 3, 4], &[0, 1, 1, 3]),
            ("r(x,1) of T2 is not what its transaction sees", [1, 4, 2, 3], &[0, 1, 2, 0]),
        ] {
            refuse(&history, &si(level, order, sees), because);
        }
    }
    accept(&history, &si(pc, [1, 2, 3, 4], &[0, 1, 0, 0]));
    let unseen = si(snapshot, [1, 2, 3, 4], &[0, 1, 0, 0]);
    refuse(&history, &unseen, "w(x,2) of T4 overwrites T1 without having seen it");
    let late = si(strict, [1, 2, 3, 4], &[0, 1, 0, 3]);
    refuse(&history, &late, "T3 does not see T2, which had returned before it was invoked");
    let wrong = notation::parse("T1: w(x,1) r(x,2)  T2: w(x,2)").unwrap();
    for level in [pc, snapshot, strict, Level::Serializable, Level::AdyaPl299, Level::StrictSerializable] {
        refuse(&wrong, &witness(&wrong, level, &[2, 1], &[0, 1], &[]), "is wrong in every order");
        let range = notation::parse("T1: range(x,z,{})").unwrap();
        refuse(&range, &witness(&range, level, &[1], &[0], &[]), "no axiom covers");
    }
}

#[test]
fn serial_orders_are_replayed() {
    let history = notation::parse(
        "init(l)=[9]  T1: r(x,0) w(x,1) w(x,2) r(l,[9])  T2: r(x,2) a(l,1) a(l,2) r(l,[9 1 2]) ; T3: w(x,0)
         T4: r(x,0) r(l,[9 1 2]) a(l,3) r(l,[9 1 2 3])  T5!: w(x,5)  T6?: w(x,6)  T7?: r(x,6)",
    )
    .unwrap();
    let serial = |level, order: &[u32]| witness(&history, level, order, &[], &[]);
    for level in [Level::AdyaPl299, Level::Serializable, Level::StrictSerializable] {
        accept(&history, &serial(level, &[1, 2, 3, 4]));
        accept(&history, &serial(level, &[1, 2, 3, 4, 6]));
        accept(&history, &serial(level, &[1, 2, 3, 4, 6, 7]));
        accept(&history, &serial(level, &[1, 2, 6, 7, 3, 4]));
        refuse(&history, &serial(level, &[1, 2, 3, 4, 7]), "r(x,6) of T7 is not what its transaction sees");
        refuse(&history, &serial(level, &[1, 6, 2, 3, 4]), "r(x,2) of T2 is not what its transaction sees");
        refuse(&history, &serial(level, &[1, 2, 3]), "T4 is not in the order");
        refuse(&history, &serial(level, &[1, 2, 3, 4, 5]), "T5 is absent");
        refuse(&history, &serial(level, &[1, 4, 2, 3]), "r(x,0) of T4 is not what its transaction sees");
    }
    let sessions = notation::parse("T1: w(x,1) ; T2: r(x,0)").unwrap();
    accept(&sessions, &witness(&sessions, Level::AdyaPl299, &[2, 1], &[], &[]));
    for level in [Level::Serializable, Level::StrictSerializable] {
        let turned = witness(&sessions, level, &[2, 1], &[], &[]);
        refuse(&sessions, &turned, "T2 does not see an earlier transaction of its session");
    }
}

#[test]
fn real_time_is_kept_at_strict_levels_alone() {
    for (times, strict) in [
        (["@0-1", "@2-3"], false),
        (["@0-2", "@2-3"], true),
        (["@0-", "@2-3"], true),
        (["?@0-1", "@2-3"], true),
        (["@0-1", ""], true),
    ] {
        let text = format!("T1{}: w(x,1)  T2{}: r(x,0)  T3: r(x,1)", times[0], times[1]);
        let history = notation::parse(&text).unwrap();
        for level in [Level::Serializable, Level::Snapshot] {
            accept(&history, &witness(&history, level, &[2, 1, 3], &[0, 1, 2], &[]));
        }
        for level in [Level::StrictSerializable, Level::StrictSnapshot] {
            let judgement = witness(&history, level, &[2, 1, 3], &[0, 1, 2], &[]);
            if strict {
                accept(&history, &judgement);
            } else {
                refuse(&history, &judgement, "T2 does not see T1, which had returned before");
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

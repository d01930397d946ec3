//! Stories as a person reads them, from evidence made by hand.
#![allow(clippy::needless_raw_string_hashes, reason = "snapshots are renewed by a program")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod support;

use expect_test::expect;
use isoscope_check::{Edge, Evidence, Instance, Node, Seen, Why};
use isoscope_explain::Teller;
use isoscope_history::{Builder, Op, Txn};
use isoscope_levels::Anomaly;

use support::{headline, parse, tell};

fn read(read: u32, write: Option<u32>) -> Evidence {
    Evidence::Read { read: Op(read), write: write.map(Op) }
}

fn txn(n: u32) -> Node {
    Node::Txn(Txn(n))
}

fn edge(from: Node, to: Node, why: Why) -> Edge {
    Edge { from, to, why }
}

fn read_from(from: Node, to: Node, read: u32) -> Edge {
    edge(from, to, Why::ReadFrom { read: Op(read) })
}

fn session(from: Node, to: Node) -> Edge {
    edge(from, to, Why::Session)
}

fn forced(from: Node, to: Node, read: u32, seen: Seen) -> Edge {
    edge(from, to, Why::Forced { read: Op(read), seen })
}

#[test]
fn a_wrong_read_is_one_sentence() {
    let cases = [
        (
            "T1: r(x,5)",
            Anomaly::ThinAirRead,
            read(0, None),
            expect!["T1 read x=5, which no transaction wrote."],
        ),
        (
            "T1!: w(x,1)  T2: r(x,1)",
            Anomaly::AbortedRead,
            read(1, Some(0)),
            expect!["T2 read x=1 from T1, which aborted."],
        ),
        (
            "T1: r(x,1) w(x,1)",
            Anomaly::FutureRead,
            read(0, Some(1)),
            expect!["T1 read x=1 before it wrote x=1 itself."],
        ),
        (
            "T1: w(x,1) r(x,2)  T2: w(x,2)",
            Anomaly::NotMyOwnWrite,
            read(1, Some(2)),
            expect!["T1 read x=2 from T2, although it had already written x=1."],
        ),
        (
            "T1: w(x,1) w(x,2) r(x,1)",
            Anomaly::NotMyLastWrite,
            read(2, Some(0)),
            expect!["T1 read x=1, its own earlier write, although it had written x=2 since."],
        ),
        (
            "T1: w(x,1) w(x,2)  T2: r(x,1)",
            Anomaly::IntermediateRead,
            read(2, Some(0)),
            expect!["T2 read x=1 from T1, an intermediate value: T1 then wrote x=2."],
        ),
        (
            "T1: a(l,3) a(l,4) a(l,5)  T2: r(l,[3])",
            Anomaly::IntermediateRead,
            read(3, Some(0)),
            expect!["T2 read l=[3] from T1, an intermediate value: T1 then appended 4 to l."],
        ),
        (
            "T4: a(l,4) a(l,5)  T5: r(l,[5 4])",
            Anomaly::IncompatibleOrder,
            read(2, Some(0)),
            expect!["T5 read l=[5 4], where 5 is before 4, although T4 appended 4 first."],
        ),
        (
            "T1: a(l,1)  T2: r(l,[1 1])",
            Anomaly::DuplicateElements,
            read(1, Some(0)),
            expect!["T2 read l=[1 1], which contains 1 more often than it was appended."],
        ),
        (
            "T1!: a(l,1)  T2: r(l,[1 2])  T3: a(l,2)",
            Anomaly::AbortedRead,
            read(1, Some(0)),
            expect!["T2 read l=[1 2], with the 1 of T1, which aborted."],
        ),
        (
            "T1: a(l,1)  T2: r(l,[1 7])",
            Anomaly::ThinAirRead,
            read(1, None),
            expect!["T2 read l=[1 7], which contains 7, which no transaction appended."],
        ),
        (
            "T1: a(l,1) r(l,[])",
            Anomaly::NotMyOwnWrite,
            read(1, None),
            expect!["T1 read l=[], which does not end with the 1 that it had appended."],
        ),
        (
            "T1: a(l,1) a(l,2) r(l,[1 2 3])  T2: a(l,3)",
            Anomaly::NotMyOwnWrite,
            read(2, None),
            expect!["T1 read l=[1 2 3], which does not end with the 1 and 2 that it had appended."],
        ),
        (
            "T1: a(l,1) a(l,2)  T2: r(l,[2 1])",
            Anomaly::IncompatibleOrder,
            read(2, Some(0)),
            expect!["T2 read l=[2 1], where 2 is before 1, although T1 appended 1 first."],
        ),
        // The first 1 is another's.
        (
            "T1: a(l,1) a(l,2)  T2: r(l,[1 2 1])  T3: a(l,1)",
            Anomaly::IncompatibleOrder,
            read(2, Some(0)),
            expect!["T2 read l=[1 2 1], where the appends of T1 are in another order than it made them."],
        ),
    ];
    for (text, anomaly, evidence, expected) in cases {
        expected.assert_eq(&headline(text, anomaly, evidence));
    }
}

#[test]
fn two_reads_that_contradict_each_other() {
    let pair = || Evidence::Pair { first: Op(0), second: Op(1) };
    expect!["T1 read x=0, and when it read x again it found 1."].assert_eq(&headline(
        "T1: r(x,0) r(x,1)",
        Anomaly::NonRepeatableRead,
        pair(),
    ));
    let own = Evidence::Pair { first: Op(0), second: Op(2) };
    expect!["T1 read l=[], and when it read l again it found [1] before its own 2."].assert_eq(&headline(
        "T1: r(l,[]) a(l,2) r(l,[1 2])  T2: a(l,1)",
        Anomaly::NonRepeatableRead,
        own,
    ));
    expect!["T1 read l=[1 2] and T2 read l=[2 1]: neither list is a prefix of the other."]
        .assert_eq(&headline("T1: r(l,[1 2])  T2: r(l,[2 1])", Anomaly::IncompatibleOrder, pair()));
    let long = "T1: r(l,[1 2 3 4 5 6 7 8 9 10 11 12])  T2: r(l,[1 2 3 4 5 7 6])";
    expect!["T1 read l=[1 2 3 … 10 11 12] and T2 read l=[1 2 3 4 5 7 6]: neither list is a prefix of the other; element 6 is 6 in one and 7 in the other."].assert_eq(&headline(long, Anomaly::IncompatibleOrder, pair()));
}

#[test]
fn a_fractured_read_follows_the_order_of_the_reads() {
    let new_first = parse("T1: w(x,2)  T5: r(x,2) w(x,9) w(y,3)  T7: r(y,3) r(x,2)");
    let cycle = |read, seen| {
        let seen = Seen::Read(Op(seen));
        Evidence::Cycle(vec![forced(txn(1), txn(0), read, seen), read_from(txn(0), txn(1), 1)])
    };
    expect![[r#"
        T7 read y=3 from T5, which also wrote x=9, and then read the older x=2 from T1.
        - T5 must come before T1: T7 read x=2 from T1, although it read y=3 from T5, which wrote x=9.
        - T1 comes before T5: T5 read x=2 from T1."#]]
    .assert_eq(&tell(&new_first, Anomaly::FracturedRead, cycle(5, 4)));
    let old_first = parse("T1: w(x,2)  T5: r(x,2) w(x,9) w(y,3)  T7: r(x,2) r(y,3)");
    expect![[r#"
        T7 read x=2 from T1, and then read y=3 from T5, which also wrote x=9.
        - T5 must come before T1: T7 read x=2 from T1, although it read y=3 from T5, which wrote x=9.
        - T1 comes before T5: T5 read x=2 from T1."#]]
    .assert_eq(&tell(&old_first, Anomaly::FracturedRead, cycle(4, 5)));
    let story = tell(&new_first, Anomaly::NonMonotonicRead, cycle(5, 4));
    expect![[r#"
        T7 read y=3 from T5, which wrote x=9, and then went back: it read the older x=2 from T1.
        - T5 must come before T1: T7 read x=2 from T1, although it read y=3 from T5, which wrote x=9.
        - T1 comes before T5: T5 read x=2 from T1."#]]
    .assert_eq(&story);
}

#[test]
fn a_read_of_the_same_key_is_not_repeated() {
    let history = parse("T1: w(x,1)  T3: r(x,1) r(x,0)");
    let cycle = vec![forced(txn(0), Node::Initial, 2, Seen::Read(Op(1))), session(Node::Initial, txn(0))];
    expect![[r#"
        T3 read x=1 from T1 and then went back: it read x=0, the initial value.
        - T1 would have to come before the initial state: T3 read x=0, the initial value, although it read x=1 from T1.
        - The initial state comes before T1."#]].assert_eq(&tell(&history, Anomaly::NonMonotonicRead, Evidence::Cycle(cycle)));
}

#[test]
fn the_initial_state_is_called_the_initial_value() {
    let history = parse("T1: w(x,1) w(y,2)  T2: r(y,2) r(x,0)");
    let cycle = vec![forced(txn(0), Node::Initial, 3, Seen::Read(Op(2))), session(Node::Initial, txn(0))];
    expect![[r#"
        T2 read y=2 from T1, which also wrote x=1, and then read x=0, the initial value.
        - T1 would have to come before the initial state: T2 read x=0, the initial value, although it read y=2 from T1, which wrote x=1.
        - The initial state comes before T1."#]].assert_eq(&tell(&history, Anomaly::FracturedRead, Evidence::Cycle(cycle)));
}

#[test]
fn a_session_that_forgets_its_own_writes() {
    let history = parse("T1: r(x,0) w(x,1) ; T2: r(x,0)");
    let cycle = vec![forced(txn(0), Node::Initial, 2, Seen::Session), read_from(Node::Initial, txn(0), 0)];
    expect![[r#"
        T1 wrote x=1, and yet T2, after it in session 1, read x=0, the initial value.
        - T1 would have to come before the initial state: T2 read x=0, the initial value, although T1, before it in session 1, wrote x=1.
        - The initial state comes before T1: T1 read x=0, the initial value."#]].assert_eq(&tell(&history, Anomaly::StaleSessionRead, Evidence::Cycle(cycle)));
}

#[test]
fn a_causal_path_is_unfolded() {
    let history = parse("T1: w(x,1)  T2: r(x,1) w(x,2)  T3: r(x,2) w(z,1) ; T4: w(y,1)  T5: r(y,1) r(x,1)");
    let path = vec![read_from(txn(1), txn(2), 3), session(txn(2), txn(3)), read_from(txn(3), txn(4), 6)];
    let cycle = vec![forced(txn(1), txn(0), 7, Seen::Causal(path)), read_from(txn(0), txn(1), 1)];
    expect![[r#"
        T5 had seen T2, which wrote x=2, by way of T3 and T4, and yet it read the older x=1 from T1.
        - T2 must come before T1: T5 read x=1 from T1, although it had seen T2, which wrote x=2.
          - T3 read x=2 from T2.
          - T4 follows T3 in session 3.
          - T5 read y=1 from T4.
        - T1 comes before T2: T2 read x=1 from T1."#]]
    .assert_eq(&tell(&history, Anomaly::CausalityViolation, Evidence::Cycle(cycle.clone())));
    let conflict = tell(&history, Anomaly::ConflictingCommitOrder, Evidence::Cycle(cycle));
    expect![[r#"
        Readers disagree on which came first, T1 or T2: T5 read x=1 from T1, although it had seen T2, which wrote x=2; but others saw T1 first.
        - T2 must come before T1: T5 read x=1 from T1, although it had seen T2, which wrote x=2.
          - T3 read x=2 from T2.
          - T4 follows T3 in session 3.
          - T5 read y=1 from T4.
        - T1 comes before T2: T2 read x=1 from T1."#]].assert_eq(&conflict);
}

#[test]
fn circles_of_reads_and_overwrites() {
    let two = parse("T1: r(x,1) w(y,1)  T2: r(y,1) w(x,1)");
    let cycle = Evidence::Cycle(vec![read_from(txn(0), txn(1), 2), read_from(txn(1), txn(0), 0)]);
    expect![[r#"
        T2 read y=1 from T1 and T1 read x=1 from T2: each comes before the other.
        - T1 comes before T2: T2 read y=1 from T1.
        - T2 comes before T1: T1 read x=1 from T2."#]]
    .assert_eq(&tell(&two, Anomaly::CyclicCausality, cycle));
    let lists = parse("T1: a(x,1) a(y,1)  T2: a(x,2) a(y,2)  T3: r(x,[1 2]) r(y,[2 1])");
    let versions = |from, to, read| edge(from, to, Why::Versions { read: Op(read), index: 1 });
    let cycle = Evidence::Cycle(vec![versions(txn(0), txn(1), 4), versions(txn(1), txn(0), 5)]);
    expect![[r#"
        T1 and T2 overwrote one another's writes: each comes before the other.
        - T1 comes before T2: T3 read x=[1 2], where the 2 of T2 follows the 1 of T1.
        - T2 comes before T1: T3 read y=[2 1], where the 1 of T1 follows the 2 of T2."#]]
    .assert_eq(&tell(&lists, Anomaly::DirtyWrite, cycle.clone()));
    expect![[r#"
        No order of T1 and T2 explains what was read: each comes before the other.
        - T1 comes before T2: T3 read x=[1 2], where the 2 of T2 follows the 1 of T1.
        - T2 comes before T1: T3 read y=[2 1], where the 1 of T1 follows the 2 of T2."#]]
    .assert_eq(&tell(&lists, Anomaly::WriteSkew, cycle));
    let missing = parse("T1: a(x,1) r(y,[1])  T2: a(y,1) a(x,2)  T3: r(x,[1])");
    let why = Why::Missing { read: Op(4), append: Op(3) };
    let cycle = Evidence::Cycle(vec![edge(txn(0), txn(1), why), read_from(txn(1), txn(0), 1)]);
    expect![[r#"
        Information flowed in a cycle between T1 and T2: each comes before the other.
        - T1 comes before T2: T3 read x=[1], which does not yet contain the 2 that T2 appended.
        - T2 comes before T1: T1 read y=[1] from T2."#]]
    .assert_eq(&tell(&missing, Anomaly::CircularInformationFlow, cycle));
}

#[test]
fn an_append_that_is_lost() {
    let history = parse("init=nil  T1: a(x,1) ; T2: a(x,2)  T3: r(x,[2])");
    let why = Why::Missing { read: Op(2), append: Op(0) };
    let cycle = Evidence::Cycle(vec![edge(txn(1), txn(0), why), session(txn(0), txn(1))]);
    expect![[r#"
        T3 read x=[2], which lacks the 1 that T1 had appended before.
        - T2 comes before T1: T3 read x=[2], which does not yet contain the 1 that T1 appended.
        - T1 comes before T2: T2 follows T1 in session 1."#]]
    .assert_eq(&tell(&history, Anomaly::LostAppend, cycle));
}

#[test]
fn a_long_circle_loses_its_middle() {
    let txns: Vec<String> = (0..20).map(|i| format!("T{i}: r(k{},1) w(k{i},1)", (i + 19) % 20)).collect();
    let history = parse(&txns.join("  "));
    let edges = (0..20).map(|i| read_from(txn(i), txn((i + 1) % 20), 2 * ((i + 1) % 20)));
    let story = tell(&history, Anomaly::CyclicCausality, Evidence::Cycle(edges.collect()));
    expect![[r#"
        T0, T1, T2, T3, T4 and 15 more depend on one another in a cycle, by sessions and reads alone: none can come first.
        - T0 comes before T1: T1 read k0=1 from T0.
        - T1 comes before T2: T2 read k1=1 from T1.
        - T2 comes before T3: T3 read k2=1 from T2.
        - T3 comes before T4: T4 read k3=1 from T3.
        - ... 13 more steps
        - T17 comes before T18: T18 read k17=1 from T17.
        - T18 comes before T19: T19 read k18=1 from T18.
        - T19 comes before T0: T0 read k19=1 from T19."#]].assert_eq(&story);
}

#[test]
fn clauses_point_at_operations_and_each_is_pointed_at_once() {
    let history = parse("T1: w(x,2)  T5: r(x,2) w(x,9) w(y,3)  T7: r(y,3) r(x,2)");
    let cycle = vec![forced(txn(1), txn(0), 5, Seen::Read(Op(4))), read_from(txn(0), txn(1), 1)];
    let teller = Teller::new(&history);
    let instance = Instance { evidence: Evidence::Cycle(cycle), component: Some(0) };
    let story = teller.story(Anomaly::FracturedRead, &instance);
    let labels: Vec<String> =
        teller.pointers(&story).into_iter().map(|p| format!("{:?} {}", p.op, p.label)).collect();
    assert_eq!(
        labels,
        ["O2 T5 writes x=9", "O0 T1 writes x=2", "O4 T7 reads y=3", "O5 T7 reads x=2", "O1 T5 reads x=2"]
    );
}

#[test]
fn names_that_repeat_are_qualified_by_session_or_place() {
    let mut builder = Builder::new();
    builder.session("a").named(1).write(7, 1).outcome(isoscope_history::Outcome::Aborted);
    builder.session("b").named(1).read(7, 1);
    let history = builder.finish();
    expect![[r#"
        T1 (session b) read key 7=1 from T1 (session a), which aborted.
        - T1 (session a) wrote key 7=1.
        - T1 (session b) read key 7=1."#]]
    .assert_eq(&tell(&history, Anomaly::AbortedRead, read(1, Some(0))));
    let mut builder = Builder::new();
    builder.session("a").named("t").write("x", 1);
    builder.session("a").named("t").read("x", "a text that is much too long to be told in a story");
    let history = builder.finish();
    expect![[r#"
        Transaction 2 of session a read x="a text that is much too long …", which no transaction wrote.
        - Transaction 2 of session a read x="a text that is much too long …"."#]]
    .assert_eq(&tell(&history, Anomaly::ThinAirRead, read(1, None)));
}

//! Stories of dependency cycles and of proofs by cases, from evidence made by hand.
#![allow(clippy::needless_raw_string_hashes, reason = "snapshots are renewed by a program")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod support;

use expect_test::expect;
use isoscope_check::{Case, Choice, Edge, Evidence, Instance, Node, Proof, Seen, Why};
use isoscope_explain::Teller;
use isoscope_history::{Draft, Key, Op, OpKind, Outcome, Txn, Value};
use isoscope_levels::Anomaly;

use support::{parse, tell};

fn headline(text: &str, anomaly: Anomaly, edges: Vec<Edge>) -> String {
    support::headline(text, anomaly, Evidence::Cycle(edges))
}

fn txn(n: u32) -> Node {
    Node::Txn(Txn(n))
}

fn edge(from: u32, to: u32, why: Why) -> Edge {
    Edge { from: txn(from), to: txn(to), why }
}

/// `from` read what `to` overwrote.
fn rw(from: u32, to: u32, read: u32) -> Edge {
    edge(from, to, Why::Misses { read: Op(read) })
}

fn wr(from: u32, to: u32, read: u32) -> Edge {
    edge(from, to, Why::ReadFrom { read: Op(read) })
}

/// Keys are numbered in the order of their names.
fn ww(from: u32, to: u32, key: u32) -> Edge {
    edge(from, to, Why::Overwritten { key: Key(key) })
}

fn so(from: u32, to: u32) -> Edge {
    edge(from, to, Why::Session)
}

fn rt(from: u32, to: u32) -> Edge {
    edge(from, to, Why::RealTime)
}

fn versions(key: u32, first: u32, second: u32, cases: [u32; 2]) -> Case {
    let choice = Choice::Versions { key: Key(key), first: Txn(first), second: Txn(second) };
    Case::Split { choice, cases: cases.into() }
}

fn source(read: u32, writers: &[Node], cases: &[u32]) -> Case {
    Case::Split { choice: Choice::Source { read: Op(read), writers: writers.into() }, cases: cases.into() }
}

fn cases(cases: Vec<Case>) -> Evidence {
    Evidence::Cases(Proof { cases })
}

const LOST_UPDATE: &str = "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)";

fn lost_update() -> Evidence {
    cases(vec![
        versions(0, 0, 1, [2, 1]),
        Case::Cycle(vec![ww(1, 0, 0), rw(0, 1, 0)]),
        Case::Cycle(vec![ww(0, 1, 0), rw(1, 0, 2)]),
    ])
}

#[test]
fn a_lost_update_is_lost_either_way() {
    expect![[r#"
        T1 and T2 both read x=0, the initial value, and both overwrote it: one of the two updates is lost.
        - T1 comes before T2: T1 wrote x=1 before T2 wrote x=2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
        - T2 missed T1: it read x=0, which T1 overwrote with 1."#]]
    .assert_eq(&tell(&parse(LOST_UPDATE), Anomaly::LostUpdate, lost_update()));
    let lists = parse("init=nil  T1: r(x,[]) a(x,1)  T2: r(x,[]) a(x,2)");
    expect![[r#"
        T1 and T2 both read x=[] and both appended to it: neither had seen the append of the other.
        - T1 comes before T2: T1 appended 1 to x before T2 appended 2 to x.
          - The opposite order, T2 before T1, fails too: T1 read x=[], which does not yet contain the 2 that T2 appended.
        - T2 missed T1: it read x=[], which does not yet contain the 1 that T1 appended."#]].assert_eq(&tell(&lists, Anomaly::LostUpdate, lost_update()));
    let blind = "T0: w(x,7)  T1: w(x,1)  T2: r(x,7) w(x,2)";
    expect!["T2 read x=7 and then wrote x=2 without having seen T1, which wrote x=1: one of the two writes is lost."].assert_eq(&headline(blind, Anomaly::LostUpdate, vec![ww(1, 2, 0), rw(2, 1, 2)]));
}

#[test]
fn a_write_skew_is_two_misses() {
    let history = parse("T1: r(x,0) r(y,0) w(x,1)  T2: r(x,0) r(y,0) w(y,2)");
    let cycle = Evidence::Cycle(vec![rw(0, 1, 1), rw(1, 0, 3)]);
    expect![[r#"
        T1 read y=0, which T2 overwrote with 2, and T2 read x=0, which T1 overwrote with 1: each must come before the other.
        - T1 missed T2: it read y=0, which T2 overwrote with 2.
        - T2 missed T1: it read x=0, which T1 overwrote with 1."#]].assert_eq(&tell(&history, Anomaly::WriteSkew, cycle));
    expect!["T1, T3 and T2 each read what the next one overwrote: none can come first."].assert_eq(
        &headline(
            "T1: r(x,0) w(y,1)  T2: r(y,0) w(z,1)  T3: r(z,0) w(x,1)",
            Anomaly::WriteSkew,
            vec![rw(0, 2, 0), rw(2, 1, 4), rw(1, 0, 2)],
        ),
    );
    expect!["T2 missed T3 and T3 missed T1, and yet T2 follows T1 in session 1: none can come first."]
        .assert_eq(&headline(
            "T1: w(y,1) ; T2: r(x,0)  T3: r(y,0) w(x,2)",
            Anomaly::WriteSkew,
            vec![so(0, 1), rw(1, 2, 1), rw(2, 0, 2)],
        ));
}

#[test]
fn a_long_fork_is_a_disagreement() {
    let history = parse("T1: w(x,1)  T2: w(y,2)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,2)");
    let cycle = Evidence::Cycle(vec![wr(0, 2, 2), rw(2, 1, 3), wr(1, 3, 5), rw(3, 0, 4)]);
    expect![[r#"
        T3 saw T1 and missed T2, and T4 saw T2 and missed T1: they disagree on which came first, T1 or T2.
        - T1 comes before T3: T3 read x=1 from T1.
        - T3 missed T2: it read y=0, which T2 overwrote with 2.
        - T2 comes before T4: T4 read y=2 from T2.
        - T4 missed T1: it read x=0, which T1 overwrote with 1."#]]
    .assert_eq(&tell(&history, Anomaly::LongFork, cycle));
}

#[test]
fn a_snapshot_skew_says_what_must_have_been_seen() {
    let history = parse("T1: r(x,0) w(x,1)  T2: r(y,0) w(x,2)  T3: w(y,3)  T4: r(y,3) r(x,0)");
    let proof = cases(vec![
        versions(0, 1, 0, [1, 2]),
        Case::Cycle(vec![ww(1, 0, 0), rw(0, 1, 0)]),
        Case::Cycle(vec![ww(0, 1, 0), rw(1, 2, 2), wr(2, 3, 5), rw(3, 0, 6)]),
    ]);
    expect![[r#"
        T2 wrote x after T1 and missed T3, and T4 saw T3 and missed T1: they disagree on which came first, T1 or T3.
        - T1 comes before T2: T1 wrote x=1 before T2 wrote x=2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
        - T2 missed T3: it read y=0, which T3 overwrote with 3.
        - T3 comes before T4: T4 read y=3 from T3.
        - T4 missed T1: it read x=0, which T1 overwrote with 1."#]].assert_eq(&tell(&history, Anomaly::SnapshotSkew, proof));
}

#[test]
fn a_read_skew_says_how_the_reader_saw_the_writer() {
    let skew = |text, edges| headline(text, Anomaly::ReadSkew, edges);
    let direct = "T1: w(x,1) w(y,2)  T2: r(x,0) r(y,2)";
    expect!["T2 read y=2 from T1, and yet it read x=0, which T1 overwrote with 1."]
        .assert_eq(&skew(direct, vec![wr(0, 1, 3), rw(1, 0, 2)]));
    expect!["T2 follows T1 in session 1, and yet it read x=0, which T1 overwrote with 1."]
        .assert_eq(&skew("T1: w(x,1) ; T2: r(x,0)", vec![so(0, 1), rw(1, 0, 1)]));
    expect!["T1 had returned before T2 was invoked, and yet T2 read x=0, which T1 overwrote with 1."]
        .assert_eq(&skew("T1@0-1: w(x,1)  T2@2-3: r(x,0)", vec![rt(0, 1), rw(1, 0, 1)]));
    let far = "T1: w(x,1)  T2: r(x,1) w(y,2)  T3: r(y,2) r(x,0)";
    expect!["T3 had seen T1, by way of T2, and yet it read x=0, which T1 overwrote with 1."]
        .assert_eq(&skew(far, vec![wr(0, 1, 1), wr(1, 2, 3), rw(2, 0, 4)]));
    let overwritten = "T1: w(x,1) w(z,1)  T2: w(z,2) w(y,2)  T3: r(x,0) r(y,2)";
    expect!["T3 comes after T1, by way of T2, and yet it read x=0, which T1 overwrote with 1."]
        .assert_eq(&skew(overwritten, vec![ww(0, 1, 2), wr(1, 2, 5), rw(2, 0, 4)]));
    expect!["T2 wrote after T1, and yet it read x=0, which T1 overwrote with 1."]
        .assert_eq(&skew("T1: w(x,1) w(y,2)  T2: r(x,0) w(y,3)", vec![ww(0, 1, 1), rw(1, 0, 2)]));
}

#[test]
fn real_time_is_what_the_clients_saw() {
    let history = parse("T1@0-1: r(x,1)  T2@2-3: w(x,1)");
    let cycle = || Evidence::Cycle(vec![rt(0, 1), wr(1, 0, 0)]);
    expect![[r#"
        T1 had returned before T2 was invoked, and yet T1 read x=1 from T2: each comes before the other.
        - T1 comes before T2: T1 had returned before T2 was invoked.
        - T2 comes before T1: T1 read x=1 from T2."#]]
    .assert_eq(&tell(&history, Anomaly::CyclicCausality, cycle()));
    let mut draft = Draft::new();
    let value = |n| Value::small(n).unwrap();
    for (name, kind, begin, commit) in [(1, OpKind::Read, 1, 2), (2, OpKind::Write, 3, 4)] {
        let session = draft.session(value(name));
        let txn = draft.txn(session, value(name), Outcome::Committed, None);
        draft.push(txn, kind, value(7), value(1), None);
        draft.set_timestamps(txn, begin, commit);
    }
    let stamped = tell(&draft.finish().unwrap(), Anomaly::CyclicCausality, cycle());
    expect![[r#"
        T1 had committed before T2 began, by the database's timestamps, and yet T1 read key 7=1 from T2: each comes before the other.
        - T1 comes before T2: T1 had committed before T2 began, by the database's timestamps.
        - T2 comes before T1: T1 read key 7=1 from T2."#]].assert_eq(&stamped);
}

#[test]
fn dirty_writes_and_circular_flow_by_assumed_orders() {
    let text = "T1: w(x,1) w(y,1)  T2: w(x,2) w(y,2)  T3: r(x,2) r(y,1)";
    let overwritten = Evidence::Cycle(vec![ww(0, 1, 0), ww(1, 0, 1)]);
    expect![[r#"
        T1 and T2 overwrote one another's writes: each comes before the other.
        - T1 comes before T2: T1 wrote x=1 before T2 wrote x=2.
        - T2 comes before T1: T2 wrote y=2 before T1 wrote y=1."#]]
    .assert_eq(&tell(&parse(text), Anomaly::DirtyWrite, overwritten));
    let flow = "T1: r(y,2) w(x,1)  T2: w(x,2) w(y,2)";
    expect!["Information flowed in a cycle between T1 and T2: each comes before the other."]
        .assert_eq(&headline(flow, Anomaly::CircularInformationFlow, vec![ww(0, 1, 0), wr(1, 0, 0)]));
    let initial = Edge { from: Node::Initial, to: txn(0), why: Why::Overwritten { key: Key(0) } };
    let told = Teller::new(&parse("T1: w(x,1)")).step(&initial).text;
    expect!["The initial state comes before T1: T1 wrote x=1 over the initial value."].assert_eq(&told);
}

/// Who wrote what was read is a choice too, and the initial state may be among the writers.
#[test]
fn a_choice_of_writers_says_who_it_cannot_have_been() {
    let history = parse("T1: w(x,1) w(y,1)  T2: w(x,1) w(y,2)  T3: r(y,0) r(x,1)");
    let proof = cases(vec![
        source(5, &[txn(0), txn(1)], &[1, 2]),
        Case::Cycle(vec![wr(0, 2, 5), rw(2, 0, 4)]),
        Case::Cycle(vec![wr(1, 2, 5), rw(2, 1, 4)]),
    ]);
    expect![[r#"
        T3 read x=1 from T2, and yet it read y=0, which T2 overwrote with 2.
        - T2 comes before T3: T3 read x=1 from T2.
          - T3 cannot have read x=1 from T1 instead: T3 read y=0, which T1 overwrote with 1.
        - T3 missed T2: it read y=0, which T2 overwrote with 2."#]]
    .assert_eq(&tell(&history, Anomaly::ReadSkew, proof));
    let zero = parse("T1: w(x,0) w(y,1)  T2: r(x,0) r(y,0)  T3: w(x,3) ; T4: r(x,0)");
    let proof = cases(vec![
        source(5, &[Node::Initial, txn(0)], &[1, 2]),
        Case::Cycle(vec![so(2, 3), rw(3, 2, 5)]),
        Case::Cycle(vec![wr(0, 3, 5), so(3, 0)]),
    ]);
    expect![[r#"
        No order of T1 and T4 explains what was read: each comes before the other.
        - T1 comes before T4: T4 read x=0 from T1.
          - T4 cannot have read the initial x=0 instead:
            - T3 comes before T4: T4 follows T3 in session 3.
            - T4 missed T3: it read x=0, which T3 overwrote with 3.
        - T4 comes before T1: T1 follows T4 in session 3."#]]
    .assert_eq(&tell(&zero, Anomaly::ReadSkew, proof));
}

/// The story shows beneath an alternative what its cycle rests on, and repeats nothing.
#[test]
fn a_line_of_choices_is_unfolded_where_it_is_used() {
    let history = parse("T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2) w(y,2)  T3: r(y,2) r(x,1) w(x,3)  T4: w(z,1)");
    let proof = cases(vec![
        versions(0, 1, 0, [1, 2]),
        Case::Cycle(vec![ww(1, 0, 0), rw(0, 1, 0)]),
        versions(0, 1, 2, [4, 3]),
        Case::Cycle(vec![ww(0, 1, 0), ww(2, 1, 0), wr(1, 2, 5)]),
        versions(2, 3, 0, [5, 6]),
        Case::Cycle(vec![so(3, 0), so(0, 3)]),
        Case::Cycle(vec![ww(1, 2, 0), rw(2, 1, 6)]),
    ]);
    expect![[r#"
        T3 wrote after T2, and yet it read x=1, which T2 overwrote with 2.
        - T2 comes before T3: T2 wrote x=2 before T3 wrote x=3.
          - The opposite order, T3 before T2, fails too:
            - T1 comes before T2: T1 wrote x=1 before T2 wrote x=2.
              - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
            - T2 comes before T3: T3 read y=2 from T2.
        - T3 missed T2: it read x=1, which T2 overwrote with 2."#]]
    .assert_eq(&tell(&history, Anomaly::ReadSkew, proof));
}

/// What was missed rests on who wrote what was read, and on the order of that writer, not of one of equal value.
#[test]
fn a_miss_rests_on_its_writer_and_on_its_order() {
    let history = parse("T1: w(x,1)  T2: w(x,1) w(y,1)  T3: r(y,1) w(x,3)  T4: r(x,1) w(y,4)");
    let refuted = |first, second| Case::Cycle(vec![ww(first, second, 0), so(second, first)]);
    let proof = cases(vec![
        versions(0, 0, 2, [2, 1]),
        refuted(2, 0),
        versions(0, 1, 2, [4, 3]),
        refuted(2, 1),
        source(5, &[txn(0), txn(1)], &[5, 6]),
        Case::Cycle(vec![wr(0, 3, 5), so(3, 0)]),
        Case::Cycle(vec![wr(1, 3, 5), rw(3, 2, 5), so(2, 1)]),
    ]);
    expect![[r#"
        T4 had seen T3, by way of T2, and yet it read x=1, which T3 overwrote with 3.
        - T2 comes before T4: T4 read x=1 from T2.
          - T4 cannot have read x=1 from T1 instead: T1 follows T4 in session 4.
        - T4 missed T3: it read x=1, which T3 overwrote with 3.
          - The opposite order, T3 before T2, fails too: T3 follows T2 in session 2.
        - T3 comes before T2: T2 follows T3 in session 3."#]]
    .assert_eq(&tell(&history, Anomaly::ReadSkew, proof));
}

/// Two alternatives that each need a further choice.
fn branching() -> Vec<Case> {
    vec![
        versions(0, 0, 1, [1, 4]),
        versions(1, 0, 1, [2, 3]),
        Case::Cycle(vec![ww(0, 1, 0), rw(1, 0, 5)]),
        Case::Cycle(vec![ww(0, 1, 0), ww(1, 0, 1)]),
        versions(1, 0, 1, [5, 6]),
        Case::Cycle(vec![ww(1, 0, 0), ww(0, 1, 1)]),
        Case::Cycle(vec![ww(1, 0, 0), rw(0, 1, 2)]),
    ]
}

#[test]
fn branches_follow_one_another() {
    let history = parse("T1: w(x,1) w(y,1) r(z,0) w(u,1)  T2: w(x,2) r(u,0) w(y,2) w(z,2)");
    let proof = cases(branching());
    expect![[r#"
        T1 wrote after T2, and yet it read z=0, which T2 overwrote with 2.
        - Either T1 wrote x=1 before T2 wrote x=2:
          - T2 comes before T1: T2 wrote y=2 before T1 wrote y=1.
            - The opposite order, T1 before T2, fails too: T2 read u=0, which T1 overwrote with 1.
        - Or T2 wrote x=2 before T1 wrote x=1:
          - T1 missed T2: it read z=0, which T2 overwrote with 2."#]]
    .assert_eq(&tell(&history, Anomaly::WriteSkew, proof));
}

/// The page ends where a person would stop reading, and says how much there is.
#[test]
fn a_large_proof_is_cut_and_counted() {
    let txns: Vec<String> = (0..60).map(|i| format!("T{i}: r(x,0) w(x,{})", i + 1)).collect();
    let history = parse(&txns.join("  "));
    let writers: Vec<Node> = std::iter::once(Node::Initial).chain((1..60).map(txn)).collect();
    let leaf = |i: u32| Case::Cycle(vec![wr(i, 0, 0), so(0, i), so(i, 0)]);
    let children: Vec<u32> = (1..=60).collect();
    let mut all = vec![source(0, &writers, &children)];
    all.extend((1..=60).map(|i| leaf(i % 60)));
    let told = tell(&history, Anomaly::WriteSkew, cases(all));
    expect![[r#"
        No order of T0, T0 and T0 explains what was read: none can come first.
        - T0 comes before T0: T0 read x=0 from T0.
          - T0 cannot have read the initial x=0 instead:
            - T1 comes before T0: T0 read x=0 from T1.
            - T0 comes before T1: T1 follows T0 in session 0.
            - T1 comes before T0: T0 follows T1 in session 1.
          - T0 cannot have read x=0 from T1 instead:
            - T2 comes before T0: T0 read x=0 from T2.
            - T0 comes before T2: T2 follows T0 in session 0.
            - T2 comes before T0: T0 follows T2 in session 2.
          - T0 cannot have read x=0 from T2 instead:
            - T3 comes before T0: T0 read x=0 from T3.
            - T0 comes before T3: T3 follows T0 in session 0.
            - T3 comes before T0: T0 follows T3 in session 3.
          - T0 cannot have read x=0 from T3 instead:
            - T4 comes before T0: T0 read x=0 from T4.
            - T0 comes before T4: T4 follows T0 in session 0.
            - T4 comes before T0: T0 follows T4 in session 4.
          - T0 cannot have read x=0 from T4 instead:
            - T5 comes before T0: T0 read x=0 from T5.
            - T0 comes before T5: T5 follows T0 in session 0.
            - T5 comes before T0: T0 follows T5 in session 5.
          - T0 cannot have read x=0 from T5 instead:
            - T6 comes before T0: T0 read x=0 from T6.
            - T0 comes before T6: T6 follows T0 in session 0.
            - T6 comes before T0: T0 follows T6 in session 6.
          - T0 cannot have read x=0 from T6 instead:
            - T7 comes before T0: T0 read x=0 from T7.
            - T0 comes before T7: T7 follows T0 in session 0.
            - T7 comes before T0: T0 follows T7 in session 7.
          - T0 cannot have read x=0 from T7 instead:
            - T8 comes before T0: T0 read x=0 from T8.
            - T0 comes before T8: T8 follows T0 in session 0.
            - T8 comes before T0: T0 follows T8 in session 8.
        - T0 comes before T0: T0 follows T0 in session 0.
        - T0 comes before T0: T0 follows T0 in session 0.
        - ... and 51 more cases, each of which also ends in a cycle"#]]
    .assert_eq(&told);
}

#[test]
fn a_proof_of_many_steps_fits_a_page() {
    let history = parse(LOST_UPDATE);
    let mut all = Vec::new();
    for i in 0..50_000 {
        all.push(versions(0, 1, 0, [2 * i + 1, 2 * i + 2]));
        all.push(Case::Cycle(vec![ww(1, 0, 0), rw(0, 1, 0)]));
    }
    all.push(Case::Cycle(vec![ww(0, 1, 0), rw(1, 0, 2)]));
    let told = tell(&history, Anomaly::LostUpdate, cases(all));
    expect![[r#"
        T1 and T2 both read x=0, the initial value, and both overwrote it: one of the two updates is lost.
        - T1 comes before T2: T1 wrote x=1 before T2 wrote x=2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
          - The opposite order, T2 before T1, fails too: T1 read x=0, which T2 overwrote with 2.
        - T2 missed T1: it read x=0, which T1 overwrote with 1.
        - ... and 49,971 more cases, each of which also ends in a cycle"#]]
    .assert_eq(&told);
}

#[test]
fn assumptions_inside_forced_edges_are_unfolded() {
    let history = parse("T1: w(x,1)  T2: r(x,1) w(x,2) w(y,1)  T3: w(y,1)  T4: r(y,1) r(x,1)");
    let forced = |seen| edge(1, 0, Why::Forced { read: Op(6), seen });
    let proof = cases(vec![
        source(5, &[txn(2), txn(1)], &[1, 2]),
        Case::Cycle(vec![wr(2, 3, 5), so(3, 2)]),
        Case::Cycle(vec![forced(Seen::Read(Op(5))), wr(0, 1, 1)]),
    ]);
    expect![[r#"
        T4 read y=1 from T2, which also wrote x=2, and then read the older x=1 from T1.
        - T2 must come before T1: T4 read x=1 from T1, although it read y=1 from T2, which wrote x=2.
          - T4 cannot have read y=1 from T3 instead: T3 follows T4 in session 4.
        - T1 comes before T2: T2 read x=1 from T1."#]]
    .assert_eq(&tell(&history, Anomaly::FracturedRead, proof));
}

/// All operations of all cases, the main cycle's first; the story points at those it speaks of.
#[test]
fn proofs_point_at_operations() {
    let history = parse(LOST_UPDATE);
    let teller = Teller::new(&history);
    let instance = Instance { evidence: lost_update(), component: None };
    let story = teller.story(Anomaly::LostUpdate, &instance);
    assert_eq!(story.focus, Some(Op(2)));
    let labels: Vec<String> = teller.pointers(&story).into_iter().map(|pointer| pointer.label).collect();
    assert_eq!(labels, ["T1 writes x=1", "T2 writes x=2", "T1 reads x=0", "T2 reads x=0"]);
    let ops = teller.operations(Anomaly::LostUpdate, &instance.evidence);
    assert_eq!(ops, [Op(1), Op(3), Op(2), Op(0)]);
}

#[test]
fn a_stale_read_has_an_age() {
    let cycle = || vec![rt(0, 1), rw(1, 0, 1)];
    expect!["T2 read x=0, an old version: T1 wrote x=1 and returned 479 events before T2 began."]
        .assert_eq(&headline("T1@0-1: w(x,1)  T2@480-481: r(x,0)", Anomaly::StaleRead, cycle()));
    expect!["T2 read x=0, an old version: T1 wrote x=1 and returned before T2 began."].assert_eq(&headline(
        "T1: w(x,1)  T2: r(x,0)",
        Anomaly::StaleRead,
        cycle(),
    ));
}

//! Proofs by cases, written by hand: every alternative of every choice is refuted, and one that is left out is missed.

use isoscope_check::{Case, Choice, Evidence, Judgement, Node, Proof};
use isoscope_history::{History, Key, Op, Txn, notation};
use isoscope_levels::{Anomaly, Level};

use super::{E, Place, Y, accept, edges, finding, node, op, refuse, txn, violated};

/// A node of a proof in short: a cycle, a choice of writers, or one of versions of the key of an operation.
#[derive(Clone)]
enum C {
    Leaf(Vec<E>),
    Source(Place, Vec<u32>, Vec<u32>),
    Versions(Place, [u32; 2], Vec<u32>),
}

fn proof(history: &History, short: &[C]) -> Proof {
    let case = |case: &C| match case {
        C::Leaf(short) => Case::Cycle(edges(history, short)),
        C::Source(read, writers, cases) => {
            let writers = writers.iter().map(|&n| node(history, n)).collect();
            Case::Split { choice: Choice::Source { read: op(history, *read), writers }, cases: cases.clone() }
        }
        C::Versions(place, [first, second], cases) => {
            let (first, second) = (txn(history, *first), txn(history, *second));
            let key = history.key_of(op(history, *place));
            Case::Split { choice: Choice::Versions { key, first, second }, cases: cases.clone() }
        }
    };
    Proof { cases: short.iter().map(case).collect() }
}

fn by_cases(history: &History, level: Level, anomaly: Anomaly, short: &[C]) -> Judgement {
    violated(level, vec![finding(anomaly, Evidence::Cases(proof(history, short)))])
}

/// T1 and T2 update x from the same version; the second one misses the first.
#[test]
fn either_of_two_writers_is_the_first() {
    use C::{Leaf, Versions};
    let history =
        notation::parse("T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)  T3!: w(x,3)  T4?: w(x,4)  T5: w(y,1)")
            .unwrap();
    let first = Leaf(vec![E(1, 2, Y::Ww((1, 0))), E(2, 1, Y::Rw((2, 0)))]);
    let second = Leaf(vec![E(2, 1, Y::Ww((1, 0))), E(1, 2, Y::Rw((1, 0)))]);
    let good = [Versions((1, 0), [1, 2], vec![1, 2]), first.clone(), second.clone()];
    let check = |level, short: &[C]| by_cases(&history, level, Anomaly::LostUpdate, short);
    for level in [Level::ParallelSnapshot, Level::Snapshot, Level::AdyaPl299, Level::StrictSerializable] {
        accept(&history, &check(level, &good));
    }
    accept(&history, &by_cases(&history, Level::Snapshot, Anomaly::ReadSkew, &good));
    refuse(&history, &check(Level::Prefix, &good), "does not forbid it");
    refuse(
        &history,
        &by_cases(&history, Level::Prefix, Anomaly::LongFork, &good),
        "does not forbid such a cycle",
    );
    refuse(
        &history,
        &by_cases(&history, Level::Snapshot, Anomaly::LongFork, &good),
        "case 2: the cycle has another",
    );
    let split = |txns, cases| Versions((1, 0), txns, cases);
    for (because, short) in [
        ("without a case", vec![]),
        ("case 1: T2 -> T1: that one overwrote", vec![good[0].clone(), second.clone(), first.clone()]),
        ("1 cases for 2 alternatives", vec![split([1, 2], vec![1]), first.clone()]),
        ("case 1 is reached twice", vec![split([1, 2], vec![1, 1]), first.clone()]),
        ("case 1 is not reached", vec![first.clone(), second.clone()]),
        ("case 0 does not follow 0", vec![split([1, 2], vec![0, 1]), first.clone()]),
        ("case 9 does not follow 0", vec![split([1, 2], vec![1, 9]), first.clone()]),
        ("one writer", vec![split([1, 1], vec![1, 2]), first.clone(), second.clone()]),
        ("T3 is absent", vec![split([1, 3], vec![1, 2]), first.clone(), second.clone()]),
        ("T4 is absent", vec![split([4, 2], vec![1, 2]), first.clone(), second.clone()]),
        ("T5 does not write", vec![split([1, 5], vec![1, 2]), first.clone(), second.clone()]),
    ] {
        refuse(&history, &check(Level::Snapshot, &short), because);
    }
    // What is chosen already is no choice.
    let twice = |last: &C| {
        let inner = [split([1, 2], vec![3, 4]), last.clone(), first.clone(), second.clone()];
        [&[split([1, 2], vec![1, 2])], &inner[..]].concat()
    };
    for last in [&first, &second] {
        refuse(&history, &check(Level::Snapshot, &twice(last)), "case 1: which of the two was first");
    }
    let with = |choice| {
        let cases = vec![Case::Split { choice, cases: Vec::new() }];
        violated(Level::Snapshot, vec![finding(Anomaly::LostUpdate, Evidence::Cases(Proof { cases }))])
    };
    let versions = |key, first, second| with(Choice::Versions { key: Key(key), first, second });
    refuse(&history, &versions(9, Txn(0), Txn(1)), "is no key");
    refuse(&history, &versions(0, Txn(0), Txn(99)), "is no transaction");
    refuse(&history, &versions(0, Txn(0), Txn(1)), "0 cases for 2 alternatives");
    let writers = vec![Node::Initial, Node::Txn(Txn(99))];
    refuse(&history, &with(Choice::Source { read: op(&history, (1, 0)), writers }), "is no transaction");
    refuse(&history, &with(Choice::Source { read: Op(99), writers: Vec::new() }), "is no operation");
}

/// Whichever of two writers T3 reads from, it misses another write of that one.
#[test]
fn every_possible_writer_is_a_case() {
    use C::{Leaf, Source};
    let history = notation::parse(
        "T1: w(x,1) w(y,1)  T2: w(x,1) w(z,1)  T3: r(x,1) r(y,0) r(z,0) w(u,1) r(u,1)  T4!: w(x,1) r(x,1)",
    )
    .unwrap();
    let first = || Leaf(vec![E(1, 3, Y::Wr((3, 0))), E(3, 1, Y::Rw((3, 1)))]);
    let second = || Leaf(vec![E(2, 3, Y::Wr((3, 0))), E(3, 2, Y::Rw((3, 2)))]);
    let check = |level, short: &[C]| by_cases(&history, level, Anomaly::FracturedRead, short);
    let good = [Source((3, 0), vec![1, 2], vec![1, 2]), first(), second()];
    for level in [Level::ReadAtomic, Level::Causal, Level::Prefix, Level::Snapshot, Level::AdyaPl299] {
        accept(&history, &check(level, &good));
    }
    accept(&history, &check(Level::ReadAtomic, &[Source((3, 0), vec![2, 1], vec![1, 2]), second(), first()]));
    refuse(&history, &check(Level::ReadCommitted, &good), "does not forbid it");
    let skipped = "a possible writer of r(x,1) of T3 is left out";
    for (because, short) in [
        (skipped, vec![Source((3, 0), vec![1], vec![1]), first()]),
        (skipped, vec![Source((3, 0), vec![], vec![])]),
        (skipped, vec![Source((3, 0), vec![1, 1], vec![1, 2]), first(), first()]),
        ("1 cases for 2 alternatives", vec![Source((3, 0), vec![1, 2], vec![1]), first()]),
        ("is not from there", vec![Source((3, 0), vec![2, 1], vec![1, 2]), first(), second()]),
        ("r(u,1) of T3 has no writer to choose", vec![Source((3, 4), vec![], vec![])]),
        ("w(u,1) of T3 is no read", vec![Source((3, 3), vec![], vec![])]),
        ("T4 is absent", vec![Source((4, 1), vec![1, 2], vec![1, 2]), first(), second()]),
        ("is not from there", vec![first()]),
    ] {
        refuse(&history, &check(Level::ReadAtomic, &short), because);
    }
    let dirty = by_cases(&history, Level::AdyaPl1, Anomaly::DirtyWrite, &good);
    refuse(&history, &dirty, "adya-pl-1 knows no reads");
}

/// Where a writer's outcome is unknown, the case that it is read from is the case that it took effect.
#[test]
fn who_is_read_from_took_effect() {
    use C::{Leaf, Source};
    let history = notation::parse(
        "T1: r(x,5)  T2?: w(x,5) r(y,7)  T3?: w(x,5) r(z,1) r(y,0) w(v,1)  T4?: w(z,1) w(y,1)  T5: r(v,0)",
    )
    .unwrap();
    // T2 has a wrong read. T3 must have read z from T4, and misses its y.
    let wrong = |cases| Source((2, 1), vec![], cases);
    let half = || Leaf(vec![E(4, 3, Y::Wr((3, 1))), E(3, 4, Y::Rw((3, 2)))]);
    let check = |anomaly, short: &[C]| by_cases(&history, Level::ReadAtomic, anomaly, short);
    let good = [Source((1, 0), vec![2, 3], vec![1, 2]), wrong(vec![]), half()];
    accept(&history, &check(Anomaly::FracturedRead, &good));
    let swapped = [Source((1, 0), vec![3, 2], vec![1, 2]), wrong(vec![]), half()];
    refuse(&history, &check(Anomaly::FracturedRead, &swapped), "case 1: T2 is absent");
    let late = [Source((1, 0), vec![2, 3], vec![1, 2]), half(), half()];
    refuse(&history, &check(Anomaly::FracturedRead, &late), "case 1: T4 -> T3: T4 is absent");
    refuse(&history, &check(Anomaly::FracturedRead, &[half()]), "T4 is absent");
    refuse(&history, &check(Anomaly::ThinAirRead, &good), "case 2: the cycle has another shape");

    // Without a cycle, the last wrong read gives the name.
    let history = notation::parse("T1: r(x,5)  T2?: w(x,5) r(y,7)  T3?: w(x,5) w(y,1) r(y,0)").unwrap();
    let reads = [Source((1, 0), vec![2, 3], vec![1, 2]), wrong(vec![]), Source((3, 2), vec![], vec![])];
    for level in [Level::AdyaPl2, Level::Serializable] {
        accept(&history, &by_cases(&history, level, Anomaly::NotMyOwnWrite, &reads));
        refuse(&history, &by_cases(&history, level, Anomaly::ThinAirRead, &reads), "shows another anomaly");
    }
}

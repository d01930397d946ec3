//! All small histories.
//!
//! A history is a *shape* (sessions, transactions, operations without values) and what its reads returned.
//! The i-th write of a key writes i, so values are unique, and a read returns any of them, 0, or a value
//! that no transaction wrote. Of shapes that differ only in the names of keys or the order of sessions one is taken.
//!
//! In every run: all 288,130 histories of up to 3 transactions, 2 keys, up to 2 operations each, in any
//! sessions, with thin-air values; every outcome for 2 transactions; and of the 7,652,954 histories of 4
//! transactions in one or two sessions, without thin-air values, those of four shapes in [`PIECES`]. All of
//! them are in the tests marked `ignore`, which take six minutes of one core.
//!
//! Also all histories of up to 3 transactions whose writes are of two values, the initial one or not (two
//! transactions and three sessions in every run, of the others one shape in [`REPEATED_PIECES`]), and those of
//! transactions that run one after the other, in any order, or at the same time.
//!
//! ```text
//! cargo nextest run -p isoscope-check --release --run-ignored only exhaustive
//! ```

use isoscope_history::Outcome;

use crate::compare;
use crate::plan::{Plan, Step};

/// Every run takes four in this many shapes of four transactions. A prime, so that all kinds are among them.
const PIECES: usize = 97;

/// An operation without its value: of key 0 or 1, a read or a write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Access {
    key: usize,
    is_write: bool,
}

const ACCESSES: [Access; 4] = [
    Access { key: 0, is_write: false },
    Access { key: 0, is_write: true },
    Access { key: 1, is_write: false },
    Access { key: 1, is_write: true },
];

/// The sessions of a history, each a list of transactions.
pub(crate) type Shape = Vec<Vec<Vec<Access>>>;

/// All transactions of one or two operations.
fn txns() -> Vec<Vec<Access>> {
    let one = ACCESSES.iter().map(|&a| vec![a]);
    let two = ACCESSES.iter().flat_map(|&a| ACCESSES.iter().map(move |&b| vec![a, b]));
    one.chain(two).collect()
}

/// Calls `visit` with each shape whose sessions have the given lengths, one for all that are alike.
fn for_each_shape(lengths: &[usize], mut visit: impl FnMut(&Shape)) {
    let txns = txns();
    let total: usize = lengths.iter().sum();
    for code in 0..txns.len().pow(total as u32) {
        let mut digits = (0..total as u32).map(|i| txns[code / txns.len().pow(i) % txns.len()].clone());
        let shape: Shape = lengths.iter().map(|&len| digits.by_ref().take(len).collect()).collect();
        if is_first_of_its_like(&shape) {
            visit(&shape);
        }
    }
}

/// Whether no other names of keys and no other order of sessions give a smaller shape.
fn is_first_of_its_like(shape: &Shape) -> bool {
    let mut renamed = shape.clone();
    for access in renamed.iter_mut().flatten().flatten() {
        access.key = 1 - access.key;
    }
    [shape.clone(), renamed].into_iter().all(|mut other| {
        other.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        *shape <= other
    })
}

/// Calls `visit` with every history of a shape: its reads return every value, `beyond` of which no transaction wrote.
pub(crate) fn for_each_history(shape: &Shape, beyond: usize, mut visit: impl FnMut(Vec<Plan>)) {
    let mut written = [0usize; 2];
    let mut plan = Vec::new();
    let mut reads = Vec::new();
    for (session, txn) in shape.iter().enumerate().flat_map(|(s, txns)| txns.iter().map(move |t| (s, t))) {
        let mut steps = Vec::new();
        for (place, access) in txn.iter().enumerate() {
            if access.is_write {
                written[access.key] += 1;
                steps.push(Step::Write(access.key, written[access.key] as u32));
            } else {
                reads.push((plan.len(), place, access.key));
                steps.push(Step::Read(access.key, Some(0)));
            }
        }
        plan.push(Plan { session, steps, ..Plan::default() });
    }
    let values = |key: usize| written[key] + 1 + beyond;
    for code in 0..reads.iter().map(|&(_, _, key)| values(key)).product() {
        let mut rest = code;
        for &(txn, place, key) in &reads {
            plan[txn].steps[place] = Step::Read(key, Some((rest % values(key)) as u32));
            rest /= values(key);
        }
        visit(plan.clone());
    }
}

/// Calls `visit` with those shapes whose number leaves the remainder `part` when divided by `parts`.
pub(crate) fn for_each_shape_of(lengths: &[usize], part: usize, parts: usize, mut visit: impl FnMut(&Shape)) {
    let mut number = 0;
    for_each_shape(lengths, |shape| {
        if number % parts == part {
            visit(shape);
        }
        number += 1;
    });
}

/// The values that are written where they repeat: two that anybody may write, and the initial one and another.
pub(crate) const REPEATED: [[u32; 2]; 2] = [[1, 2], [0, 1]];

/// Calls `visit` with every history of a shape that writes two values only, and reads these and 0. Of histories that
/// differ only in the names of values that are not initial one is taken.
pub(crate) fn for_each_history_with_values(
    shape: &Shape,
    values: [u32; 2],
    mut visit: impl FnMut(Vec<Plan>),
) {
    let txns =
        shape.iter().enumerate().flat_map(|(session, txns)| txns.iter().map(move |txn| (session, txn)));
    let mut plan: Vec<Plan> = txns.clone().map(|(session, _)| Plan { session, ..Plan::default() }).collect();
    let accesses: Vec<(usize, Access)> =
        txns.enumerate().flat_map(|(i, (_, txn))| txn.iter().map(move |&access| (i, access))).collect();
    let mut read: Vec<u32> = vec![0, values[0], values[1]];
    read.dedup();
    let choices = |access: Access| if access.is_write { &values[..] } else { &read[..] };
    let codes = accesses.iter().map(|&(_, access)| choices(access).len()).product();
    for mut code in 0..codes {
        for txn in &mut plan {
            txn.steps.clear();
        }
        for &(txn, access) in &accesses {
            let value = choices(access)[code % choices(access).len()];
            code /= choices(access).len();
            let step = if access.is_write {
                Step::Write(access.key, value)
            } else {
                Step::Read(access.key, Some(value))
            };
            plan[txn].steps.push(step);
        }
        let first = |key: usize| {
            plan.iter().flat_map(|txn| &txn.steps).find_map(|step| match *step {
                Step::Write(k, value) if k == key => Some(value),
                _ => None,
            })
        };
        let renamed = !values.contains(&0) && (0..2).any(|key| first(key) == Some(values[1]));
        if !renamed {
            visit(plan.clone());
        }
    }
}

/// Compares the histories of some of the shapes.
fn compare_all(lengths: &[usize], beyond: usize, part: usize, parts: usize) {
    let mut histories = 0u64;
    compare::alone(|| {
        for_each_shape_of(lengths, part, parts, |shape| {
            for_each_history(shape, beyond, |plan| {
                histories += 1;
                compare::agree(plan, "exhaustive");
            });
        });
    });
    assert!(histories > 0);
}

/// Compares the histories of some of the shapes with values that are not unique.
fn compare_all_repeated(lengths: &[usize], part: usize, parts: usize) {
    let mut histories = 0u64;
    compare::alone(|| {
        for_each_shape_of(lengths, part, parts, |shape| {
            for values in REPEATED {
                for_each_history_with_values(shape, values, |plan| {
                    histories += 1;
                    compare::agree(plan, "exhaustive, repeated");
                });
            }
        });
    });
    assert!(histories > 0);
}

#[test]
fn exhaustive_up_to_two_transactions_and_three_sessions() {
    for lengths in [&[1][..], &[2], &[1, 1], &[1, 1, 1]] {
        compare_all(lengths, 1, 0, 1);
    }
}

#[test]
fn exhaustive_three_transactions_in_one_session() {
    compare_all(&[3], 1, 0, 1);
}

#[test]
fn exhaustive_three_transactions_in_two_sessions() {
    compare_all(&[2, 1], 1, 0, 1);
}

#[test]
fn exhaustive_two_transactions_with_every_outcome() {
    let outcomes = [Outcome::Committed, Outcome::Aborted, Outcome::Unknown];
    compare::alone(|| {
        for lengths in [&[2][..], &[1, 1]] {
            for_each_shape(lengths, |shape| {
                for_each_history(shape, 1, |mut plan| {
                    for code in 0..9 {
                        plan[0].outcome = outcomes[code / 3];
                        plan[1].outcome = outcomes[code % 3];
                        compare::agree(plan.clone(), "outcomes");
                    }
                });
            });
        }
    });
}

#[test]
fn exhaustive_repeated_values_of_two_transactions_and_three_sessions() {
    for lengths in [&[1][..], &[2], &[1, 1], &[1, 1, 1]] {
        compare_all_repeated(lengths, 0, 1);
    }
}

/// Two transactions in one or two sessions: the first before the second, after it, and at the same time. Three in
/// three sessions: one after the other, in each of the six orders.
#[test]
fn exhaustive_real_time_of_two_and_three_transactions() {
    let clocks = [[(0, 1), (2, 3)], [(2, 3), (0, 1)], [(0, 2), (1, 3)]];
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let at = |place: u32| (2 * place, 2 * place + 1);
    let agree_at = |plan: &[Plan], events: &[(u32, u32)]| {
        let mut plan = plan.to_vec();
        plan.iter_mut().zip(events).for_each(|(txn, &events)| txn.events = Some(events));
        compare::agree(plan, "real time");
    };
    compare::alone(|| {
        for lengths in [&[2][..], &[1, 1]] {
            for_each_shape(lengths, |shape| {
                for_each_history(shape, 0, |plan| clocks.iter().for_each(|clock| agree_at(&plan, clock)));
            });
        }
        for_each_shape_of(&[1, 1, 1], 2, 5, |shape| {
            for_each_history(shape, 0, |plan| {
                for order in orders {
                    agree_at(&plan, &order.map(at));
                }
            });
        });
    });
}

/// Every run takes one in this many of the shapes of three transactions with values that are not unique.
const REPEATED_PIECES: usize = 5;

#[test]
fn exhaustive_sample_of_repeated_values_in_one_session() {
    compare_all_repeated(&[3], 0, REPEATED_PIECES);
}

#[test]
fn exhaustive_sample_of_repeated_values_in_two_sessions() {
    compare_all_repeated(&[2, 1], 1, REPEATED_PIECES);
}

#[test]
#[ignore = "takes minutes"]
fn exhaustive_repeated_values_in_one_session() {
    compare_all_repeated(&[3], 0, 1);
}

#[test]
#[ignore = "takes minutes"]
fn exhaustive_repeated_values_in_two_sessions() {
    compare_all_repeated(&[2, 1], 0, 1);
}

macro_rules! parts {
    ($($name:ident, $all:ident: $lengths:expr, $part:expr;)+) => {
        $(#[test]
        fn $name() {
            compare_all(&$lengths, 0, $part, PIECES);
        }

        #[test]
        #[ignore = "takes minutes"]
        fn $all() {
            compare_all(&$lengths, 0, $part, 4);
        })+
    };
}

parts! {
    exhaustive_sample_of_one_session_1, exhaustive_one_session_1: [4], 0;
    exhaustive_sample_of_one_session_2, exhaustive_one_session_2: [4], 1;
    exhaustive_sample_of_one_session_3, exhaustive_one_session_3: [4], 2;
    exhaustive_sample_of_one_session_4, exhaustive_one_session_4: [4], 3;
    exhaustive_sample_of_three_and_one_1, exhaustive_three_and_one_1: [3, 1], 0;
    exhaustive_sample_of_three_and_one_2, exhaustive_three_and_one_2: [3, 1], 1;
    exhaustive_sample_of_three_and_one_3, exhaustive_three_and_one_3: [3, 1], 2;
    exhaustive_sample_of_three_and_one_4, exhaustive_three_and_one_4: [3, 1], 3;
    exhaustive_sample_of_two_and_two_1, exhaustive_two_and_two_1: [2, 2], 0;
    exhaustive_sample_of_two_and_two_2, exhaustive_two_and_two_2: [2, 2], 1;
    exhaustive_sample_of_two_and_two_3, exhaustive_two_and_two_3: [2, 2], 2;
    exhaustive_sample_of_two_and_two_4, exhaustive_two_and_two_4: [2, 2], 3;
}

//! Long runs, with too many transactions to try all orders. The order in which transactions took effect is
//! itself the witness that docs/levels.md, "Commit orders", requires. In these runs versions are folded and
//! the horizon matters.
//!
//! A transaction of a run takes effect when it returns. A read-only transaction may be placed earlier: as
//! early as its reads and its session allow.

use isoscope_history::{History, Txn};
use isoscope_levels::Level;
use isoscope_workload::{Distribution, Shape, Spec, Store, run};

use crate::axioms::{Abstract, abstracted, committed};

/// The position of every transaction in the order of taking effect.
fn places(history: &History, a: &Abstract) -> Vec<usize> {
    let (_, numbers) = committed(history);
    let ends = &history.events().expect("every run records events").end;
    let mut by_return: Vec<(Txn, usize)> = numbers.into_iter().collect();
    by_return.sort_by_key(|(txn, _)| ends[txn.index()]);
    let mut commits = vec![0; a.reads.len()];
    let mut next = 1;
    let mut order: Vec<(usize, bool, usize)> = vec![(0, false, 0)];
    for (_, number) in by_return {
        let reads_only = a.writes[number].is_empty();
        if reads_only {
            let before = (0..commits.len()).filter(|&t| a.direct[t][number]);
            commits[number] = before.map(|t| commits[t]).max().unwrap_or(0);
        } else {
            commits[number] = next;
            next += 1;
        }
        order.push((commits[number], reads_only, number));
    }
    // The sort is stable: readers at one position keep the order of their returns.
    order.sort_by_key(|&(commit, reads_only, _)| (commit, reads_only));
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &(_, _, number))| places[number] = place);
    places
}

/// The axiom of a level under the order given by `place`. Under a total order, `co*;(so | wr)` and the
/// conflict rule of snapshot isolation mean: not later than the last such transaction.
fn holds(a: &Abstract, level: Level, place: &[usize]) -> bool {
    let n = a.reads.len();
    let last = |of: &dyn Fn(usize) -> bool| (0..n).filter(|&t| of(t)).map(|t| place[t]).max();
    let contains_direct = (0..n).all(|t| (0..n).all(|s| !a.direct[t][s] || place[t] < place[s]));
    contains_direct
        && (1..n).all(|t3| {
            let direct = last(&|t4| a.direct[t4][t3]);
            let conflict = last(&|t4| place[t4] < place[t3] && !a.writes[t4].is_disjoint(&a.writes[t3]));
            a.reads[t3].iter().enumerate().all(|(i, &(x, t1))| {
                let phi = |t2: usize| match level {
                    Level::ReadCommitted => a.reads[t3][..i].iter().any(|&(_, from)| from == t2),
                    Level::ReadAtomic => a.direct[t2][t3],
                    Level::Causal => a.causal[t2][t3],
                    Level::Prefix => Some(place[t2]) <= direct,
                    Level::Snapshot => Some(place[t2]) <= direct.max(conflict),
                    Level::Serializable => place[t2] < place[t3],
                    _ => unreachable!("the store runs no other level"),
                };
                (0..n).all(|t2| t2 == t1 || !a.writes[t2].contains(&x) || !phi(t2) || place[t2] < place[t1])
            })
        })
}

/// Tests every level on long runs. The order of one level must not be a witness of the next level; otherwise
/// the test could not distinguish them.
#[test]
fn long_runs_satisfy_the_level_in_their_commit_order() {
    for level in Store::LEVELS {
        for (shape, read_ratio, seed) in
            [(Shape::Register, 0.5, 1), (Shape::Register, 0.8, 2), (Shape::ListAppend, 0.5, 3)]
        {
            let spec = Spec {
                sessions: 12,
                txns_per_session: 60,
                ops_per_txn: 6,
                keys: 40,
                read_ratio,
                distribution: Distribution::Zipfian { theta: 0.7 },
                abort_rate: 0.05,
                shape,
                level,
                seed,
                ..Spec::default()
            };
            let history = run(&spec, &mut |_, _| {}).expect("the spec is valid");
            let a = abstracted(&history).expect("reads are of committed, final writes");
            let place = places(&history, &a);
            assert!(holds(&a, level, &place), "{spec:?}");
            if let Some(stronger) = Store::LEVELS.into_iter().find(|&other| other > level) {
                assert!(!holds(&a, stronger, &place), "{level} is as strong as {stronger}: {spec:?}");
            }
        }
    }
}

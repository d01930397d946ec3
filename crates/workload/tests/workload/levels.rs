//! Small random runs satisfy the level they ran at, and not always the next stronger one.

use isoscope_history::notation;
use isoscope_levels::Level;
use isoscope_workload::{Shape, Spec, Store, run};

use crate::axioms::{satisfies, strictly_serializable};

/// Small workloads of many forms, by number.
fn small(number: u64, level: Level, shape: Shape) -> Spec {
    let pick = |of: &[u32], by: u64| of[(number / by % of.len() as u64) as usize];
    let sessions = pick(&[2, 3, 4, 6], 1);
    Spec {
        sessions,
        txns_per_session: (6 / sessions).max(1),
        ops_per_txn: pick(&[2, 3, 4], 4),
        keys: pick(&[2, 3], 12),
        read_ratio: f64::from(pick(&[3, 5, 7], 24)) / 10.0,
        abort_rate: f64::from(pick(&[0, 2], 72)) / 10.0,
        unknown_rate: f64::from(pick(&[0, 3], 144)) / 10.0,
        shape,
        level,
        seed: number,
        ..Spec::default()
    }
}

const RUNS: u64 = 2000;

fn check(level: Level) {
    check_shape(level, Shape::Register);
    check_shape(level, Shape::ListAppend);
}

fn check_shape(level: Level, shape: Shape) {
    let mut weaker = 0;
    for number in 0..RUNS {
        let spec = small(number, level, shape);
        let history = run(&spec, &mut |_, _| {}).expect("the spec is valid");
        assert!(satisfies(&history, level), "{spec:?}\n{}", notation::print(&history));
        let stronger = Store::LEVELS.into_iter().find(|&other| other > level);
        let stronger_holds = match stronger {
            Some(stronger) => satisfies(&history, stronger),
            None => strictly_serializable(&history),
        };
        weaker += u64::from(!stronger_holds);
    }
    assert!(weaker >= 10, "{level}: only {weaker} of {RUNS} runs violate the next stronger level");
}

#[test]
fn read_committed_runs() {
    check(Level::ReadCommitted);
}

#[test]
fn read_atomic_runs() {
    check(Level::ReadAtomic);
}

#[test]
fn causal_runs() {
    check(Level::Causal);
}

#[test]
fn prefix_runs() {
    check(Level::Prefix);
}

#[test]
fn snapshot_runs() {
    check(Level::Snapshot);
}

#[test]
fn serializable_runs() {
    check(Level::Serializable);
}

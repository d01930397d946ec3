//! Programs and interleavings beside counts and enumerations that are too simple to be wrong.

use std::collections::BTreeSet;

use isoscope_history::notation;
use isoscope_probe::interleavings::{Explorer, all, count};
use isoscope_probe::{Op, Program, exhaustive, separating};
use isoscope_synth::{Scope, Unwatched};

/// A program as text: for each session the operations of its only transaction.
type Naive = Vec<Vec<(bool, usize)>>;

/// All programs with two keys, with names: every combination of every operation.
fn naive(txns: usize, ops: usize) -> Vec<Naive> {
    let digits = txns * ops;
    (0..4_usize.pow(digits as u32))
        .map(|number| {
            let op = |place: usize| (number >> (2 * place) & 1 == 1, number >> (2 * place + 1) & 1);
            (0..txns).map(|txn| (0..ops).map(|at| op(txn * ops + at)).collect()).collect()
        })
        .collect()
}

/// The program with its sessions sorted and its keys swapped or not: one name for all renamings.
fn class(program: &Naive) -> Naive {
    let mut sorted = program.clone();
    sorted.sort();
    let swap = |txn: &Vec<(bool, usize)>| txn.iter().map(|&(writes, key)| (writes, 1 - key)).collect();
    let mut swapped: Naive = program.iter().map(swap).collect();
    swapped.sort();
    sorted.min(swapped)
}

fn library(program: &Naive) -> Program {
    let op = |&(writes, key): &(bool, usize)| if writes { Op::Write(key) } else { Op::Read(key) };
    let sessions: Vec<_> = program.iter().map(|txn| vec![txn.iter().map(op).collect()]).collect();
    Program::new(&sessions)
}

#[test]
fn all_programs_are_enumerated_once() {
    for (txns, ops) in [(1, 1), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2)] {
        let writes = |program: &&Naive| program.iter().flatten().any(|&(writes, _)| writes);
        let named = naive(txns, ops);
        let classes: BTreeSet<Naive> = named.iter().filter(writes).map(class).collect();
        let programs = exhaustive(txns, ops, 2);
        assert_eq!(programs.len(), classes.len(), "{txns} x {ops}");
        // Every program, under whatever names, is one of them.
        for program in named.iter().filter(writes) {
            assert!(programs.binary_search(&library(program)).is_ok(), "{program:?}");
        }
    }
    // Burnside: (64 * 64 + 64 + 64) / 4 pairs of transactions of three operations, of which 10 only read.
    assert_eq!(exhaustive(2, 3, 2).len(), 1056 - 20);
    assert_eq!(exhaustive(3, 2, 2).len(), 408 - 10);
}

/// Whether swapping names does not change a program, for each permutation of the sessions.
fn naive_symmetries(program: &Program) -> usize {
    let sessions = program.sessions();
    let image = |keys: [usize; 2]| -> Vec<Vec<(bool, usize)>> {
        let txn = |ops: &Vec<Op>| ops.iter().map(|op| (op.is_write(), keys[op.key()])).collect();
        sessions.iter().map(|session| txn(&session[0])).collect()
    };
    let (same, swapped) = (image([0, 1]), image([1, 0]));
    let orders: Vec<Vec<usize>> = match sessions.len() {
        2 => vec![vec![0, 1], vec![1, 0]],
        _ => vec![vec![0, 1, 2], vec![0, 2, 1], vec![1, 0, 2], vec![1, 2, 0], vec![2, 0, 1], vec![2, 1, 0]],
    };
    let is_symmetry = |order: &&Vec<usize>| {
        [&same, &swapped].iter().any(|image| (0..order.len()).all(|s| same[order[s]] == image[s]))
    };
    orders.iter().filter(is_symmetry).count()
}

#[test]
fn symmetries_are_the_renamings_that_change_nothing() {
    for program in exhaustive(2, 2, 2).iter().chain(&exhaustive(3, 1, 2)) {
        if program.keys() == 2 {
            assert_eq!(program.symmetries().len(), naive_symmetries(program), "{program}");
        }
    }
}

fn factorial(n: usize) -> u128 {
    (1..=n as u128).product()
}

#[test]
fn interleavings_are_counted_by_the_multinomial_formula() {
    for steps in [vec![], vec![3], vec![1, 1], vec![4, 4], vec![3, 3, 3], vec![2, 2, 3, 3], vec![5, 1, 2]] {
        let formula = factorial(steps.iter().sum()) / steps.iter().map(|&n| factorial(n)).product::<u128>();
        assert_eq!(count(&steps), formula, "{steps:?}");
        let listed = all(&steps, vec![(0..steps.len()).collect()]);
        assert_eq!(listed.len() as u128, formula, "{steps:?}");
        let different: BTreeSet<&Vec<usize>> = listed.iter().collect();
        assert_eq!(different.len(), listed.len(), "{steps:?}");
        for interleaving in &listed {
            for (session, &of_session) in steps.iter().enumerate() {
                assert_eq!(interleaving.iter().filter(|&&one| one == session).count(), of_session);
            }
        }
    }
}

/// One interleaving of each class of those that differ by a symmetry of the program.
#[test]
fn one_interleaving_stands_for_all_its_renamings() {
    for program in exhaustive(2, 2, 2).iter().chain(&exhaustive(3, 1, 2)) {
        let steps = program.steps();
        let symmetries = program.symmetries();
        let every = all(&steps, vec![(0..steps.len()).collect()]);
        let least = |interleaving: &Vec<usize>| -> Vec<usize> {
            let images = symmetries.iter().map(|sigma| interleaving.iter().map(|&s| sigma[s]).collect());
            images.min().expect("the identity is a symmetry")
        };
        let classes: BTreeSet<Vec<usize>> = every.iter().map(least).collect();
        let found: BTreeSet<Vec<usize>> = all(&steps, symmetries.clone()).into_iter().collect();
        assert_eq!(found, classes, "{program}");
    }
}

/// A database that makes a session wait or fail: every list of choices that it permits is made once.
#[test]
fn choices_that_are_not_there_are_not_made() {
    // The second session waits until the first has taken all of its three steps.
    let mut explorer = Explorer::new(vec![vec![0, 1]]);
    let mut seen = BTreeSet::new();
    loop {
        let (mut left, mut choices) = ([3, 2], Vec::new());
        loop {
            let waits = left[1] == 1 && left[0] > 0;
            let enabled: Vec<usize> =
                [0, 1].into_iter().filter(|&s| left[s] > 0 && !(s == 1 && waits)).collect();
            if enabled.is_empty() {
                break;
            }
            let next = explorer.choose(&enabled);
            left[next] -= 1;
            choices.push(next);
        }
        assert!(seen.insert(choices.clone()), "{choices:?} twice");
        if !explorer.advance() {
            break;
        }
    }
    // Its first step is before, between or after those of the first session.
    assert_eq!(seen.len(), 4);
}

/// A database that never repeats itself does not keep the search from ending.
#[test]
fn the_search_ends_whatever_the_database_does() {
    let mut explorer = Explorer::new(vec![vec![0, 1, 2]]);
    let (mut runs, mut noise, mut lost) = (0, 1_u64, 0);
    loop {
        for _ in 0..8 {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let enabled: Vec<usize> = (0..3).filter(|session| noise >> (40 + session) & 1 == 1).collect();
            if !enabled.is_empty() {
                explorer.choose(&enabled);
            }
        }
        runs += 1;
        lost += u32::from(explorer.is_lost());
        if !explorer.advance() {
            break;
        }
    }
    assert!(runs > 10 && lost > 0, "{runs} runs, {lost} lost");
}

#[test]
fn separating_programs_are_those_of_known_anomalies() {
    let (programs, is_complete) = separating(Scope::new(4, 2), &mut Unwatched);
    assert!(is_complete);
    for (name, text) in [
        ("lost update", "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)"),
        ("write skew", "T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)"),
        ("long fork", "T1: r(x,1) r(y,0)  T2: r(x,0) r(y,1)  T3: w(x,1)  T4: w(y,1)"),
    ] {
        let program = Program::of(&notation::parse(text).expect("a history")).expect("registers");
        assert!(programs.contains(&program), "{name}");
    }
    let names: BTreeSet<String> = programs.iter().map(ToString::to_string).collect();
    assert_eq!(names.len(), programs.len());
}

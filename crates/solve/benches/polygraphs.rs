//! Polygraphs of several families, solved at once with all choices, and step by step, adding the choices that
//! the last order violates. Prints a table of seconds of CPU time, or of wall-clock time if the system does
//! not report CPU time. Run `cargo bench -p isoscope-solve`, with words to select rows.

#![allow(clippy::print_stdout)]

#[path = "../tests/polygraph/mod.rs"]
mod polygraph;
#[path = "../tests/random/mod.rs"]
mod random;
#[path = "seconds/mod.rs"]
mod seconds;

use std::time::Instant;

use isoscope_solve::{Budget, OrderSolver, Outcome};
use polygraph::{Polygraph, Turns};
use seconds::seconds;

const LIMIT_SECONDS: f64 = 30.0;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!(
        "{:<28} {:>8} {:>8} {:>9} {:<8} {:>6} {:>8} {:>9} {:>9} {:>8}",
        "family", "nodes", "choices", "pairs", "how", "rounds", "seconds", "conflicts", "lemmas", "answer"
    );
    for (name, polygraph) in families() {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str())) {
            let polygraph = polygraph();
            row(name, &polygraph, "at once", at_once);
            row(name, &polygraph, "steps", step_by_step);
        }
    }
}

type Family = (&'static str, Box<dyn Fn() -> Polygraph>);

fn families() -> Vec<Family> {
    let turns = |name, seed, turns| -> Family { (name, Box::new(move || Polygraph::of_turns(turns, seed))) };
    let choices = |name, nodes, edges, choices, hide, seed| -> Family {
        (name, Box::new(move || Polygraph::of_choices(nodes, edges, choices, hide, seed)))
    };
    let usual = Turns { nodes: 500, chains: 10, cells: 100, reads: 3, writes: 2, stale: 0 };
    vec![
        turns("few writers, 500", 1, usual),
        turns("few writers, 5k", 2, Turns { nodes: 5_000, cells: 1_000, chains: 20, ..usual }),
        turns("many writers, 500", 3, Turns { cells: 12, ..usual }),
        turns("many writers, 2k", 4, Turns { nodes: 2_000, cells: 100, chains: 50, ..usual }),
        turns("many writers, 5k", 5, Turns { nodes: 5_000, cells: 400, chains: 50, ..usual }),
        turns("blind writers, 2k", 6, Turns { nodes: 2_000, cells: 100, chains: 100, reads: 1, ..usual }),
        turns("long chains, 100k", 7, Turns { nodes: 100_000, cells: 20_000, chains: 20, ..usual }),
        turns("stale reads, 500", 8, Turns { cells: 60, stale: 2_000, ..usual }),
        turns("stale reads, 2k", 9, Turns { nodes: 2_000, cells: 200, stale: 500, ..usual }),
        choices("hidden order, 2k", 2_000, 4_000, 30_000, true, 10),
        choices("hidden order, sparse, 2k", 2_000, 1_000, 8_000, true, 11),
        choices("hidden order, 20k", 20_000, 30_000, 100_000, true, 12),
        choices("threshold, 1k", 1_000, 1_000, 2_300, false, 13),
        choices("threshold, 1k, more", 1_000, 1_000, 2_600, false, 14),
        choices("threshold, 1k, most", 1_000, 1_000, 4_000, false, 15),
    ]
}

/// A way to solve: the last answer, how many searches it took, and the solver.
type Way = fn(&Polygraph, &mut dyn FnMut() -> bool) -> (Outcome, usize, OrderSolver);

fn at_once(polygraph: &Polygraph, stop: &mut dyn FnMut() -> bool) -> (Outcome, usize, OrderSolver) {
    let mut solver = polygraph.solver();
    (0..polygraph.choices.len()).for_each(|choice| polygraph.choose(&mut solver, choice));
    (solver.solve_within(&[], Budget::stopped_by(stop)), 1, solver)
}

fn step_by_step(polygraph: &Polygraph, stop: &mut dyn FnMut() -> bool) -> (Outcome, usize, OrderSolver) {
    let mut solver = polygraph.solver();
    for round in 1.. {
        let answer = solver.solve_within(&[], Budget::stopped_by(stop));
        let violated = if answer == Outcome::Sat { polygraph.violated(&solver.order()) } else { Vec::new() };
        if violated.is_empty() {
            return (answer, round, solver);
        }
        for choice in violated {
            polygraph.choose(&mut solver, choice);
        }
    }
    unreachable!("rounds do not end otherwise")
}

fn row(name: &str, polygraph: &Polygraph, how: &str, way: Way) {
    let (begin, wall) = (seconds(), Instant::now());
    let (answer, rounds, solver) = way(polygraph, &mut || wall.elapsed().as_secs_f64() > LIMIT_SECONDS);
    let seconds = seconds() - begin;
    if answer == Outcome::Sat {
        assert!(polygraph.violated(&solver.order()).is_empty());
    }
    let figures = solver.figures();
    println!(
        "{name:<28} {:>8} {:>8} {:>9} {how:<8} {rounds:>6} {seconds:>8.3} {:>9} {:>9} {:>8}",
        polygraph.nodes,
        polygraph.choices.len(),
        figures.pairs,
        figures.conflicts,
        figures.lemmas,
        match answer {
            Outcome::Sat => "order",
            Outcome::Unsat => "none",
            Outcome::Stopped => "?",
        }
    );
}

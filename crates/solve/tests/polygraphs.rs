//! Larger polygraphs, with answers checked clause by clause, and searches that are stopped.

mod polygraph;
mod random;

use isoscope_solve::{Budget, OrderSolver, Outcome};
use polygraph::{Polygraph, Turns};

fn ask_at_once(polygraph: &Polygraph) -> (OrderSolver, Outcome) {
    let mut solver = polygraph.solver();
    (0..polygraph.choices.len()).for_each(|choice| polygraph.choose(&mut solver, choice));
    let answer = solver.solve(&[]);
    (solver, answer)
}

#[test]
fn a_hidden_order_is_found() {
    for seed in 0..3 {
        let polygraph = Polygraph::of_choices(2_000, 600, 30_000, true, seed);
        let (solver, answer) = ask_at_once(&polygraph);
        assert_eq!(answer, Outcome::Sat);
        assert_eq!(polygraph.violated(&solver.order()), []);
        let figures = solver.figures();
        assert!(figures.clauses == 30_000 && figures.lemmas > 0, "{figures:?}");
    }
}

/// Adding violated choices until none is violated gives the same answer as adding all choices at once.
#[test]
fn step_by_step_and_at_once_agree() {
    let mut answers = [0; 2];
    for seed in 0..60 {
        let turns = Turns { nodes: 150, chains: 6, cells: 15, reads: 2, writes: 2, stale: 300 };
        let polygraph = Polygraph::of_turns(turns, seed);
        let (_, expected) = ask_at_once(&polygraph);
        let mut solver = polygraph.solver();
        let answer = loop {
            let answer = solver.solve(&[]);
            if answer != Outcome::Sat {
                break answer;
            }
            let violated = polygraph.violated(&solver.order());
            if violated.is_empty() {
                break answer;
            }
            for choice in violated {
                polygraph.choose(&mut solver, choice);
            }
        };
        assert_eq!(answer, expected, "seed {seed}");
        answers[usize::from(answer == Outcome::Sat)] += 1;
    }
    assert!(answers.iter().all(|&count| count > 9), "{answers:?}");
}

#[test]
fn a_stopped_search_can_be_continued() {
    let polygraph = Polygraph::of_choices(500, 100, 6_000, true, 1);
    let mut solver = polygraph.solver();
    (0..polygraph.choices.len()).for_each(|choice| polygraph.choose(&mut solver, choice));
    assert_eq!(solver.solve_within(&[], Budget::stopped_by(&mut || true)), Outcome::Stopped);
    let mut asked = 0;
    let mut stop = || {
        asked += 1;
        asked > 3
    };
    assert_eq!(solver.solve_within(&[], Budget::stopped_by(&mut stop)), Outcome::Stopped);
    assert_eq!(asked, 4);
    assert_eq!(solver.solve(&[]), Outcome::Sat);
    assert_eq!(polygraph.violated(&solver.order()), []);
}

#[test]
fn a_model_stays_until_the_next_search() {
    let mut solver = OrderSolver::new(3, &[(0, 1)], &[0, 1, 2]);
    let lit = solver.before(2, 0);
    solver.add_clause(&[lit]);
    assert_eq!(solver.solve(&[]), Outcome::Sat);
    let other = solver.before(2, 1);
    let plain = solver.variable(false);
    solver.add_clause(&[!other, plain]);
    assert_eq!(solver.order(), [2, 0, 1]);
    assert!(solver.holds(lit) && solver.holds(other) && !solver.holds(plain));
    assert_eq!(solver.solve(&[!plain]), Outcome::Unsat);
    assert_eq!(solver.failed(), [!plain]);
    assert_eq!(solver.solve(&[]), Outcome::Sat);
    assert!(solver.holds(plain));
    solver.add_clause(&[]);
    assert_eq!(solver.solve(&[lit]), Outcome::Unsat);
    assert_eq!(solver.failed(), []);
}

#[test]
fn variables_created_after_an_empty_search_have_values() {
    let mut solver = OrderSolver::new(2, &[], &[1, 0]);
    assert_eq!(solver.solve(&[]), Outcome::Sat);
    let (before, plain) = (solver.before(0, 1), solver.variable(true));
    assert!(!solver.holds(before) && solver.holds(plain));
}

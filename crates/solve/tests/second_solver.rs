//! The solver against a second one, `batsat`, on random instances of every kind that this project uses.
//!
//! An unsatisfiable answer is compared with that of the second solver, and so is every core: the second solver must
//! refute the core alone. A model is evaluated on the clauses. The instances, each with up to 6 searches:
//!
//! | kind | instances | searches |
//! |---|---|---|
//! | random 3-SAT around the threshold, clauses and variables added between searches, assumptions | 3,000 | 18,000 |
//! | random 3-SAT of 100 to 180 variables, with restarts and removed clauses | 60 | 60 |
//! | pigeonholes | 42 | 42 |
//! | polygraphs: acyclicity as a theory, and as clauses for the second solver | 2,000 | 6,000 |
//! | histories that one level allows and another forbids | 48 | 48 |
//! | polygraphs: a theory with repairs and with decisions | 1,000 | 1,000 |
//! | clauses as DIMACS text between two searches | 500 | at most 500 |
//! | searches with a budget of 0 to 2 conflicts, until there is an answer | 300 | more than 1,000 |

mod cnf;
mod polygraph;
mod random;
mod second;

use cnf::{Histories, Level, Order, pigeonhole, random_3sat, satisfies};
use isoscope_solve::{Acyclicity, Budget, ClauseSink, Cnf, Lit, OrderSolver, Outcome, Solver, Theory, Var};
use polygraph::Polygraph;
use random::Random;
use second::Second;

/// How many searches ended satisfiable and unsatisfiable.
#[derive(Debug, Default)]
struct Count {
    sat: u32,
    unsat: u32,
}

impl Count {
    fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Sat => self.sat += 1,
            Outcome::Unsat => self.unsat += 1,
            Outcome::Stopped => panic!("there is no budget"),
        }
    }
}

/// Searches with both solvers and compares. The clauses are those that both solvers have.
fn compare(solver: &mut Solver, second: &mut Second, cnf: &Cnf, assumptions: &[Lit]) -> Outcome {
    let outcome = solver.solve(assumptions);
    assert_eq!(outcome == Outcome::Sat, second.solve(assumptions));
    if outcome == Outcome::Sat {
        assert!(satisfies(cnf, |lit| solver.value(lit)));
        assert!(assumptions.iter().all(|&lit| solver.value(lit)));
    } else {
        assert!(solver.failed().iter().all(|lit| assumptions.contains(lit)));
        assert!(!second.solve(solver.failed()), "the core is satisfiable");
    }
    outcome
}

fn compare_once(cnf: &Cnf) -> Outcome {
    let (mut solver, mut second) = (Solver::new(), Second::new());
    cnf.add_to(&mut solver);
    cnf.add_to(&mut second);
    compare(&mut solver, &mut second, cnf, &[])
}

#[test]
fn incremental_3sat() {
    let (mut free, mut assumed) = (Count::default(), Count::default());
    let mut cores = 0;
    for seed in 0..3_000 {
        let random = &mut Random::new(seed);
        let vars = 10 + random.below(50);
        let all = random_3sat(vars, vars * (380 + random.below(100)) / 100, seed);
        let (mut solver, mut second, mut cnf) = (Solver::new(), Second::new(), Cnf::default());
        solver.set_default_phase(seed % 2 == 0);
        for step in 1..=6 {
            // A sixth of the variables and of the clauses in each step; variables come when they are needed.
            for clause in &all.clauses[all.clauses.len() * (step - 1) / 6..all.clauses.len() * step / 6] {
                while clause.iter().any(|lit| lit.var().index() >= cnf.vars) {
                    let var = cnf.new_var();
                    assert_eq!([solver.new_var(), second.new_var()], [var, var]);
                }
                cnf.add_clause(clause);
                solver.add_clause(clause);
                second.add_clause(clause);
            }
            let assumptions: Vec<Lit> = (0..random.below(12))
                .map(|_| (random.below(cnf.vars as u32), random.below(2) == 0))
                .map(|(var, value)| Var::new(var as usize).is(value))
                .collect();
            let outcome = compare(&mut solver, &mut second, &cnf, &assumptions);
            let count = if assumptions.is_empty() { &mut free } else { &mut assumed };
            count.add(outcome);
            cores += u32::from(!solver.failed().is_empty() && solver.failed().len() < assumptions.len());
        }
    }
    assert!(free.sat > 100 && free.unsat > 50 && assumed.sat > 3_000 && assumed.unsat > 3_000);
    assert!(cores > 2_000, "{cores} proper cores; {free:?} {assumed:?}");
}

#[test]
fn large_3sat() {
    let (mut count, mut long) = (Count::default(), 0);
    for seed in 0..60 {
        let vars = 100 + 80 * (seed as u32 % 3) / 2;
        let cnf = random_3sat(vars, vars * 426 / 100, seed);
        let (mut solver, mut second) = (Solver::new(), Second::new());
        cnf.add_to(&mut solver);
        cnf.add_to(&mut second);
        count.add(compare(&mut solver, &mut second, &cnf, &[]));
        // Clauses are removed after some 4,000 conflicts.
        long += u32::from(solver.conflicts() > 5_000);
    }
    assert!(count.sat > 10 && count.unsat > 10 && long > 5, "{count:?} {long}");
}

#[test]
fn pigeonholes() {
    for pigeons in 1..=7 {
        for holes in 1..=6 {
            let expected = if pigeons <= holes { Outcome::Sat } else { Outcome::Unsat };
            assert_eq!(compare_once(&pigeonhole(pigeons, holes)), expected);
        }
    }
}

/// The theory of orders for a solver that decides every variable.
struct Decided(Acyclicity);

impl Theory for Decided {
    fn assign(&mut self, lit: Lit) {
        self.0.assign(lit);
    }

    fn open_level(&mut self) {
        self.0.open_level();
    }

    fn backtrack(&mut self, level: usize) {
        self.0.backtrack(level);
    }

    fn lemma(&mut self) -> Option<&[Lit]> {
        self.0.lemma()
    }

    fn prefers(&self, lit: Lit) -> bool {
        !self.0.prefers(lit)
    }
}

#[test]
fn theories_work_with_both_kinds_of_decisions() {
    let mut count = Count::default();
    for seed in 0..1_000 {
        let random = &mut Random::new(seed);
        let nodes = 5 + random.below(20);
        let choices = nodes + random.below(3 * nodes);
        let polygraph = Polygraph::of_choices(nodes, nodes, choices, false, seed);
        let mut repairing = polygraph.solver();
        let theory = Acyclicity::new(nodes as usize, &polygraph.edges, &polygraph.start());
        let mut deciding = Solver::with_theory(Decided(theory));
        for (choice, edges) in polygraph.choices.iter().enumerate() {
            polygraph.choose(&mut repairing, choice);
            let lits = edges.map(|(from, to)| {
                let var = deciding.new_theory_var();
                deciding.theory_mut().0.set_pair(var, from, to);
                var.positive()
            });
            deciding.add_clause(&lits);
        }
        let outcome = deciding.solve(&[]);
        assert_eq!(outcome, repairing.solve(&[]), "seed {seed}");
        if outcome == Outcome::Sat {
            assert_eq!(polygraph.violated(deciding.theory().0.order()), []);
        }
        count.add(outcome);
    }
    assert!(count.sat > 100 && count.unsat > 100, "{count:?}");
}

#[test]
fn polygraphs_by_theory_and_by_clauses() {
    let mut count = Count::default();
    for seed in 0..2_000 {
        let random = &mut Random::new(seed);
        let nodes = 5 + random.below(12);
        let edges = nodes / 2 + random.below(nodes);
        let polygraph = Polygraph::of_choices(nodes, edges, nodes + random.below(3 * nodes), false, seed);
        let mut solver: OrderSolver = polygraph.solver();
        let mut second = Second::new();
        let order = Order::new(nodes as usize, &mut second);
        let before = |(a, b): (u32, u32)| order.before(a as usize, b as usize);
        polygraph.edges.iter().for_each(|&edge| second.add_clause(&[before(edge)]));
        for part in 0..3 {
            let parts = polygraph.choices.len() * part / 3..polygraph.choices.len() * (part + 1) / 3;
            for choice in parts {
                polygraph.choose(&mut solver, choice);
                let lits = polygraph.choices[choice].map(before);
                second.add_clause(&lits);
            }
            let assumed: Vec<(u32, u32)> = (0..random.below(4)).map(|_| random.pair(nodes)).collect();
            let lits: Vec<Lit> = assumed.iter().map(|&(a, b)| solver.before(a, b)).collect();
            let outcome = solver.solve(&lits);
            let theirs: Vec<Lit> = assumed.iter().copied().map(before).collect();
            assert_eq!(outcome == Outcome::Sat, second.solve(&theirs), "seed {seed}");
            if outcome == Outcome::Unsat {
                let core: Vec<Lit> = (lits.iter().zip(&theirs))
                    .filter(|(lit, _)| solver.failed().contains(lit))
                    .map(|(_, &lit)| lit)
                    .collect();
                assert!(!second.solve(&core), "the core is satisfiable");
            }
            count.add(outcome);
        }
    }
    assert!(count.sat > 1_000 && count.unsat > 1_000, "{count:?}");
}

#[test]
fn histories() {
    use Level::{Causal, ReadAtomic, Serializable, Snapshot};
    let mut count = Count::default();
    for txns in 2..=4 {
        for allowed in [ReadAtomic, Causal, Snapshot, Serializable] {
            for forbidden in [ReadAtomic, Causal, Snapshot, Serializable] {
                let outcome = compare_once(&Histories::allowed_and_forbidden(txns, 2, 3, allowed, forbidden));
                // Each level implies the ones before it.
                if allowed as u8 >= forbidden as u8 {
                    assert_eq!(outcome, Outcome::Unsat, "{txns} {allowed:?} {forbidden:?}");
                }
                count.add(outcome);
            }
        }
    }
    assert!(count.sat > 8, "{count:?}");
}

#[test]
fn dimacs_keeps_the_answer() {
    let mut count = Count::default();
    for seed in 0..500 {
        let cnf = random_3sat(40, 150 + seed as u32 % 40, seed);
        let mut solver = Solver::new();
        cnf.add_to(&mut solver);
        // Facts found by a search that was stopped are part of the text.
        if solver.solve_within(&[], Budget::conflicts(seed % 20)) == Outcome::Stopped {
            solver.add_clause(&[Var::new(0).positive()]);
            let text = Cnf::of(&solver).to_string();
            let read = Cnf::parse(&text).expect("it was written by us");
            let outcome = compare_once(&read);
            assert_eq!(solver.solve(&[]), outcome);
            count.add(outcome);
        }
    }
    assert!(count.sat > 20 && count.unsat > 20, "{count:?}");
}

/// Repeated searches with a small conflict budget end with the same answer.
#[test]
fn stopped_searches_add_up() {
    let mut stops = 0;
    for seed in 0..300 {
        let cnf = random_3sat(60, 260, seed);
        let expected = compare_once(&cnf);
        let mut solver = Solver::new();
        cnf.add_to(&mut solver);
        let outcome = loop {
            let outcome = solver.solve_within(&[], Budget::conflicts(seed % 3));
            if outcome != Outcome::Stopped {
                break outcome;
            }
            stops += 1;
        };
        assert_eq!(outcome, expected, "seed {seed}");
        if outcome == Outcome::Sat {
            assert!(satisfies(&cnf, |lit| solver.value(lit)));
        }
    }
    assert!(stops > 1_000, "{stops}");
}

#[test]
fn phases_are_tried_first() {
    let mut solver = Solver::new();
    let vars: Vec<Var> = (0..10).map(|_| solver.new_var()).collect();
    solver.add_clause(&[vars[0].positive(), vars[1].positive()]);
    solver.set_phase(vars[7], true);
    assert_eq!(solver.solve(&[]), Outcome::Sat);
    let trues = |solver: &Solver| vars.iter().filter(|var| solver.value(var.positive())).count();
    assert!(trues(&solver) == 2 && solver.value(vars[7].positive()));
    solver.set_default_phase(true);
    assert_eq!(solver.solve(&[]), Outcome::Sat);
    assert_eq!(trues(&solver), 10);
}

//! Formulas without a theory, solved by the core of this crate, by `batsat` and, with the feature `cadical`,
//! by `CaDiCaL`. Prints a table of seconds of CPU time, or of wall-clock time if the system does not report
//! CPU time. Run `cargo bench -p isoscope-solve --bench plain`, with words to select rows.

#![allow(clippy::print_stdout)]

#[path = "../tests/cnf/mod.rs"]
mod cnf;
#[path = "../tests/random/mod.rs"]
mod random;
#[path = "../tests/second/mod.rs"]
mod second;
#[path = "seconds/mod.rs"]
mod seconds;

use cnf::{Histories, Level, Order, pigeonhole, random_3sat, satisfies};
#[cfg(feature = "cadical")]
use isoscope_solve::Cadical;
use isoscope_solve::{ClauseSink, Cnf, Lit, Outcome, Solver, Var};
use second::Second;
use seconds::seconds;

/// What a row needs of a solver.
trait Bench: ClauseSink {
    fn sat(&mut self, assumptions: &[Lit]) -> bool;
    fn holds(&mut self, lit: Lit) -> bool;
}

impl Bench for Solver {
    fn sat(&mut self, assumptions: &[Lit]) -> bool {
        self.solve(assumptions) == Outcome::Sat
    }

    fn holds(&mut self, lit: Lit) -> bool {
        self.value(lit)
    }
}

#[cfg(feature = "cadical")]
impl Bench for Cadical {
    fn sat(&mut self, assumptions: &[Lit]) -> bool {
        self.solve(assumptions) == Outcome::Sat
    }

    fn holds(&mut self, lit: Lit) -> bool {
        self.value(lit)
    }
}

impl Bench for Second {
    fn sat(&mut self, assumptions: &[Lit]) -> bool {
        self.solve(assumptions)
    }

    fn holds(&mut self, lit: Lit) -> bool {
        self.value(lit)
    }
}

/// A row: several formulas, and what to do with each.
struct Row {
    name: String,
    formulas: Vec<Cnf>,
    work: Work,
}

enum Work {
    /// One search.
    Solve,
    /// This number of searches under random assumptions.
    Assume(usize),
    /// All models of the first variables, each excluded by a clause.
    Enumerate(usize),
}

impl Row {
    /// Runs the row with a solver, and returns the number of models.
    fn run<S: Bench>(&self, new: impl Fn() -> S) -> usize {
        let mut models = 0;
        for formula in &self.formulas {
            let mut solver = new();
            formula.add_to(&mut solver);
            match self.work {
                Work::Solve => {
                    if solver.sat(&[]) {
                        let values: Vec<bool> =
                            (0..formula.vars).map(|var| solver.holds(Var::new(var).positive())).collect();
                        assert!(satisfies(formula, |lit| values[lit.var().index()] == lit.is_positive()));
                        models += 1;
                    }
                }
                Work::Assume(times) => {
                    let mut random = random::Random::new(1);
                    for _ in 0..times {
                        let assumptions: Vec<Lit> = (0..8)
                            .map(|_| (random.below(formula.vars as u32), random.below(2) == 0))
                            .map(|(var, value)| Var::new(var as usize).is(value))
                            .collect();
                        models += usize::from(solver.sat(&assumptions));
                    }
                }
                Work::Enumerate(vars) => {
                    while solver.sat(&[]) {
                        models += 1;
                        let other: Vec<Lit> = (0..vars)
                            .map(|var| Var::new(var).positive())
                            .map(|lit| if solver.holds(lit) { !lit } else { lit })
                            .collect();
                        solver.add_clause(&other);
                    }
                }
            }
        }
        models
    }
}

/// All total orders of some nodes.
fn orders(nodes: usize) -> Row {
    let mut cnf = Cnf::default();
    Order::new(nodes, &mut cnf);
    let pairs = cnf.vars;
    Row { name: format!("all orders of {nodes}"), formulas: vec![cnf], work: Work::Enumerate(pairs) }
}

fn rows() -> Vec<Row> {
    use Level::{Causal, ReadAtomic, Serializable, Snapshot};
    let mut rows = Vec::new();
    for (vars, times) in [(150, 20), (200, 10), (250, 4)] {
        let formulas = (0..times).map(|seed| random_3sat(vars, vars * 426 / 100, seed)).collect();
        rows.push(Row { name: format!("3-SAT {vars} x{times}"), formulas, work: Work::Solve });
    }
    for holes in 7..=9 {
        let formulas = vec![pigeonhole(holes + 1, holes)];
        rows.push(Row { name: format!("pigeonhole {holes}"), formulas, work: Work::Solve });
    }
    for (allowed, forbidden) in [
        (Serializable, Snapshot),
        (Snapshot, Serializable),
        (Causal, ReadAtomic),
        (Causal, Snapshot),
        (Snapshot, Causal),
    ] {
        // The last one takes minutes with 7 transactions.
        let most = if (allowed, forbidden) == (Snapshot, Causal) { 6 } else { 7 };
        for txns in 5..=most {
            let cnf = Histories::allowed_and_forbidden(txns, 5, 5, allowed, forbidden);
            let name = format!("{allowed:?} not {forbidden:?} {txns}");
            rows.push(Row { name, formulas: vec![cnf], work: Work::Solve });
        }
    }
    let formulas = vec![random_3sat(150, 600, 3)];
    rows.push(Row { name: "3-SAT 150, 500 assumptions".to_owned(), formulas, work: Work::Assume(500) });
    let formulas = vec![Histories::allowed_and_forbidden(5, 3, 3, Causal, Snapshot)];
    rows.push(Row {
        name: "Causal not Snapshot, 500 assumptions".to_owned(),
        formulas,
        work: Work::Assume(500),
    });
    rows.push(orders(6));
    rows.push(orders(7));
    rows
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!(
        "{:<40} {:>8} {:>8} {:>7} {:>8} {:>8} {:>6} {:>8}",
        "formula", "vars", "clauses", "models", "solve", "batsat", "ratio", "CaDiCaL"
    );
    let (mut sum, mut count) = (0.0, 0);
    for row in rows() {
        if !wanted.is_empty() && !wanted.iter().any(|word| row.name.contains(word.as_str())) {
            continue;
        }
        let timed = |run: &dyn Fn() -> usize| {
            let (begin, mut times, mut models) = (seconds(), 0, 0);
            // The clock of the system ticks every 4 milliseconds.
            while times == 0 || seconds() - begin < 0.1 {
                models = run();
                times += 1;
            }
            (models, (seconds() - begin) / f64::from(times))
        };
        let (models, ours) = timed(&|| row.run(Solver::new));
        let (second, batsat) = timed(&|| row.run(Second::new));
        assert_eq!(models, second);
        #[cfg(feature = "cadical")]
        let cadical = {
            let (third, cadical) = timed(&|| row.run(Cadical::new));
            assert_eq!(models, third);
            format!("{cadical:.4}")
        };
        #[cfg(not(feature = "cadical"))]
        let cadical = "";
        let ratio = ours / batsat;
        (sum, count) = (sum + ratio.ln(), count + 1);
        println!(
            "{:<40} {:>8} {:>8} {models:>7} {ours:>8.4} {batsat:>8.4} {ratio:>6.2} {cadical:>8}",
            row.name,
            row.formulas[0].vars,
            row.formulas[0].clauses.len(),
        );
    }
    println!("geometric mean of solve / batsat: {:.2}", (sum / f64::from(count)).exp());
}

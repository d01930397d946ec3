//! Which SAT solver is fastest on the formulas of the search: what the solver of each of the 46 problems of the Isolde paper is
//! given, clause by clause and question by question, is recorded and then given to the core of `isoscope-solve`, to `batsat` and,
//! with the feature `cadical`, to `CaDiCaL` (lucky=0, phase=0). Prints milliseconds of CPU time.
//!
//! ```text
//! cargo bench -p isoscope-synth --bench solvers                      7 transactions
//! cargo bench -p isoscope-synth --bench solvers -- 10                10 transactions
//! cargo bench -p isoscope-synth --bench solvers --features cadical
//! ```
//!
//! All solvers get the same questions, those that arose from the answers of the first. With a solver's own answers, the number of
//! candidates would differ as well.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark is a program")]

#[path = "problems/mod.rs"]
mod problems;
#[path = "../../solve/tests/second/mod.rs"]
mod second;
#[path = "../../solve/benches/seconds/mod.rs"]
mod seconds;

#[cfg(feature = "cadical")]
use isoscope_solve::Cadical;
use isoscope_solve::{ClauseSink, Outcome, Solver};
use isoscope_synth::{Answer, Given, Search};
use second::Second;
use seconds::seconds;

/// Runs are repeated for this many seconds: the clock of the system ticks every 4 milliseconds.
const REPEATED: f64 = 0.1;

trait Bench: ClauseSink {
    fn has_model(&mut self) -> bool;
}

impl Bench for Solver {
    fn has_model(&mut self) -> bool {
        self.solve(&[]) == Outcome::Sat
    }
}

impl Bench for Second {
    fn has_model(&mut self) -> bool {
        self.solve(&[])
    }
}

#[cfg(feature = "cadical")]
impl Bench for Cadical {
    fn has_model(&mut self) -> bool {
        self.solve(&[]) == Outcome::Sat
    }
}

/// The seconds that a solver takes.
fn timed<S: Bench>(given: &[Given], new: impl Fn() -> S) -> f64 {
    let (begin, mut times) = (seconds(), 0);
    loop {
        let mut solver = new();
        let mut vars = 0;
        for one in given {
            match one {
                Given::Clause(lits) => {
                    let needed = lits.iter().map(|lit| lit.var().index() + 1).max().unwrap_or_default();
                    while vars < needed {
                        solver.new_var();
                        vars += 1;
                    }
                    solver.add_clause(lits);
                }
                Given::Question(has_model) => assert_eq!(solver.has_model(), *has_model),
            }
        }
        times += 1;
        let time = seconds() - begin;
        if time >= REPEATED {
            return time / f64::from(times);
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let txns = args.first().and_then(|arg| arg.parse().ok()).unwrap_or(7);
    println!(
        "{:<18} {:>8} {:>9} {:>9} {:>9} {:>9} {:>6} {:>9} {:>6}",
        "problem", "clauses", "questions", "solve", "batsat", "CaDiCaL", "", "solve /", ""
    );
    let mut sums = [0.0; 3];
    let mut logs = [0.0; 2];
    let rows = problems::rows();
    for row in &rows {
        let problem = row.problem();
        let mut search = Search::logged(&problem, problems::scope(txns));
        let answer = search.next(&mut || false);
        assert_eq!(matches!(answer, Answer::Found(_)), row.is_found(txns));
        let given = search.given();
        let questions = given.iter().filter(|one| matches!(one, Given::Question(_))).count();
        let core = || {
            let mut solver = Solver::new();
            solver.set_default_phase(false);
            solver
        };
        let ours = timed(given, core);
        let batsat = timed(given, Second::new);
        #[cfg(feature = "cadical")]
        let cadical = timed(given, || {
            let mut solver = Cadical::new();
            solver.set_default_phase(false);
            solver
        });
        #[cfg(not(feature = "cadical"))]
        let cadical = f64::NAN;
        for (sum, time) in sums.iter_mut().zip([ours, batsat, cadical]) {
            *sum += time;
        }
        logs[0] += (ours / batsat).ln();
        logs[1] += (ours / cadical).ln();
        println!(
            "{:<18} {:>8} {questions:>9} {:>9.2} {:>9.2} {:>9.2} {:>6} {:>9.2} {:>6.2}",
            row.problem,
            given.len() - questions,
            ours * 1e3,
            batsat * 1e3,
            cadical * 1e3,
            "",
            ours / batsat,
            ours / cadical,
        );
    }
    let count = rows.len() as f64;
    println!(
        "all, {txns} transactions: {:.0} ms, {:.0} ms, {:.0} ms",
        sums[0] * 1e3,
        sums[1] * 1e3,
        sums[2] * 1e3
    );
    println!(
        "geometric mean of solve / batsat: {:.2}; of solve / CaDiCaL: {:.2}",
        (logs[0] / count).exp(),
        (logs[1] / count).exp()
    );
}

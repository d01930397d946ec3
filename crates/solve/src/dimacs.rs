//! The DIMACS format: clauses as text, for other solvers and for reports of defects.
//!
//! `p cnf VARIABLES CLAUSES`, then each clause as numbers that end with 0; lines that start with `c` are comments.
//! Variables count from 1, and a minus sign negates. The reader accepts clauses that span lines, and rejects numbers
//! above the announced variables and a number of clauses other than announced.

use std::fmt;

use crate::encode::ClauseSink;
use crate::lit::{Lit, Var};
use crate::solver::Solver;
use crate::theory::Theory;

/// Clauses in memory. `Display` writes them in the DIMACS format.
///
/// ```
/// use isoscope_solve::{Cnf, Outcome, Solver};
///
/// let cnf = Cnf::parse("c an example\np cnf 2 2\n1 -2 0\n2 0\n").unwrap();
/// let mut solver = Solver::new();
/// cnf.add_to(&mut solver);
/// assert_eq!(solver.solve(&[]), Outcome::Sat);
/// assert_eq!(Cnf::of(&solver).to_string(), "p cnf 2 2\n2 0\n1 0\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cnf {
    /// Lines of comment, without the leading `c`.
    pub comments: Vec<String>,
    /// The number of variables.
    pub vars: usize,
    /// The clauses.
    pub clauses: Vec<Vec<Lit>>,
}

impl Cnf {
    /// The clauses of a solver; see [`Solver::clauses`]. The theory is not part of them.
    pub fn of<T: Theory>(solver: &Solver<T>) -> Cnf {
        let clauses = solver.clauses().map(<[Lit]>::to_vec).collect();
        Cnf { comments: Vec::new(), vars: solver.vars(), clauses }
    }

    /// Creates the variables and adds the clauses. The sink must not have variables yet.
    pub fn add_to(&self, sink: &mut impl ClauseSink) {
        for number in 0..self.vars {
            let var = sink.new_var();
            assert_eq!(var.index(), number, "the sink has no variables of its own");
        }
        self.clauses.iter().for_each(|clause| sink.add_clause(clause));
    }

    /// Reads the DIMACS format.
    pub fn parse(text: &str) -> Result<Cnf, DimacsError> {
        let mut cnf = Cnf::default();
        let mut announced: Option<usize> = None;
        let mut clause = Vec::new();
        let lines = text.lines().zip(1..);
        for (line, number) in lines.clone() {
            let error = |problem| DimacsError { line: number, problem };
            let line = line.trim();
            if let Some(comment) = line.strip_prefix('c') {
                cnf.comments.push(comment.trim().to_owned());
            } else if let Some(header) = line.strip_prefix("p cnf ") {
                let mut numbers = header.split_whitespace().map(str::parse::<usize>);
                let (Some(Ok(vars)), Some(Ok(clauses)), None) =
                    (numbers.next(), numbers.next(), numbers.next())
                else {
                    return Err(error("expected `p cnf VARIABLES CLAUSES`"));
                };
                if announced.replace(clauses).is_some() {
                    return Err(error("a second `p cnf` line"));
                }
                cnf.vars = vars;
            } else {
                if announced.is_none() && !line.is_empty() {
                    return Err(error("expected `p cnf` before the first clause"));
                }
                for word in line.split_whitespace() {
                    let number: i32 = word.parse().map_err(|_| error("expected a number"))?;
                    if number == 0 {
                        cnf.clauses.push(std::mem::take(&mut clause));
                    } else if number.unsigned_abs() as usize > cnf.vars {
                        return Err(error("a variable above the announced number"));
                    } else {
                        clause.push(Lit::from_dimacs(number));
                    }
                }
            }
        }
        let end = DimacsError { line: lines.count(), problem: "" };
        if !clause.is_empty() {
            return Err(DimacsError { problem: "the last clause does not end with 0", ..end });
        }
        if announced != Some(cnf.clauses.len()) {
            return Err(DimacsError { problem: "the number of clauses is not the announced one", ..end });
        }
        Ok(cnf)
    }
}

impl fmt::Display for Cnf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for comment in &self.comments {
            writeln!(f, "c {comment}")?;
        }
        writeln!(f, "p cnf {} {}", self.vars, self.clauses.len())?;
        for clause in &self.clauses {
            for lit in clause {
                write!(f, "{} ", lit.to_dimacs())?;
            }
            writeln!(f, "0")?;
        }
        Ok(())
    }
}

impl ClauseSink for Cnf {
    fn new_var(&mut self) -> Var {
        self.vars += 1;
        Var::new(self.vars - 1)
    }

    fn add_clause(&mut self, lits: &[Lit]) {
        self.clauses.push(lits.to_vec());
    }
}

/// The reason why a text is not in the DIMACS format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DimacsError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl fmt::Display for DimacsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for DimacsError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_text_can_be_read_back() {
        let mut cnf = Cnf { comments: vec!["edge 1 2".to_owned()], ..Cnf::default() };
        let [a, b] = [(); 2].map(|()| cnf.new_var().positive());
        cnf.add_clause(&[a, !b]);
        cnf.add_clause(&[]);
        assert_eq!(cnf.to_string(), "c edge 1 2\np cnf 2 2\n1 -2 0\n0\n");
        assert_eq!(Cnf::parse(&cnf.to_string()), Ok(cnf));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line) in [
            ("1 0\n", 1),
            ("p cnf 1\n", 1),
            ("p cnf 1 0\np cnf 1 0\n", 2),
            ("p cnf 1 1\n2 0\n", 2),
            ("p cnf 1 1\n1 x 0\n", 2),
            ("p cnf 1 1\n1\n", 2),
            ("p cnf 1 2\n1\n0\n", 3),
            ("", 0),
        ] {
            assert_eq!(Cnf::parse(text).map_err(|error| error.line), Err(line), "{text:?}");
        }
    }
}

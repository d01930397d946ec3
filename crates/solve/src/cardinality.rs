//! At most one of several literals, and exactly one, as clauses.
//!
//! Few literals: one clause for every pair. Many literals: a chain of new variables, each of which says that one of the
//! literals so far is true (Sinz 2005, "Towards an optimal CNF encoding of Boolean cardinality constraints"). The chain
//! has `3n - 4` clauses instead of `n(n - 1) / 2`.
//!
//! Invariant: in both encodings, unit propagation makes all other literals false as soon as one is true.

use crate::encode::ClauseSink;
use crate::lit::Lit;

/// The chain has fewer clauses from here on.
pub(crate) const FEW: usize = 6;

/// Adds clauses that allow at most one of the literals to be true.
///
/// ```
/// use isoscope_solve::{Outcome, Solver, at_most_one};
///
/// let mut solver = Solver::new();
/// let lits = [(); 20].map(|()| solver.new_var().positive());
/// at_most_one(&mut solver, &lits);
/// assert_eq!(solver.solve(&[lits[3]]), Outcome::Sat);
/// assert_eq!(solver.solve(&[lits[3], lits[17]]), Outcome::Unsat);
/// ```
pub fn at_most_one(sink: &mut impl ClauseSink, lits: &[Lit]) {
    if lits.len() <= FEW {
        for (place, &first) in lits.iter().enumerate() {
            for &second in &lits[place + 1..] {
                sink.add_clause(&[!first, !second]);
            }
        }
        return;
    }
    // "One of the literals up to here is true."
    let mut any = lits[0];
    for &lit in &lits[1..lits.len() - 1] {
        let next = sink.new_var().positive();
        sink.add_clause(&[!any, !lit]);
        sink.add_clause(&[!any, next]);
        sink.add_clause(&[!lit, next]);
        any = next;
    }
    sink.add_clause(&[!any, !lits[lits.len() - 1]]);
}

/// Adds clauses that allow exactly one of the literals to be true.
pub fn exactly_one(sink: &mut impl ClauseSink, lits: &[Lit]) {
    sink.add_clause(lits);
    at_most_one(sink, lits);
}

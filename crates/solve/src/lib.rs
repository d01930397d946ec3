//! A SAT solver for questions about isolation, with a theory of total orders and an encoder for formulas. This crate
//! knows nothing about databases.
//!
//! - *Is this set of clauses satisfiable?* [`Solver`]: incremental, with assumptions, cores, phases and a [`Budget`].
//! - *Is this formula satisfiable?* Build it with [`Formulas`] and hand it to a solver with [`Tseitin`].
//! - *Is there a total order that satisfies clauses over "a is before b"?* [`OrderSolver`]: find an order, look at what is
//!   wrong with it, add clauses that exclude it, and search again from there.
//! - *What is the solver working on?* [`Cnf`] reads and writes the DIMACS format.
//!
//! ```
//! use isoscope_solve::{Formulas, Outcome, Solver, Tseitin};
//!
//! let mut solver = Solver::new();
//! let [a, b, c] = [(); 3].map(|()| solver.new_var().positive());
//! let mut formulas = Formulas::new();
//! let [fa, fb, fc] = [a, b, c].map(|lit| formulas.lit(lit));
//! let same = formulas.iff(fa, fb);
//! let one = formulas.exactly_one(&[fa, fb, fc]);
//! let both = formulas.and(&[same, one]);
//! Tseitin::new().require(&formulas, both, &mut solver);
//! assert_eq!(solver.solve(&[]), Outcome::Sat);
//! assert!(solver.value(c) && !solver.value(a));
//! ```
//!
//! With the feature `cadical`, [`OrderSolver`] searches with `CaDiCaL`, a solver in C++, and the type `Cadical` offers it with
//! the interface of [`Solver`]. This is for comparison.
//!
//! Nothing here recurses, reads a clock or depends on hash order: a result is a function of the calls made.

mod acyclicity;
#[cfg(feature = "cadical")]
mod cadical;
mod cardinality;
mod dimacs;
mod encode;
mod lit;
mod order_solver;
mod outcome;
mod solver;
mod theory;

pub use acyclicity::Acyclicity;
#[cfg(feature = "cadical")]
pub use cadical::Cadical;
pub use cardinality::{at_most_one, exactly_one};
pub use dimacs::{Cnf, DimacsError};
pub use encode::{ClauseSink, Formula, Formulas, Tseitin};
pub use lit::{Lit, Var};
pub use order_solver::{Figures, OrderSolver};
pub use outcome::{Budget, Outcome};
pub use solver::Solver;
pub use theory::{NoTheory, Theory};

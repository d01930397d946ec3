//! Questions about orders, answered by a SAT solver with an acyclicity theory. No word of databases in here.
//!
//! The question: is there a total order of some nodes that contains given edges and satisfies given clauses, whose
//! literals say *a is before b* or are plain variables? [`OrderSolver`] is the answer. It is built for asking
//! again: find an order, look at what is wrong with it, add clauses that say so, and solve again from where the
//! last search ended.
//!
//! How it works: every unordered pair of nodes that a clause mentions is one variable, so that an assignment is
//! a direction for each pair. A SAT core (`cdcl.rs`) looks for an assignment that satisfies the clauses; the theory
//! (`acyclic.rs`) keeps a topological order of the edges and of the directions chosen so far, and tells the core
//! of every cycle. Pairs that no clause mentions need no variable: any topological order directs them.
//!
//! With the feature `cadical` the core is `CaDiCaL` (`cadical.rs`), in C++: to compare with, and for questions of which
//! the clauses are harder than the orders.
//!
//! Nothing here recurses, sees a clock or depends on hash order: an answer is a function of the calls made.

// CaDiCaL has its own idea of what to decide and asks for no advice.
#![cfg_attr(feature = "cadical", allow(dead_code))]

mod acyclic;
#[cfg(feature = "cadical")]
mod cadical;
#[cfg(not(feature = "cadical"))]
mod cdcl;
mod lit;
mod sat;
mod solver;

pub use lit::Lit;
pub use sat::Answer;
pub use solver::{Figures, OrderSolver};

//! The interface between the solver and a theory.
//!
//! A theory gives variables a meaning that clauses alone do not express. The solver reports to the theory,
//! level by level, which literals of *theory variables* became true. When unit propagation has reached its
//! end, the solver asks the theory for a clause that the theory implies and that is false under the
//! assignment. Such a clause is a *lemma*.
//!
//! The contract. The solver may report a literal late and may report it twice. It removes levels in the
//! reverse order of their opening. It asks for a lemma before it answers *satisfiable*. A theory that returns
//! no lemma accepts the literals it was given.

use crate::lit::Lit;

/// A theory over some of the variables; see the module for the contract.
pub trait Theory {
    /// Whether the preferred values of all open theory variables together always form an assignment that the
    /// theory accepts, given that it accepts the current one. The solver then decides only where a clause is false
    /// under the preferred values, and leaves all other variables open. Otherwise it decides every variable.
    const COMPLETES: bool = false;

    /// A literal of a theory variable is true on the current level.
    fn assign(&mut self, lit: Lit);
    /// Opens a level above the current one. Level 0 is open from the start and is never removed.
    fn open_level(&mut self);
    /// Removes everything that was assigned above a level.
    fn backtrack(&mut self, level: usize);
    /// A clause of theory literals that the theory implies and that is false, or `None` if the theory accepts the
    /// assignment.
    fn lemma(&mut self) -> Option<&[Lit]>;
    /// Whether the theory prefers a literal of an open theory variable to its negation.
    fn prefers(&self, lit: Lit) -> bool;
    /// How far the theory is from accepting a literal of an open theory variable. Decisions prefer small distances.
    fn distance(&self, lit: Lit) -> u32 {
        let _ = lit;
        0
    }
}

/// No theory: plain SAT.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTheory;

impl Theory for NoTheory {
    fn assign(&mut self, _: Lit) {}
    fn open_level(&mut self) {}
    fn backtrack(&mut self, _: usize) {}
    fn lemma(&mut self) -> Option<&[Lit]> {
        None
    }
    fn prefers(&self, lit: Lit) -> bool {
        lit.is_positive()
    }
}

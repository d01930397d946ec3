//! What is asked of a SAT core, and what the core asks of a theory.
//!
//! The core owns the theory and tells it, level by level, which watched literals became true; whenever the core
//! has drawn all conclusions it asks the theory for a clause that follows from the theory and is false. The
//! core is free to tell late and to tell twice, but it takes levels back in the reverse order of their opening,
//! and it asks before it answers.
//!
//! Which value of a variable is tried first is not an argument: *the positive literal is*. Who makes a variable
//! gives its literals their meaning, so that is enough.

use std::ops::{Deref, DerefMut};

use crate::lit::Lit;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is an order, and it was found.
    Order,
    /// There is no order under the assumptions.
    Contradiction,
    /// The search was stopped before it ended.
    Stopped,
}

/// What a core knows of a theory.
pub(crate) trait Theory {
    /// A literal of a watched variable is true on the current level. It may have been told before.
    fn assign(&mut self, lit: Lit);
    /// Opens a level above the current one. In the beginning there is level 0, which stays.
    fn open_level(&mut self);
    /// Forgets all that was assigned above a level.
    fn backtrack(&mut self, level: usize);
    /// A clause of watched literals that follows from the theory and is false, unless there is none: then the
    /// theory agrees with what was assigned.
    fn conflict(&mut self) -> Option<&[Lit]>;
    /// Whether it is better to try a literal of a watched variable than its negation; only advice.
    fn prefers(&self, lit: Lit) -> bool;
    /// How much would have to change for a literal of a watched variable to hold; only advice.
    fn distance(&self, lit: Lit) -> u32;
}

/// A SAT core that searches together with a theory, incrementally.
pub(crate) trait Sat<T: Theory> {
    fn new(theory: T) -> Self;
    fn theory(&self) -> impl Deref<Target = T>;
    fn theory_mut(&mut self) -> impl DerefMut<Target = T>;
    /// A fresh variable: the next number. The theory is told of it only if it is watched.
    fn variable(&mut self, watched: bool) -> Lit;
    fn add_clause(&mut self, lits: &[Lit]);
    fn solve(&mut self, assumptions: &[Lit], stop: &mut dyn FnMut() -> bool) -> Answer;
    /// The value of a literal, directly after [`Answer::Order`].
    fn value(&mut self, lit: Lit) -> bool;
    /// Whether an assumption took part in the contradiction, directly after [`Answer::Contradiction`].
    fn failed(&mut self, assumption: Lit) -> bool;
    /// How many conflicts the searches met so far.
    fn conflicts(&self) -> u64;
}

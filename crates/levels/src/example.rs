//! The smallest histories that show a thing, with the verdicts they must get.
//!
//! A claim is stored as the boundary it draws: the strongest levels that hold and the weakest that fail. The
//! lattice says the rest. A level that neither side reaches is not claimed: strict levels ask for real time,
//! which most examples do not tell.

use crate::Level;

/// A small history and what is true of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// The history in the one-line notation (`isoscope_history::notation`).
    pub notation: &'static str,
    /// What happens in it.
    pub story: &'static str,
    /// The strongest levels that hold; all that they imply hold too.
    pub holds: &'static [Level],
    /// The weakest levels that are violated; all that imply them are too.
    pub violated: &'static [Level],
}

impl Example {
    /// Whether the history satisfies a level, where that is claimed.
    pub fn satisfies(&self, level: Level) -> Option<bool> {
        if self.holds.iter().any(|holds| holds.implies(level)) {
            Some(true)
        } else if self.violated.iter().any(|&violated| level.implies(violated)) {
            Some(false)
        } else {
            None
        }
    }
}

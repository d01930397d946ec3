//! The smallest histories that show a level or an anomaly, with the verdicts they must get.
//!
//! A claim is stored as a boundary: the strongest levels that hold and the weakest that are violated. The
//! lattice gives the rest. A level on neither side is not claimed: strict levels require real-time order, and
//! most examples have no times.

use crate::Level;

/// A small history and the verdicts it must get.
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
    /// Whether the history satisfies a level; `None` if the example makes no claim about it.
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

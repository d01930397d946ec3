//! The entry point.

use isoscope_history::History;
use isoscope_levels::Level;

use crate::certificate::{Judgement, Unknown, Verdict};

/// How much to report.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many instances of each anomaly to keep. Counts and verdicts do not depend on it.
    pub max_anomalies: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { max_anomalies: 10 }
    }
}

/// A history whose reads are resolved, ready to be asked about levels.
pub struct Checker<'h> {
    #[allow(dead_code, reason = "under construction")]
    history: &'h History,
    #[allow(dead_code, reason = "under construction")]
    options: Options,
}

impl<'h> Checker<'h> {
    /// Resolves the reads of a history.
    pub fn new(history: &'h History, options: Options) -> Self {
        Checker { history, options }
    }

    /// Decides a level. What one level learns, the next one uses.
    pub fn check(&mut self, level: Level) -> Judgement {
        Judgement { level, verdict: Verdict::Unknown(Unknown::NoEngine), implied_by: None }
    }
}

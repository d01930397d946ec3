//! Limits and progress of a prediction.
//!
//! This crate sees no clock: the caller says when a limit is reached, and may say what time it is so that the figures have seconds.

use std::time::Duration;

/// The budget of a prediction, and the receiver of its progress. [`isoscope_check::Watch::limit`] is asked often.
pub trait Watch: isoscope_check::Watch {
    /// The time since some fixed moment. The seconds of [`crate::Figures`] are differences of it.
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    /// The search has done some work.
    fn progress(&self, progress: &Progress) {
        let _ = progress;
    }
}

/// How far a prediction is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The window that is searched, from 1.
    pub window: usize,
    /// How many windows there are.
    pub windows: usize,
    /// Candidates examined.
    pub candidates: u64,
    /// Serial orders learnt.
    pub orders: u64,
    /// Predictions found.
    pub found: usize,
}

/// No limits, no clock, no progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl isoscope_check::Watch for Unwatched {}
impl Watch for Unwatched {}

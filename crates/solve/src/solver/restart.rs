//! Restarts the search when the clauses learned recently link more levels than usual (Audemard and Simon
//! 2012, with the moving averages of Biere and Fröhlich 2015).
//!
//! A clause that links few levels is likely to be useful. A run of clauses that link many levels means that
//! the search is in the wrong place. Two averages of the number of levels are kept, one that follows the last
//! few dozen conflicts and one that follows thousands. A restart keeps phases and activities, so the search
//! soon returns to a similar place by a better path.
//!
//! Invariant: both averages start as plain means, so that the first conflicts do not weigh more than later
//! ones.

#[derive(Default)]
pub(super) struct Restarts {
    recent: f64,
    usual: f64,
    conflicts: u64,
    /// Conflicts since the last restart.
    run: u32,
}

/// The weight of the last conflict in each average.
const RECENT: f64 = 1.0 / 32.0;
const USUAL: f64 = 1.0 / 8192.0;
/// The recent average must exceed the usual one by this factor.
const FACTOR: f64 = 1.0 / 0.85;
/// The least number of conflicts between restarts.
const SHORTEST: u32 = 50;

impl Restarts {
    /// A clause that links this number of levels was learned.
    pub(super) fn learned(&mut self, levels: u32) {
        self.conflicts += 1;
        self.run += 1;
        let mean = 1.0 / self.conflicts as f64;
        self.recent += (f64::from(levels) - self.recent) * mean.max(RECENT);
        self.usual += (f64::from(levels) - self.usual) * mean.max(USUAL);
    }

    pub(super) fn is_due(&self) -> bool {
        self.run >= SHORTEST && self.recent > FACTOR * self.usual
    }

    pub(super) fn restarted(&mut self) {
        self.run = 0;
    }
}

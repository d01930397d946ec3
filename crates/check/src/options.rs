//! What a caller can choose about a check.

/// How much to report, and which clock defines real time.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many instances of each anomaly to keep, at least one. Counts and verdicts do not depend on it.
    pub max_anomalies: usize,
    /// Whether the database's own timestamps, not what clients saw, are the real time of strict levels. They are hints for
    /// the search in any case.
    pub trust_timestamps: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { max_anomalies: 10, trust_timestamps: false }
    }
}

impl Options {
    /// How many instances of each anomaly are kept.
    pub(crate) fn kept(&self) -> usize {
        self.max_anomalies.max(1)
    }
}

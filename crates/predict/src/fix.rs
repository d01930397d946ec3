//! What prevents a prediction: tried, not guessed.
//!
//! At snapshot isolation and parallel snapshot isolation, a read can be *promoted*: the program also changes the row that it reads, so that the
//! read conflicts with writes like a write. Each read of the predicted transactions is promoted in turn, in all runs of its program. At the
//! other levels, reads do not conflict, and the next stronger levels are tried.
//!
//! A locking read is no promotion: a lock that was released before the other transaction writes leaves no trace, and the other transaction
//! keeps its snapshot (PostgreSQL at repeatable read, MariaDB with `innodb_snapshot_isolation=ON`). Nor is an UPDATE that changes
//! nothing, on MariaDB. Rows that may be absent cannot be changed, and a range may miss rows that do not exist yet: such reads are not promoted.
//!
//! A fix is a promotion or a level with which no prediction remains that changes only statements of this one. That is proved in the same
//! way as that there is no prediction at all. Serializable always is a fix.

use isoscope_levels::Level;

use crate::error::Refusal;
use crate::observed::Observed;
use crate::predict::{Prediction, Restriction, Settings, predict_within};
use crate::signature::Statement;
use crate::watch::Watch;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    /// The program also changes the rows that this statement reads.
    Promote(Statement),
    /// The programs run at this level.
    Level(Level),
}

/// The levels that are tried, weak ones first.
const LEVELS: [Level; 5] =
    [Level::ReadAtomic, Level::Causal, Level::Prefix, Level::ParallelSnapshot, Level::Snapshot];

/// The first fix for a prediction; `None` if a limit was reached.
///
/// # Errors
///
/// An internal error.
pub fn fix(
    observed: &Observed<'_>,
    settings: &Settings,
    prediction: &Prediction,
    watch: &dyn Watch,
) -> Result<Option<Fix>, Refusal> {
    let within = &prediction.statements;
    let remains = |level: Level, promoted: &[Statement]| -> Result<Option<bool>, Refusal> {
        let settings = Settings { level, most: 1, engine: None, ..*settings };
        let restriction = Restriction { within: Some(within), promoted };
        let found = predict_within(observed, &settings, restriction, watch)?;
        Ok(if found.limit.is_some() { None } else { Some(!found.found.is_empty()) })
    };
    if matches!(settings.level, Level::Snapshot | Level::ParallelSnapshot) {
        for statement in &prediction.reads {
            match remains(settings.level, std::slice::from_ref(statement))? {
                None => return Ok(None),
                Some(false) => return Ok(Some(Fix::Promote(statement.clone()))),
                Some(true) => {}
            }
        }
    }
    let stronger = |level: &&Level| level.implies(settings.level) && **level != settings.level;
    for &level in LEVELS.iter().filter(stronger).filter(|level| !level.implies(settings.target)) {
        match remains(level, &[])? {
            None => return Ok(None),
            Some(false) => return Ok(Some(Fix::Level(level))),
            Some(true) => {}
        }
    }
    Ok(Some(Fix::Level(settings.target)))
}

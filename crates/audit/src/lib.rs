//! Did the database answer the SQL of a log correctly?
//!
//! Here are the models of the Troubadour paper; the engine for the models of databases is developed beside it.

mod error;
mod model;
mod options;
mod paper;
mod verdict;

pub use error::AuditError;
pub use model::{Model, UnknownModel};
pub use options::{Heuristic, Options, OrderBy};
pub use verdict::{
    Audit, Blame, Core, Explanation, Figures, Gap, Place, Rung, Undecided, Verdict, Violation, Watch,
};

use isoscope_log::Log;

/// Audits a log; see the crate.
///
/// # Errors
///
/// If the log cannot be audited: it contradicts itself, or names what does not exist.
pub fn audit(log: &Log, options: &Options, watch: &dyn Watch) -> Result<Audit, AuditError> {
    if options.model.is_paper() {
        return paper::audit(log, options, watch);
    }
    Err(AuditError::new(None, format!("the model {} is not here", options.model)))
}

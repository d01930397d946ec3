//! Did the database answer the SQL of a log correctly? [`audit`] says whether any correct execution at the promised isolation
//! level gives every answer of a log (*observational correctness*; Pick et al., "Checking observational correctness of
//! database systems", 2025). If none does: the smallest failing prefix and a minimal core.
//!
//! This crate does no IO and sees no clock.
//!
//! # Map
//!
//! ```text
//! log ── names.rs: is its SQL understood?
//!  └──── problem.rs: Statement, Txn, Point, intervals      model.rs: the rules
//!            │
//!        engine.rs: phase 1, repairs, the smallest failing prefix, the core      blame.rs: a lower level?
//!            │         └── serial.rs, values.rs: pg-ser
//!            │   executes points          │ reorders the last points
//!        replay.rs ── evaluate.rs ── sql  region.rs ── solve: OrderSolver
//!            │            │                   │
//!        store.rs <── seen.rs: a View     slice.rs: the clause of a conflict
//! ```
//!
//! The paper's models are in `paper.rs`. `verify.rs` replays explanations, and shares only the evaluator of SQL with the rest.
//!
//! | structure | |
//! |---|---|
//! | `Point` | a snapshot, read, write or end: an event of a statement, in the interval of the statement |
//! | execution | the executed points, in their order; the *position* of a point is its place in it |
//! | `Version` | an image of a row: writer, statement, values, position of the commit, whether it is *forced* |
//! | `Row` | the versions since one INSERT, in the order of their commits; a key can have several rows |
//! | `Seen` | what a statement sees at a position: a `View` of the store |
//! | `Conflict` | why a point cannot be where it is: a wrong answer, a held lock, a newer version |
//! | `Region` | the last points of an execution, as nodes of an order solver, with a literal for the border to the rest |
//! | `Footprint` | what a statement may write in any execution, from its text and parameters |

mod blame;
mod engine;
mod error;
mod evaluate;
mod model;
mod names;
mod options;
mod paper;
mod problem;
mod region;
mod replay;
mod rungs;
mod seen;
mod serial;
mod slice;
mod store;
mod text;
mod values;
mod verdict;
mod verify;

pub use error::AuditError;
pub use model::{Model, UnknownModel};
pub use options::{Heuristic, Options, OrderBy};
pub use verdict::{
    Audit, Blame, Core, Explanation, Figures, Gap, Place, Rung, Undecided, Verdict, Violation, Watch,
};

pub use verify::verify;

use isoscope_log::Log;

/// Audits a log; see the crate.
///
/// # Errors
///
/// If the log cannot be audited: it contradicts itself, its schema cannot be executed, or a statement succeeded that is not
/// understood or names what the log never creates.
pub fn audit(log: &Log, options: &Options, watch: &dyn Watch) -> Result<Audit, AuditError> {
    names::check(log)?;
    if options.model.is_paper() {
        return paper::audit(log, options, watch);
    }
    engine::audit(log, options, watch)
}

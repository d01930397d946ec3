//! The models of the Troubadour paper (Pick et al., *Checking Observational Correctness of Database Systems*).
//!
//! A model is a condition on an order of the committed transactions. Transaction `i` makes *state* `i` from state `i - 1` and its
//! final writes; state 0 is the loader's. A statement reads each row from its own transaction's writes or else from a state with a
//! smaller number, in which the row may not exist. A row is its INSERT, and an INSERT reads the rows with its key. `m` is the set of
//! the states that a transaction read from, without its own writes.
//!
//! | model | for every transaction `i` |
//! |---|---|
//! | `paper-s` | all states in `m` are `i - 1` |
//! | `paper-ss` | as `paper-s`, and the order agrees with time |
//! | `paper-si` | all states in `m` are the same, and there is no write conflict |
//! | `paper-ssi` | all states in `m` are the last one that was made before `i` started, and there is no write conflict |
//! | `paper-rc` | all states in `m` are less than `i` |
//!
//! *No write conflict* (Fig. 7; Fig. 6 has a misprint): if a row that `i` writes was read as `x` and gets another image than `x`, then the row is
//! `x` in state `i - 1`.
//!
//! Only transactions that committed count. One whose outcome is unknown is there or not. With `--order timestamps` the order is that of
//! the commit timestamps if the log has them, or else of the answers to COMMIT; a transaction starts when its first statement is
//! answered. With `--order solve` it is any order; in `paper-ss` one that agrees with time; in `paper-ssi` starts and ends are points in the
//! intervals of their statements.
//!
//! The smallest failing prefix ends with the last entry of a transaction: the first one, in the order of the ends, such that
//! nothing explains the answers of it and those before it. With `--order solve` the other transactions are there or
//! not, and their answers do not count.
//!
//! # How it works
//!
//! ```text
//! transactions.rs   who committed, starts and ends
//! order.rs          an order: the one of the ends, or a search; the smallest prefix
//! execution.rs      executes a transaction after others: which images it can read, what it may write
//! view.rs           a View that chooses an image for each row that is read, and tries all choices
//! rows.rs           rows and, for each state, their possible images with guards
//! guard.rs          guards as clauses of a SAT solver
//! relax.rs          what a row can ever be, in any order: an upper bound that convicts
//! ```
//!
//! A row has, in each state, a *summary*: its possible images, each with a guard. A guard is *true* or a literal that implies that the row
//! has that image; exactly one image is the right one. Equal images are merged, so that a row to which `n` transactions added 10 each has
//! `n + 1` images and not `2^n`. A statement is run concretely for each combination of images of the rows it
//! looks at, and the runs whose answers are wrong are dropped. The solver is asked only after something was dropped.
//!
//! Invariant: the clauses are satisfiable if and only if an execution in this order gives all answers so far.

mod execution;
mod guard;
mod order;
mod relax;
mod rows;
mod transactions;
mod view;

use isoscope_log::Log;

use crate::error::AuditError;
use crate::options::Options;
use crate::verdict::{Audit, Watch};

/// Audits a log under one of the paper's models.
pub(crate) fn audit(log: &Log, options: &Options, watch: &dyn Watch) -> Result<Audit, AuditError> {
    order::audit(log, options, watch)
}

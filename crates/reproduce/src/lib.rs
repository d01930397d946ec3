//! Predictions on real databases: a predicted execution as a script, and what became of it.
//!
//! ```text
//! Prediction with its interleaving ──> rerun of the programs ──> Reproduction: script, text, predicted answers
//!                                                                    │ reproduce(database)
//!                                                                    v
//!                         Outcome: reproduced, reproduced otherwise, diverged, refused, error
//! ```
//!
//! [`Reproduction::new`] runs the programs of the predicted transactions again, each on the versions that the prediction gives it. This
//! determines every statement, its parameters and its answer: a value that the client computes from a changed read is computed anew. The
//! interleaving of the prediction says in which order the statements are sent.
//!
//! [`reproduce`] runs the script and judges the history of the answers that really came.
//!
//! `tape.rs`: what a program asks for, as statements.
//! `rerun.rs`: the predicted transactions run again. `text.rs`: the script. `outcome.rs`: running it. `judge.rs`: the history of its answers.

mod judge;
mod outcome;
mod rerun;
mod tape;
mod text;
mod trouble;

pub use outcome::{Outcome, Report, reproduce};
pub use text::Reproduction;
pub use trouble::Trouble;

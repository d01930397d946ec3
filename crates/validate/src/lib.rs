//! Runs predicted executions again, and tells which of them an application really has.
//!
//! ```text
//! Prediction, Run ──> validate ──> Store, policy Told ──> what happened ──> level and target, verified ──> Class
//!        Run ───────> baseline ──> Store, policy RandomLegal, many times ─> level and target, verified ──> Baseline
//! ```
//!
//! A prediction is derived from a history, which knows what transactions accessed and nothing of why. [`validate`] runs the
//! programs of its transactions again, in a store that serves every read from the predicted writer if the level permits it.
//! The result is one of four classes ([`Class`]), and [`Tally`] makes sure that they add up to the number of predictions.
//! [`baseline`] shows what random executions at the same level find without a prediction (`MonkeyDB`, OOPSLA 2021).
//!
//! `run.rs`: a run whose transactions can be executed again, and how to record one. `plan.rs`: what a prediction demands.
//! `differences.rs`: what happened otherwise. `verdict.rs`: levels, decided and verified. `validate.rs`: the classes.
//! `limited.rs`: policies within limits. `failure.rs`: why there is no answer. `tally.rs`: counts. `baseline.rs`: random executions.
//!
//! This crate does no IO, prints nothing and sees no clock.

mod baseline;
mod differences;
mod failure;
mod limited;
mod plan;
mod programs;
mod run;
mod tally;
mod validate;
mod verdict;

pub use baseline::{Baseline, baseline};
pub use differences::Difference;
pub use failure::Failure;
pub use programs::StorePrograms;
pub use run::{Recorded, Run, interleaved};
pub use tally::{Counts, Lost, Tally};
pub use validate::{Class, Evidence, Validation, validate};

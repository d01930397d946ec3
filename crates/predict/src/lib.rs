//! From one good run, the bad runs that a weaker isolation level would permit.
//!
//! The application ran once and its history is serializable. Which executions of the same application would a weaker level permit that
//! are not? A *prediction* is a prefix of the run in which some reads, one transaction a session at most, have other writers, such that
//! the level holds and the target, serializable by default, is violated (Geng and others 2024, "`IsoPredict`: Dynamic Predictive Analysis
//! for Detecting Unserializable Behaviors in Weakly Isolated Data Store Applications", PLDI).
//!
//! ```
//! use isoscope_levels::Level;
//! use isoscope_predict::{Observed, Settings, Unwatched, predict};
//!
//! // Two sessions add to x, one after the other.
//! let text = "T1: r(x,0) w(x,1)  T2: r(x,1) w(x,2)";
//! let history = isoscope_history::notation::parse(text).unwrap();
//! let observed = Observed::new(&history, &Unwatched).unwrap();
//!
//! // Under causal consistency, T2 may read the initial value: the update of T1 is lost.
//! let predictions = predict(&observed, &Settings::new(Level::Causal), &Unwatched).unwrap();
//! assert_eq!(predictions.found[0].anomaly.name(), "lost-update");
//!
//! // Under snapshot isolation, nothing can go wrong.
//! let predictions = predict(&observed, &Settings::new(Level::Snapshot), &Unwatched).unwrap();
//! assert!(predictions.found.is_empty() && predictions.limit.is_none());
//! ```
//!
//! `observed.rs`: the run, its serial order and the writers of its reads. `problem.rs`: what of it can change. `candidate.rs`: a possible
//! prediction. `encode.rs`: candidates as variables; `eager.rs`, `lazy.rs`, `snapshots.rs`, `parallel.rs`: the level as clauses;
//! `structure.rs`: what an anomaly must contain. `oracle.rs`, `schedule.rs`, `pco.rs`: does a candidate satisfy the target? `learn.rs`: what is learnt if
//! it does. `engine.rs`: can it happen on a real database? `predict.rs`: the loop; `window.rs`: long runs. `minimise.rs`, `signature.rs`, `name.rs`: fewer transactions, what is the same
//! anomaly, and what it is called. `predicted.rs`: a candidate as a history. `programs.rs`, `executions.rs`, `feasible.rs`: programs that run again on
//! other values.
//!
//! This crate does no IO, prints nothing and sees no clock.

mod candidate;
mod eager;
mod encode;
mod engine;
mod error;
mod executions;
mod feasible;
mod fix;
mod lazy;
mod learn;
mod minimise;
mod name;
mod observed;
mod oracle;
mod parallel;
mod pco;
mod predict;
mod predicted;
mod problem;
mod programs;
mod schedule;
mod signature;
mod snapshots;
mod structure;
mod watch;
mod window;

pub use engine::{Action, Engine, Step};
pub use error::Refusal;
pub use executions::Executions;
pub use fix::{Fix, fix};
pub use observed::Observed;
pub use predict::{Boundary, Change, Figures, Prediction, Predictions, Settings, predict};
pub use programs::{Access, Programs, Rerun};
pub use signature::Statement;
pub use watch::{Progress, Unwatched, Watch};

//! Which isolation levels does a history satisfy? Verdicts that prove themselves.
//!
//! ```text
//! history ──> resolve ──> decide (guess an order, ask the axiom, mend the order) ──> holds: the order
//!             the writer           │
//!             of each read         └─ no order ──> analysis, cycles ──> violated: every anomaly, with evidence
//! ```
//!
//! A [`Checker`] answers for one level at a time with a [`Judgement`], whose [`Verdict`] carries a certificate;
//! `isoscope-verify` checks it against the history and shares no code with the engines.
//!
//! ```
//! use isoscope_check::{Checker, Options, Verdict};
//! use isoscope_levels::Level;
//! use isoscope_verify::verify;
//!
//! let history = isoscope_history::notation::parse("T1: w(x,1) w(y,1)  T2: r(x,1) r(y,0)").unwrap();
//! let mut checker = Checker::new(&history, Options::default());
//! let judgement = checker.check(Level::ReadAtomic);
//! assert!(matches!(judgement.verdict, Verdict::Violated(_)));
//! assert!(verify(&history, &judgement).is_ok());
//! assert!(matches!(checker.check(Level::AdyaPl2).verdict, Verdict::Holds(_)));
//! ```
//!
//! This crate does no IO, prints nothing and sees no clock.

use isoscope_certificate as certificate;

mod analysis;
mod axiom;
mod checker;
mod cut;
mod cycles;
mod decide;
pub mod events;
mod findings;
mod fractured;
mod options;
mod plain;
mod repair;
mod resolve;
mod schedule;
mod semantics;
mod stale;
mod strong;
mod trace;
mod watch;
mod worlds;

pub use checker::Checker;
pub use isoscope_certificate::*;
pub use options::Options;
pub use watch::{Stage, Watch};

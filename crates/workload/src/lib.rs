//! Workloads and the store that runs them.
//!
//! A [`Spec`] determines the number of sessions and transactions and what they do. [`run()`] executes them
//! against an in-memory multi-version [`Store`] at a chosen isolation level ([`Store::LEVELS`]) and returns
//! the recorded history. The history satisfies the level by construction: by the way the store chooses the
//! versions a transaction sees. It is not checked. In general it does not satisfy the next stronger level.
//! Known anomalies can be added at the end ([`Injection`]), so that the expected verdicts are known in
//! advance.
//!
//! ```
//! use isoscope_levels::Level;
//! use isoscope_workload::{Spec, run};
//!
//! let spec = Spec { sessions: 4, txns_per_session: 25, level: Level::Snapshot, ..Spec::default() };
//! let history = run(&spec, &mut |_done, _total| {}).unwrap();
//! assert_eq!((history.session_count(), history.txn_count()), (4, 100));
//! ```
//!
//! A run is a function of its spec, including the seed, on every machine and in every version of this crate:
//! random numbers come from `ChaCha8` and are converted to integers and fractions by arithmetic that IEEE 754
//! fixes. This crate does no IO, prints nothing and does not read the clock.

mod inject;
mod run;
mod sample;
mod source;
mod spec;
mod store;

pub use inject::Injection;
pub use run::run;
pub use sample::Dice;
pub use source::{KeySource, ValueSource};
pub use spec::{Distribution, Duplication, Shape, Spec, SpecError};
pub use store::{Conflict, Store, Transaction};

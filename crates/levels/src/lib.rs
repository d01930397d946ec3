//! The catalogue: isolation levels and anomalies as data.
//!
//! No other code defines a level. A [`Level`] has a canonical name and aliases, a place in the lattice, a
//! definition and the engine that decides it. An [`Anomaly`] has its common names, the corresponding pattern
//! of the Plume paper, and the levels that forbid it. Both have the smallest histories that show them
//! ([`Example`]), with the verdicts these histories must get.
//!
//! ```
//! use isoscope_levels::{Anomaly, Level};
//!
//! let level = Level::parse("Repeatable Read").unwrap();
//! assert_eq!(level, Level::AdyaPl299);
//! assert!(Level::Serializable.implies(level) && !Level::Snapshot.implies(level));
//! assert!(level.forbids(Anomaly::WriteSkew) && !Level::Snapshot.forbids(Anomaly::WriteSkew));
//! ```
//!
//! The tables are in `level/table.rs`, `anomaly/table.rs` and `lattice.rs`, and are written to be read. This
//! crate does no IO, prints nothing and does not read the clock.

mod anomaly;
mod citation;
mod example;
mod lattice;
mod level;
mod name;

pub use anomaly::{Anomaly, ELLE_PROCESS, ELLE_REALTIME};
pub use citation::Citation;
pub use example::Example;
pub use lattice::{DRAWING, EDGES, Edge};
pub use level::{Axiom, Engine, Framework, Level, Product};
pub use name::{Called, Kind, Topic, UnknownName};

//! The catalogue: isolation levels and anomalies as data.
//!
//! Nothing else in the code base defines a level. A [`Level`] has a canonical name and aliases, a place in
//! the lattice, a definition and the engine that decides it; an [`Anomaly`] has the names people know, the
//! pattern of the Plume paper it answers to, and the levels that forbid it. Both come with the smallest
//! histories that show them ([`Example`]), and with the verdicts these histories must get.
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
//! The tables are `level/table.rs`, `anomaly/table.rs` and `lattice.rs`; they are meant to be read. This
//! crate does no IO, prints nothing and sees no clock.

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

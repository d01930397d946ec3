//! The catalogue: isolation levels and anomalies as data.
//!
//! Nothing else in the code base defines a level. A [`Level`] has a canonical name and aliases, a place in
//! the lattice, a definition and the engine that decides it; an [`Anomaly`] has the names people know, the
//! pattern of the Plume paper it answers to, and the levels that forbid it.
//!
//! This crate does no IO, prints nothing and sees no clock.

mod anomaly;
mod level;

pub use anomaly::Anomaly;
pub use level::Level;

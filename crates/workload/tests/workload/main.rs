//! Tests of the workload crate: the levels that a run satisfies and violates, and the shape of its history.

mod axioms;
mod injections;
mod levels;
mod runs;
mod store;
mod witness;

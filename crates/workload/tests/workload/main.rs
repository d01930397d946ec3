//! The workload crate against its promises: what a run satisfies, what it violates, and what it looks like.

mod axioms;
mod injections;
mod levels;
mod runs;
mod store;
mod witness;

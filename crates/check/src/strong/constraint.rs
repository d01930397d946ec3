//! What an explanation of a history must satisfy, one instance at a time.
//!
//! All searches share one axiom (docs/levels.md, "Commit orders"): if t reads x from w, and b also writes x, then b is before w
//! or t misses b. The searches (`search.rs`, `visible.rs`) collect the instances that an order broke, `encode.rs` makes clauses of them,
//! and the proofs (`cases.rs`, `weak.rs`) use them again.

use isoscope_history::Key;

use super::sources::Source;

/// An instance of an axiom that an order broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constraint {
    /// If the read is from the source: the writer is before the source, or the read misses the writer.
    Between { read: u32, source: Source, writer: u32 },
    /// One of two writers of a key is before the other.
    Conflict { key: Key, first: u32, second: u32 },
    /// The read is from one of its sources.
    Sources { read: u32 },
}

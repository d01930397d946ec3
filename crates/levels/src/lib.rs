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

/// The columns of a table with one row per entry: the type of a row, and a getter for each column. The table is `table::ROWS`,
/// in the order of `ALL`.
macro_rules! columns {
    ($Entry:ident, $entry:ident, { $($(#[$doc:meta])* $column:ident: $type:ty,)* }) => {
        struct Row {
            $entry: $Entry,
            $($column: $type,)*
        }

        impl $Entry {
            const fn row(self) -> &'static Row {
                &table::ROWS[self as usize]
            }

            $($(#[$doc])*
            pub const fn $column(self) -> $type {
                self.row().$column
            })*
        }

        impl std::fmt::Display for $Entry {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        const _: () = {
            let mut i = 0;
            while i < $Entry::ALL.len() {
                assert!($Entry::ALL[i] as usize == i && table::ROWS[i].$entry as usize == i, "one row per entry, in order");
                i += 1;
            }
        };
    };
}

mod anomaly;
mod citation;
mod example;
pub mod language;
mod lattice;
mod level;
mod name;

pub use anomaly::{Anomaly, ELLE_PROCESS, ELLE_REALTIME};
pub use citation::Citation;
pub use example::Example;
pub use lattice::{DRAWING, EDGES, Edge};
pub use level::{Axiom, Engine, Framework, Level, Product};
pub use name::{Called, Kind, Topic, UnknownName};

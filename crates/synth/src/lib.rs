//! Small histories that some isolation levels allow and others forbid.
//!
//! - *Which history does one level allow and another forbid?* [`Search`] looks in one [`Scope`].
//! - *And which is the smallest, or all of these?* [`smallest()`] looks in one scope after the other.
//! - *Which of two levels is stronger, and how do many lie to each other?* [`compare()`] and [`Lattice`].
//! - *Does a level allow this history, and why?* [`allows`] returns the [`Evidence`].
//!
//! Levels are definitions of the level language ([`isoscope_levels::language`]).
//!
//! ```
//! use isoscope_levels::language::Library;
//! use isoscope_synth::{Answer, Problem, Scope, Search};
//!
//! let library = Library::shipped();
//! let problem = Problem {
//!     allow: vec![library.find("snapshot-isolation")?],
//!     forbid: vec![library.find("serializable")?],
//!     ..Problem::default()
//! };
//! assert!(matches!(Search::new(&problem, Scope::new(2, 1)).next(&mut || false), Answer::Nothing));
//! assert!(matches!(Search::new(&problem, Scope::new(2, 2)).next(&mut || false), Answer::Found(_)));
//! # Ok::<(), isoscope_levels::language::NotDefined>(())
//! ```

mod compare;
mod compiled;
mod convert;
mod evaluate;
mod history;
mod logic;
mod matrix;
mod plan;
mod search;
mod smallest;
mod space;

pub use compare::{Comparison, Lattice, LatticeEdge, Order, compare};
pub use convert::{LARGEST, Unsupported};
pub use history::SmallHistory;
pub use search::{Answer, Evidence, Figures, Problem, Search, allows};
pub use smallest::{Smallest, Unwatched, Watch, smallest};
pub use space::Scope;

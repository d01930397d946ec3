//! Small histories that some isolation levels allow and others forbid.
//!
//! - *Which history does one level allow and another forbid?* [`Search`] looks in one [`Scope`].
//! - *And which is the smallest, or all of these?* [`smallest()`] looks in one scope after the other.
//! - *Which of two levels is stronger, and how do many lie to each other?* [`compare()`] and [`Lattice`].
//! - *Does a level allow this history, and why?* [`allows`] returns the [`Evidence`] for a small history, [`judge()`] the
//!   [`Ruling`] on a recorded one.
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
//! assert!(matches!(Search::new(&problem, Scope::new(2, 1), &mut || false).next(&mut || false), Answer::Nothing));
//! assert!(matches!(Search::new(&problem, Scope::new(2, 2), &mut || false).next(&mut || false), Answer::Found(_)));
//! # Ok::<(), isoscope_levels::language::NotDefined>(())
//! ```

mod compare;
mod compiled;
mod convert;
mod evaluate;
mod evidence;
mod history;
mod judge;
mod logic;
mod matrix;
mod ordered;
mod parts;
mod plan;
mod search;
mod smallest;
mod space;
mod witness;

pub use compare::{Comparison, Lattice, LatticeEdge, Order, compare};
pub use convert::{Clock, LARGEST, Unsupported, WrongRead, has_times};
pub use evidence::{Evidence, allows, satisfies};
pub use history::{Dependency, Kind, SmallHistory};
pub use judge::{Core, CoreTxn, MOST_WORLDS, Ruling, Shown, Why, judge};
pub use plan::uses_real_time;
pub use search::{Answer, Figures, Problem, Search};
pub use smallest::{Smallest, Stopped, Unwatched, Watch, smallest};
pub use space::{Given, Scope};

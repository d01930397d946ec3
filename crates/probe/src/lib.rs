//! Bounded-exhaustive tests of the isolation of a live database.
//!
//! ```text
//! separating histories ─┐
//! all small programs ───┴─> Program ──> Explorer: every interleaving ──> Stage: run it ──> Judge: which levels hold
//! ```
//!
//! A [`Program`] says what a few transactions read and write. [`probe`] runs every interleaving of every program on the
//! database, step by step, and checks what was read. [`Findings`] says which levels were ever violated, and how.
//! [`script`] writes a violation as a script that shows it again.
//!
//! If a level was never violated, that proves nothing beyond these programs.

pub mod interleavings;
mod judge;
mod locks;
mod plan;
mod probe;
mod programs;
mod run;
mod script;
mod separating;

pub use judge::{LevelTally, Violation, history};
pub use plan::Action;
pub use probe::{Findings, Unwatched, Watch, probe};
pub use programs::{Op, Program, Transaction, exhaustive, key_name, spread};
pub use run::{Run, Stage, Step, StepResult};
pub use script::script;
pub use separating::separating;

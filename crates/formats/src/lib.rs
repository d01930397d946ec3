//! Every history format people have: detection, readers, writers, and diagnostics that point at the input.
//!
//! ```
//! use isoscope_formats::{Format, Input, ReadOptions, read};
//!
//! let input = Input::text("example", "w(1,7,0,1)\nr(1,7,1,2)\n");
//! let reading = read(&input, &ReadOptions::default()).unwrap();
//! assert_eq!(reading.format, Format::Plume);
//! assert_eq!(reading.history.txn_count(), 2);
//! ```
//!
//! One file a format, each with the conventions that silently change verdicts when guessed wrong. Readers
//! never panic, find every problem they can, and give either a history (perhaps with warnings) or errors.

mod awdit;
mod cobra;
mod cursor;
mod dbcop;
mod detect;
mod edn;
mod elle_json;
mod format;
mod input;
mod isopredict;
mod jepsen;
mod json;
mod lower;
mod native;
mod notation;
mod parallel;
mod plume;
mod problem;
mod read;
mod spell;
mod text;
mod viper;
mod write;

pub use edn::keyword as edn_keyword;
pub use format::Format;
pub use input::{Input, Room};
pub use lower::Losses;
pub use problem::{Place, Problem, Severity, Warning};
pub use read::{Failure, ReadOptions, Reading, read};
pub use text::SourceText;
pub use write::{Target, WriteError, write};

/// Called with the number of bytes of input just read, from any thread.
pub(crate) type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// What a reader works with besides the stream of one source file.
pub(crate) struct Job<'a> {
    /// The position of the file's first byte.
    pub(crate) base: u64,
    /// The name of the file, which some formats call its session by.
    pub(crate) name: &'a str,
    /// The history so far.
    pub(crate) draft: &'a mut isoscope_history::Draft,
    /// The problems so far.
    pub(crate) problems: &'a mut problem::Problems,
    /// Told of every byte consumed, which is how the length of the file becomes known.
    pub(crate) progress: Progress<'a>,
}

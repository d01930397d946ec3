//! Readers and writers of history formats, format detection, and diagnostics that point into the input.
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
//! Each format has its own file, which documents the conventions that would silently change verdicts if
//! guessed wrong. Readers never panic, report every problem they can find, and return either a history
//! (perhaps with warnings) or errors.

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

/// The context of a reader, apart from the stream of its source file.
pub(crate) struct Job<'a> {
    /// The position of the file's first byte.
    pub(crate) base: u64,
    /// The name of the file. Some formats name the session after it.
    pub(crate) name: &'a str,
    /// The history read so far.
    pub(crate) draft: &'a mut isoscope_history::Draft,
    /// The problems found so far.
    pub(crate) problems: &'a mut problem::Problems,
    /// Called for every byte consumed. The length of the file is computed from these calls.
    pub(crate) progress: Progress<'a>,
}

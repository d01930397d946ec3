//! What a check found: a [`Report`] as owned data, and renderers over it.
//!
//! ```text
//! Checked (history, judgements, limits) ──> Report ──> text, concise, JSON, Elle's map, JUnit
//!                                           └─ LevelResult ─ Finding ─ Occurrence
//! ```
//!
//! [`Report::new`] computes everything about isolation once: which levels hold, what is unknown and why, which finding
//! repeats a weaker level's, the stories, the names that Elle and the Plume paper use. Renderers only choose words and
//! layout. A report is [`serde::Serialize`]; its JSON is the documented format of `isoscope check --format json`.
//!
//! ```
//! use isoscope_certificate::{Evidence, Finding, Instance, Judgement, Through, Verdict};
//! use isoscope_formats::{Input, ReadOptions, read};
//! use isoscope_history::Op;
//! use isoscope_levels::{Anomaly, Level};
//! use isoscope_report::{Checked, Detail, Judged, Plain, Report, full};
//!
//! let reading = read(&Input::text("h", "T1!: w(x,1)  T2: r(x,1)"), &ReadOptions::default()).unwrap();
//! let evidence = Evidence::Read { read: Op(1), write: Some(Op(0)) };
//! let finding = Finding {
//!     anomaly: Anomaly::AbortedRead,
//!     against: None,
//!     through: Through::Dependencies,
//!     count: 1,
//!     at_least: false,
//!     components: 0,
//!     instances: vec![Instance { evidence, component: None }],
//! };
//! let verdict = Verdict::Violated(vec![finding]);
//! let judgement = Judgement { level: Level::ReadCommitted, verdict, implied_by: None };
//! let judged = [Judged::new(judgement)];
//! let checked = Checked { judged: &judged, ..Checked::of(&reading) };
//! let report = Report::new(&checked, Detail::Evidence);
//! assert_eq!(report.levels[0].findings[0].occurrences[0].headline, "T2 read x=1 from T1, which aborted.");
//! assert!(full::render(&report, &Plain).contains("✗ read-committed is violated"));
//! ```
//!
//! This crate does no IO but to quote the input, sees no clock, and knows no terminal, command line or exit code.

mod build;
mod checked;
pub mod concise;
mod definitions;
pub mod elle;
mod evidence;
pub mod full;
pub mod json;
pub mod junit;
mod model;
mod problem;
pub mod snippet;
mod style;
pub mod words;

pub use checked::{Certified, Checked, Figures, Judged, Limits, Settings, Staged, TimeLimit};
pub use definitions::{
    AxiomText, CoreResult, DefinitionAnswer, DefinitionResult, JudgedDefinition, SameText, WitnessResult,
    WrongReadResult, full_name,
};
pub use elle::{Elle, open_without_sessions};
pub use model::{
    Action, Alternative, Clause, Decided, Detail, Edge, Finding, LevelResult, Mark, Occurrence, Operation,
    Proof, Range, Reached, Reason, Refuted, Report, Section, Seen, Split, Stage, Transaction, Trouble, Value,
    Why, Word, World,
};
pub use problem::ProblemJson;
pub use style::{Plain, Role, Style};

/// The result for one file: a report, or the reason why the file could not be read.
pub type Outcome<'a> = Result<&'a Report, &'a isoscope_formats::Failure>;

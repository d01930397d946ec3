//! Findings in words: what happened, why no order explains it, and which operations show it.
//!
//! ```
//! use isoscope_certificate::{Evidence, Instance};
//! use isoscope_explain::Teller;
//! use isoscope_history::{Op, notation};
//! use isoscope_levels::Anomaly;
//!
//! let history = notation::parse("T1!: w(x,1)  T2: r(x,1)").unwrap();
//! let evidence = Evidence::Read { read: Op(1), write: Some(Op(0)) };
//! let story = Teller::new(&history).story(Anomaly::AbortedRead, &Instance { evidence, component: None });
//! assert_eq!(story.headline, "T2 read x=1 from T1, which aborted.");
//! ```
//!
//! A story is built only from the evidence, so it is as correct as the certificate: it names no transaction,
//! key or value that is not part of the evidence. Transactions have the names of the input. Long texts are
//! shortened; the evidence never is.
//!
//! This crate does no IO, prints nothing, sees no clock and knows no terminal.

mod cases;
mod clause;
mod cycle;
mod headline;
mod story;
mod words;
mod worlds;

pub use cases::{Line, Outline, Passed};
pub use story::{Clause, Pointer, Story, Teller};
pub use words::{count, visible};

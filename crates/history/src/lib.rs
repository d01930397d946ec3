//! Histories of transactions: the data model that every part of isoscope shares.
//!
//! A [`History`] consists of sessions of transactions of operations, stored as flat columns under dense ids.
//! It is made from a [`Draft`] (used by file readers), from a [`Builder`] (used by programs), or from the
//! one-line [`notation`]. A finished history is immutable.
//!
//! ```
//! use isoscope_history::notation;
//!
//! let history = notation::parse("T1: w(x,1)  T2: r(x,1) w(x,2) ; T3: r(x,1)").unwrap();
//! assert_eq!((history.session_count(), history.txn_count(), history.op_count()), (2, 3, 4));
//! ```
//!
//! This crate does no IO, prints nothing and does not read the clock.

mod builder;
mod draft;
mod edit;
mod fingerprint;
mod history;
mod ids;
mod index;
mod late;
pub mod notation;
mod ranges;
mod source;
mod stats;
mod tombstones;
mod value;

pub use builder::{Builder, IntoValue, SessionBuilder, TxnBuilder};
pub use draft::{Draft, DraftTxn, Limit, RawOp};
pub use edit::Edit;
pub use history::{Annotation, History, Intervals, NO_EVENT, NO_TIME, OpKind, OpView, Outcome, RangeRow};
pub use ids::{Key, Op, Session, Txn};
pub use source::{Position, SourceFile, Sources};
pub use stats::{Concurrency, Stats};
pub use value::{Datum, Remap, Value, Values};

//! Runs an application again, in memory, with a chosen writer for every read.
//!
//! ```text
//! calls, in some order ──> Store::run ──> Application ── operations ──> keyed.rs ── read of a key ──> Choose: which writer?
//!                             │                                             │                           │
//!                             │                                             └──── content <── Judge: is this legal?
//!                             └──> what happened, as a History
//! ```
//!
//! A [`Store`] runs one transaction at a time. Any committed writer of a key may answer a read, or the initial state, if the
//! history so far then satisfies the isolation level: the store checks this before it answers. It is a multi-version store that
//! shows every behaviour that the level permits for the order in which the transactions run, not only those of one
//! implementation of the level.
//!
//! Three policies choose the writers. [`Told`] follows a prediction, to validate it. [`Latest`] takes the newest version: the
//! run is serial. [`RandomLegal`] takes any legal version; it is the baseline of weak random testing (`MonkeyDB`, OOPSLA 2021).
//!
//! A run that fails is a [`Trouble`], never a history: a writer that did not write the key, a choice that the level forbids, a
//! panic of the application, an undecided level, a run without a committed transaction.
//!
//! This crate does no IO, prints nothing and sees no clock.

mod content;
mod judge;
mod keyed;
mod order;
mod policy;
mod record;
mod store;
mod tables;
mod trouble;

pub use content::{Content, Operation, Origin, Source};
pub use policy::{Asked, Choose, Latest, RandomLegal, Told};
pub use store::{End, Ran, Store};
pub use trouble::Trouble;

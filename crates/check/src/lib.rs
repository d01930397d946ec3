//! Which isolation levels does a history satisfy? Verdicts that prove themselves.
//!
//! This crate does no IO, prints nothing and sees no clock.

mod certificate;
mod checker;
mod verify;
mod axiom;
mod cycles;
mod analysis;
mod trace;
mod decide;
mod repair;
mod resolve;
mod schedule;

pub use certificate::{
    Against, Edge, Evidence, Finding, Instance, Judgement, Node, Seen, Unknown, Verdict, Why,
};
pub use checker::{Checker, Options};
pub use verify::{Refutation, verify};

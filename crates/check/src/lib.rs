//! Which isolation levels does a history satisfy? Verdicts that prove themselves.
//!
//! This crate does no IO, prints nothing and sees no clock.

mod analysis;
mod axiom;
mod certificate;
mod checker;
mod cycles;
mod decide;
mod repair;
mod resolve;
mod schedule;
mod trace;
mod verify;

pub use certificate::{
    Against, Edge, Evidence, Finding, Instance, Judgement, Node, Seen, Unknown, Verdict, Why,
};
pub use checker::{Checker, Options};
pub use verify::{Refutation, verify};

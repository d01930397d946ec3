//! Applications whose transactions are written once.
//!
//! ```text
//! Application ── tables, rules, transact(call, dice, operations) ──> dyn Operations
//!                                                                        ├─ SQL on a database      (isoscope-record)
//!                                                                        ├─ a store that is told   (isoscope-replay)
//!                                                                        └─ given values           (isoscope-replay)
//! ```
//!
//! An [`Application`] has tables with initial rows, transactions, and consistency rules that every serializable execution
//! preserves. Its transactions use [`Operations`], a small interface of typed statements. The keys of a history follow from
//! the statements alone (`schema.rs`).
//!
//! This crate does no IO, prints nothing and sees no clock. Random choices come from the dice of [`Call::dice`].

mod application;
mod bank;
mod field;
mod operations;
mod rebuild;
mod schema;
mod select;
mod smallbank;
mod tpcc;
mod voter;
mod wikipedia;

pub use application::{Application, Books, Call, Hotspot, SpecError, Tables};
pub use bank::{Bank, BankSpec};
pub use field::{Field, Row};
pub use operations::{Operations, Stopped};
pub use rebuild::{names, rebuild};
pub use schema::{Column, Contents, Index, Kind, Table};
pub use select::{Direction, Select};
pub use smallbank::{SmallBank, SmallBankSpec};
pub use tpcc::{Tpcc, TpccSpec};
pub use voter::{Voter, VoterSpec};
pub use wikipedia::{Wikipedia, WikipediaSpec};

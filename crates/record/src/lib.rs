//! Recording: runs a workload against a database and writes a history of what every client observed.
//!
//! ```text
//! Target (a URL) ──> Database ──> Connection, one per session ─┐
//! plans from a seed ────────────> Client, one per session ─────┴─> run ──> Sink ──> history, log
//! ```
//!
//! A [`Database`] opens [`Connection`]s at one of its isolation levels. A [`Client`] is one session: it runs one transaction
//! after another on its connection and adds its statements and their answers to a [`Record`]. [`run()`] runs all clients
//! concurrently, decides the outcome of each transaction, and streams the records to the [`Sink`].
//!
//! The seed alone determines the statements of a client, apart from the answers inside the same transaction. They never
//! depend on the clock or on other sessions.

mod client;
mod database;
mod fault;
pub mod hermitage;
mod isolation;
mod keyvalue;
mod line;
mod monitor;
mod record;
mod recording;
mod run;
mod scratch;
pub mod script;
mod server;
mod session;
mod sink;
mod target;
pub mod workload;

pub use isoscope_log as log;

pub use client::Client;
pub use database::{
    Answer, Class, Connection, ConnectionId, Control, Database, Failure, Scalar, Stamps, Statement, Vendor,
};
pub use fault::{Fault, FaultKind};
pub use isolation::{
    Isolation, Source, UnknownIsolation, default_isolation, isolation, isolations, under_setting,
};
pub use keyvalue::{
    Bug, BugKind, KeyValue, KeyValueClient, Kind, MemoryStore, Plan, PlanError, PlanSpec, Tables,
};
pub use line::{Header, write_header};
pub use monitor::{Figures, Monitor};
pub use record::{Event, Record, Seen, Step};
pub use recording::{Promise, Recording, Subject, Summary, Trouble, Workload};
pub use run::{Limits, run};
pub use server::{Server, ServerError, ServerKind};
pub use session::Session;
pub use sink::{Lane, Lines, Output, Sink};
pub use target::{Address, File, Host, Memory, OpenError, Options, Params, Target, TargetError};

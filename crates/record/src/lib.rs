//! Recording: drives a workload against a database and writes down what every client saw.
//!
//! ```text
//! Target (a URL) ──> Database ──> Connection, one a session ─┐
//! plans from a seed ────────────> Client, one a session ─────┴─> run ──> Sink ──> history, log
//! ```
//!
//! A [`Database`] hands out [`Connection`]s at an isolation level it knows by its own name. A [`Client`] is one session:
//! it runs transaction after transaction over its connection and notes in a [`Record`] what it asked and what it was
//! answered. [`run()`] lets all clients run side by side, decides how each transaction ended, and streams records
//! to the [`Sink`].
//!
//! What a client does depends on the seed alone, never on the clock or on other sessions; what it is answered is the
//! database's affair.

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
pub use sink::{Lane, Lines, Output, Sink};
pub use target::{Address, File, Host, Memory, OpenError, Options, Params, Target, TargetError};

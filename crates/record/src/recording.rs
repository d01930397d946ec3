//! A complete recording: creates the tables, runs the sessions, injects faults, checks the application's invariants, and
//! cleans up.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use isoscope_levels::Level;
use serde_json::json;

use crate::client::Client;
use crate::database::{Database, Failure, Scalar, Vendor};
use crate::fault::{Fault, FaultKind, Victim};
use crate::isolation::Isolation;
use crate::keyvalue::{Bug, KeyValueClient, Kind, MemoryStore, Plan, Tables};
use crate::line::{self, Header};
use crate::log::{self, LogHeader};
use crate::monitor::Monitor;
use crate::record::Record;
use crate::run::{Limits, run};
use crate::server::{Server, ServerError};
use crate::sink::{Output, Sink};
use crate::workload::{self, Application};

/// The database to record from.
pub enum Subject {
    /// An SQL database.
    Database(Arc<dyn Database>),
    /// The in-memory store, at one of its levels, with injected bugs.
    Memory(Level, Vec<Bug>),
}

/// The workload to run.
pub enum Workload {
    /// A key-value workload.
    KeyValue(Plan),
    /// An application.
    Application(Arc<dyn Application>),
}

/// A recording; see the module.
pub struct Recording {
    /// The database.
    pub subject: Subject,
    /// The workload.
    pub workload: Workload,
    /// The number of sessions.
    pub sessions: u32,
    /// The seed that determines all statements.
    pub seed: u64,
    /// How long to run.
    pub limits: Limits,
    /// The faults to inject.
    pub faults: Vec<Fault>,
    /// The server, if isoscope started it.
    pub server: Option<Server>,
    /// Whether to keep the tables at the end.
    pub keep_tables: bool,
}

/// The level that a database promises for a recording, and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The level of the catalogue.
    pub level: Level,
    /// The row it comes from; `None` for the in-memory store.
    pub isolation: Option<&'static Isolation>,
}

/// The result of a recording.
#[derive(Debug)]
pub struct Summary {
    /// How long the sessions ran.
    pub elapsed: Duration,
    /// The violated invariants of the application, one sentence each.
    pub broken: Vec<String>,
    /// How often each fault was injected.
    pub strikes: Vec<(FaultKind, u64)>,
    /// The errors. What was recorded before them is in the files.
    pub trouble: Vec<Trouble>,
}

/// An error of a recording.
#[derive(Debug)]
pub enum Trouble {
    /// The database failed before the sessions began.
    Setup(Failure),
    /// A session met a failure that a retry cannot resolve.
    Run(Failure),
    /// A fault could not be injected.
    Fault(ServerError),
    /// A file could not be written.
    Output(io::Error),
    /// The invariants could not be checked, or the tables not removed.
    End(Failure),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Setup(failure) => write!(f, "cannot prepare the database: {failure}"),
            Trouble::Run(failure) => write!(f, "the run ended early: {failure}"),
            Trouble::Fault(error) => write!(f, "cannot inject a fault: {error}"),
            Trouble::Output(error) => write!(f, "cannot write the recording: {error}"),
            Trouble::End(failure) => write!(f, "cannot clean up: {failure}"),
        }
    }
}

impl std::error::Error for Trouble {}

impl Recording {
    /// The level that the database's documentation promises for this workload.
    pub fn promise(&self) -> Option<Promise> {
        let isolation = match &self.subject {
            Subject::Memory(level, _) => return Some(Promise { level: *level, isolation: None }),
            Subject::Database(database) => database.isolation()?,
        };
        let level = match &self.workload {
            Workload::KeyValue(plan) if plan.spec.kind == Kind::Scan => isolation.rows,
            Workload::KeyValue(plan) if plan.spec.kind.is_list() => isolation.computed,
            Workload::Application(application) if application.itself().has_living_rows() => isolation.rows,
            _ => isolation.registers,
        };
        Some(Promise { level, isolation: Some(isolation) })
    }

    /// Product and version of the database.
    pub fn version(&self) -> &str {
        match &self.subject {
            Subject::Database(database) => database.version(),
            Subject::Memory(..) => Vendor::Memory.name(),
        }
    }

    /// The isolation level by the database's own name.
    pub fn isolation(&self) -> &str {
        match &self.subject {
            Subject::Database(database) => database.isolation().map_or("", |isolation| isolation.name),
            Subject::Memory(level, _) => level.name(),
        }
    }

    /// The name of the workload.
    pub fn workload_name(&self) -> &'static str {
        match &self.workload {
            Workload::KeyValue(plan) => plan.spec.kind.name(),
            Workload::Application(application) => application.name(),
        }
    }

    /// Records. `monitor` must have one slot per session, and can stop the run.
    pub fn run(&mut self, history: Output, log: Option<Output>, monitor: &Monitor) -> Summary {
        let mut summary =
            Summary { elapsed: Duration::ZERO, broken: Vec::new(), strikes: Vec::new(), trouble: Vec::new() };
        let sink = Sink::new(Some(history), log);
        let mut server = self.server.take();
        match self.prepare(&sink) {
            Ok(clients) => {
                let began = Instant::now();
                self.drive(clients, server.as_mut(), &sink, monitor, &mut summary);
                summary.elapsed = began.elapsed();
            }
            Err(failure) => summary.trouble.push(Trouble::Setup(failure)),
        }
        self.server = server;
        self.clean_up(&mut summary);
        if let Err(error) = sink.finish() {
            summary.trouble.push(Trouble::Output(error));
        }
        summary
    }

    /// Creates the tables, connects the sessions, and writes the headers.
    fn prepare(&self, sink: &Sink) -> Result<Vec<Box<dyn Client + '_>>, Failure> {
        let mut load = Record::new(sink.has_log());
        match (&self.subject, &self.workload) {
            (Subject::Database(database), Workload::KeyValue(plan)) => {
                Tables::create(database.as_ref(), plan, &mut load)?;
            }
            (Subject::Database(database), Workload::Application(application)) => {
                application.load(database.vendor(), database.connect()?.as_mut(), &mut load)?;
            }
            (Subject::Memory(..), _) => {}
        }
        // Nothing is written before everything that may refuse the recording.
        let clients = self.clients()?;
        sink.begin(|lines| {
            line::write_header_with(&mut lines.history, &self.header(), &self.other_initials());
            if sink.has_log() {
                log::write_header(&mut lines.log, &self.log_header());
                log::write_load(&mut lines.log, sink.epoch(), &load.events);
            }
        });
        Ok(clients)
    }

    fn clients(&self) -> Result<Vec<Box<dyn Client + '_>>, Failure> {
        let sessions = 0..self.sessions;
        match (&self.subject, &self.workload) {
            (Subject::Database(database), Workload::KeyValue(plan)) => sessions
                .map(|session| {
                    let tables = Box::new(Tables::connect(database.as_ref())?);
                    Ok(Box::new(KeyValueClient::new(plan, session, tables)) as Box<dyn Client>)
                })
                .collect(),
            (Subject::Database(database), Workload::Application(application)) => sessions
                .map(|session| -> Result<Box<dyn Client>, Failure> {
                    workload::client(application, session, self.seed, database)
                })
                .collect(),
            (Subject::Memory(level, bugs), Workload::KeyValue(plan)) => {
                let store = MemoryStore::new(*level, bugs.clone(), plan);
                let client = |session| {
                    let store = Box::new(store.session(session));
                    Ok(Box::new(KeyValueClient::new(plan, session, store)) as Box<dyn Client>)
                };
                sessions.map(client).collect()
            }
            (Subject::Memory(..), Workload::Application(application)) => Err(Failure {
                class: crate::Class::Other,
                code: None,
                message: format!(
                    "{} does not support SQL, which the workload {} needs",
                    Vendor::Memory,
                    application.name()
                ),
            }),
        }
    }

    /// Runs the sessions and injects faults at the same time.
    fn drive(
        &self,
        clients: Vec<Box<dyn Client + '_>>,
        server: Option<&mut Server>,
        sink: &Sink,
        monitor: &Monitor,
        summary: &mut Summary,
    ) {
        let over = AtomicBool::new(false);
        let control = || match &self.subject {
            Subject::Database(database) => database.control(),
            Subject::Memory(..) => Ok(None),
        };
        let mut victim = Victim { control: &control, server, monitor };
        thread::scope(|scope| {
            let harassed = (!self.faults.is_empty()).then(|| {
                let over = &over;
                let victim = &mut victim;
                scope.spawn(move || victim.harass(&self.faults, self.seed, &|| over.load(Ordering::Relaxed)))
            });
            if let Err(failure) = run(clients, &self.limits, sink, monitor) {
                summary.trouble.push(Trouble::Run(failure));
            }
            over.store(true, Ordering::Relaxed);
            match harassed.map(thread::ScopedJoinHandle::join) {
                Some(Ok(Ok(strikes))) => {
                    let kinds = self.faults.iter().map(|fault| fault.kind);
                    summary.strikes = kinds.zip(strikes).collect();
                }
                Some(Ok(Err(error))) => summary.trouble.push(Trouble::Fault(error)),
                Some(Err(_)) | None => {}
            }
        });
    }

    /// Checks the invariants and removes the tables.
    fn clean_up(&self, summary: &mut Summary) {
        let Subject::Database(database) = &self.subject else { return };
        if summary.trouble.iter().any(|trouble| matches!(trouble, Trouble::Setup(_))) {
            return;
        }
        let mut end = || -> Result<(), Failure> {
            match &self.workload {
                Workload::Application(application) => {
                    let mut connection = database.connect()?;
                    summary.broken = application.invariant(connection.as_mut())?;
                    if !self.keep_tables {
                        application.drop_tables(connection.as_mut())?;
                    }
                }
                Workload::KeyValue(_) if self.keep_tables => {}
                Workload::KeyValue(_) => Tables::remove(database.as_ref())?,
            }
            Ok(())
        };
        if let Err(failure) = end() {
            summary.trouble.push(Trouble::End(failure));
        }
    }

    fn header(&self) -> Header {
        let (initial, initials): (Option<i64>, Vec<(Scalar, i64)>) = match &self.workload {
            Workload::KeyValue(plan) => (plan.spec.kind.initial(), Vec::new()),
            Workload::Application(application) => (None, application.initials()),
        };
        Header {
            initial,
            initials,
            workload: json!({ "name": self.workload_name(), "sessions": self.sessions, "seed": self.seed }),
            recorder: json!({
                "isoscope": env!("CARGO_PKG_VERSION"),
                "database": self.version(),
                "isolation": self.isolation(),
            }),
        }
    }

    /// The keys whose initial value is not an integer.
    fn other_initials(&self) -> Vec<(Scalar, Scalar)> {
        match &self.workload {
            Workload::KeyValue(_) => Vec::new(),
            Workload::Application(application) => application.other_initials(),
        }
    }

    fn log_header(&self) -> LogHeader {
        let vendor = match &self.subject {
            Subject::Database(database) => database.vendor(),
            Subject::Memory(..) => Vendor::Memory,
        };
        LogHeader {
            database: self.version().to_owned(),
            vendor,
            isolation: self.isolation().to_owned(),
            workload: self.workload_name().to_owned(),
            parameters: match &self.workload {
                Workload::KeyValue(_) => None,
                Workload::Application(application) => Some(application.itself().parameters()),
            },
            sessions: Some(self.sessions),
            seed: Some(self.seed),
            schema: match &self.workload {
                Workload::KeyValue(plan) => vec![Tables::schema(vendor, plan.spec.kind)],
                Workload::Application(application) => application.schema(vendor),
            },
        }
    }
}

//! Records from a custom connection and checks the recorded history.
//!
//! To record a database with SQL, implement `record::Database` and `record::Connection`. For a store that
//! keeps values under keys, as here, `record::KeyValue` is enough.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isoscope::record::{
    Client, ConnectionId, Failure, Header, KeyValue, KeyValueClient, Kind, Limits, Monitor, Plan, PlanSpec,
    Record, Scalar, Seen, Sink, Stamps, Step, run, write_header,
};
use isoscope::{Check, Level, Report, Word};

/// The store. Every write is visible immediately, so it provides no isolation.
#[derive(Clone, Default)]
struct Store(Arc<Mutex<BTreeMap<String, i64>>>);

/// A connection to it.
struct Session(Store);

impl Session {
    fn values(&self) -> MutexGuard<'_, BTreeMap<String, i64>> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name(key: &Scalar) -> String {
    format!("{key:?}")
}

impl KeyValue for Session {
    fn connection(&self) -> Option<ConnectionId> {
        None
    }

    fn begin(&mut self, _: &[Step], _: &mut Record) -> Result<(), Failure> {
        Ok(())
    }

    fn run(&mut self, step: &Step, _: &mut Record) -> Result<Seen, Failure> {
        match step {
            Step::Read(key) => Ok(Seen::Value(Some(self.values().get(&name(key)).copied().unwrap_or(0)))),
            Step::Write(key, value) => {
                self.values().insert(name(key), *value);
                Ok(Seen::Done)
            }
            // The plan below has reads and writes only.
            _ => Ok(Seen::Missed),
        }
    }

    fn commit(&mut self) -> Result<Stamps, Failure> {
        Ok(Stamps::default())
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn reconnect(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// A file in memory.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn check() -> Result<Report, Box<dyn Error>> {
    let spec = PlanSpec { kind: Kind::Register, sessions: 4, keys: 5, ..PlanSpec::default() };
    let plan = Plan::new(spec)?;
    let page = Page::default();
    let sink = Sink::new(Some(Box::new(page.clone())), None);
    let (workload, recorder) = ("register".into(), "a store of our own".into());
    let header = Header { initial: Some(0), initials: Vec::new(), workload, recorder };
    sink.begin(|lines| write_header(&mut lines.history, &header));
    let store = Store::default();
    let client = |session| -> Box<dyn Client + '_> {
        Box::new(KeyValueClient::new(&plan, session, Box::new(Session(store.clone()))))
    };
    let limits = Limits { txns: Some(50), ..Limits::default() };
    run((0..4).map(client).collect(), &limits, &sink, &Monitor::new(4))?;
    sink.finish()?;
    let text = String::from_utf8(page.0.lock().unwrap_or_else(PoisonError::into_inner).clone())?;
    let history = isoscope::read_text("recorded", &text)?;
    Ok(Check::new(&history).levels([Level::CutIsolation, Level::Serializable]).run())
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let report = check()?;
    println!("{} transactions: {}", report.transactions, report.verdict);
    for anomaly in report.anomalies() {
        println!("{anomaly}");
    }
    assert_ne!(report.verdict, Word::Unknown);
    Ok(())
}

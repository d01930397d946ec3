//! Probes of SQLite, and of a database whose transactions are none.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use isoscope_levels::Level;
use isoscope_probe::{Unwatched, Watch, exhaustive, history, probe};
use isoscope_record::{
    Answer, Connection, ConnectionId, Control, Database, Failure, Isolation, Stamps, Statement, Target,
    Vendor, script,
};
use support::{assert_script_repeats, probed, programs, weakest};

fn sqlite(url: &str) -> Box<dyn Database> {
    let target = Target::parse(url).expect("a URL");
    match target.open(None, &script::connection_limits(Vendor::Sqlite)) {
        Ok(database) => database,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn sqlite_keeps_more_than_its_promise() {
    for url in ["sqlite:", "sqlite:?journal=delete", "sqlite:?transactions=immediate"] {
        let database = sqlite(url);
        let findings = probed(database.as_ref(), &programs());
        assert_eq!(findings.strongest_kept(), [Level::StrictSerializable], "{url}");
        assert_eq!(findings.violated(), []);
        assert_eq!((findings.waited, findings.lost), (0, 0));
        assert!(findings.failed > 100, "{} interleavings with conflicts", findings.failed);
        // The table is gone.
        let left = "SELECT COUNT(*) FROM sqlite_master WHERE name LIKE 'isoscope%'";
        let answer = database.connect().expect("a connection").execute(Statement::plain(left));
        assert_eq!(answer, Ok(Answer::Rows(vec![vec![0.into()]])));
    }
}

/// SQLite without transactions: each statement is one of its own.
struct Careless(Box<dyn Database>);

struct CarelessConnection(Box<dyn Connection>);

impl Database for Careless {
    fn vendor(&self) -> Vendor {
        self.0.vendor()
    }

    fn version(&self) -> &str {
        self.0.version()
    }

    fn isolation(&self) -> Option<&'static Isolation> {
        self.0.isolation()
    }

    fn connect(&self) -> Result<Box<dyn Connection>, Failure> {
        Ok(Box::new(CarelessConnection(self.0.connect()?)))
    }

    fn control(&self) -> Result<Option<Box<dyn Control>>, Failure> {
        self.0.control()
    }
}

impl Connection for CarelessConnection {
    fn id(&self) -> Option<ConnectionId> {
        self.0.id()
    }

    fn begin(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn execute(&mut self, statement: Statement<'_>) -> Result<Answer, Failure> {
        self.0.execute(statement)
    }

    fn commit(&mut self) -> Result<Stamps, Failure> {
        Ok(Stamps::default())
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

#[test]
fn a_database_without_transactions_is_found_out() {
    let database = Careless(sqlite("sqlite:"));
    let findings = probed(&database, &programs());
    // Reads of registers do not show in which order two values were written, so nothing can violate PL-1.
    assert_eq!(findings.strongest_kept(), [Level::AdyaPl1]);
    assert_eq!(weakest(&findings), [Level::CutIsolation, Level::AdyaPl2]);
    // Nothing waits or fails, so that all interleavings up to symmetry ran, and each once.
    assert_eq!((findings.waited, findings.failed, findings.lost), (0, 0, 0));
    let interleavings = |program: &isoscope_probe::Program| {
        isoscope_probe::interleavings::all(&program.steps(), program.symmetries()).len() as u64
    };
    assert_eq!(findings.interleavings, programs().iter().map(interleavings).sum::<u64>());
    let smallest = |level: Level| {
        let tally = findings.levels.iter().find(|tally| tally.level == level).expect("a tally");
        assert_script_repeats(&database, tally);
        let violation = tally.smallest.as_ref().expect("a violation");
        history(&violation.program, &violation.run, false)
    };
    assert_eq!(smallest(Level::AdyaPl2), "T1: r(x,1) r(x,1)  T2: w(x,1) w(x,2)  End: r(x,2)");
    assert_eq!(smallest(Level::CutIsolation), "T1: r(x,0) r(x,1)  T2: r(x,0) w(x,1)  End: r(x,1)");
    for tally in findings.levels.iter().filter(|tally| tally.violated > 0) {
        assert_script_repeats(&database, tally);
    }
}

struct After(u32);

impl Watch for After {
    fn stops(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 == 0
    }
}

#[test]
fn a_probe_that_is_stopped_says_so() {
    let database = sqlite("sqlite:");
    let programs = exhaustive(2, 2, 2);
    let stop = Arc::new(AtomicBool::new(false));
    let findings = probe(database.as_ref(), &programs, &[Level::Serializable], &stop, &mut After(51));
    let findings = findings.expect("findings");
    assert_eq!(findings.interleavings, 50);
    assert!(!findings.is_complete() && findings.programs < programs.len());
    assert!(!stop.load(Ordering::Relaxed));
}

/// SQLite that becomes slow, and sets the flag that stops the probe.
struct Slow {
    database: Box<dyn Database>,
    /// The statements until then.
    left: Arc<AtomicU32>,
    stop: Arc<AtomicBool>,
}

struct SlowConnection {
    connection: Box<dyn Connection>,
    left: Arc<AtomicU32>,
    stop: Arc<AtomicBool>,
}

impl Database for Slow {
    fn vendor(&self) -> Vendor {
        self.database.vendor()
    }

    fn version(&self) -> &str {
        self.database.version()
    }

    fn isolation(&self) -> Option<&'static Isolation> {
        self.database.isolation()
    }

    fn connect(&self) -> Result<Box<dyn Connection>, Failure> {
        let (left, stop) = (Arc::clone(&self.left), Arc::clone(&self.stop));
        Ok(Box::new(SlowConnection { connection: self.database.connect()?, left, stop }))
    }

    fn control(&self) -> Result<Option<Box<dyn Control>>, Failure> {
        self.database.control()
    }
}

impl Connection for SlowConnection {
    fn id(&self) -> Option<ConnectionId> {
        self.connection.id()
    }

    fn begin(&mut self) -> Result<(), Failure> {
        self.connection.begin()
    }

    fn execute(&mut self, statement: Statement<'_>) -> Result<Answer, Failure> {
        let one_less = |left: u32| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err() {
            self.stop.store(true, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(200));
        }
        self.connection.execute(statement)
    }

    fn commit(&mut self) -> Result<Stamps, Failure> {
        self.connection.commit()
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.connection.rollback()
    }
}

/// What was found before is not lost.
#[test]
fn a_probe_that_is_stopped_within_a_step_says_so() {
    let stop = Arc::new(AtomicBool::new(false));
    let left = Arc::new(AtomicU32::new(100));
    let database = Slow { database: sqlite("sqlite:"), left, stop: Arc::clone(&stop) };
    let programs = exhaustive(2, 2, 2);
    let findings = probe(&database, &programs, &[Level::Serializable], &stop, &mut Unwatched);
    let findings = findings.expect("findings");
    assert!(stop.load(Ordering::Relaxed));
    assert!(!findings.is_complete() && findings.interleavings > 5, "{}", findings.interleavings);
    assert_eq!(findings.strongest_kept(), [Level::Serializable]);
}

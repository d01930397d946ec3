//! Faults: what goes wrong in a data centre, made to happen while sessions run.
//!
//! Each fault strikes again and again, after a random time of about its interval. Connections are ended through the
//! database, at whatever point their transactions are; servers are stopped or crashed only if isoscope itself
//! started them.

use std::time::{Duration, Instant};

use isoscope_workload::Dice;

use crate::database::{Control, Failure, Vendor};
use crate::monitor::Monitor;
use crate::server::{Server, ServerError};

/// A fault and how often it strikes, about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happens.
    pub kind: FaultKind,
    /// How long it is between two strikes, on average.
    pub interval: Duration,
}

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A session's connection is ended.
    Kill,
    /// The server stops for a while, and goes on.
    Pause,
    /// The server crashes, and is started again.
    Restart,
}

impl FaultKind {
    /// All faults.
    pub const ALL: [FaultKind; 3] = [FaultKind::Kill, FaultKind::Pause, FaultKind::Restart];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            FaultKind::Kill => "kill",
            FaultKind::Pause => "pause",
            FaultKind::Restart => "restart",
        }
    }

    /// The faults that a database can have; `is_started` is whether isoscope started its server.
    pub const fn possible(vendor: Vendor, is_started: bool) -> &'static [FaultKind] {
        match vendor {
            Vendor::Sqlite | Vendor::Memory => &[],
            Vendor::Postgres | Vendor::MySql | Vendor::MariaDb if is_started => &FaultKind::ALL,
            Vendor::Postgres | Vendor::MySql | Vendor::MariaDb => &[FaultKind::Kill],
        }
    }
}

impl Fault {
    /// The fault of a name.
    pub fn parse(name: &str, interval: Duration) -> Result<Fault, String> {
        let kind = FaultKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            format!(
                "there is no fault `{name}`; there are {}",
                FaultKind::ALL.map(FaultKind::name).join(", ")
            )
        })?;
        Ok(Fault { kind, interval })
    }
}

/// How long a paused server stands still.
const PAUSE: Duration = Duration::from_millis(300);
/// How often to look whether the run is over.
const LOOK: Duration = Duration::from_millis(5);

/// What faults are done to.
pub(crate) struct Victim<'a> {
    /// Opens a connection that can end others.
    pub(crate) control: &'a (dyn Fn() -> Result<Option<Box<dyn Control>>, Failure> + Sync),
    /// The server, if isoscope started it.
    pub(crate) server: Option<&'a mut Server>,
    /// The sessions.
    pub(crate) monitor: &'a Monitor,
}

impl Victim<'_> {
    /// Makes faults happen until `is_over`. Returns how often each struck, in the order they were given.
    pub(crate) fn harass(
        &mut self,
        faults: &[Fault],
        seed: u64,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Vec<u64>, ServerError> {
        let mut dice = Dice::new(seed, "faults");
        let mut strikes = vec![0; faults.len()];
        let mut due: Vec<Instant> = faults.iter().map(|fault| soon(*fault, &mut dice)).collect();
        let mut control = None;
        while !is_over() {
            std::thread::sleep(LOOK);
            for (i, &fault) in faults.iter().enumerate() {
                if Instant::now() >= due[i] && !is_over() {
                    strikes[i] += u64::from(self.strike(fault.kind, &mut control, &mut dice)?);
                    due[i] = soon(fault, &mut dice);
                }
            }
        }
        Ok(strikes)
    }

    /// Whether there was anything to strike.
    fn strike(
        &mut self,
        kind: FaultKind,
        control: &mut Option<Box<dyn Control>>,
        dice: &mut Dice,
    ) -> Result<bool, ServerError> {
        match (kind, &mut self.server) {
            (FaultKind::Kill, _) => return Ok(self.kill(control, dice)),
            (FaultKind::Pause, Some(server)) => {
                server.pause()?;
                std::thread::sleep(PAUSE);
                server.resume()?;
            }
            (FaultKind::Restart, Some(server)) => {
                *control = None;
                server.restart()?;
            }
            (FaultKind::Pause | FaultKind::Restart, None) => return Ok(false),
        }
        Ok(true)
    }

    /// Ends the connection of some session, if it has one.
    fn kill(&self, control: &mut Option<Box<dyn Control>>, dice: &mut Dice) -> bool {
        let session = dice.below(self.monitor.sessions().max(1) as u32);
        let Some(connection) = self.monitor.connection(session as usize) else { return false };
        if control.is_none() {
            // A server that is down just now has nothing to kill either.
            *control = (self.control)().unwrap_or(None);
        }
        let killed = control.as_mut().is_some_and(|open| open.kill(connection).is_ok());
        if !killed {
            // The connection was gone already, or the one that was to end it is.
            *control = None;
        }
        killed
    }
}

/// When a fault strikes next: after half to one and a half of its interval.
fn soon(fault: Fault, dice: &mut Dice) -> Instant {
    Instant::now() + fault.interval.mul_f64(0.5 + dice.unit())
}

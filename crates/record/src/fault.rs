//! Fault injection while sessions run: killed connections, paused and crashed servers.
//!
//! Each fault recurs after a random time around its interval. Connections are killed through the database, at any point
//! of their transactions. Servers are paused or crashed only if isoscope itself started them.

use std::time::{Duration, Instant};

use isoscope_workload::Dice;

use crate::database::{Control, Failure, Vendor};
use crate::monitor::Monitor;
use crate::server::{Server, ServerError};

/// A fault and how often to inject it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// The average time between two injections.
    pub interval: Duration,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The connection of a session is killed.
    Kill,
    /// The server is paused for a while.
    Pause,
    /// The server crashes and is restarted.
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

    /// The faults that can be injected into a database; `is_started` is whether isoscope started its server.
    pub const fn possible(vendor: Vendor, is_started: bool) -> &'static [FaultKind] {
        match vendor {
            Vendor::Sqlite | Vendor::Memory => &[],
            Vendor::Postgres | Vendor::MySql | Vendor::MariaDb if is_started => &FaultKind::ALL,
            Vendor::Postgres | Vendor::MySql | Vendor::MariaDb => &[FaultKind::Kill],
        }
    }
}

impl Fault {
    /// The fault with this name.
    pub fn parse(name: &str, interval: Duration) -> Result<Fault, String> {
        let kind = FaultKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            format!(
                "unknown fault `{name}`; the faults are {}",
                FaultKind::ALL.map(FaultKind::name).join(", ")
            )
        })?;
        Ok(Fault { kind, interval })
    }
}

/// How long a server is paused.
const PAUSE: Duration = Duration::from_millis(300);
/// How often to check whether the run is over.
const LOOK: Duration = Duration::from_millis(5);

/// The target of faults.
pub(crate) struct Victim<'a> {
    /// Opens a connection that can kill others.
    pub(crate) control: &'a (dyn Fn() -> Result<Option<Box<dyn Control>>, Failure> + Sync),
    /// The server, if isoscope started it.
    pub(crate) server: Option<&'a mut Server>,
    /// The sessions.
    pub(crate) monitor: &'a Monitor,
}

impl Victim<'_> {
    /// Injects faults until `is_over`. Returns the number of injections of each fault, in the order of `faults`.
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

    /// Injects a fault. Returns false if there was no target for it.
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

    /// Kills the connection of a random session, if it has one.
    fn kill(&self, control: &mut Option<Box<dyn Control>>, dice: &mut Dice) -> bool {
        let session = dice.below(self.monitor.sessions().max(1) as u32);
        let Some(connection) = self.monitor.connection(session as usize) else { return false };
        if control.is_none() {
            // If the server is down, there is no connection to kill.
            *control = (self.control)().unwrap_or(None);
        }
        let killed = control.as_mut().is_some_and(|open| open.kill(connection).is_ok());
        if !killed {
            // Either the victim or the control connection was already lost. Reconnect the latter next time.
            *control = None;
        }
        killed
    }
}

/// The time of the next injection: after 0.5 to 1.5 times the interval.
fn soon(fault: Fault, dice: &mut Dice) -> Instant {
    Instant::now() + fault.interval.mul_f64(0.5 + dice.unit())
}

//! The onlooker of a check: it has the clock and the memory figures that the engines do not see.
//!
//! Engines ask very often whether a limit has been reached. So a thread of its own looks every 20 ms and leaves the
//! answer in one byte; without a limit there is no thread. Time is put to the stages that engines report: a stage
//! took as long as it is since the one before it ended, or since the level was asked for.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use isoscope_check::{Limit, Stage, Watch};
use isoscope_levels::Level;

use crate::terminal::Terminal;
use crate::words::count;

/// How often the clock and the memory are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// What a check may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) time: Option<Duration>,
    /// Bytes resident in memory, of the whole process.
    pub(crate) memory: Option<u64>,
}

/// A stage that has ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Staged {
    pub(crate) level: Level,
    pub(crate) name: &'static str,
    pub(crate) seconds: f64,
    pub(crate) figures: Vec<(&'static str, u64)>,
}

/// An onlooker; see the module.
pub(crate) struct Onlooker<'t> {
    reached: Arc<AtomicU8>,
    stages: Mutex<Stages>,
    lookout: Option<Lookout>,
    terminal: &'t Terminal,
    bar: ProgressBar,
}

struct Stages {
    since: Instant,
    ended: Vec<Staged>,
}

/// The thread, and the flag that ends it.
struct Lookout {
    done: Arc<(Mutex<bool>, Condvar)>,
    thread: JoinHandle<()>,
}

impl<'t> Onlooker<'t> {
    /// Time runs from now on. What `--verbose` asks for is said around the progress bar.
    pub(crate) fn new(limits: Limits, terminal: &'t Terminal, bar: ProgressBar) -> Onlooker<'t> {
        let reached = Arc::new(AtomicU8::new(0));
        let now = Instant::now();
        let stages = Mutex::new(Stages { since: now, ended: Vec::new() });
        if limits.memory.is_some() && resident().is_none() {
            terminal.warning("the memory in use cannot be measured on this system: --memory has no effect");
        }
        let lookout =
            (limits != Limits::default()).then(|| Lookout::start(limits, now, Arc::clone(&reached)));
        Onlooker { reached, stages, lookout: lookout.flatten(), terminal, bar }
    }

    /// A level is asked for.
    pub(crate) fn begin(&self) {
        self.stages().since = Instant::now();
    }

    /// The stages that have ended since this was last asked.
    pub(crate) fn take_stages(&self) -> Vec<Staged> {
        std::mem::take(&mut self.stages().ended)
    }

    fn stages(&self) -> MutexGuard<'_, Stages> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Onlooker<'_> {
    fn limit(&self) -> Option<Limit> {
        match self.reached.load(Ordering::Relaxed) {
            0 => None,
            TIME => Some(Limit::Time),
            _ => Some(Limit::Memory),
        }
    }

    fn stage(&self, level: Level, stage: &Stage) {
        let mut stages = self.stages();
        let now = Instant::now();
        let seconds = now.duration_since(stages.since).as_secs_f64();
        stages.since = now;
        let staged = Staged { level, name: stage.name, seconds, figures: stage.figures.clone() };
        let line = said(&staged);
        stages.ended.push(staged);
        drop(stages);
        self.bar.suspend(|| self.terminal.detail(&line));
    }
}

impl Drop for Onlooker<'_> {
    fn drop(&mut self) {
        let Some(Lookout { done, thread }) = self.lookout.take() else { return };
        *done.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        done.1.notify_all();
        // It cannot have panicked, and if it had there would be nothing to do about it here.
        let _ = thread.join();
    }
}

const TIME: u8 = 1;
const MEMORY: u8 = 2;

impl Lookout {
    /// Looks once, so that a limit that is too small is seen before any work is done, and then again and again. A
    /// system that gives no thread gives no limits either.
    fn start(limits: Limits, since: Instant, reached: Arc<AtomicU8>) -> Option<Lookout> {
        reached.store(look(limits, since), Ordering::Relaxed);
        let done = Arc::new((Mutex::new(false), Condvar::new()));
        let ended = Arc::clone(&done);
        let watch = move || {
            let mut over = ended.0.lock().unwrap_or_else(PoisonError::into_inner);
            while !*over && reached.load(Ordering::Relaxed) == 0 {
                (over, _) = ended.1.wait_timeout(over, LOOK).unwrap_or_else(PoisonError::into_inner);
                reached.store(look(limits, since), Ordering::Relaxed);
            }
        };
        let thread = std::thread::Builder::new().name("limits".to_owned()).spawn(watch).ok()?;
        Some(Lookout { done, thread })
    }
}

/// The limit that has been reached; 0 if none has.
fn look(limits: Limits, since: Instant) -> u8 {
    if limits.time.is_some_and(|limit| since.elapsed() >= limit) {
        TIME
    } else if limits.memory.is_some_and(|limit| resident().is_some_and(|bytes| bytes > limit)) {
        MEMORY
    } else {
        0
    }
}

/// How many bytes of this process are in memory. Linux tells, in kibibytes, whatever the size of its pages.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// `serializable: saturate in 0.120 s: 1,234 edges, 3 rounds`.
fn said(staged: &Staged) -> String {
    let Staged { level, name, seconds, figures } = staged;
    let figure = |&(name, n): &(&'static str, u64)| match n {
        1 => format!("1 {}", name.strip_suffix('s').unwrap_or(name)),
        n => format!("{} {name}", count(n)),
    };
    let figures: Vec<String> = figures.iter().map(figure).collect();
    let figures = if figures.is_empty() { String::new() } else { format!(": {}", figures.join(", ")) };
    format!("{level}: {name} in {seconds:.3} s{figures}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{ColorWhen, Global};

    fn with_limits(limits: Limits, test: impl FnOnce(&Onlooker<'_>)) {
        let terminal =
            Terminal::new(&Global { quiet: true, verbose: false, color: ColorWhen::Never, threads: None });
        test(&Onlooker::new(limits, &terminal, ProgressBar::hidden()));
    }

    #[test]
    fn without_limits_there_is_no_thread() {
        with_limits(Limits::default(), |onlooker| {
            assert!(onlooker.lookout.is_none() && onlooker.limit().is_none());
        });
    }

    #[test]
    fn a_limit_that_is_reached_is_named() {
        let time = |time| Limits { time: Some(time), memory: None };
        with_limits(time(Duration::ZERO), |onlooker| assert_eq!(onlooker.limit(), Some(Limit::Time)));
        with_limits(time(Duration::from_secs(3600)), |onlooker| assert_eq!(onlooker.limit(), None));
        with_limits(time(Duration::from_millis(1)), |onlooker| {
            while onlooker.limit().is_none() {
                std::thread::yield_now();
            }
            assert_eq!(onlooker.limit(), Some(Limit::Time));
        });
        if resident().is_some() {
            let memory = |memory| Limits { time: None, memory: Some(memory) };
            with_limits(memory(1), |onlooker| assert_eq!(onlooker.limit(), Some(Limit::Memory)));
            with_limits(memory(u64::MAX), |onlooker| assert_eq!(onlooker.limit(), None));
        }
    }

    #[test]
    fn stages_are_kept_with_their_figures() {
        with_limits(Limits::default(), |onlooker| {
            let stage = Stage { name: "saturate", figures: vec![("edges", 1234), ("rounds", 3)] };
            onlooker.begin();
            onlooker.stage(Level::Snapshot, &stage);
            onlooker.stage(Level::Serializable, &Stage { name: "linearise", figures: Vec::new() });
            let stages = onlooker.take_stages();
            assert_eq!(stages.len(), 2);
            assert!(stages.iter().all(|stage| stage.seconds >= 0.0));
            assert_eq!(
                (stages[0].level, stages[0].figures.as_slice()),
                (Level::Snapshot, &stage.figures[..])
            );
            let timed = Staged { seconds: 0.12, ..stages[0].clone() };
            assert_eq!(said(&timed), "snapshot-isolation: saturate in 0.120 s: 1,234 edges, 3 rounds");
            let timed = Staged { seconds: 2.0, ..stages[1].clone() };
            assert_eq!(said(&timed), "serializable: linearise in 2.000 s");
            assert!(onlooker.take_stages().is_empty());
        });
    }
}

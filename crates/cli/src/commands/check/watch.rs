//! The onlooker of a check: it has the clock and the memory figures that the engines do not see.
//!
//! Engines ask very often whether a limit has been reached. So a thread of its own looks every 20 ms, or every 2 ms where memory is limited, and leaves
//! the answer in one byte. The same thread says, once a level, that a level takes long. Time is put to the stages that engines
//! report: a stage took as long as it is since the one before it ended, or since the level was asked for.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use isoscope_check::{Limit, Stage, Watch};
use isoscope_formats::Room;
use isoscope_levels::Level;

use crate::terminal::{self, Terminal};
use crate::words::{count, span};

/// How often the clock is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How often the memory is looked at, if it is limited: in this time a process fills a few megabytes.
const LOOK_AT_MEMORY: Duration = Duration::from_millis(2);
/// Fewer bytes than this are not asked about beforehand.
const LITTLE: u64 = 1 << 20;
/// How long a level may take before it is said that it does.
const LONG: Duration = Duration::from_secs(5);

/// What a check may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) time: Option<TimeLimit>,
    /// Bytes resident in memory, of the whole process.
    pub(crate) memory: Option<u64>,
}

/// How long a check may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeLimit {
    /// All levels of a history together.
    History(Duration),
    /// Each level by itself.
    Level(Duration),
}

impl TimeLimit {
    /// Unless the user sets another: long enough for nearly all histories, short enough to wait for.
    pub(crate) const DEFAULT: TimeLimit = TimeLimit::Level(Duration::from_secs(60));

    /// How long that is.
    pub(crate) fn duration(self) -> Duration {
        let (TimeLimit::History(time) | TimeLimit::Level(time)) = self;
        time
    }
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
    shared: Arc<Shared>,
    stages: Mutex<Stages>,
    thread: Option<JoinHandle<()>>,
    terminal: &'t Terminal,
    bar: ProgressBar,
}

struct Stages {
    since: Instant,
    ended: Vec<Staged>,
}

/// What the thread and the onlooker have in common.
struct Shared {
    limits: Limits,
    began: Instant,
    /// The limit that has been reached; 0 if none has. Written only with `asked` locked.
    reached: AtomicU8,
    asked: Mutex<Asked>,
    /// Wakes the thread when it is to end.
    ended: Condvar,
}

/// What is being decided.
struct Asked {
    /// `None` before the first level.
    level: Option<Level>,
    since: Instant,
    /// Whether to say nothing, or nothing more, about how long it takes.
    silent: bool,
    over: bool,
}

impl<'t> Onlooker<'t> {
    /// Time runs from now on. What is said is said around the progress bar.
    pub(crate) fn new(limits: Limits, terminal: &'t Terminal, bar: ProgressBar) -> Onlooker<'t> {
        let now = Instant::now();
        let stages = Mutex::new(Stages { since: now, ended: Vec::new() });
        if limits.memory.is_some() && resident().is_none() {
            terminal.warning("the memory in use cannot be measured on this system: --memory has no effect");
        }
        let silent = terminal.is_quiet();
        let asked = Mutex::new(Asked { level: None, since: now, silent, over: false });
        let (reached, ended) = (AtomicU8::new(0), Condvar::new());
        let shared = Arc::new(Shared { limits, began: now, reached, asked, ended });
        // A limit that is too small is seen before any work is done.
        shared.look(&mut shared.asked());
        let thread = (!silent || limits != Limits::default()).then(|| shared.start(bar.clone())).flatten();
        Onlooker { shared, stages, thread, terminal, bar }
    }

    /// A level is asked for.
    pub(crate) fn begin(&self, level: Level) {
        self.ask(level, self.terminal.is_quiet());
    }

    /// The same, and nothing is said about how long it takes.
    pub(crate) fn begin_silently(&self, level: Level) {
        self.ask(level, true);
    }

    fn ask(&self, level: Level, silent: bool) {
        let now = Instant::now();
        self.stages().since = now;
        let mut asked = self.shared.asked();
        (asked.level, asked.since, asked.silent) = (Some(level), now, silent);
        if let Some(TimeLimit::Level(_)) = self.shared.limits.time
            && self.limit() == Some(Limit::Time)
        {
            self.shared.reached.store(0, Ordering::Relaxed);
        }
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
        match self.shared.reached.load(Ordering::Relaxed) {
            0 => None,
            TIME => Some(Limit::Time),
            _ => Some(Limit::Memory),
        }
    }

    fn fits(&self, bytes: u64) -> bool {
        let shared = &self.shared;
        let large = |limit| resident().is_some_and(|resident| resident.saturating_add(bytes) > limit);
        // To ask about little costs more than it tells.
        let fits = bytes < LITTLE || !shared.limits.memory.is_some_and(large);
        if !fits {
            let _asked = shared.asked();
            shared.reached.store(MEMORY, Ordering::Relaxed);
        }
        fits
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
        let Some(thread) = self.thread.take() else { return };
        self.shared.asked().over = true;
        self.shared.ended.notify_all();
        // It cannot have panicked, and if it had there would be nothing to do about it here.
        let _ = thread.join();
    }
}

const TIME: u8 = 1;
const MEMORY: u8 = 2;

impl Shared {
    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread. A system that gives no thread gives no limits either.
    fn start(self: &Arc<Shared>, bar: ProgressBar) -> Option<JoinHandle<()>> {
        let shared = Arc::clone(self);
        let pause = if self.limits.memory.is_some() { LOOK_AT_MEMORY } else { LOOK };
        let watch = move || {
            let mut asked = shared.asked();
            while !asked.over {
                (asked, _) = shared.ended.wait_timeout(asked, pause).unwrap_or_else(PoisonError::into_inner);
                shared.look(&mut asked);
                if !asked.silent && !asked.over && asked.since.elapsed() >= LONG {
                    asked.silent = true;
                    let text = shared.hint(&asked);
                    bar.suspend(|| terminal::say_note(&text));
                }
            }
        };
        std::thread::Builder::new().name("limits".to_owned()).spawn(watch).ok()
    }

    /// Notes the limit that has been reached. A limit stays reached, but for that of a level, which ends with it.
    fn look(&self, asked: &mut Asked) {
        if self.reached.load(Ordering::Relaxed) != 0 {
            return;
        }
        let late = match self.limits.time {
            Some(TimeLimit::History(limit)) => self.began.elapsed() >= limit,
            Some(TimeLimit::Level(limit)) => asked.since.elapsed() >= limit,
            None => false,
        };
        let large = |limit| resident().is_some_and(|bytes| bytes > limit);
        if late {
            self.reached.store(TIME, Ordering::Relaxed);
        } else if self.limits.memory.is_some_and(large) {
            self.reached.store(MEMORY, Ordering::Relaxed);
        }
    }

    /// That a level takes long, and how long it may.
    fn hint(&self, asked: &Asked) -> String {
        let what = asked.level.map_or_else(|| "whose writes were read".to_owned(), |level| level.to_string());
        let end = match self.limits.time {
            None => "there is no time limit".to_owned(),
            Some(TimeLimit::History(limit)) => {
                format!("--timeout ends the whole check after {}", span(limit))
            }
            Some(TimeLimit::Level(limit)) => {
                format!("it is given up after {} (--timeout sets another limit)", span(limit))
            }
        };
        format!("still searching: {what}, for {} so far; {end}", span(LONG))
    }
}

/// Whether a process that may have so many bytes in memory may have some more.
pub(crate) fn room(limit: u64) -> Room {
    let last = Mutex::new(None);
    Arc::new(move |more| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, fits)) = *last
            && more == 0
            && Instant::now().duration_since(at) < LOOK_AT_MEMORY
        {
            return fits;
        }
        let fits = resident().is_none_or(|bytes| bytes.saturating_add(more) <= limit);
        *last = Some((Instant::now(), fits));
        fits
    })
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
            assert!(onlooker.thread.is_none() && onlooker.limit().is_none());
        });
    }

    fn wait(onlooker: &Onlooker<'_>) {
        while onlooker.limit().is_none() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_limit_that_is_reached_is_named() {
        let time = |time| Limits { time: Some(TimeLimit::History(time)), memory: None };
        with_limits(time(Duration::ZERO), |onlooker| assert_eq!(onlooker.limit(), Some(Limit::Time)));
        with_limits(time(Duration::from_secs(3600)), |onlooker| assert_eq!(onlooker.limit(), None));
        with_limits(time(Duration::from_millis(1)), |onlooker| {
            wait(onlooker);
            assert_eq!(onlooker.limit(), Some(Limit::Time));
            onlooker.begin(Level::Causal);
            assert_eq!(onlooker.limit(), Some(Limit::Time), "there is one limit for all levels");
        });
        if resident().is_some() {
            let memory = |memory| Limits { time: None, memory: Some(memory) };
            with_limits(memory(1), |onlooker| {
                onlooker.begin(Level::Causal);
                assert_eq!(onlooker.limit(), Some(Limit::Memory));
            });
            with_limits(memory(u64::MAX), |onlooker| assert_eq!(onlooker.limit(), None));
            assert!(room(u64::MAX)(0) && !room(u64::MAX - 1)(u64::MAX) && !room(1)(0));
        }
    }

    /// Without waiting: the limit is an hour, and is said to be reached.
    #[test]
    fn the_limit_of_a_level_ends_with_it() {
        let hour = Duration::from_secs(3600);
        for (time, next) in [(TimeLimit::Level(hour), None), (TimeLimit::History(hour), Some(Limit::Time))] {
            with_limits(Limits { time: Some(time), memory: None }, |onlooker| {
                onlooker.shared.reached.store(TIME, Ordering::Relaxed);
                assert_eq!(onlooker.limit(), Some(Limit::Time));
                onlooker.begin(Level::Causal);
                assert_eq!(onlooker.limit(), next);
            });
        }
    }

    #[test]
    fn what_takes_long_is_named_with_its_limit() {
        let hint = |time, level| {
            let mut hint = String::new();
            with_limits(Limits { time, memory: None }, |onlooker| {
                let mut asked = onlooker.shared.asked();
                asked.level = level;
                hint = onlooker.shared.hint(&asked);
            });
            hint
        };
        assert_eq!(
            hint(Some(TimeLimit::DEFAULT), Some(Level::Serializable)),
            "still searching: serializable, for 5 s so far; it is given up after 60 s (--timeout sets another \
             limit)"
        );
        assert_eq!(
            hint(None, None),
            "still searching: whose writes were read, for 5 s so far; there is no time limit"
        );
        let all = hint(Some(TimeLimit::History(Duration::from_secs(600))), None);
        assert!(all.ends_with("--timeout ends the whole check after 10 min"), "{all}");
    }

    #[test]
    fn stages_are_kept_with_their_figures() {
        with_limits(Limits::default(), |onlooker| {
            let stage = Stage { name: "saturate", figures: vec![("edges", 1234), ("rounds", 3)] };
            onlooker.begin(Level::Snapshot);
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

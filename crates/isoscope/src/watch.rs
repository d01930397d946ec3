//! The watch of a check: it has the clock, the memory figures and the interrupt flag, which the engines do not see.
//!
//! Engines poll very often whether a limit is reached. A separate thread therefore measures every 20 ms, or every 2 ms with a memory
//! limit, and stores the answer in one byte. The same thread reports once per level that the level takes long. The duration of a
//! stage is the time since the previous stage ended, or since the level began.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use isoscope_certificate::{Judgement, Limit};
use isoscope_check::{Stage, Watch};
use isoscope_formats::Room;
use isoscope_levels::Level;
use isoscope_report::{Limits, Staged, TimeLimit};

/// The interval of time measurements.
const LOOK: Duration = Duration::from_millis(20);
/// The interval of memory measurements, if memory is limited. In this time a process fills a few megabytes.
const LOOK_AT_MEMORY: Duration = Duration::from_millis(2);
/// Allocations smaller than this, in bytes, are not checked in advance.
const SMALL: u64 = 1 << 20;
/// The time after which a level is reported to take long.
const LONG: Duration = Duration::from_secs(5);

/// Receives progress events while a check runs. All methods are optional.
///
/// ```
/// use isoscope::{Check, Judgement, Level, Progress};
/// use std::sync::Mutex;
///
/// #[derive(Default)]
/// struct Log(Mutex<Vec<Level>>);
///
/// impl Progress for Log {
///     fn decided(&self, judgement: &Judgement) {
///         self.0.lock().unwrap().push(judgement.level);
///     }
/// }
///
/// let history = isoscope::parse("T1: w(x,1)  T2: r(x,1)").unwrap();
/// let log = std::sync::Arc::new(Log::default());
/// Check::new(&history).level(Level::Serializable).progress(log.clone()).run();
/// assert_eq!(*log.0.lock().unwrap(), [Level::Serializable]);
/// ```
pub trait Progress: Send + Sync {
    /// The check of a level begins. With a time limit this may happen several times per level.
    fn begins(&self, level: Level) {
        let _ = level;
    }

    /// The check of a level ended; *unknown* if its share of the time was not enough so far.
    fn decided(&self, judgement: &Judgement) {
        let _ = judgement;
    }

    /// A stage of deciding a level has ended.
    fn stage(&self, stage: &Staged) {
        let _ = stage;
    }

    /// A level takes long; `None` while reads are resolved, before the first level. Called from a separate thread, once
    /// per level.
    fn takes_long(&self, level: Option<Level>, so_far: Duration, limit: Option<TimeLimit>) {
        let _ = (level, so_far, limit);
    }
}

/// The watch of one check; see the module.
pub(crate) struct Onlooker {
    shared: Arc<Shared>,
    stages: Mutex<Stages>,
    thread: Option<JoinHandle<()>>,
    progress: Option<Arc<dyn Progress>>,
    /// Set by the caller to end the check.
    interrupt: Option<Arc<AtomicBool>>,
}

struct Stages {
    since: Instant,
    ended: Vec<Staged>,
}

/// The state that the thread and the [`Onlooker`] share.
struct Shared {
    limits: Limits,
    began: Instant,
    /// The limit that has been reached; 0 if none has. Written only with `asked` locked.
    reached: AtomicU8,
    asked: Mutex<Asked>,
    /// Wakes the thread when it is to end.
    ended: Condvar,
}

/// The level that is being checked.
struct Asked {
    /// `None` before the first level.
    level: Option<Level>,
    since: Instant,
    /// Whether the level has been reported to take long, or must not be.
    silent: bool,
    /// The levels that have been reported: a level may be asked for again with more time.
    named: Vec<Option<Level>>,
    over: bool,
}

impl Onlooker {
    /// Starts the clock and, if needed, the thread.
    pub(crate) fn new(limits: Limits, progress: Option<Arc<dyn Progress>>) -> Onlooker {
        let now = Instant::now();
        let stages = Mutex::new(Stages { since: now, ended: Vec::new() });
        let silent = progress.is_none();
        let asked = Mutex::new(Asked { level: None, since: now, silent, named: Vec::new(), over: false });
        let (reached, ended) = (AtomicU8::new(0), Condvar::new());
        let shared = Arc::new(Shared { limits, began: now, reached, asked, ended });
        // A limit that is already exceeded is detected before any work is done.
        shared.look(&mut shared.asked());
        let needed = !silent || limits != Limits::default();
        let thread = needed.then(|| shared.start(progress.clone())).flatten();
        Onlooker { shared, stages, thread, progress, interrupt: None }
    }

    /// The same, and the check also ends when the flag is set.
    pub(crate) fn until(mut self, interrupt: Option<Arc<AtomicBool>>) -> Onlooker {
        self.interrupt = interrupt;
        self
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.as_ref().is_some_and(|interrupt| interrupt.load(Ordering::Relaxed))
    }

    /// The check of a level begins.
    pub(crate) fn begin(&self, level: Level) {
        let now = Instant::now();
        self.stages().since = now;
        let mut asked = self.shared.asked();
        (asked.level, asked.since, asked.silent) = (Some(level), now, self.progress.is_none());
        if let Some(TimeLimit::Level(_)) = self.shared.limits.time
            && self.limit() == Some(Limit::Time)
        {
            self.shared.reached.store(0, Ordering::Relaxed);
        }
    }

    /// The stages that have ended since the last call.
    pub(crate) fn take_stages(&self) -> Vec<Staged> {
        std::mem::take(&mut self.stages().ended)
    }

    fn stages(&self) -> MutexGuard<'_, Stages> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Onlooker {
    fn limit(&self) -> Option<Limit> {
        if self.is_interrupted() {
            return Some(Limit::Interrupt);
        }
        match self.shared.reached.load(Ordering::Relaxed) {
            0 => None,
            TIME => Some(Limit::Time),
            _ => Some(Limit::Memory),
        }
    }

    fn fits(&self, bytes: u64) -> bool {
        let shared = &self.shared;
        let large = |limit| resident().is_some_and(|resident| resident.saturating_add(bytes) > limit);
        // Measuring the memory costs more than a small allocation.
        let fits = bytes < SMALL || !shared.limits.memory.is_some_and(large);
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
        stages.ended.push(staged.clone());
        drop(stages);
        if let Some(progress) = &self.progress {
            progress.stage(&staged);
        }
    }
}

impl Drop for Onlooker {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.shared.asked().over = true;
        self.shared.ended.notify_all();
        // A panic of the thread could not be handled here.
        let _ = thread.join();
    }
}

const TIME: u8 = 1;
const MEMORY: u8 = 2;

impl Shared {
    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread. If the system cannot start one, there are no limits.
    fn start(self: &Arc<Shared>, progress: Option<Arc<dyn Progress>>) -> Option<JoinHandle<()>> {
        let shared = Arc::clone(self);
        let pause = if self.limits.memory.is_some() { LOOK_AT_MEMORY } else { LOOK };
        let watch = move || {
            let mut asked = shared.asked();
            while !asked.over {
                (asked, _) = shared.ended.wait_timeout(asked, pause).unwrap_or_else(PoisonError::into_inner);
                shared.look(&mut asked);
                if !asked.silent && !asked.over && asked.since.elapsed() >= LONG {
                    asked.silent = true;
                    let level = asked.level;
                    if asked.named.contains(&level) {
                        continue;
                    }
                    asked.named.push(level);
                    if let Some(progress) = &progress {
                        progress.takes_long(asked.level, LONG, shared.limits.time);
                    }
                }
            }
        };
        std::thread::Builder::new().name("limits".to_owned()).spawn(watch).ok()
    }

    /// Records the limit that was reached. It stays reached, except that the limit of a level ends with the level.
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
}

/// Whether the memory in use can be measured on this system. Without it a memory limit has no effect.
pub fn can_measure_memory() -> bool {
    resident().is_some()
}

/// The limit on memory in the form that [`read_with`](crate::read_with) takes: a history that would not fit is not read.
pub fn room(limit: u64) -> Room {
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

/// The resident memory of this process in bytes. Linux reports it in kibibytes, whatever the page size.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_limits(limits: Limits, test: impl FnOnce(&Onlooker)) {
        test(&Onlooker::new(limits, None));
    }

    #[test]
    fn without_limits_there_is_no_thread() {
        with_limits(Limits::default(), |onlooker| {
            assert!(onlooker.thread.is_none() && onlooker.limit().is_none());
        });
    }

    fn wait(onlooker: &Onlooker) {
        while onlooker.limit().is_none() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_reached_limit_is_reported() {
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

    #[test]
    fn an_interrupt_is_told_from_other_limits() {
        let flag = Arc::new(AtomicBool::new(false));
        let limits = Limits { time: Some(TimeLimit::Level(Duration::from_secs(3600))), memory: None };
        let onlooker = Onlooker::new(limits, None).until(Some(Arc::clone(&flag)));
        assert_eq!(onlooker.limit(), None);
        onlooker.shared.reached.store(TIME, Ordering::Relaxed);
        flag.store(true, Ordering::Relaxed);
        assert_eq!(onlooker.limit(), Some(Limit::Interrupt));
        onlooker.begin(Level::Causal);
        assert_eq!(onlooker.limit(), Some(Limit::Interrupt), "it ends all levels");
    }

    /// Does not wait: the limit is an hour, and the test marks it as reached.
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
            assert!(onlooker.take_stages().is_empty());
        });
    }
}

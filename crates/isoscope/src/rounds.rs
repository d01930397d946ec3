//! The time of a check, shared between its levels.
//!
//! One hard level must not use up the time of ten easy ones. With a time limit, the levels are therefore checked in rounds. In each
//! round, every undecided level gets an equal slice of the round's time; later levels get what earlier ones leave. The first round has
//! an eighth of the time, the second half of the rest, the last all that remains. The checker shares what it learns between levels,
//! so a level that ran out of time may be cheap in the next round.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use isoscope_certificate::{Judgement, Limit, Unknown, Verdict};
use isoscope_check::{Checker, Stage, Watch};
use isoscope_levels::Level;

/// The divisor of the remaining time for each round.
const ROUNDS: [u32; 3] = [8, 2, 1];

/// A watch that also ends when the slice of a level is used up.
pub(crate) struct Slices<'w> {
    watch: &'w dyn Watch,
    began: Instant,
    total: Option<Duration>,
    /// When the slice ends, in nanoseconds since the beginning.
    until: AtomicU64,
}

impl<'w> Slices<'w> {
    /// Starts the clock.
    pub(crate) fn new(watch: &'w dyn Watch, total: Option<Duration>) -> Self {
        Slices { watch, began: Instant::now(), total, until: AtomicU64::new(u64::MAX) }
    }

    /// The time that is left, if there is a limit.
    fn left(&self) -> Option<Duration> {
        self.total.map(|total| total.saturating_sub(self.began.elapsed()))
    }

    /// Starts the slice of a level.
    fn begin(&self, slice: Option<Duration>) {
        let until = slice.map_or(u64::MAX, |slice| nanoseconds(self.began.elapsed() + slice));
        self.until.store(until, Ordering::Relaxed);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Watch for Slices<'_> {
    fn limit(&self) -> Option<Limit> {
        let until = self.until.load(Ordering::Relaxed);
        let used_up = || until != u64::MAX && nanoseconds(self.began.elapsed()) >= until;
        self.watch.limit().or_else(|| used_up().then_some(Limit::Time))
    }

    fn fits(&self, bytes: u64) -> bool {
        self.watch.fits(bytes)
    }

    fn stage(&self, level: Level, stage: &Stage) {
        self.watch.stage(level, stage);
    }
}

/// A level, its judgement, and how long that took in all rounds.
pub(crate) struct Asked {
    pub(crate) level: Level,
    pub(crate) judgement: Judgement,
    pub(crate) seconds: f64,
}

/// Checks all levels; `before` and `after` are called around every check. Stronger levels come first: if one holds, the weaker
/// ones are implied, and if a weaker one fails, the checker detects it before it searches.
pub(crate) fn ask(
    checker: &mut Checker<'_>,
    slices: &Slices<'_>,
    levels: &[Level],
    before: &dyn Fn(Level),
    after: &mut dyn FnMut(&Judgement),
) -> Vec<Asked> {
    let mut open: Vec<Level> = levels.to_vec();
    open.sort_by_key(|&level| Reverse(level));
    let mut all: Vec<Asked> = Vec::with_capacity(levels.len());
    for part in ROUNDS {
        let round = slices.left().map(|left| left / part);
        let began = Instant::now();
        let asked = std::mem::take(&mut open);
        for (level, waiting) in asked.iter().copied().zip((1..=asked.len() as u32).rev()) {
            let slice = round.map(|round| round.saturating_sub(began.elapsed()) / waiting);
            before(level);
            slices.begin(slice);
            let started = Instant::now();
            let judgement = checker.check(level);
            let seconds = started.elapsed().as_secs_f64();
            after(&judgement);
            if slices.total.is_some() && is_out_of_time(&judgement) {
                open.push(level);
            }
            match all.iter_mut().find(|asked| asked.level == level) {
                Some(asked) => *asked = Asked { judgement, seconds: asked.seconds + seconds, level },
                None => all.push(Asked { level, judgement, seconds }),
            }
        }
        if open.is_empty() {
            break;
        }
    }
    all
}

fn is_out_of_time(judgement: &Judgement) -> bool {
    matches!(judgement.verdict, Verdict::Unknown(Unknown::Limit(Limit::Time)))
}

#[cfg(test)]
mod tests {
    use isoscope_check::Options;
    use isoscope_history::notation;

    use super::*;

    /// A watch without limits.
    struct Patient;

    impl Watch for Patient {}

    #[test]
    fn a_slice_ends_and_the_next_one_begins() {
        let slices = Slices::new(&Patient, Some(Duration::from_secs(3600)));
        slices.begin(Some(Duration::ZERO));
        assert_eq!(slices.limit(), Some(Limit::Time));
        slices.begin(Some(Duration::from_secs(3600)));
        assert_eq!(slices.limit(), None);
        slices.begin(None);
        assert_eq!(slices.limit(), None);
    }

    #[test]
    fn every_level_is_checked_until_it_is_decided() {
        let history =
            notation::parse("T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)").unwrap_or_else(|e| panic!("{e}"));
        for total in [None, Some(Duration::from_secs(3600))] {
            let slices = Slices::new(&Patient, total);
            let mut checker = Checker::watched(&history, Options::default(), &slices);
            let mut questions = Vec::new();
            let asked = ask(&mut checker, &slices, &Level::ALL, &|_| {}, &mut |j| questions.push(j.level));
            assert_eq!(asked.len(), Level::ALL.len());
            assert!(questions.is_sorted_by_key(|&level| Reverse(level)), "{questions:?}");
            assert!(asked.iter().all(|asked| !matches!(asked.judgement.verdict, Verdict::Unknown(_))));
        }
        // With no time at all, a level is checked at most once per round.
        let slices = Slices::new(&Patient, Some(Duration::ZERO));
        let mut checker = Checker::watched(&history, Options::default(), &slices);
        let mut questions = 0;
        ask(&mut checker, &slices, &[Level::Serializable], &|_| {}, &mut |_| questions += 1);
        assert!((1..=ROUNDS.len()).contains(&questions), "{questions}");
    }
}

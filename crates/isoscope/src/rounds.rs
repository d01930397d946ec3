//! The time of a check, shared between its levels.
//!
//! One hard level must not use up the time of ten easy ones. Levels that polynomial time decides therefore come first. They have no
//! slice: only the limit of the whole check ends them. The levels that may need a search follow. With a time limit, they are checked
//! in rounds: the first has an eighth of the time that is left, the second half of the rest, the last all that remains. The checker
//! shares what it learns between levels, so a level that ran out of time may be cheap in the next round.
//!
//! In the first round, every undecided level gets an equal slice; later levels get what earlier ones leave. A level that needs more
//! than that begins anew in the next round. So there a level may take [`SHARES`] equal slices, and first comes the level whose answer
//! settles most of the others, whatever it is: each stronger level if it is violated, each weaker one if it holds.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use isoscope_certificate::{Judgement, Limit, Unknown, Verdict};
use isoscope_check::{Checker, Stage, Watch};
use isoscope_levels::Level;

/// The divisor of the remaining time for each round.
const ROUNDS: [u32; 3] = [8, 2, 1];
/// How many equal slices a level may take after the first round.
const SHARES: u32 = 3;

/// A watch that also ends when the slice of a level is used up.
pub(crate) struct Slices<'w> {
    watch: &'w dyn Watch,
    /// The time since the beginning.
    clock: Box<dyn Fn() -> Duration + Sync + 'w>,
    total: Option<Duration>,
    /// When the slice ends, in nanoseconds since the beginning.
    until: AtomicU64,
}

impl<'w> Slices<'w> {
    /// Starts the clock.
    pub(crate) fn new(watch: &'w dyn Watch, total: Option<Duration>) -> Self {
        let began = Instant::now();
        Slices::with_clock(watch, total, move || began.elapsed())
    }

    fn with_clock(
        watch: &'w dyn Watch,
        total: Option<Duration>,
        clock: impl Fn() -> Duration + Sync + 'w,
    ) -> Self {
        Slices { watch, clock: Box::new(clock), total, until: AtomicU64::new(u64::MAX) }
    }

    fn elapsed(&self) -> Duration {
        (self.clock)()
    }

    /// The time that is left, if there is a limit.
    fn left(&self) -> Option<Duration> {
        self.total.map(|total| total.saturating_sub(self.elapsed()))
    }

    /// Starts the slice of a level.
    fn begin(&self, slice: Option<Duration>) {
        let until = slice.map_or(u64::MAX, |slice| nanoseconds(self.elapsed() + slice));
        self.until.store(until, Ordering::Relaxed);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Watch for Slices<'_> {
    fn limit(&self) -> Option<Limit> {
        let until = self.until.load(Ordering::Relaxed);
        let used_up = || until != u64::MAX && nanoseconds(self.elapsed()) >= until;
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

/// Checks all levels; `before` and `after` are called around every check. Levels without a search come first, and in both groups
/// the stronger ones: if one holds, the weaker ones are implied, and if a weaker one fails, the checker detects it before it
/// searches.
pub(crate) fn ask(
    checker: &mut Checker<'_>,
    slices: &Slices<'_>,
    levels: &[Level],
    before: &dyn Fn(Level),
    after: &mut dyn FnMut(&Judgement),
) -> Vec<Asked> {
    let mut sorted: Vec<Level> = levels.to_vec();
    sorted.sort_by_key(|&level| Reverse(level));
    let (mut open, easy): (Vec<Level>, Vec<Level>) =
        sorted.into_iter().partition(|&level| checker.may_search(level));
    let mut ask_one = |level: Level, slice: Option<Duration>| {
        before(level);
        slices.begin(slice);
        let started = Instant::now();
        let judgement = checker.check(level);
        let seconds = started.elapsed().as_secs_f64();
        after(&judgement);
        Asked { level, judgement, seconds }
    };
    let mut all: Vec<Asked> = easy.into_iter().map(|level| ask_one(level, None)).collect();
    for (round, part) in ROUNDS.into_iter().enumerate() {
        let end = slices.left().map(|left| slices.elapsed() + left / part);
        let mut waiting = std::mem::take(&mut open);
        while !waiting.is_empty() {
            let (next, shares) = if round == 0 { (0, 1) } else { (most_telling(&waiting, &open), SHARES) };
            let equal = waiting.len() as u32;
            let slice = end.map(|end| end.saturating_sub(slices.elapsed()) / equal * shares.min(equal));
            let level = waiting.remove(next);
            let now = ask_one(level, slice);
            if slices.total.is_some() && is_out_of_time(&now.judgement) {
                open.push(level);
            }
            match all.iter_mut().find(|asked| asked.level == level) {
                Some(asked) => *asked = Asked { seconds: asked.seconds + now.seconds, ..now },
                None => all.push(now),
            }
        }
        if open.is_empty() {
            break;
        }
    }
    all
}

/// The place of the level whose answer settles most of the undecided levels, whatever it is; the first of several. `open` are
/// undecided too.
fn most_telling(waiting: &[Level], open: &[Level]) -> usize {
    let settled = |level: Level| {
        let all = || waiting.iter().chain(open).copied();
        let (weaker, stronger) = (|other| level.implies(other), |other: Level| other.implies(level));
        all().filter(|&other| weaker(other)).count().min(all().filter(|&other| stronger(other)).count())
    };
    let places = 0..waiting.len();
    places.max_by_key(|&place| (settled(waiting[place]), Reverse(place))).unwrap_or(0)
}

fn is_out_of_time(judgement: &Judgement) -> bool {
    matches!(judgement.verdict, Verdict::Unknown(Unknown::Limit(Limit::Time)))
}

#[cfg(test)]
mod tests {
    use isoscope_check::Options;
    use isoscope_history::{History, notation};
    use isoscope_levels::Engine;
    use isoscope_workload::{Spec, run};

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
            let order = |&level: &Level| (level.engine() == Engine::Solver, Reverse(level));
            assert!(questions.is_sorted_by_key(order), "{questions:?}");
            assert!(asked.iter().all(|asked| !matches!(asked.judgement.verdict, Verdict::Unknown(_))));
        }
        // With no time at all, a level is checked at most once per round.
        let slices = Slices::new(&Patient, Some(Duration::ZERO));
        let mut checker = Checker::watched(&history, Options::default(), &slices);
        let mut questions = 0;
        ask(&mut checker, &slices, &[Level::Serializable], &|_| {}, &mut |_| questions += 1);
        assert!((1..=ROUNDS.len()).contains(&questions), "{questions}");
    }

    #[test]
    fn the_level_that_settles_most_comes_first() {
        let mut levels = Level::COMMON;
        levels.sort_by_key(|&level| Reverse(level));
        // If it holds, five weaker levels do; if it is violated, six stronger ones are.
        assert_eq!(levels[most_telling(&levels, &[])], Level::Causal);
        let strong = [Level::StrictSerializable, Level::Serializable, Level::ParallelSnapshot];
        assert_eq!(strong[most_telling(&strong, &[])], Level::Serializable);
        // Those that wait for the next round count, too.
        let open = [Level::Causal, Level::ReadAtomic];
        assert_eq!(strong[most_telling(&strong, &open)], Level::ParallelSnapshot);
        assert_eq!(most_telling(&[Level::Snapshot], &[]), 0);
    }

    /// A clock that advances by a microsecond at every question for a limit.
    #[derive(Default)]
    struct Questions(AtomicU64);

    impl Questions {
        fn time(&self) -> Duration {
            Duration::from_micros(self.0.load(Ordering::Relaxed))
        }
    }

    impl Watch for Questions {
        fn limit(&self) -> Option<Limit> {
            self.0.fetch_add(1, Ordering::Relaxed);
            None
        }
    }

    /// Checks the levels in this time, and returns the unknown ones and the time that it took.
    fn undecided(history: &History, levels: &[Level], total: Duration) -> (Vec<Level>, Duration) {
        let clock = Questions::default();
        let slices = Slices::with_clock(&clock, Some(total), || clock.time());
        let mut checker = Checker::watched(history, Options::default(), &slices);
        let asked = ask(&mut checker, &slices, levels, &|_| {}, &mut |_| {});
        let unknown = asked.iter().filter(|asked| is_out_of_time(&asked.judgement));
        (unknown.map(|asked| asked.level).collect(), clock.time())
    }

    /// The easy levels have the time that they need, also if the hard levels get half of theirs.
    #[test]
    fn hard_levels_leave_the_time_of_easy_ones() {
        let spec = Spec { sessions: 10, txns_per_session: 30, keys: 12, seed: 1, ..Spec::default() };
        let history = run(&spec, &mut |_, _| {}).unwrap_or_else(|e| panic!("{e}"));
        let (hard, easy): (Vec<Level>, Vec<Level>) =
            Level::ALL.into_iter().partition(|level| level.engine() == Engine::Solver);
        let hour = Duration::from_secs(3600);
        let (none, alone) = undecided(&history, &easy, hour);
        assert_eq!(none, []);
        let (none, all) = undecided(&history, &Level::ALL, hour);
        assert_eq!(none, []);
        assert!(all > alone, "the hard levels take no time: {alone:?} of {all:?}");
        let (unknown, _) = undecided(&history, &Level::ALL, (alone + all) / 2);
        assert!(unknown.iter().all(|level| hard.contains(level)), "{unknown:?}");
        assert!(!unknown.is_empty(), "there was enough time for all");
    }
}

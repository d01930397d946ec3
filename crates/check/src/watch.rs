//! Limits and progress: one interface that every stage of every level receives.
//!
//! A [`Watch`] is the budget of a check and the receiver of its progress. This crate sees no clock and no memory figures: the
//! caller has them, and says when a limit is reached. Stages carry no times; the caller adds them.

use std::cell::Cell;

use isoscope_levels::Level;

use crate::certificate::Limit;

/// The budget of a check, and the receiver of its progress; see the module.
pub trait Watch: Sync {
    /// The limit that has been reached, if one has. Asked often; must be cheap. Once reached, a limit must stay reached until
    /// the level at hand is answered: an interrupted stage leaves its work undone, and its caller asks again.
    fn limit(&self) -> Option<Limit> {
        None
    }

    /// Whether this many more bytes may be allocated. If not, the memory limit is reached. Engines ask before a large
    /// allocation, because a look at the memory in use may come too late after it.
    fn fits(&self, bytes: u64) -> bool {
        let _ = bytes;
        true
    }

    /// A stage of deciding a level has ended.
    fn stage(&self, level: Level, stage: &Stage) {
        let _ = (level, stage);
    }
}

/// Asks for the limit once in [`STEPS`] steps, and remembers it.
pub(crate) struct Turnstile<'w> {
    watch: &'w dyn Watch,
    steps: Cell<u32>,
    reached: Cell<Option<Limit>>,
}

/// Steps between two questions. A step takes about a microsecond.
const STEPS: u32 = 1 << 12;

impl<'w> Turnstile<'w> {
    /// Asks at once, so that every stage asks at least once.
    pub(crate) fn new(watch: &'w dyn Watch) -> Self {
        Turnstile { watch, steps: Cell::new(0), reached: Cell::new(watch.limit()) }
    }

    /// Counts a step; whether to continue.
    #[inline]
    pub(crate) fn step(&self) -> bool {
        self.steps.set(self.steps.get().wrapping_add(1));
        if self.steps.get().is_multiple_of(STEPS) {
            self.ask();
        }
        self.reached.get().is_none()
    }

    /// The steps so far, as long as there are not too many to count.
    pub(crate) fn steps(&self) -> u32 {
        self.steps.get()
    }

    /// Counts a step; fails once a limit has been reached.
    #[inline]
    pub(crate) fn pass(&self) -> Result<(), Limit> {
        if self.step() { Ok(()) } else { self.reached().map_or(Ok(()), Err) }
    }

    /// Asks now; the limit that has been reached, then or before.
    pub(crate) fn ask(&self) -> Option<Limit> {
        if self.reached.get().is_none() {
            self.reached.set(self.watch.limit());
        }
        self.reached.get()
    }

    /// The limit that was reached so far.
    pub(crate) fn reached(&self) -> Option<Limit> {
        self.reached.get()
    }
}

/// A stage that has ended, and its figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The name of the stage.
    pub name: &'static str,
    /// The figures, each with its name.
    pub figures: Vec<(&'static str, u64)>,
}

/// No limits, and progress is not reported.
pub(crate) struct NoLimits;

impl Watch for NoLimits {}

/// Fails when a limit has been reached.
pub(crate) fn go_on(watch: &dyn Watch) -> Result<(), Limit> {
    watch.limit().map_or(Ok(()), Err)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]
mod tests {
    use isoscope_history::{History, notation};
    use isoscope_order::Graph;

    use super::*;
    use crate::analysis::Analysis;
    use crate::axiom::Axiom;
    use crate::decide::decide;
    use crate::events::{Events, Rules};
    use crate::options::Options;
    use crate::repair::repair;
    use crate::resolve::Resolved;
    use crate::strong::{Answer, Attempt, decide_weak, listed, ordered};
    use crate::trace::Relations;
    use crate::{cut, cycles, stale, worlds};

    /// A budget that is used up.
    struct UsedUp;

    impl Watch for UsedUp {
        fn limit(&self) -> Option<Limit> {
            Some(Limit::Time)
        }
    }

    fn history() -> (History, Resolved) {
        let text = "T1: w(x,1) w(y,1)  T2: r(x,1) r(y,0) w(z,1)  T3: r(z,1) r(x,0)";
        let history = notation::parse(text).unwrap();
        let resolved = Resolved::new(&history);
        (history, resolved)
    }

    #[test]
    fn resolving_reads_stops() {
        let (history, resolved) = history();
        assert_eq!(Resolved::watched(&history, &UsedUp).err(), Some(Limit::Time));
        assert_eq!(resolved.in_world(&history, &UsedUp).err(), Some(Limit::Time));
    }

    #[test]
    fn the_order_of_an_axiom_stops() {
        let (history, resolved) = history();
        for axiom in Axiom::ALL {
            assert_eq!(decide(&history, &resolved, axiom, &UsedUp).err(), Some(Limit::Time), "{axiom:?}");
        }
        let forced = Graph::from_edges(history.txn_count(), &[]);
        assert!(stale::schedule_with_stale(&history, &resolved, &forced, &UsedUp).is_none());
        let (mut schedule, _) = stale::schedule_with_stale(&history, &resolved, &forced, &NoLimits).unwrap();
        assert!(repair(&history, &resolved, &forced, &mut schedule, &NoLimits).is_some());
        assert!(repair(&history, &resolved, &forced, &mut schedule, &UsedUp).is_none());
    }

    #[test]
    fn the_search_for_anomalies_stops() {
        let (history, resolved) = history();
        for axiom in Axiom::ALL {
            let analysis = Analysis::new(&history, &resolved, axiom, 10, &UsedUp);
            assert_eq!(analysis.err(), Some(Limit::Time), "{axiom:?}");
        }
        let found = cycles::find(&history, &resolved, Relations::Causal, &UsedUp);
        assert_eq!(found.err(), Some(Limit::Time));
    }

    #[test]
    fn cut_isolation_and_worlds_stop() {
        let (history, resolved) = history();
        assert_eq!(cut::decide(&history, &resolved, &UsedUp).err(), Some(Limit::Time));
        let level = Level::Causal;
        let found = worlds::search(&history, &resolved, level, Options::default(), &UsedUp);
        assert!(matches!(found, worlds::Found::Stopped(Limit::Time)));
    }

    #[test]
    fn strong_engines_stop() {
        let (history, resolved) = history();
        for level in Level::ALL.into_iter().filter(|level| level.with_sessions().is_none()) {
            if crate::semantics::Semantics::of(level).is_strong() {
                let attempt = Attempt::begin(&history, &resolved, level, false, &UsedUp);
                assert_eq!(attempt.err(), Some(Limit::Time), "{level}");
            }
        }
        let listed = listed(&history, &resolved, Level::Snapshot, false, &UsedUp);
        assert_eq!(listed.err(), Some(Limit::Time));
        let answers = [
            ordered(&history, &resolved, Level::StrongPl2, false, &UsedUp),
            decide_weak(&history, &resolved, Level::Causal, Options::default(), &UsedUp),
        ];
        assert!(answers.iter().all(|answer| matches!(answer, Answer::Stopped(Limit::Time))));
    }

    #[test]
    fn the_event_graph_stops() {
        let (history, resolved) = history();
        let rules = Rules::of(Level::StrictSerializable, false).unwrap();
        let events = Events::new(&history, &resolved, rules, &mut Vec::new(), &UsedUp);
        assert_eq!(events.err(), Some(Limit::Time));
    }
}

//! Levels that are decided on copies of the history.
//!
//! A level without sessions is its base level on a copy in which every transaction has a session of its own. Where list reads
//! leave something open, each possible answer makes a copy in which less is open (`worlds.rs`).

use std::borrow::Cow;

use isoscope_history::History;
use isoscope_levels::Level;

use super::{Checker, judged, stopped};
use crate::certificate::{Judgement, Limit, Verdict};
use crate::options::Options;
use crate::resolve::Resolved;
use crate::watch::{Stage, Watch};
use crate::worlds;

impl Checker<'_> {
    /// The verdict for a level that is another one without sessions.
    pub(super) fn without_sessions(&mut self, level: Level, base: Level) -> Verdict {
        if let Verdict::Holds(witness) = self.check(base).verdict {
            return Verdict::Holds(self.weakened(&witness, level));
        }
        let apart = self.history.apart();
        let watch = Renamed { watch: self.watch, level };
        let Checker { options, ignores_open, every_scenario, .. } = *self;
        let checker = Checker::ignoring_open(&apart, Cow::Borrowed(&*self.resolved), options, &watch);
        Checker { ignores_open, every_scenario, ..checker }.check(base).verdict
    }

    /// The verdict where list reads leave something open: it must be the same for every possible answer.
    pub(super) fn by_worlds(&self, level: Level) -> Option<Judgement> {
        if self.ignores_open || worlds::questions(self.history, &self.resolved, level).is_empty() {
            return None;
        }
        let Checker { history, options, watch, .. } = *self;
        let judgement =
            Checker::ignoring_open(history, Cow::Borrowed(&*self.resolved), options, watch).check(level);
        if !matches!(judgement.verdict, Verdict::Holds(_)) {
            return Some(judgement);
        }
        let verdict = match worlds::search(history, &self.resolved, level, options, watch) {
            worlds::Found::Holds(witness) => Verdict::Holds(witness),
            worlds::Found::Violated(worlds) => match self.findings().of_worlds(level, worlds) {
                Some(finding) => Verdict::Violated(vec![finding]),
                None => self.ambiguous(),
            },
            worlds::Found::Stopped(limit) => stopped(limit),
            worlds::Found::Open => self.ambiguous(),
        };
        Some(judged(level, verdict))
    }
}

/// What the engines say of one possible world when they ignore what is still open in it. One violation is enough.
pub(crate) fn judge_world(
    history: &History,
    resolved: &Resolved,
    level: Level,
    options: Options,
    watch: &dyn Watch,
) -> Verdict {
    let checker = Checker::ignoring_open(history, Cow::Borrowed(resolved), options, watch);
    Checker { every_scenario: false, ..checker }.check(level).verdict
}

/// Reports the stages of another level as those of the level that was asked for.
struct Renamed<'w> {
    watch: &'w dyn Watch,
    level: Level,
}

impl Watch for Renamed<'_> {
    fn limit(&self) -> Option<Limit> {
        self.watch.limit()
    }

    fn fits(&self, bytes: u64) -> bool {
        self.watch.fits(bytes)
    }

    fn stage(&self, _: Level, stage: &Stage) {
        self.watch.stage(self.level, stage);
    }
}

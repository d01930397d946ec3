//! A level and stronger ones, decided side by side.
//!
//! Where stronger levels are often decided sooner, the checker alternates between them and the level. Each turn may ask `NEXT_TURN` times as
//! many questions whether to stop as the turn before, so that no level delays the others for long.

use isoscope_levels::Level;

use super::{Checker, judged};
use crate::certificate::{Limit, Verdict, Witness};
use crate::semantics::Semantics;
use crate::strong::{self, Answer, Attempt, Patience, Violation};
use crate::watch::Watch;

/// The questions whether to stop that the first turn may ask, without those for each operation.
const FIRST_TURN: u64 = 1_000;
/// The questions that the first turn may ask in addition for each operation, so that a few passes over the history fit into it.
const PER_OPERATION: u64 = 20;
/// The growth of the number of questions from turn to turn.
const NEXT_TURN: u64 = 4;

/// The result of trying a stronger level.
enum Tried {
    Holds(Witness),
    Violated(Violation),
    Stopped,
}

impl Checker<'_> {
    /// Decides a level, in turns with the stronger ones that its row names.
    pub(super) fn in_turns(&mut self, level: Level) -> Answer {
        let mut stronger = Semantics::of(level).stronger.to_vec();
        let (watch, mut served) = (self.watch, None);
        let mut patience = FIRST_TURN + PER_OPERATION * self.history.op_count() as u64;
        while !stronger.is_empty() {
            for other in std::mem::take(&mut stronger) {
                match self.tried(other, patience) {
                    Tried::Holds(witness) => return Answer::Holds(self.weakened(&witness, level)),
                    Tried::Violated(violation) => served = served.or_else(|| self.served(level, violation)),
                    Tried::Stopped => stronger.push(other),
                }
            }
            if stronger.is_empty() || served.is_some() {
                break;
            }
            let answer = self.turn(level, &Patience::forwarding(watch, patience), None);
            if !matches!(answer, Answer::Stopped(Limit::Time)) || watch.limit().is_some() {
                return answer;
            }
            patience = patience.saturating_mul(NEXT_TURN);
        }
        self.turn(level, watch, served)
    }

    /// Decides a level within the limits of a turn. `served` is a violation of a stronger level that violates this one too.
    fn turn(&self, level: Level, watch: &dyn Watch, served: Option<Violation>) -> Answer {
        let Checker { history, options, ref resolved, .. } = *self;
        if !Semantics::of(level).is_strong() {
            return match served {
                Some(violation) => Answer::Violated(violation),
                None => strong::decide_weak(history, resolved, level, options, watch),
            };
        }
        let trust = options.trust_timestamps;
        let attempt = match Attempt::begin(history, resolved, level, trust, watch) {
            Ok(attempt) => attempt,
            Err(limit) => return Answer::Stopped(limit),
        };
        // Proofs of other levels are looked at only where a search would be needed.
        let borrowed = || served.or_else(|| self.borrowed(level));
        let violation = if attempt.is_open() { borrowed() } else { None };
        attempt.finish(violation, self.every_scenario)
    }

    /// Tries a stronger level with little work.
    fn tried(&mut self, level: Level, patience: u64) -> Tried {
        match self.answers.verdict(level) {
            Some(Verdict::Holds(witness)) => return Tried::Holds(witness.clone()),
            Some(_) => return Tried::Violated(Violation::default()),
            None => {}
        }
        if let Some(violation) = self.tried.get(&level) {
            return Tried::Violated(violation.clone());
        }
        let (patience, trust) = (Patience::of(self.watch, patience), self.options.trust_timestamps);
        let attempt = Attempt::begin(self.history, &self.resolved, level, trust, &patience);
        match attempt.map_or_else(Answer::Stopped, |attempt| attempt.finish(None, false)) {
            Answer::Holds(witness) => {
                self.answers.keep(judged(level, Verdict::Holds(witness.clone())));
                Tried::Holds(witness)
            }
            Answer::Violated(violation) => {
                self.tried.insert(level, violation.clone());
                Tried::Violated(violation)
            }
            Answer::Stopped(_) => Tried::Stopped,
        }
    }
}

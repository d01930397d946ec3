//! The entry point: a history whose reads are resolved, and one question for each level.
//!
//! [`Checker::check`] returns a cached answer or decides the level, in this order:
//!
//! 1. An answer for another level may imply this one (`answers.rs`).
//! 2. A level without sessions is its base level on a copy of the history without sessions, and a history in which list reads
//!    leave something open is decided by copies in which it is not (`copies.rs`).
//! 3. A weak level is decided by its axiom or by cycles (`plain.rs`), and where reads have several possible writers by a
//!    search (`weak.rs`).
//! 4. A strong level is decided by the event graph (`strong.rs` here, and the engine in `crate::strong`).
//!
//! `turns.rs` alternates between a level and a stronger one that is often decided sooner. `borrow.rs` reuses the proofs of
//! other levels. `findings.rs` turns proofs into the findings of a verdict.

mod answers;
mod borrow;
mod copies;
mod strong;
mod turns;
mod weak;

use std::borrow::Cow;

use isoscope_history::{History, Op, OpView, Value};
use isoscope_levels::Level;
use rustc_hash::FxHashMap;

use crate::analysis::Analysis;
use crate::certificate::{Judgement, Limit, Unknown, Verdict};
use crate::findings::Findings;
use crate::options::Options;
use crate::plain::Plain;
use crate::resolve::{Resolved, Tally};
use crate::semantics::{Method, Semantics};
use crate::strong::{Answer, Violation};
use crate::watch::{NoLimits, Watch};
use crate::worlds;
use answers::Answers;
pub(crate) use copies::judge_world;

/// A history whose reads are resolved, ready to be asked about levels.
///
/// Answers are reused: when a stronger level holds, a weaker one needs no work.
pub struct Checker<'h> {
    history: &'h History,
    watch: &'h dyn Watch,
    options: Options,
    resolved: Cow<'h, Resolved>,
    /// The limit that was reached while reads were resolved. Then nothing can be decided.
    stopped: Option<Limit>,
    /// Whether to ignore what list reads leave open. Then only a violation is final.
    ignores_open: bool,
    /// Whether to look for further violations that are independent of the first.
    every_scenario: bool,
    answers: Answers,
    /// Violations of levels that were tried for the sake of weaker ones.
    tried: FxHashMap<Level, Violation>,
    /// The anomalies of the weak levels, computed when one of them is violated.
    analysis: Option<Analysis>,
}

impl<'h> Checker<'h> {
    /// Resolves the reads of a history.
    pub fn new(history: &'h History, options: Options) -> Self {
        Checker::watched(history, options, &NoLimits)
    }

    /// Resolves the reads of a history, within the limits of `watch`, which also receives the stages of the check.
    pub fn watched(history: &'h History, options: Options, watch: &'h dyn Watch) -> Self {
        let (resolved, stopped) = match Resolved::watched(history, watch) {
            Ok(resolved) => (resolved, None),
            Err(limit) => (Resolved::default(), Some(limit)),
        };
        Checker {
            stopped,
            ignores_open: false,
            ..Checker::ignoring_open(history, Cow::Owned(resolved), options, watch)
        }
    }

    /// A checker that ignores what list reads leave open, for a history whose reads are resolved.
    fn ignoring_open(
        history: &'h History,
        resolved: Cow<'h, Resolved>,
        options: Options,
        watch: &'h dyn Watch,
    ) -> Checker<'h> {
        Checker {
            history,
            watch,
            options,
            resolved,
            stopped: None,
            ignores_open: true,
            every_scenario: true,
            answers: Answers::default(),
            tried: FxHashMap::default(),
            analysis: None,
        }
    }

    /// Decides a level.
    pub fn check(&mut self, level: Level) -> Judgement {
        if let Some(known) = self.answers.get(level) {
            return known.clone();
        }
        let judgement = self.decide(level);
        // With more time or memory the answer may be another.
        let may_change =
            matches!(&judgement.verdict, Verdict::Unknown(Unknown::Limit(limit)) if *limit != Limit::Proof);
        if !may_change {
            self.answers.keep(judgement.clone());
        }
        judgement
    }

    /// Whether a level may need a search, whose time has no useful bound. All other levels take polynomial time.
    pub fn may_search(&self, level: Level) -> bool {
        if self.stopped.is_some() {
            // What is open is not known.
            return true;
        }
        let row = Semantics::of(level);
        match row.method {
            Method::Alone => self.cut_depends(),
            Method::Events(_) => true,
            _ => {
                row.knows_reads && self.resolved.ambiguous.is_some()
                    || !worlds::questions(self.history, &self.resolved, level).is_empty()
            }
        }
    }

    /// Decides a level that has no cached answer.
    fn decide(&mut self, level: Level) -> Judgement {
        if let Some(limit) = self.stopped {
            return judged(level, stopped(limit));
        }
        if self.nothing_to_judge() {
            return judged(level, Verdict::Unknown(Unknown::NothingToCheck));
        }
        let limit = self.watch.limit();
        if let Some(judgement) = self.implied(level, limit.is_some()) {
            return judgement;
        }
        // Once a limit is reached no level is begun: each would build its graph in vain.
        if let Some(limit) = limit {
            return judged(level, stopped(limit));
        }
        let mut judgement = self.begin(level);
        if let Verdict::Unknown(Unknown::Limit(reached)) = &mut judgement.verdict {
            // Stages with a budget of their own end with `Time`. The watch knows which limit was reached.
            if *reached == Limit::Time {
                *reached = self.watch.limit().unwrap_or(Limit::Time);
            }
            return self.implied(level, true).unwrap_or(judgement);
        }
        judgement
    }

    /// Decides a level that no other answer implies.
    fn begin(&mut self, level: Level) -> Judgement {
        if let Some(base) = level.with_sessions() {
            return judged(level, self.without_sessions(level, base));
        }
        if let Some(judgement) = self.by_worlds(level) {
            return judgement;
        }
        if Semantics::of(level).is_strong() { self.strong(level) } else { judged(level, self.weak(level)) }
    }

    /// Whether no level could be violated: no read of a transaction that took effect can be related to a write. Either
    /// nothing was read, or no write took effect and every read returned the initial value. A verdict would say nothing
    /// about the database. A copy of a history, in which one open question is answered, is judged if it has any operation:
    /// it is one case of several.
    fn nothing_to_judge(&self) -> bool {
        let (history, present) = (self.history, &self.resolved.present);
        let ops = || history.txns().filter(|txn| present[txn.index()]).flat_map(|txn| history.ops_of(txn));
        if self.ignores_open {
            return ops().next().is_none();
        }
        let mut reads = ops().filter(|op| !op.kind.is_write() && op.value != Value::UNKNOWN);
        let Some(first) = reads.next() else { return true };
        let is_initial = |op: &OpView| op.kind.is_read() && history.reads_initial(op);
        !ops().any(|op| op.kind.is_write()) && is_initial(&first) && reads.all(|op| is_initial(&op))
    }

    /// What the weak engine says of a weak level when it ignores reads with several possible writers.
    fn plain(&mut self, level: Level) -> Verdict {
        let known = self.answers.order_for(level);
        let Checker { history, watch, options, resolved, analysis, .. } = self;
        Plain { history, resolved, options: *options, watch: *watch }.decide(level, known, analysis)
    }

    fn findings(&self) -> Findings<'_> {
        Findings { history: self.history, resolved: &self.resolved, keep: self.options.kept() }
    }

    /// The verdict for an engine's answer.
    fn answered(&self, level: Level, answer: Answer) -> Verdict {
        match answer {
            Answer::Holds(witness) => Verdict::Holds(witness),
            Answer::Violated(violation) => Verdict::Violated(self.findings().of_violation(level, violation)),
            Answer::Stopped(limit) => stopped(limit),
        }
    }

    /// The verdict where reads have more explanations than are tried.
    fn ambiguous(&self) -> Verdict {
        let Resolved { ambiguous, open_lists, .. } = *self.resolved;
        let Tally { count, first } = open_lists.or(ambiguous).unwrap_or(Tally { count: 0, first: Op(0) });
        Verdict::Unknown(Unknown::Ambiguous { reads: count, first })
    }

    /// The verdict where the history has operations that no engine supports.
    fn unsupported(&self) -> Option<Verdict> {
        let Tally { count, first } = self.resolved.unsupported?;
        Some(Verdict::Unknown(Unknown::Unsupported { operations: count, first }))
    }
}

/// A judgement about a level by itself.
fn judged(level: Level, verdict: Verdict) -> Judgement {
    Judgement { level, verdict, implied_by: None }
}

fn stopped(limit: Limit) -> Verdict {
    Verdict::Unknown(Unknown::Limit(limit))
}

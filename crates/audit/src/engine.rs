//! The engine: from a log to a verdict.
//!
//! Phase 1 executes the points in the order of answers: commits at their reply, snapshots as late as possible. A conflict is
//! repaired, if it can be: a commit in flight that holds what is written is pulled forward; else the search of `region.rs`
//! reorders the last points. After a repair, phase 1 goes on.
//!
//! This uses what the whole log says about each transaction. If nothing explains the answers up to an entry, prefixes are tried
//! from there on: the answers after the prefix's end are not known, and what is in flight may or may not have happened. The
//! first prefix that nothing explains is the smallest failing one, because the prefix before the entry was explained.

use isoscope_log::Log;
use rustc_hash::FxHashSet;

use crate::blame;
use crate::error::AuditError;
use crate::evaluate;
use crate::model::Model;
use crate::options::Options;
use crate::problem::{Event, NONE, Point, Problem, Reply, StatementId, TxnId};
use crate::region::{Found, Region};
use crate::replay::{Conflict, Replay};
use crate::rungs;
use crate::serial;
use crate::verdict::{
    Audit, Blame, Core, Explanation, Figures, Gap, Place, Rung, Undecided, Verdict, Violation, Watch,
};

/// An audit in progress.
pub(crate) struct Engine<'p, 'l, 'w> {
    problem: &'p Problem<'l>,
    options: &'p Options,
    watch: &'w dyn Watch,
    replay: Replay<'p, 'l>,
    figures: Figures,
    steps: u32,
    /// Regions begin at or before this position: points after it were executed with less knowledge.
    floor: usize,
    /// The last statement whose answer counts.
    until: StatementId,
    /// How many proposals all searches together may make.
    most: u64,
}

/// How a repair ended.
enum Repair {
    Done,
    /// No execution explains the answers up to the statement; the contradiction is among these.
    Impossible(Vec<StatementId>),
    /// A limit was reached: which.
    Stopped(&'static str),
}

const LIMIT: &str = "the search reached its limit";
const DOUBT: &str = "the dependencies of the committed transactions form a cycle, and there are too many of them to \
                     compare all serial orders by their values";
/// The smallest region, in points.
const SMALLEST: usize = 48;
/// Steps between two questions to the watch.
const PATIENCE: u32 = 1 << 10;

/// Audits a log under an engine model.
pub(crate) fn audit(log: &Log, options: &Options, watch: &dyn Watch) -> Result<Audit, AuditError> {
    let mut audit = Engine::run(log, options, watch, None)?;
    if let Verdict::Violated(violation) = &mut audit.verdict {
        violation.blame = blame::find(log, options, watch, violation.entry)?;
    }
    Ok(audit)
}

impl Engine<'_, '_, '_> {
    /// Audits a log, or only the answers up to that of an entry, with all proposals of one search for all searches.
    pub(crate) fn run(
        log: &Log,
        options: &Options,
        watch: &dyn Watch,
        entry: Option<usize>,
    ) -> Result<Audit, AuditError> {
        let problem = Problem::new(log, options.model)?;
        let mut engine = Engine::new(&problem, options, watch, entry)?;
        let verdict = engine.decide();
        Ok(engine.finish(verdict))
    }

    /// The rows that would give the answer of an entry, in an execution that explains all answers before it.
    pub(crate) fn rung(
        log: &Log,
        options: &Options,
        watch: &dyn Watch,
        entry: usize,
    ) -> Result<Option<Rung>, AuditError> {
        let problem = Problem::new(log, options.model)?;
        let mut engine = Engine::new(&problem, options, watch, Some(entry))?;
        let statement = engine.until;
        if statement == NONE {
            return Ok(None);
        }
        engine.replay.ignored.insert(statement);
        let is_explained = matches!(engine.decide(), Verdict::Explained(_));
        Ok(if is_explained { rungs::find(&engine.replay, statement, options.cap) } else { None })
    }
}

impl<'p, 'l, 'w> Engine<'p, 'l, 'w> {
    fn new(
        problem: &'p Problem<'l>,
        options: &'p Options,
        watch: &'w dyn Watch,
        entry: Option<usize>,
    ) -> Result<Engine<'p, 'l, 'w>, AuditError> {
        let (store, plans) = evaluate::initial(problem)?;
        let until = entry.and_then(|entry| problem.statement_of(entry));
        Ok(Engine {
            problem,
            options,
            watch,
            replay: Replay::new(problem, store, plans, false),
            figures: Figures { transactions: problem.txns.len(), ..Figures::default() },
            steps: 0,
            floor: usize::MAX,
            until: until.unwrap_or(NONE),
            most: if entry.is_some() { options.most_proposals } else { u64::MAX },
        })
    }
}

impl Engine<'_, '_, '_> {
    fn decide(&mut self) -> Verdict {
        while let Some(point) = self.replay.next().filter(|point| point.statement() <= self.until) {
            if self.is_over(point.statement()) {
                return self.undecided(point.statement(), "the time limit was reached");
            }
            let Err(conflict) = self.replay.step(point, false) else {
                if self.replay.executed.len().is_multiple_of(serial::STEP)
                    && let Some(verdict) = self.check_serial()
                {
                    return verdict;
                }
                continue;
            };
            match self.repair(point, &conflict) {
                Repair::Done => {}
                Repair::Stopped(why) => return self.undecided(point.statement(), why),
                Repair::Impossible(_) => {
                    if let Some(verdict) = self.smallest_prefix(point.statement(), &conflict) {
                        return verdict;
                    }
                    break;
                }
            }
        }
        self.replay.known = NONE;
        self.floor = usize::MAX;
        if let Some(verdict) = self.check_serial() {
            return verdict;
        }
        Verdict::Explained(self.explanation())
    }

    /// At `pg-ser`: repairs the last points if no serial order explains them; a verdict if that is impossible.
    fn check_serial(&mut self) -> Option<Verdict> {
        let len = self.replay.executed.len();
        let start = len.saturating_sub(2 * serial::STEP).max(self.replay.base);
        serial::cycle(&self.replay, start)?;
        let problem = self.problem;
        let all = problem.statements.len() as StatementId;
        let last = problem.points.get(self.replay.place()).map_or(all, |point| point.statement()) - 1;
        self.floor = start;
        let repair = self.search(last);
        let verdict = match repair {
            Repair::Done => {
                self.figures.by_search += 1;
                None
            }
            Repair::Stopped(why) => Some(self.undecided(last, why)),
            Repair::Impossible(core) => Some(self.smallest_without_serial_order(start, last, core)),
        };
        self.floor = usize::MAX;
        verdict
    }

    /// At `pg-ser`: a verdict if no serial order explains the answers before that of a statement. Cycles are looked for now
    /// and then, so a wrong answer may be found first.
    fn check_serial_before(&mut self, from: StatementId) -> Option<Verdict> {
        if self.problem.model != Model::PgSer {
            return None;
        }
        let last = from.checked_sub(1)?;
        let start = self.replay.executed.len().saturating_sub(2 * serial::STEP).max(self.replay.base);
        self.floor = start;
        self.replay.known = last;
        match self.search(last) {
            Repair::Done => None,
            Repair::Stopped(why) => Some(self.undecided(last, why)),
            Repair::Impossible(core) => Some(self.smallest_without_serial_order(start, last, core)),
        }
    }

    /// The smallest prefix without a serial order, by bisection: longer prefixes of a failing one fail.
    fn smallest_without_serial_order(
        &mut self,
        start: usize,
        last: StatementId,
        core: Vec<StatementId>,
    ) -> Verdict {
        let why = "no serial order explains the committed transactions".to_owned();
        let (mut low, mut high, mut core) = (0, last, core);
        if start > 0 {
            low = self.replay.executed.get(start).map_or(0, |point| point.statement());
        }
        while low < high {
            let middle = low + (high - low) / 2;
            self.replay.known = middle;
            match self.search(middle) {
                Repair::Done => low = middle + 1,
                Repair::Impossible(found) => {
                    high = middle;
                    core = found;
                }
                Repair::Stopped(why) => return self.undecided(middle, why),
            }
        }
        self.replay.known = high;
        self.violated(high, why, &core)
    }

    fn is_over(&mut self, statement: StatementId) -> bool {
        self.steps += 1;
        if !self.steps.is_multiple_of(PATIENCE) {
            return false;
        }
        self.watch.progress(statement as usize, self.problem.statements.len());
        self.watch.is_over()
    }

    fn undecided(&self, statement: StatementId, why: &str) -> Verdict {
        let entry = self.problem.statement(statement).entry as usize;
        Verdict::Undecided(Undecided { entry, why: why.to_owned() })
    }

    /// Repairs a conflict at a point.
    fn repair(&mut self, point: Point, conflict: &Conflict) -> Repair {
        if self.pull(point, conflict) {
            return Repair::Done;
        }
        let repair = self.search(point.statement());
        if matches!(repair, Repair::Done) {
            self.figures.by_search += 1;
        }
        repair
    }

    /// Pulls the end of a transaction before a point that needs its locks, if it may have happened by then.
    fn pull(&mut self, point: Point, conflict: &Conflict) -> bool {
        let Conflict::Held { by, .. } = conflict else { return false };
        let holder = self.problem.txn_of(*by);
        let end = self.problem.end_point(holder);
        if self.replay.position(end) != NONE || self.replay.precedes(point, end) || !self.is_finished(holder)
        {
            return false;
        }
        let snapshot = Point::new(point.statement(), Event::Snapshot);
        let length = self.replay.executed.len();
        let retakes = self.replay.executed.last() == Some(&snapshot) && length > self.replay.base;
        if retakes {
            self.replay.rewind(length - 1);
        }
        let start = self.replay.executed.len();
        let mut points = vec![end];
        points.extend(retakes.then_some(snapshot));
        points.push(point);
        let mut result = points.iter().try_for_each(|&point| self.replay.step(point, false));
        // The statement may wait for several transactions.
        if let Err(next @ Conflict::Held { .. }) = &result {
            let next = next.clone();
            if self.pull(point, &next) {
                result = Ok(());
            }
        }
        if result.is_err() && start >= self.replay.base {
            self.replay.rewind(start);
        }
        result.is_ok()
    }

    /// Whether all points of a transaction but its end are executed.
    fn is_finished(&self, txn: TxnId) -> bool {
        let mut is_finished = true;
        for &id in &self.problem.txn(txn).statements {
            self.problem.each_point(id, |point| {
                is_finished &= point.event() == Event::End || self.replay.position(point) != NONE;
            });
        }
        is_finished
    }

    /// Phase 3: searches ever larger regions that end with the answer of a statement.
    fn search(&mut self, last: StatementId) -> Repair {
        let mut start = self.first_start(last).min(self.floor);
        loop {
            if self.figures.proposals >= self.most {
                return Repair::Stopped(LIMIT);
            }
            if start < self.replay.base {
                self.restart();
            }
            let Some(mut region) = Region::new(&self.replay, start, last) else {
                return Repair::Impossible(Vec::new());
            };
            self.figures.largest_region = self.figures.largest_region.max(region.nodes.len());
            if self.floor != usize::MAX {
                self.floor = start;
            }
            let watch = self.watch;
            let mut stop = || watch.is_over();
            let found = region.search(&mut self.replay, self.options.most_proposals, &mut stop);
            self.figures.proposals += region.proposals;
            match found {
                Found::Order => return Repair::Done,
                Found::Nothing(core) => return Repair::Impossible(core),
                Found::Stopped => return Repair::Stopped(LIMIT),
                Found::Doubt => return Repair::Stopped(DOUBT),
                Found::Border if start == 0 => return Repair::Impossible(Vec::new()),
                Found::Border => {
                    let size = (self.replay.executed.len().max(start) - start + SMALLEST) * 4;
                    start = start.saturating_sub(size);
                }
            }
        }
    }

    /// Where the first region begins: before everything that overlaps the snapshot of the statement.
    fn first_start(&self, last: StatementId) -> usize {
        let since = self.replay.interval(self.problem.snapshot_point(last)).0;
        let executed = &self.replay.executed;
        let mut start = executed.len();
        let mut calm = 0;
        while start > 0 && calm < SMALLEST {
            start -= 1;
            calm = if self.replay.interval(executed[start]).1 < since { calm + 1 } else { 0 };
        }
        start
    }

    /// Replays from the initial state in the same order, so that every point can be taken back.
    fn restart(&mut self) {
        let Ok((store, plans)) = evaluate::initial(self.problem) else { return };
        let mut replay = Replay::new(self.problem, store, plans, true);
        replay.known = self.replay.known;
        replay.ignored.clone_from(&self.replay.ignored);
        for &point in &self.replay.executed {
            let committed = self.replay.states[self.problem.txn_of(point.statement()) as usize].committed;
            let _ = replay.step(point, committed);
        }
        self.replay = replay;
    }

    /// The first prefix, from the one that ends with a statement on, that nothing explains; none if all are explained, with an
    /// execution of all answers.
    fn smallest_prefix(&mut self, from: StatementId, conflict: &Conflict) -> Option<Verdict> {
        let why = reason(conflict);
        if let Some(verdict) = self.check_serial_before(from) {
            return Some(verdict);
        }
        self.floor = self.first_start(from);
        let end = self.problem.statements.len() as StatementId;
        for last in from..end.min(self.until.saturating_add(1)) {
            if self.is_over(last) {
                return Some(self.undecided(last, "the time limit was reached"));
            }
            self.replay.known = last;
            match self.search(last) {
                Repair::Done => {}
                Repair::Stopped(why) => return Some(self.undecided(last, why)),
                Repair::Impossible(core) => return Some(self.violated(last, why, &core)),
            }
        }
        None
    }

    fn violated(&mut self, last: StatementId, why: String, core: &[StatementId]) -> Verdict {
        // An audit of a part of the log needs no core.
        let core = if self.until == NONE { self.minimise(last, core) } else { (core.to_vec(), false) };
        let entry = |&id: &StatementId| self.problem.statement(id).entry as usize;
        let answers = core.0.iter().map(entry).collect();
        let core = Core { answers, is_minimal: core.1 };
        Verdict::Violated(Violation { entry: entry(&last), why, core, blame: Blame::Undetermined })
    }

    /// Leaves out answers as long as the rest is contradictory.
    fn minimise(&mut self, last: StatementId, core: &[StatementId]) -> (Vec<StatementId>, bool) {
        let all: FxHashSet<StatementId> =
            (0..=last).filter(|&id| self.problem.statement(id).reply != Reply::Refused).collect();
        let mut kept: Vec<StatementId> = core.to_vec();
        if !kept.contains(&last) {
            kept.push(last);
        }
        let without = |kept: &[StatementId]| -> FxHashSet<StatementId> {
            all.iter().copied().filter(|id| !kept.contains(id)).collect()
        };
        self.replay.ignored = without(&kept);
        if !matches!(self.search(last), Repair::Impossible(_)) {
            // The contradiction also needs what other answers say about their statements.
            kept = core.to_vec();
            self.replay.ignored = FxHashSet::default();
            return (kept, false);
        }
        for candidate in kept.clone() {
            if candidate == last || self.watch.is_over() {
                continue;
            }
            let rest: Vec<StatementId> = kept.iter().copied().filter(|&id| id != candidate).collect();
            self.replay.ignored = without(&rest);
            if matches!(self.search(last), Repair::Impossible(_)) {
                kept = rest;
            }
        }
        self.replay.ignored = FxHashSet::default();
        kept.sort_unstable();
        (kept, !self.watch.is_over())
    }

    fn explanation(&self) -> Explanation {
        let entry = |point: &Point| self.problem.statement(point.statement()).entry as usize;
        let place = |point: &Point| match point.event() {
            Event::Snapshot => Some(Place::Snapshot(entry(point))),
            Event::Write => Some(Place::Write(entry(point))),
            Event::Read => None,
            Event::End => {
                let txn = self.problem.txn_of(point.statement());
                let committed = self.replay.states[txn as usize].committed;
                Some(if committed { Place::Commit(entry(point)) } else { Place::Abort(entry(point)) })
            }
        };
        let places = self.replay.executed.iter().filter_map(place).collect();
        Explanation { model: self.problem.model, places, serial: Vec::new() }
    }

    fn finish(mut self, verdict: Verdict) -> Audit {
        for statement in &self.problem.statements {
            let entry = &self.problem.log.entries[statement.entry as usize];
            match &entry.answer {
                Err(failure) if statement.reply == Reply::Refused => {
                    self.figures.count_refusal(failure.class);
                }
                _ => {}
            }
        }
        self.figures.answers = match &verdict {
            Verdict::Explained(_) => self.problem.statements.len(),
            _ => self.replay.executed.iter().filter(|point| point.event() != Event::End).count(),
        };
        let gaps = self.replay.gaps.iter();
        let entry = |&id: &StatementId| self.problem.statement(id).entry as usize;
        let gaps = gaps.map(|(id, why)| Gap { entry: entry(id), why: why.clone() }).collect();
        Audit { model: self.problem.model, verdict, figures: self.figures, gaps }
    }
}

fn reason(conflict: &Conflict) -> String {
    match conflict {
        Conflict::Answer { why, .. } => why.clone(),
        Conflict::Failed { .. } => "the transaction had failed before".to_owned(),
        Conflict::Held { .. } => "another transaction holds what the statement writes".to_owned(),
        Conflict::Newer { .. } => {
            "the statement overwrites a version that is newer than its snapshot".to_owned()
        }
    }
}

//! The loop: a candidate that satisfies the level, the oracle, and what is learnt from its answer.
//!
//! ```text
//! clauses of candidates and level ──> solver ──> candidate ──> lazy: does its order break the level? ──> clauses
//!                                       ^                 └──> oracle: is there a serial order? ──> yes: learn the order
//!                                       └── block the signature <── minimise, verify, name <── no
//! ```
//!
//! When the solver finds no candidate, there is no further prediction in the window. Every prediction is confirmed twice before it is
//! returned: the checker decides the level and the target on the predicted history, and the verifier confirms both certificates.

use std::cell::RefCell;
use std::time::Duration;

use isoscope_certificate::{Judgement, Limit, Verdict};
use isoscope_check::{Checker, Options};
use isoscope_history::{History, Op, Txn};
use isoscope_levels::{Anomaly, Level};
use isoscope_solve::{Budget, Lit, Outcome};
use isoscope_verify::verify;

use crate::candidate::Candidate;
use crate::eager;
use crate::encode::{Encoder, Window};
use crate::engine::{self, Engine, Model, Step};
use crate::error::Refusal;
use crate::feasible::{self, infeasible};
use crate::lazy;
use crate::learn::Learnt;
use crate::minimise::Minimiser;
use crate::name;
use crate::observed::Observed;
use crate::oracle::{Answer, Oracle, Order};
use crate::predicted::predicted_with;
use crate::problem::{Cut, INITIAL, Problem};
use crate::signature::{Signature, Statement, Statements, is_within};
use crate::structure;
use crate::watch::{Progress, Watch};
use crate::window::windows;

/// Where a session stops: what is kept of a transaction whose reads change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// The transaction is cut at the changed read.
    Strict,
    /// The transaction keeps all its accesses.
    Relaxed,
    /// The transaction has the accesses of its program on the values that it reads. Needs [`crate::Executions`].
    ValueAware,
}

/// What to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The level that the predicted execution satisfies.
    pub level: Level,
    /// The level that it violates.
    pub target: Level,
    /// What is kept of transactions whose reads change.
    pub boundary: Boundary,
    /// Whether to accept only violations that `IsoPredict`'s sufficient condition shows.
    pub approximate: bool,
    /// With a strict boundary: whether a transaction that is cut has written a key only if the last of all its writes of the key is before
    /// the cut, as in `IsoPredict`. Otherwise it has written what it wrote before the cut.
    pub final_writes: bool,
    /// The most predictions.
    pub most: usize,
    /// The most transactions of a window.
    pub window: usize,
    /// The engine that the predicted execution must be possible on. Predictions then have an interleaving.
    pub engine: Option<Engine>,
}

impl Settings {
    /// The default settings for a level: relaxed, against serializable, at most 10 predictions, windows of 400.
    pub fn new(level: Level) -> Settings {
        let target = Level::Serializable;
        let boundary = Boundary::Relaxed;
        Settings {
            level,
            target,
            boundary,
            approximate: false,
            final_writes: false,
            most: 10,
            window: 400,
            engine: None,
        }
    }

    /// The default settings for the level of an engine, for executions that are possible on it.
    pub fn for_engine(engine: Engine) -> Settings {
        Settings { engine: Some(engine), ..Settings::new(engine.level()) }
    }
}

/// A read that has another writer than in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The read, in the observed history.
    pub read: Op,
    /// Its writer in the run; `None` is the initial state.
    pub from: Option<Txn>,
    /// Its writer in the prediction.
    pub to: Option<Txn>,
}

/// A predicted execution.
pub struct Prediction {
    /// The execution. Where written values did not identify writers, they have the writer's name.
    pub history: History,
    /// For each of its transactions, the observed transaction.
    pub txns: Vec<Txn>,
    /// For each of its operations, the observed operation.
    pub ops: Vec<Op>,
    /// The changed reads.
    pub changes: Vec<Change>,
    /// The transactions that commit although the run rolled them back, and no read of them changes.
    pub commits: Vec<Txn>,
    /// The observed transactions whose reads change.
    pub boundary: Vec<Txn>,
    /// That it satisfies the level, with a witness.
    pub holds: Judgement,
    /// That it violates the target, with a proof.
    pub violates: Judgement,
    /// The name of the anomaly.
    pub anomaly: Anomaly,
    /// The statements of its changed reads, and its commits: what tells it from other anomalies.
    pub statements: Vec<Statement>,
    /// The statements of all reads of its transactions that can change and read existing rows by their names; those of the changed
    /// ones first.
    pub reads: Vec<Statement>,
    /// The steps of its transactions in an order that the engine permits, if an engine was asked for.
    pub interleaving: Option<Vec<Step>>,
    signature: Signature,
}

/// The work of a prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Transactions that took effect.
    pub transactions: u64,
    /// Reads that can change, after merging keys.
    pub reads: u64,
    /// Windows searched.
    pub windows: u64,
    /// Variables of all solvers.
    pub variables: u64,
    /// Clauses of all solvers.
    pub clauses: u64,
    /// Conflicts of all solvers.
    pub conflicts: u64,
    /// Clauses added because an order broke the level.
    pub lazy: u64,
    /// Candidates that the oracle judged.
    pub candidates: u64,
    /// Serial orders learnt.
    pub orders: u64,
    /// Candidates excluded one by one.
    pub excluded: u64,
    /// Candidates that the engine does not permit, each excluded with all that share the reason.
    pub impossible: u64,
    /// Candidates excluded because a program does something else on their values.
    pub infeasible: u64,
    /// Time to make variables and clauses.
    pub encoding: Duration,
    /// Time of the solver.
    pub solving: Duration,
    /// Time to check orders against the level.
    pub checking: Duration,
    /// Time to find interleavings.
    pub interleaving: Duration,
    /// Time of the oracle.
    pub oracle: Duration,
    /// Time to learn.
    pub learning: Duration,
    /// Time to minimise and verify.
    pub minimising: Duration,
}

/// What was predicted.
pub struct Predictions {
    /// The predictions, the most important first.
    pub found: Vec<Prediction>,
    /// The limit that ended the search, if one did.
    pub limit: Option<Limit>,
    /// Whether the most predictions were found and there may be more.
    pub more: bool,
    /// The work.
    pub figures: Figures,
}

/// What predictions may change, and what programs do in addition.
#[derive(Clone, Copy, Default)]
pub(crate) struct Restriction<'a> {
    /// Only these statements change.
    pub(crate) within: Option<&'a [Statement]>,
    /// Reads of these statements conflict with writes.
    pub(crate) promoted: &'a [Statement],
}

/// Predicts executions of a run.
///
/// # Errors
///
/// Why nothing can be predicted, or an internal error.
pub fn predict(
    observed: &Observed<'_>,
    settings: &Settings,
    watch: &dyn Watch,
) -> Result<Predictions, Refusal> {
    predict_within(observed, settings, Restriction::default(), watch)
}

/// Predicts within a restriction.
pub(crate) fn predict_within(
    observed: &Observed<'_>,
    settings: &Settings,
    restriction: Restriction<'_>,
    watch: &dyn Watch,
) -> Result<Predictions, Refusal> {
    refuse(settings)?;
    observed.refuse_trivial(settings.level)?;
    if settings.boundary == Boundary::ValueAware && observed.executions.is_none() {
        return Err(Refusal::NoPrograms);
    }
    let cut = if settings.final_writes { Cut::Final } else { Cut::Before };
    let cut = (settings.boundary == Boundary::Strict).then_some(cut);
    let mut problem = Problem::new(observed, settings.level != Level::ReadCommitted, cut);
    let statements = Statements::new(&problem);
    if !restriction.promoted.is_empty() {
        problem.promote(|number, read| statements.is_among(number, read, restriction.promoted));
    }
    let problem = problem;
    let windows = windows(problem.len() as u32, settings.window.clamp(2, u32::MAX as usize) as u32);
    let mut search = Search {
        settings,
        restriction,
        watch,
        oracle: Oracle::new(&problem, settings.target, settings.approximate),
        problem: &problem,
        statements: &statements,
        found: Vec::new(),
        figures: Figures {
            transactions: problem.len() as u64,
            reads: problem.txns.iter().map(|txn| txn.reads.len() as u64).sum(),
            ..Figures::default()
        },
        progress: Progress { windows: windows.len(), ..Progress::default() },
        more: false,
    };
    let mut limit = None;
    for window in windows {
        search.progress.window += 1;
        match search.window(window) {
            Ok(()) => {}
            Err(Ended::Limit(reached)) => {
                limit = Some(reached);
                break;
            }
            Err(Ended::Internal(refusal)) => return Err(refusal),
        }
        if search.more {
            break;
        }
    }
    let Search { mut found, figures, more, .. } = search;
    name::rank(&mut found);
    Ok(Predictions { found, limit, more, figures })
}

fn refuse(settings: &Settings) -> Result<(), Refusal> {
    let Settings { level, target, .. } = *settings;
    let levels = [
        Level::ReadCommitted,
        Level::ReadAtomic,
        Level::Causal,
        Level::Prefix,
        Level::ParallelSnapshot,
        Level::Snapshot,
    ];
    if level.implies(target) {
        return Err(Refusal::Implied { level, target });
    }
    if !levels.contains(&level) {
        return Err(Refusal::Level(level));
    }
    if ![Level::Prefix, Level::Snapshot, Level::Serializable].contains(&target) {
        return Err(Refusal::Target(target));
    }
    Ok(())
}

/// Why the search of a window ended early.
enum Ended {
    Limit(Limit),
    Internal(Refusal),
}

impl From<Limit> for Ended {
    fn from(limit: Limit) -> Ended {
        Ended::Limit(limit)
    }
}

/// The solver of a window, and what its variables mean.
struct State<'p> {
    encoder: Encoder<'p>,
    seen: eager::Seen,
    /// For each statement: some read of it is changed.
    statements: Vec<Lit>,
    learnt: Learnt,
    /// The engine, if one was asked for.
    model: Option<RefCell<Model<'p>>>,
}

impl State<'_> {
    /// Excludes predictions that change all statements of a signature.
    fn block(&mut self, signature: &[u32]) {
        let clause: Vec<Lit> =
            signature.iter().map(|&statement| !self.statements[statement as usize]).collect();
        self.encoder.solver.add_clause(&clause);
    }

    /// A literal that implies that only statements of a signature change; none if it has a single one.
    fn within(&mut self, signature: &[u32]) -> Option<Lit> {
        if signature.len() < 2 {
            return None;
        }
        let within = self.encoder.solver.variable(false);
        for (statement, &lit) in (0..).zip(&self.statements) {
            if signature.binary_search(&statement).is_err() {
                self.encoder.solver.add_clause(&[!within, !lit]);
            }
        }
        Some(within)
    }
}

struct Search<'a, 'p> {
    settings: &'a Settings,
    restriction: Restriction<'a>,
    watch: &'a dyn Watch,
    problem: &'p Problem<'p>,
    statements: &'a Statements,
    oracle: Oracle<'p>,
    found: Vec<Prediction>,
    figures: Figures,
    progress: Progress,
    more: bool,
}

impl<'p> Search<'_, 'p> {
    /// Searches a window.
    fn window(&mut self, window: Window) -> Result<(), Ended> {
        let mut state = self.encode(window);
        let ended = self.solve(&mut state);
        let figures = state.encoder.solver.figures();
        self.figures.windows += 1;
        self.figures.variables += figures.variables as u64;
        self.figures.clauses += figures.clauses;
        self.figures.conflicts += figures.conflicts;
        self.figures.orders += state.learnt.orders;
        ended
    }

    fn encode(&mut self, window: Window) -> State<'p> {
        let begun = self.watch.now();
        let (problem, level) = (self.problem, self.settings.level);
        let allows = |number, key, writer| eager::allows(problem, level, number, key, writer);
        let mut encoder = Encoder::new(problem, level, window, &allows);
        let seen = eager::add(&mut encoder);
        let statements = self.add_statements(&mut encoder);
        if self.settings.target == Level::Serializable {
            structure::add(&mut encoder);
        }
        let mut learnt = Learnt::new(&mut encoder);
        learnt.add(&mut encoder, &Order { ranks: None, moved: Vec::new() });
        let model = self.settings.engine.map(|engine| RefCell::new(Model::new(problem, engine, window.end)));
        let mut state = State { encoder, seen, statements, learnt, model };
        for one in &self.found {
            state.block(&one.signature);
        }
        self.figures.encoding += self.watch.now().saturating_sub(begun);
        state
    }

    /// Makes a literal for each statement that changes.
    fn add_statements(&self, encoder: &mut Encoder<'_>) -> Vec<Lit> {
        let lits: Vec<Lit> = (0..self.statements.count).map(|_| encoder.solver.variable(false)).collect();
        let within = self.restriction.within;
        let may_change = |changed: &[u32]| within.is_none_or(|some| self.statements.are_among(changed, some));
        for number in encoder.window.start..encoder.window.end {
            let mut of_txn = Vec::new();
            for read in encoder.reads_of(number) {
                let vars = &encoder.reads[read];
                let statements = self.statements.of(number, vars.place);
                let changed = vars.choices.iter().filter(|choice| choice.writer != vars.observed);
                let changed: Vec<Lit> = changed.map(|choice| choice.lit).collect();
                for &lit in &changed {
                    for &statement in statements {
                        encoder.solver.add_clause(&[!lit, lits[statement as usize]]);
                    }
                    if !may_change(statements) {
                        encoder.solver.add_clause(&[!lit]);
                    }
                }
                of_txn.extend(changed);
            }
            // Without a changed read, the commit of an attempt is what changes.
            if let (Some(bound), Some(commit)) = (encoder.bound(number), self.statements.commit(number)) {
                let lit = lits[commit as usize];
                let changes = if may_change(&[commit]) { lit } else { encoder.no() };
                let clause: Vec<Lit> = [!bound, changes].into_iter().chain(of_txn).collect();
                encoder.solver.add_clause(&clause);
            }
        }
        lits
    }

    /// Finds predictions until there are enough or none is left. After each one, those that change only a part of its statements are searched
    /// first, so that each prediction that is counted is minimal in this window.
    fn solve(&mut self, state: &mut State<'p>) -> Result<(), Ended> {
        let mut last: Option<Candidate> = None;
        let mut parts: Option<Lit> = None;
        loop {
            if parts.is_none() && self.found.len() >= self.settings.most {
                self.more = true;
                return Ok(());
            }
            let begun = self.watch.now();
            let outcome = self.next(state, parts)?;
            let solved = self.watch.now();
            self.figures.solving += solved.saturating_sub(begun);
            if outcome == Outcome::Unsat {
                let Some(within) = parts.take() else { return Ok(()) };
                state.encoder.solver.add_clause(&[!within]);
                continue;
            }
            let candidate = state.encoder.candidate();
            let broken = lazy::add(&mut state.encoder, &state.seen, &candidate);
            let checked = self.watch.now();
            self.figures.checking += checked.saturating_sub(solved);
            self.figures.lazy += broken;
            if broken > 0 {
                continue;
            }
            self.figures.candidates += 1;
            if last.as_ref() == Some(&candidate) {
                self.figures.excluded += 1;
                state.encoder.forbid(&candidate);
                last = None;
                continue;
            }
            if !self.is_feasible(state, &candidate)? {
                last = Some(candidate);
                continue;
            }
            let placed = self.watch.now();
            self.figures.interleaving += placed.saturating_sub(checked);
            let answer = self.oracle.ask(&candidate, self.watch);
            let is_learnt = matches!(answer, Answer::Serial(_));
            let asked = self.watch.now();
            self.figures.oracle += asked.saturating_sub(placed);
            match answer {
                Answer::Stopped(limit) => return Err(limit.into()),
                Answer::Serial(orders) => {
                    for order in &orders {
                        state.learnt.add(&mut state.encoder, order);
                    }
                }
                Answer::Holds => {
                    self.figures.excluded += 1;
                    state.encoder.forbid(&candidate);
                }
                Answer::Violates if self.exclude_infeasible(state, &candidate)? => {}
                Answer::Violates => {
                    let prediction = self.emit(candidate.clone(), state.model.as_ref())?;
                    state.block(&prediction.signature);
                    parts = state.within(&prediction.signature);
                    self.found.retain(|one| !is_within(&prediction.signature, &one.signature));
                    self.found.push(prediction);
                    self.figures.minimising += self.watch.now().saturating_sub(asked);
                }
            }
            if is_learnt {
                self.figures.learning += self.watch.now().saturating_sub(asked);
            }
            last = Some(candidate);
            self.progress.candidates = self.figures.candidates;
            self.progress.orders = self.figures.orders + state.learnt.orders;
            self.progress.found = self.found.len();
            self.watch.progress(&self.progress);
        }
    }

    /// Whether the engine permits a candidate. If not, all candidates with the same reason are excluded.
    fn is_feasible(&mut self, state: &mut State<'_>, candidate: &Candidate) -> Result<bool, Ended> {
        let Some(model) = &state.model else { return Ok(true) };
        match model.borrow_mut().ask(candidate, self.watch) {
            engine::Answer::Feasible(_) => Ok(true),
            engine::Answer::Infeasible(facts) => {
                self.figures.impossible += 1;
                state.encoder.forbid_facts(&facts);
                Ok(false)
            }
            engine::Answer::Stopped(limit) => Err(limit.into()),
        }
    }

    /// Excludes a candidate whose programs do something else; whether it is one.
    fn exclude_infeasible(&mut self, state: &mut State<'_>, candidate: &Candidate) -> Result<bool, Ended> {
        let found = infeasible(self.problem, candidate).map_err(Ended::Internal)?;
        if let Some(found) = &found {
            feasible::exclude(&mut state.encoder, candidate, found);
            self.figures.infeasible += 1;
        }
        Ok(found.is_some())
    }

    /// Runs the solver within the limits, under an assumption.
    fn next(&self, state: &mut State<'_>, assumed: Option<Lit>) -> Result<Outcome, Ended> {
        let mut limit = self.watch.limit();
        let mut stop = || {
            limit = self.watch.limit();
            limit.is_some()
        };
        match state.encoder.solver.solve_within(assumed.as_slice(), Budget::stopped_by(&mut stop)) {
            Outcome::Stopped => Err(limit.unwrap_or(Limit::Time).into()),
            outcome => Ok(outcome),
        }
    }

    /// Minimises a violating candidate, and confirms what it shows.
    fn emit(&self, candidate: Candidate, model: Option<&RefCell<Model<'p>>>) -> Result<Prediction, Ended> {
        let Settings { level, target, .. } = *self.settings;
        let problem = self.problem;
        let minimiser = Minimiser { problem, oracle: &self.oracle, level, watch: self.watch, model };
        let candidate = minimiser.minimise(candidate)?;
        let written = feasible::written(problem, &candidate).map_err(Ended::Internal)?;
        let predicted = predicted_with(problem, &candidate, &written);
        let mut checker = Checker::watched(&predicted.history, Options::default(), self.watch);
        let (holds, violates) = (checker.check(level), checker.check(target));
        if let Some(limit) = self.watch.limit() {
            return Err(limit.into());
        }
        let internal = |message: String| Ended::Internal(Refusal::internal(message));
        let Verdict::Holds(_) = &holds.verdict else {
            return Err(internal(format!("the predicted execution does not satisfy {level}")));
        };
        let Verdict::Violated(findings) = &violates.verdict else {
            return Err(internal(format!("the predicted execution does not violate {target}")));
        };
        for judgement in [&holds, &violates] {
            verify(&predicted.history, judgement)
                .map_err(|error| internal(format!("not verified: {error}")))?;
        }
        let interleaving = match model.map(|model| model.borrow_mut().ask(&candidate, self.watch)) {
            None => None,
            Some(engine::Answer::Feasible(moves)) => {
                Some(engine::steps(problem.observed.history, &predicted.numbers, &moves))
            }
            Some(engine::Answer::Stopped(limit)) => return Err(limit.into()),
            Some(engine::Answer::Infeasible(_)) => {
                return Err(internal("fewer transactions have no interleaving".to_owned()));
            }
        };
        let anomaly =
            name::anomaly(findings).ok_or_else(|| internal("the violation has no anomaly".to_owned()))?;
        let signature = self.statements.signature(problem, &candidate);
        let changes = self.changes(&candidate);
        let is_unchanged = |&txn: &Txn| {
            let reader = |change: &Change| problem.observed.history.txn_of(change.read);
            changes.iter().all(|change| reader(change) != txn)
        };
        let boundary = candidate.boundary.iter().map(|boundary| problem.txn(boundary.txn).txn);
        Ok(Prediction {
            commits: boundary.filter(is_unchanged).collect(),
            changes,
            boundary: candidate.boundary.iter().map(|boundary| problem.txn(boundary.txn).txn).collect(),
            txns: predicted.numbers.iter().map(|&number| problem.txn(number).txn).collect(),
            ops: predicted.ops,
            history: predicted.history,
            interleaving,
            holds,
            anomaly,
            statements: signature.iter().map(|&one| self.statements.name(one).clone()).collect(),
            reads: self.reads_of(&candidate, &signature),
            signature,
            violates,
        })
    }

    /// The changed reads of a candidate in the order of the history, with those that were merged with them.
    fn changes(&self, candidate: &Candidate) -> Vec<Change> {
        let problem = self.problem;
        let txn = |number: u32| (number != INITIAL).then(|| problem.txn(number).txn);
        let mut changes = Vec::new();
        for boundary in &candidate.boundary {
            let number = boundary.txn;
            let first = problem.observed.history.op_range(problem.txn(number).txn).start;
            for (at, read) in problem.merged(number) {
                let from = problem.txn(number).reads[read].source;
                if let Some(&to) = boundary.sources.get(read).filter(|&&to| to != from) {
                    let read = Op::at(first + at as usize);
                    changes.push(Change { read, from: txn(from), to: txn(to) });
                }
            }
        }
        changes.sort_unstable_by_key(|change| change.read);
        changes
    }

    /// The statements of the reads of a candidate that read only existing rows, those of a signature first.
    fn reads_of(&self, candidate: &Candidate, signature: &[u32]) -> Vec<Statement> {
        let mut all = signature.to_vec();
        for form in candidate.forms(self.problem) {
            for read in 0..form.reads.len() {
                for &statement in self.statements.of(form.txn, read) {
                    if !all.contains(&statement) {
                        all.push(statement);
                    }
                }
            }
        }
        let of_rows = all.into_iter().filter(|&statement| self.statements.is_of_rows(statement));
        of_rows.map(|statement| self.statements.name(statement).clone()).collect()
    }
}

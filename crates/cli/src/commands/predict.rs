//! `isoscope predict`: the executions that a weaker level would permit.
//!
//! `predict/source.rs`: the run, from files or recorded first. `predict/programs.rs`: its programs, from its log. `predict/engine.rs`: predictions
//! on a real database. `predict/text.rs` and `predict/json.rs` write the result.

mod engine;
mod json;
mod programs;
mod source;
mod text;

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use isoscope_application::Call;
use isoscope_certificate::{Judgement, Limit};
use isoscope_explain::Teller;
use isoscope_formats::Reading;
use isoscope_history::{History, Txn};
use isoscope_levels::Level;
use isoscope_predict::{
    Boundary, Engine, Executions, Figures, Fix, Observed, Prediction, Predictions, Progress, Refusal,
    Settings, Watch, fix, predict,
};
use isoscope_replay::Source;
use isoscope_report::words::{counted, ratio};
use isoscope_reproduce::Outcome;
use isoscope_validate::{Baseline, Class, Counts, Run, StorePrograms, Tally, Validation, baseline, validate};
use rustc_hash::FxHashMap;

pub(crate) use self::engine::Played;
use self::engine::{Stage, play};
use self::programs::Known;
use self::source::Files;
use super::generate::chosen_seed;
use super::open;
use crate::args::{BoundaryArg, CountArg, PredictArgs, StrategyArg, TextStyle, Timeout};
use crate::exit::Exit;
use crate::terminal::{Terminal, Unit};

/// What was predicted from a run.
pub(crate) struct Result<'a> {
    pub(crate) args: &'a PredictArgs,
    pub(crate) file: &'a Path,
    pub(crate) settings: Settings,
    pub(crate) reading: &'a Reading,
    pub(crate) predictions: &'a Predictions,
    /// For transactions of the reading that are other forms of transactions of the run: which.
    pub(crate) forms: FxHashMap<Txn, Txn>,
    /// The fix of each prediction, or why none was found.
    pub(crate) fixes: Vec<std::result::Result<Fix, String>>,
    /// What the programs showed, if they are known.
    pub(crate) executed: Option<Executed>,
    pub(crate) parts: Parts,
    pub(crate) seconds: f64,
}

/// The time of what is done beside the search.
#[derive(Clone, Copy, Default)]
pub(crate) struct Parts {
    /// Executing programs on other values.
    pub(crate) programs: Duration,
    pub(crate) validation: Duration,
    pub(crate) fixes: Duration,
    /// Random executions.
    pub(crate) baseline: Duration,
    /// Real databases.
    pub(crate) database: Duration,
}

/// What became of the predictions when they were executed again.
pub(crate) struct Executed {
    pub(crate) application: &'static str,
    pub(crate) validations: Vec<Validation>,
    pub(crate) counts: Counts,
    pub(crate) baseline: Option<Baseline>,
    /// The script of each prediction and what became of it on a real database, if an engine was asked for.
    pub(crate) played: Vec<Played>,
    /// How many transactions have more executions than were tried.
    pub(crate) incomplete: usize,
    /// The calls of the transactions.
    pub(crate) calls: FxHashMap<Txn, Call>,
}

impl Result<'_> {
    /// The word for the outcome.
    pub(crate) fn status(&self) -> &'static str {
        match (self.predictions.found.is_empty(), self.is_complete()) {
            (false, _) => "predicted",
            (true, true) => "none",
            (true, false) => "unknown",
        }
    }

    /// Whether no limit was reached, in the search or when the programs were explored.
    fn is_complete(&self) -> bool {
        let explored = self.executed.as_ref().is_none_or(|executed| executed.incomplete == 0);
        self.predictions.limit.is_none() && explored
    }

    pub(crate) fn found(&self) -> &[Prediction] {
        &self.predictions.found
    }

    /// The transaction of the run that a transaction of the reading is a form of.
    pub(crate) fn original(&self, txn: Txn) -> Txn {
        self.forms.get(&txn).copied().unwrap_or(txn)
    }

    /// The names of the transactions: those of the run, and of their other forms.
    pub(crate) fn teller(&self) -> Teller<'_> {
        Teller::new(&self.reading.history)
    }

    /// A teller of a predicted history, whose transactions have the same names.
    pub(crate) fn teller_of<'p>(&self, one: &'p Prediction) -> Teller<'p> {
        let teller = self.teller();
        Teller::with_names(&one.history, one.txns.iter().map(|&txn| teller.full_txn(txn)).collect())
    }

    /// The name of a call of a prediction, or of the run.
    pub(crate) fn name_of(&self, call: Call, one: Option<&Prediction>) -> String {
        let calls = self.executed.as_ref().map(|executed| &executed.calls);
        let is_it = |txn: &Txn| calls.and_then(|calls| calls.get(txn)) == Some(&call);
        let history = &self.reading.history;
        let of_prediction = one.and_then(|one| one.txns.iter().copied().find(is_it));
        // Of several attempts, the one that took effect, or else the last.
        let of_run = || {
            let attempts = history.txns().filter(|txn| !self.forms.contains_key(txn)).filter(is_it);
            attempts.max_by_key(|&txn| (history.outcome(txn) != isoscope_history::Outcome::Aborted, txn))
        };
        let txn = of_prediction.or_else(of_run);
        txn.map_or_else(|| Source::Txn(call).to_string(), |txn| self.teller().full_txn(txn))
    }

    /// Whether some prediction counts for the exit code.
    fn counts(&self) -> bool {
        match (&self.executed, self.args.count) {
            (Some(executed), CountArg::Validated) => {
                executed.validations.iter().any(|one| one.class == Class::Validated)
            }
            (Some(executed), CountArg::Reproduced) => {
                executed.played.iter().any(|one| one.outcome == Some(Outcome::Reproduced))
            }
            _ => !self.found().is_empty(),
        }
    }

    /// Predictions that do not count are no proof that there is none.
    fn exit(&self) -> Exit {
        match self.status() {
            _ if self.counts() => Exit::Violated,
            "none" => Exit::Holds,
            _ => Exit::Unknown,
        }
    }
}

pub(crate) fn run(args: &PredictArgs, terminal: &Terminal) -> Exit {
    match run_on(args, terminal) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn run_on(args: &PredictArgs, terminal: &Terminal) -> std::result::Result<Exit, Exit> {
    if args.log.is_none() && args.history.is_some() {
        let needs = |flag: &str| {
            terminal.error(&format!("{flag} needs the programs of the run: give its log with --log"));
            Err(Exit::Usage)
        };
        if args.boundary == Some(BoundaryArg::ValueAware) {
            return needs("--boundary value-aware");
        }
        if args.count == CountArg::Validated {
            return needs("--count validated");
        }
        if args.baseline.is_some() {
            return needs("--baseline");
        }
        if args.stage.validate.is_some() || args.stage.start.is_some() || args.stage.out.is_some() {
            return needs("a script");
        }
    }
    if args.count == CountArg::Reproduced && args.stage.validate.is_none() && args.stage.start.is_none() {
        terminal.error("--count reproduced needs a database: give it with --validate or --start");
        return Err(Exit::Usage);
    }
    if let Some(directory) = &args.stage.out {
        std::fs::create_dir_all(directory).map_err(|error| {
            terminal.error(&format!("cannot create {}: {error}", directory.display()));
            Exit::Failed
        })?;
    }
    // Before anything is recorded: a database that cannot be opened is an error at once.
    let stage = match args.stage.engine {
        Some(engine) => Stage::new(args, engine, terminal)?,
        None => None,
    };
    let draws = args.history.is_none() || args.baseline.is_some();
    let seed = if draws { chosen_seed(args.record.seed, terminal) } else { 0 };
    let source = Files::new(args, seed, terminal)?;
    let mut reading =
        open::open(&source.history, false, &args.read, None, terminal).map_err(|_| Exit::Failed)?;
    let programs = match source.header(terminal)? {
        None => None,
        Some(header) => match programs::known(&header, &reading.history) {
            Ok(known) => Some(known),
            Err(why) => {
                terminal.error(&format!("the log does not tell the programs of the run: {why}"));
                return Err(Exit::Failed);
            }
        },
    };
    let clock = Clock::new(args, terminal);
    let command = Command { args, file: &source.history, seed, terminal, clock, stage };
    let exit = match programs {
        Some(known) => command.with_programs(&mut reading, &known),
        None => command.without_programs(&mut reading),
    };
    let (exit, wanted) = match exit {
        Ok(exit) => (exit, exit == Exit::Violated),
        Err(exit) => (exit, false),
    };
    source.settle(wanted);
    Ok(if terminal.lost_output() { exit.and(Exit::Failed) } else { exit })
}

/// The command on a run that has been read.
struct Command<'a> {
    args: &'a PredictArgs,
    file: &'a Path,
    seed: u64,
    terminal: &'a Terminal,
    clock: Clock,
    /// The real database.
    stage: Option<Stage>,
}

impl Command<'_> {
    /// Predicts from the history alone.
    fn without_programs(&self, reading: &mut Reading) -> std::result::Result<Exit, Exit> {
        if let Cow::Owned(expanded) = self.expanded(&reading.history)? {
            reading.history = expanded;
        }
        let settings = settings(self.args, false);
        let observed = self.observed(reading)?;
        let predictions = self.predict(&observed, &settings, reading)?;
        let begun = self.clock.begin("looking for fixes:", ALL);
        let fixes = self.fixes(&observed, &settings, &predictions);
        let parts = Parts { fixes: begun.elapsed(), ..Parts::default() };
        Ok(self.print(reading, settings, &predictions, FxHashMap::default(), fixes, None, parts))
    }

    /// Predicts, and executes the predictions again.
    fn with_programs(&self, reading: &mut Reading, known: &Known) -> std::result::Result<Exit, Exit> {
        let recorded = reading.history.clone();
        if let Cow::Owned(expanded) = self.expanded(&recorded)? {
            reading.history = expanded;
        }
        let settings = settings(self.args, true);
        let application = &*known.application;
        let observed = self.observed(reading)?;
        let run = Run::new(application, known.seed, &observed, &known.calls);
        let programs = StorePrograms::new(&run, &recorded).map_err(|trouble| {
            self.terminal.error(&format!("the run cannot be repeated: {trouble}"));
            Exit::Failed
        })?;
        let is_value_aware = settings.boundary == Boundary::ValueAware;
        let mut parts = Parts::default();
        let begun = self.clock.begin("executing programs on other values:", SEARCH);
        let executions = if is_value_aware {
            Some(
                Executions::explore(&recorded, &programs, &self.clock)
                    .map_err(|refusal| self.refuse(&refusal, reading))?,
            )
        } else {
            None
        };
        parts.programs = begun.elapsed();
        let observed = executions.as_ref().map_or(observed, Executions::observed);
        let run = executions.as_ref().map_or_else(|| run.clone(), |executions| run.with_forms(executions));
        let predictions = self.predict(&observed, &settings, reading)?;
        let begun = self.clock.begin("executing predictions again:", VALIDATION);
        let mut executed = self.execute(&run, &settings, &predictions)?;
        parts.validation = begun.elapsed();
        let until = if self.args.baseline.is_some() { FIXES } else { ALL };
        let begun = self.clock.begin("looking for fixes:", until);
        let fixes = self.fixes(&observed, &settings, &predictions);
        parts.fixes = begun.elapsed();
        let begun = self.clock.begin("executing the run at random:", ALL);
        let random =
            |runs| baseline(&run, settings.level, settings.target, runs as usize, self.seed, &self.clock);
        executed.baseline = self.args.baseline.map(random);
        parts.baseline = begun.elapsed();
        let begun = self.clock.begin("running predictions on the database:", ALL);
        executed.played = self.play(&run, &settings, &predictions)?;
        parts.database = begun.elapsed();
        executed.incomplete = executions.as_ref().map_or(0, |executions| executions.incomplete);
        let forms = executions.iter().flat_map(Executions::forms).collect();
        if let Some(executions) = &executions {
            reading.history = executions.history().clone();
        }
        Ok(self.print(reading, settings, &predictions, forms, fixes, Some(executed), parts))
    }

    fn expanded<'h>(&self, history: &'h History) -> std::result::Result<Cow<'h, History>, Exit> {
        match history.expand_ranges() {
            Ok(Some(expanded)) => Ok(Cow::Owned(expanded)),
            Ok(None) => Ok(Cow::Borrowed(history)),
            Err(limit) => {
                self.terminal.error(&format!("the history has more than {} {}", limit.most, limit.what));
                Err(Exit::Failed)
            }
        }
    }

    fn observed<'h>(&'h self, reading: &'h Reading) -> std::result::Result<Observed<'h>, Exit> {
        let observed = Observed::new(&reading.history, &self.clock);
        let observed = observed.map_err(|refusal| self.refuse(&refusal, reading))?;
        warn(&observed, self.terminal);
        Ok(observed)
    }

    fn predict(
        &self,
        observed: &Observed<'_>,
        settings: &Settings,
        reading: &Reading,
    ) -> std::result::Result<Predictions, Exit> {
        self.clock.begin("predicting:", SEARCH);
        predict(observed, settings, &self.clock).map_err(|refusal| self.refuse(&refusal, reading))
    }

    /// Looks for a fix of each prediction. Each search has an equal share of the time that is left.
    fn fixes(
        &self,
        observed: &Observed<'_>,
        settings: &Settings,
        predictions: &Predictions,
    ) -> Vec<std::result::Result<Fix, String>> {
        let until = self.clock.until();
        let count = predictions.found.len();
        let one = |(place, one): (usize, &Prediction)| {
            self.clock.share(until, count - place);
            match fix(observed, settings, one, &self.clock) {
                Ok(Some(fix)) => Ok(fix),
                Ok(None) => Err("the time limit (--timeout) was reached".to_owned()),
                Err(refusal) => Err(refusal.to_string()),
            }
        };
        predictions.found.iter().enumerate().map(one).collect()
    }

    fn execute(
        &self,
        run: &Run<'_>,
        settings: &Settings,
        predictions: &Predictions,
    ) -> std::result::Result<Executed, Exit> {
        let mut tally = Tally::new(predictions.found.len());
        let mut validations = Vec::with_capacity(predictions.found.len());
        for (place, one) in predictions.found.iter().enumerate() {
            let validation = validate(one, run, settings, &self.clock);
            tally.note(place, &validation.class);
            validations.push(validation);
        }
        let counts = tally.counts().map_err(|lost| {
            self.terminal.error(&lost.to_string());
            Exit::Failed
        })?;
        Ok(Executed {
            application: run.application.name(),
            validations,
            counts,
            baseline: None,
            played: Vec::new(),
            incomplete: 0,
            calls: run.calls.iter().copied().collect(),
        })
    }

    /// Makes the scripts of the predictions, and runs them if there is a database.
    fn play(
        &self,
        run: &Run<'_>,
        settings: &Settings,
        predictions: &Predictions,
    ) -> std::result::Result<Vec<Played>, Exit> {
        let mut played = Vec::new();
        if let Some(engine) = settings.engine {
            for (number, one) in (1..).zip(&predictions.found) {
                let places = (self.args.stage.out.as_deref(), self.stage.as_ref());
                played.push(play(one, number, (engine, settings), run, places, self.terminal)?);
            }
        }
        Ok(played)
    }

    #[allow(clippy::too_many_arguments, reason = "everything that a report is made of")]
    fn print(
        &self,
        reading: &Reading,
        settings: Settings,
        predictions: &Predictions,
        forms: FxHashMap<Txn, Txn>,
        fixes: Vec<std::result::Result<Fix, String>>,
        executed: Option<Executed>,
        parts: Parts,
    ) -> Exit {
        self.clock.bar.finish_and_clear();
        let seconds = self.clock.start.elapsed().as_secs_f64();
        detail(&predictions.figures, &parts, seconds, self.terminal);
        let (args, file) = (self.args, self.file);
        let result =
            Result { args, file, settings, reading, predictions, forms, fixes, executed, parts, seconds };
        self.terminal.print(&match self.args.format {
            TextStyle::Full => text::render(&result),
            TextStyle::Json => format!("{:#}\n", json::render(&result)),
        });
        result.exit()
    }

    /// The run itself is not serializable; perhaps it violates the target, too.
    fn not_serializable(&self, judgement: &Judgement, reading: &Reading) -> Exit {
        let (args, terminal) = (self.args, self.terminal);
        let target = args.violates;
        let of_target = if target == Level::Serializable {
            Some((true, judgement.clone()))
        } else {
            match Observed::violates(&reading.history, target, &self.clock) {
                Ok(of_target) => of_target,
                Err(refusal) => return self.refuse(&refusal, reading),
            }
        };
        let (violates, shown) = match &of_target {
            Some((true, of_target)) => (Some(true), of_target),
            Some((false, _)) => (Some(false), judgement),
            None => (None, judgement),
        };
        terminal.print(&match args.format {
            TextStyle::Full => text::not_serializable(reading, shown, target, violates),
            TextStyle::Json => {
                format!("{:#}\n", json::not_serializable(args, self.file, shown, violates))
            }
        });
        if violates == Some(true) { Exit::Violated } else { Exit::Unknown }
    }

    /// Says why nothing can be predicted.
    fn refuse(&self, refusal: &Refusal, reading: &Reading) -> Exit {
        self.clock.bar.finish_and_clear();
        let (args, terminal) = (self.args, self.terminal);
        match refusal {
            Refusal::NotSerializable(judgement) => self.not_serializable(judgement, reading),
            Refusal::Level(_) | Refusal::Target(_) | Refusal::Implied { .. } => {
                terminal.error(&refusal.to_string());
                Exit::Usage
            }
            Refusal::Mismatch { .. } => {
                terminal.error(&format!("the log does not match the history: {refusal}"));
                Exit::Failed
            }
            Refusal::Internal(_) => {
                terminal.error(&refusal.to_string());
                terminal.error("this is a bug; please report it with the command line and the input");
                Exit::Failed
            }
            _ => {
                if args.format == TextStyle::Json {
                    terminal.print(&format!("{:#}\n", json::nothing(args, self.file, refusal)));
                }
                terminal.error(&format!("nothing can be predicted: {refusal}"));
                Exit::Unknown
            }
        }
    }
}

fn settings(args: &PredictArgs, has_programs: bool) -> Settings {
    let chosen = match args.boundary.unwrap_or(BoundaryArg::Auto) {
        BoundaryArg::Strict => Boundary::Strict,
        BoundaryArg::ValueAware => Boundary::ValueAware,
        BoundaryArg::Auto if has_programs => Boundary::ValueAware,
        BoundaryArg::Relaxed | BoundaryArg::Auto => Boundary::Relaxed,
    };
    let (boundary, approximate) = match args.strategy {
        Some(StrategyArg::ExactStrict) => (Boundary::Strict, false),
        Some(StrategyArg::ApproxStrict) => (Boundary::Strict, true),
        Some(StrategyArg::ApproxRelaxed) => (Boundary::Relaxed, true),
        None => (chosen, false),
    };
    // The strict strategies of the paper know only the last write of a key (section 2.1).
    let final_writes = matches!(args.strategy, Some(StrategyArg::ExactStrict | StrategyArg::ApproxStrict));
    let (most, window) = (args.most as usize, args.window as usize);
    let engine = args.stage.engine;
    let level = engine.map(Engine::level).or(args.level).unwrap_or(Level::ReadCommitted);
    let target = args.violates;
    Settings { level, target, boundary, approximate, final_writes, most, window, engine }
}

/// What the prediction assumes about the run.
fn warn(observed: &Observed<'_>, terminal: &Terminal) {
    if observed.left_out() > 0 {
        let count = counted(observed.left_out() as u64, "transaction");
        terminal.warning(&format!("{count} of unknown outcome left out: no read shows that they committed"));
    }
    if observed.ambiguous() > 0 {
        let count = counted(observed.ambiguous() as u64, "read");
        terminal.warning(&format!(
            "{count} returned a value with several possible writers: the one in the serial order of the run is assumed"
        ));
    }
}

/// The work, with `--verbose`.
fn detail(figures: &Figures, parts: &Parts, seconds: f64, terminal: &Terminal) {
    let Figures { transactions, reads, windows, variables, clauses, conflicts, lazy, .. } = figures;
    let windows = counted(*windows, "window");
    terminal.detail(&format!(
        "{transactions} transactions, {reads} reads that can change, {windows}; {variables} variables, {clauses} clauses, {lazy} of them lazy, {conflicts} conflicts"
    ));
    terminal.detail(&format!(
        "{} candidates, {} orders learnt, {} candidates excluded one by one",
        figures.candidates, figures.orders, figures.excluded
    ));
    let parts = [
        ("programs", parts.programs),
        ("encoding", figures.encoding),
        ("solver", figures.solving),
        ("order check", figures.checking),
        ("interleavings", figures.interleaving),
        ("oracle", figures.oracle),
        ("learning", figures.learning),
        ("minimising", figures.minimising),
        ("validation", parts.validation),
        ("fixes", parts.fixes),
        ("random executions", parts.baseline),
        ("database", parts.database),
    ];
    let share = |time: Duration| ratio(if seconds > 0.0 { time.as_secs_f64() / seconds } else { 0.0 });
    let parts: Vec<String> = parts
        .iter()
        .map(|(name, time)| format!("{name} {:.3} s ({})", time.as_secs_f64(), share(*time)))
        .collect();
    terminal.detail(&format!("predicted in {seconds:.3} s: {}", parts.join(", ")));
}

/// What of the time limit may have passed at the end of a stage: what follows needs the rest.
const SEARCH: f64 = 0.8;
const VALIDATION: f64 = 0.9;
const FIXES: f64 = 0.95;
const ALL: f64 = 1.0;

/// The time limit and the progress bar.
struct Clock {
    start: Instant,
    limit: Option<Duration>,
    /// When the stage at hand ends, in nanoseconds from the start.
    end: AtomicU64,
    bar: ProgressBar,
}

impl Clock {
    fn new(args: &PredictArgs, terminal: &Terminal) -> Clock {
        let limit = match args.timeout {
            Timeout::Never => None,
            Timeout::After(time) => Some(time),
        };
        let bar = terminal.progress("predicting", None, Unit::Count);
        let clock = Clock { start: Instant::now(), limit, end: AtomicU64::new(u64::MAX), bar };
        clock.set(SEARCH);
        clock
    }

    /// Begins a stage that ends when this part of the time limit has passed.
    fn begin(&self, message: &'static str, part: f64) -> Instant {
        self.set(part);
        self.bar.set_message(message);
        Instant::now()
    }

    fn set(&self, part: f64) {
        if let Some(limit) = self.limit {
            self.end.store(nanoseconds(limit.mul_f64(part)), Ordering::Relaxed);
        }
    }

    /// When the stage at hand ends.
    fn until(&self) -> Duration {
        Duration::from_nanos(self.end.load(Ordering::Relaxed))
    }

    /// Gives what follows one of several equal shares of the time until then.
    fn share(&self, until: Duration, shares: usize) {
        if self.limit.is_some() {
            let now = self.start.elapsed();
            let share = until.saturating_sub(now) / shares.max(1) as u32;
            self.end.store(nanoseconds(now + share), Ordering::Relaxed);
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl isoscope_check::Watch for Clock {
    fn limit(&self) -> Option<Limit> {
        (nanoseconds(self.start.elapsed()) >= self.end.load(Ordering::Relaxed)).then_some(Limit::Time)
    }
}

impl Watch for Clock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn progress(&self, progress: &Progress) {
        let Progress { window, windows, orders, found, candidates } = progress;
        let window = if *windows > 1 { format!("window {window} of {windows}, ") } else { String::new() };
        self.bar
            .set_message(format!("predicting: {window}{found} found, {orders} orders learnt, candidates:"));
        self.bar.set_position(*candidates);
    }
}

//! `isoscope predict`: the executions that a weaker level would permit.
//!
//! `predict/text.rs` and `predict/json.rs` write the result.

mod json;
mod text;

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use isoscope_certificate::Limit;
use isoscope_formats::Reading;
use isoscope_predict::{
    Boundary, Figures, Observed, Prediction, Predictions, Progress, Refusal, Settings, Watch, predict,
};
use isoscope_report::words::counted;

use super::open;
use crate::args::{BoundaryArg, PredictArgs, StrategyArg, TextStyle, Timeout};
use crate::exit::Exit;
use crate::terminal::{Terminal, Unit};

/// What was predicted from a file.
pub(crate) struct Result<'a> {
    pub(crate) args: &'a PredictArgs,
    pub(crate) settings: Settings,
    pub(crate) reading: &'a Reading,
    pub(crate) predictions: &'a Predictions,
    pub(crate) seconds: f64,
}

impl Result<'_> {
    /// The word for the outcome.
    pub(crate) fn status(&self) -> &'static str {
        match (self.predictions.found.is_empty(), self.predictions.limit) {
            (false, _) => "predicted",
            (true, None) => "none",
            (true, Some(_)) => "unknown",
        }
    }

    pub(crate) fn found(&self) -> &[Prediction] {
        &self.predictions.found
    }
}

pub(crate) fn run(args: &PredictArgs, terminal: &Terminal) -> Exit {
    let Ok(mut reading) = open::open(&args.history, false, &args.read, None, terminal) else {
        return Exit::Failed;
    };
    match reading.history.expand_ranges() {
        Ok(Some(expanded)) => reading.history = expanded,
        Ok(None) => {}
        Err(limit) => {
            terminal.error(&format!("the history has more than {} {}", limit.most, limit.what));
            return Exit::Failed;
        }
    }
    let settings = settings(args);
    let clock = Clock::new(args, terminal);
    let outcome = Observed::new(&reading.history, &clock).and_then(|observed| {
        warn(&observed, terminal);
        predict(&observed, &settings, &clock)
    });
    clock.bar.finish_and_clear();
    let seconds = clock.start.elapsed().as_secs_f64();
    let predictions = match outcome {
        Ok(predictions) => predictions,
        Err(refusal) => return refuse(&refusal, args, &reading, terminal),
    };
    detail(&predictions.figures, seconds, terminal);
    let result = Result { args, settings, reading: &reading, predictions: &predictions, seconds };
    terminal.print(&match args.format {
        TextStyle::Full => text::render(&result),
        TextStyle::Json => format!("{:#}\n", json::render(&result)),
    });
    match result.status() {
        _ if terminal.lost_output() => Exit::Failed,
        "predicted" => Exit::Violated,
        "none" => Exit::Holds,
        _ => Exit::Unknown,
    }
}

fn settings(args: &PredictArgs) -> Settings {
    let (boundary, approximate) = match (args.strategy, args.boundary) {
        (Some(StrategyArg::ExactStrict), _) | (None, Some(BoundaryArg::Strict)) => (Boundary::Strict, false),
        (Some(StrategyArg::ApproxStrict), _) => (Boundary::Strict, true),
        (Some(StrategyArg::ApproxRelaxed), _) => (Boundary::Relaxed, true),
        (None, _) => (Boundary::Relaxed, false),
    };
    let (most, window) = (args.most as usize, args.window as usize);
    Settings { target: args.violates, boundary, approximate, most, window, ..Settings::new(args.level) }
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

/// Says why nothing can be predicted.
fn refuse(refusal: &Refusal, args: &PredictArgs, reading: &Reading, terminal: &Terminal) -> Exit {
    match refusal {
        Refusal::NotSerializable(judgement) => {
            terminal.print(&match args.format {
                TextStyle::Full => text::not_serializable(reading, judgement),
                TextStyle::Json => format!("{:#}\n", json::not_serializable(args, judgement)),
            });
            if args.violates.implies(judgement.level) { Exit::Violated } else { Exit::Unknown }
        }
        Refusal::Level(_) | Refusal::Target(_) | Refusal::Implied { .. } => {
            terminal.error(&refusal.to_string());
            Exit::Usage
        }
        Refusal::Internal(_) => {
            terminal.error(&refusal.to_string());
            terminal.error("this is a bug; please report it with the command line and the input");
            Exit::Failed
        }
        _ => {
            if args.format == TextStyle::Json {
                terminal.print(&format!("{:#}\n", json::nothing(args, refusal)));
            }
            terminal.error(&format!("nothing can be predicted: {refusal}"));
            Exit::Unknown
        }
    }
}

/// The work, with `--verbose`.
fn detail(figures: &Figures, seconds: f64, terminal: &Terminal) {
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
        ("encoding", figures.encoding),
        ("solver", figures.solving),
        ("order check", figures.checking),
        ("oracle", figures.oracle),
        ("learning", figures.learning),
        ("minimising", figures.minimising),
    ];
    let parts: Vec<String> =
        parts.iter().map(|(name, time)| format!("{name} {:.3} s", time.as_secs_f64())).collect();
    terminal.detail(&format!("predicted in {seconds:.3} s: {}", parts.join(", ")));
}

/// The time limit and the progress bar.
struct Clock {
    start: Instant,
    limit: Option<Duration>,
    bar: ProgressBar,
}

impl Clock {
    fn new(args: &PredictArgs, terminal: &Terminal) -> Clock {
        let limit = match args.timeout {
            Timeout::Never => None,
            Timeout::After(time) => Some(time),
        };
        Clock { start: Instant::now(), limit, bar: terminal.progress("predicting", None, Unit::Count) }
    }
}

impl isoscope_check::Watch for Clock {
    fn limit(&self) -> Option<Limit> {
        self.limit.filter(|&limit| self.start.elapsed() >= limit).map(|_| Limit::Time)
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

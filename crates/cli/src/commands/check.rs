//! `isoscope check`: which isolation levels a history satisfies, and why not the others.
//!
//! This file reads, judges and decides the exit code; each style of output is a file beside it and a function
//! of the [`Report`]. Clocks are read here and nowhere below, and show up only as seconds.

mod concise;
mod elle;
mod full;
mod json;
mod junit;
mod report;
mod rounds;
mod snippet;
#[cfg(test)]
mod tests;
mod watch;

use std::path::Path;
use std::time::Instant;

use isoscope_check::{Checker, Judgement, Options, Unknown, Verdict, Watch as _};
use isoscope_explain::visible;
use isoscope_formats::{Failure, Problem, Reading, Severity};
use isoscope_history::History;
use isoscope_levels::Level;
use isoscope_verify::Verifier;

use crate::args::{AskedLevel, CheckArgs, CheckStyle, JudgeArgs, UnknownOrder};
use crate::commands::open;
use crate::exit::Exit;
use crate::terminal::{Terminal, Unit};
use crate::words;

use rounds::{Asked, Slices};
use watch::{Onlooker, Staged};

pub(crate) use concise::verdicts;
pub(crate) use full::{anomalies, lattice, title_of};
pub(crate) use report::{Certified, Figures, Judged, Report};
pub(crate) use watch::{Limits, TimeLimit, room};

pub(crate) fn run(args: &CheckArgs, terminal: &Terminal) -> Exit {
    let mut exit = Exit::Holds;
    let mut output = Output::new(args.judge.format);
    for file in &args.files {
        let result = open::open(file, args.files.len() > 1, &args.read, args.judge.memory, terminal)
            .and_then(|reading| check(file, reading, &args.judge, terminal));
        exit = exit.and(match &result {
            Ok(report) => report.exit(),
            Err(failure) if failure.no_room => Exit::Unknown,
            Err(_) => Exit::Failed,
        });
        if let Ok(report) = &result {
            warn_if_empty(report, terminal);
        }
        terminal.print(&output.add(file, result.as_ref()));
        if output.files == args.files.len() {
            // The process ends here. To give a large history back piece by piece takes longer than to leave it.
            std::mem::forget(result);
        }
    }
    terminal.print(&output.finish());
    if terminal.lost_output() { exit.and(Exit::Failed) } else { exit }
}

/// Judges a history at the levels asked for. Fails when a certificate does not convince the verifier.
pub(crate) fn check(
    file: &Path,
    mut reading: Reading,
    args: &JudgeArgs,
    terminal: &Terminal,
) -> Result<Report, Failure> {
    let figures = Figures::of(&reading.history);
    reading.history = to_be_judged(reading.history, args.unknown)?;
    let levels = levels(&args.level, args.format);
    // Without timestamps there is nothing to trust, and what clients saw stays the real time.
    let trust_timestamps = args.trust_timestamps && reading.history.timestamps().is_some();
    let options = Options { max_anomalies: shown_anomalies(args), trust_timestamps };
    if args.trust_timestamps && !trust_timestamps {
        let name = visible(&file.display().to_string());
        terminal.warning(&format!("{name} has no database timestamps: --trust-timestamps has no effect"));
    }
    let limits = Limits { time: args.time_limit(), memory: args.memory };
    let started = Instant::now();
    let judged = judge(&reading.history, &levels, options, limits, terminal);
    let seconds = started.elapsed().as_secs_f64();
    let operations = figures.operations as u64;
    terminal.detail(&format!("checked {} in {seconds:.3} s", words::counted(operations, "operation")));
    let one = |asked: &AskedLevel| matches!(asked, AskedLevel::One(_));
    let (file, named) = (file.display().to_string(), args.level.iter().any(one));
    let without_sessions = Vec::new();
    let mut report = Report { file, reading, figures, judged, without_sessions, named, limits, seconds };
    if args.format == CheckStyle::Elle {
        judge_without_sessions(&mut report, options, args.certify, terminal)?;
    }
    if args.certify {
        certify(&mut report, trust_timestamps, terminal)?;
    }
    Ok(report)
}

/// What the checker is asked about: range reads are reads of every key in the range, and where transactions of unknown outcome may
/// take effect late, their sessions do not order them.
fn to_be_judged(history: History, unknown: UnknownOrder) -> Result<History, Failure> {
    let history = match unknown {
        UnknownOrder::Late => history.with_late_unknown().unwrap_or(history),
        UnknownOrder::InOrder => history,
    };
    match history.expand_ranges() {
        Ok(expanded) => Ok(expanded.unwrap_or(history)),
        Err(limit) => {
            let message = format!("the history has more than {} {}", limit.most, limit.what);
            let problem = Problem { severity: Severity::Error, place: None, message, help: None };
            Err(Failure { format: None, problems: vec![problem], no_room: false })
        }
    }
}

/// Judges anew, without the order of sessions, the levels of which it is open whether they fail without it. Elle has
/// names for both forms.
fn judge_without_sessions(
    report: &mut Report,
    options: Options,
    certify: bool,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let open = elle::open_without_sessions(report);
    if open.is_empty() {
        return Ok(());
    }
    let history = report.reading.history.apart();
    let judged = judge(&history, &open, options, report.limits, terminal);
    report.without_sessions = judged.into_iter().map(|judged| judged.judgement).collect();
    if certify {
        verify(&report.without_sessions, &history, options.trust_timestamps, report, terminal)?;
    }
    Ok(())
}

/// The levels that are asked for, in the order they were named, without repetitions. Elle's names are of all levels.
fn levels(asked: &[AskedLevel], format: CheckStyle) -> Vec<Level> {
    if asked.is_empty() {
        return if format == CheckStyle::Elle { Level::ALL.into() } else { Level::COMMON.into() };
    }
    let named = asked.iter().flat_map(|asked| match asked {
        AskedLevel::All => Level::ALL.to_vec(),
        AskedLevel::One(level) => vec![*level],
    });
    let mut levels = Vec::new();
    for level in named {
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    levels
}

/// How many occurrences of each anomaly to keep.
fn shown_anomalies(args: &JudgeArgs) -> usize {
    match (args.max_anomalies, args.format) {
        (Some(0), _) => usize::MAX,
        (Some(n), _) => n,
        (None, CheckStyle::Json | CheckStyle::Jsonl | CheckStyle::Elle) => 10,
        (None, _) => 3,
    }
}

/// Asks for the levels, each timed, and answers in their order.
pub(crate) fn judge(
    history: &History,
    levels: &[Level],
    options: Options,
    limits: Limits,
    terminal: &Terminal,
) -> Vec<Judged> {
    let bar = terminal.progress("checking", Some(levels.len() as u64), Unit::Count);
    let onlooker = Onlooker::new(limits, terminal, bar.clone());
    let whole = match limits.time {
        Some(TimeLimit::History(time)) => Some(time),
        Some(TimeLimit::Level(_)) | None => None,
    };
    let slices = Slices::new(&onlooker, whole);
    let mut checker = Checker::watched(history, options, &slices);
    let mut stages: Vec<(Level, Staged)> = Vec::new();
    let before = |level: Level| {
        bar.set_message(format!("checking {level}"));
        onlooker.begin(level);
    };
    let mut after = |judgement: &Judgement| {
        let decided = !matches!(judgement.verdict, Verdict::Unknown(_));
        bar.inc(decided.into());
        stages.extend(onlooker.take_stages().into_iter().map(|stage| (judgement.level, stage)));
    };
    let asked = rounds::ask(&mut checker, &slices, levels, &before, &mut after);
    let mut judged: Vec<(Option<usize>, Judged)> = asked
        .into_iter()
        .map(|Asked { level, judgement, seconds }| {
            let place = levels.iter().position(|&other| other == level);
            (place, Judged { judgement, seconds, stages: Vec::new(), certified: Certified::No })
        })
        .collect();
    bar.finish_and_clear();
    judged.sort_by_key(|&(place, _)| place);
    let mut judged: Vec<Judged> = judged.into_iter().map(|(_, judged)| judged).collect();
    share_out(stages, &mut judged);
    for Judged { judgement, seconds, .. } in &judged {
        terminal.detail(&format!(
            "{}: {} in {seconds:.3} s",
            judgement.level,
            report::verdict_word(judgement)
        ));
    }
    judged
}

/// Puts each stage to the level that it decided; to the one that was asked for, where the other was only needed on
/// the way.
fn share_out(stages: Vec<(Level, Staged)>, judged: &mut [Judged]) {
    for (asked, stage) in stages {
        let place = |level| judged.iter().position(|judged| judged.judgement.level == level);
        if let Some(place) = place(stage.level).or_else(|| place(asked)) {
            judged[place].stages.push(stage);
        }
    }
}

/// Lets the verifier look at every verdict.
fn certify(report: &mut Report, trust_timestamps: bool, terminal: &Terminal) -> Result<(), Failure> {
    let started = Instant::now();
    let judgements = report.judged.iter().map(|judged| &judged.judgement);
    let certified = verify(judgements, &report.reading.history, trust_timestamps, report, terminal)?;
    for (judged, certified) in report.judged.iter_mut().zip(certified) {
        judged.certified = certified;
    }
    terminal.detail(&format!("verified in {:.3} s", started.elapsed().as_secs_f64()));
    Ok(())
}

/// What the verifier says about some verdicts on a history. It may use as much as the check, once more.
fn verify<'j>(
    judgements: impl IntoIterator<Item = &'j Judgement>,
    history: &History,
    trust_timestamps: bool,
    report: &Report,
    terminal: &Terminal,
) -> Result<Vec<Certified>, Failure> {
    let onlooker = Onlooker::new(report.limits, terminal, indicatif::ProgressBar::hidden());
    let budget = || onlooker.limit();
    let verifier = Verifier::new(history).within(&budget);
    let verifier = if trust_timestamps { verifier.trusting_timestamps() } else { verifier };
    let verify = |judgement: &Judgement| {
        if matches!(judgement.verdict, Verdict::Unknown(_)) {
            return Ok(Certified::No);
        }
        onlooker.begin_silently(judgement.level);
        let Err(why) = verifier.verify(judgement) else { return Ok(Certified::Yes) };
        let Some(limit) = why.stopped else {
            return Err(refuted(&report.file, judgement, &why, terminal));
        };
        let reason = report.reason(&Unknown::Limit(limit)).1;
        terminal.warning(&format!("{} is not certified: {reason}", judgement.level));
        Ok(Certified::Stopped(limit))
    };
    judgements.into_iter().map(verify).collect()
}

/// A verdict that its own certificate does not prove is never shown: it may be wrong.
fn refuted(file: &str, judgement: &Judgement, why: &impl std::fmt::Display, terminal: &Terminal) -> Failure {
    let level = judgement.level;
    let message = format!("isoscope is broken: its verdict on {file} for {level} does not stand: {why}");
    terminal.error(&message);
    terminal.error("this is a bug; please report it with the command line and the input");
    let problem = Problem { severity: Severity::Error, place: None, message, help: None };
    Failure { format: None, problems: vec![problem], no_room: false }
}

/// A history without anything to check is not a green one, and a silent one is a trap.
fn warn_if_empty(report: &Report, terminal: &Terminal) {
    if report.nothing_to_check() {
        let file = visible(&report.file);
        terminal.warning(&format!("{file}: {}", report.reason(&Unknown::NothingToCheck).1));
    }
}

/// The report on one file, in a style.
pub(crate) fn render(report: &Report, style: CheckStyle) -> String {
    let mut output = Output::new(style);
    output.add(Path::new(&report.file), Ok(report)) + &output.finish()
}

/// The report on one file as JUnit XML, in which levels fail only if they are promised.
pub(crate) fn junit_of_promise(report: &Report, promise: Level) -> String {
    let mut suites = junit::Suites::of_promise(promise);
    suites.add(&report.file, Ok(report));
    suites.render()
}

/// The report on one file, for machines.
pub(crate) fn json(report: &Report) -> serde_json::Value {
    json::render(&report.file, Ok(report))
}

/// What a file came to.
type Outcome<'a> = Result<&'a Report, &'a Failure>;

/// The results so far, for the styles that need all of them before they can print one.
struct Output {
    style: CheckStyle,
    files: usize,
    values: Vec<serde_json::Value>,
    suites: junit::Suites,
    tally: full::Tally,
}

impl Output {
    fn new(style: CheckStyle) -> Output {
        let (values, suites, tally) = (Vec::new(), junit::Suites::default(), full::Tally::default());
        Output { style, files: 0, values, suites, tally }
    }

    /// Takes in a file and returns what to print for it now.
    fn add(&mut self, file: &Path, outcome: Outcome<'_>) -> String {
        let name = file.display().to_string();
        self.files += 1;
        match self.style {
            CheckStyle::Full => {
                self.tally.add(outcome);
                let gap = if self.files > 1 { "\n" } else { "" };
                outcome.map_or(String::new(), |report| format!("{gap}{}", full::render(report)))
            }
            CheckStyle::Concise => concise::render(&name, outcome),
            CheckStyle::Jsonl => format!("{}\n", json::render(&name, outcome)),
            CheckStyle::Json => {
                self.values.push(json::render(&name, outcome));
                String::new()
            }
            CheckStyle::Elle => elle::render(&name, outcome),
            CheckStyle::Junit => {
                self.suites.add(&name, outcome);
                String::new()
            }
        }
    }

    /// What to print at the end.
    fn finish(mut self) -> String {
        match self.style {
            CheckStyle::Full if self.files > 1 => self.tally.render(),
            CheckStyle::Json if self.values.len() == 1 => format!("{:#}\n", self.values.remove(0)),
            CheckStyle::Json => format!("{:#}\n", serde_json::Value::Array(self.values)),
            CheckStyle::Junit => self.suites.render(),
            _ => String::new(),
        }
    }
}

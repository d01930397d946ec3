//! `isoscope check`: which isolation levels a history satisfies, and why not the others.
//!
//! This file reads the input, calls the library, and chooses the exit code. The library renders the reports.

mod certificates;
mod watch;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use isoscope::report::{Outcome, concise, elle, full, json, junit};
use isoscope::{Certified, Check, Detail, Judged, Judgements, Limits, Refuted, Report, Settings};
use isoscope_explain::visible;
use isoscope_formats::{Failure, Problem, Reading, Severity};
use isoscope_levels::Level;
use isoscope_levels::language::{Definition, Library};

use crate::args::{AskedLevel, CheckArgs, CheckStyle, JudgeArgs, Timeout};
use crate::commands::definitions::{Definitions, examine, full_name};
use crate::commands::interrupt;
use crate::commands::open;
use crate::exit::Exit;
use crate::terminal::{Ansi, DIM, Terminal, WARNING, styled};
use crate::words;

use watch::Shown;

pub(crate) fn run(args: &CheckArgs, terminal: &Terminal) -> Exit {
    let definitions = match asked_definitions(&args.judge, terminal) {
        Ok(definitions) => definitions,
        Err(exit) => return exit,
    };
    warn_of_certificates(args, &definitions, terminal);
    let limit = match args.judge.timeout {
        Some(Timeout::After(time)) => Some(time),
        Some(Timeout::Never) | None => None,
    };
    examine(&definitions, limit, terminal);
    let mut exit = Exit::Holds;
    let mut output = Output::new(args.judge.format);
    let directory = args.certificates.as_deref();
    let mut directories =
        directory.map(|directory| certificates::directories(&args.files, directory).into_iter());
    for file in &args.files {
        let directory = directories.as_mut().and_then(Iterator::next);
        let judged = open::open(file, args.files.len() > 1, &args.read, args.judge.memory, terminal)
            .and_then(|reading| judge(file, reading, &args.judge, &definitions, terminal));
        if let (Ok(judged), Some(directory)) = (&judged, directory) {
            exit = exit.and(keep(judged, &directory, terminal));
        }
        let result = judged.as_ref().map(|judged| report(judged, &args.judge));
        exit = exit.and(match &result {
            Ok(report) => exit_of(report),
            Err(failure) if failure.no_room => Exit::Unknown,
            Err(_) => Exit::Failed,
        });
        if let Ok(report) = &result {
            warn_if_empty(report, terminal);
        }
        terminal.print(&output.add(file, result.as_ref().map_err(|failure| *failure)));
        let left = args.files.len() - output.files;
        if interrupt::was_interrupted() && left > 0 {
            terminal.error(&format!("interrupted: {} not checked", counted_files(left)));
            exit = exit.and(Exit::Unknown);
            break;
        }
        if left == 0 {
            // The process ends here. Freeing a large history takes longer than leaving it to the system.
            std::mem::forget(judged);
        }
    }
    terminal.print(&output.finish());
    if terminal.lost_output() { exit.and(Exit::Failed) } else { exit }
}

/// `1 file was`, `3 files were`.
fn counted_files(n: usize) -> String {
    format!("{} {}", words::counted(n as u64, "file"), if n == 1 { "was" } else { "were" })
}

/// Checks a history at the requested levels. A level whose certificate the verifier refutes is unknown.
pub(crate) fn check(
    file: &Path,
    reading: Reading,
    args: &JudgeArgs,
    terminal: &Terminal,
) -> Result<Report, Failure> {
    judge(file, reading, args, &[], terminal).map(|judged| report(&judged, args))
}

/// The definitions to check. Errors are printed.
fn asked_definitions(args: &JudgeArgs, terminal: &Terminal) -> Result<Vec<Definition>, Exit> {
    let defined = |level: &AskedLevel| match level {
        AskedLevel::Defined(text) => Some(text.clone()),
        AskedLevel::All | AskedLevel::One(_) => None,
    };
    let names: Vec<String> = args.level.iter().filter_map(defined).collect();
    if names.is_empty() {
        // Parsing the shipped definitions takes longer than checking a small history.
        return Ok(Vec::new());
    }
    let mut known = Definitions::new(terminal);
    let mut asked: Vec<Definition> = Vec::new();
    for text in names {
        for definition in known.find_all(&text)? {
            if !asked.iter().any(|other| full_name(other) == full_name(&definition)) {
                asked.push(definition);
            }
        }
    }
    if !asked.is_empty() && args.format == CheckStyle::Elle {
        terminal.error(
            "--format elle has no place for definitions: use another format, or levels of the catalogue",
        );
        return Err(Exit::Usage);
    }
    Ok(asked)
}

/// Says that verdicts of definitions are not certified.
fn warn_of_certificates(args: &CheckArgs, definitions: &[Definition], terminal: &Terminal) {
    let is_searched = |one: &&Definition| Library::decided_by(one).is_none();
    let names: Vec<String> = definitions.iter().filter(is_searched).map(full_name).collect();
    if !names.is_empty() && (args.judge.certify || args.certificates.is_some()) {
        let names = names.join(", ");
        terminal.warning(&format!("definitions have no certificates; not certified: {names}"));
    }
}

fn judge(
    file: &Path,
    reading: Reading,
    args: &JudgeArgs,
    definitions: &[Definition],
    terminal: &Terminal,
) -> Result<Judgements<'static>, Failure> {
    if args.trust_timestamps && reading.history.timestamps().is_none() {
        let name = visible(&file.display().to_string());
        terminal.warning(&format!("{name} has no database timestamps: --trust-timestamps has no effect"));
    }
    if args.memory.is_some() && !isoscope::can_measure_memory() {
        terminal.warning("the memory in use cannot be measured on this system: --memory has no effect");
    }
    let operations = reading.history.op_count() as u64;
    let levels = levels(&args.level);
    let shown = (!terminal.is_quiet())
        .then(|| Arc::new(Shown::new(terminal, shown_levels(&levels, definitions, args.format))));
    let (_phase, stop) = interrupt::flagged("ending the check", terminal);
    let mut check = Check::new(reading)
        .interrupt(stop)
        .name(file.display().to_string())
        .levels(levels)
        .limits(Limits { time: args.time_limit(), memory: args.memory })
        .settings(Settings { time: Some("--timeout"), memory: Some("--memory") })
        .unknown_order(args.unknown.into())
        .trust_timestamps(args.trust_timestamps)
        .max_anomalies(shown_anomalies(args))
        .for_elle(args.format == CheckStyle::Elle);
    for definition in definitions {
        check = check.definition(definition.clone());
    }
    if let Some(shown) = &shown {
        check = check.progress(shown.clone());
    }
    let judged = check.judge();
    if let Some(shown) = &shown {
        shown.finish();
    }
    let mut judged = judged.map_err(|limit| {
        let message = format!("the history has more than {} {}", limit.most, limit.what);
        failure(message)
    })?;
    for level in judged.levels() {
        let word = isoscope::Word::from(&level.judgement.verdict);
        terminal.detail(&format!("{}: {word} in {:.3} s", level.judgement.level, level.seconds));
    }
    for one in judged.definitions() {
        terminal.detail(&format!("{}: decided in {:.3} s", full_name(&one.definition), one.seconds));
    }
    let seconds = judged.seconds();
    terminal.detail(&format!("checked {} in {seconds:.3} s", words::counted(operations, "operation")));
    if args.certify {
        certify(file, &mut judged, terminal);
    }
    Ok(judged)
}

/// Writes the certificates of a history. A failure concerns the directory: the verdicts stand.
fn keep(judged: &Judgements<'_>, directory: &Path, terminal: &Terminal) -> Exit {
    match certificates::write(judged, directory, terminal) {
        Ok(()) => Exit::Holds,
        Err(message) => {
            terminal.error(&message);
            Exit::Failed
        }
    }
}

/// The report, as detailed as the style needs.
fn report(judged: &Judgements<'_>, args: &JudgeArgs) -> Report {
    let mut report = judged.report(detail(args.format));
    report.named = args.level.iter().any(|asked| !matches!(asked, AskedLevel::All));
    report
}

/// How much of a report a style shows.
fn detail(style: CheckStyle) -> Detail {
    match style {
        CheckStyle::Concise | CheckStyle::Elle => Detail::Verdicts,
        CheckStyle::Full | CheckStyle::Junit => Detail::Stories,
        CheckStyle::Json | CheckStyle::Jsonl => Detail::Evidence,
    }
}

/// The requested levels, in the order in which they were named; none means the library's default.
fn levels(asked: &[AskedLevel]) -> Vec<Level> {
    let named = asked.iter().flat_map(|asked| match asked {
        AskedLevel::All => Level::ALL.to_vec(),
        AskedLevel::One(level) => vec![*level],
        AskedLevel::Defined(_) => Vec::new(),
    });
    named.collect()
}

/// The number of levels to decide.
fn shown_levels(levels: &[Level], definitions: &[Definition], format: CheckStyle) -> usize {
    match (levels.len(), format) {
        (0, _) if !definitions.is_empty() => definitions.len(),
        (0, CheckStyle::Elle) => Level::ALL.len(),
        (0, _) => Level::COMMON.len(),
        (n, _) => n,
    }
}

/// The number of occurrences of each anomaly to keep.
fn shown_anomalies(args: &JudgeArgs) -> usize {
    match (args.max_anomalies, args.format) {
        (Some(0), _) => usize::MAX,
        (Some(n), _) => n,
        (None, CheckStyle::Json | CheckStyle::Jsonl | CheckStyle::Elle) => 10,
        (None, _) => 3,
    }
}

/// Runs the verifier on every verdict.
fn certify(file: &Path, judged: &mut Judgements<'_>, terminal: &Terminal) {
    let started = Instant::now();
    if let Err(refuted) = judged.certify() {
        complain(file, &refuted, terminal);
    }
    let is_stopped = |level: &Judged| matches!(level.certified, Certified::Stopped(_));
    if judged.levels().iter().any(is_stopped) {
        for level in judged.report(Detail::Verdicts).levels {
            if let Some(reason) = level.not_certified {
                terminal.warning(&format!("{} is not certified: {reason}", level.level));
            }
        }
    }
    terminal.detail(&format!("verified in {:.3} s", started.elapsed().as_secs_f64()));
}

/// A verdict that its own certificate does not prove is never shown: it may be wrong. The level is unknown, and the other
/// verdicts stand.
fn complain(file: &Path, refuted: &Refuted, terminal: &Terminal) {
    let (file, Refuted { level, why, .. }) = (file.display(), refuted);
    let message = format!("isoscope is broken: its verdict on {file} for {level} does not stand: {why}");
    terminal.error(&message);
    terminal.error("this is a bug; please report it with the command line and the input");
}

/// The exit code of a report.
pub(crate) fn exit_of(report: &Report) -> Exit {
    if report.has_internal_error() { Exit::Failed } else { report.verdict.into() }
}

fn failure(message: String) -> Failure {
    let problem = Problem { severity: Severity::Error, place: None, message, help: None };
    Failure { format: None, problems: vec![problem], no_room: false }
}

/// A history without anything to check gets a warning: an empty report could be mistaken for *holds*.
fn warn_if_empty(report: &Report, terminal: &Terminal) {
    if let Some(reason) = report.nothing_to_check() {
        terminal.warning(&format!("{}: {reason}", visible(&report.file)));
    }
}

/// The report on one file, in a style.
pub(crate) fn render(report: &Report, style: CheckStyle) -> String {
    let mut output = Output::new(style);
    output.add(Path::new(&report.file), Ok(report)) + &output.finish()
}

/// A file that could not be read, with the result of a test in JSON.
pub(crate) fn render_unread(
    file: &Path,
    failure: &Failure,
    style: CheckStyle,
    test: serde_json::Value,
) -> String {
    let mut value = json::render(&file.display().to_string(), Err(failure));
    value["test"] = test;
    match style {
        CheckStyle::Json => format!("{value:#}\n"),
        CheckStyle::Jsonl => format!("{value}\n"),
        _ => {
            let mut output = Output::new(style);
            output.add(file, Err(failure)) + &output.finish()
        }
    }
}

/// The report on one file as JUnit XML, in which levels fail only if they are promised.
pub(crate) fn junit_of_promise(report: &Report, promise: Level) -> String {
    let mut suites = junit::Suites::of_promise(promise);
    suites.add(&report.file, Ok(report));
    suites.render()
}

/// The report on one file as JSON.
pub(crate) fn json(report: &Report) -> serde_json::Value {
    json::render(&report.file, Ok(report))
}

/// Where to learn more.
fn hint(report: &Report) -> String {
    report.anomalies().next().map_or_else(String::new, |finding| {
        let command = format!("isoscope explain {}", finding.anomaly);
        format!("{}\n", styled(DIM, format!("  `{command}` describes it and the levels that forbid it")))
    })
}

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
                outcome.map_or(String::new(), |report| {
                    format!("{gap}{}{}", full::render(report, &Ansi), hint(report))
                })
            }
            CheckStyle::Concise => match outcome {
                Err(failure) if failure.no_room => {
                    let why = "unknown (it exceeds the memory limit, --memory)";
                    format!("{}: {}\n", visible(&name), styled(WARNING, why))
                }
                _ => concise::render(&name, outcome, &Ansi),
            },
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
            CheckStyle::Full if self.files > 1 => self.tally.render(&Ansi),
            CheckStyle::Json if self.values.len() == 1 => format!("{:#}\n", self.values.remove(0)),
            CheckStyle::Json => format!("{:#}\n", serde_json::Value::Array(self.values)),
            CheckStyle::Junit => self.suites.render(),
            _ => String::new(),
        }
    }
}

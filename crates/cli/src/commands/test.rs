//! `isoscope test`: puts a database under load and checks whether it keeps the isolation it promises.
//!
//! The promise is the level that the database's documentation describes. The exit code is that of the promise, or of the levels
//! given with `--level`. The first line is the verdict. One sentence per anomaly follows. `--details` prints the full report of
//! `check` instead.

use std::path::{Path, PathBuf};

use isoscope::report::{concise, full};
use isoscope::{Report, Word};
use isoscope_explain::visible;
use isoscope_formats::Failure;
use isoscope_levels::{Anomaly, Level};
use isoscope_record::{Isolation, Promise};
use serde_json::{Value as Json, json};

use crate::args::{AskedLevel, CheckStyle, ReadArgs, TestArgs};
use crate::commands::check;
use crate::commands::open;
use crate::commands::outputs::OutputFile;
use crate::commands::record::{Load, Recorded};
use crate::exit::Exit;
use crate::terminal::{self, Ansi, BOLD, DIM, ERROR, GOOD, Terminal, WARNING, styled};
use crate::words::{counted, wrap};

pub(crate) fn run(args: &TestArgs, terminal: &Terminal) -> Exit {
    match test(args, terminal) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn test(args: &TestArgs, terminal: &Terminal) -> Result<Exit, Exit> {
    if args.judge.level.iter().any(|asked| matches!(asked, AskedLevel::Defined(_))) {
        let help = "keep the history with --output and check it with `isoscope check --level FILE.iso`";
        terminal.error(&format!("--level takes levels of the catalogue here: {help}"));
        return Err(Exit::Usage);
    }
    if args.output.as_ref().is_some_and(|output| output.as_os_str() == "-") {
        let help = "name a file, or use `isoscope record --output - | isoscope check -`";
        terminal.error(&format!("the report goes to standard output, so the history cannot: {help}"));
        return Err(Exit::Usage);
    }
    let mut load = Load::new(&args.database, &args.load, args.output.as_deref(), terminal)?;
    let place = Place::new(args, terminal)?;
    let subject = Subject::of(&load);
    terminal.note(&subject.announcement());
    let (file, history) = OutputFile::open(place.path(), terminal)?;
    let recorded = load.record(Some(&file), history, &args.load, terminal)?;
    // Stops the server: checking may take long and does not need it.
    drop(load);
    if recorded.is_empty_failure() {
        return Err(recorded.exit(terminal));
    }
    terminal.note(&recorded.text());
    let exit = recorded.exit(terminal);
    let report = open::open(place.path(), false, &ReadArgs { from: None }, args.judge.memory, terminal)
        .and_then(|reading| check::check(place.path(), reading, &args.judge, terminal))
        .inspect_err(|failure| {
            if failure.no_room {
                terminal.print(&unread(&subject, failure, &recorded, args, place.path()));
            }
        })
        .map_err(|failure| if failure.no_room { Exit::Unknown } else { Exit::Failed });
    let report = match report {
        Ok(report) => report,
        Err(failed) => {
            // Keep the file: the user needs it to find the cause.
            place.settle(true, terminal);
            return Err(exit.and(failed));
        }
    };
    let kept = subject.kept(&report);
    let judged = if report.has_internal_error() { Exit::Failed } else { kept.exit(&recorded) };
    // The report points into the file, so the file is kept.
    let wanted = judged != Exit::Holds || report.verdict != Word::Holds || args.details;
    let result = TestResult { subject: &subject, kept, recorded: &recorded, report: &report };
    terminal.print(&result.render(args.judge.format, args.details));
    place.settle(wanted, terminal);
    let exit = exit.and(judged);
    Ok(if terminal.lost_output() { exit.and(Exit::Failed) } else { exit })
}

/// The result of a test whose history does not fit into the memory: the promise is unknown.
fn unread(subject: &Subject, failure: &Failure, recorded: &Recorded, args: &TestArgs, path: &Path) -> String {
    let asked = args.judge.level.iter().any(|asked| !matches!(asked, AskedLevel::All));
    let kept = match subject.promise {
        Some(Promise { level, .. }) if !asked => Kept::Promise(level, Exit::Unknown),
        _ => Kept::Asked(Exit::Unknown),
    };
    match args.judge.format {
        CheckStyle::Full | CheckStyle::Concise => format!("{}\n", subject.verdict(kept, recorded)),
        style => check::render_unread(path, failure, style, as_json(subject, kept, recorded)),
    }
}

/// Where the history is.
enum Place {
    Named(PathBuf),
    Temporary(tempfile::NamedTempFile),
}

impl Place {
    fn new(args: &TestArgs, terminal: &Terminal) -> Result<Place, Exit> {
        if let Some(path) = &args.output {
            return Ok(Place::Named(path.clone()));
        }
        let file = tempfile::Builder::new().prefix("isoscope-").suffix(".jsonl").tempfile();
        file.map(Place::Temporary).map_err(|error| {
            terminal.error(&format!("cannot create a temporary file: {error}"));
            Exit::Failed
        })
    }

    fn path(&self) -> &Path {
        match self {
            Place::Named(path) => path,
            Place::Temporary(file) => file.path(),
        }
    }

    /// Keeps a temporary file if `wanted`, and prints its path, also with `--quiet`: nobody else knows the path.
    fn settle(self, wanted: bool, terminal: &Terminal) {
        match self {
            Place::Named(path) => terminal.note(&format!("the history is in {}", path.display())),
            Place::Temporary(_) if !wanted => {}
            Place::Temporary(file) => match file.keep() {
                Ok((_, path)) => terminal::say_note(&format!("the history is in {}", path.display())),
                Err(error) => terminal.warning(&format!("the history is lost: {error}")),
            },
        }
    }
}

/// The database under test.
struct Subject {
    version: String,
    isolation: String,
    workload: &'static str,
    promise: Option<Promise>,
}

/// Whether the promise was kept.
#[derive(Clone, Copy)]
enum Kept {
    /// The verdict on the requested levels.
    Asked(Exit),
    Promise(Level, Exit),
}

impl Kept {
    /// A broken invariant of the application also violates a promise of serializability.
    fn exit(self, recorded: &Recorded) -> Exit {
        let (Kept::Asked(exit) | Kept::Promise(_, exit)) = self;
        let serializable = matches!(self, Kept::Promise(level, _) if level.implies(Level::Serializable));
        if serializable && !recorded.summary.broken.is_empty() { Exit::Violated } else { exit }
    }
}

impl Subject {
    fn of(load: &Load) -> Subject {
        let recording = &load.recording;
        Subject {
            version: recording.version().to_owned(),
            isolation: recording.isolation().to_owned(),
            workload: recording.workload_name(),
            promise: recording.promise(),
        }
    }

    fn announcement(&self) -> String {
        let Subject { version, isolation, workload, .. } = self;
        let what = format!("testing {version} at {isolation}, workload {workload}");
        match self.promise {
            Some(Promise { level, isolation: Some(row) }) => {
                format!("{what}\n      its documentation promises {level} ({})", row.source)
            }
            _ => what,
        }
    }

    /// The verdict in one line.
    fn verdict(&self, kept: Kept, recorded: &Recorded) -> String {
        let who = format!("{} at {}", self.version, self.isolation);
        let exit = kept.exit(recorded);
        let text = match (kept, exit) {
            (Kept::Promise(level, _), Exit::Holds) => format!("✓ {who} kept its promise of {level}"),
            (Kept::Promise(level, _), Exit::Violated) => format!("✗ {who} broke its promise of {level}"),
            (Kept::Promise(level, _), _) => format!("? whether {who} kept its promise of {level} is unknown"),
            (Kept::Asked(_), Exit::Holds) => format!("✓ {who} satisfied the requested levels"),
            (Kept::Asked(_), Exit::Violated) => format!("✗ {who} violated a requested level"),
            (Kept::Asked(_), _) => format!("? whether {who} satisfied the requested levels is unknown"),
        };
        let style = match exit {
            Exit::Holds => GOOD,
            Exit::Violated => ERROR,
            _ => WARNING,
        };
        styled(style, text)
    }

    fn kept(&self, report: &Report) -> Kept {
        match self.promise {
            Some(Promise { level, .. }) if !report.named => {
                Kept::Promise(level, report.verdict_of(level).into())
            }
            _ => Kept::Asked(report.verdict.into()),
        }
    }
}

/// The result of a test.
struct TestResult<'a> {
    subject: &'a Subject,
    kept: Kept,
    recorded: &'a Recorded,
    report: &'a Report,
}

impl TestResult<'_> {
    fn render(&self, style: CheckStyle, details: bool) -> String {
        let TestResult { subject, kept, recorded, report } = *self;
        match style {
            CheckStyle::Json | CheckStyle::Jsonl => {
                let mut value = check::json(report);
                value["test"] = as_json(subject, kept, recorded);
                let text = if style == CheckStyle::Json { format!("{value:#}") } else { value.to_string() };
                format!("{text}\n")
            }
            CheckStyle::Concise => {
                format!("{}; {}\n", subject.verdict(kept, recorded), concise::verdicts(report, &Ansi))
            }
            CheckStyle::Full if details => {
                format!("{}\n{}", self.conclusion(), check::render(report, style))
            }
            CheckStyle::Full => self.conclusion() + &self.brief(),
            CheckStyle::Elle => check::render(report, style),
            CheckStyle::Junit => match kept {
                Kept::Promise(level, _) => check::junit_of_promise(report, level),
                Kept::Asked(_) => check::render(report, style),
            },
        }
    }

    /// The verdict, the broken invariants of the application, and what the database promises.
    fn conclusion(&self) -> String {
        let mut text = format!("{}\n", self.subject.verdict(self.kept, self.recorded));
        for broken in &self.recorded.summary.broken {
            text.push_str(&format!("  {} {broken}\n", styled(ERROR, "✗")));
        }
        if let (Kept::Promise(..), Some(Promise { isolation: Some(row), .. })) =
            (self.kept, self.subject.promise)
        {
            text.push_str(&styled(DIM, wrap(row.why, 2, WIDTH)));
            text.push_str(&suggested(row, self.report));
        }
        text
    }

    /// The verdict of each level, and one sentence per anomaly.
    fn brief(&self) -> String {
        let report = self.report;
        let verdicts = concise::verdicts(report, &Ansi).replace("; ", "\n  ");
        let mut text = format!("\n  {verdicts}\n");
        let mut shown: Vec<Anomaly> = Vec::new();
        for (level, findings) in report.findings() {
            for finding in &findings {
                let anomaly = finding.anomaly;
                if shown.contains(&anomaly) {
                    continue;
                }
                shown.push(anomaly);
                let same = || findings.iter().filter(|finding| finding.anomaly == anomaly);
                let count = same().map(|finding| finding.count).sum();
                let at_least = same().any(|finding| finding.at_least);
                text.push_str(&self.anomaly(level, anomaly, count, at_least));
                if let Some(occurrence) = finding.occurrences.first() {
                    text.push_str(&wrap(&occurrence.headline, 4, WIDTH));
                }
            }
        }
        if report.verdict == Word::Violated {
            let file = visible(&report.file);
            let more = format!("  --details or `isoscope check {file}` shows the evidence");
            text.push_str(&format!("\n{}\n", styled(DIM, more)));
        }
        text
    }

    /// `lost update, 522 times (forbidden by parallel-snapshot-isolation, which is not promised)`.
    fn anomaly(&self, level: Level, anomaly: Anomaly, count: u64, at_least: bool) -> String {
        let matters = match self.kept {
            Kept::Asked(_) => true,
            Kept::Promise(promise, _) => promise.implies(level),
        };
        let (mark, promised) =
            if matters { (styled(ERROR, "✗"), "") } else { (styled(DIM, "·"), ", which is not promised") };
        let times = if count == 1 { "once".to_owned() } else { counted(count, "time") };
        let bound = if at_least { "at least " } else { "" };
        let title = styled(BOLD, full::title_of(anomaly));
        format!("\n  {mark} {title}, {bound}{times} (forbidden by {level}{promised})\n")
    }
}

/// The maximum width of a line.
const WIDTH: usize = 98;

/// A note for an isolation level whose name suggests more than the documentation promises.
fn suggested(row: &Isolation, report: &Report) -> String {
    if report.verdict_of(row.name_suggests) != Word::Violated || row.registers.implies(row.name_suggests) {
        return String::new();
    }
    let text = format!(
        "The name suggests {}, which was violated: the documentation does not promise it.",
        row.name_suggests
    );
    wrap(&text, 2, WIDTH)
}

fn as_json(subject: &Subject, kept: Kept, recorded: &Recorded) -> Json {
    let figures = &recorded.figures;
    let failed: serde_json::Map<String, Json> =
        figures.failed.iter().map(|(class, n)| (class.name().to_owned(), json!(n))).collect();
    let word = |exit| match exit {
        Exit::Holds => "kept",
        Exit::Violated => "broken",
        _ => "unknown",
    };
    json!({
        "database": subject.version,
        "isolation": subject.isolation,
        "workload": subject.workload,
        "promise": subject.promise.map(|promise| promise.level.name()),
        "verdict": word(kept.exit(recorded)),
        "why": subject.promise.and_then(|promise| promise.isolation).map(|row| row.why),
        "source": subject.promise.and_then(|promise| promise.isolation).map(|row| row.source.to_string()),
        "seconds": recorded.summary.elapsed.as_secs_f64(),
        "committed": figures.committed,
        "rolled_back": figures.rolled_back,
        "unknown": figures.unknown,
        "failed": failed,
        "rules_broken": recorded.summary.broken,
    })
}

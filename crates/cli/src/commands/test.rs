//! `isoscope test`: put a database under load and tell whether it keeps the isolation it promises.
//!
//! What is promised is the level that the database's documentation amounts to; the report shows all levels, and the exit
//! code is about the promise. With `--level` it is about those levels instead.

use std::path::{Path, PathBuf};

use isoscope_check::Verdict;
use isoscope_levels::Level;
use isoscope_record::{Isolation, Promise};
use serde_json::{Value as Json, json};

use crate::args::{CheckStyle, ReadArgs, TestArgs};
use crate::commands::check::{self, Report};
use crate::commands::open;
use crate::commands::record::{Load, Recorded, create};
use crate::exit::Exit;
use crate::terminal::{BOLD, DIM, ERROR, GOOD, Terminal, WARNING, styled};
use crate::words::wrap;

pub(crate) fn run(args: &TestArgs, terminal: &Terminal) -> Exit {
    match test(args, terminal) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn test(args: &TestArgs, terminal: &Terminal) -> Result<Exit, Exit> {
    let mut load = Load::new(&args.database, &args.load, args.output.as_deref(), terminal)?;
    let place = Place::new(args, terminal)?;
    let subject = Subject::of(&load);
    terminal.note(&subject.announcement());
    let history = create(place.path(), terminal)?;
    let recorded = load.record(Box::new(history), &args.load, terminal)?;
    // The server has done its part, and checking may take long.
    drop(load);
    terminal.note(&recorded.text());
    let exit = recorded.exit(terminal);
    if exit == Exit::Failed && recorded.figures.transactions() == 0 {
        // Why nothing was recorded is said, and there is nothing to read.
        return Err(exit);
    }
    let report = open::open(place.path(), false, &ReadArgs { from: None }, terminal)
        .and_then(|reading| check::check(place.path(), reading, &args.judge, terminal))
        .map_err(|_| Exit::Failed)?;
    let kept = subject.kept(&report);
    let judged = kept.exit(&recorded);
    show(args.judge.format, &subject, kept, &recorded, &report, terminal);
    place.settle(judged, terminal);
    let exit = exit.and(judged);
    Ok(if terminal.lost_output() { exit.and(Exit::Failed) } else { exit })
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
            terminal.error(&format!("cannot make a temporary file: {error}"));
            Exit::Failed
        })
    }

    fn path(&self) -> &Path {
        match self {
            Place::Named(path) => path,
            Place::Temporary(file) => file.path(),
        }
    }

    /// Keeps a temporary file if it shows something, and says where it is.
    fn settle(self, exit: Exit, terminal: &Terminal) {
        let kept = match self {
            Place::Named(path) => path,
            Place::Temporary(_) if exit == Exit::Holds => return,
            Place::Temporary(file) => match file.keep() {
                Ok((_, path)) => path,
                Err(error) => return terminal.warning(&format!("the history is lost: {error}")),
            },
        };
        terminal.note(&format!("the history is in {}", kept.display()));
    }
}

/// What is tested.
struct Subject {
    version: String,
    isolation: String,
    workload: &'static str,
    promise: Option<Promise>,
}

/// What became of what was promised.
#[derive(Clone, Copy)]
enum Kept {
    /// The levels that were asked for decide.
    Asked(Exit),
    Promise(Level, Exit),
}

impl Kept {
    /// A rule of the application that is broken is a violation too, whatever the levels say.
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

    fn kept(&self, report: &Report) -> Kept {
        match self.promise {
            Some(Promise { level, .. }) if !report.named => Kept::Promise(level, verdict(report, level)),
            _ => Kept::Asked(report.exit()),
        }
    }
}

fn verdict(report: &Report, level: Level) -> Exit {
    let judged = report.judged.iter().find(|judged| judged.judgement.level == level);
    match judged.map(|judged| &judged.judgement.verdict) {
        Some(Verdict::Holds(_)) => Exit::Holds,
        Some(Verdict::Violated(_)) => Exit::Violated,
        Some(Verdict::Unknown(_)) | None => Exit::Unknown,
    }
}

fn show(
    style: CheckStyle,
    subject: &Subject,
    kept: Kept,
    recorded: &Recorded,
    report: &Report,
    terminal: &Terminal,
) {
    match style {
        CheckStyle::Json | CheckStyle::Jsonl => {
            let mut value = check::json(report);
            value["test"] = as_json(subject, kept, recorded);
            let text = if style == CheckStyle::Json { format!("{value:#}") } else { value.to_string() };
            terminal.print(&format!("{text}\n"));
        }
        CheckStyle::Full => {
            terminal.print(&check::render(report, style));
            terminal.print(&conclusion(subject, kept, recorded, report));
        }
        _ => terminal.print(&check::render(report, style)),
    }
}

/// The promise, and whether it was kept, in words.
fn conclusion(subject: &Subject, kept: Kept, recorded: &Recorded, report: &Report) -> String {
    let mut text = String::new();
    for broken in &recorded.summary.broken {
        text.push_str(&format!("\n{} {broken}\n", styled(ERROR, "✗")));
    }
    let Kept::Promise(level, _) = kept else { return text };
    let who = format!("{} at {}", subject.version, subject.isolation);
    let promise = match kept.exit(recorded) {
        Exit::Holds => format!("{} {who} kept its promise of {level}", styled(GOOD, "✓")),
        Exit::Violated => format!("{} {who} broke its promise of {level}", styled(ERROR, "✗")),
        _ => format!("{} whether {who} kept its promise of {level} is not known", styled(WARNING, "?")),
    };
    text.push_str(&format!("\n{}\n", styled(BOLD, promise)));
    if let Some(Promise { isolation: Some(row), .. }) = subject.promise {
        text.push_str(&styled(DIM, wrap(row.why, 2, 98)));
        text.push_str(&suggested(row, report));
    }
    text
}

/// A name that promises less than it says deserves a word.
fn suggested(row: &Isolation, report: &Report) -> String {
    if verdict(report, row.name_suggests) != Exit::Violated || row.registers.implies(row.name_suggests) {
        return String::new();
    }
    let text = format!(
        "The name suggests {}, which was violated: the documentation does not promise it.",
        row.name_suggests
    );
    wrap(&text, 2, 98)
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

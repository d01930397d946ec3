//! `isoscope audit`: whether a correct execution gives every answer of a log.
//!
//! `audit/report.rs` writes the result.

mod report;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use isoscope_audit::{Audit, AuditError, Model, Options, OrderBy, Verdict, Watch, audit};
use isoscope_log::{Log, LogError};

use super::interrupt;
use crate::args::{AuditArgs, AuditStyle, Timeout};
use crate::exit::Exit;
use crate::terminal::{Terminal, Unit};

/// A log and its audit.
pub(crate) struct Audited<'a> {
    pub(crate) file: &'a Path,
    pub(crate) log: &'a Log,
    pub(crate) audit: Audit,
    pub(crate) time: Duration,
}

pub(crate) fn run(args: &AuditArgs, terminal: &Terminal) -> Exit {
    match run_on(args, terminal) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn run_on(args: &AuditArgs, terminal: &Terminal) -> Result<Exit, Exit> {
    let log = read(&args.log, terminal)?;
    let options = options(args, &log, terminal)?;
    let (_phase, interrupted) = interrupt::flagged("ending the audit", terminal);
    let watch = Limits::new(args.timeout, interrupted, &log, terminal);
    let start = Instant::now();
    let audit = audit(&log, &options, &watch).map_err(|error| refuse(&args.log, &error, terminal))?;
    watch.bar.finish_and_clear();
    let audited = Audited { file: &args.log, log: &log, audit, time: start.elapsed() };
    terminal.detail(&report::figures(&audited));
    terminal.print(&match args.format {
        AuditStyle::Full => report::full(&audited),
        AuditStyle::Concise => report::concise(&audited),
        AuditStyle::Json => format!("{:#}\n", report::json(&audited)),
        AuditStyle::Junit => report::junit(&audited),
    });
    let has_gaps = !audited.audit.gaps.is_empty() && !args.allow_gaps;
    Ok(match audited.audit.verdict {
        _ if terminal.lost_output() => Exit::Failed,
        Verdict::Violated(_) => Exit::Violated,
        Verdict::Undecided(_) => Exit::Unknown,
        Verdict::Explained(_) if has_gaps => Exit::Unknown,
        Verdict::Explained(_) => Exit::Holds,
    })
}

fn read(path: &Path, terminal: &Terminal) -> Result<Log, Exit> {
    let fail = |message: String| {
        terminal.error(&message);
        Exit::Failed
    };
    let input: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(BufReader::new(io::stdin()))
    } else {
        let file = File::open(path);
        Box::new(BufReader::new(
            file.map_err(|error| fail(format!("cannot read {}: {error}", path.display())))?,
        ))
    };
    let log = isoscope_log::read(input).map_err(|error| match error {
        LogError::Wrong { line: 1, .. } => {
            fail(format!("{}: {error}; `isoscope record --log FILE` writes a log", path.display()))
        }
        _ => fail(format!("{}: {error}", path.display())),
    })?;
    for warning in &log.warnings {
        terminal.warning(&format!("{}: line {}: {}", path.display(), warning.line, warning.message));
    }
    Ok(log)
}

fn options(args: &AuditArgs, log: &Log, terminal: &Terminal) -> Result<Options, Exit> {
    let model = match args.level {
        Some(level) => level.0,
        None => Model::of(&log.header).map_err(|error| {
            terminal.error(&format!("{}: {error}; select one with --level", args.log.display()));
            Exit::Usage
        })?,
    };
    let mut options = Options::new(model);
    options.order = args.order.into();
    if options.order == OrderBy::Timestamps && !model.is_paper() {
        let message = "--order timestamps needs one of the paper's models, such as --level paper-si: engines do not promise that";
        terminal.error(&format!("{message} their timestamps agree with visibility"));
        return Err(Exit::Usage);
    }
    Ok(options)
}

/// A log that cannot be audited.
fn refuse(path: &Path, error: &AuditError, terminal: &Terminal) -> Exit {
    let place = error.entry.map_or(String::new(), |entry| format!(" line {}:", report::line(entry)));
    terminal.error(&format!("{}:{place} {error}", path.display()));
    Exit::Failed
}

/// The limits of an audit, and its progress.
struct Limits {
    end: Option<Instant>,
    interrupted: Arc<AtomicBool>,
    bar: ProgressBar,
}

impl Limits {
    fn new(timeout: Timeout, interrupted: Arc<AtomicBool>, log: &Log, terminal: &Terminal) -> Limits {
        let end = match timeout {
            Timeout::Never => None,
            Timeout::After(time) => Instant::now().checked_add(time),
        };
        let bar = terminal.progress("audit", Some(log.entries.len() as u64), Unit::Count);
        Limits { end, interrupted, bar }
    }
}

impl Watch for Limits {
    fn is_over(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) || self.end.is_some_and(|end| Instant::now() >= end)
    }

    fn progress(&self, explained: usize, all: usize) {
        self.bar.set_length(all as u64);
        self.bar.set_position(explained as u64);
    }
}

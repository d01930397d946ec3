//! `isoscope script`: runs a script of interleaved sessions.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use isoscope_record::Failure;
use isoscope_record::script::{self, Place, RunError, Script, ScriptError, StepDone, StepResult, Verdict};

use crate::args::ScriptArgs;
use crate::commands::database::Chosen;
use crate::commands::interrupt;
use crate::exit::Exit;
use crate::problems;
use crate::terminal::{BOLD, DIM, ERROR, GOOD, Terminal, WARNING, styled};

pub(crate) fn run(args: &ScriptArgs, terminal: &Terminal) -> Exit {
    match play(args, terminal) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn play(args: &ScriptArgs, terminal: &Terminal) -> Result<Exit, Exit> {
    let text = read(&args.script).map_err(|error| {
        terminal.error(&format!("cannot read {}: {error}", args.script.display()));
        Exit::Failed
    })?;
    let script = script::parse(&text).map_err(|error| {
        show(&args.script, &text, &error);
        Exit::Failed
    })?;
    let chosen = Chosen::new(&args.database, 0, terminal)?;
    let limits = script::connection_limits(chosen.target.vendor());
    let database = chosen.open(args.isolation.as_deref(), &limits, terminal)?;
    let (_phase, stop) = interrupt::flagged("stopping after the current step", terminal);
    let options = script::Options { stop: Some(stop), ..script::Options::default() };
    let isolation = database.isolation().map_or("", |isolation| isolation.name);
    terminal.print(&heading(&script, database.version(), isolation));
    let width = script.sessions.iter().map(|session| session.chars().count()).max().unwrap_or(0);
    let transcript = script
        .run(database.as_ref(), &options, &mut |step| terminal.print(&line(step, width)))
        .map_err(|RunError { failure, place, .. }| {
            match place {
                Some(Place { line, column }) => {
                    let message = failure.to_string();
                    show(&args.script, &text, &ScriptError { line, column, message, help: None });
                }
                None => terminal.error(&failure.to_string()),
            }
            Exit::Failed
        })?;
    let mut exit = match &transcript.verdict {
        None | Some(Verdict::Prevented(_)) => Exit::Holds,
        Some(Verdict::Happened) => Exit::Violated,
        Some(Verdict::Undecided(_)) => Exit::Unknown,
    };
    if let Some(verdict) = &transcript.verdict {
        let style = if exit == Exit::Holds { GOOD } else { ERROR };
        terminal.print(&format!("\n  {}\n", styled(style, verdict)));
    } else if let Some((step, failure)) = transcript.mistake(&script) {
        show(&args.script, &text, &failed(&script, step, failure));
        exit = Exit::Failed;
    } else if transcript.unexpected().next().is_some() {
        exit = Exit::Violated;
    }
    Ok(if terminal.lost_output() { exit.and(Exit::Failed) } else { exit })
}

/// Reads a script up to its maximum size: the input may be endless.
fn read(path: &Path) -> std::io::Result<String> {
    let input: Box<dyn Read> =
        if path.as_os_str() == "-" { Box::new(std::io::stdin()) } else { Box::new(File::open(path)?) };
    let mut bytes = Vec::new();
    input.take(script::MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > script::MAX_BYTES {
        // The cut may be inside a character. The parser refuses the text because of its length.
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    String::from_utf8(bytes).map_err(|_| std::io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

fn heading(script: &Script, version: &str, isolation: &str) -> String {
    let name = if script.name.is_empty() { "script" } else { &script.name };
    let about = if script.about.is_empty() { String::new() } else { format!("  {}\n", script.about) };
    format!("{}  {}\n{about}\n", styled(BOLD, name), styled(DIM, format!("{version}, {isolation}")))
}

/// A step and its result. The column of sessions has this width.
fn line(step: &StepDone, width: usize) -> String {
    let text = format!("{step:width$}");
    let styled_text = match (&step.result, &step.expected) {
        (_, Some(_)) | (StepResult::Failed(_), _) => styled(ERROR, text),
        (StepResult::Waits, _) => styled(WARNING, text),
        (StepResult::Skipped, _) => styled(DIM, text),
        (StepResult::Done(_), _) => text,
    };
    format!("  {styled_text}\n")
}

/// The error for a step whose statement is wrong, at the statement.
fn failed(script: &Script, step: &StepDone, failure: &Failure) -> ScriptError {
    let Place { line, column } = script.steps[step.step].place;
    ScriptError {
        line,
        column,
        message: format!("the step failed for a reason unrelated to isolation: {failure}"),
        help: Some("write `=> fails` after the step if this is intended".to_owned()),
    }
}

/// Prints an error in a script.
fn show(path: &Path, text: &str, error: &ScriptError) {
    let file = path.display().to_string();
    let place = problems::Place::in_text(&file, text, error.line.into(), error.column.into());
    problems::show_error(&error.message, &place, error.help.as_deref());
}

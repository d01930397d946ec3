//! One line per file.

use isoscope_explain::visible;
use isoscope_levels::{Anomaly, Level};

use crate::Outcome;
use crate::definitions::DefinitionResult;
use crate::model::{Finding, LevelResult, Report, Word};
use crate::style::{Role, Style};
use crate::words::count;

/// The line of a file.
pub fn render(file: &str, outcome: Outcome<'_>, style: &dyn Style) -> String {
    let text = match outcome {
        Err(failure) if failure.no_room => {
            style.paint(Role::Doubtful, "unknown (it exceeds the memory limit)")
        }
        Err(_) => style.paint(Role::Bad, "unreadable"),
        Ok(report) => verdicts(report, style),
    };
    format!("{}: {text}\n", visible(file))
}

/// The verdicts in a line.
pub fn verdicts(report: &Report, style: &dyn Style) -> String {
    if let Some(why) = report.nothing_to_check() {
        return format!("{}: {why}", style.paint(Role::Doubtful, "unknown"));
    }
    let levels = match report.levels.as_slice() {
        [] => String::new(),
        _ if report.named => named(report, style),
        _ => boundary(report, style),
    };
    let said = report.definitions.chunk_by(|a, b| a.verdict == b.verdict).map(|same| {
        let word = style.paint(role(same[0].verdict), &same[0].verdict.to_string());
        format!("{word}: {}", same.iter().map(definition).collect::<Vec<_>>().join(", "))
    });
    let levels = if levels.is_empty() { None } else { Some(levels) };
    levels.into_iter().chain(said).collect::<Vec<_>>().join("; ")
}

/// A definition and, in brackets, what violates it or why it is unknown.
fn definition(result: &DefinitionResult) -> String {
    let name = &result.name;
    if let Some(same) = &result.same_as {
        return format!("{name} ({})", same.words(name));
    }
    match (&result.core, &result.reason) {
        (Some(core), _) => format!("{name} ({})", core.transactions.join(", ")),
        (_, Some(reason)) => format!("{name} ({reason})"),
        _ if result.wrong_reads.is_empty() => name.clone(),
        _ => {
            let mut kinds: Vec<&str> = result.wrong_reads.iter().map(|wrong| wrong.anomaly.name()).collect();
            kinds.dedup();
            format!("{name} ({})", kinds.join(", "))
        }
    }
}

/// The requested levels in order. Adjacent levels with the same verdict share its word.
fn named(report: &Report, style: &dyn Style) -> String {
    let said = report.levels.chunk_by(|a, b| a.verdict == b.verdict).map(|same| {
        let word = style.paint(role(same[0].verdict), &same[0].verdict.to_string());
        let levels: Vec<String> = same.iter().map(with_reason).collect();
        format!("{word}: {}", levels.join(", "))
    });
    said.collect::<Vec<_>>().join("; ")
}

/// The strongest levels that hold, the weakest that are violated, and the unknown levels in between.
fn boundary(report: &Report, style: &dyn Style) -> String {
    let (strongest, weakest) = (&report.strongest_holding, &report.weakest_violated);
    let mut parts = Vec::new();
    if !strongest.is_empty() {
        parts.push(format!("{}: {}", style.paint(Role::Good, "holds"), names(strongest)));
    }
    let violated: Vec<String> =
        report.levels.iter().filter(|result| weakest.contains(&result.level)).map(with_reason).collect();
    if !violated.is_empty() {
        parts.push(format!("{}: {}", style.paint(Role::Bad, "violated"), violated.join(", ")));
    }
    let unknown: Vec<&LevelResult> =
        report.levels.iter().filter(|result| result.verdict == Word::Unknown).collect();
    for same in unknown.chunk_by(|a, b| a.reason == b.reason) {
        let levels: Vec<Level> = same.iter().map(|result| result.level).collect();
        let Some(why) = &same[0].reason else { continue };
        parts.push(format!("{}: {} ({why})", style.paint(Role::Doubtful, "unknown"), names(&levels)));
    }
    if parts.is_empty() { style.paint(Role::Doubtful, "no level decided") } else { parts.join("; ") }
}

pub(crate) fn role(verdict: Word) -> Role {
    match verdict {
        Word::Holds => Role::Good,
        Word::Violated => Role::Bad,
        Word::Unknown => Role::Doubtful,
    }
}

/// A level and, in brackets, its anomalies or why it is unknown.
fn with_reason(result: &LevelResult) -> String {
    let more = match &result.reason {
        Some(reason) => reason.message.clone(),
        None if result.verdict == Word::Holds => return result.level.to_string(),
        None => kinds(&result.findings),
    };
    format!("{} ({more})", result.level)
}

/// The kinds of anomalies with their counts.
fn kinds(findings: &[Finding]) -> String {
    let mut kinds: Vec<(Anomaly, u64, bool)> = Vec::new();
    for finding in findings {
        match kinds.iter_mut().find(|(anomaly, ..)| *anomaly == finding.anomaly) {
            Some((_, total, at_least)) => {
                *total += finding.count;
                *at_least |= finding.at_least;
            }
            None => kinds.push((finding.anomaly, finding.count, finding.at_least)),
        }
    }
    let said = kinds.iter().map(|&(anomaly, n, at_least)| {
        let bound = if at_least { "at least " } else { "" };
        format!("{bound}{} {anomaly}", count(n))
    });
    said.collect::<Vec<_>>().join(", ")
}

pub(crate) fn names(levels: &[Level]) -> String {
    levels.iter().map(|level| level.name()).collect::<Vec<_>>().join(", ")
}

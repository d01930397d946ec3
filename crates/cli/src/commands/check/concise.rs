//! A line a file.

use anstyle::Style;
use isoscope_check::{Finding, Judgement, Unknown, Verdict};
use isoscope_explain::visible;
use isoscope_formats::Failure;
use isoscope_levels::{Anomaly, Level};

use super::report::{Report, verdict_word};
use crate::terminal::{ERROR, GOOD, WARNING, styled};
use crate::words::count;

pub(crate) fn render(file: &str, outcome: Result<&Report, &Failure>) -> String {
    let text = match outcome {
        Err(failure) if failure.no_room => {
            styled(WARNING, "unknown (it does not fit into the memory limit, --memory)")
        }
        Err(_) => styled(ERROR, "unreadable"),
        Ok(report) => verdicts(report),
    };
    format!("{}: {text}\n", visible(file))
}

/// The verdicts in a line.
pub(crate) fn verdicts(report: &Report) -> String {
    if report.nothing_to_check() {
        let why = report.reason(&Unknown::NothingToCheck).1;
        return format!("{}: {why}", styled(WARNING, "unknown"));
    }
    if report.named { named(report) } else { boundary(report) }
}

/// Each level that was asked for, in the order they were; neighbours of one verdict share its word.
fn named(report: &Report) -> String {
    let judgements: Vec<&Judgement> = report.judged.iter().map(|judged| &judged.judgement).collect();
    let said = judgements.chunk_by(|a, b| verdict_word(a) == verdict_word(b)).map(|same| {
        let word = styled(style(same[0]), verdict_word(same[0]));
        let levels: Vec<String> = same.iter().map(|judgement| with_reason(report, judgement)).collect();
        format!("{word}: {}", levels.join(", "))
    });
    said.collect::<Vec<_>>().join("; ")
}

/// The strongest levels that hold, the weakest that do not, and those between that are unknown.
fn boundary(report: &Report) -> String {
    let (strongest, weakest) = (report.strongest_holding(), report.weakest_violated());
    let judgements = || report.judged.iter().map(|judged| &judged.judgement);
    let mut parts = Vec::new();
    if !strongest.is_empty() {
        parts.push(format!("{}: {}", styled(GOOD, "holds"), names(&strongest)));
    }
    let violated: Vec<String> =
        judgements().filter(|j| weakest.contains(&j.level)).map(|j| with_reason(report, j)).collect();
    if !violated.is_empty() {
        parts.push(format!("{}: {}", styled(ERROR, "violated"), violated.join(", ")));
    }
    let unknown: Vec<&Judgement> =
        judgements().filter(|j| matches!(j.verdict, Verdict::Unknown(_))).collect();
    for same in unknown.chunk_by(|a, b| a.verdict == b.verdict) {
        let levels: Vec<Level> = same.iter().map(|j| j.level).collect();
        let Verdict::Unknown(why) = &same[0].verdict else { continue };
        parts.push(format!("{}: {} ({})", styled(WARNING, "unknown"), names(&levels), report.reason(why).1));
    }
    if parts.is_empty() { styled(WARNING, "no level decided") } else { parts.join("; ") }
}

fn style(judgement: &Judgement) -> Style {
    match judgement.verdict {
        Verdict::Holds(_) => GOOD,
        Verdict::Violated(_) => ERROR,
        Verdict::Unknown(_) => WARNING,
    }
}

/// A level and, in brackets, its anomalies or why it is unknown.
fn with_reason(report: &Report, judgement: &Judgement) -> String {
    let more = match &judgement.verdict {
        Verdict::Holds(_) => return judgement.level.to_string(),
        Verdict::Violated(findings) => kinds(findings),
        Verdict::Unknown(unknown) => report.reason(unknown).1,
    };
    format!("{} ({more})", judgement.level)
}

/// Anomalies and how many there are of each.
pub(crate) fn kinds(findings: &[Finding]) -> String {
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

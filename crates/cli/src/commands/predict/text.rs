//! Predictions as text.
//!
//! ```text
//! 1. lost-update at causal        2 transactions, 1 changed read
//!    Had T2 (session T2) read x from the initial state instead of T1, then:
//!    T1's update is lost ..                 the story of the violation, as `check` tells it
//!     --> run:1:29                          the operations, in the run
//! ```

use isoscope_application::Call;
use isoscope_certificate::{Instance, Judgement, Limit, Verdict};
use isoscope_explain::{Story, Teller};
use isoscope_formats::{Place, Reading};
use isoscope_history::notation::ValueText;
use isoscope_history::{History, Op, Txn, Value};
use isoscope_levels::Level;
use isoscope_predict::{Boundary, Change, Fix, Prediction};
use isoscope_report::words::counted;
use isoscope_report::{Mark, snippet};
use isoscope_reproduce::Outcome;
use isoscope_validate::{Class, Counts, Validation};

use super::{Executed, Played, Result};
use crate::terminal::{Ansi, BOLD, DIM, ERROR, GOOD, WARNING, styled};

pub(crate) fn render(result: &Result<'_>) -> String {
    let mut text = String::new();
    for (place, one) in result.found().iter().enumerate() {
        text += &prediction(place, one, result);
        text.push('\n');
    }
    text + &summary(result)
}

fn prediction(place: usize, one: &Prediction, result: &Result<'_>) -> String {
    let validation = result.executed.as_ref().map(|executed| &executed.validations[place]);
    let played = result.executed.as_ref().and_then(|executed| executed.played.get(place));
    let title = format!("{}. {} at {}", place + 1, one.anomaly, at(result));
    let class = validation.map_or(String::new(), |validation| format!(", {}", class(validation)));
    let commits = match one.commits.len() {
        0 => String::new(),
        1 => ", 1 attempt that commits".to_owned(),
        count => format!(", {count} attempts that commit"),
    };
    let size = format!(
        "{}, {}{commits}{class}",
        counted(one.txns.len() as u64, "transaction"),
        counted(one.changes.len() as u64, "changed read")
    );
    let mut text = format!("{}  {}\n\n", styled(BOLD, title), styled(DIM, size));
    text += &wrap(&format!("  Had {}, then:", changes(one, result).join(", and ")), 2);
    if let Some((story, _)) = story(&result.teller_of(one), one) {
        text += &wrap(&format!("  {}", story.headline), 2);
        for clause in &story.clauses {
            let depth = 2 * usize::from(clause.depth);
            let sign = if clause.depth > 0 { "·" } else { "-" };
            text += &wrap(&format!("{:depth$}  {sign} {}", "", clause.text), 4 + depth);
        }
    }
    text += &snippet::render(&marks(one, result), "   ", &Ansi);
    if let Some(validation) = validation {
        text += &outcome(validation, &|call| result.name_of(call, Some(one)));
    }
    text += &played.map_or(String::new(), self::played);
    text + &match &result.fixes[place] {
        Ok(fix) => self::fix(fix),
        Err(why) => wrap(&format!("  fix: not found: {why}"), 4),
    }
}

/// The class; a limit gives it another word.
fn class(validation: &Validation) -> &'static str {
    match &validation.class {
        Class::Failed(failure) if failure.is_limit() => "not executed",
        class => class.name(),
    }
}

/// What became of a prediction that was executed again: nothing more to say if it happened as predicted.
fn outcome(validation: &Validation, name: &dyn Fn(Call) -> String) -> String {
    let mut text = String::new();
    if let Class::Failed(failure) = &validation.class {
        let again = if failure.is_limit() { "" } else { " again" };
        text += &wrap(&format!("  not executed{again}: {}", failure.describe(name)), 4);
    }
    for difference in validation.differences.iter().take(MOST_DIFFERENCES) {
        text += &wrap(&format!("  executed again: {}", difference.describe(name)), 4);
    }
    for rule in &validation.broken_rules {
        text += &wrap(&format!("  executed again: {rule}"), 4);
    }
    text
}

/// The level, or the engine.
fn at(result: &Result<'_>) -> String {
    let settings = &result.settings;
    settings.engine.map_or(settings.level.to_string(), |engine| engine.to_string())
}

/// What became of a prediction on a real database, and where its script is.
fn played(played: &Played) -> String {
    let mut text = String::new();
    if let Err(trouble) = &played.script {
        text += &wrap(&format!("  no script: {trouble}"), 4);
    }
    if let (Some(outcome), Some(version)) = (&played.outcome, &played.version) {
        let style = if *outcome == Outcome::Reproduced { ERROR } else { DIM };
        text += &wrap(&format!("  on {version}: {}", styled(style, outcome)), 4);
    }
    if let Some(file) = &played.file {
        text += &format!("  script: {}\n", file.display());
    }
    text
}

/// The most differences that are shown of a prediction that diverged.
const MOST_DIFFERENCES: usize = 3;

fn fix(fix: &Fix) -> String {
    match fix {
        Fix::Promote(statement) => wrap(
            &format!(
                "  fix: also change the rows of {statement}, such as UPDATE .. SET version = version + 1; a locking read (SELECT .. FOR UPDATE) is not enough"
            ),
            4,
        ),
        Fix::Level(level) => wrap(&format!("  fix: run these programs at {level}{}", or_stronger(*level)), 4),
    }
}

fn or_stronger(level: Level) -> &'static str {
    if level == Level::Serializable { "" } else { " or a stronger level" }
}

/// The story of the violation, in terms of the predicted history.
pub(crate) fn story<'p>(teller: &Teller<'p>, one: &'p Prediction) -> Option<(Story, &'p Instance)> {
    let Verdict::Violated(findings) = &one.violates.verdict else { return None };
    let finding = findings.iter().find(|finding| finding.anomaly == one.anomaly)?;
    let instance = finding.instances.first()?;
    Some((teller.story(one.anomaly, instance), instance))
}

/// The most keys that are named of reads that change together, and the most changed reads that are shown in the input.
const MOST_KEYS: usize = 4;
const MOST_MARKS: usize = 8;

/// A reader, the writer in the prediction, and the writer in the run.
type Writers = (Txn, Option<Txn>, Option<Txn>);

/// What differs from the run: `T2 (session 1) read x and y from T1 instead of the initial state`.
fn changes(one: &Prediction, result: &Result<'_>) -> Vec<String> {
    let teller = result.teller();
    let history = &result.reading.history;
    let with_session = |txn: Txn| {
        let session = history.session_of(result.original(txn));
        let session = ValueText(history, history.session_name(session));
        format!("{} (session {session})", teller.txn(txn))
    };
    let from = |writer: Option<Txn>| writer.map_or("the initial state".to_owned(), |txn| teller.txn(txn));
    let mut groups: Vec<(Writers, Vec<String>)> = Vec::new();
    for change in &one.changes {
        let group = (history.txn_of(change.read), change.to, change.from);
        let key = teller.key(history.key_of(change.read));
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, keys)) if keys.contains(&key) => {}
            Some((_, keys)) => keys.push(key),
            None => groups.push((group, vec![key])),
        }
    }
    let read = groups.iter().map(|((txn, to, was), keys)| {
        let (keys, to, was) = (listed(keys), from(*to), from(*was));
        format!("{} read {keys} from {to} instead of {was}", with_session(*txn))
    });
    let committed =
        one.commits.iter().map(|&txn| format!("{} committed instead of rolling back", with_session(txn)));
    read.chain(committed).collect()
}

/// Some names: `x, y and z`, or `x, y, z and 7 other keys`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] if names.len() <= MOST_KEYS => format!("{} and {last}", first.join(", ")),
        _ => {
            let (first, others) = names.split_at(MOST_KEYS - 1);
            format!("{} and {} other keys", first.join(", "), others.len())
        }
    }
}

/// What a changed read returned in the run, or would have returned there.
pub(crate) fn observed_value(history: &History, change: &Change) -> Value {
    let key = history.key_of(change.read);
    let wrote = |txn: Txn| history.ops_of(txn).find(|op| op.key == key && op.last_write).map(|op| op.value);
    change.from.and_then(wrote).unwrap_or_else(|| history.initial(key))
}

/// The operations of the story where they are in the run, and first the changed reads.
fn marks(one: &Prediction, result: &Result<'_>) -> Vec<Mark> {
    let history = &result.reading.history;
    let told = result.teller_of(one);
    let mut wanted: Vec<(Op, String, bool)> = Vec::new();
    for change in one.changes.iter().take(MOST_MARKS) {
        let predicted = one.ops.iter().position(|&op| op == change.read).map(Op::at);
        let label = predicted.map(|op| told.label(op)).unwrap_or_default();
        let was = ValueText(history, observed_value(history, change)).to_string();
        wanted.push((change.read, format!("{label} instead of {was}"), true));
    }
    if let Some((story, _)) = story(&told, one) {
        for pointer in told.pointers(&story) {
            let op = one.ops[pointer.op.index()];
            if !wanted.iter().any(|(other, ..)| *other == op) {
                wanted.push((op, pointer.label, false));
            }
        }
    }
    let places = places(result.reading, wanted.iter().map(|&(op, ..)| op));
    let marks = wanted.into_iter().zip(places);
    marks.filter_map(|((_, label, main), place)| Some(Mark { place: place?, label, main })).collect()
}

/// Where operations are in the input.
pub(crate) fn places(reading: &Reading, ops: impl Iterator<Item = Op>) -> Vec<Option<Place>> {
    let history = &reading.history;
    let positions: Vec<_> = ops.map(|op| history.op_position(op)).collect();
    let known: Vec<_> = positions.iter().copied().flatten().collect();
    let mut found = reading.text.places(history.sources(), &known).into_iter();
    positions.into_iter().map(|position| position.and_then(|_| found.next().flatten())).collect()
}

fn summary(result: &Result<'_>) -> String {
    let settings = &result.settings;
    let figures = &result.predictions.figures;
    let boundary = super::json::boundary(settings.boundary);
    let within = if figures.windows > 1 {
        format!(" inside a window of {} transactions", settings.window)
    } else {
        String::new()
    };
    let transactions = figures.transactions - result.forms.len() as u64;
    let scope =
        format!("{} with a {boundary} boundary, {}", settings.level, counted(transactions, "transaction"));
    let count = result.found().len() as u64;
    let head = match result.status() {
        "predicted" => {
            styled(ERROR, format!("{} of {}", counted(count, "prediction"), violation(settings.target)))
        }
        "none" if settings.approximate => styled(
            GOOD,
            format!(
                "no prediction of {} that the sufficient condition shows{within}",
                violation(settings.target)
            ),
        ),
        "none" => styled(GOOD, format!("no prediction of {}{within}", violation(settings.target))),
        _ => styled(WARNING, "unknown".to_owned()),
    };
    let mut text = format!("{head}: {scope}\n");
    if let Some(limit) = result.predictions.limit {
        let what = match limit {
            Limit::Time => "the time limit (--timeout) was reached",
            Limit::Interrupt => "the search was interrupted",
            Limit::Memory => "the memory limit was reached",
            Limit::Proof => "the proof for a candidate is too long",
        };
        text += &styled(WARNING, format!("  {what}: there may be more\n"));
    } else if result.predictions.more {
        text += &styled(DIM, format!("  there may be more than {} (--most)\n", settings.most));
    }
    if let Some(executed) = &result.executed {
        text += &self::executed(executed, result);
    }
    if count > 0 && !result.counts() {
        text += &styled(
            WARNING,
            "  none of them counts (--count), which does not prove that there is none\n".to_owned(),
        );
    }
    let assumed = match settings.boundary {
        Boundary::Relaxed => "the accesses of a transaction do not depend on the values it reads",
        Boundary::Strict => "the transactions that were cut commit",
        Boundary::ValueAware => return text,
    };
    if count > 0 {
        text += &styled(DIM, format!("  assumed: {assumed}\n"));
    }
    text
}

/// What executing the programs again showed.
fn executed(executed: &Executed, result: &Result<'_>) -> String {
    let Counts { validated, still_violating, harmless, failed } = executed.counts;
    let mut text = String::new();
    if !result.found().is_empty() {
        let parts = [
            (validated, "validated"),
            (still_violating, "diverged, still violating"),
            (harmless, "diverged, harmless"),
            (failed, "failed"),
        ];
        let parts: Vec<String> = parts.iter().map(|(count, name)| format!("{count} {name}")).collect();
        let is_limit = |one: &&Validation| matches!(&one.class, Class::Failed(failure) if failure.is_limit());
        let stopped = match executed.validations.iter().filter(is_limit).count() {
            0 => String::new(),
            count => format!(" ({count} not executed: the time limit was reached)"),
        };
        text += &format!("  executed again in the in-memory store: {}{stopped}\n", parts.join("; "));
    }
    if !executed.played.is_empty() && executed.played.iter().any(|played| played.outcome.is_some()) {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for outcome in executed.played.iter().filter_map(|played| played.outcome.as_ref()) {
            match counts.iter_mut().find(|(name, _)| *name == outcome.name()) {
                Some(known) => known.1 += 1,
                None => counts.push((outcome.name(), 1)),
            }
        }
        let parts: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        text += &format!("  run on the database: {}\n", parts.join("; "));
    }
    if executed.incomplete > 0 {
        let count = counted(executed.incomplete as u64, "transaction");
        let not_all = format!("  not all executions of {count} were tried: there may be more predictions\n");
        text += &styled(WARNING, not_all);
    }
    if let Some(baseline) = &executed.baseline {
        text += &format!(
            "  at random: {} of {} violate {}, {} break a rule of {}\n",
            baseline.violating,
            counted(baseline.runs as u64, "execution"),
            result.settings.target,
            baseline.breaking,
            executed.application
        );
        for (rule, runs) in &baseline.rules {
            text += &wrap(&format!("    {runs} times: {rule}"), 6);
        }
        if let Some(first) = baseline.failures.first() {
            let first = first.describe(&|call| result.name_of(call, None));
            text += &format!("    {} failed, the first: {}\n", baseline.failures.len(), first);
        }
        if baseline.limit.is_some() {
            text += &styled(WARNING, "    a limit ended the random executions\n");
        }
    }
    text
}

/// What a prediction is of.
fn violation(target: Level) -> String {
    format!("an execution that is not {target}")
}

/// Why nothing is predicted from a run that is not serializable; `violates` says whether it violates the target, if that is known.
pub(crate) fn no_serializable_run(target: Level, violates: Option<bool>) -> String {
    let needs = "the run is not serializable, and a prediction needs a serializable run";
    match violates {
        Some(true) => format!("the run itself is not {target}: no prediction is needed"),
        Some(false) => format!("{needs}; the run satisfies {target}"),
        None => format!("{needs}; it could not be decided whether the run satisfies {target}"),
    }
}

/// The run itself is not serializable.
pub(crate) fn not_serializable(
    reading: &Reading,
    judgement: &Judgement,
    target: Level,
    violates: Option<bool>,
) -> String {
    let Verdict::Violated(findings) = &judgement.verdict else { return String::new() };
    let style = if violates == Some(true) { ERROR } else { WARNING };
    let mut text = format!("{}\n", styled(style, no_serializable_run(target, violates)));
    let teller = Teller::new(&reading.history);
    for finding in findings {
        if let Some(instance) = finding.instances.first() {
            let story = teller.story(finding.anomaly, instance);
            text += &wrap(&format!("  {}: {}", finding.anomaly, story.headline), 2);
        }
    }
    text + &styled(DIM, format!("  `isoscope check --level {}` shows the evidence\n", judgement.level))
}

/// The width of the text.
const WIDTH: usize = 118;

/// Breaks a paragraph into lines; those after the first are indented.
fn wrap(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let start = text.len() - text.trim_start().len();
    let mut line = " ".repeat(start);
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += &format!("{line}\n");
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    lines + &line + "\n"
}

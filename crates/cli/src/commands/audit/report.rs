//! The result of an audit, as text, one line, JSON and JUnit XML.

use isoscope_audit::{Blame, Gap, Rung, Verdict, Violation};
use isoscope_log::{Answer, Entry, LOADER, Scalar};
use isoscope_report::words::{count, counted};
use serde_json::{Value, json};

use super::Audited;
use crate::terminal::{BOLD, DIM, ERROR, GOOD, WARNING, styled};

/// How many answers of a core, and how many gaps, are printed.
const MOST: usize = 12;
/// The longest text of a statement or an answer that is printed, in characters.
const LONGEST: usize = 200;

/// The line of an entry: the header is line 1, and there are no empty lines.
pub(super) fn line(entry: usize) -> usize {
    entry + 2
}

/// Text.
pub(super) fn full(audited: &Audited<'_>) -> String {
    let mut text = title(audited);
    let done = counted(audited.audit.figures.answers as u64, "answer");
    match &audited.audit.verdict {
        Verdict::Explained(_) => {
            let gaps = &audited.audit.gaps;
            let mark = if gaps.is_empty() { styled(GOOD, "✓") } else { styled(WARNING, "?") };
            text += &format!(
                "{mark} explained: an execution at {} gives all {done} that were checked\n",
                model(audited)
            );
        }
        Verdict::Undecided(undecided) => {
            text += &format!("{} undecided: {}\n", styled(WARNING, "?"), undecided.why);
            text += &format!("  {done} explained before {}\n", place(audited, undecided.entry));
        }
        Verdict::Violated(violation) => text += &violated(audited, violation),
    }
    text + &gaps(audited)
}

fn title(audited: &Audited<'_>) -> String {
    let header = &audited.log.header;
    let sessions: std::collections::BTreeSet<String> = audited
        .log
        .entries
        .iter()
        .map(|entry| spelled(&entry.session))
        .filter(|name| name != LOADER)
        .collect();
    format!(
        "{}  {}, {}, {}   {}, {}, audited as {}\n\n",
        styled(BOLD, audited.file.display()),
        counted(sessions.len() as u64, "session"),
        counted(audited.audit.figures.transactions as u64, "transaction"),
        counted(audited.log.entries.len() as u64, "statement"),
        header.database,
        header.isolation,
        model(audited),
    )
}

fn model(audited: &Audited<'_>) -> &'static str {
    audited.audit.model.name()
}

fn violated(audited: &Audited<'_>, violation: &Violation) -> String {
    let entry = &audited.log.entries[violation.entry];
    let mut text = format!("{} violated: {}\n\n", styled(ERROR, "✗"), blame(violation.blame));
    text += &format!("  No correct execution explains {}:\n", place(audited, violation.entry));
    text += &format!("    {}\n", statement(entry));
    text += &format!("    answered {}\n", answer(entry));
    text += &format!("  {}\n", sentence(&violation.why));
    text += &format!(
        "  The {} before it are explained.\n",
        counted(audited.audit.figures.answers as u64, "answer")
    );
    let core = &violation.core;
    if core.answers.len() > 1 {
        let minimal = if core.is_minimal { "; without any of them, the others are explained" } else { "" };
        text += &format!(
            "\n  {} contradict each other{minimal}:\n",
            counted(core.answers.len() as u64, "answer")
        );
        for &one in core.answers.iter().take(MOST) {
            let entry = &audited.log.entries[one];
            text += &format!(
                "    {} {} => {}\n",
                styled(DIM, format!("{}:", place(audited, one))),
                statement(entry),
                answer(entry)
            );
        }
        text += &more(core.answers.len());
    }
    text
}

/// A text as a sentence.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", chars.as_str())
}

/// What kind of wrong it is, in words.
fn blame(blame: Blame) -> String {
    match blame {
        Blame::Isolation(Rung::Model(model)) => {
            format!("isolation; the answers are correct at the weaker {model}")
        }
        Blame::Isolation(Rung::AnyCommitted) => {
            "isolation; the answers are correct on rows that were committed at some time".to_owned()
        }
        Blame::Isolation(Rung::AnyWritten) => {
            "isolation; the answers are correct only on rows that were not committed or were rolled back"
                .to_owned()
        }
        Blame::Semantic => "no rows that were ever written give this answer".to_owned(),
        _ => "whether isolation or the evaluation is wrong was not determined".to_owned(),
    }
}

fn gaps(audited: &Audited<'_>) -> String {
    let gaps = &audited.audit.gaps;
    if gaps.is_empty() {
        return String::new();
    }
    let (are, noun) = if gaps.len() == 1 { ("was", "statement") } else { ("were", "statement") };
    let mut text = format!("\n  {} {are} not checked:\n", counted(gaps.len() as u64, noun));
    for Gap { entry, why } in gaps.iter().take(MOST) {
        text += &format!("    {}: {why}\n", place(audited, *entry));
    }
    text + &more(gaps.len())
}

fn more(shown: usize) -> String {
    if shown > MOST { format!("    and {} more\n", count((shown - MOST) as u64)) } else { String::new() }
}

/// Where an entry is, and whose it is.
fn place(audited: &Audited<'_>, entry: usize) -> String {
    let of = &audited.log.entries[entry];
    format!(
        "line {} (transaction {}, session {})",
        count(line(entry) as u64),
        spelled(&of.txn),
        spelled(&of.session)
    )
}

/// A statement with its parameters.
fn statement(entry: &Entry) -> String {
    let mut text = entry.sql.clone();
    if !entry.params.is_empty() {
        let params: Vec<String> = entry.params.iter().map(spelled).collect();
        text += &format!(" [{}]", params.join(", "));
    }
    cut(&text)
}

/// What the database answered.
fn answer(entry: &Entry) -> String {
    cut(&match &entry.answer {
        Ok(Answer::Rows(rows)) if rows.is_empty() => "no rows".to_owned(),
        Ok(Answer::Rows(rows)) => {
            let row = |row: &Vec<Scalar>| {
                let cells: Vec<String> = row.iter().map(spelled).collect();
                if cells.len() == 1 { cells.concat() } else { format!("({})", cells.join(", ")) }
            };
            rows.iter().map(row).collect::<Vec<_>>().join(", ")
        }
        Ok(Answer::Count(n)) => counted(*n, "row"),
        Err(failure) => format!("error {}: {failure}", failure.class.name()),
    })
}

fn cut(text: &str) -> String {
    let mut short: String =
        text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        short += "..";
    }
    short
}

fn spelled(value: &Scalar) -> String {
    match value {
        Scalar::Null => "NULL".to_owned(),
        Scalar::Bool(yes) => yes.to_string(),
        Scalar::Int(n) => n.to_string(),
        Scalar::Float(n) => n.to_string(),
        Scalar::Text(text) => text.clone(),
    }
}

/// One line.
pub(super) fn concise(audited: &Audited<'_>) -> String {
    let file = audited.file.display();
    let gaps = match audited.audit.gaps.len() {
        0 => String::new(),
        n => format!("; {} not checked", counted(n as u64, "statement")),
    };
    match &audited.audit.verdict {
        Verdict::Explained(_) => format!("{file}: explained at {}{gaps}\n", model(audited)),
        Verdict::Undecided(undecided) => {
            format!("{file}: undecided at {}: {}{gaps}\n", model(audited), undecided.why)
        }
        Verdict::Violated(violation) => format!(
            "{file}: violated at {}: {}: {}{gaps}\n",
            model(audited),
            place(audited, violation.entry),
            blame(violation.blame)
        ),
    }
}

/// Figures, for `--verbose`.
pub(super) fn figures(audited: &Audited<'_>) -> String {
    let figures = &audited.audit.figures;
    let seconds = audited.time.as_secs_f64();
    let refused: Vec<String> = figures.refused.iter().map(|(class, n)| format!("{n} {class}")).collect();
    format!(
        "{} in {seconds:.3} s, {:.0} transactions per second; {} by a search; {} orders proposed, largest region {} points; refused: {}",
        counted(figures.answers as u64, "answer"),
        figures.transactions as f64 / seconds.max(1e-9),
        figures.by_search,
        figures.proposals,
        figures.largest_region,
        if refused.is_empty() { "none".to_owned() } else { refused.join(", ") },
    )
}

/// JSON.
pub(super) fn json(audited: &Audited<'_>) -> Value {
    let audit = &audited.audit;
    let place = |entry: usize| {
        let of = &audited.log.entries[entry];
        json!({
            "line": line(entry),
            "session": spelled(&of.session),
            "transaction": spelled(&of.txn),
            "sql": of.sql,
            "parameters": of.params.iter().map(spelled).collect::<Vec<_>>(),
            "answer": answer(of),
        })
    };
    let mut object = json!({
        "file": audited.file.display().to_string(),
        "verdict": word(&audit.verdict),
        "model": model(audited),
        "transactions": audit.figures.transactions,
        "statements": audited.log.entries.len(),
        "explained": audit.figures.answers,
        "by_search": audit.figures.by_search,
        "refused": audit.figures.refused,
        "gaps": audit.gaps.iter().map(|gap| json!({"line": line(gap.entry), "why": gap.why})).collect::<Vec<_>>(),
        "seconds": audited.time.as_secs_f64(),
    });
    match &audit.verdict {
        Verdict::Explained(_) => {}
        Verdict::Undecided(undecided) => {
            object["undecided"] = json!({"why": undecided.why, "at": place(undecided.entry)});
        }
        Verdict::Violated(violation) => {
            object["violation"] = json!({
                "at": place(violation.entry),
                "why": violation.why,
                "core": {
                    "answers": violation.core.answers.iter().map(|&entry| place(entry)).collect::<Vec<_>>(),
                    "minimal": violation.core.is_minimal,
                },
                "blame": blame_json(violation.blame),
            });
        }
    }
    object
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Explained(_) => "explained",
        Verdict::Violated(_) => "violated",
        Verdict::Undecided(_) => "undecided",
    }
}

fn blame_json(blame: Blame) -> Value {
    match blame {
        Blame::Isolation(rung) => {
            let rung = match rung {
                Rung::Model(model) => model.name(),
                Rung::AnyCommitted => "any-committed",
                Rung::AnyWritten => "any-written",
            };
            json!({"kind": "isolation", "rung": rung})
        }
        Blame::Semantic => json!({"kind": "semantic"}),
        _ => json!({"kind": "undetermined"}),
    }
}

/// JUnit XML: one test case.
pub(super) fn junit(audited: &Audited<'_>) -> String {
    let escape = |text: &str| {
        let text: String = text.chars().filter(|&c| c == '\n' || !c.is_control()).collect();
        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
    };
    let (tag, failures, errors) = match &audited.audit.verdict {
        Verdict::Explained(_) => ("", 0, 0),
        Verdict::Violated(_) => ("failure", 1, 0),
        Verdict::Undecided(_) => ("error", 0, 1),
    };
    let name = escape(&audited.file.display().to_string());
    let plain = anstream::adapter::strip_str(&full(audited)).to_string();
    let body = match tag {
        "" => String::new(),
        tag => format!(
            "\n      <{tag} message=\"{}\">{}</{tag}>\n    ",
            escape(concise(audited).trim_end()),
            escape(&plain)
        ),
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{name}\" tests=\"1\" failures=\"{failures}\" \
         errors=\"{errors}\" time=\"{:.3}\">\n    <testcase classname=\"audit\" name=\"{}\">{body}</testcase>\n  </testsuite>\n</testsuites>\n",
        audited.time.as_secs_f64(),
        model(audited),
    )
}

//! `isoscope stats`: statistics of a history.

use std::fmt::Write as _;
use std::path::Path;

use isoscope_explain::visible;
use isoscope_formats::{Failure, Problem, Reading};
use isoscope_history::{History, OpKind, Stats};
use isoscope_report::ProblemJson;
use serde::Serialize;

use crate::args::{StatsArgs, Style};
use crate::commands::open;
use crate::exit::Exit;
use crate::terminal::{BOLD, DIM, Terminal, styled};
use crate::words::{self, count, counted, percent};

pub(crate) fn run(args: &StatsArgs, terminal: &Terminal) -> Exit {
    let mut exit = Exit::Holds;
    let mut objects = Vec::new();
    for (i, file) in args.files.iter().enumerate() {
        let result = open::open(file, args.files.len() > 1, &args.read, None, terminal);
        if result.is_err() {
            exit = exit.and(Exit::Failed);
        }
        match args.format {
            Style::Full | Style::Concise => {
                if let Ok(reading) = &result {
                    let gap = if i > 0 && args.format == Style::Full { "\n" } else { "" };
                    terminal.print(&format!("{gap}{}", for_people(file, reading, args.format)));
                }
            }
            Style::Jsonl => terminal.print(&format!("{}\n", json(file, &result))),
            Style::Json => objects.push(json(file, &result)),
        }
    }
    match objects.as_slice() {
        [] => {}
        [one] => terminal.print(&format!("{one:#}\n")),
        _ => terminal.print(&format!("{:#}\n", serde_json::Value::Array(objects))),
    }
    if terminal.lost_output() { exit.and(Exit::Failed) } else { exit }
}

fn for_people(file: &Path, reading: &Reading, style: Style) -> String {
    let stats = Stats::of(&reading.history);
    if style == Style::Full {
        return table(file, reading, &stats);
    }
    format!(
        "{}: {}, {}, {}, {}, {} reads\n",
        file.display(),
        counted(stats.sessions as u64, "session"),
        counted(stats.transactions as u64, "transaction"),
        counted(stats.operations as u64, "operation"),
        counted(stats.keys as u64, "key"),
        words::ratio(stats.read_ratio()),
    )
}

fn table(file: &Path, reading: &Reading, stats: &Stats) -> String {
    let history = &reading.history;
    let mut out = String::new();
    let title = styled(BOLD, visible(&file.display().to_string()));
    let _ = writeln!(out, "{title}  {}", styled(DIM, reading.format.about()));
    let mut row = |name: &str, number: String, rest: String| {
        let line = format!("  {name:<14} {number:>13}   {rest}");
        let _ = writeln!(out, "{}", line.trim_end());
    };
    row("sessions", count(stats.sessions as u64), String::new());
    row("transactions", count(stats.transactions as u64), outcomes(stats));
    row("operations", count(stats.operations as u64), sizes(stats));
    row("keys", count(stats.keys as u64), never_written(stats));
    for (kind, &number) in OpKind::ALL.iter().zip(&stats.by_kind).filter(|(_, number)| **number > 0) {
        let share = percent(number as u64, stats.operations as u64);
        let rest = match kind {
            OpKind::Read | OpKind::ReadList => format!("{share}{}", reads(stats)),
            _ => share,
        };
        row(kind_words(*kind), count(number as u64), rest);
    }
    row("duplicates", count(stats.duplicate_values as u64), duplicates(stats));
    if let Some(c) = stats.concurrency {
        let span = c.nanoseconds.map_or(String::new(), |ns| format!(" over {}", words::duration(ns)));
        row(
            "concurrency",
            count(c.most as u64),
            format!("concurrent transactions at most, {:.1} on average{span}", c.mean),
        );
    }
    let total = stats.operations as u64;
    for (i, &(key, number)) in stats.hot_keys.iter().enumerate() {
        let name = if i == 0 { "hot keys" } else { "" };
        let key = words::value(history, history.key_name(key));
        row(
            name,
            key,
            format!("{} ({})", counted(number as u64, "operation"), percent(number as u64, total)),
        );
    }
    out
}

fn kind_words(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read => "reads",
        OpKind::Write => "writes",
        OpKind::Append => "appends",
        OpKind::ReadList => "list reads",
        OpKind::Insert => "inserts",
        OpKind::Delete => "deletes",
        OpKind::RangeRead => "range reads",
    }
}

fn outcomes(stats: &Stats) -> String {
    let parts =
        [(stats.committed, "committed"), (stats.aborted, "aborted"), (stats.unknown, "of unknown outcome")];
    let said = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n as u64)));
    said.collect::<Vec<_>>().join(", ")
}

fn sizes(stats: &Stats) -> String {
    if stats.transactions == 0 {
        return String::new();
    }
    let (least, most) = stats.txn_size;
    let mean = stats.operations as f64 / stats.transactions as f64;
    format!("{mean:.1} per transaction, from {} to {}", count(least as u64), count(most as u64))
}

fn never_written(stats: &Stats) -> String {
    match stats.keys_never_written {
        0 => String::new(),
        n => format!("{} read but never written", count(n as u64)),
    }
}

fn reads(stats: &Stats) -> String {
    let mut said = format!(
        "; {} external, {} of initial values",
        count(stats.external_reads as u64),
        count(stats.initial_reads as u64)
    );
    if stats.unknown_reads > 0 {
        let _ = write!(said, ", {} without a result", count(stats.unknown_reads as u64));
    }
    said
}

fn duplicates(stats: &Stats) -> String {
    match stats.duplicate_values {
        0 => "every written value is unique to its key".to_owned(),
        _ => format!(
            "values written more than once, on {} ({})",
            counted(stats.keys_with_duplicates as u64, "key"),
            percent(stats.keys_with_duplicates as u64, stats.keys as u64)
        ),
    }
}

/// The machine-readable form. Fields may be added, never renamed.
#[derive(Serialize)]
struct StatsJson<'a> {
    file: String,
    format: &'static str,
    sessions: usize,
    transactions: usize,
    operations: usize,
    keys: usize,
    outcomes: serde_json::Value,
    kinds: serde_json::Value,
    read_ratio: f64,
    external_reads: usize,
    initial_reads: usize,
    unknown_reads: usize,
    duplicate_values: usize,
    keys_with_duplicates: usize,
    keys_never_written: usize,
    transaction_size: serde_json::Value,
    hot_keys: Vec<serde_json::Value>,
    concurrency: Option<serde_json::Value>,
    problems: Vec<ProblemJson<'a>>,
}

#[derive(Serialize)]
struct FailureJson<'a> {
    file: String,
    error: String,
    problems: Vec<ProblemJson<'a>>,
}

fn json(file: &Path, result: &Result<Reading, Failure>) -> serde_json::Value {
    let file = file.display().to_string();
    let value = match result {
        Ok(reading) => serde_json::to_value(stats_json(file, reading, &reading.warnings)),
        Err(failure) => {
            let error = failure.problems.first().map(ToString::to_string).unwrap_or_default();
            let problems = ProblemJson::list(&failure.problems);
            serde_json::to_value(FailureJson { file, error, problems })
        }
    };
    value.unwrap_or(serde_json::Value::Null)
}

fn stats_json<'a>(file: String, reading: &Reading, problems: &'a [Problem]) -> StatsJson<'a> {
    let history = &reading.history;
    let stats = Stats::of(history);
    let kinds = OpKind::ALL.iter().zip(stats.by_kind).map(|(kind, n)| (kind.name().to_owned(), n.into()));
    StatsJson {
        file,
        format: reading.format.name(),
        sessions: stats.sessions,
        transactions: stats.transactions,
        operations: stats.operations,
        keys: stats.keys,
        outcomes: serde_json::json!({
            "committed": stats.committed, "aborted": stats.aborted, "unknown": stats.unknown
        }),
        kinds: serde_json::Value::Object(kinds.collect()),
        read_ratio: stats.read_ratio(),
        external_reads: stats.external_reads,
        initial_reads: stats.initial_reads,
        unknown_reads: stats.unknown_reads,
        duplicate_values: stats.duplicate_values,
        keys_with_duplicates: stats.keys_with_duplicates,
        keys_never_written: stats.keys_never_written,
        transaction_size: serde_json::json!({ "least": stats.txn_size.0, "most": stats.txn_size.1 }),
        hot_keys: hot_keys(history, &stats),
        concurrency: stats
            .concurrency
            .map(|c| serde_json::json!({ "most": c.most, "mean": c.mean, "nanoseconds": c.nanoseconds })),
        problems: ProblemJson::list(problems),
    }
}

fn hot_keys(history: &History, stats: &Stats) -> Vec<serde_json::Value> {
    let name = |key| isoscope_history::notation::ValueText(history, history.key_name(key)).to_string();
    stats.hot_keys.iter().map(|&(key, n)| serde_json::json!({ "key": name(key), "operations": n })).collect()
}

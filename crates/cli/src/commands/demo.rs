//! `isoscope demo`: the main functions, shown on a small generated history.
//!
//! The generated history is written as text and read again, so that the report can point into it like into a file.

use std::fmt::Write as _;

use isoscope::report::full;
use isoscope::{Check, Limits, Report};
use isoscope_formats::{Format, Input, ReadOptions, Reading, Target, read, write};
use isoscope_history::notation::OpText;
use isoscope_history::{History, Key, OpKind, OpView, Txn};
use isoscope_levels::{Anomaly, Level};
use isoscope_workload::{Injection, Spec, run as run_workload};

use crate::args::DemoArgs;
use crate::exit::Exit;
use crate::terminal::{Ansi, BOLD, DIM, FRAME, Terminal, WARNING, styled};
use crate::words::{counted, value};

/// The name of the text in reports.
const NAME: &str = "demo";

pub(crate) fn run(args: &DemoArgs, terminal: &Terminal) -> Exit {
    let made = |anomaly| generate(args.seed, anomaly).and_then(|text| judge(&text));
    let ((first, report), (second, skewed)) =
        match (made(Anomaly::CausalityViolation), made(Anomaly::WriteSkew)) {
            (Ok(first), Ok(second)) => (first, second),
            (Err(message), _) | (_, Err(message)) => {
                terminal.error(&message);
                return Exit::Failed;
            }
        };
    let history = &first.history;
    let text = [
        heading(1, "A history: one session per line, with its transactions in order"),
        sessions(history, &report),
        about_the_notation(),
        heading(2, "Which isolation levels does it satisfy, and why not the others? (isoscope check)"),
        verdicts(&report),
        heading(3, "Stronger levels: two transactions that each read what the other overwrites"),
        sessions(&second.history, &skewed),
        "\n".to_owned(),
        verdicts(&skewed),
        heading(4, "The first history in the formats of other tools (isoscope convert)"),
        as_written(history, Format::Edn, "Jepsen and Elle, EDN", 2),
        as_written(history, Format::Plume, "Plume, text", 2),
        heading(5, "Next steps"),
        your_turn(args.seed),
    ];
    terminal.print(&text.concat());
    if terminal.lost_output() { Exit::Failed } else { Exit::Holds }
}

/// The levels, and every anomaly.
fn verdicts(report: &Report) -> String {
    let text = full::lattice(report, &Ansi) + &full::anomalies(report, &Ansi);
    text.trim_end_matches('\n').to_owned() + "\n"
}

/// A history of a serializable store with an anomaly added, in the notation.
fn generate(seed: u64, anomaly: Anomaly) -> Result<String, String> {
    let spec = Spec {
        sessions: 3,
        txns_per_session: 2,
        ops_per_txn: 2,
        keys: 3,
        level: Level::Serializable,
        injections: vec![Injection { kind: anomaly, count: 1 }],
        seed,
        ..Spec::default()
    };
    let history = run_workload(&spec, &mut |_, _| {}).map_err(|error| error.to_string())?;
    let lines = history.sessions().map(|session| {
        let text = |txn| txn_text(&history, txn, |op| op_text(&history, op));
        history.txns_of(session).map(text).collect::<Vec<_>>().join(" ; ") + "\n"
    });
    Ok(lines.collect())
}

/// A transaction in the notation.
fn txn_text(history: &History, txn: Txn, op_text: impl Fn(OpView) -> String) -> String {
    let ops: Vec<String> = history.ops_of(txn).map(op_text).collect();
    format!("T{}: {}", value(history, history.txn_name(txn)), ops.join(" "))
}

/// An operation in the notation, with a letter for its key.
fn op_text(history: &History, op: OpView) -> String {
    const LETTERS: [&str; 6] = ["x", "y", "z", "u", "v", "w"];
    let Key(number) = op.key;
    let key = LETTERS.get(number as usize).map_or(format!("k{number}"), |&letter| letter.to_owned());
    let word = if op.kind == OpKind::Read { "r" } else { "w" };
    format!("{word}({key},{})", value(history, op.value))
}

fn judge(text: &str) -> Result<(Reading, Report), String> {
    let options = ReadOptions { format: Some(Format::Notation), ..ReadOptions::default() };
    let reading: Reading = read(&Input::text(NAME, text), &options).map_err(|failure| failure.to_string())?;
    let report = Check::new(&reading).max_anomalies(1).limits(Limits::default()).run();
    Ok((reading, report))
}

fn heading(number: usize, text: &str) -> String {
    let gap = if number == 1 { "" } else { "\n" };
    format!("{gap}{} {}\n\n", styled(FRAME, format!("{number}.")), styled(BOLD, text))
}

/// The text of the history, with the transactions of the anomaly highlighted.
fn sessions(history: &History, report: &Report) -> String {
    let culprits = culprits(report);
    let mut out = String::new();
    for session in history.sessions() {
        let txns = history.txns_of(session).map(|txn| {
            let text = txn_text(history, txn, |op| OpText(history, op.id).to_string());
            if culprits.contains(&format!("T{}", value(history, history.txn_name(txn)))) {
                styled(WARNING, text)
            } else {
                text
            }
        });
        let _ = writeln!(out, "  {}", txns.collect::<Vec<_>>().join(" ; "));
    }
    out
}

fn about_the_notation() -> String {
    let about = "`r(x,1)` reads 1 from x, `w(x,1)` writes 1 to x. A serializable store ran these transactions;\n  \
                 then one anomaly was injected.";
    format!("\n  {}\n", styled(DIM, about))
}

/// The transactions whose operations show the first anomaly.
fn culprits(report: &Report) -> Vec<String> {
    let findings = report.levels.iter().find_map(|result| result.findings.first());
    let operations = findings.and_then(|finding| finding.occurrences.first()).map(|first| &first.operations);
    operations.into_iter().flatten().map(|operation| operation.transaction.clone()).collect()
}

/// The first lines of the history in a format.
fn as_written(history: &History, format: Format, title: &str, lines: usize) -> String {
    let mut bytes = Vec::new();
    if let Err(error) = write(history, format, Target::Stream(&mut bytes)) {
        return format!("  {title}: {error}\n");
    }
    let text = String::from_utf8_lossy(&bytes);
    let more = text.lines().count().saturating_sub(lines);
    let shown: Vec<String> = text.lines().take(lines).map(|line| format!("  {line}\n")).collect();
    let shown = shown.concat();
    format!(
        "  {}\n{shown}  {}\n",
        styled(BOLD, title),
        styled(DIM, format!("... {}", counted(more as u64, "more line")))
    )
}

fn your_turn(seed: u64) -> String {
    let commands = [
        ("isoscope test", "test an embedded SQLite"),
        ("isoscope test postgres://localhost/db", "test your database"),
        ("isoscope check FILE", "check a history: Jepsen, elle-cli, Plume, dbcop, Cobra, ..."),
        ("isoscope check --level causal FILE", "check one level; use the exit code in scripts"),
        ("isoscope check --level ser --timeout 5m FILE", "check with a time limit"),
        ("isoscope stats FILE", "print statistics"),
        ("isoscope convert FILE --to plume", "convert to another format"),
        ("isoscope generate --level si -o h.jsonl", "generate a history at a level"),
    ];
    let mut out = String::new();
    for (command, about) in commands {
        let _ = writeln!(out, "  {command:<45} {}", styled(DIM, about));
    }
    let _ = writeln!(out, "\n  This demo used --seed {seed}. Another seed gives another history.");
    out
}

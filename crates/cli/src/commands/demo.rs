//! `isoscope demo`: what the tool does, shown on a small history it makes itself.

use std::fmt::Write as _;

use isoscope_formats::{Format, Target, write};
use isoscope_history::{History, Stats, Txn, notation};
use isoscope_levels::{Anomaly, Level};
use isoscope_workload::{Injection, Spec, run as run_workload};

use crate::args::DemoArgs;
use crate::exit::Exit;
use crate::terminal::{BOLD, DIM, FRAME, Terminal, WARNING, styled};
use crate::words::{counted, ratio, value};

pub(crate) fn run(args: &DemoArgs, terminal: &Terminal) -> Exit {
    let spec = Spec {
        sessions: 3,
        txns_per_session: 2,
        ops_per_txn: 3,
        keys: 3,
        level: Level::Serializable,
        injections: vec![Injection { kind: Anomaly::LostUpdate, count: 1 }],
        seed: args.seed,
        ..Spec::default()
    };
    let history = match run_workload(&spec, &mut |_, _| {}) {
        Ok(history) => history,
        Err(error) => {
            terminal.error(&error.to_string());
            return Exit::Failed;
        }
    };
    let text = [
        heading(1, "A history: sessions of transactions of reads and writes"),
        sessions(&history),
        story(&history),
        heading(2, "What is in it (isoscope stats)"),
        figures(&history),
        heading(3, "The same history, as other tools write it (isoscope convert)"),
        as_written(&history, Format::Edn, "Jepsen and Elle, EDN", 4),
        as_written(&history, Format::Plume, "Plume, text", 4),
        heading(4, "Your turn"),
        your_turn(args.seed),
    ];
    terminal.print(&text.concat());
    if terminal.lost_output() { Exit::Failed } else { Exit::Holds }
}

fn heading(number: usize, text: &str) -> String {
    let gap = if number == 1 { "" } else { "\n" };
    format!("{gap}{} {}\n\n", styled(FRAME, format!("{number}.")), styled(BOLD, text))
}

/// The sessions in the notation, one a line; the injected transactions stand out.
fn sessions(history: &History) -> String {
    let culprits = lost_update(history).map(|(first, second)| [first, second]).unwrap_or_default();
    let mut out = String::new();
    for session in history.sessions() {
        let _ = write!(out, "   session {}:", value(history, history.session_name(session)));
        for (i, txn) in history.txns_of(session).enumerate() {
            let ops: Vec<String> =
                history.ops_of(txn).map(|op| notation::OpText(history, op.id).to_string()).collect();
            let text = format!("T{}: {}", value(history, history.txn_name(txn)), ops.join(" "));
            let text = if culprits.contains(&txn) { styled(WARNING, text) } else { text };
            let _ = write!(out, "{}{text}", if i == 0 { " " } else { "  ;  " });
        }
        out.push('\n');
    }
    out
}

/// Two transactions that read one version of a key and both write the key.
fn lost_update(history: &History) -> Option<(Txn, Txn)> {
    let update_of = |txn: Txn| {
        let mut reads = history.ops_of(txn).filter(|op| op.external);
        reads.find(|read| history.writers(read.key).contains(&txn)).map(|read| (read.key, read.value))
    };
    let pairs = history.txns().flat_map(|a| history.txns().filter(move |&b| a < b).map(move |b| (a, b)));
    pairs.into_iter().find(|&(a, b)| update_of(a).is_some() && update_of(a) == update_of(b))
}

fn story(history: &History) -> String {
    let Some((first, second)) = lost_update(history) else { return String::new() };
    let name = |txn| format!("T{}", value(history, history.txn_name(txn)));
    let key = history.ops_of(first).find(|op| op.external).map(|op| value(history, history.key_name(op.key)));
    format!(
        "\n   A store that is serializable ran this, and then an anomaly was added: a {}.\n   \
         {} and {} both read key {} before either had written it, and both wrote it. Whichever\n   \
         of the two came second has overwritten an update it never saw, so no serial order, and\n   \
         no snapshot, explains what they read.\n",
        styled(WARNING, "lost update"),
        name(first),
        name(second),
        key.unwrap_or_default(),
    )
}

fn figures(history: &History) -> String {
    let stats = Stats::of(history);
    let concurrency = stats.concurrency.map_or(String::new(), |c| {
        format!("   At most {} ran at once.\n", counted(c.most as u64, "transaction"))
    });
    format!(
        "   {}, {}, {} on {}; {} are reads.\n   {}\n{concurrency}",
        counted(stats.sessions as u64, "session"),
        counted(stats.transactions as u64, "transaction"),
        counted(stats.operations as u64, "operation"),
        counted(stats.keys as u64, "key"),
        ratio(stats.read_ratio()),
        match stats.duplicate_values {
            0 => "Every written value is unique, so each read says which transaction it read from.",
            _ => "Some values were written more than once, so some reads have several possible writers.",
        },
    )
}

/// The first lines of the history in a format.
fn as_written(history: &History, format: Format, title: &str, lines: usize) -> String {
    let mut bytes = Vec::new();
    if let Err(error) = write(history, format, Target::Stream(&mut bytes)) {
        return format!("   {title}: {error}\n");
    }
    let text = String::from_utf8_lossy(&bytes);
    let more = text.lines().count().saturating_sub(lines);
    let shown: Vec<String> = text.lines().take(lines).map(|line| format!("   {line}\n")).collect();
    let shown = shown.concat();
    format!(
        "   {}\n{shown}   {}\n",
        styled(BOLD, title),
        styled(DIM, format!("... {}", counted(more as u64, "more line")))
    )
}

fn your_turn(seed: u64) -> String {
    let commands = [
        ("isoscope stats FILE", "any history: Jepsen, elle-cli, Plume, dbcop, Cobra, ..."),
        ("isoscope convert FILE --to plume", "from any format to another"),
        ("isoscope generate --level si -o h.jsonl", "a workload at a level of your choice"),
        ("isoscope formats", "what can be read and written"),
    ];
    let mut out = String::new();
    for (command, about) in commands {
        let _ = writeln!(out, "   {command:<42} {}", styled(DIM, about));
    }
    let _ = writeln!(out, "\n   This was --seed {seed}; another seed gives another history.");
    out
}

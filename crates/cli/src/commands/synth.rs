//! `isoscope synth` and `isoscope compare`: histories that tell levels apart.

use std::path::PathBuf;

use isoscope_levels::language::{Definition, Formula, Library};
use isoscope_synth::{Order, Problem, SmallHistory, Smallest, compare as compare_levels, smallest};
use serde_json::{Value, json};

use super::definitions::{self, Limited, full_name};
use crate::args::{CompareArgs, SynthArgs, SynthStyle};
use crate::exit::Exit;
use crate::terminal::{BOLD, DIM, ERROR, GOOD, Terminal, styled};

/// Conditions with a name.
const CONDITIONS: [(&str, &str); 2] = [
    ("no-blind-writes", "forall t, s: Txn, x: Key. so(s, t) & writes(t, x) => reads(t, x)"),
    ("one-transaction-per-session", "forall r, s, t: Txn. !(so(r, s) & so(s, t))"),
];

/// The most histories of `--all`.
const MOST: usize = 1_000;

pub(crate) fn run(args: &SynthArgs, terminal: &Terminal) -> Exit {
    let files = args.definitions.define.iter().map(PathBuf::as_path);
    let Some(mut library) = definitions::library(files, terminal) else { return Exit::Failed };
    let mut find = |names: &[String]| -> Option<Vec<Definition>> {
        names.iter().map(|name| definitions::find(&mut library, name, terminal)).collect()
    };
    let (Some(allow), Some(forbid)) = (find(&args.allow), find(&args.forbid)) else { return Exit::Usage };
    let Some(conditions) = conditions(&args.conditions, terminal) else { return Exit::Usage };
    let problem = Problem { allow: allow.iter().collect(), forbid: forbid.iter().collect(), conditions };
    let most = if args.all { MOST } else { 1 };
    let mut watch = Limited::new(&args.scope, terminal);
    for definition in allow.iter().chain(&forbid) {
        definitions::warn_of_extremes(definition, args.scope.scope(), &mut watch);
    }
    let found = smallest(&problem, args.scope.scope(), most, &mut watch);
    terminal.print(&match args.format {
        SynthStyle::Full => full(args, &problem, &found),
        SynthStyle::Json => format!("{:#}\n", json(args, &problem, &found)),
    });
    match (terminal.lost_output(), found.stopped, found.histories.is_empty()) {
        (true, ..) => Exit::Failed,
        (_, true, _) => Exit::Unknown,
        (_, _, true) => Exit::Violated,
        _ => Exit::Holds,
    }
}

/// The conditions on the history. None if there was an error, which was printed.
fn conditions(texts: &[String], terminal: &Terminal) -> Option<Vec<Formula>> {
    let mut conditions = Vec::new();
    for text in texts {
        let named = CONDITIONS.iter().find(|(name, _)| name == text);
        match Library::condition(named.map_or(text, |(_, formula)| formula)) {
            Ok(formula) => conditions.push(formula),
            Err(error) => {
                definitions::report(&error, "--where", text, terminal);
                return None;
            }
        }
    }
    Some(conditions)
}

fn full(args: &SynthArgs, problem: &Problem<'_>, found: &Smallest) -> String {
    let mut text = String::new();
    let scope = args.scope.words();
    for history in &found.histories {
        text += &styled(BOLD, history);
        text += "\n";
        text += &allowed_by(&problem.allow, history);
        text += &forbidden_by(&problem.forbid, history);
    }
    let count = found.histories.len();
    text + &match (count, found.stopped) {
        (0, false) => format!("none within {scope}\n"),
        (0, true) => format!("none found before the time limit, within {scope}\n"),
        (_, true) => styled(DIM, "the time limit was reached: there may be smaller or more histories\n"),
        (MOST, false) if args.all => styled(DIM, format!("the first {MOST} smallest histories\n")),
        (1, false) if args.all => styled(DIM, "the only smallest history, up to renaming\n"),
        (_, false) if args.all => styled(DIM, format!("all {count} smallest histories, up to renaming\n")),
        _ => String::new(),
    }
}

/// A line for each level that allows a history, with what shows it.
fn allowed_by(levels: &[&Definition], history: &SmallHistory) -> String {
    let mut text = String::new();
    for definition in levels {
        let why = definitions::evidence(definition, history).map(|(_, words)| words).unwrap_or_default();
        text += &format!("  {} {}: {why}\n", styled(GOOD, "✓"), full_name(definition));
    }
    text
}

/// A line for each level that forbids a history, with its anomalies.
fn forbidden_by(levels: &[&Definition], history: &SmallHistory) -> String {
    let mut text = String::new();
    for definition in levels {
        let names = definitions::anomalies(definition, history).join(", ");
        let names = if names.is_empty() { names } else { format!(": {names}") };
        text += &format!("  {} {}{names}\n", styled(ERROR, "✗"), full_name(definition));
    }
    text
}

fn json(args: &SynthArgs, problem: &Problem<'_>, found: &Smallest) -> Value {
    json!({
        "allow": problem.allow.iter().map(|one| full_name(one)).collect::<Vec<_>>(),
        "forbid": problem.forbid.iter().map(|one| full_name(one)).collect::<Vec<_>>(),
        "scope": { "txns": args.scope.txns, "keys": args.scope.keys, "values": args.scope.values, "sessions": args.scope.sessions },
        "complete": !found.stopped,
        "histories": found.histories.iter().map(|history| history_json(&problem.allow, &problem.forbid, history)).collect::<Vec<_>>(),
    })
}

fn history_json(allow: &[&Definition], forbid: &[&Definition], history: &SmallHistory) -> Value {
    let allowed = allow.iter().filter_map(|definition| {
        let (evidence, _) = definitions::evidence(definition, history)?;
        let versions: serde_json::Map<String, Value> =
            evidence.versions.iter().map(|(key, writers)| (key.clone(), json!(writers))).collect();
        Some(json!({
            "level": full_name(definition),
            "order": evidence.order,
            "visible": evidence.visible,
            "versions": versions,
        }))
    });
    let forbidden = forbid.iter().map(|definition| {
        json!({ "level": full_name(definition), "anomalies": definitions::anomalies(definition, history) })
    });
    json!({
        "notation": history.to_string(),
        "operations": history.ops(),
        "allowed": allowed.collect::<Vec<_>>(),
        "forbidden": forbidden.collect::<Vec<_>>(),
    })
}

pub(crate) fn compare(args: &CompareArgs, terminal: &Terminal) -> Exit {
    let files = args.definitions.define.iter().map(PathBuf::as_path);
    let Some(mut library) = definitions::library(files, terminal) else { return Exit::Failed };
    let mut find = |name: &str| definitions::find(&mut library, name, terminal);
    let (Some(first), Some(second)) = (find(&args.first), find(&args.second)) else { return Exit::Usage };
    let watch = &mut Limited::new(&args.scope, terminal);
    for definition in [&first, &second] {
        definitions::warn_of_extremes(definition, args.scope.scope(), watch);
    }
    let comparison = compare_levels(&first, &second, args.scope.scope(), watch);
    let order = comparison.order();
    let names = [full_name(&first), full_name(&second)];
    let sides = [
        (&first, &second, comparison.only_first.histories.first()),
        (&second, &first, comparison.only_second.histories.first()),
    ];
    match args.format {
        SynthStyle::Full => {
            let sentence = match order {
                None => "The time limit was reached before the levels were compared.".to_owned(),
                Some(Order::Equivalent) => format!("{} and {} are equivalent", names[0], names[1]),
                Some(Order::Stronger) => format!("{} is stronger than {}", names[0], names[1]),
                Some(Order::Weaker) => format!("{} is weaker than {}", names[0], names[1]),
                Some(Order::Incomparable) => format!("{} and {} are incomparable", names[0], names[1]),
            };
            let scope = order.map(|_| format!(" within {}", args.scope.words())).unwrap_or_default();
            let mut text = format!("{}{scope}\n", styled(BOLD, sentence));
            for (allow, forbid, history) in sides {
                if let Some(history) = history {
                    text += &format!("\n{history}\n");
                    text += &allowed_by(&[allow], history);
                    text += &forbidden_by(&[forbid], history);
                }
            }
            terminal.print(&text);
        }
        SynthStyle::Json => {
            let side = |(allow, forbid, history): (&Definition, &Definition, Option<&SmallHistory>)| {
                history.map(|history| history_json(&[allow], &[forbid], history))
            };
            let word = order.map(|order| match order {
                Order::Equivalent => "equivalent",
                Order::Stronger => "stronger",
                Order::Weaker => "weaker",
                Order::Incomparable => "incomparable",
            });
            let [only_first, only_second] = sides.map(side);
            let value = json!({
                "first": names[0],
                "second": names[1],
                "order": word,
                "only_first": only_first,
                "only_second": only_second,
            });
            terminal.print(&format!("{value:#}\n"));
        }
    }
    match (terminal.lost_output(), order) {
        (true, _) => Exit::Failed,
        (_, None) => Exit::Unknown,
        _ => Exit::Holds,
    }
}

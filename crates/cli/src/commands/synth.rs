//! `isoscope synth` and `isoscope compare`: histories that tell levels apart.

use std::path::PathBuf;

use isoscope_levels::language::{Definition, Formula, Library};
use isoscope_picture::svg;
use isoscope_synth::{
    Comparison, Order, Problem, SmallHistory, Smallest, Stopped, compare as compare_levels, smallest,
};
use serde_json::{Value, json};

use super::definitions::{self, Definitions, Limited, full_name};
use super::picture;
use crate::args::{CompareArgs, SynthArgs, SynthStyle};
use crate::exit::Exit;
use crate::terminal::{BOLD, DIM, ERROR, GOOD, Terminal, styled};

/// Conditions with a name.
const CONDITIONS: [(&str, &str); 3] = [
    ("no-blind-writes", "forall t, s: Txn, x: Key. so(s, t) & writes(t, x) => reads(t, x)"),
    ("one-transaction-per-session", "forall r, s, t: Txn. !(so(r, s) & so(s, t))"),
    (
        "two-sessions",
        "(exists i, s, t: Txn. so(i, s) & so(i, t) & s != t & !so(s, t) & !so(t, s)) & \
         (forall i, r, s, t: Txn. so(i, r) & so(i, s) & so(i, t) & r != s & r != t & s != t => \
          so(r, s) | so(s, r) | so(r, t) | so(t, r) | so(s, t) | so(t, s))",
    ),
];

/// The most histories of `--all`.
const MOST: usize = 1_000;

pub(crate) fn run(args: &SynthArgs, terminal: &Terminal) -> Exit {
    if args.allow.is_empty() && args.forbid.is_empty() && args.conditions.is_empty() {
        terminal.error("at least one of --allow, --forbid and --where is required");
        return Exit::Usage;
    }
    let files = args.definitions.define.iter().map(PathBuf::as_path);
    let mut known = match Definitions::with(files, terminal) {
        Ok(known) => known,
        Err(exit) => return exit,
    };
    let mut find = |names: &[String]| -> Result<Vec<Definition>, Exit> {
        names.iter().map(|name| known.find(name)).collect()
    };
    let (allow, forbid) = match (find(&args.allow), find(&args.forbid)) {
        (Ok(allow), Ok(forbid)) => (allow, forbid),
        (Err(exit), _) | (_, Err(exit)) => return exit,
    };
    let Some(conditions) = conditions(&args.conditions, terminal) else { return Exit::Usage };
    let problem = Problem { allow: allow.iter().collect(), forbid: forbid.iter().collect(), conditions };
    let most = if args.all { MOST } else { 1 };
    let mut watch = Limited::new(&args.scope, terminal);
    let found = smallest(&problem, args.scope.scope(), most, &mut watch);
    for definition in allow.iter().chain(&forbid) {
        definitions::warn_of_extremes(definition, args.scope.scope(), &mut watch, terminal);
    }
    if found.histories.is_empty() && found.stopped.is_none() && !problem.conditions.is_empty() {
        warn_of_conditions(&problem, args, terminal, &mut watch);
    }
    terminal.print(&match args.format {
        SynthStyle::Full => full(args, &problem, &found),
        SynthStyle::Svg => drawn(args, &problem, &found),
        SynthStyle::Json => format!("{:#}\n", json(args, &problem, &found)),
    });
    if found.stopped.is_some() && args.format == SynthStyle::Svg {
        terminal.warning("the search did not end: there may be smaller or more histories");
    }
    match (terminal.lost_output(), found.stopped.is_some(), found.histories.is_empty()) {
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
        // A name may be written with spaces.
        let named = CONDITIONS.iter().find(|(name, _)| *name == text.trim().replace(' ', "-"));
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

/// Warns if no history at all satisfies the conditions. The initial transaction is easily forgotten in them.
fn warn_of_conditions(problem: &Problem<'_>, args: &SynthArgs, terminal: &Terminal, watch: &mut Limited<'_>) {
    let conditions = Problem { conditions: problem.conditions.clone(), ..Problem::default() };
    let Smallest { histories, stopped } = smallest(&conditions, args.scope.scope(), 1, watch);
    if histories.is_empty() && stopped.is_none() {
        terminal.warning(&format!(
            "no history within {} satisfies the conditions of --where; they also speak of the initial transaction, which writes \
             every key, reads nothing, and is before all others in `so`",
            args.scope.words()
        ));
    }
}

/// A picture of all histories.
fn drawn(args: &SynthArgs, problem: &Problem<'_>, found: &Smallest) -> String {
    let title = if found.histories.is_empty() {
        format!("No history within {}", args.scope.words())
    } else {
        let names = |levels: &[&Definition]| {
            levels.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let forbidden = names(&problem.forbid);
        let forbidden = if forbidden.is_empty() { forbidden } else { format!(", forbidden by {forbidden}") };
        let allowed = names(&problem.allow);
        match (allowed.is_empty(), forbidden.is_empty()) {
            (true, true) => "Histories as asked".to_owned(),
            (true, false) => format!("F{}", &forbidden[3..]),
            (false, _) => format!("Allowed by {allowed}{forbidden}"),
        }
    };
    let example = |history| (history, &problem.allow[..], &problem.forbid[..]);
    svg(&picture::histories(&title, &found.histories.iter().map(example).collect::<Vec<_>>()))
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
        (0, None) => format!("none within {scope}\n"),
        (0, Some(Stopped::ByWatch)) => format!("none found before the time limit, within {scope}\n"),
        (0, Some(Stopped::Large)) => format!("none found: the search needs too much memory within {scope}\n"),
        (_, Some(Stopped::ByWatch)) => {
            styled(DIM, "the time limit was reached: there may be smaller or more histories\n")
        }
        (_, Some(Stopped::Large)) => {
            styled(DIM, "the search needs too much memory: there may be smaller or more histories\n")
        }
        (MOST, None) if args.all => styled(DIM, format!("the first {MOST} smallest histories\n")),
        (1, None) if args.all => styled(DIM, "the only smallest history, up to renaming\n"),
        (_, None) if args.all => styled(DIM, format!("all {count} smallest histories, up to renaming\n")),
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
        "scope": args.scope.json(),
        "complete": found.stopped.is_none(),
        "histories": found.histories.iter().map(|history| history_json(&problem.allow, &problem.forbid, history)).collect::<Vec<_>>(),
    })
}

/// A history with what shows that some levels allow it, and what it violates at the others.
pub(super) fn history_json(allow: &[&Definition], forbid: &[&Definition], history: &SmallHistory) -> Value {
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
    let mut known = match Definitions::with(files, terminal) {
        Ok(known) => known,
        Err(exit) => return exit,
    };
    let (first, second) = match (known.find(&args.first), known.find(&args.second)) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(exit), _) | (_, Err(exit)) => return exit,
    };
    let watch = &mut Limited::new(&args.scope, terminal);
    let comparison = compare_levels(&first, &second, args.scope.scope(), watch);
    for definition in [&first, &second] {
        definitions::warn_of_extremes(definition, args.scope.scope(), watch, terminal);
    }
    let order = comparison.order();
    let is_complete = comparison.only_first.stopped.is_none() && comparison.only_second.stopped.is_none();
    let names = [full_name(&first), full_name(&second)];
    let sides = [
        (&first, &second, comparison.only_first.histories.first()),
        (&second, &first, comparison.only_second.histories.first()),
    ];
    let sentence = match order {
        None => unfinished(&names, &comparison),
        Some(Order::Equivalent) => format!("{} and {} are equivalent", names[0], names[1]),
        Some(Order::Stronger) => format!("{} is stronger than {}", names[0], names[1]),
        Some(Order::Weaker) => format!("{} is weaker than {}", names[0], names[1]),
        Some(Order::Incomparable) => format!("{} and {} are incomparable", names[0], names[1]),
    };
    let scope = order.map(|_| format!(" within {}", args.scope.words())).unwrap_or_default();
    match args.format {
        SynthStyle::Svg => {
            let allowed = [[&first], [&second]];
            let forbidden = [[&second], [&first]];
            let examples = sides.iter().enumerate().filter_map(|(side, (.., history))| {
                Some(((*history)?, &allowed[side][..], &forbidden[side][..]))
            });
            let page = picture::histories(&format!("{sentence}{scope}"), &examples.collect::<Vec<_>>());
            terminal.print(&svg(&page));
        }
        SynthStyle::Full => {
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
                "scope": args.scope.json(),
                "complete": is_complete,
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

/// What is known of two levels if a search was stopped.
fn unfinished(names: &[String; 2], comparison: &Comparison) -> String {
    let [first, second] = names;
    let sides = [(first, second, &comparison.only_first), (second, first, &comparison.only_second)];
    let settled =
        sides.iter().find_map(|(allows, forbids, side)| match (side.histories.first(), side.stopped) {
            (Some(_), _) => Some(format!("{allows} allows a history that {forbids} forbids")),
            (None, None) => Some(format!("{allows} is equivalent to or stronger than {forbids}")),
            (None, Some(_)) => None,
        });
    let why = "before the limit of time or memory was reached";
    match settled {
        Some(settled) => format!("{settled}; the other direction was not decided {why}"),
        None => format!("The levels were not compared {why}."),
    }
}

//! What a probe found, as text and as JSON.

use std::path::Path;

use clap::ValueEnum;
use isoscope::report::full as names;
use isoscope_levels::Level;
use isoscope_probe::{LevelTally, Violation, history, script};
use isoscope_record::{Isolation, Target};
use serde_json::{Map, Value, json};

use super::{Probed, file_name, seconds};
use crate::args::DatabaseArgs;
use crate::exit::Exit;
use crate::terminal::{BOLD, DIM, ERROR, GOOD, WARNING, styled};
use crate::words::{count, counted, wrap};

/// The maximum width of a line.
const WIDTH: usize = 98;

/// The report on one isolation level. `database` is how a command line selects the database.
pub(super) fn full(probed: &Probed, version: &str, database: &str, scripts: Option<&Path>) -> String {
    let findings = &probed.findings;
    let mut text = format!("{}\n", verdict(probed, version));
    text += &styled(DIM, wrap(&figures(probed), 2, WIDTH));
    if probed.is_promise {
        text += &wrap(&comparison(probed), 2, WIDTH);
    }
    let kept = joined(findings.strongest_kept());
    text += &format!("\n  never violated: {}\n", if kept.is_empty() { "none" } else { &kept });
    for tally in findings.weakest_violated() {
        text += &violated(probed, tally);
    }
    if let Some(smallest) = smallest(probed) {
        text += &match scripts {
            Some(directory) => {
                let path = directory.join(file_name(version, probed.isolation.name, smallest.level));
                let words = ["isoscope script", &quoted(&path.display().to_string()), database];
                let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
                let isolation = probed.isolation.name;
                styled(DIM, format!("\n  {} --isolation {isolation}\n", words.join(" ")))
            }
            None => smallest.smallest.as_ref().map(|one| indented(one, probed, version)).unwrap_or_default(),
        };
    }
    text + "\n"
}

/// How a command line selects the database again. A URL with a password is not repeated.
pub(super) fn selection(args: &DatabaseArgs, target: &Target) -> String {
    let has_password =
        matches!(target, Target::Postgres(address) | Target::MySql(address) if address.password.is_some());
    match (&args.url, args.start) {
        (Some(_), _) if has_password => "URL".to_owned(),
        (Some(url), _) => quoted(url),
        (None, None) => String::new(),
        (None, Some(server)) => {
            let name =
                server.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
            let settings = args.set.iter().map(|setting| format!(" --set {}", quoted(setting)));
            format!("--start {name}{}", settings.collect::<String>())
        }
    }
}

/// An argument of a command line, in quotes if a shell needs them.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The verdict in one line.
fn verdict(probed: &Probed, version: &str) -> String {
    let who = format!("{version} at {}", probed.isolation.name);
    let what = joined(probed.required.clone());
    let what = if probed.is_promise { format!("its promise of {what}") } else { what };
    let (style, text) = match probed.exit() {
        Exit::Holds => (GOOD, format!("✓ {who} kept {what}")),
        Exit::Violated => (ERROR, format!("✗ {who} broke {what}")),
        _ if probed.findings.is_complete() => {
            (WARNING, format!("? {who} kept {what}, but some histories could not be decided"))
        }
        _ => (WARNING, format!("? {who} kept {what}, but the probe is not complete")),
    };
    styled(style, text)
}

/// `34 programs, 25,711 interleavings in 51.2 s: 502 per second; ...`
fn figures(probed: &Probed) -> String {
    let findings = &probed.findings;
    let programs = if findings.is_complete() {
        counted(findings.programs as u64, "program")
    } else {
        format!("{} of {}", count(findings.programs as u64), counted(findings.of_programs as u64, "program"))
    };
    let mut text = format!(
        "{programs}, {} in {}: {:.0} per second; {}",
        counted(findings.interleavings, "interleaving"),
        seconds(findings.elapsed),
        findings.rate(),
        counted_histories(findings.histories as u64),
    );
    for (number, what) in [
        (findings.waited, "waited for a lock"),
        (findings.failed, "had a failed transaction"),
        (findings.lost, "could not be repeated exactly"),
    ] {
        if number > 0 {
            text += &format!("; {} {what}", count(number));
        }
    }
    text
}

fn counted_histories(number: u64) -> String {
    format!("{} different histor{}", count(number), if number == 1 { "y" } else { "ies" })
}

/// The common levels that the promise does not imply and that were never violated, without those that others imply.
fn beyond(probed: &Probed) -> Vec<Level> {
    let promise = probed.isolation.registers;
    let kept = probed.findings.strongest_kept();
    kept.into_iter().filter(|&level| !promise.implies(level)).collect()
}

/// How what was seen compares with the promise.
fn comparison(probed: &Probed) -> String {
    let Isolation { registers: promise, source, .. } = probed.isolation;
    let broken: Vec<Level> =
        probed.findings.violated().into_iter().filter(|&level| promise.implies(level)).collect();
    let beyond = beyond(probed);
    let seen = if !broken.is_empty() {
        format!("Weaker than promised: {} was violated.", joined(broken))
    } else if !beyond.is_empty() {
        format!("Stronger than promised within these programs: {} was not violated.", joined(beyond))
    } else {
        "Exactly as promised: every common level that the promise does not imply was violated.".to_owned()
    };
    format!("The documentation promises {promise} ({source}). {seen}")
}

/// A violated level: its anomalies and the smallest violation.
fn violated(probed: &Probed, tally: &LevelTally) -> String {
    let matters = probed.required.iter().any(|required| required.implies(tally.level));
    let (mark, aside) = match (matters, probed.is_promise) {
        (true, _) => (styled(ERROR, "✗"), ""),
        (false, true) => (styled(DIM, "·"), ", which is not promised"),
        (false, false) => (styled(DIM, "·"), ", which is not required"),
    };
    let anomalies: Vec<String> = tally
        .anomalies
        .iter()
        .map(|&(anomaly, number)| format!("{} in {}", names::title_of(anomaly), count(number)))
        .collect();
    let mut text = format!(
        "\n  {mark} {}{aside}: violated by {}\n    {}\n",
        styled(BOLD, tally.level),
        counted(tally.violated, "interleaving"),
        anomalies.join(", "),
    );
    if let Some(Violation { program, run, .. }) = &tally.smallest {
        text += &format!("    {}\n", history(program, run, tally.level.has_real_time()));
    }
    text
}

/// The violation whose script is shown: of what is required if that was violated, else of the weakest level.
fn smallest(probed: &Probed) -> Option<&LevelTally> {
    let weakest = probed.findings.weakest_violated();
    let is_required =
        |tally: &&&LevelTally| probed.required.iter().any(|required| required.implies(tally.level));
    weakest.iter().find(is_required).or_else(|| weakest.first()).copied()
}

fn indented(violation: &Violation, probed: &Probed, version: &str) -> String {
    let text = script(violation, &format!("{version} at {}", probed.isolation.name));
    let lines =
        text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") });
    format!("\n{}", styled(DIM, lines.collect::<String>()))
}

fn joined(levels: Vec<Level>) -> String {
    levels.into_iter().map(Level::name).collect::<Vec<_>>().join(", ")
}

/// The report on all isolation levels as JSON.
pub(super) fn json(all: &[Probed], version: &str) -> Value {
    json!({
        "database": version,
        "isolation_levels": all.iter().map(|probed| level_json(probed, version)).collect::<Vec<_>>(),
    })
}

fn level_json(probed: &Probed, version: &str) -> Value {
    let findings = &probed.findings;
    let word = match probed.exit() {
        Exit::Holds => "kept",
        Exit::Violated => "broken",
        _ => "unknown",
    };
    let names = |levels: &[Level]| levels.iter().map(|level| level.name()).collect::<Vec<_>>();
    let weakest: Vec<Level> = findings.weakest_violated().iter().map(|tally| tally.level).collect();
    let violated = findings.levels.iter().filter(|tally| tally.violated > 0).map(|tally| {
        let anomalies: Map<String, Value> =
            tally.anomalies.iter().map(|&(anomaly, number)| (anomaly.to_string(), json!(number))).collect();
        let place = format!("{version} at {}", probed.isolation.name);
        let smallest = tally.smallest.as_ref().map(|one| {
            json!({
                "notation": history(&one.program, &one.run, true),
                "anomaly": one.anomaly.name(),
                "script": script(one, &place),
            })
        });
        json!({
            "level": tally.level.name(),
            "weakest": weakest.contains(&tally.level),
            "interleavings": tally.violated,
            "anomalies": anomalies,
            "smallest": smallest,
        })
    });
    json!({
        "isolation": probed.isolation.name,
        "promise": probed.isolation.registers.name(),
        "required": names(&probed.required),
        "verdict": word,
        "source": probed.isolation.source.to_string(),
        "complete": findings.is_complete(),
        "programs": findings.programs,
        "of_programs": findings.of_programs,
        "interleavings": findings.interleavings,
        "histories": findings.histories,
        "waited": findings.waited,
        "failed": findings.failed,
        "not_repeated": findings.lost,
        "seconds": findings.elapsed.as_secs_f64(),
        "per_second": findings.rate(),
        "strongest_kept": names(&findings.strongest_kept()),
        "stronger_than_promised": names(&beyond(probed)),
        "violated": violated.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct DatabaseCommand {
        #[command(flatten)]
        args: DatabaseArgs,
    }

    #[test]
    fn words_of_a_command_line() {
        assert_eq!(quoted("scripts/a-1.script"), "scripts/a-1.script");
        assert_eq!(quoted("my scripts/it's"), r"'my scripts/it'\''s'");
        assert_eq!(quoted(""), "''");
        let words = |args: &[&str]| {
            let DatabaseCommand { args } = DatabaseCommand::parse_from([&["isoscope"], args].concat());
            let target = Target::parse(args.url.as_deref().unwrap_or("sqlite:")).expect("a URL");
            selection(&args, &target)
        };
        assert_eq!(
            words(&["postgres://me@localhost/x?sslmode=disable"]),
            "'postgres://me@localhost/x?sslmode=disable'"
        );
        assert_eq!(words(&["mysql://me:secret@localhost/x"]), "URL");
        assert_eq!(words(&["sqlite:my.db"]), "sqlite:my.db");
        assert_eq!(
            words(&["--start", "mariadb", "--set", "innodb_snapshot_isolation=ON"]),
            "--start mariadb --set innodb_snapshot_isolation=ON"
        );
        assert_eq!(words(&[]), "");
    }
}

//! The report as EDN, of the shape of the map that Elle's checkers return, for scripts made for it.
//!
//! `:valid?` is `true`, `false` or `:unknown`; `:anomaly-types` and `:anomalies` name what was found; `:not`
//! holds the weakest models that are violated and `:also-not` the stronger ones, under Elle's names. `:file`,
//! `:explanation` and `:at-least`, the counts that may be too low, are ours.

mod models;
mod ops;
mod shape;
mod steps;

use std::collections::BTreeSet;

use isoscope_check::{Unknown, Verdict};
use isoscope_formats::Failure;

use super::report::Report;
use crate::exit::Exit;

pub(crate) use models::open_without_sessions;

use ops::{join, text};

pub(crate) fn render(file: &str, outcome: Result<&Report, &Failure>) -> String {
    let file = text(file);
    let report = match outcome {
        Err(failure) => {
            let error = failure.problems.first().map(ToString::to_string).unwrap_or_default();
            return format!("{{:file {file}, :valid? :unknown, :error {}}}\n", text(&error));
        }
        Ok(report) => report,
    };
    let valid = match report.exit() {
        Exit::Holds => "true",
        Exit::Violated => "false",
        _ => ":unknown",
    };
    let mut fields = vec![format!(":file {file}"), format!(":valid? {valid}")];
    let shape::Anomalies { by_kind: mut anomalies, at_least } = shape::Anomalies::of(report);
    let nothing = report.nothing_to_check().then(|| (":empty-transaction-graph".to_owned(), Vec::new()));
    anomalies.extend(nothing);
    if !anomalies.is_empty() {
        fields.push(format!(":anomaly-types ({})", join(anomalies.keys().cloned())));
        let each = anomalies.iter().map(|(kind, maps)| match maps.as_slice() {
            [] => format!("{kind} true"),
            maps => format!("{kind} [{}]", maps.join(" ")),
        });
        fields.push(format!(":anomalies {{{}}}", each.collect::<Vec<_>>().join(", ")));
    }
    if !at_least.is_empty() {
        let counts: Vec<String> = at_least.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        fields.push(format!(":at-least {{{}}}", counts.join(", ")));
    }
    let (not, also_not) = models::violated(report);
    fields.push(format!(":not #{{{}}}", keywords(&not)));
    fields.push(format!(":also-not #{{{}}}", keywords(&also_not)));
    if let Some(why) = unknown(report) {
        fields.push(format!(":explanation {}", text(&why)));
    }
    format!("{{{}}}\n", fields.join(", "))
}

fn keywords(names: &BTreeSet<&str>) -> String {
    join(names.iter().map(|name| format!(":{name}")))
}

fn unknown(report: &Report) -> Option<String> {
    report.judged.iter().find_map(|judged| match &judged.judgement.verdict {
        Verdict::Unknown(Unknown::NothingToCheck) | Verdict::Holds(_) | Verdict::Violated(_) => None,
        Verdict::Unknown(unknown) => {
            Some(format!("{}: {}", judged.judgement.level, report.reason(unknown).1))
        }
    })
}

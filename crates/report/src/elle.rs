//! The report as the EDN map that Elle's checkers return.
//!
//! `:valid?` is `true`, `false` or `:unknown`; `:anomaly-types` and `:anomalies` name what was found; `:not`
//! holds the weakest models that are violated and `:also-not` the stronger ones, under Elle's names. `:file`,
//! `:explanation` and `:at-least` (lower bounds of counts) are isoscope's additions.

mod keyword;
mod models;
mod ops;
mod shape;
mod steps;

use std::collections::{BTreeMap, BTreeSet};

use isoscope_levels::Level;

use crate::Outcome;
use crate::checked::Checked;
use crate::model::{Reason, Report, Trouble, Word};

pub use models::open_without_sessions;

use ops::{join, text};

/// A report in Elle's terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Elle {
    /// By keyword, each occurrence as a map in EDN; none if the keyword alone suffices.
    pub anomalies: BTreeMap<String, Vec<String>>,
    /// By keyword, the lower bound of a count that is not exact.
    pub at_least: BTreeMap<String, u64>,
    /// The weakest models that are violated.
    pub not: BTreeSet<&'static str>,
    /// The stronger ones.
    pub also_not: BTreeSet<&'static str>,
}

impl Elle {
    /// The anomalies and the models that are violated.
    pub(crate) fn of(report: &Checked<'_>) -> Elle {
        let shape::Anomalies { by_kind: mut anomalies, at_least } = shape::Anomalies::of(report);
        let nothing = report.nothing_to_check().then(|| (":empty-transaction-graph".to_owned(), Vec::new()));
        anomalies.extend(nothing);
        let (not, also_not) = models::violated(report);
        Elle { anomalies, at_least, not, also_not }
    }
}

/// The map of a file, on one line. The report must have been built by [`Report::with_elle`].
pub fn render(file: &str, outcome: Outcome<'_>) -> String {
    let file = text(file);
    let report = match outcome {
        Err(failure) => {
            let error = failure.problems.first().map(ToString::to_string).unwrap_or_default();
            return format!("{{:file {file}, :valid? :unknown, :error {}}}\n", text(&error));
        }
        Ok(report) => report,
    };
    let valid = match report.verdict {
        Word::Holds => "true",
        Word::Violated => "false",
        Word::Unknown => ":unknown",
    };
    let mut fields = vec![format!(":file {file}"), format!(":valid? {valid}")];
    let none = Elle::default();
    let Elle { anomalies, at_least, not, also_not } = report.elle.as_ref().unwrap_or(&none);
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
    fields.push(format!(":not #{{{}}}", keywords(not)));
    fields.push(format!(":also-not #{{{}}}", keywords(also_not)));
    if let Some(why) = unknown(report) {
        fields.push(format!(":explanation {}", text(&why)));
    }
    format!("{{{}}}\n", fields.join(", "))
}

fn keywords(names: &BTreeSet<&str>) -> String {
    join(names.iter().map(|name| format!(":{name}")))
}

/// Why levels are unknown. Adjacent levels with the same reason share it.
fn unknown(report: &Report) -> Option<String> {
    let reasons = report.levels.iter().filter_map(|result| Some((result.level, result.reason.as_ref()?)));
    let open: Vec<(Level, &Reason)> =
        reasons.filter(|(_, reason)| reason.kind != Trouble::NothingToCheck).collect();
    let said = open.chunk_by(|(_, a), (_, b)| a.message == b.message).map(|same| {
        let names: Vec<&str> = same.iter().map(|(level, _)| level.name()).collect();
        format!("{}: {}", names.join(", "), same[0].1)
    });
    (!open.is_empty()).then(|| said.collect::<Vec<_>>().join("; "))
}

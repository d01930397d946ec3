//! What the tests of stories share.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use isoscope_check::{Evidence, Instance};
use isoscope_explain::Teller;
use isoscope_history::{History, notation};
use isoscope_levels::Anomaly;

pub(crate) fn parse(text: &str) -> History {
    notation::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// The headline, and the clauses indented by their depth.
pub(crate) fn tell(history: &History, anomaly: Anomaly, evidence: Evidence) -> String {
    let story = Teller::new(history).story(anomaly, &Instance { evidence, component: None });
    let clauses = story.clauses.iter();
    let lines = clauses.map(|clause| format!("\n{}- {}", "  ".repeat(clause.depth.into()), clause.text));
    story.headline.clone() + &lines.collect::<String>()
}

/// The headline alone.
pub(crate) fn headline(text: &str, anomaly: Anomaly, evidence: Evidence) -> String {
    tell(&parse(text), anomaly, evidence).lines().next().unwrap().to_owned()
}

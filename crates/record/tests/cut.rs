//! Truncated recordings, as after `kill -9`: the rest never shows a false violation.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

#[path = "support/page.rs"]
mod page;

use std::time::Duration;

use isoscope_check::{Checker, Options, Verdict};
use isoscope_formats::{Format, Input, ReadOptions, read};
use isoscope_history::History;
use isoscope_levels::Level;
use isoscope_record::{
    Client, Header, KeyValueClient, Kind, Limits, MemoryStore, Monitor, Plan, PlanSpec, run,
};
use page::Page;
use serde_json::Value;

/// A recording with marks inside. On a busy machine, a short one may end before its first mark.
fn recording(kind: Kind, txns: u64, duplicates: bool) -> String {
    let has_marks = |text: &String| text.matches("\"mark\":").count() > 1;
    (0..100).map(|_| recorded(kind, txns, duplicates)).find(has_marks).expect("a recording with marks")
}

/// A recording of a serializable store, with as many marks as possible. If values repeat, a read whose writer
/// is missing is not recognised as such.
fn recorded(kind: Kind, txns: u64, duplicates: bool) -> String {
    let duplication =
        duplicates.then_some(isoscope_workload::Duplication { keys: 1.0, domain: 5, theta: 0.0 });
    let spec = PlanSpec { kind, sessions: 4, ops: 4, keys: 3, seed: 7, duplication, ..PlanSpec::default() };
    let plan = Plan::new(spec).unwrap();
    let memory = MemoryStore::new(Level::Serializable, Vec::new(), &plan);
    let client = |session| -> Box<dyn Client + '_> {
        Box::new(KeyValueClient::new(&plan, session, Box::new(memory.session(session))))
    };
    let page = Page::default();
    let initial = kind.initial();
    let header = Header { initial, initials: Vec::new(), workload: Value::Null, recorder: Value::Null };
    let sink = page.sink(&header, Duration::ZERO);
    let limits = Limits { txns: Some(txns), ..Limits::default() };
    run((0..4).map(client).collect(), &limits, &sink, &Monitor::new(4)).unwrap();
    sink.finish().unwrap();
    page.text()
}

fn cut(text: &str) -> History {
    let options = ReadOptions { format: Some(Format::Native), ..ReadOptions::default() };
    read(&Input::text("cut", text), &options).unwrap().history
}

fn is_violated(history: &History) -> bool {
    let judgement = Checker::new(history, Options::default()).check(Level::Serializable);
    matches!(judgement.verdict, Verdict::Violated(_))
}

#[test]
fn a_recording_truncated_at_any_line_shows_no_false_violation() {
    for (kind, txns, duplicates) in
        [(Kind::Register, 60, false), (Kind::ListAppend, 60, false), (Kind::ReadModifyWrite, 10, true)]
    {
        let text = recording(kind, txns, duplicates);
        let mut kept = 0;
        for (end, _) in text.match_indices('\n') {
            let history = cut(&text[..=end]);
            kept = kept.max(history.txn_count());
            assert!(!is_violated(&history), "{kind:?} cut off after byte {end}:\n{}", &text[..=end]);
        }
        assert_eq!(kept as u64, 4 * txns);
    }
}

#[test]
fn a_recording_truncated_at_any_byte_shows_no_false_violation() {
    let text = recording(Kind::ReadModifyWrite, 5, false);
    let header = text.find('\n').unwrap() + 1;
    for end in header..text.len() {
        assert!(!is_violated(&cut(&text[..end])), "cut off after byte {end}:\n{}", &text[..end]);
    }
}

/// The cut at the last mark is necessary: without it, the same files show false violations. Sessions
/// interleave differently in each recording, so several are tried.
#[test]
fn without_marks_a_truncated_recording_shows_false_violations() {
    let accuses = || {
        let text = recording(Kind::Register, 200, false).replace(",\"marks\":true", "");
        text.match_indices('\n').any(|(end, _)| is_violated(&cut(&text[..=end])))
    };
    assert!((0..50).any(|_| accuses()));
}

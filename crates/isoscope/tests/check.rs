//! Checks through the library: subjects, conditions, limits, certificates.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use isoscope::{
    Certificate, Certified, Check, Judgement, Level, Limits, Progress, UnknownOrder, Word, verify_certificate,
};

/// A phantom: each transaction misses the other's insert into the range it read.
const PHANTOM: &str = "init=nil  T1: range(:a,:z,{}) i(:a,1)\nT2: range(:a,:z,{}) i(:b,2)\n";

#[test]
fn a_check_accepts_every_kind_of_subject() {
    let reading = isoscope::read_text("h", PHANTOM).unwrap();
    let by_history = Check::new(&reading.history).name("h").run();
    let mut by_reading = Check::new(&reading).run();
    let operations = reading.op_count();
    let owned = Check::new(reading).run();
    assert_eq!(by_history.verdict_of(Level::Serializable), Word::Violated);
    assert_eq!(by_history.verdict_of(Level::ReadAtomic), Word::Holds);
    // The report counts the operations of the input, in which a range read is one operation.
    assert_eq!(by_history.operations, operations);
    assert!(by_history.format.is_none() && by_reading.format == Some("notation"));
    assert_eq!(owned.levels.len(), by_reading.levels.len());
    for (a, b) in owned.levels.iter().zip(&by_reading.levels) {
        assert_eq!((a.level, a.verdict, &a.findings), (b.level, b.verdict, &b.findings));
    }
    // Only a history that was read has places.
    let place = |report: &isoscope::Report| {
        report.anomalies().next().unwrap().occurrences[0].operations[0].place.clone()
    };
    assert!(place(&by_reading).is_some() && place(&by_history).is_none());
    by_reading.levels.clear();
    assert_eq!(by_reading.verdict_of(Level::Serializable), Word::Unknown);
}

#[test]
fn limits_leave_levels_unknown_with_a_reason() {
    let history = isoscope::parse("T1: r(x,0) w(x,1)  T2: r(x,1)").unwrap();
    let check = || Check::new(&history).level(Level::Serializable);
    let text = |report: isoscope::Report| report.levels[0].to_string();
    assert_eq!(text(check().run()), "serializable: holds");
    let timed = check().timeout(Duration::ZERO).run();
    assert_eq!(timed.verdict, Word::Unknown);
    assert_eq!(text(timed), "serializable: unknown (the time limit of 0 ms was reached)");
    if isoscope::can_measure_memory() {
        let limited = check().limits(Limits::default()).memory(1).run();
        assert_eq!(text(limited), "serializable: unknown (the memory limit of 1 B was reached)");
    }
}

/// Interrupts the check after the first verdict.
struct Impatient(Arc<AtomicBool>);

impl Progress for Impatient {
    fn decided(&self, _: &Judgement) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn an_interrupt_keeps_what_was_decided() {
    let history = isoscope::parse("T1: r(x,0) r(y,0) w(x,1)  T2: r(x,0) r(y,0) w(y,2)").unwrap();
    let flag = Arc::new(AtomicBool::new(false));
    let check = Check::new(&history).levels([Level::Serializable, Level::Causal, Level::CutIsolation]);
    let progress = Arc::new(Impatient(Arc::clone(&flag)));
    let report = check.interrupt(flag).progress(progress).run();
    let said: Vec<String> = report.levels.iter().map(ToString::to_string).collect();
    let unknown = "serializable: unknown (the check was interrupted)";
    assert_eq!(said, [unknown, "causal: holds", "cut-isolation: holds"]);
    let json = serde_json::to_value(&report).unwrap();
    let reason = &json["levels"][0]["reason"];
    assert_eq!(reason["kind"], "interrupted", "{reason}");
    assert_eq!(reason["decided"]["holds"], serde_json::json!(["causal", "cut-isolation"]), "{reason}");
}

/// The conditions in the certificate apply, not the verifier's defaults.
#[test]
fn certificates_carry_their_conditions() {
    let history = isoscope::parse("T1?: w(x,1) ; T2: r(x,0)  T3: r(x,1)").unwrap();
    let certificate = |order| {
        let check = Check::new(&history).level(Level::Serializable).unknown_order(order);
        let mut judged = check.judge().unwrap();
        judged.certify().unwrap();
        assert_eq!(judged.levels()[0].certified, Certified::Yes);
        let mut file = Vec::new();
        judged.certificates().next().unwrap().write(&mut file).unwrap();
        Certificate::read(&file[..]).unwrap()
    };
    let (late, in_order) = (certificate(UnknownOrder::Late), certificate(UnknownOrder::InOrder));
    let word = |certificate: &Certificate| Word::from(&certificate.judgement.verdict);
    assert_eq!((word(&late), word(&in_order)), (Word::Holds, Word::Violated));
    assert!(verify_certificate(&history, &late).is_ok() && verify_certificate(&history, &in_order).is_ok());
    let swapped = Certificate { conditions: in_order.conditions, ..late };
    assert!(verify_certificate(&history, &swapped).is_err());
}

/// A report is data: its JSON has the documented fields first, and a finding names its transactions.
#[test]
fn a_report_is_serializable() {
    let history = isoscope::parse("T1: r(x,0) r(y,0) w(x,1)  T2: r(x,0) r(y,0) w(y,2)").unwrap();
    let report = Check::new(&history).level(Level::Serializable).run();
    let json = serde_json::to_value(&report).unwrap();
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    let first = ["file", "format", "sessions", "transactions", "operations", "seconds", "levels", "problems"];
    assert_eq!(keys[..first.len()], first);
    let instance = &json["levels"][0]["anomalies"][0]["instances"][0];
    assert_eq!(instance["transactions"], serde_json::json!(["T1", "T2"]));
    assert_eq!(
        json["involved"][1],
        serde_json::json!({ "name": "T2", "session": 2, "outcome": "committed", "index": 2, "completion": null,
            "start": null, "end": null, "operations": [
                { "kind": "read", "key": "x", "value": 0 }, { "kind": "read", "key": "y", "value": 0 },
                { "kind": "write", "key": "y", "value": 2 } ] })
    );
}

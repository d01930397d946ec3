//! `isoscope predict` as a user runs it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod support;

use expect_test::expect;
use support::isoscope;
use tempfile::TempDir;

/// A directory with a history `run`.
fn with(history: &str) -> TempDir {
    let directory = TempDir::new().unwrap();
    std::fs::write(directory.path().join("run"), history).unwrap();
    directory
}

#[test]
fn a_write_skew_is_told_with_its_changed_reads_and_places() {
    let directory = with("T1: r(x,0) r(y,0) w(x,1)\nT2: r(x,1) r(y,0) w(y,2)\n");
    let run = isoscope(directory.path(), "predict run --level si");
    expect![[r"
        1. write-skew at snapshot-isolation  2 transactions, 1 changed read

          Had T2 (session 2) read x from the initial state instead of T1, then:
          T1 read y=0, which T2 overwrote with 2, and T2 read x=0, which T1 overwrote with 1: each must come before the other.
          - T1 missed T2: it read y=0, which T2 overwrote with 2.
          - T2 missed T1: it read x=0, which T1 overwrote with 1.
            --> run:2:5
             |
           1 | T1: r(x,0) r(y,0) w(x,1)
             |            - T1 reads y=0
             |                   - T1 writes x=1
           2 | T2: r(x,1) r(y,0) w(y,2)
             |     ^ T2 reads x=0 instead of 1
             |                   - T2 writes y=2

        1 prediction of an execution that is not serializable: snapshot-isolation with a relaxed boundary, 2 transactions
          assumed: the accesses of a transaction do not depend on the values it reads
    "]].assert_eq(&run.out);
    assert_eq!(run.code, 1, "{}", run.err);
}

#[test]
fn none_is_proved_and_exits_with_zero() {
    let directory = with("T1: r(x,0) w(x,1)\nT2: r(x,1) w(x,2)\n");
    let run = isoscope(directory.path(), "predict run --level si");
    expect![[r"
        no prediction of an execution that is not serializable: snapshot-isolation with a relaxed boundary, 2 transactions
    "]].assert_eq(&run.out);
    assert_eq!(run.code, 0, "{}", run.err);
    let run = isoscope(directory.path(), "predict run --level prefix --violates si --boundary strict");
    assert_eq!(run.code, 0, "{}", run.err);
    let run = isoscope(directory.path(), "predict run --level prefix --violates si -v");
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.err.contains("candidates, ") && run.err.contains("orders learnt"), "{}", run.err);
}

#[test]
fn json_has_the_changed_reads_with_their_lines() {
    let directory = with("T1: r(x,0) w(x,1)\nT2: r(x,1) w(x,2)\n");
    let run =
        isoscope(directory.path(), "predict run --level causal --format json --strategy approx-relaxed");
    assert_eq!(run.code, 1, "{}", run.err);
    let mut json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(json["status"], "predicted");
    assert!(json["figures"]["variables"].as_u64().unwrap() > 0);
    let prediction = json["predictions"][0].take();
    expect![[r#"
        {
          "anomaly": "lost-update",
          "transactions": [
            "T1",
            "T2"
          ],
          "boundary": [
            "T2"
          ],
          "changes": [
            {
              "transaction": "T2",
              "session": 2,
              "key": "x",
              "from": "T1",
              "to": null,
              "observed_value": 1,
              "predicted_value": 0,
              "file": "run",
              "line": 2,
              "column": 5
            }
          ],
          "headline": "T2 and T1 both read x=0, the initial value, and both overwrote it: one of the two updates is lost.",
          "clauses": [
            "T2 comes before T1: T2 wrote x=2 before T1 wrote x=1.",
            "The opposite order, T1 before T2, fails too: T2 read x=0, which T1 overwrote with 1.",
            "T1 missed T2: it read x=0, which T2 overwrote with 2."
          ],
          "cycle": [
            {
              "from": "T2",
              "to": "T1",
              "kind": "overwritten"
            },
            {
              "from": "T1",
              "to": "T2",
              "kind": "missed"
            }
          ],
          "order": [
            "T1",
            "T2"
          ],
          "history": "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)"
        }"#]].assert_eq(&format!("{prediction:#}"));
}

#[test]
fn what_cannot_be_predicted_is_refused() {
    let directory = with("T1: r(x,0) w(x,1)\nT2: r(x,0) w(x,2)\n");
    let run = isoscope(directory.path(), "predict run --level causal");
    expect![[r"
        the run itself is not serializable: no prediction is needed
          lost-update: T2 and T1 both read x=0, the initial value, and both overwrote it: one of the two updates is lost.
          `isoscope check --level serializable` shows the evidence
    "]].assert_eq(&run.out);
    assert_eq!(run.code, 1, "{}", run.err);
    let run = isoscope(directory.path(), "predict run --level causal --violates prefix");
    assert_eq!(run.code, 2, "{}", run.err);
    let directory = with("T1: w(x,1) ; T2: r(x,1)\n");
    let run = isoscope(directory.path(), "predict run --level causal --format json");
    assert_eq!(run.code, 2);
    assert!(run.err.contains("one session"), "{}", run.err);
    assert!(run.out.contains("\"status\": \"unknown\""), "{}", run.out);
    for arguments in
        ["--level ser", "--level causal --violates rc", "--level nope", "--level si --strategy x"]
    {
        let run = isoscope(directory.path(), &format!("predict run {arguments}"));
        assert_eq!(run.code, 254, "{arguments}: {}", run.err);
    }
}

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
          fix: also change the rows of the read of x in transactions like r(x) r(y) w(y), such as UPDATE .. SET version =
            version + 1; a locking read (SELECT .. FOR UPDATE) is not enough

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
    for part in ["programs 0", "solver 0", "oracle 0", "validation 0", "fixes 0"] {
        assert!(run.err.contains(part), "{part}: {}", run.err);
    }
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
          "commits": [],
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
          "history": "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)",
          "statements": [
            {
              "program": "r(x) w(x)",
              "keys": "x",
              "place": 0
            }
          ],
          "fix": {
            "level": "parallel-snapshot-isolation"
          },
          "no_fix": null,
          "class": null,
          "reason": null,
          "differences": null,
          "script": null,
          "no_script": null,
          "outcome": null,
          "outcome_text": null,
          "database": null,
          "broken_rules": null
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
    // A lost update satisfies prefix and violates snapshot isolation.
    let run = isoscope(directory.path(), "predict run --level causal --violates prefix");
    assert_eq!(run.code, 2, "{}", run.err);
    let needs =
        "the run is not serializable, and a prediction needs a serializable run; the run satisfies prefix\n";
    assert!(run.out.starts_with(needs), "{}", run.out);
    let run = isoscope(directory.path(), "predict run --level causal --violates si");
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(
        run.out.starts_with("the run itself is not snapshot-isolation: no prediction is needed\n"),
        "{}",
        run.out
    );
    // A write skew satisfies snapshot isolation.
    let directory = with("T1: r(x,0) r(y,0) w(x,1)\nT2: r(x,0) r(y,0) w(y,2)\n");
    let run = isoscope(directory.path(), "predict run --level causal --violates si --format json");
    assert_eq!(run.code, 2, "{}", run.err);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(json["status"], "unknown");
    assert!(json["reason"].as_str().unwrap().contains("needs a serializable run"), "{json}");
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

/// A recorded run of `SmallBank`, with its log.
fn recorded() -> TempDir {
    let directory = TempDir::new().unwrap();
    let record =
        "-q record sqlite:bank.db -w smallbank --keys 4 --sessions 3 --txns 8 --retries 1000 --seed 3";
    let run = isoscope(directory.path(), &format!("{record} -o run.jsonl --log run.log"));
    assert_eq!(run.code, 0, "{}", run.err);
    directory
}

#[test]
fn with_its_log_a_run_is_executed_again() {
    let directory = recorded();
    let predict = "predict run.jsonl --log run.log --level read-committed --baseline 20 --seed 1";
    let run = isoscope(directory.path(), &format!("{predict} --format json"));
    assert_eq!(run.code, 1, "{}", run.err);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&json["status"], &json["boundary"]), (&"predicted".into(), &"value-aware".into()));
    let predictions = json["predictions"].as_array().unwrap();
    assert_eq!(json["classes"]["validated"], predictions.len(), "value-aware predictions happen");
    for one in predictions {
        assert_eq!((&one["class"], &one["differences"]), (&"validated".into(), &serde_json::json!([])));
        assert!(one["fix"]["level"].is_string() || one["fix"]["promote"].is_object(), "{one}");
        assert!(one["statements"][0]["program"].is_string(), "{one}");
    }
    let baseline = &json["baseline"];
    assert_eq!((&baseline["runs"], &baseline["failed"]), (&20.into(), &0.into()), "{baseline}");
    let run = isoscope(directory.path(), &format!("{predict} --count validated"));
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(
        run.out.contains(" 0 failed\n") && run.out.contains("  fix: run these programs at "),
        "{}",
        run.out
    );
    let run = isoscope(directory.path(), "predict run.jsonl --log run.log --level si --boundary strict");
    assert!(run.out.contains("snapshot-isolation with a strict boundary"), "{} {}", run.out, run.err);
}

#[test]
fn a_log_of_another_run_is_refused() {
    let directory = recorded();
    let path = directory.path().join("run.log");
    let log = std::fs::read_to_string(&path).unwrap();
    let predict = "predict run.jsonl --log run.log";
    for (what, with, message) in [
        ("\"seed\":3", "\"seed\":4", "the log does not match the history: transaction "),
        ("\"workload\":\"smallbank\"", "\"workload\":\"x\"", "`x` is not an application of isoscope"),
        ("\"customers\":4", "\"customers\":true", "invalid parameters of the application"),
        ("\"sessions\":3,", "", "it does not say the number of sessions and the seed"),
    ] {
        assert!(log.contains(what), "{log}");
        std::fs::write(&path, log.replacen(what, with, 1)).unwrap();
        let run = isoscope(directory.path(), predict);
        assert_eq!(run.code, 255, "{what}: {}", run.out);
        assert!(run.err.contains(message), "{what}: {}", run.err);
    }
    let run = isoscope(directory.path(), "predict run.jsonl --log run.jsonl");
    assert_eq!(run.code, 255);
    assert!(run.err.contains("this is not a log"), "{}", run.err);
    std::fs::write(directory.path().join("text"), "T1: r(x,0) w(x,1)\n").unwrap();
    let run = isoscope(directory.path(), "predict run.jsonl --log text");
    assert_eq!(run.code, 255);
    assert!(run.err.contains("this is not a log of `isoscope record --log`"), "{}", run.err);
}

/// A run of `Voter` with one telephone, with its log. Only the first transaction votes.
fn recorded_votes() -> TempDir {
    let directory = TempDir::new().unwrap();
    let record =
        "-q record sqlite:bank.db -w voter --size paper --sessions 3 --txns 8 --retries 1000 --seed 3";
    let run = isoscope(directory.path(), &format!("{record} -o run.jsonl --log run.log"));
    assert_eq!(run.code, 0, "{}", run.err);
    directory
}

/// Predictions that do not count are no proof that there is none: with a relaxed boundary, a transaction that misses the vote is predicted to
/// do nothing, but votes when it is executed again.
#[test]
fn predictions_that_do_not_count_prove_nothing() {
    let directory = recorded_votes();
    let predict = "predict run.jsonl --log run.log --level rc --boundary relaxed";
    let run = isoscope(directory.path(), &format!("{predict} --format json"));
    assert_eq!(run.code, 1, "{}", run.err);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let validated = json["classes"]["validated"].as_u64().unwrap();
    let run = isoscope(directory.path(), &format!("{predict} --count validated"));
    assert_eq!(run.code, if validated > 0 { 1 } else { 2 }, "{}", run.out);
    assert_eq!(run.out.contains("none of them counts (--count)"), validated == 0, "{}", run.out);
}

/// One transaction has one name in all parts of a report.
#[test]
fn names_can_be_joined() {
    let directory = recorded_votes();
    let run = isoscope(directory.path(), "predict run.jsonl --log run.log --level causal --format json");
    assert_eq!(run.code, 1, "{}", run.err);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    for one in json["predictions"].as_array().unwrap() {
        let known: Vec<&str> =
            one["transactions"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        let is_known = |name: &serde_json::Value| name.is_null() || known.contains(&name.as_str().unwrap());
        for name in one["order"].as_array().unwrap().iter().chain(one["boundary"].as_array().unwrap()) {
            assert!(is_known(name), "{name}: {known:?}");
        }
        for change in one["changes"].as_array().unwrap() {
            assert!(is_known(&change["transaction"]) && is_known(&change["to"]), "{change}: {known:?}");
        }
        for edge in one["cycle"].as_array().unwrap() {
            assert!(is_known(&edge["from"]) && is_known(&edge["to"]), "{edge}: {known:?}");
        }
        for name in &known {
            assert!(one["history"].as_str().unwrap().contains(&format!("{name}: ")), "{name}: {one}");
        }
    }
}

#[test]
fn what_needs_programs_says_so() {
    let directory = with("T1: r(x,0) w(x,1)\nT2: r(x,1) w(x,2)\n");
    for (flags, message) in [
        (
            "--boundary value-aware",
            "--boundary value-aware needs the programs of the run: give its log with --log",
        ),
        ("--count validated", "--count validated needs the programs of the run"),
        ("--baseline 5", "--baseline needs the programs of the run"),
        ("--engine pg-rc --out scripts", "a script needs the programs of the run"),
        ("--count reproduced", "--count reproduced needs a database"),
        ("--engine pg-rc --level si", "cannot be used with"),
        ("--start postgres", "--engine"),
    ] {
        let run = isoscope(directory.path(), &format!("predict run {flags}"));
        assert_eq!(run.code, 254, "{flags}: {}", run.out);
        assert!(run.err.contains(message), "{flags}: {}", run.err);
    }
    // An engine alone restricts what is predicted.
    let run = isoscope(directory.path(), "predict run --engine pg-rc");
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.out.starts_with("1. lost-update at pg-rc"), "{}", run.out);
    let run = isoscope(directory.path(), "predict run --engine pg-rr");
    assert_eq!(run.code, 0, "{}", run.err);
}

/// Whatever the run: some session did not vote because another one had, and does so if it misses that.
#[test]
fn a_run_is_recorded_if_none_is_given() {
    let directory = TempDir::new().unwrap();
    let predict = "predict --record voter --size paper --level causal --seed 3 --format json";
    let run = isoscope(directory.path(), predict);
    assert_eq!(run.code, 1, "{}", run.err);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let rules = &json["predictions"][0]["broken_rules"];
    assert!(rules[0].as_str().unwrap().ends_with("but only 1 are allowed"), "{json}");
    // The report points into the run, so it is kept.
    let kept = json["file"].as_str().unwrap();
    assert!(run.err.contains(&format!("the run is in {kept}")), "{}", run.err);
    std::fs::remove_dir_all(std::path::Path::new(kept).parent().unwrap()).unwrap();
}

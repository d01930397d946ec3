//! `check` as users and scripts run it: verdicts, exit codes, every style of output.
#![allow(clippy::needless_raw_string_hashes, reason = "snapshots are renewed by a program")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod support;

use std::fs;

use expect_test::expect;
use isoscope_levels::{Anomaly, Example, Level};
use serde_json::Value;
use support::{isoscope, isoscope_with_input};
use tempfile::TempDir;

const GOOD: &str = "T1: w(x,1)  T2: r(x,1) w(y,1)";
/// Satisfies read committed but not read atomic.
const FRACTURED: &str = "T1: w(x,1) w(y,2)\nT2: r(x,0) r(y,2)\n";
/// Nothing committed.
const ABORTED: &str = "T1!: w(x,1)";
/// T3 cannot have read x from T1, whose y it missed, but it can have read it from T2.
const AMBIGUOUS: &str = "T1: w(x,1) w(y,1)  T2: w(x,1)  T3: r(y,0) r(x,1)";
/// An element appended twice: the list read does not say which append it shows, nor which transaction came
/// first.
const APPENDED_TWICE: &str = "T1: a(x,1)  T2: a(x,1)  T3: r(x,[1])";

fn directory() -> TempDir {
    let directory = TempDir::new().unwrap();
    let files = [
        ("good", GOOD),
        ("bad", FRACTURED),
        ("none", ABORTED),
        ("twice", AMBIGUOUS),
        ("lists", APPENDED_TWICE),
        ("broken", "w(1\n"),
    ];
    for (name, content) in files {
        fs::write(directory.path().join(name), content).unwrap();
    }
    directory
}

#[test]
fn the_exit_code_is_that_of_the_worst_verdict() {
    let d = directory();
    for (args, code) in [
        ("--level causal good", 0),
        ("good", 0),
        ("bad", 1),
        ("--level rc bad", 0),
        ("--level rc,ra bad", 1),
        ("--level ra --level rc bad", 1),
        ("none", 2),
        ("--level rc none", 2),
        ("--level sser good", 0),
        ("twice", 0),
        ("--level ser bad", 1),
        ("lists", 0),
        ("good none", 2),
        ("good none bad good", 1),
        ("broken", 255),
        ("broken bad", 255),
        ("bad missing good", 255),
        ("--level nonsense good", 254),
        ("--format nonsense good", 254),
        ("--timeout soon good", 254),
        ("--memory 4 good", 254),
        ("", 254),
    ] {
        let run = isoscope(d.path(), &format!("check {args}"));
        assert_eq!(run.code, code, "check {args}\n{}{}", run.out, run.err);
    }
}

#[test]
fn levels_have_aliases_and_misspelt_names_get_a_suggestion() {
    let d = directory();
    for name in ["ra", "read-atomic", "Read_Atomic", "cc", "causal-consistency"] {
        assert_eq!(isoscope(d.path(), &format!("check --level {name} good")).code, 0, "{name}");
    }
    let run = isoscope(d.path(), "check --level read-atomc good");
    assert_eq!(run.code, 254);
    assert!(run.err.contains("did you mean `read-atomic`?"), "{}", run.err);
}

#[test]
fn the_full_report_shows_the_story_and_its_place_in_the_file() {
    let d = directory();
    let run = isoscope(d.path(), "check bad");
    expect![[r#"
        bad  2 sessions, 2 transactions, 4 operations

          ✗ strict-serializable
          ✗ serializable            ✗ strict-snapshot-isolation
          ✗ snapshot-isolation
          ✗ prefix                  ✗ parallel-snapshot-isolation
          ✗ causal
          ✗ read-atomic
          ✓ read-committed          ✗ adya-pl-2.99
          ✓ adya-pl-2
          ✓ cut-isolation           ✓ adya-pl-1

          strongest that hold  cut-isolation, read-committed
          weakest that fail    adya-pl-2.99, read-atomic

        ✗ read-atomic is violated; also violated: causal, prefix, parallel-snapshot-isolation,
          snapshot-isolation, serializable, strict-snapshot-isolation, strict-serializable

          fractured read (TAP-k, against causal order): once

          T2 read x=0, the initial value, and then read y=2 from T1, which also wrote x=1.
           --> bad:2:5
            |
          1 | T1: w(x,1) w(y,2)
            |     - T1 writes x=1
          2 | T2: r(x,0) r(y,2)
            |     ^ T2 reads x=0
            |            - T2 reads y=2

        ✗ adya-pl-2.99 is violated by the same anomalies

        violated: adya-pl-2.99, read-atomic; 1 anomaly of 1 kind
          `isoscope explain fractured-read` describes it and the levels that forbid it
    "#]]
    .assert_eq(&run.out);
    assert_eq!(run.err, "");
    assert!(isoscope(d.path(), "check bad --color always").out.contains("\u{1b}[1m\u{1b}[31m✗ read-atomic"));
    assert_eq!(isoscope(d.path(), "explain fractured-read").code, 0, "the hint can be followed");
}

#[test]
fn a_history_without_commits_gets_a_warning() {
    let d = directory();
    let run = isoscope(d.path(), "check none");
    assert!(run.out.ends_with("unknown: the history has nothing to check\n"), "{}", run.out);
    assert!(run.err.contains("none: no transaction committed: nothing to check"), "{}", run.err);
}

/// A history in which nothing can be violated does not hold. Issue 12, 7.
#[test]
fn a_history_that_cannot_be_violated_is_unknown_with_a_reason() {
    let d = directory();
    for (history, why) in [
        (
            "T1!: w(x,1)  T2!: a(y,1)  T3: r(x,0)",
            "all 2 writes failed, and every read returned the initial value",
        ),
        ("T1!: w(x,1)  T2: r(x,0)", "the only write failed, and every read returned the initial value"),
        (
            "T1!: w(x,1)  T2?: w(x,2)  T3: r(x,0)",
            "of 2 writes, 1 failed and the other was not seen to take effect, and every read returned the initial value",
        ),
        (
            "T1!: w(x,1)  T2?: w(x,2) w(y,3)  T3: r(x,0)",
            "of 3 writes, 1 failed and no other was seen to take effect, and every read returned the initial value",
        ),
        (
            "T1?: w(x,1)  T2: r(x,0)",
            "the only write was not seen to take effect, and every read returned the initial value",
        ),
        (
            "T1?: w(x,1) w(y,2)  T2: r(x,0)",
            "none of 2 writes was seen to take effect, and every read returned the initial value",
        ),
        ("T1: r(x,0)", "nothing was written, and every read returned the initial value"),
        ("T1: w(x,1)  T2: w(x,2)  T3!: r(x,2)", "no committed transaction read anything"),
        ("T1:  T2!: w(x,1)", "no committed transaction did anything"),
    ] {
        let run = isoscope_with_input(d.path(), "-q check --format concise -", history.as_bytes());
        assert_eq!((run.code, run.err.as_str()), (2, ""), "{history}");
        assert_eq!(run.out, format!("-: unknown: {why}: nothing to check\n"), "{history}");
    }
    for judged in ["T1: w(x,1)  T2: r(x,0)", "T1: w(x,1) r(x,1)", "T1?: w(x,1)  T2: r(x,1)"] {
        assert_eq!(isoscope_with_input(d.path(), "-q check -", judged.as_bytes()).code, 0, "{judged}");
    }
    let aborted = isoscope_with_input(d.path(), "-q check -", b"T1!: w(x,1)  T2: r(x,1)");
    assert_eq!(aborted.code, 1, "a violation is one, even if no write took effect");
    let field = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/corpus/field/pg-vacuous-green.json.gz");
    if field.exists() {
        let run = isoscope(d.path(), &format!("-q check --format concise {}", field.display()));
        assert_eq!(run.code, 2, "{}", run.out);
        assert!(run.out.contains("writes failed, and every read returned the initial value"), "{}", run.out);
    }
}

/// A history larger than the memory limit is unknown before it is read. Issue 12, 15.
#[test]
fn the_memory_limit_applies_while_reading() {
    let d = directory();
    let run = isoscope(d.path(), "check --memory 1MB --format concise good");
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
    assert_eq!(run.out, "good: unknown (it exceeds the memory limit, --memory)\n");
    expect![[r#"
        error: good does not fit into the memory that may be used: the memory limit of 1.0 MB (--memory) was reached
    "#]].assert_eq(&run.err);
}

/// Issue 12, 15.
#[test]
fn a_reversed_interval_is_an_error_with_its_place() {
    let d = directory();
    let run = isoscope_with_input(d.path(), "check -", b"T1@5-1: w(x,1)\nT2@2-3: r(x,1)\n");
    assert_eq!(run.code, 255);
    expect![[r#"
        error: invalid notation
         --> <stdin>:1:6
          |
        1 | T1@5-1: w(x,1)
          |      ^ expected a return that is not before its invocation
    "#]]
    .assert_eq(&run.err);
}

/// A caret is below its character, whatever the width of the characters before it. Issue 12, 15.
#[test]
fn carets_are_aligned_after_wide_characters() {
    let d = directory();
    let caret = |column: usize, text: &str| format!("  | {}{text}", " ".repeat(column));
    let run = isoscope_with_input(d.path(), "check -", "T1: w(\"名前\",1) w(\"😀\",2) ?".as_bytes());
    assert!(run.err.contains(&caret(26, "^ expected")), "{}", run.err);
    for (name, width) in [("名前", 4), ("e\u{301}", 1), ("\u{1f600}", 2)] {
        let text = format!("T1: w(\"{name}\",1) w(x,1)  T2: r(\"{name}\",1) r(x,0)");
        let run = isoscope_with_input(d.path(), "check --level ra -", text.as_bytes());
        assert_eq!(run.code, 1);
        let marks =
            [(12 + width, "- T1 writes x"), (24 + width, "- T2 reads "), (32 + 2 * width, "^ T2 reads x")];
        for (column, text) in marks {
            assert!(run.out.contains(&caret(column, text)), "{column}: {}", run.out);
        }
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Scripts rely on this: one line per file, whatever the result of the other files.
#[test]
fn jsonl_has_one_line_per_file() {
    let d = directory();
    let run = isoscope(d.path(), "-q check --level ra,cc --format jsonl good broken bad missing none");
    assert_eq!(run.code, 255);
    let lines = lines(&run.out);
    let files: Vec<&str> = lines.iter().filter_map(|line| line["file"].as_str()).collect();
    assert_eq!(files, ["good", "broken", "bad", "missing", "none"]);
    assert_eq!((&lines[0]["transactions"], &lines[0]["operations"]), (&2.into(), &3.into()));
    let level = &lines[0]["levels"][0];
    assert_eq!((&level["level"], &level["verdict"]), (&"read-atomic".into(), &"holds".into()));
    assert_eq!((&level["certified"], &level["anomalies"]), (&false.into(), &Value::Array(Vec::new())));
    assert!(level["seconds"].is_f64());
    for unreadable in [1, 3] {
        assert_eq!(lines[unreadable]["levels"], Value::Array(Vec::new()));
        assert_eq!(lines[unreadable]["problems"][0]["severity"], "error");
    }
    assert_eq!(lines[2]["levels"][1]["verdict"], "violated");
    let reason = &lines[4]["levels"][0]["reason"];
    assert_eq!(
        (&lines[4]["levels"][0]["verdict"], &reason["kind"]),
        (&"unknown".into(), &"nothing-to-check".into())
    );
}

#[test]
fn json_has_the_anomaly_with_line_and_column() {
    let d = directory();
    let whole: Value = serde_json::from_str(&isoscope(d.path(), "check --format json bad").out).unwrap();
    let levels = whole["levels"].as_array().unwrap();
    let of = |name: &str| levels.iter().find(|level| level["level"] == name);
    assert_eq!(levels.len(), Level::COMMON.len());
    assert_eq!(of("adya-pl-2.99").unwrap()["anomalies"][0]["kind"], "read-skew", "Adya's name for it");
    let anomaly = &of("read-atomic").unwrap()["anomalies"][0];
    assert_eq!((&anomaly["kind"], &anomaly["count"]), (&"fractured-read".into(), &1.into()));
    let instance = &anomaly["instances"][0];
    let columns: Vec<u64> =
        instance["operations"].as_array().unwrap().iter().filter_map(|op| op["column"].as_u64()).collect();
    assert_eq!(columns, [5, 12, 5]);
    assert_eq!(instance["edges"][0]["to"], "initial");
    let serializable = of("serializable").unwrap();
    assert_eq!(serializable["implied_by"], "causal");
    assert_eq!(serializable["anomalies"][0]["count"], 1);
    assert_eq!(
        serializable["anomalies"][0]["instances"],
        Value::Array(Vec::new()),
        "shown once, at the weaker level"
    );
    let alone: Value =
        serde_json::from_str(&isoscope(d.path(), "check --format json --level ser bad").out).unwrap();
    assert_eq!(alone["levels"][0]["anomalies"][0]["instances"].as_array().map(Vec::len), Some(1));
    let several = isoscope(d.path(), "check --format json bad good").out;
    assert_eq!(serde_json::from_str::<Value>(&several).unwrap().as_array().map(Vec::len), Some(2));
}

/// The catalogue states which levels each of its examples satisfies. No verdict may contradict it.
#[test]
fn catalogue_examples_get_their_documented_verdicts() {
    let d = TempDir::new().unwrap();
    let of_levels = Level::ALL.into_iter().flat_map(Level::examples);
    let examples: Vec<&Example> =
        of_levels.chain(Anomaly::ALL.into_iter().flat_map(Anomaly::examples)).collect();
    let names: Vec<String> = (0..examples.len()).map(|i| format!("{i:03}")).collect();
    for (name, example) in names.iter().zip(&examples) {
        fs::write(d.path().join(name), example.notation).unwrap();
    }
    let run =
        isoscope(d.path(), &format!("-q check --level all --certify --format jsonl {}", names.join(" ")));
    let mut wrong = Vec::new();
    for (example, line) in examples.iter().zip(lines(&run.out)) {
        for judged in line["levels"].as_array().unwrap() {
            let level = Level::parse(judged["level"].as_str().unwrap()).unwrap();
            let expected = match example.satisfies(level) {
                Some(true) => "holds",
                Some(false) => "violated",
                None => continue,
            };
            if judged["verdict"] != expected {
                wrong.push(format!("{level} {} and not {expected}: {}", judged["verdict"], example.notation));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong verdicts:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_possible_writer_is_tried() {
    let d = directory();
    let holds = isoscope(d.path(), "check --format concise twice");
    assert_eq!((holds.code, holds.out.as_str()), (0, "twice: holds: strict-serializable\n"));
    fs::write(d.path().join("none-fits"), AMBIGUOUS.replace("T2: w(x,1)", "T2: w(x,1) w(y,2)")).unwrap();
    let run = isoscope(d.path(), "check --certify --level ra none-fits");
    assert_eq!(run.code, 1, "{}", run.out);
    assert!(run.out.contains("T3 cannot have read x=1 from T1 instead"), "{}", run.out);
    let lists = isoscope(d.path(), "check --certify --format concise --level ra lists");
    assert_eq!((lists.code, lists.out.as_str()), (0, "lists: holds: read-atomic\n"));
}

#[test]
fn verdicts_are_certified_on_request() {
    let d = directory();
    for file in ["good", "bad", "none", "twice", "lists"] {
        let run = isoscope(d.path(), &format!("check --certify --format jsonl {file}"));
        assert_eq!(run.code, isoscope(d.path(), &format!("check {file}")).code, "{}", run.err);
        for level in lines(&run.out)[0]["levels"].as_array().unwrap() {
            assert_eq!(level["certified"], level["verdict"] != "unknown", "{level}");
        }
    }
}

#[test]
fn max_anomalies_limits_the_occurrences_shown_but_not_counted() {
    let d = directory();
    let generate = "generate --sessions 20 --txns 5 --inject fractured-read=12 --seed 1 -o many.jsonl";
    assert_eq!(isoscope(d.path(), generate).code, 0);
    for (args, shown) in [("", 10), ("--max-anomalies 0", 12), ("--max-anomalies 4", 4)] {
        let run = isoscope(d.path(), &format!("check --format jsonl --level ra {args} many.jsonl"));
        let anomaly = &lines(&run.out)[0]["levels"][0]["anomalies"][0];
        assert_eq!((&anomaly["kind"], &anomaly["count"]), (&"fractured-read".into(), &12.into()));
        assert_eq!(anomaly["instances"].as_array().map(Vec::len), Some(shown), "{args}");
    }
    let run = isoscope(d.path(), "check --level ra many.jsonl");
    assert!(run.out.contains(", the shortest 3 shown") && run.out.contains("\n  3. "), "{}", run.out);
    assert!(!run.out.contains("\n  4. "), "{}", run.out);
}

/// Control characters of a file are escaped, so that the terminal does not interpret them.
#[test]
fn control_characters_of_the_input_are_escaped() {
    let d = directory();
    let history = "T1:\tr(\"k\u{1b}[31m\",\"v\u{7}\")\n";
    fs::write(d.path().join("rude"), history).unwrap();
    for command in ["check --level rc", "check --level rc --format concise", "check", "stats"] {
        let run = isoscope(d.path(), &format!("--color always {command} --from notation rude"));
        let plain = [run.out, run.err].concat();
        assert!(!plain.contains("k\u{1b}[31m") && !plain.contains('\u{7}'), "{command}: {plain:?}");
    }
    let run = isoscope(d.path(), "check --level rc --from notation rude");
    assert!(run.out.contains("T1 read \"k\\u{1b}[31m\"=\"v\\u{7}\", which no transaction"), "{}", run.out);
    assert!(run.out.contains("  1 | T1: r(\"k\u{fffd}[31m\",\"v\u{fffd}\")\n    |     ^ T1"), "{}", run.out);
}

#[test]
fn warnings_about_one_of_several_files_name_it() {
    let d = directory();
    for file in ["a", "b"] {
        fs::write(d.path().join(file), "r(1,0,0,1)\nw(2,1,0,1)\n").unwrap();
    }
    let one = isoscope(d.path(), "check a").err;
    let two = isoscope(d.path(), "check a b").err;
    assert_eq!(two, format!("{one} --> a\n{one} --> b\n"));
    assert!(one.starts_with("warning: "), "{one}");
}

#[test]
fn the_report_points_into_standard_input() {
    let d = directory();
    let run = isoscope_with_input(d.path(), "check -", FRACTURED.as_bytes());
    assert_eq!(run.code, 1);
    assert!(run.out.contains(" --> <stdin>:2:5\n"), "{}", run.out);
    assert!(run.out.contains("  2 | T2: r(x,0) r(y,2)\n"), "{}", run.out);
}

#[test]
fn the_report_points_into_binary_files_by_byte() {
    let d = directory();
    assert_eq!(isoscope(d.path(), "-q convert bad --to dbcop-bincode -o bad.bincode").code, 0);
    let run = isoscope(d.path(), "check --level ra bad.bincode");
    assert_eq!(run.code, 1);
    assert!(run.out.contains(" --> bad.bincode: byte ") && run.out.contains(" = byte "), "{}", run.out);
    let json = &lines(&isoscope(d.path(), "check --level ra --format jsonl bad.bincode").out)[0];
    let op = &json["levels"][0]["anomalies"][0]["instances"][0]["operations"][0];
    assert!(op["offset"].is_u64() && op.get("line").is_none(), "{op}");
}

#[test]
fn concise_has_one_line_per_file() {
    let d = directory();
    let run = isoscope(d.path(), "-q check --format concise good bad none broken");
    expect![[r#"
        good: holds: strict-serializable
        bad: holds: cut-isolation, read-committed; violated: adya-pl-2.99 (1 read-skew), read-atomic (1 fractured-read)
        none: unknown: no transaction committed: nothing to check
        broken: unreadable
    "#]].assert_eq(&run.out);
    let run = isoscope(d.path(), "check --format concise --level rc,cc bad");
    assert_eq!(run.out, "bad: holds: read-committed; violated: causal (1 fractured-read)\n");
    let run = isoscope(d.path(), "check --format concise --level rc,cut-isolation,rc bad");
    assert_eq!(run.out, "bad: holds: read-committed, cut-isolation\n", "each level once");
}

#[test]
fn sufficient_limits_change_nothing() {
    let d = directory();
    let plain = isoscope(d.path(), "check bad");
    let limited = isoscope(d.path(), "check --timeout 1h --memory 100TB bad");
    assert_eq!((limited.code, limited.out, limited.err), (plain.code, plain.out, plain.err));
    let run = isoscope(d.path(), "check --timeout 5parsecs bad");
    assert!(run.err.contains("`5parsecs` is not a duration such as 500ms, 30s, 5m or 1h"), "{}", run.err);
    let run = isoscope(d.path(), "check --memory 4 bad");
    assert!(run.err.contains("`4` has no unit; write 512MiB or 4GB"), "{}", run.err);
}

#[test]
fn missing_timestamps_cannot_be_trusted() {
    let d = directory();
    let run = isoscope(d.path(), "check --level causal --trust-timestamps good");
    assert_eq!(run.code, 0);
    let warning = "warning: good has no database timestamps: --trust-timestamps has no effect\n";
    assert_eq!(run.err, warning);
}

/// The clients saw T1 and T2 as concurrent. By the database's clock, T1 committed before T2 began.
#[test]
fn trusted_timestamps_define_the_real_time_order() {
    let d = directory();
    let history = "{\"isoscope\":\"history\",\"version\":1,\"initial\":0}
{\"session\":1,\"txn\":1,\"ops\":[[\"w\",\"x\",1]],\"events\":[0,2],\"timestamps\":[10,20]}
{\"session\":2,\"txn\":2,\"ops\":[[\"r\",\"x\",0]],\"events\":[1,3],\"timestamps\":[30,40]}
";
    fs::write(d.path().join("clock.jsonl"), history).unwrap();
    let run = isoscope(d.path(), "check --certify --level sser clock.jsonl");
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let run = isoscope(d.path(), "check --certify --level sser --trust-timestamps clock.jsonl");
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("through real-time order"), "{}", run.out);
}

#[test]
fn several_files_end_with_totals() {
    let d = directory();
    let run = isoscope(d.path(), "-q check good bad none broken");
    let tally = "4 files: 1 violated, 1 unknown, 1 without violation, 1 failed\n";
    assert!(run.out.ends_with(tally), "{}", run.out);
}

#[test]
fn elle_has_one_map_per_file() {
    let d = directory();
    let run = isoscope(d.path(), "-q check --format elle --level rc,ra,cc good bad none broken");
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines[0], "{:file \"good\", :valid? true, :not #{}, :also-not #{}}");
    let bad = "{:file \"bad\", :valid? false, :anomaly-types (:G-single-item), :anomalies {:G-single-item [{";
    assert!(lines[1].starts_with(bad), "{}", lines[1]);
    let not = ":not #{:read-atomic :repeatable-read}, :also-not #{:causal-cerone ";
    assert!(lines[1].contains(not), "{}", lines[1]);
    assert!(lines[2].contains(":valid? :unknown, :anomaly-types (:empty-transaction-graph)"), "{}", lines[2]);
    assert!(lines[3].contains(":valid? :unknown, :error \""), "{}", lines[3]);
    for line in lines {
        assert_balanced(line);
    }
}

#[test]
fn elle_lists_each_model_once() {
    let d = directory();
    fs::write(d.path().join("aborted"), "T1!: w(x,1)  T2: r(x,1)").unwrap();
    let run = isoscope(d.path(), "check --format elle aborted");
    let (_, sets) = run.out.split_once(":not #{").unwrap();
    let (not, also_not) = sets.split_once("}, :also-not #{").unwrap();
    assert_eq!(not, ":read-committed");
    let also_not: Vec<&str> = also_not.trim_end().trim_end_matches('}').split(' ').collect();
    assert!(!also_not.contains(&not), "{also_not:?}");
    assert!([":serializable", ":snapshot-isolation"].iter().all(|m| also_not.contains(m)), "{also_not:?}");
}

/// Asserts that the brackets outside of strings match.
fn assert_balanced(edn: &str) {
    let mut open = Vec::new();
    let mut chars = edn.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                while let Some(inside) = chars.next() {
                    match inside {
                        '\\' => drop(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '{' | '[' | '(' => open.push(c),
            '}' => assert_eq!(open.pop(), Some('{'), "{edn}"),
            ']' => assert_eq!(open.pop(), Some('['), "{edn}"),
            ')' => assert_eq!(open.pop(), Some('('), "{edn}"),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{edn}");
}

#[test]
fn junit_has_one_suite_per_file_and_one_case_per_level() {
    let d = directory();
    let run = isoscope(d.path(), "-q check --format junit --level rc,ra,ser good bad none broken");
    assert_eq!(run.code, 255);
    let count = |what: &str| run.out.matches(what).count();
    assert_eq!((count("<testsuite "), count("<testcase ")), (4, 10), "{}", run.out);
    assert_eq!((count("<failure "), count("<error ")), (2, 4), "{}", run.out);
    assert!(run.out.contains("<testsuites name=\"isoscope\" tests=\"10\" failures=\"2\" errors=\"4\">"));
    assert_well_formed(&run.out);
    let all = isoscope(d.path(), "check --format junit good");
    assert_eq!((all.code, all.out.matches("<testcase ").count()), (0, Level::COMMON.len()), "{}", all.out);
}

/// Asserts that elements are closed in the reverse order of opening, and that no bare `<` or `&` is left.
fn assert_well_formed(xml: &str) {
    let mut open = Vec::new();
    let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
    for (i, piece) in body.split('<').enumerate().skip(1) {
        let (tag, text) = piece.split_once('>').unwrap_or_else(|| panic!("piece {i}: {piece}"));
        assert!(!text.contains('>'), "{piece}");
        for entity in piece.split('&').skip(1) {
            assert!(["amp;", "lt;", "gt;", "quot;"].iter().any(|known| entity.starts_with(known)), "{piece}");
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap());
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn output_depends_only_on_the_input() {
    let d = directory();
    let generate = "generate --sessions 10 --txns 50 --level rc --keys 20 --seed 5 -o h.jsonl";
    assert_eq!(isoscope(d.path(), generate).code, 0);
    let one = isoscope(d.path(), "--threads 1 check h.jsonl");
    assert_eq!(one.code, 1);
    assert_eq!(one.out, isoscope(d.path(), "--threads 2 check h.jsonl").out);
    assert_eq!(one.out, isoscope(d.path(), "check h.jsonl").out);
    let timed = isoscope(d.path(), "-v check h.jsonl");
    assert_eq!(one.out, timed.out);
    assert!(timed.err.contains("read-atomic: violated in "), "{}", timed.err);
}

#[test]
fn the_demo_explains_its_anomaly() {
    let d = directory();
    let run = isoscope(d.path(), "demo");
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let story = "T9 had seen T7, which wrote u=11, by way of T8, and yet it read u=0, the initial value.";
    assert!(run.out.contains(story), "{}", run.out);
    assert!(run.out.contains(" --> demo:3:"), "{}", run.out);
    assert!(run.out.contains("isoscope check --level causal FILE"), "a level that is decided: {}", run.out);
    assert!(run.out.contains("T7: r(u,0) r(v,0) w(u,11)"), "the write skew: {}", run.out);
    for seed in 0..5 {
        let run = isoscope(d.path(), &format!("demo --seed {seed}"));
        assert!(run.out.contains("causality violation (TAP-m): once"), "seed {seed}: {}", run.out);
    }
}

/// Range reads, tombstones and lists: none of these histories accuses a correct database.
#[test]
fn what_nothing_forbids_holds() {
    let d = directory();
    let header = |fields: &str| format!("{{\"isoscope\":\"history\",\"version\":1{fields}}}\n");
    let txn = |session: u32, ops: &str| format!("{{\"session\":{session},\"ops\":[{ops}]}}\n");
    let native = |txns: &[(u32, &str)]| -> String {
        header("") + &txns.iter().map(|&(session, ops)| txn(session, ops)).collect::<String>()
    };
    for history in [
        "T1: range(a,z,{k=0 y=0})  T2: w(y,1)".to_owned(),
        "init=nil T1: a(x,1)  T2: r(x,nil)".to_owned(),
        native(&[(0, r#"["w",5,1]"#), (0, r#"["range",1,9,[[5,1]]]"#)]),
        native(&[(0, r#"["w",5,1]"#), (0, r#"["range",null,null,[[5,1]]]"#)]),
        native(&[(0, r#"["delete","x",7],["r","x",null]"#)]),
        header(",\"initial\":null")
            + &txn(0, r#"["insert","x",1]"#)
            + &txn(0, r#"["delete","x",7]"#)
            + &txn(0, r#"["range","a","z",[]]"#),
        // Several deletes: each is a possible writer.
        native(&[
            (0, r#"["w","x",1],["delete","x",7]"#),
            (1, r#"["delete","x",8]"#),
            (2, r#"["r","x",null]"#),
        ]),
    ] {
        let run = isoscope_with_input(
            d.path(),
            "-q check --level all --certify --format concise -",
            history.as_bytes(),
        );
        assert_eq!(run.code, 0, "{history}: {}{}", run.out, run.err);
    }
    let null = native(&[(0, r#"["w",5,1]"#), (0, r#"["range",null,null,[]]"#)]);
    let run = isoscope_with_input(d.path(), "-q check --format concise -", null.as_bytes());
    assert_eq!(run.code, 1, "a range without bounds misses key 5: {}", run.out);
}

/// A serial run of Viper's benchmark: a row is inserted after a range read did not find it.
#[test]
fn a_row_that_is_inserted_later_does_not_refute_a_range_read() {
    let d = directory();
    let insert = "{\"value\": [[\"i\", 5, 41, true]]}\n";
    for (low, high) in [("5", "9"), ("1", "9"), ("null", "null")] {
        let range = |rows: &str| format!("{{\"value\": [[\"range\", {low}, {high}, [{rows}], []]]}}\n");
        std::fs::write(d.path().join("J0.log"), insert).unwrap();
        std::fs::write(d.path().join("J1.log"), range("") + &range(r#"{"id":5,"sk":5,"val":41}"#)).unwrap();
        let run = isoscope(d.path(), "-q check --level all --certify --format concise .");
        assert_eq!(run.code, 0, "{low} to {high}: {}{}", run.out, run.err);
        let wrong = range(r#"{"id":5,"sk":5,"val":41}"#) + &range("");
        std::fs::write(d.path().join("J1.log"), wrong).unwrap();
        let run = isoscope(d.path(), "-q check --level causal --certify --format concise .");
        assert_eq!(run.code, 1, "{low} to {high}: {}{}", run.out, run.err);
    }
}

/// A key that is both a register and a list: the message says so.
#[test]
fn an_unsupported_operation_is_named() {
    let d = directory();
    for (history, why) in [
        (
            "T1: a(x,1) w(x,2)  T2: r(x,[1])",
            "3 operations are of an unsupported kind: x is used as a register and as a list",
        ),
        (
            "T1: w(x,?)  T2: r(x,1)",
            "2 operations are of an unsupported kind: a value written to x was not learned",
        ),
        (
            "T1: w(x,[1])  T2: rr(x,[1])",
            "1 operation is of an unsupported kind: a read of the register x returned a list",
        ),
    ] {
        let run = isoscope_with_input(d.path(), "-q check --level si --format concise -", history.as_bytes());
        assert_eq!(run.out, format!("-: unknown: snapshot-isolation ({why})\n"), "{history}");
    }
}

/// A conversion keeps the verdict, also where lists begin with elements.
#[test]
fn lists_that_begin_with_elements_keep_their_verdict() {
    let d = directory();
    for (history, code) in [
        ("init(x)=[9] T1: r(x,[9]) a(x,1)", 0),
        ("init(x)=[9] T1: a(x,1)  T2: r(x,[9 1])", 0),
        ("init(x)=[9] T1: a(x,1)  T2: r(x,[1])", 1),
        ("init(x)=[9] T1: a(x,1)  T2: r(x,[])", 1),
    ] {
        for to in ["edn", "elle-json", "native", "notation"] {
            std::fs::write(d.path().join("h.txt"), history).unwrap();
            isoscope(d.path(), &format!("-q convert h.txt --to {to} -o out"));
            let run = isoscope(d.path(), "-q check --level all --certify --format concise out");
            assert_eq!(run.code, code, "{history} as {to}: {}{}", run.out, run.err);
        }
    }
}

/// A column counts characters, as an editor does.
#[test]
fn a_column_counts_characters() {
    let d = directory();
    let run = isoscope_with_input(d.path(), "-q check -", "T1: w(x,1)\nT2: r(\"日本\",1) zz(x)\n".as_bytes());
    assert!(run.err.contains("<stdin>:2:15"), "{}", run.err);
}

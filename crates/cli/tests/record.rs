//! `record`, `test`, `script`, `hermitage` and `probe`, as a user would call them, with good and bad input.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod support;

use std::fs;

use isoscope_record::{Server, ServerKind};
use support::{isoscope, isoscope_with_input};
use tempfile::TempDir;

fn directory() -> TempDir {
    TempDir::new().unwrap()
}

#[test]
fn test_needs_no_arguments() {
    let d = directory();
    let run = isoscope(d.path(), "test --seed 1 --txns 50");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("kept its promise of serializable"), "{}", run.out);
    assert!(run.err.contains("workload read-modify-write"), "{}", run.err);
    assert_eq!(fs::read_dir(d.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_bug_of_the_store_is_found() {
    let d = directory();
    let args = "test memory:serializable?bug=aborted-read:0.5 --seed 1 --keys 5 --retries 3 -o h.jsonl";
    let run = isoscope(d.path(), args);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("aborted read") && run.out.contains("broke its promise"), "{}", run.out);
    // The recorded history is a normal history, and gets the same verdict every time.
    for _ in 0..2 {
        assert_eq!(isoscope(d.path(), "check --level serializable h.jsonl").code, 1);
    }
    let run = isoscope(d.path(), "test memory:serializable --seed 1 --level causal,ser --format concise");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.ends_with("holds: causal, serializable\n"), "{}", run.out);
}

/// The first line is the verdict, a short summary follows, and `--details` prints everything. Issue 12, 16.
#[test]
fn test_prints_its_verdict_first() {
    let d = directory();
    let broken = "test memory:serializable?bug=aborted-read:0.5 --seed 1 --keys 5 -o h.jsonl";
    let run = isoscope(d.path(), broken);
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    assert!(
        first(&run.out).starts_with("✗ ") && first(&run.out).ends_with("broke its promise of serializable")
    );
    assert!(run.out.lines().count() < 60, "{}", run.out);
    assert!(!run.out.contains("-->") && run.out.contains("shows the evidence"), "{}", run.out);
    assert!(run.err.trim_end().ends_with("the history is in h.jsonl"), "{}", run.err);
    let all = isoscope(d.path(), &format!("{broken} --details"));
    assert_eq!((first(&all.out), all.code), (first(&run.out), 1));
    assert!(all.out.contains("--> h.jsonl:"), "{}", all.out);
    let concise = isoscope(d.path(), &format!("{broken} --format concise"));
    assert_eq!(concise.out.lines().count(), 1);
    assert!(concise.out.starts_with(&format!("{}; ", first(&run.out))), "{}", concise.out);
    let asked = isoscope(d.path(), &format!("{broken} --level ser --format concise"));
    assert!(asked.out.contains("violated a requested level; violated: serializable ("), "{}", asked.out);
}

/// The store promises less than it provides. No line is red, and the history that the report quotes is kept.
#[test]
fn a_kept_promise_keeps_the_history_that_the_report_quotes() {
    let d = directory();
    let run = isoscope(d.path(), "test memory:read-committed --seed 1 --keys 3");
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.out.starts_with("✓ "), "{}", run.out);
    assert!(run.out.contains("which is not promised") && !run.out.contains("  ✗"), "{}", run.out);
    let kept = run.err.trim_end().lines().last().unwrap().strip_prefix("note: the history is in ").unwrap();
    assert!(fs::metadata(kept).unwrap().len() > 0);
    fs::remove_file(kept).unwrap();
    let run = isoscope(d.path(), "-q test memory:read-committed --seed 1 --keys 3 --format junit -o h.jsonl");
    assert!(run.out.contains("failures=\"0\"") && run.out.contains("<skipped message=\"not promised\"/>"));
    let run = isoscope(d.path(), "test --seed 1 --txns 20");
    assert!(run.code == 0 && !run.err.contains("the history is in"), "{}", run.err);
}

/// A kept history is named, whatever is silent.
#[test]
fn a_kept_history_is_named_also_when_quiet() {
    let d = directory();
    for format in ["full", "concise", "json", "junit", "elle"] {
        let args = format!("-q test memory:read-committed --seed 1 --keys 3 --level ser --format {format}");
        let run = isoscope(d.path(), &args);
        assert_eq!(run.code, 1, "{}{}", run.out, run.err);
        let kept = run.err.strip_prefix("note: the history is in ").and_then(|rest| rest.strip_suffix('\n'));
        fs::remove_file(kept.unwrap_or_else(|| panic!("{format}: {}", run.err))).unwrap();
        let run = isoscope(d.path(), &format!("{args} -o h.jsonl"));
        assert_eq!(run.err, "", "the user named the file");
    }
}

/// A recording that could not begin says only why, and changes no file.
#[test]
fn a_recording_that_cannot_begin_leaves_no_trace() {
    let d = directory();
    let record = "record -w bank memory:serializable --seed 1 --log log.jsonl -o";
    let why = "error: cannot prepare the database: the in-memory store does not support SQL, which the workload bank needs\n";
    let run = isoscope(d.path(), &format!("{record} new.jsonl"));
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (255, "", why));
    assert!(!d.path().join("new.jsonl").exists() && !d.path().join("log.jsonl").exists());
    fs::write(d.path().join("old.jsonl"), "precious").unwrap();
    let run = isoscope(d.path(), &format!("{record} old.jsonl"));
    assert_eq!((run.code, run.err.as_str()), (255, why));
    assert_eq!(fs::read_to_string(d.path().join("old.jsonl")).unwrap(), "precious");
    let run = isoscope(d.path(), "record memory: --seed 1 -o old.jsonl");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(!fs::read_to_string(d.path().join("old.jsonl")).unwrap().contains("precious"));
    let run = isoscope(d.path(), "record memory: --seed 1 -o /dev/full");
    assert_eq!(run.code, 255);
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    assert!(run.err.starts_with("error: cannot write the recording: "), "{}", run.err);
}

/// Input that is not a script is quoted in part. Issue 12, 15.
#[test]
fn zeros_are_not_a_script() {
    let d = directory();
    for length in [1 << 10, 3 << 20] {
        let run = isoscope_with_input(d.path(), "script -", &vec![0; length]);
        assert_eq!(run.code, 255);
        assert!(run.err.len() < 2_000, "{}", run.err.len());
    }
    let run = isoscope_with_input(d.path(), "script -", "x".repeat(1 << 19).as_bytes());
    assert!(run.code == 255 && run.err.len() < 2_000, "{}", run.err.len());
}

#[test]
fn test_has_a_json_form() {
    let d = directory();
    let run = isoscope(d.path(), "test --seed 1 --txns 20 --workload bank --format json");
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(
        (json["test"]["promise"].as_str(), json["test"]["verdict"].as_str()),
        (Some("serializable"), Some("kept"))
    );
    assert_eq!(json["levels"].as_array().unwrap().len(), 13);
}

#[test]
fn record_writes_a_history_and_a_log() {
    let d = directory();
    let run = isoscope(d.path(), "record --seed 1 --txns 10 --workload smallbank --log log.jsonl -o h.jsonl");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("recorded 80 transactions"), "{}", run.err);
    assert!(fs::read_to_string(d.path().join("log.jsonl")).unwrap().starts_with("{\"isoscope\":\"log\""));
    assert_eq!(isoscope(d.path(), "check --level ser h.jsonl").code, 0);
    // A recorder that was killed leaves half a line and no end mark.
    let bytes = fs::read(d.path().join("h.jsonl")).unwrap();
    fs::write(d.path().join("cut.jsonl"), &bytes[..bytes.len() - 20]).unwrap();
    let run = isoscope(d.path(), "check --level ser cut.jsonl");
    assert_ne!(run.code, 1, "{}", run.err);
    assert!(run.err.contains("the recording is incomplete"), "{}", run.err);
    // `--quiet` also suppresses the note with the random seed.
    let run = isoscope(d.path(), "-q record memory: --txns 3 -o -");
    assert!(run.out.starts_with("{\"isoscope\":\"history\"") && run.err.is_empty(), "{}{}", run.out, run.err);
    assert!(run.out.ends_with("\"mark\":\"end\"}\n"), "{}", run.out);
}

#[test]
fn applications_have_sizes() {
    let d = directory();
    for workload in ["voter", "tpcc", "wikipedia"] {
        let args = "--seed 1 --sessions 3 --txns 4 --retries 9 --size paper --format json";
        let run = isoscope(d.path(), &format!("test --workload {workload} {args}"));
        let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(
            (run.code, json["test"]["verdict"].as_str()),
            (0, Some("kept")),
            "{workload}: {}",
            run.err
        );
    }
    for (args, message) in [
        ("test --workload bank --size paper", "no size `paper`; use --keys"),
        ("test --workload voter --size standard", "no size `standard`; use --keys"),
        ("test --size paper", "--size needs an application"),
    ] {
        let run = isoscope(d.path(), args);
        assert!(run.code == 254 && run.err.contains(message), "{args}: {}", run.err);
    }
}

/// One session writes more than a megabyte before any other session writes.
#[test]
fn long_sessions_make_readable_files() {
    let d = directory();
    for args in [
        "record memory:serializable --sessions 1 --txns 20000 --seed 1 -o h.jsonl",
        "record --sessions 1 --txns 2500 --seed 1 --log log.jsonl -o h.jsonl",
    ] {
        let run = isoscope(d.path(), args);
        assert_eq!(run.code, 0, "{args}: {}", run.err);
        let run = isoscope(d.path(), "check --level ser h.jsonl");
        assert_eq!(run.code, 0, "{args}: {}", run.err);
        assert!(!run.err.contains("warning"), "{args}: {}", run.err);
    }
    let log = fs::read(d.path().join("log.jsonl")).unwrap();
    assert!(log.len() > 1 << 20, "{} bytes", log.len());
    let log = isoscope_record::log::read(log.as_slice()).unwrap();
    assert_eq!(log.entries.iter().filter(|entry| entry.ending.is_some()).count(), 2501);
}

#[test]
fn a_private_server_accepts_all_its_sessions() {
    let d = directory();
    let run = isoscope(d.path(), "record --start postgres --sessions 300 --txns 1 --seed 1 -o h.jsonl");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("recorded 300 transactions"), "{}", run.err);
}

/// The message says why the arguments cannot work, and what to use instead.
#[test]
fn unusable_arguments_are_explained() {
    let d = directory();
    for (args, code, message) in [
        ("test oracle://x/y", 254, "unknown kind of database `oracle:`"),
        ("test nonsense", 254, "cannot tell the kind of database"),
        ("test sqlite: --isolation snapshot", 254, "it has only `serializable`"),
        ("test memory:strict-serializable", 254, "does not support strict-serializable"),
        ("test memory:?bug=heisenbug", 254, "unknown bug `heisenbug`"),
        ("test memory: --workload bank", 255, "does not support SQL"),
        ("test --txns 0", 254, "0 is not in 1.."),
        (
            "test --workload tpcc --keys 5 --size paper",
            254,
            "'--keys <N>' cannot be used with '--size <SIZE>'",
        ),
        ("test memory:serializable --txns 5 -o -", 254, "the report goes to standard output"),
        ("record memory:serializable --txns 5 -o h.jsonl --log -", 254, "--log needs a file, not `-`"),
        ("test --sessions 0", 254, "at least one session is required"),
        ("test --workload bank --aborts 0.5", 254, "need a key-value workload"),
        ("test --workload bank --keys 5", 254, "--keys must be a multiple of 4"),
        ("test --workload smallbank --keys 1", 254, "--keys must be at least 2"),
        ("test --timeout 5", 254, "`5` has no unit; write 500ms, 30s or 5m, for example"),
        ("test --memory 5", 254, "`5` has no unit; write 512MiB or 4GB, for example"),
        ("test --retries 2000", 254, "at most 1000"),
        ("test --reads 2", 254, "between 0 and 1"),
        ("test --distribution zipfian:1e9", 254, "THETA of --distribution must be between 0 and 16"),
        ("test --fault restart=1s", 254, "--start"),
        ("test --fault kill=1s", 254, "SQLite supports no faults, because it is not a server"),
        ("test memory: --fault kill=1s", 254, "the in-memory store supports no faults"),
        ("test -o h.jsonl --log ./h.jsonl", 254, "the history (-o) and the log (--log) are the same file"),
        ("record -o h.jsonl --log h.jsonl", 254, "the history (-o) and the log (--log) are the same file"),
        ("record sqlite:h.db -o h.db", 254, "the history (-o) and the database are the same file"),
        ("record h.db --log h.db -o h.jsonl", 254, "the log (--log) and the database are the same file"),
        ("record -o - --log /dev/stdout", 254, "the history (-o) and the log (--log) are the same file"),
        ("test --fault fire=1s", 254, "unknown fault `fire`"),
        ("test --set a=b", 254, "--start"),
        ("test --start postgres --set nonsense", 254, "name=value"),
        ("test postgres://localhost:1/x", 255, "localhost:1"),
        ("test mysql://root@127.0.0.1:1/x", 255, "127.0.0.1:1"),
        ("test sqlite:/nowhere/to/be/found.db", 255, "/nowhere/to/be/found.db"),
        ("record -o /nowhere/h.jsonl", 255, "cannot write /nowhere/h.jsonl"),
        ("record --txns 2000 memory: -o /dev/full", 255, "cannot write the recording"),
        ("record", 254, "--output"),
        ("script nothing.script", 255, "cannot read nothing.script"),
        ("script - memory:", 254, "does not support SQL: choose postgres://"),
    ] {
        let run = isoscope_with_input(d.path(), args, b"steps:\n  T1: BEGIN\n  T1: COMMIT\n");
        assert_eq!(run.code, code, "{args}: {}{}", run.out, run.err);
        assert!(run.err.contains(message), "{args}: {}", run.err);
        // A test that could not start prints no report and leaves no files behind.
        let silent = run.out.is_empty() && !run.err.contains("the history is in");
        assert!(silent || !args.starts_with("test"), "{args}: {}{}", run.out, run.err);
    }
    assert!(!d.path().join("-").exists());
}

/// A history that cannot be checked leaves the promise unknown, and the first line says so.
#[test]
fn a_promise_is_unknown_if_the_history_does_not_fit() {
    let d = directory();
    let args = "test memory:snapshot-isolation --memory 1MB --txns 100 --seed 1 -o h.jsonl";
    let run = isoscope(d.path(), args);
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
    assert!(
        run.out.starts_with("? whether ") && run.out.ends_with("of snapshot-isolation is unknown\n"),
        "{}",
        run.out
    );
    assert!(run.err.contains("(--memory) was reached"), "{}", run.err);
    let run = isoscope(d.path(), &format!("{args} --format json"));
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(json["test"]["verdict"], "unknown", "{}", run.out);
}

#[test]
fn a_log_is_not_taken_for_a_history() {
    let d = directory();
    let run = isoscope(d.path(), "record --sessions 1 --txns 2 --seed 1 --log log.jsonl -o h.jsonl");
    assert_eq!(run.code, 0, "{}", run.err);
    let run = isoscope(d.path(), "check log.jsonl");
    assert_eq!(run.code, 255, "{}", run.err);
    assert!(
        run.err.contains("log.jsonl is a log of SQL statements") && run.err.contains("--output"),
        "{}",
        run.err
    );
}

#[test]
fn scripts_run_and_errors_point_into_them() {
    let d = directory();
    fs::write(d.path().join("bad.script"), "steps:\n  T1 BEGIN\n").unwrap();
    let run = isoscope(d.path(), "script bad.script");
    assert_eq!(run.code, 255);
    let place = " --> bad.script:2:6\n  |\n2 |   T1 BEGIN\n  |      ^\n";
    let help = "  = help: a step is `session: statement` or `session.label: statement`\n";
    assert!(run.err.ends_with(&format!("{place}{help}")), "{}", run.err);
    let script = "\
name: two writers
setup:
  CREATE TABLE t (v INT)
  INSERT INTO t VALUES (1)
steps:
  T1: BEGIN
  T1: UPDATE t SET v = 2
  T2.read: SELECT v FROM t
  T1: ROLLBACK
anomaly when:
  T2.read = 2
";
    fs::write(d.path().join("good.script"), script).unwrap();
    let run = isoscope(d.path(), "script good.script");
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("UPDATE t SET v = 2") && run.out.contains("did not happen"), "{}", run.out);
    // The names of sessions are a column.
    let steps = "steps:\n  T1: SELECT 1\n  After: SELECT 2\n";
    let run = isoscope_with_input(d.path(), "script -", steps.as_bytes());
    assert!(
        run.out.contains("\n  T1     SELECT 1") && run.out.contains("\n  After  SELECT 2"),
        "{}",
        run.out
    );
}

/// Wrong SQL is an error, not a script without effects.
#[test]
fn a_failing_statement_is_an_error() {
    let d = directory();
    let script = |steps: &str, end: &str| format!("setup:\n  CREATE TABLE t (v INT)\nsteps:\n{steps}{end}");
    for (steps, end, code) in [
        ("  T1: BEGIN\n  T1: SELEKT 1\n", "", 255),
        ("  T1: SELECT nothing FROM t    => 1\n", "", 255),
        ("  T1: SELECT nothing FROM t    => fails\n", "", 0),
        ("  T1: SELECT 1    => 2\n", "", 1),
        ("  T1: SELECT 1\n", "", 0),
        ("  T1.a: SELEKT 1\n", "anomaly when:\n  T1.a = 1\n", 2),
    ] {
        let text = script(steps, end);
        let run = isoscope_with_input(d.path(), "script -", text.as_bytes());
        assert_eq!(run.code, code, "{text}{}{}", run.out, run.err);
        let points_at = run.err.contains("the step failed") && run.err.contains("--> -:");
        assert_eq!(points_at, code == 255, "{text}{}{}", run.out, run.err);
    }
}

/// Every error of the database points at its statement.
#[test]
fn failures_point_at_the_statement() {
    let d = directory();
    for (script, place) in [
        ("setup:\n    CREATE TABLE t (v INT)\n    CREATE TBLE u (v INT)\nsteps:\n  T1: SELECT 1\n", "-:3:5"),
        ("steps:\n  T1: SELECT 1\nteardown:\n  DROP VIEW missing\n", "-:4:3"),
        ("steps:\n    T1:   SELEKT 1\n", "-:2:11"),
        ("steps:\n  T1.a:\n      SELEKT 1\n", "-:3:7"),
    ] {
        let run = isoscope_with_input(d.path(), "script -", script.as_bytes());
        assert_eq!(run.code, 255, "{script}{}{}", run.out, run.err);
        assert!(run.err.contains(&format!(" --> {place}\n")), "{script}{}", run.err);
    }
}

#[test]
fn hermitage_prints_a_table() {
    let d = directory();
    let run = isoscope(d.path(), "hermitage");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("G2-item") && !run.out.contains("- allowed "), "{}", run.out);
    let run = isoscope(d.path(), "hermitage --isolation snapshot");
    assert_eq!(run.code, 254, "{}", run.err);
}

#[test]
fn probe_compares_a_database_with_its_promise() {
    let d = directory();
    let run = isoscope(d.path(), "probe --out scripts");
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("at serializable kept its promise of serializable\n"), "{}", run.out);
    assert!(run.out.contains("never violated: strict-serializable\n"), "{}", run.out);
    assert!(run.out.contains(" per second; "), "{}", run.out);
    assert_eq!(fs::read_dir(d.path().join("scripts")).unwrap().count(), 0, "nothing was violated");
    for wrong in ["probe --isolation snapshot", "probe --level none", "probe memory:serializable"] {
        assert_eq!(isoscope(d.path(), wrong).code, 254, "{wrong}");
    }
}

/// All small programs take longer than a second.
#[test]
fn probe_stops_in_time_and_says_what_is_missing() {
    let d = directory();
    let run = isoscope(d.path(), "probe --exhaustive --timeout 1s --format json");
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
    let value: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let level = &value["isolation_levels"][0];
    assert_eq!((&level["verdict"], &level["complete"]), (&"unknown".into(), &false.into()), "{level}");
    assert!(level["programs"].as_u64() < level["of_programs"].as_u64(), "{level}");
    assert!(level["of_programs"].as_u64() > Some(1_400), "{level}");
}

/// The scripts of the violations show them again, and a required level that is violated decides the exit code.
#[test]
fn probe_writes_scripts_that_show_the_violations() {
    let d = directory();
    let server = Server::start::<&str>(ServerKind::MariaDb, &[]).unwrap_or_else(|error| panic!("{error}"));
    let url = server.url();
    let at = "--isolation repeatable-read";
    let run = isoscope(d.path(), &format!("probe {url} {at} --level psi --out scripts --timeout 15s"));
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("broke parallel-snapshot-isolation"), "{}", run.out);
    let script = "scripts/mariadb-repeatable-read-parallel-snapshot-isolation.script";
    assert!(run.out.contains(&format!("isoscope script {script} URL {at}")), "{}", run.out);
    let run = isoscope(d.path(), &format!("script {script} {url} {at}"));
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("the anomaly happened"), "{}", run.out);
    assert_eq!(isoscope(d.path(), &format!("script {script} {url} --isolation serializable")).code, 0);
}

/// The server's own error is shown: a wrong password, a missing database.
#[test]
fn a_server_that_refuses_is_quoted() {
    let d = directory();
    let server = Server::start::<&str>(ServerKind::Postgres, &[]).unwrap_or_else(|error| panic!("{error}"));
    let url = server.url();
    let (before, after) = url.split_once("://postgres:").unwrap();
    let host = after.split_once('@').unwrap().1;
    let wrong = format!("{before}://postgres:wrong@{host}");
    let run = isoscope(d.path(), &format!("test {wrong}"));
    assert_eq!(run.code, 255);
    assert!(run.err.contains("password authentication failed") && !run.err.contains("wrong@"), "{}", run.err);
    let run = isoscope(d.path(), &format!("test {url}x"));
    assert_eq!(run.code, 255);
    assert!(run.err.contains("does not exist"), "{}", run.err);
    let run = isoscope(d.path(), &format!("test {url} --isolation repeatable-read --seed 1 --txns 20"));
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.err.contains("promises snapshot-isolation"), "{}", run.err);
}

/// ^C ends a run in an orderly way: the recorded history is complete, and the private server is stopped.
#[test]
fn an_interrupt_keeps_what_was_recorded() {
    use std::process::{Command, Stdio};
    let d = directory();
    let mut child = Command::new(env!("CARGO_BIN_EXE_isoscope"))
        .args(["record", "--duration", "1h", "--seed", "1", "-o", "h.jsonl"])
        .current_dir(d.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let path = d.path().join("h.jsonl");
    while fs::read_to_string(&path).map_or(0, |text| text.lines().count()) < 20 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(isoscope(d.path(), "check --level ser h.jsonl").code, 0);
}

/// Whether a process exists and is not a zombie.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// The processes with a working directory inside this directory.
fn inside(directory: &std::path::Path) -> Vec<u32> {
    let pids =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| {
        fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(directory))
            && is_alive(*pid)
    })
    .collect()
}

/// `kill -9` during a recording: the file shows no violation, and no server and no directory remain.
#[test]
fn a_killed_recording_leaves_a_readable_file_and_nothing_else() {
    use std::process::{Command, Stdio};
    for database in
        [&["memory:serializable"][..], &["sqlite:"], &["--start", "postgres"], &["--start", "mariadb"]]
    {
        let (d, scratch) = (directory(), directory());
        let mut child = Command::new(env!("CARGO_BIN_EXE_isoscope"))
            .args(["record", "--duration", "1h", "--seed", "1", "--keys", "5", "-i", "serializable"])
            .args(["-w", "register", "-o", "h.jsonl"])
            .args(database)
            .current_dir(d.path())
            .env("TMPDIR", scratch.path())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let path = d.path().join("h.jsonl");
        while fs::read_to_string(&path).map_or(0, |text| text.matches("\"mark\":").count()) < 3 {
            assert!(child.try_wait().unwrap().is_none(), "{database:?} ended by itself");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let run = isoscope(d.path(), "check --level ser h.jsonl");
        // A slow database may have recorded too little for a verdict.
        let too_little = run.code == 2 && run.out.contains("nothing to check");
        assert!(run.code == 0 || too_little, "{database:?}: {}{}", run.out, run.err);
        assert!(run.err.contains("the recording is incomplete"), "{database:?}: {}", run.err);
        if database[0] == "--start" {
            let place = scratch.path().canonicalize().unwrap();
            while !inside(&place).is_empty() || fs::read_dir(&place).unwrap().count() > 0 {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        } else if database[0] == "sqlite:" {
            // A directory without a server has no watcher to remove it. The next start removes it.
            assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
            let status = Command::new(env!("CARGO_BIN_EXE_isoscope"))
                .args(["-q", "record", "--txns", "1", "-o", "next.jsonl"])
                .current_dir(d.path())
                .env("TMPDIR", scratch.path())
                .status()
                .unwrap();
            assert!(status.success());
            assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
        }
    }
}

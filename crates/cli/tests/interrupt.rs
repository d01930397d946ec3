//! ^C during a check: it reports what was decided before.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use support::isoscope;

/// A history whose search takes hours, beside one that is decided at once.
fn directory() -> tempfile::TempDir {
    let d = tempfile::TempDir::new().unwrap();
    let spec = "--sessions 10 --txns 100 --ops 5 --keys 6 --duplicates 1:2 --level serializable --seed 1";
    let run = isoscope(d.path(), &format!("generate {spec} -o hard.jsonl"));
    assert_eq!(run.code, 0, "{}", run.err);
    fs::write(d.path().join("easy.txt"), "T1: w(x,1)  T2: r(x,1)\n").unwrap();
    d
}

/// Starts a check, and waits until it has ended the first stage of a level of the hard history.
fn checking(directory: &Path, args: &str, level: &str) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_isoscope"))
        .args(["check", "-v", "--timeout", "none", "--format", "concise"])
        .args(args.split_whitespace())
        .current_dir(directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with(&format!("{level}: ")) {
        line.clear();
        assert!(err.read_line(&mut line).unwrap() > 0, "the check has ended by itself");
    }
    (child, err)
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn an_interrupted_check_reports_what_was_decided() {
    let d = directory();
    for signal in ["-INT", "-TERM"] {
        let level = "snapshot-isolation";
        let (mut child, mut err) = checking(d.path(), "--level cut-isolation,si hard.jsonl easy.txt", level);
        send(signal, &child);
        let (mut said, mut out) = (String::new(), String::new());
        err.read_to_string(&mut said).unwrap();
        child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(2), "{said}{out}");
        let reason = "unknown: snapshot-isolation (the check was interrupted)";
        assert_eq!(out, format!("hard.jsonl: holds: cut-isolation; {reason}\n"), "{said}");
        assert!(said.contains("ending the check; press ^C again to end immediately\n"), "{said}");
        assert!(said.ends_with("error: interrupted: 1 file was not checked\n"), "{said}");
    }
}

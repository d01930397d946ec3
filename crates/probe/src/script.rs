//! A violation as a script for `isoscope script`.
//!
//! The script sends the same steps in the same order. Its condition is that the committed transactions read what they read in the
//! probe, that the keys have the same values at the end, and that the same transactions committed.

use isoscope_record::script::{Action as Statement, MAX_BYTES};

use crate::judge::{Violation, history};
use crate::plan::Action;
use crate::programs::{Program, key_name};
use crate::run::{Run, Step, StepResult};

/// Writes a violation as a script. `place` is where it was seen, such as `PostgreSQL 15.18 at repeatable-read`.
pub fn script(violation: &Violation, place: &str) -> String {
    let Violation { program, run, anomaly } = violation;
    let rows: Vec<String> = (1..=program.keys()).map(|key| format!("({key}, 0)")).collect();
    let keys: Vec<String> =
        (0..program.keys()).map(|key| format!("{} is row {}", key_name(key), key + 1)).collect();
    let mut text = format!(
        "name: {anomaly}\n\
         about: Seen by `isoscope probe` on {place}: {}. {}.\n\n\
         setup:\n\
         \x20 CREATE TABLE probed (k INTEGER PRIMARY KEY, v INTEGER NOT NULL)\n\
         \x20 INSERT INTO probed VALUES {}\n\n\
         steps:\n",
        history(program, run, false),
        keys.join(", "),
        rows.join(", "),
    );
    let mut conditions = Vec::new();
    for (number, step) in run.steps.iter().enumerate() {
        lines(&mut text, &mut conditions, program, run, number, step);
    }
    for (key, value) in run.last.iter().enumerate() {
        let label = format!("End.{}", key_name(key));
        text += &line(&label, &read(key), &value.to_string());
        conditions.push(format!("{label} = {value}"));
    }
    text += &format!("\nanomaly when:\n  {}\n", conditions.join("\n  and "));
    debug_assert!(text.len() < MAX_BYTES, "a small program is a small script");
    text
}

/// The lines of a step, and what must be true of it.
fn lines(
    text: &mut String,
    conditions: &mut Vec<String>,
    program: &Program,
    run: &Run,
    number: usize,
    step: &Step,
) {
    let name = session_name(program, step.session);
    let name = name.as_str();
    if step.begins {
        *text += &line(name, &Statement::Begin.to_string(), "");
    }
    let expected = |answer: String| match (step.waited, step.result) {
        (false, StepResult::Failed(_)) => "fails".to_owned(),
        (true, StepResult::Failed(_)) => "waits, then fails".to_owned(),
        (true, _) => format!("waits, then {answer}"),
        (false, _) => answer,
    };
    let commits = ends(run, step.txn).is_some_and(|end| end.result == StepResult::Done);
    match step.action {
        Action::Read(key) => {
            let label = format!("{name}.r{number}");
            let value =
                if let StepResult::Value(value) = step.result { value.to_string() } else { String::new() };
            *text += &line(&label, &read(key), &expected(value.clone()));
            if commits {
                conditions.push(format!("{label} = {value}"));
            }
        }
        Action::Write(key, value) => {
            let sql = format!("UPDATE probed SET v = {value} WHERE k = {}", key + 1);
            *text += &line(name, &sql, &expected("1".to_owned()));
        }
        Action::Commit => {
            let fails = matches!(step.result, StepResult::Failed(_));
            *text += &line(name, &Statement::Commit.to_string(), if fails { "fails" } else { "" });
        }
    }
    let failed = matches!(step.result, StepResult::Failed(_));
    if failed && step.action != Action::Commit {
        // It is skipped, and ends the transaction for the runner of scripts.
        *text += &line(name, &Statement::Commit.to_string(), "");
    }
    // The condition is about the last transaction of a session.
    let is_last = !run.steps.iter().any(|later| later.session == step.session && later.txn > step.txn);
    if is_last && (failed || step.action == Action::Commit) {
        conditions.push(format!("{name} {}", if failed { "failed" } else { "committed" }));
    }
}

/// The last step of a transaction.
fn ends(run: &Run, txn: usize) -> Option<&Step> {
    run.steps.iter().rfind(|step| step.txn == txn)
}

/// A session has the name of its first transaction.
fn session_name(program: &Program, session: usize) -> String {
    let before: usize = program.sessions()[..session].iter().map(Vec::len).sum();
    format!("T{}", before + 1)
}

fn read(key: usize) -> String {
    format!("SELECT v FROM probed WHERE k = {}", key + 1)
}

fn line(session: &str, statement: &str, expected: &str) -> String {
    if expected.is_empty() {
        return format!("  {session}: {statement}\n");
    }
    format!("  {:<52} => {expected}\n", format!("{session}: {statement}"))
}

//! Running scripts on a fake database with scripted behaviour.

mod fake;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fake::Fake;
use isoscope_record::Class;
use isoscope_record::script::{
    Options, Prevention, Script, StepDone, StepResult, Transcript, Verdict, parse,
};

const SETUP: &str = "setup:\n  CREATE TABLE one\n  CREATE TABLE two\n  write x 10\n  write y 20\nsteps:\n";

fn script(steps: &str) -> Script {
    let steps: Vec<String> = steps.trim().lines().map(|line| format!("  {}\n", line.trim())).collect();
    let steps = steps.concat();
    let text = format!("{SETUP}{steps}").replace("  when ", "anomaly when: ");
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs the steps and checks that no table and no connection is left.
fn run_on(fake: &Fake, steps: &str) -> Transcript {
    let mut heard = Vec::new();
    let transcript = script(steps).run(fake, &Options::default(), &mut |done| heard.push(done.clone()));
    let transcript = transcript.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(heard, transcript.events, "every event is reported when it happens");
    assert!(fake.state().tables.is_empty());
    assert!(fake.state().open.is_empty());
    transcript
}

/// The events, one per line and without padding.
fn lines(transcript: &Transcript) -> Vec<String> {
    let text = transcript.to_string();
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn run(steps: &str) -> Vec<String> {
    lines(&run_on(&Fake::default(), steps))
}

#[test]
fn a_waiting_step_continues_when_the_other_ends() {
    let found = run("T1: BEGIN
         T2: BEGIN
         T1: write x 11
         T2: write x 12
         T1: read x
         T1: COMMIT
         T2: COMMIT
         T3: read x");
    assert_eq!(
        found,
        [
            "T1 BEGIN",
            "T2 BEGIN",
            "T1 write x 11 => 1",
            "T2 write x 12 => waits",
            "T1 read x => 11",
            "T1 COMMIT",
            "T2 ... write x 12 => 1",
            "T2 COMMIT",
            "T3 read x => 12",
            "T1 committed, T2 committed",
        ]
    );
}

#[test]
fn steps_kept_back_follow_at_once() {
    let found = run("T1: BEGIN
         T2: BEGIN
         T1: write x 11
         T2: write x 12
         T2: write y 22
         T2: COMMIT
         T1: COMMIT
         T1: read y");
    assert_eq!(found[5..9], ["T2 ... write x 12 => 1", "T2 write y 22 => 1", "T2 COMMIT", "T1 read y => 22"]);
}

#[test]
fn a_session_kept_back_may_wait_again() {
    let found = run("A: BEGIN
         B: BEGIN
         C: BEGIN
         A: write x 1
         B: write y 2
         C: write x 3
         C: write y 4
         C: COMMIT
         A: COMMIT
         B: COMMIT");
    let tail =
        ["C ... write x 3 => 1", "C write y 4 => waits", "B COMMIT", "C ... write y 4 => 1", "C COMMIT"];
    assert_eq!(found[7..12], tail);
}

#[test]
fn a_deadlock_aborts_one_and_the_other_continues() {
    let found = run("T1: BEGIN
         T2: BEGIN
         T1: write x 11
         T2: write y 22
         T1: write y 21
         T2: write x 12
         T1: COMMIT
         T2: read x
         T2: COMMIT
         T2: read x
         when T1 committed and T2 failed with deadlock");
    assert_eq!(
        found[4..],
        [
            "T1 write y 21 => waits",
            "T2 write x 12 => fails with deadlock: locked",
            "T1 ... write y 21 => 1",
            "T1 COMMIT",
            "T2 read x => skipped",
            "T2 COMMIT => skipped",
            "T2 read x => 11",
            "T1 committed, T2 failed (deadlock)",
            "the anomaly happened",
        ]
    );
}

#[test]
fn slow_is_not_waiting() {
    let found = run("T1: slow 6\nT2: read x");
    assert_eq!(found, ["T1 slow 6 => 0", "T2 read x => 10"]);
}

#[test]
fn a_failure_outside_a_transaction_affects_only_its_statement() {
    let found = run("T1: fail constraint\nT1: read x\nwhen T1 failed");
    assert_eq!(
        found,
        [
            "T1 fail constraint => fails with constraint: as asked",
            "T1 read x => 10",
            "the anomaly did not happen: a transaction failed (constraint)",
        ]
    );
}

#[test]
fn open_transactions_are_rolled_back_and_others_continue() {
    let found = run("T1: BEGIN
         T1: write x 11
         T2: BEGIN
         T2: write x 12
         T3: write x 13
         when T1 committed or T1 rolled back");
    assert_eq!(
        found[3..],
        [
            "T2 write x 12 => waits",
            "T3 write x 13 => waits",
            "T2 ... write x 12 => 1",
            "T3 ... write x 13 => 1",
            "T1 was left open, T2 was left open",
            "the anomaly did not happen: a step had to wait",
        ]
    );
}

#[test]
fn a_database_that_never_waits_fails_the_step() {
    let fake = Fake { never_waits: true, ..Fake::default() };
    let found = lines(&run_on(
        &fake,
        "T1: BEGIN
         T2: BEGIN
         T1: write x 11
         T2: write x 12
         T2: COMMIT
         T1: COMMIT",
    ));
    assert_eq!(found[3..5], ["T2 write x 12 => fails with lock-timeout: locked", "T2 COMMIT => skipped"]);
}

#[test]
fn unmet_expectations_are_marked() {
    let transcript = run_on(
        &Fake::default(),
        "T1: BEGIN
         T2: BEGIN
         T1: read x => 10
         T1: read y => 21
         T1: write x 11 => 1
         T2: write x 12 => waits, then 1
         T1: COMMIT
         T2: read x => fails
         T2: COMMIT => waits
         T2: fail deadlock => fails with deadlock
         T2: fail deadlock => fails with serialization
         T2: read nothing => none",
    );
    let steps: Vec<usize> = transcript.unexpected().map(|done| done.step).collect();
    assert_eq!(steps, [3, 7, 8, 10]);
    assert!(transcript.to_string().contains("=> 20   (expected: 21)"));
}

#[test]
fn a_step_that_hangs_is_killed_and_cleaned_up() {
    for (what, state) in [("hang", "neither answered nor waiting"), ("stall", "no step can release")] {
        let script =
            script(&format!("T1: BEGIN\nT1: write x 1\nT2: BEGIN\nT2: read x\nT1: {what}\nT2: COMMIT"));
        // On a busy machine another step may take longer than a short limit. A longer one then applies.
        let run = |step_limit: u64| {
            let fake = Fake::default();
            let options = Options { step_limit: Duration::from_millis(step_limit), ..Options::default() };
            let error = script.run(&fake, &options, &mut |_| {}).expect_err(what);
            (fake, error.place.map(|place| place.line), error.failure)
        };
        let mut runs = [100, 1_000, 10_000, 60_000].into_iter().map(run);
        let (fake, _, failure) = runs.find(|(_, line, _)| *line == Some(11)).expect("the step that hangs");
        assert_eq!(failure.class, Class::LockTimeout);
        assert!(failure.message.starts_with(&format!("line 11, T1: `{what}`")), "{failure}");
        assert!(failure.message.contains(state), "{failure}");
        assert!(fake.state().log.contains(&"killed".to_owned()));
        assert!(fake.state().tables.is_empty());
        assert!(fake.state().open.is_empty());
    }
}

#[test]
fn a_limit_may_be_none() {
    let options = Options { step_limit: Duration::MAX, run_limit: Duration::MAX, ..Options::default() };
    assert!(script("T1: slow 3").run(&Fake::default(), &options, &mut |_| {}).is_ok());
}

#[test]
fn all_steps_together_have_a_limit() {
    let options = Options { run_limit: Duration::ZERO, ..Options::default() };
    let failure = script("T1: slow 1000").run(&Fake::default(), &options, &mut |_| {}).expect_err("no time");
    assert_eq!(failure.failure.class, Class::LockTimeout);
}

#[test]
fn a_run_can_be_stopped() {
    for steps in
        ["T1: BEGIN\nT1: write x 1\nT2: read x\nT1: hang", "T2: read x\nT1: stall", "T2: read x\nT1: read x"]
    {
        let fake = Fake::default();
        let stop = Arc::new(AtomicBool::new(false));
        let options = Options { stop: Some(Arc::clone(&stop)), ..Options::default() };
        let on_step = &mut |done: &StepDone| {
            if done.session == "T2" {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let failure = script(steps).run(&fake, &options, on_step).expect_err(steps);
        assert_eq!(failure.failure.message, "stopped");
        assert!(fake.state().tables.is_empty());
        assert!(fake.state().open.is_empty());
    }
}

#[test]
fn tables_are_dropped_under_the_name_in_the_script() {
    let fake = Fake::default();
    let setup = [
        ("CREATE TABLE a(x INT)", Some("a")),
        ("create  table b (x INT)", Some("b")),
        ("CREATE UNLOGGED TABLE s.c (x INT)", Some("s.c")),
        ("CREATE TABLE \"my (own)\".`d e`(x INT)", Some("\"my (own)\".`d e`")),
        ("CREATE TABLE IF NOT EXISTS f (x INT)", None),
        ("CREATE INDEX g ON a (x)", None),
    ];
    for (sql, _) in setup {
        fake.state().anything.insert(sql.to_owned());
    }
    let statements: Vec<String> = setup.iter().map(|(sql, _)| format!("  {sql}\n")).collect();
    let statements = statements.concat();
    let script = parse(&format!("setup:\n{statements}steps:\n  T1: read x\n")).unwrap();
    let made: Vec<&str> = setup.iter().rev().filter_map(|(_, table)| *table).collect();
    for table in &made {
        fake.state().anything.insert(format!("DROP TABLE {table}"));
    }
    script.run(&fake, &Options::default(), &mut |_| {}).unwrap();
    let log = fake.state().log.clone();
    let drops: Vec<&str> = log.iter().filter_map(|sql| sql.strip_prefix("DROP TABLE ")).collect();
    assert_eq!(drops, made);
}

#[test]
fn an_existing_table_is_left_alone() {
    let fake = Fake::default();
    fake.state().tables.insert("two".to_owned());
    let failure = script("T1: read x").run(&fake, &Options::default(), &mut |_| {}).expect_err("no setup");
    assert!(failure.failure.message.starts_with("setup: `CREATE TABLE two`"), "{failure}");
    assert_eq!(fake.state().tables.iter().collect::<Vec<_>>(), ["two"]);
    assert!(fake.state().open.is_empty());
}

#[test]
fn tables_are_dropped_when_a_session_gets_no_connection() {
    let fake = Fake { limit: 2, ..Fake::default() };
    let failure = script("T1: read x\nT2: read x").run(&fake, &Options::default(), &mut |_| {});
    assert!(failure.expect_err("one too few").failure.message.starts_with("connecting for session T2"));
    assert!(fake.state().tables.is_empty());
}

#[test]
fn teardown_runs_after_all_sessions_and_before_tables_are_dropped() {
    let fake = Fake::default();
    let text = "setup:\n  CREATE TABLE one\nsteps:\n  T1: fail other\nteardown:\n  write z 1\n  nonsense\n  write z 2\n";
    let failure = parse(text).unwrap().run(&fake, &Options::default(), &mut |_| {}).expect_err("nonsense");
    assert!(failure.failure.message.starts_with("teardown: `nonsense`"), "{failure}");
    let log = fake.state().log.clone();
    assert_eq!(
        log,
        ["CREATE TABLE one", "fail other", "write z 1", "nonsense", "write z 2", "DROP TABLE one"]
    );
}

#[test]
fn a_thread_that_panics_is_a_lost_connection() {
    let transcript = run_on(&Fake::default(), "T1: BEGIN\nT1.it: panic\nT1: COMMIT\nwhen T1 committed");
    assert!(
        matches!(transcript.result("T1", "it"), Some(StepResult::Failed(f)) if f.class == Class::Connection)
    );
    assert!(matches!(transcript.verdict, Some(Verdict::Undecided(_))));
}

/// The verdict of a condition after these steps.
fn verdict(condition: &str) -> Verdict {
    let steps = "T1: BEGIN
         T2: BEGIN
         T1.x: read x
         T1.y: read y
         T1.gone: read z
         T1.write: write x 11
         T2.write: write x 12
         T1: ROLLBACK
         T2.bad: fail serialization
         T2.late: read x
         T2: COMMIT";
    let transcript = run_on(&Fake::default(), &format!("{steps}\nwhen {condition}"));
    transcript.verdict.expect("there is a condition")
}

#[test]
fn conditions_are_evaluated() {
    for condition in [
        "T1.x = 10",
        "T1.x = '10'",
        "T1.x != 11",
        "T1.x <> T1.y",
        "T1.x < T1.y and T1.y > 19.5 and T1.x <= 10 and 10 >= T1.x",
        "T1.x contains 10",
        "(10), (20) contains T1.y",
        "T1.gone = none",
        "T1.gone != 1",
        "T1.write = 1",
        "T2.write waited and not T1.write waited",
        "T2.write answered",
        "T2.bad failed and T2.bad failed with serialization and not T2.bad failed with deadlock",
        "T2.late skipped",
        "T1 rolled back and not T1 committed",
        "T2 failed and T2 failed with serialization",
        "T1 committed or (T1.x = 10 and not (T1.y = 21))",
        // A step without an answer is neither equal nor unequal to anything.
        "not T2.late = 11 and not T2.late != 11",
    ] {
        assert_eq!(verdict(condition), Verdict::Happened, "{condition}");
    }
    for condition in ["T1.x = 10, 10", "T1.x = (10, 10)", "T1.gone = null", "T1.gone < 1", "T2 rolled back"] {
        let failed = Prevention::Failed(Class::Serialization);
        assert_eq!(verdict(condition), Verdict::Prevented(failed), "{condition}");
    }
}

#[test]
fn how_an_anomaly_was_prevented() {
    let verdict = |steps: &str| run_on(&Fake::default(), steps).verdict;
    assert_eq!(verdict("T1: read x"), None);
    assert_eq!(verdict("T1.a: read x\nwhen T1.a = 1"), Some(Verdict::Prevented(Prevention::Unseen)));
    assert!(matches!(verdict("T1: fail other\nwhen T1 failed"), Some(Verdict::Undecided(_))));
}

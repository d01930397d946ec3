//! Every class, and every failure, on small applications that are written for it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::sync::atomic::{AtomicU64, Ordering};

use isoscope_application::{Application, Books, Call, Column, Contents, Operations, Stopped, Table, Tables};
use isoscope_certificate::{Limit, Unknown, Verdict};
use isoscope_levels::Level;
use isoscope_predict::{Boundary, Observed, Settings, Unwatched, predict};
use isoscope_replay::{End, Trouble};
use isoscope_validate::{Class, Difference, Failure, Recorded, Run, Validation, baseline, validate};
use isoscope_verify::verify;
use isoscope_workload::Dice;

static TABLE: Table = Table {
    name: "isoscope_cells",
    columns: &[
        Column::constant("id", "BIGINT NOT NULL PRIMARY KEY"),
        Column::changing("v", "BIGINT NOT NULL"),
    ],
    key: &["id"],
    indexes: &[],
    is_fixed: true,
};

/// A transaction of an application: its session and number, and what it can do.
type Program = fn(Call, &mut dyn Operations) -> Result<bool, Stopped>;

/// Four cells that are 0, and one program.
struct Cells(Program);

fn get(ops: &mut dyn Operations, id: i64) -> Result<i64, Stopped> {
    Ok(ops.row(&TABLE, &["v"], &[id.into()])?.int(0))
}

fn put(ops: &mut dyn Operations, id: i64, value: i64) -> Result<bool, Stopped> {
    ops.change(&TABLE, &[id.into()], &[("v", value.into())])?;
    Ok(true)
}

impl Application for Cells {
    fn name(&self) -> &'static str {
        "cells"
    }

    fn about(&self) -> &'static str {
        "four cells"
    }

    fn tables(&self) -> Vec<Contents> {
        vec![Contents { table: &TABLE, rows: (0..4i64).map(|id| vec![id.into(), 0i64.into()]).collect() }]
    }

    fn parameters(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn programs(&self) -> &'static [&'static str] {
        &["Only"]
    }

    fn draw(&self, _call: Call, _dice: &mut Dice) -> usize {
        0
    }

    fn transact(
        &self,
        _program: usize,
        call: Call,
        _dice: &mut Dice,
        ops: &mut dyn Operations,
    ) -> Result<bool, Stopped> {
        (self.0)(call, ops)
    }

    fn rules(&self, tables: &mut dyn Tables, _books: Books) -> Result<Vec<String>, Stopped> {
        let rows = tables.rows(&TABLE, &["v"])?;
        Ok(rows.iter().filter(|row| row.int(0) == 1).map(|_| "a cell is 1".to_owned()).collect())
    }
}

const FIRST: Call = Call { session: 0, number: 0 };
const SECOND: Call = Call { session: 1, number: 0 };

/// Every transaction adds 1 to a cell.
fn count(_: Call, ops: &mut dyn Operations) -> Result<bool, Stopped> {
    let value = get(ops, 0)?;
    put(ops, 0, value + 1)
}

/// Records calls of a program, predicts the only anomaly, and executes it again with another program.
fn replayed(program: Program, again: Program, calls: &[Call], settings: &Settings, at: Level) -> Validation {
    let (application, again) = (Cells(program), Cells(again));
    let recorded = Recorded::new(&application, 0, calls.iter().copied()).unwrap();
    let observed = Observed::new(&recorded.history, &Unwatched).unwrap();
    let predictions = predict(&observed, settings, &Unwatched).unwrap();
    assert_eq!(predictions.found.len(), 1);
    let run = recorded.run(&again, 0);
    validate(&predictions.found[0], &run, &Settings { level: at, ..*settings }, &Unwatched)
}

/// The same, with the same program and level.
fn classified(program: Program, calls: &[Call], settings: &Settings) -> Validation {
    replayed(program, program, calls, settings, settings.level)
}

fn causal() -> Settings {
    Settings::new(Level::Causal)
}

/// The evidence of a class, verified here once more.
fn confirmed(validation: &Validation, is_violated: bool) {
    let evidence = validation.evidence.as_ref().unwrap();
    assert!(matches!(evidence.at_level.verdict, Verdict::Holds(_)));
    assert_eq!(matches!(evidence.at_target.verdict, Verdict::Violated(_)), is_violated);
    assert_eq!(matches!(evidence.at_target.verdict, Verdict::Holds(_)), !is_violated);
    verify(&evidence.history, &evidence.at_level).unwrap();
    verify(&evidence.history, &evidence.at_target).unwrap();
}

#[test]
fn a_lost_update_is_validated() {
    let validation = classified(count, &[FIRST, SECOND], &causal());
    assert_eq!(validation.class, Class::Validated);
    assert_eq!((validation.differences.len(), validation.ran.len()), (0, 2));
    assert_eq!(validation.broken_rules, ["a cell is 1"]);
    confirmed(&validation, true);
}

/// The paper's figure 9: who withdraws from an empty account rolls back.
#[test]
fn a_transaction_that_rolls_back_is_harmless() {
    fn transfer(call: Call, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let balance = get(ops, 0)?;
        if call == FIRST {
            put(ops, 0, balance + 60)
        } else if balance < 50 {
            Ok(false)
        } else {
            put(ops, 0, balance - 50)
        }
    }
    let validation = classified(transfer, &[FIRST, SECOND], &causal());
    assert_eq!(validation.class, Class::Harmless);
    assert_eq!(validation.differences, [Difference::End { call: SECOND, end: End::RolledBack }]);
    confirmed(&validation, false);
}

#[test]
fn other_writes_diverge_and_may_still_violate() {
    fn odd(call: Call, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let value = get(ops, 0)?;
        if call == SECOND && value == 0 {
            put(ops, 3, 7)?;
        }
        put(ops, 0, value + 1)
    }
    let validation = classified(odd, &[FIRST, SECOND], &causal());
    assert_eq!(validation.class, Class::StillViolating);
    let unforeseen = vec!["cells/3".to_owned()];
    assert_eq!(
        validation.differences,
        [Difference::Writes { call: SECOND, missing: Vec::new(), unforeseen }]
    );
    confirmed(&validation, true);
}

#[test]
fn other_reads_diverge() {
    fn other_cell(call: Call, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let value = get(ops, 0)?;
        let place = if call == SECOND && value == 0 { 2 } else { 1 };
        get(ops, place)?;
        put(ops, 0, value + 1)
    }
    let validation = classified(other_cell, &[FIRST, SECOND], &causal());
    assert_eq!(validation.class, Class::StillViolating);
    let [Difference::Read { call: SECOND, predicted: Some((predicted, _)), happened: Some((happened, _)) }] =
        &validation.differences[..]
    else {
        panic!("{:?}", validation.differences);
    };
    assert_eq!((predicted.as_str(), happened.as_str()), ("cells/1", "cells/2"));
    let text = validation.differences[0].to_string();
    assert_eq!(
        text,
        "transaction 0 of session 1 had a read of cells/2 from the initial state; a read of cells/1 from the initial state was predicted"
    );
}

/// A long fork: each of two observers sees one writer and misses the other. They are cut at the read that misses, and write
/// afterwards.
#[test]
fn what_follows_a_cut_is_not_predicted() {
    fn observers(call: Call, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let session = i64::from(call.session);
        if session < 2 {
            return put(ops, session, 9);
        }
        get(ops, 3 - session)?;
        get(ops, session - 2)?;
        put(ops, session, 5)
    }
    let strict = Settings { boundary: Boundary::Strict, ..causal() };
    let calls = [0, 1, 3, 2].map(|session| Call { session, number: 0 });
    let validation = classified(observers, &calls, &strict);
    assert_eq!(validation.class, Class::Validated, "{:?}", validation.differences);
    // Both observers ran to their end, and what they wrote is part of what happened.
    assert_eq!(validation.ran.len(), 4);
    assert!(validation.ran.iter().all(|ran| ran.end == End::Committed && ran.writes().count() == 1));
    confirmed(&validation, true);
}

#[test]
fn a_crash_is_a_failure() {
    fn fragile(call: Call, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let value = get(ops, 0)?;
        assert!(call == FIRST || value > 0, "nothing there");
        put(ops, 0, value + 1)
    }
    let validation = classified(fragile, &[FIRST, SECOND], &causal());
    let Class::Failed(Failure::Trouble(Trouble::Crashed { call: SECOND, message })) = &validation.class
    else {
        panic!("{:?}", validation.class);
    };
    assert!(message.contains("nothing there"));
    assert!(validation.evidence.is_none());
}

/// At read committed, a session may miss its own write. The store at causal does not serve such a read.
#[test]
fn an_illegal_choice_is_a_failure() {
    fn own(call: Call, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        if call.number == 0 { put(ops, 0, 3) } else { get(ops, 0).map(|_| true) }
    }
    let calls = [FIRST, Call { session: 0, number: 1 }];
    let read_committed = Settings::new(Level::ReadCommitted);
    assert_eq!(classified(own, &calls, &read_committed).class, Class::Validated);
    let validation = replayed(own, own, &calls, &read_committed, Level::Causal);
    assert!(matches!(validation.class, Class::Failed(Failure::Trouble(Trouble::Illegal { .. }))));
}

#[test]
fn an_execution_that_shows_nothing_is_a_failure() {
    fn nothing(_: Call, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        get(ops, 0).map(|_| false)
    }
    fn reads_only(_: Call, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        get(ops, 0).map(|_| true)
    }
    let validation = replayed(count, nothing, &[FIRST, SECOND], &causal(), Level::Causal);
    assert_eq!(validation.class, Class::Failed(Failure::Trouble(Trouble::Empty)));
    assert_eq!(validation.differences.len(), 2);
    let validation = replayed(count, reads_only, &[FIRST, SECOND], &causal(), Level::Causal);
    let unknown = Failure::Unknown { level: Level::Causal, why: Unknown::NothingToCheck };
    assert_eq!(validation.class, Class::Failed(unknown));
}

/// The second transaction reads what the first wrote, and the third misses both.
#[test]
fn a_writer_that_no_longer_writes_is_a_failure() {
    fn chain(call: Call, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        if call == FIRST {
            return put(ops, 1, 4);
        }
        get(ops, 1)?;
        count(call, ops)
    }
    fn without_first(call: Call, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        if call == FIRST { get(ops, 1).map(|_| true) } else { chain(call, ops) }
    }
    // The second and third read cell 1 from the first.
    let calls = [FIRST, SECOND, Call { session: 2, number: 0 }];
    assert_eq!(classified(chain, &calls, &causal()).class, Class::Validated);
    let validation = replayed(chain, without_first, &calls, &causal(), Level::Causal);
    let is_told = |trouble: &Trouble| matches!(trouble, Trouble::NotWritten { key, .. } if key == "cells/1");
    let is_failed = matches!(&validation.class, Class::Failed(Failure::Trouble(trouble)) if is_told(trouble));
    assert!(is_failed, "{:?}", validation.class);
}

#[test]
fn a_run_that_does_not_know_its_calls_is_a_failure() {
    let application = Cells(count);
    let recorded = Recorded::new(&application, 0, [FIRST, SECOND]).unwrap();
    let observed = Observed::new(&recorded.history, &Unwatched).unwrap();
    let prediction = &predict(&observed, &causal(), &Unwatched).unwrap().found[0];
    let class = |calls: Vec<_>| {
        validate(prediction, &Run { application: &application, seed: 0, calls }, &causal(), &Unwatched).class
    };
    let (one, two) = (recorded.calls[0], recorded.calls[1]);
    assert_eq!(class(vec![one, two]), Class::Validated);
    let Class::Failed(failure @ Failure::Missing { .. }) = class(vec![one]) else {
        panic!("a call is missing")
    };
    assert!(failure.to_string().contains("transaction 0 of session 1"), "{failure}");
    assert_eq!(class(vec![one, (two.0, one.1)]), Class::Failed(Failure::Trouble(Trouble::Again(one.1))));
    // Calls in any order: the serial order of the run orders them.
    let calls = recorded.calls.iter().copied().collect();
    assert_eq!(Run::new(&application, 0, &observed, &calls).calls, recorded.calls);
}

/// Reaches the time limit at the given question.
struct Questions {
    left: AtomicU64,
    asked: AtomicU64,
}

impl Questions {
    fn new(left: u64) -> Questions {
        Questions { left: AtomicU64::new(left), asked: AtomicU64::new(0) }
    }
}

impl isoscope_check::Watch for Questions {
    fn limit(&self) -> Option<Limit> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.is_err().then_some(Limit::Time)
    }
}

#[test]
fn a_limit_at_any_question_is_a_failure() {
    let application = Cells(count);
    let recorded = Recorded::new(&application, 0, [FIRST, SECOND]).unwrap();
    let observed = Observed::new(&recorded.history, &Unwatched).unwrap();
    let prediction = &predict(&observed, &causal(), &Unwatched).unwrap().found[0];
    let run = recorded.run(&application, 0);
    let all = Questions::new(u64::MAX);
    assert_eq!(validate(prediction, &run, &causal(), &all).class, Class::Validated);
    let questions = all.asked.load(Ordering::Relaxed);
    assert!(questions > 5);
    let mut limited = 0;
    for left in 0..questions {
        let class = validate(prediction, &run, &causal(), &Questions::new(left)).class;
        // The last questions may be of a stage that has its answer.
        assert!(matches!(class, Class::Failed(Failure::Limit(Limit::Time)) | Class::Validated), "{class:?}");
        limited += u64::from(class != Class::Validated);
    }
    assert!(limited * 2 > questions, "{limited} of {questions}");
    let (level, target) = (Level::Causal, Level::Serializable);
    let stopped = baseline(&run, level, target, 5, 1, &Questions::new(1));
    assert_eq!((stopped.runs, stopped.limit), (0, Some(Limit::Time)));
    let some = baseline(&run, level, target, 1000, 1, &Questions::new(10 * questions));
    assert!((1..1000).contains(&some.runs) && some.limit == Some(Limit::Time));
}

#[test]
fn random_executions_are_counted() {
    let application = Cells(count);
    let recorded = Recorded::new(&application, 0, [FIRST, SECOND]).unwrap();
    let run = recorded.run(&application, 0);
    let at = |level, seed| baseline(&run, level, Level::Serializable, 40, seed, &Unwatched);
    // The second transaction misses the first in about half of the executions.
    let causal = at(Level::Causal, 1);
    assert_eq!((causal.runs, causal.failures.len(), causal.limit), (40, 0, None));
    assert_eq!(causal.violating + causal.satisfying, 40);
    assert!((10..=30).contains(&causal.violating), "{causal:?}");
    assert_eq!(causal.breaking, causal.violating);
    assert_eq!(causal.rules, [("a cell is 1".to_owned(), causal.violating)]);
    assert!((causal.share() - causal.violating as f64 / 40.0).abs() < 1e-9);
    assert_eq!(at(Level::Causal, 1), causal);
    assert_ne!(at(Level::Causal, 2).violating, 0);
    assert_eq!(at(Level::Snapshot, 1).violating, 0);
    assert_eq!(at(Level::Serializable, 1).satisfying, 40);
    let reads = Cells(|_, ops| get(ops, 0).map(|_| true));
    let idle = recorded.run(&reads, 0);
    let idle = baseline(&idle, Level::Causal, Level::Serializable, 3, 1, &Unwatched);
    assert_eq!((idle.runs, idle.nothing, idle.failures.len()), (3, 3, 0));
    let unsupported = at(Level::AdyaPl1, 1);
    assert_eq!((unsupported.runs, unsupported.failures.len()), (40, 40));
    assert!(unsupported.share().abs() < 1e-9);
}

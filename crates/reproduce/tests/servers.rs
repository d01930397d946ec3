//! Predictions from runs at `serializable`, reproduced on real servers.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use isoscope_application::{self as application, Bank, BankSpec, Call, SmallBank, SmallBankSpec};
use isoscope_formats::{Format, Input, ReadOptions, read};
use isoscope_history::notation::ValueText;
use isoscope_history::{History, Txn};
use isoscope_levels::{Anomaly, Level};
use isoscope_log::call_of;
use isoscope_predict::{
    Boundary, Engine, Executions, Observed, Prediction, Predictions, Settings, Unwatched, predict,
};
use isoscope_record::script::{self, Options as RunOptions};
use isoscope_record::workload::Hosted;
use isoscope_record::{
    Class, Database, Limits, Monitor, Options, Recording, Server, ServerKind, Subject, Target, Workload,
};
use isoscope_reproduce::{Outcome, Report, Reproduction, reproduce};
use isoscope_validate::{Run, StorePrograms};
use rustc_hash::FxHashMap;

const SESSIONS: u32 = 3;
const TXNS: u64 = 12;

/// A file in memory.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn start(kind: ServerKind) -> Server {
    Server::start(kind, &[] as &[&str]).unwrap_or_else(|error| panic!("{error}"))
}

fn open(server: &Server, isolation: &str, options: &Options) -> Box<dyn Database> {
    Target::parse(&server.url()).unwrap().open(Some(isolation), options).unwrap()
}

/// A database for scripts.
fn at(server: &Server, isolation: &str) -> Box<dyn Database> {
    let limits = script::connection_limits(Target::parse(&server.url()).unwrap().vendor());
    open(server, isolation, &Options { timestamps: false, ..limits })
}

/// Records a run at `serializable`.
fn record<A: application::Application + 'static>(server: &Server, application: A, seed: u64) -> History {
    let page = Page::default();
    let database = open(server, "serializable", &Options::default());
    let mut recording = Recording {
        subject: Subject::Database(Arc::from(database)),
        workload: Workload::Application(Arc::new(Hosted::of(application))),
        sessions: SESSIONS,
        seed,
        limits: Limits { txns: Some(TXNS), retries: 20, ..Limits::default() },
        faults: Vec::new(),
        server: None,
        keep_tables: false,
    };
    let summary = recording.run(Box::new(page.clone()), None, &Monitor::new(SESSIONS as usize));
    assert!(summary.trouble.is_empty(), "{:?}", summary.trouble);
    let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    let options = ReadOptions { format: Some(Format::Native), ..ReadOptions::default() };
    read(&Input::text("recorded", &text), &options).unwrap().history
}

fn small_bank(mix: [u32; 6]) -> SmallBank {
    SmallBank::new(SmallBankSpec { customers: 2, mix, ..SmallBankSpec::default() }).unwrap()
}

/// A bank whose customers mostly withdraw what both accounts cover together.
fn bank() -> Bank {
    let mix = [1, 1, 1, 6, 0];
    Bank::new(BankSpec { accounts: 4, initial: 1000, mix, ..BankSpec::default() }).unwrap()
}

/// The calls of the transactions, from their names.
fn calls(history: &History) -> FxHashMap<Txn, Call> {
    let call = |txn: Txn| {
        let name = ValueText(history, history.txn_name(txn)).to_string();
        let (session, number) = call_of(name.trim_matches('"'), SESSIONS)?;
        Some((txn, Call { session, number }))
    };
    history.txns().filter_map(call).collect()
}

fn predicted(history: &History, engine: Engine) -> Predictions {
    let observed = Observed::new(history, &Unwatched).unwrap();
    predict(&observed, &Settings::for_engine(engine), &Unwatched).unwrap()
}

fn run(reproduction: &Reproduction, database: &dyn Database) -> Report {
    reproduce(reproduction, database, Level::Serializable, &RunOptions::default(), &mut |_| {})
}

/// Which predictions a test is about.
type IsIt = dyn Fn(&Prediction) -> bool;

fn is_lost_update(prediction: &Prediction) -> bool {
    prediction.anomaly == Anomaly::LostUpdate
}

/// A transaction that only reads is one of the transactions without which nothing is wrong.
fn has_reader(prediction: &Prediction) -> bool {
    let history = &prediction.history;
    history.txns().any(|txn| history.ops_of(txn).all(|op| op.kind.is_read()))
}

fn is_write_skew(prediction: &Prediction) -> bool {
    prediction.anomaly == Anomaly::WriteSkew
}

/// The scripts of the predictions of an anomaly. With the value-aware boundary, the programs do what is predicted.
fn scripts(history: &History, engine: Engine, run: &Run<'_>, is_it: &IsIt) -> Vec<Reproduction> {
    let programs = StorePrograms::new(run, history).unwrap();
    let executions = Executions::explore(history, &programs, &Unwatched).unwrap();
    let run = run.with_forms(&executions);
    let settings = Settings { boundary: Boundary::ValueAware, ..Settings::for_engine(engine) };
    let predictions = predict(&executions.observed(), &settings, &Unwatched).unwrap();
    let found = predictions.found.iter().filter(|one| is_it(one));
    found.map(|one| Reproduction::new(one, engine, &run).unwrap_or_else(|it| panic!("{it}"))).collect()
}

/// Whether an anomaly happened. Every answer must be as predicted. Equal values can hide an anomaly: a transaction that
/// adds 0 writes the value that it read, and a serial order may then explain all answers.
fn is_reproduced(reproductions: &[Reproduction], database: &dyn Database) -> bool {
    let mut happened = false;
    for reproduction in reproductions {
        let report = run(reproduction, database);
        let transcript = report.transcript.as_ref();
        let is_as_predicted = transcript.is_some_and(|it| it.unexpected().next().is_none());
        let shown = transcript.map_or(String::new(), ToString::to_string);
        let is_harmless = report.outcome == Outcome::Diverged && is_as_predicted;
        let reason = format!("{}: {}\n{}\n{shown}", report.version, report.outcome, reproduction.text);
        assert!(report.outcome == Outcome::Reproduced || is_harmless, "{reason}");
        happened |= !is_harmless;
    }
    happened
}

fn assert_refused(reproductions: &[Reproduction], database: &dyn Database) {
    for reproduction in reproductions {
        match run(reproduction, database).outcome {
            Outcome::Refused { class: Class::Serialization, code, .. } => {
                assert_eq!(code.as_deref(), Some("40001"), "{}", reproduction.text);
            }
            other => panic!("{other}\n{}", reproduction.text),
        }
    }
}

/// Looks for an anomaly in runs of several seeds, until `each` has seen it happen.
fn search<A: application::Application + 'static>(
    server: &Server,
    make: &dyn Fn() -> A,
    engine: Engine,
    is_it: &IsIt,
    mut each: impl FnMut(&History, &Run<'_>, &[Reproduction]) -> bool,
) {
    for seed in 1..=8 {
        let history = record(server, make(), seed);
        let application = make();
        let observed = Observed::new(&history, &Unwatched).unwrap();
        let run = Run::new(&application, seed, &observed, &calls(&history));
        let found = scripts(&history, engine, &run, is_it);
        if !found.is_empty() && each(&history, &run, &found) {
            return;
        }
    }
    panic!("no such anomaly was predicted and happened for {engine}");
}

#[test]
fn a_lost_update_of_smallbank() {
    let (postgres, mariadb) = (start(ServerKind::Postgres), start(ServerKind::MariaDb));
    let make = || small_bank([1; 6]);
    search(&postgres, &make, Engine::PgRc, &is_lost_update, |history, run, found| {
        assert_refused(found, &*at(&postgres, "repeatable-read"));
        let happens_on_mariadb = |engine: Engine| {
            let found = scripts(history, engine, run, &is_lost_update);
            assert!(!found.is_empty(), "{engine}");
            is_reproduced(&found, &*at(&mariadb, engine.isolation()))
        };
        is_reproduced(found, &*at(&postgres, "read-committed"))
            && happens_on_mariadb(Engine::MariadbRc)
            && happens_on_mariadb(Engine::MariadbRr)
    });
}

#[test]
fn the_read_only_anomaly_of_smallbank() {
    let postgres = start(ServerKind::Postgres);
    let make = || small_bank([2, 0, 1, 0, 1, 0]);
    search(&postgres, &make, Engine::PgRr, &has_reader, |_, _, found| {
        assert_refused(found, &*at(&postgres, "serializable"));
        is_reproduced(found, &*at(&postgres, "repeatable-read"))
    });
}

#[test]
fn the_write_skew_of_the_bank() {
    let postgres = start(ServerKind::Postgres);
    search(&postgres, &bank, Engine::PgRr, &is_write_skew, |_, _, found| {
        assert_refused(found, &*at(&postgres, "serializable"));
        is_reproduced(found, &*at(&postgres, "repeatable-read"))
    });
}

/// Every program of this mix writes what it read, so nothing is possible at snapshot isolation.
#[test]
fn nothing_is_predicted_for_a_robust_mix() {
    let postgres = start(ServerKind::Postgres);
    let history = record(&postgres, small_bank([0, 1, 1, 1, 0, 1]), 1);
    let predictions = predicted(&history, Engine::PgRr);
    assert!(predictions.found.is_empty() && predictions.limit.is_none() && !predictions.more);
    // The level of the test matters: at read committed, something is possible.
    assert!(!predicted(&history, Engine::PgRc).found.is_empty());
}

/// A write skew of two transactions, in which the first does `extra` after its read, or reads with `suffix`.
fn skew(suffix: &str, extra: &str) -> script::Script {
    let text = format!(
        "setup:
  CREATE TABLE t (k VARCHAR(9) NOT NULL PRIMARY KEY, v BIGINT NOT NULL, version BIGINT NOT NULL)
  INSERT INTO t (k, v, version) VALUES ('x', 0, 0), ('y', 0, 0)
steps:
  B: BEGIN
  B.r: SELECT v FROM t WHERE k = 'y' => 0
  A: BEGIN
  A.r: SELECT v FROM t WHERE k = 'x' {suffix} => 0
{extra}
  A: UPDATE t SET v = 1 WHERE k = 'y' => 1
  A: COMMIT
  B: UPDATE t SET v = 2 WHERE k = 'x' => 1
  B: COMMIT
anomaly when:
  A.r = 0 and B.r = 0 and A committed and B committed
"
    );
    script::parse(&text).unwrap()
}

/// The fix that is suggested works where it is suggested, and what is said not to be enough is not.
#[test]
fn what_prevents_a_write_skew() {
    let postgres = start(ServerKind::Postgres);
    let mariadb = Server::start(ServerKind::MariaDb, &["innodb_snapshot_isolation=ON"]).unwrap();
    let update = |what: &str| format!("  A: UPDATE t SET {what} WHERE k = 'x'");
    let happens = |server: &Server, script: &script::Script| {
        let transcript =
            script.run(&*at(server, "repeatable-read"), &RunOptions::default(), &mut |_| {}).unwrap();
        transcript.verdict == Some(script::Verdict::Happened)
    };
    for server in [&postgres, &mariadb] {
        assert!(happens(server, &skew("", "")));
        assert!(happens(server, &skew("FOR UPDATE", "")), "a lock leaves no trace");
        assert!(!happens(server, &skew("", &update("version = version + 1"))));
    }
    // On MariaDB, an update that changes nothing leaves no trace either.
    assert!(!happens(&postgres, &skew("", &update("v = v"))));
    assert!(happens(&mariadb, &skew("", &update("v = v"))));
}

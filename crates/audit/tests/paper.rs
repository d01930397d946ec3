//! The paper's models against the brute-force judge, on random logs, and the corpus.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on should not; figures are for reading"
)]

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use isoscope_audit::{Blame, Heuristic, Model, Options, OrderBy, Place, Verdict, audit};
use isoscope_audit_oracle::fixtures::figure_8;
use isoscope_audit_oracle::generate::{Size, any, correct};
use isoscope_audit_oracle::{self as oracle, Random, TinyLog};
use isoscope_history::Outcome;
use isoscope_log::Class;

fn order_of(order: oracle::Order) -> OrderBy {
    match order {
        oracle::Order::Solve => OrderBy::Solve,
        oracle::Order::Timestamps => OrderBy::Timestamps,
    }
}

/// The verdict in the judge's words; `None` if it is undecided.
fn verdict(log: &TinyLog, model: oracle::Model, order: oracle::Order) -> Option<oracle::Verdict> {
    verdict_without(log, model, order, &[])
}

fn verdict_without(
    log: &TinyLog,
    model: oracle::Model,
    order: oracle::Order,
    without: &[Heuristic],
) -> Option<oracle::Verdict> {
    let mut options = Options::new(Model::named(model.name()).unwrap());
    options.order = order_of(order);
    options.without = without.iter().copied().collect();
    match audit(&log.to_log(model), &options, &()).unwrap().verdict {
        Verdict::Explained(_) => Some(oracle::Verdict::Explained),
        Verdict::Violated(violation) => Some(oracle::Verdict::Violated(violation.entry - TinyLog::LOADED)),
        Verdict::Undecided(_) => None,
    }
}

/// The order of an explanation at paper-s, executed one transaction after another, gives every answer.
#[test]
fn orders_can_be_replayed() {
    let mut replayed = 0;
    for seed in 0..1_500 {
        for order in [OrderBy::Solve, OrderBy::Timestamps] {
            let log = any(oracle::Model::PaperS, Size::TINY, &mut Random::new(700_000 + seed));
            // In SQLite a transaction goes on after an error, as some of these do.
            let log = log.to_log(oracle::Model::Sqlite);
            let mut options = Options::new(Model::PaperS);
            options.order = order;
            let Verdict::Explained(explanation) = audit(&log, &options, &()).unwrap().verdict else {
                continue;
            };
            let settings = isoscope_sql::Settings::of(log.header.vendor).unwrap();
            let mut database = isoscope_sql::Database::new(settings.clone());
            for text in &log.header.schema {
                database.run(text, &[]).unwrap();
            }
            let mut entries: Vec<_> = log.entries[..TinyLog::LOADED].iter().collect();
            for place in &explanation.places {
                let Place::Commit(entry) = *place else { panic!("{place:?}") };
                let txn = &log.entries[entry].txn;
                entries.extend(log.entries.iter().filter(|other| other.txn == *txn));
            }
            for entry in entries {
                let is_lost = entry.ending.is_some_and(|ending| ending.outcome == Outcome::Unknown);
                let is_refused =
                    entry.answer.as_ref().is_err_and(|failure| failure.class != Class::Constraint);
                if is_refused && !is_lost {
                    continue;
                }
                let result = database.run(&entry.sql, &entry.params);
                match (&entry.answer, result) {
                    _ if is_lost => {}
                    (Ok(answer), Ok(effect)) => {
                        let found =
                            isoscope_sql::answers_match(&effect.reply, answer, &effect.doubts, &settings);
                        assert_eq!(found, isoscope_sql::Match::Yes, "seed {seed}: {}", entry.sql);
                    }
                    (Err(_), Err(_)) => {}
                    (Err(failure), Ok(_)) => panic!("seed {seed}: {failure}"),
                    (Ok(_), Err(error)) => panic!("seed {seed}: {error}: {}", entry.sql),
                }
            }
            replayed += 1;
        }
    }
    assert!(replayed > 1_000, "{replayed}");
}

/// A cap may leave a log undecided, and never changes a verdict.
#[test]
fn caps_do_not_change_verdicts() {
    let mut undecided = 0;
    for seed in 0..600 {
        for model in [oracle::Model::PaperRc, oracle::Model::PaperSi, oracle::Model::PaperSsi] {
            let log = any(model, Size::TINY, &mut Random::new(500_000 + seed));
            let expected = oracle::judge(&log, model, oracle::Order::Solve);
            for cap in [1, 2, 4] {
                let mut options = Options::new(Model::named(model.name()).unwrap());
                options.cap = cap;
                options.most_proposals = 30;
                match audit(&log.to_log(model), &options, &()).unwrap().verdict {
                    Verdict::Explained(_) => assert_eq!(expected, oracle::Verdict::Explained, "seed {seed}"),
                    Verdict::Violated(found) => {
                        let found = oracle::Verdict::Violated(found.entry - TinyLog::LOADED);
                        assert_eq!(expected, found, "seed {seed}");
                    }
                    Verdict::Undecided(_) => undecided += 1,
                }
            }
        }
    }
    assert!(undecided > 20, "{undecided}");
}

/// A log of many transactions takes time in proportion.
#[test]
fn long_logs_are_linear() {
    for k in [1_000, 4_000] {
        let log = figure_8(k, 300 + 10 * (i64::try_from(k).unwrap() - 1));
        for model in oracle::Model::PAPER {
            let start = Instant::now();
            let found = verdict(&log, model, oracle::Order::Solve);
            println!("k = {k}, {}: {:?}", model.name(), start.elapsed());
            assert_eq!(found, Some(oracle::Verdict::Explained), "{}", model.name());
        }
    }
}

/// What a database engine does, the paper's model of the same level allows: a larger log of a simulated engine is never convicted.
#[test]
fn engines_are_never_convicted() {
    let pairs = [
        (oracle::Model::PgRc, oracle::Model::PaperRc),
        (oracle::Model::PgRr, oracle::Model::PaperRc),
        (oracle::Model::PgRr, oracle::Model::PaperSi),
        (oracle::Model::Sqlite, oracle::Model::PaperS),
        (oracle::Model::Sqlite, oracle::Model::PaperSs),
    ];
    for (engine, model) in pairs {
        let start = Instant::now();
        let (mut explained, mut undecided) = (0, 0);
        for seed in 0..60 {
            let size = Size { txns: 24, statements: 3, rows: 3 };
            let log = correct(engine, size, &mut Random::new(seed));
            let mut options = Options::new(Model::named(model.name()).unwrap());
            options.most_proposals = 300;
            match audit(&log.to_log(model), &options, &()).unwrap().verdict {
                Verdict::Explained(_) => explained += 1,
                Verdict::Undecided(_) => undecided += 1,
                Verdict::Violated(found) => panic!("seed {seed}: {found:?}\n{}", log.to_text(model)),
            }
        }
        let (name, time) = (model.name(), start.elapsed());
        println!("{} as {name}: {explained} explained, {undecided} undecided, {time:?}", engine.name());
        assert!(explained > 20, "{name}: {explained}");
    }
}

/// Compares verdicts and prefixes for random logs of each model and order.
fn compare(seeds: std::ops::Range<u64>) {
    for order in [oracle::Order::Timestamps, oracle::Order::Solve] {
        for model in oracle::Model::PAPER {
            let start = Instant::now();
            let mut counts = [0; 2];
            for seed in seeds.clone() {
                let log = any(model, Size::TINY, &mut Random::new(seed));
                let expected = oracle::judge(&log, model, order);
                let without: &[Heuristic] = if seed % 2 == 0 { &[] } else { &[Heuristic::StrongFirst] };
                let found = verdict_without(&log, model, order, without);
                assert_eq!(
                    found,
                    Some(expected),
                    "{} {order:?} without {without:?} seed {seed}\n{}",
                    model.name(),
                    log.to_text(model)
                );
                counts[usize::from(expected != oracle::Verdict::Explained)] += 1;
            }
            println!("{} {order:?}: {counts:?} in {:?}", model.name(), start.elapsed());
        }
    }
}

#[test]
fn random_logs_have_the_verdicts_of_the_judge() {
    compare(0..4_000);
}

/// A million logs: `cargo test --release -p isoscope-audit --test paper -- --ignored --nocapture`. `ISOSCOPE_AUDIT_LOGS` is the number
/// for each model and order, `ISOSCOPE_AUDIT_SEED` the first seed.
#[test]
#[ignore = "takes long"]
fn a_million_random_logs() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let from = number("ISOSCOPE_AUDIT_SEED", 1_000_000);
    compare(from..from + number("ISOSCOPE_AUDIT_LOGS", 100_000));
}

/// The corpus says for each file, model and order what the verdict is.
#[test]
fn corpus_has_the_expected_verdicts() {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/audit");
    let table = fs::read_to_string(corpus.join("expected.tsv")).unwrap();
    let mut wrong = Vec::new();
    let mut checked = 0;
    for line in table.lines().skip(1) {
        let [file, model, order, verdict, entry, blame] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let model = Model::named(model).unwrap();
        if !model.is_paper() {
            continue;
        }
        let log = isoscope_log::read(fs::read(corpus.join(file)).unwrap().as_slice()).unwrap();
        let mut options = Options::new(model);
        options.order = if order == "solve" { OrderBy::Solve } else { OrderBy::Timestamps };
        let start = Instant::now();
        let found = audit(&log, &options, &());
        let time = start.elapsed();
        let found = match found.map(|audit| audit.verdict) {
            Ok(Verdict::Explained(_)) => ("explained".to_owned(), "-".to_owned(), "-"),
            Ok(Verdict::Violated(violation)) => {
                let blame = match violation.blame {
                    Blame::Semantic => "semantic",
                    Blame::Isolation(_) => "isolation",
                    _ => "undetermined",
                };
                ("violated".to_owned(), violation.entry.to_string(), blame)
            }
            Ok(Verdict::Undecided(undecided)) => {
                (format!("undecided: {}", undecided.why), "-".to_owned(), "-")
            }
            Err(error) => (format!("error: {error}"), "-".to_owned(), "-"),
        };
        let is_right = found.0 == verdict && found.1 == entry && (blame == "-" || found.2 == blame);
        if !is_right {
            wrong.push(format!("{line}\n    found {found:?}"));
        }
        if time.as_millis() > 50 {
            println!("{file} {model} {order}: {time:?}");
        }
        checked += 1;
    }
    println!("{checked} verdicts");
    assert!(wrong.is_empty(), "{} of {checked}:\n{}", wrong.len(), wrong.join("\n"));
}

/// With `--order timestamps` the database's commit timestamps are the order, not the answers.
#[test]
fn timestamps_are_the_order() {
    let header = concat!(
        r#"{"isoscope":"log","version":1,"database":"PostgreSQL 15","vendor":"postgres","isolation":"serializable","#,
        r#""workload":"x","schema":["CREATE TABLE t (k INT PRIMARY KEY, v INT)","INSERT INTO t VALUES (1, 0)"]}"#,
    );
    let write = |session: u32, v: u32, times: &str, stamp: u32| {
        format!(
            r#"{{"session":{session},"txn":{v},"number":0,"sql":"UPDATE t SET v = {v}","count":1,"times":{times},"outcome":"committed","timestamps":[null,{stamp}]}}"#
        )
    };
    let read = |v: u32, stamp: &str| {
        format!(
            r#"{{"session":3,"txn":9,"number":0,"sql":"SELECT v FROM t","rows":[[{v}]],"times":[60,70],"outcome":"committed","timestamps":[null,{stamp}]}}"#
        )
    };
    // The second answer arrives first, and its commit is the later one.
    let verdict = |v: u32, stamp: &str| {
        let lines =
            [header.to_owned(), write(1, 1, "[10,50]", 1020), write(2, 2, "[10,40]", 1030), read(v, stamp)];
        let log = isoscope_log::read(lines.join("\n").as_bytes()).unwrap();
        let mut options = Options::new(Model::PaperS);
        options.order = OrderBy::Timestamps;
        matches!(audit(&log, &options, &()).unwrap().verdict, Verdict::Explained(_))
    };
    assert!(verdict(2, "1060") && !verdict(1, "1060"));
    // A transaction that only reads has no stamp: it is placed by its answer.
    assert!(verdict(2, "null") && !verdict(1, "null"));
}

/// Bad logs have an error with its place, and nothing panics.
#[test]
fn bad_logs_have_errors() {
    let header = |schema: &str| {
        format!(
            r#"{{"isoscope":"log","version":1,"database":"PostgreSQL 15","vendor":"postgres","isolation":"serializable","workload":"x","schema":[{schema}]}}"#
        )
    };
    let line = |txn: u32, sql: &str, times: &str, rest: &str| {
        format!(r#"{{"session":1,"txn":{txn},"number":0,"sql":"{sql}","count":0,"times":{times}{rest}}}"#)
    };
    let done = r#","outcome":"committed""#;
    let table = r#""CREATE TABLE t (k INT PRIMARY KEY)""#;
    let cases = [
        (r#""CREATE TABLE""#, vec![], None),
        (
            table,
            vec![line(1, "DELETE FROM t", "[1,2]", done), line(1, "DELETE FROM t", "[3,4]", "")],
            Some(1),
        ),
        (table, vec![line(1, "DELETE FROM t", "[5,2]", done)], Some(0)),
        (
            table,
            vec![line(1, "DELETE FROM t", "[1,5]", done), line(2, "DELETE FROM t", "[3,6]", done)],
            Some(1),
        ),
        (table, vec![line(1, "DELETE FORM t", "[1,2]", done)], Some(0)),
    ];
    for (schema, lines, entry) in cases {
        let text = [vec![header(schema)], lines].concat().join("\n");
        let log = isoscope_log::read(text.as_bytes()).unwrap();
        let error = audit(&log, &Options::new(Model::PaperS), &()).expect_err(&text);
        assert_eq!(error.entry, entry, "{error}");
    }
}

/// Figure 8 at the speed bar; the times are for a release build.
#[test]
fn figure_8_grows_slowly() {
    for k in [10, 20, 40, 80, 160] {
        for balance in [66, 400] {
            for order in [oracle::Order::Timestamps, oracle::Order::Solve] {
                let log = figure_8(k, balance);
                let start = Instant::now();
                let found = verdict(&log, oracle::Model::PaperRc, order);
                println!("k = {k}, {balance}, {order:?}: {:?}", start.elapsed());
                let last = log.entries.len() - 1;
                let is_right = balance == 400 && k > 10;
                let expected =
                    if is_right { oracle::Verdict::Explained } else { oracle::Verdict::Violated(last) };
                assert_eq!(found, Some(expected), "k = {k}, {balance}");
            }
        }
    }
}

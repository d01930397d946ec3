//! Applications against a database that is a map: their statements, the recorded operations, and the broken
//! invariants.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use isoscope_history::Outcome;
use isoscope_levels::Level;
use isoscope_record::log::read;
use isoscope_record::workload::{Application, Bank, BankSpec, Hotspot, SmallBank, SmallBankSpec, client};
use isoscope_record::{
    Answer, Class, Connection, ConnectionId, Control, Database, Event, Failure, Record, Scalar, Seen, Stamps,
    Statement, Step, Vendor,
};

mod support;

use support::{Ended, history, holds, load, log, run_session};

/// All rows of all tables: the number of a row and its other column.
type Rows = BTreeMap<(String, i64), Scalar>;

/// A database for one transaction at a time, with failures on request.
#[derive(Clone, Default)]
struct Map {
    rows: Arc<Mutex<Rows>>,
    /// The prefix of statements that fail, and their failure.
    broken: Arc<Mutex<Option<(&'static str, Failure)>>>,
}

impl Map {
    fn set(&self, table: &str, row: i64, value: i64) {
        self.rows.lock().unwrap().insert((table.to_owned(), row), Scalar::Int(value));
    }

    fn fail(&self, statements: &'static str, class: Class) {
        let failure = Failure { class, code: Some("42".to_owned()), message: "no".to_owned() };
        *self.broken.lock().unwrap() = Some((statements, failure));
    }

    fn check(&self, sql: &str) -> Result<(), Failure> {
        match &*self.broken.lock().unwrap() {
            Some((start, failure)) if sql.starts_with(start) => Err(failure.clone()),
            _ => Ok(()),
        }
    }
}

impl Database for Map {
    fn vendor(&self) -> Vendor {
        Vendor::Sqlite
    }

    fn version(&self) -> &'static str {
        "a map"
    }

    fn connect(&self) -> Result<Box<dyn Connection>, Failure> {
        Ok(Box::new(MapConnection { map: self.clone(), before: Rows::new() }))
    }

    fn control(&self) -> Result<Option<Box<dyn Control>>, Failure> {
        Ok(None)
    }
}

struct MapConnection {
    map: Map,
    before: Rows,
}

impl Connection for MapConnection {
    fn id(&self) -> Option<ConnectionId> {
        None
    }

    fn begin(&mut self) -> Result<(), Failure> {
        self.before = self.map.rows.lock().unwrap().clone();
        self.map.check("BEGIN")
    }

    fn execute(&mut self, Statement { sql, params }: Statement<'_>) -> Result<Answer, Failure> {
        self.map.check(sql)?;
        let mut rows = self.map.rows.lock().unwrap();
        let words: Vec<&str> = sql.split([' ', '(']).collect();
        let after = |word| words.iter().skip_while(|w| **w != word).nth(1).unwrap().to_string();
        let number = |place: usize| match params[place] {
            Scalar::Int(n) => n,
            ref other => panic!("{other:?}"),
        };
        Ok(match words[0] {
            "INSERT" => {
                for row in params.chunks(2) {
                    let Scalar::Int(id) = row[0] else { panic!("{row:?}") };
                    assert!(rows.insert((after("INTO"), id), row[1].clone()).is_none());
                }
                Answer::Count(params.len() as u64 / 2)
            }
            "UPDATE" => {
                let cell = rows.get_mut(&(words[1].to_owned(), number(1)));
                Answer::Count(cell.map_or(0, |cell| {
                    *cell = params[0].clone();
                    1
                }))
            }
            "SELECT" => {
                let table = after("FROM");
                let all = rows.iter().filter(|((t, _), _)| *t == table);
                let found = |id: i64, value: &Scalar| match params {
                    [] => true,
                    [Scalar::Text(_)] => *value == params[0],
                    [_] => id == number(0),
                    _ => (number(0)..=number(1)).contains(&id),
                };
                let columns = |id: i64, value: &Scalar| match params {
                    [Scalar::Text(_)] => vec![Scalar::Int(id)],
                    [_] => vec![value.clone()],
                    _ => vec![Scalar::Int(id), value.clone()],
                };
                let all = all.filter(|((_, id), value)| found(*id, value));
                Answer::Rows(all.map(|((_, id), value)| columns(*id, value)).collect())
            }
            "DROP" => {
                let table = after("EXISTS");
                rows.retain(|(t, _), _| *t != table);
                Answer::Count(0)
            }
            "CREATE" => Answer::Count(0),
            other => panic!("{other}"),
        })
    }

    fn commit(&mut self) -> Result<Stamps, Failure> {
        self.map.check("COMMIT").map(|()| Stamps::default())
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        *self.map.rows.lock().unwrap() = std::mem::take(&mut self.before);
        Ok(())
    }
}

fn bank() -> Arc<dyn Application> {
    Arc::new(Bank::new(BankSpec::default()).unwrap())
}

fn small_bank() -> Arc<dyn Application> {
    Arc::new(SmallBank::new(SmallBankSpec::default()).unwrap())
}

fn both() -> [Arc<dyn Application>; 2] {
    [bank(), small_bank()]
}

/// Runs the sessions one after the other.
fn serial(application: &Arc<dyn Application>, map: &Map, seed: u64) -> Vec<Ended> {
    let database: Arc<dyn Database> = Arc::new(map.clone());
    load(application, &database);
    let session = |s| run_session(&mut *client(application, s, seed, &database).unwrap(), s, 100);
    (0..3).flat_map(session).collect()
}

fn invariant(application: &Arc<dyn Application>, map: &Map) -> Vec<String> {
    application.invariant(&mut *map.connect().unwrap()).unwrap()
}

fn statements(run: &[Ended]) -> Vec<(String, Vec<Scalar>)> {
    let events = run.iter().flat_map(|txn| &txn.record.events);
    events.map(|event| (event.sql.clone(), event.params.clone())).collect()
}

#[test]
fn a_serial_run_is_serializable_and_breaks_nothing() {
    for application in both() {
        let map = Map::default();
        let run = serial(&application, &map, 7);
        let history = history(&*application, &run);
        assert_eq!(holds(&history, Level::Serializable), Some(true));
        assert_eq!(invariant(&application, &map), [""; 0]);
        let aborted = run.iter().filter(|txn| txn.ending.outcome == Outcome::Aborted).count();
        assert!((1..150).contains(&aborted), "{aborted} of 300 rolled themselves back");
        assert!(run.iter().all(|txn| txn.failure.is_none()));
    }
}

#[test]
fn the_seed_determines_the_statements() {
    for application in both() {
        let ask = |seed| statements(&serial(&application, &Map::default(), seed));
        assert_eq!(ask(1), ask(1));
        assert_ne!(ask(1), ask(2));
    }
}

/// The statements of a transaction depend neither on earlier transactions nor on the attempt.
#[test]
fn a_transaction_can_be_repeated_by_itself() {
    for application in both() {
        let database: Arc<dyn Database> = Arc::new(Map::default());
        load(&application, &database);
        let ask = |session, number, attempt| {
            let mut record = Record::new(true);
            let mut client = client(&application, session, 5, &database).unwrap();
            client.execute(number, attempt, &mut record).unwrap();
            client.rollback().unwrap();
            record.events.into_iter().map(|event| (event.sql, event.params)).collect::<Vec<_>>()
        };
        let all: Vec<_> = (0..20).map(|number| ask(1, number, 0)).collect();
        for number in (0..20).rev() {
            assert_eq!(ask(1, number, 3), all[number as usize]);
        }
        assert_ne!(all, (0..20).map(|number| ask(2, number, 0)).collect::<Vec<_>>());
        assert!(all.iter().all(|statements| statements[0].0 == "BEGIN"));
    }
}

/// The operations that follow from a statement and its result, computed independently.
fn operations(event: &Event) -> Vec<(Step, Seen)> {
    let key = |prefix: &str, row: &Scalar| match row {
        Scalar::Int(row) => Scalar::Text(format!("{prefix}/{row}")),
        other => panic!("{other:?}"),
    };
    let int = |scalar: &Scalar| match scalar {
        Scalar::Int(n) => *n,
        other => panic!("{other:?}"),
    };
    let tables = ["account", "savings", "checking"];
    let Some(prefix) = tables.into_iter().find(|t| event.sql.contains(&format!("isoscope_{t} "))) else {
        return Vec::new();
    };
    match event.answer.as_ref().unwrap() {
        Answer::Count(_) => {
            vec![(Step::Write(key(prefix, &event.params[1]), int(&event.params[0])), Seen::Done)]
        }
        Answer::Rows(rows) => rows
            .iter()
            .map(|row| match &row[..] {
                [id, value] => (Step::Read(key(prefix, id)), Seen::Value(Some(int(value)))),
                [value] => (Step::Read(key(prefix, &event.params[0])), Seen::Value(Some(int(value)))),
                other => panic!("{other:?}"),
            })
            .collect(),
    }
}

#[test]
fn the_history_follows_from_the_statements() {
    for application in both() {
        for txn in serial(&application, &Map::default(), 3) {
            let derived: Vec<_> = txn.record.events.iter().flat_map(operations).collect();
            assert_eq!(derived, txn.record.steps);
        }
    }
}

#[test]
fn the_initial_values_are_the_loaded_ones() {
    let bank: Arc<dyn Application> =
        Arc::new(Bank::new(BankSpec { accounts: 300, initial: 7, ..BankSpec::default() }).unwrap());
    for application in [bank, small_bank()] {
        let map = Map::default();
        let database: Arc<dyn Database> = Arc::new(map.clone());
        let noted = load(&application, &database);
        let mut loaded: Vec<(Scalar, i64)> = Vec::new();
        for ((table, row), value) in &*map.rows.lock().unwrap() {
            if let Scalar::Int(value) = value {
                let prefix = table.strip_prefix("isoscope_").unwrap();
                loaded.push((Scalar::Text(format!("{prefix}/{row}")), *value));
            }
        }
        let mut initials = application.initials();
        let name = |(key, _): &(Scalar, i64)| format!("{key:?}");
        initials.sort_by_key(name);
        loaded.sort_by_key(name);
        assert_eq!(initials, loaded);
        let texts: Vec<&str> = noted.events.iter().map(|event| event.sql.as_str()).collect();
        assert_eq!((texts[0], *texts.last().unwrap()), ("BEGIN", "COMMIT"));
        assert!(texts[1].starts_with("INSERT INTO isoscope_acc"));
        assert_eq!(noted.steps, []);
        // Loading replaces the old rows.
        map.set(application.tables().last().unwrap().name, 0, 1_000_000);
        assert_eq!(invariant(&application, &map).len(), 1);
        load(&application, &database);
        assert_eq!(invariant(&application, &map), [""; 0]);
        application.drop_tables(&mut *database.connect().unwrap()).unwrap();
        assert!(map.rows.lock().unwrap().is_empty());
    }
}

#[test]
fn all_statements_of_a_run_are_in_the_log() {
    for application in both() {
        let map = Map::default();
        let database: Arc<dyn Database> = Arc::new(map);
        let loaded = load(&application, &database);
        let run = run_session(&mut *client(&application, 0, 1, &database).unwrap(), 0, 50);
        let log = read(&log(&*application, &*database, 1, &loaded, &run)[..]).unwrap();
        assert_eq!(log.header.workload, application.name());
        let events: Vec<_> =
            loaded.events.iter().chain(run.iter().flat_map(|txn| &txn.record.events)).collect();
        assert_eq!(log.entries.len(), events.len());
        for (entry, event) in log.entries.iter().zip(events) {
            assert_eq!((&entry.sql, &entry.params), (&event.sql, &event.params));
            assert_eq!(entry.answer, event.answer);
            assert!(entry.sent <= entry.answered);
        }
        assert_eq!(log.entries.iter().filter(|entry| entry.ending.is_some()).count(), run.len() + 1);
    }
}

#[test]
fn broken_invariants_are_described() {
    let (application, map) = (bank(), Map::default());
    serial(&application, &map, 1);
    let total: i64 =
        map.rows.lock().unwrap().values().map(|v| if let Scalar::Int(n) = v { *n } else { 0 }).sum();
    for id in 0..40 {
        map.set("isoscope_account", id, 0);
    }
    map.set("isoscope_account", 0, -100);
    map.set("isoscope_account", 1, 60);
    map.set("isoscope_account", 4, -100);
    map.set("isoscope_account", 5, 100);
    map.set("isoscope_account", 6, -1);
    map.set("isoscope_account", 39, total + 41);
    assert_eq!(
        invariant(&application, &map),
        ["accounts 0 and 1 went below zero: -100 and 60, in total -40", "account 6 went below zero: -1"]
    );
    map.set("isoscope_account", 39, total);
    let broken = invariant(&application, &map);
    let expected =
        format!("the accounts hold {} in total but should hold {total}: 41 are missing", total - 41);
    assert_eq!(broken[0], expected);
    map.set("isoscope_account", 39, total + 43);
    assert!(invariant(&application, &map)[0].ends_with(": 2 too much"));

    let (application, map) = (small_bank(), Map::default());
    serial(&application, &map, 1);
    map.set("isoscope_savings", 3, -1_000_000);
    let broken = invariant(&application, &map);
    assert!(broken[0].contains("are missing"), "{broken:?}");
    assert_eq!(broken[1], "the savings of customer 3 went below zero: -1000000");
}

/// A transaction with an unknown outcome may have committed or not; neither violates an invariant.
#[test]
fn unknown_outcomes_violate_no_invariant() {
    for happens in [true, false] {
        let map = Map::default();
        let spec = BankSpec { mix: [0, 1, 0, 0, 0], ..BankSpec::default() };
        let application: Arc<dyn Application> = Arc::new(Bank::new(spec).unwrap());
        let database: Arc<dyn Database> = Arc::new(map.clone());
        load(&application, &database);
        let before = map.rows.lock().unwrap().clone();
        map.fail("COMMIT", Class::Connection);
        let run = run_session(&mut *client(&application, 0, 1, &database).unwrap(), 0, 1);
        assert_eq!(run[0].ending.outcome, Outcome::Unknown);
        if !happens {
            *map.rows.lock().unwrap() = before;
        }
        assert_eq!(invariant(&application, &map), [""; 0]);
        map.set("isoscope_account", 39, 10_000);
        assert_eq!(invariant(&application, &map).len(), 1);
    }
}

#[test]
fn failed_statements_are_in_the_log_and_not_in_the_history() {
    let map = Map::default();
    let spec = BankSpec { mix: [0, 1, 0, 0, 0], ..BankSpec::default() };
    let application: Arc<dyn Application> = Arc::new(Bank::new(spec).unwrap());
    let database: Arc<dyn Database> = Arc::new(map.clone());
    load(&application, &database);
    map.fail("UPDATE", Class::Serialization);
    let run = run_session(&mut *client(&application, 0, 1, &database).unwrap(), 0, 1);
    assert_eq!(run[0].ending.outcome, Outcome::Aborted);
    assert_eq!(run[0].failure.as_ref().unwrap().class, Class::Serialization);
    assert!(matches!(run[0].record.steps[..], [(Step::Read(_), Seen::Value(Some(100)))]));
    let failed: Vec<bool> = run[0].record.events.iter().map(|event| event.answer.is_err()).collect();
    assert_eq!(failed, [false, false, true, false], "a begin, a read, a write, a rollback");
    assert_eq!(invariant(&application, &map), [""; 0]);
}

#[test]
fn missing_rows_are_a_failure() {
    let map = Map::default();
    let application = small_bank();
    let database: Arc<dyn Database> = Arc::new(map.clone());
    load(&application, &database);
    map.rows.lock().unwrap().retain(|(table, _), _| table == "isoscope_accounts");
    let run = run_session(&mut *client(&application, 0, 1, &database).unwrap(), 0, 5);
    for txn in run {
        let failure = txn.failure.unwrap();
        assert_eq!(failure.class, Class::Other);
        assert!(failure.message.contains(" does not exist"), "{failure}");
        assert!(matches!(txn.record.steps[..], [(Step::Read(_), Seen::Value(None))]));
    }
}

#[test]
fn a_missing_privilege_is_reported() {
    for (statement, verb) in [("CREATE", "create"), ("DROP", "drop"), ("INSERT", "fill")] {
        let map = Map::default();
        map.fail(statement, Class::Denied);
        let failure = bank().load(Vendor::Postgres, &mut *map.connect().unwrap(), &mut Record::new(false));
        let failure = failure.unwrap_err();
        assert_eq!(failure.class, Class::Denied);
        assert_eq!(
            failure.to_string(),
            format!("cannot {verb} the table isoscope_account: the user lacks a privilege: no (42)")
        );
    }
    let map = Map::default();
    let failure = bank().load(Vendor::Memory, &mut *map.connect().unwrap(), &mut Record::new(false));
    assert_eq!(
        failure.unwrap_err().to_string(),
        "the in-memory store does not support SQL, which the workload bank needs"
    );
}

#[test]
fn tables_are_isoscopes_own_and_transactional() {
    for application in both() {
        for statement in application.schema(Vendor::MariaDb) {
            assert!(statement.starts_with("CREATE TABLE isoscope_"), "{statement}");
            assert!(statement.ends_with(") ENGINE=InnoDB"), "{statement}");
        }
        assert_eq!(application.schema(Vendor::Postgres), application.schema(Vendor::Sqlite));
    }
}

#[test]
fn invalid_parameters_are_refused() {
    let good = BankSpec::default();
    for bad in [
        BankSpec { accounts: 0, ..good.clone() },
        BankSpec { accounts: 6, ..good.clone() },
        BankSpec { accounts: 1 << 30, ..good.clone() },
        BankSpec { initial: -1, ..good.clone() },
        BankSpec { most: 0, ..good.clone() },
        BankSpec { most: u32::MAX, ..good.clone() },
        BankSpec { mix: [0; 5], ..good.clone() },
        BankSpec { mix: [u32::MAX; 5], ..good.clone() },
        BankSpec { hotspot: Hotspot { part: f64::NAN, draws: 0.0 }, ..good.clone() },
    ] {
        assert!(Bank::new(bad.clone()).is_err(), "{bad:?}");
    }
    for customers in [0, 1, 1 << 30] {
        let spec = SmallBankSpec { customers, ..SmallBankSpec::default() };
        assert!(SmallBank::new(spec).is_err(), "{customers}");
    }
}

#[test]
fn a_hot_spot_is_hot() {
    let hotspot = Hotspot { part: 0.1, draws: 0.9 };
    let spec = BankSpec { accounts: 400, mix: [0, 1, 0, 0, 0], hotspot, ..BankSpec::default() };
    let application: Arc<dyn Application> = Arc::new(Bank::new(spec).unwrap());
    let run = serial(&application, &Map::default(), 1);
    let hot = run.iter().filter(|txn| match &txn.record.steps[0].0 {
        Step::Read(Scalar::Text(key)) => key["account/".len()..].parse::<u32>().unwrap() < 40,
        other => panic!("{other:?}"),
    });
    let hot = hot.count();
    assert!((240..300).contains(&hot), "{hot} of 300, where 273 are expected");
}

#[test]
fn the_document_has_the_tables() {
    let document = include_str!("../../../docs/workloads.md");
    let written: Vec<&str> = document.lines().filter(|line| line.starts_with("CREATE TABLE")).collect();
    let schema: Vec<String> =
        both().iter().flat_map(|application| application.schema(Vendor::Sqlite)).collect();
    assert_eq!(written, schema);
    assert!(both().iter().all(|application| document.contains(&format!("## {}\n", application.name()))));
}

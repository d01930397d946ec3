//! The evaluator against real databases: random schemas, rows and statements in one session.
//!
//! Rows, counts and the classes of errors must agree. The tests run 2,000 statements a dialect. More, with another seed:
//!
//! ```text
//! STATEMENTS=1000000 SEED=7 cargo test --release -p isoscope-sql --test differential -- --nocapture
//! ```
//!
//! Checked with PostgreSQL 15.18, MariaDB 10.11.14 and the SQLite that `rusqlite` contains. Servers that are not installed
//! are skipped.
//!
//! MariaDB agrees on the fixtures, and on statements whose operands have one type. `mariadb_agrees_on_all_statements` is
//! ignored by default, because these differences are known:
//!
//! - Strict mode raises error 1292 (truncated value) for texts in uncorrelated subqueries, in constants, and in conditions
//!   that compare a text with a number.
//! - The type and the scale of SIGN, NULLIF, CASE and COALESCE over mixed types, and of quotients inside other expressions.
//! - Branches of CASE that are not used are converted to the DATE of the others.
//! - ON DELETE SET NULL of a column that is NOT NULL.
//! - NULL in arithmetic: a decimal minus NULL is a float in MariaDB.
//! - The count of ON DUPLICATE KEY UPDATE where a float becomes negative zero.
//! - UPDATE with a subquery over its own table: SET sees the old values, not those that were set before.
//! - REPLACE of a row that a foreign key refers to from its own table or from another new row.
//!
//! The last two also occur, rarely, in statements whose operands have one type: seed 1 shows none.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]
#![allow(clippy::print_stdout, reason = "the figures are shown with --nocapture")]

mod generate;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use generate::{Dice, Generator};
use isoscope_log::Class;
use isoscope_record::{Answer, Connection, Options, Server, ServerKind, Statement, Target};
use isoscope_sql::{
    Database, Dialect, Doubt, ErrorClass, Match, Reply, Rows, Settings, View, answers_match, rows_match,
};

/// Statements of a schema.
const EPISODE: usize = 60;

/// Differences that are shown.
const SHOWN: usize = 12;

#[derive(Default)]
struct Tally {
    statements: usize,
    agreed: usize,
    errors: usize,
    unsupported: BTreeMap<String, usize>,
    spelled: usize,
    doubtful: usize,
    differences: Vec<String>,
}

struct Session<'c> {
    connection: &'c mut dyn Connection,
    database: Database,
    settings: Settings,
    /// All statements of the episode.
    script: Vec<String>,
}

/// What to do after a statement.
#[derive(PartialEq)]
enum Next {
    Go,
    /// The states may differ: begin again.
    Stop,
}

impl Session<'_> {
    fn real(&mut self, sql: &str) -> Result<Answer, isoscope_log::Failure> {
        self.connection.execute(Statement { sql, params: &[] })
    }

    /// Runs a statement of a fixture on both. Transaction control goes through the driver.
    fn statement(&mut self, sql: &str, tally: &mut Tally) {
        let done = match sql {
            "BEGIN" => self.connection.begin().map(|()| Answer::Count(0)),
            "COMMIT" => self.connection.commit().map(|_| Answer::Count(0)),
            _ => {
                self.both(sql, tally);
                return;
            }
        };
        let ours = self.database.run(sql, &[]);
        // The driver reports the COMMIT of a failed transaction as an error, because it is a rollback.
        if sql != "COMMIT" && done.is_ok() != ours.is_ok() {
            self.differ(sql, &format!("ours: {ours:?}\n  real: {done:?}"), tally);
        }
    }

    /// Runs a statement on both.
    fn both(&mut self, sql: &str, tally: &mut Tally) -> Next {
        let real = self.real(sql);
        let ours = self.database.run(sql, &[]);
        tally.statements += 1;
        let is_query = sql.starts_with("SELECT");
        let next = if is_query { Next::Go } else { Next::Stop };
        self.script.push(sql.to_owned());
        match (ours, real) {
            (Err(error), _) if !error.class.is_answer() => {
                let key: String = error.message.chars().take(100).collect();
                *tally.unsupported.entry(key).or_default() += 1;
                if !is_query {
                    self.script.pop();
                }
                next
            }
            (Ok(effect), Ok(answer)) => {
                if effect.doubts.contains(&Doubt::Choice) {
                    tally.doubtful += 1;
                    return next;
                }
                match answers_match(&effect.reply, &answer, &effect.doubts, &self.settings) {
                    Match::Yes => {}
                    Match::YesButSpelling(_) => tally.spelled += 1,
                    Match::No(why) => {
                        self.differ(
                            sql,
                            &format!("{why}\n  ours: {:?}\n  real: {answer:?}", shown(&effect.reply)),
                            tally,
                        );
                        return Next::Stop;
                    }
                }
                tally.agreed += 1;
                if is_query { Next::Go } else { self.check_tables(sql, tally) }
            }
            (Err(error), Err(failure)) => {
                let is_constraint = error.class.logged() == Class::Constraint;
                // Overflow before a constraint or after it: any order of rows is correct.
                let has_many_rows =
                    sql.starts_with("UPDATE") || sql.starts_with("DELETE") || sql.contains(") SELECT ");
                if is_constraint != (failure.class == Class::Constraint)
                    && (has_many_rows || !error.is_certain)
                {
                    tally.doubtful += 1;
                    return Next::Go;
                }
                if is_constraint != (failure.class == Class::Constraint) {
                    self.differ(sql, &format!("ours: {:?} {error}\n  real: {failure}", error.class), tally);
                    return Next::Stop;
                }
                tally.errors += 1;
                Next::Go
            }
            (Ok(effect), Err(failure)) => {
                if effect.doubts.contains(&Doubt::MayFail) {
                    tally.doubtful += 1;
                    return next;
                }
                self.differ(sql, &format!("ours: {:?}\n  real: {failure}", shown(&effect.reply)), tally);
                Next::Stop
            }
            (Err(error), Ok(_)) if !error.is_certain => {
                tally.doubtful += 1;
                next
            }
            (Err(error), Ok(answer)) => {
                self.differ(sql, &format!("ours: {:?} {error}\n  real: {answer:?}", error.class), tally);
                Next::Stop
            }
        }
    }

    fn differ(&self, sql: &str, what: &str, tally: &mut Tally) {
        let mut text = String::new();
        let keep = |line: &&String| !line.starts_with("SELECT");
        for line in self.script.iter().filter(keep) {
            let _ = writeln!(text, "  {line};");
        }
        let _ = write!(text, "{sql}\n  {what}");
        tally.differences.push(text);
    }

    /// Compares all tables after a change.
    fn check_tables(&mut self, sql: &str, tally: &mut Tally) -> Next {
        for table in ["t0", "t1", "t", "u"] {
            let Some(columns) = self.database.catalog().table(table).map(|table| {
                table.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>().join(", ")
            }) else {
                continue;
            };
            let all = format!("SELECT {columns} FROM {table}");
            let Ok(Answer::Rows(real)) = self.real(&all) else { return Next::Stop };
            let Ok(effect) = self.database.run(&all, &[]) else { return Next::Stop };
            let Reply::Rows(ours) = &effect.reply else { return Next::Stop };
            if let Match::No(why) = rows_match(ours, &real, &[], &self.settings) {
                self.differ(
                    sql,
                    &format!("{table}: {why}\n  ours: {:?}\n  real: {real:?}", shown(&effect.reply)),
                    tally,
                );
                return Next::Stop;
            }
        }
        Next::Go
    }
}

fn shown(reply: &Reply) -> String {
    match reply {
        Reply::Count(count) => format!("count {count}"),
        Reply::Rows(rows) => {
            let row = |row: &Vec<isoscope_sql::Value>| {
                row.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            };
            Rows::chosen(rows).iter().map(row).collect::<Vec<_>>().join(" | ")
        }
    }
}

fn clean(connection: &mut dyn Connection, is_sqlite: bool) {
    for name in
        ["VIEW v0", "VIEW v", "TABLE t1", "TABLE t0", "TABLE u", "TABLE t", "PROCEDURE p", "FUNCTION f"]
    {
        if is_sqlite && (name == "PROCEDURE p" || name == "FUNCTION f") {
            continue;
        }
        let (kind, name) = name.split_once(' ').unwrap();
        connection.execute(Statement::plain(&format!("DROP {kind} IF EXISTS {name}"))).unwrap();
    }
}

/// Runs the fixtures on a real database.
fn fixtures(url: &str, dialect: Dialect, tally: &mut Tally) {
    let name = match dialect {
        Dialect::Postgres => "postgres",
        Dialect::MySql => "mysql",
        Dialect::Sqlite => "sqlite",
    };
    let database = Target::parse(url).unwrap().open(None, &Options::default()).unwrap();
    let settings = Settings::of(database.vendor()).unwrap();
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for entry in std::fs::read_dir(directory).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for block in text.split("\n\n") {
            // A connection of its own: prepared statements remember the tables of other fixtures.
            let mut connection = database.connect().unwrap();
            clean(&mut *connection, dialect == Dialect::Sqlite);
            if dialect == Dialect::Sqlite {
                connection.execute(Statement::plain("PRAGMA foreign_keys = ON")).unwrap();
            }
            let mut session = Session {
                connection: &mut *connection,
                database: Database::new(settings.clone()),
                settings: settings.clone(),
                script: Vec::new(),
            };
            for line in block.lines().filter(|line| !line.starts_with("--")) {
                let Some((names, sql)) = line.split_once("> ").filter(|(names, _)| !names.contains(':'))
                else {
                    continue;
                };
                let is_meant = names.is_empty() || names.split(',').any(|it| it.trim() == name);
                if is_meant {
                    session.statement(sql.trim(), tally);
                }
            }
        }
    }
}

/// Runs statements until this number has been compared.
fn run(url: &str, dialect: Dialect, is_plain: bool, count: usize) -> Tally {
    let database = Target::parse(url).unwrap().open(None, &Options::default()).unwrap();
    let mut connection = database.connect().unwrap();
    let settings = Settings::of(database.vendor()).unwrap();
    if dialect == Dialect::Sqlite {
        connection.execute(Statement::plain("PRAGMA foreign_keys = ON")).unwrap();
    }
    let mut tally = Tally::default();
    let mut seeds = Dice(setting("SEED", 1));
    while tally.statements < count && tally.differences.len() < SHOWN {
        clean(&mut *connection, dialect == Dialect::Sqlite);
        let mut generator = Generator::new(seeds.next(), dialect, is_plain);
        let mut session = Session {
            connection: &mut *connection,
            database: Database::new(settings.clone()),
            settings: settings.clone(),
            script: Vec::new(),
        };
        let schema = generator.schema();
        let mut is_made = true;
        for sql in &schema {
            let real = session.real(sql);
            let ours = session.database.run(sql, &[]);
            session.script.push(sql.clone());
            match (&real, &ours) {
                (Ok(_), Ok(_)) => {}
                (Err(_), Err(_)) => is_made = false,
                (_, Err(error)) if error.class == ErrorClass::Unsupported => is_made = false,
                _ => {
                    session.differ(sql, &format!("ours: {ours:?}\n  real: {real:?}"), &mut tally);
                    is_made = false;
                }
            }
            if !is_made {
                break;
            }
        }
        if !is_made {
            continue;
        }
        for n in 0..EPISODE {
            let sql = if n < 5 { generator.insert() } else { generator.statement() };
            if session.both(&sql, &mut tally) == Next::Stop {
                break;
            }
        }
    }
    tally
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn compare_fixtures(url: &str, dialect: Dialect) {
    let mut tally = Tally::default();
    fixtures(url, dialect, &mut tally);
    assert!(tally.statements > 0);
    assert!(tally.differences.is_empty(), "{}", tally.differences.join("\n\n"));
}

fn compare(url: &str, dialect: Dialect, is_plain: bool) {
    let count = setting("STATEMENTS", 2_000) as usize;
    let began = Instant::now();
    let tally = run(url, dialect, is_plain, count);
    println!(
        "{dialect:?}: {} statements in {:.1} s: {} answers agree ({} spelled differently), {} errors agree, {} doubtful, {} differ",
        tally.statements,
        began.elapsed().as_secs_f64(),
        tally.agreed,
        tally.spelled,
        tally.errors,
        tally.doubtful,
        tally.differences.len(),
    );
    let mut unsupported: Vec<_> = tally.unsupported.into_iter().collect();
    unsupported.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (why, count) in unsupported.into_iter().take(12) {
        println!("  unsupported {count}: {why}");
    }
    assert!(tally.differences.is_empty(), "{}", tally.differences.join("\n\n"));
    // A run in which little was compared shows nothing.
    assert!(tally.agreed * 2 > count, "only {} answers of {count} statements agree", tally.agreed);
}

fn server(kind: ServerKind) -> Option<Server> {
    match Server::start(kind, &[] as &[&str]) {
        Ok(server) => Some(server),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

#[test]
fn sqlite_agrees() {
    compare_fixtures("sqlite:", Dialect::Sqlite);
    compare("sqlite:", Dialect::Sqlite, false);
}

#[test]
fn postgres_agrees() {
    if let Some(server) = server(ServerKind::Postgres) {
        compare_fixtures(&server.url(), Dialect::Postgres);
        compare(&server.url(), Dialect::Postgres, false);
    }
}

#[test]
fn mariadb_agrees_on_fixtures_and_plain_statements() {
    if let Some(server) = server(ServerKind::MariaDb) {
        compare_fixtures(&server.url(), Dialect::MySql);
        compare(&server.url(), Dialect::MySql, true);
    }
}

#[test]
#[ignore = "differs: see the list in the file"]
fn mariadb_agrees_on_all_statements() {
    if let Some(server) = server(ServerKind::MariaDb) {
        compare(&server.url(), Dialect::MySql, false);
    }
}

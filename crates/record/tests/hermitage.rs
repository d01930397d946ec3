//! What each level of real databases prevents, compared with published results, with earlier observations, and with our
//! documentation.

use std::time::Duration;

use isoscope_record::hermitage::{Outcome, SCENARIOS, SNAPSHOTS, Scenario, Table, hermitage, levels};
use isoscope_record::script::{self, Prevention, StepDone, StepResult, Verdict};
use isoscope_record::{Class, Database, OpenError, Server, ServerKind, Target};

const DOCUMENT: &str = include_str!("../../../docs/hermitage.md");
const SCRIPTS: &str = include_str!("../../../docs/scripts.md");
const LEVELS: [&str; 4] = ["read-uncommitted", "read-committed", "repeatable-read", "serializable"];

fn open(url: &str, level: &str) -> Result<Box<dyn Database>, OpenError> {
    let target = Target::parse(url)?;
    target.open(Some(level), &script::connection_limits(target.vendor()))
}

/// Two transactions wait for each other. The database aborts either of them. The other continues, and its step is reported
/// second.
fn assert_deadlock_ends(url: &str) {
    let text = "setup:\n  CREATE TABLE dead (id INTEGER PRIMARY KEY, value INTEGER)\n  INSERT INTO dead VALUES (1, 0), (2, 0)\n\
         steps:\n  T1: BEGIN\n  T2: BEGIN\n  T1: UPDATE dead SET value = 1 WHERE id = 1\n\
         \x20 T2: UPDATE dead SET value = 2 WHERE id = 2\n  T1.last: UPDATE dead SET value = 1 WHERE id = 2 => waits\n\
         \x20 T2.last: UPDATE dead SET value = 2 WHERE id = 1\n  T1: COMMIT\n  T2: COMMIT\n\
         anomaly when:\n  T1 committed and T2 failed with deadlock and T2.last failed and T1.last = 1\n\
         \x20 or T2 committed and T1 failed with deadlock and T1.last failed and T2.last = 1\n";
    let script = script::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let database = open(url, "read-committed").unwrap_or_else(|error| panic!("{error}"));
    for _ in 0..5 {
        let found = script.run(database.as_ref(), &script::Options::default(), &mut |_| {});
        let found = found.unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(found.verdict, Some(Verdict::Happened), "{found}");
        let ends = |done: &&StepDone| done.label.is_some() && done.result != StepResult::Waits;
        let first = found.events.iter().find(ends).expect("an end");
        assert!(matches!(first.result, StepResult::Failed(_)), "{found}");
    }
}

/// A step that hangs is killed, and its table is dropped in spite of its locks.
fn assert_nothing_is_left(url: &str, sleep: &str) {
    let text = format!(
        "setup:\n  CREATE TABLE hanging (id INTEGER)\n  INSERT INTO hanging VALUES (1)\n\
         steps:\n  T1: BEGIN\n  T1: UPDATE hanging SET id = 2\n  T2: UPDATE hanging SET id = 3\n  T1: SELECT {sleep}(600)\n"
    );
    let script = script::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let database = open(url, "read-committed").unwrap_or_else(|error| panic!("{error}"));
    // Each further run fails in the same way only if the table of the previous one was dropped.
    let mut hung = 0;
    let mut step_limit = Duration::from_millis(500);
    while hung < 2 {
        let limits = script::Options { step_limit, ..script::Options::default() };
        let failure = script.run(database.as_ref(), &limits, &mut |_| {}).expect_err("it hangs").failure;
        if failure.message.starts_with("line 8, T1: `SELECT") {
            hung += 1;
        } else {
            // On a busy machine an earlier step may take longer than the limit.
            assert_eq!(failure.class, Class::LockTimeout, "{failure}");
            assert!(step_limit < Duration::from_secs(60), "{failure}");
            step_limit *= 2;
        }
    }
}

fn table(url: &str, scenarios: &[Scenario], levels: &[&str]) -> Table {
    let open = |level: &str| open(url, level);
    let mut reported = 0;
    let result = hermitage(scenarios, levels, open, &script::Options::default(), &mut |cell| {
        assert_eq!((cell.number, cell.total), (reported, scenarios.len() * levels.len()));
        reported += 1;
    });
    let table = result.unwrap_or_else(|unfinished| panic!("{}", unfinished.error));
    assert_eq!(reported, scenarios.len() * levels.len());
    table
}

fn server(kind: ServerKind, settings: &[&str]) -> Server {
    Server::start(kind, settings).unwrap_or_else(|error| panic!("{error}"))
}

/// Compares what a level prevents with the columns of Hermitage's published results: `+` prevents, `-` does not, `r` only if
/// nothing is written.
fn assert_published(table: &Table, level: &str, published: &str) {
    let columns: [&[&str]; 10] = [
        &["G0"],
        &["G1a"],
        &["G1b"],
        &["G1c"],
        &["OTV"],
        &["PMP", "PMP-write"],
        &["P4"],
        &["G-single", "G-single-predicate", "G-single-write"],
        &["G2-item"],
        &["G2", "G2-two-edges"],
    ];
    for (codes, published) in columns.iter().zip(published.split_whitespace()) {
        for code in *codes {
            let is_prevented = match published {
                "+" => true,
                "-" => false,
                _ => !code.ends_with("-write"),
            };
            let outcome = table.outcome(code, level).expect("a cell");
            assert_eq!(outcome.is_prevented(), is_prevented, "{code} at {level}: {outcome}\n{table}");
        }
    }
}

/// The code blocks of a document with this mark.
fn blocks<'a>(document: &'a str, mark: &str) -> Vec<&'a str> {
    let marked = document.split(mark).skip(1);
    marked.filter_map(|block| block.strip_prefix('\n')?.split("```").next()).collect()
}

/// The text block with this title, without the title.
fn block<'a>(document: &'a str, title: &str) -> &'a str {
    let found = blocks(document, "```text")
        .into_iter()
        .find_map(|block| block.strip_prefix(title)?.strip_prefix('\n'));
    found.unwrap_or_else(|| panic!("no block `{title}`"))
}

/// The documented example has the documented result, if the database has the documented version.
fn assert_example(url: &str, level: &str, version: &str, title: &str) {
    let script = script::parse(blocks(SCRIPTS, "```script")[0]).unwrap_or_else(|error| panic!("{error}"));
    let database = open(url, level).unwrap_or_else(|error| panic!("{error}"));
    let found = script.run(database.as_ref(), &script::Options::default(), &mut |_| {});
    let found = found.unwrap_or_else(|failure| panic!("{failure}"));
    if database.version().starts_with(version) {
        assert_eq!(found.to_string(), block(SCRIPTS, title), "{title}");
    }
}

/// The table equals the one under this title in the documentation, if the database has the documented version.
fn assert_documented(table: &Table, version: &str, title: &str) {
    let documented = block(DOCUMENT, title);
    if table.version.starts_with(version) {
        assert_eq!(table.to_string(), documented, "{title}");
    }
}

/// A server whose results are compared with the published ones and with the documentation.
struct Compared<'a> {
    kind: ServerKind,
    settings: &'a [&'a str],
    /// What each of [`LEVELS`] prevents, as published.
    published: [&'a str; 4],
    /// The documented version, such as `PostgreSQL 15`.
    version: &'a str,
    /// The SQL function that sleeps.
    sleep: &'a str,
}

impl Compared<'_> {
    /// Compares, and returns the results of [`SNAPSHOTS`].
    fn check(&self) -> Table {
        let server = server(self.kind, self.settings);
        let (url, version) = (server.url(), self.version);
        let prefix = format!("{version}.");
        let found = table(&url, SCENARIOS, &LEVELS);
        assert_eq!(levels(found.vendor), LEVELS);
        for (level, published) in LEVELS.iter().zip(self.published) {
            assert_published(&found, level, published);
        }
        assert_documented(&found, &prefix, version);
        let more = table(&url, SNAPSHOTS, &LEVELS);
        assert_documented(&more, &prefix, &format!("{version}, snapshots"));
        assert_deadlock_ends(&url);
        assert_nothing_is_left(&url, self.sleep);
        assert_example(&url, "repeatable-read", &prefix, &format!("{version}, repeatable-read"));
        more
    }
}

#[test]
fn postgres() {
    let compared = Compared {
        kind: ServerKind::Postgres,
        settings: &[],
        published: [
            "+ + + + + - - - - -",
            "+ + + + + - - - - -",
            "+ + + + + + + + - -",
            "+ + + + + + + + + +",
        ],
        version: "PostgreSQL 15",
        sleep: "pg_sleep",
    };
    let more = compared.check();
    let at = |code, level| more.outcome(code, level).unwrap();
    let refused = Outcome::Prevented(Prevention::Failed(Class::Serialization));
    let unseen = Outcome::Prevented(Prevention::Unseen);
    assert_eq!(at("P2", "read-committed"), Outcome::Allowed);
    assert_eq!(at("own-update", "read-committed"), Outcome::Allowed);
    assert_eq!(at("own-update-vanishes", "read-committed"), unseen);
    assert_eq!(at("own-update-phantom", "read-committed"), Outcome::Allowed);
    for level in ["repeatable-read", "serializable"] {
        assert_eq!(at("P2", level), unseen);
        assert_eq!(at("own-update", level), refused);
        assert_eq!(at("own-update-vanishes", level), refused);
        assert_eq!(at("own-update-phantom", level), unseen);
    }
}

#[test]
fn mariadb() {
    let compared = Compared {
        kind: ServerKind::MariaDb,
        settings: &["innodb_snapshot_isolation=OFF"],
        published: [
            "+ - - - - - - - - -",
            "+ + + + + - - - - -",
            "+ + + + + r - r - -",
            "+ + + + + + + + + +",
        ],
        version: "MariaDB 10.11",
        sleep: "SLEEP",
    };
    let more = compared.check();
    let at = |code, level| more.outcome(code, level).unwrap();
    assert_eq!(at("P2", "repeatable-read"), Outcome::Prevented(Prevention::Unseen));
    assert_eq!(at("own-update", "repeatable-read"), Outcome::Allowed);
    assert_eq!(at("own-update-vanishes", "read-committed"), Outcome::Prevented(Prevention::Unseen));
    assert_eq!(at("own-update-vanishes", "repeatable-read"), Outcome::Allowed);
    assert_eq!(at("own-update-phantom", "repeatable-read"), Outcome::Allowed);
}

#[test]
fn mariadb_with_snapshot_isolation() {
    let server = server(ServerKind::MariaDb, &["innodb_snapshot_isolation=ON"]);
    let stronger = ["repeatable-read", "serializable"];
    let found = table(&server.url(), SCENARIOS, &stronger);
    assert_published(&found, "repeatable-read", "+ + + + + + + + - -");
    assert_published(&found, "serializable", "+ + + + + + + + + +");
    assert_documented(&found, "MariaDB 10.11.", "MariaDB 10.11, innodb_snapshot_isolation=ON");
    let more = table(&server.url(), SNAPSHOTS, &stronger);
    assert_documented(&more, "MariaDB 10.11.", "MariaDB 10.11, innodb_snapshot_isolation=ON, snapshots");
    for code in ["own-update", "own-update-vanishes", "own-update-phantom"] {
        let refused = Outcome::Prevented(Prevention::Failed(Class::Serialization));
        assert_eq!(more.outcome(code, "repeatable-read"), Some(refused), "{code}");
    }
}

#[test]
fn sqlite() {
    for journal in ["wal", "delete"] {
        let url = format!("sqlite:?journal={journal}");
        let found = table(&url, SCENARIOS, &["serializable"]);
        assert_published(&found, "serializable", "+ + + + + + + + + +");
        assert_documented(&found, "SQLite 3.", &format!("SQLite, journal={journal}"));
        let more = table(&url, SNAPSHOTS, &["serializable"]);
        assert!(more.rows.iter().all(|row| row.cells[0].outcome.is_prevented()), "{more}");
    }
}

#[test]
fn the_example_of_the_documentation() {
    assert_example("sqlite:", "serializable", "SQLite 3.", "SQLite, serializable");
}

#[test]
fn every_scenario_is_described() {
    for scenario in SCENARIOS.iter().chain(SNAPSHOTS) {
        let script = scenario.script().unwrap_or_else(|error| panic!("{}: {error}", scenario.code));
        assert!(
            !script.name.is_empty() && !script.about.is_empty() && script.anomaly.is_some(),
            "{}",
            scenario.code
        );
        let row = format!("**{}**, {}", scenario.code, script.name);
        assert!(DOCUMENT.contains(&row), "{row} is not in docs/hermitage.md");
    }
}

/// What was found before an error is kept.
#[test]
fn an_error_keeps_the_cells_before_it() {
    let mut opened = 0;
    let open = |level: &str| {
        opened += 1;
        if opened > 1 { Err(OpenError::Memory) } else { open("sqlite:", level) }
    };
    let levels = ["serializable", "serializable"];
    let result = hermitage(&SCENARIOS[..2], &levels, open, &script::Options::default(), &mut |_| {});
    let Err(unfinished) = result else { panic!("the second database does not open") };
    assert!(matches!(unfinished.error, OpenError::Memory), "{}", unfinished.error);
    assert!(unfinished.table.rows.iter().all(|row| row.cells.len() == 1), "{}", unfinished.table);
}

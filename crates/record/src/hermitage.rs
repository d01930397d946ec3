//! Hermitage: what each isolation level of a database prevents, found by trying.
//!
//! One scenario an anomaly, each a [script] that would bring it about if nothing stood in the way; the
//! scripts are in `scenarios/` and written from the definitions. Kleppmann's Hermitage did this first, by hand, and its
//! published results are what ours are compared with (`docs/hermitage.md`); the anomalies are those of Adya (*Weak
//! Consistency*, 1999, chapters 3 and 4) and of Bailis et al. (*Highly Available Transactions*, 2014, appendix A).
//!
//! A scenario that goes through without the anomaly does not prove that the level excludes it, only that it did this
//! time; one that shows it proves that the level does not.

use std::fmt;

use crate::database::{Class, Database, Failure, Vendor};
use crate::isolation::isolations;
use crate::script::{self, Options, Prevention, Script, ScriptError, Transcript, Verdict};

/// One anomaly and the script that would bring it about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// What the literature calls it.
    pub code: &'static str,
    /// The script.
    pub text: &'static str,
}

macro_rules! scenarios {
    ($($code:literal $file:literal),* $(,)?) => {
        &[$(Scenario { code: $code, text: include_str!(concat!("../scenarios/", $file, ".script")) }),*]
    };
}

/// The scenarios of the table, weaker anomalies first.
pub static SCENARIOS: &[Scenario] = scenarios![
    "G0" "g0",
    "G1a" "g1a",
    "G1b" "g1b",
    "G1c" "g1c",
    "OTV" "otv",
    "PMP" "pmp",
    "PMP-write" "pmp-write",
    "P4" "p4",
    "G-single" "g-single",
    "G-single-predicate" "g-single-predicate",
    "G-single-write" "g-single-write",
    "G2-item" "g2-item",
    "G2" "g2",
    "G2-two-edges" "g2-two-edges",
];

/// What else a snapshot prevents, if all reads come from it: also those of one's own updates.
pub static SNAPSHOTS: &[Scenario] = scenarios![
    "P2" "p2",
    "own-update" "own-update",
    "own-update-vanishes" "own-update-vanishes",
    "own-update-phantom" "own-update-phantom",
];

impl Scenario {
    /// The script, ready to run.
    pub fn script(&self) -> Result<Script, ScriptError> {
        script::parse(self.text)
    }
}

/// What came of one scenario at one level.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The scenario's code.
    pub code: &'static str,
    /// The isolation level.
    pub level: String,
    /// How many cells were done before this one.
    pub number: usize,
    /// How many cells there are.
    pub total: usize,
    /// What became of the anomaly.
    pub outcome: Outcome,
    /// All that happened.
    pub transcript: Transcript,
}

/// What became of an anomaly at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It happened.
    Allowed,
    /// It did not.
    Prevented(Prevention),
}

impl Outcome {
    /// Whether it did not happen.
    pub const fn is_prevented(self) -> bool {
        matches!(self, Outcome::Prevented(_))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Outcome::Allowed => "- allowed",
            Outcome::Prevented(Prevention::Unseen) => "✓ unseen",
            Outcome::Prevented(Prevention::Waited) => "✓ waits",
            Outcome::Prevented(Prevention::Failed(class)) => match class {
                Class::Serialization => "✓ serialization",
                Class::Deadlock => "✓ deadlock",
                Class::LockTimeout => "✓ lock-timeout",
                Class::Busy => "✓ busy",
                Class::Constraint => "✓ constraint",
                Class::RolledBack | Class::Connection | Class::Denied | Class::Other => "✓ fails",
            },
        })
    }
}

/// What each level prevents.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Whose database it is.
    pub vendor: Vendor,
    /// What it says of itself.
    pub version: String,
    /// The isolation levels, a column each.
    pub levels: Vec<String>,
    /// The scenarios, a row each.
    pub rows: Vec<Row>,
}

/// What each level does about one anomaly.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What the literature calls it.
    pub code: &'static str,
    /// What it is called in words.
    pub name: String,
    /// What each level does about it.
    pub cells: Vec<Cell>,
}

impl Table {
    /// What a level does about an anomaly.
    pub fn outcome(&self, code: &str, level: &str) -> Option<Outcome> {
        let column = self.levels.iter().position(|known| known == level)?;
        let row = self.rows.iter().find(|row| row.code == code)?;
        row.cells.get(column).map(|cell| cell.outcome)
    }
}

/// The isolation levels that a database has names for, weaker ones first.
pub fn levels(vendor: Vendor) -> Vec<&'static str> {
    let mut names: Vec<&str> = isolations(vendor).iter().map(|row| row.name).collect();
    // The same name is there twice where a setting of the server matters; the server has it or not.
    names.dedup();
    names
}

/// Runs scenarios at every level. `open` opens the database at a level; `on_cell` hears of every result.
///
/// It fails when the database cannot be opened, and when a scenario cannot be carried out on it.
pub fn hermitage<E: From<Failure>>(
    scenarios: &[Scenario],
    levels: &[&str],
    mut open: impl FnMut(&str) -> Result<Box<dyn Database>, E>,
    options: &Options,
    on_cell: &mut dyn FnMut(&Cell),
) -> Result<Table, E> {
    let scripts: Vec<(&'static str, Script)> = scenarios.iter().map(read).collect::<Result<_, Failure>>()?;
    let rows =
        scripts.iter().map(|(code, script)| Row { code, name: script.name.clone(), cells: Vec::new() });
    let mut table = Table {
        vendor: Vendor::Memory,
        version: String::new(),
        levels: levels.iter().map(|&level| level.to_owned()).collect(),
        rows: rows.collect(),
    };
    let total = scripts.len() * levels.len();
    let mut number = 0;
    for level in levels {
        let database = open(level)?;
        (table.vendor, table.version) = (database.vendor(), database.version().to_owned());
        for ((code, script), row) in scripts.iter().zip(&mut table.rows) {
            let (outcome, transcript) = attempt(code, script, level, database.as_ref(), options)?;
            let cell = Cell { code, level: (*level).to_owned(), number, total, outcome, transcript };
            on_cell(&cell);
            row.cells.push(cell);
            number += 1;
        }
    }
    Ok(table)
}

fn read(scenario: &Scenario) -> Result<(&'static str, Script), Failure> {
    let script = scenario.script().map_err(|error| other(format!("{}: {error}", scenario.code)))?;
    Ok((scenario.code, script))
}

fn attempt(
    code: &str,
    script: &Script,
    level: &str,
    database: &dyn Database,
    options: &Options,
) -> Result<(Outcome, Transcript), Failure> {
    let place = |failure: &Failure| Failure {
        message: format!("{code} at {level}: {}", failure.message),
        ..failure.clone()
    };
    let transcript = script.run(database, options, &mut |_| {}).map_err(|failure| place(&failure))?;
    let outcome = match &transcript.verdict {
        Some(Verdict::Happened) => Outcome::Allowed,
        Some(Verdict::Prevented(how)) => Outcome::Prevented(*how),
        Some(Verdict::Undecided(failure)) => return Err(place(failure)),
        None => return Err(other(format!("{code} does not say when its anomaly happened"))),
    };
    Ok((outcome, transcript))
}

fn other(message: String) -> Failure {
    Failure { class: Class::Other, code: None, message }
}

/// The rows under the levels.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.rows.iter().map(|row| row.code.len()).max().unwrap_or(0);
        let widths: Vec<usize> =
            self.levels.iter().map(|level| level.len().max("✓ serialization".chars().count())).collect();
        let mut head = format!("{:code$}", "");
        for (level, width) in self.levels.iter().zip(&widths) {
            head.push_str(&format!("  {level:width$}"));
        }
        writeln!(f, "{}", head.trim_end())?;
        for row in &self.rows {
            let mut line = format!("{:code$}", row.code);
            for (cell, width) in row.cells.iter().zip(&widths) {
                line.push_str(&format!("  {:width$}", cell.outcome));
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

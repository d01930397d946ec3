//! Hermitage: which anomalies each isolation level of a database prevents, found by experiment.
//!
//! There is one scenario per anomaly. It is a [script] that provokes the anomaly unless the database prevents it. The
//! scripts are in `scenarios/` and written from the definitions: Adya (*Weak Consistency*, 1999, chapters 3 and 4) and
//! Bailis et al. (*Highly Available Transactions*, 2014, appendix A). The idea is Kleppmann's Hermitage; `docs/hermitage.md`
//! compares our results with its published ones.
//!
//! If the anomaly happens, the level allows it. If it does not happen, that proves nothing beyond this interleaving.

use std::fmt;

use crate::database::{Class, Database, Failure, Vendor};
use crate::isolation::isolations;
use crate::script::{self, Options, Prevention, Script, ScriptError, Transcript, Verdict};

/// An anomaly and the script that provokes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The anomaly's name in the literature.
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

/// Anomalies that snapshots prevent if all reads use them, including the reads of the transaction's own updates.
pub static SNAPSHOTS: &[Scenario] = scenarios![
    "P2" "p2",
    "own-update" "own-update",
    "own-update-vanishes" "own-update-vanishes",
    "own-update-phantom" "own-update-phantom",
];

impl Scenario {
    /// The parsed script.
    pub fn script(&self) -> Result<Script, ScriptError> {
        script::parse(self.text)
    }
}

/// The result of one scenario at one level.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The scenario's code.
    pub code: &'static str,
    /// The isolation level.
    pub level: String,
    /// The index of this cell in the order of execution.
    pub number: usize,
    /// The number of cells.
    pub total: usize,
    /// Whether the anomaly happened.
    pub outcome: Outcome,
    /// The transcript of the script.
    pub transcript: Transcript,
}

/// Whether an anomaly happened at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It happened.
    Allowed,
    /// It did not.
    Prevented(Prevention),
}

impl Outcome {
    /// Whether the anomaly did not happen.
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

/// The results of all scenarios at all levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The vendor of the database.
    pub vendor: Vendor,
    /// Product and version of the database.
    pub version: String,
    /// The isolation levels, one per column.
    pub levels: Vec<String>,
    /// The scenarios, one per row.
    pub rows: Vec<Row>,
}

/// The results of one scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The anomaly's name in the literature.
    pub code: &'static str,
    /// The anomaly's name in words.
    pub name: String,
    /// One result per level.
    pub cells: Vec<Cell>,
}

impl Table {
    /// The result of a scenario at a level.
    pub fn outcome(&self, code: &str, level: &str) -> Option<Outcome> {
        let column = self.levels.iter().position(|known| known == level)?;
        let row = self.rows.iter().find(|row| row.code == code)?;
        row.cells.get(column).map(|cell| cell.outcome)
    }
}

/// The names of the isolation levels of a database, weaker ones first.
pub fn levels(vendor: Vendor) -> Vec<&'static str> {
    let mut names: Vec<&str> = isolations(vendor).iter().map(|row| row.name).collect();
    // A name that depends on a server setting appears twice. The server has only one of the two.
    names.dedup();
    names
}

/// The error that ended the scenarios, and the results until then. Rows may have fewer cells than there are levels.
#[derive(Debug)]
pub struct Unfinished<E> {
    /// The error.
    pub error: E,
    /// The results.
    pub table: Box<Table>,
}

/// Runs scenarios at every level. `open` opens the database at a level; `on_cell` is called with every result.
///
/// It fails if the database cannot be opened, or if a scenario cannot be executed on it.
pub fn hermitage<E: From<Failure>>(
    scenarios: &[Scenario],
    levels: &[&str],
    mut open: impl FnMut(&str) -> Result<Box<dyn Database>, E>,
    options: &Options,
    on_cell: &mut dyn FnMut(&Cell),
) -> Result<Table, Unfinished<E>> {
    let mut table = Table {
        vendor: Vendor::Memory,
        version: String::new(),
        levels: levels.iter().map(|&level| level.to_owned()).collect(),
        rows: Vec::new(),
    };
    match fill(&mut table, scenarios, levels, &mut open, options, on_cell) {
        Ok(()) => Ok(table),
        Err(error) => Err(Unfinished { error, table: Box::new(table) }),
    }
}

/// Fills a table, level by level.
fn fill<E: From<Failure>>(
    table: &mut Table,
    scenarios: &[Scenario],
    levels: &[&str],
    open: &mut impl FnMut(&str) -> Result<Box<dyn Database>, E>,
    options: &Options,
    on_cell: &mut dyn FnMut(&Cell),
) -> Result<(), E> {
    let scripts: Vec<(&'static str, Script)> = scenarios.iter().map(read).collect::<Result<_, Failure>>()?;
    let rows =
        scripts.iter().map(|(code, script)| Row { code, name: script.name.clone(), cells: Vec::new() });
    table.rows = rows.collect();
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
    Ok(())
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
    let transcript = script.run(database, options, &mut |_| {}).map_err(|error| place(&error.failure))?;
    let outcome = match &transcript.verdict {
        Some(Verdict::Happened) => Outcome::Allowed,
        Some(Verdict::Prevented(how)) => Outcome::Prevented(*how),
        Some(Verdict::Undecided(failure)) => return Err(place(failure)),
        None => return Err(other(format!("the script of {code} has no section `anomaly when:`"))),
    };
    Ok((outcome, transcript))
}

fn other(message: String) -> Failure {
    Failure { class: Class::Other, code: None, message }
}

/// A header of levels, then one line per row.
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

//! `isoscope hermitage`: what each isolation level of a database prevents, as a table.

use isoscope_record::hermitage::{self, Outcome, SCENARIOS, Table};
use isoscope_record::{OpenError, Vendor, isolation, isolations, script};

use crate::args::HermitageArgs;
use crate::commands::database::{Chosen, refuse};
use crate::exit::Exit;
use crate::terminal::{BOLD, DIM, ERROR, GOOD, Terminal, Unit, styled};

pub(crate) fn run(args: &HermitageArgs, terminal: &Terminal) -> Exit {
    match table(args, terminal) {
        Ok(table) => {
            terminal.print(&render(&table));
            if terminal.lost_output() { Exit::Failed } else { Exit::Holds }
        }
        Err(exit) => exit,
    }
}

fn table(args: &HermitageArgs, terminal: &Terminal) -> Result<Table, Exit> {
    let chosen = Chosen::new(&args.database, terminal)?;
    // Which vendor it really is, only the server knows.
    let vendor = chosen.open(None, terminal)?.vendor();
    let levels = levels(vendor, &args.isolation).map_err(|error| refuse(&error, terminal))?;
    let bar = terminal.progress("trying", Some((SCENARIOS.len() * levels.len()) as u64), Unit::Count);
    let open = |level: &str| chosen.target.open(Some(level), &chosen.options);
    let options = script::Options::default();
    let result = hermitage::hermitage(SCENARIOS, &levels, open, &options, &mut |cell| {
        bar.set_message(format!("trying {} at {}", cell.code, cell.level));
        bar.inc(1);
    });
    bar.finish_and_clear();
    result.map_err(|error| refuse(&error, terminal))
}

/// The levels asked for, by the database's own names; all of them if none is.
fn levels(vendor: Vendor, asked: &[String]) -> Result<Vec<&'static str>, OpenError> {
    if asked.is_empty() {
        let mut names: Vec<&str> = isolations(vendor).iter().map(|row| row.name).collect();
        names.dedup();
        return Ok(names);
    }
    asked.iter().map(|name| Ok(isolation(vendor, name)?.name)).collect()
}

fn render(table: &Table) -> String {
    let first = table.rows.iter().map(|row| row.code.len()).max().unwrap_or(0);
    let widths: Vec<usize> = table.levels.iter().map(|level| level.len().max(15)).collect();
    let mut text = format!("{}\n\n{:first$}", styled(BOLD, &table.version), "");
    for (level, width) in table.levels.iter().zip(&widths) {
        text.push_str(&format!("  {level:<width$}"));
    }
    text.push('\n');
    for row in &table.rows {
        text.push_str(&format!("{:<first$}", row.code));
        for (cell, width) in row.cells.iter().zip(&widths) {
            let style = match cell.outcome {
                Outcome::Allowed => ERROR,
                Outcome::Prevented(_) => GOOD,
            };
            text.push_str(&format!("  {}", styled(style, format!("{:<width$}", cell.outcome.to_string()))));
        }
        text.push_str(&format!("  {}\n", styled(DIM, &row.name)));
    }
    text.push_str(
        "\n✓ prevented, and how: a transaction fails, a step waits, or the anomaly is not to be seen; - allowed\n",
    );
    text
}

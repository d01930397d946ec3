//! `isoscope hermitage`: what each isolation level of a database prevents, as a table.

use isoscope_record::hermitage::{self, SCENARIOS, Table, Unfinished};
use isoscope_record::{OpenError, Options, Vendor, isolation, script};

use crate::args::HermitageArgs;
use crate::commands::database::{Chosen, refuse};
use crate::commands::interrupt;
use crate::exit::Exit;
use crate::terminal::{BOLD, DIM, ERROR, Terminal, Unit, styled};

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
    let chosen = Chosen::new(&args.database, 0, terminal)?;
    // Only the server knows its real vendor: a mysql:// URL may lead to MariaDB.
    let vendor = chosen.open(None, &Options::default(), terminal)?.vendor();
    let levels = levels(vendor, &args.isolation).map_err(|error| refuse(&error, terminal))?;
    let bar = terminal.progress("running", Some((SCENARIOS.len() * levels.len()) as u64), Unit::Count);
    let limits = script::connection_limits(vendor);
    let open = |level: &str| chosen.target.open(Some(level), &limits);
    let (_phase, stop) = interrupt::flagged("stopping after the current step", terminal);
    let options = script::Options { stop: Some(stop), ..script::Options::default() };
    let result = hermitage::hermitage(SCENARIOS, &levels, open, &options, &mut |cell| {
        bar.set_message(format!("running {} at {}", cell.code, cell.level));
        bar.inc(1);
    });
    bar.finish_and_clear();
    result.map_err(|Unfinished { error, table }| {
        if table.rows.iter().any(|row| !row.cells.is_empty()) {
            terminal.print(&format!("{}\nThe table is incomplete.\n", render(&table)));
        }
        refuse(&error, terminal)
    })
}

/// The requested levels, by the database's own names; all levels if none is requested.
fn levels(vendor: Vendor, asked: &[String]) -> Result<Vec<&'static str>, OpenError> {
    if asked.is_empty() {
        return Ok(hermitage::levels(vendor));
    }
    asked.iter().map(|name| Ok(isolation(vendor, name)?.name)).collect()
}

/// The table, with the name of each scenario beside its row.
fn render(table: &Table) -> String {
    let plain = table.to_string();
    let width = plain.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let mut lines = plain.lines();
    let mut text = format!("{}\n\n{}\n", styled(BOLD, &table.version), lines.next().unwrap_or_default());
    for (line, row) in lines.zip(&table.rows) {
        let coloured = format!("{line:<width$}").replace("- allowed", &styled(ERROR, "- allowed"));
        text.push_str(&format!("{coloured}  {}\n", styled(DIM, &row.name)));
    }
    text.push_str(
        "\n✓ prevented: a transaction fails, a step waits, or the anomaly does not occur; - allowed\n",
    );
    text
}

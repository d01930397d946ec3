//! Checks a file and prints what was found: `cargo run -p isoscope --example check_file -- history.edn`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use isoscope::{Check, Level, Report};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let bank = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/bank.edn");
    let file = std::env::args().nth(1).unwrap_or_else(|| bank.to_owned());
    let report = check(Path::new(&file))?;
    for result in &report.levels {
        println!("{result}");
    }
    for anomaly in report.anomalies() {
        println!("{anomaly}");
    }
    Ok(())
}

pub(crate) fn check(file: &Path) -> Result<Report, Box<dyn Error>> {
    let history = isoscope::read(file)?;
    for warning in &history.warnings {
        println!("{warning}");
    }
    let levels = [Level::Snapshot, Level::Serializable];
    Ok(Check::new(&history).levels(levels).timeout(Duration::from_secs(30)).run())
}

//! Writes a report as JSON, for machines, and as text, for people.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::fs;
use std::path::Path;

use isoscope::report::{full, json};
use isoscope::{Check, Plain};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::temp_dir();
    write(&directory)?;
    println!("{}", directory.join("isoscope-report.txt").display());
    Ok(())
}

pub(crate) fn write(directory: &Path) -> Result<(), Box<dyn Error>> {
    let history = isoscope::read(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/bank.edn"))?;
    let report = Check::new(&history).name("bank.edn").run();
    let value = json::render(&report.file, Ok(&report));
    fs::write(directory.join("isoscope-report.json"), format!("{value:#}\n"))?;
    // `Plain` adds no emphasis. Implement `Style` for colours or for your own markup.
    fs::write(directory.join("isoscope-report.txt"), full::render(&report, &Plain))?;
    Ok(())
}

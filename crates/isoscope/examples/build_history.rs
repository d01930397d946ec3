//! Builds a history in code and checks it: two transactions that lose an update.
#![allow(clippy::print_stdout, reason = "an example prints")]

use isoscope::{Builder, Check, Level, Report, Word};

pub(crate) fn main() {
    let report = check();
    for result in &report.levels {
        println!("{result}");
    }
    assert_eq!(report.verdict_of(Level::ReadAtomic), Word::Holds);
    assert_eq!(report.verdict_of(Level::Snapshot), Word::Violated);
}

pub(crate) fn check() -> Report {
    let mut builder = Builder::new();
    // Keys begin with 0 unless `initial` says otherwise.
    builder.session("alice").txn().read("stock", 0).write("stock", 5);
    builder.session("bob").txn().read("stock", 0).write("stock", 7);
    builder.session("carol").txn().read("stock", 7);
    let history = builder.finish();
    Check::new(&history).name("stock").run()
}

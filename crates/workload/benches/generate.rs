//! Measures how fast histories are generated: `cargo bench -p isoscope-workload`.
//!
//! Runs ten million register operations, and one million list operations, at every level. Prints the time of
//! the run alone, and the time including the construction of the history.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::time::Instant;

use isoscope_workload::{Distribution, Shape, Spec, Store, run};

fn main() {
    println!("{:<20} {:<12} {:<24} {:>8} {:>8} {:>8}", "level", "shape", "keys", "run s", "all s", "M ops/s");
    for level in Store::LEVELS {
        for (shape, txns_per_session, distribution) in [
            (Shape::Register, 10_000, Distribution::Uniform),
            (Shape::Register, 10_000, Distribution::Zipfian { theta: 0.99 }),
            (Shape::ListAppend, 1_000, Distribution::Uniform),
        ] {
            let keys = txns_per_session * 10;
            let base = Spec { sessions: 100, ops_per_txn: 10, ..Spec::default() };
            let spec = Spec { shape, txns_per_session, keys, distribution, level, ..base };
            let start = Instant::now();
            let mut ran = start.elapsed();
            let history = run(&spec, &mut |_, _| ran = start.elapsed()).expect("the workload is valid");
            let (ran, all) = (ran.as_secs_f64(), start.elapsed().as_secs_f64());
            let law = match distribution {
                Distribution::Uniform => "uniform",
                _ => "zipfian",
            };
            println!(
                "{level:<20} {:<12} {:<24} {ran:>8.2} {all:>8.2} {:>8.1}",
                format!("{shape:?}"),
                format!("{keys} {law}"),
                history.op_count() as f64 / all / 1e6
            );
        }
    }
}

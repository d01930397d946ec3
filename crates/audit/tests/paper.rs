//! The paper's models against the brute-force judge, on random logs, and the corpus.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use isoscope_audit::{Model, Options, OrderBy, Verdict, audit};
use isoscope_audit_oracle::fixtures::figure_8;
use isoscope_audit_oracle::generate::{Size, any};
use isoscope_audit_oracle::{self as oracle, Random, TinyLog};

fn order_of(order: oracle::Order) -> OrderBy {
    match order {
        oracle::Order::Solve => OrderBy::Solve,
        oracle::Order::Timestamps => OrderBy::Timestamps,
    }
}

/// The verdict in the judge's words; `None` if it is undecided.
fn verdict(log: &TinyLog, model: oracle::Model, order: oracle::Order) -> Option<oracle::Verdict> {
    let mut options = Options::new(Model::named(model.name()).unwrap());
    options.order = order_of(order);
    match audit(&log.to_log(model), &options, &()).unwrap().verdict {
        Verdict::Explained(_) => Some(oracle::Verdict::Explained),
        Verdict::Violated(violation) => Some(oracle::Verdict::Violated(violation.entry - TinyLog::LOADED)),
        Verdict::Undecided(_) => None,
    }
}

/// Compares verdicts and prefixes for random logs of each model and order.
fn compare(seeds: std::ops::Range<u64>) {
    for order in [oracle::Order::Timestamps, oracle::Order::Solve] {
        for model in oracle::Model::PAPER {
            let start = Instant::now();
            let mut counts = [0; 2];
            for seed in seeds.clone() {
                let log = any(model, Size::TINY, &mut Random::new(seed));
                let expected = oracle::judge(&log, model, order);
                let found = verdict(&log, model, order);
                assert_eq!(
                    found,
                    Some(expected),
                    "{} {order:?} seed {seed}\n{}",
                    model.name(),
                    log.to_text(model)
                );
                counts[usize::from(expected != oracle::Verdict::Explained)] += 1;
            }
            println!("{} {order:?}: {counts:?} in {:?}", model.name(), start.elapsed());
        }
    }
}

#[test]
fn random_logs_have_the_verdicts_of_the_judge() {
    compare(0..4_000);
}

#[test]
#[ignore = "takes long"]
fn a_million_random_logs() {
    let from = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1_000_000);
    compare(from..from + 200_000);
}

//! The judge of the paper's models: statistics, laws, and examples by hand.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on should not; figures are for reading"
)]

use std::time::Instant;

use isoscope_audit_oracle::generate::{Size, any};
use isoscope_audit_oracle::{Model, Order, Random, TinyLog, Verdict, judge};

#[test]
fn explained_and_violated_are_frequent() {
    for order in [Order::Timestamps, Order::Solve] {
        for model in Model::PAPER {
            let start = Instant::now();
            let (mut explained, mut violated, mut slowest) = (0, 0, (0, 0));
            for seed in 0..600 {
                let log = any(model, Size::TINY, &mut Random::new(seed));
                let began = Instant::now();
                let verdict = judge(&log, model, order);
                slowest = slowest.max((began.elapsed().as_micros(), seed));
                *(if verdict == Verdict::Explained { &mut explained } else { &mut violated }) += 1;
            }
            let (name, time) = (model.name(), start.elapsed());
            println!(
                "{name} {order:?}: {explained} explained, {violated} violated, {time:?}, slowest {slowest:?}"
            );
            assert!(explained > 100 && violated > 100);
        }
    }
}

/// A stronger model explains less, and a given order less than any order.
#[test]
fn stronger_explains_less() {
    use Model::{PaperRc, PaperS, PaperSi, PaperSs, PaperSsi};
    let explains = |log: &TinyLog, model, order| judge(log, model, order) == Verdict::Explained;
    for seed in 0..600 {
        let log = any(PaperSi, Size { txns: 3, statements: 2, rows: 2 }, &mut Random::new(seed));
        for order in [Order::Timestamps, Order::Solve] {
            for (stronger, weaker) in
                [(PaperSs, PaperS), (PaperS, PaperSi), (PaperSi, PaperRc), (PaperSsi, PaperSi)]
            {
                let is_law = !explains(&log, stronger, order) || explains(&log, weaker, order);
                assert!(is_law, "{} {} {order:?} seed {seed}", stronger.name(), weaker.name());
            }
        }
        for model in Model::PAPER {
            let is_law = !explains(&log, model, Order::Timestamps) || explains(&log, model, Order::Solve);
            assert!(is_law, "{} seed {seed}\n{}", model.name(), log.to_text(model));
        }
    }
}

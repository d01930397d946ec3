//! The evaluation of the Isolde paper: 46 problems with 3 to 10 transactions, 5 keys and 5 values, beside Isolde's times
//! (`isolde.tsv`), and the bars that the search has to reach.
//!
//! ```text
//! cargo bench -p isoscope-synth --bench isolde                    3 to 10 transactions
//! cargo bench -p isoscope-synth --bench isolde -- 3 7             3 to 7 transactions
//! cargo bench -p isoscope-synth --bench isolde -- 5 5 SI_b/SI_c   one problem
//! ```
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark is a program")]

#[path = "problems/mod.rs"]
mod problems;
#[path = "../../solve/benches/seconds/mod.rs"]
mod seconds;

use std::time::{Duration, Instant};

use isoscope_synth::{Answer, Search};
use problems::Row;
use seconds::seconds;

/// The longest time for one search.
const LIMIT: Duration = Duration::from_secs(120);
/// Short searches are repeated for this many seconds: the clock of the system ticks every 4 milliseconds.
const REPEATED: f64 = 0.04;

/// Transactions and the longest time in seconds, for problems with and without a history.
const BARS: [(bool, usize, f64); 5] =
    [(true, 7, 0.2), (true, 10, 2.0), (false, 5, 0.5), (false, 7, 3.0), (false, 10, 120.0)];
/// How many times as fast as Isolde, in the geometric mean.
const FASTER: f64 = 50.0;

/// The answer of a search, its CPU time in seconds, and the number of candidates.
fn search(row: &Row, txns: usize) -> (Answer, f64, u64) {
    let problem = row.problem();
    let (start, begin, mut times) = (Instant::now(), seconds(), 0);
    loop {
        let mut stop = || start.elapsed() > LIMIT;
        let mut search = Search::new(&problem, problems::scope(txns), &mut stop);
        let answer = search.next(&mut stop);
        times += 1;
        let time = seconds() - begin;
        if time >= REPEATED {
            return (answer, time / f64::from(times), search.figures().candidates);
        }
    }
}

/// The logarithms of ratios.
#[derive(Default)]
struct Ratios {
    sum: f64,
    count: u32,
}

impl Ratios {
    fn add(&mut self, ratio: f64) {
        self.sum += ratio.ln();
        self.count += 1;
    }

    fn mean(&self) -> f64 {
        (self.sum / f64::from(self.count.max(1))).exp()
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let number = |i: usize, default: usize| args.get(i).and_then(|arg| arg.parse().ok()).unwrap_or(default);
    let (from, to) = (number(0, 3), number(1, 10));
    println!(
        "A cell: CPU milliseconds / candidates, and in brackets the milliseconds of Isolde. With 3 to 7 transactions these are"
    );
    println!("CPU time, measured again; * is the wall-clock time that its authors published.");
    let heads: Vec<String> =
        (from..=to).map(|txns| format!("{:>24}", format!("{txns} transactions"))).collect();
    println!("{:<18} {:<5}{}", "problem", "", heads.concat());
    let (mut cpu, mut wall) = (Ratios::default(), Ratios::default());
    let mut slowest: Vec<(bool, usize, f64)> = Vec::new();
    let mut wrong = 0;
    for row in problems::rows() {
        if args.get(2).is_some_and(|only| *only != row.problem) {
            continue;
        }
        let mut line = format!("{:<18} {:<5}", row.problem, if row.is_found(4) { "SAT" } else { "UNSAT" });
        for txns in from..=to {
            let (answer, time, candidates) = search(&row, txns);
            let is_right = match answer {
                Answer::Found(_) => row.is_found(txns),
                Answer::Nothing => !row.is_found(txns),
                Answer::Stopped | Answer::Large => false,
            };
            wrong += u32::from(!is_right);
            let isolde = match row.isolde(txns) {
                Some((ms, is_cpu)) => {
                    let ratios = if is_cpu { &mut cpu } else { &mut wall };
                    ratios.add(ms / 1e3 / time);
                    format!("[{ms}{}]", if is_cpu { "" } else { "*" })
                }
                None if txns == 7 => format!("[{}]", row.published[0]),
                None => String::new(),
            };
            let mark = if is_right { "" } else { "WRONG " };
            let cell = format!("{mark}{:.1}/{candidates} {isolde}", time * 1e3);
            line += &format!("{cell:>24}");
            // A problem that has no history with this many transactions is not a satisfiable one.
            slowest.push((row.is_found(txns), txns, time));
        }
        println!("{line}");
    }
    println!();
    for (is_found, txns, bar) in BARS {
        let times = slowest.iter().filter(|(found, n, _)| (*found, *n) == (is_found, txns));
        let Some(longest) = times.map(|(.., time)| *time).reduce(f64::max) else { continue };
        let kind = if is_found { "satisfiable" } else { "unsatisfiable" };
        let verdict = if longest <= bar { "reached" } else { "MISSED" };
        println!("{kind}, {txns} transactions: at most {longest:.3} s; the bar is {bar} s: {verdict}");
    }
    println!(
        "geometric mean of Isolde / isoscope: {:.0} in {} cells of CPU time, {:.0} in {} cells of published wall-clock time; the bar is {FASTER}",
        cpu.mean(),
        cpu.count,
        wall.mean(),
        wall.count
    );
    println!("wrong answers or limits: {wrong}");
}

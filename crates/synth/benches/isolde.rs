//! The evaluation of the Isolde paper: 46 problems with 3 to 10 transactions, 5 keys and 5 values.
//!
//! ```text
//! cargo bench -p isoscope-synth                    3 to 7 transactions
//! cargo bench -p isoscope-synth -- 3 10            3 to 10 transactions
//! cargo bench -p isoscope-synth -- 5 5 SI_b/SI_c   one problem
//! ```
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark is a program")]

use std::time::{Duration, Instant};

use isoscope_levels::language::Library;
use isoscope_synth::{Answer, Problem, Scope, Search};

/// The longest time for one search.
const LIMIT: Duration = Duration::from_secs(120);

/// The problems as `allow,allow/forbid`, with `_b` for commit order and `_c` for visibility; and whether there is a history.
fn problems() -> Vec<(String, bool)> {
    let mut problems = Vec::new();
    for f in ["b", "c"] {
        for (allow, forbid) in [("RA", "CC"), ("CC", "PC"), ("PC", "SI"), ("SI", "SER")] {
            problems.push((format!("{allow}_{f}/{forbid}_{f}"), true));
            problems.push((format!("{forbid}_{f}/{allow}_{f}"), false));
            let g = if f == "b" { "c" } else { "b" };
            problems.push((format!("{allow}_{f}/{forbid}_{g}"), true));
        }
        for level in ["RA", "CC", "PC", "SI", "SER"] {
            let g = if f == "b" { "c" } else { "b" };
            problems.push((format!("{level}_{f}/{level}_{g}"), false));
        }
        for g in ["b", "c"] {
            for h in ["b", "c"] {
                problems.push((format!("SI_{f},USER_{g}/SER_{h}"), true));
            }
        }
    }
    problems.push(("TAPRA_b/RA_b".to_owned(), true));
    for (allow, forbid) in [("RA_b", "TAPRA_b"), ("CC_b", "TAPCC_b"), ("TAPCC_b", "CC_b")] {
        problems.push((format!("{allow}/{forbid}"), false));
    }
    problems.sort_by_key(|(_, is_found)| !is_found);
    problems
}

/// The name of a level in the library.
fn name(short: &str) -> String {
    let (level, framework) = short.split_once('_').unwrap();
    let level = match level {
        "TAPRA" => "plume-read-atomic-published",
        "TAPCC" => "plume-causal",
        "USER" => "serializable-updates",
        level => level,
    };
    format!("{level}@{}", if framework == "b" { "commit-order" } else { "visibility" })
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let number = |i: usize, default: usize| args.get(i).and_then(|arg| arg.parse().ok()).unwrap_or(default);
    let (from, to) = (number(0, 3), number(1, 7));
    let library = Library::shipped();
    for (problem, is_found) in problems() {
        if args.get(2).is_some_and(|only| *only != problem) {
            continue;
        }
        let (allow, forbid) = problem.split_once('/').unwrap();
        let mut line = format!("{problem:<20} {:<5}", if is_found { "SAT" } else { "UNSAT" });
        for txns in from..=to {
            let problem = Problem {
                allow: allow.split(',').map(|level| library.find(&name(level)).unwrap()).collect(),
                forbid: vec![library.find(&name(forbid)).unwrap()],
                ..Problem::default()
            };
            let scope =
                Scope { values: Some(5), chains: false, reads_before_writes: true, ..Scope::new(txns, 5) };
            let start = Instant::now();
            let mut search = Search::new(&problem, scope);
            let answer = search.next(&mut || start.elapsed() > LIMIT);
            let seconds = start.elapsed().as_secs_f64();
            let mark = match answer {
                Answer::Found(_) if is_found => "",
                Answer::Nothing if !is_found => "",
                Answer::Stopped => ">",
                Answer::Nothing if allow.contains("CC") && txns == 3 => "",
                _ => "WRONG ",
            };
            line += &format!(" {mark}{seconds:>8.3}/{:<4}", search.figures().candidates);
        }
        println!("{line}");
    }
}

//! The time of a check from a text file to the verdict, compared with the best published checker.
//!
//! ```text
//! cargo bench -p isoscope-cli              the histories of the first three rows, growth, threads
//! cargo bench -p isoscope-cli -- --full    and one of 50 million operations (1.4 GB of text, some minutes)
//! ```
//!
//! `isoscope generate` produces the histories, and a fresh process checks each. Wall times are the median of
//! nine runs. AWDIT's CPU times (it has one thread) were measured on a machine on which `sha256sum` of the
//! file of the third row takes 1.35 s of CPU. They are scaled by the ratio of this machine's `sha256sum` time
//! to that.
#![allow(clippy::print_stdout, reason = "a benchmark is a program")]

mod measure;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use measure::{ISOSCOPE, median, typical};

/// The CPU time of `sha256sum` of the third row's file, in seconds, on the machine where AWDIT was measured.
const SHA256_THERE: f64 = 1.35;
const LEVELS: [&str; 3] = ["read-committed", "read-atomic", "causal"];

/// A history, and AWDIT's figures for it: CPU seconds at each level, and peak memory in megabytes.
struct Row {
    name: &'static str,
    sessions: u32,
    txns: u32,
    ops: u32,
    keys: u32,
    distribution: &'static str,
    awdit: [Option<f64>; 3],
    awdit_mb: Option<f64>,
}

const ROWS: [Row; 4] = [
    Row {
        name: "25 x 200 x 20, uniform",
        sessions: 25,
        txns: 200,
        ops: 20,
        keys: 10_000,
        distribution: "uniform",
        awdit: [Some(0.06), Some(0.10), Some(0.18)],
        awdit_mb: Some(30.0),
    },
    Row {
        name: "50 x 2,000 x 20, zipfian",
        sessions: 50,
        txns: 2_000,
        ops: 20,
        keys: 10_000,
        distribution: "zipfian",
        awdit: [Some(1.2), Some(1.8), Some(13.5)],
        awdit_mb: Some(3_100.0),
    },
    Row {
        name: "100 x 10,000 x 10, uniform",
        sessions: 100,
        txns: 10_000,
        ops: 10,
        keys: 100_000,
        distribution: "uniform",
        awdit: [Some(7.6), Some(11.4), None],
        awdit_mb: Some(1_400.0),
    },
    Row {
        name: "100 x 10,000 x 50, uniform",
        sessions: 100,
        txns: 10_000,
        ops: 50,
        keys: 100_000,
        distribution: "uniform",
        awdit: [Some(61.0), None, None],
        awdit_mb: Some(3_600.0),
    },
];

fn main() {
    let full = std::env::args().any(|arg| arg == "--full");
    let rows = if full { &ROWS[..] } else { &ROWS[..3] };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let files: Vec<PathBuf> = rows.iter().zip(1..).map(|(row, i)| make(directory.path(), row, i)).collect();
    let here = sha256sum(&files[2]);
    let factor = here.map(|seconds| seconds / SHA256_THERE);
    if let Some(seconds) = here {
        println!(
            "sha256sum of the third history: {seconds:.2} s here, {SHA256_THERE} s where AWDIT was measured\n"
        );
    }
    compare(rows, &files, factor);
    grow(directory.path());
    scale(&files[2]);
}

fn compare(rows: &[Row], files: &[PathBuf], factor: Option<f64>) {
    println!(
        "{:<27} {:<15} {:>7} {:>7} {:>8} {:>6} {:>11} {:>8} {:>9} {:>8}",
        "sessions x txns x ops",
        "level",
        "wall s",
        "CPU s",
        "peak MB",
        "B/op",
        "AWDIT s",
        "x faster",
        "AWDIT MB",
        "x less"
    );
    for (row, file) in rows.iter().zip(files) {
        for (level, awdit) in LEVELS.iter().zip(row.awdit) {
            let took = typical(file, level, None);
            let translated = awdit.zip(factor).map(|(seconds, factor)| seconds * factor);
            let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            let ops = f64::from(row.sessions) * f64::from(row.txns) * f64::from(row.ops);
            println!(
                "{:<27} {:<15} {:>7.3} {:>7.2} {:>8.0} {:>6.0} {:>11} {:>8} {:>9} {:>8}",
                row.name,
                level,
                took.wall,
                took.cpu,
                took.peak_mb,
                took.peak_mb * 1e6 / ops,
                or_dash(translated.map(|seconds| format!("{seconds:.2}"))),
                or_dash(translated.map(|seconds| format!("{:.1}", seconds / took.wall))),
                or_dash(row.awdit_mb.map(|mb| format!("{mb:.0}"))),
                or_dash(row.awdit_mb.map(|mb| format!("{:.1}", mb / took.peak_mb))),
            );
        }
    }
}

/// At 100 sessions, the time per operation must not grow with the number of operations.
fn grow(directory: &Path) {
    println!("\n{:>12} {:>15} {:>7} {:>7} {:>7}", "operations", "level", "wall s", "CPU s", "ns/op");
    for txns in [1_250, 2_500, 5_000, 10_000] {
        let row = Row { name: "", txns, ..ROWS[2] };
        let file = make(directory, &row, 100 + txns);
        let ops = f64::from(row.sessions) * f64::from(txns) * f64::from(row.ops);
        for level in ["read-committed", "causal"] {
            let took = typical(&file, level, None);
            println!(
                "{ops:>12} {level:>15} {:>7.2} {:>7.2} {:>7.0}",
                took.wall,
                took.cpu,
                1e9 * took.wall / ops
            );
        }
    }
}

fn scale(file: &Path) {
    println!("\n{:>15} {:>9} {:>9} {:>7}", "third row", "1 thread", "2 threads", "ratio");
    for level in LEVELS {
        let (one, two) = (typical(file, level, Some(1)), typical(file, level, Some(2)));
        println!("{level:>15} {:>7.2} s {:>7.2} s {:>7.2}", one.wall, two.wall, one.wall / two.wall);
    }
}

fn make(directory: &Path, row: &Row, number: u32) -> PathBuf {
    let file = directory.join(format!("{number}.txt"));
    let numbers =
        [("--sessions", row.sessions), ("--txns", row.txns), ("--ops", row.ops), ("--keys", row.keys)];
    let mut generate = Command::new(ISOSCOPE);
    generate.args(["-q", "generate", "--seed", "1", "--to", "plume", "--distribution", row.distribution]);
    for (option, n) in numbers {
        generate.arg(option).arg(n.to_string());
    }
    let status = generate.arg("-o").arg(&file).status().expect("isoscope runs");
    assert!(status.success(), "isoscope generate failed");
    file
}

fn sha256sum(path: &Path) -> Option<f64> {
    let run = || Command::new("sha256sum").arg(path).output().is_ok_and(|output| output.status.success());
    run().then(|| {
        median(|| {
            let started = Instant::now();
            run();
            started.elapsed().as_secs_f64()
        })
    })
}

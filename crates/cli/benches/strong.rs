//! The time of the strong levels from a file to the verdict, compared with VeriStrong.
//!
//! ```text
//! cargo bench -p isoscope-cli --bench strong              the published histories, if they are next to the project, and growth
//! cargo bench -p isoscope-cli --bench strong -- --full    and 100,000 transactions with repeated values, one million of
//!                                                     read-modify-writes
//! ```
//!
//! Every check is a fresh process. Wall times are the median of nine runs. VeriStrong's CPU times were
//! measured on a machine like the one this was written on. Its histories are not part of the project.
#![allow(clippy::print_stdout, reason = "a benchmark is a program")]

mod measure;

use std::path::Path;
use std::process::Command;

use measure::{ISOSCOPE, Measured, ending, typical};
use serde_json::Value;

/// A published history, and the CPU seconds that VeriStrong takes to find it serializable.
const PUBLISHED: [(&str, Option<f64>); 9] = [
    ("tpcc-10k", Some(1.4)),
    ("twitter-10k", Some(4.6)),
    ("rubis-10k", Some(13.1)),
    ("RH-10k/hist-00000", Some(3.7)),
    ("BL-10k/hist-00000", Some(52.8)),
    ("WH-10k/hist-00000", Some(136.0)),
    // No answer within this time.
    ("HD-10k/hist-00000", Some(297.0)),
    ("blindw-rw-10000", Some(39.9)),
    ("blindw-rw-12000", Some(67.1)),
];

fn main() {
    let full = std::env::args().any(|arg| arg == "--full");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/strong");
    if corpus.is_dir() {
        published(&corpus);
    } else {
        println!("the published histories are not here");
    }
    grow(directory.path());
    shapes(directory.path());
    if full {
        scale(directory.path());
    }
}

fn published(corpus: &Path) {
    println!(
        "{:<20} {:>7} {:>7} {:>8} {:>7} {:>9} {:>12} {:>8}",
        "history", "SER s", "CPU s", "peak MB", "SI s", "SI / SER", "VeriStrong s", "x faster"
    );
    let mut ratios = Vec::new();
    for (name, veristrong) in PUBLISHED {
        let file = corpus.join(name);
        let ser = typical(&file, "serializable", None);
        let si = typical(&file, "snapshot-isolation", None);
        let ratio = veristrong.map(|seconds| seconds / ser.cpu.max(0.01));
        ratios.extend(ratio);
        println!(
            "{name:<20} {:>7.2} {:>7.2} {:>8.0} {:>7.2} {:>9.1} {:>12} {:>8}",
            ser.wall,
            ser.cpu,
            ser.peak_mb.max(si.peak_mb),
            si.wall,
            si.wall / ser.wall,
            veristrong.map_or("-".to_owned(), |seconds| format!("{seconds:.1}")),
            ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.0}")),
        );
        println!("{:<20} {}", "", stages(&file, "serializable"));
    }
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    println!("geometric mean: {mean:.0} times faster, CPU to CPU\n");
}

/// The time must not grow much faster than the number of transactions, nor with the number of sessions.
fn grow(directory: &Path) {
    println!("{:>12} {:>9} {:>7} {:>7} {:>8}", "transactions", "sessions", "SER s", "SI s", "peak MB");
    for (txns, sessions) in [(5_000, 25), (10_000, 25), (20_000, 25), (20_000, 50), (20_000, 100)] {
        let file = directory.join(format!("{txns}-{sessions}.txt"));
        let size = Size {
            sessions,
            txns: txns / sessions,
            ops: 20,
            keys: txns / 2,
            more: &["--duplicates", "0.5:100"],
        };
        generate(&file, "serializable", &size);
        let (ser, si) = (typical(&file, "serializable", None), typical(&file, "snapshot-isolation", None));
        println!(
            "{txns:>12} {sessions:>9} {:>7.2} {:>7.2} {:>8.0}",
            ser.wall,
            si.wall,
            ser.peak_mb.max(si.peak_mb)
        );
    }
    println!();
}

/// Workloads that were slow before, each at two sizes: four times the transactions must take about four times
/// as long.
fn shapes(directory: &Path) {
    println!(
        "{:<42} {:>12} {:>7} {:>7} {:>8} {:>7}",
        "history", "transactions", "wall s", "CPU s", "peak MB", "growth"
    );
    let lists: &[&str] = &["--shape", "list-append"];
    let scans =
        ["memory:serializable", "--workload", "scan", "--seed", "1", "--sessions", "8", "--keys", "8"];
    let mut small = [0.0; 3];
    for txns in [5_000, 20_000] {
        let size = |more| Size { sessions: 25, txns: txns / 25, ops: 8, keys: txns / 10, more };
        let file = |name: &str| directory.join(format!("{name}-{txns}.jsonl"));
        let (appended, violating, scanned) = (file("lists"), file("causal"), file("scan"));
        generate_as("native", &appended, "serializable", &size(lists));
        generate_as("native", &violating, "causal", &size(&[]));
        let mut record = Command::new(ISOSCOPE);
        record
            .args(["-q", "record"])
            .args(scans)
            .args(["--txns", &(txns / 8).to_string(), "-o"])
            .arg(&scanned);
        assert!(record.status().expect("isoscope runs").success(), "isoscope record failed");
        let rows = [
            ("list-append, all levels", ending(1, &appended, "", None)),
            ("causal and not more, all levels", ending(1, &violating, "", None)),
            ("scans, inserts and deletes, serializable", typical(&scanned, "serializable", None)),
        ];
        for ((name, Measured { wall, cpu, peak_mb }), small) in rows.into_iter().zip(&mut small) {
            let growth = if *small > 0.0 { format!("{:.1}", wall / *small) } else { "-".to_owned() };
            println!("{name:<42} {txns:>12} {wall:>7.2} {cpu:>7.2} {peak_mb:>8.0} {growth:>7}");
            *small = wall;
        }
    }
    println!();
}

fn scale(directory: &Path) {
    println!("{:<52} {:<20} {:>7} {:>7} {:>8}", "history", "level", "wall s", "CPU s", "peak MB");
    let line = |name: &str, level: &str, measured: &Measured| {
        let Measured { wall, cpu, peak_mb } = measured;
        println!("{name:<52} {level:<20} {wall:>7.1} {cpu:>7.1} {peak_mb:>8.0}");
    };
    for level in ["serializable", "snapshot-isolation"] {
        let file = directory.join(level);
        let more = &["--duplicates", "0.5:100"];
        let size = Size { sessions: 50, txns: 2_000, ops: 20, keys: 50_000, more };
        generate(&file, level, &size);
        line("100,000 transactions, 2 M operations, repeated values", level, &typical(&file, level, None));
    }
    let file = directory.join("million");
    let more = &["--read-modify-write", "1"];
    let size = Size { sessions: 50, txns: 20_000, ops: 6, keys: 200_000, more };
    generate(&file, "serializable", &size);
    let measured = typical(&file, "serializable", None);
    line("1,000,000 read-modify-write transactions, 6 M ops", "serializable", &measured);
}

/// The size of a generated history.
struct Size {
    sessions: u32,
    txns: u32,
    ops: u32,
    keys: u32,
    more: &'static [&'static str],
}

fn generate(file: &Path, level: &str, size: &Size) {
    generate_as("plume", file, level, size);
}

fn generate_as(format: &str, file: &Path, level: &str, size: &Size) {
    let mut generate = Command::new(ISOSCOPE);
    generate.args(["-q", "generate", "--seed", "1", "--to", format, "--level", level]);
    let numbers =
        [("--sessions", size.sessions), ("--txns", size.txns), ("--ops", size.ops), ("--keys", size.keys)];
    for (option, n) in numbers {
        generate.arg(option).arg(n.to_string());
    }
    let status = generate.args(size.more).arg("-o").arg(file).status().expect("isoscope runs");
    assert!(status.success(), "isoscope generate failed");
}

/// The name and time of each stage, from the JSON report.
fn stages(file: &Path, level: &str) -> String {
    let output = Command::new(ISOSCOPE)
        .args(["-q", "check", "--format", "json", "--level", level])
        .arg(file)
        .output()
        .expect("isoscope runs");
    let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    let stages = report["levels"][0]["stages"].as_array().cloned().unwrap_or_default();
    let line = |stage: &Value| {
        let name = stage["stage"].as_str().unwrap_or_default();
        format!("{name} {:.3} s", stage["seconds"].as_f64().unwrap_or_default())
    };
    stages.iter().map(line).collect::<Vec<_>>().join(", ")
}

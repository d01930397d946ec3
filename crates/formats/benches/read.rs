//! Measures how fast each format is read into the indexed model.
//!
//! ```text
//! cargo bench -p isoscope-formats                            all formats, one million operations
//! cargo bench -p isoscope-formats -- --ops 10000000 plume    one format, larger
//! ```
//!
//! Every format is written once from a generated history and read three times, each time by a new process.
//! The smallest CPU time counts. Two ratios are comparable between machines: to counting the newlines of the
//! same file, which is as fast as memory allows, and to `sha256sum` of the file.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use isoscope_formats::{Format, Input, ReadOptions, Target, read, write};
use isoscope_history::History;
use isoscope_workload::{Shape, Spec, run};

/// Set for the process that reads once and reports.
const READ_ONE: &str = "ISOSCOPE_BENCH_READ";
const RUNS: usize = 3;
const DEFAULT_OPS: u64 = 1_000_000;

fn main() {
    if let Ok(path) = std::env::var(READ_ONE) {
        return read_one(Path::new(&path));
    }
    let (ops, formats) = arguments();
    let directory = tempfile::tempdir().expect("a temporary directory");
    println!(
        "{:<22} {:>8} {:>8} {:>8} {:>9} {:>8} {:>10} {:>10} {:>8}",
        "format", "MB", "wall s", "CPU s", "MB/CPU s", "ns/op", "x newlines", "x sha256", "peak MB"
    );
    for (shape, name) in [(Shape::Register, "register"), (Shape::ListAppend, "list-append")] {
        let history = generate(ops, shape);
        for &format in formats.iter().filter(|format| format.is_writable() && **format != Format::Notation) {
            let path = directory.path().join(format!("{format}-{name}"));
            if let Some(bytes) = save(&history, format, &path) {
                report(&format!("{format} {name}"), &path, bytes, history.op_count());
            }
        }
    }
}

fn arguments() -> (u64, Vec<Format>) {
    let mut ops = DEFAULT_OPS;
    let mut formats = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--bench" => {}
            "--ops" => ops = args.next().and_then(|n| n.parse().ok()).expect("--ops takes a number"),
            name => formats.push(Format::from_name(name).unwrap_or_else(|| panic!("no format `{name}`"))),
        }
    }
    (ops, if formats.is_empty() { Format::ALL.to_vec() } else { formats })
}

/// The history of the performance target if `ops` is ten million: 100 sessions of 10,000 transactions of 10.
fn generate(ops: u64, shape: Shape) -> History {
    let txns = u32::try_from(ops / 1000).expect("fewer than 2^32 transactions").max(1);
    let keys = u32::try_from(ops / 100).unwrap_or(u32::MAX).clamp(10, 100_000);
    let spec =
        Spec { sessions: 100, txns_per_session: txns, ops_per_txn: 10, keys, shape, ..Spec::default() };
    run(&spec, &mut |_, _| {}).expect("the workload is valid")
}

/// Writes the history; `None` if the format cannot express it.
fn save(history: &History, format: Format, path: &Path) -> Option<u64> {
    if format.is_directory() {
        write(history, format, Target::Directory(path)).ok()?;
        let entries = std::fs::read_dir(path).ok()?;
        return Some(entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len())).sum());
    }
    let mut out = std::io::BufWriter::new(std::fs::File::create(path).ok()?);
    let written = write(history, format, Target::Stream(&mut out)).is_ok();
    std::io::Write::flush(&mut out).ok()?;
    if written { Some(std::fs::metadata(path).ok()?.len()) } else { None }
}

struct Measured {
    wall: f64,
    cpu: f64,
    peak_mb: f64,
}

fn report(name: &str, path: &Path, bytes: u64, ops: usize) {
    let best = (0..RUNS).map(|_| measure(path)).min_by(|a, b| a.cpu.total_cmp(&b.cpu)).expect("three runs");
    let mb = bytes as f64 / 1e6;
    let ratio = |seconds: Option<f64>| seconds.map_or("-".to_owned(), |s| format!("{:.1}", best.cpu / s));
    println!(
        "{name:<22} {mb:>8.1} {:>8.3} {:>8.3} {:>9.0} {:>8.0} {:>10} {:>10} {:>8.0}",
        best.wall,
        best.cpu,
        mb / best.cpu,
        1e9 * best.cpu / ops as f64,
        ratio(count_newlines(path)),
        ratio(sha256sum(path)),
        best.peak_mb,
    );
}

fn measure(path: &Path) -> Measured {
    let program = std::env::current_exe().expect("the path of this benchmark");
    let output = Command::new(program).env(READ_ONE, path).output().expect("a second process");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [wall, cpu, peak_mb] => Measured { wall, cpu, peak_mb },
        _ => panic!("{}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// Reads once and prints seconds, CPU seconds and peak memory.
fn read_one(path: &Path) {
    let started = Instant::now();
    let reading =
        read(&Input::Path(path.to_owned()), &ReadOptions::default()).unwrap_or_else(|f| panic!("{f}"));
    let wall = started.elapsed().as_secs_f64();
    println!("{wall} {} {}", cpu_seconds(), peak_mb());
    // Freeing the history is not part of reading it.
    std::mem::forget(reading);
}

/// User and system time of this process, from the kernel's scheduler, in nanoseconds if available.
fn cpu_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let of = |task: std::io::Result<std::fs::DirEntry>| -> Option<f64> {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
    };
    tasks.filter_map(of).sum()
}

fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}

fn count_newlines(path: &Path) -> Option<f64> {
    let bytes = std::fs::read(path).ok()?;
    let seconds = |_| {
        let started = Instant::now();
        std::hint::black_box(memchr::memchr_iter(b'\n', &bytes).count());
        started.elapsed().as_secs_f64()
    };
    (0..RUNS).map(seconds).min_by(f64::total_cmp)
}

fn sha256sum(path: &Path) -> Option<f64> {
    if !path.is_file() {
        return None;
    }
    let seconds = |_| {
        let started = Instant::now();
        let done = Command::new("sha256sum").arg(path).output().is_ok_and(|output| output.status.success());
        done.then(|| started.elapsed().as_secs_f64())
    };
    (0..RUNS).filter_map(seconds).min_by(f64::total_cmp)
}

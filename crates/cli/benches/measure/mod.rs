//! The cost of a check in a fresh process: wall time, CPU time, peak memory.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const ISOSCOPE: &str = env!("CARGO_BIN_EXE_isoscope");
pub(crate) const RUNS: usize = 9;

/// The cost of one check.
pub(crate) struct Measured {
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
    pub(crate) peak_mb: f64,
}

/// The cost of a check of a file that satisfies the level: the median wall time of unobserved runs, and the
/// other figures from one more run.
pub(crate) fn typical(file: &Path, level: &str, threads: Option<u32>) -> Measured {
    ending(0, file, level, threads)
}

/// The same for a check that exits with `code`; an empty level means all levels.
pub(crate) fn ending(code: i32, file: &Path, level: &str, threads: Option<u32>) -> Measured {
    let wall = median(|| {
        let started = Instant::now();
        let status = check(file, level, threads).status().expect("isoscope runs");
        assert_eq!(status.code(), Some(code), "the verdict is known");
        started.elapsed().as_secs_f64()
    });
    let mut measured = Measured { wall, cpu: 0.0, peak_mb: 0.0 };
    let mut child = check(file, level, threads).spawn().expect("isoscope runs");
    while child.try_wait().expect("a child").is_none() {
        watch(&child, &mut measured);
        std::thread::sleep(Duration::from_millis(1));
    }
    measured
}

/// The median of several measurements.
pub(crate) fn median(measure: impl FnMut() -> f64) -> f64 {
    let mut all: Vec<f64> = std::iter::repeat_with(measure).take(RUNS).collect();
    all.sort_by(f64::total_cmp);
    all[RUNS / 2]
}

fn check(file: &Path, level: &str, threads: Option<u32>) -> Command {
    let mut check = Command::new(ISOSCOPE);
    check.args(["-q", "check", "--format", "concise"]).arg(file).stdout(Stdio::null());
    if !level.is_empty() {
        check.args(["--level", level]);
    }
    if let Some(threads) = threads {
        check.arg("--threads").arg(threads.to_string());
    }
    check
}

/// Reads from the kernel what a process has used so far.
fn watch(child: &Child, measured: &mut Measured) {
    let proc = PathBuf::from(format!("/proc/{}", child.id()));
    let read = |name: &str| std::fs::read_to_string(proc.join(name)).unwrap_or_default();
    let peak = read("status").lines().find_map(|line| line.strip_prefix("VmHWM:").map(str::to_owned));
    let kb: Option<f64> = peak.and_then(|line| line.split_whitespace().next()?.parse().ok());
    measured.peak_mb = measured.peak_mb.max(kb.unwrap_or(0.0) / 1e3);
    // Fields 14 and 15 are user and system time in hundredths of a second. The process name before them may
    // contain anything, and ends with the last parenthesis.
    let stat = read("stat");
    let fields: Vec<f64> = stat
        .rsplit(')')
        .next()
        .unwrap_or("")
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse().ok())
        .collect();
    measured.cpu = measured.cpu.max(fields.iter().sum::<f64>() / 100.0);
}

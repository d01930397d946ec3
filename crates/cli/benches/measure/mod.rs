//! What a check by a fresh process takes: wall time, CPU time, memory at most.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const ISOSCOPE: &str = env!("CARGO_BIN_EXE_isoscope");
pub(crate) const RUNS: usize = 5;

/// What a check took.
pub(crate) struct Measured {
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
    pub(crate) peak_mb: f64,
}

/// Of several checks of a file that satisfies the level, the one of least wall time.
pub(crate) fn best(file: &Path, level: &str, threads: Option<u32>) -> Measured {
    let runs = (0..RUNS).map(|_| measure(file, level, threads));
    runs.min_by(|a, b| a.wall.total_cmp(&b.wall)).expect("five runs")
}

fn measure(file: &Path, level: &str, threads: Option<u32>) -> Measured {
    let mut check = Command::new(ISOSCOPE);
    check.args(["-q", "check", "--format", "concise", "--level", level]).arg(file).stdout(Stdio::null());
    if let Some(threads) = threads {
        check.arg("--threads").arg(threads.to_string());
    }
    let started = Instant::now();
    let mut child = check.spawn().expect("isoscope runs");
    let mut measured = Measured { wall: 0.0, cpu: 0.0, peak_mb: 0.0 };
    let status = loop {
        watch(&child, &mut measured);
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(status.success(), "the history satisfies the level");
    measured.wall = started.elapsed().as_secs_f64();
    measured
}

/// Reads from the kernel what a process has used so far.
fn watch(child: &Child, measured: &mut Measured) {
    let proc = PathBuf::from(format!("/proc/{}", child.id()));
    let read = |name: &str| std::fs::read_to_string(proc.join(name)).unwrap_or_default();
    let peak = read("status").lines().find_map(|line| line.strip_prefix("VmHWM:").map(str::to_owned));
    let kb: Option<f64> = peak.and_then(|line| line.split_whitespace().next()?.parse().ok());
    measured.peak_mb = measured.peak_mb.max(kb.unwrap_or(0.0) / 1e3);
    // The 14th and 15th field are user and system time, in hundredths of a second; the name in front may
    // hold anything, but ends with the last parenthesis.
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

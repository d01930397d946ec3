//! scratch
#![allow(clippy::all, clippy::pedantic, clippy::print_stdout, clippy::unwrap_used)]
use isoscope_check::*;
use isoscope_formats::*;
use isoscope_levels::Level;
use std::time::Instant;
fn cpu() -> f64 {
    std::fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|t| std::fs::read_to_string(t.ok()?.path().join("schedstat")).ok())
        .map(|s| s.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9)
        .sum()
}
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let (t, c0) = (Instant::now(), cpu());
    let reading = read(&Input::from_arg(path.as_ref()), &ReadOptions::default()).unwrap();
    println!("read {:.3} cpu {:.3}", t.elapsed().as_secs_f64(), cpu() - c0);
    let (t, c0) = (Instant::now(), cpu());
    let mut c = Checker::new(&reading.history, Options::default());
    println!("resolve {:.3} cpu {:.3}", t.elapsed().as_secs_f64(), cpu() - c0);
    let only = std::env::var("L").ok();
    for l in [Level::ReadCommitted, Level::ReadAtomic, Level::Causal]
        .into_iter()
        .filter(|l| only.as_ref().is_none_or(|o| l.name() == o))
    {
        let (t, c0) = (Instant::now(), cpu());
        let j = c.check(l);
        println!(
            "{l} {:.3} cpu {:.3} holds={}",
            t.elapsed().as_secs_f64(),
            cpu() - c0,
            matches!(j.verdict, Verdict::Holds(_))
        );
    }
}

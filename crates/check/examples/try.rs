//! scratch
#![allow(clippy::all, clippy::pedantic, clippy::print_stdout, clippy::unwrap_used)]
use isoscope_check::*;
use isoscope_formats::*;
use isoscope_levels::Level;
use std::time::Instant;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let t = Instant::now();
    let reading = read(&Input::from_arg(path.as_ref()), &ReadOptions::default()).unwrap();
    println!("read {:.3}", t.elapsed().as_secs_f64());
    let t = Instant::now();
    let mut c = Checker::new(&reading.history, Options::default());
    println!("resolve {:.3}", t.elapsed().as_secs_f64());
    for l in [Level::ReadCommitted, Level::ReadAtomic, Level::Causal] {
        let t = Instant::now();
        let j = c.check(l);
        println!("{l} {:.3} holds={}", t.elapsed().as_secs_f64(), matches!(j.verdict, Verdict::Holds(_)));
    }
}

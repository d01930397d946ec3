//! Predictions from the traces of the corpus and from generated `SmallBank` runs.
//!
//! ```text
//! cargo bench -p isoscope-predict                  everything, about two minutes
//! cargo bench -p isoscope-predict -- 80            generated runs of 80 transactions
//! cargo bench -p isoscope-predict -- corpus        the corpus alone, if it lies beside the repository
//! ```
//!
//! The runs are serial: sessions in random order, each transaction reads the latest versions. Every row has the time for all predictions
//! (at most 10), with the time to the first in brackets, the processor time of the thread, the bar for this time, and what the search
//! consisted of. The rows that miss their bar are counted at the end.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark is a program")]

use std::cell::Cell;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use isoscope_certificate::Limit;
use isoscope_formats::{Input, ReadOptions, read};
use isoscope_history::{Builder, History};
use isoscope_levels::Level;
use isoscope_predict::{Boundary, Figures, Observed, Predictions, Progress, Settings, Watch, predict};

/// The longest time of a row.
const LIMIT: Duration = Duration::from_secs(120);

/// A clock that notes when the first prediction was found.
struct Clock {
    start: Instant,
    first: Mutex<Cell<Option<Duration>>>,
}

impl Clock {
    fn new() -> Clock {
        Clock { start: Instant::now(), first: Mutex::new(Cell::new(None)) }
    }
}

impl isoscope_check::Watch for Clock {
    fn limit(&self) -> Option<Limit> {
        (self.start.elapsed() > LIMIT).then_some(Limit::Time)
    }
}

impl Watch for Clock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn progress(&self, progress: &Progress) {
        let first = self.first.lock().unwrap();
        if progress.found > 0 && first.get().is_none() {
            first.set(Some(self.start.elapsed()));
        }
    }
}

/// The processor time of the main thread, which does the work. On a busy machine it says more than the clock. Linux only.
fn processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// The longest time for all predictions of a run of 500 and more transactions.
const WHOLE: Duration = Duration::from_secs(60);
/// The longest time to the first of them.
const FIRST: Duration = Duration::from_secs(10);

/// The longest processor time for all predictions of a generated run.
fn bar(txns: usize, level: Level, full: bool) -> Option<Duration> {
    let seconds = match (txns, level) {
        (80, Level::ReadCommitted) => 0.05,
        (80, Level::Causal) => 0.1,
        (80, Level::Snapshot) if full => 2.0,
        (80, Level::Snapshot) => 0.01,
        (400, Level::ReadCommitted) => 0.5,
        (400, Level::Causal) => 1.0,
        (400, Level::Snapshot) => 5.0,
        (500.., Level::ReadCommitted | Level::Causal) | (500, Level::Snapshot) => WHOLE.as_secs_f64(),
        _ => return None,
    };
    Some(Duration::from_secs_f64(seconds))
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }
}

/// A serial run of `SmallBank`. `full` is the mix with Balance and `WriteCheck`; without them, the mix is robust against snapshot
/// isolation.
fn smallbank(seed: u64, sessions: usize, txns: usize, accounts: usize, full: bool) -> History {
    let mut random = Random(seed);
    let mut builder = Builder::new();
    let mut current = std::collections::BTreeMap::<(char, usize), usize>::new();
    let mut next = 0;
    for _ in 0..txns {
        let (a, b) = (random.below(accounts), random.below(accounts));
        let b = if a == b { (b + 1) % accounts } else { b };
        // Reads and writes of each program, in its order.
        let (savings, checking) = ('s', 'c');
        let program: Vec<(bool, (char, usize))> = match random.below(if full { 6 } else { 4 }) {
            0 => vec![(false, (checking, a)), (true, (checking, a))],
            1 => vec![(false, (savings, a)), (true, (savings, a))],
            2 => vec![
                (false, (savings, a)),
                (false, (checking, a)),
                (true, (checking, a)),
                (true, (savings, a)),
                (false, (checking, b)),
                (true, (checking, b)),
            ],
            3 => vec![
                (false, (checking, a)),
                (false, (checking, b)),
                (true, (checking, a)),
                (true, (checking, b)),
            ],
            4 => vec![(false, (savings, a)), (false, (checking, a))],
            _ => vec![(false, (savings, a)), (false, (checking, a)), (true, (checking, a))],
        };
        let mut txn = builder.session(random.below(sessions) as u32).txn();
        for (writes, (table, account)) in program {
            let key = format!("{table}/{account}");
            if writes {
                next += 1;
                current.insert((table, account), next);
                txn = txn.write(key.as_str(), next as u64);
            } else {
                let value = current.get(&(table, account)).copied().unwrap_or(0);
                txn = txn.read(key.as_str(), value as u64);
            }
        }
    }
    builder.finish()
}

/// Predicts, and prints a row. Whether there is a prediction, the time, and whether the bar is missed.
fn row(name: &str, history: &History, settings: &Settings, bar: Option<Duration>) -> (bool, Duration, bool) {
    let (clock, begun) = (Clock::new(), processor());
    let observed = Observed::new(history, &clock).unwrap();
    let read = clock.start.elapsed();
    let Predictions { found, limit, figures, .. } = predict(&observed, settings, &clock).unwrap();
    let total = clock.start.elapsed();
    let worked = processor().zip(begun).map_or(total, |(end, begun)| end.saturating_sub(begun));
    let first = clock.first.lock().unwrap().get();
    let is_late = |bar| bar >= WHOLE && first.is_some_and(|first| first > FIRST);
    let is_missed = bar.is_some_and(|bar| limit.is_some() || worked > bar || is_late(bar));
    if !name.is_empty() {
        let bar = bar.map_or("-".to_owned(), |bar| format!("{} ms", bar.as_millis()));
        let missed = if is_missed { " MISSED" } else { "" };
        println!(
            "{name:24} {:>3} {:7} {:>2}{} {:>9.1} ms ({}) cpu {:>8.1} ms, bar {bar}{missed} | {}",
            settings.level.short(),
            if settings.boundary == Boundary::Strict { "strict" } else { "relaxed" },
            found.len(),
            if limit.is_some() { "?" } else { " " },
            ms(total),
            first.map_or("-".to_owned(), |first| format!("{:.1}", ms(first))),
            ms(worked),
            work(total, read, &figures),
        );
    }
    (!found.is_empty(), total, is_missed)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// What the search consisted of, and the share of the time of each part.
fn work(total: Duration, read: Duration, figures: &Figures) -> String {
    let share = |time: Duration| 100.0 * time.as_secs_f64() / total.as_secs_f64();
    format!(
        "vars {:>7} clauses {:>8} lazy {:>5} orders {:>5} cands {:>5} excl {:>2} conf {:>6} | read {:.0} encode {:.0} solve {:.0} check {:.0} oracle {:.0} learn {:.0} minimise {:.0} %",
        figures.variables,
        figures.clauses,
        figures.lazy,
        figures.orders,
        figures.candidates,
        figures.excluded,
        figures.conflicts,
        share(read),
        share(figures.encoding),
        share(figures.solving),
        share(figures.checking),
        share(figures.oracle),
        // Emitting a prediction is a part of learning.
        share(figures.learning.saturating_sub(figures.minimising)),
        share(figures.minimising),
    )
}

/// The traces of the corpus, folder by folder: how many have a prediction, and milliseconds a trace.
fn corpus() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/predict");
    let Ok(folders) = std::fs::read_dir(&path) else {
        println!("the corpus is not here");
        return;
    };
    let mut folders: Vec<_> =
        folders.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    for folder in folders {
        let mut files: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for level in [Level::ReadCommitted, Level::Causal, Level::Snapshot] {
            for boundary in [Boundary::Strict, Boundary::Relaxed] {
                let (mut predicted, mut slowest, mut total, mut count) =
                    (0, Duration::ZERO, Duration::ZERO, 0);
                for file in &files {
                    let reading = read(&Input::from_arg(file), &ReadOptions::default()).unwrap();
                    let settings = Settings { boundary, most: 1, ..Settings::new(level) };
                    if Observed::new(&reading.history, &Clock::new()).is_err() {
                        continue;
                    }
                    let (found, time, _) = row("", &reading.history, &settings, None);
                    predicted += u32::from(found);
                    slowest = slowest.max(time);
                    total += time;
                    count += 1;
                }
                let boundary = if boundary == Boundary::Strict { "strict" } else { "relaxed" };
                println!(
                    "{:24} {:>3} {boundary:7} {predicted} of {count} predicted, {:.1} ms a trace, slowest {:.1} ms",
                    folder.file_name().unwrap().to_string_lossy(),
                    level.short(),
                    total.as_secs_f64() * 1e3 / f64::from(count.max(1)),
                    slowest.as_secs_f64() * 1e3,
                );
            }
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let wanted = |name: &str| args.is_empty() || args.iter().any(|arg| arg == name);
    if wanted("corpus") {
        corpus();
    }
    let mut missed = 0;
    for (txns, accounts) in [(80, 5), (400, 20), (500, 20), (1_000, 20), (2_000, 20)] {
        if !wanted(&txns.to_string()) {
            continue;
        }
        let mixes = [(true, "full"), (false, "robust")];
        for (full, mix) in mixes {
            for sessions in [3, 10] {
                let history = smallbank(1, sessions, txns, accounts, full);
                let name = format!("{mix} {txns} x {sessions} sessions");
                for level in [Level::ReadCommitted, Level::ReadAtomic, Level::Causal, Level::Snapshot] {
                    let boundaries = if level == Level::Snapshot {
                        &[Boundary::Relaxed][..]
                    } else {
                        &[Boundary::Strict, Boundary::Relaxed]
                    };
                    for &boundary in boundaries {
                        let settings = Settings { boundary, ..Settings::new(level) };
                        missed += u32::from(row(&name, &history, &settings, bar(txns, level, full)).2);
                    }
                }
            }
        }
    }
    println!("{missed} rows miss their bar");
}

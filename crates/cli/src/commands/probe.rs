//! `isoscope probe`: every interleaving of small programs, at every isolation level of a database.

mod report;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use isoscope_levels::Level;
use isoscope_probe::{
    Findings, Program, Watch, exhaustive, interleavings, probe, script, separating, spread,
};
use isoscope_record::{Isolation, OpenError, Options, hermitage, isolation, script as scripts};
use isoscope_synth::Scope;

use crate::args::{ProbeArgs, TextStyle, Timeout};
use crate::commands::database::{Chosen, refuse};
use crate::commands::interrupt;
use crate::exit::Exit;
use crate::terminal::{Terminal, Unit};

/// The transactions and keys of the histories that separate levels. They separate all pairs of levels that histories with more
/// transactions and keys separate.
const SCOPE: (usize, usize) = (4, 2);

pub(crate) fn run(args: &ProbeArgs, terminal: &Terminal) -> Exit {
    match run_all(args, terminal) {
        Ok(exit) | Err(exit) => exit,
    }
}

/// One isolation level and what was found.
struct Probed {
    isolation: &'static Isolation,
    /// The levels that must not be violated.
    required: Vec<Level>,
    /// Whether the promise of the documentation is required.
    is_promise: bool,
    findings: Findings,
}

impl Probed {
    fn exit(&self) -> Exit {
        let is_required = |level: Level| self.required.iter().any(|required| required.implies(level));
        let of_required = || self.findings.levels.iter().filter(|tally| is_required(tally.level));
        if of_required().any(|tally| tally.violated > 0) {
            Exit::Violated
        } else if !self.findings.is_complete() || of_required().any(|tally| tally.undecided > 0) {
            Exit::Unknown
        } else {
            Exit::Holds
        }
    }
}

fn run_all(args: &ProbeArgs, terminal: &Terminal) -> Result<Exit, Exit> {
    let programs = programs(args);
    let chosen = Chosen::new(&args.database, 0, terminal)?;
    if let Some(directory) = &args.out {
        fs::create_dir_all(directory).map_err(|error| cannot_write(directory, &error, terminal))?;
    }
    // Only the server knows its real vendor: a mysql:// URL may lead to MariaDB.
    let vendor = chosen.open(None, &Options::default(), terminal)?.vendor();
    let names = if args.isolation.is_empty() {
        hermitage::levels(vendor)
    } else {
        let asked = args.isolation.iter().map(|name| Ok(isolation(vendor, name)?.name));
        asked.collect::<Result<_, OpenError>>().map_err(|error| refuse(&error, terminal))?
    };
    let limits = Options { timestamps: false, ..scripts::connection_limits(vendor) };
    let (_phase, stop) = interrupt::flagged("stopping after the current interleaving", terminal);
    let mut clock = Clock::new(args.timeout);
    let selection = report::selection(&args.database, &chosen.target);
    let (mut all, mut version) = (Vec::new(), String::new());
    for (place, name) in names.iter().enumerate() {
        let database = chosen.open(Some(name), &limits, terminal)?;
        database.version().clone_into(&mut version);
        let Some(row) = database.isolation() else { continue };
        let required = if args.level.is_empty() { vec![row.registers] } else { args.level.clone() };
        let levels: Vec<Level> = Level::COMMON.iter().chain(&required).copied().collect();
        let mut watch = Progress::new(name, &programs, clock.share(names.len() - place), &stop, terminal);
        let found = probe(database.as_ref(), &programs, &levels, &stop, &mut watch);
        watch.bar.finish_and_clear();
        let findings = found.map_err(|failure| {
            terminal.error(&format!("{version} at {name}: {failure}"));
            Exit::Failed
        })?;
        let probed = Probed { isolation: row, required, is_promise: args.level.is_empty(), findings };
        if args.format == TextStyle::Full {
            terminal.print(&report::full(&probed, &version, &selection, args.out.as_deref()));
        }
        if let Some(directory) = &args.out {
            write_scripts(directory, &probed, &version, terminal)?;
        }
        all.push(probed);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    if args.format == TextStyle::Json {
        terminal.print(&format!("{:#}\n", report::json(&all, &version)));
    }
    let mut exit = all.iter().map(Probed::exit).fold(Exit::Holds, Exit::and);
    if all.len() < names.len() {
        exit = exit.and(Exit::Unknown);
    }
    Ok(if terminal.lost_output() { exit.and(Exit::Failed) } else { exit })
}

/// The programs that tell levels apart and all of two transactions with two operations; with `--exhaustive` also larger ones. The
/// histories that tell levels apart read a key at most once in a transaction, and the common levels also say something of two
/// reads.
fn programs(args: &ProbeArgs) -> Vec<Program> {
    let (txns, keys) = SCOPE;
    let (mut programs, _) = separating(Scope::new(txns, keys), &mut isoscope_synth::Unwatched);
    let add = |programs: &mut Vec<Program>, more: Vec<Program>| {
        let new: Vec<Program> = more.into_iter().filter(|program| !programs.contains(program)).collect();
        programs.extend(new);
    };
    add(&mut programs, exhaustive(2, 2, 2));
    programs.sort_by_key(|program| interleavings::count(&program.steps()));
    if args.exhaustive {
        add(&mut programs, spread(exhaustive(2, 3, 2)));
        add(&mut programs, spread(exhaustive(3, 2, 2)));
    }
    programs
}

/// The name of the script of a violation.
fn file_name(version: &str, isolation: &str, level: Level) -> String {
    let product = version.split_whitespace().next().unwrap_or("database").to_ascii_lowercase();
    format!("{product}-{isolation}-{level}.script")
}

fn write_scripts(directory: &Path, probed: &Probed, version: &str, terminal: &Terminal) -> Result<(), Exit> {
    for tally in probed.findings.weakest_violated() {
        let Some(violation) = &tally.smallest else { continue };
        let path = directory.join(file_name(version, probed.isolation.name, tally.level));
        let place = format!("{version} at {}", probed.isolation.name);
        fs::write(&path, script(violation, &place)).map_err(|error| cannot_write(&path, &error, terminal))?;
    }
    Ok(())
}

fn cannot_write(path: &Path, error: &std::io::Error, terminal: &Terminal) -> Exit {
    terminal.error(&format!("cannot write {}: {error}", path.display()));
    Exit::Failed
}

/// The time that is left.
struct Clock {
    end: Option<Instant>,
}

impl Clock {
    fn new(timeout: Timeout) -> Clock {
        let end = match timeout {
            Timeout::Never => None,
            Timeout::After(time) => Instant::now().checked_add(time),
        };
        Clock { end }
    }

    /// When the next isolation level must end, if this number of levels is left.
    fn share(&mut self, levels: usize) -> Option<Instant> {
        let now = Instant::now();
        let left = self.end?.saturating_duration_since(now);
        now.checked_add(left / u32::try_from(levels.max(1)).unwrap_or(u32::MAX))
    }
}

/// Shows the progress, and stops in time.
struct Progress<'a> {
    bar: ProgressBar,
    /// The numbers of interleavings up to each program, if nothing waited or failed.
    sizes: Vec<u64>,
    /// The position of the first interleaving of the current program.
    position: u64,
    end: Option<Instant>,
    stop: &'a AtomicBool,
}

impl<'a> Progress<'a> {
    fn new(
        isolation: &str,
        programs: &[Program],
        end: Option<Instant>,
        stop: &'a Arc<AtomicBool>,
        terminal: &Terminal,
    ) -> Progress<'a> {
        let most = |program: &Program| {
            let count = interleavings::count(&program.steps()) / program.symmetries().len() as u128;
            u64::try_from(count).unwrap_or(u64::MAX)
        };
        let sizes: Vec<u64> = programs.iter().map(most).collect();
        let total = sizes.iter().fold(0, |sum: u64, &size| sum.saturating_add(size));
        let bar = terminal.progress(&format!("probing {isolation}"), Some(total), Unit::Count);
        Progress { bar, sizes, position: 0, end, stop }
    }
}

impl Watch for Progress<'_> {
    fn stops(&mut self) -> bool {
        self.bar.inc(1);
        self.stop.load(Ordering::Relaxed) || self.end.is_some_and(|end| Instant::now() >= end)
    }

    fn done(&mut self, programs: usize, _interleavings: u64) {
        self.position = self.position.saturating_add(self.sizes[programs - 1]);
        self.bar.set_position(self.position);
    }
}

/// How long a probe took, in seconds.
fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

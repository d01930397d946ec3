//! `isoscope record`: runs a workload against a database and records the history.
//!
//! `record` and `test` share [`Load`]: it builds the recording from the arguments, runs it with progress, and collects the figures.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use isoscope_levels::Level;
use isoscope_record::workload::{
    Application, Bank, BankSpec, Hosted, Hotspot, SmallBank, SmallBankSpec, SpecError, Tpcc, TpccSpec, Voter,
    VoterSpec, Wikipedia, WikipediaSpec,
};
use isoscope_record::{
    Bug, Fault, FaultKind, Figures, Limits, Memory, Monitor, Options, Output, Plan, PlanSpec, Recording,
    Subject, Summary, Target, Trouble, Workload,
};
use isoscope_workload::{Distribution, Store};

use crate::args::{DatabaseArgs, LoadArgs, RecordArgs, SizeArg, WorkloadArg};
use crate::commands::database::Chosen;
use crate::commands::generate::{by_flag, chosen_seed};
use crate::commands::interrupt;
use crate::commands::outputs::{OutputFile, refuse_clashes};
use crate::exit::Exit;
use crate::terminal::{BOLD, Terminal, styled};
use crate::words::{count, counted};

pub(crate) fn run(args: &RecordArgs, terminal: &Terminal) -> Exit {
    match record(args, terminal) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn record(args: &RecordArgs, terminal: &Terminal) -> Result<Exit, Exit> {
    let mut load = Load::new(&args.database, &args.load, Some(&args.output), terminal)?;
    let to_stdout = args.output.as_os_str() == "-";
    let (file, history): (Option<OutputFile>, Output) = if to_stdout {
        (None, Box::new(std::io::stdout()))
    } else {
        let (file, output) = OutputFile::open(&args.output, terminal)?;
        (Some(file), output)
    };
    let recorded = load.record(file.as_ref(), history, &args.load, terminal)?;
    if recorded.is_empty_failure() {
        return Ok(recorded.exit(terminal));
    }
    terminal.note(&recorded.text());
    if !to_stdout {
        terminal.note(&format!("the history is in {}", args.output.display()));
    }
    Ok(recorded.exit(terminal))
}

/// A recording that is ready to run.
pub(crate) struct Load {
    pub(crate) recording: Recording,
}

/// The result of a recording.
pub(crate) struct Recorded {
    pub(crate) summary: Summary,
    pub(crate) figures: Figures,
    sessions: u32,
    /// An error of a transaction that is not caused by concurrency.
    odd: Option<String>,
}

impl Load {
    /// Opens the database and plans the workload, for a history that goes to `output`.
    pub(crate) fn new(
        database: &DatabaseArgs,
        args: &LoadArgs,
        output: Option<&Path>,
        terminal: &Terminal,
    ) -> Result<Load, Exit> {
        let usage = |message: String| {
            terminal.error(&message);
            Exit::Usage
        };
        if args.log.as_ref().is_some_and(|log| log.as_os_str() == "-") {
            return Err(usage("--log needs a file, not `-`".to_owned()));
        }
        refuse_clashes(output, args.log.as_deref(), database).map_err(usage)?;
        let chosen = Chosen::new(database, args.sessions, terminal)?;
        let seed = chosen_seed(args.seed, terminal);
        let workload = workload(args, seed).map_err(usage)?;
        refuse_faults(&args.fault, &chosen).map_err(usage)?;
        let options = Options { lock_limit: args.lock_timeout, ..Options::default() };
        let subject = match &chosen.target {
            Target::Memory(memory) => store(memory, args.isolation.as_deref()).map_err(usage)?,
            _ => Subject::Database(chosen.open(args.isolation.as_deref(), &options, terminal)?),
        };
        let txns = args.txns.or(if args.duration.is_none() { Some(250) } else { None });
        let limits = Limits { txns, duration: args.duration, retries: args.retries, ..Limits::default() };
        let recording = Recording {
            subject,
            workload,
            sessions: args.sessions,
            seed,
            limits,
            faults: args.fault.clone(),
            server: chosen.server,
            keep_tables: args.keep_tables,
        };
        Ok(Load { recording })
    }

    /// Records to a file, if there is one, with progress on the terminal. If it fails before the first transaction, files that
    /// did not exist are removed.
    pub(crate) fn record(
        &mut self,
        file: Option<&OutputFile>,
        history: Output,
        args: &LoadArgs,
        terminal: &Terminal,
    ) -> Result<Recorded, Exit> {
        let log = args.log.as_deref().map(|path| OutputFile::open(path, terminal)).transpose()?;
        let (log_file, log) = log.unzip();
        let monitor = Arc::new(Monitor::new(args.sessions as usize));
        let interrupted = Arc::clone(&monitor);
        let stopping = "stopping after the current transactions";
        let _phase = interrupt::phase(stopping, move || interrupted.stop(), terminal);
        let total = match (args.duration, self.recording.limits.txns) {
            (Some(duration), None) => Progress::Time(duration),
            (_, txns) => Progress::Count(txns.unwrap_or(0) * u64::from(args.sessions)),
        };
        let bar = terminal.rate("recording", total.length());
        let done = AtomicBool::new(false);
        let summary = std::thread::scope(|scope| {
            scope.spawn(|| watch(&monitor, total, &bar, &done));
            let summary = self.recording.run(history, log, &monitor);
            done.store(true, Ordering::Relaxed);
            summary
        });
        bar.finish_and_clear();
        let odd = monitor.odd().map(ToString::to_string);
        let recorded = Recorded { summary, figures: monitor.figures(), sessions: args.sessions, odd };
        if recorded.is_empty_failure() {
            file.into_iter().chain(&log_file).for_each(|file| file.discard(terminal));
        }
        Ok(recorded)
    }
}

/// Refuses faults that this database does not support.
fn refuse_faults(faults: &[Fault], chosen: &Chosen) -> Result<(), String> {
    let vendor = chosen.target.vendor();
    let possible = FaultKind::possible(vendor, chosen.server.is_some());
    let Some(fault) = faults.iter().find(|fault| !possible.contains(&fault.kind)) else { return Ok(()) };
    let known = if possible.is_empty() {
        format!("{vendor} supports no faults, because it is not a server")
    } else {
        let names: Vec<&str> = possible.iter().map(|kind| kind.name()).collect();
        format!("this server supports only `{}`", names.join("`, `"))
    };
    Err(format!(
        "--fault {} is not possible here: {known}; `kill` needs a server, `pause` and `restart` need one started with --start",
        fault.kind.name()
    ))
}

/// The unit of the progress bar.
#[derive(Clone, Copy)]
enum Progress {
    Time(Duration),
    Count(u64),
}

impl Progress {
    fn length(self) -> u64 {
        match self {
            Progress::Time(time) => time.as_millis() as u64,
            Progress::Count(count) => count,
        }
    }
}

/// Updates the progress bar.
fn watch(monitor: &Monitor, progress: Progress, bar: &ProgressBar, done: &AtomicBool) {
    let began = Instant::now();
    while !done.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
        let figures = monitor.figures();
        bar.set_position(match progress {
            Progress::Time(_) => began.elapsed().as_millis() as u64,
            Progress::Count(_) => figures.transactions(),
        });
        let rate = figures.transactions() as f64 / began.elapsed().as_secs_f64();
        let (half, most) = (latency(figures.latency(0.5)), latency(figures.latency(0.99)));
        let aborted = figures.aborted();
        bar.set_message(format!("{rate:.0} transactions/s, {half} (99 %: {most}), {aborted} aborted"));
    }
}

/// A latency, which is accurate to a factor of two.
fn latency(time: Duration) -> String {
    match time.as_micros() {
        micros @ ..1000 => format!("{micros} µs"),
        micros @ 1000..1_000_000 => format!("{} ms", micros / 1000),
        micros => format!("{:.1} s", micros as f64 / 1e6),
    }
}

impl Recorded {
    /// Whether an error ended the recording before its first transaction did. There is nothing to say besides the error.
    pub(crate) fn is_empty_failure(&self) -> bool {
        let is_error = |trouble: &Trouble| !matches!(trouble, Trouble::End(_));
        self.figures.transactions() == 0 && self.summary.trouble.iter().any(is_error)
    }

    /// The summary of the recording.
    pub(crate) fn text(&self) -> String {
        let Recorded { summary, figures, sessions, odd } = self;
        let seconds = summary.elapsed.as_secs_f64();
        let mut text = format!(
            "recorded {} ({}) of {} in {seconds:.1} s",
            styled(BOLD, counted(figures.transactions(), "transaction")),
            counted(figures.operations, "operation"),
            counted((*sessions).into(), "session"),
        );
        let mut parts = vec![format!("{} committed", count(figures.committed))];
        let failed = figures.failed.iter().map(|(class, n)| (class.name(), *n));
        for (name, n) in
            [("rolled back", figures.rolled_back), ("unknown", figures.unknown)].into_iter().chain(failed)
        {
            if n > 0 {
                parts.push(format!("{} {name}", count(n)));
            }
        }
        if figures.retried > 0 {
            parts.push(format!("{} retried", count(figures.retried)));
        }
        let _ = write!(text, ": {}", parts.join(", "));
        if seconds > 0.0 {
            let _ = write!(
                text,
                "\n      {:.0} transactions per second; median latency at most {}, 99th percentile at most {}",
                figures.transactions() as f64 / seconds,
                latency(figures.latency(0.5)),
                latency(figures.latency(0.99)),
            );
        }
        if let Some(odd) = odd {
            let _ = write!(text, "\n      a transaction failed with: {odd}");
        }
        if !summary.strikes.is_empty() {
            let strikes: Vec<String> =
                summary.strikes.iter().map(|(kind, n)| format!("{} × {}", kind.name(), count(*n))).collect();
            let _ = write!(
                text,
                "\n      faults: {}; {} replaced",
                strikes.join(", "),
                counted(figures.reconnects, "connection")
            );
        }
        text
    }

    /// Prints the errors and returns the exit code.
    pub(crate) fn exit(&self, terminal: &Terminal) -> Exit {
        let mut exit = Exit::Holds;
        for trouble in &self.summary.trouble {
            if let Trouble::End(_) = trouble {
                terminal.warning(&trouble.to_string());
                continue;
            }
            terminal.error(&trouble.to_string());
            exit = Exit::Failed;
        }
        exit
    }
}

/// The in-memory store at a level, with its bugs.
fn store(memory: &Memory, isolation: Option<&str>) -> Result<Subject, String> {
    let names = || Store::LEVELS.map(Level::name).join(", ");
    let level = match (isolation, memory.level.as_deref()) {
        (Some(name), _) | (None, Some(name)) => Level::parse(name).map_err(|unknown| unknown.to_string())?,
        (None, None) => Level::Serializable,
    };
    if !Store::LEVELS.contains(&level) {
        return Err(format!("the in-memory store does not support {level}; it supports {}", names()));
    }
    let mut bugs = Vec::new();
    for (name, value) in &memory.params.0 {
        match name.as_str() {
            "bug" => bugs.push(value.parse::<Bug>()?),
            _ => {
                return Err(format!(
                    "`{name}` is not a parameter of the in-memory store; the only one is `bug`"
                ));
            }
        }
    }
    Ok(Subject::Memory(level, bugs))
}

/// The number of keys by default.
const KEYS: u32 = 30;

fn workload(args: &LoadArgs, seed: u64) -> Result<Workload, String> {
    if let WorkloadArg::KeyValue(kind) = args.workload {
        if args.size.is_some() {
            return Err("--size needs an application".to_owned());
        }
        let plan = Plan::new(PlanSpec {
            kind,
            sessions: args.sessions,
            ops: args.ops,
            keys: args.keys.unwrap_or(KEYS),
            reads: args.reads,
            aborts: args.aborts,
            distribution: args.distribution,
            duplication: args.duplicates,
            retries: args.retries,
            seed,
        });
        return plan.map(Workload::KeyValue).map_err(|error| by_flag(&error.to_string()));
    }
    if args.sessions == 0 {
        return Err("at least one session is required".to_owned());
    }
    if args.duplicates.is_some() || args.aborts > 0.0 {
        return Err("--duplicates and --aborts need a key-value workload".to_owned());
    }
    application(args).map(Workload::Application)
}

fn application(args: &LoadArgs) -> Result<Arc<dyn Application>, String> {
    fn shared<A: Application + 'static>(
        application: Result<A, SpecError>,
    ) -> Result<Arc<dyn Application>, String> {
        match application {
            Ok(application) => Ok(Arc::new(application)),
            Err(error) => Err(by_flag(&error.to_string())),
        }
    }
    let (keys, sessions) = (args.keys.unwrap_or(KEYS), args.sessions);
    let no_size = |size| Err(format!("this application has no size `{size}`; use --keys"));
    match (args.workload, args.size) {
        (WorkloadArg::Tpcc, Some(SizeArg::Standard)) => {
            shared(Tpcc::new(TpccSpec { sessions, ..TpccSpec::standard(1) }).map(Hosted::of))
        }
        (_, Some(SizeArg::Standard)) => no_size("standard"),
        (WorkloadArg::Tpcc, size) => {
            let scaled = TpccSpec { customers: keys, items: keys, ..TpccSpec::default() };
            let spec = if size.is_some() { TpccSpec::paper() } else { scaled };
            shared(Tpcc::new(TpccSpec { sessions, ..spec }).map(Hosted::of))
        }
        (WorkloadArg::Voter, size) => {
            let scaled = VoterSpec { phones: keys, ..VoterSpec::default() };
            let spec = if size.is_some() { VoterSpec::paper() } else { scaled };
            shared(Voter::new(spec).map(Hosted::of))
        }
        (WorkloadArg::Wikipedia, size) => {
            let (pages, users) = (keys, keys);
            let scaled = WikipediaSpec {
                pages,
                users,
                active_pages: pages,
                active_users: users,
                hotspot: hotspot(args)?,
                ..WikipediaSpec::default()
            };
            let spec = if size.is_some() { WikipediaSpec::paper() } else { scaled };
            shared(Wikipedia::new(spec).map(Hosted::of))
        }
        (_, Some(SizeArg::Paper)) => no_size("paper"),
        (WorkloadArg::SmallBank, None) => shared(SmallBank::new(SmallBankSpec {
            customers: keys,
            hotspot: hotspot(args)?,
            ..SmallBankSpec::default()
        })),
        (_, None) => shared(Bank::new(BankSpec {
            accounts: args.keys.unwrap_or(KEYS.next_multiple_of(4)),
            hotspot: hotspot(args)?,
            ..BankSpec::default()
        })),
    }
}

/// Applications support only hot spots.
fn hotspot(args: &LoadArgs) -> Result<Hotspot, String> {
    match args.distribution {
        Distribution::Uniform => Ok(Hotspot::NONE),
        Distribution::Hotspot { keys, ops } => Ok(Hotspot { part: keys, draws: ops }),
        Distribution::Zipfian { .. } => {
            Err("applications support the distributions `uniform` and `hotspot`, not `zipfian`".to_owned())
        }
    }
}

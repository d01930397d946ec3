//! The arguments of `predict`.

use std::path::PathBuf;

use clap::{ValueEnum, ValueHint};
use isoscope_levels::Level;
use isoscope_predict::Engine;

use super::{NameParser, ReadArgs, ServerArg, SizeArg, TextStyle, Timeout, WorkloadArg, timeout};

/// What is kept of a transaction whose reads change.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoundaryArg {
    /// `value-aware` if the programs of the run are known, otherwise `relaxed`
    Auto,
    /// The transaction is cut at the changed read: a prediction is wrong only if the transaction would abort
    Strict,
    /// All its reads and writes: a prediction is wrong if other values lead to other accesses or to an abort
    Relaxed,
    /// What its program does on the values that it reads; needs --log or --record
    ValueAware,
}

/// `IsoPredict`'s strategies.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StrategyArg {
    /// Every violation, with a strict boundary
    ExactStrict,
    /// Violations that the sufficient condition of the paper shows, with a strict boundary
    ApproxStrict,
    /// The same with a relaxed boundary
    ApproxRelaxed,
}

/// Which predictions count for the exit code.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountArg {
    /// All
    All,
    /// Those that happened when they were executed again in the in-memory store; needs --log or --record
    Validated,
    /// Those that happened on the real database; needs --validate or --start
    Reproduced,
}

/// Arguments of `predict`.
#[derive(clap::Args, Debug)]
#[command(
    after_long_help = "The history must be serializable: a run of an application that was fine. A prediction is an \
execution of the same transactions that --level permits and that violates --violates. It has a \
prefix of each session. In at most one transaction a session, the last, some reads have other \
writers. docs/predict.md has the definitions.

Without HISTORY, isoscope records a run first: of the application --record, in a temporary SQLite \
database. With --log (a log of `isoscope record --log`) or --record, the programs are known: each \
prediction is executed again in an in-memory store, and the report says what became of it. \
With --engine, predictions are interleavings of statements, and can run on a real database.

Engines: pg-rc, pg-rr (PostgreSQL at read committed and repeatable read); mariadb-rc, mariadb-rr, \
mariadb-si (the last at repeatable read with innodb_snapshot_isolation=ON).

Levels: read-committed, read-atomic, causal, prefix, parallel-snapshot-isolation, snapshot-isolation.
Targets: prefix, snapshot-isolation, serializable.

Exit codes: 0 it was proved that there is no prediction; 1 there are predictions (that --count \
counts), or the run itself violates the target; 2 there are predictions but none that --count \
counts, a limit was reached first, or nothing can be predicted; 254 invalid usage; 255 the history \
or the log cannot be read, or an internal error.

Examples:
  isoscope predict
  isoscope predict --record voter --size paper --level causal
  isoscope predict run.jsonl --log run.log --level si
  isoscope predict run.jsonl --log run.log --engine pg-rc --start postgres --out scripts
  isoscope predict run.jsonl --level si --most 1 --format json
  isoscope predict trace.txt --level causal --strategy approx-strict"
)]
pub(crate) struct PredictArgs {
    /// The history: a file, a directory, or `-` for standard input [default: record one]
    #[arg(value_name = "HISTORY", value_hint = ValueHint::AnyPath)]
    pub(crate) history: Option<PathBuf>,
    /// The log of the same run, as `isoscope record --log` writes it: it names the programs
    #[arg(long, value_name = "FILE", requires = "history", value_hint = ValueHint::FilePath)]
    pub(crate) log: Option<PathBuf>,
    /// The level that the predicted executions satisfy [default: read-committed, or the level of --engine]
    #[arg(short, long, value_name = "LEVEL", value_parser = level)]
    pub(crate) level: Option<Level>,
    /// The level that they violate
    #[arg(long, value_name = "LEVEL", default_value = "serializable", value_parser = level)]
    pub(crate) violates: Level,
    /// What is kept of a transaction whose reads change [default: auto]
    #[arg(long, value_name = "BOUNDARY", conflicts_with = "strategy")]
    pub(crate) boundary: Option<BoundaryArg>,
    /// A strategy of the `IsoPredict` paper
    #[arg(long, value_name = "STRATEGY")]
    pub(crate) strategy: Option<StrategyArg>,
    /// The most predictions
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) most: u32,
    /// The most transactions that are searched at once; a longer run is searched in windows
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub(crate) window: u32,
    /// Stop after this time, such as 30s or 5m, or `none`. Reading and recording are not included
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = timeout)]
    pub(crate) timeout: Timeout,
    /// Which predictions count for the exit code
    #[arg(long, value_name = "WHICH", default_value = "all")]
    pub(crate) count: CountArg,
    /// Also execute the run RUNS times at random at the level, and say how often the target is violated; needs --log or --record
    #[arg(long, value_name = "RUNS", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) baseline: Option<u32>,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
    #[command(flatten)]
    pub(crate) record: PredictRecordArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// The output format
    #[arg(long, value_name = "STYLE", default_value = "full")]
    pub(crate) format: TextStyle,
}

/// A real database.
#[derive(clap::Args, Debug)]
pub(crate) struct StageArgs {
    /// Predict executions that are possible on this database, statement by statement, with its snapshots and row locks
    #[arg(long, value_name = "ENGINE", value_parser = engine(), hide_possible_values = true, conflicts_with_all = ["level", "strategy"])]
    #[arg(help_heading = "Real databases")]
    pub(crate) engine: Option<Engine>,
    /// Run the predictions on this database: postgres://.. or mariadb://..
    #[arg(long, value_name = "URL", requires = "engine", help_heading = "Real databases")]
    pub(crate) validate: Option<String>,
    /// Run the predictions on a private temporary server
    #[arg(long, value_name = "SERVER", requires = "engine", conflicts_with = "validate")]
    #[arg(help_heading = "Real databases")]
    pub(crate) start: Option<ServerArg>,
    /// Write the script of each prediction to this directory, for `isoscope script`
    #[arg(long, value_name = "DIR", requires = "engine", value_hint = ValueHint::DirPath)]
    #[arg(help_heading = "Real databases")]
    pub(crate) out: Option<PathBuf>,
}

/// How to record a run first.
#[derive(clap::Args, Debug)]
pub(crate) struct PredictRecordArgs {
    /// Record a run of this application first, in a temporary SQLite database [default: smallbank]
    #[arg(long, value_name = "APPLICATION", value_parser = application, conflicts_with = "history")]
    #[arg(help_heading = "Recording")]
    pub(crate) record: Option<WorkloadArg>,
    /// Number of sessions
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(conflicts_with = "history", help_heading = "Recording")]
    pub(crate) sessions: u32,
    /// Transactions per session
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    #[arg(conflicts_with = "history", help_heading = "Recording")]
    pub(crate) txns: u64,
    /// Number of customers, accounts, telephones or pages
    #[arg(long, value_name = "N", conflicts_with = "history", help_heading = "Recording")]
    pub(crate) keys: Option<u32>,
    /// A fixed size of the application, instead of --keys
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["history", "keys"], help_heading = "Recording")]
    pub(crate) size: Option<SizeArg>,
    /// The random seed of the recording and of --baseline [default: a random one, which is printed]
    #[arg(long, value_name = "N", help_heading = "Recording")]
    pub(crate) seed: Option<u64>,
}

fn level(text: &str) -> Result<Level, String> {
    Level::parse(text).map_err(|unknown| format!("{unknown}\n  `isoscope levels` lists the levels"))
}

/// Parses the name of an engine.
fn engine() -> NameParser<Engine> {
    let parse = |text: &str| {
        Engine::parse(text).ok_or_else(|| {
            let names: Vec<&str> = Engine::ALL.into_iter().map(Engine::name).collect();
            format!("expected an engine: {}", names.join(", "))
        })
    };
    NameParser { parse, names: || Engine::ALL.map(Engine::name).into() }
}

fn application(name: &str) -> Result<WorkloadArg, String> {
    let is_it =
        |workload: &WorkloadArg| workload.to_possible_value().is_some_and(|value| value.matches(name, false));
    WorkloadArg::APPLICATIONS.into_iter().find(is_it).ok_or_else(|| {
        let names = WorkloadArg::APPLICATIONS.into_iter().filter_map(|workload| workload.to_possible_value());
        let names: Vec<String> = names.map(|value| value.get_name().to_owned()).collect();
        format!("expected an application: {}", names.join(", "))
    })
}

//! The arguments of the commands that use a database.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{ArgAction, ValueEnum, ValueHint};
use isoscope_levels::Level;
use isoscope_record::{Fault, FaultKind, Kind, ServerKind, Vendor, isolations};
use isoscope_workload::{Distribution, Duplication, Store};

use super::synth::TextStyle;
use super::{JudgeArgs, NameParser, Timeout, distribution, duplication, duration, timeout};

/// The database.
#[derive(clap::Args, Debug)]
pub(crate) struct DatabaseArgs {
    /// The database: postgres://.., mysql://.., mariadb://.. or sqlite:FILE; for `test` and `record` also memory:LEVEL
    /// [default: a temporary SQLite database]
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Start a private temporary server from installed binaries; it is stopped at the end
    #[arg(long, value_name = "SERVER", conflicts_with = "url", help_heading = "Database options")]
    pub(crate) start: Option<ServerArg>,
    /// A setting of the private server; can be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "start", action = ArgAction::Append)]
    #[arg(help_heading = "Database options")]
    pub(crate) set: Vec<String>,
}

/// A server that isoscope can start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerArg(pub(crate) ServerKind);

impl ValueEnum for ServerArg {
    fn value_variants<'a>() -> &'a [Self] {
        &[ServerArg(ServerKind::Postgres), ServerArg(ServerKind::MariaDb)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self.0 {
            ServerKind::Postgres => PossibleValue::new("postgres").help("PostgreSQL"),
            ServerKind::MariaDb => PossibleValue::new("mariadb").help("MariaDB"),
        })
    }
}

/// The workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkloadArg {
    KeyValue(Kind),
    Bank,
    SmallBank,
    Voter,
    Tpcc,
    Wikipedia,
}

impl WorkloadArg {
    pub(crate) const APPLICATIONS: [WorkloadArg; 5] = [
        WorkloadArg::Bank,
        WorkloadArg::SmallBank,
        WorkloadArg::Voter,
        WorkloadArg::Tpcc,
        WorkloadArg::Wikipedia,
    ];
}

/// The size of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SizeArg {
    /// The size of the experiments in the paper on IsoPredict: voter, tpcc and wikipedia
    Paper,
    /// The size of the specification: tpcc with 1 warehouse
    Standard,
}

impl ValueEnum for WorkloadArg {
    fn value_variants<'a>() -> &'a [Self] {
        const KINDS: usize = Kind::ALL.len();
        const APPLICATIONS: [WorkloadArg; 5] = WorkloadArg::APPLICATIONS;
        const ALL: [WorkloadArg; KINDS + APPLICATIONS.len()] = {
            let mut all = [WorkloadArg::Bank; KINDS + APPLICATIONS.len()];
            let mut i = 0;
            while i < all.len() {
                all[i] =
                    if i < KINDS { WorkloadArg::KeyValue(Kind::ALL[i]) } else { APPLICATIONS[i - KINDS] };
                i += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            WorkloadArg::KeyValue(kind) => PossibleValue::new(kind.name()).help(kind.about()),
            WorkloadArg::Bank => PossibleValue::new("bank")
                .help("an application: accounts with transfers, withdrawals and overdrafts"),
            WorkloadArg::SmallBank => {
                PossibleValue::new("smallbank").help("an application: SmallBank (Alomari et al. 2008)")
            }
            WorkloadArg::Voter => {
                PossibleValue::new("voter").help("an application: votes by telephone, a limited number each")
            }
            WorkloadArg::Tpcc => {
                PossibleValue::new("tpcc").help("an application: TPC-C, the orders of a wholesale supplier")
            }
            WorkloadArg::Wikipedia => {
                PossibleValue::new("wikipedia").help("an application: readers and editors of pages")
            }
        })
    }
}

/// The workload and its options.
#[derive(clap::Args, Debug)]
pub(crate) struct LoadArgs {
    /// The isolation level, by the database's own name for it [default: the database's default]
    #[arg(short, long, value_name = "NAME", value_parser = any_isolation(), hide_possible_values = true)]
    pub(crate) isolation: Option<String>,
    /// Lock timeout of a statement, such as 500ms or 5s
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5s")]
    #[arg(help_heading = "Database options")]
    pub(crate) lock_timeout: Duration,
    /// The workload
    #[arg(
        short,
        long,
        value_name = "WORKLOAD",
        default_value = "read-modify-write",
        help_heading = "Workload"
    )]
    pub(crate) workload: WorkloadArg,
    /// Number of concurrent sessions, each with its own connection
    #[arg(long, value_name = "N", default_value_t = 8, help_heading = "Workload")]
    pub(crate) sessions: u32,
    /// Transactions per session [default: 250, or no limit with --duration]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Workload")]
    pub(crate) txns: Option<u64>,
    /// How long to run, such as 10s or 5m
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Workload")]
    pub(crate) duration: Option<Duration>,
    /// Operations per transaction of a key-value workload
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "Workload")]
    pub(crate) ops: u32,
    /// Number of keys; customers (of a district), telephones or pages of an application; accounts of `bank`, a multiple of 4
    /// [default: 30, or 32 for `bank`]
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub(crate) keys: Option<u32>,
    /// A fixed size of an application, instead of --keys
    #[arg(long, value_name = "SIZE", conflicts_with = "keys", help_heading = "Workload")]
    pub(crate) size: Option<SizeArg>,
    /// The share of operations of a key-value workload that read, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, help_heading = "Workload")]
    pub(crate) reads: f64,
    /// The share of transactions of a key-value workload that roll back at the end
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, help_heading = "Workload")]
    pub(crate) aborts: f64,
    /// The distribution of keys: `uniform`, `zipfian[:THETA]` or `hotspot[:KEYS:OPS]`
    #[arg(long, value_name = "LAW", default_value = "uniform", value_parser = distribution)]
    #[arg(help_heading = "Workload")]
    pub(crate) distribution: Distribution,
    /// Write repeated values to a share of the keys: `SHARE[:VALUES[:THETA]]`
    #[arg(long, value_name = "LAW", value_parser = duplication, help_heading = "Workload")]
    pub(crate) duplicates: Option<Duplication>,
    /// Number of retries after a serialization failure, a deadlock, a lock timeout or a busy database; every attempt is recorded
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Workload")]
    pub(crate) retries: u32,
    /// The random seed, which determines all statements [default: a random one, which is printed]
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub(crate) seed: Option<u64>,
    /// Inject a fault at intervals of about INTERVAL (default 1s): `kill` ends a session's connection, `pause` pauses and
    /// `restart` crashes the server that --start started; can be repeated
    #[arg(long, value_name = "FAULT[=INTERVAL]", value_parser = any_fault(), action = ArgAction::Append)]
    #[arg(help_heading = "Workload", hide_possible_values = true)]
    pub(crate) fault: Vec<Fault>,
    /// Write the statements and their results to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) log: Option<PathBuf>,
    /// Keep the tables in the database
    #[arg(long)]
    pub(crate) keep_tables: bool,
}

/// Parses a fault and its interval.
fn any_fault() -> NameParser<Fault> {
    let parse = |text: &str| {
        let (name, interval) = text.split_once('=').unwrap_or((text, "1s"));
        Fault::parse(name, duration(interval)?)
    };
    NameParser { parse, names: || FaultKind::ALL.map(FaultKind::name).into() }
}

/// Accepts any name: the valid names depend on the database, which is not open yet. Completes the names of all databases.
fn any_isolation() -> NameParser<String> {
    let names = || {
        let servers = [Vendor::Postgres, Vendor::MySql, Vendor::MariaDb, Vendor::Sqlite];
        let of_servers = servers.into_iter().flat_map(|vendor| isolations(vendor).iter().map(|row| row.name));
        let mut names: Vec<&str> = of_servers.chain(Store::LEVELS.map(Level::name)).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    NameParser { parse: |text| Ok(text.to_owned()), names }
}

/// Arguments of `test`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Examples:
  isoscope test                                             SQLite, embedded
  isoscope test postgres://localhost/db --isolation repeatable-read
  isoscope test --start mariadb --isolation repeatable-read --workload list-append
  isoscope test --start postgres --isolation serializable --workload bank --duration 30s
  isoscope test --start postgres --fault kill=200ms --fault restart=5s --duration 20s
  isoscope test memory:serializable?bug=skip-validation

isoscope checks the level that the database's documentation promises for the isolation level. This \
is often weaker than the name suggests; `--level` checks another level. The first line of the \
report says whether the promise was kept. A summary of the anomalies follows; --details prints the \
full report. Exit codes: 0 the promise was kept; 1 it was not; 2 unknown. The tables are named \
isoscope_.. and are removed at the end.")]
pub(crate) struct TestArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    /// Print the full report: all levels, and the evidence of every anomaly
    #[arg(long)]
    pub(crate) details: bool,
    /// Where to write the history [default: a temporary file, which is kept if a level fails or is unknown]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
}

/// Arguments of `record`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Examples:
  isoscope record postgres://localhost/db -o history.jsonl
  isoscope record sqlite:app.db --workload list-append --duration 10s -o history.jsonl
  isoscope record --start mariadb --workload smallbank --log statements.jsonl -o history.jsonl
  isoscope record memory:snapshot-isolation -o - | isoscope check -

The history is written in isoscope's JSON Lines while the workload runs; `isoscope convert` writes other \
formats. ^C stops each session after its current transaction and keeps the history.")]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    /// Where to write the history; `-` is standard output
    #[arg(short, long, value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
}

/// Arguments of `script`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Examples:
  isoscope script write-skew.script postgres://localhost/db --isolation repeatable-read
  isoscope script write-skew.script --start mariadb

docs/scripts.md describes the syntax of scripts. Exit code 1 means that the anomaly happened.")]
pub(crate) struct ScriptArgs {
    /// The script; `-` is standard input
    #[arg(value_name = "SCRIPT", value_hint = ValueHint::FilePath)]
    pub(crate) script: PathBuf,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    /// The isolation level, by the database's own name for it [default: the database's default]
    #[arg(short, long, value_name = "NAME", value_parser = any_isolation(), hide_possible_values = true)]
    pub(crate) isolation: Option<String>,
}

/// Arguments of `hermitage`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Examples:
  isoscope hermitage --start postgres
  isoscope hermitage mysql://localhost/test --isolation repeatable-read --isolation serializable
  isoscope hermitage                                 SQLite

docs/hermitage.md describes the scenarios.")]
pub(crate) struct HermitageArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    /// Only these isolation levels [default: all levels of the database]
    #[arg(short, long, value_name = "NAME", action = ArgAction::Append)]
    #[arg(value_parser = any_isolation(), hide_possible_values = true)]
    pub(crate) isolation: Vec<String>,
}

/// Arguments of `probe`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Examples:
  isoscope probe                                            SQLite, embedded
  isoscope probe --start postgres
  isoscope probe mysql://root@localhost/test --isolation repeatable-read --out scripts
  isoscope probe --start mariadb --exhaustive --timeout 10m

A program says what a few transactions read and write. isoscope runs the programs behind the smallest \
histories that tell two isolation levels apart, and all of two transactions with two operations, in \
every order of their steps, and checks what was read. docs/probe.md describes the report.

Exit codes: 0 every isolation level kept its promise; 1 one did not; 2 none was broken and the probe \
is not complete. The table is named isoscope_probe and is removed at the end.")]
pub(crate) struct ProbeArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    /// Only these isolation levels [default: all levels of the database]
    #[arg(short, long, value_name = "NAME", action = ArgAction::Append)]
    #[arg(value_parser = any_isolation(), hide_possible_values = true)]
    pub(crate) isolation: Vec<String>,
    /// Also run all programs of two transactions with three operations, and of three transactions with two, over two keys
    #[arg(long)]
    pub(crate) exhaustive: bool,
    /// The levels that must not be violated [default: the level that the documentation promises]
    #[arg(short, long, value_name = "LEVEL", value_delimiter = ',', action = ArgAction::Append)]
    #[arg(value_parser = catalogue_level(), hide_possible_values = true)]
    pub(crate) level: Vec<Level>,
    /// Write the smallest violations as scripts to this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// The output format
    #[arg(long, value_name = "STYLE", default_value = "full")]
    pub(crate) format: TextStyle,
    /// Stop after this time, such as 30s or 5m, or `none`. The isolation levels share it
    #[arg(long, value_name = "DURATION", default_value = "none", value_parser = timeout)]
    pub(crate) timeout: Timeout,
}

/// Parses a level of the catalogue by any of its names.
fn catalogue_level() -> NameParser<Level> {
    let parse = |text: &str| {
        Level::parse(text).map_err(|unknown| format!("{unknown}\n  `isoscope levels` lists the levels"))
    };
    NameParser { parse, names: || Level::ALL.map(Level::name).into() }
}

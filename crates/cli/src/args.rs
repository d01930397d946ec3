//! The command line. The parser, the help, the man pages and the completions are all generated from these definitions.

mod audit;
mod predict;
mod record;
mod synth;

use std::ffi::OsStr;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{ArgAction, Parser, Subcommand, ValueEnum, ValueHint};
use isoscope::TimeLimit;
use isoscope_formats::Format;
use isoscope_levels::language::Library;
use isoscope_levels::{Anomaly, Level, Topic};
use isoscope_workload::{Distribution, Duplication, Injection, SpecError, Store};

pub(crate) use audit::{AuditArgs, AuditStyle};
pub(crate) use predict::{BoundaryArg, CountArg, PredictArgs, PredictRecordArgs, StrategyArg};
pub(crate) use record::{
    DatabaseArgs, HermitageArgs, LoadArgs, ProbeArgs, RecordArgs, ScriptArgs, ServerArg, SizeArg, TestArgs,
    WorkloadArg,
};
pub(crate) use synth::{CompareArgs, LatticeArgs, LatticeStyle, ScopeArgs, SynthArgs, SynthStyle, TextStyle};

const EXIT_CODES: &str = "Exit codes:
  0    success; for checks: all levels hold
  1    a level is violated
  2    unknown: a limit was reached, the check was interrupted, or the history has nothing to check
  130  ended immediately by ^C or SIGTERM; no result
  254  invalid usage
  255  unreadable input, unwritable output, or an internal error";

/// Checks transaction isolation: of recorded histories, and of databases under load.
#[derive(Parser, Debug)]
#[command(name = "isoscope", version, after_help = "Start with `isoscope demo`.", after_long_help = EXIT_CODES)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(clap::Args, Debug)]
pub(crate) struct Global {
    /// Print only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Output options")]
    pub(crate) quiet: bool,
    /// Print each step and its duration on standard error
    #[arg(short, long, global = true, help_heading = "Output options")]
    pub(crate) verbose: bool,
    /// When to use colours; the variable `NO_COLOR` is honoured
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Output options")]
    pub(crate) color: ColorWhen,
    /// Number of threads [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = threads, help_heading = "Output options")]
    pub(crate) threads: Option<usize>,
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1024) => Ok(n),
        _ => Err("expected a number from 1 to 1024".to_owned()),
    }
}

/// When to use colours.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum ColorWhen {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Show what isoscope does on a small generated history
    Demo(DemoArgs),
    /// Check which isolation levels a history satisfies, and explain each violation
    Check(CheckArgs),
    /// Verify certificates written by `check`, independently of the engines that made them
    Verify(VerifyArgs),
    /// Print statistics of a history: sessions, transactions, outcomes, keys, duplicates
    Stats(StatsArgs),
    /// Convert a history to another format, and report what is lost
    Convert(ConvertArgs),
    /// Generate a history by running a workload on an in-memory store at a chosen isolation level
    Generate(Box<GenerateArgs>),
    /// Put a database under load and check whether it keeps the isolation it promises
    Test(Box<TestArgs>),
    /// Run a workload against a database and record the history
    Record(Box<RecordArgs>),
    /// Run a script of interleaved sessions against a database, step by step
    Script(ScriptArgs),
    /// Run the Hermitage scenarios at every isolation level of a database
    Hermitage(HermitageArgs),
    /// Predict, from a serializable run, the executions that a weaker level would permit
    Predict(Box<PredictArgs>),
    /// Audit a log of SQL statements: is there a correct execution that gives every answer?
    Audit(AuditArgs),
    /// Run small programs in every interleaving at every isolation level of a database, and report what was violated
    Probe(Box<ProbeArgs>),
    /// Find the smallest history that some levels allow and others forbid
    Synth(Box<SynthArgs>),
    /// Compare two definitions of levels: equivalent, stronger, weaker or incomparable
    Compare(Box<CompareArgs>),
    /// Compare all definitions of levels, with a history for each step between them
    Lattice(Box<LatticeArgs>),
    /// List the history formats
    Formats,
    /// List the isolation levels, which of them imply which, and the anomalies
    Levels(LevelsArgs),
    /// Explain an isolation level or an anomaly: definition, examples, sources
    Explain(ExplainArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write all of them to a directory
    Man(ManArgs),
}

/// A history format on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FormatArg(pub(crate) Format);

impl ValueEnum for FormatArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [FormatArg; Format::ALL.len()] = {
            let mut all = [FormatArg(Format::Edn); Format::ALL.len()];
            let mut i = 0;
            while i < all.len() {
                all[i] = FormatArg(Format::ALL[i]);
                i += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.about()))
    }
}

/// Options of commands that read a history.
#[derive(clap::Args, Debug)]
pub(crate) struct ReadArgs {
    /// The input's format [default: detected by content]
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) from: Option<FormatArg>,
}

/// The output format of statistics.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// A table
    Full,
    /// One line per file
    Concise,
    /// JSON: one object for one file, an array for several
    Json,
    /// JSON Lines: one object per file
    Jsonl,
}

/// The report format of a check.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckStyle {
    /// Text: the levels, and each anomaly with the operations in the file that prove it
    Full,
    /// One line per file
    Concise,
    /// JSON: one object for one file, an array for several
    Json,
    /// JSON Lines: one object per file
    Jsonl,
    /// EDN: one map per file, as Elle's checkers return it
    Elle,
    /// JUnit XML: one test suite per file, one test case per level
    Junit,
}

/// Arguments of `check`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Examples:
  isoscope check history.edn                         which levels hold, which fail, and why
  isoscope check --level read-atomic history.txt     one level; use the exit code in scripts
  isoscope check --level rc,ra,cc --format jsonl store/*/history.edn
  isoscope check --level ser,si --timeout 5m --memory 4GB history.edn
  isoscope check --level all history.edn             also the finer levels of Adya and Elle
  isoscope check --level mine.iso,si history.edn     levels of a file, and snapshot isolation
  zcat big.txt.gz | isoscope check --format concise -

Without --level, the common levels are checked. The report names the strongest levels that hold \
and the weakest that fail. `--level all` adds the finer levels of Adya, Elle and others. \
`isoscope levels` lists the levels. docs/language.md describes files of definitions. If a definition \
says the same as a level of the catalogue, that level is checked. Any other is checked by a search on \
histories of at most 200 transactions and 200 keys; on larger ones it is unknown.

Levels above causal are NP-hard to decide, and so is any level if several transactions wrote the \
value that was read. Most histories still take seconds. Each level has a time limit of 60 s. \
--timeout sets another limit; `--timeout none` removes it. A level that reaches a limit is unknown, \
and the report shows what was decided before. ^C ends a check in the same way. Strict levels need the \
times at which transactions were invoked and returned.

Exit codes: 0 all levels hold; 1 a level is violated; 2 no level is violated and one is unknown, \
or the history has nothing to check; 254 invalid usage; 255 a file cannot be read or written. With \
several files, the worst: 255, then 1, then 2.")]
pub(crate) struct CheckArgs {
    /// Histories: files, directories, or `-` for standard input; gzip and zstd are transparent
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    /// Write the proof of each verdict to DIR/LEVEL.json, or DIR/FILE/LEVEL.json for several files; `isoscope
    /// verify` confirms them. Certificates of another history are not overwritten
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) certificates: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
}

/// Arguments of `verify`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Examples:
  isoscope check --certificates proofs history.edn     write one certificate per level
  isoscope verify history.edn proofs/*.json            verify them in another process

The verifier shares no code with the engines that made the certificates. It refuses a certificate that \
belongs to another history, was modified or truncated, has another version, or does not prove its \
verdict.

Exit codes: 0 all certificates are confirmed; 1 one is refused; 254 invalid usage; 255 the history \
or a certificate cannot be read.")]
pub(crate) struct VerifyArgs {
    /// The history: a file, a directory, or `-` for standard input
    #[arg(value_name = "HISTORY", value_hint = ValueHint::AnyPath)]
    pub(crate) history: PathBuf,
    /// Certificates written by `check --certificates`
    #[arg(required = true, value_name = "CERTIFICATE", value_hint = ValueHint::FilePath)]
    pub(crate) certificates: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// The levels to check, the limits, and the report format.
#[derive(clap::Args, Debug)]
pub(crate) struct JudgeArgs {
    /// The levels to check, by name or short name, or `all` [default: the common levels]. FILE.iso means all levels that a
    /// file in the level language defines, FILE.iso:NAME one of them, NAME@FRAMEWORK a shipped definition
    #[arg(short, long, value_name = "LEVEL", value_delimiter = ',', action = ArgAction::Append)]
    #[arg(value_parser = any_level(), hide_possible_values = true)]
    pub(crate) level: Vec<AskedLevel>,
    /// The report format
    #[arg(long, value_name = "STYLE", default_value = "full")]
    pub(crate) format: CheckStyle,
    /// Number of occurrences of each anomaly to show; 0 means all. All are counted [default: 3, and 10 for json,
    /// jsonl and elle]
    #[arg(long, value_name = "N")]
    pub(crate) max_anomalies: Option<usize>,
    /// Confirm every verdict with the independent verifier. The verifier has the same time limit as the check (--timeout); a
    /// verdict that it could not confirm in time counts as unknown for the exit code
    #[arg(long)]
    pub(crate) certify: bool,
    /// Time limit for checking a history, such as 500ms, 30s, 5m or 1h; `none` means no limit. Reading the history is not
    /// included [default: 60s for each level]
    #[arg(long, value_name = "DURATION", value_parser = timeout)]
    pub(crate) timeout: Option<Timeout>,
    /// Limit of resident memory for reading and checking, such as 512MiB or 4GB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Use the database's begin and commit timestamps as the real time of strict levels, instead of the times that
    /// clients observed. Without this option they only guide the search
    #[arg(long)]
    pub(crate) trust_timestamps: bool,
    /// When a transaction of unknown outcome takes effect, if its session continues
    #[arg(long, value_name = "WHEN", default_value = "in-order")]
    pub(crate) unknown: UnknownOrder,
}

/// When a transaction of unknown outcome takes effect, if it does.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownOrder {
    /// At any time: its commit may be delayed while its session continues. Its order after earlier transactions of its
    /// session is then not checked. The last transaction of a session still follows the others
    Late,
    /// Before the next transaction of its session
    InOrder,
}

impl From<UnknownOrder> for isoscope::UnknownOrder {
    fn from(order: UnknownOrder) -> Self {
        match order {
            UnknownOrder::Late => isoscope::UnknownOrder::Late,
            UnknownOrder::InOrder => isoscope::UnknownOrder::InOrder,
        }
    }
}

impl JudgeArgs {
    /// The time limit of the check.
    pub(crate) fn time_limit(&self) -> Option<TimeLimit> {
        match self.timeout {
            None => Some(TimeLimit::DEFAULT),
            Some(Timeout::Never) => None,
            Some(Timeout::After(time)) => Some(TimeLimit::History(time)),
        }
    }
}

/// A time limit on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeout {
    Never,
    After(Duration),
}

fn timeout(text: &str) -> Result<Timeout, String> {
    if text.trim().eq_ignore_ascii_case("none") {
        return Ok(Timeout::Never);
    }
    duration(text).map(Timeout::After).map_err(|help| format!("{help}; `none` removes the limit"))
}

/// Arguments of `stats`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Examples:
  isoscope stats history.edn
  isoscope stats --format json store/latest
  zcat big.txt.gz | isoscope stats -")]
pub(crate) struct StatsArgs {
    /// Histories: files, directories, or `-` for standard input; gzip and zstd are transparent
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// The report format
    #[arg(long, value_name = "STYLE", default_value = "full")]
    pub(crate) format: Style,
}

/// Arguments of `convert`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Examples:
  isoscope convert history.edn --to plume > history.txt
  isoscope convert store/latest -o history.jsonl
  isoscope convert cobra-logs/ --to dbcop-bincode -o history.bincode

`isoscope formats` lists the formats. A note on standard error names what the new format cannot express.")]
pub(crate) struct ConvertArgs {
    /// The history: a file, a directory, or `-` for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

/// Options of commands that write a history.
#[derive(clap::Args, Debug)]
pub(crate) struct WriteArgs {
    /// The output's format [default: by file extension; native on standard output]
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) to: Option<FormatArg>,
    /// Where to write, uncompressed; a directory for cobra [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) output: Option<PathBuf>,
}

/// Arguments of `demo`.
#[derive(clap::Args, Debug)]
pub(crate) struct DemoArgs {
    /// The seed of the generated history
    #[arg(long, default_value_t = 7)]
    pub(crate) seed: u64,
}

/// The output format of the catalogue.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CatalogueStyle {
    /// A diagram and tables
    Full,
    /// JSON: the whole catalogue
    Json,
}

/// Arguments of `levels`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Examples:
  isoscope levels
  isoscope levels --format json
  isoscope explain snapshot-isolation")]
pub(crate) struct LevelsArgs {
    /// The output format
    #[arg(long, value_name = "STYLE", default_value = "full")]
    pub(crate) format: CatalogueStyle,
}

/// Arguments of `explain`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Examples:
  isoscope explain                      list what can be explained
  isoscope explain si                   a level, by its name or an alias
  isoscope explain 'repeatable read'    the name in SQL and Adya
  isoscope explain write-skew           an anomaly
  isoscope explain G-single             the name in Adya and Elle
  isoscope explain causal@visibility    a definition in the level language, in words
  isoscope explain mine.iso             all definitions of a file

Names are case-insensitive. `_` and a space are the same as `-`.")]
pub(crate) struct ExplainArgs {
    /// An isolation level, an anomaly, or definitions of levels: NAME@FRAMEWORK, FILE.iso or FILE.iso:NAME [default: list all]
    #[arg(value_name = "TOPIC", value_parser = any_topic(), hide_possible_values = true)]
    pub(crate) topic: Option<Explained>,
}

/// Arguments of `completions`.
#[derive(clap::Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(clap::Args, Debug)]
pub(crate) struct ManArgs {
    /// Write the pages of all commands to this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

/// Arguments of `generate`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Examples:
  isoscope generate --level snapshot-isolation -o history.jsonl
  isoscope generate --sessions 100 --txns 10000 --ops 10 --keys 100000 --to plume -o big.txt
  isoscope generate --shape list-append --inject long-fork=2 --to edn

The history satisfies the level by construction, and usually not the next stronger one. The same \
options and seed give the same history on every machine.")]
pub(crate) struct GenerateArgs {
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    /// The level the store runs at
    #[arg(long, default_value = "serializable", value_parser = store_level())]
    pub(crate) level: Level,
    /// Number of concurrent sessions
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) sessions: u32,
    /// Transactions per session
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) txns: u32,
    /// Operations per transaction
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) ops: u32,
    /// Number of keys
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) keys: u32,
    /// The share of operations that read, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub(crate) reads: f64,
    /// The share of transactions in which every key is read before it is written, as in TPC-C; the others
    /// write blindly
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) read_modify_write: f64,
    /// The distribution of keys: `uniform`, `zipfian[:THETA]` or `hotspot[:KEYS:OPS]`, where the share
    /// KEYS of all keys gets the share OPS of all operations
    #[arg(long, value_name = "LAW", default_value = "uniform", value_parser = distribution)]
    pub(crate) distribution: Distribution,
    /// Write repeated values to a share of the keys: `SHARE[:VALUES[:THETA]]`, drawn from
    /// VALUES values by Zipf's law [default: every value is unique]
    #[arg(long, value_name = "LAW", value_parser = duplication)]
    pub(crate) duplicates: Option<Duplication>,
    /// What the keys hold
    #[arg(long, default_value = "register")]
    pub(crate) shape: ShapeArg,
    /// The share of transactions that abort
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) aborts: f64,
    /// The share of transactions with an unknown outcome
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) unknowns: f64,
    /// Add an anomaly, COUNT times; may be given more than once.
    ///
    /// The anomalies: lost-update, write-skew, long-fork, fractured-read, aborted-read, intermediate-read,
    /// non-repeatable-read, causality-violation
    #[arg(long, value_name = "ANOMALY[=COUNT]", value_parser = any_injection(), action = ArgAction::Append)]
    #[arg(hide_possible_values = true)]
    pub(crate) inject: Vec<Injection>,
    /// The random seed [default: a random one, which is printed]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// Parses a name, reports an invalid one, and lists the names for completion.
#[derive(Clone)]
struct NameParser<T> {
    parse: fn(&str) -> Result<T, String>,
    names: fn() -> Vec<&'static str>,
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for NameParser<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        (self.parse)(&value.to_string_lossy()).map_err(|message| invalid(command, &message))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}

/// Parses a level that the store supports, by any of its names.
fn store_level() -> NameParser<Level> {
    let parse = |text: &str| {
        let level = Level::parse(text).map_err(|unknown| {
            let names = Store::LEVELS.map(Level::name).join(", ");
            format!("{unknown}\n  the store supports {names}")
        })?;
        let runs = Store::LEVELS.contains(&level);
        if runs { Ok(level) } else { Err(SpecError::Level { level }.to_string()) }
    };
    NameParser { parse, names: || Store::LEVELS.map(Level::name).into() }
}

/// A value of `--level`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AskedLevel {
    /// Every level of the catalogue.
    All,
    /// One level.
    One(Level),
    /// A file of definitions, `FILE.iso` or `FILE.iso:NAME`, or a shipped definition, `NAME@FRAMEWORK`.
    Defined(String),
}

/// The file of `FILE.iso` and `FILE.iso:NAME`, and the name.
pub(crate) fn definition_file(text: &str) -> Option<(&Path, Option<&str>)> {
    let is_file = |path: &str| {
        Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("iso"))
    };
    match text.rsplit_once(':') {
        Some((path, name)) if is_file(path) => Some((Path::new(path), Some(name))),
        _ => is_file(text).then_some((Path::new(text), None)),
    }
}

/// Parses any level by any of its names, or `all`.
fn any_level() -> NameParser<AskedLevel> {
    let parse = |text: &str| {
        if text.eq_ignore_ascii_case(ALL_LEVELS) {
            return Ok(AskedLevel::All);
        }
        if definition_file(text).is_some() {
            return Ok(AskedLevel::Defined(text.to_owned()));
        }
        match Level::parse(text) {
            Ok(level) => Ok(AskedLevel::One(level)),
            Err(_) if Library::shipped().find(text).is_ok() => Ok(AskedLevel::Defined(text.to_owned())),
            Err(unknown) => {
                let help = "`isoscope levels` lists the levels; a file with a definition is FILE.iso";
                Err(format!("{}\n  {help}", not_found(text, unknown)))
            }
        }
    };
    NameParser { parse, names: || std::iter::once(ALL_LEVELS).chain(Level::ALL.map(Level::name)).collect() }
}

/// Why a name names nothing: with a framework, that it is defined only in others.
fn not_found(text: &str, unknown: impl Display) -> String {
    match Library::shipped().find(text) {
        Err(error) if !error.frameworks.is_empty() => error.to_string(),
        _ => unknown.to_string(),
    }
}

/// The value that means every level.
const ALL_LEVELS: &str = "all";

/// What `explain` explains.
#[derive(Clone, Debug)]
pub(crate) enum Explained {
    /// An entry of the catalogue.
    Topic(Topic),
    /// Definitions in the level language.
    Defined(String),
}

/// Parses any name of the catalogue, and names of definitions.
fn any_topic() -> NameParser<Explained> {
    let parse = |text: &str| {
        if definition_file(text).is_some() {
            return Ok(Explained::Defined(text.to_owned()));
        }
        match Topic::parse(text) {
            Ok(topic) => Ok(Explained::Topic(topic)),
            Err(_) if Library::shipped().find(text).is_ok() => Ok(Explained::Defined(text.to_owned())),
            Err(unknown) => {
                let help = "`isoscope explain` lists what can be explained";
                Err(format!("{}\n  {help}", not_found(text, unknown)))
            }
        }
    };
    NameParser { parse, names: || Topic::all().map(Topic::name).collect() }
}

/// Parses an anomaly that can be injected, and its count.
fn any_injection() -> NameParser<Injection> {
    NameParser { parse: injection, names: || Injection::ANOMALIES.map(Anomaly::name).into() }
}

fn invalid(command: &clap::Command, message: &str) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{message}\n")).with_cmd(command)
}

/// What the keys hold.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum ShapeArg {
    /// Registers, read and overwritten
    Register,
    /// Lists, read whole and appended to
    ListAppend,
}

fn distribution(text: &str) -> Result<Distribution, String> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or("");
    let numbers: Vec<f64> = parts.map(number).collect::<Result<_, _>>()?;
    match (name, numbers.as_slice()) {
        ("uniform", []) => Ok(Distribution::Uniform),
        ("zipfian", []) => Ok(Distribution::Zipfian { theta: 0.99 }),
        ("zipfian", &[theta]) => Ok(Distribution::Zipfian { theta }),
        ("hotspot", []) => Ok(Distribution::Hotspot { keys: 0.2, ops: 0.8 }),
        ("hotspot", &[keys, ops]) => Ok(Distribution::Hotspot { keys, ops }),
        _ => Err("expected `uniform`, `zipfian[:THETA]` or `hotspot[:KEYS:OPS]`".to_owned()),
    }
}

fn duplication(text: &str) -> Result<Duplication, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let domain = |text: &str| text.parse::<u32>().map_err(|_| format!("`{text}` is not a number of values"));
    match parts.as_slice() {
        [keys] => Ok(Duplication { keys: number(keys)?, domain: 100, theta: 0.5 }),
        [keys, values] => Ok(Duplication { keys: number(keys)?, domain: domain(values)?, theta: 0.5 }),
        [keys, values, theta] => {
            Ok(Duplication { keys: number(keys)?, domain: domain(values)?, theta: number(theta)? })
        }
        _ => Err("expected `SHARE[:VALUES[:THETA]]`".to_owned()),
    }
}

/// Parses a sequence of numbers with units: `90s`, `1m30s`.
fn duration(text: &str) -> Result<Duration, String> {
    let help = || format!("`{text}` is not a duration such as 500ms, 30s, 5m or 1h");
    let mut seconds = 0.0;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (amount, unit, after) = amount(rest).ok_or_else(help)?;
        seconds += amount
            * match unit.to_ascii_lowercase().as_str() {
                "ms" => 1e-3,
                "s" => 1.0,
                "" => return Err(format!("`{text}` has no unit; write 500ms, 30s or 5m, for example")),
                "m" | "min" => 60.0,
                "h" => 3600.0,
                _ => return Err(help()),
            };
        rest = after;
    }
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(help()),
    }
}

/// Parses a number of bytes with a decimal or binary unit.
#[allow(clippy::cast_sign_loss, reason = "the number is checked to be positive")]
fn size(text: &str) -> Result<u64, String> {
    let help = || format!("`{text}` is not a size such as 512MiB or 4GB");
    let (amount, unit, after) = amount(text.trim()).ok_or_else(help)?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "" => return Err(format!("`{text}` has no unit; write 512MiB or 4GB, for example")),
        _ => return Err(help()),
    };
    let bytes = amount * factor;
    if after.is_empty() && (1.0..=1e18).contains(&bytes) { Ok(bytes as u64) } else { Err(help()) }
}

/// A number, the letters that follow it, and the rest.
fn amount(text: &str) -> Option<(f64, &str, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(digits);
    let rest = rest.trim_start();
    let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, after) = rest.split_at(letters);
    Some((number.parse().ok()?, unit, after.trim_start()))
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

fn injection(text: &str) -> Result<Injection, String> {
    let (name, count) = text.split_once('=').unwrap_or((text, "1"));
    let count = count.parse().map_err(|_| format!("`{count}` is not a count"))?;
    let anomaly = Anomaly::parse(name).map_err(|unknown| {
        let names = Injection::ANOMALIES.map(Anomaly::name).join(", ");
        format!("{unknown}; these can be injected: {names}")
    })?;
    if !Injection::ANOMALIES.contains(&anomaly) {
        return Err(SpecError::Anomaly { anomaly }.to_string());
    }
    Ok(Injection { kind: anomaly, count })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Help is wrapped to 100 columns where no terminal says otherwise. A paragraph is one line; an example must fit.
    #[test]
    fn help_is_wrapped_once() {
        use clap::CommandFactory;
        for command in Args::command().get_subcommands() {
            let text = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            for pair in lines.windows(2) {
                let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
                let is_list = pair[0].ends_with(':') || pair[1].starts_with("Targets:");
                assert!(
                    is_list || !(is_prose(pair[0]) && is_prose(pair[1])),
                    "{}: a line break inside of a paragraph after: {}",
                    command.get_name(),
                    pair[0]
                );
            }
            for line in lines.iter().filter(|line| line.starts_with(' ')) {
                assert!(line.chars().count() <= 100, "{}: {line}", command.get_name());
            }
        }
    }

    #[test]
    fn durations_have_units() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("1.5 h", 5_400_000),
            ("5m", 300_000),
            ("1m30s", 90_000),
            ("2min", 120_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in [
            "",
            "s",
            "0",
            "30",
            "0s",
            "-1s",
            "5 parsecs",
            "1m30",
            "1..5s",
            "1e400h",
            "9999999999999999999999h",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(duration("30").unwrap_err().contains("no unit"));
        assert_eq!(timeout("None"), Ok(Timeout::Never));
        assert_eq!(timeout("5m"), Ok(Timeout::After(Duration::from_secs(300))));
        assert!(timeout("never").unwrap_err().ends_with("; `none` removes the limit"));
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [
            ("4GB", 4_000_000_000),
            ("512MiB", 512 << 20),
            ("1.5 gib", 3 << 29),
            ("100kB", 100_000),
            ("64KiB", 65_536),
            ("7B", 7),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "4", "GB", "0GB", "4GBs", "4 G B", "1e9GB", "99999999999TB"] {
            assert!(size(text).is_err(), "{text}");
        }
        assert!(size("4").unwrap_err().contains("no unit"));
    }
}

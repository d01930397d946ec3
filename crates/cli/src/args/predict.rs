//! The arguments of `predict`.

use std::path::PathBuf;

use clap::{ValueEnum, ValueHint};
use isoscope_levels::Level;

use super::{ReadArgs, TextStyle, Timeout, timeout};

/// What is kept of a transaction whose reads change.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoundaryArg {
    /// The transaction is cut at the changed read: a prediction is wrong only if the transaction would abort
    Strict,
    /// All its reads and writes: a prediction is wrong if other values lead to other accesses or to an abort
    Relaxed,
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

/// Arguments of `predict`.
#[derive(clap::Args, Debug)]
#[command(
    after_long_help = "The history must be serializable: a run of an application that was fine. A prediction is an
execution of the same transactions that --level permits and that violates --violates. It has a
prefix of each session. In at most one transaction a session, the last, some reads have other
writers. docs/predict.md has the definitions.

Levels: read-committed, read-atomic, causal, prefix, parallel-snapshot-isolation, snapshot-isolation.
Targets: prefix, snapshot-isolation, serializable.

Exit codes: 0 it was proved that there is no prediction; 1 there are predictions, or the run itself
violates the target; 2 a limit was reached first, or nothing can be predicted; 254 invalid usage;
255 the history cannot be read.

Examples:
  isoscope predict run.jsonl --level read-committed
  isoscope predict run.jsonl --level si --most 1 --format json
  isoscope predict trace.txt --level causal --strategy approx-strict"
)]
pub(crate) struct PredictArgs {
    /// The history: a file, a directory, or `-` for standard input
    #[arg(value_name = "HISTORY", value_hint = ValueHint::AnyPath)]
    pub(crate) history: PathBuf,
    /// The level that the predicted executions satisfy
    #[arg(short, long, value_name = "LEVEL", value_parser = level)]
    pub(crate) level: Level,
    /// The level that they violate
    #[arg(long, value_name = "LEVEL", default_value = "serializable", value_parser = level)]
    pub(crate) violates: Level,
    /// What is kept of a transaction whose reads change [default: relaxed]
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
    /// Stop after this time, such as 30s or 5m, or `none`. Reading the history is not included
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = timeout)]
    pub(crate) timeout: Timeout,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// The output format
    #[arg(long, value_name = "STYLE", default_value = "full")]
    pub(crate) format: TextStyle,
}

fn level(text: &str) -> Result<Level, String> {
    Level::parse(text).map_err(|unknown| format!("{unknown}\n  `isoscope levels` lists the levels"))
}

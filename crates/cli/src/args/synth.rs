//! The arguments of commands about definitions of levels.

use std::path::PathBuf;

use clap::{ValueEnum, ValueHint};

use super::{Timeout, timeout};

/// Where levels are defined.
#[derive(clap::Args, Debug)]
pub(crate) struct DefinitionArgs {
    /// Read more definitions from a file in the level language; a level may also be the name of such a file
    #[arg(long, value_name = "FILE.iso", value_hint = ValueHint::FilePath)]
    pub(crate) define: Vec<PathBuf>,
}

/// How large histories may be, and how long the search.
#[derive(clap::Args, Debug)]
pub(crate) struct ScopeArgs {
    /// The most transactions of a history, 1 to 12
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=12))]
    pub(crate) txns: u8,
    /// The most keys, 1 to 12
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=12))]
    pub(crate) keys: u8,
    /// The most values of a key, the initial one included, 1 to 13 [default: one for each transaction, and the initial one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=13))]
    pub(crate) values: Option<u8>,
    /// The most sessions, 1 to 12 [default: one for each transaction]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=12))]
    pub(crate) sessions: Option<u8>,
    /// Search the histories of the Isolde paper: transactions read what they write, and session order is any partial order
    #[arg(long)]
    pub(crate) isolde: bool,
    /// Stop after this time, such as 30s or 5m, or `none`
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = timeout)]
    pub(crate) timeout: Timeout,
}

/// How a result without a picture is printed.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextStyle {
    /// Text
    Full,
    /// JSON
    Json,
}

/// How a result is printed.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SynthStyle {
    /// Text
    Full,
    /// JSON
    Json,
    /// A picture: transactions and their dependencies
    Svg,
}

/// Arguments of `synth`.
#[derive(clap::Args, Debug)]
#[command(
    after_long_help = "A level is NAME or NAME@FRAMEWORK. The frameworks are commit-order, visibility, dependency-graph \
and states. `isoscope lattice` lists the definitions.

Exit codes: 0 if a history was found, 1 if there is none within the scope, 2 if the time limit was reached.

Examples:
  isoscope synth --allow si --forbid serializable
  isoscope synth --allow si,serializable-updates --forbid serializable
  isoscope synth --allow prefix --forbid si --all --txns 3
  isoscope synth --allow causal --forbid psi --where no-blind-writes --where two-sessions
  isoscope synth --allow psi --forbid si \\
    --where 'forall s, t: Txn, x: Key. so(s, t) & writes(t, x) => reads(t, x)'
  isoscope synth --allow si --forbid serializable --format svg > write-skew.svg
  isoscope synth --allow my-level.iso --forbid read-atomic@visibility"
)]
pub(crate) struct SynthArgs {
    /// Levels that allow the history
    #[arg(long, value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// Levels that forbid the history
    #[arg(long, value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) forbid: Vec<String>,
    /// A condition on the history: a formula of the level language, or one of the names `no-blind-writes`,
    /// `one-transaction-per-session`, `two-sessions`. It also speaks of the initial transaction, which is before all others in
    /// `so`
    #[arg(long = "where", value_name = "FORMULA")]
    pub(crate) conditions: Vec<String>,
    /// Print all smallest histories that are different up to renaming, at most 1,000
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    #[command(flatten)]
    pub(crate) definitions: DefinitionArgs,
    /// The output format
    #[arg(long, value_name = "STYLE", default_value = "full")]
    pub(crate) format: SynthStyle,
}

/// Arguments of `compare`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Exit codes: 0 if the comparison is complete, 2 if the time limit was reached.

Examples:
  isoscope compare si psi
  isoscope compare read-atomic plume-read-atomic-published
  isoscope compare my-level.iso causal@visibility --txns 5")]
pub(crate) struct CompareArgs {
    /// A level: NAME, NAME@FRAMEWORK or FILE.iso
    #[arg(value_name = "LEVEL")]
    pub(crate) first: String,
    /// Another level
    #[arg(value_name = "LEVEL")]
    pub(crate) second: String,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    #[command(flatten)]
    pub(crate) definitions: DefinitionArgs,
    /// The output format
    #[arg(long, value_name = "STYLE", default_value = "full")]
    pub(crate) format: SynthStyle,
}

/// How a lattice is printed.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LatticeStyle {
    /// Text
    Full,
    /// JSON
    Json,
    /// A picture
    Svg,
    /// A graph for Graphviz
    Dot,
}

/// Arguments of `lattice`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Exit codes: 0 if all pairs were compared, 2 if the time limit was reached.

Examples:
  isoscope lattice
  isoscope lattice my-level.iso --txns 4
  isoscope lattice --format svg > lattice.svg")]
pub(crate) struct LatticeArgs {
    /// Files with more definitions
    #[arg(value_name = "FILE.iso", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// The output format
    #[arg(long, value_name = "STYLE", default_value = "full")]
    pub(crate) format: LatticeStyle,
}

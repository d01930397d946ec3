//! The command line: one definition for parser, help, man pages and completions.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{ArgAction, Parser, Subcommand, ValueEnum, ValueHint};
use isoscope_formats::Format;

const EXIT_CODES: &str = "Exit codes:
  0    done; for checks: the level holds
  1    a level is violated
  2    unknown: a limit was reached, or there was nothing to check
  254  the command line makes no sense
  255  an input cannot be read, an output cannot be written, or isoscope is broken";

/// The instrument for looking at transaction isolation.
#[derive(Parser, Debug)]
#[command(name = "isoscope", version, after_help = "Start with `isoscope demo`.", after_long_help = EXIT_CODES)]
#[command(disable_help_subcommand = true, subcommand_required = true, arg_required_else_help = true)]
#[command(max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options every command has.
#[derive(clap::Args, Debug)]
pub(crate) struct Global {
    /// Say nothing but results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Output options")]
    pub(crate) quiet: bool,
    /// Say on standard error what is done and how long it takes
    #[arg(short, long, global = true, help_heading = "Output options")]
    pub(crate) verbose: bool,
    /// When to use colours; the variable `NO_COLOR` is honoured
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Output options")]
    pub(crate) color: ColorWhen,
    /// How many threads to use [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = threads, help_heading = "Output options")]
    pub(crate) threads: Option<usize>,
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1024) => Ok(n),
        _ => Err("a number from 1 to 1024".to_owned()),
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

/// The verbs.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Show what isoscope does, on a small history it makes itself
    Demo(DemoArgs),
    /// Tell what is in a history: sessions, transactions, outcomes, keys, duplicates
    Stats(StatsArgs),
    /// Convert a history from any format to another, and say what is lost
    Convert(ConvertArgs),
    /// Generate a history by running a workload on an in-memory store at a chosen isolation level
    Generate(Box<GenerateArgs>),
    /// List the history formats
    Formats,
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write all of them to a directory
    Man(ManArgs),
}

/// A format on the command line.
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

/// How results are shown.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// A table for people
    Full,
    /// A line a file
    Concise,
    /// JSON: an object for one file, an array for several
    Json,
    /// JSON Lines: an object and a line a file
    Jsonl,
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
    /// How to show the result
    #[arg(long, value_name = "STYLE", default_value = "full")]
    pub(crate) format: Style,
}

/// Arguments of `convert`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Examples:
  isoscope convert history.edn --to plume > history.txt
  isoscope convert store/latest -o history.jsonl
  isoscope convert cobra-logs/ --to dbcop-bincode -o history.bincode

`isoscope formats` lists the formats. What the new format cannot express is said on standard error.")]
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
    /// The output's format [default: by the output's extension, else native]
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) to: Option<FormatArg>,
    /// Where to write; a directory for cobra [default: standard output]
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
pub(crate) struct GenerateArgs {
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    /// placeholder
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) placeholder: bool,
}

//! The arguments of `audit`.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{ValueEnum, ValueHint};
use isoscope_audit::{Model, OrderBy};

use super::{Timeout, timeout};

/// A model on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModelArg(pub(crate) Model);

impl ValueEnum for ModelArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [ModelArg; Model::ALL.len()] = {
            let mut all = [ModelArg(Model::PgRc); Model::ALL.len()];
            let mut i = 0;
            while i < all.len() {
                all[i] = ModelArg(Model::ALL[i]);
                i += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()))
    }
}

/// How commits are ordered.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderArg {
    /// In any order that the times of the log allow
    Solve,
    /// By the database's commit timestamps, as in the paper on Troubadour; needs one of the paper's models
    Timestamps,
}

impl From<OrderArg> for OrderBy {
    fn from(order: OrderArg) -> OrderBy {
        match order {
            OrderArg::Solve => OrderBy::Solve,
            OrderArg::Timestamps => OrderBy::Timestamps,
        }
    }
}

/// The form of the report.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuditStyle {
    /// Text: the verdict, the statement that cannot be explained, and the answers that contradict each other
    Full,
    /// One line
    Concise,
    /// JSON: one object
    Json,
    /// JUnit XML: one test case
    Junit,
}

/// Arguments of `audit`.
#[derive(clap::Args, Debug)]
#[command(
    after_long_help = "The log has the SQL statements of all transactions with their answers, as `isoscope record --log` \
writes it (docs/log.md). The audit looks for an execution that the isolation level permits and in \
which every statement gets its answer. If there is none, the report names the first answer that \
cannot be explained, in the order of the answers, and the answers that contradict each other. \
docs/audit.md describes the models and what is checked.

Models of engines: pg-rc, pg-rr, pg-ser (PostgreSQL at read committed, repeatable read and \
serializable), sqlite. Models of the paper on Troubadour: paper-s, paper-ss, paper-si, paper-ssi, \
paper-rc. Without --level, the header of the log selects the model.

Exit codes: 0 every answer is explained; 1 an answer cannot be explained; 2 undecided, or some \
statements could not be checked and --allow-gaps was not given; 254 invalid usage; 255 the log \
cannot be read or audited.

Examples:
  isoscope record --start postgres --workload bank -o run.jsonl --log run.log
  isoscope audit run.log
  isoscope audit run.log --level pg-ser --timeout 5m
  isoscope audit run.log --format json"
)]
pub(crate) struct AuditArgs {
    /// The log: a file, or `-` for standard input
    #[arg(value_name = "LOG", value_hint = ValueHint::FilePath)]
    pub(crate) log: PathBuf,
    /// What the database promises [default: by the header of the log]
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) level: Option<ModelArg>,
    /// How commits are ordered
    #[arg(long, value_name = "ORDER", default_value = "solve")]
    pub(crate) order: OrderArg,
    /// Time limit of the audit, such as 500ms, 30s or 5m; `none` means no limit. Reading the log is not included
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = timeout)]
    pub(crate) timeout: Timeout,
    /// Exit with 0 if every answer that could be checked is explained, although some statements could not be checked
    #[arg(long)]
    pub(crate) allow_gaps: bool,
    /// The form of the report
    #[arg(long, value_name = "STYLE", default_value = "full")]
    pub(crate) format: AuditStyle,
}

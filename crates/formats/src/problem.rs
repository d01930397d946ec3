//! Problems of an input and their positions.
//!
//! Readers collect all errors they can find, up to a limit, and all warnings, summarised by kind. A reader
//! knows byte positions only. [`crate::text`] converts them to file, line, column and the text of the line
//! after reading, so that reading a correct input pays nothing for it.

use isoscope_history::Position;

/// The number of errors kept; further errors are counted.
const MOST_ERRORS: usize = 20;
/// The number of errors after which reading stops: the input is in another format.
const GIVE_UP: usize = 10_000;

/// A place in the input, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file name as given by the user.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column in characters, from 1.
    pub column: u64,
    /// The byte offset in the (decompressed) file.
    pub offset: u64,
    /// The text of the line around the column, shortened; control characters are replaced.
    pub excerpt: String,
    /// The terminal column of the byte in the excerpt, from 0: wide characters take two columns.
    pub caret: usize,
    /// Whether the file is binary. Then line and column are meaningless and only the offset counts.
    pub binary: bool,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.binary {
            write!(f, "{}: byte {}", self.file, self.offset)
        } else {
            write!(f, "{}:{}:{}", self.file, self.line, self.column)
        }
    }
}

/// The severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The history cannot be read.
    Error,
    /// The history was read, but part of the input is suspicious.
    Warning,
}

/// One problem, ready for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its severity.
    pub severity: Severity,
    /// Where it occurs first.
    pub place: Option<Place>,
    /// What is wrong, as a sentence without a full stop.
    pub message: String,
    /// What was expected there, or how to fix it.
    pub help: Option<String>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

/// The warnings of readers. Each is shown once, with the number of times it occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warning {
    /// Blank lines.
    BlankLine,
    /// The input contains no transactions.
    NoTransactions,
    /// The first transaction writes the initial values explicitly.
    ExplicitInitial,
    /// Keys that are read but that no transaction writes.
    NeverWritten,
    /// The last record is incomplete.
    Truncated,
    /// Operations of a process that is not a client.
    Nemesis,
    /// An invocation that never completed.
    Incomplete,
    /// A process invoked an operation before its previous invocation completed.
    DoubleInvoke,
    /// Operations without a process.
    NoProcess,
    /// Completions without an invocation.
    NoInvoke,
    /// A process continued after an operation of unknown outcome.
    InvokeAfterInfo,
    /// Operations the format marks as failed inside a transaction.
    FailedOperation,
    /// Reads from a writer that is not in the input.
    MissingWriter,
    /// Unknown fields.
    UnknownField,
    /// Unknown operations, which were ignored.
    SkippedOperation,
    /// Transactions with a begin and without an end in the log.
    Unfinished,
    /// A recording without its end mark.
    NoEnd,
    /// Transactions invoked after the last mark.
    AfterMark,
    /// Transactions that were running at the last mark.
    AtMark,
    /// Predicate reads for which only the returned rows can be checked.
    PartialPredicate,
    /// Transactions that overlap an earlier one of their session.
    Overlap,
    /// Reads that found nothing, where other reads name the tombstones of deleted keys.
    UnnamedTombstone,
}

impl Warning {
    /// The text of the warning.
    fn text(self, count: u64) -> String {
        let many = |noun: &str, rest: &str| {
            let s = if count == 1 { "" } else { "s" };
            format!("{count} {noun}{s} {rest}")
        };
        match self {
            Warning::BlankLine => many("blank line", "ignored"),
            Warning::NoTransactions => "the input contains no transactions".into(),
            Warning::ExplicitInitial => {
                many("write", "of the first transaction taken as the initial state, not as a transaction")
            }
            Warning::NeverWritten => many("key", "read but never written; taken as initial"),
            Warning::Truncated => "the last record is incomplete and was ignored".into(),
            Warning::Nemesis => many("operation", "of non-client processes ignored"),
            Warning::Incomplete => many("invocation", "never completed; outcome unknown"),
            Warning::DoubleInvoke => many(
                "invocation",
                "while the previous one of the process was open; the previous outcome is unknown",
            ),
            Warning::NoProcess => many("operation", "without a process; each gets its own session"),
            Warning::NoInvoke => many("completion", "without an invocation; not ordered in real time"),
            Warning::InvokeAfterInfo => many(
                "invocation",
                "by a process that continued after an operation of unknown outcome (see --unknown)",
            ),
            Warning::FailedOperation => many("failed operation", "inside a transaction ignored"),
            Warning::MissingWriter => many("read", "of a write that is not in the input"),
            Warning::UnknownField => many("unknown field", "kept as annotation or ignored"),
            Warning::SkippedOperation => many("unknown operation", "ignored"),
            Warning::PartialPredicate => many(
                "read",
                "by predicate checked for the returned rows only; the absence of other rows is not checked",
            ),
            Warning::Overlap => many(
                "transaction",
                "invoked before an earlier one of the same session had returned; the session keeps its order",
            ),
            Warning::UnnamedTombstone => many(
                "read",
                "found nothing of a key whose delete has a tombstone, taken to be before the delete: other reads name tombstones, and then all must",
            ),
            Warning::Unfinished => many("transaction", "without an end; outcome unknown"),
            Warning::NoEnd => {
                "the recording is incomplete; only the part up to its last mark is checked".into()
            }
            Warning::AfterMark => many("transaction", "that began after the last mark ignored"),
            Warning::AtMark => many("transaction", "running at the last mark kept without their reads"),
        }
    }
}

/// A problem with a position that is not yet resolved to a place.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    pub(crate) position: Option<Position>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

/// The problems found so far by one reader.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    errors: Vec<Raw>,
    error_count: usize,
    warnings: Vec<(Warning, u64, Option<Position>)>,
}

impl Problems {
    /// Records an error at a position. `help` is what was expected, or how to fix it.
    pub(crate) fn error(&mut self, at: Option<u64>, message: impl Into<String>, help: impl Into<String>) {
        self.error_count += 1;
        if self.errors.len() < MOST_ERRORS {
            let help = Some(help.into()).filter(|help| !help.is_empty());
            self.errors.push(Raw { position: at.map(Position), message: message.into(), help });
        }
    }

    /// Records a warning.
    pub(crate) fn warn(&mut self, warning: Warning, at: Option<u64>) {
        self.warn_many(warning, 1, at);
    }

    /// Records a warning that occurred `count` times, first at `at`.
    pub(crate) fn warn_many(&mut self, warning: Warning, count: u64, at: Option<u64>) {
        if count == 0 {
            return;
        }
        match self.warnings.iter_mut().find(|(known, ..)| *known == warning) {
            Some((_, total, _)) => *total += count,
            None => self.warnings.push((warning, count, at.map(Position))),
        }
    }

    /// Adds the problems of a later part of the input.
    pub(crate) fn absorb(&mut self, other: Problems) {
        self.error_count += other.error_count;
        let room = MOST_ERRORS.saturating_sub(self.errors.len());
        self.errors.extend(other.errors.into_iter().take(room));
        for (warning, count, at) in other.warnings {
            self.warn_many(warning, count, at.map(|position| position.0));
        }
    }

    /// Whether an error was recorded.
    pub(crate) fn failed(&self) -> bool {
        self.error_count > 0
    }

    /// Whether there are too many errors to continue reading.
    pub(crate) fn hopeless(&self) -> bool {
        self.error_count >= GIVE_UP
    }

    /// All positions that must be resolved to places.
    pub(crate) fn positions(&self) -> Vec<Position> {
        let errors = self.errors.iter().filter_map(|error| error.position);
        errors.chain(self.warnings.iter().filter_map(|&(.., at)| at)).collect()
    }

    /// The problems for display, errors first. `place` resolves the positions of [`Problems::positions`].
    pub(crate) fn into_list(mut self, place: impl Fn(Position) -> Option<Place>) -> Vec<Problem> {
        let find = |position: Option<Position>| position.and_then(&place);
        let more = self.error_count - self.errors.len();
        let mut list: Vec<Problem> = self
            .errors
            .into_iter()
            .map(|raw| Problem {
                severity: Severity::Error,
                place: find(raw.position),
                message: raw.message,
                help: raw.help,
            })
            .collect();
        if more > 0 {
            let at_least = if self.error_count >= GIVE_UP { "at least " } else { "" };
            let message = format!("and {at_least}{more} more errors");
            list.push(Problem { severity: Severity::Error, place: None, message, help: None });
        }
        self.warnings.sort_by_key(|&(warning, ..)| warning);
        list.extend(self.warnings.into_iter().map(|(warning, count, at)| Problem {
            severity: Severity::Warning,
            place: find(at),
            message: warning.text(count),
            help: None,
        }));
        list
    }
}

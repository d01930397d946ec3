//! What is wrong with an input, and where.
//!
//! Readers collect: every error they can find, up to a limit, and every warning, summarised by kind. A
//! reader knows byte positions only; [`crate::text`] turns them into file, line, column and the text of the
//! line when reading is over, so that the good case pays nothing for it.

use isoscope_history::Position;

/// Errors kept; the rest are counted.
const MOST_ERRORS: usize = 20;
/// Errors after which reading stops: the input is something else.
const GIVE_UP: usize = 10_000;

/// A place in the input, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file as the user named it.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column in bytes, from 1.
    pub column: u64,
    /// The byte offset in the (decompressed) file.
    pub offset: u64,
    /// The text of the line around the column, shortened; control characters are replaced.
    pub excerpt: String,
    /// Where a terminal shows the column in the excerpt, from 0: wide characters take two places.
    pub caret: usize,
    /// Whether the file is not text, so that line and column mean nothing and the offset everything.
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

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The history cannot be read.
    Error,
    /// The history was read; something in it deserves a look.
    Warning,
}

/// One problem, ready to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Where it is first seen.
    pub place: Option<Place>,
    /// What is wrong, in a sentence without a full stop.
    pub message: String,
    /// What was expected there, or how to mend it.
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

/// Every warning a reader can give. Each is shown once, with the number of times it applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warning {
    /// Blank lines.
    BlankLine,
    /// The input holds no transaction.
    NoTransactions,
    /// Operations that an explicit first transaction uses to write initial values.
    ExplicitInitial,
    /// Keys that are read but that no transaction writes.
    NeverWritten,
    /// The last record is cut off.
    Truncated,
    /// Operations of a process that is not a client.
    Nemesis,
    /// An invocation that never completed.
    Incomplete,
    /// A process invoked while an invocation of its own was still open.
    DoubleInvoke,
    /// Operations that name no process.
    NoProcess,
    /// Completions without an invocation.
    NoInvoke,
    /// A process went on after an operation of unknown outcome.
    InvokeAfterInfo,
    /// Operations the format marks as failed inside a transaction.
    FailedOperation,
    /// Reads that name a writer the input does not have.
    MissingWriter,
    /// Fields that are not understood.
    UnknownField,
    /// Operations that are not understood and were left out.
    SkippedOperation,
    /// Transactions that the log begins and never ends.
    Unfinished,
    /// A recording without its end mark.
    NoEnd,
    /// Transactions that began after the last mark.
    AfterMark,
    /// Transactions that were under way at the last mark.
    AtMark,
    /// Reads by a predicate of which only the rows found can be judged.
    PartialPredicate,
}

impl Warning {
    /// The warning in words.
    fn text(self, count: u64) -> String {
        let many = |noun: &str, rest: &str| {
            let s = if count == 1 { "" } else { "s" };
            format!("{count} {noun}{s} {rest}")
        };
        match self {
            Warning::BlankLine => many("blank line", "ignored"),
            Warning::NoTransactions => "the input holds no transaction".into(),
            Warning::ExplicitInitial => {
                many("write", "of the first transaction taken as the initial state, not as a transaction")
            }
            Warning::NeverWritten => many("key", "read but never written; taken as initial"),
            Warning::Truncated => "the last record is cut off and was left out".into(),
            Warning::Nemesis => many("operation", "of processes that are not clients left out"),
            Warning::Incomplete => many("invocation", "never completed; outcome unknown"),
            Warning::DoubleInvoke => {
                many("process invocation", "while one was open; the open one taken as unknown")
            }
            Warning::NoProcess => many("operation", "without a process; each is a session of its own"),
            Warning::NoInvoke => many("completion", "without an invocation; its real time is not known"),
            Warning::InvokeAfterInfo => {
                many("invocation", "by a process after an operation of unknown outcome; same session")
            }
            Warning::FailedOperation => many("failed operation", "inside a transaction ignored"),
            Warning::MissingWriter => many("read", "of a write that the input does not have"),
            Warning::UnknownField => many("field", "not understood and kept as annotation or left out"),
            Warning::SkippedOperation => many("operation", "not understood and left out"),
            Warning::PartialPredicate => many(
                "read",
                "by predicate judged by the rows found only; that no other row matched is left out",
            ),
            Warning::Unfinished => many("transaction", "without an end; outcome unknown"),
            Warning::NoEnd => "the recording was cut off; it is judged up to its last mark".into(),
            Warning::AfterMark => many("transaction", "that began after the last mark left out"),
            Warning::AtMark => many("transaction", "under way at the last mark kept without their reads"),
        }
    }
}

/// A problem as a reader sees it: a position, not yet a place.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    pub(crate) position: Option<Position>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

/// The problems of one reading, while it goes on.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    errors: Vec<Raw>,
    error_count: usize,
    warnings: Vec<(Warning, u64, Option<Position>)>,
}

impl Problems {
    /// Notes an error at a position. `help` says what was expected, or how to mend it.
    pub(crate) fn error(&mut self, at: Option<u64>, message: impl Into<String>, help: impl Into<String>) {
        self.error_count += 1;
        if self.errors.len() < MOST_ERRORS {
            let help = Some(help.into()).filter(|help| !help.is_empty());
            self.errors.push(Raw { position: at.map(Position), message: message.into(), help });
        }
    }

    /// Notes a warning.
    pub(crate) fn warn(&mut self, warning: Warning, at: Option<u64>) {
        self.warn_many(warning, 1, at);
    }

    /// Notes a warning that applied `count` times, first at `at`.
    pub(crate) fn warn_many(&mut self, warning: Warning, count: u64, at: Option<u64>) {
        if count == 0 {
            return;
        }
        match self.warnings.iter_mut().find(|(known, ..)| *known == warning) {
            Some((_, total, _)) => *total += count,
            None => self.warnings.push((warning, count, at.map(Position))),
        }
    }

    /// Adds what another part of the reading found, further on in the input.
    pub(crate) fn absorb(&mut self, other: Problems) {
        self.error_count += other.error_count;
        let room = MOST_ERRORS.saturating_sub(self.errors.len());
        self.errors.extend(other.errors.into_iter().take(room));
        for (warning, count, at) in other.warnings {
            self.warn_many(warning, count, at.map(|position| position.0));
        }
    }

    /// Whether there was an error.
    pub(crate) fn failed(&self) -> bool {
        self.error_count > 0
    }

    /// Whether there were so many errors that reading on is pointless.
    pub(crate) fn hopeless(&self) -> bool {
        self.error_count >= GIVE_UP
    }

    /// All positions that a place is needed for.
    pub(crate) fn positions(&self) -> Vec<Position> {
        let errors = self.errors.iter().filter_map(|error| error.position);
        errors.chain(self.warnings.iter().filter_map(|&(.., at)| at)).collect()
    }

    /// The problems for people, errors first; `place` finds what [`Problems::positions`] asked for.
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

//! Exit codes, the same as Jepsen's.

use std::process::ExitCode;

use isoscope::Word;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All levels hold, or the command succeeded.
    Holds,
    /// A level is violated.
    Violated,
    /// A level could not be decided, and none is violated.
    Unknown,
    /// Invalid usage.
    Usage,
    /// Unreadable input, unwritable output, or an internal error.
    Failed,
}

impl Exit {
    /// The code of a process that an interrupt ended immediately, as a shell reports SIGINT. The run has no result.
    pub(crate) const INTERRUPTED: i32 = 130;

    /// The worse of two, for commands with several files.
    pub(crate) fn and(self, other: Exit) -> Exit {
        if other.severity() > self.severity() { other } else { self }
    }

    fn severity(self) -> u8 {
        match self {
            Exit::Holds => 0,
            Exit::Unknown => 1,
            Exit::Violated => 2,
            Exit::Failed => 3,
            Exit::Usage => 4,
        }
    }
}

impl From<Word> for Exit {
    fn from(verdict: Word) -> Exit {
        match verdict {
            Word::Holds => Exit::Holds,
            Word::Violated => Exit::Violated,
            Word::Unknown => Exit::Unknown,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Holds => 0,
            Exit::Violated => 1,
            Exit::Unknown => 2,
            Exit::Usage => 254,
            Exit::Failed => 255,
        })
    }
}

//! Exit codes, which are Jepsen's.

use std::process::ExitCode;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything asked for holds, or was done.
    Holds,
    /// The command line made no sense.
    Usage,
    /// An input could not be read, an output could not be written, or isoscope is broken.
    Failed,
}

impl Exit {
    /// The worse of two, for commands that work on several files.
    pub(crate) fn and(self, other: Exit) -> Exit {
        if self == Exit::Holds { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Holds => 0,
            Exit::Usage => 254,
            Exit::Failed => 255,
        })
    }
}

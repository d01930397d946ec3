//! STUB.
use crate::Progress;
use crate::input::Stream;
use crate::problem::Problems;
use isoscope_history::Draft;
use std::io;

pub(crate) fn looks_like(_head: &[u8]) -> bool {
    false
}

pub(crate) fn read(
    _stream: Stream,
    _base: u64,
    _draft: &mut Draft,
    _problems: &mut Problems,
    _progress: Progress<'_>,
) -> io::Result<()> {
    Err(io::Error::other("unwritten"))
}

pub(crate) fn write(
    _history: &isoscope_history::History,
    _out: &mut dyn io::Write,
) -> Result<crate::Losses, crate::WriteError> {
    Err(io::Error::other("unwritten").into())
}

//! Writes a history in a chosen format.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use isoscope_history::History;

use crate::lower::Losses;
use crate::{Format, cobra, dbcop, edn, elle_json, jepsen, native, notation, plume};

/// The destination.
pub enum Target<'a> {
    /// A stream, for formats that are one file.
    Stream(&'a mut dyn Write),
    /// A directory, for formats of several files; it is created if it does not exist.
    Directory(&'a Path),
}

/// The reason why a history was not written.
#[derive(Debug)]
pub enum WriteError {
    /// The output failed.
    Io(io::Error),
    /// The format cannot express an essential part of the history.
    Inexpressible {
        /// The format.
        format: &'static str,
        /// What it cannot express.
        what: &'static str,
    },
    /// The format can only be read.
    ReadOnly(Format),
    /// The format needs a directory and got a stream, or the reverse.
    WrongTarget(Format),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Io(error) => write!(f, "{error}"),
            WriteError::Inexpressible { format, what } => {
                write!(f, "the format `{format}` cannot express {what}")
            }
            WriteError::ReadOnly(format) => write!(f, "the format `{format}` can only be read"),
            WriteError::WrongTarget(format) if format.is_directory() => {
                write!(f, "the format `{format}` is a directory of files: name an output directory")
            }
            WriteError::WrongTarget(format) => {
                write!(f, "the format `{format}` is one file, not a directory")
            }
        }
    }
}

impl std::error::Error for WriteError {}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        WriteError::Io(error)
    }
}

/// Writes a history and returns what was lost.
pub fn write(history: &History, format: Format, target: Target<'_>) -> Result<Losses, WriteError> {
    let has_tombstones = matches!(format, Format::Native | Format::Notation);
    // In the other formats, a tombstone that no read names would be a value that every read of a deleted key misses.
    match history.without_unnamed_tombstones().filter(|_| !has_tombstones) {
        None => write_as_it_is(history, format, target),
        Some((plain, dropped)) => {
            let mut losses = write_as_it_is(&plain, format, target)?;
            losses.add("tombstones that no read names", dropped);
            Ok(losses)
        }
    }
}

fn write_as_it_is(history: &History, format: Format, target: Target<'_>) -> Result<Losses, WriteError> {
    let out = match (target, format) {
        (Target::Directory(directory), Format::Cobra) => return cobra::write(history, directory),
        (Target::Stream(out), format) if !format.is_directory() => out,
        _ if !format.is_writable() => return Err(WriteError::ReadOnly(format)),
        _ => return Err(WriteError::WrongTarget(format)),
    };
    match format {
        Format::Edn => jepsen::write::write::<edn::Edn>(history, out),
        Format::ElleJson => jepsen::write::write::<elle_json::Json>(history, out),
        Format::Plume => plume::write(history, out),
        Format::DbcopBincode => dbcop::bincode::write(history, out),
        Format::DbcopJson => dbcop::json::write(history, out),
        Format::DbcopHist => dbcop::hist::write(history, out),
        Format::Native => native::write(history, out),
        Format::Notation => notation::write(history, out),
        Format::Cobra | Format::Viper | Format::Awdit | Format::IsoPredict => {
            Err(WriteError::ReadOnly(format))
        }
    }
}

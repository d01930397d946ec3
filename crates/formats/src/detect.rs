//! Detects the format of an input by its content, never by its name.
//!
//! For a directory, detection looks inside. Cobra and Viper logs are directories themselves. Any other
//! directory stands for the only history file in it, as a Jepsen store directory stands for its
//! `history.edn`, or for the only directory in it.

use std::io;
use std::path::{Path, PathBuf};

use crate::input::{Input, Source, Stream};
use crate::{Format, awdit, cobra, dbcop, edn, elle_json, isopredict, native, notation, plume, viper};

/// The files of an input and their detected format.
pub(crate) struct Detected {
    pub(crate) sources: Vec<Source>,
    /// The first source, already open: some sources can be opened only once.
    pub(crate) first: Stream,
    pub(crate) format: Result<Format, Unrecognised>,
}

/// The reason why no format was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unrecognised {
    Empty,
    /// A log of statements (`docs/log.md`).
    Log,
    Binary,
    Text,
}

/// The names of history files in a directory, by preference.
const HISTORY_FILES: [&str; 6] =
    ["history.edn", "history.jsonl", "history.json", "history.bincode", "history.hist", "history.txt"];

/// Finds the files of an input and their format; `None` for a directory without history files.
pub(crate) fn detect(input: &Input) -> io::Result<Option<Detected>> {
    let source = match input {
        Input::Path(path) if path.is_dir() => return detect_directory(path, DEEPEST),
        Input::Path(path) => Source::path(path),
        Input::Stdin => Source::stdin(),
        Input::Bytes { name, bytes } => Source::bytes(name, bytes.clone()),
    };
    let first = source.open()?;
    let format = by_content(first.head());
    Ok(Some(Detected { sources: vec![source], first, format }))
}

/// The maximal number of nested directories to descend, if each contains only one directory.
const DEEPEST: u32 = 3;

fn detect_directory(directory: &Path, depth: u32) -> io::Result<Option<Detected>> {
    for name in HISTORY_FILES {
        for name in [name.to_owned(), format!("{name}.gz"), format!("{name}.zst")] {
            let file = directory.join(name);
            if file.is_file() {
                return detect(&Input::Path(file));
            }
        }
    }
    for (format, letter) in [(Format::Cobra, 'T'), (Format::Viper, 'J')] {
        let sources: Vec<Source> = logs(directory, letter)?.iter().map(|log| Source::path(log)).collect();
        if let Some(source) = sources.first() {
            let first = source.open()?;
            return Ok(Some(Detected { sources, first, format: Ok(format) }));
        }
    }
    match only_directory(directory)? {
        Some(only) if depth > 0 => detect_directory(&only, depth - 1),
        _ => Ok(None),
    }
}

/// The only directory inside a directory, if there is exactly one.
fn only_directory(directory: &Path) -> io::Result<Option<PathBuf>> {
    let mut directories = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            directories.push(entry.path());
        }
    }
    Ok(if directories.len() == 1 { directories.pop() } else { None })
}

/// The files with names such as `T12.log`, ordered by number.
fn logs(directory: &Path, letter: char) -> io::Result<Vec<PathBuf>> {
    let mut logs = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        let number = name.strip_prefix(letter).and_then(|rest| rest.strip_suffix(".log"));
        if let Some(number) = number.and_then(|digits| digits.parse::<u64>().ok()) {
            logs.push((number, path));
        }
    }
    logs.sort();
    Ok(logs.into_iter().map(|(_, path)| path).collect())
}

/// Whether a text without leading white space begins like a format.
type LooksLike = fn(&[u8]) -> bool;

/// Detects the format of a file from its first bytes.
pub(crate) fn by_content(head: &[u8]) -> Result<Format, Unrecognised> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err(Unrecognised::Empty);
    }
    if dbcop::bincode::looks_like(head) {
        return Ok(Format::DbcopBincode);
    }
    if cobra::looks_like(head) {
        return Ok(Format::Cobra);
    }
    let start = text.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(0);
    let text = &text[start..];
    let tests: [(Format, LooksLike); 10] = [
        (Format::Plume, plume::looks_like),
        (Format::Native, native::looks_like),
        (Format::ElleJson, elle_json::looks_like),
        (Format::DbcopJson, dbcop::json::looks_like),
        (Format::Viper, viper::looks_like),
        (Format::Edn, edn::looks_like),
        (Format::DbcopHist, dbcop::hist::looks_like),
        (Format::Awdit, awdit::looks_like),
        (Format::IsoPredict, isopredict::looks_like),
        (Format::Notation, notation::looks_like),
    ];
    let found = tests.into_iter().find(|(_, test)| test(text));
    if found.is_none() && text.starts_with(br#"{"isoscope":"log""#) {
        return Err(Unrecognised::Log);
    }
    let binary =
        memchr::memchr(0, head).is_some() || std::str::from_utf8(&head[..head.len().min(512)]).is_err();
    found.map(|(format, _)| format).ok_or(if binary { Unrecognised::Binary } else { Unrecognised::Text })
}

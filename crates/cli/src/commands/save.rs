//! Writing a history, completely or not at all.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use isoscope_formats::{Format, Target, WriteError, write};
use isoscope_history::History;

use crate::args::WriteArgs;
use crate::exit::Exit;
use crate::terminal::Terminal;
use crate::words;

/// Writes a history and prints what was lost.
pub(crate) fn save(history: &History, args: &WriteArgs, terminal: &Terminal) -> Exit {
    let format = match chosen_format(args) {
        Ok(format) => format,
        Err(message) => {
            terminal.error(&message);
            return Exit::Usage;
        }
    };
    let result = match args.output.as_deref().filter(|path| path.as_os_str() != "-") {
        None => to_stdout(history, format),
        Some(path) if format.is_directory() => write(history, format, Target::Directory(path)),
        Some(path) => to_file(history, format, path),
    };
    match result {
        Ok(losses) => {
            for (what, count) in losses.iter() {
                let count = count.map_or(String::new(), |count| format!(" ({})", words::count(count)));
                terminal.note(&format!("lost in {format}: {what}{count}"));
            }
            Exit::Holds
        }
        Err(WriteError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Holds,
        Err(error) => {
            let place =
                args.output.as_ref().map_or("standard output".into(), |path| path.display().to_string());
            terminal.error(&format!("cannot write {place}: {error}"));
            match error {
                WriteError::Io(_) => Exit::Failed,
                _ => Exit::Usage,
            }
        }
    }
}

/// The requested format, else the one of the output's extension, else the native one.
fn chosen_format(args: &WriteArgs) -> Result<Format, String> {
    if let Some(format) = args.to {
        return Ok(format.0);
    }
    let Some(path) = &args.output else { return Ok(Format::Native) };
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    match extension {
        "edn" => Ok(Format::Edn),
        "json" => Ok(Format::ElleJson),
        "jsonl" => Ok(Format::Native),
        "txt" => Ok(Format::Plume),
        "bincode" => Ok(Format::DbcopBincode),
        "hist" => Ok(Format::DbcopHist),
        _ => {
            Err(format!("cannot infer the format of {} from its extension: use --to FORMAT", path.display()))
        }
    }
}

fn to_stdout(history: &History, format: Format) -> Result<isoscope_formats::Losses, WriteError> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let losses = write(history, format, Target::Stream(&mut out))?;
    out.flush()?;
    Ok(losses)
}

/// Writes to a temporary file and renames it, so that a failure keeps the old file. Devices and pipes are written directly.
fn to_file(history: &History, format: Format, path: &Path) -> Result<isoscope_formats::Losses, WriteError> {
    // A link is written through, not replaced.
    let path = &path.canonicalize().unwrap_or(path.to_owned());
    let special = path.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    if special {
        let mut out = BufWriter::with_capacity(1 << 16, File::options().write(true).open(path)?);
        let losses = write(history, format, Target::Stream(&mut out))?;
        out.flush()?;
        return Ok(losses);
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    if !directory.is_dir() {
        let message = format!("the directory {} does not exist", directory.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, message).into());
    }
    // The original error names the temporary file, which the user does not know.
    let partial =
        tempfile::Builder::new().prefix(".isoscope-").permissions(permissions(path)).tempfile_in(directory);
    let partial = partial.map_err(|error| io::Error::from(error.kind()))?;
    let mut out = BufWriter::with_capacity(1 << 16, partial.as_file());
    let losses = write(history, format, Target::Stream(&mut out))?;
    out.flush()?;
    drop(out);
    partial.persist(path).map_err(|error| error.error)?;
    Ok(losses)
}

/// The permissions of the file that is replaced, else those of a new file under the user's mask.
fn permissions(path: &Path) -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().map_or(Permissions::from_mode(0o666), |meta| meta.permissions())
}

//! Reading the input histories, with progress and diagnostics.

use std::path::Path;
use std::time::Instant;

use isoscope::room;
use isoscope_formats::{Failure, Input, ReadOptions, Reading, read};

use crate::args::ReadArgs;
use crate::problems;
use crate::terminal::{Terminal, Unit};
use crate::words;

/// Reads a history and prints its problems, with its name if there are several. Fails if the process would exceed `memory`.
pub(crate) fn open(
    file: &Path,
    several: bool,
    args: &ReadArgs,
    memory: Option<u64>,
    terminal: &Terminal,
) -> Result<Reading, Failure> {
    let input = Input::from_arg(file);
    let name = input.name();
    let bar = terminal.progress(&format!("reading {name}"), plain_size(file), Unit::Bytes);
    let started = Instant::now();
    let progress = |bytes| bar.inc(bytes);
    let format = args.from.map(|format| format.0);
    let options = ReadOptions { format, progress: Some(&progress), room: memory.map(room) };
    let result = read(&input, &options).map_err(|failure| name_limit(failure, memory));
    bar.finish_and_clear();
    let named = several.then_some(name.as_ref());
    match &result {
        Ok(reading) => {
            problems::show(&reading.warnings, named, terminal);
            terminal.detail(&speed(reading, bar.position(), started));
        }
        Err(failure) => problems::show(&failure.problems, named, terminal),
    }
    result
}

/// Names the limit that a history exceeds.
fn name_limit(mut failure: Failure, memory: Option<u64>) -> Failure {
    if let (true, Some(memory), [problem]) = (failure.no_room, memory, failure.problems.as_mut_slice()) {
        let limit = words::bytes(memory as f64);
        problem.message = format!("{}: the memory limit of {limit} (--memory) was reached", problem.message);
    }
    failure
}

/// The size of an uncompressed file. Only then is the amount of work known.
fn plain_size(file: &Path) -> Option<u64> {
    let compressed = file.extension().is_some_and(|e| e == "gz" || e == "zst");
    std::fs::metadata(file).ok().filter(|meta| meta.is_file() && !compressed).map(|meta| meta.len())
}

fn speed(reading: &Reading, bytes: u64, started: Instant) -> String {
    let seconds = started.elapsed().as_secs_f64();
    let (columns, table) = reading.history.bytes();
    let operations = reading.history.op_count().max(1);
    format!(
        "read {} of {} in {seconds:.3} s ({} per second); {:.1} bytes per operation, and {} for values",
        words::bytes(bytes as f64),
        reading.format,
        words::bytes(bytes as f64 / seconds),
        columns as f64 / operations as f64,
        words::bytes(table as f64),
    )
}

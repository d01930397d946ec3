//! `isoscope convert`: a history in another format.

use crate::args::ConvertArgs;
use crate::commands::{open, save};
use crate::exit::Exit;
use crate::terminal::Terminal;

pub(crate) fn run(args: &ConvertArgs, terminal: &Terminal) -> Exit {
    match open::open(&args.file, false, &args.read, None, terminal) {
        Ok(reading) => save::save(&reading.history, &args.write, terminal),
        Err(_) => Exit::Failed,
    }
}

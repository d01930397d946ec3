//! The `isoscope` binary.
//!
//! Only this crate knows about argv, exit codes, colours and terminals. `args` is the one definition that
//! gives parser, help, man pages and completions. Each command has a file in `commands`.

mod args;
mod commands;
mod exit;
mod problems;
mod terminal;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use isoscope_report::words;

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::terminal::Terminal;

/// Several threads allocate, grow and drop large arrays. This allocator keeps memory and uses large pages, which makes
/// reading an eighth faster than with the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(terminal::report_panic));
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error).into(),
    };
    if args.global.quiet && args.global.verbose {
        // The parser detects this only if both are on the same side of the command.
        let message = "the argument '--quiet' cannot be used with '--verbose'";
        return usage(&Args::command().error(clap::error::ErrorKind::ArgumentConflict, message)).into();
    }
    let terminal = Terminal::new(&args.global);
    if let Some(threads) = args.global.threads {
        // Fails only if the pool exists already, and nothing has used it yet.
        let _ = terminal::set_threads(threads);
    }
    run(args.command, &terminal).into()
}

fn run(command: Command, terminal: &Terminal) -> Exit {
    match command {
        Command::Check(args) => commands::check::run(&args, terminal),
        Command::Verify(args) => commands::verify::run(&args, terminal),
        Command::Stats(args) => commands::stats::run(&args, terminal),
        Command::Convert(args) => commands::convert::run(&args, terminal),
        Command::Generate(args) => commands::generate::run(&args, terminal),
        Command::Demo(args) => commands::demo::run(&args, terminal),
        Command::Test(args) => commands::test::run(&args, terminal),
        Command::Record(args) => commands::record::run(&args, terminal),
        Command::Script(args) => commands::script::run(&args, terminal),
        Command::Hermitage(args) => commands::hermitage::run(&args, terminal),
        Command::Predict(args) => commands::predict::run(&args, terminal),
        Command::Audit(args) => commands::audit::run(&args, terminal),
        Command::Probe(args) => commands::probe::run(&args, terminal),
        Command::Synth(args) => commands::synth::run(&args, terminal),
        Command::Compare(args) => commands::synth::compare(&args, terminal),
        Command::Lattice(args) => commands::lattice::run(&args, terminal),
        Command::Formats => commands::formats::run(terminal),
        Command::Levels(args) => commands::levels::run(&args, terminal),
        Command::Explain(args) => commands::explain::run(&args, terminal),
        Command::Completions(args) => commands::manual::completions(&args, terminal),
        Command::Man(args) => commands::manual::man(&args, terminal),
    }
}

/// Prints the message of the argument parser. Its own exit code for invalid usage is 2, which means an unknown verdict here,
/// so it is not used.
fn usage(error: &clap::Error) -> Exit {
    match error.print() {
        _ if error.use_stderr() => Exit::Usage,
        Err(failure) if failure.kind() != std::io::ErrorKind::BrokenPipe => Exit::Failed,
        _ => Exit::Holds,
    }
}

//! `isoscope`, the instrument for looking at transaction isolation.
//!
//! Only this crate knows about argv, exit codes, colours and terminals. `args` is the one definition that
//! gives parser, help, man pages and completions; each verb is a file of `commands`.

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

/// Histories are large arrays, made, grown and dropped by several threads: with this allocator, which keeps
/// memory and asks for large pages, reading takes an eighth less time than with that of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(terminal::report_panic));
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error).into(),
    };
    if args.global.quiet && args.global.verbose {
        // The parser sees this only when both stand on the same side of the verb.
        let message = "the argument '--quiet' cannot be used with '--verbose'";
        return usage(&Args::command().error(clap::error::ErrorKind::ArgumentConflict, message)).into();
    }
    let terminal = Terminal::new(&args.global);
    if let Some(threads) = args.global.threads {
        // Fails only when the pool exists already, and this is the first thing that happens.
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
        Command::Formats => commands::formats::run(terminal),
        Command::Levels(args) => commands::levels::run(&args, terminal),
        Command::Explain(args) => commands::explain::run(&args, terminal),
        Command::Completions(args) => commands::manual::completions(&args, terminal),
        Command::Man(args) => commands::manual::man(&args, terminal),
    }
}

/// Prints what the argument parser has to say. Its own exit code for bad usage is 2, which here means an
/// unknown verdict, so it is not used.
fn usage(error: &clap::Error) -> Exit {
    match error.print() {
        _ if error.use_stderr() => Exit::Usage,
        Err(failure) if failure.kind() != std::io::ErrorKind::BrokenPipe => Exit::Failed,
        _ => Exit::Holds,
    }
}

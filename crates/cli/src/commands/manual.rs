//! `isoscope man` and `isoscope completions`, generated from the definition of the parser.

use std::io;
use std::path::Path;

use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::exit::Exit;
use crate::terminal::Terminal;

pub(crate) fn completions(args: &CompletionsArgs, terminal: &Terminal) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "isoscope", &mut script);
    terminal.print(&String::from_utf8_lossy(&script));
    if terminal.lost_output() { Exit::Failed } else { Exit::Holds }
}

pub(crate) fn man(args: &ManArgs, terminal: &Terminal) -> Exit {
    let result = match &args.dir {
        None => page(&Args::command()).map(|text| terminal.print(&text)),
        Some(directory) => write_all(directory),
    };
    match result {
        Ok(()) if !terminal.lost_output() => Exit::Holds,
        Ok(()) => Exit::Failed,
        Err(error) => {
            terminal.error(&format!("cannot write the manual: {error}"));
            Exit::Failed
        }
    }
}

fn page(command: &clap::Command) -> io::Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn write_all(directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    clap_mangen::generate_to(Args::command(), directory)
}

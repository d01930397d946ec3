//! Running the binary as a user would.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The output and exit code of a run.
#[derive(Debug)]
pub struct Run {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Runs `isoscope` with arguments separated by spaces, in a directory.
pub fn isoscope(directory: &Path, args: &str) -> Run {
    finish(command(directory).args(args.split_whitespace()).stdin(Stdio::null()).output().unwrap())
}

/// Runs `isoscope` with the given standard input.
pub fn isoscope_with_input(directory: &Path, args: &str, input: &[u8]) -> Run {
    use std::io::Write as _;
    let mut child = command(directory)
        .args(args.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The program may stop reading early and close the pipe.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    finish(output)
}

fn command(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isoscope"));
    command.current_dir(directory).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env("TERM", "dumb");
    command
}

fn finish(output: Output) -> Run {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    Run { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

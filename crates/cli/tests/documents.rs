//! The README shows real sessions: every command in its console blocks is run, and prints what it says.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod support;

use std::path::Path;

use tempfile::TempDir;

/// Runs the commands of all ```` ```console ```` blocks in order, in one directory, and compares what they
/// print, standard output and error together as a terminal shows them.
#[test]
fn the_readme_shows_what_really_happens() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(readme).unwrap();
    let directory = TempDir::new().unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_isoscope")).parent().unwrap();
    let mut commands = 0;
    for block in text.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        for part in block.split("$ ").skip(1) {
            let (command, expected) = part.split_once('\n').unwrap();
            let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
            let output = std::process::Command::new("sh")
                .args(["-c", &format!("exec 2>&1; {command}")])
                .current_dir(directory.path())
                .env("PATH", path)
                .env("TERM", "dumb")
                .output()
                .unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            assert_eq!(printed.trim_end(), expected.trim_end(), "$ {command}");
            commands += 1;
        }
    }
    assert!(commands >= 4, "the README shows {commands} commands");
}

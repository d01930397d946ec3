//! The README and the documents in `docs/` show real sessions: every command in their console blocks is run, and its output
//! compared.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod support;

use std::path::Path;

use tempfile::TempDir;

/// Runs the commands of all ```` ```console ```` blocks of a document in order, in one directory. Compares what they print,
/// standard output and error together as a terminal shows them. `cat` of a file that is not there creates it with the text shown.
/// Returns the number of commands.
fn run_console_blocks(document: &Path) -> usize {
    let text = std::fs::read_to_string(document).unwrap();
    let directory = TempDir::new().unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_isoscope")).parent().unwrap();
    let mut commands = 0;
    for block in text.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        for part in block.split("$ ").skip(1) {
            let (command, expected) = part.split_once('\n').unwrap();
            if let Some(file) = command.strip_prefix("cat ").map(|file| directory.path().join(file))
                && !file.exists()
            {
                std::fs::write(file, expected).unwrap();
                continue;
            }
            let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
            let output = std::process::Command::new("sh")
                .args(["-c", &format!("exec 2>&1; {command}")])
                .current_dir(directory.path())
                .env("PATH", path)
                .env("TERM", "dumb")
                .output()
                .unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            assert_eq!(printed.trim_end(), expected.trim_end(), "{}: $ {command}", document.display());
            commands += 1;
        }
    }
    commands
}

#[test]
fn the_documents_show_real_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    assert!(run_console_blocks(&root.join("README.md")) >= 2);
    let mut commands = 0;
    for document in std::fs::read_dir(root.join("docs")).unwrap() {
        commands += run_console_blocks(&document.unwrap().path());
    }
    assert!(commands >= 12, "docs/ shows {commands} commands");
}

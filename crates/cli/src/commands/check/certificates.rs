//! Certificates as files of a directory.
//!
//! One input: `DIR/LEVEL.json`. Several inputs: `DIR/NAME/LEVEL.json`, where NAME is the last part of the input's path, with
//! a number if two inputs have the same NAME. An existing file is replaced only if it is a certificate of the same history.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use isoscope::{Certificate, Judgements, Verdict};
use isoscope_explain::visible;

use crate::terminal::Terminal;
use crate::words::counted;

/// The directories of the inputs, in their order.
pub(super) fn directories(files: &[PathBuf], directory: &Path) -> Vec<PathBuf> {
    if files.len() == 1 {
        return vec![directory.to_owned()];
    }
    let mut all: Vec<PathBuf> = Vec::with_capacity(files.len());
    for file in files {
        let name = file.file_name().map_or("history".into(), |name| name.to_string_lossy().into_owned());
        let numbered = (2..).map(|n| format!("{name}-{n}"));
        let mut paths = std::iter::once(name.clone()).chain(numbered).map(|name| directory.join(name));
        // Always finds a path: the numbers are unbounded.
        all.extend(paths.find(|path| !all.contains(path)));
    }
    all
}

/// Writes the certificates of all levels that are not unknown, and prints a note.
pub(super) fn write(judged: &Judgements<'_>, directory: &Path, terminal: &Terminal) -> Result<(), String> {
    let shown = visible(&directory.display().to_string());
    fs::create_dir_all(directory).map_err(|error| format!("cannot create the directory {shown}: {error}"))?;
    let (mut written, mut replaced) = (0, 0);
    for certificate in judged.certificates() {
        let path = directory.join(format!("{}.json", certificate.judgement.level));
        let name = visible(&path.display().to_string());
        if path.exists() {
            let old = File::open(&path).ok().and_then(|file| Certificate::read(file).ok());
            if old.is_none_or(|old| old.subject != certificate.subject) {
                let what = "is not a certificate of this history and is not overwritten";
                return Err(format!("{name} {what}: choose another directory or remove it"));
            }
            replaced += 1;
        }
        save(&path, &certificate).map_err(|error| format!("cannot write {name}: {error}"))?;
        written += 1;
    }
    let replaced = if replaced > 0 { format!(", {replaced} of them replaced") } else { String::new() };
    terminal.note(&format!("{} in {shown}{replaced}", counted(written, "certificate")));
    let judgements = judged.levels().iter().map(|level| &level.judgement);
    let unknown = judgements.filter(|judgement| matches!(judgement.verdict, Verdict::Unknown(_)));
    let names: Vec<&str> = unknown.map(|judgement| judgement.level.name()).collect();
    if !names.is_empty() {
        terminal.note(&format!("no certificate for unknown levels: {}", names.join(", ")));
    }
    Ok(())
}

fn save(path: &Path, certificate: &Certificate) -> io::Result<()> {
    certificate.write(BufWriter::new(File::create(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_with_the_same_name_get_separate_directories() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let all = directories(&paths(&["a/h.edn", "b/h.edn", "h.edn-2", "."]), Path::new("d"));
        assert_eq!(all, paths(&["d/h.edn", "d/h.edn-2", "d/h.edn-2-2", "d/history"]));
        assert_eq!(directories(&paths(&["a/h.edn"]), Path::new("d")), paths(&["d"]));
    }
}

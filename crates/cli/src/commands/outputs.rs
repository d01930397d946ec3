//! The files of a recording. They must be distinct: the history, the log and the database. A recording that could not begin
//! leaves them as they were.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use isoscope_record::{Output, Target};

use crate::args::DatabaseArgs;
use crate::exit::Exit;
use crate::terminal::Terminal;

/// A file of a recording.
pub(crate) struct OutputFile {
    path: PathBuf,
    /// Whether the file did not exist before.
    is_new: bool,
}

impl OutputFile {
    /// Opens a file for writing. What it held stays until the first write.
    pub(crate) fn open(path: &Path, terminal: &Terminal) -> Result<(OutputFile, Output), Exit> {
        let is_new = fs::symlink_metadata(path).is_err();
        let file = File::options().write(true).create(true).truncate(false).open(path).map_err(|error| {
            terminal.error(&format!("cannot write {}: {error}", path.display()));
            Exit::Failed
        })?;
        Ok((OutputFile { path: path.to_owned(), is_new }, Box::new(Replacing { file, has_begun: false })))
    }

    /// Removes the file of a recording without transactions, if it did not exist before.
    pub(crate) fn discard(&self, terminal: &Terminal) {
        if self.is_new
            && let Err(error) = fs::remove_file(&self.path)
        {
            terminal.warning(&format!("cannot remove {}: {error}", self.path.display()));
        }
    }
}

/// A file whose old content the first write replaces.
struct Replacing {
    file: File,
    has_begun: bool,
}

impl Write for Replacing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Devices and pipes have no length.
        if !self.has_begun && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.has_begun = true;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The identity of a file, independent of its path.
#[derive(PartialEq, Eq)]
enum Identity {
    /// The device and the number of a file that exists.
    File(u64, u64),
    /// The place of one that does not exist yet.
    Place(PathBuf),
}

/// The most symbolic links to follow to a file that does not exist yet; the limit of most systems.
const MOST_LINKS: usize = 40;

/// Fails if two of the history, the log and the database are the same file.
pub(crate) fn refuse_clashes(
    history: Option<&Path>,
    log: Option<&Path>,
    database: &DatabaseArgs,
) -> Result<(), String> {
    let target = database.url.as_deref().and_then(|url| Target::parse(url).ok());
    let stored = match &target {
        Some(Target::Sqlite(file)) => file.path.as_deref(),
        _ => None,
    };
    let files = [("the history (-o)", history), ("the log (--log)", log), ("the database", stored)];
    for (i, (one, first)) in files.iter().enumerate() {
        for (other, second) in &files[i + 1..] {
            if let (Some(first), Some(second)) = (first, second)
                && is_same(first, second)
            {
                return Err(format!(
                    "{one} and {other} are the same file, {}: choose another",
                    second.display()
                ));
            }
        }
    }
    Ok(())
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((identity(one), identity(other)), (Some(one), Some(other)) if one == other)
}

/// `None` for files that several may write to, such as `/dev/null` and terminals, and if the identity cannot be determined.
fn identity(path: &Path) -> Option<Identity> {
    let mut path = if path.as_os_str() == "-" { PathBuf::from("/dev/stdout") } else { path.to_owned() };
    for _ in 0..MOST_LINKS {
        if let Ok(metadata) = fs::metadata(&path) {
            let is_device = metadata.file_type().is_char_device();
            return (!is_device).then(|| Identity::File(metadata.dev(), metadata.ino()));
        }
        let parent = match path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
            None => return None,
        };
        let parent = parent.canonicalize().ok()?;
        match fs::read_link(&path) {
            Ok(target) => path = parent.join(target),
            Err(_) => return Some(Identity::Place(parent.join(path.file_name()?))),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_first_write_replaces_the_old_content() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "long ago").unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        let mut replacing = Replacing { file, has_begun: false };
        replacing.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "long ago");
        replacing.write_all(b"n").unwrap();
        replacing.write_all(b"ow").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "now");
    }

    #[test]
    fn a_file_is_identified_under_all_its_names() {
        let directory = tempfile::TempDir::new().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("d")).unwrap();
        fs::write(at("there"), "").unwrap();
        fs::hard_link(at("there"), at("hard")).unwrap();
        symlink("there", at("soft")).unwrap();
        symlink("../new", at("d").join("dangling")).unwrap();
        symlink("loop", at("loop")).unwrap();
        for (one, other) in [
            ("there", "d/../there"),
            ("there", "hard"),
            ("soft", "hard"),
            ("new", "d/../new"),
            ("new", "d/dangling"),
        ] {
            assert!(is_same(&at(one), &at(other)), "{one} {other}");
        }
        for (one, other) in [("there", "new"), ("new", "newer"), ("d/new", "new"), ("loop", "loop")] {
            assert!(!is_same(&at(one), &at(other)), "{one} {other}");
        }
        assert!(!is_same(Path::new("/dev/null"), Path::new("/dev/null")));
    }
}

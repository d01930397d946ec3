//! The files of a recording must be distinct: the history, the log and the database.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use isoscope_record::Target;

use crate::args::DatabaseArgs;

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

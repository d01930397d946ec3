//! Temporary directories that are removed even if their process is killed.
//!
//! Dropping a [`Scratch`] removes its directory. A process that is killed leaves its directory behind. Creating a `Scratch`
//! therefore first removes the directories of dead processes and kills the servers that still run in them. Each directory
//! has a file that its owner keeps locked; the operating system releases the lock when the owner ends for any reason. (A
//! process id would not do: ids are reused, and differ between containers.)
//!
//! Invariant: the file gets its final name only after it is locked. A directory without such a file, or with one that
//! belongs to another user, is never removed.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Signal, geteuid};
use tempfile::TempDir;

use crate::server::process;

const PREFIX: &str = "isoscope-";
/// The file that is locked.
const LOCK: &str = "isoscope.lock";

/// A temporary directory; see the module.
#[derive(Debug)]
pub(crate) struct Scratch {
    directory: TempDir,
    /// Locked as long as this lives.
    _lock: File,
}

impl Scratch {
    pub(crate) fn new() -> io::Result<Scratch> {
        Scratch::inside(&env::temp_dir())
    }

    fn inside(parent: &Path) -> io::Result<Scratch> {
        sweep(parent);
        let directory = TempDir::with_prefix_in(PREFIX, parent)?;
        let draft = directory.path().join("isoscope.new");
        let lock = File::create(&draft)?;
        // Not every file system supports locks. Without a locked file, other processes never remove the directory.
        if lock.lock().is_ok() {
            fs::rename(&draft, directory.path().join(LOCK))?;
        }
        Ok(Scratch { directory, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes the directories of dead processes. Failures are ignored; the next call tries again.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_ours
            && is_directory
            && let Some(_lock) = abandoned(&entry.path())
        {
            for pid in process::servers_inside(&entry.path()) {
                let _ = process::send(pid, Signal::KILL);
            }
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Locks the file of a directory whose owner is dead.
fn abandoned(directory: &Path) -> Option<File> {
    let path = directory.join(LOCK);
    let metadata = fs::symlink_metadata(&path).ok()?;
    if !metadata.is_file() || metadata.uid() != geteuid().as_raw() {
        return None;
    }
    let file = File::open(&path).ok()?;
    file.try_lock().ok().map(|()| file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_directories_of_dead_processes_are_removed() {
        let parent = TempDir::new().unwrap();
        let living = Scratch::inside(parent.path()).unwrap();
        // The owner of this directory was killed, so its lock is free. A server and an unrelated process still run in it.
        let dead = parent.path().join("isoscope-dead");
        fs::create_dir_all(dead.join("data")).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        let program = parent.path().join("postgres");
        fs::write(&program, "#!/bin/sh\nread line\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let run = |program: &Path| {
            let place = dead.join("data");
            Command::new(program)
                .current_dir(place)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        };
        let (mut server, mut visitor) = (run(&program), run(Path::new("cat")));
        // The process has the name of the script only after `exec`.
        while !fs::read_to_string(format!("/proc/{}/comm", server.id())).unwrap().starts_with("postgres") {
            thread::sleep(Duration::from_millis(5));
        }
        // A directory without a lock file, and one without our prefix.
        for name in ["isoscope-other", "something"] {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        fs::write(parent.path().join("something").join(LOCK), "").unwrap();
        let next = Scratch::inside(parent.path()).unwrap();
        server.wait().unwrap();
        assert!(!dead.exists());
        assert!(visitor.try_wait().unwrap().is_none());
        visitor.kill().unwrap();
        visitor.wait().unwrap();
        for kept in [living.path(), next.path(), &parent.path().join("isoscope-other")] {
            assert!(kept.exists(), "{}", kept.display());
        }
        assert!(parent.path().join("something").exists());
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.exists());
    }
}

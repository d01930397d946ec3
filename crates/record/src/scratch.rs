//! Temporary directories, which are removed even when a process could not do it.
//!
//! A directory goes when its [`Scratch`] is dropped. A process that is killed leaves it behind, so making one first removes
//! those of processes that are gone, and ends the servers that still run in them. A file in the directory tells: its owner
//! keeps it locked, and the operating system releases the lock when the owner ends, however that comes about. (The number of the
//! owner's process would not do: numbers are used again, and other containers have others.)
//!
//! Invariant: the file has its name only once it is locked. A directory without such a file, or with one of another user, is left
//! alone.

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
        // Not every file system has locks. Without one the directory is not known as ours, and other processes leave it.
        if lock.lock().is_ok() {
            fs::rename(&draft, directory.path().join(LOCK))?;
        }
        Ok(Scratch { directory, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes the directories of processes that are gone. What cannot be removed is left for the next time.
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

/// The locked file of a directory whose owner is gone.
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
    fn what_the_dead_left_behind_is_removed_and_nothing_else() {
        let parent = TempDir::new().unwrap();
        let living = Scratch::inside(parent.path()).unwrap();
        // A directory whose owner was killed: its lock is free. Its server still runs, and somebody looks around there.
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
        // The shell is called as the program once that has begun.
        while !fs::read_to_string(format!("/proc/{}/comm", server.id())).unwrap().starts_with("postgres") {
            thread::sleep(Duration::from_millis(5));
        }
        // Directories that say nothing of their owner, and others.
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

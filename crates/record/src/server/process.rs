//! Processes: their users, their children, and signals.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, geteuid, kill_process, test_kill_process};

use super::ServerKind;

/// The user that a server runs as, if it is another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    other: Option<(u32, u32)>,
    is_root: bool,
}

impl Owner {
    pub(super) fn of(kind: ServerKind) -> Owner {
        let is_root = geteuid().is_root();
        let other = match kind {
            ServerKind::Postgres if is_root => user("postgres").or_else(|| user("nobody")),
            _ => None,
        };
        Owner { other, is_root }
    }

    /// Makes the server's user the owner of a file or directory, without access for others.
    pub(super) fn give(self, path: &Path) -> io::Result<()> {
        let mode = if path.is_dir() { 0o700 } else { 0o600 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        match self.other {
            Some((uid, gid)) => chown(path, Some(uid), Some(gid)),
            None => Ok(()),
        }
    }

    /// Makes a command run as the server's user, in its own process group.
    pub(super) fn runs(self, command: &mut Command) {
        command.process_group(0);
        if let Some((uid, gid)) = self.other {
            command.uid(uid).gid(gid);
        }
    }

    /// The option that MariaDB requires to run as root.
    pub(super) fn mariadb_user(self) -> Option<&'static str> {
        self.is_root.then_some("--user=root")
    }
}

/// The ids of a user and its group, from `/etc/passwd`.
fn user(name: &str) -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Sends a signal. It is not an error if the process has already ended.
pub(crate) fn send(pid: u32, signal: Signal) -> io::Result<()> {
    match id(pid).map(|pid| kill_process(pid, signal)) {
        None | Some(Ok(()) | Err(Errno::SRCH)) => Ok(()),
        Some(Err(error)) => Err(error.into()),
    }
}

/// How long processes may take to pause.
const PAUSE_LIMIT: Duration = Duration::from_secs(10);

/// Pauses processes and waits until all their threads have stopped. The signal is delivered to one thread, and the others
/// continue until that thread runs and stops them, which takes milliseconds on a busy machine.
pub(super) fn pause(pids: &[u32]) -> io::Result<()> {
    for pid in pids {
        send(*pid, Signal::STOP)?;
    }
    let start = Instant::now();
    while pids.iter().any(|pid| is_running(*pid)) {
        if start.elapsed() > PAUSE_LIMIT {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a process did not pause in time"));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Whether any thread of a process is neither stopped nor ended. False if there is no `/proc`.
fn is_running(pid: u32) -> bool {
    fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().any(|task| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat_fields(&stat).is_some_and(|(state, _)| !matches!(state, "T" | "t" | "Z" | "X"))
    })
}

fn id(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// The children of a process. PostgreSQL has one child per connection, each in its own process session, so only their
/// parent identifies them.
pub(super) fn children(parent: u32) -> Vec<u32> {
    all().into_iter().filter(|(_, of)| *of == parent).map(|(pid, _)| pid).collect()
}

/// The process names of servers and of the programs that create their directories, cut at 15 characters as in `/proc`.
pub(super) const SERVERS: [&str; 4] = ["postgres", "initdb", "mariadbd", "mariadb-install"];

/// The servers whose working directory is inside this directory, according to `/proc`. Other processes, such as a user's
/// shell, are not included.
pub(crate) fn servers_inside(directory: &Path) -> Vec<u32> {
    let Ok(directory) = directory.canonicalize() else { return Vec::new() };
    let is_inside = |pid: &u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        SERVERS.contains(&name.trim_end())
            && fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|place| place.starts_with(&directory))
    };
    all().into_iter().map(|(pid, _)| pid).filter(is_inside).collect()
}

/// Whether a process still runs. A zombie does not.
pub(super) fn is_alive(pid: u32) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat_fields(&stat).is_some_and(|(state, _)| state != "Z" && state != "X"),
        Err(_) if Path::new("/proc/self").exists() => false,
        Err(_) => id(pid).is_some_and(|pid| test_kill_process(pid).is_ok()),
    }
}

/// The state and the parent. They follow a name in parentheses that may contain any character.
fn stat_fields(stat: &str) -> Option<(&str, u32)> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?, fields.next()?.parse().ok()?))
}

/// All processes and their parents.
fn all() -> Vec<(u32, u32)> {
    if !Path::new("/proc/self/stat").exists() {
        return listed();
    }
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, stat_fields(&stat)?.1))
        })
        .collect()
}

/// The same for systems without `/proc`.
fn listed() -> Vec<(u32, u32)> {
    let Ok(output) = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output() else { return Vec::new() };
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace();
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        })
        .collect()
}

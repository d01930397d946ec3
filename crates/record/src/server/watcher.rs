//! The watcher: a process that outlives ours, stops the server and removes its directory if we could not, for example after
//! `kill -9` or a crash.
//!
//! It is a shell that reads a pipe to its end. Only our process has the other end, and the operating system closes it when
//! our process ends for any reason. Each line in the pipe is the id of the process to stop; an empty line means none.
//!
//! (`PR_SET_PDEATHSIG` is not sufficient: it refers to the thread that started the server, and setting it needs `unsafe`.)

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::{ServerKind, process};

/// Stops the process with the signal `$1`, and kills it after ten seconds. Then kills the servers named `$3` and so on whose
/// working directory, according to `/proc`, is inside the directory `$2`, and removes that directory.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
signal=$1
directory=$2
shift 2
pid=
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
    kill -s "$signal" "$pid"
    kill -s CONT "$pid"
    tries=0
    while [ "$tries" -lt 100 ] && kill -s 0 "$pid"; do
        sleep 0.1
        tries=$((tries + 1))
    done
    kill -s KILL "$pid"
fi
tries=0
while [ "$tries" -lt 50 ] && [ -d "$directory" ]; do
    for process in /proc/[0-9]*; do
        read -r name <"$process/comm" || continue
        for server in "$@"; do
            [ "$name" = "$server" ] || continue
            case $(readlink "$process/cwd") in
                "$directory" | "$directory"/*) kill -s KILL "${process#/proc/}" ;;
            esac
        done
    done
    rm -rf "$directory" && break
    sleep 0.1
    tries=$((tries + 1))
done
"#;

/// The process, and our end of the pipe.
#[derive(Debug)]
pub(super) struct Watcher {
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Watcher {
    /// Starts the watcher for a directory. The server is started later.
    pub(super) fn start(kind: ServerKind, directory: &Path) -> io::Result<Watcher> {
        // PostgreSQL frees its shared memory only if it is not killed with SIGKILL. MariaDB has none.
        let signal = match kind {
            ServerKind::Postgres => "QUIT",
            ServerKind::MariaDb => "KILL",
        };
        let mut child = Command::new("sh")
            .args(["-c", SCRIPT, "isoscope-watcher", signal])
            .arg(directory.canonicalize()?)
            .args(process::SERVERS)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let pipe = child.stdin.take();
        Ok(Watcher { child, pipe })
    }

    /// Sets the process to stop from now on.
    pub(super) fn watch(&mut self, pid: Option<u32>) {
        let line = pid.map_or_else(|| "\n".to_owned(), |pid| format!("{pid}\n"));
        if let Some(pipe) = &mut self.pipe {
            // If the watcher was killed, nothing can be done.
            let _ = pipe.write_all(line.as_bytes());
        }
    }
}

impl Drop for Watcher {
    /// The server is already stopped. The watcher removes the directory and ends.
    fn drop(&mut self) {
        self.watch(None);
        self.pipe = None;
        let _ = self.child.wait();
    }
}

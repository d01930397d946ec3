//! A process that outlives us, to stop the server and remove its directory when we cannot: after `kill -9`, a crash, an exit
//! in a hurry.
//!
//! It is a shell that reads a pipe to its end. Only we have the other end, and the operating system closes it when we end,
//! however that comes about. Each line in the pipe is the number of the process to stop; an empty one means none.
//!
//! (`PR_SET_PDEATHSIG` would do less: it is about the thread that started the server, and setting it takes `unsafe`.)

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::{ServerKind, process};

/// Stops the process by the signal `$1`, or by force after ten seconds; then the servers, called `$3` and so on, that run in
/// the directory `$2`; and removes that. What runs there is known by its working directory, where `/proc` tells.
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
    /// Watches over a server that is not started yet, and over its directory.
    pub(super) fn start(kind: ServerKind, directory: &Path) -> io::Result<Watcher> {
        // PostgreSQL cleans up its shared memory unless it is killed; MariaDB has none.
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

    /// Says which process is to be stopped from now on.
    pub(super) fn watch(&mut self, pid: Option<u32>) {
        let line = pid.map_or_else(|| "\n".to_owned(), |pid| format!("{pid}\n"));
        if let Some(pipe) = &mut self.pipe {
            // If the watcher was killed, there is nothing to be done about it.
            let _ = pipe.write_all(line.as_bytes());
        }
    }
}

impl Drop for Watcher {
    /// The server was stopped in an orderly way; the watcher removes what is left and ends.
    fn drop(&mut self) {
        self.watch(None);
        self.pipe = None;
        let _ = self.child.wait();
    }
}

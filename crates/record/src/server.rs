//! Private servers: PostgreSQL or MariaDB from installed binaries, in a temporary directory.
//!
//! A server listens only on 127.0.0.1, on a free port, and requires a random password, so that other users of the machine
//! cannot connect. PostgreSQL refuses to run as root; as root, we run it as the user `postgres`, or else `nobody`. The server
//! is not in the terminal's process group, so ^C does not reach it. Dropping the [`Server`] stops it. If our process is
//! killed, a watcher process stops the server and removes its directory; if the watcher is killed too, the next start does.
//!
//! Servers run without fsync. A killed server loses nothing by that, because the operating system has its writes; data is
//! lost only if the machine stops. So [`Server::restart`] is equivalent to a crash.

mod install;
pub(crate) mod process;
mod watcher;

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::database::hex;
use crate::scratch::Scratch;
use crate::target::{OpenError, Options, Target};
use install::Program;
use process::Owner;
use watcher::Watcher;

/// How long a server may take to start or to initialize its directory. It is long because machines may be busy.
const START_LIMIT: Duration = Duration::from_secs(90);

/// How long a server may take to stop before it is killed.
const STOP_LIMIT: Duration = Duration::from_secs(15);

/// How many ports to try if another process takes the port first.
const PORTS: u32 = 5;

/// The kind of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    MariaDb,
}

impl ServerKind {
    /// The product name.
    pub const fn name(self) -> &'static str {
        match self {
            ServerKind::Postgres => "PostgreSQL",
            ServerKind::MariaDb => "MariaDB",
        }
    }

    /// Parses the name of a server, as in `--start postgres`.
    pub fn parse(name: &str) -> Option<ServerKind> {
        match name.to_ascii_lowercase().as_str() {
            "postgres" | "postgresql" | "pg" => Some(ServerKind::Postgres),
            "mariadb" => Some(ServerKind::MariaDb),
            _ => None,
        }
    }
}

/// Why a server could not be started or controlled.
#[derive(Debug)]
pub enum ServerError {
    /// It is not installed.
    Missing {
        /// The kind.
        kind: ServerKind,
        /// The program that was not found.
        program: &'static str,
    },
    /// A setting is not of the form `name=value`.
    Setting(String),
    /// A system call failed.
    Io {
        /// The attempted action.
        doing: String,
        /// The error.
        error: io::Error,
    },
    /// A program of the server failed or was not ready in time.
    Failed {
        /// What happened.
        what: String,
        /// The last lines of its log.
        log: String,
    },
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerError::Missing { kind, program } => {
                let packages = match kind {
                    ServerKind::Postgres => "`postgresql`",
                    ServerKind::MariaDb => {
                        "`mariadb-server`, or `mariadb-server-core` and `mariadb-client-core`"
                    }
                };
                write!(f, "{} is not installed: cannot find `{program}`. ", kind.name())?;
                write!(f, "On Debian and Ubuntu, install {packages}")
            }
            ServerError::Setting(setting) => write!(f, "invalid setting `{setting}`; write `name=value`"),
            ServerError::Io { doing, error } => write!(f, "{doing}: {error}"),
            ServerError::Failed { what, log } if log.is_empty() => f.write_str(what),
            ServerError::Failed { what, log } => write!(f, "{what}; the end of its log:\n{log}"),
        }
    }
}

impl std::error::Error for ServerError {}

fn io_error(doing: impl Into<String>) -> impl FnOnce(io::Error) -> ServerError {
    let doing = doing.into();
    move |error| ServerError::Io { doing, error }
}

/// A private server.
#[derive(Debug)]
pub struct Server {
    kind: ServerKind,
    program: Program,
    owner: Owner,
    settings: Vec<(String, String)>,
    password: String,
    port: u16,
    /// `None` after it was stopped.
    child: Option<Child>,
    is_paused: bool,
    /// Must be dropped before the directory, which it removes.
    watcher: Watcher,
    directory: Scratch,
}

impl Server {
    /// The default maximum number of connections.
    pub const CONNECTIONS: u32 = 200;

    /// Starts a server with these settings, each `name=value`, and waits until it answers.
    pub fn start<S: AsRef<str>>(kind: ServerKind, settings: &[S]) -> Result<Server, ServerError> {
        let settings = settings.iter().map(|text| setting(text.as_ref())).collect::<Result<_, _>>()?;
        let program = Program::find(kind)?;
        let directory = Scratch::new().map_err(io_error("creating a temporary directory"))?;
        let owner = Owner::of(kind);
        owner.give(directory.path()).map_err(io_error("changing the owner of a directory"))?;
        let watcher = Watcher::start(kind, directory.path()).map_err(io_error("starting a watcher"))?;
        let password = password().map_err(io_error("generating a password"))?;
        let mut server = Server {
            kind,
            program,
            owner,
            settings,
            password,
            port: 0,
            child: None,
            is_paused: false,
            watcher,
            directory,
        };
        server.prepare()?;
        server.start_at_free_port()?;
        Ok(server)
    }

    /// Its kind.
    pub fn kind(&self) -> ServerKind {
        self.kind
    }

    /// The URL of its database, including the password.
    pub fn url(&self) -> String {
        let Server { password, port, .. } = self;
        match self.kind {
            ServerKind::Postgres => format!("postgres://postgres:{password}@127.0.0.1:{port}/postgres"),
            ServerKind::MariaDb => format!("mariadb://isoscope:{password}@127.0.0.1:{port}/isoscope"),
        }
    }

    /// Its process id; `None` after it was stopped.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Its directory, which is removed with the server.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Pauses all its processes until [`Server::resume`]. Connections stay open and are not answered.
    pub fn pause(&mut self) -> Result<(), ServerError> {
        let Some(pid) = self.pid() else { return Ok(()) };
        self.is_paused = true;
        // Pause the main process first, so that it starts no more children while they are listed.
        process::pause(&[pid]).map_err(io_error("pausing the server"))?;
        process::pause(&process::children(pid)).map_err(io_error("pausing the server"))
    }

    /// Resumes a paused server.
    pub fn resume(&mut self) -> Result<(), ServerError> {
        let Some(pid) = self.pid() else { return Ok(()) };
        for child in process::children(pid).into_iter().chain([pid]) {
            process::send(child, Signal::CONT).map_err(io_error("resuming the server"))?;
        }
        self.is_paused = false;
        Ok(())
    }

    /// Kills it, as a crash does, and starts it again with the same data and port.
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.kill();
        self.launch()?;
        match self.ready()? {
            Started::Ready => Ok(()),
            Started::PortTaken => Err(self.failed("another process took the port while the server was down")),
        }
    }

    /// Shuts it down, and kills it if that takes too long.
    pub fn stop(&mut self) -> Result<(), ServerError> {
        if self.is_paused {
            self.resume()?;
        }
        let Some(child) = &mut self.child else { return Ok(()) };
        let signal = match self.kind {
            ServerKind::Postgres => Signal::INT,
            ServerKind::MariaDb => Signal::TERM,
        };
        process::send(child.id(), signal).map_err(io_error("stopping the server"))?;
        let start = Instant::now();
        while child.try_wait().map_err(io_error("stopping the server"))?.is_none() {
            if start.elapsed() > STOP_LIMIT {
                self.kill();
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10));
        }
        self.child = None;
        self.watcher.watch(None);
        Ok(())
    }

    /// Kills all its processes.
    fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        self.is_paused = false;
        let children = process::children(child.id());
        // Kill the main process first, because it could start more children. Processes that have already ended are fine.
        let _ = child.kill();
        let _ = child.wait();
        self.watcher.watch(None);
        for pid in &children {
            let _ = process::send(*pid, Signal::KILL);
        }
        // They must have ended before the server is started again.
        let start = Instant::now();
        while children.iter().any(|pid| process::is_alive(*pid)) && start.elapsed() < STOP_LIMIT {
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    /// Writes a file that only the server and this process can read.
    fn write(&self, name: &str, text: &str) -> Result<PathBuf, ServerError> {
        let path = self.directory.path().join(name);
        fs::write(&path, text).map_err(io_error(format!("writing {}", path.display())))?;
        self.owner.give(&path).map_err(io_error("changing the owner of a file"))?;
        Ok(path)
    }

    /// A command that runs as the server's user, detached from the terminal, with its output in the log.
    fn command(&self, program: &Path) -> Result<Command, ServerError> {
        let log = self.log();
        let file = OpenOptions::new().create(true).append(true).open(&log);
        let file = file.map_err(io_error(format!("writing {}", log.display())))?;
        let twin = file.try_clone().map_err(io_error("writing the log"))?;
        let mut command = Command::new(program);
        let directory = self.directory.path();
        command.current_dir(directory).stdin(Stdio::null()).stdout(file).stderr(twin);
        // A starting MariaDB removes the temporary tables of other servers that share its temporary directory.
        command.env("TMPDIR", directory);
        self.owner.runs(&mut command);
        Ok(command)
    }

    /// Creates the data directory of an empty database.
    fn prepare(&mut self) -> Result<(), ServerError> {
        let mut command = self.command(&self.program.install)?;
        match self.kind {
            ServerKind::Postgres => {
                let file = self.write("password", &self.password)?;
                command.arg("-D").arg(self.data()).arg("--pwfile").arg(file);
                command.args([
                    "-A",
                    "scram-sha-256",
                    "-U",
                    "postgres",
                    "-E",
                    "UTF8",
                    "--locale=C",
                    "--no-sync",
                ]);
            }
            ServerKind::MariaDb => {
                command.arg("--no-defaults").arg(option("--datadir=", &self.data()));
                command.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
                command.args(self.owner.mariadb_user());
            }
        }
        let name = self.program.install.display().to_string();
        let mut child = command.spawn().map_err(io_error(format!("running {name}")))?;
        self.watcher.watch(Some(child.id()));
        let start = Instant::now();
        let status = loop {
            match child.try_wait().map_err(io_error(format!("running {name}")))? {
                Some(status) => break status,
                None if start.elapsed() > START_LIMIT => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(self.failed(&format!("{name} took longer than {} s", START_LIMIT.as_secs())));
                }
                None => thread::sleep(Duration::from_millis(10)),
            }
        };
        self.watcher.watch(None);
        if status.success() { Ok(()) } else { Err(self.failed(&format!("{name} failed ({status})"))) }
    }

    fn start_at_free_port(&mut self) -> Result<(), ServerError> {
        for _ in 0..PORTS {
            self.port = free_port().map_err(io_error("looking for a free port"))?;
            self.launch()?;
            if self.ready()? == Started::Ready {
                return Ok(());
            }
        }
        Err(self.failed("no free port found"))
    }

    fn launch(&mut self) -> Result<(), ServerError> {
        let mut command = self.command(&self.program.server)?;
        match self.kind {
            ServerKind::Postgres => self.postgres(&mut command),
            ServerKind::MariaDb => self.mariadb(&mut command)?,
        }
        let name = self.program.server.display().to_string();
        let child = command.spawn().map_err(io_error(format!("running {name}")))?;
        self.watcher.watch(Some(child.id()));
        self.child = Some(child);
        Ok(())
    }

    fn postgres(&self, command: &mut Command) {
        let port = self.port.to_string();
        let connections = Server::CONNECTIONS.to_string();
        let ours = [
            ("fsync", "off"),
            // The path of a socket must be short, and no socket is needed.
            ("unix_socket_directories", ""),
            ("track_commit_timestamp", "on"),
            // Workloads cause many deadlocks, and the default of 1 s is long.
            ("deadlock_timeout", "20ms"),
            ("max_connections", &connections),
            // Workloads cause many failures, which clients get anyway. The log is for problems of the server.
            ("log_min_messages", "log"),
        ];
        let fixed = [("listen_addresses", "127.0.0.1"), ("port", &port)];
        let theirs = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        command.arg("-D").arg(self.data());
        for (name, value) in ours.into_iter().chain(theirs).chain(fixed) {
            command.arg("-c").arg(format!("{name}={value}"));
        }
    }

    fn mariadb(&self, command: &mut Command) -> Result<(), ServerError> {
        let users = self.write("users.sql", &mariadb_users(&self.password))?;
        let directory = self.directory.path();
        command
            .arg("--no-defaults")
            .args(self.owner.mariadb_user())
            .args(["--skip-log-bin", "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=2"])
            .arg(format!("--max-connections={}", Server::CONNECTIONS))
            .args(self.settings.iter().map(|(name, value)| format!("--{name}={value}")))
            .arg(option("--datadir=", &self.data()))
            .arg(option("--tmpdir=", directory))
            .arg(option("--socket=", &directory.join("s")))
            .arg(option("--pid-file=", &directory.join("pid")))
            .arg(option("--init-file=", &users))
            .args(["--bind-address=127.0.0.1".to_owned(), format!("--port={}", self.port)]);
        Ok(())
    }

    /// Waits until it answers.
    fn ready(&mut self) -> Result<Started, ServerError> {
        let target = Target::parse(&self.url()).map_err(|error| self.failed(&error.to_string()))?;
        let options = Options { connect_limit: Duration::from_secs(2), ..Options::default() };
        let start = Instant::now();
        loop {
            let error = match target.open(None, &options) {
                Ok(_) => return Ok(Started::Ready),
                Err(OpenError::Failure(failure)) => failure.to_string(),
                Err(error) => return Err(self.failed(&error.to_string())),
            };
            let Some(child) = &mut self.child else { return Err(self.failed(&error)) };
            let name = self.kind.name();
            if let Some(status) = child.try_wait().map_err(io_error("checking the server process"))? {
                self.child = None;
                self.watcher.watch(None);
                let is_taken = self.log_tail().to_ascii_lowercase().contains("address already in use");
                return if is_taken {
                    Ok(Started::PortTaken)
                } else {
                    Err(self.failed(&format!("{name} ended right after it was started ({status})")))
                };
            }
            if start.elapsed() > START_LIMIT {
                self.kill();
                let limit = START_LIMIT.as_secs();
                return Err(self.failed(&format!("{name} did not answer within {limit} s ({error})")));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn failed(&self, what: &str) -> ServerError {
        ServerError::Failed { what: what.to_owned(), log: self.log_tail() }
    }

    fn log_tail(&self) -> String {
        let log = fs::read(self.log()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.stop().is_err() {
            self.kill();
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Started {
    Ready,
    PortTaken,
}

fn setting(text: &str) -> Result<(String, String), ServerError> {
    match text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
        Some((name, value)) if !name.is_empty() && !name.starts_with('-') => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(ServerError::Setting(text.to_owned())),
    }
}

fn option(name: &str, path: &Path) -> std::ffi::OsString {
    let mut text = std::ffi::OsString::from(name);
    text.push(path);
    text
}

/// Creates the only user, with the password, and removes all others. The server runs this at every start, one statement per
/// line.
fn mariadb_users(password: &str) -> String {
    format!(
        "DELETE FROM mysql.global_priv WHERE User <> 'mariadb.sys';\n\
         FLUSH PRIVILEGES;\n\
         CREATE OR REPLACE USER isoscope@'%' IDENTIFIED BY '{password}';\n\
         GRANT ALL PRIVILEGES ON *.* TO isoscope@'%' WITH GRANT OPTION;\n\
         CREATE DATABASE IF NOT EXISTS isoscope;\n"
    )
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn password() -> io::Result<String> {
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}

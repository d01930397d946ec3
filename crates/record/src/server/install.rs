//! Finds installed servers: on the `PATH`, or else in the directories that packages use.

use std::cmp::Reverse;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::{ServerError, ServerKind};

/// The programs of one installation.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// The server.
    pub(super) server: PathBuf,
    /// The program that creates an empty database.
    pub(super) install: PathBuf,
}

/// Directories of programs. `*` stands for a version.
const POSTGRES: [&str; 6] = [
    "/usr/lib/postgresql/*/bin",
    "/usr/lib/postgresql*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
];
const MARIADB: [&str; 7] = [
    "/usr/sbin",
    "/usr/libexec",
    "/usr/bin",
    "/usr/local/sbin",
    "/usr/local/mysql/bin",
    "/opt/homebrew/opt/mariadb*/bin",
    "/usr/local/opt/mariadb*/bin",
];

impl Program {
    pub(super) fn find(kind: ServerKind) -> Result<Program, ServerError> {
        let (server, install, known): (_, _, &[&str]) = match kind {
            ServerKind::Postgres => ("postgres", "initdb", &POSTGRES),
            ServerKind::MariaDb => ("mariadbd", "mariadb-install-db", &MARIADB),
        };
        let path = env::var_os("PATH").unwrap_or_default();
        let mut directories: Vec<PathBuf> = env::split_paths(&path).collect();
        directories.extend(known.iter().flat_map(|pattern| matching(pattern)));
        let missing = |program| ServerError::Missing { kind, program };
        // Prefer a directory that has both programs, because they must have the same version.
        if let Some(directory) = directories.iter().find(|dir| has(dir, server) && has(dir, install)) {
            return Ok(Program { server: directory.join(server), install: directory.join(install) });
        }
        let first = |program| directories.iter().find(|dir| has(dir, program)).map(|dir| dir.join(program));
        Ok(Program {
            server: first(server).ok_or_else(|| missing(server))?,
            install: first(install).ok_or_else(|| missing(install))?,
        })
    }
}

fn has(directory: &Path, program: &str) -> bool {
    directory.is_absolute() && directory.join(program).is_file()
}

/// The directories that match a pattern with one `*`, the newest version first.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else { return vec![PathBuf::from(pattern)] };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("/", before));
    let mut found: Vec<(Reverse<u64>, PathBuf)> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let version = name.strip_prefix(prefix)?.trim_start_matches(['@', '-']).split('.').next()?;
            let version = version.parse().unwrap_or(0);
            Some((Reverse(version), PathBuf::from(format!("{parent}/{name}{after}"))))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

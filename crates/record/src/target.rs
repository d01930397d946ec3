//! Targets: the URLs of databases.
//!
//! ```text
//! postgres://user:password@host:port/database?sslmode=require     also postgresql:, and host=... dbname=...
//! mysql://user:password@host:port/database?ssl-mode=required      also mariadb:
//! sqlite:path/to/file?journal=wal&transactions=immediate          also a path that ends in .db or .sqlite
//! sqlite:                                                         a temporary file
//! memory:LEVEL?bug=...                                            the in-memory store
//! ```
//!
//! Every part may be percent-encoded. Unknown parameters are errors, because a parameter that is silently ignored would make
//! a run differ from what its command line says. Passwords are never shown.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::database::{mysql, postgres, sqlite};
use crate::isolation::{self, UnknownIsolation};
use crate::{Database, Failure, Vendor};

/// A database as named by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A PostgreSQL server.
    Postgres(Address),
    /// A MySQL or MariaDB server. The server reports which of the two it is.
    MySql(Address),
    /// An SQLite file.
    Sqlite(File),
    /// The in-memory store.
    Memory(Memory),
}

/// The address of a server, with the user and the database.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// Where it listens.
    pub host: Host,
    /// The port. It is also part of the name of a PostgreSQL socket.
    pub port: u16,
    /// The user, if given.
    pub user: Option<String>,
    /// The password, if given.
    pub password: Option<String>,
    /// The database, if given.
    pub database: Option<String>,
    /// The parameters.
    pub params: Params,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A host name or an IP address.
    Name(String),
    /// A Unix socket: for PostgreSQL the directory, for MySQL the socket.
    Socket(PathBuf),
}

/// An SQLite database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The file; `None` for a temporary one.
    pub path: Option<PathBuf>,
    /// The parameters.
    pub params: Params,
}

/// The in-memory store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The level, if given.
    pub level: Option<String>,
    /// The parameters.
    pub params: Params,
}

/// The parameters of a URL, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(pub Vec<(String, String)>);

impl Params {
    /// The value of a parameter. If it is repeated, the last one counts.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Refuses unknown parameters.
    fn only(self, known: &[&str]) -> Result<Params, TargetError> {
        match self.0.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            None => Ok(self),
            Some((key, _)) => Err(TargetError::new(format!(
                "unknown parameter `{key}`; the parameters of this database are `{}`",
                known.join("`, `")
            ))),
        }
    }

    /// Checks that a parameter, if given, has one of these values.
    fn one_of(&self, name: &str, words: &[&str]) -> Result<(), TargetError> {
        match self.get(name) {
            Some(value) if !words.contains(&value) => Err(TargetError::new(format!(
                "invalid value `{value}` of `{name}`; use one of `{}`",
                words.join("`, `")
            ))),
            _ => Ok(()),
        }
    }
}

/// The options of all connections. The limits ensure that nothing waits forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long connecting may take.
    pub connect_limit: Duration,
    /// How long a statement may wait for a lock. Databases round it up to their resolution. Only SQLite does not wait at
    /// all if it is zero.
    pub lock_limit: Duration,
    /// How long a statement may take. The client waits slightly longer for the answer.
    pub statement_limit: Duration,
    /// Whether to read the database's own timestamps, if it has them.
    pub timestamps: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            connect_limit: Duration::from_secs(5),
            lock_limit: Duration::from_secs(5),
            statement_limit: Duration::from_secs(30),
            timestamps: true,
        }
    }
}

impl Options {
    /// How long to wait for an answer before the connection counts as lost. Servers enforce the limit of a statement
    /// themselves; this limit is for servers that do not answer at all.
    pub(crate) fn answer_limit(&self) -> Duration {
        self.statement_limit + Duration::from_secs(5)
    }
}

/// An invalid database URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetError {
    message: String,
}

impl TargetError {
    pub(crate) fn new(message: impl Into<String>) -> TargetError {
        TargetError { message: message.into() }
    }
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TargetError {}

/// Why a database could not be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The URL is invalid.
    Target(TargetError),
    /// The database has no isolation level of that name.
    Isolation(UnknownIsolation),
    /// The database refused, or did not answer.
    Failure(Failure),
    /// The in-memory store is not a [`Database`], because it does not support SQL.
    Memory,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Target(error) => error.fmt(f),
            OpenError::Isolation(error) => error.fmt(f),
            OpenError::Failure(error) => error.fmt(f),
            OpenError::Memory => f.write_str(
                "the in-memory store does not support SQL: choose postgres://.., mysql://.., mariadb://.. or sqlite:FILE",
            ),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<TargetError> for OpenError {
    fn from(error: TargetError) -> OpenError {
        OpenError::Target(error)
    }
}

impl From<UnknownIsolation> for OpenError {
    fn from(error: UnknownIsolation) -> OpenError {
        OpenError::Isolation(error)
    }
}

impl From<Failure> for OpenError {
    fn from(error: Failure) -> OpenError {
        OpenError::Failure(error)
    }
}

impl Target {
    /// Parses the name of a database.
    pub fn parse(text: &str) -> Result<Target, TargetError> {
        let text = text.trim();
        let scheme = text.split_once(':').filter(|(scheme, _)| is_scheme(scheme));
        match scheme.map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest)) {
            Some((scheme, rest)) => match scheme.as_str() {
                "postgres" | "postgresql" => Ok(Target::Postgres(postgres_address(rest)?)),
                "mysql" | "mariadb" => Ok(Target::MySql(mysql_address(rest)?)),
                "sqlite" | "sqlite3" | "file" => Ok(Target::Sqlite(sqlite_file(rest)?)),
                "memory" => Ok(Target::Memory(memory(rest)?)),
                other => Err(TargetError::new(format!("unknown kind of database `{other}:`; {KNOWN}"))),
            },
            None if is_database_file(text) => {
                Ok(Target::Sqlite(File { path: Some(PathBuf::from(text)), params: Params::default() }))
            }
            None if looks_like_keywords(text) => Ok(Target::Postgres(keywords(text)?)),
            None => Err(TargetError::new(format!("cannot tell the kind of database from `{text}`; {KNOWN}"))),
        }
    }

    /// The vendor according to the URL. A MySQL URL may lead to a MariaDB server; [`Database::vendor`] is exact.
    pub fn vendor(&self) -> Vendor {
        match self {
            Target::Postgres(_) => Vendor::Postgres,
            Target::MySql(_) => Vendor::MySql,
            Target::Sqlite(_) => Vendor::Sqlite,
            Target::Memory(_) => Vendor::Memory,
        }
    }

    /// Opens the database for transactions at the isolation level of this name, or else at the vendor's documented default.
    pub fn open(&self, isolation: Option<&str>, options: &Options) -> Result<Box<dyn Database>, OpenError> {
        match self {
            Target::Postgres(address) => {
                let level = chosen(Vendor::Postgres, isolation)?;
                Ok(Box::new(postgres::Postgres::open(address, level, options)?))
            }
            Target::MySql(address) => Ok(Box::new(mysql::MySql::open(address, isolation, options)?)),
            Target::Sqlite(file) => {
                let level = chosen(Vendor::Sqlite, isolation)?;
                Ok(Box::new(sqlite::Sqlite::open(file, level, options)?))
            }
            Target::Memory(_) => Err(OpenError::Memory),
        }
    }
}

/// The isolation level with this name, or else the default.
pub(crate) fn chosen(
    vendor: Vendor,
    name: Option<&str>,
) -> Result<&'static isolation::Isolation, UnknownIsolation> {
    match (name, isolation::default_isolation(vendor)) {
        (None, Some(default)) => Ok(default),
        (name, _) => isolation::isolation(vendor, name.unwrap_or_default()),
    }
}

const KNOWN: &str = "write postgres://host/database, mysql://host/database, sqlite:file or memory:level";

fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric())
}

fn is_database_file(text: &str) -> bool {
    let extension = Path::new(text).extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("db" | "db3" | "sqlite" | "sqlite3"))
}

fn looks_like_keywords(text: &str) -> bool {
    text.split_once('=').is_some_and(|(key, _)| POSTGRES_KEYWORDS.contains(&key.trim()))
}

const POSTGRES_PARAMS: [&str; 5] = ["sslmode", "sslrootcert", "application_name", "options", "host"];
const POSTGRES_KEYWORDS: [&str; 9] =
    ["host", "port", "dbname", "user", "password", "sslmode", "sslrootcert", "application_name", "options"];
const SSL_MODES: [&str; 5] = ["disable", "prefer", "require", "verify-ca", "verify-full"];
const MYSQL_PARAMS: [&str; 3] = ["ssl-mode", "ssl-ca", "socket"];
const MYSQL_SSL_MODES: [&str; 5] = ["disabled", "preferred", "required", "verify-ca", "verify-identity"];
const SQLITE_PARAMS: [&str; 2] = ["journal", "transactions"];

fn postgres_address(rest: &str) -> Result<Address, TargetError> {
    let mut address = address(rest, "postgres", 5432)?;
    if let Some(host) = address.params.get("host") {
        address.host = host_of(host);
    }
    postgres_params(&mut address)?;
    Ok(address)
}

fn postgres_params(address: &mut Address) -> Result<(), TargetError> {
    address.params = std::mem::take(&mut address.params).only(&POSTGRES_PARAMS)?;
    address.params.one_of("sslmode", &SSL_MODES)
}

fn mysql_address(rest: &str) -> Result<Address, TargetError> {
    let mut address = address(rest, "mysql", 3306)?;
    if let Some(socket) = address.params.get("socket") {
        address.host = Host::Socket(PathBuf::from(socket));
    }
    address.params = address.params.only(&MYSQL_PARAMS)?;
    address.params.one_of("ssl-mode", &MYSQL_SSL_MODES)?;
    Ok(address)
}

fn sqlite_file(rest: &str) -> Result<File, TargetError> {
    let (path, params) = split_params(rest)?;
    let path = decode(path.strip_prefix("//").unwrap_or(path))?;
    if path == ":memory:" {
        return Err(TargetError::new(
            "`sqlite::memory:` supports only one connection, and every session needs its own; \
             write `sqlite:` for a temporary file",
        ));
    }
    let params = params.only(&SQLITE_PARAMS)?;
    params.one_of("journal", &["wal", "delete"])?;
    params.one_of("transactions", &["deferred", "immediate", "exclusive"])?;
    Ok(File { path: Some(path).filter(|path| !path.is_empty()).map(PathBuf::from), params })
}

fn memory(rest: &str) -> Result<Memory, TargetError> {
    let (level, params) = split_params(rest)?;
    let level = decode(level.strip_prefix("//").unwrap_or(level))?;
    Ok(Memory { level: Some(level).filter(|level| !level.is_empty()), params })
}

/// `//user:password@host:port/database?parameters`.
fn address(rest: &str, scheme: &str, port: u16) -> Result<Address, TargetError> {
    let Some(rest) = rest.strip_prefix("//") else {
        return Err(TargetError::new(format!("expected `//` after `{scheme}:`")));
    };
    let (rest, params) = split_params(rest)?;
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (who, place) =
        authority.rsplit_once('@').map_or((None, authority), |(who, place)| (Some(who), place));
    let (user, password) = match who.map(|who| who.split_once(':').map_or((who, None), |(u, p)| (u, Some(p))))
    {
        None => (None, None),
        Some((user, password)) => (Some(decode(user)?), password.map(decode).transpose()?),
    };
    let (host, port) = host_and_port(place, port)?;
    if database.contains('/') {
        return Err(TargetError::new(format!("invalid database name `{database}`: it contains a slash")));
    }
    Ok(Address {
        host,
        port,
        user: user.filter(|user| !user.is_empty()),
        password,
        database: Some(decode(database)?).filter(|name| !name.is_empty()),
        params,
    })
}

fn host_and_port(place: &str, default: u16) -> Result<(Host, u16), TargetError> {
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    let port = match port {
        None | Some("") => default,
        Some(port) => port.parse().ok().filter(|&port| port != 0).ok_or_else(|| {
            TargetError::new(format!("invalid port `{port}`; use a number from 1 to 65535"))
        })?,
    };
    Ok((host_of(&decode(host)?), port))
}

fn host_of(text: &str) -> Host {
    match text {
        "" => Host::Name("localhost".to_owned()),
        _ if text.starts_with('/') => Host::Socket(PathBuf::from(text)),
        _ => Host::Name(text.to_owned()),
    }
}

fn split_params(rest: &str) -> Result<(&str, Params), TargetError> {
    let Some((rest, query)) = rest.split_once('?') else { return Ok((rest, Params::default())) };
    let mut params = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        params.push((decode(key)?, decode(value)?));
    }
    Ok((rest, Params(params)))
}

/// Undoes percent-encoding.
fn decode(text: &str) -> Result<String, TargetError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let code = tail.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) else {
            return Err(TargetError::new(
                "expected two hexadecimal digits after `%`; write `%25` for a percent sign",
            ));
        };
        bytes.push(byte);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| TargetError::new("the percent-encoding is not valid UTF-8"))
}

/// PostgreSQL's other notation: `host=localhost dbname='my data'`.
fn keywords(text: &str) -> Result<Address, TargetError> {
    let mut address = Address {
        host: host_of(""),
        port: 5432,
        user: None,
        password: None,
        database: None,
        params: Params::default(),
    };
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (key, tail) =
            rest.split_once('=').ok_or_else(|| TargetError::new(format!("`{}` has no `=`", rest.trim())))?;
        let (value, tail) = keyword_value(tail.trim_start())?;
        match key.trim() {
            "host" => address.host = host_of(&value),
            "port" => address.port = host_and_port(&format!(":{value}"), 5432)?.1,
            "user" => address.user = Some(value),
            "password" => address.password = Some(value),
            "dbname" => address.database = Some(value),
            key => address.params.0.push((key.to_owned(), value)),
        }
        rest = tail.trim_start();
    }
    postgres_params(&mut address)?;
    Ok(address)
}

/// A value, quoted or up to the next space, and the rest. A backslash escapes the next character.
fn keyword_value(text: &str) -> Result<(String, &str), TargetError> {
    let quoted = text.starts_with('\'');
    let mut value = String::new();
    let mut chars = text.char_indices().skip(usize::from(quoted));
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            '\'' if quoted => return Ok((value, &text[at + 1..])),
            c if !quoted && c.is_whitespace() => return Ok((value, &text[at..])),
            c => value.push(c),
        }
    }
    if quoted { Err(TargetError::new("missing closing quote")) } else { Ok((value, "")) }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

impl fmt::Display for Address {
    /// Everything but the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) if name.contains(':') => write!(f, "[{name}]:{}", self.port)?,
            Host::Name(name) => write!(f, "{name}:{}", self.port)?,
            Host::Socket(path) => write!(f, "socket {}", path.display())?,
        }
        if let Some(database) = &self.database {
            write!(f, ", database \"{database}\"")?;
        }
        match &self.user {
            Some(user) => write!(f, ", as user \"{user}\""),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Postgres(address) => write!(f, "PostgreSQL at {address}"),
            Target::MySql(address) => write!(f, "MySQL at {address}"),
            Target::Sqlite(File { path: Some(path), .. }) => write!(f, "SQLite file {}", path.display()),
            Target::Sqlite(_) => f.write_str("a temporary SQLite file"),
            Target::Memory(Memory { level: Some(level), .. }) => write!(f, "the in-memory store at {level}"),
            Target::Memory(_) => f.write_str("the in-memory store"),
        }
    }
}

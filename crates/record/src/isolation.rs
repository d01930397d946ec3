//! The isolation levels of each database, and what its documentation promises for them.
//!
//! Databases use the level names of the SQL standard with different meanings. For each level of each database, a row has
//! the level of the catalogue that the documentation promises, the reason, and the source. `isoscope test` checks exactly
//! that level. The row is the documented promise, not an observation: a database that violates it has a bug.
//!
//! A promise may depend on the statements. *Registers* are plain reads, and writes of values that the client computed.
//! *Computed* writes read in the database, like `SET v = v + 1` and appending to a list. If plain reads use a snapshot but
//! computed writes bypass it, the promise for computed writes is weaker. *Rows* are rows that INSERT and DELETE add and
//! remove; the absence of a key counts as a value.

use std::fmt;

use isoscope_levels::Level;

use crate::Vendor;

/// One isolation level of one database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// The vendor of the database.
    pub vendor: Vendor,
    /// Its name in isoscope: the database's own, in lower case with hyphens.
    pub name: &'static str,
    /// Its name in SQL.
    pub sql: &'static str,
    /// The server setting that selects this row; `None` for the row without it.
    pub setting: Option<&'static str>,
    /// Whether it is the database's default.
    pub is_default: bool,
    /// The promise for plain reads and for writes of values that the client computed.
    pub registers: Level,
    /// The promise for statements that compute what they write from what they read.
    pub computed: Level,
    /// The promise for inserted and deleted rows.
    pub rows: Level,
    /// What the name suggests, according to the SQL standard and Adya's interpretation of it.
    pub name_suggests: Level,
    /// Why the documentation promises these levels.
    pub why: &'static str,
    /// The document and section.
    pub source: Source,
}

/// The source of a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The document.
    pub document: &'static str,
    /// The title of the section.
    pub section: &'static str,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, \"{}\"", self.document, self.section)
    }
}

impl Isolation {
    /// The statement that sets it for a session, if the database has one.
    pub fn set_session(&self) -> Option<String> {
        match self.vendor {
            Vendor::Postgres => {
                Some(format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {}", self.sql))
            }
            Vendor::MySql | Vendor::MariaDb => {
                Some(format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", self.sql))
            }
            Vendor::Sqlite | Vendor::Memory => None,
        }
    }
}

/// The database has no isolation level with this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownIsolation {
    /// The database.
    pub vendor: Vendor,
    /// The name as it was given.
    pub name: String,
}

impl fmt::Display for UnknownIsolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has no isolation level `{}`", self.vendor, self.name)?;
        let mut names: Vec<&str> = isolations(self.vendor).iter().map(|row| row.name).collect();
        names.dedup();
        match names.split_last() {
            None => f.write_str("; its levels are those of `isoscope levels`"),
            Some((only, [])) => write!(f, "; it has only `{only}`"),
            Some((last, others)) => write!(f, "; it has `{}` and `{last}`", others.join("`, `")),
        }
    }
}

impl std::error::Error for UnknownIsolation {}

/// The isolation levels of a database, weaker ones first. A name that depends on a setting appears twice.
pub fn isolations(vendor: Vendor) -> &'static [Isolation] {
    match vendor {
        Vendor::Postgres => &POSTGRES,
        Vendor::MySql => &MYSQL,
        Vendor::MariaDb => &MARIADB,
        Vendor::Sqlite => &SQLITE,
        Vendor::Memory => &[],
    }
}

/// The isolation level with this name in the database; if there are several rows, the one without a setting. Case does not
/// matter. Words may be joined by spaces, hyphens or underscores. Initials are accepted too.
pub fn isolation(vendor: Vendor, name: &str) -> Result<&'static Isolation, UnknownIsolation> {
    let plain: String = name
        .trim()
        .chars()
        .map(|c| if c == '_' || c.is_whitespace() { '-' } else { c.to_ascii_lowercase() })
        .collect();
    isolations(vendor)
        .iter()
        .find(|row| row.name == plain || initials(row.name) == plain)
        .ok_or_else(|| UnknownIsolation { vendor, name: name.to_owned() })
}

/// The default isolation level of a database; `None` if it has none.
pub fn default_isolation(vendor: Vendor) -> Option<&'static Isolation> {
    isolations(vendor).iter().find(|row| row.is_default)
}

/// The row of the same name for a server setting, which is spelled as in [`Isolation::setting`].
pub fn under_setting(row: &'static Isolation, setting: &str) -> &'static Isolation {
    isolations(row.vendor)
        .iter()
        .find(|other| other.name == row.name && other.setting == Some(setting))
        .unwrap_or(row)
}

fn initials(name: &str) -> String {
    match name {
        "serializable" => "ser".to_owned(),
        _ => name.split('-').filter_map(|word| word.chars().next()).collect(),
    }
}

/// The MariaDB setting that makes `repeatable read` snapshot isolation.
pub(crate) const SNAPSHOT_ISOLATION: &str = "innodb_snapshot_isolation=ON";

/// A level name of the SQL standard, and what it suggests.
struct Standard {
    name: &'static str,
    sql: &'static str,
    suggests: Level,
}

const UNCOMMITTED: Standard =
    Standard { name: "read-uncommitted", sql: "READ UNCOMMITTED", suggests: Level::AdyaPl1 };
const COMMITTED: Standard =
    Standard { name: "read-committed", sql: "READ COMMITTED", suggests: Level::AdyaPl2 };
const REPEATABLE: Standard =
    Standard { name: "repeatable-read", sql: "REPEATABLE READ", suggests: Level::AdyaPl299 };
const SERIALIZABLE: Standard =
    Standard { name: "serializable", sql: "SERIALIZABLE", suggests: Level::Serializable };

const fn row(
    vendor: Vendor,
    standard: &Standard,
    level: Level,
    why: &'static str,
    source: Source,
) -> Isolation {
    Isolation {
        vendor,
        name: standard.name,
        sql: standard.sql,
        setting: None,
        is_default: false,
        registers: level,
        computed: level,
        rows: level,
        name_suggests: standard.suggests,
        why,
        source,
    }
}

const fn postgres_manual(section: &'static str) -> Source {
    Source { document: "PostgreSQL documentation, chapter Concurrency Control", section }
}

static POSTGRES: [Isolation; 4] = [
    row(
        Vendor::Postgres,
        &UNCOMMITTED,
        Level::ReadCommitted,
        "PostgreSQL treats it as read committed.",
        postgres_manual("Transaction Isolation"),
    ),
    Isolation {
        is_default: true,
        ..row(
            Vendor::Postgres,
            &COMMITTED,
            Level::ReadCommitted,
            "Each statement sees a snapshot of what was committed when it began. The snapshot of a later statement \
             is newer, so no read returns an older state than an earlier read. An update that finds its row changed \
             continues with the newest version of the row.",
            postgres_manual("Read Committed Isolation Level"),
        )
    },
    Isolation {
        rows: Level::Prefix,
        ..row(
            Vendor::Postgres,
            &REPEATABLE,
            Level::Snapshot,
            "All statements see one snapshot, and a transaction that would change a row changed since then is \
             rolled back; the documentation itself calls this snapshot isolation. Write skew is possible, although \
             the name suggests otherwise. The promise covers changed rows but not INSERT, which succeeds if the key \
             was deleted since the snapshot.",
            postgres_manual("Repeatable Read Isolation Level"),
        )
    },
    row(
        Vendor::Postgres,
        &SERIALIZABLE,
        Level::Serializable,
        "The effect is the same as running the transactions one at a time in some order. Transactions that would \
         violate this are rolled back.",
        postgres_manual("Serializable Isolation Level"),
    ),
];

const fn mysql_manual(section: &'static str) -> Source {
    Source { document: "MySQL Reference Manual, chapter The InnoDB Storage Engine", section }
}

const fn mariadb_manual(section: &'static str) -> Source {
    Source { document: "MariaDB Server documentation", section }
}

const INNODB_UNCOMMITTED: &str = "Reads take no locks and may return data that is never committed. Writes hold \
     their row locks until the transaction ends, so the writes of two transactions do not interleave.";
const INNODB_COMMITTED: &str = "Each consistent read uses a new snapshot of the committed data, so no read returns \
     an older state than an earlier read. Statements that write see the newest committed rows.";
const INNODB_REPEATABLE: &str = "All plain reads use the snapshot of the first one. Statements that write, and \
     locking reads, see the newest committed rows instead, and the database does not check that these are the \
     versions that were read: updates can be lost. Later plain reads see the rows that such a statement changed, \
     including earlier changes by other transactions, while all other rows still come from the old snapshot.";
const INNODB_SERIALIZABLE: &str = "Plain reads inside a transaction take shared locks, as with FOR SHARE. All \
     locks, including gap locks, are held until the transaction ends.";

const fn innodb_repeatable(vendor: Vendor, source: Source) -> Isolation {
    Isolation {
        is_default: true,
        computed: Level::AdyaPl2,
        ..row(vendor, &REPEATABLE, Level::Prefix, INNODB_REPEATABLE, source)
    }
}

static MYSQL: [Isolation; 4] = [
    row(
        Vendor::MySql,
        &UNCOMMITTED,
        Level::AdyaPl1,
        INNODB_UNCOMMITTED,
        mysql_manual("Transaction Isolation Levels"),
    ),
    row(
        Vendor::MySql,
        &COMMITTED,
        Level::ReadCommitted,
        INNODB_COMMITTED,
        mysql_manual("Transaction Isolation Levels"),
    ),
    innodb_repeatable(Vendor::MySql, mysql_manual("Consistent Nonlocking Reads")),
    row(
        Vendor::MySql,
        &SERIALIZABLE,
        Level::Serializable,
        INNODB_SERIALIZABLE,
        mysql_manual("Transaction Isolation Levels"),
    ),
];

static MARIADB: [Isolation; 5] = [
    row(
        Vendor::MariaDb,
        &UNCOMMITTED,
        Level::AdyaPl1,
        INNODB_UNCOMMITTED,
        mariadb_manual("SET TRANSACTION: Isolation Levels"),
    ),
    row(
        Vendor::MariaDb,
        &COMMITTED,
        Level::ReadCommitted,
        INNODB_COMMITTED,
        mariadb_manual("SET TRANSACTION: Isolation Levels"),
    ),
    innodb_repeatable(Vendor::MariaDb, mariadb_manual("SET TRANSACTION: Isolation Levels")),
    Isolation {
        setting: Some(SNAPSHOT_ISOLATION),
        is_default: true,
        ..row(
            Vendor::MariaDb,
            &REPEATABLE,
            Level::Snapshot,
            "All plain reads use the snapshot of the first one. A statement that would lock a row changed since \
             then fails and rolls back the transaction. The setting is off by default before MariaDB 11.6.2 and on \
             since then.",
            mariadb_manual("InnoDB System Variables: innodb_snapshot_isolation"),
        )
    },
    row(
        Vendor::MariaDb,
        &SERIALIZABLE,
        Level::Serializable,
        INNODB_SERIALIZABLE,
        mariadb_manual("SET TRANSACTION: Isolation Levels"),
    ),
];

static SQLITE: [Isolation; 1] = [Isolation {
    is_default: true,
    ..row(
        Vendor::Sqlite,
        &SERIALIZABLE,
        Level::Serializable,
        "Only one transaction writes at a time, and a transaction that has read an old snapshot cannot become the \
         writer.",
        Source {
            document: "SQLite documentation, Isolation In SQLite",
            section: "Isolation Between Database Connections",
        },
    )
}];

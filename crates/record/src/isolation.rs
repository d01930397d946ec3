//! Isolation levels as each database names them, and what its documentation promises under that name.
//!
//! Databases share the names of the SQL standard and little else. A row says, for one name of one database, which level
//! of the catalogue its documentation amounts to, why, and where that is written; `isoscope test` checks that level
//! and no other. It is the documentation's promise, not what was observed: a database that breaks it has a bug.
//!
//! A promise may depend on the statements. *Registers* are plain reads, and writes of values that the client computed;
//! *computed* writes read in the database, as `SET v = v + 1` and appending to a list do. Where a database takes plain
//! reads from a snapshot but lets computed writes read past it, the second promise is the weaker one. *Rows* are those that
//! come and go by INSERT and DELETE, where a key's absence counts as a value.

use std::fmt;

use isoscope_levels::Level;

use crate::Vendor;

/// One isolation level of one database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// Whose it is.
    pub vendor: Vendor,
    /// Its name in isoscope: the database's own, in lower case with hyphens.
    pub name: &'static str,
    /// Its name in SQL.
    pub sql: &'static str,
    /// The server's setting under which this row is the one that counts; `None` for the row without it.
    pub setting: Option<&'static str>,
    /// Whether it is what the database does unless it is told otherwise.
    pub is_default: bool,
    /// What is promised to plain reads and to writes of values that the client computed.
    pub registers: Level,
    /// What is promised when statements compute what they write from what they find.
    pub computed: Level,
    /// What is promised when rows are inserted and deleted.
    pub rows: Level,
    /// What the name is usually taken to mean, by the standard and Adya's reading of it.
    pub name_suggests: Level,
    /// Why the documentation amounts to that.
    pub why: &'static str,
    /// The document and section that say so.
    pub source: Source,
}

/// Where a promise is written.
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
    /// The statement that sets it for a session, where the database has one.
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

/// A name that no isolation level of the database has.
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

/// The isolation levels of a database, weaker ones first; the same name twice where a setting matters.
pub fn isolations(vendor: Vendor) -> &'static [Isolation] {
    match vendor {
        Vendor::Postgres => &POSTGRES,
        Vendor::MySql => &MYSQL,
        Vendor::MariaDb => &MARIADB,
        Vendor::Sqlite => &SQLITE,
        Vendor::Memory => &[],
    }
}

/// The isolation level that a database knows by a name; of several rows of that name the one without a setting. Case
/// does not matter, nor whether words are joined by spaces, hyphens or underscores; initials will do.
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

/// What a database does unless it is told otherwise; `None` where it always has to be told.
pub fn default_isolation(vendor: Vendor) -> Option<&'static Isolation> {
    isolations(vendor).iter().find(|row| row.is_default)
}

/// The row of the same name that counts under a setting of the server, which is spelled as in [`Isolation::setting`].
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

/// The setting of MariaDB that makes `repeatable read` snapshot isolation.
pub(crate) const SNAPSHOT_ISOLATION: &str = "innodb_snapshot_isolation=ON";

/// A name of the SQL standard, and what it is usually taken to mean.
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
            "Each statement sees what was committed when it began, in a snapshot later than that of the statement \
             before it, so no read goes back behind an earlier one; an update that finds its row changed goes on with \
             the row's newest version.",
            postgres_manual("Read Committed Isolation Level"),
        )
    },
    Isolation {
        rows: Level::Prefix,
        ..row(
            Vendor::Postgres,
            &REPEATABLE,
            Level::Snapshot,
            "All statements see one snapshot, and a transaction that would change a row changed since then is rolled \
             back: the documentation itself calls it snapshot isolation. Write skew remains possible, which the name \
             does not suggest. What is said of changed rows is not said of INSERT: it succeeds where the key was deleted \
             since the snapshot.",
            postgres_manual("Repeatable Read Isolation Level"),
        )
    },
    row(
        Vendor::Postgres,
        &SERIALIZABLE,
        Level::Serializable,
        "The effect is that of running the transactions one at a time in some order; those that would break it are \
         rolled back.",
        postgres_manual("Serializable Isolation Level"),
    ),
];

const fn mysql_manual(section: &'static str) -> Source {
    Source { document: "MySQL Reference Manual, chapter The InnoDB Storage Engine", section }
}

const fn mariadb_manual(section: &'static str) -> Source {
    Source { document: "MariaDB Server documentation", section }
}

const INNODB_UNCOMMITTED: &str = "Reads take no locks and may return what was never committed; writes hold their \
     row locks to the end, so those of two transactions are not interleaved.";
const INNODB_COMMITTED: &str = "Each consistent read has a fresh snapshot of what is committed, so no read goes back \
     behind an earlier one; statements that write see the newest committed rows.";
const INNODB_REPEATABLE: &str = "All plain reads come from the snapshot of the first one, but statements that write, and \
     locking reads, see the newest committed rows, and nothing checks that these are the ones that were read: updates may \
     be lost. What such a statement changed is visible to later plain reads, with what others had put there, \
     while all else still comes from the old snapshot.";
const INNODB_SERIALIZABLE: &str = "Plain reads inside a transaction take shared locks as if FOR SHARE stood there, and all \
     locks, also those on gaps, are held to the end.";

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
            "All plain reads come from the snapshot of the first one, and a statement that would lock a row changed since \
             then fails and rolls the transaction back. Off by default before MariaDB 11.6.2, on since.",
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
        "There is one writer at a time, and a transaction that read from an old snapshot cannot become the writer.",
        Source {
            document: "SQLite documentation, Isolation In SQLite",
            section: "Isolation Between Database Connections",
        },
    )
}];

//! The dialects of SQL, and the settings that change what a statement means.
//!
//! Every difference between databases is decided from a [`Settings`], never from a global or from the text of a statement.

use isoscope_log::Vendor;

/// A family of SQL. MySQL and MariaDB share one; [`Settings::is_mariadb`] tells them apart where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    MySql,
    /// SQLite.
    Sqlite,
}

impl Dialect {
    /// The dialect of a vendor; `None` for the in-memory store, which has no SQL.
    pub const fn of(vendor: Vendor) -> Option<Dialect> {
        match vendor {
            Vendor::Postgres => Some(Dialect::Postgres),
            Vendor::MySql | Vendor::MariaDb => Some(Dialect::MySql),
            Vendor::Sqlite => Some(Dialect::Sqlite),
            Vendor::Memory => None,
        }
    }
}

/// The settings of a server that change the answers of statements.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Settings {
    /// The dialect.
    pub dialect: Dialect,
    /// Whether a MySQL dialect is MariaDB's.
    pub is_mariadb: bool,
    /// Whether MySQL refuses values that do not fit their column (`STRICT_TRANS_TABLES` in `sql_mode`).
    pub is_strict: bool,
    /// Whether a division by zero is an error in MySQL statements that write (`ERROR_FOR_DIVISION_BY_ZERO`).
    pub divides_by_zero_fail: bool,
    /// How many digits a division adds to the scale in MySQL (`div_precision_increment`).
    pub div_precision_increment: u32,
    /// Whether `||` concatenates in MySQL (`PIPES_AS_CONCAT`); otherwise it is OR.
    pub pipes_concat: bool,
    /// Whether a double-quoted text is an identifier in MySQL (`ANSI_QUOTES`).
    pub ansi_quotes: bool,
    /// Whether MySQL compares text without case and trailing blanks by default (collations that end with `_ci`).
    pub ignores_case: bool,
    /// Whether a count is of rows found, as isoscope's drivers ask for, or of rows changed, MySQL's default.
    pub counts_found: bool,
    /// Whether SQLite enforces foreign keys (`PRAGMA foreign_keys`).
    pub foreign_keys: bool,
}

impl Settings {
    /// The default settings of a dialect.
    pub const fn new(dialect: Dialect) -> Settings {
        Settings {
            dialect,
            is_mariadb: false,
            is_strict: true,
            divides_by_zero_fail: true,
            div_precision_increment: 4,
            pipes_concat: false,
            ansi_quotes: false,
            ignores_case: true,
            counts_found: true,
            foreign_keys: true,
        }
    }

    /// The default settings of a vendor.
    pub const fn of(vendor: Vendor) -> Option<Settings> {
        match Dialect::of(vendor) {
            Some(dialect) => {
                let mut settings = Settings::new(dialect);
                settings.is_mariadb = matches!(vendor, Vendor::MariaDb);
                Some(settings)
            }
            None => None,
        }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        self.dialect == Dialect::Postgres
    }

    pub(crate) fn is_mysql(&self) -> bool {
        self.dialect == Dialect::MySql
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.dialect == Dialect::Sqlite
    }
}

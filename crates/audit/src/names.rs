//! What a log must have right before it can accuse a database: its own SQL.
//!
//! A statement that the database answered with rows or a count was valid there. If it cannot be parsed here, has another number of
//! parameters than its text, or names what no statement of the log creates, then the log is incomplete or this program does
//! not know the SQL. Neither is the database's fault, so the log is refused, with the entry.
//!
//! **Definition.** The *catalogues* of a log are those after each of its definitions, in the order of the lines, the schema first. A
//! statement *has its names* if it finds all of them in at least one catalogue. One that has its names and nevertheless succeeded
//! where they did not exist is left to the audit.

use isoscope_log::{Class, Entry, Log, Scalar};
use isoscope_sql::{
    Catalog, Change, ErrorClass, Kind, Sarg, Settings, Statement, TableId, View, Visit, execute_at,
};

use rustc_hash::FxHashSet;

use crate::error::AuditError;
use crate::text;

/// More catalogues than this are not kept: names are not checked then.
const MOST: usize = 64;

/// The catalogues of a log; `None` if there are too many.
struct Names {
    catalogs: Option<Vec<Catalog>>,
}

impl Names {
    fn of(log: &Log, settings: &Settings) -> Names {
        let of_schema = log.header.schema.iter().map(|text| (text.as_str(), &[][..]));
        let of_entries = log.entries.iter().map(|entry| (entry.sql.as_str(), &entry.params[..]));
        let mut catalogs = vec![Catalog::new(settings.clone())];
        for (text, params) in of_schema.chain(of_entries).filter(|line| defines(line.0)) {
            let newest = &catalogs[catalogs.len() - 1];
            let Some(next) = after(newest, text, params) else { continue };
            if catalogs.len() == MOST {
                return Names { catalogs: None };
            }
            catalogs.push(next);
        }
        catalogs.reverse();
        Names { catalogs: Some(catalogs) }
    }

    /// Checks an entry whose text is parsed.
    ///
    /// # Errors
    ///
    /// If the log cannot be audited.
    fn check(&self, statement: &Statement, number: usize, entry: &Entry) -> Result<(), AuditError> {
        let is_evaluated = matches!(
            statement.kind(),
            Kind::Query { .. } | Kind::Insert | Kind::Update | Kind::Delete | Kind::Call
        );
        if !is_evaluated {
            return Ok(());
        }
        let (expected, found) = (statement.parameters(), entry.params.len());
        if expected != found {
            let message = format!("the statement has {expected} parameters and the log has {found} values");
            return Err(AuditError::new(Some(number), message));
        }
        match self.missing(statement, &entry.params) {
            Some(why) => {
                let message = format!(
                    "the database understood the statement, but no statement of the log creates this: {why}"
                );
                Err(AuditError::new(Some(number), message))
            }
            None => Ok(()),
        }
    }

    /// The name that the newest catalogue lacks, if every other one lacks some name too.
    fn missing(&self, statement: &Statement, params: &[Scalar]) -> Option<String> {
        let mut first = None;
        for catalog in self.catalogs.as_ref()? {
            let empty = Empty { catalog };
            match execute_at(statement, params, &empty, &empty, 0) {
                Err(error) if error.class == ErrorClass::Name => {
                    first.get_or_insert(error.message);
                }
                _ => return None,
            }
        }
        first
    }
}

/// Whether the database understood an entry: it succeeded, or only its values were wrong.
fn was_accepted(entry: &Entry) -> bool {
    entry.answer.as_ref().err().is_none_or(|failure| failure.class == Class::Constraint)
}

/// Checks all entries of a log.
///
/// # Errors
///
/// If the log cannot be audited.
pub(crate) fn check(log: &Log) -> Result<(), AuditError> {
    let Some(settings) = Settings::of(log.header.vendor) else { return Ok(()) };
    let names = Names::of(log, &settings);
    let mut checked: FxHashSet<(&str, usize)> = FxHashSet::default();
    for (number, entry) in log.entries.iter().enumerate() {
        // What is checked depends on the text and the number of values alone.
        if !was_accepted(entry) || !checked.insert((&entry.sql, entry.params.len())) {
            continue;
        }
        match Statement::parse(settings.dialect, &entry.sql) {
            Ok(statement) => names.check(&statement, number, entry)?,
            Err(error) if text::kind_of(&entry.sql).is_sql() => {
                let message =
                    format!("the database understood the statement, but it is not understood here: {error}");
                return Err(AuditError::new(Some(number), message));
            }
            Err(_) => {}
        }
    }
    Ok(())
}

fn defines(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    ["CREATE", "ALTER", "DROP"].iter().any(|word| first.eq_ignore_ascii_case(word))
}

/// The catalogue after a definition; `None` if it does not change it.
fn after(catalog: &Catalog, text: &str, params: &[Scalar]) -> Option<Catalog> {
    let statement = Statement::parse(catalog.settings().dialect, text).ok()?;
    let empty = Empty { catalog };
    let effect = execute_at(&statement, params, &empty, &empty, 0).ok()?;
    let mut next = catalog.clone();
    let mut changes = false;
    for change in effect.changes {
        if let Change::Catalog(change) = change {
            next.apply(&change);
            changes = true;
        }
    }
    changes.then_some(next)
}

/// Tables without rows.
struct Empty<'a> {
    catalog: &'a Catalog,
}

impl View for Empty<'_> {
    fn catalog(&self) -> &Catalog {
        self.catalog
    }

    fn scan(&self, _: TableId, _: &Sarg, _: &mut Visit<'_>) {}
}

//! Statements evaluated: the only module that calls the evaluator of SQL.
//!
//! A text is parsed once. What a statement reads is in one view, and what it locks and checks constraints against in another.
//! In PostgreSQL at *read committed*, a row that matches in the first and is newer in the second is evaluated again on the
//! newer version.
//!
//! [`Plans::footprint`] says what a statement may write, from its text and parameters alone: it is evaluated over tables
//! without rows, and what it asks of its target says which rows it can change.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use isoscope_log::{Answer, Entry};
use isoscope_sql::{
    Catalog, Change as Made, Dialect, Doubt, Effect as Done, ErrorClass, Match, Reply, RowId, Rows, Sarg,
    Settings, SqlError, Statement, TableId, Value, View, Visit, answers_match, execute_at, recheck_at,
    targets,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::AuditError;
use crate::problem::{NONE, Problem, StatementId};
use crate::seen::Seen;
use crate::slice::Footprint;
use crate::store::{INITIAL, Reader, Store, Version};
use crate::text::{self, Kind};

/// What a statement does.
pub(crate) struct Effect {
    pub(crate) reply: Result<Reply, SqlError>,
    pub(crate) changes: Vec<Made>,
    /// Rows that it locks and does not change.
    pub(crate) locks: Vec<(TableId, RowId)>,
    pub(crate) doubts: Vec<Doubt>,
    /// Whether it only returns rows.
    pub(crate) is_query: bool,
}

impl Effect {
    fn of(result: Result<Done, SqlError>, is_query: bool) -> Effect {
        match result {
            Ok(done) => Effect {
                reply: Ok(done.reply),
                changes: done.changes,
                locks: Vec::new(),
                doubts: done.doubts,
                is_query,
            },
            Err(error) => Effect {
                reply: Err(error),
                changes: Vec::new(),
                locks: Vec::new(),
                doubts: Vec::new(),
                is_query,
            },
        }
    }

    /// Whether a correct database may fail instead.
    pub(crate) fn may_fail(&self) -> bool {
        self.doubts.contains(&Doubt::MayFail)
    }

    /// Whether the changes depend on a free choice of the database.
    pub(crate) fn is_free(&self) -> bool {
        self.doubts.contains(&Doubt::Choice) && !self.changes.is_empty()
    }
}

/// Parsed statements; see the module.
pub(crate) struct Plans {
    settings: Settings,
    statements: Vec<Statement>,
    /// Columns that some UPDATE sets, in lower case; `None` if that is not known.
    changing: Option<FxHashSet<String>>,
    footprints: RefCell<FxHashMap<StatementId, Footprint>>,
    rechecks: bool,
    holes: Cell<u32>,
}

/// How many footprints are remembered.
const REMEMBERED: usize = 1 << 17;

impl Plans {
    fn new(problem: &Problem<'_>, settings: Settings) -> Plans {
        let mut changing = Some(FxHashSet::default());
        let mut statements = Vec::with_capacity(problem.texts.len());
        for text in &problem.texts {
            match (&mut changing, text::set_words(text)) {
                (Some(all), Some(words)) => all.extend(words),
                _ => changing = None,
            }
            statements.push(parse(settings.dialect, text));
        }
        Plans {
            settings,
            statements,
            changing,
            footprints: RefCell::default(),
            rechecks: problem.model.snapshots_statements(),
            holes: Cell::new(0),
        }
    }

    /// Executes a statement alone.
    pub(crate) fn execute(&self, text: u32, entry: &Entry, is_query: bool, view: &dyn View) -> Effect {
        let statement = &self.statements[text as usize];
        Effect::of(execute_at(statement, &entry.params, view, view, self.holes.get()), is_query)
    }

    /// Evaluates a statement: what it reads is in `snapshot`, what it locks and checks in `newest`.
    pub(crate) fn evaluate(
        &self,
        text: u32,
        entry: &Entry,
        is_query: bool,
        snapshot: &Seen<'_, '_>,
        newest: &Seen<'_, '_>,
    ) -> Effect {
        let statement = &self.statements[text as usize];
        let result = execute_at(statement, &entry.params, snapshot, newest, self.holes.get());
        if let Ok(done) = &result {
            self.holes.set(done.next_hole);
        }
        let locks = matches!(statement.kind(), isoscope_sql::Kind::Query { locks: true });
        if locks {
            return self.lock(statement, entry, result, snapshot, newest);
        }
        if self.rechecks
            && snapshot.position() != newest.position()
            && let Some(effect) = self.recheck(statement, entry, is_query, &result, snapshot, newest)
        {
            return effect;
        }
        Effect::of(result, is_query)
    }

    /// A query that locks rows.
    fn lock(
        &self,
        statement: &Statement,
        entry: &Entry,
        result: Result<Done, SqlError>,
        snapshot: &Seen<'_, '_>,
        newest: &Seen<'_, '_>,
    ) -> Effect {
        let rechecked =
            self.rechecks.then(|| self.recheck(statement, entry, true, &result, snapshot, newest));
        let mut effect = rechecked.flatten().unwrap_or_else(|| Effect::of(result, true));
        if let Ok((table, rows)) = targets(statement, &entry.params, snapshot) {
            effect.locks = rows.into_iter().map(|row| (table, row)).collect();
        }
        effect
    }

    /// Evaluates rows again that have a newer version; `None` if there are none.
    fn recheck(
        &self,
        statement: &Statement,
        entry: &Entry,
        is_query: bool,
        result: &Result<Done, SqlError>,
        snapshot: &Seen<'_, '_>,
        newest: &Seen<'_, '_>,
    ) -> Option<Effect> {
        let is_moved = |table: TableId, row: RowId| !snapshot.sees_the_same(newest, table, row);
        if let Ok(done) = result
            && !is_query
        {
            let moved = done.changes.iter().any(|change| match change {
                Made::Update(table, row, _) | Made::Delete(table, row) => is_moved(*table, *row),
                Made::Insert(..) | Made::Catalog(_) => false,
            });
            if !moved {
                return None;
            }
        }
        let (table, rows) = targets(statement, &entry.params, snapshot).ok()?;
        if !rows.iter().any(|&row| is_moved(table, row)) {
            return None;
        }
        Some(self.rows_again(statement, entry, is_query, (table, rows), snapshot, newest))
    }

    fn rows_again(
        &self,
        statement: &Statement,
        entry: &Entry,
        is_query: bool,
        (table, rows): (TableId, Vec<RowId>),
        snapshot: &Seen<'_, '_>,
        newest: &Seen<'_, '_>,
    ) -> Effect {
        let mut whole: Option<Done> = None;
        for row in rows {
            let Some(values) = newest.row(table, row) else { continue };
            let part =
                recheck_at(statement, &entry.params, [snapshot, newest], row, &values, self.holes.get());
            let part = match part {
                Ok(part) => part,
                Err(error) => return Effect::of(Err(error), is_query),
            };
            self.holes.set(part.next_hole);
            match &mut whole {
                None => whole = Some(part),
                Some(whole) => {
                    whole.changes.extend(part.changes);
                    whole.doubts.extend(part.doubts);
                    match (&mut whole.reply, part.reply) {
                        (Reply::Count(count), Reply::Count(more)) => *count += more,
                        (Reply::Rows(rows), Reply::Rows(more))
                            if rows.take.is_none() && rows.skip == 0 && rows.ranks.is_none() =>
                        {
                            rows.rows.extend(more.rows);
                        }
                        _ => {
                            let why =
                                "a locking query with ORDER BY or LIMIT, of rows that changed".to_owned();
                            let error = SqlError::new(ErrorClass::Unsupported, why);
                            return Effect::of(Err(error), is_query);
                        }
                    }
                }
            }
        }
        let nothing = if is_query { Reply::Rows(Rows::default()) } else { Reply::Count(0) };
        let nothing =
            Done { reply: nothing, changes: Vec::new(), doubts: Vec::new(), next_hole: self.holes.get() };
        Effect::of(Ok(whole.unwrap_or(nothing)), is_query)
    }

    /// The rows that a plain INSERT tries to insert.
    pub(crate) fn attempted(&self, problem: &Problem<'_>, store: &Store, id: StatementId) -> Vec<Made> {
        if !problem.facts(id).is_plain_insert {
            return Vec::new();
        }
        let probe = Probe { catalog: store.newest_catalog(), scans: RefCell::default() };
        let statement = &self.statements[problem.statement(id).text as usize];
        execute_at(statement, &problem.entry(id).params, &probe, &probe, 0)
            .map(|done| done.changes)
            .unwrap_or_default()
    }

    /// Why a logged answer does not match.
    pub(crate) fn difference(&self, effect: &Effect, expected: &Reply, logged: &Answer) -> Option<String> {
        match answers_match(expected, logged, &effect.doubts, &self.settings) {
            Match::Yes | Match::YesButSpelling(_) => None,
            Match::No(why) => Some(why),
        }
    }

    /// What a statement may write.
    pub(crate) fn footprint(&self, problem: &Problem<'_>, store: &Store, id: StatementId) -> Footprint {
        if let Some(known) = self.footprints.borrow().get(&id) {
            return known.clone();
        }
        let footprint = self.find_footprint(problem, store, id);
        let mut all = self.footprints.borrow_mut();
        if all.len() >= REMEMBERED {
            all.clear();
        }
        all.insert(id, footprint.clone());
        footprint
    }

    fn find_footprint(&self, problem: &Problem<'_>, store: &Store, id: StatementId) -> Footprint {
        let (entry, facts) = (problem.entry(id), problem.facts(id));
        let catalog = store.newest_catalog();
        let Some(table) = facts.target.as_deref().and_then(|name| catalog.table(name)) else {
            return Footprint::Anything;
        };
        // Cascades write other tables.
        if catalog.tables().any(|table| !table.foreign_keys.is_empty()) {
            return Footprint::Anything;
        }
        let nothing = Footprint::Rows(table.id, Vec::new());
        let Some(changing) = &self.changing else { return nothing };
        if !facts.is_plain_write {
            return nothing;
        }
        let fixed = |column: usize| {
            table.columns.get(column).is_some_and(|column| !changing.contains(&column.name.to_lowercase()))
        };
        let probe = Probe { catalog, scans: RefCell::default() };
        let statement = &self.statements[problem.statement(id).text as usize];
        let effect = execute_at(statement, &entry.params, &probe, &probe, 0);
        if let Ok(effect) = &effect
            && let [Made::Insert(_, values)] = &effect.changes[..]
        {
            let known = |value: &Value| !matches!(value, Value::Hole(_));
            let pairs = values.iter().cloned().enumerate();
            let pairs = pairs.filter(|(column, value)| fixed(*column) && known(value));
            return Footprint::Rows(table.id, pairs.collect());
        }
        if facts.is_plain_insert {
            return nothing;
        }
        let scans = probe.scans.borrow();
        let Some((_, sarg)) = scans.iter().find(|scan| scan.0 == table.id) else { return nothing };
        Footprint::Rows(table.id, sarg.equal.iter().filter(|pair| fixed(pair.0)).cloned().collect())
    }

    /// Whether a statement that is answered with one row can only have written one certain key.
    pub(crate) fn is_point(&self, problem: &Problem<'_>, store: &Store, id: StatementId) -> bool {
        let Footprint::Rows(table, fixed) = self.footprint(problem, store, id) else { return false };
        let definition = store.newest_catalog().table_of(table);
        let has = |column: &usize| fixed.iter().any(|pair| pair.0 == *column);
        definition.and_then(|table| table.primary_key()).is_some_and(|key| key.columns.iter().all(has))
    }
}

/// Parses a text; what is not understood may do anything. `names.rs` has refused it if it succeeded.
fn parse(dialect: Dialect, text: &str) -> Statement {
    if !text::kind_of(text).is_sql() {
        return Statement::unsupported(text, "it is not a query".to_owned());
    }
    Statement::parse(dialect, text).unwrap_or_else(|error| Statement::unsupported(text, error.to_string()))
}

/// Tables without rows; notes what is asked for.
struct Probe<'a> {
    catalog: &'a Catalog,
    scans: RefCell<Vec<(TableId, Sarg)>>,
}

impl View for Probe<'_> {
    fn catalog(&self) -> &Catalog {
        self.catalog
    }

    fn scan(&self, table: TableId, sarg: &Sarg, _: &mut Visit<'_>) {
        self.scans.borrow_mut().push((table, sarg.clone()));
    }
}

/// The initial state: the schema and what the loader did.
///
/// # Errors
///
/// If a statement of them cannot be executed.
pub(crate) fn initial(problem: &Problem<'_>) -> Result<(Store, Plans), AuditError> {
    let vendor = problem.log.header.vendor;
    let Some(settings) = Settings::of(vendor) else {
        return Err(AuditError::new(None, format!("{vendor} has no SQL")));
    };
    let mut store = Store::new(Catalog::new(settings.clone()));
    for sql in &problem.log.header.schema {
        run_first(problem, &mut store, sql, &[]).map_err(|error| {
            AuditError::new(None, format!("the schema cannot be created: {error}: {sql}"))
        })?;
    }
    for &place in &problem.loader {
        let entry = &problem.log.entries[place as usize];
        let kind = text::kind_of(&entry.sql);
        if entry.answer.is_err() || !matches!(kind, Kind::Read | Kind::Write) {
            continue;
        }
        run_first(problem, &mut store, &entry.sql, &entry.params).map_err(|error| {
            AuditError::new(
                Some(place as usize),
                format!("the loader's statement cannot be executed: {error}"),
            )
        })?;
    }
    let plans = Plans::new(problem, settings);
    Ok((store, plans))
}

/// Executes a statement of the schema or the loader.
fn run_first(
    problem: &Problem<'_>,
    store: &mut Store,
    sql: &str,
    params: &[isoscope_log::Scalar],
) -> Result<(), String> {
    let dialect = store.newest_catalog().settings().dialect;
    let statement = Statement::parse(dialect, sql).map_err(|error| error.to_string())?;
    let effect = {
        // It sees what is there as if another transaction had committed it.
        let reader = Reader { txn: INITIAL - 1, statement: NONE, at: 1 };
        let seen = Seen::new(problem, store, reader, (0, 0), NONE);
        execute_at(&statement, params, &seen, &seen, 0).map_err(|error| error.to_string())?
    };
    for change in effect.changes {
        let (table, row, values): (TableId, u32, Option<Arc<[Value]>>) = match change {
            Made::Insert(table, values) => (table, store.new_row(table), Some(values)),
            Made::Update(table, row, values) => (table, row.0 as u32, Some(values)),
            Made::Delete(table, row) => (table, row.0 as u32, None),
            Made::Catalog(change) => {
                let mut catalog = store.newest_catalog().clone();
                catalog.apply(&change);
                store.push_catalog(INITIAL, NONE, 0, catalog);
                continue;
            }
        };
        let version =
            Version { writer: INITIAL, statement: NONE, values, commit: 0, undone: NONE, forced: true };
        store.push(table, row, version);
    }
    Ok(())
}

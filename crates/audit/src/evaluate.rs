//! Statements evaluated: the only module that calls the evaluator of SQL.
//!
//! A statement is bound once per text and catalogue. [`Plans::footprint`] says what a statement may write, from its text and
//! parameters alone: it is evaluated over tables without rows, and what it asks of its target says which rows it can change.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use isoscope_log::Entry;
use isoscope_sql::{
    Catalog, CatalogChange, Dialect, RowId, Sarg, Settings, SqlError, TableId, Value, View, Visit, mini,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::AuditError;
use crate::problem::{NONE, Problem, StatementId};
use crate::seen::Seen;
use crate::slice::Footprint;
use crate::store::{INITIAL, Reader, Store, Version};
use crate::text;

/// A change of the database.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Insert(TableId, Arc<[Value]>),
    Update(TableId, RowId, Arc<[Value]>),
    Delete(TableId, RowId),
    /// A row is locked and does not change.
    Lock(TableId, RowId),
    Catalog(CatalogChange),
}

/// What a statement does.
pub(crate) struct Effect {
    pub(crate) reply: Result<mini::Reply, SqlError>,
    pub(crate) changes: Vec<Change>,
    /// Whether it only returns rows.
    pub(crate) is_query: bool,
}

impl Effect {
    /// Whether a correct database may fail instead.
    pub(crate) fn may_fail(&self) -> bool {
        false
    }

    /// Whether the changes depend on a free choice of the database.
    pub(crate) fn is_free(&self) -> bool {
        false
    }
}

/// Bound statements; see the module.
pub(crate) struct Plans {
    /// Columns that some UPDATE sets, in lower case; `None` if that is not known.
    changing: Option<FxHashSet<String>>,
    footprints: RefCell<FxHashMap<StatementId, Footprint>>,
    rechecks: bool,
    refused: Cell<bool>,
}

/// How many footprints are remembered.
const REMEMBERED: usize = 1 << 17;

impl Plans {
    fn new(problem: &Problem<'_>) -> Plans {
        let mut changing = Some(FxHashSet::default());
        for text in &problem.texts {
            match (&mut changing, text::set_words(text)) {
                (Some(all), Some(words)) => all.extend(words),
                _ => changing = None,
            }
        }
        Plans {
            changing,
            footprints: RefCell::default(),
            rechecks: problem.model.snapshots_statements(),
            refused: Cell::new(false),
        }
    }

    /// Evaluates a statement: what it reads is in `snapshot`, what it locks and checks in `newest`.
    pub(crate) fn evaluate(
        &self,
        _catalog: usize,
        entry: &Entry,
        snapshot: &Seen<'_, '_>,
        newest: &Seen<'_, '_>,
    ) -> Effect {
        self.run(entry, snapshot, newest)
    }

    fn run(&self, entry: &Entry, snapshot: &dyn View, newest: &dyn View) -> Effect {
        let out = mini::run(&entry.sql, &entry.params, snapshot, newest, self.rechecks);
        let changes = out.changes.into_iter().map(|change| match change {
            mini::Change::Insert(table, values) => Change::Insert(table, values),
            mini::Change::Update(table, row, values) => Change::Update(table, row, values),
            mini::Change::Delete(table, row) => Change::Delete(table, row),
        });
        Effect { reply: out.reply, changes: changes.collect(), is_query: text::is_query(&entry.sql) }
    }

    /// Evaluates a statement for what its views note.
    pub(crate) fn look(&self, catalog: usize, entry: &Entry, snapshot: &Seen<'_, '_>, newest: &Seen<'_, '_>) {
        let _ = self.evaluate(catalog, entry, snapshot, newest);
    }

    /// Why the log cannot be audited, if a statement was not understood.
    pub(crate) fn refusal(&self) -> Option<AuditError> {
        self.refused.get().then(|| AuditError::new(None, "a statement was not understood"))
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
        let entry = problem.entry(id);
        let catalog = store.newest_catalog();
        let Some(table) = text::target_of(&entry.sql).and_then(|name| catalog.table(&name)) else {
            return Footprint::Anything;
        };
        let nothing = Footprint::Rows(table.id, Vec::new());
        let Some(changing) = &self.changing else { return nothing };
        if !text::is_plain_write(&entry.sql) {
            return nothing;
        }
        let fixed = |column: usize| {
            table.columns.get(column).is_some_and(|column| !changing.contains(&column.name.to_lowercase()))
        };
        let probe = Probe { catalog, scans: RefCell::default() };
        let effect = self.run(entry, &probe, &probe);
        if let [Change::Insert(_, values)] = &effect.changes[..] {
            let known = |value: &Value| !matches!(value, Value::Hole(_));
            let pairs =
                values.iter().cloned().enumerate().filter(|(column, value)| fixed(*column) && known(value));
            return Footprint::Rows(table.id, pairs.collect());
        }
        if text::is_plain_insert(&entry.sql) {
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

/// Why a logged answer does not match.
pub(crate) fn difference(expected: &mini::Reply, logged: &isoscope_log::Answer) -> Option<String> {
    mini::matches(expected, logged)
}

/// The initial state: the schema and what the loader did.
///
/// # Errors
///
/// If a statement of them cannot be executed.
pub(crate) fn initial(problem: &Problem<'_>) -> Result<(Store, Plans), AuditError> {
    let vendor = problem.log.header.vendor;
    let Some(dialect) = Dialect::of(vendor) else {
        return Err(AuditError::new(None, format!("{vendor} has no SQL")));
    };
    let mut catalog = Catalog::new(Settings::new(dialect));
    for statement in &problem.log.header.schema {
        mini::create(&mut catalog, statement);
    }
    let mut store = Store::new(catalog);
    let plans = Plans::new(problem);
    for (number, &place) in problem.loader.iter().enumerate() {
        let entry = &problem.log.entries[place as usize];
        if entry.answer.is_err() || !text::kind_of(&entry.sql).is_sql() {
            continue;
        }
        let effect = {
            let reader = Reader { txn: INITIAL, statement: NONE, at: 1 };
            let seen = Seen::new(problem, &store, reader, (0, 0), NONE);
            plans.evaluate(0, entry, &seen, &seen)
        };
        if let Err(error) = &effect.reply {
            return Err(AuditError::new(Some(place as usize), error.message.clone()));
        }
        load(&mut store, number as StatementId, effect);
    }
    Ok((store, plans))
}

/// Applies what a statement of the loader does.
fn load(store: &mut Store, statement: StatementId, effect: Effect) {
    for change in effect.changes {
        let (table, row, values) = match change {
            Change::Insert(table, values) => (table, store.new_row(table), Some(values)),
            Change::Update(table, row, values) => (table, row.0 as u32, Some(values)),
            Change::Delete(table, row) => (table, row.0 as u32, None),
            Change::Lock(..) => continue,
            Change::Catalog(change) => {
                let mut catalog = store.newest_catalog().clone();
                catalog.apply(&change);
                store.push_catalog(INITIAL, statement, 0, catalog);
                continue;
            }
        };
        let version = Version { writer: INITIAL, statement, values, commit: 0, undone: NONE, forced: true };
        store.push(table, row, version);
    }
}

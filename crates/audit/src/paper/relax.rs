//! What a row can ever be: an upper bound for all models and all orders.
//!
//! The bound drops orders, snapshots and the connection between reads: each statement may read each row in any image that the row can
//! have. The images are the least fixpoint of the statements, with as many rounds as there are transactions that write: an image that is the
//! result of `n` transactions needs `n` of them. If a transaction cannot give its answers with these images, nothing explains it.
//!
//! With *any written*, aborted transactions and the writes before the last of a transaction count as well.

use std::collections::BTreeMap;
use std::rc::Rc;

use isoscope_sql::{Catalog, Change, Kind, TableId, execute};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::AuditError;
use crate::paper::execution::{Fit, Statements, Wanted, fit, wanted_of};
use crate::paper::guard::Guard;
use crate::paper::rows::{Alternative, Image, Place, Rows, Summary, Version, nothing};
use crate::paper::transactions::{Transactions, Txn};
use crate::paper::view::Choices;

/// What the bound says about a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relaxed {
    /// Each transaction can give its answers within the bound.
    Possible,
    /// One cannot.
    Impossible,
    /// A limit was reached.
    Unknown,
}

/// Images that a row may have.
type Images = FxHashSet<Image>;

struct Bound {
    rows: Rows,
    catalog: Catalog,
    images: BTreeMap<Place, Images>,
    /// The rows that statements inserted: the same in each round.
    born: FxHashMap<(usize, TableId, usize), u32>,
    /// The entries that insert rows.
    inserting: FxHashSet<usize>,
    cap: usize,
    any_written: bool,
}

/// Bounds what the first `required` transactions can answer.
pub(crate) fn relax(
    statements: &mut Statements<'_>,
    transactions: &Transactions,
    classes: &[u32],
    required: usize,
    cap: usize,
    any_written: bool,
    stop: &dyn Fn() -> bool,
) -> Result<Relaxed, AuditError> {
    let (rows, catalog) = statements.load(&transactions.loader)?;
    let mut bound = Bound {
        rows,
        catalog,
        images: BTreeMap::new(),
        born: FxHashMap::default(),
        inserting: FxHashSet::default(),
        cap,
        any_written,
    };
    let aborted: &[Txn] = if any_written { &transactions.aborted } else { &[] };
    let all: Vec<(&Txn, bool)> = transactions
        .all
        .iter()
        .enumerate()
        .map(|(number, txn)| (txn, number < required && txn.is_certain))
        .chain(aborted.iter().map(|txn| (txn, false)))
        .collect();
    let mut writers = vec![true; all.len()];
    for round in 0.. {
        let mut is_grown = false;
        // What a class of transactions without INSERTs writes.
        let mut known: FxHashMap<(u32, bool), bool> = FxHashMap::default();
        let mut images: Vec<(Place, Image)> = Vec::new();
        let mut is_possible = true;
        for (number, (txn, counts)) in all.iter().enumerate() {
            if stop() {
                return Ok(Relaxed::Unknown);
            }
            let class = classes.get(number).map(|&class| (class, *counts));
            if let Some(&writes) = class.and_then(|class| known.get(&class)) {
                writers[number] = writes;
                continue;
            }
            let written = bound.transaction(statements, txn, *counts)?;
            let has_inserts = txn.entries.iter().any(|&entry| bound.inserting.contains(&entry));
            if let (Some(class), Some(written), false) = (class, &written, has_inserts) {
                known.insert(class, matches!(written, Written::Images(images) if !images.is_empty()));
            }
            match written {
                None => return Ok(Relaxed::Unknown),
                Some(Written::Impossible) => {
                    writers[number] = false;
                    is_possible &= !counts;
                }
                Some(Written::Images(found)) => {
                    writers[number] = !found.is_empty();
                    images.extend(found);
                }
            }
        }
        let most = writers.iter().filter(|&&writes| writes).count();
        if round < most {
            for (place, image) in images {
                is_grown |= bound.add(place, image);
            }
        }
        if !is_grown {
            return Ok(if is_possible { Relaxed::Possible } else { Relaxed::Impossible });
        }
    }
    Ok(Relaxed::Unknown)
}

/// What a transaction can write.
enum Written {
    Images(Vec<(Place, Image)>),
    /// It cannot give its answers.
    Impossible,
}

impl Bound {
    fn summary(&self, place: Place) -> Summary {
        self.rows.versions(place).last().map_or_else(nothing, |version| version.images.clone())
    }

    /// Adds an image that a row can have; whether it is new.
    fn add(&mut self, place: Place, image: Image) -> bool {
        let current = self.summary(place);
        let images = self
            .images
            .entry(place)
            .or_insert_with(|| current.iter().map(|alternative| alternative.image.clone()).collect());
        if !images.insert(image.clone()) {
            return false;
        }
        let more = Alternative { image, guard: Guard::True };
        let images: Summary = current.iter().cloned().chain([more]).collect();
        self.rows.replace(place, Version { state: 0, images, readable: None });
        true
    }

    fn transaction(
        &mut self,
        statements: &mut Statements<'_>,
        txn: &Txn,
        counts: bool,
    ) -> Result<Option<Written>, AuditError> {
        let mut own: BTreeMap<Place, Images> = BTreeMap::new();
        let mut all: Vec<(Place, Image)> = Vec::new();
        let mut catalog = self.catalog.clone();
        for &entry in &txn.entries {
            let line = &statements.log.entries[entry];
            let statement = match statements.get(entry) {
                Err(_) if line.answer.is_err() => continue,
                other => other?,
            };
            if matches!(
                statement.kind(),
                Kind::Begin
                    | Kind::Commit
                    | Kind::Rollback
                    | Kind::Set
                    | Kind::Savepoint(_)
                    | Kind::Release(_)
                    | Kind::RollbackTo(_)
            ) {
                continue;
            }
            let Some(wanted) = wanted_of(line, !counts, !txn.is_certain && entry == txn.last) else {
                continue;
            };
            let found = self.statement(&statement, line, &wanted, &statements.settings, &own, &catalog);
            let Some(runs) = found else { return Ok(None) };
            if runs.is_empty() {
                return Ok(Some(Written::Impossible));
            }
            for changes in runs {
                let mut inserted: FxHashMap<TableId, usize> = FxHashMap::default();
                for change in changes {
                    let Some((place, image)) = self.place(entry, change, &mut inserted, &mut catalog) else {
                        continue;
                    };
                    if self.any_written {
                        all.push((place, image.clone()));
                    }
                    self.rows.note(place, &image);
                    own.entry(place).or_default().insert(image);
                }
            }
        }
        self.catalog = catalog;
        for (place, images) in own {
            all.extend(images.into_iter().map(|image| (place, image)));
        }
        Ok(Some(Written::Images(all)))
    }

    /// The row that a change concerns, and its image.
    fn place(
        &mut self,
        entry: usize,
        change: Change,
        inserted: &mut FxHashMap<TableId, usize>,
        catalog: &mut Catalog,
    ) -> Option<(Place, Image)> {
        match change {
            Change::Insert(table, values) => {
                self.inserting.insert(entry);
                let nth = inserted.entry(table).or_insert(0);
                let row = *self.born.entry((entry, table, *nth)).or_insert_with(|| self.rows.new_row(table));
                *nth += 1;
                Some(((table, row), Some(values)))
            }
            Change::Update(table, row, values) => Some(((table, row.0 as u32), Some(values))),
            Change::Delete(table, row) => Some(((table, row.0 as u32), None)),
            Change::Catalog(change) => {
                // A table keeps its number in later rounds.
                let is_known = match &change {
                    isoscope_sql::CatalogChange::CreateTable(table) => catalog.table(&table.name).is_some(),
                    isoscope_sql::CatalogChange::DropTable(_) => true,
                    _ => false,
                };
                if !is_known {
                    catalog.apply(&change);
                }
                None
            }
        }
    }

    /// The changes of the runs of a statement that give its answer; `None` if a limit was reached.
    fn statement(
        &mut self,
        statement: &isoscope_sql::Statement,
        line: &isoscope_log::Entry,
        wanted: &Wanted<'_>,
        settings: &isoscope_sql::Settings,
        own: &BTreeMap<Place, Images>,
        catalog: &Catalog,
    ) -> Option<Vec<Vec<Change>>> {
        let reader = |place: Place| -> Summary {
            let outside = self.summary(place);
            let Some(own) = own.get(&place) else { return outside };
            let mut images: Vec<Alternative> = outside.to_vec();
            for image in own {
                if !images.iter().any(|other| other.image == *image) {
                    images.push(Alternative { image: image.clone(), guard: Guard::True });
                }
            }
            Rc::from(images)
        };
        let view = Choices::new(catalog, &self.rows, &reader);
        let mut runs = Vec::new();
        for number in 0.. {
            if number >= self.cap {
                return None;
            }
            view.restart();
            let result = execute(statement, &line.params, &view, 0);
            match &result {
                // The table may exist already in the bound.
                Err(_) if statement.kind() == &Kind::Definition => runs.push(Vec::new()),
                Err(error) if !error.class.is_answer() => return None,
                _ => match fit(&result, wanted, settings) {
                    Fit::Yes => runs.push(result.map(|effect| effect.changes).unwrap_or_default()),
                    Fit::No => {}
                    Fit::Open => return None,
                },
            }
            if !view.advance() {
                break;
            }
        }
        Some(runs)
    }
}

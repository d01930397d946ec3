//! Rows, and what they can be in each state.
//!
//! A row has *versions*: the states whose transaction may have written it. A version lists the row's possible images in its state, each
//! with a guard; a row that may not have been written in that state also has the images of the state before. Exactly
//! one of the images of a version is right in an execution. A row does not exist before its first version.
//!
//! Each column that a statement compared with `=` has an index: the rows that ever had a value in it. Entries are never
//! removed, because a scan tests each row again.

use std::rc::Rc;

use isoscope_sql::{Row, Sarg, TableId, Value};
use rustc_hash::FxHashMap;

use crate::paper::guard::Guard;

/// The values of a row; `None` if it does not exist.
pub(crate) type Image = Option<Row>;

/// A row of a table.
pub(crate) type Place = (TableId, u32);

/// A possible image.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Alternative {
    pub(crate) image: Image,
    pub(crate) guard: Guard,
}

/// Possible images, all different.
pub(crate) type Summary = Rc<[Alternative]>;

/// What a row can be from a state on.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) state: u32,
    pub(crate) images: Summary,
    /// The images of all states so far, if the model mixes states.
    pub(crate) readable: Option<Summary>,
}

#[derive(Default)]
struct Table {
    rows: Vec<Vec<Version>>,
    /// For each column that has an index: the rows that had a value.
    indexes: Vec<(usize, FxHashMap<Value, Vec<u32>>)>,
}

/// Tables with fewer rows are scanned.
const SMALL: usize = 8;

/// The rows of all tables.
#[derive(Default)]
pub(crate) struct Rows {
    tables: FxHashMap<TableId, Table>,
    /// The rows that got a version, in order, to take them back.
    pushed: Vec<Place>,
}

/// The summary of a row that does not exist.
pub(crate) fn nothing() -> Summary {
    Rc::new([Alternative { image: None, guard: Guard::True }])
}

impl Rows {
    /// The versions of a row.
    pub(crate) fn versions(&self, (table, row): Place) -> &[Version] {
        self.tables.get(&table).and_then(|table| table.rows.get(row as usize)).map_or(&[], Vec::as_slice)
    }

    /// What a row can be in a state.
    pub(crate) fn at(&self, place: Place, state: u32) -> Summary {
        let version = self.versions(place).iter().rev().find(|version| version.state <= state);
        version.map_or_else(nothing, |version| version.images.clone())
    }

    /// A new row, which does not exist in any state.
    pub(crate) fn new_row(&mut self, table: TableId) -> u32 {
        let rows = &mut self.tables.entry(table).or_default().rows;
        rows.push(Vec::new());
        rows.len() as u32 - 1
    }

    pub(crate) fn push(&mut self, place: Place, version: Version) {
        self.pushed.push(place);
        for alternative in version.images.iter() {
            self.note(place, &alternative.image);
        }
        if let Some(versions) =
            self.tables.get_mut(&place.0).and_then(|table| table.rows.get_mut(place.1 as usize))
        {
            versions.push(version);
        }
    }

    /// Replaces all versions of a row by one.
    pub(crate) fn replace(&mut self, place: Place, version: Version) {
        if let Some(versions) =
            self.tables.get_mut(&place.0).and_then(|table| table.rows.get_mut(place.1 as usize))
        {
            versions.clear();
            self.push(place, version);
        }
    }

    /// Enters the values of an image that a row may have into the indexes.
    pub(crate) fn note(&mut self, (table, row): Place, image: &Image) {
        let (Some(table), Some(values)) = (self.tables.get_mut(&table), image) else { return };
        for (column, index) in &mut table.indexes {
            if let Some(value) = values.get(*column) {
                let rows = index.entry(value.clone()).or_default();
                if !rows.contains(&row) {
                    rows.push(row);
                }
            }
        }
    }

    /// How many versions were pushed.
    pub(crate) fn mark(&self) -> usize {
        self.pushed.len()
    }

    /// Takes back versions.
    pub(crate) fn undo(&mut self, mark: usize) {
        for (table, row) in self.pushed.drain(mark..) {
            if let Some(versions) =
                self.tables.get_mut(&table).and_then(|table| table.rows.get_mut(row as usize))
            {
                versions.pop();
            }
        }
    }

    /// Makes an index for a column, if the table is large enough.
    pub(crate) fn index(&mut self, table: TableId, column: usize) {
        let Some(table) = self.tables.get_mut(&table) else { return };
        if table.rows.len() < SMALL || table.indexes.iter().any(|(indexed, _)| *indexed == column) {
            return;
        }
        let mut index: FxHashMap<Value, Vec<u32>> = FxHashMap::default();
        for (row, versions) in (0..).zip(&table.rows) {
            for alternative in versions.iter().flat_map(|version| version.images.iter()) {
                if let Some(value) = alternative.image.as_ref().and_then(|values| values.get(column)) {
                    let rows = index.entry(value.clone()).or_default();
                    if rows.last() != Some(&row) {
                        rows.push(row);
                    }
                }
            }
        }
        table.indexes.push((column, index));
    }

    /// The rows that may meet conditions: a superset. The number of the index that would have helped, if there is none.
    pub(crate) fn candidates(&self, table: TableId, sarg: &Sarg) -> (Vec<u32>, Option<usize>) {
        let Some(table) = self.tables.get(&table) else { return (Vec::new(), None) };
        for (column, value) in &sarg.equal {
            if let Some((_, index)) = table.indexes.iter().find(|(indexed, _)| indexed == column) {
                let mut rows = index.get(value).cloned().unwrap_or_default();
                rows.sort_unstable();
                return (rows, None);
            }
        }
        let wanted = sarg.equal.first().map(|(column, _)| *column);
        ((0..table.rows.len() as u32).collect(), wanted)
    }
}

//! The constant columns of the initial rows.

use isoscope_application::{Contents, Direction, Field, Select};
use rustc_hash::FxHashMap;

/// The initial rows of fixed tables, by table and primary key.
#[derive(Debug)]
pub(crate) struct FixedTables {
    tables: FxHashMap<&'static str, Fixed>,
}

#[derive(Debug)]
struct Fixed {
    rows: Vec<Vec<Field>>,
    by_key: FxHashMap<Vec<Field>, usize>,
}

impl FixedTables {
    pub(crate) fn of(tables: &[Contents]) -> FixedTables {
        let fixed = tables.iter().filter(|contents| contents.is_fixed).map(|contents| {
            let keys = contents.rows.iter().map(|row| contents.table.key_of(row));
            let by_key = keys.enumerate().map(|(place, key)| (key, place)).collect();
            (contents.name, Fixed { rows: contents.rows.clone(), by_key })
        });
        FixedTables { tables: fixed.collect() }
    }

    /// The rows of a fixed table that match. Conditions are on constant columns, so the initial rows decide.
    pub(crate) fn matching(&self, select: &Select) -> Vec<&[Field]> {
        let Some(table) = self.tables.get(select.table.name) else { return Vec::new() };
        if let Some(key) = select.key() {
            return table.by_key.get(&key).map(|&place| table.rows[place].as_slice()).into_iter().collect();
        }
        let field = |row: &[Field], column: &str| row[select.table.place(column)].clone();
        let is_equal =
            |row: &[Field]| select.equal.iter().all(|(column, wanted)| field(row, column) == *wanted);
        let is_between = |row: &[Field]| {
            select.between.iter().all(|(column, low, high)| (low..=high).contains(&&field(row, column)))
        };
        let rows = table.rows.iter().map(Vec::as_slice);
        let mut rows: Vec<&[Field]> = rows.filter(|row| is_equal(row) && is_between(row)).collect();
        if let Some(direction) = select.order {
            let columns = select.ordered_by();
            let place = |row: &[Field]| columns.iter().map(|column| field(row, column)).collect::<Vec<_>>();
            rows.sort_by_key(|row| place(row));
            if direction == Direction::Descending {
                rows.reverse();
            }
        }
        rows.truncate(select.limit.map_or(usize::MAX, |limit| limit as usize));
        rows
    }
}

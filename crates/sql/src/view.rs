//! What a statement can see.
//!
//! The evaluator reads tables only through [`View`]. An auditor implements it over the versions of rows that a snapshot
//! and the transaction's own writes select; `database.rs` implements it over plain tables.

use std::ops::Bound;

use crate::catalog::Catalog;
use crate::value::Value;

/// The number of a table. A table that is dropped and created again has another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

/// The number of a row in its table. It stays the same when the row is updated. The upper half of the numbers is
/// reserved for rows that a statement is about to insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowId(pub u64);

impl RowId {
    /// The first number of rows that are not inserted yet.
    pub const PENDING: u64 = 1 << 63;
}

/// Which rows of a table a statement is interested in. A view may return more rows: the statement tests each again.
///
/// Values are compared by [`Value::total`]: numbers by their value, texts by their bytes. Conditions that need other
/// rules, such as a collation that ignores case, are not pushed down.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sarg {
    /// Columns that must be equal to a value that is not NULL.
    pub equal: Vec<(usize, Value)>,
    /// Columns that must be in a range. NULL is in no range.
    pub ranges: Vec<(usize, Bound<Value>, Bound<Value>)>,
}

impl Sarg {
    /// Whether a row meets the conditions.
    pub fn admits(&self, row: &[Value]) -> bool {
        let equal = |(column, value): &(usize, Value)| row.get(*column) == Some(value);
        let within = |(column, low, high): &(usize, Bound<Value>, Bound<Value>)| {
            let Some(value) = row.get(*column).filter(|value| !value.is_null()) else { return false };
            let above = match low {
                Bound::Included(low) => value >= low,
                Bound::Excluded(low) => value > low,
                Bound::Unbounded => true,
            };
            let below = match high {
                Bound::Included(high) => value <= high,
                Bound::Excluded(high) => value < high,
                Bound::Unbounded => true,
            };
            above && below
        };
        // A hole may have any value.
        let has_hole = row.iter().any(|value| matches!(value, Value::Hole(_)));
        has_hole || (self.equal.iter().all(equal) && self.ranges.iter().all(within))
    }
}

/// Called with each row of a scan; `false` ends the scan.
pub type Visit<'a> = dyn FnMut(RowId, &[Value]) -> bool + 'a;

/// What a statement can see.
pub trait View {
    /// The tables, views and routines.
    fn catalog(&self) -> &Catalog;

    /// Calls `visit` with each row of a table that may meet the conditions, in any fixed order. A table that does not exist
    /// has no rows.
    fn scan(&self, table: TableId, sarg: &Sarg, visit: &mut Visit<'_>);

    /// One row; `None` if there is no such row.
    fn row(&self, table: TableId, row: RowId) -> Option<Vec<Value>> {
        let mut found = None;
        self.scan(table, &Sarg::default(), &mut |id, values| {
            if id == row {
                found = Some(values.to_vec());
            }
            found.is_none()
        });
        found
    }
}

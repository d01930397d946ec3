//! Statements over one table `t (k INT PRIMARY KEY, v INT)`: their text and their meaning.
//!
//! A table is a map from row ids to rows. NULL is `None`; a comparison with NULL is not true. SUM, MAX and MIN of no values are NULL.

use std::collections::BTreeMap;

use isoscope_log::Scalar;

/// The number of a row: it is never used again, even for the same key.
pub type RowId = u32;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Image {
    /// The primary key.
    pub k: i64,
    /// The value.
    pub v: Option<i64>,
}

/// The rows of the table.
pub type Table = BTreeMap<RowId, Image>;

/// How a condition compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    /// `=`
    Equal,
    /// `<>`
    Unequal,
    /// `<`
    Less,
    /// `>=`
    AtLeast,
}

/// A condition of WHERE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// `k <compare> n`
    Key(Compare, i64),
    /// `v <compare> n`
    Value(Compare, i64),
    /// `v IS NULL`
    Null,
}

/// The conditions of WHERE, all of which must hold; none means that there is no WHERE.
pub type Filter = Vec<Condition>;

/// What a SELECT selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// `k, v`, in any order
    Rows,
    /// `k, v` with `ORDER BY k`
    Sorted,
    /// `SUM(v)`
    Sum,
    /// `COUNT(*)`
    Count,
    /// `MAX(v)`
    Max,
    /// `MIN(v)`
    Min,
}

/// What an UPDATE sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// `v = n`
    To(Option<i64>),
    /// `v = v + n`
    Add(i64),
    /// `v = v * 2`
    Double,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// BEGIN
    Begin,
    /// COMMIT
    Commit,
    /// ROLLBACK
    Rollback,
    /// SELECT
    Select(What, Filter),
    /// UPDATE
    Update(Change, Filter),
    /// DELETE
    Delete(Filter),
    /// INSERT of one row
    Insert(Image),
}

impl Statement {
    /// Whether it may change the table.
    pub const fn writes(&self) -> bool {
        matches!(self, Statement::Update(..) | Statement::Delete(_) | Statement::Insert(_))
    }

    /// Whether it matches this row.
    pub fn matches(&self, row: Image) -> bool {
        match self {
            Statement::Select(_, filter) | Statement::Update(_, filter) | Statement::Delete(filter) => {
                filter.iter().all(|condition| condition.holds(row))
            }
            _ => false,
        }
    }

    /// What an UPDATE or DELETE makes of a row that it matches.
    pub fn change(&self, row: Image) -> Option<Image> {
        match *self {
            Statement::Update(Change::To(v), _) => Some(Image { v, ..row }),
            Statement::Update(Change::Add(n), _) => Some(Image { v: row.v.map(|v| v + n), ..row }),
            Statement::Update(Change::Double, _) => Some(Image { v: row.v.map(|v| v * 2), ..row }),
            _ => None,
        }
    }

    /// The answer of a SELECT.
    pub fn select(&self, table: &Table) -> Vec<Vec<Option<i64>>> {
        let Statement::Select(what, _) = self else { return Vec::new() };
        let found: Vec<Image> = table.values().copied().filter(|&row| self.matches(row)).collect();
        let values = || found.iter().filter_map(|row| row.v);
        match what {
            What::Rows | What::Sorted => {
                let mut rows: Vec<_> = found.iter().map(|row| vec![Some(row.k), row.v]).collect();
                rows.sort();
                rows
            }
            What::Sum => vec![vec![values().next().is_some().then(|| values().sum())]],
            What::Count => vec![vec![Some(found.len() as i64)]],
            What::Max => vec![vec![values().max()]],
            What::Min => vec![vec![values().min()]],
        }
    }

    /// Whether an answer fits the computed rows: in any order, unless there is ORDER BY k.
    pub fn fits(&self, computed: &[Vec<Option<i64>>], answer: &[Vec<Option<i64>>]) -> bool {
        let is_sorted = answer.is_sorted_by_key(|row| row.first().copied());
        let mut sorted = answer.to_vec();
        sorted.sort();
        sorted == computed && (is_sorted || !matches!(self, Statement::Select(What::Sorted, _)))
    }

    /// The text, and the parameters if they are not written into it.
    pub fn text(&self, has_params: bool) -> (String, Vec<Scalar>) {
        let mut params = has_params.then(Vec::new);
        let text = match self {
            Statement::Begin => "BEGIN".to_owned(),
            Statement::Commit => "COMMIT".to_owned(),
            Statement::Rollback => "ROLLBACK".to_owned(),
            Statement::Select(what, filter) => {
                let (columns, order) = match what {
                    What::Rows => ("k, v", ""),
                    What::Sorted => ("k, v", " ORDER BY k"),
                    What::Sum => ("SUM(v)", ""),
                    What::Count => ("COUNT(*)", ""),
                    What::Max => ("MAX(v)", ""),
                    What::Min => ("MIN(v)", ""),
                };
                format!("SELECT {columns} FROM t{}{order}", condition_text(filter, &mut params))
            }
            Statement::Update(change, filter) => {
                let set = match change {
                    Change::To(v) => format!("v = {}", spell(*v, &mut params)),
                    Change::Add(n) => format!("v = v + {}", spell(Some(*n), &mut params)),
                    Change::Double => "v = v * 2".to_owned(),
                };
                format!("UPDATE t SET {set}{}", condition_text(filter, &mut params))
            }
            Statement::Delete(filter) => format!("DELETE FROM t{}", condition_text(filter, &mut params)),
            Statement::Insert(row) => {
                let k = spell(Some(row.k), &mut params);
                format!("INSERT INTO t (k, v) VALUES ({k}, {})", spell(row.v, &mut params))
            }
        };
        (text, params.unwrap_or_default())
    }
}

impl Condition {
    fn holds(self, row: Image) -> bool {
        let (value, compare, n) = match self {
            Condition::Key(compare, n) => (Some(row.k), compare, n),
            Condition::Value(compare, n) => (row.v, compare, n),
            Condition::Null => return row.v.is_none(),
        };
        value.is_some_and(|value| match compare {
            Compare::Equal => value == n,
            Compare::Unequal => value != n,
            Compare::Less => value < n,
            Compare::AtLeast => value >= n,
        })
    }
}

/// A value as a literal or, if there are parameters, as one more of them.
fn spell(value: Option<i64>, params: &mut Option<Vec<Scalar>>) -> String {
    match (params, value) {
        (Some(params), Some(n)) => {
            params.push(Scalar::Int(n));
            "?".to_owned()
        }
        (_, Some(n)) => n.to_string(),
        (_, None) => "NULL".to_owned(),
    }
}

fn condition_text(filter: &[Condition], params: &mut Option<Vec<Scalar>>) -> String {
    let mut text = String::new();
    for (i, condition) in filter.iter().enumerate() {
        text += if i == 0 { " WHERE " } else { " AND " };
        let (column, compare, n) = match *condition {
            Condition::Key(compare, n) => ("k", compare, n),
            Condition::Value(compare, n) => ("v", compare, n),
            Condition::Null => {
                text += "v IS NULL";
                continue;
            }
        };
        let operator = match compare {
            Compare::Equal => "=",
            Compare::Unequal => "<>",
            Compare::Less => "<",
            Compare::AtLeast => ">=",
        };
        text += &format!("{column} {operator} {}", spell(Some(n), params));
    }
    text
}

/// The row of a table with this key.
pub fn row_with_key(table: &Table, k: i64) -> Option<RowId> {
    table.iter().find(|(_, row)| row.k == k).map(|(&id, _)| id)
}

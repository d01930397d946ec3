//! The operations on tables that a transaction consists of.
//!
//! A transaction is written once, against [`Operations`]. Three back ends run it: SQL on a real database, which records the
//! statements and the operations on keys that follow from them; a store in memory that serves every read from a chosen writer;
//! and the execution of one transaction on given values. Because the same keys follow from the same operations in all three
//! (`schema.rs`), what one of them did can be compared with what another did.
//!
//! Rules for transactions:
//! - Statements depend on the dice, on the session and the number of the transaction, and on answers inside it, on nothing else.
//! - A computed update is a read and a write: the client computes the value.
//! - A transaction does not read columns that change of a row that it has updated; it knows what it wrote. At `InnoDB`'s
//!   repeatable read, such a read sees the newest version of the columns that were not updated; and if another transaction
//!   has just committed the same values, so that the update changed nothing, it sees the old version of the snapshot
//!   (MDEV-26642).
//! - A transaction updates and deletes only rows that it has read, and found.

use crate::field::{Field, Row};
use crate::schema::Table;
use crate::select::Select;

/// The transaction cannot go on: a statement failed, or an answer is impossible. The operations know the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// What a transaction can do; see the module.
pub trait Operations {
    /// The rows that match.
    fn select(&mut self, select: &Select) -> Result<Vec<Row>, Stopped>;

    /// Overwrites columns of a row. Returns whether the row exists.
    fn update(
        &mut self,
        table: &'static Table,
        key: &[Field],
        set: &[(&'static str, Field)],
    ) -> Result<bool, Stopped>;

    /// Inserts a row with all columns. Where a row with this primary key exists, databases refuse.
    fn insert(&mut self, table: &'static Table, row: &[Field]) -> Result<(), Stopped>;

    /// Deletes a row. Returns whether it existed.
    fn delete(&mut self, table: &'static Table, key: &[Field]) -> Result<bool, Stopped>;

    /// Declares that the transaction changes the ledger of the application by this amount if it commits.
    fn brings(&mut self, amount: i64);

    /// Ends the transaction: an answer is impossible unless another client changes the tables, or the level is weak.
    fn fail(&mut self, message: String) -> Stopped;
}

impl dyn Operations + '_ {
    /// Columns of the row with this primary key, if it exists.
    pub fn find(
        &mut self,
        table: &'static Table,
        columns: &[&'static str],
        key: &[Field],
    ) -> Result<Option<Row>, Stopped> {
        let rows = self.select(&Select::row(table, columns, key))?;
        Ok(rows.into_iter().next())
    }

    /// Columns of the row with this primary key, which exists in every serializable execution.
    pub fn row(
        &mut self,
        table: &'static Table,
        columns: &[&'static str],
        key: &[Field],
    ) -> Result<Row, Stopped> {
        if let Some(row) = self.find(table, columns, key)? {
            return Ok(row);
        }
        let hint = if table.is_fixed { "; make sure that no other client changes the tables" } else { "" };
        Err(self.fail(format!("{} does not exist{hint}", table.row_name(key))))
    }

    /// Updates a row that the transaction has read. It is gone only if another transaction has deleted it in the meantime.
    pub fn change(
        &mut self,
        table: &'static Table,
        key: &[Field],
        set: &[(&'static str, Field)],
    ) -> Result<(), Stopped> {
        if self.update(table, key, set)? {
            return Ok(());
        }
        Err(self.fail(format!("{} is gone", table.row_name(key))))
    }
}

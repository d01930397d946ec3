//! The operations of an application in SQL.
//!
//! Each operation is one statement, whose text follows from the operation alone. [`Transaction`] sends it and records the
//! statement for the log and the operations on keys for the history (`isoscope_application`, `schema.rs`), so that the two
//! cannot disagree.
//!
//! | statement | operations |
//! |---|---|
//! | SELECT by primary key | a read of the row's existence; if it exists, reads of the cells that were asked for |
//! | SELECT by an index | a range read of the entries, then reads of the cells of the rows found |
//! | SELECT of constant columns of a fixed table | none |
//! | UPDATE | writes of the cells |
//! | INSERT | inserts of existence and entries, writes of the cells that are not NULL |
//! | DELETE | deletes of existence, entries and cells |
//! | UPDATE or DELETE that matches no row | a read of the row's absence if statements that write see the same rows as plain reads, otherwise none |
//!
//! Failed statements are in the log and add no operation to the history.
//!
//! PostgreSQL's `repeatable read` may show a primary key twice, if another transaction deleted the row after the snapshot was
//! taken and this one inserted it again. The history then contains the transaction's own row.

use isoscope_application::{Direction, Field, Operations, Row, Select, Stopped, Table, Tables};

use crate::database::{Answer, Class, Connection, Failure, Scalar, Statement, Vendor};
use crate::record::{Record, Seen, Step};

/// A failure that does not come from the database.
pub(super) fn other(message: String) -> Failure {
    Failure { class: Class::Other, code: None, message }
}

/// The statements that create a table and its indexes.
pub fn definition(table: &Table, vendor: Vendor) -> Vec<String> {
    let column = |name: &str, definition: &str| format!("{name} {definition}");
    let mut columns: Vec<String> = table.columns.iter().map(|it| column(it.name, it.definition)).collect();
    // A primary key of one column is a part of the column's definition.
    if table.key.len() > 1 {
        columns.push(format!("PRIMARY KEY ({})", table.key.join(", ")));
    }
    // Other storage engines may not support transactions.
    let engine = match vendor {
        Vendor::MySql | Vendor::MariaDb => " ENGINE=InnoDB",
        Vendor::Postgres | Vendor::Sqlite | Vendor::Memory => "",
    };
    let create = format!("CREATE TABLE {} ({}){engine}", table.name, columns.join(", "));
    let indexes = table.indexes.iter().map(|index| {
        let columns = index.columns.join(", ");
        format!("CREATE INDEX {}_{} ON {} ({columns})", table.name, index.name, table.name)
    });
    std::iter::once(create).chain(indexes).collect()
}

/// An open transaction: runs operations as statements on a connection, and records what they read and write.
pub struct Transaction<'a> {
    connection: &'a mut dyn Connection,
    record: &'a mut Record,
    /// What an UPDATE or DELETE that matches no row has seen.
    missed: Seen,
    /// The rows that the transaction inserted.
    inserted: Vec<(&'static str, Vec<Field>)>,
    /// The amount that the transaction brings to the ledger.
    pub(super) brought: i64,
    /// Why the transaction stopped.
    pub failure: Option<Failure>,
}

impl<'a> Transaction<'a> {
    /// A transaction on a connection that has begun. `missed` is what an UPDATE or DELETE that matches no row has seen.
    pub fn new(connection: &'a mut dyn Connection, record: &'a mut Record, missed: Seen) -> Transaction<'a> {
        Transaction { connection, record, missed, inserted: Vec::new(), brought: 0, failure: None }
    }

    fn execute(&mut self, sql: &str, params: &[Scalar]) -> Result<Answer, Stopped> {
        let connection = &mut *self.connection;
        let answer = self.record.statement(Statement { sql, params }, |it| connection.execute(it));
        answer.map_err(|failure| {
            self.failure = Some(failure);
            Stopped
        })
    }

    fn query(&mut self, sql: &str, params: &[Scalar]) -> Result<Vec<Vec<Scalar>>, Stopped> {
        match self.execute(sql, params)? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Count(_) => Err(self.fail(format!("expected rows, found a count: {sql}"))),
        }
    }

    /// Runs a statement that matches at most one row. Returns whether it matched one.
    fn matches_one(
        &mut self,
        table: &Table,
        key: &[Field],
        sql: &str,
        params: &[Scalar],
    ) -> Result<bool, Stopped> {
        match self.execute(sql, params)? {
            Answer::Count(1) => Ok(true),
            Answer::Count(0) if !table.is_fixed => {
                let absent = Step::Delete(Scalar::Text(table.row_name(key)));
                self.record.step(absent, self.missed.clone());
                Ok(false)
            }
            answer => {
                Err(self.fail(format!("expected one row for {}, found {answer:?}", table.row_name(key))))
            }
        }
    }

    fn saw_cell(&mut self, table: &Table, column: &str, key: &[Field], field: &Field) {
        let seen = match field {
            Field::Int(n) => Seen::Value(Some(*n)),
            Field::Null => Seen::Value(None),
            Field::Text(text) => Seen::Scalar(Scalar::Text(text.clone())),
        };
        self.record.step(Step::Read(Scalar::Text(table.cell_name(column, key))), seen);
    }

    fn wrote_cell(&mut self, table: &Table, column: &str, key: &[Field], field: &Field) {
        let name = Scalar::Text(table.cell_name(column, key));
        let step = match field {
            Field::Int(n) => Step::Write(name, *n),
            other => Step::Set(name, scalar(other)),
        };
        self.record.step(step, Seen::Done);
    }

    /// Adds the operations of a SELECT to the history. `columns` are those of the answer.
    fn saw(&mut self, select: &Select, columns: &[&'static str], rows: &[Vec<Field>]) {
        let table = select.table;
        if let Some(key) = select.key() {
            if !table.is_fixed {
                let exists = (!rows.is_empty()).then_some(1);
                self.record.step(Step::Read(Scalar::Text(table.row_name(&key))), Seen::Value(exists));
            } else if rows.is_empty() {
                for column in select.changing() {
                    self.saw_cell(table, column, &key, &Field::Null);
                }
            }
        } else if !table.is_fixed {
            let found: Vec<String> = rows.iter().map(|row| select.entry_of(columns, row)).collect();
            let (low, high) = select.answered(&found);
            let entries = found.into_iter().map(|name| (Scalar::Text(name), 1)).collect();
            self.record.step(Step::Range(Scalar::Text(low), Scalar::Text(high)), Seen::Rows(entries));
        }
        if select.changing().next().is_none() {
            return;
        }
        for row in rows {
            let key = select.key_of(columns, row);
            for (place, column) in select.columns.iter().enumerate() {
                if !table.column(column).is_constant {
                    self.saw_cell(table, column, &key, &row[place]);
                }
            }
        }
    }

    /// Of two rows with one primary key, keeps the transaction's own; see the module.
    fn without_twins(
        &mut self,
        select: &Select,
        columns: &[&'static str],
        rows: Vec<Vec<Field>>,
    ) -> Result<Vec<Vec<Field>>, Stopped> {
        let table = select.table;
        if rows.len() < 2 || table.is_fixed {
            return Ok(rows);
        }
        let keys: Vec<Vec<Field>> = rows.iter().map(|row| select.key_of(columns, row)).collect();
        let is_twin = |key: &Vec<Field>| keys.iter().filter(|other| *other == key).count() > 1;
        if !keys.iter().any(is_twin) {
            return Ok(rows);
        }
        let is_own = |row: &Vec<Field>| {
            let same = |own: &[Field]| {
                columns.iter().zip(row).all(|(column, field)| own[table.place(column)] == *field)
            };
            self.inserted.iter().any(|(name, own)| *name == table.name && same(own))
        };
        let mut kept: Vec<Vec<Field>> = Vec::new();
        for (row, key) in rows.iter().zip(&keys) {
            let again = kept.iter().any(|other| select.key_of(columns, other) == *key);
            if !is_twin(key) || is_own(row) && !again {
                kept.push(row.clone());
            }
        }
        let is_kept = |key: &Vec<Field>| kept.iter().any(|row| select.key_of(columns, row) == *key);
        if keys.iter().all(is_kept) {
            return Ok(kept);
        }
        Err(self.fail(format!("{} returned a row twice: {rows:?}", select_sql(select, columns))))
    }
}

impl Operations for Transaction<'_> {
    fn select(&mut self, select: &Select) -> Result<Vec<Row>, Stopped> {
        let mut columns = select.columns.clone();
        let missing = select.identifying().into_iter().filter(|column| !select.columns.contains(column));
        columns.extend(missing);
        let mut params: Vec<Scalar> = select.equal.iter().map(|(_, field)| scalar(field)).collect();
        params.extend(select.between.iter().flat_map(|(_, low, high)| [scalar(low), scalar(high)]));
        let sql = select_sql(select, &columns);
        let answer = self.query(&sql, &params)?;
        let fields = answer.iter().map(|row| fields(select.table, &columns, row));
        let Some(rows) = fields.collect::<Option<Vec<_>>>() else {
            return Err(self.fail(format!("unexpected answer {answer:?} to `{sql}`")));
        };
        let rows = self.without_twins(select, &columns, rows)?;
        self.saw(select, &columns, &rows);
        let asked = select.columns.len();
        Ok(rows
            .into_iter()
            .map(|mut row| {
                row.truncate(asked);
                Row(row)
            })
            .collect())
    }

    fn update(
        &mut self,
        table: &'static Table,
        key: &[Field],
        set: &[(&'static str, Field)],
    ) -> Result<bool, Stopped> {
        let columns: Vec<String> = set.iter().map(|(column, _)| format!("{column} = ?")).collect();
        let sql = format!("UPDATE {} SET {} WHERE {}", table.name, columns.join(", "), by_key(table));
        let params: Vec<Scalar> = set.iter().map(|(_, field)| field).chain(key).map(scalar).collect();
        if !self.matches_one(table, key, &sql, &params)? {
            return Ok(false);
        }
        for (column, field) in set {
            self.wrote_cell(table, column, key, field);
        }
        Ok(true)
    }

    fn insert(&mut self, table: &'static Table, row: &[Field]) -> Result<(), Stopped> {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let places = vec!["?"; columns.len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({places})", table.name, columns.join(", "));
        let params: Vec<Scalar> = row.iter().map(scalar).collect();
        let key = table.key_of(row);
        let answer = self.execute(&sql, &params)?;
        if answer != Answer::Count(1) {
            return Err(self.fail(format!("expected one row for {}, found {answer:?}", table.row_name(&key))));
        }
        for name in table.entry_names(row) {
            self.record.step(Step::Insert(Scalar::Text(name), 1), Seen::Done);
        }
        for column in table.changing() {
            let field = &row[table.place(column.name)];
            if *field != Field::Null {
                self.wrote_cell(table, column.name, &key, field);
            }
        }
        self.inserted.push((table.name, row.to_vec()));
        Ok(())
    }

    fn delete(&mut self, table: &'static Table, key: &[Field]) -> Result<bool, Stopped> {
        let names = table.entry_names_of(key);
        let sql = format!("DELETE FROM {} WHERE {}", table.name, by_key(table));
        let params: Vec<Scalar> = key.iter().map(scalar).collect();
        if !self.matches_one(table, key, &sql, &params)? {
            return Ok(false);
        }
        let cells = table.changing().map(|column| table.cell_name(column.name, key));
        for name in names.into_iter().chain(cells) {
            self.record.step(Step::Delete(Scalar::Text(name)), Seen::Done);
        }
        self.inserted.retain(|(name, row)| *name != table.name || table.key_of(row) != key);
        Ok(true)
    }

    fn brings(&mut self, amount: i64) {
        self.brought = self.brought.saturating_add(amount);
    }

    fn fail(&mut self, message: String) -> Stopped {
        self.failure = Some(other(message));
        Stopped
    }
}

/// The tables after a run.
pub(super) struct After<'a> {
    pub(super) connection: &'a mut dyn Connection,
    pub(super) failure: Option<Failure>,
}

impl Tables for After<'_> {
    fn rows(&mut self, table: &'static Table, columns: &[&'static str]) -> Result<Vec<Row>, Stopped> {
        let sql =
            format!("SELECT {} FROM {} ORDER BY {}", columns.join(", "), table.name, table.key.join(", "));
        let rows = match self.connection.execute(Statement::plain(&sql)) {
            Ok(Answer::Rows(rows)) => rows,
            Ok(Answer::Count(_)) => return self.fail(other(format!("expected rows, found a count: {sql}"))),
            Err(failure) => return self.fail(failure),
        };
        let fields = rows.iter().map(|row| fields(table, columns, row).map(Row));
        match fields.collect() {
            Some(rows) => Ok(rows),
            None => self.fail(other(format!("unexpected answer {rows:?} to `{sql}`"))),
        }
    }
}

impl After<'_> {
    fn fail<T>(&mut self, failure: Failure) -> Result<T, Stopped> {
        self.failure = Some(failure);
        Err(Stopped)
    }
}

fn select_sql(select: &Select, columns: &[&str]) -> String {
    let mut sql = format!("SELECT {} FROM {}", columns.join(", "), select.table.name);
    let mut conditions: Vec<String> =
        select.equal.iter().map(|(column, _)| format!("{column} = ?")).collect();
    conditions.extend(select.between.iter().map(|(column, ..)| format!("{column} BETWEEN ? AND ?")));
    if !conditions.is_empty() {
        sql.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
    }
    if let Some(direction) = select.order {
        let suffix = if direction == Direction::Descending { " DESC" } else { "" };
        let columns: Vec<String> =
            select.ordered_by().iter().map(|column| format!("{column}{suffix}")).collect();
        sql.push_str(&format!(" ORDER BY {}", columns.join(", ")));
    }
    if let Some(limit) = select.limit {
        sql.push_str(&format!(" LIMIT {limit}"));
    }
    sql
}

fn by_key(table: &Table) -> String {
    let conditions: Vec<String> = table.key.iter().map(|column| format!("{column} = ?")).collect();
    conditions.join(" AND ")
}

/// A field as a parameter of a statement.
pub(super) fn scalar(field: &Field) -> Scalar {
    match field {
        Field::Null => Scalar::Null,
        Field::Int(n) => Scalar::Int(*n),
        Field::Text(text) => Scalar::Text(text.clone()),
    }
}

/// A row of an answer; `None` if it does not have the types of the columns.
fn fields(table: &Table, columns: &[&str], row: &[Scalar]) -> Option<Vec<Field>> {
    let field = |scalar: &Scalar| match scalar {
        Scalar::Null => Some(Field::Null),
        Scalar::Int(n) => Some(Field::Int(*n)),
        Scalar::Text(text) => Some(Field::Text(text.clone())),
        Scalar::Bool(_) | Scalar::Float(_) => None,
    };
    if row.len() != columns.len() {
        return None;
    }
    let fields = columns
        .iter()
        .zip(row)
        .map(|(column, scalar)| field(scalar).filter(|field| table.column(column).accepts(field)));
    fields.collect()
}

//! Definitions of tables, and the names of types.

use sqlparser::ast::{self, DataType as D};

use crate::bind::{Binder, Scope, ident, object};
use crate::catalog::{Action, Catalog, Check, Column, ForeignKey, Key, Table};
use crate::error::{Result, unknown_name, unsupported};
use crate::ir::{CastMode, Expr};
use crate::value::{Affinity, Collation, Type, Value};
use crate::view::TableId;

/// The table of CREATE TABLE.
pub(crate) fn create_table(catalog: &Catalog, create: &ast::CreateTable) -> Result<Table> {
    if create.query.is_some()
        || create.like.is_some()
        || create.partition_by.is_some()
        || create.inherits.is_some()
    {
        return unsupported("this CREATE TABLE");
    }
    let mut binder = Binder::new(catalog, Vec::new());
    let settings = binder.settings;
    let mut table = Table {
        id: TableId(u32::MAX),
        name: object(&create.name, settings)?,
        columns: Vec::new(),
        keys: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        rowid: None,
    };
    for definition in &create.columns {
        let column = binder.define_column(definition)?;
        table.columns.push(column);
    }
    for (at, definition) in create.columns.iter().enumerate() {
        for option in &definition.options {
            binder.column_constraint(&mut table, at, definition, option)?;
        }
    }
    for constraint in &create.constraints {
        binder.constraint(&mut table, constraint)?;
    }
    finish(&mut table, create, binder.settings.is_sqlite());
    binder.bind_conditions(&mut table, create)?;
    Ok(table)
}

/// Primary keys do not allow NULL, except in SQLite.
fn finish(table: &mut Table, create: &ast::CreateTable, is_sqlite: bool) {
    let Some(primary) = table.keys.iter().find(|key| key.is_primary) else { return };
    let columns = primary.columns.clone();
    for at in &columns {
        table.columns[*at].not_null |= !is_sqlite || create.without_rowid;
    }
    let [at] = columns[..] else { return };
    let spelled = create.columns[at].data_type.to_string().to_ascii_uppercase();
    if is_sqlite && !create.without_rowid && spelled == "INTEGER" {
        table.rowid = Some(at);
        table.columns[at].is_made = true;
    }
}

impl Binder<'_> {
    fn define_column(&mut self, definition: &ast::ColumnDef) -> Result<Column> {
        let name = ident(&definition.name, self.settings);
        let spelled = definition.data_type.to_string().to_ascii_lowercase();
        let is_serial =
            matches!(spelled.as_str(), "serial" | "bigserial" | "smallserial" | "serial4" | "serial8");
        let ty = if is_serial && self.settings.is_postgres() {
            let bits = match spelled.as_str() {
                "smallserial" => 16,
                "serial" | "serial4" => 32,
                _ => 64,
            };
            Type::Int { bits, unsigned: false }
        } else {
            self.data_type(&definition.data_type)?
        };
        let mut column = Column {
            name,
            ty,
            collation: self.default_collation(),
            not_null: is_serial,
            is_made: is_serial,
            default: None,
        };
        if matches!(ty, Type::Char(_)) && self.settings.is_postgres() {
            column.collation = Collation::Padded;
        }
        for option in &definition.options {
            self.column_option(&mut column, &option.option)?;
        }
        Ok(column)
    }

    fn column_option(&mut self, column: &mut Column, option: &ast::ColumnOption) -> Result<()> {
        match option {
            ast::ColumnOption::NotNull => column.not_null = true,
            ast::ColumnOption::Collation(name) => {
                let name = object(name, self.settings)?;
                match self.collation(&name) {
                    Some(collation) => column.collation = collation,
                    None => return unsupported(format!("the collation {name}")),
                }
            }
            ast::ColumnOption::Default(expr) => {
                let bound = self.expr(expr)?;
                // NULL as a default is no default, except that it is one for NOT NULL in MySQL.
                if bound.expr == Expr::Const(Value::Null) {
                    column.default = Some(Expr::Const(Value::Null));
                } else {
                    if let (Expr::Const(value), true) = (&bound.expr, self.settings.is_mysql()) {
                        let to = crate::ir::Cast { to: column.ty, mode: CastMode::Assign };
                        crate::cast::cast(
                            value,
                            to,
                            crate::cast::Mode { settings: self.settings, writes: true, stores: false },
                        )?;
                    }
                    column.default = Some(self.converted(bound, column.ty, CastMode::Assign)?);
                }
            }
            ast::ColumnOption::DialectSpecific(tokens) => {
                let text: String =
                    tokens.iter().map(|token| token.to_string().to_ascii_uppercase()).collect();
                if matches!(text.as_str(), "AUTO_INCREMENT" | "AUTOINCREMENT") {
                    column.is_made = true;
                } else {
                    return unsupported(format!("the column option {text}"));
                }
            }
            ast::ColumnOption::Generated { generation_expr: None, .. } | ast::ColumnOption::Identity(_) => {
                column.is_made = true;
                column.not_null = true;
            }
            ast::ColumnOption::Generated { .. } | ast::ColumnOption::OnUpdate(_) => {
                return unsupported("generated columns");
            }
            _ => {}
        }
        Ok(())
    }

    fn column_constraint(
        &mut self,
        table: &mut Table,
        at: usize,
        definition: &ast::ColumnDef,
        option: &ast::ColumnOptionDef,
    ) -> Result<()> {
        let name = option.name.as_ref().map(|name| ident(name, self.settings));
        let column = ident(&definition.name, self.settings);
        match &option.option {
            ast::ColumnOption::PrimaryKey(_) => {
                let name = name.unwrap_or_else(|| self.primary_name(table));
                table.keys.push(Key { name, columns: vec![at], is_primary: true, nulls_equal: false });
            }
            ast::ColumnOption::Unique(_) => {
                let name = name.unwrap_or_else(|| format!("{}_{column}_key", table.name));
                table.keys.push(Key { name, columns: vec![at], is_primary: false, nulls_equal: false });
            }
            // MySQL before 9 ignores REFERENCES of a column; MariaDB does not.
            ast::ColumnOption::ForeignKey(foreign)
                if !self.settings.is_mysql() || self.settings.is_mariadb =>
            {
                let key = self.foreign_key(table, foreign, vec![at])?;
                table.foreign_keys.push(key);
            }
            _ => {}
        }
        Ok(())
    }

    fn primary_name(&self, table: &Table) -> String {
        if self.settings.is_mysql() { "PRIMARY".to_owned() } else { format!("{}_pkey", table.name) }
    }

    pub(crate) fn key_columns(&self, table: &Table, columns: &[ast::IndexColumn]) -> Result<Vec<usize>> {
        let column = |index: &ast::IndexColumn| match &index.column.expr {
            ast::Expr::Identifier(name) => self.position(table, name),
            _ => unsupported("an index on an expression"),
        };
        columns.iter().map(column).collect()
    }

    fn position(&self, table: &Table, name: &ast::Ident) -> Result<usize> {
        let name = ident(name, self.settings);
        match table.column(&name) {
            Some(at) => Ok(at),
            None => unknown_name(format!("column {name} does not exist")),
        }
    }

    fn constraint(&mut self, table: &mut Table, constraint: &ast::TableConstraint) -> Result<()> {
        let named = |name: &Option<ast::Ident>| name.as_ref().map(|name| ident(name, self.settings));
        match constraint {
            ast::TableConstraint::PrimaryKey(key) => {
                let columns = self.key_columns(table, &key.columns)?;
                let name = named(&key.name).unwrap_or_else(|| self.primary_name(table));
                table.keys.push(Key { name, columns, is_primary: true, nulls_equal: false });
            }
            ast::TableConstraint::Unique(key) => {
                let columns = self.key_columns(table, &key.columns)?;
                let names: Vec<&str> = columns.iter().map(|at| table.columns[*at].name.as_str()).collect();
                let name = named(&key.name)
                    .or_else(|| named(&key.index_name))
                    .unwrap_or_else(|| format!("{}_{}_key", table.name, names.join("_")));
                let nulls_equal = key.nulls_distinct == ast::NullsDistinctOption::NotDistinct;
                table.keys.push(Key { name, columns, is_primary: false, nulls_equal });
            }
            ast::TableConstraint::ForeignKey(foreign) => {
                let columns =
                    foreign.columns.iter().map(|name| self.position(table, name)).collect::<Result<_>>()?;
                let key = self.foreign_key(table, foreign, columns)?;
                table.foreign_keys.push(key);
            }
            ast::TableConstraint::Check(_) | ast::TableConstraint::Index(_) => {}
            _ => return unsupported("this constraint"),
        }
        Ok(())
    }

    fn foreign_key(
        &self,
        table: &Table,
        foreign: &ast::ForeignKeyConstraint,
        columns: Vec<usize>,
    ) -> Result<ForeignKey> {
        let action = |action: &Option<ast::ReferentialAction>| match action {
            Some(ast::ReferentialAction::Cascade) => Action::Cascade,
            Some(ast::ReferentialAction::SetNull) => Action::SetNull,
            Some(ast::ReferentialAction::SetDefault) => Action::SetDefault,
            _ => Action::Refuse,
        };
        let deferred = foreign.characteristics.as_ref().and_then(|it| it.initially.as_ref());
        Ok(ForeignKey {
            name: foreign
                .name
                .as_ref()
                .map_or_else(|| format!("{}_fkey", table.name), |name| ident(name, self.settings)),
            columns,
            parent: object(&foreign.foreign_table, self.settings)?,
            referred: foreign.referred_columns.iter().map(|name| ident(name, self.settings)).collect(),
            on_delete: action(&foreign.on_delete),
            on_update: action(&foreign.on_update),
            is_deferred: matches!(deferred, Some(ast::DeferrableInitial::Deferred)),
        })
    }

    /// Binds the CHECK constraints, whose row has the slot 0.
    fn bind_conditions(&mut self, table: &mut Table, create: &ast::CreateTable) -> Result<()> {
        let mut item = self.table_item(table, None)?;
        item.slot = 0;
        self.enter(Scope { items: vec![item], ..Scope::default() })?;
        let of_columns = create.columns.iter().flat_map(|column| &column.options).filter_map(|option| {
            match &option.option {
                ast::ColumnOption::Check(check) => {
                    Some((option.name.as_ref().or(check.name.as_ref()), check))
                }
                _ => None,
            }
        });
        let of_table = create.constraints.iter().filter_map(|constraint| match constraint {
            ast::TableConstraint::Check(check) => Some((check.name.as_ref(), check)),
            _ => None,
        });
        for (name, check) in of_columns.chain(of_table) {
            let bound = self.expr(&check.expr)?;
            let condition = self.condition(bound)?;
            let name =
                name.map_or_else(|| format!("{}_check", table.name), |name| ident(name, self.settings));
            if check.enforced != Some(false) {
                table.checks.push(Check { name, condition });
            }
        }
        self.scopes.pop();
        Ok(())
    }

    /// The type of a name.
    pub(crate) fn data_type(&self, data_type: &D) -> Result<Type> {
        data_type_of(data_type, self.settings)
    }
}

/// The type of a name in a dialect.
pub(crate) fn data_type(catalog: &Catalog, data_type: &D) -> Result<Type> {
    data_type_of(data_type, catalog.settings())
}

fn data_type_of(data_type: &D, settings: &crate::dialect::Settings) -> Result<Type> {
    let spelled = data_type.to_string().to_ascii_lowercase();
    if settings.is_sqlite() {
        return Ok(Type::Any(affinity(data_type, &spelled)));
    }
    let (name, arguments) = match spelled.split_once('(') {
        Some((name, rest)) => (
            name.to_owned() + rest.split_once(')').map_or("", |(_, after)| after),
            rest.split(')').next().unwrap_or(""),
        ),
        None => (spelled.clone(), ""),
    };
    let numbers: Vec<u32> =
        arguments.split(',').filter_map(|part| part.trim().split(' ').next()?.parse().ok()).collect();
    let unsigned = name.contains("unsigned");
    let base = name.replace("unsigned", "").replace("zerofill", "");
    let base = base.trim();
    let int = |bits: u8| Type::Int { bits, unsigned };
    let length = numbers.first().copied();
    let is_postgres = settings.is_postgres();
    Ok(match base {
        "bool" | "boolean" if is_postgres => Type::Bool,
        "bool" | "boolean" | "tinyint" => int(8),
        "smallint" | "int2" => int(16),
        "mediumint" => int(24),
        "int" | "integer" | "int4" => int(32),
        "bigint" | "int8" => int(64),
        "" if unsigned => Type::UINT8,
        "integer unsigned" => Type::UINT8,
        "signed" | "signed integer" => Type::INT8,
        "numeric" | "decimal" | "dec" if is_postgres => {
            Type::Decimal(length.map(|p| (p, numbers.get(1).copied().unwrap_or(0))))
        }
        "numeric" | "decimal" | "dec" => {
            Type::Decimal(Some((length.unwrap_or(10), numbers.get(1).copied().unwrap_or(0))))
        }
        "real" if is_postgres => Type::Real,
        "float4" => Type::Real,
        "float" if is_postgres && length.is_none_or(|n| n > 24) => Type::Double,
        "float" => {
            if length.is_some_and(|n| n > 24) {
                Type::Double
            } else {
                Type::Real
            }
        }
        "double" | "double precision" | "float8" | "real" => Type::Double,
        "text" | "tinytext" | "mediumtext" | "longtext" => Type::Text(None),
        "varchar" | "character varying" | "char varying" | "nvarchar" => Type::Text(length),
        "char" | "character" | "bpchar" => Type::Char(length.unwrap_or(1)),
        "bytea" | "blob" | "binary" | "varbinary" | "tinyblob" | "mediumblob" | "longblob" => Type::Bytes,
        "date" => Type::Date,
        "time" | "time without time zone" => Type::Time,
        "timestamptz" | "timestamp with time zone" => Type::TimestampTz,
        "datetime" | "timestamp" | "timestamp without time zone" => Type::Timestamp,
        "uuid" if is_postgres => Type::Uuid,
        _ => return unsupported(format!("the type {spelled}")),
    })
}

/// The affinity of a declared type in SQLite.
fn affinity(data_type: &D, spelled: &str) -> Affinity {
    let has = |part: &str| spelled.contains(part);
    if has("int") {
        Affinity::Integer
    } else if has("char") || has("clob") || has("text") {
        Affinity::Text
    } else if has("blob") || matches!(data_type, D::Unspecified) || spelled.is_empty() {
        Affinity::Blob
    } else if has("real") || has("floa") || has("doub") {
        Affinity::Real
    } else {
        Affinity::Numeric
    }
}

//! Binding: from the parser's tree to the bound form, with the types of a catalogue.
//!
//! [`Binder`] has a stack of scopes, one for each query around the current place. `bind/expression.rs` binds expressions,
//! `bind/query.rs` queries, `bind/function.rs` calls, `bind/types.rs` decides types and conversions, `bind/sarg.rs` pushes
//! conditions to scans, `bind/table.rs` binds definitions of tables.

mod change;
mod expression;
mod function;
mod query;
mod sarg;
mod table;
pub(crate) mod types;

use sqlparser::ast;

use crate::catalog::{Catalog, Table};
use crate::dialect::Settings;
use crate::error::{Result, unknown_name, unsupported};
use crate::ir::{Aggregate, Comparison, Expr, Slot};
use crate::value::{Affinity, Collation, Type};

pub(crate) use table::{create_table, data_type};

/// How deep views and subqueries may be nested.
const MOST_SCOPES: usize = 40;

/// How many copies of an expression a plan may have.
const MOST_COPIES: usize = 10_000;

/// A bound expression with what is known about it.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) expr: Expr,
    pub(crate) ty: Type,
    pub(crate) collation: Collation,
    /// The affinity in SQLite: columns and casts have one.
    pub(crate) affinity: Option<Affinity>,
}

impl Bound {
    pub(crate) fn new(expr: Expr, ty: Type) -> Bound {
        Bound { expr, ty, collation: Collation::Binary, affinity: None }
    }
}

/// A column that a name can mean.
#[derive(Clone, Debug)]
pub(crate) struct ScopeColumn {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) collation: Collation,
    /// Whether only a qualified name means it: the right column of USING.
    pub(crate) is_hidden: bool,
}

/// A FROM item.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) slot: Slot,
    pub(crate) name: String,
    pub(crate) columns: Vec<ScopeColumn>,
    /// The table, if it is one.
    pub(crate) table: Option<String>,
}

/// The names of one query.
#[derive(Default)]
pub(crate) struct Scope {
    pub(crate) items: Vec<Item>,
    pub(crate) grouping: Option<Grouping>,
    /// Whether the query uses a column of a scope around it.
    pub(crate) is_correlated: bool,
    /// Names of WITH.
    pub(crate) with: Vec<(String, Vec<String>, ast::Query)>,
}

/// The groups of a query, while its outputs are bound.
pub(crate) struct Grouping {
    pub(crate) slot: Slot,
    pub(crate) keys: Vec<GroupKey>,
    pub(crate) aggregates: Vec<Aggregate>,
    /// Whether the argument of an aggregate is being bound: columns are then those of the FROM clause.
    pub(crate) is_inside: bool,
}

pub(crate) struct GroupKey {
    pub(crate) ast: ast::Expr,
    pub(crate) bound: Bound,
    pub(crate) comparison: Comparison,
}

/// Binds one statement.
pub(crate) struct Binder<'c> {
    pub(crate) catalog: &'c Catalog,
    pub(crate) settings: &'c Settings,
    /// The types of the parameters: in PostgreSQL those found so far, in MySQL those of the values.
    pub(crate) params: Vec<Type>,
    pub(crate) variables: Vec<(String, Type)>,
    pub(crate) scopes: Vec<Scope>,
    /// The columns that `excluded.x` or `VALUES(x)` mean in an upsert.
    pub(crate) proposed: Option<Table>,
    /// Constants that PostgreSQL converts although no row needs them.
    pub(crate) constants: Vec<Expr>,
    next: Slot,
    depth: usize,
    /// How many copies of the expression that is bound now the plan has.
    copies: usize,
}

impl<'c> Binder<'c> {
    pub(crate) fn new(catalog: &'c Catalog, params: Vec<Type>) -> Binder<'c> {
        Binder {
            catalog,
            settings: catalog.settings(),
            params,
            variables: Vec::new(),
            scopes: Vec::new(),
            proposed: None,
            constants: Vec::new(),
            next: 1,
            depth: 0,
            copies: 1,
        }
    }

    pub(crate) fn slot(&mut self) -> Result<Slot> {
        self.next = match self.next.checked_add(1) {
            Some(next) => next,
            None => return unsupported("too many tables in a statement"),
        };
        Ok(self.next)
    }

    fn enter(&mut self, scope: Scope) -> Result<()> {
        if self.scopes.len() >= MOST_SCOPES {
            return unsupported("subqueries are nested too deeply");
        }
        self.scopes.push(scope);
        Ok(())
    }

    /// The collation of a text without one of its own.
    pub(crate) fn default_collation(&self) -> Collation {
        match (self.settings.is_mysql(), self.settings.ignores_case) {
            (true, true) => Collation::PaddedNoCase,
            (true, false) => Collation::Padded,
            _ => Collation::Binary,
        }
    }

    /// The item of a table.
    pub(crate) fn table_item(&mut self, table: &Table, alias: Option<&str>) -> Result<Item> {
        let columns = table.columns.iter().map(|column| ScopeColumn {
            name: column.name.clone(),
            ty: column.ty,
            collation: column.collation,
            is_hidden: false,
        });
        Ok(Item {
            slot: self.slot()?,
            name: alias.unwrap_or(&table.name).to_owned(),
            columns: columns.collect(),
            table: Some(table.name.clone()),
        })
    }

    /// The meaning of a column name.
    fn column(&mut self, qualifier: Option<&str>, name: &str) -> Result<Bound> {
        let variable = self.variables.iter().rposition(|(variable, _)| variable.eq_ignore_ascii_case(name));
        // MySQL's variables come before columns; a record of PL/pgSQL is named like a table.
        let field = qualifier.and_then(|qualifier| {
            let full = format!("{qualifier}.{name}");
            self.variables.iter().rposition(|(variable, _)| variable.eq_ignore_ascii_case(&full))
        });
        if let Some(at) = field.or(variable.filter(|_| qualifier.is_none() && self.settings.is_mysql())) {
            let ty = self.variables[at].1;
            return Ok(Bound { collation: self.default_collation(), ..Bound::new(Expr::Variable(at), ty) });
        }
        for level in (0..self.scopes.len()).rev() {
            let mut found: Option<(Slot, usize, ScopeColumn)> = None;
            for item in &self.scopes[level].items {
                if qualifier.is_some_and(|qualifier| !item.name.eq_ignore_ascii_case(qualifier)) {
                    continue;
                }
                for (at, column) in item.columns.iter().enumerate() {
                    let is_meant =
                        column.name.eq_ignore_ascii_case(name) && (qualifier.is_some() || !column.is_hidden);
                    if is_meant && found.is_some() {
                        return unknown_name(format!("column {name} is ambiguous"));
                    }
                    if is_meant {
                        found = Some((item.slot, at, column.clone()));
                    }
                }
            }
            let Some((slot, at, column)) = found else { continue };
            for scope in &mut self.scopes[level + 1..] {
                scope.is_correlated = true;
            }
            let affinity = match column.ty {
                Type::Any(affinity) => Some(affinity),
                _ => None,
            };
            let expr = Expr::Column(slot, at as u16);
            let bound = Bound { expr, ty: column.ty, collation: column.collation, affinity };
            return self.grouped_column(level, bound, name);
        }
        if let (Some(at), None) = (variable, qualifier) {
            let ty = self.variables[at].1;
            return Ok(Bound { collation: self.default_collation(), ..Bound::new(Expr::Variable(at), ty) });
        }
        let shown = qualifier.map_or(name.to_owned(), |qualifier| format!("{qualifier}.{name}"));
        unknown_name(format!("column {shown} does not exist"))
    }

    fn grouped_column(&mut self, level: usize, bound: Bound, name: &str) -> Result<Bound> {
        let is_postgres = self.settings.is_postgres();
        let is_dependent = is_postgres && self.depends_on_keys(level, &bound.expr);
        let Some(grouping) = &mut self.scopes[level].grouping else { return Ok(bound) };
        if grouping.is_inside {
            return Ok(bound);
        }
        if let Some(at) = grouping.keys.iter().position(|key| key.bound.expr == bound.expr) {
            return Ok(Bound { expr: Expr::Column(grouping.slot, at as u16), ..bound });
        }
        if is_postgres && !is_dependent {
            return crate::error::invalid(format!("column {name} must appear in GROUP BY"));
        }
        let first = Aggregate {
            kind: crate::ir::AggregateKind::First,
            args: vec![bound.expr.clone()],
            distinct: false,
            filter: None,
            comparison: Comparison::default(),
        };
        Ok(Bound { expr: grouping.add(first), ..bound })
    }

    /// Whether the primary key of a column's table is grouped, which determines the column.
    fn depends_on_keys(&self, level: usize, expr: &Expr) -> bool {
        let Expr::Column(slot, _) = expr else { return false };
        let scope = &self.scopes[level];
        let Some(grouping) = &scope.grouping else { return false };
        let Some(item) = scope.items.iter().find(|item| item.slot == *slot) else { return false };
        let Some(table) = item.table.as_ref().and_then(|name| self.catalog.table(name)) else { return false };
        table.primary_key().is_some_and(|key| {
            key.columns.iter().all(|at| {
                let column = Expr::Column(*slot, *at as u16);
                grouping.keys.iter().any(|key| key.bound.expr == column)
            })
        })
    }
}

impl Grouping {
    /// The column of an aggregate in the rows of the groups.
    fn add(&mut self, aggregate: Aggregate) -> Expr {
        let at = self.aggregates.iter().position(|one| *one == aggregate).unwrap_or_else(|| {
            self.aggregates.push(aggregate);
            self.aggregates.len() - 1
        });
        Expr::Column(self.slot, (self.keys.len() + at) as u16)
    }
}

/// The name of an identifier as it is compared.
pub(crate) fn ident(name: &ast::Ident, settings: &Settings) -> String {
    if settings.is_postgres() && name.quote_style.is_none() {
        name.value.to_lowercase()
    } else {
        name.value.clone()
    }
}

/// The last part of a name: schemas are not told apart.
pub(crate) fn object(name: &ast::ObjectName, settings: &Settings) -> Result<String> {
    match name.0.last() {
        Some(ast::ObjectNamePart::Identifier(last)) => Ok(ident(last, settings)),
        _ => unsupported("a name that is not an identifier"),
    }
}

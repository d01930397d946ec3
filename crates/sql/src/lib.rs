//! The SQL of PostgreSQL, MySQL, MariaDB and SQLite: a parser, types, and an evaluator that computes the answer that a
//! correct database gives.
//!
//! ```text
//! text ──parse──> Statement ──bind──> Plan ──execute──> Effect: reply, changes, doubts
//!                               Catalog ┘         └ View: the rows that the statement can see
//! ```
//!
//! A [`Statement`] is parsed once and run many times; it remembers its plan. [`execute()`] runs it on a [`View`] and returns
//! an [`Effect`], which the caller applies. [`targets`] and [`recheck`] split a statement as PostgreSQL does at *read
//! committed*. [`answers_match`] compares the answer with a logged one. [`Database`] is a view with plain tables.
//!
//! ```
//! use isoscope_sql::{Database, Dialect, Reply, Settings, answers_match, Match};
//! use isoscope_log::{Answer, Scalar};
//!
//! let settings = Settings::new(Dialect::Postgres);
//! let mut database = Database::new(settings.clone());
//! database.run("CREATE TABLE account (id INT PRIMARY KEY, balance NUMERIC(10, 2))", &[])?;
//! database.run("INSERT INTO account VALUES (1, 10), (2, ?)", &[Scalar::Int(7)])?;
//! let effect = database.run("SELECT SUM(balance) / 3 FROM account", &[])?;
//! let logged = Answer::Rows(vec![vec![Scalar::Text("5.6666666666666667".to_owned())]]);
//! assert_eq!(answers_match(&effect.reply, &logged, &effect.doubts, &settings), Match::Yes);
//! # Ok::<(), isoscope_sql::SqlError>(())
//! ```
//!
//! **Soundness.** An error whose class [`is_answer`](ErrorClass::is_answer) is one that a correct database gives too. What the
//! evaluator does not know is an error of class *unsupported* or *indeterminate*, or a [`Doubt`] of the effect; it is never
//! a wrong answer. The crate does no IO, reads no clock, and does not panic.

mod aggregate;
mod answer;
mod arithmetic;
mod bind;
mod cast;
mod catalog;
mod change;
mod compare;
mod constraint;
mod database;
mod decimal;
mod dialect;
mod error;
mod execute;
mod expression;
mod function;
mod ir;
mod moment;
mod nesting;
mod parse;
mod plan;
mod procedure;
mod select;
mod value;
mod view;
mod walk;
mod work;

pub use answer::{Doubt, Match, Reply, Rows, answers_match, bind_holes, rows_match};
pub use catalog::{Action, Catalog, CatalogChange, Column, Definition, ForeignKey, Key, Table};
pub use change::{Change, Effect};
pub use database::Database;
pub use decimal::Decimal;
pub use dialect::{Dialect, Settings};
pub use error::{ErrorClass, SqlError};
pub use execute::{execute, execute_at, recheck, recheck_at, targets};
pub use parse::{Kind, ParseError, Statement};
pub use procedure::Routine;
pub use value::{Affinity, Collation, Hole, Type, Value};
pub use view::{RowId, Sarg, TableId, View, Visit};
pub use work::Row;

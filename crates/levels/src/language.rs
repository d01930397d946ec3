//! The language in which levels are defined (`.iso` files): many-sorted first-order logic with relational operators.
//!
//! A [`Definition`] says which histories a level allows: those for which some *witness* satisfies all its axioms. The framework
//! says what a witness is, and what every witness must satisfy. `docs/language.md` is the manual.
//!
//! The way of a text: `lexer.rs` splits it into tokens, `parser.rs` builds the syntax tree (`ast.rs`), `resolve.rs` finds what the
//! names mean, checks sorts and arities, and returns the definition (`definition.rs`; `values.rs`: variables of values). `print.rs` prints a syntax tree, and
//! `words.rs` says in English what a definition means. An [`Error`] points at the text.
//!
//! ```
//! use isoscope_levels::Framework;
//! use isoscope_levels::language::Library;
//!
//! let mut library = Library::shipped().clone();
//! let added = library.add("level mine in commit-order extends causal { forall t: Txn. exists x: Key. reads(t, x) }")?;
//! assert_eq!(added[0].framework, Framework::CommitOrder);
//! let error = library.add("level other in commit-order { acyclic (so | vis) }").unwrap_err();
//! assert_eq!(error.to_string(), "a level in commit-order has no relation `vis`");
//! # Ok::<(), isoscope_levels::language::Error>(())
//! ```

mod ast;
mod definition;
mod error;
mod lexer;
mod library;
mod parser;
mod print;
mod resolve;
mod shape;
mod values;
mod words;

pub use ast::Sort;
pub use definition::{Atom, Axiom, Definition, Formula, Quantifier, Relation, Variable};
pub use error::Error;
pub use library::{Library, NotDefined};
pub use shape::Shape;

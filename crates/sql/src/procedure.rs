//! Stored procedures and functions.

use sqlparser::tokenizer::TokenWithSpan;

use crate::answer::Reply;
use crate::change::Change;
use crate::dialect::Dialect;
use crate::error::{Result, unsupported};
use crate::expression::Context;
use crate::ir::Expr;
use crate::parse::{Content, ParseError};
use crate::value::{Type, Value};

/// A stored procedure or function.
#[derive(Clone, Debug, PartialEq)]
pub struct Routine {
    /// Its name.
    pub name: String,
    /// Whether it is a function.
    pub is_function: bool,
    /// Whether it replaces one of the same name.
    pub is_replacement: bool,
    pub(crate) returns: Option<Type>,
}

/// CREATE and DROP of PROCEDURE and FUNCTION; `None` for other statements.
pub(crate) fn definition(
    _dialect: Dialect,
    _text: &str,
    _tokens: &[TokenWithSpan],
) -> std::result::Result<Option<Content>, ParseError> {
    Ok(None)
}

/// CALL.
pub(crate) fn call(_cx: &Context<'_>, _name: &str, _args: &[Expr]) -> Result<(Reply, Vec<Change>)> {
    unsupported("procedures")
}

/// A call of a function in an expression.
pub(crate) fn call_function(_cx: &Context<'_>, _name: &str, _args: Vec<Value>) -> Result<Value> {
    unsupported("functions")
}

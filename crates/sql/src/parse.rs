//! Parsing: from a text to a [`Statement`].
//!
//! `sqlparser` reads the tokens and the statements, with a limit on nesting. Parameters are `?` in the text of a log; the
//! tokens are numbered here. Transaction control is recognised here, because its spellings differ more than the parser
//! knows. What is not supported is [`Kind::Unsupported`], with the tables that it may change.

use std::fmt;
use std::sync::{Arc, Mutex};

use sqlparser::ast;
use sqlparser::dialect::{Dialect as Parsing, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::catalog::Catalog;
use crate::dialect::Dialect;
use crate::nesting::is_too_deep;
use crate::plan::Plan;
use crate::procedure;
use crate::value::Type;

/// How deep expressions and queries may be nested.
const DEPTH: usize = 60;

/// The longest statement that is parsed.
const LONGEST: usize = 32 << 20;

/// A text is not SQL that the parser knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong.
    pub message: String,
    /// Line and column, from 1, if they are known.
    pub place: Option<(u64, u64)>,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.place {
            Some((line, column)) if !self.message.contains("Line:") => write!(f, " at {line}:{column}"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for ParseError {}

/// What a statement is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// BEGIN or START TRANSACTION.
    Begin,
    /// COMMIT or END.
    Commit,
    /// ROLLBACK of the transaction.
    Rollback,
    /// SAVEPOINT.
    Savepoint(String),
    /// ROLLBACK TO a savepoint.
    RollbackTo(String),
    /// RELEASE of a savepoint.
    Release(String),
    /// SET TRANSACTION, and other settings, which do not concern tables.
    Set,
    /// A query.
    Query {
        /// Whether it locks rows: FOR UPDATE, FOR SHARE.
        locks: bool,
    },
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE, TRUNCATE.
    Delete,
    /// A change of the catalogue.
    Definition,
    /// A call of a procedure.
    Call,
    /// Something that the evaluator does not support. A correct database may answer anything.
    Unsupported {
        /// Why.
        why: String,
        /// The tables that it may read or write; `None` if they are not known.
        tables: Option<Vec<String>>,
        /// Whether it may write.
        writes: bool,
    },
}

/// A parsed statement. It is immutable, and remembers the plan of its last catalogue.
#[derive(Debug)]
pub struct Statement {
    text: String,
    kind: Kind,
    parameters: usize,
    pub(crate) content: Content,
    plan: Mutex<Option<Remembered>>,
}

#[derive(Debug)]
pub(crate) enum Content {
    Parsed(Box<ast::Statement>),
    Routine(Arc<procedure::Routine>),
    DropRoutine { name: String, if_exists: bool },
    None,
}

type Remembered = (Catalog, Vec<Type>, Arc<Plan>);

impl Statement {
    /// Parses one statement.
    pub fn parse(dialect: Dialect, text: &str) -> Result<Statement, ParseError> {
        if text.len() > LONGEST {
            return Ok(Statement::unsupported(text, "the statement is longer than 32 MiB".to_owned()));
        }
        let tokens = tokens(dialect, text)?;
        if let Some(kind) = control(&tokens) {
            return Ok(Statement::new(text, kind, 0, Content::None));
        }
        if let Some(content) = procedure::definition(dialect, text, &tokens)? {
            return Ok(Statement::new(text, Kind::Definition, 0, content));
        }
        if is_too_deep(tokens.iter().map(|token| &token.token)) {
            return Err(ParseError { message: "the statement is nested too deeply".to_owned(), place: None });
        }
        let parameters = tokens.iter().filter(|token| matches!(token.token, Token::Placeholder(_))).count();
        let statements = parser(dialect)
            .with_tokens_with_locations(tokens)
            .parse_statements()
            .map_err(|error| ParseError { message: error.to_string(), place: None })?;
        let mut statements = statements.into_iter();
        match (statements.next(), statements.next()) {
            (Some(statement), None) => {
                let kind = kind(&statement);
                Ok(Statement::new(text, kind, parameters, Content::Parsed(Box::new(statement))))
            }
            (None, _) => Err(ParseError { message: "there is no statement".to_owned(), place: None }),
            (Some(_), Some(_)) => Ok(Statement::unsupported(text, "several statements in one".to_owned())),
        }
    }

    fn new(text: &str, kind: Kind, parameters: usize, content: Content) -> Statement {
        Statement { text: text.to_owned(), kind, parameters, content, plan: Mutex::new(None) }
    }

    /// A statement that may do anything.
    pub fn unsupported(text: &str, why: String) -> Statement {
        let kind = Kind::Unsupported { why, tables: None, writes: true };
        Statement::new(text, kind, 0, Content::None)
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it is.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The number of its parameters.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// The plan for a catalogue and types of parameters, if it is remembered.
    pub(crate) fn remembered(&self, catalog: &Catalog, params: &[Type]) -> Option<Arc<Plan>> {
        let plan = self.plan.lock().ok()?;
        let (known, types, plan) = plan.as_ref()?;
        (known.is_same(catalog) && types == params).then(|| plan.clone())
    }

    pub(crate) fn remember(&self, catalog: &Catalog, params: &[Type], plan: &Arc<Plan>) {
        if let Ok(mut remembered) = self.plan.lock() {
            *remembered = Some((catalog.clone(), params.to_vec(), plan.clone()));
        }
    }
}

/// The parser of a dialect.
pub(crate) fn parser(dialect: Dialect) -> Parser<'static> {
    Parser::new(parsing(dialect)).with_recursion_limit(DEPTH)
}

fn parsing(dialect: Dialect) -> &'static dyn Parsing {
    match dialect {
        Dialect::Postgres => &PostgreSqlDialect {},
        Dialect::MySql => &MySqlDialect {},
        Dialect::Sqlite => &SQLiteDialect {},
    }
}

/// The tokens of a text, with numbered parameters.
pub(crate) fn tokens(dialect: Dialect, text: &str) -> Result<Vec<TokenWithSpan>, ParseError> {
    let mut tokens = Tokenizer::new(parsing(dialect), text).tokenize_with_location().map_err(|error| {
        ParseError { message: error.message, place: Some((error.location.line, error.location.column)) }
    })?;
    let mut number = 0;
    for token in &mut tokens {
        let is_parameter = match &token.token {
            Token::Question => true,
            Token::Placeholder(name) => name == "?",
            _ => false,
        };
        if is_parameter {
            number += 1;
            token.token = Token::Placeholder(format!("?{number}"));
        }
    }
    if dialect == Dialect::Sqlite {
        replace_is(&mut tokens);
    }
    Ok(tokens)
}

/// SQLite's `a IS b` is `a <=> b` for the parser.
fn replace_is(tokens: &mut [TokenWithSpan]) {
    let word = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => word.value.to_ascii_uppercase(),
        _ => String::new(),
    };
    let places: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    for pair in places.windows(2) {
        let is_test =
            matches!(word(&tokens[pair[1]]).as_str(), "NULL" | "NOT" | "TRUE" | "FALSE" | "DISTINCT");
        if word(&tokens[pair[0]]) == "IS" && !is_test {
            tokens[pair[0]].token = Token::Spaceship;
        }
    }
}

/// Transaction control.
fn control(tokens: &[TokenWithSpan]) -> Option<Kind> {
    let words: Vec<(String, Keyword)> = tokens
        .iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_) | Token::SemiColon | Token::EOF))
        .take(6)
        .map(|token| match &token.token {
            Token::Word(word) => (word.value.clone(), word.keyword),
            _ => (String::new(), Keyword::NoKeyword),
        })
        .collect();
    let upper: Vec<String> = words.iter().map(|(word, _)| word.to_ascii_uppercase()).collect();
    let upper: Vec<&str> = upper.iter().map(String::as_str).collect();
    let named = |at: usize| words.get(at).map(|(word, _)| word.to_lowercase()).unwrap_or_default();
    Some(match &upper[..] {
        ["BEGIN", ..] | ["START", "TRANSACTION", ..] => Kind::Begin,
        ["COMMIT", ..] | ["END"] | ["END", "TRANSACTION" | "WORK"] => Kind::Commit,
        ["ROLLBACK", "WORK" | "TRANSACTION", "TO", "SAVEPOINT", _] => Kind::RollbackTo(named(4)),
        ["ROLLBACK", "TO", "SAVEPOINT", _] | ["ROLLBACK", "WORK" | "TRANSACTION", "TO", _] => {
            Kind::RollbackTo(named(3))
        }
        ["ROLLBACK", "TO", _] => Kind::RollbackTo(named(2)),
        ["ROLLBACK", ..] | ["ABORT"] => Kind::Rollback,
        ["SAVEPOINT", _] => Kind::Savepoint(named(1)),
        ["RELEASE", "SAVEPOINT", _] => Kind::Release(named(2)),
        ["RELEASE", _] => Kind::Release(named(1)),
        ["SET", "TRANSACTION" | "SESSION" | "GLOBAL" | "LOCAL", ..] => Kind::Set,
        ["SET", name, ..] if !name.is_empty() && !matches!(*name, "PASSWORD" | "ROLE") => Kind::Set,
        _ => return None,
    })
}

fn kind(statement: &ast::Statement) -> Kind {
    match statement {
        ast::Statement::Query(query) => Kind::Query { locks: !query.locks.is_empty() },
        ast::Statement::Insert(_) => Kind::Insert,
        ast::Statement::Update(_) => Kind::Update,
        ast::Statement::Delete(_) | ast::Statement::Truncate(_) => Kind::Delete,
        ast::Statement::CreateTable(_)
        | ast::Statement::CreateView(_)
        | ast::Statement::CreateIndex(_)
        | ast::Statement::Drop { .. } => Kind::Definition,
        ast::Statement::Call(_) => Kind::Call,
        ast::Statement::Analyze(_) | ast::Statement::Set(_) => Kind::Set,
        other => {
            let text = other.to_string();
            let word = text.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
            let writes = !matches!(word.as_str(), "EXPLAIN" | "SHOW" | "DESCRIBE" | "PRAGMA");
            Kind::Unsupported { why: format!("{word} is not supported"), tables: None, writes }
        }
    }
}

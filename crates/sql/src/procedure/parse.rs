//! Reads the definitions of procedures and functions.

use std::sync::Arc;

use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::catalog::Catalog;
use crate::dialect::{Dialect, Settings};
use crate::nesting::is_too_deep;
use crate::parse::{Content, ParseError, parser, tokens};
use crate::procedure::{Declared, Param, Routine, Step};
use crate::value::Type;

/// How deep blocks may be nested.
const DEPTH: u32 = 40;

type Parsed<T> = Result<T, ParseError>;

fn wrong<T>(message: impl Into<String>) -> Parsed<T> {
    Err(ParseError { message: message.into(), place: None })
}

/// CREATE and DROP of PROCEDURE and FUNCTION; `None` for other statements.
pub(crate) fn definition(dialect: Dialect, _text: &str, tokens: &[TokenWithSpan]) -> Parsed<Option<Content>> {
    let mut reader = Reader::new(dialect, tokens);
    if dialect == Dialect::Sqlite {
        return Ok(None);
    }
    let is_drop = reader.takes("DROP");
    if !is_drop && !reader.takes("CREATE") {
        return Ok(None);
    }
    let is_replacement = reader.takes("OR") && reader.takes("REPLACE");
    let is_function = match (reader.takes("PROCEDURE"), reader.takes("FUNCTION")) {
        (true, _) => false,
        (false, true) => true,
        (false, false) => return Ok(None),
    };
    if is_drop {
        let if_exists = reader.takes("IF") && reader.takes("EXISTS");
        return Ok(Some(Content::DropRoutine { name: reader.name()?, if_exists }));
    }
    reader.routine(is_function, is_replacement).map(|routine| Some(Content::Routine(Arc::new(routine))))
}

struct Reader {
    dialect: Dialect,
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    variables: Vec<Declared>,
    cursors: Vec<(String, ast::Query)>,
    not_found: Option<Vec<Step>>,
}

impl Reader {
    fn new(dialect: Dialect, tokens: &[TokenWithSpan]) -> Reader {
        let tokens = tokens.iter().map(|token| token.token.clone());
        let tokens = tokens.filter(|token| !matches!(token, Token::Whitespace(_) | Token::EOF)).collect();
        Reader {
            dialect,
            tokens,
            at: 0,
            depth: 0,
            variables: Vec::new(),
            cursors: Vec::new(),
            not_found: None,
        }
    }

    fn word(&self, ahead: usize) -> String {
        match self.tokens.get(self.at + ahead) {
            Some(Token::Word(word)) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
            _ => String::new(),
        }
    }

    fn takes(&mut self, word: &str) -> bool {
        let is = self.word(0) == word;
        self.at += usize::from(is);
        is
    }

    fn takes_token(&mut self, token: &Token) -> bool {
        let is = self.tokens.get(self.at) == Some(token);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, word: &str) -> Parsed<()> {
        if self.takes(word) { Ok(()) } else { wrong(format!("expected {word}, found {}", self.shown())) }
    }

    fn end(&mut self) -> Parsed<()> {
        if self.takes_token(&Token::SemiColon) {
            Ok(())
        } else {
            wrong(format!("expected ;, found {}", self.shown()))
        }
    }

    fn shown(&self) -> String {
        self.tokens.get(self.at).map_or("the end".to_owned(), ToString::to_string)
    }

    fn name(&mut self) -> Parsed<String> {
        let mut name = match self.tokens.get(self.at) {
            Some(Token::Word(word)) => word.value.clone(),
            _ => return wrong(format!("expected a name, found {}", self.shown())),
        };
        self.at += 1;
        while self.tokens.get(self.at) == Some(&Token::Period) {
            self.at += 1;
            name = self.name()?;
        }
        Ok(if self.dialect == Dialect::Postgres { name.to_lowercase() } else { name })
    }

    /// The tokens up to one of the words or tokens, outside of parentheses and CASE.
    fn until(&mut self, words: &[&str], stops: &[Token]) -> Vec<Token> {
        let start = self.at;
        let (mut parentheses, mut cases) = (0_u32, 0_u32);
        while let Some(token) = self.tokens.get(self.at) {
            let word = self.word(0);
            if parentheses == 0 && cases == 0 && (words.contains(&word.as_str()) || stops.contains(token)) {
                break;
            }
            match token {
                Token::LParen => parentheses += 1,
                Token::RParen => parentheses = parentheses.saturating_sub(1),
                _ if word == "CASE" => cases += 1,
                _ if word == "END" => cases = cases.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
        self.tokens[start..self.at].to_vec()
    }

    fn parse_expr(&self, tokens: Vec<Token>) -> Parsed<ast::Expr> {
        if is_too_deep(tokens.iter()) {
            return wrong("the statement is nested too deeply");
        }
        let mut parser = parser(self.dialect).with_tokens(tokens);
        let expr =
            parser.parse_expr().map_err(|error| ParseError { message: error.to_string(), place: None })?;
        match parser.peek_token().token {
            Token::EOF => Ok(expr),
            other => wrong(format!("unexpected {other} after an expression")),
        }
    }

    fn expr(&mut self, words: &[&str], stops: &[Token]) -> Parsed<ast::Expr> {
        let tokens = self.until(words, stops);
        self.parse_expr(tokens)
    }

    fn ty(&mut self, words: &[&str], stops: &[Token]) -> Parsed<Type> {
        let tokens = self.until(words, stops);
        let data_type = parser(self.dialect)
            .with_tokens(tokens)
            .parse_data_type()
            .map_err(|error| ParseError { message: error.to_string(), place: None })?;
        let catalog = Catalog::new(Settings::new(self.dialect));
        crate::bind::data_type(&catalog, &data_type)
            .map_err(|error| ParseError { message: error.message, place: None })
    }

    fn statement(&self, tokens: Vec<Token>) -> Parsed<ast::Statement> {
        if is_too_deep(tokens.iter()) {
            return wrong("the statement is nested too deeply");
        }
        let mut parser = parser(self.dialect).with_tokens(tokens);
        let statement = parser
            .parse_statement()
            .map_err(|error| ParseError { message: error.to_string(), place: None })?;
        match parser.peek_token().token {
            Token::EOF => Ok(statement),
            other => wrong(format!("unexpected {other} after a statement")),
        }
    }

    fn query(&mut self, words: &[&str]) -> Parsed<ast::Query> {
        let tokens = self.until(words, &[Token::SemiColon]);
        match self.statement(tokens)? {
            ast::Statement::Query(query) => Ok(*query),
            _ => wrong("expected a query"),
        }
    }

    fn routine(mut self, is_function: bool, is_replacement: bool) -> Parsed<Routine> {
        let name = self.name()?;
        let params = self.params()?;
        let mut returns = None;
        let mut body = None;
        while self.at < self.tokens.len() {
            if self.takes("RETURNS") {
                let words = [
                    "LANGUAGE",
                    "AS",
                    "BEGIN",
                    "DETERMINISTIC",
                    "READS",
                    "NOT",
                    "IMMUTABLE",
                    "STABLE",
                    "RETURN",
                    "NO",
                    "MODIFIES",
                ];
                returns = Some(self.ty(&words, &[])?);
            } else if self.word(0) == "BEGIN" && self.dialect == Dialect::MySql {
                body = Some(self.block()?);
                self.takes_token(&Token::SemiColon);
            } else if self.dialect == Dialect::MySql && self.starts_statement() {
                body = Some(vec![self.step()?]);
            } else if self.takes("AS") && self.dialect == Dialect::Postgres {
                let text = match self.tokens.get(self.at) {
                    Some(Token::DollarQuotedString(text)) => text.value.clone(),
                    Some(Token::SingleQuotedString(text)) => text.clone(),
                    _ => return wrong("expected the body of a routine"),
                };
                self.at += 1;
                body = Some(self.plpgsql(&text)?);
            } else if self.takes("LANGUAGE") {
                if self.word(0) != "PLPGSQL" && self.dialect == Dialect::Postgres {
                    return wrong("only plpgsql is supported");
                }
                self.at += 1;
            } else {
                self.at += 1;
            }
        }
        let Some(body) = body else { return wrong("the routine has no body") };
        let Reader { variables, cursors, not_found, .. } = self;
        Ok(Routine {
            name,
            is_function,
            is_replacement,
            returns,
            params,
            variables,
            cursors,
            not_found,
            body,
        })
    }

    fn starts_statement(&self) -> bool {
        matches!(
            self.word(0).as_str(),
            "SELECT" | "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "RETURN" | "SET" | "IF" | "CALL"
        )
    }

    /// PL/pgSQL's body is a text.
    fn plpgsql(&mut self, text: &str) -> Parsed<Vec<Step>> {
        let tokens = tokens(self.dialect, text)?;
        let mut inner = Reader::new(self.dialect, &tokens);
        if inner.takes("DECLARE") {
            while inner.word(0) != "BEGIN" && inner.at < inner.tokens.len() {
                inner.declaration()?;
            }
        }
        let body = inner.block()?;
        self.variables.append(&mut inner.variables);
        self.cursors.append(&mut inner.cursors);
        Ok(body)
    }

    fn params(&mut self) -> Parsed<Vec<Param>> {
        if !self.takes_token(&Token::LParen) {
            return wrong("expected parameters");
        }
        let mut params = Vec::new();
        while !self.takes_token(&Token::RParen) {
            if self.at >= self.tokens.len() {
                return wrong("the parameters do not end");
            }
            let (mut is_in, mut is_out) = (true, false);
            if self.takes("INOUT") {
                is_out = true;
            } else if self.takes("OUT") {
                (is_in, is_out) = (false, true);
            } else {
                self.takes("IN");
            }
            let name = self.name()?;
            let ty = self.ty(&["DEFAULT"], &[Token::Comma, Token::RParen])?;
            params.push(Param { name, ty, is_out, is_in });
            self.takes_token(&Token::Comma);
        }
        Ok(params)
    }

    /// A line of PL/pgSQL's DECLARE.
    fn declaration(&mut self) -> Parsed<()> {
        let name = self.name()?;
        if self.takes("CURSOR") {
            if !self.takes("FOR") {
                self.expect("IS")?;
            }
            let query = self.query(&[])?;
            self.cursors.push((name, query));
            return self.end();
        }
        if self.takes("RECORD") {
            return self.end();
        }
        self.takes("CONSTANT");
        let stops = [Token::SemiColon, Token::Assignment, Token::Eq];
        let ty = self.ty(&["DEFAULT", "NOT"], &stops)?;
        let has_value =
            self.takes("DEFAULT") || self.takes_token(&Token::Assignment) || self.takes_token(&Token::Eq);
        let value = if has_value { Some(self.expr(&[], &[Token::SemiColon])?) } else { None };
        self.variables.push(Declared { name, ty, value });
        self.end()
    }

    /// MySQL's DECLARE.
    fn declare(&mut self) -> Parsed<()> {
        if matches!(self.word(0).as_str(), "CONTINUE" | "EXIT") {
            let is_continue = self.word(0) == "CONTINUE";
            self.at += 1;
            self.expect("HANDLER")?;
            self.expect("FOR")?;
            let is_not_found = self.takes("NOT") && self.takes("FOUND");
            if !(is_continue && is_not_found) {
                return wrong("only CONTINUE HANDLER FOR NOT FOUND is supported");
            }
            let step = self.step()?;
            self.not_found = Some(vec![step]);
            return Ok(());
        }
        let mut names = vec![self.name()?];
        if self.takes("CURSOR") {
            self.expect("FOR")?;
            let query = self.query(&[])?;
            self.cursors.append(&mut names.into_iter().map(|name| (name, query.clone())).collect());
            return self.end();
        }
        while self.takes_token(&Token::Comma) {
            names.push(self.name()?);
        }
        let ty = self.ty(&["DEFAULT"], &[Token::SemiColon])?;
        let value = if self.takes("DEFAULT") { Some(self.expr(&[], &[Token::SemiColon])?) } else { None };
        for name in names {
            self.variables.push(Declared { name, ty, value: value.clone() });
        }
        self.end()
    }

    /// BEGIN .. END.
    fn block(&mut self) -> Parsed<Vec<Step>> {
        self.expect("BEGIN")?;
        let steps = self.list(&["END"])?;
        if self.word(0) == "EXCEPTION" {
            return wrong("EXCEPTION is not supported");
        }
        self.expect("END")?;
        Ok(steps)
    }

    /// Steps up to one of the words.
    fn list(&mut self, ends: &[&str]) -> Parsed<Vec<Step>> {
        if self.depth >= DEPTH {
            return wrong("blocks are nested too deeply");
        }
        self.depth += 1;
        let mut steps = Vec::new();
        while !ends.contains(&self.word(0).as_str()) && self.word(0) != "EXCEPTION" {
            if self.at >= self.tokens.len() {
                return wrong("the body does not end");
            }
            if self.dialect == Dialect::MySql && self.takes("DECLARE") {
                self.declare()?;
            } else {
                steps.push(self.step()?);
            }
        }
        self.depth -= 1;
        Ok(steps)
    }

    /// `label:` or `<<label>>`.
    fn label(&mut self) -> Parsed<Option<String>> {
        if self.takes_token(&Token::ShiftLeft) {
            let name = self.name()?;
            if !self.takes_token(&Token::ShiftRight) {
                return wrong("expected >>");
            }
            return Ok(Some(name));
        }
        let is_label = matches!(self.tokens.get(self.at), Some(Token::Word(_)))
            && self.tokens.get(self.at + 1) == Some(&Token::Colon);
        if !is_label {
            return Ok(None);
        }
        let name = self.name()?;
        self.at += 1;
        Ok(Some(name))
    }

    /// The label after END LOOP, and the semicolon.
    fn after_loop(&mut self, word: &str) -> Parsed<()> {
        self.expect("END")?;
        self.expect(word)?;
        if self.tokens.get(self.at) != Some(&Token::SemiColon) {
            self.name()?;
        }
        self.end()
    }

    fn step(&mut self) -> Parsed<Step> {
        let label = self.label()?;
        match self.word(0).as_str() {
            "BEGIN" => {
                let steps = self.block()?;
                self.end()?;
                Ok(Step::Block(steps))
            }
            "IF" => self.if_step(),
            "WHILE" => {
                self.at += 1;
                let word = if self.dialect == Dialect::MySql { "DO" } else { "LOOP" };
                let before = Some(Box::new(self.expr(&[word], &[])?));
                self.expect(word)?;
                let body = self.list(&["END"])?;
                self.after_loop(if word == "DO" { "WHILE" } else { "LOOP" })?;
                Ok(Step::Loop { label, before, until: None, body })
            }
            "LOOP" => {
                self.at += 1;
                let body = self.list(&["END"])?;
                self.after_loop("LOOP")?;
                Ok(Step::Loop { label, before: None, until: None, body })
            }
            "REPEAT" => {
                self.at += 1;
                let body = self.list(&["UNTIL"])?;
                self.expect("UNTIL")?;
                let until = Some(Box::new(self.expr(&["END"], &[])?));
                self.after_loop("REPEAT")?;
                Ok(Step::Loop { label, before: None, until, body })
            }
            "FOR" => self.for_step(label),
            _ => {
                let step = self.simple()?;
                self.end()?;
                Ok(step)
            }
        }
    }

    fn if_step(&mut self) -> Parsed<Step> {
        self.expect("IF")?;
        let mut arms = Vec::new();
        let mut otherwise = Vec::new();
        loop {
            let condition = self.expr(&["THEN"], &[])?;
            self.expect("THEN")?;
            arms.push((condition, self.list(&["ELSEIF", "ELSIF", "ELSE", "END"])?));
            if self.takes("ELSEIF") || self.takes("ELSIF") {
                continue;
            }
            if self.takes("ELSE") {
                otherwise = self.list(&["END"])?;
            }
            self.expect("END")?;
            self.expect("IF")?;
            self.end()?;
            return Ok(Step::If(arms, otherwise));
        }
    }

    fn for_step(&mut self, label: Option<String>) -> Parsed<Step> {
        self.expect("FOR")?;
        let name = self.name()?;
        self.expect("IN")?;
        let word = if self.dialect == Dialect::MySql { "DO" } else { "LOOP" };
        let end = if word == "DO" { "FOR" } else { "LOOP" };
        let reverse = self.takes("REVERSE");
        let tokens = self.until(&[word], &[]);
        // `1..10` is two numbers with a point each, or two periods.
        let step = if let Some((low, high)) = range_ends(&tokens) {
            let (low, high) = (Box::new(self.parse_expr(low)?), Box::new(self.parse_expr(high)?));
            self.expect(word)?;
            let body = self.list(&["END"])?;
            Step::ForRange { label, variable: name, low, high, reverse, body }
        } else {
            let tokens = match &tokens[..] {
                [Token::LParen, inner @ .., Token::RParen] => inner.to_vec(),
                _ => tokens,
            };
            let ast::Statement::Query(query) = self.statement(tokens)? else {
                return wrong("expected a query");
            };
            self.expect(word)?;
            let body = self.list(&["END"])?;
            Step::ForQuery { label, record: name, query, body }
        };
        self.after_loop(end)?;
        Ok(step)
    }

    /// A step without other steps inside.
    fn simple(&mut self) -> Parsed<Step> {
        let semicolon = [Token::SemiColon];
        let word = self.word(0);
        match word.as_str() {
            "SET" => {
                self.at += 1;
                let name = self.name()?;
                if !self.takes_token(&Token::Eq) && !self.takes_token(&Token::Assignment) {
                    return wrong("expected =");
                }
                Ok(Step::Set(name, self.expr(&[], &semicolon)?))
            }
            "LEAVE" | "ITERATE" | "EXIT" | "CONTINUE" => {
                self.at += 1;
                let has_label = self.word(0) != "WHEN" && self.tokens.get(self.at) != Some(&Token::SemiColon);
                let label = if has_label { Some(self.name()?) } else { None };
                let condition = if self.takes("WHEN") { Some(self.expr(&[], &semicolon)?) } else { None };
                let leaves = matches!(word.as_str(), "LEAVE" | "EXIT");
                Ok(if leaves { Step::Leave(label, condition) } else { Step::Again(label, condition) })
            }
            "RETURN" => {
                self.at += 1;
                let tokens = self.until(&[], &semicolon);
                Ok(Step::Return(if tokens.is_empty() { None } else { Some(self.parse_expr(tokens)?) }))
            }
            "OPEN" | "CLOSE" => {
                self.at += 1;
                let name = self.name()?;
                Ok(if word == "OPEN" { Step::Open(name) } else { Step::Close(name) })
            }
            "FETCH" => {
                self.at += 1;
                let _ = self.takes("NEXT");
                let _ = self.takes("FROM");
                let name = self.name()?;
                self.expect("INTO")?;
                let mut into = vec![self.name()?];
                while self.takes_token(&Token::Comma) {
                    into.push(self.name()?);
                }
                Ok(Step::Fetch(name, into))
            }
            "SIGNAL" | "RESIGNAL" => {
                self.until(&[], &semicolon);
                Ok(Step::Raise("an error was signalled".to_owned()))
            }
            "RAISE" => {
                self.at += 1;
                let is_error =
                    !matches!(self.word(0).as_str(), "NOTICE" | "WARNING" | "INFO" | "DEBUG" | "LOG");
                self.until(&[], &semicolon);
                Ok(if is_error {
                    Step::Raise("an exception was raised".to_owned())
                } else {
                    Step::Block(Vec::new())
                })
            }
            "NULL" if self.dialect == Dialect::Postgres => {
                self.at += 1;
                Ok(Step::Block(Vec::new()))
            }
            _ => self.sql_or_assignment(),
        }
    }

    fn sql_or_assignment(&mut self) -> Parsed<Step> {
        let is_assignment = matches!(self.tokens.get(self.at + 1), Some(Token::Assignment | Token::Eq));
        if is_assignment && self.dialect == Dialect::Postgres {
            let name = self.name()?;
            self.at += 1;
            return Ok(Step::Set(name, self.expr(&[], &[Token::SemiColon])?));
        }
        let performs = self.dialect == Dialect::Postgres && self.word(0) == "PERFORM";
        let mut tokens = self.until(&[], &[Token::SemiColon]);
        let mut into = take_into(&mut tokens);
        if performs {
            if let (Some(first), Some(Token::Word(select))) =
                (tokens.first_mut(), Some(Token::make_keyword("SELECT")))
            {
                *first = Token::Word(select);
            }
            into.clear();
            return wrong("PERFORM is not supported");
        }
        let statement = self.statement(tokens)?;
        Ok(Step::Sql { statement: Box::new(statement), into })
    }
}

/// Removes `INTO a, b` from the tokens of a SELECT or a RETURNING. Returns the names.
fn take_into(tokens: &mut Vec<Token>) -> Vec<String> {
    let word = |token: &Token| match token {
        Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
        _ => String::new(),
    };
    let mut parentheses = 0_u32;
    let mut at = None;
    for (n, token) in tokens.iter().enumerate() {
        match token {
            Token::LParen => parentheses += 1,
            Token::RParen => parentheses = parentheses.saturating_sub(1),
            _ => {}
        }
        let before = n.checked_sub(1).map(|before| word(&tokens[before])).unwrap_or_default();
        let is_target = matches!(before.as_str(), "INSERT" | "REPLACE" | "IGNORE");
        if parentheses == 0 && word(token) == "INTO" && !is_target {
            at = Some(n);
            break;
        }
    }
    let Some(at) = at else { return Vec::new() };
    let mut end = at + 1;
    if tokens.get(end).is_some_and(|token| word(token) == "STRICT") {
        end += 1;
    }
    let mut names = Vec::new();
    while let Some(Token::Word(name)) = tokens.get(end) {
        names.push(name.value.clone());
        end += 1;
        if tokens.get(end) != Some(&Token::Comma) {
            break;
        }
        end += 1;
    }
    tokens.drain(at..end);
    names
}

/// The ends of `low..high`.
fn range_ends(tokens: &[Token]) -> Option<(Vec<Token>, Vec<Token>)> {
    let number = |digits: &str| Token::Number(digits.to_owned(), false);
    for (n, token) in tokens.iter().enumerate() {
        match (token, tokens.get(n + 1)) {
            (Token::Period, Some(Token::Period)) => {
                return Some((tokens[..n].to_vec(), tokens[n + 2..].to_vec()));
            }
            // `1.` and `.10`, or `1.` and a period.
            (Token::Number(low, _), Some(Token::Number(high, _)))
                if low.ends_with('.') && high.starts_with('.') =>
            {
                let low = [&tokens[..n], &[number(low.trim_end_matches('.'))]].concat();
                let high = [&[number(high.trim_start_matches('.'))], &tokens[n + 2..]].concat();
                return Some((low, high));
            }
            (Token::Number(low, _), Some(Token::Period)) if low.ends_with('.') => {
                let low = [&tokens[..n], &[number(low.trim_end_matches('.'))]].concat();
                return Some((low, tokens[n + 2..].to_vec()));
            }
            (Token::Period, Some(Token::Number(high, _))) if high.starts_with('.') => {
                let high = [&[number(high.trim_start_matches('.'))], &tokens[n + 2..]].concat();
                return Some((tokens[..n].to_vec(), high));
            }
            _ => {}
        }
    }
    None
}

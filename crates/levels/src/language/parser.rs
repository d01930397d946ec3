//! Builds the syntax tree. Precedences are those of [`Infix::strength`]; a quantifier reaches as far to the right as it can.

use std::ops::Range;

use super::ast::{
    Binder, Expr, Infix, Item, Kind, Level, NOT_STRENGTH, Name, Postfix, Prefix, Sort, WORD_STRENGTH,
};
use super::error::Error;
use super::lexer::{self, Token};

/// Words that cannot be names.
const RESERVED: [&str; 9] = ["level", "in", "extends", "let", "axiom", "forall", "exists", "true", "false"];

/// How deeply expressions may be nested.
const DEEPEST: usize = 200;

/// Parses a file of levels.
pub(super) fn levels(text: &str) -> Result<Vec<Level>, Error> {
    let mut parser = Parser::new(text)?;
    let mut levels = Vec::new();
    loop {
        let about = parser.comments();
        if parser.peek() == Token::End {
            break;
        }
        levels.push(parser.level(about)?);
    }
    if levels.is_empty() {
        let help = "a level looks like this: level my-level in commit-order { acyclic (so | co) }";
        return Err(Error::new(0..text.len().min(1), "the text defines no level").help(help));
    }
    Ok(levels)
}

/// Parses a single formula.
pub(super) fn formula(text: &str) -> Result<Expr, Error> {
    let mut parser = Parser::new(text)?;
    let expr = parser.expr(0)?;
    match parser.peek() {
        Token::End => Ok(expr),
        _ => Err(parser.unexpected("the end of the formula")),
    }
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token<'t>, Range<usize>)>,
    at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Result<Self, Error> {
        Ok(Parser { text, tokens: lexer::tokens(text)?, at: 0, depth: 0 })
    }

    /// The comments at this place, joined by spaces.
    fn comments(&mut self) -> String {
        let mut lines = Vec::new();
        while let Token::Comment(line) = self.tokens[self.at].0 {
            lines.push(line);
            self.at += 1;
        }
        lines.join(" ")
    }

    /// The next token that is no comment.
    fn peek(&mut self) -> Token<'t> {
        while let Token::Comment(_) = self.tokens[self.at].0 {
            self.at += 1;
        }
        self.tokens[self.at].0
    }

    fn span(&mut self) -> Range<usize> {
        self.peek();
        self.tokens[self.at].1.clone()
    }

    /// Where the last token ended.
    fn end(&self) -> usize {
        self.tokens[self.at.saturating_sub(1)].1.end
    }

    fn next(&mut self) -> (Token<'t>, Range<usize>) {
        let token = (self.peek(), self.span());
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn accept(&mut self, expected: Token<'_>) -> bool {
        let found = self.peek() == expected;
        if found {
            self.next();
        }
        found
    }

    fn sign(&mut self, sign: &'static str) -> Result<(), Error> {
        if self.accept(Token::Sign(sign)) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn word(&mut self, word: &'static str) -> Result<(), Error> {
        if self.accept(Token::Name(word)) { Ok(()) } else { Err(self.unexpected(&format!("`{word}`"))) }
    }

    fn unexpected(&mut self, expected: &str) -> Error {
        let found = match self.peek() {
            Token::Name(name) => format!("`{name}`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::Comment(_) | Token::End => "the end of the text".to_owned(),
        };
        Error::new(self.span(), format!("expected {expected}, found {found}"))
    }

    fn name(&mut self, what: &str) -> Result<Name, Error> {
        match self.peek() {
            Token::Name(text) if !RESERVED.contains(&text) => {
                let (_, span) = self.next();
                Ok(Name { text: text.to_owned(), span })
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// A name that does not stand for an operator.
    fn new_name(&mut self, what: &str) -> Result<Name, Error> {
        match self.peek() {
            Token::Name(text) if Prefix::WORDS.iter().any(|(word, _)| *word == text) => {
                Err(self.unexpected(what))
            }
            _ => self.name(what),
        }
    }

    fn level(&mut self, about: String) -> Result<Level, Error> {
        self.word("level")?;
        let name = self.name("the name of a level")?;
        self.word("in")?;
        let framework = self.name("the name of a framework")?;
        let extends =
            if self.accept(Token::Name("extends")) { Some(self.name("the name of a level")?) } else { None };
        self.sign("{")?;
        let mut items = Vec::new();
        let mut conditions = 0;
        while !self.accept(Token::Sign("}")) {
            let (token, span) = (self.peek(), self.span());
            if token == Token::End {
                return Err(self.unexpected("`}`"));
            }
            items.push(self.item()?);
            conditions += usize::from(token != Token::Name("let"));
            let is_bare = !matches!(token, Token::Name("let" | "axiom"));
            if conditions > 1 && is_bare {
                let help = "a level with several conditions has `axiom` before each";
                return Err(Error::new(span, "expected `axiom`, `let` or `}`").help(help));
            }
        }
        Ok(Level { name, framework, extends, items, about })
    }

    fn item(&mut self) -> Result<Item, Error> {
        if self.accept(Token::Name("let")) {
            let name = self.new_name("the name of a definition")?;
            let params = if self.accept(Token::Sign("(")) { self.binders(")")? } else { Vec::new() };
            self.sign("=")?;
            return Ok(Item::Let { name, params, body: self.expr(0)? });
        }
        let mut name = None;
        if self.accept(Token::Name("axiom")) {
            // A name is followed by a colon; otherwise this is the formula.
            let start = self.at;
            match self.name("a formula") {
                Ok(found) if self.accept(Token::Sign(":")) => name = Some(found),
                _ => self.at = start,
            }
        }
        Ok(Item::Axiom { name, body: self.expr(0)? })
    }

    /// `x: Key, s, t: Txn` up to a sign.
    fn binders(&mut self, until: &'static str) -> Result<Vec<Binder>, Error> {
        let mut binders = Vec::new();
        loop {
            let mut names = vec![self.new_name("the name of a variable")?];
            while self.accept(Token::Sign(",")) {
                names.push(self.new_name("the name of a variable")?);
            }
            self.sign(":").map_err(|error| error.help("a variable has a sort: Txn, Key or Value"))?;
            let sort = self.name("a sort: Txn, Key or Value")?;
            let Some(sort) = Sort::ALL.into_iter().find(|one| one.name() == sort.text) else {
                let message = format!("there is no sort `{}`", sort.text);
                return Err(Error::new(sort.span, message).help("the sorts are Txn, Key and Value"));
            };
            binders.extend(names.into_iter().map(|name| Binder { name, sort }));
            if self.accept(Token::Sign(until)) {
                return Ok(binders);
            }
            if !self.accept(Token::Sign(",")) {
                return Err(self.unexpected(&format!("`,` or `{until}`")));
            }
        }
    }

    /// An expression whose operators bind at least this tightly.
    fn expr(&mut self, least: u8) -> Result<Expr, Error> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::new(self.span(), format!("expressions are nested more than {DEEPEST} deep")));
        }
        let mut left = self.prefixed()?;
        while let Some(infix) = self.infix().filter(|infix| infix.strength() >= least) {
            self.next();
            // `=>` groups to the right; all others to the left.
            let right = self.expr(infix.strength() + u8::from(infix != Infix::Implies))?;
            let span = left.span.start..right.span.end;
            left = Expr { kind: Kind::Infix(infix, Box::new(left), Box::new(right)), span };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn infix(&mut self) -> Option<Infix> {
        Some(match self.peek() {
            Token::Sign("<=>") => Infix::Iff,
            Token::Sign("=>") => Infix::Implies,
            Token::Sign("|") => Infix::Or,
            Token::Sign("&") => Infix::And,
            Token::Name("in") => Infix::In,
            Token::Sign("=") => Infix::Equal,
            Token::Sign("!=") => Infix::Differ,
            Token::Sign("-") => Infix::Minus,
            Token::Sign(";") => Infix::Compose,
            _ => return None,
        })
    }

    fn prefixed(&mut self) -> Result<Expr, Error> {
        let start = self.span().start;
        let word = |token| Prefix::WORDS.iter().find(|(word, _)| token == Token::Name(word));
        let kind = match self.peek() {
            Token::Sign("!") => {
                self.next();
                Kind::Prefix(Prefix::Not, Box::new(self.expr(NOT_STRENGTH)?))
            }
            Token::Sign("~") => {
                let mut is_inverse = false;
                while self.accept(Token::Sign("~")) {
                    is_inverse = !is_inverse;
                }
                let operand = self.postfixed()?;
                if !is_inverse {
                    return Ok(Expr { span: start..self.end(), ..operand });
                }
                Kind::Prefix(Prefix::Inverse, Box::new(operand))
            }
            Token::Name(quantifier @ ("forall" | "exists")) => {
                self.next();
                let binders = self.binders(".")?;
                let body = Box::new(self.expr(0)?);
                Kind::Quantified { exists: quantifier == "exists", binders, body }
            }
            token => match word(token) {
                Some(&(_, prefix)) => {
                    self.next();
                    Kind::Prefix(prefix, Box::new(self.expr(WORD_STRENGTH)?))
                }
                None => return self.postfixed(),
            },
        };
        Ok(Expr { kind, span: start..self.end() })
    }

    fn postfixed(&mut self) -> Result<Expr, Error> {
        let mut expr = self.primary()?;
        loop {
            let Range { start, end } = expr.span;
            // Arguments begin on the same line. On the next one, a bracket begins the condition after a definition.
            let has_arguments =
                self.peek() == Token::Sign("(") && !self.text[end..self.span().start].contains('\n');
            let postfix = match self.peek() {
                Token::Sign("?") => Some(Postfix::Optional),
                Token::Sign("+") => Some(Postfix::Plus),
                Token::Sign("*") => Some(Postfix::Star),
                _ => None,
            };
            let kind = if let Some(postfix) = postfix {
                self.next();
                Kind::Postfix(postfix, Box::new(expr))
            } else if self.accept(Token::Sign("[")) {
                let index = self.expr(0)?;
                self.sign("]")?;
                Kind::Index(Box::new(expr), Box::new(index))
            } else if has_arguments {
                self.next();
                let mut args = vec![self.expr(0)?];
                while self.accept(Token::Sign(",")) {
                    args.push(self.expr(0)?);
                }
                self.sign(")")?;
                Kind::Apply(Box::new(expr), args)
            } else {
                return Ok(expr);
            };
            expr = Expr { kind, span: start..self.end() };
        }
    }

    fn primary(&mut self) -> Result<Expr, Error> {
        if self.accept(Token::Sign("(")) {
            let start = self.tokens[self.at - 1].1.start;
            let inner = self.expr(0)?;
            self.sign(")")?;
            return Ok(Expr { kind: inner.kind, span: start..self.end() });
        }
        let constant = match self.peek() {
            Token::Name("true") => Some(Kind::True),
            Token::Name("false") => Some(Kind::False),
            _ => None,
        };
        if let Some(kind) = constant {
            let (_, span) = self.next();
            return Ok(Expr { kind, span });
        }
        let name = self.name("a formula or a relation")?;
        Ok(Expr { kind: Kind::Name(name.text), span: name.span })
    }
}

//! The tokens of conditions and expectations: names, numbers, texts and symbols, each with its position.
//!
//! A condition may span several lines, so the input is a list of pieces of lines. A token never spans two pieces.

use super::ScriptError;

/// A piece of a line, with its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) line: u32,
    /// The column of its first character, from 1.
    pub(super) column: u32,
    pub(super) text: &'a str,
}

impl<'a> Piece<'a> {
    /// The piece without its first `bytes` bytes, which must end at a character boundary.
    pub(super) fn skip(self, bytes: usize) -> Piece<'a> {
        let (before, after) = self.text.split_at_checked(bytes).unwrap_or((self.text, ""));
        Piece { line: self.line, column: self.column + before.chars().count() as u32, text: after }
    }

    /// The piece without leading and trailing whitespace.
    pub(super) fn trim(self) -> Piece<'a> {
        let start = self.text.len() - self.text.trim_start().len();
        let rest = self.skip(start);
        Piece { text: rest.text.trim_end(), ..rest }
    }

    /// The position of its first character.
    pub(super) fn place(&self) -> Place {
        Place { line: self.line, column: self.column }
    }

    /// An error at its first character.
    pub(super) fn error(&self, message: impl Into<String>) -> ScriptError {
        ScriptError { line: self.line, column: self.column, message: message.into(), help: None }
    }
}

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name or a keyword.
    Word(String),
    /// An integer.
    Int(i64),
    /// A number that is not an integer.
    Float(f64),
    /// A text, without its quotes.
    Text(String),
    /// A symbol.
    Sign(&'static str),
    /// The end of the input.
    End,
}

impl Token {
    /// The token as error messages show it.
    pub(super) fn shown(&self) -> String {
        match self {
            Token::Word(word) => format!("`{word}`"),
            Token::Int(n) => format!("`{n}`"),
            Token::Float(n) => format!("`{n}`"),
            Token::Text(text) => format!("'{text}'"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end".to_owned(),
        }
    }
}

/// The symbols. A symbol comes before its own prefixes.
const SIGNS: [&str; 11] = ["!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", ",", "."];

/// All tokens with their positions, including the end.
pub(super) fn tokens(pieces: &[Piece<'_>]) -> Result<Vec<(Token, Place)>, ScriptError> {
    let mut found = Vec::new();
    let mut end = Place { line: 1, column: 1 };
    for piece in pieces {
        let mut rest = piece.trim();
        while !rest.text.is_empty() {
            let (token, length) = token(&rest)?;
            found.push((token, rest.place()));
            let after = rest.skip(length);
            end = after.place();
            rest = after.trim();
        }
    }
    found.push((Token::End, end));
    Ok(found)
}

/// A position in a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl Place {
    /// An error at this position.
    pub(super) fn error(self, message: impl Into<String>) -> ScriptError {
        ScriptError { line: self.line, column: self.column, message: message.into(), help: None }
    }
}

/// The token that the piece begins with, and its length in bytes.
fn token(piece: &Piece<'_>) -> Result<(Token, usize), ScriptError> {
    let text = piece.text;
    if text.starts_with('\'') {
        return quoted(piece);
    }
    let name = name_length(text);
    if name > 0 {
        return Ok((Token::Word(text[..name].to_owned()), name));
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.starts_with(|c: char| c.is_ascii_digit()) {
        return number(piece);
    }
    if let Some(sign) = SIGNS.iter().find(|sign| text.starts_with(**sign)) {
        return Ok((Token::Sign(if *sign == "<>" { "!=" } else { sign }), sign.len()));
    }
    let first: String = text.chars().take(1).collect();
    Err(piece.error(format!("expected a name, a value or a symbol, found `{first}`")))
}

/// The length in bytes of the name at the beginning: a letter or `_`, then letters, digits, `_` and, between two of those, `-`.
pub(super) fn name_length(text: &str) -> usize {
    if !text.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return 0;
    }
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(text.len());
    text[..end].trim_end_matches('-').len()
}

/// A text in single quotes. Two quotes inside it denote one.
fn quoted(piece: &Piece<'_>) -> Result<(Token, usize), ScriptError> {
    let mut text = String::new();
    let mut chars = piece.text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != '\'' {
            text.push(c);
        } else if chars.next_if(|(_, next)| *next == '\'').is_some() {
            text.push('\'');
        } else {
            return Ok((Token::Text(text), at + 1));
        }
    }
    Err(piece.error("expected a closing quote, found the end of the line"))
}

fn number(piece: &Piece<'_>) -> Result<(Token, usize), ScriptError> {
    let text = piece.text;
    let sign = usize::from(text.starts_with('-'));
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let length = text[sign..].find(|c| !is_part(c)).map_or(text.len(), |end| end + sign);
    let spelled = &text[..length];
    if let Ok(n) = spelled.parse() {
        return Ok((Token::Int(n), length));
    }
    match spelled.parse() {
        Ok(n) => Ok((Token::Float(n), length)),
        Err(_) => Err(piece.error(format!("expected a number, found `{spelled}`"))),
    }
}

//! Splits a text into tokens.
//!
//! A name may contain `-` between letters and digits, as in `read-atomic`. The operator `-` has spaces around it.

use std::ops::Range;

use super::error::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Name(&'t str),
    /// An operator, a bracket or a separator.
    Sign(&'static str),
    /// A comment with its line to itself, without the slashes.
    Comment(&'t str),
    End,
}

/// The signs, longer ones before those that they begin with.
const SIGNS: [&str; 20] =
    ["<=>", "=>", "!=", "{", "}", "(", ")", "[", "]", ",", ":", ".", "=", "&", "|", "!", "~", "?", "+", "*"];
const MORE_SIGNS: [&str; 2] = [";", "-"];

/// Some editors write it at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// All tokens with their places. The last one is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token<'_>, Range<usize>)>, Error> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() || at == 0 && first == BYTE_ORDER_MARK {
            at += first.len_utf8();
        } else if let Some(comment) = rest.strip_prefix("//") {
            let line = comment.lines().next().unwrap_or_default();
            let has_line_to_itself = text[..at].lines().next_back().is_none_or(|line| line.trim().is_empty())
                || text[..at].ends_with('\n');
            if has_line_to_itself {
                tokens.push((Token::Comment(line.trim()), at..at + 2 + line.len()));
            }
            at += 2 + line.len();
        } else if is_part_of_name(first) {
            let length = name_length(rest);
            tokens.push((Token::Name(&rest[..length]), at..at + length));
            at += length;
        } else if let Some(sign) = SIGNS.iter().chain(&MORE_SIGNS).find(|sign| rest.starts_with(**sign)) {
            let spaced = |c: Option<char>| c.is_some_and(char::is_whitespace);
            if *sign == "-" && !(spaced(text[..at].chars().next_back()) && spaced(rest[1..].chars().next())) {
                return Err(Error::new(at..at + 1, "the operator `-` has spaces around it"));
            }
            tokens.push((Token::Sign(sign), at..at + sign.len()));
            at += sign.len();
        } else {
            let span = at..at + first.len_utf8();
            return Err(Error::new(span, format!("unexpected character `{first}`")));
        }
    }
    tokens.push((Token::End, text.len()..text.len()));
    Ok(tokens)
}

fn is_part_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of the name at the start of a text. `-` and `.` belong to it between letters and digits; `.` only between digits.
fn name_length(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut previous = ' ';
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        let joins = match c {
            '-' => is_part_of_name(previous) && is_part_of_name(next),
            '.' => previous.is_ascii_digit() && next.is_ascii_digit(),
            _ => is_part_of_name(c),
        };
        if !joins {
            return at;
        }
        previous = c;
    }
    text.len()
}

//! A limit on the depth of a statement before it is parsed.
//!
//! The parser limits its own recursion, but `1 + 1 + 1 ...` is parsed by a loop into a tree as deep as it is long, which
//! would overflow the stack when it is bound, run or dropped. The depth is bounded from the tokens alone: in a segment
//! between commas or keywords, every operator adds a level; AND, OR, JOIN and UNION add one to all segments around them; and
//! parentheses add the depth of what is inside.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

/// The most levels. Twice as many fit in the 2 MiB of a thread's stack, without optimisation.
const MOST: usize = 512;

/// Operators of expressions take more of the stack than those between conditions and queries.
const OPERATOR: usize = 2;

/// The depth of the tokens since a parenthesis.
#[derive(Clone, Copy, Default)]
struct Level {
    /// AND, OR, JOIN, UNION.
    links: usize,
    /// The operators of the segment, and the deepest parenthesis in it.
    segment: usize,
    inside: usize,
    /// The deepest segment.
    deepest: usize,
}

impl Level {
    fn depth(self) -> usize {
        self.links + self.deepest.max(self.segment + self.inside)
    }

    fn end_segment(&mut self) {
        self.deepest = self.deepest.max(self.segment + self.inside);
        (self.segment, self.inside) = (0, 0);
    }
}

/// Whether a statement is too deep to be parsed.
pub(crate) fn is_too_deep<'t>(tokens: impl Iterator<Item = &'t Token>) -> bool {
    let mut open: Vec<Level> = Vec::new();
    let mut level = Level::default();
    for token in tokens {
        match token {
            Token::Whitespace(_) | Token::Number(..) | Token::Period | Token::Placeholder(_) => {}
            Token::LParen => open.push(std::mem::take(&mut level)),
            Token::RParen => {
                let depth = level.depth() + OPERATOR;
                level = open.pop().unwrap_or_default();
                level.inside = level.inside.max(depth);
            }
            Token::Comma => level.end_segment(),
            Token::SemiColon => level = Level { deepest: level.depth(), ..Level::default() },
            Token::Word(word) => match word.keyword {
                Keyword::AND
                | Keyword::OR
                | Keyword::XOR
                | Keyword::JOIN
                | Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT
                | Keyword::MINUS => {
                    level.end_segment();
                    level.links += 1;
                }
                Keyword::WHEN | Keyword::THEN | Keyword::ELSE => level.end_segment(),
                word if is_operator(word) => level.segment += OPERATOR,
                _ => {}
            },
            other if is_text(other) => {}
            _ => level.segment += OPERATOR,
        }
        if level.depth() > MOST {
            return true;
        }
    }
    open.into_iter().map(Level::depth).sum::<usize>() + level.depth() > MOST
}

fn is_operator(word: Keyword) -> bool {
    matches!(
        word,
        Keyword::IS
            | Keyword::NOTNULL
            | Keyword::IN
            | Keyword::LIKE
            | Keyword::ILIKE
            | Keyword::RLIKE
            | Keyword::REGEXP
            | Keyword::SIMILAR
            | Keyword::BETWEEN
            | Keyword::DIV
            | Keyword::MOD
            | Keyword::COLLATE
            | Keyword::AT
            | Keyword::OVERLAPS
            | Keyword::MATCH
            | Keyword::OPERATOR
            | Keyword::NOT
    )
}

fn is_text(token: &Token) -> bool {
    matches!(
        token,
        Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::DollarQuotedString(_)
            | Token::NationalStringLiteral(_)
            | Token::EscapedStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::EOF
    )
}

#[cfg(test)]
mod tests {
    use super::is_too_deep;
    use crate::dialect::Dialect;
    use crate::parse::tokens;

    fn deep(text: &str) -> bool {
        let tokens = tokens(Dialect::Postgres, text).unwrap();
        is_too_deep(tokens.iter().map(|token| &token.token))
    }

    #[test]
    fn long_lists_are_not_deep() {
        let rows = vec!["(1, 2 + 3, 'a', -5)"; 10_000].join(", ");
        assert!(!deep(&format!("INSERT INTO t VALUES {rows}")));
        assert!(!deep(&format!("SELECT CASE {} END", vec!["WHEN a = 1 THEN 2 * b"; 1_000].join(" "))));
        assert!(!deep(&format!("SELECT 1 WHERE {}", vec!["a = 1"; 500].join(" OR "))));
        assert!(!deep(&format!("SELECT a IN ({})", vec!["1"; 10_000].join(", "))));
    }

    #[test]
    fn long_chains_are_deep() {
        assert!(deep(&vec!["SELECT 1"; 600].join(" UNION ALL ")));
        assert!(deep(&format!("SELECT {}", vec!["1"; 300].join(" + "))));
        assert!(deep(&format!("SELECT 1{}", "::int".repeat(300))));
        // A chain whose first part is a chain.
        let inner = vec!["1"; 200].join(" + ");
        assert!(!deep(&format!("SELECT {inner}")));
        assert!(deep(&format!("SELECT ({inner}) + {inner}")));
    }
}

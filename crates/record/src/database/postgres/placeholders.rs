//! Converts parameters to PostgreSQL's notation: `?` becomes `$1`, `$2` and so on.
//!
//! Question marks inside strings, quoted names, dollar quotes and comments are not parameters.

/// Rewrites a statement.
pub(super) fn numbered(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len() + 8);
    let mut rest = sql;
    let mut count = 0;
    while let Some(c) = rest.chars().next() {
        let length = if c == '?' {
            count += 1;
            text.push_str(&format!("${count}"));
            rest = &rest[1..];
            continue;
        } else if c.is_alphanumeric() || c == '_' {
            word(rest)
        } else {
            opaque(rest).unwrap_or(c.len_utf8())
        };
        text.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    text
}

/// The length of a word. If the word is `E` and a string follows, the string is included: a backslash is an escape in it.
fn word(text: &str) -> usize {
    let length = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(text.len());
    if text[..length].eq_ignore_ascii_case("e") && text[length..].starts_with('\'') {
        length + quoted(&text[length..], '\'', true)
    } else {
        length
    }
}

/// The length of the string, quoted name or comment that begins here, if any.
fn opaque(text: &str) -> Option<usize> {
    if text.starts_with("--") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(comment(text));
    }
    match text.chars().next()? {
        quote @ ('\'' | '"') => Some(quoted(text, quote, false)),
        '$' => dollar_quoted(text),
        _ => None,
    }
}

/// The length of a quoted string. A doubled quote ends the string and begins the next one, which has the same effect.
fn quoted(text: &str, quote: char, escapes: bool) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if escapes => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn dollar_quoted(text: &str) -> Option<usize> {
    let tag = 2 + text[1..].find('$')?;
    let name = &text[1..tag - 1];
    if name.chars().any(|c| !(c.is_alphanumeric() || c == '_')) || name.starts_with(|c: char| c.is_numeric())
    {
        return None;
    }
    Some(text[tag..].find(&text[..tag]).map_or(text.len(), |end| tag + end + tag))
}

/// The length of a block comment. These nest.
fn comment(text: &str) -> usize {
    let mut depth = 0_u32;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn question_marks_are_numbered_where_they_are_parameters() {
        for (sql, expected) in [
            ("SELECT 1", "SELECT 1"),
            ("UPDATE t SET v = ? WHERE k = ?", "UPDATE t SET v = $1 WHERE k = $2"),
            ("SELECT '?', \"?\", ?", "SELECT '?', \"?\", $1"),
            ("SELECT 'it''s ?', ?", "SELECT 'it''s ?', $1"),
            ("SELECT E'\\'?', ?", "SELECT E'\\'?', $1"),
            ("SELECT '\\', ?", "SELECT '\\', $1"),
            ("SELECT 1 -- ?\n, ?", "SELECT 1 -- ?\n, $1"),
            ("SELECT /* ? /* ? */ ? */ ?", "SELECT /* ? /* ? */ ? */ $1"),
            ("SELECT $a$ ? $a$, $$?$$, ?", "SELECT $a$ ? $a$, $$?$$, $1"),
            ("SELECT a$1, ?", "SELECT a$1, $1"),
            ("SELECT 'ä?', 'ü', ?", "SELECT 'ä?', 'ü', $1"),
            ("SELECT '?", "SELECT '?"),
        ] {
            assert_eq!(numbered(sql), expected);
        }
    }
}

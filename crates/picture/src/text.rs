//! Text in a picture: its width, and what is escaped.

use unicode_width::UnicodeWidthStr;

/// The height of a line.
pub(crate) const LINE: f64 = 17.0;
/// The size of the font.
pub(crate) const SIZE: f64 = 13.0;
/// The width of a character: the font has fixed widths, and this is the widest of the common ones.
const CHARACTER: f64 = 0.61 * SIZE;

/// The width of a line.
pub(crate) fn width(text: &str) -> f64 {
    // What is not shown is one character.
    clean(text).width() as f64 * CHARACTER
}

/// A text for XML. Characters that control the direction or the terminal are replaced, so that a name cannot hide or reorder others.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A text without characters that XML forbids or that change how others are shown.
fn clean(text: &str) -> String {
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    text.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        assert_eq!(
            escape("<script>alert('&\"')</script>"),
            "&lt;script&gt;alert(&#39;&amp;&quot;&#39;)&lt;/script&gt;"
        );
        assert_eq!(escape("a\u{202e}b\u{0}\n"), "a\u{fffd}b\u{fffd}\u{fffd}");
    }
}

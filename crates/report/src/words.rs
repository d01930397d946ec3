//! Formatting of numbers and names.

use std::time::Duration;

pub use isoscope_explain::count;
use isoscope_explain::visible;
use isoscope_history::notation::ValueText;
use isoscope_history::{History, Value};

/// A count and its noun: `1 key`, `2 keys`.
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A share of a whole as a percentage with one decimal.
pub fn percent(part: u64, whole: u64) -> String {
    ratio(part as f64 / whole.max(1) as f64)
}

/// A share between 0 and 1 as a percentage with one decimal.
pub fn ratio(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A number of bytes.
pub fn bytes(n: f64) -> String {
    match n {
        ..1e3 => format!("{n:.0} B"),
        1e3..1e6 => format!("{:.1} kB", n / 1e3),
        1e6..1e9 => format!("{:.1} MB", n / 1e6),
        _ => format!("{:.2} GB", n / 1e9),
    }
}

/// A duration.
pub fn duration(nanoseconds: i64) -> String {
    let seconds = nanoseconds as f64 / 1e9;
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

/// A span of time as a person would give it: `500 ms`, `30 s`, `5 min`, `1.5 h`.
pub fn span(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..1.0 => format!("{} ms", seconds * 1e3),
        1.0..120.0 => format!("{seconds} s"),
        120.0..7200.0 => format!("{} min", seconds / 60.0),
        _ => format!("{} h", seconds / 3600.0),
    }
}

/// A value or name, shortened.
pub fn value(history: &History, value: Value) -> String {
    let text = visible(&ValueText(history, value).to_string());
    if text.chars().count() <= 40 { text } else { text.chars().take(39).chain(['…']).collect() }
}

/// A text in lines of at most `width` characters, each indented.
pub fn wrap(text: &str, indent: usize, width: usize) -> String {
    let mut out = String::new();
    let mut column = width;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column + 1 + length > width {
            out.push_str(if out.is_empty() { "" } else { "\n" });
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_thousands_separators() {
        assert_eq!(
            [0, 7, 999, 1_000, 12_345, 1_234_567].map(count),
            ["0", "7", "999", "1,000", "12,345", "1,234,567"]
        );
    }

    #[test]
    fn texts_are_wrapped_at_the_width() {
        assert_eq!(wrap("one two three four", 2, 10), "  one two\n  three\n  four\n");
        assert_eq!(wrap("exactly ten", 0, 11), "exactly ten\n");
        assert_eq!(wrap("muchlongerthanthat", 1, 5), " muchlongerthanthat\n");
    }
}

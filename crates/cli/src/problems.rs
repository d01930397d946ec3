//! Diagnostics of an input in the style of rustc: what, where, the line, and what was expected.

use isoscope_explain::visible;
pub(crate) use isoscope_formats::Place;
use isoscope_formats::{Problem, Severity};

use crate::terminal::{BOLD, ERROR, FRAME, Terminal, WARNING, styled};

/// Prints problems on standard error. `--quiet` silences warnings, not errors. A warning about a whole file has no place that
/// names the file, so `file` is given if there are several.
pub(crate) fn show(problems: &[Problem], file: Option<&str>, terminal: &Terminal) {
    for problem in problems {
        let mut text = render(problem);
        if let (Some(file), None, Severity::Warning) = (file, &problem.place, problem.severity) {
            text.push_str(&format!(" {} {}\n", styled(FRAME, "-->"), visible(file)));
        }
        match problem.severity {
            Severity::Warning => terminal.message(&text),
            Severity::Error => crate::terminal::say(&text),
        }
    }
}

/// Prints an error at a place, with a sentence on how to mend it.
pub(crate) fn show_error(message: &str, place: &Place, help: Option<&str>) {
    let (severity, place) = (Severity::Error, Some(place.clone()));
    let mut text = render(&Problem { severity, place, message: message.to_owned(), help: None });
    if let Some(help) = help {
        text.push_str(&format!("  {} {}\n", styled(FRAME, "= help:"), short(help)));
    }
    crate::terminal::say(&text);
}

fn render(problem: &Problem) -> String {
    let kind = match problem.severity {
        Severity::Error => styled(ERROR, "error"),
        Severity::Warning => styled(WARNING, "warning"),
    };
    let mut text = format!("{kind}{}\n", styled(BOLD, format!(": {}", short(&problem.message))));
    let help = problem.help.as_deref().map(short);
    match &problem.place {
        Some(place) => text.push_str(&render_place(place, help.as_deref())),
        None => {
            if let Some(help) = help {
                text.push_str(&format!("  {} {help}\n", styled(FRAME, "= expected:")));
            }
        }
    }
    text
}

/// The most characters of a message that are shown: it may quote an input that is not a history.
const LONGEST: usize = 400;

/// A message without control characters, truncated if too long.
fn short(text: &str) -> String {
    let mut shown: String = text.chars().take(LONGEST).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    visible(&shown)
}

fn render_place(place: &Place, help: Option<&str>) -> String {
    let number = place.line.to_string();
    let gutter = " ".repeat(number.len());
    let bar = styled(FRAME, "|");
    let mut text = format!("{gutter}{} {}\n", styled(FRAME, "-->"), visible(&place.to_string()));
    if place.binary {
        if let Some(help) = help {
            text.push_str(&format!("{gutter} {} {help}\n", styled(FRAME, "= expected:")));
        }
        return text;
    }
    let label = help.map_or(String::new(), |help| format!(" expected {help}"));
    let indent = " ".repeat(place.caret);
    text.push_str(&format!("{gutter} {bar}\n"));
    text.push_str(&format!("{} {bar} {}\n", styled(FRAME, &number), place.excerpt));
    text.push_str(&format!("{gutter} {bar} {indent}{}\n", styled(ERROR, format!("^{label}"))));
    text
}

//! The lines of the input that a story refers to, in the style of rustc.
//!
//! ```text
//!   --> history.txt:3:1
//!    |
//!  1 | w(1,2,0,1)
//!    | - T1 writes key 1=2
//! ...
//!  3 | r(1,2,1,2)
//!    | ^ T2 reads key 1=2
//! ```
//!
//! `^` marks the wrong read, `-` the other operations. Binary files have no lines; their operations are listed by byte.

use std::collections::BTreeMap;

use isoscope_explain::visible;
use isoscope_formats::Place;
use isoscope_history::Op;
use unicode_width::UnicodeWidthStr as _;

use crate::checked::Checked;
use crate::model::Mark;
use crate::style::{Role, Style};
use crate::words::counted;

/// The most operations of one story to show.
const MOST: usize = 10;

/// The places of operations in the input. The input is read once more, independent of the number of
/// operations.
pub(crate) fn places(report: &Checked<'_>, ops: impl Iterator<Item = Op>) -> BTreeMap<Op, Place> {
    let history = report.history;
    let Some(text) = report.text else { return BTreeMap::new() };
    let mut wanted: Vec<Op> = ops.collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted.retain(|&op| history.op_position(op).is_some());
    let positions: Vec<_> = wanted.iter().filter_map(|&op| history.op_position(op)).collect();
    let found = text.places(history.sources(), &positions);
    wanted.into_iter().zip(found).filter_map(|(op, place)| Some((op, place?))).collect()
}

/// Draws the lines of all marks, file by file and from top to bottom.
pub fn render(marks: &[Mark], indent: &str, style: &dyn Style) -> String {
    let mut marks: Vec<&Mark> = marks.iter().collect();
    let left_out = marks.len().saturating_sub(MOST);
    marks.truncate(MOST);
    marks.sort_by(|a, b| (&a.place.file, a.place.offset).cmp(&(&b.place.file, b.place.offset)));
    let width = marks.iter().map(|mark| digits(&mark.place)).max().unwrap_or(1);
    let mut text = String::new();
    // The file of the main mark comes first, because it is the one to open.
    let first = marks.iter().find(|mark| mark.main).or(marks.first()).map(|mark| mark.place.file.clone());
    let (main, others): (Vec<_>, Vec<_>) =
        marks.into_iter().partition(|mark| Some(&mark.place.file) == first.as_ref());
    let groups = [main, others];
    let groups = groups.iter().flat_map(|group| group.chunk_by(|a, b| a.place.file == b.place.file));
    for (i, group) in groups.enumerate() {
        let arrow = if i == 0 { "-->" } else { ":::" };
        text.push_str(&file(group, arrow, width, indent, style));
    }
    if left_out > 0 {
        let pad = " ".repeat(width);
        let more = counted(left_out as u64, "more operation");
        text.push_str(&format!("{indent}{pad} {} {more}\n", style.paint(Role::Frame, "= and")));
    }
    text
}

fn digits(place: &Place) -> usize {
    if place.binary { 1 } else { place.line.to_string().len() }
}

/// The marks of one file.
fn file(marks: &[&Mark], arrow: &str, width: usize, indent: &str, style: &dyn Style) -> String {
    let pad = format!("{indent}{}", " ".repeat(width));
    let main = marks.iter().find(|mark| mark.main).or(marks.first());
    let mut text = main.map_or(String::new(), |main| {
        format!("{pad}{} {}\n", style.paint(Role::Frame, arrow), visible(&main.place.to_string()))
    });
    if marks.iter().all(|mark| mark.place.binary) {
        for mark in marks {
            let byte = format!("byte {}: {}", mark.place.offset, mark.label);
            text.push_str(&format!(
                "{pad} {} {}\n",
                style.paint(Role::Frame, "="),
                emphasised(mark, &byte, style)
            ));
        }
        return text;
    }
    let bar = style.paint(Role::Frame, "|");
    text.push_str(&format!("{pad} {bar}\n"));
    let mut above: Option<&Place> = None;
    for mark in marks {
        let (place, number) = (&mark.place, mark.place.line);
        let shown = above.and_then(|above| Some((above, under(above, place)?)));
        if shown.is_none() {
            if above.is_some_and(|above| number > above.line + 1) {
                text.push_str(&format!("{indent}{}\n", style.paint(Role::Frame, "...")));
            }
            let number = style.paint(Role::Frame, &format!("{number:>width$}"));
            text.push_str(&format!("{indent}{number} {bar} {}\n", place.excerpt));
        }
        let (line, column) = shown.unwrap_or((place, place.caret));
        let caret = format!("{} {}", if mark.main { "^" } else { "-" }, mark.label);
        text.push_str(&format!("{pad} {bar} {}{}\n", " ".repeat(column), emphasised(mark, &caret, style)));
        above = Some(line);
    }
    text
}

/// The column in the excerpt of a line that shows a later place of that line, if the excerpt contains it.
/// Offsets count bytes, columns of a terminal count cells. If the excerpt replaced a character, its byte length is
/// no longer known.
fn under(shown: &Place, place: &Place) -> Option<usize> {
    let distance = place.offset.checked_sub(shown.offset).filter(|_| place.line == shown.line)? as usize;
    // Takes the last such place: characters without a width belong to the character before them.
    let mut starts = shown.excerpt.char_indices().map(|(at, _)| at).rev();
    let caret = starts.find(|&at| shown.excerpt[..at].width() == shown.caret)?;
    let rest = &shown.excerpt[caret..];
    let between = rest.get(..distance).filter(|_| distance < rest.len())?;
    (!between.contains('\u{fffd}')).then(|| shown.caret + between.width())
}

fn emphasised(mark: &Mark, text: &str, style: &dyn Style) -> String {
    style.paint(if mark.main { Role::Bad } else { Role::Frame }, text)
}

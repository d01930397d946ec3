//! Converts positions to places: file, line, column and the text there.
//!
//! Positions are resolved rarely (for a problem or an anomaly), so nothing is stored for them while reading.
//! The sources are read again, once, for all requested positions.

use std::io::{self, Read};

use isoscope_history::{Position, Sources};
use unicode_width::UnicodeWidthStr as _;

use crate::input::Source;
use crate::problem::Place;

/// The length of an excerpt before and after the column.
const BEFORE: usize = 48;
const AFTER: usize = 72;

/// The text of a history's sources, read on demand.
#[derive(Clone, Default)]
pub struct SourceText {
    pub(crate) sources: Vec<Source>,
}

impl SourceText {
    /// Resolves positions to places, in the same order; `None` for positions that cannot be found.
    pub fn places(&self, map: &Sources, positions: &[Position]) -> Vec<Option<Place>> {
        let mut places = vec![None; positions.len()];
        for (number, source) in self.sources.iter().enumerate() {
            let mut wanted: Vec<(u64, usize)> = positions
                .iter()
                .enumerate()
                .filter_map(|(i, &position)| {
                    let (file, offset) = map.locate(position)?;
                    (std::ptr::eq(file, map.files().get(number)?)).then_some((offset, i))
                })
                .collect();
            wanted.sort_unstable();
            // If a source has disappeared since it was read, only the excerpt is missing.
            let _ = find_places(source, &wanted, &mut places);
        }
        places
    }
}

impl Place {
    /// The place of a character in a text in memory, by line and character number, both from 1.
    pub fn in_text(file: &str, text: &str, line: u64, character: u64) -> Place {
        let lines = text.split_inclusive('\n');
        let start: usize = lines.take(line.saturating_sub(1) as usize).map(str::len).sum();
        let content = text[start..].lines().next().unwrap_or_default();
        let mut characters = content.char_indices().map(|(at, _)| at);
        let at = start + characters.nth(character.saturating_sub(1) as usize).unwrap_or(content.len());
        let (excerpt, caret) = excerpt(text.as_bytes(), at);
        let (column, offset) = (text[start..at].chars().count() as u64 + 1, at as u64);
        Place { file: file.to_owned(), line, column, offset, excerpt, caret, binary: false }
    }
}

/// Reads a source once and resolves the wanted offsets, which are sorted.
fn find_places(source: &Source, wanted: &[(u64, usize)], places: &mut [Option<Place>]) -> io::Result<()> {
    let mut wanted = wanted.iter().peekable();
    if wanted.peek().is_none() {
        return Ok(());
    }
    let mut stream = source.reopen()?;
    let binary = memchr::memchr(0, stream.head()).is_some();
    let mut window = Window::default();
    while wanted.peek().is_some() {
        window.advance(&mut stream)?;
        while let Some(&&(offset, i)) = wanted.peek()
            && window.reaches(offset)
        {
            window.count_to(offset);
            let (excerpt, caret) = excerpt(&window.bytes, (offset - window.start) as usize);
            let (file, line, column) =
                (source.name.clone(), window.lines_before + 1, window.characters_before + 1);
            places[i] = Some(Place { file, line, column, offset, excerpt, caret, binary });
            wanted.next();
        }
        if window.ended {
            break;
        }
        window.count_to(window.safe_end());
    }
    Ok(())
}

/// A part of a source, with the number of lines before it.
#[derive(Default)]
struct Window {
    bytes: Vec<u8>,
    /// The offset of the first byte.
    start: u64,
    /// The offset up to which newlines are counted.
    counted: u64,
    lines_before: u64,
    /// The number of characters of the line up to there.
    characters_before: u64,
    ended: bool,
}

impl Window {
    /// Advances by a megabyte, keeping enough of the previous text for an excerpt.
    fn advance(&mut self, stream: &mut impl Read) -> io::Result<()> {
        let gone = self.bytes.len().saturating_sub(BEFORE + AFTER);
        self.bytes.drain(..gone);
        self.start += gone as u64;
        self.ended = stream.take(1 << 20).read_to_end(&mut self.bytes)? == 0;
        Ok(())
    }

    /// The offset up to which an excerpt is complete.
    fn safe_end(&self) -> u64 {
        let margin = if self.ended { 0 } else { AFTER };
        self.start + self.bytes.len().saturating_sub(margin) as u64
    }

    fn reaches(&self, offset: u64) -> bool {
        offset < self.safe_end() || (self.ended && offset == self.safe_end())
    }

    fn count_to(&mut self, offset: u64) {
        let from = (self.counted - self.start) as usize;
        let to = ((offset - self.start) as usize).max(from);
        let passed = &self.bytes[from..to];
        self.lines_before += memchr::memchr_iter(b'\n', passed).count() as u64;
        let line = memchr::memrchr(b'\n', passed).map_or(0, |newline| newline + 1);
        self.characters_before = if line > 0 { 0 } else { self.characters_before };
        self.characters_before +=
            passed[line..].iter().filter(|&&byte| begins_character(byte)).count() as u64;
        self.counted = self.counted.max(offset);
    }
}

/// The part of a line around a byte, and the terminal column of that byte in it.
fn excerpt(buffer: &[u8], at: usize) -> (String, usize) {
    let line_start = memchr::memrchr(b'\n', &buffer[..at]).map_or(0, |n| n + 1);
    let line_end = memchr::memchr(b'\n', &buffer[at..]).map_or(buffer.len(), |n| at + n);
    let from = character(buffer, line_start.max(at.saturating_sub(BEFORE)), at);
    let end = character(buffer, line_end.min(at + AFTER), line_end);
    let line = buffer[from..end].strip_suffix(b"\r").unwrap_or(&buffer[from..end]);
    let (before, after) = line.split_at((at - from).min(line.len()));
    let before = shown(before);
    let caret = before.width();
    (before + &shown(after), caret)
}

/// Whether a byte of UTF-8 is the first of a character.
fn begins_character(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// The first character boundary at or after `at`, at most `end`.
fn character(buffer: &[u8], at: usize, end: usize) -> usize {
    const LONGEST_CHARACTER: usize = 4;
    let continues = |&place: &usize| buffer.get(place).is_some_and(|&byte| !begins_character(byte));
    let passed = (at..end).take(LONGEST_CHARACTER - 1).take_while(continues).count();
    at + passed
}

/// The text a terminal shows for a piece of a line. A tab is one space, so that the caret does not depend on
/// tab stops.
fn shown(bytes: &[u8]) -> String {
    let shown = |c: char| match c {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    String::from_utf8_lossy(bytes).chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For every byte of a text longer than a window, the line and column agree with counting.
    #[test]
    fn places_agree_with_counting() {
        let mut text = String::new();
        for i in 0..60_000 {
            text.push_str(&["x", "é", "日"][i % 3].repeat(i % 61));
            text.push('\n');
        }
        assert!(text.len() > 1 << 20);
        let mut map = Sources::default();
        map.add("t", 0);
        let sources = SourceText { sources: vec![Source::bytes("t", text.as_bytes().into())] };
        let offsets = (0..text.len() as u64).step_by(997).chain([text.len() as u64]);
        let offsets: Vec<u64> = offsets.filter(|&offset| text.is_char_boundary(offset as usize)).collect();
        let positions: Vec<Position> = offsets.iter().map(|&o| Position(o)).collect();
        for (place, offset) in sources.places(&map, &positions).into_iter().zip(offsets) {
            let before = &text[..offset as usize];
            let place = place.unwrap();
            assert_eq!(place.line as usize, before.matches('\n').count() + 1);
            let line = &before[before.rfind('\n').map_or(0, |n| n + 1)..];
            assert_eq!(place.column as usize, line.chars().count() + 1);
        }
    }

    #[test]
    fn an_excerpt_is_short_and_points_at_the_byte() {
        let line = format!("{}!{}", "a".repeat(500), "b".repeat(500));
        let (text, caret) = excerpt(line.as_bytes(), 500);
        assert!(text.len() < 130);
        assert_eq!(text.chars().nth(caret), Some('!'));
        assert_eq!(excerpt(b"ab\r\ncd", 3), ("ab".into(), 2));
        assert_eq!(excerpt(b"ab\ncd", 3), ("cd".into(), 0));
        assert_eq!(excerpt(b"\ta\tb\x1b", 3), (" a b\u{fffd}".into(), 3));
    }

    /// Wide characters take two columns, combining characters none, and no excerpt begins or ends inside a
    /// character.
    #[test]
    fn a_caret_counts_terminal_columns() {
        let columns = |before: &str| excerpt(format!("{before}!").as_bytes(), before.len()).1;
        assert_eq!(columns("w(x,1)"), 6);
        assert_eq!(columns("w(名前,1)"), 9);
        assert_eq!(columns("w(\u{1f600},1)"), 7);
        assert_eq!(columns("w(e\u{301},1)"), 6);
        assert_eq!(columns("\t\tw"), 3);
        for shift in 0..4 {
            let line = format!("{}{}!{}", "a".repeat(shift), "名".repeat(40), "é\u{1f600}".repeat(40));
            let (text, caret) = excerpt(line.as_bytes(), line.find('!').unwrap());
            assert!(!text.contains('\u{fffd}'), "{text}");
            assert_eq!(text[..text.find('!').unwrap()].width(), caret);
        }
    }

    /// A place in a text for which only line and column are known.
    #[test]
    fn a_place_of_a_text_has_a_short_excerpt() {
        let text = format!("one\n名 {}\n", "x".repeat(1 << 20));
        let place = Place::in_text("t", &text, 2, 3);
        assert_eq!((place.line, place.column, place.offset, place.caret), (2, 3, 8, 3));
        assert!(place.excerpt.len() < 130 && place.excerpt.starts_with("名 x"));
        assert_eq!(Place::in_text("t", "ab", 1, 9).caret, 2);
        assert_eq!(Place::in_text("t", "", 7, 1).excerpt, "");
    }
}

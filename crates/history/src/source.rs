//! Positions in the input: one number for all files of a history.
//!
//! As in a compiler's source map, the files are concatenated and a [`Position`] is a byte offset into the
//! concatenation. The history stores positions only. Converting a position to line and column needs the text,
//! which is left to code that can read files.

/// A byte offset into the concatenation of all source files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// One source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The name as the user gave it.
    pub name: String,
    /// Where the file begins in the concatenation.
    pub start: Position,
}

/// The files of a history, in the order of concatenation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    files: Vec<SourceFile>,
}

impl Sources {
    /// Appends a file that begins at `start`, which must not be before the start of the previous file.
    pub fn add(&mut self, name: impl Into<String>, start: u64) {
        debug_assert!(self.files.last().is_none_or(|last| last.start.0 <= start));
        self.files.push(SourceFile { name: name.into(), start: Position(start) });
    }

    /// The files in order.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The file a position lies in, and the byte offset inside it.
    pub fn locate(&self, position: Position) -> Option<(&SourceFile, u64)> {
        let after = self.files.partition_point(|file| file.start <= position);
        let file = self.files.get(after.checked_sub(1)?)?;
        Some((file, position.0 - file.start.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_finds_its_file() {
        let mut sources = Sources::default();
        assert_eq!(sources.locate(Position(0)), None);
        sources.add("a", 0);
        sources.add("b", 10);
        let at = |n| sources.locate(Position(n)).map(|(file, offset)| (file.name.as_str(), offset));
        assert_eq!(at(9), Some(("a", 9)));
        assert_eq!(at(10), Some(("b", 0)));
    }
}

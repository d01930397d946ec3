//! The parser of scripts: splits lines into sections, sections into entries, and entries into steps.
//!
//! Parsing stops at the first error, with its line, its column and what was expected. Unknown labels, a commit without a
//! transaction, and a repeated section are errors.

use super::condition::{Condition, Names, RESERVED, parse_expected};
use super::words::{Piece, name_length};
use super::{Action, Expected, Script, ScriptError, Sql, Step};

/// The maximum length of a script, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// The maximum number of sessions. Each needs a thread and a connection.
const MAX_SESSIONS: usize = 64;
/// The maximum number of steps.
const MAX_STEPS: usize = 10_000;

/// Parses a script.
pub fn parse(text: &str) -> Result<Script, ScriptError> {
    if text.len() > MAX_BYTES {
        let message = format!("the script is too long; the maximum is {MAX_BYTES} bytes");
        return Err(ScriptError { line: 1, column: 1, message, help: None });
    }
    let mut reader = Reader::default();
    for section in sections(text)? {
        reader.section(&section)?;
    }
    reader.finish(text)
}

/// The kind of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Name,
    About,
    Setup,
    Steps,
    Anomaly,
    Teardown,
}

const KINDS: [(&str, Kind); 6] = [
    ("name", Kind::Name),
    ("about", Kind::About),
    ("setup", Kind::Setup),
    ("steps", Kind::Steps),
    ("anomaly when", Kind::Anomaly),
    ("teardown", Kind::Teardown),
];

const ONE_OF_KINDS: &str = "sections are `name:`, `about:`, `setup:`, `steps:`, `anomaly when:` and `teardown:`, and are not indented";

struct Section<'a> {
    kind: Kind,
    heading: Piece<'a>,
    /// The text after the colon.
    inline: Piece<'a>,
    /// The lines below, each with its column.
    lines: Vec<Piece<'a>>,
}

fn sections(text: &str) -> Result<Vec<Section<'_>>, ScriptError> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = Piece { line: number as u32 + 1, column: 1, text: line };
        let trimmed = line.trim();
        if trimmed.text.is_empty() || trimmed.text.starts_with('#') {
            continue;
        }
        if trimmed.column == 1 {
            let section = heading(trimmed)?;
            if sections.iter().any(|earlier| earlier.kind == section.kind) {
                return Err(trimmed.error("duplicate section"));
            }
            sections.push(section);
        } else if let Some(section) = sections.last_mut() {
            section.lines.push(trimmed);
        } else {
            let mut error = trimmed.error("expected a section, found an indented line");
            error.help = Some(ONE_OF_KINDS.to_owned());
            return Err(error);
        }
    }
    Ok(sections)
}

fn heading(line: Piece<'_>) -> Result<Section<'_>, ScriptError> {
    let wrong = || {
        let mut error = line.error(format!("expected a section, found {}", quoted(line.text)));
        error.help = Some(ONE_OF_KINDS.to_owned());
        error
    };
    let (name, _) = line.text.split_once(':').ok_or_else(wrong)?;
    let name_of = |known: &str| name.split_whitespace().eq(known.split_whitespace());
    let &(_, kind) = KINDS.iter().find(|(known, _)| name_of(known)).ok_or_else(wrong)?;
    Ok(Section { kind, heading: line, inline: line.skip(name.len() + 1).trim(), lines: Vec::new() })
}

/// A text in quotes for error messages, shortened if it is long.
fn quoted(text: &str) -> String {
    let beginning: String = text.chars().take(40).collect();
    if beginning.len() < text.len() { format!("`{beginning}...`") } else { format!("`{beginning}`") }
}

impl<'a> Section<'a> {
    /// The entries. An entry is a line and the lines below it that are indented deeper than the section's first line.
    fn entries(&self) -> Result<Vec<Vec<Piece<'a>>>, ScriptError> {
        if !self.inline.text.is_empty() {
            let mut error = self.inline.error("expected the end of the line");
            error.help = Some("put the content of this section on the lines below it, indented".to_owned());
            return Err(error);
        }
        let margin = self.lines.first().map_or(0, |line| line.column);
        let mut entries: Vec<Vec<Piece<'_>>> = Vec::new();
        for line in &self.lines {
            match entries.last_mut() {
                Some(entry) if line.column > margin => entry.push(*line),
                _ if line.column < margin => {
                    let message = format!("expected column {margin}, where the lines of this section begin");
                    return Err(line.error(message));
                }
                _ => entries.push(vec![*line]),
            }
        }
        Ok(entries)
    }

    /// The whole content in one line.
    fn prose(&self) -> String {
        let pieces = self.pieces();
        pieces.iter().map(|piece| piece.text).collect::<Vec<_>>().join(" ")
    }

    fn pieces(&self) -> Vec<Piece<'a>> {
        let all = std::iter::once(&self.inline).chain(&self.lines);
        all.filter(|piece| !piece.text.is_empty()).copied().collect()
    }

    fn statements(&self) -> Result<Vec<Sql>, ScriptError> {
        let sql = |entry: &Vec<Piece<'_>>| {
            let place = entry.first()?.place();
            Some(Sql { text: statement(entry), place })
        };
        Ok(self.entries()?.iter().filter_map(sql).collect())
    }
}

/// The pieces joined to a statement, without a semicolon at its end.
fn statement(pieces: &[Piece<'_>]) -> String {
    let text = pieces.iter().map(|piece| piece.text).collect::<Vec<_>>().join("\n");
    text.trim_end_matches(|c: char| c == ';' || c.is_whitespace()).to_owned()
}

#[derive(Default)]
struct Reader<'a> {
    name: String,
    about: String,
    setup: Vec<Sql>,
    teardown: Vec<Sql>,
    sessions: Vec<String>,
    steps: Vec<Step>,
    /// The session, the label and the index of every labelled step.
    labels: Vec<(usize, String, usize)>,
    /// Per session, whether a transaction is open at this point.
    open: Vec<bool>,
    /// Parsed last, because it may precede the steps that it refers to.
    anomaly: Option<(Piece<'a>, Vec<Piece<'a>>)>,
}

impl<'a> Reader<'a> {
    fn section(&mut self, section: &Section<'a>) -> Result<(), ScriptError> {
        match section.kind {
            Kind::Name => self.name = section.prose(),
            Kind::About => self.about = section.prose(),
            Kind::Setup => self.setup = section.statements()?,
            Kind::Teardown => self.teardown = section.statements()?,
            Kind::Anomaly => self.anomaly = Some((section.heading, section.pieces())),
            Kind::Steps => {
                for entry in section.entries()? {
                    self.step(&entry)?;
                }
            }
        }
        Ok(())
    }

    fn finish(self, text: &str) -> Result<Script, ScriptError> {
        if self.steps.is_empty() {
            let line = text.lines().count().max(1) as u32;
            let help = Some("add a section `steps:` with at least one step, such as `T1: BEGIN`".to_owned());
            return Err(ScriptError { line, column: 1, message: "the script has no steps".to_owned(), help });
        }
        let names = Names { sessions: &self.sessions, labels: &self.labels };
        let anomaly = match &self.anomaly {
            None => None,
            Some((heading, pieces)) if pieces.is_empty() => {
                return Err(heading.error("expected a condition, such as `T1 committed and T2.read = 10`"));
            }
            Some((_, pieces)) => Some(Condition::parse(pieces, &names)?),
        };
        Ok(Script {
            name: self.name,
            about: self.about,
            setup: self.setup,
            sessions: self.sessions,
            steps: self.steps,
            anomaly,
            teardown: self.teardown,
        })
    }

    fn step(&mut self, entry: &[Piece<'_>]) -> Result<(), ScriptError> {
        let Some((first, more)) = entry.split_first() else { return Ok(()) };
        if self.steps.len() == MAX_STEPS {
            return Err(first.error(format!("too many steps; the maximum is {MAX_STEPS}")));
        }
        let (who, label, rest) = head(*first)?;
        let session = self.session(who)?;
        let label = label.map(|label| self.label(session, label)).transpose()?;
        let mut pieces = vec![rest];
        pieces.extend_from_slice(more);
        let (sql, expected) = split_expected(&pieces)?;
        if sql.is_empty() {
            return Err(rest.error("expected a statement, `BEGIN`, `COMMIT` or `ROLLBACK`"));
        }
        let action = action(&sql, &rest)?;
        self.follow(session, &action, &rest)?;
        // The statement may begin on the next line.
        let place = pieces.iter().find(|piece| !piece.text.is_empty()).unwrap_or(first).place();
        self.steps.push(Step { session, label, action, expected, place });
        Ok(())
    }

    /// The session of that name, added if it is new.
    fn session(&mut self, name: Piece<'_>) -> Result<usize, ScriptError> {
        if let Some(session) = self.sessions.iter().position(|known| known == name.text) {
            return Ok(session);
        }
        not_reserved(&name)?;
        if self.sessions.len() == MAX_SESSIONS {
            return Err(name.error(format!("too many sessions; the maximum is {MAX_SESSIONS}")));
        }
        self.sessions.push(name.text.to_owned());
        self.open.push(false);
        Ok(self.sessions.len() - 1)
    }

    /// Registers the label of the next step.
    fn label(&mut self, session: usize, label: Piece<'_>) -> Result<String, ScriptError> {
        not_reserved(&label)?;
        if self.labels.iter().any(|known| known.0 == session && known.1 == label.text) {
            return Err(label.error(format!("duplicate label `{}`", label.text)));
        }
        self.labels.push((session, label.text.to_owned(), self.steps.len()));
        Ok(label.text.to_owned())
    }

    /// Tracks the transactions of the session: `BEGIN` requires that none is open, `COMMIT` and `ROLLBACK` that one is.
    fn follow(&mut self, session: usize, action: &Action, at: &Piece<'_>) -> Result<(), ScriptError> {
        let Some(open) = self.open.get_mut(session) else { return Ok(()) };
        let begins = *action == Action::Begin;
        if (begins && *open) || (action.is_end() && !*open) {
            let name = &self.sessions[session];
            return Err(at.error(if begins {
                format!("{name} already has an open transaction")
            } else {
                format!("{name} has no open transaction")
            }));
        }
        if begins || action.is_end() {
            *open = begins;
        }
        Ok(())
    }
}

fn not_reserved(name: &Piece<'_>) -> Result<(), ScriptError> {
    if RESERVED.iter().any(|word| word.eq_ignore_ascii_case(name.text)) {
        return Err(name.error(format!("expected a name, found `{}`, which is a keyword", name.text)));
    }
    Ok(())
}

/// The session, the label and the rest after the colon.
fn head(line: Piece<'_>) -> Result<(Piece<'_>, Option<Piece<'_>>, Piece<'_>), ScriptError> {
    let wrong = |at: &Piece<'_>, expected: &str| {
        let found = if at.text.is_empty() { "the end of the line".to_owned() } else { quoted(at.text) };
        let mut error = at.error(format!("expected {expected}, found {found}"));
        error.help = Some("a step is `session: statement` or `session.label: statement`".to_owned());
        error
    };
    let (who, mut rest) = name(line).ok_or_else(|| wrong(&line, "a session"))?;
    let mut label = None;
    if rest.text.starts_with('.') {
        let after = rest.skip(1);
        let (found, behind) = name(after).ok_or_else(|| wrong(&after, "a label"))?;
        (label, rest) = (Some(found), behind);
    }
    rest = rest.trim();
    if !rest.text.starts_with(':') {
        return Err(wrong(&rest, if label.is_some() { "`:`" } else { "`:` or `.` and a label" }));
    }
    Ok((who, label, rest.skip(1).trim()))
}

/// The name at the beginning of the piece, and the rest.
fn name(piece: Piece<'_>) -> Option<(Piece<'_>, Piece<'_>)> {
    let length = name_length(piece.text);
    (length > 0).then(|| (Piece { text: &piece.text[..length], ..piece }, piece.skip(length)))
}

/// The statement and its expectation.
fn split_expected(pieces: &[Piece<'_>]) -> Result<(String, Option<Expected>), ScriptError> {
    let Some((number, at)) = find_arrow(pieces) else { return Ok((statement(pieces), None)) };
    let (before, after) = pieces.split_at(number);
    let Some((split, after)) = after.split_first() else { return Ok((statement(pieces), None)) };
    let mut sql = before.to_vec();
    sql.push(Piece { text: &split.text[..at], ..*split }.trim());
    let mut expected = vec![split.skip(at + 2)];
    expected.extend_from_slice(after);
    if expected.iter().all(|piece| piece.trim().text.is_empty()) {
        return Err(split.skip(at).error("expected an expectation: `waits`, `fails`, `none` or an answer"));
    }
    Ok((statement(&sql), Some(parse_expected(&expected)?)))
}

/// The last `=>` outside quotes and parentheses, as the index of its piece and the offset in it. Inside them, `=>` is part of
/// the statement.
fn find_arrow(pieces: &[Piece<'_>]) -> Option<(usize, usize)> {
    let mut found = None;
    let mut quote = None;
    let mut depth = 0_i64;
    for (number, piece) in pieces.iter().enumerate() {
        for (at, c) in piece.text.char_indices() {
            match (quote, c) {
                (Some(open), _) if c == open => quote = None,
                (None, '\'' | '"' | '`') => quote = Some(c),
                (None, '(') => depth += 1,
                (None, ')') => depth -= 1,
                (None, '=') if depth <= 0 && is_arrow(piece.text, at) => found = Some((number, at)),
                _ => {}
            }
        }
    }
    // Quotes and parentheses in the expectation are balanced, so they do not hide an arrow.
    found
}

/// Whether there is an arrow here that is not part of MySQL's operator `<=>`.
fn is_arrow(text: &str, at: usize) -> bool {
    text[at..].starts_with("=>") && text[..at].chars().next_back().is_none_or(char::is_whitespace)
}

fn action(sql: &str, at: &Piece<'_>) -> Result<Action, ScriptError> {
    let words: Vec<String> = sql.split_whitespace().map(str::to_ascii_uppercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["BEGIN"] | ["BEGIN", "TRANSACTION" | "WORK"] | ["START", "TRANSACTION"] => Ok(Action::Begin),
        ["COMMIT" | "END"] | ["COMMIT" | "END", "TRANSACTION" | "WORK"] => Ok(Action::Commit),
        ["ROLLBACK" | "ABORT"] | ["ROLLBACK" | "ABORT", "TRANSACTION" | "WORK"] => Ok(Action::Rollback),
        ["BEGIN", ..] | ["START", "TRANSACTION", ..] => {
            let mut error = at.error("`BEGIN` takes no options");
            error.help =
                Some("choose the isolation level when opening the database, not in the script".to_owned());
            Err(error)
        }
        ["COMMIT" | "END" | "ABORT", ..] => Err(at.error("`COMMIT` and `ROLLBACK` take no options")),
        _ => Ok(Action::Statement(sql.to_owned())),
    }
}

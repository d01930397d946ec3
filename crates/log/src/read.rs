//! The reader: parses a log line by line.
//!
//! Each line is deserialized directly into its [`Entry`], without a JSON tree, so that an error has its line and column.
//! [`Reader`] keeps one line in memory, and a line is at most [`LONGEST_LINE`] bytes long.

use std::fmt;
use std::io::{self, BufRead, Read as _};

use isoscope_history::Outcome;
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::{
    Answer, Class, Ending, Entry, Failure, Log, LogHeader, OUTCOMES, Scalar, Stamps, VENDORS, VERSION,
    Vendor, vendor_word,
};

/// The longest line, in bytes.
const LONGEST_LINE: u64 = 1 << 30;

/// Why a log cannot be read.
#[derive(Debug)]
pub enum LogError {
    /// Reading the input failed.
    Io(io::Error),
    /// A line does not conform to the format.
    Wrong {
        /// The line, from 1.
        line: u64,
        /// The byte of the line at which the error was found, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Io(error) => write!(f, "cannot read the log: {error}"),
            LogError::Wrong { line, column, message } => write!(f, "line {line}, column {column}: {message}"),
        }
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LogError::Io(error) => Some(error),
            LogError::Wrong { .. } => None,
        }
    }
}

impl From<io::Error> for LogError {
    fn from(error: io::Error) -> LogError {
        LogError::Io(error)
    }
}

/// A part of the input that was ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The line, from 1.
    pub line: u64,
    /// What was ignored.
    pub message: String,
}

/// Reads a whole log.
pub fn read(input: impl BufRead) -> Result<Log, LogError> {
    let mut reader = Reader::new(input)?;
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        entries.push(entry);
    }
    Ok(Log { header: reader.header, entries, warnings: reader.warnings })
}

/// A log being read.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    header: LogHeader,
    warnings: Vec<Warning>,
    /// The fields ignored so far. Each is reported once.
    ignored: Vec<String>,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header.
    pub fn new(input: R) -> Result<Reader<R>, LogError> {
        let mut lines = Lines { input, number: 0, bytes: Vec::new() };
        if !lines.advance()? {
            let message = "the file is empty; a log begins with a header".to_owned();
            return Err(LogError::Wrong { line: 1, column: 1, message });
        }
        let Fields { known: header, unknown } =
            serde_json::from_slice(&lines.bytes).map_err(|error| lines.wrong(&error))?;
        let mut reader = Reader { lines, header, warnings: Vec::new(), ignored: Vec::new() };
        reader.ignore(unknown);
        Ok(reader)
    }

    /// What was recorded.
    pub fn header(&self) -> &LogHeader {
        &self.header
    }

    /// The warnings so far.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The next statement; `None` at the end.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, LogError> {
        if !self.lines.advance()? {
            return Ok(None);
        }
        match serde_json::from_slice(&self.lines.bytes) {
            Ok(Fields { known, unknown }) => {
                self.ignore(unknown);
                Ok(Some(known))
            }
            Err(error) if error.is_eof() && !self.lines.is_whole() => {
                let message = "the last line is truncated; it was skipped".to_owned();
                self.warnings.push(Warning { line: self.lines.number, message });
                Ok(None)
            }
            Err(error) => Err(self.lines.wrong(&error)),
        }
    }

    fn ignore(&mut self, fields: Vec<String>) {
        for field in fields {
            if self.ignored.contains(&field) {
                continue;
            }
            let message = format!("unknown field {field:?}; it was ignored");
            self.warnings.push(Warning { line: self.lines.number, message });
            self.ignored.push(field);
        }
    }
}

/// The lines of an input.
#[derive(Debug)]
struct Lines<R> {
    input: R,
    number: u64,
    bytes: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Reads the next line. Returns false at the end of the input.
    fn advance(&mut self) -> Result<bool, LogError> {
        self.bytes.clear();
        self.number += 1;
        let read = (&mut self.input).take(LONGEST_LINE).read_until(b'\n', &mut self.bytes)?;
        if read as u64 == LONGEST_LINE && !self.is_whole() {
            let message = format!("the line is longer than {LONGEST_LINE} bytes");
            return Err(LogError::Wrong { line: self.number, column: 1, message });
        }
        Ok(read > 0)
    }

    /// Whether the line ends with a newline.
    fn is_whole(&self) -> bool {
        self.bytes.ends_with(b"\n")
    }

    /// An error in this line.
    fn wrong(&self, error: &serde_json::Error) -> LogError {
        let message = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = message.strip_suffix(&place).unwrap_or(&message).to_owned();
        // An error at the newline is reported on line 2; here it belongs to the end of this line.
        let bytes = if error.line() > 1 { self.bytes.len() } else { error.column().max(1) };
        let before = &self.bytes[..(bytes - 1).min(self.bytes.len())];
        let column = 1 + before.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        LogError::Wrong { line: self.number, column, message }
    }
}

/// The content of a line, and the names of the fields that this version does not know.
struct Fields<T> {
    known: T,
    unknown: Vec<String>,
}

impl<'de> Deserialize<'de> for Fields<LogHeader> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Fields<LogHeader>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the header of a log, {\"isoscope\":\"log\",..}")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let (mut kind, mut version, mut seed) = (None, None, None);
        let (mut parameters, mut sessions) = (None, None);
        let (mut database, mut vendor, mut isolation, mut workload, mut schema) =
            (None, None, None, None, None);
        let mut unknown = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "isoscope" => kind = Some(expect(&map.next_value()?, "log", "this is not a log")?),
                "version" => version = Some(expect(&map.next_value()?, VERSION, "unsupported version")?),
                "database" => database = Some(map.next_value()?),
                "vendor" => vendor = Some(vendor_of(&map.next_value::<String>()?)?),
                "isolation" => isolation = Some(map.next_value()?),
                "workload" => workload = Some(map.next_value()?),
                "parameters" => parameters = Some(map.next_value()?),
                "sessions" => sessions = map.next_value()?,
                "seed" => seed = map.next_value()?,
                "schema" => schema = Some(map.next_value()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    unknown.push(name);
                }
            }
        }
        kind.ok_or_else(|| de::Error::missing_field("isoscope"))?;
        version.ok_or_else(|| de::Error::missing_field("version"))?;
        let known = LogHeader {
            database: database.ok_or_else(|| de::Error::missing_field("database"))?,
            vendor: vendor.ok_or_else(|| de::Error::missing_field("vendor"))?,
            isolation: isolation.ok_or_else(|| de::Error::missing_field("isolation"))?,
            workload: workload.ok_or_else(|| de::Error::missing_field("workload"))?,
            parameters,
            sessions,
            seed,
            schema: schema.ok_or_else(|| de::Error::missing_field("schema"))?,
        };
        Ok(Fields { known, unknown })
    }
}

/// Checks a field that has only one valid value.
fn expect<E: de::Error>(found: &Spelled, wanted: impl Into<Spelled>, otherwise: &str) -> Result<(), E> {
    let wanted = wanted.into();
    if *found == wanted {
        return Ok(());
    }
    Err(E::custom(format!("{otherwise}: expected {wanted}, found {found}")))
}

/// A text or an unsigned integer.
#[derive(Deserialize, PartialEq)]
#[serde(untagged)]
enum Spelled {
    Text(String),
    Number(u64),
}

impl From<&str> for Spelled {
    fn from(text: &str) -> Spelled {
        Spelled::Text(text.to_owned())
    }
}

impl From<u64> for Spelled {
    fn from(number: u64) -> Spelled {
        Spelled::Number(number)
    }
}

impl fmt::Display for Spelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spelled::Text(text) => write!(f, "{text:?}"),
            Spelled::Number(number) => write!(f, "{number}"),
        }
    }
}

fn vendor_of<E: de::Error>(word: &str) -> Result<Vendor, E> {
    let known = VENDORS.into_iter().find(|&vendor| vendor_word(vendor) == word);
    known.ok_or_else(|| E::unknown_variant(word, &["postgres", "mysql", "mariadb", "sqlite", "memory"]))
}

impl<'de> Deserialize<'de> for Fields<Entry> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Fields<Entry>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a statement, {\"session\":..,\"txn\":..,\"number\":..,\"sql\":..}")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let (mut session, mut txn, mut number, mut sql, mut times) = (None, None, None, None, None);
        let (mut answer, mut outcome, mut stamps) = (None, None, None);
        let mut params = Vec::new();
        let mut unknown = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "session" => session = Some(map.next_value::<Cell>()?.0),
                "txn" => txn = Some(map.next_value::<Cell>()?.0),
                "number" => number = Some(map.next_value()?),
                "sql" => sql = Some(map.next_value()?),
                "params" => params = plain(map.next_value()?),
                "rows" | "count" | "error" if answer.is_some() => {
                    return Err(de::Error::custom("a statement has only one of rows, count and error"));
                }
                "rows" => {
                    let rows = map.next_value::<Vec<Vec<Cell>>>()?;
                    answer = Some(Ok(Answer::Rows(rows.into_iter().map(plain).collect())));
                }
                "count" => answer = Some(Ok(Answer::Count(map.next_value()?))),
                "error" => answer = Some(Err(map.next_value::<ErrorField>()?.into_failure()?)),
                "times" => times = Some(map.next_value::<[u64; 2]>()?),
                "outcome" => outcome = Some(outcome_of(&map.next_value::<String>()?)?),
                "timestamps" => stamps = Some(map.next_value::<[Option<i64>; 2]>()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    unknown.push(name);
                }
            }
        }
        let [sent, answered] = times.ok_or_else(|| de::Error::missing_field("times"))?;
        let known = Entry {
            session: session.ok_or_else(|| de::Error::missing_field("session"))?,
            txn: txn.ok_or_else(|| de::Error::missing_field("txn"))?,
            number: number.ok_or_else(|| de::Error::missing_field("number"))?,
            sql: sql.ok_or_else(|| de::Error::missing_field("sql"))?,
            params,
            answer: answer.ok_or_else(|| de::Error::custom("missing answer: rows, count or error"))?,
            sent,
            answered,
            ending: ending(outcome, stamps)?,
        };
        Ok(Fields { known, unknown })
    }
}

fn ending<E: de::Error>(
    outcome: Option<Outcome>,
    stamps: Option<[Option<i64>; 2]>,
) -> Result<Option<Ending>, E> {
    match (outcome, stamps) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(E::custom("timestamps without an outcome")),
        (Some(outcome), stamps) => {
            let [begin, commit] = stamps.unwrap_or_default();
            Ok(Some(Ending { outcome, stamps: Stamps { begin, commit } }))
        }
    }
}

fn outcome_of<E: de::Error>(word: &str) -> Result<Outcome, E> {
    let known = OUTCOMES.into_iter().find(|outcome| outcome.name() == word);
    known.ok_or_else(|| E::unknown_variant(word, &["committed", "aborted", "unknown"]))
}

#[derive(Deserialize)]
struct ErrorField {
    class: String,
    #[serde(default)]
    code: Option<String>,
    message: String,
}

impl ErrorField {
    fn into_failure<E: de::Error>(self) -> Result<Failure, E> {
        let ErrorField { class: word, code, message } = self;
        match Class::ALL.into_iter().find(|class| class.name() == word) {
            Some(class) => Ok(Failure { class, code, message }),
            None => Err(E::custom(format!("unknown error class {word:?}"))),
        }
    }
}

fn plain(cells: Vec<Cell>) -> Vec<Scalar> {
    cells.into_iter().map(|cell| cell.0).collect()
}

/// A scalar in a log.
struct Cell(Scalar);

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CellVisitor).map(Cell)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a scalar")
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Scalar, E> {
        Ok(Scalar::Bool(truth))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Scalar, E> {
        Ok(Scalar::Int(n))
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Scalar, E> {
        let n = i64::try_from(n).map_err(|_| E::custom("the integer exceeds the signed 64-bit range"))?;
        Ok(Scalar::Int(n))
    }

    fn visit_f64<E>(self, x: f64) -> Result<Scalar, E> {
        Ok(Scalar::Float(x))
    }

    fn visit_str<E>(self, words: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(words.to_owned()))
    }

    fn visit_string<E>(self, words: String) -> Result<Scalar, E> {
        Ok(Scalar::Text(words))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Scalar, M::Error> {
        let expected = "expected {\"float\":\"..\"}, the bits of a number in 16 hexadecimal digits";
        let Some((name, digits)) = map.next_entry::<String, String>()? else {
            return Err(de::Error::custom(expected));
        };
        let more = map.next_key::<String>()?.is_some();
        match u64::from_str_radix(&digits, 16) {
            Ok(bits) if name == "float" && digits.len() == 16 && !more => {
                Ok(Scalar::Float(f64::from_bits(bits)))
            }
            _ => Err(de::Error::custom(expected)),
        }
    }
}

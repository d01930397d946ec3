//! The one-line notation: a history written by hand.
//!
//! ```text
//! T1: w(x,1)   T2: r(x,1) w(x,2) ; T3: r(x,2)   T4!: w(x,9)   T5?: a(l,3)   T6@2-5: r(l,[3])
//! ```
//!
//! A transaction is a name, a colon and operations. It starts a new session unless a `;` joins it to the
//! previous one. After the name, `!` means aborted, `?` means unknown outcome, and `@2-5` means that it was
//! invoked as event 2 and returned as event 5 (`@2-`: it never returned).
//!
//! | operation | means |
//! |---|---|
//! | `r(x,1)` | read 1 from x |
//! | `w(x,1)` | wrote 1 to x |
//! | `a(x,1)` | appended 1 to the list x |
//! | `r(x,[1 2])` | read the list x |
//! | `rl(x,?)`, `rr(x,[1])` | read the list x without a result; read a register that holds a list |
//! | `i(x,1)`, `d(x)`, `d(x,7)` | inserted x with value 1; deleted x; deleted x, leaving the tombstone 7 |
//! | `range(x,z,{x=1 y=2})` | read all keys from x to z and found x and y; a bound of `nil` is none |
//!
//! Values and keys are integers, decimals, words (`x`), keywords (`:x`, `:"a b"`), strings (`"a b"`), `nil`,
//! `true`, `false`, and `?` for a value that was not learned; `f"7ff0000000000000"` is a float given by its
//! bits. The initial value of every key is 0. `init=nil` (or another value) at the start of the text changes
//! it for all keys, `init(x)=5` for one key. `#` and `//` start a comment. The history ends at `=>`; the
//! caller interprets the rest ([`parse_expecting`]).

use std::fmt::{self, Write as _};

use rustc_hash::FxHashSet;

use crate::draft::{Draft, DraftTxn};
use crate::history::{History, NO_EVENT, OpKind, Outcome, RangeRow};
use crate::ids::{Session, Txn};
use crate::value::{Datum, Value};

/// A syntax error in the notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotationError {
    /// The byte offset of the error.
    pub at: usize,
    /// What was expected there.
    pub expected: &'static str,
}

impl fmt::Display for NotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} at byte {}", self.expected, self.at)
    }
}

impl std::error::Error for NotationError {}

/// Parses a history. Text after `=>` is an error here.
pub fn parse(text: &str) -> Result<History, NotationError> {
    match parse_expecting(text)? {
        (history, None) => Ok(history),
        (_, Some(rest)) => {
            Err(NotationError { at: text.len() - rest.len() - 2, expected: "a transaction or the end" })
        }
    }
}

/// Parses a history and returns the text after `=>`, if any.
pub fn parse_expecting(text: &str) -> Result<(History, Option<&str>), NotationError> {
    let mut draft = Draft::new();
    let rest = parse_into(text, 0, &mut draft)?;
    let history = draft.finish().map_err(|limit| NotationError { at: text.len(), expected: limit.what })?;
    Ok((history, rest))
}

/// Parses a history into a draft whose table and sources the caller provides. `base` is the position of the
/// text's first byte.
pub fn parse_into<'a>(text: &'a str, base: u64, draft: &mut Draft) -> Result<Option<&'a str>, NotationError> {
    let mut parser = Parser { text, at: 0, base, draft, names: FxHashSet::default() };
    parser.history()
}

struct Parser<'a, 'd> {
    text: &'a str,
    at: usize,
    base: u64,
    draft: &'d mut Draft,
    names: FxHashSet<Value>,
}

type Parsed<T> = Result<T, NotationError>;

impl<'a> Parser<'a, '_> {
    fn history(&mut self) -> Parsed<Option<&'a str>> {
        self.initial_values()?;
        let mut session = None;
        loop {
            self.space();
            if self.at == self.text.len() {
                return match session {
                    Some(_) => self.fail("a transaction after `;`"),
                    None => Ok(None),
                };
            }
            if self.take("=>") {
                return Ok(Some(&self.text[self.at..]));
            }
            let used = self.txn(session)?;
            self.space();
            session = self.take(";").then_some(used);
        }
    }

    fn initial_values(&mut self) -> Parsed<()> {
        loop {
            self.space();
            if self.take("init=") {
                let value = self.initial_value()?;
                self.draft.set_initial(value);
            } else if self.take("init(") {
                let key = self.key()?;
                self.expect(")", "`)`")?;
                self.expect("=", "`=` and a value")?;
                let value = self.initial_value()?;
                self.draft.set_initial_of(key, value);
            } else {
                return Ok(());
            }
        }
    }

    /// An initial value. Every read is compared with it, so it must be known.
    fn initial_value(&mut self) -> Parsed<Value> {
        self.space();
        let start = self.at;
        let value = self.value()?;
        if self.draft.values.is_unlearned(value) {
            self.at = start;
            return self.fail("an initial value that is known");
        }
        Ok(value)
    }

    fn txn(&mut self, session: Option<Session>) -> Parsed<Session> {
        let start = self.at;
        let name = self.word();
        if name.is_empty() {
            return self.fail("a transaction such as `T1: r(x,0) w(x,1)`");
        }
        let name = match name.strip_prefix('T').and_then(canonical_number) {
            Some(n) => self.draft.values.nat(n),
            None => self.draft.values.text(name),
        };
        if !self.names.insert(name) {
            self.at = start;
            return self.fail("a transaction name not used before");
        }
        let outcome = match (self.take("!"), self.take("?")) {
            (true, _) => Outcome::Aborted,
            (_, true) => Outcome::Unknown,
            _ => Outcome::Committed,
        };
        let session = session.unwrap_or_else(|| self.draft.new_session(name));
        let txn = self.draft.txn(session, name, outcome, Some(self.base + start as u64));
        if self.take("@") {
            let invoke = self.event()?;
            self.expect("-", "`-` and the event of the return")?;
            let digit = self.text[self.at..].starts_with(|c: char| c.is_ascii_digit());
            let end = self.at;
            let complete = if digit { self.event()? } else { NO_EVENT };
            if complete < invoke {
                self.at = end;
                return self.fail("a return that is not before its invocation");
            }
            self.draft.set_events(txn, invoke, complete);
        }
        self.expect(":", "`:` after the transaction's name")?;
        loop {
            self.space();
            let start = self.at;
            let word = self.word();
            if word.is_empty() || !self.take("(") {
                self.at = start;
                return Ok(session);
            }
            self.op(txn, word, start)?;
        }
    }

    fn op(&mut self, txn: DraftTxn, word: &str, start: usize) -> Parsed<()> {
        let position = Some(self.base + start as u64);
        let kind = match word {
            "r" | "rr" => OpKind::Read,
            "rl" => OpKind::ReadList,
            "w" => OpKind::Write,
            "a" => OpKind::Append,
            "i" => OpKind::Insert,
            "d" => OpKind::Delete,
            "range" => {
                let row = self.range()?;
                self.draft.push_range(txn, row, position);
                return self.expect(")", "`)`");
            }
            _ => {
                self.at = start;
                return self.fail("an operation: r, w, a, i, d or range");
            }
        };
        let key = self.key()?;
        self.space();
        let mut value_at = self.at;
        let value = if kind == OpKind::Delete && !self.text[self.at..].starts_with(',') {
            Value::NIL
        } else {
            self.expect(",", "`,` and a value")?;
            self.space();
            value_at = self.at;
            self.value()?
        };
        let is_list = matches!(self.draft.values.datum(value), Datum::List(_));
        if is_list && matches!(kind, OpKind::Append | OpKind::Delete) {
            self.at = value_at;
            return self.fail("a value that is not a list");
        }
        let kind = if word == "r" && is_list { OpKind::ReadList } else { kind };
        self.space();
        self.expect(")", "`)`")?;
        self.draft.push(txn, kind, key, value, position);
        Ok(())
    }

    fn range(&mut self) -> Parsed<RangeRow> {
        let low = self.key()?;
        self.space();
        self.expect(",", "`,` and the last key of the range")?;
        self.space();
        let start = self.at;
        let high = self.key()?;
        if self.draft.values.is_reversed(low, high) {
            self.at = start;
            return self.fail("an upper bound that is not below the lower one");
        }
        self.space();
        self.expect(",", "`,` and the rows such as `{x=1 y=2}`")?;
        let live = self.rows(low, high)?;
        self.space();
        let dead = if self.take(",") { self.rows(low, high)? } else { Vec::new() };
        self.space();
        Ok(RangeRow { low, high, live, dead })
    }

    fn rows(&mut self, low: Value, high: Value) -> Parsed<Vec<(Value, Value)>> {
        self.space();
        self.expect("{", "rows such as `{x=1 y=2}`")?;
        let (mut rows, mut found) = (Vec::new(), FxHashSet::default());
        loop {
            self.space();
            if self.take("}") {
                return Ok(rows);
            }
            let start = self.at;
            let key = self.datum("a key or `}`")?;
            if self.draft.values.is_outside(key, low, high) {
                self.at = start;
                return self.fail("a key inside of the range");
            }
            if !found.insert(key) {
                self.at = start;
                return self.fail("each key once");
            }
            self.expect("=", "`=` and a value")?;
            rows.push((key, self.value()?));
        }
    }

    fn key(&mut self) -> Parsed<Value> {
        self.datum("a key")
    }

    fn value(&mut self) -> Parsed<Value> {
        self.datum("a value")
    }

    /// A key or a value; `expected` says which.
    fn datum(&mut self, expected: &'static str) -> Parsed<Value> {
        self.space();
        let rest = &self.text[self.at..];
        match rest.bytes().next() {
            Some(b'[') => self.list(),
            Some(b'"') => {
                let text = self.string()?;
                Ok(self.draft.values.text(&text))
            }
            Some(b'?') => {
                self.at += 1;
                Ok(Value::UNKNOWN)
            }
            Some(b':') => {
                self.at += 1;
                self.keyword()
            }
            Some(b'f') if rest.starts_with("f\"") => {
                self.at += 1;
                self.float_bits()
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                let word = self.word();
                Ok(match word {
                    "" => return self.fail(expected),
                    "nil" => Value::NIL,
                    "true" => self.draft.values.add(Datum::Bool(true)),
                    "false" => self.draft.values.add(Datum::Bool(false)),
                    word => self.draft.values.text(word),
                })
            }
        }
    }

    /// A list of scalars. Nested lists have no meaning in a history.
    fn list(&mut self) -> Parsed<Value> {
        self.at += 1;
        let mut elements = Vec::new();
        loop {
            self.space();
            if self.take("]") {
                return Ok(self.draft.values.list(&elements));
            }
            if self.text[self.at..].starts_with('[') {
                return self.fail("a value that is not a list");
            }
            elements.push(self.datum("a value or `]`")?);
            self.space();
            self.take(",");
        }
    }

    fn keyword(&mut self) -> Parsed<Value> {
        if self.text[self.at..].starts_with('"') {
            let name = self.string()?;
            return Ok(self.draft.values.keyword(&name));
        }
        let name = self.word();
        if name.is_empty() { self.fail("the name of a keyword") } else { Ok(self.draft.values.keyword(name)) }
    }

    /// A float without a decimal notation, such as infinity: the 16 hexadecimal digits of its bits.
    fn float_bits(&mut self) -> Parsed<Value> {
        let start = self.at;
        let digits = self.string()?;
        match u64::from_str_radix(&digits, 16) {
            Ok(bits) if digits.len() == 16 => Ok(self.draft.values.add(Datum::Float(f64::from_bits(bits)))),
            _ => {
                self.at = start;
                self.fail("16 hexadecimal digits")
            }
        }
    }

    fn string(&mut self) -> Parsed<String> {
        let mut content = String::new();
        let mut chars = self.text[self.at + 1..].char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += i + 2;
                    return Ok(content);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => content.push('\n'),
                    Some((_, c)) => content.push(c),
                    None => break,
                },
                c => content.push(c),
            }
        }
        self.fail("a closing `\"`")
    }

    fn number(&mut self) -> Parsed<Value> {
        let rest = &self.text[self.at..];
        let end = rest
            .char_indices()
            .find(|&(i, c)| {
                !(c.is_ascii_digit()
                    || c == '.'
                    || c == 'e'
                    || (c == '-' && (i == 0 || rest[..i].ends_with('e'))))
            })
            .map_or(rest.len(), |(i, _)| i);
        let digits = &rest[..end];
        let values = &mut self.draft.values;
        let value = if let Ok(n) = digits.parse::<i64>() {
            values.int(n)
        } else if let Ok(n) = digits.parse::<u64>() {
            values.nat(n)
        } else if let (true, Ok(x)) = (digits.contains(['.', 'e']), digits.parse::<f64>()) {
            values.add(Datum::Float(x))
        } else {
            let is_integer = digits.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
            let is_large = is_integer && digits.len() > 1;
            return self.fail(if is_large { "a number of at most 64 bits" } else { "a number" });
        };
        self.at += end;
        Ok(value)
    }

    fn event(&mut self) -> Parsed<u32> {
        let digits = self.text[self.at..].bytes().take_while(u8::is_ascii_digit).count();
        match self.text[self.at..self.at + digits].parse() {
            Ok(n) => {
                self.at += digits;
                Ok(n)
            }
            Err(_) => self.fail("the number of an event"),
        }
    }

    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.char_indices().find(|&(_, c)| !is_word(c)).map_or(rest.len(), |(i, _)| i);
        self.at += end;
        &rest[..end]
    }

    fn space(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !(trimmed.starts_with('#') || trimmed.starts_with("//")) {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.text[self.at..].starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str, expected: &'static str) -> Parsed<()> {
        if self.take(token) { Ok(()) } else { self.fail(expected) }
    }

    /// An error here. At the end of the text it is after the last word, not on the empty line below.
    fn fail<T>(&self, expected: &'static str) -> Parsed<T> {
        let rest = &self.text[self.at..];
        let at = if rest.is_empty() { self.text.trim_end().len() } else { self.at };
        Err(NotationError { at, expected })
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '$' | '\'')
}

/// The number that a text of digits denotes, if printing the number gives the same text.
pub fn canonical_number(digits: &str) -> Option<u64> {
    let n: u64 = digits.parse().ok()?;
    (n.to_string() == digits).then_some(n)
}

/// Prints a history on one line. Parsing the line gives the same history, except for session names,
/// positions, times other than events, timestamps and annotations, which the notation cannot express.
/// Transactions are printed by id if their names are not unique words.
pub fn print(history: &History) -> String {
    print_with(history, "  ")
}

/// Prints a history with one session per line.
pub fn print_lines(history: &History) -> String {
    print_with(history, "\n")
}

fn print_with(history: &History, between: &str) -> String {
    let mut out = String::new();
    if history.default_initial().as_small() != Some(0) {
        let _ = write!(out, "init={}{between}", ValueText(history, history.default_initial()));
    }
    for key in history.keys().filter(|&key| history.initial(key) != history.default_initial()) {
        let (name, value) = (history.key_name(key), history.initial(key));
        let _ = write!(out, "init({})={}{between}", ValueText(history, name), ValueText(history, value));
    }
    let by_id = !names_are_unique_words(history);
    let mut first = true;
    for session in history.sessions() {
        for (i, txn) in history.txns_of(session).enumerate() {
            if i > 0 {
                out.push_str(" ; ");
            } else if !std::mem::take(&mut first) {
                out.push_str(between);
            }
            print_txn(&mut out, history, txn, by_id);
        }
    }
    out
}

fn print_txn(out: &mut String, history: &History, txn: Txn, by_id: bool) {
    match history.datum(history.txn_name(txn)) {
        Datum::Text(name) if !by_id => out.push_str(name),
        Datum::Int(n) if !by_id => {
            let _ = write!(out, "T{n}");
        }
        Datum::Nat(n) if !by_id => {
            let _ = write!(out, "T{n}");
        }
        _ => {
            let _ = write!(out, "T{}", txn.0);
        }
    }
    out.push_str(match history.outcome(txn) {
        Outcome::Committed => "",
        Outcome::Aborted => "!",
        Outcome::Unknown => "?",
    });
    if let Some(events) = history.events()
        && events.start[txn.index()] != NO_EVENT
    {
        let _ = write!(out, "@{}-", events.start[txn.index()]);
        if events.end[txn.index()] != NO_EVENT {
            let _ = write!(out, "{}", events.end[txn.index()]);
        }
    }
    out.push(':');
    for op in history.ops_of(txn) {
        let _ = write!(out, " {}", OpText(history, op.id));
    }
}

/// Whether transactions are printed by name. Otherwise they are printed by id.
pub fn names_are_unique_words(history: &History) -> bool {
    let mut names: Vec<u32> = history.txns().map(|txn| history.txn_name(txn).bits()).collect();
    names.sort_unstable();
    let unique = names.windows(2).all(|pair| pair[0] != pair[1]);
    unique
        && history.txns().all(|txn| match history.datum(history.txn_name(txn)) {
            Datum::Text(name) => {
                !name.is_empty()
                    && name.chars().all(is_word)
                    && name.strip_prefix('T').and_then(canonical_number).is_none()
            }
            Datum::Int(n) => n >= 0,
            Datum::Nat(_) => true,
            _ => false,
        })
}

/// An operation in the notation, as a `Display` wrapper.
pub struct OpText<'a>(pub &'a History, pub crate::Op);

impl fmt::Display for OpText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OpText(history, op) = *self;
        let view = history.op(op);
        let key = ValueText(history, history.key_name(view.key));
        let value = ValueText(history, view.value);
        match view.kind {
            OpKind::Read | OpKind::ReadList => {
                let is_list = matches!(history.datum(view.value), Datum::List(_));
                let word = match (view.kind, is_list) {
                    (OpKind::Read, true) => "rr",
                    (OpKind::ReadList, false) => "rl",
                    _ => "r",
                };
                write!(f, "{word}({key},{value})")
            }
            OpKind::Write => write!(f, "w({key},{value})"),
            OpKind::Append => write!(f, "a({key},{value})"),
            OpKind::Insert => write!(f, "i({key},{value})"),
            OpKind::Delete if view.value == Value::NIL => write!(f, "d({key})"),
            OpKind::Delete => write!(f, "d({key},{value})"),
            OpKind::RangeRead => match history.range(op) {
                Some(row) => write_range(f, history, row),
                None => write!(f, "range({key},{key},{{}})"),
            },
        }
    }
}

fn write_range(f: &mut fmt::Formatter<'_>, history: &History, row: &RangeRow) -> fmt::Result {
    let rows = |rows: &[(Value, Value)]| {
        let texts: Vec<String> = rows
            .iter()
            .map(|&(k, v)| format!("{}={}", ValueText(history, k), ValueText(history, v)))
            .collect();
        texts.join(" ")
    };
    write!(
        f,
        "range({},{},{{{}}}",
        ValueText(history, row.low),
        ValueText(history, row.high),
        rows(&row.live)
    )?;
    if !row.dead.is_empty() {
        write!(f, ",{{{}}}", rows(&row.dead))?;
    }
    f.write_str(")")
}

/// A value or name in the notation, as a `Display` wrapper.
pub struct ValueText<'a>(pub &'a History, pub Value);

impl fmt::Display for ValueText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ValueText(history, value) = *self;
        match history.datum(value) {
            Datum::Nil => f.write_str("nil"),
            Datum::Unknown => f.write_str("?"),
            Datum::Bool(b) => write!(f, "{b}"),
            Datum::Int(n) => write!(f, "{n}"),
            Datum::Nat(n) => write!(f, "{n}"),
            Datum::Float(x) if x.is_finite() => write!(f, "{x:?}"),
            Datum::Float(x) => write!(f, "f\"{:016x}\"", x.to_bits()),
            Datum::Keyword(name) if !name.is_empty() && name.chars().all(is_word) => write!(f, ":{name}"),
            Datum::Keyword(name) => write!(f, ":{}", quoted(name)),
            Datum::Text(text) if is_plain(text) => f.write_str(text),
            Datum::Text(text) => f.write_str(&quoted(text)),
            Datum::List(elements) => {
                f.write_str("[")?;
                for (i, &element) in elements.iter().enumerate() {
                    let gap = if i == 0 { "" } else { " " };
                    write!(f, "{gap}{}", ValueText(history, element))?;
                }
                f.write_str("]")
            }
        }
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// Whether a text needs no quotes: it is one word and does not parse as another kind of value.
fn is_plain(text: &str) -> bool {
    text.chars().all(is_word)
        && text.chars().next().is_some_and(|c| !c.is_ascii_digit())
        && !text.starts_with("//")
        && !matches!(text, "nil" | "true" | "false")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(text: &str) {
        let history = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(print(&history), text);
    }

    #[test]
    fn every_construct_prints_as_it_was_written() {
        again("T1: w(x,1)  T2: r(x,1) w(x,2) ; T3: r(x,2)");
        again("T1!: w(x,9)  T2?: w(x,3)");
        again("T0@0-3: a(l,3)  T1@1-: r(l,[3 4]) r(l,[]) rl(l,?) rr(x,[1])");
        again(
            "init=nil  T1: r(x,nil) r(y,?) r(z,true) w(:k,\"a \\\"b\\\"\\n\") w(-5,-7) w(1,18446744073709551615)",
        );
        again("init(x)=5  init(y)=6  T1: i(x,1) d(x) d(y,4) range(a,z,{a=1 b=2},{c=3}) range(a,b,{})");
        again("alice: w(x,1.5) w(x,1e300) w(x,f\"7ff0000000000000\") w(f,:\"a b\") w(:\"\",inf)");
        again("T1:");
        again("");
    }

    #[test]
    fn comments_and_space_are_ignored() {
        let text = "# a comment\nT1:\n  w( x , 1 ) // another\n;T2: r(x,[1,2])";
        assert_eq!(print(&parse(text).unwrap()), "T1: w(x,1) ; T2: r(x,[1 2])");
    }

    #[test]
    fn an_expectation_is_left_to_the_caller() {
        let (history, rest) = parse_expecting("T1: w(x,1) => si holds").unwrap();
        assert_eq!((history.op_count(), rest), (1, Some(" si holds")));
        assert_eq!(parse("T1: w(x,1) => si holds").err().map(|e| e.at), Some(11));
    }

    #[test]
    fn errors_report_their_position() {
        for (text, at, expected) in [
            ("T1 w(x,1)", 2, "`:` after the transaction's name"),
            ("T1: q(x,1)", 4, "an operation: r, w, a, i, d or range"),
            ("T1: range(9, 2,{})", 13, "an upper bound that is not below the lower one"),
            ("T1: range(2,9,{3=1 10=1})", 19, "a key inside of the range"),
            ("T1: range(2,9,{},{x=1})", 18, "a key inside of the range"),
            ("T1: range(2,9,{3=1 3=2})", 19, "each key once"),
            ("T1: w(x 1)", 8, "`,` and a value"),
            ("T1: w(x,1", 9, "`)`"),
            ("T1: w(x,1\n\n", 9, "`)`"),
            ("T1: w(x,)", 8, "a value"),
            ("T3: r(🙂,0)", 6, "a key"),
            ("T1: d()", 6, "a key"),
            ("init()=5", 5, "a key"),
            ("init(x)=", 8, "a value"),
            ("init(x) 5", 7, "`=` and a value"),
            ("T1: range(,9,{})", 10, "a key"),
            ("T1: range(2,,{})", 12, "a key"),
            ("T1: range(2)", 11, "`,` and the last key of the range"),
            ("T1: range(2,9)", 13, "`,` and the rows such as `{x=1 y=2}`"),
            ("T1: range(2,9,[])", 14, "rows such as `{x=1 y=2}`"),
            ("T1: range(2,9,{)", 15, "a key or `}`"),
            ("T1: range(2,9,{3})", 16, "`=` and a value"),
            ("T1: range(2,9,{3=})", 17, "a value"),
            ("T1: r(x,[1", 10, "a value or `]`"),
            ("T1: r(x,[,])", 9, "a value or `]`"),
            ("T1: r(:,1)", 7, "the name of a keyword"),
            ("T1: r(x,9e)", 8, "a number"),
            ("T1: r(x,-)", 8, "a number"),
            ("T1@5: r(x,1)", 4, "`-` and the event of the return"),
            ("T1: r(x,[1 [2]])", 11, "a value that is not a list"),
            ("T1: a(x, [1])", 9, "a value that is not a list"),
            ("T1: d(x,[1])", 8, "a value that is not a list"),
            ("init=? T1: r(x,1)", 5, "an initial value that is known"),
            ("init(x)= ? T1: r(x,1)", 9, "an initial value that is known"),
            ("init(x)=[1 ?] T1: a(x,2)", 8, "an initial value that is known"),
            ("T1: w(x,\"a)", 8, "a closing `\"`"),
            ("T1: w(x,99999999999999999999)", 8, "a number of at most 64 bits"),
            ("T1: w(x,1) ;", 12, "a transaction after `;`"),
            ("T1: w(x,1) T1: r(x,1)", 11, "a transaction name not used before"),
            ("???", 0, "a transaction such as `T1: r(x,0) w(x,1)`"),
        ] {
            assert_eq!(parse(text).err(), Some(NotationError { at, expected }), "{text}");
        }
    }
}

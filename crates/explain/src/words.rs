//! Names of transactions, sessions, keys and values, and operations as verbs.
//!
//! A transaction has the name of the input if the name is unique. If names repeat across sessions, the session is added. If
//! they repeat inside a session, or a name is missing, the position in the session is the name. All transactions of a history
//! use the same scheme.

use isoscope_certificate::Node;
use isoscope_history::notation::ValueText;
use isoscope_history::{
    Datum, History, Intervals, Key, NO_EVENT, NO_TIME, Op, OpKind, OpView, Session, Txn, Value,
};

/// The most characters of a value or name.
const LONGEST: usize = 32;
/// The elements shown at either end of a list that is too long.
const LIST_ENDS: usize = 3;

/// The scheme of transaction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    /// By their names.
    Name,
    /// By name and session.
    NameAndSession,
    /// By session and place in it.
    Place,
}

/// A history and its naming scheme.
pub(crate) struct Words<'h> {
    pub(crate) history: &'h History,
    naming: Naming,
    /// The names of the transactions, if the caller gave them.
    given: Option<Vec<String>>,
}

impl<'h> Words<'h> {
    pub(crate) fn new(history: &'h History) -> Self {
        Words { history, naming: naming(history), given: None }
    }

    pub(crate) fn with_names(history: &'h History, names: Vec<String>) -> Self {
        Words { history, naming: Naming::Name, given: Some(names) }
    }

    pub(crate) fn txn(&self, txn: Txn) -> String {
        self.txn_by(txn, shorten)
    }

    /// The name of a transaction. `spell` formats a name that is text.
    pub(crate) fn txn_by(&self, txn: Txn, spell: impl Fn(&str) -> String) -> String {
        if let Some(name) = self.given.as_ref().and_then(|given| given.get(txn.index())) {
            return spell(name);
        }
        let session = self.history.session_of(txn);
        let name = self.history.txn_name(txn);
        let name = match self.history.datum(name) {
            Datum::Int(n) => format!("T{n}"),
            Datum::Nat(n) => format!("T{n}"),
            Datum::Text(text) => spell(text),
            _ => self.value(name),
        };
        match self.naming {
            Naming::Name => name,
            Naming::NameAndSession => format!("{name} ({})", self.session(session)),
            Naming::Place => {
                let place = txn.0 - self.history.txn_range(session).start + 1;
                format!("transaction {place} of {}", self.session(session))
            }
        }
    }

    pub(crate) fn node(&self, node: Node) -> String {
        match node {
            Node::Initial => "the initial state".to_owned(),
            Node::Txn(txn) => self.txn(txn),
        }
    }

    pub(crate) fn session(&self, session: Session) -> String {
        format!("session {}", self.value(self.history.session_name(session)))
    }

    /// A key: `x`, or `key 1` if its name is not a text.
    pub(crate) fn key(&self, key: Key) -> String {
        let name = self.history.key_name(key);
        match self.history.datum(name) {
            Datum::Text(_) | Datum::Keyword(_) => self.value(name),
            _ => format!("key {}", self.value(name)),
        }
    }

    /// A value, shortened; a list keeps both ends.
    pub(crate) fn value(&self, value: Value) -> String {
        match self.history.datum(value) {
            Datum::List(elements) => self.list(elements),
            _ => shorten(&ValueText(self.history, value).to_string()),
        }
    }

    /// A list, shortened in the middle.
    pub(crate) fn list(&self, elements: &[Value]) -> String {
        let text = |value| shorten(&ValueText(self.history, value).to_string());
        let parts: Vec<String> = match elements.len() {
            n if n > 3 * LIST_ENDS => {
                let (head, tail) = (&elements[..LIST_ENDS], &elements[n - LIST_ENDS..]);
                let ends = |part: &[Value]| part.iter().map(|&e| text(e)).collect::<Vec<_>>();
                [ends(head), vec!["…".to_owned()], ends(tail)].concat()
            }
            _ => elements.iter().map(|&e| text(e)).collect(),
        };
        format!("[{}]", parts.join(" "))
    }

    /// A version: `x=2`.
    pub(crate) fn version(&self, key: Key, value: Value) -> String {
        format!("{}={}", self.key(key), self.value(value))
    }

    /// The time between the return of one transaction and the begin of another: `34.8 s`, or a number of events without times.
    /// `None` if neither is known.
    pub(crate) fn age(&self, returned: Txn, began: Txn) -> Option<String> {
        let history = self.history;
        let nanoseconds = |times: &Intervals<i64>| {
            let (end, start) = (times.end[returned.index()], times.start[began.index()]);
            let known = end != NO_TIME && start != NO_TIME;
            start.checked_sub(end).filter(|&age| known && age > 0)
        };
        let by_events = |events: &Intervals<u32>| {
            let (end, start) = (events.end[returned.index()], events.start[began.index()]);
            let known = end != NO_EVENT && start != NO_EVENT;
            start.checked_sub(end).filter(|&age| known && age > 0)
        };
        let clocks = [history.times(), history.timestamps()];
        let timed = clocks.into_iter().flatten().find_map(nanoseconds).map(span);
        timed.or_else(|| match history.events().and_then(by_events)? {
            1 => Some("1 event".to_owned()),
            age => Some(format!("{} events", count(age.into()))),
        })
    }

    /// What an operation did: `read x=2`.
    pub(crate) fn past(&self, op: OpView) -> String {
        self.verb(op, ["read", "wrote", "appended", "inserted", "deleted"])
    }

    /// What an operation does: `reads x=2`.
    pub(crate) fn present(&self, op: OpView) -> String {
        self.verb(op, ["reads", "writes", "appends", "inserts", "deletes"])
    }

    fn verb(&self, op: OpView, [read, write, append, insert, delete]: [&str; 5]) -> String {
        let version = || self.version(op.key, op.value);
        match op.kind {
            OpKind::Read | OpKind::ReadList => format!("{read} {}", version()),
            OpKind::Write => format!("{write} {}", version()),
            OpKind::Append => format!("{append} {} to {}", self.value(op.value), self.key(op.key)),
            OpKind::Insert => format!("{insert} {}", version()),
            OpKind::Delete => format!("{delete} {}", self.key(op.key)),
            OpKind::RangeRead => format!("{read} a range from {} on", self.key(op.key)),
        }
    }

    /// The transaction of an operation, and the operation.
    pub(crate) fn of(&self, op: Op) -> (Txn, OpView) {
        (self.history.txn_of(op), self.history.op(op))
    }

    /// The write of a transaction that a read of the same key returned: the one of that value, else the last.
    pub(crate) fn write_read(&self, txn: Txn, read: OpView) -> Option<OpView> {
        let writes = || self.history.ops_of(txn).filter(|op| op.kind.is_write() && op.key == read.key);
        writes().rfind(|op| op.value == read.value).or_else(|| writes().next_back())
    }

    /// The write of the same key that follows one in its transaction.
    pub(crate) fn next_write(&self, write: OpView) -> Option<OpView> {
        let mut ops = self.history.ops_of(self.history.txn_of(write.id));
        ops.find(|op| op.id > write.id && op.kind.is_write() && op.key == write.key)
    }

    /// The last write of a key in a transaction, which is the one other transactions see.
    pub(crate) fn last_write(&self, txn: Txn, key: Key) -> Option<OpView> {
        self.history.ops_of(txn).rfind(|op| op.kind.is_write() && op.key == key)
    }
}

fn naming(history: &History) -> Naming {
    let nameless = |txn| matches!(history.datum(history.txn_name(txn)), Datum::Nil | Datum::Unknown);
    if history.txns().any(nameless) {
        return Naming::Place;
    }
    let names = |txns: std::ops::Range<u32>| txns.map(|txn| history.txn_name(Txn(txn)).bits()).collect();
    if all_differ(names(0..history.txn_count() as u32)) {
        Naming::Name
    } else if history.sessions().all(|session| all_differ(names(history.txn_range(session)))) {
        Naming::NameAndSession
    } else {
        Naming::Place
    }
}

fn all_differ(mut names: Vec<u32>) -> bool {
    names.sort_unstable();
    names.windows(2).all(|pair| pair[0] != pair[1])
}

/// A text of the input with its control characters escaped as in Rust, so that none reaches the terminal.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_debug()) } else { out.push(c) }
    }
    out
}

fn shorten(text: &str) -> String {
    let text = visible(text);
    if text.chars().count() <= LONGEST {
        return text;
    }
    let end = if text.starts_with('"') { "…\"" } else { "…" };
    text.chars().take(LONGEST - end.chars().count()).chain(end.chars()).collect()
}

/// Names in a row: `T1`, `T1 and T2`, `T1, T2 and T3`, `T1, T2, T3 and 9 more`.
pub(crate) fn enumerate(names: &[String]) -> String {
    const MOST: usize = 6;
    match names {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first @ .., last] if names.len() <= MOST => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", names[..MOST - 1].join(", "), names.len() - MOST + 1),
    }
}

/// A span of time: `34.8 s`, `1.2 ms`.
fn span(nanoseconds: i64) -> String {
    let seconds = nanoseconds as f64 / 1e9;
    match nanoseconds {
        ..1_000 => format!("{nanoseconds} ns"),
        1_000..1_000_000 => format!("{:.1} µs", seconds * 1e6),
        1_000_000..1_000_000_000 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{seconds:.1} s"),
    }
}

/// A sentence with a full stop. Its first letter is a capital unless it begins with a name of the input.
pub(crate) fn sentence(text: &str) -> String {
    let ours = ["the initial state", "transaction "];
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if ours.iter().any(|words| text.starts_with(words)) => {
            format!("{}{}.", first.to_ascii_uppercase(), chars.as_str())
        }
        _ => format!("{text}."),
    }
}

/// The participle: `wrote x=9` becomes `written x=9`. The other verbs have the same form.
pub(crate) fn participle(past: &str) -> String {
    past.strip_prefix("wrote").map_or(past.to_owned(), |rest| format!("written{rest}"))
}

/// A count with thousands separators: `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

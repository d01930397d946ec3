//! What a statement is, by its first words: all that the order of an execution depends on. The evaluator decides the rest.

/// The kind of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Begin,
    Commit,
    Rollback,
    /// SAVEPOINT, RELEASE and ROLLBACK TO.
    Savepoint,
    Release,
    RollbackTo,
    /// It neither reads nor writes tables: SET, SHOW.
    Idle,
    /// A query without locks.
    Read,
    /// Everything else.
    Write,
}

impl Kind {
    pub(crate) fn is_sql(self) -> bool {
        matches!(self, Kind::Read | Kind::Write)
    }

    pub(crate) fn writes(self) -> bool {
        self == Kind::Write
    }

    /// Whether it marks a place to return to, or returns to one.
    pub(crate) fn is_mark(self) -> bool {
        matches!(self, Kind::Savepoint | Kind::Release | Kind::RollbackTo)
    }
}

/// The words of a statement in upper case, without comments at its start.
fn words(sql: &str) -> impl Iterator<Item = String> + '_ {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '"';
    sql.split(move |c| !is_word(c)).filter(|word| !word.is_empty()).map(str::to_uppercase)
}

/// The kind of a statement; see [`Kind`].
pub(crate) fn kind_of(sql: &str) -> Kind {
    let mut all = words(sql);
    let (first, second) = (all.next().unwrap_or_default(), all.next().unwrap_or_default());
    match (first.as_str(), second.as_str()) {
        ("BEGIN", _) | ("START", "TRANSACTION") => Kind::Begin,
        ("COMMIT" | "END", _) => Kind::Commit,
        ("ROLLBACK" | "ABORT", _) => {
            let to_mark = second == "TO" || words(sql).any(|word| word == "TO");
            if to_mark { Kind::RollbackTo } else { Kind::Rollback }
        }
        ("SAVEPOINT", _) => Kind::Savepoint,
        ("RELEASE", _) => Kind::Release,
        ("SET" | "SHOW" | "PRAGMA" | "DISCARD" | "RESET" | "USE", _) => Kind::Idle,
        ("SELECT" | "VALUES" | "TABLE" | "WITH", _) => {
            let writes =
                |word: &String| matches!(word.as_str(), "INSERT" | "UPDATE" | "DELETE" | "SHARE" | "INTO");
            if words(sql).any(|word| writes(&word)) { Kind::Write } else { Kind::Read }
        }
        _ => Kind::Write,
    }
}

/// The name in SAVEPOINT, RELEASE or ROLLBACK TO.
pub(crate) fn savepoint_of(sql: &str) -> String {
    words(sql).last().unwrap_or_default()
}

/// Whether a statement only returns rows: a query, with locks or without.
fn is_query(sql: &str) -> bool {
    let writes = |word: &String| matches!(word.as_str(), "INSERT" | "DELETE" | "INTO" | "CALL");
    let mut all = words(sql);
    match all.next().as_deref() {
        Some("SELECT" | "VALUES" | "TABLE") => !words(sql).any(|word| word == "INTO"),
        Some("WITH") => !words(sql).any(|word| writes(&word) || word == "SET"),
        _ => false,
    }
}

/// Whether a statement is an INSERT, UPDATE or DELETE of one table without subqueries, other tables and triggers.
fn is_plain_write(sql: &str) -> bool {
    let other = |word: &String| {
        matches!(word.as_str(), "SELECT" | "WITH" | "USING" | "JOIN" | "CONFLICT" | "DUPLICATE" | "REPLACE")
    };
    let mut all = words(sql);
    match all.next().as_deref() {
        Some("UPDATE") => !words(sql).any(|word| other(&word) || word == "FROM"),
        Some("INSERT" | "DELETE") => !words(sql).any(|word| other(&word)),
        _ => false,
    }
}

/// Whether a statement is a plain INSERT of values.
fn is_plain_insert(sql: &str) -> bool {
    is_plain_write(sql) && words(sql).next().as_deref() == Some("INSERT")
}

/// The name of the table that an INSERT, UPDATE or DELETE writes.
fn target_of(sql: &str) -> Option<String> {
    let mut all = words(sql);
    let name = match all.next()?.as_str() {
        "UPDATE" => all.next()?,
        "INSERT" | "REPLACE" => all.find(|word| word == "INTO").and_then(|_| all.next())?,
        "DELETE" => all.find(|word| word == "FROM").and_then(|_| all.next())?,
        _ => return None,
    };
    Some(name.trim_matches('"').to_lowercase())
}

/// Words that an UPDATE may use where it sets columns, in lower case; `None` if any statement of a procedure may.
pub(crate) fn set_words(sql: &str) -> Option<Vec<String>> {
    let all: Vec<String> = words(sql).collect();
    match all.first().map(String::as_str) {
        Some(
            "SELECT" | "DELETE" | "CREATE" | "BEGIN" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE"
            | "SET",
        )
        | None => Some(Vec::new()),
        Some("INSERT") if is_plain_write(sql) => Some(Vec::new()),
        Some("UPDATE") if is_plain_write(sql) => {
            let from = all.iter().position(|word| word == "SET").unwrap_or(0);
            let to = all.iter().position(|word| word == "WHERE").unwrap_or(all.len());
            let set = all.get(from..to).unwrap_or_default();
            Some(set.iter().map(|word| word.trim_matches('"').to_lowercase()).collect())
        }
        _ => None,
    }
}

/// What the engine knows of a text, found once.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) is_query: bool,
    pub(crate) is_plain_write: bool,
    pub(crate) is_plain_insert: bool,
    /// The table that it writes.
    pub(crate) target: Option<String>,
}

impl Facts {
    pub(crate) fn of(sql: &str) -> Facts {
        Facts {
            is_query: is_query(sql),
            is_plain_write: is_plain_write(sql),
            is_plain_insert: is_plain_insert(sql),
            target: target_of(sql),
        }
    }
}

//! A log as a problem: transactions, statements, their points and intervals.
//!
//! Statements are numbered in the order of their answers, ties by line. A *prefix* of the log is the statements up to one of
//! them; the statements sent and not answered by then are *in flight*. The loader's statements are the initial state and are
//! not numbered.
//!
//! A point has an interval of time: that of its statement. Exceptions: the end of a transaction that failed may come as early
//! as its first error, where the engine aborts on errors, and the end of a transaction that was not confirmed may come at any
//! time after the last statement was sent. Two points whose intervals do not overlap are ordered by them; intervals that touch
//! overlap.

use isoscope_history::Outcome;
use isoscope_log::{Answer, Class, Entry, LOADER, Log, Scalar};
use rustc_hash::FxHashMap;

use crate::error::AuditError;
use crate::model::Model;
use crate::text::{Facts, Kind, kind_of};

pub(crate) type StatementId = u32;
pub(crate) type TxnId = u32;

/// No number: later than everything.
pub(crate) const NONE: u32 = u32::MAX;

/// A point of an execution: a statement and what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Point(u32);

/// What happens at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The snapshot is taken; if the statement only reads, it is answered from it.
    Snapshot,
    /// A statement without a snapshot of its own is answered.
    Read,
    /// A statement writes, or fails to.
    Write,
    /// The transaction ends.
    End,
}

impl Point {
    pub(crate) fn new(statement: StatementId, event: Event) -> Point {
        Point(statement << 2 | event as u32)
    }

    pub(crate) fn statement(self) -> StatementId {
        self.0 >> 2
    }

    pub(crate) fn event(self) -> Event {
        match self.0 & 3 {
            0 => Event::Snapshot,
            1 => Event::Read,
            2 => Event::Write,
            _ => Event::End,
        }
    }
}

/// What a statement was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Rows or a count.
    Success,
    /// An error that a correct database may always give: it is counted.
    Refused,
    /// An error that must be explained.
    Failed(Class),
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    /// Its place in the log's entries.
    pub(crate) entry: u32,
    pub(crate) txn: TxnId,
    pub(crate) sent: u64,
    pub(crate) answered: u64,
    pub(crate) kind: Kind,
    /// The number of its text.
    pub(crate) text: u32,
    pub(crate) reply: Reply,
}

/// How a transaction ended, as the client learned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Committed,
    Aborted,
    /// It may have committed.
    Unknown,
}

/// A transaction.
#[derive(Clone, Debug)]
pub(crate) struct Txn {
    pub(crate) session: u32,
    pub(crate) statements: Vec<StatementId>,
    pub(crate) fate: Fate,
    /// The statement whose snapshot all statements see, at snapshot levels.
    pub(crate) snapshot: Option<StatementId>,
    /// The statement that the end belongs to: the one that confirmed it, or else the last.
    pub(crate) end: StatementId,
    /// When it may have ended.
    pub(crate) ends: (u64, u64),
    /// The error after which it can only roll back.
    pub(crate) failed: Option<StatementId>,
    /// Whether it is one statement without BEGIN.
    pub(crate) is_autocommit: bool,
    pub(crate) writes: bool,
}

/// A log as a problem; see the module.
pub(crate) struct Problem<'l> {
    pub(crate) log: &'l Log,
    pub(crate) model: Model,
    pub(crate) statements: Vec<Statement>,
    pub(crate) txns: Vec<Txn>,
    /// The entries of the loader, in order.
    pub(crate) loader: Vec<u32>,
    pub(crate) texts: Vec<&'l str>,
    pub(crate) facts: Vec<Facts>,
    /// The transactions of each session, in order.
    pub(crate) sessions: Vec<Vec<TxnId>>,
    /// Transactions that write and whose end was not confirmed.
    pub(crate) dangling: Vec<TxnId>,
    /// All points that have a time by which they happened, in the order of their answers.
    pub(crate) points: Vec<Point>,
}

impl<'l> Problem<'l> {
    /// Orders the log.
    ///
    /// # Errors
    ///
    /// If the log cannot be audited.
    pub(crate) fn new(log: &'l Log, model: Model) -> Result<Problem<'l>, AuditError> {
        let mut problem = Problem {
            log,
            model,
            statements: Vec::new(),
            txns: Vec::new(),
            loader: Vec::new(),
            texts: Vec::new(),
            facts: Vec::new(),
            sessions: Vec::new(),
            dangling: Vec::new(),
            points: Vec::new(),
        };
        problem.sort_entries()?;
        problem.end_transactions();
        problem.place_points();
        Ok(problem)
    }

    /// Numbers statements and transactions.
    fn sort_entries(&mut self) -> Result<(), AuditError> {
        let entries = &self.log.entries;
        let is_loader = |entry: &Entry| entry.session == Scalar::Text(LOADER.to_owned());
        let (loader, mut others): (Vec<u32>, Vec<u32>) =
            (0..entries.len() as u32).partition(|&entry| is_loader(&entries[entry as usize]));
        self.loader = loader;
        let mut lines: Lines = Lines::default();
        for &entry in &others {
            lines.admit(entry, &entries[entry as usize])?;
        }
        others.sort_by_key(|&entry| entries[entry as usize].answered);
        check_limits(others.len())?;
        let mut texts: FxHashMap<&'l str, u32> = FxHashMap::default();
        let mut kinds: Vec<Kind> = Vec::new();
        let mut names: FxHashMap<(u32, String), TxnId> = FxHashMap::default();
        for entry in others {
            let line = &entries[entry as usize];
            let session = lines.sessions[&spell(&line.session)];
            let next = self.txns.len() as TxnId;
            let txn = *names.entry((session, spell(&line.txn))).or_insert(next);
            if txn == next {
                self.txns.push(Txn::new(session));
            }
            let number = self.statements.len() as StatementId;
            self.txns[txn as usize].statements.push(number);
            let next = self.texts.len() as u32;
            let text = *texts.entry(line.sql.as_str()).or_insert(next);
            if text == next {
                self.texts.push(&line.sql);
                self.facts.push(Facts::of(&line.sql));
                kinds.push(kind_of(&line.sql));
            }
            self.statements.push(Statement {
                entry,
                txn,
                sent: line.sent,
                answered: line.answered,
                kind: kinds[text as usize],
                text,
                reply: reply_of(line),
            });
        }
        self.sessions = vec![Vec::new(); lines.sessions.len()];
        let mut order: Vec<TxnId> = (0..self.txns.len() as TxnId).collect();
        order.sort_by_key(|&txn| self.txns[txn as usize].statements[0]);
        for txn in order {
            self.sessions[self.txns[txn as usize].session as usize].push(txn);
        }
        Ok(())
    }

    /// Finds how and when each transaction ended, and where its snapshot is.
    fn end_transactions(&mut self) {
        for txn in &mut self.txns {
            let all = &txn.statements;
            let last = *all.last().expect("a transaction has a statement");
            let line = |id: StatementId| &self.statements[id as usize];
            let entry = |id: StatementId| &self.log.entries[line(id).entry as usize];
            let ending = all.iter().copied().find(|&id| entry(id).ending.is_some());
            let outcome = ending.and_then(|id| entry(id).ending).map(|ending| ending.outcome);
            let commit = all.iter().copied().find(|&id| line(id).kind == Kind::Commit);
            let autocommit = line(all[0]).kind != Kind::Begin && commit.is_none();
            // PostgreSQL answers the COMMIT of a failed transaction with success and rolls it back. A transaction that did not
            // ask for a commit did not commit.
            let failed = all.iter().copied().find(|&id| line(id).reply != Reply::Success);
            let early =
                failed.filter(|&id| self.model.aborts_on_error() && commit.is_some_and(|commit| id < commit));
            let early = early.or(failed.filter(|_| self.model.aborts_on_error() && commit.is_none()));
            let asks = commit.is_some() || (autocommit && ending.is_some());
            txn.fate = match outcome {
                _ if early.is_some() && commit.is_some() => Fate::Aborted,
                Some(Outcome::Committed) => Fate::Committed,
                Some(Outcome::Unknown) if asks => Fate::Unknown,
                _ => Fate::Aborted,
            };
            txn.end = if txn.fate == Fate::Aborted { last } else { commit.or(ending).unwrap_or(last) };
            txn.ends = match txn.fate {
                Fate::Committed => (line(txn.end).sent, line(txn.end).answered),
                Fate::Unknown => (line(txn.end).sent, u64::MAX),
                Fate::Aborted => {
                    // A COMMIT that failed has released the locks.
                    let refused = commit.filter(|&id| line(id).reply != Reply::Success);
                    let first = early.or(refused);
                    let from = first.map_or(line(last).sent, |id| line(id).sent.min(line(last).sent));
                    let confirmed = matches!(line(last).kind, Kind::Rollback | Kind::Commit)
                        && line(last).reply == Reply::Success;
                    let autocommitted = autocommit && ending == Some(last);
                    (from, if confirmed || autocommitted { line(last).answered } else { u64::MAX })
                }
            };
            txn.is_autocommit = autocommit;
            txn.failed = early;
            let may_write = |id: StatementId| {
                let locks = self.model.locks_everything() && line(id).reply != Reply::Refused;
                locks
                    || line(id).reply == Reply::Success
                    || (txn.fate == Fate::Unknown && txn.end == id)
                    || autocommit
            };
            txn.writes = all.iter().any(|&id| line(id).kind.writes() && may_write(id));
            if !self.model.snapshots_statements() {
                txn.snapshot = all.iter().copied().find(|&id| {
                    let lost = txn.fate == Fate::Unknown && txn.end == id;
                    line(id).kind.is_sql() && (line(id).reply != Reply::Refused || lost)
                });
            }
        }
    }

    fn place_points(&mut self) {
        let mut points = Vec::new();
        for id in 0..self.statements.len() as StatementId {
            self.each_point(id, |point| points.push(point));
        }
        let dangles =
            |txn: &TxnId| self.txns[*txn as usize].ends.1 == u64::MAX && self.txns[*txn as usize].writes;
        self.dangling = (0..self.txns.len() as TxnId).filter(dangles).collect();
        points.retain(|&point| self.interval(point).1 != u64::MAX);
        self.points = points;
    }

    /// Calls `visit` with each point of a statement, in order.
    pub(crate) fn each_point(&self, id: StatementId, visit: impl FnMut(Point)) {
        self.each_point_if(id, true, visit);
    }

    /// The same, for a statement whose answer is known or not.
    pub(crate) fn each_point_if(&self, id: StatementId, is_known: bool, mut visit: impl FnMut(Point)) {
        let statement = &self.statements[id as usize];
        let txn = &self.txns[statement.txn as usize];
        if self.is_evaluated(id) || (!is_known && statement.kind.is_sql()) {
            let own = self.model.snapshots_statements() || txn.snapshot.unwrap_or(id) == id;
            if own {
                visit(Point::new(id, Event::Snapshot));
            }
            if statement.kind.writes() {
                visit(Point::new(id, Event::Write));
            } else if !own {
                visit(Point::new(id, Event::Read));
            }
        } else if statement.kind.is_mark() && statement.reply == Reply::Success {
            visit(Point::new(id, Event::Write));
        }
        if txn.end == id {
            visit(Point::new(id, Event::End));
        }
    }

    /// Whether a statement may have an effect or an answer that must be explained. A statement that was refused has none,
    /// unless its transaction may have committed with it.
    fn is_evaluated(&self, id: StatementId) -> bool {
        let statement = &self.statements[id as usize];
        statement.kind.is_sql() && (statement.reply != Reply::Refused || self.may_have_happened(id))
    }

    /// Whether a statement was refused and may have committed nevertheless.
    pub(crate) fn may_have_happened(&self, id: StatementId) -> bool {
        let statement = &self.statements[id as usize];
        let txn = &self.txns[statement.txn as usize];
        txn.fate == Fate::Unknown && txn.end == id && statement.reply == Reply::Refused
    }

    /// When a point may have happened.
    pub(crate) fn interval(&self, point: Point) -> (u64, u64) {
        let statement = &self.statements[point.statement() as usize];
        if point.event() == Event::End || self.may_have_happened(point.statement()) {
            self.txns[statement.txn as usize].ends
        } else {
            (statement.sent, statement.answered)
        }
    }

    pub(crate) fn statement(&self, id: StatementId) -> &Statement {
        &self.statements[id as usize]
    }

    /// The statement of an entry; `None` if it is the loader's.
    pub(crate) fn statement_of(&self, entry: usize) -> Option<StatementId> {
        let place = self.statements.iter().position(|line| line.entry as usize == entry);
        place.map(|id| id as StatementId)
    }

    pub(crate) fn txn_of(&self, id: StatementId) -> TxnId {
        self.statements[id as usize].txn
    }

    pub(crate) fn txn(&self, id: TxnId) -> &Txn {
        &self.txns[id as usize]
    }

    pub(crate) fn entry(&self, id: StatementId) -> &'l Entry {
        &self.log.entries[self.statements[id as usize].entry as usize]
    }

    /// What is known of a statement's text.
    pub(crate) fn facts(&self, id: StatementId) -> &Facts {
        &self.facts[self.statements[id as usize].text as usize]
    }

    /// The point where a transaction ends.
    pub(crate) fn end_point(&self, txn: TxnId) -> Point {
        Point::new(self.txn(txn).end, Event::End)
    }

    /// The point of the snapshot that a statement sees.
    pub(crate) fn snapshot_point(&self, id: StatementId) -> Point {
        let own = self.model.snapshots_statements();
        let of = if own { id } else { self.txn(self.txn_of(id)).snapshot.unwrap_or(id) };
        Point::new(of, Event::Snapshot)
    }
}

impl Txn {
    fn new(session: u32) -> Txn {
        Txn {
            session,
            statements: Vec::new(),
            fate: Fate::Aborted,
            snapshot: None,
            end: NONE,
            ends: (0, u64::MAX),
            failed: None,
            is_autocommit: false,
            writes: false,
        }
    }
}

fn check_limits(statements: usize) -> Result<(), AuditError> {
    const MOST: usize = 1 << 29;
    if statements > MOST {
        return Err(AuditError::new(None, format!("more than {MOST} statements")));
    }
    Ok(())
}

/// A session's or transaction's name, for comparison.
fn spell(name: &Scalar) -> String {
    format!("{name:?}")
}

fn reply_of(line: &Entry) -> Reply {
    match &line.answer {
        Ok(Answer::Rows(_) | Answer::Count(_)) => Reply::Success,
        Err(failure) => match failure.class {
            Class::Constraint => Reply::Failed(Class::Constraint),
            Class::Other if !is_circumstance(failure.code.as_deref()) => Reply::Failed(Class::Other),
            _ => Reply::Refused,
        },
    }
}

/// Whether an error code speaks of the server's circumstances and not of the statement: resources, operators, the
/// state of the transaction, internal errors.
fn is_circumstance(code: Option<&str>) -> bool {
    code.is_some_and(|code| {
        code.len() == 5
            && ["25", "53", "55", "57", "58", "XX", "0A"].iter().any(|class| code.starts_with(class))
    })
}

/// What is known of each session while the lines are read.
#[derive(Default)]
struct Lines {
    sessions: FxHashMap<String, u32>,
    /// For each session: the name of its current transaction, whether it ended, and when it was last answered.
    current: Vec<(String, bool, u64)>,
    seen: rustc_hash::FxHashSet<(u32, String)>,
}

impl Lines {
    /// Checks that a session's lines follow each other.
    fn admit(&mut self, number: u32, line: &Entry) -> Result<(), AuditError> {
        let wrong = |message: &str| Err(AuditError::new(Some(number as usize), message));
        if line.sent > line.answered {
            return wrong("the statement was answered before it was sent");
        }
        let next = self.current.len() as u32;
        let session = *self.sessions.entry(spell(&line.session)).or_insert(next);
        if session == next {
            self.current.push((String::new(), true, 0));
        }
        let (txn, ended, answered) = &mut self.current[session as usize];
        if line.sent < *answered {
            return wrong("the session sent the statement before its previous one was answered");
        }
        let name = spell(&line.txn);
        if *txn == name {
            if *ended {
                return wrong("the statement follows the outcome of its transaction");
            }
        } else {
            if !self.seen.insert((session, name.clone())) {
                return wrong("the session continues a transaction after another one");
            }
            *txn = name;
        }
        *ended = line.ending.is_some();
        *answered = line.answered;
        Ok(())
    }
}

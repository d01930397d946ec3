//! An independent check of an explanation: a plain replay of its places.
//!
//! It shares only the evaluator of SQL with the engine. The committed state is one map of rows, which is copied at each
//! commit; a snapshot is a reference to a copy. It checks that
//!
//! - the places can have times that never decrease, each in the interval of its statement;
//! - a transaction has its places in the order of its statements, and it commits if and only if its outcome permits it;
//! - no statement writes a row that another transaction in progress has changed, or, at snapshot levels, that changed since
//!   the snapshot; at `sqlite`, no two transactions write at the same time;
//! - every statement that succeeded gives the logged answer.
//!
//! It does not check errors and serial orders.

mod state;

use std::collections::HashMap;

use isoscope_history::Outcome;
use isoscope_log::{Entry, LOADER, Log, Scalar};
use isoscope_sql::{
    Change, Effect, Kind, Match, Reply, RowId, Settings, SqlError, Statement, answers_match, execute_at,
    recheck_at, targets,
};

use crate::model::Model;
use crate::verdict::{Explanation, Place};
use state::{Plain, State, Txn};

/// Checks an explanation of a log.
///
/// # Errors
///
/// If the explanation is wrong: why.
pub fn verify(log: &Log, explanation: &Explanation) -> Result<(), String> {
    let mut check = Check::new(log, explanation.model)?;
    for &place in &explanation.places {
        check.place(place)?;
    }
    check.finish()
}

struct Check<'l> {
    log: &'l Log,
    model: Model,
    settings: Settings,
    statements: HashMap<&'l str, Statement>,
    /// The entries of each transaction, in order, and its number.
    txns: HashMap<String, usize>,
    entries: Vec<Vec<usize>>,
    states: Vec<Txn>,
    committed: State,
    /// The earliest time of the next place.
    now: u64,
    checked: Vec<bool>,
}

fn name(entry: &Entry) -> String {
    format!("{:?} {:?}", entry.session, entry.txn)
}

impl<'l> Check<'l> {
    fn new(log: &'l Log, model: Model) -> Result<Check<'l>, String> {
        let settings = Settings::of(log.header.vendor).ok_or("the database has no SQL")?;
        let mut check = Check {
            log,
            model,
            committed: State::new(settings.clone()),
            settings,
            statements: HashMap::new(),
            txns: HashMap::new(),
            entries: Vec::new(),
            states: Vec::new(),
            now: 0,
            checked: vec![false; log.entries.len()],
        };
        for sql in &log.header.schema {
            check.load(sql, &[])?;
        }
        for (number, entry) in log.entries.iter().enumerate() {
            if entry.session == Scalar::Text(LOADER.to_owned()) {
                if entry.answer.is_ok() {
                    check.load(&entry.sql, &entry.params)?;
                }
                continue;
            }
            let next = check.entries.len();
            let txn = *check.txns.entry(name(entry)).or_insert(next);
            if txn == next {
                check.entries.push(Vec::new());
                check.states.push(Txn::default());
            }
            check.entries[txn].push(number);
        }
        Ok(check)
    }

    /// Executes a statement of the schema or the loader.
    fn load(&mut self, sql: &str, params: &[Scalar]) -> Result<(), String> {
        let statement = Statement::parse(self.settings.dialect, sql).map_err(|error| error.to_string())?;
        let view = Plain { state: &self.committed, own: &Txn::default() };
        let effect = execute_at(&statement, params, &view, &view, 0).map_err(|error| error.to_string())?;
        let mut txn = Txn::default();
        txn.change(&effect.changes, &mut self.committed);
        self.committed.commit(&txn);
        Ok(())
    }

    fn entry(&self, number: usize) -> Result<&'l Entry, String> {
        self.log.entries.get(number).ok_or_else(|| format!("there is no entry {number}"))
    }

    fn place(&mut self, place: Place) -> Result<(), String> {
        let (Place::Snapshot(number) | Place::Write(number) | Place::Commit(number) | Place::Abort(number)) =
            place;
        let entry = self.entry(number)?;
        let txn = self.txns.get(&name(entry)).copied().ok_or("a place of the loader")?;
        let sent =
            if matches!(place, Place::Abort(_)) { self.failed(txn).min(entry.sent) } else { entry.sent };
        self.now = self.now.max(sent);
        let is_open = matches!(entry.ending, Some(ending) if ending.outcome == Outcome::Unknown);
        let is_abort = matches!(place, Place::Abort(_));
        if self.now > entry.answered && !is_open && !is_abort {
            return Err(format!("entry {number} is placed after its answer"));
        }
        let is_end = matches!(place, Place::Commit(_) | Place::Abort(_));
        self.answer_reads(txn, number + usize::from(is_end))?;
        match place {
            Place::Snapshot(_) => {
                self.states[txn].snapshot = Some(self.committed.clone());
                let statement = self.statement(entry)?;
                if matches!(statement.kind(), Kind::Query { locks: false }) {
                    self.answer(txn, number)?;
                }
                Ok(())
            }
            Place::Write(_) => self.answer(txn, number),
            Place::Commit(_) => {
                let last = self.entries[txn].last().copied().unwrap_or(number);
                let outcome = self.entries[txn].iter().find_map(|&at| self.log.entries[at].ending);
                if outcome.is_none_or(|ending| ending.outcome == Outcome::Aborted) && last <= number {
                    return Err(format!("the transaction of entry {number} did not commit"));
                }
                self.states[txn].is_over = true;
                let own = std::mem::take(&mut self.states[txn].own);
                self.committed.commit(&Txn { own, ..Txn::default() });
                Ok(())
            }
            Place::Abort(_) => {
                self.states[txn].is_over = true;
                self.states[txn].own.clear();
                Ok(())
            }
        }
    }

    /// When the first statement of a transaction that failed was sent.
    fn failed(&self, txn: usize) -> u64 {
        let mut entries = self.entries[txn].iter().map(|&at| &self.log.entries[at]);
        entries.find(|entry| entry.answer.is_err()).map_or(u64::MAX, |entry| entry.sent)
    }

    fn statement(&mut self, entry: &'l Entry) -> Result<&Statement, String> {
        let dialect = self.settings.dialect;
        if !self.statements.contains_key(entry.sql.as_str()) {
            let parsed = Statement::parse(dialect, &entry.sql).map_err(|error| error.to_string())?;
            self.statements.insert(&entry.sql, parsed);
        }
        self.statements.get(entry.sql.as_str()).ok_or_else(|| "a statement is missing".to_owned())
    }

    /// Answers the queries of a transaction before an entry that have no place of their own.
    fn answer_reads(&mut self, txn: usize, before: usize) -> Result<(), String> {
        for at in self.entries[txn].clone() {
            if at >= before {
                break;
            }
            let entry = self.entry(at)?;
            let is_query = matches!(self.statement(entry)?.kind(), Kind::Query { locks: false });
            if is_query && !self.checked[at] && entry.answer.is_ok() {
                self.answer(txn, at)?;
            }
        }
        Ok(())
    }

    /// Executes a statement and compares its answer.
    fn answer(&mut self, txn: usize, number: usize) -> Result<(), String> {
        let entry = self.entry(number)?;
        self.statement(entry)?;
        let statement = &self.statements[entry.sql.as_str()];
        let state = &self.states[txn];
        let snapshot = state.snapshot.as_ref().unwrap_or(&self.committed);
        let (old, new) =
            (Plain { state: snapshot, own: state }, Plain { state: &self.committed, own: state });
        let effect = if self.model == Model::PgRc && targets(statement, &entry.params, &old).is_ok() {
            rows_again(statement, entry, &old, &new)
        } else {
            execute_at(statement, &entry.params, &old, &new, 0)
        };
        self.checked[number] = true;
        // A statement that was lost with an unknown outcome is executed; its answer is not known.
        let is_lost = matches!(entry.ending, Some(ending) if ending.outcome == Outcome::Unknown);
        if entry.answer.is_err() && !is_lost {
            return Ok(());
        }
        let effect = match effect {
            Err(error) if is_lost || !error.class.is_answer() => return Ok(()),
            other => other.map_err(|error| format!("entry {number} should fail: {error}"))?,
        };
        if let Ok(logged) = &entry.answer
            && let Match::No(why) = answers_match(&effect.reply, logged, &effect.doubts, &self.settings)
        {
            return Err(format!("entry {number}: {why}"));
        }
        self.check_locks(txn, number, &effect.changes)?;
        let mut state = std::mem::take(&mut self.states[txn]);
        state.change(&effect.changes, &mut self.committed);
        state.is_writing |= !matches!(self.statements[entry.sql.as_str()].kind(), Kind::Query { .. });
        self.states[txn] = state;
        Ok(())
    }

    fn check_locks(&self, txn: usize, number: usize, changes: &[Change]) -> Result<(), String> {
        let others =
            || self.states.iter().enumerate().filter(|(other, state)| *other != txn && !state.is_over);
        let writes = !changes.is_empty();
        if writes && self.model == Model::Sqlite && others().any(|(_, state)| state.is_writing) {
            return Err(format!("entry {number} writes while another transaction does"));
        }
        for change in changes {
            let (Change::Update(table, row, _) | Change::Delete(table, row)) = change else { continue };
            if others().any(|(_, state)| state.own.contains_key(&(*table, *row))) {
                return Err(format!("entry {number} writes a row that another transaction holds"));
            }
            let snapshot = self.states[txn].snapshot.as_ref();
            let moved = snapshot.is_some_and(|snapshot| !snapshot.has_same(&self.committed, *table, *row));
            if moved && self.model != Model::PgRc {
                return Err(format!("entry {number} overwrites a version that is newer than its snapshot"));
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), String> {
        for txn in 0..self.entries.len() {
            self.answer_reads(txn, usize::MAX)?;
            for &at in &self.entries[txn].clone() {
                let entry = self.entry(at)?;
                let kind = self.statement(entry)?.kind().clone();
                let counts = matches!(kind, Kind::Query { .. } | Kind::Insert | Kind::Update | Kind::Delete);
                if counts && entry.answer.is_ok() && !self.checked[at] {
                    return Err(format!("entry {at} has no place"));
                }
            }
            let outcome = self.entries[txn].iter().find_map(|&at| self.log.entries[at].ending);
            let committed = outcome.is_some_and(|ending| ending.outcome == Outcome::Committed);
            if committed && !self.states[txn].is_over {
                return Err(format!("the transaction of entry {} has no end", self.entries[txn][0]));
            }
        }
        Ok(())
    }
}

/// Evaluates each row that matches at the snapshot on its newest version.
fn rows_again(
    statement: &Statement,
    entry: &Entry,
    old: &Plain<'_>,
    new: &Plain<'_>,
) -> Result<Effect, SqlError> {
    let (table, rows): (_, Vec<RowId>) = targets(statement, &entry.params, old)?;
    let mut whole = Effect { reply: Reply::Count(0), changes: Vec::new(), doubts: Vec::new(), next_hole: 0 };
    for row in rows {
        let Some(values) = isoscope_sql::View::row(new, table, row) else { continue };
        let part = recheck_at(statement, &entry.params, [old, new], row, &values, 0)?;
        whole.changes.extend(part.changes);
        match (&mut whole.reply, part.reply) {
            (Reply::Count(count), Reply::Count(more)) => *count += more,
            (Reply::Rows(rows), Reply::Rows(more)) => rows.rows.extend(more.rows),
            (reply, other) => *reply = other,
        }
    }
    Ok(whole)
}

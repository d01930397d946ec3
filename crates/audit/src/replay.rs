//! Concrete replay: executes points one after the other and compares the answers.
//!
//! The *execution* is the list of executed points. The position of a point is its place in it, from 1; the initial state has
//! position 0. A point that cannot be executed here is a [`Conflict`]. A wrong answer is one too, but the point is executed, with
//! what the statement should have done.
//!
//! The last points can be taken back, down to the *base*. Nothing is logged for this: what a point did follows from the
//! versions and positions that it left. When the base advances, versions that only earlier positions could see are dropped.
//!
//! A version is *forced* if its statement saw only what is certain (see `seen.rs`). A statement that is not certain and whose
//! rows do not follow from its text makes its table *wild*: from then on nothing in the table is certain.

use isoscope_log::{Answer, Class};
use isoscope_sql::{Catalog, Change, RowId, Sarg, TableId};

use crate::evaluate::{Effect, Plans};
use crate::problem::{Event, Fate, NONE, Point, Problem, Reply, StatementId, TxnId};
use crate::seen::Seen;
use crate::store::{ABORTED, INITIAL, PENDING, Reader, Store, Version};
use crate::text::{self, Kind};

/// Why a point cannot be here.
#[derive(Clone, Debug)]
pub(crate) enum Conflict {
    /// The answer should have been another one.
    Answer { point: Point, why: String },
    /// The transaction failed before, and the statement succeeds.
    Failed { point: Point, by: StatementId },
    /// Another transaction holds what the statement writes. `by` is its statement.
    Held { point: Point, by: StatementId, everything: bool },
    /// A version that is newer than the snapshot is committed.
    Newer { point: Point, by: StatementId, everything: bool },
}

impl Conflict {
    pub(crate) fn point(&self) -> Point {
        match self {
            Conflict::Answer { point, .. }
            | Conflict::Failed { point, .. }
            | Conflict::Held { point, .. }
            | Conflict::Newer { point, .. } => *point,
        }
    }
}

/// What is known of a transaction during a replay.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// What it wrote, in order.
    pub(crate) writes: Vec<(StatementId, TableId, u32)>,
    /// The position of its end, or [`NONE`].
    pub(crate) end: u32,
    pub(crate) committed: bool,
    changed_names: bool,
}

/// How many points can be taken back, at least.
const KEEP: usize = 20_000;

/// A replay; see the module.
pub(crate) struct Replay<'p, 'l> {
    pub(crate) problem: &'p Problem<'l>,
    pub(crate) store: Store,
    pub(crate) plans: Plans,
    pub(crate) states: Vec<State>,
    pub(crate) executed: Vec<Point>,
    /// The position of the snapshot, and of the read or write, of each statement.
    snapshots: Vec<u32>,
    evaluated: Vec<u32>,
    /// Statements after this one are not known: their answers and outcomes are free.
    pub(crate) known: StatementId,
    /// The first position that cannot be taken back.
    pub(crate) base: usize,
    keeps_all: bool,
    cursor: usize,
    /// At models that lock everything: the writers that have not ended, and the ends of the others that committed.
    writers: Vec<(TxnId, StatementId)>,
    write_commits: Vec<(u32, StatementId)>,
    /// Statements that were not checked, and why.
    pub(crate) gaps: std::collections::BTreeMap<StatementId, String>,
    /// Statements that are executed without comparing their answers.
    pub(crate) ignored: rustc_hash::FxHashSet<StatementId>,
    /// Answers compared so far, with repetitions.
    pub(crate) compared: u64,
}

/// Converts an answer to the same error class that drivers report.
fn explains(effect: &Effect, class: Class) -> bool {
    match &effect.reply {
        Err(error) if error.class.is_answer() => error.class.logged() == class,
        Err(_) => true,
        Ok(_) => class == Class::Other && effect.may_fail(),
    }
}

impl<'p, 'l> Replay<'p, 'l> {
    /// A replay at the initial state.
    pub(crate) fn new(
        problem: &'p Problem<'l>,
        store: Store,
        plans: Plans,
        keeps_all: bool,
    ) -> Replay<'p, 'l> {
        let none = State { end: NONE, ..State::default() };
        Replay {
            problem,
            store,
            plans,
            states: vec![none; problem.txns.len()],
            executed: Vec::new(),
            snapshots: vec![NONE; problem.statements.len()],
            evaluated: vec![NONE; problem.statements.len()],
            known: NONE,
            base: 0,
            keeps_all,
            cursor: 0,
            writers: Vec::new(),
            write_commits: Vec::new(),
            gaps: std::collections::BTreeMap::new(),
            ignored: rustc_hash::FxHashSet::default(),
            compared: 0,
        }
    }

    /// The next point in the order of answers that was not executed.
    pub(crate) fn next(&mut self) -> Option<Point> {
        while let Some(&point) = self.problem.points.get(self.cursor) {
            if self.position(point) == NONE {
                return Some(point);
            }
            self.cursor += 1;
        }
        None
    }

    /// How far the replay has come in the order of answers.
    pub(crate) fn place(&self) -> usize {
        self.cursor
    }

    /// The points that were answered up to a statement and are not executed.
    pub(crate) fn waiting(&self, last: StatementId) -> Vec<Point> {
        let to = self.problem.points.partition_point(|point| point.statement() <= last);
        let all = self.problem.points.get(self.cursor..to).unwrap_or_default();
        all.iter().copied().filter(|&point| self.position(point) == NONE).collect()
    }

    /// The position of a point; [`NONE`] if it was not executed.
    pub(crate) fn position(&self, point: Point) -> u32 {
        let statement = point.statement();
        match point.event() {
            Event::Snapshot => self.snapshots[statement as usize],
            Event::Read | Event::Write => self.evaluated[statement as usize],
            Event::End => self.states[self.problem.txn_of(statement) as usize].end,
        }
    }

    /// Whether an answer is known.
    pub(crate) fn knows(&self, statement: StatementId) -> bool {
        statement <= self.known
    }

    /// How a transaction ended, as far as is known.
    pub(crate) fn fate(&self, txn: TxnId) -> Fate {
        let txn = self.problem.txn(txn);
        if self.knows(txn.end) {
            return txn.fate;
        }
        let next = txn.statements.iter().copied().find(|&id| !self.knows(id)).unwrap_or(txn.end);
        let asks = txn.is_autocommit || self.problem.statement(next).kind == Kind::Commit;
        if asks { Fate::Unknown } else { Fate::Aborted }
    }

    /// When a point may have happened, as far as is known.
    pub(crate) fn interval(&self, point: Point) -> (u64, u64) {
        let problem = self.problem;
        let txn = problem.txn(problem.txn_of(point.statement()));
        if self.knows(point.statement()) {
            return problem.interval(point);
        }
        if point.event() != Event::End {
            return (problem.interval(point).0, u64::MAX);
        }
        // Its next statement is in flight: it commits, or it fails, or the connection is lost. Or it has failed already.
        let line = |id: StatementId| problem.statement(id);
        let failed = |id: &StatementId| problem.model.aborts_on_error() && line(*id).reply != Reply::Success;
        let since = txn.statements.iter().copied().find(|id| !self.knows(*id) || failed(id));
        (since.map_or(0, |id| line(id).sent), u64::MAX)
    }

    /// Whether a point is certainly before another, by time, as far as is known.
    pub(crate) fn precedes(&self, a: Point, b: Point) -> bool {
        self.interval(a).1 < self.interval(b).0
    }

    /// Executes a point. `present` says whether a transaction whose outcome is unknown commits.
    pub(crate) fn step(&mut self, point: Point, present: bool) -> Result<(), Conflict> {
        let here = self.executed.len() as u32 + 1;
        let statement = point.statement();
        let result = match point.event() {
            Event::Snapshot => {
                self.snapshots[statement as usize] = here;
                let line = self.problem.statement(statement);
                if line.kind.writes() { Ok(()) } else { self.read(point, here) }
            }
            Event::Read => {
                self.evaluated[statement as usize] = here;
                self.read(point, here)
            }
            Event::Write => self.write(point, here),
            Event::End => {
                self.end(self.problem.txn_of(statement), here, present);
                Ok(())
            }
        };
        if matches!(result, Ok(()) | Err(Conflict::Answer { .. } | Conflict::Failed { .. })) {
            self.executed.push(point);
            self.advance();
        }
        result
    }

    /// The reader of a statement at its snapshot.
    fn reader(&self, statement: StatementId) -> Reader {
        let point = self.problem.snapshot_point(statement);
        let at = self.snapshots[point.statement() as usize];
        // A statement without a snapshot, because an earlier one was refused, sees the newest state.
        let at = if at == NONE { self.executed.len() as u32 + 1 } else { at };
        Reader { txn: self.problem.txn_of(statement), statement, at }
    }

    /// What a statement sees at its snapshot.
    pub(crate) fn seen(&self, statement: StatementId) -> Seen<'_, 'l> {
        let point = self.problem.snapshot_point(statement);
        let interval = self.problem.interval(point);
        Seen::new(self.problem, &self.store, self.reader(statement), interval, self.known)
    }

    /// What a statement sees at its write.
    pub(crate) fn newest(&self, statement: StatementId, at: u32) -> Seen<'_, 'l> {
        let line = self.problem.statement(statement);
        let reader = Reader { at, ..self.reader(statement) };
        Seen::new(self.problem, &self.store, reader, (line.sent, line.answered), self.known)
    }

    fn read(&mut self, point: Point, here: u32) -> Result<(), Conflict> {
        let statement = point.statement();
        let line = self.problem.entry(statement);
        let (effect, havoc) = {
            let seen = Seen::new(
                self.problem,
                &self.store,
                self.reader(statement),
                self.problem.interval(self.problem.snapshot_point(statement)),
                self.known,
            );
            let text = self.problem.statement(statement).text;
            let effect = self.plans.evaluate(text, line, true, &seen, &seen);
            (effect, seen.met_havoc())
        };
        self.compare(point, &effect, havoc, here)
    }

    /// Compares the answer of a statement with what it should have been.
    fn compare(&mut self, point: Point, effect: &Effect, havoc: bool, here: u32) -> Result<(), Conflict> {
        let statement = point.statement();
        if !self.knows(statement) || self.ignored.contains(&statement) {
            return Ok(());
        }
        let _ = here;
        self.compared += 1;
        if let Some(by) = self.failed_before(statement) {
            return Err(Conflict::Failed { point, by });
        }
        if havoc {
            self.gaps.insert(statement, "it reads a table of unknown contents".to_owned());
            return Ok(());
        }
        if let Err(error) = &effect.reply
            && !error.class.is_answer()
        {
            self.gaps.insert(statement, error.message.clone());
            return Ok(());
        }
        let line = self.problem.entry(statement);
        let wrong = match (&line.answer, &effect.reply) {
            (Ok(logged), Ok(expected)) => self.plans.difference(effect, expected, logged),
            (Ok(_), Err(error)) => Some(format!("expected an error: {error}")),
            (Err(failure), reply) => match self.problem.statement(statement).reply {
                Reply::Failed(class) if !explains(effect, class) => Some(match reply {
                    Ok(_) => format!("expected no error, found: {failure}"),
                    Err(error) => format!("expected another error: {error}, found: {failure}"),
                }),
                _ => None,
            },
        };
        wrong.map_or(Ok(()), |why| Err(Conflict::Answer { point, why }))
    }

    /// The error of the transaction after which the statement cannot succeed.
    fn failed_before(&self, statement: StatementId) -> Option<StatementId> {
        let line = self.problem.statement(statement);
        let failed = self.problem.txn(line.txn).failed?;
        (failed < statement && line.reply == Reply::Success && !self.ignored.contains(&failed))
            .then_some(failed)
    }

    fn write(&mut self, point: Point, here: u32) -> Result<(), Conflict> {
        let statement = point.statement();
        let line = self.problem.statement(statement);
        if line.kind.is_mark() {
            self.mark(statement, line.kind);
            self.evaluated[statement as usize] = here;
            return Ok(());
        }
        let txn = line.txn;
        let (effect, certain, havoc) = {
            let snapshot = self.seen(statement);
            let newest = Seen::new(
                self.problem,
                &self.store,
                Reader { at: here, ..self.reader(statement) },
                (line.sent, line.answered),
                self.known,
            );
            let entry = self.problem.entry(statement);
            let is_query = self.problem.facts(statement).is_query;
            let effect = self.plans.evaluate(line.text, entry, is_query, &snapshot, &newest);
            let certain = snapshot.is_certain() && newest.is_certain();
            (effect, certain, snapshot.met_havoc() || newest.met_havoc())
        };
        let succeeds = match line.reply {
            Reply::Success => true,
            _ if !self.knows(statement) || line.reply == Reply::Refused => effect.reply.is_ok(),
            _ => false,
        };
        let fails = matches!(line.reply, Reply::Failed(_)) && self.knows(statement);
        if succeeds || fails {
            self.check_locks(point, &effect)?;
        }
        let result = self.compare(point, &effect, havoc, here);
        if (succeeds || fails) && !effect.is_query && self.problem.model.locks_everything() {
            self.lock_everything(txn, statement);
        }
        if succeeds {
            self.apply(statement, &effect, certain, havoc, here);
        }
        self.evaluated[statement as usize] = here;
        result
    }

    /// Whether the statement can have its locks.
    fn check_locks(&self, point: Point, effect: &Effect) -> Result<(), Conflict> {
        let statement = point.statement();
        if self.problem.model.locks_everything() {
            return self.check_whole_lock(point, effect);
        }
        let at = self.reader(statement).at;
        for &(table, row) in &effect.locks {
            self.check_row(point, table, row, at)?;
        }
        // A key that somebody is inserting or deleting: whether it is taken is not known yet.
        if effect.reply.is_err() {
            for change in self.plans.attempted(self.problem, &self.store, statement) {
                if let Change::Insert(table, values) = change {
                    self.check_keys(point, table, &values, None)?;
                }
            }
        }
        for change in &effect.changes {
            match change {
                Change::Update(table, row, _) | Change::Delete(table, row) => {
                    self.check_row(point, *table, *row, at)?;
                }
                Change::Insert(..) | Change::Catalog(_) => {}
            }
            match change {
                Change::Insert(table, values) | Change::Update(table, _, values) => {
                    let own = if let Change::Update(_, row, _) = change { Some(*row) } else { None };
                    self.check_keys(point, *table, values, own)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_whole_lock(&self, point: Point, effect: &Effect) -> Result<(), Conflict> {
        if effect.is_query {
            return Ok(());
        }
        let statement = point.statement();
        let txn = self.problem.txn_of(statement);
        if let Some(&(_, by)) = self.writers.iter().find(|writer| writer.0 != txn) {
            return Err(Conflict::Held { point, by, everything: true });
        }
        let at = self.reader(statement).at;
        match self.write_commits.last() {
            Some(&(commit, by)) if commit > at && self.problem.txn_of(by) != txn => {
                Err(Conflict::Newer { point, by, everything: true })
            }
            _ => Ok(()),
        }
    }

    fn check_row(&self, point: Point, table: TableId, row: RowId, at: u32) -> Result<(), Conflict> {
        let txn = self.problem.txn_of(point.statement());
        let Some(row) = self.store.row(table, row) else { return Ok(()) };
        for version in row.versions.iter().rev() {
            if version.is_held_from(txn) {
                return Err(Conflict::Held { point, by: version.statement, everything: false });
            }
            let newer = version.is_committed() && version.commit > at && version.writer != txn;
            if newer && self.problem.model.first_updater_wins() {
                return Err(Conflict::Newer { point, by: version.statement, everything: false });
            }
        }
        Ok(())
    }

    /// Whether another transaction holds a unique key of a row.
    fn check_keys(
        &self,
        point: Point,
        table: TableId,
        values: &[isoscope_sql::Value],
        own: Option<RowId>,
    ) -> Result<(), Conflict> {
        let txn = self.problem.txn_of(point.statement());
        let Some(definition) = self.store.newest_catalog().table_of(table).cloned() else { return Ok(()) };
        for key in &definition.keys {
            let equal: Vec<_> = key.columns.iter().map(|&column| (column, values[column].clone())).collect();
            if equal.iter().any(|(_, value)| value.is_null()) {
                continue;
            }
            let sarg = Sarg { equal, ranges: Vec::new() };
            let mut held = None;
            self.store.table(table).candidates(&sarg, &mut |id, row| {
                if own == Some(RowId(u64::from(id))) {
                    return true;
                }
                let has = |version: &Version| version.values.as_ref().is_some_and(|row| sarg.admits(row));
                let pending = row.versions.iter().rev().find(|version| version.is_held_from(txn));
                if let Some(pending) = pending {
                    let below = row.versions.iter().rev().find(|version| version.is_committed());
                    // An UPDATE that keeps the key leaves no doubt that the key is taken.
                    if has(pending) != below.is_some_and(has) {
                        held = Some(pending.statement);
                    }
                }
                held.is_none()
            });
            if let Some(by) = held {
                return Err(Conflict::Held { point, by, everything: false });
            }
        }
        Ok(())
    }

    fn lock_everything(&mut self, txn: TxnId, statement: StatementId) {
        if !self.writers.iter().any(|writer| writer.0 == txn) {
            self.writers.push((txn, statement));
        }
    }

    fn apply(&mut self, statement: StatementId, effect: &Effect, certain: bool, havoc: bool, here: u32) {
        let line = self.problem.statement(statement);
        let writer = line.txn;
        let unsupported = effect.reply.as_ref().is_err_and(|error| !error.class.is_answer());
        if unsupported || (havoc && !effect.is_query) || effect.is_free() {
            self.havoc(statement, effect, here);
        }
        if !certain && !effect.is_query && !self.has_fixed_rows(statement) {
            let target = self.problem.facts(statement).target.as_deref();
            let table = target.and_then(|name| self.store.newest_catalog().table(name));
            let tables: Vec<TableId> = match table {
                Some(table) => vec![table.id],
                None => self.store.tables().map(|table| table.0).collect(),
            };
            for table in tables {
                self.store.table_mut(table).wild.get_or_insert(here);
            }
        }
        for change in &effect.changes {
            let (table, row, values) = match change {
                Change::Insert(table, values) => (*table, self.store.new_row(*table), Some(values.clone())),
                Change::Update(table, row, values) => (*table, row.0 as u32, Some(values.clone())),
                Change::Delete(table, row) => (*table, row.0 as u32, None),
                Change::Catalog(change) => {
                    let mut catalog: Catalog = self.store.newest_catalog().clone();
                    catalog.apply(change);
                    self.store.push_catalog(writer, statement, PENDING, catalog);
                    self.states[writer as usize].changed_names = true;
                    continue;
                }
            };
            let version =
                Version { writer, statement, values, commit: PENDING, undone: NONE, forced: certain };
            self.store.push(table, row, version);
            self.states[writer as usize].writes.push((statement, table, row));
        }
    }

    /// Whether the rows that a statement writes follow from its text and its answer.
    pub(crate) fn has_fixed_rows(&self, statement: StatementId) -> bool {
        let line = self.problem.statement(statement);
        let facts = self.problem.facts(statement);
        if line.reply != Reply::Success || !facts.is_plain_write {
            return false;
        }
        let known = self.knows(statement) && !self.ignored.contains(&statement);
        match &self.problem.entry(statement).answer {
            _ if facts.is_plain_insert => known,
            Ok(Answer::Count(0)) => known,
            Ok(Answer::Count(1)) => known && self.plans.is_point(self.problem, &self.store, statement),
            _ => false,
        }
    }

    /// From here on, the contents of the tables that a statement writes are unknown.
    fn havoc(&mut self, statement: StatementId, effect: &Effect, here: u32) {
        let target = self.problem.facts(statement).target.as_deref();
        let named = target.and_then(|name| self.store.newest_catalog().table(name).cloned());
        let tables: Vec<TableId> = match named {
            _ if effect.is_query => return,
            Some(table) => vec![table.id],
            None => self.store.newest_catalog().tables().map(|table| table.id).collect(),
        };
        for table in tables {
            self.store.table_mut(table).havoc.get_or_insert(here);
        }
    }

    /// SAVEPOINT, RELEASE and ROLLBACK TO: only the last has an effect.
    fn mark(&mut self, statement: StatementId, kind: Kind) {
        if kind != Kind::RollbackTo {
            return;
        }
        let line = self.problem.statement(statement);
        let name = text::savepoint_of(self.problem.texts[line.text as usize]);
        let all = &self.problem.txn(line.txn).statements;
        let set = all.iter().copied().filter(|&id| id < statement).rev().find(|&id| {
            let other = self.problem.statement(id);
            other.kind == Kind::Savepoint
                && text::savepoint_of(self.problem.texts[other.text as usize]) == name
        });
        let since = set.unwrap_or(0);
        let writes = self.states[line.txn as usize].writes.clone();
        for (_, table, row) in writes.into_iter().filter(|write| write.0 > since) {
            self.store.undo(table, row, line.txn, |version| {
                if version.statement > since && version.undone == NONE {
                    version.undone = statement;
                }
            });
        }
    }

    fn end(&mut self, txn: TxnId, here: u32, present: bool) {
        let committed = match self.fate(txn) {
            Fate::Committed => true,
            Fate::Aborted => false,
            Fate::Unknown => present,
        };
        let state = &mut self.states[txn as usize];
        state.end = here;
        state.committed = committed;
        if state.changed_names {
            self.store.end_catalogs(txn, if committed { here } else { ABORTED });
        }
        self.settle(txn, if committed { here } else { ABORTED });
        if let Some(place) = self.writers.iter().position(|writer| writer.0 == txn) {
            self.writers.remove(place);
            // A writer that changed nothing is no obstacle to others.
            if committed && let Some(&(statement, ..)) = self.states[txn as usize].writes.first() {
                self.write_commits.push((here, statement));
            }
        }
    }

    fn settle(&mut self, txn: TxnId, commit: u32) {
        let writes = std::mem::take(&mut self.states[txn as usize].writes);
        for &(_, table, row) in &writes {
            self.store.end(table, row, txn, commit);
        }
        self.states[txn as usize].writes = writes;
        if commit != PENDING && commit != ABORTED {
            // Versions that a ROLLBACK TO removed did not commit.
            let undone: Vec<_> = self.states[txn as usize].writes.clone();
            for (_, table, row) in undone {
                self.store.undo(table, row, txn, |version| {
                    if version.undone != NONE {
                        version.commit = ABORTED;
                    }
                });
            }
        }
    }

    /// Takes back the last points, so that this many are left.
    ///
    /// # Panics
    ///
    /// If the base has passed the position.
    pub(crate) fn rewind(&mut self, length: usize) {
        assert!(length >= self.base, "points before the base are final");
        while self.executed.len() > length {
            let Some(point) = self.executed.pop() else { break };
            let here = self.executed.len() as u32 + 1;
            self.take_back(point, here);
            let place = self.problem.points.partition_point(|&other| other < point);
            self.cursor = self.cursor.min(place);
            self.gaps.remove(&point.statement());
        }
        self.store.calm(length as u32 + 1);
    }

    fn take_back(&mut self, point: Point, here: u32) {
        let statement = point.statement();
        match point.event() {
            Event::Snapshot => self.snapshots[statement as usize] = NONE,
            Event::Read => self.evaluated[statement as usize] = NONE,
            Event::Write => {
                self.evaluated[statement as usize] = NONE;
                self.take_back_write(statement);
            }
            Event::End => {
                let txn = self.problem.txn_of(statement);
                self.states[txn as usize].end = NONE;
                self.settle(txn, PENDING);
                self.store.end_catalogs(txn, PENDING);
                if self.write_commits.last().is_some_and(|commit| commit.0 == here) {
                    self.write_commits.pop();
                }
                self.hold_everything_again(txn);
            }
        }
    }

    /// A writer that is not ended any more holds everything again.
    fn hold_everything_again(&mut self, txn: TxnId) {
        if !self.problem.model.locks_everything() {
            return;
        }
        let wrote = |&id: &StatementId| {
            let line = self.problem.statement(id);
            line.kind.writes() && !self.problem.facts(id).is_query && self.evaluated[id as usize] != NONE
        };
        if let Some(first) = self.problem.txn(txn).statements.iter().copied().find(wrote) {
            self.writers.push((txn, first));
        }
    }

    fn take_back_write(&mut self, statement: StatementId) {
        let line = self.problem.statement(statement);
        if line.kind == Kind::RollbackTo {
            let writes = self.states[line.txn as usize].writes.clone();
            for (_, table, row) in writes {
                self.store.undo(table, row, line.txn, |version| {
                    if version.undone == statement {
                        version.undone = NONE;
                    }
                });
            }
            return;
        }
        while let Some(&(by, table, row)) = self.states[line.txn as usize].writes.last()
            && by == statement
        {
            self.states[line.txn as usize].writes.pop();
            self.store.pop(table, row);
        }
        self.store.pop_catalogs(statement);
        self.writers.retain(|writer| writer.1 != statement);
    }

    /// Lets go of what is far back.
    fn advance(&mut self) {
        if self.keeps_all || self.executed.len() < self.base + 2 * KEEP {
            return;
        }
        let base = self.executed.len() - KEEP;
        // Transactions that end after the new base keep their snapshots.
        let mut horizon = base as u32;
        let mut note = |statement: StatementId| {
            let point = self.problem.snapshot_point(statement);
            horizon = horizon.min(self.snapshots[point.statement() as usize]);
        };
        self.executed[base..].iter().for_each(|point| note(point.statement()));
        for txns in &self.problem.sessions {
            let last = txns.partition_point(|&txn| self.problem.txn(txn).statements[0] <= self.known_place());
            for &txn in txns[..last].iter().rev().take(2) {
                if self.states[txn as usize].end == NONE
                    && let Some(statement) = self.problem.txn(txn).snapshot
                {
                    note(statement);
                }
            }
        }
        for point in &self.executed[self.base..base] {
            if point.event() == Event::End {
                self.states[self.problem.txn_of(point.statement()) as usize].writes = Vec::new();
            }
        }
        self.write_commits.retain({
            let last = self.write_commits.last().copied();
            move |commit| commit.0 >= horizon || Some(*commit) == last
        });
        self.base = base;
        self.store.advance(horizon);
    }

    /// The statement that the replay has reached in the order of answers.
    fn known_place(&self) -> StatementId {
        self.problem.points.get(self.cursor).map_or(NONE, |point| point.statement())
    }

    /// Whether a version was written by a point before a position.
    pub(crate) fn is_written_before(&self, version: &Version, position: u32) -> bool {
        version.writer == INITIAL || self.evaluated[version.statement as usize] < position
    }
}

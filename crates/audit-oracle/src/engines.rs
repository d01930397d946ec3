//! The verdict of the engine models: all runs of the [`machine`](crate::machine).
//!
//! A run is a sequence of steps. The search visits every state that any run can reach, once. A statement can begin when
//! every entry that was answered before it was sent is over. Three kinds of steps are taken at once where they are possible, without looking
//! at other steps, because they neither change nor read what others can change: BEGIN, errors that are always
//! allowed, and everything that only ends a transaction without its changes.

use std::collections::{BTreeSet, HashSet};

use isoscope_history::Outcome;
use isoscope_log::Class;

use crate::machine::{Changes, Doing, Step, World, apply, born};
use crate::model::{Model, Verdict};
use crate::statement::{Statement, Table, row_with_key};
use crate::tiny::{Given, TinyEntry, TinyLog};

/// The verdict on a log: the first entry, in the order of the answers, up to which nothing explains the log.
pub fn judge(log: &TinyLog, model: Model) -> Verdict {
    let order = log.by_answer();
    if order.is_empty() || explains(log, model, &order) {
        return Verdict::Explained;
    }
    let first = (0..order.len()).find(|&e| !explains(log, model, &order[..=e]));
    first.map_or(Verdict::Explained, |e| Verdict::Violated(order[e]))
}

/// Whether some run gives the answers of these entries, the last of which is answered last.
fn explains(log: &TinyLog, model: Model, answered: &[usize]) -> bool {
    let mut is_answered = vec![false; log.entries.len()];
    for &e in answered {
        is_answered[e] = true;
    }
    let now = answered.last().map_or(0, |&e| log.entries[e].answered);
    let mut sessions = vec![Vec::new(); log.sessions()];
    for (e, entry) in log.entries.iter().enumerate() {
        sessions[entry.session].push(e);
    }
    let search = Search { log, model, is_answered, now, sessions };
    search.run()
}

/// A state of the search.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// The entries of each session that are over.
    over: Vec<usize>,
    world: World,
    /// Transactions that may commit at any time, or never.
    limbo: BTreeSet<usize>,
    /// Autocommit statements that may be executed at any time, or never, with any answer.
    ghosts: BTreeSet<usize>,
}

struct Search<'a> {
    log: &'a TinyLog,
    model: Model,
    is_answered: Vec<bool>,
    /// The last answer.
    now: u64,
    sessions: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn run(&self) -> bool {
        let first = State {
            over: vec![0; self.sessions.len()],
            world: World::new(self.log.table(), self.log.txns()),
            limbo: BTreeSet::new(),
            ghosts: BTreeSet::new(),
        };
        let mut seen = HashSet::from([first.clone()]);
        let mut open = vec![first];
        while let Some(state) = open.pop() {
            if self.is_complete(&state) && self.is_serial(&state) {
                return true;
            }
            for next in self.next_states(&state) {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        false
    }

    /// Whether all answered entries are over.
    fn is_complete(&self, state: &State) -> bool {
        let mut rest = self.sessions.iter().zip(&state.over).flat_map(|(entries, &over)| &entries[over..]);
        rest.all(|&e| !self.is_answered[e])
    }

    fn next_states(&self, state: &State) -> Vec<State> {
        for session in 0..self.sessions.len() {
            if let Some(next) = self.at_once(state, session) {
                return vec![next];
            }
        }
        let mut found = Vec::new();
        for session in 0..self.sessions.len() {
            self.begin(state, session, &mut found);
        }
        for txn in 0..state.world.txns.len() {
            self.proceed(state, txn, &mut found);
        }
        for &txn in &state.limbo {
            let mut next = state.clone();
            next.world.commit(txn);
            next.limbo.remove(&txn);
            found.push(next);
            let mut next = state.clone();
            next.world.abort(txn);
            next.limbo.remove(&txn);
            found.push(next);
        }
        for &e in &state.ghosts {
            let mut next = state.clone();
            next.ghosts.remove(&e);
            self.start(next, e, true, &mut found);
        }
        found
    }

    /// The next entry of a session, if it can begin: the transaction is not executing a statement, and every entry that was
    /// answered before this one was sent is over.
    fn next_entry(&self, state: &State, session: usize) -> Option<(usize, &TinyEntry)> {
        let e = *self.sessions[session].get(state.over[session])?;
        let entry = &self.log.entries[e];
        if state.world.txns[entry.txn].doing.is_some() || entry.sent > self.now {
            return None;
        }
        let rest = self.sessions.iter().zip(&state.over).flat_map(|(entries, &over)| &entries[over..]);
        let waits = rest.copied().any(|other| self.log.entries[other].answered < entry.sent);
        (!waits).then_some((e, entry))
    }

    /// The step of a session that can be taken without looking at others.
    fn at_once(&self, state: &State, session: usize) -> Option<State> {
        let (e, entry) = self.next_entry(state, session)?;
        if !self.is_answered[e] {
            return None;
        }
        let mut next = state.clone();
        next.over[session] += 1;
        let ends = matches!(entry.statement, Statement::Commit | Statement::Rollback);
        match entry.outcome {
            _ if entry.statement == Statement::Begin => {}
            Some(Outcome::Aborted) | None if ends => next.world.abort(entry.txn),
            Some(Outcome::Unknown) if ends => {
                next.limbo.insert(entry.txn);
            }
            _ if ends => return None,
            outcome => match entry.given {
                Given::Error(class) if class != Class::Constraint => {
                    if outcome == Some(Outcome::Unknown) && entry.statement.writes() && self.is_autocommit(e)
                    {
                        next.ghosts.insert(e);
                    } else if self.model != Model::Sqlite || outcome.is_some() {
                        next.world.abort(entry.txn);
                    }
                }
                _ => return None,
            },
        }
        Some(next)
    }

    /// Begins the next statement of a session.
    fn begin(&self, state: &State, session: usize, found: &mut Vec<State>) {
        let Some((e, entry)) = self.next_entry(state, session) else { return };
        let mut next = state.clone();
        if self.is_answered[e] {
            if entry.statement == Statement::Commit {
                next.world.commit(entry.txn);
                next.over[session] += 1;
                found.push(next);
            } else {
                self.start(next, e, false, found);
            }
            return;
        }
        // In flight: this is the last entry of the session.
        next.over[session] += 1;
        if entry.statement == Statement::Commit {
            next.limbo.insert(entry.txn);
            found.push(next);
        } else if self.is_autocommit(e) {
            if entry.statement.writes() {
                next.ghosts.insert(e);
                found.push(next);
            }
        } else if entry.statement != Statement::Begin {
            // ROLLBACK, or a statement that fails.
            next.world.abort(entry.txn);
            found.push(next);
        }
    }

    fn start(&self, mut next: State, e: usize, is_free: bool, found: &mut Vec<State>) {
        let entry = &self.log.entries[e];
        match next.world.start(self.model, entry.txn, e, &entry.statement) {
            Step::Blocked => {}
            Step::Going => found.push(next),
            Step::Done(given) => self.finish(next, e, is_free, &given, found),
        }
    }

    /// The next steps of the statement that a transaction is executing.
    fn proceed(&self, state: &State, txn: usize, found: &mut Vec<State>) {
        let Some(doing) = &state.world.txns[txn].doing else { return };
        let entry = &self.log.entries[doing.entry];
        // A statement that is executed without being awaited is past the end of what is over.
        let is_free = entry.outcome == Some(Outcome::Unknown) || !self.is_answered[doing.entry];
        if doing.is_done {
            let mut next = state.clone();
            next.world.commit(txn);
            if !is_free {
                next.over[entry.session] += 1;
            }
            found.push(next);
            return;
        }
        let mut take = |step: &dyn Fn(&mut World) -> Step| {
            let mut next = state.clone();
            match step(&mut next.world) {
                Step::Blocked => {}
                Step::Going => found.push(next),
                Step::Done(given) => self.finish(next, doing.entry, is_free, &given, found),
            }
        };
        if let Statement::Insert(row) = entry.statement {
            take(&|world| world.insert_row(txn, doing.entry, row));
        }
        for &row in &doing.todo {
            take(&|world| world.change_row(self.model, txn, &entry.statement, row));
        }
    }

    /// Ends a statement if its answer is the one of the log.
    fn finish(&self, mut next: State, e: usize, is_free: bool, given: &Given, found: &mut Vec<State>) {
        let entry = &self.log.entries[e];
        if !is_free && !fits(entry, given) {
            return;
        }
        let is_error = matches!(given, Given::Error(_));
        if is_error && (is_free || self.model != Model::Sqlite || entry.outcome.is_some()) {
            next.world.abort(entry.txn);
        } else if self.is_autocommit(e) {
            let doing = Doing { entry: e, snapshot: 0, todo: BTreeSet::new(), count: 0, is_done: true };
            next.world.txns[entry.txn].doing = Some(doing);
            found.push(next);
            return;
        } else if self.is_abandoned(e) {
            next.world.abort(entry.txn);
        }
        if !is_free {
            next.over[entry.session] += 1;
        }
        found.push(next);
    }

    /// Whether an entry is the last of a transaction without outcome.
    fn is_abandoned(&self, e: usize) -> bool {
        let txn = self.log.entries[e].txn;
        let last = self.log.entries.iter().rposition(|other| other.txn == txn);
        last == Some(e) && self.log.entries[e].outcome.is_none()
    }

    /// Whether an entry is a transaction of its own.
    fn is_autocommit(&self, e: usize) -> bool {
        let entry = &self.log.entries[e];
        let first = self.log.entries.iter().position(|other| other.txn == entry.txn);
        first == Some(e) && entry.statement != Statement::Begin
    }

    /// Whether the committed transactions are serializable, if the model says so.
    fn is_serial(&self, state: &State) -> bool {
        if self.model != Model::PgSer {
            return true;
        }
        let mut left: Vec<usize> = state.world.committed.iter().copied().collect();
        self.has_serial_order(state, &mut left, &self.log.table())
    }

    /// Whether these transactions have a serial order that begins with this table. The depth is the number of transactions.
    fn has_serial_order(&self, state: &State, left: &mut Vec<usize>, table: &Table) -> bool {
        if left.is_empty() {
            return true;
        }
        for i in 0..left.len() {
            let txn = left[i];
            if left.iter().any(|&other| self.is_earlier_in_session(other, txn)) {
                continue;
            }
            let nothing = Changes::new();
            let changes = state.world.commits.iter().find(|(t, _)| *t == txn).map_or(&nothing, |(_, c)| c);
            if self.replay(txn, table).as_ref() != Some(changes) {
                continue;
            }
            let mut after = table.clone();
            apply(&mut after, changes);
            left.remove(i);
            if self.has_serial_order(state, left, &after) {
                return true;
            }
            left.insert(i, txn);
        }
        false
    }

    /// Whether a transaction ended, for certain, before another of the same session began.
    fn is_earlier_in_session(&self, a: usize, b: usize) -> bool {
        let ending = |txn| self.log.entries.iter().rposition(|entry| entry.txn == txn);
        let (Some(a), Some(b)) = (ending(a), ending(b)) else { return false };
        let (x, y) = (&self.log.entries[a], &self.log.entries[b]);
        a < b && x.session == y.session && self.is_answered[a] && x.outcome == Some(Outcome::Committed)
    }

    /// What a transaction changes if it is executed alone; `None` if an answer is not the one of the log.
    fn replay(&self, txn: usize, table: &Table) -> Option<Changes> {
        let mut table = table.clone();
        let mut changes = Changes::new();
        for (e, entry) in self.log.entries.iter().enumerate().filter(|(_, entry)| entry.txn == txn) {
            let is_free = !self.is_answered[e] || matches!(entry.given, Given::Error(_));
            let statement = &entry.statement;
            let mut step = Changes::new();
            let given = match statement {
                Statement::Begin | Statement::Commit | Statement::Rollback => continue,
                Statement::Select(..) => Given::Rows(statement.select(&table)),
                Statement::Insert(row) if row_with_key(&table, row.k).is_some() => {
                    Given::Error(Class::Constraint)
                }
                Statement::Insert(row) => {
                    step.insert(born(e), Some(*row));
                    Given::Count(1)
                }
                _ => {
                    for (&id, &row) in table.iter().filter(|&(_, &row)| statement.matches(row)) {
                        step.insert(id, statement.change(row));
                    }
                    Given::Count(step.len() as u64)
                }
            };
            if !is_free && !fits(entry, &given) {
                return None;
            }
            apply(&mut table, &step);
            changes.extend(step);
        }
        Some(changes)
    }
}

/// Whether a computed answer is the one of the log.
fn fits(entry: &TinyEntry, computed: &Given) -> bool {
    match (computed, &entry.given) {
        (Given::Rows(computed), Given::Rows(answer)) => entry.statement.fits(computed, answer),
        (computed, answer) => computed == answer,
    }
}

//! Wrong logs: one small change to a correct one. Many of them are correct as well, which is what makes them useful.

use isoscope_history::Outcome;

use crate::random::Random;
use crate::statement::Statement;
use crate::tiny::{Given, TinyEntry, TinyLog};

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mutation {
    /// A value in an answer is greater by 1.
    PlusOne,
    /// A value that no transaction wrote.
    NeverWritten,
    /// A value or row of another answer to a similar query.
    OtherVersion,
    /// A row is missing.
    Dropped,
    /// A row is there twice.
    Doubled,
    /// A row that does not exist.
    Foreign,
    /// A count is off by 1.
    Count,
    /// Two answers are exchanged.
    Swapped,
    /// A commit did not happen, or a rollback did.
    Flipped,
    /// The effect of an UPDATE is missing from a later answer: the statement is another one than the database executed.
    Lost,
    /// The answer is that of the query without WHERE.
    Unfiltered,
    /// A statement was sent and answered at another time.
    Moved,
}

impl Mutation {
    /// All kinds.
    pub const ALL: [Mutation; 12] = [
        Mutation::PlusOne,
        Mutation::NeverWritten,
        Mutation::OtherVersion,
        Mutation::Dropped,
        Mutation::Doubled,
        Mutation::Foreign,
        Mutation::Count,
        Mutation::Swapped,
        Mutation::Flipped,
        Mutation::Lost,
        Mutation::Unfiltered,
        Mutation::Moved,
    ];
}

/// Changes a log; `None` if there is nothing to change in this way.
pub fn mutate(log: &TinyLog, mutation: Mutation, random: &mut Random) -> Option<TinyLog> {
    let mut changed = log.clone();
    let is_done = match mutation {
        Mutation::PlusOne => value(&mut changed, random, |value, _| *value = value.map(|n| n + 1)),
        Mutation::NeverWritten => value(&mut changed, random, |value, _| *value = Some(77_777)),
        Mutation::OtherVersion => other_version(&mut changed, random),
        Mutation::Dropped | Mutation::Doubled | Mutation::Foreign => row(&mut changed, mutation, random),
        Mutation::Count => count(&mut changed, random),
        Mutation::Swapped => swap(&mut changed, random),
        Mutation::Flipped => flip(&mut changed, random),
        Mutation::Lost => lose(&mut changed, random),
        Mutation::Unfiltered => unfilter(&mut changed, random),
        Mutation::Moved => shift(&mut changed, random),
    };
    (is_done && changed != *log).then_some(changed)
}

/// Changes a log in a random way, if one of a few attempts succeeds.
pub fn any(log: &TinyLog, random: &mut Random) -> (TinyLog, Option<Mutation>) {
    for _ in 0..8 {
        let mutation = *random.pick(&Mutation::ALL);
        if let Some(changed) = mutate(log, mutation, random) {
            return (changed, Some(mutation));
        }
    }
    (log.clone(), None)
}

/// The entries for which something holds, one of them at random.
fn choose(log: &TinyLog, random: &mut Random, wanted: impl Fn(&TinyEntry) -> bool) -> Option<usize> {
    let found: Vec<usize> = (0..log.entries.len()).filter(|&e| wanted(&log.entries[e])).collect();
    (!found.is_empty()).then(|| *random.pick(&found))
}

fn has_rows(entry: &TinyEntry) -> bool {
    matches!(&entry.given, Given::Rows(rows) if !rows.is_empty())
}

fn rows_of(log: &mut TinyLog, random: &mut Random) -> Option<(usize, usize)> {
    let e = choose(log, random, has_rows)?;
    let Given::Rows(rows) = &log.entries[e].given else { return None };
    Some((e, random.below(rows.len() as u64) as usize))
}

fn value(log: &mut TinyLog, random: &mut Random, change: impl Fn(&mut Option<i64>, &mut Random)) -> bool {
    let Some((e, row)) = rows_of(log, random) else { return false };
    let Given::Rows(rows) = &mut log.entries[e].given else { return false };
    if let Some(value) = rows[row].last_mut() {
        change(value, random);
    }
    true
}

fn other_version(log: &mut TinyLog, random: &mut Random) -> bool {
    let initial: Vec<_> = log.initial.iter().map(|row| row.v).collect();
    let mut values: Vec<Option<i64>> = initial;
    for entry in &log.entries {
        if let Given::Rows(rows) = &entry.given {
            values.extend(rows.iter().filter_map(|row| row.last().copied()));
        }
    }
    let new = *random.pick(&values);
    value(log, random, |value, _| *value = new)
}

fn row(log: &mut TinyLog, mutation: Mutation, random: &mut Random) -> bool {
    let wanted =
        |entry: &TinyEntry| matches!(&entry.given, Given::Rows(rows) if rows.iter().all(|r| r.len() == 2));
    let Some(e) = choose(log, random, wanted) else { return false };
    let Given::Rows(rows) = &mut log.entries[e].given else { return false };
    match mutation {
        Mutation::Foreign => rows.push(vec![Some(9), Some(random.below(3) as i64)]),
        _ if rows.is_empty() => return false,
        _ => {
            let place = random.below(rows.len() as u64) as usize;
            let row = rows.remove(place);
            if mutation == Mutation::Doubled {
                rows.insert(place, row.clone());
                rows.insert(place, row);
            }
        }
    }
    true
}

fn count(log: &mut TinyLog, random: &mut Random) -> bool {
    let wanted = |entry: &TinyEntry| {
        matches!(entry.statement, Statement::Update(..) | Statement::Delete(_))
            && matches!(entry.given, Given::Count(_))
    };
    let Some(e) = choose(log, random, wanted) else { return false };
    let Given::Count(n) = &mut log.entries[e].given else { return false };
    *n = if random.percent(50) { *n + 1 } else { n.saturating_sub(1) };
    true
}

fn swap(log: &mut TinyLog, random: &mut Random) -> bool {
    let Some(a) = choose(log, random, has_rows) else { return false };
    let width = |entry: &TinyEntry| match &entry.given {
        Given::Rows(rows) => rows.first().map(Vec::len),
        _ => None,
    };
    let wanted = width(&log.entries[a]);
    let Some(b) = choose(log, random, |entry| width(entry) == wanted) else { return false };
    let given = log.entries[a].given.clone();
    log.entries[a].given = std::mem::replace(&mut log.entries[b].given, given);
    true
}

fn flip(log: &mut TinyLog, random: &mut Random) -> bool {
    let wanted = |entry: &TinyEntry| {
        matches!(entry.statement, Statement::Commit | Statement::Rollback) && entry.given == Given::Count(0)
    };
    let Some(e) = choose(log, random, wanted) else { return false };
    let txn = log.entries[e].txn;
    let has_failed = |entry: &TinyEntry| entry.txn == txn && matches!(entry.given, Given::Error(_));
    if log.entries.iter().any(has_failed) {
        return false;
    }
    let entry = &mut log.entries[e];
    (entry.statement, entry.outcome) = match entry.statement {
        Statement::Commit => (Statement::Rollback, Some(Outcome::Aborted)),
        _ => (Statement::Commit, Some(Outcome::Committed)),
    };
    true
}

fn lose(log: &mut TinyLog, random: &mut Random) -> bool {
    // The log says that something else was executed.
    let wanted = |entry: &TinyEntry| {
        matches!(entry.statement, Statement::Update(..)) && matches!(entry.given, Given::Count(1..))
    };
    let Some(e) = choose(log, random, wanted) else { return false };
    let Statement::Update(change, _) = &mut log.entries[e].statement else { return false };
    *change = crate::Change::Add(*random.pick(&[0, 3, 1000]));
    true
}

fn unfilter(log: &mut TinyLog, random: &mut Random) -> bool {
    // The log says that there was a WHERE.
    let wanted = |entry: &TinyEntry| match &entry.statement {
        Statement::Select(_, filter) | Statement::Update(_, filter) => filter.is_empty(),
        _ => false,
    };
    let Some(e) = choose(log, random, wanted) else { return false };
    if let Statement::Select(_, filter) | Statement::Update(_, filter) = &mut log.entries[e].statement {
        filter.push(crate::Condition::Key(crate::statement::Compare::Unequal, 1 + random.below(3) as i64));
    }
    true
}

/// Moves all entries of one transaction by the same time, if its session has no others.
fn shift(log: &mut TinyLog, random: &mut Random) -> bool {
    let Some(e) = choose(log, random, |_| true) else { return false };
    let (txn, session) = (log.entries[e].txn, log.entries[e].session);
    if log.entries.iter().any(|entry| entry.session == session && entry.txn != txn) {
        return false;
    }
    let by = 1 + random.below(30);
    for entry in log.entries.iter_mut().filter(|entry| entry.txn == txn) {
        entry.sent += by;
        entry.answered += by;
    }
    true
}

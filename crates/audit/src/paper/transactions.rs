//! The transactions of a log that committed, or may have, and when they started and ended.

use isoscope_history::Outcome;
use isoscope_log::{Entry, LOADER, Log, Scalar};
use rustc_hash::FxHashMap;

use crate::error::AuditError;

/// A transaction.
#[derive(Clone, Debug)]
pub(crate) struct Txn {
    /// Its entries, in order.
    pub(crate) entries: Vec<usize>,
    /// The entry with the outcome.
    pub(crate) last: usize,
    /// Whether it certainly committed.
    pub(crate) is_certain: bool,
    /// When it started and ended, for `--order timestamps`.
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// When the first statement was sent and answered.
    pub(crate) begins: (u64, u64),
    /// When the last statement was sent and answered; a transaction whose outcome is unknown may end at any later time.
    pub(crate) ends: (u64, u64),
}

/// The transactions of a log.
pub(crate) struct Transactions {
    /// The loader's entries.
    pub(crate) loader: Vec<usize>,
    /// In the order of their ends, ties by line.
    pub(crate) all: Vec<Txn>,
    /// Those that did not commit.
    pub(crate) aborted: Vec<Txn>,
}

/// Finds the transactions of a log.
///
/// # Errors
///
/// If the lines of a transaction contradict each other.
pub(crate) fn collect(log: &Log) -> Result<Transactions, AuditError> {
    let loader_name = Scalar::Text(LOADER.to_owned());
    let mut loader = Vec::new();
    let mut names: FxHashMap<String, usize> = FxHashMap::default();
    let mut entries_of: Vec<Vec<usize>> = Vec::new();
    let mut answered: FxHashMap<String, u64> = FxHashMap::default();
    for (number, entry) in log.entries.iter().enumerate() {
        if entry.session == loader_name {
            loader.push(number);
            continue;
        }
        check_times(number, entry, &mut answered)?;
        let next = entries_of.len();
        let txn = *names.entry(format!("{:?} {:?}", entry.session, entry.txn)).or_insert(next);
        if txn == next {
            entries_of.push(Vec::new());
        }
        if entries_of[txn].last().is_some_and(|&last| log.entries[last].ending.is_some()) {
            return Err(AuditError::new(
                Some(number),
                "the statement follows the outcome of its transaction",
            ));
        }
        entries_of[txn].push(number);
    }
    let (mut all, mut aborted) = (Vec::new(), Vec::new());
    for (txn, has_effect) in entries_of.into_iter().filter_map(|entries| txn_of(log, entries)) {
        if has_effect { all.push(txn) } else { aborted.push(txn) }
    }
    stamp(log, &mut all);
    all.sort_by_key(|txn| (txn.end, txn.last));
    Ok(Transactions { loader, all, aborted })
}

fn check_times(
    number: usize,
    entry: &Entry,
    answered: &mut FxHashMap<String, u64>,
) -> Result<(), AuditError> {
    if entry.sent > entry.answered {
        return Err(AuditError::new(Some(number), "the statement was answered before it was sent"));
    }
    let last = answered.entry(format!("{:?}", entry.session)).or_insert(0);
    if entry.sent < *last {
        let message = "the session sent the statement before its previous one was answered";
        return Err(AuditError::new(Some(number), message));
    }
    *last = entry.answered;
    Ok(())
}

/// The transaction with these entries, and whether it may have committed.
fn txn_of(log: &Log, entries: Vec<usize>) -> Option<(Txn, bool)> {
    let (&first, &last) = (entries.first()?, entries.last()?);
    let outcome = log.entries[last].ending.map_or(Outcome::Aborted, |ending| ending.outcome);
    let is_certain = outcome == Outcome::Committed;
    let (first, line) = (&log.entries[first], &log.entries[last]);
    let until = if is_certain { line.answered } else { u64::MAX };
    let txn = Txn {
        entries,
        last,
        is_certain,
        start: time(first.answered),
        end: time(line.answered),
        begins: (first.sent, first.answered),
        ends: (line.sent, until),
    };
    Some((txn, outcome != Outcome::Aborted))
}

fn time(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// Replaces starts and ends by the database's timestamps. Its clock is moved back so far that no stamp is later than the
/// answer; transactions without stamps, which are those that only read, keep the times of their answers.
fn stamp(log: &Log, all: &mut [Txn]) {
    let stamps = |txn: &Txn| log.entries[txn.last].ending.map(|ending| ending.stamps).unwrap_or_default();
    let ahead = |txn: &Txn| Some(stamps(txn).commit?.saturating_sub(txn.end));
    let Some(offset) = all.iter().filter_map(ahead).max() else { return };
    for txn in all {
        let stamps = stamps(txn);
        if let Some(commit) = stamps.commit {
            txn.end = commit.saturating_sub(offset);
            if let Some(begin) = stamps.begin {
                txn.start = begin.saturating_sub(offset);
            }
        }
    }
}

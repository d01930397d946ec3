//! Real time: who had returned before another was invoked.
//!
//! Definition. A transaction that is known to have committed precedes another when it returned before that
//! one was invoked, by the places of these events in the recording where there are any, and else by the
//! client's clock. Intervals are closed: who returns at the moment another is invoked is concurrent with it.
//! What was not recorded is not known: who never returned precedes nobody, and who was never invoked follows
//! nobody; and when one of unknown outcome took effect, if ever, nobody knows, so it precedes nobody either.
//!
//! Who trusts the database's timestamps takes them instead of what clients saw.
//!
//! Cost: the transactions are sorted once by when they returned.

use isoscope_history::{NO_EVENT, NO_TIME, Outcome, Txn};

use super::facts::Facts;
use super::order::Order;
use super::{Refutation, ensure};
use isoscope_certificate::Node;

/// When a transaction was invoked, if that is known.
fn invoked(facts: &Facts<'_>, txn: Txn) -> Option<i64> {
    let history = facts.history;
    match (history.events(), history.times()) {
        _ if facts.trusts_timestamps => time(history.timestamps()?.start[txn.index()]),
        (Some(events), _) => event(events.start[txn.index()]),
        (None, Some(times)) => time(times.start[txn.index()]),
        (None, None) => None,
    }
}

/// When a transaction that committed returned, if that is known.
fn returned(facts: &Facts<'_>, txn: Txn) -> Option<i64> {
    let history = facts.history;
    match (history.events(), history.times()) {
        _ if history.outcome(txn) != Outcome::Committed => None,
        _ if facts.trusts_timestamps => time(history.timestamps()?.end[txn.index()]),
        (Some(events), _) => event(events.end[txn.index()]),
        (None, Some(times)) => time(times.end[txn.index()]),
        (None, None) => None,
    }
}

fn event(place: u32) -> Option<i64> {
    (place != NO_EVENT).then_some(i64::from(place))
}

fn time(moment: i64) -> Option<i64> {
    (moment != NO_TIME).then_some(moment)
}

/// Whether one transaction precedes another in real time.
pub(super) fn precedes(facts: &Facts<'_>, earlier: Txn, later: Txn) -> bool {
    let (end, start) = (returned(facts, earlier), invoked(facts, later));
    earlier != later && end.zip(start).is_some_and(|(end, start)| end < start)
}

/// Checks that each transaction of an order sees all that precede it: that they are among so many at the
/// beginning of the order as `sees` says.
pub(super) fn check(facts: &Facts<'_>, order: &Order<'_>, sees: &[u32]) -> Result<(), Refutation> {
    let mut ends: Vec<(i64, Txn)> =
        order.txns.iter().filter_map(|&txn| Some((returned(facts, txn)?, txn))).collect();
    ends.sort_unstable();
    // For so many of the first to return, the two that are latest in the order: one of them may be the
    // transaction itself, where the recording says that it returned before it was invoked.
    let mut latest = vec![[0; 2]];
    for &(_, txn) in &ends {
        let [first, second] = latest[latest.len() - 1];
        let place = order.position(Node::Txn(txn));
        latest.push(if place > first { [place, first] } else { [first, second.max(place)] });
    }
    for ((&txn, &sees), place) in order.txns.iter().zip(sees).zip(1..) {
        let Some(start) = invoked(facts, txn) else { continue };
        let [first, second] = latest[ends.partition_point(|&(end, _)| end < start)];
        let needed = if first == place { second } else { first };
        ensure(needed <= sees, || {
            let earlier = facts.name(order.txns[needed as usize - 1]);
            format!("{} does not see {earlier}, which had returned before it was invoked", facts.name(txn))
        })?;
    }
    Ok(())
}

//! Real-time order: T1 precedes T2 if T1 returned before T2 was invoked.
//!
//! Only a transaction that is known to have committed precedes another. The positions of the two events in
//! the recording decide, or the client's clock if the recording has no events. Intervals that touch are
//! concurrent. A transaction whose return was not recorded precedes none, and one whose invocation was not
//! recorded follows none. A transaction of unknown outcome precedes none, since it may take effect at any
//! later time.
//!
//! With trusted database timestamps, these replace what the clients observed.
//!
//! Cost: one sort of the transactions by the time they returned.

use isoscope_history::{NO_EVENT, NO_TIME, Outcome, Txn};

use super::facts::Facts;
use super::order::Order;
use super::{Refutation, ensure};
use isoscope_certificate::Node;

/// When a transaction was invoked, if recorded.
fn invoked(facts: &Facts<'_>, txn: Txn) -> Option<i64> {
    let history = facts.history;
    match (history.events(), history.times()) {
        _ if facts.trusts_timestamps => time(history.timestamps()?.start[txn.index()]),
        (Some(events), _) => event(events.start[txn.index()]),
        (None, Some(times)) => time(times.start[txn.index()]),
        (None, None) => None,
    }
}

/// When a committed transaction returned, if recorded.
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

/// Whether one transaction precedes another in real-time order.
pub(super) fn precedes(facts: &Facts<'_>, earlier: Txn, later: Txn) -> bool {
    let (end, start) = (returned(facts, earlier), invoked(facts, later));
    earlier != later && end.zip(start).is_some_and(|(end, start)| end < start)
}

/// Checks that each transaction sees all transactions that precede it in real time. A transaction sees the
/// first `sees[i]` transactions of the order.
pub(super) fn check(facts: &Facts<'_>, order: &Order<'_>, sees: &[u32]) -> Result<(), Refutation> {
    let mut ends: Vec<(i64, Txn)> =
        order.txns.iter().filter_map(|&txn| Some((returned(facts, txn)?, txn))).collect();
    ends.sort_unstable();
    // `latest[n]` holds the two highest positions in the order among the first n transactions to return. The
    // second is needed because the highest may be the transaction itself, if it was recorded to return before
    // it was invoked.
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

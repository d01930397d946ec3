//! Real time: `rt(t, s)` if `t` returned before `s` was invoked.
//!
//! docs/levels.md, Histories. Events count if there are any, and else times. What was not recorded orders nothing, and a transaction of
//! unknown outcome precedes nothing, because its commit may be applied late.
//!
//! Limits: the database's timestamps are ignored. A comparison with `--trust-timestamps` puts them in the place of the times first.

use isoscope_history::{History, NO_EVENT, NO_TIME, Outcome, Txn};

/// Whether `t` had returned before `s` was invoked.
pub(crate) fn is_before_in_real_time(history: &History, t: Txn, s: Txn) -> bool {
    let (t_at, s_at) = (t.index(), s.index());
    let by_clock = match (history.events(), history.times()) {
        (Some(events), _) => {
            let (returned, invoked) = (events.end[t_at], events.start[s_at]);
            returned != NO_EVENT && invoked != NO_EVENT && returned < invoked
        }
        (None, Some(times)) => {
            let (returned, invoked) = (times.end[t_at], times.start[s_at]);
            returned != NO_TIME && invoked != NO_TIME && returned < invoked
        }
        (None, None) => false,
    };
    by_clock && history.outcome(t) == Outcome::Committed
}

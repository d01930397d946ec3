//! Whether given snapshots satisfy a level.
//!
//! docs/levels.md, Visibility and arbitration: each transaction sees a beginning of the order, and reads are looked up there by value.
//! Prefix; with NOCONFLICT snapshot isolation; with `rt` the strict form.
//!
//! Limits: judges an explanation that it is given, and searches for none.

use isoscope_history::{History, OpKind, OpView, Txn};
use isoscope_levels::Level;

use super::Explanation;
use super::clock::is_before_in_real_time;
use super::presence::presences;
use super::reads::{final_write, is_write_of, own_before, reads_of};

/// Whether given snapshots satisfy a level: prefix consistency, or with `rt` and NOCONFLICT the stronger ones, in the
/// words of Framework 2. Each transaction sees a beginning of the order; reads are looked up there by value.
pub(crate) fn accepts_snapshots(history: &History, level: Level, explanation: &Explanation) -> bool {
    let Explanation { order, snapshots: Some(snapshots), .. } = explanation else { return false };
    let mut present = order.clone();
    present.sort_unstable();
    snapshots.len() == order.len()
        && presences(history).any(|txns| txns == present)
        && order.iter().zip(snapshots).enumerate().all(|(i, (&txn, &held))| {
            let held = held as usize;
            let must_be_seen = |other: Txn| {
                let session = other < txn && history.session_of(other) == history.session_of(txn);
                let conflict = history.keys().any(|key| {
                    final_write(history, txn, key).is_some() && final_write(history, other, key).is_some()
                });
                let is_earlier = order[..i].contains(&other);
                match level {
                    Level::Prefix => session,
                    Level::AdyaPlSi => conflict && is_earlier,
                    Level::Snapshot => session || conflict && is_earlier,
                    Level::StrictSnapshot => {
                        session || conflict && is_earlier || is_before_in_real_time(history, other, txn)
                    }
                    _ => panic!("{level} has no snapshots"),
                }
            };
            held <= i
                && order.iter().all(|&other| !must_be_seen(other) || order[..held].contains(&other))
                && reads_of(history, txn).all(|read| {
                    let appended =
                        read.kind == OpKind::ReadList && !own_before(history, txn, read).is_empty();
                    returns_state(history, &order[..held], txn, read)
                        && (!appended || returns_state(history, &order[..i], txn, read))
                })
        })
}

/// Whether a read returns what some transactions, one after the other, and then its own, leave in the key.
fn returns_state(history: &History, before: &[Txn], txn: Txn, read: OpView) -> bool {
    let own = own_before(history, txn, read);
    if read.kind == OpKind::ReadList {
        let appends = before.iter().flat_map(|&t| history.ops_of(t)).filter(|op| is_write_of(op, read.key));
        let mut state = history.table().elements(history.initial(read.key)).to_vec();
        state.extend(appends.map(|op| op.value).chain(own));
        return history.table().elements(read.value) == state;
    }
    let last = before.iter().rev().find_map(|&t| final_write(history, t, read.key));
    match own.last().copied().or(last) {
        Some(value) => read.value == value,
        None => history.is_initial(read.key, read.value),
    }
}

//! Which transactions of a history took effect: all committed ones, and some of unknown outcome.
//!
//! docs/levels.md, Unknown outcomes. All subsets of the transactions of unknown outcome are tried, and those dropped that leave
//! unexplained what a present transaction read and what a transaction that may have committed explains.
//!
//! Limits: at most 31 transactions of unknown outcome. Session order is that of the history: `--unknown late` changes the
//! history before the reference sees it.

use isoscope_history::{History, Key, OpKind, OpView, Outcome, Txn, Value};

use super::reads::{final_write, is_write_of, own_before, reads_of, shown};
use super::world::bit;

/// The present transactions of a history: of its smallest world.
pub(crate) fn present(history: &History) -> Vec<Txn> {
    presences(history).next().unwrap_or_default()
}

/// The sets of transactions that may be the present ones, to a level that knows reads.
pub(crate) fn presences(history: &History) -> impl Iterator<Item = Vec<Txn>> {
    subsets(history).filter(|txns| is_admissible(history, txns, Own::Apart))
}

/// The same to PL-1, to which an element of a list may be what its reader appends later.
pub(crate) fn presences_of_writers(history: &History) -> impl Iterator<Item = Vec<Txn>> {
    subsets(history).filter(|txns| is_admissible(history, txns, Own::Counted))
}

/// The committed transactions and some of unknown outcome.
pub(super) fn subsets(history: &History) -> impl Iterator<Item = Vec<Txn>> {
    let unknown: Vec<Txn> = history.txns().filter(|&txn| history.outcome(txn) == Outcome::Unknown).collect();
    (0..1u32 << unknown.len()).map(move |choice| {
        let is_chosen = |txn| unknown.iter().position(|&u| u == txn).is_some_and(|i| choice & bit(i) != 0);
        let is_present = |&txn: &Txn| match history.outcome(txn) {
            Outcome::Committed => true,
            Outcome::Aborted => false,
            Outcome::Unknown => is_chosen(txn),
        };
        history.txns().filter(is_present).collect()
    })
}

/// Those who may have committed.
pub(super) fn live(history: &History) -> Vec<Txn> {
    history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted).collect()
}

/// Whether a list may show what its reader itself appends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    Apart,
    Counted,
}

/// Whether those present explain what can be explained: who is read from did commit. A world without it would
/// take a read for a wrong one though it need not be.
pub(super) fn is_admissible(history: &History, txns: &[Txn], own: Own) -> bool {
    let live = live(history);
    let finally = |writer, key, value| final_write(history, writer, key) == Some(value);
    let at_all = |writer, key, value| {
        history.ops_of(writer).any(|op: OpView| is_write_of(&op, key) && op.value == value)
    };
    txns.iter().all(|&txn| {
        reads_of(history, txn).all(|read| {
            let (values, writes): (_, &dyn Fn(Txn, Key, Value) -> bool) = match read.kind {
                OpKind::ReadList => (shown(history, txn, read), &at_all),
                _ if !own_before(history, txn, read).is_empty() => return true,
                _ if history.is_initial(read.key, read.value) => return true,
                _ => (vec![read.value], &finally),
            };
            values.iter().all(|&value| {
                let counts =
                    |other: Txn| other != txn || own == Own::Counted && read.kind == OpKind::ReadList;
                let explained = |among: &[Txn]| {
                    among.iter().any(|&other| counts(other) && writes(other, read.key, value))
                };
                (!explained(&live) || explained(txns))
                    && (read.kind == OpKind::Read || {
                        // As many appended an element as a list holds, if as many can have.
                        let held = values.iter().filter(|&&other| other == value).count();
                        let appends = |among: &[Txn]| -> usize {
                            let others = among.iter().filter(|&&other| counts(other));
                            let of = |op: &OpView| is_write_of(op, read.key) && op.value == value;
                            others.map(|&other| history.ops_of(other).filter(of).count()).sum()
                        };
                        appends(txns) >= held.min(appends(&live))
                    })
            })
        })
    })
}

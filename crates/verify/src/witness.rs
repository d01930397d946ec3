//! Checks *Holds*: the witness must explain every read.
//!
//! A witness claims which transactions took effect and in which commit order (`order.rs`). If the level
//! leaves it open, the witness also claims what each transaction saw. There are two kinds of levels:
//!
//! - A transaction sees all transactions before it, or the snapshot that the witness gives. The state at that
//!   position of the order must contain what was read (`replay.rs`). Values may repeat; the writers do not
//!   matter.
//! - The level only states which transactions must have been seen. Then the writers of the reads matter
//!   (`sources.rs`), and the axiom states which later writes a read must not miss (`direct.rs`, `causal.rs`,
//!   `seen.rs`).
//!
//! Parts of a witness that the level does not need are not checked.

use isoscope_history::Txn;
use isoscope_levels::Level;

use super::facts::Facts;
use super::order::Order;
use super::replay::{self, View};
use super::sources::Sources;
use super::{Refutation, causal, cut, direct, lists, realtime, seen};
use isoscope_certificate::Witness;

/// Checks a witness.
pub(super) fn check(facts: &Facts<'_>, level: Level, witness: &Witness) -> Result<(), Refutation> {
    if level == Level::CutIsolation {
        check_supported(facts, facts.present())?;
        return cut::check(facts);
    }
    let Some(txns) = &witness.order else {
        return Err(Refutation::new(format!("{level} needs a commit order")));
    };
    let order = Order::new(facts, txns)?;
    if !level.implies(Level::AdyaPl2) {
        check_clock(facts, &order, level)?;
        return lists::check_writes(facts, &order);
    }
    check_supported(facts, txns.iter().copied())?;
    match level {
        Level::Prefix | Level::Snapshot | Level::StrictSnapshot => {
            let Some(snapshots) = &witness.snapshots else {
                return Err(Refutation::new(format!("{level} needs snapshots")));
            };
            View::new(facts, &order, snapshots)?.check(level)
        }
        Level::AdyaPl299 | Level::AdyaPl3 | Level::Serializable | Level::StrictSerializable => {
            View::new(facts, &order, &replay::everything(&order))?.check(level)
        }
        _ => check_sources(&Sources::new(facts, &order, &witness.sources)?, level),
    }
}

/// Checks the levels at which the writers of reads matter.
fn check_sources(sources: &Sources<'_, '_>, level: Level) -> Result<(), Refutation> {
    check_clock(sources.facts, sources.order, level)?;
    match level {
        Level::AdyaPl2 | Level::StrongSessionPl2 | Level::StrongPl2 => Ok(()),
        Level::CursorStability => seen::check_cursors(sources),
        Level::MonotonicView => seen::check_monotonic(sources),
        Level::UpdateSerializable => seen::check_updates(sources),
        Level::UpdateAtomic => {
            direct::check_read_atomic(sources)?;
            seen::check_conflicts(sources)
        }
        Level::ReadCommitted => direct::check_read_committed(sources),
        Level::ReadAtomic => direct::check_read_atomic(sources),
        Level::Causal => causal::check(sources, causal::Past::Causal),
        Level::ParallelSnapshot => causal::check(sources, causal::Past::WithVersions),
        _ => Err(Refutation::new(format!("no verifier for an order at {level}"))),
    }
}

/// Checks that the order agrees with session order and real-time order, if the level has them.
fn check_clock(facts: &Facts<'_>, order: &Order<'_>, level: Level) -> Result<(), Refutation> {
    if level.has_sessions() {
        order.check_sessions(facts)?;
    }
    if level.has_real_time() {
        realtime::check(facts, order, &replay::everything(order))?;
    }
    Ok(())
}

/// Fails if an operation is not covered by any axiom: then *Holds* cannot be proved.
fn check_supported(facts: &Facts<'_>, txns: impl Iterator<Item = Txn>) -> Result<(), Refutation> {
    let mut ops = txns.flat_map(|txn| facts.history.ops_of(txn));
    match ops.find(|&op| facts.is_unsupported(op)) {
        None => Ok(()),
        Some(op) => Err(Refutation::new(format!(
            "no axiom covers {}, so nothing is known to hold",
            facts.text(op.id)
        ))),
    }
}

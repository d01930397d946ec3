//! Deciding a level without building its graph: guess an order, look for what it gets wrong, guess again.
//!
//! A level holds exactly when `so`, `wr` and the edges its axiom forces have no cycle together; a topological
//! order of them is a commit order. The forced edges are many, and a plausible order respects nearly all of
//! them. So an order is guessed; the forced edges that it does not respect become known, and it is mended; and so
//! on until it respects all (*holds*, and it is the certificate) or no order exists (*violated*). Should that take more than a few rounds, all forced edges are made known at once.

use std::sync::Arc;

use isoscope_history::{History, Txn};
use isoscope_order::Graph;

use crate::axiom::{Axiom, Causality, Forced, Ranking, Search, all_reads};
use crate::repair::repair;
use crate::resolve::Resolved;
use crate::schedule::{Schedule, schedule};

/// Rounds of guessing before all forced edges are looked for.
const ROUNDS: usize = 16;

/// A commit order that satisfies an axiom, or the forced edges known when it became clear that there is none.
pub(crate) fn decide(
    history: &History,
    resolved: &Resolved,
    axiom: Axiom,
) -> Result<Arc<[Txn]>, Vec<Forced>> {
    let causality = Causality { history, resolved };
    let search = Search::new(&causality);
    let mut known: Vec<Forced> = Vec::new();
    let Some(mut schedule) = schedule(history, resolved, &reversed(history, resolved, &known)) else {
        return Err(known);
    };
    let mut reads = std::mem::take(&mut schedule.stale);
    for round in 0.. {
        let Schedule { order, place, .. } = &schedule;
        let mut new = search.opposing(axiom, Ranking { order, rank: place }, &reads);
        if new.is_empty() {
            break;
        }
        if round == ROUNDS {
            let flat = vec![0; history.txn_count()];
            let everything = all_reads(history, resolved, order);
            new = search.opposing(axiom, Ranking { order, rank: &flat }, &everything);
        }
        let into_initial = new.iter().any(|forced| forced.target(resolved).is_none());
        known.extend(new);
        if into_initial {
            return Err(known);
        }
        match repair(history, resolved, &reversed(history, resolved, &known), &mut schedule) {
            Some(again) => reads = again,
            None => return Err(known),
        }
    }
    Ok(schedule.order.into_iter().map(Txn).collect())
}

/// The edges beyond `so` and `wr`, from each transaction to those that must come before it.
fn reversed(history: &History, resolved: &Resolved, forced: &[Forced]) -> Graph {
    let mut edges: Vec<(u32, u32)> =
        forced.iter().filter_map(|forced| Some((forced.target(resolved)?.0, forced.seen.0))).collect();
    edges.extend(resolved.versions.iter().map(|version| (version.to.0, version.from.0)));
    edges.sort_unstable();
    edges.dedup();
    Graph::from_edges(history.txn_count(), &edges)
}

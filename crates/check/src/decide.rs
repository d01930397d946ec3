//! Deciding a level without building its graph: guess an order, look for what it gets wrong, mend it.
//!
//! A level holds exactly when `so`, `wr` and the edges its axiom forces have no cycle together; a topological
//! order of them is a commit order. The forced edges are many, and a plausible order respects nearly all of
//! them. So an order is guessed; the forced edges that it does not respect become known, and it is mended; and so
//! on until it respects all (*holds*, and it is the certificate) or no order exists (*violated*). Should that take
//! more than a few rounds, all forced edges are made known at once.

use std::sync::Arc;

use isoscope_history::{History, Txn};
use isoscope_order::Graph;

use crate::axiom::{Axiom, Causality, Ranking, Search, all_reads};
use crate::certificate::{Limit, Node};
use crate::repair::repair;
use crate::resolve::Resolved;
use crate::schedule::Schedule;
use crate::stale::schedule_with_stale;
use crate::watch::{Watch, go_on};

/// Rounds of mending before all forced edges are looked for.
const ROUNDS: usize = 16;

/// A commit order that satisfies an axiom, if there is one, unless a limit is reached.
pub(crate) fn decide(
    history: &History,
    resolved: &Resolved,
    axiom: Axiom,
    watch: &dyn Watch,
) -> Result<Option<Arc<[Txn]>>, Limit> {
    if axiom != Axiom::ReadCommitted {
        history.list_writers();
    }
    let first = schedule_with_stale(history, resolved, &reversed(history, resolved, &[]), watch);
    go_on(watch)?;
    let Some((mut schedule, mut reads)) = first else { return Ok(None) };
    let causality = Causality { history, resolved };
    let causal_order = schedule.order.clone();
    let search = Search::new(&causality, &causal_order, false, watch);
    let mut known: Vec<(Txn, Txn)> = Vec::new();
    for round in 0.. {
        let Schedule { order, place } = &schedule;
        let mut new = search.opposing(axiom, Ranking { rank: place }, &reads);
        go_on(watch)?;
        if new.is_empty() {
            break;
        }
        if round == ROUNDS {
            let flat = vec![0; history.txn_count()];
            let everything = all_reads(history, resolved, order);
            new = search.opposing(axiom, Ranking { rank: &flat }, &everything);
            go_on(watch)?;
        }
        for forced in new {
            // Nothing comes before the initial state.
            let Node::Txn(target) = forced.target(resolved) else { return Ok(None) };
            known.push((target, forced.seen));
        }
        known.sort_unstable();
        known.dedup();
        let forced = reversed(history, resolved, &known);
        let mended = repair(history, resolved, &forced, &mut schedule, watch);
        // An interrupted repair has not shown that no order exists.
        go_on(watch)?;
        let Some(mended) = mended else { return Ok(None) };
        reads = mended;
    }
    Ok(Some(schedule.order.into_iter().map(Txn).collect()))
}

/// The edges beyond `so` and `wr`, from each transaction to those that must come before it, given the forced ones
/// of them.
fn reversed(history: &History, resolved: &Resolved, forced: &[(Txn, Txn)]) -> Graph {
    let versions = resolved.versions.iter().map(|version| (version.to.0, version.from.0));
    let edges: Vec<(u32, u32)> = forced.iter().map(|(to, from)| (to.0, from.0)).chain(versions).collect();
    Graph::from_edges(history.txn_count(), &edges)
}

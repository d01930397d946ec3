//! Search for the levels that say what a reader must have seen: parallel snapshot isolation, cursor stability, monotonic view,
//! update atomic, update serializability, and, where reads are open, causal consistency, read atomic and read committed.
//!
//! One axiom for all (docs/levels.md, "Commit orders" and "Dependency graphs"): when t3 reads x from t1, and t2 also writes x, and
//! t3 must have seen t2, then t2 is before t1. The levels differ in what t3 must have seen ([`Sight`]):
//!
//! - read committed: the writers of its earlier reads;
//! - read atomic: the writers of its reads, and its session;
//! - causal consistency: all that leads to it along sessions and reads;
//! - parallel snapshot isolation: all that leads to it along sessions, reads and overwrites, so that no cycle has fewer than two
//!   anti-dependencies;
//! - cursor stability: the transactions that it overwrites on x;
//! - update atomic: as read atomic, and the transactions that it overwrites;
//! - monotonic view: the transactions that it read from or overwrote earlier, and what leads there along reads and overwrites;
//! - update serializability: for a transaction that only reads, all that leads to it along reads, overwrites and the
//!   anti-dependencies of transactions that write; these are serializable among themselves.
//!
//! `seen.rs`: which reads miss what they must have seen. `links.rs`: what leads to a reader, and how. `forbid.rs`: the axiom as a
//! clause. The loop is that of `refine.rs`.

mod forbid;
mod links;
mod seen;

use isoscope_history::{Op, Txn};
use isoscope_solve::Lit;
use rustc_hash::FxHashSet;

use super::constraint::Constraint;
use super::encode::Encoder;
use super::events::Events;
use super::problem::Problem;
use super::refine::{Refined, Replay, refine};
use super::sources::Source;
use crate::certificate::Limit;
use crate::semantics::Sight;
use crate::watch::{Watch, go_on};
use links::Paths;

/// How many of the writers that a read misses and must have seen become clauses in one round.
const AT_A_TIME: usize = 4;

/// The result of a search.
pub(crate) enum Found {
    /// A commit order of the transactions that took effect, and a source for each open read of theirs.
    Order {
        order: Vec<Txn>,
        sources: Vec<(Op, Source)>,
    },
    /// No order satisfies these constraints.
    Nothing(Vec<Constraint>),
    Stopped(Limit),
}

/// Searches for an order and for sources. `edges` are those of sessions, of known reads and whatever else is certain about the
/// order; `order` is one of theirs.
pub(crate) fn search(
    problem: &Problem<'_>,
    events: &Events,
    sight: Sight,
    edges: &[(u32, u32)],
    order: Vec<u32>,
    watch: &dyn Watch,
) -> (Found, Vec<(&'static str, u64)>) {
    let mut search = Search {
        problem,
        events,
        sight,
        watch,
        encoder: Encoder::new(problem, events, edges, &order),
        place: vec![0; events.nodes as usize],
        chosen: problem.reads.iter().map(|read| read.source).collect(),
        needed: Vec::new(),
        ordered: FxHashSet::default(),
        assumed: Vec::new(),
    };
    if let Err(limit) = search.begin(&order) {
        return (Found::Stopped(limit), Vec::new());
    }
    let always = search.needed.len();
    let (refined, figures) = refine(&mut search, order, watch);
    let found = match refined {
        Refined::Order(order) => search.answer(&order),
        Refined::Unsat => Found::Nothing(search.core(always)),
        Refined::Stopped(limit) => Found::Stopped(limit),
    };
    (found, figures)
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    events: &'a Events,
    sight: Sight,
    watch: &'a dyn Watch,
    encoder: Encoder<'a>,
    /// The place of each event in the order at hand.
    place: Vec<u32>,
    /// The source of each read in the assignment at hand.
    chosen: Vec<Source>,
    /// The constraints of all clauses.
    needed: Vec<Constraint>,
    /// The pairs of writers of a key that a clause depends on.
    ordered: FxHashSet<(u32, u32, u32)>,
    /// Where the solver must report which clauses it needed: for each clause the literal that it holds, which is assumed, and its
    /// constraints.
    assumed: Vec<(Lit, Vec<Constraint>)>,
}

impl<'a> Replay<'a> for Search<'a> {
    fn encoder(&mut self) -> &mut Encoder<'a> {
        &mut self.encoder
    }

    fn replays_first(&self) -> bool {
        false
    }

    fn assumptions(&self) -> Vec<Lit> {
        self.assumed.iter().map(|(lit, _)| *lit).collect()
    }

    fn replay(&mut self, order: &[u32]) -> Result<bool, Limit> {
        self.note_places(order);
        for open in &self.problem.open {
            let chosen = open.sources.iter().find(|&source| self.encoder.is_from(open.read, source));
            self.chosen[open.read as usize] = chosen.unwrap_or(Source::OPEN);
        }
        let before = self.needed.len();
        let links = self.links();
        let paths = Paths::new(self.problem, &links);
        for (read, writer) in self.broken(&links, &paths) {
            if self.watch.limit().is_some() {
                break;
            }
            self.forbid(&paths, read, writer);
        }
        if self.needed.len() > before {
            return Ok(true);
        }
        // An order that was not replayed to the end may still be wrong.
        self.watch.limit().map_or(Ok(false), Err)
    }
}

impl Search<'_> {
    /// Makes variables for all sources of open reads and for optional transactions.
    fn begin(&mut self, order: &[u32]) -> Result<(), Limit> {
        self.note_places(order);
        self.encoder.add_optional(self.events);
        for open in &self.problem.open {
            go_on(self.watch)?;
            let best = self.encoder.best(open.read, open.sources.iter(), &self.place);
            let best = best.map(|(best, _)| best);
            let any = self.encoder.sources(open.read, open.sources.iter(), best, None);
            self.encoder.solver.add_clause(&any);
            self.needed.push(Constraint::Sources { read: open.read });
        }
        Ok(())
    }

    fn note_places(&mut self, order: &[u32]) {
        for (&node, i) in order.iter().zip(0..) {
            self.place[node as usize] = i;
        }
    }

    fn answer(&self, order: &[u32]) -> Found {
        let first_tick = self.events.first_tick;
        let there = |&&txn: &&u32| txn < first_tick && self.encoder.is_there(txn);
        let order = order.iter().filter(there).map(|&txn| Txn(txn)).collect();
        let reads = self.problem.open.iter().map(|open| open.read as usize);
        let counts = |read: &usize| self.encoder.is_there(self.problem.reads[*read].txn);
        let sources = reads.filter(counts).map(|i| (self.problem.reads[i].op, self.chosen[i])).collect();
        Found::Order { order, sources }
    }

    /// The constraints that no order satisfies. The first `always` of them are always included.
    fn core(&mut self, always: usize) -> Vec<Constraint> {
        let needed = std::mem::take(&mut self.needed);
        if self.assumed.is_empty() {
            return needed;
        }
        let failed: FxHashSet<Lit> = self.encoder.solver.failed().iter().copied().collect();
        let failing = self.assumed.iter().filter(|(lit, _)| failed.contains(lit));
        let mut core: Vec<Constraint> = needed[..always].to_vec();
        for &constraint in failing.flat_map(|(_, constraints)| constraints) {
            if !core.contains(&constraint) {
                core.push(constraint);
            }
        }
        core
    }
}

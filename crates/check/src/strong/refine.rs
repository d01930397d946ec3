//! The refinement loop: an order, what it breaks, clauses, another order.
//!
//! An order of events that contains all known edges is replayed. What it breaks becomes clauses, and the solver finds another
//! order, until an order breaks nothing (*holds*, and the order is the witness) or no order is left (*violated*). So the solver
//! never gets clauses about the many pairs of writers that no order puts in the wrong place.

use isoscope_solve::{Budget, Lit, Outcome};

use super::encode::Encoder;
use crate::certificate::Limit;
use crate::watch::Watch;

/// What a search replays.
pub(super) trait Replay<'a> {
    fn encoder(&mut self) -> &mut Encoder<'a>;

    /// Whether the first order can be replayed before the solver has found values.
    fn replays_first(&self) -> bool;

    /// Adds a clause for everything that an order breaks, or some of it; whether it breaks anything. An error if the order was
    /// not replayed to the end and nothing broken was found.
    fn replay(&mut self, order: &[u32]) -> Result<bool, Limit>;

    /// Another way to find an order, tried once if the solver has met [`FIRST_CONFLICTS`].
    fn alternative(&mut self, _watch: &dyn Watch) -> Option<Vec<u32>> {
        None
    }

    /// The literals to assume.
    fn assumptions(&self) -> Vec<Lit> {
        Vec::new()
    }
}

/// The solver decides most histories with fewer conflicts than this.
const FIRST_CONFLICTS: u64 = 1_000;

/// The result of a refinement loop.
pub(super) enum Refined {
    /// An order that breaks nothing.
    Order(Vec<u32>),
    /// No order satisfies the clauses.
    Unsat,
    Stopped(Limit),
}

/// Runs the loop from an order; also returns what it took.
pub(super) fn refine<'a>(
    search: &mut impl Replay<'a>,
    mut order: Vec<u32>,
    watch: &dyn Watch,
) -> (Refined, Vec<(&'static str, u64)>) {
    let (mut rounds, mut is_alone) = (0, true);
    let refined = loop {
        rounds += 1;
        if rounds > 1 || search.replays_first() {
            match search.replay(&order) {
                Ok(true) => {}
                Ok(false) => break Refined::Order(order),
                Err(limit) => break Refined::Stopped(limit),
            }
        }
        let (mut outcome, mut limit) = solve(search, is_alone, watch);
        if outcome == Outcome::Stopped && limit.is_none() {
            is_alone = false;
            if let Some(order) = search.alternative(watch) {
                break Refined::Order(order);
            }
            (outcome, limit) = solve(search, is_alone, watch);
        }
        match outcome {
            Outcome::Sat => order = search.encoder().solver.order(),
            Outcome::Unsat => break Refined::Unsat,
            Outcome::Stopped => break Refined::Stopped(limit.unwrap_or(Limit::Time)),
        }
    };
    let figures = search.encoder().solver.figures();
    let figures = vec![
        ("rounds", rounds),
        ("variables", figures.variables as u64),
        ("clauses", figures.clauses),
        ("conflicts", figures.conflicts),
        ("cycles", figures.lemmas),
    ];
    (refined, figures)
}

/// Runs the solver until it has an answer, a limit is reached or, as long as no alternative was tried, it has met
/// [`FIRST_CONFLICTS`] in all.
fn solve<'a>(search: &mut impl Replay<'a>, is_alone: bool, watch: &dyn Watch) -> (Outcome, Option<Limit>) {
    let assumptions = search.assumptions();
    let encoder = search.encoder();
    let mut limit = None;
    let mut stop = || {
        limit = watch.limit();
        limit.is_some()
    };
    let mut budget = Budget::stopped_by(&mut stop);
    if is_alone {
        budget = budget.with_conflicts(FIRST_CONFLICTS.saturating_sub(encoder.solver.figures().conflicts));
    }
    let outcome = encoder.solver.solve_within(&assumptions, budget);
    encoder.solved = outcome != Outcome::Stopped;
    (outcome, limit)
}

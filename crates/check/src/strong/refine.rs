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

    /// The literals to assume.
    fn assumptions(&self) -> Vec<Lit> {
        Vec::new()
    }
}

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
    let mut rounds = 0;
    let refined = loop {
        rounds += 1;
        if rounds > 1 || search.replays_first() {
            match search.replay(&order) {
                Ok(true) => {}
                Ok(false) => break Refined::Order(order),
                Err(limit) => break Refined::Stopped(limit),
            }
        }
        let assumptions = search.assumptions();
        let mut limit = None;
        let mut stop = || {
            limit = watch.limit();
            limit.is_some()
        };
        let encoder = search.encoder();
        let outcome = encoder.solver.solve_within(&assumptions, Budget::stopped_by(&mut stop));
        encoder.solved = true;
        match outcome {
            Outcome::Sat => order = encoder.solver.order(),
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

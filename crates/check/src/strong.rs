//! Strong levels, and weak ones where values repeat: saturate, linearise, and only then search.
//!
//! ```text
//! problem ──> saturate ──> linearise ──> search, memo ──> holds: an order of events, or of commits and sources
//!             │ cycle      on values           │ unsat
//!             └────────> refute <──────────────┘        ──> violated: a proof by cases, each of which ends in a cycle
//! ```
//!
//! `attempt.rs` is the way of a strong level through these stages, `weak.rs` that of a weak one. `problem.rs`: the external reads
//! and their possible writers. `facts.rs`, `shortest.rs`, `stale_reads.rs`, `direct.rs`: violations that need no choice, each
//! shown by its simplest cycle. `saturate.rs`: what reachability forces. `linearise.rs`: a greedy schedule. `memo.rs`: a schedule
//! where few values are written, by a search that enters no state twice. `lookahead.rs`: an open read none of whose sources can be.
//! `search.rs`, `visible.rs`: the SAT solver decides what is
//! left; its clauses are the axioms that an order broke. `refute.rs`, `cases.rs`: the proof when no order exists (`shortcut.rs`: its direct steps; `lost.rs` for
//! lost updates; `others.rs`, `needed.rs`: further proofs, independent of the first). `name.rs`: the name of a violation.
//! `witness.rs`: the witness of a level that holds.

mod attempt;
mod broken;
mod cases;
mod constraint;
mod direct;
mod encode;
mod facts;
mod index;
mod linearise;
mod lookahead;
mod lost;
mod memo;
mod name;
mod needed;
mod ordered;
mod others;
mod problem;
mod ranges;
mod refine;
mod refute;
mod repeats;
mod saturate;
mod search;
mod shortcut;
mod shortest;
mod sources;
mod stale_reads;
mod visible;
mod weak;
mod witness;

use crate::certificate::{Limit, Proof, Witness};
use crate::events::{self, reach};
pub(crate) use attempt::{Attempt, given_edges, listed};
pub(crate) use name::{farthest, is_forced, named, needs, refutes, reordered, with_last_cycle};
pub(crate) use ordered::ordered;
pub(crate) use others::Patience;
pub(crate) use problem::{optional_lists, possible_writers};
pub(crate) use weak::{Leaf, LeafName, decide_weak};
pub(crate) use witness::{names_sources, weaken};

/// The answer of an engine.
pub(crate) enum Answer {
    Holds(Witness),
    Violated(Violation),
    Stopped(Limit),
}

/// What shows that a level is violated.
#[derive(Clone, Default)]
pub(crate) struct Violation {
    pub(crate) scenarios: Vec<Scenario>,
    /// Whether these are all that are independent of each other; otherwise there may be more.
    pub(crate) complete: bool,
    /// For the proof of a weak level, the names of its cycles, in their order.
    pub(crate) leaves: Vec<LeafName>,
}

/// A proof, and the number of the component that it is about.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) proof: Proof,
    pub(crate) component: u32,
}

impl Violation {
    /// All proofs that are independent of each other.
    pub(crate) fn complete(scenarios: Vec<Scenario>) -> Violation {
        Violation { scenarios, complete: true, leaves: Vec::new() }
    }

    /// Some proofs; there may be others.
    pub(crate) fn partial(scenarios: Vec<Scenario>) -> Violation {
        Violation { complete: false, ..Violation::complete(scenarios) }
    }

    /// A single proof; there may be others.
    fn one(proof: Proof) -> Violation {
        Violation::partial(vec![Scenario { proof, component: 0 }])
    }

    /// The number of the first component that no proof is about.
    fn next_component(&self) -> u32 {
        self.scenarios.iter().map(|scenario| scenario.component + 1).max().unwrap_or(0)
    }
}

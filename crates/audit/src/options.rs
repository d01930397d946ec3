//! What a caller chooses.

use std::collections::BTreeSet;

use crate::model::Model;

/// How commits are ordered in the paper's models. The engine models always allow any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum OrderBy {
    /// In any order that the answers and times allow.
    #[default]
    Solve,
    /// By the database's own commit timestamps, as the Troubadour paper does.
    Timestamps,
}

/// A technique of the paper's models that can be switched off, for measurements. Verdicts stay the same, or become undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Heuristic {
    /// A strong order is tried first.
    StrongFirst,
}

/// What a caller chooses.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The model.
    pub model: Model,
    /// How commits are ordered; the paper's models only.
    pub order: OrderBy,
    /// How many alternatives of one choice are enumerated, in the paper's models and to find whom to blame.
    pub cap: u32,
    /// How many orders one search may propose.
    pub most_proposals: u64,
    /// Techniques that are switched off; the paper's models only.
    pub without: BTreeSet<Heuristic>,
}

impl Options {
    /// The default options for a model.
    pub fn new(model: Model) -> Options {
        Options { model, ..Options::default() }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            model: Model::PgRr,
            order: OrderBy::Solve,
            cap: 4096,
            most_proposals: 20_000,
            without: BTreeSet::new(),
        }
    }
}

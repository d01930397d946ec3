//! What a caller chooses.

use std::collections::BTreeSet;

use crate::model::Model;

/// How commits are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum OrderBy {
    /// In any order that the answers and times allow.
    #[default]
    Solve,
    /// By the database's own commit timestamps, as the Troubadour paper does.
    Timestamps,
}

/// A technique that can be switched off, for measurements. Verdicts stay the same, or become undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Heuristic {
    /// Indexes on columns.
    Index,
    /// The window of versions in the paper's models.
    Window,
    /// Values that are the same in every execution are computed once.
    Pin,
    /// A strong order is tried first.
    StrongFirst,
    /// Cuts of overlapping commits are tried before the search.
    Cuts,
}

/// What a caller chooses.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The model.
    pub model: Model,
    /// How commits are ordered.
    pub order: OrderBy,
    /// How many versions the paper's models look back at first.
    pub window: Option<u32>,
    /// How many alternatives of one choice are enumerated.
    pub cap: u32,
    /// How many orders one search may propose.
    pub most_proposals: u64,
    /// Techniques that are switched off.
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
            window: None,
            cap: 4096,
            most_proposals: 20_000,
            without: BTreeSet::new(),
        }
    }
}
